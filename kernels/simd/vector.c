/* The same kernels with threads and vector instructions; the bodies stand in vector_real.h. Sums are taken
 * over fixed pieces, so that a result depends neither on scheduling nor on the number of threads. */
#include "kernels/ref/ref.h"
#include "kernels/simd/lane.h"

#define PIECE      4096  /* entries of one partial sum */
#define SMALL      32768 /* below this a parallel region costs more than it gains */
#define MAX_PIECES 1024

#define REAL       double
#define NAME(what) what##_simd
#define SHORT_SUM  _Pragma("omp simd reduction(+ : sum)")
#include "kernels/simd/vector_real.h"
#undef REAL
#undef NAME
#undef SHORT_SUM

/* Rows are seldom longer than a register of 16 floats: four at a time leave less to be added one by one. */
#define REAL       float
#define NAME(what) what##_single_simd
#define SHORT_SUM  _Pragma("omp simd simdlen(4) reduction(+ : sum)")
#include "kernels/simd/vector_real.h"
#undef REAL
#undef NAME
#undef SHORT_SUM

static void convert_to_single_simd(int64_t n, const double *restrict x, float *restrict y) {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
}

static void convert_to_double_simd(int64_t n, const float *restrict x, double *restrict y) {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) y[i] = x[i];
}

static void put_entries_simd(int64_t n, const int64_t *restrict places, const double *restrict values,
                             double *restrict x) {
#pragma omp parallel for num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) x[places[i]] = values != NULL ? values[i] : 0.0;
}

static void add_single_simd(int64_t n, const float *restrict x, double *restrict y) {
#pragma omp parallel for simd num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) y[i] += x[i];
}

const struct kernels *kernels_simd(void) {
    static const struct kernels table = {
        .fill = fill_simd,
        .axpby = axpby_simd,
        .multiply = multiply_simd,
        .dot = dot_simd,
        .put_entries = put_entries_simd,
        .csr_apply = csr_apply_simd,
        .block_apply = block_apply_simd,
        .block_smooth = block_smooth_simd,
        .ell_apply = ell_apply_simd,
        .facet_apply = facet_apply_simd,
        .facet_sweep = facet_sweep_simd,
        .facet_sweep_scratch = facet_sweep_scratch_simd,
        .facet_sweep_single = facet_sweep_single_simd,
        .cell_apply = cell_apply_simd,
        .cell_run = cell_run_simd,
        .condense_affine = condense_affine_simd,
        .condense_scratch = condense_scratch_simd,
        .condense_sum = condense_sum_simd,
        .condense_sum_scratch = condense_sum_scratch_simd,
        .batch_load = batch_load_simd,
        .batch_recover = batch_recover_simd,
        .affine_flux = affine_flux_simd,
        .fill_single = fill_single_simd,
        .axpby_single = axpby_single_simd,
        .multiply_single = multiply_single_simd,
        .dot_single = dot_single_simd,
        .csr_apply_single = csr_apply_single_simd,
        .block_apply_single = block_apply_single_simd,
        .block_smooth_single = block_smooth_single_simd,
        .cell_apply_single = cell_apply_single_simd,
        .convert_to_single = convert_to_single_simd,
        .convert_to_double = convert_to_double_simd,
        .add_single = add_single_simd,
        .modes_solve = modes_solve_ref, /* box/diagonalize.c has better on the host */
        .modes_scratch = modes_scratch_ref,
        .box_step = box_step_simd,
        .box_residual = box_residual_simd,
        .box_prolong = box_prolong_simd,
        .box_restrict = box_restrict_simd,
        .box_load = box_load_ref,
        .box_recover = box_recover_ref,
        .axis_apply = axis_apply_ref,
        .box_step_single = box_step_single_simd,
        .box_residual_single = box_residual_single_simd,
        .box_prolong_single = box_prolong_single_simd,
        .box_restrict_single = box_restrict_single_simd,
        .brick_apply = brick_apply_simd,
        .brick_apply_single = brick_apply_single_simd,
        .brick_diagonal = brick_diagonal_simd,
        .brick_diagonal_single = brick_diagonal_single_simd,
        .point_sweep = point_sweep_simd,
        .point_sweep_single = point_sweep_single_simd,
        .brick_prolong = brick_prolong_simd,
        .brick_prolong_single = brick_prolong_single_simd,
        .brick_restrict = brick_restrict_simd,
        .brick_restrict_single = brick_restrict_single_simd,
        .patch_sweep = patch_sweep_simd,
        .patch_sweep_single = patch_sweep_single_simd,
        .brick_scratch = brick_scratch_simd,
        .transfer_scratch = transfer_scratch_simd,
        .patch_scratch = patch_scratch_simd,
    };
    return &table;
}
