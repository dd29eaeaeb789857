/* Products with the trace matrix: each reads its matrices once, so the floor is bytes over memory bandwidth.
 */
#include <string.h>

#include "kernels/simd/lane.h"

#define MAX_TRACE 640 /* unknowns of all faces of a cell, on the stack of a thread */

/* ELL: eight rows at a time, so that the strided columns are read in whole cache lines. */
void ell_apply_simd(int64_t n_rows, int width, const int32_t *columns, const double *values, const double *x,
                    double *y) {
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (n_rows > 512)
    for (int64_t begin = 0; begin < n_rows; begin += L) {
        int rows = n_rows - begin < L ? (int)(n_rows - begin) : L;
        double sums[L] = {0};
        for (int k = 0; k < width; k++)
            for (int r = 0; r < rows; r++) {
                int32_t column = columns[k * n_rows + begin + r];
                if (column >= 0) sums[r] += values[k * n_rows + begin + r] * x[column];
            }
        memcpy(y + begin, sums, (size_t)rows * sizeof *y);
    }
}

/* One face: y_r = sum over its panels of panel' x, the row block held in registers. m is a constant where
 * this is inlined. */
INLINE void facet_rows(const struct facet_plan *plan, int m, int64_t r, const double *x, double *y) {
    double sums[MAX_TRACE];
    for (int i = 0; i < m; i++) sums[i] = 0.0;
    for (int64_t p = plan->panel_first[r]; p < plan->panel_first[r + 1]; p++) {
        const double *panel = plan->values + plan->starts[p], *from = x + plan->columns[p];
        int size = plan->sizes[p];
        for (int j = 0; j < size; j++)
            for (int i = 0; i < m; i++) sums[i] += panel[j * m + i] * from[j];
    }
    for (int i = 0; i < m; i++) y[plan->first[r] + i] = sums[i];
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
        facet_rows(plan, m, r, x, y);
        break;
    }
}

void facet_apply_simd(const struct facet_plan *plan, const double *x, double *y) {
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (plan->n_rows > 64)
    for (int64_t r = 0; r < plan->n_rows; r++) facet_rows_any(plan, r, x, y);
}

/* Unknowns of the eight cells of a batch, transposed into lanes. */
INLINE void gather(int n_faces, int m, const int64_t *map, const double *x, lane *local) {
    for (int f = 0; f < n_faces; f++)
        for (int w = 0; w < L; w++) {
            int64_t first = map[f * L + w];
            double *to = (double *)(local + f * m) + w;
            if (first >= 0)
                for (int i = 0; i < m; i++) to[i * L] = x[first + i];
            else
                for (int i = 0; i < m; i++) to[i * L] = 0.0;
        }
}

INLINE void scatter(int n_faces, int m, const int64_t *map, const lane *local, double *y) {
    for (int f = 0; f < n_faces; f++)
        for (int w = 0; w < L; w++) {
            int64_t first = map[f * L + w];
            const double *from = (const double *)(local + f * m) + w;
            for (int i = 0; i < m && first >= 0; i++) y[first + i] += from[i * L];
        }
}

/* Both uses of every entry of one triangle, two rows at a time. */
INLINE void symmetric_product(int n, const lane *K, const lane *x, lane *y) {
    for (int i = 0; i < n; i++) y[i] = (lane){0};
    int i = 0;
    for (; i + 2 <= n; i += 2) {
        const lane *row0 = K + (int64_t)i * (i + 1) / 2, *row1 = row0 + i + 1;
        lane x0 = x[i], x1 = x[i + 1], sum0 = {0}, sum1 = {0};
        for (int j = 0; j < i; j++) {
            lane k0 = row0[j], k1 = row1[j], xj = x[j];
            sum0 += k0 * xj;
            sum1 += k1 * xj;
            y[j] += k0 * x0 + k1 * x1;
        }
        y[i] += sum0 + row0[i] * x0 + row1[i] * x1;
        y[i + 1] += sum1 + row1[i] * x0 + row1[i + 1] * x1;
    }
    for (; i < n; i++) {
        const lane *row = K + (int64_t)i * (i + 1) / 2;
        lane sum = {0};
        for (int j = 0; j < i; j++) {
            sum += row[j] * x[j];
            y[j] += row[j] * x[i];
        }
        y[i] += sum + row[i] * x[i];
    }
}

void cell_apply_simd(const struct cell_plan *plan, const double *x, double *y) {
    int n_faces = plan->n_faces, m = plan->m, n = n_faces * m;
#pragma omp parallel num_threads(base_threads()) if (plan->n_batches > 8)
    {
        lane in[MAX_TRACE], out[MAX_TRACE];
        for (int colour = 0; colour < plan->n_colours;
             colour++) { /* the barrier at the end of each keeps colours apart */
#pragma omp for schedule(static)
            for (int64_t b = plan->colour_starts[colour]; b < plan->colour_starts[colour + 1]; b++) {
                int64_t batch = plan->colour_batches[b];
                const int64_t *map = plan->maps + batch * n_faces * L;
                gather(n_faces, m, map, x, in);
                symmetric_product(n, (const lane *)plan->matrices + batch * (n * (n + 1) / 2), in, out);
                scatter(n_faces, m, map, out, y);
            }
        }
    }
}
