/* Shared by the files of this room only. */
#ifndef FACET_SOLVE_SOLVE_INTERNAL_H
#define FACET_SOLVE_SOLVE_INTERNAL_H

#include "solve/spectrum.h"

/* Device copies of up to four host arrays; what is not used stays NULL. data of the operators over a matrix:
 * the product has offsets, columns and values; block Jacobi n_blocks, offsets and starts of the blocks, and
 * their inverses in values, which are of the operator's precision. Blocks of equal size have no offsets and
 * starts, but m, and stand in lanes. */
struct device_matrix {
    int m;
    int64_t n_blocks, n_values;
    int64_t *offsets, *starts;
    int32_t *columns;
    void *values;
};

/* A vector of an operator's length, device and precision. */
facet_status solve_vector_like(const struct linear_operator *A, struct vector *v);
/* If D is block Jacobi: one step of a polynomial smoother in one pass (kernels.h: block_smooth), and 1. t may
 * be NULL. */
int operator_block_smooth(const struct linear_operator *D, double a, double b, double c,
                          const struct vector *f, const struct vector *t, struct vector *r, struct vector *d,
                          struct vector *x);

/* |r| as the operator measures it. */
double solve_norm(const struct linear_operator *A, const struct vector *r);
/* r = b - A x without its kernel part; returns |r|. */
double solve_true_residual(const struct linear_operator *A, const struct vector *b, const struct vector *x,
                           const struct solve_control *control, struct vector *r);
/* Whether the residual r, relatively so large, is rounding, and what is then said; r and d are overwritten.
 */
int solve_is_rounding(const struct linear_operator *A, const struct vector *b, const struct vector *x,
                      const struct solve_control *control, double residual, struct vector *r,
                      struct vector *d);
extern const char solve_rounding_reason[];
/* Why a residual stays above the tolerance though nothing stopped the method. */
const char *solve_stall_reason(double residual);
/* d = the solution for r, or near it. */
typedef facet_status solve_correction(const void *data, const struct vector *r, struct vector *d);
facet_status solve_apply(const void *M, const struct vector *r,
                         struct vector *d); /* by an operator; NULL: d = r */
/* error_estimate.c. The relative error of x, by a correction of a residual with fresh rounding; d and r are
 * overwritten. */
facet_status solve_estimate(const struct linear_operator *A, solve_correction *correct, const void *data,
                            const struct vector *b, const struct vector *x,
                            const struct solve_control *control, struct vector *d, struct vector *r,
                            double *error);
/* |x| of unknowns. */
double solve_size(const struct linear_operator *A, const struct vector *x);
/* Its residual, SOLVE_PROBE times as large. t is overwritten. */
#define SOLVE_PROBE 1.25
void solve_probe(const struct linear_operator *A, const struct vector *b, const struct vector *x,
                 const struct solve_control *control, struct vector *t, struct vector *r);
/* The same as solve_estimate with r already made by it. */
facet_status solve_weigh(const struct linear_operator *A, solve_correction *correct, const void *data,
                         const struct vector *x, const struct solve_control *control, struct vector *d,
                         struct vector *r, double *error);
/* After solve_weigh with the same arguments, which sees the rounding of the entries of A with one draw of
 * their signs: an error that matters is that of some draws more. */
facet_status solve_draw_again(const struct linear_operator *A, solve_correction *correct, const void *data,
                              const struct vector *x, const struct solve_control *control, struct vector *d,
                              struct vector *r, double *error);
/* Completes the report of a solve whose residual is small: it converged if its error, too, can be trusted. */
facet_status solve_accept(const struct solve_control *control, const char *reason, double residual,
                          double error, struct solve_report *report);
/* Of the iteration: r, p, q, z; by three terms the residual before r and its coefficients; of refinement r
 * and z. Of single precision: what came since the last update, the true residual, and (double) room to scale
 * it. */
struct solve_work {
    struct vector r, p, q, z, before, earlier, delta, residual, spare;
};
/* v is of A's length, device and precision, as it was or made anew. */
facet_status solve_fit(const struct linear_operator *A, struct vector *v);

/* Completes the report of a solve that did not converge. If M is a multigrid of which a part does not work,
 * that is the reason. */
facet_status solve_fail(struct solve_report *report, const struct linear_operator *M, const char *reason,
                        double residual);

#endif
