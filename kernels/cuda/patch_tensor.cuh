// Vertex patches of (2k - 1)^3 nodes on the FP64 tensor cores: one colour of the patches inside a uniform
// brick per launch, k = 5 .. 8.
//
// A block of k warps solves one patch. Even and odd functions are apart, so that every matrix is at most
// 8 x 8 (E = k even ones, O = k - 1 odd ones) and a plane of nodes is four blocks, one for each pair of
// parities: a warp transforms a plane in both of its directions without leaving its registers, because the
// accumulators of the first product have the layout that the second one takes as its left factor. The third
// direction goes through shared memory, once there and once back:
//
//     planes of b, faces of the shell -> modes of x and y | modes of z, division, nodes of z | planes -> x
//
// with a barrier at each bar. The shell is that of patch.cuh: its faces are six more planes, in sums and
// differences across their normals; their edges are one more "node" of the blocks, beside the E or O ones.
//
// Lanes. q = lane % 4, r = lane / 4. A left factor has row r and column q, a right one row q and column r, an
// accumulator row r and columns 2q, 2q + 1. Column n of a right factor stands for number swap(n) = n / 2 + 4
// (n % 2) where the result is contracted again, so that the two accumulators are numbers q and q + 4, just
// what the next product takes in its two steps of four. Two products with one right factor are one of twice
// the rows, which a Hopper does in the time of one.
#ifndef FACET_KERNELS_CUDA_PATCH_TENSOR_CUH
#define FACET_KERNELS_CUDA_PATCH_TENSOR_CUH

#include "kernels/cuda/patch.cuh"
#include "kernels/cuda/patch_tables.cuh"

namespace facet {

template <int K> struct tensor_shared {
    using shape = tensor_shape<K>;
    double volume[shape::M * shape::PLANE];
    double P0[2][shape::FACE], Q0[2][shape::FACE]; // [b][c]
    double P1[2][shape::FACE], Q1[2][shape::FACE]; // [a][c]
    double Q2[2][shape::FACE];                     // [b][a]
};

// Conflicts are avoided by where four columns lie, which depends on the row.
template <int K> __device__ __forceinline__ int place(int row, int column) {
    return row * tensor_shape<K>::ROW + (column ^ ((row & 3) << 2));
}

__device__ __forceinline__ void mma(double (&c)[2], double a, double b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
#else
    __trap(); // never launched there
#endif
}

// c += (low; high) B with B of eight rows: two products of one right factor.
__device__ __forceinline__ void mma_pair(double (&low)[2], double (&high)[2], double low0, double high0,
                                         double low1, double high1, double b0, double b1) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(low[0]), "+d"(low[1]), "+d"(high[0]), "+d"(high[1])
        : "d"(low0), "d"(high0), "d"(low1), "d"(high1), "d"(b0), "d"(b1));
#else
    mma(low, low0, b0);
    mma(low, low1, b1);
    mma(high, high0, b0);
    mma(high, high1, b1);
#endif
}

// ------------------------------------------------------------------------------ pieces

template <int STEPS>
__device__ __forceinline__ void load_factor(const tensor_factor &f, double (&to)[2][STEPS]) {
#pragma unroll
    for (int p = 0; p < 2; p++)
#pragma unroll
        for (int s = 0; s < STEPS; s++) to[p][s] = __ldg(&f.at[p][s][threadIdx.x % 32]);
}

