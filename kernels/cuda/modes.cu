// Fast diagonalization on the GPU: sums and differences of opposite nodes in all directions at once, then
// nothing but products of dense matrices on the tensor cores, with the division in the third of them.
//
// Work arrays hold, in every direction, one or two blocks of `size` entries (kernels/brick.h), so that all
// rows begin on 16 bytes and no product has a ragged end along the sum. Padding is zero and stays zero.
#include <utility>

#include "kernels/cuda/product.cuh"

namespace facet {

namespace {

// to = matrix from along direction d.
void transform(const struct brick_modes *modes, int d, bool back, const double *from, double *to) {
    int length[3];
    for (int i = 0; i < 3; i++) length[i] = brick_modes_blocks(modes, i) * modes->size[i];
    const int64_t plane = (int64_t)length[0] * length[1];
    const double *matrix = back ? modes->backward[d] : modes->forward[d];
    const int size = modes->size[d];
    product_launch<double> p = {};
    p.K = size;
    p.C = to;
    p.blocks = brick_modes_blocks(modes, d);
    if (d == 0) {
        p.A = from;
        p.B = matrix;
        p.M = length[1] * length[2];
        p.N = size;
        p.la = p.lc = length[0];
        p.lb = size;
        p.Ab = p.Cb = size;
        p.Bb = (int64_t)size * size;
        return run_product<128, 64, 64, 32, 3, false>(p, 1, "modes_solve");
    }
    const int64_t row = d == 1 ? length[0] : plane;
    p.A = matrix;
    p.B = from;
    p.M = size;
    p.N = (int)row;
    p.la = size;
    p.lb = p.lc = row;
    p.Ab = (int64_t)size * size;
    p.Bb = p.Cb = size * row;
    p.Bo = p.Co = plane;
    if (d == 2 && !back) {
        for (int i = 0; i < 3; i++) p.theta[i] = modes->theta[i];
        p.conductivity = modes->conductivity;
        p.reaction = modes->reaction;
        p.singular = modes->singular && modes->reaction == 0.0;
        p.length[0] = length[0];
        p.length[1] = length[1];
    }
    run_product<64, 128, 64, 32, 4, true>(p, d == 1 ? length[2] : 1, "modes_solve");
}

// Where direction 2 is none and no product comes along with it.
__global__ void divide_kernel(const __grid_constant__ struct brick_modes modes, int length, int64_t n,
                              double *w) {
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x) {
        const double theta = modes.theta[0][i % length] + modes.theta[1][i / length] + modes.theta[2][0];
        const bool constant = i == 0 && modes.singular && modes.reaction == 0.0;
        w[i] = constant ? 0.0 : w[i] / (modes.reaction + modes.conductivity * theta);
    }
}
void divide(const struct brick_modes *modes, double *w) {
    if (!may_launch()) return;
    divide_kernel<<<4 * multiprocessors(), 256>>>(*modes, brick_modes_blocks(modes, 0) * modes->size[0],
                                                  brick_modes_count(modes), w);
    launched("modes_solve");
}

// ------------------------------------------------------------------------------ nodes and halves

struct fold_launch {
    int n_nodes[3], first[3], n[3], even[3], size[3], blocks[3];
    const double *from;
    double *to;
};

// A thread for one index of all blocks: up to eight nodes, and as many entries of the work array.
template <bool BACK> __global__ void fold_kernel(const __grid_constant__ fold_launch p) {
    const int at[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x),
                       (int)(blockIdx.y * blockDim.y + threadIdx.y), (int)blockIdx.z};
    if (at[0] >= p.size[0] || at[1] >= p.size[1]) return;
    double value[8];
    int node[3][2];
    bool there[3][2], twin[3];
    for (int d = 0; d < 3; d++) {
        const int odd = p.n[d] - p.even[d];
        twin[d] = p.blocks[d] == 2;
        there[d][0] = at[d] < (twin[d] ? p.even[d] : p.n[d]);
        there[d][1] = twin[d] && at[d] < odd;
        node[d][0] = p.first[d] + at[d];
        node[d][1] = p.first[d] + p.n[d] - 1 - at[d];
    }
#pragma unroll
    for (int s = 0; s < 8; s++) {
        const int x = s & 1, y = s >> 1 & 1, z = s >> 2;
        value[s] = 0;
        if (BACK) {
            if ((x < p.blocks[0]) && (y < p.blocks[1]) && (z < p.blocks[2]))
                value[s] = p.from[at[0] + x * p.size[0] +
                                  ((int64_t)(at[1] + y * p.size[1]) +
                                   (int64_t)(at[2] + z * p.size[2]) * p.blocks[1] * p.size[1]) *
                                      p.blocks[0] * p.size[0]];
        } else if (there[0][x] && there[1][y] && there[2][z]) {
            value[s] = p.from[node[0][x] +
                              ((int64_t)node[1][y] + (int64_t)node[2][z] * p.n_nodes[1]) * p.n_nodes[0]];
        }
    }
#pragma unroll
    for (int d = 0; d < 3; d++)
#pragma unroll
        for (int s = 0; s < 8; s++) {
            if (s >> d & 1 || !there[d][1]) continue;
            const double low = value[s], high = value[s | 1 << d];
            value[s] = low + high;
            value[s | 1 << d] = low - high;
        }
#pragma unroll
    for (int s = 0; s < 8; s++) {
        const int x = s & 1, y = s >> 1 & 1, z = s >> 2;
        if (!BACK) {
            if ((x < p.blocks[0]) && (y < p.blocks[1]) && (z < p.blocks[2]))
                p.to[at[0] + x * p.size[0] +
                     ((int64_t)(at[1] + y * p.size[1]) +
                      (int64_t)(at[2] + z * p.size[2]) * p.blocks[1] * p.size[1]) *
                         p.blocks[0] * p.size[0]] = value[s];
        } else if (there[0][x] && there[1][y] && there[2][z]) {
            p.to[node[0][x] + ((int64_t)node[1][y] + (int64_t)node[2][z] * p.n_nodes[1]) * p.n_nodes[0]] =
                value[s];
        }
    }
}

