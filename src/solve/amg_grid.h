/* Private to the algebraic multigrid: a level while it is being made, on the host. */
#ifndef FACET_SOLVE_AMG_GRID_H
#define FACET_SOLVE_AMG_GRID_H

#include "solve/amg.h"

/* Node i owns the unknowns nodes[i] .. nodes[i+1]-1. */
struct amg_grid {
    struct csr A;
    int64_t n_nodes;
    int64_t *nodes; /* n_nodes + 1 */
    int n_modes;
    double *modes; /* A.n x n_modes */
};
void amg_grid_destroy(struct amg_grid *grid);

/* A prolongation by rows; a row belongs to one coarse node, or is empty. */
struct amg_transfer {
    int64_t n_rows, n_columns;
    int64_t *offsets;
    int32_t *columns;
    double *values;
};
void amg_transfer_destroy(struct amg_transfer *P);
facet_status amg_transpose(const struct amg_transfer *P, struct amg_transfer *R);

/* aggregate[node]: 0 .. *n_aggregates - 1, or -1 for a node that the smoother can deal with alone (only when
 * `drop`). Serial, so that the outcome depends on nothing else. */
facet_status amg_aggregate(const struct amg_grid *grid, const struct amg_options *options, int drop,
                           int32_t *aggregate, int64_t *n_aggregates);

/* The next coarser level. coarse->n_nodes may come out as 0: nothing is left for a coarse level to do. */
facet_status amg_coarsen(const struct amg_grid *fine, const struct amg_options *options,
                         struct amg_transfer *P, struct amg_grid *coarse);
/* The level of the first `leading` unknowns of every node. */
facet_status amg_keep_leading(const struct amg_grid *fine, int leading, struct amg_transfer *P,
                              struct amg_grid *coarse);

#endif
