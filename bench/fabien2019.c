/* The problems of fabien2019, set up and solved. */
#include "bench/fabien2019.h"

#include <stdio.h>

/* fabien2019, section 4.1; the gradient-pressure condition is its "Neumann condition" (docs/papers.md). */
const struct fabien2019_problem fabien2019_manufactured = {.name = "4.1",
                                                           .lower = -1.0,
                                                           .upper = 1.0,
                                                           .exact = {"(x*sin(2*pi*y) + y*cos(2*pi*z))/100",
                                                                     "(y*sin(2*pi*z) + z*cos(2*pi*x))/100",
                                                                     "(z*sin(2*pi*x) + x*cos(2*pi*y))/100"},
                                                           .gradient_pressure = "xmax"};

/* fabien2019, section 4.2: div u = 0. */
const struct fabien2019_problem fabien2019_nearly = {
    .name = "4.2",
    .lower = 0.0,
    .upper = 1.0,
    .exact = {"200*(x-x^2)^2*(2*y^3-3*y^2+y)*(2*z^3-3*z^2+z)",
              "-100*(y-y^2)^2*(2*x^3-3*x^2+x)*(2*z^3-3*z^2+z)",
              "-100*(z-z^2)^2*(2*y^3-3*y^2+y)*(2*x^3-3*x^2+x)"}};

void fabien2019_destroy(struct fabien2019_run *run) {
    facet_solver_destroy(&run->solver);
    facet_problem_destroy(&run->problem);
    facet_mesh_destroy(&run->mesh);
    facet_context_destroy(&run->context);
}

facet_status fabien2019_create(const struct bench_options *bench, const struct fabien2019_case *c,
                               struct fabien2019_run *run) {
    facet_status status = FACET_OK;
    const struct fabien2019_problem *p = c->problem;
    static const char *const exact[3] = {"exact", "exact", "exact"};
    char lambda[32];
    facet_options options;
    facet_box box = {.size = sizeof(facet_box),
                     .dim = 3,
                     .cells = {c->cells, c->cells, c->cells},
                     .shape = "tet",
                     .split = c->split != NULL ? c->split : "six"};
    for (int a = 0; a < 3; a++) box.lower[a] = p->lower, box.upper[a] = p->upper;
    snprintf(lambda, sizeof lambda, "%.17g", c->lambda);
    facet_options_default(&options, sizeof options);
    options.operator_name = "mapped";
    options.degree = c->degree;
    options.formulation = "gradient";
    options.tau = c->tau;
    options.method = c->method;
    options.preconditioner = c->preconditioner;
    options.rtol = c->rtol;
    options.max_iterations = 100000;
    TRY(facet_context_create(bench->device, &run->context));
    TRY(facet_mesh_create_box(run->context, &box, &run->mesh));
    TRY(facet_problem_create(run->context, run->mesh, FACET_ELASTICITY, &run->problem));
    TRY(facet_problem_set_material(run->problem, NULL, "mu,lambda", (const char *const[]){"1", lambda}));
    TRY(facet_problem_set_vector_exact(run->problem, 3, p->exact));
    if (p->gradient_pressure != NULL)
        TRY(facet_problem_set_gradient_pressure(run->problem, p->gradient_pressure, 3, exact));
    TRY(facet_solver_create(run->problem, &options, &run->solver));
done:
    return base_wrap(status, "section %s, lambda = %g, k = %d, %d^3 bricks", p->name, c->lambda, c->degree,
                     c->cells);
}

facet_status fabien2019_solve(struct fabien2019_run *run, struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    TRY(facet_solver_solve(run->solver, NULL, NULL));
    TRY(run->solver->backend->measure_errors(run->solver, errors));
done:
    return status;
}

/* Source, boundary data and norms belong to the struct hdg, the matrices to the operator and the factor that
 * were made from them: the solver works with the one of the paper's rules for as long as it loads, recovers
 * and measures. */
facet_status fabien2019_solve_again(struct fabien2019_run *run, hdg_rule_maker maker,
                                    struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    struct facet_solver *s = run->solver;
    struct hdg *hdg = NULL, *kept = mapped_of(s)->hdg;
    TRY(hdg_create(s->context->device, &s->resolved.data, s->options.degree, maker, NULL, &hdg));
    TRY(hdg_condense(hdg));
    mapped_of(s)->hdg = hdg;
    TRY(fabien2019_solve(run, errors));
done:
    mapped_of(s)->hdg = kept;
    hdg_destroy(&hdg);
    return status;
}

double fabien2019_seconds(const facet_report *report) {
    double sum = 0.0;
    for (int phase = FACET_PHASE_CONDENSE; phase <= FACET_PHASE_POSTPROCESS; phase++)
        sum += report->seconds[phase];
    return sum;
}
