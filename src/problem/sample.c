/* Numbers from a solution over cells and parts: integrals and means. point_values.c has values at points,
 * extremes.c extremes. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/part.h"
#include "problem/problem.h"

facet_status sample_find_field(const struct facet_solver *s, const char *name, enum hdg_field *field,
                               int *components) {
    const struct physics *physics = s->problem->physics, *owner = physics_of_field(physics, name);
    const struct equation *equation = s->resolved.data.equation;
    int found = hdg_find_field(name);
    char text[192];
    if (!s->solved) return base_fail(FACET_ERROR_INPUT, "there is no solution yet");
    if (found < 0) {
        equation_list_fields(equation, ", ", text, sizeof text);
        return base_fail(FACET_ERROR_INPUT, "there is no field '%s'; fields: %s", name, text);
    }
    *field = (enum hdg_field)found;
    if (owner != physics)
        return base_fail(FACET_ERROR_INPUT, "the field '%s' belongs to %s", name, owner->name);
    if (!equation_has_field(equation, *field)) {
        const char *word = physics_elsewhere(physics, &s->options, *field, text, sizeof text);
        return base_fail(FACET_ERROR_INPUT, "the field '%s' belongs to the %s %s%s", name,
                         option_name(physics->chosen_by), word, text);
    }
    if (*field == HDG_ACROSS && s->problem->mesh->dim == 3)
        return base_fail(FACET_ERROR_INPUT, "the field '%s' belongs to 2D; in 3D it is in the stress", name);
    *components = equation_field_components(equation, s->problem->mesh->dim, *field);
    if (hdg_fields[*field].star && !s->options.postprocess)
        return base_fail(FACET_ERROR_INPUT, "the field '%s' needs discretization: {postprocess: true}", name);
    return solver_need(s, *field);
}

int sample_table_degree(const struct facet_solver *s, enum hdg_field field) {
    return s->options.degree + (s->resolved.data.equation->raise || hdg_fields[field].star);
}

void backend_points_destroy(struct backend_points *points) {
    base_free(&points->xi);
    base_free(&points->weights);
    hdg_table_destroy(&points->own);
    for (int d = 0; d < 3; d++) base_free(&points->coordinates[d]);
    base_free(&points->places);
    *points = (struct backend_points){0};
}

static int block_number(const struct facet_mesh *mesh, int32_t cell) {
    return (int)(mesh_block_of(mesh, cell) - mesh->blocks);
}

/* Points and faces whose cells are fetched at once. */
#define FETCHED 4096

static facet_status fetch(const struct facet_solver *s, int64_t n, const int32_t *cells) {
    return s->backend->fetch != NULL ? s->backend->fetch(s, n, cells) : FACET_OK;
}

/* What a sweep over cells or faces gathers. */
struct gathered {
    double integral[SAMPLE_MAX_COMPONENTS], measure;
    int components;
    int mean;             /* the measure is wanted */
    struct error_bar bar; /* of integrals of a flux */
};

static void gather(struct gathered *g, int n, const double *weights, const double *values) {
    for (int p = 0; p < n; p++) {
        for (int c = 0; c < g->components; c++) g->integral[c] += weights[p] * values[p * g->components + c];
        g->measure += weights[p];
    }
}

/* Cells first .. end - 1 of a group (NULL: of the mesh), all of one block. */
static facet_status over_some_cells(const struct facet_solver *s, enum hdg_field field,
                                    const struct mesh_group *group, int32_t first, int32_t end,
                                    const struct backend_points *points, struct gathered *g) {
    enum { TOGETHER = 32 }; /* what an evaluation needs is made once for them */
    facet_status status = FACET_OK;
    const int64_t size = (int64_t)points->n * g->components;
    double *values = NULL, *wJ = NULL;
    TRY(ALLOC(values, TOGETHER * size));
    TRY(ALLOC(wJ, points->n));
    for (int32_t begin = first, n; begin < end; begin += n) {
        int32_t cells[TOGETHER];
        n = end - begin < TOGETHER ? end - begin : TOGETHER;
        for (int32_t i = 0; i < n; i++) cells[i] = group != NULL ? group->ids[begin + i] : begin + i;
        TRY(s->backend->evaluate(s, BACKEND_SOLVED, field, n, cells, points, values));
        for (int32_t i = 0; i < n; i++) {
            TRY(s->backend->weights(s, cells[i], points, wJ));
            gather(g, points->n, wJ, values + i * size);
        }
    }
done:
    base_free(&values);
    base_free(&wJ);
    return status;
}

