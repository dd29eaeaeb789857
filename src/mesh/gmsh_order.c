/* Gmsh's element types, and the way from its numbering of high-order nodes to the lattice of poly/shape.h. */
#include <string.h>

#include "base/memory.h"
#include "mesh/gmsh.h"

static const struct gmsh_type types[GMSH_MAX_TYPE + 1] = {
    [15] = {SHAPE_POINT, 0, 1},
    /* complete, by order */
    [1] = {SHAPE_SEGMENT, 1, 2},
    [8] = {SHAPE_SEGMENT, 2, 3},
    [26] = {SHAPE_SEGMENT, 3, 4},
    [27] = {SHAPE_SEGMENT, 4, 5},
    [28] = {SHAPE_SEGMENT, 5, 6},
    [62] = {SHAPE_SEGMENT, 6, 7},
    [63] = {SHAPE_SEGMENT, 7, 8},
    [64] = {SHAPE_SEGMENT, 8, 9},
    [65] = {SHAPE_SEGMENT, 9, 10},
    [66] = {SHAPE_SEGMENT, 10, 11},
    [2] = {SHAPE_TRIANGLE, 1, 3},
    [9] = {SHAPE_TRIANGLE, 2, 6},
    [21] = {SHAPE_TRIANGLE, 3, 10},
    [23] = {SHAPE_TRIANGLE, 4, 15},
    [25] = {SHAPE_TRIANGLE, 5, 21},
    [42] = {SHAPE_TRIANGLE, 6, 28},
    [43] = {SHAPE_TRIANGLE, 7, 36},
    [44] = {SHAPE_TRIANGLE, 8, 45},
    [45] = {SHAPE_TRIANGLE, 9, 55},
    [46] = {SHAPE_TRIANGLE, 10, 66},
    [3] = {SHAPE_QUAD, 1, 4},
    [10] = {SHAPE_QUAD, 2, 9},
    [36] = {SHAPE_QUAD, 3, 16},
    [37] = {SHAPE_QUAD, 4, 25},
    [38] = {SHAPE_QUAD, 5, 36},
    [47] = {SHAPE_QUAD, 6, 49},
    [48] = {SHAPE_QUAD, 7, 64},
    [49] = {SHAPE_QUAD, 8, 81},
    [50] = {SHAPE_QUAD, 9, 100},
    [51] = {SHAPE_QUAD, 10, 121},
    [4] = {SHAPE_TET, 1, 4},
    [11] = {SHAPE_TET, 2, 10},
    [29] = {SHAPE_TET, 3, 20},
    [30] = {SHAPE_TET, 4, 35},
    [31] = {SHAPE_TET, 5, 56},
    [71] = {SHAPE_TET, 6, 84},
    [72] = {SHAPE_TET, 7, 120},
    [73] = {SHAPE_TET, 8, 165},
    [74] = {SHAPE_TET, 9, 220},
    [75] = {SHAPE_TET, 10, 286},
    [5] = {SHAPE_HEX, 1, 8},
    [12] = {SHAPE_HEX, 2, 27},
    [92] = {SHAPE_HEX, 3, 64},
    [93] = {SHAPE_HEX, 4, 125},
    [94] = {SHAPE_HEX, 5, 216},
    [95] = {SHAPE_HEX, 6, 343},
    [96] = {SHAPE_HEX, 7, 512},
    [97] = {SHAPE_HEX, 8, 729},
    [98] = {SHAPE_HEX, 9, 1000},
    /* without (all) inner nodes */
    [20] = {SHAPE_TRIANGLE, 3, 9},
    [22] = {SHAPE_TRIANGLE, 4, 12},
    [24] = {SHAPE_TRIANGLE, 5, 15},
    [52] = {SHAPE_TRIANGLE, 6, 18},
    [53] = {SHAPE_TRIANGLE, 7, 21},
    [54] = {SHAPE_TRIANGLE, 8, 24},
    [55] = {SHAPE_TRIANGLE, 9, 27},
    [56] = {SHAPE_TRIANGLE, 10, 30},
    [GMSH_QUAD_8] = {SHAPE_QUAD, 2, 8},
    [39] = {SHAPE_QUAD, 3, 12},
    [40] = {SHAPE_QUAD, 4, 16},
    [41] = {SHAPE_QUAD, 5, 20},
    [57] = {SHAPE_QUAD, 6, 24},
    [58] = {SHAPE_QUAD, 7, 28},
    [59] = {SHAPE_QUAD, 8, 32},
    [60] = {SHAPE_QUAD, 9, 36},
    [61] = {SHAPE_QUAD, 10, 40},
    [32] = {SHAPE_TET, 4, 22},
    [33] = {SHAPE_TET, 5, 28},
    [79] = {SHAPE_TET, 6, 34},
    [80] = {SHAPE_TET, 7, 40},
    [81] = {SHAPE_TET, 8, 46},
    [82] = {SHAPE_TET, 9, 52},
    [83] = {SHAPE_TET, 10, 58},
    [17] = {SHAPE_HEX, 2, 20},
    [99] = {SHAPE_HEX, 3, 32},
    [100] = {SHAPE_HEX, 4, 44},
    [101] = {SHAPE_HEX, 5, 56},
    [102] = {SHAPE_HEX, 6, 68},
    [103] = {SHAPE_HEX, 7, 80},
    [104] = {SHAPE_HEX, 8, 92},
    [105] = {SHAPE_HEX, 9, 104},
    /* recognised only to be refused by name */
    [6] = {GMSH_PRISM, 1, 6},
    [13] = {GMSH_PRISM, 2, 18},
    [18] = {GMSH_PRISM, 2, 15},
    [90] = {GMSH_PRISM, 3, 40},
    [91] = {GMSH_PRISM, 4, 75},
    [106] = {GMSH_PRISM, 5, 126},
    [107] = {GMSH_PRISM, 6, 196},
    [108] = {GMSH_PRISM, 7, 288},
    [109] = {GMSH_PRISM, 8, 405},
    [110] = {GMSH_PRISM, 9, 550},
    [7] = {GMSH_PYRAMID, 1, 5},
    [14] = {GMSH_PYRAMID, 2, 14},
    [19] = {GMSH_PYRAMID, 2, 13},
    [118] = {GMSH_PYRAMID, 3, 30},
    [119] = {GMSH_PYRAMID, 4, 55},
    [120] = {GMSH_PYRAMID, 5, 91},
    [121] = {GMSH_PYRAMID, 6, 140},
    [122] = {GMSH_PYRAMID, 7, 204},
    [123] = {GMSH_PYRAMID, 8, 285},
    [124] = {GMSH_PYRAMID, 9, 385},
};

