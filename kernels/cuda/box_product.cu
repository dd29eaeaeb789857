// The product with K on a box.
//
// Fast, where cells of a pack share their weights, in 3D with 4 to 16 modes: a block takes one pack of eight
// cells and marches through the layers. In a layer it holds sums and differences of opposite faces in shared
// memory, 6 n^2 x 8 numbers, and replaces them by their sums (box_tile.cuh).
//
// The bytes are one read of d and one write of y. Faces between two layers stay in registers. A face between
// two blocks gets its two addends in a fixed order: the block that began earlier stores its own, says so by
// its count of layers done, and the later one adds, a layer or two later, by an atomic addition for which
// nobody waits. Blocks take numbers, so that a block waits only for those that are at work already. Pieces of
// layers are numbered from the top, the lowest layer of a piece being done first and the highest last.
// Everything else is left to box_general.cu.
#include <atomic>

#include "kernels/cuda/box_tile.cuh"

namespace facet {

namespace {

// ------------------------------------------------------------------------------ fast

template <typename R> struct product_launch {
    struct box_plan plan;
    const R *d;
    R *y;
    int pieces, columns; // of layers; packs of a layer
    int *next, *done;    // the next number; pieces x columns: layers done
    double *partial;     // pieces x columns
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
// Readers and atomic additions go to the second-level cache, so that no cache need be emptied.
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

// Copies two numbers (W = 2) or one to shared memory without waiting for them; zero unless `there`.
template <int W, typename R> __device__ __forceinline__ void fetch(R *to, const R *from, bool there) {
    constexpr int BYTES = W * (int)sizeof(R);
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(address), "l"(from),
                     "r"(there ? 16 : 0));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(address), "l"(from), "n"(BYTES),
                     "r"(there ? BYTES : 0));
}
__device__ __forceinline__ void fetched() {
    asm volatile("cp.async.wait_all;\n" ::);
}

// What a thread reads of the next layer: its pairs of the own faces, of those below axis 1, and of the one
// left of lane 0. Nobody else touches its places.
template <typename R, int N, int T>
__device__ __forceinline__ void fetch_layer(const product_launch<R> &g, const faces &f, int64_t shift,
                                            R *raw) {
    typedef shape<R, N, T> S;
    const R *d = g.d + shift;
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = 2 * (threadIdx.x + x * S::THREADS);
        if (S::FACE * PAIRS % S::THREADS != 0 && e >= S::SIZE) continue;
#pragma unroll
        for (int axis = 0; axis < 3; axis++) fetch<2>(raw + axis * S::SIZE + e, d + f.own[axis] + e, true);
        if (S::STAGES)
            fetch<2>(raw + 3 * S::SIZE + e, d + (f.below1 >= 0 ? f.below1 : f.own[1]) + e, f.below1 >= 0);
        if (e % L == 0)
            fetch<1>(raw + S::RAW - S::FACE + e / L, d + (f.left >= 0 ? f.left : f.own[0]) + e, f.left >= 0);
    }
}

template <typename R> __device__ __forceinline__ void add_pair(R *to, pair<R> v) {
    atomicAdd(to, v.x);
    atomicAdd(to + 1, v.y);
}
// Adds what goes to faces that other blocks have stored by now; late: a place for each pair and thread.
template <typename R, int N, int T>
__device__ __forceinline__ void settle(const product_launch<R> &g, const faces &f, int64_t shift,
                                       bool adds_left, bool adds_below, const R *late) {
    typedef shape<R, N, T> S;
    R *y = g.y + shift;
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = 2 * (threadIdx.x + x * S::THREADS);
        if (S::FACE * PAIRS % S::THREADS != 0 && e >= S::SIZE) continue;
        if (adds_below) add_pair(y + f.below1 + e, get(late + e));
        if (adds_left && e % L == 0) atomicAdd(y + f.left + e, late[S::SIZE + e / L]);
    }
}

// The metric of a pack and its table; k and a of a lane.
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
template <typename R, int N, int T>
__device__ void stage_tables(const product_launch<R> &g, const place &at, int layer, int table, R *W) {
    typedef shape<R, N, T> S;
    const auto &n = numbers(g.plan, R());
    const R *from = n.weights + (int64_t)table * N * N * N;
    const int column[3] = {at.pack, at.row, layer};
    R *B = W + S::WEIGHTS;
    for (int x = threadIdx.x; x < 8 * T * S::H * S::TILE; x += S::THREADS) {
        const int unit = x / (S::H * S::TILE), k = x / S::TILE % S::H, in = x % S::TILE;
        const int parities = unit / T, pj = parities & 1, pi = parities >> 1 & 1, pk = parities >> 2;
        const int i = in % S::H, j = unit % T * S::J + in / S::H;
        const bool there = in < S::H * S::J && i < S::count(pi) && j < S::count(pj) && k < S::count(pk);
        W[unit * S::UNIT + k * S::TILE + in] = there ? from[S::weight(pi, pj, pk, i, j, k)] : R(0);
    }
    for (int i = threadIdx.x; i < 3 * N; i += S::THREADS)
        B[i] = entry(n.squares, i / N, N, column[i / N], 0, i % N);
    if (threadIdx.x < 6)
        B[3 * N + threadIdx.x] =
            entry(n.gamma, threadIdx.x / 2, 2, column[threadIdx.x / 2], 0, threadIdx.x % 2);
}

