/* Algebraic multigrid by unsmoothed aggregation, as a preconditioner.
 *
 * The unknowns come in nodes (of a trace system: the faces), and the caller knows what the operator hardly
 * sees: n_modes near-null vectors B (constants; rigid motions). Strongly coupled nodes are gathered into
 * aggregates; on each, the rows of B are orthonormalised, B = Q R: the columns of Q are the aggregate's
 * coarse unknowns (prolongation P = Q), R is the near-null space there, and P'AP the coarse matrix. Repeated
 * until a dense inverse is cheap. docs/amg.md tells which variants were measured.
 *
 * The cycle smooths with a Chebyshev polynomial over the inverses of the diagonal blocks, and is symmetric. V
 * and W are linear and positive definite: any Krylov method may use them. K takes up to two steps of
 * conjugate gradients on every coarse level, so it changes from application to application: it wants
 * solve_control.flexible, or solve_fgmres.
 */
#ifndef FACET_SOLVE_AMG_H
#define FACET_SOLVE_AMG_H

#include "solve/multigrid.h"

#define AMG_MAX_MODES  12
#define AMG_MAX_LEVELS (MG_MAX_LEVELS - 1)
#define AMG_LARGE_NODE 6

/* PAIRWISE: `passes` times, each node with its strongest free neighbour. GREEDY: a node and all its strong
 * neighbours; what is left over joins. AUTO: GREEDY for a single mode, PAIRWISE for more, where regular
 * patches of nine nodes were seen to converge badly. CLASSICAL: no aggregates; a part of the unknowns stays,
 * and the others are interpolated (amg_classical.c). For single unknowns with one mode, whatever K does from
 * one to the next. */
enum amg_aggregation { AMG_AUTO, AMG_PAIRWISE, AMG_GREEDY, AMG_CLASSICAL };
struct amg_options {
    enum mg_cycle cycle;
    enum amg_aggregation aggregation;
    int passes;       /* of PAIRWISE: aggregates of up to 2^passes nodes (and a few more) */
    double threshold; /* a coupling is strong from this part of the node's strongest */
    int leading; /* the first coarse level. 0: nodes are gathered at once. 1: the nodes by themselves, each
                    reduced to its modes. More: the first `leading` unknowns of every node (those of low
                    degree in a hierarchical basis), which must carry the modes. -1: 1, or 2 where a single
                    mode belongs to nodes of AMG_LARGE_NODE unknowns or more */
    enum polynomial polynomial;
    double ratio;          /* of FIRST */
    int degree;            /* of the polynomial on the finest level, 1 .. MG_MAX_DEGREE */
    int coarse_degree;     /* and on the coarser ones */
    double overcorrection; /* V and W: factor of the coarse correction */
    int64_t coarse_size;   /* a level of this size or less is inverted */
    int n_kernel;          /* the first n_kernel modes span the kernel of a singular matrix */
    const struct linear_operator
        *fine;            /* the product on the finest level, on the same device (NULL: with a copy of
                                    the matrix); must outlive the preconditioner */
    const int32_t *kinds; /* NULL, or one per node: only nodes of one kind are gathered. Those of kind 0
                             carry the modes; of the others the first mode says what is smooth there */
    const char *name;     /* of the finest level, for reports (NULL: "matrix") */
};
void amg_options_default(struct amg_options *options);

/* csr: symmetric, positive definite up to the kernel; needed during the call only. Node b is the unknowns
 * block_offsets[b] .. block_offsets[b+1]-1. modes: n_modes vectors of length n, one after the other. options:
 * NULL for the defaults. */
facet_status operator_create_amg(const struct device *device, const struct csr *csr, int64_t n_blocks,
                                 const int64_t *block_offsets, int n_modes, const double *modes,
                                 const struct amg_options *options, struct linear_operator *M);

/* The same as levels of a multigrid, the finest of them first; they end the list. */
facet_status multigrid_append_amg(struct multigrid *mg, const struct device *device, const struct csr *csr,
                                  int64_t n_blocks, const int64_t *block_offsets, int n_modes,
                                  const double *modes, const struct amg_options *options);

#endif
