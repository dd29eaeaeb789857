/* Sweeps over patches of the trace. Every panel of a patch and its inverse are read once, so the floor is
 * these bytes over the memory bandwidth: with t patches around a face that is t times the panels, and the
 * inverses. */
#include <omp.h>
#include <string.h>

#include "kernels/simd/lane.h"

#define GAP       16 /* numbers between pieces of scratch */
#define ROW_LANES 2  /* of a row block that is held in registers */

#define TEMPLATE "kernels/simd/sweep_real.h"
#include "kernels/twice.h"

int64_t OF(facet_sweep_scratch)(const struct facet_patches *p) {
    return 2 * (p->largest + GAP) * base_threads();
}
