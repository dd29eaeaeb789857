/* Vector and matrix kernels for numbers of type REAL: vector.c includes this once for each precision. */

/* A sum over the few entries of a row. Rows are seldom longer than a register of 16 floats: four at a time
 * leave less to be added one by one. */
#undef SHORT_SUM
#if PICK(1, 0)
#    define SHORT_SUM _Pragma("omp simd reduction(+ : sum)")
#else
#    define SHORT_SUM _Pragma("omp simd simdlen(4) reduction(+ : sum)")
#endif

void NAME(fill)(int64_t n, double a, REAL *x) {
#pragma omp parallel for simd num_threads(base_threads_again(n / PER_POINT))
    for (int64_t i = 0; i < n; i++) x[i] = (REAL)a;
}

void NAME(axpby)(int64_t n, double a, const REAL *restrict x, double b, REAL *restrict y) {
    const REAL s = (REAL)a, t = (REAL)b;
    if (t == 0) {
#pragma omp parallel for simd num_threads(base_threads_again(n / PER_POINT))
        for (int64_t i = 0; i < n; i++) y[i] = s * x[i];
    } else {
#pragma omp parallel for simd num_threads(base_threads_again(n / PER_POINT))
        for (int64_t i = 0; i < n; i++) y[i] = s * x[i] + t * y[i];
    }
}

void NAME(multiply)(int64_t n, const REAL *restrict d, const REAL *restrict x, REAL *restrict y) {
#pragma omp parallel for simd num_threads(base_threads_again(n / PER_POINT))
    for (int64_t i = 0; i < n; i++) y[i] = d[i] * x[i];
}

double NAME(dot)(int64_t n, const REAL *x, const REAL *y) {
    double partial[MAX_PIECES];
    int64_t piece = PIECE;
    while ((n + piece - 1) / piece > MAX_PIECES) piece *= 2;
    int64_t n_pieces = (n + piece - 1) / piece;
#pragma omp parallel for num_threads(base_threads_again(n / PER_POINT))
    for (int64_t p = 0; p < n_pieces; p++) {
        int64_t end = (p + 1) * piece < n ? (p + 1) * piece : n;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = p * piece; i < end; i++) sum += (double)x[i] * (double)y[i];
        partial[p] = sum;
    }
    double sum = 0.0;
    for (int64_t p = 0; p < n_pieces; p++) sum += partial[p];
    return sum;
}

void NAME(narrow)(int64_t n, const double *restrict x, REAL *restrict y) {
#pragma omp parallel for simd num_threads(base_threads_again(n / PER_POINT))
    for (int64_t i = 0; i < n; i++) y[i] = (REAL)x[i];
}

void NAME(widen)(int64_t n, const REAL *restrict x, double b, double *restrict y) {
    if (b == 0.0) {
#pragma omp parallel for simd num_threads(base_threads_again(n / PER_POINT))
        for (int64_t i = 0; i < n; i++) y[i] = x[i];
    } else {
#pragma omp parallel for simd num_threads(base_threads_again(n / PER_POINT))
        for (int64_t i = 0; i < n; i++) y[i] = x[i] + b * y[i];
    }
}

void NAME(put_entries)(int64_t n, const int64_t *restrict places, const REAL *restrict values, double b,
                       REAL *restrict x) {
    const REAL s = (REAL)b;
#pragma omp parallel for num_threads(base_threads_again(n))
    for (int64_t i = 0; i < n; i++)
        x[places[i]] = (values != 0 ? values[i] : 0) + (s == 0 ? 0 : s * x[places[i]]);
}

void NAME(csr_apply)(int64_t n_rows, const int64_t *offsets, const int32_t *columns, const REAL *values,
                     const REAL *x, REAL *y) {
#pragma omp parallel num_threads(base_threads_again(offsets[n_rows]))
    {
        const int self = omp_get_thread_num(), all = omp_get_num_threads();
        const int64_t end = row_of_share(n_rows, offsets, self + 1, all);
        for (int64_t i = row_of_share(n_rows, offsets, self, all); i < end; i++) {
            REAL sum = 0;
            SHORT_SUM
            for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) sum += values[k] * x[columns[k]];
            y[i] = sum;
        }
    }
}

/* B r of a block of n <= 4 unknowns, column after column. Where it is inlined, n is a constant, and all of it
 * is in registers. */
INLINE FOUR NAME(few_product)(int n, const REAL *B, FOUR r) {
    FOUR sum = {0};
    for (int j = 0; j < n; j++) sum += LANES(read)(n, B + j * n) * r[j];
    return sum;
}