/* The same for integrals that the backend has without points. */
static facet_status integrate_cells(const struct facet_solver *s, enum hdg_field field,
                                    const struct mesh_group *group, int32_t first, int32_t end,
                                    struct gathered *g) {
    facet_status status = FACET_OK;
    for (int32_t i = first; i < end; i++) {
        double integrals[SAMPLE_MAX_COMPONENTS], volume;
        TRY(s->backend->integrate(s, field, group != NULL ? group->ids[i] : i, integrals, &volume));
        for (int c = 0; c < g->components; c++) g->integral[c] += integrals[c];
        g->measure += volume;
    }
done:
    return status;
}

/* What a part of the same sweep begins with. */
static struct gathered empty_part(const struct gathered *g) {
    return (struct gathered){.components = g->components, .mean = g->mean};
}

static void join(struct gathered *into, const struct gathered *part) {
    for (int c = 0; c < into->components; c++) into->integral[c] += part->integral[c];
    into->measure += part->measure;
}

/* What the backend makes of all cells at once; *done: it does. */
static facet_status reduce_cells(const struct facet_solver *s, enum hdg_field field,
                                 const struct mesh_group *group, struct gathered *g, int *done_here) {
    facet_status status = FACET_OK;
    double *values = NULL;
    int64_t n_pairs = 0;
    *done_here = 0;
    if (s->backend->reduce == NULL || g->components != 1) goto done;
    TRY(ALLOC(values, 2 * (int64_t)s->problem->mesh->n_cells));
    TRY(s->backend->reduce(s, field, group != NULL ? BACKEND_INTEGRALS : BACKEND_TOTAL, 0, NULL, values,
                           &n_pairs));
    *done_here = n_pairs > 0;
    for (int64_t i = 0; *done_here && i < (group != NULL ? group->count : n_pairs); i++) {
        const double *of = values + 2 * (int64_t)(group != NULL ? group->ids[i] : i);
        g->integral[0] += of[0];
        g->measure += of[1];
    }
done:
    base_free(&values);
    return status;
}

/* Integrals over cells by the norm rule, in parts that do not depend on the number of threads, and neither
 * does the sum. */
static facet_status over_cells(const struct facet_solver *s, enum hdg_field field,
                               const struct mesh_group *group, struct gathered *g) {
    enum { PARTS = 64 };
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct backend_points points = {0};
    int32_t n_cells = group != NULL ? group->count : mesh->n_cells, end = 0;
    int direct = s->backend->integrate != NULL, reduced;
    TRY(reduce_cells(s, field, group, g, &reduced));
    if (reduced) goto done;
    TRY(fetch(s, 0, NULL));
    for (int32_t first = 0; first < n_cells; first = end) {
        struct gathered parts[PARTS];
        struct base_collector failures;
        int b = block_number(mesh, group != NULL ? group->ids[first] : first);
        while (end < n_cells && block_number(mesh, group != NULL ? group->ids[end] : end) == b) end++;
        if (!direct) TRY(s->backend->rule(s, b, &points));
        base_collector_init(&failures);
        for (int p = 0; p < PARTS; p++) parts[p] = empty_part(g);
#pragma omp parallel for num_threads(base_threads_for(100 * (int64_t)(end - first))) schedule(dynamic)
        for (int p = 0; p < PARTS; p++) {
            int32_t from = first + (int32_t)((int64_t)(end - first) * p / PARTS);
            int32_t to = first + (int32_t)((int64_t)(end - first) * (p + 1) / PARTS);
            base_collect(&failures, p,
                         direct ? integrate_cells(s, field, group, from, to, &parts[p])
                                : over_some_cells(s, field, group, from, to, &points, &parts[p]));
        }
        TRY(base_collected(&failures));
        for (int p = 0; p < PARTS; p++) join(g, &parts[p]);
    }
done:
    backend_points_destroy(&points);
    return status;
}