// Which of the shared faces a block finishes. Around a period the first one stores, the last one adds.
struct duties {
    bool adds_below, adds_left, closes1, closes0, fixed1;
    __device__ duties(const struct box_plan &p, const place &at) {
        adds_below = at.row > 0;
        adds_left = at.pack > 0;
        closes1 = p.periodic[1] && at.row == p.cells[1] - 1;
        closes0 = p.periodic[0] && at.pack == p.packs - 1;
        fixed1 = p.fixed[1][1] && at.row == p.cells[1] - 1;
    }
};

// Sums and differences of opposite faces, from what was fetched; below2: the faces below axis 2.
template <typename R, int N, int T>
__device__ __forceinline__ void spread(const product_launch<R> &g, const faces &f, int64_t shift,
                                       const R *raw, pair<R> *below2, R *V) {
    typedef shape<R, N, T> S;
    pair<R> direct[S::LOADS];
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = 2 * (threadIdx.x + x * S::THREADS);
        direct[x] =
            !S::STAGES && f.below1 >= 0 && e < S::SIZE ? get(g.d + shift + f.below1 + e) : pair<R>{0, 0};
    }
    fetched();
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = 2 * (threadIdx.x + x * S::THREADS);
        const bool there = S::FACE * PAIRS % S::THREADS == 0 || e < S::SIZE;
        const pair<R> up = get(raw + (there ? e : 0));
        pair<R> left = {__shfl_up_sync(0xffffffffu, up.y, 1, PAIRS), up.x};
        if (!there) continue;
        if (e % L == 0) left.x = raw[S::RAW - S::FACE + e / L];
        const pair<R> up1 = get(raw + S::SIZE + e), up2 = get(raw + 2 * S::SIZE + e);
        const pair<R> below1 = S::STAGES ? get(raw + 3 * S::SIZE + e) : direct[x];
        put(V + e, up + left);
        put(V + S::SIZE + e, up - left);
        put(V + 2 * S::SIZE + e, up1 + below1);
        put(V + 3 * S::SIZE + e, up1 - below1);
        put(V + 4 * S::SIZE + e, up2 + below2[x]);
        put(V + 5 * S::SIZE + e, up2 - below2[x]);
        below2[x] = up2;
    }
}

// y of the own faces and of those below, from the two parities in V. late receives what is added later.
template <typename R, int N, int T>
__device__ __forceinline__ void store(const product_launch<R> &g, const faces &f, const duties &duty,
                                      int last_lane, int64_t shift, bool lowest_layer, int64_t under,
                                      const R *V, R *late, pair<R> *carry) {
    typedef shape<R, N, T> S;
    R *y = g.y + shift;
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = 2 * (threadIdx.x + x * S::THREADS), lane = e % L;
        const bool there = S::FACE * PAIRS % S::THREADS == 0 || e < S::SIZE;
        const R *from = V + (there ? e : 0);
        const pair<R> low0 = get(from) - get(from + S::SIZE), high0 = get(from) + get(from + S::SIZE);
        const R next = __shfl_down_sync(0xffffffffu, low0.x, 1, PAIRS);
        if (!there) continue;
        const pair<R> s1 = get(V + 2 * S::SIZE + e), d1 = get(V + 3 * S::SIZE + e),
                      s2 = get(V + 4 * S::SIZE + e), d2 = get(V + 5 * S::SIZE + e);
        const pair<R> low1 = s1 - d1, low2 = s2 - d2;
        pair<R> y0 = {high0.x + low0.y, lane == L - 2 ? high0.y : high0.y + next}, y1 = s1 + d1;
        if (duty.closes0 && lane == last_lane) y0.x += __ldcg(y + f.own[0] + e);
        if (duty.closes0 && lane + 1 == last_lane) y0.y += __ldcg(y + f.own[0] + e + 1);
        if (duty.closes1) y1 = y1 + pair<R>{__ldcg(y + f.own[1] + e), __ldcg(y + f.own[1] + e + 1)};
        if (g.plan.fixed[0][1] && lane == last_lane) y0.x = 0;
        if (g.plan.fixed[0][1] && lane + 1 == last_lane) y0.y = 0;
        if (duty.fixed1) y1 = {0, 0};
        put(y + f.own[0] + e, y0);
        put(y + f.own[1] + e, y1);
        if (duty.adds_below)
            put(late + e, low1);
        else if (f.below1 >= 0)
            put(y + f.below1 + e, low1);
        if (duty.adds_left && lane == 0) late[S::SIZE + e / L] = low0.x;
        if (!duty.adds_left && f.left >= 0) {
            if (lane == 0) y[f.left + e] = low0.x;
            if (!g.plan.periodic[0]) { // the other lanes of the extra pack
                if (lane > 0) y[f.own[0] - S::SIZE + e - 1] = 0;
                y[f.own[0] - S::SIZE + e] = 0;
            }
        }
        if (under >= 0) put(g.y + under + e, lowest_layer ? low2 : carry[x] + low2);
        carry[x] = s2 + d2;
    }
}

