/* The numbering of the points of VTK's Lagrange cells in files of version 1.0: see poly/lattice.h for the
 * way. Edges and faces of quads and hexes run in the direction of growing coordinates, whereas the edges of a
 * simplex run around it, as those of the triangles of a prism do, whose insides run row by row, unlike those
 * of tets. The last two edges of a hex changed places with version 2.1; VTK's readers turn them in older
 * files, and other programs (meshio) read no newer ones; in the memory of VTK they are as the newer files
 * have them. */
#include "io/vtu.h"
#include "poly/lattice.h"

static const struct lattice_frame frames[SHAPE_COUNT] = {
    [SHAPE_SEGMENT] = {.n_edges = 1, .edges = {{0, 1}}},
    [SHAPE_TRIANGLE] = {.n_edges = 3, .edges = {{0, 1}, {1, 2}, {2, 0}}},
    [SHAPE_QUAD] = {.n_edges = 4, .by_rows = 1, .edges = {{0, 1}, {1, 2}, {3, 2}, {0, 3}}},
    [SHAPE_TET] = {.n_edges = 6,
                   .n_faces = 4,
                   .n_triangles = 4,
                   .edges = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}},
                   .faces = {{0, 1, 3}, {2, 3, 1}, {0, 3, 2}, {0, 2, 1}}},
    [SHAPE_HEX] =
        {.n_edges = 12,
         .n_faces = 6,
         .by_rows = 1,
         .edges =
             {{0, 1}, {1, 2}, {3, 2}, {0, 3}, {4, 5}, {5, 6}, {7, 6}, {4, 7}, {0, 4}, {1, 5}, {3, 7}, {2, 6}},
         .faces = {{0, 3, 7, 4}, {1, 2, 6, 5}, {0, 1, 5, 4}, {3, 2, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}}},
    [SHAPE_PRISM] = {.n_edges = 9,
                     .n_faces = 5,
                     .n_triangles = 2,
                     .by_rows = 1,
                     .edges = {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}, {0, 3}, {1, 4}, {2, 5}},
                     .faces = {{0, 1, 2}, {3, 4, 5}, {0, 1, 4, 3}, {1, 2, 5, 4}, {2, 0, 3, 5}}},
};

facet_status vtu_node_map(enum shape shape, int order, int *map) {
    if (order < 1) return base_fail(FACET_ERROR_INPUT, "a cell of order %d has no nodes", order);
    if (frames[shape].n_edges == 0)
        return base_fail(FACET_ERROR_INPUT, "a VTU file has no cells of shape %s", shape_name(shape));
    lattice_order(frames, shape, order, map);
    return FACET_OK;
}

facet_status vtu_memory_map(enum shape shape, int order, int *map) {
    facet_status status = vtu_node_map(shape, order, map);
    if (status != FACET_OK || shape != SHAPE_HEX) return status;
    int *last = map + 8 + 10 * (order - 1); /* the insides of the last two edges */
    for (int i = 0; i < order - 1; i++) {
        int other = last[i];
        last[i] = last[i + order - 1];
        last[i + order - 1] = other;
    }
    return FACET_OK;
}
