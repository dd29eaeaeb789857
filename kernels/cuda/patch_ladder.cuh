// The ladder of cui2024, sections 3.1.3 and 4.1: patches in three dimensions with the residual of the closed
// patch, in one kernel (fused) or two (separate), each in three steps of refinement. patch_ladder.cu has the
// last step, which also takes patches of any columns (of cells of different widths, at Neumann ends, around a
// ring) and corrections from a residual; bench/papers/patch_ladder.cu the others, to be measured against.
//
// A thread owns a column of n nodes. Matrices and vectors lie in shared memory, M and A with rows of zeros
// for the shell. Whole patches share a block where they are small. A column of fewer than 2k - 1 free nodes
// is one of so many whose last rows and modes are zero.
//
// basic           threads lie as the nodes of the closed patch, those on the shell idle in the solver;
//                 contractions as in Listing 1
// linear          in the solver threads are numbered by the free nodes; the data lies as before
// conflict-free   and the free nodes are contiguous; contractions as in Listing 2, whose results go to
//                 consecutive addresses in every direction
#ifndef FACET_KERNELS_CUDA_PATCH_LADDER_CUH
#define FACET_KERNELS_CUDA_PATCH_LADDER_CUH

#include <string.h>

#include "kernels/cuda/patch_plan.cuh"

