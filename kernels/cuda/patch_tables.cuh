// What the kernels on tensor cores multiply by: the matrices of three lines in the order of the lanes, filled
// by a kernel of its own. Read patch_tensor.cuh first.
#ifndef FACET_KERNELS_CUDA_PATCH_TABLES_CUH
#define FACET_KERNELS_CUDA_PATCH_TABLES_CUH

#include "kernels/brick.h"

namespace facet {

template <int K> struct tensor_shape {
    static constexpr int M = 2 * K - 1, E = K, O = K - 1;
    static constexpr int STEPS = (E + 3) / 4, STEPS_EDGE = (E + 4) / 4; // of four, without and with the edge
    static constexpr int TILES_EDGE = (E + 8) / 8;                      // columns of a plane with its edge
    static constexpr int WIDTH = 8, ROW = 2 * WIDTH; // in shared memory: even, then odd modes
    static constexpr int PLANE = ROW * M + 4;        // 4 modulo 16: planes lie in different banks
    static constexpr int THREADS = 32 * K;
    static constexpr int FACE = M * ROW; // numbers
};
// Factors in the order of the lanes: [parity][step][lane].
struct tensor_factor {
    double at[2][3][32];
};
// Matrices of a patch: from loads to modes and back in x, y, z; of the faces, with an edge (T|mu), (Lambda
// T|alpha), k Lambda T + lambda T, k T, and without.
struct tensor_tables {
    tensor_factor x_modes, x_nodes, y_modes, y_nodes, z_modes, z_nodes; // x_nodes, y_modes: left factors
    tensor_factor y_mass_edge, y_stiffness_edge, z_sum_edge, z_mass_edge, x_mass, y_mass, x_mass_columns;
    double mu0[16], alpha0[16], e0[16];       // by the columns of shared memory
    double mu1[16], alpha1[16], e1[16];       // by modes
    double mu2[2][8], alpha2[2][8], e2[2][8]; // by parity and number
    double inverse[15][2][4][32];             // by modes of y, parities of x: parity and step of z, lane
};

__host__ __device__ constexpr int swapped(int n) {
    return n / 2 + 4 * (n % 2);
}
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
        put(t->y_mass_edge, y.mass_edge(p, r, q));
        put(t->y_stiffness_edge, y.stiffness_edge(p, r, q));
        put(t->x_mass, x.T(p, r, q) * x.half(q));
        put(t->y_mass, y.T(p, r, q) * y.half(q));
        put(t->x_nodes, x.S(p, r, q));
        // right factors: row q, column n
        put(t->x_modes, x.S(p, q, n) * x.half(q));
        put(t->z_modes, z.S(p, q, n) * z.half(q));
        put(t->z_nodes, z.S(p, n, q));
        put(t->z_mass_edge, k * z.mass_edge(p, n, q));
        put(t->z_sum_edge, k * z.stiffness_edge(p, n, q) + lambda * z.mass_edge(p, n, q));
        put(t->x_mass_columns, k * x.T(p, n, q) * x.half(q));
        // the columns of the product before it in their order: its accumulators are numbers 2q and 2q + 1
        put(t->y_nodes, s < 2 ? y.S(p, n, 2 * (lane % 4) + s) : 0);
    }
    for (int i = threadIdx.x; i < 16; i += blockDim.x) {
        const int p = i / 8, n = i % 8;
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
    for (int i = threadIdx.x; i < shape::M * 256; i += blockDim.x) {
        const int b = i / 256, pb = b >= shape::E, pa = i / 128 % 2, p = i / 64 % 2, s = i / 32 % 2,
                  lane = i % 32, c = lane % 4 + 4 * s, a = lane / 4;
        const bool exists = c < z.size(p) && a < x.size(pa);
        const double sum =
            lambda + k * (x.eigenvalue(pa, a) + y.eigenvalue(pb, pb ? b - shape::E : b) + z.eigenvalue(p, c));
        t->inverse[b][pa][p * 2 + s][lane] = exists ? 1 / sum : 0;
    }
}

} // namespace facet
#endif
