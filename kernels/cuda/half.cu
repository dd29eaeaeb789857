// Element matrices in 16 bits (kernels/kernels.h, kernels/half.h) and the product with them, everything else
// in single precision. A thread has a cell.
#include <cuda_fp16.h>

#include "kernels/cuda/cell.cuh"

namespace facet {
namespace {

struct halves {
    product p;
    float ones[KERNEL_CELL_FACES];
    int n_near, dim; // displacements: functions of degree 1 on a face, components; else 0
    int apart;       // their net flux stands beside the rest
    int64_t size;    // 16-bit numbers of a cell
};

struct halves halves_of(const struct cell_plan *plan) {
    struct halves h = {};
    h.p = product_of(plan);
    for (int f = 0; f < plan->n_faces; f++) h.ones[f] = plan->ones[f];
    h.n_near = plan->n_near;
    h.dim = plan->n_near > 0 ? plan->n_components : 0;
    h.apart = plan->n_near > 0 && plan->apart;
    h.size = cell_plan_half_size(plan);
    return h;
}

__device__ __forceinline__ float widen(uint16_t bits) {
    return __half2float(__ushort_as_half(bits));
}
__device__ __forceinline__ float scale_of(uint16_t power) {
    return __uint_as_float((unsigned)power << 16);
}

// ------------------------------------------------------------------------------------ the product with A

// A of a cell in the order of half_place_A.
struct half_matrix {
    const uint2 *blocks; // of the lane
    const uint16_t *diagonals, *last;
    int n_pairs;
    __device__ __forceinline__ half_matrix(int n, const uint16_t *A, int lane)
        : blocks((const uint2 *)A + lane), diagonals(A + 2 * (n / 2) * (n / 2 - 1) * L + lane),
          last(diagonals + n / 2 * 3 * L), n_pairs(n / 2) {}
};

static_assert(L == HALF_WARP, "the order of half.h");

__device__ __forceinline__ int64_t lane_place(int n, int i, int j, int lane) {
    return half_place_A(L, n, i, j, lane);
}

// Four pairs of rows by four blocks of 2 x 2, or, at the diagonal, the blocks before each pair and its three
// entries.
constexpr int PAIRS = 4;
struct half_tile {
    uint2 e[PAIRS][PAIRS];
    uint16_t d[PAIRS][3];
    __device__ __forceinline__ void load(const half_matrix &A, int p0, int c0) {
#pragma unroll
        for (int q = 0; q < PAIRS; q++) {
            const int p = p0 + q;
            const bool there = p < A.n_pairs;
            const uint2 *from = A.blocks + (p * (p - 1) / 2 + c0) * L;
#pragma unroll
            for (int b = 0; b < PAIRS; b++)
                if (b < q || c0 < p0) e[q][b] = there ? __ldcs(from + b * L) : make_uint2(0, 0);
            if (c0 == p0)
#pragma unroll
                for (int k = 0; k < 3; k++)
                    d[q][k] = there ? __ldcs(A.diagonals + (3 * p + k) * L) : (uint16_t)0;
        }
    }
    // Of the block of pair q and b: by rows.
    __device__ __forceinline__ void widen_block(int q, int b, float (&a)[2][2]) const {
        const float2 above = __half22float2(*(const __half2 *)&e[q][b].x),
                     below = __half22float2(*(const __half2 *)&e[q][b].y);
        a[0][0] = above.x, a[0][1] = above.y, a[1][0] = below.x, a[1][1] = below.y;
    }
};

// What a tile has for y: sums of its rows into sum, those of its columns c0 .. to y, or, where these are rows
// of its own, into sum too.
__device__ __forceinline__ void use_half_tile(const half_tile &tile, bool own, int c0,
                                              const float (&xi)[2 * PAIRS], float (&sum)[2 * PAIRS],
                                              const float *x, float *y) {
    float entry[2][2];
    if (!own) {
        float xj[2 * PAIRS], yj[2 * PAIRS];
#pragma unroll
        for (int b = 0; b < 2 * PAIRS; b++) {
            xj[b] = x[(2 * c0 + b) * PITCH];
            yj[b] = y[(2 * c0 + b) * PITCH];
        }
#pragma unroll
        for (int q = 0; q < PAIRS; q++)
#pragma unroll
            for (int b = 0; b < PAIRS; b++) {
                tile.widen_block(q, b, entry);
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    yj[2 * b + k % 2] += entry[k / 2][k % 2] * xi[2 * q + k / 2];
                    sum[2 * q + k / 2] += entry[k / 2][k % 2] * xj[2 * b + k % 2];
                }
            }
#pragma unroll
        for (int b = 0; b < 2 * PAIRS; b++) y[(2 * c0 + b) * PITCH] = yj[b];
        return;
    }
#pragma unroll
    for (int q = 0; q < PAIRS; q++) {
#pragma unroll
        for (int b = 0; b < q; b++) {
            tile.widen_block(q, b, entry);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                sum[2 * q + k / 2] += entry[k / 2][k % 2] * xi[2 * b + k % 2];
                sum[2 * b + k % 2] += entry[k / 2][k % 2] * xi[2 * q + k / 2];
            }
        }
        const float above = widen(tile.d[q][0]), beside = widen(tile.d[q][1]), below = widen(tile.d[q][2]);
        sum[2 * q] += above * xi[2 * q] + beside * xi[2 * q + 1];
        sum[2 * q + 1] += beside * xi[2 * q] + below * xi[2 * q + 1];
    }
}

