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
//
// Where the factor is formed (D r + P e), r is read instead of d, and what a thread has read becomes d when
// sums and differences are made: the diagonal of cells that are alike stays in the first-level cache, the
// coefficients come to shared memory with the layer, and hats are of the block's own cells on all its faces.
#include <atomic>

#include "kernels/cuda/box_tile.cuh"

namespace facet {

namespace {

// ------------------------------------------------------------------------------ fast

template <typename R> struct product_launch {
    struct box_plan plan;
    const R *d; // or r
    const R *e; // nullptr: none
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

// What forms d on these faces: where their diagonals and coefficients (lane 0, of `left` its own) begin. In
// the next layers diagonals lie `step` further; those of axis 2 below the highest plane stand apart.
struct formed {
    int64_t diagonal[3], below1, left, step, top2;
    int64_t e[3], e_below1, e_left;
};
__device__ void find_formed(const struct box_plan &p, const place &at, formed *f) {
    const int cell[3] = {at.pack * L, at.row, at.first};
    constexpr int MOMENTS = KERNEL_BOX_MOMENTS * L;
    for (int axis = 0; axis < 3; axis++) {
        const struct box_face_pack own = {axis, {at.pack, at.row, at.first}, 0};
        f->e[axis] = box_pack_number(&p, &own) * MOMENTS;
    }
    const struct box_face_pack
        axis0 = {0, {at.pack, at.row, at.first}, box_face_0(&p, at.first, at.row, at.pack, L)},
        axis1 = {1, {at.pack, at.row, at.first}, box_face_1(&p, at.first, at.row, at.pack, L)},
        axis2 = {2, {at.pack, at.row, at.first}, box_face_2(&p, at.first, at.row, at.pack, L)},
        top = {2, {at.pack, at.row, p.cells[2] - 1}, box_face_2(&p, p.cells[2] - 1, at.row, at.pack, L)};
    f->diagonal[0] = box_diagonal_begin(&p, &axis0, L);
    f->diagonal[1] = box_diagonal_begin(&p, &axis1, L);
    f->diagonal[2] = box_diagonal_begin(&p, &axis2, L);
    f->top2 = box_diagonal_begin(&p, &top, L);
    f->step = p.alike ? 0 : p.layer;
    f->below1 = f->left = f->e_below1 = f->e_left = 0;
    struct box_face_pack other;
    if (box_face_of(&p, 1, cell, 0, L, &other) >= 0) {
        f->below1 = box_diagonal_begin(&p, &other, L);
        f->e_below1 = box_pack_number(&p, &other) * MOMENTS;
    }
    const int lane = box_face_of(&p, 0, cell, 0, L, &other);
    if (lane >= 0) {
        f->left = box_diagonal_begin(&p, &other, L) + lane;
        f->e_left = box_pack_number(&p, &other) * MOMENTS + lane;
    }
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

// The coefficients of the next layer, `layers` above the first.
template <typename R>
__device__ __forceinline__ void fetch_coefficients(const product_launch<R> &g, const faces &f,
                                                   const formed &form, int layers, R *coefficients) {
    constexpr int MOMENTS = KERNEL_BOX_MOMENTS * L;
    const int face = threadIdx.x / (MOMENTS / 2), in = threadIdx.x % (MOMENTS / 2) * 2;
    const int64_t shift = layers * g.plan.layer_faces * MOMENTS;
    if (g.e == nullptr) return;
    if (face < 4) {
        const bool there = face < 3 || f.below1 >= 0;
        const int64_t from = face < 3 ? form.e[face] : form.e_below1;
        fetch<2>(coefficients + face * MOMENTS + in, g.e + shift + from + in, there);
    }
    if (threadIdx.x < KERNEL_BOX_MOMENTS)
        fetch<1>(coefficients + 4 * MOMENTS + threadIdx.x, g.e + shift + form.e_left + threadIdx.x * L,
                 f.left >= 0);
}

// A mode of a face: its block of parities, and its modes along the slow and the fast axis.
template <int N> struct mode {
    int block, slow, fast;
    __device__ __forceinline__ explicit mode(int t) {
        typedef shape<double, N, 1> S;
        block = 3;
        while (block > 0 && S::block(block / 2, block % 2) > t) block--;
        const int width = S::count(block % 2), in = t - S::block(block / 2, block % 2);
        slow = S::first(block / 2) + in / width;
        fast = S::first(block % 2) + in % width;
    }
};
// d = D r + hat e of two lanes; coefficients: of the face, lane 0 of the two.
template <typename R>
__device__ __forceinline__ pair<R> form(const R *diagonal, pair<R> r, R hat, const R *coefficients) {
    return look_up(diagonal) * r + hat * get(coefficients);
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

// The weights of a table, and what the cells that use it have in common: B of the three axes, gamma, hats.
template <typename R, int N, int T, bool FORMS>
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
        B[S::GAMMA + threadIdx.x] =
            entry(n.gamma, threadIdx.x / 2, 2, column[threadIdx.x / 2], 0, threadIdx.x % 2);
    for (int i = threadIdx.x; FORMS && i < 3 * N; i += S::THREADS)
        B[S::HATS + i] = entry(n.hats, i / N, N, column[i / N], 0, i % N);
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

// Sums and differences of opposite faces, from what was fetched; below2: the faces below axis 2. FORMS: d is
// made of it with diagonals (shifted by diagonal_shift), coefficients and hats (of the three axes).
template <typename R, int N, int T, bool FORMS>
__device__ __forceinline__ void spread(const product_launch<R> &g, const faces &f, int64_t shift,
                                       const R *raw, const formed &form_at, int64_t diagonal_shift, bool top,
                                       const R *coefficients, const R *hats, pair<R> *below2, R *V) {
    typedef shape<R, N, T> S;
    constexpr int MOMENTS = KERNEL_BOX_MOMENTS * L;
    pair<R> direct[S::LOADS];
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = 2 * (threadIdx.x + x * S::THREADS);
        direct[x] =
            !S::STAGES && f.below1 >= 0 && e < S::SIZE ? get(g.d + shift + f.below1 + e) : pair<R>{0, 0};
    }
    if (!FORMS) fetched(); // else waited for with the coefficients, which others fetched
    const R *D = numbers(g.plan, R()).diagonal + diagonal_shift;
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = 2 * (threadIdx.x + x * S::THREADS);
        const bool there = S::FACE * PAIRS % S::THREADS == 0 || e < S::SIZE;
        const mode<N> m(there ? e / L : 0);
        pair<R> up = {0, 0};
        if (there) up = get(raw + e);
        if (FORMS && there)
            up = form(D + form_at.diagonal[0] + e, up, hats[N + m.slow] * hats[2 * N + m.fast],
                      coefficients + m.block * L + e % L);
        pair<R> left = {__shfl_up_sync(0xffffffffu, up.y, 1, PAIRS), up.x};
        if (!there) continue;
        if (e % L == 0) {
            left.x = raw[S::RAW - S::FACE + e / L];
            if (FORMS)
                left.x = __ldg(D + form_at.left + e) * left.x +
                         hats[N + m.slow] * hats[2 * N + m.fast] * coefficients[4 * MOMENTS + m.block];
        }
        pair<R> up1 = get(raw + S::SIZE + e), up2 = get(raw + 2 * S::SIZE + e);
        pair<R> below1 = S::STAGES ? get(raw + 3 * S::SIZE + e) : direct[x];
        if (FORMS) {
            const R hat = hats[m.slow] * hats[2 * N + m.fast];
            const R *own = coefficients + m.block * L + e % L;
            up1 = form(D + form_at.diagonal[1] + e, up1, hat, own + MOMENTS);
            below1 = form(D + form_at.below1 + e, below1, hat, own + 3 * MOMENTS);
            up2 = form(top ? numbers(g.plan, R()).diagonal + form_at.top2 + e : D + form_at.diagonal[2] + e,
                       up2, hats[m.slow] * hats[N + m.fast], own + 2 * MOMENTS);
        }
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
        pair<R> low0 = {0, 0}, high0 = {0, 0};
        if (there) low0 = get(V + e) - get(V + S::SIZE + e), high0 = get(V + e) + get(V + S::SIZE + e);
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

// The faces below axis 2 of the first layer.
template <typename R, int N, int T, bool FORMS>
__device__ __forceinline__ void begin_below2(const product_launch<R> &g, const place &at, int64_t lowest,
                                             pair<R> *below2) {
    typedef shape<R, N, T> S;
    const auto &n = numbers(g.plan, R());
    struct box_face_pack face;
    const int cell[3] = {at.pack * L, at.row, at.first};
    int64_t diagonal = 0, e_begin = 0;
    if (FORMS && lowest >= 0) {
        box_face_of(&g.plan, 2, cell, 0, L, &face);
        diagonal = box_diagonal_begin(&g.plan, &face, L);
        e_begin = box_pack_number(&g.plan, &face) * KERNEL_BOX_MOMENTS * L;
    }
#pragma unroll
    for (int x = 0; x < S::LOADS; x++) {
        const int e = 2 * (threadIdx.x + x * S::THREADS);
        below2[x] = lowest >= 0 && e < S::SIZE ? get(g.d + lowest + e) : pair<R>{0, 0};
        if (!FORMS || lowest < 0 || e >= S::SIZE) continue;
        const mode<N> m(e / L);
        below2[x] = get(n.diagonal + diagonal + e) * below2[x];
        if (g.e == nullptr) continue;
        const R hat = entry(n.hats, 0, N, at.pack, 0, m.slow) * entry(n.hats, 1, N, at.row, 0, m.fast);
        below2[x] = below2[x] + hat * get(g.e + e_begin + m.block * L + e % L);
    }
}

template <typename R, int N, int T, int BLOCKS, bool FORMS>
__global__ void __launch_bounds__(shape<R, N, T>::THREADS, BLOCKS)
    march(const __grid_constant__ product_launch<R> g) {
    typedef shape<R, N, T> S;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ int number;
    __shared__ faces f;
    __shared__ double warps[S::THREADS / 32];
    __shared__ formed form_at;
    R *V = (R *)memory, *W = V + 6 * S::SIZE, *raw = W + S::TABLES, *late = raw + (S::RAW + 3) / 4 * 4,
      *coefficients = late + S::SLOTS * S::LATE;
    const struct box_plan &p = g.plan;
    const place at = take_number(g, &number);
    const duties duty(p, at);
    const int last_lane = p.cells[0] - 1 - at.pack * L;
    int *my_done = g.done + at.piece * g.columns + at.column;
    int table = -1;
    double energy = 0;
    pair<R> below2[S::LOADS], carry[S::LOADS]; // d and y of the face below
    if (threadIdx.x == 0) find_faces(p, at, &f);
    if (FORMS && threadIdx.x == 32) find_formed(p, at, &form_at);
    if (FORMS && g.e == nullptr)
        for (int i = threadIdx.x; i < S::COEFFICIENTS; i += S::THREADS) coefficients[i] = 0;
    __syncthreads();
    fetch_layer<R, N, T>(g, f, 0, raw);
    if (FORMS) fetch_coefficients(g, f, form_at, 0, coefficients);
    metric<R> now = read_metric(g, at, at.first);
    const int64_t lowest = box_where(&p, 2, (const int[3]){at.pack * L, at.row, at.first}, 0, L);
    begin_below2<R, N, T, FORMS>(g, at, lowest, below2);
    if (FORMS) fetched();
    if (FORMS) __syncthreads();
    for (int layer = at.first; layer < at.last; layer++) {
        const int done = layer - at.first;
        const int64_t shift = done * p.layer;
        if (now.table != table) { // of the whole block
            __syncthreads();
            table = now.table;
            stage_tables<R, N, T, FORMS>(g, at, layer, table, W);
            if (FORMS) __syncthreads();
        }
        spread<R, N, T, FORMS>(g, f, shift, raw, form_at, done * form_at.step, layer == p.cells[2] - 1,
                               coefficients, W + S::WEIGHTS + S::HATS, below2, V);
        __syncthreads();
        if (S::SLOTS == 1 && threadIdx.x == 0) publish(my_done, done); // what the layer before stored
        if (layer + 1 < at.last) {
            fetch_layer<R, N, T>(g, f, shift + p.layer, raw);
            if (FORMS) fetch_coefficients(g, f, form_at, done + 1, coefficients);
        }
        energy += multiply<R, N, T>(now.a, now.k, V, W, W + S::WEIGHTS);
        if (layer + 1 < at.last) now = read_metric(g, at, layer + 1);
        if (done >= S::SLOTS) { // an earlier layer: its faces are stored by now, or soon
            if (threadIdx.x == 0 && duty.adds_left) wait_for(my_done - 1, done + 1 - S::SLOTS);
            if (threadIdx.x == 32 && duty.adds_below) wait_for(my_done - p.packs, done + 1 - S::SLOTS);
        }
        if (threadIdx.x == 0 && duty.closes0) wait_for(my_done - at.pack, done + 1);
        if (threadIdx.x == 32 && duty.closes1) wait_for(my_done - at.column + at.pack, done + 1);
        if (FORMS) fetched();
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

template <typename R, int N, int T, int BLOCKS, bool FORMS>
double launch_march(const struct box_plan *plan, const factor<R> &of, R *y) {
    typedef shape<R, N, T> S;
    constexpr size_t BYTES = S::bytes(FORMS);
    product_launch<R> g = {*plan, FORMS ? of.r : of.d, of.e, y};
    static std::atomic<int> known; // blocks at work at the same time
    int slots = known;
    const auto kernel = march<R, N, T, BLOCKS, FORMS>;
    if (!allow_shared(kernel, BYTES, "box_step")) return 0;
    if (slots == 0) {
        int each = 0;
        if (!good(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, S::THREADS, BYTES),
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
    kernel<<<(unsigned)blocks, S::THREADS, BYTES>>>(g);
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

template <typename R> double box_product(const struct box_plan *plan, const factor<R> &of, R *y) {
    if (can_march(plan)) switch (plan->modes[0]) {
// Threads that share a parity of j, blocks of a multiprocessor in double and in single precision: measured on
// an H200 for 4, 6, 8, 12 and 16 modes.
#define CASE(N, T, DOUBLE, SINGLE)                                                                           \
    case N:                                                                                                  \
        return of.d == nullptr                                                                               \
                   ? launch_march<R, N, T, (sizeof(R) == 8 ? DOUBLE : SINGLE), true>(plan, of, y)            \
                   : launch_march<R, N, T, (sizeof(R) == 8 ? DOUBLE : SINGLE), false>(plan, of, y);
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
    return box_product_general<R>(plan, of, y);
}
template double box_product(const struct box_plan *, const factor<double> &, double *);
template double box_product(const struct box_plan *, const factor<float> &, float *);

} // namespace facet
