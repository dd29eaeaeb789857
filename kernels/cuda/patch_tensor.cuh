// Vertex patches of (2k - 1)^3 nodes on the FP64 tensor cores: one colour of the patches inside a uniform
// brick per launch, k = 3 .. 8.
//
// A block of k warps solves one patch. Even and odd functions are apart, so that every matrix is at most
// 8 x 8 (E = k even ones, O = k - 1 odd ones) and a plane of nodes is four blocks, one for each pair of
// parities: a warp transforms a plane in both of its directions by products m8n8k4 without leaving its
// registers, because the accumulators of the first product have the layout that the second one takes as its
// left factor. The third direction goes through shared memory, once there and once back:
//
//     planes of b, faces of the shell -> modes of x and y | modes of z, division, nodes of z | planes -> x
//
// with a barrier at each bar. The shell is that of patch.cuh: its faces are six more planes, in sums and
// differences across their normals; their edges are one more "node" of the blocks, beside the E or O ones.
//
// Lanes. q = lane % 4, r = lane / 4. A left factor has row r and column q, a right one row q and column r, an
// accumulator row r and columns 2q, 2q + 1. Column n of a right factor stands for number swap(n) = n / 2 + 4
// (n % 2), so that the two accumulators are numbers q and q + 4, just what the next product takes in its two
// steps of four.
#ifndef FACET_KERNELS_CUDA_PATCH_TENSOR_CUH
#define FACET_KERNELS_CUDA_PATCH_TENSOR_CUH

#include "kernels/cuda/patch.cuh"

