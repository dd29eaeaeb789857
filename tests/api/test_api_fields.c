/* Data as functions and as fields of other solvers through facet.h: the same numbers as from expressions. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api_helpers.h"

/* ------------------------------------------------------------------------------------ functions */

/* What the user pointer says: c0 + c1 x + c2 n_x, in every value. */
struct line {
    int n;
    double c[3];
};

static int give(void *user, const facet_points *p, double *values) {
    const struct line *l = user;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < l->n; k++)
            values[i * l->n + k] = l->c[0] + l->c[1] * p->x[i * p->dim] +
                                   (p->normals != NULL ? l->c[2] * p->normals[i * p->dim] : 0);
    return 0;
}

/* k of springs as a matrix: 1 + x on the diagonal. */
static int give_matrix(void *user, const facet_points *p, double *values) {
    (void)user;
    int d = p->dim;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < d * d; k++) values[i * d * d + k] = k % (d + 1) == 0 ? 1 + p->x[i * d] : 0;
    return 0;
}

static int stop(void *user, const facet_points *p, double *values) {
    (void)user, (void)p, (void)values;
    return 7;
}

/* Both problems solved with degree 2, and u compared at the points. */
static void same_solution(const facet_problem *a, const facet_problem *b) {
    facet_solver *s[2];
    facet_options o;
    facet_options_default(&o, sizeof o);
    o.degree = 2;
    ok(facet_solver_create(a, &o, &s[0]));
    ok(facet_solver_create(b, &o, &s[1]));
    int64_t n = facet_solver_n_points(s[0]);
    double *u = calloc((size_t)n * 4, sizeof *u), *v = u + 2 * n;
    ok(facet_solver_solve(s[0], NULL, u));
    ok(facet_solver_solve(s[1], NULL, v));
    double most = 0;
    for (int64_t i = 0; i < 2 * n; i++) most = fmax(most, fabs(u[i]));
    assert_true(most > 1e-3);
    for (int64_t i = 0; i < 2 * n; i++) near(u[i], v[i], 1e-9 * most);
    free(u);
    facet_solver_destroy(&s[0]);
    facet_solver_destroy(&s[1]);
}

static void diffusion_functions(void **state) {
    struct made *m = *state;
    facet_mesh *mesh;
    facet_problem *p[2];
    struct line a = {1, {1, 2, 0}}, g = {1, {3, 0, 1}}, f = {1, {1, 1, 0}}, r = {1, {2, 1, 0}};
    const char *text = "1 + x";
    ok(facet_mesh_read(m->context, "tests/meshes/annulus_2_41.msh", &mesh));
    for (int i = 0; i < 2; i++) ok(facet_problem_create(m->context, mesh, FACET_DIFFUSION, &p[i]));
    ok(facet_problem_set_robin(p[0], "inner", "1 + 2*x + 4", "3 + nx"));
    a.c[0] = 5; /* positive */
    ok(facet_problem_set_robin_function(p[1], "inner", give, &a, give, &g));
    ok(facet_problem_set_group_source(p[0], "lower part", 1, &text));
    ok(facet_problem_set_group_source_function(p[1], "lower part", give, &f));
    r.c[0] = 9;
    ok(facet_problem_set_group_reaction(p[0], "lower part", "9 + x"));
    ok(facet_problem_set_group_reaction_function(p[1], "lower part", give, &r));
    for (int i = 0; i < 2; i++) ok(facet_problem_set_neumann(p[i], "rest", "0"));
    same_solution(p[0], p[1]);

    /* Another a: an update sees it. */
    facet_solver *s;
    double before[9], after[9];
    int n, changed;
    ok(facet_solver_create(p[1], NULL, &s));
    ok(facet_solver_solve(s, NULL, NULL));
    ok(facet_solver_take(s, "u", -1, "mean", 0, NULL, before, &n));
    a.c[0] = 50;
    ok(facet_solver_update(s, &changed));
    assert_true(changed & FACET_TRACE);
    ok(facet_solver_solve(s, NULL, NULL));
    ok(facet_solver_take(s, "u", -1, "mean", 0, NULL, after, &n));
    assert_true(fabs(after[0] - before[0]) > 0.01 * fabs(before[0]));
    facet_solver_destroy(&s);
    ok(facet_solver_create(p[1], NULL, &s));
    ok(facet_solver_solve(s, NULL, NULL));
    ok(facet_solver_take(s, "u", -1, "mean", 0, NULL, before, &n));
    near(after[0], before[0], 1e-9);
    a.c[0] = -50; /* refused, and the solver waits for another */
    refused(facet_solver_update(s, NULL), "robin");
    a.c[0] = 50;
    ok(facet_solver_update(s, NULL));
    ok(facet_solver_solve(s, NULL, NULL));
    facet_solver_destroy(&s);

    refused(facet_problem_set_robin_function(NULL, "inner", give, &a, give, &g), "'problem'");
    refused(facet_problem_set_robin_function(p[1], NULL, give, &a, give, &g), "'part'");
    refused(facet_problem_set_robin_function(p[1], "outer", NULL, &a, give, &g), "'a'");
    refused(facet_problem_set_robin_function(p[1], "outer", give, &a, NULL, &g), "'g'");
    refused(facet_problem_set_robin_function(p[1], "inner", give, &a, give, &g), "two conditions");
    refused(facet_problem_set_pressure_function(p[1], "outer", give, &a), "elasticity");
    refused(facet_problem_set_spring_function(p[1], "outer", 1, give, &a), "elasticity");
    refused(facet_problem_set_expansion_function(p[1], NULL, give, &a), "elasticity");
    ok(facet_problem_set_group_source_function(p[1], "lower part", stop, NULL));
    refused(facet_solver_create(p[1], NULL, &s) == FACET_OK ? facet_solver_solve(s, NULL, NULL)
                                                            : FACET_ERROR_INPUT,
            "7");
    facet_solver_destroy(&s);
    for (int i = 0; i < 2; i++) facet_problem_destroy(&p[i]);
    facet_mesh_destroy(&mesh);
}

