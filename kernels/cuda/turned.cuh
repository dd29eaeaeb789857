// Tables of affine cells for every orientation of a face (local.cuh), for kernels that take a cell by columns
// or as a whole.
#ifndef FACET_CUDA_TURNED_CUH
#define FACET_CUDA_TURNED_CUH

#include "kernels/cuda/local.cuh"

namespace facet {
namespace {

// Affine cells with tables for every orientation of a face, so that nothing is turned afterwards: S by
// terms and packed triangles, [F D_b'F] of a function inside and one on a face side by side, and FF for two
// orientations.
template <int DIM, int FACES> struct turned : affine<DIM, FACES> {
    static constexpr int O = DIM == 2 ? 2 : FACES == 4 ? 6 : 8, TERMS = DIM * (DIM + 1) / 2 + FACES;
    double *terms; // TERMS x N (N + 1) / 2
    double2 *R2;   // FACES O x N x 2 x m: [F D_0'F], [D_1'F D_2'F]
    double *FF;    // (FACES O)^2 x m x m
    int *where;    // N (N + 1) / 2: of entry (i, j), i <= j, in C
    static int64_t size(int N, int m) {
        const int64_t fo = FACES * O;
        return 4 + (TERMS + 1) * (int64_t)N * (N + 1) / 2 + fo * N * m * 4 + fo * fo * m * m;
    }
    turned(const struct affine_tables &tables, const struct affine_layout &layout, double *scratch)
        : affine<DIM, FACES>{tables, layout} {
        const int64_t N = tables.N, m = tables.m, fo = FACES * O;
        R2 = (double2 *)(((uintptr_t)scratch + 31) / 32 * 32);
        FF = (double *)(R2 + fo * N * 2 * m);
        terms = FF + fo * fo * m * m;
        where = (int *)(terms + TERMS * N * (N + 1) / 2);
    }
};

// X O for a row X of m numbers: number k of it.
__device__ double turn_row(const struct affine_tables &t, int o, const double *X, int k) {
    double sum = 0.0;
    for (int a = 0; a < t.m; a++) {
        const double entry = turn_entry(t, o, a, k);
        if (entry != 0.0) sum += X[a] * entry;
    }
    return sum;
}

template <int DIM, int FACES> __global__ void make_terms(const turned<DIM, FACES> p, int ld) {
    using P = turned<DIM, FACES>;
    const int N = p.t.N, m = p.t.m, size = N * (N + 1) / 2, start = blockIdx.x * blockDim.x + threadIdx.x;
    const int stride = gridDim.x * blockDim.x;
    for (int e = start; e < size; e += stride) {
        int i = 0, first = 0; // of row i: N - i entries
        while (e >= first + N - i) first += N - i++;
        const int j = i + e - first;
        p.where[e] = i * ld + j;
        for (int k = 0; k < P::TERMS - FACES; k++) p.terms[k * size + e] = p.t.stiffness[(k * N + i) * N + j];
        for (int f = 0; f < FACES; f++)
            p.terms[(P::TERMS - FACES + f) * size + e] = p.t.face_mass[(f * N + i) * N + j];
    }
    for (int e = start; e < FACES * P::O * N * m; e += stride) {
        const int k = e % m, i = e / m % N, fo = e / m / N, f = fo / P::O, o = fo % P::O;
        double x[4] = {turn_row(p.t, o, p.t.F + (f * N + i) * m, k), 0.0, 0.0, 0.0};
        for (int b = 0; b < DIM; b++) x[1 + b] = turn_row(p.t, o, p.t.DF + ((f * DIM + b) * N + i) * m, k);
        p.R2[e / m * 2 * m + k] = make_double2(x[0], x[1]);
        p.R2[e / m * 2 * m + m + k] = make_double2(x[2], x[3]);
    }
}

// O_f' FF_fg O_g.
template <int DIM, int FACES> __global__ void make_pairs(const turned<DIM, FACES> p) {
    using P = turned<DIM, FACES>;
    const int m = p.t.m, fo = FACES * P::O;
    const int64_t total = (int64_t)fo * fo * m * m;
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < total; e += gridDim.x * blockDim.x) {
        const int j = (int)(e % m), i = (int)(e / m % m), second = (int)(e / m / m % fo),
                  first = (int)(e / m / m / fo);
        const double *block = p.t.FF + (first / P::O * FACES + second / P::O) * m * m;
        double sum = 0.0;
        for (int a = 0; a < m; a++) {
            const double entry = turn_entry(p.t, first % P::O, a, i);
            if (entry != 0.0) sum += entry * turn_row(p.t, second % P::O, block + a * m, j);
        }
        p.FF[e] = sum;
    }
}

// Of every kept unknown: where its numbers stand in R2, and in FF as the first and as the second of two; its
// face.
template <int DIM, int FACES, class T>
__device__ __forceinline__ void prepare(const turned<DIM, FACES> &p, const T &team, const double *c,
                                        int4 *extra) {
    constexpr int O = turned<DIM, FACES>::O;
    const int m = p.t.m;
    for (int j = team.thread; j < FACES * m; j += T::THREADS) {
        const int f = j / m, k = j - f * m, fo = f * O + (int)c[p.at.orientation + f];
        extra[j] = make_int4(fo * p.t.N * 2 * m + k, fo * FACES * O * m * m + k * m, fo * m * m + k, f);
    }
}

// ld: the row length of C.
template <int DIM, int FACES>
turned<DIM, FACES> make_tables(const affine<DIM, FACES> &p, int ld, double *scratch) {
    const turned<DIM, FACES> tables(p.t, p.at, scratch);
    if (may_launch()) {
        make_terms<<<multiprocessors(), 256>>>(tables, ld);
        make_pairs<<<2 * multiprocessors(), 256>>>(tables);
        launched("condense_affine");
    }
    return tables;
}

} // namespace
} // namespace facet
#endif
