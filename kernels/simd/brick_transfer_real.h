/* Transfers between bricks for numbers of type REAL: brick_transfer.c includes this once for each precision.
 *
 * Prolongation works from the coarse side, direction 2 first, so that the largest product comes last and its
 * result is added to the fine row at once; restriction is the same backwards. Directions 1 and 2 combine
 * whole rows; in direction 0 eight coarse cells are the lanes. */

static const REAL NAME(identity)[1] = {1};

static const REAL *NAME(table)(const struct brick_transfer_axis *ax, int table) {
    return ax->refined ? ax->TABLES + (int64_t)table * (ax->r + 1) * (ax->k + 1) : NAME(identity);
}

/* out row i = sum_j E(i, j) in row j over `length` numbers, E(i, j) = E[i*row + j*column]. */
static void NAME(combine)(int n_out, int n_in, const REAL *E, int row, int column, const REAL *const *in,
                          int64_t length, REAL *const *out) {
    for (int64_t at = 0; at < length; at += L) {
        const int n = length - at < L ? (int)(length - at) : L;
        LANE x[2 * BRICK_MAX_DEGREE + 1];
        for (int j = 0; j < n_in; j++) x[j] = LANES(load)(n, in[j] + at);
        for (int i = 0; i < n_out; i++) {
            LANE sum = E[i * row] * x[0];
            for (int j = 1; j < n_in; j++) sum += E[i * row + j * column] * x[j];
            LANES(store)(n, out[i] + at, sum);
        }
    }
}

/* ------------------------------------------------------------------------------ direction 0 */

/* count numbers of each of n_lanes rows, `step` apart, as lanes; and back, added to what is there or not. */
INLINE void NAME(rows_to_lanes)(int count, int n_lanes, int64_t step, const REAL *from, LANE *to) {
    for (int i = 0; i < count; i += L) {
        LANE rows[L];
        for (int w = 0; w < L; w++)
            rows[w] = w < n_lanes ? LANES(load)(count - i, from + w * step + i) : (LANE){0};
        LANES(transpose)(rows);
        for (int j = 0; j < L && i + j < count; j++) to[i + j] = rows[j];
    }
}
INLINE void NAME(lanes_to_rows)(int count, int n_lanes, int64_t step, int add, const LANE *from, REAL *to) {
    for (int i = 0; i < count; i += L) {
        LANE rows[L];
        for (int j = 0; j < L; j++) rows[j] = i + j < count ? from[i + j] : (LANE){0};
        LANES(transpose)(rows);
        for (int w = 0; w < n_lanes; w++) {
            REAL *at = to + w * step + i;
            LANES(store)(count - i, at, add ? rows[w] + LANES(load)(count - i, at) : rows[w]);
        }
    }
}

/* How many of the next eight cells share one table. */
static int NAME(same_tables)(const struct brick_transfer_axis *ax, int cell) {
    int n = 1;
    while (n < L && cell + n < ax->n_cells && ax->which[cell + n] == ax->which[cell]) n++;
    return n;
}

/* fine row += E coarse row */
INLINE void NAME(prolong_row)(const int k, const int r, const struct brick_transfer_axis *ax,
                              const REAL *coarse, REAL *fine) {
    for (int cell = 0, n_lanes; cell < ax->n_cells; cell += n_lanes) {
        LANE x[BRICK_MAX_DEGREE + 1], y[2 * BRICK_MAX_DEGREE + 1];
        n_lanes = NAME(same_tables)(ax, cell);
        const REAL *E = NAME(table)(ax, ax->which[cell]), *from = coarse + (int64_t)cell * k;
        const int right = (cell + n_lanes) * k;
        NAME(rows_to_lanes)(k, n_lanes, k, from, x);
        x[k] = __builtin_shufflevector(x[0], x[0], 1, 2, 3, 4, 5, 6, 7, 7);
        x[k][n_lanes - 1] = coarse[right == ax->n_coarse ? 0 : right];
        for (int i = 0; i < r; i++) {
            LANE sum = E[i * (k + 1)] * x[0];
            for (int j = 1; j <= k; j++) sum += E[i * (k + 1) + j] * x[j];
            y[i] = sum;
        }
        NAME(lanes_to_rows)(r, n_lanes, r, 1, y, fine + (int64_t)cell * r);
    }
    if (!ax->periodic) fine[ax->n_fine - 1] += coarse[ax->n_coarse - 1];
}

