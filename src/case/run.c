/* From a case file to a solution: the public interface called with what the case says, in the order of the
 * phases.
 */
#include "case/run.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/solution.h"
#include "io/vtu.h"
#include "mesh/part.h"

/* ------------------------------------------------------------------------------------------ places */

/* Puts the place in front of the message; the case file alone for what came from --set or a default. */
static facet_status at_place(facet_status status, const struct case_file *file, struct case_place place) {
    if (status != FACET_ERROR_INPUT) return status;
    if (place.setting != NULL) return base_wrap(status, "--set %s", place.setting);
    if (place.line > 0) return base_wrap(status, "%s:%d:%d", file->path, place.line, place.column);
    return base_wrap(status, "%s", file->path);
}

/* Whether a line names a group: "... 'name' ...". */
static int names_group(const char *line, size_t n, const char *group) {
    size_t length = group != NULL ? strlen(group) : 0;
    for (size_t i = 0; group != NULL && i + length + 2 <= n; i++)
        if (line[i] == '\'' && strncmp(line + i + 1, group, length) == 0 && line[i + 1 + length] == '\'')
            return 1;
    return 0;
}

/* Where the case says what a message of the library is about: the first group of its list that the line
 * names, or the list. */
static struct case_place find_place(const struct case_file *file, const char *line, size_t n) {
    struct case_place nowhere = {0};
    if (strncmp(line, "boundary", 8) == 0) {
        for (int i = 0; i < file->n_boundary; i++)
            if (names_group(line, n, file->boundary[i].on)) return file->boundary[i].on_place;
        return file->boundary_place;
    }
    if (strncmp(line, "conductivity", 12) == 0) {
        for (int i = 0; i < file->n_conductivity; i++)
            if (names_group(line, n, file->conductivity[i].on)) return file->conductivity[i].on_place;
        return file->regions_place;
    }
    for (int i = 0; strncmp(line, "interfaces", 10) == 0 && i < file->n_interfaces; i++)
        if (names_group(line, n, file->interfaces[i].between[0]) ||
            names_group(line, n, file->interfaces[i].between[1]))
            return file->interfaces[i].place;
    if (strncmp(line, "jump", 4) == 0) return file->jump.place;
    if (strncmp(line, "interfaces", 10) == 0 && file->n_interfaces > 0) return file->interfaces[0].place;
    const struct case_shares *shares = strncmp(line, "source", 6) == 0     ? &file->source
                                       : strncmp(line, "reaction", 8) == 0 ? &file->reaction
                                       : strncmp(line, "thermal.expansion", 17) == 0
                                           ? &file->thermal.expansion
                                           : NULL;
    if (strncmp(line, "thermal", 7) == 0 && shares == NULL) return file->thermal.place;
    for (int i = 0; shares != NULL && i < shares->n; i++)
        if (names_group(line, n, shares->items[i].on)) return shares->items[i].on_place;
    if (shares != NULL && shares->n > 0) return shares->items[0].place;
    if (strncmp(line, "material", 8) == 0) {
        for (int i = 0; i < file->n_material; i++)
            if (names_group(line, n, file->material[i].on)) return file->material[i].on_place;
        return file->regions_place;
    }
    return nowhere;
}

