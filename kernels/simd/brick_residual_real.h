/* The other ways to the residual of a batch of patches, for numbers of type REAL: from A x of their cells, or
 * from a vector; and what is added to x then. brick.c includes this once for each precision, after
 * brick_patch_real.h. */
#include "kernels/simd/brick_patch_real.h"

/* One cell of each patch of the batch: which one in direction 0 for each lane, and its coefficients. */
struct NAME(patch_cell) {
    int32_t cell0[L];
    int cell1, cell2;
    LANE k, lambda, h0;
    REAL h1, h2;
};

static void NAME(set_cell)(const struct brick_patches *p, const struct NAME(batch) * t, const int s[3],
                           struct NAME(patch_cell) * q) {
    const struct brick_cells *c = p->cells;
    q->cell1 = NAME(wrap)(p->axis[1].cell[t->column1] + s[1], c->cells[1]);
    q->cell2 = NAME(wrap)(p->axis[2].cell[t->column2] + s[2], c->cells[2]);
    q->h1 = (REAL)c->widths[1][q->cell1];
    q->h2 = (REAL)c->widths[2][q->cell2];
    for (int w = 0; w < L; w++) {
        q->cell0[w] = NAME(wrap)(p->axis[0].cell[t->column[w]] + s[0], c->cells[0]);
        const int cell[3] = {q->cell0[w], q->cell1, q->cell2};
        q->h0[w] = (REAL)c->widths[0][cell[0]];
        q->k[w] = (REAL)brick_conductivity(c, cell);
        q->lambda[w] = (REAL)brick_reaction(c, cell);
    }
}

/* Where the nodes of a cell of the patch lie among those free: the first node, and which of 0 .. n - 1 are.
 * On a direction of one periodic cell the last node is the first. */
struct NAME(range) {
    int shift, first, last, ring;
};
static struct NAME(range)
    NAME(free_range)(const struct brick_patches *p, const struct NAME(batch) * t, int d, int column, int s) {
    const struct brick_axis *ax = &p->axis[d];
    const int k = p->cells->element[d].k, m = t->m[d];
    struct NAME(range) r = {.shift = (ax->cell[column] + s) * k - ax->first[column]};
    r.ring = ax->periodic && ax->cells[column] == 1;
    r.first = r.shift < 0 ? -r.shift : 0;
    r.last = r.shift + k < m || r.ring ? k : m - 1 - r.shift;
    return r;
}

/* x of the cell into modes, times the cell's matrix there, and back. */
static void NAME(cell_matrix)(const struct brick_patches *p, const struct NAME(batch) * t,
                              const struct NAME(patch_cell) * q) {
    const struct brick_element *e = p->cells->element;
    int n[3];
    const REAL *F[3], *B[3], *value[3];
    for (int d = 0; d < 3; d++) {
        const struct brick_element_layout at = brick_element_layout(e[d].k);
        n[d] = e[d].k + 1;
        F[d] = e[d].TABLE + at.F;
        B[d] = e[d].TABLE + at.B;
        value[d] = e[d].TABLE + at.eigenvalues;
    }
    const int64_t plane = (int64_t)n[0] * n[1], all = plane * n[2];
    LANE *x = t->cell;
    const LANE volume = q->h0 * (q->h1 * q->h2), k = volume * q->k, g = volume * q->lambda,
               g0 = k / (q->h0 * q->h0), g1 = k / (q->h1 * q->h1), g2 = k / (q->h2 * q->h2);
    NAME(all_to_modes)(n[0], (n[0] + 1) / 2, F[0], plane / n[0] * n[2], n[0], 1, x, n[0], 1, x);
    for (int c = 0; c < n[2] && n[1] > 1; c++)
        NAME(all_to_modes)(n[1], (n[1] + 1) / 2, F[1], n[0], 1, n[0], x + c * plane, 1, n[0], x + c * plane);
    if (n[2] > 1) NAME(all_to_modes)(n[2], (n[2] + 1) / 2, F[2], plane, 1, plane, x, 1, plane, x);
    for (int64_t i = 0; i < all; i += n[0]) {
        const LANE base = g + g1 * value[1][i / n[0] % n[1]] + g2 * value[2][i / plane];
        for (int a = 0; a < n[0]; a++) x[i + a] *= base + g0 * value[0][a];
    }
    if (n[2] > 1) NAME(all_to_nodes)(n[2], (n[2] + 1) / 2, B[2], plane, 1, plane, x, x);
    for (int c = 0; c < n[2] && n[1] > 1; c++)
        NAME(all_to_nodes)(n[1], (n[1] + 1) / 2, B[1], n[0], 1, n[0], x + c * plane, x + c * plane);
    NAME(all_to_nodes)(n[0], (n[0] + 1) / 2, B[0], plane / n[0] * n[2], n[0], 1, x, x);
}