INLINE void NAME(smooth_few)(int n, const REAL *B, REAL a, REAL b, REAL c, const REAL *f, const REAL *t,
                             REAL *r, REAL *d, REAL *x) {
    FOUR residual = LANES(read)(n, f), change;
    if (t != 0) residual -= LANES(read)(n, t);
    if (r != 0) LANES(write)(n, r, residual);
    change = a * NAME(few_product)(n, B, residual);
    if (b != 0) change += b * LANES(read)(n, d);
    LANES(write)(n, d, change);
    if (x == 0) return;
    if (c != 0) change += c * LANES(read)(n, x);
    LANES(write)(n, x, change);
}

/* Rows i .. i + rows - 1 of B r, as many as a register has, of a block of any size. */
INLINE PACKET NAME(many_product)(int64_t n, int64_t i, int rows, const REAL *B, const REAL *r) {
    PACKET even = {0}, odd = {0};
    int64_t j = 0;
    for (B += i; j + 2 <= n; j += 2, B += 2 * n) {
        even += LANES(part)(rows, B) * r[j];
        odd += LANES(part)(rows, B + n) * r[j + 1];
    }
    if (j < n) even += LANES(part)(rows, B) * r[j];
    return even + odd;
}

INLINE void NAME(smooth_many)(int64_t n, const REAL *B, REAL a, REAL b, REAL c, const REAL *f, const REAL *t,
                              REAL *r, REAL *d, REAL *x) {
    for (int64_t i = 0; i < n && r != 0; i++) r[i] = t != 0 ? f[i] - t[i] : f[i];
    for (int64_t i = 0; i < n; i += WIDTH) {
        int rows = (int)(n - i < WIDTH ? n - i : WIDTH);
        PACKET change = a * NAME(many_product)(n, i, rows, B, r != 0 ? r : f);
        if (b != 0) change += b * LANES(part)(rows, d + i);
        LANES(put)(rows, d + i, change);
        if (x == 0) continue;
        if (c != 0) change += c * LANES(part)(rows, x + i);
        LANES(put)(rows, x + i, change);
    }
}

/* Blocks k .. end-1, one run of blocks of one size after the other: the size is a constant of `few`. */
#define RUN_OF(n, step)                                                                                      \
    do step(n);                                                                                              \
    while (++k < end && first[k + 1] - first[k] == n)
#define BY_SIZE(few, many)                                                                                   \
    while (k < end) switch (first[k + 1] - first[k]) {                                                       \
        case 0:                                                                                              \
            k++;                                                                                             \
            break;                                                                                           \
        case 1:                                                                                              \
            RUN_OF(1, few);                                                                                  \
            break;                                                                                           \
        case 2:                                                                                              \
            RUN_OF(2, few);                                                                                  \
            break;                                                                                           \
        case 3:                                                                                              \
            RUN_OF(3, few);                                                                                  \
            break;                                                                                           \
        case 4:                                                                                              \
            RUN_OF(4, few);                                                                                  \
            break;                                                                                           \
        default:                                                                                             \
            many(first[k + 1] - first[k]);                                                                   \
            k++;                                                                                             \
        }

void NAME(block_smooth)(int64_t n_blocks, const int64_t *first, const int64_t *starts, const REAL *matrices,
                        double a, double b, double c, const REAL *f, const REAL *t, REAL *r, REAL *d,
                        REAL *x) {
#define STEP(of, n)                                                                                          \
    NAME(of)                                                                                                 \
    (n, matrices + starts[k], (REAL)a, (REAL)b, (REAL)c, f + first[k], t != 0 ? t + first[k] : 0,            \
     r != 0 ? r + first[k] : 0, d + first[k], x != 0 ? x + first[k] : 0)
#define SMOOTH_FEW(n)  STEP(smooth_few, n)
#define SMOOTH_MANY(n) STEP(smooth_many, n)
#pragma omp parallel for num_threads(base_threads_again(first[n_blocks])) schedule(static)
    for (int64_t p = 0; p < n_blocks; p += BLOCKS) {
        int64_t k = p, end = p + BLOCKS < n_blocks ? p + BLOCKS : n_blocks;
        BY_SIZE(SMOOTH_FEW, SMOOTH_MANY)
    }
#undef STEP
#undef SMOOTH_FEW
#undef SMOOTH_MANY
}
#undef BY_SIZE
#undef RUN_OF