namespace facet {

template <int K> struct tensor_shape {
    static constexpr int M = 2 * K - 1, E = K, O = K - 1;
    static constexpr int STEPS = (E + 3) / 4, STEPS_EDGE = (E + 4) / 4; // of four, without and with the edge
    static constexpr int TILES_EDGE = (E + 8) / 8;                      // columns of a plane with its edge
    static constexpr int WIDTH = E > 4 ? 8 : 4, ROW = 2 * WIDTH;        // shared memory: even, then odd modes
    static constexpr int PLANE = ROW * M + 4; // 4 or 12 modulo 16: planes lie in different banks
    static constexpr int ROW_TILES = ROW / 8, TILES = M * ROW_TILES;
    static constexpr int THREADS = 32 * K;
    static constexpr int FACE = M * ROW; // numbers
};
template <int K> struct tensor_shared {
    using shape = tensor_shape<K>;
    double volume[shape::M * shape::PLANE];
    double P0[2][shape::FACE], Q0[2][shape::FACE]; // [b][c]
    double P1[2][shape::FACE], Q1[2][shape::FACE]; // [a][c]
    double Q2[2][shape::FACE];                     // [b][a]
};

// Factors in the order of the lanes: [parity][step][lane].
struct tensor_factor {
    double at[2][3][32];
};
// Matrices of a patch: from loads to modes and back in x, y, z; of the faces, with an edge (T|mu), (Lambda
// T|alpha), k Lambda T + lambda T, k T, and without.
struct tensor_tables {
    tensor_factor x_modes, x_nodes, y_modes, y_nodes, z_modes, z_nodes;
    tensor_factor x_nodes_rows, y_nodes_columns; // in two dimensions
    tensor_factor y_mass_edge, y_stiffness_edge, z_sum_edge, z_mass_edge, x_mass, y_mass, x_mass_columns;
    double mu0[16], alpha0[16], e0[16];       // by the columns of shared memory
    double mu1[16], alpha1[16], e1[16];       // by modes
    double mu2[2][8], alpha2[2][8], e2[2][8]; // by parity and number
    double inverse[30][4][32];                // by tiles: parity and step of z, lane
};

__host__ __device__ constexpr int swapped(int n) {
    return n / 2 + 4 * (n % 2);
}
// Conflicts are avoided by where four columns lie, which depends on the row.
template <int K> __device__ __forceinline__ int place(int row, int column) {
    using shape = tensor_shape<K>;
    return row * shape::ROW + (column ^ (shape::ROW == 16 ? (row & 3) << 2 : (row & 2) << 1));
}

__device__ __forceinline__ void mma(double (&c)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

// ------------------------------------------------------------------------------ tables

// One table of a line by half indices: S or T of a parity, 0 beyond it. The middle node stands for two.
struct tensor_line {
    const double *table;
    int m, even;
    __device__ int size(int parity) const {
        return parity ? m - even : even;
    }
    __device__ double S(int parity, int node, int mode) const {
        if (node >= size(parity) || mode >= size(parity)) return 0;
        return table[::brick_layout(m, even).B + (parity ? even * even : 0) + node * size(parity) + mode];
    }
    __device__ double T(int parity, int mode, int node) const {
        if (node >= size(parity) || mode >= size(parity)) return 0;
        return table[::brick_layout(m, even).T + (parity ? even * even : 0) + mode * size(parity) + node];
    }
    __device__ double half(int node) const {
        return node == even - 1 ? 0.5 : 1;
    }
    __device__ double of_mode(int at, int parity, int mode) const {
        return mode < size(parity) ? table[at + (parity ? even : 0) + mode] : 0;
    }
    __device__ double mu(int parity, int mode) const {
        return of_mode(::brick_layout(m, even).mu + m, parity, mode);
    }
    __device__ double alpha(int parity, int mode) const {
        return of_mode(::brick_layout(m, even).alpha + m, parity, mode);
    }
    __device__ double eigenvalue(int parity, int mode) const {
        return of_mode(::brick_layout(m, even).eigenvalues, parity, mode);
    }
    // (T|mu) and (Lambda T|alpha), with the edge as number `even`.
    __device__ double mass_edge(int parity, int mode, int node) const {
        return node == even ? mu(parity, mode) : T(parity, mode, node) * half(node);
    }
    __device__ double stiffness_edge(int parity, int mode, int node) const {
        return node == even ? alpha(parity, mode)
                            : eigenvalue(parity, mode) * T(parity, mode, node) * half(node);
    }
};

template <int K>
__global__ void fill_tables(tensor_line x, tensor_line y, tensor_line z, double k, double lambda,
                            tensor_tables *t) {
    using shape = tensor_shape<K>;
    for (int i = threadIdx.x; i < 2 * 3 * 32; i += blockDim.x) {
        const int p = i / 96, s = i / 32 % 3, lane = i % 32, q = lane % 4 + 4 * s, r = lane / 4,
                  n = swapped(r);
        auto put = [&](tensor_factor &f, double value) { f.at[p][s][lane] = value; };
        // left factors: row r, column q
        put(t->y_modes, y.S(p, q, r) * y.half(q));
        put(t->y_nodes, y.S(p, r, q));
        put(t->y_mass_edge, y.mass_edge(p, r, q));
        put(t->y_stiffness_edge, y.stiffness_edge(p, r, q));
        put(t->x_mass, x.T(p, r, q) * x.half(q));
        put(t->y_mass, y.T(p, r, q) * y.half(q));
        put(t->x_nodes_rows, x.S(p, r, q));
        // right factors: row q, column n
        put(t->x_modes, x.S(p, q, n) * x.half(q));
        put(t->z_modes, z.S(p, q, n) * z.half(q));
        put(t->z_nodes, z.S(p, n, q));
        put(t->z_mass_edge, k * z.mass_edge(p, n, q));
        put(t->z_sum_edge, k * z.stiffness_edge(p, n, q) + lambda * z.mass_edge(p, n, q));
        put(t->x_mass_columns, k * x.T(p, n, q) * x.half(q));
        // planes come back by columns of shared memory in their order, if these are eight: then the
        // accumulators are numbers 2q and 2q + 1
        const int mode = shape::WIDTH == 8 ? 2 * (lane % 4) + s : q;
        put(t->x_nodes, s < 2 ? x.S(p, n, mode) : 0);
        put(t->y_nodes_columns, s < 2 ? y.S(p, n, 2 * (lane % 4) + s) : 0);
    }
    for (int i = threadIdx.x; i < 16; i += blockDim.x) {
        const int p = i / shape::WIDTH % 2, n = i % shape::WIDTH;
        t->mu0[i] = x.mu(p, n);
        t->alpha0[i] = x.alpha(p, n);
        t->e0[i] = x.eigenvalue(p, n);
        const int b = i < shape::M ? i : 0, pb = b >= shape::E, nb = pb ? b - shape::E : b;
        t->mu1[i] = y.mu(pb, nb);
        t->alpha1[i] = y.alpha(pb, nb);
        t->e1[i] = y.eigenvalue(pb, nb);
        t->mu2[i / 8][i % 8] = z.mu(i / 8, i % 8);
        t->alpha2[i / 8][i % 8] = z.alpha(i / 8, i % 8);
        t->e2[i / 8][i % 8] = z.eigenvalue(i / 8, i % 8);
    }
    for (int i = threadIdx.x; i < shape::TILES * 128; i += blockDim.x) {
        const int tile = i / 128, p = i / 64 % 2, s = i / 32 % 2, lane = i % 32, c = lane % 4 + 4 * s,
                  b = tile / shape::ROW_TILES, pb = b >= shape::E,
                  column = tile % shape::ROW_TILES * 8 + lane / 4, pa = column / shape::WIDTH,
                  a = column % shape::WIDTH;
        const bool exists = c < z.size(p) && a < x.size(pa);
        const double sum =
            lambda + k * (x.eigenvalue(pa, a) + y.eigenvalue(pb, pb ? b - shape::E : b) + z.eigenvalue(p, c));
        t->inverse[tile][p * 2 + s][lane] = exists ? 1 / sum : 0;
    }
}

// ------------------------------------------------------------------------------ pieces

template <int STEPS>
__device__ __forceinline__ void load_factor(const tensor_factor &f, double (&to)[2][STEPS]) {
#pragma unroll
    for (int p = 0; p < 2; p++)
#pragma unroll
        for (int s = 0; s < STEPS; s++) to[p][s] = __ldg(&f.at[p][s][threadIdx.x % 32]);
}

// Sums and differences of four nodes across the middles of both directions: out[row parity][column parity].
__device__ __forceinline__ void fold(double ll, double lh, double hl, double hh, double (&out)[2][2]) {
    const double s0 = ll + lh, d0 = ll - lh, s1 = hl + hh, d1 = hl - hh;
    out[0][0] = s0 + s1;
    out[0][1] = d0 + d1;
    out[1][0] = s0 - s1;
    out[1][1] = d0 - d1;
}

// The nodes that half index i stands for: opposite ones, or the edges (E), right before left. Beyond them any
// will do: their factor is 0.
template <int K, bool EDGE> __device__ __forceinline__ int lower_node(int i) {
    constexpr int E = K, M = 2 * K - 1;
    return i < E ? i : EDGE ? M : E - 1;
}
template <int K, bool EDGE> __device__ __forceinline__ int upper_node(int i) {
    constexpr int E = K, M = 2 * K - 1;
    return i < E ? M - 1 - i : EDGE ? -1 : E - 1;
}

// A face of the shell as a plane: rows along one direction, columns along another, in sums (sign 1) or
// differences (-1) of the right and the left face.
template <typename R, int K, bool ROW_EDGE, bool COLUMN_EDGE> struct face_plane {
    using shape = tensor_shape<K>;
    static constexpr int STEPS = ROW_EDGE ? shape::STEPS_EDGE : shape::STEPS,
                         TILES = COLUMN_EDGE ? shape::TILES_EDGE : 1;
    double f[2][2][TILES][STEPS];
    __device__ __forceinline__ void load(const R *left, const R *right, double sign, int64_t row_stride,
                                         int64_t column_stride) {
        const int q = threadIdx.x % 4, r = threadIdx.x % 32 / 4;
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            const int column = 8 * t + swapped(r);
            const int64_t low = lower_node<K, COLUMN_EDGE>(column) * column_stride,
                          high = upper_node<K, COLUMN_EDGE>(column) * column_stride;
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                const int64_t l = lower_node<K, ROW_EDGE>(q + 4 * s) * row_stride,
                              h = upper_node<K, ROW_EDGE>(q + 4 * s) * row_stride;
                double out[2][2];
                auto at = [&](int64_t i) { return (double)right[i] + sign * (double)left[i]; };
                fold(at(l + low), at(l + high), at(h + low), at(h + high), out);
                f[0][0][t][s] = out[0][0];
                f[0][1][t][s] = out[0][1];
                f[1][0][t][s] = out[1][0];
                f[1][1][t][s] = out[1][1];
            }
        }
    }
};

