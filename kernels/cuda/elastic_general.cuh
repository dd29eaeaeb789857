// Cells of elasticity whose map is curved or whose moduli vary (kernels/elastic.h), by the means of
// general_cell.cuh: integrals first, a record of numbers for every cell, then a team of warps takes a cell:
//
//   W = U^-T of M_dev = U'U, and of M_vol; V_a = W [D_a G_a] for every direction a in tiles of 8 x 8, scalar
//   functions of u, then those of the trace; of two columns of tiles all products V_a'V_b together in the
//   registers of a warp, where they become the dim x dim blocks of [S R; . H].
#ifndef FACET_CUDA_ELASTIC_GENERAL_CUH
#define FACET_CUDA_ELASTIC_GENERAL_CUH

#include "kernels/cuda/general_cell.cuh"
#include "kernels/cuda/motions.cuh"

namespace facet {

// The sizes, and where the integrals stand in the record of a cell: A, B: the masses, by columns of 8
// `blocks` numbers; X: directions x blocks x tiles, [D G]; C: tiles on or above the diagonal, [T E; . H].
struct body {
    struct elastic_general_tables t;
    struct affine_tables turns;
    int dim, N, Nu, m, n_face, rows,
        n;                    // n_face: scalar functions of the trace; rows, n: unknowns of u, of the trace
    int blocks, inner, tiles; // of eight: of the phi; of the functions of u; of all columns
    int n_W, n_V;             // numbers of W, of V in one direction
    int A, B, X, C, size;
    int masses;
};
body body_of(const struct elastic_general_tables *t, bool vol);

// Scratch of a call, as general_room.
struct body_room {
    double *O, *slices, *records;
};
body_room body_room_of(const struct elastic_general_tables *t, double *scratch);
// The integrals of all its records, a piece of the batches at a time, and `work` on these.
// own: of functions that the cells have for themselves.
struct integrals body_integrals(const body &b, const struct elastic_general_cells *g,
                                struct own_integrals *own);
void body_turns(const body &b, double *O, const char *what);
// Numbers of a cell at work, in either use.
int64_t body_condense_size(const body &b);
int64_t body_solve_size(const body &b);

namespace {

constexpr int MANY_NUMBERS = 8000; // from here on eight warps take a cell

__host__ __device__ inline int64_t projection_size(const body &b) {
    return (int64_t)(b.m + 3) / 4 * 4 * ((b.m + b.Nu + 7) / 8 * 8 + 12);
}

__device__ __forceinline__ record_place stabilization_of(const body &b) {
    return {b.C, 0, b.tiles, true};
}

// W of both masses, and V of all directions for each, one after the other. Returns whether the masses are
// positive definite.
template <class T>
__device__ __forceinline__ bool make_V(const body &b, const T &team, const double *record, int ld, double *W,
                                       double *V) {
    bool good = true;
    for (int mass = 0; mass < b.masses; mass++)
        good = invert_mass(b.N, team, record + (mass == 0 ? b.A : b.B), ld, V, W + mass * b.n_W) && good;
    for (int part = 0; part < b.masses * b.dim; part++) {
        const double2 *X = (const double2 *)(record + b.X + part % b.dim * b.n_V) + team.lane;
        half_solve(
            team, b.blocks, W + part / b.dim * b.n_W, b.tiles,
            [&](int k, int j) { return __ldg(X + (k * b.tiles + j) * 32); }, V + (int64_t)part * b.n_V);
    }
    team.sync();
    return good;
}

// T (one triangle) = -sum over the faces of E H^-1 E'. work: projection_size. Returns whether the H are
// positive definite.
template <class T>
__device__ __forceinline__ bool project(const body &b, const T &team, const double *record, double *work,
                                        double *to) {
    const record_place at = stabilization_of(b);
    const int m = b.m, Nu = b.Nu, ld = (m + Nu + 7) / 8 * 8 + 12;
    bool good = true;
    for (int f = 0; f < b.t.sizes.n_faces; f++) {
        const int trace = 8 * b.inner + f * m;
        for (int e = team.thread; e < m * (m + Nu); e += T::THREADS) {
            const int i = e / (m + Nu), j = e % (m + Nu);
            if (j >= i) // of H one triangle, of E all
                work[i * ld + j] = __ldg(
                    record + (j < m ? place_in(at, trace + i, trace + j) : place_in(at, j - m, trace + i)));
        }
        clear_padding(team, m, ld, work);
        team.sync();
        good = eliminate<false>(team, m, m + Nu, ld, work) && good;
        subtract_gram(
            team, m, Nu, ld, work + m,
            [&](int i) {
                return [row = to + triangle_row(i), first = f == 0](int j) { return first ? 0.0 : row[j]; };
            },
            [&](int i, int j, double x) { to[triangle_row(i) + j] = x; });
        team.sync();
    }
    return good;
}

// put(c, x, d, y, entry) of [S R; . H]: of component c, scalar function x, and d, y, every pair once, of the
// functions of the first `tiles` tiles. numbers: of the cell; projected: of `project`.
template <int DIM, class T, class Put>
__device__ __forceinline__ void make_entries(const body &b, const T &team, int tiles, const double *record,
                                             const double *projected, const double *numbers, const double *V,
                                             const Put &put) {
    const int g = team.lane / 4, t = team.lane % 4, trace = 8 * b.inner;
    const double alpha = numbers[E_ALPHA], delta = numbers[E_DELTA], gamma = numbers[E_GAMMA],
                 beta = numbers[E_BETA];
    int job = 0;
    for (int i = 0; i < tiles; i++)
        for (int j = i; j < tiles; j++, job++) {
            if (T::THREADS > 32 && job % (T::THREADS / 32) != team.warp) continue;
            double entry[DIM][DIM][2] = {};
            for (int mass = 0; mass < b.masses; mass++) {
                double P[DIM][DIM][2] = {};
                for (int k = 0; k < b.blocks; k++) {
                    const double2 *from = (const double2 *)(V + (int64_t)mass * DIM * b.n_V) + team.lane;
                    double2 left[DIM], right[DIM];
#pragma unroll
                    for (int a = 0; a < DIM; a++) {
                        left[a] = from[(a * b.n_V / 64 + k * b.tiles + i) * 32];
                        right[a] = from[(a * b.n_V / 64 + k * b.tiles + j) * 32];
                    }
#pragma unroll
                    for (int c = 0; c < DIM; c++)
#pragma unroll
                        for (int d = 0; d < DIM; d++) {
                            multiply_add(P[c][d], right[d].x, left[c].x);
                            multiply_add(P[c][d], right[d].y, left[c].y);
                        }
                }
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    double sum = 0.0;
#pragma unroll
                    for (int c = 0; c < DIM; c++) sum += P[c][c][r];
#pragma unroll
                    for (int c = 0; c < DIM; c++)
#pragma unroll
                        for (int d = 0; d < DIM; d++)
                            entry[c][d][r] += mass == 1 ? beta * P[c][d][r]
                                                        : alpha * P[c][d][r] + delta * P[d][c][r] +
                                                              (c == d ? gamma * sum : 0.0);
                }
            }
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const int x = 8 * i + 2 * t + r, y = 8 * j + g;
                const bool inner = y < trace;
                if ((x < trace ? x >= b.Nu : x - trace >= b.n_face) ||
                    (inner ? y >= b.Nu : y - trace >= b.n_face))
                    continue;
                double stable = 0.0;
                if (x <= y)
                    stable = inner && b.t.projects ? -projected[triangle_row(y) + x]
                                                   : __ldg(record + place_in(stabilization_of(b), x, y));
#pragma unroll
                for (int c = 0; c < DIM; c++)
#pragma unroll
                    for (int d = 0; d < DIM; d++)
                        if (i < j || c < d || (c == d && x <= y))
                            put(c, x, d, y, entry[c][d][r] + (c == d ? stable : 0.0));
            }
        }
}

// Where component c of function x of the trace stands among its unknowns.
__device__ __forceinline__ int trace_place(const body &b, int c, int x) {
    const int f = x / b.m;
    return (f * b.dim + c) * b.m + x - f * b.m;
}

template <class T>
__device__ __forceinline__ void get_numbers(const body &b, const T &team,
                                            const struct elastic_general_cells &g, int64_t batch, int lane,
                                            double *numbers, double *o) {
    const int faces = b.t.sizes.n_faces;
    for (int k = team.thread; k < N_ELASTIC_NUMBERS; k += T::THREADS)
        numbers[k] = g.numbers[(batch * N_ELASTIC_NUMBERS + k) * L + lane];
    for (int run = team.thread; run < faces * b.dim; run += T::THREADS)
        o[run] = g.orientations[(batch * faces + run / b.dim) * L + lane];
}

} // namespace
} // namespace facet
#endif
