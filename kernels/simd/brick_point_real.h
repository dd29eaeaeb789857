/* The diagonal of the operator and point Gauss-Seidel for numbers of type REAL: brick_cells.c includes this
 * once for each precision.
 *
 * Gauss-Seidel goes from row to row of nodes. What the other rows contribute to a row is summed first, with
 * weights that belong to whole rows,
 *
 *     u = sum_j M1_ij M2_ij x_j,   v = sum_j (A1_ij M2_ij + M1_ij A2_ij) x_j,
 *
 * for each of the (up to four) cells around the row, and then combined along the row by M0 and A0; along the
 * row itself nodes follow one another. 8 (k + 1)^2 operations a node. */
#include "kernels/simd/brick_cells_real.h"

/* The cells around a node of one direction, and which node of them it is. */
struct NAME(around) {
    int count, cell[2], local[2];
};

static struct NAME(around) NAME(around)(const struct brick_view *v, int d, int64_t node) {
    const int k = (int)v->n[d] - 1;
    struct NAME(around) a = {1, {0, 0}, {0, 0}};
    if (k == 0) return a;
    const int cell = (int)(node / k), local = (int)(node % k);
    a.count = 0;
    if (local == 0 && (cell > 0 || v->periodic[d])) {
        a.cell[0] = cell > 0 ? cell - 1 : v->cells[d] - 1;
        a.local[a.count++] = k;
    }
    if (cell < v->cells[d]) {
        a.cell[a.count] = cell;
        a.local[a.count++] = local;
    }
    return a;
}

/* Entries (i, j) of a cell's mass and stiffness in one direction. */
INLINE REAL NAME(mass)(const struct brick_view *v, int d, int cell, int i, int j) {
    return (REAL)v->widths[d][cell] * v->element[d]->TABLE[i * v->n[d] + j];
}
INLINE REAL NAME(stiffness)(const struct brick_view *v, int d, int cell, int i, int j) {
    const int64_t n = v->n[d];
    return v->element[d]->TABLE[n * n + i * n + j] / (REAL)v->widths[d][cell];
}

INLINE int64_t NAME(cell_of)(const struct brick_view *v, int c0, int c1, int c2) {
    return ((int64_t)c2 * v->cells[1] + c1) * v->cells[0] + c0;
}
INLINE REAL NAME(k_of)(const struct brick_view *v, int64_t cell) {
    return (REAL)(v->conductivity != NULL ? v->conductivity[cell] : v->k);
}
INLINE REAL NAME(lambda_of)(const struct brick_view *v, int64_t cell) {
    return (REAL)(v->reaction != NULL ? v->reaction[cell] : v->lambda);
}

INLINE int NAME(end_is_fixed)(const struct brick_view *v, int d, int64_t node) {
    return (v->fixed[d][0] && node == 0) || (v->fixed[d][1] && node == v->nodes[d] - 1);
}

/* ------------------------------------------------------------------------------ one row of nodes */

/* The equations of row (p1, p2). The row's own part is alpha M0 + beta A0 on each of its cells, the
 * contribution of the others lies in `rest`. */
struct NAME(row) {
    const struct brick_view *v;
    REAL *u, *v_, *rest; /* by nodes of the row */
    REAL *alpha, *beta;  /* by cells of the row */
    int64_t first, last; /* the nodes to be worked on */
};

/* Adds the cell row (c1, c2), in which the row of nodes is number (i1, i2). */
static void NAME(add_cells)(struct NAME(row) * t, int c1, int i1, int c2, int i2, int64_t self,
                            const REAL *x) {
    const struct brick_view *v = t->v;
    const int64_t n = v->nodes[0], n0 = v->n[0];
    const int k0 = (int)n0 - 1;
    REAL own_u = 0, own_v = 0;
    if (x != NULL)
        for (int64_t i = 0; i < n; i++) t->u[i] = t->v_[i] = 0;
    for (int j2 = 0; j2 < v->n[2]; j2++)
        for (int j1 = 0; j1 < v->n[1]; j1++) {
            const REAL M1 = NAME(mass)(v, 1, c1, i1, j1), M2 = NAME(mass)(v, 2, c2, i2, j2);
            const REAL a = M1 * M2,
                       b = NAME(stiffness)(v, 1, c1, i1, j1) * M2 + M1 * NAME(stiffness)(v, 2, c2, i2, j2);
            const int64_t row = (c2 * (v->n[2] - 1) + j2) % v->nodes[2] * v->nodes[1] +
                                (c1 * (v->n[1] - 1) + j1) % v->nodes[1];
            if (row == self) {
                own_u += a;
                own_v += b;
            } else if (x != NULL) {
                const REAL *restrict from = x + row * n;
                REAL *restrict to_u = t->u, *restrict to_v = t->v_;
                for (int64_t i = 0; i < n; i++) {
                    to_u[i] += a * from[i];
                    to_v[i] += b * from[i];
                }
            }
        }
    for (int c0 = 0; c0 < v->cells[0]; c0++) {
        const int64_t cell = NAME(cell_of)(v, c0, c1, c2), left = (int64_t)c0 * k0;
        const REAL k = NAME(k_of)(v, cell), lambda = NAME(lambda_of)(v, cell), h = (REAL)v->widths[0][c0];
        const REAL *M = v->element[0]->TABLE, *A = M + n0 * n0;
        t->alpha[c0] += h * (lambda * own_u + k * own_v);
        t->beta[c0] += k / h * own_u;
        if (x == NULL || (!v->periodic[0] && (left > t->last || left + k0 < t->first))) continue;
        for (int i = 0; i < n0; i++) {
            REAL sum = 0;
            for (int j = 0; j < n0; j++) {
                const int64_t at = (left + j) % n;
                sum += h * M[i * n0 + j] * (lambda * t->u[at] + k * t->v_[at]) +
                       k / h * A[i * n0 + j] * t->u[at];
            }
            t->rest[(left + i) % n] += sum;
        }
    }
}

