/* The table of the kernels that have code of their own here, for one instruction set. */
#include "kernels/simd/lane.h"

#include "kernels/table.h"

#define ONE(name)  .name = ENTRY_ONE(name)
#define BOTH(name) .name = ENTRY_BOTH(name)

const struct kernels *OF(kernels)(void);
const struct kernels *OF(kernels)(void) {
    static const struct kernels table = {
        .lanes = L,
        .cells = {.run_bytes = TUNE_RUN_BYTES,
                  .colours = 1,
                  .half_rows = TUNE_HALF_ROWS,
                  .few_rows = TUNE_HALF_FEW_ROWS,
                  .cached_bytes = TUNE_HALF_BYTES},
        /* clang-format off */
        BOTH(fill), BOTH(axpby), BOTH(multiply), BOTH(dot), BOTH(narrow), BOTH(widen), BOTH(add),
        ONE(put_entries), BOTH(csr_apply), BOTH(block_apply), BOTH(block_smooth),
        BOTH(lane_smooth),
        BOTH(cell_apply), BOTH(cell_apply_full),
        ONE(cell_apply_half), ONE(cell_apply_apart), ONE(cell_halve), BOTH(row_solve),
        BOTH(part_prolong), BOTH(part_restrict), ONE(cell_lower), ONE(cell_summary),
        ONE(condense_affine), ONE(affine_solve), ONE(condense_scratch), ONE(condense_sum), ONE(sum_solve),
        ONE(condense_sum_scratch), ONE(batch_extend), ONE(condense_elastic), ONE(elastic_solve), ONE(elastic_scratch),
        ONE(condense_elastic_general), ONE(elastic_general_solve), ONE(elastic_general_scratch),
        ONE(lane_values), ONE(general_weights),
        ONE(table_apply), ONE(cell_metric), ONE(face_metric), ONE(condense_general), ONE(condense_general_scratch),
        ONE(general_solve), ONE(gradient_solve), ONE(gradient_solve_scratch), ONE(error_squares), ONE(star_weights),
        ONE(cell_balance),
        BOTH(box_step), BOTH(box_residual), BOTH(box_prolong), BOTH(box_restrict), BOTH(box_scale),
        ONE(box_diagonal), ONE(box_load), ONE(box_recover), ONE(box_balance), ONE(box_cells),
        BOTH(brick_apply), ONE(brick_scratch), BOTH(brick_diagonal), BOTH(point_sweep),
        ONE(brick_scale),
        BOTH(brick_prolong), BOTH(brick_restrict), ONE(transfer_scratch), BOTH(patch_sweep), ONE(patch_scratch),
        ONE(expression), ONE(tile_contract), ONE(tile_scratch), ONE(tile_expression), ONE(tile_gather), ONE(tile_add),
        ONE(tile_contract_extremes), ONE(tile_extremes), ONE(tile_flux), ONE(tile_divide), ONE(tile_difference),
        ONE(tile_faces),
        ONE(tensor_contract),
        /* clang-format on */
    };
    return &table;
}
