/* Problems whose solution stays on a device with a memory of its own, through facet.h: boxes, and bodies
 * whose moduli vary: `debug` (and `cuda` where there is a GPU) gives what `cpu` gives in every number that
 * can be asked for; arrays of the device in and out; arrays in the wrong memory and numbers that are not
 * finite are refused; every allocation may fail. */
#include <stdio.h>

#include "hdg_helpers.h"

#include "base/run.h"
#include "long.h"
#include "problem/mapped_backend.h"

struct made {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
};

static void let_go(struct made *m) {
    facet_solver_destroy(&m->solver);
    facet_problem_destroy(&m->problem);
    facet_mesh_destroy(&m->mesh);
    facet_context_destroy(&m->context);
}

/* C's sin and the expression's are two functions: the caller's is called on the host. */
static int swing(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int64_t i = 0; i < points->n; i++)
        values[i] = 1.0 + points->x[i * points->dim] * points->x[i * points->dim + 1];
    return 0;
}

enum variant {
    HDG,
    HDG_FUNCTION,
    HDG_DIRECT,
    CONTINUOUS,
    CONTINUOUS_FUNCTION,
    FLAT,
    FLOATING,
    N_VARIANTS,
    WEAK
};

static facet_status make(const char *device, enum variant variant, struct made *m) {
    facet_status status = FACET_OK;
    int floating = variant == FLOATING || variant == WEAK; /* up to a constant, or nearly */
    int flat = variant == FLAT, continuous = variant == CONTINUOUS || variant == CONTINUOUS_FUNCTION;
    facet_box box = {.size = sizeof(facet_box),
                     .dim = flat ? 2 : 3,
                     .upper = {1, 1.3, 0.8},
                     .cells = {4, 2, 2},
                     .shape = flat ? "quad" : "hex"};
    facet_options options;
    *m = (struct made){0};
    facet_options_default(&options, sizeof options);
    options.degree = 3;
    options.rtol = 1e-13;
    if (continuous) options.discretization = "continuous";
    if (!continuous) options.method = variant == HDG_DIRECT ? "direct" : "cg";
    TRY(facet_context_create(device, &m->context));
    TRY(facet_mesh_create_box(m->context, &box, &m->mesh));
    TRY(facet_problem_create(m->context, m->mesh, FACET_DIFFUSION, &m->problem));
    TRY(variant == HDG_FUNCTION || variant == CONTINUOUS_FUNCTION
            ? facet_problem_set_source_function(m->problem, swing, NULL)
            : facet_problem_set_source(m->problem, floating ? "sin(2*pi*x)" : "sin(3*x)*exp(y) + x*y"));
    if (variant != FLOATING) TRY(facet_problem_set_reaction(m->problem, variant == WEAK ? "1e-6" : "0.7"));
    if (!floating) TRY(facet_problem_set_dirichlet(m->problem, "xmin", "y*y"));
    if (floating) TRY(facet_problem_set_neumann(m->problem, "zmax", "cos(2*pi*x)"));
    if (!floating) TRY(facet_problem_set_neumann(m->problem, "ymax", "1 + x"));
    TRY(facet_problem_set_neumann(m->problem, "rest", "0"));
    TRY(facet_solver_create(m->problem, &options, &m->solver));
done:
    return status;
}

static void close_to(double x, double y) {
    if (!(fabs(x - y) <= 1e-10 * (1 + fabs(y)))) fail_msg("%.15g is not %.15g", x, y);
}

