// Blocks of faces, rows of unknowns and patches of faces: what smoothers over the trace are made of.
#include "kernels/cuda/lanes.cuh"

namespace facet {
namespace {

constexpr int THREADS = 128;
constexpr int TEAM = 8; // threads of a block of unknowns, whatever its size

// A step of a smoother: see kernels.def.
template <typename R> struct smooth {
    R a, b, c;
    const R *f, *t;
    R *r, *d, *x;
};

template <typename R> __device__ __forceinline__ void update(const smooth<R> &s, int64_t at, R sum) {
    const R d = s.b == 0 ? s.a * sum : s.a * sum + s.b * s.d[at];
    s.d[at] = d;
    if (s.x != nullptr) s.x[at] = s.c == 0 ? d : s.c * s.x[at] + d;
}

// A team takes a block; r is written before it is read by the others of the team.
template <typename R>
__global__ void smooth_blocks(int64_t n_blocks, const int64_t *first, const int64_t *starts,
                              const R *__restrict__ matrices, const smooth<R> s) {
    const int64_t block = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / TEAM;
    const int lane = threadIdx.x % TEAM;
    const bool there = block < n_blocks;
    const int64_t begin = there ? first[block] : 0, n = there ? first[block + 1] - begin : 0;
    const R *B = there ? matrices + starts[block] : nullptr;
    for (int64_t i = lane; i < n && s.r != nullptr; i += TEAM)
        s.r[begin + i] = s.t != nullptr ? s.f[begin + i] - s.t[begin + i] : s.f[begin + i];
    __syncwarp();
    const R *r = s.r != nullptr ? s.r : s.f;
    for (int64_t i = lane; i < n; i += TEAM) {
        R sum = 0;
        for (int64_t j = 0; j < n; j++) sum += B[j * n + i] * r[begin + j];
        update(s, begin + i, sum);
    }
}

// Few blocks, which may be large: rows are shared out among many threads, a group of 32 rows to 8 slices of
// columns. SLICES x 32 threads; r has been made before.
constexpr int SLICES = 8, SPREAD = 16, FEW_BLOCKS = 1024;

template <typename R> __global__ void residual_blocks(const int64_t *first, const smooth<R> s) {
    const int64_t end = first[blockIdx.x + 1];
    for (int64_t i = first[blockIdx.x] + blockIdx.y * blockDim.x + threadIdx.x; i < end;
         i += gridDim.y * blockDim.x)
        s.r[i] = s.t != nullptr ? s.f[i] - s.t[i] : s.f[i];
}

template <typename R>
__global__ void smooth_wide(const int64_t *first, const int64_t *starts, const R *__restrict__ matrices,
                            const smooth<R> s) {
    __shared__ R part[SLICES][33];
    const int64_t begin = first[blockIdx.x], n = first[blockIdx.x + 1] - begin;
    const R *B = matrices + starts[blockIdx.x], *r = (s.r != nullptr ? s.r : s.f) + begin;
    for (int64_t i0 = 32 * (int64_t)blockIdx.y; i0 < n; i0 += 32 * SPREAD) {
        const int64_t i = i0 + threadIdx.x;
        R sum = 0;
        for (int64_t j = threadIdx.y; j < n && i < n; j += SLICES) sum += B[j * n + i] * r[j];
        part[threadIdx.y][threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.y == 0 && i < n) {
            for (int k = 1; k < SLICES; k++) sum += part[k][threadIdx.x];
            update(s, begin + i, sum);
        }
        __syncthreads();
    }
}

// Blocks of one size in lanes, a warp for a batch: vectors are read and written as they lie in memory.
template <typename R>
__global__ void __launch_bounds__(128)
    smooth_lanes(int64_t n_blocks, int m, const R *__restrict__ matrices, const smooth<R> s) {
    extern __shared__ __align__(16) unsigned char room[];
    const int lane = threadIdx.x;
    R *in = (R *)room + 2 * threadIdx.y * m * PITCH, *out = in + m * PITCH;
    const int64_t batch = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    const int64_t first = batch * L * m, n = n_blocks * m;
    if (batch * L >= n_blocks) return;
    walk at(m, lane);
    for (int step = 0; step < m; step++, at.next()) {
        const int64_t i = first + step * L + lane;
        R r = 0;
        if (i < n) {
            r = s.t != nullptr ? s.f[i] - s.t[i] : s.f[i];
            if (s.r != nullptr) s.r[i] = r;
        }
        in[at.i * PITCH + at.block] = r;
    }
    __syncwarp();
    symmetric_product<ROWS_OF<R>>(m, matrices + batch * row_of(m) * L + lane, in + lane, out + lane);
    __syncwarp();
    at = walk(m, lane);
    for (int step = 0; step < m; step++, at.next()) {
        const int64_t i = first + step * L + lane;
        if (i < n) update(s, i, out[at.i * PITCH + at.block]);
    }
}

// Blocks whose vectors do not fit: a warp for a batch, a thread for a block, each entry read twice.
template <typename R>
__global__ void smooth_large(int64_t n_blocks, int m, const R *__restrict__ matrices, const smooth<R> s) {
    const int64_t block = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, first = block * m;
    if (block >= n_blocks) return;
    const R *B = matrices + block / L * row_of(m) * L + block % L;
    for (int i = 0; i < m; i++) {
        R sum = 0;
        for (int j = 0; j < m; j++) {
            const R r = s.t != nullptr ? s.f[first + j] - s.t[first + j] : s.f[first + j];
            sum += B[(i > j ? row_of(i) + j : row_of(j) + i) * L] * r;
        }
        update(s, first + i, sum);
    }
    for (int i = 0; i < m && s.r != nullptr; i++)
        s.r[first + i] = s.t != nullptr ? s.f[first + i] - s.t[first + i] : s.f[first + i];
}

template <typename R> void smooth_all(int64_t n_blocks, int m, const R *matrices, const smooth<R> &s) {
    const size_t bytes = lane_bytes<R>(m);
    const int warps = warps_for(bytes);
    const int64_t batches = (n_blocks + L - 1) / L;
    if (n_blocks == 0 || m == 0 || !may_launch()) return;
    if (bytes * warps > MOST_SHARED) {
        smooth_large<R><<<blocks_of(n_blocks, THREADS), THREADS>>>(n_blocks, m, matrices, s);
        launched("lane_smooth");
        return;
    }
    if (!allow_shared(smooth_lanes<R>, bytes * warps, "lane_smooth")) return;
    smooth_lanes<R><<<blocks_of(batches, warps), dim3(L, warps), bytes * warps>>>(n_blocks, m, matrices, s);
    launched("lane_smooth");
}

// A thread for a row, whose steps are L apart.
template <typename R> __global__ void solve_rows(const struct row_plan p, const R *x, R *y) {
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= p.n_groups * L) return;
    const int64_t begin = p.starts[row / L] * L + row % L, end = p.starts[row / L + 1] * L + row % L;
    double last = 0;
    for (int64_t i = begin; i < end; i += L) {
        const int64_t unknown = p.unknowns[i];
        last = (unknown >= 0 ? (double)x[unknown] : 0.0) - (i > begin ? p.below[i] * last : 0.0);
        p.z[i] = last;
    }
    for (int64_t i = end - L; i >= begin; i -= L) {
        double z = p.z[i] * p.inverse[i];
        if (i + L < end) z -= p.below[i + L] * last;
        last = z;
        const int64_t unknown = p.unknowns[i];
        if (unknown >= 0) y[unknown] += (R)z;
    }
}

template <typename R> void solve_all_rows(const struct row_plan *plan, const R *x, R *y) {
    if (plan->n_groups == 0 || !may_launch()) return;
    solve_rows<R><<<blocks_of(plan->n_groups * L, THREADS), THREADS>>>(*plan, x, y);
    launched("row_solve");
}

template <typename R>
void smooth_any(int64_t n_blocks, const int64_t *first, const int64_t *starts, const R *matrices,
                const smooth<R> &s) {
    if (n_blocks == 0 || !may_launch()) return;
    if (n_blocks <= FEW_BLOCKS) {
        const dim3 grid((unsigned)n_blocks, SPREAD);
        if (s.r != nullptr) residual_blocks<R><<<grid, 32>>>(first, s);
        smooth_wide<R><<<grid, dim3(32, SLICES)>>>(first, starts, matrices, s);
        launched("block_smooth");
        return;
    }
    smooth_blocks<R><<<blocks_of(n_blocks * TEAM, THREADS), THREADS>>>(n_blocks, first, starts, matrices, s);
    launched("block_smooth");
}

} // namespace
} // namespace facet