/* Puts the case file in front of every line of the message, with the place of the groups it names. */
static facet_status in_file(facet_status status, const struct case_file *file) {
    if (status != FACET_ERROR_INPUT) return status;
    struct text lines = {0};
    for (const char *line = base_message(); *line != '\0';) {
        size_t n = strcspn(line, "\n");
        struct case_place place = find_place(file, line, n);
        text_printf(&lines, "%s%s", lines.length > 0 ? "\n" : "", place.setting ? "--set " : file->path);
        if (place.setting != NULL)
            text_printf(&lines, "%s", place.setting);
        else if (place.line > 0)
            text_printf(&lines, ":%d:%d", place.line, place.column);
        text_printf(&lines, ": %.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
    if (lines.status == FACET_OK && lines.length > 0) base_fail(status, "%s", lines.data);
    text_free(&lines);
    return status;
}

/* Adds the message of a failed check to the list. */
static void gather(struct text *errors, facet_status status, const struct case_file *file,
                   struct case_place place) {
    if (status == FACET_OK) return;
    at_place(status, file, place);
    text_printf(errors, "%s%s", errors->length > 0 ? "\n" : "", base_message());
}

/* ------------------------------------------------------------------------------------------ mesh */

/* Boxes of quads and hexes stay boxes when they are refined, so that processes may begin with the finer one:
 * their blocks are boxes then, too. The coordinates are those of one process, which refines what has its
 * scale. *times, *scale: what is left to be done. */
static facet_status refine_box(facet_box *box, double *coordinates[3], double *scale, int *times) {
    facet_status status = FACET_OK;
    if (strcmp(box->shape, "quad") != 0 && strcmp(box->shape, "hex") != 0) return FACET_OK;
    for (int a = 0; a < box->dim; a++)
        if (*times < 1 || *times > 30 || !(*scale > 0.0) || box->cells[a] < 1 ||
            box->cells[a] > INT_MAX >> *times)
            return FACET_OK;
    for (int a = 0; a < box->dim; a++) {
        double *x = NULL;
        TRY(ALLOC(x, ((int64_t)box->cells[a] << *times) + 1));
        coordinates[a] = x;
        for (int i = 0; i <= box->cells[a]; i++) x[i] = *scale * mesh_box_coordinate(box, a, i);
        for (int k = 0; k < *times; k++) { /* from above: what is read has not been written yet */
            const int n = box->cells[a] *= 2;
            for (int i = n; i >= 0; i--) x[i] = i % 2 == 0 ? x[i / 2] : 0.5 * (x[i / 2] + x[i / 2 + 1]);
        }
        box->coordinates[a] = x;
    }
    *times = 0;
    *scale = 1.0;
done:
    return status;
}

facet_status run_mesh(const struct case_file *file, facet_context *context, int refine, facet_mesh **mesh) {
    facet_status status = FACET_OK;
    double *coordinates[3] = {NULL};
    int times = file->mesh.refine + refine;
    double scale = file->mesh.scale;
    *mesh = NULL;
    if (file->mesh.is_box) {
        facet_box box = file->mesh.box;
        box.size = sizeof box;
        if (context->team != NULL) TRY(refine_box(&box, coordinates, &scale, &times));
        TRY(at_place(facet_mesh_create_box(context, &box, mesh), file, file->mesh.place));
    } else {
        TRY((file->mesh.apart ? facet_mesh_read_apart : facet_mesh_read)(context, file->mesh.path, mesh));
    }
    if (*mesh == NULL) goto done; /* a rank without cells */
    if (scale != 1.0) TRY(at_place(facet_mesh_scale(*mesh, scale), file, file->mesh.place));
    TRY(at_place(facet_mesh_refine(*mesh, times), file, file->mesh.place));
done:
    for (int a = 0; a < 3; a++) base_free(&coordinates[a]);
    if (status != FACET_OK) facet_mesh_destroy(mesh);
    return status;
}

/* ------------------------------------------------------------------------------------------ names */

static facet_status check_part(const struct facet_mesh *mesh, const char *part) {
    char names[512], hint[MESH_HINT_BYTES];
    if (strcmp(part, "rest") == 0 || mesh_find_group(mesh, part, mesh->dim - 1) != NULL) return FACET_OK;
    mesh_group_names(mesh, mesh->dim - 1, names, sizeof names);
    return base_fail(FACET_ERROR_INPUT, "%s '%s' in the mesh; its boundary parts are: %s%s",
                     mesh_find_group(mesh, part, mesh->dim) != NULL
                         ? "there is a group of cells, but no boundary part,"
                         : "there is no boundary part",
                     part, names, mesh_group_hint(mesh, mesh->dim - 1, part, "rest", hint));
}

/* on: NULL, or a group of cells; prefix: of the message. */
static facet_status check_group(const struct facet_mesh *mesh, const char *prefix, const char *on) {
    char names[512], hint[MESH_HINT_BYTES];
    if (on == NULL || mesh_find_group(mesh, on, mesh->dim) != NULL) return FACET_OK;
    mesh_group_names(mesh, mesh->dim, names, sizeof names);
    return base_fail(FACET_ERROR_INPUT, "%sthere is no group of cells '%s' in the mesh; its groups are: %s%s",
                     prefix, on, names, mesh_group_hint(mesh, mesh->dim, on, NULL, hint));
}

static void check_region(const struct case_file *file, const struct facet_mesh *mesh,
                         const struct case_region_value *region, struct text *errors) {
    gather(errors, check_group(mesh, "conductivity: ", region->on), file, region->on_place);
    if (region->n == 1 || region->n == mesh->dim * mesh->dim) return;
    facet_status status =
        base_fail(FACET_ERROR_INPUT, "conductivity: a matrix of %d entries for a mesh of %d dimensions",
                  region->n, mesh->dim);
    gather(errors, status, file, region->place);
}

/* The word exact alone stands for all components. */
static facet_status check_vector(const struct facet_mesh *mesh, const char *name,
                                 const struct case_vector *vector) {
    if (vector->n <= 1 || vector->n == mesh->dim) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "%s: has %d components, but the mesh has %d dimensions", name,
                     vector->n, mesh->dim);
}

static facet_status check_support(const struct facet_mesh *mesh, const struct case_boundary *b) {
    if (mesh->dim == 2 && b->held[2] == CASE_ROLLER)
        return base_fail(FACET_ERROR_INPUT, "roller: a mesh of 2 dimensions has no z");
    if (b->n_spring > 2 && b->n_spring != mesh->dim * mesh->dim)
        return base_fail(FACET_ERROR_INPUT, "spring: a matrix of %d entries for a mesh of %d dimensions",
                         b->n_spring, mesh->dim);
    return FACET_OK;
}

/* The groups and components of what is given by group. */
static void check_shares(const struct case_file *file, const struct facet_mesh *mesh, const char *name,
                         const struct case_shares *shares, struct text *errors) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%s: ", name);
    for (int i = 0; i < shares->n; i++) {
        const struct case_share *share = &shares->items[i];
        gather(errors, check_group(mesh, prefix, share->on), file, share->on_place);
        gather(errors, check_vector(mesh, name, &share->value), file, share->value.place);
    }
}

