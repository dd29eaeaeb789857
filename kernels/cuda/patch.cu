// Smoothing steps over the patches of a brick: the colours one after the other, each in as few launches as
// its columns have kinds. Patches inside a uniform brick go to patch.cuh; those with other columns (at
// Neumann ends, of cells of different widths, in two dimensions) to a general kernel.
#include <type_traits>
#include <vector>

#include "kernels/cuda/internal.cuh"
#include "kernels/cuda/patch.cuh"

namespace facet {

namespace {

constexpr int MAX_DEGREE = 8, MAX_FREE = 2 * MAX_DEGREE - 1;

// ------------------------------------------------------------------------------ what a launch takes, by
// degree

// Blocks that share a multiprocessor: found by measurement on an H200.
template <typename R, int M> constexpr int blocks_of() {
    constexpr int k = (M + 1) / 2;
    constexpr int f64[9] = {0, 8, 6, 5, 5, 4, 5, 3, 2}, f32[9] = {0, 8, 8, 8, 8, 8, 8, 6, 2};
    return sizeof(R) == 8 ? f64[k] : f32[k];
}

template <typename R> const R *table_of(const struct brick_line *line) {
    if constexpr (std::is_same_v<R, double>)
        return line->table;
    else
        return line->single;
}

template <typename R> const R *scale_of(const struct brick_patches *p) {
    if (p->cells->conductivity == nullptr && p->cells->reaction == nullptr) return nullptr;
    if constexpr (std::is_same_v<R, double>)
        return p->scale;
    else
        return p->scale_single;
}

template <typename R, int M> void copy_table(const struct brick_line *line, patch_table<R, M> *t) {
    const struct brick_layout at = ::brick_layout(M, even_of<M>);
    constexpr int blocks =
        patch_table<R, M>::E * patch_table<R, M>::E + patch_table<R, M>::O * patch_table<R, M>::O;
    for (int i = 0; i < blocks; i++) {
        t->S[i] = (R)line->host[at.B + i];
        t->T[i] = (R)line->host[at.T + i];
    }
    for (int i = 0; i < M; i++) {
        t->eigenvalues[i] = (R)line->host[at.eigenvalues + i];
        t->mu[i] = (R)line->host[at.mu + M + i];
        t->alpha[i] = (R)line->host[at.alpha + M + i];
    }
}

template <typename R, int M> __global__ void invert(patch_launch<R, M> p, R *inverse) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < M * M * M; i += gridDim.x * blockDim.x)
        inverse[i] = 1 / (p.lambda + p.k * (p.line[0].eigenvalues[i % M] + p.line[1].eigenvalues[i / M % M] +
                                            p.line[2].eigenvalues[i / M / M]));
}

// Columns of one colour that one launch can take: of one line and at equal distances, inside the brick
// (regular), or of one size.
struct family {
    int regular, m, even, cells;
    std::vector<int> first, cell, line;
};

std::vector<family> find_families(const struct brick_patches *p, int d, int colour) {
    const struct brick_axis *ax = &p->axis[d];
    std::vector<family> regular, others;
    for (int i = 0; i < ax->n_columns; i++) {
        if (ax->colour[i] != colour) continue;
        const struct brick_line *line = &p->lines[ax->lines[i]];
        // The fast kernel has both shell nodes, and a symmetric line of two cells.
        const int inner = ax->cells[i] == 2 && line->even > 0 && line->m % 2 == 1;
        family *f = nullptr;
        if (inner && !regular.empty() && regular.back().line[0] == ax->lines[i] &&
            regular.back().first.back() + line->m + 1 == ax->first[i])
            f = &regular.back();
        for (family &o : others)
            if (!inner && o.m == line->m && o.even == line->even && o.cells == ax->cells[i]) f = &o;
        if (f == nullptr) {
            std::vector<family> &list = inner ? regular : others;
            list.push_back({inner, line->m, line->even, ax->cells[i], {}, {}, {}});
            f = &list.back();
        }
        f->first.push_back(ax->first[i]);
        f->cell.push_back(ax->cell[i]);
        f->line.push_back(ax->lines[i]);
    }
    regular.insert(regular.end(), others.begin(), others.end());
    return regular;
}

