/* The public library from problem to field: misuse, callbacks against expressions, caller's sources, values
 * at points, integrals and extremes, linearity, and allocation faults along the whole way. */
#include <stdio.h>

#include "hdg_helpers.h"

/* ------------------------------------------------------------------------------------------ misuse */

struct bench {
    struct facet_mesh *mesh;
    facet_context *context;
    facet_problem *problem;
    facet_solver *solver;
    facet_options options;
};

static void bench_create(struct facet_mesh *mesh, int degree, struct bench *b) {
    *b = (struct bench){.mesh = mesh};
    facet_options_default(&b->options, sizeof b->options);
    b->options.degree = degree;
    b->options.rtol = 1e-12;
    ok(facet_context_create(NULL, &b->context));
    ok(facet_problem_create(b->context, mesh, FACET_DIFFUSION, &b->problem));
}

static void bench_destroy(struct bench *b) {
    facet_solver_destroy(&b->solver);
    facet_problem_destroy(&b->problem);
    facet_context_destroy(&b->context);
    mesh_destroy(&b->mesh);
}

static facet_status make_solver(struct bench *b) {
    return facet_solver_create(b->problem, &b->options, &b->solver);
}

static int one(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int i = 0; i < points->n; i++) values[i] = 1;
    return 0;
}

static void a_solver_keeps_what_it_was_made_with(void **state) {
    (void)state;
    int64_t before = live_blocks();
    const char *K[1] = {"2"};
    const double middle[2] = {0.5, 0.5};
    double u, v;
    struct bench b;
    bench_create(box("quad", 2, 2, 0, 0), 1, &b);
    ok(facet_problem_set_source(b.problem, "1"));
    ok(facet_problem_set_dirichlet(b.problem, "rest", "0"));
    ok(make_solver(&b));
    ok(facet_solver_solve(b.solver, NULL, NULL));
    ok(facet_solver_evaluate(b.solver, "u", 1, middle, &u));
    ok(facet_problem_set_parameter(b.problem, "a", 1));
    ok(facet_problem_set_conductivity(b.problem, NULL, 1, K));
    ok(facet_problem_set_reaction_function(b.problem, one, NULL));
    ok(facet_problem_set_source_function(b.problem, one, NULL));
    ok(facet_problem_set_dirichlet(b.problem, "xmin", "1"));
    ok(facet_problem_set_neumann_function(b.problem, "xmax", one, NULL));
    facet_problem_destroy(&b.problem);
    assert_null(b.problem);
    ok(facet_solver_update(b.solver, NULL));
    ok(facet_solver_solve(b.solver, NULL, NULL));
    ok(facet_solver_evaluate(b.solver, "u", 1, middle, &v));
    assert_true(u == v);
    bench_destroy(&b);
    assert_int_equal(live_blocks(), before);
}

static void names_must_be_those_of_the_mesh(void **state) {
    (void)state;
    int64_t before = live_blocks();
    const char *K[4] = {"2", "0", "0", "3"};
    struct bench b;
    bench_create(lattice(MIXED, 4, 4, 0), 1, &b);
    ok(facet_problem_set_dirichlet(b.problem, "xmin", "0"));
    refused(make_solver(&b), FACET_ERROR_INPUT, "xmax, ymin, ymax"); /* these have no condition */
    refused(facet_problem_set_neumann(b.problem, "xmin", "0"), FACET_ERROR_INPUT, "xmin");
    ok(facet_problem_set_conductivity(b.problem, "west", 1, K));
    ok(facet_problem_set_conductivity(b.problem, "west", 4, K)); /* replaces it */
    refused(facet_problem_set_conductivity(b.problem, NULL, 3, K), FACET_ERROR_INPUT, "3");
    refused(facet_problem_set_source(b.problem, "sin(w)"), FACET_ERROR_INPUT, "w");
    ok(facet_problem_set_neumann(b.problem, "rest", "0"));
    refused(make_solver(&b), FACET_ERROR_INPUT, "cells have none");
    ok(facet_problem_set_conductivity(b.problem, "north", 1, K));
    ok(facet_problem_set_neumann(b.problem, "east", "0"));
    ok(facet_problem_set_neumann(b.problem, "zmin", "0"));
    refused(make_solver(&b), FACET_ERROR_INPUT, "'north'"); /* all errors at once */
    assert_non_null(strstr(facet_message(), "'zmin'"));
    assert_non_null(strstr(facet_message(), "'east'"));
    assert_non_null(strstr(facet_message(), "xmin, xmax, ymin, ymax"));
    assert_null(b.solver);
    bench_destroy(&b);
    assert_int_equal(live_blocks(), before);
}

