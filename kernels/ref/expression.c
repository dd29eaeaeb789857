/* The specification of expressions: exact fused multiply-adds on every processor. */
#define FUNCTIONS_FUSED
#include "kernels/ref/ref.h"

#include "kernels/expression_block.h"

void expression_ref(const struct expression_plan *plan, int64_t n, const double *x, const double *normals,
                    double *work) {
    const struct block block = {plan, (int)n, x, normals, work};
    evaluate_block(&block);
}
