// Local solvers of cells whose map is curved or whose data vary (kernels/general.h). Their integrals are made
// first, a record of numbers for every cell (integrals.cuh); then a team of warps takes a cell:
//
//   A = U'U and W = U^-T by elimination of [A 1]; V = W [D G] for one direction after the other, in tiles of
//   8 x 8 whose lanes have them such that they are operands of the next product; C = [S R; . H] += V'V in
//   registers; then the elimination of S as of affine cells (local.cuh).
//
// K that is a matrix and varies couples the directions: there is one A and one V for all of them then.
#include "kernels/cuda/integrals.cuh"
#include "kernels/cuda/turns.cuh"

namespace facet {
namespace {

constexpr int TEAMS = 4;                       // cells of a block that one warp takes
constexpr int64_t RECORDS = (int64_t)16 << 20; // numbers of all records at hand, about
constexpr int64_t SLICES = (int64_t)256 << 20; // numbers of all slices where cells do not fit, at most
constexpr int STRAIGHT_ROWS = 4;               // blocks of rows of V that a warp makes at once

int even(int64_t n) {
    return (int)((n + 1) / 2 * 2);
}

// The sizes, and where the integrals stand in the record of a cell: A, upper; X: parts x rows x width, [D G]
// or D; C: N x width, [lambda M + T, E], or without E; H: faces x m x m; b: the moments of lambda.
struct shape {
    struct general_tables t;
    struct affine_tables turns;
    int N, n, rows, parts, width;
    int A, X, C, H, b, size;
    bool reacts;
};

shape shape_of(const struct general_tables *t, bool full, bool reacts, bool faces) {
    shape s = {};
    s.t = *t;
    s.turns = *t->affine;
    s.N = t->N;
    s.n = t->n_faces * t->m;
    s.rows = full ? t->dim * t->N : t->N;
    s.parts = full ? 1 : t->dim;
    s.width = t->N + (faces ? s.n : 0);
    s.reacts = reacts;
    s.A = 0;
    s.X = s.A + s.rows * s.rows;
    s.C = s.X + t->dim * t->N * s.width;
    s.H = s.C + t->N * s.width;
    s.b = s.H + (faces ? t->n_faces * t->m * t->m : 0);
    s.size = even(s.b + t->N);
    return s;
}

// ------------------------------------------------------------------------------------ integrals

struct integral_part plain_part(int n, const double *left, int ld_left, const double *right, int ld_right,
                                const double *in, int64_t batch, int step) {
    struct integral_part p = {};
    p.left = left;
    p.right = right;
    p.in = in;
    p.batch = batch;
    p.ld_left = ld_left;
    p.ld_right = ld_right;
    p.step = step;
    p.n = n;
    return p;
}

// With the directions a, a + 1, .. mixed by column a of the roots.
struct integral_part mixed_part(struct integral_part p, const struct general_tables &t, const double *roots,
                                int a) {
    if (roots == nullptr) return p;
    p.mix = roots + a * (t.dim + 1) * L;
    p.mix_step = t.dim * L;
    p.mix_batch = t.dim * t.dim * L;
    p.n_mix = t.dim - a;
    return p;
}

void add_mass(const shape &s, const struct general_cells *g, struct integrals *list) {
    const struct general_tables &t = s.t;
    const int N = t.N, pairs = g->full ? t.dim * (t.dim + 1) / 2 : 1;
    for (int b = 0, pair = 0; b < (g->full ? t.dim : 1); b++)
        for (int a = 0; a <= b; a++, pair++) {
            integrals_add(list, N, N, a == b, s.A + a * N * s.rows + b * N, s.rows);
            integrals_part(list, g->det != nullptr
                                     ? plain_part(t.n_det, t.M, N * N, nullptr, 0, g->det, t.n_det * L, L)
                                     : plain_part(t.n, t.phi, N, t.phi, N, g->mass + (int64_t)pair * t.n * L,
                                                  (int64_t)pairs * t.n * L, L));
        }
}

void add_gradients(const shape &s, const struct general_cells *g, struct integrals *list) {
    const struct general_tables &t = s.t;
    const int N = t.N, dim = t.dim;
    const int64_t batch = (int64_t)t.n_metric * dim * dim * L;
    for (int a = 0; a < dim; a++) {
        integrals_add(list, N, N, false, s.X + a * N * s.width, s.width);
        if (t.D != nullptr)
            integrals_part(list, mixed_part(plain_part(t.n_metric * dim, t.D, N * N, nullptr, 0,
                                                       g->cofactors + a * L, batch, dim * L),
                                            t, g->roots, a));
        for (int c = 0; c < dim && t.D == nullptr; c++)
            integrals_part(list,
                           mixed_part(plain_part(t.n, t.grad + (int64_t)c * t.n * N, N, t.phi, N,
                                                 g->cofactors + (c * dim + a) * L, batch, dim * dim * L),
                                      t, g->roots, a));
    }
}

// T and the reaction.
void add_inside(const shape &s, const struct general_cells *g, struct integrals *list) {
    const struct general_tables &t = s.t;
    const int N = t.N, points = t.n_faces * t.n_face;
    integrals_add(list, N, N, true, s.C, s.width);
    integrals_part(list, plain_part(points, t.face_phi, N, t.face_phi, N, g->tau, (int64_t)points * L, L));
    if (!s.reacts) return;
    integrals_part(list, plain_part(t.n, t.phi, N, t.phi, N, g->reaction, (int64_t)t.n * L, L));
    integrals_add(list, N, 1, false, s.b, 1);
    integrals_part(list, plain_part(t.n, t.phi, N, nullptr, 0, g->reaction, (int64_t)t.n * L, L));
}

void add_faces(const shape &s, const struct general_cells *g, struct integrals *list) {
    const struct general_tables &t = s.t;
    const int N = t.N, m = t.m, n = t.n_face, dim = t.dim;
    const int64_t points = (int64_t)t.n_faces * n;
    for (int f = 0; f < t.n_faces; f++) {
        const double *phi = t.face_phi + (int64_t)f * n * N, *tau = g->tau + (int64_t)f * n * L;
        for (int a = 0; a < dim; a++) {
            integrals_add(list, N, m, false, s.X + a * N * s.width + N + f * m, s.width);
            integrals_part(
                list, mixed_part(plain_part(n, phi, N, t.psi, m, g->normals + ((int64_t)f * n * dim + a) * L,
                                            points * dim * L, dim * L),
                                 t, g->roots, a));
        }
        integrals_add(list, N, m, false, s.C + N + f * m, s.width);
        integrals_part(list, plain_part(n, phi, N, t.psi, m, tau, points * L, L));
        integrals_add(list, m, m, true, s.H + f * m * m, m);
        integrals_part(list, plain_part(n, t.psi, m, t.psi, m, tau, points * L, L));
    }
}

// ------------------------------------------------------------------------------------ algebra of a cell

// W = U^-T of A = U'U: A comes in as it stands in the record and [U W] is left in `to`, rows of ld numbers.
// Returns whether A is positive definite.
template <class T>
__device__ __forceinline__ bool invert_mass(const T &team, int rows, const double *A, int ld, double *to) {
    for (int i = team.warp; i < rows; i += T::THREADS / 32)
        for (int j = team.lane; j < 2 * rows; j += 32)
            to[i * ld + j] = j < rows ? (j >= i ? __ldg(A + i * rows + j) : 0.0) : j - rows == i ? 1.0 : 0.0;
    team.sync();
    return eliminate<false>(team, rows, 2 * rows, ld, to);
}

// Tile (i, j) of V, as lanes have it: number r of lane 4 g + t is row 8 i + 2 t + r of column 8 j + g.
__device__ __forceinline__ int64_t tile_place(int n_tiles, int i, int j) {
    return (int64_t)(i * n_tiles + j) * 64;
}

// V = W X, `tiles` columns of tiles; W is lower triangular. x(k, j): X, zero beyond its end, of which several
// rows are asked for before the first is used.
template <class T, class X>
__device__ __forceinline__ void half_solve(const T &team, int rows, int ld, const double *W, int tiles,
                                           const X &x, double *V) {
    constexpr int AHEAD = 8;
    const int blocks = (rows + 7) / 8, g = team.lane / 4, t = team.lane % 4;
    for (int j = team.warp; j < tiles; j += T::THREADS / 32)
        for (int i0 = 0; i0 < blocks; i0 += STRAIGHT_ROWS) {
            double v[STRAIGHT_ROWS][2] = {};
            const int end = rows < 8 * (i0 + STRAIGHT_ROWS) ? rows : 8 * (i0 + STRAIGHT_ROWS);
            for (int first = 0; first < end; first += 4 * AHEAD) {
                double column[AHEAD];
#pragma unroll
                for (int q = 0; q < AHEAD; q++) {
                    const int k = first + 4 * q + t;
                    column[q] = k < rows && first + 4 * q < end ? x(k, 8 * j + g) : 0.0;
                }
#pragma unroll
                for (int q = 0; q < AHEAD; q++) {
                    const int k0 = first + 4 * q;
                    if (k0 >= end) break;
#pragma unroll
                    for (int e = 0; e < STRAIGHT_ROWS; e++) {
                        const int row = 8 * (i0 + e) + g;
                        if (k0 < 8 * (i0 + e + 1) && i0 + e < blocks)
                            multiply_add(v[e], column[q],
                                         k0 + t < rows && row < rows ? W[row * ld + k0 + t] : 0.0);
                    }
                }
            }
#pragma unroll
            for (int e = 0; e < STRAIGHT_ROWS; e++)
                if (i0 + e < blocks) {
                    double *to = V + tile_place(tiles, i0 + e, j) + team.lane;
                    to[0] = v[e][0];
                    to[32] = v[e][1];
                }
        }
}

// The tiles (i, j), i <= j, of V'V: MINE of those from `first` on belong to this warp, and of them the sums
// are kept in its registers. A tile that does not exist is (0, 0), whose sum nobody asks for.
template <int MINE> struct squares {
    int tiles, n;
    short i[MINE], j[MINE];
    double sum[MINE][2];
    template <class T>
    __device__ __forceinline__ squares(const T &team, int n_tiles, int first) : tiles(n_tiles), n(0) {
        int row = 0, column = first + team.warp;
#pragma unroll
        for (int e = 0; e < MINE; e++) {
            while (row < tiles && column >= tiles) {
                row++;
                column += row - tiles;
            }
            i[e] = row < tiles ? (short)row : (short)0;
            j[e] = row < tiles ? (short)column : (short)0;
            n += row < tiles;
            column += T::THREADS / 32;
        }
    }
    // from(row, column): what the sums begin with.
    template <class T, class From> __device__ __forceinline__ void begin(const T &team, const From &from) {
#pragma unroll
        for (int e = 0; e < MINE; e++) {
            const int row = 8 * i[e] + team.lane / 4, column = 8 * j[e] + 2 * (team.lane % 4);
            sum[e][0] = row <= column ? from(row, column) : 0.0;
            sum[e][1] = row <= column + 1 ? from(row, column + 1) : 0.0;
        }
    }
    template <class T> __device__ __forceinline__ void add(const T &team, int blocks, const double *V) {
        for (int b = 0; b < 2 * blocks; b++, V += b % 2 != 0 ? 32 : tiles * 64 - 32) {
            const double *at = V + team.lane;
#pragma unroll
            for (int e = 0; e < MINE; e++)
                if (e < n) multiply_add(sum[e], at[i[e] * 64], at[j[e] * 64]);
        }
    }
    // to(row, column, sum) of the entries on or above the diagonal.
    template <class T, class To> __device__ __forceinline__ void give(const T &team, const To &to) const {
#pragma unroll
        for (int e = 0; e < MINE; e++) {
            const int row = 8 * i[e] + team.lane / 4, column = 8 * j[e] + 2 * (team.lane % 4);
            if (e >= n) continue;
            if (row <= column) to(row, column, sum[e][0]);
            if (row <= column + 1) to(row, column + 1, sum[e][1]);
        }
    }
};

// ------------------------------------------------------------------------------------ K

// Where the numbers of a cell stand, all of them even. C takes the place of W and V, unless V of all parts is
// kept.
struct places {
    int ld_W, ld, o, d, K, W, V, C, size;
};

places condense_places(const shape &s, bool all) {
    const int tiles = (s.width + 7) / 8, blocks = (s.rows + 7) / 8;
    places at;
    at.ld_W = (int)row_length(2 * s.rows);
    at.ld = (int)row_length(s.width + 1);
    at.o = 0;
    at.d = at.o + even(s.t.n_faces);
    at.K = at.d + even(s.n);
    at.W = at.K + even((int64_t)s.n * (s.n + 1) / 2);
    at.V = at.W + even(padded_rows(s.rows) * at.ld_W);
    const int end = at.V + (all ? s.parts : 1) * blocks * tiles * 64;
    at.C = all ? end : at.W;
    const int last = at.C + even(padded_rows(s.N) * at.ld), work = at.W + even(s.n * s.t.m);
    at.size = last > end ? last : end;
    at.size = at.size > work ? at.size : work;
    return at;
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

// The part of the record that V'V is added to: [lambda M + T, E; ., H], i <= j.
__device__ __forceinline__ double constant_part(const shape &s, const double *record, int i, int j) {
    if (j >= s.width) return 0.0;
    if (i < s.N) return __ldg(record + s.C + i * s.width + j);
    const int m = s.t.m, f = (i - s.N) / m;
    return f == (j - s.N) / m ? __ldg(record + s.H + (f * m + (i - s.N) % m) * m + (j - s.N) % m) : 0.0;
}

// K -= V'V, V being the rows of C.
template <class T>
__device__ __forceinline__ void schur(const T &team, int N, int n, int ld, const double *C, double *K) {
    constexpr int WIDE = 4;
    const int g = team.lane / 4, t = team.lane % 4;
    const double *V = C + t * ld + N + g;
    int job = 0;
    for (int i0 = 0; i0 < n; i0 += 8)
        for (int j0 = 0; j0 <= i0; j0 += 8 * WIDE, job++) {
            if (job % (T::THREADS / 32) != team.warp) continue;
            double sum[WIDE][2] = {};
            for (int k = 0; k < N; k += 4) {
                const double a = -V[k * ld + i0];
#pragma unroll
                for (int q = 0; q < WIDE; q++)
                    if (j0 + 8 * q <= i0) multiply_add(sum[q], a, V[k * ld + j0 + 8 * q]);
            }
            const int i = i0 + g;
#pragma unroll
            for (int q = 0; q < WIDE; q++)
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    const int j = j0 + 8 * q + 2 * t + r;
                    if (i < n && j <= i) K[triangle_row(i) + j] += sum[q][r];
                }
        }
}

// C = [S R b] and K = H of a cell; returns whether A is positive definite.
template <int MINE, bool KEPT, class T>
__device__ __forceinline__ bool assemble(const shape &s, const places &at, const T &team,
                                         const double *record, double *own) {
    const int N = s.N, tiles = (s.width + 7) / 8, blocks = (s.rows + 7) / 8,
              n_tiles = tiles * (tiles + 1) / 2;
    const int64_t n_V = (int64_t)blocks * tiles * 64;
    const double *W = own + at.W + s.rows;
    double *C = own + at.C, *K = own + at.K;
    bool good = true;
    auto make = [&](int part) {
        const double *X = record + s.X + (int64_t)part * s.rows * s.width;
        half_solve(
            team, s.rows, at.ld_W, W, tiles,
            [&](int k, int j) { return j < s.width ? __ldg(X + (int64_t)k * s.width + j) : 0.0; },
            own + at.V + (KEPT ? part : 0) * n_V);
    };
    for (int first = 0; first < n_tiles; first += MINE * (T::THREADS / 32)) { // once, unless V is kept
        squares<MINE> mine(team, tiles, first);
        mine.begin(team, [&](int i, int j) { return constant_part(s, record, i, j); });
        if (first == 0) good = invert_mass(team, s.rows, record + s.A, at.ld_W, own + at.W);
        for (int part = 0; part < s.parts && KEPT && first == 0; part++) make(part);
        for (int part = 0; part < s.parts; part++) {
            if (!KEPT) make(part);
            team.sync();
            mine.add(team, blocks, own + at.V + (KEPT ? part : 0) * n_V);
            if (!KEPT) team.sync();
        }
        mine.give(team, [&](int i, int j, double x) {
            if (j >= s.width) return;
            if (i < N)
                C[i * at.ld + j] = x;
            else
                K[triangle_row(j - N) + i - N] = x;
        });
    }
    for (int i = team.thread; i < N; i += T::THREADS)
        C[i * at.ld + s.width] = s.reacts ? record[s.b + i] : 0.0;
    clear_padding(team, N, at.ld, C);
    team.sync();
    return good;
}

// Blocks of a multiprocessor that the registers shall leave room for.
constexpr int blocks_together(int warps, int mine) {
    return warps == 8 ? 1 : mine <= 10 ? 4 : 2;
}

template <int WARPS, int MINE, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS, blocks_together(WARPS, MINE))
    condense(const __grid_constant__ shape s, const __grid_constant__ places at, int64_t first_batch,
             int64_t n_cells, const double *records, const double *orientations, double *K, double *slices,
             unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1;
    const int thread = WARPS == 1 ? threadIdx.x % 32 : threadIdx.x, mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    const team<WARPS> team = {thread, thread / 32, thread % 32};
    const int N = s.N, n = s.n, faces = s.t.n_faces, m = s.t.m, n_K = triangle_row(n);
    double *own = SHARED ? room + mine * at.size : slices + (int64_t)blockIdx.x * at.size;
    double *o = own + at.o, *d = own + at.d, *C = own + at.C, *own_K = own + at.K;
    for (int64_t first = (int64_t)blockIdx.x * CELLS; first < n_cells; first += (int64_t)gridDim.x * CELLS) {
        const int64_t cell = first + mine, batch = first_batch + cell / L;
        const int lane = (int)(cell % L);
        for (int f = thread; f < faces; f += team.THREADS)
            o[f] = orientations[(batch * faces + f) * L + lane];
        bool good = assemble<MINE, !SHARED>(s, at, team, records + cell * s.size, own);
        good = eliminate<false>(team, N, s.width + 1, at.ld, C) && good;
        if (!good && thread == 0) atomicMin(failed, (unsigned long long)batch);
        schur(team, N, n, at.ld, C, own_K);
        for (int j = thread; j < n; j += team.THREADS) {
            double sum = 0.0;
            for (int k = 0; k < N && s.reacts; k++) sum += C[k * at.ld + N + j] * C[k * at.ld + s.width];
            d[j] = sum;
        }
        team.sync();
        restore_sums(team, n, faces, m, sqrt(s.turns.face), d, own_K);
        turn(oriented{s.turns, n, {0}}, team, o, own_K, own + at.W);
        if (WARPS == 1) { // four neighbours in lanes
            __syncthreads();
            double *to = K + batch * n_K * L + first % L;
            for (int e = threadIdx.x; e < n_K * CELLS; e += 32 * TEAMS)
                to[(int64_t)(e / CELLS) * L + e % CELLS] = room[e % CELLS * at.size + at.K + e / CELLS];
            __syncthreads();
        } else {
            team.sync();
            double *to = K + batch * n_K * L + lane;
            for (int e = thread; e < n_K; e += team.THREADS) to[(int64_t)e * L] = own_K[e];
            team.sync();
        }
    }
}

// ------------------------------------------------------------------------------------ solves

// d: uhat as it comes, v: as the cell sees it; moments: of uhat with normals and tau, (dim + 1) N numbers;
// flow: the flux and as much room; points: values at those of the faces, (dim + 1) each.
struct solve_room {
    places at;
    int v, moments, flow, points;
};

solve_room solve_places(const shape &s) {
    const int tiles = (s.N + 8) / 8, blocks = (s.rows + 7) / 8, dim = s.t.dim;
    solve_room to;
    places &at = to.at;
    at.ld_W = (int)row_length(2 * s.rows);
    at.ld = (int)row_length(s.N + 1);
    at.o = 0;
    at.d = at.K = at.o + even(s.t.n_faces);
    to.v = at.d + even(s.n);
    to.moments = to.v + even(s.n);
    to.flow = to.moments + even((dim + 1) * s.N);
    to.points = to.flow + even(2 * dim * s.N);
    at.W = to.points + even((dim + 1) * s.t.n_faces * s.t.n_face);
    at.V = at.W + even(padded_rows(s.rows) * at.ld_W);
    at.C = at.V + s.parts * blocks * tiles * 64;
    at.size = at.C + even(padded_rows(s.N) * at.ld);
    return to;
}

struct solution {
    const double *uhat;
    double *u, *q, *load;
    int v, moments, flow, points; // places
};

// moments = G_a uhat (mixed by the roots) and E uhat, v: uhat as the cell sees it.
template <class T>
__device__ void trace_moments(const shape &s, const T &team, const struct general_cells &g, int64_t batch,
                              int lane, const double *v, double *points, double *moments) {
    const struct general_tables &t = s.t;
    const int dim = t.dim, N = t.N, m = t.m, n = t.n_face, all = t.n_faces * n;
    for (int p = team.thread; p < all; p += T::THREADS) {
        double value = 0.0;
        for (int j = 0; j < m; j++) value += __ldg(t.psi + p % n * m + j) * v[p / n * m + j];
        for (int a = 0; a < dim; a++)
            points[p * (dim + 1) + a] = g.normals[((batch * all + p) * dim + a) * L + lane] * value;
        points[p * (dim + 1) + dim] = g.tau[(batch * all + p) * L + lane] * value;
    }
    team.sync();
    for (int e = team.thread; e < (dim + 1) * N; e += T::THREADS) {
        const int a = e / N, i = e % N;
        double sum = 0.0;
        if (g.roots == nullptr || a == dim) {
            for (int p = 0; p < all; p++) sum += __ldg(t.face_phi + p * N + i) * points[p * (dim + 1) + a];
        } else {
            for (int c = a; c < dim; c++) {
                double part = 0.0;
                for (int p = 0; p < all; p++)
                    part += __ldg(t.face_phi + p * N + i) * points[p * (dim + 1) + c];
                sum += g.roots[(batch * dim * dim + c * dim + a) * L + lane] * part;
            }
        }
        moments[e] = sum;
    }
    team.sync();
}

// flow (dim N) = K^1/2 U^-1 (V u - the last column of V, where `trace`), and as many numbers of room behind
// it.
template <class T>
__device__ void flux(const shape &s, const places &at, const T &team, const double *roots, const double *own,
                     bool trace, double *flow) {
    const int N = s.N, dim = s.t.dim, tiles = (N + 8) / 8, blocks = (s.rows + 7) / 8, size = dim * N;
    const double *W = own + at.W + s.rows, *u = own + at.C + N;
    double *x = flow + size;
    for (int e = team.thread; e < size; e += T::THREADS) {
        const int part = e / s.rows, row = e % s.rows;
        const double *V = own + at.V + (int64_t)part * blocks * tiles * 64 + tile_place(tiles, row / 8, 0) +
                          row % 2 * 32 + row % 8 / 2;
        double sum = 0.0;
        for (int j = 0; j < N; j++) sum += V[j / 8 * 64 + j % 8 * 4] * u[j * at.ld];
        if (trace) sum -= V[N / 8 * 64 + N % 8 * 4];
        x[e] = sum;
    }
    team.sync();
    for (int e = team.thread; e < size; e += T::THREADS) {
        const int part = e / s.rows, row = e % s.rows;
        double sum = 0.0;
        for (int k = row; k < s.rows; k++) sum += W[k * at.ld_W + row] * x[part * s.rows + k];
        flow[e] = sum;
    }
    team.sync();
    if (roots == nullptr) return;
    for (int i = team.thread; i < N; i += T::THREADS)
        for (int a = dim - 1; a >= 0; a--) {
            double sum = 0.0;
            for (int c = 0; c <= a; c++) sum += roots[(a * dim + c) * L] * flow[c * N + i];
            flow[a * N + i] = sum;
        }
    team.sync();
}

// raw (n) = E'u + sum_a G_a'q_a.
template <class T>
__device__ void trace_load(const shape &s, const places &at, const T &team, const struct general_cells &g,
                           int64_t batch, int lane, const double *u, const double *q, double *points,
                           double *raw) {
    const struct general_tables &t = s.t;
    const int dim = t.dim, N = t.N, m = t.m, n = t.n_face, all = t.n_faces * n;
    for (int p = team.thread; p < all; p += T::THREADS) {
        double value = 0.0;
        for (int i = 0; i < N; i++) value += __ldg(t.face_phi + p * N + i) * u[i * at.ld];
        value *= g.tau[(batch * all + p) * L + lane];
        for (int a = 0; a < dim; a++) {
            double sum = 0.0;
            for (int i = 0; i < N; i++) sum += __ldg(t.face_phi + p * N + i) * q[a * N + i];
            value += g.normals[((batch * all + p) * dim + a) * L + lane] * sum;
        }
        points[p] = value;
    }
    team.sync();
    for (int j = team.thread; j < s.n; j += T::THREADS) {
        double sum = 0.0;
        for (int p = 0; p < n; p++) sum += __ldg(t.psi + p * m + j % m) * points[j / m * n + p];
        raw[j] = sum;
    }
    team.sync();
}

// V of all parts, and C = [S b].
template <class T>
__device__ __forceinline__ bool assemble_solve(const shape &s, const places &at, const T &team,
                                               const double *record, const double *u, bool trace,
                                               const double *moments, double *own) {
    constexpr int MINE = 8;
    const int N = s.N, dim = s.t.dim, tiles = (N + 8) / 8, blocks = (s.rows + 7) / 8,
              n_tiles = tiles * (tiles + 1) / 2;
    const int64_t n_V = (int64_t)blocks * tiles * 64;
    double *C = own + at.C;
    const bool good = invert_mass(team, s.rows, record + s.A, at.ld_W, own + at.W);
    for (int part = 0; part < s.parts; part++) {
        const double *X = record + s.X + (int64_t)part * s.rows * N, *last = moments + part * s.rows;
        half_solve(
            team, s.rows, at.ld_W, own + at.W + s.rows, tiles,
            [&](int k, int j) { return j < N             ? X[(int64_t)k * N + j]
                                       : j == N && trace ? last[k]
                                                         : 0.0; },
            own + at.V + part * n_V);
    }
    team.sync();
    for (int first = 0; first < n_tiles; first += MINE * (T::THREADS / 32)) {
        squares<MINE> mine(team, tiles, first);
        mine.begin(team, [&](int i, int j) {
            return i >= N || j > N ? 0.0
                   : j < N         ? __ldg(record + s.C + i * s.width + j)
                   : trace         ? u[(int64_t)i * L] + moments[dim * N + i]
                                   : u[(int64_t)i * L];
        });
        for (int part = 0; part < s.parts; part++) mine.add(team, blocks, own + at.V + part * n_V);
        mine.give(team, [&](int i, int j, double x) {
            if (i < N && j <= N) C[i * at.ld + j] = x;
        });
    }
    clear_padding(team, N, at.ld, C);
    team.sync();
    return good;
}

template <int WARPS, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS)
    solve(const __grid_constant__ shape s, const __grid_constant__ places at, int64_t first_batch,
          int64_t n_cells, const double *records, const __grid_constant__ struct general_cells g,
          const __grid_constant__ solution x, double *slices, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1;
    const int thread = WARPS == 1 ? threadIdx.x % 32 : threadIdx.x, mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    const team<WARPS> team = {thread, thread / 32, thread % 32};
    const int N = s.N, n = s.n, faces = s.t.n_faces, dim = s.t.dim;
    double *own = SHARED ? room + mine * at.size : slices + (int64_t)blockIdx.x * at.size;
    double *o = own + at.o, *raw = own + at.d, *v = own + x.v, *moments = own + x.moments,
           *flow = own + x.flow, *points = own + x.points, *C = own + at.C;
    for (int64_t first = (int64_t)blockIdx.x * CELLS; first < n_cells; first += (int64_t)gridDim.x * CELLS) {
        const int64_t cell = first + mine, batch = first_batch + cell / L;
        const int lane = (int)(cell % L);
        const double *roots = g.roots != nullptr ? g.roots + batch * dim * dim * L + lane : nullptr;
        double *u = x.u + batch * N * L + lane;
        const oriented turns = {s.turns, n, {0}};
        for (int f = thread; f < faces; f += team.THREADS)
            o[f] = g.orientations[(batch * faces + f) * L + lane];
        for (int j = thread; j < n && x.uhat != nullptr; j += team.THREADS)
            raw[j] = x.uhat[(batch * n + j) * L + lane];
        team.sync();
        if (x.uhat != nullptr) {
            turn_vector(turns, team, o, false, raw, v);
            team.sync();
            trace_moments(s, team, g, batch, lane, v, points, moments);
        }
        bool good = assemble_solve(s, at, team, records + cell * s.size, u, x.uhat != nullptr, moments, own);
        good = eliminate<true>(team, N, N + 1, at.ld, C) && good;
        if (!good && thread == 0) atomicMin(failed, (unsigned long long)batch);
        if (team.warp == 0) substitute_back(team.lane, N, at.ld, C);
        team.sync();
        for (int i = thread; i < N; i += team.THREADS) u[(int64_t)i * L] = C[i * at.ld + N];
        if (x.q != nullptr) {
            flux(s, at, team, roots, own, x.uhat != nullptr, flow);
            for (int e = thread; e < dim * N; e += team.THREADS)
                x.q[(batch * dim * N + e) * L + lane] = flow[e];
            team.sync();
        }
        if (x.load != nullptr) {
            flux(s, at, team, roots, own, false, flow);
            trace_load(s, at, team, g, batch, lane, C + N, flow, points, raw);
            turn_vector(turns, team, o, true, raw, v);
            team.sync();
            for (int j = thread; j < n; j += team.THREADS) x.load[(batch * n + j) * L + lane] = v[j];
        }
        team.sync();
    }
}