static void parts_must_not_overlap_nor_lie_inside(void **state) {
    (void)state;
    struct facet_mesh *mesh;
    struct bench b;
    ok(mesh_read_gmsh("tests/meshes/annulus_2_41.msh", &mesh));
    const char *inside = NULL;
    for (int g = 0; g < mesh->n_groups; g++)
        if (mesh->groups[g].dim == 1 && mesh->face_cells[2 * mesh->groups[g].ids[0] + 1] >= 0)
            inside = mesh->groups[g].name;
    assert_non_null(inside);
    bench_create(mesh, 2, &b);
    ok(facet_problem_set_dirichlet(b.problem, "rest", "0"));
    ok(facet_problem_set_dirichlet(b.problem, inside, "0"));
    refused(make_solver(&b), FACET_ERROR_INPUT, "inside the domain, one at (");
    facet_problem_destroy(&b.problem);
    ok(facet_problem_create(b.context, mesh, FACET_DIFFUSION, &b.problem));
    ok(facet_problem_set_dirichlet(b.problem, "inner", "0"));
    ok(facet_problem_set_dirichlet(b.problem, "everywhere", "0"));
    refused(make_solver(&b), FACET_ERROR_INPUT, "both 'inner' and 'everywhere'");
    bench_destroy(&b);
}

/* Two triangles far from each other. */
static struct facet_mesh *two_pieces(void) {
    static const uint8_t shapes[2] = {SHAPE_TRIANGLE, SHAPE_TRIANGLE};
    static const int64_t offsets[3] = {0, 3, 6};
    static const int32_t vertices[6] = {0, 1, 2, 3, 4, 5},
                         here[12] = {0, 1, -1, -1, 1, 2, -1, -1, 2, 0, -1, -1},
                         there[12] = {3, 4, -1, -1, 4, 5, -1, -1, 5, 3, -1, -1};
    static const double nodes[12] = {0, 0, 1, 0, 0, 1, 5, 0, 6, 0, 5, 1};
    const struct mesh_input_group groups[2] = {{.name = "here", .dim = 1, .count = 3, .vertices = here},
                                               {.name = "there", .dim = 1, .count = 3, .vertices = there}};
    const struct mesh_input input = {.dim = 2,
                                     .order = 1,
                                     .n_vertices = 6,
                                     .n_cells = 2,
                                     .shapes = shapes,
                                     .vertex_offsets = offsets,
                                     .vertices = vertices,
                                     .node_offsets = offsets,
                                     .nodes = nodes,
                                     .n_groups = 2,
                                     .groups = groups};
    struct facet_mesh *mesh;
    ok(mesh_create(&input, &mesh));
    return mesh;
}

static void every_piece_needs_a_hold(void **state) {
    (void)state;
    struct facet_mesh *mesh = two_pieces();
    struct setup setup = {.mesh = mesh,
                          .degree = 2,
                          .conditions = {{"here", "dirichlet", "x", NULL}, {"there", "neumann", "0", NULL}}};
    struct solved s;
    refused(try_solve(&setup, &s), FACET_ERROR_INPUT, "unconnected");
    setup.conditions[0] = (struct condition){"here", "neumann", "0", NULL};
    refused(try_solve(&setup, &s), FACET_ERROR_INPUT, "unconnected");
    setup.conditions[1] = (struct condition){"there", "robin", "0", "1"};
    refused(try_solve(&setup, &s), FACET_ERROR_INPUT, "unconnected");
    setup.conditions[0] = (struct condition){"here", "dirichlet", "x", NULL};
    solve(&setup, &s);
    release(&s);
    setup.conditions[1] = (struct condition){"there", "neumann", "0", NULL};
    setup.reaction = "1";
    solve(&setup, &s);
    release(&s);
    setup.reaction = "0"; /* holds nothing */
    refused(try_solve(&setup, &s), FACET_ERROR_INPUT, "unconnected");
    mesh_destroy(&mesh);
}

