// The product with K on a box.
//
// Fast, where cells of a pack share their weights, in 3D with 4 to 16 modes: a block takes one pack of eight
// cells and marches through the layers. In a layer it holds sums and differences of opposite faces in shared
// memory, 6 n^2 x 8 numbers. A thread takes the modes of one i and one parity each of j and k: sums along j
// and along k are then whole without any other thread; and the same again for one j, for the sums along i. So
// a mode costs three reads of shared memory and two of its weight, which are the same for all lanes.
//
// The bytes are one read of d and one write of y. Faces between two layers stay in registers. A face between
// two blocks gets its two addends in a fixed order: the block that began earlier stores its own, says so by
// its count of layers done, and the later one adds. Blocks take numbers, so that a block waits only for those
// that are at work already. Pieces of layers are numbered from the top, the lowest layer of a piece being
// done first and the highest last.
//
// General, for everything else: a block takes cell after cell, a thread one mode of a face, and two addends
// are added to zero by atomic operations, which gives the same bits in either order.
#include "kernels/cuda/box.cuh"

namespace facet {

namespace {

constexpr int L = LANES;
#ifndef MARCH_BLOCKS
#    define MARCH_BLOCKS (N <= 8 ? 3 : 1)
#endif

// ------------------------------------------------------------------------------ fast

template <typename R> struct product_launch {
    struct box_plan plan;
    const R *d;
    R *y;
    int pieces, columns; // of layers; packs of a layer
    int *next, *done;    // the next number; pieces x columns: layers done
    double *partial;     // pieces x columns
};

// Where modes stand, all known when compiled.
template <int N> struct shape {
    static constexpr int ODD = N / 2, EVEN = N - ODD, FACE = N * N, THREADS = 32 * N;
    static constexpr int LOADS = (FACE * L + THREADS - 1) / THREADS;     // numbers of a face for each thread
    static constexpr int ROW = N % 2 == 0 ? N + 1 : N, PLANE = N * ROW + 1; // of the weights: no two of a warp
                                                                            // in one bank
    static constexpr int WEIGHTS = N * PLANE;
    static __device__ __forceinline__ int first(int parity) {
        return parity ? EVEN : 0;
    }
    static __device__ __forceinline__ int count(int parity) {
        return N % 2 == 0 ? ODD : parity ? ODD : EVEN;
    }
    static __device__ __forceinline__ int block(int alpha, int beta) {
        return first(alpha) * N + count(alpha) * first(beta);
    }
    // Place of a weight in the tables of kernels/box.h.
    static __device__ int weight(int i, int j, int k) {
        const int pi = i >= EVEN, pj = j >= EVEN, pk = k >= EVEN, Ni = count(pi), Nj = count(pj),
                  Nk = count(pk);
        const int begin = first(pi) * N * N + Ni * first(pj) * N + Ni * Nj * first(pk);
        i -= first(pi), j -= first(pj), k -= first(pk);
        const int i0 = i / KERNEL_BOX_I * KERNEL_BOX_I, j0 = j / KERNEL_BOX_J * KERNEL_BOX_J;
        const int I = Ni - i0 < KERNEL_BOX_I ? Ni - i0 : KERNEL_BOX_I,
                  J = Nj - j0 < KERNEL_BOX_J ? Nj - j0 : KERNEL_BOX_J;
        return begin + i0 * Nj * Nk + I * j0 * Nk + (k * I + i - i0) * J + j - j0;
    }
    template <typename R> static constexpr size_t bytes() {
        return (6 * FACE * L + WEIGHTS) * sizeof(R);
    }
};

// Where a block stands.
struct place {
    int pack, row, column, piece, first, last; // layers first .. last - 1
};

template <typename R> __device__ place take_number(const product_launch<R> &g, int *shared) {
    if (threadIdx.x == 0) *shared = atomicAdd(g.next, 1);
    __syncthreads();
    const int number = *shared;
    place at;
    at.piece = g.pieces - 1 - number / g.columns;
    at.column = number % g.columns;
    at.pack = at.column % g.plan.packs;
    at.row = at.column / g.plan.packs;
    at.first = (int)((int64_t)g.plan.cells[2] * at.piece / g.pieces);
    at.last = (int)((int64_t)g.plan.cells[2] * (at.piece + 1) / g.pieces);
    return at;
}

__device__ __forceinline__ void wait_for(const int *done, int layers) {
    while (*(const volatile int *)done < layers) __nanosleep(40);
    __threadfence();
}

// The face-packs of a layer: own ones, and those below them (-1: none, the values there are zero).
struct faces {
    int64_t own[3], below1, left; // left: mode 0 of the face below lane 0
};
__device__ faces find_faces(const struct box_plan &p, const place &at, int layer) {
    faces f;
    const int cell[3] = {at.pack * L, at.row, layer};
    f.own[0] = box_face_0(&p, layer, at.row, at.pack, L);
    f.own[1] = box_face_1(&p, layer, at.row, at.pack, L);
    f.own[2] = box_face_2(&p, layer, at.row, at.pack, L);
    f.below1 = box_where(&p, 1, cell, 0, L);
    f.left = box_where(&p, 0, cell, 0, L);
    return f;
}

// What a thread reads of a layer.
template <typename R, int N> struct loads {
    R up[3][shape<N>::LOADS], below1[shape<N>::LOADS], left[shape<N>::LOADS];
};
template <typename R, int N>
__device__ __forceinline__ void load(const product_launch<R> &g, const place &at, int layer,
                                     loads<R, N> &in) {
    typedef shape<N> S;
    const faces f = find_faces(g.plan, at, layer);
    const int lane = threadIdx.x % L;
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = threadIdx.x + x * S::THREADS;
        const bool there = S::FACE * L % S::THREADS == 0 || e < S::FACE * L;
#pragma unroll
        for (int axis = 0; axis < 3; axis++) in.up[axis][x] = there ? g.d[f.own[axis] + e] : R(0);
        in.below1[x] = there && f.below1 >= 0 ? g.d[f.below1 + e] : R(0);
        in.left[x] = there && lane == 0 && f.left >= 0 ? g.d[f.left + e] : R(0);
    }
}

// Sums along j and k of the modes (i, parities pj and pk), and along i of the modes (j, pi, pk), with what the
// faces themselves contribute; out1[k], out2[j], out0[k]. Returns the energy.
template <typename R, int N> struct sums {
    static constexpr int H = shape<N>::EVEN;
    R out0[H], out1[H], out2[H];
    int at0, at1, at2; // where they belong
    int n0, n1, n2;
    int par0, par1, par2;
};

template <typename R, int N>
__device__ __forceinline__ double multiply(const product_launch<R> &g, const place &at, int layer,
                                           const R (&a)[3], R k_cell, const R *V, const R *W,
                                           sums<R, N> &o) {
    typedef shape<N> S;
    constexpr int H = S::EVEN, SIZE = S::FACE * L;
    const auto &n = numbers(g.plan, R());
    const int lane = threadIdx.x % L, rest = threadIdx.x / L, line = rest % N, which = rest / N;
    const int p = which >> 1, q = which & 1, pl = line >= S::EVEN, in_line = line - S::first(pl);
    const int np = S::count(p), nq = S::count(q);
    const R *B0 = n.squares[0] + (int64_t)at.pack * N * L + lane, *B1 = n.squares[1] + (int64_t)at.row * N,
            *B2 = n.squares[2] + (int64_t)layer * N;
    double energy = 0;
    { // i = line, j of parity p, k of parity q
        const R *v0 = V + pl * SIZE + S::block(p, q) * L + lane;
        o.par1 = p, o.par2 = q, o.n1 = nq, o.n2 = np;
        o.at1 = (S::block(pl, q) + in_line * nq) * L + lane;
        o.at2 = (S::block(pl, p) + in_line * np) * L + lane;
        const R *v1 = V + (2 + p) * SIZE + o.at1, *v2 = V + (4 + q) * SIZE + o.at2;
        const R *w = W + line * S::PLANE + S::first(p) * S::ROW + S::first(q);
        R value1[H], value2[H], sum1[H], sum2[H];
#pragma unroll
        for (int x = 0; x < H; x++) {
            value1[x] = x < nq ? v1[x * L] : R(0);
            value2[x] = x < np ? v2[x * L] : R(0);
            sum1[x] = sum2[x] = 0;
        }
#pragma unroll
        for (int j = 0; j < H; j++)
#pragma unroll
            for (int k = 0; k < H; k++)
                if (j < np && k < nq) {
                    const R s = v0[(j * nq + k) * L] + (value1[k] + value2[j]), weight = w[j * S::ROW + k];
                    sum1[k] += weight * s;
                    sum2[j] += weight * s;
                }
        const R c1 = k_cell * __ldg(n.gamma[1] + 2 * at.row + p) * B0[line * L],
                c2 = k_cell * __ldg(n.gamma[2] + 2 * layer + q) * B0[line * L];
        R e1 = 0, e2 = 0;
#pragma unroll
        for (int x = 0; x < H; x++) {
            if (x < nq) {
                o.out1[x] = c1 * __ldg(B2 + S::first(q) + x) * value1[x] - k_cell * a[1] * sum1[x];
                e1 += o.out1[x] * value1[x];
            }
            if (x < np) {
                o.out2[x] = c2 * __ldg(B1 + S::first(p) + x) * value2[x] - k_cell * a[2] * sum2[x];
                e2 += o.out2[x] * value2[x];
            }
        }
        energy += (double)e1 / (double)a[1] + (double)e2 / (double)a[2];
    }
    { // j = line, i of parity p, k of parity q
        o.par0 = p, o.n0 = nq;
        o.at0 = (S::block(pl, q) + in_line * nq) * L + lane;
        const R *v0 = V + p * SIZE + o.at0, *v1 = V + (2 + pl) * SIZE + S::block(p, q) * L + lane;
        const R *v2 = V + (4 + q) * SIZE + (S::block(p, pl) + in_line) * L + lane;
        const int step = S::count(pl) * L;
        const R *w = W + S::first(p) * S::PLANE + line * S::ROW + S::first(q);
        R value[H], sum[H];
#pragma unroll
        for (int x = 0; x < H; x++) {
            value[x] = x < nq ? v0[x * L] : R(0);
            sum[x] = 0;
        }
#pragma unroll
        for (int i = 0; i < H; i++) {
            const R high = i < np ? v2[i * step] : R(0);
#pragma unroll
            for (int k = 0; k < H; k++)
                if (i < np && k < nq)
                    sum[k] += w[i * S::PLANE + k] * (v1[(i * nq + k) * L] + (value[k] + high));
        }
        const R c0 = k_cell * n.gamma[0][(2 * at.pack + p) * L + lane] * __ldg(B1 + line);
        R e0 = 0;
#pragma unroll
        for (int x = 0; x < H; x++)
            if (x < nq) {
                o.out0[x] = c0 * __ldg(B2 + S::first(q) + x) * value[x] - k_cell * a[0] * sum[x];
                e0 += o.out0[x] * value[x];
            }
        energy += (double)e0 / (double)a[0];
    }
    return energy;
}

template <typename R, int N> __device__ __forceinline__ void put_sums(const sums<R, N> &o, R *V) {
    constexpr int SIZE = shape<N>::FACE * L;
#pragma unroll
    for (int x = 0; x < shape<N>::EVEN; x++) {
        if (x < o.n0) V[o.par0 * SIZE + o.at0 + x * L] = o.out0[x];
        if (x < o.n1) V[(2 + o.par1) * SIZE + o.at1 + x * L] = o.out1[x];
        if (x < o.n2) V[(4 + o.par2) * SIZE + o.at2 + x * L] = o.out2[x];
    }
}

// What goes to faces that another block stores first.
template <typename R, int N> struct pending {
    R left[shape<N>::LOADS], below1[shape<N>::LOADS];
    int layer; // -1: nothing
};

// Adds it, when those blocks have done the layer.
template <typename R, int N>
__device__ __forceinline__ void settle(const product_launch<R> &g, const place &at, bool adds_left,
                                       bool adds_below, pending<R, N> &late) {
    typedef shape<N> S;
    if (late.layer < 0) return;
    const int *done = g.done + at.piece * g.columns + at.column;
    if (threadIdx.x == 0 && adds_left) wait_for(done - 1, late.layer - at.first + 1);
    if (threadIdx.x == 32 && adds_below) wait_for(done - g.plan.packs, late.layer - at.first + 1);
    __syncthreads();
    const faces f = find_faces(g.plan, at, late.layer);
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = threadIdx.x + x * S::THREADS;
        if (S::FACE * L % S::THREADS != 0 && e >= S::FACE * L) continue;
        if (adds_below) g.y[f.below1 + e] = __ldcg(g.y + f.below1 + e) + late.below1[x];
        if (adds_left && threadIdx.x % L == 0) g.y[f.left + e] = __ldcg(g.y + f.left + e) + late.left[x];
    }
    late.layer = -1;
}