// ------------------------------------------------------------------------------ the fast kernel

template <typename R, int M>
bool run_fast(const struct brick_patches *p, const family *const g[3], const R *b, R *x, R *inverse,
              bool correction, const struct brick_line **cached) {
    patch_launch<R, M> l;
    int64_t total = 1;
    for (int d = 0; d < 3; d++) {
        copy_table<R, M>(&p->lines[g[d]->line[0]], &l.line[d]);
        l.first[d] = g[d]->first[0];
        l.count[d] = (int)g[d]->first.size();
        l.n_nodes[d] = p->axis[d].n_nodes;
        l.first_cell[d] = g[d]->cell[0];
        l.cells[d] = p->cells->cells[d];
        total *= l.count[d];
    }
    l.k = (R)p->cells->k;
    l.lambda = (R)p->cells->lambda;
    l.inverse = inverse;
    l.b = b;
    l.x = x;
    l.stride[0] = l.n_nodes[0];
    l.stride[1] = (int64_t)l.n_nodes[0] * l.n_nodes[1];
    l.wraps = 0;
    for (int d = 0; d < 3; d++)
        l.wraps |=
            p->axis[d].periodic && (l.first[d] < 1 || l.first[d] + l.count[d] * (M + 1) > l.n_nodes[d]);
    l.conductivity = p->cells->conductivity;
    l.reaction = p->cells->reaction;
    l.scale = scale_of<R>(p);
    l.damping = (R)p->damping;
    const size_t bytes = sizeof(patch_shared<R, M>) * patches_of<M>;
    auto kernel = correction ? patch_kernel<R, M, blocks_of<R, M>(), false>
                             : patch_kernel<R, M, blocks_of<R, M>(), true>;
    if (!good(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
              "patch_sweep"))
        return true;
    if (!correction && (cached[0] != &p->lines[g[0]->line[0]] || cached[1] != &p->lines[g[1]->line[0]] ||
                        cached[2] != &p->lines[g[2]->line[0]])) {
        invert<R, M><<<16, 256>>>(l, inverse);
        for (int d = 0; d < 3; d++) cached[d] = &p->lines[g[d]->line[0]];
    }
    kernel<<<(unsigned)((total + patches_of<M> - 1) / patches_of<M>), threads_of<M>, bytes>>>(l);
    launched("patch_sweep");
    return true;
}

// ------------------------------------------------------------------------------ any patch

// All patches of a product of three lists of columns, a block for each. The residual of the closed patch is
// computed here, or, for a correction, given.
constexpr int LIST = 400;
template <typename R> struct column_list {
    int count, m, cells;
    struct brick_layout at;
    int first[LIST], cell[LIST];
    const R *table[LIST];
};
template <typename R> struct general_launch {
    column_list<R> list[3];
    R k, lambda;
    const R *b;
    R *x;
    int n_nodes[3], periodic[3], n_cells[3];
    const double *widths[3], *conductivity, *reaction;
    int correction;
    const R *scale; // as in patch_launch
    R damping;
};
static_assert(sizeof(general_launch<double>) < 32000, "arguments of a kernel");

// out(..i..) (+)= sum_j C(i, j) in(..j..) along direction d; n: sizes of `in`.
template <typename R>
__device__ void contract(const int n[3], int d, int n_out, const R *C, bool transposed, const R *in, R *out,
                         bool add) {
    const int stride = d == 0 ? 1 : d == 1 ? n[0] : n[0] * n[1], size = n[0] * n[1] * n[2] / n[d] * n_out;
    for (int t = threadIdx.x; t < size; t += blockDim.x) {
        const int s = t % stride, i = t / stride % n_out, o = t / stride / n_out;
        R sum = 0;
        for (int j = 0; j < n[d]; j++)
            sum += (transposed ? C[j * n_out + i] : C[i * n[d] + j]) * in[(o * n[d] + j) * stride + s];
        out[t] = add ? out[t] + sum : sum;
    }
    __syncthreads();
}