// y = A x of the thread, the first tile being there, and each of the others on its way while the one before
// is at work.
__device__ __forceinline__ void half_product(int n, const half_matrix &A, half_tile &tile, const float *x,
                                             float *y) {
    half_tile next;
    float xi[2 * PAIRS], sum[2 * PAIRS];
    int p0 = 0, c0 = 0;
    while (p0 < A.n_pairs) {
        const bool ends = c0 == p0;
        const int p1 = ends ? p0 + PAIRS : p0, c1 = ends ? 0 : c0 + PAIRS;
        if (p1 < A.n_pairs) next.load(A, p1, c1);
        if (c0 == 0) begin_rows(2 * A.n_pairs, 2 * p0, x, xi, sum);
        use_half_tile(tile, ends, c0, xi, sum, x, y);
        if (ends)
#pragma unroll
            for (int a = 0; a < 2 * PAIRS; a++)
                if (p0 + a / 2 < A.n_pairs) y[(2 * p0 + a) * PITCH] = sum[a];
        tile = next;
        p0 = p1;
        c0 = c1;
    }
    if (n % 2 == 0) return;
    const float x_last = x[(n - 1) * PITCH];
    float sum_last = widen(A.last[(n - 1) * L]) * x_last;
    for (int j = 0; j < n - 1; j++) {
        const float entry = widen(A.last[j * L]);
        y[j * PITCH] += entry * x_last;
        sum_last += entry * x[j * PITCH];
    }
    y[(n - 1) * PITCH] = sum_last;
}

// y += A x by all warps of the block, n even, tile being the first of each; with a wait for the others at the
// end.
static_assert(2 * PAIRS == STRIPE, "stripes are rows of tiles");
__device__ __forceinline__ void half_product_shared(int n, const half_matrix &A, half_tile &tile,
                                                    const float *x, float *y) {
    half_tile next;
    float xi[STRIPE], sum[STRIPE];
    tournament at(n);
    int i, j;
    at.meet(i, j);
    while (at.goes_on()) {
        const int i0 = i, j0 = j, round = at.round;
        at.go_on();
        at.meet(i, j);
        if (at.goes_on()) next.load(A, PAIRS * i, PAIRS * j);
        begin_rows(n, STRIPE * i0, x, xi, sum);
        use_half_tile(tile, i0 == j0, PAIRS * j0, xi, sum, x, y);
#pragma unroll
        for (int a = 0; a < STRIPE; a++)
            if (STRIPE * i0 + a < n) y[(STRIPE * i0 + a) * PITCH] += sum[a];
        if (at.round > round) __syncthreads();
        tile = next;
    }
}

