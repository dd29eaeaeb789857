// Fluxes, post-processing and errors of the cells of tiles (kernels/tile.h): a thread for a number, or a
// block for a cell where its numbers are summed up, in one order.
#include "kernels/cuda/internal.cuh"
#include "kernels/tile.h"

namespace {

constexpr int THREADS = 128;

// Three tables, which the host passes by value.
struct tables {
    const double *T[3];
};

__global__ void __launch_bounds__(THREADS)
    flux_of(const __grid_constant__ struct tile_plan t, int n, int even, int d, const double *flux,
            const double *ends, const __grid_constant__ struct tile_scale scale, int64_t width,
            const double *cells, double *q) {
    const int64_t size = tile_power(n, t.dim);
    for (int64_t c = blockIdx.x; c < t.count; c += gridDim.x) {
        int at[3];
        tile_at(&t, t.first + c, at);
        const int64_t kind = tile_kind(&t, d, at);
        const double factor = tile_factor(&t, &scale, t.first + c, at);
        for (int64_t i = threadIdx.x; i < size; i += THREADS)
            q[c * size + i] = factor * tile_flux_at(t.dim, n, even, d, flux + kind * n * n, ends + kind * n,
                                                    cells + c * width, i);
    }
}

__global__ void __launch_bounds__(THREADS)
    divide_by(const __grid_constant__ struct tile_plan t, int n, const double *theta, const double *k,
              const double *constants, double *x) {
    const int64_t size = tile_power(n, t.dim);
    for (int64_t c = blockIdx.x; c < t.count; c += gridDim.x) {
        int at[3];
        double a[3];
        tile_at(&t, t.first + c, at);
        tile_metric(&t, at, k != nullptr ? k[t.first + c] : 1.0, a);
        for (int i = threadIdx.x; i < size; i += THREADS) {
            double *to = x + c * size + i;
            *to = i == 0 ? constants[c]
                         : *to / (a[0] * theta[i % n] + (t.dim > 1 ? a[1] * theta[i / n % n] : 0.0) +
                                  (t.dim > 2 ? a[2] * theta[i / n / n] : 0.0));
        }
    }
}

// The sum and the greatest of what the threads of a block have, in thread 0.
__device__ void reduce(double &sum, double &most) {
    __shared__ double sums[THREADS / 32], mosts[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
        most = fmax(most, __shfl_down_sync(0xffffffffu, most, offset));
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum, mosts[threadIdx.x / 32] = most;
    __syncthreads();
    for (int w = 1; w < THREADS / 32 && threadIdx.x == 0; w++) {
        sum += sums[w];
        most = fmax(most, mosts[w]);
    }
}

__global__ void __launch_bounds__(THREADS)
    difference(const __grid_constant__ struct tile_plan t, int n, const double *weights,
               const __grid_constant__ struct tile_scale scale, const double *values, const double *exact,
               double *out) {
    const int size = (int)tile_power(n, t.dim);
    for (int64_t c = blockIdx.x; c < t.count; c += gridDim.x) {
        int at[3];
        double sum = 0, most = 0, volume = 1;
        tile_at(&t, t.first + c, at);
        const double factor = tile_factor(&t, &scale, t.first + c, at);
        for (int d = 0; d < t.dim; d++) volume *= tile_width(&t, d, at);
        for (int i = threadIdx.x; i < size; i += THREADS) {
            const double error = values[c * size + i] - factor * exact[c * size + i];
            double weight = weights[i % n];
            if (t.dim > 1) weight *= weights[i / n % n];
            if (t.dim > 2) weight *= weights[i / n / n];
            sum += weight * error * error;
            if (weight > 0) most = fmax(most, fabs(error));
        }
        reduce(sum, most);
        if (threadIdx.x == 0) out[2 * c] = volume * sum, out[2 * c + 1] = most;
    }
}

__global__ void __launch_bounds__(THREADS)
    faces(const __grid_constant__ struct tile_plan t, int n, int n_points,
          const __grid_constant__ tables tables, const double *weights, int d, int side, int64_t width,
          const double *cells, const double *exact, bool add, double *out) {
    const int points = (int)tile_power(n_points, t.dim - 1);
    const int64_t face = tile_power(n, t.dim - 1);
    for (int64_t c = blockIdx.x; c < t.count; c += gridDim.x) {
        int at[3];
        double sum = 0, most = 0;
        tile_at(&t, t.first + c, at);
        for (int i = threadIdx.x; i < points; i += THREADS) {
            const double error = tile_trace_at(&t, at, n, n_points, tables.T, d,
                                               cells + c * width + face * (n + 2 * d + side), i) -
                                 exact[c * points + i];
            sum += tile_face_weight(&t, at, n_points, weights, d, i) * error * error;
        }
        reduce(sum, most);
        if (threadIdx.x == 0) out[c] = add ? out[c] + sum : sum;
    }
}

unsigned blocks_for(int64_t count) {
    const int64_t most = 64 * (int64_t)facet::multiprocessors();
    return (unsigned)(count < most ? count : most);
}

} // namespace

void tile_flux_cuda(const struct tile_plan *tile, int n, int even, int direction, const double *flux,
                    const double *ends, const struct tile_scale *scale, int64_t width, const double *cells,
                    double *q) {
    if (tile->count == 0 || !facet::may_launch()) return;
    flux_of<<<blocks_for(tile->count), THREADS>>>(*tile, n, even, direction, flux, ends, *scale, width, cells,
                                                  q);
    facet::launched("tile_flux");
}

void tile_divide_cuda(const struct tile_plan *tile, int n, const double *theta, const double *k,
                      const double *constants, double *x) {
    if (tile->count == 0 || !facet::may_launch()) return;
    divide_by<<<blocks_for(tile->count), THREADS>>>(*tile, n, theta, k, constants, x);
    facet::launched("tile_divide");
}

void tile_difference_cuda(const struct tile_plan *tile, int n, const double *weights,
                          const struct tile_scale *scale, const double *values, const double *exact,
                          double *out) {
    if (tile->count == 0 || !facet::may_launch()) return;
    difference<<<blocks_for(tile->count), THREADS>>>(*tile, n, weights, *scale, values, exact, out);
    facet::launched("tile_difference");
}

void tile_faces_cuda(const struct tile_plan *tile, int n, int n_points, const double *const *T,
                     const double *weights, int direction, int side, int64_t width, const double *cells,
                     const double *exact, int add, double *out) {
    tables tables = {{T[0], T[1], T[2]}};
    if (tile->count == 0 || !facet::may_launch()) return;
    faces<<<blocks_for(tile->count), THREADS>>>(*tile, n, n_points, tables, weights, direction, side, width,
                                                cells, exact, add != 0, out);
    facet::launched("tile_faces");
}
