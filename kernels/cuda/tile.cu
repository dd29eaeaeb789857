// Tiles (kernels/tile.h): tensor products direction by direction. Where a cell fits, a block takes it into
// shared memory and a thread a line of it into registers; else a thread makes a number, and every pass goes
// through memory.
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

// ------------------------------------------------------------------------------ a cell in shared memory

constexpr int CELL_THREADS = 128, MOST_IN = 16, MOST_OUT = 24;

struct cell_launch {
    struct tile_plan tile;
    struct tile_scale scale;
    int n_out;
    bool add;
    const double *T[3], *in;
    double *out, *extremes; // one of them
};

// Along one direction: `lines` lines of N numbers, `step` apart, from where `begin` says; out likewise.
template <int N, typename Begin, typename End>
__device__ void along_lines(int lines, const double *T, int n_out, const double *in, int step, Begin begin,
                            End end) {
    for (int l = threadIdx.x; l < lines; l += CELL_THREADS) {
        const double *from = in + begin(l);
        double x[N];
#pragma unroll
        for (int q = 0; q < N; q++) x[q] = from[q * step];
        for (int i = 0; i < n_out; i++) {
            double sum = 0;
#pragma unroll
            for (int q = 0; q < N; q++) sum += T[i * N + q] * x[q];
            end(l, i, sum);
        }
    }
}

// The least and the greatest of a block, NaN where one is not finite, to its first thread.
__device__ void reduce_range(double least, double greatest, int wrong, double *shared, double *out) {
    __syncthreads();
    shared[threadIdx.x] = wrong ? NAN : least;
    shared[CELL_THREADS + threadIdx.x] = wrong ? NAN : greatest;
    for (int half = CELL_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half) continue;
        double *a = shared + threadIdx.x, *b = a + CELL_THREADS;
        a[0] = isnan(a[0]) || isnan(a[half]) ? NAN : fmin(a[0], a[half]);
        b[0] = isnan(b[0]) || isnan(b[half]) ? NAN : fmax(b[0], b[half]);
    }
    if (threadIdx.x == 0) {
        out[0] = shared[0];
        out[1] = shared[CELL_THREADS];
    }
    __syncthreads();
}

// In three dimensions. Rows along x are an odd number of numbers apart.
template <int N> __global__ void cell_lines(const __grid_constant__ cell_launch g) {
    extern __shared__ double memory[];
    const int M = g.n_out, pitch = N | 1, wide = M | 1;
    double *T = memory, *a = T + 3 * M * N, *b = a + (N * N * pitch > M * M * N ? N * N * pitch : M * M * N);
    for (int64_t c = blockIdx.x; c < g.tile.count; c += gridDim.x) {
        int at[3];
        tile_at(&g.tile, g.tile.first + c, at);
        __syncthreads();
        for (int d = 0; d < 3; d++) {
            const int kind = g.tile.kinds[d] != nullptr ? g.tile.kinds[d][at[d]] : 0;
            for (int i = threadIdx.x; i < M * N; i += CELL_THREADS)
                T[d * M * N + i] = __ldg(g.T[d] + (int64_t)kind * M * N + i);
        }
        for (int i = threadIdx.x; i < N * N * N; i += CELL_THREADS)
            a[i / N * pitch + i % N] = g.in[c * (N * N * N) + i];
        __syncthreads();
        along_lines<N>(
            N * N, T, M, a, 1, [&](int l) { return l * pitch; },
            [&](int l, int i, double v) { b[l * wide + i] = v; });
        __syncthreads();
        along_lines<N>(
            N * M, T + M * N, M, b, wide, [&](int l) { return l / M * N * wide + l % M; },
            [&](int l, int i, double v) { a[(l / M * M + i) * M + l % M] = v; });
        __syncthreads();
        const double factor = tile_factor(&g.tile, &g.scale, g.tile.first + c, at);
        double least = INFINITY, greatest = -INFINITY;
        int wrong = 0;
        along_lines<N>(
            M * M, T + 2 * M * N, M, a, M * M, [&](int l) { return l; },
            [&](int l, int i, double v) {
                v *= factor;
                if (g.out != nullptr) {
                    double *to = g.out + c * ((int64_t)M * M * M) + (int64_t)i * M * M + l;
                    *to = g.add ? *to + v : v;
                    return;
                }
                wrong |= !isfinite(v);
                least = v < least ? v : least;
                greatest = v > greatest ? v : greatest;
            });
        if (g.out == nullptr) reduce_range(least, greatest, wrong, b, g.extremes + 2 * c);
    }
}

template <int N> bool run_lines(const cell_launch &g) {
    const int M = g.n_out, a = N * N * (N | 1) > M * M * N ? N * N * (N | 1) : M * M * N;
    const int b = N * N * (M | 1) > 2 * CELL_THREADS ? N * N * (M | 1) : 2 * CELL_THREADS;
    const size_t bytes = (3 * (size_t)M * N + a + b) * sizeof(double);
    const int64_t most = 64 * (int64_t)facet::multiprocessors();
    if (!facet::allow_shared(cell_lines<N>, bytes, "tile_contract")) return true;
    cell_lines<N><<<(unsigned)(g.tile.count < most ? g.tile.count : most), CELL_THREADS, bytes>>>(g);
    facet::launched("tile_contract");
    return true;
}

// False where there is no such kernel.
bool contract_cells(int n_in, const cell_launch &g) {
    if (g.tile.dim != 3 || n_in > MOST_IN || g.n_out > MOST_OUT || !facet::may_launch()) return false;
    if (g.tile.count == 0) return true;
    switch (n_in) {
#define CASE(N)                                                                                              \
    case N:                                                                                                  \
        return run_lines<N>(g);
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
        CASE(13)
        CASE(14)
        CASE(15)
        CASE(16)
#undef CASE
    default:
        return false;
    }
}

// ------------------------------------------------------------------------------ nodes that cells share

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

void tile_extremes_cuda(int64_t n_cells, int64_t n, int components, int64_t step, const double *values,
                        double *extremes) {
    if (n_cells == 0 || !facet::may_launch()) return;
    extremes_of<<<(unsigned)((n_cells * 32 + THREADS - 1) / THREADS), THREADS>>>(n_cells, n, components, step,
                                                                                 values, extremes);
    facet::launched("tile_extremes");
}

// A direction after the other.
static void contract(const struct tile_plan *t, int n_in, int n_out, const double *const *T,
                     const struct tile_scale *scale, bool add, const double *in, double *out,
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

void tile_contract_cuda(const struct tile_plan *t, int n_in, int n_out, const double *const *T,
                        const struct tile_scale *scale, enum tile_end end, const double *in, double *out,
                        double *scratch) {
    const bool extremes = end == TILE_EXTREMES;
    const struct tile_scale plain = {1.0, {0, 0, 0}, nullptr}, *by = extremes ? &plain : scale;
    double *values =
        extremes ? scratch + 2 * t->count * tile_power(n_in > n_out ? n_in : n_out, t->dim) : out;
    if (contract_cells(n_in, {*t,
                              *by,
                              n_out,
                              end == TILE_ADD,
                              {T[0], T[1], T[2]},
                              in,
                              extremes ? nullptr : out,
                              extremes ? out : nullptr}))
        return;
    contract(t, n_in, n_out, T, by, end == TILE_ADD, in, values, scratch);
    if (extremes) tile_extremes_cuda(t->count, tile_power(n_out, t->dim), 1, 0, values, out);
}
