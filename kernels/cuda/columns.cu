// Local solvers of affine cells with few functions inside and up to 31 on the faces: a thread has a column of
// [R b] and, those before N, one of S, in registers. Rows are eliminated one after the other, their numbers
// going from thread to thread through shared memory; K = H - V'V is made of tiles of the FP64 tensor cores. A
// warp has a cell, a block four neighbours, so that what they write in lanes is whole sectors. All sizes are
// constants: most of what cells as small as this cost elsewhere are addresses and loops.
#include "kernels/cuda/turned.cuh"

namespace facet {
namespace {

constexpr int TEAMS = 4;

template <int DIM, int FACES, int N_, int M> struct columns {
    static constexpr int N = N_, n = FACES * M, TERMS = turned<DIM, FACES>::TERMS, O = turned<DIM, FACES>::O;
    static constexpr int PANELS = (N + 3) / 4, TILES = (n + 7) / 8, ENTRIES = N * (N + 1) / 2;
    static constexpr int N_K = n * (n + 1) / 2;
    static_assert(n < 32 && N <= n, "a thread has a column");
    // Rows of V in shared memory, so that the 16 lanes that read a fragment together meet 16 banks; S and K
    // have the same room before and after.
    static constexpr int LD = 8 * TILES + (8 * TILES % 16 == 0 ? 4 : 12);
    static_assert(LD % 16 == 4, "banks");
    static constexpr int ROOM = 4 * PANELS * LD > N_K ? 4 * PANELS *LD : N_K;
    // Where the numbers of a warp stand, all of them even: extra, d, V and then the coefficients.
    static constexpr int D = 2 * 8 * TILES, V = D + 8 * TILES, C = V + even(ROOM);

    // Of a column of R: where its numbers stand in R2, and in FF as the first and as the second of two; its
    // face.
    static __device__ __forceinline__ int4 column(const turned<DIM, FACES> &p, const double *c, int j) {
        const int f = j < n ? j / M : 0, k = j < n ? j % M : 0, fo = f * O + (int)c[p.at.orientation + f];
        return make_int4(fo * N * 2 * M + k, fo * FACES * O * M * M + k * M, fo * M * M + k, f);
    }

    // Its entries.
    static __device__ __forceinline__ void load_R(const turned<DIM, FACES> &p, const double *c, int4 own,
                                                  double (&r)[N]) {
        const double w = c[p.at.weight + own.w], *g = c + p.at.gradient + own.w * DIM;
        const double g0 = g[0], g1 = g[1], g2 = DIM == 3 ? g[DIM - 1] : 0.0;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const double2 *entry = p.R2 + own.x + i * 2 * M;
            const double2 x = __ldg(entry), y = __ldg(entry + M);
            r[i] = w * x.x + g0 * x.y + g1 * y.x + (DIM == 3 ? g2 * y.y : 0.0);
        }
    }

    // Column `lane` of S down to its diagonal, zero elsewhere; entries are made by all lanes.
    static __device__ __forceinline__ void load_S(const turned<DIM, FACES> &p, const double *c, int lane,
                                                  double *room, double (&s)[N]) {
#pragma unroll
        for (int e0 = 0; e0 < ENTRIES; e0 += 32) {
            const int e = e0 + lane;
            if (e >= ENTRIES) break;
            double sum = 0.0;
#pragma unroll
            for (int k = 0; k < TERMS; k++) sum += c[p.at.stiffness + k] * __ldg(p.terms + k * ENTRIES + e);
            room[__ldg(p.where + e)] = sum;
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < N; i++) {
            s[i] = lane < N && i <= lane ? room[i * N + lane] : 0.0;
            if (i == lane) s[i] += c[p.at.reaction];
        }
        __syncwarp();
    }

