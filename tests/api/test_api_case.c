/* Case files through facet.h: what they say, run as a whole and step by step; what is wrong with them, with
 * its place; and a monitor that hears of every run and may stop it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api_helpers.h"
#include "base/run.h"

static const char one[] = "title: A plate\n"
                          "parameters: {k: 2, f: k + 1}\n"
                          "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [3, 2], shape: quad}}\n"
                          "equation: diffusion\n"
                          "conductivity: k\n"
                          "source: f\n"
                          "boundary:\n"
                          "  - {on: xmin, dirichlet: 0}\n"
                          "  - {on: rest, neumann: 0}\n"
                          "discretization: {degree: 2, tau: {hat: 3}}\n"
                          "values:\n"
                          "  - {name: far, field: u, at: [1, 0.5]}\n"
                          "  - {name: line, field: q, along: [[0, 0.5], [1, 0.5]], points: 5}\n"
                          "  - {name: out, field: flux, take: integral, on: xmin}\n";

static const char chain[] =
    "mesh: {box: {lower: [0, 0], upper: [2, 1], cells: [4, 2], shape: triangle}}\n"
    "cases:\n"
    "  - {name: heat, equation: diffusion, boundary: [{on: xmin, dirichlet: 10}, {on: rest, "
    "neumann: 0}], discretization: {degree: 2}}\n"
    "  - {name: stress, equation: elasticity, material: {E: 1, nu: 0}, plane: stress, thermal: {expansion: "
    "0.1, temperature: {case: heat}}, boundary: [{on: xmin, roller: x}, {on: ymin, roller: y}, {on: rest, "
    "traction: [0, 0]}], discretization: {degree: 2}, values: [{name: end, field: u, component: x, at: [2, "
    "0]}]}\n";

static double value_of(const facet_case *file, int i, int k, const facet_solver *solver) {
    facet_value value = {.size = sizeof value};
    double number;
    ok(facet_case_value(file, i, k, solver, &value, 1, &number));
    assert_int_equal(value.n, 1);
    return number;
}

/* -k u'' = f: u(1) = f / (2 k), and f leaves through xmin. */
static void whole(void **state) {
    struct made *m = *state;
    facet_case *file;
    facet_case_info info = {.size = sizeof info};
    facet_value value = {.size = sizeof value};
    const char *setting = "parameters.k=3", *name;
    double number, line[10];
    for (int i = 0; i < 2; i++) {
        double k = 2 + i, f = k + 1;
        ok(facet_case_parse(m->context, one, NULL, i, &setting, &file));
        assert_int_equal(facet_case_count(file), 1);
        ok(facet_case_get_info(file, 0, &info));
        assert_string_equal(info.title, "A plate");
        assert_null(info.name);
        assert_null(info.output);
        assert_int_equal(info.equation, FACET_DIFFUSION);
        assert_int_equal(info.from, -1);
        assert_int_equal(info.n_values, 3);
        ok(facet_case_parameter(file, 0, 1, &name, &number));
        assert_string_equal(name, "f");
        near(number, f, 0);
        assert_null(facet_case_mesh(file));
        assert_null(facet_case_solver(file, 0));
        assert_null(facet_case_json(file));
        refused(facet_case_value(file, 0, 0, NULL, &value, 1, &number), "not solved");
        for (int again = 0; again < 2; again++) {
            ok(facet_case_solve(file, 0));
            near(value_of(file, 0, 0, NULL), f / (2 * k), 1e-9);
            near(value_of(file, 0, 2, NULL), f, 1e-9);
            ok(facet_case_value(file, 0, 1, NULL, &value, 0, NULL));
            assert_int_equal(value.n_points, 5);
            assert_int_equal(value.n, 10);
            assert_string_equal(value.field, "q");
            near(value.to[0], 1, 0);
            refused(facet_case_value(file, 0, 1, NULL, &value, 9, line), "room");
            ok(facet_case_value(file, 0, 1, NULL, &value, 10, line));
            for (int p = 0; p < 5; p++) near(line[2 * p], -f * (1 - p / 4.0), 1e-8);
            assert_non_null(facet_case_mesh(file));
            assert_non_null(facet_case_solver(file, 0));
            assert_non_null(strstr(facet_case_json(file), "\"title\": \"A plate\""));
        }
        facet_case_destroy(&file);
    }
}

