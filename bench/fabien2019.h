/* The problems of fabien2019, sections 4.1 and 4.2, on cubes of six tets a brick, or five: what its tables,
 * its time-accuracy-size spectrum and its measurements of speed are made of. */
#ifndef FACET_BENCH_FABIEN2019_H
#define FACET_BENCH_FABIEN2019_H

#include "bench/bench.h"
#include "problem/mapped_backend.h"

/* mu = 1 in both. */
struct fabien2019_problem {
    const char *name;
    double lower, upper; /* of the cube */
    const char *exact[3];
    const char *gradient_pressure; /* the side with that condition; NULL: displacements all around */
};
extern const struct fabien2019_problem fabien2019_manufactured; /* section 4.1 */
extern const struct fabien2019_problem fabien2019_nearly;       /* section 4.2 */

struct fabien2019_case {
    const struct fabien2019_problem *problem;
    double lambda;
    int cells, degree; /* bricks along a side; k */
    const char *split; /* of a brick; NULL: six */
    const char *tau;
    const char *method, *preconditioner; /* NULL: chosen */
    double rtol;
};

/* A case that can be solved again: a first solve in true norms, a second with the rules of the paper. */
struct fabien2019_run {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
};
facet_status fabien2019_create(const struct bench_options *bench, const struct fabien2019_case *c,
                               struct fabien2019_run *run);
void fabien2019_destroy(struct fabien2019_run *run);
facet_status fabien2019_solve(struct fabien2019_run *run, struct hdg_errors *errors);
/* The same system with other rules for source, boundary data and norms: only its right-hand side is new. */
facet_status fabien2019_solve_again(struct fabien2019_run *run, hdg_rule_maker maker,
                                    struct hdg_errors *errors);

/* Seconds of all phases from the mesh to the post-processed solution. */
double fabien2019_seconds(const facet_report *report);

#endif
