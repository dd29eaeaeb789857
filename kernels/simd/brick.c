/* Continuous elements on bricks: vertex patches, in both precisions; the bodies stand in brick_real.h. */
#include "kernels/brick.h"

#ifdef _OPENMP
#    include <omp.h>
#endif

#include "kernels/ref/ref.h"
#include "kernels/simd/lane.h"

static int largest(const struct brick_patches *p) {
    int m = 1;
    for (int l = 0; l < p->n_lines; l++)
        if (p->lines[l].m > m) m = p->lines[l].m;
    return m;
}

#define REAL        double
#define LANE        lane
#define LANES(what) lane_##what
#define TABLE       table
#define NAME(what)  what##_simd
#define PLAIN(what) what##_ref
#include "kernels/simd/brick_real.h"
#undef REAL
#undef LANE
#undef LANES
#undef TABLE
#undef NAME
#undef PLAIN
#undef SIZES
#undef TO_MODES
#undef TO_NODES
#undef SOLVE_LINES

#define REAL        float
#define LANE        lane_single
#define LANES(what) lane_##what##_single
#define TABLE       single
#define NAME(what)  what##_single_simd
#define PLAIN(what) what##_single_ref
#include "kernels/simd/brick_real.h"

int64_t patch_scratch_simd(const struct brick_patches *p) {
    const int64_t lanes = base_threads() * batch_lanes_simd(largest(p)) * L, plain = patch_scratch_ref(p);
    return lanes > plain ? lanes : plain;
}
