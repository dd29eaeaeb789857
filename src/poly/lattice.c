/* The walk over the nodes of a cell in the order of lattice.h. */
#include "poly/lattice.h"

#include <string.h>

typedef int lattice_point[3];
struct walk {
    const struct lattice_frame *frames;
    int order, simplex; /* of the cell that is numbered */
    int *numbers, n;
};

/* Our number: in a simplex the layer k is a triangle of order g-k, and its row j has g-k-j+1 nodes. */
static void emit(struct walk *walk, const int *x) {
    int g = walk->order, number = x[0];
    if (!walk->simplex) number += (x[2] * (g + 1) + x[1]) * (g + 1);
    for (int k = 0; k < x[2] && walk->simplex; k++) number += (g - k + 1) * (g - k + 2) / 2;
    for (int j = 0; j < x[1] && walk->simplex; j++) number += g - x[2] - j + 1;
    walk->numbers[walk->n++] = number;
}

/* The nodes strictly inside the box that a vertex spans with its neighbours, the first direction fastest. */
static void walk_rows(struct walk *walk, int dim, int order, const lattice_point *corners) {
    static const int neighbours[3] = {1, 3, 4};
    int last = dim == 3 ? order - 1 : 1;
    for (int k = 1; k <= last; k++)
        for (int j = 1; j < order; j++)
            for (int i = 1; i < order; i++) {
                int steps[3] = {i, j, k}, x[3];
                memcpy(x, corners[0], sizeof x);
                for (int e = 0; e < dim; e++)
                    for (int d = 0; d < 3; d++)
                        x[d] += (corners[neighbours[e]][d] - corners[0][d]) / order * steps[e];
                emit(walk, x);
            }
}

static void walk_cell(struct walk *walk, enum shape shape, int order, const lattice_point *corners);

/* The corners of the smaller cell have moved by one lattice step along each edge that meets there. */
static void walk_inside(struct walk *walk, enum shape shape, int order, const lattice_point *corners) {
    const struct lattice_frame *frame = &walk->frames[shape];
    int less = shape_is_simplex(shape) ? shape_dim(shape) + 1 : 2;
    lattice_point inner[SHAPE_MAX_VERTICES];
    if (order < less) return;
    if (frame->by_rows) {
        walk_rows(walk, shape_dim(shape), order, corners);
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
        lattice_point face[SHAPE_MAX_FACE_VERTICES];
        for (int c = 0; c < shape_n_vertices(frame->face_shape); c++)
            memcpy(face[c], corners[frame->faces[f][c]], sizeof face[c]);
        walk_inside(walk, frame->face_shape, order, (const lattice_point *)face);
    }
    if (shape_dim(shape) > 1) walk_inside(walk, shape, order, corners);
}

void lattice_order(const struct lattice_frame *frames, enum shape shape, int order, int *numbers) {
    struct walk walk = {
        .frames = frames, .order = order, .simplex = shape_is_simplex(shape), .numbers = numbers};
    lattice_point corners[SHAPE_MAX_VERTICES] = {{0}};
    const double *vertices = shape_vertices(shape);
    int dim = shape_dim(shape);
    for (int c = 0; c < shape_n_vertices(shape); c++)
        for (int d = 0; d < dim; d++) corners[c][d] = (int)(vertices[c * dim + d] + 0.5) * order;
    walk_cell(&walk, shape, order, (const lattice_point *)corners);
}
