// Local solvers of affine cells whose matrices fit into the registers of a warp (tiles.cuh): V stays there
// from the first number to the last, and only the tiles of U, which all columns need, pass through shared
// memory. A warp has a cell, a block four neighbours, so that what they write in lanes is whole sectors.
#include "kernels/cuda/tiles.cuh"

namespace facet {
namespace {

constexpr int TEAMS = 4; // cells of a block

// ------------------------------------------------------------------------------------ tables

__device__ __forceinline__ int first_thread() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int all_threads() {
    return gridDim.x * blockDim.x;
}

__global__ void make_turns(const __grid_constant__ tables p) {
    const struct affine_tables &t = p.t;
    const int m = t.m;
    for (int e = first_thread(); e < p.orientations * m * m; e += all_threads()) {
        const int b = e % m, a = e / m % m;
        const double *block = t.turns + e / m / m * t.n_turn;
        double entry = 0.0;
        for (int g = 0; g < t.n_groups; g++) {
            const int32_t *modes = t.modes + t.group_starts[g];
            const int size = t.group_starts[g + 1] - t.group_starts[g];
            int row = -1, column = -1;
            for (int k = 0; k < size; k++) {
                if (modes[k] == a) row = k;
                if (modes[k] == b) column = k;
            }
            if (row >= 0 && column >= 0) entry = block[row * size + column];
            block += size * size;
        }
        p.O[e] = entry;
    }
}

// Number k of X O, X a row of m numbers.
__device__ __forceinline__ double turn_row(int m, const double *O, const double *X, int k) {
    double sum = 0.0;
    for (int a = 0; a < m; a++) sum += X[a] * O[a * m + k];
    return sum;
}

__global__ void make_matrices(const __grid_constant__ tables p) {
    const struct affine_tables &t = p.t;
    const int N = t.N, m = t.m, n_faces = t.n_faces, n_tiles = p.blocks * (p.blocks + 1) / 2;
    const int pairs = t.dim * (t.dim + 1) / 2, fo = n_faces * p.orientations;
    for (int e = first_thread(); e < p.terms * n_tiles * 64; e += all_threads()) {
        const int r = e % 2, lane = e / 2 % 32, tile = e / 64 % n_tiles, term = e / 64 / n_tiles;
        int b = 0;
        while (b + 1 < p.blocks && tile_of(p.blocks, b + 1, b + 1) <= tile) b++;
        const int i = 8 * b + 4 * r + lane % 4;
        const int j = 8 * (tile - tile_of(p.blocks, b, b) + b) + row_at(lane / 4);
        const int low = i < j ? i : j, high = i < j ? j : i;
        const double *T =
            term < pairs ? t.stiffness + term * N * N : t.face_mass + (int64_t)(term - pairs) * N * N;
        ((double *)p.S)[e] = high < N ? T[low * N + high] : 0.0;
    }
    for (int e = first_thread(); e < fo * m * p.blocks * 8; e += all_threads()) {
        const int r = e % 2, i = e / 8 % p.blocks * 8 + 4 * r + e / 2 % 4, k = e / 8 / p.blocks % m;
        const int f = e / 8 / p.blocks / m / p.orientations;
        const double *O = p.O + e / 8 / p.blocks / m % p.orientations * m * m;
        double x[4] = {0.0, 0.0, 0.0, 0.0};
        if (i < N) {
            x[0] = turn_row(m, O, t.F + (f * N + i) * m, k);
            for (int b = 0; b < t.dim; b++)
                x[1 + b] = turn_row(m, O, t.DF + ((f * t.dim + b) * N + i) * m, k);
        }
        p.R[e] = four{x[0], x[1], x[2], x[3]};
    }
    for (int e = first_thread(); e < n_faces * fo * m * m; e += all_threads()) {
        const int j = e % m, i = e / m % m, second = e / m / m % fo, f = e / m / m / fo;
        p.half[e] = turn_row(m, p.O + second % p.orientations * m * m,
                             t.FF + ((f * n_faces + second / p.orientations) * m + i) * m, j);
    }
}

// O_f' F_f'F_g O_g.
__global__ void make_pairs(const __grid_constant__ tables p) {
    const int m = p.t.m, fo = p.t.n_faces * p.orientations;
    for (int e = first_thread(); e < fo * fo * m * m; e += all_threads()) {
        const int j = e % m, i = e / m % m, second = e / m / m % fo, first = e / m / m / fo;
        const double *half = p.half + (first / p.orientations * fo + second) * m * m;
        const double *O = p.O + first % p.orientations * m * m;
        double sum = 0.0;
        for (int a = 0; a < m; a++) sum += O[a * m + i] * half[a * m + j];
        p.FF[e] = sum;
    }
}

int64_t orientations_of(const struct affine_tables *t) {
    return t->dim == 2 ? 2 : t->n_faces == 4 ? 6 : 8;
}

int blocks_of(const struct affine_tables *t) {
    return (t->N + 7) / 8;
}

int64_t tables_size(const struct affine_tables *t) {
    const int64_t m = t->m, fo = t->n_faces * orientations_of(t), blocks = blocks_of(t);
    const int64_t terms = t->dim * (t->dim + 1) / 2 + t->n_faces;
    return 4 + fo * m * blocks * 32 + terms * blocks * (blocks + 1) * 32 + fo * fo * m * m +
           orientations_of(t) * m * m + t->n_faces * fo * m * m;
}

tables tables_of(const struct affine_tables *t, double *scratch) {
    const int64_t m = t->m, fo = t->n_faces * orientations_of(t);
    tables p = {};
    p.t = *t;
    p.at = affine_layout(t->dim, t->n_faces);
    p.n = t->n_faces * t->m;
    p.blocks = blocks_of(t);
    p.tiles = (p.n + 7) / 8;
    p.panels = (t->N + 3) / 4;
    p.orientations = (int)orientations_of(t);
    p.terms = t->dim * (t->dim + 1) / 2 + t->n_faces;
    p.R = (four *)(((uintptr_t)scratch + 31) / 32 * 32);
    p.S = (double2 *)(p.R + fo * m * p.blocks * 8);
    p.FF = (double *)(p.S + (int64_t)p.terms * p.blocks * (p.blocks + 1) / 2 * 32);
    p.O = p.FF + fo * fo * m * m;
    p.half = p.O + p.orientations * m * m;
    return p;
}

void make_tables(const tables &p) {
    make_turns<<<multiprocessors(), 64>>>(p);
    make_matrices<<<2 * multiprocessors(), 256>>>(p);
    make_pairs<<<4 * multiprocessors(), 256>>>(p);
    launched("condense_affine");
}

// ------------------------------------------------------------------------------------ a cell

// Where the numbers of a warp stand, all of them even.
struct places {
    int c, columns, extra, corner, y, d, U, size;
};

inline places places_of(int blocks, int tiles, int count, int n_K) {
    const int n_U = 32 * blocks * (blocks - 1); // K takes their place
    places at;
    at.c = 0;
    at.columns = at.c + even(count);
    at.extra = at.columns + 4 * 8 * tiles;
    at.corner = at.extra + 2 * 8 * tiles;
    at.y = at.corner + 72;
    at.d = at.y + 8 * blocks;
    at.U = at.d + 8 * tiles;
    at.size = at.U + even(n_U > n_K ? n_U : n_K);
    return at;
}

// V of a cell: [b][j][r] of lane 4 g + t is row 8 b + 4 r + t of column 8 j + g.
template <int BLOCKS, int TILES> struct cell {
    double V[BLOCKS][TILES][2];

    template <int B>
    __device__ __forceinline__ bool block(const tables &p, const places &at, int lane, double *own) {
        constexpr int LEFT = BLOCKS - B;
        const int g = lane / 4, t = lane % 4, n_tiles = BLOCKS * (BLOCKS + 1) / 2;
        const double *c = own + at.c;
        double *U = own + at.U + lane;
        double s[LEFT][2], u[B > 0 ? 2 * B : 1], w[2];
        const four *columns = (const four *)(own + at.columns);
        const int4 *extra = (const int4 *)(own + at.extra);
#pragma unroll
        for (int j = 0; j < TILES; j++) load_R(p, lane, B, j, columns, extra, V[B][j]);
#pragma unroll
        for (int j = 0; j < LEFT; j++) s[j][0] = s[j][1] = 0.0;
        const double2 *S = p.S + tile_of(BLOCKS, B, B) * 32 + lane;
        constexpr int TOGETHER = LEFT <= 2 ? 6 : LEFT <= 4 ? 3 : 2; // as many loads as registers allow
#pragma unroll TOGETHER
        for (int term = 0; term < p.terms; term++) {
            const double weight = c[p.at.stiffness + term];
#pragma unroll
            for (int j = 0; j < LEFT; j++) {
                const double2 x = __ldg(S + (term * n_tiles + j) * 32);
                s[j][0] += weight * x.x;
                s[j][1] += weight * x.y;
            }
        }
        add_reaction(p, lane, B, c, s[0]);
#pragma unroll
        for (int q = 0; q < 2 * B; q++) u[q] = -U[64 * tile_beside(BLOCKS, q / 2, B) + 32 * (q % 2)];
#pragma unroll
        for (int q = 0; q < 2 * B; q++)
#pragma unroll
            for (int j = 0; j < LEFT; j++)
                multiply_add(s[j], j == 0 ? -u[q] : U[64 * tile_beside(BLOCKS, q / 2, B + j) + 32 * (q % 2)],
                             u[q]);
        const bool good = solve_corner(lane, s[0], own + at.corner, w);
        if (c[p.at.reaction] != 0.0) {
            double *y = own + at.y, sum = 0.0;
#pragma unroll
            for (int q = 0; q < 2 * B; q++) sum -= u[q] * y[4 * q + t];
            const double right = B == 0 && g == 0 ? c[p.at.reaction] * sqrt(p.t.volume) : 0.0;
            reduce_right(lane, B, sum, w, right, own + at.corner + 64, y);
        }
#pragma unroll
        for (int j = 1; j < LEFT; j++) {
            double x[2] = {0.0, 0.0};
            multiply_add(x, s[j][0], w[0]);
            multiply_add(x, s[j][1], w[1]);
            U[64 * tile_beside(BLOCKS, B, B + j)] = x[0];
            U[64 * tile_beside(BLOCKS, B, B + j) + 32] = x[1];
        }
#pragma unroll
        for (int q = 0; q < 2 * B; q++)
#pragma unroll
            for (int j = 0; j < TILES; j++) multiply_add(V[B][j], V[q / 2][j][q % 2], u[q]);
#pragma unroll
        for (int j = 0; j < TILES; j++) {
            double x[2] = {0.0, 0.0};
            multiply_add(x, V[B][j][0], w[0]);
            multiply_add(x, V[B][j][1], w[1]);
            V[B][j][0] = x[0];
            V[B][j][1] = x[1];
        }
        __syncwarp();
        return good;
    }

    template <int B>
    __device__ __forceinline__ bool blocks_from(const tables &p, const places &at, int lane, double *own) {
        const bool good = block<B>(p, at, lane, own);
        if constexpr (B + 1 < BLOCKS)
            return blocks_from<B + 1>(p, at, lane, own) && good;
        else
            return good;
    }

    // V'y.
    __device__ __forceinline__ void sums(int lane, bool any, const double *y, double *d) const {
        const int g = lane / 4, t = lane % 4;
#pragma unroll
        for (int j = 0; j < TILES; j++) {
            double sum = 0.0;
            if (any) {
#pragma unroll
                for (int b = 0; b < BLOCKS; b++)
                    sum += V[b][j][0] * y[8 * b + t] + V[b][j][1] * y[8 * b + 4 + t];
                sum = sum_of_four(sum);
            }
            if (t == 0) d[8 * j + g] = sum;
        }
    }

    // Tiles (i, j0 .. j0 + WIDE - 1) of K = H - V'V.
    template <int I, int J, int WIDE>
    __device__ __forceinline__ void schur_tiles(const tables &p, int lane, const double *c, const int4 *extra,
                                                double *K) const {
        double tile[WIDE][2];
#pragma unroll
        for (int q = 0; q < WIDE; q++) load_H(p, lane, I, J + q, c, extra, tile[q]);
#pragma unroll
        for (int k = 0; k < 2 * BLOCKS; k++) {
            if (k == 2 * BLOCKS - 1 && p.panels < 2 * BLOCKS) break;
            const double a = -V[k / 2][I][k % 2];
#pragma unroll
            for (int q = 0; q < WIDE; q++) multiply_add(tile[q], a, V[k / 2][J + q][k % 2]);
        }
#pragma unroll
        for (int q = 0; q < WIDE; q++) put_tile(p, lane, I, J + q, tile[q], K);
    }

    template <int I, int J>
    __device__ __forceinline__ void schur(const tables &p, int lane, const double *c, const int4 *extra,
                                          double *K) const {
        constexpr int WIDE = I + 1 - J < 4 ? I + 1 - J : 4;
        schur_tiles<I, J, WIDE>(p, lane, c, extra, K);
        if constexpr (J + WIDE <= I)
            schur<I, J + WIDE>(p, lane, c, extra, K);
        else if constexpr (I + 1 < TILES)
            schur<I + 1, 0>(p, lane, c, extra, K);
    }
};

// Blocks of a multiprocessor that the registers leave room for.
constexpr int blocks_together(int blocks, int tiles) {
    const int fit = 65536 / (32 * TEAMS) / (4 * blocks * tiles + (blocks < 4 ? 72 : 92));
    return fit < 2 ? 2 : fit > 6 ? 6 : fit;
}

template <int BLOCKS, int TILES>
__global__ void __launch_bounds__(32 * TEAMS, blocks_together(BLOCKS, TILES))
    condense(const __grid_constant__ tables p, const places at, int64_t n_cells, const double *coefficients,
             double *K, unsigned long long *failed) {
    extern __shared__ __align__(32) double room[];
    const int lane = threadIdx.x % 32, mine = threadIdx.x / 32;
    const int n_K = triangle_row(p.n), count = p.at.count;
    const team<1> team = {lane, 0, lane};
    double *own = room + mine * at.size, *c = own + at.c, *own_K = own + at.U;
    const int4 *extra = (const int4 *)(own + at.extra);
    for (int64_t first = (int64_t)blockIdx.x * TEAMS; first < n_cells; first += (int64_t)gridDim.x * TEAMS) {
        const int64_t cell_number = first + mine, batch = cell_number / L;
        for (int k = lane; k < count; k += 32) c[k] = coefficients[(batch * count + k) * L + cell_number % L];
        __syncwarp();
        prepare(p, team, 8 * TILES, c, (four *)(own + at.columns), (int4 *)(own + at.extra));
        __syncwarp();
        cell<BLOCKS, TILES> of;
        if (!of.template blocks_from<0>(p, at, lane, own) && lane == 0)
            atomicMin(failed, (unsigned long long)batch);
        of.sums(lane, c[p.at.reaction] != 0.0, own + at.y, own + at.d);
        of.template schur<0, 0>(p, lane, c, extra, own_K);
        __syncwarp();
        restore_sums(team, p.n, p.t.n_faces, p.t.m, sqrt(p.t.face), own + at.d, own_K);
        __syncthreads();
        double *to = K + batch * n_K * L + first % L;
        for (int e = threadIdx.x; e < n_K * (TEAMS / 2); e += 32 * TEAMS) {
            const double *from = room + e % (TEAMS / 2) * 2 * at.size + at.U + e / (TEAMS / 2);
            *(double2 *)(to + e / (TEAMS / 2) * L + e % (TEAMS / 2) * 2) =
                make_double2(from[0], from[at.size]);
        }
        __syncthreads();
    }
}

// ------------------------------------------------------------------------------------ sizes

using kernel_of_size = void (*)(tables, places, int64_t, const double *, double *, unsigned long long *);

struct size {
    int blocks, tiles;
    kernel_of_size kernel;
};

// The first that is large enough is taken; blocks as they are.
#define SIZE(blocks, tiles)                                                                                  \
    { blocks, tiles, condense<blocks, tiles> }
const size SIZES[] = {SIZE(1, 2), SIZE(1, 3), SIZE(2, 3), SIZE(3, 3), SIZE(3, 5), SIZE(4, 3),
                      SIZE(4, 7), SIZE(5, 3), SIZE(5, 8), SIZE(6, 4), SIZE(7, 4), SIZE(8, 4)};

const size *size_of(const struct affine_tables *t) {
    const int blocks = (t->N + 7) / 8, tiles = (t->n_faces * t->m + 7) / 8;
    for (const size &s : SIZES)
        if (s.blocks == blocks && s.tiles >= tiles) return &s;
    return nullptr;
}

} // namespace

int64_t tiles_scratch(const struct affine_tables *t) {
    return size_of(t) != nullptr || large_bytes(t) > 0 ? tables_size(t) : 0;
}

bool condense_tiles(const struct affine_tables *t, int64_t n_batches, const double *coefficients, double *K,
                    double *scratch, int64_t *first_bad) {
    const char *what = "condense_affine";
    const size *s = size_of(t);
    *first_bad = -1;
    if (s == nullptr && large_bytes(t) == 0) return false;
    if (n_batches == 0 || !may_launch()) return true;
    unsigned long long *failed = first_failure();
    if (failed == nullptr) return true;
    const tables p = tables_of(t, scratch);
    make_tables(p);
    if (s == nullptr)
        launch_large(p, n_batches * L, coefficients, K, failed);
    else {
        const places at = places_of(s->blocks, s->tiles, p.at.count, p.n * (p.n + 1) / 2);
        launch(s->kernel, what, n_batches * L / TEAMS, 32 * TEAMS, TEAMS * at.size * sizeof(double), p, at,
               n_batches * L, coefficients, K, failed);
    }
    *first_bad = failure_found(failed);
    return true;
}

} // namespace facet