/* A field at points of one cell, gathered with weights. */
static facet_status at_points(const struct facet_solver *s, enum hdg_field field, int32_t cell, int n,
                              const double *xi, const double *weights, struct gathered *g) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct backend_points points = {0};
    double *values = NULL;
    TRY(ALLOC(values, n * g->components));
    TRY(s->backend->prepare(s, block_number(mesh, cell), sample_table_degree(s, field), n, xi, &points));
    TRY(s->backend->evaluate(s, BACKEND_SOLVED, field, 1, &cell, &points, values));
    gather(g, n, weights, values);
done:
    backend_points_destroy(&points);
    base_free(&values);
    return status;
}

/* One face of a part: values of a field, or (NULL) its area alone. */
static facet_status over_face(const struct facet_solver *s, const enum hdg_field *field,
                              struct mesh_group_face face, struct gathered *g) {
    facet_status status = FACET_OK;
    double *xi = NULL, *wA = NULL;
    int n;
    TRY(s->backend->face_rule(s, face.cell, face.local, &n, &xi, &wA));
    if (field != NULL)
        TRY(at_points(s, *field, face.cell, n, xi, wA, g));
    else
        for (int p = 0; p < n; p++) g->measure += wA[p];
done:
    base_free(&xi);
    base_free(&wA);
    return status;
}

enum { SHARE = 64 }; /* faces that are looked at together */

/* Faces first .. end - 1 of a part, SHARE at most: values of a field, or (NULL) of the numerical flux or
 * traction, whose integral is exact. */
static facet_status over_some_faces(const struct facet_solver *s, const enum hdg_field *field,
                                    const struct mesh_group *part, int32_t first, int32_t end,
                                    struct gathered *g) {
    facet_status status = FACET_OK;
    struct mesh_group_face faces[SHARE];
    double fluxes[3 * SHARE];
    const int n = (int)(end - first);
    for (int i = 0; i < n; i++) faces[i] = mesh_group_face(s->problem->mesh, part, first + i);
    for (int i = 0; i < n && (field != NULL || g->mean); i++) TRY(over_face(s, field, faces[i], g));
    if (field != NULL) goto done;
    TRY(s->backend->face_fluxes(s, BACKEND_SOLVED, n, faces, fluxes));
    for (int i = 0; i < n; i++)
        for (int c = 0; c < g->components; c++) g->integral[c] += fluxes[3 * i + c];
done:
    return status;
}

/* In parts that do not depend on the number of threads, and neither does the sum. */
static facet_status over_part(const struct facet_solver *s, const enum hdg_field *field,
                              const struct mesh_group *part, struct gathered *g) {
    enum { PARTS = FETCHED / SHARE };
    facet_status status = FACET_OK;
    int32_t *cells = NULL;
    TRY(ALLOC(cells, FETCHED));
    for (int32_t first = 0; first < part->count; first += FETCHED) {
        struct gathered parts[PARTS];
        struct base_collector failures;
        const int32_t n = part->count - first < FETCHED ? part->count - first : FETCHED;
        const int n_parts = (n + SHARE - 1) / SHARE;
        for (int32_t i = 0; i < n; i++) cells[i] = mesh_group_face(s->problem->mesh, part, first + i).cell;
        TRY(fetch(s, n, cells));
        base_collector_init(&failures);
#pragma omp parallel for num_threads(base_threads_for(100 * (int64_t)n)) schedule(dynamic)
        for (int p = 0; p < n_parts; p++) {
            const int32_t begin = p * SHARE, end = begin + SHARE < n ? begin + SHARE : n;
            parts[p] = empty_part(g);
            base_collect(&failures, p,
                         over_some_faces(s, field, part, first + begin, first + end, &parts[p]));
        }
        TRY(base_collected(&failures));
        for (int p = 0; p < n_parts; p++) join(g, &parts[p]);
    }
done:
    base_free(&cells);
    return status;
}

