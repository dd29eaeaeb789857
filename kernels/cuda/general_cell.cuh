// Local solvers of cells whose map is curved or whose data vary (kernels/general.h). Their integrals are made
// first, a record of numbers for every cell (integrals.cuh); then a team of warps takes a cell:
//
//   A = U'U and W = U^-T by elimination of [A 1]; V = W [D G] for one direction after the other; [S R; . H]
//   += V'V in registers; then the elimination of S as of affine cells (local.cuh).
//
// All of V = W X and V'V is in tiles of 8 x 8, one after the other in memory: two numbers of a lane, 2 t and
// 2 t + 1 of column g for lane 4 g + t, which are operands of the FP64 tensor cores as they are loaded, and
// what these give as it is stored. Rows of q and of u begin at a tile, and so do the unknowns of the trace.
//
// K that is a matrix and varies couples the directions: there is one A and one V for all of them then.
#ifndef FACET_CUDA_GENERAL_CELL_CUH
#define FACET_CUDA_GENERAL_CELL_CUH

#include "kernels/cuda/integrals.cuh"
#include "kernels/cuda/turns.cuh"

namespace facet {

// The sizes, and where the integrals stand in the record of a cell: A, by columns of 8 `blocks` numbers; X:
// parts x blocks x tiles, [D G] or D; C: tiles on or above the diagonal, [lambda M + T, E; . H], or without
// the trace; b: the moments of lambda.
struct shape {
    struct general_tables t;
    struct affine_tables turns;
    int N, n, rows, parts;
    int blocks, inner, tiles; // of eight: of the rows of A; of the columns of u; of all columns
    int A, X, C, b, size;
    bool full, reacts, faces;
};
shape shape_of(const struct general_tables *t, bool full, bool reacts, bool faces);
// Batches whose records, of so many numbers a cell, are at hand together.
int64_t batches_of(int64_t size);
// One part of an integral whose weights are as they come.
struct integral_part plain_part(int n, const double *left, int ld_left, const double *right, int ld_right,
                                const double *in, int64_t batch, int step);
// The integrals of all its records.
struct integrals general_integrals(const shape &s, const struct general_cells *g);

// Scratch of a call: O of all orientations, the table D of kernels/general.h by columns (both NULL: there is
// none), slices, and records. begin: makes what the tables need, and puts D into the shape.
struct general_room {
    double *O, *D, *slices, *records;
    void begin(shape *s, const char *what) const;
};
general_room general_room_of(const struct general_tables *t, bool full, double *scratch);
int64_t general_room_size(const struct general_tables *t, bool full);
// Numbers of the slices of either use.
int64_t general_condense_slices(const shape &s);
int64_t general_solve_slices(const shape &s);

namespace {

constexpr int TEAMS = 4;                       // cells of a block that one warp takes
constexpr int SMALL = 1800;                    // numbers of such a cell
constexpr int64_t SLICES = (int64_t)256 << 20; // numbers of all slices where cells do not fit, at most

// Slices, one a block, where a cell of so many numbers does not fit into shared memory; 0: it does.
inline int64_t general_slices(int64_t size) {
    return slices_of(size, 2 * multiprocessors(), SLICES);
}

// The pieces of a call: records are cleared, since places that no integral has count as zero.
template <class Work>
void by_records(const struct integrals &list, int64_t n_batches, int64_t size, double *records,
                const char *what, Work work, const struct own_integrals *own = nullptr) {
    const int64_t most = batches_of(size), n_first = n_batches < most ? n_batches : most;
    if (!good(cudaMemsetAsync(records, 0, (size_t)(n_first * size * L) * sizeof(double)), what)) return;
    for (int64_t first = 0; first < n_batches; first += most) {
        const int64_t n = n_batches - first < most ? n_batches - first : most;
        integrate(&list, first, n, size, records, what);
        if (own != nullptr) integrate_own(own, first, n, size, records, what);
        work(first, n);
    }
}

// n numbers, even, into shared memory, which come while the team does something else; and the wait for those
// of this thread.
template <class T>
__device__ __forceinline__ void fetch(const T &team, const double *from, int n, double *to) {
    for (int e = 2 * team.thread; e < n; e += 2 * T::THREADS)
        asm volatile(
            "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to + e)),
            "l"(from + e)
            : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
}
__device__ __forceinline__ void wait_for_fetched() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// ------------------------------------------------------------------------------------ W

__host__ __device__ inline int triangle_tiles(int blocks) {
    return blocks * (blocks + 1) / 2;
}

// [U W] of A = U'U in `work`, rows of ld numbers, W = U^-T; and W in tiles by rows, lower ones, in `tiles`.
// Returns whether A is positive definite.
template <class T>
__device__ __forceinline__ bool invert_mass(int rows, const T &team, const double *A, int ld, double *work,
                                            double *tiles) {
    constexpr int WARPS = T::THREADS / 32;
    const int blocks = (rows + 7) / 8, g = team.lane / 4, t = team.lane % 4;
    for (int j = team.warp; j < rows; j += WARPS)
        for (int i = team.lane; i < rows; i += 32) {
            if (i <= j) work[i * ld + j] = __ldg(A + j * 8 * blocks + i);
            work[i * ld + rows + j] = i == j ? 1.0 : 0.0;
        }
    team.sync();
    const bool good = eliminate<false, true>(team, rows, 2 * rows, ld, work);
    const double *W = work + rows;
    int tile = 0;
    for (int i = 0; i < blocks; i++)
        for (int j = 0; j <= i; j++, tile++) {
            if (WARPS > 1 && tile % WARPS != team.warp) continue;
            const int row = 8 * i + g, column = 8 * j + 2 * t;
            double2 x;
            x.x = row < rows && column <= row ? W[row * ld + column] : 0.0;
            x.y = row < rows && column + 1 <= row ? W[row * ld + column + 1] : 0.0;
            ((double2 *)(tiles + tile * 64))[team.lane] = x;
        }
    team.sync();
    return good;
}

// ------------------------------------------------------------------------------------ V = W X

// x(k, j): tile (k, j) of X, as lanes have it; W: tiles of invert_mass.
template <class T, class X>
__device__ __forceinline__ void half_solve(const T &team, int blocks, const double *W, int tiles, const X &x,
                                           double *V) {
    constexpr int ROWS = 4; // tiles of a column that are made at once
    for (int i0 = 0; i0 < blocks; i0 += ROWS) {
        const int count = blocks - i0;
        const double2 *rows[ROWS];
#pragma unroll
        for (int e = 0; e < ROWS; e++) rows[e] = (const double2 *)W + triangle_tiles(i0 + e) * 32 + team.lane;
        for (int j = team.warp; j < tiles; j += T::THREADS / 32) {
            double v[ROWS][2] = {};
            for (int k = 0; k < i0; k++) {
                const double2 above = x(k, j);
#pragma unroll
                for (int e = 0; e < ROWS; e++)
                    if (e < count) {
                        const double2 w = rows[e][k * 32];
                        multiply_add(v[e], above.x, w.x);
                        multiply_add(v[e], above.y, w.y);
                    }
            }
#pragma unroll
            for (int q = 0; q < ROWS; q++) {
                if (q >= count) break;
                const double2 here = x(i0 + q, j);
#pragma unroll
                for (int e = q; e < ROWS; e++)
                    if (e < count) {
                        const double2 w = rows[e][(i0 + q) * 32];
                        multiply_add(v[e], here.x, w.x);
                        multiply_add(v[e], here.y, w.y);
                    }
            }
#pragma unroll
            for (int e = 0; e < ROWS; e++)
                if (e < count)
                    ((double2 *)(V + ((i0 + e) * tiles + j) * 64))[team.lane] =
                        make_double2(v[e][0], v[e][1]);
        }
    }
}

// ------------------------------------------------------------------------------------ V'V

// Squares of SIDE x SIDE tiles on or above the diagonal, row by row.
template <int SIDE> __host__ __device__ inline int squares_of(int tiles) {
    return triangle_tiles((tiles + SIDE - 1) / SIDE);
}

// One of them, of a matrix of `tiles` columns of tiles: what a warp has of V'V. ALONE: there is one only.
template <int SIDE, bool ALONE = false> struct square {
    int i, j, tiles; // its first tile
    double sum[SIDE][SIDE][2];

    __device__ __forceinline__ square(int n_tiles, int number) : i(0), j(number), tiles(n_tiles) {
        if (ALONE) {
            j = 0;
            return;
        }
        const int across = (n_tiles + SIDE - 1) / SIDE;
        while (i < across && j >= across) { // beyond the last: without a tile
            i++;
            j += i - across;
        }
        i *= SIDE;
        j *= SIDE;
    }
    // Whether tile (i0 + a, j0 + b) is one of the matrix, on or above its diagonal.
    __device__ __forceinline__ bool has(int i0, int j0, int a, int b) const {
        return (!ALONE || a <= b) && j0 + b < tiles && i0 + a <= j0 + b;
    }
    // from(i, j): tile (i, j) of what the sums begin with, as lanes have it.
    template <class From> __device__ __forceinline__ void begin(const From &from) {
        const int i0 = again(i), j0 = again(j);
#pragma unroll
        for (int a = 0; a < SIDE; a++)
#pragma unroll
            for (int b = 0; b < SIDE; b++) {
                const double2 x = has(i0, j0, a, b) ? from(i0 + a, j0 + b) : make_double2(0.0, 0.0);
                sum[a][b][0] = x.x;
                sum[a][b][1] = x.y;
            }
    }
    // DIAGONAL: i = j.
    template <bool DIAGONAL> __device__ __forceinline__ void add(int lane, int blocks, const double *V) {
        for (int k = 0; k < blocks; k++, V += tiles * 64) {
            const double2 *row = (const double2 *)V + lane;
            double2 left[SIDE];
#pragma unroll
            for (int a = 0; a < SIDE; a++) left[a] = row[(i + a < tiles ? i + a : i) * 32];
#pragma unroll
            for (int b = 0; b < SIDE; b++) {
                if (j + b >= tiles) break;
                const double2 right = DIAGONAL ? left[b] : row[(j + b) * 32];
#pragma unroll
                for (int a = 0; a < (DIAGONAL ? b + 1 : SIDE); a++)
                    multiply_add(sum[a][b], right.x, left[a].x);
#pragma unroll
                for (int a = 0; a < (DIAGONAL ? b + 1 : SIDE); a++)
                    multiply_add(sum[a][b], right.y, left[a].y);
            }
        }
    }
    __device__ __forceinline__ void add(int lane, int blocks, const double *V) {
        if (j >= tiles) return;
        if (ALONE || i == j)
            add<true>(lane, blocks, V);
        else
            add<false>(lane, blocks, V);
    }
    // to(row, column, sum) of the entries on or above the diagonal.
    template <class To> __device__ __forceinline__ void give(int lane, const To &to) const {
        const int i0 = again(i), j0 = again(j), t = again(lane) % 4, g = again(lane) / 4;
#pragma unroll
        for (int a = 0; a < SIDE; a++)
#pragma unroll
            for (int b = 0; b < SIDE; b++) {
                const int row = 8 * (i0 + a) + 2 * t, column = 8 * (j0 + b) + g;
                if (!has(i0, j0, a, b)) continue;
                if (row <= column) to(row, column, sum[a][b][0]);
                if (row + 1 <= column) to(row + 1, column, sum[a][b][1]);
            }
    }
};

// ------------------------------------------------------------------------------------ turns

// Tiles of a face's functions, no more than so many.
constexpr int MOST_FACE_TILES = 4;
__host__ __device__ inline int face_tiles(int m) {
    return (m + 7) / 8;
}

// `to` = O'K O, both one triangle; O: whole matrices of all orientations, 8 TILES numbers a side, zero beyond
// m, so that any numbers of K will do there. A warp takes eight columns of a pair of faces.
template <int TILES, class T>
__device__ __forceinline__ void turn_tiles(const T &team, int faces, int m, const double *O, const double *o,
                                           const double *K, double *to) {
    constexpr int SIDE = 8 * TILES, WARPS = T::THREADS / 32;
    const int g = team.lane / 4, t = team.lane % 4, jobs = faces * (faces + 1) / 2 * TILES;
    for (int job = team.warp; job < jobs; job += WARPS) {
        const int j = job % TILES;
        int f = 0, h = job / TILES;
        while (h > f) h -= ++f; // the pair: f >= h
        const double *first = O + (int)o[f] * SIDE * SIDE + 2 * t * SIDE + g,
                     *second = O + (int)o[h] * SIDE * SIDE + t * SIDE + 8 * j + g;
        int row[TILES];
        double half[TILES][2] = {}; // K_fh O_h
#pragma unroll
        for (int i = 0; i < TILES; i++) row[i] = f * m + (8 * i + g < m ? 8 * i + g : m - 1);
        for (int k = 0; k < m; k += 4) {
            const double a = __ldg(second + k * SIDE);
            const int column = h * m + (k + t < m ? k + t : m - 1);
#pragma unroll
            for (int i = 0; i < TILES; i++)
                multiply_add(
                    half[i], a,
                    K[row[i] >= column ? triangle_row(row[i]) + column : triangle_row(column) + row[i]]);
        }
#pragma unroll
        for (int i = 0; i < TILES; i++) {
            const int above = 8 * i + 2 * t, column = 8 * j + g;
            double sum[2] = {0.0, 0.0};
#pragma unroll
            for (int k = 0; k < TILES; k++) {
                multiply_add(sum, half[k][0], __ldg(first + 8 * k * SIDE + 8 * i));
                multiply_add(sum, half[k][1], __ldg(first + (8 * k + 1) * SIDE + 8 * i));
            }
            double *there = to + triangle_row(f * m + above) + h * m + column;
            const int least = h < f ? 0 : column; // of rows of a face with itself
            if (column < m && above < m && above >= least) there[0] = sum[0];
            if (column < m && above + 1 < m && above + 1 >= least) there[f * m + above + 1] = sum[1];
        }
    }
}

template <class T>
__device__ __forceinline__ void turn_faces(const T &team, int faces, int m, const double *O, const double *o,
                                           const double *K, double *to) {
    if (face_tiles(m) == 1)
        turn_tiles<1>(team, faces, m, O, o, K, to);
    else if (face_tiles(m) == 2)
        turn_tiles<2>(team, faces, m, O, o, K, to);
    else if (face_tiles(m) == 3)
        turn_tiles<3>(team, faces, m, O, o, K, to);
    else
        turn_tiles<MOST_FACE_TILES>(team, faces, m, O, o, K, to);
}

// turns.cuh: the orientations are all that a cell says of itself.
struct oriented {
    const struct affine_tables &t;
    int n_unknowns;
    struct {
        int orientation;
    } at;
    __device__ __forceinline__ int n() const {
        return n_unknowns;
    }
};

} // namespace
} // namespace facet
#endif
