// Local solvers of affine cells and of combinations of reference matrices: K = H - R'S^-1 R from
// coefficients, and solves inside. A warp takes a small cell, four of them a block, so that what they write
// in lanes is whole sectors; several warps take a larger one, and a block without shared memory one that does
// not fit.
#include "kernels/cuda/turned.cuh"
#include "kernels/cuda/turns.cuh"

namespace facet {
namespace {

constexpr int SMALL = 1408;                     // numbers of a cell that one warp takes
constexpr int TEAMS = 4;                        // such cells of a block
constexpr int64_t SCRATCH = (int64_t)256 << 20; // numbers of all slices where cells do not fit, at most

// Where the numbers of a cell stand, from its beginning, all of them even.
struct places {
    int ld, c, d, extra, C, K, size;
};

places condense_places(int N, int n, int count) {
    places at;
    at.ld = (int)row_length(N + n + 1);
    at.c = 0;
    at.d = at.c + even(count);
    at.extra = at.d + even(n);
    at.C = at.extra + 2 * even(n);
    at.K = at.C + even(padded_rows(N) * at.ld);
    at.size = at.K + even((int64_t)n * (n + 1) / 2);
    return at;
}

// uhat as the cell sees it in d, what it was after it.
places solve_places(int N, int n, int count) {
    places at;
    at.ld = (int)row_length(N + 1);
    at.c = 0;
    at.d = at.extra = at.c + even(count);
    at.C = at.d + 2 * even(n);
    at.K = at.size = at.C + even(padded_rows(N) * at.ld);
    return at;
}

// ------------------------------------------------------------------------------------ orientations

template <class T>
__device__ void turn(const combination &p, const T &team, const double *c, double *K, double *work) {
    (void)work;
    for (int i = team.warp; i < p.n(); i += T::THREADS / 32)
        for (int j = team.lane; j <= i; j += 32) K[triangle_row(i) + j] *= p.sign(c, i) * p.sign(c, j);
}

template <class T>
__device__ void turn_vector(const combination &p, const T &team, const double *c, bool back, const double *x,
                            double *to) {
    (void)back;
    for (int j = team.thread; j < p.n(); j += T::THREADS) to[j] = p.sign(c, j) * x[j];
}

// ------------------------------------------------------------------------------------ turned tables

constexpr int64_t MOST_TURNED = (int64_t)4 << 20; // numbers of such tables

template <class A, class T>
__device__ __forceinline__ void prepare(const A &, const T &, const double *, int4 *) {}
// H (i <= j) of kept unknowns.
template <class A>
__device__ __forceinline__ double H_of(const A &p, const double *c, const int4 *, int i, int j) {
    return p.H(c, i, j);
}
template <int DIM, int FACES>
__device__ __forceinline__ double H_of(const turned<DIM, FACES> &p, const double *c, const int4 *extra, int i,
                                       int j) {
    const int4 a = extra[i], b = extra[j];
    const double sum = c[p.at.normals + a.w * FACES + b.w] * __ldg(p.FF + a.y + b.z);
    return i == j ? sum + c[p.at.weight + a.w] : sum;
}

template <int DIM, int FACES, class T>
__device__ __forceinline__ void turn(const turned<DIM, FACES> &, const T &, const double *, double *,
                                     double *) {}

// ------------------------------------------------------------------------------------ K

// C = [S R b].
template <class P, class T>
__device__ __forceinline__ void assemble(const P &p, const T &team, const double *c, const int4 *, int ld,
                                         double *C) {
    const int N = p.N(), total = N + p.n();
    for (int i = team.warp; i < N; i += T::THREADS / 32) {
        for (int j = i + team.lane; j < N; j += 32) C[i * ld + j] = p.S(c, i, j);
        for (int j = N + team.lane; j < total; j += 32) C[i * ld + j] = p.R(c, i, j - N);
        if (team.lane == 0) C[i * ld + total] = p.b(c, i);
    }
    clear_padding(team, N, ld, C);
}

template <int DIM, int FACES, class T>
__device__ __forceinline__ void assemble(const turned<DIM, FACES> &p, const T &team, const double *c,
                                         const int4 *extra, int ld, double *C) {
    constexpr int TERMS = turned<DIM, FACES>::TERMS, PAIRS = TERMS - FACES;
    const int N = p.t.N, m = p.t.m, n = FACES * m, size = N * (N + 1) / 2;
    for (int e = team.thread; e < size; e += T::THREADS) {
        double sum = 0.0;
#pragma unroll
        for (int k = 0; k < TERMS; k++)
            sum +=
                c[k < PAIRS ? p.at.stiffness + k : p.at.weight + k - PAIRS] * __ldg(p.terms + k * size + e);
        const int at = __ldg(p.where + e);
        C[at] = at % (ld + 1) == 0 ? sum + c[p.at.reaction] : sum;
    }
    int i = team.thread / n, j = team.thread % n;
    const int rows = T::THREADS / n, columns = T::THREADS % n;
    while (i < N) {
        const int4 a = extra[j];
        const double2 *entry = p.R2 + a.x + i * 2 * m;
        const double2 x = __ldg(entry), y = __ldg(entry + m);
        double sum = c[p.at.weight + a.w] * x.x + c[p.at.gradient + a.w * DIM] * x.y +
                     c[p.at.gradient + a.w * DIM + 1] * y.x;
        if (DIM == 3) sum += c[p.at.gradient + a.w * DIM + DIM - 1] * y.y;
        C[i * ld + N + j] = sum;
        i += rows;
        j += columns;
        if (j >= n) {
            j -= n;
            i++;
        }
    }
    for (int k = team.thread; k < N; k += T::THREADS) C[k * ld + N + n] = p.b(c, k);
    clear_padding(team, N, ld, C);
}

// K 1 = d = first + V'y, y: the last column of C.
template <class P, class T>
__device__ __forceinline__ void restore(const P &p, const T &team, const double *c, int ld, const double *C,
                                        double *d, double *K) {
    const int N = p.N(), n = p.n();
    for (int i = team.thread; i < n; i += T::THREADS) {
        double sum = p.first(c, i);
        for (int k = 0; k < N; k++) sum += C[k * ld + N + i] * C[k * ld + N + n];
        d[i] = sum;
    }
    restore_sums(team, n, p.n_ones(), p.ones_step(), p.one(), d, K);
}

template <class P, int WARPS, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS)
    condense(const __grid_constant__ P p, const places at, int64_t n_cells, const double *coefficients,
             double *K, double *scratch, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    const int thread = WARPS == 1 ? threadIdx.x % 32 : threadIdx.x, mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    const team<WARPS> team = {thread, thread / 32, thread % 32};
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1;
    const int n_K = triangle_row(p.n()), count = p.count();
    double *of_cell = SHARED ? room + mine * at.size : scratch + (int64_t)blockIdx.x * at.size;
    double *c = of_cell + at.c, *d = of_cell + at.d, *C = of_cell + at.C, *own = of_cell + at.K;
    int4 *extra = (int4 *)(of_cell + at.extra);
    for (int64_t first = (int64_t)blockIdx.x * CELLS; first < n_cells; first += (int64_t)gridDim.x * CELLS) {
        const int64_t cell = first + mine, batch = cell / L;
        const int lane = (int)(cell % L);
        for (int k = thread; k < count; k += team.THREADS)
            c[k] = coefficients[(batch * count + k) * L + lane];
        team.sync();
        prepare(p, team, c, extra);
        team.sync();
        assemble(p, team, c, extra, at.ld, C);
        team.sync();
        if (!eliminate<false>(team, p.N(), p.N() + p.n() + 1, at.ld, C) && thread == 0)
            atomicMin(failed, (unsigned long long)batch);
        subtract_gram(
            team, p.N(), p.n(), at.ld, C + p.N(),
            [&](int i) { return [&, i](int j) { return H_of(p, c, extra, j, i); }; },
            [&](int i, int j, double x) { own[triangle_row(i) + j] = x; });
        team.sync();
        restore(p, team, c, at.ld, C, d, own);
        turn(p, team, c, own, C);
        if (WARPS == 1) { // four neighbours in lanes
            __syncthreads();
            double *to = K + batch * n_K * L + first % L;
            for (int e = threadIdx.x; e < n_K * CELLS; e += 32 * TEAMS)
                to[e / CELLS * L + e % CELLS] = room[e % CELLS * at.size + at.K + e / CELLS];
            __syncthreads();
        } else {
            team.sync();
            double *to = K + batch * n_K * L + lane;
            for (int e = thread; e < n_K; e += team.THREADS) to[(int64_t)e * L] = own[e];
            team.sync();
        }
    }
}

// ------------------------------------------------------------------------------------ solves

// q = A^-1 (D u - G uhat) of an affine cell; v: uhat as the cell sees it, or NULL.
template <int DIM, int FACES, class T>
__device__ void flux(const affine<DIM, FACES> &p, const T &team, const double *c, const double *u, int step,
                     const double *v, double *q) {
    const struct affine_tables &t = p.t;
    const int N = t.N, m = t.m;
    for (int i = team.warp; i < N; i += T::THREADS / 32) {
        double sum[DIM] = {0};
        for (int j = team.lane; j < N; j += 32)
#pragma unroll
            for (int b = 0; b < DIM; b++) {
                const double slope = __ldg(t.D + (b * N + i) * N + j) * u[j * step];
#pragma unroll
                for (int a = 0; a < DIM; a++) sum[a] += c[p.at.flux + a * DIM + b] * slope;
            }
        for (int j = team.lane; j < FACES * m && v != nullptr; j += 32) {
            const int f = j / m;
            const double value = __ldg(t.F + (f * N + i) * m + j - f * m) * v[j];
#pragma unroll
            for (int a = 0; a < DIM; a++) sum[a] -= c[p.at.flux_normal + f * DIM + a] * value;
        }
#pragma unroll
        for (int a = 0; a < DIM; a++) {
            sum[a] = sum_of_warp(sum[a]);
            if (team.lane == 0) q[(int64_t)(a * N + i) * L] = sum[a];
        }
    }
}

template <class T>
__device__ void flux(const combination &, const T &, const double *, const double *, int, const double *,
                     double *) {}

template <class P> __device__ __forceinline__ int flux_size(const P &, int) {
    return 0;
}
template <int DIM, int FACES> __device__ __forceinline__ int flux_size(const affine<DIM, FACES> &, int N) {
    return DIM * N;
}

struct solution {
    const double *uhat;
    double *u, *q, *load;
};

template <class P, int WARPS, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS)
    solve(const __grid_constant__ P p, const places at, int64_t n_cells, const double *coefficients,
          const solution s, double *scratch, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    const int thread = WARPS == 1 ? threadIdx.x % 32 : threadIdx.x, mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    const team<WARPS> team = {thread, thread / 32, thread % 32};
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1, ALL_WARPS = team.THREADS / 32;
    const int N = p.N(), n = p.n(), count = p.count(), ld = at.ld;
    double *of_cell = SHARED ? room + mine * at.size : scratch + (int64_t)blockIdx.x * at.size;
    double *c = of_cell + at.c, *v = of_cell + at.d, *raw = v + (n + 1) / 2 * 2, *C = of_cell + at.C;
    for (int64_t first = (int64_t)blockIdx.x * CELLS; first < n_cells; first += (int64_t)gridDim.x * CELLS) {
        const int64_t cell = first + mine, batch = cell / L;
        const int lane = (int)(cell % L);
        double *u = s.u + batch * N * L + lane;
        for (int k = thread; k < count; k += team.THREADS)
            c[k] = coefficients[(batch * count + k) * L + lane];
        for (int j = thread; j < n && s.uhat != nullptr; j += team.THREADS)
            raw[j] = s.uhat[(batch * n + j) * L + lane];
        clear_padding(team, N, ld, C);
        team.sync();
        if (s.uhat != nullptr) turn_vector(p, team, c, false, raw, v);
        team.sync();
        for (int i = team.warp; i < N; i += ALL_WARPS) {
            for (int j = i + team.lane; j < N; j += 32) C[i * ld + j] = p.S(c, i, j);
            double sum = 0.0;
            for (int j = team.lane; j < n && s.uhat != nullptr; j += 32) sum += p.R(c, i, j) * v[j];
            sum = sum_of_warp(sum);
            if (team.lane == 0) C[i * ld + N] = u[(int64_t)i * L] + P::SIGN * sum;
        }
        team.sync();
        if (!eliminate<true>(team, N, N + 1, ld, C) && thread == 0)
            atomicMin(failed, (unsigned long long)batch);
        if (team.warp == 0) substitute_back(team.lane, N, ld, C);
        team.sync();
        for (int i = thread; i < N; i += team.THREADS) u[(int64_t)i * L] = C[i * ld + N];
        if (s.q != nullptr)
            flux(p, team, c, C + N, ld, s.uhat != nullptr ? v : nullptr,
                 s.q + batch * flux_size(p, N) * L + lane);
        if (s.load != nullptr) {
            for (int j = thread; j < n; j += team.THREADS) {
                double sum = 0.0;
                for (int i = 0; i < N; i++) sum += p.R(c, i, j) * C[i * ld + N];
                raw[j] = P::SIGN * sum;
            }
            team.sync();
            turn_vector(p, team, c, true, raw, v);
            team.sync();
            for (int j = thread; j < n; j += team.THREADS) s.load[(batch * n + j) * L + lane] = v[j];
        }
        team.sync();
    }
}