// c = A f, column tile by column tile; then out += c B.
template <int STEPS, int TILES>
__device__ __forceinline__ void left_product(const double (&A)[STEPS], const double (&f)[TILES][STEPS],
                                             double (&c)[TILES][2]) {
#pragma unroll
    for (int t = 0; t < TILES; t++) {
        c[t][0] = c[t][1] = 0;
#pragma unroll
        for (int s = 0; s < STEPS; s++) mma(c[t], A[s], f[t][s]);
    }
}
template <int STEPS, int TILES>
__device__ __forceinline__ void right_product(const double (&c)[TILES][2], const double (&B)[STEPS],
                                              double (&out)[2]) {
#pragma unroll
    for (int s = 0; s < STEPS; s++) mma(out, c[s / 2][s % 2], B[s]);
}

// Where accumulators lie in an array of shared memory.
template <int K>
__device__ __forceinline__ void put_block(double *to, int row_parity, int column_parity,
                                          const double (&c)[2]) {
    using shape = tensor_shape<K>;
    const int q = threadIdx.x % 4, r = threadIdx.x % 32 / 4;
#pragma unroll
    for (int j = 0; j < shape::STEPS; j++)
        if (r < (row_parity ? shape::O : shape::E) && q + 4 * j < (column_parity ? shape::O : shape::E))
            to[place<K>(row_parity * shape::E + r, column_parity * shape::WIDTH + q + 4 * j)] = c[j];
}

