/* Products with the trace matrix: each reads its matrices once, so the floor is bytes over memory bandwidth.
 */
#include <string.h>

#include "kernels/simd/lane.h"

#define FACET_LANES 2 /* of a row block that is held in registers */
#define MAX_TRACE                                                                                            \
    1736 /* unknowns of all faces of a cell (a hex of degree 16: 6 x 17^2), on the stack of a thread */

/* ELL: many rows at a time, so that each of the strided columns is read in long pieces. */
void ell_apply_simd(int64_t n_rows, int width, const int32_t *columns, const double *values, const double *x,
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
        const double *panel = plan->values + plan->starts[p], *from = x + plan->columns[p];
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
        const double *panel = plan->values + plan->starts[p], *from = x + plan->columns[p];
        for (int j = 0; j < plan->sizes[p]; j++, panel += m)
            for (int64_t i = 0; i < m; i++) y[first + i] += panel[i] * from[j];
    }
}

/* One short list of sizes for which the row block stays in registers. */
static void facet_rows_any(const struct facet_plan *plan, int64_t r, const double *x, double *y) {
    int m = (int)(plan->first[r + 1] - plan->first[r]);
    switch (m) {
    case 1:
        facet_rows(plan, 1, r, x, y);
        break;
    case 2:
        facet_rows(plan, 2, r, x, y);
        break;
    case 3:
        facet_rows(plan, 3, r, x, y);
        break;
    case 4:
        facet_rows(plan, 4, r, x, y);
        break;
    case 5:
        facet_rows(plan, 5, r, x, y);
        break;
    case 6:
        facet_rows(plan, 6, r, x, y);
        break;
    case 7:
        facet_rows(plan, 7, r, x, y);
        break;
    case 8:
        facet_rows(plan, 8, r, x, y);
        break;
    case 9:
        facet_rows(plan, 9, r, x, y);
        break;
    case 10:
        facet_rows(plan, 10, r, x, y);
        break;
    default:
        facet_rows_long(plan, r, x, y);
        break;
    }
}

void facet_apply_simd(const struct facet_plan *plan, const double *x, double *y) {
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (plan->n_rows > 64)
    for (int64_t r = 0; r < plan->n_rows; r++) facet_rows_any(plan, r, x, y);
}

#define REAL        double
#define LANE        lane
#define LANES(what) lane_##what
#define MATRICES    matrices
#define NAME(what)  what##_simd
#include "kernels/simd/cell_real.h"
#undef REAL
#undef LANE
#undef LANES
#undef MATRICES
#undef NAME

#define REAL        float
#define LANE        lane_single
#define LANES(what) lane_##what##_single
#define MATRICES    single
#define NAME(what)  what##_single_simd
#include "kernels/simd/cell_real.h"
#undef REAL
#undef LANE
#undef LANES
#undef MATRICES
#undef NAME

int64_t cell_run_simd(int64_t batch_bytes) {
    return batch_bytes < TUNE_RUN_BYTES ? TUNE_RUN_BYTES / batch_bytes : 1;
}