template <typename R, int N>
__global__ void __launch_bounds__(32 * N, MARCH_BLOCKS)
    march(const __grid_constant__ product_launch<R> g) {
    typedef shape<N> S;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ int number;
    R *V = (R *)memory, *W = V + 6 * S::FACE * L;
    const struct box_plan &p = g.plan;
    const auto &n = numbers(p, R());
    const place at = take_number(g, &number);
    const int lane = threadIdx.x % L, x_cell = at.pack * L + lane;
    // Which of the shared faces this block finishes. Around a period the first one stores, the last one adds.
    const bool adds_below = at.row > 0, adds_left = at.pack > 0;
    const bool closes1 = p.periodic[1] && at.row == p.cells[1] - 1;
    const bool closes0 = p.periodic[0] && at.pack == p.packs - 1;
    const bool fixed1 = p.fixed[1][1] && at.row == p.cells[1] - 1;
    const bool fixed0 = p.fixed[0][1] && x_cell == p.cells[0] - 1;
    int *my_done = g.done + at.piece * g.columns + at.column;
    int table = -1;
    double energy = 0;
    loads<R, N> in;
    pending<R, N> late;
    R below2[S::LOADS], carry[S::LOADS], held[S::LOADS]; // d and y of the face below; y of the lowest one
    late.layer = -1;
    load<R, N>(g, at, at.first, in);
    {
        const int cell[3] = {at.pack * L, at.row, at.first};
        const int64_t below = box_where(&p, 2, cell, 0, L);
#pragma unroll
        for (int x = 0; x < S::LOADS; x++) {
            const int e = threadIdx.x + x * S::THREADS;
            below2[x] = below >= 0 && e < S::FACE * L ? g.d[below + e] : R(0);
        }
    }
    for (int layer = at.first; layer < at.last; layer++) {
        const int64_t pack = ((int64_t)layer * p.cells[1] + at.row) * p.packs + at.pack;
        const R *metric = n.metric + pack * KERNEL_BOX_METRIC * L + lane;
        const R a[3] = {metric[0], metric[L], metric[2 * L]}, k_cell = metric[4 * L];
        if (p.tables[pack] != table) { // of the whole block
            __syncthreads();
            table = p.tables[pack];
            for (int i = threadIdx.x; i < N * N * N; i += S::THREADS)
                W[i / (N * N) * S::PLANE + i / N % N * S::ROW + i % N] =
                    n.weights[(int64_t)table * N * N * N + S::weight(i / (N * N), i / N % N, i % N)];
        }
#pragma unroll
        for (int x = 0; x < S::LOADS; x++) {
            const int e = threadIdx.x + x * S::THREADS;
            R left = __shfl_up_sync(0xffffffffu, in.up[0][x], 1, L);
            if (lane == 0) left = in.left[x];
            if (S::FACE * L % S::THREADS != 0 && e >= S::FACE * L) continue;
            V[e] = a[0] * (in.up[0][x] + left);
            V[S::FACE * L + e] = a[0] * (in.up[0][x] - left);
            V[2 * S::FACE * L + e] = a[1] * (in.up[1][x] + in.below1[x]);
            V[3 * S::FACE * L + e] = a[1] * (in.up[1][x] - in.below1[x]);
            V[4 * S::FACE * L + e] = a[2] * (in.up[2][x] + below2[x]);
            V[5 * S::FACE * L + e] = a[2] * (in.up[2][x] - below2[x]);
            below2[x] = in.up[2][x];
        }
        __syncthreads();
        if (layer + 1 < at.last) load<R, N>(g, at, layer + 1, in);
        sums<R, N> o;
        energy += multiply<R, N>(g, at, layer, a, k_cell, V, W, o);
        __syncthreads();
        put_sums<R, N>(o, V);
        settle<R, N>(g, at, adds_left, adds_below, late);
        __syncthreads();

        const faces f = find_faces(p, at, layer);
        const int64_t under = box_face_2(&p, layer - 1, at.row, at.pack, L);
        if (closes0 || closes1) { // the first of the period has stored already
            const int *first1 = g.done + at.piece * g.columns + at.pack, *first0 = my_done - at.pack;
            if (threadIdx.x == 0 && closes0) wait_for(first0, layer - at.first + 1);
            if (threadIdx.x == 32 && closes1) wait_for(first1, layer - at.first + 1);
            __syncthreads();
        }
#pragma unroll
        for (int x = 0; x < S::LOADS; x++) {
            const int e = threadIdx.x + x * S::THREADS;
            const bool there = S::FACE * L % S::THREADS == 0 || e < S::FACE * L;
            const int at_e = there ? e : 0;
            R high[3], low[3];
#pragma unroll
            for (int axis = 0; axis < 3; axis++) {
                const R even = V[2 * axis * S::FACE * L + at_e], odd = V[(2 * axis + 1) * S::FACE * L + at_e];
                high[axis] = even + odd;
                low[axis] = even - odd;
            }
            R right = __shfl_down_sync(0xffffffffu, low[0], 1, L);
            late.left[x] = low[0];
            late.below1[x] = low[1];
            if (!there) continue;
            R y0 = lane == L - 1 ? high[0] : high[0] + right, y1 = high[1];
            if (closes0 && x_cell == p.cells[0] - 1) y0 += __ldcg(g.y + f.own[0] + e);
            if (closes1) y1 += __ldcg(g.y + f.own[1] + e);
            g.y[f.own[0] + e] = fixed0 ? R(0) : y0;
            g.y[f.own[1] + e] = fixed1 ? R(0) : y1;
            if (!adds_below && f.below1 >= 0) g.y[f.below1 + e] = low[1];
            if (!adds_left && f.left >= 0) {
                if (lane == 0) g.y[f.left + e] = low[0];
                if (lane > 0 && !p.periodic[0]) g.y[f.own[0] - S::FACE * L + e - 1] = 0; // of the extra pack
            }
            if (layer > at.first)
                g.y[under + e] = carry[x] + low[2];
            else
                held[x] = low[2];
            carry[x] = high[2];
        }
        if (layer == at.first && at.first > 0) { // the piece below adds to it
#pragma unroll
            for (int x = 0; x < S::LOADS; x++)
                if (threadIdx.x + x * S::THREADS < S::FACE * L)
                    g.y[under + threadIdx.x + x * S::THREADS] = held[x];
        }
        late.layer = adds_left || adds_below ? layer : -1;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *(volatile int *)my_done = layer - at.first + 1;
    }
    settle<R, N>(g, at, adds_left, adds_below, late);

    // The ends: the highest face of the piece, and the lowest one of the first piece.
    const bool top = at.last == p.cells[2], whole = g.pieces == 1;
    const int64_t above = box_face_2(&p, at.last - 1, at.row, at.pack, L);
    const int64_t round = box_face_2(&p, p.cells[2] - 1, at.row, at.pack, L);
    if (threadIdx.x == 0 && !top) wait_for(my_done + g.columns, 1);
    __syncthreads();
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = threadIdx.x + x * S::THREADS;
        if (e >= S::FACE * L) continue;
        R value = carry[x];
        if (!top) value += __ldcg(g.y + above + e);
        if (top && p.fixed[2][1]) value = 0;
        if (whole && p.periodic[2]) value += held[x];
        g.y[above + e] = value;
        if (at.first == 0 && p.extra[2]) g.y[box_face_2(&p, -1, at.row, at.pack, L) + e] = held[x];
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *(volatile int *)my_done = at.last - at.first + 1;
    if (at.piece == 0 && p.periodic[2] && !whole) {
        const int top_piece = g.pieces - 1, size = p.cells[2] - (int)((int64_t)p.cells[2] * top_piece / g.pieces);
        if (threadIdx.x == 0) wait_for(g.done + top_piece * g.columns + at.column, size + 1);
        __syncthreads();
        for (int x = 0; x < S::LOADS; x++) {
            const int e = threadIdx.x + x * S::THREADS;
            if (e < S::FACE * L) g.y[round + e] = __ldcg(g.y + round + e) + held[x];
        }
    }

    __shared__ double warps[N];
    for (int offset = 16; offset > 0; offset /= 2) energy += __shfl_down_sync(0xffffffffu, energy, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = energy;
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int w = 0; w < N; w++) sum += warps[w];
        g.partial[at.piece * g.columns + at.column] = sum;
    }
}

