/* Continuous elements on bricks: vertex patches, in both precisions; the bodies stand in brick_real.h. */
#include "kernels/brick.h"

#ifdef _OPENMP
#    include <omp.h>
#endif

#include "kernels/simd/lane.h"

#define REAL        double
#define LANE        lane
#define LANES(what) lane_##what
#define TABLE       table
#define NAME(what)  what##_simd
#include "kernels/simd/brick_real.h"
#undef REAL
#undef LANE
#undef LANES
#undef TABLE
#undef NAME
#undef SIZES
#undef TO_MODES
#undef TO_NODES
#undef SOLVE_LINES

#define REAL        float
#define LANE        lane_single
#define LANES(what) lane_##what##_single
#define TABLE       single
#define NAME(what)  what##_single_simd
#include "kernels/simd/brick_real.h"
