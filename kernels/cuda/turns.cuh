// What local solvers do beside elimination (local.cuh): the functions of faces turned as a cell meets them,
// and the way back from a factor. Who calls has t (struct affine_tables), n() and at.orientation, the place
// of the orientations among the numbers c of a cell.
#ifndef FACET_CUDA_TURNS_CUH
#define FACET_CUDA_TURNS_CUH

#include "kernels/cuda/local.cuh"

namespace facet {
namespace {

// One group of functions of a face: which ones they are, and their block of O.
struct turned_group {
    const int32_t *modes;
    const double *block;
    int size;
    __device__ __forceinline__ turned_group(const struct affine_tables &t, int orientation, int group)
        : modes(t.modes + t.group_starts[group]), block(t.turns + orientation * t.n_turn),
          size(t.group_starts[group + 1] - t.group_starts[group]) {
        for (int g = 0; g < group; g++) {
            const int before = t.group_starts[g + 1] - t.group_starts[g];
            block += before * before;
        }
    }
};
constexpr int MOST_GROUP = 16; // functions of a group

// Number b of x O, x the `size` <= MOST numbers of a group.
template <int MOST>
__device__ __forceinline__ double turned_number(const double (&x)[MOST], const double *block, int size,
                                                int b) {
    double sum = 0.0;
#pragma unroll
    for (int a = 0; a < MOST; a++)
        if (a < size) sum += x[a] * __ldg(block + a * size + b);
    return sum;
}

// The two steps of `turn`, no group having more than MOST functions.
template <int MOST, class A, class T>
__device__ __forceinline__ void turn_groups(const A &p, const T &team, const double *c, double *K,
                                            double *work) {
    const struct affine_tables &t = p.t;
    const int m = t.m, n = p.n(), faces = n / m;
    // Columns: row i of the block of faces (f, g), g < f in place; of (f, f), all of it, into work.
    for (int w = team.thread; w < n * faces; w += T::THREADS) {
        const int g = w / n, i = w - g * n, f = i / m;
        if (g > f) continue;
        const double *block = t.turns + (int)c[p.at.orientation + g] * t.n_turn;
        double *to = g < f ? K + triangle_row(i) + g * m : work + i * m;
#pragma unroll 1
        for (int start = 0, group = 0, size; group < t.n_groups;
             group++, start += size, block += size * size) {
            const int32_t *modes = t.modes + start;
            double x[MOST];
            size = __ldg(t.group_starts + group + 1) - start;
#pragma unroll
            for (int a = 0; a < MOST; a++) x[a] = a < size ? entry_of(K, i, g * m + __ldg(modes + a)) : 0.0;
#pragma unroll 1
            for (int b = 0; b < size; b++) to[__ldg(modes + b)] = turned_number(x, block, size, b);
        }
    }
    team.sync();
    // Rows: column j of the block of faces (f, g).
    for (int w = team.thread; w < n * faces; w += T::THREADS) {
        const int f = w / n, j = w - f * n, g = j / m;
        if (g > f) continue;
        const double *block = t.turns + (int)c[p.at.orientation + f] * t.n_turn;
        const double *diagonal = work + f * m * m + j - g * m;
#pragma unroll 1
        for (int start = 0, group = 0, size; group < t.n_groups;
             group++, start += size, block += size * size) {
            const int32_t *modes = t.modes + start;
            double x[MOST];
            size = __ldg(t.group_starts + group + 1) - start;
#pragma unroll
            for (int a = 0; a < MOST; a++) {
                const int mode = a < size ? __ldg(modes + a) : 0;
                x[a] = a >= size ? 0.0 : g < f ? K[triangle_row(f * m + mode) + j] : diagonal[mode * m];
            }
#pragma unroll 1
            for (int b = 0; b < size; b++) {
                const int i = f * m + __ldg(modes + b);
                if (i >= j) K[triangle_row(i) + j] = turned_number(x, block, size, b);
            }
        }
    }
}

// K (one triangle) becomes O'K O, the functions of every face turned as the cell meets it. work: n m numbers.
template <class A, class T>
__device__ void turn(const A &p, const T &team, const double *c, double *K, double *work) {
    const struct affine_tables &t = p.t;
    const int m = t.m, n = p.n();
    if (t.n_groups == m) { // every O is diagonal
        for (int i = team.warp; i < n; i += T::THREADS / 32) {
            const double sign = t.turns[(int)c[p.at.orientation + i / m] * t.n_turn + i % m];
            for (int j = team.lane; j <= i; j += 32)
                K[triangle_row(i) + j] *= sign * t.turns[(int)c[p.at.orientation + j / m] * t.n_turn + j % m];
        }
        return;
    }
    int largest = 0;
    for (int g = 0; g < t.n_groups; g++) largest = max(largest, t.group_starts[g + 1] - t.group_starts[g]);
    if (largest <= 4)
        turn_groups<4>(p, team, c, K, work);
    else if (largest <= 8)
        turn_groups<8>(p, team, c, K, work);
    else
        turn_groups<MOST_GROUP>(p, team, c, K, work);
}

// to = O x (back: O'x) on all faces.
template <class A, class T>
__device__ void turn_vector(const A &p, const T &team, const double *c, bool back, const double *x,
                            double *to) {
    const struct affine_tables &t = p.t;
    for (int w = team.thread; w < p.n() / t.m * t.n_groups; w += T::THREADS) {
        const int f = w / t.n_groups;
        const turned_group of(t, (int)c[p.at.orientation + f], w % t.n_groups);
        for (int a = 0; a < of.size; a++) {
            double sum = 0.0;
            for (int b = 0; b < of.size; b++)
                sum += of.block[back ? b * of.size + a : a * of.size + b] * x[f * t.m + of.modes[b]];
            to[f * t.m + of.modes[a]] = sum;
        }
    }
}

__device__ __forceinline__ double sum_of_warp(double x) {
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL, x, offset);
    return x;
}

// Column N of C, w, becomes U^-1 w, by one warp.
__device__ void substitute_back(int lane, int N, int ld, double *C) {
    for (int k = N - 1; k >= 0; k--) {
        const double x = C[k * ld + N] * C[k * ld + k];
        __syncwarp();
        if (lane == 0) C[k * ld + N] = x;
        for (int i = lane; i < k; i += 32) C[i * ld + N] -= C[i * ld + k] * x;
        __syncwarp();
    }
}

} // namespace
} // namespace facet
#endif