// ------------------------------------------------------------------------------------ gradients

// x = A^-1 x, A: the records, M x M, upper.
template <int WARPS, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS)
    solve_dense(int M, int ld, int64_t size, int64_t first_batch, int64_t n_cells, const double *records,
                double *x, double *slices, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1;
    const int thread = WARPS == 1 ? threadIdx.x % 32 : threadIdx.x, mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    const team<WARPS> team = {thread, thread / 32, thread % 32};
    const int64_t n_C = (int64_t)(M + 3) / 4 * 4 * ld;
    double *C = SHARED ? room + mine * n_C : slices + (int64_t)blockIdx.x * n_C;
    for (int64_t first = (int64_t)blockIdx.x * CELLS; first < n_cells; first += (int64_t)gridDim.x * CELLS) {
        const int64_t cell = first + mine, batch = first_batch + cell / L;
        const double *A = records + cell * size;
        double *to = x + batch * M * L + cell % L;
        for (int i = team.warp; i < M; i += team.THREADS / 32)
            for (int j = i + team.lane; j <= M; j += 32)
                C[i * ld + j] = j < M ? A[(int64_t)i * M + j] : to[(int64_t)i * L];
        clear_padding(team, M, ld, C);
        team.sync();
        if (!eliminate<true>(team, M, M + 1, ld, C) && thread == 0)
            atomicMin(failed, (unsigned long long)batch);
        if (team.warp == 0) substitute_back(team.lane, M, ld, C);
        team.sync();
        for (int i = thread; i < M; i += team.THREADS) to[(int64_t)i * L] = C[i * ld + M];
        team.sync();
    }
}

