/* What the loops over the cells of continuous elements share: 1D tables, the nodes of a cell, the loop
 * itself. Private to box/continuous. */
#ifndef FACET_BOXSEM_CELLS_H
#define FACET_BOXSEM_CELLS_H

#include "box/contract.h"
#include "boxsem/boxsem.h"

#define BOX_EXTRA_POINTS 3 /* points of a rule beyond n, in each direction */

/* The Lagrange functions at points of [0, 1]: values and slopes (per cell width), n_points x n each; weights
 * of the rule and, for loads, the transpose of the values times weights (n x n_points). */
struct boxsem_samples {
    int n_points;
    double *x, *w, *values, *slopes, *weighted;
};
/* x on [0, 1]; no weights. */
facet_status boxsem_samples_create(const struct boxsem *c, int n_points, const double *x,
                                   struct boxsem_samples *samples);
/* At Gauss points. */
facet_status boxsem_samples_create_gauss(const struct boxsem *c, int n_points,
                                         struct boxsem_samples *samples);
void boxsem_samples_destroy(struct boxsem_samples *samples); /* safe on a zeroed struct, and twice */

/* Numbers of an array of a cell with so many in each direction, slack included. */
int64_t boxsem_cell_room(const struct boxsem *c, int n_points);
/* local (n^dim) = the cell's part of a vector of all nodes; nodes += local; nodes = local. */
void boxsem_cell_gather(const struct boxsem *c, const int at[3], const double *nodes, double *local);
void boxsem_cell_add(const struct boxsem *c, const int at[3], const double *local, double *nodes);
void boxsem_cell_put(const struct boxsem *c, const int at[3], const double *local, double *nodes);
double boxsem_cell_volume(const struct boxsem *c, const int at[3]);
/* Coordinates (n_points^dim x dim) of the tensor points x in [0, 1] of a cell. */
void boxsem_cell_points(const struct boxsem *c, const int at[3], int n_points, const double *x,
                        double *points);

/* work(c, cell, at, scratch, user) for every cell, `size` numbers of scratch for each thread. layers: cells
 * that share a node are never at work together, and every node always receives in the same order. A failure
 * stops the loop; the one of the lowest cell is reported. */
typedef facet_status (*boxsem_work)(const struct boxsem *c, int64_t cell, const int at[3], double *scratch,
                                    void *user);
facet_status boxsem_for_cells(const struct boxsem *c, int layers, int64_t size, boxsem_work work, void *user);

/* Host access to a vector of all nodes; what the host cannot reach is a copy. boxsem_nodes_close with `write`
 * brings it back. */
facet_status boxsem_nodes_open(const struct vector *v, double **nodes);
facet_status boxsem_nodes_close(struct vector *v, int write, double **nodes);
/* v on the fixed nodes = values; NULL: zero. */
facet_status boxsem_nodes_fix(struct boxsem *c, const double *values, struct vector *v);
/* The integral of a function over the box. */
double boxsem_nodes_integral(const struct boxsem *c, const double *nodes);

#endif
