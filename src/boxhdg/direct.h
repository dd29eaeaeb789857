/* Direct solves on separable boxes (the same k and lambda in all cells) by fast diagonalization: the whole
 * box is one product of the chains of boxhdg/axis.h.
 *
 * On the trace. With F_d the right-hand side on the faces normal to d and hats for the transform by Q' in
 * their tangential directions,
 *
 *     u = [P_1 F^_1 + P_2 F^_2 + P_3 F^_3] / (lambda + k (theta_1 + theta_2 + theta_3))
 *     uhat_d = Q Q [G_d^-1 F^_d / k + P_d' u]
 *
 * solves K uhat = F: 36 N operations per unknown of the volume, N being the cells of a direction, half of it
 * on boxes that are their own mirror images; all of it products of dense matrices. u exists in slabs only.
 *
 * The solve in the volume, for comparison, is in bench/papers/volume.h.
 *
 * Everything that depends on the cells is made once; k and lambda enter in the denominator alone, so that
 * every solve may have its own at no cost. One solve at a time: the work arrays belong to the object.
 */
#ifndef FACET_BOXHDG_DIRECT_H
#define FACET_BOXHDG_DIRECT_H

#include "boxhdg/axis.h"
#include "boxhdg/lanes.h"

struct boxhdg_direct;
/* h is borrowed; its conductivity and reaction are not looked at. */
facet_status boxhdg_direct_create(const struct boxhdg *h, struct boxhdg_direct **direct);
void boxhdg_direct_destroy(struct boxhdg_direct **direct);
/* uhat from F, plain modes (n_trace); F is not read on Dirichlet faces, uhat is zero there. k > 0,
 * lambda >= 0. In the singular case (no Dirichlet side, lambda = 0) F has no part along the constant, and
 * uhat is one of the solutions. */
void boxhdg_direct_solve(struct boxhdg_direct *s, double k, double lambda, const double *F, double *uhat);
/* The same in lanes of double precision, from a residual to an unknown, on any device (operator_create_host),
 * with k and lambda of the first cell. */
facet_status operator_create_box_direct(const struct boxhdg_lanes *lanes, struct linear_operator *M);

#endif
