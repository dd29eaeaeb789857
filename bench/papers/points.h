/* The cells of a box at their Gauss points, on the device of the lanes: from f there to the right-hand side
 * of the trace system, and from the trace to u there. What boxhdg/cells.h does on the host; huismann2020
 * times solves whose data are where the solver is. */
#ifndef FACET_BENCH_PAPERS_POINTS_H
#define FACET_BENCH_PAPERS_POINTS_H

#include "boxhdg/solver.h"

struct boxhdg_lanes_points {
    const struct boxhdg_lanes *lanes; /* borrowed */
    struct box_points points;
    void *owned[16]; /* arrays of the device */
    int n_owned;
};
/* lanes: of double precision. dirichlet, neumann: as boxhdg_load takes them. Degrees from
 * KERNEL_BOX_MAX_POINTS on are refused where the device is not the host. */
facet_status boxhdg_lanes_points_create(const struct boxhdg_lanes *lanes, const double *dirichlet,
                                        const double *neumann, struct boxhdg_lanes_points **points);
void boxhdg_lanes_points_destroy(struct boxhdg_lanes_points **points); /* safe on NULL, and twice */

/* f (NULL: zero) and u: n_volume numbers at the points, in the order of boxhdg/boxhdg.h; u may be f. */
void boxhdg_lanes_load(const struct boxhdg_lanes_points *points, const struct vector *f, struct vector *F);
void boxhdg_lanes_recover(const struct boxhdg_lanes_points *points, const struct vector *trace,
                          const struct vector *f, struct vector *u);

/* boxhdg_solver_solve with all that comes before and after on the device of the solver, whose lanes the
 * points are of: from f to u at the Gauss points. seconds (or NULL) receives what loading, solving and
 * recovering took. No constant is added to a singular problem's u. */
facet_status boxhdg_lanes_solve(const struct boxhdg_lanes_points *points, struct boxhdg_solver *solver,
                                const struct vector *f, struct vector *u, const struct solve_control *control,
                                struct solve_report *report, double seconds[3]);

#endif
