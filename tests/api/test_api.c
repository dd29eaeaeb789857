/* The public functions called wrongly: every pointer NULL, counts out of range, values set again. Each call
 * is refused with the name of the argument; nothing leaks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static void refused(facet_status status, const char *word) {
    assert_int_equal(status, FACET_ERROR_INPUT);
    if (!strstr(facet_message(), word)) fail_msg("'%s' is not in: %s", word, facet_message());
}

static void ok(facet_status status) {
    if (status != FACET_OK) fail_msg("%s", facet_message());
}

static int one(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int i = 0; i < points->n; i++) values[i] = 1;
    return 0;
}

struct made {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    int64_t live_blocks;
};

static int set_up(void **state) {
    static struct made m;
    struct base_memory memory;
    const facet_box box = {
        .size = sizeof(facet_box), .dim = 2, .upper = {1, 1}, .cells = {2, 2}, .shape = "triangle"};
    base_memory_read(&memory);
    m.live_blocks = memory.live_blocks;
    ok(facet_context_create(NULL, &m.context));
    ok(facet_mesh_create_box(m.context, &box, &m.mesh));
    ok(facet_problem_create(m.context, m.mesh, FACET_DIFFUSION, &m.problem));
    *state = &m;
    return 0;
}

static int tear_down(void **state) {
    struct made *m = *state;
    struct base_memory memory;
    facet_problem_destroy(&m->problem);
    facet_mesh_destroy(&m->mesh);
    facet_context_destroy(&m->context);
    base_memory_read(&memory);
    return memory.live_blocks == m->live_blocks ? 0 : -1;
}

static void test_meshes(void **state) {
    struct made *m = *state;
    const facet_box box = {.size = sizeof(facet_box), .dim = 2, .upper = {1, 1}, .cells = {2, 2}};
    facet_mesh *mesh = m->mesh;
    facet_mesh_info info = {.size = sizeof info};
    refused(facet_mesh_create_box(m->context, &box, NULL), "'mesh'");
    refused(facet_mesh_create_box(NULL, &box, &mesh), "'context'");
    assert_null(mesh);
    refused(facet_mesh_create_box(m->context, NULL, &mesh), "'box'");
    refused(facet_mesh_create_box(m->context, &box, &mesh), "shape");
    for (int i = 0; i < 3; i++) { /* widths whose squares are no numbers */
        facet_box odd = box;
        odd.shape = "quad";
        odd.upper[1] = (const double[]){1e300, 1e-300, 1.7e308}[i];
        odd.lower[1] = i == 2 ? -odd.upper[1] : 0;
        refused(facet_mesh_create_box(m->context, &odd, &mesh), "width");
    }
    refused(facet_mesh_read(m->context, NULL, &mesh), "'path'");
    refused(facet_mesh_read(NULL, "a.msh", &mesh), "'context'");
    refused(facet_mesh_read(m->context, "a.msh", NULL), "'mesh'");
    refused(facet_mesh_refine(NULL, 1), "'mesh'");
    refused(facet_mesh_refine(m->mesh, -1), "-1");
    refused(facet_mesh_get_info(NULL, &info), "'mesh'");
    refused(facet_mesh_get_info(m->mesh, NULL), "'info'");
    facet_mesh_destroy(NULL);
    facet_mesh_destroy(&mesh);
}

