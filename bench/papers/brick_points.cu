// Gauss-Seidel on the nodes of a brick, in the order that brick_points.h states: the layers of a colour, which
// do not meet, have a block each, and within a layer nodes come one after another. Nodes that share no cell
// may change places: with local indices i, and r being how far a cell reaches, node i is taken at the time
//
//     t = i0 + a i1 + b i2,   a = r0 + 1,   b = r0 + a r1 + 1,
//
// which is later than that of every node before it that shares a cell with it; nodes of one time share none.
// A warp takes a node, its lanes the entries of the row. Bound by the waits from one time to the next.
#include "bench/papers/brick_points.h"
#include "kernels/cuda/brick_row.cuh"

namespace facet {

namespace {

constexpr int WARPS = 16;
constexpr unsigned ALL_LANES = 0xffffffffu;

template <typename R> struct point_launch {
    brick_rows<R> rows;
    const R *b;
    R *x;
    int direction, colour, backward;
};

template <typename R> __device__ void solve_node(const point_launch<R> &p, const int at[3]) {
    const struct brick_cells &c = p.rows.cells;
    const int n0 = c.element[0].k + 1, n1 = c.element[1].k + 1, n2 = c.element[2].k + 1;
    const cells_around around(c, at);
    if (around.fixed) return;
    const int64_t self = ((int64_t)at[2] * c.n_nodes[1] + at[1]) * c.n_nodes[0] + at[0];
    R sum = 0, diagonal = 0;
    for (int s = 0; s < around.total(); s++) {
        const cell_row<R> row(p.rows, around, s);
        for (int j = threadIdx.x; j < n0 * n1 * n2; j += 32) {
            const int x = j % n0, y = j / n0 % n1, z = j / n0 / n1;
            const int64_t to = row.node(x, y, z);
            const R entry = row.entry(x, y, z);
            if (to == self)
                diagonal += entry;
            else
                sum += entry * p.x[to];
        }
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(ALL_LANES, sum, step);
        diagonal += __shfl_xor_sync(ALL_LANES, diagonal, step);
    }
    if (threadIdx.x == 0) p.x[self] = (p.b[self] - sum) / diagonal;
}

__device__ int64_t rounded_up(int64_t a, int64_t b) {
    return a <= 0 ? 0 : (a + b - 1) / b;
}

template <typename R>
__global__ void __launch_bounds__(32 * WARPS) point_kernel(const __grid_constant__ point_launch<R> p) {
    const struct brick_cells &c = p.rows.cells;
    int low[3], size[3], reach[3];
    for (int d = 0; d < 3; d++) {
        const int k = c.element[d].k;
        low[d] = 0;
        size[d] = c.n_nodes[d];
        if (d == p.direction) {
            const int layer = item_of((int)blockIdx.x, c.cells[d], p.colour);
            low[d] = layer * k;
            size[d] = layer == c.cells[d] - 1 ? c.n_nodes[d] - low[d] : k;
        }
        reach[d] = c.periodic[d] || k > size[d] - 1 ? size[d] - 1 : k;
    }
    const int64_t a = reach[0] + 1, b = reach[0] + a * reach[1] + 1, top = size[0] - 1 + a * (size[1] - 1),
                  n_times = top + b * (size[2] - 1) + 1;
    for (int64_t step = 0; step < n_times; step++) {
        const int64_t t = p.backward ? n_times - 1 - step : step;
        int number = 0;
        for (int64_t i2 = rounded_up(t - top, b); i2 < size[2] && b * i2 <= t; i2++)
            for (int64_t i1 = rounded_up(t - b * i2 - size[0] + 1, a); i1 < size[1] && a * i1 <= t - b * i2;
                 i1++)
                if (number++ % WARPS == threadIdx.y) {
                    const int at[3] = {low[0] + (int)(t - b * i2 - a * i1), low[1] + (int)i1,
                                       low[2] + (int)i2};
                    solve_node(p, at);
                }
        __syncthreads();
    }
}

template <typename R> void sweep_points(const struct brick_cells *c, int backward, const R *b, R *x) {
    point_launch<R> l;
    l.rows = rows_of_brick<R>(c);
    l.b = b;
    l.x = x;
    l.direction = brick_layers(c);
    l.backward = backward;
    const int n = c->cells[l.direction], ring = c->periodic[l.direction], n_colours = colours_of(n, ring);
    for (int step = 0; step < n_colours; step++) {
        l.colour = backward ? n_colours - 1 - step : step;
        const int count = count_of(n, ring, l.colour);
        if (count == 0 || !may_launch()) continue;
        point_kernel<R><<<(unsigned)count, dim3(32, WARPS)>>>(l);
        launched("brick_points");
    }
}

} // namespace
} // namespace facet

void brick_points_cuda(enum precision precision, const struct brick_cells *c, int backward, const void *b,
                       void *x) {
    if (precision == F32)
        facet::sweep_points(c, backward, (const float *)b, (float *)x);
    else
        facet::sweep_points(c, backward, (const double *)b, (double *)x);
}
