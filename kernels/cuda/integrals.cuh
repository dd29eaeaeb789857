// Integrals of products of two functions with weights of every cell, as products of matrices: functions times
// functions at points are one factor, the weights of 32 cells the other, and FP64 tensor cores (mma.m8n8k4)
// multiply them.
#ifndef FACET_CUDA_INTEGRALS_CUH
#define FACET_CUDA_INTEGRALS_CUH

#include "kernels/cuda/local.cuh"

namespace facet {

// Points with weights: sum over q < n of in[q step + lane] left[q ld_left + i] right[q ld_right + j].
struct integral_part {
    const double *left, *right; // right NULL: left[q ld_left + the number of the entry]
    const double *in;           // of the first batch
    const double *mix; // NULL: in; else in times mix[0], the next in L further times mix[mix_step], ..
    int64_t batch;     // numbers of a batch of in
    int ld_left, ld_right, step, n, n_mix, mix_step, mix_batch;
};
// Entries (i, j) < (rows, columns), or those with i <= j, of all its parts, to `to` + i ld + j of a cell.
struct integral {
    int rows, columns, triangle, to, ld, first_part, n_parts, first_group;
};
constexpr int MOST_INTEGRALS = 48, MOST_INTEGRAL_PARTS = 64, INTEGRAL_GROUP = 32;
struct integrals {
    int n, n_parts, n_groups;
    struct integral of[MOST_INTEGRALS];
    struct integral_part parts[MOST_INTEGRAL_PARTS];
};

// The number of entries of an integral.
__host__ __device__ inline int integral_entries(const struct integral &a) {
    return a.triangle ? a.rows * (a.rows + 1) / 2 : a.rows * a.columns;
}
// Begins a list, adds to it: an integral, and then its parts.
void integrals_begin(struct integrals *list);
void integrals_add(struct integrals *list, int rows, int columns, bool triangle, int64_t to, int ld);
void integrals_part(struct integrals *list, const struct integral_part &part);
// All of them for n_batches batches from `first` on: `size` numbers a cell, one cell after the other.
void integrate(const struct integrals *list, int64_t first, int64_t n_batches, int64_t size, double *out,
               const char *what);

} // namespace facet
#endif
