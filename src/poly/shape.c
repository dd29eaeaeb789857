/* The reference cells as tables: everything a mesh or a basis asks about a cell's vertices, faces,
 * orientations and lattice nodes is answered from here, so that a numbering is written down once. */
#include "poly/shape.h"

#include <math.h>

/* Bits of coordinates. */
enum { Y = 1 << 1, Z = 1 << 2 };

struct cell {
    const char *name;
    int dim, n_vertices, n_faces, is_simplex, n_orientations;
    double measure;
    enum shape face_shape, other_shape; /* of the faces, and of those with a bit in `others` */
    unsigned others;
    int shorten[3];                          /* shape_shortened */
    double vertices[SHAPE_MAX_VERTICES * 3]; /* n_vertices x dim */
    int faces[SHAPE_MAX_FACES][SHAPE_MAX_FACE_VERTICES];
    double heights[SHAPE_MAX_FACES]; /* shape_height */
};

static const struct cell cells[SHAPE_COUNT] = {
    [SHAPE_POINT] = {.name = "point",
                     .n_vertices = 1,
                     .is_simplex = 1,
                     .n_orientations = 1,
                     .measure = 1.0,
                     .face_shape = SHAPE_POINT},
    [SHAPE_SEGMENT] = {.name = "segment",
                       .dim = 1,
                       .n_vertices = 2,
                       .n_faces = 2,
                       .is_simplex = 1,
                       .n_orientations = 2,
                       .measure = 1.0,
                       .face_shape = SHAPE_POINT,
                       .vertices = {0, 1},
                       .faces = {{0}, {1}},
                       .heights = {1, 1}},
    [SHAPE_TRIANGLE] = {.name = "triangle",
                        .dim = 2,
                        .n_vertices = 3,
                        .n_faces = 3,
                        .is_simplex = 1,
                        .n_orientations = 6,
                        .measure = 0.5,
                        .face_shape = SHAPE_SEGMENT,
                        .shorten = {Y},
                        .vertices = {0, 0, 1, 0, 0, 1},
                        .faces = {{0, 1}, {1, 2}, {2, 0}},
                        .heights = {2, 2, 2}},
    [SHAPE_QUAD] = {.name = "quad",
                    .dim = 2,
                    .n_vertices = 4,
                    .n_faces = 4,
                    .n_orientations = 8,
                    .measure = 1.0,
                    .face_shape = SHAPE_SEGMENT,
                    .vertices = {0, 0, 1, 0, 1, 1, 0, 1},
                    .faces = {{0, 1}, {1, 2}, {2, 3}, {3, 0}},
                    .heights = {1, 1, 1, 1}},
    [SHAPE_TET] = {.name = "tet",
                   .dim = 3,
                   .n_vertices = 4,
                   .n_faces = 4,
                   .is_simplex = 1,
                   .measure = 1.0 / 6.0,
                   .face_shape = SHAPE_TRIANGLE,
                   .shorten = {Y | Z, Z},
                   .vertices = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1},
                   .faces = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}},
                   .heights = {3, 3, 3, 3}},
    [SHAPE_HEX] = {.name = "hex",
                   .dim = 3,
                   .n_vertices = 8,
                   .n_faces = 6,
                   .measure = 1.0,
                   .face_shape = SHAPE_QUAD,
                   .vertices = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1},
                   .faces =
                       {{0, 3, 2, 1}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}, {4, 5, 6, 7}},
                   .heights = {1, 1, 1, 1, 1, 1}},
    [SHAPE_PRISM] = {.name = "prism",
                     .dim = 3,
                     .n_vertices = 6,
                     .n_faces = 5,
                     .measure = 0.5,
                     .face_shape = SHAPE_TRIANGLE,
                     .other_shape = SHAPE_QUAD,
                     .others = 1u << 1 | 1u << 2 | 1u << 3,
                     .shorten = {Y},
                     .vertices = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1},
                     .faces = {{0, 2, 1}, {0, 1, 4, 3}, {1, 2, 5, 4}, {2, 0, 3, 5}, {3, 4, 5}},
                     .heights = {1, 2, 2, 2, 1}},
    [SHAPE_PYRAMID] = {.name = "pyramid",
                       .dim = 3,
                       .n_vertices = 5,
                       .n_faces = 5,
                       .measure = 1.0 / 3.0,
                       .face_shape = SHAPE_QUAD,
                       .other_shape = SHAPE_TRIANGLE,
                       .others = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4,
                       .shorten = {Z, Z},
                       .vertices = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1},
                       .faces = {{0, 3, 2, 1}, {0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4}},
                       .heights = {3, 1.5, 1.5, 1.5, 1.5}},
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
    return cells[shape].others >> face & 1 ? cells[shape].other_shape : cells[shape].face_shape;
}