/* coarse row = E' fine row */
INLINE void NAME(restrict_row)(const int k, const int r, const struct brick_transfer_axis *ax,
                               const REAL *fine, REAL *coarse) {
    REAL carry = 0;
    for (int cell = 0, n_lanes; cell < ax->n_cells; cell += n_lanes) {
        LANE x[2 * BRICK_MAX_DEGREE + 1], y[BRICK_MAX_DEGREE + 1];
        n_lanes = NAME(same_tables)(ax, cell);
        const REAL *E = NAME(table)(ax, ax->which[cell]);
        NAME(rows_to_lanes)(r, n_lanes, r, fine + (int64_t)cell * r, x);
        for (int j = 0; j <= k; j++) {
            LANE sum = E[j] * x[0];
            for (int i = 1; i < r; i++) sum += E[i * (k + 1) + j] * x[i];
            y[j] = sum;
        }
        y[0] += __builtin_shufflevector((LANE){carry}, y[k], 0, 8, 9, 10, 11, 12, 13, 14);
        carry = y[k][n_lanes - 1];
        NAME(lanes_to_rows)(k, n_lanes, k, 0, y, coarse + (int64_t)cell * k);
    }
    if (ax->periodic)
        coarse[0] += carry;
    else
        coarse[ax->n_coarse - 1] = carry + fine[ax->n_fine - 1];
}

#define ROW(K)                                                                                               \
    case K:                                                                                                  \
        if (up)                                                                                              \
            NAME(prolong_row)(K, 2 * (K), ax, from, to);                                                     \
        else                                                                                                 \
            NAME(restrict_row)(K, 2 * (K), ax, from, to);                                                    \
        return;
/* up: to += E from; else to = E' from. */
static void NAME(transfer_row)(const struct brick_transfer_axis *ax, int up, const REAL *from, REAL *to) {
    if (!ax->refined) {
        for (int i = 0; i < ax->n_coarse; i++) to[i] = up ? to[i] + from[i] : from[i];
        return;
    }
    if (ax->r != 2 * ax->k && ax->r > 0) { /* k is 1 */
        if (up)
            NAME(prolong_row)(1, ax->r, ax, from, to);
        else
            NAME(restrict_row)(1, ax->r, ax, from, to);
        return;
    }
    switch (ax->k) {
        ROW(1)
        ROW(2)
        ROW(3)
        ROW(4)
        ROW(5)
        ROW(6)
        ROW(7)
        ROW(8)
        ROW(9)
        ROW(10)
        ROW(11)
        ROW(12)
        ROW(13)
        ROW(14)
        ROW(15)
    }
}
#undef ROW

/* ------------------------------------------------------------------------------ directions 1 and 2 */

/* Scratch of one thread, and one block of rows. */
struct NAME(transfer) {
    const struct transfer_view *v;
    struct transfer_block b1, b2;
    const REAL *E1, *E2;
    int64_t line;
    REAL *one;  /* fine 1 */
    REAL *two;  /* fine 2 x coarse 1 */
    REAL *both; /* coarse 2 x coarse 1 */
    REAL *top;  /* a coarse plane */
};

static void NAME(transfer_begin)(const struct transfer_view *v, REAL *scratch, struct NAME(transfer) * t) {
    *t = (struct NAME(transfer)){.v = v, .line = line_numbers(v), .one = scratch};
    t->two = t->one + t->line * most_fine(&v->axis[1]);
    t->both = t->two + t->line * most_fine(&v->axis[2]) * most_coarse(&v->axis[1]);
    t->top = scratch + rows_numbers(v);
}

static void NAME(set_block)(struct NAME(transfer) * t, int block1, int block2) {
    t->b1 = transfer_block(&t->v->axis[1], block1);
    t->b2 = transfer_block(&t->v->axis[2], block2);
    t->E1 = NAME(table)(&t->v->axis[1], t->b1.table);
    t->E2 = NAME(table)(&t->v->axis[2], t->b2.table);
}

