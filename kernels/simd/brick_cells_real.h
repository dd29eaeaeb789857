/* The operator of continuous elements for numbers of type REAL: brick_cells.c includes this once for each
 * precision.
 *
 * Eight neighbours in direction 0 are the lanes. The matrix of a cell is T' D T in every direction at once, D
 * diagonal: six transforms, each halved by symmetry, 6 (k + 1)^4 / 2 operations a cell. Every row of nodes is
 * written once for every row of cells it belongs to: the right nodes of a cell are handed to its right
 * neighbour in registers. In the other directions the first row of cells that meets a node sets it, later
 * ones add. Floor: three words a node, or 3 (k + 1)^4 / k^3 operations. */
#include "kernels/simd/brick_modes_real.h"

/* Eight cells: which, and lambda, k/h^2 of each direction, all times the volume and the factor of A x. */
struct NAME(cells) {
    const struct brick_view *v;
    const REAL *F[3], *B[3], *e[3];
    LANE g, g0, g1, g2;
    int n_lanes;
    int64_t left;  /* the first node of the first cell in its row */
    int64_t right; /* the last node of the last cell in its row */
    LANE *volume;  /* by (node 2, node 1, node 0) */
    REAL *carry;   /* by (node 2, node 1) */
};

/* n numbers from a double array, `missing` behind them. */
INLINE LANE NAME(few)(int n, const double *from, double missing) {
    LANE value;
    for (int w = 0; w < L; w++) value[w] = (REAL)(w < n ? from[w] : missing);
    return value;
}

/* The k + 1 nodes of a row of eight cells: in[0 .. k]. */
INLINE void NAME(gather_cells)(const int n, const struct NAME(cells) * t, const REAL *row, LANE *in) {
    const int k = n - 1;
    const LANE edge = {row[t->right]};
    row += t->left;
    if (k == 1) {
        in[0] = LANES(load)(t->n_lanes, row);
    } else {
#pragma GCC unroll 2
        for (int i = 0; i < k; i += L) {
            LANE rows[L];
#pragma GCC unroll 8
            for (int w = 0; w < L; w++)
                rows[w] = w < t->n_lanes ? LANES(load)(k - i, row + w * k + i) : (LANE){0};
            LANES(transpose)(rows);
#pragma GCC unroll 8
            for (int j = 0; j < L; j++)
                if (i + j < k) in[i + j] = rows[j];
        }
    }
    if (t->n_lanes == L) {
        in[k] = __builtin_shufflevector(in[0], edge, 1, 2, 3, 4, 5, 6, 7, 8);
    } else {
        in[k] = __builtin_shufflevector(in[0], edge, 1, 2, 3, 4, 5, 6, 7, 8);
        in[k][t->n_lanes - 1] = edge[0];
    }
}

/* How the values of a row of nodes arrive: set (with b f, where f is not NULL) or added. */
struct NAME(target) {
    REAL *y;
    const REAL *f;
    REAL b;
    int add;
};

/* Numbers i .. i + n - 1 of a row. */
INLINE void NAME(arrive)(const struct NAME(target) * to, int64_t i, int n, LANE value) {
    if (to->add)
        value += LANES(load)(n, to->y + i);
    else if (to->f != NULL)
        value += to->b * LANES(load)(n, to->f + i);
    LANES(store)(n, to->y + i, value);
}

INLINE void NAME(scatter_cells)(const int n, const struct NAME(cells) * t, REAL *carry,
                                const struct NAME(target) * to, LANE *out) {
    const int k = n - 1;
    const LANE before = {*carry};
    *carry = out[k][t->n_lanes - 1];
    out[0] += __builtin_shufflevector(before, out[k], 0, 8, 9, 10, 11, 12, 13, 14);
    if (k == 1) {
        NAME(arrive)(to, t->left, t->n_lanes, out[0]);
        return;
    }
#pragma GCC unroll 2
    for (int i = 0; i < k; i += L) {
        LANE rows[L];
#pragma GCC unroll 8
        for (int j = 0; j < L; j++) rows[j] = i + j < k ? out[i + j] : (LANE){0};
        LANES(transpose)(rows);
#pragma GCC unroll 8
        for (int w = 0; w < L; w++)
            if (w < t->n_lanes) NAME(arrive)(to, t->left + w * k + i, k - i, rows[w]);
    }
}

