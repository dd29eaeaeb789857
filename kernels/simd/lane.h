/* One number of KERNEL_LANES cells: the unit of every batched loop. The compiler splits it where registers
 * are narrower. */
#ifndef FACET_KERNELS_SIMD_LANE_H
#define FACET_KERNELS_SIMD_LANE_H

#include "base/run.h"
#include "kernels/kernels.h"

#define L KERNEL_LANES
typedef double lane __attribute__((vector_size(L * sizeof(double))));

#define INLINE static inline __attribute__((always_inline))

/* The functions that kernels_simd() in vector.c gathers into its table. */
void ell_apply_simd(int64_t n_rows, int width, const int32_t *columns, const double *values, const double *x,
                    double *y);
void facet_apply_simd(const struct facet_plan *plan, const double *x, double *y);
void cell_apply_simd(const struct cell_plan *plan, const double *x, double *y);
int64_t condense_affine_simd(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                             double *factor, double *U, double *K, double *scratch);
int64_t condense_scratch_simd(const struct affine_tables *t);
int64_t condense_sum_simd(const struct sum_tables *t, int64_t n_batches, const double *coefficients,
                          double *factor, double *U, double *K, double *scratch);
int64_t condense_sum_scratch_simd(const struct sum_tables *t);
void batch_load_simd(int64_t n_batches, int N, int n, const double *U, const double *f, double *out);
void batch_recover_simd(int64_t n_batches, int N, int n, const double *factor, const double *U,
                        const double *uhat, double *f);
void affine_flux_simd(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                      const double *u, const double *uhat, double *q);

#endif
