// Maps of cells at points, and products of one table with the numbers of all cells.
#include "kernels/cuda/internal.cuh"

using facet::launched;
using facet::may_launch;

namespace {

constexpr int THREADS = 128;
constexpr int L = facet::CELL_LANES;
constexpr int ROWS = 4; // of a table, by one thread

unsigned blocks_of(int64_t threads) {
    return (unsigned)((threads + THREADS - 1) / THREADS);
}

__global__ void apply_table(int64_t n_batches, int rows, int columns, int width, const double *table,
                            const double *in, double *out) {
    const int64_t W = (int64_t)width * L, groups = (rows + ROWS - 1) / ROWS;
    const int64_t number = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t w = number % W, group = number / W % groups, batch = number / W / groups;
    const int r0 = (int)group * ROWS;
    if (batch >= n_batches) return;
    double sum[ROWS] = {0};
    for (int c = 0; c < columns; c++) {
        const double x = in[(batch * columns + c) * W + w];
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (r0 + r < rows) sum[r] += table[(int64_t)c * rows + r0 + r] * x;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (r0 + r < rows) out[(batch * rows + r0 + r) * W + w] = sum[r];
}

// C[c dim + a] = det J d xi_c / d x_a from J[b dim + a] = d x_a / d xi_b, L apart; returns det J.
__device__ double cofactors_of(int dim, const double *J, double *C) {
    if (dim == 2) {
        C[0] = J[3 * L];
        C[1] = -J[2 * L];
        C[2] = -J[L];
        C[3] = J[0];
        return J[0] * C[0] + J[L] * C[1];
    }
#pragma unroll
    for (int c = 0; c < 3; c++)
#pragma unroll
        for (int a = 0; a < 3; a++) {
            const int c1 = (c + 1) % 3 * 3, c2 = (c + 2) % 3 * 3, a1 = (a + 1) % 3, a2 = (a + 2) % 3;
            C[c * 3 + a] = J[(c1 + a1) * L] * J[(c2 + a2) * L] - J[(c1 + a2) * L] * J[(c2 + a1) * L];
        }
    return J[0] * C[0] + J[L] * C[1] + J[2 * L] * C[2];
}

__global__ void metric_of_cells(int64_t n_numbers, int dim, int n, const double *w, const double *points,
                                double *wJ, double *cofactors, unsigned long long *failed) {
    const int64_t number = (int64_t)blockIdx.x * THREADS + threadIdx.x, i = number / L;
    const int lane = (int)(number % L);
    if (number >= n_numbers) return;
    double C[9];
    const double weight = w[i % n],
                 det = cofactors_of(dim, points + (i * (1 + dim) * dim + dim) * L + lane, C);
    wJ[number] = weight * det;
    for (int e = 0; e < dim * dim && cofactors != nullptr; e++)
        cofactors[(i * dim * dim + e) * L + lane] = weight * C[e];
    if (!(det > 0.0)) atomicMin(failed, (unsigned long long)(i / n));
}

__global__ void metric_of_faces(int64_t n_numbers, int dim, int n_faces, int n_face, const double *w,
                                const double *reference, const double *points, double *normals) {
    const int64_t number = (int64_t)blockIdx.x * THREADS + threadIdx.x, i = number / L;
    const int lane = (int)(number % L);
    if (number >= n_numbers) return;
    double C[9];
    const double *normal = reference + i / n_face % n_faces * 3;
    cofactors_of(dim, points + (i * (1 + dim) * dim + dim) * L + lane, C);
    for (int a = 0; a < dim; a++) {
        double sum = 0;
        for (int c = 0; c < dim; c++) sum += C[c * dim + a] * normal[c];
        normals[(i * dim + a) * L + lane] = w[i % n_face] * sum;
    }
}

// A thread has a cell, and goes through its points.
__global__ void squares_of_errors(const __grid_constant__ struct error_points p, int64_t n_batches,
                                  double *errors) {
    const int64_t number = (int64_t)blockIdx.x * THREADS + threadIdx.x, batch = number / L;
    const int lane = (int)(number % L);
    if (batch >= n_batches) return;
    double e[N_ERRORS] = {0};
    for (int q = 0; q < p.n; q++) general_add_errors(&p, batch, q, lane, e, 1);
    for (int i = 0; i < N_ERRORS; i++) errors[(batch * N_ERRORS + i) * L + lane] = e[i];
}

__global__ void weights_of_stars(int64_t n_numbers, int dim, int n, int varying, const double *wJ,
                                 const double *C, const double *K, const double *q, double *flow, double *W) {
    const int64_t number = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (number >= n_numbers) return;
    general_star_weights(L, dim, n, varying, wJ, C, K, q, number / L, (int)(number % L), flow, W);
}

// A block takes a batch, a thread its part of the points of a cell and of its faces.
constexpr int WEIGHERS = 8, MOST_FACES = 6;

struct weighing {
    struct general_sums sums[WEIGHERS][L];
    double areas[WEIGHERS][MOST_FACES][L];
};

__global__ void __launch_bounds__(WEIGHERS *L)
    weigh_cells(const __grid_constant__ struct general_data d, unsigned long long *failed) {
    __shared__ weighing all;
    const int64_t batch = blockIdx.x;
    const int lane = threadIdx.x, part = threadIdx.y;
    struct general_sums sums = {0.0, 0.0, 0.0, 1};
    double K[9];
    if (part >= d.n) general_conductivity_at(&d, batch, lane, 0, K);
    for (int q = part; q < d.n; q += WEIGHERS) general_weigh_point(&d, batch, lane, q, q == part, K, &sums);
    all.sums[part][lane] = sums;
    for (int f = 0; f < d.n_faces; f++) all.areas[part][f][lane] = 0.0;
    for (int q = part; q < d.n_faces * d.n_face; q += WEIGHERS)
        all.areas[part][q / d.n_face][lane] += general_length(&d, batch, lane, q);
    __syncthreads();
    sums = all.sums[0][lane];
    for (int p = 1; p < WEIGHERS; p++) {
        const struct general_sums &other = all.sums[p][lane];
        sums = {sums.volume + other.volume, sums.trace + other.trace, fmax(sums.largest, other.largest),
                sums.fit & other.fit};
    }
    if (d.det != nullptr && d.roots == nullptr)
        for (int q = part; q < d.n_det; q += WEIGHERS) d.det[(batch * d.n_det + q) * L + lane] /= K[0];
    for (int f = 0, q = part; f < d.n_faces; f++) {
        double area = 0.0;
        for (int p = 0; p < WEIGHERS; p++) area += all.areas[p][f][lane];
        const double tau = general_tau(&d, f, sums.volume, sums.trace, area);
        for (; q < (f + 1) * d.n_face; q += WEIGHERS)
            d.taus[(batch * d.n_faces * d.n_face + q) * L + lane] *= tau;
    }
    if (part == 0 && !general_weigh_rest(&d, batch, lane, K, &sums))
        atomicMin(failed, (unsigned long long)batch);
}

__global__ void weigh_bodies(const __grid_constant__ struct elastic_data d, int64_t n_cells,
                             unsigned long long *failed) {
    const int64_t cell = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (cell >= n_cells) return;
    if (!elastic_weights_of(&d, cell / L, (int)(cell % L))) atomicMin(failed, (unsigned long long)(cell / L));
}

__global__ void evaluate_physical(const __grid_constant__ struct physical_points p, int64_t n_numbers) {
    const int64_t number = (int64_t)blockIdx.x * THREADS + threadIdx.x, point = number / L;
    if (number >= n_numbers) return;
    physical_functions_at(&p, point / p.n, (int)(point % p.n), (int)(number % L));
}

__global__ void find_balance(const __grid_constant__ struct cell_balance b, int64_t n_cells,
                             double *balance) {
    const int64_t cell = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (cell < n_cells) cell_balance_all(&b, cell / L, (int)(cell % L), balance);
}

} // namespace

int64_t general_weights_cuda(const struct general_data *data, int64_t n_batches) {
    if (n_batches == 0 || !may_launch()) return -1;
    unsigned long long *failed = facet::first_failure();
    if (failed == nullptr) return -1;
    weigh_cells<<<(unsigned)n_batches, dim3(L, WEIGHERS)>>>(*data, failed);
    launched("general_weights");
    return facet::failure_found(failed);
}

int64_t elastic_weights_cuda(const struct elastic_data *data, int64_t n_batches) {
    if (n_batches == 0 || !may_launch()) return -1;
    unsigned long long *failed = facet::first_failure();
    if (failed == nullptr) return -1;
    weigh_bodies<<<blocks_of(n_batches * L), THREADS>>>(*data, n_batches * L, failed);
    launched("elastic_weights");
    return facet::failure_found(failed);
}

void physical_functions_cuda(const struct physical_points *points, int64_t n_batches) {
    const int64_t n = n_batches * points->n * L;
    if (n == 0 || !may_launch()) return;
    evaluate_physical<<<blocks_of(n), THREADS>>>(*points, n);
    launched("physical_functions");
}

void cell_balance_cuda(const struct cell_balance *cells, int64_t n_batches, double *balance) {
    if (n_batches == 0 || !may_launch()) return;
    find_balance<<<blocks_of(n_batches * L), THREADS>>>(*cells, n_batches * L, balance);
    launched("cell_balance");
}

void star_weights_cuda(int lanes, int64_t n_batches, int dim, int n, int varying, const double *wJ,
                       const double *C, const double *K, const double *q, double *flow, double *W) {
    (void)lanes;
    const int64_t threads = n_batches * n * L;
    if (threads == 0 || !may_launch()) return;
    weights_of_stars<<<blocks_of(threads), THREADS>>>(threads, dim, n, varying, wJ, C, K, q, flow, W);
    launched("star_weights");
}

void error_squares_cuda(const struct error_points *points, int64_t n_batches, double *errors) {
    if (n_batches == 0 || !may_launch()) return;
    squares_of_errors<<<blocks_of(n_batches * L), THREADS>>>(*points, n_batches, errors);
    launched("error_squares");
}

void table_apply_cuda(int lanes, int64_t n_batches, int rows, int columns, int width, const double *table,
                      const double *in, double *out) {
    (void)lanes;
    const int64_t threads = n_batches * ((rows + ROWS - 1) / ROWS) * width * L;
    if (threads == 0 || !may_launch()) return;
    apply_table<<<blocks_of(threads), THREADS>>>(n_batches, rows, columns, width, table, in, out);
    launched("table_apply");
}

int64_t cell_metric_cuda(int lanes, int64_t n_batches, int dim, int n, const double *w, const double *points,
                         double *wJ, double *cofactors) {
    (void)lanes;
    const int64_t threads = n_batches * n * L;
    if (threads == 0 || !may_launch()) return -1;
    unsigned long long *failed = facet::first_failure();
    if (failed == nullptr) return -1;
    metric_of_cells<<<blocks_of(threads), THREADS>>>(threads, dim, n, w, points, wJ, cofactors, failed);
    launched("cell_metric");
    return facet::failure_found(failed);
}

void face_metric_cuda(int lanes, int64_t n_batches, int dim, int n_faces, int n_face, const double *w,
                      const double *reference, const double *points, double *normals) {
    (void)lanes;
    const int64_t threads = n_batches * n_faces * n_face * L;
    if (threads == 0 || !may_launch()) return;
    metric_of_faces<<<blocks_of(threads), THREADS>>>(threads, dim, n_faces, n_face, w, reference, points,
                                                     normals);
    launched("face_metric");
}
