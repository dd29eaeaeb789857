/* The trace on a coarser mesh: its numbering, and the restriction of its polynomials to the fine faces. See
 * nested.h. */
#include "trace/nested.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/rule.h"

/* Orientations of any face. */
#define MAX_ORIENTATIONS 8

facet_status trace_nested_space(const struct trace_space *fine, const struct mesh_nesting *nesting,
                                struct trace_space *coarse) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = nesting->coarse;
    uint8_t *eliminated = NULL, *given = NULL;
    int nc = fine->n_components;
    *coarse = (struct trace_space){0};
    TRY(ALLOC(eliminated, mesh->n_faces));
    TRY(ALLOC(given, (int64_t)mesh->n_faces * nc));
    memset(eliminated, 1, (size_t)mesh->n_faces);
    memset(given, 1, (size_t)mesh->n_faces * (size_t)nc);
    for (int32_t f = 0; f < fine->mesh->n_faces; f++) {
        int64_t parent = nesting->face_parents[f], first = fine->face_free[f];
        int64_t m = (fine->face_first[f + 1] - fine->face_first[f]) / nc;
        if (parent < 0 || first < 0) continue;
        eliminated[parent] = 0;
        for (int c = 0; c < nc; c++)
            if (fine->fixed == NULL || !fine->fixed[first + c * m]) given[parent * nc + c] = 0;
    }
    TRY(trace_space_create(mesh, fine->degree, nc, eliminated, coarse));
    if (fine->fixed == NULL) goto done;
    TRY(ALLOC(coarse->fixed, coarse->n_free));
    for (int64_t b = 0; b < coarse->n_free_faces; b++) {
        int64_t first = coarse->free_offsets[b], m = (coarse->free_offsets[b + 1] - first) / nc;
        for (int64_t i = 0; i < m * nc; i++)
            coarse->fixed[first + i] = given[(int64_t)coarse->free_faces[b] * nc + i / m];
    }
done:
    base_free(&eliminated);
    base_free(&given);
    if (status != FACET_OK) trace_space_destroy(coarse);
    return status;
}

/* ------------------------------------------------------------------------------ restrictions */

/* An affine map from the coordinates of a face to those of a cell: x = origin + sum of s_a axes[a]. */
struct face_map {
    int n; /* coordinates of the face */
    double origin[3], axes[2][3];
};

static void find_map(enum shape shape, int face, int orientation, struct face_map *map) {
    int dim = shape_dim(shape);
    double s[2] = {0.0, 0.0}, x[3];
    map->n = dim - 1;
    memset(map->axes, 0, sizeof map->axes);
    shape_face_point(shape, face, orientation, s, map->origin);
    for (int a = 0; a < map->n; a++) {
        s[a] = 1.0;
        shape_face_point(shape, face, orientation, s, x);
        s[a] = 0.0;
        for (int i = 0; i < dim; i++) map->axes[a][i] = x[i] - map->origin[i];
    }
}

/* The same in the parent's coordinates. */
static void carry_map(const struct mesh_kind *kind, const struct face_map *map, struct face_map *carried) {
    int dim = shape_dim(kind->shape);
    carried->n = map->n;
    for (int i = 0; i < dim; i++) {
        carried->origin[i] = kind->origin[i];
        for (int b = 0; b < dim; b++) carried->origin[i] += map->origin[b] * kind->axes[b][i];
        for (int a = 0; a < map->n; a++) {
            carried->axes[a][i] = 0.0;
            for (int b = 0; b < dim; b++) carried->axes[a][i] += map->axes[a][b] * kind->axes[b][i];
        }
    }
}

/* The coordinates t of the point of a face that is nearest to x. */
static void project(const struct face_map *map, const double *x, double *t) {
    int dim = map->n + 1;
    double G[2][2] = {{1, 0}, {0, 1}}, r[2] = {0, 0};
    for (int a = 0; a < map->n; a++) {
        for (int b = 0; b < map->n; b++) {
            G[a][b] = 0.0;
            for (int i = 0; i < dim; i++) G[a][b] += map->axes[a][i] * map->axes[b][i];
        }
        for (int i = 0; i < dim; i++) r[a] += map->axes[a][i] * (x[i] - map->origin[i]);
    }
    double det = G[0][0] * G[1][1] - G[0][1] * G[1][0];
    t[0] = (G[1][1] * r[0] - G[0][1] * r[1]) / det;
    if (map->n > 1) t[1] = (G[0][0] * r[1] - G[1][0] * r[0]) / det;
}

/* J_ij = integral of phi_i(s) phi_j(t(s)) over the reference face: the coefficients of the coarse function
 * phi_j on the fine face. */
