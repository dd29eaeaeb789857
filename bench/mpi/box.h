/* The problems of the benches over MPI: boxes, made in place by every rank; and how a solve of one is
 * measured.
 */
#ifndef FACET_BENCH_MPI_BOX_H
#define FACET_BENCH_MPI_BOX_H

#include <facet.h>

struct box_problem {
    const char *word, *name, *shape;
    facet_equation equation;
    const char *conductivity; /* of diffusion */
    int degree, cells[2];     /* in each direction: for --quick, and for two ranks */
    const char *source;       /* of diffusion */
};
extern const struct box_problem box_problems[];
extern const int box_n_problems;
/* cells: of the unit length in each direction; NULL: as many as the kind says, in a cube, for this number of
 * ranks. */
facet_status box_problem_create(facet_context *context, const struct box_problem *kind, int quick,
                                const int *cells, facet_mesh **mesh, facet_problem **problem);

/* Who solves: words of the case file. */
struct box_solver {
    const char *name, *method, *preconditioner, *petsc;
    const char *discretization, *operator_name; /* NULL: hdg, and mapped */
};
extern const struct box_solver box_pmg,
    box_nobody; /* nobody: what stands there before a preconditioner is made */
extern const struct box_solver box_tensor, box_continuous;

struct box_outcome {
    int iterations, converged;
    double setup, solve; /* seconds, the most of all ranks; of several solves the least */
    double coarse; /* below the levels of traces, in that solve: the least of all ranks, who do not wait for
                      others there */
    double bytes, most_bytes; /* that the processes have more: all together, and the one that has most */
    int64_t unknowns;
};
/* together: the context of the problem, or one of more ranks, each of which measures a problem of its own at
 * the same time. */
facet_status box_problem_measure(const facet_context *together, const facet_problem *problem, int degree,
                                 const struct box_solver *by, int solves, struct box_outcome *outcome);

#endif
