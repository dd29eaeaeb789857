// What the files on boxes (kernels/box.h) share on the GPU.
#ifndef FACET_KERNELS_CUDA_BOX_CUH
#define FACET_KERNELS_CUDA_BOX_CUH

#include "kernels/cuda/internal.cuh"

namespace facet {

__host__ __device__ inline const struct box_numbers &numbers(const struct box_plan &p, double) {
    return p.f64;
}
__host__ __device__ inline const struct box_numbers_single &numbers(const struct box_plan &p, float) {
    return p.f32;
}

// The two tangential axes of a face.
__host__ __device__ inline int slow_axis(int axis) {
    return axis == 0 ? 1 : 0;
}
__host__ __device__ inline int fast_axis(int axis) {
    return axis == 2 ? 1 : 2;
}

// Calls f with the number of modes of all axes as a constant, where three axes are present and kernels are
// compiled for it; else with 0.
template <typename F> void with_modes(const struct box_plan &plan, F f) {
    const int modes = plan.present[1] && plan.present[2] ? plan.modes[0] : 0;
    if (!with_constant<4, 5, 6, 7, 8, 9, 12, 16>(modes, f)) f(constant<0>());
}

// Entry `mode` of a table of an axis, for a pack (axis 0) or cell and a lane.
template <typename R>
__device__ __forceinline__ R entry(const R *const *table, int axis, int modes, int column, int lane,
                                   int mode) {
    const int64_t at = (int64_t)column * modes + mode;
    return axis == 0 ? __ldg(table[0] + at * LANES + lane) : __ldg(table[axis] + at);
}

// Two lanes: kernels that move bytes take so much at a time.
template <typename R> struct __align__(2 * sizeof(R)) pair {
    R x, y;
};
template <typename R> __device__ __forceinline__ pair<R> get(const R *from) {
    return *(const pair<R> *)from;
}
// The same of tables that no kernel writes while it runs.
__device__ __forceinline__ pair<double> look_up(const double *from) {
    const double2 v = __ldg((const double2 *)from);
    return {v.x, v.y};
}
__device__ __forceinline__ pair<float> look_up(const float *from) {
    const float2 v = __ldg((const float2 *)from);
    return {v.x, v.y};
}
template <typename R> __device__ __forceinline__ void put(R *to, pair<R> v) {
    *(pair<R> *)to = v;
}
template <typename R> __device__ __forceinline__ pair<R> operator+(pair<R> a, pair<R> b) {
    return {a.x + b.x, a.y + b.y};
}
template <typename R> __device__ __forceinline__ pair<R> operator-(pair<R> a, pair<R> b) {
    return {a.x - b.x, a.y - b.y};
}
template <typename R> __device__ __forceinline__ pair<R> operator*(pair<R> a, pair<R> b) {
    return {a.x * b.x, a.y * b.y};
}
template <typename R> __device__ __forceinline__ pair<R> operator*(R a, pair<R> b) {
    return {a * b.x, a * b.y};
}

// Room on the GPU that all kernels on boxes of one thread use one after the other, at least so many bytes;
// nullptr, and the failure kept, where there is none.
void *box_room(size_t bytes);
// Whether the sum was read: of n numbers (on the GPU) in a fixed order, in groups of `width`, each to out[i]
// on the host.
bool box_sum(int64_t n, int width, double *partial, double *out);

// What a product is of: d, or where it is nullptr D r + P e, e nullptr: D r.
template <typename R> struct factor { const R *d, *r, *e; };
// y = K d; returns d . y. The general one takes any box.
template <typename R> double box_product_general(const struct box_plan *plan, const factor<R> &of, R *y);
template <typename R> double box_product(const struct box_plan *plan, const factor<R> &of, R *y);

} // namespace facet

#endif
