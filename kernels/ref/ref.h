/* The functions that kernels_ref() in vector.c gathers into its table. */
#ifndef FACET_KERNELS_REF_H
#define FACET_KERNELS_REF_H

#include "kernels/kernels.h"

void ell_apply_ref(int64_t n_rows, int width, const int32_t *columns, const double *values, const double *x,
                   double *y);
void facet_apply_ref(const struct facet_plan *plan, const double *x, double *y);
void cell_apply_ref(const struct cell_plan *plan, const double *x, double *y);
void cell_apply_single_ref(const struct cell_plan *plan, const float *x, float *y);
int64_t cell_run_ref(int64_t batch_bytes);
void facet_sweep_ref(const struct facet_patches *p, int backward, const double *f, double *x,
                     double *scratch);
void facet_sweep_single_ref(const struct facet_patches *p, int backward, const float *f, float *x,
                            float *scratch);
int64_t facet_sweep_scratch_ref(const struct facet_patches *p);
int64_t condense_affine_ref(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                            double *factor, double *U, double *K, double *scratch);
int64_t condense_scratch_ref(const struct affine_tables *t);
int64_t condense_sum_ref(const struct sum_tables *t, int64_t n_batches, const double *coefficients,
                         double *factor, double *U, double *K, double *scratch);
int64_t condense_sum_scratch_ref(const struct sum_tables *t);
void batch_load_ref(int64_t n_batches, int N, int n, const double *U, const double *f, double *out);
void batch_recover_ref(int64_t n_batches, int N, int n, const double *factor, const double *U,
                       const double *uhat, double *f);
void affine_flux_ref(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                     const double *u, const double *uhat, double *q);
double box_step_ref(const struct box_plan *p, const struct box_step *step, const double *f, double *r,
                    const double *e, double *d, double *x, double *y);
void box_residual_ref(const struct box_plan *p, double alpha, const double *y, double *r, double *moments,
                      double *sums);
void box_prolong_ref(const struct box_plan *p, const double *vertices, double *coefficients);
void box_restrict_ref(const struct box_plan *p, const double *moments, double *vertices);
double box_step_single_ref(const struct box_plan *p, const struct box_step *step, const float *f, float *r,
                           const float *e, float *d, float *x, float *y);
void box_residual_single_ref(const struct box_plan *p, double alpha, const float *y, float *r, float *moments,
                             double *sums);
void box_prolong_single_ref(const struct box_plan *p, const double *vertices, float *coefficients);
void box_restrict_single_ref(const struct box_plan *p, const float *moments, double *vertices);

void brick_apply_ref(const struct brick_cells *c, double a, const double *x, double b, const double *f,
                     double *y, double *scratch);
void brick_diagonal_ref(const struct brick_cells *c, double *d);
void point_sweep_ref(const struct brick_cells *c, int backward, const double *b, double *x, double *scratch);
void brick_prolong_ref(const struct brick_transfer *t, const double *coarse, double *fine, double *scratch);
void brick_restrict_ref(const struct brick_transfer *t, const double *fine, double *coarse, double *scratch);
void patch_sweep_ref(const struct brick_patches *p, int backward, const double *b, double *x,
                     double *scratch);
void brick_apply_single_ref(const struct brick_cells *c, double a, const float *x, double b, const float *f,
                            float *y, float *scratch);
void brick_diagonal_single_ref(const struct brick_cells *c, float *d);
void point_sweep_single_ref(const struct brick_cells *c, int backward, const float *b, float *x,
                            float *scratch);
void brick_prolong_single_ref(const struct brick_transfer *t, const float *coarse, float *fine,
                              float *scratch);
void brick_restrict_single_ref(const struct brick_transfer *t, const float *fine, float *coarse,
                               float *scratch);
void patch_sweep_single_ref(const struct brick_patches *p, int backward, const float *b, float *x,
                            float *scratch);
int64_t brick_scratch_ref(const struct brick_cells *c);
int64_t transfer_scratch_ref(const struct brick_transfer *t);
int64_t patch_scratch_ref(const struct brick_patches *p);

#endif
