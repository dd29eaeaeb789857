// Local solvers of affine cells whose matrices fit into the registers of a warp (tiles.cuh): V stays there
// from the first number to the last, and only the tiles of U, which all columns need, pass through shared
// memory. A warp has a cell, or two small ones, whose corners it solves together; a block has four or eight
// neighbours, so that what they write in lanes is whole sectors.
#include "kernels/cuda/tiles.cuh"

namespace facet {
namespace {

// ------------------------------------------------------------------------------------ tables

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
    for (int e = first_thread(); e < fo * p.blocks * 2 * m * 4; e += all_threads()) {
        const int k = e / 4 % m, r = e / 4 / m % 2, b = e / 8 / m % p.blocks, i = 8 * b + 4 * r + e % 4;
        const int f = e / 8 / m / p.blocks / p.orientations;
        const double *O = p.O + e / 8 / m / p.blocks % p.orientations * m * m;
        double x[4] = {0.0, 0.0, 0.0, 0.0};
        if (i < N) {
            x[0] = turn_row(m, O, t.F + (f * N + i) * m, k);
            for (int a = 0; a < t.dim; a++)
                x[1 + a] = turn_row(m, O, t.DF + ((f * t.dim + a) * N + i) * m, k);
        }
        double2 *to = p.R + e / 4 / m * 8 * m + e % (4 * m);
        to[0] = make_double2(x[0], x[1]);
        to[4 * m] = make_double2(x[2], x[3]);
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

int blocks_of(const struct affine_tables *t) {
    return (t->N + 7) / 8;
}

int64_t tables_size(const struct affine_tables *t) {
    const int64_t m = t->m, fo = t->n_faces * orientations_of(t->dim, t->n_faces), blocks = blocks_of(t);
    const int64_t terms = t->dim * (t->dim + 1) / 2 + t->n_faces;
    return 4 + fo * m * blocks * 32 + terms * blocks * (blocks + 1) * 32 + fo * fo * m * m +
           orientations_of(t->dim, t->n_faces) * m * m + t->n_faces * fo * m * m;
}

tables tables_of(const struct affine_tables *t, double *scratch) {
    const int64_t m = t->m, fo = t->n_faces * orientations_of(t->dim, t->n_faces);
    tables p = {};
    p.t = *t;
    p.at = affine_layout(t->dim, t->n_faces);
    p.n = t->n_faces * t->m;
    p.blocks = blocks_of(t);
    p.tiles = (p.n + 7) / 8;
    p.panels = (t->N + 3) / 4;
    p.orientations = orientations_of(t->dim, t->n_faces);
    p.terms = t->dim * (t->dim + 1) / 2 + t->n_faces;
    p.R = (double2 *)(((uintptr_t)scratch + 31) / 32 * 32);
    p.S = p.R + fo * m * p.blocks * 16;
    p.FF = (double *)(p.S + (int64_t)p.terms * p.blocks * (p.blocks + 1) / 2 * 32);
    p.O = p.FF + fo * fo * m * m;
    p.half = p.O + p.orientations * m * m;
    return p;
}

void make_tables(const tables &p) {
    make_turns(p.t, p.orientations, p.t.m, p.O, "condense_affine");
    make_matrices<<<2 * multiprocessors(), 256>>>(p);
    make_pairs<<<4 * multiprocessors(), 256>>>(p);
    launched("condense_affine");
}

// ------------------------------------------------------------------------------------ a cell

// Where the numbers of a cell stand, all of them even. K takes the place of what is not needed any more then:
// columns, corner, y and U.
struct places {
    int c, extra, d, columns, corner, y, U, K, size;
};

inline places places_of(int blocks, int tiles, int count, int n_K) {
    const int n_U = 32 * blocks * (blocks - 1);
    places at;
    at.c = 0;
    at.extra = at.c + (count + 3) / 4 * 4;
    at.d = at.extra + 2 * 8 * tiles;
    at.K = at.columns = at.d + 8 * tiles;
    at.corner = at.columns + 4 * 8 * tiles;
    at.y = at.corner + 72;
    at.U = at.y + 8 * blocks;
    at.size = (at.U + n_U > at.K + n_K ? at.U + n_U : at.K + n_K);
    at.size = (at.size + 3) / 4 * 4;
    return at;
}

// The cells of a warp, CELLS of them; V of a cell: [b][j][r] of lane 4 g + t is row 8 b + 4 r + t of column
// 8 j + g. S_KEPT: the tables of S are in shared memory, at S.
template <int BLOCKS, int TILES, int CELLS, bool S_KEPT> struct cells {
    double V[CELLS][BLOCKS][TILES][2];

    // Tiles B .. of block B of the rows of S, of all cells.
    template <int B>
    __device__ __forceinline__ void make_S(const tables &p, const places &at, int lane, const double *own,
                                           const double2 *S, double (&s)[BLOCKS - B][CELLS][2]) const {
        constexpr int LEFT = BLOCKS - B, N_TILES = BLOCKS * (BLOCKS + 1) / 2;
        constexpr int TOGETHER = LEFT <= 2 ? 6 : LEFT <= 4 ? 3 : 2; // as many loads as registers allow
        S += tile_of(BLOCKS, B, B) * 32 + lane;
#pragma unroll
        for (int j = 0; j < LEFT; j++)
#pragma unroll
            for (int q = 0; q < CELLS; q++) s[j][q][0] = s[j][q][1] = 0.0;
#pragma unroll TOGETHER
        for (int term = 0; term < p.terms; term++) {
            double weight[CELLS];
#pragma unroll
            for (int q = 0; q < CELLS; q++) weight[q] = own[q * at.size + at.c + p.at.stiffness + term];
#pragma unroll
            for (int j = 0; j < LEFT; j++) {
                const double2 *from = S + (term * N_TILES + j) * 32, x = S_KEPT ? *from : __ldg(from);
#pragma unroll
                for (int q = 0; q < CELLS; q++) {
                    s[j][q][0] += weight[q] * x.x;
                    s[j][q][1] += weight[q] * x.y;
                }
            }
        }
    }

    // Block B of rows: made, reduced by those above, solved with its corner. Returns whether that of the
    // lane's cell is positive definite.
    template <int B>
    __device__ __forceinline__ bool block(const tables &p, const places &at, int lane, double *own,
                                          const double2 *S) {
        constexpr int LEFT = BLOCKS - B;
        const int g = lane / 4, t = lane % 4;
        double s[LEFT][CELLS][2], u[CELLS][B > 0 ? 2 * B : 1], w[CELLS][2];
#pragma unroll
        for (int q = 0; q < CELLS; q++)
#pragma unroll
            for (int j = 0; j < TILES; j++)
                load_R(p, lane, B, j, (const four *)(own + q * at.size + at.columns),
                       (const int4 *)(own + q * at.size + at.extra), V[q][B][j]);
        make_S<B>(p, at, lane, own, S, s);
#pragma unroll
        for (int q = 0; q < CELLS; q++) {
            const double *U = own + q * at.size + at.U + lane;
            add_reaction(p, lane, B, own + q * at.size + at.c, s[0][q]);
#pragma unroll
            for (int k = 0; k < 2 * B; k++) u[q][k] = -U[64 * tile_beside(BLOCKS, k / 2, B) + 32 * (k % 2)];
#pragma unroll
            for (int k = 0; k < 2 * B; k++)
#pragma unroll
                for (int j = 0; j < LEFT; j++)
                    multiply_add(s[j][q],
                                 j == 0 ? -u[q][k] : U[64 * tile_beside(BLOCKS, k / 2, B + j) + 32 * (k % 2)],
                                 u[q][k]);
        }
        const bool good = solve_corners(lane, s[0], own + at.corner, at.size, w);
#pragma unroll
        for (int q = 0; q < CELLS; q++) {
            const double *c = own + q * at.size + at.c;
            double *U = own + q * at.size + at.U + lane;
            if (c[p.at.reaction] != 0.0) {
                double *y = own + q * at.size + at.y, sum = 0.0;
#pragma unroll
                for (int k = 0; k < 2 * B; k++) sum -= u[q][k] * y[4 * k + t];
                const double right = B == 0 && g == 0 ? c[p.at.reaction] * sqrt(p.t.volume) : 0.0;
                reduce_right(lane, B, sum, w[q], right, own + q * at.size + at.corner + 64, y);
            }
#pragma unroll
            for (int j = 1; j < LEFT; j++) {
                double x[2] = {0.0, 0.0};
                multiply_add(x, s[j][q][0], w[q][0]);
                multiply_add(x, s[j][q][1], w[q][1]);
                U[64 * tile_beside(BLOCKS, B, B + j)] = x[0];
                U[64 * tile_beside(BLOCKS, B, B + j) + 32] = x[1];
            }
#pragma unroll
            for (int k = 0; k < 2 * B; k++)
#pragma unroll
                for (int j = 0; j < TILES; j++) multiply_add(V[q][B][j], V[q][k / 2][j][k % 2], u[q][k]);
#pragma unroll
            for (int j = 0; j < TILES; j++) {
                double x[2] = {0.0, 0.0};
                multiply_add(x, V[q][B][j][0], w[q][0]);
                multiply_add(x, V[q][B][j][1], w[q][1]);
                V[q][B][j][0] = x[0];
                V[q][B][j][1] = x[1];
            }
        }
        __syncwarp();
        return good;
    }

    template <int B>
    __device__ __forceinline__ bool blocks_from(const tables &p, const places &at, int lane, double *own,
                                                const double2 *S) {
        const bool good = block<B>(p, at, lane, own, S);
        if constexpr (B + 1 < BLOCKS)
            return blocks_from<B + 1>(p, at, lane, own, S) && good;
        else
            return good;
    }

    // V'y.
    __device__ __forceinline__ void sums(int q, int lane, bool any, const double *y, double *d) const {
        const int g = lane / 4, t = lane % 4;
#pragma unroll
        for (int j = 0; j < TILES; j++) {
            double sum = 0.0;
            if (any) {
#pragma unroll
                for (int b = 0; b < BLOCKS; b++)
                    sum += V[q][b][j][0] * y[8 * b + t] + V[q][b][j][1] * y[8 * b + 4 + t];
                sum = sum_of_four(sum);
            }
            if (t == 0) d[8 * j + g] = sum;
        }
    }

    // Tiles (i, j0 .. j0 + WIDE - 1) of K = H - V'V of cell Q.
    template <int Q, int I, int J, int WIDE>
    __device__ __forceinline__ void schur_tiles(const tables &p, int lane, const double *c, const int4 *extra,
                                                double *K) const {
        double tile[WIDE][2];
#pragma unroll
        for (int q = 0; q < WIDE; q++) load_H(p, lane, I, J + q, c, extra, tile[q]);
#pragma unroll
        for (int k = 0; k < 2 * BLOCKS; k++) {
            if (k == 2 * BLOCKS - 1 && p.panels < 2 * BLOCKS) break;
            const double a = -V[Q][k / 2][I][k % 2];
#pragma unroll
            for (int q = 0; q < WIDE; q++) multiply_add(tile[q], a, V[Q][k / 2][J + q][k % 2]);
        }
#pragma unroll
        for (int q = 0; q < WIDE; q++) put_tile(p, lane, I, J + q, tile[q], K);
    }

    template <int Q, int I, int J>
    __device__ __forceinline__ void schur(const tables &p, int lane, const double *c, const int4 *extra,
                                          double *K) const {
        constexpr int WIDE = I + 1 - J < 4 ? I + 1 - J : 4;
        schur_tiles<Q, I, J, WIDE>(p, lane, c, extra, K);
        if constexpr (J + WIDE <= I)
            schur<Q, I, J + WIDE>(p, lane, c, extra, K);
        else if constexpr (I + 1 < TILES)
            schur<Q, I + 1, 0>(p, lane, c, extra, K);
    }

    // K of cell Q and those after it.
    template <int Q>
    __device__ __forceinline__ void finish(const tables &p, const places &at, int lane, double *own) const {
        double *of = own + Q * at.size, *c = of + at.c;
        sums(Q, lane, c[p.at.reaction] != 0.0, of + at.y, of + at.d);
        __syncwarp(); // K takes the place of y
        schur<Q, 0, 0>(p, lane, c, (const int4 *)(of + at.extra), of + at.K);
        __syncwarp();
        restore_sums(team<1>{lane, 0, lane}, p.n, p.t.n_faces, p.t.m, sqrt(p.t.face), of + at.d, of + at.K);
        if constexpr (Q + 1 < CELLS) finish<Q + 1>(p, at, lane, own);
    }
};

// Warps of a block, cells of a warp, whether the tables of S fit beside them, and blocks of a multiprocessor
// that the registers leave room for.
template <int BLOCKS, int TILES> struct shape {
    static constexpr int NUMBERS = 4 * BLOCKS * TILES; // registers of V of a cell
    static constexpr bool S_KEPT = BLOCKS < 8;
    static constexpr int CELLS = NUMBERS <= 60 ? 2 : 1, TEAMS = CELLS == 1 && S_KEPT ? 8 : 4;
    static constexpr int FIT = 65536 / (32 * TEAMS) / (CELLS * (NUMBERS + 16) + 64);
    static constexpr int TOGETHER = FIT < 8 / TEAMS ? 8 / TEAMS : FIT > 6 ? 6 : FIT;
};

template <int BLOCKS, int TILES>
__global__ void __launch_bounds__(32 * shape<BLOCKS, TILES>::TEAMS, shape<BLOCKS, TILES>::TOGETHER)
    condense(const __grid_constant__ tables p, const places at, int64_t n_cells, const double *coefficients,
             double *K, unsigned long long *failed) {
    extern __shared__ __align__(32) double room[];
    using of_size = shape<BLOCKS, TILES>;
    constexpr int CELLS = of_size::CELLS, ALL_CELLS = CELLS * of_size::TEAMS, THREADS = 32 * of_size::TEAMS;
    const int lane = threadIdx.x % 32, n_K = triangle_row(p.n), count = p.at.count;
    const int n_S = of_size::S_KEPT ? p.terms * BLOCKS * (BLOCKS + 1) * 32 : 0;
    const double2 *S = of_size::S_KEPT ? (const double2 *)room : p.S;
    double *all = room + n_S, *own = all + threadIdx.x / 32 * CELLS * at.size;
    for (int i = threadIdx.x; i < n_S / 2; i += THREADS) ((double2 *)room)[i] = __ldg(p.S + i);
    if (of_size::S_KEPT) __syncthreads();
    for (int64_t first = (int64_t)blockIdx.x * ALL_CELLS; first < n_cells;
         first += (int64_t)gridDim.x * ALL_CELLS) {
        const int64_t mine = first + threadIdx.x / 32 * CELLS, batch = mine / L;
        for (int q = 0; q < CELLS; q++)
            for (int k = lane; k < count; k += 32)
                own[q * at.size + at.c + k] = coefficients[(batch * count + k) * L + mine % L + q];
        __syncwarp();
        for (int q = 0; q < CELLS; q++)
            prepare(p, team<1>{lane, 0, lane}, 8 * TILES, own + q * at.size + at.c,
                    (four *)(own + q * at.size + at.columns), (int4 *)(own + q * at.size + at.extra));
        __syncwarp();
        cells<BLOCKS, TILES, CELLS, of_size::S_KEPT> of;
        if (!of.template blocks_from<0>(p, at, lane, own, S) && lane % 16 == 0)
            atomicMin(failed, (unsigned long long)batch);
        of.template finish<0>(p, at, lane, own);
        __syncthreads();
        double *to = K + batch * n_K * L + first % L;
        constexpr int PAIRS = ALL_CELLS / 2;
        for (int e = threadIdx.x; e < n_K * PAIRS; e += THREADS) {
            const double *from = all + e % PAIRS * 2 * at.size + at.K + e / PAIRS;
            *(double2 *)(to + e / PAIRS * L + e % PAIRS * 2) = make_double2(from[0], from[at.size]);
        }
        __syncthreads();
    }
}

// ------------------------------------------------------------------------------------ sizes

using kernel_of_size = void (*)(tables, places, int64_t, const double *, double *, unsigned long long *);

struct size {
    int blocks, tiles, teams, cells; // cells of a warp
    bool S_kept;
    kernel_of_size kernel;
};

// The first that is large enough is taken; blocks as they are.
template <int BLOCKS, int TILES> constexpr size size_for() {
    using of_size = shape<BLOCKS, TILES>;
    return {BLOCKS, TILES, of_size::TEAMS, of_size::CELLS, of_size::S_KEPT, condense<BLOCKS, TILES>};
}
const size SIZES[] = {size_for<1, 2>(), size_for<1, 3>(), size_for<2, 3>(), size_for<3, 3>(),
                      size_for<3, 5>(), size_for<4, 3>(), size_for<4, 7>(), size_for<5, 3>(),
                      size_for<5, 8>(), size_for<6, 4>(), size_for<7, 4>(), size_for<8, 4>()};

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
        const int n_S = s->S_kept ? p.terms * s->blocks * (s->blocks + 1) * 32 : 0,
                  together = s->teams * s->cells;
        launch(s->kernel, what, n_batches * L / together, 32 * s->teams,
               (n_S + together * at.size) * sizeof(double), p, at, n_batches * L, coefficients, K, failed);
    }
    *first_bad = failure_found(failed);
    return true;
}

} // namespace facet