/* The parts of `where`, whose field must have a direction there. */
static facet_status over_parts(const struct facet_solver *s, const enum hdg_field *field,
                               const struct sample_domain *where, struct gathered *g) {
    facet_status status = FACET_OK;
    const struct physics *physics = s->problem->physics;
    double left;
    if (field == NULL) TRY(solver_find_fluxes(s, BACKEND_SOLVED, &left));
    for (int k = 0; k < where->n; k++) {
        const struct mesh_group *part = where->groups[k];
        for (int32_t i = 0; field == NULL && i < part->count; i++)
            if (mesh_group_face(s->problem->mesh, part, i).is_inner)
                FAIL(FACET_ERROR_INPUT,
                     "the %s '%s' has no direction: its faces lie inside the domain; integrate %s there",
                     physics->through_phrase, where->names[0], physics->inside);
        TRY(over_part(s, field, part, g));
    }
done:
    return status;
}

static facet_status join_parts(struct base_team *team, struct gathered *g) {
    facet_status status = FACET_OK;
    TRY(team_reduce(team, TEAM_SUM, g->components, g->integral));
    TRY(team_reduce(team, TEAM_SUM, 1, &g->measure));
done:
    return status;
}

/* The integral of a field or (NULL) of the numerical flux, and the measure if it is wanted. */
static facet_status gather_all(const struct facet_solver *s, const enum hdg_field *field,
                               const struct sample_domain *where, struct gathered *g) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    if (where->dim == mesh->dim - 1)
        TRY(over_parts(s, field, where, g));
    else
        TRY(over_cells(s, *field, where->n > 0 ? where->groups[0] : NULL, g));
    TRY(join_parts(mesh_team(mesh), g));
done:
    return status;
}

/* Integrals and means, of all components or of one. */
static facet_status take_integral(const struct facet_solver *s, const char *name, const enum hdg_field *field,
                                  int components, int component, int mean, const struct sample_domain *where,
                                  double *values, int *n, struct sample_about *about) {
    facet_status status = FACET_OK;
    struct gathered g = {.components = components, .mean = mean};
    struct sample_about none;
    TRY(gather_all(s, field, where, &g));
    if (field == NULL) TRY(flux_judge(s, where, components, component, g.integral, &g.bar));
    if (mean && !(g.measure > 0.0))
        FAIL(FACET_ERROR_INPUT, "there is no mean of the field '%s' on the axis, which has no area", name);
    const double scale = mean ? 1.0 / g.measure : 1.0;
    if (about == NULL)
        about = &none;
    else if (field != NULL && g.measure > 0.0)
        TRY(sample_integral_bar(s, *field, where, g.measure, &g.bar));
    for (int c = 0; c < components; c++)
        if (component < 0 || c == component) values[(*n)++] = scale * g.integral[c];
    about->measure = mean || !(g.measure > 0.0) ? 1.0 : g.measure; /* of a flux nobody asked for it */
    about->bar =
        (struct error_bar){scale * g.bar.error, scale * g.bar.scale, scale * g.bar.drive, g.bar.by_cells};
done:
    return status;
}

