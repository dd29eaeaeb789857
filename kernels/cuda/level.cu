// What levels on the trace are made of, and what goes between cells and faces: each number is read once or
// twice, so the floor of all but the inverses is bytes over the bandwidth of the memory.
#include "kernels/cuda/lanes.cuh"
#include "kernels/summary.h"

namespace facet {
namespace {

constexpr int THREADS = 128;

// Entry (i, j) of a triangle, or the other one.
__device__ __forceinline__ int64_t entry(int i, int j) {
    return i >= j ? row_of(i) + j : row_of(j) + i;
}

// Blocks of one size in shared memory, `together` of them, side by side in lanes: a thread has some rows of
// one; Gauss-Jordan as in ref. Threads of a block of the grid.
constexpr int ROOMY = 512;
__global__ void __launch_bounds__(ROOMY)
    invert_blocks(int64_t n_blocks, int m, int together, double *matrices, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    const int mine = threadIdx.x % together, worker = threadIdx.x / together, workers = ROOMY / together;
    const int64_t first = (int64_t)blockIdx.x * together, b = first + mine, size = row_of(m);
    double *from = matrices + first / L * size * L + first % L + mine, *B = room + mine,
           *row = B + size * together;
    for (int64_t e = worker; e < size; e += workers) B[e * together] = from[e * L];
    __syncthreads();
    for (int k = 0; k < m; k++) {
        for (int j = worker; j < m; j += workers) row[j * together] = B[entry(k, j) * together];
        __syncthreads();
        const double pivot = row[k * together], inverse = 1.0 / pivot;
        if (!(pivot > 0.0) && worker == 0 && b < n_blocks) atomicMin(failed, (unsigned long long)b);
        for (int i = worker; i < m; i += workers) {
            double *to = B + row_of(i) * together;
            const double factor = i == k ? inverse : row[i * together] * inverse;
            for (int j = 0; j < i; j++)
                if (i == k)
                    to[j * together] = factor * row[j * together];
                else
                    to[j * together] = j == k ? factor : to[j * together] - factor * row[j * together];
            to[i * together] = i == k ? -inverse : to[i * together] - factor * row[i * together];
        }
        __syncthreads();
    }
    for (int64_t e = worker; e < size && b < n_blocks; e += workers) from[e * L] = -B[e * together];
}

// How many: as fit, a power of two; 0: not one.
int blocks_together(int m) {
    const size_t bytes = ((size_t)m * (m + 1) / 2 + m) * sizeof(double);
    int together = L;
    while (together > 0 && together * bytes > MOST_SHARED) together /= 2;
    return together;
}

// A thread has a block that does not fit, in the memory.
__global__ void invert_large(int64_t n_blocks, int m, double *matrices, unsigned long long *failed) {
    const int64_t b = number_of_thread();
    if (b >= n_blocks) return;
    double *B = matrices + b / L * row_of(m) * L + b % L;
    for (int k = 0; k < m; k++) {
        const double pivot = B[entry(k, k) * L], inverse = 1.0 / pivot;
        if (!(pivot > 0.0)) {
            atomicMin(failed, (unsigned long long)b);
            return;
        }
        for (int i = 0; i < m; i++) {
            if (i == k) continue;
            const double factor = B[entry(i, k) * L] * inverse;
            for (int j = 0; j <= i; j++)
                if (j != k) B[entry(i, j) * L] -= factor * B[entry(k, j) * L];
        }
        for (int i = 0; i < m; i++)
            if (i != k) B[entry(i, k) * L] *= inverse;
        B[entry(k, k) * L] = -inverse;
    }
    for (int64_t e = 0; e < row_of(m); e++) B[e * L] = -B[e * L];
}

// The same with the block in registers.
template <int M>
__global__ void __launch_bounds__(THREADS)
    invert_small(int64_t n_blocks, double *matrices, unsigned long long *failed) {
    const int64_t b = number_of_thread();
    if (b >= n_blocks) return;
    double *at = matrices + b / L * row_of(M) * L + b % L, B[M][M];
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j <= i; j++) B[i][j] = at[(i * (i + 1) / 2 + j) * L];
    bool positive = true;
#pragma unroll
    for (int k = 0; k < M; k++) {
        const double pivot = B[k][k], inverse = 1.0 / pivot;
        positive = positive && pivot > 0.0;
#pragma unroll
        for (int i = 0; i < M; i++) {
            if (i == k) continue;
            const double factor = (i > k ? B[i][k] : B[k][i]) * inverse;
#pragma unroll
            for (int j = 0; j <= i; j++)
                if (j != k) B[i][j] -= factor * (k > j ? B[k][j] : B[j][k]);
        }
#pragma unroll
        for (int i = 0; i < M; i++) {
            if (i < k) B[k][i] *= inverse;
            if (i > k) B[i][k] *= inverse;
        }
        B[k][k] = -inverse;
    }
    if (!positive) atomicMin(failed, (unsigned long long)b);
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j <= i; j++) at[(i * (i + 1) / 2 + j) * L] = -B[i][j];
}

