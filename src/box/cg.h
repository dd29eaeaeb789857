/* Conjugate gradients on vectors in lanes, in one precision, restarted from true residuals of double
 * precision. */
#ifndef FACET_BOX_CG_H
#define FACET_BOX_CG_H

#include "box/lanes_coarse.h"

struct box_cg {
    const struct box_lanes *lanes;
    struct box_lanes_coarse *coarse; /* NULL: the diagonal alone */
    const struct operator* M; /* a cycle (box/precondition.h) instead of diagonal and coarse space, or NULL */
    int single;               /* iterates in single precision */
    struct vector r, p, y;    /* of the iteration */
    struct vector x;          /* in single precision: what came since the last update; else unused */
    struct vector z;          /* of M */
    struct vector moments, coefficients;
    struct vector F, solution, residual; /* double */
    struct vector kernel,
        kernel_residual; /* the constant, scaled as an unknown and as a residual; or empty */
    double kernel_square;
};
/* Makes the vectors; lanes, coarse, M and single are set. */
facet_status box_cg_create(struct box_cg *cg);
void box_cg_destroy(struct box_cg *cg); /* safe on a zeroed struct, and twice */
/* From F and solution (first guess) to the solution. */
facet_status box_cg_solve(struct box_cg *cg, const struct solve_control *control,
                          struct solve_report *report);

#endif