static void test_problems(void **state) {
    struct made *m = *state;
    facet_problem *p = m->problem, *other;
    const char *K[4] = {"1", NULL, "0", "1"};
    refused(facet_problem_create(m->context, m->mesh, FACET_DIFFUSION, NULL), "'problem'");
    refused(facet_problem_create(NULL, m->mesh, FACET_DIFFUSION, &other), "'context'");
    refused(facet_problem_create(m->context, NULL, FACET_DIFFUSION, &other), "'mesh'");
    refused(facet_problem_create(m->context, m->mesh, (facet_equation)9, &other), "9");
    assert_null(other);
    refused(facet_problem_set_parameter(NULL, "a", 1), "'problem'");
    refused(facet_problem_set_parameter(p, NULL, 1), "'name'");
    refused(facet_problem_set_conductivity(NULL, NULL, 1, K), "'problem'");
    refused(facet_problem_set_conductivity(p, NULL, 1, NULL), "'texts'");
    refused(facet_problem_set_conductivity(p, NULL, 4, K), "'texts[i]'");
    refused(facet_problem_set_conductivity(p, NULL, -1, K), "-1");
    refused(facet_problem_set_conductivity_function(NULL, NULL, 1, one, NULL), "'problem'");
    refused(facet_problem_set_conductivity_function(p, NULL, 1, NULL, NULL), "'function'");
    refused(facet_problem_set_reaction(NULL, "1"), "'problem'");
    refused(facet_problem_set_reaction(p, NULL), "'text'");
    refused(facet_problem_set_reaction_function(p, NULL, NULL), "'function'");
    refused(facet_problem_set_source(NULL, "1"), "'problem'");
    refused(facet_problem_set_source(p, NULL), "'text'");
    refused(facet_problem_set_source_function(p, NULL, NULL), "'function'");
    refused(facet_problem_set_exact(NULL, "1"), "'problem'");
    refused(facet_problem_set_exact(p, NULL), "'text'");
    facet_problem_destroy(NULL);
}

static void test_conditions(void **state) {
    struct made *m = *state;
    facet_problem *p = m->problem;
    refused(facet_problem_set_dirichlet(NULL, "xmin", "1"), "'problem'");
    refused(facet_problem_set_dirichlet(p, NULL, "1"), "'part'");
    refused(facet_problem_set_dirichlet(p, "xmin", NULL), "'g'");
    refused(facet_problem_set_neumann(NULL, "xmin", "1"), "'problem'");
    refused(facet_problem_set_neumann(p, NULL, "1"), "'part'");
    refused(facet_problem_set_neumann(p, "xmin", NULL), "'g'");
    refused(facet_problem_set_dirichlet_function(p, NULL, one, NULL), "'part'");
    refused(facet_problem_set_dirichlet_function(p, "xmin", NULL, NULL), "'g'");
    refused(facet_problem_set_neumann_function(p, "xmin", NULL, NULL), "'g'");
    refused(facet_problem_set_neumann_function(NULL, "xmin", one, NULL), "'problem'");
    refused(facet_problem_set_robin(NULL, "xmin", "1", "1"), "'problem'");
    refused(facet_problem_set_robin(p, NULL, "1", "1"), "'part'");
    refused(facet_problem_set_robin(p, "xmin", NULL, "1"), "'a'");
    refused(facet_problem_set_robin(p, "xmin", "1", NULL), "'g'");
    ok(facet_problem_set_dirichlet(p, "xmin", "1")); /* nothing of the above counts */
    refused(facet_problem_set_neumann(p, "xmin", "1"), "'xmin'");
    refused(facet_solver_write(NULL, "a.vtu", NULL), "'solver'");
}

/* What is set again replaces what was set: the last conductivity and source count. */
static void test_replacing(void **state) {
    struct made *m = *state;
    facet_problem *p = m->problem;
    facet_solver *solver;
    const char *seven = "7", *four[4] = {"3", "0", "0", "3"}, *K = "k";
    const double x[2] = {0.5, 0.5};
    double u;
    refused(facet_problem_set_parameter(p, "k", NAN), "k");
    ok(facet_problem_set_parameter(p, "k", 5));
    refused(facet_problem_set_parameter(p, "k", NAN), "k");
    ok(facet_problem_set_parameter(p, "k", 2));
    ok(facet_problem_set_conductivity(p, NULL, 1, &seven));
    ok(facet_problem_set_conductivity(p, NULL, 4, four));
    ok(facet_problem_set_conductivity_function(p, NULL, 1, one, NULL));
    ok(facet_problem_set_conductivity(p, NULL, 1, &K));
    ok(facet_problem_set_source(p, "9"));
    ok(facet_problem_set_source(p, "4"));
    ok(facet_problem_set_dirichlet(p, "xmin", "0"));
    ok(facet_problem_set_dirichlet(p, "xmax", "0"));
    ok(facet_problem_set_neumann(p, "rest", "0"));
    ok(facet_solver_create(p, NULL, &solver));
    refused(facet_solver_write(solver, NULL, NULL), "'path'");
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_solver_evaluate(solver, "u", 1, x, &u));
    assert_true(fabs(u - 0.25) < 1e-10); /* -2 u'' = 4 */
    facet_solver_destroy(&solver);
}

