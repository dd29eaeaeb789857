// Integrals of products of two functions with weights of every cell, as products of matrices: functions times
// functions at points are one factor, the weights of 32 cells the other, and FP64 tensor cores (mma.m8n8k4)
// multiply them.
#ifndef FACET_CUDA_INTEGRALS_CUH
#define FACET_CUDA_INTEGRALS_CUH

#include "kernels/cuda/local.cuh"

namespace facet {

// Points with weights: sum over q < n of in[q step + lane] left[q ld_left + i] right[q ld_right + j].
struct integral_part {
    const double *left, *right; // right NULL: left[q ld_left + j rows + i]
    const double *in;           // of the first batch
    const double *mix; // NULL: in; else in times mix[0], the next in L further times mix[mix_step], ..
    int64_t batch;     // numbers of a batch of in
    int ld_left, ld_right, step, n, n_mix, mix_step, mix_batch;
};

// Where numbers of a matrix stand in the record of a cell: from `to` on, by columns of ld numbers, or, with
// tiles > 0, in tiles of 8 x 8, each by columns: so many in a row of them, upper: those on or above the
// diagonal only.
struct record_place {
    int to, ld, tiles;
    bool upper;
};
__host__ __device__ __forceinline__ int tile_at(int tiles, bool upper, int i, int j) {
    return upper ? i * tiles + j - i * (i + 1) / 2 : i * tiles + j;
}
__host__ __device__ __forceinline__ int place_in(const record_place &p, int row, int column) {
    if (p.tiles == 0) return p.to + column * p.ld + row;
    return p.to + tile_at(p.tiles, p.upper, row / 8, column / 8) * 64 + column % 8 * 8 + row % 8;
}

// Entries (i, j) < (rows, columns), or, triangle, those of blocks of eight rows that reach the diagonal or
// are above it, of all its parts; (0, 0) at (row, column) of the matrix. padded: rows up to a multiple of
// eight belong to it, and are zero.
struct integral {
    int rows, columns, triangle, padded, row, column;
    record_place at;
    int first_part, n_parts, first_group;
};
// A group: four runs of eight rows of a column.
constexpr int MOST_INTEGRALS = 48, MOST_INTEGRAL_PARTS = 64, INTEGRAL_RUNS = 4;
struct integrals {
    int n, n_parts, n_groups;
    struct integral of[MOST_INTEGRALS];
    struct integral_part parts[MOST_INTEGRAL_PARTS];
};

// Begins a list, adds to it: an integral, and then its parts.
void integrals_begin(struct integrals *list);
void integrals_add(struct integrals *list, int rows, int columns, bool triangle, bool padded,
                   const record_place &at, int row, int column);
void integrals_part(struct integrals *list, const struct integral_part &part);
// All of them for n_batches batches from `first` on: `size` numbers a cell, even, one cell after the other.
void integrate(const struct integrals *list, int64_t first, int64_t n_batches, int64_t size, double *out,
               const char *what);

// Integrals of functions that every cell has for itself: entries (i, j) < (rows, columns) of the sum over q <
// n of in[q step + lane] left[(q ld_left + i) L + lane] right[(q ld_right + j) L + lane].
struct own_integral {
    const double *left, *right, *in;        // of the first batch; in NULL: 1
    int64_t left_batch, right_batch, batch; // numbers of a batch; right_batch 0: right[q ld_right + j] of all
    int ld_left, ld_right, step, n;
    int rows, columns, row, column; // the rest as of struct integral
    record_place at;
    int first_tile;
};
constexpr int MOST_OWN_INTEGRALS = 32;
struct own_integrals {
    int n, n_tiles;
    struct own_integral of[MOST_OWN_INTEGRALS];
};
void own_integrals_add(struct own_integrals *list, struct own_integral one);
void integrate_own(const struct own_integrals *list, int64_t first, int64_t n_batches, int64_t size,
                   double *out, const char *what);

} // namespace facet
#endif