// Faces across x: P = (A M + M A + lambda M M) F and Q = M M F, by modes of y and z.
template <typename R, int K>
__device__ __forceinline__ void face_x(const tensor_tables *t, const R *origin, const int64_t (&stride)[2],
                                       int pair, tensor_shared<K> &s) {
    using shape = tensor_shape<K>;
    constexpr int STEPS = shape::STEPS_EDGE, TILES = shape::TILES_EDGE;
    face_plane<R, K, true, true> F;
    F.load(origin - 1, origin + shape::M, pair ? -1 : 1, stride[0], stride[1]);
    double A[2][STEPS], B[2][STEPS], C[2][STEPS], D[2][STEPS];
    load_factor(t->y_mass_edge, A);
    load_factor(t->y_stiffness_edge, B);
    load_factor(t->z_mass_edge, C);
    load_factor(t->z_sum_edge, D);
#pragma unroll
    for (int pb = 0; pb < 2; pb++)
#pragma unroll
        for (int pc = 0; pc < 2; pc++) {
            double mass[TILES][2], stiffness[TILES][2], P[2] = {0, 0}, Q[2] = {0, 0};
            left_product(A[pb], F.f[pb][pc], mass);
            left_product(B[pb], F.f[pb][pc], stiffness);
            right_product(mass, C[pc], Q);
            right_product(mass, D[pc], P);
            right_product(stiffness, C[pc], P);
            put_block<K>(s.Q0[pair], pb, pc, Q);
            put_block<K>(s.P0[pair], pb, pc, P);
        }
}
// Across y: without the edges at the faces across x, by modes of x and z.
template <typename R, int K>
__device__ __forceinline__ void face_y(const tensor_tables *t, const R *origin, const int64_t (&stride)[2],
                                       int pair, tensor_shared<K> &s) {
    using shape = tensor_shape<K>;
    constexpr int TILES = shape::TILES_EDGE;
    face_plane<R, K, false, true> F;
    F.load(origin - stride[0], origin + shape::M * stride[0], pair ? -1 : 1, 1, stride[1]);
    double A[2][shape::STEPS], C[2][shape::STEPS_EDGE], D[2][shape::STEPS_EDGE];
    load_factor(t->x_mass, A);
    load_factor(t->z_mass_edge, C);
    load_factor(t->z_sum_edge, D);
#pragma unroll
    for (int pa = 0; pa < 2; pa++) {
        const double e = __ldg(&t->e0[(pa * shape::WIDTH + threadIdx.x % 32 / 4) % 16]);
#pragma unroll
        for (int pc = 0; pc < 2; pc++) {
            double mass[TILES][2], P[2] = {0, 0}, Q[2] = {0, 0};
            left_product(A[pa], F.f[pa][pc], mass);
            right_product(mass, C[pc], Q);
            right_product(mass, D[pc], P);
            P[0] += e * Q[0];
            P[1] += e * Q[1];
            put_block<K>(s.Q1[pair], pa, pc, Q);
            put_block<K>(s.P1[pair], pa, pc, P);
        }
    }
}
// Across z: without edges.
template <typename R, int K>
__device__ __forceinline__ void face_z(const tensor_tables *t, const R *origin, const int64_t (&stride)[2],
                                       int pair, tensor_shared<K> &s) {
    using shape = tensor_shape<K>;
    face_plane<R, K, false, false> F;
    F.load(origin - stride[1], origin + shape::M * stride[1], pair ? -1 : 1, stride[0], 1);
    double A[2][shape::STEPS], B[2][shape::STEPS];
    load_factor(t->y_mass, A);
    load_factor(t->x_mass_columns, B);
#pragma unroll
    for (int pb = 0; pb < 2; pb++)
#pragma unroll
        for (int pa = 0; pa < 2; pa++) {
            double mass[1][2], Q[2] = {0, 0};
            left_product(A[pb], F.f[pb][pa], mass);
            right_product(mass, B[pa], Q);
            put_block<K>(s.Q2[pair], pb, pa, Q);
        }
}

