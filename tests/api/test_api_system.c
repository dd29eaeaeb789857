/* The linear system through facet.h: K x = F, K as matrix and product, the preconditioner, history, weights,
 * samples; on every backend and device. */
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

struct way {
    const char *shape, *discretization, *operator_name, *method, *preconditioner, *precision, *conductivity;
    facet_equation equation;
};
static const struct way ways[] = {
    {"triangle", "hdg", "mapped", "direct", NULL, NULL, "1 + x", FACET_DIFFUSION},
    {"triangle", "hdg", "mapped", "cg", "pmg", NULL, "1 + x", FACET_DIFFUSION},
    {"quad", "hdg", "mapped", "cg", "gmg", NULL, "2", FACET_DIFFUSION},
    {"quad", "hdg", "mapped", "cg", "jacobi", NULL, "2", FACET_DIFFUSION},
    {"quad", "hdg", "mapped", "cg", "none", NULL, "2", FACET_DIFFUSION},
    {"tet", "hdg", "mapped", "cg", "block", NULL, "1 + x", FACET_DIFFUSION},
    {"triangle", "condensed", "mapped", "cg", "amg", NULL, "1 + x", FACET_DIFFUSION},
    {"triangle", "hdg", "mapped", "cg", "block", NULL, NULL, FACET_ELASTICITY},
    {"quad", "hdg", "tensor", "direct", NULL, NULL, "2", FACET_DIFFUSION},
    {"quad", "hdg", "tensor", "cg", "none", NULL, "2", FACET_DIFFUSION},
    {"hex", "hdg", "tensor", "cg", "jacobi", NULL, "2", FACET_DIFFUSION},
    {"quad", "hdg", "tensor", "cg", "additive", "mixed", "2", FACET_DIFFUSION},
    {"quad", "hdg", "tensor", "cg", "chebyshev", "double", "2", FACET_DIFFUSION},
    {"quad", "continuous", NULL, "direct", NULL, NULL, "2", FACET_DIFFUSION},
    {"quad", "continuous", NULL, "cg", "patches", "double", "2", FACET_DIFFUSION},
    {"hex", "continuous", NULL, "cg", "patches", "mixed", "2", FACET_DIFFUSION},
    {"quad", "continuous", NULL, "cg", "none", NULL, "2", FACET_DIFFUSION},
    {"quad", "continuous", NULL, "cg", "jacobi", NULL, "2", FACET_DIFFUSION},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

struct thing {
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    int dim;
};

static void make(facet_context *context, const struct way *way, struct thing *t) {
    facet_options o;
    int solid = way->shape[0] == 't' ? way->shape[1] == 'e' : way->shape[0] == 'h';
    const facet_box box = {.size = sizeof box,
                           .dim = t->dim = solid ? 3 : 2,
                           .cells = {2, 2, 2},
                           .upper = {1, 1, 1},
                           .shape = way->shape};
    const char *moduli[2] = {"1", "0.3"}, *zero[3] = {"0", "0", "0"}, *force[3] = {"1", "x", "1"};
    facet_options_default(&o, sizeof o);
    o.degree = 2;
    o.discretization = way->discretization;
    o.operator_name = way->operator_name;
    o.method = way->method;
    o.preconditioner = way->preconditioner;
    o.precision = way->precision;
    ok(facet_mesh_create_box(context, &box, &t->mesh));
    ok(facet_problem_create(context, t->mesh, way->equation, &t->problem));
    if (way->equation == FACET_DIFFUSION) {
        ok(facet_problem_set_conductivity(t->problem, NULL, 1, &way->conductivity));
        ok(facet_problem_set_source(t->problem, "1 + x*y"));
        ok(facet_problem_set_dirichlet(t->problem, "xmin", "1 + y"));
        ok(facet_problem_set_neumann(t->problem, "rest", "0.5"));
    } else {
        ok(facet_problem_set_material(t->problem, NULL, "E,nu", moduli));
        ok(facet_problem_set_vector_source(t->problem, t->dim, force));
        ok(facet_problem_set_displacement(t->problem, "xmin", t->dim, zero));
        ok(facet_problem_set_traction(t->problem, "rest", t->dim, zero));
    }
    ok(facet_solver_create(t->problem, &o, &t->solver));
    ok(facet_solver_solve(t->solver, NULL, NULL));
}

static void drop(struct thing *t) {
    facet_solver_destroy(&t->solver);
    facet_problem_destroy(&t->problem);
    facet_mesh_destroy(&t->mesh);
}

static double norm(int64_t n, const double *x) {
    double square = 0;
    for (int64_t i = 0; i < n; i++) square += x[i] * x[i];
    return sqrt(square);
}

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* K x = F; K is symmetric; the matrix is the product; M brings the residual of Richardson's iteration or, of
 * a direct solve, the solution. */
static void look(const struct way *way, const struct thing *t) {
    int64_t n = facet_solver_n_unknowns(t->solver), n_entries = 0;
    double *all = malloc((size_t)n * 6 * sizeof *all);
    double *F = all, *x = all + n, *y = all + 2 * n, *a = all + 3 * n, *b = all + 4 * n, *c = all + 5 * n;
    assert_true(n > 0);
    ok(facet_solver_system(t->solver, n, F, x));
    ok(facet_solver_apply(t->solver, n, x, y));
    for (int64_t i = 0; i < n; i++) a[i] = y[i] - F[i];
    if (!(norm(n, a) < 1e-8 * norm(n, F))) fail_msg("%s %s: K x is not F", way->shape, way->discretization);
    for (int64_t i = 0; i < n; i++) a[i] = sin(1.0 + (double)i), b[i] = cos(3.0 * (double)i);
    ok(facet_solver_apply(t->solver, n, a, y));
    ok(facet_solver_apply(t->solver, n, b, c));
    near(dot(n, b, y), dot(n, a, c), 1e-10);
    facet_status status = facet_solver_matrix(t->solver, n, &n_entries, NULL, NULL, NULL);
    if (way->operator_name == NULL || strcmp(way->operator_name, "tensor") == 0) {
        refused(status, "mapped");
    } else {
        int64_t *offsets = malloc((size_t)(n + 1) * sizeof *offsets), less = n_entries - 1;
        int32_t *columns = malloc((size_t)n_entries * sizeof *columns);
        double *values = malloc((size_t)n_entries * sizeof *values);
        ok(status);
        refused(facet_solver_matrix(t->solver, n, &less, offsets, columns, values), "room");
        ok(facet_solver_matrix(t->solver, n, &n_entries, offsets, columns, values));
        assert_int_equal(offsets[n], n_entries);
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
                sum += values[k] * a[columns[k]];
                if (k > offsets[i]) assert_true(columns[k] > columns[k - 1]);
            }
            near(sum, y[i], 1e-10);
        }
        free(offsets);
        free(columns);
        free(values);
    }
    int direct = strcmp(way->method, "direct") == 0;
    ok(facet_solver_precondition(t->solver, n, F, y));
    if (direct)
        for (int64_t i = 0; i < n; i++) near(y[i], x[i], 1e-7 * (1 + norm(n, x)));
    ok(facet_solver_precondition(t->solver, n, y, c)); /* positive, and up to flexible cycles symmetric */
    assert_true(dot(n, F, y) > 0);
    facet_report report = {.size = sizeof report};
    int64_t length, m;
    ok(facet_solver_report(t->solver, &report));
    assert_string_equal(report.discretization, way->discretization);
    assert_int_equal(report.degree, 2);
    assert_int_equal(report.dim, t->dim);
    assert_true(report.memory_bytes > 1e6 && report.threads > 0 && report.device[0] != '\0');
    ok(facet_solver_history(t->solver, 0, NULL, &length));
    double *history = malloc((size_t)(length + 1) * sizeof *history);
    if (length > 1) refused(facet_solver_history(t->solver, length - 1, history, &m), "room");
    ok(facet_solver_history(t->solver, length, history, &m));
    assert_int_equal(m, length);
    if (!direct) assert_true(length == report.iterations + 1 && history[length - 1] < 1e-9);
    free(history);
    refused(facet_solver_apply(t->solver, n + 1, x, y), "unknowns");
    refused(facet_solver_precondition(t->solver, n - 1, x, y), "unknowns");
    refused(facet_solver_system(t->solver, -1, x, y), "unknowns");
    x[n - 1] = NAN;
    refused(facet_solver_apply(t->solver, n, x, y), "nan");
    refused(facet_solver_precondition(t->solver, n, x, y), "nan");
    free(all);
}

