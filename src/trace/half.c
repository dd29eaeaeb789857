/* How much the rounding of element matrices to 16 bits changes their energies. See half.h.
 *
 * In units of the scales, K = A and H = A + E of a cell, E being zero on u, the constant. The largest |(v, E
 * v)| / (v, K v) is the largest eigenvalue of C^-1 E C^-T in size, with C C' = A + u u' / u'u, which is
 * positive definite also where constants have no energy. Some steps of the power method find it well enough.
 */
#include "trace/half.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "trace/sides.h"

#define SAMPLES     32
#define POWER_STEPS 16

/* One cell: its numbers `lanes` apart. */
struct cell {
    int n, lanes;
    const double *K;
    const uint16_t *s, *e, *A;
    double *C, *E; /* n x n each, column-major, lower triangles */
    double *u, *c; /* n each; c: what the rounded A lacks on u */
    double *x, *y; /* n each */
};

static facet_status cell_create(int n, int lanes, struct cell *cell) {
    facet_status status = FACET_OK;
    *cell = (struct cell){.n = n, .lanes = lanes};
    TRY(ALLOC(cell->C, (int64_t)n * n));
    TRY(ALLOC(cell->E, (int64_t)n * n));
    TRY(ALLOC(cell->u, 4 * (int64_t)n));
    cell->c = cell->u + n;
    cell->x = cell->c + n;
    cell->y = cell->x + n;
done:
    return status;
}

static void cell_destroy(struct cell *cell) {
    base_free(&cell->C);
    base_free(&cell->E);
    base_free(&cell->u);
}

static void fill(const struct cell_plan *plan, struct cell *cell) {
    const int n = cell->n, lanes = cell->lanes;
    double sum = 0.0, square = 0.0, cu = 0.0;
    memset(cell->u, 0, (size_t)n * sizeof *cell->u);
    for (int f = 0; f < plan->n_faces; f++) {
        int i = cell_plan_start(plan, f);
        cell->u[i] = plan->ones[f] * half_scale(cell->s[i * lanes]);
        sum += cell->u[i];
        square += cell->u[i] * cell->u[i];
    }
    for (int i = 0; i < n; i++) {
        cell->c[i] = HALF_UNIT * sum * half_widen(cell->e[i * lanes]);
        cu += cell->c[i] * cell->u[i];
    }
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double scale = half_scale(cell->s[i * lanes]) * (double)half_scale(cell->s[j * lanes]);
            double exact = trace_entry(cell->K, lanes, i, j) / scale;
            double half = half_widen(cell->A[half_place(n, i, j) * lanes]);
            double ui = cell->u[i] / square, uj = cell->u[j] / square;
            cell->E[(int64_t)j * n + i] = half + cell->c[i] * uj + ui * cell->c[j] - cu * ui * uj - exact;
            cell->C[(int64_t)j * n + i] = exact + cell->u[i] * uj;
        }
}

/* Infinite where K is not positive definite even so. */
static double largest(struct cell *cell) {
    const int n = cell->n;
    double value = 0.0;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, cell->C, n) != 0) return INFINITY;
    for (int i = 0; i < n; i++) cell->x[i] = 1.0 + sin(1.7 * i); /* no structure */
    for (int step = 0; step <= POWER_STEPS; step++) {
        double size = cblas_dnrm2(n, cell->x, 1);
        if (!(size > 0.0)) break;
        if (step > 0) value = size;
        cblas_dscal(n, 1.0 / size, cell->x, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, cell->C, n, cell->x, 1);
        cblas_dsymv(CblasColMajor, CblasLower, n, 1.0, cell->E, n, cell->x, 1, 0.0, cell->y, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, cell->C, n, cell->y, 1);
        memcpy(cell->x, cell->y, (size_t)n * sizeof *cell->x);
    }
    return isfinite(value) ? value : INFINITY;
}

facet_status trace_half_error(const struct trace_matrices *matrices, int64_t n_cells, int block,
                              const struct cell_plan *plan, double *error) {
    facet_status status = FACET_OK;
    const int n = matrices->n[block], lanes = matrices->lanes;
    int n_samples = n_cells < SAMPLES ? (int)n_cells : SAMPLES;
    size_t n_halves = (size_t)(plan->n_batches * half_size(n) * lanes);
    struct trace_view view = {.matrices = matrices};
    const uint16_t *halves = NULL;
    struct base_collector failures;
    double most = *error;
    base_collector_init(&failures);
    TRY(trace_view_open(matrices, &view));
    TRY(device_view(matrices->device, plan->matrices, n_halves, sizeof *halves, (const void **)&halves));
#pragma omp parallel num_threads(base_threads()) reduction(max : most)
    {
        struct cell cell;
        facet_status mine = cell_create(n, lanes, &cell);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 1)
        for (int k = 0; k < n_samples; k++) {
            int32_t number = (int32_t)((2 * (int64_t)k + 1) * n_cells / (2 * n_samples));
            if (mine != FACET_OK) continue;
            cell.K = trace_view_cell(&view, block, number);
            cell.s = halves + number / lanes * half_size(n) * lanes + number % lanes;
            cell.e = cell.s + n * lanes;
            cell.A = cell.e + n * lanes;
            fill(plan, &cell);
            most = fmax(most, largest(&cell));
        }
        cell_destroy(&cell);
    }
    TRY(base_collected(&failures));
    *error = most;
done:
    device_unview(matrices->device, plan->matrices, (const void **)&halves);
    trace_view_close(&view);
    return status;
}
