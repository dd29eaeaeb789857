/* Cells of a box one after the other, as the kernels tile_* take them: data at their points, and functions
 * that are tensor products in every cell. A tile is a part of the cells that is worked on at once, so that
 * what is made on the way need not have room for all of them.
 *
 * An array of a tile has, for its cells in turn, n^dim numbers each, direction 0 fastest. Directions from dim
 * on have one cell and one number. */
#ifndef FACET_KERNELS_TILE_H
#define FACET_KERNELS_TILE_H

#include <stdint.h>

#include "kernels/everywhere.h"

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

/* What becomes of a contraction. */
enum tile_end { TILE_PUT, TILE_ADD, TILE_EXTREMES };

/* Points of a cell: products of n[d] points x[d] of [0, 1] of every direction; one, 0, from dim on. */
struct tile_points {
    int n[3];
    const double *x[3];
};

/* Nodes of a program that depend on some coordinates alone (`sets`: their bits) and were computed before, on
 * the line or in the plane of these: OP_GIVEN, with slots of their own. Values are followed by first and
 * second derivatives by these coordinates (tile_line_rows), as far as the program has derivatives. */
#define TILE_LINES 16
struct tile_lines {
    int n;
    int node[TILE_LINES], set[TILE_LINES];
    const double
        *values[TILE_LINES]; /* at the points of all cells of the directions, the lower one fastest */
};
/* The place of a point there, and the number of points. */
EVERYWHERE int64_t tile_line_place(const struct tile_plan *t, const struct tile_points *p, int set,
                                   const int at[3], const int i[3]) {
    int64_t place = 0, step = 1;
    for (int d = 0; d < t->dim; d++) {
        if (!(set >> d & 1)) continue;
        place += ((int64_t)at[d] * p->n[d] + i[d]) * step;
        step *= (int64_t)t->cells[d] * p->n[d];
    }
    return place;
}
EVERYWHERE int64_t tile_line_size(const struct tile_plan *t, const struct tile_points *p, int set) {
    int64_t size = 1;
    for (int d = 0; d < t->dim; d++) size *= set >> d & 1 ? (int64_t)t->cells[d] * p->n[d] : 1;
    return size;
}
/* Which rows of a jet (expression_row) they are, in their order; returns how many. */
EVERYWHERE int tile_line_rows(int set, int order, int rows[6]) {
    int n = 1;
    rows[0] = 0;
    for (int d = 0; d < 3 && order > 0; d++)
        if (set >> d & 1) rows[n++] = 1 + d;
    for (int i = 0; i < 3 && order > 1; i++)
        for (int j = i; j < 3; j++)
            if (set >> i & set >> j & 1) rows[n++] = 4 + (i * (5 - i) / 2 + j);
    return n;
}

/* What is made of a program at a point: its value; and its gradient; or its value and its Laplacian. */
enum tile_jet { TILE_VALUES, TILE_GRADIENTS, TILE_LAPLACIANS };

EVERYWHERE int64_t tile_power(int n, int dim) {
    int64_t product = 1;
    for (int d = 0; d < dim; d++) product *= n;
    return product;
}
/* Numbers of scratch of a contraction that takes so many cells at once: three arrays of these. */
EVERYWHERE int64_t tile_scratch(int64_t cells, int dim, int n_in, int n_out) {
    return 3 * (cells * tile_power(n_in > n_out ? n_in : n_out, dim) + 16);
}
/* The place of a cell, by directions. */
EVERYWHERE void tile_at(const struct tile_plan *t, int64_t cell, int at[3]) {
    at[0] = (int)(cell % t->cells[0]);
    at[1] = (int)(cell / t->cells[0] % t->cells[1]);
    at[2] = (int)(cell / t->cells[0] / t->cells[1]);
}
EVERYWHERE double tile_width(const struct tile_plan *t, int d, const int at[3]) {
    return t->ends[d][at[d] + 1] - t->ends[d][at[d]];
}
EVERYWHERE double tile_factor(const struct tile_plan *t, const struct tile_scale *scale, int64_t cell,
                              const int at[3]) {
    double factor = scale->factor * (scale->of_cells != (const double *)0 ? scale->of_cells[cell] : 1.0);
    for (int d = 0; d < t->dim; d++) {
        const double width = tile_width(t, d, at);
        for (int i = 0; i < scale->powers[d]; i++) factor *= width;
        for (int i = 0; i > scale->powers[d]; i--) factor /= width;
    }
    return factor;
}
EVERYWHERE int tile_kind(const struct tile_plan *t, int d, const int at[3]) {
    return t->kinds[d] != (const int32_t *)0 ? t->kinds[d][at[d]] : 0;
}
/* k V (2/h)^2 of every direction. */
EVERYWHERE void tile_metric(const struct tile_plan *t, const int at[3], double k, double a[3]) {
    double V = k;
    for (int d = 0; d < t->dim; d++) V *= 0.5 * tile_width(t, d, at);
    for (int d = 0; d < 3; d++) {
        const double inverse = d < t->dim ? 2.0 / tile_width(t, d, at) : 0.0;
        a[d] = V * inverse * inverse;
    }
}
/* q of number i of a packed cell. */
EVERYWHERE double tile_flux_at(int dim, int n, int even, int d, const double *flux, const double *ends,
                               const double *cell, int64_t i) {
    const int64_t inner = tile_power(n, d), face = tile_power(n, dim - 1), r = i % inner;
    const int m = (int)(i / inner % n);
    const int64_t o = i / inner / n;
    const double *u = cell + o * n * inner + r;
    const double *lower = cell + face * n + 2 * d * face + o * inner + r, *upper = lower + face;
    double sum = 0.0;
    for (int j = 0; j < n; j++) sum += flux[m * n + j] * u[j * inner];
    return sum - ends[m] * (m < even ? *upper - *lower : *upper + *lower);
}
/* The value of the trace of one side of a packed cell at a point i of its face. */
EVERYWHERE double tile_trace_at(const struct tile_plan *t, const int at[3], int n, int n_points,
                                const double *const *T, int d, const double *modes, int64_t i) {
    const double *rows[2];
    int count = 0;
    for (int e = 0; e < t->dim; e++) {
        if (e == d) continue;
        rows[count++] = T[e] + ((int64_t)tile_kind(t, e, at) * n_points + i % n_points) * n;
        i /= n_points;
    }
    double sum = 0.0;
    for (int j = 0; j < (count > 1 ? n : 1); j++) {
        double line = 0.0;
        for (int q = 0; q < (count > 0 ? n : 1); q++)
            line += (count > 0 ? rows[0][q] : 1.0) * modes[j * n + q];
        sum += (count > 1 ? rows[1][j] : 1.0) * line;
    }
    return sum;
}
/* The measure of a face with the weights of point i. */
EVERYWHERE double tile_face_weight(const struct tile_plan *t, const int at[3], int n_points,
                                   const double *weights, int d, int64_t i) {
    double weight = 1.0;
    for (int e = 0; e < t->dim; e++) {
        if (e == d) continue;
        weight *= tile_width(t, e, at) * weights[i % n_points];
        i /= n_points;
    }
    return weight;
}
/* The node that is number i of a cell, of all nodes. */
EVERYWHERE int64_t tile_node(const struct tile_plan *t, int k, const int nodes[3], const int at[3],
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
EVERYWHERE int tile_jets(enum tile_jet jet, int dim) {
    return jet == TILE_VALUES ? 1 : jet == TILE_GRADIENTS ? 1 + dim : 2;
}

#endif
