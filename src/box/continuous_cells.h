/* What the loops over the cells of continuous elements share: 1D tables, the nodes of a cell, the loop
 * itself. Private to box/continuous. */
#ifndef FACET_BOX_CONTINUOUS_CELLS_H
#define FACET_BOX_CONTINUOUS_CELLS_H

#include "box/continuous.h"
#include "box/contract.h"

#define BOX_EXTRA 3 /* points of a rule beyond n, in each direction */

/* The Lagrange functions at points of [0, 1]: values and slopes (per cell width), n_points x n each; weights
 * of the rule and, for loads, the transpose of the values times weights (n x n_points). */
struct box_samples {
    int n_points;
    double *x, *w, *values, *slopes, *weighted;
};
/* x on [0, 1]; no weights. */
facet_status box_samples_create(const struct box_continuous *c, int n_points, const double *x,
                                struct box_samples *samples);
/* At Gauss points. */
facet_status box_samples_create_gauss(const struct box_continuous *c, int n_points,
                                      struct box_samples *samples);
void box_samples_destroy(struct box_samples *samples); /* safe on a zeroed struct, and twice */

/* Numbers of an array of a cell with so many in each direction, slack included. */
int64_t box_cell_room(const struct box_continuous *c, int n_points);
/* local (n^dim) = the cell's part of a vector of all nodes; nodes += local; nodes = local. */
void box_cell_gather(const struct box_continuous *c, const int at[3], const double *nodes, double *local);
void box_cell_add(const struct box_continuous *c, const int at[3], const double *local, double *nodes);
void box_cell_put(const struct box_continuous *c, const int at[3], const double *local, double *nodes);
double box_cell_volume(const struct box_continuous *c, const int at[3]);
/* Coordinates (n_points^dim x dim) of the tensor points x in [0, 1] of a cell. */
void box_cell_points(const struct box_continuous *c, const int at[3], int n_points, const double *x,
                     double *points);

/* work(c, cell, at, scratch, user) for every cell, `size` numbers of scratch for each thread. layers: cells
 * that share a node are never at work together, and every node always receives in the same order. A failure
 * stops the loop; the one of the lowest cell is reported. */
typedef facet_status (*box_continuous_work)(const struct box_continuous *c, int64_t cell, const int at[3],
                                            double *scratch, void *user);
facet_status box_continuous_for_cells(const struct box_continuous *c, int layers, int64_t size,
                                      box_continuous_work work, void *user);

/* Host access to a vector of all nodes; what the host cannot reach is a copy. box_nodes_close with `write`
 * brings it back. */
facet_status box_nodes_open(const struct vector *v, double **nodes);
facet_status box_nodes_close(struct vector *v, int write, double **nodes);
/* v on the fixed nodes = values; NULL: zero. */
facet_status box_nodes_fix(const struct box_continuous *c, const double *values, struct vector *v);
/* The integral of a function over the box. */
double box_nodes_integral(const struct box_continuous *c, const double *nodes);

#endif
