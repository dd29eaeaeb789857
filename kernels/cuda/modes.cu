// Fast diagonalization on the GPU: sums and differences of opposite nodes in all directions at once, then
// nothing but products of dense matrices on the tensor cores, with the division in the third of them.
//
// Work arrays hold, in every direction, one or two blocks of `size` entries (kernels/brick.h), so that all
// rows begin on 16 bytes and no product has a ragged end along the sum. Padding is zero and stays zero.
#include <utility>

#include "kernels/cuda/internal.cuh"

namespace facet {

namespace {

// ------------------------------------------------------------------------------ products

struct product_launch {
    const double *A, *B;
    double *C;
    int M, N, K;        // M and N even, K a multiple of 16
    int64_t la, lb, lc; // rows of the arrays
    int blocks;         // blockIdx.z is block + blocks * outer
    int64_t Ab, Bb, Cb; // from block to block
    int64_t Ao, Bo, Co; // from one outer index to the next
    int tiles;          // along the matrix of modes, which change fastest: what they share stays in the cache
    // With theta the result is divided by reaction + conductivity (theta_0 + theta_1 + theta_2), rows being
    // modes of direction 2, columns those of directions 1 and 0 (of `length` entries).
    const double *theta[3];
    double conductivity, reaction;
    int singular, length;
};

__device__ __forceinline__ void copy_16(double *to, const double *from, bool there) {
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                 "r"(there ? 16 : 0));
}

// C (16 x 8) += A (16 x 8) B (8 x 8). Lane 4 g + t has A at rows g and g + 8, columns t and t + 4, B at rows
// t and t + 4 of column g, C at columns 2 t and 2 t + 1 of rows g and g + 8.
__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#    pragma unroll
    for (int k = 0; k < 2; k++)
#    pragma unroll
        for (int r = 0; r < 2; r++)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                         : "+d"(c[2 * r]), "+d"(c[2 * r + 1])
                         : "d"(a[2 * k + r]), "d"(b[k]));
#endif
}

// C = A B, a tile of BM x BN a block, one of WM x WN a warp. A by rows; B by rows (ROWS), or B' by rows.
// Tiles in shared memory are padded so that the 16 lanes of one access meet 16 different banks.
template <int BM, int BN, int WM, int WN, int STAGES, bool ROWS> struct product {
    static constexpr int BK = 16, T = 32 * (BM / WM) * (BN / WN);
    static constexpr int LA = BK + 4, LB = ROWS ? BN + 4 : BK + 4;
    static constexpr int SA = BM * LA, SB = ROWS ? BK * LB : BN * LB;
    static constexpr int bytes = STAGES * (SA + SB) * 8;
};