// ------------------------------------------------------------------------------------ launches

int64_t slices_for(const places &at) {
    return slices_of(at.size, 2 * multiprocessors(), SCRATCH);
}

int64_t scratch_of(int N, int n, int count) {
    const places a = condense_places(N, n, count), b = solve_places(N, n, count);
    const int64_t condense = slices_for(a) * a.size, solve = slices_for(b) * b.size;
    return 1 + (condense > solve ? condense : solve);
}

template <class P>
int64_t condense_all(const P &p, int N, int n, int count, int64_t n_batches, const double *coefficients,
                     double *K, double *scratch) {
    const places at = condense_places(N, n, count);
    const int64_t n_cells = n_batches * L;
    return find_failure(n_batches, [&](unsigned long long *failed) {
        by_size<false>(at.size, slices_for(at), SMALL, 0, TEAMS, n_cells, [&](const auto &way) {
            using W = std::decay_t<decltype(way)>;
            launch(condense<P, W::WARPS, W::SHARED>, "condense", way.blocks, way.threads, way.bytes, p, at,
                   n_cells, coefficients, K, scratch, failed);
        });
    });
}

template <class P>
int64_t solve_all(const P &p, int N, int n, int count, int64_t n_batches, const double *coefficients,
                  const solution &s, double *scratch) {
    const places at = solve_places(N, n, count);
    const int64_t n_cells = n_batches * L;
    return find_failure(n_batches, [&](unsigned long long *failed) {
        by_size<false>(at.size, slices_for(at), SMALL, 0, TEAMS, n_cells, [&](const auto &way) {
            using W = std::decay_t<decltype(way)>;
            launch(solve<P, W::WARPS, W::SHARED>, "solve", way.blocks, way.threads, way.bytes, p, at, n_cells,
                   coefficients, s, scratch, failed);
        });
    });
}