constexpr int BLOCKS_WANTED = 8; // of a multiprocessor, so that pieces are made
constexpr int LEAST_LAYERS = 4;

template <typename R, int N> double launch_march(const struct box_plan *plan, const R *d, R *y) {
    typedef shape<N> S;
    product_launch<R> g = {*plan, d, y};
    g.columns = plan->packs * plan->cells[1];
    g.pieces = (BLOCKS_WANTED * multiprocessors() + g.columns - 1) / g.columns;
    if (g.pieces > plan->cells[2] / LEAST_LAYERS) g.pieces = plan->cells[2] / LEAST_LAYERS;
    if (g.pieces < 1) g.pieces = 1;
    const int64_t blocks = (int64_t)g.pieces * g.columns;
    const size_t counts = (size_t)(blocks + 2) / 2 * 2 * sizeof(int);
    g.next = (int *)box_room(counts + (size_t)blocks * sizeof(double));
    if (g.next == nullptr) return 0;
    g.done = g.next + 1;
    g.partial = (double *)((char *)g.next + counts);
    static bool ready;
    if (!ready) {
        good(cudaFuncSetAttribute(march<R, N>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)S::template bytes<R>()),
             "box_step");
        ready = true;
    }
    good(cudaMemsetAsync(g.next, 0, counts), "box_step");
    if (!may_launch()) return 0;
    march<R, N><<<(unsigned)blocks, S::THREADS, S::template bytes<R>()>>>(g);
    launched("box_step");
    double sum = 0;
    box_sum(blocks, 1, g.partial, &sum);
    return sum;
}