/* A mesh of two dimensions has no z. */
static void test_coordinates(void **state) {
    struct made *m = *state;
    facet_problem *p = m->problem;
    const char *K[4] = {"1", "0", "0", "1 + z^2"}, *k = "z";
    refused(facet_problem_set_exact(p, "x + z"), "exact: 'x + z' uses z");
    refused(facet_problem_set_source(p, "z"), "source");
    refused(facet_problem_set_reaction(p, "z^2"), "reaction");
    refused(facet_problem_set_conductivity(p, NULL, 4, K), "component 4");
    refused(facet_problem_set_conductivity(p, NULL, 1, &k), "conductivity");
    refused(facet_problem_set_dirichlet(p, "xmin", "z"), "xmin");
    refused(facet_problem_set_robin(p, "xmin", "z", "1"), "robin.a");
}

/* A solver's arrays are those of the mesh that it was made for. */
static void a_refined_mesh_stops_its_solvers(void **state) {
    struct made *m = *state;
    facet_solver *solver;
    facet_report report = {.size = sizeof report};
    facet_errors errors = {.size = sizeof errors};
    const double x[2] = {0.9, 0.9};
    double u, points[1000];
    ok(facet_problem_set_exact(m->problem, "x*y"));
    ok(facet_solver_create(m->problem, NULL, &solver));
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_mesh_refine(m->mesh, 0));
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_mesh_refine(m->mesh, 1));
    refused(facet_solver_solve(solver, NULL, NULL), "refined");
    refused(facet_solver_points(solver, points), "refined");
    refused(facet_solver_update(solver, NULL), "refined");
    refused(facet_solver_evaluate(solver, "u", 1, x, &u), "refined");
    refused(facet_solver_errors(solver, &errors), "refined");
    refused(facet_solver_report(solver, &report), "refined");
    refused(facet_solver_write(solver, "/dev/null", NULL), "refined");
    facet_solver_destroy(&solver);
    ok(facet_solver_create(m->problem, NULL, &solver));
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_solver_evaluate(solver, "u", 1, x, &u));
    assert_true(fabs(u - 0.81) < 1e-9);
    facet_solver_destroy(&solver);
}

/* ------------------------------------------------------------------------------------------ sizes */

/* The beginning of a struct, exactly so long, for the address sanitizer to see what is beyond its end. */
static void *shorten(const void *full, size_t size) {
    void *beginning = malloc(size);
    memcpy(beginning, full, size);
    memcpy(beginning, &size, sizeof size);
    return beginning;
}

/* A program that was compiled when facet_options ended before rtol, facet_report before its conservation, and
 * so on: nothing beyond their ends is read or written, and what they do not have is the default. */
