/* The reference cells as tables: everything a mesh or a basis asks about a cell's vertices, faces,
 * orientations and lattice nodes is answered from here, so that a numbering is written down once. */
#include "poly/shape.h"

struct cell {
    const char *name;
    int dim, n_vertices, n_faces, is_simplex, n_orientations;
    double measure;
    enum shape face_shape;
    double vertices[SHAPE_MAX_VERTICES * 3]; /* n_vertices x dim */
    int faces[SHAPE_MAX_FACES][SHAPE_MAX_FACE_VERTICES];
};

static const struct cell cells[SHAPE_COUNT] = {
    [SHAPE_POINT] = {"point", 0, 1, 0, 1, 1, 1.0, SHAPE_POINT, {0}, {{0}}},
    [SHAPE_SEGMENT] = {"segment", 1, 2, 2, 1, 2, 1.0, SHAPE_POINT, {0, 1}, {{0}, {1}}},
    [SHAPE_TRIANGLE] =
        {"triangle", 2, 3, 3, 1, 6, 0.5, SHAPE_SEGMENT, {0, 0, 1, 0, 0, 1}, {{0, 1}, {1, 2}, {2, 0}}},
    [SHAPE_QUAD] = {"quad",
                    2,
                    4,
                    4,
                    0,
                    8,
                    1.0,
                    SHAPE_SEGMENT,
                    {0, 0, 1, 0, 1, 1, 0, 1},
                    {{0, 1}, {1, 2}, {2, 3}, {3, 0}}},
    [SHAPE_TET] = {"tet",
                   3,
                   4,
                   4,
                   1,
                   0,
                   1.0 / 6.0,
                   SHAPE_TRIANGLE,
                   {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1},
                   {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}},
    [SHAPE_HEX] = {"hex",
                   3,
                   8,
                   6,
                   0,
                   0,
                   1.0,
                   SHAPE_QUAD,
                   {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1},
                   {{0, 3, 2, 1}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}, {4, 5, 6, 7}}},
};

/* The symmetries of a face: with r the face's first vertex, permutations i -> r+i, then the mirrored i ->
 * r-i. */
