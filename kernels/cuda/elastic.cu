// Straight cells of elasticity: K = H - R'S^-1 R from coefficients. Functions that do not meet the stress
// leave by a scalar elimination, then dim n_low rows [S R] by that of local.cuh, and K is made of tiles of
// the FP64 tensor cores. Unknowns of a cell are worked on in an order of its own, those of linear functions
// of the faces first: rigid motions know no others, so that K beyond these goes to memory as it is made, and
// the first ones wait in shared memory until the motions are restored.
#include "kernels/cuda/elastic.cuh"

namespace facet {
namespace {

// Where the numbers of a cell stand, from its beginning, all of them even. C: first the scalar rows.
struct places {
    int scalar_ld, ld, c, low, coupling, faces, extra, order, motions, D, P, first, C, size;
};

inline int first_size(int n, int n_linear) {
    return n_linear * (n_linear + 1) / 2 + (n - n_linear) * n_linear;
}

places places_of(const solid &p) {
    const int dim = p.t.dim, faces = p.t.n_faces, scalar = p.low + p.n_face;
    places at;
    at.scalar_ld = (int)row_length(p.t.Nu + p.n_face);
    at.ld = (int)row_length(p.N + p.n);
    at.c = 0;
    at.low = at.c + even(p.at.count);
    at.coupling = at.low + even(dim * dim * dim * dim);
    at.faces = at.coupling + even(faces * dim * dim * dim);
    at.extra = at.faces + even(faces * faces * dim * dim);
    at.order = at.extra + 2 * p.n;
    at.motions = at.order + even((p.n + 1) / 2);
    at.D = at.motions + even(MOTIONS * p.n_linear);
    at.P = at.D + even(MOTIONS * p.n);
    at.first = at.P + even(scalar * (scalar + 1) / 2);
    at.C = at.first + even(first_size(p.n, p.n_linear));
    const int64_t scalar_rows = padded_rows(p.high) * at.scalar_ld, rows = padded_rows(p.N) * at.ld;
    at.size = at.C + even(scalar_rows > rows ? scalar_rows : rows);
    return at;
}

// A cell at work.
template <class T> struct work : solid_work<T, places> {
    using solid_work<T, places>::own;
    using solid_work<T, places>::at;

    __device__ __forceinline__ const int4 *extra() const {
        return (const int4 *)(own + at.extra);
    }
    __device__ __forceinline__ const int *order() const {
        return (const int *)(own + at.order);
    }
    __device__ __forceinline__ double *P() const {
        return own + at.P;
    }
    __device__ __forceinline__ double *C() const {
        return own + at.C;
    }
};

// Of an unknown at its place in the order of the cell: where its numbers stand in DF, in FF as the first and
// as the second of two; its function among those of all faces, component and face.
__device__ __forceinline__ int scalar_of(const int4 &e) {
    return e.w & 0xffff;
}
__device__ __forceinline__ int component_of(const int4 &e) {
    return e.w >> 16 & 0xf;
}
__device__ __forceinline__ int face_of(const int4 &e) {
    return e.w >> 20;
}

template <class T> __device__ __forceinline__ void prepare(const work<T> &w) {
    const solid &p = w.p;
    const int dim = p.t.dim, faces = p.t.n_faces, m = p.t.m, places = faces * p.orientations;
    const double *c = w.c(), *moduli = c + p.at.moduli, *normals = c + p.at.normals;
    low_moduli(p, w.team, c, w.own + w.at.low);
    for (int k = w.team.thread; k < faces * dim * dim * dim; k += T::THREADS) {
        const int e = k % dim, d = k / dim % dim, b = k / dim / dim % dim, f = k / dim / dim / dim;
        w.own[w.at.coupling + k] =
            modulus(dim, moduli, c + p.at.cofactors + e, dim, normals + f * dim, 1, b, d);
    }
    for (int k = w.team.thread; k < faces * faces * dim * dim; k += T::THREADS) {
        const int d = k % dim, b = k / dim % dim, pair = k / dim / dim;
        w.own[w.at.faces + k] =
            modulus(dim, moduli, normals + pair / faces * dim, 1, normals + pair % faces * dim, 1, b, d);
    }
    for (int q = w.team.thread; q < p.n; q += T::THREADS) {
        const int unknown = p.order[q], f = unknown / (dim * m), b = unknown / m % dim, k = unknown % m;
        const int place = face_at(p, c, f);
        ((int *)(w.own + w.at.order))[q] = unknown;
        ((int4 *)(w.own + w.at.extra))[q] =
            make_int4(place * dim * p.low * m + k, (place * places * m + k) * m, place * m * m + k,
                      (f * m + k) | b << 16 | f << 20);
    }
}

// ------------------------------------------------------------------------------------ elimination

// The stabilization of one component with the high functions eliminated: P, low functions first, then those
// of the faces, one triangle. Returns whether it is positive definite.
template <class T> __device__ __forceinline__ bool scalar_stage(const work<T> &w) {
    const solid &p = w.p;
    const T &team = w.team;
    const int Nu = p.t.Nu, m = p.t.m, faces = p.t.n_faces, high = p.high, low = p.low, ld = w.at.scalar_ld;
    const double *c = w.c(), *weight = c + p.at.weight;
    double *A = w.C(), *P = w.P();
    for (int i = team.warp; i < high; i += T::THREADS / 32) {
        for (int j = i + team.lane; j < Nu; j += 32)
            A[i * ld + j] = mass_entry(p, weight, low + i, function_at(p, j));
        for (int j = team.lane; j < p.n_face; j += 32) {
            const int f = j / m;
            A[i * ld + Nu + j] = weight[f] * __ldg(p.FU + (face_at(p, c, f) * Nu + low + i) * m + j - f * m);
        }
    }
    clear_padding(team, high, ld, A);
    team.sync();
    const bool good = eliminate<false>(team, high, Nu + p.n_face, ld, A);
    subtract_gram(
        team, high, low + p.n_face, ld, A + high,
        [&](int i) {
            const int f = i < low ? 0 : (i - low) / m;
            const double *from =
                i < low ? p.t.mass + i * Nu : p.FU + face_at(p, c, f) * Nu * m + i - low - f * m;
            return [=](int j) {
                if (i < low) {
                    double sum = 0.0;
                    for (int face = 0; face < faces; face++)
                        sum += weight[face] * __ldg(from + face * Nu * Nu + j);
                    return sum;
                }
                return j < low ? weight[f] * __ldg(from + j * m) : i == j ? weight[f] : 0.0;
            };
        },
        [&](int i, int j, double value) { P[triangle_row(i) + j] = value; });
    team.sync();
    return good;
}

// C = [S R] of the low functions.
template <class T> __device__ __forceinline__ void assemble(const work<T> &w) {
    const solid &p = w.p;
    const T &team = w.team;
    const int dim = p.t.dim, low = p.low, N = p.N, m = p.t.m, ld = w.at.ld;
    const double *P = w.P(), *coupling = w.own + w.at.coupling;
    double *C = w.C();
    for (int row = team.warp; row < N; row += T::THREADS / 32) {
        const int b = row / low, i = row - b * low;
        for (int j = row + team.lane; j < N; j += 32) {
            const int d = j / low, k = j - d * low;
            const double sum = low_entry(p, w.own + w.at.low, b, d, i, k);
            C[row * ld + j] = b == d ? sum + P[triangle_row(k) + i] : sum;
        }
        for (int q = team.lane; q < p.n; q += 32) {
            const int4 e = w.extra()[q];
            const int d = component_of(e);
            const double *r = coupling + ((face_of(e) * dim + b) * dim + d) * dim;
            const double *DF = p.DF + e.x + i * m;
            double sum = b == d ? P[triangle_row(low + scalar_of(e)) + i] : 0.0;
            for (int k = 0; k < dim; k++) sum += r[k] * __ldg(DF + k * low * m);
            C[row * ld + N + q] = sum;
        }
    }
    clear_padding(team, N, ld, C);
    team.sync();
}

// ------------------------------------------------------------------------------------ motions

// Of the numbers of K that motions know: entry (q, j), j < n_linear.
__device__ __forceinline__ int first_at(const solid &p, int q, int j) {
    return q < p.n_linear ? triangle_row(q) + j
                          : triangle_row(p.n_linear) + (q - p.n_linear) * p.n_linear + j;
}
__device__ __forceinline__ double first_entry(const solid &p, const double *first, int q, int j) {
    return q >= j ? first[first_at(p, q, j)] : first[triangle_row(j) + q];
}

// The motions of a cell, n_linear x MOTIONS, by one warp.
template <class T> __device__ __forceinline__ void make_motions(const work<T> &w) {
    const solid &p = w.p;
    const int dim = p.t.dim, linear = p.t.n_linear, lane = w.team.lane;
    const double *c = w.c(), *jacobian = c + p.at.jacobian;
    double *of = w.own + w.at.motions;
    for (int q = lane; q < p.n_linear; q += 32) {
        const int k = q % linear, b = q / linear % dim, f = q / linear / dim;
        const double *moments = p.coordinates + face_at(p, c, f) * dim * linear + k;
        double x[3] = {0.0, 0.0, 0.0};
        for (int a = 0; a < dim; a++)
            for (int e = 0; e < dim; e++) x[a] += jacobian[a * dim + e] * __ldg(moments + e * linear);
        put_motion(dim, p.t.n_faces, p.t.rotations, b, k, x, of + q * MOTIONS);
    }
    __syncwarp();
    orthonormalize(lane, p.n_linear, dim, p.t.rotations, of);
}

// ------------------------------------------------------------------------------------ K

__device__ __forceinline__ int64_t entry_place(int i, int j) {
    return (int64_t)(i >= j ? triangle_row(i) + j : triangle_row(j) + i) * L;
}

// K; its diagonal is left in `diagonal`.
template <class T> __device__ __forceinline__ void make_K(const work<T> &w, double *diagonal, double *K) {
    const solid &p = w.p;
    const int faces = p.t.n_faces, dim = p.t.dim, low = p.low;
    const double *P = w.P(), *products = w.own + w.at.faces;
    double *first = w.own + w.at.first;
    const int4 *extra = w.extra();
    const int *order = w.order();
    subtract_gram(
        w.team, p.N, p.n, w.at.ld, w.C() + p.N,
        [&](int i) {
            const int4 a = extra[i];
            const int c = component_of(a), x = low + scalar_of(a), row = triangle_row(x) + low;
            const double *product = products + face_of(a) * faces * dim * dim + c * dim, *FF = p.FF + a.y;
            return [=](int j) {
                const int4 b = extra[j];
                const int d = component_of(b), y = scalar_of(b);
                const double H = product[face_of(b) * dim * dim + d] * __ldg(FF + b.z);
                if (c != d) return H;
                return H + P[low + y <= x ? row + y : triangle_row(low + y) + x];
            };
        },
        [&](int i, int j, double value) {
            if (i == j) diagonal[i] = value;
            if (j < p.n_linear)
                first[first_at(p, i, j)] = value;
            else
                K[entry_place(order[i], order[j])] = value;
        });
    w.team.sync();
}

// The rows and columns that motions know, as they should be.
template <class T> __device__ __forceinline__ void put_first(const work<T> &w, double *K) {
    const solid &p = w.p;
    const double *first = w.own + w.at.first, *of = w.own + w.at.motions, *D = w.own + w.at.D;
    const int *order = w.order();
    // A thread has a row, or every so many-th entry of one.
    const int sharing = T::THREADS > p.n ? T::THREADS / p.n : 1;
    for (int e = w.team.thread; e < p.n * sharing; e += T::THREADS) {
        const int q = e % p.n, end = q < p.n_linear ? q + 1 : p.n_linear;
        const double *row = first + first_at(p, q, 0);
        double lack[MOTIONS], motion[MOTIONS];
#pragma unroll
        for (int r = 0; r < MOTIONS; r++) {
            lack[r] = D[q * MOTIONS + r];
            motion[r] = q < p.n_linear ? of[q * MOTIONS + r] : 0.0;
        }
        for (int j = e / p.n; j < end; j += sharing) {
            double sum = row[j];
#pragma unroll
            for (int r = 0; r < MOTIONS; r++) sum += lack[r] * of[j * MOTIONS + r];
            if (q < p.n_linear)
#pragma unroll
                for (int r = 0; r < MOTIONS; r++) sum += motion[r] * D[j * MOTIONS + r];
            K[entry_place(order[q], order[j])] = sum;
        }
    }
}

template <int WARPS, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS)
    condense(const __grid_constant__ solid p, const places at, int64_t n_cells, const double *coefficients,
             double *K, double *scratch, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    const int thread = WARPS == 1 ? threadIdx.x % 32 : threadIdx.x, mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    using team_type = team<WARPS>;
    const team_type team = {thread, thread / 32, thread % 32};
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1;
    double *own = SHARED ? room + mine * at.size : scratch + (int64_t)blockIdx.x * at.size;
    const work<team_type> w = {{p, at, team, own}};
    const int64_t n_K = triangle_row(p.n);
    for (int64_t begin = (int64_t)blockIdx.x * CELLS; begin < n_cells; begin += (int64_t)gridDim.x * CELLS) {
        const int64_t cell = begin + mine, batch = cell / L;
        const int lane = (int)(cell % L), count = p.at.count;
        double *to = K + batch * n_K * L + lane;
        for (int k = thread; k < count; k += team.THREADS)
            own[at.c + k] = coefficients[(batch * count + k) * L + lane];
        team.sync();
        prepare(w);
        team.sync();
        bool good = scalar_stage(w);
        assemble(w);
        good = eliminate<false>(team, p.N, p.N + p.n, at.ld, w.C()) && good;
        if (!good && thread == 0) atomicMin(failed, (unsigned long long)batch);
        if (team.warp == 0) make_motions(w);
        make_K(w, own + at.D, to);
        for (int q = thread; q < p.n; q += team.THREADS) w.C()[q] = own[at.D + q]; // nobody needs C any more
        team.sync();
        find_lack(
            team, p.n, p.n_linear, p.t.dim,
            [&](int q, int j) { return first_entry(p, own + at.first, q, j); }, own + at.motions, own + at.D,
            w.C());
        put_first(w, to);
        team.sync();
    }
}

} // namespace
} // namespace facet

using namespace facet;

// The larger of both uses: solves inside ask with condense = 0.
int64_t elastic_scratch_cuda(const struct elastic_tables *t, int condense) {
    const int64_t solve = elastic_solve_scratch(t);
    if (!condense) return solve;
    const places at = places_of(solid_of(t, true, nullptr));
    const int64_t all = solid_size(t, true) + solid_slices(at.size) * at.size;
    return all > solve ? all : solve;
}

int64_t condense_elastic_cuda(const struct elastic_tables *t, int64_t n_batches, const double *coefficients,
                              double *K, double *scratch) {
    const int64_t n_cells = n_batches * L;
    return find_failure(n_batches, [&](unsigned long long *failed) {
        const solid p = solid_of(t, true, scratch);
        const places at = places_of(p);
        make_solid(p, true);
        by_size<true>(
            at.size, solid_slices(at.size), FEW_NUMBERS, MANY_NUMBERS, TEAMS, n_cells, [&](const auto &way) {
                using W = std::decay_t<decltype(way)>;
                launch(condense<W::WARPS, W::SHARED>, "condense_elastic", way.blocks, way.threads, way.bytes,
                       p, at, n_cells, coefficients, K, scratch + solid_size(t, true), failed);
            });
    });
}
