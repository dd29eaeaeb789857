// The ladder of cui2024, sections 3.1.3 and 4.1: patches of a uniform brick with the residual of the closed
// patch, in one kernel (fused) or two (separate), each in three steps of refinement. They are here to be
// measured against: what the paper's kernels gain, and what the others gain over them.
//
// A thread owns a column of n nodes. Matrices and vectors lie in shared memory, M and A with rows of zeros
// for the shell. Whole patches share a block where they are small.
//
// basic           threads lie as the nodes of the closed patch, those on the shell idle in the solver;
//                 contractions as in Listing 1
// linear          in the solver threads are numbered by the free nodes; the data lies as before
// conflict-free   and the free nodes are contiguous; contractions as in Listing 2, whose results go to
//                 consecutive addresses in every direction
#include <string.h>

#include "kernels/cuda/patch_plan.cuh"

namespace facet {

namespace {

enum ladder_stage { FUSED, RESIDUAL, SOLVER };

template <typename R> struct ladder_launch {
    const R *table[3]; // of the lines
    int set[3];        // where they lie in shared memory: equal ones once
    int n_sets;
    R k, lambda;
    const R *b;
    R *x, *residual;
    int64_t stride[2];
    int first[3], count[3];
};

template <int K>
constexpr int ladder_patches = (2 * K + 1) * (2 * K + 1) >= 96 ? 1
                               : K == 1                        ? 16
                               : K == 2                        ? 6
                                                               : 3;

template <typename R, int K, ladder_stage STAGE> struct ladder_shared {
    static constexpr int N = 2 * K + 1, M = 2 * K - 1;
    // The solver alone needs no more than its free nodes, in whichever layout.
    static constexpr int NUMBERS = N * N * N, ARRAYS = STAGE == SOLVER ? 2 : 3;
    static constexpr int MATRICES = 2 * N * N + M * M + M; // a set: M, A, S, eigenvalues
};

// Where number (z, row, col) of a contraction along DIR comes from (j instead of the contracted one) and goes
// to. LISTING is the paper's.
template <int LD> __device__ __forceinline__ int at(int z, int y, int x) {
    return (z * LD + y) * LD + x;
}
template <int LD, int LISTING, int DIR>
__device__ __forceinline__ int source(int row, int col, int z, int j) {
    if (LISTING == 1) return DIR == 0 ? at<LD>(z, col, j) : DIR == 1 ? at<LD>(z, j, col) : at<LD>(j, z, col);
    return DIR == 0 ? at<LD>(z, row, j) : DIR == 1 ? at<LD>(z, j, col) : at<LD>(j, row, col);
}
template <int LD, int LISTING, int DIR> __device__ __forceinline__ int target(int row, int col, int z) {
    if (LISTING == 1)
        return DIR == 0 ? at<LD>(z, col, row) : DIR == 1 ? at<LD>(z, row, col) : at<LD>(row, z, col);
    return at<LD>(z, row, col);
}

// p[z] += sum_j shape(i, j) in(..j..), i being the place along DIR. What does not depend on z is read once.
template <typename R, int N, int LD, int LISTING, int DIR, bool TRANSPOSED>
__device__ __forceinline__ void contract(const R *shape, const R *in, int row, int col, R (&p)[N]) {
#pragma unroll 1
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int z = 0; z < N; z++) {
            const int i = LISTING == 1 ? row : DIR == 0 ? col : DIR == 1 ? row : z;
            p[z] += shape[TRANSPOSED ? j * N + i : i * N + j] * in[source<LD, LISTING, DIR>(row, col, z, j)];
        }
}
template <typename R, int N, int LD, int LISTING, int DIR>
__device__ __forceinline__ void store(const R (&p)[N], R *out, int row, int col) {
#pragma unroll
    for (int z = 0; z < N; z++) out[target<LD, LISTING, DIR>(row, col, z)] = p[z];
}

template <typename R, int K, ladder_stage STAGE, int KERNEL>
__global__ void __launch_bounds__((ladder_patches<K> * (2 * K + 1) * (2 * K + 1) + 31) / 32 * 32)
    ladder_kernel(const __grid_constant__ ladder_launch<R> p) {
    using shared = ladder_shared<R, K, STAGE>;
    constexpr int N = shared::N, M = shared::M, NP = ladder_patches<K>;
    constexpr bool BASIC = KERNEL == PATCH_KERNEL_BASIC, CONTIGUOUS = KERNEL == PATCH_KERNEL_CONFLICT_FREE;
    constexpr int LISTING = CONTIGUOUS ? 2 : 1, LD = CONTIGUOUS ? M : N;
    constexpr int INSIDE = CONTIGUOUS ? 0 : (N + 1) * N + 1; // of the first free node
    extern __shared__ __align__(16) unsigned char memory[];
    R *matrices = reinterpret_cast<R *>(memory);
    const struct brick_layout from = ::brick_layout(M, K);
    for (int d = 0; d < 3; d++) {
        R *mine = matrices + p.set[d] * shared::MATRICES;
        if (d > 0 && p.set[d] <= p.set[d - 1]) continue;
        for (int i = threadIdx.x; i < N * N; i += blockDim.x) {
            const bool inner = i >= N && i < N * N - N;
            mine[i] = inner ? p.table[d][from.mass + i - N] : 0;
            mine[N * N + i] = inner ? p.table[d][from.stiffness + i - N] : 0;
        }
        for (int i = threadIdx.x; i < M * M + M; i += blockDim.x)
            mine[2 * N * N + i] = p.table[d][i < M * M ? from.S + i : from.eigenvalues + i - M * M];
    }
    auto mass = [&](int d) { return matrices + p.set[d] * shared::MATRICES; };
    auto stiffness = [&](int d) { return mass(d) + N * N; };
    auto modes = [&](int d) { return mass(d) + 2 * N * N; };
    auto eigenvalue = [&](int d, int i) { return mass(d)[2 * N * N + M * M + i]; };

    const int which = threadIdx.x / (N * N), t = threadIdx.x % (N * N);
    const int64_t number = (int64_t)blockIdx.x * NP + which;
    const bool active = which < NP && number < (int64_t)p.count[0] * p.count[1] * p.count[2];
    R *X = matrices + p.n_sets * shared::MATRICES + (active ? which : 0) * shared::ARRAYS * shared::NUMBERS,
      *T1 = X + shared::NUMBERS, *T2 = T1 + shared::NUMBERS;
    const int64_t origin = p.first[0] + number % p.count[0] * (M + 1) +
                           (p.first[1] + number / p.count[0] % p.count[1] * (M + 1)) * p.stride[0] +
                           (p.first[2] + number / p.count[0] / p.count[1] * (M + 1)) * p.stride[1];
    auto node = [&](int z, int y, int x) { return origin + x + y * p.stride[0] + z * p.stride[1]; };

    // The residual: (A M M + M A M + M M A + lambda M M M) x.
    if constexpr (STAGE != SOLVER) {
        const int row = t / N, col = t % N;
        for (int z = 0; active && z < N; z++) X[z * N * N + t] = p.x[node(z - 1, row - 1, col - 1)];
        __syncthreads();
        if (active) {
            R first[N] = {}, second[N] = {};
            contract<R, N, N, LISTING, 0, false>(mass(0), X, row, col, first);
            contract<R, N, N, LISTING, 0, false>(stiffness(0), X, row, col, second);
            store<R, N, N, LISTING, 0>(first, T1, row, col);
            store<R, N, N, LISTING, 0>(second, T2, row, col);
        }
        __syncthreads();
        R mm[N] = {}, sum[N] = {};
        if (active) {
            contract<R, N, N, LISTING, 1, false>(mass(1), T1, row, col, mm);
            contract<R, N, N, LISTING, 1, false>(stiffness(1), T1, row, col, sum);
            contract<R, N, N, LISTING, 1, false>(mass(1), T2, row, col, sum);
        }
        __syncthreads();
        if (active) {
            for (int z = 0; z < N; z++) {
                sum[z] = p.k * sum[z] + p.lambda * mm[z];
                mm[z] *= p.k;
            }
            store<R, N, N, LISTING, 1>(mm, X, row, col);
            store<R, N, N, LISTING, 1>(sum, T1, row, col);
        }
        __syncthreads();
        if (active) {
            R r[N] = {};
            contract<R, N, N, LISTING, 2, false>(stiffness(2), X, row, col, r);
            contract<R, N, N, LISTING, 2, false>(mass(2), T1, row, col, r);
#pragma unroll
            for (int z = 0; z < N; z++) {
                const int place = target<N, LISTING, 2>(row, col, z), c = place / (N * N) - 1,
                          b = place / N % N - 1, a = place % N - 1;
                if (a < 0 || a >= M || b < 0 || b >= M || c < 0 || c >= M) continue;
                const R value = p.b[node(c, b, a)] - r[z];
                if (STAGE == RESIDUAL)
                    p.residual[node(c, b, a)] = value;
                else
                    T2[INSIDE + at<LD>(c, b, a)] = value;
            }
        }
        if (STAGE == RESIDUAL) return;
        __syncthreads();
    }

    // The solver: modes, division, nodes.
    const int row = BASIC ? t / N - 1 : t / M, col = BASIC ? t % N - 1 : t % M;
    const bool works = active && row >= 0 && row < M && col >= 0 && col < M;
    R *begin = STAGE == SOLVER ? X : T2, *other = T1;
    if constexpr (STAGE == SOLVER) {
        for (int z = 0; works && z < M; z++) begin[INSIDE + at<LD>(z, row, col)] = p.b[node(z, row, col)];
        __syncthreads();
    }
    R *const in = begin + INSIDE, *const out = other + INSIDE;
    R value[M];
    auto clear = [&]() {
#pragma unroll
        for (int z = 0; z < M; z++) value[z] = 0;
    };
    clear();
    if (works) {
        contract<R, M, LD, LISTING, 0, true>(modes(0), in, row, col, value);
        store<R, M, LD, LISTING, 0>(value, out, row, col);
    }
    __syncthreads();
    clear();
    if (works) {
        contract<R, M, LD, LISTING, 1, true>(modes(1), out, row, col, value);
        store<R, M, LD, LISTING, 1>(value, in, row, col);
    }
    __syncthreads();
    clear();
    if (works) {
        contract<R, M, LD, LISTING, 2, true>(modes(2), in, row, col, value);
#pragma unroll
        for (int z = 0; z < M; z++) {
            const int place = target<M, LISTING, 2>(row, col, z);
            value[z] /= p.lambda + p.k * (eigenvalue(0, place % M) + eigenvalue(1, place / M % M) +
                                          eigenvalue(2, place / M / M));
        }
        store<R, M, LD, LISTING, 2>(value, out, row, col);
    }
    __syncthreads();
    clear();
    if (works) {
        contract<R, M, LD, LISTING, 0, false>(modes(0), out, row, col, value);
        store<R, M, LD, LISTING, 0>(value, in, row, col);
    }
    __syncthreads();
    clear();
    if (works) {
        contract<R, M, LD, LISTING, 1, false>(modes(1), in, row, col, value);
        store<R, M, LD, LISTING, 1>(value, out, row, col);
    }
    __syncthreads();
    clear();
    if (works) {
        contract<R, M, LD, LISTING, 2, false>(modes(2), out, row, col, value);
#pragma unroll
        for (int z = 0; z < M; z++) {
            const int place = target<M, LISTING, 2>(row, col, z);
            p.x[node(place / M / M, place / M % M, place % M)] += value[z];
        }
    }
}

template <typename R, int K, ladder_stage STAGE, int KERNEL> void launch(const ladder_launch<R> &l) {
    using shared = ladder_shared<R, K, STAGE>;
    constexpr int NP = ladder_patches<K>, N = shared::N;
    const size_t bytes =
        sizeof(R) * (size_t)(l.n_sets * shared::MATRICES + NP * shared::ARRAYS * shared::NUMBERS);
    const int64_t total = (int64_t)l.count[0] * l.count[1] * l.count[2];
    auto kernel = ladder_kernel<R, K, STAGE, KERNEL>;
    if (!allow_shared(kernel, bytes) || !may_launch()) return;
    kernel<<<(unsigned)((total + NP - 1) / NP), (NP * N * N + 31) / 32 * 32, bytes>>>(l);
    launched("patch_sweep");
}

template <typename R, int K, int KERNEL> void launch_stages(ladder_launch<R> l, bool separate) {
    if (!separate) {
        launch<R, K, FUSED, KERNEL>(l);
        return;
    }
    launch<R, K, RESIDUAL, KERNEL>(l);
    l.b = l.residual;
    launch<R, K, SOLVER, KERNEL>(l);
}

template <typename R, int K> bool run(const patch_call<R> &call, enum patch_kernel kernel) {
    const struct brick_patches *p = call.plan;
    ladder_launch<R> l;
    l.n_sets = 0;
    for (int d = 0; d < 3; d++) {
        l.table[d] = table_of<R>(call.line(d));
        l.set[d] = l.n_sets;
        for (int e = 0; e < d; e++)
            if (memcmp(call.line(e)->host, call.line(d)->host,
                       sizeof(double) * (size_t)::brick_layout(2 * K - 1, K).count) == 0)
                l.set[d] = l.set[e];
        if (l.set[d] == l.n_sets) l.n_sets++;
        l.first[d] = call.g[d]->first[0];
        l.count[d] = (int)call.g[d]->first.size();
    }
    l.k = (R)p->cells->k;
    l.lambda = (R)p->cells->lambda;
    l.b = call.b;
    l.x = call.x;
    l.residual = call.residual;
    l.stride[0] = p->axis[0].n_nodes;
    l.stride[1] = (int64_t)p->axis[0].n_nodes * p->axis[1].n_nodes;
    const bool separate = p->variant == PATCH_SEPARATE;
    if (kernel == PATCH_KERNEL_BASIC)
        launch_stages<R, K, PATCH_KERNEL_BASIC>(l, separate);
    else if (kernel == PATCH_KERNEL_LINEAR)
        launch_stages<R, K, PATCH_KERNEL_LINEAR>(l, separate);
    else
        launch_stages<R, K, PATCH_KERNEL_CONFLICT_FREE>(l, separate);
    return true;
}

} // namespace

template <typename R> bool run_ladder(const patch_call<R> &call, enum patch_kernel kernel) {
    if (call.wraps()) return false;
    switch ((call.g[0]->m + 1) / 2) {
    case 1:
        return run<R, 1>(call, kernel);
    case 2:
        return run<R, 2>(call, kernel);
    case 3:
        return run<R, 3>(call, kernel);
    case 4:
        return run<R, 4>(call, kernel);
    case 5:
        return run<R, 5>(call, kernel);
    case 6:
        return run<R, 6>(call, kernel);
    case 7:
        return run<R, 7>(call, kernel);
    case 8:
        return run<R, 8>(call, kernel);
    default:
        return false;
    }
}
template bool run_ladder<double>(const patch_call<double> &, enum patch_kernel);
template bool run_ladder<float>(const patch_call<float> &, enum patch_kernel);

} // namespace facet