static void NAME(sum_row)(struct NAME(row) * t, int64_t p1, int64_t p2, const REAL *x) {
    const struct brick_view *v = t->v;
    const struct NAME(around) a1 = NAME(around)(v, 1, p1), a2 = NAME(around)(v, 2, p2);
    for (int64_t i = 0; i < v->nodes[0]; i++) t->rest[i] = 0;
    for (int i = 0; i < v->cells[0]; i++) t->alpha[i] = t->beta[i] = 0;
    for (int s2 = 0; s2 < a2.count; s2++)
        for (int s1 = 0; s1 < a1.count; s1++) NAME(add_cells)
    (t, a1.cell[s1], a1.local[s1], a2.cell[s2], a2.local[s2], p2 * v->nodes[1] + p1, x);
}

/* The row's own part of the equation of one node, without its own column, which is added to *diagonal. */
static REAL NAME(own_part)(const struct NAME(row) * t, int64_t node, const REAL *row, REAL *diagonal) {
    const struct brick_view *v = t->v;
    const struct NAME(around) a = NAME(around)(v, 0, node);
    const int64_t n0 = v->n[0];
    REAL sum = 0;
    *diagonal = 0;
    for (int s = 0; s < a.count; s++) {
        const REAL *M = v->element[0]->TABLE + a.local[s] * n0, *A = M + n0 * n0;
        for (int j = 0; j < n0; j++) {
            const REAL entry = t->alpha[a.cell[s]] * M[j] + t->beta[a.cell[s]] * A[j];
            const int64_t at = (a.cell[s] * (n0 - 1) + j) % v->nodes[0];
            if (at == node)
                *diagonal += entry;
            else if (row != NULL)
                sum += entry * row[at];
        }
    }
    return sum;
}

static void NAME(row_begin)(const struct brick_view *v, REAL *scratch, struct NAME(row) * t) {
    const int64_t n = brick_whole_lanes(v->nodes[0]);
    *t = (struct NAME(row)){.v = v, .u = scratch, .v_ = scratch + n, .rest = scratch + 2 * n};
    t->alpha = scratch + 3 * n;
    t->beta = t->alpha + brick_whole_lanes(v->cells[0]);
    t->last = v->nodes[0] - 1;
}

/* ------------------------------------------------------------------------------ the kernels */

/* Mass and stiffness of a cell of width 1 between a node and itself: also around a period of one cell. */
static void NAME(self)(const struct brick_view *v, int d, int i, REAL self[2]) {
    const int64_t n = v->n[d];
    self[0] = self[1] = 0;
    for (int64_t j = 0; j < n; j++)
        if ((j - i) % v->nodes[d] == 0) {
            self[0] += v->element[d]->TABLE[i * n + j];
            self[1] += v->element[d]->TABLE[n * n + i * n + j];
        }
}

/* Adds what the cell row (c1, c2) gives to a row of nodes, which is number (i1, i2) in it; self0: of
 * direction 0. */
static void NAME(add_diagonal)(const struct brick_view *v, int c1, int i1, int c2, int i2,
                               const REAL (*self0)[2], REAL *row) {
    const REAL h1 = (REAL)v->widths[1][c1], h2 = (REAL)v->widths[2][c2];
    const int64_t k0 = v->n[0] - 1;
    REAL self1[2], self2[2];
    NAME(self)(v, 1, i1, self1);
    NAME(self)(v, 2, i2, self2);
    const REAL own_u = h1 * self1[0] * h2 * self2[0],
               own_v = self1[1] / h1 * h2 * self2[0] + h1 * self1[0] * self2[1] / h2;
    for (int c0 = 0; c0 < v->cells[0]; c0++) {
        const int64_t cell = NAME(cell_of)(v, c0, c1, c2), left = c0 * k0;
        const REAL k = NAME(k_of)(v, cell), h = (REAL)v->widths[0][c0];
        const REAL alpha = h * (NAME(lambda_of)(v, cell) * own_u + k * own_v), beta = k / h * own_u;
        for (int64_t i = 0; i < k0; i++) row[left + i] += alpha * self0[i][0] + beta * self0[i][1];
        const int64_t last = k0 == 0 || left + k0 < v->nodes[0] ? left + k0 : 0;
        row[last] += alpha * self0[k0][0] + beta * self0[k0][1];
    }
}