static void older_programs_have_smaller_structs(void **state) {
    const struct made *m = *state;
    const size_t options_size = offsetof(facet_options, rtol), box_size = offsetof(facet_box, split),
                 report_size = offsetof(facet_report, conservation),
                 errors_size = offsetof(facet_errors, H_L2),
                 info_size = offsetof(facet_mesh_info, smallest_jacobian);
    struct {
        facet_options options;
        double after;
    } o = {.after = 7};
    facet_solver *solver;
    facet_mesh *mesh;
    memset(&o.options, 0xff, sizeof o.options);
    facet_options_default(&o.options, options_size);
    assert_int_equal(o.options.size, options_size);
    assert_int_equal(o.options.degree, 3);
    assert_int_equal(o.options.max_iterations, 10000);
    assert_true(isnan(o.options.rtol)); /* 0xff...: not written; the solve must not read it either */
    assert_true(o.after == 7);
    o.options.degree = 2;
    ok(facet_problem_set_exact(m->problem, "x*y"));
    ok(facet_solver_create(m->problem, &o.options, &solver));
    ok(facet_solver_solve(solver, NULL, NULL));

    facet_report report = {.size = sizeof report}, full = {.size = sizeof full};
    void *shorter = shorten(&report, report_size);
    ok(facet_solver_report(solver, shorter));
    ok(facet_solver_report(solver, &full));
    assert_int_equal(full.size, sizeof full);
    assert_true(full.residual <= 1e-10 && full.conservation >= 0);
    assert_memory_equal((char *)shorter + sizeof(size_t), (char *)&full + sizeof(size_t),
                        report_size - sizeof(size_t));
    free(shorter);

    facet_errors errors = {.size = sizeof errors}, all = {.size = sizeof all};
    shorter = shorten(&errors, errors_size);
    ok(facet_solver_errors(solver, shorter));
    ok(facet_solver_errors(solver, &all));
    assert_true(all.H_L2 < 0 && all.u_L2 >= 0);
    assert_memory_equal((char *)shorter + sizeof(size_t), (char *)&all + sizeof(size_t),
                        errors_size - sizeof(size_t));
    free(shorter);
    facet_solver_destroy(&solver);

    const facet_box box = {.dim = 2, .cells = {3, 3}, .upper = {1, 1}, .shape = "triangle", .split = "none"};
    shorter = shorten(&box, box_size);
    ok(facet_mesh_create_box(m->context, shorter, &mesh));
    free(shorter);
    facet_mesh_info info = {.n_cells = 0};
    shorter = shorten(&info, info_size);
    ok(facet_mesh_get_info(mesh, shorter));
    memcpy(&info, shorter, info_size);
    assert_int_equal(info.n_cells, 18);
    free(shorter);
    facet_mesh_destroy(&mesh);
}

/* A size that was not set, and a program that is newer than the library. */
static void sizes_that_are_none_are_refused(void **state) {
    const struct made *m = *state;
    facet_solver *solver;
    facet_mesh *mesh;
    facet_mesh_info info = {.size = 0};
    facet_options options = {.degree = 2, .rtol = 1e-8, .max_iterations = 100};
    const facet_box box = {.dim = 2, .upper = {1, 1}, .cells = {2, 2}, .shape = "quad"};
    struct {
        facet_options options;
        double later;
    } newer;
    refused(facet_mesh_create_box(m->context, &box, &mesh), "facet_box");
    refused(facet_mesh_get_info(m->mesh, &info), "facet_mesh_info");
    refused(facet_solver_create(m->problem, &options, &solver), "facet_options_default");
    ok(facet_problem_set_dirichlet(m->problem, "rest", "0"));
    facet_options_default(&newer.options, sizeof newer);
    assert_true(newer.later == 0);
    ok(facet_solver_create(m->problem, &newer.options, &solver));
    facet_report report = {.size = 0};
    refused(facet_solver_report(solver, &report), "facet_report");
    facet_solver_destroy(&solver);
    newer.later = 1;
    refused(facet_solver_create(m->problem, &newer.options, &solver), "newer");
    assert_null(solver);
}

/* ------------------------------------------------------------------------------------------ interrupts */