namespace facet {

namespace {

enum ladder_stage { FUSED, RESIDUAL, SOLVER };

constexpr int LIST = 400;
template <typename R> struct ladder_columns {
    int count, m, cells;
    int first[LIST], cell[LIST];
    const R *table[LIST];
};
template <typename R> struct ladder_launch {
    ladder_columns<R> list[3];
    int set[3], n_sets; // where matrices lie in shared memory: equal ones once, if all columns are equal
    bool equal;
    R k, lambda;
    const R *b;
    R *x, *residual;
    int n_nodes[3], periodic[3], n_cells[3];
    const double *widths[3];
    bool correction;
    patch_step<R> step;
};
static_assert(sizeof(ladder_launch<double>) < 32000, "arguments of a kernel");

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

// One contraction of the solver, after which the others of the block see what came out.
template <typename R, int M, int LD, int LISTING, int DIR, bool TRANSPOSED>
__device__ __forceinline__ void pass(bool works, const R *S, const R *from, R *to, int row, int col) {
    R value[M] = {};
    if (works) {
        contract<R, M, LD, LISTING, DIR, TRANSPOSED>(S, from, row, col, value);
        store<R, M, LD, LISTING, DIR>(value, to, row, col);
    }
    __syncthreads();
}

// M, A, S and eigenvalues of a line of m free nodes, filled up with zeros (but no eigenvalue 0).
template <typename R, int K> __device__ void load_matrices(const R *table, int m, R *to) {
    constexpr int N = 2 * K + 1, M = 2 * K - 1;
    const struct brick_layout from = ::brick_layout(m, 0);
    for (int i = threadIdx.x; i < N * N; i += blockDim.x) {
        const int row = i / N - 1, column = i % N;
        const bool inner = row >= 0 && row < m && column < m + 2;
        to[i] = inner ? table[from.mass + row * (m + 2) + column] : 0;
        to[N * N + i] = inner ? table[from.stiffness + row * (m + 2) + column] : 0;
    }
    for (int i = threadIdx.x; i < M * M; i += blockDim.x)
        to[2 * N * N + i] = i / M < m && i % M < m ? table[from.S + i / M * m + i % M] : 0;
    for (int i = threadIdx.x; i < M; i += blockDim.x)
        to[2 * N * N + M * M + i] = i < m ? table[from.eigenvalues + i] : 1;
}

// As step_weights, but for cells of any width.
template <typename R>
__device__ patch_weights ladder_weights(const ladder_launch<R> &p, const int column[3]) {
    patch_range range[2];
    for (int which = 0; which < 2; which++) {
        const double *values = which ? p.step.reaction : p.step.conductivity;
        const double constant = (double)(which ? p.lambda : p.k);
        double sum = 0, volume = 0, least = INFINITY, most = 0;
        for (int s = 0; values != nullptr && s < 8; s++) {
            int cell[3];
            double v = 1;
            for (int d = 0; d < 3; d++) {
                cell[d] = (p.list[d].cell[column[d]] + (s >> d & 1) + p.n_cells[d]) % p.n_cells[d];
                v = (s >> d & 1) < p.list[d].cells ? v * p.widths[d][cell[d]] : 0;
            }
            if (v == 0) continue;
            const double value = values[((int64_t)cell[2] * p.n_cells[1] + cell[1]) * p.n_cells[0] + cell[0]];
            sum += v * value;
            volume += v;
            least = fmin(least, value);
            most = fmax(most, value);
        }
        range[which] = {constant, constant, constant};
        if (values != nullptr) range[which] = {sum / volume, least, most};
    }
    return weights_from(p.step, range[0], range[1]);
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
    const int which = threadIdx.x / (N * N), t = threadIdx.x % (N * N);
    const int64_t total = (int64_t)p.list[0].count * p.list[1].count * p.list[2].count;
    auto column = [&](int patch, int d) {
        const int64_t number = (int64_t)blockIdx.x * NP + patch;
        return (int)(d == 0   ? number % p.list[0].count
                     : d == 1 ? number / p.list[0].count % p.list[1].count
                              : number / p.list[0].count / p.list[1].count);
    };
    auto set = [&](int patch, int d) {
        return matrices + (p.equal ? p.set[d] : 3 * patch + d) * shared::MATRICES;
    };
    for (int i = 0; i < (p.equal ? 1 : NP); i++)
        for (int d = 0; d < 3; d++)
            if ((!p.equal || d == 0 || p.set[d] > p.set[d - 1]) && (int64_t)blockIdx.x * NP + i < total)
                load_matrices<R, K>(p.list[d].table[column(i, d)], p.list[d].m, set(i, d));

    const bool active = which < NP && (int64_t)blockIdx.x * NP + which < total;
    const int patch = active ? which : 0, here[3] = {column(patch, 0), column(patch, 1), column(patch, 2)},
              first[3] = {p.list[0].first[here[0]], p.list[1].first[here[1]], p.list[2].first[here[2]]},
              m[3] = {p.list[0].m, p.list[1].m, p.list[2].m};
    auto mass = [&](int d) { return set(patch, d); };
    auto stiffness = [&](int d) { return mass(d) + N * N; };
    auto modes = [&](int d) { return mass(d) + 2 * N * N; };
    auto eigenvalue = [&](int d, int i) { return mass(d)[2 * N * N + M * M + i]; };
    R *X = matrices + p.n_sets * shared::MATRICES + patch * shared::ARRAYS * shared::NUMBERS,
      *T1 = X + shared::NUMBERS, *T2 = T1 + shared::NUMBERS;
    // The number of a node, or -1 where the patch has none.
    auto node = [&](int z, int y, int x, int shell) -> int64_t {
        const int offset[3] = {x, y, z};
        int64_t number = 0;
        for (int d = 2; d >= 0; d--) {
            int i = first[d] + offset[d];
            if (p.periodic[d]) i = wrapped(i, p.n_nodes[d]);
            if (i < 0 || i >= p.n_nodes[d] || offset[d] >= m[d] + shell) return -1;
            number = number * p.n_nodes[d] + i;
        }
        return number;
    };

    // The residual: (A M M + M A M + M M A + lambda M M M) x.
    if constexpr (STAGE != SOLVER) {
        const int row = t / N, col = t % N;
        for (int z = 0; active && z < N; z++) {
            const int64_t from = node(z - 1, row - 1, col - 1, 1);
            X[z * N * N + t] = from >= 0 ? p.x[from] : 0;
        }
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
                const int64_t to = node(c, b, a, 0);
                const R value = to >= 0 ? p.b[to] - r[z] : 0;
                if (STAGE == FUSED)
                    T2[INSIDE + at<LD>(c, b, a)] = value;
                else if (to >= 0)
                    p.residual[to] = value;
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
        for (int z = 0; works && z < M; z++) {
            const int64_t from = node(z, row, col, 0);
            R load = from >= 0 ? p.b[from] : 0;
            if (from >= 0 && p.step.scale != nullptr) load *= p.step.scale[from];
            begin[INSIDE + at<LD>(z, row, col)] = load;
        }
        __syncthreads();
    }
    R *const in = begin + INSIDE, *const out = other + INSIDE;
    patch_weights w = {(double)p.k, (double)p.lambda, 1, 0};
    if (STAGE == SOLVER && p.correction) w = ladder_weights(p, here);
    const R k = (R)w.k, lambda = (R)w.lambda;
    pass<R, M, LD, LISTING, 0, true>(works, modes(0), in, out, row, col);
    pass<R, M, LD, LISTING, 1, true>(works, modes(1), out, in, row, col);
    R value[M] = {};
    if (works) {
        contract<R, M, LD, LISTING, 2, true>(modes(2), in, row, col, value);
#pragma unroll
        for (int z = 0; z < M; z++) {
            const int place = target<M, LISTING, 2>(row, col, z);
            value[z] /= lambda + k * (eigenvalue(0, place % M) + eigenvalue(1, place / M % M) +
                                      eigenvalue(2, place / M / M));
        }
        store<R, M, LD, LISTING, 2>(value, out, row, col);
    }
    __syncthreads();
    pass<R, M, LD, LISTING, 0, false>(works, modes(0), out, in, row, col);
    pass<R, M, LD, LISTING, 1, false>(works, modes(1), in, out, row, col);
#pragma unroll
    for (int z = 0; z < M; z++) value[z] = 0;
    if (works) {
        contract<R, M, LD, LISTING, 2, false>(modes(2), out, row, col, value);
#pragma unroll
        for (int z = 0; z < M; z++) {
            const int place = target<M, LISTING, 2>(row, col, z);
            const int64_t to = node(place / M / M, place / M % M, place % M, 0);
            if (to < 0) continue;
            if (STAGE == SOLVER && p.correction)
                step_update<R>(p.step, w, to, (double)value[z], p.x);
            else
                p.x[to] += value[z];
        }
    }
}

template <typename R, int K, ladder_stage STAGE, int KERNEL> void launch(const ladder_launch<R> &l) {
    using shared = ladder_shared<R, K, STAGE>;
    constexpr int NP = ladder_patches<K>, N = shared::N;
    const size_t bytes =
        sizeof(R) * (size_t)(l.n_sets * shared::MATRICES + NP * shared::ARRAYS * shared::NUMBERS);
    const int64_t total = (int64_t)l.list[0].count * l.list[1].count * l.list[2].count;
    auto kernel = ladder_kernel<R, K, STAGE, KERNEL>;
    if (!allow_shared(kernel, bytes, "patch_sweep") || !may_launch()) return;
    kernel<<<(unsigned)((total + NP - 1) / NP), (NP * N * N + 31) / 32 * 32, bytes>>>(l);
    launched("patch_sweep");
}

template <typename R, int K, int KERNEL> void launch_stages(ladder_launch<R> &l, bool separate) {
    if (!separate && !l.correction) {
        launch<R, K, FUSED, KERNEL>(l);
        return;
    }
    const R *b = l.b;
    if (!l.correction) {
        launch<R, K, RESIDUAL, KERNEL>(l);
        l.b = l.residual;
    }
    launch<R, K, SOLVER, KERNEL>(l);
    l.b = b;
}

// Whether two lines are the same.
bool equal_lines(const struct brick_line *a, const struct brick_line *b) {
    return a->m == b->m && a->even == b->even &&
           memcmp(a->host, b->host, sizeof(double) * (size_t)::brick_layout(a->m, a->even).count) == 0;
}

template <typename R, int K> void describe(const patch_call<R> &call, ladder_launch<R> *l) {
    const struct brick_patches *p = call.plan;
    l->equal = true;
    l->n_sets = 0;
    for (int d = 0; d < 3; d++) {
        for (int line : call.g[d]->line) l->equal = l->equal && line == call.g[d]->line[0];
        l->set[d] = l->n_sets;
        for (int e = 0; e < d; e++)
            if (equal_lines(call.line(e), call.line(d))) l->set[d] = l->set[e];
        if (l->set[d] == l->n_sets) l->n_sets++;
        l->list[d].m = call.g[d]->m;
        l->list[d].cells = call.g[d]->cells;
        l->n_nodes[d] = p->axis[d].n_nodes;
        l->periodic[d] = p->axis[d].periodic;
        l->n_cells[d] = p->cells->cells[d];
        l->widths[d] = p->cells->widths[d];
    }
    if (!l->equal) l->n_sets = 3 * ladder_patches<K>;
    l->k = (R)p->cells->k;
    l->lambda = (R)p->cells->lambda;
    l->b = call.b;
    l->x = call.x;
    l->residual = call.residual;
    l->correction = call.correction;
    l->step = step_of(call);
}

template <typename R, int K, int KERNEL> void run(const patch_call<R> &call) {
    const bool separate = call.plan->variant == PATCH_SEPARATE;
    ladder_launch<R> l;
    describe<R, K>(call, &l);
    const size_t size[3] = {call.g[0]->first.size(), call.g[1]->first.size(), call.g[2]->first.size()};
    size_t begin[3];
    for (begin[2] = 0; begin[2] < size[2]; begin[2] += LIST)
        for (begin[1] = 0; begin[1] < size[1]; begin[1] += LIST)
            for (begin[0] = 0; begin[0] < size[0]; begin[0] += LIST) {
                for (int d = 0; d < 3; d++) {
                    const size_t rest = size[d] - begin[d];
                    l.list[d].count = (int)(rest < LIST ? rest : LIST);
                    for (int i = 0; i < l.list[d].count; i++) {
                        l.list[d].first[i] = call.g[d]->first[begin[d] + i];
                        l.list[d].cell[i] = call.g[d]->cell[begin[d] + i];
                        l.list[d].table[i] = table_of<R>(&call.plan->lines[call.g[d]->line[begin[d] + i]]);
                    }
                }
                launch_stages<R, K, KERNEL>(l, separate);
            }
}

// One step of the ladder; false: the patches are too large.
template <typename R, int KERNEL> bool take_step(const patch_call<R> &call) {
    int most = 1;
    for (int d = 0; d < 3; d++) most = call.g[d]->m > most ? call.g[d]->m : most;
    constexpr void (*by_degree[])(const patch_call<R> &) = {
        run<R, 1, KERNEL>, run<R, 2, KERNEL>, run<R, 3, KERNEL>, run<R, 4, KERNEL>,
        run<R, 5, KERNEL>, run<R, 6, KERNEL>, run<R, 7, KERNEL>, run<R, 8, KERNEL>};
    if (most / 2 + 1 > 8) return false;
    by_degree[most / 2](call);
    return true;
}

} // namespace

} // namespace facet

#endif