facet_status sample_take_with(const struct facet_solver *s, const char *name, int component,
                              enum sample_take take, int n_on, const char *const *on, double *values, int *n,
                              struct sample_about *about) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct physics *physics = s->problem->physics;
    int extremes = take == SAMPLE_MAX || take == SAMPLE_MIN, is_flux = strcmp(name, physics->through) == 0;
    int components = physics_components(physics, mesh->dim);
    enum hdg_field field = HDG_U;
    struct sample_domain where = {0};
    *n = 0;
    if (about != NULL) *about = (struct sample_about){.measure = 1.0};
    if (!s->solved) return base_fail(FACET_ERROR_INPUT, "there is no solution yet");
    TRY(sample_domain_find(s, n_on, on, is_flux, &where));
    if (is_flux && (where.dim != mesh->dim - 1 || extremes))
        FAIL(FACET_ERROR_INPUT, "the field %s has an integral or a mean over a boundary part only", name);
    if (!is_flux) TRY(sample_find_field(s, name, &field, &components));
    if (component >= components)
        FAIL(FACET_ERROR_INPUT, "the field '%s' has no component %d", name, component + 1);
    if (!extremes) {
        TRY(take_integral(s, name, is_flux ? NULL : &field, components, component, take == SAMPLE_MEAN,
                          &where, values, n, about));
        goto done;
    }
    TRY(sample_extreme(s, field, components, component, &where, take == SAMPLE_MAX, values, about));
    *n = 1;
done:
    sample_domain_destroy(&where);
    return status;
}

facet_status sample_take_on(const struct facet_solver *s, const char *name, int component,
                            enum sample_take take, int n_on, const char *const *on, double *values, int *n) {
    return sample_take_with(s, name, component, take, n_on, on, values, n, NULL);
}

static const char *const take_words[] = {
    [SAMPLE_INTEGRAL] = "integral", [SAMPLE_MEAN] = "mean", [SAMPLE_MAX] = "max", [SAMPLE_MIN] = "min"};

facet_status facet_solver_take(const facet_solver *s, const char *field, int component, const char *take,
                               int n_on, const char *const *on, double *values, int *n_values) {
    facet_status status;
    int which = 0;
    REQUIRE_AS(s, "solver");
    REQUIRE(field, take, values, n_values);
    *n_values = 0;
    if (n_on > 0) REQUIRE(on);
    for (int i = 0; i < n_on; i++) REQUIRE(on[i]);
    while (which < 4 && strcmp(take_words[which], take) != 0) which++;
    if (component < -1) return base_fail(FACET_ERROR_INPUT, "facet_solver_take: component %d", component);
    if (which == 4)
        return base_fail(FACET_ERROR_INPUT, "facet_solver_take: integral, mean, max or min, not '%s'", take);
    status = solver_check_host(s, "facet_solver_take", "values", values);
    if (status != FACET_OK) return status;
    SOLVER_READ(s, status,
                sample_take_on(s, field, component, (enum sample_take)which, n_on > 0 ? n_on : 0, on, values,
                               n_values));
    return status;
}

facet_status facet_solver_extreme(const facet_solver *s, const char *field, int component, const char *take,
                                  int n_on, const char *const *on, double *value, double *at, int64_t *cell) {
    struct sample_about about;
    facet_status status;
    int n;
    REQUIRE_AS(s, "solver");
    REQUIRE(field, take, value);
    if (n_on > 0) REQUIRE(on);
    for (int i = 0; i < n_on; i++) REQUIRE(on[i]);
    const int greatest = strcmp(take, take_words[SAMPLE_MAX]) == 0;
    if (component < -1) return base_fail(FACET_ERROR_INPUT, "facet_solver_extreme: component %d", component);
    if (!greatest && strcmp(take, take_words[SAMPLE_MIN]) != 0)
        return base_fail(FACET_ERROR_INPUT, "facet_solver_extreme: max or min, not '%s'", take);
    status = solver_check_host(s, "facet_solver_extreme", "value", value);
    if (status == FACET_OK && at != NULL) status = solver_check_host(s, "facet_solver_extreme", "at", at);
    if (status != FACET_OK) return status;
    SOLVER_READ(s, status,
                sample_take_with(s, field, component, greatest ? SAMPLE_MAX : SAMPLE_MIN, n_on > 0 ? n_on : 0,
                                 on, value, &n, &about));
    if (status != FACET_OK) return status;
    if (at != NULL) memcpy(at, about.place.at, (size_t)s->problem->mesh->dim * sizeof *at);
    if (cell != NULL) *cell = about.place.cell;
    return FACET_OK;
}
