// Patches that no other kernel takes: at Neumann ends, of cells of different widths, of any degree and
// dimension. The residual is that of the closed patch.
#include "kernels/cuda/patch_plan.cuh"

namespace facet {

namespace {

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
    const double *widths[3];
    int correction;
    patch_step<R> step;
    int64_t total, numbers; // patches, and numbers that one takes
    R *slices;              // where they do not fit into shared memory: a slice for every block
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

// Mean, by volume, and extremes of a coefficient over the cells of a patch.
template <typename R>
__device__ patch_range general_range(const general_launch<R> &p, const double *values, double constant,
                                     const int column[3]) {
    if (values == nullptr) return {constant, constant, constant};
    double sum = 0, volume = 0, least = INFINITY, most = 0;
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
                const double value =
                    values[((int64_t)cell[2] * p.n_cells[1] + cell[1]) * p.n_cells[0] + cell[0]];
                sum += v * value;
                volume += v;
                least = fmin(least, value);
                most = fmax(most, value);
            }
    return {sum / volume, least, most};
}

template <typename R> __device__ void solve_general(const general_launch<R> &p, int64_t patch, R *memory) {
    const int column[3] = {(int)(patch % p.list[0].count), (int)(patch / p.list[0].count % p.list[1].count),
                           (int)(patch / p.list[0].count / p.list[1].count)};
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
    R *r = memory, *t = r + size, *X = t + size;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const int64_t at = node(i % m[0], i / m[0] % m[1], i / m[0] / m[1]);
        r[i] = p.step.scale != nullptr ? p.b[at] * p.step.scale[at] : p.b[at];
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
    const patch_weights w = weights_from(p.step, general_range(p, p.step.conductivity, (double)p.k, column),
                                         general_range(p, p.step.reaction, (double)p.lambda, column));
    const R k = (R)w.k, lambda = (R)w.lambda;
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        t[i] /= lambda + k * (e[0][i % m[0]] + e[1][i / m[0] % m[1]] + e[2][i / m[0] / m[1]]);
    __syncthreads();
    contract<R>(n, 0, m[0], S[0], false, t, r, false);
    contract<R>(n, 1, m[1], S[1], false, r, t, false);
    contract<R>(n, 2, m[2], S[2], false, t, r, false);
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const int64_t at = node(i % m[0], i / m[0] % m[1], i / m[0] / m[1]);
        step_update<R>(p.step, w, at, (double)r[i], p.x);
    }
}

template <typename R> __global__ void general_kernel(const __grid_constant__ general_launch<R> p) {
    extern __shared__ __align__(16) unsigned char shared[];
    R *memory = p.slices != nullptr ? p.slices + blockIdx.x * p.numbers : reinterpret_cast<R *>(shared);
    for (int64_t patch = blockIdx.x; patch < p.total; patch += gridDim.x) {
        solve_general(p, patch, memory);
        __syncthreads();
    }
}

} // namespace

int64_t general_numbers(const int64_t m[3], bool correction) {
    const int64_t w[3] = {m[0] + 2, m[1] + 2, m[2] + 2};
    int64_t n = 2 * m[0] * m[1] * m[2];
    if (!correction) n += w[0] * w[1] * w[2] + 2 * w[0] * w[1] * m[2] + 2 * w[0] * m[1] * m[2];
    return n;
}

template <typename R> void run_general(const patch_call<R> &call) {
    const struct brick_patches *p = call.plan;
    const family *const *g = call.g;
    const bool correction = call.correction;
    general_launch<R> l;
    l.k = (R)p->cells->k;
    l.lambda = (R)p->cells->lambda;
    l.b = call.b;
    l.x = call.x;
    l.correction = correction;
    l.step = step_of(call);
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
                l.total = 1;
                for (int d = 0; d < 3; d++) {
                    column_list<R> *list = &l.list[d];
                    const int rest = count[d] - begin[d];
                    list->count = rest < LIST ? rest : LIST;
                    for (int i = 0; i < list->count; i++) {
                        list->first[i] = g[d]->first[begin[d] + i];
                        list->cell[i] = g[d]->cell[begin[d] + i];
                        list->table[i] = table_of<R>(&p->lines[g[d]->line[begin[d] + i]]);
                    }
                    l.total *= list->count;
                }
                const int64_t m[3] = {g[0]->m, g[1]->m, g[2]->m};
                l.numbers = general_numbers(m, correction);
                size_t bytes = (size_t)l.numbers * sizeof(R);
                l.slices = bytes <= (size_t)MOST_SHARED ? nullptr : call.slices;
                if (l.slices != nullptr) bytes = 0;
                const int64_t blocks =
                    l.slices != nullptr && l.total > GENERAL_SLICES ? GENERAL_SLICES : l.total;
                if (!allow_shared(general_kernel<R>, bytes, "patch_sweep") || !may_launch()) return;
                general_kernel<R><<<(unsigned)blocks, l.slices != nullptr ? 512 : 128, bytes>>>(l);
                launched("patch_sweep");
            }
}
template void run_general<double>(const patch_call<double> &);
template void run_general<float>(const patch_call<float> &);

} // namespace facet
