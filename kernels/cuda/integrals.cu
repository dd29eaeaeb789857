// See integrals.cuh. A warp has 32 entries of 32 cells: 4 x 4 tiles, whose factors come from the caches.
#include "kernels/cuda/integrals.cuh"

namespace facet {
namespace {

constexpr int WARPS = 4, TILES = 4;

// Row i and column j of an entry.
__device__ __forceinline__ void place_of(const struct integral &a, int entry, int *i, int *j) {
    if (!a.triangle) {
        *i = entry / a.columns;
        *j = entry - *i * a.columns;
        return;
    }
    const int n = a.rows, twice = 2 * n + 1; // row i begins at i (2 n + 1 - i) / 2
    int row = (int)((twice - sqrtf((float)twice * twice - 8.0f * entry)) * 0.5f);
    row = row < 0 ? 0 : row > n - 1 ? n - 1 : row;
    while (row > 0 && row * (twice - row) / 2 > entry) row--;
    while ((row + 1) * (twice - row - 1) / 2 <= entry) row++;
    *i = row;
    *j = row + entry - row * (twice - row) / 2;
}

// The weight of lane at point q.
__device__ __forceinline__ double weight_of(const struct integral_part &p, int64_t batch, int q, int lane) {
    const double *in = p.in + batch * p.batch + (int64_t)q * p.step + lane;
    if (p.mix == nullptr) return *in;
    double sum = 0.0;
    for (int a = 0; a < p.n_mix; a++)
        sum += p.mix[batch * p.mix_batch + a * p.mix_step + lane] * in[(int64_t)a * L];
    return sum;
}

__global__ void __launch_bounds__(32 * WARPS)
    integrate_cells(const __grid_constant__ struct integrals list, int64_t first, int64_t size, double *out) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int group = (int)blockIdx.y * WARPS + threadIdx.x / 32;
    const int64_t here = blockIdx.x, batch = first + here;
    if (group >= list.n_groups) return;
    int number = 0;
    while (number + 1 < list.n && list.of[number + 1].first_group <= group) number++;
    const struct integral &a = list.of[number];
    const int begin = (group - a.first_group) * INTEGRAL_GROUP, n_entries = integral_entries(a);
    int left[TILES], right[TILES];
    double sum[TILES][TILES][2] = {};
#pragma unroll
    for (int e = 0; e < TILES; e++) { // those beyond the last are computed like the last, and not written
        const int entry = begin + 8 * e + g < n_entries ? begin + 8 * e + g : n_entries - 1;
        place_of(a, entry, &left[e], &right[e]);
    }
    for (int part = a.first_part; part < a.first_part + a.n_parts; part++) {
        const struct integral_part &p = list.parts[part];
        const bool alone = p.right == nullptr;
        const int last = p.n - 1;
#pragma unroll 2
        for (int q0 = 0; q0 < p.n; q0 += 4) {
            const int q = q0 + t < p.n ? q0 + t : last;
            double w[TILES], f[TILES];
#pragma unroll
            for (int m = 0; m < TILES; m++) {
                const double x = weight_of(p, batch, q, 8 * m + g);
                w[m] = q0 + t < p.n ? x : 0.0;
            }
#pragma unroll
            for (int e = 0; e < TILES; e++) {
                const int i = alone ? left[e] * a.columns + right[e] : left[e];
                const double x = __ldg(p.left + (int64_t)q * p.ld_left + i);
                f[e] = alone ? x : x * __ldg(p.right + (int64_t)q * p.ld_right + right[e]);
                if (q0 + t >= p.n) f[e] = 0.0;
            }
#pragma unroll
            for (int m = 0; m < TILES; m++)
#pragma unroll
                for (int e = 0; e < TILES; e++) multiply_add(sum[m][e], w[m], f[e]);
        }
    }
#pragma unroll
    for (int e = 0; e < TILES; e++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int entry = begin + 8 * e + 2 * t + r;
            int i, j;
            if (entry >= n_entries) continue;
            place_of(a, entry, &i, &j);
#pragma unroll
            for (int m = 0; m < TILES; m++)
                out[(here * L + 8 * m + g) * size + a.to + i * a.ld + j] = sum[m][e][r];
        }
}

} // namespace

void integrals_begin(struct integrals *list) {
    list->n = list->n_parts = list->n_groups = 0;
}

void integrals_add(struct integrals *list, int rows, int columns, bool triangle, int64_t to, int ld) {
    struct integral &a = list->of[list->n++];
    a = {rows, columns, triangle, (int)to, ld, list->n_parts, 0, list->n_groups};
    list->n_groups += (integral_entries(a) + INTEGRAL_GROUP - 1) / INTEGRAL_GROUP;
}

void integrals_part(struct integrals *list, const struct integral_part &part) {
    list->parts[list->n_parts++] = part;
    list->of[list->n - 1].n_parts++;
}

void integrate(const struct integrals *list, int64_t first, int64_t n_batches, int64_t size, double *out,
               const char *what) {
    if (n_batches == 0 || list->n_groups == 0 || !may_launch()) return;
    const dim3 blocks((unsigned)n_batches, (unsigned)((list->n_groups + WARPS - 1) / WARPS));
    integrate_cells<<<blocks, 32 * WARPS>>>(*list, first, size, out);
    launched(what);
}

} // namespace facet