/* x on one cell of each patch. */
static void NAME(gather_cell)(const struct brick_patches *p, const struct NAME(batch) * t,
                              const struct NAME(patch_cell) * q, const REAL *x) {
    const struct brick_cells *c = p->cells;
    const int k0 = c->element[0].k, k1 = c->element[1].k, k2 = c->element[2].k;
    const int64_t nx = c->n_nodes[0], ny = c->n_nodes[1];
    LANE *cell = t->cell;
    for (int j2 = 0; j2 <= k2; j2++)
        for (int j1 = 0; j1 <= k1; j1++) {
            const int64_t y = (q->cell1 * k1 + j1) % ny, z = (q->cell2 * k2 + j2) % c->n_nodes[2];
            const REAL *row = x + (z * ny + y) * nx;
            for (int j0 = 0; j0 <= k0; j0++, cell++)
                for (int w = 0; w < L; w++) {
                    const int64_t at = (int64_t)q->cell0[w] * k0 + j0;
                    (*cell)[w] = row[at == nx ? 0 : at];
                }
        }
}

/* The free nodes of one cell of each patch. */
struct NAME(piece) {
    struct NAME(range) r0, r1, r2;
};
static struct NAME(piece)
    NAME(piece_of)(const struct brick_patches *p, const struct NAME(batch) * t, const int s[3]) {
    return (struct NAME(piece)){NAME(free_range)(p, t, 0, t->column[0], s[0]),
                                NAME(free_range)(p, t, 1, t->column1, s[1]),
                                NAME(free_range)(p, t, 2, t->column2, s[2])};
}
/* Where row (j1, j2) of the cell lies in an array of the patch's free nodes. */
INLINE int64_t NAME(piece_row)(const struct NAME(batch) * t, const struct NAME(piece) * f, int j1, int j2) {
    const int b = f->r1.ring ? j1 % t->m[1] : f->r1.shift + j1,
              c = f->r2.ring ? j2 % t->m[2] : f->r2.shift + j2;
    return ((int64_t)c * t->m[1] + b) * t->m[0];
}

/* The cell's part of d, which is zero but on the free nodes. */
static void NAME(copy_cell)(const struct brick_patches *p, const struct NAME(batch) * t, const int s[3],
                            const LANE *d) {
    const struct brick_element *e = p->cells->element;
    const int n0 = e[0].k + 1, n1 = e[1].k + 1, n2 = e[2].k + 1;
    const struct NAME(piece) f = NAME(piece_of)(p, t, s);
    LANE *cell = t->cell;
    for (int j2 = 0; j2 < n2; j2++)
        for (int j1 = 0; j1 < n1; j1++, cell += n0) {
            for (int j0 = 0; j0 < n0; j0++) cell[j0] = (LANE){0};
            if (j2 < f.r2.first || j2 > f.r2.last || j1 < f.r1.first || j1 > f.r1.last) continue;
            const LANE *row = d + NAME(piece_row)(t, &f, j1, j2);
            for (int j0 = f.r0.first; j0 <= f.r0.last; j0++)
                cell[j0] = row[f.r0.ring ? j0 % t->m[0] : f.r0.shift + j0];
        }
}