/* The weights of the solver's points: the volume, and the integral of u as facet_solver_take has it. */
static void weigh(const struct thing *t, int vectors) {
    int64_t n = facet_solver_n_points(t->solver);
    int k = vectors ? t->dim : 1, n_values;
    double *w = malloc((size_t)n * (size_t)(k + 1) * sizeof *w), *u = w + n, sum = 0, all = 0, values[9];
    ok(facet_solver_weights(t->solver, w));
    ok(facet_solver_solve(t->solver, NULL, u));
    for (int64_t i = 0; i < n; i++) all += w[i], sum += w[i] * u[i * k];
    near(all, 1.0, 1e-13);
    ok(facet_solver_take(t->solver, "u", vectors ? 0 : -1, "integral", 0, NULL, values, &n_values));
    near(sum, values[0], 1e-12);
    free(w);
}

static void systems(void **state) {
    struct made *m = *state;
    static const char *const devices[] = {"cpu", "ref", "debug"};
    for (int d = 0; d < 3; d++) {
        facet_context *context;
        ok(facet_context_create(devices[d], &context));
        for (int i = 0; i < N_WAYS; i++) {
            struct thing t;
            make(context, &ways[i], &t);
            look(&ways[i], &t);
            weigh(&t, ways[i].equation == FACET_ELASTICITY);
            drop(&t);
        }
        facet_context_destroy(&context);
    }
    (void)m;
}

