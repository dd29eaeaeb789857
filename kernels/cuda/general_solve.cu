// Solves inside cells whose map is curved or whose data vary, from a load, a trace or both: see
// general_cell.cuh.
#include "kernels/cuda/general_cell.cuh"

namespace facet {
namespace {

constexpr int SIDE = 2; // squares of 2 x 2 tiles of V'V, so that all warps have some

// Where the numbers of a cell stand, all of them even. A: [U W], W: in tiles, V: of all parts. d: uhat as it
// comes, v: as the cell sees it; moments: of uhat with normals and tau, (dim + 1) N numbers; flow: the flux
// and as much room; points: values at those of the faces, (dim + 1) each.
struct places {
    int ld_A, ld, o, d, v, moments, flow, points, A, W, V, C, size;
};

// Columns of tiles of [D b].
__host__ __device__ inline int tiles_of(const shape &s) {
    return (s.N + 8) / 8;
}

places places_of(const shape &s) {
    const int dim = s.t.dim;
    places at;
    at.ld_A = (int)row_length(2 * s.rows);
    at.ld = (int)row_length(s.N + 1);
    at.o = 0;
    at.d = at.o + even(s.t.n_faces);
    at.v = at.d + even(s.n);
    at.moments = at.v + even(s.n);
    at.flow = at.moments + even((dim + 1) * s.N);
    at.points = at.flow + even(2 * dim * s.N);
    at.A = at.points + even((dim + 1) * s.t.n_faces * s.t.n_face);
    at.W = at.A + even(padded_rows(s.rows) * at.ld_A);
    at.V = at.W + triangle_tiles(s.blocks) * 64;
    at.C = at.V + s.parts * s.blocks * tiles_of(s) * 64;
    at.size = at.C + even(padded_rows(s.N) * at.ld);
    return at;
}

struct solution {
    const double *uhat;
    double *u, *q, *load;
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
    const int N = s.N, dim = s.t.dim, tiles = tiles_of(s), size = dim * N;
    const double *W = own + at.A + s.rows, *u = own + at.C + N;
    double *x = flow + size;
    for (int e = team.thread; e < size; e += T::THREADS) {
        const int part = e / s.rows, row = e % s.rows;
        const double *V = own + at.V + ((int64_t)part * s.blocks + row / 8) * tiles * 64 + row % 8;
        double sum = 0.0;
        for (int j = 0; j < N; j++) sum += V[8 * j] * u[j * at.ld];
        if (trace) sum -= V[8 * N];
        x[e] = sum;
    }
    team.sync();
    for (int e = team.thread; e < size; e += T::THREADS) {
        const int part = e / s.rows, row = e % s.rows;
        double sum = 0.0;
        for (int k = row; k < s.rows; k++) sum += W[k * at.ld_A + row] * x[part * s.rows + k];
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

// V of all parts, and C = [S b]; the column after those of D is that of the moments.
template <class T>
__device__ __forceinline__ bool assemble(const shape &s, const places &at, const T &team,
                                         const double *record, const double *u, bool trace, double *own) {
    const int N = s.N, dim = s.t.dim, tiles = tiles_of(s), g = team.lane / 4, t = team.lane % 4;
    const int n_V = s.blocks * tiles * 64, last = N / 8;
    const double *moments = own + at.moments;
    double *C = own + at.C, *V = own + at.V;
    const bool good = invert_mass(s.rows, team, record + s.A, at.ld_A, own + at.A, own + at.W);
    for (int part = 0; part < s.parts; part++) {
        const double2 *X = (const double2 *)(record + s.X + (int64_t)part * s.blocks * s.tiles * 64);
        half_solve(
            team, s.blocks, own + at.W, tiles,
            [&](int k, int j) {
                double2 x =
                    j < s.tiles ? __ldg(X + (k * s.tiles + j) * 32 + team.lane) : make_double2(0.0, 0.0);
                if (j == last && g == N % 8) {
                    const int row = 8 * k + 2 * t;
                    x.x = trace && row < s.rows ? moments[part * s.rows + row] : 0.0;
                    x.y = trace && row + 1 < s.rows ? moments[part * s.rows + row + 1] : 0.0;
                }
                return x;
            },
            V + part * n_V);
    }
    team.sync();
    for (int number = team.warp; number < squares_of<SIDE>(tiles); number += T::THREADS / 32) {
        square<SIDE> mine(tiles, number);
        mine.begin([&](int i, int j) {
            double2 x =
                j < s.tiles
                    ? __ldg((const double2 *)(record + s.C) + tile_at(s.tiles, true, i, j) * 32 + team.lane)
                    : make_double2(0.0, 0.0);
            if (j == last && g == N % 8) {
                const int row = 8 * i + 2 * t;
                x.x = row < N ? u[(int64_t)row * L] + (trace ? moments[dim * N + row] : 0.0) : 0.0;
                x.y = row + 1 < N ? u[(int64_t)(row + 1) * L] + (trace ? moments[dim * N + row + 1] : 0.0)
                                  : 0.0;
            }
            return x;
        });
        for (int part = 0; part < s.parts; part++) mine.add(team.lane, s.blocks, V + part * n_V);
        mine.give(team.lane, [&](int i, int j, double x) {
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
    const int mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    const int N = s.N, n = s.n, faces = s.t.n_faces, dim = s.t.dim;
    double *own = SHARED ? room + mine * at.size : slices + (int64_t)blockIdx.x * at.size;
    double *o = own + at.o, *raw = own + at.d, *v = own + at.v, *moments = own + at.moments,
           *flow = own + at.flow, *points = own + at.points, *C = own + at.C;
    for (int64_t first = (int64_t)blockIdx.x * CELLS; first < n_cells; first += (int64_t)gridDim.x * CELLS) {
        const team<WARPS> team = team_here<WARPS>();
        const int thread = team.thread;
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
        bool good = assemble(s, at, team, records + cell * s.size, u, x.uhat != nullptr, own);
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

} // namespace

int64_t general_solve_slices(const shape &s) {
    const int64_t size = places_of(s).size;
    return general_slices(size) * size;
}

} // namespace facet

using namespace facet;

int64_t general_solve_cuda(const struct general_tables *t, const struct general_cells *g, int64_t n_batches,
                           const double *uhat, double *u, double *q, double *load, double *scratch) {
    const char *what = "general_solve";
    shape s = shape_of(t, g->full, g->reaction != nullptr, false);
    const places at = places_of(s);
    const solution x = {uhat, u, q, load};
    const struct general_cells cells = *g;
    const general_room room = general_room_of(t, g->full, scratch);
    return find_failure(n_batches, [&](unsigned long long *failed) {
        auto work = [&](int64_t first, int64_t n) {
            by_size<false>(at.size, general_slices(at.size), SMALL, 0, TEAMS, n * L, [&](const auto &way) {
                using W = std::decay_t<decltype(way)>;
                launch(solve<W::WARPS, W::SHARED>, what, way.blocks, way.threads, way.bytes, s, at, first,
                       n * L, (const double *)room.records, cells, x, room.slices, failed);
            });
        };
        room.begin(&s, what);
        by_records(general_integrals(s, g), n_batches, s.size, room.records, what, work);
    });
}
