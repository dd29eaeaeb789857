// See integrals.cuh. A warp has four runs of eight rows of 32 cells: 4 x 4 tiles, whose factors come from the
// caches. Runs are written as they are computed, 64 bytes of a cell at a time.
#include "kernels/cuda/integrals.cuh"

namespace facet {
namespace {

constexpr int WARPS = 4, TILES = 4;

__host__ __device__ __forceinline__ int runs_of(const struct integral &a) {
    const int blocks = (a.rows + 7) / 8;
    if (!a.triangle) return blocks * a.columns;
    const int whole = a.columns / 8; // blocks of eight columns, which reach one block of rows further each
    return 4 * whole * (whole + 1) + a.columns % 8 * (whole + 1);
}

// The block of rows and the column of a run.
__device__ __forceinline__ void run_at(const struct integral &a, int run, int *block, int *column) {
    if (!a.triangle) {
        const int blocks = (a.rows + 7) / 8;
        *column = run / blocks;
        *block = run - *column * blocks;
        return;
    }
    int whole = 0;
    while (4 * (whole + 1) * (whole + 2) <= run) whole++;
    const int left = run - 4 * whole * (whole + 1);
    *column = 8 * whole + left / (whole + 1);
    *block = left % (whole + 1);
}

// What a lane needs at four points: weights of four groups of cells, and both functions.
struct factors {
    double w[TILES], left[TILES], right[TILES];
};

// ALONE: right is NULL; MIXED: mix is not. Points beyond the last have the weight 0. left, right: row and
// column of lane / 4 of each run.
template <bool ALONE, bool MIXED> struct integrand {
    const struct integral_part &p;
    const double *in, *mix;
    int t, at[TILES];
    const int (&right)[TILES];

    __device__ __forceinline__ integrand(const struct integral_part &part, int n_rows, int64_t batch,
                                         int lane, const int (&rows)[TILES], const int (&runs)[TILES])
        : p(part), in(part.in + batch * part.batch + lane / 4),
          mix(MIXED ? part.mix + batch * part.mix_batch + lane / 4 : nullptr), t(lane % 4), right(runs) {
#pragma unroll
        for (int e = 0; e < TILES; e++) at[e] = ALONE ? runs[e] * n_rows + rows[e] : rows[e];
    }
    __device__ __forceinline__ void load(int q0, factors *to) const {
        const bool there = q0 + t < p.n;
        const int q = there ? q0 + t : p.n - 1;
        const double *left = p.left + (int64_t)q * p.ld_left;
#pragma unroll
        for (int m = 0; m < TILES; m++) {
            const double *from = in + (int64_t)q * p.step + 8 * m;
            double x = 0.0;
            if (MIXED) {
                for (int a = 0; a < p.n_mix; a++) x += mix[a * p.mix_step + 8 * m] * from[(int64_t)a * L];
            } else {
                x = *from;
            }
            to->w[m] = there ? x : 0.0;
        }
#pragma unroll
        for (int e = 0; e < TILES; e++) {
            to->left[e] = __ldg(left + at[e]);
            to->right[e] = ALONE ? 1.0 : __ldg(p.right + (int64_t)q * p.ld_right + right[e]);
        }
    }
};

// sum += the integrals of a part; the numbers of the next four points are on their way.
template <bool ALONE, bool MIXED>
__device__ __forceinline__ void add_part(const struct integral_part &p, int n_rows, int64_t batch, int lane,
                                         const int (&left)[TILES], const int (&right)[TILES],
                                         double (&sum)[TILES][TILES][2]) {
    const integrand<ALONE, MIXED> f(p, n_rows, batch, lane, left, right);
    factors next;
    f.load(0, &next);
    for (int q0 = 0; q0 < p.n; q0 += 4) {
        const factors here = next;
        f.load(q0 + 4 < p.n ? q0 + 4 : q0, &next);
#pragma unroll
        for (int e = 0; e < TILES; e++) {
            const double value = ALONE ? here.left[e] : here.left[e] * here.right[e];
#pragma unroll
            for (int m = 0; m < TILES; m++) multiply_add(sum[m][e], here.w[m], value);
        }
    }
}

__global__ void __launch_bounds__(32 * WARPS)
    integrate_cells(const __grid_constant__ struct integrals list, int64_t first, int64_t size, double *out) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int group = (int)blockIdx.x * WARPS + threadIdx.x / 32;
    const int64_t here = blockIdx.y, batch = first + here;
    if (group >= list.n_groups) return;
    int number = 0, beyond = list.n;
    while (beyond - number > 1) {
        const int middle = (number + beyond) / 2;
        if (list.of[middle].first_group <= group)
            number = middle;
        else
            beyond = middle;
    }
    const struct integral &a = list.of[number];
    const int begin = (group - a.first_group) * INTEGRAL_RUNS, n_runs = runs_of(a);
    int block[TILES], right[TILES], left[TILES];
    double sum[TILES][TILES][2] = {};
#pragma unroll
    for (int e = 0; e < TILES; e++) { // those beyond the last are computed like the last, and not written
        run_at(a, begin + e < n_runs ? begin + e : n_runs - 1, &block[e], &right[e]);
        left[e] = 8 * block[e] + g < a.rows ? 8 * block[e] + g : a.rows - 1;
    }
    for (int part = a.first_part; part < a.first_part + a.n_parts; part++) {
        const struct integral_part &p = list.parts[part];
        if (p.right == nullptr && p.mix == nullptr)
            add_part<true, false>(p, a.rows, batch, lane, left, right, sum);
        else if (p.right == nullptr)
            add_part<true, true>(p, a.rows, batch, lane, left, right, sum);
        else if (p.mix == nullptr)
            add_part<false, false>(p, a.rows, batch, lane, left, right, sum);
        else
            add_part<false, true>(p, a.rows, batch, lane, left, right, sum);
    }
    out += here * L * size;
#pragma unroll
    for (int e = 0; e < TILES; e++) {
        const int i = 8 * block[e] + 2 * t;
        if (begin + e >= n_runs) continue;
        if (a.padded) {
            double *to = out + place_in(a.at, a.row + i, a.column + right[e]);
#pragma unroll
            for (int m = 0; m < TILES; m++)
                *(double2 *)(to + (8 * m + g) * size) =
                    make_double2(i < a.rows ? sum[m][e][0] : 0.0, i + 1 < a.rows ? sum[m][e][1] : 0.0);
            continue;
        }
#pragma unroll
        for (int r = 0; r < 2; r++)
            if (i + r < a.rows && (!a.triangle || i + r <= right[e])) {
                double *to = out + place_in(a.at, a.row + i + r, a.column + right[e]);
#pragma unroll
                for (int m = 0; m < TILES; m++) to[(8 * m + g) * size] = sum[m][e][r];
            }
    }
}

// Of own integrals a warp has a tile of four rows, up to a multiple of eight, and four columns of 32 cells.
constexpr int SIDE = 4;
__host__ __device__ __forceinline__ int row_tiles(const struct own_integral &a) {
    return (a.rows + 7) / 8 * 8 / SIDE;
}

__global__ void __launch_bounds__(32 * WARPS)
    integrate_own_cells(const __grid_constant__ struct own_integrals list, int64_t first, int64_t size,
                        double *out) {
    const int lane = threadIdx.x % 32, tile = (int)blockIdx.x * WARPS + threadIdx.x / 32;
    const int64_t here = blockIdx.y, batch = first + here;
    if (tile >= list.n_tiles) return;
    int number = 0;
    while (number + 1 < list.n && list.of[number + 1].first_tile <= tile) number++;
    const struct own_integral &a = list.of[number];
    const int row = (tile - a.first_tile) % row_tiles(a) * SIDE,
              column = (tile - a.first_tile) / row_tiles(a) * SIDE;
    const double *left = a.left + batch * a.left_batch + lane, *right = a.right + batch * a.right_batch,
                 *in = a.in != nullptr ? a.in + batch * a.batch + lane : nullptr;
    const bool table = a.right_batch == 0;
    double sum[SIDE][SIDE] = {};
    for (int q = 0; q < a.n; q++) {
        const double w = in != nullptr ? in[(int64_t)q * a.step] : 1.0;
        double x[SIDE], y[SIDE];
#pragma unroll
        for (int e = 0; e < SIDE; e++) { // those beyond the last are zero, or not written
            const int64_t j = (int64_t)q * a.ld_right + min(column + e, a.columns - 1);
            x[e] = row + e < a.rows ? w * left[((int64_t)q * a.ld_left + row + e) * L] : 0.0;
            y[e] = table ? __ldg(right + j) : right[j * L + lane];
        }
#pragma unroll
        for (int i = 0; i < SIDE; i++)
#pragma unroll
            for (int j = 0; j < SIDE; j++) sum[i][j] += x[i] * y[j];
    }
    out += (here * L + lane) * size;
#pragma unroll
    for (int j = 0; j < SIDE; j++)
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            if (column + j < a.columns)
                out[place_in(a.at, a.row + row + i, a.column + column + j)] = sum[i][j];
}

} // namespace