/* r -= A x from one cell of each patch, x being in `cell`. */
static void NAME(subtract_cell)(const struct brick_patches *p, const struct NAME(batch) * t, const int s[3],
                                const struct NAME(patch_cell) * q, LANE *r) {
    const int n0 = p->cells->element[0].k + 1, n1 = p->cells->element[1].k + 1;
    const struct NAME(piece) f = NAME(piece_of)(p, t, s);
    NAME(cell_matrix)(p, t, q);
    for (int j2 = f.r2.first; j2 <= f.r2.last; j2++)
        for (int j1 = f.r1.first; j1 <= f.r1.last; j1++) {
            LANE *to = r + NAME(piece_row)(t, &f, j1, j2);
            const LANE *from = t->cell + ((int64_t)j2 * n1 + j1) * n0;
            for (int j0 = f.r0.first; j0 <= f.r0.last; j0++)
                to[f.r0.ring ? j0 % t->m[0] : f.r0.shift + j0] -= from[j0];
        }
}

/* r -= A d, where d is zero but on the free nodes. */
static void NAME(subtract_product)(const struct brick_patches *p, const struct NAME(batch) * t, const LANE *d,
                                   LANE *r) {
    int s[3];
    for (s[2] = 0; s[2] < p->axis[2].cells[t->column2]; s[2]++)
        for (s[1] = 0; s[1] < p->axis[1].cells[t->column1]; s[1]++)
            for (s[0] = 0; s[0] < p->axis[0].cells[t->column[0]]; s[0]++) {
                struct NAME(patch_cell) q;
                NAME(set_cell)(p, t, s, &q);
                NAME(copy_cell)(p, t, s, d);
                NAME(subtract_cell)(p, t, s, &q, r);
            }
}

/* The coefficients of an approximate patch, over its cells: sums weighted by volume, least and largest. */
struct NAME(extent) {
    LANE sum_k, sum_lambda;
    REAL k[2][L], lambda[2][L];
};
static void NAME(extend)(const struct NAME(patch_cell) * q, int first, struct NAME(extent) * e) {
    const LANE V = q->h0 * (q->h1 * q->h2);
    e->sum_k += V * q->k;
    e->sum_lambda += V * q->lambda;
    for (int w = 0; w < L; w++) {
        const REAL k = q->k[w], lambda = q->lambda[w];
        e->k[0][w] = first || k < e->k[0][w] ? k : e->k[0][w];
        e->k[1][w] = first || k > e->k[1][w] ? k : e->k[1][w];
        e->lambda[0][w] = first || lambda < e->lambda[0][w] ? lambda : e->lambda[0][w];
        e->lambda[1][w] = first || lambda > e->lambda[1][w] ? lambda : e->lambda[1][w];
    }
}
static void NAME(set_coefficients)(const struct NAME(extent) * e, struct NAME(batch) * t) {
    t->ratio = e->sum_lambda / e->sum_k;
    if (t->inner == 0) return;
    for (int w = 0; w < L; w++) {
        const REAL k = e->k[1][w], lambda = e->lambda[1][w];
        t->largest[w] = k;
        t->least[w] = e->k[0][w] / k;
        t->ratio[w] = lambda / k;
        if (lambda > 0 && e->lambda[0][w] < t->least[w] * lambda) t->least[w] = e->lambda[0][w] / lambda;
    }
}

/* Loads or residuals of the free nodes from a vector; with x, A x is taken off. Approximate patches get their
 * coefficients. */
