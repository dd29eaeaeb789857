/* The solve on the last level, whoever's it is: a matrix with its nodes and what is smooth in it becomes a
 * Cholesky factor where that is cheap beside the rest, or the levels of algebraic multigrid (solve/amg.h),
 * whose own last level is a dense inverse.
 *
 *     struct coarse_matrix last = {.name = "vertices", .csr = ...};
 *     multigrid_end_coarse(mg, device, &last, &options);         as the end of a list of levels, or
 *     operator_create_coarse(device, &last, &options, &M);       by itself
 *     coarse_matrix_destroy(&last);
 */
#ifndef FACET_SOLVE_COARSE_H
#define FACET_SOLVE_COARSE_H

#include "solve/multigrid.h"

struct coarse_matrix {
    const char *name; /* of its level, for reports */
    struct csr csr;   /* symmetric, positive definite up to the kernel; emptied by a factor */
    int singular;     /* its kernel is spanned by the modes */
    /* Nodes and near-null vectors as in solve/amg.h. */
    int64_t n_nodes, *offsets; /* offsets NULL: every unknown is a node */
    int32_t *kinds;            /* NULL: all nodes are of one kind */
    int n_modes;
    double *modes; /* n_modes x n; NULL: a constant */
    int classical; /* aggregates fail where K jumps; single unknowns with one mode are interpolated instead */
    /* Of a matrix that a team holds together: the sum of what its processes have. */
    struct base_team *team; /* NULL: it is here */
    int64_t *numbers;       /* n: of the unknowns in the whole; the owned ones have first, first + 1, ... */
    int64_t first, n_owned;
};
void coarse_matrix_destroy(struct coarse_matrix *matrix); /* safe on a zeroed struct, and twice */

/* Beside iterations of a few products on a box, a factor of more unknowns takes longer than a V-cycle. */
#define COARSE_FEW_UNKNOWNS 4000

/* AUTO: a factor of no more unknowns than `unknowns` (0: any number) and, if fine_bytes is given, one whose
 * ordering and size are cheap beside a product on the finest level, which passes so many bytes. */
struct solve_external;
enum coarse_wish { COARSE_AUTO, COARSE_FACTOR, COARSE_AMG };
struct coarse_options {
    enum coarse_wish wish;
    int64_t unknowns;
    int64_t beside_gpu; /* the same beside a GPU; 0: few */
    double fine_bytes;
    int solid;   /* the unknowns are those of vertices of tets: AUTO weighs the operations of a factor too */
    int locking; /* aggregates would lock: AUTO takes any factor that memory allows */
    enum mg_cycle cycle; /* how the levels of algebraic multigrid are visited: V, W or K; classical ones: V
                            instead of K */
    const struct solve_external *external; /* for the matrix of a team, which looks at nothing else */
};

/* Whether AUTO orders a matrix of n unknowns and so many entries to see what its factor costs: to be asked
 * before it is assembled. */
int coarse_is_worth_ordering(const struct coarse_options *options, int64_t n, double entries);
/* Ends the list with a factor if the options allow one; *done says whether. */
facet_status multigrid_end_factored(struct multigrid *mg, const struct device *device,
                                    struct coarse_matrix *matrix, const struct coarse_options *options,
                                    int *done);
/* Ends it with a factor or with algebraic multigrid; there is a level above. */
facet_status multigrid_end_coarse(struct multigrid *mg, const struct device *device,
                                  struct coarse_matrix *matrix, const struct coarse_options *options);
/* The same as an operator. Of a matrix without unknowns: one that does nothing. */
facet_status operator_create_coarse(const struct device *device, struct coarse_matrix *matrix,
                                    const struct coarse_options *options, struct linear_operator *M);

#endif