/* The same by hand: mesh, problem and options are those of the run. */
static void steps(void **state) {
    struct made *m = *state;
    facet_case *file;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    facet_options options;
    double whole_u[24 * 9], u[24 * 9];
    ok(facet_case_parse(m->context, one, "sub/case.yaml", 0, NULL, &file));
    ok(facet_case_create_mesh(file, &mesh));
    ok(facet_case_create_problem(file, 0, mesh, NULL, &problem));
    facet_options_default(&options, sizeof options);
    ok(facet_case_options(file, 0, &options));
    assert_int_equal(options.degree, 2);
    near(options.tau_hat, 3, 0);
    ok(facet_solver_create(problem, &options, &solver));
    assert_int_equal(facet_solver_n_points(solver), 54);
    ok(facet_solver_solve(solver, NULL, u));
    near(value_of(file, 0, 0, solver), 0.75, 1e-9);
    ok(facet_solver_set_parameter(solver, "k", 6)); /* f was k + 1 when the file was read */
    ok(facet_solver_solve(solver, NULL, u));
    near(value_of(file, 0, 0, solver), 0.25, 1e-9);
    ok(facet_case_solve(file, 0));
    ok(facet_solver_set_parameter(solver, "k", 2));
    ok(facet_solver_solve(solver, NULL, u));
    const facet_solver *lent = facet_case_solver(file, 0);
    facet_solver *of_case;
    memcpy(&of_case, &lent, sizeof of_case); /* to see whether it is as it was */
    ok(facet_solver_solve(of_case, NULL, whole_u));
    assert_memory_equal(u, whole_u, 54 * sizeof *u);
    facet_problem *none;
    refused(facet_case_create_problem(file, 1, mesh, NULL, &none), "case 1");
    refused(facet_case_create_problem(file, 0, mesh, solver, &none), "no field");
    assert_null(none);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_case_destroy(&file);
    facet_mesh_destroy(&mesh);
}

/* T = 10: u_x(2) = 0.1 T 2. */
static void chains(void **state) {
    struct made *m = *state;
    facet_case *file;
    facet_case_info info = {.size = sizeof info};
    facet_mesh *mesh;
    facet_problem *heat, *stress;
    facet_solver *hot, *bent;
    facet_options options;
    ok(facet_case_parse(m->context, chain, NULL, 0, NULL, &file));
    assert_int_equal(facet_case_count(file), 2);
    ok(facet_case_get_info(file, 1, &info));
    assert_string_equal(info.name, "stress");
    assert_int_equal(info.from, 0);
    ok(facet_case_solve(file, 0));
    near(value_of(file, 1, 0, NULL), 2, 1e-8);
    assert_non_null(strstr(facet_case_json(file), "\"cases\""));
    ok(facet_case_create_mesh(file, &mesh));
    facet_options_default(&options, sizeof options);
    ok(facet_case_options(file, 0, &options));
    ok(facet_case_create_problem(file, 0, mesh, NULL, &heat));
    ok(facet_solver_create(heat, &options, &hot));
    refused(facet_case_create_problem(file, 1, mesh, hot, &stress), "solution");
    ok(facet_solver_solve(hot, NULL, NULL));
    ok(facet_case_create_problem(file, 1, mesh, hot, &stress));
    ok(facet_case_options(file, 1, &options));
    assert_string_equal(options.plane, "stress");
    ok(facet_solver_create(stress, &options, &bent));
    ok(facet_solver_solve(bent, NULL, NULL));
    near(value_of(file, 1, 0, bent), 2, 1e-8);
    facet_value value = {.size = sizeof value};
    refused(facet_case_value(file, 1, 0, hot, &value, 0, NULL), "equation");
    facet_solver_destroy(&bent);
    facet_solver_destroy(&hot);
    facet_problem_destroy(&stress);
    facet_problem_destroy(&heat);
    facet_mesh_destroy(&mesh);
    facet_case_destroy(&file);
}