/* Everything that a case may ask of a solution. */
static int ask(const struct made *m, double *answers) {
    int n = 0, many;
    const double points[2][3] = {{0.3, 0.4, 0.5}, {0.9, 1.2, 0.1}};
    facet_report report = {.size = sizeof report};
    static const struct {
        const char *field;
        enum sample_take take;
        const char *on;
    } takes[] = {{"u", SAMPLE_MEAN, NULL},      {"u", SAMPLE_MAX, NULL},
                 {"u", SAMPLE_MIN, NULL},       {"q", SAMPLE_MAX, NULL},
                 {"q", SAMPLE_INTEGRAL, NULL},  {"flux", SAMPLE_INTEGRAL, "xmin"},
                 {"u", SAMPLE_INTEGRAL, "ymax"}};
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
        ok(sample_take(m->solver, takes[i].field, -1, takes[i].take, takes[i].on, answers + n, &many));
        n += many;
    }
    ok(facet_solver_evaluate(m->solver, "u", 2, points[0], answers + n));
    ok(facet_solver_evaluate(m->solver, "q", 2, points[0], answers + n + 2));
    n += 8;
    ok(facet_solver_report(m->solver, &report));
    assert_true(report.conservation < 1e-11);
    return n;
}

static void run_on(const char *device) {
    for (enum variant v = 0; v < N_VARIANTS; v++) {
        struct made here, there;
        double a[64] = {0}, b[64] = {0};
        ok(make("cpu", v, &here));
        ok(make(device, v, &there));
        ok(facet_solver_solve(here.solver, NULL, NULL));
        ok(facet_solver_solve(there.solver, NULL, NULL));
        if (v != FLAT) { /* points have three coordinates */
            int n = ask(&here, a);
            assert_int_equal(ask(&there, b), n);
            for (int i = 0; i < n; i++) close_to(b[i], a[i]);
        }
        let_go(&here);
        let_go(&there);
    }
}

static void a_device_answers_as_the_host_does(void **state) {
    (void)state;
    int64_t before = live_blocks();
    facet_context *gpu = NULL;
    run_on("debug");
    if (facet_context_create("cuda", &gpu) == FACET_OK) run_on("cuda");
    facet_context_destroy(&gpu);
    assert_int_equal(live_blocks(), before);
}

/* Errors against an exact solution in two and three dimensions, on boxes that are closed to rings, with a
 * conductivity of the cells: found on the device as on the host. */
static facet_status measure_on(const char *device, int dim, int ring, int continuous, facet_errors *errors) {
    facet_status status = FACET_OK;
    struct made m = {0};
    facet_options options;
    facet_box box = {.size = sizeof box,
                     .dim = dim,
                     .upper = {1, 1.3, 0.8},
                     .cells = {5, 3, 2},
                     .shape = dim == 2 ? "quad" : "hex"};
    box.periodic[1] = ring;
    facet_options_default(&options, sizeof options);
    options.degree = 3;
    options.rtol = 1e-13;
    if (continuous)
        options.discretization = "continuous";
    else
        options.method = "cg";
    TRY(facet_context_create(device, &m.context));
    TRY(facet_mesh_create_box(m.context, &box, &m.mesh));
    TRY(facet_problem_create(m.context, m.mesh, FACET_DIFFUSION, &m.problem));
    const char *k[] = {ring ? "2" : "if(x < 0.4, 1, 3)"};
    TRY(facet_problem_set_conductivity(m.problem, NULL, 1, k));
    TRY(facet_problem_set_exact(m.problem, ring ? "sin(3*x)*cos(2*pi*y/1.3)" : "exp(x)*sin(2*y)"));
    TRY(facet_problem_set_dirichlet(m.problem, "rest", "exact"));
    TRY(facet_solver_create(m.problem, &options, &m.solver));
    TRY(facet_solver_solve(m.solver, NULL, NULL));
    *errors = (facet_errors){.size = sizeof *errors};
    TRY(facet_solver_errors(m.solver, errors));
done:
    let_go(&m);
    return status;
}

