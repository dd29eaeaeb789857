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

/* Entry (i, j) of a lane's symmetric matrix. */
static double entry(const double *matrix, int i, int j, int lane) {
    int64_t at = i >= j ? (int64_t)i * (i + 1) / 2 + j : (int64_t)j * (j + 1) / 2 + i;
    return matrix[at * L + lane];
}

void cell_apply_ref(const struct cell_plan *plan, const double *x, double *y) {
    int m = plan->m, n = plan->n_faces * m;
    for (int64_t batch = 0; batch < plan->n_batches; batch++) {
        const double *matrix = plan->matrices + batch * (n * (n + 1) / 2) * L;
        const int64_t *map = plan->maps + batch * plan->n_faces * L;
        for (int lane = 0; lane < L; lane++)
            for (int i = 0; i < n; i++) {
                int64_t row = map[i / m * L + lane];
                for (int j = 0; j < n && row >= 0; j++) {
                    int64_t column = map[j / m * L + lane];
                    if (column >= 0) y[row + i % m] += entry(matrix, i, j, lane) * x[column + j % m];
                }
            }
    }
}

int64_t cell_run_ref(int64_t batch_bytes) {
    (void)batch_bytes;
    return 1;
}