template <int M> void launch_small(int64_t n_blocks, double *matrices, unsigned long long *failed) {
    invert_small<M><<<blocks_of(n_blocks, THREADS), THREADS>>>(n_blocks, matrices, failed);
}

void launch_large(int64_t n_blocks, int m, double *matrices, unsigned long long *failed) {
    const int together = blocks_together(m);
    const size_t bytes = together * ((size_t)m * (m + 1) / 2 + m) * sizeof(double);
    if (together == 0)
        invert_large<<<blocks_of(n_blocks, THREADS), THREADS>>>(n_blocks, m, matrices, failed);
    else if (allow_shared(invert_blocks, bytes, "lane_invert"))
        invert_blocks<<<(unsigned)((n_blocks + together - 1) / together), ROOMY, bytes>>>(
            n_blocks, m, together, matrices, failed);
}

// A thread has a row of a block of a face: a warp the same row of 32 faces.
__global__ void add_blocks(int64_t n_blocks, int n_faces, int m, const int64_t *__restrict__ sides,
                           const double *__restrict__ matrices, double *blocks) {
    const int64_t number = number_of_thread(), batch = number / L / m, b = batch * L + number % L;
    const int i = (int)(number / L % m);
    if (b >= n_blocks) return;
    double *B = blocks + (batch * row_of(m) + row_of(i)) * L + number % L;
    for (int s = 0; s < 2; s++) {
        const int64_t side = sides[2 * b + s];
        if (side < 0) continue;
        const int64_t cell = side / n_faces;
        const int first = (int)(side % n_faces) * m;
        const double *K =
            matrices + (cell / L * row_of(n_faces * m) + row_of(first + i) + first) * L + cell % L;
        for (int j = 0; j <= i; j++) B[j * L] += K[j * L];
    }
}

__global__ void add_sums(int64_t n, int n_faces, int m, const int64_t *__restrict__ sides,
                         const double *__restrict__ locals, double *y) {
    const int64_t number = number_of_thread(), b = number / m;
    if (number >= n) return;
    double sum = y[number];
    for (int s = 0; s < 2; s++) {
        const int64_t side = sides[2 * b + s];
        if (side < 0) continue;
        const int64_t cell = side / n_faces;
        sum += locals[(cell / L * n_faces * m + side % n_faces * m + number % m) * L + cell % L];
    }
    y[number] = sum;
}

// A thread has a number of a face of a cell: a warp the same one of 32 cells.
__global__ void gather_traces(int64_t n, int m, const int64_t *__restrict__ maps,
                              const double *__restrict__ x, double *locals) {
    const int64_t number = number_of_thread(), row = number / L;
    if (number >= n) return;
    const int64_t first = maps[row / m * L + number % L];
    locals[number] = first >= 0 ? x[first + row % m] : 0.0;
}

__global__ void lower_matrices(int64_t n, int n_parts, int from, int to, const double *__restrict__ matrices,
                               double *lower) {
    const int64_t number = number_of_thread(), q = n_parts * to, batch = number / L / q;
    if (number >= n) return;
    const int i = (int)(number / L % q), row = i / to * from + i % to;
    const double *K = matrices + (batch * row_of(n_parts * from) + row_of(row)) * L + number % L;
    double *at = lower + (batch * row_of((int)q) + row_of(i)) * L + number % L;
    for (int j = 0; j <= i; j++) at[j * L] = K[(j / to * from + j % to) * L];
}

