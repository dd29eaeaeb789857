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
        BOTH(fill), BOTH(axpby), BOTH(multiply), BOTH(dot), BOTH(narrow), BOTH(widen),
        BOTH(put_entries), BOTH(csr_apply), BOTH(block_smooth),
        BOTH(lane_smooth),
        BOTH(cell_apply),
        ONE(cell_apply_half), ONE(cell_halve), BOTH(row_solve),
        BOTH(part_copy), ONE(cell_lower), ONE(cell_summary),
        ONE(condense_affine), ONE(affine_solve), ONE(condense_sum), ONE(sum_solve),
        ONE(batch_extend), ONE(condense_elastic), ONE(elastic_solve),
        ONE(condense_elastic_general), ONE(elastic_general_solve),
        ONE(lane_values), ONE(general_weights),
        ONE(table_apply), ONE(cell_metric), ONE(face_metric), ONE(condense_general),
        ONE(general_solve), ONE(gradient_solve), ONE(error_squares), ONE(star_weights),
        ONE(cell_balance),
        BOTH(box_step), BOTH(box_residual), BOTH(box_prolong), BOTH(box_restrict), BOTH(box_scale),
        ONE(box_diagonal), ONE(box_load), ONE(box_recover), ONE(box_balance), ONE(box_cells),
        BOTH(axis_apply), BOTH(box_to_lattice), BOTH(box_from_lattice),
        BOTH(brick_apply), BOTH(brick_diagonal),
        ONE(brick_scale),
        BOTH(brick_prolong), BOTH(brick_restrict), BOTH(patch_sweep),
        ONE(expression), ONE(tile_contract), ONE(tile_expression), ONE(tile_gather), ONE(tile_add),
        ONE(tile_extremes), ONE(tile_flux), ONE(tile_divide), ONE(tile_difference),
        ONE(tile_faces),
        ONE(tensor_contract),
    /* clang-format on */
#define KERNEL(result, precisions, name, parameters, arguments)
#define SCRATCH(name, parameters, arguments) .name = OF(name),
#include "kernels/kernels.def"
#undef KERNEL
    };
    return &table;
}
