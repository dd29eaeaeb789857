// Vectors on boxes (kernels/box.h): what precedes the product in a step, residuals, and the way to the coarse
// space and back. All of it moves bytes and little else: a warp takes one face-pack after another, eight
// modes at a time, each thread two of the eight lanes.
#include "kernels/cuda/box.cuh"

namespace facet {

namespace {

constexpr int L = LANES, WARP = 32, PAIRS = L / 2, ROWS = WARP / PAIRS, WARPS = 8, THREADS = WARP * WARPS;
constexpr int MOMENTS = KERNEL_BOX_MOMENTS;

// ------------------------------------------------------------------------------ sums

__global__ void sum_all(int64_t n, int width, const double *partial, double *out) {
    __shared__ double sums[THREADS];
    for (int w = 0; w < width; w++) {
        double sum = 0;
        for (int64_t i = threadIdx.x; i < n; i += THREADS) sum += partial[i * width + w];
        sums[threadIdx.x] = sum;
        for (int half = THREADS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        if (threadIdx.x == 0) out[w] = sums[0];
        __syncthreads();
    }
}

// ------------------------------------------------------------------------------ face-packs

// A face-pack by its number, with divisions of 32 bits where these are enough.
__device__ struct box_face_pack find_pack(const struct box_plan &p, int64_t number) {
    if (p.n_faces > 0x7fffffff) return box_face_pack(&p, number, L);
    struct box_face_pack f;
    unsigned rest = (unsigned)number, wide;
    f.axis = 2;
    f.at[2] = -1;
    if (number >= p.front_faces) {
        rest -= (unsigned)p.front_faces;
        f.at[2] = (int)(rest / (unsigned)p.layer_faces);
        rest -= (unsigned)f.at[2] * (unsigned)p.layer_faces;
        for (f.axis = 0; rest >= (unsigned)p.faces[f.axis]; f.axis++) rest -= (unsigned)p.faces[f.axis];
    }
    wide = (unsigned)(p.packs + (f.axis == 0 ? p.extra[0] : 0));
    f.at[1] = (int)(rest / wide);
    f.at[0] = (int)(rest - (unsigned)f.at[1] * wide);
    if (f.axis == 0) f.at[0] -= p.extra[0];
    if (f.axis == 1) f.at[1] -= p.extra[1];
    f.begin = f.axis == 0   ? box_face_0(&p, f.at[2], f.at[1], f.at[0], L)
              : f.axis == 1 ? box_face_1(&p, f.at[2], f.at[1], f.at[0], L)
                            : box_face_2(&p, f.at[2], f.at[1], f.at[0], L);
    return f;
}

// Tables of the two tangential axes of a face-pack, for two lanes.
template <typename R> struct tangents {
    const R *slow, *fast;
    bool lanes; // those of the slow axis differ

    __device__ tangents(const struct box_plan &p, const R *const *table, const struct box_face_pack &f,
                        int lane) {
        const int s = slow_axis(f.axis), q = fast_axis(f.axis);
        lanes = s == 0;
        slow = table[s] + (int64_t)box_column(&f, s) * p.modes[s] * (lanes ? L : 1) + (lanes ? lane : 0);
        fast = table[q] + (int64_t)box_column(&f, q) * p.modes[q];
    }
    __device__ __forceinline__ pair<R> product(int o, int i) const {
        const R f = __ldg(fast + i);
        if (lanes) return f * get(slow + o * L);
        const R one = f * __ldg(slow + o);
        return {one, one};
    }
};

// The blocks of parities of a face-pack: first mode, rows and width, and the modes where they begin. N: the
// modes of all axes, where they are known when compiled; else 0.
template <int N> struct parities {
    int first, slow, fast, width, count;

    __device__ __forceinline__ parities(const struct box_plan &p, int axis, int q) {
        if constexpr (N > 0) {
            constexpr int EVEN = (N + 1) / 2, ODD = N - EVEN;
            const int rows = q / 2 ? ODD : EVEN;
            slow = q / 2 ? EVEN : 0;
            fast = q % 2 ? EVEN : 0;
            width = q % 2 ? ODD : EVEN;
            first = slow * N + rows * fast;
            count = rows * width;
        } else {
            const int s = slow_axis(axis), f = fast_axis(axis);
            first = (int)box_block(&p, s, f, q / 2, q % 2);
            slow = box_first(&p, s, q / 2);
            fast = box_first(&p, f, q % 2);
            width = box_count(&p, f, q % 2);
            count = box_count(&p, s, q / 2) * width;
        }
    }
};

// ------------------------------------------------------------------------------ steps

template <typename R> struct update_launch {
    struct box_plan plan;
    R x_old, a, b, x_new;
    int subtract, direction, assign;
    const R *f, *e, *y;
    R *r, *d, *x;
};

// The numbers `at` and the next one, with P e and D there.
template <typename R>
__device__ __forceinline__ void update(const update_launch<R> &g, int64_t at, const R *D, pair<R> coarse) {
    pair<R> r, old = {0, 0}, x = {0, 0};
    if (g.f != nullptr) {
        r = get(g.f + at);
        if (g.subtract) r = r - get(g.y + at);
        put(g.r + at, r);
    } else
        r = get(g.r + at);
    if (!g.direction) return;
    if (g.b != 0 || g.x_old != 0) old = get(g.d + at);
    if (g.x != nullptr && !g.assign) x = get(g.x + at);
    const pair<R> next = g.a * (get(D) * r) + coarse + g.b * old;
    put(g.d + at, next);
    if (g.x != nullptr) put(g.x + at, x + g.x_old * old + g.x_new * next);
}

template <typename R> __global__ void update_plain(const __grid_constant__ update_launch<R> g) {
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
#pragma unroll 2
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < g.plan.size / 2; i += step)
        update(g, 2 * i, numbers(g.plan, R()).diagonal + 2 * i, pair<R>{0, 0});
}

template <typename R>
__global__ void __launch_bounds__(THREADS) update_coarse(const __grid_constant__ update_launch<R> g) {
    const struct box_plan &p = g.plan;
    const int lane = threadIdx.x % PAIRS * 2, row = threadIdx.x % WARP / PAIRS;
    for (int64_t number = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP; number < p.n_faces;
         number += (int64_t)gridDim.x * WARPS) {
        const struct box_face_pack face = find_pack(p, number);
        const tangents<R> hats(p, numbers(p, R()).hats, face, lane);
        const R *D = numbers(p, R()).diagonal + box_diagonal_begin(&p, &face, L) + lane;
#pragma unroll
        for (int q = 0; q < MOMENTS; q++) {
            const parities<0> block(p, face.axis, q);
            const pair<R> e = g.e != nullptr ? get(g.e + (number * MOMENTS + q) * L + lane) : pair<R>{0, 0};
#pragma unroll 2
            for (int t = row; t < block.count; t += ROWS) {
                const int o = t / block.width, i = t - o * block.width;
                update(g, face.begin + (int64_t)(block.first + t) * L + lane, D + (block.first + t) * L,
                       hats.product(block.slow + o, block.fast + i) * e);
            }
        }
    }
}

// ------------------------------------------------------------------------------ residuals

// Where the residual comes from, one of these: the numbers `at` and the next one, stored, with the diagonal
// and the hats there. `block`: what a block of parities of a face-pack has.
template <typename R> struct subtraction {
    static constexpr int VECTORS = 3; // that it reads or writes
    R alpha;
    const R *y;
    R *r;
    struct block {};

    __device__ __forceinline__ bool wants_hats() const {
        return false;
    }
    __device__ __forceinline__ block begin(int64_t) const {
        return {};
    }
    __device__ __forceinline__ pair<R> next(const block &, int64_t at, pair<R>, pair<R>) const {
        pair<R> value = get(r + at);
        if (alpha != 0) {
            value = value - alpha * get(y + at);
            put(r + at, value);
        }
        return value;
    }
};

// struct box_recurrence; MOVES: with d and x.
template <typename R, bool MOVES> struct recurrence {
    static constexpr int VECTORS = MOVES ? 8 : 4;
    R a[2], b[2], alpha, c;
    const R *y, *r, *e_r, *e_s;
    R *s, *d, *x;
    struct block {
        pair<R> e_r, e_s;
    };

    __device__ __forceinline__ bool wants_hats() const {
        return MOVES && e_r != nullptr;
    }
    __device__ __forceinline__ block begin(int64_t at) const {
        if (!wants_hats()) return {{0, 0}, {0, 0}};
        return {get(e_r + at), get(e_s + at)};
    }
    __device__ __forceinline__ pair<R> next(const block &e, int64_t at, pair<R> D, pair<R> hat) const {
        const pair<R> now = get(r + at), product = get(y + at);
        const pair<R> before = MOVES || c != 0 ? get(s + at) : pair<R>{0, 0};
        if (MOVES) {
            const pair<R> old = b[0] != 0 ? get(d + at) : pair<R>{0, 0}, start = get(x + at);
            const pair<R> first = D * before + hat * e.e_s + b[0] * old,
                          next = D * now + hat * e.e_r + b[1] * first;
            put(d + at, next);
            put(x + at, start + a[0] * first + a[1] * next);
        }
        const pair<R> value = now - alpha * product + (c != 0 ? c * (now - before) : pair<R>{0, 0});
        put(s + at, value);
        return value;
    }
};

// Blocks of a multiprocessor and one block of parities at a time: measured on an H200 for 8 modes.
template <typename R, int N, typename SOURCE>
__global__ void __launch_bounds__(THREADS, sizeof(R) * SOURCE::VECTORS < 64 ? 3 : 2)
    residual(const __grid_constant__ struct box_plan p, const __grid_constant__ SOURCE source, R *moments,
             double *partial) {
    const auto &n = numbers(p, R());
    const int lane = threadIdx.x % PAIRS * 2, row = threadIdx.x % WARP / PAIRS, warp = threadIdx.x / WARP;
    double energy = 0, norm = 0;
    for (int64_t number = (int64_t)blockIdx.x * WARPS + warp; number < p.n_faces;
         number += (int64_t)gridDim.x * WARPS) {
        const struct box_face_pack face = find_pack(p, number);
        const tangents<R> hats(p, n.hats, face, lane), inverses(p, n.inverses, face, lane);
        const R *D = n.diagonal + box_diagonal_begin(&p, &face, L) + lane;
        pair<R> products = {0, 0}, squares = {0, 0};
#pragma unroll 1
        for (int q = 0; q < MOMENTS; q++) {
            const parities<N> block(p, face.axis, q);
            const auto own = source.begin((number * MOMENTS + q) * L + lane);
            pair<R> moment = {0, 0};
#pragma unroll 2
            for (int t = row; t < block.count; t += ROWS) {
                const int o = t / block.width, i = t - o * block.width;
                const int64_t at = face.begin + (int64_t)(block.first + t) * L + lane;
                const pair<R> diagonal = get(D + (block.first + t) * L);
                const pair<R> hat = moments != nullptr || source.wants_hats()
                                        ? hats.product(block.slow + o, block.fast + i)
                                        : pair<R>{0, 0};
                const pair<R> value = source.next(own, at, diagonal, hat);
                products = products + value * (diagonal * value);
                squares = squares + value * value * inverses.product(block.slow + o, block.fast + i);
                moment = moment + value * hat;
            }
            if (moments == nullptr) continue;
            for (int offset = PAIRS; offset < WARP; offset *= 2) {
                moment.x += __shfl_xor_sync(0xffffffffu, moment.x, offset);
                moment.y += __shfl_xor_sync(0xffffffffu, moment.y, offset);
            }
            if (row == 0) put(moments + (number * MOMENTS + q) * L + lane, moment);
        }
        energy += (double)products.x + (double)products.y;
        norm += (double)squares.x + (double)squares.y;
    }
    __shared__ double sums[WARPS][2];
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        energy += __shfl_down_sync(0xffffffffu, energy, offset);
        norm += __shfl_down_sync(0xffffffffu, norm, offset);
    }
    if (threadIdx.x % WARP == 0) sums[warp][0] = energy, sums[warp][1] = norm;
    __syncthreads();
    if (threadIdx.x < 2) {
        double sum = 0;
        for (int w = 0; w < WARPS; w++) sum += sums[w][threadIdx.x];
        partial[2 * (int64_t)blockIdx.x + threadIdx.x] = sum;
    }
}

// ------------------------------------------------------------------------------ the coarse space

// The sign of corner c (bit 1: slow axis) in coefficient q: 1, xi of the fast axis, of the slow one, both.
__device__ __forceinline__ int sign(int q, int c) {
    return (q & 1 && !(c & 1) ? -1 : 1) * (q & 2 && !(c & 2) ? -1 : 1);
}

// One thread for each lane of a face-pack.
template <typename R>
__global__ void prolong(const __grid_constant__ struct box_plan p, const double *vertices, R *coefficients) {
    int size[3];
    box_lattice(&p, L, size);
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < p.n_faces * L;
         i += (int64_t)gridDim.x * blockDim.x) {
        const int lane = (int)(i % L);
        const struct box_face_pack f = find_pack(p, i / L);
        const int x = f.at[0] * L + lane;
        const bool there = f.at[0] < 0 ? lane == L - 1 : x < p.cells[0];
        double corner[4] = {0, 0, 0, 0};
        for (int c = 0; c < 4 && there; c++) {
            int v[3] = {x, f.at[1], f.at[2]};
            v[f.axis]++;
            if (p.present[slow_axis(f.axis)]) v[slow_axis(f.axis)] += c >> 1;
            if (p.present[fast_axis(f.axis)]) v[fast_axis(f.axis)] += c & 1;
            corner[c] = vertices[((int64_t)v[2] * size[1] + v[1]) * size[0] + v[0]];
        }
        for (int q = 0; q < MOMENTS; q++) {
            double sum = 0;
            for (int c = 0; c < 4; c++) sum += 0.25 * sign(q, c) * corner[c];
            coefficients[(i / L * MOMENTS + q) * L + lane] = (R)sum;
        }
    }
}