static void exact_excludes_what_it_determines(void **state) {
    (void)state;
    struct bench b;
    bench_create(box("quad", 2, 2, 0, 0), 1, &b);
    ok(facet_problem_set_dirichlet(b.problem, "xmin", "exact"));
    ok(facet_problem_set_neumann(b.problem, "rest", "0"));
    refused(make_solver(&b), FACET_ERROR_INPUT, "there is none");
    ok(facet_problem_set_exact(b.problem, "x*y"));
    ok(facet_problem_set_source(b.problem, "1"));
    refused(make_solver(&b), FACET_ERROR_INPUT, "source");
    bench_destroy(&b);
    bench_create(box("quad", 2, 2, 0, 0), 1, &b);
    ok(facet_problem_set_exact(b.problem, "x*y"));
    ok(facet_problem_set_conductivity_function(b.problem, NULL, 1, one, NULL));
    refused(make_solver(&b), FACET_ERROR_INPUT, "expressions");
    bench_destroy(&b);
}

static void options_have_limits(void **state) {
    (void)state;
    int64_t before = live_blocks();
    struct bench b;
    bench_create(box("quad", 1, 1, 0, 0), 1, &b);
    ok(facet_problem_set_dirichlet(b.problem, "rest", "0"));
    const facet_options good = b.options;
    facet_options bad[10];
    for (int i = 0; i < 10; i++) bad[i] = good;
    bad[0].degree = 0;
    bad[1].degree = 33;
    bad[2].rtol = 0;
    bad[3].rtol = NAN;
    bad[4].max_iterations = 0;
    bad[5].method = "magic";
    bad[6].preconditioner = "magic";
    bad[7].tau_hat = -1;
    bad[8].tau_hat = NAN;
    bad[9].tau = "1+";
    for (int i = 0; i < 10; i++) {
        b.options = bad[i];
        assert_int_equal(make_solver(&b), FACET_ERROR_INPUT);
        assert_null(b.solver);
    }
    ok(facet_solver_create(b.problem, NULL, &b.solver)); /* every face is eliminated */
    ok(facet_solver_solve(b.solver, NULL, NULL));
    facet_report report = {.size = sizeof report};
    ok(facet_solver_report(b.solver, &report));
    assert_true(report.converged && report.trace_unknowns == 0);
    bench_destroy(&b);
    assert_int_equal(live_blocks(), before);
}

static void there_is_nothing_before_the_solve(void **state) {
    (void)state;
    struct bench b;
    facet_errors errors = {.size = sizeof errors};
    facet_report report = {.size = sizeof report};
    double u, x[2] = {0.5, 0.5};
    int n;
    bench_create(box("quad", 2, 2, 0, 0), 2, &b);
    ok(facet_problem_set_dirichlet(b.problem, "rest", "0"));
    b.options.postprocess = 0;
    ok(make_solver(&b));
    ok(facet_solver_report(b.solver, &report));
    assert_false(report.converged);
    refused(facet_solver_evaluate(b.solver, "u", 1, x, &u), FACET_ERROR_INPUT, "no solution");
    refused(facet_solver_errors(b.solver, &errors), FACET_ERROR_INPUT, "no solution");
    refused(facet_solver_write(b.solver, "/dev/null", NULL), FACET_ERROR_INPUT, "no solution");
    refused(sample_take(b.solver, "u", -1, SAMPLE_MEAN, NULL, &u, &n), FACET_ERROR_INPUT, "no solution");
    ok(facet_solver_solve(b.solver, NULL, NULL));
    refused(facet_solver_evaluate(b.solver, "u_star", 1, x, &u), FACET_ERROR_INPUT, "postprocess");
    refused(facet_solver_evaluate(b.solver, "v", 1, x, &u), FACET_ERROR_INPUT, "u, u_star, q, q_star");
    refused(facet_solver_errors(b.solver, &errors), FACET_ERROR_INPUT, "exact");
    refused(facet_solver_write(b.solver, "/dev/null", "error"), FACET_ERROR_INPUT, "exact");
    refused(facet_solver_write(b.solver, "/dev/null", "u,v"), FACET_ERROR_INPUT, "'v'");
    ok(facet_solver_write(b.solver, "/dev/null", "u, q,cell, trace"));
    bench_destroy(&b);
}

