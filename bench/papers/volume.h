/* Direct solves in the volume of separable boxes by fast diagonalization: the rival of the solve on the trace
 * (boxhdg/direct.h), and the solver of the continuous method.
 *
 * HDG: eliminating the traces leaves (lambda M M M + k sum M M Lbar_d) u = M M M f, with the chains of
 * boxhdg/axis.h. Continuous: the functions of Q_p on the cells that are continuous, with the exact mass and
 * stiffness matrices of a line of cells; the condensed method has the same solution. Either way
 *
 *     u = Q Q Q (lambda + k (theta_1 + theta_2 + theta_3))^-1 Q' Q' Q' f,
 *
 * six dense transforms from values at the Gauss points to values at the Gauss points: 12 m operations per
 * unknown, m being those of a line, half of it on lines that are their own mirror images.
 *
 * All 1D matrices are made once; k and lambda enter in the denominator alone, so that every solve may have
 * its own at no cost. One solve at a time: the work arrays belong to the object.
 */
#ifndef FACET_BENCH_PAPERS_VOLUME_H
#define FACET_BENCH_PAPERS_VOLUME_H

#include "box/cell_loop.h"
#include "box/contract.h"
#include "box/diagonalize.h"
#include "boxhdg/axis.h"
#include "expr/field.h"

struct box_volume;
/* h is borrowed; its conductivity and reaction are not looked at. */
facet_status box_volume_create_hdg(const struct boxhdg *h, struct box_volume **volume);
/* Continuous functions of degree 1 .. BOX_MAX_DEGREE on the cells of the grid, given by their values at the
 * Gauss-Lobatto points of the cells. The grid is borrowed. */
facet_status box_volume_create_continuous(const struct box_grid *grid, int degree,
                                          struct box_volume **volume);
void box_volume_destroy(struct box_volume **volume);
int64_t box_volume_size(const struct box_volume *volume); /* (degree + 1)^dim x cells */

/* f and u: degree + 1 Gauss points a direction in every cell, direction 0 fastest, cells in the order of the
 * grid; u may be f. Zero Dirichlet values and zero Neumann data. In the singular case (no Dirichlet side,
 * lambda = 0) the mean of f is taken out, and u has none. */
void box_volume_solve(struct box_volume *v, double k, double lambda, const double *f, double *u);

/* The continuous space has a lattice of nodes: degree x cells + 1 a direction, or degree x cells where it is
 * periodic; direction 0 fastest, those with Dirichlet values included. */
void box_volume_lattice(const struct box_volume *volume, int counts[3]);
/* The solution at these nodes, after box_volume_solve. */
void box_volume_nodes(struct box_volume *volume, double *values);
/* The same with boundary data. nodes: on entry the Dirichlet values at the nodes of Dirichlet sides (others
 * are not read), on return the solution. load: NULL, or integrals of Neumann data times the nodal functions.
 * u, at the Gauss points, may be NULL. */
void box_volume_solve_data(struct box_volume *v, double k, double lambda, const double *f, const double *load,
                           double *nodes, double *u);

/* The L2 norm of u, values at the Gauss points, minus a function; over-integrated. */
facet_status box_volume_error(const struct box_volume *volume, const double *u, const struct field *exact,
                              double *error);

/* One direction of a volume solve: the same eigenvectors from Gauss points, cell by cell, and (continuous)
 * from nodes. */
struct box_volume_axis {
    struct box_direction gauss, nodes;
};
facet_status box_volume_axis_create_hdg(const struct boxhdg *h, int d, struct box_volume_axis *axis);
facet_status box_volume_axis_create_continuous(const struct box_grid *g, const struct box_element *element,
                                               int d, struct box_volume_axis *axis);
void box_volume_axis_destroy(struct box_volume_axis *axis); /* safe on a zeroed struct, and twice */

#endif