// ------------------------------------------------------------------------------------ one function

// s and e of the lane, side by side: s below.
__device__ __forceinline__ float scale_of_pair(unsigned pair) {
    return __uint_as_float(pair << 16);
}
__device__ __forceinline__ float part_of_pair(unsigned pair) {
    return widen((uint16_t)(pair >> 16));
}

// Numbers that a thread asks for before it waits for the first.
constexpr int FEW = 16;

__device__ __forceinline__ void load_few(const unsigned *__restrict__ from, int i, int n,
                                         unsigned (&to)[FEW]) {
#pragma unroll
    for (int k = 0; k < FEW; k++)
        if (i + k < n) to[k] = from[(i + k) * L];
}

// K = S (A + c w' + w c' - (c'u) w w') S; x and y: columns of the thread, x is destroyed. few: the first
// pairs of s and e.
__device__ __forceinline__ void multiply_constant(const halves &h, const unsigned *__restrict__ pairs,
                                                  unsigned (&few)[FEW], const half_matrix &A, half_tile &tile,
                                                  float *x, float *y) {
    const product &p = h.p;
    const int n = p.n;
    float u[KERNEL_CELL_FACES], part[KERNEL_CELL_FACES], total = 0, square = 0, wx = 0, cx = 0, cu = 0;
#pragma unroll
    for (int f = 0; f < KERNEL_CELL_FACES; f++) {
        const bool there = f < p.n_faces && p.start(f) < p.start(f + 1);
        const unsigned pair = there ? pairs[p.start(f) * L] : 0;
        u[f] = there ? h.ones[f] * scale_of_pair(pair) : 0.0f;
        part[f] = part_of_pair(pair);
    }
    for (int i = 0; i < n; i += FEW) {
        if (i > 0) load_few(pairs, i, n, few);
#pragma unroll
        for (int k = 0; k < FEW; k++) {
            if (i + k >= n) break;
            const float scaled = x[(i + k) * PITCH] * scale_of_pair(few[k]);
            x[(i + k) * PITCH] = scaled;
            cx += part_of_pair(few[k]) * scaled;
        }
    }
#pragma unroll
    for (int f = 0; f < KERNEL_CELL_FACES; f++) {
        total += u[f];
        square += u[f] * u[f];
        cu += part[f] * u[f];
        if (f < p.n_faces && p.start(f) < p.start(f + 1)) wx += u[f] * x[p.start(f) * PITCH];
    }
    const float unit = (float)HALF_UNIT * total;
    const float w = square > 0.0f ? 1.0f / square : 0.0f; // all zero: not here
    wx *= w;
    half_product(n, A, tile, x, y);
#pragma unroll
    for (int f = 0; f < KERNEL_CELL_FACES; f++)
        if (f < p.n_faces && p.start(f) < p.start(f + 1))
            y[p.start(f) * PITCH] += u[f] * w * unit * (cx - cu * wx);
    for (int i = 0; i < n; i += FEW) {
        load_few(pairs, i, n, few);
#pragma unroll
        for (int k = 0; k < FEW; k++)
            if (i + k < n)
                y[(i + k) * PITCH] =
                    scale_of_pair(few[k]) * (y[(i + k) * PITCH] + unit * part_of_pair(few[k]) * wx);
    }
}

// ------------------------------------------------------------------------------------ displacements

__device__ __forceinline__ float float_at(const uint16_t *floats, int64_t i, int lane) {
    return ((const float *)floats)[i * L + lane];
}