template <int STEPS>
__device__ __forceinline__ void load_factor(const tensor_factor &f, int parity, double (&to)[STEPS]) {
#pragma unroll
    for (int s = 0; s < STEPS; s++) to[s] = __ldg(&f.at[parity][s][threadIdx.x % 32]);
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
    __device__ __forceinline__ void load(const R *left, const R *right, double sign, int row_stride,
                                         int column_stride) {
        const int q = threadIdx.x % 4, r = threadIdx.x % 32 / 4;
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            const int column = 8 * t + swapped(r);
            const int low = lower_node<K, COLUMN_EDGE>(column) * column_stride,
                      high = upper_node<K, COLUMN_EDGE>(column) * column_stride;
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                const int l = lower_node<K, ROW_EDGE>(q + 4 * s) * row_stride,
                          h = upper_node<K, ROW_EDGE>(q + 4 * s) * row_stride;
                double out[2][2];
                auto at = [&](int i) { return (double)right[i] + sign * (double)left[i]; };
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
// Two of them with the same right factor.
template <int STEPS, int TILES>
__device__ __forceinline__ void left_pair(const double (&A)[STEPS], const double (&B)[STEPS],
                                          const double (&f)[TILES][STEPS], double (&a)[TILES][2],
                                          double (&b)[TILES][2]) {
#pragma unroll
    for (int t = 0; t < TILES; t++) {
        a[t][0] = a[t][1] = b[t][0] = b[t][1] = 0;
        if constexpr (STEPS > 1) mma_pair(a[t], b[t], A[0], B[0], A[1], B[1], f[t][0], f[t][1]);
#pragma unroll
        for (int s = STEPS > 1 ? 2 : 0; s < STEPS; s++) {
            mma(a[t], A[s], f[t][s]);
            mma(b[t], B[s], f[t][s]);
        }
    }
}
template <int STEPS, int TILES>
__device__ __forceinline__ void right_pair(const double (&a)[TILES][2], const double (&b)[TILES][2],
                                           const double (&B)[STEPS], double (&a_out)[2], double (&b_out)[2]) {
    if constexpr (STEPS > 1) mma_pair(a_out, b_out, a[0][0], b[0][0], a[0][1], b[0][1], B[0], B[1]);
#pragma unroll
    for (int s = STEPS > 1 ? 2 : 0; s < STEPS; s++) {
        mma(a_out, a[s / 2][s % 2], B[s]);
        mma(b_out, b[s / 2][s % 2], B[s]);
    }
}
// A plane in both directions: out[p][q] = A[p] f[p][q] B[q].
template <int STEPS>
__device__ __forceinline__ void both_products(const double (&A)[2][STEPS], const double (&f)[2][2][1][STEPS],
                                              const double (&B)[2][STEPS], double (&out)[2][2][2]) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
        double c[2][1][2];
        left_product(A[0], f[0][j], c[0]);
        left_product(A[1], f[1][j], c[1]);
        out[0][j][0] = out[0][j][1] = out[1][j][0] = out[1][j][1] = 0;
        right_pair(c[0], c[1], B[j], out[0][j], out[1][j]);
    }
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
__device__ __forceinline__ void face_x(const tensor_tables *t, const R *origin, const int (&stride)[2],
                                       int pair, tensor_shared<K> &s) {
    using shape = tensor_shape<K>;
    constexpr int STEPS = shape::STEPS_EDGE, TILES = shape::TILES_EDGE;
    face_plane<R, K, true, true> F;
    F.load(origin - 1, origin + shape::M, pair ? -1 : 1, stride[0], stride[1]);
#pragma unroll
    for (int pb = 0; pb < 2; pb++) {
        double A[STEPS], B[STEPS];
        load_factor(t->y_mass_edge, pb, A);
        load_factor(t->y_stiffness_edge, pb, B);
#pragma unroll
        for (int pc = 0; pc < 2; pc++) {
            double mass[TILES][2], stiffness[TILES][2], P[2] = {0, 0}, Q[2] = {0, 0}, C[STEPS];
            left_pair(A, B, F.f[pb][pc], mass, stiffness);
            load_factor(t->z_mass_edge, pc, C);
            right_pair(mass, stiffness, C, Q, P);
            load_factor(t->z_sum_edge, pc, C);
            right_product(mass, C, P);
            put_block<K>(s.Q0[pair], pb, pc, Q);
            put_block<K>(s.P0[pair], pb, pc, P);
        }
    }
}
// Across y: without the edges at the faces across x, by modes of x and z.
template <typename R, int K>
__device__ __forceinline__ void face_y(const tensor_tables *t, const R *origin, const int (&stride)[2],
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
    for (int pc = 0; pc < 2; pc++) {
        double mass[2][TILES][2], P[2][2] = {{0, 0}, {0, 0}}, Q[2][2] = {{0, 0}, {0, 0}};
        left_product(A[0], F.f[0][pc], mass[0]);
        left_product(A[1], F.f[1][pc], mass[1]);
        right_pair(mass[0], mass[1], C[pc], Q[0], Q[1]);
        right_pair(mass[0], mass[1], D[pc], P[0], P[1]);
#pragma unroll
        for (int pa = 0; pa < 2; pa++) {
            const double e = __ldg(&t->e0[pa * 8 + threadIdx.x % 32 / 4]);
            P[pa][0] += e * Q[pa][0];
            P[pa][1] += e * Q[pa][1];
            put_block<K>(s.Q1[pair], pa, pc, Q[pa]);
            put_block<K>(s.P1[pair], pa, pc, P[pa]);
        }
    }
}
// Across z: without edges.
template <typename R, int K>
__device__ __forceinline__ void face_z(const tensor_tables *t, const R *origin, const int (&stride)[2],
                                       int pair, tensor_shared<K> &s) {
    using shape = tensor_shape<K>;
    face_plane<R, K, false, false> F;
    F.load(origin - stride[1], origin + shape::M * stride[1], pair ? -1 : 1, stride[0], 1);
    double A[2][shape::STEPS], B[2][shape::STEPS];
    load_factor(t->y_mass, A);
    load_factor(t->x_mass_columns, B);
    double Q[2][2][2];
    both_products(A, F.f, B, Q);
#pragma unroll
    for (int pb = 0; pb < 2; pb++)
#pragma unroll
        for (int pa = 0; pa < 2; pa++) put_block<K>(s.Q2[pair], pb, pa, Q[pb][pa]);
}

// ------------------------------------------------------------------------------ the kernel

template <typename R> struct tensor_launch {
    const tensor_tables *tables;
    double k, lambda, lambda_over_k;
    const R *b;
    R *x;
    int stride[2]; // of a row and of a plane: offsets inside a patch are ints
    int first[3], count[3];
    patch_step<R> step;
};

// A plane of loads, or of residuals with their scale.
template <typename R, int K, bool SHELL>
__device__ __forceinline__ void load_loads(const tensor_launch<R> &p, int64_t from,
                                           double (&f)[2][2][1][tensor_shape<K>::STEPS]) {
    const int q = threadIdx.x % 4, column = swapped(threadIdx.x % 32 / 4);
    const int low = lower_node<K, false>(column), high = upper_node<K, false>(column);
    auto at = [&](int n) {
        const double value = (double)p.b[from + n];
        return !SHELL && p.step.scale != nullptr ? value * (double)p.step.scale[from + n] : value;
    };
#pragma unroll
    for (int i = 0; i < tensor_shape<K>::STEPS; i++) {
        const int l = lower_node<K, false>(q + 4 * i) * p.stride[0],
                  h = upper_node<K, false>(q + 4 * i) * p.stride[0];
        double out[2][2];
        fold(at(l + low), at(l + high), at(h + low), at(h + high), out);
        f[0][0][0][i] = out[0][0];
        f[0][1][0][i] = out[0][1];
        f[1][0][0][i] = out[1][0];
        f[1][1][0][i] = out[1][1];
    }
}

// x from out[x parity][y parity], whose rows are nodes of x and whose columns are nodes of y.
template <typename R, int K, bool SHELL>
__device__ __forceinline__ void put_nodes(const tensor_launch<R> &p, const patch_weights &w, int64_t from,
                                          const double (&out)[2][2][2]) {
    using shape = tensor_shape<K>;
    constexpr int M = shape::M, E = shape::E, O = shape::O;
    const int q = threadIdx.x % 4, r = threadIdx.x % 32 / 4;
    auto put = [&](int64_t at, double value) {
        if constexpr (SHELL)
            p.x[at] = (R)value;
        else
            step_update<R>(p.step, w, at, value, p.x);
    };
#pragma unroll
    for (int j = 0; j < shape::STEPS; j++) {
        const int n = q + 4 * j;
        const double s0 = out[0][0][j] + out[0][1][j], d0 = out[0][0][j] - out[0][1][j],
                     s1 = out[1][0][j] + out[1][1][j], d1 = out[1][0][j] - out[1][1][j];
        const int64_t low = from + (int64_t)n * p.stride[0], high = from + (int64_t)(M - 1 - n) * p.stride[0];
        if (r < E && n < E) put(low + r, s0 + s1);
        if (r < O && n < E) put(low + M - 1 - r, s0 - s1);
        if (r < E && n < O) put(high + r, d0 + d1);
        if (r < O && n < O) put(high + M - 1 - r, d0 - d1);
    }
}

// Along z, for one mode of y and the modes of x of one parity: into modes, the shell, the division, and back.
// Both parities at once would halve the products, but need more registers than there are.
template <typename R, int K, bool SHELL>
__device__ __forceinline__ void solve_lines(const tensor_launch<R> &p, const patch_weights &w, int b, int pa,
                                            tensor_shared<K> &s) {
    using shape = tensor_shape<K>;
    constexpr int M = shape::M, E = shape::E, O = shape::O, STEPS = shape::STEPS;
    const tensor_tables *t = p.tables;
    const int lane = threadIdx.x % 32, q = lane % 4, r = lane / 4, pb = b >= E, column = pa * 8 + r,
              a = pa * E + (r < (pa ? O : E) ? r : 0);
    double *const line = s.volume + place<K>(b, column);
    double A[2][STEPS], c[2][2] = {}, out[2][2] = {}; // by parity of z
    load_factor(t->z_modes, A);
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        const int n = q + 4 * i < E ? q + 4 * i : E - 1;
        const double low = line[n * shape::PLANE], high = line[(M - 1 - n) * shape::PLANE];
        mma(c[0], low + high, A[0][i]);
        mma(c[1], low - high, A[1][i]);
    }
    const double e = __ldg(&t->e0[column]) + __ldg(&t->e1[b]);
    double mu0 = 0, alpha0 = 0, mu1 = 0, alpha1 = 0;
    if constexpr (SHELL) {
        mu0 = __ldg(&t->mu0[column]);
        alpha0 = __ldg(&t->alpha0[column]);
        mu1 = __ldg(&t->mu1[b]);
        alpha1 = __ldg(&t->alpha1[b]);
    }
    load_factor(t->z_nodes, A);
#pragma unroll
    for (int pc = 0; pc < 2; pc++)
#pragma unroll
        for (int i = 0; i < STEPS; i++) {
            const int n = q + 4 * i, at0 = place<K>(b, pc * 8 + n), at1 = place<K>(a, pc * 8 + n);
            double value = c[pc][i];
            if constexpr (SHELL) {
                value -= mu0 * s.P0[pa][at0] + alpha0 * s.Q0[pa][at0];
                value -= mu1 * s.P1[pb][at1] + alpha1 * s.Q1[pb][at1];
                value -= (__ldg(&t->mu2[pc][n]) * (p.lambda_over_k + e) + __ldg(&t->alpha2[pc][n])) *
                         s.Q2[pc][place<K>(b, column)];
                value *= __ldg(&t->inverse[b][pa][pc * 2 + i][lane]);
            } else {
                value /= w.lambda + w.k * (e + __ldg(&t->e2[pc][n]));
            }
            if (n >= (pc ? O : E)) value = 0; // what lay there may be no number
            mma(out[pc], value, A[pc][i]);
        }
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        const int n = q + 4 * i;
        if (n < E) line[n * shape::PLANE] = out[0][i] + out[1][i];
        if (n < O) line[(M - 1 - n) * shape::PLANE] = out[0][i] - out[1][i];
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
    const int64_t origin = p.first[0] + patch[0] * (M + 1) +
                           (int64_t)(p.first[1] + patch[1] * (M + 1)) * p.stride[0] +
                           (int64_t)(p.first[2] + patch[2] * (M + 1)) * p.stride[1];

    // Two planes of loads, both on their way before the first is used, and a face of the shell.
    {
        double f[2][2][2][1][STEPS];
        const int z[2] = {warp, warp + K < M ? warp + K : M - 1};
        load_loads<R, K, SHELL>(p, origin + (int64_t)z[0] * p.stride[1], f[0]);
        load_loads<R, K, SHELL>(p, origin + (int64_t)z[1] * p.stride[1], f[1]);
        double A[2][STEPS], B[2][STEPS], modes[2][2][2];
        load_factor(t->y_modes, A);
        load_factor(t->x_modes, B);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            both_products(A, f[i], B, modes);
            if (i == 1 && warp + K >= M) break;
#pragma unroll
            for (int pb = 0; pb < 2; pb++)
#pragma unroll
                for (int pa = 0; pa < 2; pa++)
                    put_block<K>(s.volume + z[i] * shape::PLANE, pb, pa, modes[pb][pa]);
        }
    }
    for (int face = warp; SHELL && face < 6; face += K) {
        if (face < 2)
            face_x<R, K>(t, p.x + origin, p.stride, face, s);
        else if (face < 4)
            face_y<R, K>(t, p.x + origin, p.stride, face - 2, s);
        else
            face_z<R, K>(t, p.x + origin, p.stride, face - 4, s);
    }
    __syncthreads();

    patch_weights w = {p.k, p.lambda, 1, 0};
    if constexpr (!SHELL) w = step_weights<R, 3>(p.step, patch, p.k, p.lambda);