template <typename R>
__device__ double general_mean(const general_launch<R> &p, const double *values, double constant,
                               const int column[3]) {
    if (values == nullptr) return constant;
    double sum = 0, volume = 0;
    for (int c = 0; c < p.list[2].cells; c++)
        for (int b = 0; b < p.list[1].cells; b++)
            for (int a = 0; a < p.list[0].cells; a++) {
                const int offset[3] = {a, b, c};
                int cell[3];
                double v = 1;
                for (int d = 0; d < 3; d++) {
                    cell[d] = (p.list[d].cell[column[d]] + offset[d] + p.n_cells[d]) % p.n_cells[d];
                    v *= p.widths[d][cell[d]];
                }
                sum += v * values[((int64_t)cell[2] * p.n_cells[1] + cell[1]) * p.n_cells[0] + cell[0]];
                volume += v;
            }
    return sum / volume;
}

template <typename R> __global__ void general_kernel(const __grid_constant__ general_launch<R> p) {
    extern __shared__ __align__(16) unsigned char memory[];
    const int column[3] = {(int)(blockIdx.x % p.list[0].count),
                           (int)(blockIdx.x / p.list[0].count % p.list[1].count),
                           (int)(blockIdx.x / p.list[0].count / p.list[1].count)};
    int m[3], with[3];
    const R *M[3], *A[3], *S[3], *e[3];
    for (int d = 0; d < 3; d++) {
        m[d] = p.list[d].m;
        with[d] = m[d] + 2;
        const struct brick_layout at = p.list[d].at;
        const R *table = p.list[d].table[column[d]];
        M[d] = table + at.mass;
        A[d] = table + at.stiffness;
        S[d] = table + at.S;
        e[d] = table + at.eigenvalues;
    }
    auto node = [&](int a, int b, int c) {
        const int offset[3] = {a, b, c};
        int64_t number = 0;
        for (int d = 2; d >= 0; d--) {
            int i = p.list[d].first[column[d]] + offset[d];
            if (p.periodic[d]) i = wrapped(i, p.n_nodes[d]);
            if (i < 0 || i >= p.n_nodes[d]) return (int64_t)-1;
            number = number * p.n_nodes[d] + i;
        }
        return number;
    };
    const int size = m[0] * m[1] * m[2], closed = with[0] * with[1] * with[2];
    R *r = reinterpret_cast<R *>(memory), *t = r + size, *X = t + size;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const int64_t at = node(i % m[0], i / m[0] % m[1], i / m[0] / m[1]);
        r[i] = p.scale != nullptr ? p.b[at] * p.scale[at] : p.b[at];
    }
    if (!p.correction) {
        R *zM = X + closed, *zA = zM + with[0] * with[1] * m[2], *y0 = zA + with[0] * with[1] * m[2];
        R *y1 = y0 + with[0] * m[1] * m[2];
        for (int i = threadIdx.x; i < closed; i += blockDim.x) {
            const int64_t at = node(i % with[0] - 1, i / with[0] % with[1] - 1, i / with[0] / with[1] - 1);
            X[i] = at >= 0 ? p.x[at] : 0;
        }
        __syncthreads();
        const int n2[3] = {with[0], with[1], with[2]}, n1[3] = {with[0], with[1], m[2]},
                  n0[3] = {with[0], m[1], m[2]};
        contract<R>(n2, 2, m[2], M[2], false, X, zM, false);
        contract<R>(n2, 2, m[2], A[2], false, X, zA, false);
        contract<R>(n1, 1, m[1], M[1], false, zM, y0, false);
        contract<R>(n1, 1, m[1], A[1], false, zM, y1, false);
        contract<R>(n1, 1, m[1], M[1], false, zA, y1, true);
        for (int i = threadIdx.x; i < with[0] * m[1] * m[2]; i += blockDim.x) {
            y1[i] = p.k * y1[i] + p.lambda * y0[i];
            y0[i] *= p.k;
        }
        __syncthreads();
        contract<R>(n0, 0, m[0], M[0], false, y1, t, false);
        contract<R>(n0, 0, m[0], A[0], false, y0, t, true);
        for (int i = threadIdx.x; i < size; i += blockDim.x) r[i] -= t[i];
    }
    __syncthreads();
    const int n[3] = {m[0], m[1], m[2]};
    contract<R>(n, 0, m[0], S[0], true, r, t, false);
    contract<R>(n, 1, m[1], S[1], true, t, r, false);
    contract<R>(n, 2, m[2], S[2], true, r, t, false);
    R k = (R)general_mean(p, p.conductivity, (double)p.k, column);
    R lambda = (R)general_mean(p, p.reaction, (double)p.lambda, column);
    if (p.scale != nullptr) {
        lambda /= k;
        k = 1;
    }
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        t[i] /= lambda + k * (e[0][i % m[0]] + e[1][i / m[0] % m[1]] + e[2][i / m[0] / m[1]]);
    __syncthreads();
    contract<R>(n, 0, m[0], S[0], false, t, r, false);
    contract<R>(n, 1, m[1], S[1], false, r, t, false);
    contract<R>(n, 2, m[2], S[2], false, t, r, false);
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const int64_t at = node(i % m[0], i / m[0] % m[1], i / m[0] / m[1]);
        p.x[at] += p.scale != nullptr ? p.damping * p.scale[at] * r[i] : r[i];
    }
}

