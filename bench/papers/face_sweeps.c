/* Sweeps over patches of the trace. Every panel of a patch and its inverse are read once, so the floor is
 * these bytes over the memory bandwidth: with t patches around a face that is t times the panels, and the
 * inverses. */
#include <omp.h>
#include <string.h>

#include "base/threads.h"
#include "bench/papers/face_patches.h"
#include "kernels/simd/lane.h"

#define GAP       16 /* numbers between pieces of scratch */
#define ROW_LANES 2  /* of a row block that is held in registers */

#undef OF
#define OF(name) name
#define TEMPLATE "bench/papers/face_sweeps_real.h"
#include "kernels/twice.h"

int64_t face_sweep_scratch(const struct face_patches *p) {
    return 2 * (p->largest + GAP) * base_threads();
}