/* ------------------------------------------------------------------------------------------ functions */

static int conductivity(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int i = 0; i < points->n; i++) {
        double *K = values + 4 * i;
        K[0] = 2 + points->x[i * points->dim] * points->x[i * points->dim + 1];
        K[1] = K[2] = 0.5 * cos(points->x[i * points->dim]);
        K[3] = 1 + exp(-points->x[i * points->dim + 1]);
    }
    return 0;
}

static int wave(void *user, const facet_points *points, double *values) {
    double factor = *(const double *)user;
    for (int i = 0; i < points->n; i++)
        values[i] = factor * sin(3 * points->x[i * points->dim]) * points->x[i * points->dim + 1];
    return 0;
}

static int bend(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int i = 0; i < points->n; i++)
        values[i] = 1 + points->x[i * points->dim] * points->x[i * points->dim];
    return 0;
}

static void functions_do_what_expressions_do(void **state) {
    (void)state;
    double factor = 2;
    struct facet_mesh *mesh = lattice(MIXED, 4, 4, 0.15);
    struct setup setup = {
        .mesh = mesh,
        .degree = 3,
        .n_K = 4,
        .K = {"2+x*y", "0.5*cos(x)", "0.5*cos(x)", "1+exp(-y)"},
        .reaction = "1+x^2",
        .source = "2*sin(3*x)*y",
        .conditions = {{"xmin", "dirichlet", "1+x^2", NULL}, {"rest", "neumann", "2*sin(3*x)*y", NULL}}};
    struct solved s;
    struct bench b;
    solve(&setup, &s);
    bench_create(mesh, 3, &b);
    ok(facet_problem_set_conductivity_function(b.problem, NULL, 4, conductivity, NULL));
    ok(facet_problem_set_reaction_function(b.problem, bend, NULL));
    ok(facet_problem_set_source_function(b.problem, wave, &factor));
    ok(facet_problem_set_dirichlet_function(b.problem, "xmin", bend, NULL));
    ok(facet_problem_set_neumann_function(b.problem, "rest", wave, &factor));
    ok(make_solver(&b));
    ok(facet_solver_solve(b.solver, NULL, NULL));
    struct solved t = {.solver = b.solver};
    assert_true(difference(&s, &t) < 1e-12);
    release(&s);
    bench_destroy(&b);
}

static int stubborn(void *user, const facet_points *points, double *values) {
    (void)points;
    (void)user, (void)values;
    return 7;
}

static void a_function_may_stop_the_solve(void **state) {
    (void)state;
    int64_t before = live_blocks();
    struct bench b;
    bench_create(box("triangle", 2, 2, 0, 0), 1, &b);
    ok(facet_problem_set_dirichlet(b.problem, "rest", "0"));
    ok(facet_problem_set_source_function(b.problem, stubborn, NULL));
    ok(make_solver(&b));
    refused(facet_solver_solve(b.solver, NULL, NULL), FACET_ERROR_INPUT, "7");
    facet_solver_destroy(&b.solver);
    ok(facet_problem_set_reaction_function(b.problem, stubborn, NULL));
    refused(make_solver(&b), FACET_ERROR_INPUT, "7");
    bench_destroy(&b);
    assert_int_equal(live_blocks(), before);
}