static void NAME(load_batch)(const struct brick_patches *p, struct NAME(batch) * t, const REAL *from,
                             const REAL *x) {
    const int m0 = t->m[0], m1 = t->m[1], m2 = t->m[2], nx = p->axis[0].n_nodes;
    const int y0 = p->axis[1].first[t->column1], z0 = p->axis[2].first[t->column2];
    struct NAME(extent) extent = {.sum_k = {0}};
    for (int c = 0; c < m2; c++)
        for (int b = 0; b < m1; b++) NAME(gather_row)
    (t, nx, 0, m0, from + NAME(free_row)(p, y0, z0, b, c), t->volume + ((int64_t)c * m1 + b) * m0);
    if (x == NULL && !t->approximate) return;
    int s[3];
    for (s[2] = 0; s[2] < p->axis[2].cells[t->column2]; s[2]++)
        for (s[1] = 0; s[1] < p->axis[1].cells[t->column1]; s[1]++)
            for (s[0] = 0; s[0] < p->axis[0].cells[t->column[0]]; s[0]++) {
                struct NAME(patch_cell) q;
                NAME(set_cell)(p, t, s, &q);
                if (t->approximate) NAME(extend)(&q, s[0] + s[1] + s[2] == 0, &extent);
                if (x == NULL) continue;
                NAME(gather_cell)(p, t, &q, x);
                NAME(subtract_cell)(p, t, s, &q, t->volume);
            }
    if (t->approximate) NAME(set_coefficients)(&extent, t);
}

static void NAME(store_batch)(const struct brick_patches *p, const struct NAME(batch) * t, REAL *to) {
    const int y0 = p->axis[1].first[t->column1], z0 = p->axis[2].first[t->column2];
    for (int c = 0; c < t->m[2]; c++)
        for (int b = 0; b < t->m[1]; b++) NAME(scatter_row)
    (t, p->axis[0].n_nodes, t->m[0], t->volume + ((int64_t)c * t->m[1] + b) * t->m[0],
     to + NAME(free_row)(p, y0, z0, b, c));
}

/* One over the number of columns in which free node a of a column is free; neighbours are all that matter. */
static REAL NAME(share)(const struct brick_patches *p, int d, int column, int a) {
    const struct brick_axis *ax = &p->axis[d];
    const int node = NAME(wrap)(ax->first[column] + a, ax->n_nodes), n = ax->n_columns;
    int count = 1, others[2] = {column - 1, column + 1};
    if (ax->periodic)
        for (int s = 0; s < 2; s++) others[s] = NAME(wrap)(others[s], n);
    for (int s = 0; s < 2; s++) {
        const int other = others[s];
        if (other < 0 || other >= n || other == column || (s == 1 && other == others[0])) continue;
        int place = node - ax->first[other];
        if (ax->periodic) place = (place % ax->n_nodes + ax->n_nodes) % ax->n_nodes;
        count += place >= 0 && place < p->lines[ax->lines[other]].m;
    }
    return (REAL)1 / (REAL)count;
}

/* The volume times s at the nodes. */
static void NAME(scale_volume)(const struct brick_patches *p, const struct NAME(batch) * t) {
    const int m0 = t->m[0], m1 = t->m[1];
    const int y0 = p->axis[1].first[t->column1], z0 = p->axis[2].first[t->column2];
    LANE row[BRICK_MAX_FREE];
    for (int c = 0; c < t->m[2]; c++)
        for (int b = 0; b < m1; b++) {
            LANE *at = t->volume + ((int64_t)c * m1 + b) * m0;
            NAME(gather_row)
            (t, p->axis[0].n_nodes, 0, m0, p->SCALE + NAME(free_row)(p, y0, z0, b, c), row);
            for (int a = 0; a < m0; a++) at[a] *= row[a];
        }
}

/* The volume, by the inverse of the separable matrix. */
static void NAME(solve_volume)(struct NAME(batch) * t) {
    const int m0 = t->m[0], m1 = t->m[1], m2 = t->m[2];
    const int64_t plane = (int64_t)m0 * m1;
    for (int c = 0; c < m2; c++) {
        LANE *at = t->volume + c * plane;
        NAME(all_to_modes)(m0, t->line[0]->even, t->table[0] + t->at[0].F, m1, m0, 1, at, m0, 1, at);
        NAME(all_to_modes)(m1, t->line[1]->even, t->table[1] + t->at[1].F, m0, 1, m0, at, 1, m0, at);
    }
    NAME(solve_lines)(t);
    for (int c = 0; c < m2; c++) {
        LANE *at = t->volume + c * plane;
        NAME(all_to_nodes)(m1, t->line[1]->even, t->table[1] + t->at[1].B, m0, 1, m0, at, at);
        NAME(all_to_nodes)(m0, t->line[0]->even, t->table[0] + t->at[0].B, m1, m0, 1, at, at);
    }
}