static void errors_are_found_there(void **state) {
    (void)state;
    facet_context *gpu = NULL;
    int has_gpu = facet_context_create("cuda", &gpu) == FACET_OK;
    facet_context_destroy(&gpu);
    for (int i = 0; i < 16; i++) {
        facet_errors here, there;
        int dim = 2 + i / 2 % 2, ring = i % 2, continuous = i / 4 % 2;
        if (i >= 8 && !has_gpu) break;
        ok(measure_on("cpu", dim, ring, continuous, &here));
        ok(measure_on(i < 8 ? "debug" : "cuda", dim, ring, continuous, &there));
        assert_true(here.u_L2 > 1e-8 && here.q_L2 > 1e-8);
        close_to(there.u_L2 / here.u_L2, 1);
        close_to(there.u_Linf / here.u_Linf, 1);
        close_to(there.q_L2 / here.q_L2, 1);
        if (continuous) continue;
        assert_true(here.u_star_L2 > 1e-10 && here.q_star_L2 > 1e-10 && here.trace_L2 > 1e-8);
        close_to(there.u_star_L2 / here.u_star_L2, 1);
        close_to(there.q_star_L2 / here.q_star_L2, 1);
        close_to(there.trace_L2 / here.trace_L2, 1);
    }
}

/* The same source as an array of the host, and of the device; a guess, another reaction. */
/* None of them takes an array of the device. */
static void calls_of_the_host(struct made *m, double *there) {
    const int64_t n = facet_solver_n_points(m->solver), n_unknowns = facet_solver_n_unknowns(m->solver);
    const double point[3] = {0.3, 0.4, 0.5};
    double value[8], *y = test_calloc((size_t)n_unknowns, sizeof *y);
    int n_values;
    facet_solver *s = m->solver;
    assert_int_equal(facet_solver_set_guess(s, n, there), FACET_ERROR_INPUT);
    assert_int_equal(facet_solver_points(s, there), FACET_ERROR_INPUT);
    assert_int_equal(facet_solver_weights(s, there), FACET_ERROR_INPUT);
    assert_int_equal(facet_solver_evaluate(s, "u", 1, there, value), FACET_ERROR_INPUT);
    assert_int_equal(facet_solver_evaluate(s, "u", 1, point, there), FACET_ERROR_INPUT);
    assert_int_equal(facet_solver_take(s, "u", -1, "max", 0, NULL, there, &n_values), FACET_ERROR_INPUT);
    assert_int_equal(facet_solver_apply(s, n_unknowns, there, y), FACET_ERROR_INPUT);
    assert_int_equal(facet_solver_precondition(s, n_unknowns, y, there), FACET_ERROR_INPUT);
    assert_int_equal(facet_solver_system(s, n_unknowns, there, y), FACET_ERROR_INPUT);
    test_free(y);
}

