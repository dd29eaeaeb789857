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
// Everything else is left to box_general.cu.
#include "kernels/cuda/box.cuh"

namespace facet {

namespace {

constexpr int L = LANES;

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
template <typename R, int N> struct shape {
    static constexpr int ODD = N / 2, EVEN = N - ODD, FACE = N * N, THREADS = 32 * N;
    static constexpr int LOADS = (FACE * L + THREADS - 1) / THREADS; // numbers of a face for each thread
    static constexpr int ROW = N % 2 == 0 ? N + 1 : N, PLANE = N * ROW + 1; // of the weights: no two of a
                                                                            // warp in one bank
    static constexpr int WEIGHTS = N * PLANE;
    // The faces below axis 1 go through shared memory where it has room for them too.
    static constexpr bool STAGES = sizeof(R) * N <= 120;
    static constexpr int RAW = (STAGES ? 4 : 3) * FACE * L + FACE;
    static constexpr int LATE = FACE * L + FACE;
    // Blocks of a multiprocessor: as many threads as their registers allow.
    static constexpr int BLOCKS = (N <= (sizeof(R) == 8 ? 10 : 12) ? 768 : 512) / THREADS;
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
    static constexpr size_t BYTES = (6 * FACE * L + RAW + 2 * LATE + WEIGHTS + 3 * N + 6) * sizeof(R);
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

// What was stored before is seen by everyone who sees this number, of the whole block after a barrier.
// Readers go to the second-level cache (__ldcg), so that no cache need be emptied.
__device__ __forceinline__ void publish(int *done, int layers) {
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(done), "r"(layers) : "memory");
}
__device__ __forceinline__ void wait_for(const int *done, int layers) {
    int seen;
    do asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(done) : "memory");
    while (seen < layers);
}

// The face-packs of the first layer: own ones, and those below them (-1: none, the values there are zero). In
// the next layers they lie p.layer further.
struct faces {
    int64_t own[3], below1, left; // left: mode 0 of the face below lane 0
};
__device__ void find_faces(const struct box_plan &p, const place &at, faces *f) {
    const int cell[3] = {at.pack * L, at.row, at.first};
    f->own[0] = box_face_0(&p, at.first, at.row, at.pack, L);
    f->own[1] = box_face_1(&p, at.first, at.row, at.pack, L);
    f->own[2] = box_face_2(&p, at.first, at.row, at.pack, L);
    f->below1 = box_where(&p, 1, cell, 0, L);
    f->left = box_where(&p, 0, cell, 0, L);
}

// Copies one number to shared memory without waiting for it; zero unless `there`.
template <typename R> __device__ __forceinline__ void fetch(R *to, const R *from, bool there) {
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(address), "l"(from),
                 "n"((int)sizeof(R)), "r"(there ? (int)sizeof(R) : 0));
}
__device__ __forceinline__ void fetched() {
    asm volatile("cp.async.wait_all;\n" ::);
}

// What a thread reads of the next layer: its numbers of the own faces, of those below axis 1, and of the one
// left of lane 0. Nobody else touches its places.
template <typename R, int N>
__device__ __forceinline__ void fetch_layer(const product_launch<R> &g, const faces &f, int64_t shift,
                                            R *raw) {
    typedef shape<R, N> S;
    const R *d = g.d + shift + threadIdx.x;
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = x * S::THREADS;
        if (S::FACE * L % S::THREADS != 0 && threadIdx.x + e >= S::FACE * L) continue;
        R *to = raw + threadIdx.x + e;
#pragma unroll
        for (int axis = 0; axis < 3; axis++) fetch(to + axis * S::FACE * L, d + f.own[axis] + e, true);
        if (S::STAGES)
            fetch(to + 3 * S::FACE * L, d + (f.below1 >= 0 ? f.below1 : f.own[1]) + e, f.below1 >= 0);
        if (threadIdx.x % L == 0)
            fetch(raw + S::RAW - S::FACE + (threadIdx.x + e) / L, d + (f.left >= 0 ? f.left : f.own[0]) + e,
                  f.left >= 0);
    }
}

// Sums along j and k of the modes (i, parities pj and pk), and along i of the modes (j, pi, pk), with what
// the faces themselves contribute; out1[k], out2[j], out0[k]. Returns the energy.
template <typename R, int N> struct sums {
    static constexpr int H = shape<R, N>::EVEN;
    R out0[H], out1[H], out2[H];
    int at0, at1, at2; // where they belong
    int n0, n1, n2;
    int par0, par1, par2;
};

