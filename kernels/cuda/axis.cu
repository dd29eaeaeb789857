// Products along one axis of a lattice: a matrix product whose columns are the lines of the lattice. Tiles of
// 64 x 64 results, each thread 4 x 4 of them, operands in shared memory.
#include "kernels/cuda/internal.cuh"

namespace {

constexpr int TILE = 64, DEPTH = 16, EACH = 4, SIDE = TILE / EACH;

struct product {
    int64_t outer, inner;
    int n_out, n_in;
    const double *T, *x;
    double *y;
};

__global__ void __launch_bounds__(SIDE *SIDE) multiply(const __grid_constant__ product g) {
    __shared__ double A[DEPTH][TILE + 1], B[DEPTH][TILE + 1];
    const int row = threadIdx.x / SIDE, column = threadIdx.x % SIDE;
    const int64_t first_row = (int64_t)blockIdx.y * TILE, columns = g.outer * g.inner;
    const int64_t first_column = (int64_t)blockIdx.x * TILE;
    double sum[EACH][EACH] = {};
    for (int q0 = 0; q0 < g.n_in; q0 += DEPTH) {
        for (int i = threadIdx.x; i < TILE * DEPTH; i += SIDE * SIDE) {
            const int q = i % DEPTH, r = i / DEPTH;
            A[q][r] =
                first_row + r < g.n_out && q0 + q < g.n_in ? g.T[(first_row + r) * g.n_in + q0 + q] : 0.0;
            // lines lie along q where inner is 1, else side by side
            const int bq = g.inner == 1 ? i % DEPTH : i / TILE, bc = g.inner == 1 ? i / DEPTH : i % TILE;
            const int64_t c = first_column + bc;
            B[bq][bc] = c < columns && q0 + bq < g.n_in
                            ? g.x[(c / g.inner * g.n_in + q0 + bq) * g.inner + c % g.inner]
                            : 0.0;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < DEPTH; q++) {
            double a[EACH], b[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                a[i] = A[q][row + i * SIDE];
                b[i] = B[q][column + i * SIDE];
            }
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++) sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int64_t r = first_row + row + i * SIDE, c = first_column + column + j * SIDE;
            if (r < g.n_out && c < columns)
                g.y[(c / g.inner * g.n_out + r) * g.inner + c % g.inner] = sum[i][j];
        }
}

} // namespace

void axis_apply_cuda(int64_t outer, int n_out, int n_in, int64_t inner, const double *T, const double *x,
                     double *y) {
    const product g = {outer, inner, n_out, n_in, T, x, y};
    if (outer * inner == 0 || n_out == 0 || !facet::may_launch()) return;
    const dim3 grid((unsigned)((outer * inner + TILE - 1) / TILE), (unsigned)((n_out + TILE - 1) / TILE));
    multiply<<<grid, SIDE * SIDE>>>(g);
    facet::launched("axis_apply");
}