// ------------------------------------------------------------------------------------ launches

constexpr int SMALL = 1800; // numbers of a cell that one warp takes

// Slices, one a block, where a cell does not fit into shared memory; 0: it does.
int64_t slices_of(int64_t size) {
    if (size * sizeof(double) <= MOST_SHARED) return 0;
    const int64_t most = 2 * (int64_t)multiprocessors(), fit = SLICES / size;
    return fit < 1 ? 1 : fit < most ? fit : most;
}

// Batches whose records are at hand together.
int64_t batches_of(int64_t size) {
    const int64_t n = RECORDS / (size * L);
    return n < 1 ? 1 : n;
}

// V of one part at a time needs all sums of a cell in registers; else, or where shared memory is too small,
// all of V is kept in a slice.
struct condense_way {
    places at;
    int64_t slices;
    int warps, mine;
};

condense_way way_of(const shape &s) {
    const int tiles = (s.width + 7) / 8, n_tiles = tiles * (tiles + 1) / 2;
    condense_way way = {condense_places(s, false), 0, 0, 0};
    if (slices_of(way.at.size) > 0 || n_tiles > 8 * 28) {
        way.at = condense_places(s, true);
        const int64_t most = 2 * (int64_t)multiprocessors(), fit = SLICES / way.at.size;
        way.slices = fit < 1 ? 1 : fit < most ? fit : most;
    } else if (n_tiles <= 10 && way.at.size <= SMALL) {
        way.warps = 1;
    } else {
        way.warps = n_tiles <= 96 ? 4 : 8;
        way.mine = n_tiles <= 40 ? 10 : 24;
    }
    return way;
}