template <typename R, int N>
__device__ __forceinline__ double multiply(const R (&a)[3], R k_cell, const R *V, const R *W, const R *B,
                                           sums<R, N> &o) {
    typedef shape<R, N> S;
    constexpr int H = S::EVEN, SIZE = S::FACE * L;
    const int lane = threadIdx.x % L, rest = threadIdx.x / L, line = rest % N, which = rest / N;
    const int p = which >> 1, q = which & 1, pl = line >= S::EVEN, in_line = line - S::first(pl);
    const int np = S::count(p), nq = S::count(q);
    const R *gamma = B + 3 * N;
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
        const R c1 = k_cell * gamma[2 + p] * B[line], c2 = k_cell * gamma[4 + q] * B[line];
        R e1 = 0, e2 = 0;
#pragma unroll
        for (int x = 0; x < H; x++) {
            if (x < nq) {
                o.out1[x] = c1 * B[2 * N + S::first(q) + x] * value1[x] - k_cell * a[1] * sum1[x];
                e1 += o.out1[x] * value1[x];
            }
            if (x < np) {
                o.out2[x] = c2 * B[N + S::first(p) + x] * value2[x] - k_cell * a[2] * sum2[x];
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
        const R c0 = k_cell * gamma[p] * B[N + line];
        R e0 = 0;
#pragma unroll
        for (int x = 0; x < H; x++)
            if (x < nq) {
                o.out0[x] = c0 * B[2 * N + S::first(q) + x] * value[x] - k_cell * a[0] * sum[x];
                e0 += o.out0[x] * value[x];
            }
        energy += (double)e0 / (double)a[0];
    }
    return energy;
}

template <typename R, int N> __device__ __forceinline__ void put_sums(const sums<R, N> &o, R *V) {
    constexpr int SIZE = shape<R, N>::FACE * L;
#pragma unroll
    for (int x = 0; x < shape<R, N>::EVEN; x++) {
        if (x < o.n0) V[o.par0 * SIZE + o.at0 + x * L] = o.out0[x];
        if (x < o.n1) V[(2 + o.par1) * SIZE + o.at1 + x * L] = o.out1[x];
        if (x < o.n2) V[(4 + o.par2) * SIZE + o.at2 + x * L] = o.out2[x];
    }
}

// Adds what goes to faces that other blocks have stored, the layer before the last one; late: two layers of
// it, a place for each number and thread.
template <typename R, int N>
__device__ __forceinline__ void settle(const product_launch<R> &g, const faces &f, int64_t shift,
                                       bool adds_left, bool adds_below, const R *late) {
    typedef shape<R, N> S;
    R *y = g.y + shift + threadIdx.x;
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = x * S::THREADS;
        if (S::FACE * L % S::THREADS != 0 && threadIdx.x + e >= S::FACE * L) continue;
        if (adds_below) y[f.below1 + e] = __ldcg(y + f.below1 + e) + late[threadIdx.x + e];
        if (adds_left && threadIdx.x % L == 0)
            y[f.left + e] = __ldcg(y + f.left + e) + late[S::FACE * L + (threadIdx.x + e) / L];
    }
}

// The metric of a pack and its table.
template <typename R> struct metric {
    R a[3], k;
    int table;
};
template <typename R>
__device__ __forceinline__ metric<R> read_metric(const product_launch<R> &g, const place &at, int layer) {
    const int64_t pack = ((int64_t)layer * g.plan.cells[1] + at.row) * g.plan.packs + at.pack;
    const R *from = numbers(g.plan, R()).metric + pack * KERNEL_BOX_METRIC * L + threadIdx.x % L;
    return {{from[0], from[L], from[2 * L]}, from[4 * L], g.plan.tables[pack]};
}

// The weights of a table, and what the cells that use it have in common: B of the three axes, gamma.
template <typename R, int N>
__device__ void stage_tables(const product_launch<R> &g, const place &at, int layer, int table, R *W) {
    typedef shape<R, N> S;
    const auto &n = numbers(g.plan, R());
    const R *from = n.weights + (int64_t)table * N * N * N;
    const int column[3] = {at.pack, at.row, layer};
    R *B = W + S::WEIGHTS;
    for (int i = threadIdx.x; i < N * N * N; i += S::THREADS)
        W[i / (N * N) * S::PLANE + i / N % N * S::ROW + i % N] =
            from[S::weight(i / (N * N), i / N % N, i % N)];
    for (int i = threadIdx.x; i < 3 * N; i += S::THREADS)
        B[i] = entry(n.squares, i / N, N, column[i / N], 0, i % N);
    if (threadIdx.x < 6)
        B[3 * N + threadIdx.x] =
            entry(n.gamma, threadIdx.x / 2, 2, column[threadIdx.x / 2], 0, threadIdx.x % 2);
}

