/* Cells of a box one after the other, as the kernels tile_* take them: data at their points, and functions
 * that are tensor products in every cell. A tile is a part of the cells that is worked on at once, so that
 * what is made on the way need not have room for all of them.
 *
 * An array of a tile has, for its cells in turn, n^dim numbers each, direction 0 fastest. Directions from dim
 * on have one cell and one number. */
#ifndef FACET_KERNELS_TILE_H
#define FACET_KERNELS_TILE_H

#include <stdint.h>

struct tile_plan {
    int dim, cells[3];       /* of the box; 1 from dim on */
    int64_t first, count;    /* cells first .. first + count - 1, direction 0 fastest */
    const double *ends[3];   /* cells[d] + 1 coordinates */
    const int32_t *kinds[3]; /* cells[d]: the kind of line of a column; NULL: 0 */
};

/* What a result is multiplied with: a factor, powers of the widths of the cell, and a number of each cell of
 * the box (NULL: 1). */
struct tile_scale {
    double factor;
    int powers[3];
    const double *of_cells;
};

/* Nodes of a program that depend on one coordinate and were computed before: OP_GIVEN, with slots of their
 * own. */
#define TILE_LINES 8
struct tile_lines {
    int n;
    int node[TILE_LINES], direction[TILE_LINES];
    const double *values[TILE_LINES]; /* the points of all cells of the direction */
};

/* What is made of a program at a point: its value; and its gradient; or its value and its Laplacian. */
enum tile_jet { TILE_VALUES, TILE_GRADIENTS, TILE_LAPLACIANS };

#ifdef __CUDACC__
#    define TILE_BOTH static inline __host__ __device__
#else
#    define TILE_BOTH static inline
#endif

TILE_BOTH int64_t tile_power(int n, int dim) {
    int64_t product = 1;
    for (int d = 0; d < dim; d++) product *= n;
    return product;
}
/* The place of a cell, by directions. */
TILE_BOTH void tile_at(const struct tile_plan *t, int64_t cell, int at[3]) {
    at[0] = (int)(cell % t->cells[0]);
    at[1] = (int)(cell / t->cells[0] % t->cells[1]);
    at[2] = (int)(cell / t->cells[0] / t->cells[1]);
}
TILE_BOTH double tile_factor(const struct tile_plan *t, const struct tile_scale *scale, int64_t cell,
                             const int at[3]) {
    double factor = scale->factor * (scale->of_cells != (const double *)0 ? scale->of_cells[cell] : 1.0);
    for (int d = 0; d < t->dim; d++) {
        const double width = t->ends[d][at[d] + 1] - t->ends[d][at[d]];
        for (int i = 0; i < scale->powers[d]; i++) factor *= width;
        for (int i = 0; i > scale->powers[d]; i--) factor /= width;
    }
    return factor;
}
/* The node that is number i of a cell, of all nodes. */
TILE_BOTH int64_t tile_node(const struct tile_plan *t, int k, const int nodes[3], const int at[3],
                            int64_t i) {
    int64_t node = 0, step = 1;
    for (int d = 0; d < t->dim; d++, i /= k + 1) {
        const int64_t along = (int64_t)at[d] * k + i % (k + 1);
        node += (along == nodes[d] ? 0 : along) * step;
        step *= nodes[d];
    }
    return node;
}
/* Arrays that tile_expression writes for each point. */
TILE_BOTH int tile_jets(enum tile_jet jet, int dim) {
    return jet == TILE_VALUES ? 1 : jet == TILE_GRADIENTS ? 1 + dim : 2;
}

#endif
