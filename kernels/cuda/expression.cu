// Expressions on the GPU: a thread evaluates all nodes of one point, whose rows it shares with its
// neighbours. Compiled with -fmad=false, so that the bits are those of the host.
#include "kernels/cuda/internal.cuh"

#include "kernels/expression_block.h"

namespace {

constexpr int THREADS = 128;

__global__ void evaluate(struct expression_plan plan, int n, const double *x, const double *normals,
                         double *work) {
    const int point = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (point >= n) return;
    const size_t at = (size_t)point * (size_t)plan.dim;
    const struct block block = {&plan, 1, x + at, normals != nullptr ? normals + at : nullptr, work + point};
    evaluate_block(&block);
}

// Point `number` of a tile, and what was computed before on the lines that it lies on.
__device__ void point_of(const struct tile_plan &t, int size, const struct tile_points &points,
                         int64_t number, const struct expression_plan &plan, const struct tile_lines &lines,
                         double *work, double x[3]) {
    const int64_t cell = number / size;
    int at[3], on[3] = {0, 0, 0}, rows[6], i = (int)(number - cell * size);
    tile_at(&t, t.first + cell, at);
    for (int d = 0; d < t.dim; d++) {
        const double *ends = t.ends[d] + at[d];
        const int n = points.n[d];
        on[d] = i % n;
        x[d] = ends[0] + (ends[1] - ends[0]) * points.x[d][on[d]];
        i /= n;
    }
    for (int l = 0; l < lines.n; l++) {
        const double *values = lines.values[l] + tile_line_place(&t, &points, lines.set[l], at, on);
        const int64_t many = tile_line_size(&t, &points, lines.set[l]);
        const int n = tile_line_rows(lines.set[l], plan.order, rows);
        for (int r = 0; r < n; r++)
            work[expression_row(&plan, lines.node[l], rows[r])] = __ldg(values + r * many);
    }
}

// As many threads as a row has numbers, each of which takes one point after the other.
__global__ void evaluate_tile(const __grid_constant__ struct tile_plan t, int size,
                              const __grid_constant__ struct tile_points points,
                              const __grid_constant__ struct expression_plan plan,
                              const __grid_constant__ struct tile_lines lines, enum tile_jet jet, double *out,
                              double *work) {
    const int root = plan.n_nodes - 1;
    const int64_t total = t.count * size, thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= plan.block) return;
    double x[3];
    const struct block block = {&plan, 1, x, nullptr, work + thread};
    for (int64_t number = thread; number < total; number += plan.block) {
        point_of(t, size, points, number, plan, lines, work + thread, x);
        evaluate_block(&block);
        out[number] = *row_of_value(&block, root);
        double laplacian = 0;
        for (int d = 0; d < t.dim; d++) {
            const double *first = jet == TILE_GRADIENTS ? row_of_first(&block, root, d) : nullptr,
                         *second = jet == TILE_LAPLACIANS ? row_of_second(&block, root, d, d) : nullptr;
            if (jet == TILE_GRADIENTS) out[(1 + d) * total + number] = first != nullptr ? *first : 0.0;
            if (second != nullptr) laplacian += *second;
        }
        if (jet == TILE_LAPLACIANS) out[total + number] = laplacian;
    }
}

// A number of a program at points in lanes: as many threads as a row has numbers, each of which takes one
// point of one lane after the other.
__global__ void evaluate_lanes(const __grid_constant__ struct lane_points p, int64_t n_threads,
                               int64_t n_numbers, double *values) {
    constexpr int L = facet::CELL_LANES;
    const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n_threads) return;
    double x[3];
    const struct block block = {&p.plan, 1, x, nullptr, p.work + thread};
    for (int64_t i = thread; i < n_numbers; i += n_threads) {
        const int64_t point = i / L, lane = i % L;
        if (p.regions != nullptr && p.regions[point / p.n * L + lane] != p.region) continue;
        double value = p.constant;
        if (p.plan.n_nodes > 0) {
            for (int a = 0; a < p.dim; a++) x[a] = p.points[(point * p.step + a) * L + lane];
            evaluate_block(&block);
            value = *row_of_value(&block, p.plan.n_nodes - 1);
        }
        values[lane_place(&p, point, lane)] = p.weights != nullptr ? p.weights[i] * value : value;
    }
}

} // namespace

void lane_values_cuda(const struct lane_points *points, int64_t n_batches, double *values) {
    const int64_t all = n_batches * points->n * facet::CELL_LANES;
    const int64_t n = points->plan.n_nodes > 0 && points->plan.block < all ? points->plan.block : all;
    if (all == 0 || !facet::may_launch()) return;
    evaluate_lanes<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS>>>(*points, n, all, values);
    facet::launched("lane_values");
}

void tile_expression_cuda(const struct tile_plan *tile, const struct tile_points *points,
                          const struct expression_plan *plan, const struct tile_lines *lines,
                          enum tile_jet jet, double *out, double *work) {
    int size = 1;
    for (int d = 0; d < tile->dim; d++) size *= points->n[d];
    if (tile->count == 0 || !facet::may_launch()) return;
    evaluate_tile<<<(unsigned)((plan->block + THREADS - 1) / THREADS), THREADS>>>(*tile, size, *points, *plan,
                                                                                  *lines, jet, out, work);
    facet::launched("tile_expression");
}

void expression_cuda(const struct expression_plan *plan, int64_t n, const double *x, const double *normals,
                     double *work) {
    if (n <= 0 || !facet::may_launch()) return;
    evaluate<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS>>>(*plan, (int)n, x, normals, work);
    facet::launched("expression");
}
