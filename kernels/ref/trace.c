/* Plain C: products with the trace matrix in its three matrix-free and padded forms. */
#include "kernels/ref/ref.h"

#define L KERNEL_LANES

void ell_apply_ref(int64_t n_rows, int width, const int32_t *columns, const double *values, const double *x,
                   double *y) {
    for (int64_t i = 0; i < n_rows; i++) {
        y[i] = 0.0;
        for (int k = 0; k < width; k++) {
            int32_t column = columns[k * n_rows + i];
            if (column >= 0) y[i] += values[k * n_rows + i] * x[column];
        }
    }
}

void facet_apply_ref(const struct facet_plan *plan, const double *x, double *y) {
    for (int64_t r = 0; r < plan->n_rows; r++) {
        int64_t first = plan->first[r], m = plan->first[r + 1] - first;
        for (int64_t i = 0; i < m; i++) y[first + i] = 0.0;
        for (int64_t p = plan->panel_first[r]; p < plan->panel_first[r + 1]; p++)
            for (int64_t j = 0; j < plan->sizes[p]; j++)
                for (int64_t i = 0; i < m; i++)
                    y[first + i] += plan->values[plan->starts[p] + j * m + i] * x[plan->columns[p] + j];
    }
}

#define REAL       double
#define MATRICES   matrices
#define NAME(what) what##_ref
#include "kernels/ref/cell_real.h"
#undef REAL
#undef MATRICES
#undef NAME

#define REAL       float
#define MATRICES   single
#define NAME(what) what##_single_ref
#include "kernels/ref/cell_real.h"
#undef REAL
#undef MATRICES
#undef NAME

int64_t cell_run_ref(int64_t batch_bytes) {
    (void)batch_bytes;
    return 1;
}