int64_t scratch_of(const struct general_tables *t, bool full) {
    const shape a = shape_of(t, full, true, true), b = shape_of(t, full, true, false);
    const condense_way way = way_of(a);
    const int64_t size = solve_places(b).at.size, first = way.slices * way.at.size,
                  second = slices_of(size) * size;
    const int64_t records = batches_of(b.size) * b.size, more = batches_of(a.size) * a.size;
    return (first > second ? first : second) + (records > more ? records : more) * L;
}

// Where the records of a shape begin in scratch, behind all slices.
double *records_in(const struct general_tables *t, bool full, double *scratch) {
    const condense_way way = way_of(shape_of(t, full, true, true));
    const int64_t size = solve_places(shape_of(t, full, true, false)).at.size;
    const int64_t first = way.slices * way.at.size, second = slices_of(size) * size;
    return scratch + (first > second ? first : second);
}

void launch_condense(const shape &s, const condense_way &way, int64_t first, int64_t n, const double *records,
                     const double *orientations, double *K, double *slices, unsigned long long *failed) {
    const char *what = "condense_general";
    const int64_t n_cells = n * L;
    const size_t bytes = way.at.size * sizeof(double);
    if (way.slices > 0)
        launch(condense<8, 16, false>, what, way.slices < n_cells ? way.slices : n_cells, 256, 0, s, way.at,
               first, n_cells, records, orientations, K, slices, failed);
    else if (way.warps == 1)
        launch(condense<1, 10, true>, what, n_cells / TEAMS, 32 * TEAMS, TEAMS * bytes, s, way.at, first,
               n_cells, records, orientations, K, slices, failed);
    else if (way.warps == 4 && way.mine == 10)
        launch(condense<4, 10, true>, what, n_cells, 128, bytes, s, way.at, first, n_cells, records,
               orientations, K, slices, failed);
    else if (way.warps == 4)
        launch(condense<4, 24, true>, what, n_cells, 128, bytes, s, way.at, first, n_cells, records,
               orientations, K, slices, failed);
    else
        launch(condense<8, 28, true>, what, n_cells, 256, bytes, s, way.at, first, n_cells, records,
               orientations, K, slices, failed);
}

} // namespace
} // namespace facet