// Whether march can do it: all axes, shared weights, and no cell or pack that is its own neighbour.
bool can_march(const struct box_plan *p) {
    if (!p->present[1] || !p->present[2] || p->own_weights) return false;
    if (p->modes[0] < 4 || p->modes[0] > 16) return false;
    return !(p->periodic[0] && p->packs < 2) && !(p->periodic[1] && p->cells[1] < 2);
}

// ------------------------------------------------------------------------------ general

constexpr int GENERAL_THREADS = 128, GENERAL_BLOCKS = 1024;

template <typename R> struct cell_view {
    const struct box_plan &p;
    int at[3], lane, pack;
    int64_t where[3][2];
    R a[3], reaction, k;
    int64_t table;

    __device__ cell_view(const struct box_plan &plan, int64_t cell) : p(plan) {
        const auto &n = numbers(p, R());
        at[0] = (int)(cell % p.cells[0]);
        at[1] = (int)(cell / p.cells[0] % p.cells[1]);
        at[2] = (int)(cell / p.cells[0] / p.cells[1]);
        pack = at[0] / L;
        lane = at[0] % L;
        const int64_t number = ((int64_t)at[2] * p.cells[1] + at[1]) * p.packs + pack;
        const R *metric = n.metric + number * KERNEL_BOX_METRIC * L + lane;
        for (int d = 0; d < 3; d++) {
            a[d] = metric[d * L];
            for (int side = 0; side < 2; side++)
                where[d][side] = p.present[d] ? box_where(&p, d, at, side, L) : -1;
        }
        reaction = metric[3 * L];
        k = metric[4 * L];
    }
    __device__ int column(int axis) const {
        return axis == 0 ? pack : at[axis];
    }
    __device__ R square(int axis, int mode) const {
        return entry(numbers(p, R()).squares, axis, p.modes[axis], column(axis), lane, mode);
    }
    // v_axis of the parity that the modes have.
    __device__ R value(const R *d, int axis, const int m[3]) const {
        const int s = slow_axis(axis), f = fast_axis(axis);
        const int64_t t = box_face_mode(&p, s, f, m[s], m[f]) * L;
        const R high = where[axis][1] >= 0 ? d[where[axis][1] + t] : R(0),
                low = where[axis][0] >= 0 ? d[where[axis][0] + t] : R(0);
        return m[axis] < p.even[axis] ? high + low : high - low;
    }
    __device__ R weight(const int m[3]) const {
        R product = 1, Z = reaction;
        for (int d = 0; d < 3; d++) {
            product *= square(d, m[d]);
            Z += a[d] * entry(numbers(p, R()).eigenvalues, d, p.modes[d], column(d), lane, m[d]);
        }
        return product / Z;
    }
};

