// Transfers between a brick and one of half the cells or of a lower degree, node by node: at degree 1, and
// for any brick that embed.cu does not know.
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

// ------------------------------------------------------------------------------ node by node

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
    if (!ax.refined) {
        *first = i;
        *row = nullptr;
        return 1;
    }
    int cell = i / ax.r, local = i % ax.r;
    if (cell == ax.n_cells) { // the last node
        cell--;
        local = ax.r;
    }
    *first = cell * ax.k;
    *row = tables + ((int64_t)ax.which[cell] * (ax.r + 1) + local) * (ax.k + 1);
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
            if (!ax[d].refined) continue;
            const int cell = at[d] / ax[d].k, inside = at[d] % ax[d].k != 0;
            low[d] = ax[d].r * (inside ? cell : cell - 1);
            high[d] = ax[d].r * (cell + 1);
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
        regular = regular && ax[d].refined && ax[d].n_tables == 1 && ax[d].k == ax[0].k &&
                  ax[d].r == 2 * ax[d].k && !(ax[d].periodic && ax[d].n_cells == 1);
    for (int d = 1; d < 3 && regular; d++) // the same split everywhere
        for (int i = 0; i < (2 * ax[0].k + 1) * (ax[0].k + 1); i++)
            regular = regular && ax[d].host[i] == ax[0].host[i];
    const bool halves =
        regular && ax[0].k == 1 && ax[0].host[2] == 0.5 && ax[1].n_fine < 262140 && ax[2].n_fine < 65536;
    if (halves) return run_linear_transfer<R>(t, from, to, up);
    if (regular && transfer_tiles<R>(t, from, to, up)) return;
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

#define ENTRIES(REAL, NAME)                                                                                  \
    void NAME(brick_prolong)(const struct brick_transfer *t, const REAL *coarse, REAL *fine, REAL *) {       \
        facet::transfer<REAL>(t, coarse, fine, true);                                                        \
    }                                                                                                        \
    void NAME(brick_restrict)(const struct brick_transfer *t, const REAL *fine, REAL *coarse, REAL *) {      \
        facet::transfer<REAL>(t, fine, coarse, false);                                                       \
    }
ENTRIES(double, DOUBLE_NAME)
ENTRIES(float, SINGLE_NAME)