using namespace facet;

int64_t condense_general_scratch_cuda(const struct general_tables *t, int full) {
    const int64_t plain = scratch_of(t, false), other = full ? scratch_of(t, true) : 0;
    return plain > other ? plain : other;
}

int64_t condense_general_cuda(const struct general_tables *t, const struct general_cells *g,
                              int64_t n_batches, double *K, double *scratch) {
    const shape s = shape_of(t, g->full, g->reaction != nullptr, true);
    const condense_way way = way_of(s);
    const int64_t most = batches_of(s.size);
    double *records = records_in(t, g->full, scratch);
    struct integrals list;
    if (n_batches == 0 || !may_launch()) return -1;
    unsigned long long *failed = first_failure();
    if (failed == nullptr) return -1;
    integrals_begin(&list);
    add_mass(s, g, &list);
    add_gradients(s, g, &list);
    add_inside(s, g, &list);
    add_faces(s, g, &list);
    for (int64_t first = 0; first < n_batches; first += most) {
        const int64_t n = n_batches - first < most ? n_batches - first : most;
        integrate(&list, first, n, s.size, records, "condense_general");
        launch_condense(s, way, first, n, records, g->orientations, K, scratch, failed);
    }
    return failure_found(failed);
}

int64_t general_solve_cuda(const struct general_tables *t, const struct general_cells *g, int64_t n_batches,
                           const double *uhat, double *u, double *q, double *load, double *scratch) {
    const char *what = "general_solve";
    const shape s = shape_of(t, g->full, g->reaction != nullptr, false);
    const solve_room of = solve_places(s);
    const solution x = {uhat, u, q, load, of.v, of.moments, of.flow, of.points};
    const int64_t most = batches_of(s.size), slices = slices_of(of.at.size);
    const size_t bytes = of.at.size * sizeof(double);
    double *records = records_in(t, g->full, scratch);
    struct integrals list;
    if (n_batches == 0 || !may_launch()) return -1;
    unsigned long long *failed = first_failure();
    if (failed == nullptr) return -1;
    integrals_begin(&list);
    add_mass(s, g, &list);
    add_gradients(s, g, &list);
    add_inside(s, g, &list);
    for (int64_t first = 0; first < n_batches; first += most) {
        const int64_t n = n_batches - first < most ? n_batches - first : most, n_cells = n * L;
        integrate(&list, first, n, s.size, records, what);
        if (slices > 0)
            launch(solve<8, false>, what, slices < n_cells ? slices : n_cells, 256, 0, s, of.at, first,
                   n_cells, records, *g, x, scratch, failed);
        else if (of.at.size <= SMALL)
            launch(solve<1, true>, what, n_cells / TEAMS, 32 * TEAMS, TEAMS * bytes, s, of.at, first, n_cells,
                   records, *g, x, scratch, failed);
        else
            launch(solve<4, true>, what, n_cells, 128, bytes, s, of.at, first, n_cells, records, *g, x,
                   scratch, failed);
    }
    return failure_found(failed);
}