void run_fold(const struct brick_modes *modes, bool back, const double *from, double *to) {
    fold_launch p;
    for (int d = 0; d < 3; d++) {
        p.n_nodes[d] = modes->n_nodes[d];
        p.first[d] = modes->first[d];
        p.n[d] = modes->n[d];
        p.even[d] = modes->even[d];
        p.size[d] = modes->size[d];
        p.blocks[d] = brick_modes_blocks(modes, d);
    }
    p.from = from;
    p.to = to;
    if (!may_launch()) return;
    const dim3 threads(32, 4),
        grid((unsigned)((p.size[0] + 31) / 32), (unsigned)((p.size[1] + 3) / 4), (unsigned)p.size[2]);
    if (back)
        fold_kernel<true><<<grid, threads>>>(p);
    else
        fold_kernel<false><<<grid, threads>>>(p);
    launched("modes_solve");
}

} // namespace
} // namespace facet

void modes_solve_cuda(const struct brick_modes *modes, const double *b, double *u, double *scratch) {
    double *w = scratch, *t = scratch + brick_modes_count(modes);
    int64_t n = 1, n_free = 1;
    for (int d = 0; d < 3; d++) {
        n *= modes->n_nodes[d];
        n_free *= modes->n[d];
    }
    if (!facet::may_launch()) return;
    if (n_free == 0) {
        facet::good(cudaMemsetAsync(u, 0, sizeof *u * (size_t)n), "modes_solve");
        return;
    }
    auto along = [&](int d, bool back) {
        if (modes->size[d] == 1) return; // none: a product with one
        facet::transform(modes, d, back, w, t);
        std::swap(w, t);
    };
    facet::run_fold(modes, false, b, w);
    for (int d = 0; d < 3; d++) along(d, false);
    if (modes->size[2] == 1) facet::divide(modes, w);
    for (int d = 2; d >= 0; d--) along(d, true);
    if (n_free < n) facet::good(cudaMemsetAsync(u, 0, sizeof *u * (size_t)n), "modes_solve");
    facet::run_fold(modes, true, w, u);
}