static void notes(void **state) {
    struct made *m = *state;
    const struct way way = {"quad", "hdg", NULL, "cg", NULL, NULL, "1 + x", FACET_DIFFUSION};
    struct thing t;
    facet_report report = {.size = sizeof report};
    char text[200], cut[10];
    make(m->context, &way, &t);
    ok(facet_solver_report(t.solver, &report));
    assert_int_equal(report.n_notes, 1);
    ok(facet_solver_note(t.solver, 0, sizeof text, text));
    assert_non_null(strstr(text, "tensor needs"));
    ok(facet_solver_note(t.solver, 0, sizeof cut, cut));
    assert_int_equal(strlen(cut), 9);
    refused(facet_solver_note(t.solver, 1, sizeof text, text), "note 1");
    refused(facet_solver_note(t.solver, -1, sizeof text, text), "note -1");
    refused(facet_solver_note(t.solver, 0, 0, text), "room");
    refused(facet_solver_note(NULL, 0, sizeof text, text), "'solver'");
    drop(&t);
}

/* The cells of a file: types, nodes inside the arrays, u at the points as evaluated. */
static void samples(void **state) {
    struct made *m = *state;
    static const int types[2][6] = {{5, 9, 10, 12}, {69, 70, 71, 72}};
    for (int i = 0; i < N_WAYS; i++)
        for (int order = 0; order < 3; order++) {
            struct thing t;
            facet_sample *sample;
            facet_sample_info info = {.size = sizeof info};
            facet_sample_field field = {.size = sizeof field};
            if (ways[i].equation == FACET_ELASTICITY && order == 1) continue;
            make(m->context, &ways[i], &t);
            ok(facet_sample_create(t.solver, "u, cell", order, &sample));
            ok(facet_sample_get_info(sample, &info));
            assert_int_equal(info.n_fields, 2);
            assert_int_equal(info.dim, t.dim);
            if (order > 0) assert_int_equal(info.order, order);
            double *x = malloc((size_t)info.n_points * 9 * sizeof *x), *u = x + 3 * info.n_points,
                   *v = u + 3 * info.n_points;
            int64_t *nodes = malloc((size_t)info.n_nodes * sizeof *nodes),
                    *offsets = malloc((size_t)(info.n_cells + 1) * sizeof *offsets);
            uint8_t *kinds = malloc((size_t)info.n_cells);
            ok(facet_sample_cells(sample, x, nodes, offsets, kinds));
            assert_int_equal(offsets[info.n_cells], info.n_nodes);
            int shape = ways[i].shape[0] == 'q'   ? 1
                        : ways[i].shape[0] == 'h' ? 3
                        : ways[i].shape[1] == 'e' ? 2
                                                  : 0;
            for (int64_t c = 0; c < info.n_cells; c++)
                assert_int_equal(kinds[c], types[info.order > 1][shape]);
            for (int64_t k = 0; k < info.n_nodes; k++) assert_in_range(nodes[k], 0, info.n_points - 1);
            ok(facet_sample_get_field(sample, 0, &field, u));
            assert_string_equal(field.name, "u");
            assert_int_equal(field.on_cells, 0);
            ok(facet_solver_evaluate(t.solver, "u", info.n_points, x, v));
            if (strcmp(ways[i].discretization, "hdg") != 0) /* u is the same on both sides of a face */
                for (int64_t k = 0; k < info.n_points; k++) near(u[k], v[k], 1e-10);
            ok(facet_sample_get_field(sample, 1, &field, u));
            assert_int_equal(field.on_cells, 1);
            near(u[info.n_cells - 1], (double)info.n_cells - 1, 0);
            refused(facet_sample_get_field(sample, 2, &field, NULL), "field 2");
            facet_solver_destroy(&t.solver); /* the sample is its own */
            ok(facet_sample_write(sample, "/tmp/facet-test-sample.vtu"));
            assert_int_equal(unlink("/tmp/facet-test-sample.vtu"), 0);
            assert_int_equal(facet_sample_write(sample, "/nowhere/a.vtu"), FACET_ERROR_MACHINE);
            facet_sample_destroy(&sample);
            free(x);
            free(nodes);
            free(offsets);
            free(kinds);
            drop(&t);
        }
    struct thing t;
    facet_sample *sample;
    facet_sample_info info = {.size = sizeof info};
    make(m->context, &ways[0], &t);
    ok(facet_sample_create(t.solver, "", 0, &sample));
    ok(facet_sample_get_info(sample, &info));
    assert_int_equal(info.n_fields, 0);
    facet_sample_destroy(&sample);
    ok(facet_sample_create(t.solver, NULL, 0, &sample));
    ok(facet_sample_get_info(sample, &info));
    assert_true(info.n_fields >= 2);
    facet_sample_destroy(&sample);
    refused(facet_sample_create(t.solver, "w", 0, &sample), "'w'");
    refused(facet_sample_create(t.solver, "u", 11, &sample), "11");
    refused(facet_sample_create(NULL, "u", 0, &sample), "'solver'");
    assert_null(sample);
    refused(facet_sample_get_info(NULL, &info), "'sample'");
    refused(facet_sample_cells(NULL, NULL, NULL, NULL, NULL), "'sample'");
    drop(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(systems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(notes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