    // S = U'U, and V = U^-T R of the lane's column; room: for two rows of U. Returns whether S is positive
    // definite.
    static __device__ __forceinline__ bool eliminate(int lane, double *room, double (&s)[N], double (&r)[N]) {
        constexpr int ROW = (N + 1) / 2 * 2;
        bool good = true;
#pragma unroll
        for (int k = 0; k < N; k++) {
            const double pivot = __shfl_sync(ALL, s[k], k), inverse = rsqrt(pivot);
            good = good && pivot > 0.0;
            s[k] *= inverse;
            r[k] *= inverse;
            if (k + 1 == N) break;
            double *row = room + k % 2 * ROW;
            if (lane < ROW) row[lane] = s[k];
            __syncwarp();
#pragma unroll
            for (int i = (k + 1) / 2 * 2; i < N; i += 2) {
                const double2 u = *(const double2 *)(row + i);
                if (i > k) {
                    s[i] -= u.x * s[k];
                    r[i] -= u.x * r[k];
                }
                if (i + 1 < N) {
                    s[i + 1 < N ? i + 1 : i] -= u.y * s[k];
                    r[i + 1 < N ? i + 1 : i] -= u.y * r[k];
                }
            }
        }
        __syncwarp();
        return good;
    }

    // d = V'y, y: the column after the last.
    static __device__ __forceinline__ double sum_of(bool any, const double (&r)[N]) {
        double sum = 0.0;
        if (any)
#pragma unroll
            for (int k = 0; k < N; k++) sum += r[k] * __shfl_sync(ALL, r[k], n);
        return sum;
    }

    // Entries (i, j) and (i, j + 1) of H, j even; row: what is known of i.
    static __device__ __forceinline__ void load_H(const turned<DIM, FACES> &p, const double *c,
                                                  const int4 *extra, int4 row, int i, int j, double (&H)[2]) {
        const int4 column = extra[j], next = extra[j + 1];
        if (M % 2 == 0) { // of one face
            const double weight = c[p.at.normals + column.w * FACES + row.w];
            const double2 pair = __ldg((const double2 *)(p.FF + row.y + column.z));
            H[0] = weight * pair.x;
            H[1] = weight * pair.y;
        } else {
            H[0] = c[p.at.normals + column.w * FACES + row.w] * __ldg(p.FF + row.y + column.z);
            H[1] = c[p.at.normals + next.w * FACES + row.w] * __ldg(p.FF + row.y + next.z);
        }
#pragma unroll
        for (int q = 0; q < 2; q++)
            if (i == j + q) H[q] += c[p.at.weight + row.w];
    }

