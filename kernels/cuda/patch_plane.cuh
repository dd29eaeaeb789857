// Vertex patches of (2k - 1)^2 nodes in two dimensions on the FP64 tensor cores, k = 2 .. 8: a warp solves a
// patch without shared memory. Read patch_tensor.cuh first: a patch is one of its planes.
//
// Every product contracts the columns of the accumulators before it. Taken as a left factor they keep their
// rows, taken as a right one these become columns; so the way back begins with x, as a right factor, and
// leaves the nodes of x in the rows.
#ifndef FACET_KERNELS_CUDA_PATCH_PLANE_CUH
#define FACET_KERNELS_CUDA_PATCH_PLANE_CUH

#include "kernels/cuda/patch_tensor.cuh"

namespace facet {

constexpr int PLANE_WARPS = 4; // a block

// What the shell adds to the loads, by modes of y and x: modes -= (A M + M A + lambda M M) X, X being zero
// inside.
template <typename R, int K>
__device__ __forceinline__ void subtract_shell(const tensor_launch<R> &p, int64_t origin,
                                               double (&modes)[2][2][2]) {
    using shape = tensor_shape<K>;
    constexpr int E = shape::E, STEPS = shape::STEPS_EDGE, TILES = shape::TILES_EDGE;
    const int q = threadIdx.x % 4, r = threadIdx.x % 32 / 4;
    double f[2][2][TILES][STEPS];
#pragma unroll
    for (int t = 0; t < TILES; t++) {
        const int column = 8 * t + swapped(r);
        const int64_t low = origin + lower_node<K, true>(column), high = origin + upper_node<K, true>(column);
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            const int row = q + 4 * s;
            const int l = lower_node<K, true>(row) * p.stride[0], h = upper_node<K, true>(row) * p.stride[0];
            double out[2][2] = {{0, 0}, {0, 0}};
            if ((row == E && column <= E) || (column == E && row < E))
                fold((double)p.x[l + low], (double)p.x[l + high], (double)p.x[h + low], (double)p.x[h + high],
                     out);
            f[0][0][t][s] = out[0][0];
            f[0][1][t][s] = out[0][1];
            f[1][0][t][s] = out[1][0];
            f[1][1][t][s] = out[1][1];
        }
    }
    double A[2][STEPS], B[2][STEPS], C[2][STEPS], D[2][STEPS];
    load_factor(p.tables->y_mass_edge, A);
    load_factor(p.tables->y_stiffness_edge, B);
    load_factor(p.tables->z_mass_edge, C); // the third line of the tables is that of x
    load_factor(p.tables->z_sum_edge, D);
#pragma unroll
    for (int pb = 0; pb < 2; pb++)
#pragma unroll
        for (int pa = 0; pa < 2; pa++) {
            double mass[TILES][2], stiffness[TILES][2], sum[2] = {0, 0};
            left_pair(A[pb], B[pb], f[pb][pa], mass, stiffness);
            right_product(mass, D[pa], sum);
            right_product(stiffness, C[pa], sum);
            modes[pb][pa][0] -= sum[0];
            modes[pb][pa][1] -= sum[1];
        }
}

template <typename R, int K, bool SHELL>
__global__ void __launch_bounds__(32 * PLANE_WARPS) plane_kernel(const __grid_constant__ tensor_launch<R> p) {
    using shape = tensor_shape<K>;
    constexpr int M = shape::M, E = shape::E, O = shape::O, STEPS = shape::STEPS;
    const int64_t number = (int64_t)blockIdx.x * PLANE_WARPS + threadIdx.x / 32;
    if (number >= (int64_t)p.count[0] * p.count[1]) return;
    const tensor_tables *t = p.tables;
    const int q = threadIdx.x % 4, r = threadIdx.x % 32 / 4;
    const int patch[3] = {(int)(number % p.count[0]), (int)(number / p.count[0]), 0};
    const int64_t origin =
        p.first[0] + patch[0] * (M + 1) + (p.first[1] + (int64_t)patch[1] * (M + 1)) * p.stride[0];

    double f[2][2][1][STEPS], modes[2][2][2];
    load_loads<R, K, SHELL>(p, origin, f);
    {
        double A[2][STEPS], B[2][STEPS];
        load_factor(t->y_modes, A);
        load_factor(t->x_modes, B);
        both_products(A, f, B, modes);
    }
    if constexpr (SHELL) subtract_shell<R, K>(p, origin, modes);

    patch_weights w = {p.k, p.lambda, 1, 0};
    if constexpr (!SHELL) w = step_weights<R, 2>(p.step, patch, p.k, p.lambda);
    double A[2][STEPS], B[2][2], out[2][2][2];
    load_factor(t->x_nodes, A);
    load_factor(t->y_nodes, B);
#pragma unroll
    for (int pb = 0; pb < 2; pb++) {
        const double e1 = __ldg(&t->e1[pb * E + r < M ? pb * E + r : 0]);
#pragma unroll
        for (int pa = 0; pa < 2; pa++) {
            double c[2] = {0, 0};
#pragma unroll
            for (int i = 0; i < STEPS; i++) {
                const double e0 = __ldg(&t->e0[pa * 8 + q + 4 * i]);
                const bool exists = r < (pb ? O : E) && q + 4 * i < (pa ? O : E);
                mma(c, A[pa][i], exists ? modes[pb][pa][i] / (w.lambda + w.k * (e0 + e1)) : 0);
            }
            out[pa][pb][0] = out[pa][pb][1] = 0;
            mma(out[pa][pb], c[0], B[pb][0]);
            mma(out[pa][pb], c[1], B[pb][1]);
        }
    }
    put_nodes<R, K, SHELL>(p, w, origin, out);
}

} // namespace facet
#endif
