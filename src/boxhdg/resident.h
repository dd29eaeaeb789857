/* HDG on a box, or on a block of it, with everything on the device of the solver: data, right-hand side,
 * trace and u. The host holds what is known on the sides of the box, and sees of the rest what it asks for:
 * reductions over cells, some cells, or all of them (boxhdg_resident_bring). Loads and u are in modes. The
 * loads of a singular problem must balance; what quadrature leaves of their sum is taken off the source. */
#ifndef FACET_BOXHDG_RESIDENT_H
#define FACET_BOXHDG_RESIDENT_H

#include "boxhdg/hdg_cells.h"
#include "boxhdg/lane_solver.h"

struct boxhdg_resident;
/* The solver must outlive it. */
facet_status boxhdg_resident_create(struct boxhdg_solver *solver, struct boxhdg_resident **resident);
void boxhdg_resident_destroy(struct boxhdg_resident **resident); /* safe on NULL, and twice */
/* Bytes of the device that it takes for a box of so many cells. */
double boxhdg_resident_bytes(const struct device *device, const struct boxhdg *hdg, double n_cells);
/* NULL, or why a discretization cannot be kept on this device. */
const char *boxhdg_resident_refusal(const struct device *device, const struct boxhdg *hdg);

/* What is known on the sides, from the boundary data. */
facet_status boxhdg_resident_set_boundary(struct boxhdg_resident *resident, const struct box_given *given);
/* Loads from the source of the data, or from f at the Gauss points: of the host, or of the device. */
facet_status boxhdg_resident_load(struct boxhdg_resident *resident, const struct box_given *given);
enum boxhdg_where { BOXHDG_HOST, BOXHDG_DEVICE };
facet_status boxhdg_resident_load_values(struct boxhdg_resident *resident, const double *f,
                                         enum boxhdg_where where);
/* What all loads and Neumann data of all blocks sum to, and their moduli; the loads get rid of it, as of a
 * constant source. */
facet_status boxhdg_resident_balance(struct boxhdg_resident *resident, double sums[2]);
/* The squares of the loads and of the Neumann data, of all blocks. */
double boxhdg_resident_square_of_loads(const struct boxhdg_resident *resident);
/* What the integral of the modulus of the source is at most. */
double boxhdg_resident_size_of_loads(const struct boxhdg_resident *resident);
/* The right-hand side from the loads and the data of the boundary; and neither loads nor a right-hand side.
 */
facet_status boxhdg_resident_condense(struct boxhdg_resident *resident);
void boxhdg_resident_clear(struct boxhdg_resident *resident);
/* The next solve begins with the trace of this u at the Gauss points (host), as boxhdg_hybridize has it;
 * drop: without its constant. */
facet_status boxhdg_resident_set_guess(struct boxhdg_resident *resident, const double *u, int drop);
/* The trace of another one, of the same box with another reaction, to begin with. */
void boxhdg_resident_adopt(struct boxhdg_resident *resident, const struct boxhdg_resident *other);
/* K uhat = F, from the trace that there is, from zero or from solutions before. */
facet_status boxhdg_resident_solve(struct boxhdg_resident *resident, enum boxhdg_guess guess,
                                   const struct solve_control *control, struct solve_report *report);
facet_status boxhdg_resident_recover(struct boxhdg_resident *resident);
/* Of a singular problem: u and the trace get this mean. */
facet_status boxhdg_resident_set_mean(struct boxhdg_resident *resident, double mean);

/* The root of the sum of the squares of u in modes, of all blocks. */
double boxhdg_resident_norm(const struct boxhdg_resident *resident);
/* u at the Gauss points, plus a constant. */
facet_status boxhdg_resident_copy(struct boxhdg_resident *resident, double constant, double *u,
                                  enum boxhdg_where where);
/* The integral of the flux through a face of a side with a Neumann condition, which says what it is: that of
 * the cell is so up to rounding of terms as large as tau u. 0: it is no such face. */
int boxhdg_resident_given_flux(const struct boxhdg_resident *resident, int64_t cell, int d, int side,
                               double *flux);
/* The terms of the flux are integrals of |q.n| + tau (|u| + |uhat|) over the faces of a cell. */
facet_status boxhdg_resident_conservation(const struct boxhdg_resident *resident,
                                          struct solve_balance *balance);
/* Of u: the integral over every cell (n_cells); the least and the greatest value of every cell (2 n_cells) at
 * the products of n points x of [0, 1]. On the host. */
facet_status boxhdg_resident_integrals(struct boxhdg_resident *resident, double *integrals);
facet_status boxhdg_resident_extremes(struct boxhdg_resident *resident, int n, const double *x,
                                      double *extremes);
/* As boxhdg_measure_errors, without any of it on the host; star: u* and q* too. u, u* and the trace are
 * what is held plus a constant. */
facet_status boxhdg_resident_errors(struct boxhdg_resident *resident, const struct field *exact,
                                    double constant, int star, struct box_errors *errors);
/* The Neumann data of all sides as a vector of the trace, which the caller frees. */
facet_status boxhdg_resident_neumann(const struct boxhdg_resident *resident, double **neumann);
/* Some cells, ascending, as a solution that holds these alone, with q and u* if they are wanted; or all of
 * them. The solution is made anew. */
facet_status boxhdg_resident_fetch(const struct boxhdg_resident *resident, int64_t n, const int64_t *cells,
                                   int q, int star, struct boxhdg_solution *solution);
facet_status boxhdg_resident_bring(const struct boxhdg_resident *resident, int q, int star,
                                   struct boxhdg_solution *solution);

#endif