static void arrays_of_the_device(void **state) {
    (void)state;
    for (enum variant v = HDG; v <= FLAT; v++) {
        struct made m;
        ok(make("debug", v, &m));
        int64_t n = facet_solver_n_points(m.solver);
        size_t bytes = (size_t)n * sizeof(double);
        double *f = test_malloc(bytes), *u = test_malloc(bytes), *other = test_malloc(bytes);
        void *there = NULL;
        for (int64_t i = 0; i < n; i++) f[i] = sin(0.1 * (double)i);
        ok(facet_solver_solve(m.solver, f, u));
        ok(facet_device_alloc(m.context, bytes, &there));
        ok(facet_device_write(m.context, there, f, bytes));
        ok(facet_solver_solve_device(m.solver, there, there));
        ok(facet_device_read(m.context, other, there, bytes));
        for (int64_t i = 0; i < n; i++) close_to(other[i], u[i]);

        ok(facet_solver_set_guess(m.solver, n, u));
        ok(facet_solver_set_reaction(m.solver, 2.0));
        ok(facet_solver_solve(m.solver, f, other));
        ok(facet_solver_set_reaction(m.solver, 0.7));
        ok(facet_solver_solve(m.solver, f, other));
        for (int64_t i = 0; i < n; i++) close_to(other[i], u[i]);

        assert_int_equal(facet_solver_solve_device(m.solver, f, NULL), FACET_ERROR_INPUT);
        assert_int_equal(facet_solver_solve_device(m.solver, NULL, u), FACET_ERROR_INPUT);
        assert_int_equal(facet_solver_solve(m.solver, there, NULL), FACET_ERROR_INPUT);
        assert_int_equal(facet_solver_solve(m.solver, NULL, there), FACET_ERROR_INPUT);
        assert_int_equal(facet_device_write(m.context, f, u, bytes), FACET_ERROR_INPUT);
        assert_int_equal(facet_device_read(m.context, there, there, bytes), FACET_ERROR_INPUT);
        calls_of_the_host(&m, there);
        assert_int_equal(facet_solver_solve_device(m.solver, (double *)((char *)there + 4), NULL),
                         FACET_ERROR_INPUT);
        assert_int_equal(
            facet_solver_solve_device(m.solver, NULL, (double *)there + (bytes + 4095) / 4096 * 512 - 1),
            FACET_ERROR_INPUT);
        assert_int_equal(facet_device_write(m.context, there, f, bytes + 8192), FACET_ERROR_INPUT);
        f[n / 2] = NAN;
        ok(facet_device_write(m.context, there, f, bytes));
        assert_int_equal(facet_solver_solve_device(m.solver, there, NULL), FACET_ERROR_INPUT);
        char number[32];
        snprintf(number, sizeof number, "number %lld ", (long long)(n / 2));
        assert_non_null(strstr(facet_message(), number));
        facet_device_free(m.context, &there);
        assert_null(there);
        test_free(f);
        test_free(u);
        test_free(other);
        let_go(&m);
    }
}

/* Problems with a weak reaction keep their data on the host, and say so; on the host any array will do. */
static void what_cannot_be_done_is_refused(void **state) {
    (void)state;
    struct made m;
    double *f, *u;
    void *there = NULL;
    ok(make("debug", WEAK, &m));
    size_t bytes = (size_t)facet_solver_n_points(m.solver) * sizeof(double);
    ok(facet_device_alloc(m.context, bytes, &there));
    assert_int_equal(facet_solver_solve_device(m.solver, there, there), FACET_ERROR_INPUT);
    ok(facet_solver_solve(m.solver, NULL, NULL));
    facet_device_free(m.context, &there);
    let_go(&m);
    ok(make("cpu", HDG, &m));
    f = test_calloc(1, bytes);
    u = test_malloc(bytes);
    ok(facet_solver_solve_device(m.solver, f, u));
    test_free(f);
    test_free(u);
    let_go(&m);
}

static facet_status whole_way(enum variant variant) {
    facet_status status = FACET_OK;
    struct made m = {0};
    double value[8];
    const double point[3] = {0.3, 0.4, 0.5};
    void *there = NULL;
    int n;
    facet_report report = {.size = sizeof report};
    TRY(make("debug", variant, &m));
    TRY(facet_solver_solve(m.solver, NULL, NULL));
    TRY(sample_take(m.solver, "u", -1, SAMPLE_MAX, NULL, value, &n));
    TRY(sample_take(m.solver, "u", -1, SAMPLE_MEAN, NULL, value, &n));
    TRY(sample_take(m.solver, "flux", -1, SAMPLE_INTEGRAL, "xmin", value, &n));
    TRY(facet_solver_evaluate(m.solver, "q", 1, point, value));
    TRY(facet_solver_report(m.solver, &report));
    TRY(facet_device_alloc(m.context, (size_t)facet_solver_n_points(m.solver) * sizeof(double), &there));
    TRY(facet_solver_solve_device(m.solver, NULL, there));
done:
    if (m.context != NULL) facet_device_free(m.context, &there);
    let_go(&m);
    return status;
}

/* Moduli that are expressions, and the same as a function of the caller, which the host is asked for. */
static int young(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int64_t i = 0; i < points->n; i++) {
        values[2 * i] = 2.0 + points->x[i * points->dim];
        values[2 * i + 1] = 0.3 + 0.1 * points->x[i * points->dim + 1];
    }
    return 0;
}

