// Solves inside curved cells of elasticity and those whose moduli vary, from a load, a trace or both: see
// elastic_general.cuh. With the moments y_ca = V_a x_c of x = u or uhat, z = sum_c V_c x_c of M_vol,
//
//     [S R; R' H] x = V_a'(alpha 1_ca tr y + delta y_ac + gamma y_ca) + beta V_c'z
//
// without the stabilization: R is never formed.
#include "kernels/cuda/elastic_general.cuh"

namespace facet {
namespace {

// Where the numbers of a cell stand, all of them even. raw: uhat as it comes, v: as the cell sees it; C is
// room for projections before.
struct places {
    int ld_A, ld, numbers, o, raw, v, y, z, T, W, V, C, size;
};

places places_of(const body &b) {
    places at;
    at.ld_A = (int)row_length(2 * b.N);
    at.ld = (int)row_length(b.rows + 1);
    at.numbers = 0;
    at.o = at.numbers + even(N_ELASTIC_NUMBERS);
    at.raw = at.o + even(b.dim * b.t.sizes.n_faces);
    at.v = at.raw + even(b.n);
    at.y = at.v + even(b.n);
    at.z = at.y + even(b.dim * b.dim * b.N);
    at.T = at.z + even(b.N);
    at.W = at.T + (b.t.projects ? even(b.Nu * (b.Nu + 1) / 2) : 0);
    at.V = at.W + b.masses * b.n_W;
    const int n_V = b.masses * b.dim * b.n_V, n_A = even(padded_rows(b.N) * at.ld_A);
    at.C = at.V + (n_V > n_A ? n_V : n_A);
    const int64_t n_C = padded_rows(b.rows) * at.ld, n_P = projection_size(b);
    at.size = at.C + even(n_C > n_P ? n_C : n_P);
    return at;
}

struct solution {
    const double *uhat;
    double *u, *q, *load;
};

// A cell at work.
template <class T> struct work {
    const body &b;
    const places &at;
    const T &team;
    const double *record;
    double *own;

    __device__ __forceinline__ double number(int k) const {
        return own[at.numbers + k];
    }
    // Entry (r, column) of V of a mass and direction.
    __device__ __forceinline__ double V(int part, int r, int column) const {
        return own[at.V + (int64_t)part * b.n_V + (r / 8 * b.tiles + column / 8) * 64 + column % 8 * 8 +
                   r % 8];
    }
    // y and z (of M_vol, where it is not M_dev) = those of `count` functions from column `begin` on, x(c, j)
    // being their coefficients; add: += sign times them.
    template <class X>
    __device__ __forceinline__ void moments(int begin, int count, const X &x, bool add, double sign) const {
        const int dim = b.dim, N = b.N, n_y = dim * dim * N;
        double *y = own + at.y, *z = own + at.z;
        for (int e = team.thread; e < n_y + (b.masses - 1) * N; e += T::THREADS) {
            const bool last = e >= n_y;
            const int r = e % N, a = e / N % dim, first = last ? 0 : e / N / dim;
            double sum = 0.0;
            for (int c = first; c < (last ? dim : first + 1); c++)
                for (int j = 0; j < count; j++) sum += V(last ? dim + c : a, r, begin + j) * x(c, j);
            double *to = last ? z + r : y + e;
            *to = sign * sum + (add ? *to : 0.0);
        }
        team.sync();
    }
    __device__ __forceinline__ double trace_of(int r) const {
        double sum = 0.0;
        for (int c = 0; c < b.dim; c++) sum += own[at.y + c * (b.dim + 1) * b.N + r];
        return sum;
    }
    // y_ca becomes one y_ca + other y_ac + spherical 1_ca tr y; z = tr y where it has none of its own.
    __device__ __forceinline__ void mix(double one, double other, double spherical) const {
        const int dim = b.dim, N = b.N;
        for (int r = team.thread; r < N; r += T::THREADS) {
            double old[9];
            const double sum = trace_of(r);
            double *y = own + at.y + r;
            for (int k = 0; k < dim * dim; k++) old[k] = y[k * N];
            for (int k = 0; k < dim * dim; k++)
                y[k * N] = one * old[k] + other * old[k % dim * dim + k / dim] +
                           (k % (dim + 1) == 0 ? spherical * sum : 0.0);
            if (b.masses == 1) own[at.z + r] = sum;
        }
        team.sync();
    }
    __device__ __forceinline__ void mix_moduli() const {
        mix(number(E_GAMMA), number(E_DELTA), number(E_ALPHA));
    }
    // V'y, with that of M_vol, of component c and a column.
    __device__ __forceinline__ double against(int c, int column) const {
        double sum = 0.0;
        for (int a = 0; a < b.dim; a++)
            for (int r = 0; r < b.N; r++) sum += V(a, r, column) * own[at.y + (c * b.dim + a) * b.N + r];
        if (b.masses == 2) {
            double more = 0.0;
            for (int r = 0; r < b.N; r++) more += V(b.dim + c, r, column) * own[at.z + r];
            sum += number(E_BETA) * more;
        }
        return sum;
    }
    __device__ __forceinline__ double E(int x, int j) const {
        return __ldg(record + place_in(stabilization_of(b), x, 8 * b.inner + j));
    }
    // Entry `row` of U^-1 x of a mass.
    __device__ __forceinline__ double solved(int mass, int row, const double *x) const {
        double sum = 0.0;
        for (int k = row; k < b.N; k++)
            sum += own[at.W + mass * b.n_W + (triangle_tiles(k / 8) + row / 8) * 64 + k % 8 * 8 + row % 8] *
                   x[k];
        return sum;
    }
    __device__ __forceinline__ double u(int c, int j) const {
        return own[at.C + (c * b.Nu + j) * at.ld + b.rows];
    }
    __device__ __forceinline__ double uhat(int c, int j) const {
        return own[at.v + trace_place(b, c, j)];
    }

    // The right-hand side: loads (lanes) and what the trace contributes.
    __device__ __forceinline__ void put_right(const double *loads, bool trace) const {
        if (trace) {
            moments(
                8 * b.inner, b.n_face, [&](int c, int j) { return uhat(c, j); }, false, 1.0);
            mix_moduli();
        }
        for (int k = team.thread; k < b.rows; k += T::THREADS) {
            const int c = k / b.Nu, x = k % b.Nu;
            double sum = loads[(int64_t)k * L] + (trace ? against(c, x) : 0.0);
            for (int j = 0; j < b.n_face && trace; j++) sum += E(x, j) * uhat(c, j);
            own[at.C + k * at.ld + b.rows] = sum;
        }
    }
    __device__ __forceinline__ void put_flux(bool trace, double *q) const {
        const int dim = b.dim, N = b.N;
        moments(
            0, b.Nu, [&](int c, int j) { return u(c, j); }, false, 1.0);
        if (trace)
            moments(
                8 * b.inner, b.n_face, [&](int c, int j) { return uhat(c, j); }, true, -1.0);
        mix(number(E_FLUX), number(E_FLUX + 1), number(E_FLUX + 2));
        for (int e = team.thread; e < (dim * dim + (b.t.sizes.pressure != 0)) * N; e += T::THREADS) {
            const int k = e / N, i = e % N;
            const double scale = k == dim * dim       ? number(E_PRESSURE)
                                 : k % (dim + 1) == 0 ? number(E_SPHERICAL)
                                                      : 0.0;
            double sum = k < dim * dim ? solved(0, i, own + at.y + k * N) : 0.0;
            if (scale != 0.0) sum += scale * solved(b.masses - 1, i, own + at.z);
            q[(int64_t)e * L] = sum;
        }
        team.sync();
    }
    // raw = R'u.
    __device__ __forceinline__ void find_load() const {
        moments(
            0, b.Nu, [&](int c, int j) { return u(c, j); }, false, 1.0);
        mix_moduli();
        for (int k = team.thread; k < b.dim * b.n_face; k += T::THREADS) {
            const int c = k / b.n_face, j = k % b.n_face;
            double sum = against(c, 8 * b.inner + j);
            for (int x = 0; x < b.Nu; x++) sum += E(x, j) * u(c, x);
            own[at.raw + trace_place(b, c, j)] = sum;
        }
        team.sync();
    }
};

template <int DIM, int WARPS, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS)
    solve(const __grid_constant__ body b, const __grid_constant__ places at, int64_t first_batch,
          int64_t n_cells, const double *records, const __grid_constant__ struct elastic_general_cells g,
          const __grid_constant__ solution s, double *slices, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1;
    const int mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    const int rows = b.rows, n = b.n, n_q = (b.dim * b.dim + (b.t.sizes.pressure != 0)) * b.N;
    const bool trace = s.uhat != nullptr;
    double *own = SHARED ? room + mine * at.size : slices + (int64_t)blockIdx.x * at.size;
    double *o = own + at.o, *raw = own + at.raw, *v = own + at.v, *C = own + at.C;
    for (int64_t first = (int64_t)blockIdx.x * CELLS; first < n_cells; first += (int64_t)gridDim.x * CELLS) {
        using team_type = team<WARPS>;
        const team_type team = team_here<WARPS>();
        const int64_t cell = first + mine, batch = first_batch + cell / L;
        const int lane = (int)(cell % L);
        const work<team_type> w = {b, at, team, records + cell * b.size, own};
        const oriented turns = {b.turns, n, {0}};
        double *u = s.u + batch * rows * L + lane;
        get_numbers(b, team, g, batch, lane, own + at.numbers, o);
        for (int j = team.thread; j < n && trace; j += team.THREADS)
            raw[j] = s.uhat[(batch * n + j) * L + lane];
        team.sync();
        if (trace) turn_vector(turns, team, o, false, raw, v);
        bool good = make_V(b, team, w.record, at.ld_A, own + at.W, own + at.V);
        if (b.t.projects) good = project(b, team, w.record, C, own + at.T) && good;
        make_entries<DIM>(b, team, b.inner, w.record, own + at.T, own + at.numbers, own + at.V,
                          [&](int c, int x, int d, int y, double value) {
                              const int i = c * b.Nu + x, j = d * b.Nu + y;
                              C[i <= j ? i * at.ld + j : j * at.ld + i] = value;
                          });
        clear_padding(team, rows, at.ld, C);
        w.put_right(u, trace);
        team.sync();
        good = eliminate<true>(team, rows, rows + 1, at.ld, C) && good;
        if (!good && team.thread == 0) atomicMin(failed, (unsigned long long)batch);
        if (team.warp == 0) substitute_back(team.lane, rows, at.ld, C);
        team.sync();
        for (int k = team.thread; k < rows; k += team.THREADS) u[(int64_t)k * L] = C[k * at.ld + rows];
        if (s.q != nullptr) w.put_flux(trace, s.q + batch * n_q * L + lane);
        if (s.load != nullptr) {
            w.find_load();
            turn_vector(turns, team, o, true, raw, v);
            team.sync();
            for (int j = team.thread; j < n; j += team.THREADS) s.load[(batch * n + j) * L + lane] = v[j];
        }
        team.sync();
    }
}

} // namespace