void integrals_begin(struct integrals *list) {
    list->n = list->n_parts = list->n_groups = 0;
}

void integrals_add(struct integrals *list, int rows, int columns, bool triangle, bool padded,
                   const record_place &at, int row, int column) {
    struct integral &a = list->of[list->n++];
    a = {rows, columns, triangle, padded, row, column, at, list->n_parts, 0, list->n_groups};
    list->n_groups += (runs_of(a) + INTEGRAL_RUNS - 1) / INTEGRAL_RUNS;
}

void integrals_part(struct integrals *list, const struct integral_part &part) {
    list->parts[list->n_parts++] = part;
    list->of[list->n - 1].n_parts++;
}

void integrate(const struct integrals *list, int64_t first, int64_t n_batches, int64_t size, double *out,
               const char *what) {
    if (n_batches == 0 || list->n_groups == 0 || !may_launch()) return;
    const dim3 blocks((unsigned)((list->n_groups + WARPS - 1) / WARPS), (unsigned)n_batches);
    integrate_cells<<<blocks, 32 * WARPS>>>(*list, first, size, out);
    launched(what);
}

void own_integrals_add(struct own_integrals *list, struct own_integral one) {
    one.first_tile = list->n_tiles;
    list->of[list->n++] = one;
    list->n_tiles += row_tiles(one) * ((one.columns + SIDE - 1) / SIDE);
}

void integrate_own(const struct own_integrals *list, int64_t first, int64_t n_batches, int64_t size,
                   double *out, const char *what) {
    if (n_batches == 0 || list->n_tiles == 0 || !may_launch()) return;
    const dim3 blocks((unsigned)((list->n_tiles + WARPS - 1) / WARPS), (unsigned)n_batches);
    integrate_own_cells<<<blocks, 32 * WARPS>>>(*list, first, size, out);
    launched(what);
}

} // namespace facet
