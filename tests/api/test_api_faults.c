/* Allocation faults along the calls of facet.h that a run of a case does not make: the k-th allocation fails,
 * for the first 300 k and every seventh after them. Each walk must end with FACET_ERROR_MACHINE and leave
 * nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api_helpers.h"
#include "base/run.h"

static int one_plus_x(void *user, const facet_points *p, double *values) {
    (void)user;
    for (int i = 0; i < p->n; i++) values[i] = 1 + p->x[i * p->dim];
    return 0;
}

/* Two quads and a triangle with groups, there and back, and integrated. */
static facet_status walk_mesh(facet_context *context) {
    facet_status status = FACET_OK;
    facet_mesh *mesh = NULL;
    const double points[] = {0, 0, 1, 0, 2, 0, 0, 1, 1, 1, 2, 1, 0.5, 2};
    const int64_t quads[] = {0, 1, 4, 3, 1, 2, 5, 4}, triangle[] = {3, 4, 6}, side[] = {0, 1, 1, 2}, cell = 0;
    const facet_cells blocks[] = {{sizeof *blocks, "quad", 1, 2, quads},
                                  {sizeof *blocks, "triangle", 1, 1, triangle}};
    const facet_members groups[] = {{sizeof *groups, "low", 1, 2, NULL, side},
                                    {sizeof *groups, "part", 2, 1, &cell, NULL}};
    const facet_arrays arrays = {sizeof arrays, 2, 7, points, NULL, 2, blocks, 2, groups};
    facet_cells cells = {.size = sizeof cells};
    const char *low = "low";
    double x[400];
    int64_t n = 100, nodes[16];
    TRY(facet_mesh_create_arrays(context, &arrays, NULL, &mesh));
    TRY(facet_mesh_n_points(mesh, &n));
    TRY(facet_mesh_points(mesh, x));
    TRY(facet_mesh_block(mesh, 1, "vtk", &cells, nodes));
    TRY(facet_mesh_group_members(mesh, 0, NULL, NULL, nodes));
    n = 100;
    TRY(facet_mesh_quadrature(mesh, 2, 0, NULL, &n, x, NULL, NULL, NULL));
    TRY(facet_mesh_quadrature(mesh, 2, 1, &low, &n, x, NULL, NULL, NULL));
done:
    facet_mesh_destroy(&mesh);
    return status;
}

