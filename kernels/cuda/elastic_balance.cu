// The balance of forces of straight cells: a thread has a cell, a warp a batch, and what is read and written
// are rows of 32 numbers.
#include "kernels/cuda/internal.cuh"

using facet::launched;
using facet::may_launch;

namespace {

constexpr int THREADS = 128;
constexpr int L = facet::CELL_LANES;

__global__ void find_forces(const __grid_constant__ struct elastic_tables t,
                            const __grid_constant__ struct elastic_layout at,
                            const __grid_constant__ struct elastic_forces forces, int64_t n_cells,
                            double *balance) {
    const int64_t cell = (int64_t)blockIdx.x * THREADS + threadIdx.x, batch = cell / L;
    const int lane = (int)(cell % L);
    if (cell >= n_cells) return;
    elastic_balance_cell(&t, &at, &forces, batch, lane, balance + batch * (2 + t.n_faces * t.dim) * L + lane);
}

} // namespace

void elastic_balance_cuda(const struct elastic_tables *tables, const struct elastic_forces *forces,
                          int64_t n_batches, double *balance) {
    const int64_t n_cells = n_batches * L;
    if (n_batches == 0 || !may_launch()) return;
    find_forces<<<(unsigned)((n_cells + THREADS - 1) / THREADS), THREADS>>>(
        *tables, elastic_layout(tables->dim, tables->n_faces), *forces, n_cells, balance);
    launched("elastic_balance");
}
