/* What the loops over the cells of continuous elements share: 1D tables and the nodes of a cell. Private to
 * this room. */
#ifndef FACET_BOXSEM_CELLS_H
#define FACET_BOXSEM_CELLS_H

#include "box/contract.h"
#include "boxsem/boxsem.h"

/* The Lagrange functions at Gauss points of [0, 1]: values and slopes (per cell width), n_points x n each;
 * weights of the rule and, for loads, the transpose of the values times weights (n x n_points). */
struct boxsem_samples {
    int n_points;
    double *x, *w, *values, *slopes, *weighted;
};
facet_status boxsem_samples_create(const struct boxsem *c, int n_points, struct boxsem_samples *samples);
void boxsem_samples_destroy(struct boxsem_samples *samples); /* safe on a zeroed struct, and twice */

/* Numbers of an array of a cell with so many in each direction, slack included. */
int64_t boxsem_cell_room(const struct boxsem *c, int n_points);
/* local (n^dim) = the cell's part of a vector of all nodes; nodes += local; nodes = local. */
void boxsem_cell_gather(const struct boxsem *c, const int at[3], const double *nodes, double *local);
void boxsem_cell_add(const struct boxsem *c, const int at[3], const double *local, double *nodes);
void boxsem_cell_put(const struct boxsem *c, const int at[3], const double *local, double *nodes);
double boxsem_cell_volume(const struct boxsem *c, const int at[3]);

/* Host access to a vector of all nodes; what the host cannot reach is a copy. boxsem_nodes_close with `write`
 * brings it back. */
facet_status boxsem_nodes_open(const struct vector *v, double **nodes);
facet_status boxsem_nodes_close(struct vector *v, int write, double **nodes);
/* v on the fixed nodes = values; NULL: zero. */
facet_status boxsem_nodes_fix(struct boxsem *c, const double *values, struct vector *v);
/* The integral of a function over the box. */
double boxsem_nodes_integral(const struct boxsem *c, const double *nodes);

#endif