template <typename R, int N, int T, int BLOCKS>
__global__ void __launch_bounds__(shape<R, N, T>::THREADS, BLOCKS)
    march(const __grid_constant__ product_launch<R> g) {
    typedef shape<R, N, T> S;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ int number;
    __shared__ faces f;
    __shared__ double warps[S::THREADS / 32];
    R *V = (R *)memory, *W = V + 6 * S::SIZE, *raw = W + S::TABLES, *late = raw + (S::RAW + 3) / 4 * 4;
    const struct box_plan &p = g.plan;
    const place at = take_number(g, &number);
    const duties duty(p, at);
    const int last_lane = p.cells[0] - 1 - at.pack * L;
    int *my_done = g.done + at.piece * g.columns + at.column;
    int table = -1;
    double energy = 0;
    pair<R> below2[S::LOADS], carry[S::LOADS]; // d and y of the face below
    if (threadIdx.x == 0) find_faces(p, at, &f);
    __syncthreads();
    fetch_layer<R, N, T>(g, f, 0, raw);
    metric<R> now = read_metric(g, at, at.first);
    const int64_t lowest = box_where(&p, 2, (const int[3]){at.pack * L, at.row, at.first}, 0, L);
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = 2 * (threadIdx.x + x * S::THREADS);
        below2[x] = lowest >= 0 && e < S::SIZE ? get(g.d + lowest + e) : pair<R>{0, 0};
    }
    for (int layer = at.first; layer < at.last; layer++) {
        const int done = layer - at.first;
        const int64_t shift = done * p.layer;
        if (now.table != table) { // of the whole block
            __syncthreads();
            table = now.table;
            stage_tables<R, N, T>(g, at, layer, table, W);
        }
        spread<R, N, T>(g, f, shift, raw, below2, V);
        __syncthreads();
        if (S::SLOTS == 1 && threadIdx.x == 0) publish(my_done, done); // what the layer before stored
        if (layer + 1 < at.last) fetch_layer<R, N, T>(g, f, shift + p.layer, raw);
        energy += multiply<R, N, T>(now.a, now.k, V, W, W + S::WEIGHTS);
        if (layer + 1 < at.last) now = read_metric(g, at, layer + 1);
        if (done >= S::SLOTS) { // an earlier layer: its faces are stored by now, or soon
            if (threadIdx.x == 0 && duty.adds_left) wait_for(my_done - 1, done + 1 - S::SLOTS);
            if (threadIdx.x == 32 && duty.adds_below) wait_for(my_done - p.packs, done + 1 - S::SLOTS);
        }
        if (threadIdx.x == 0 && duty.closes0) wait_for(my_done - at.pack, done + 1);
        if (threadIdx.x == 32 && duty.closes1) wait_for(my_done - at.column + at.pack, done + 1);
        __syncthreads();
        if (S::SLOTS == 2 && threadIdx.x == 0) publish(my_done, done); // what the layer before stored
        if (done >= S::SLOTS)
            settle<R, N, T>(g, f, shift - S::SLOTS * p.layer, duty.adds_left, duty.adds_below,
                            late + done % S::SLOTS * S::LATE);
        store<R, N, T>(g, f, duty, last_lane, shift, done == 0,
                       done == 0 ? lowest : f.own[2] - p.layer + shift, V, late + done % S::SLOTS * S::LATE,
                       carry);
    }

    // What is left to add, and the highest face of the piece.
    const int count = at.last - at.first;
    const int64_t shift = (int64_t)(count - 1) * p.layer;
    const bool top = at.last == p.cells[2];
    __syncthreads();
    if (threadIdx.x == 0) {
        publish(my_done, count);
        if (duty.adds_left) wait_for(my_done - 1, count);
    }
    if (threadIdx.x == 32) {
        if (duty.adds_below) wait_for(my_done - p.packs, count);
        if (!top) wait_for(my_done + g.columns, 1);
    }
    __syncthreads();
    if (S::SLOTS == 2 && count >= 2)
        settle<R, N, T>(g, f, shift - p.layer, duty.adds_left, duty.adds_below, late + count % 2 * S::LATE);
    settle<R, N, T>(g, f, shift, duty.adds_left, duty.adds_below, late + (count - 1) % S::SLOTS * S::LATE);
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = 2 * (threadIdx.x + x * S::THREADS);
        if (e >= S::SIZE) continue;
        R *y = g.y + shift + f.own[2] + e;
        // a period is one piece, whose lowest face is this one: stored by this thread
        pair<R> sum = carry[x];
        if (!top || p.periodic[2]) sum = sum + pair<R>{__ldcg(y), __ldcg(y + 1)};
        put(y, top && p.fixed[2][1] ? pair<R>{0, 0} : sum);
    }

    for (int offset = 16; offset > 0; offset /= 2) energy += __shfl_down_sync(0xffffffffu, energy, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = energy;
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int w = 0; w < S::THREADS / 32; w++) sum += warps[w];
        g.partial[at.piece * g.columns + at.column] = sum;
    }
}

