/* Our solver for HDG on a box: conjugate gradients in lanes (boxhdg/lanes.h), set up once, used many times.
 *
 * A step is two sweeps over the vectors, each layer being updated while it is in cache:
 *     x += alpha p,  p = z + beta p,  y = K p,  p.y          (z = D r + P e is never stored)
 *     r -= alpha y,  r.D r,  |r|,  P'r
 *
 * Preconditioners, z = B r:
 *     none        the identity on plain modes
 *     diagonal    the inverse diagonal D of K, which is diagonal on every face: face-block Jacobi
 *     additive    D + P A^-1 P', with the continuous linear functions of the cell mesh (boxhdg/vertex_space.h)
 *     chebyshev   a V-cycle: polynomials of the fourth kind in D K around the same coarse space
 *     direct      the inverse itself (boxhdg/lattice.h; of the host boxhdg/direct.h), refined instead of
 * conjugate gradients
 *
 * mixed: the iteration runs in single precision. Whenever the residual has fallen far enough, the solution is
 * added to one of double precision and the residual is computed anew in double; the search goes on from it
 * with the directions it had. */
#ifndef FACET_BOXHDG_LANE_SOLVER_H
#define FACET_BOXHDG_LANE_SOLVER_H

#include "boxhdg/lanes.h"
#include "solve/multigrid.h"

enum boxhdg_preconditioner { BOXHDG_NONE, BOXHDG_DIAGONAL, BOXHDG_ADDITIVE, BOXHDG_CHEBYSHEV, BOXHDG_DIRECT };
struct boxhdg_solver_options {
    enum boxhdg_preconditioner preconditioner;
    int mixed;
    int chebyshev_degree; /* 1 .. MG_MAX_DEGREE */
    int remember;         /* solutions are kept for the first guesses of the next (solve/history.h) */
    int loose;            /* the caller finds the constant himself: estimates of the error leave it out */
};
void boxhdg_solver_options_default(struct boxhdg_solver_options *options); /* additive, mixed, 4 */

struct boxhdg_solver;
/* hdg must outlive the solver. options: NULL for the defaults. */
facet_status boxhdg_solver_create(const struct device *device, const struct boxhdg *hdg,
                                  const struct boxhdg_solver_options *options, struct boxhdg_solver **solver);
void boxhdg_solver_destroy(struct boxhdg_solver **solver);
/* FACET_ERROR_MACHINE, with what would fit, when the memory of a solver
 * is not free; it asks before anything is allocated. kept: data and solution too, and where; star: with u*.
 */
enum boxhdg_kept { BOXHDG_ALONE, BOXHDG_ON_DEVICE };
facet_status boxhdg_check_memory(const struct device *device, const struct boxhdg *hdg,
                                 const struct boxhdg_solver_options *options, enum boxhdg_kept kept);

/* Where an iteration begins: at zero, at what is given, or at what the solutions before make of the
 * right-hand side (with options.remember, and where there are any; else at what is given). */
enum boxhdg_guess { BOXHDG_FROM_ZERO, BOXHDG_FROM_GIVEN, BOXHDG_FROM_BEFORE };
/* y = K x in plain modes; fixed faces are left alone. */
facet_status boxhdg_solver_apply(const struct boxhdg_solver *solver, const double *x, double *y);
/* z = B r by the preconditioner in double precision, plain modes; fixed faces are left alone. Without one z =
 * r. */
facet_status boxhdg_solver_precondition(struct boxhdg_solver *solver, const double *r, double *z);

/* The error of u that jumps of k let pass in the last solve, absolute; 0: none is known. */
double boxhdg_solver_uncertainty(const struct boxhdg_solver *solver);

/* The same in lanes: from F and the first guess to the solution, where boxhdg_solver_lanes says they are; the
 * doubt is looked for by boxhdg_solver_find_uncertainty then. */
facet_status boxhdg_solver_find_uncertainty(struct boxhdg_solver *solver);
const struct boxhdg_lanes *boxhdg_solver_lanes(struct boxhdg_solver *solver, struct vector **F,
                                               struct vector **solution);
facet_status boxhdg_solver_solve_lanes(struct boxhdg_solver *solver, enum boxhdg_guess guess,
                                       const struct solve_control *control, struct solve_report *report);

/* The solution of a singular problem, in lanes, plus a constant. */
void boxhdg_solver_shift(struct boxhdg_solver *solver, double by);

/* The multigrid that solves the coarse space; NULL: none. */
struct multigrid *boxhdg_solver_multigrid(const struct boxhdg_solver *solver);

#endif
