/* Plain C: the specification of the vector and matrix kernels. */
#include "kernels/ref/ref.h"

static void fill_ref(int64_t n, double a, double *x) {
    for (int64_t i = 0; i < n; i++) x[i] = a;
}

static void axpby_ref(int64_t n, double a, const double *x, double b, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = b == 0.0 ? a * x[i] : a * x[i] + b * y[i];
}

static void multiply_ref(int64_t n, const double *d, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = d[i] * x[i];
}

static double dot_ref(int64_t n, const double *x, const double *y) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void csr_apply_ref(int64_t n_rows, const int64_t *offsets, const int32_t *columns,
                          const double *values, const double *x, double *y) {
    for (int64_t i = 0; i < n_rows; i++) {
        double sum = 0.0;
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}

static void block_apply_ref(int64_t n_blocks, const int64_t *first, const int64_t *starts,
                            const double *matrices, const double *x, double *y) {
    for (int64_t b = 0; b < n_blocks; b++) {
        int64_t n = first[b + 1] - first[b];
        const double *B = matrices + starts[b], *xb = x + first[b];
        for (int64_t i = 0; i < n; i++) {
            double sum = 0.0;
            for (int64_t j = 0; j < n; j++) sum += B[i * n + j] * xb[j];
            y[first[b] + i] = sum;
        }
    }
}

static void block_smooth_ref(int64_t n_blocks, const int64_t *first, const int64_t *starts,
                             const double *matrices, double a, double b, double c, const double *f,
                             const double *t, double *r, double *d, double *x) {
    for (int64_t k = 0; k < n_blocks; k++) {
        int64_t begin = first[k], n = first[k + 1] - begin;
        const double *B = matrices + starts[k];
        for (int64_t i = 0; i < n; i++) r[begin + i] = t != 0 ? f[begin + i] - t[begin + i] : f[begin + i];
        for (int64_t i = 0; i < n; i++) {
            double sum = 0.0, *di = d + begin + i, *xi = x + begin + i;
            for (int64_t j = 0; j < n; j++) sum += B[i * n + j] * r[begin + j];
            *di = b == 0.0 ? a * sum : a * sum + b * *di;
            *xi = c == 0.0 ? *di : c * *xi + *di;
        }
    }
}

const struct kernels *kernels_ref(void) {
    static const struct kernels table = {
        .fill = fill_ref,
        .axpby = axpby_ref,
        .multiply = multiply_ref,
        .dot = dot_ref,
        .csr_apply = csr_apply_ref,
        .block_apply = block_apply_ref,
        .block_smooth = block_smooth_ref,
        .ell_apply = ell_apply_ref,
        .facet_apply = facet_apply_ref,
        .cell_apply = cell_apply_ref,
        .condense_affine = condense_affine_ref,
        .condense_scratch = condense_scratch_ref,
        .condense_sum = condense_sum_ref,
        .condense_sum_scratch = condense_sum_scratch_ref,
        .batch_load = batch_load_ref,
        .batch_recover = batch_recover_ref,
        .affine_flux = affine_flux_ref,
    };
    return &table;
}
