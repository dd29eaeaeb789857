// The first two steps of the ladder of cui2024, section 4.1, beside which the last one is measured.
#include "kernels/cuda/patch_ladder.cuh"

#include "bench/papers/patch_ladder.h"

void papers_add_ladder(void) {
    using namespace facet;
    paper_steps<double>[0] = take_step<double, PATCH_KERNEL_BASIC>;
    paper_steps<double>[1] = take_step<double, PATCH_KERNEL_LINEAR>;
    paper_steps<float>[0] = take_step<float, PATCH_KERNEL_BASIC>;
    paper_steps<float>[1] = take_step<float, PATCH_KERNEL_LINEAR>;
}