template <int BM, int BN, int WM, int WN, int STAGES, bool ROWS>
__global__ void __launch_bounds__(32 * (BM / WM) * (BN / WN))
    product_kernel(const __grid_constant__ product_launch p) {
    using S = product<BM, BN, WM, WN, STAGES, ROWS>;
    constexpr int BK = S::BK, T = S::T, MT = WM / 16, NT = WN / 8;
    extern __shared__ __align__(16) double tiles[];
    const int block = blockIdx.z % p.blocks, outer = blockIdx.z / p.blocks;
    const int fast = blockIdx.x % p.tiles, slow = blockIdx.x / p.tiles;
    const int m0 = (ROWS ? fast : slow) * BM, n0 = (ROWS ? slow : fast) * BN;
    const double *A = p.A + block * p.Ab + outer * p.Ao + m0 * p.la;
    const double *B = p.B + block * p.Bb + outer * p.Bo + (ROWS ? (int64_t)n0 : n0 * p.lb);
    double *C = p.C + block * p.Cb + outer * p.Co + m0 * p.lc + n0;
    const int steps = p.K / BK;

    auto fetch = [&](int step) {
        double *to = tiles + step % STAGES * (S::SA + S::SB);
        const int k0 = step * BK;
        if (step < steps) {
#pragma unroll
            for (int i = threadIdx.x; i < BM * (BK / 2); i += T) {
                const int row = i / (BK / 2), column = i % (BK / 2) * 2;
                const bool there = m0 + row < p.M;
                copy_16(to + row * S::LA + column, A + (there ? row * p.la + k0 + column : 0), there);
            }
            to += S::SA;
            if (ROWS) {
#pragma unroll
                for (int i = threadIdx.x; i < BK * (BN / 2); i += T) {
                    const int row = i / (BN / 2), column = i % (BN / 2) * 2;
                    const bool there = n0 + column < p.N;
                    copy_16(to + row * S::LB + column, B + (there ? (k0 + row) * p.lb + column : 0), there);
                }
            } else {
#pragma unroll
                for (int i = threadIdx.x; i < BN * (BK / 2); i += T) {
                    const int row = i / (BK / 2), column = i % (BK / 2) * 2;
                    const bool there = n0 + row < p.N;
                    copy_16(to + row * S::LB + column, B + (there ? row * p.lb + k0 + column : 0), there);
                }
            }
        }
        asm volatile("cp.async.commit_group;");
    };

    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int wm = warp / (BN / WN) * WM, wn = warp % (BN / WN) * WN;
    double c[MT][NT][4];
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) c[i][j][e] = 0;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) fetch(s);
    for (int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        fetch(step + STAGES - 1);
        const double *a0 = tiles + step % STAGES * (S::SA + S::SB), *b0 = a0 + S::SA;
#pragma unroll
        for (int k = 0; k < BK; k += 8) {
            double a[MT][4], b[NT][2];
#pragma unroll
            for (int i = 0; i < MT; i++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    a[i][e] = a0[(wm + 16 * i + g + (e & 1) * 8) * S::LA + k + t + (e >> 1) * 4];
#pragma unroll
            for (int j = 0; j < NT; j++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    b[j][e] = ROWS ? b0[(k + t + 4 * e) * S::LB + wn + 8 * j + g]
                                   : b0[(wn + 8 * j + g) * S::LB + k + t + 4 * e];
#pragma unroll
            for (int i = 0; i < MT; i++)
#pragma unroll
                for (int j = 0; j < NT; j++) multiply_add(c[i][j], a[i], b[j]);
        }
    }
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const int row = wm + 16 * i + g + 8 * r, column = wn + 8 * j + 2 * t;
                if (m0 + row >= p.M || n0 + column >= p.N) continue;
                double2 value = make_double2(c[i][j][2 * r], c[i][j][2 * r + 1]);
                if (ROWS && p.theta[0] != nullptr) {
                    const int mode = n0 + column, y = mode / p.length, x = mode - y * p.length;
                    const double rest = p.theta[1][y] + p.theta[2][block * p.M + m0 + row];
                    value.x /= p.reaction + p.conductivity * (p.theta[0][x] + rest);
                    value.y /= p.reaction + p.conductivity * (p.theta[0][x + 1] + rest);
                    if (p.singular && mode == 0 && block == 0 && m0 + row == 0) value.x = 0; // the constant
                }
                *reinterpret_cast<double2 *>(C + row * p.lc + column) = value;
            }
}

template <int BM, int BN, int WM, int WN, int STAGES, bool ROWS>
void run_product(product_launch p, int outer) {
    using S = product<BM, BN, WM, WN, STAGES, ROWS>;
    const int m = (p.M + BM - 1) / BM, n = (p.N + BN - 1) / BN;
    p.tiles = ROWS ? m : n;
    if (!allow_shared(product_kernel<BM, BN, WM, WN, STAGES, ROWS>, S::bytes, "modes_solve")) return;
    product_kernel<BM, BN, WM, WN, STAGES, ROWS>
        <<<dim3((unsigned)(m * (int64_t)n), 1, (unsigned)(p.blocks * outer)), S::T, S::bytes>>>(p);
    launched("modes_solve");
}

