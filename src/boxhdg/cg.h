/* Conjugate gradients on vectors in lanes, in one precision, restarted from true residuals of double
 * precision. */
#ifndef FACET_BOXHDG_CG_H
#define FACET_BOXHDG_CG_H

#include "boxhdg/coarse.h"

struct boxhdg_cg {
    const struct boxhdg_lanes *lanes;   /* of double precision */
    const struct boxhdg_lanes *fast;    /* of the iteration: the same, or single ones */
    struct boxhdg_lanes_coarse *coarse; /* NULL: the diagonal alone */
    const struct operator*
        M;                 /* a cycle (boxhdg/precondition.h) instead of diagonal and coarse space, or NULL */
    struct vector r, p, y; /* of the iteration */
    struct vector z;       /* of M */
    struct vector moments, coefficients;
    struct vector x; /* what came since the last update; unused in double precision */
    struct vector F, solution, residual, spare;
    struct vector ratio; /* of the scales of the two lanes, where they differ; else empty */
    struct vector kernel,
        kernel_residual; /* the constant, scaled as an unknown and as a residual; or empty */
    double kernel_square;
    double error; /* of the products of single precision, by boxhdg_cg_error */
};
/* Makes the vectors; lanes, fast, coarse and M are set. */
facet_status boxhdg_cg_create(struct boxhdg_cg *cg);
void boxhdg_cg_destroy(struct boxhdg_cg *cg); /* safe on a zeroed struct, and twice */
/* From F and solution (first guess) to the solution. The report is added to. *stalled: single precision got
 * no further, and double may; nothing is said about it then (FACET_OK). */
facet_status boxhdg_cg_solve(struct boxhdg_cg *cg, const struct solve_control *control,
                             struct solve_report *report, int *stalled);
/* cg->error: how far K of the iteration is from K, an estimate of the largest |e| / |p|, e = (K - K_fast) p,
 * in the norms of K^-1 and K, with the preconditioner in place of K^-1; not a number where that is so. Tried
 * on what the preconditioner makes of constants, which comes near the lowest mode; where these are a kernel,
 * of noise and of its error. Only where fast is single; F and solution are overwritten. */
facet_status boxhdg_cg_error(struct boxhdg_cg *cg);

#endif
