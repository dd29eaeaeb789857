// Vectors, sparse rows and blocks on the GPU, and the table of all kernels that exist there. Sums are taken
// over fixed pieces: the same bits each time.
#include "kernels/cuda/internal.cuh"

using facet::launched;
using facet::may_launch;

namespace {

constexpr int THREADS = 256;

int blocks_for(int64_t n) {
    const int64_t blocks = (n + THREADS - 1) / THREADS, most = 32 * (int64_t)facet::multiprocessors();
    return (int)(blocks < most ? blocks : most);
}

// One number for each index of a grid that strides over n.
#define EACH(i, n)                                                                                           \
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);                                \
         i += (int64_t)gridDim.x * blockDim.x)
#define LAUNCH(kernel, n, ...)                                                                               \
    do {                                                                                                     \
        if ((n) > 0 && may_launch()) {                                                                       \
            kernel<<<blocks_for(n), THREADS>>>(__VA_ARGS__);                                                 \
            launched(#kernel);                                                                               \
        }                                                                                                    \
    } while (0)

template <typename R> __global__ void fill(int64_t n, R a, R *x) {
    EACH(i, n) x[i] = a;
}
template <typename R> __global__ void axpby(int64_t n, R a, const R *x, R b, R *y) {
    EACH(i, n) y[i] = b == 0 ? a * x[i] : a * x[i] + b * y[i];
}
template <typename R> __global__ void multiply(int64_t n, const R *d, const R *x, R *y) {
    EACH(i, n) y[i] = d[i] * x[i];
}
template <typename X, typename Y> __global__ void convert(int64_t n, const X *x, Y *y) {
    EACH(i, n) y[i] = (Y)x[i];
}
template <typename X, typename Y> __global__ void add(int64_t n, const X *x, Y *y) {
    EACH(i, n) y[i] += (Y)x[i];
}
__global__ void put_entries(int64_t n, const int64_t *places, const double *values, double *x) {
    EACH(i, n) x[places[i]] = values != nullptr ? values[i] : 0.0;
}

__device__ double sum_of_block(double sum) {
    __shared__ double warps[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < THREADS / 32; w++) sum += warps[w];
    return sum;
}
template <typename R> __global__ void dot_pieces(int64_t n, const R *x, const R *y, double *partial) {
    double sum = 0;
    EACH(i, n) sum += (double)x[i] * (double)y[i];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
__global__ void dot_end(int n, double *partial) {
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) sum += partial[i];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) partial[0] = sum;
}

// A warp for every row.
template <typename R>
__global__ void csr_apply(int64_t n_rows, const int64_t *offsets, const int32_t *columns, const R *values,
                          const R *x, R *y) {
    const int lane = threadIdx.x % 32;
    for (int64_t row = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; row < n_rows;
         row += (int64_t)gridDim.x * blockDim.x / 32) {
        R sum = 0;
        for (int64_t k = offsets[row] + lane; k < offsets[row + 1]; k += 32) sum += values[k] * x[columns[k]];
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (lane == 0) y[row] = sum;
    }
}

template <typename R> double dot(int64_t n, const R *x, const R *y) {
    double sum = 0;
    if (n == 0 || !may_launch()) return 0;
    int blocks = blocks_for(n);
    if (blocks > facet::MAX_PARTIAL) blocks = facet::MAX_PARTIAL;
    dot_pieces<R><<<blocks, THREADS>>>(n, x, y, facet::partial_sums());
    dot_end<<<1, THREADS>>>(blocks, facet::partial_sums());
    launched("dot");
    facet::good(cudaMemcpy(&sum, facet::partial_sums(), sizeof sum, cudaMemcpyDeviceToHost), "dot");
    return sum;
}

} // namespace

