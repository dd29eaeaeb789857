/* Where a value is taken: names of parts or of groups of cells, several of them together, each cell and face
 * counted once; `rest` is what no other condition names. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "mesh/part.h"
#include "problem/problem.h"

static int is_rest(const struct problem_resolved *r, int32_t condition) {
    return condition >= 0 && strcmp(r->conditions[condition].part, "rest") == 0;
}

int problem_has_rest(const struct facet_mesh *mesh, const struct problem_resolved *r) {
    int64_t found = 0;
    for (int side = 0; mesh_is_box(mesh) && side < 6; side++)
        if (is_rest(r, r->side_condition[side])) return 1;
    for (int32_t f = 0; !mesh_is_box(mesh) && f < mesh->n_faces; f++)
        if (is_rest(r, r->face_condition[f])) found = 1;
    return team_reduce_counts(mesh_team(mesh), TEAM_MAX, 1, &found) == FACET_OK && found;
}

static facet_status fail_unknown(const struct facet_mesh *mesh, const char *name) {
    char regions[256], parts[256], hint[MESH_HINT_BYTES];
    mesh_group_names(mesh, mesh->dim, regions, sizeof regions);
    mesh_group_names(mesh, mesh->dim - 1, parts, sizeof parts);
    return base_fail(FACET_ERROR_INPUT,
                     "there is no '%s' in the mesh; boundary parts: %s; groups of cells: %s%s", name, parts,
                     regions, mesh_group_hint(mesh, -1, name, "rest", hint));
}

/* Adds numbers of faces or cells to those at hand. */
static facet_status add_ids(struct sample_domain *w, int32_t n, const int32_t *ids) {
    facet_status status = FACET_OK;
    TRY(base_realloc(&w->merged.ids, (size_t)w->merged.count + (size_t)n + 1, sizeof *w->merged.ids));
    if (n > 0) memcpy(w->merged.ids + w->merged.count, ids, (size_t)n * sizeof *ids);
    w->merged.count += n;
done:
    return status;
}

/* A side of a box is known by itself; it is taken once. */
static void add_side(struct sample_domain *w, const struct mesh_group *side) {
    for (int i = 0; i < w->n; i++)
        if (w->groups[i] == side) return;
    w->groups[w->n++] = side;
}

static facet_status add_rest(const struct facet_solver *s, struct sample_domain *w) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    if (mesh->part != NULL) TRY(add_ids(w, 0, NULL)); /* which may lie elsewhere */
    for (int g = 0; mesh_is_box(mesh) && g < mesh->n_groups; g++)
        if (is_rest(&s->resolved, s->resolved.side_condition[mesh->groups[g].side]))
            add_side(w, &mesh->groups[g]);
    for (int32_t f = 0; !mesh_is_box(mesh) && f < mesh->n_faces; f++)
        if (is_rest(&s->resolved, s->resolved.face_condition[f])) TRY(add_ids(w, 1, &f));
done:
    return status;
}

/* Parts before groups of cells where only those will do. */
static facet_status add_name(const struct facet_solver *s, const char *name, int faces_only,
                             struct sample_domain *w) {
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct mesh_group *cells = mesh_find_group(mesh, name, mesh->dim);
    const struct mesh_group *part = mesh_find_group(mesh, name, mesh->dim - 1);
    int rest = strcmp(name, "rest") == 0 && cells == NULL && part == NULL;
    if (rest && !problem_has_rest(mesh, &s->resolved))
        return base_fail(FACET_ERROR_INPUT, "'rest' is nothing: every part of the boundary is named");
    if (!rest && cells == NULL && part == NULL) return fail_unknown(mesh, name);
    if (cells != NULL && part != NULL && !faces_only)
        return base_fail(FACET_ERROR_INPUT,
                         "'%s' is the name of a boundary part and of a group of cells; which is meant?",
                         name);
    int dim = rest || part != NULL ? mesh->dim - 1 : mesh->dim;
    if (w->dim != 0 && w->dim != dim)
        return base_fail(
            FACET_ERROR_INPUT,
            "'%s' is a %s, unlike the names before it; boundary parts and groups of cells do not "
            "go together",
            name, dim == mesh->dim ? "group of cells" : "boundary part");
    w->dim = dim;
    if (rest) return add_rest(s, w);
    const struct mesh_group *group = dim == mesh->dim ? cells : part;
    if (!mesh_is_box(mesh)) return add_ids(w, group->count, group->ids);
    add_side(w, group);
    return FACET_OK;
}

/* A face of a seam belongs to its cell with the smaller number, as it does in a whole mesh. */
static facet_status keep_own_faces(const struct facet_mesh *mesh, struct mesh_group *faces) {
    facet_status status = FACET_OK;
    int64_t *cells = NULL;
    int32_t kept = 0;
    if (mesh->part == NULL) return FACET_OK;
    TRY(CALLOC(cells, mesh->n_faces));
    for (int64_t f = 0; f < mesh->n_faces; f++) cells[f] = -mesh->part->cell_numbers[mesh->face_cells[2 * f]];
    TRY(mesh_merge_faces(mesh, 1, cells));
    for (int32_t i = 0; i < faces->count; i++) {
        const int64_t f = faces->ids[i];
        if (cells[f] == -mesh->part->cell_numbers[mesh->face_cells[2 * f]])
            faces->ids[kept++] = faces->ids[i];
    }
    faces->count = kept;
done:
    base_free(&cells);
    return status;
}

facet_status sample_domain_find(const struct facet_solver *s, int n, const char *const *names, int faces_only,
                                struct sample_domain *w) {
    facet_status status = FACET_OK;
    int32_t kept = 0;
    *w = (struct sample_domain){.names = names};
    for (int i = 0; i < n; i++) TRY(add_name(s, names[i], faces_only, w));
    if (w->merged.ids == NULL) goto done;
    base_sort(w->merged.count, w->merged.ids);
    for (int32_t i = 0; i < w->merged.count; i++)
        if (kept == 0 || w->merged.ids[i] != w->merged.ids[kept - 1])
            w->merged.ids[kept++] = w->merged.ids[i];
    w->merged.count = kept;
    w->merged.dim = w->dim;
    if (w->dim == s->problem->mesh->dim - 1) TRY(keep_own_faces(s->problem->mesh, &w->merged));
    w->groups[w->n++] = &w->merged;
done:
    if (status != FACET_OK) sample_domain_destroy(w);
    return status;
}

void sample_domain_destroy(struct sample_domain *w) {
    base_free(&w->merged.ids);
    *w = (struct sample_domain){0};
}