static void an_interrupt_stops_set_up_and_solve(void **state) {
    (void)state;
    int64_t before = live_blocks();
    struct bench b;
    bench_create(box("triangle", 4, 4, 0, 0), 2, &b);
    ok(facet_problem_set_dirichlet(b.problem, "rest", "0"));
    ok(facet_problem_set_source(b.problem, "1"));
    facet_interrupt();
    assert_int_equal(make_solver(&b), FACET_INTERRUPTED);
    assert_null(b.solver);
    ok(make_solver(&b));
    facet_interrupt();
    assert_int_equal(facet_solver_solve(b.solver, NULL, NULL), FACET_INTERRUPTED);
    facet_report report = {.size = sizeof report};
    ok(facet_solver_report(b.solver, &report));
    assert_false(report.converged);
    assert_string_equal(report.reason, "interrupted");
    refused(facet_solver_write(b.solver, "/dev/null", NULL), FACET_ERROR_INPUT, "no solution");
    ok(facet_solver_solve(b.solver, NULL, NULL));
    bench_destroy(&b);
    assert_int_equal(live_blocks(), before);
}

/* A solve that fails leaves no field that looks right. */
static void without_convergence_there_is_no_solution(void **state) {
    (void)state;
    struct bench b;
    double u;
    bench_create(box("triangle", 8, 8, 0, 0), 2, &b);
    ok(facet_problem_set_dirichlet(b.problem, "rest", "0"));
    ok(facet_problem_set_source(b.problem, "1"));
    b.options.method = "cg";
    b.options.max_iterations = 2;
    ok(make_solver(&b));
    refused(facet_solver_solve(b.solver, NULL, NULL), FACET_NOT_CONVERGED, "iteration limit");
    refused(facet_solver_evaluate(b.solver, "u", 1, (const double[]){0.5, 0.5}, &u), FACET_ERROR_INPUT,
            "no solution");
    bench_destroy(&b);
}

/* u is linear in f: two sources by array, their sum, and an expression. */
static void solutions_are_linear_in_the_source(void **state) {
    (void)state;
    struct bench b;
    bench_create(lattice(MIXED, 3, 3, 0.15), 3, &b);
    ok(facet_problem_set_dirichlet(b.problem, "xmin", "0"));
    ok(facet_problem_set_robin(b.problem, "rest", "1", "0"));
    ok(facet_problem_set_source(b.problem, "exp(x)*y+3"));
    ok(make_solver(&b));
    size_t n = (size_t)facet_solver_n_points(b.solver);
    double *x = test_malloc(2 * n * sizeof *x), *f = test_malloc(n * sizeof *f), *u[4];
    ok(facet_solver_points(b.solver, x));
    for (int k = 0; k < 4; k++) {
        u[k] = test_malloc(n * sizeof *u[k]);
        for (size_t i = 0; i < n; i++) {
            double first = exp(x[2 * i]) * x[2 * i + 1], second = 3;
            f[i] = k == 0 ? first : k == 1 ? second : first + second;
        }
        ok(facet_solver_solve(b.solver, k < 3 ? f : NULL, u[k]));
        facet_report report = {.size = sizeof report};
        ok(facet_solver_report(b.solver, &report));
        assert_true(report.conservation <= 1e-11);
    }
    for (size_t i = 0; i < n; i++) {
        near(u[0][i] + u[1][i], u[2][i], 1e-12);
        near(u[2][i], u[3][i], 1e-12);
    }
    double *again = test_malloc(n * sizeof *again); /* the values returned are those of the field */
    ok(facet_solver_evaluate(b.solver, "u", (int64_t)n, x, again));
    for (size_t i = 0; i < n; i++) near(again[i], u[3][i], 1e-11);
    f[n / 2] = NAN;
    refused(facet_solver_solve(b.solver, f, NULL), FACET_ERROR_INPUT, "source");
    for (int k = 0; k < 4; k++) test_free(u[k]);
    test_free(again);
    test_free(x);
    test_free(f);
    bench_destroy(&b);
}