// Numbers of a cell of displacements: s, X, G, the net flux where it is apart, A. cell: of lane 0.
struct motions {
    const halves *h;
    int lane, n_motions, size;
    const uint16_t *s, *X, *G, *flux, *A;
    __device__ motions(const halves &of, const uint16_t *cell, int lane) : h(&of), lane(lane) {
        const int n = of.p.n;
        const int64_t n_X = of.p.n_faces * of.n_near * of.dim;
        n_motions = of.dim * (of.dim + 1) / 2;
        size = of.p.m / of.dim;
        s = cell + lane;
        X = cell + (int64_t)n * L;
        G = X + 2 * n_X * L;
        flux = G + n_motions * (n_motions + 1) * L;
        A = flux + (of.apart ? 2 * n_X * L : 0);
    }
    // The unknown of number k of X and of the flux, and the number of an unknown there, -1: none.
    __device__ __forceinline__ int near_row(int k) const {
        const int dim = h->dim;
        return k / dim / h->n_near * h->p.m + k % dim * size + k / dim % h->n_near;
    }
    __device__ __forceinline__ int near_of(int row) const {
        const int i = row % size;
        return i < h->n_near ? (row / h->p.m * h->n_near + i) * h->dim + row % h->p.m / size : -1;
    }
    // What unknown i has of the net flux that is apart.
    __device__ __forceinline__ float flux_of(int i) const {
        const int k = h->apart ? near_of(i) : -1;
        return k >= 0 ? float_at(flux, k, lane) : 0.0f;
    }
    // Of function i of component c of face f.
    __device__ void row(int f, int i, int c, float *u) const {
        const int dim = h->dim, at = (f * h->n_near + i) * dim;
        const float scale = scale_of(s[(f * h->p.m + c * size + i) * L]);
        for (int k = 0; k < dim; k++) u[k] = k == c && i == 0 ? scale * h->ones[f] : 0.0f;
        for (int t = 0; t < (dim == 2 ? 1 : 3); t++) {
            const int from = dim == 2 ? 0 : (t + 1) % 3, to = dim == 2 ? 1 : (t + 2) % 3;
            u[dim + t] = c == to     ? scale * float_at(X, at + from, lane)
                         : c == from ? -scale * float_at(X, at + to, lane)
                                     : 0.0f;
        }
    }
};

// The two axes of a rotation of DIM dimensions: motion_from and motion_to of kernels.h.
template <int DIM> __device__ constexpr int turn_from(int turn) {
    return DIM == 2 ? 0 : (turn + 1) % 3;
}
template <int DIM> __device__ constexpr int turn_to(int turn) {
    return DIM == 2 ? 1 : (turn + 2) % 3;
}

