/* What a case says about the mesh by name or by point: parts, groups, components, points of values. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "case/places.h"
#include "case/run_case.h"
#include "mesh/part.h"

/* Adds the message of a failed check to the list. */
static void gather(struct text *errors, facet_status status, const struct case_file *file,
                   struct case_place place) {
    if (status == FACET_OK) return;
    case_at_place(status, file, place);
    text_printf(errors, "%s%s", errors->length > 0 ? "\n" : "", base_message());
}

static facet_status check_part(const struct facet_mesh *mesh, const char *part) {
    char names[512], hint[MESH_HINT_BYTES];
    if (part == NULL || strcmp(part, "rest") == 0 || mesh_find_group(mesh, part, mesh->dim - 1) != NULL)
        return FACET_OK;
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
    if (region->n <= 1 || region->n == mesh->dim * mesh->dim) return;
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
    if (value->n_coordinates == 0) return 0;
    return value->take == CASE_AT ? 1 : value->take == CASE_ALONG ? value->n_points : 0;
}

/* Of the points of a value: how many cells of all parts have them, or are near enough; and where the first of
 * the others lies. */
struct places {
    int64_t n_found;
    double outside[3];
    struct mesh_near near;
};

/* A point in the plane of a mesh of 2 dimensions. */
static int is_in_plane(const struct facet_mesh *mesh, const double point[3]) {
    return mesh->dim == 3 || point[2] == 0.0;
}

/* Points that no cell has may still lie on the boundary that was meshed. Of a line one will do. */
static facet_status find_near(const struct facet_mesh *mesh, const struct case_value *value,
                              const int64_t *found, struct mesh_outside **outside, struct places *places) {
    facet_status status = FACET_OK;
    const int64_t n = count_points(value);
    for (int64_t i = 0; i < n; i++) places->n_found += found[i] != 0;
    for (int64_t i = 0, first = 1; i < n && places->n_found == 0; i++) {
        double point[3];
        struct mesh_near near;
        run_line_point(value, i, n, point);
        if (*outside == NULL) TRY(mesh_outside_create(mesh, outside));
        TRY(mesh_outside_ask(*outside, point, &near));
        places->n_found += is_in_plane(mesh, point) && near.distance <= near.allowed;
        if (first) {
            memcpy(places->outside, point, sizeof point);
            places->near = near;
        }
        first = 0;
    }
done:
    return status;
}

/* Looks for all points of all values; *places: one for each of them. */
static facet_status find_points(const struct case_file *file, const struct facet_mesh *mesh,
                                struct places **places) {
    facet_status status = FACET_OK;
    struct mesh_locator *locator = NULL;
    struct mesh_outside *outside = NULL;
    int64_t n = 0, at = 0, *found = NULL;
    TRY(CALLOC(*places, file->n_values + 1));
    for (int i = 0; i < file->n_values; i++) n += count_points(&file->values[i]);
    if (n == 0) goto done;
    TRY(ALLOC(found, n));
    TRY(mesh_locator_create_for(mesh, n, &locator));
    for (int i = 0; i < file->n_values; i++)
        for (int64_t k = 0; k < count_points(&file->values[i]); k++, at++) {
            double point[3], xi[3];
            int32_t cell;
            run_line_point(&file->values[i], k, count_points(&file->values[i]), point);
            TRY(mesh_locate(locator, point, &cell, xi));
            found[at] = cell >= 0 && is_in_plane(mesh, point);
        }
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, (int)n, found));
    at = 0;
    for (int i = 0; i < file->n_values; at += count_points(&file->values[i++]))
        TRY(find_near(mesh, &file->values[i], found + at, &outside, &(*places)[i]));
done:
    base_free(&found);
    mesh_outside_destroy(&outside);
    mesh_locator_destroy(&locator);
    return status;
}

/* A line may leave the mesh, but not be outside of it. */
static facet_status check_points(const struct facet_mesh *mesh, const struct case_value *value,
                                 const struct places *places) {
    const int64_t n = count_points(value);
    if (n == 0 || places->n_found > 0) return FACET_OK;
    if (value->take == CASE_ALONG)
        return base_fail(FACET_ERROR_INPUT, "value '%s': all %lld points of the line lie outside the mesh",
                         value->name, (long long)n);
    if (!is_in_plane(mesh, places->outside))
        return base_fail(FACET_ERROR_INPUT,
                         "value '%s': the point (%.10g, %.10g, %.10g) lies outside the mesh", value->name,
                         places->outside[0], places->outside[1], places->outside[2]);
    mesh_fail_outside(mesh, places->outside, &places->near);
    return base_wrap(FACET_ERROR_INPUT, "value '%s'", value->name);
}

static facet_status check_value(const struct facet_mesh *mesh, const struct case_value *value,
                                const struct places *places) {
    int last = value->column > value->component ? value->column : value->component;
    if (value->name == NULL || value->field == NULL) return FACET_OK; /* refused */
    if (last >= mesh->dim)
        return base_fail(FACET_ERROR_INPUT, "value '%s': a mesh of %d dimensions has no component %c",
                         value->name, mesh->dim, "xyz"[last]);
    if (strcmp(value->field, "vorticity") == 0 && value->component >= 0 && mesh->dim == 2)
        return base_fail(FACET_ERROR_INPUT, "value '%s': the vorticity in 2D is a scalar", value->name);
    if (value->n_coordinates > 0 && value->n_coordinates < mesh->dim)
        return base_fail(FACET_ERROR_INPUT,
                         "value '%s': a point of a mesh of %d dimensions has %d coordinates, not %d",
                         value->name, mesh->dim, mesh->dim, value->n_coordinates);
    return check_points(mesh, value, places);
}

/* The part or the group that a value is taken on. */
static facet_status check_value_group(const struct facet_mesh *mesh, const struct case_value *value,
                                      const char *on) {
    char regions[256], parts[256], hint[MESH_HINT_BYTES];
    int cells = mesh_find_group(mesh, on, mesh->dim) != NULL;
    if (value->name == NULL || value->field == NULL) return FACET_OK; /* refused */
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

facet_status run_check_names(const struct case_file *file, const struct facet_mesh *mesh) {
    facet_status status = FACET_OK;
    struct text errors = {0};
    struct places *places = NULL;
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
    TRY(find_points(file, mesh, &places));
    for (int i = 0; i < file->n_values; i++) {
        gather(&errors, check_value(mesh, &file->values[i], &places[i]), file, file->values[i].place);
        for (int k = 0; k < file->values[i].n_on; k++)
            gather(&errors, check_value_group(mesh, &file->values[i], file->values[i].on[k]), file,
                   file->values[i].on_places[k]);
    }
    TRY(errors.status);
    if (errors.length > 0) TRY(base_fail_lines(FACET_ERROR_INPUT, errors.data));
done:
    base_free(&places);
    text_free(&errors);
    return status;
}