/* Where row (node 1, node 2) of the coarse brick begins, counted from the block's first; of the fine one. */
INLINE int64_t NAME(coarse_row)(const struct NAME(transfer) * t, int j1, int j2) {
    const struct brick_transfer_axis *ax = t->v->axis;
    const int64_t p1 = (t->b1.coarse_first + j1) % ax[1].n_coarse,
                  p2 = (t->b2.coarse_first + j2) % ax[2].n_coarse;
    return (p2 * ax[1].n_coarse + p1) * ax[0].n_coarse;
}
INLINE int64_t NAME(fine_row)(const struct NAME(transfer) * t, int i1, int i2) {
    const struct brick_transfer_axis *ax = t->v->axis;
    return ((int64_t)(t->b2.fine_first + i2) * ax[1].n_fine + t->b1.fine_first + i1) * ax[0].n_fine;
}

static void NAME(prolong_block)(struct NAME(transfer) * t, const REAL *coarse, REAL *fine) {
    const REAL *in[2 * BRICK_MAX_DEGREE + 1];
    REAL *out[2 * BRICK_MAX_DEGREE + 1];
    const int n = t->v->axis[0].n_coarse, c1 = t->b1.n_coarse, c2 = t->b2.n_coarse;
    for (int j1 = 0; j1 < c1; j1++) {
        for (int j2 = 0; j2 < c2; j2++) in[j2] = coarse + NAME(coarse_row)(t, j1, j2);
        for (int i2 = 0; i2 < t->b2.n_fine; i2++) out[i2] = t->two + ((int64_t)i2 * c1 + j1) * t->line;
        NAME(combine)(t->b2.n_fine, c2, t->E2, c2, 1, in, n, out);
    }
    for (int i2 = 0; i2 < t->b2.n_fine; i2++) {
        for (int j1 = 0; j1 < c1; j1++) in[j1] = t->two + ((int64_t)i2 * c1 + j1) * t->line;
        for (int i1 = 0; i1 < t->b1.n_fine; i1++) out[i1] = t->one + i1 * t->line;
        NAME(combine)(t->b1.n_fine, c1, t->E1, c1, 1, in, n, out);
        for (int i1 = 0; i1 < t->b1.n_fine; i1++)
            NAME(transfer_row)(&t->v->axis[0], 1, out[i1], fine + NAME(fine_row)(t, i1, i2));
    }
}

void NAME(brick_prolong)(const struct brick_transfer *transfer, const REAL *coarse, REAL *fine,
                         REAL *scratch) {
    const struct transfer_view v = transfer_view(transfer);
    const int n1 = n_blocks(&v.axis[1]), n2 = n_blocks(&v.axis[2]), threads = base_threads();
    const int64_t own = transfer_numbers(&v);
#pragma omp parallel num_threads(threads) if (threads > 1 && n2 > 1)
    {
        const int self = omp_get_thread_num();
        struct NAME(transfer) t;
        NAME(transfer_begin)(&v, scratch + self * own, &t);
#pragma omp for schedule(static)
        for (int b2 = 0; b2 < n2; b2++)
            for (int b1 = 0; b1 < n1; b1++) {
                NAME(set_block)(&t, b1, b2);
                NAME(prolong_block)(&t, coarse, fine);
            }
    }
}

/* The coarse rows of one block from its fine ones. */
static void NAME(restrict_block)(struct NAME(transfer) * t, const REAL *fine) {
    const REAL *in[2 * BRICK_MAX_DEGREE + 1];
    REAL *out[2 * BRICK_MAX_DEGREE + 1];
    const int n = t->v->axis[0].n_coarse, c1 = t->b1.n_coarse, c2 = t->b2.n_coarse;
    for (int i2 = 0; i2 < t->b2.n_fine; i2++) {
        for (int i1 = 0; i1 < t->b1.n_fine; i1++) {
            NAME(transfer_row)(&t->v->axis[0], 0, fine + NAME(fine_row)(t, i1, i2), t->one + i1 * t->line);
            in[i1] = t->one + i1 * t->line;
        }
        for (int j1 = 0; j1 < c1; j1++) out[j1] = t->two + ((int64_t)i2 * c1 + j1) * t->line;
        NAME(combine)(c1, t->b1.n_fine, t->E1, 1, c1, in, n, out);
    }
    for (int j1 = 0; j1 < c1; j1++) {
        for (int i2 = 0; i2 < t->b2.n_fine; i2++) in[i2] = t->two + ((int64_t)i2 * c1 + j1) * t->line;
        for (int j2 = 0; j2 < c2; j2++) out[j2] = t->both + ((int64_t)j2 * c1 + j1) * t->line;
        NAME(combine)(c2, t->b2.n_fine, t->E2, 1, c2, in, n, out);
    }
}

