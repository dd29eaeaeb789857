// Straight cells of elasticity: solves inside them, the flux and the loads of their traces. With the moments
//
//     y_ca = Z_a x_c,    Z = [D | G],    D_a = sum_e C_ae D_e,    G_a = n_a F
//
// of x = u or uhat, [S R; R' H] x without the stabilization is Z_a'(alpha 1_ca tr y + delta y_ac + gamma
// y_ca): R is never formed.
#include "kernels/cuda/elastic.cuh"

namespace facet {
namespace {

// Where the numbers of a cell stand, from its beginning, all of them even. x: the right-hand side of the low
// functions.
struct places {
    int scalar_ld, ld, c, low, uhat, u, y, P, A, C, size;
};

places places_of(const solid &p) {
    const int dim = p.t.dim;
    places at;
    at.scalar_ld = (int)row_length(p.t.Nu + dim);
    at.ld = (int)row_length(p.N + 1);
    at.c = 0;
    at.low = at.c + even(p.at.count);
    at.uhat = at.low + even(dim * dim * dim * dim);
    at.u = at.uhat + even(p.n);
    at.y = at.u + even(dim * p.t.Nu);
    at.P = at.y + even(dim * dim * p.t.N);
    at.A = at.P + even(p.low * (p.low + 1) / 2);
    at.C = at.A + even(padded_rows(p.high) * at.scalar_ld);
    at.size = at.C + even(padded_rows(p.N) * at.ld);
    return at;
}

struct solution {
    const double *uhat;
    double *u, *q, *load;
};

// A cell at work.
template <class T> struct work : solid_work<T, places> {
    using base = solid_work<T, places>;
    using base::c;
    using base::p;
    using base::team;

    // y (dim x dim x N) = those of u.
    __device__ __forceinline__ void cell_moments(const double *u, double *y) const {
        const int dim = p.t.dim, N = p.t.N, low = p.low;
        const double *cofactors = c() + p.at.cofactors;
        for (int k = team.thread; k < dim * N; k += T::THREADS) {
            const int b = k / N, i = k % N;
            double slope[3] = {0.0, 0.0, 0.0};
            for (int e = 0; e < dim; e++)
                for (int j = 0; j < low; j++)
                    slope[e] += __ldg(p.t.D + (e * N + i) * low + j) * u[b * p.t.Nu + j];
            for (int a = 0; a < dim; a++) {
                double sum = 0.0;
                for (int e = 0; e < dim; e++) sum += cofactors[a * dim + e] * slope[e];
                y[(b * dim + a) * N + i] = sum;
            }
        }
    }
    // y = sign times those of uhat, or y += them.
    __device__ __forceinline__ void face_moments(const double *uhat, double sign, bool add, double *y) const {
        const int dim = p.t.dim, N = p.t.N, m = p.t.m;
        for (int k = team.thread; k < dim * N; k += T::THREADS) {
            const int b = k / N, i = k % N;
            double sum[3] = {0.0, 0.0, 0.0};
            for (int f = 0; f < p.t.n_faces; f++) {
                const double *F = p.F + (face_at(p, c(), f) * N + i) * m, *x = uhat + (f * dim + b) * m;
                double value = 0.0;
                for (int j = 0; j < m; j++) value += __ldg(F + j) * x[j];
                for (int a = 0; a < dim; a++) sum[a] += c()[p.at.normals + f * dim + a] * value;
            }
            for (int a = 0; a < dim; a++) {
                double *to = y + (b * dim + a) * N + i;
                *to = sign * sum[a] + (add ? *to : 0.0);
            }
        }
    }
    // scale[2] 1_ca tr y + scale[1] y_ac + scale[0] y_ca; the trace of y goes to `trace`, scale[3] times.
    // step: of q.
    __device__ __forceinline__ void mix(const double *scale, const double *y, int step, double *q,
                                        double *trace) const {
        const int dim = p.t.dim, N = p.t.N;
        for (int i = team.thread; i < N; i += T::THREADS) {
            double old[9], sum = 0.0;
            for (int k = 0; k < dim * dim; k++) old[k] = y[k * N + i];
            for (int b = 0; b < dim; b++) sum += old[b * (dim + 1)];
            for (int k = 0; k < dim * dim; k++)
                q[(int64_t)(k * N + i) * step] = scale[0] * old[k] + scale[1] * old[k % dim * dim + k / dim] +
                                                 (k % (dim + 1) == 0 ? scale[2] * sum : 0.0);
            if (trace != nullptr) trace[(int64_t)i * step] = scale[3] * sum;
        }
    }
    // The same with the moduli of the cell, in place.
    __device__ __forceinline__ void mix_moduli(double *y) const {
        const double *moduli = c() + p.at.moduli, scale[4] = {moduli[2], moduli[1], moduli[0], 0.0};
        mix(scale, y, 1, y, nullptr);
    }

    // u += R uhat; y: scratch.
    __device__ __forceinline__ void add_R(const double *uhat, double *y, double *u) const {
        const int dim = p.t.dim, N = p.t.N, Nu = p.t.Nu, m = p.t.m, low = p.low;
        const double *cofactors = c() + p.at.cofactors;
        face_moments(uhat, 1.0, false, y);
        team.sync();
        mix_moduli(y);
        team.sync();
        for (int k = team.thread; k < dim * Nu; k += T::THREADS) {
            const int b = k / Nu, i = k % Nu;
            double sum = 0.0;
            for (int f = 0; f < p.t.n_faces; f++) {
                const double *FU = p.FU + (face_at(p, c(), f) * Nu + i) * m, *x = uhat + (f * dim + b) * m;
                double value = 0.0;
                for (int j = 0; j < m; j++) value += __ldg(FU + j) * x[j];
                sum += c()[p.at.weight + f] * value;
            }
            for (int e = 0; e < dim && i < low; e++)
                for (int j = 0; j < N; j++) {
                    double along = 0.0;
                    for (int a = 0; a < dim; a++) along += cofactors[a * dim + e] * y[(b * dim + a) * N + j];
                    sum += __ldg(p.t.D + (e * N + j) * low + i) * along;
                }
            u[k] += sum;
        }
        team.sync();
    }

    // to (lanes) = R'u; y: scratch.
    __device__ __forceinline__ void put_load(const double *u, double *y, double *to) const {
        const int dim = p.t.dim, N = p.t.N, Nu = p.t.Nu, m = p.t.m;
        cell_moments(u, y);
        team.sync();
        mix_moduli(y);
        team.sync();
        for (int k = team.thread; k < p.n; k += T::THREADS) {
            const int j = k % m, b = k / m % dim, f = k / m / dim, place = face_at(p, c(), f);
            const double *normal = c() + p.at.normals + f * dim;
            double sum = 0.0, through = 0.0;
            for (int i = 0; i < Nu; i++) sum += __ldg(p.FU + (place * Nu + i) * m + j) * u[b * Nu + i];
            for (int i = 0; i < N; i++) {
                double along = 0.0;
                for (int a = 0; a < dim; a++) along += normal[a] * y[(b * dim + a) * N + i];
                through += __ldg(p.F + (place * N + i) * m + j) * along;
            }
            to[(int64_t)k * L] = c()[p.at.weight + f] * sum + through;
        }
    }
};

// ------------------------------------------------------------------------------------ S^-1

// A column of C becomes U^-1 times it, by one warp; the diagonal of U is inverted.
__device__ __forceinline__ void substitute_column(int lane, int N, int ld, int column, double *C) {
    for (int k = N - 1; k >= 0; k--) {
        const double x = C[k * ld + column] * C[k * ld + k];
        __syncwarp();
        if (lane == 0) C[k * ld + column] = x;
        for (int i = lane; i < k; i += 32) C[i * ld + column] -= C[i * ld + k] * x;
        __syncwarp();
    }
}

// The rows of high functions, u beside them, eliminated; P: the rest of the stabilization.
template <class T> __device__ __forceinline__ bool solve_high(const work<T> &w, const double *u) {
    const solid &p = w.p;
    const T &team = w.team;
    const int Nu = p.t.Nu, high = p.high, low = p.low, ld = w.at.scalar_ld;
    const double *weight = w.c() + p.at.weight;
    double *A = w.own + w.at.A, *P = w.own + w.at.P;
    for (int i = team.warp; i < high; i += T::THREADS / 32) {
        for (int j = i + team.lane; j < Nu; j += 32)
            A[i * ld + j] = mass_entry(p, weight, low + i, function_at(p, j));
        if (team.lane < p.t.dim) A[i * ld + Nu + team.lane] = u[team.lane * Nu + low + i];
    }
    clear_padding(team, high, ld, A);
    team.sync();
    const bool good = eliminate<true>(team, high, Nu + p.t.dim, ld, A);
    for (int k = team.thread; k < low * low; k += T::THREADS) {
        const int i = k / low, j = k % low;
        if (j > i) continue;
        double sum = mass_entry(p, weight, i, j);
        for (int r = 0; r < high; r++) sum -= A[r * ld + high + i] * A[r * ld + high + j];
        P[triangle_row(i) + j] = sum;
    }
    team.sync();
    return good;
}

template <class T> __device__ __forceinline__ bool solve_low(const work<T> &w, const double *u) {
    const solid &p = w.p;
    const T &team = w.team;
    const int Nu = p.t.Nu, high = p.high, low = p.low, N = p.N, ld = w.at.ld, scalar_ld = w.at.scalar_ld;
    const double *A = w.own + w.at.A, *P = w.own + w.at.P;
    double *C = w.own + w.at.C;
    for (int row = team.warp; row < N; row += T::THREADS / 32) {
        const int b = row / low, i = row - b * low;
        for (int j = row + team.lane; j < N; j += 32) {
            const int d = j / low, k = j - d * low;
            const double sum = low_entry(p, w.own + w.at.low, b, d, i, k);
            C[row * ld + j] = b == d ? sum + P[triangle_row(k) + i] : sum;
        }
        if (team.lane != 0) continue;
        double right = u[b * Nu + i];
        for (int r = 0; r < high; r++) right -= A[r * scalar_ld + high + i] * A[r * scalar_ld + Nu + b];
        C[row * ld + N] = right;
    }
    clear_padding(team, N, ld, C);
    team.sync();
    const bool good = eliminate<true>(team, N, N + 1, ld, C);
    if (team.warp == 0) substitute_column(team.lane, N, ld, N, C);
    team.sync();
    return good;
}

// u = S^-1 u. Returns whether S is positive definite.
template <class T> __device__ __forceinline__ bool solve_inside(const work<T> &w, double *u) {
    const solid &p = w.p;
    const T &team = w.team;
    const int dim = p.t.dim, Nu = p.t.Nu, high = p.high, low = p.low, ld = w.at.scalar_ld;
    double *A = w.own + w.at.A;
    const double *x = w.own + w.at.C + p.N;
    bool good = solve_high(w, u);
    good = solve_low(w, u) && good;
    for (int k = team.thread; k < high * dim; k += T::THREADS) { // what is left for the high functions
        const int i = k / dim, b = k % dim;
        double sum = A[i * ld + Nu + b];
        for (int j = 0; j < low; j++) sum -= A[i * ld + high + j] * x[(b * low + j) * w.at.ld];
        A[i * ld + Nu + b] = sum;
    }
    team.sync();
    for (int b = team.warp; b < dim; b += T::THREADS / 32) substitute_column(team.lane, high, ld, Nu + b, A);
    team.sync();
    for (int k = team.thread; k < dim * Nu; k += T::THREADS) {
        const int b = k / Nu, i = k % Nu;
        u[k] = i < low ? x[(b * low + i) * w.at.ld] : A[(i - low) * ld + Nu + b];
    }
    team.sync();
    return good;
}

template <int WARPS, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS)
    solve(const __grid_constant__ solid p, const places at, int64_t n_cells, const double *coefficients,
          const solution s, double *scratch, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    const int thread = WARPS == 1 ? threadIdx.x % 32 : threadIdx.x, mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    using team_type = team<WARPS>;
    const team_type team = {thread, thread / 32, thread % 32};
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1;
    const int N = p.t.dim * p.t.Nu, n_flux = p.t.dim * p.t.dim * p.t.N,
              n_q = n_flux + (p.t.pressure ? p.t.N : 0);
    double *own = SHARED ? room + mine * at.size : scratch + (int64_t)blockIdx.x * at.size;
    double *uhat = own + at.uhat, *u = own + at.u, *y = own + at.y;
    const work<team_type> w = {{p, at, team, own}};
    for (int64_t begin = (int64_t)blockIdx.x * CELLS; begin < n_cells; begin += (int64_t)gridDim.x * CELLS) {
        const int64_t cell = begin + mine, batch = cell / L;
        const int lane = (int)(cell % L), count = p.at.count;
        for (int k = thread; k < count; k += team.THREADS)
            own[at.c + k] = coefficients[(batch * count + k) * L + lane];
        for (int k = thread; k < N; k += team.THREADS) u[k] = s.u[(batch * N + k) * L + lane];
        for (int k = thread; k < p.n && s.uhat != nullptr; k += team.THREADS)
            uhat[k] = s.uhat[(batch * p.n + k) * L + lane];
        team.sync();
        low_moduli(p, team, own + at.c, own + at.low);
        if (s.uhat != nullptr) w.add_R(uhat, y, u);
        team.sync();
        if (!solve_inside(w, u) && thread == 0) atomicMin(failed, (unsigned long long)batch);
        for (int k = thread; k < N; k += team.THREADS) s.u[(batch * N + k) * L + lane] = u[k];
        if (s.q != nullptr) {
            double *q = s.q + batch * n_q * L + lane;
            w.cell_moments(u, y);
            team.sync();
            if (s.uhat != nullptr) w.face_moments(uhat, -1.0, true, y);
            team.sync();
            w.mix(own + at.c + p.at.flux, y, L, q, p.t.pressure ? q + (int64_t)n_flux * L : nullptr);
            team.sync();
        }
        if (s.load != nullptr) w.put_load(u, y, s.load + batch * p.n * L + lane);
        team.sync();
    }
}

} // namespace

int64_t elastic_solve_scratch(const struct elastic_tables *t) {
    const places at = places_of(solid_of(t, nullptr));
    return solid_size(t) + solid_slices(at.size) * at.size;
}

} // namespace facet

using namespace facet;

int64_t elastic_solve_cuda(const struct elastic_tables *t, int64_t n_batches, const double *coefficients,
                           const double *uhat, double *u, double *q, double *load, double *scratch) {
    const int64_t n_cells = n_batches * L;
    return find_failure(n_batches, [&](unsigned long long *failed) {
        const solid p = solid_of(t, scratch);
        const places at = places_of(p);
        const solution s = {uhat, u, q, load};
        make_solid(p);
        by_size<false>(at.size, solid_slices(at.size), FEW_NUMBERS, 0, TEAMS, n_cells, [&](const auto &way) {
            using W = std::decay_t<decltype(way)>;
            launch(solve<W::WARPS, W::SHARED>, "elastic_solve", way.blocks, way.threads, way.bytes, p, at,
                   n_cells, coefficients, s, scratch + solid_size(t), failed);
        });
    });
}