// How many pieces the layers are cut into: so that the last round of blocks is as full as it can be, each
// piece costing about one layer more.
constexpr int LEAST_LAYERS = 4;
int count_pieces(const struct box_plan *plan, int columns, int slots) {
    int best = 1;
    double least = 1e300;
    for (int n = 1; n <= plan->cells[2] / LEAST_LAYERS && !plan->periodic[2]; n++) {
        const double rounds = (double)(((int64_t)columns * n + slots - 1) / slots),
                     cost = rounds * ((plan->cells[2] + n - 1) / n + 1);
        if (cost < least) least = cost, best = n;
    }
    return best;
}

template <typename R, int N, int T, int BLOCKS>
double launch_march(const struct box_plan *plan, const R *d, R *y) {
    typedef shape<R, N, T> S;
    product_launch<R> g = {*plan, d, y};
    static std::atomic<int> known; // blocks at work at the same time
    int slots = known;
    if (!allow_shared(march<R, N, T, BLOCKS>, S::BYTES, "box_step")) return 0;
    if (slots == 0) {
        int each = 0;
        if (!good(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, march<R, N, T, BLOCKS>, S::THREADS,
                                                                S::BYTES),
                  "box_step"))
            return 0;
        known = slots = (each > 0 ? each : 1) * multiprocessors();
    }
    g.columns = plan->packs * plan->cells[1];
    g.pieces = count_pieces(plan, g.columns, slots);
    const int64_t blocks = (int64_t)g.pieces * g.columns;
    const size_t counts = (size_t)(blocks + 2) / 2 * 2 * sizeof(int);
    g.next = (int *)box_room(counts + (size_t)blocks * sizeof(double));
    if (g.next == nullptr) return 0;
    g.done = g.next + 1;
    g.partial = (double *)((char *)g.next + counts);
    good(cudaMemsetAsync(g.next, 0, counts), "box_step");
    if (!may_launch()) return 0;
    march<R, N, T, BLOCKS><<<(unsigned)blocks, S::THREADS, S::BYTES>>>(g);
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
// Threads that share a parity of j, blocks of a multiprocessor in double and in single precision: measured on
// an H200 for 4, 6, 8, 12 and 16 modes.
#define CASE(N, T, DOUBLE, SINGLE)                                                                           \
    case N:                                                                                                  \
        return launch_march<R, N, T, (sizeof(R) == 8 ? DOUBLE : SINGLE)>(plan, d, y);
            CASE(4, 1, 12, 16)
            CASE(5, 1, 6, 12)
            CASE(6, 1, 6, 12)
            CASE(7, 1, 4, 8)
            CASE(8, 1, 4, 8)
            CASE(9, 2, 2, 3)
            CASE(10, 2, 2, 3)
            CASE(11, 2, 2, 3)
            CASE(12, 2, 2, 3)
            CASE(13, 4, 1, 2)
            CASE(14, 4, 1, 2)
            CASE(15, 4, 1, 2)
            CASE(16, 4, 1, 2)
#undef CASE
        }
    return box_product_general<R>(plan, d, y);
}
template double box_product(const struct box_plan *, const double *, double *);
template double box_product(const struct box_plan *, const float *, float *);

} // namespace facet
