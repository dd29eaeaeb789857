/* Private to the algebraic multigrid: a level while it is being made, on the host. */
#ifndef FACET_SOLVE_AMG_GRID_H
#define FACET_SOLVE_AMG_GRID_H

#include "solve/amg.h"

/* Node i owns the unknowns nodes[i] .. nodes[i+1]-1. */
struct amg_grid {
    struct csr A;
    int64_t n_nodes;
    int64_t *nodes; /* n_nodes + 1 */
    int32_t *kind;  /* n_nodes; only nodes of one kind are gathered. 0: they carry the modes */
    int n_modes;
    double *modes; /* A.n x n_modes; of the other kinds: what is smooth there, in column 0 */
};
void amg_grid_destroy(struct amg_grid *grid);

int amg_is_pairwise(const struct amg_grid *grid, const struct amg_options *options);
/* aggregate[node]: 0 .. *n_aggregates - 1, or -1 for a node that the smoother can deal with alone (only when
 * `drop`). Serial, so that the outcome depends on nothing else. */
facet_status amg_aggregate(const struct amg_grid *grid, const struct amg_options *options, int drop,
                           int32_t *aggregate, int64_t *n_aggregates);

/* Unknowns outside the modes that form strong chains of their own, cut into groups of neighbours. group: per
 * unknown its number, -1 for all others. sign: per unknown of a group +-1, so chosen that strong couplings
 * become negative. Unknowns among the first `leading` of their node are not looked at. */
struct amg_chains {
    int64_t n_groups;
    int32_t *group;
    int8_t *sign;
};
facet_status amg_chains_find(const struct amg_grid *grid, int leading, struct amg_chains *chains);
void amg_chains_destroy(struct amg_chains *chains);

/* The next coarser level; a row of P belongs to one coarse node, or is empty. coarse->A.n may come out as 0:
 * nothing is left for a coarse level to do. */
facet_status amg_coarsen(const struct amg_grid *fine, const struct amg_options *options,
                         struct mg_transfer *P, struct amg_grid *coarse);
/* amg_classical.c: the same for nodes of one unknown and a single mode that vanishes nowhere; a row of P has
 * a few entries. */
facet_status amg_coarsen_classical(const struct amg_grid *fine, const struct amg_options *options,
                                   struct mg_transfer *P, struct amg_grid *coarse);
/* The level of the nodes by themselves: 1: reduced to their modes; more: to their first `leading` unknowns.
 * And of the chains. */
facet_status amg_reduce(const struct amg_grid *fine, int leading, struct mg_transfer *P,
                        struct amg_grid *coarse);

#endif