// Products of a cell of displacements; NEAR: functions of degree 1 of a component of a face.
template <int DIM, int FACES, int NEAR> struct moving {
    static constexpr int TURNS = DIM == 2 ? 1 : 3, MOTIONS = DIM + TURNS;
    const motions &m;

    __device__ __forceinline__ int row(int f, int i, int c) const {
        return f * m.h->p.m + c * m.size + i;
    }
    __device__ __forceinline__ void coordinates(int f, int i, float (&X)[DIM]) const {
#pragma unroll
        for (int c = 0; c < DIM; c++) X[c] = float_at(m.X, (f * NEAR + i) * DIM + c, m.lane);
    }

    // v = S v, in the rows of a warp's share.
    __device__ __forceinline__ void scale(float *v, share my = {}) const {
        const int n = m.h->p.n;
        for (int i = my.warp * FEW; i < n; i += my.warps * FEW) {
            uint16_t s[FEW];
#pragma unroll
            for (int k = 0; k < FEW; k++)
                if (i + k < n) s[k] = m.s[(i + k) * L];
#pragma unroll
            for (int k = 0; k < FEW; k++)
                if (i + k < n) v[(i + k) * PITCH] *= scale_of(s[k]);
        }
    }

    // v = (I - U G U') v.
    __device__ __forceinline__ void project(float *v) const {
        float t[MOTIONS] = {}, g[MOTIONS] = {}, X[DIM], w[DIM];
#pragma unroll
        for (int f = 0; f < FACES; f++)
#pragma unroll
            for (int i = 0; i < NEAR; i++) {
                coordinates(f, i, X);
#pragma unroll
                for (int c = 0; c < DIM; c++) {
                    w[c] = scale_of(m.s[row(f, i, c) * L]) * v[row(f, i, c) * PITCH];
                    if (i == 0) t[c] += m.h->ones[f] * w[c];
                }
#pragma unroll
                for (int turn = 0; turn < TURNS; turn++)
                    t[DIM + turn] += X[turn_from<DIM>(turn)] * w[turn_to<DIM>(turn)] -
                                     X[turn_to<DIM>(turn)] * w[turn_from<DIM>(turn)];
            }
#pragma unroll
        for (int k = 0; k < MOTIONS; k++)
#pragma unroll
            for (int j = 0; j < MOTIONS; j++)
                g[k] += float_at(m.G, k > j ? k * (k + 1) / 2 + j : j * (j + 1) / 2 + k, m.lane) * t[j];
#pragma unroll
        for (int f = 0; f < FACES; f++)
#pragma unroll
            for (int i = 0; i < NEAR; i++) {
                coordinates(f, i, X);
#pragma unroll
                for (int c = 0; c < DIM; c++) w[c] = i == 0 ? m.h->ones[f] * g[c] : 0.0f;
#pragma unroll
                for (int turn = 0; turn < TURNS; turn++) {
                    w[turn_to<DIM>(turn)] += X[turn_from<DIM>(turn)] * g[DIM + turn];
                    w[turn_from<DIM>(turn)] -= X[turn_to<DIM>(turn)] * g[DIM + turn];
                }
#pragma unroll
                for (int c = 0; c < DIM; c++)
                    v[row(f, i, c) * PITCH] -= scale_of(m.s[row(f, i, c) * L]) * w[c];
            }
    }

    // The net flux of x that is apart, and h times it onto y.
    __device__ __forceinline__ float flux(const float *x) const {
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < FACES * NEAR * DIM; k++)
            sum += float_at(m.flux, k, m.lane) * x[row(k / DIM / NEAR, k / DIM % NEAR, k % DIM) * PITCH];
        return sum;
    }
    __device__ __forceinline__ void add_flux(float sum, float *y) const {
#pragma unroll
        for (int k = 0; k < FACES * NEAR * DIM; k++)
            y[row(k / DIM / NEAR, k / DIM % NEAR, k % DIM) * PITCH] += sum * float_at(m.flux, k, m.lane);
    }

    // y = S Pi A Pi S x, and h h'x where the net flux is apart; x is destroyed.
    __device__ __forceinline__ void multiply(float *x, float *y) const {
        const int n = m.h->p.n;
        const half_matrix A(n, m.A, m.lane);
        half_tile tile;
        tile.load(A, 0, 0);
        const float through = m.h->apart ? flux(x) : 0.0f;
        scale(x);
        project(x);
        half_product(n, A, tile, x, y);
        project(y);
        scale(y);
        if (m.h->apart) add_flux(through, y);
    }
};

template <int DIM, int FACES, int NEAR>
__global__ void __launch_bounds__(128)
    multiply_moving(const __grid_constant__ halves h, const float *x, float *to) {
    extern __shared__ __align__(16) unsigned char room[];
    const product &p = h.p;
    const int lane = threadIdx.x, n = p.n;
    float *in = (float *)room + 2 * threadIdx.y * n * PITCH, *out = in + n * PITCH;
    const int64_t batch = batch_of(p);
    if (batch < 0) return;
    const motions m(h, (const uint16_t *)p.matrices + batch * h.size * L, lane);
    bring_in(p, batch, lane, x, in);
    moving<DIM, FACES, NEAR>{m}.multiply(in + lane, out + lane);
    deliver(p, batch, lane, out, to);
}

