/* Trace systems of diffusion or elasticity on boxes with homogeneous Dirichlet sides and noise on the right,
 * which no coarse space favours: what preconditioners are tried on. */
#ifndef FACET_BENCH_TRIAL_H
#define FACET_BENCH_TRIAL_H

#include "base/memory.h"
#include "bench/bench.h"
#include "problem/mapped_backend.h"
#include "solve/multigrid.h"
#include "trace/pmg.h"

struct trial_domain {
    const char *shape;
    int n;                    /* bricks along each side */
    double stretch;           /* length of the box in x, 1 in the others */
    double displacement;      /* of the inner vertices, in parts of a brick */
    const char *conductivity; /* NULL: 1 */
    const char *lambda;       /* of a body of mu = 1 that is held at xmin; NULL: diffusion */
};
struct trial {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
};
struct trial_outcome {
    int iterations, n_levels; /* negative: did not converge */
    double setup, solve;      /* seconds */
    double held, peak;        /* bytes beyond the element matrices: during the iteration, and at most */
    char last[32];            /* the last space that is not of algebraic multigrid, and its unknowns */
    int64_t n_last;
};
int trial_dimension(const char *shape);
facet_status trial_create(const struct bench_options *bench, const struct trial_domain *d, int degree,
                          struct trial *s);
void trial_destroy(struct trial *s);
/* A number in -1 .. 1 from any other. */
double trial_scatter(uint64_t i);
/* The middles of all cells: n_cells x dim. */
facet_status trial_middles(const struct trial *s, double **middles);
/* The element matrices times K of their cells, or again without it: with a tau that follows K they are those
 * of such a K. On devices of the host. */
facet_status trial_scale(struct trial *s, const double *K, int undo);

/* Conjugate gradients to 1e-10 with a multigrid M: iterations, levels, seconds of the solve. */
facet_status trial_iterate(struct trial *s, const struct linear_operator *A, struct linear_operator *M,
                           struct trial_outcome *o);
/* The same with the multigrid, which is taken over; begin and before: clock and memory when its set-up began.
 */
facet_status trial_solve(struct trial *s, struct multigrid **mg, double begin,
                         const struct base_memory *before, struct trial_outcome *o);
/* With p-multigrid, set-up included. */
facet_status trial_solve_pmg(struct trial *s, const struct pmg_options *options, struct trial_outcome *o);
/* With algebraic multigrid on the assembled matrix, assembly included. */
facet_status trial_solve_amg(struct trial *s, struct trial_outcome *o);
/* "12", or "> 500" of what did not converge. */
void trial_put_count(struct table *table, int iterations);

#endif