// One thread for each vertex: what the faces around it hold, in a fixed order.
template <typename R>
__global__ void restrict_all(const __grid_constant__ struct box_plan p, const R *moments, double *vertices) {
    int size[3];
    box_lattice(&p, L, size);
    const int64_t n = (int64_t)size[0] * size[1] * size[2];
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x) {
        const int v[3] = {(int)(i % size[0]), (int)(i / size[0] % size[1]), (int)(i / size[0] / size[1])};
        double sum = 0;
        for (int axis = 0; axis < 3; axis++) {
            if (!p.present[axis] || v[axis] > p.cells[axis] || (v[axis] == 0 && !p.extra[axis])) continue;
            for (int c = 0; c < 4; c++) {
                int at[3] = {v[0], v[1], v[2]};
                const int s = slow_axis(axis), f = fast_axis(axis);
                at[axis]--;
                if (p.present[s]) at[s] -= c >> 1;
                if (p.present[f]) at[f] -= c & 1;
                if (at[s] < 0 || at[s] >= p.cells[s] || at[f] < 0 || at[f] >= p.cells[f]) continue;
                const int pack = at[0] < 0 ? -1 : at[0] / L, lane = at[0] < 0 ? L - 1 : at[0] % L;
                const struct box_face_pack face = {axis, {pack, at[1], at[2]}, 0};
                const R *m = moments + box_pack_number(&p, &face) * MOMENTS * L + lane;
                for (int q = 0; q < MOMENTS; q++) sum += 0.25 * sign(q, c) * (double)m[q * L];
            }
        }
        vertices[i] = sum;
    }
}