// Warps that share a batch.
template <int DIM, int FACES, int NEAR>
__global__ void __launch_bounds__(32 * MOST_SHARING)
    multiply_together(const __grid_constant__ halves h, const float *x, float *to) {
    extern __shared__ __align__(16) unsigned char room[];
    const product &p = h.p;
    const int lane = threadIdx.x, n = p.n;
    const share my = share_of_warp();
    float *in = (float *)room, *out = in + n * PITCH, through = 0.0f;
    const int64_t batch = shared_batch(p);
    const motions m(h, (const uint16_t *)p.matrices + batch * h.size * L, lane);
    const moving<DIM, FACES, NEAR> cell = {m};
    const half_matrix A(n, m.A, lane);
    half_tile tile;
    int i, j;
    tournament(n).meet(i, j);
    tile.load(A, PAIRS * i, PAIRS * j);
    bring_in(p, batch, lane, x, in, my);
    for (int k = my.warp; k < n; k += my.warps) out[k * PITCH + lane] = 0.0f;
    __syncthreads();
    if (h.apart) {
        if (my.warp == 0) through = cell.flux(in + lane);
        __syncthreads();
    }
    cell.scale(in + lane, my);
    __syncthreads();
    if (my.warp == 0) cell.project(in + lane);
    __syncthreads();
    half_product_shared(n, A, tile, in + lane, out + lane);
    if (my.warp == 0) cell.project(out + lane);
    __syncthreads();
    cell.scale(out + lane, my);
    __syncthreads();
    if (h.apart) {
        if (my.warp == 0) cell.add_flux(through, out + lane);
        __syncthreads();
    }
    deliver(p, batch, lane, out, to, my);
}

// FACES > 0: as multiply_equal of cell.cu.
template <int FACES>
__global__ void __launch_bounds__(128) multiply(const __grid_constant__ halves h, const float *x, float *to) {
    extern __shared__ __align__(16) unsigned char room[];
    const product &p = h.p;
    const int lane = threadIdx.x, n = p.n;
    float *in = (float *)room + 2 * threadIdx.y * n * PITCH, *out = in + n * PITCH;
    const int64_t batch = batch_of(p);
    if (batch < 0) return;
    const uint16_t *cell = (const uint16_t *)p.matrices + batch * h.size * L;
    const unsigned *pairs = (const unsigned *)cell + lane;
    const half_matrix A(n, cell + 2 * n * L, lane);
    faces<FACES> of(p, batch, lane);
    unsigned few[FEW];
    half_tile tile;
    load_few(pairs, 0, n, few);
    tile.load(A, 0, 0);
    of.bring_in(p, batch, lane, x, in);
    multiply_constant(h, pairs, few, A, tile, in + lane, out + lane);
    of.deliver(p, batch, lane, out, to);
}

// ------------------------------------------------------------------------------------ making them

__device__ __forceinline__ int64_t triangle(int i, int j) {
    return i >= j ? row_of(i) + j : row_of(j) + i;
}
// s (numbers `step` apart) and A (of lane 0) of the thread's cell, from K - h h': flux(i) is that of row i.
template <class Flux>
__device__ bool round_matrix(int n, const double *K, Flux flux, uint16_t *s, int step, uint16_t *A,
                             int lane) {
    bool good = true;
    for (int i = 0; i < n; i++) {
        const double own = flux(i), diagonal = K[triangle(i, i) * L] - own * own;
        int k = 0;
        if (diagonal > 1e-60 && diagonal < 1e60) {
            frexp(diagonal, &k);
            k = (k + 1) >> 1;
        }
        if (diagonal < 0.0) good = false;
        s[i * step] = half_power(k);
    }
    for (int i = 0; i < n; i++) {
        const double own = flux(i);
        for (int j = 0; j <= i; j++) {
            const double entry = K[triangle(i, j) * L] - (own != 0.0 ? own * flux(j) : 0.0);
            const double exact = ldexp(entry, 254 - (s[i * step] >> 7) - (s[j * step] >> 7));
            const bool fits = exact >= -1.0 && exact <= 1.0;
            if (!fits) good = false;
            A[lane_place(n, i, j, lane)] = __half_as_ushort(__float2half_rn(fits ? (float)exact : 0.0f));
        }
    }
    return good;
}