/* What is left to the last node of a row, or its first on a ring; then fixed nodes become 0. */
static void NAME(end_row)(const struct brick_view *v, REAL carry, const struct NAME(target) * to, int fixed) {
    const int64_t last = v->nodes[0] - 1;
    if (v->periodic[0])
        to->y[0] += carry;
    else if (to->add)
        to->y[last] += carry;
    else
        to->y[last] = carry + (to->f != NULL ? to->b * to->f[last] : 0);
    if (fixed) {
        for (int64_t i = 0; i <= last; i++) to->y[i] = 0;
        return;
    }
    if (v->fixed[0][0]) to->y[0] = 0;
    if (v->fixed[0][1]) to->y[last] = 0;
}

/* Eight cells from the row x of their first node, into t->volume: A x. */
INLINE void NAME(cells_product)(const int n0, const int n1, const int n2, const struct NAME(cells) * t,
                                const REAL *const *rows) {
    LANE line[BRICK_MAX_DEGREE + 1];
    const int plane = n0 * n1;
    for (int c = 0; c < n2; c++) {
        LANE *at = t->volume + c * plane;
        for (int b = 0; b < n1; b++) {
            NAME(gather_cells)(n0, t, rows[c * n1 + b], line);
            NAME(to_modes)(n0, t->F[0], 1, line, 1, at + b * n0);
        }
        if (n1 > 1)
            for (int a = 0; a < n0; a++) NAME(to_modes)(n1, t->F[1], n0, at + a, n0, at + a);
    }
    for (int b = 0; b < n1; b++)
        for (int a = 0; a < n0; a++) {
            LANE *at = t->volume + b * n0 + a;
            const LANE base = t->g + t->g0 * t->e[0][a] + t->g1 * t->e[1][b];
            if (n2 == 1) {
                *at *= base;
                continue;
            }
            NAME(to_modes)(n2, t->F[2], plane, at, 1, line);
#pragma GCC unroll 16
            for (int c = 0; c < n2; c++) line[c] *= base + t->g2 * t->e[2][c];
            NAME(to_nodes)(n2, t->B[2], 1, line, plane, at);
        }
}

/* Back into the nodes of rows: targets by (node 2, node 1). */
INLINE void NAME(cells_back)(const int n0, const int n1, const int n2, const struct NAME(cells) * t,
                             const struct NAME(target) * targets) {
    LANE line[BRICK_MAX_DEGREE + 1];
    for (int c = 0; c < n2; c++) {
        LANE *at = t->volume + c * n0 * n1;
        if (n1 > 1)
            for (int a = 0; a < n0; a++) NAME(to_nodes)(n1, t->B[1], n0, at + a, n0, at + a);
        for (int b = 0; b < n1; b++) {
            NAME(to_nodes)(n0, t->B[0], 1, at + b * n0, 1, line);
            NAME(scatter_cells)(n0, t, t->carry + c * n1 + b, targets + c * n1 + b, line);
        }
    }
}

