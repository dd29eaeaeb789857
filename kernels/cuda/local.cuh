// Local solvers: the matrices of a cell as functions of its coefficients, and their elimination by a team of
// warps. C = [S R b; . H .] of a cell stands in shared memory as N rows of S, R and one more column b;
// H is made where it is needed. S = U'U is factored in panels of four rows, with which the rows below are
// updated on the FP64 tensor cores (mma.m8n8k4).
#ifndef FACET_CUDA_LOCAL_CUH
#define FACET_CUDA_LOCAL_CUH

#include <type_traits>

#include "kernels/cuda/internal.cuh"

namespace facet {
namespace {

constexpr int L = CELL_LANES;
constexpr unsigned ALL = 0xffffffffu;
constexpr size_t MOST_SHARED = 227 * 1024;

// Of a grid in which every thread goes on by all of them.
__device__ __forceinline__ int first_thread() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int all_threads() {
    return gridDim.x * blockDim.x;
}

__device__ __forceinline__ int triangle_row(int i) {
    return i * (i + 1) / 2;
}

__host__ __device__ constexpr int even(int64_t n) {
    return (int)((n + 1) / 2 * 2);
}

// Slices of scratch, one a block, where a cell of so many numbers does not fit into shared memory: no more
// than `most`, and than have `numbers` together; 0: it fits.
inline int64_t slices_of(int64_t size, int64_t most, int64_t numbers) {
    if (size * (int64_t)sizeof(double) <= (int64_t)MOST_SHARED) return 0;
    const int64_t fit = numbers / size;
    return fit < 1 ? 1 : fit < most ? fit : most;
}

// c (8 x 8) += a (8 x 4) b (4 x 8): lane 4 g + t has a at row g and column t, b at row t and column g, c at
// row g and columns 2 t and 2 t + 1.
__device__ __forceinline__ void multiply_add(double (&c)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

// The threads of a cell.
template <int WARPS> struct team {
    int thread, warp, lane;
    static constexpr int THREADS = 32 * WARPS;
    __device__ __forceinline__ void sync() const {
        if (WARPS == 1)
            __syncwarp();
        else
            __syncthreads();
    }
};

__device__ __forceinline__ double sum_of_warp(double x) {
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL, x, offset);
    return x;
}

// A number of which the compiler does not know that it has it already: what depends on it is computed where
// it is needed, and not kept in registers, which are short.
__device__ __forceinline__ int again(int n) {
    asm volatile("" : "+r"(n));
    return n;
}

// The team of this thread, in a loop over cells.
template <int WARPS> __device__ __forceinline__ team<WARPS> team_here() {
    const int thread = again(threadIdx.x);
    if (WARPS == 1) return {thread % 32, 0, thread % 32};
    return {thread, thread / 32, thread % 32};
}

} // namespace

// Local solvers in the registers of a warp (tiles.cu), with the room that their tables take; false: not of
// this size. first_bad: the first batch where S is not positive definite, or -1.
int64_t tiles_scratch(const struct affine_tables *t);
bool condense_tiles(const struct affine_tables *t, int64_t n_batches, const double *coefficients, double *K,
                    double *scratch, int64_t *first_bad);
// The same of cells with few functions inside, a column for each thread (columns.cu); the tables take the
// room of condense_scratch.
bool condense_columns(const struct affine_tables *t, int64_t n_batches, const double *coefficients, double *K,
                      double *scratch, int64_t *first_bad);

// O of every orientation of a face as a whole matrix, `side` x side numbers each, those beyond m zero
// (turns.cu).
int orientations_of(int dim, int n_faces);
void make_turns(const struct affine_tables &t, int orientations, int side, double *O, const char *what);

namespace {

// Entry (a, b) of O as the cell meets a face in orientation o.
__device__ double turn_entry(const struct affine_tables &t, int o, int a, int b) {
    const double *block = t.turns + o * t.n_turn;
    for (int g = 0; g < t.n_groups; g++) {
        const int32_t *modes = t.modes + t.group_starts[g];
        const int size = t.group_starts[g + 1] - t.group_starts[g];
        int row = -1, column = -1;
        for (int k = 0; k < size; k++) {
            if (modes[k] == a) row = k;
            if (modes[k] == b) column = k;
        }
        if (row >= 0 || column >= 0) return row >= 0 && column >= 0 ? block[row * size + column] : 0.0;
        block += size * size;
    }
    return 0.0;
}

// ------------------------------------------------------------------------------------ matrices of a cell

// Affine cells with constant data (kernels.h); c: coefficients of the cell, one after the other.
template <int DIM, int FACES> struct affine {
    struct affine_tables t;
    struct affine_layout at;
    static constexpr double SIGN = 1.0; // u = S^-1 (f + SIGN R uhat)
    __device__ __forceinline__ int N() const {
        return t.N;
    }
    __device__ __forceinline__ int n() const {
        return FACES * t.m;
    }
    __device__ __forceinline__ int count() const {
        return at.count;
    }
    __device__ __forceinline__ double S(const double *c, int i, int j) const {
        constexpr int PAIRS = DIM * (DIM + 1) / 2;
        const int place = i * t.N + j, size = t.N * t.N;
        double sum = i == j ? c[at.reaction] : 0.0;
#pragma unroll
        for (int p = 0; p < PAIRS; p++) sum += c[at.stiffness + p] * __ldg(t.stiffness + p * size + place);
#pragma unroll
        for (int f = 0; f < FACES; f++) sum += c[at.weight + f] * __ldg(t.face_mass + f * size + place);
        return sum;
    }
    __device__ __forceinline__ double R(const double *c, int i, int j) const {
        const int f = j / t.m, k = j - f * t.m, size = t.N * t.m;
        double sum = c[at.weight + f] * __ldg(t.F + f * size + i * t.m + k);
#pragma unroll
        for (int b = 0; b < DIM; b++)
            sum += c[at.gradient + f * DIM + b] * __ldg(t.DF + (f * DIM + b) * size + i * t.m + k);
        return sum;
    }
    // i <= j
    __device__ __forceinline__ double H(const double *c, int i, int j) const {
        const int f = i / t.m, g = j / t.m, pair = f * FACES + g;
        const double sum =
            c[at.normals + pair] * __ldg(t.FF + (pair * t.m + i - f * t.m) * t.m + j - g * t.m);
        return i == j ? sum + c[at.weight + f] : sum;
    }
    // K 1 = d = first + (U^-T b)' U^-T R.
    __device__ __forceinline__ double b(const double *c, int i) const {
        return i == 0 ? c[at.reaction] * sqrt(t.volume) : 0.0;
    }
    __device__ __forceinline__ double first(const double *, int) const {
        return 0.0;
    }
    __device__ __forceinline__ int n_ones() const {
        return FACES;
    }
    __device__ __forceinline__ int ones_step() const {
        return t.m;
    }
    __device__ __forceinline__ double one() const {
        return sqrt(t.face);
    }
};

// Combinations of reference matrices (kernels.h).
struct combination {
    struct sum_tables t;
    static constexpr double SIGN = -1.0;
    __device__ __forceinline__ int N() const {
        return t.N;
    }
    __device__ __forceinline__ int n() const {
        return t.n;
    }
    __device__ __forceinline__ int count() const {
        return t.n_terms + t.n_signs;
    }
    __device__ __forceinline__ double entry(const double *c, int i, int j) const {
        const int total = t.N + t.n;
        double sum = 0.0;
        for (int p = 0; p < t.n_terms; p++)
            sum += c[p] * __ldg(t.terms + ((int64_t)p * total + i) * total + j);
        return sum;
    }
    __device__ __forceinline__ double S(const double *c, int i, int j) const {
        return entry(c, i, j);
    }
    __device__ __forceinline__ double R(const double *c, int i, int j) const {
        return entry(c, i, t.N + j);
    }
    __device__ __forceinline__ double H(const double *c, int i, int j) const {
        return entry(c, t.N + i, t.N + j);
    }
    __device__ __forceinline__ double b(const double *c, int i) const {
        return -c[t.n_terms - 1] * t.moments[i];
    }
    __device__ __forceinline__ double first(const double *c, int j) const {
        return c[t.n_terms - 1] * t.moments[t.N + j];
    }
    __device__ __forceinline__ int n_ones() const {
        return t.n_ones;
    }
    __device__ __forceinline__ int ones_step() const {
        return 1;
    }
    __device__ __forceinline__ double one() const {
        return 1.0;
    }
    __device__ __forceinline__ double sign(const double *c, int j) const {
        return t.signs != nullptr && t.signs[j] >= 0 ? c[t.n_terms + t.signs[j]] : 1.0;
    }
};

// ------------------------------------------------------------------------------------ elimination

// N rows of `columns` numbers and what tiles of eight columns reach beyond; so that the 16 lanes that read a
// fragment together meet 16 banks.
inline int64_t row_length(int64_t columns) {
    int64_t length = columns + 7;
    while (length % 8 != 4) length++;
    return length;
}
inline int64_t padded_rows(int64_t N) {
    return (N + 3) / 4 * 4;
}

// Rows N .. of the last panel count as zero.
template <class T> __device__ __forceinline__ void clear_padding(const T &team, int N, int ld, double *C) {
    for (int i = N * ld + team.thread; i < (N + 3) / 4 * 4 * ld; i += T::THREADS) C[i] = 0.0;
}

// The factor of the 4 x 4 block at k0, by every thread for itself; of rows beyond the last that of 1.
struct corner {
    double u01, u02, u03, u12, u13, u23, i0, i1, i2, i3; // i: inverse diagonal
    bool good;
    __device__ __forceinline__ corner(const double *C, int ld, int k0, int rows) {
        const double *row = C + (int64_t)k0 * ld + k0;
        const double a00 = row[0];
        const double a01 = rows > 1 ? row[1] : 0.0, a11 = rows > 1 ? row[ld + 1] : 1.0;
        const double a02 = rows > 2 ? row[2] : 0.0, a12 = rows > 2 ? row[ld + 2] : 0.0,
                     a22 = rows > 2 ? row[2 * ld + 2] : 1.0;
        const double a03 = rows > 3 ? row[3] : 0.0, a13 = rows > 3 ? row[ld + 3] : 0.0,
                     a23 = rows > 3 ? row[2 * ld + 3] : 0.0, a33 = rows > 3 ? row[3 * ld + 3] : 1.0;
        i0 = rsqrt(a00);
        u01 = a01 * i0;
        u02 = a02 * i0;
        u03 = a03 * i0;
        const double d1 = a11 - u01 * u01;
        i1 = rsqrt(d1);
        u12 = (a12 - u01 * u02) * i1;
        u13 = (a13 - u01 * u03) * i1;
        const double d2 = a22 - u02 * u02 - u12 * u12;
        i2 = rsqrt(d2);
        u23 = (a23 - u02 * u03 - u12 * u13) * i2;
        const double d3 = a33 - u03 * u03 - u13 * u13 - u23 * u23;
        i3 = rsqrt(d3);
        good = a00 > 0.0 && d1 > 0.0 && d2 > 0.0 && d3 > 0.0;
    }
    // For what comes back: above the diagonal the factor, on it its inverse.
    __device__ void keep(double *C, int ld, int k0, int rows) const {
        double *row = C + (int64_t)k0 * ld + k0;
        row[0] = i0;
        if (rows > 1) row[1] = u01, row[ld + 1] = i1;
        if (rows > 2) row[2] = u02, row[ld + 2] = u12, row[2 * ld + 2] = i2;
        if (rows > 3) row[3] = u03, row[ld + 3] = u13, row[2 * ld + 3] = u23, row[3 * ld + 3] = i3;
    }
};

// S = U'U in the first N columns, U^-T applied to the others (columns in all). KEEP: U is wanted, its
// diagonal inverted. UNIT: the others are the unit matrix, whose columns are zero before their turn comes.
// Returns whether S is positive definite.
template <bool KEEP, bool UNIT = false, class T>
__device__ __forceinline__ bool eliminate(const T &team, int N, int all_columns, int ld, double *C) {
    constexpr int WARPS = T::THREADS / 32, TOGETHER = 4; // tiles that a warp has on their way
    bool good = true;
    for (int k0 = 0; k0 < N; k0 += 4) {
        const int rows = N - k0 < 4 ? N - k0 : 4, columns = UNIT ? N + k0 + rows : all_columns;
        const corner u(C, ld, k0, rows);
        good = good && u.good;
        team.sync();
        if (KEEP && team.thread == 0) u.keep(C, ld, k0, rows);
        for (int j = k0 + rows + team.thread; j < columns; j += T::THREADS) {
            double *at = C + (int64_t)k0 * ld + j;
            const double x0 = at[0] * u.i0;
            at[0] = x0;
            if (rows == 1) continue;
            const double x1 = (at[ld] - u.u01 * x0) * u.i1;
            at[ld] = x1;
            if (rows == 2) continue;
            const double x2 = (at[2 * ld] - u.u02 * x0 - u.u12 * x1) * u.i2;
            at[2 * ld] = x2;
            if (rows == 3) continue;
            at[3 * ld] = (at[3 * ld] - u.u03 * x0 - u.u13 * x1 - u.u23 * x2) * u.i3;
        }
        team.sync();
        const int begin = k0 + 4, g = team.lane / 4, t = team.lane % 4;
        const double *panel = C + (int64_t)(k0 + t) * ld + g;
        int c = team.warp; // tiles go round among the warps
        for (int r0 = begin; r0 < N; r0 += 8) {
            const int count = (columns - r0 + 7) / 8;
            const bool there = r0 + g < N;
            const double a = -panel[r0];
            double *row = C + (int64_t)(r0 + g) * ld + r0 + 2 * t;
            while (c < count) {
                double2 old[TOGETHER];
                double b[TOGETHER];
                int n = 0;
#pragma unroll
                for (int q = 0; q < TOGETHER; q++) {
                    const int tile = c + q * WARPS;
                    const bool mine = tile < count;
                    old[q] = mine && there ? *(const double2 *)(row + 8 * tile) : make_double2(0.0, 0.0);
                    b[q] = mine ? panel[r0 + 8 * tile] : 0.0;
                    n += mine;
                }
#pragma unroll
                for (int q = 0; q < TOGETHER; q++) {
                    double x[2] = {old[q].x, old[q].y};
                    if (q >= n) break;
                    multiply_add(x, a, b[q]);
                    if (there) *(double2 *)(row + 8 * (c + q * WARPS)) = make_double2(x[0], x[1]);
                }
                c += n * WARPS;
            }
            c -= count;
        }
        team.sync();
    }
    return good;
}

// put(i, j, value) of base(i)(j) - V'V for j <= i < n, tiles of 8 x 8, up to four of a row at a time; V: rows
// of ld, zeros up to a multiple of four.
template <class T, class Base, class Put>
__device__ __forceinline__ void subtract_gram(const T &team, int rows, int n, int ld, const double *V,
                                              const Base &base, const Put &put) {
    constexpr int WIDE = 4;
    const int g = team.lane / 4, t = team.lane % 4;
    const double *from = V + t * ld + g;
    int job = 0;
    for (int i0 = 0; i0 < n; i0 += 8)
        for (int j0 = 0; j0 <= i0; j0 += 8 * WIDE, job++) {
            if (T::THREADS > 32 && job % (T::THREADS / 32) != team.warp) continue;
            double sum[WIDE][2];
            const int i = i0 + g;
            const auto row = base(i < n ? i : n - 1);
#pragma unroll
            for (int q = 0; q < WIDE; q++)
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    const int j = j0 + 8 * q + 2 * t + r;
                    sum[q][r] = i < n && j <= i ? row(j) : 0.0;
                }
            for (int k = 0; k < rows; k += 4) {
                const double a = -from[k * ld + i0];
#pragma unroll
                for (int q = 0; q < WIDE; q++)
                    if (j0 + 8 * q <= i0) multiply_add(sum[q], a, from[k * ld + j0 + 8 * q]);
            }
#pragma unroll
            for (int q = 0; q < WIDE; q++)
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    const int j = j0 + 8 * q + 2 * t + r;
                    if (i < n && j <= i) put(i, j, sum[q][r]);
                }
        }
}

