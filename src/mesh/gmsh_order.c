/* Gmsh's element types, and the way from its numbering of high-order nodes to the lattice of poly/shape.h. */
#include "mesh/gmsh.h"
#include "poly/lattice.h"

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
    [6] = {SHAPE_PRISM, 1, 6},
    [13] = {SHAPE_PRISM, 2, 18},
    [90] = {SHAPE_PRISM, 3, 40},
    [91] = {SHAPE_PRISM, 4, 75},
    [106] = {SHAPE_PRISM, 5, 126},
    [107] = {SHAPE_PRISM, 6, 196},
    [108] = {SHAPE_PRISM, 7, 288},
    [109] = {SHAPE_PRISM, 8, 405},
    [110] = {SHAPE_PRISM, 9, 550},
    [7] = {SHAPE_PYRAMID, 1, 5},
    [14] = {SHAPE_PYRAMID, 2, 14},
    [118] = {SHAPE_PYRAMID, 3, 30},
    [119] = {SHAPE_PYRAMID, 4, 55},
    [120] = {SHAPE_PYRAMID, 5, 91},
    [121] = {SHAPE_PYRAMID, 6, 140},
    [122] = {SHAPE_PYRAMID, 7, 204},
    [123] = {SHAPE_PYRAMID, 8, 285},
    [124] = {SHAPE_PYRAMID, 9, 385},
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
    [18] = {SHAPE_PRISM, 2, 15},
    [19] = {SHAPE_PYRAMID, 2, 13},
};

const struct gmsh_type *gmsh_find_type(int64_t type) {
    if (type < 0 || type > GMSH_MAX_TYPE || types[type].n_nodes == 0) return NULL;
    return &types[type];
}

const char *gmsh_family_name(int family, int is_one) {
    static const char *const names[SHAPE_COUNT][2] = {
        {"points", "point"}, {"lines", "line"},           {"triangles", "triangle"}, {"quads", "quad"},
        {"tets", "tet"},     {"hexahedra", "hexahedron"}, {"prisms", "prism"},       {"pyramids", "pyramid"}};
    return names[family][is_one];
}

int gmsh_type_is_complete(const struct gmsh_type *type) {
    return type->family == SHAPE_POINT ||
           type->n_nodes == shape_n_nodes((enum shape)type->family, type->order);
}

/* Edges and faces in Gmsh's order and direction. */
static const struct lattice_frame frames[SHAPE_COUNT] = {
    [SHAPE_SEGMENT] = {.n_edges = 1, .edges = {{0, 1}}},
    [SHAPE_TRIANGLE] = {.n_edges = 3, .edges = {{0, 1}, {1, 2}, {2, 0}}},
    [SHAPE_QUAD] = {.n_edges = 4, .edges = {{0, 1}, {1, 2}, {2, 3}, {3, 0}}},
    [SHAPE_TET] = {.n_edges = 6,
                   .n_faces = 4,
                   .n_triangles = 4,
                   .edges = {{0, 1}, {1, 2}, {2, 0}, {3, 0}, {3, 2}, {3, 1}},
                   .faces = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {3, 1, 2}}},
    [SHAPE_HEX] =
        {.n_edges = 12,
         .n_faces = 6,
         .edges =
             {{0, 1}, {0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 7}, {5, 6}, {6, 7}},
         .faces = {{0, 3, 2, 1}, {0, 1, 5, 4}, {0, 4, 7, 3}, {1, 2, 6, 5}, {2, 3, 7, 6}, {4, 5, 6, 7}}},
    [SHAPE_PRISM] = {.n_edges = 9,
                     .n_faces = 5,
                     .n_triangles = 2,
                     .edges = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 4}, {2, 5}, {3, 4}, {3, 5}, {4, 5}},
                     .faces = {{0, 2, 1}, {3, 4, 5}, {0, 1, 4, 3}, {0, 3, 5, 2}, {1, 2, 5, 4}}},
    [SHAPE_PYRAMID] = {.n_edges = 8,
                       .n_faces = 5,
                       .n_triangles = 4,
                       .edges = {{0, 1}, {0, 3}, {0, 4}, {1, 2}, {1, 4}, {2, 3}, {2, 4}, {3, 4}},
                       .faces = {{0, 1, 4}, {3, 0, 4}, {1, 2, 4}, {2, 3, 4}, {0, 3, 2, 1}}},
};

void gmsh_lattice(enum shape shape, int order, int *lattice) {
    lattice_order(frames, shape, order, lattice);
}
