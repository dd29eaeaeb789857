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
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) x[i] = (REAL)a;
}

void NAME(axpby)(int64_t n, double a, const REAL *restrict x, double b, REAL *restrict y) {
    const REAL s = (REAL)a, t = (REAL)b;
    if (t == 0) {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
        for (int64_t i = 0; i < n; i++) y[i] = s * x[i];
    } else {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
        for (int64_t i = 0; i < n; i++) y[i] = s * x[i] + t * y[i];
    }
}

void NAME(multiply)(int64_t n, const REAL *restrict d, const REAL *restrict x, REAL *restrict y) {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) y[i] = d[i] * x[i];
}

double NAME(dot)(int64_t n, const REAL *x, const REAL *y) {
    double partial[MAX_PIECES];
    int64_t piece = PIECE;
    while ((n + piece - 1) / piece > MAX_PIECES) piece *= 2;
    int64_t n_pieces = (n + piece - 1) / piece;
#pragma omp parallel for num_threads(base_threads()) if (n > SMALL)
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
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) y[i] = (REAL)x[i];
}

void NAME(widen)(int64_t n, const REAL *restrict x, double *restrict y) {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) y[i] = x[i];
}

void NAME(add)(int64_t n, const REAL *restrict x, double *restrict y) {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) y[i] += x[i];
}

void NAME(csr_apply)(int64_t n_rows, const int64_t *offsets, const int32_t *columns, const REAL *values,
                     const REAL *x, REAL *y) {
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (offsets[n_rows] > 4 * SMALL)
    for (int64_t i = 0; i < n_rows; i++) {
        REAL sum = 0;
        SHORT_SUM
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}

void NAME(block_apply)(int64_t n_blocks, const int64_t *first, const int64_t *starts, const REAL *matrices,
                       const REAL *x, REAL *y) {
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (n_blocks > 2048)
    for (int64_t b = 0; b < n_blocks; b++) {
        int64_t n = first[b + 1] - first[b];
        const REAL *B = matrices + starts[b], *xb = x + first[b];
        for (int64_t i = 0; i < n; i++) {
            REAL sum = 0;
            SHORT_SUM
            for (int64_t j = 0; j < n; j++) sum += B[i * n + j] * xb[j];
            y[first[b] + i] = sum;
        }
    }
}

/* A small block: where it is inlined, n is a constant and the loops come apart. */
static inline void NAME(smooth_small)(int64_t n, const REAL *restrict B, REAL a, REAL b, REAL c,
                                      const REAL *f, const REAL *t, REAL *r, REAL *restrict d,
                                      REAL *restrict x) {
    for (int64_t i = 0; i < n; i++) r[i] = t != 0 ? f[i] - t[i] : f[i];
    for (int64_t i = 0; i < n; i++) {
        REAL sum = 0;
        for (int64_t j = 0; j < n; j++) sum += B[i * n + j] * r[j];
        d[i] = b == 0 ? a * sum : a * sum + b * d[i];
        x[i] = c == 0 ? d[i] : c * x[i] + d[i];
    }
}

/* d = a B r + b d, x = c x + d of so many lane vectors of rows from i on: by columns, which are rows of a
 * symmetric matrix, so that nothing is summed across a register. */
INLINE void NAME(smooth_rows)(int vectors, int64_t n, int64_t i, const REAL *B, REAL a, REAL b, REAL c,
                              const REAL *r, REAL *d, REAL *x) {
    LANE sum[4];
    for (int v = 0; v < vectors; v++) sum[v] = (LANE){0};
    for (int64_t j = 0; j < n; j++)
        for (int v = 0; v < vectors; v++)
            sum[v] += LANES(load)((int)(n - i) - v * L, B + j * n + i + v * L) * r[j];
    for (int v = 0; v < vectors; v++) {
        int64_t at = i + v * L;
        int left = (int)(n - at);
        LANE value = a * sum[v];
        if (b != 0) value += b * LANES(load)(left, d + at);
        LANES(store)(left, d + at, value);
        if (c != 0) value += c * LANES(load)(left, x + at);
        LANES(store)(left, x + at, value);
    }
}

static inline void NAME(smooth_large)(int64_t n, const REAL *B, REAL a, REAL b, REAL c, const REAL *f,
                                      const REAL *t, REAL *r, REAL *d, REAL *x) {
    for (int64_t i = 0; i < n; i++) r[i] = t != 0 ? f[i] - t[i] : f[i];
    for (int64_t i = 0; i < n; i += 4 * L) {
        if (n - i > 3 * L)
            NAME(smooth_rows)(4, n, i, B, a, b, c, r, d, x);
        else if (n - i > 2 * L)
            NAME(smooth_rows)(3, n, i, B, a, b, c, r, d, x);
        else if (n - i > L)
            NAME(smooth_rows)(2, n, i, B, a, b, c, r, d, x);
        else
            NAME(smooth_rows)(1, n, i, B, a, b, c, r, d, x);
    }
}

void NAME(block_smooth)(int64_t n_blocks, const int64_t *first, const int64_t *starts, const REAL *matrices,
                        double a, double b, double c, const REAL *f, const REAL *t, REAL *r, REAL *d,
                        REAL *x) {
#define TAKE(how, n) NAME(how)(n, B, (REAL)a, (REAL)b, (REAL)c, f + at, tk, r + at, d + at, x + at)
#define SMOOTH(n)    TAKE(smooth_small, n)
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (n_blocks > 2048)
    for (int64_t k = 0; k < n_blocks; k++) {
        int64_t at = first[k], size = first[k + 1] - at;
        const REAL *B = matrices + starts[k], *tk = t != 0 ? t + at : 0;
        if (size == 1)
            SMOOTH(1);
        else if (size == 2)
            SMOOTH(2);
        else if (size == 3)
            SMOOTH(3);
        else if (size == 4)
            SMOOTH(4);
        else if (size == 5)
            SMOOTH(5);
        else if (size == 6)
            SMOOTH(6);
        else if (size == 7)
            SMOOTH(7);
        else
            TAKE(smooth_large, size);
    }
#undef SMOOTH
#undef TAKE
}