/* One row of cells: begins and ends with empty hands. */
INLINE void NAME(cell_row)(const int n0, const int n1, const int n2, struct NAME(cells) * t, double factor,
                           int64_t row, int c1, int c2, const REAL *const *rows,
                           const struct NAME(target) * targets) {
    const struct brick_view *v = t->v;
    const REAL h1 = (REAL)v->widths[1][c1], h2 = (REAL)v->widths[2][c2];
    for (int i = 0; i < n1 * n2; i++) t->carry[i] = 0;
    for (int first = 0; first < v->cells[0]; first += L) {
        const int64_t cell = row + first;
        t->n_lanes = v->cells[0] - first < L ? v->cells[0] - first : L;
        t->left = (int64_t)first * (n0 - 1);
        t->right = t->left + (int64_t)t->n_lanes * (n0 - 1);
        if (t->right == v->nodes[0]) t->right = 0;
        const LANE h0 = NAME(few)(t->n_lanes, v->widths[0] + first, 1);
        const LANE volume = (REAL)factor * h0 * (h1 * h2);
        const LANE k = volume * (v->conductivity ? NAME(few)(t->n_lanes, v->conductivity + cell, 0)
                                                 : (LANE){0} + (REAL)v->k);
        t->g = volume *
               (v->reaction ? NAME(few)(t->n_lanes, v->reaction + cell, 0) : (LANE){0} + (REAL)v->lambda);
        t->g0 = k / (h0 * h0);
        t->g1 = k / (h1 * h1);
        t->g2 = k / (h2 * h2);
        NAME(cells_product)(n0, n1, n2, t, rows);
        NAME(cells_back)(n0, n1, n2, t, targets);
    }
}

/* One compiled body for every degree and dimension, each in a function of its own: compilers take long over
 * long functions. */
#define ROW_PARAMETERS                                                                                       \
    struct NAME(cells) * t, double factor, int64_t row, int c1, int c2, const REAL *const *rows,             \
        const struct NAME(target) * targets
#define ROW_ARGUMENTS t, factor, row, c1, c2, rows, targets
#define CELL_ROW(N)                                                                                          \
    static __attribute__((noinline)) void NAME(cell_row_1d_##N)(ROW_PARAMETERS) {                            \
        NAME(cell_row)(N, 1, 1, ROW_ARGUMENTS);                                                              \
    }                                                                                                        \
    static __attribute__((noinline)) void NAME(cell_row_2d_##N)(ROW_PARAMETERS) {                            \
        NAME(cell_row)(N, 1, N, ROW_ARGUMENTS);                                                              \
    }                                                                                                        \
    static __attribute__((noinline)) void NAME(cell_row_3d_##N)(ROW_PARAMETERS) {                            \
        NAME(cell_row)(N, N, N, ROW_ARGUMENTS);                                                              \
    }
ROW_SIZES(CELL_ROW)
#undef CELL_ROW

static void NAME(any_row)(ROW_PARAMETERS) {
    static void (*const bodies[][3])(ROW_PARAMETERS) = {
#define CELL_ROW(N) [N] = {NAME(cell_row_1d_##N), NAME(cell_row_2d_##N), NAME(cell_row_3d_##N)},
        ROW_SIZES(CELL_ROW)
#undef CELL_ROW
    };
    const int64_t n = t->v->n[0];
#ifdef FACET_FEW_SIZES
    if (n >= (int64_t)(sizeof bodies / sizeof *bodies) || bodies[n][0] == NULL) {
        NAME(cell_row)((int)n, (int)t->v->n[1], (int)t->v->n[2], ROW_ARGUMENTS);
        return;
    }
#endif
    bodies[n][t->v->n[2] == 1 ? 0 : t->v->n[1] == 1 ? 1 : 2](ROW_ARGUMENTS);
}
#undef ROW_PARAMETERS
#undef ROW_ARGUMENTS

