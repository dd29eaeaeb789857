/* The problem that a case describes, set by the public interface. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "case/places.h"
#include "case/run_case.h"

static facet_status set_conductivity(const struct case_file *file, facet_problem *problem) {
    for (int i = 0; i < file->n_conductivity; i++) {
        const struct case_region_value *region = &file->conductivity[i];
        const char *texts[9];
        for (int k = 0; k < region->n; k++) texts[k] = region->value[k].text;
        facet_status status = facet_problem_set_conductivity(problem, region->on, region->n, texts);
        if (status != FACET_OK) return case_at_place(status, file, region->place);
    }
    return FACET_OK;
}

static facet_status set_material(const struct case_file *file, facet_problem *problem) {
    for (int i = 0; i < file->n_material; i++) {
        const struct case_material *m = &file->material[i];
        const char *texts[9] = {m->value[0].text, m->value[1].text}, *axes[6];
        for (int k = 0; k < m->n_constants; k++) texts[k] = m->constants[k].text;
        for (int k = 0; k < m->n_axes; k++) axes[k] = m->axes[k].text;
        facet_status status =
            m->n_constants > 0
                ? facet_problem_set_orthotropic(problem, m->on, m->n_constants, texts, m->n_axes, axes)
                : facet_problem_set_material(problem, m->on, m->which, texts);
        if (status != FACET_OK) return case_at_place(status, file, m->place);
    }
    return FACET_OK;
}

/* The components of a vector, the word exact as often as there are any; their number. */
static int spread(const facet_problem *problem, const struct case_vector *vector, const char *texts[3]) {
    int n = vector->n > 1 ? vector->n : problem->data.mesh->dim;
    for (int i = 0; i < n; i++) texts[i] = vector->texts[vector->n > 1 ? i : 0].text;
    return n;
}

/* What displacement, fixed and roller say together; whether they say anything. */
static int join_supports(const facet_problem *problem, const struct case_boundary *b, const char *texts[3]) {
    int dim = problem->data.mesh->dim, any = b->displacement.n > 0;
    for (int i = 0; i < dim; i++) texts[i] = NULL;
    if (any) spread(problem, &b->displacement, texts);
    for (int i = 0; i < dim; i++) {
        if (b->held[i]) texts[i] = "0";
        any |= b->held[i];
    }
    return any;
}

/* The names of all parts of an item, to be freed; NULL where b is not the first of them. */
static facet_status list_parts(const struct case_file *file, const struct case_boundary *b,
                               const char ***parts) {
    facet_status status = FACET_OK;
    *parts = NULL;
    if (b != file->boundary && b[-1].item == b->item) return FACET_OK;
    TRY(ALLOC(*parts, b->n_parts));
    for (int i = 0; i < b->n_parts; i++) (*parts)[i] = b[i].on;
done:
    return status;
}

/* The total flux of an item, through all parts that it names. */
static facet_status set_total_flux(const struct case_file *file, facet_problem *problem,
                                   const struct case_boundary *b) {
    facet_status status = FACET_OK;
    const char **parts;
    TRY(list_parts(file, b, &parts));
    if (parts != NULL) TRY(facet_problem_set_total_flux(problem, b->n_parts, parts, b->g.text));
done:
    base_free(&parts);
    return status;
}

/* The total force of an item, over all parts that it names. */
static facet_status set_force(const struct case_file *file, facet_problem *problem,
                              const struct case_boundary *b) {
    facet_status status = FACET_OK;
    const char **parts = NULL, *texts[3];
    if (b->force.n == 0) return FACET_OK;
    TRY(list_parts(file, b, &parts));
    if (parts == NULL) return FACET_OK;
    TRY(facet_problem_set_force(problem, b->n_parts, parts, spread(problem, &b->force, texts), texts));
done:
    base_free(&parts);
    return status;
}

static facet_status set_mechanical(const struct case_file *file, facet_problem *problem,
                                   const struct case_boundary *b) {
    facet_status status = FACET_OK;
    const char *texts[9];
    if (b->symmetry) return facet_problem_set_symmetry(problem, b->on);
    if (join_supports(problem, b, texts))
        TRY(facet_problem_set_displacement(problem, b->on, problem->data.mesh->dim, texts));
    if (b->pressure.text != NULL) TRY(facet_problem_set_pressure(problem, b->on, b->pressure.text));
    for (int i = 0; i < b->n_spring; i++) texts[i] = b->spring[i].text;
    if (b->n_spring > 0) TRY(facet_problem_set_spring(problem, b->on, b->n_spring, texts));
    TRY(set_force(file, problem, b));
    if (b->traction.n > 0)
        TRY(facet_problem_set_traction(problem, b->on, spread(problem, &b->traction, texts), texts));
    if (b->gradient_pressure.n > 0)
        TRY(facet_problem_set_gradient_pressure(problem, b->on, spread(problem, &b->gradient_pressure, texts),
                                                texts));
done:
    return status;
}

/* Where a setter of a group is wanted, with its texts. */
static facet_status set_shares(const struct case_file *file, facet_problem *problem,
                               const struct case_shares *shares, int is_source) {
    facet_status status = FACET_OK;
    int scalar = !problem->data.physics->entries[0]->is_vector;
    for (int i = 0; i < shares->n; i++) {
        const struct case_share *share = &shares->items[i];
        const char *texts[3];
        int n = scalar ? 1 : spread(problem, &share->value, texts);
        if (scalar) texts[0] = share->value.texts[0].text;
        if (share->on == NULL && !is_source)
            status = facet_problem_set_reaction(problem, texts[0]);
        else if (share->on == NULL)
            status = scalar ? facet_problem_set_source(problem, texts[0])
                            : facet_problem_set_vector_source(problem, n, texts);
        else
            status = is_source ? facet_problem_set_group_source(problem, share->on, n, texts)
                               : facet_problem_set_group_reaction(problem, share->on, texts[0]);
        if (status != FACET_OK) return case_at_place(status, file, share->place);
    }
    return status;
}

