/* What the loops over the cells of continuous elements share: 1D functions and the nodes of a cell. Private
 * to this room. */
#ifndef FACET_BOXSEM_ELEMENT_NODES_H
#define FACET_BOXSEM_ELEMENT_NODES_H

#include "box/contract.h"
#include "boxsem/boxsem.h"

/* The Lagrange functions as a box_tabulate, and at Gauss points. */
facet_status boxsem_tabulate(const void *continuous, int kind, int n_points, const double *x, double *values,
                             double *slopes);
facet_status boxsem_samples_create(const struct boxsem *c, int n_points, struct box_samples *samples);

/* Whether nodes number i of direction d are on a Dirichlet side across it. */
static inline int boxsem_is_fixed(const struct boxsem *c, int d, int i) {
    return d < c->grid.dim && ((i == 0 && c->grid.sides[d][0] == BOX_DIRICHLET) ||
                               (i == c->n_nodes[d] - 1 && c->grid.sides[d][1] == BOX_DIRICHLET));
}

/* Node i of direction d, up to that after the last, which is the first of a ring. */
static inline int boxsem_around(const struct boxsem *c, int d, int i) {
    return i < c->n_nodes[d] ? i : i - c->n_nodes[d];
}

/* Between the cell's part of a vector of all nodes and local (n^dim): local = nodes, nodes += local, nodes =
 * local. */
enum boxsem_move { BOXSEM_GATHER, BOXSEM_ADD, BOXSEM_PUT };
void boxsem_cell_move(const struct boxsem *c, const int at[3], enum boxsem_move how, double *nodes,
                      double *local);

/* Host access to a vector of all nodes; what the host cannot reach is a copy. boxsem_nodes_close with `write`
 * brings it back. */
facet_status boxsem_nodes_open(const struct vector *v, double **nodes);
facet_status boxsem_nodes_close(struct vector *v, int write, double **nodes);
/* The sum of the values of all nodes, and of their moduli: in this process. */
void boxsem_add_up(const struct boxsem *c, const double *nodes, double sums[2]);
/* What was fetched of u goes. */
void boxsem_forget(struct boxsem *c);
/* v on the fixed nodes = values; NULL: zero. */
facet_status boxsem_nodes_fix(struct boxsem *c, const double *values, struct vector *v);
/* rounding.c: solve_control.draw_rounding. Where it is known: on the host, of one process. */
int boxsem_knows_rounding(const struct boxsem *c);
facet_status boxsem_draw_rounding(void *boxsem, int draw, const struct vector *x, struct vector *r);
/* What b has on the fixed nodes is kept in fixed_loads, and becomes zero. */
facet_status boxsem_keep_loads(struct boxsem *c);

#endif