/* ------------------------------------------------------------------------------------------ values */

static void fields_are_found_at_points(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct facet_mesh *mesh = lattice((enum kind)kind, 3, 3, 0.15);
        struct setup setup = {.mesh = mesh, .degree = 3, .exact = "x^3-2*x*y^2+1", .n_K = 1, .K = {"2"}};
        struct solved s;
        uint32_t seed = 3;
        solve(&setup, &s);
        for (int i = 0; i < 50; i++) {
            double x[2] = {0.5 + 0.5 * random_signed(&seed), 0.5 + 0.5 * random_signed(&seed)}, u, q[2];
            double exact = pow(x[0], 3) - 2 * x[0] * x[1] * x[1] + 1;
            double flux[2] = {-2 * (3 * x[0] * x[0] - 2 * x[1] * x[1]), 8 * x[0] * x[1]};
            for (int star = 0; star < 2; star++) {
                ok(facet_solver_evaluate(s.solver, star ? "u_star" : "u", 1, x, &u));
                ok(facet_solver_evaluate(s.solver, star ? "q_star" : "q", 1, x, q));
                near(u, exact, 1e-11);
                near(q[0], flux[0], 1e-10);
                near(q[1], flux[1], 1e-10);
            }
        }
        double corner[4] = {1, 1, 0, 0}, u[2];
        ok(facet_solver_evaluate(s.solver, "u", 2, corner, u));
        near(u[0], 0, 1e-11);
        near(u[1], 1, 1e-11);
        refused(facet_solver_evaluate(s.solver, "u", 1, (const double[]){1.1, 0.5}, u), FACET_ERROR_INPUT,
                "(1.1, 0.5)");
        release(&s);
        mesh_destroy(&mesh);
    }
}

static void takes(const struct solved *s, const char *field, int component, enum sample_take take,
                  const char *on, int n, double first, double second) {
    double values[3] = {NAN, NAN, NAN};
    int found;
    ok(sample_take(s->solver, field, component, take, on, values, &found));
    assert_int_equal(found, n);
    near(values[0], first, 1e-10);
    if (n > 1) near(values[1], second, 1e-10);
}