/* The points that a value is taken at. */
static int64_t count_points(const struct case_value *value) {
    return value->take == CASE_AT ? 1 : value->take == CASE_ALONG ? value->n_points : 0;
}

/* Flags of all points of all values, one after the other: whether a cell has them, of whatever part. */
static facet_status find_points(const struct case_file *file, const struct facet_mesh *mesh,
                                int64_t **found) {
    facet_status status = FACET_OK;
    struct mesh_locator *locator = NULL;
    int64_t n = 0, at = 0;
    *found = NULL;
    for (int i = 0; i < file->n_values; i++) n += count_points(&file->values[i]);
    if (n == 0) goto done;
    TRY(ALLOC(*found, n));
    TRY(mesh_locator_create_for(mesh, n, &locator));
    for (int i = 0; i < file->n_values; i++)
        for (int64_t k = 0; k < count_points(&file->values[i]); k++, at++) {
            double point[3], xi[3];
            int32_t cell;
            run_line_point(&file->values[i], k, count_points(&file->values[i]), point);
            TRY(mesh_locate(locator, point, &cell, xi));
            (*found)[at] = cell >= 0 && (mesh->dim == 3 || point[2] == 0.0);
        }
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, (int)n, *found));
done:
    mesh_locator_destroy(&locator);
    return status;
}

static facet_status check_point(int found, int dim, const char *name, const double point[3]) {
    if (found) return FACET_OK;
    char z[32] = "";
    if (dim == 3 || point[2] != 0.0) snprintf(z, sizeof z, ", %.10g", point[2]);
    return base_fail(FACET_ERROR_INPUT, "value '%s': the point (%.10g, %.10g%s) lies outside the mesh", name,
                     point[0], point[1], z);
}

/* found: of its points. */
static facet_status check_value(const struct facet_mesh *mesh, const struct case_value *value,
                                const int64_t *found) {
    facet_status status = FACET_OK;
    int last = value->column > value->component ? value->column : value->component;
    if (last >= mesh->dim)
        return base_fail(FACET_ERROR_INPUT, "value '%s': a mesh of %d dimensions has no component %c",
                         value->name, mesh->dim, "xyz"[last]);
    if (strcmp(value->field, "vorticity") == 0 && value->component >= 0 && mesh->dim == 2)
        return base_fail(FACET_ERROR_INPUT, "value '%s': the vorticity in 2D is a scalar", value->name);
    if (value->n_coordinates > 0 && value->n_coordinates < mesh->dim)
        return base_fail(FACET_ERROR_INPUT,
                         "value '%s': a point of a mesh of %d dimensions has %d coordinates, not %d",
                         value->name, mesh->dim, mesh->dim, value->n_coordinates);
    int64_t n = count_points(value);
    for (int64_t i = 0; i < n && status == FACET_OK; i++) {
        double point[3];
        run_line_point(value, i, n, point);
        status = check_point(found[i] != 0, mesh->dim, value->name, point);
    }
    return status;
}