int shape_faces_differ(enum shape shape) {
    return cells[shape].others != 0;
}

double shape_height(enum shape shape, int face) {
    return cells[shape].heights[face];
}

int shape_shortened(enum shape shape, int axis) {
    return cells[shape].shorten[axis];
}

double shape_room(enum shape shape, int axis, const double *xi) {
    double room = 1 - xi[axis];
    for (int d = axis + 1; d < cells[shape].dim; d++)
        if (cells[shape].shorten[axis] >> d & 1) room -= xi[d];
    return room;
}

const int *shape_face_vertices(enum shape shape, int face) {
    return cells[shape].faces[face];
}

int shape_n_entities(enum shape shape, int d) {
    const struct cell *cell = &cells[shape];
    if (d == 0) return cell->n_vertices;
    if (d == cell->dim) return 1;
    if (d == cell->dim - 1) return cell->n_faces;
    return d == 1 && cell->dim == 3 ? cell->n_vertices + cell->n_faces - 2 : 0; /* Euler */
}

enum shape shape_entity_shape(enum shape shape, int d) {
    return d == cells[shape].dim ? shape : d < 2 ? (enum shape)d : cells[shape].face_shape;
}

const int *shape_entity_vertices(enum shape shape, int d, int entity) {
    static const int numbers[SHAPE_MAX_VERTICES] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const int tet_edges[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
    static const int hex_edges[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 4}, {1, 5},
                                         {2, 6}, {3, 7}, {4, 5}, {5, 6}, {6, 7}, {7, 4}};
    static const int prism_edges[9][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 4},
                                          {2, 5}, {3, 4}, {4, 5}, {5, 3}};
    static const int pyramid_edges[8][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 4}, {1, 4}, {2, 4}, {3, 4}};
    if (d == 0) return numbers + entity;
    if (d == cells[shape].dim) return numbers;
    if (d == cells[shape].dim - 1) return cells[shape].faces[entity];
    return shape == SHAPE_TET       ? tet_edges[entity]
           : shape == SHAPE_PRISM   ? prism_edges[entity]
           : shape == SHAPE_PYRAMID ? pyramid_edges[entity]
                                    : hex_edges[entity];
}

int shape_axis_vertex(enum shape shape, int axis) {
    static const int tensor[3] = {1, 3, 4};
    return cells[shape].is_simplex || shape == SHAPE_PRISM ? axis + 1 : tensor[axis];
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
    const enum shape face_shape = shape_face_shape(shape, face);
    const int *permutation = shape_permutation(face_shape, orientation);
    const double *origin = cell->vertices + cell->dim * vertices[permutation[0]];
    for (int c = 0; c < cell->dim; c++) xi[c] = origin[c];
    for (int d = 0; d < cell->dim - 1; d++) {
        const double *end =
            cell->vertices + cell->dim * vertices[permutation[shape_axis_vertex(face_shape, d)]];
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
    case SHAPE_PRISM:
        return (g + 1) * (g + 1) * (g + 2) / 2;
    case SHAPE_PYRAMID:
        return (g + 1) * (g + 2) * (2 * g + 3) / 6;
    default:
        return 1;
    }
}

/* The last index of a row of lattice nodes along an axis, the later indices being given. */
static int row_end(const struct cell *cell, int order, int axis, const int *index) {
    if (axis >= cell->dim) return 0;
    for (int d = axis + 1; d < 3; d++) /* of an axis that there is not, no bit is set */
        if (cell->shorten[axis] >> d & 1) order -= index[d];
    return order;
}

