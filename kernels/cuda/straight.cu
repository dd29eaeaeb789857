// Straight cells from their corners: a thread has a cell, a warp a batch, and what is read and written are
// rows of 32 numbers. (cell_source is beside the other expressions, which are compiled without contraction.)
#include "kernels/cuda/internal.cuh"

using facet::launched;
using facet::may_launch;

namespace {

constexpr int THREADS = 128;
constexpr int L = facet::CELL_LANES;

unsigned blocks_of(int64_t threads) {
    return (unsigned)((threads + THREADS - 1) / THREADS);
}

__global__ void make_coefficients(const __grid_constant__ struct straight_cells s,
                                  const __grid_constant__ struct affine_layout at, int64_t n_cells,
                                  double *coefficients, double *det) {
    const int64_t cell = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (cell >= n_cells) return;
    det[cell] = straight_coefficients(&s, &at, cell, coefficients + cell / L * at.count * L + cell % L);
}

__global__ void find_balance(const __grid_constant__ struct affine_tables t,
                             const __grid_constant__ struct affine_layout at,
                             const __grid_constant__ struct balance_cells b, int64_t n_cells,
                             double *balance) {
    const int64_t cell = (int64_t)blockIdx.x * THREADS + threadIdx.x, batch = cell / L;
    const int lane = (int)(cell % L);
    if (cell >= n_cells) return;
    straight_balance(&t, &at, &b, batch, lane, balance + batch * (2 + t.n_faces) * L + lane);
}

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

void affine_coefficients_cuda(const struct straight_cells *cells, int64_t n_batches, double *coefficients,
                              double *det) {
    if (n_batches == 0 || !may_launch()) return;
    make_coefficients<<<blocks_of(n_batches * L), THREADS>>>(
        *cells, affine_layout(cells->dim, cells->n_faces), n_batches * L, coefficients, det);
    launched("affine_coefficients");
}

void affine_balance_cuda(const struct affine_tables *tables, const struct balance_cells *cells,
                         int64_t n_batches, double *balance) {
    if (n_batches == 0 || !may_launch()) return;
    find_balance<<<blocks_of(n_batches * L), THREADS>>>(*tables, affine_layout(tables->dim, tables->n_faces),
                                                        *cells, n_batches * L, balance);
    launched("affine_balance");
}

void elastic_balance_cuda(const struct elastic_tables *tables, const struct elastic_forces *forces,
                          int64_t n_batches, double *balance) {
    if (n_batches == 0 || !may_launch()) return;
    find_forces<<<blocks_of(n_batches * L), THREADS>>>(*tables, elastic_layout(tables->dim, tables->n_faces),
                                                       *forces, n_batches * L, balance);
    launched("elastic_balance");
}
