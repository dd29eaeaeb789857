/* The diagonal of the operator for numbers of type REAL: brick_cells.c includes this once for each precision. */
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
