/* One solve on a box, measured. */
#include "bench/accuracy.h"

facet_status accuracy_run(const struct accuracy_case *a, struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_options options;
    struct options words;
    facet_box box = {.size = sizeof(facet_box),
                     .dim = 2,
                     .upper = {1.0, 1.0},
                     .cells = {a->cells, a->cells},
                     .shape = a->shape};
    facet_options_default(&options, sizeof options);
    options.operator_name = "mapped";
    options.degree = a->degree;
    options.tau = a->tau;
    options.rtol = 1e-11;
    TRY(facet_context_create(NULL, &context));
    TRY(facet_mesh_create_box(context, &box, &mesh));
    TRY(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    TRY(facet_problem_set_conductivity(problem, NULL, 1, &a->conductivity));
    if (a->reaction != NULL) TRY(facet_problem_set_reaction(problem, a->reaction));
    TRY(facet_problem_set_exact(problem, a->exact));
    TRY(options_read(&options, &words));
    TRY(solver_create(problem, &words, a->maker, &solver));
    TRY(facet_solver_solve(solver, NULL, NULL));
    TRY(hdg_measure_errors(mapped_of(solver)->hdg, &mapped_of(solver)->solution, errors));
done:
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return status;
}
