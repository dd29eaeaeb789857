// The operator of continuous elements on a brick, and its diagonal.
//
// Cells share nodes, and contributions are added without atomics, in an order that is always the same: cells
// are coloured, one launch for each colour, and the first colour that touches a node writes it. In the
// operator a block goes through a chunk of a column of cells along the last direction, keeping what the upper
// nodes of a cell receive in registers until the next cell adds to it.
#include "kernels/cuda/brick_row.cuh"
#include "kernels/cuda/colour.cuh"
#include "kernels/cuda/internal.cuh"
#include "kernels/cuda/patch.cuh"

namespace facet {

namespace {

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

template <typename R, int N>
void run_apply(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y) {
    apply_launch<R, N> l;
    const struct brick_element_layout at = ::brick_element_layout(N - 1);
    const double *table = c->element[0].host;
    for (int i = 0; i < l.E * l.E + l.O * l.O; i++) l.F[i] = (R)table[at.F + i];
    for (int i = 0; i < N; i++) l.eigenvalues[i] = (R)table[at.eigenvalues + i];
    describe_brick(c, a, x, b, f, y, l);
    l.conductivity = c->conductivity;
    l.reaction = c->reaction;
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
    brick_rows<R> rows;
    R a, b;
    const R *x, *f;
    R *y;
    int diagonal;
};
template <typename R> __global__ void plain_kernel(const __grid_constant__ plain_launch<R> p) {
    const struct brick_cells &c = p.rows.cells;
    const int64_t n = (int64_t)c.n_nodes[0] * c.n_nodes[1] * c.n_nodes[2];
    for (int64_t node = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; node < n;
         node += (int64_t)gridDim.x * blockDim.x) {
        const int at[3] = {(int)(node % c.n_nodes[0]), (int)(node / c.n_nodes[0] % c.n_nodes[1]),
                           (int)(node / c.n_nodes[0] / c.n_nodes[1])};
        const cells_around around(c, at);
        R sum = 0;
        for (int s = 0; s < around.total(); s++) {
            const cell_row<R> row(p.rows, around, s);
            for (int z = 0; z <= c.element[2].k; z++)
                for (int y = 0; y <= c.element[1].k; y++)
                    for (int x = 0; x <= c.element[0].k; x++) {
                        const int64_t to = row.node(x, y, z);
                        if (p.diagonal && to != node) continue;
                        sum += p.diagonal ? row.entry(x, y, z) : row.entry(x, y, z) * p.x[to];
                    }
        }
        if (p.diagonal)
            p.y[node] = around.fixed ? R(1) : sum;
        else
            p.y[node] = around.fixed ? R(0) : p.a * sum + (p.f != nullptr ? p.b * p.f[node] : R(0));
    }
}
template <typename R>
void run_plain(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y, int diagonal) {
    plain_launch<R> l;
    l.rows = rows_of_brick<R>(c);
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

// ------------------------------------------------------------------------------ the scale of patches

__global__ void vertex_kernel(const __grid_constant__ struct brick_cells c, int n_0, double *vertices) {
    const int at[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)blockIdx.y, (int)blockIdx.z};
    if (at[0] < n_0)
        vertices[((int64_t)at[2] * gridDim.y + at[1]) * n_0 + at[0]] = brick_vertex_scale(&c, at);
}
__global__ void scale_kernel(const __grid_constant__ struct brick_cells c, const double *nodes,
                             const double *vertices, double *scale) {
    const int at[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)blockIdx.y, (int)blockIdx.z};
    if (at[0] < c.n_nodes[0])
        scale[((int64_t)at[2] * c.n_nodes[1] + at[1]) * c.n_nodes[0] + at[0]] =
            brick_node_scale(&c, nodes, vertices, at);
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
    describe_brick(c, a, x, b, f, y, l);
    l.chunk = c->n_nodes[2] > 64 ? 32 : 8;
    if (!may_launch()) return;
    const dim3 threads(32, 4),
        blocks((unsigned)((c->n_nodes[0] + 31) / 32), (unsigned)((c->n_nodes[1] + 3) / 4),
               (unsigned)((c->n_nodes[2] + l.chunk - 1) / l.chunk));
    linear_kernel<R><<<blocks, threads>>>(l);
    launched("brick_apply");
}

template <typename R>
void apply(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y) {
    const int k = c->element[0].k;
    if (apply_uniform<R>(c, a, x, b, f, y)) return;
    bool solid = c->element[1].k == k && c->element[2].k == k;
    for (int d = 0; d < 3; d++) solid = solid && !(c->periodic[d] && c->cells[d] == 1);
    if (solid && k == 1 && c->conductivity == nullptr && c->reaction == nullptr && c->n_nodes[1] < 262140 &&
        c->n_nodes[2] < 65536)
        run_linear<R>(c, a, x, b, f, y);
    else if (!with_constant<1, 2, 3, 4, 5, 6, 7, 8>(solid ? k : 0, [&](auto degree) {
                 run_apply<R, decltype(degree)::value + 1>(c, a, x, b, f, y);
             }))
        run_plain<R>(c, a, x, b, f, y, 0);
}

} // namespace
} // namespace facet

#define ENTRIES(REAL, NAME)                                                                                  \
    void NAME(brick_apply)(const struct brick_cells *c, double a, const REAL *x, double b, const REAL *f,    \
                           REAL *y, REAL *) {                                                                \
        facet::apply<REAL>(c, a, x, b, f, y);                                                                \
    }                                                                                                        \
    void NAME(brick_diagonal)(const struct brick_cells *c, REAL *d) {                                        \
        facet::run_plain<REAL>(c, 1.0, nullptr, 0.0, nullptr, d, 1);                                         \
    }
ENTRIES(double, DOUBLE_NAME)
ENTRIES(float, SINGLE_NAME)

void brick_scale_cuda(const struct brick_cells *c, const double *nodes, double *vertices, double *scale) {
    constexpr unsigned threads = 128;
    const unsigned n[3] = {(unsigned)brick_n_vertices(c, 0), (unsigned)brick_n_vertices(c, 1),
                           (unsigned)brick_n_vertices(c, 2)};
    if (!facet::may_launch()) return;
    facet::vertex_kernel<<<dim3((n[0] + threads - 1) / threads, n[1], n[2]), threads>>>(*c, (int)n[0],
                                                                                        vertices);
    facet::scale_kernel<<<dim3((c->n_nodes[0] + threads - 1) / threads, c->n_nodes[1], c->n_nodes[2]),
                          threads>>>(*c, nodes, vertices, scale);
    facet::launched("brick_scale");
}