extern "C" {

static void fill_cuda(int64_t n, double a, double *x) {
    LAUNCH(fill, n, n, a, x);
}
static void fill_single_cuda(int64_t n, double a, float *x) {
    LAUNCH(fill, n, n, (float)a, x);
}
static void axpby_cuda(int64_t n, double a, const double *x, double b, double *y) {
    LAUNCH(axpby, n, n, a, x, b, y);
}
static void axpby_single_cuda(int64_t n, double a, const float *x, double b, float *y) {
    LAUNCH(axpby, n, n, (float)a, x, (float)b, y);
}
static void multiply_cuda(int64_t n, const double *d, const double *x, double *y) {
    LAUNCH(multiply, n, n, d, x, y);
}
static void multiply_single_cuda(int64_t n, const float *d, const float *x, float *y) {
    LAUNCH(multiply, n, n, d, x, y);
}
static double dot_cuda(int64_t n, const double *x, const double *y) {
    return dot(n, x, y);
}
static double dot_single_cuda(int64_t n, const float *x, const float *y) {
    return dot(n, x, y);
}
static void csr_apply_cuda(int64_t n_rows, const int64_t *offsets, const int32_t *columns,
                           const double *values, const double *x, double *y) {
    LAUNCH(csr_apply, n_rows * 32, n_rows, offsets, columns, values, x, y);
}
static void csr_apply_single_cuda(int64_t n_rows, const int64_t *offsets, const int32_t *columns,
                                  const float *values, const float *x, float *y) {
    LAUNCH(csr_apply, n_rows * 32, n_rows, offsets, columns, values, x, y);
}
static void convert_to_single_cuda(int64_t n, const double *x, float *y) {
    LAUNCH(convert, n, n, x, y);
}
static void convert_to_double_cuda(int64_t n, const float *x, double *y) {
    LAUNCH(convert, n, n, x, y);
}
static void add_single_cuda(int64_t n, const float *x, double *y) {
    LAUNCH(add, n, n, x, y);
}
static void put_entries_cuda(int64_t n, const int64_t *places, const double *values, double *x) {
    LAUNCH(put_entries, n, n, places, values, x);
}

const struct kernels *kernels_cuda(void) {
    static struct kernels table;
    table.fill = fill_cuda;
    table.axpby = axpby_cuda;
    table.multiply = multiply_cuda;
    table.dot = dot_cuda;
    table.csr_apply = csr_apply_cuda;
    table.fill_single = fill_single_cuda;
    table.axpby_single = axpby_single_cuda;
    table.multiply_single = multiply_single_cuda;
    table.dot_single = dot_single_cuda;
    table.csr_apply_single = csr_apply_single_cuda;
    table.convert_to_single = convert_to_single_cuda;
    table.convert_to_double = convert_to_double_cuda;
    table.add_single = add_single_cuda;
    table.put_entries = put_entries_cuda;
    table.modes_solve = modes_solve_cuda;
    table.modes_scratch = modes_scratch_cuda;
    table.brick_apply = brick_apply_cuda;
    table.brick_scratch = brick_scratch_cuda;
    table.brick_diagonal = brick_diagonal_cuda;
    table.brick_prolong = brick_prolong_cuda;
    table.brick_restrict = brick_restrict_cuda;
    table.transfer_scratch = transfer_scratch_cuda;
    table.patch_sweep = patch_sweep_cuda;
    table.patch_scratch = patch_scratch_cuda;
    table.brick_apply_single = brick_apply_single_cuda;
    table.brick_diagonal_single = brick_diagonal_single_cuda;
    table.brick_prolong_single = brick_prolong_single_cuda;
    table.brick_restrict_single = brick_restrict_single_cuda;
    table.patch_sweep_single = patch_sweep_single_cuda;
    table.box_step = box_step_cuda;
    table.box_residual = box_residual_cuda;
    table.box_prolong = box_prolong_cuda;
    table.box_restrict = box_restrict_cuda;
    table.box_step_single = box_step_single_cuda;
    table.box_residual_single = box_residual_single_cuda;
    table.box_prolong_single = box_prolong_single_cuda;
    table.box_restrict_single = box_restrict_single_cuda;
    table.box_load = box_load_cuda;
    table.box_recover = box_recover_cuda;
    table.axis_apply = axis_apply_cuda;
    return &table;
}

} // extern "C"