INLINE int NAME(row_is_fixed)(const struct brick_transfer_axis *ax, int node) {
    return (ax->fixed[0] && node == 0) || (ax->fixed[1] && node == ax->n_coarse - 1);
}

/* The rows of a block to their place: the first block that has a row sets it, others add. leaves: the last
 * plane is that of another thread, and goes to t->top. */
static void NAME(put_block)(struct NAME(transfer) * t, int is_first1, int is_first2, int leaves,
                            REAL *coarse) {
    const struct brick_transfer_axis *ax = t->v->axis;
    const int n = ax[0].n_coarse, c1 = t->b1.n_coarse, c2 = t->b2.n_coarse;
    for (int j2 = 0; j2 < c2; j2++)
        for (int j1 = 0; j1 < c1; j1++) {
            const int above = leaves && j2 == c2 - 1, p1 = t->b1.coarse_first + j1;
            const int add = (c2 > 1 && j2 == 0 && !is_first2) || (c1 > 1 && j1 == 0 && !is_first1) ||
                            p1 >= ax[1].n_coarse;
            const REAL *from = t->both + ((int64_t)j2 * c1 + j1) * t->line;
            REAL *to =
                above ? t->top + (int64_t)(p1 % ax[1].n_coarse) * n : coarse + NAME(coarse_row)(t, j1, j2);
            if (NAME(row_is_fixed)(&ax[1], p1) || NAME(row_is_fixed)(&ax[2], t->b2.coarse_first + j2)) {
                for (int i = 0; i < n; i++) to[i] = 0;
                continue;
            }
            for (int i = 0; i < n; i++) to[i] = add ? to[i] + from[i] : from[i];
            if (ax[0].fixed[0]) to[0] = 0;
            if (ax[0].fixed[1]) to[n - 1] = 0;
        }
}

void NAME(brick_restrict)(const struct brick_transfer *transfer, const REAL *fine, REAL *coarse,
                          REAL *scratch) {
    const struct transfer_view v = transfer_view(transfer);
    const int n1 = n_blocks(&v.axis[1]), n2 = n_blocks(&v.axis[2]), all = base_threads(),
              threads = all < n2 ? all : n2, shares = v.axis[2].refined, ring = shares && v.axis[2].periodic;
    const int64_t own = transfer_numbers(&v), plane = (int64_t)v.axis[0].n_coarse * v.axis[1].n_coarse;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const int self = omp_get_thread_num(), crew = omp_get_num_threads();
        struct NAME(transfer) t;
        NAME(transfer_begin)(&v, scratch + self * own, &t);
        const int begin = (int)((int64_t)n2 * self / crew), end = (int)((int64_t)n2 * (self + 1) / crew);
        for (int b2 = begin; b2 < end; b2++)
            for (int b1 = 0; b1 < n1; b1++) {
                const int leaves = shares && b2 + 1 == end && (end < n2 || ring);
                NAME(set_block)(&t, b1, b2);
                NAME(restrict_block)(&t, fine);
                NAME(put_block)(&t, b1 == 0, b2 == begin, leaves, coarse);
            }
#pragma omp barrier
        if (shares && (self > 0 || ring)) {
            const REAL *from = scratch + (self + crew - 1) % crew * own + rows_numbers(&v);
            REAL *to = coarse + (int64_t)begin * v.axis[2].k * plane;
            for (int64_t i = 0; i < plane; i++) to[i] += from[i];
        }
    }
}
