/* Names meet the mesh: every cell gets its conductivity, every boundary face its condition, and all that does
 * not fit is reported at once. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "problem/problem.h"

#define NAMES_BYTES 512
#define PLACE_BYTES 80

static void add_error(struct text *errors, const char *line) {
    text_printf(errors, "%s%s", errors->length > 0 ? "\n" : "", line);
}

#define ERROR(errors, ...)                                                                                   \
    do {                                                                                                     \
        char line_[BASE_MESSAGE_BYTES / 2];                                                                  \
        snprintf(line_, sizeof line_, __VA_ARGS__);                                                          \
        add_error(errors, line_);                                                                            \
    } while (0)

void problem_resolved_destroy(struct problem_resolved *r) {
    base_free(&r->conductivity);
    field_destroy(&r->one);
    base_free(&r->cell_region);
    base_free(&r->conditions);
    base_free(&r->face_condition);
    *r = (struct problem_resolved){0};
}

/* Cells not named get the entry without a group, or K = 1 when there is no entry at all. */
static facet_status resolve_regions(const struct problem *p, struct problem_resolved *r,
                                    struct text *errors) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    int general = -1, n = p->n_regions > 0 ? p->n_regions : 1;
    int64_t missing = 0;
    TRY(CALLOC(r->conductivity, n));
    TRY(ALLOC(r->cell_region, mesh->n_cells));
    if (p->n_regions == 0) {
        TRY(field_create_constants(1, (const double[]){1.0}, &r->one));
        r->conductivity[0] = r->one;
        general = 0;
    }
    for (int32_t c = 0; c < mesh->n_cells; c++) r->cell_region[c] = -1;
    for (int i = 0; i < p->n_regions; i++) {
        r->conductivity[i] = p->regions[i].conductivity;
        if (p->exact != NULL && !field_is_differentiable(r->conductivity[i]))
            ERROR(
                errors,
                "with an exact solution the conductivity must be given by expressions, not by a C function");
        if (p->regions[i].group == NULL) {
            general = i;
            continue;
        }
        const struct mesh_group *group = mesh_find_group(mesh, p->regions[i].group, mesh->dim);
        if (group == NULL) {
            char names[NAMES_BYTES];
            mesh_group_names(mesh, mesh->dim, names, sizeof names);
            ERROR(errors, "conductivity: there is no group of cells '%s' in the mesh; groups: %s",
                  p->regions[i].group, names);
            continue;
        }
        for (int32_t k = 0; k < group->count; k++) {
            int32_t *region = &r->cell_region[group->ids[k]];
            if (*region >= 0 && *region != i) {
                char place[PLACE_BYTES];
                ERROR(errors, "conductivity: the cell at %s lies in both '%s' and '%s'",
                      mesh_middle_text(mesh, group->ids[k], -1, place, sizeof place),
                      p->regions[*region].group, group->name);
                break;
            }
            *region = i;
        }
    }
    for (int32_t c = 0; c < mesh->n_cells; c++) {
        if (r->cell_region[c] < 0) r->cell_region[c] = general;
        if (r->cell_region[c] < 0) missing++;
    }
    if (missing > 0 && errors->length == 0) {
        char names[NAMES_BYTES];
        mesh_group_names(mesh, mesh->dim, names, sizeof names);
        ERROR(errors, "conductivity: %lld of %d cells have none; the groups of the mesh are: %s",
              (long long)missing, mesh->n_cells, names);
    }
done:
    return status;
}

static const char *face_place(const struct facet_mesh *mesh, int32_t face, char *text, int text_bytes) {
    return mesh_middle_text(mesh, mesh->face_cells[2 * (int64_t)face], mesh->face_locals[2 * (int64_t)face],
                            text, text_bytes);
}

/* Assigns condition `index` to the faces of its part. */
static void assign_part(const struct problem *p, int index, struct problem_resolved *r, struct text *errors) {
    const struct facet_mesh *mesh = p->mesh;
    const char *part = p->conditions[index].part;
    char place[PLACE_BYTES];
    const struct mesh_group *group = mesh_find_group(mesh, part, mesh->dim - 1);
    if (group == NULL) {
        char names[NAMES_BYTES];
        mesh_group_names(mesh, mesh->dim - 1, names, sizeof names);
        ERROR(errors, "boundary: %s '%s'; the boundary parts of the mesh are: %s",
              mesh_find_group(mesh, part, mesh->dim) != NULL
                  ? "there is a group of cells, but no boundary part,"
                  : "there is no part",
              part, names);
        return;
    }
    for (int32_t k = 0; k < group->count; k++) {
        int32_t face = group->ids[k], *condition = &r->face_condition[face];
        if (mesh->face_cells[2 * (int64_t)face + 1] >= 0) {
            ERROR(errors,
                  "boundary: '%s' has faces inside the domain, one at %s; conditions belong to the boundary",
                  part, face_place(mesh, face, place, sizeof place));
            return;
        }
        if (*condition >= 0) {
            ERROR(errors, "boundary: the face at %s lies in both '%s' and '%s'",
                  face_place(mesh, face, place, sizeof place), p->conditions[*condition].part, part);
            return;
        }
        *condition = index;
    }
}

