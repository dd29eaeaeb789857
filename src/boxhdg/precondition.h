/* The V-cycle on a box: Chebyshev polynomials of the fourth kind in D K before and after the coarse space of
 * continuous linear functions. It is one operator of its own, since every step is one sweep of box_step, in
 * which the coarse space is never more than four numbers a face; levels of solve/multigrid.h would add
 * vectors and a sparse prolongation that cost more than the products. */
#ifndef FACET_BOXHDG_PRECONDITION_H
#define FACET_BOXHDG_PRECONDITION_H

#include "boxhdg/coarse.h"

/* lanes and coarse must outlive M, which is of the precision of the lanes. */
facet_status operator_create_box_cycle(const struct boxhdg_lanes *lanes, struct boxhdg_lanes_coarse *coarse,
                                       int degree, struct operator* M);
/* What went wrong in a cycle (the coarse solve may want memory). */
facet_status boxhdg_cycle_failure(const struct operator* M);
/* The largest eigenvalue of D K that the polynomials expect. */
double boxhdg_cycle_top(const struct operator* M);

#endif
