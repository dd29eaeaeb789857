// The operator of continuous elements on a brick with one k and one lambda.
//
// Then A = lambda M M M + k (A M M + M A M + M M A) with matrices of whole directions, and no cell has to be
// added to another: with v = M x, p = (lambda M + k A) x along 2, and s = M p + k A v, b = M v along 0,
//
//     y = M s + k A b   along 1.
//
// A block owns the nodes of TX x TY columns of cells, goes up a chunk of them NZ cells at a time, and writes
// each of its nodes once. A node at the lower end of a cell takes something from the cell before, so blocks
// compute one more column of cells, and one more cell below the chunk, for what these give to their upper
// ends. The matrices of a cell fall into an even and an odd block, which are arguments of the kernel: their
// entries become constant operands of the multiply-add.
#include "kernels/cuda/internal.cuh"

namespace facet {

namespace {

template <typename R, int N> struct uniform_launch {
    static constexpr int E = (N + 1) / 2, O = N / 2;
    R M[E * E + O * O], A[E * E + O * O];
    R a, b, k, lambda;
    int cells[3], periodic[3], fixed[3][2], n_nodes[3];
    int chunk; // cells along 2
    const double *widths[3];
    const R *x, *f;
    R *y;
};

// out = C half for the two blocks of C; half: sums and differences of opposite values.
template <typename R, int N>
__device__ __forceinline__ void blocks(const R *C, const R (&half)[N], R (&out)[N]) {
    constexpr int E = (N + 1) / 2, O = N / 2;
#pragma unroll
    for (int i = 0; i < E; i++) {
        R s = C[i * E] * half[0];
#pragma unroll
        for (int j = 1; j < E; j++) s += C[i * E + j] * half[j];
        out[i] = s;
    }
#pragma unroll
    for (int i = 0; i < O; i++) {
        R s = C[E * E + i * O] * half[E];
#pragma unroll
        for (int j = 1; j < O; j++) s += C[E * E + i * O + j] * half[E + j];
        out[E + i] = s;
    }
}
template <typename R, int N> __device__ __forceinline__ void fold(const R (&in)[N], R (&half)[N]) {
    constexpr int E = (N + 1) / 2, O = N / 2;
#pragma unroll
    for (int i = 0; i < O; i++) {
        half[i] = in[i] + in[N - 1 - i];
        half[E + i] = in[i] - in[N - 1 - i];
    }
    if (E > O) half[E - 1] = in[E - 1];
}
template <typename R, int N> __device__ __forceinline__ void unfold(const R (&half)[N], R (&out)[N]) {
    constexpr int E = (N + 1) / 2, O = N / 2;
#pragma unroll
    for (int i = 0; i < O; i++) {
        out[i] = half[i] + half[E + i];
        out[N - 1 - i] = half[i] - half[E + i];
    }
    if (E > O) out[E - 1] = half[E - 1];
}

// Columns of a tile, cells of a step, threads. TX + 1 divides 32: that many lanes share a row of cells.
template <int N> struct tile;
template <> struct tile<3> { static constexpr int TX = 15, TY = 7, NZ = 2, T = 192; };
template <> struct tile<4> { static constexpr int TX = 7, TY = 5, NZ = 1, T = 160; };
template <> struct tile<5> { static constexpr int TX = 7, TY = 3, NZ = 1, T = 192; };
template <> struct tile<6> { static constexpr int TX = 3, TY = 3, NZ = 1, T = 160; };
template <> struct tile<7> { static constexpr int TX = 3, TY = 3, NZ = 1, T = 224; };
template <> struct tile<8> { static constexpr int TX = 3, TY = 2, NZ = 1, T = 224; };
template <> struct tile<9> { static constexpr int TX = 3, TY = 2, NZ = 1, T = 288; };

// Where things lie in shared memory: node i of a row of cells at i + i / K where K is even, so that lanes K
// nodes apart meet different banks.
template <int N> struct room {
    static constexpr int K = N - 1, TX = tile<N>::TX, TY = tile<N>::TY, PLANES = tile<N>::NZ * K;
    static constexpr int WX = (TX + 1) * K + 1, WY = (TY + 1) * K + 1;
    static constexpr int STRIDE = K | 1, LX = (TX + 1) * STRIDE + 1;
    static constexpr int COUNT = PLANES * WY * LX;
    static constexpr int COLUMNS = (WX * WY + tile<N>::T - 1) / tile<N>::T; // of a thread
    __device__ static int place(int x) {
        return x / K * STRIDE + x % K;
    }
};

// The width of a cell of a direction, 0 where there is none.
__device__ __forceinline__ double width_of(const double *widths, int cells, int periodic, int cell) {
    if (periodic) cell = cell < 0 ? cell + cells : cell;
    return cell >= 0 && cell < cells ? widths[cell] : 0.0;
}

template <typename R, int N>
__global__ void __launch_bounds__(tile<N>::T) uniform_kernel(const __grid_constant__ uniform_launch<R, N> p) {
    using S = room<N>;
    constexpr int K = N - 1, TX = S::TX, TY = S::TY, NZ = tile<N>::NZ, T = tile<N>::T, LX = S::LX, G = TX + 1;
    extern __shared__ __align__(16) unsigned char memory[];
    R *V = reinterpret_cast<R *>(memory), *P = V + S::COUNT;
    const int X0 = (blockIdx.x * TX - 1) * K, Y0 = (blockIdx.y * TY - 1) * K;
    const int begin = blockIdx.z * p.chunk, end = min(begin + p.chunk, p.cells[2]);
    const int64_t row = p.n_nodes[0], plane = row * p.n_nodes[1];

    // Columns of nodes: the address of each, the value on top of the last cell, what that cell gives there.
    int64_t base[S::COLUMNS];
    int place[S::COLUMNS];
    R top[S::COLUMNS], over_v[S::COLUMNS], over_p[S::COLUMNS];
    for (int i = 0; i < S::COLUMNS; i++) {
        const int column = threadIdx.x + i * T, lx = column % S::WX, ly = column / S::WX;
        int X = X0 + lx, Y = Y0 + ly;
        if (p.periodic[0]) X = X < 0 ? X + p.n_nodes[0] : X >= p.n_nodes[0] ? X - p.n_nodes[0] : X;
        if (p.periodic[1]) Y = Y < 0 ? Y + p.n_nodes[1] : Y >= p.n_nodes[1] ? Y - p.n_nodes[1] : Y;
        const bool there = ly < S::WY && X >= 0 && Y >= 0 && X < p.n_nodes[0] && Y < p.n_nodes[1];
        base[i] = there ? X + Y * row : -1;
        place[i] = ly < S::WY ? ly * LX + S::place(lx) : -1;
        top[i] = over_v[i] = over_p[i] = 0;
    }
    const int lane = threadIdx.x % G; // of a row of cells
    const double hx = width_of(p.widths[0], p.cells[0], p.periodic[0], blockIdx.x * TX - 1 + lane);
    const R mx = (R)hx, ax = hx > 0.0 ? p.k / (R)hx : R(0);

    __shared__ R my[TY + 1], ay[TY + 1];
    if (threadIdx.x <= TY) {
        const double hy = width_of(p.widths[1], p.cells[1], p.periodic[1], blockIdx.y * TY - 1 + threadIdx.x);
        my[threadIdx.x] = (R)hy;
        ay[threadIdx.x] = hy > 0.0 ? p.k / (R)hy : R(0);
    }

    // Along 2: one cell of one column, m and a being its width and k over it.
    auto up = [&](int i, int cell, R m, R a, R *v, R *q) {
        R in[N], half[N], Mz[N], Az[N];
        const int first = cell < 0 ? p.cells[2] * K + cell * K : cell * K;
        in[0] = top[i];
#pragma unroll
        for (int c = 1; c < N; c++) {
            const int z = first + c >= p.n_nodes[2] ? first + c - p.n_nodes[2] : first + c;
            in[c] = base[i] >= 0 && m > R(0) ? p.x[base[i] + z * plane] : R(0);
        }
        top[i] = in[K];
        fold<R, N>(in, half);
        blocks<R, N>(p.M, half, Mz);
        blocks<R, N>(p.A, half, Az);
#pragma unroll
        for (int c = 0; c < N; c++) {
            Mz[c] *= m;
            Az[c] = p.lambda * Mz[c] + a * Az[c];
        }
        unfold<R, N>(Mz, in);
        unfold<R, N>(Az, half);
        in[0] += over_v[i];
        half[0] += over_p[i];
        over_v[i] = in[K];
        over_p[i] = half[K];
        if (v != nullptr)
#pragma unroll
            for (int c = 0; c < K; c++) {
                v[c * S::WY * LX] = in[c];
                q[c * S::WY * LX] = half[c];
            }
    };

    const double below = width_of(p.widths[2], p.cells[2], p.periodic[2], begin - 1);
    const int lowest = below == 0.0 ? 0 : (begin > 0 ? begin - 1 : p.cells[2] - 1) * K;
#pragma unroll
    for (int i = 0; i < S::COLUMNS; i++) {
        if (base[i] < 0) continue;
        top[i] = p.x[base[i] + lowest * plane];
        if (below > 0.0) up(i, begin - 1, (R)below, p.k / (R)below, nullptr, nullptr);
    }
    // The node above the last cell counts as one more cell, of width zero.
    const int stop = end == p.cells[2] && !p.periodic[2] ? end + 1 : end;
    for (int iz = begin; iz < stop; iz += NZ) {
        R mz[NZ], az[NZ];
#pragma unroll
        for (int n = 0; n < NZ; n++) {
            const double hz = width_of(p.widths[2], p.cells[2], p.periodic[2], iz + n);
            mz[n] = (R)hz;
            az[n] = hz > 0.0 ? p.k / (R)hz : R(0);
        }
#pragma unroll
        for (int i = 0; i < S::COLUMNS; i++) {
            if (place[i] < 0) continue;
#pragma unroll
            for (int n = 0; n < NZ; n++)
                up(i, iz + n, mz[n], az[n], V + place[i] + n * K * S::WY * LX,
                   P + place[i] + n * K * S::WY * LX);
        }
        __syncthreads();
        // Along 0: a lane for every cell of a row, which hands what it gives to its upper end to the next.
        constexpr int ROWS = S::PLANES * S::WY, ROUNDS = (ROWS + T / G - 1) / (T / G);
        for (int round = 0; round < ROUNDS; round++) {
            const int r = round * (T / G) + threadIdx.x / G;
            R *v = V + r * LX + lane * S::STRIDE, *q = P + r * LX + lane * S::STRIDE;
            R in[N], half[N], b[N], s[N], t[N];
            const bool active = r < ROWS;
#pragma unroll
            for (int j = 0; j < N; j++) in[j] = active ? v[j < K ? j : S::STRIDE] : R(0);
            fold<R, N>(in, half);
            blocks<R, N>(p.M, half, b);
            blocks<R, N>(p.A, half, s);
#pragma unroll
            for (int j = 0; j < N; j++) in[j] = active ? q[j < K ? j : S::STRIDE] : R(0);
            fold<R, N>(in, half);
            blocks<R, N>(p.M, half, t);
#pragma unroll
            for (int j = 0; j < N; j++) {
                b[j] *= mx;
                s[j] = mx * t[j] + ax * s[j];
            }
            unfold<R, N>(b, in);
            unfold<R, N>(s, half);
            in[0] += __shfl_up_sync(0xffffffffu, in[K], 1, G);
            half[0] += __shfl_up_sync(0xffffffffu, half[K], 1, G);
            __syncwarp(); // every lane has read
            if (active && lane > 0)
#pragma unroll
                for (int j = 0; j < K; j++) {
                    v[j] = in[j];
                    q[j] = half[j];
                }
        }
        __syncthreads();
        // Along 1, and to memory.
        for (int task = threadIdx.x; task < TX * K * S::PLANES; task += T) {
            const int lx = task % (TX * K), c = task / (TX * K), X = X0 + K + lx, Z = iz * K + c;
            if (X >= p.n_nodes[0] || Z >= p.n_nodes[2] || Z >= end * K + (stop > end)) continue;
            const R *v = V + c * S::WY * LX + S::place(K + lx), *q = P + c * S::WY * LX + S::place(K + lx);
            const bool fixed = (p.fixed[0][0] && X == 0) || (p.fixed[0][1] && X == p.n_nodes[0] - 1) ||
                               (p.fixed[2][0] && Z == 0) || (p.fixed[2][1] && Z == p.n_nodes[2] - 1);
            R over = 0, first_s = q[0], first_b = v[0], now[K], next[K];
            auto take = [&](int cell, R(&to)[K]) { // f of a cell, while the one before is computed
#pragma unroll
                for (int j = 0; j < K; j++) {
                    const int Y = Y0 + cell * K + j;
                    const bool there = p.f != nullptr && cell <= TY && Y < p.n_nodes[1];
                    to[j] = there ? p.f[X + Y * row + Z * plane] : R(0);
                }
            };
            take(1, now);
            for (int cell = 0; cell <= TY; cell++) {
                const R m = my[cell], a = ay[cell];
                R in[N], half[N], s[N], t[N];
                in[0] = first_s;
#pragma unroll
                for (int j = 1; j < N; j++) in[j] = q[(cell * K + j) * LX];
                first_s = in[K];
                fold<R, N>(in, half);
                blocks<R, N>(p.M, half, s);
                in[0] = first_b;
#pragma unroll
                for (int j = 1; j < N; j++) in[j] = v[(cell * K + j) * LX];
                first_b = in[K];
                fold<R, N>(in, half);
                blocks<R, N>(p.A, half, t);
#pragma unroll
                for (int j = 0; j < N; j++) s[j] = m * s[j] + a * t[j];
                unfold<R, N>(s, in);
                in[0] += over;
                over = in[K];
                if (cell == 0) continue;
                take(cell + 1, next);
                const int Y = Y0 + cell * K;
                int64_t at = X + Y * row + Z * plane;
#pragma unroll
                for (int j = 0; j < K; j++, at += row) {
                    if (Y + j >= p.n_nodes[1]) break;
                    const bool hold = fixed || (p.fixed[1][0] && Y + j == 0) ||
                                      (p.fixed[1][1] && Y + j == p.n_nodes[1] - 1);
                    p.y[at] = hold ? R(0) : p.b * now[j] + p.a * in[j];
                }
#pragma unroll
                for (int j = 0; j < K; j++) now[j] = next[j];
            }
        }
        __syncthreads();
    }
}

template <typename R, int N>
void run(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y) {
    using S = room<N>;
    uniform_launch<R, N> l;
    const struct brick_element_layout at = ::brick_element_layout(N - 1);
    constexpr int E = l.E, O = l.O;
    for (int what = 0; what < 2; what++) {
        const double *C = c->element[0].host + (what ? at.stiffness : at.mass);
        R *to = what ? l.A : l.M;
        for (int i = 0; i < E; i++)
            for (int j = 0; j < E; j++) to[i * E + j] = (R)(0.5 * (C[i * N + j] + C[i * N + N - 1 - j]));
        if (E > O)
            for (int i = 0; i < E; i++) to[i * E + O] = (R)C[i * N + O];
        for (int i = 0; i < O; i++)
            for (int j = 0; j < O; j++)
                to[E * E + i * O + j] = (R)(0.5 * (C[i * N + j] - C[i * N + N - 1 - j]));
    }
    describe_brick(c, a, x, b, f, y, l);
    const int tiles[2] = {(c->n_nodes[0] - 1) / (S::TX * S::K) + 1, (c->n_nodes[1] - 1) / (S::TY * S::K) + 1};
    // Chunks so short that all multiprocessors have enough to do, and no shorter.
    const int64_t wanted = 16 * (int64_t)multiprocessors() / ((int64_t)tiles[0] * tiles[1]) + 1;
    int chunks = (int)(wanted < c->cells[2] ? wanted : c->cells[2]);
    l.chunk = (c->cells[2] + chunks - 1) / chunks;
    l.chunk = (l.chunk + tile<N>::NZ - 1) / tile<N>::NZ * tile<N>::NZ;
    chunks = (c->cells[2] + l.chunk - 1) / l.chunk;
    constexpr int bytes = 2 * S::COUNT * (int)sizeof(R);
    if (!may_launch()) return;
    if (bytes > 48 * 1024 && !allow_shared(uniform_kernel<R, N>, bytes, "brick_apply")) return;
    uniform_kernel<R, N>
        <<<dim3((unsigned)tiles[0], (unsigned)tiles[1], (unsigned)chunks), tile<N>::T, bytes>>>(l);
    launched("brick_apply");
}

} // namespace

template <typename R>
bool apply_uniform(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y) {
    const int k = c->element[0].k;
    if (c->conductivity != nullptr || c->reaction != nullptr || c->element[1].k != k || c->element[2].k != k)
        return false;
    for (int d = 0; d < 3; d++)
        if (c->periodic[d] && c->cells[d] == 1) return false;
    if (c->cells[1] > 65535) return false;
    return with_constant<2, 3, 4, 5, 6, 7, 8>(
        k, [&](auto degree) { run<R, decltype(degree)::value + 1>(c, a, x, b, f, y); });
}
template bool apply_uniform<double>(const struct brick_cells *, double, const double *, double,
                                    const double *, double *);
template bool apply_uniform<float>(const struct brick_cells *, double, const float *, double, const float *,
                                   float *);

} // namespace facet
