/* Points and weights over a mesh or parts of it, for those who integrate themselves. */
#include <string.h>

#include "base/memory.h"
#include "problem/problem.h"

#define MAX_QUADRATURE 60 /* degree */

/* What names mean: marks of cells or faces, and which. */
struct where {
    int faces;
    int32_t n;
    uint8_t *marks;
};

static facet_status mark_name(const struct facet_mesh *mesh, const char *name, int first, struct where *w) {
    facet_status status = FACET_OK;
    const struct mesh_group *cells = mesh_find_group(mesh, name, mesh->dim);
    const struct mesh_group *part = mesh_find_group(mesh, name, mesh->dim - 1);
    int all = cells == NULL && part == NULL && strcmp(name, "boundary") == 0;
    if (cells != NULL && part != NULL)
        FAIL(FACET_ERROR_INPUT, "'%s' is the name of a group of faces and of one of cells; which is meant?",
             name);
    if (cells == NULL && part == NULL && !all) {
        char regions[256], parts[256], hint[MESH_HINT_BYTES];
        mesh_group_names(mesh, mesh->dim, regions, sizeof regions);
        mesh_group_names(mesh, mesh->dim - 1, parts, sizeof parts);
        FAIL(FACET_ERROR_INPUT, "there is no '%s' in the mesh; groups of faces: %s; of cells: %s%s", name,
             parts, regions, mesh_group_hint(mesh, -1, name, "boundary", hint));
    }
    int faces = cells == NULL;
    if (!first && faces != w->faces)
        FAIL(FACET_ERROR_INPUT, "'%s' is a group of %s, unlike the names before it", name,
             faces ? "faces" : "cells");
    w->faces = faces;
    if (w->marks == NULL) TRY(CALLOC(w->marks, faces ? mesh->n_faces : mesh->n_cells));
    const struct mesh_group *group = faces ? part : cells;
    for (int32_t k = 0; !all && k < group->count; k++) w->marks[group->ids[k]] = 1;
    for (int32_t f = 0; all && f < mesh->n_faces; f++)
        if (mesh_is_boundary(mesh, f)) w->marks[f] = 1;
done:
    return status;
}

static facet_status mark(const struct facet_mesh *mesh, int n_on, const char *const *on, struct where *w) {
    facet_status status = FACET_OK;
    for (int i = 0; i < n_on; i++) TRY(mark_name(mesh, on[i], i == 0, w));
    w->n = w->faces ? mesh->n_faces : mesh->n_cells;
done:
    return status;
}

struct quadrature {
    int64_t n;
    double *x, *weights, *normals;
    int64_t *cells;
};

/* The points of one cell or face behind those that are there. */
static void add_points(const struct facet_mesh *mesh, const struct mesh_rules *rules, int32_t cell, int face,
                       struct quadrature *q, double *scratch) {
    int n = mesh_rules_n(rules, cell, face), dim = mesh->dim;
    double *x = q->x != NULL ? q->x + q->n * dim : scratch;
    mesh_rules_points(rules, cell, face, x, q->weights != NULL ? q->weights + q->n : NULL,
                      q->normals != NULL ? q->normals + q->n * dim : NULL);
    for (int p = 0; p < n && q->cells != NULL; p++) q->cells[q->n + p] = cell;
    q->n += n;
}

static facet_status integrate(const struct facet_mesh *mesh, int degree, int n_on, const char *const *on,
                              int64_t *n, struct quadrature *q) {
    facet_status status = FACET_OK;
    struct where w = {0};
    struct mesh_rules *rules = NULL;
    double *scratch = NULL;
    int64_t room = *n, all = 0;
    int most = 0, wanted = q->x != NULL || q->weights != NULL || q->normals != NULL || q->cells != NULL;
    TRY(mesh_need_lists(mesh));
    TRY(mark(mesh, n_on, on, &w));
    if (q->normals != NULL && !w.faces) FAIL(FACET_ERROR_INPUT, "normals are those of faces, not of cells");
    TRY(mesh_rules_create(mesh, degree, w.faces, &rules));
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) *n = all;
        if (pass == 1 && !wanted) goto done;
        if (pass == 1 && room < all)
            FAIL(FACET_ERROR_INPUT, "there are %lld points, but the arrays have room for %lld",
                 (long long)all, (long long)room);
        if (pass == 1) TRY(ALLOC(scratch, most * mesh->dim));
        for (int32_t i = 0; i < w.n; i++) {
            int32_t cell = w.faces ? mesh->face_cells[2 * (int64_t)i] : i;
            int face = w.faces ? mesh->face_locals[2 * (int64_t)i] : -1;
            if (w.marks != NULL && !w.marks[i]) continue;
            if (i % 4096 == 0) TRY(base_look());
            int count = mesh_rules_n(rules, cell, face);
            most = count > most ? count : most;
            if (pass == 0)
                all += count;
            else
                add_points(mesh, rules, cell, face, q, scratch);
        }
    }
done:
    mesh_rules_destroy(&rules);
    base_free(&w.marks);
    base_free(&scratch);
    return base_wrap(status, "facet_mesh_quadrature");
}

facet_status facet_mesh_quadrature(const facet_mesh *mesh, int degree, int n_on, const char *const *on,
                                   int64_t *n, double *x, double *weights, double *normals, int64_t *cells) {
    REQUIRE(mesh, n);
    if (n_on > 0) REQUIRE(on);
    for (int i = 0; i < n_on; i++) REQUIRE(on[i]);
    if (degree < 0 || degree > MAX_QUADRATURE)
        return base_fail(FACET_ERROR_INPUT, "facet_mesh_quadrature: the degree is 0 to %d, not %d",
                         MAX_QUADRATURE, degree);
    struct quadrature q = {.x = x, .weights = weights, .normals = normals, .cells = cells};
    facet_status status;
    MESH_CALL(mesh, status, integrate(mesh, degree, n_on, on, n, &q));
    return status;
}
