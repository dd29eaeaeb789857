// Rigid motions of a cell of elasticity: K, of which rounding (or a rule that is not exact) leaves something
// of zero on them, becomes K - W W'K - K W W' + W W'K W W'.
#ifndef FACET_CUDA_MOTIONS_CUH
#define FACET_CUDA_MOTIONS_CUH

#include "kernels/cuda/local.cuh"

namespace facet {

constexpr int MOTIONS = 6;

namespace {

// An unknown of the trace in the motions: component b, function k of a face, x by that function. Rotations
// come after the three (two) translations, and columns that are none are zero.
__device__ __forceinline__ void put_motion(int dim, int n_faces, bool rotations, int b, int k,
                                           const double (&x)[3], double *of) {
    for (int r = 0; r < dim; r++) of[r] = k == 0 && r == b ? rsqrt((double)n_faces) : 0.0;
    for (int r = 0; r < MOTIONS - dim; r++) {
        const int axis = dim == 2 ? 2 : r, from = (axis + 1) % 3, to = (axis + 2) % 3;
        const bool there = rotations && r < (dim == 2 ? 1 : 3);
        of[dim + r] = !there ? 0.0 : b == from ? -x[to] : b == to ? x[from] : 0.0;
    }
}

// Motions `of`, n rows of STEP numbers, become orthonormal, by one warp.
template <int STEP = MOTIONS>
__device__ __forceinline__ void orthonormalize(int lane, int n, int dim, bool rotations, double *of) {
    for (int r = dim; r < (rotations ? (dim == 2 ? 3 : 6) : dim); r++) {
        for (int pass = 0; pass < 2 * (r - dim); pass++) { // twice is enough
            const int before = dim + pass % (r - dim);
            double inner = 0.0;
            for (int q = lane; q < n; q += 32) inner += of[q * STEP + r] * of[q * STEP + before];
            inner = sum_of_warp(inner);
            for (int q = lane; q < n; q += 32) of[q * STEP + r] -= inner * of[q * STEP + before];
            __syncwarp();
        }
        double norm = 0.0;
        for (int q = lane; q < n; q += 32) norm += of[q * STEP + r] * of[q * STEP + r];
        norm = 1.0 / sqrt(sum_of_warp(norm));
        for (int q = lane; q < n; q += 32) of[q * STEP + r] *= norm;
        __syncwarp();
    }
}

// D (n x MOTIONS) = -K W, and those motions of which that is too much are left alone, with all that follow
// them; then D += W W'K W / 2, so that K + D W' + W D' is zero on them. entry(q, j): of K; W: `known` rows,
// the others being zero. largest: n numbers and no fewer than 36, the diagonal of K.
template <class T, class Entry>
__device__ __forceinline__ void find_lack(const T &team, int n, int known, int dim, const Entry &entry,
                                          double *of, double *D, double *largest) {
    for (int q = team.thread; q < n; q += T::THREADS) {
        double sum[MOTIONS] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
        for (int j = 0; j < known; j++) {
            const double x = entry(q, j);
#pragma unroll
            for (int r = 0; r < MOTIONS; r++) sum[r] -= x * of[j * MOTIONS + r];
        }
#pragma unroll
        for (int r = 0; r < MOTIONS; r++) D[q * MOTIONS + r] = sum[r];
    }
    team.sync();
    if (team.warp == 0) { // largest: the diagonal, then the inner products W'K W
        double norm[MOTIONS] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, most = 0.0;
        for (int q = team.lane; q < n; q += 32) {
            most = fmax(most, largest[q]);
#pragma unroll
            for (int r = 0; r < MOTIONS; r++) norm[r] += D[q * MOTIONS + r] * D[q * MOTIONS + r];
        }
        for (int offset = 16; offset > 0; offset /= 2) most = fmax(most, __shfl_xor_sync(ALL, most, offset));
        bool stays = true;
        for (int r = 0; r < MOTIONS; r++) {
            const double length = sqrt(sum_of_warp(norm[r]));
            if (r >= dim) stays = stays && length < ELASTIC_EXACT * most;
            if (stays) continue;
            for (int q = team.lane; q < known; q += 32) of[q * MOTIONS + r] = 0.0;
            for (int q = team.lane; q < n; q += 32) D[q * MOTIONS + r] = 0.0;
        }
        __syncwarp();
        for (int k = team.lane; k < MOTIONS * MOTIONS; k += 32) {
            double sum = 0.0;
            for (int q = 0; q < known; q++)
                sum -= of[q * MOTIONS + k / MOTIONS] * D[q * MOTIONS + k % MOTIONS];
            largest[k] = sum;
        }
    }
    team.sync();
    for (int q = team.thread; q < known; q += T::THREADS)
#pragma unroll
        for (int r = 0; r < MOTIONS; r++) {
            double sum = 0.0;
            for (int s = 0; s < MOTIONS; s++) sum += of[q * MOTIONS + s] * largest[s * MOTIONS + r];
            D[q * MOTIONS + r] += 0.5 * sum;
        }
    team.sync();
}

} // namespace
} // namespace facet
#endif
