/* Expressions: the loops of kernels/expression_block.h, which the compiler turns into vector instructions.
 * A sine takes some 35 operations, so that AVX2 could do one in a nanosecond; bench `expressions` reports
 * where we are. */
#include "kernels/simd/lane.h"

#include "kernels/expression_block.h"

void OF(expression)(const struct expression_plan *plan, int64_t n, const double *x, const double *normals,
                    double *work) {
    const struct block block = {plan, (int)n, x, normals, work};
    evaluate_block(&block);
}
