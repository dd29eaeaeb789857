/* Plain C: sweeps over patches of the trace. */
#include "kernels/ref/ref.h"

#define REAL       double
#define PANELS     rows.values
#define INVERSES   inverses
#define NAME(what) what##_ref
#include "kernels/ref/sweep_real.h"
#undef REAL
#undef PANELS
#undef INVERSES
#undef NAME

#define REAL       float
#define PANELS     single
#define INVERSES   inverses_single
#define NAME(what) what##_single_ref
#include "kernels/ref/sweep_real.h"
#undef REAL
#undef PANELS
#undef INVERSES
#undef NAME

int64_t facet_sweep_scratch_ref(const struct facet_patches *p) {
    return p->largest;
}
