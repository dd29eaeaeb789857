/* Plain C: the specification of the vector and matrix kernels, whose bodies stand in vector_real.h, and the
 * table of all that kernels/ref holds. */
#include "kernels/ref/ref.h"

#define REAL       double
#define NAME(what) what##_ref
#include "kernels/ref/vector_real.h"
#undef REAL
#undef NAME

#define REAL       float
#define NAME(what) what##_single_ref
#include "kernels/ref/vector_real.h"
#undef REAL
#undef NAME

static void convert_to_single_ref(int64_t n, const double *x, float *y) {
    for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
}

static void convert_to_double_ref(int64_t n, const float *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i];
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
        .facet_sweep = facet_sweep_ref,
        .facet_sweep_scratch = facet_sweep_scratch_ref,
        .facet_sweep_single = facet_sweep_single_ref,
        .cell_apply = cell_apply_ref,
        .cell_run = cell_run_ref,
        .condense_affine = condense_affine_ref,
        .condense_scratch = condense_scratch_ref,
        .condense_sum = condense_sum_ref,
        .condense_sum_scratch = condense_sum_scratch_ref,
        .batch_load = batch_load_ref,
        .batch_recover = batch_recover_ref,
        .affine_flux = affine_flux_ref,
        .fill_single = fill_single_ref,
        .axpby_single = axpby_single_ref,
        .multiply_single = multiply_single_ref,
        .dot_single = dot_single_ref,
        .csr_apply_single = csr_apply_single_ref,
        .block_apply_single = block_apply_single_ref,
        .block_smooth_single = block_smooth_single_ref,
        .cell_apply_single = cell_apply_single_ref,
        .convert_to_single = convert_to_single_ref,
        .convert_to_double = convert_to_double_ref,
        .box_step = box_step_ref,
        .box_residual = box_residual_ref,
        .box_prolong = box_prolong_ref,
        .box_restrict = box_restrict_ref,
        .box_step_single = box_step_single_ref,
        .box_residual_single = box_residual_single_ref,
        .box_prolong_single = box_prolong_single_ref,
        .box_restrict_single = box_restrict_single_ref,
        .brick_apply = brick_apply_ref,
        .brick_apply_single = brick_apply_single_ref,
        .brick_diagonal = brick_diagonal_ref,
        .brick_diagonal_single = brick_diagonal_single_ref,
        .point_sweep = point_sweep_ref,
        .point_sweep_single = point_sweep_single_ref,
        .brick_prolong = brick_prolong_ref,
        .brick_prolong_single = brick_prolong_single_ref,
        .brick_restrict = brick_restrict_ref,
        .brick_restrict_single = brick_restrict_single_ref,
        .patch_sweep = patch_sweep_ref,
        .patch_sweep_single = patch_sweep_single_ref,
        .brick_scratch = brick_scratch_ref,
        .transfer_scratch = transfer_scratch_ref,
        .patch_scratch = patch_scratch_ref,
    };
    return &table;
}
