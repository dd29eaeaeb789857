// Straight cells from their corners: a thread has a cell, a warp a batch, and what is read and written are
// rows of 32 numbers.
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

} // namespace

void affine_coefficients_cuda(const struct straight_cells *cells, int64_t n_batches, double *coefficients,
                              double *det) {
    if (n_batches == 0 || !may_launch()) return;
    make_coefficients<<<blocks_of(n_batches * L), THREADS>>>(
        *cells, affine_layout(cells->dim, cells->n_faces), n_batches * L, coefficients, det);
    launched("affine_coefficients");
}