static facet_status walk_solver(facet_context *context, const char *shape, const char *discretization) {
    facet_status status = FACET_OK;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL, *next = NULL;
    facet_solver *solver = NULL, *after = NULL;
    facet_field *u = NULL;
    facet_sample *sample = NULL;
    facet_options o;
    const facet_box box = {.size = sizeof box, .dim = 2, .cells = {2, 1}, .upper = {1, 1}, .shape = shape};
    double x[] = {0.3, 0.4, 0.7, 0.1}, values[4], *all = NULL;
    int64_t entries = 0;
    facet_options_default(&o, sizeof o);
    o.degree = 1;
    o.discretization = discretization;
    TRY(facet_mesh_create_box(context, &box, &mesh));
    TRY(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    TRY(facet_problem_set_source_function(problem, one_plus_x, NULL));
    if (shape[0] == 't')
        TRY(facet_problem_set_robin_function(problem, "xmin", one_plus_x, NULL, one_plus_x, NULL));
    TRY(facet_problem_set_dirichlet(problem, "rest", "1"));
    TRY(facet_solver_create(problem, &o, &solver));
    TRY(facet_solver_solve(solver, NULL, NULL));
    TRY(facet_field_create(solver, "q", &u));
    TRY(facet_field_evaluate(u, 2, x, values));
    facet_field_destroy(&u);
    TRY(facet_field_create(solver, "u", &u));
    TRY(facet_problem_create(context, mesh, FACET_DIFFUSION, &next));
    TRY(facet_problem_set_source_function(next, facet_field_function, u));
    TRY(facet_problem_set_dirichlet(next, "rest", "1"));
    TRY(facet_solver_create(next, &o, &after));
    TRY(facet_solver_solve(after, NULL, NULL));
    int64_t n = facet_solver_n_unknowns(solver);
    all = calloc((size_t)n * 2, sizeof *all);
    TRY(facet_solver_apply(solver, n, all, all + n));
    TRY(facet_solver_precondition(solver, n, all, all + n));
    TRY(facet_solver_system(solver, n, all, all + n));
    if (shape[0] == 't') TRY(facet_solver_matrix(solver, n, &entries, NULL, NULL, NULL));
    TRY(facet_sample_create(solver, "u,q,cell", 0, &sample));
    TRY(facet_sample_cells(sample, NULL, NULL, NULL, NULL));
    TRY(facet_sample_write(sample, "/dev/null"));
done:
    free(all);
    facet_sample_destroy(&sample);
    facet_solver_destroy(&after);
    facet_problem_destroy(&next);
    facet_field_destroy(&u);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    return status;
}

static facet_status walk_case(facet_context *context) {
    static const char text[] = "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 1], shape: triangle}}\n"
                               "cases:\n"
                               "  - {name: heat, equation: diffusion, source: 1, boundary: [{on: rest, "
                               "dirichlet: 0}], discretization: {degree: 1}}\n"
                               "  - {name: stress, equation: elasticity, material: {E: 1, nu: 0.3}, thermal: "
                               "{expansion: 1, temperature: {case: heat}}, boundary: [{on: rest, fixed: "
                               "true}], discretization: {degree: 1}, values: [{name: a, field: u, at: [0.2, "
                               "0.2]}]}\n";
    facet_status status = FACET_OK;
    facet_case *file = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_value value = {.size = sizeof value};
    const char *setting = "cases.0.source=2";
    double numbers[2];
    TRY(facet_case_parse(context, text, NULL, 1, &setting, &file));
    TRY(facet_case_create_mesh(file, &mesh));
    TRY(facet_case_solve(file, 0));
    TRY(facet_case_create_problem(file, 1, mesh, facet_case_solver(file, 0), &problem));
    TRY(facet_case_value(file, 1, 0, facet_case_solver(file, 1), &value, 2, numbers));
done:
    facet_problem_destroy(&problem);
    facet_case_destroy(&file);
    facet_mesh_destroy(&mesh);
    return status;
}

static facet_status walk(int which) {
    facet_context *context = NULL;
    facet_status status = facet_context_create(NULL, &context);
    if (status == FACET_OK)
        status = which == 0   ? walk_mesh(context)
                 : which == 1 ? walk_solver(context, "triangle", "hdg")
                 : which == 2 ? walk_solver(context, "quad", "hdg")
                 : which == 3 ? walk_solver(context, "quad", "continuous")
                              : walk_case(context);
    facet_context_destroy(&context);
    return status;
}

static void all_fail(void **state) {
    struct base_memory before, after;
    (void)state;
    base_set_threads(1);
    for (int which = 0; which < 5; which++) {
        for (int clean = 0; clean < 2; clean++) { /* the first makes what lives for good */
            base_memory_read(&before);
            ok(walk(which));
            base_memory_read(&after);
        }
        assert_int_equal(after.live_blocks, before.live_blocks);
        int64_t total = after.allocations - before.allocations;
        for (int64_t k = 1; k <= total; k += k < 300 ? 1 : 7) {
            base_memory_fail_at(k);
            facet_status status = walk(which);
            base_memory_fail_at(0);
            base_memory_read(&after);
            if (status != FACET_ERROR_MACHINE)
                fail_msg("walk %d, allocation %lld of %lld: status %d, %s", which, (long long)k,
                         (long long)total, (int)status, facet_message());
            if (after.live_blocks != before.live_blocks)
                fail_msg("walk %d, allocation %lld of %lld leaves %lld blocks (%s)", which, (long long)k,
                         (long long)total, (long long)(after.live_blocks - before.live_blocks),
                         facet_message());
        }
    }
    base_set_threads(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_fail)};
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
