// Vertex patches on the GPU: one colour of the patches inside a uniform brick per launch.
//
// A block solves one patch (several where they are small) in shared memory, by the boundary form of
// kernels/simd/brick_patch_real.h. A thread owns a line of M = 2k - 1 nodes, holds it in registers and
// multiplies it by the even and odd blocks of the modes, which are arguments of the kernel: their entries
// come as constant operands of the multiply-add, without a load.
#ifndef FACET_KERNELS_CUDA_PATCH_CUH
#define FACET_KERNELS_CUDA_PATCH_CUH

#include <math.h>
#include <stdint.h>

#include "kernels/brick.h"

namespace facet {

template <int M> constexpr int even_of = (M + 1) / 2;
template <int M> constexpr int odd_of = M / 2;

// What one direction gives: blocks of S (rows: nodes, columns: modes) and of S'M (rows: modes), eigenvalues,
// and what the right shell node does.
template <typename R, int M> struct patch_table {
    static constexpr int E = even_of<M>, O = odd_of<M>;
    R S[E * E + O * O], T[E * E + O * O];
    R eigenvalues[M], mu[M], alpha[M];
};

// A correction from a given residual: b is the residual and x receives it. With a scale s the patch is
// approximate: the correction is damping s A_1^-1 s b, A_1 with k = 1 and the ratio of the means of lambda
// and k over the eight cells of the patch, cell (0, 0, 0) of the first patch being first_cell (arrays that
// are NULL: as for all). With inner > 0 it is step number `inner` - 1 of Chebyshev's iteration, direction d.
template <typename R> struct patch_step {
    const R *scale;
    R damping;
    int inner;
    R *d;
    const double *conductivity, *reaction;
    int first_cell[3], cells[3];
};
struct patch_weights {
    double k, lambda;   // of the separable matrix
    double alpha, beta; // of what it gives, and of the last direction
};

// The factors of a step of Chebyshev's iteration on [low, 1] (kernels/brick.h); least = 1: the first is
// exact.
__device__ inline void chebyshev(double least, int step, double *alpha, double *beta) {
    const double low = ::brick_chebyshev_low(least), theta = 0.5 * (1 + low), delta = 0.5 * (1 - low);
    double rho = delta / theta;
    *alpha = least < 1 || step == 0 ? 1 / theta : 0;
    *beta = 0;
    for (int i = 0; i < step && least < 1; i++) {
        const double over = 1 / (2 * theta - rho * delta);
        *alpha = 2 * over;
        *beta = over * delta * rho;
        rho = over * delta;
    }
}

// Mean and extremes of a coefficient over the cells of a patch.
struct patch_range {
    double mean, least, most;
};

// From what was found of k and lambda.
template <typename R>
__device__ patch_weights weights_from(const patch_step<R> &p, const patch_range &k,
                                      const patch_range &lambda) {
    patch_weights w = {k.mean, lambda.mean, 1, 0};
    if (p.inner > 0) {
        double least = k.least / k.most;
        if (lambda.most > 0 && lambda.least / lambda.most < least) least = lambda.least / lambda.most;
        w.k = k.most;
        w.lambda = lambda.most;
        chebyshev(least, p.inner - 1, &w.alpha, &w.beta);
    } else if (p.scale != nullptr) {
        w = {1, lambda.mean / k.mean, (double)p.damping, 0};
    }
    return w;
}

// For the patch with the numbers `at` inside its family, whose cells are equal in pairs; DIM directions.
template <typename R, int DIM>
__device__ patch_weights step_weights(const patch_step<R> &p, const int at[3], double k, double lambda) {
    patch_range range[2] = {{k, k, k}, {lambda, lambda, lambda}};
    for (int which = 0; which < 2; which++) {
        const double *values = which ? p.reaction : p.conductivity;
        if (values == nullptr) continue;
        double sum = 0, least = INFINITY, most = 0;
        for (int i = 0; i < 1 << DIM; i++) {
            int cell[3];
            for (int d = 0; d < 3; d++)
                cell[d] = (p.first_cell[d] + at[d] * 2 + (i >> d & 1) + p.cells[d]) % p.cells[d];
            const double value = values[((int64_t)cell[2] * p.cells[1] + cell[1]) * p.cells[0] + cell[0]];
            sum += value;
            least = fmin(least, value);
            most = fmax(most, value);
        }
        range[which] = {sum / (1 << DIM), least, most};
    }
    return weights_from(p, range[0], range[1]);
}

// x at a node from the value z there of what the separable matrix gives.
template <typename R>
__device__ __forceinline__ void step_update(const patch_step<R> &p, const patch_weights &w, int64_t at,
                                            double z, R *x) {
    R change = (R)(w.alpha * z);
    if (p.inner > 0) {
        if (w.beta != 0) change += (R)w.beta * p.d[at];
        if (p.d != nullptr) p.d[at] = change;
    } else if (p.scale != nullptr) {
        change *= p.scale[at];
    }
    x[at] += change;
}

template <typename R, int M> struct patch_launch {
    patch_table<R, M> line[3];
    R k, lambda;
    const R *inverse; // M x M x M by (c, b, a)
    const R *b;
    R *x;
    int64_t stride[2];      // of a row, of a plane of nodes
    int first[3], count[3]; // the first patch of the colour, and how many
    int n_nodes[3];         // for periodic directions
    int wraps;
    patch_step<R> step; // without the shell
};

// Sums and differences of opposite entries, and back; the middle one of an odd number counts as a sum.
template <typename R, int M> __device__ __forceinline__ void split(const R (&in)[M], R (&half)[M]) {
    constexpr int E = even_of<M>, O = odd_of<M>;
#pragma unroll
    for (int i = 0; i < O; i++) {
        half[i] = in[i] + in[M - 1 - i];
        half[E + i] = in[i] - in[M - 1 - i];
    }
    if (E > O) half[E - 1] = in[E - 1];
}

// out = C half (or C' half), block by block.
template <typename R, int M, bool TRANSPOSED>
__device__ __forceinline__ void multiply(const R *C, const R (&half)[M], R (&out)[M]) {
    constexpr int E = even_of<M>, O = odd_of<M>;
#pragma unroll
    for (int a = 0; a < E; a++) {
        R s = 0;
#pragma unroll
        for (int i = 0; i < E; i++) s += (TRANSPOSED ? C[i * E + a] : C[a * E + i]) * half[i];
        out[a] = s;
    }
#pragma unroll
    for (int a = 0; a < O; a++) {
        R s = 0;
#pragma unroll
        for (int i = 0; i < O; i++)
            s += (TRANSPOSED ? C[E * E + i * O + a] : C[E * E + a * O + i]) * half[E + i];
        out[E + a] = s;
    }
}

// Modes from nodes, C by rows of modes (ROWS) or of nodes; nodes from modes, likewise.
template <typename R, int M, bool ROWS>
__device__ __forceinline__ void to_modes(const R *C, const R (&in)[M], R (&out)[M]) {
    R half[M];
    split<R, M>(in, half);
    multiply<R, M, !ROWS>(C, half, out);
}
template <typename R, int M, bool ROWS = false>
__device__ __forceinline__ void to_nodes(const R *C, const R (&in)[M], R (&out)[M]) {
    constexpr int E = even_of<M>, O = odd_of<M>;
    R half[M];
    multiply<R, M, ROWS>(C, in, half);
#pragma unroll
    for (int i = 0; i < O; i++) {
        out[i] = half[i] + half[E + i];
        out[M - 1 - i] = half[i] - half[E + i];
    }
    if (E > O) out[E - 1] = half[E - 1];
}
// A line in place, its numbers `step` apart.
template <typename R, int M> __device__ __forceinline__ void line_to_modes(const R *S, R *line, int step) {
    R in[M], out[M];
#pragma unroll
    for (int i = 0; i < M; i++) in[i] = line[i * step];
    to_modes<R, M, false>(S, in, out);
#pragma unroll
    for (int i = 0; i < M; i++) line[i * step] = out[i];
}
template <typename R, int M> __device__ __forceinline__ void line_to_nodes(const R *S, R *line, int step) {
    R in[M], out[M];
#pragma unroll
    for (int i = 0; i < M; i++) in[i] = line[i * step];
    to_nodes<R, M>(S, in, out);
#pragma unroll
    for (int i = 0; i < M; i++) line[i * step] = out[i];
}
// The lines of a volume of M^3 numbers along 1, then along 0; a thread has line u + M v of both, if it is active.
template <typename R, int M>
__device__ __forceinline__ void planes_to_nodes(bool active, const patch_table<R, M> *line, R *volume, int u,
                                                int v) {
    if (active) line_to_nodes<R, M>(line[1].S, volume + v * M * M + u, M);
    __syncthreads();
    if (active) line_to_nodes<R, M>(line[0].S, volume + (v * M + u) * M, 1);
    __syncthreads();
}

// Patches of a block, and its threads.
template <int M> constexpr int patches_of = M *M >= 96 ? 1 : 192 / (M * M) > 16 ? 16 : 192 / (M * M);
template <int M> constexpr int threads_of = (patches_of<M> * M * M + 31) / 32 * 32;

template <typename R, int M> struct patch_shared {
    R volume[M * M * M];
    R X[2][M + 2][M + 2];       // pairs of sums and differences: [z][y]
    R Y[2][M + 2][M];           // [z][x]
    R Z[2][M][M];               // [y][x]
    R XT[2][M][M + 2];          // X along y, without its edges: [b][z]
    R edge[2][2][M];            // of X, sums and differences of the two edges: [c]
    R P0[2][M][M], Q0[2][M][M]; // [b][c]
    R P1[2][M][M], Q1[2][M][M]; // [a][c]
    R P2[2][M][M], Q2[2][M][M]; // [b][a]
};

// What threads look up at places of their own: arguments of the kernel are fast for all alike only.
template <typename R, int M> struct line_shared { R mu[3][M], alpha[3][M], eigenvalues[3][M]; };
__host__ __device__ constexpr int round_up(int n) {
    return (n + 31) / 32 * 32;
}

__device__ __forceinline__ int wrapped(int node, int n) {
    return node < 0 ? node + n : node >= n ? node - n : node;
}

template <typename R, int M, int BLOCKS, bool SHELL>
__global__ void __launch_bounds__(threads_of<M>, BLOCKS)
    patch_kernel(const __grid_constant__ patch_launch<R, M> p) {
    constexpr int E = even_of<M>, W = M + 2, NP = patches_of<M>, NT = threads_of<M>;
    extern __shared__ __align__(16) unsigned char memory[];
    const int64_t total = (int64_t)p.count[0] * p.count[1] * p.count[2];
    const int64_t first = (int64_t)blockIdx.x * NP;
    const int here = total - first < NP ? (int)(total - first) : NP;
    patch_shared<R, M> *all = reinterpret_cast<patch_shared<R, M> *>(memory);
    line_shared<R, M> &lines = *reinterpret_cast<line_shared<R, M> *>(all + NP);
    for (int i = threadIdx.x; i < 3 * M; i += NT) {
        lines.mu[i / M][i % M] = p.line[i / M].mu[i % M];
        lines.alpha[i / M][i % M] = p.line[i / M].alpha[i % M];
        lines.eigenvalues[i / M][i % M] = p.line[i / M].eigenvalues[i % M];
    }

    auto origin = [&](int which, int at[3]) {
        const int64_t patch = first + which;
        at[0] = p.first[0] + (int)(patch % p.count[0]) * (M + 1);
        at[1] = p.first[1] + (int)(patch / p.count[0] % p.count[1]) * (M + 1);
        at[2] = p.first[2] + (int)(patch / p.count[0] / p.count[1]) * (M + 1);
    };
    auto node = [&](const int at[3], int a, int b, int c) {
        int x = at[0] + a, y = at[1] + b, z = at[2] + c;
        if (p.wraps) {
            x = wrapped(x, p.n_nodes[0]);
            y = wrapped(y, p.n_nodes[1]);
            z = wrapped(z, p.n_nodes[2]);
        }
        return x + y * p.stride[0] + z * p.stride[1];
    };

    // Loads, plane by plane, and the shell in pairs across its normal.
    const int which = threadIdx.x / (M * M), line = threadIdx.x % (M * M), u = line % M, v = line / M;
    const bool active = which < here;
    patch_shared<R, M> &s = all[which < NP ? which : 0];
    int own[3];
    origin(active ? which : 0, own);
    patch_weights weights;
    if constexpr (!SHELL) {
        const int at[3] = {(own[0] - p.first[0]) / (M + 1), (own[1] - p.first[1]) / (M + 1),
                           (own[2] - p.first[2]) / (M + 1)};
        weights = step_weights<R, 3>(p.step, at, (double)p.k, (double)p.lambda);
    }
    if (active) {
        const int64_t base = node(own, u, v, 0);
#pragma unroll
        for (int c = 0; c < M; c++) {
            const int64_t at = p.wraps ? node(own, u, v, c) : base + c * p.stride[1];
            s.volume[c * M * M + line] =
                !SHELL && p.step.scale != nullptr ? p.b[at] * p.step.scale[at] : p.b[at];
        }
    }
    if (SHELL && active) {
        R l = p.x[node(own, u, v, -1)], r = p.x[node(own, u, v, M)];
        s.Z[0][v][u] = r + l;
        s.Z[1][v][u] = r - l;
        for (int i = line; i < W * W; i += M * M) {
            l = p.x[node(own, -1, i % W - 1, i / W - 1)];
            r = p.x[node(own, M, i % W - 1, i / W - 1)];
            s.X[0][i / W][i % W] = r + l;
            s.X[1][i / W][i % W] = r - l;
        }
        for (int i = line; i < W * M; i += M * M) {
            l = p.x[node(own, i % M, -1, i / M - 1)];
            r = p.x[node(own, i % M, M, i / M - 1)];
            s.Y[0][i / M][i % M] = r + l;
            s.Y[1][i / M][i % M] = r - l;
        }
    }
    __syncthreads();
    R in[M], out[M];

    // Along 0: the volume; of the shell X along 1, Y and Z along 0.
    if (active) line_to_modes<R, M>(p.line[0].S, s.volume + line * M, 1);
    // A warp has lines of one kind.
    constexpr int LX = 2 * W, LE = 4, LYZ = 2 * W + 2 * M;
    constexpr int NX = round_up(NP * LX), NE = round_up(NP * LE), NYZ = round_up(NP * LYZ);
    for (int i = threadIdx.x; SHELL && i < NX + NE + NYZ; i += NT) {
        if (i < NX) {
            if (i >= here * LX) continue;
            patch_shared<R, M> &t = all[i / LX];
            const int pair = i % LX / W, z = i % W;
#pragma unroll
            for (int j = 0; j < M; j++) in[j] = t.X[pair][z][j + 1];
            to_modes<R, M, true>(p.line[1].T, in, out);
#pragma unroll
            for (int a = 0; a < M; a++) t.XT[pair][a][z] = out[a];
        } else if (i < NX + NE) {
            const int l = i - NX;
            if (l >= here * LE) continue;
            patch_shared<R, M> &t = all[l / LE];
            const int pair = l / 2 % 2, odd = l % 2;
#pragma unroll
            for (int j = 0; j < M; j++)
                in[j] = t.X[pair][j + 1][M + 1] + (odd ? -t.X[pair][j + 1][0] : t.X[pair][j + 1][0]);
            to_modes<R, M, true>(p.line[2].T, in, out);
#pragma unroll
            for (int c = 0; c < M; c++) t.edge[pair][odd][c] = out[c];
        } else {
            int l = i - NX - NE;
            if (l >= here * LYZ) continue;
            patch_shared<R, M> &t = all[l / LYZ];
            l %= LYZ;
            R *w = l < 2 * W ? t.Y[l / W][l % W] : t.Z[(l - 2 * W) / M][(l - 2 * W) % M];
#pragma unroll
            for (int j = 0; j < M; j++) in[j] = w[j];
            to_modes<R, M, true>(p.line[0].T, in, out);
#pragma unroll
            for (int j = 0; j < M; j++) w[j] = out[j];
        }
    }
    __syncthreads();

    // Along 1: the volume; of the shell Z along 1, X and Y along 2.
    if (active) line_to_modes<R, M>(p.line[1].S, s.volume + v * M * M + u, M);
    constexpr int LS = 2 * M, NS = round_up(NP * LS);
    for (int i = threadIdx.x; SHELL && i < 3 * NS; i += NT) {
        const int kind = i / NS, l = i % NS, pair = l % LS / M, n = l % M;
        if (l >= here * LS) continue;
        patch_shared<R, M> &t = all[l / LS];
        if (kind == 0) { // X: n is the mode of y
            const int odd = n >= E;
            const R *X = &t.X[pair][0][0], mu1 = lines.mu[1][n], alpha1 = lines.alpha[1][n],
                    along = p.k * lines.eigenvalues[1][n] + p.lambda;
            const R left = t.XT[pair][n][0], right = t.XT[pair][n][M + 1];
            // corners: sum or difference across y
            const R above = X[(M + 1) * W + M + 1] + (odd ? -X[(M + 1) * W] : X[(M + 1) * W]),
                    below = X[M + 1] + (odd ? -X[0] : X[0]);
#pragma unroll
            for (int j = 0; j < M; j++) in[j] = t.XT[pair][n][j + 1];
            to_modes<R, M, true>(p.line[2].T, in, out);
#pragma unroll
            for (int c = 0; c < M; c++) {
                const R mu2 = p.line[2].mu[c], y = t.edge[pair][odd][c],
                        z = c < E ? right + left : right - left,
                        corner = c < E ? above + below : above - below;
                const R side = y + mu2 * corner, inner = out[c] + mu2 * z, MM = inner + mu1 * side;
                t.Q0[pair][n][c] = p.k * MM;
                t.P0[pair][n][c] = p.k * (p.line[2].eigenvalues[c] * (out[c] + mu1 * y) +
                                          p.line[2].alpha[c] * (z + mu1 * corner) + alpha1 * side) +
                                   along * inner + p.lambda * mu1 * side;
            }
        } else if (kind == 1) { // Y: the mode of x
            const R left = t.Y[pair][0][n], right = t.Y[pair][M + 1][n],
                    along = p.k * lines.eigenvalues[0][n] + p.lambda;
#pragma unroll
            for (int j = 0; j < M; j++) in[j] = t.Y[pair][j + 1][n];
            to_modes<R, M, true>(p.line[2].T, in, out);
#pragma unroll
            for (int c = 0; c < M; c++) {
                const R edge = c < E ? right + left : right - left;
                const R MM = out[c] + p.line[2].mu[c] * edge;
                t.Q1[pair][n][c] = p.k * MM;
                t.P1[pair][n][c] =
                    p.k * (p.line[2].eigenvalues[c] * out[c] + p.line[2].alpha[c] * edge) + along * MM;
            }
        } else { // Z: the mode of x
#pragma unroll
            for (int j = 0; j < M; j++) in[j] = t.Z[pair][j][n];
            to_modes<R, M, true>(p.line[1].T, in, out);
            const R along = p.k * lines.eigenvalues[0][n] + p.lambda;
#pragma unroll
            for (int b = 0; b < M; b++) {
                t.Q2[pair][b][n] = p.k * out[b];
                t.P2[pair][b][n] = (along + p.k * p.line[1].eigenvalues[b]) * out[b];
            }
        }
    }
    __syncthreads();

    // Along 2, into modes, divided, and back.
    if (active) {
        const int a = u, b = v;
#pragma unroll
        for (int i = 0; i < M; i++) in[i] = s.volume[i * M * M + line];
        to_modes<R, M, false>(p.line[2].S, in, out);
        if constexpr (SHELL) {
            const R mu0 = lines.mu[0][a], alpha0 = lines.alpha[0][a], mu1 = lines.mu[1][b],
                    alpha1 = lines.alpha[1][b];
            const R *P0 = s.P0[a >= E][b], *Q0 = s.Q0[a >= E][b], *P1 = s.P1[b >= E][a],
                    *Q1 = s.Q1[b >= E][a];
            const R P2[2] = {s.P2[0][b][a], s.P2[1][b][a]}, Q2[2] = {s.Q2[0][b][a], s.Q2[1][b][a]};
#pragma unroll
            for (int c = 0; c < M; c++) {
                R r = out[c];
                r -= mu0 * P0[c];
                r -= alpha0 * Q0[c];
                r -= mu1 * P1[c];
                r -= alpha1 * Q1[c];
                r -= p.line[2].mu[c] * P2[c >= E];
                r -= p.line[2].alpha[c] * Q2[c >= E];
                in[c] = r * __ldg(p.inverse + c * M * M + line);
            }
        } else {
            const R k = (R)weights.k,
                    along = (R)weights.lambda + k * (lines.eigenvalues[0][a] + lines.eigenvalues[1][b]);
#pragma unroll
            for (int c = 0; c < M; c++) in[c] = out[c] / (along + k * p.line[2].eigenvalues[c]);
        }
        to_nodes<R, M>(p.line[2].S, in, out);
#pragma unroll
        for (int i = 0; i < M; i++) s.volume[i * M * M + line] = out[i];
    }
    __syncthreads();
    planes_to_nodes<R, M>(active, p.line, s.volume, u, v);
    if (active) {
        const int64_t base = node(own, u, v, 0);
#pragma unroll
        for (int c = 0; c < M; c++) {
            const int64_t at = p.wraps ? node(own, u, v, c) : base + c * p.stride[1];
            const R value = s.volume[c * M * M + line];
            if (SHELL)
                p.x[at] = value;
            else
                step_update<R>(p.step, weights, at, (double)value, p.x);
        }
    }
}

} // namespace facet
#endif
