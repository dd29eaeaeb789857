// Local solvers of affine cells that are too large for the registers of a warp (tiles.cuh): U and V stand in
// shared memory as the tiles that lanes have of them, eight warps have a cell. In every block of rows the
// first warp makes the corner and its inverse while the others make and reduce the tiles beside it.
#include "kernels/cuda/tiles.cuh"

namespace facet {
namespace {

constexpr int WARPS = 8;
constexpr int MINE = 4; // tiles of a warp in a block of rows, at most
using eight = team<WARPS>;

// Where the numbers of a cell stand, all of them even. Tiles of U: of block column j two for each block of
// rows above; of V: of column tile j two for each block of rows. K takes the place of U.
struct places {
    int c, columns, extra, corner, y, d, V, U, size;
};

places places_of(int blocks, int tiles, int count, int n_K) {
    const int n_U = 32 * blocks * (blocks - 1);
    places at;
    at.c = 0;
    at.columns = at.c + (count + 3) / 4 * 4;
    at.extra = at.columns + 4 * 8 * tiles;
    at.corner = at.extra + 2 * 8 * tiles;
    at.y = at.corner + 72;
    at.d = at.y + 8 * blocks;
    at.V = at.d + 8 * tiles;
    at.U = at.V + 64 * blocks * tiles;
    at.size = at.U + even(n_U > n_K ? n_U : n_K);
    return at;
}

struct cell {
    const tables &p;
    const places &at;
    double *room;
    int warp, lane;
    __device__ __forceinline__ double *U(int panel, int j) const {
        return room + at.U + 32 * (j * (j - 1) + panel) + lane;
    }
    __device__ __forceinline__ double *V(int panel, int j) const {
        return room + at.V + 32 * (2 * p.blocks * j + panel) + lane;
    }
    // Of [S R], columns of S first.
    __device__ __forceinline__ double *tile(int panel, int j) const {
        return j < p.blocks ? U(panel, j) : V(panel, j - p.blocks);
    }

    // Tile j >= b of [S R] in block b of rows, reduced by the blocks above.
    __device__ __forceinline__ void make(int b, int j, double (&s)[2]) const {
        const double *c = room + at.c;
        if (j < p.blocks) {
            const int n_tiles = p.blocks * (p.blocks + 1) / 2;
            const double2 *from = p.S + tile_of(p.blocks, b, j) * 32 + lane;
            s[0] = s[1] = 0.0;
#pragma unroll 6
            for (int term = 0; term < p.terms; term++) {
                const double2 x = __ldg(from + term * n_tiles * 32);
                s[0] += c[p.at.stiffness + term] * x.x;
                s[1] += c[p.at.stiffness + term] * x.y;
            }
            if (j == b) add_reaction(p, lane, b, c, s);
        } else
            load_R(p, lane, b, j - p.blocks, (const four *)(room + at.columns),
                   (const int4 *)(room + at.extra), s);
    }

    // The corner of block b; what comes of it is left for the others.
    __device__ __forceinline__ bool corner(int b) const {
        const double *c = room + at.c;
        double s[1][2], w[1][2], sum = 0.0, *y = room + at.y;
        make(b, b, s[0]);
        for (int q = 0; q < 2 * b; q++) multiply_add(s[0], *U(q, b), -*U(q, b));
        const bool good = solve_corners(lane, s, room + at.corner, 0, w);
        if (c[p.at.reaction] == 0.0) return good;
        for (int q = 0; q < 2 * b; q++) sum += *U(q, b) * y[4 * q + lane % 4];
        const double right = b == 0 && lane / 4 == 0 ? c[p.at.reaction] * sqrt(p.t.volume) : 0.0;
        reduce_right(lane, b, sum, w[0], right, room + at.corner + 64, y);
        return good;
    }

    // Block b of rows: the tiles of this warp but for the solve with the corner; with it.
    __device__ __forceinline__ int column(int b, int q) const {
        return b + warp + (WARPS - 1) * q;
    }
    __device__ __forceinline__ void reduce(int b, double (&s)[MINE][2]) const {
        const int all = p.blocks + p.tiles;
#pragma unroll
        for (int q = 0; q < MINE; q++)
            if (column(b, q) < all) make(b, column(b, q), s[q]);
        for (int k = 0; k < 2 * b; k++) {
            const double u = -*U(k, b);
#pragma unroll
            for (int q = 0; q < MINE; q++)
                if (column(b, q) < all) multiply_add(s[q], *tile(k, column(b, q)), u);
        }
    }
    __device__ __forceinline__ void solve(int b, const double (&s)[MINE][2]) const {
        const double2 w = *(const double2 *)(room + at.corner + lane / 4 * 8 + 2 * (lane % 4));
#pragma unroll
        for (int q = 0; q < MINE; q++) {
            const int j = column(b, q);
            if (j >= p.blocks + p.tiles) continue;
            double x[2] = {0.0, 0.0};
            multiply_add(x, s[q][0], w.x);
            multiply_add(x, s[q][1], w.y);
            *tile(2 * b, j) = x[0];
            *tile(2 * b + 1, j) = x[1];
        }
    }