static facet_status make_body(const char *device, int by_function, struct made *m) {
    facet_status status = FACET_OK;
    facet_box box = {
        .size = sizeof box, .dim = 3, .upper = {1, 1.3, 0.8}, .cells = {2, 1, 1}, .shape = "tet"};
    facet_options options;
    *m = (struct made){0};
    facet_options_default(&options, sizeof options);
    options.degree = 1;
    options.rtol = 1e-12;
    TRY(facet_context_create(device, &m->context));
    TRY(facet_mesh_create_box(m->context, &box, &m->mesh));
    TRY(facet_problem_create(m->context, m->mesh, FACET_ELASTICITY, &m->problem));
    TRY(by_function
            ? facet_problem_set_material_function(m->problem, NULL, "E,nu", young, NULL)
            : facet_problem_set_material(m->problem, NULL, "E,nu", (const char *[]){"2 + x", "0.3 + 0.1*y"}));
    TRY(facet_problem_set_vector_source(m->problem, 3, (const char *[]){"1", "x*z", "-exp(y)"}));
    TRY(facet_problem_set_displacement(m->problem, "xmin", 3, (const char *[]){"0", "0", "0.1*y"}));
    TRY(facet_problem_set_traction(m->problem, "rest", 3, (const char *[]){"0", "y", "0"}));
    TRY(facet_solver_create(m->problem, &options, &m->solver));
    TRY(facet_solver_solve(m->solver, NULL, NULL));
done:
    return status;
}

/* u and the stress at two points, and the force at a side. */
static facet_status ask_body(const struct made *m, double *answers) {
    facet_status status = FACET_OK;
    const double points[2][3] = {{0.3, 0.4, 0.5}, {0.9, 1.2, 0.1}};
    facet_report report = {.size = sizeof report};
    int n;
    TRY(facet_solver_evaluate(m->solver, "u", 2, points[0], answers));
    TRY(facet_solver_evaluate(m->solver, "stress", 2, points[0], answers + 6));
    TRY(sample_take(m->solver, "traction", -1, SAMPLE_INTEGRAL, "xmin", answers + 24, &n));
    TRY(facet_solver_report(m->solver, &report));
    assert_true(report.conservation < 1e-11);
    assert_int_equal(report.n_notes, 0); /* nothing is left to the host */
done:
    return status;
}

static void bodies_whose_moduli_vary(void **state) {
    (void)state;
    int64_t before = live_blocks();
    facet_context *gpu = NULL;
    const int has_gpu = facet_context_create("cuda", &gpu) == FACET_OK;
    facet_context_destroy(&gpu);
    for (int i = 0; i < (has_gpu ? 4 : 2); i++) {
        struct made here, there;
        double a[27], b[27];
        ok(make_body("cpu", i % 2, &here));
        ok(make_body(i < 2 ? "debug" : "cuda", i % 2, &there));
        ok(ask_body(&here, a));
        ok(ask_body(&there, b));
        for (int k = 0; k < 27; k++) close_to(b[k], a[k]);
        let_go(&here);
        let_go(&there);
    }
    assert_int_equal(live_blocks(), before);
}

/* Diffusion whose conductivity is an expression, or the same as a function of the caller, with a tau that
 * varies: all of it stays on the device, which asks the host for values of the function. */