/* Says which parts have no condition. */
static void report_unnamed(const struct problem *p, const struct problem_resolved *r, struct text *errors) {
    const struct facet_mesh *mesh = p->mesh;
    char names[NAMES_BYTES] = "";
    int64_t n = 0;
    for (int32_t f = 0; f < mesh->n_faces; f++)
        n += mesh->face_cells[2 * (int64_t)f + 1] < 0 && r->face_condition[f] < 0;
    for (int g = 0; g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        if (group->dim != mesh->dim - 1 || group->count == 0) continue;
        int32_t face = group->ids[0];
        if (mesh->face_cells[2 * (int64_t)face + 1] >= 0 || r->face_condition[face] >= 0) continue;
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", length > 0 ? ", " : "", group->name);
    }
    ERROR(errors,
          "boundary: %lld of %d boundary faces have no condition (%s%s); name them, or add {on: rest, ...} "
          "for all others",
          (long long)n, mesh->n_boundary_faces, names[0] != '\0' ? "parts: " : "they belong to no part",
          names);
}

static facet_status resolve_conditions(const struct problem *p, struct problem_resolved *r,
                                       struct text *errors) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    int rest = -1, unnamed = 0, n = p->n_conditions;
    TRY(ALLOC(r->conditions, n + 1));
    TRY(ALLOC(r->face_condition, mesh->n_faces));
    for (int32_t f = 0; f < mesh->n_faces; f++) r->face_condition[f] = -1;
    for (int i = 0; i < n; i++) {
        const struct problem_condition *c = &p->conditions[i];
        r->conditions[i] = (struct hdg_condition){c->kind, c->g, c->a, c->part};
        if (c->g == NULL && p->exact == NULL)
            ERROR(errors,
                  "boundary: the condition on '%s' wants data of the exact solution, but there is none",
                  c->part);
        if (strcmp(c->part, "rest") == 0)
            rest = i;
        else
            assign_part(p, i, r, errors);
    }
    r->conditions[n] = (struct hdg_condition){HDG_DIRICHLET, NULL, NULL, "rest"};
    if (rest < 0 && p->exact != NULL) rest = n;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        if (mesh->face_cells[2 * (int64_t)f + 1] >= 0 || r->face_condition[f] >= 0) continue;
        r->face_condition[f] = rest;
        unnamed += rest < 0;
    }
    if (unnamed > 0 && errors->length == 0) report_unnamed(p, r, errors);
done:
    return status;
}

/* A piece of the mesh that touches no other has a singular problem of its own unless something holds it. */
static facet_status check_pieces(const struct problem *p, const struct problem_resolved *r,
                                 struct text *errors) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    int32_t *parent = NULL, n_pieces = 0, loose = -1;
    uint8_t *held = NULL;
    TRY(ALLOC(parent, mesh->n_cells));
    TRY(CALLOC(held, mesh->n_cells));
    for (int32_t c = 0; c < mesh->n_cells; c++) parent[c] = c;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t a = mesh->face_cells[2 * (int64_t)f], b = mesh->face_cells[2 * (int64_t)f + 1];
        if (b < 0) continue;
        while (parent[a] != a) a = parent[a] = parent[parent[a]];
        while (parent[b] != b) b = parent[b] = parent[parent[b]];
        parent[a > b ? a : b] = a < b ? a : b;
    }
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t a = mesh->face_cells[2 * (int64_t)f], c = r->face_condition[f];
        if (c < 0 || r->conditions[c].kind == HDG_NEUMANN) continue;
        while (parent[a] != a) a = parent[a];
        held[a] = 1;
    }
    for (int32_t c = 0; c < mesh->n_cells; c++) {
        if (parent[c] != c) continue;
        n_pieces++;
        if (!held[c]) loose = c;
    }
    double reaction = 0.0; /* one that varies is trusted to hold every piece */
    int holds = p->reaction != NULL && (!field_is_constant(p->reaction, &reaction) || reaction != 0.0);
    if (n_pieces > 1 && loose >= 0 && !holds) {
        char place[PLACE_BYTES];
        ERROR(errors,
              "the mesh falls into %d unconnected pieces, and the one with the cell at %s has no Dirichlet "
              "or Robin "
              "part: its solution is not determined",
              n_pieces, mesh_middle_text(mesh, loose, -1, place, sizeof place));
    }
done:
    base_free(&parent);
    base_free(&held);
    return status;
}

facet_status problem_resolve(const struct problem *p, struct problem_resolved *r) {
    facet_status status = FACET_OK;
    struct text errors = {0};
    *r = (struct problem_resolved){0};
    if (p->exact != NULL && p->source != NULL)
        add_error(&errors, "source: excluded by the exact solution, which determines it");
    if (p->exact != NULL && p->reaction != NULL && !field_is_differentiable(p->reaction))
        add_error(&errors,
                  "with an exact solution the reaction must be given by an expression, not by a C function");
    TRY(resolve_regions(p, r, &errors));
    TRY(resolve_conditions(p, r, &errors));
    if (errors.length == 0) TRY(check_pieces(p, r, &errors));
    TRY(errors.status);
    if (errors.length > 0) FAIL(FACET_ERROR_INPUT, "%s", errors.data);
    r->data = (struct hdg_data){.mesh = p->mesh,
                                .n_regions = p->n_regions > 0 ? p->n_regions : 1,
                                .conductivity = r->conductivity,
                                .cell_region = r->cell_region,
                                .reaction = p->reaction,
                                .source = p->source,
                                .exact = p->exact,
                                .conditions = r->conditions,
                                .face_condition = r->face_condition};
done:
    text_free(&errors);
    if (status != FACET_OK) problem_resolved_destroy(r);
    return status;
}