const struct gmsh_type *gmsh_find_type(int64_t type) {
    if (type < 0 || type > GMSH_MAX_TYPE || types[type].n_nodes == 0) return NULL;
    return &types[type];
}

const char *gmsh_family_name(int family, int is_one) {
    static const char *const names[GMSH_N_FAMILIES][2] = {
        {"points", "point"}, {"lines", "line"},           {"triangles", "triangle"}, {"quads", "quad"},
        {"tets", "tet"},     {"hexahedra", "hexahedron"}, {"prisms", "prism"},       {"pyramids", "pyramid"}};
    return names[family][is_one];
}

int gmsh_type_is_complete(const struct gmsh_type *type) {
    if (type->family >= SHAPE_COUNT) return 0;
    return type->family == SHAPE_POINT ||
           type->n_nodes == shape_n_nodes((enum shape)type->family, type->order);
}

/* Edges and faces in Gmsh's order and direction. */
struct frame {
    int n_corners, n_edges, n_faces;
    int inner; /* the order of the inner cell is less by this */
    enum shape face_shape;
    int edges[12][2], faces[6][4];
};
static const struct frame frames[SHAPE_COUNT] = {
    [SHAPE_SEGMENT] = {2, 1, 0, 2, SHAPE_POINT, {{0, 1}}, {{0}}},
    [SHAPE_TRIANGLE] = {3, 3, 0, 3, SHAPE_SEGMENT, {{0, 1}, {1, 2}, {2, 0}}, {{0}}},
    [SHAPE_QUAD] = {4, 4, 0, 2, SHAPE_SEGMENT, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}, {{0}}},
    [SHAPE_TET] = {4,
                   6,
                   4,
                   4,
                   SHAPE_TRIANGLE,
                   {{0, 1}, {1, 2}, {2, 0}, {3, 0}, {3, 2}, {3, 1}},
                   {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {3, 1, 2}}},
    [SHAPE_HEX] =
        {8,
         12,
         6,
         2,
         SHAPE_QUAD,
         {{0, 1}, {0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 7}, {5, 6}, {6, 7}},
         {{0, 3, 2, 1}, {0, 1, 5, 4}, {0, 4, 7, 3}, {1, 2, 6, 5}, {2, 3, 7, 6}, {4, 5, 6, 7}}},
};