// ------------------------------------------------------------------------------ launches

int blocks_for(int64_t n, int each) {
    const int64_t blocks = (n + each - 1) / each, most = 16 * (int64_t)multiprocessors();
    return (int)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

template <typename R>
double step(const struct box_plan *plan, const struct box_step *s, const R *f, R *r, const R *e, R *d, R *x,
            R *y) {
    if (!may_launch()) return 0;
    const update_launch<R> g = {
        *plan,     (R)s->x_old, (R)s->a, (R)s->b, (R)s->x_new, s->subtract, s->direction,
        s->assign, f,           e,       y,       r,           d,           x};
    if (s->direction && (e != nullptr || plan->alike))
        update_coarse<R><<<blocks_for(plan->n_faces, WARPS), THREADS>>>(g);
    else if (f != nullptr || s->direction)
        update_plain<R><<<blocks_for(plan->size, THREADS), THREADS>>>(g);
    launched("box_step");
    return s->product ? box_product(plan, factor<R>{d, nullptr, nullptr}, y) : 0;
}

template <typename R, typename SOURCE>
void take_residual(const struct box_plan *plan, const SOURCE &source, R *moments, double *sums) {
    const int blocks = blocks_for(plan->n_faces, WARPS);
    double *partial = (double *)box_room(2 * (size_t)blocks * sizeof(double));
    sums[0] = sums[1] = 0;
    if (partial == nullptr || !may_launch()) return;
    with_modes(*plan, [&](auto modes) {
        residual<R, decltype(modes)::value><<<blocks, THREADS>>>(*plan, source, moments, partial);
    });
    launched("box_residual");
    box_sum(blocks, 2, partial, sums);
}

template <typename R, bool MOVES>
void recur(const struct box_plan *plan, const struct box_recurrence *g, const R *y, const R *r, const R *e_r,
           R *s, const R *e_s, R *d, R *x, R *moments, double *sums) {
    const recurrence<R, MOVES> source = {
        {(R)g->a[0], (R)g->a[1]}, {(R)g->b[0], (R)g->b[1]}, (R)g->alpha, (R)g->c, y, r, e_r, e_s, s, d, x};
    take_residual<R>(plan, source, moments, sums);
}

} // namespace