#pragma unroll 1
    for (int tile = warp; tile < 2 * M; tile += K) solve_lines<R, K, SHELL>(p, w, tile / 2, tile % 2, s);
    __syncthreads();

    // Planes from modes to nodes, x first so that its nodes are the rows, and out.
    double A[2][STEPS], B[2][2];
    load_factor(t->x_nodes, A);
    load_factor(t->y_nodes, B);
#pragma unroll 1
    for (int z = warp; z < M; z += K) {
        const double *plane = s.volume + z * shape::PLANE;
        double out[2][2][2];
#pragma unroll
        for (int py = 0; py < 2; py++) {
            const int last = py ? O - 1 : E - 1, row = py * E + (r < last ? r : last);
            double c[2][1][2];
#pragma unroll
            for (int px = 0; px < 2; px++) {
                double f[1][STEPS];
#pragma unroll
                for (int i = 0; i < STEPS; i++) {
                    const int most = px ? O - 1 : E - 1, n = q + 4 * i < most ? q + 4 * i : most;
                    f[0][i] = plane[place<K>(row, px * WIDTH + n)];
                }
                left_product(A[px], f, c[px]);
                out[px][py][0] = out[px][py][1] = 0;
            }
            right_pair(c[0], c[1], B[py], out[0][py], out[1][py]);
        }
        put_nodes<R, K, SHELL>(p, w, origin + (int64_t)z * p.stride[1], out);
    }
}

} // namespace facet
#endif
