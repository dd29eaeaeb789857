/* The problems of the benches over MPI: boxes, made in place by every rank. */
#ifndef FACET_BENCH_MPI_BOX_H
#define FACET_BENCH_MPI_BOX_H

#include <facet.h>

struct box_problem {
    const char *name, *shape;
    facet_equation equation;
    const char *conductivity; /* of diffusion */
    int degree, cells[2];     /* in each direction: for --quick, and for two ranks */
};
extern const struct box_problem box_problems[];
extern const int box_n_problems;
facet_status box_problem_create(facet_context *context, const struct box_problem *kind, int quick,
                                facet_mesh **mesh, facet_problem **problem);

#endif