bool box_sum(int64_t n, int width, double *partial, double *out) {
    double *sums = partial_sums();
    if (sums == nullptr) return false;
    sum_all<<<1, THREADS>>>(n, width, partial, sums);
    launched("a sum on a box");
    return good(cudaMemcpy(out, sums, (size_t)width * sizeof *out, cudaMemcpyDeviceToHost), "a sum on a box");
}

} // namespace facet

using facet::L;
using facet::launched;
using facet::may_launch;

#define FUNCTIONS(R, NAME)                                                                                   \
    double NAME(box_step)(const struct box_plan *plan, const struct box_step *s, const R *f, R *r,           \
                          const R *e, R *d, R *x, R *y) {                                                    \
        return facet::step<R>(plan, s, f, r, e, d, x, y);                                                    \
    }                                                                                                        \
    void NAME(box_residual)(const struct box_plan *plan, double alpha, const R *y, R *r, R *moments,         \
                            double *sums) {                                                                  \
        facet::take_residual<R>(plan, facet::subtraction<R>{(R)alpha, y, r}, moments, sums);                 \
    }                                                                                                        \
    double NAME(box_form)(const struct box_plan *plan, const R *r, const R *e, R *y) {                       \
        return facet::box_product(plan, facet::factor<R>{nullptr, r, e}, y);                                 \
    }                                                                                                        \
    void NAME(box_recur)(const struct box_plan *plan, const struct box_recurrence *g, const R *y,            \
                         const R *r, const R *e_r, R *s, const R *e_s, R *d, R *x, R *moments,               \
                         double *sums) {                                                                     \
        if (x != nullptr)                                                                                    \
            facet::recur<R, true>(plan, g, y, r, e_r, s, e_s, d, x, moments, sums);                          \
        else                                                                                                 \
            facet::recur<R, false>(plan, g, y, r, e_r, s, e_s, d, x, moments, sums);                         \
    }                                                                                                        \
    void NAME(box_prolong)(const struct box_plan *plan, const double *vertices, R *coefficients) {           \
        if (!may_launch()) return;                                                                           \
        facet::prolong<R><<<facet::blocks_for(plan->n_faces *L, 256), 256>>>(*plan, vertices, coefficients); \
        launched("box_prolong");                                                                             \
    }                                                                                                        \
    void NAME(box_restrict)(const struct box_plan *plan, const R *moments, double *vertices) {               \
        int size[3];                                                                                         \
        if (!may_launch()) return;                                                                           \
        box_lattice(plan, L, size);                                                                          \
        facet::restrict_all<R><<<facet::blocks_for((int64_t)size[0] * size[1] * size[2], 256), 256>>>(       \
            *plan, moments, vertices);                                                                       \
        launched("box_restrict");                                                                            \
    }
FUNCTIONS(double, DOUBLE_NAME)
FUNCTIONS(float, SINGLE_NAME)
