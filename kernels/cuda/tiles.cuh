// Local solvers of affine cells in tiles of the FP64 tensor cores: their tables, and what the kernels for
// small (tiles.cu) and large cells (tiles_large.cu) share. K = H - V'V, S = U'U, V = U^-T R.
//
// Rows go in blocks of eight, of which each is made, reduced by those before it and solved with its corner
// (left-looking), so that nothing is written twice. In the product c += a b of mma.m8n8k4 lane 4 g + t has a
// at row g and column t, b at row t and column g, and c at row g and columns 2 t, 2 t + 1. A tile of V is
// kept transposed, its column in g, and position 2 t + r of a block of rows stands for row 4 r + t; so the
// two numbers of c that a lane has are those that it needs as a (and as b) of rows 4 r .. 4 r + 3 later.
// Columns of S are in the order of positions too.
#ifndef FACET_CUDA_TILES_CUH
#define FACET_CUDA_TILES_CUH

#include "kernels/cuda/local.cuh"

namespace facet {

struct __align__(32) four {
    double x, y, z, w;
};

// Tables in the order in which lanes want them, faces in every orientation.
struct tables {
    struct affine_tables t;
    struct affine_layout at;
    int n, blocks, tiles, panels; // blocks of 8 rows, tiles of 8 columns of R, panels of 4 rows
    int orientations, terms;
    double2 *S;   // terms x blocks (blocks + 1) / 2 tiles x 32
    double2 *R;   // face and orientation x blocks x 2 (r) x 2 x m x 4 (t): [F D_0'F], [D_1'F D_2'F]
    double *FF;   // (face and orientation)^2 x m x m
    double *O;    // orientations x m x m
    double *half; // faces x face and orientation x m x m: F_f'F_g O_g
};

namespace {

// The row of a block that stands at a position.
__host__ __device__ constexpr int row_at(int position) {
    return 4 * (position & 1) + (position >> 1);
}

// Tile (b, j), j >= b, of S.
__host__ __device__ __forceinline__ constexpr int tile_of(int blocks, int b, int j) {
    return b * blocks - b * (b - 1) / 2 + j - b;
}
// And of those right of the corners, j > b: the tiles of U, of two panels each.
__host__ __device__ __forceinline__ constexpr int tile_beside(int blocks, int b, int j) {
    return tile_of(blocks - 1, b, j - 1);
}

// ------------------------------------------------------------------------------------ a cell

// Of every column of R: its coefficients of [F D_b'F]; where its numbers stand in R, and in FF as the first
// and as the second of two; its face. Columns beyond the last are zero times the first.
template <class T>
__device__ __forceinline__ void prepare(const tables &p, const T &team, int all, const double *c,
                                        four *columns, int4 *extra) {
    const int m = p.t.m, dim = p.t.dim, n_faces = p.t.n_faces;
    for (int j = team.thread; j < all; j += T::THREADS) {
        const bool there = j < p.n;
        const int f = there ? j / m : 0, k = there ? j - f * m : 0;
        const int fo = f * p.orientations + (int)c[p.at.orientation + f];
        const double *g = c + p.at.gradient + f * dim;
        columns[j] =
            there ? four{c[p.at.weight + f], g[0], g[1], dim == 3 ? g[2] : 0.0} : four{0.0, 0.0, 0.0, 0.0};
        extra[j] = make_int4((fo * p.blocks * 4 * m + k) * 4, fo * n_faces * p.orientations * m * m + k * m,
                             fo * m * m + k, f);
    }
}

// 1 / x and 1 / sqrt(x) of a number that is not denormal, to the last bits: one step of third order.
__device__ __forceinline__ double inverse(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double lack = fma(-x, y, 1.0);
    return fma(y, fma(lack, lack, lack), y);
}
__device__ __forceinline__ double inverse_root(double x) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double lack = fma(-x * y, y, 1.0);
    return fma(y * lack, fma(0.375, lack, 0.5), y);
}

// The factors of the corners of one or two cells, S = L L' (tiles of a lane: s), and with them w: L^-1 as the
// b of two products. A lane has a column of [S 1], that of a second cell is with the upper half of the lanes.
// room: 64 numbers of a cell, `step` apart. Returns whether those of the lane's cell are positive definite.
template <int CELLS>
__device__ __forceinline__ bool solve_corners(int lane, const double (&s)[CELLS][2], double *room, int step,
                                              double (&w)[CELLS][2]) {
    const int g = lane / 4, t = lane % 4, column = lane % 16, half = lane & 16;
    double *own = room + (CELLS > 1 && half != 0 ? step : 0);
    double x[8], scale[8];
    bool good = true;
#pragma unroll
    for (int q = 0; q < CELLS; q++)
        *(double2 *)(room + q * step + g * 8 + 2 * t) = make_double2(s[q][0], s[q][1]);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = column < 8 ? own[column * 8 + i] : column - 8 == i ? 1.0 : 0.0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const double pivot = __shfl_sync(ALL, x[k], half + k);
        good = good && pivot > 0.0;
        scale[k] = inverse_root(pivot); // beside the chain of pivots
        const double over = x[k] * inverse(pivot);
#pragma unroll
        for (int i = k + 1; i < 8; i++) x[i] -= __shfl_sync(ALL, x[k], half + i) * over;
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (column >= 8 && (CELLS > 1 || half == 0)) own[i * 8 + column - 8] = x[i] * scale[i];
    __syncwarp();
#pragma unroll
    for (int q = 0; q < CELLS; q++) {
        const double2 pair = *(const double2 *)(room + q * step + g * 8 + 2 * t);
        w[q][0] = pair.x;
        w[q][1] = pair.y;
    }
    return good;
}

__device__ __forceinline__ double sum_of_four(double x) {
    x += __shfl_xor_sync(ALL, x, 1);
    return x + __shfl_xor_sync(ALL, x, 2);
}

// Rows of block b of y = U^-T right, sum: what a lane has of U'y of the rows before, w: the inverse of the
// corner.
__device__ __forceinline__ void reduce_right(int lane, int b, double sum, const double (&w)[2], double right,
                                             double *room, double *y) {
    const int g = lane / 4, t = lane % 4;
    sum = sum_of_four(sum);
    __syncwarp();
    if (t == 0) room[g] = right - sum;
    __syncwarp();
    sum = sum_of_four(w[0] * room[2 * t] + w[1] * room[2 * t + 1]);
    if (t == 0) y[8 * b + row_at(g)] = sum;
    __syncwarp();
}

// Rows 8 b .. of column 8 j + g of R, as a lane has them.
__device__ __forceinline__ void load_R(const tables &p, int lane, int b, int j, const four *columns,
                                       const int4 *extra, double (&to)[2]) {
    const int g = lane / 4, t = lane % 4;
    const double2 *from = p.R + extra[8 * j + g].x + 16 * b * p.t.m + t;
    const four k = columns[8 * j + g];
#pragma unroll
    for (int r = 0; r < 2; r++) { // neighbours in neighbouring lanes
        const double2 x = __ldg(from + 8 * r * p.t.m), y = __ldg(from + (8 * r + 4) * p.t.m);
        to[r] = k.x * x.x + k.y * x.y + k.z * y.x + k.w * y.y;
    }
}

// What a corner has beside its terms: the reaction on the diagonal, and 1 in rows beyond the last.
__device__ __forceinline__ void add_reaction(const tables &p, int lane, int b, const double *c,
                                             double (&s)[2]) {
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int r = 0; r < 2; r++)
        if (4 * r + t == row_at(g)) s[r] = 8 * b + 4 * r + t < p.t.N ? s[r] + c[p.at.reaction] : 1.0;
}