// ------------------------------------------------------------------------------ the kernel

template <typename R> struct tensor_launch {
    const tensor_tables *tables;
    double k, lambda;
    const R *b;
    R *x;
    int64_t stride[2];
    int first[3], count[3];
    patch_step<R> step;
};

// A plane of loads, or of residuals with their scale.
template <typename R, int K, bool SHELL>
__device__ __forceinline__ void load_loads(const tensor_launch<R> &p, int64_t from,
                                           double (&f)[2][2][1][tensor_shape<K>::STEPS]) {
    const int q = threadIdx.x % 4, column = swapped(threadIdx.x % 32 / 4);
    const int low = lower_node<K, false>(column), high = upper_node<K, false>(column);
    auto at = [&](int64_t n) {
        const double value = (double)p.b[n];
        return !SHELL && p.step.scale != nullptr ? value * (double)p.step.scale[n] : value;
    };
#pragma unroll
    for (int i = 0; i < tensor_shape<K>::STEPS; i++) {
        const int64_t l = from + lower_node<K, false>(q + 4 * i) * p.stride[0],
                      h = from + upper_node<K, false>(q + 4 * i) * p.stride[0];
        double out[2][2];
        fold(at(l + low), at(l + high), at(h + low), at(h + high), out);
        f[0][0][0][i] = out[0][0];
        f[0][1][0][i] = out[0][1];
        f[1][0][0][i] = out[1][0];
        f[1][1][0][i] = out[1][1];
    }
}

