/* Continuous elements on bricks: vertex patches, in both precisions; the bodies stand in brick_patch_real.h
 * (a batch of patches), brick_residual_real.h (residuals from cells) and brick_sweep_real.h (the steps). */
#include "kernels/brick.h"

#include <omp.h>
#include <stddef.h>

#include "kernels/simd/lane.h"

/* What is done with a batch: the whole step with the boundary form, or with residuals from cells; residuals
 * into a vector; corrections from such residuals, weighted or not. */
enum patch_work { WORK_BOUNDARY, WORK_FUSED, WORK_RESIDUAL, WORK_CORRECT, WORK_WEIGHTED };

/* Whether the patches are solved for residuals. */
static int is_plain(const struct brick_patches *p) {
    return p->variant != PATCH_BOUNDARY || p->cells->conductivity != NULL || p->cells->reaction != NULL;
}

static int largest(const struct brick_patches *p) {
    int m = 1;
    for (int l = 0; l < p->n_lines; l++)
        if (p->lines[l].m > m) m = p->lines[l].m;
    return m;
}

/* Sizes that have code of their own; the others take the general one. FACET_FEW_SIZES: a few of them, where
 * compiling is dear (tests/sanitized.cmake). */
#ifdef FACET_FEW_SIZES
#    define SIZES(F)     F(1) F(2) F(3) F(7)
#    define ROW_SIZES(F) F(3) F(7)
#else
#    define SIZES(F)                                                                                         \
        F(1)                                                                                                 \
        F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(11) F(13) F(15) F(17) F(19) F(21) F(23) F(25) F(27) F(29)
/* Lengths of rows that go between vectors and modes without a stop in memory. */
#    define ROW_SIZES(F) F(3) F(5) F(7) F(9) F(11) F(13) F(15)
#endif

#define TABLE    PICK(table, single)
#define SCALE    PICK(scale, scale_single)
#define TEMPLATE "kernels/simd/brick_sweep_real.h"
#include "kernels/twice.h"

int64_t OF(patch_scratch)(const struct brick_patches *p) {
    const int64_t batches = base_threads() * OF(batch_lanes)(largest(p), p->cells->element[0].k + 1) * L;
    if (p->variant == PATCH_BOUNDARY || p->variant == PATCH_FUSED) return batches;
    const int64_t apply = brick_scratch(p->cells, base_threads());
    return brick_whole_lanes(brick_n_nodes(p->cells)) + (batches > apply ? batches : apply);
}