// ------------------------------------------------------------------------------------ launches

// What work(failed) leaves as the first batch that could not be worked on, -1: none.
template <class Work> int64_t find_failure(int64_t n_batches, Work work) {
    if (n_batches == 0 || !may_launch()) return -1;
    unsigned long long *failed = first_failure();
    if (failed == nullptr) return -1;
    work(failed);
    return failure_found(failed);
}

// As many blocks as there is room for; each takes one cell after another.
template <typename Kernel, typename... A>
void launch(Kernel kernel, const char *what, int64_t blocks, int threads, size_t bytes, A... arguments) {
    int together = 1;
    if (!allow_shared((const void *)kernel, bytes, what)) return;
    if (!good(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&together, kernel, threads, bytes), what)) return;
    const int64_t most = (int64_t)together * multiprocessors();
    kernel<<<(unsigned)(blocks < most ? blocks : most), threads, bytes>>>(arguments...);
    launched(what);
}

// A team for a cell: WARPS of them, in shared memory or with a slice of scratch.
template <int W, bool S> struct team_way {
    static constexpr int WARPS = W;
    static constexpr bool SHARED = S;
    int64_t blocks;
    int threads;
    size_t bytes;
};
// Calls work(way) with the team for cells of so many numbers: eight warps a slice where there are slices, one
// warp, `teams` cells a block, for up to `few` numbers, four beyond, and eight from `many` on (EIGHT).
template <bool EIGHT, class Work>
void by_size(int64_t size, int64_t slices, int64_t few, int64_t many, int teams, int64_t n_cells, Work work) {
    const size_t bytes = (size_t)size * sizeof(double);
    if (slices > 0) return work(team_way<8, false>{slices < n_cells ? slices : n_cells, 256, 0});
    if (size <= few) return work(team_way<1, true>{n_cells / teams, 32 * teams, teams * bytes});
    if constexpr (EIGHT)
        if (size > many) return work(team_way<8, true>{n_cells, 256, bytes});
    work(team_way<4, true>{n_cells, 128, bytes});
}

