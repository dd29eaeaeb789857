// Expressions on the GPU: a thread evaluates all nodes of one point, whose rows it shares with its
// neighbours. Compiled with -fmad=false, so that the bits are those of the host.
#include "kernels/cuda/internal.cuh"

#include "kernels/expression_block.h"

namespace {

constexpr int THREADS = 128;

__global__ void evaluate(struct expression_plan plan, int n, const double *x, const double *normals,
                         double *work) {
    const int point = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (point >= n) return;
    const size_t at = (size_t)point * (size_t)plan.dim;
    const struct block block = {&plan, 1, x + at, normals != nullptr ? normals + at : nullptr, work + point};
    evaluate_block(&block);
}

} // namespace

void expression_cuda(const struct expression_plan *plan, int64_t n, const double *x, const double *normals,
                     double *work) {
    if (n <= 0 || !facet::may_launch()) return;
    evaluate<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS>>>(*plan, (int)n, x, normals, work);
    facet::launched("expression");
}