/* The part or the group that a value is taken on. */
static facet_status check_value_group(const struct facet_mesh *mesh, const struct case_value *value,
                                      const char *on) {
    char regions[256], parts[256], hint[MESH_HINT_BYTES];
    int cells = mesh_find_group(mesh, on, mesh->dim) != NULL;
    if (mesh_find_group(mesh, on, mesh->dim - 1) != NULL || (!cells && strcmp(on, "rest") == 0))
        return FACET_OK;
    int through = strcmp(value->field, "flux") == 0 || strcmp(value->field, "traction") == 0;
    if (cells && !through) return FACET_OK;
    mesh_group_names(mesh, mesh->dim, regions, sizeof regions);
    mesh_group_names(mesh, mesh->dim - 1, parts, sizeof parts);
    mesh_group_hint(mesh, through ? mesh->dim - 1 : -1, on, "rest", hint);
    if (cells)
        return base_fail(FACET_ERROR_INPUT,
                         "value '%s': '%s' is a group of cells, but %s needs a boundary part: %s",
                         value->name, on, value->field, parts);
    return base_fail(FACET_ERROR_INPUT,
                     "value '%s': there is no '%s' in the mesh; boundary parts: %s; groups of cells: %s%s",
                     value->name, on, parts, regions, hint);
}

/* Everything the case says about the mesh, with its place. */
static facet_status check_names(const struct case_file *file, const struct facet_mesh *mesh) {
    facet_status status = FACET_OK;
    struct text errors = {0};
    int64_t *found = NULL, at = 0;
    for (int i = 0; i < file->n_conductivity; i++) check_region(file, mesh, &file->conductivity[i], &errors);
    for (int i = 0; i < file->n_material; i++)
        gather(&errors, check_group(mesh, "material: ", file->material[i].on), file,
               file->material[i].on_place);
    check_shares(file, mesh, "source", &file->source, &errors);
    check_shares(file, mesh, "reaction", &file->reaction, &errors);
    check_shares(file, mesh, "thermal.expansion", &file->thermal.expansion, &errors);
    for (int i = 0; i < 2 * file->n_interfaces; i++)
        gather(&errors, check_group(mesh, "interfaces: ", file->interfaces[i / 2].between[i % 2]), file,
               file->interfaces[i / 2].places[i % 2]);
    gather(&errors, check_vector(mesh, "exact", &file->exact), file, file->exact.place);
    for (int i = 0; i < file->n_boundary; i++) {
        const struct case_boundary *b = &file->boundary[i];
        gather(&errors, check_part(mesh, b->on), file, b->on_place);
        gather(&errors, check_vector(mesh, "displacement", &b->displacement), file, b->displacement.place);
        gather(&errors, check_vector(mesh, "traction", &b->traction), file, b->traction.place);
        gather(&errors, check_vector(mesh, "gradient_pressure", &b->gradient_pressure), file,
               b->gradient_pressure.place);
        gather(&errors, check_vector(mesh, "force", &b->force), file, b->force.place);
        gather(&errors, check_support(mesh, b), file, b->place);
    }
    TRY(find_points(file, mesh, &found));
    for (int i = 0; i < file->n_values; i++) {
        gather(&errors, check_value(mesh, &file->values[i], found + at), file, file->values[i].place);
        at += count_points(&file->values[i]);
        for (int k = 0; k < file->values[i].n_on; k++)
            gather(&errors, check_value_group(mesh, &file->values[i], file->values[i].on[k]), file,
                   file->values[i].on_places[k]);
    }
    TRY(errors.status);
    if (errors.length > 0) FAIL(FACET_ERROR_INPUT, "%s", errors.data);
done:
    base_free(&found);
    text_free(&errors);
    return status;
}