// to = matrix from along direction d.
void transform(const struct brick_modes *modes, int d, bool back, const double *from, double *to) {
    int length[3];
    for (int i = 0; i < 3; i++) length[i] = brick_modes_blocks(modes, i) * modes->size[i];
    const int64_t plane = (int64_t)length[0] * length[1];
    const double *matrix = back ? modes->backward[d] : modes->forward[d];
    const int size = modes->size[d];
    product_launch p = {};
    p.K = size;
    p.C = to;
    p.blocks = brick_modes_blocks(modes, d);
    if (d == 0) {
        p.A = from;
        p.B = matrix;
        p.M = length[1] * length[2];
        p.N = size;
        p.la = p.lc = length[0];
        p.lb = size;
        p.Ab = p.Cb = size;
        p.Bb = (int64_t)size * size;
        return run_product<128, 64, 64, 32, 3, false>(p, 1);
    }
    const int64_t row = d == 1 ? length[0] : plane;
    p.A = matrix;
    p.B = from;
    p.M = size;
    p.N = (int)row;
    p.la = size;
    p.lb = p.lc = row;
    p.Ab = (int64_t)size * size;
    p.Bb = p.Cb = size * row;
    p.Bo = p.Co = plane;
    if (d == 2 && !back) {
        for (int i = 0; i < 3; i++) p.theta[i] = modes->theta[i];
        p.conductivity = modes->conductivity;
        p.reaction = modes->reaction;
        p.singular = modes->singular && modes->reaction == 0.0;
        p.length = length[0];
    }
    run_product<64, 128, 64, 32, 4, true>(p, d == 1 ? length[2] : 1);
}

// Where direction 2 is none and no product comes along with it.
__global__ void divide_kernel(const __grid_constant__ struct brick_modes modes, int length, int64_t n,
                              double *w) {
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x) {
        const double theta = modes.theta[0][i % length] + modes.theta[1][i / length] + modes.theta[2][0];
        const bool constant = i == 0 && modes.singular && modes.reaction == 0.0;
        w[i] = constant ? 0.0 : w[i] / (modes.reaction + modes.conductivity * theta);
    }
}
void divide(const struct brick_modes *modes, double *w) {
    if (!may_launch()) return;
    divide_kernel<<<4 * multiprocessors(), 256>>>(*modes, brick_modes_blocks(modes, 0) * modes->size[0],
                                                  brick_modes_count(modes), w);
    launched("modes_solve");
}

// ------------------------------------------------------------------------------ nodes and halves

struct fold_launch {
    int n_nodes[3], first[3], n[3], even[3], size[3], blocks[3];
    const double *from;
    double *to;
};

// A thread for one index of all blocks: up to eight nodes, and as many entries of the work array.
template <bool BACK> __global__ void fold_kernel(const __grid_constant__ fold_launch p) {
    const int at[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x),
                       (int)(blockIdx.y * blockDim.y + threadIdx.y), (int)blockIdx.z};
    if (at[0] >= p.size[0] || at[1] >= p.size[1]) return;
    double value[8];
    int node[3][2];
    bool there[3][2], twin[3];
    for (int d = 0; d < 3; d++) {
        const int odd = p.n[d] - p.even[d];
        twin[d] = p.blocks[d] == 2;
        there[d][0] = at[d] < (twin[d] ? p.even[d] : p.n[d]);
        there[d][1] = twin[d] && at[d] < odd;
        node[d][0] = p.first[d] + at[d];
        node[d][1] = p.first[d] + p.n[d] - 1 - at[d];
    }