static void wrong(void **state) {
    struct made *m = *state;
    facet_case *file;
    facet_case_info info = {.size = sizeof info};
    const char *bad[] = {"mesh.box.cells=[2, 2, 2]", "solvr.rtol=1"}, *null = NULL, *name;
    double number;
    refused(facet_case_parse(m->context, "equation: diffusion\nmesh: {bux: 1}\n", "a.yaml", 0, NULL, &file),
            "a.yaml:2:8");
    assert_null(file);
    refused(facet_case_parse(m->context, one, NULL, 2, bad, &file), "--set solvr.rtol");
    refused(facet_case_parse(m->context, one, NULL, 1, &null, &file), "settings");
    refused(facet_case_parse(m->context, NULL, NULL, 0, NULL, &file), "'text'");
    refused(facet_case_parse(NULL, one, NULL, 0, NULL, &file), "'context'");
    refused(facet_case_load(m->context, NULL, 0, NULL, &file), "'path'");
    refused(facet_case_load(m->context, "a.yaml", 0, NULL, NULL), "'file'");
    assert_int_not_equal(facet_case_load(m->context, "/nowhere/a.yaml", 0, NULL, &file), FACET_OK);
    assert_null(file);
    ok(facet_case_load(m->context, "examples/poisson.yaml", 0, NULL, &file));
    refused(facet_case_get_info(file, 1, &info), "case 1");
    refused(facet_case_parameter(file, 0, 99, &name, &number), "99");
    refused(facet_case_value(file, 0, 99, NULL, &(facet_value){.size = sizeof(facet_value)}, 0, NULL), "99");
    refused(facet_case_create_mesh(NULL, NULL), "'mesh'");
    refused(facet_case_solve(NULL, 0), "'file'");
    facet_case_destroy(&file);
    facet_case_destroy(NULL);
    static const char unknown[] = "mesh: {file: tests/meshes/annulus_1_41.msh}\n"
                                  "equation: diffusion\n"
                                  "boundary: [{on: left, dirichlet: 0}]\n";
    ok(facet_case_parse(m->context, unknown, "b.yaml", 0, NULL, &file));
    refused(facet_case_solve(file, 0), "b.yaml:3:17");
    assert_null(facet_case_mesh(file));
    facet_mesh *mesh;
    facet_problem *problem;
    ok(facet_case_create_mesh(file, &mesh));
    refused(facet_case_create_problem(file, 0, mesh, NULL, &problem), "b.yaml:3:17");
    facet_mesh_destroy(&mesh);
    facet_case_destroy(&file);
    /* A solve that does not converge leaves its report. */
    const char *few[] = {"solver.method=cg", "solver.preconditioner=none", "solver.max_iterations=2",
                         "discretization.operator=mapped"};
    ok(facet_case_parse(m->context, one, NULL, 4, few, &file));
    assert_int_equal(facet_case_solve(file, 0), FACET_NOT_CONVERGED);
    assert_non_null(strstr(facet_case_json(file), "\"converged\": false"));
    refused(facet_case_value(file, 0, 0, NULL, &(facet_value){.size = sizeof(facet_value)}, 0, NULL),
            "not solved");
    facet_case_destroy(&file);
}

static void writes(void **state) {
    struct made *m = *state;
    facet_case *file;
    char directory[] = "/tmp/facet-test-case-XXXXXX", setting[96], path[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/a.vtu", directory);
    snprintf(setting, sizeof setting, "output.file=%s", path);
    const char *settings = setting;
    ok(facet_case_parse(m->context, one, NULL, 1, &settings, &file));
    ok(facet_case_solve(file, 0));
    assert_int_equal(access(path, F_OK), -1);
    ok(facet_case_solve(file, 1));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
    facet_case_destroy(&file);
}

/* ------------------------------------------------------------------------------------ the monitor */

struct watch {
    facet_context *context;
    double last, longest; /* seconds between two events */
    int phase, longest_phase, stop_in, ticks;
};

static void hear(void *user, const facet_event *event) {
    struct watch *w = user;
    double now = base_seconds();
    if (w->last > 0 && now - w->last > w->longest) {
        w->longest = now - w->last;
        w->longest_phase = w->phase;
    }
    w->last = now;
    w->phase = (int)event->phase;
    w->ticks += event->kind == FACET_EVENT_TICK;
    if (event->phase == (facet_phase)w->stop_in && event->kind != FACET_EVENT_END)
        facet_context_interrupt(w->context);
}

/* Whatever phase is running, a monitor may stop it. */
static void stops(void **state) {
    struct made *m = *state;
    struct watch w = {.context = m->context};
    static const facet_phase phases[] = {FACET_PHASE_MESH,  FACET_PHASE_SETUP,   FACET_PHASE_CONDENSE,
                                         FACET_PHASE_LOAD,  FACET_PHASE_RECOVER, FACET_PHASE_POSTPROCESS,
                                         FACET_PHASE_SOLVE, FACET_PHASE_MEASURE};
    const char *settings[] = {"mesh.box.shape=triangle", "solver.method=cg"};
    facet_case *file;
    facet_context_set_monitor(m->context, hear, &w);
    ok(facet_case_parse(m->context, one, NULL, 2, settings, &file));
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        w.stop_in = (int)phases[i];
        facet_status status = facet_case_solve(file, 0);
        if (status != FACET_INTERRUPTED)
            fail_msg("%s: status %d, %s", facet_phase_name(phases[i]), (int)status, facet_message());
    }
    w.stop_in = -1;
    ok(facet_case_solve(file, 0));
    facet_case_destroy(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chains, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stops, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
