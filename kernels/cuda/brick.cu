// The operator of continuous elements on a brick, its diagonal, and the transfers between bricks.
//
// Cells share nodes, and contributions are added without atomics, in an order that is always the same: cells
// are coloured, one launch for each colour, and the first colour that touches a node writes it. In the
// operator a block goes through a chunk of a column of cells along the last direction, keeping what the upper
// nodes of a cell receive in registers until the next cell adds to it.
#include <type_traits>

#include "kernels/cuda/internal.cuh"
#include "kernels/cuda/patch.cuh"

namespace facet {

namespace {

// The colours of n things in a row, a ring of an odd number needing three.
__host__ __device__ inline int colour_of(int i, int n, int periodic) {
    return periodic && n % 2 == 1 && n > 1 && i == n - 1 ? 2 : i % 2;
}
inline int colours_of(int n, int periodic) {
    return n == 1 ? 1 : periodic && n % 2 == 1 ? 3 : 2;
}
// Things of one colour, and the c-th of them.
inline int count_of(int n, int periodic, int colour) {
    const int ring = periodic && n % 2 == 1 && n > 1;
    if (colour == 2) return 1;
    const int m = ring ? n - 1 : n;
    return (m - colour + 1) / 2;
}
__device__ inline int item_of(int c, int n, int colour) {
    return colour == 2 ? n - 1 : 2 * c + colour;
}
// Whether thing i of its colour is the first to touch what lies on its lower (side 0) or upper end.
__device__ inline bool touches_first(int i, int n, int periodic, int side) {
    if (n == 1) return true;
    int other = side ? i + 1 : i - 1;
    if (other < 0 || other >= n) {
        if (!periodic) return true;
        other = (other + n) % n;
    }
    return colour_of(i, n, periodic) < colour_of(other, n, periodic);
}

// ------------------------------------------------------------------------------ the operator

template <typename R, int N> struct apply_launch {
    static constexpr int E = even_of<N>, O = odd_of<N>;
    R F[E * E + O * O], eigenvalues[N];
    R a, b, k, lambda;
    int cells[3], periodic[3], fixed[3][2], n_nodes[3];
    int chunk, chunks;       // cells of a chunk along the last direction
    int colour[3], count[3]; // columns and chunks of this launch
    const double *widths[3], *conductivity, *reaction;
    const R *x, *f;
    R *y;
};

template <int N> constexpr int columns_of = N *N >= 96 ? 1 : 160 / (N * N) > 32 ? 32 : 160 / (N * N);
template <int N> constexpr int apply_threads = (columns_of<N> * N * N + 31) / 32 * 32;

template <typename R, int N>
__global__ void __launch_bounds__(apply_threads<N>)
    apply_kernel(const __grid_constant__ apply_launch<R, N> p) {
    __shared__ R all[columns_of<N>][N][N][N];
    const int which = threadIdx.x / (N * N), line = threadIdx.x % (N * N), u = line % N, v = line / N;
    const int64_t total = (int64_t)p.count[0] * p.count[1] * p.count[2];
    const int64_t number = (int64_t)blockIdx.x * columns_of<N> + which;
    const bool active = which < columns_of<N> && number < total;
    const int64_t safe = active ? number : 0;
    const int ix = item_of((int)(safe % p.count[0]), p.cells[0], p.colour[0]);
    const int iy = item_of((int)(safe / p.count[0] % p.count[1]), p.cells[1], p.colour[1]);
    const int chunk = item_of((int)(safe / p.count[0] / p.count[1]), p.chunks, p.colour[2]);
    const int begin = chunk * p.chunk, end = begin + p.chunk < p.cells[2] ? begin + p.chunk : p.cells[2];
    R(&V)[N][N][N] = all[which < columns_of<N> ? which : 0];

    int X = ix * (N - 1) + u, Y = iy * (N - 1) + v;
    bool fixed = (p.fixed[0][0] && X == 0) || (p.fixed[0][1] && X == p.n_nodes[0] - 1) ||
                 (p.fixed[1][0] && Y == 0) || (p.fixed[1][1] && Y == p.n_nodes[1] - 1);
    if (X >= p.n_nodes[0]) X -= p.n_nodes[0];
    if (Y >= p.n_nodes[1]) Y -= p.n_nodes[1];
    bool first = true;
    if (u == 0) first = first && touches_first(ix, p.cells[0], p.periodic[0], 0);
    if (u == N - 1) first = first && touches_first(ix, p.cells[0], p.periodic[0], 1);
    if (v == 0) first = first && touches_first(iy, p.cells[1], p.periodic[1], 0);
    if (v == N - 1) first = first && touches_first(iy, p.cells[1], p.periodic[1], 1);
    const int64_t plane = (int64_t)p.n_nodes[0] * p.n_nodes[1], base = X + (int64_t)Y * p.n_nodes[0];
    const double hx = p.widths[0][ix], hy = p.widths[1][iy];

    auto write = [&](int z, R value, bool first_here) {
        const int64_t at = base + (int64_t)(z >= p.n_nodes[2] ? z - p.n_nodes[2] : z) * plane;
        const bool hold = fixed || (p.fixed[2][0] && z == 0) || (p.fixed[2][1] && z == p.n_nodes[2] - 1);
        R sum = first_here ? (p.f != nullptr ? p.b * p.f[at] : R(0)) : p.y[at];
        p.y[at] = hold ? R(0) : sum + p.a * value;
    };

    R in[N], out[N], z[N], carry = 0, top = 0;
    if (active) top = p.x[base + (int64_t)begin * (N - 1) * plane];
    for (int iz = begin; iz < end; iz++) {
        R k = p.k, lambda = p.lambda;
        const double hz = p.widths[2][iz];
        if (active) {
            const int64_t cell = ((int64_t)iz * p.cells[1] + iy) * p.cells[0] + ix;
            if (p.conductivity != nullptr) k = (R)p.conductivity[cell];
            if (p.reaction != nullptr) lambda = (R)p.reaction[cell];
            z[0] = top;
#pragma unroll
            for (int c = 1; c < N; c++) {
                const int node = iz * (N - 1) + c;
                z[c] = p.x[base + (int64_t)(node >= p.n_nodes[2] ? node - p.n_nodes[2] : node) * plane];
            }
            top = z[N - 1];
            to_modes<R, N, true>(p.F, z, out);
#pragma unroll
            for (int c = 0; c < N; c++) V[c][v][u] = out[c];
        }
        __syncthreads();
        if (active) { // along 1: line (u, c = v)
#pragma unroll
            for (int j = 0; j < N; j++) in[j] = V[v][j][u];
            to_modes<R, N, true>(p.F, in, out);
#pragma unroll
            for (int j = 0; j < N; j++) V[v][j][u] = out[j];
        }
        __syncthreads();
        if (active) { // along 0: line (b = u, c = v), with the factor of each mode
            const R vx = (R)(hy * hz / hx) * k, vy = (R)(hx * hz / hy) * k, vz = (R)(hx * hy / hz) * k;
            const R rest = (R)(hx * hy * hz) * lambda + vy * p.eigenvalues[u] + vz * p.eigenvalues[v];
#pragma unroll
            for (int i = 0; i < N; i++) in[i] = V[v][u][i];
            to_modes<R, N, true>(p.F, in, out);
#pragma unroll
            for (int i = 0; i < N; i++) out[i] *= rest + vx * p.eigenvalues[i];
            to_nodes<R, N, true>(p.F, out, in);
#pragma unroll
            for (int i = 0; i < N; i++) V[v][u][i] = in[i];
        }
        __syncthreads();
        if (active) {
#pragma unroll
            for (int j = 0; j < N; j++) in[j] = V[v][j][u];
            to_nodes<R, N, true>(p.F, in, out);
#pragma unroll
            for (int j = 0; j < N; j++) V[v][j][u] = out[j];
        }
        __syncthreads();
        if (active) {
#pragma unroll
            for (int c = 0; c < N; c++) in[c] = V[c][v][u];
            to_nodes<R, N, true>(p.F, in, z);
            write(iz * (N - 1), z[0] + carry,
                  first && (iz > begin || touches_first(chunk, p.chunks, p.periodic[2] && p.chunks > 1, 0)));
#pragma unroll
            for (int c = 1; c < N - 1; c++) write(iz * (N - 1) + c, z[c], first);
            carry = z[N - 1];
        }
        __syncthreads();
    }
    if (active) {
        const bool ring = p.periodic[2] && p.chunks == 1; // the lowest nodes, which this thread wrote
        write(end * (N - 1), carry, !ring && first && touches_first(chunk, p.chunks, p.periodic[2], 1));
    }
}

template <typename R> const R *plain(const double *table, const float *single) {
    if constexpr (std::is_same_v<R, double>)
        return table;
    else
        return single;
}

template <typename R, int N>
void run_apply(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y) {
    apply_launch<R, N> l;
    const struct brick_element_layout at = ::brick_element_layout(N - 1);
    const double *table = c->element[0].host;
    for (int i = 0; i < l.E * l.E + l.O * l.O; i++) l.F[i] = (R)table[at.F + i];
    for (int i = 0; i < N; i++) l.eigenvalues[i] = (R)table[at.eigenvalues + i];
    l.a = (R)a;
    l.b = (R)b;
    l.k = (R)c->k;
    l.lambda = (R)c->lambda;
    for (int d = 0; d < 3; d++) {
        l.cells[d] = c->cells[d];
        l.periodic[d] = c->periodic[d];
        l.n_nodes[d] = c->n_nodes[d];
        l.widths[d] = c->widths[d];
        for (int s = 0; s < 2; s++) l.fixed[d][s] = c->fixed[d][s];
    }
    l.conductivity = c->conductivity;
    l.reaction = c->reaction;
    l.x = x;
    l.f = b != 0.0 ? f : nullptr;
    l.y = y;
    // Chunks so short that all multiprocessors have enough to do, and no shorter.
    const int64_t columns = (int64_t)c->cells[0] * c->cells[1] / 4 + 1;
    const int64_t wanted = 16 * (int64_t)multiprocessors() * columns_of<N> / columns + 1;
    int chunks = wanted < 2 ? 1 : (int)(wanted < c->cells[2] ? wanted : c->cells[2]);
    if (c->periodic[2] && chunks > 1) {
        chunks -= chunks % 2; // neighbours on a ring have different colours
        if (chunks < 2) chunks = c->cells[2] > 1 ? 2 : 1;
    }
    l.chunk = (c->cells[2] + chunks - 1) / chunks;
    l.chunks = (c->cells[2] + l.chunk - 1) / l.chunk;
    if (c->periodic[2] && l.chunks > 1 && l.chunks % 2 == 1) {
        l.chunk = c->cells[2];
        l.chunks = 1;
    }
    for (l.colour[2] = 0; l.colour[2] < colours_of(l.chunks, 0); l.colour[2]++)
        for (l.colour[1] = 0; l.colour[1] < colours_of(c->cells[1], c->periodic[1]); l.colour[1]++)
            for (l.colour[0] = 0; l.colour[0] < colours_of(c->cells[0], c->periodic[0]); l.colour[0]++) {
                l.count[0] = count_of(c->cells[0], c->periodic[0], l.colour[0]);
                l.count[1] = count_of(c->cells[1], c->periodic[1], l.colour[1]);
                l.count[2] = count_of(l.chunks, 0, l.colour[2]);
                const int64_t total = (int64_t)l.count[0] * l.count[1] * l.count[2];
                if (total == 0 || !may_launch()) continue;
                constexpr int threads = apply_threads<N>, columns_here = columns_of<N>;
                apply_kernel<R, N><<<(unsigned)((total + columns_here - 1) / columns_here), threads>>>(l);
                launched("brick_apply");
            }
}

// Any brick, a thread for every node: for the few bricks that the above does not know.
template <typename R> struct plain_launch {
    struct brick_cells cells;
    const R *mass[3], *stiffness[3];
    R a, b;
    const R *x, *f;
    R *y;
    int diagonal;
};
template <typename R> __global__ void plain_kernel(const __grid_constant__ plain_launch<R> p) {
    const struct brick_cells &c = p.cells;
    const int64_t n = (int64_t)c.n_nodes[0] * c.n_nodes[1] * c.n_nodes[2];
    for (int64_t node = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; node < n;
         node += (int64_t)gridDim.x * blockDim.x) {
        const int at[3] = {(int)(node % c.n_nodes[0]), (int)(node / c.n_nodes[0] % c.n_nodes[1]),
                           (int)(node / c.n_nodes[0] / c.n_nodes[1])};
        int first[3], count[3], local[3][2];
        bool fixed = false;
        for (int d = 0; d < 3; d++) {
            const int k = c.element[d].k;
            fixed = fixed || (c.fixed[d][0] && at[d] == 0) || (c.fixed[d][1] && at[d] == c.n_nodes[d] - 1);
            first[d] = 0;
            count[d] = 1;
            local[d][0] = at[d];
            if (k == 0) continue;
            first[d] = at[d] / k;
            local[d][0] = at[d] % k;
            if (local[d][0] == 0 && (at[d] > 0 || c.periodic[d])) { // the upper end of a cell, too
                const bool last = !c.periodic[d] && at[d] == c.n_nodes[d] - 1;
                first[d] = first[d] - 1;
                local[d][0] = k;
                local[d][1] = 0;
                count[d] = last ? 1 : 2;
            }
        }
        R sum = 0;
        for (int s = 0; s < count[0] * count[1] * count[2]; s++) {
            const int which[3] = {s % count[0], s / count[0] % count[1], s / count[0] / count[1]};
            int cell[3];
            const R *M[3], *A[3];
            R h[3];
            for (int d = 0; d < 3; d++) {
                const int k = c.element[d].k;
                cell[d] = (first[d] + which[d] + c.cells[d]) % c.cells[d];
                M[d] = p.mass[d] + local[d][which[d]] * (k + 1);
                A[d] = p.stiffness[d] + local[d][which[d]] * (k + 1);
                h[d] = (R)c.widths[d][cell[d]];
            }
            const int64_t number = ((int64_t)cell[2] * c.cells[1] + cell[1]) * c.cells[0] + cell[0];
            const R k = c.conductivity ? (R)c.conductivity[number] : (R)c.k;
            const R lambda = c.reaction ? (R)c.reaction[number] : (R)c.lambda;
            for (int z = 0; z <= c.element[2].k; z++)
                for (int y = 0; y <= c.element[1].k; y++)
                    for (int x = 0; x <= c.element[0].k; x++) {
                        const int i[3] = {x, y, z};
                        int64_t to = 0;
                        for (int d = 2; d >= 0; d--)
                            to = to * c.n_nodes[d] + (cell[d] * c.element[d].k + i[d]) % c.n_nodes[d];
                        if (p.diagonal && to != node) continue;
                        const R mx = h[0] * M[0][x], my = h[1] * M[1][y], mz = h[2] * M[2][z];
                        const R w = lambda * mx * my * mz +
                                    k * (A[0][x] / h[0] * my * mz + mx * (A[1][y] / h[1]) * mz +
                                         mx * my * (A[2][z] / h[2]));
                        sum += p.diagonal ? w : w * p.x[to];
                    }
        }
        if (p.diagonal)
            p.y[node] = fixed ? R(1) : sum;
        else
            p.y[node] = fixed ? R(0) : p.a * sum + (p.f != nullptr ? p.b * p.f[node] : R(0));
    }
}
template <typename R>
void run_plain(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y, int diagonal) {
    plain_launch<R> l;
    l.cells = *c;
    for (int d = 0; d < 3; d++) {
        const struct brick_element_layout at = ::brick_element_layout(c->element[d].k);
        const R *table = plain<R>(c->element[d].table, c->element[d].single);
        l.mass[d] = table + at.mass;
        l.stiffness[d] = table + at.stiffness;
    }
    l.a = (R)a;
    l.b = (R)b;
    l.x = x;
    l.f = b != 0.0 ? f : nullptr;
    l.y = y;
    l.diagonal = diagonal;
    if (!may_launch()) return;
    const int64_t blocks = (brick_n_nodes(c) + 127) / 128, most = 64 * (int64_t)multiprocessors();
    plain_kernel<R><<<(unsigned)(blocks < most ? blocks : most), 128>>>(l);
    launched(diagonal ? "brick_diagonal" : "brick_apply");
}

// ------------------------------------------------------------------------------ degree 1

// Nodes instead of cells: with one k and one lambda the product is a stencil, in every direction the rows of
// M and A of a node.
struct linear_rows {
    double M[3], A[3];
};
__device__ inline linear_rows rows_of(const double *widths, int cells, int periodic, int i) {
    const double l = i > 0 ? widths[i - 1] : periodic ? widths[cells - 1] : 0.0;
    const double r = i < cells ? widths[i] : 0.0, al = l > 0.0 ? 1.0 / l : 0.0, ar = r > 0.0 ? 1.0 / r : 0.0;
    return {{l / 6.0, (l + r) / 3.0, r / 6.0}, {-al, al + ar, -ar}};
}

template <typename R> struct linear_launch {
    int cells[3], periodic[3], fixed[3][2], n_nodes[3], chunk;
    const double *widths[3];
    R a, b, k, lambda;
    const R *x, *f;
    R *y;
};

// A thread goes through a chunk of a column of nodes; what a plane gives along 0 and 1 serves for three
// planes.
template <typename R> __global__ void linear_kernel(const __grid_constant__ linear_launch<R> p) {
    const int X = blockIdx.x * blockDim.x + threadIdx.x, Y = blockIdx.y * blockDim.y + threadIdx.y;
    const int begin = blockIdx.z * p.chunk,
              end = begin + p.chunk < p.n_nodes[2] ? begin + p.chunk : p.n_nodes[2];
    if (X >= p.n_nodes[0] || Y >= p.n_nodes[1]) return;
    const linear_rows r0 = rows_of(p.widths[0], p.cells[0], p.periodic[0], X);
    const linear_rows r1 = rows_of(p.widths[1], p.cells[1], p.periodic[1], Y);
    int x[3], y[3];
    for (int i = 0; i < 3; i++) {
        x[i] = X + i - 1;
        y[i] = Y + i - 1;
        if (p.periodic[0]) x[i] = wrapped(x[i], p.n_nodes[0]);
        if (p.periodic[1]) y[i] = wrapped(y[i], p.n_nodes[1]);
        x[i] = x[i] < 0 || x[i] >= p.n_nodes[0] ? X : x[i]; // with the factor zero
        y[i] = y[i] < 0 || y[i] >= p.n_nodes[1] ? Y : y[i];
    }
    const bool fixed = (p.fixed[0][0] && X == 0) || (p.fixed[0][1] && X == p.n_nodes[0] - 1) ||
                       (p.fixed[1][0] && Y == 0) || (p.fixed[1][1] && Y == p.n_nodes[1] - 1);
    const int64_t plane = (int64_t)p.n_nodes[0] * p.n_nodes[1];
    R mass[3], stiff[3]; // of the planes below, here and above
    auto take = [&](int z, int slot) {
        mass[slot] = stiff[slot] = 0;
        if (p.periodic[2]) z = wrapped(z, p.n_nodes[2]);
        if (z < 0 || z >= p.n_nodes[2]) return;
        const R *at = p.x + z * plane;
#pragma unroll
        for (int j = 0; j < 3; j++) {
            R m = 0, a = 0;
#pragma unroll
            for (int i = 0; i < 3; i++) {
                const R value = at[x[i] + (int64_t)y[j] * p.n_nodes[0]];
                m += (R)r0.M[i] * value;
                a += (R)r0.A[i] * value;
            }
            mass[slot] += (R)r1.M[j] * m;
            stiff[slot] += (R)r1.M[j] * a + (R)r1.A[j] * m;
        }
    };
    take(begin - 1, 0);
    take(begin, 1);
    for (int z = begin; z < end; z++) {
        take(z + 1, 2);
        const linear_rows r2 = rows_of(p.widths[2], p.cells[2], p.periodic[2], z);
        R sum = 0;
#pragma unroll
        for (int i = 0; i < 3; i++)
            sum += (R)r2.M[i] * (p.k * stiff[i] + p.lambda * mass[i]) + p.k * (R)r2.A[i] * mass[i];
        const int64_t at = X + (int64_t)Y * p.n_nodes[0] + z * plane;
        const bool hold = fixed || (p.fixed[2][0] && z == 0) || (p.fixed[2][1] && z == p.n_nodes[2] - 1);
        p.y[at] = hold ? R(0) : p.a * sum + (p.f != nullptr ? p.b * p.f[at] : R(0));
        mass[0] = mass[1];
        stiff[0] = stiff[1];
        mass[1] = mass[2];
        stiff[1] = stiff[2];
    }
}

template <typename R>
void run_linear(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y) {
    linear_launch<R> l;
    for (int d = 0; d < 3; d++) {
        l.cells[d] = c->cells[d];
        l.periodic[d] = c->periodic[d];
        l.n_nodes[d] = c->n_nodes[d];
        l.widths[d] = c->widths[d];
        for (int s = 0; s < 2; s++) l.fixed[d][s] = c->fixed[d][s];
    }
    l.a = (R)a;
    l.b = (R)b;
    l.k = (R)c->k;
    l.lambda = (R)c->lambda;
    l.x = x;
    l.f = b != 0.0 ? f : nullptr;
    l.y = y;
    l.chunk = c->n_nodes[2] > 64 ? 32 : 8;
    if (!may_launch()) return;
    const dim3 threads(32, 4),
        blocks((unsigned)((c->n_nodes[0] + 31) / 32), (unsigned)((c->n_nodes[1] + 3) / 4),
               (unsigned)((c->n_nodes[2] + l.chunk - 1) / l.chunk));
    linear_kernel<R><<<blocks, threads>>>(l);
    launched("brick_apply");
}

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

template <typename R>
void apply(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y) {
    const int k = c->element[0].k;
    bool solid = c->element[1].k == k && c->element[2].k == k;
    for (int d = 0; d < 3; d++) solid = solid && !(c->periodic[d] && c->cells[d] == 1);
    switch (solid ? k : 0) {
    case 1:
        return c->conductivity == nullptr && c->reaction == nullptr && c->n_nodes[1] < 262140 &&
                       c->n_nodes[2] < 65536
                   ? run_linear<R>(c, a, x, b, f, y)
                   : run_apply<R, 2>(c, a, x, b, f, y);
    case 2:
        return run_apply<R, 3>(c, a, x, b, f, y);
    case 3:
        return run_apply<R, 4>(c, a, x, b, f, y);
    case 4:
        return run_apply<R, 5>(c, a, x, b, f, y);
    case 5:
        return run_apply<R, 6>(c, a, x, b, f, y);
    case 6:
        return run_apply<R, 7>(c, a, x, b, f, y);
    case 7:
        return run_apply<R, 8>(c, a, x, b, f, y);
    case 8:
        return run_apply<R, 9>(c, a, x, b, f, y);
    default:
        return run_plain<R>(c, a, x, b, f, y, 0);
    }
}

// ------------------------------------------------------------------------------ transfers

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

int64_t brick_scratch_cuda(const struct brick_cells *) {
    return 0;
}
int64_t transfer_scratch_cuda(const struct brick_transfer *) {
    return 0;
}
#define ENTRIES(REAL, NAME)                                                                                  \
    void NAME(brick_apply)(const struct brick_cells *c, double a, const REAL *x, double b, const REAL *f,    \
                           REAL *y, REAL *) {                                                                \
        facet::apply<REAL>(c, a, x, b, f, y);                                                                \
    }                                                                                                        \
    void NAME(brick_diagonal)(const struct brick_cells *c, REAL *d) {                                        \
        facet::run_plain<REAL>(c, 1.0, nullptr, 0.0, nullptr, d, 1);                                         \
    }                                                                                                        \
    void NAME(brick_prolong)(const struct brick_transfer *t, const REAL *coarse, REAL *fine, REAL *) {       \
        facet::transfer<REAL>(t, coarse, fine, true);                                                        \
    }                                                                                                        \
    void NAME(brick_restrict)(const struct brick_transfer *t, const REAL *fine, REAL *coarse, REAL *) {      \
        facet::transfer<REAL>(t, fine, coarse, false);                                                       \
    }
ENTRIES(double, DOUBLE_NAME)
ENTRIES(float, SINGLE_NAME)