static void interrupts_are_obeyed_once(void **state) {
    const struct made *m = *state;
    facet_context *other, *later;
    facet_problem *problem;
    facet_solver *solver, *own;
    facet_report report = {.size = sizeof report};
    ok(facet_problem_set_dirichlet(m->problem, "rest", "0"));
    ok(facet_problem_set_source(m->problem, "1"));
    ok(facet_solver_create(m->problem, NULL, &solver));
    ok(facet_context_create("ref", &other));
    ok(facet_problem_create(other, m->mesh, FACET_DIFFUSION, &problem));
    ok(facet_problem_set_dirichlet(problem, "rest", "0"));
    ok(facet_problem_set_source(problem, "1"));
    ok(facet_solver_create(problem, NULL, &own));

    facet_context_interrupt(m->context);
    ok(facet_solver_solve(own, NULL, NULL));
    assert_int_equal(facet_solver_solve(solver, NULL, NULL), FACET_INTERRUPTED);
    ok(facet_solver_report(solver, &report));
    assert_string_equal(report.reason, "interrupted");
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_solver_report(solver, &report));
    assert_int_equal(report.converged, 1);

    facet_interrupt(); /* all contexts, each once */
    assert_int_equal(facet_solver_solve(solver, NULL, NULL), FACET_INTERRUPTED);
    ok(facet_solver_solve(solver, NULL, NULL));
    assert_int_equal(facet_solver_solve(own, NULL, NULL), FACET_INTERRUPTED);
    ok(facet_solver_solve(own, NULL, NULL));
    facet_solver_destroy(&own);
    facet_problem_destroy(&problem);

    facet_interrupt(); /* obeyed by one: contexts made later are not concerned */
    assert_int_equal(facet_solver_solve(solver, NULL, NULL), FACET_INTERRUPTED);
    ok(facet_context_create("ref", &later));
    ok(facet_problem_create(later, m->mesh, FACET_DIFFUSION, &problem));
    ok(facet_problem_set_dirichlet(problem, "rest", "0"));
    ok(facet_problem_set_source(problem, "1"));
    ok(facet_solver_create(problem, NULL, &own));
    facet_interrupt();
    facet_interrupt_clear(); /* obeyed by none */
    ok(facet_solver_solve(own, NULL, NULL));
    ok(facet_solver_solve(solver, NULL, NULL));
    facet_context_interrupt(NULL);
    facet_solver_destroy(&own);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_context_destroy(&later);
    facet_context_destroy(&other);
}

/* ------------------------------------------------------------------------------------------ values, loads */

/* -u'' = 2 with u(0) = 0, and 3 goes in through an electrode at x = 1: u' = 5 - 2 x, u(1) = 4. */
static void values_and_names(void **state) {
    struct made *m = *state;
    facet_solver *solver = NULL;
    facet_group group = {.size = sizeof group};
    const char *xmax = "xmax", *sides[2] = {"xmin", "rest"};
    double values[9], potential;
    int n;
    assert_int_equal(facet_mesh_n_groups(m->mesh), 4);
    assert_int_equal(facet_mesh_n_groups(NULL), 0);
    ok(facet_mesh_group(m->mesh, 1, &group));
    assert_string_equal(group.name, "xmax");
    assert_true(group.dim == 1 && group.count == 2);
    refused(facet_mesh_group(m->mesh, 4, &group), "no group 4");
    refused(facet_mesh_scale(m->mesh, -1), "positive");
    refused(facet_problem_set_total_flux(m->problem, 0, &xmax, "3"), "needs a part");
    refused(facet_problem_set_total_flux(m->problem, 1, &xmax, "x"), "is a total");
    refused(facet_problem_set_group_source(m->problem, "a", 2, sides), "2 components");
    refused(facet_problem_set_pressure(m->problem, "xmin", "1"), "elasticity");
    refused(facet_problem_set_expansion(m->problem, NULL, "1"), "elasticity");
    ok(facet_problem_set_source(m->problem, "2"));
    ok(facet_problem_set_dirichlet(m->problem, "xmin", "0"));
    ok(facet_problem_set_total_flux(m->problem, 1, &xmax, "3"));
    ok(facet_problem_set_neumann(m->problem, "rest", "0"));
    ok(facet_solver_create(m->problem, NULL, &solver));
    refused(facet_solver_take(solver, "u", -1, "mean", 0, NULL, values, &n), "no solution");
    for (int again = 0; again < 2; again++) { /* the second solve knows the response */
        ok(facet_solver_solve(solver, NULL, NULL));
        ok(facet_solver_potential(solver, "xmax", &potential));
        assert_true(fabs(potential - 4) < 1e-8);
    }
    ok(facet_solver_take(solver, "flux", -1, "integral", 2, sides, values, &n));
    assert_true(n == 1 && fabs(values[0] - 5) < 1e-8);
    ok(facet_solver_take(solver, "q", 0, "mean", 0, NULL, values, &n));
    assert_true(n == 1 && fabs(values[0] + 4) < 1e-8);
    ok(facet_solver_take(solver, "u", -1, "max", 1, &xmax, values, &n));
    assert_true(n == 1 && fabs(values[0] - 4) < 1e-8);
    refused(facet_solver_take(solver, "u", -1, "most", 0, NULL, values, &n), "integral, mean");
    refused(facet_solver_take(solver, "u", -2, "max", 0, NULL, values, &n), "component");
    refused(facet_solver_potential(solver, "xmin", &potential), "no total_flux");
    ok(facet_mesh_scale(m->mesh, 2));
    refused(facet_solver_solve(solver, NULL, NULL), "scaled");
    facet_solver_destroy(&solver);
}

