/* Plain C: sweeps over patches of the trace. */
#include "kernels/ref/ref.h"

#define TEMPLATE "kernels/ref/sweep_real.h"
#include "kernels/twice.h"

int64_t facet_sweep_scratch_ref(const struct facet_patches *p) {
    return p->largest;
}
