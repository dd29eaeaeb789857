/* Solvers on mapped cells, between the files that make them: mapped_backend.c (the backend), method.c (what solves the
 * trace system), choice.c (which method that is), correction.c (what a solution lacks), group_errors.c. */
#ifndef FACET_PROBLEM_MAPPED_BACKEND_H
#define FACET_PROBLEM_MAPPED_BACKEND_H

#include "problem/problem.h"

/* The solution with an error added to it (correction.c). What the two have in common is that of the solution. */
struct mapped_version {
    struct hdg_solution solution;
    int known;         /* it has its solution */
    double left;       /* of fluxes no more than this is missing, by the sizes of psi and of r */
    double rest;       /* what a flux of this version may lack */
    unsigned n_solves; /* of the solver, when `left` was found */
};
#define MAPPED_VERSIONS (BACKEND_DRAWN - 1 + SOLVER_DRAWS)

struct mapped {
    struct hdg *hdg;
    struct linear_operator A, M,
        judge; /* judge: what estimates errors where M is a mere diagonal; made when needed */
    struct cholesky *cholesky;
    int flexible; /* the preconditioner changes from step to step */
    int settled;  /* a factor was thought of when conjugate gradients were seen, and not taken */
    struct vector b, x;
    struct null_space constants;  /* where K has no other hold on them than rounding, or none; else empty */
    struct solve_history history; /* of warm starts */
    double *F;                    /* n_free */
    struct hdg_solution solution;
    struct solver_group_errors group_errors;
    struct mapped_version versions[MAPPED_VERSIONS]; /* from BACKEND_BETTER on */
    int64_t n_single;       /* cells of all processes whose matrices the host makes, one by one */
    double assembled_bytes; /* of the assembled matrix and its factor, where the method needed them */
};
static inline struct mapped *mapped_of(const struct facet_solver *s) {
    return s->self;
}

/* mapped_backend.c: all of a solver that is made once. */
facet_status mapped_create(struct facet_solver *solver);
/* The trace that the next solve begins with, for another solver with as many unknowns: taken out of one that
 * is to be destroyed, and put into the other if it has as many. Nothing happens on boxes. */
void mapped_take_trace(struct facet_solver *solver, struct vector *trace);
void mapped_put_trace(struct facet_solver *solver, const struct vector *trace);
/* s->n_unknowns: those on the trace of all parts of the mesh together. */
facet_status mapped_count_unknowns(struct facet_solver *solver, const struct hdg *hdg);
/* Where it works: the device of the context, or the host where that one has to. */
const struct device *mapped_device(const struct facet_solver *solver);

/* method.c: its method, and the preconditioner or factor. */
facet_status solver_choose_method(struct facet_solver *solver);
/* Whether `auto` may take a factor instead of conjugate gradients when it has seen them; the factor, where so
 * many more steps would take longer. Multigrid in double precision, where the program was free to take a
 * lesser one. */
int solver_may_rethink(const struct facet_solver *solver);
facet_status solver_turn_direct(struct facet_solver *solver, double steps, int *done);
facet_status solver_turn_double(struct facet_solver *solver, int *done);
facet_status solver_make_judge(struct facet_solver *solver);
facet_status solver_make_exact_judge(struct facet_solver *solver);
/* The constant function in the free numbering, normalised. */
facet_status solver_fill_constant(const struct facet_solver *solver, double *constant);

void solver_forget_versions(struct mapped *m); /* correction.c */

#endif