void NAME(brick_diagonal)(const struct brick_cells *c, REAL *diagonal) {
    const struct brick_view v = brick_view(c);
    const int64_t n = v.nodes[0], n_rows = v.nodes[1] * v.nodes[2];
    REAL self0[BRICK_MAX_DEGREE + 1][2];
    for (int i = 0; i < v.n[0]; i++) NAME(self)(&v, 0, i, self0[i]);
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (n_rows > 64)
    for (int64_t r = 0; r < n_rows; r++) {
        const int64_t p1 = r % v.nodes[1], p2 = r / v.nodes[1];
        const int fixed = NAME(end_is_fixed)(&v, 1, p1) || NAME(end_is_fixed)(&v, 2, p2);
        const struct NAME(around) a1 = NAME(around)(&v, 1, p1), a2 = NAME(around)(&v, 2, p2);
        REAL *row = diagonal + r * n;
        for (int64_t i = 0; i < n; i++) row[i] = fixed;
        if (fixed) continue;
        for (int s2 = 0; s2 < a2.count; s2++)
            for (int s1 = 0; s1 < a1.count; s1++) NAME(add_diagonal)
        (&v, a1.cell[s1], a1.local[s1], a2.cell[s2], a2.local[s2], (const REAL(*)[2])self0, row);
        if (v.fixed[0][0]) row[0] = 1;
        if (v.fixed[0][1]) row[n - 1] = 1;
    }
}

/* The free nodes of one layer, whose ends are given for every direction. */
static void NAME(point_layer)(struct NAME(row) * t, const int64_t first[3], const int64_t last[3],
                              int backward, const REAL *b, REAL *x) {
    const struct brick_view *v = t->v;
    t->first = first[0];
    t->last = last[0];
    const int64_t n1 = last[1] - first[1] + 1, n2 = last[2] - first[2] + 1, n0 = last[0] - first[0] + 1;
    for (int64_t step = 0; step < n1 * n2; step++) {
        const int64_t at = backward ? n1 * n2 - 1 - step : step, p1 = first[1] + at % n1,
                      p2 = first[2] + at / n1;
        if (NAME(end_is_fixed)(v, 1, p1) || NAME(end_is_fixed)(v, 2, p2)) continue;
        const int64_t begin = (p2 * v->nodes[1] + p1) * v->nodes[0];
        REAL *row = x + begin;
        NAME(sum_row)(t, p1, p2, x);
        for (int64_t i = 0; i < n0; i++) {
            const int64_t p0 = backward ? last[0] - i : first[0] + i;
            REAL diagonal;
            if (NAME(end_is_fixed)(v, 0, p0)) continue;
            const REAL own = NAME(own_part)(t, p0, row, &diagonal);
            row[p0] = (b[begin + p0] - t->rest[p0] - own) / diagonal;
        }
    }
}

void NAME(point_sweep)(const struct brick_cells *c, int backward, const REAL *b, REAL *x, REAL *scratch) {
    const struct brick_view v = brick_view(c);
    const int d = v.cells[2] > 1 ? 2 : v.cells[1] > 1 ? 1 : 0, layers = v.cells[d], k = (int)v.n[d] - 1;
    const int single = v.periodic[d] && layers > 1 && layers % 2 == 1, threads = base_threads();
#pragma omp parallel num_threads(threads) if (threads > 1 && layers > 3)
    {
        const int self = omp_get_thread_num();
        struct NAME(row) t;
        NAME(row_begin)(&v, scratch + self * point_numbers(&v), &t);
        for (int step = 0; step < 3; step++) {
            const int colour = backward ? 2 - step : step;
#pragma omp for schedule(static)
            for (int layer = 0; layer < layers; layer++) {
                if ((single && layer == layers - 1 ? 2 : layer % 2) != colour) continue;
                int64_t first[3] = {0, 0, 0}, last[3] = {v.nodes[0] - 1, v.nodes[1] - 1, v.nodes[2] - 1};
                first[d] = (int64_t)layer * k;
                if (layer < layers - 1) last[d] = first[d] + k - 1;
                NAME(point_layer)(&t, first, last, backward, b, x);
            }
        }
    }
}
