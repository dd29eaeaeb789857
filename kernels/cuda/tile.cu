// Tiles (kernels/tile.h): tensor products direction by direction, a thread a number; what it reads its
// neighbours read too, and comes from the nearest cache. Every pass moves its bytes once.
#include "kernels/cuda/internal.cuh"

namespace {

constexpr int THREADS = 256;

struct along_launch {
    struct tile_plan tile;
    struct tile_scale scale;
    int d, n_in, n_out, inner, outer; // inner, outer: numbers of the other directions, before and behind
    bool last, add;
    const double *T, *in;
    double *out;
};

__global__ void along(const __grid_constant__ along_launch g) {
    const int per_cell = g.outer * g.n_out * g.inner;
    const int64_t number = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (number >= g.tile.count * per_cell) return;
    const int64_t c = number / per_cell;
    const int i = (int)(number - c * per_cell), r = i % g.inner, row = i / g.inner % g.n_out,
              o = i / g.inner / g.n_out;
    int at[3];
    tile_at(&g.tile, g.tile.first + c, at);
    const int32_t *kinds = g.tile.kinds[g.d];
    const int kind = kinds != nullptr ? kinds[at[g.d]] : 0;
    const double *T = g.T + ((int64_t)kind * g.n_out + row) * g.n_in,
                 *from = g.in + c * ((int64_t)g.outer * g.n_in * g.inner) + (int64_t)o * g.n_in * g.inner + r;
    double sum = 0;
#pragma unroll 4
    for (int q = 0; q < g.n_in; q++) sum += __ldg(T + q) * from[q * g.inner];
    if (g.last) sum *= tile_factor(&g.tile, &g.scale, g.tile.first + c, at);
    g.out[number] = g.add ? g.out[number] + sum : sum;
}

// A warp takes a cell.
__global__ void extremes_of(int64_t n_cells, int64_t n, int components, int64_t step, const double *values,
                            double *extremes) {
    const int64_t cell = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (cell >= n_cells) return;
    double least = INFINITY, greatest = -INFINITY;
    int wrong = 0;
    for (int64_t i = cell * n + lane; i < (cell + 1) * n; i += 32) {
        double value = values[i];
        if (components > 1) {
            double square = 0;
            for (int c = 0; c < components; c++) square += values[c * step + i] * values[c * step + i];
            value = sqrt(square);
        }
        wrong |= !isfinite(value);
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    for (int far = 16; far > 0; far /= 2) {
        least = fmin(least, __shfl_down_sync(0xffffffffu, least, far));
        greatest = fmax(greatest, __shfl_down_sync(0xffffffffu, greatest, far));
        wrong |= __shfl_down_sync(0xffffffffu, wrong, far);
    }
    if (lane != 0) return;
    extremes[2 * cell] = wrong ? NAN : least;
    extremes[2 * cell + 1] = wrong ? NAN : greatest;
}

struct nodes_launch {
    struct tile_plan tile;
    int k, nodes[3];
    int64_t size, first, planes; // of a cell; the first plane of nodes of the last direction, and how many
    const double *from;
    double *to;
};

__global__ void gather(const __grid_constant__ nodes_launch g) {
    const int64_t number = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (number >= g.tile.count * g.size) return;
    const int64_t c = number / g.size;
    int at[3];
    tile_at(&g.tile, g.tile.first + c, at);
    g.to[number] = g.from[tile_node(&g.tile, g.k, g.nodes, at, number - c * g.size)];
}

// A thread takes a node: it adds what the cells of the tile that share it have, in their order.
__global__ void add(const __grid_constant__ nodes_launch g) {
    const int last = g.tile.dim - 1, k = g.k;
    int64_t number = (int64_t)blockIdx.x * THREADS + threadIdx.x, plane = 1;
    for (int d = 0; d < last; d++) plane *= g.nodes[d];
    if (number >= plane * g.planes) return;
    number += g.first * plane;
    if (number >= plane * g.nodes[last]) number -= plane * g.nodes[last];
    int cells[3][2], local[3][2], many[3] = {1, 1, 1};
    int64_t rest = number;
    for (int d = 0; d < 3; d++) {
        cells[d][0] = cells[d][1] = local[d][0] = local[d][1] = 0;
        if (d > last) continue;
        const int i = (int)(rest % g.nodes[d]), cell = i / k, ring = g.nodes[d] == k * g.tile.cells[d];
        rest /= g.nodes[d];
        many[d] = 0;
        const bool end = i % k == 0, before = end && (i > 0 || ring), after = cell < g.tile.cells[d];
        const int lower = cell > 0 ? cell - 1 : g.tile.cells[d] - 1;
        // In ascending order of the cells: across the end of a ring the cell behind it comes first.
        if (after && before && lower > cell) cells[d][many[d]] = cell, local[d][many[d]++] = 0;
        if (before) cells[d][many[d]] = lower, local[d][many[d]++] = k;
        if (after && !(before && lower > cell)) cells[d][many[d]] = cell, local[d][many[d]++] = i % k;
    }
    double sum = g.to[number];
    for (int z = 0; z < many[2]; z++)
        for (int y = 0; y < many[1]; y++)
            for (int x = 0; x < many[0]; x++) {
                const int64_t c = ((int64_t)cells[2][z] * g.tile.cells[1] + cells[1][y]) * g.tile.cells[0] +
                                  cells[0][x] - g.tile.first;
                if (c < 0 || c >= g.tile.count) continue;
                sum += g.from[c * g.size + ((int64_t)local[2][z] * (k + 1) + local[1][y]) * (k + 1) +
                              local[0][x]];
            }
    g.to[number] = sum;
}

nodes_launch launch_of(const struct tile_plan *t, int k, const int *nodes, const double *from, double *to) {
    nodes_launch g = {*t, k, {nodes[0], nodes[1], nodes[2]}, tile_power(k + 1, t->dim), 0, 0, from, to};
    int first[3], end[3];
    if (t->count == 0) return g;
    tile_at(t, t->first, first);
    tile_at(t, t->first + t->count - 1, end);
    const int last = t->dim - 1;
    g.first = (int64_t)first[last] * k;
    g.planes = (int64_t)(end[last] - first[last] + 1) * k + 1;
    if (g.planes > nodes[last]) g.planes = nodes[last];
    return g;
}

} // namespace

void tile_gather_cuda(const struct tile_plan *t, int k, const int *nodes, const double *x, double *cells) {
    const nodes_launch g = launch_of(t, k, nodes, x, cells);
    const int64_t n = t->count * g.size;
    if (n == 0 || !facet::may_launch()) return;
    gather<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS>>>(g);
    facet::launched("tile_gather");
}

void tile_add_cuda(const struct tile_plan *t, int k, const int *nodes, const double *cells, double *x) {
    const nodes_launch g = launch_of(t, k, nodes, cells, x);
    int64_t n = g.planes;
    for (int d = 0; d + 1 < t->dim; d++) n *= nodes[d];
    if (n == 0 || !facet::may_launch()) return;
    add<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS>>>(g);
    facet::launched("tile_add");
}

int64_t tile_scratch_cuda(const struct tile_plan *t, int n_in, int n_out) {
    return 2 * t->count * tile_power(n_in > n_out ? n_in : n_out, t->dim);
}

void tile_contract_cuda(const struct tile_plan *t, int n_in, int n_out, const double *const *T,
                        const struct tile_scale *scale, int add, const double *in, double *out,
                        double *scratch) {
    double *work[2] = {scratch, scratch + t->count * tile_power(n_in > n_out ? n_in : n_out, t->dim)};
    const double *from = in;
    for (int d = 0; d < t->dim; d++) {
        const bool last = d + 1 == t->dim;
        const along_launch g = {*t,
                                *scale,
                                d,
                                n_in,
                                n_out,
                                (int)tile_power(n_out, d),
                                (int)tile_power(n_in, t->dim - 1 - d),
                                last,
                                last && add,
                                T[d],
                                from,
                                last ? out : work[d % 2]};
        const int64_t n = t->count * g.outer * g.n_out * g.inner;
        if (n == 0 || !facet::may_launch()) return;
        along<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS>>>(g);
        facet::launched("tile_contract");
        from = work[d % 2];
    }
}

void tile_extremes_cuda(int64_t n_cells, int64_t n, int components, int64_t step, const double *values,
                        double *extremes) {
    if (n_cells == 0 || !facet::may_launch()) return;
    extremes_of<<<(unsigned)((n_cells * 32 + THREADS - 1) / THREADS), THREADS>>>(n_cells, n, components, step,
                                                                                 values, extremes);
    facet::launched("tile_extremes");
}