__global__ void summarize(int64_t n_batches, int n_faces, int n_components, int n,
                          const double *__restrict__ matrices, double *summary) {
    const int64_t number = number_of_thread(), batch = number / L;
    if (batch >= n_batches) return;
    const double *K = matrices + batch * row_of(n) * L + number % L;
    double *s = summary + batch * (3 + n_faces) * L + number % L, least = INFINITY, most = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        const double e = K[(row_of(i) + i) * L];
        least = fmin(least, e);
        most = fmax(most, e);
        sum += e;
    }
    s[0] = least;
    s[L] = most;
    s[2 * L] = sum / n;
    for (int f = 0, m = n / n_faces; f < n_faces; f++)
        s[(3 + f) * L] = summary_constants(K, L, f * m, m / n_components, n_components);
}

__global__ void extract(int64_t n, const int64_t *__restrict__ cells, int64_t size,
                        const double *__restrict__ from, double *to) {
    const int64_t number = number_of_thread();
    if (number >= n * size) return;
    const int64_t cell = cells[number / size];
    to[number] = from[(cell / L * size + number % size) * L + cell % L];
}

// A thread has a number of the coarse vector.
template <typename R>
__global__ void copy_parts(int64_t n, unsigned low, unsigned n_from, const R *__restrict__ from, R b,
                           unsigned n_to, R *to) {
    const int64_t number = number_of_thread(), part = number / low, i = number % low;
    if (number >= n) return;
    const R x = from[part * n_from + i];
    to[part * n_to + i] = b == 0 ? x : x + b * to[part * n_to + i];
}

// Up to 3 x 3 numbers, passed by value.
struct hat_matrix {
    double of[9];
};
hat_matrix hats_of(int dim, const double *hats) {
    hat_matrix h = {};
    for (int i = 0; i < dim * dim; i++) h.of[i] = hats[i];
    return h;
}

// A thread has a number of a face.
template <typename R, int DIM>
__global__ void prolong_corners(int64_t n, const int32_t *__restrict__ corners,
                                const __grid_constant__ hat_matrix hats, const R *__restrict__ coarse,
                                R *fine) {
    const int64_t number = number_of_thread(), face = number / DIM;
    const int i = (int)(number % DIM);
    if (number >= n) return;
    R sum = 0;
#pragma unroll
    for (int j = 0; j < DIM; j++) {
        const int32_t v = corners[face * DIM + j];
        if (v >= 0) sum += (R)hats.of[i * DIM + j] * coarse[v];
    }
    fine[number] += sum;
}

// Eight threads have a vertex: it has some 70 faces in three dimensions.
constexpr int SHARE = 8;
template <typename R, int DIM>
__global__ void restrict_corners(int64_t n_vertices, const int64_t *__restrict__ starts,
                                 const int32_t *__restrict__ places, const __grid_constant__ hat_matrix hats,
                                 const R *__restrict__ fine, R *coarse) {
    const int64_t v = number_of_thread() / SHARE;
    const int share = (int)(number_of_thread() % SHARE);
    R sum = 0;
    if (v < n_vertices)
        for (int64_t k = starts[v] + share; k < starts[v + 1]; k += SHARE) {
            const int32_t place = places[k];
            const R *at = fine + (int64_t)(place / DIM) * DIM;
            const int j = place % DIM;
#pragma unroll
            for (int i = 0; i < DIM; i++) sum += (R)hats.of[i * DIM + j] * at[i];
        }
    for (int far = SHARE / 2; far > 0; far /= 2) sum += __shfl_down_sync(0xffffffffu, sum, far, SHARE);
    if (v < n_vertices && share == 0) coarse[v] = sum;
}