/* from: the solver of the case whose field is the temperature, or NULL. */
static facet_status set_temperature(const struct case_file *file, const facet_solver *from,
                                    facet_problem *problem) {
    const char *text = file->thermal.from >= 0 ? "0" : file->thermal.temperature.text;
    if (file->thermal.from < 0 || from == NULL)
        return facet_problem_set_temperature(problem, text, file->thermal.reference.text);
    return facet_problem_set_temperature_field(problem, from, file->thermal.field,
                                               file->thermal.reference.text);
}

static facet_status set_thermal(const struct case_file *file, const facet_solver *from,
                                facet_problem *problem) {
    facet_status status = FACET_OK;
    const struct case_shares *expansion = &file->thermal.expansion;
    for (int i = 0; i < expansion->n; i++)
        TRY(case_at_place(facet_problem_set_expansion(problem, expansion->items[i].on,
                                                      expansion->items[i].value.texts[0].text),
                          file, expansion->items[i].place));
    if (expansion->n > 0)
        TRY(case_at_place(set_temperature(file, from, problem), file, file->thermal.temperature.place));
done:
    return status;
}

/* The exact solution, where there is one. */
static facet_status set_exact(facet_problem *problem, const struct case_vector *vector) {
    const char *texts[3];
    if (vector->n == 0) return FACET_OK;
    if (!problem->data.physics->entries[0]->is_vector)
        return facet_problem_set_exact(problem, vector->texts[0].text);
    return facet_problem_set_vector_exact(problem, spread(problem, vector, texts), texts);
}

static facet_status set_jump(const struct case_file *file, facet_problem *problem) {
    const char *texts[9];
    for (int i = 0; i < file->jump.n; i++) texts[i] = file->jump.value[i].text;
    if (file->jump.n == 0) return FACET_OK;
    return case_at_place(facet_problem_set_jump(problem, file->jump.n, texts), file, file->jump.place);
}

static facet_status set_condition(const struct case_file *file, facet_problem *problem,
                                  const struct case_boundary *boundary) {
    switch (boundary->condition) {
    case CASE_MECHANICAL:
    case CASE_GRADIENT_PRESSURE:
        return set_mechanical(file, problem, boundary);
    case CASE_DIRICHLET:
        return facet_problem_set_dirichlet(problem, boundary->on, boundary->g.text);
    case CASE_NEUMANN:
        return facet_problem_set_neumann(problem, boundary->on, boundary->g.text);
    case CASE_ROBIN:
        return facet_problem_set_robin(problem, boundary->on, boundary->a.text, boundary->g.text);
    case CASE_TOTAL_FLUX:
        return set_total_flux(file, problem, boundary);
    }
    return base_fail(FACET_ERROR_INPUT, "unknown boundary condition");
}

/* The word, where no group has that name. */
static int means_rest(const struct facet_mesh *mesh, const char *on) {
    return strcmp(on, "rest") == 0 && mesh_find_group(mesh, on, mesh->dim) == NULL &&
           mesh_find_group(mesh, on, mesh->dim - 1) == NULL;
}

/* Overlaps, boundary faces without a condition: what only shows when everything is in place. */
static facet_status check_complete(const struct case_file *file, const facet_problem *problem) {
    struct problem_resolved resolved;
    facet_status status = problem_resolve(&problem->data, &file->options, &resolved);
    if (status != FACET_OK) return case_in_file(status, file);
    int has_rest = problem_has_rest(problem->data.mesh, &resolved);
    problem_resolved_destroy(&resolved);
    for (int i = 0; !has_rest && i < file->n_values; i++)
        for (int k = 0; k < file->values[i].n_on; k++)
            if (means_rest(problem->data.mesh, file->values[i].on[k]))
                return case_at_place(
                    base_fail(FACET_ERROR_INPUT,
                              "value '%s': 'rest' is nothing: every part of the boundary is named",
                              file->values[i].name),
                    file, file->values[i].on_places[k]);
    return FACET_OK;
}

facet_status run_problem(const struct case_file *file, facet_context *context, const facet_mesh *mesh,
                         const facet_solver *from, facet_problem **problem) {
    facet_status status = FACET_OK;
    TRY(facet_problem_create(context, mesh, file->equation, problem));
    TRY(run_check_names(file, mesh));
    for (int i = 0; i < file->n_parameters; i++)
        TRY(facet_problem_set_parameter(*problem, file->parameters[i].name, file->parameters[i].value));
    TRY(set_conductivity(file, *problem));
    TRY(set_material(file, *problem));
    TRY(set_shares(file, *problem, &file->reaction, 0));
    TRY(set_shares(file, *problem, &file->source, 1));
    TRY(set_thermal(file, from, *problem));
    for (int i = 0; i < file->n_interfaces; i++)
        TRY(case_at_place(facet_problem_set_interface(*problem, file->interfaces[i].between[0],
                                                      file->interfaces[i].between[1],
                                                      file->interfaces[i].conductance.text),
                          file, file->interfaces[i].place));
    TRY(set_jump(file, *problem));
    TRY(case_at_place(set_exact(*problem, &file->exact), file, file->exact.place));
    for (int i = 0; i < file->n_boundary; i++)
        TRY(case_at_place(set_condition(file, *problem, &file->boundary[i]), file, file->boundary[i].place));
    TRY(check_complete(file, *problem));
done:
    if (status != FACET_OK) facet_problem_destroy(problem);
    return status;
}
