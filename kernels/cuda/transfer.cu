// Transfers between a brick and one of half the cells: node by node at degree 1, one coarse cell at a time
// above, and for any brick where these do not apply.
#include "kernels/cuda/colour.cuh"
#include "kernels/cuda/internal.cuh"
#include "kernels/cuda/patch.cuh"

namespace facet {

namespace {

// ------------------------------------------------------------------------------ degree 1

// The middle of a cell between its ends, in the order of the nodes: E of degree 1 with the split s has the
// rows (1, 0), (1 - s, s), (0, 1); equal halves only.
template <typename R>
__global__ void linear_prolong(const __grid_constant__ struct brick_transfer t, const R *from, R *to) {
    const struct brick_transfer_axis *ax = t.axis;
    const int X = blockIdx.x * blockDim.x + threadIdx.x, Y = blockIdx.y * blockDim.y + threadIdx.y,
              Z = blockIdx.z;
    if (X >= ax[0].n_fine || Y >= ax[1].n_fine) return;
    const int at[3] = {X, Y, Z};
    int low[3], high[3];
    for (int d = 0; d < 3; d++) {
        low[d] = at[d] / 2;
        high[d] = (at[d] + 1) / 2;
        if (high[d] >= ax[d].n_coarse) high[d] -= ax[d].n_coarse; // of a ring
    }
    R sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int64_t x = i & 1 ? high[0] : low[0], y = i & 2 ? high[1] : low[1],
                      z = i & 4 ? high[2] : low[2];
        sum += from[x + (y + z * ax[1].n_coarse) * ax[0].n_coarse];
    }
    to[X + ((int64_t)Y + (int64_t)Z * ax[1].n_fine) * ax[0].n_fine] += R(0.125) * sum;
}

template <typename R>
__global__ void linear_restrict(const __grid_constant__ struct brick_transfer t, const R *from, R *to) {
    const struct brick_transfer_axis *ax = t.axis;
    const int X = blockIdx.x * blockDim.x + threadIdx.x, Y = blockIdx.y * blockDim.y + threadIdx.y,
              Z = blockIdx.z;
    if (X >= ax[0].n_coarse || Y >= ax[1].n_coarse) return;
    const int at[3] = {X, Y, Z};
    bool fixed = false;
    for (int d = 0; d < 3; d++)
        fixed = fixed || (ax[d].fixed[0] && at[d] == 0) || (ax[d].fixed[1] && at[d] == ax[d].n_coarse - 1);
    R sum = 0;
    for (int c = -1; c <= 1 && !fixed; c++)
        for (int b = -1; b <= 1; b++)
#pragma unroll
            for (int a = -1; a <= 1; a++) {
                const int offset[3] = {a, b, c};
                int64_t fine = 0;
                R w = 1;
                for (int d = 2; d >= 0; d--) {
                    int i = 2 * at[d] + offset[d];
                    if (ax[d].periodic) i = wrapped(i, ax[d].n_fine);
                    if (i < 0 || i >= ax[d].n_fine) w = 0;
                    fine = fine * ax[d].n_fine + i;
                    if (offset[d] != 0) w *= R(0.5);
                }
                if (w != 0) sum += w * from[fine];
            }
    to[X + ((int64_t)Y + (int64_t)Z * ax[1].n_coarse) * ax[0].n_coarse] = sum;
}

template <typename R>
void run_linear_transfer(const struct brick_transfer *t, const R *from, R *to, bool up) {
    const struct brick_transfer_axis *ax = t->axis;
    const int n[3] = {up ? ax[0].n_fine : ax[0].n_coarse, up ? ax[1].n_fine : ax[1].n_coarse,
                      up ? ax[2].n_fine : ax[2].n_coarse};
    const dim3 threads(32, 4),
        blocks((unsigned)((n[0] + 31) / 32), (unsigned)((n[1] + 3) / 4), (unsigned)n[2]);
    if (!may_launch()) return;
    if (up)
        linear_prolong<R><<<blocks, threads>>>(*t, from, to);
    else
        linear_restrict<R><<<blocks, threads>>>(*t, from, to);
    launched(up ? "brick_prolong" : "brick_restrict");
}

// ------------------------------------------------------------------------------ cell by cell

// The embedding of one coarse cell in each direction, 2N - 1 fine nodes from N coarse ones. A cell owns the
// fine nodes up to its upper ends, which the next one owns; the last cell owns them itself.
template <typename R, int N> struct transfer_launch {
    static constexpr int W = 2 * N - 1;
    R E[W * N];
    int cells[3], periodic[3], n_coarse[3], n_fine[3], fixed[3][2];
    int colour[3], count[3]; // restriction
    const R *from;
    R *to;
};

template <int N> constexpr int transfer_threads = N *N <= 32 ? 64 : 128;

template <typename R, int N>
__global__ void __launch_bounds__(transfer_threads<N>)
    prolong_kernel(const __grid_constant__ transfer_launch<R, N> p) {
    constexpr int W = 2 * N - 1, T = transfer_threads<N>;
    __shared__ R A[W][N][N], B[W][W][N];
    const int cell[3] = {(int)(blockIdx.x % p.cells[0]), (int)(blockIdx.x / p.cells[0] % p.cells[1]),
                         (int)(blockIdx.x / p.cells[0] / p.cells[1])};
    auto coarse = [&](int d, int i) {
        const int at = cell[d] * (N - 1) + i;
        return at >= p.n_coarse[d] ? at - p.n_coarse[d] : at;
    };
    for (int l = threadIdx.x; l < N * N; l += T) {
        const int64_t base = coarse(0, l % N) + (int64_t)coarse(1, l / N) * p.n_coarse[0];
        R in[N];
#pragma unroll
        for (int c = 0; c < N; c++)
            in[c] = p.from[base + (int64_t)coarse(2, c) * p.n_coarse[0] * p.n_coarse[1]];
#pragma unroll
        for (int i = 0; i < W; i++) {
            R sum = 0;
#pragma unroll
            for (int c = 0; c < N; c++) sum += p.E[i * N + c] * in[c];
            A[i][l / N][l % N] = sum;
        }
    }
    __syncthreads();
    for (int l = threadIdx.x; l < N * W; l += T) {
        R in[N];
#pragma unroll
        for (int c = 0; c < N; c++) in[c] = A[l / N][c][l % N];
#pragma unroll
        for (int i = 0; i < W; i++) {
            R sum = 0;
#pragma unroll
            for (int c = 0; c < N; c++) sum += p.E[i * N + c] * in[c];
            B[l / N][i][l % N] = sum;
        }
    }
    __syncthreads();
    int own[3];
    for (int d = 0; d < 3; d++) own[d] = W - 1 + (!p.periodic[d] && cell[d] == p.cells[d] - 1);
    for (int i = threadIdx.x; i < own[0] * own[1] * own[2]; i += T) {
        const int x = i % own[0], y = i / own[0] % own[1], z = i / own[0] / own[1];
        R sum = 0;
#pragma unroll
        for (int c = 0; c < N; c++) sum += p.E[x * N + c] * B[z][y][c];
        p.to[cell[0] * (W - 1) + x +
             ((int64_t)(cell[1] * (W - 1) + y) + (int64_t)(cell[2] * (W - 1) + z) * p.n_fine[1]) *
                 p.n_fine[0]] += sum;
    }
}

template <typename R, int N>
__global__ void __launch_bounds__(transfer_threads<N>)
    restrict_kernel(const __grid_constant__ transfer_launch<R, N> p) {
    constexpr int W = 2 * N - 1, T = transfer_threads<N>;
    __shared__ R A[W][W][N], B[W][N][N];
    const int cell[3] = {item_of((int)(blockIdx.x % p.count[0]), p.cells[0], p.colour[0]),
                         item_of((int)(blockIdx.x / p.count[0] % p.count[1]), p.cells[1], p.colour[1]),
                         item_of((int)(blockIdx.x / p.count[0] / p.count[1]), p.cells[2], p.colour[2])};
    int own[3];
    for (int d = 0; d < 3; d++) own[d] = W - 1 + (!p.periodic[d] && cell[d] == p.cells[d] - 1);
    // Along 0, from memory: a row of fine nodes a thread, entries of neighbouring threads being in
    // neighbouring rows.
    for (int l = threadIdx.x; l < W * W; l += T) {
        const int y = l % W, z = l / W;
        R out[N];
#pragma unroll
        for (int c = 0; c < N; c++) out[c] = 0;
        if (y < own[1] && z < own[2]) {
            const R *row =
                p.from + (int64_t)cell[0] * (W - 1) +
                ((int64_t)(cell[1] * (W - 1) + y) + (int64_t)(cell[2] * (W - 1) + z) * p.n_fine[1]) *
                    p.n_fine[0];
#pragma unroll
            for (int i = 0; i < W; i++) {
                const R value = i < own[0] ? row[i] : R(0);
#pragma unroll
                for (int c = 0; c < N; c++) out[c] += p.E[i * N + c] * value;
            }
        }
#pragma unroll
        for (int c = 0; c < N; c++) A[z][y][c] = out[c];
    }
    __syncthreads();
    for (int l = threadIdx.x; l < W * N; l += T) {
        R out[N];
#pragma unroll
        for (int c = 0; c < N; c++) out[c] = 0;
#pragma unroll
        for (int i = 0; i < W; i++) {
            const R value = A[l / N][i][l % N];
#pragma unroll
            for (int c = 0; c < N; c++) out[c] += p.E[i * N + c] * value;
        }
#pragma unroll
        for (int c = 0; c < N; c++) B[l / N][c][l % N] = out[c];
    }
    __syncthreads();
    for (int l = threadIdx.x; l < N * N; l += T) {
        const int u = l % N, v = l / N;
        R out[N];
#pragma unroll
        for (int c = 0; c < N; c++) out[c] = 0;
#pragma unroll
        for (int i = 0; i < W; i++) {
            const R value = B[i][v][u];
#pragma unroll
            for (int c = 0; c < N; c++) out[c] += p.E[i * N + c] * value;
        }
        const int local[2] = {u, v};
        int at[2];
        bool first = true, fixed = false;
        for (int d = 0; d < 2; d++) {
            at[d] = cell[d] * (N - 1) + local[d];
            fixed = fixed || (p.fixed[d][0] && at[d] == 0) || (p.fixed[d][1] && at[d] == p.n_coarse[d] - 1);
            if (local[d] == 0) first = first && touches_first(cell[d], p.cells[d], p.periodic[d], 0);
            if (local[d] == N - 1) first = first && touches_first(cell[d], p.cells[d], p.periodic[d], 1);
            if (at[d] >= p.n_coarse[d]) at[d] -= p.n_coarse[d];
        }
#pragma unroll
        for (int c = 0; c < N; c++) {
            int z = cell[2] * (N - 1) + c;
            const bool hold = fixed || (p.fixed[2][0] && z == 0) || (p.fixed[2][1] && z == p.n_coarse[2] - 1);
            bool first_here = first;
            if (c == 0) first_here = first && touches_first(cell[2], p.cells[2], p.periodic[2], 0);
            if (c == N - 1) first_here = first && touches_first(cell[2], p.cells[2], p.periodic[2], 1);
            if (z >= p.n_coarse[2]) z -= p.n_coarse[2];
            R &to = p.to[at[0] + ((int64_t)at[1] + (int64_t)z * p.n_coarse[1]) * p.n_coarse[0]];
            to = hold ? R(0) : first_here ? out[c] : to + out[c];
        }
    }
}

template <typename R, int N>
void run_transfer(const struct brick_transfer *t, const R *from, R *to, bool up) {
    transfer_launch<R, N> l;
    for (int i = 0; i < l.W * N; i++) l.E[i] = (R)t->axis[0].host[i];
    int64_t total = 1;
    for (int d = 0; d < 3; d++) {
        l.cells[d] = t->axis[d].n_cells;
        l.periodic[d] = t->axis[d].periodic;
        l.n_coarse[d] = t->axis[d].n_coarse;
        l.n_fine[d] = t->axis[d].n_fine;
        for (int s = 0; s < 2; s++) l.fixed[d][s] = t->axis[d].fixed[s];
        total *= l.cells[d];
    }
    l.from = from;
    l.to = to;
    constexpr int threads = transfer_threads<N>;
    if (!may_launch()) return;
    if (up) {
        prolong_kernel<R, N><<<(unsigned)total, threads>>>(l);
        return launched("brick_prolong");
    }
    for (l.colour[2] = 0; l.colour[2] < colours_of(l.cells[2], l.periodic[2]); l.colour[2]++)
        for (l.colour[1] = 0; l.colour[1] < colours_of(l.cells[1], l.periodic[1]); l.colour[1]++)
            for (l.colour[0] = 0; l.colour[0] < colours_of(l.cells[0], l.periodic[0]); l.colour[0]++) {
                total = 1;
                for (int d = 0; d < 3; d++)
                    total *= l.count[d] = count_of(l.cells[d], l.periodic[d], l.colour[d]);
                if (total > 0) restrict_kernel<R, N><<<(unsigned)total, threads>>>(l);
            }
    launched("brick_restrict");
}

// Any embedding: a thread for every fine node, or for every coarse one.
template <typename R> struct plain_transfer {
    struct brick_transfer t;
    const R *tables[3];
    const R *from;
    R *to;
};
// What fine node i takes from the coarse nodes of its cell: where they begin, how many, and with which
// factors.
template <typename R>
__device__ int weights(const struct brick_transfer_axis &ax, const R *tables, int i, int *first,
                       const R **row) {
    if (!ax.halved) {
        *first = i;
        *row = nullptr;
        return 1;
    }
    int cell = i / (2 * ax.k), local = i % (2 * ax.k);
    if (cell == ax.n_cells) { // the last node
        cell--;
        local = 2 * ax.k;
    }
    *first = cell * ax.k;
    *row = tables + ((int64_t)ax.which[cell] * (2 * ax.k + 1) + local) * (ax.k + 1);
    return ax.k + 1;
}
template <typename R> __global__ void plain_prolong(const __grid_constant__ plain_transfer<R> p) {
    const struct brick_transfer_axis *ax = p.t.axis;
    const int64_t n = (int64_t)ax[0].n_fine * ax[1].n_fine * ax[2].n_fine;
    for (int64_t node = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; node < n;
         node += (int64_t)gridDim.x * blockDim.x) {
        const int at[3] = {(int)(node % ax[0].n_fine), (int)(node / ax[0].n_fine % ax[1].n_fine),
                           (int)(node / ax[0].n_fine / ax[1].n_fine)};
        int first[3], count[3];
        const R *row[3];
        for (int d = 0; d < 3; d++) count[d] = weights<R>(ax[d], p.tables[d], at[d], &first[d], &row[d]);
        R sum = 0;
        for (int c = 0; c < count[2]; c++)
            for (int b = 0; b < count[1]; b++)
                for (int a = 0; a < count[0]; a++) {
                    const R w = (row[0] ? row[0][a] : R(1)) * (row[1] ? row[1][b] : R(1)) *
                                (row[2] ? row[2][c] : R(1));
                    const int x = (first[0] + a) % ax[0].n_coarse, y = (first[1] + b) % ax[1].n_coarse;
                    const int z = (first[2] + c) % ax[2].n_coarse;
                    sum += w * p.from[x + ((int64_t)y + (int64_t)z * ax[1].n_coarse) * ax[0].n_coarse];
                }
        p.to[node] += sum;
    }
}
template <typename R> __global__ void plain_restrict(const __grid_constant__ plain_transfer<R> p) {
    const struct brick_transfer_axis *ax = p.t.axis;
    const int64_t n = (int64_t)ax[0].n_coarse * ax[1].n_coarse * ax[2].n_coarse;
    for (int64_t node = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; node < n;
         node += (int64_t)gridDim.x * blockDim.x) {
        const int at[3] = {(int)(node % ax[0].n_coarse), (int)(node / ax[0].n_coarse % ax[1].n_coarse),
                           (int)(node / ax[0].n_coarse / ax[1].n_coarse)};
        int low[3], high[3]; // fine nodes that may take something from this one
        bool fixed = false;
        for (int d = 0; d < 3; d++) {
            fixed =
                fixed || (ax[d].fixed[0] && at[d] == 0) || (ax[d].fixed[1] && at[d] == ax[d].n_coarse - 1);
            low[d] = high[d] = at[d];
            if (!ax[d].halved) continue;
            const int cell = at[d] / ax[d].k, inside = at[d] % ax[d].k != 0;
            low[d] = 2 * ax[d].k * (inside ? cell : cell - 1);
            high[d] = 2 * ax[d].k * (cell + 1);
            if (!ax[d].periodic && low[d] < 0) low[d] = 0;
            if (!ax[d].periodic && high[d] > ax[d].n_fine - 1) high[d] = ax[d].n_fine - 1;
            if (ax[d].periodic && high[d] - low[d] >= ax[d].n_fine) high[d] = low[d] + ax[d].n_fine - 1;
        }
        R sum = 0;
        for (int z = low[2]; z <= high[2]; z++)
            for (int y = low[1]; y <= high[1]; y++)
                for (int x = low[0]; x <= high[0]; x++) {
                    const int fine[3] = {(x + ax[0].n_fine) % ax[0].n_fine, (y + ax[1].n_fine) % ax[1].n_fine,
                                         (z + ax[2].n_fine) % ax[2].n_fine};
                    R w = 1;
                    for (int d = 0; d < 3; d++) {
                        int first;
                        const R *row;
                        const int count = weights<R>(ax[d], p.tables[d], fine[d], &first, &row);
                        R part = 0;
                        for (int i = 0; i < count; i++)
                            if ((first + i) % ax[d].n_coarse == at[d]) part += row ? row[i] : R(1);
                        w *= part;
                    }
                    if (w != 0)
                        sum += w * p.from[fine[0] + ((int64_t)fine[1] + (int64_t)fine[2] * ax[1].n_fine) *
                                                        ax[0].n_fine];
                }
        p.to[node] = fixed ? R(0) : sum;
    }
}

template <typename R> void transfer(const struct brick_transfer *t, const R *from, R *to, bool up) {
    const struct brick_transfer_axis *ax = t->axis;
    bool regular = true;
    for (int d = 0; d < 3; d++)
        regular = regular && ax[d].halved && ax[d].n_tables == 1 && ax[d].k == ax[0].k &&
                  !(ax[d].periodic && ax[d].n_cells == 1);
    for (int d = 1; d < 3 && regular; d++) // the same split everywhere
        for (int i = 0; i < (2 * ax[0].k + 1) * (ax[0].k + 1); i++)
            regular = regular && ax[d].host[i] == ax[0].host[i];
    const bool halves =
        regular && ax[0].k == 1 && ax[0].host[2] == 0.5 && ax[1].n_fine < 262140 && ax[2].n_fine < 65536;
    switch (regular ? ax[0].k : 0) {
    case 1:
        return halves ? run_linear_transfer<R>(t, from, to, up) : run_transfer<R, 2>(t, from, to, up);
    case 2:
        return run_transfer<R, 3>(t, from, to, up);
    case 3:
        return run_transfer<R, 4>(t, from, to, up);
    case 4:
        return run_transfer<R, 5>(t, from, to, up);
    case 5:
        return run_transfer<R, 6>(t, from, to, up);
    case 6:
        return run_transfer<R, 7>(t, from, to, up);
    case 7:
        return run_transfer<R, 8>(t, from, to, up);
    case 8:
        return run_transfer<R, 9>(t, from, to, up);
    default:
        break;
    }
    plain_transfer<R> l;
    l.t = *t;
    for (int d = 0; d < 3; d++) l.tables[d] = plain<R>(ax[d].tables, ax[d].single);
    l.from = from;
    l.to = to;
    if (!may_launch()) return;
    const int64_t n = up ? (int64_t)ax[0].n_fine * ax[1].n_fine * ax[2].n_fine
                         : (int64_t)ax[0].n_coarse * ax[1].n_coarse * ax[2].n_coarse;
    const int64_t blocks = (n + 127) / 128, most = 64 * (int64_t)multiprocessors();
    if (up)
        plain_prolong<R><<<(unsigned)(blocks < most ? blocks : most), 128>>>(l);
    else
        plain_restrict<R><<<(unsigned)(blocks < most ? blocks : most), 128>>>(l);
    launched(up ? "brick_prolong" : "brick_restrict");
}

} // namespace
} // namespace facet

int64_t transfer_scratch_cuda(const struct brick_transfer *) {
    return 0;
}

#define ENTRIES(REAL, NAME)                                                                                  \
    void NAME(brick_prolong)(const struct brick_transfer *t, const REAL *coarse, REAL *fine, REAL *) {       \
        facet::transfer<REAL>(t, coarse, fine, true);                                                        \
    }                                                                                                        \
    void NAME(brick_restrict)(const struct brick_transfer *t, const REAL *fine, REAL *coarse, REAL *) {      \
        facet::transfer<REAL>(t, fine, coarse, false);                                                       \
    }
ENTRIES(double, DOUBLE_NAME)
ENTRIES(float, SINGLE_NAME)
