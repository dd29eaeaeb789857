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
    int64_t size;    // 16-bit numbers of a cell
};

struct halves halves_of(const struct cell_plan *plan) {
    struct halves h = {};
    h.p = product_of(plan);
    for (int f = 0; f < plan->n_faces; f++) h.ones[f] = plan->ones[f];
    h.n_near = plan->n_near;
    h.dim = plan->n_near > 0 ? plan->n_components : 0;
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

// y = A x of the thread, A in the order of half_place: four pairs of rows by two blocks of 2 x 2 at a time,
// the next ones being on their way, and from the beginning those at the diagonal.
constexpr int PAIRS = 4;

__device__ __forceinline__ void load_blocks(const uint16_t *const (&pair)[PAIRS], int c,
                                            uint16_t (&e)[PAIRS][8]) {
#pragma unroll
    for (int q = 0; q < PAIRS; q++)
#pragma unroll
        for (int k = 0; k < 8; k++) e[q][k] = __ldcs(pair[q] + (4 * c + k) * L);
}

__device__ __forceinline__ void half_product(int n, const uint16_t *__restrict__ A, const float *x,
                                             float *y) {
    const int n_pairs = n / 2;
    for (int p0 = 0; p0 < n_pairs; p0 += PAIRS) {
        float xi[2 * PAIRS], sum[2 * PAIRS];
        const uint16_t *pair[PAIRS];
        uint16_t e[PAIRS][8], next[PAIRS][8], d[PAIRS][4 * PAIRS - 1];
#pragma unroll
        for (int q = 0; q < PAIRS; q++) {
            const int p = p0 + q < n_pairs ? p0 + q : n_pairs - 1; // beyond the last: times zero
            pair[q] = A + row_of(2 * p) * L;
#pragma unroll
            for (int r = 0; r < 2; r++) {
                xi[2 * q + r] = p0 + q < n_pairs ? x[(2 * p + r) * PITCH] : 0.0f;
                sum[2 * q + r] = 0;
            }
#pragma unroll
            for (int k = 0; k < 4 * q + 3; k++)
                d[q][k] = p0 + q < n_pairs ? __ldcs(pair[q] + (4 * p0 + k) * L) : (uint16_t)0;
        }
        if (p0 > 0) load_blocks(pair, 0, e);
#pragma unroll 1
        for (int c = 0; c < p0; c += 2) { // blocks of columns 2 c .. 2 c + 3
            if (c + 2 < p0) load_blocks(pair, c + 2, next);
#pragma unroll
            for (int b = 0; b < 4; b++) {
                const float xj = x[(2 * c + b) * PITCH];
                float yj = y[(2 * c + b) * PITCH];
#pragma unroll
                for (int q = 0; q < PAIRS; q++)
#pragma unroll
                    for (int r = 0; r < 2; r++) {
                        const float entry = widen(e[q][4 * (b / 2) + 2 * r + b % 2]);
                        yj += entry * xi[2 * q + r];
                        sum[2 * q + r] += entry * xj;
                    }
                y[(2 * c + b) * PITCH] = yj;
            }
#pragma unroll
            for (int q = 0; q < PAIRS; q++)
#pragma unroll
                for (int k = 0; k < 8; k++) e[q][k] = next[q][k];
        }
        // The diagonal: blocks before that of each pair, then its three entries.
#pragma unroll
        for (int q = 0; q < PAIRS; q++) {
#pragma unroll
            for (int k = 0; k < 4 * q; k++) {
                const float entry = widen(d[q][k]);
                sum[2 * q + k % 4 / 2] += entry * xi[2 * (k / 4) + k % 2];
                sum[2 * (k / 4) + k % 2] += entry * xi[2 * q + k % 4 / 2];
            }
            const float above = widen(d[q][4 * q]), beside = widen(d[q][4 * q + 1]),
                        below = widen(d[q][4 * q + 2]);
            sum[2 * q] += above * xi[2 * q] + beside * xi[2 * q + 1];
            sum[2 * q + 1] += beside * xi[2 * q] + below * xi[2 * q + 1];
        }
#pragma unroll
        for (int q = 0; q < PAIRS; q++)
            if (p0 + q < n_pairs) {
                y[2 * (p0 + q) * PITCH] = sum[2 * q];
                y[(2 * (p0 + q) + 1) * PITCH] = sum[2 * q + 1];
            }
    }
    if (n % 2 == 0) return;
    const uint16_t *last = A + row_of(n - 1) * L;
    const float xi = x[(n - 1) * PITCH];
    float sum = widen(last[(n - 1) * L]) * xi;
    for (int j = 0; j < n - 1; j++) {
        const float entry = widen(last[j * L]);
        y[j * PITCH] += entry * xi;
        sum += entry * x[j * PITCH];
    }
    y[(n - 1) * PITCH] = sum;
}

// ------------------------------------------------------------------------------------ one function

// Numbers of 16 bits that a thread asks for before it waits for the first.
constexpr int FEW = 8;

__device__ __forceinline__ void load_few(const uint16_t *__restrict__ from, int i, int n,
                                         uint16_t (&to)[FEW]) {
#pragma unroll
    for (int k = 0; k < FEW; k++) to[k] = from[(i + k < n ? i + k : n - 1) * L];
}

// K = S (A + c w' + w c' - (c'u) w w') S; x and y: columns of the thread, x is destroyed.
__device__ __forceinline__ void multiply_constant(const halves &h, const uint16_t *__restrict__ s, float *x,
                                                  float *y) {
    const product &p = h.p;
    const int n = p.n;
    const uint16_t *e = s + n * L;
    uint16_t power[FEW], part[FEW];
    float total = 0, square = 0, wx = 0, cx = 0, cu = 0;
    for (int i = 0; i < n; i += FEW) {
        load_few(s, i, n, power);
        load_few(e, i, n, part);
#pragma unroll
        for (int k = 0; k < FEW; k++) {
            if (i + k >= n) break;
            const float scaled = x[(i + k) * PITCH] * scale_of(power[k]);
            x[(i + k) * PITCH] = scaled;
            cx += widen(part[k]) * scaled;
        }
    }
    for (int f = 0; f < p.n_faces; f++) {
        const int i = p.start(f);
        if (i == p.start(f + 1)) continue;
        const float u = h.ones[f] * scale_of(s[i * L]);
        total += u;
        square += u * u;
        wx += u * x[i * PITCH];
        cu += widen(e[i * L]) * u;
    }
    const float unit = (float)HALF_UNIT * total;
    const float w = square > 0.0f ? 1.0f / square : 0.0f; // all zero: not here
    wx *= w;
    half_product(n, e + n * L, x, y);
    for (int f = 0; f < p.n_faces; f++) {
        const int i = p.start(f);
        if (i == p.start(f + 1)) continue;
        y[i * PITCH] += h.ones[f] * scale_of(s[i * L]) * w * unit * (cx - cu * wx);
    }
    for (int i = 0; i < n; i += FEW) {
        load_few(s, i, n, power);
        load_few(e, i, n, part);
#pragma unroll
        for (int k = 0; k < FEW; k++)
            if (i + k < n)
                y[(i + k) * PITCH] = scale_of(power[k]) * (y[(i + k) * PITCH] + unit * widen(part[k]) * wx);
    }
}

// ------------------------------------------------------------------------------------ displacements

__device__ __forceinline__ float float_at(const uint16_t *floats, int64_t i, int lane) {
    return ((const float *)floats)[i * L + lane];
}

// Numbers of a cell of displacements: s, X, G, A. cell: of lane 0.
struct motions {
    const halves *h;
    int lane, n_motions, size;
    const uint16_t *s, *X, *G, *A;
    __device__ motions(const halves &of, const uint16_t *cell, int lane) : h(&of), lane(lane) {
        const int n = of.p.n;
        const int64_t n_X = of.p.n_faces * of.n_near * of.dim;
        n_motions = of.dim * (of.dim + 1) / 2;
        size = of.p.m / of.dim;
        s = cell + lane;
        X = cell + (int64_t)n * L;
        G = X + 2 * n_X * L;
        A = G + n_motions * (n_motions + 1) * L + lane;
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
    // v = (I - U G U') v.
    __device__ void project(float *v) const {
        float t[6] = {0}, w[6] = {0}, u[6];
        for (int pass = 0; pass < 2; pass++) {
            for (int f = 0; f < h->p.n_faces; f++)
                for (int i = 0; i < h->n_near; i++)
                    for (int c = 0; c < h->dim; c++) {
                        float *entry = v + (f * h->p.m + c * size + i) * PITCH;
                        row(f, i, c, u);
                        for (int k = 0; k < n_motions && pass == 0; k++) t[k] += u[k] * *entry;
                        for (int k = 0; k < n_motions && pass == 1; k++) *entry -= u[k] * w[k];
                    }
            for (int k = 0; k < n_motions && pass == 0; k++)
                for (int j = 0; j < n_motions; j++)
                    w[k] += float_at(G, k > j ? row_of(k) + j : row_of(j) + k, lane) * t[j];
        }
    }
};

// K = S Pi A Pi S.
__device__ void multiply_motions(const halves &h, const uint16_t *cell, int lane, float *x, float *y) {
    const motions m(h, cell, lane);
    for (int i = 0; i < h.p.n; i++) x[i * PITCH] *= scale_of(m.s[i * L]);
    m.project(x);
    half_product(h.p.n, m.A, x, y);
    m.project(y);
    for (int i = 0; i < h.p.n; i++) y[i * PITCH] *= scale_of(m.s[i * L]);
}

template <bool MOTIONS>
__global__ void __launch_bounds__(128) multiply(const __grid_constant__ halves h, const float *x, float *to) {
    extern __shared__ __align__(16) unsigned char room[];
    const product &p = h.p;
    const int lane = threadIdx.x, n = p.n;
    float *in = (float *)room + 2 * threadIdx.y * n * PITCH, *out = in + n * PITCH;
    const int64_t batch = batch_of(p);
    if (batch < 0) return;
    bring_in(p, batch, lane, x, in);
    const uint16_t *cell = (const uint16_t *)p.matrices + batch * h.size * L;
    if (MOTIONS)
        multiply_motions(h, cell, lane, in + lane, out + lane);
    else
        multiply_constant(h, cell + lane, in + lane, out + lane);
    deliver(p, batch, lane, out, to);
}

// ------------------------------------------------------------------------------------ making them

__device__ __forceinline__ int64_t triangle(int i, int j) {
    return i >= j ? row_of(i) + j : row_of(j) + i;
}
__device__ __forceinline__ int64_t place_of(int n, int i, int j) {
    return i >= j ? half_place(n, i, j) : half_place(n, j, i);
}

// s and A of the thread's cell.
__device__ bool round_matrix(int n, const double *K, uint16_t *s, uint16_t *A) {
    bool good = true;
    for (int i = 0; i < n; i++) {
        const double diagonal = K[triangle(i, i) * L];
        int k = 0;
        if (diagonal > 1e-60 && diagonal < 1e60) {
            frexp(diagonal, &k);
            k = (k + 1) >> 1;
        }
        if (diagonal < 0.0) good = false;
        s[i * L] = half_power(k);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            const double exact = ldexp(K[triangle(i, j) * L], 254 - (s[i * L] >> 7) - (s[j * L] >> 7));
            const bool fits = exact >= -1.0 && exact <= 1.0;
            if (!fits) good = false;
            A[place_of(n, i, j) * L] = __half_as_ushort(__float2half_rn(fits ? (float)exact : 0.0f));
        }
    return good;
}

__device__ bool halve_constant(const halves &h, const double *K, uint16_t *s) {
    const product &p = h.p;
    const int n = p.n;
    uint16_t *e = s + n * L, *A = e + n * L;
    const bool good = round_matrix(n, K, s, A);
    double sum = 0;
    for (int f = 0; f < p.n_faces; f++)
        if (p.start(f) < p.start(f + 1)) sum += h.ones[f] * scale_of(s[p.start(f) * L]);
    for (int i = 0; i < n; i++) {
        double c = 0;
        for (int f = 0; f < p.n_faces; f++) {
            const int j = p.start(f);
            if (j == p.start(f + 1)) continue;
            const double u = h.ones[f] * scale_of(s[j * L]);
            const double exact = ldexp(K[triangle(i, j) * L], 254 - (s[i * L] >> 7) - (s[j * L] >> 7));
            c += (exact - widen(A[place_of(n, i, j) * L])) * u;
        }
        c /= sum * HALF_UNIT;
        e[i * L] = __half_as_ushort(__float2half_rn(c >= -1.0 && c <= 1.0 ? (float)c : 0.0f));
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

__device__ bool halve_motions(const halves &h, int loose, const double *X, const double *K, uint16_t *cell,
                              int lane) {
    const motions m(h, cell, lane);
    const int dim = h.dim, n_X = h.p.n_faces * h.n_near * dim;
    double G[6][6] = {{0}};
    const bool good = round_matrix(h.p.n, K, (uint16_t *)m.s, (uint16_t *)m.A);
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
                          : halve_constant(h, K, numbers + lane);
    bool used = false;
    for (int f = 0; f < h.p.n_faces; f++) used |= h.p.maps[(batch * h.p.n_faces + f) * L + lane] >= 0;
    if (!good && used) atomicMin(failed, (unsigned long long)batch);
}

} // namespace
} // namespace facet

using namespace facet;

void cell_apply_half_cuda(const struct cell_plan *plan, const float *x, float *y) {
    halves whole = halves_of(plan);
    const size_t bytes = lane_bytes<float>(whole.p.n);
    const int warps = warps_for(bytes);
    const auto kernel = plan->n_near > 0 ? multiply<true> : multiply<false>;
    if (whole.p.n == 0 || !allow_shared(kernel, bytes * warps, "cell_apply_half")) return;
    take_batches(plan, whole.p, y, [&](const product &p, float *to) {
        whole.p = p;
        kernel<<<(unsigned)((p.n_batches + warps - 1) / warps), dim3(L, warps), bytes * warps>>>(whole, x,
                                                                                                 to);
        launched("cell_apply_half");
    });
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

// The vectors of a batch must fit into shared memory. On an H200 single precision is faster up to 40 rows
// (12: 1.5, 24: 1.3 times), from 54 on it is not (1.03 to 1.1 times slower): conversions and loads of 64
// bytes bound these products.
int64_t cell_half_pays_cuda(int64_t n, int64_t n_cells) {
    (void)n_cells;
    return n > 48 && lane_bytes<float>((int)n) <= MOST_SHARED;
}
