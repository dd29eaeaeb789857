// Patches of one node, those of degree 1: Gauss-Seidel on the 9 or 27 nodes around, and corrections from a
// residual.
#include "kernels/cuda/patch_plan.cuh"

namespace facet {

namespace {

template <typename R> struct point_launch {
    R M[3][3], A[3][3], k, lambda;
    int first[3], count[3];
    int64_t stride[2];
    const R *b;
    R *x;
    R modes, eigenvalues; // the square of S, and the sum of the directions
    patch_step<R> step;
};
template <typename R, int DIM> __global__ void correct_kernel(const __grid_constant__ point_launch<R> p) {
    const int ix = blockIdx.x * blockDim.x + threadIdx.x, at[3] = {ix, (int)blockIdx.y, (int)blockIdx.z};
    if (ix >= p.count[0]) return;
    const int64_t node =
        p.first[0] + 2 * ix + (p.first[1] + 2 * at[1]) * p.stride[0] + (p.first[2] + 2 * at[2]) * p.stride[1];
    const patch_weights w = step_weights<R, DIM>(p.step, at, (double)p.k, (double)p.lambda);
    R load = p.b[node];
    if (p.step.scale != nullptr) load *= p.step.scale[node];
    step_update<R>(p.step, w, node, p.modes * load / (w.lambda + w.k * p.eigenvalues), p.x);
}
template <typename R, int DIM> __global__ void point_kernel(const __grid_constant__ point_launch<R> p) {
    constexpr int begin = DIM == 3 ? 0 : 1, end = DIM == 3 ? 3 : 2; // planes of neighbours
    const int ix = blockIdx.x * blockDim.x + threadIdx.x, iy = blockIdx.y, iz = blockIdx.z;
    if (ix >= p.count[0]) return;
    const int64_t node =
        p.first[0] + 2 * ix + (p.first[1] + 2 * iy) * p.stride[0] + (p.first[2] + 2 * iz) * p.stride[1];
    R sum = p.b[node], diagonal = 1;
#pragma unroll
    for (int c = begin; c < end; c++)
#pragma unroll
        for (int b = 0; b < 3; b++)
#pragma unroll
            for (int a = 0; a < 3; a++) {
                const R mm = p.M[1][b] * p.M[2][c];
                const R w =
                    p.M[0][a] * (p.lambda * mm + p.k * (p.A[1][b] * p.M[2][c] + p.M[1][b] * p.A[2][c])) +
                    p.k * p.A[0][a] * mm;
                if (a == 1 && b == 1 && c == 1)
                    diagonal = w;
                else
                    sum -= w * p.x[node + (a - 1) + (b - 1) * p.stride[0] + (c - 1) * p.stride[1]];
            }
    p.x[node] = sum / diagonal;
}

} // namespace

template <typename R> bool run_points(const patch_call<R> &call) {
    const struct brick_patches *p = call.plan;
    point_launch<R> l;
    double modes = 1, eigenvalues = 0;
    for (int d = 0; d < 3; d++) {
        const struct brick_line *line = call.line(d);
        const struct brick_layout at = ::brick_layout(1, line->even);
        if (p->axis[d].periodic || (d > 0 && call.g[d]->first.size() >= 65536)) return false;
        for (int i = 0; i < 3; i++) {
            l.M[d][i] = (R)line->host[at.mass + i];
            l.A[d][i] = (R)line->host[at.stiffness + i];
        }
        modes *= line->host[at.S] * line->host[at.S];
        eigenvalues += line->host[at.eigenvalues];
        l.first[d] = call.g[d]->first[0];
        l.count[d] = (int)call.g[d]->first.size();
    }
    l.k = (R)p->cells->k;
    l.lambda = (R)p->cells->lambda;
    l.stride[0] = p->axis[0].n_nodes;
    l.stride[1] = (int64_t)p->axis[0].n_nodes * p->axis[1].n_nodes;
    l.b = call.b;
    l.x = call.x;
    l.modes = (R)modes;
    l.eigenvalues = (R)eigenvalues;
    l.step = step_of(call);
    const int threads = l.count[0] < 128 ? 64 : 128;
    const dim3 blocks((unsigned)((l.count[0] + threads - 1) / threads), (unsigned)l.count[1],
                      (unsigned)l.count[2]);
    const bool flat = p->axis[2].n_nodes == 1;
    auto kernel = call.correction ? (flat ? correct_kernel<R, 2> : correct_kernel<R, 3>)
                                  : (flat ? point_kernel<R, 2> : point_kernel<R, 3>);
    kernel<<<blocks, threads>>>(l);
    launched("patch_sweep");
    return true;
}
template bool run_points<double>(const patch_call<double> &);
template bool run_points<float>(const patch_call<float> &);

} // namespace facet
