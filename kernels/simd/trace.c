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

/* Numbers i .. i + n - 1 of one face of the eight cells of a batch into lanes. Few numbers are moved one by
 * one; more are transposed, L rows of up to L numbers, where what is written beyond n lanes is overwritten
 * later. */
INLINE void gather_some(int n, const int64_t *map, const double *x, lane *local) {
    if (n < TUNE_TRANSPOSE) {
        for (int w = 0; w < L; w++)
            for (int i = 0; i < n; i++) local[i][w] = map[w] >= 0 ? x[map[w] + i] : 0.0;
    } else {
        lane rows[L];
        for (int w = 0; w < L; w++) rows[w] = map[w] >= 0 ? lane_load(n, x + map[w]) : (lane){0};
        lane_transpose(rows);
        for (int k = 0; k < L; k++) local[k] = rows[k];
    }
}

INLINE void scatter_some(int n, const int64_t *map, const lane *local, double *y) {
    if (n < TUNE_TRANSPOSE) {
        for (int w = 0; w < L; w++)
            for (int i = 0; i < n && map[w] >= 0; i++) y[map[w] + i] += local[i][w];
    } else {
        lane rows[L];
        for (int k = 0; k < L; k++) rows[k] = local[k];
        lane_transpose(rows);
        for (int w = 0; w < L; w++)
            if (map[w] >= 0) lane_store(n, y + map[w], lane_load(n, y + map[w]) + rows[w]);
    }
}

INLINE void gather(int n_faces, int m, const int64_t *map, const double *x, lane *local) {
    for (int f = 0; f < n_faces; f++, map += L, local += m)
        for (int i = 0; i < m; i += L) gather_some(m - i, map, x + i, local + i);
}

/* Lanes added to unknowns. */
INLINE void scatter(int n_faces, int m, const int64_t *map, const lane *local, double *y) {
    for (int f = 0; f < n_faces; f++, map += L, local += m)
        for (int i = 0; i < m; i += L) scatter_some(m - i, map, local + i, y + i);
}

/* Both uses of every entry of one triangle, row after row: only where memory is read in strictly ascending
 * order does the processor fetch ahead at full speed; several rows at once, or prefetch instructions, halve
 * it. */
INLINE void symmetric_product(int n, const lane *K, const lane *x, lane *y) {
    for (int i = 0; i < n; i++, K += i) {
        lane xi = x[i], even = {0}, odd = {0};
        int j = 0;
        for (; j + 2 <= i; j += 2) {
            lane k0 = *(const volatile lane *)(K + j); /* loaded once, not once for every use */
            lane k1 = *(const volatile lane *)(K + j + 1);
            even += k0 * x[j];
            odd += k1 * x[j + 1];
            y[j] += k0 * xi;
            y[j + 1] += k1 * xi;
        }
        if (j < i) {
            even += K[j] * x[j];
            y[j] += K[j] * xi;
        }
        y[i] = even + odd + K[i] * xi;
    }
}

/* Batches begin .. end-1 of the list. */
static void take_run(const struct cell_plan *plan, int64_t begin, int64_t end, const double *x, double *y) {
    int n_faces = plan->n_faces, m = plan->m, n = n_faces * m;
    int64_t size = (int64_t)n * (n + 1) / 2;
    lane in[MAX_TRACE + L], out[MAX_TRACE + L];
    for (int64_t b = begin; b < end; b++) {
        int64_t batch = plan->colour_batches[b];
        const int64_t *map = plan->maps + batch * n_faces * L;
        gather(n_faces, m, map, x, in);
        symmetric_product(n, (const lane *)plan->matrices + batch * size, in, out);
        scatter(n_faces, m, map, out, y);
    }
}

void cell_apply_simd(const struct cell_plan *plan, const double *x, double *y) {
#pragma omp parallel num_threads(base_threads()) if (plan->n_batches > 8)
    for (int colour = 0; colour < plan->n_colours; colour++) { /* a barrier keeps colours apart */
        int64_t end = plan->colour_starts[colour + 1];
#pragma omp for schedule(static)
        for (int64_t b = plan->colour_starts[colour]; b < end; b += plan->run)
            take_run(plan, b, b + plan->run < end ? b + plan->run : end, x, y);
    }
}

int64_t cell_run_simd(int64_t batch_bytes) {
    return batch_bytes < TUNE_RUN_BYTES ? TUNE_RUN_BYTES / batch_bytes : 1;
}