// Tile (i, j) of H.
__device__ __forceinline__ void load_H(const tables &p, int lane, int tile_i, int tile_j, const double *c,
                                       const int4 *extra, double (&H)[2]) {
    const int i = 8 * tile_i + lane / 4;
    const int4 row = extra[i];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int j = 8 * tile_j + 2 * (lane % 4) + r;
        const int4 column = extra[j];
        H[r] = c[p.at.normals + column.w * p.t.n_faces + row.w] * __ldg(p.FF + row.y + column.z);
        if (i == j) H[r] += c[p.at.weight + row.w];
    }
}

// Tile (i, j) of K, which is there.
__device__ __forceinline__ void put_tile(const tables &p, int lane, int tile_i, int tile_j,
                                         const double (&tile)[2], double *K) {
    const int i = 8 * tile_i + lane / 4;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int j = 8 * tile_j + 2 * (lane % 4) + r;
        if (i < p.n && j <= i) K[triangle_row(i) + j] = tile[r];
    }
}

} // namespace

// Cells that do not fit into registers (tiles_large.cu): bytes of shared memory of one, 0: too many.
size_t large_bytes(const struct affine_tables *t);
void launch_large(const tables &p, int64_t n_cells, const double *coefficients, double *K,
                  unsigned long long *failed);

} // namespace facet
#endif