__device__ bool halve_constant(const halves &h, const double *K, uint16_t *cell, int lane) {
    const product &p = h.p;
    const int n = p.n;
    uint16_t *s = cell + 2 * lane, *A = cell + 2 * n * L; // e beside s
    const bool good = round_matrix(
        n, K, [](int) { return 0.0; }, s, 2 * L, A, lane);
    double sum = 0;
    for (int f = 0; f < p.n_faces; f++)
        if (p.start(f) < p.start(f + 1)) sum += h.ones[f] * scale_of(s[p.start(f) * 2 * L]);
    for (int i = 0; i < n; i++) {
        double c = 0;
        for (int f = 0; f < p.n_faces; f++) {
            const int j = p.start(f);
            if (j == p.start(f + 1)) continue;
            const double u = h.ones[f] * scale_of(s[j * 2 * L]);
            const double exact =
                ldexp(K[triangle(i, j) * L], 254 - (s[i * 2 * L] >> 7) - (s[j * 2 * L] >> 7));
            c += (exact - widen(A[i >= j ? lane_place(n, i, j, lane) : lane_place(n, j, i, lane)])) * u;
        }
        c /= sum * HALF_UNIT;
        s[i * 2 * L + 1] = __half_as_ushort(__float2half_rn(c >= -1.0 && c <= 1.0 ? (float)c : 0.0f));
    }
    return good;
}

// G (n x n, lower triangle) becomes its inverse, with a minus: see kernels/ref/half.c.
__device__ void invert(int n, double (*G)[6]) {
    double column[6] = {0}, first[6];
    for (int k = 0; k < n; k++) first[k] = G[k][k];
    for (int k = 0; k < n; k++) {
        const double inverse = G[k][k] > KERNEL_MOTION_LEAST * first[k] ? 1.0 / G[k][k] : 0.0;
        for (int j = 0; j < n; j++) column[j] = j < k ? G[k][j] : j > k ? G[j][k] : 0.0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) G[i][j] -= column[i] * inverse * column[j];
        for (int j = 0; j < n; j++) *(j < k ? &G[k][j] : &G[j][k]) = column[j] * inverse;
        G[k][k] = -inverse;
    }
}

// The net flux h = K x / sqrt(x'K x) of a cell, x being the coordinates X as a trace: kernels/ref/half.c.
__device__ void find_flux(const motions &m, int n_X, const double *X, const double *K, int lane) {
    double energy = 0.0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < n_X; k++) {
            double sum = 0.0;
            for (int l = 0; l < n_X; l++) sum += K[triangle(m.near_row(k), m.near_row(l)) * L] * X[l * L];
            if (pass == 0)
                energy += sum * X[k * L];
            else
                ((float *)m.flux)[k * L + lane] = energy > 0.0 ? (float)(sum / sqrt(energy)) : 0.0f;
        }
}

__device__ bool halve_motions(const halves &h, int loose, const double *X, const double *K, uint16_t *cell,
                              int lane) {
    const motions m(h, cell, lane);
    const int dim = h.dim, n_X = h.p.n_faces * h.n_near * dim;
    double G[6][6] = {{0}};
    if (h.apart) find_flux(m, n_X, X, K, lane);
    const bool good = round_matrix(
        h.p.n, K, [&](int i) { return (double)m.flux_of(i); }, (uint16_t *)m.s, L, (uint16_t *)m.A, lane);
    for (int k = 0; k < n_X; k++) ((float *)m.X)[k * L + lane] = (float)X[k * L];
    for (int k = 0; k < n_X; k++) {
        float u[6];
        m.row(k / (h.n_near * dim), k / dim % h.n_near, k % dim, u);
        for (int i = 0; i < m.n_motions; i++)
            for (int j = 0; j <= i; j++) G[i][j] += (double)u[i] * (double)u[j];
    }
    for (int i = 0; i < m.n_motions; i++)
        for (int j = 0; j <= i; j++)
            if (!(loose >> (i < dim ? i : dim) & 1) || !(loose >> (j < dim ? j : dim) & 1)) G[i][j] = 0.0;
    invert(m.n_motions, G);
    for (int i = 0; i < m.n_motions; i++)
        for (int j = 0; j <= i; j++) ((float *)m.G)[(row_of(i) + j) * L + lane] = (float)-G[i][j];
    return good;
}

