/* The same kernels with threads and vector instructions. Sums are taken over fixed pieces, so that a result
 * depends neither on scheduling nor on the number of threads. */
#include "kernels/simd/lane.h"

#define PIECE      4096 /* entries of one partial sum */
#define SMALL      8192 /* below this a parallel region costs more than it gains */
#define MAX_PIECES 1024

static void fill_simd(int64_t n, double a, double *x) {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) x[i] = a;
}

static void axpby_simd(int64_t n, double a, const double *restrict x, double b, double *restrict y) {
    if (b == 0.0) {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
        for (int64_t i = 0; i < n; i++) y[i] = a * x[i];
    } else {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
        for (int64_t i = 0; i < n; i++) y[i] = a * x[i] + b * y[i];
    }
}

static void multiply_simd(int64_t n, const double *restrict d, const double *restrict x, double *restrict y) {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) y[i] = d[i] * x[i];
}

static double dot_simd(int64_t n, const double *x, const double *y) {
    double partial[MAX_PIECES];
    int64_t piece = PIECE;
    while ((n + piece - 1) / piece > MAX_PIECES) piece *= 2;
    int64_t n_pieces = (n + piece - 1) / piece;
#pragma omp parallel for num_threads(base_threads()) if (n > SMALL)
    for (int64_t p = 0; p < n_pieces; p++) {
        int64_t end = (p + 1) * piece < n ? (p + 1) * piece : n;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = p * piece; i < end; i++) sum += x[i] * y[i];
        partial[p] = sum;
    }
    double sum = 0.0;
    for (int64_t p = 0; p < n_pieces; p++) sum += partial[p];
    return sum;
}

static void csr_apply_simd(int64_t n_rows, const int64_t *offsets, const int32_t *columns,
                           const double *values, const double *x, double *y) {
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (offsets[n_rows] > 4 * SMALL)
    for (int64_t i = 0; i < n_rows; i++) {
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}

static void block_apply_simd(int64_t n_blocks, const int64_t *first, const int64_t *starts,
                             const double *matrices, const double *x, double *y) {
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (n_blocks > 2048)
    for (int64_t b = 0; b < n_blocks; b++) {
        int64_t n = first[b + 1] - first[b];
        const double *B = matrices + starts[b], *xb = x + first[b];
        for (int64_t i = 0; i < n; i++) {
            double sum = 0.0;
#pragma omp simd reduction(+ : sum)
            for (int64_t j = 0; j < n; j++) sum += B[i * n + j] * xb[j];
            y[first[b] + i] = sum;
        }
    }
}

/* One block. Where it is inlined, n is a constant and the loops come apart. */
static inline void smooth_block(int64_t n, const double *restrict B, double a, double b, double c,
                                const double *f, const double *t, double *r, double *restrict d,
                                double *restrict x) {
    for (int64_t i = 0; i < n; i++) r[i] = t != 0 ? f[i] - t[i] : f[i];
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++) sum += B[i * n + j] * r[j];
        d[i] = b == 0.0 ? a * sum : a * sum + b * d[i];
        x[i] = c == 0.0 ? d[i] : c * x[i] + d[i];
    }
}

static void block_smooth_simd(int64_t n_blocks, const int64_t *first, const int64_t *starts,
                              const double *matrices, double a, double b, double c, const double *f,
                              const double *t, double *r, double *d, double *x) {
#define SMOOTH(n) smooth_block(n, B, a, b, c, f + at, tk, r + at, d + at, x + at)
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (n_blocks > 2048)
    for (int64_t k = 0; k < n_blocks; k++) {
        int64_t at = first[k], size = first[k + 1] - at;
        const double *B = matrices + starts[k], *tk = t != 0 ? t + at : 0;
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
            SMOOTH(size);
    }
#undef SMOOTH
}

const struct kernels *kernels_simd(void) {
    static const struct kernels table = {
        .fill = fill_simd,
        .axpby = axpby_simd,
        .multiply = multiply_simd,
        .dot = dot_simd,
        .csr_apply = csr_apply_simd,
        .block_apply = block_apply_simd,
        .block_smooth = block_smooth_simd,
        .ell_apply = ell_apply_simd,
        .facet_apply = facet_apply_simd,
        .cell_apply = cell_apply_simd,
        .condense_affine = condense_affine_simd,
        .condense_scratch = condense_scratch_simd,
        .condense_sum = condense_sum_simd,
        .condense_sum_scratch = condense_sum_scratch_simd,
        .batch_load = batch_load_simd,
        .batch_recover = batch_recover_simd,
        .affine_flux = affine_flux_simd,
    };
    return &table;
}