// The mode of a face with tangential modes (slow, fast) that number t is: the inverse of box_face_mode.
__device__ void mode_of(const struct box_plan &p, int axis, int64_t t, int m[3]) {
    const int s = slow_axis(axis), f = fast_axis(axis);
    int q = 3;
    while (box_block(&p, s, f, q / 2, q % 2) > t || box_count(&p, s, q / 2) * box_count(&p, f, q % 2) == 0)
        q--;
    const int local = (int)(t - box_block(&p, s, f, q / 2, q % 2)), width = box_count(&p, f, q % 2);
    m[s] = box_first(&p, s, q / 2) + local / width;
    m[f] = box_first(&p, f, q % 2) + local % width;
}

template <typename R>
__global__ void general(const __grid_constant__ struct box_plan p, const R *d, R *y, double *partial) {
    const int64_t n_cells = (int64_t)p.cells[0] * p.cells[1] * p.cells[2];
    const auto &n = numbers(p, R());
    double energy = 0;
    for (int64_t cell = blockIdx.x; cell < n_cells; cell += gridDim.x) {
        const cell_view<R> c(p, cell);
        for (int axis = 0; axis < 3; axis++)
            for (int64_t t = threadIdx.x; t < p.face[axis]; t += blockDim.x) {
                int m[3];
                const int s = slow_axis(axis), f = fast_axis(axis);
                R out[2];
                mode_of(p, axis, t, m);
                for (int parity = 0; parity < 2; parity++) {
                    R sum = 0;
                    m[axis] = box_first(&p, axis, parity);
                    const int end = m[axis] + box_count(&p, axis, parity);
                    const R own = c.value(d, axis, m);
                    for (; m[axis] < end; m[axis]++) {
                        R u = 0;
                        for (int o = 0; o < 3; o++)
                            if (p.present[o]) u += c.a[o] * (o == axis ? own : c.value(d, o, m));
                        sum += c.weight(m) * u;
                    }
                    const R gamma = entry(n.gamma, axis, 2, c.column(axis), c.lane, parity);
                    m[axis] = box_first(&p, axis, parity);
                    const bool none = box_count(&p, axis, parity) == 0;
                    out[parity] = none ? R(0)
                                       : c.k * c.a[axis] *
                                             (gamma * c.square(s, m[s]) * c.square(f, m[f]) * own - sum);
                    energy += (double)out[parity] * (double)own;
                }
                if (c.where[axis][1] >= 0) atomicAdd(y + c.where[axis][1] + t * L, out[0] + out[1]);
                if (c.where[axis][0] >= 0) atomicAdd(y + c.where[axis][0] + t * L, out[0] - out[1]);
            }
    }
    __shared__ double warps[GENERAL_THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) energy += __shfl_down_sync(0xffffffffu, energy, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = energy;
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int w = 0; w < GENERAL_THREADS / 32; w++) sum += warps[w];
        partial[blockIdx.x] = sum;
    }
}

