// Products with the trace matrix, cell by cell. The floor is the bytes of the element matrices over the
// bandwidth of the memory: each entry is read once, and x and y of a face are moved as the contiguous numbers
// they are. Where both cells of a face write into places of their own (cell_plan.parts), one launch takes all
// batches and a second adds the two; else a launch takes the batches of a colour, whose cells add one after
// another. No atomic operations, and the same bits every time.
#include "kernels/cuda/cell.cuh"

namespace facet {
namespace {

template <typename R, bool FULL>
__global__ void __launch_bounds__(128) multiply(const __grid_constant__ product p, const R *x, R *to) {
    extern __shared__ __align__(16) unsigned char room[];
    const int lane = threadIdx.x, n = p.n;
    R *in = (R *)room + 2 * threadIdx.y * n * PITCH, *out = in + n * PITCH;
    const int64_t batch = batch_of(p);
    if (batch < 0) return;
    bring_in(p, batch, lane, x, in);
    take_constants_off(p, batch, lane, in);
    const R *A = (const R *)p.matrices + batch * (FULL ? (int64_t)n * n : row_of(n)) * L + lane;
    if (FULL)
        for (int i = 0; i < n; i++) {
            R sum = 0;
            for (int j = 0; j < n; j++) sum += __ldcs(A + ((int64_t)i * n + j) * L) * in[j * PITCH + lane];
            out[i * PITCH + lane] = sum;
        }
    else
        symmetric_product_ahead<ROWS_OF<R>>(n, A, in + lane, out + lane);
    deliver(p, batch, lane, out, to);
}

// Cells whose vectors do not fit: a warp takes one row of the matrices after another, of which each entry is
// read twice.
template <typename R, bool FULL>
__global__ void multiply_large(const __grid_constant__ product p, const R *x, R *to) {
    const int lane = threadIdx.x, n = p.n;
    const int64_t batch = batch_of(p);
    if (batch < 0) return;
    const R *A = (const R *)p.matrices + batch * (FULL ? (int64_t)n * n : row_of(n)) * L + lane;
    const int64_t *map = p.maps + batch * p.n_faces * L + lane;
    const int bits = p.loose != nullptr && map[0] >= 0 ? p.loose[batch * L + lane] : 0;
    const int size = p.n_components > 0 ? p.m / p.n_components : 1;
    const int second = p.second != nullptr ? p.second[batch * L + lane] : 0;
    for (int f = 0; f < p.n_faces; f++)
        for (int i = p.start(f); i < p.start(f + 1); i++) {
            R sum = 0;
            for (int g = 0; g < p.n_faces; g++)
                for (int j = p.start(g); j < p.start(g + 1); j++) {
                    const int k = j - p.start(g), c = k / size;
                    R value = map[g * L] >= 0 ? x[map[g * L] + k] : R(0);
                    if (k % size == 0 && bits >> c & 1) value -= x[map[0] + c * size];
                    const int64_t place = FULL ? (int64_t)i * n + j : i > j ? row_of(i) + j : row_of(j) + i;
                    sum += A[place * L] * value;
                }
            const int64_t first = map[f * L];
            if (p.second != nullptr) {
                if (first >= 0) to[2 * first + (second >> f & 1 ? p.m : 0) + i - p.start(f)] = sum;
                continue;
            }
            for (int cell = 0; cell < L; cell++) {
                if (cell == lane && first >= 0) to[first + i - p.start(f)] += sum;
                __syncwarp();
            }
        }
}

template <typename R, bool FULL> void apply(const struct cell_plan *plan, const R *x, R *y) {
    const product whole = product_of(plan);
    const size_t bytes = lane_bytes<R>(whole.n);
    const int warps = warps_for(bytes);
    const bool fits = bytes * warps <= MOST_SHARED;
    if (whole.n == 0 || (!whole.equal && whole.n_faces > MOST_SLOTS)) return;
    if (fits && !allow_shared(multiply<R, FULL>, bytes * warps, "cell_apply")) return;
    take_batches(plan, whole, y, [&](const product &p, R *to) {
        const unsigned blocks = (unsigned)((p.n_batches + warps - 1) / warps);
        if (fits)
            multiply<R, FULL><<<blocks, dim3(L, warps), bytes * warps>>>(p, x, to);
        else
            multiply_large<R, FULL><<<blocks, dim3(L, warps)>>>(p, x, to);
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
int64_t cell_run_cuda(int64_t batch_bytes) {
    (void)batch_bytes;
    return 1;
}
int64_t cell_parts_cuda(int64_t n_cells) {
    (void)n_cells;
    return 1;
}