template <typename R, int K, int BLOCKS, bool SHELL>
__global__ void __launch_bounds__(32 * K, BLOCKS) tensor_kernel(const __grid_constant__ tensor_launch<R> p) {
    using shape = tensor_shape<K>;
    constexpr int M = shape::M, E = shape::E, O = shape::O, STEPS = shape::STEPS, WIDTH = shape::WIDTH;
    extern __shared__ __align__(16) unsigned char memory[];
    tensor_shared<K> &s = *reinterpret_cast<tensor_shared<K> *>(memory);
    const tensor_tables *t = p.tables;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, q = lane % 4, r = lane / 4;
    const int patch[3] = {(int)(blockIdx.x % p.count[0]), (int)(blockIdx.x / p.count[0] % p.count[1]),
                          (int)(blockIdx.x / p.count[0] / p.count[1])};
    const int64_t origin = p.first[0] + patch[0] * (M + 1) + (p.first[1] + patch[1] * (M + 1)) * p.stride[0] +
                           (p.first[2] + patch[2] * (M + 1)) * p.stride[1];

    // Planes of loads, and the faces of the shell.
    constexpr int FACES = SHELL ? 6 : 0;
#pragma unroll 1
    for (int job = warp; job < M + FACES; job += K) {
        if (SHELL && job < 2) {
            face_x<R, K>(t, p.x + origin, p.stride, job, s);
        } else if (SHELL && job < 4) {
            face_y<R, K>(t, p.x + origin, p.stride, job - 2, s);
        } else if (SHELL && job < 6) {
            face_z<R, K>(t, p.x + origin, p.stride, job - 4, s);
        } else {
            const int z = job - FACES;
            double f[2][2][1][STEPS], A[2][STEPS], B[2][STEPS];
            load_loads<R, K, SHELL>(p, origin + z * p.stride[1], f);
            load_factor(t->y_modes, A);
            load_factor(t->x_modes, B);
#pragma unroll
            for (int pb = 0; pb < 2; pb++)
#pragma unroll
                for (int pa = 0; pa < 2; pa++) {
                    double c[1][2], modes[2] = {0, 0};
                    left_product(A[pb], f[pb][pa], c);
                    right_product(c, B[pa], modes);
                    put_block<K>(s.volume + z * shape::PLANE, pb, pa, modes);
                }
        }
    }
    __syncthreads();

    // Along z: a tile of eight points into modes, the shell, the division, and back.
    patch_weights w = {p.k, p.lambda, 1, 0};
    if constexpr (!SHELL) w = step_weights<R, 3>(p.step, patch, p.k, p.lambda);
    {
        double A[2][STEPS], B[2][STEPS];
        load_factor(t->z_modes, A);
        load_factor(t->z_nodes, B);
#pragma unroll 1
        for (int tile = warp; tile < shape::TILES; tile += K) {
            const int b = tile / shape::ROW_TILES, pb = b >= E, column = tile % shape::ROW_TILES * 8 + r,
                      pa = column / WIDTH, na = column % WIDTH < (pa ? O : E) ? column % WIDTH : 0,
                      a = pa * E + na;
            double *line = s.volume + place<K>(b, column);
            double c[2][2] = {{0, 0}, {0, 0}}, out[2][2] = {{0, 0}, {0, 0}};
#pragma unroll
            for (int i = 0; i < STEPS; i++) {
                const int n = q + 4 * i < E ? q + 4 * i : E - 1;
                const double low = line[n * shape::PLANE], high = line[(M - 1 - n) * shape::PLANE];
                mma(c[0], low + high, A[0][i]);
                mma(c[1], low - high, A[1][i]);
            }
            const double e0 = __ldg(&t->e0[column]), e1 = __ldg(&t->e1[b]);
            double mu0 = 0, alpha0 = 0, mu1 = 0, alpha1 = 0;
            if constexpr (SHELL) {
                mu0 = __ldg(&t->mu0[column]);
                alpha0 = __ldg(&t->alpha0[column]);
                mu1 = __ldg(&t->mu1[b]);
                alpha1 = __ldg(&t->alpha1[b]);
            }
#pragma unroll
            for (int pc = 0; pc < 2; pc++)
#pragma unroll
                for (int i = 0; i < STEPS; i++) {
                    const int n = q + 4 * i, at0 = place<K>(b, pc * WIDTH + n),
                              at1 = place<K>(a, pc * WIDTH + n);
                    double value = c[pc][i];
                    if constexpr (SHELL) {
                        value -= mu0 * s.P0[pa][at0] + alpha0 * s.Q0[pa][at0];
                        value -= mu1 * s.P1[pb][at1] + alpha1 * s.Q1[pb][at1];
                        const double sum = p.lambda / p.k + e0 + e1;
                        value -= (__ldg(&t->mu2[pc][n]) * sum + __ldg(&t->alpha2[pc][n])) *
                                 s.Q2[pc][place<K>(b, column)];
                        value *= __ldg(&t->inverse[tile][pc * 2 + i][lane]);
                    } else {
                        value /= w.lambda + w.k * (e0 + e1 + __ldg(&t->e2[pc][n]));
                    }
                    if (n >= (pc ? O : E)) value = 0; // what lay there may be no number
                    mma(out[pc], value, B[pc][i]);
                }
#pragma unroll
            for (int i = 0; i < STEPS; i++) {
                const int n = q + 4 * i;
                if (n < E) line[n * shape::PLANE] = out[0][i] + out[1][i];
                if (n < O) line[(M - 1 - n) * shape::PLANE] = out[0][i] - out[1][i];
            }
        }
    }
    __syncthreads();

    // Planes from modes to nodes, and out.
    double A[2][STEPS], B[2][2];
    load_factor(t->y_nodes, A);
    load_factor(t->x_nodes, B);
#pragma unroll 1
    for (int z = warp; z < M; z += K) {
        const double *plane = s.volume + z * shape::PLANE;
        double out[2][2][2];
#pragma unroll
        for (int py = 0; py < 2; py++)
#pragma unroll
            for (int px = 0; px < 2; px++) {
                const int most = px ? O - 1 : E - 1, n = WIDTH == 8 ? r : swapped(r),
                          column = px * WIDTH + (n < most ? n : most);
                double f[1][STEPS], c[1][2];
#pragma unroll
                for (int i = 0; i < STEPS; i++) {
                    const int last = py ? O - 1 : E - 1, row = q + 4 * i < last ? q + 4 * i : last;
                    f[0][i] = plane[place<K>(py * E + row, column)];
                }
                left_product(A[py], f, c);
                out[py][px][0] = out[py][px][1] = 0;
                mma(out[py][px], c[0][0], B[px][0]);
                if (WIDTH == 8) mma(out[py][px], c[0][1], B[px][1]);
            }
        const int64_t low = origin + z * p.stride[1] + r * p.stride[0],
                      high = origin + z * p.stride[1] + (M - 1 - r) * p.stride[0];
#pragma unroll
        for (int j = 0; j < STEPS; j++) {
            const int n = q + 4 * j;
            const double s0 = out[0][0][j] + out[0][1][j], d0 = out[0][0][j] - out[0][1][j],
                         s1 = out[1][0][j] + out[1][1][j], d1 = out[1][0][j] - out[1][1][j];
            auto put = [&](int64_t at, double value) {
                if constexpr (SHELL)
                    p.x[at] = (R)value;
                else
                    step_update<R>(p.step, w, at, value, p.x);
            };
            if (r < E && n < E) put(low + n, s0 + s1);
            if (r < E && n < O) put(low + M - 1 - n, d0 + d1);
            if (r < O && n < E) put(high + n, s0 - s1);
            if (r < O && n < O) put(high + M - 1 - n, d0 - d1);
        }
    }
}

} // namespace facet
#endif
