// Vertex patches of (2k - 1)^2 nodes in two dimensions: patch.cuh with a direction less. A thread owns a line
// of M = 2k - 1 nodes, and many patches share a block.
#ifndef FACET_KERNELS_CUDA_PATCH_FLAT_CUH
#define FACET_KERNELS_CUDA_PATCH_FLAT_CUH

#include "kernels/cuda/patch.cuh"

namespace facet {

// Patches of a block, and its threads.
template <int M> constexpr int flat_patches = 128 / M;
template <int M> constexpr int flat_threads = round_up(flat_patches<M> *M);

template <typename R, int M> struct flat_shared {
    R volume[M * M];
    R X[2][M + 2];           // pairs of sums and differences of the left and the right side: [y]
    R Y[2][M];               // of the lower and the upper one: [x]
    R mass[2][M], sum[2][M]; // X by modes of y: k M, and k A + lambda M
};

template <typename R, int M, bool SHELL>
__global__ void __launch_bounds__(flat_threads<M>) flat_kernel(const __grid_constant__ patch_launch<R, M> p) {
    constexpr int E = even_of<M>, W = M + 2, NP = flat_patches<M>, NT = flat_threads<M>;
    __shared__ flat_shared<R, M> all[NP];
    __shared__ line_shared<R, M> lines;
    for (int i = threadIdx.x; i < 2 * M; i += NT) {
        lines.mu[i / M][i % M] = p.line[i / M].mu[i % M];
        lines.alpha[i / M][i % M] = p.line[i / M].alpha[i % M];
        lines.eigenvalues[i / M][i % M] = p.line[i / M].eigenvalues[i % M];
    }
    const int64_t total = (int64_t)p.count[0] * p.count[1], first = (int64_t)blockIdx.x * NP;
    const int here = total - first < NP ? (int)(total - first) : NP;
    auto node = [&](int which, int a, int b) {
        int x = p.first[0] + (int)((first + which) % p.count[0]) * (M + 1) + a,
            y = p.first[1] + (int)((first + which) / p.count[0]) * (M + 1) + b;
        if (p.wraps) {
            x = wrapped(x, p.n_nodes[0]);
            y = wrapped(y, p.n_nodes[1]);
        }
        return x + y * p.stride[0];
    };
    const int which = threadIdx.x / M, line = threadIdx.x % M;
    const bool active = which < here;
    flat_shared<R, M> &s = all[active ? which : 0];
    patch_weights weights;
    if constexpr (!SHELL) {
        const int at[3] = {(int)((first + (active ? which : 0)) % p.count[0]),
                           (int)((first + (active ? which : 0)) / p.count[0]), 0};
        weights = step_weights<R, 2>(p.step, at, (double)p.k, (double)p.lambda);
    }

    if (active) {
#pragma unroll
        for (int b = 0; b < M; b++) {
            const int64_t at = node(which, line, b);
            s.volume[b * M + line] = !SHELL && p.step.scale != nullptr ? p.b[at] * p.step.scale[at] : p.b[at];
        }
    }
    if (SHELL && active) {
        R l = p.x[node(which, line, -1)], r = p.x[node(which, line, M)];
        s.Y[0][line] = r + l;
        s.Y[1][line] = r - l;
        for (int i = line; i < W; i += M) {
            l = p.x[node(which, -1, i - 1)];
            r = p.x[node(which, M, i - 1)];
            s.X[0][i] = r + l;
            s.X[1][i] = r - l;
        }
    }
    __syncthreads();

    // Along x: the volume, and Y; X along y. A warp has lines of one kind.
    R in[M], out[M];
    if (active) line_to_modes<R, M>(p.line[0].S, s.volume + line * M, 1);
    constexpr int NS = round_up(2 * NP);
    for (int i = threadIdx.x; SHELL && i < 2 * NS; i += NT) {
        const int l = i % NS, pair = l % 2;
        if (l >= 2 * here) continue;
        flat_shared<R, M> &t = all[l / 2];
        if (i < NS) {
            const R left = t.X[pair][0], right = t.X[pair][M + 1];
#pragma unroll
            for (int j = 0; j < M; j++) in[j] = t.X[pair][j + 1];
            to_modes<R, M, true>(p.line[1].T, in, out);
#pragma unroll
            for (int b = 0; b < M; b++) {
                const R edge = b < E ? right + left : right - left, mass = out[b] + p.line[1].mu[b] * edge;
                t.mass[pair][b] = p.k * mass;
                t.sum[pair][b] =
                    p.k * (p.line[1].eigenvalues[b] * out[b] + p.line[1].alpha[b] * edge) + p.lambda * mass;
            }
        } else {
#pragma unroll
            for (int j = 0; j < M; j++) in[j] = t.Y[pair][j];
            to_modes<R, M, true>(p.line[0].T, in, out);
#pragma unroll
            for (int j = 0; j < M; j++) t.Y[pair][j] = out[j];
        }
    }
    __syncthreads();

    // Along y, into modes, divided, and back; `line` is the mode of x.
    if (active) {
        const R e = lines.eigenvalues[0][line];
#pragma unroll
        for (int i = 0; i < M; i++) in[i] = s.volume[i * M + line];
        to_modes<R, M, false>(p.line[1].S, in, out);
        R k = p.k, lambda = p.lambda;
        if constexpr (!SHELL) {
            k = (R)weights.k;
            lambda = (R)weights.lambda;
        } else {
            const R mu = lines.mu[0][line], alpha = lines.alpha[0][line], along = k * e + lambda;
            const R *mass = s.mass[line >= E], *sum = s.sum[line >= E];
            const R Y[2] = {s.Y[0][line], s.Y[1][line]};
#pragma unroll
            for (int b = 0; b < M; b++)
                out[b] -= mu * sum[b] + alpha * mass[b] +
                          (along * p.line[1].mu[b] + k * p.line[1].alpha[b]) * Y[b >= E];
        }
#pragma unroll
        for (int b = 0; b < M; b++) in[b] = out[b] / (lambda + k * (e + p.line[1].eigenvalues[b]));
        to_nodes<R, M>(p.line[1].S, in, out);
#pragma unroll
        for (int i = 0; i < M; i++) s.volume[i * M + line] = out[i];
    }
    __syncthreads();
    if (active) line_to_nodes<R, M>(p.line[0].S, s.volume + line * M, 1);
    __syncthreads();
    if (active) {
#pragma unroll
        for (int b = 0; b < M; b++) {
            const int64_t at = node(which, line, b);
            if (SHELL)
                p.x[at] = s.volume[b * M + line];
            else
                step_update<R>(p.step, weights, at, (double)s.volume[b * M + line], p.x);
        }
    }
}

} // namespace facet
#endif