/* Chebyshev's iteration of kernels/brick.h: the volume goes from residuals to corrections. */
static void NAME(iterate_volume)(const struct brick_patches *p, struct NAME(batch) * t) {
    const int64_t size = (int64_t)t->m[0] * t->m[1] * t->m[2];
    LANE *z = t->volume, *r = t->residual, *d = t->step, *sum = t->result, low;
    int exact = 1;
    for (int w = 0; w < L; w++) {
        low[w] = (REAL)brick_chebyshev_low(t->least[w]);
        exact &= t->least[w] >= 1;
    }
    const LANE theta = (1 + low) / 2, delta = (1 - low) / 2;
    LANE rho = delta / theta, alpha = 1 / (theta * t->largest), beta = {0};
    const int steps = exact ? 1 : t->inner;
    for (int64_t i = 0; i < size && steps > 1; i++) {
        r[i] = z[i];
        d[i] = sum[i] = (LANE){0};
    }
    for (int step = 1; step < steps; step++) {
        NAME(solve_volume)(t);
        for (int64_t i = 0; i < size; i++) {
            d[i] = alpha * z[i] + beta * d[i];
            sum[i] += d[i];
        }
        NAME(subtract_product)(p, t, d, r);
        for (int64_t i = 0; i < size; i++) z[i] = r[i];
        const LANE over = 1 / (2 * theta - rho * delta);
        alpha = 2 * over / t->largest;
        beta = over * delta * rho;
        rho = over * delta;
    }
    NAME(solve_volume)(t);
    for (int64_t i = 0; i < size; i++) z[i] = steps > 1 ? sum[i] + alpha * z[i] + beta * d[i] : alpha * z[i];
}

/* Solves for the residuals in the volume and adds the result to x, weighted or not. */
static void NAME(correct_batch)(const struct brick_patches *p, struct NAME(batch) * t, int weighted,
                                REAL *x) {
    const int m0 = t->m[0], m1 = t->m[1], m2 = t->m[2], nx = p->axis[0].n_nodes;
    const int y0 = p->axis[1].first[t->column1], z0 = p->axis[2].first[t->column2];
    const int scaled = t->approximate && t->inner == 0;
    LANE share[BRICK_MAX_FREE] = {{0}}, row[BRICK_MAX_FREE];
    if (!t->divides) NAME(set_inverse)(t);
    for (int a = 0; a < m0 && weighted; a++)
        for (int w = 0; w < L; w++) share[a][w] = NAME(share)(p, 0, t->column[w], a);
    if (scaled) NAME(scale_volume)(p, t);
    if (t->inner > 0)
        NAME(iterate_volume)(p, t);
    else
        NAME(solve_volume)(t);
    if (scaled) NAME(scale_volume)(p, t);
    for (int c = 0; c < m2; c++)
        for (int b = 0; b < m1; b++) {
            REAL *to = x + NAME(free_row)(p, y0, z0, b, c);
            LANE *from = t->volume + ((int64_t)c * m1 + b) * m0;
            REAL weight = weighted || scaled ? (REAL)p->damping : 1;
            if (weighted) {
                weight *= NAME(share)(p, 1, t->column1, b) * NAME(share)(p, 2, t->column2, c);
                for (int a = 0; a < m0; a++) from[a] *= share[a];
            }
            NAME(gather_row)(t, nx, 0, m0, to, row);
            for (int a = 0; a < m0; a++) row[a] += weight * from[a];
            NAME(scatter_row)(t, nx, m0, row, to);
        }
}