    // V'y, of a column of R.
    __device__ __forceinline__ double sum(int j) const {
        const double *y = room + at.y;
        double total = 0.0;
        for (int k = 0; k < 8 * p.blocks; k++)
            total += room[at.V + 32 * (2 * p.blocks * (j / 8) + k / 4) + 4 * (j % 8) + k % 4] * y[k];
        return total;
    }

    // K, up to four tiles of a row at a time.
    __device__ __forceinline__ void schur(double *K) const {
        constexpr int WIDE = 4;
        const int4 *extra = (const int4 *)(room + at.extra);
        int job = 0;
        for (int i = 0; i < p.tiles; i++)
            for (int j0 = 0; j0 <= i; j0 += WIDE, job++) {
                if (job % WARPS != warp) continue;
                double tile[WIDE][2];
#pragma unroll
                for (int q = 0; q < WIDE; q++)
                    if (j0 + q <= i) load_H(p, lane, i, j0 + q, room + at.c, extra, tile[q]);
#pragma unroll 2
                for (int k = 0; k < p.panels; k++) {
                    const double a = -*V(k, i);
#pragma unroll
                    for (int q = 0; q < WIDE; q++)
                        if (j0 + q <= i) multiply_add(tile[q], a, *V(k, j0 + q));
                }
#pragma unroll
                for (int q = 0; q < WIDE; q++)
                    if (j0 + q <= i) put_tile(p, lane, i, j0 + q, tile[q], K);
            }
    }
};

__global__ void __launch_bounds__(32 * WARPS, 3)
    condense_large(const __grid_constant__ tables p, const places at, int64_t n_cells,
                   const double *coefficients, double *K, unsigned long long *failed) {
    extern __shared__ __align__(32) double room[];
    const int thread = threadIdx.x, n_K = triangle_row(p.n);
    const eight team = {thread, thread / 32, thread % 32};
    const cell of = {p, at, room, team.warp, team.lane};
    double *d = room + at.d, *own = room + at.U;
    for (int64_t number = blockIdx.x; number < n_cells; number += gridDim.x) {
        const int64_t batch = number / L;
        const int count = p.at.count, lane = (int)(number % L);
        for (int k = thread; k < count; k += 32 * WARPS)
            room[at.c + k] = coefficients[(batch * count + k) * L + lane];
        __syncthreads();
        prepare(p, team, 8 * p.tiles, room + at.c, (four *)(room + at.columns), (int4 *)(room + at.extra));
        __syncthreads();
        for (int b = 0; b < p.blocks; b++) {
            double s[MINE][2];
            if (of.warp > 0)
                of.reduce(b, s);
            else if (!of.corner(b) && of.lane == 0)
                atomicMin(failed, (unsigned long long)batch);
            __syncthreads();
            if (of.warp > 0) of.solve(b, s);
            __syncthreads();
        }
        const bool any = room[at.c + p.at.reaction] != 0.0;
        for (int j = thread; j < p.n; j += 32 * WARPS) d[j] = any ? of.sum(j) : 0.0;
        of.schur(own);
        __syncthreads();
        restore_sums(team, p.n, p.t.n_faces, p.t.m, sqrt(p.t.face), d, own);
        double *to = K + batch * n_K * L + lane;
        for (int e = thread; e < n_K; e += 32 * WARPS) to[(int64_t)e * L] = own[e];
        __syncthreads();
    }
}

} // namespace

size_t large_bytes(const struct affine_tables *t) {
    const int blocks = (t->N + 7) / 8, n = t->n_faces * t->m, tiles = (n + 7) / 8;
    const int count = affine_layout(t->dim, t->n_faces).count;
    const size_t bytes = places_of(blocks, tiles, count, n * (n + 1) / 2).size * sizeof(double);
    return bytes <= MOST_SHARED && blocks + tiles - 1 <= (WARPS - 1) * MINE ? bytes : 0;
}

void launch_large(const tables &p, int64_t n_cells, const double *coefficients, double *K,
                  unsigned long long *failed) {
    launch(condense_large, "condense_affine", n_cells, 32 * WARPS, large_bytes(&p.t), p,
           places_of(p.blocks, p.tiles, p.at.count, p.n * (p.n + 1) / 2), n_cells, coefficients, K, failed);
}

} // namespace facet