    // K = H - V'V, V in the room that K takes then.
    static __device__ __forceinline__ void schur(const turned<DIM, FACES> &p, const double *c,
                                                 const int4 *extra, int lane, double *room) {
        const int g = lane / 4, t = lane % 4;
        double v[PANELS][TILES];
#pragma unroll
        for (int k = 0; k < PANELS; k++)
#pragma unroll
            for (int j = 0; j < TILES; j++) v[k][j] = room[(4 * k + t) * LD + 8 * j + g];
        __syncwarp();
#pragma unroll
        for (int tile_i = 0; tile_i < TILES; tile_i++) {
            const int i = 8 * tile_i + g;
            const int4 row = extra[i];
            double *K = room + triangle_row(i);
#pragma unroll
            for (int tile_j = 0; tile_j <= tile_i; tile_j++) {
                double tile[2];
                load_H(p, c, extra, row, i, 8 * tile_j + 2 * t, tile);
#pragma unroll
                for (int k = 0; k < PANELS; k++) multiply_add(tile, -v[k][tile_i], v[k][tile_j]);
#pragma unroll
                for (int q = 0; q < 2; q++) {
                    const int j = 8 * tile_j + 2 * t + q;
                    if (i < n && j <= i) K[j] = tile[q];
                }
            }
        }
    }
};

template <class P, int DIM, int FACES>
__global__ void __launch_bounds__(32 * TEAMS, P::N > 4 ? 5 : 8)
    condense(const __grid_constant__ turned<DIM, FACES> p, int64_t n_cells, int size,
             const double *coefficients, double *K, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    constexpr int n = P::n, N = P::N;
    const int lane = threadIdx.x % 32, mine = threadIdx.x / 32, count = p.at.count;
    const team<1> team = {lane, 0, lane};
    double *own = room + mine * size, *d = own + P::D, *V = own + P::V, *c = own + P::C;
    int4 *extra = (int4 *)own;
    for (int64_t first = (int64_t)blockIdx.x * TEAMS; first < n_cells; first += (int64_t)gridDim.x * TEAMS) {
        const int64_t batch = first / L;
        for (int e = threadIdx.x; e < TEAMS * count; e += 32 * TEAMS)
            room[e % TEAMS * size + P::C + e / TEAMS] =
                coefficients[(batch * count + e / TEAMS) * L + first % L + e % TEAMS];
        __syncthreads();
        const int4 column = P::column(p, c, lane);
        if (lane < 8 * P::TILES) extra[lane] = column;
        double s[N], r[N];
        P::load_R(p, c, column, r);
        if (lane >= n)
#pragma unroll
            for (int i = 0; i < N; i++) r[i] = i == 0 && lane == n ? p.b(c, 0) : 0.0;
        P::load_S(p, c, lane, V, s);
        if (!P::eliminate(lane, V, s, r) && lane == 0) atomicMin(failed, (unsigned long long)batch);
        const double sum = P::sum_of(c[p.at.reaction] != 0.0, r);
#pragma unroll
        for (int i = 0; i < 4 * P::PANELS; i++)
            if (lane < 8 * P::TILES) V[i * P::LD + lane] = i < N && lane < n ? r[i < N ? i : 0] : 0.0;
        if (lane < n) d[lane] = sum;
        __syncwarp();
        P::schur(p, c, extra, lane, V);
        __syncwarp();
        restore_sums(team, n, FACES, n / FACES, sqrt(p.t.face), d, V);
        __syncthreads();
        double *to = K + batch * P::N_K * L + first % L;
        for (int e = threadIdx.x; e < P::N_K * (TEAMS / 2); e += 32 * TEAMS) {
            const double *from = room + e % (TEAMS / 2) * 2 * size + P::V + e / (TEAMS / 2);
            *(double2 *)(to + e / (TEAMS / 2) * L + e % (TEAMS / 2) * 2) = make_double2(from[0], from[size]);
        }
        __syncthreads();
    }
}

template <int DIM, int FACES, int N, int M>
int64_t run(const struct affine_tables *t, int64_t n_batches, const double *coefficients, double *K,
            double *scratch) {
    using P = columns<DIM, FACES, N, M>;
    const struct affine_layout at = affine_layout(DIM, FACES);
    const int size = (P::C + at.count + 11) / 8 * 8 - 4; // so that pairs of cells do not meet in banks
    if (n_batches == 0 || !may_launch()) return -1;
    unsigned long long *failed = first_failure();
    if (failed == nullptr) return -1;
    const auto tables = make_tables(affine<DIM, FACES>{*t, at}, N, scratch);
    launch(condense<P, DIM, FACES>, "condense_affine", n_batches * L / TEAMS, 32 * TEAMS,
           TEAMS * size * sizeof(double), tables, n_batches * L, size, coefficients, K, failed);
    return failure_found(failed);
}

} // namespace

// Tets of degree 1 and 2.
bool condense_columns(const struct affine_tables *t, int64_t n_batches, const double *coefficients, double *K,
                      double *scratch, int64_t *first_bad) {
    if (t->dim == 3 && t->n_faces == 4 && t->N == 4)
        *first_bad = run<3, 4, 4, 3>(t, n_batches, coefficients, K, scratch);
    else if (t->dim == 3 && t->n_faces == 4 && t->N == 10)
        *first_bad = run<3, 4, 10, 6>(t, n_batches, coefficients, K, scratch);
    else
        return false;
    return true;
}

} // namespace facet