static facet_status make_varied(const char *device, int by_function, struct made *m) {
    facet_status status = FACET_OK;
    facet_box box = {
        .size = sizeof box, .dim = 3, .upper = {1, 1.3, 0.8}, .cells = {2, 2, 1}, .shape = "tet"};
    facet_options options;
    *m = (struct made){0};
    facet_options_default(&options, sizeof options);
    options.degree = 2;
    options.rtol = 1e-12;
    options.tau = "1 + x";
    TRY(facet_context_create(device, &m->context));
    TRY(facet_mesh_create_box(m->context, &box, &m->mesh));
    TRY(facet_problem_create(m->context, m->mesh, FACET_DIFFUSION, &m->problem));
    TRY(by_function ? facet_problem_set_conductivity_function(m->problem, NULL, 1, swing, NULL)
                    : facet_problem_set_conductivity(m->problem, NULL, 1, (const char *[]){"1 + x*y"}));
    TRY(facet_problem_set_reaction(m->problem, "0.7 + x"));
    TRY(facet_problem_set_source(m->problem, "sin(3*x)*exp(y)"));
    TRY(facet_problem_set_dirichlet(m->problem, "xmin", "y*y"));
    TRY(facet_problem_set_neumann(m->problem, "rest", "1 + x"));
    TRY(facet_solver_create(m->problem, &options, &m->solver));
    TRY(facet_solver_solve(m->solver, NULL, NULL));
done:
    return status;
}

static void data_that_vary_stay(void **state) {
    (void)state;
    int64_t before = live_blocks();
    for (int i = 0; i < 2; i++) {
        struct made here, there;
        double a[64], b[64];
        ok(make_varied("cpu", i, &here));
        ok(make_varied("debug", i, &there));
        assert_false(mapped_of(here.solver)->hdg->stays);
        assert_true(mapped_of(there.solver)->hdg->stays);
        int n = ask(&here, a);
        assert_int_equal(ask(&there, b), n);
        for (int k = 0; k < n; k++) close_to(b[k], a[k]);
        let_go(&here);
        let_go(&there);
    }
    assert_int_equal(live_blocks(), before);
}

static facet_status whole_way_of_a_body(void) {
    facet_status status = FACET_OK;
    struct made m = {0};
    double answers[27];
    TRY(make_body("debug", 1, &m));
    TRY(ask_body(&m, answers));
done:
    let_go(&m);
    return status;
}

static facet_status whole_way_of_varied(void) {
    facet_status status = FACET_OK;
    struct made m = {0};
    double value[3];
    int n;
    TRY(make_varied("debug", 1, &m));
    TRY(sample_take(m.solver, "u", -1, SAMPLE_MEAN, NULL, value, &n));
done:
    let_go(&m);
    return status;
}

/* The whole way of a variant; beyond the last: with errors, a body, and data that vary. */
enum { N_WAYS = CONTINUOUS_FUNCTION + 5 };
static facet_status one_way(int v) {
    facet_errors errors;
    if (v > CONTINUOUS_FUNCTION + 3) return whole_way_of_varied();
    if (v > CONTINUOUS_FUNCTION + 2) return whole_way_of_a_body();
    return v <= CONTINUOUS_FUNCTION ? whole_way((enum variant)v)
                                    : measure_on("debug", 2, 0, v == CONTINUOUS_FUNCTION + 2, &errors);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    base_set_threads(1);
    for (int v = HDG; v < N_WAYS; v++) {
        facet_status status = FACET_ERROR_MACHINE;
        ok(one_way(v));
        int64_t before = live_blocks();
        int k;
        const int step =
            is_long_run() ? 1 : 3; /* the default run takes a third of them, other ones for each way */
        for (k = 1 + v % step; status != FACET_OK; k += step) {
            assert_true(k < 100000);
            base_memory_fail_at(k);
            status = one_way(v);
            base_memory_fail_at(0);
            if (status != FACET_OK && status != FACET_ERROR_MACHINE)
                fail_msg("variant %d, allocation %d: status %d, %s", v, k, (int)status, facet_message());
            assert_int_equal(live_blocks(), before);
        }
        assert_true(k > 100);
    }
    base_set_threads(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_answers_as_the_host_does),
        cmocka_unit_test(errors_are_found_there),
        cmocka_unit_test(arrays_of_the_device),
        cmocka_unit_test(bodies_whose_moduli_vary),
        cmocka_unit_test(data_that_vary_stay),
        cmocka_unit_test(what_cannot_be_done_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
