// A pack of eight cells in the product with K on a box (box_product.cu): where its numbers stand in shared
// memory, and its sums.
//
// A thread takes one cell and the modes of one parity each of i, j and k: all i, a part of the j (one of T,
// next to each other in a warp), and k one after the other. v_2 and the sums along k then stay in registers,
// and for each k a few values of v_0 and v_1 serve the whole tile of i and j. Sums along i are whole in the
// thread, those along j after an exchange between T threads; each goes back to the place of its value, which
// nobody else reads. So a mode costs one read of its weight, the same for all lanes, and a fraction of a read
// of v.
#ifndef FACET_KERNELS_CUDA_BOX_TILE_CUH
#define FACET_KERNELS_CUDA_BOX_TILE_CUH

#include "kernels/cuda/box.cuh"

namespace facet {

namespace {

constexpr int L = LANES, PAIRS = L / 2;

// Where modes stand, all known when compiled. T: threads that share the j of one parity.
template <typename R, int N, int T> struct shape {
    static constexpr int ODD = N / 2, EVEN = N - ODD, FACE = N * N, SIZE = FACE * L, THREADS = 8 * L * T;
    static constexpr int H = EVEN, J = (H + T - 1) / T;                  // modes of a tile along i, along j
    static constexpr bool FULL = N % 2 == 0 && H % T == 0;               // all tiles are
    static constexpr int LOADS = (FACE * PAIRS + THREADS - 1) / THREADS; // pairs of a face for each thread
    // Weights: for each k of a tile its H x J, and room so that neighbours are not in the same banks.
    static constexpr int VECTOR = 16 / sizeof(R), TILE = (H * J + VECTOR - 1) / VECTOR * VECTOR,
                         UNIT = H * TILE + VECTOR, WEIGHTS = 8 * T * UNIT;
    // The faces below axis 1 go through shared memory where it has room for them too.
    static constexpr bool STAGES = sizeof(R) * N < 96;
    static constexpr int RAW = (STAGES ? 4 : 3) * SIZE + FACE;
    // Layers whose addends to faces of other blocks are kept: two, where layers are short and others late, or
    // one, where shared memory is.
    static constexpr int SLOTS = N <= 6 ? 2 : 1;
    static constexpr int LATE = SIZE + (FACE + 3) / 4 * 4;
    // Behind the weights B of the three axes, gamma, and hats of the three axes.
    static constexpr int GAMMA = 3 * N, HATS = GAMMA + 6, TABLES = (WEIGHTS + HATS + 3 * N + 3) / 4 * 4;
    // Where d is formed: coefficients of the own faces, of those below axis 1, and of the one left of lane 0.
    static constexpr int COEFFICIENTS = (4 * L + 1) * KERNEL_BOX_MOMENTS;
    static __device__ __forceinline__ int first(int parity) {
        return parity ? EVEN : 0;
    }
    static __device__ __forceinline__ int count(int parity) {
        return N % 2 == 0 ? ODD : parity ? ODD : EVEN;
    }
    static __device__ __forceinline__ int block(int alpha, int beta) {
        return first(alpha) * N + count(alpha) * first(beta);
    }
    // Place of a weight in the tables of kernels/box.h, i, j and k counted within their parities.
    static __device__ int weight(int pi, int pj, int pk, int i, int j, int k) {
        const int Ni = count(pi), Nj = count(pj), Nk = count(pk);
        const int begin = first(pi) * N * N + Ni * first(pj) * N + Ni * Nj * first(pk);
        const int i0 = i / KERNEL_BOX_I * KERNEL_BOX_I, j0 = j / KERNEL_BOX_J * KERNEL_BOX_J;
        const int I = Ni - i0 < KERNEL_BOX_I ? Ni - i0 : KERNEL_BOX_I,
                  width = Nj - j0 < KERNEL_BOX_J ? Nj - j0 : KERNEL_BOX_J;
        return begin + i0 * Nj * Nk + I * j0 * Nk + (k * I + i - i0) * width + j - j0;
    }
    static constexpr size_t bytes(bool forms) {
        return (6 * SIZE + TABLES + (RAW + 3) / 4 * 4 + SLOTS * LATE + (forms ? COEFFICIENTS : 0)) *
               sizeof(R);
    }
};

// sum[0 .. M-1] of T threads that are STEP, 2 STEP .. apart: afterwards thread t holds M / T of the sums,
// from t M / T on.
template <int T, int M, int STEP, typename R> __device__ __forceinline__ void share_sums(R *sum, int t) {
    if constexpr (T > 1) {
        const bool upper = t >= T / 2;
#pragma unroll
        for (int x = 0; x < M / 2; x++) {
            const R other = __shfl_xor_sync(0xffffffffu, upper ? sum[x] : sum[M / 2 + x], STEP * T / 2);
            sum[x] = (upper ? sum[M / 2 + x] : sum[x]) + other;
        }
        share_sums<T / 2, M / 2, STEP>(sum, upper ? t - T / 2 : t);
    }
}

// Sums along i, j and k of w s and what the faces themselves contribute, in the place of their values.
// Returns the energy.
template <typename R, int N, int T>
__device__ __forceinline__ double multiply(const R (&a)[3], R k_cell, R *V, const R *W, const R *B) {
    typedef shape<R, N, T> S;
    constexpr int H = S::H, J = S::J, M = (H + T - 1) / T * T, OWN = M / T;
    const int lane = threadIdx.x % L, unit = threadIdx.x / L, t = unit % T, parities = unit / T;
    const int pj = parities & 1, pi = parities >> 1 & 1, pk = parities >> 2;
    const int ni = S::count(pi), nj = S::count(pj), nk = S::count(pk), j0 = t * J;
    auto in_i = [=](int i) { return S::FULL || i < ni; };
    auto in_j = [=](int j) { return S::FULL || j0 + j < nj; };
    R *V0 = V + pi * S::SIZE + (S::block(pj, pk) + j0 * nk) * L + lane;
    R *V1 = V + (2 + pj) * S::SIZE + S::block(pi, pk) * L + lane;
    R *V2 = V + (4 + pk) * S::SIZE + (S::block(pi, pj) + j0) * L + lane;
    W += unit * S::UNIT;
    const R *B0 = B + S::first(pi), *B1 = B + N + S::first(pj) + j0, *B2 = B + 2 * N + S::first(pk),
            *gamma = B + 3 * N;
    R v0[J], v1[M], v2[J][H], sum2[J][H], energy = 0;
    const R scale0 = k_cell * a[0], scale1 = k_cell * a[1], scale2 = k_cell * a[2];
#pragma unroll
    for (int j = 0; j < J; j++)
#pragma unroll
        for (int i = 0; i < H; i++) {
            v2[j][i] = in_i(i) && in_j(j) ? a[2] * V2[(i * nj + j) * L] : R(0);
            sum2[j][i] = 0;
        }
#pragma unroll
    for (int j = 0; j < J; j++) v0[j] = in_j(j) ? V0[j * nk * L] : R(0);
#pragma unroll
    for (int i = 0; i < M; i++) v1[i] = i < H && in_i(i) ? V1[i * nk * L] : R(0);
#pragma unroll
    for (int k = 0; k < H; k++) {
        if (N % 2 != 0 && k >= nk) continue; // of the whole warp
        R sum0[J], sum1[M];
        union {
            uint4 raw[S::TILE / S::VECTOR];
            R w[S::TILE];
        } u;
#pragma unroll
        for (int x = 0; x < S::TILE / S::VECTOR; x++) u.raw[x] = ((const uint4 *)(W + k * S::TILE))[x];
#pragma unroll
        for (int i = 0; i < M; i++) sum1[i] = 0;
#pragma unroll
        for (int j = 0; j < J; j++) {
            sum0[j] = 0;
#pragma unroll
            for (int i = 0; i < H; i++) {
                const R s = a[0] * v0[j] + (a[1] * v1[i] + v2[j][i]), w = u.w[j * H + i];
                sum0[j] += w * s;
                sum1[i] += w * s;
                sum2[j][i] += w * s;
            }
        }
        share_sums<T, M, L>(sum1, t);
        R out0[J], out1[OWN];
        const R b = B2[k], c0 = scale0 * gamma[pi] * b, c1 = scale1 * gamma[2 + pj] * b;
#pragma unroll
        for (int j = 0; j < J; j++) {
            out0[j] = c0 * (in_j(j) ? B1[j] : R(0)) * v0[j] - scale0 * sum0[j];
            energy += out0[j] * v0[j];
        }
#pragma unroll
        for (int x = 0; x < OWN; x++) {
            const int i = t * OWN + x;
            R own = v1[x];
#pragma unroll
            for (int s = 1; s < T; s++) own = t == s ? v1[s * OWN + x] : own;
            out1[x] = c1 * (i < H && in_i(i) ? B0[i] : R(0)) * own - scale1 * sum1[x];
            energy += out1[x] * own;
        }
        // The next values are read before these are written: they are not the same. Those of axis 1 are read
        // by all T threads and written by one, after sums to which each has added.
        if (k + 1 < H) {
            const bool more = N % 2 == 0 || k + 1 < nk;
#pragma unroll
            for (int j = 0; j < J; j++) v0[j] = more && in_j(j) ? V0[(j * nk + k + 1) * L] : R(0);
#pragma unroll
            for (int i = 0; i < H; i++) v1[i] = more && in_i(i) ? V1[(i * nk + k + 1) * L] : R(0);
        }
        if (T > 1) __syncwarp();
#pragma unroll
        for (int j = 0; j < J; j++)
            if (in_j(j)) V0[(j * nk + k) * L] = out0[j];
#pragma unroll
        for (int x = 0; x < OWN; x++) {
            const int i = t * OWN + x;
            if (i < H && in_i(i)) V1[(i * nk + k) * L] = out1[x];
        }
    }
    const R c2 = scale2 * gamma[4 + pk];
#pragma unroll
    for (int j = 0; j < J; j++)
#pragma unroll
        for (int i = 0; i < H; i++)
            if (in_i(i) && in_j(j)) {
                const R value = V2[(i * nj + j) * L], out = c2 * B0[i] * B1[j] * value - scale2 * sum2[j][i];
                energy += out * value;
                V2[(i * nj + j) * L] = out;
            }
    return (double)energy;
}

} // namespace

} // namespace facet

#endif