/* u = x^2 + y on the unit square, q = -(2x, 1). */
static void integrals_means_and_extremes(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct facet_mesh *mesh = lattice((enum kind)kind, 4, 4, 0);
        struct setup setup = {.mesh = mesh, .degree = 2, .exact = "x^2+y"};
        struct solved s;
        double value;
        int n;
        solve(&setup, &s);
        static const char *const names[2][2] = {{"u", "q"}, {"u_star", "q_star"}};
        for (int star = 0; star < 2; star++) {
            const char *u = names[star][0], *q = names[star][1];
            takes(&s, u, -1, SAMPLE_INTEGRAL, NULL, 1, 5.0 / 6, 0);
            takes(&s, u, -1, SAMPLE_MEAN, NULL, 1, 5.0 / 6, 0);
            takes(&s, u, -1, SAMPLE_MAX, NULL, 1, 2, 0);
            takes(&s, u, -1, SAMPLE_MIN, NULL, 1, 0, 0);
            takes(&s, q, -1, SAMPLE_INTEGRAL, NULL, 2, -1, -1);
            takes(&s, q, 1, SAMPLE_MEAN, NULL, 1, -1, 0);
            takes(&s, q, -1, SAMPLE_MAX, NULL, 1, sqrt(5), 0); /* of the magnitude */
            takes(&s, q, -1, SAMPLE_MIN, NULL, 1, 1, 0);
            takes(&s, q, 0, SAMPLE_MIN, NULL, 1, -2, 0);
            takes(&s, u, -1, SAMPLE_INTEGRAL, "west", 1, 1.0 / 24 + 0.25, 0);
            takes(&s, u, -1, SAMPLE_MEAN, "west", 1, 1.0 / 12 + 0.5, 0);
            takes(&s, u, -1, SAMPLE_MAX, "west", 1, 1.25, 0);
            takes(&s, q, 0, SAMPLE_MAX, "east", 1, -1, 0);
            takes(&s, u, -1, SAMPLE_INTEGRAL, "xmax", 1, 1.5, 0);
            takes(&s, u, -1, SAMPLE_MEAN, "ymin", 1, 1.0 / 3, 0);
            takes(&s, u, -1, SAMPLE_MAX, "xmax", 1, 2, 0);
            takes(&s, u, -1, SAMPLE_MIN, "xmax", 1, 1, 0);
            takes(&s, q, -1, SAMPLE_MAX, "ymin", 1, sqrt(5), 0);
            takes(&s, q, -1, SAMPLE_INTEGRAL, "xmax", 2, -2, -1);
        }
        takes(&s, "flux", -1, SAMPLE_INTEGRAL, "xmax", 1, -2, 0);
        takes(&s, "flux", -1, SAMPLE_INTEGRAL, "xmin", 1, 0, 0);
        takes(&s, "flux", -1, SAMPLE_MEAN, "ymin", 1, 1, 0);
        takes(&s, "flux", -1, SAMPLE_INTEGRAL, "ymax", 1, -1, 0);
        refused(sample_take(s.solver, "flux", -1, SAMPLE_INTEGRAL, NULL, &value, &n), FACET_ERROR_INPUT,
                "boundary part");
        refused(sample_take(s.solver, "flux", -1, SAMPLE_MAX, "xmax", &value, &n), FACET_ERROR_INPUT, "flux");
        refused(sample_take(s.solver, "u", 1, SAMPLE_MAX, NULL, &value, &n), FACET_ERROR_INPUT, "component");
        refused(sample_take(s.solver, "u", -1, SAMPLE_MAX, "nowhere", &value, &n), FACET_ERROR_INPUT,
                "nowhere");
        release(&s);
        mesh_destroy(&mesh);
    }
}

/* K = 1 left of 1/2 and 3 right of it: u runs 0 .. 3/4 .. 1, and the flux is 3/2 everywhere. */
static void regions_have_their_own_conductivity(void **state) {
    (void)state;
    const char *west = "k", *east[4] = {"3*k", "0", "0", "7"};
    struct bench b;
    bench_create(lattice(MIXED, 4, 3, 0), 2, &b);
    ok(facet_problem_set_parameter(b.problem, "k", 5));
    ok(facet_problem_set_parameter(b.problem, "k", 1));
    ok(facet_problem_set_conductivity(b.problem, "east", 4, east));
    ok(facet_problem_set_conductivity(b.problem, NULL, 1, &west));
    ok(facet_problem_set_dirichlet(b.problem, "xmin", "0"));
    ok(facet_problem_set_dirichlet(b.problem, "xmax", "1"));
    ok(facet_problem_set_neumann(b.problem, "rest", "0"));
    ok(make_solver(&b));
    ok(facet_solver_solve(b.solver, NULL, NULL));
    struct solved s = {.solver = b.solver};
    double u[2];
    ok(facet_solver_evaluate(b.solver, "u", 2, (const double[]){0.4, 0.3, 0.8, 0.9}, u));
    near(u[0], 0.6, 1e-12);
    near(u[1], 0.9, 1e-12);
    takes(&s, "flux", -1, SAMPLE_INTEGRAL, "xmin", 1, 1.5, 0);
    takes(&s, "flux", -1, SAMPLE_INTEGRAL, "xmax", 1, -1.5, 0);
    takes(&s, "q", -1, SAMPLE_MEAN, NULL, 2, -1.5, 0);
    bench_destroy(&b);
}

/* ------------------------------------------------------------------------------------------ faults */