/* ------------------------------------------------------------------------------------------ problem */

static facet_status set_conductivity(const struct case_file *file, facet_problem *problem) {
    for (int i = 0; i < file->n_conductivity; i++) {
        const struct case_region_value *region = &file->conductivity[i];
        const char *texts[9];
        for (int k = 0; k < region->n; k++) texts[k] = region->value[k].text;
        facet_status status = facet_problem_set_conductivity(problem, region->on, region->n, texts);
        if (status != FACET_OK) return at_place(status, file, region->place);
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
        if (status != FACET_OK) return at_place(status, file, m->place);
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
        if (status != FACET_OK) return at_place(status, file, share->place);
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
        TRY(at_place(facet_problem_set_expansion(problem, expansion->items[i].on,
                                                 expansion->items[i].value.texts[0].text),
                     file, expansion->items[i].place));
    if (expansion->n > 0)
        TRY(at_place(set_temperature(file, from, problem), file, file->thermal.temperature.place));
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
    return at_place(facet_problem_set_jump(problem, file->jump.n, texts), file, file->jump.place);
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
    if (status != FACET_OK) return in_file(status, file);
    int has_rest = problem_has_rest(problem->data.mesh, &resolved);
    problem_resolved_destroy(&resolved);
    for (int i = 0; !has_rest && i < file->n_values; i++)
        for (int k = 0; k < file->values[i].n_on; k++)
            if (means_rest(problem->data.mesh, file->values[i].on[k]))
                return at_place(
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
    TRY(check_names(file, mesh));
    for (int i = 0; i < file->n_parameters; i++)
        TRY(facet_problem_set_parameter(*problem, file->parameters[i].name, file->parameters[i].value));
    TRY(set_conductivity(file, *problem));
    TRY(set_material(file, *problem));
    TRY(set_shares(file, *problem, &file->reaction, 0));
    TRY(set_shares(file, *problem, &file->source, 1));
    TRY(set_thermal(file, from, *problem));
    for (int i = 0; i < file->n_interfaces; i++)
        TRY(at_place(facet_problem_set_interface(*problem, file->interfaces[i].between[0],
                                                 file->interfaces[i].between[1],
                                                 file->interfaces[i].conductance.text),
                     file, file->interfaces[i].place));
    TRY(set_jump(file, *problem));
    TRY(at_place(set_exact(*problem, &file->exact), file, file->exact.place));
    for (int i = 0; i < file->n_boundary; i++)
        TRY(at_place(set_condition(file, *problem, &file->boundary[i]), file, file->boundary[i].place));
    TRY(check_complete(file, *problem));
done:
    if (status != FACET_OK) facet_problem_destroy(problem);
    return status;
}

/* ------------------------------------------------------------------------------------------ targets */

/* A file of a run: read, or about to be written. */
struct target {
    const char *path, *what, *name; /* "the case file"; the table of value 'name' */
    struct case_place place;
    int written;
};

static facet_status fail_same(const struct case_file *file, const struct target *a, const struct target *b) {
    facet_status status = base_fail(
        FACET_ERROR_INPUT, "%s%s%s would be written to '%s', which is %s%s%s%s; choose another name", b->what,
        b->name ? " " : "", b->name ? b->name : "", b->path, a->written ? "also where to write " : "",
        a->what, a->name ? " " : "", a->name ? a->name : "");
    return at_place(status, file, b->place);
}

/* Each target against all that stand before it. */
static facet_status compare_targets(const struct case_file *file, int n, const struct target *targets) {
    for (int i = 0; i < n; i++)
        for (int k = 0; targets[i].written && k < i; k++) {
            const char *a = targets[k].path, *b = targets[i].path;
            int both_out = strcmp(a, "-") == 0 && strcmp(b, "-") == 0;
            if (both_out || file_is_same(a, b)) return fail_same(file, &targets[k], &targets[i]);
        }
    return FACET_OK;
}

/* Nobody shall wait for a solve whose result has no place to go. */
facet_status run_check_targets(const struct case_file *file, const struct run_options *options) {
    facet_status status = FACET_OK;
    struct target *targets = NULL;
    int n = 0, most = 3;
    for (const struct case_file *f = file; f != NULL; f = f->next) most += f->n_values + 1;
    TRY(ALLOC(targets, most));
    targets[n++] = (struct target){.path = file->path, .what = "the case file"};
    if (!file->mesh.is_box) targets[n++] = (struct target){.path = file->mesh.path, .what = "the mesh file"};
    if (options->json != NULL)
        targets[n++] = (struct target){.path = options->json, .what = "the JSON", .written = 1};
    for (const struct case_file *f = file; f != NULL; f = f->next) {
        const char *output = options->output != NULL ? options->output : f->output.file;
        if (output != NULL && !options->no_files)
            targets[n++] = (struct target){.path = output, .what = "the output", .written = 1};
        for (int i = 0; !options->no_files && i < f->n_values; i++) {
            const struct case_value *value = &f->values[i];
            if (value->file != NULL)
                targets[n++] =
                    (struct target){value->file, "the table of the value", value->name, value->place, 1};
        }
    }
    TRY(compare_targets(file, n, targets));
    for (int i = 0; i < n; i++)
        if (targets[i].written) TRY(file_check(targets[i].path));
done:
    base_free(&targets);
    return status;
}

/* ------------------------------------------------------------------------------------------ the run */

static double begin_phase(const struct run *run, facet_phase phase) {
    return base_phase_begin(&run->timers, &run->context->monitor, phase);
}

static void end_phase(struct run *run, facet_phase phase, double begin) {
    base_phase_end(&run->timers, &run->context->monitor, phase, begin);
}

static facet_status make_mesh(struct run *run, int refine) {
    double begin = begin_phase(run, FACET_PHASE_MESH);
    facet_status status = run_mesh(run->file, run->context, refine, &run->mesh);
    end_phase(run, FACET_PHASE_MESH, begin);
    return status != FACET_OK ? status : base_check_interrupt();
}

/* The report of the solver with the phases that are not its own. A matrix that could not be factored leaves
 * no solver behind. */
static facet_status make_report(struct run *run) {
    if (run->solver != NULL) {
        double begin = begin_phase(run, FACET_PHASE_MEASURE);
        run->report.size = sizeof run->report;
        facet_status status = facet_solver_report(run->solver, &run->report);
        end_phase(run, FACET_PHASE_MEASURE, begin);
        if (status != FACET_OK) return status;
    } else {
        run->report = (facet_report){.method = "direct",
                                     .preconditioner = "none",
                                     .reason = "the matrix is not positive definite",
                                     .residual = NAN,
                                     .rate = -1.0,
                                     .error = -1.0};
    }
    run->has_report = 1;
    for (int phase = 0; phase < FACET_N_PHASES; phase++) {
        double *peak = &run->timers.peak_bytes[phase];
        run->timers.seconds[phase] += run->report.seconds[phase];
        *peak = fmax(*peak, run->report.peak_bytes[phase]);
    }
    return FACET_OK;
}

facet_status run_check_data(const struct case_file *file, const facet_problem *problem,
                            struct hdg_mismatch *mismatch, int64_t unknowns[2]) {
    return in_file(problem_check_data(problem, &file->options, mismatch, unknowns), file);
}

/* What is wrong with later cases of a chain is told before the first is solved. */
static facet_status check_followers(const struct run *run) {
    facet_status status = FACET_OK;
    for (const struct case_file *file = run->file->next; file != NULL; file = file->next) {
        facet_problem *problem = NULL;
        TRY(run_problem(file, run->context, run->mesh, NULL, &problem));
        facet_problem_destroy(&problem);
    }
done:
    return status;
}

/* The targets, the mesh and the problem on it, with its data looked at; begun: see struct run_options. */
static facet_status prepare(struct run *run, const struct run_options *options) {
    facet_status status = FACET_OK;
    const struct case_file *file = run->file;
    double begin = begin_phase(run, FACET_PHASE_SETUP);
    if (options->begun > 0.0) begin = options->begun;
    if (options->n_before > 0) {
        run->mesh = options->before[0].mesh;
        run->borrows_mesh = 1;
    } else {
        if (team_rank(run->context->team) == 0) TRY(run_check_targets(file, options));
        TRY(make_mesh(run, options->refine));
        if (run->mesh != NULL) TRY(check_followers(run));
    }
    if (run->mesh == NULL) goto done;
    int from = file->thermal.from;
    TRY(run_problem(file, run->context, run->mesh,
                    from >= 0 && from < options->n_before ? options->before[from].solver : NULL,
                    &run->problem));
    TRY(in_file(problem_find_mismatch(run->problem, &file->options, &run->mismatch), file));
done:
    end_phase(run, FACET_PHASE_SETUP, begin);
    return status;
}

static facet_status solve(struct run *run) {
    facet_status status = FACET_OK;
    const struct case_file *file = run->file;
    struct options options = file->options;
    options.degree = run->degree;
    options.watch = run->watched;
    TRY(in_file(solver_create(run->problem, &options, NULL, &run->solver), file));
    TRY(base_check_interrupt());
    TRY(in_file(facet_solver_solve(run->solver, NULL, NULL), file));
    TRY(base_check_interrupt());
done:
    if (status != FACET_OK && status != FACET_NOT_CONVERGED) return status;
    facet_status reported = make_report(run);
    return reported != FACET_OK ? reported : status;
}

/* Errors and values. */
static facet_status measure(struct run *run) {
    facet_status status = FACET_OK;
    const struct case_file *file = run->file;
    double begin = begin_phase(run, FACET_PHASE_MEASURE);
    run->errors.size = sizeof run->errors;
    if (file->exact.n > 0) TRY(in_file(facet_solver_errors(run->solver, &run->errors), file));
    run->has_errors = file->exact.n > 0;
    TRY(run_measure_values(run));
done:
    end_phase(run, FACET_PHASE_MEASURE, begin);
    return status;
}

static int has_targets(const struct run *run) {
    int n = run->output != NULL;
    for (int i = 0; i < run->file->n_values; i++) n += run->file->values[i].file != NULL;
    return n > 0;
}

/* From then on the output is the file that names the pieces. */
static facet_status name_pieces(struct run *run) {
    facet_status status = FACET_OK;
    run->n_pieces = vtu_n_pieces(mesh_team(run->mesh), run->file->output.pieces);
    if (run->n_pieces == 1) goto done;
    TRY(CALLOC(run->pieces, run->n_pieces + 1));
    for (int p = 0; p <= run->n_pieces; p++) TRY(vtu_piece_name(run->output, p - 1, &run->pieces[p]));
    run->output = run->pieces[0];
done:
    return status;
}

static facet_status write_files(struct run *run) {
    facet_status status = FACET_OK;
    const struct case_file *file = run->file;
    double begin = begin_phase(run, FACET_PHASE_OUTPUT);
    if (run->output != NULL) {
        TRY(solution_write(run->solver, run->output, file->output.n_fields,
                           (const char *const *)file->output.fields, file->output.order,
                           file->output.pieces));
        TRY(name_pieces(run));
        run->output_written = 1;
    }
    TRY(run_write_values(run));
    run->values_written = 1;
done:
    end_phase(run, FACET_PHASE_OUTPUT, begin);
    return status;
}

facet_status run_solve(const struct case_file *file, facet_context *context,
                       const struct run_options *options, struct run *run) {
    facet_status status = FACET_OK;
    const struct run_options defaults = {0};
    if (options == NULL) options = &defaults;
    double begin = options->begun > 0.0 ? options->begun : base_seconds();
    *run = (struct run){.file = file, .context = context, .watched = options->watch};
    run->degree = options->degree > 0 ? options->degree : file->options.degree;
    if (!options->no_files) run->output = options->output != NULL ? options->output : file->output.file;
    TRY(prepare(run, options));
    if (run->mesh == NULL) goto done;
    TRY(solve(run));
    TRY(measure(run));
    if (!options->no_files && has_targets(run)) TRY(write_files(run));
done:
    run->total_seconds = base_seconds() - begin;
    return status == FACET_OK && run->mesh != NULL ? run_compare_ranks(run) : status;
}

void run_destroy(struct run *run) {
    for (int i = 0; i < run->n_values; i++) base_free(&run->values[i].numbers);
    base_free(&run->values);
    for (int p = 0; run->pieces != NULL && p <= run->n_pieces; p++) base_free(&run->pieces[p]);
    base_free(&run->pieces);
    facet_solver_destroy(&run->solver);
    facet_problem_destroy(&run->problem);
    if (!run->borrows_mesh) facet_mesh_destroy(&run->mesh);
    *run = (struct run){0};
}
