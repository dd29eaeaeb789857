// Batches of small symmetric matrices in lanes, a warp for each batch: a thread has a cell (or a block of a
// face), its vectors stand in a column of shared memory, and every entry is read once, by 32 neighbours at a
// time.
#ifndef FACET_CUDA_LANES_CUH
#define FACET_CUDA_LANES_CUH

#include "kernels/cuda/internal.cuh"
#include "kernels/everywhere.h"

namespace facet {
namespace {

constexpr int L = CELL_LANES;
// Of a row of 32 numbers in shared memory: an unknown of 32 cells is read as a row and, where a face is
// brought in or taken out, a cell as a column; neither meets a bank twice.
constexpr int PITCH = L + 1;
constexpr unsigned ALL = 0xffffffffu;

// Vectors of `rows` unknowns of a batch, two of them a warp.
template <typename R> size_t lane_bytes(int rows) {
    return 2 * (size_t)rows * PITCH * sizeof(R);
}
constexpr size_t MOST_SHARED = 227 * 1024;
// Warps of a block: one where a batch needs much room, so that little of a multiprocessor's is left over.
inline int warps_for(size_t bytes) {
    return bytes > 6 * 1024 ? 1 : 4;
}

__device__ __forceinline__ int64_t number_of_thread() {
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
inline unsigned blocks_of(int64_t threads, int per_block) {
    return (unsigned)((threads + per_block - 1) / per_block);
}

// The place of row i of one triangle.
__device__ __forceinline__ int64_t row_of(int i) {
    return (int64_t)i * (i + 1) / 2;
}

// y = A x of the thread's matrix, one triangle by rows, entries L apart; x and y PITCH apart. ROWS x 4
// entries at a time, all of which are on their way before the first is used: for small matrices, of which
// many warps are at work (blocks of faces on an H200: 0.91 to 0.98 of a copy for 3 to 10 rows, 0.58 to 0.71
// with tiles ahead).
template <int ROWS, typename R>
__device__ __forceinline__ void symmetric_product(int n, const R *__restrict__ A, const R *x, R *y) {
    for (int i0 = 0; i0 < n; i0 += ROWS) {
        R xi[ROWS], sum[ROWS], e[ROWS][4];
        const R *row[ROWS];
#pragma unroll
        for (int a = 0; a < ROWS; a++) {
            const int i = i0 + a < n ? i0 + a : n - 1; // rows beyond the last read it again, times zero
            xi[a] = i0 + a < n ? x[i * PITCH] : R(0);
            row[a] = A + row_of(i) * L;
            sum[a] = 0;
        }
#pragma unroll 1
        for (int j0 = 0; j0 < i0; j0 += 4) {
#pragma unroll
            for (int a = 0; a < ROWS; a++)
#pragma unroll
                for (int b = 0; b < 4; b++) e[a][b] = __ldcs(row[a] + (j0 + b) * L);
#pragma unroll
            for (int b = 0; b < 4; b++) {
                const R xj = x[(j0 + b) * PITCH];
                R yj = y[(j0 + b) * PITCH];
#pragma unroll
                for (int a = 0; a < ROWS; a++) {
                    yj += e[a][b] * xi[a];
                    sum[a] += e[a][b] * xj;
                }
                y[(j0 + b) * PITCH] = yj;
            }
        }
        // The diagonal block, whose lower triangle is there.
        R d[ROWS][ROWS];
#pragma unroll
        for (int a = 0; a < ROWS; a++)
#pragma unroll
            for (int b = 0; b <= a; b++) d[a][b] = i0 + a < n ? __ldcs(row[a] + (i0 + b) * L) : R(0);
#pragma unroll
        for (int a = 0; a < ROWS; a++)
#pragma unroll
            for (int b = 0; b <= a; b++) {
                sum[a] += d[a][b] * xi[b];
                if (b < a) sum[b] += d[a][b] * xi[a];
            }
#pragma unroll
        for (int a = 0; a < ROWS; a++)
            if (i0 + a < n) y[(i0 + a) * PITCH] = sum[a];
    }
}

// A tile of ROWS x 4 entries of one triangle by rows, L apart: rows i0 .., columns j0 ... Rows beyond the
// last are those of the last, and entries above the diagonal those on it: whoever uses them multiplies by
// zero.
template <int ROWS, typename R>
__device__ __forceinline__ void load_tile(int n, const R *__restrict__ A, int i0, int j0, R (&e)[ROWS][4]) {
#pragma unroll
    for (int a = 0; a < ROWS; a++) {
        const int i = i0 + a < n ? i0 + a : n - 1;
        const R *row = A + row_of(i) * L;
#pragma unroll
        for (int b = 0; b < 4; b++) e[a][b] = __ldcs(row + (j0 + b < i ? j0 + b : i) * L);
    }
}

// What a tile has for y: sums of its rows i0 .. into sum, those of its columns j0 .. to y, or, where these
// are rows of its own, into sum too.
template <int ROWS, typename R>
__device__ __forceinline__ void use_tile(int n, int i0, int j0, const R (&e)[ROWS][4], const R (&xi)[ROWS],
                                         R (&sum)[ROWS], const R *x, R *y) {
    if (j0 < i0) {
#pragma unroll
        for (int b = 0; b < 4; b++) {
            const R xj = x[(j0 + b) * PITCH];
            R yj = y[(j0 + b) * PITCH];
#pragma unroll
            for (int a = 0; a < ROWS; a++) {
                yj += e[a][b] * xi[a];
                sum[a] += e[a][b] * xj;
            }
            y[(j0 + b) * PITCH] = yj;
        }
        return;
    }
#pragma unroll
    for (int c = 0; c < ROWS; c += 4)
        if (j0 == i0 + c)
#pragma unroll
            for (int b = 0; b < 4; b++)
#pragma unroll
                for (int a = c + b; a < ROWS; a++) {
                    const R entry = i0 + a < n ? e[a][b] : R(0);
                    sum[a] += entry * xi[c + b];
                    if (a > c + b) sum[c + b] += entry * xi[a];
                }
}

template <int ROWS, typename R>
__device__ __forceinline__ void begin_rows(int n, int i0, const R *x, R (&xi)[ROWS], R (&sum)[ROWS]) {
#pragma unroll
    for (int a = 0; a < ROWS; a++) {
        xi[a] = i0 + a < n ? x[(i0 + a) * PITCH] : R(0);
        sum[a] = 0;
    }
}

// The same for larger ones, whose vectors leave room for few warps: while a tile is at work the next one is
// on its way. y_j of earlier rows receives what later rows have for it.
template <int ROWS, typename R>
__device__ __forceinline__ void symmetric_product_ahead(int n, const R *__restrict__ A, R (&e)[ROWS][4],
                                                        const R *x, R *y) {
    R next[ROWS][4], xi[ROWS], sum[ROWS];
    int i0 = 0, j0 = 0;
    while (i0 < n) {
        const bool ends = j0 + 4 >= i0 + ROWS || j0 + 4 >= n; // the last tile of these rows
        const int i1 = ends ? i0 + ROWS : i0, j1 = ends ? 0 : j0 + 4;
        if (i1 < n) load_tile(n, A, i1, j1, next);
        if (j0 == 0) begin_rows(n, i0, x, xi, sum);
        use_tile(n, i0, j0, e, xi, sum, x, y);
        if (ends)
#pragma unroll
            for (int a = 0; a < ROWS; a++)
                if (i0 + a < n) y[(i0 + a) * PITCH] = sum[a];
#pragma unroll
        for (int a = 0; a < ROWS; a++)
#pragma unroll
            for (int b = 0; b < 4; b++) e[a][b] = next[a][b];
        i0 = i1;
        j0 = j1;
    }
}

// Where few batches fit, or few are there, the warps of a block share the matrices and vectors of one.
// Unknowns go in stripes of eight, and blocks of 8 x 8 are taken in rounds: in round c stripes c + d and
// c - d meet, modulo an odd number, for all d, so that no two warps add to the same numbers. Every pair meets
// once, and what a number of y receives comes in the same order whatever the number of warps.
constexpr int STRIPE = 8;
EVERYWHERE int stripes_of(int n) {
    return (n + STRIPE - 1) / STRIPE;
}
// Meetings of a round: at least as many as warps.
EVERYWHERE int meetings_of(int n) {
    return (stripes_of(n) + 1) / 2;
}
struct tournament {
    int stripes, odd, meetings, warps, mine, round, number;
    __device__ __forceinline__ tournament(int n)
        : stripes(stripes_of(n)), odd(stripes | 1), meetings(meetings_of(n)), warps(blockDim.y),
          mine(threadIdx.y), round(0), number(threadIdx.y) {}
    __device__ __forceinline__ bool goes_on() const {
        return round < odd;
    }
    // The stripes of the warp's meeting, i >= j.
    __device__ __forceinline__ void meet(int &i, int &j) const {
        int d = number;
        if (odd > stripes) { // one would meet a stripe that is not there
            const int gap =
                stripes - round < odd - (stripes - round) ? stripes - round : odd - (stripes - round);
            d += d >= gap;
        }
        const int up = round + d < odd ? round + d : round + d - odd;
        const int down = round - d >= 0 ? round - d : round - d + odd;
        i = up > down ? up : down;
        j = up > down ? down : up;
    }
    __device__ __forceinline__ void go_on() {
        number += warps;
        if (number >= meetings) {
            number = mine;
            round++;
        }
    }
};

// y += A x by all warps of the block, e being the first tile of each; with a wait for the others at the end.
template <typename R>
__device__ __forceinline__ void symmetric_product_shared(int n, const R *__restrict__ A, R (&e)[STRIPE][4],
                                                         const R *x, R *y) {
    R next[STRIPE][4], xi[STRIPE], sum[STRIPE];
    tournament at(n);
    int i, j, half = 0;
    at.meet(i, j);
    while (at.goes_on()) {
        const int i0 = STRIPE * i, j0 = STRIPE * j + 4 * half, round = at.round;
        if (half == 1) {
            at.go_on();
            at.meet(i, j);
        }
        if (at.goes_on()) load_tile(n, A, STRIPE * i, STRIPE * j + 4 * (1 - half), next);
        if (half == 0) begin_rows(n, i0, x, xi, sum);
        use_tile(n, i0, j0, e, xi, sum, x, y);
        if (half == 1)
#pragma unroll
            for (int a = 0; a < STRIPE; a++)
                if (i0 + a < n) y[(i0 + a) * PITCH] += sum[a];
        if (at.round > round) __syncthreads();
#pragma unroll
        for (int a = 0; a < STRIPE; a++)
#pragma unroll
            for (int b = 0; b < 4; b++) e[a][b] = next[a][b];
        half = 1 - half;
    }
}
// Its first tile.
template <typename R>
__device__ __forceinline__ void load_first(int n, const R *__restrict__ A, R (&e)[STRIPE][4]) {
    int i, j;
    tournament(n).meet(i, j);
    load_tile(n, A, STRIPE * i, STRIPE * j, e);
}

template <typename R> constexpr int ROWS_OF = sizeof(R) == 8 ? 4 : 8;

// The m numbers of each of 32 blocks, which follow each other: number `step` L + lane of them is number i of
// block `block`.
struct walk {
    int block, i, m, blocks, rest;
    __device__ __forceinline__ walk(int m, int lane)
        : block(lane / m), i(lane % m), m(m), blocks(L / m), rest(L % m) {}
    __device__ __forceinline__ void next() {
        block += blocks;
        i += rest;
        if (i >= m) {
            i -= m;
            block++;
        }
    }
};

} // namespace
} // namespace facet
#endif