int64_t body_solve_size(const body &b) {
    return places_of(b).size;
}

} // namespace facet

using namespace facet;

int64_t elastic_general_solve_cuda(const struct elastic_general_tables *t,
                                   const struct elastic_general_cells *g, int64_t n_batches,
                                   const double *uhat, double *u, double *q, double *load, double *scratch) {
    const char *what = "elastic_general_solve";
    const body b = body_of(t, g->vol != nullptr);
    const places at = places_of(b);
    const solution s = {uhat, u, q, load};
    const body_room room = body_room_of(t, scratch);
    const struct elastic_general_cells cells = *g;
    return find_failure(n_batches, [&](unsigned long long *failed) {
        auto work = [&](int64_t first, int64_t n) {
            by_size<true>(at.size, general_slices(at.size), SMALL, MANY_NUMBERS, TEAMS, n * L,
                          [&](const auto &way) {
                              using W = std::decay_t<decltype(way)>;
                              auto go = [&](auto kernel) {
                                  launch(kernel, what, way.blocks, way.threads, way.bytes, b, at, first,
                                         n * L, (const double *)room.records, cells, s, room.slices, failed);
                              };
                              if (b.dim == 2)
                                  go(solve<2, W::WARPS, W::SHARED>);
                              else
                                  go(solve<3, W::WARPS, W::SHARED>);
                          });
        };
        struct own_integrals own = {};
        const struct integrals list = body_integrals(b, g, &own);
        by_records(list, n_batches, b.size, room.records, what, work, &own);
    });
}
