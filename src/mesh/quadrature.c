/* Points and weights over the cells and faces of a mesh, in its own coordinates. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/mesh_internal.h"
#include "poly/basis.h"
#include "poly/rule.h"

/* A rule of the cell or of one of its faces, with the geometry at its points; tangents: of a face, by rows,
 * d xi / d s. */
struct place {
    struct rule rule;
    double *xi, *lagrange, *gradients;
    double tangents[2][3];
};
struct mesh_rules {
    const struct facet_mesh *mesh;
    double *J; /* room for the largest rule */
    struct place places[MESH_MAX_BLOCKS][1 + SHAPE_MAX_FACES];
};

void mesh_rules_destroy(struct mesh_rules **rules) {
    if (*rules == NULL) return;
    for (int b = 0; b < MESH_MAX_BLOCKS; b++)
        for (int f = 0; f <= SHAPE_MAX_FACES; f++) {
            struct place *place = &(*rules)->places[b][f];
            rule_destroy(&place->rule);
            base_free(&place->xi);
            base_free(&place->lagrange);
            base_free(&place->gradients);
        }
    base_free(&(*rules)->J);
    base_free(rules);
}

/* Faces of reference cells are flat: what goes from frame to cell is affine. */
static void find_tangents(enum shape shape, int face, struct place *place) {
    int dim = shape_dim(shape);
    double origin[3] = {0}, end[3] = {0};
    for (int i = 0; i < dim - 1; i++) {
        double s[2] = {0.0, 0.0};
        shape_face_point(shape, face, 0, s, origin);
        s[i] = 1.0;
        shape_face_point(shape, face, 0, s, end);
        for (int d = 0; d < dim; d++) place->tangents[i][d] = end[d] - origin[d];
    }
}

static facet_status make_place(const struct facet_mesh *mesh, const struct mesh_block *block, int face,
                               int degree, struct place *place) {
    facet_status status = FACET_OK;
    int dim = mesh->dim;
    TRY(rule_create(face < 0 ? block->shape : shape_face_shape(block->shape, face), degree, &place->rule));
    int n = place->rule.n;
    TRY(ALLOC(place->xi, n * dim));
    for (int p = 0; p < n && face >= 0; p++)
        shape_face_point(block->shape, face, 0, place->rule.x + p * (dim - 1), place->xi + p * dim);
    if (face < 0) memcpy(place->xi, place->rule.x, (size_t)(n * dim) * sizeof *place->xi);
    if (face >= 0) find_tangents(block->shape, face, place);
    TRY(ALLOC(place->lagrange, n * block->n_nodes));
    TRY(ALLOC(place->gradients, n * block->n_nodes * dim));
    TRY(basis_lagrange(block->shape, mesh->order, n, place->xi, place->lagrange, place->gradients));
done:
    return status;
}

facet_status mesh_rules_create(const struct facet_mesh *mesh, int degree, int faces,
                               struct mesh_rules **rules) {
    facet_status status = FACET_OK;
    int most = 0;
    TRY(CALLOC(*rules, 1));
    (*rules)->mesh = mesh;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        int last = faces ? shape_n_faces(block->shape) : 0;
        for (int f = faces ? 0 : -1; f < last; f++) {
            struct place *place = &(*rules)->places[b][f + 1];
            TRY(make_place(mesh, block, f, degree, place));
            most = place->rule.n > most ? place->rule.n : most;
        }
    }
    TRY(ALLOC((*rules)->J, most * mesh->dim * mesh->dim));
done:
    if (status != FACET_OK) mesh_rules_destroy(rules);
    return status;
}

static const struct place *find_place(const struct mesh_rules *rules, int32_t cell, int face) {
    return &rules->places[mesh_block_of(rules->mesh, cell) - rules->mesh->blocks][face + 1];
}

int mesh_rules_n(const struct mesh_rules *rules, int32_t cell, int face) {
    return find_place(rules, cell, face)->rule.n;
}

/* The normal times the area element: t rotated in 2D (the cell lies to the left), t1 x t2 in 3D. */
static void find_normal(int dim, const double *J, const double tangents[2][3], double *normal) {
    double t[2][3] = {{0}};
    for (int i = 0; i < dim - 1; i++)
        for (int a = 0; a < dim; a++)
            for (int b = 0; b < dim; b++) t[i][a] += J[a * dim + b] * tangents[i][b];
    if (dim == 2) {
        normal[0] = t[0][1];
        normal[1] = -t[0][0];
        return;
    }
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        normal[a] = t[0][b] * t[1][c] - t[0][c] * t[1][b];
    }
}

/* Of a cell of a box, whose lists may not be there: x, and the Jacobian of all points. */
static void map_brick(const struct facet_mesh *mesh, int32_t cell, const struct place *place, double *x,
                      double *J) {
    double nodes[3 * SHAPE_MAX_VERTICES], widths[3];
    const int dim = mesh->dim;
    const double *last = nodes + ((1 << dim) - 1) * dim;
    mesh_box_nodes(mesh, cell, nodes);
    for (int a = 0; a < dim; a++) {
        widths[a] = last[a] - nodes[a];
        for (int b = 0; b < dim; b++) J[a * dim + b] = a == b ? widths[a] : 0.0;
    }
    for (int p = 0; p < place->rule.n; p++)
        for (int a = 0; a < dim; a++) x[p * dim + a] = nodes[a] + widths[a] * place->xi[p * dim + a];
}

void mesh_rules_points(const struct mesh_rules *rules, int32_t cell, int face, double *x, double *weights,
                       double *normals) {
    const struct facet_mesh *mesh = rules->mesh;
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const struct place *place = find_place(rules, cell, face);
    const int is_box = mesh_is_box(mesh), in_block = cell - block->first;
    const int affine = is_box || (mesh->order == 1 && shape_is_simplex(block->shape));
    int dim = mesh->dim, n = place->rule.n;
    double normal[3], square, element = 0.0;
    if (is_box) {
        map_brick(mesh, cell, place, x, rules->J);
    } else {
        mesh_cell_map(block, dim, in_block, n, place->lagrange, NULL, x, NULL);
        mesh_cell_map(block, dim, in_block, affine ? 1 : n, NULL, place->gradients, NULL, rules->J);
    }
    for (int p = 0; p < n; p++) {
        const double *J = rules->J + p * dim * dim;
        square = 0.0;
        if (face >= 0 && (p == 0 || !affine)) find_normal(dim, J, place->tangents, normal);
        for (int a = 0; a < dim && face >= 0; a++) square += normal[a] * normal[a];
        if (p == 0 || !affine) element = face < 0 ? mesh_determinant(dim, J) : sqrt(square);
        if (weights != NULL) weights[p] = place->rule.w[p] * element;
        for (int a = 0; a < dim && normals != NULL; a++) normals[p * dim + a] = normal[a] / element;
    }
}