// Numbers in the shared memory of a block of the general kernel.
constexpr int64_t MOST_SHARED = 227 * 1024;
int64_t general_numbers(const int64_t m[3], bool correction) {
    const int64_t w[3] = {m[0] + 2, m[1] + 2, m[2] + 2};
    int64_t n = 2 * m[0] * m[1] * m[2];
    if (!correction) n += w[0] * w[1] * w[2] + 2 * w[0] * w[1] * m[2] + 2 * w[0] * m[1] * m[2];
    return n;
}

template <typename R>
void run_general(const struct brick_patches *p, const family *const g[3], const R *b, R *x, bool correction) {
    general_launch<R> l;
    l.k = (R)p->cells->k;
    l.lambda = (R)p->cells->lambda;
    l.b = b;
    l.x = x;
    l.correction = correction;
    l.scale = correction ? scale_of<R>(p) : nullptr;
    l.damping = (R)p->damping;
    l.conductivity = p->cells->conductivity;
    l.reaction = p->cells->reaction;
    for (int d = 0; d < 3; d++) {
        l.n_nodes[d] = p->axis[d].n_nodes;
        l.periodic[d] = p->axis[d].periodic;
        l.n_cells[d] = p->cells->cells[d];
        l.widths[d] = p->cells->widths[d];
    }
    int begin[3], count[3];
    for (int d = 0; d < 3; d++) {
        count[d] = (int)g[d]->first.size();
        l.list[d].m = g[d]->m;
        l.list[d].cells = g[d]->cells;
        l.list[d].at = ::brick_layout(g[d]->m, g[d]->even);
    }
    for (begin[2] = 0; begin[2] < count[2]; begin[2] += LIST)
        for (begin[1] = 0; begin[1] < count[1]; begin[1] += LIST)
            for (begin[0] = 0; begin[0] < count[0]; begin[0] += LIST) {
                int64_t total = 1;
                for (int d = 0; d < 3; d++) {
                    column_list<R> *list = &l.list[d];
                    const int rest = count[d] - begin[d];
                    list->count = rest < LIST ? rest : LIST;
                    for (int i = 0; i < list->count; i++) {
                        list->first[i] = g[d]->first[begin[d] + i];
                        list->cell[i] = g[d]->cell[begin[d] + i];
                        list->table[i] = table_of<R>(&p->lines[g[d]->line[begin[d] + i]]);
                    }
                    total *= list->count;
                }
                const int64_t m[3] = {g[0]->m, g[1]->m, g[2]->m};
                const size_t bytes = (size_t)general_numbers(m, correction) * sizeof(R);
                good(cudaFuncSetAttribute(general_kernel<R>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)bytes),
                     "patch_sweep");
                if (!may_launch()) return;
                general_kernel<R><<<(unsigned)total, 128, bytes>>>(l);
                launched("patch_sweep");
            }
}