__global__ void halve(const __grid_constant__ halves h, const double *X, const double *matrices, uint16_t *to,
                      unsigned long long *failed) {
    const int64_t cell = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, batch = cell / L;
    const int lane = (int)(cell % L), n_X = h.p.n_faces * h.n_near * h.dim;
    if (batch >= h.p.n_batches) return;
    const double *K = matrices + batch * row_of(h.p.n) * L + lane;
    uint16_t *numbers = to + batch * h.size * L;
    const bool good = h.n_near > 0
                          ? halve_motions(h, h.p.loose[cell], X + batch * n_X * L + lane, K, numbers, lane)
                          : halve_constant(h, K, numbers, lane);
    bool used = false;
    for (int f = 0; f < h.p.n_faces; f++) used |= h.p.maps[(batch * h.p.n_faces + f) * L + lane] >= 0;
    if (!good && used) atomicMin(failed, (unsigned long long)batch);
}

} // namespace
} // namespace facet

using namespace facet;

// Displacements of triangles, quads, tets and hexes; together: warps share a batch.
static auto moving_of(const struct cell_plan *plan, bool together) {
    if (together)
        return plan->n_components == 2
                   ? (plan->n_faces == 3 ? multiply_together<2, 3, 2> : multiply_together<2, 4, 2>)
                   : (plan->n_faces == 4 ? multiply_together<3, 4, 3> : multiply_together<3, 6, 4>);
    return plan->n_components == 2
               ? (plan->n_faces == 3 ? multiply_moving<2, 3, 2> : multiply_moving<2, 4, 2>)
               : (plan->n_faces == 4 ? multiply_moving<3, 4, 3> : multiply_moving<3, 6, 4>);
}

void cell_apply_half_cuda(const struct cell_plan *plan, const float *x, float *y) {
    halves whole = halves_of(plan);
    const int sharing = plan->n_near > 0 ? warps_sharing<float>(whole.p) : 1, n_faces = faces_apart(whole.p);
    const bool together = sharing > 1;
    const size_t bytes = lane_bytes<float>(whole.p.n);
    const int warps = together ? sharing : warps_for(bytes), batches = together ? 1 : warps; // of a block
    const size_t room = bytes * batches;
    const auto kernel = plan->n_near > 0 ? moving_of(plan, together)
                        : n_faces == 3   ? multiply<3>
                        : n_faces == 4   ? multiply<4>
                        : n_faces == 6   ? multiply<6>
                                         : multiply<0>;
    if (whole.p.n == 0 || !allow_shared(kernel, room, "cell_apply_half")) return;
    take_batches(plan, whole.p, y, [&](const product &p, float *to) {
        whole.p = p;
        kernel<<<blocks_of(p.n_batches, batches), dim3(L, warps), room>>>(whole, x, to);
        launched("cell_apply_half");
    });
}

void cell_apply_apart_cuda(const struct cell_plan *plan, const float *x, float *y) {
    cell_apply_half_cuda(plan, x, y);
}

int64_t cell_halve_cuda(const struct cell_plan *plan, const double *matrices, uint16_t *halves) {
    const int64_t threads = plan->n_batches * L;
    if (threads == 0 || !may_launch()) return -1;
    unsigned long long *failed = first_failure();
    if (failed == nullptr) return -1;
    halve<<<(unsigned)((threads + 127) / 128), 128>>>(halves_of(plan), plan->motions, matrices, halves,
                                                      failed);
    launched("cell_halve");
    return failure_found(failed);
}
