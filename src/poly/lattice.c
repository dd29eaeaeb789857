/* The walk over the nodes of a cell in the order of lattice.h. */
#include "poly/lattice.h"

#include <string.h>

typedef int lattice_point[3];
struct walk {
    const struct lattice_frame *frames;
    enum shape shape; /* of the cell that is numbered */
    int order, by_rows;
    int *numbers, n;
};

static void emit(struct walk *walk, const int *x) {
    walk->numbers[walk->n++] = shape_node(walk->shape, walk->order, x);
}

/* The node so many steps from the first corner along the axes of a cell. */
static void emit_inside(struct walk *walk, enum shape shape, int order, const lattice_point *corners,
                        const int *steps) {
    int x[3];
    memcpy(x, corners[0], sizeof x);
    for (int e = 0; e < shape_dim(shape); e++)
        for (int d = 0; d < 3; d++)
            x[d] += (corners[shape_axis_vertex(shape, e)][d] - corners[0][d]) / order * steps[e];
    emit(walk, x);
}

/* The nodes strictly inside, the first direction fastest. */
static void walk_rows(struct walk *walk, enum shape shape, int order, const lattice_point *corners) {
    int last = shape_dim(shape) == 3 ? order - 1 : 1;
    for (int k = 1; k <= last; k++)
        for (int j = 1; j < order; j++)
            for (int i = 1; i < order - (shape_shortened(shape, 0) != 0 ? j : 0); i++)
                emit_inside(walk, shape, order, corners, (int[3]){i, j, k});
}

#define MOST_ORDER   10
#define MOST_COLUMNS ((MOST_ORDER - 2) * (MOST_ORDER - 1) / 2)

/* Inside a prism: columns in the order of a triangle's nodes. */
static void walk_columns(struct walk *walk, int order, const lattice_point *corners) {
    int plane[MOST_COLUMNS], line[MOST_ORDER - 1], n = (order - 2) * (order - 1) / 2;
    lattice_order(walk->frames, SHAPE_TRIANGLE, order - 3, plane);
    lattice_order(walk->frames, SHAPE_SEGMENT, order - 2, line);
    for (int c = 0; c < n; c++) {
        int i = plane[c], j = 0;
        for (; i > order - 3 - j; j++) i -= order - 2 - j; /* rows of order - 2, order - 3, .. nodes */
        for (int k = 0; k < order - 1; k++)
            emit_inside(walk, SHAPE_PRISM, order, corners, (int[3]){i + 1, j + 1, line[k] + 1});
    }
}

static void walk_cell(struct walk *walk, enum shape shape, int order, const lattice_point *corners);

/* The corners of the smaller cell have moved by one lattice step along each edge that meets there. */
static void walk_inside(struct walk *walk, enum shape shape, int order, const lattice_point *corners) {
    const struct lattice_frame *frame = &walk->frames[shape];
    int less = shape_is_simplex(shape)                          ? shape_dim(shape) + 1
               : shape == SHAPE_PRISM || shape == SHAPE_PYRAMID ? 3
                                                                : 2;
    lattice_point inner[SHAPE_MAX_VERTICES];
    if (order < less) return;
    if (frame->by_rows || walk->by_rows) {
        walk_rows(walk, shape, order, corners);
        return;
    }
    if (shape == SHAPE_PRISM) {
        walk_columns(walk, order, corners);
        return;
    }
    memcpy(inner, corners, (size_t)shape_n_vertices(shape) * sizeof *inner);
    for (int e = 0; e < frame->n_edges; e++) {
        int a = frame->edges[e][0], b = frame->edges[e][1];
        for (int d = 0; d < 3; d++) {
            int step = (corners[b][d] - corners[a][d]) / order;
            inner[a][d] += step;
            inner[b][d] -= step;
        }
    }
    for (int d = 0; d < 3 && shape == SHAPE_PYRAMID; d++) /* four edges meet there: half of their sum */
        inner[4][d] = (inner[4][d] + corners[4][d]) / 2;
    walk_cell(walk, shape, order - less, (const lattice_point *)inner);
}

static void walk_cell(struct walk *walk, enum shape shape, int order, const lattice_point *corners) {
    const struct lattice_frame *frame = &walk->frames[shape];
    for (int c = 0; c < (order == 0 ? 1 : shape_n_vertices(shape)); c++) emit(walk, corners[c]);
    for (int e = 0; e < frame->n_edges; e++) {
        const int *from = corners[frame->edges[e][0]], *to = corners[frame->edges[e][1]];
        for (int m = 1; m < order; m++) {
            int x[3];
            for (int d = 0; d < 3; d++) x[d] = from[d] + (to[d] - from[d]) / order * m;
            emit(walk, x);
        }
    }
    for (int f = 0; f < frame->n_faces; f++) {
        const enum shape face_shape = f < frame->n_triangles ? SHAPE_TRIANGLE : SHAPE_QUAD;
        lattice_point face[SHAPE_MAX_FACE_VERTICES];
        for (int c = 0; c < shape_n_vertices(face_shape); c++)
            memcpy(face[c], corners[frame->faces[f][c]], sizeof face[c]);
        walk_inside(walk, face_shape, order, (const lattice_point *)face);
    }
    if (shape_dim(shape) > 1) walk_inside(walk, shape, order, corners);
}

void lattice_order(const struct lattice_frame *frames, enum shape shape, int order, int *numbers) {
    struct walk walk = {.frames = frames,
                        .shape = shape,
                        .order = order,
                        .by_rows = frames[shape].by_rows,
                        .numbers = numbers};
    lattice_point corners[SHAPE_MAX_VERTICES] = {{0}};
    const double *vertices = shape_vertices(shape);
    int dim = shape_dim(shape);
    for (int c = 0; c < shape_n_vertices(shape); c++)
        for (int d = 0; d < dim; d++) corners[c][d] = (int)(vertices[c * dim + d] + 0.5) * order;
    walk_cell(&walk, shape, order, (const lattice_point *)corners);
}
