// Element matrices of cells whose map is curved or whose data vary: see general_cell.cuh.
#include "kernels/cuda/general_cell.cuh"

namespace facet {
namespace {

constexpr int SIDE = 4;        // a warp of several has a square of 4 x 4 tiles of V'V
constexpr int SIDE_ALONE = 5;  // and one that has a cell of its own all of them
constexpr int MOST_TILES = 20; // columns of tiles, of which 15 warps have the squares

// Where the numbers of a cell stand, all of them even: orientations, the sums of rows, K; then W in tiles, V,
// in whose place A is eliminated, and X of the next part. C, and K as it is turned, take the place of all
// that, unless V of all parts is kept.
struct places {
    int ld_A, ld, o, d, K, W, V, X, C, size;
};

places places_of(const shape &s, bool kept) {
    places at;
    at.ld_A = (int)row_length(2 * s.rows);
    at.ld = (int)row_length(s.N + s.n + 1);
    at.o = 0;
    at.d = at.o + even(s.t.n_faces);
    at.K = at.d + even(s.n);
    at.W = at.K + even((int64_t)s.n * (s.n + 1) / 2);
    at.V = at.W + triangle_tiles(s.blocks) * 64;
    const int n_V = (kept ? s.parts : 1) * s.blocks * s.tiles * 64, n_A = even(padded_rows(s.rows) * at.ld_A);
    at.X = at.V + (n_V > n_A ? n_V : n_A);
    const int end = at.X + (kept ? 0 : n_V), n_K = at.W - at.K, n_groups = even(s.n * s.t.m);
    at.C = kept ? end : at.W;
    const int last = at.C + even(padded_rows(s.N) * at.ld), work = at.W + (n_K > n_groups ? n_K : n_groups);
    at.size = last > end ? last : end;
    at.size = at.size > work ? at.size : work;
    return at;
}

// C = [S R b] and K = H of a cell; returns whether A is positive definite. KEPT: a warp takes several
// squares, one after the other, of V of all parts.
template <int TILES, bool KEPT, class T>
__device__ __forceinline__ bool assemble(const shape &s, const places &at, const T &team,
                                         const double *record, double *own) {
    const int N = s.N, n = s.n, trace = 8 * s.inner, n_V = s.blocks * s.tiles * 64;
    double *C = own + at.C, *K = own + at.K, *V = own + at.V;
    auto begin = [&](auto &mine) {
        mine.begin([&](int i, int j) {
            return __ldg((const double2 *)(record + s.C) + tile_at(s.tiles, true, i, j) * 32 + team.lane);
        });
    };
    auto give = [&](const auto &mine) {
        mine.give(team.lane, [&](int i, int j, double x) {
            if (i < N && j < N)
                C[i * at.ld + j] = x;
            else if (i < N && j >= trace && j - trace < n)
                C[i * at.ld + N + j - trace] = x;
            else if (i >= trace && j - trace < n)
                K[triangle_row(j - trace) + i - trace] = x;
        });
    };
    auto make = [&](const double *X, double *to) {
        const double2 *from = (const double2 *)X + team.lane;
        half_solve(
            team, s.blocks, own + at.W, s.tiles, [&](int k, int j) { return from[(k * s.tiles + j) * 32]; },
            to);
    };
    bool good;
    if (KEPT) {
        good = invert_mass(s.rows, team, record + s.A, at.ld_A, V, own + at.W);
        for (int part = 0; part < s.parts; part++) make(record + s.X + part * n_V, V + part * n_V);
        team.sync();
        for (int number = team.warp; number < squares_of<TILES>(s.tiles); number += T::THREADS / 32) {
            square<TILES> mine(s.tiles, number);
            begin(mine);
            for (int part = 0; part < s.parts; part++) mine.add(team.lane, s.blocks, V + part * n_V);
            give(mine);
        }
    } else {
        fetch(team, record + s.X, n_V, own + at.X);
        good = invert_mass(s.rows, team, record + s.A, at.ld_A, V, own + at.W);
        square<TILES, T::THREADS == 32> mine(s.tiles, team.warp); // one that does not exist has no tile
        begin(mine);
        for (int part = 0; part < s.parts; part++) {
            wait_for_fetched();
            team.sync();
            make(own + at.X, V);
            team.sync();
            if (part + 1 < s.parts) fetch(team, record + s.X + (part + 1) * n_V, n_V, own + at.X);
            mine.add(team.lane, s.blocks, V);
        }
        team.sync();
        give(mine);
    }
    for (int i = team.thread; i < N; i += T::THREADS) C[i * at.ld + N + n] = s.reacts ? record[s.b + i] : 0.0;
    clear_padding(team, N, at.ld, C);
    team.sync();
    return good;
}

// Blocks of a multiprocessor that the registers shall leave room for.
constexpr int blocks_together(int warps) {
    return warps == 1 || warps == 6 ? 3 : warps == 3 ? 5 : warps == 10 ? 2 : 1;
}

template <int WARPS, int TILES, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS, SHARED ? blocks_together(WARPS) : 1)
    condense(const __grid_constant__ shape s, const __grid_constant__ places at, int64_t first_batch,
             int64_t n_cells, const double *records, const double *orientations, const double *O, double *K,
             double *slices, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1;
    const int mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    const int N = s.N, n = s.n, width = N + n, faces = s.t.n_faces, m = s.t.m, n_K = triangle_row(n);
    double *own = SHARED ? room + mine * at.size : slices + (int64_t)blockIdx.x * at.size;
    double *o = own + at.o, *d = own + at.d, *C = own + at.C, *own_K = own + at.K;
    for (int64_t first = (int64_t)blockIdx.x * CELLS; first < n_cells; first += (int64_t)gridDim.x * CELLS) {
        const team<WARPS> team = team_here<WARPS>();
        const int thread = team.thread;
        const int64_t cell = first + mine, batch = first_batch + cell / L;
        const int lane = (int)(cell % L);
        for (int f = thread; f < faces; f += team.THREADS)
            o[f] = orientations[(batch * faces + f) * L + lane];
        bool good = assemble<TILES, !SHARED>(s, at, team, records + cell * s.size, own);
        good = eliminate<false>(team, N, width + 1, at.ld, C) && good;
        if (!good && thread == 0) atomicMin(failed, (unsigned long long)batch);
        subtract_gram(
            team, N, n, at.ld, C + N,
            [&](int i) { return [row = own_K + triangle_row(i)](int j) { return row[j]; }; },
            [&](int i, int j, double x) { own_K[triangle_row(i) + j] = x; });
        for (int j = thread; j < n; j += team.THREADS) {
            double sum = 0.0;
            for (int k = 0; k < N && s.reacts; k++) sum += C[k * at.ld + N + j] * C[k * at.ld + width];
            d[j] = sum;
        }
        team.sync();
        restore_sums(team, n, faces, m, sqrt(s.turns.face), d, own_K);
        if (O != nullptr)
            turn_faces(team, faces, m, O, o, own_K, own + at.W);
        else
            turn(oriented{s.turns, n, {0}}, team, o, own_K, own + at.W);
        const int from = O != nullptr ? at.W : at.K;
        if (WARPS == 1) { // four neighbours in lanes
            __syncthreads();
            double *to = K + batch * n_K * L + first % L;
            for (int e = threadIdx.x; e < n_K * CELLS; e += 32 * TEAMS)
                to[(int64_t)(e / CELLS) * L + e % CELLS] = room[e % CELLS * at.size + from + e / CELLS];
            __syncthreads();
        } else {
            team.sync();
            double *to = K + batch * n_K * L + lane;
            for (int e = thread; e < n_K; e += team.THREADS) to[(int64_t)e * L] = own[from + e];
            team.sync();
        }
    }
}

// V of one part at a time needs all sums of a cell in registers, a warp for every square; else, or where
// shared memory is too small, all of V is kept in a slice.
struct condense_way {
    places at;
    int64_t slices;
    int warps;
};

condense_way way_of(const shape &s) {
    condense_way way = {places_of(s, false), 0, 0};
    if (general_slices(way.at.size) > 0 || s.tiles > MOST_TILES) {
        way.at = places_of(s, true);
        const int64_t most = 2 * (int64_t)multiprocessors(), fit = SLICES / way.at.size;
        way.slices = fit < 1 ? 1 : fit < most ? fit : most;
    } else if (s.tiles <= SIDE_ALONE && way.at.size <= SMALL) {
        way.warps = 1;
    } else {
        way.warps = s.tiles <= 8 ? 3 : s.tiles <= 12 ? 6 : s.tiles <= 16 ? 10 : 15;
    }
    return way;
}

void launch_condense(const shape &s, const condense_way &way, int64_t first, int64_t n, const double *records,
                     const double *orientations, const double *O, double *K, double *slices,
                     unsigned long long *failed) {
    const int64_t n_cells = n * L;
    const size_t bytes = way.at.size * sizeof(double);
    auto go = [&](auto kernel, int64_t blocks, int threads, size_t shared) {
        launch(kernel, "condense_general", blocks, threads, shared, s, way.at, first, n_cells, records,
               orientations, O, K, slices, failed);
    };
    if (way.slices > 0)
        go(condense<8, SIDE, false>, way.slices < n_cells ? way.slices : n_cells, 256, 0);
    else if (way.warps == 1)
        go(condense<1, SIDE_ALONE, true>, n_cells / TEAMS, 32 * TEAMS, TEAMS * bytes);
    else if (way.warps == 3)
        go(condense<3, SIDE, true>, n_cells, 96, bytes);
    else if (way.warps == 6)
        go(condense<6, SIDE, true>, n_cells, 192, bytes);
    else if (way.warps == 10)
        go(condense<10, SIDE, true>, n_cells, 320, bytes);
    else
        go(condense<15, SIDE, true>, n_cells, 480, bytes);
}

} // namespace

int64_t general_condense_slices(const shape &s) {
    const condense_way way = way_of(s);
    return way.slices * way.at.size;
}

} // namespace facet

using namespace facet;

int64_t condense_general_scratch_cuda(const struct general_tables *t, int full) {
    const int64_t plain = general_room_size(t, false), other = full ? general_room_size(t, true) : 0;
    return plain > other ? plain : other;
}

int64_t condense_general_cuda(const struct general_tables *t, const struct general_cells *g,
                              int64_t n_batches, double *K, double *scratch) {
    const char *what = "condense_general";
    shape s = shape_of(t, g->full, g->reaction != nullptr, true);
    const condense_way way = way_of(s);
    const general_room room = general_room_of(t, g->full, scratch);
    return find_failure(n_batches, [&](unsigned long long *failed) {
        room.begin(&s, what);
        by_records(general_integrals(s, g), n_batches, s.size, room.records, what,
                   [&](int64_t first, int64_t n) {
                       launch_condense(s, way, first, n, room.records, g->orientations, room.O, K,
                                       room.slices, failed);
                   });
    });
}