/* A layer of cells in direction 2. `top`: where its last plane of nodes goes, or NULL: to its place in y. */
static void NAME(apply_layer)(struct NAME(cells) * t, int layer, int is_first, double a, const REAL *x,
                              double b, const REAL *f, REAL *y, REAL *top) {
    const struct brick_view *v = t->v;
    const int n1 = (int)v->n[1], n2 = (int)v->n[2];
    const REAL *rows[(BRICK_MAX_DEGREE + 1) * (BRICK_MAX_DEGREE + 1)];
    struct NAME(target) targets[(BRICK_MAX_DEGREE + 1) * (BRICK_MAX_DEGREE + 1)];
    for (int c1 = 0; c1 < v->cells[1]; c1++) {
        for (int i = 0; i < n1 * n2; i++) {
            const int64_t p2 = (int64_t)layer * (n2 - 1) + i / n1, p1 = (int64_t)c1 * (n1 - 1) + i % n1;
            const int64_t row = p1 % v->nodes[1] * v->nodes[0],
                          at = p2 % v->nodes[2] * v->nodes[1] * v->nodes[0] + row;
            const int above = top != NULL && i / n1 == n2 - 1 && n2 > 1;
            rows[i] = x + at;
            targets[i] = (struct NAME(target)){.y = above ? top + row : y + at,
                                               .f = above || f == NULL || b == 0 ? NULL : f + at,
                                               .b = (REAL)b,
                                               .add = (n2 > 1 && i / n1 == 0 && !is_first) ||
                                                      (n1 > 1 && i % n1 == 0 && c1 > 0) || p1 >= v->nodes[1]};
        }
        const int64_t row = ((int64_t)layer * v->cells[1] + c1) * v->cells[0];
        NAME(any_row)(t, a, row, c1, layer, rows, targets);
        for (int i = 0; i < n1 * n2; i++) {
            const int64_t p2 = (int64_t)layer * (n2 - 1) + i / n1, p1 = (int64_t)c1 * (n1 - 1) + i % n1;
            const int fixed = (v->fixed[1][0] && p1 == 0) || (v->fixed[1][1] && p1 == v->nodes[1] - 1) ||
                              (v->fixed[2][0] && p2 == 0) || (v->fixed[2][1] && p2 == v->nodes[2] - 1);
            NAME(end_row)(v, t->carry[i], &targets[i], fixed);
        }
    }
}

static void NAME(cells_begin)(const struct brick_view *v, REAL *scratch, struct NAME(cells) * t) {
    *t = (struct NAME(cells)){.v = v, .volume = (LANE *)scratch, .carry = scratch + volume_numbers(v)};
    for (int d = 0; d < 3; d++) {
        const struct brick_element_layout at = brick_element_layout(v->element[d]->k);
        t->F[d] = v->element[d]->TABLE + at.F;
        t->B[d] = v->element[d]->TABLE + at.B;
        t->e[d] = v->element[d]->TABLE + at.eigenvalues;
    }
}

/* The last plane of nodes of a thread's layers is the first of the next thread's: it waits in scratch. */
void NAME(brick_apply)(const struct brick_cells *c, double a, const REAL *x, double b, const REAL *f, REAL *y,
                       REAL *scratch) {
    const struct brick_view v = brick_view(c);
    const int64_t own = brick_thread_scratch(c), plane = v.nodes[0] * v.nodes[1];
    const int layers = v.cells[2], all = base_threads(), threads = all < layers ? all : layers;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const int self = omp_get_thread_num(), crew = omp_get_num_threads();
        struct NAME(cells) t;
        NAME(cells_begin)(&v, scratch + self * own, &t);
        const int begin = (int)((int64_t)layers * self / crew),
                  end = (int)((int64_t)layers * (self + 1) / crew);
        REAL *top = scratch + self * own + own - brick_whole_lanes(plane);
        for (int layer = begin; layer < end; layer++) {
            const int leaves = layer + 1 == end && (end < layers || v.periodic[2]);
            NAME(apply_layer)(&t, layer, layer == begin, a, x, b, f, y, leaves ? top : NULL);
        }
#pragma omp barrier
        if (self > 0 || v.periodic[2]) {
            const REAL *from = scratch + ((self + crew - 1) % crew + 1) * own - brick_whole_lanes(plane);
            REAL *to = y + (int64_t)begin * (v.n[2] - 1) * plane;
            for (int64_t i = 0; i < plane; i++) to[i] += from[i];
        }
    }
}