template <typename R, int N>
__global__ void __launch_bounds__(32 * N, shape<R, N>::BLOCKS)
    march(const __grid_constant__ product_launch<R> g) {
    typedef shape<R, N> S;
    constexpr int SIZE = S::FACE * L;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ int number;
    __shared__ faces f;
    __shared__ double warps[N];
    R *V = (R *)memory, *raw = V + 6 * SIZE, *late = raw + S::RAW, *W = late + 2 * S::LATE;
    const struct box_plan &p = g.plan;
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
    R below2[S::LOADS], carry[S::LOADS]; // d and y of the face below
    if (threadIdx.x == 0) find_faces(p, at, &f);
    __syncthreads();
    fetch_layer<R, N>(g, f, 0, raw);
    metric<R> now = read_metric(g, at, at.first);
    const int64_t lowest = box_where(&p, 2, (const int[3]){at.pack * L, at.row, at.first}, 0, L);
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = threadIdx.x + x * S::THREADS;
        below2[x] = lowest >= 0 && e < SIZE ? g.d[lowest + e] : R(0);
    }
    for (int layer = at.first; layer < at.last; layer++) {
        const int64_t shift = (layer - at.first) * p.layer;
        const int done = layer - at.first;
        if (now.table != table) { // of the whole block
            __syncthreads();
            table = now.table;
            stage_tables<R, N>(g, at, layer, table, W);
        }
        fetched();
#pragma unroll
        for (int x = 0; x < S::LOADS; x++) {
            const int e = threadIdx.x + x * S::THREADS;
            const bool there = SIZE % S::THREADS == 0 || e < SIZE;
            const R up = there ? raw[e] : R(0);
            R left = __shfl_up_sync(0xffffffffu, up, 1, L);
            if (!there) continue;
            if (lane == 0) left = raw[S::RAW - S::FACE + e / L];
            const R up1 = raw[SIZE + e], up2 = raw[2 * SIZE + e];
            const R below1 = S::STAGES ? raw[3 * SIZE + e] : f.below1 >= 0 ? g.d[shift + f.below1 + e] : R(0);
            V[e] = now.a[0] * (up + left);
            V[SIZE + e] = now.a[0] * (up - left);
            V[2 * SIZE + e] = now.a[1] * (up1 + below1);
            V[3 * SIZE + e] = now.a[1] * (up1 - below1);
            V[4 * SIZE + e] = now.a[2] * (up2 + below2[x]);
            V[5 * SIZE + e] = now.a[2] * (up2 - below2[x]);
            below2[x] = up2;
        }
        __syncthreads();
        if (layer + 1 < at.last) fetch_layer<R, N>(g, f, shift + p.layer, raw);
        sums<R, N> o;
        energy += multiply<R, N>(now.a, now.k, V, W, W + S::WEIGHTS, o);
        if (layer + 1 < at.last) now = read_metric(g, at, layer + 1);
        if (done >= 2) { // the layer before the last one: its faces are stored by now, or soon
            if (threadIdx.x == 0 && adds_left) wait_for(my_done - 1, done - 1);
            if (threadIdx.x == 32 && adds_below) wait_for(my_done - p.packs, done - 1);
        }
        if (threadIdx.x == 64 && closes0) wait_for(my_done - at.pack, done + 1);
        if (threadIdx.x == 96 && closes1) wait_for(my_done - at.column + at.pack, done + 1);
        __syncthreads();
        if (threadIdx.x == 0) publish(my_done, done); // what the layer before stored
        put_sums<R, N>(o, V);
        if (done >= 2)
            settle<R, N>(g, f, shift - 2 * p.layer, adds_left, adds_below, late + done % 2 * S::LATE);
        __syncthreads();

        R *y = g.y + shift;
        const bool lowest_layer = layer == at.first;
        const int64_t under = lowest_layer ? lowest : f.own[2] - p.layer + shift;
#pragma unroll
        for (int x = 0; x < S::LOADS; x++) {
            const int e = threadIdx.x + x * S::THREADS;
            const bool there = SIZE % S::THREADS == 0 || e < SIZE;
            const int from = there ? e : 0;
            const R low0 = V[from] - V[SIZE + from], high0 = V[from] + V[SIZE + from];
            const R right = __shfl_down_sync(0xffffffffu, low0, 1, L);
            if (!there) continue;
            const R low1 = V[2 * SIZE + e] - V[3 * SIZE + e], low2 = V[4 * SIZE + e] - V[5 * SIZE + e];
            R y0 = lane == L - 1 ? high0 : high0 + right, y1 = V[2 * SIZE + e] + V[3 * SIZE + e];
            if (closes0 && x_cell == p.cells[0] - 1) y0 += __ldcg(y + f.own[0] + e);
            if (closes1) y1 += __ldcg(y + f.own[1] + e);
            y[f.own[0] + e] = fixed0 ? R(0) : y0;
            y[f.own[1] + e] = fixed1 ? R(0) : y1;
            if (adds_below)
                late[done % 2 * S::LATE + e] = low1;
            else if (f.below1 >= 0)
                y[f.below1 + e] = low1;
            if (adds_left && lane == 0) late[done % 2 * S::LATE + SIZE + e / L] = low0;
            if (!adds_left && f.left >= 0) {
                if (lane == 0) y[f.left + e] = low0;
                if (lane > 0 && !p.periodic[0]) y[f.own[0] - SIZE + e - 1] = 0; // of the extra pack
            }
            if (under >= 0) g.y[under + e] = lowest_layer ? low2 : carry[x] + low2;
            carry[x] = V[4 * SIZE + e] + V[5 * SIZE + e];
        }
    }

    // The last two layers, and the highest face of the piece.
    const int count = at.last - at.first;
    const int64_t shift = (int64_t)(count - 1) * p.layer;
    const bool top = at.last == p.cells[2];
    __syncthreads();
    if (threadIdx.x == 0) {
        publish(my_done, count);
        if (adds_left) wait_for(my_done - 1, count);
    }
    if (threadIdx.x == 32 && adds_below) wait_for(my_done - p.packs, count);
    if (threadIdx.x == 64 && !top) wait_for(my_done + g.columns, 1);
    __syncthreads();
    if (count >= 2) settle<R, N>(g, f, shift - p.layer, adds_left, adds_below, late + count % 2 * S::LATE);
    settle<R, N>(g, f, shift, adds_left, adds_below, late + (count - 1) % 2 * S::LATE);
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = threadIdx.x + x * S::THREADS;
        if (e >= SIZE) continue;
        R *y = g.y + shift + f.own[2] + e;
        // a period is one piece, whose lowest face is this one: stored by this thread
        *y = top && p.fixed[2][1] ? R(0) : !top || p.periodic[2] ? __ldcg(y) + carry[x] : carry[x];
    }

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
    typedef shape<R, N> S;
    product_launch<R> g = {*plan, d, y};
    g.columns = plan->packs * plan->cells[1];
    g.pieces = (BLOCKS_WANTED * multiprocessors() + g.columns - 1) / g.columns;
    if (g.pieces > plan->cells[2] / LEAST_LAYERS) g.pieces = plan->cells[2] / LEAST_LAYERS;
    if (g.pieces < 1 || plan->periodic[2]) g.pieces = 1;
    const int64_t blocks = (int64_t)g.pieces * g.columns;
    const size_t counts = (size_t)(blocks + 2) / 2 * 2 * sizeof(int);
    g.next = (int *)box_room(counts + (size_t)blocks * sizeof(double));
    if (g.next == nullptr) return 0;
    g.done = g.next + 1;
    g.partial = (double *)((char *)g.next + counts);
    static bool ready;
    if (!ready) {
        good(cudaFuncSetAttribute(march<R, N>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)S::BYTES),
             "box_step");
        ready = true;
    }
    good(cudaMemsetAsync(g.next, 0, counts), "box_step");
    if (!may_launch()) return 0;
    march<R, N><<<(unsigned)blocks, S::THREADS, S::BYTES>>>(g);
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
    return box_product_general<R>(plan, d, y);
}
template double box_product(const struct box_plan *, const double *, double *);
template double box_product(const struct box_plan *, const float *, float *);

} // namespace facet
