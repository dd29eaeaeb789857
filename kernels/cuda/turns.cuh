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

// The two steps of `turn`: the numbers of a line of K that belong to a face, `line` being a row or a column
// of it, are replaced by x O. Of a face with itself, all of it, what the columns leave stands in `work`.
struct turned_columns {
    double *K, *work;
    int m;
    __device__ __forceinline__ bool has(int face, int other) const {
        return face <= other;
    }
    __device__ __forceinline__ double get(int face, int other, int line, int mode) const {
        return entry_of(K, line, face * m + mode);
    }
    __device__ __forceinline__ void put(int face, int other, int line, int mode, double x) const {
        (face < other ? K[triangle_row(line) + face * m + mode] : work[line * m + mode]) = x;
    }
};
struct turned_rows {
    double *K, *work;
    int m;
    __device__ __forceinline__ bool has(int face, int other) const {
        return other <= face;
    }
    __device__ __forceinline__ double get(int face, int other, int line, int mode) const {
        const int i = face * m + mode;
        return other < face ? K[triangle_row(i) + line] : work[i * m + line - other * m];
    }
    __device__ __forceinline__ void put(int face, int other, int line, int mode, double x) const {
        const int i = face * m + mode;
        if (i >= line) K[triangle_row(i) + line] = x;
    }
};

// No group has more than MOST functions.
template <int MOST, class Numbers, class A, class T>
__device__ __forceinline__ void turn_lines(const A &p, const T &team, const double *c,
                                           const Numbers &numbers) {
    const struct affine_tables &t = p.t;
    const int m = t.m, n = p.n(), faces = n / m;
    for (int w = team.thread; w < n * faces; w += T::THREADS) {
        const int face = w / n, line = w - face * n, other = line / m;
        if (!numbers.has(face, other)) continue;
        const double *block = t.turns + (int)c[p.at.orientation + face] * t.n_turn;
#pragma unroll 1
        for (int start = 0, group = 0, size; group < t.n_groups;
             group++, start += size, block += size * size) {
            const int32_t *modes = t.modes + start;
            double x[MOST];
            size = __ldg(t.group_starts + group + 1) - start;
#pragma unroll
            for (int a = 0; a < MOST; a++)
                x[a] = a < size ? numbers.get(face, other, line, __ldg(modes + a)) : 0.0;
#pragma unroll 1
            for (int b = 0; b < size; b++)
                numbers.put(face, other, line, __ldg(modes + b), turned_number(x, block, size, b));
        }
    }
}

template <int MOST, class A, class T>
__device__ __forceinline__ void turn_groups(const A &p, const T &team, const double *c, double *K,
                                            double *work) {
    turn_lines<MOST>(p, team, c, turned_columns{K, work, p.t.m});
    team.sync();
    turn_lines<MOST>(p, team, c, turned_rows{K, work, p.t.m});
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