template <typename R>
void prolong_from_corners(int64_t n_faces, int dim, const int32_t *corners, const double *hats,
                          const R *coarse, R *fine) {
    const int64_t n = n_faces * dim;
    if (n == 0 || !may_launch()) return;
    (dim == 2 ? prolong_corners<R, 2> : prolong_corners<R, 3>)<<<blocks_of(n, THREADS), THREADS>>>(
        n, corners, hats_of(dim, hats), coarse, fine);
    launched("corner_prolong");
}

template <typename R>
void restrict_to_corners(int64_t n_vertices, int dim, const int64_t *starts, const int32_t *places,
                         const double *hats, const R *fine, R *coarse) {
    if (n_vertices == 0 || !may_launch()) return;
    (dim == 2 ? restrict_corners<R, 2>
              : restrict_corners<R, 3>)<<<blocks_of(n_vertices * SHARE, THREADS), THREADS>>>(
        n_vertices, starts, places, hats_of(dim, hats), fine, coarse);
    launched("corner_restrict");
}

// A thread has two components of a cell. K P is made row by row, so that an entry of K is read twice.
template <int DIM>
__global__ void corner_matrices(int64_t n_cells, int nc, int m, const uint8_t *__restrict__ orientations,
                                const double *__restrict__ hats, const double *__restrict__ matrices,
                                double *corners) {
    constexpr int C = DIM + 1;
    const int64_t number = number_of_thread(), cell = number / L / (nc * nc) * L + number % L,
                  batch = cell / L, lane = cell % L;
    const int c = (int)(number / L % (nc * nc)) / nc, d = (int)(number / L % nc);
    if (cell >= n_cells) return;
    const double *K = matrices + batch * row_of(C * nc * m) * L + lane, *P[C];
    double sums[C * (C + 1) / 2] = {};
#pragma unroll
    for (int f = 0; f < C; f++) P[f] = hats + (f * 8 + orientations[(batch * C + f) * L + lane]) * DIM * C;
#pragma unroll
    for (int f = 0; f < C; f++)
        for (int i = 0; i < DIM; i++) {
            double row[C] = {};
#pragma unroll
            for (int g = 0; g < C; g++)
                for (int j = 0; j < DIM; j++) {
                    const double e = K[entry((f * nc + c) * m + i, (g * nc + d) * m + j) * L];
#pragma unroll
                    for (int b = 0; b < C; b++) row[b] += e * P[g][j * C + b];
                }
#pragma unroll
            for (int a = 0, at = 0; a < C; a++)
#pragma unroll
                for (int b = 0; b <= a; b++, at++) sums[at] += P[f][i * C + a] * row[b];
        }
    double *to = corners + batch * row_of(C * nc) * L + lane;
#pragma unroll
    for (int a = 0, at = 0; a < C; a++)
#pragma unroll
        for (int b = 0; b <= a; b++, at++)
            if (a > b || c >= d) to[entry(a * nc + c, b * nc + d) * L] = sums[at];
}

template <typename R>
void copy_all_parts(int64_t n_parts, int n_from, const R *from, double b, int n_to, R *to) {
    const int low = n_from < n_to ? n_from : n_to;
    const int64_t n = n_parts * low;
    if (n == 0 || !may_launch()) return;
    copy_parts<R><<<blocks_of(n, THREADS), THREADS>>>(n, (unsigned)low, (unsigned)n_from, from, (R)b,
                                                      (unsigned)n_to, to);
    launched("part_copy");
}

} // namespace
} // namespace facet

using namespace facet;

#define PART_KERNELS(REAL, NAME)                                                                             \
    void NAME(part_copy)(int64_t n_parts, int n_from, const REAL *from, double b, int n_to, REAL *to) {      \
        copy_all_parts(n_parts, n_from, from, b, n_to, to);                                                  \
    }                                                                                                        \
    void NAME(corner_prolong)(int64_t n_faces, int dim, const int32_t *corners, const double *hats,          \
                              const REAL *coarse, REAL *fine) {                                              \
        prolong_from_corners(n_faces, dim, corners, hats, coarse, fine);                                     \
    }                                                                                                        \
    void NAME(corner_restrict)(int64_t n_vertices, int dim, const int64_t *starts, const int32_t *places,    \
                               const double *hats, const REAL *fine, REAL *coarse) {                         \
        restrict_to_corners(n_vertices, dim, starts, places, hats, fine, coarse);                            \
    }