void shape_nodes(enum shape shape, int order, double *xi) {
    const struct cell *cell = &cells[shape];
    int index[3] = {0}, n = 0;
    for (index[2] = 0; index[2] <= row_end(cell, order, 2, index); index[2]++)
        for (index[1] = 0; index[1] <= row_end(cell, order, 1, index); index[1]++)
            for (index[0] = 0; index[0] <= row_end(cell, order, 0, index); index[0]++, n++)
                for (int d = 0; d < cell->dim; d++) xi[n * cell->dim + d] = (double)index[d] / order;
}

/* The extreme points of Chebyshev polynomials on [0, 1]. */
static double drawn(int i, int n) {
    const double root = n > 0 ? sin(0.5 * acos(-1.0) * i / n) : sqrt(0.5);
    return root * root;
}

/* Barycentric coordinates (n) of the node alpha of a simplex: of each face the node without one of its
 * indices, weighted by the distance from the face on a line. */
static void draw_in_simplex(int n, const int *alpha, double *at) {
    int order = 0;
    double total = 0.0;
    for (int i = 0; i < n; i++) {
        order += alpha[i];
        at[i] = n == 1 ? 1.0 : 0.0;
    }
    for (int i = 0; i < n && n == 2; i++) at[i] = drawn(alpha[i], order);
    for (int i = 0; i < n && n > 2; i++) {
        int rest[4];
        double face[4], weight = drawn(order - alpha[i], order);
        for (int k = 0; k < n - 1; k++) rest[k] = alpha[k + (k >= i)];
        draw_in_simplex(n - 1, rest, face);
        for (int k = 0; k < n - 1; k++) at[k + (k >= i)] += weight * face[k];
        total += weight;
    }
    for (int i = 0; i < n && n > 2; i++) at[i] /= total;
}

/* The number of leading axes that make a simplex. */
static int simplex_axes(const struct cell *cell) {
    return cell->is_simplex ? cell->dim : cell->shorten[0] == Y ? 2 : 0;
}

static void draw_node(const struct cell *cell, int order, const int index[3], double *xi) {
    const int m = simplex_axes(cell);
    int alpha[4] = {order, index[0], index[1], index[2]};
    double at[4];
    for (int d = 0; d < m; d++) alpha[0] -= index[d];
    if (m > 0) draw_in_simplex(m + 1, alpha, at);
    for (int d = cell->dim - 1; d >= 0; d--) {
        const int apex = d < 2 && cell->shorten[d] == Z && cell->dim == 3;
        const double room = apex ? 1.0 - xi[2] : 1.0;
        xi[d] = d < m ? at[1 + d] : room * drawn(index[d], order - (apex ? index[2] : 0));
    }
}

void shape_samples(enum shape shape, int order, double *xi) {
    const struct cell *cell = &cells[shape];
    int index[3] = {0};
    for (index[2] = 0; index[2] <= row_end(cell, order, 2, index); index[2]++)
        for (index[1] = 0; index[1] <= row_end(cell, order, 1, index); index[1]++)
            for (index[0] = 0; index[0] <= row_end(cell, order, 0, index); index[0]++, xi += cell->dim)
                draw_node(cell, order, index, xi);
}

int shape_node(enum shape shape, int order, const int at[3]) {
    const struct cell *cell = &cells[shape];
    int index[3] = {0}, n = at[0];
    for (index[2] = 0; index[2] <= at[2]; index[2]++) {
        int rows = index[2] < at[2] ? row_end(cell, order, 1, index) + 1 : at[1];
        for (index[1] = 0; index[1] < rows; index[1]++) n += row_end(cell, order, 0, index) + 1;
    }
    return n;
}

int shape_vertex_node(enum shape shape, int order, int vertex) {
    const struct cell *cell = &cells[shape];
    int at[3] = {0};
    for (int d = 0; d < cell->dim; d++) at[d] = order * (int)cell->vertices[vertex * cell->dim + d];
    return shape_node(shape, order, at);
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
