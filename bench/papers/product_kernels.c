/* The hot loops of the papers' products, on the host: each reads its matrix once, so the floor is bytes over
 * memory bandwidth. */
#include <string.h>

#include "bench/papers/products.h"
#include "kernels/simd/lane.h"

#define FACET_LANES 2 /* of a row block that is held in registers */

/* ELL: many rows at a time, so that each of the strided columns is read in long pieces. */
void ell_product(int64_t n_rows, int width, const int32_t *columns, const double *values, const double *x,
                 double *y) {
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (n_rows > 512)
    for (int64_t begin = 0; begin < n_rows; begin += TUNE_ELL_ROWS) {
        int64_t rows = n_rows - begin < TUNE_ELL_ROWS ? n_rows - begin : TUNE_ELL_ROWS;
        double sums[TUNE_ELL_ROWS] = {0};
        for (int64_t k = 0; k < width; k++) {
            const int32_t *column = columns + k * n_rows + begin;
            const double *value = values + k * n_rows + begin;
            for (int64_t r = 0; r < rows; r++)
                if (column[r] >= 0) sums[r] += value[r] * x[column[r]];
        }
        memcpy(y + begin, sums, (size_t)rows * sizeof *y);
    }
}

/* One face: y_r = sum over its panels of panel' x, the row block held in registers, in two sums so that one
 * need not wait for the other. m is a constant where this is inlined. */
INLINE void facet_rows(const struct facet_plan *plan, int m, int64_t r, const double *x, double *y) {
    lane even[FACET_LANES], odd[FACET_LANES];
    for (int i = 0; i < m; i += L) even[i / L] = odd[i / L] = (lane){0};
    for (int64_t p = plan->panel_first[r]; p < plan->panel_first[r + 1]; p++) {
        const double *panel = (const double *)plan->values + plan->starts[p], *from = x + plan->columns[p];
        int size = plan->sizes[p], j = 0;
        for (; j + 2 <= size; j += 2, panel += 2 * m)
            for (int i = 0; i < m; i += L) {
                even[i / L] += lane_load(m - i, panel + i) * from[j];
                odd[i / L] += lane_load(m - i, panel + m + i) * from[j + 1];
            }
        for (int i = 0; i < m && j < size; i += L) even[i / L] += lane_load(m - i, panel + i) * from[j];
    }
    for (int i = 0; i < m; i += L) lane_store(m - i, y + plan->first[r] + i, even[i / L] + odd[i / L]);
}

/* The same for rows too many for registers. */
static void facet_rows_long(const struct facet_plan *plan, int64_t r, const double *x, double *y) {
    int64_t first = plan->first[r], m = plan->first[r + 1] - first;
    memset(y + first, 0, (size_t)m * sizeof *y);
    for (int64_t p = plan->panel_first[r]; p < plan->panel_first[r + 1]; p++) {
        const double *panel = (const double *)plan->values + plan->starts[p], *from = x + plan->columns[p];
        for (int j = 0; j < plan->sizes[p]; j++, panel += m)
            for (int64_t i = 0; i < m; i++) y[first + i] += panel[i] * from[j];
    }
}

/* One short list of sizes for which the row block stays in registers. */
static void facet_rows_any(const struct facet_plan *plan, int64_t r, const double *x, double *y) {
    int m = (int)(plan->first[r + 1] - plan->first[r]);
    switch (m) {
#define CASE(M)                                                                                              \
    case M:                                                                                                  \
        facet_rows(plan, M, r, x, y);                                                                        \
        return
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
        CASE(5);
        CASE(6);
        CASE(7);
        CASE(8);
        CASE(9);
        CASE(10);
#undef CASE
    }
    facet_rows_long(plan, r, x, y);
}

void facet_product(const struct facet_plan *plan, const double *x, double *y) {
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (plan->n_rows > 64)
    for (int64_t r = 0; r < plan->n_rows; r++) facet_rows_any(plan, r, x, y);
}
