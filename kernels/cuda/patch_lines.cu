// Launches of the kernels that keep lines of nodes in registers: patch.cuh in three dimensions,
// patch_flat.cuh in two.
#include "kernels/cuda/patch_flat.cuh"
#include "kernels/cuda/patch_plan.cuh"

namespace facet {

namespace {

// Blocks that share a multiprocessor: found by measurement on an H200.
template <typename R, int M> constexpr int blocks_of() {
    constexpr int k = (M + 1) / 2;
    constexpr int f64[9] = {0, 8, 3, 4, 5, 4, 5, 3, 2}, f32[9] = {0, 8, 5, 8, 8, 6, 4, 6, 3};
    return sizeof(R) == 8 ? f64[k] : f32[k];
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

template <typename R, int M> patch_launch<R, M> describe(const patch_call<R> &call, int dim) {
    const struct brick_patches *p = call.plan;
    patch_launch<R, M> l = {};
    for (int d = 0; d < 3; d++) {
        if (d < dim) copy_table<R, M>(call.line(d), &l.line[d]);
        l.first[d] = call.g[d]->first[0];
        l.count[d] = (int)call.g[d]->first.size();
        l.n_nodes[d] = p->axis[d].n_nodes;
    }
    l.k = (R)p->cells->k;
    l.lambda = (R)p->cells->lambda;
    l.inverse = (const R *)call.tables;
    l.b = call.b;
    l.x = call.x;
    l.stride[0] = l.n_nodes[0];
    l.stride[1] = (int64_t)l.n_nodes[0] * l.n_nodes[1];
    l.wraps = call.wraps();
    l.step = step_of(call);
    return l;
}

template <typename R, int M> void run(const patch_call<R> &call, int dim) {
    const patch_launch<R, M> l = describe<R, M>(call, dim);
    if (dim == 2) {
        constexpr int NP = flat_patches<M>, NT = flat_threads<M>;
        auto kernel = call.correction ? flat_kernel<R, M, false> : flat_kernel<R, M, true>;
        kernel<<<(unsigned)((call.patches() + NP - 1) / NP), NT>>>(l);
        launched("patch_sweep");
        return;
    }
    const size_t bytes = sizeof(patch_shared<R, M>) * patches_of<M> + sizeof(line_shared<R, M>);
    auto kernel = call.correction ? patch_kernel<R, M, blocks_of<R, M>(), false>
                                  : patch_kernel<R, M, blocks_of<R, M>(), true>;
    if (!allow_shared(kernel, bytes, "patch_sweep")) return;
    static_assert(M * M * M <= TABLE_NUMBERS, "room for the inverse");
    if (!call.correction && call.must_make((const void *)&run<R, M>))
        invert<R, M><<<16, 256>>>(l, (R *)call.tables);
    kernel<<<(unsigned)((call.patches() + patches_of<M> - 1) / patches_of<M>), threads_of<M>, bytes>>>(l);
    launched("patch_sweep");
}

} // namespace

template <typename R> bool run_lines(const patch_call<R> &call) {
    const int dim = call.plan->axis[2].n_nodes > 1 ? 3 : 2;
    return with_constant<3, 5, 7, 9, 11, 13, 15>(call.g[0]->m,
                                                 [&](auto m) { run<R, decltype(m)::value>(call, dim); });
}
template bool run_lines<double>(const patch_call<double> &);
template bool run_lines<float>(const patch_call<float> &);

} // namespace facet
