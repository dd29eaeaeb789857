// Products of dense matrices on the FP64 tensor cores: tiles through a ring of asynchronous copies in shared
// memory.
#ifndef FACET_CUDA_PRODUCT_CUH
#define FACET_CUDA_PRODUCT_CUH

#include "kernels/cuda/internal.cuh"

namespace facet {
namespace {

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
    double keep; // C = A B + keep C; 0 ignores C
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
                double2 *to = reinterpret_cast<double2 *>(C + row * p.lc + column);
                double2 value = make_double2(c[i][j][2 * r], c[i][j][2 * r + 1]);
                if (p.keep != 0) {
                    value.x += p.keep * to->x;
                    value.y += p.keep * to->y;
                }
                if (ROWS && p.theta[0] != nullptr) {
                    const int mode = n0 + column, y = mode / p.length, x = mode - y * p.length;
                    const double rest = p.theta[1][y] + p.theta[2][block * p.M + m0 + row];
                    value.x /= p.reaction + p.conductivity * (p.theta[0][x] + rest);
                    value.y /= p.reaction + p.conductivity * (p.theta[0][x + 1] + rest);
                    if (p.singular && mode == 0 && block == 0 && m0 + row == 0) value.x = 0; // the constant
                }
                *to = value;
            }
}

template <int BM, int BN, int WM, int WN, int STAGES, bool ROWS>
void run_product(product_launch p, int outer, const char *kernel) {
    using S = product<BM, BN, WM, WN, STAGES, ROWS>;
    const int m = (p.M + BM - 1) / BM, n = (p.N + BN - 1) / BN;
    p.tiles = ROWS ? m : n;
    if (!allow_shared(product_kernel<BM, BN, WM, WN, STAGES, ROWS>, S::bytes, kernel)) return;
    product_kernel<BM, BN, WM, WN, STAGES, ROWS>
        <<<dim3((unsigned)(m * (int64_t)n), 1, (unsigned)(p.blocks * outer)), S::T, S::bytes>>>(p);
    launched(kernel);
}

} // namespace
} // namespace facet

#endif