template <int DIM, int FACES> int64_t turned_size(const affine<DIM, FACES> &p) {
    return turned<DIM, FACES>::size(p.t.N, p.t.m);
}

// Calls `work` with the shape as a constant.
template <typename Work> int64_t by_shape(const struct affine_tables *t, Work work) {
    const struct affine_layout at = affine_layout(t->dim, t->n_faces);
    if (t->dim == 2 && t->n_faces == 3) return work(affine<2, 3>{*t, at}, at.count);
    if (t->dim == 2) return work(affine<2, 4>{*t, at}, at.count);
    if (t->n_faces == 4) return work(affine<3, 4>{*t, at}, at.count);
    return work(affine<3, 6>{*t, at}, at.count);
}

} // namespace
} // namespace facet

using namespace facet;

int64_t condense_scratch_cuda(const struct affine_tables *t) {
    const int64_t tables = by_shape(t, [&](const auto &p, int) { return turned_size(p); });
    const int64_t general = scratch_of(t->N, t->n_faces * t->m, affine_layout(t->dim, t->n_faces).count) +
                            (tables <= MOST_TURNED ? tables : 0);
    return general > tiles_scratch(t) ? general : tiles_scratch(t);
}

int64_t condense_affine_cuda(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                             double *K, double *scratch) {
    int64_t first_bad;
    if (condense_columns(t, n_batches, coefficients, K, scratch, &first_bad)) return first_bad;
    if (condense_tiles(t, n_batches, coefficients, K, scratch, &first_bad)) return first_bad;
    return by_shape(t, [&](const auto &p, int count) {
        const int n = t->n_faces * t->m;
        if (turned_size(p) > MOST_TURNED)
            return condense_all(p, t->N, n, count, n_batches, coefficients, K, scratch);
        const auto tables =
            make_tables(p, condense_places(t->N, n, count).ld, scratch + scratch_of(t->N, n, count));
        return condense_all(tables, t->N, n, count, n_batches, coefficients, K, scratch);
    });
}

int64_t affine_solve_cuda(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                          const double *uhat, double *u, double *q, double *load, double *scratch) {
    return by_shape(t, [&](const auto &p, int count) {
        return solve_all(p, t->N, t->n_faces * t->m, count, n_batches, coefficients,
                         solution{uhat, u, q, load}, scratch);
    });
}

int64_t condense_sum_scratch_cuda(const struct sum_tables *t) {
    return scratch_of(t->N, t->n, t->n_terms + t->n_signs);
}

int64_t condense_sum_cuda(const struct sum_tables *t, int64_t n_batches, const double *coefficients,
                          double *K, double *scratch) {
    return condense_all(combination{*t}, t->N, t->n, t->n_terms + t->n_signs, n_batches, coefficients, K,
                        scratch);
}

int64_t sum_solve_cuda(const struct sum_tables *t, int64_t n_batches, const double *coefficients,
                       const double *uhat, double *u, double *load, double *scratch) {
    return solve_all(combination{*t}, t->N, t->n, t->n_terms + t->n_signs, n_batches, coefficients,
                     solution{uhat, u, nullptr, load}, scratch);
}