static void elastic_functions(void **state) {
    struct made *m = *state;
    facet_mesh *mesh;
    facet_problem *p[2];
    const facet_box box = {
        .size = sizeof box, .dim = 2, .cells = {3, 3}, .upper = {1, 1}, .shape = "triangle"};
    static const char *const springs[3][4] = {{"1 + x"}, {"1 + x", "1 + x"}, {"1 + x", "0", "0", "1 + x"}};
    const char *moduli[2] = {"1", "0.3"};
    struct line k = {1, {1, 1, 0}}, pressure = {1, {1, 2, 1}}, alpha = {1, {0.1, 0.2, 0}};
    static const int counts[3] = {1, 2, 4};
    ok(facet_mesh_create_box(m->context, &box, &mesh));
    for (int which = 0; which < 3; which++) {
        for (int i = 0; i < 2; i++) {
            ok(facet_problem_create(m->context, mesh, FACET_ELASTICITY, &p[i]));
            ok(facet_problem_set_material(p[i], NULL, "E,nu", moduli));
            ok(facet_problem_set_temperature(p[i], "1 + y", "0"));
        }
        ok(facet_problem_set_spring(p[0], "rest", counts[which], springs[which]));
        k.n = counts[which];
        ok(facet_problem_set_spring_function(p[1], "rest", counts[which], which == 2 ? give_matrix : give,
                                             &k));
        ok(facet_problem_set_pressure(p[0], "xmax", "1 + 2*x + nx"));
        ok(facet_problem_set_pressure_function(p[1], "xmax", give, &pressure));
        ok(facet_problem_set_expansion(p[0], NULL, "0.1 + 0.2*x"));
        ok(facet_problem_set_expansion_function(p[1], NULL, give, &alpha));
        same_solution(p[0], p[1]);
        refused(facet_problem_set_spring_function(p[1], "xmin", 3, give, &k), "3");
        refused(facet_problem_set_spring_function(p[1], "xmin", 1, NULL, &k), "'k'");
        refused(facet_problem_set_spring_function(p[1], "rest", 1, give, &k), "two spring");
        refused(facet_problem_set_pressure_function(p[1], "xmin", NULL, &k), "'p'");
        refused(facet_problem_set_expansion_function(p[1], NULL, NULL, &k), "'function'");
        for (int i = 0; i < 2; i++) facet_problem_destroy(&p[i]);
    }
    facet_mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------ fields */

static const char *const shapes[] = {"triangle", "quad", "tet", "hex"};

/* u = 1 + x y + y^2, which degree 2 has exactly, by three discretizations. */
static void solve_exact(facet_context *context, int shape, const char *discretization, facet_mesh **mesh,
                        facet_problem **problem, facet_solver **solver) {
    facet_options o;
    const facet_box box = {.size = sizeof box,
                           .dim = 2 + shape / 2,
                           .cells = {3, 2, 2},
                           .upper = {1, 1, 1},
                           .shape = shapes[shape]};
    facet_options_default(&o, sizeof o);
    o.degree = 2;
    o.discretization = discretization;
    ok(facet_mesh_create_box(context, &box, mesh));
    ok(facet_problem_create(context, *mesh, FACET_DIFFUSION, problem));
    ok(facet_problem_set_exact(*problem, "1 + x*y + y^2"));
    ok(facet_solver_create(*problem, &o, solver));
    ok(facet_solver_solve(*solver, NULL, NULL));
}

static double exact(const double *x) {
    return 1 + x[0] * x[1] + x[1] * x[1];
}

/* Many points, also in the order in which cells are left again and again. */
static void evaluates(void **state) {
    struct made *m = *state;
    enum { N = 10000 };
    static const char *const devices[] = {"cpu", "debug"};
    double *x = malloc(N * 3 * sizeof *x), *u = malloc(N * 3 * sizeof *u), *v = malloc(N * 3 * sizeof *v);
    (void)m;
    for (int d = 0; d < 2; d++) {
        facet_context *context;
        ok(facet_context_create(devices[d], &context));
        for (int shape = 0; shape < 4; shape++)
            for (int k = 0; k < (shape % 2 ? 2 : 1); k++) {
                facet_mesh *mesh;
                facet_problem *problem;
                facet_solver *solver;
                facet_field *field, *newest;
                int dim = 2 + shape / 2;
                solve_exact(context, shape, k == 0 ? "hdg" : "continuous", &mesh, &problem, &solver);
                for (int i = 0; i < N * dim; i++) x[i] = fmod(0.618033988749895 * (i + 1) * (1 + i % dim), 1);
                ok(facet_field_create(solver, "u", &field));
                assert_int_equal(facet_field_components(field), 1);
                ok(facet_field_evaluate(field, N, x, u));
                ok(facet_solver_evaluate(solver, "u", N, x, v));
                for (int i = 0; i < N; i++) {
                    near(u[i], exact(x + i * dim), 1e-8);
                    near(v[i], u[i], 0);
                }
                for (int threads = 1; threads < 4; threads++) { /* the same bits */
                    ok(facet_context_set_threads(context, threads));
                    ok(facet_field_evaluate(field, N, x, v));
                    assert_memory_equal(u, v, N * sizeof *u);
                }
                x[(N / 2) * dim] = 7;
                refused(facet_field_evaluate(field, N, x, u), "(7,");
                x[0] = NAN;
                refused(facet_field_evaluate(field, 1, x, u), "");
                refused(facet_field_evaluate(field, -1, x, u), "-1");
                refused(facet_field_evaluate(NULL, 1, x, u), "'field'");
                facet_field_destroy(&field);
                ok(facet_field_create(solver, "q", &field));
                assert_int_equal(facet_field_components(field), dim);
                ok(facet_field_create(solver, "u", &newest));
                ok(facet_solver_solve(solver, NULL, NULL));
                x[0] = 0.5;
                ok(facet_field_evaluate(newest, 1, x, u)); /* u of the new solution */
                near(u[0], exact(x), 1e-8);
                facet_field_destroy(&newest);
                refused(facet_field_evaluate(field, 1, x, u), "facet_field_update");
                ok(facet_field_update(field));
                ok(facet_field_evaluate(field, 1, x, u));
                near(u[1], -(x[0] + 2 * x[1]), 1e-7);
                facet_field_destroy(&field);
                refused(facet_field_create(solver, "w", &field), "'w'");
                assert_null(field);
                facet_solver_destroy(&solver);
                facet_problem_destroy(&problem);
                facet_mesh_destroy(&mesh);
            }
        facet_context_destroy(&context);
    }
    free(x);
    free(u);
    free(v);
}

/* u of one problem on one mesh as source, conductivity and Dirichlet values of another on another; and called
 * inside a function of one's own. */
static int twice(void *user, const facet_points *points, double *values) {
    int answer = facet_field_function(user, points, values);
    for (int i = 0; i < points->n; i++) values[i] *= 2;
    return answer;
}

static void carries(void **state) {
    struct made *m = *state;
    for (int k = 0; k < 2; k++) {
        facet_mesh *mesh, *other, *solid;
        facet_problem *problem, *p[2], *elastic, *spatial;
        facet_solver *solver;
        facet_field *u, *q;
        const facet_box box = {
            .size = sizeof box, .dim = 2, .cells = {4, 5}, .upper = {1, 1}, .shape = "triangle"};
        facet_box space = box;
        const char *text = "1 + x*y + y^2", *half[1] = {"2 + 2*x*y + 2*y^2"};
        solve_exact(m->context, 1, k == 0 ? "hdg" : "continuous", &mesh, &problem, &solver);
        ok(facet_mesh_create_box(m->context, &box, &other));
        for (int i = 0; i < 2; i++) ok(facet_problem_create(m->context, other, FACET_DIFFUSION, &p[i]));
        ok(facet_field_create(solver, "u", &u));
        ok(facet_field_create(solver, "q", &q));
        ok(facet_problem_set_source(p[0], text));
        ok(facet_problem_set_source_function(p[1], facet_field_function, u));
        ok(facet_problem_set_conductivity(p[0], NULL, 1, half));
        ok(facet_problem_set_conductivity_function(p[1], NULL, 1, twice, u));
        ok(facet_problem_set_dirichlet(p[0], "rest", text));
        ok(facet_problem_set_dirichlet_function(p[1], "rest", facet_field_function, u));
        same_solution(p[0], p[1]);
        refused(facet_problem_set_source_function(p[1], facet_field_function, q), "2 components");
        refused(facet_problem_set_source_function(p[1], facet_field_function, NULL), "facet_field");
        ok(facet_problem_create(m->context, other, FACET_ELASTICITY, &elastic));
        ok(facet_problem_set_source_function(elastic, facet_field_function, q));
        refused(facet_problem_set_traction_function(elastic, "rest", NULL, facet_field_function, u),
                "1 components");
        refused(facet_problem_set_material_function(elastic, NULL, "E,nu", facet_field_function, u),
                "components");
        space.dim = 3, space.cells[2] = 1, space.upper[2] = 1, space.shape = "tet";
        ok(facet_mesh_create_box(m->context, &space, &solid));
        ok(facet_problem_create(m->context, solid, FACET_DIFFUSION, &spatial));
        refused(facet_problem_set_source_function(spatial, facet_field_function, u), "dimensions");
        /* A mesh that it does not cover. */
        facet_solver *none;
        ok(facet_mesh_scale(other, 2));
        facet_status status = facet_solver_create(p[1], NULL, &none);
        refused(status, "outside the mesh");
        facet_problem_destroy(&spatial);
        facet_mesh_destroy(&solid);
        facet_problem_destroy(&elastic);
        for (int i = 0; i < 2; i++) facet_problem_destroy(&p[i]);
        facet_mesh_destroy(&other);
        facet_field_destroy(&u);
        facet_field_destroy(&q);
        facet_solver_destroy(&solver);
        facet_problem_destroy(&problem);
        facet_mesh_destroy(&mesh);
    }
}

/* ------------------------------------------------------------------------------------ threads */

/* One field asked by many threads at once, each solving a problem of its own with it. */
static void *work(void *user) {
    facet_field *field = user;
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    facet_options o;
    const facet_box box = {
        .size = sizeof box, .dim = 2, .cells = {3, 3}, .upper = {1, 1}, .shape = "triangle"};
    double *answer = malloc(sizeof *answer), values[9], *x = NULL;
    int n;
    facet_options_default(&o, sizeof o);
    o.degree = 2;
    *answer = NAN;
    if (facet_context_create("cpu", &context) != FACET_OK) return answer;
    facet_context_set_threads(context, 1);
    if (facet_mesh_create_box(context, &box, &mesh) == FACET_OK &&
        facet_problem_create(context, mesh, FACET_DIFFUSION, &problem) == FACET_OK &&
        facet_problem_set_source_function(problem, facet_field_function, field) == FACET_OK &&
        facet_problem_set_dirichlet(problem, "rest", "0") == FACET_OK &&
        facet_solver_create(problem, &o, &solver) == FACET_OK &&
        facet_solver_solve(solver, NULL, NULL) == FACET_OK) {
        int64_t m = facet_solver_n_unknowns(solver);
        x = calloc((size_t)m * 2, sizeof *x);
        for (int i = 0; i < 20; i++) facet_solver_apply(solver, m, x, x + m);
        if (facet_solver_take(solver, "u", -1, "integral", 0, NULL, values, &n) == FACET_OK)
            *answer = values[0];
        free(x);
    }
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return answer;
}

static void many_threads(void **state) {
    struct made *m = *state;
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    facet_field *u;
    double first = 0;
    solve_exact(m->context, 0, "hdg", &mesh, &problem, &solver);
    ok(facet_field_create(solver, "u", &u));
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, u), 0);
    for (int i = 0; i < THREADS; i++) {
        void *answer;
        assert_int_equal(pthread_join(threads[i], &answer), 0);
        if (i == 0) first = *(double *)answer;
        assert_true(first > 0);
        assert_true(*(double *)answer == first); /* the same bits */
        free(answer);
    }
    facet_field_destroy(&u);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(diffusion_functions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(elastic_functions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(evaluates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(carries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