PART_KERNELS(double, DOUBLE_NAME)
PART_KERNELS(float, SINGLE_NAME)

int64_t lane_invert_cuda(int lanes, int64_t n_blocks, int m, double *matrices) {
    (void)lanes;
    if (n_blocks == 0 || m == 0 || !may_launch()) return -1;
    unsigned long long *failed = first_failure();
    if (failed == nullptr) return -1;
    // Faces of triangles and quads, of tets and of hexes of low degree, one function or displacements.
    if (!with_constant<1, 2, 3, 4, 6, 8, 9, 10>(
            m, [&](auto rows) { launch_small<decltype(rows)::value>(n_blocks, matrices, failed); }))
        launch_large(n_blocks, m, matrices, failed);
    launched("lane_invert");
    return failure_found(failed);
}

void face_blocks_cuda(int lanes, int64_t n_blocks, int n_faces, int m, const int64_t *sides,
                      const double *matrices, double *blocks) {
    const int64_t threads = (n_blocks + L - 1) / L * L * m;
    (void)lanes;
    if (threads == 0 || !may_launch()) return;
    add_blocks<<<blocks_of(threads, THREADS), THREADS>>>(n_blocks, n_faces, m, sides, matrices, blocks);
    launched("face_blocks");
}

void face_sums_cuda(int lanes, int64_t n_blocks, int n_faces, int m, const int64_t *sides,
                    const double *locals, double *y) {
    (void)lanes;
    if (n_blocks * m == 0 || !may_launch()) return;
    add_sums<<<blocks_of(n_blocks * m, THREADS), THREADS>>>(n_blocks * m, n_faces, m, sides, locals, y);
    launched("face_sums");
}

void cell_gather_cuda(int lanes, int64_t n_batches, int n_faces, int m, const int64_t *maps, const double *x,
                      double *locals) {
    const int64_t n = n_batches * n_faces * m * L;
    (void)lanes;
    if (n == 0 || !may_launch()) return;
    gather_traces<<<blocks_of(n, THREADS), THREADS>>>(n, m, maps, x, locals);
    launched("cell_gather");
}

void cell_lower_cuda(int lanes, int64_t n_batches, int n_parts, int from, int to, const double *matrices,
                     double *lower) {
    const int64_t n = n_batches * n_parts * to * L;
    (void)lanes;
    if (n == 0 || !may_launch()) return;
    lower_matrices<<<blocks_of(n, THREADS), THREADS>>>(n, n_parts, from, to, matrices, lower);
    launched("cell_lower");
}

void cell_corners_cuda(int lanes, int64_t n_batches, int dim, int n_components, int m,
                       const uint8_t *orientations, const double *hats, const double *matrices,
                       double *corners) {
    const int64_t threads = n_batches * L * n_components * n_components;
    (void)lanes;
    if (n_batches == 0 || !may_launch()) return;
    (dim == 2 ? corner_matrices<2> : corner_matrices<3>)<<<blocks_of(threads, THREADS), THREADS>>>(
        n_batches * L, n_components, m, orientations, hats, matrices, corners);
    launched("cell_corners");
}

void cell_summary_cuda(int lanes, int64_t n_batches, int n_faces, int n_components, int n,
                       const double *matrices, double *summary) {
    (void)lanes;
    if (n_batches == 0 || n_faces == 0 || n == 0 || !may_launch()) return;
    summarize<<<blocks_of(n_batches * L, THREADS), THREADS>>>(n_batches, n_faces, n_components, n, matrices,
                                                              summary);
    launched("cell_summary");
}

void cell_extract_cuda(int lanes, int64_t n, const int64_t *cells, int64_t size, const double *from,
                       double *to) {
    (void)lanes;
    if (n * size == 0 || !may_launch()) return;
    extract<<<blocks_of(n * size, THREADS), THREADS>>>(n, cells, size, from, to);
    launched("cell_extract");
}