#pragma unroll
    for (int s = 0; s < 8; s++) {
        const int x = s & 1, y = s >> 1 & 1, z = s >> 2;
        value[s] = 0;
        if (BACK) {
            if ((x < p.blocks[0]) && (y < p.blocks[1]) && (z < p.blocks[2]))
                value[s] = p.from[at[0] + x * p.size[0] +
                                  ((int64_t)(at[1] + y * p.size[1]) +
                                   (int64_t)(at[2] + z * p.size[2]) * p.blocks[1] * p.size[1]) *
                                      p.blocks[0] * p.size[0]];
        } else if (there[0][x] && there[1][y] && there[2][z]) {
            value[s] = p.from[node[0][x] +
                              ((int64_t)node[1][y] + (int64_t)node[2][z] * p.n_nodes[1]) * p.n_nodes[0]];
        }
    }
#pragma unroll
    for (int d = 0; d < 3; d++)
#pragma unroll
        for (int s = 0; s < 8; s++) {
            if (s >> d & 1 || !there[d][1]) continue;
            const double low = value[s], high = value[s | 1 << d];
            value[s] = low + high;
            value[s | 1 << d] = low - high;
        }
#pragma unroll
    for (int s = 0; s < 8; s++) {
        const int x = s & 1, y = s >> 1 & 1, z = s >> 2;
        if (!BACK) {
            if ((x < p.blocks[0]) && (y < p.blocks[1]) && (z < p.blocks[2]))
                p.to[at[0] + x * p.size[0] +
                     ((int64_t)(at[1] + y * p.size[1]) +
                      (int64_t)(at[2] + z * p.size[2]) * p.blocks[1] * p.size[1]) *
                         p.blocks[0] * p.size[0]] = value[s];
        } else if (there[0][x] && there[1][y] && there[2][z]) {
            p.to[node[0][x] + ((int64_t)node[1][y] + (int64_t)node[2][z] * p.n_nodes[1]) * p.n_nodes[0]] =
                value[s];
        }
    }
}

void run_fold(const struct brick_modes *modes, bool back, const double *from, double *to) {
    fold_launch p;
    for (int d = 0; d < 3; d++) {
        p.n_nodes[d] = modes->n_nodes[d];
        p.first[d] = modes->first[d];
        p.n[d] = modes->n[d];
        p.even[d] = modes->even[d];
        p.size[d] = modes->size[d];
        p.blocks[d] = brick_modes_blocks(modes, d);
    }
    p.from = from;
    p.to = to;
    if (!may_launch()) return;
    const dim3 threads(32, 4),
        grid((unsigned)((p.size[0] + 31) / 32), (unsigned)((p.size[1] + 3) / 4), (unsigned)p.size[2]);
    if (back)
        fold_kernel<true><<<grid, threads>>>(p);
    else
        fold_kernel<false><<<grid, threads>>>(p);
    launched("modes_solve");
}

} // namespace
} // namespace facet

int64_t modes_scratch_cuda(const struct brick_modes *modes) {
    return 2 * brick_modes_count(modes);
}

void modes_solve_cuda(const struct brick_modes *modes, const double *b, double *u, double *scratch) {
    double *w = scratch, *t = scratch + brick_modes_count(modes);
    int64_t n = 1, n_free = 1;
    for (int d = 0; d < 3; d++) {
        n *= modes->n_nodes[d];
        n_free *= modes->n[d];
    }
    if (!facet::may_launch()) return;
    if (n_free == 0) {
        facet::good(cudaMemsetAsync(u, 0, sizeof *u * (size_t)n), "modes_solve");
        return;
    }
    auto along = [&](int d, bool back) {
        if (modes->size[d] == 1) return; // none: a product with one
        facet::transform(modes, d, back, w, t);
        std::swap(w, t);
    };
    facet::run_fold(modes, false, b, w);
    for (int d = 0; d < 3; d++) along(d, false);
    if (modes->size[2] == 1) facet::divide(modes, w);
    for (int d = 2; d >= 0; d--) along(d, true);
    if (n_free < n) facet::good(cudaMemsetAsync(u, 0, sizeof *u * (size_t)n), "modes_solve");
    facet::run_fold(modes, true, w, u);
}