static facet_status make_restriction(const struct face_map *fine, const struct face_map *coarse,
                                     enum shape shape, int degree, double *J) {
    facet_status status = FACET_OK;
    struct rule rule = {0};
    double *t = NULL, *phi = NULL, *psi = NULL;
    int m = basis_size(shape, degree), n = fine->n;
    TRY(rule_create(shape, 2 * degree, &rule));
    TRY(ALLOC(t, rule.n * n));
    TRY(ALLOC(phi, rule.n * m));
    TRY(ALLOC(psi, rule.n * m));
    for (int q = 0; q < rule.n; q++) {
        double x[3];
        for (int i = 0; i <= n; i++) {
            x[i] = fine->origin[i];
            for (int a = 0; a < n; a++) x[i] += rule.x[q * n + a] * fine->axes[a][i];
        }
        project(coarse, x, t + q * n);
    }
    TRY(basis_eval(shape, degree, rule.n, rule.x, phi, NULL));
    TRY(basis_eval(shape, degree, rule.n, t, psi, NULL));
    memset(J, 0, (size_t)(m * m) * sizeof *J);
    for (int q = 0; q < rule.n; q++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) J[i * m + j] += rule.w[q] * phi[q * m + i] * psi[q * m + j];
    for (int i = 0; i < m * m; i++)
        if (fabs(J[i]) < 1e-14) J[i] = 0.0;
done:
    rule_destroy(&rule);
    base_free(&t);
    base_free(&phi);
    base_free(&psi);
    return status;
}

/* ------------------------------------------------------------------------------ tables */

void nested_faces_destroy(struct nested_faces *faces) {
    base_free(&faces->matrix);
    base_free(&faces->J);
}

/* Where the table has a side of a fine cell that lies on a face of its parent; -1 when it lies inside. */
static int64_t table_index(const struct mesh_nesting *nesting, int32_t cell, int local, int *side) {
    int kind = nesting->kinds[cell];
    *side = nesting->faces[kind * SHAPE_MAX_FACES + local];
    if (*side < 0) return -1;
    const struct mesh_block *b = mesh_block_of(nesting->fine, cell);
    const struct mesh_block *parent = mesh_block_of(nesting->coarse, nesting->parents[cell]);
    int n_faces = shape_n_faces(b->shape);
    int own = b->orientations[(int64_t)(cell - b->first) * n_faces + local];
    int of_parent = parent->orientations[(int64_t)(nesting->parents[cell] - parent->first) * n_faces + *side];
    return (((int64_t)kind * SHAPE_MAX_FACES + local) * MAX_ORIENTATIONS + own) * MAX_ORIENTATIONS +
           of_parent;
}

/* The matrix of entry `at` of the table. */
static facet_status add_matrix(const struct trace_space *fine, const struct mesh_nesting *nesting, int64_t at,
                               int side, struct nested_faces *faces) {
    facet_status status = FACET_OK;
    int64_t size = (int64_t)faces->m * faces->m;
    int of_parent = (int)(at % MAX_ORIENTATIONS), own = (int)(at / MAX_ORIENTATIONS % MAX_ORIENTATIONS);
    int64_t rest = at / (MAX_ORIENTATIONS * MAX_ORIENTATIONS);
    const struct mesh_kind *kind = &nesting->kind[rest / SHAPE_MAX_FACES];
    int local = (int)(rest % SHAPE_MAX_FACES);
    struct face_map map, carried, coarse;
    if (faces->n_matrices == faces->capacity) {
        int capacity = 2 * faces->capacity + 16;
        TRY(base_realloc(&faces->J, (size_t)(capacity * size), sizeof *faces->J));
        faces->capacity = capacity;
    }
    find_map(kind->shape, local, own, &map);
    carry_map(kind, &map, &carried);
    find_map(kind->shape, side, of_parent, &coarse);
    TRY(make_restriction(&carried, &coarse, shape_face_shape(kind->shape, local), fine->degree,
                         faces->J + faces->n_matrices * size));
    faces->matrix[at] = faces->n_matrices++;
done:
    return status;
}

facet_status nested_faces_create(const struct trace_space *fine, const struct mesh_nesting *nesting,
                                 struct nested_faces *faces) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = fine->mesh;
    int64_t n = (int64_t)nesting->n_kinds * SHAPE_MAX_FACES, all = n * MAX_ORIENTATIONS * MAX_ORIENTATIONS;
    *faces = (struct nested_faces){0};
    TRY(ALLOC(faces->matrix, all));
    for (int64_t i = 0; i < all; i++) faces->matrix[i] = -1;
    for (int k = 0; k < nesting->n_kinds; k++) {
        enum shape shape = nesting->kind[k].shape;
        for (int f = 0; f < shape_n_faces(shape); f++) {
            int m = basis_size(shape_face_shape(shape, f), fine->degree);
            if (m > faces->m) faces->m = m;
        }
    }
    for (int32_t c = 0; c < mesh->n_cells; c++) {
        int n_faces = shape_n_faces(nesting->kind[nesting->kinds[c]].shape), side;
        for (int f = 0; f < n_faces; f++) {
            int64_t at = table_index(nesting, c, f, &side);
            if (at >= 0 && faces->matrix[at] < 0) TRY(add_matrix(fine, nesting, at, side, faces));
        }
    }
done:
    if (status != FACET_OK) nested_faces_destroy(faces);
    return status;
}

void nested_side(const struct nested_faces *faces, const struct mesh_nesting *nesting, int32_t cell,
                 int local, struct nested_side *side) {
    const struct mesh_block *b = mesh_block_of(nesting->fine, cell);
    int64_t at = table_index(nesting, cell, local, &side->local);
    side->face = b->faces[(int64_t)(cell - b->first) * shape_n_faces(b->shape) + local];
    side->J = at < 0 ? NULL : faces->J + (int64_t)faces->matrix[at] * faces->m * faces->m;
}
