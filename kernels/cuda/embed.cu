// Transfers between a brick and one of half the cells, where every coarse cell is cut in the same way and the
// degree is above 1.
//
// A block takes a tile of coarse cells and goes up a chunk of them, direction by direction through shared
// memory, and writes each of its nodes once. In the restriction a node at the lower end of a coarse cell
// takes something from the cell before, so blocks compute one more column of cells, and one more cell below,
// for what these give to their upper ends. A fine node belongs to the cell that begins there, the last one of
// a direction to one more cell of which nothing else exists.
#include "kernels/cuda/internal.cuh"

namespace facet {

namespace {

template <typename R, int N> struct embed_launch {
    R E[(2 * N - 1) * N];
    int periodic[3], fixed[3][2], n_coarse[3], n_fine[3];
    int cells, chunk; // along 2
    const R *from;
    R *to;
};

constexpr int T = 256;

// Coarse cells of a tile of the restriction (TX + 1 divides 32: so many lanes share a row) and of the
// prolongation.
template <int N> struct tile;
template <> struct tile<3> { static constexpr int TX = 7, TY = 7, UX = 12, UY = 6; };
template <> struct tile<4> { static constexpr int TX = 7, TY = 3, UX = 8, UY = 4; };
template <> struct tile<5> { static constexpr int TX = 7, TY = 3, UX = 6, UY = 2; };
template <> struct tile<6> { static constexpr int TX = 3, TY = 3, UX = 5, UY = 2; };
template <> struct tile<7> { static constexpr int TX = 3, TY = 2, UX = 4, UY = 1; };
template <> struct tile<8> { static constexpr int TX = 3, TY = 1, UX = 4, UY = 1; };
template <> struct tile<9> { static constexpr int TX = 3, TY = 1, UX = 3, UY = 1; };

// The fine nodes of a cell, and where they lie: an odd number apart, so that lanes meet different banks.
template <int N> constexpr int fine_of = 2 * (N - 1);
template <int N> constexpr int stride_of = fine_of<N> + 1;

// ------------------------------------------------------------------------------ restriction

template <int N> struct down {
    static constexpr int K = N - 1, F = fine_of<N>, TX = tile<N>::TX, TY = tile<N>::TY;
    static constexpr int FX = (TX + 1) * F, FY = (TY + 1) * F, LX = (TX + 1) * stride_of<N>;
    static constexpr int COUNT = K * FY * LX, COLUMNS = (FX * FY + T - 1) / T;
};

// out = E' of one cell.
template <typename R, int N>
__device__ __forceinline__ void gather(const R *E, const R (&in)[fine_of<N>], R (&out)[N]) {
#pragma unroll
    for (int c = 0; c < N; c++) {
        R sum = 0;
#pragma unroll
        for (int i = 0; i < fine_of<N>; i++) sum += E[i * N + c] * in[i];
        out[c] = sum;
    }
}

template <typename R, int N>
__global__ void __launch_bounds__(T) restrict_kernel(const __grid_constant__ embed_launch<R, N> p) {
    using S = down<N>;
    constexpr int K = S::K, F = S::F, TX = S::TX, TY = S::TY, LX = S::LX, G = TX + 1;
    extern __shared__ __align__(16) unsigned char memory[];
    R *V = reinterpret_cast<R *>(memory);
    const int X0 = (blockIdx.x * TX - 1) * F, Y0 = (blockIdx.y * TY - 1) * F;
    const int begin = blockIdx.z * p.chunk, end = min(begin + p.chunk, p.cells);
    const int64_t row = p.n_fine[0], plane = row * p.n_fine[1];
    int64_t base[S::COLUMNS];
    R over[S::COLUMNS];

    auto up = [&](int i, int cell, R(&out)[N]) { // along 2: one cell of one column
        R in[F];
        const int first = cell < 0 ? (cell + p.cells) * F : cell * F;
#pragma unroll
        for (int n = 0; n < F; n++)
            in[n] = base[i] >= 0 && first + n < p.n_fine[2] ? p.from[base[i] + (first + n) * plane] : R(0);
        gather<R, N>(p.E, in, out);
    };
#pragma unroll
    for (int i = 0; i < S::COLUMNS; i++) {
        const int column = threadIdx.x + i * T, lx = column % S::FX, ly = column / S::FX;
        int X = X0 + lx, Y = Y0 + ly;
        if (p.periodic[0] && X < 0) X += p.n_fine[0];
        if (p.periodic[1] && Y < 0) Y += p.n_fine[1];
        const bool there = ly < S::FY && X >= 0 && Y >= 0 && X < p.n_fine[0] && Y < p.n_fine[1];
        base[i] = there ? X + Y * row : -1;
        over[i] = 0;
        if (begin > 0 || p.periodic[2]) {
            R out[N];
            up(i, begin - 1, out);
            over[i] = out[K];
        }
    }
    const int stop = end == p.cells && !p.periodic[2] ? end + 1 : end;
    const int lane = threadIdx.x % G;
    for (int iz = begin; iz < stop; iz++) {
#pragma unroll
        for (int i = 0; i < S::COLUMNS; i++) {
            const int column = threadIdx.x + i * T, lx = column % S::FX, ly = column / S::FX;
            if (ly >= S::FY) continue;
            R out[N], *v = V + ly * LX + lx / F * stride_of<N> + lx % F;
            up(i, iz, out);
            v[0] = out[0] + over[i];
            over[i] = out[K];
#pragma unroll
            for (int c = 1; c < K; c++) v[c * S::FY * LX] = out[c];
        }
        __syncthreads();
        // Along 0: a lane for every cell of a row, which hands what it gives to its upper end to the next.
        constexpr int ROWS = K * S::FY, ROUNDS = (ROWS + T / G - 1) / (T / G);
        for (int round = 0; round < ROUNDS; round++) {
            const int r = round * (T / G) + threadIdx.x / G;
            R *v = V + r * LX + lane * stride_of<N>, in[F], out[N];
#pragma unroll
            for (int n = 0; n < F; n++) in[n] = r < ROWS ? v[n] : R(0);
            gather<R, N>(p.E, in, out);
            out[0] += __shfl_up_sync(0xffffffffu, out[K], 1, G);
#pragma unroll
            for (int c = 0; c < K; c++)
                if (r < ROWS && lane > 0) v[c] = out[c];
        }
        __syncthreads();
        // Along 1, and to memory.
        for (int task = threadIdx.x; task < TX * K * K; task += T) {
            const int lx = task % (TX * K), c = task / (TX * K), X = blockIdx.x * TX * K + lx, Z = iz * K + c;
            if (X >= p.n_coarse[0] || Z >= p.n_coarse[2]) continue;
            const R *v = V + c * S::FY * LX + (lx / K + 1) * stride_of<N> + lx % K;
            const bool fixed = (p.fixed[0][0] && X == 0) || (p.fixed[0][1] && X == p.n_coarse[0] - 1) ||
                               (p.fixed[2][0] && Z == 0) || (p.fixed[2][1] && Z == p.n_coarse[2] - 1);
            R last = 0;
            for (int cell = 0; cell <= TY; cell++) {
                R in[F], out[N];
#pragma unroll
                for (int n = 0; n < F; n++) in[n] = v[(cell * F + n) * LX];
                gather<R, N>(p.E, in, out);
                out[0] += last;
                last = out[K];
                const int Y = (blockIdx.y * TY - 1 + cell) * K;
                int64_t at = X + ((int64_t)Y + (int64_t)Z * p.n_coarse[1]) * p.n_coarse[0];
#pragma unroll
                for (int j = 0; j < K; j++, at += p.n_coarse[0]) {
                    if (cell == 0 || Y + j >= p.n_coarse[1]) continue;
                    const bool hold = fixed || (p.fixed[1][0] && Y + j == 0) ||
                                      (p.fixed[1][1] && Y + j == p.n_coarse[1] - 1);
                    p.to[at] = hold ? R(0) : out[j];
                }
            }
        }
        __syncthreads();
    }
}

// ------------------------------------------------------------------------------ prolongation

template <int N> struct upward {
    static constexpr int K = N - 1, F = fine_of<N>, TX = tile<N>::UX, TY = tile<N>::UY;
    static constexpr int CY = TY * K + 1, FX = TX * F, FY = TY * F, LX = TX * stride_of<N>;
    static constexpr int ALONG = K * CY * LX, COUNT = ALONG + K * FY * LX, COLUMNS = (FX * FY + T - 1) / T;
};

template <typename R, int N>
__global__ void __launch_bounds__(T) prolong_kernel(const __grid_constant__ embed_launch<R, N> p) {
    using S = upward<N>;
    constexpr int K = S::K, F = S::F, TX = S::TX, TY = S::TY, LX = S::LX;
    extern __shared__ __align__(16) unsigned char memory[];
    R *A = reinterpret_cast<R *>(memory),
      *B = A + S::ALONG; // [plane][coarse y][fine x], [plane][fine y][fine x]
    const int X0 = blockIdx.x * TX * K, Y0 = blockIdx.y * TY * K;
    const int begin = blockIdx.z * p.chunk, end = min(begin + p.chunk, p.cells);
    const int64_t row = p.n_fine[0], plane = row * p.n_fine[1];
    R top[S::COLUMNS];

    auto node = [&](int d, int i) { // of a ring, or -1 where there is none
        if (i < p.n_coarse[d]) return i;
        return p.periodic[d] && i == p.n_coarse[d] ? 0 : -1;
    };
    auto spread = [&](int first, int count) { // planes of coarse nodes, along 0 and 1
        for (int task = threadIdx.x; task < count * S::CY * TX; task += T) {
            const int cell = task % TX, r = task / TX, y = node(1, Y0 + r % S::CY),
                      z = node(2, first + r / S::CY);
            R in[N], *to = A + r * LX + cell * stride_of<N>;
            const R *from = p.from + ((int64_t)y + (int64_t)z * p.n_coarse[1]) * p.n_coarse[0];
#pragma unroll
            for (int c = 0; c < N; c++) {
                const int x = node(0, X0 + cell * K + c);
                in[c] = x >= 0 && y >= 0 && z >= 0 ? from[x] : R(0);
            }
#pragma unroll
            for (int i = 0; i < F; i++) {
                R sum = 0;
#pragma unroll
                for (int c = 0; c < N; c++) sum += p.E[i * N + c] * in[c];
                to[i] = sum;
            }
        }
        __syncthreads();
        for (int task = threadIdx.x; task < count * LX; task += T) {
            const int x = task % LX, r = task / LX;
            if (x % stride_of<N> == F) continue;
            for (int cell = 0; cell < TY; cell++) {
                R in[N];
#pragma unroll
                for (int c = 0; c < N; c++) in[c] = A[(r * S::CY + cell * K + c) * LX + x];
#pragma unroll
                for (int i = 0; i < F; i++) {
                    R sum = 0;
#pragma unroll
                    for (int c = 0; c < N; c++) sum += p.E[i * N + c] * in[c];
                    B[(r * S::FY + cell * F + i) * LX + x] = sum;
                }
            }
        }
        __syncthreads();
    };
    // The fine node of a column and its place; -1: not of this block.
    auto column_of = [&](int i, int *place) -> int64_t {
        const int column = threadIdx.x + i * T, lx = column % S::FX, ly = column / S::FX;
        const int X = blockIdx.x * S::FX + lx, Y = blockIdx.y * S::FY + ly;
        *place = ly * LX + lx / F * stride_of<N> + lx % F;
        return ly < S::FY && X < p.n_fine[0] && Y < p.n_fine[1] ? X + Y * row : -1;
    };

    spread(begin * K, 1);
#pragma unroll
    for (int i = 0; i < S::COLUMNS; i++) {
        int place;
        top[i] = column_of(i, &place) >= 0 ? B[place] : R(0);
    }
    __syncthreads();
    for (int iz = begin; iz < end; iz++) {
        spread(iz * K + 1, K);
#pragma unroll
        for (int i = 0; i < S::COLUMNS; i++) {
            int place;
            const int64_t base = column_of(i, &place);
            if (base < 0) continue;
            R in[N], *to = p.to + base + (int64_t)iz * F * plane;
            in[0] = top[i];
#pragma unroll
            for (int c = 1; c < N; c++) in[c] = B[(c - 1) * S::FY * LX + place];
            top[i] = in[K];
#pragma unroll
            for (int n = 0; n < F; n++) {
                R sum = to[n * plane];
#pragma unroll
                for (int c = 0; c < N; c++) sum += p.E[n * N + c] * in[c];
                to[n * plane] = sum;
            }
        }
        __syncthreads();
    }
    if (end < p.cells || p.periodic[2]) return;
#pragma unroll
    for (int i = 0; i < S::COLUMNS; i++) {
        int place;
        const int64_t base = column_of(i, &place);
        if (base >= 0) p.to[base + (int64_t)p.cells * F * plane] += top[i];
    }
}

// ------------------------------------------------------------------------------ launches

template <typename R, int N, bool UP> void launch(const struct brick_transfer *t, const R *from, R *to) {
    constexpr int bytes = (int)sizeof(R) * (UP ? upward<N>::COUNT : down<N>::COUNT);
    constexpr int TX = UP ? tile<N>::UX : tile<N>::TX, TY = UP ? tile<N>::UY : tile<N>::TY;
    embed_launch<R, N> l;
    for (int i = 0; i < (2 * N - 1) * N; i++) l.E[i] = (R)t->axis[0].host[i];
    for (int d = 0; d < 3; d++) {
        l.periodic[d] = t->axis[d].periodic;
        l.n_coarse[d] = t->axis[d].n_coarse;
        l.n_fine[d] = t->axis[d].n_fine;
        for (int s = 0; s < 2; s++) l.fixed[d][s] = t->axis[d].fixed[s];
    }
    l.cells = t->axis[2].n_cells;
    l.from = from;
    l.to = to;
    const int tiles[2] = {(l.n_fine[0] - 1) / (TX * fine_of<N>)+1, (l.n_fine[1] - 1) / (TY * fine_of<N>)+1};
    // Chunks so short that all multiprocessors have enough to do, and no shorter.
    const int64_t wanted = 16 * (int64_t)multiprocessors() / ((int64_t)tiles[0] * tiles[1]) + 1;
    const int chunks = wanted < l.cells ? (int)wanted : l.cells;
    l.chunk = (l.cells + chunks - 1) / chunks;
    const dim3 grid((unsigned)tiles[0], (unsigned)tiles[1], (unsigned)((l.cells + l.chunk - 1) / l.chunk));
    if (!may_launch()) return;
    if constexpr (UP) {
        if (bytes > 48 * 1024 && !allow_shared(prolong_kernel<R, N>, bytes, "brick_prolong")) return;
        prolong_kernel<R, N><<<grid, T, bytes>>>(l);
    } else {
        if (bytes > 48 * 1024 && !allow_shared(restrict_kernel<R, N>, bytes, "brick_restrict")) return;
        restrict_kernel<R, N><<<grid, T, bytes>>>(l);
    }
    launched(UP ? "brick_prolong" : "brick_restrict");
}

template <typename R, int N> void launch(const struct brick_transfer *t, const R *from, R *to, bool up) {
    if (up)
        launch<R, N, true>(t, from, to);
    else
        launch<R, N, false>(t, from, to);
}

} // namespace

template <typename R> bool transfer_tiles(const struct brick_transfer *t, const R *from, R *to, bool up) {
    if (t->axis[1].n_fine > 65535) return false;
    return with_constant<2, 3, 4, 5, 6, 7, 8>(
        t->axis[0].k, [&](auto k) { launch<R, decltype(k)::value + 1>(t, from, to, up); });
}
template bool transfer_tiles<double>(const struct brick_transfer *, const double *, double *, bool);
template bool transfer_tiles<float>(const struct brick_transfer *, const float *, float *, bool);

} // namespace facet