using namespace facet;

#define BLOCK_KERNELS(REAL, NAME)                                                                            \
    void NAME(block_smooth)(int64_t n_blocks, const int64_t *first, const int64_t *starts,                   \
                            const REAL *matrices, double a, double b, double c, const REAL *f,               \
                            const REAL *t, REAL *r, REAL *d, REAL *x) {                                      \
        smooth_any(n_blocks, first, starts, matrices,                                                        \
                   smooth<REAL>{(REAL)a, (REAL)b, (REAL)c, f, t, r, d, x});                                  \
    }                                                                                                        \
    void NAME(lane_smooth)(int lanes, int64_t n_blocks, int m, const REAL *matrices, double a, double b,     \
                           double c, const REAL *f, const REAL *t, REAL *r, REAL *d, REAL *x) {              \
        (void)lanes;                                                                                         \
        smooth_all(n_blocks, m, matrices, smooth<REAL>{(REAL)a, (REAL)b, (REAL)c, f, t, r, d, x});           \
    }                                                                                                        \
    void NAME(row_solve)(const struct row_plan *plan, const REAL *x, REAL *y) {                              \
        solve_all_rows(plan, x, y);                                                                          \
    }
BLOCK_KERNELS(double, DOUBLE_NAME)
BLOCK_KERNELS(float, SINGLE_NAME)