/* The field of one solver as the temperature of another: u = T, E = 1, nu = 0, held along y: the mean of T is
 * what the end moves by. */
static void fields_carry_over(void **state) {
    struct made *m = *state;
    facet_solver *heat = NULL, *solver = NULL;
    facet_problem *body = NULL;
    const char *xmax = "xmax", *none[2] = {"0", NULL}, *other[2] = {NULL, "0"}, *material[2] = {"1", "0"};
    double values[9];
    int n;
    ok(facet_problem_set_source(m->problem, "6*x"));
    ok(facet_problem_set_dirichlet(m->problem, "xmin", "0"));
    ok(facet_problem_set_dirichlet(m->problem, "xmax", "0"));
    ok(facet_problem_set_neumann(m->problem, "rest", "0"));
    ok(facet_solver_create(m->problem, NULL, &heat));
    ok(facet_problem_create(m->context, m->mesh, FACET_ELASTICITY, &body));
    ok(facet_problem_set_material(body, NULL, "E,nu", material));
    ok(facet_problem_set_expansion(body, NULL, "2"));
    ok(facet_problem_set_displacement(body, "xmin", 2, none));
    ok(facet_problem_set_displacement(body, "ymin", 2, other));
    ok(facet_problem_set_displacement(body, "ymax", 2, other));
    ok(facet_problem_set_pressure(body, "xmax", "0"));
    refused(facet_problem_set_pressure(body, "xmax", "0"), "two pressures");
    refused(facet_problem_set_symmetry(body, "xmax"), "two conditions");
    refused(facet_problem_set_spring(body, "xmax", 3, none), "needs one number");
    refused(facet_solver_create(body, NULL, &solver), "no temperature");
    refused(facet_problem_set_temperature_field(body, heat, "u", "0"), "no solution");
    ok(facet_solver_solve(heat, NULL, NULL));
    refused(facet_problem_set_temperature_field(body, heat, "q", "0"), "components");
    ok(facet_problem_set_temperature_field(body, heat, "u", "0"));
    ok(facet_solver_create(body, NULL, &solver));
    facet_problem_destroy(&body); /* the solver has its own */
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_solver_take(solver, "u", 0, "mean", 1, &xmax, values, &n)); /* T = x - x^3 */
    assert_true(n == 1 && fabs(values[0] - 2 * (0.5 - 0.25)) < 1e-9);
    facet_solver_destroy(&solver);
    facet_solver_destroy(&heat);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_meshes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_problems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_conditions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replacing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_coordinates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refined_mesh_stops_its_solvers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(older_programs_have_smaller_structs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_that_are_none_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_and_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fields_carry_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(interrupts_are_obeyed_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