// Numbers of a matrix of post-processing and its right-hand side.
static int64_t dense_size(int M) {
    return padded_rows(M) * row_length(M + 1);
}

int64_t gradient_solve_scratch_cuda(int lanes, int n, int M) {
    (void)lanes, (void)n;
    const int64_t size = even((int64_t)M * M);
    return slices_of(dense_size(M)) * dense_size(M) + batches_of(size) * size * L;
}

int64_t gradient_solve_cuda(int lanes, int64_t n_batches, int dim, int n, int M, const double *grad,
                            const double *W, double *x, double *scratch) {
    const char *what = "gradient_solve";
    const int64_t size = even((int64_t)M * M), n_C = dense_size(M), slices = slices_of(n_C),
                  most = batches_of(size);
    const int ld = (int)row_length(M + 1), pairs = dim * (dim + 1) / 2;
    const size_t bytes = n_C * sizeof(double);
    double *records = scratch + slices * n_C;
    struct integrals list;
    (void)lanes;
    if (n_batches == 0 || !may_launch()) return -1;
    unsigned long long *failed = first_failure();
    if (failed == nullptr) return -1;
    integrals_begin(&list);
    integrals_add(&list, M, M, true, 0, M);
    for (int c = 0; c < dim; c++)
        for (int e = 0; e < dim; e++) {
            const int pair = e > c ? e * (e + 1) / 2 + c : c * (c + 1) / 2 + e;
            integrals_part(&list, plain_part(n, grad + (int64_t)c * n * M, M, grad + (int64_t)e * n * M, M,
                                             W + pair * L, (int64_t)n * pairs * L, pairs * L));
        }
    for (int64_t first = 0; first < n_batches; first += most) {
        const int64_t many = n_batches - first < most ? n_batches - first : most, n_cells = many * L;
        integrate(&list, first, many, size, records, what);
        if (slices > 0)
            launch(solve_dense<8, false>, what, slices < n_cells ? slices : n_cells, 256, 0, M, ld, size,
                   first, n_cells, records, x, scratch, failed);
        else if (n_C <= SMALL)
            launch(solve_dense<1, true>, what, n_cells / TEAMS, 32 * TEAMS, TEAMS * bytes, M, ld, size, first,
                   n_cells, records, x, scratch, failed);
        else
            launch(solve_dense<4, true>, what, n_cells, 128, bytes, M, ld, size, first, n_cells, records, x,
                   scratch, failed);
    }
    return failure_found(failed);
}
