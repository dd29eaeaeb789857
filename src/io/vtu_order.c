/* The numbering of the points of VTK's Lagrange cells (file version 2.2): vertices first, then the insides of
 * edges, of faces, and of the cell.
 *
 *   triangle, order 3      quad, order 3
 *   2                      3--9--8--2      The inside of a simplex is a smaller simplex numbered in the same
 * way,
 *   |\                     |        |      corners first: a triangle of order g has one of order g-3 inside,
 * a tet 7  6                   11 14 15 7      of order g one of order g-4. The inside of quads and hexes
 * runs row by |    \                 |        |      row, first coordinate fastest, and so do their edges and
 * faces: always 8  9  5                10 12 13 5      in the direction of growing coordinates, whereas the
 * edges of a |      \               |        |      simplex run from their first vertex to their second.
 *   0--3--4--1             0--4--5--1
 */
#include "io/vtu.h"

#include <string.h>

#include "poly/shape.h"

struct numbering {
    int order, simplex;
    int *map;
    int n;
};

/* Lattice number of node x, first coordinate fastest. In a simplex the layer k is a triangle of order g-k,
 * and its row j has g-k-j+1 nodes. */
static int lattice_number(const struct numbering *to, const int *x) {
    const int g = to->order;
    if (!to->simplex) return (x[2] * (g + 1) + x[1]) * (g + 1) + x[0];
    int number = x[0];
    for (int k = 0; k < x[2]; k++) number += (g - k + 1) * (g - k + 2) / 2;
    for (int j = 0; j < x[1]; j++) number += g - x[2] - j + 1;
    return number;
}

static void put(struct numbering *to, const int *x) {
    to->map[to->n++] = lattice_number(to, x);
}

/* The nodes strictly between a and b, which are m lattice steps apart. */
static void put_edge(struct numbering *to, int m, const int *a, const int *b) {
    for (int s = 1; s < m; s++) {
        int x[3];
        for (int d = 0; d < 3; d++) x[d] = a[d] + (b[d] - a[d]) / m * s;
        put(to, x);
    }
}

/* The corners of the simplex inside one with n corners, m steps wide: from corner i one step towards each
 * other. */
static void inner_corners(int n, int m, int corner[][3], int inner[][3]) {
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++) {
            inner[i][d] = corner[i][d];
            for (int j = 0; j < n; j++) inner[i][d] += (corner[j][d] - corner[i][d]) / m;
        }
    }
}

/* A triangle m steps wide with all that is inside; the recursion of the picture above, as a loop. */
static void put_triangle(struct numbering *to, int m, int corner[3][3]) {
    int a[3][3], inner[3][3];
    memcpy(a, corner, sizeof a);
    for (; m > 0; m -= 3) {
        for (int v = 0; v < 3; v++) put(to, a[v]);
        for (int v = 0; v < 3; v++) put_edge(to, m, a[v], a[(v + 1) % 3]);
        if (m < 3) return;
        inner_corners(3, m, a, inner);
        memcpy(a, inner, sizeof a);
    }
    put(to, a[0]);
}

static void put_tet(struct numbering *to, int m, int corner[4][3]) {
    static const int edges[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
    static const int faces[4][3] = {{0, 1, 3}, {2, 3, 1}, {0, 3, 2}, {0, 2, 1}};
    int a[4][3], face[3][3], inner[4][3];

    memcpy(a, corner, sizeof a);
    for (; m > 0; m -= 4) {
        for (int v = 0; v < 4; v++) put(to, a[v]);
        for (int e = 0; e < 6; e++) put_edge(to, m, a[edges[e][0]], a[edges[e][1]]);
        if (m < 3) return;
        for (int f = 0; f < 4; f++) {
            for (int v = 0; v < 3; v++) memcpy(face[v], a[faces[f][v]], sizeof face[v]);
            inner_corners(3, m, face, inner);
            put_triangle(to, m - 3, inner);
        }
        if (m < 4) return;
        inner_corners(4, m, a, inner);
        memcpy(a, inner, sizeof a);
    }
    put(to, a[0]);
}

/* The inside of the face of a hex (or of a quad) spanned by axes `first` (fastest) and `second`; `at` holds
 * the coordinate along the third axis. */
static void put_rows(struct numbering *to, int first, int second, const int *at) {
    int x[3] = {at[0], at[1], at[2]};
    for (x[second] = 1; x[second] < to->order; x[second]++) {
        for (x[first] = 1; x[first] < to->order; x[first]++) put(to, x);
    }
}

/* Vertices and edges of the quad at height z, one or the other. */
static void put_quad_vertices(struct numbering *to, int z) {
    const int g = to->order;
    const int vertex[4][3] = {{0, 0, z}, {g, 0, z}, {g, g, z}, {0, g, z}};
    for (int v = 0; v < 4; v++) put(to, vertex[v]);
}

static void put_quad_edges(struct numbering *to, int z) {
    const int g = to->order;
    const int vertex[4][3] = {{0, 0, z}, {g, 0, z}, {g, g, z}, {0, g, z}};
    put_edge(to, g, vertex[0], vertex[1]);
    put_edge(to, g, vertex[1], vertex[2]);
    put_edge(to, g, vertex[3], vertex[2]);
    put_edge(to, g, vertex[0], vertex[3]);
}

static void put_hex(struct numbering *to) {
    const int g = to->order;
    const int foot[4][2] = {{0, 0}, {g, 0}, {g, g}, {0, g}};

    put_quad_vertices(to, 0);
    put_quad_vertices(to, g);
    put_quad_edges(to, 0);
    put_quad_edges(to, g);
    for (int v = 0; v < 4; v++) {
        const int bottom[3] = {foot[v][0], foot[v][1], 0}, top[3] = {foot[v][0], foot[v][1], g};
        put_edge(to, g, bottom, top);
    }
    for (int axis = 0; axis < 3; axis++) {
        for (int side = 0; side <= g; side += g) {
            int at[3] = {0, 0, 0};
            at[axis] = side;
            put_rows(to, axis == 0 ? 1 : 0, axis == 2 ? 1 : 2, at);
        }
    }
    for (int z = 1; z < g; z++) put_rows(to, 0, 1, (const int[3]){0, 0, z});
}

facet_status vtu_node_map(enum shape shape, int order, int *map) {
    const int g = order;
    int corner[4][3] = {{0, 0, 0}, {g, 0, 0}, {0, g, 0}, {0, 0, g}};
    struct numbering to = {.order = order};

    to.map = map;
    if (order < 1) return base_fail(FACET_ERROR_INPUT, "a cell of order %d has no nodes", order);
    switch (shape) {
    case SHAPE_SEGMENT:
        put(&to, corner[0]);
        put(&to, corner[1]);
        put_edge(&to, g, corner[0], corner[1]);
        return FACET_OK;
    case SHAPE_TRIANGLE:
        to.simplex = 1;
        put_triangle(&to, g, corner);
        return FACET_OK;
    case SHAPE_QUAD:
        put_quad_vertices(&to, 0);
        put_quad_edges(&to, 0);
        put_rows(&to, 0, 1, corner[0]);
        return FACET_OK;
    case SHAPE_TET:
        to.simplex = 1;
        put_tet(&to, g, corner);
        return FACET_OK;
    case SHAPE_HEX:
        put_hex(&to);
        return FACET_OK;
    default:
        return base_fail(FACET_ERROR_INPUT, "a VTU file has no cells of shape %s", shape_name(shape));
    }
}