// ------------------------------------------------------------------------------ a sweep

template <typename R>
bool run_fast_any(int m, const struct brick_patches *p, const family *const g[3], const R *b, R *x,
                  R *inverse, bool correction, const struct brick_line **cached) {
    switch (m) {
    case 3:
        return run_fast<R, 3>(p, g, b, x, inverse, correction, cached);
    case 5:
        return run_fast<R, 5>(p, g, b, x, inverse, correction, cached);
    case 7:
        return run_fast<R, 7>(p, g, b, x, inverse, correction, cached);
    case 9:
        return run_fast<R, 9>(p, g, b, x, inverse, correction, cached);
    case 11:
        return run_fast<R, 11>(p, g, b, x, inverse, correction, cached);
    case 13:
        return run_fast<R, 13>(p, g, b, x, inverse, correction, cached);
    case 15:
        return run_fast<R, 15>(p, g, b, x, inverse, correction, cached);
    default:
        return false;
    }
}

// One node a patch: Gauss-Seidel on the 27 neighbours.
template <typename R> struct point_launch {
    R M[3][3], A[3][3], k, lambda;
    int first[3], count[3];
    int64_t stride[2];
    const R *b;
    R *x;
};
template <typename R> __global__ void point_kernel(const __grid_constant__ point_launch<R> p) {
    const int ix = blockIdx.x * blockDim.x + threadIdx.x, iy = blockIdx.y, iz = blockIdx.z;
    if (ix >= p.count[0]) return;
    const int64_t node =
        p.first[0] + 2 * ix + (p.first[1] + 2 * iy) * p.stride[0] + (p.first[2] + 2 * iz) * p.stride[1];
    R sum = p.b[node], diagonal = 1;
#pragma unroll
    for (int c = 0; c < 3; c++)
#pragma unroll
        for (int b = 0; b < 3; b++)
#pragma unroll
            for (int a = 0; a < 3; a++) {
                const R mm = p.M[1][b] * p.M[2][c];
                const R w =
                    p.M[0][a] * (p.lambda * mm + p.k * (p.A[1][b] * p.M[2][c] + p.M[1][b] * p.A[2][c])) +
                    p.k * p.A[0][a] * mm;
                if (a == 1 && b == 1 && c == 1)
                    diagonal = w;
                else
                    sum -= w * p.x[node + (a - 1) + (b - 1) * p.stride[0] + (c - 1) * p.stride[1]];
            }
    p.x[node] = sum / diagonal;
}
template <typename R>
void run_points(const struct brick_patches *p, const family *const g[3], const R *b, R *x) {
    point_launch<R> l;
    for (int d = 0; d < 3; d++) {
        const struct brick_line *line = &p->lines[g[d]->line[0]];
        const struct brick_layout at = ::brick_layout(1, line->even);
        for (int i = 0; i < 3; i++) {
            l.M[d][i] = (R)line->host[at.mass + i];
            l.A[d][i] = (R)line->host[at.stiffness + i];
        }
        l.first[d] = g[d]->first[0];
        l.count[d] = (int)g[d]->first.size();
    }
    l.k = (R)p->cells->k;
    l.lambda = (R)p->cells->lambda;
    l.stride[0] = p->axis[0].n_nodes;
    l.stride[1] = (int64_t)p->axis[0].n_nodes * p->axis[1].n_nodes;
    l.b = b;
    l.x = x;
    const int threads = l.count[0] < 128 ? 64 : 128;
    point_kernel<R>
        <<<dim3((unsigned)((l.count[0] + threads - 1) / threads), (unsigned)l.count[1], (unsigned)l.count[2]),
           threads>>>(l);
    launched("patch_sweep");
}

