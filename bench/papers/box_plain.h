/* HDG on a box cell by cell, in plain modes on the host: what the walk of boxhdg/resident.h does on tiles and
 * in lanes, as a specification for tests, and with vectors of the host for benches. One process has all of
 * the box where errors are measured. */
#ifndef FACET_BENCH_PAPERS_BOX_PLAIN_H
#define FACET_BENCH_PAPERS_BOX_PLAIN_H

#include "boxhdg/hdg_cells.h"
#include "boxhdg/lane_solver.h"

/* Coefficients of modes to Gauss values (to_points) or back, cell by cell; n_volume numbers, in place if the
 * two are one. */
facet_status boxhdg_transform(const struct boxhdg *h, int to_points, const double *from, double *to);

/* y = K x, x and y being zero on Dirichlet faces: the operator as a specification. */
facet_status boxhdg_apply(const struct boxhdg *h, const double *x, double *y);

/* The right-hand side of K uhat = F.
 *     f          n_volume: values at the Gauss points; NULL: zero
 *     dirichlet  n_trace: coefficients of the modes on faces with Dirichlet values, the rest is not read;
 *                NULL: zero
 *     neumann    n_trace: the integrals <g, mode> over the face itself (not the reference face), that is,
 *                (h_t / 2 multiplied over the tangential directions t) times the coefficients of g = k du/dn
 *                in the modes; read on Neumann faces only; NULL: zero
 *     loads      n_volume: receives (f, mode) over every cell, for boxhdg_recover
 *     F          n_trace: R' Z^-1 loads + neumann - K dirichlet, zero on Dirichlet faces. */
facet_status boxhdg_load(const struct boxhdg *h, const double *f, const double *dirichlet,
                         const double *neumann, double *loads, double *F);
/* The same with loads that are given. */
facet_status boxhdg_condense_loads(const struct boxhdg *h, const double *loads, const double *dirichlet,
                                   const double *neumann, double *F);
/* u (n_volume, modes) and q (dim x n_volume: all cells of q_0, then of q_1, ..; or NULL) from the trace, with
 * Dirichlet values in place. */
facet_status boxhdg_recover(const struct boxhdg *h, const double *loads, double *uhat, double *u, double *q);

/* loads = (f, mode), f = the source or lambda u - k div grad u of the exact solution. */
facet_status boxhdg_project_source(const struct boxhdg *h, const struct box_given *data, double *loads);
/* As boxhdg_load wants them; n_trace each, or NULL: not wanted. Other faces are left as they are. */
facet_status boxhdg_project_boundary(const struct boxhdg *h, const struct box_given *data, double *dirichlet,
                                     double *neumann);

/* Takes off the source the constant *shift with which the integrals of f and of the Neumann data (or NULL)
 * vanish together, as a singular problem needs it. *scale: the sum of the sizes of f in the cells (mean
 * square) and of the moduli of the integrals over faces, divided by the volume like *shift, to judge it by.
 */
void boxhdg_balance(const struct boxhdg *h, const double *neumann, double *loads, double *shift,
                    double *scale);
/* The mean of u over the box. */
double boxhdg_mean(const struct boxhdg *h, const double *u);
/* Adds a constant to u, u* and the trace: for singular problems, whose u is known up to one. */
void boxhdg_shift(const struct boxhdg *h, double by, struct boxhdg_solution *solution);
/* True L2 norms, over-integrated; u* and q* where the solution has them. */
facet_status boxhdg_measure_errors(const struct boxhdg *h, const struct boxhdg_solution *solution,
                                   const struct field *exact, struct box_errors *errors);

/* K uhat = F; both n_trace numbers in plain modes on the host. uhat: what is given as first guess, and the
 * solution; fixed faces are not read and not written. Stops when |F - K uhat| <= rtol |F|, norms of plain
 * modes, by the true residual. A singular K (constants): F's part along it is dropped, and the solution has
 * none. control->kernel is not used. Returns and reports as solve_cg. */
facet_status boxhdg_solver_solve(struct boxhdg_solver *solver, const double *F, double *uhat,
                                 enum boxhdg_guess guess, const struct solve_control *control,
                                 struct solve_report *report);

#endif