// ------------------------------------------------------------------------------------ sums of rows

__device__ __forceinline__ double &entry_of(double *K, int i, int j) {
    return i >= j ? K[triangle_row(i) + j] : K[triangle_row(j) + i];
}

// Makes K 1 = d to the last bits, 1 being `one` in the first unknown of each of n_ones groups of `step`: see
// local_restore_sums in src/hdg/condense.c.
template <class T>
__device__ __forceinline__ void restore_sums(const T &team, int n, int n_ones, int step, double one,
                                             double *d, double *K) {
    const double w = 1.0 / (n_ones * one);
    for (int i = team.thread; i < n; i += T::THREADS) {
        double sum = d[i];
        for (int f = 0; f < n_ones; f++) sum -= one * entry_of(K, i, f * step);
        d[i] = sum;
    }
    team.sync();
    double total = 0.0;
    for (int f = 0; f < n_ones; f++) total += one * d[f * step];
    for (int i = team.thread; i < n; i += T::THREADS) {
        const bool is_one = i % step == 0 && i / step < n_ones;
        const double change = w * d[i];
        for (int f = 0; f < n_ones; f++) {
            const int j = f * step;
            if (is_one && i < j) break; // with the roles exchanged
            entry_of(K, i, j) += change + (is_one ? w * d[j] - total * w * w : 0.0);
        }
    }
    team.sync();
}

} // namespace
} // namespace facet
#endif