template <typename R> double launch_general(const struct box_plan *plan, const R *d, R *y) {
    const int64_t n_cells = (int64_t)plan->cells[0] * plan->cells[1] * plan->cells[2];
    const int blocks = n_cells < GENERAL_BLOCKS ? (int)n_cells : GENERAL_BLOCKS;
    double sum = 0, *partial = (double *)box_room((size_t)blocks * sizeof(double));
    if (partial == nullptr) return 0;
    good(cudaMemsetAsync(y, 0, (size_t)plan->size * sizeof(R)), "box_step");
    if (!may_launch()) return 0;
    general<R><<<blocks, GENERAL_THREADS>>>(*plan, d, y, partial);
    launched("box_step");
    box_sum(blocks, 1, partial, &sum);
    return sum;
}

} // namespace

template <typename R> double box_product(const struct box_plan *plan, const R *d, R *y) {
    if (can_march(plan)) switch (plan->modes[0]) {
#define CASE(N)                                                                                              \
    case N:                                                                                                  \
        return launch_march<R, N>(plan, d, y);
            CASE(4)
            CASE(5)
            CASE(6)
            CASE(7)
            CASE(8)
            CASE(9)
            CASE(10)
            CASE(11)
            CASE(12)
            CASE(13)
            CASE(14)
            CASE(15)
            CASE(16)
#undef CASE
        }
    return launch_general<R>(plan, d, y);
}
template double box_product(const struct box_plan *, const double *, double *);
template double box_product(const struct box_plan *, const float *, float *);

} // namespace facet
