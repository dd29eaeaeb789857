// Products of dense matrices on the tensor cores, FP64 or (operands rounded to 10 bits, sums in single) TF32:
// tiles through a ring of asynchronous copies in shared memory.
#ifndef FACET_CUDA_PRODUCT_CUH
#define FACET_CUDA_PRODUCT_CUH

#include "kernels/cuda/internal.cuh"

namespace facet {
namespace {

template <typename R> struct product_launch {
    const R *A, *B;
    R *C;
    int M, N, K;        // K a multiple of 16; rows begin on 16 bytes, N (or with B' M) filling such pieces
    int64_t la, lb, lc; // rows of the arrays
    int blocks;         // blockIdx.z is block + blocks * outer
    int64_t Ab, Bb, Cb; // from block to block
    int64_t Ao, Bo, Co; // from one outer index to the next
    int tiles;          // along the matrix of modes, which change fastest: what they share stays in the cache
    // Before it is stored the result is divided by reaction + conductivity (theta_0 + theta_1 + theta_2), C
    // being a lattice of length[0] length[1] numbers in a plane. theta[0] NULL: not.
    const double *theta[3];
    double conductivity, reaction;
    int singular, length[2];
    R keep; // C = A B + keep C; 0 ignores C
};

template <typename R> __device__ __forceinline__ void copy_16(R *to, const R *from, bool there) {
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

__device__ __forceinline__ unsigned rounded(float x) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
}

__device__ __forceinline__ void multiply_add(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(rounded(a[0])), "r"(rounded(a[1])), "r"(rounded(a[2])), "r"(rounded(a[3])), "r"(rounded(b[0])),
          "r"(rounded(b[1])));
}

// A number of the lattice C by its coordinates; divisions of 32 bits are cheap.
template <typename R>
__device__ __forceinline__ void place_of(const product_launch<R> &p, int64_t number, int (&at)[3]) {
    const int64_t row = number >> 32 == 0 ? (unsigned)number / (unsigned)p.length[0] : number / p.length[0];
    at[0] = (int)(number - row * p.length[0]);
    at[2] = (int)((unsigned)row / (unsigned)p.length[1]);
    at[1] = (int)row - at[2] * p.length[1];
}

template <typename R> struct pair_of;
template <> struct pair_of<double> { using type = double2; };
template <> struct pair_of<float> { using type = float2; };

// C = A B, a tile of BM x BN a block, one of WM x WN a warp. A by rows; B by rows (ROWS), or B' by rows.
// Tiles in shared memory are padded so that the lanes of one access meet different banks.
template <typename R, int BM, int BN, int WM, int WN, int STAGES, bool ROWS> struct product {
    static constexpr int BK = 16, T = 32 * (BM / WM) * (BN / WN), PIECE = 16 / sizeof(R);
    static constexpr int LA = BK + 4, LB = ROWS ? BN + 2 * PIECE : BK + 4;
    static constexpr int SA = BM * LA, SB = ROWS ? BK * LB : BN * LB;
    static constexpr int bytes = STAGES * (SA + SB) * (int)sizeof(R);
};

template <typename R, int BM, int BN, int WM, int WN, int STAGES, bool ROWS>
__global__ void __launch_bounds__(32 * (BM / WM) * (BN / WN))
    product_kernel(const __grid_constant__ product_launch<R> p) {
    using S = product<R, BM, BN, WM, WN, STAGES, ROWS>;
    using two = typename pair_of<R>::type;
    constexpr int BK = S::BK, T = S::T, MT = WM / 16, NT = WN / 8, PIECE = S::PIECE;
    extern __shared__ __align__(16) unsigned char room[];
    R *tiles = reinterpret_cast<R *>(room);
    const int block = blockIdx.z % p.blocks, outer = blockIdx.z / p.blocks;
    const int fast = blockIdx.x % p.tiles, slow = blockIdx.x / p.tiles;
    const int m0 = (ROWS ? fast : slow) * BM, n0 = (ROWS ? slow : fast) * BN;
    const R *A = p.A + block * p.Ab + outer * p.Ao + m0 * p.la;
    const R *B = p.B + block * p.Bb + outer * p.Bo + (ROWS ? (int64_t)n0 : n0 * p.lb);
    R *C = p.C + block * p.Cb + outer * p.Co + m0 * p.lc + n0;
    const int steps = p.K / BK;

    auto fetch = [&](int step) {
        R *to = tiles + step % STAGES * (S::SA + S::SB);
        const int k0 = step * BK;
        if (step < steps) {
#pragma unroll
            for (int i = threadIdx.x; i < BM * (BK / PIECE); i += T) {
                const int row = i / (BK / PIECE), column = i % (BK / PIECE) * PIECE;
                const bool there = m0 + row < p.M;
                copy_16(to + row * S::LA + column, A + (there ? row * p.la + k0 + column : 0), there);
            }
            to += S::SA;
            if (ROWS) {
#pragma unroll
                for (int i = threadIdx.x; i < BK * (BN / PIECE); i += T) {
                    const int row = i / (BN / PIECE), column = i % (BN / PIECE) * PIECE;
                    const bool there = n0 + column < p.N;
                    copy_16(to + row * S::LB + column, B + (there ? (k0 + row) * p.lb + column : 0), there);
                }
            } else {
#pragma unroll
                for (int i = threadIdx.x; i < BN * (BK / PIECE); i += T) {
                    const int row = i / (BK / PIECE), column = i % (BK / PIECE) * PIECE;
                    const bool there = n0 + row < p.N;
                    copy_16(to + row * S::LB + column, B + (there ? row * p.lb + k0 + column : 0), there);
                }
            }
        }
        asm volatile("cp.async.commit_group;");
    };

    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int wm = warp / (BN / WN) * WM, wn = warp % (BN / WN) * WN;
    R c[MT][NT][4];
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
        const R *a0 = tiles + step % STAGES * (S::SA + S::SB), *b0 = a0 + S::SA;
#pragma unroll
        for (int k = 0; k < BK; k += 8) {
            R a[MT][4], b[NT][2];
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
                two *to = reinterpret_cast<two *>(C + row * p.lc + column);
                two value = {c[i][j][2 * r], c[i][j][2 * r + 1]};
                if (p.keep != 0) {
                    value.x += p.keep * to->x;
                    value.y += p.keep * to->y;
                }
                if (p.theta[0] != nullptr) {
                    const int64_t number = C + row * p.lc + column - p.C;
                    int at[3];
                    place_of(p, number, at);
                    const double rest = p.theta[1][at[1]] + p.theta[2][at[2]];
                    value.x /= (R)(p.reaction + p.conductivity * (p.theta[0][at[0]] + rest));
                    value.y /= (R)(p.reaction + p.conductivity * (p.theta[0][at[0] + 1] + rest));
                    if (p.singular && number == 0) value.x = 0; // the constant
                }
                *to = value;
            }
}

template <int BM, int BN, int WM, int WN, int STAGES, bool ROWS, typename R>
void run_product(product_launch<R> p, int outer, const char *kernel) {
    using S = product<R, BM, BN, WM, WN, STAGES, ROWS>;
    const int m = (p.M + BM - 1) / BM, n = (p.N + BN - 1) / BN;
    p.tiles = ROWS ? m : n;
    if (!allow_shared(product_kernel<R, BM, BN, WM, WN, STAGES, ROWS>, S::bytes, kernel)) return;
    product_kernel<R, BM, BN, WM, WN, STAGES, ROWS>
        <<<dim3((unsigned)(m * (int64_t)n), 1, (unsigned)(p.blocks * outer)), S::T, S::bytes>>>(p);
    launched(kernel);
}

} // namespace
} // namespace facet

#endif
