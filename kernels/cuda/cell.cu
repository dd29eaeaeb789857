// Products with the trace matrix, cell by cell. The floor is the bytes of the element matrices over the
// bandwidth of the memory: each entry is read once, and x and y of a face are moved as the contiguous numbers
// they are. Where both cells of a face write into places of their own (cell_plan.parts), one launch takes all
// batches and a second adds the two; else a launch takes the batches of a colour, whose cells add one after
// another. No atomic operations, and the same bits every time.
#include "kernels/cuda/cell.cuh"

namespace facet {
namespace {

// One triangle, tiles of ROWS x 4 ahead. What a batch needs is asked for at its beginning.
template <typename R, int FACES, int ROWS>
__global__ void __launch_bounds__(128) multiply(const __grid_constant__ product p, const R *x, R *to) {
    extern __shared__ __align__(16) unsigned char room[];
    const int lane = threadIdx.x, n = p.n;
    R *in = (R *)room + 2 * threadIdx.y * n * PITCH, *out = in + n * PITCH;
    const int64_t batch = batch_of(p);
    if (batch < 0) return;
    const R *A = (const R *)p.matrices + batch * row_of(n) * L + lane;
    const faces<FACES> of(p, batch, lane);
    R e[ROWS][4];
    load_tile(n, A, 0, 0, e);
    of.bring_in(p, batch, lane, x, in);
    take_constants_off(p, batch, lane, in);
    symmetric_product_ahead(n, A, e, in + lane, out + lane);
    of.deliver(p, batch, lane, out, to);
}

// The same by warps that share a batch.
template <typename R, int FACES>
__global__ void __launch_bounds__(32 * MOST_SHARING)
    multiply_together(const __grid_constant__ product p, const R *x, R *to) {
    extern __shared__ __align__(16) unsigned char room[];
    const int lane = threadIdx.x, n = p.n;
    const share my = share_of_warp();
    R *in = (R *)room, *out = in + n * PITCH;
    const int64_t batch = shared_batch(p);
    const R *A = (const R *)p.matrices + batch * row_of(n) * L + lane;
    const faces<FACES> of(p, batch, lane);
    R e[STRIPE][4];
    load_first(n, A, e);
    of.bring_in(p, batch, lane, x, in, my);
    for (int i = my.warp; i < n; i += my.warps) out[i * PITCH + lane] = 0;
    __syncthreads();
    if (p.loose != nullptr) {
        if (my.warp == 0) take_constants_off(p, batch, lane, in);
        __syncthreads();
    }
    symmetric_product_shared(n, A, e, in + lane, out + lane);
    of.deliver(p, batch, lane, out, to, my);
}

// Matrices without symmetry.
template <typename R>
__global__ void __launch_bounds__(128) multiply_full(const __grid_constant__ product p, const R *x, R *to) {
    extern __shared__ __align__(16) unsigned char room[];
    const int lane = threadIdx.x, n = p.n;
    R *in = (R *)room + 2 * threadIdx.y * n * PITCH, *out = in + n * PITCH;
    const int64_t batch = batch_of(p);
    if (batch < 0) return;
    bring_in(p, batch, lane, x, in);
    take_constants_off(p, batch, lane, in);
    const R *A = (const R *)p.matrices + batch * (int64_t)n * n * L + lane;
    for (int i = 0; i < n; i++) {
        R sum = 0;
        for (int j = 0; j < n; j++) sum += __ldcs(A + ((int64_t)i * n + j) * L) * in[j * PITCH + lane];
        out[i * PITCH + lane] = sum;
    }
    deliver(p, batch, lane, out, to);
}

// Row i of the thread's matrix times x, PITCH apart; of one triangle by rows, or (FULL) of all of it.
template <bool FULL, typename R>
__device__ __forceinline__ R row_times(int n, int i, const R *__restrict__ A, const R *x) {
    const R *row = A + (FULL ? (int64_t)i * n : row_of(i)) * L;
    const int end = FULL ? n : i + 1;
    R sum = 0;
#pragma unroll 8
    for (int j = 0; j < end; j++) sum += row[(int64_t)j * L] * x[j * PITCH];
    if constexpr (!FULL)
#pragma unroll 8
        for (int j = i + 1; j < n; j++) sum += A[(row_of(j) + i) * L] * x[j * PITCH];
    return sum;
}

// The same where x of the batch has no room in shared memory either.
template <bool FULL, typename R>
__device__ R row_times_far(const product &p, int64_t batch, int lane, int i, const R *__restrict__ A,
                           const R *x) {
    const int64_t *map = p.maps + batch * p.n_faces * L + lane;
    const int bits = p.loose != nullptr && map[0] >= 0 ? p.loose[batch * L + lane] : 0;
    const int size = p.n_components > 0 ? p.m / p.n_components : 1;
    R sum = 0;
    for (int g = 0; g < p.n_faces; g++) {
        const int64_t first = map[g * L];
        for (int k = 0, c = 0; k < p.start(g + 1) - p.start(g); k++) {
            const int j = p.start(g) + k;
            R value = first >= 0 ? x[first + k] : R(0);
            if (k == c * size) {
                if (bits >> c & 1) value -= x[map[0] + k];
                c++;
            }
            const int64_t place = FULL ? (int64_t)i * p.n + j : i > j ? row_of(i) + j : row_of(j) + i;
            sum += A[place * L] * value;
        }
    }
    return sum;
}

// Cells whose vectors x and y do not fit: the warps of a block take the rows of one face after another, of
// which each entry of the matrices is read twice, and y goes to memory at once. x stands in shared memory
// where it fits (NEAR). With parts, blockIdx.y is a face; else all faces are one block's, since cells of the
// batch may share faces: no two rows of one face add to the same number.
constexpr int LARGE_WARPS = 16;
template <typename R, bool FULL, bool NEAR>
__global__ void __launch_bounds__(32 * LARGE_WARPS)
    multiply_large(const __grid_constant__ product p, const R *x, R *to) {
    extern __shared__ __align__(16) unsigned char room[];
    const int lane = threadIdx.x, n = p.n;
    const share my = share_of_warp();
    const int64_t batch = shared_batch(p);
    const R *A = (const R *)p.matrices + batch * (FULL ? (int64_t)n * n : row_of(n)) * L + lane;
    R *in = (R *)room;
    if constexpr (NEAR) {
        bring_in(p, batch, lane, x, in, my);
        __syncthreads();
        if (my.warp == 0) take_constants_off(p, batch, lane, in);
        __syncthreads();
    }
    const int second = p.second != nullptr ? p.second[batch * L + lane] : 0;
    for (int f = blockIdx.y; f < p.n_faces; f += gridDim.y) {
        const int64_t first = p.maps[(batch * p.n_faces + f) * L + lane];
        for (int i = p.start(f) + my.warp; i < p.start(f + 1); i += my.warps) {
            const int k = i - p.start(f);
            R sum;
            if constexpr (NEAR)
                sum = row_times<FULL>(n, i, A, in + lane);
            else
                sum = row_times_far<FULL>(p, batch, lane, i, A, x);
            if (p.second != nullptr) {
                if (first >= 0) to[2 * first + (second >> f & 1 ? p.m : 0) + k] = sum;
                continue;
            }
            for (int cell = 0; cell < L; cell++) {
                if (cell == lane && first >= 0) to[first + k] += sum;
                __syncwarp();
            }
        }
        __syncthreads();
    }
}

template <typename R, bool FULL>
void apply_large(const struct cell_plan *plan, const product &whole, R *y, const R *x) {
    const size_t bytes = lane_bytes<R>(whole.n) / 2;
    const bool near = bytes <= MOST_SHARED;
    const size_t room = near ? bytes : 0;
    const auto kernel = near ? multiply_large<R, FULL, true> : multiply_large<R, FULL, false>;
    if (near && !allow_shared(kernel, room, "cell_apply")) return;
    take_batches(plan, whole, y, [&](const product &p, R *to) {
        const unsigned faces = p.second != nullptr ? (unsigned)p.n_faces : 1;
        kernel<<<dim3((unsigned)p.n_batches, faces), dim3(L, LARGE_WARPS), room>>>(p, x, to);
        launched("cell_apply");
    });
}

// Larger matrices in double precision take larger tiles: few warps fit. On an H200, over a copy, with 4 and 8
// rows: 12 unknowns 0.72, 0.54; 24 0.74, 0.76; 40 0.78, 0.83; 60 0.74, 0.78; 96 0.44, 0.58.
template <typename R, int FACES> auto product_kernel(int n, bool together) {
    if (together) return multiply_together<R, FACES>;
    if constexpr (sizeof(R) == 8)
        if (n < 24) return multiply<R, FACES, 4>;
    return multiply<R, FACES, 8>;
}

template <typename R, bool FULL> void apply(const struct cell_plan *plan, const R *x, R *y) {
    const product whole = product_of(plan);
    const size_t bytes = lane_bytes<R>(whole.n);
    const int sharing = FULL ? 1 : warps_sharing<R>(whole), n_faces = faces_apart(whole);
    const bool together = sharing > 1;
    const int warps = together ? sharing : warps_for(bytes), batches = together ? 1 : warps; // of a block
    const size_t room = bytes * batches;
    const auto kernel = FULL           ? multiply_full<R>
                        : n_faces == 3 ? product_kernel<R, 3>(whole.n, together)
                        : n_faces == 4 ? product_kernel<R, 4>(whole.n, together)
                        : n_faces == 6 ? product_kernel<R, 6>(whole.n, together)
                                       : product_kernel<R, 0>(whole.n, together);
    if (whole.n == 0 || (!whole.equal && whole.n_faces > MOST_SLOTS)) return;
    if (room > MOST_SHARED) return apply_large<R, FULL>(plan, whole, y, x);
    if (!allow_shared(kernel, room, "cell_apply")) return;
    take_batches(plan, whole, y, [&](const product &p, R *to) {
        kernel<<<blocks_of(p.n_batches, batches), dim3(L, warps), room>>>(p, x, to);
        launched("cell_apply");
    });
}

} // namespace
} // namespace facet

using namespace facet;

void cell_apply_cuda(const struct cell_plan *plan, const double *x, double *y) {
    apply<double, false>(plan, x, y);
}
void cell_apply_single_cuda(const struct cell_plan *plan, const float *x, float *y) {
    apply<float, false>(plan, x, y);
}
void cell_apply_full_cuda(const struct cell_plan *plan, const double *x, double *y) {
    apply<double, true>(plan, x, y);
}
void cell_apply_full_single_cuda(const struct cell_plan *plan, const float *x, float *y) {
    apply<float, true>(plan, x, y);
}
