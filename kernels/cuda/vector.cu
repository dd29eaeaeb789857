// Vectors, sparse rows and blocks on the GPU, and the table of all kernels that exist there. Sums are taken
// over fixed pieces: the same bits each time.
#include "kernels/cuda/lanes.cuh"

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
template <typename X, typename Y> __global__ void convert(int64_t n, const X *x, Y b, Y *y) {
    EACH(i, n) y[i] = b == 0 ? (Y)x[i] : (Y)x[i] + b * y[i];
}
template <typename R> __global__ void take_entries(int64_t n, const int64_t *places, const R *x, R *values) {
    EACH(i, n) values[i] = x[places[i]];
}
template <typename R>
__global__ void put_entries(int64_t n, const int64_t *places, const R *values, R b, R *x) {
    EACH(i, n) x[places[i]] = (values != nullptr ? values[i] : 0) + (b == 0 ? 0 : b * x[places[i]]);
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
    double *partial = facet::partial_sums();
    if (partial == nullptr) return 0;
    dot_pieces<R><<<blocks, THREADS>>>(n, x, y, partial);
    dot_end<<<1, THREADS>>>(blocks, partial);
    launched("dot");
    facet::good(cudaMemcpy(&sum, partial, sizeof sum, cudaMemcpyDeviceToHost), "dot");
    return sum;
}

} // namespace

#define VECTOR_KERNELS(REAL, NAME)                                                                           \
    void NAME(fill)(int64_t n, double a, REAL *x) {                                                          \
        LAUNCH(fill, n, n, (REAL)a, x);                                                                      \
    }                                                                                                        \
    void NAME(axpby)(int64_t n, double a, const REAL *x, double b, REAL *y) {                                \
        LAUNCH(axpby, n, n, (REAL)a, x, (REAL)b, y);                                                         \
    }                                                                                                        \
    void NAME(multiply)(int64_t n, const REAL *d, const REAL *x, REAL *y) {                                  \
        LAUNCH(multiply, n, n, d, x, y);                                                                     \
    }                                                                                                        \
    double NAME(dot)(int64_t n, const REAL *x, const REAL *y) {                                              \
        return dot(n, x, y);                                                                                 \
    }                                                                                                        \
    void NAME(narrow)(int64_t n, const double *x, REAL *y) {                                                 \
        LAUNCH(convert, n, n, x, (REAL)0, y);                                                                \
    }                                                                                                        \
    void NAME(widen)(int64_t n, const REAL *x, double b, double *y) {                                        \
        LAUNCH(convert, n, n, x, b, y);                                                                      \
    }                                                                                                        \
    void NAME(take_entries)(int64_t n, const int64_t *places, const REAL *x, REAL *values) {                 \
        LAUNCH(take_entries, n, n, places, x, values);                                                       \
    }                                                                                                        \
    void NAME(put_entries)(int64_t n, const int64_t *places, const REAL *values, double b, REAL *x) {        \
        LAUNCH(put_entries, n, n, places, values, (REAL)b, x);                                               \
    }                                                                                                        \
    void NAME(csr_apply)(int64_t n_rows, const int64_t *offsets, const int32_t *columns, const REAL *values, \
                         const REAL *x, REAL *y) {                                                           \
        LAUNCH(csr_apply, n_rows * 32, n_rows, offsets, columns, values, x, y);                              \
    }
VECTOR_KERNELS(double, DOUBLE_NAME)
VECTOR_KERNELS(float, SINGLE_NAME)

namespace {

// The entry of a table, whose numbers are void *, that calls F.
template <auto F, typename Entry> struct entry;
template <typename R, typename... A, R (*F)(A...), typename... B> struct entry<F, R (*)(B...)> {
    static R call(B... b) {
        return F((A)b...);
    }
};
#define ONE(name) table.name[0] = name##_cuda
#define BOTH(name)                                                                                           \
    table.name[F64] = entry<name##_cuda, decltype(+table.name[F64])>::call;                                  \
    table.name[F32] = entry<name##_single_cuda, decltype(+table.name[F32])>::call

struct kernels make_table() {
    struct kernels table = {};
    table.lanes = facet::CELL_LANES;
    table.box_lanes = facet::LANES;
    table.box_modes = facet::MAX_LINE;
    table.box_terms = 3;
    table.lattice_multiple = 16; // of tensor cores
    table.tile = 1 << 24;        // fills the GPU, and is a small part of its memory
    // The vectors of a batch must fit into shared memory. On an H200 single precision is as fast with 9 and
    // 12 rows; 16 bits are 1.06 times faster with 18, 1.17 with 24, 1.5 with 54.
    table.cells.half_rows = 17;
    table.cells.most_rows = (int)(facet::MOST_SHARED / facet::lane_bytes<float>(1));
    BOTH(fill);
    BOTH(axpby);
    BOTH(multiply);
    BOTH(dot);
    BOTH(narrow);
    BOTH(widen);
    BOTH(take_entries);
    BOTH(put_entries);
    BOTH(csr_apply);
    BOTH(block_smooth);
    BOTH(lane_smooth);
    BOTH(cell_apply);
    BOTH(row_solve);
    BOTH(brick_apply);
    BOTH(brick_diagonal);
    BOTH(brick_prolong);
    BOTH(brick_restrict);
    BOTH(patch_sweep);
    BOTH(box_step);
    BOTH(box_residual);
    BOTH(box_form);
    BOTH(box_recur);
    BOTH(box_prolong);
    BOTH(box_restrict);
    BOTH(box_scale);
    ONE(cell_apply_half);
    ONE(cell_halve);
    ONE(lane_invert);
    ONE(face_blocks);
    ONE(face_sums);
    ONE(face_couple);
    ONE(face_columns);
    ONE(face_rows);
    ONE(cell_gather);
    BOTH(part_copy);
    BOTH(corner_prolong);
    BOTH(corner_restrict);
    ONE(cell_corners);
    ONE(cell_lower);
    ONE(cell_summary);
    ONE(cell_extract);
    ONE(affine_coefficients);
    ONE(cell_balance);
    ONE(condense_affine);
    ONE(affine_solve);
    ONE(condense_sum);
    ONE(sum_solve);
    ONE(condense_elastic);
    ONE(elastic_solve);
    ONE(condense_elastic_general);
    ONE(elastic_general_solve);
    ONE(elastic_weights);
    ONE(physical_functions);
    ONE(table_apply);
    ONE(cell_metric);
    ONE(face_metric);
    ONE(error_squares);
    ONE(condense_general);
    ONE(general_solve);
    ONE(gradient_solve);
    ONE(star_weights);
    ONE(lane_values);
    ONE(general_weights);
    ONE(modes_solve);
    ONE(box_load);
    ONE(box_recover);
    ONE(box_diagonal);
    ONE(box_balance);
    ONE(box_cells);
    ONE(tile_contract);
    ONE(tile_expression);
    ONE(tile_extremes);
    ONE(box_imbalance);
    ONE(tile_gather);
    ONE(tile_add);
    ONE(tile_flux);
    ONE(tile_divide);
    ONE(tile_difference);
    ONE(tile_faces);
    BOTH(axis_apply);
    BOTH(box_to_lattice);
    BOTH(box_from_lattice);
    ONE(brick_scale);
    ONE(expression);
#define KERNEL(result, precisions, name, parameters, arguments)
#define SCRATCH(name, parameters, arguments) table.name = name##_cuda;
#include "kernels/kernels.def"
#undef KERNEL
    return table;
}

} // namespace

extern "C" const struct kernels *kernels_cuda(void) {
    static const struct kernels table = make_table();
    return &table;
}
