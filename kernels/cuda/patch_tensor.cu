// Launches of the kernels on tensor cores: patch_tensor.cuh in three dimensions, patch_plane.cuh in two.
#include "kernels/cuda/patch_plan.cuh"
#include "kernels/cuda/patch_plane.cuh"
#include "kernels/cuda/patch_tensor.cuh"

namespace facet {

namespace {

static_assert(sizeof(tensor_tables) <= TABLE_NUMBERS * sizeof(float), "room for the tables");

// Blocks that share a multiprocessor, by degree: found by measurement on an H200.
constexpr int BLOCKS_OF[9] = {0, 0, 0, 0, 0, 5, 4, 3, 2};

template <typename R> tensor_launch<R> describe(const patch_call<R> &call) {
    const struct brick_patches *p = call.plan;
    tensor_launch<R> l;
    l.tables = (const tensor_tables *)call.tables;
    l.k = p->cells->k;
    l.lambda = p->cells->lambda;
    l.lambda_over_k = l.lambda / l.k;
    l.b = call.b;
    l.x = call.x;
    l.stride[0] = p->axis[0].n_nodes;
    l.stride[1] = p->axis[0].n_nodes * p->axis[1].n_nodes;
    for (int d = 0; d < 3; d++) {
        l.first[d] = call.g[d]->first[0];
        l.count[d] = (int)call.g[d]->first.size();
    }
    l.step = step_of(call);
    return l;
}

template <int K, typename R> void make_tables(const patch_call<R> &call, int third, const void *who) {
    if (!call.must_make(who)) return;
    const int which[3] = {0, 1, third};
    tensor_line lines[3];
    for (int d = 0; d < 3; d++)
        lines[d] = {call.line(which[d])->table, call.line(which[d])->m, call.line(which[d])->even};
    fill_tables<K><<<1, 512>>>(lines[0], lines[1], lines[2], call.plan->cells->k, call.plan->cells->lambda,
                               (tensor_tables *)call.tables);
    launched("patch_sweep");
}

template <typename R, int K> void run(const patch_call<R> &call) {
    const tensor_launch<R> l = describe(call);
    constexpr int BLOCKS = BLOCKS_OF[K];
    auto kernel = call.correction ? tensor_kernel<R, K, BLOCKS, false> : tensor_kernel<R, K, BLOCKS, true>;
    if (!allow_shared(kernel, sizeof(tensor_shared<K>), "patch_sweep")) return;
    make_tables<K>(call, 2, (const void *)&run<R, K>);
    kernel<<<(unsigned)call.patches(), tensor_shape<K>::THREADS, sizeof(tensor_shared<K>)>>>(l);
    launched("patch_sweep");
}

template <typename R, int K> void run_plane(const patch_call<R> &call) {
    const tensor_launch<R> l = describe(call);
    make_tables<K>(call, 0, (const void *)&run_plane<R, K>);
    const unsigned blocks = (unsigned)((call.patches() + PLANE_WARPS - 1) / PLANE_WARPS);
    if (call.correction)
        plane_kernel<R, K, false><<<blocks, 32 * PLANE_WARPS>>>(l);
    else
        plane_kernel<R, K, true><<<blocks, 32 * PLANE_WARPS>>>(l);
    launched("patch_sweep");
}

} // namespace

// Whether the offsets inside a patch are ints, and the GPU has such tensor cores.
template <typename R> static bool suits(const patch_call<R> &call) {
    int device = 0, major = 0;
    good(cudaGetDevice(&device), "patch_sweep");
    good(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "patch_sweep");
    const int64_t plane = (int64_t)call.plan->axis[0].n_nodes * call.plan->axis[1].n_nodes;
    return !call.wraps() && plane * 17 < INT32_MAX && major >= 8;
}

template <typename R> bool run_tensor(const patch_call<R> &call) {
    return suits(call) && with_constant<9, 11, 13, 15>(
                              call.g[0]->m, [&](auto m) { run<R, (decltype(m)::value + 1) / 2>(call); });
}
template bool run_tensor<double>(const patch_call<double> &);
template bool run_tensor<float>(const patch_call<float> &);

template <typename R> bool run_tensor_plane(const patch_call<R> &call) {
    return suits(call) && with_constant<3, 5, 7, 9, 11, 13, 15>(call.g[0]->m, [&](auto m) {
               run_plane<R, (decltype(m)::value + 1) / 2>(call);
           });
}
template bool run_tensor_plane<double>(const patch_call<double> &);
template bool run_tensor_plane<float>(const patch_call<float> &);

} // namespace facet
