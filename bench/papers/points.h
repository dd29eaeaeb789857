/* A solve of HDG on a box from f to u at the Gauss points, on the device: huismann2020 times solves whose
 * data are where the solver is, part by part. */
#ifndef FACET_BENCH_PAPERS_POINTS_H
#define FACET_BENCH_PAPERS_POINTS_H

#include "bench/papers/box_plain.h"
#include "boxhdg/points.h"

/* boxhdg_solver_solve with all that comes before and after on the device of the solver, whose lanes the
 * points are of: from f to u at the Gauss points. seconds (or NULL) receives what loading, solving and
 * recovering took. No constant is added to a singular problem's u. */
facet_status boxhdg_lanes_solve(const struct boxhdg_lanes_points *points, struct boxhdg_solver *solver,
                                const struct vector *f, struct vector *u, const struct solve_control *control,
                                struct solve_report *report, double seconds[3]);

#endif