/* The whole way; everything is freed on every path. */
static facet_status whole_way(int variant) {
    facet_status status = FACET_OK;
    struct bench b = {0};
    const char *K[4] = {"2+x", "0", "0", "1"};
    const facet_box box = {
        .size = sizeof(facet_box), .dim = 2, .upper = {1, 1}, .cells = {1, 1}, .shape = "triangle"};
    facet_report report = {.size = sizeof report};
    facet_errors errors = {.size = sizeof errors};
    double u, x[2] = {0.4, 0.3};
    int n;
    facet_options_default(&b.options, sizeof b.options);
    b.options.degree = 1;
    b.options.method = variant == 0 ? "direct" : "cg";
    b.options.preconditioner = variant == 2 ? "jacobi" : NULL;
    TRY(facet_context_create(NULL, &b.context));
    TRY(facet_mesh_create_box(b.context, &box, &b.mesh));
    TRY(facet_problem_create(b.context, b.mesh, FACET_DIFFUSION, &b.problem));
    TRY(facet_problem_set_parameter(b.problem, "a", 2));
    TRY(facet_problem_set_conductivity(b.problem, NULL, variant == 0 ? 4 : 1, K));
    if (variant == 1) TRY(facet_problem_set_reaction(b.problem, "1+x"));
    TRY(facet_problem_set_exact(b.problem, "a*x+y"));
    if (variant == 2) TRY(facet_problem_set_neumann(b.problem, "rest", "exact"));
    if (variant == 1) TRY(facet_problem_set_robin(b.problem, "xmin", "1", "exact"));
    TRY(facet_solver_create(b.problem, &b.options, &b.solver));
    TRY(facet_solver_solve(b.solver, NULL, NULL));
    TRY(facet_solver_report(b.solver, &report));
    TRY(facet_solver_errors(b.solver, &errors));
    TRY(facet_solver_evaluate(b.solver, "q_star", 1, x, (double[2]){0}));
    TRY(sample_take(b.solver, "u", -1, SAMPLE_MAX, NULL, &u, &n));
    TRY(sample_take(b.solver, "flux", -1, SAMPLE_MEAN, "xmin", &u, &n));
    TRY(facet_solver_write(b.solver, "/dev/null", "u,q,error,trace"));
done:
    facet_solver_destroy(&b.solver);
    facet_problem_destroy(&b.problem);
    facet_mesh_destroy(&b.mesh);
    facet_context_destroy(&b.context);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++)
        for (int variant = 0; variant < 3; variant++) {
            facet_status status = FACET_ERROR_MACHINE;
            base_set_threads(threads);
            ok(whole_way(variant)); /* what lives for good is made now */
            int64_t before = live_blocks();
            int k, step = threads == 1 ? 1 : 7;
            for (k = 1; status != FACET_OK; k += step) {
                assert_true(k < 100000);
                base_memory_fail_at(k);
                status = whole_way(variant);
                base_memory_fail_at(0);
                if (status != FACET_OK && status != FACET_ERROR_MACHINE)
                    fail_msg("allocation %d: status %d, %s", k, (int)status, facet_message());
                assert_int_equal(live_blocks(), before);
            }
            assert_true(k > 100);
        }
    base_set_threads(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_solver_keeps_what_it_was_made_with),
        cmocka_unit_test(names_must_be_those_of_the_mesh),
        cmocka_unit_test(parts_must_not_overlap_nor_lie_inside),
        cmocka_unit_test(every_piece_needs_a_hold),
        cmocka_unit_test(exact_excludes_what_it_determines),
        cmocka_unit_test(options_have_limits),
        cmocka_unit_test(there_is_nothing_before_the_solve),
        cmocka_unit_test(functions_do_what_expressions_do),
        cmocka_unit_test(a_function_may_stop_the_solve),
        cmocka_unit_test(an_interrupt_stops_set_up_and_solve),
        cmocka_unit_test(without_convergence_there_is_no_solution),
        cmocka_unit_test(solutions_are_linear_in_the_source),
        cmocka_unit_test(fields_are_found_at_points),
        cmocka_unit_test(integrals_means_and_extremes),
        cmocka_unit_test(regions_have_their_own_conductivity),
        cmocka_unit_test(every_allocation_may_fail),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