static const int point_permutations[1][1] = {{0}};
static const int segment_permutations[2][2] = {{0, 1}, {1, 0}};
static const int triangle_permutations[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                                {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
static const int quad_permutations[8][4] = {{0, 1, 2, 3}, {1, 2, 3, 0}, {2, 3, 0, 1}, {3, 0, 1, 2},
                                            {0, 3, 2, 1}, {1, 0, 3, 2}, {2, 1, 0, 3}, {3, 2, 1, 0}};

const char *shape_name(enum shape shape) {
    return cells[shape].name;
}

int shape_dim(enum shape shape) {
    return cells[shape].dim;
}

int shape_n_vertices(enum shape shape) {
    return cells[shape].n_vertices;
}

int shape_n_faces(enum shape shape) {
    return cells[shape].n_faces;
}

int shape_is_simplex(enum shape shape) {
    return cells[shape].is_simplex;
}

double shape_measure(enum shape shape) {
    return cells[shape].measure;
}

const double *shape_vertices(enum shape shape) {
    return cells[shape].vertices;
}

enum shape shape_face_shape(enum shape shape, int face) {
    (void)face; /* all faces of these cells are alike */
    return cells[shape].face_shape;
}

const int *shape_face_vertices(enum shape shape, int face) {
    return cells[shape].faces[face];
}

int shape_n_entities(enum shape shape, int d) {
    const struct cell *cell = &cells[shape];
    if (d == 0) return cell->n_vertices;
    if (d == cell->dim) return 1;
    if (d == cell->dim - 1) return cell->n_faces;
    return d == 1 && cell->dim == 3 ? (cell->is_simplex ? 6 : 12) : 0;
}

enum shape shape_entity_shape(enum shape shape, int d) {
    return d == cells[shape].dim ? shape : d < 2 ? (enum shape)d : cells[shape].face_shape;
}

const int *shape_entity_vertices(enum shape shape, int d, int entity) {
    static const int numbers[SHAPE_MAX_VERTICES] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const int tet_edges[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
    static const int hex_edges[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 4}, {1, 5},
                                         {2, 6}, {3, 7}, {4, 5}, {5, 6}, {6, 7}, {7, 4}};
    if (d == 0) return numbers + entity;
    if (d == cells[shape].dim) return numbers;
    if (d == cells[shape].dim - 1) return cells[shape].faces[entity];
    return cells[shape].is_simplex ? tet_edges[entity] : hex_edges[entity];
}

int shape_axis_vertex(enum shape shape, int axis) {
    static const int tensor[3] = {1, 3, 4};
    return cells[shape].is_simplex ? axis + 1 : tensor[axis];
}

int shape_n_orientations(enum shape face_shape) {
    return cells[face_shape].n_orientations;
}

const int *shape_permutation(enum shape face_shape, int orientation) {
    switch (face_shape) {
    case SHAPE_SEGMENT:
        return segment_permutations[orientation];
    case SHAPE_TRIANGLE:
        return triangle_permutations[orientation];
    case SHAPE_QUAD:
        return quad_permutations[orientation];
    default:
        return point_permutations[0];
    }
}

int shape_find_orientation(enum shape face_shape, const int *frame, const int *local) {
    for (int o = 0; o < shape_n_orientations(face_shape); o++) {
        const int *permutation = shape_permutation(face_shape, o);
        int same = 1;
        for (int i = 0; i < shape_n_vertices(face_shape); i++) same &= frame[i] == local[permutation[i]];
        if (same) return o;
    }
    return -1;
}

/* The faces of the reference cells are affine images of the frame: with v_i the cell vertex of frame vertex
 * i, xi = v_0 + sum_d s_d (v_(d) - v_0), where v_(d) lies on the frame's axis d: vertex 1, and 2 (triangle)
 * or 3 (quad). */
void shape_face_point(enum shape shape, int face, int orientation, const double *s, double *xi) {
    const struct cell *cell = &cells[shape];
    const int *vertices = cell->faces[face];
    const int *permutation = shape_permutation(cell->face_shape, orientation);
    const double *origin = cell->vertices + cell->dim * vertices[permutation[0]];
    for (int c = 0; c < cell->dim; c++) xi[c] = origin[c];
    for (int d = 0; d < cell->dim - 1; d++) {
        const double *end =
            cell->vertices + cell->dim * vertices[permutation[shape_axis_vertex(cell->face_shape, d)]];
        for (int c = 0; c < cell->dim; c++) xi[c] += s[d] * (end[c] - origin[c]);
    }
}

int shape_n_nodes(enum shape shape, int order) {
    int g = order;
    switch (shape) {
    case SHAPE_SEGMENT:
        return g + 1;
    case SHAPE_TRIANGLE:
        return (g + 1) * (g + 2) / 2;
    case SHAPE_QUAD:
        return (g + 1) * (g + 1);
    case SHAPE_TET:
        return (g + 1) * (g + 2) / 2 * (g + 3) / 3;
    case SHAPE_HEX:
        return (g + 1) * (g + 1) * (g + 1);
    default:
        return 1;
    }
}

void shape_nodes(enum shape shape, int order, double *xi) {
    int dim = cells[shape].dim, simplex = cells[shape].is_simplex;
    int k_end = dim > 2 ? order : 0, n = 0;
    for (int k = 0; k <= k_end; k++) {
        int j_end = dim > 1 ? order - (simplex ? k : 0) : 0;
        for (int j = 0; j <= j_end; j++) {
            int i_end = dim > 0 ? order - (simplex ? j + k : 0) : 0;
            for (int i = 0; i <= i_end; i++, n++) {
                int index[3] = {i, j, k};
                for (int d = 0; d < dim; d++) xi[n * dim + d] = (double)index[d] / order;
            }
        }
    }
}

/* The corners of the simplex lattice end its row, its triangle and the whole; a tensor lattice has strides.
 */
int shape_vertex_node(enum shape shape, int order, int vertex) {
    static const enum shape begun[4] = {SHAPE_POINT, SHAPE_SEGMENT, SHAPE_TRIANGLE, SHAPE_TET};
    const struct cell *cell = &cells[shape];
    if (cell->is_simplex) return vertex == 0 ? 0 : shape_n_nodes(begun[vertex], order) - 1;
    int node = 0, stride = order;
    for (int d = 0; d < cell->dim; d++, stride *= order + 1)
        node += stride * (int)cell->vertices[vertex * cell->dim + d];
    return node;
}

void shape_face_side(enum shape shape, int face, int *direction, int *upper) {
    const int *corners = shape_face_vertices(shape, face);
    const double *vertices = shape_vertices(shape);
    int dim = shape_dim(shape), n = shape_n_vertices(shape_face_shape(shape, face));
    for (*direction = 0; *direction < dim; ++*direction) {
        int sum = 0;
        for (int i = 0; i < n; i++) sum += vertices[corners[i] * dim + *direction] > 0.5;
        *upper = sum == n;
        if (sum == 0 || sum == n) return;
    }
}