template <typename R>
void apply(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y, R *scratch) {
    if constexpr (std::is_same_v<R, double>)
        brick_apply_cuda(c, a, x, b, f, y, scratch);
    else
        brick_apply_single_cuda(c, a, x, b, f, y, scratch);
}

// Whether every colour begins with the residual of the whole brick: so do patches that are not solved
// exactly.
bool is_global(const struct brick_patches *p) {
    return p->cells->conductivity != nullptr || p->cells->reaction != nullptr || p->variant == PATCH_GLOBAL ||
           p->variant == PATCH_SEPARATE;
}

template <typename R> void sweep(const struct brick_patches *p, int backward, const R *b, R *x, R *scratch) {
    int colours[3] = {p->axis[0].n_colours, p->axis[1].n_colours, p->axis[2].n_colours};
    const int total = colours[0] * colours[1] * colours[2];
    const bool global = is_global(p);
    R *inverse = scratch, *residual = scratch + MAX_FREE * MAX_FREE * MAX_FREE;
    const struct brick_line *cached[3] = {nullptr, nullptr, nullptr};
    for (int step = 0; step < total && may_launch(); step++) {
        const int colour = backward ? total - 1 - step : step;
        const int want[3] = {colour % colours[0], colour / colours[0] % colours[1],
                             colour / colours[0] / colours[1]};
        const std::vector<family> families[3] = {find_families(p, 0, want[0]), find_families(p, 1, want[1]),
                                                 find_families(p, 2, want[2])};
        if (global) apply<R>(p->cells, -1.0, x, 1.0, b, residual, nullptr);
        const R *from = global ? residual : b;
        for (const family &f2 : families[2])
            for (const family &f1 : families[1])
                for (const family &f0 : families[0]) {
                    const family *const g[3] = {&f0, &f1, &f2};
                    const int m = f0.m;
                    bool done = false;
                    const bool same = p->variant != PATCH_FUSED && m == f1.m && m == f2.m && f0.regular &&
                                      f1.regular && f2.regular;
                    const bool ring = p->axis[0].periodic || p->axis[1].periodic || p->axis[2].periodic;
                    if (same && m == 1 && !global && !ring && f1.first.size() < 65536 &&
                        f2.first.size() < 65536) {
                        run_points<R>(p, g, b, x);
                        done = true;
                    } else if (same) {
                        done = run_fast_any<R>(m, p, g, from, x, inverse, global, cached);
                    }
                    if (!done) run_general<R>(p, g, from, x, global);
                }
    }
}

} // namespace
} // namespace facet

int64_t patch_scratch_cuda(const struct brick_patches *p) {
    const bool varies = p->cells->conductivity != nullptr || p->cells->reaction != nullptr;
    if (p->variant == PATCH_ADDITIVE || (varies && p->inner > 0)) return -1;
    int64_t m[3] = {1, 1, 1};
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < p->axis[d].n_columns; i++)
            if (p->lines[p->axis[d].lines[i]].m > m[d]) m[d] = p->lines[p->axis[d].lines[i]].m;
    if (facet::general_numbers(m, false) * (int64_t)sizeof(double) > facet::MOST_SHARED) return -1;
    return facet::MAX_FREE * facet::MAX_FREE * facet::MAX_FREE +
           (facet::is_global(p) ? brick_n_nodes(p->cells) : 0);
}

void patch_sweep_cuda(const struct brick_patches *p, int backward, const double *b, double *x,
                      double *scratch) {
    facet::sweep<double>(p, backward, b, x, scratch);
}
void patch_sweep_single_cuda(const struct brick_patches *p, int backward, const float *b, float *x,
                             float *scratch) {
    facet::sweep<float>(p, backward, b, x, scratch);
}