typedef int lattice_point[3];
struct walk {
    lattice_point *points;
    int n;
};

static void emit(struct walk *walk, const int *from, const int *to, int step, int steps) {
    for (int d = 0; d < 3; d++) walk->points[walk->n][d] = from[d] + (to[d] - from[d]) / steps * step;
    walk->n++;
}

static void walk_cell(struct walk *walk, enum shape shape, int order, const lattice_point *corners);

/* The inside of a cell is a cell whose corners have moved by one lattice step along each edge that meets
 * there. */
static void walk_inside(struct walk *walk, enum shape shape, int order, const lattice_point *corners) {
    const struct frame *frame = &frames[shape];
    if (order < frame->inner) return;
    lattice_point inner[SHAPE_MAX_VERTICES];
    memcpy(inner, corners, (size_t)frame->n_corners * sizeof *inner);
    for (int e = 0; e < frame->n_edges; e++) {
        int a = frame->edges[e][0], b = frame->edges[e][1];
        for (int d = 0; d < 3; d++) {
            int step = (corners[b][d] - corners[a][d]) / order;
            inner[a][d] += step;
            inner[b][d] -= step;
        }
    }
    walk_cell(walk, shape, order - frame->inner, (const lattice_point *)inner);
}

/* Visits the lattice points of a cell in Gmsh's order: corners, edges, faces, inside. */
static void walk_cell(struct walk *walk, enum shape shape, int order, const lattice_point *corners) {
    const struct frame *frame = &frames[shape];
    if (order == 0) {
        emit(walk, corners[0], corners[0], 0, 1);
        return;
    }
    for (int c = 0; c < frame->n_corners; c++) emit(walk, corners[c], corners[c], 0, 1);
    for (int e = 0; e < frame->n_edges; e++)
        for (int m = 1; m < order; m++)
            emit(walk, corners[frame->edges[e][0]], corners[frame->edges[e][1]], m, order);
    if (shape == SHAPE_SEGMENT) return;
    for (int f = 0; f < frame->n_faces; f++) {
        lattice_point face[SHAPE_MAX_FACE_VERTICES];
        for (int c = 0; c < frames[frame->face_shape].n_corners; c++)
            memcpy(face[c], corners[frame->faces[f][c]], sizeof face[c]);
        walk_inside(walk, frame->face_shape, order, (const lattice_point *)face);
    }
    walk_inside(walk, shape, order, corners);
}

facet_status gmsh_lattice(enum shape shape, int order, int *lattice) {
    facet_status status = FACET_OK;
    struct walk walk = {NULL, 0};
    int *number = NULL;
    int side = order + 1, dim = shape_dim(shape), n = 0;
    TRY(ALLOC(walk.points, shape_n_nodes(shape, order)));
    TRY(ALLOC(number, side * side * side));
    for (int k = 0; k <= (dim > 2 ? order : 0); k++)
        for (int j = 0; j <= (dim > 1 ? order : 0); j++)
            for (int i = 0; i <= order; i++)
                if (!shape_is_simplex(shape) || i + j + k <= order) number[(k * side + j) * side + i] = n++;
    lattice_point corners[SHAPE_MAX_VERTICES] = {{0}};
    const double *vertices = shape_vertices(shape);
    for (int c = 0; c < shape_n_vertices(shape); c++)
        for (int d = 0; d < dim; d++) corners[c][d] = (int)(vertices[c * dim + d] + 0.5) * order;
    walk_cell(&walk, shape, order, (const lattice_point *)corners);
    for (int i = 0; i < walk.n; i++) {
        const int *p = walk.points[i];
        lattice[i] = number[(p[2] * side + p[1]) * side + p[0]];
    }
done:
    base_free(&walk.points);
    base_free(&number);
    return status;
}
