/* Continuous elements through facet.h: orders of convergence with Neumann sides and anisotropic cells, the
 * same numbers as the condensed method, every method and smoother, what is refused, many right-hand sides,
 * guesses and reactions, and allocation faults. */
#include <stdio.h>

#include "hdg_helpers.h"

#include "base/run.h"

struct made {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    facet_options options;
};

static void let_go(struct made *m) {
    facet_solver_destroy(&m->solver);
    facet_problem_destroy(&m->problem);
    facet_mesh_destroy(&m->mesh);
    facet_context_destroy(&m->context);
}

/* A problem by texts on a box. */
struct draft {
    int dim, degree, cells[3], periodic[3];
    double upper[3]; /* 0: 1 */
    const char *shape, *device;
    const char *conductivity, *reaction, *source, *exact;
    const char *neumann[2], *flux, *dirichlet; /* on these sides, with this flux; on all others */
};

static facet_status make_problem(const struct draft *d, struct made *m) {
    facet_status status = FACET_OK;
    facet_box box = {.size = sizeof(facet_box),
                     .dim = d->dim,
                     .shape = d->shape != NULL ? d->shape
                              : d->dim == 2    ? "quad"
                                               : "hex"};
    *m = (struct made){0};
    for (int i = 0; i < d->dim; i++) {
        box.upper[i] = d->upper[i] > 0.0 ? d->upper[i] : 1.0;
        box.cells[i] = d->cells[i] > 0 ? d->cells[i] : 2;
        box.periodic[i] = d->periodic[i];
    }
    facet_options_default(&m->options, sizeof m->options);
    m->options.discretization = "continuous";
    m->options.degree = d->degree;
    m->options.rtol = 1e-11;
    TRY(facet_context_create(d->device, &m->context));
    TRY(facet_mesh_create_box(m->context, &box, &m->mesh));
    TRY(facet_problem_create(m->context, m->mesh, FACET_DIFFUSION, &m->problem));
    if (d->conductivity != NULL) TRY(facet_problem_set_conductivity(m->problem, NULL, 1, &d->conductivity));
    if (d->reaction != NULL) TRY(facet_problem_set_reaction(m->problem, d->reaction));
    if (d->source != NULL) TRY(facet_problem_set_source(m->problem, d->source));
    if (d->exact != NULL) TRY(facet_problem_set_exact(m->problem, d->exact));
    for (int i = 0; i < 2; i++)
        if (d->neumann[i] != NULL)
            TRY(facet_problem_set_neumann(m->problem, d->neumann[i], d->flux != NULL ? d->flux : "exact"));
    if (d->dirichlet != NULL) TRY(facet_problem_set_dirichlet(m->problem, "rest", d->dirichlet));
done:
    return status;
}

static facet_status make_solver(struct made *m) {
    facet_solver_destroy(&m->solver);
    return facet_solver_create(m->problem, &m->options, &m->solver);
}

/* ------------------------------------------------------------------------------------- orders */

static facet_errors errors_of(struct draft d, int cells, const char *method) {
    struct made m;
    facet_errors e = {.size = sizeof e};
    for (int i = 0; i < d.dim; i++) d.cells[i] = cells * (i == 0 ? 2 : 1);
    ok(make_problem(&d, &m));
    m.options.method = method;
    m.options.rtol = 1e-13;
    ok(make_solver(&m));
    ok(facet_solver_solve(m.solver, NULL, NULL));
    ok(facet_solver_errors(m.solver, &e));
    let_go(&m);
    return e;
}

/* Cells of 1 : 4 and more, two Neumann sides, a reaction. */
static void orders(void **state) {
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 1; k <= (dim == 2 ? 8 : 4); k++) {
            struct draft d = {.dim = dim,
                              .degree = k,
                              .upper = {1, 2, 1.5},
                              .conductivity = "2",
                              .reaction = "3",
                              .neumann = {"xmax", "ymin"}};
            d.exact = dim == 2 ? "sin(3*x+1)*cos(2*y)" : "sin(3*x+1)*cos(2*y)*exp(z)";
            int coarse = k <= 4 ? 4 : 2;
            for (int way = 0; way < 2; way++) {
                const char *method = way == 0 ? "direct" : "multigrid";
                facet_errors a = errors_of(d, coarse, method), b = errors_of(d, 2 * coarse, method);
                assert_true(log2(a.u_L2 / b.u_L2) > k + 1 - 0.35);
                assert_true(log2(a.q_L2 / b.q_L2) > k - 0.35);
                assert_true(b.trace_L2 < 0.0 && b.u_star_L2 < 0.0 && b.u_Linf >= 0.0);
            }
        }
}

/* ------------------------------------------------------------------------------------- the same numbers */

static const struct draft drafts[] = {
    {.dim = 2, .degree = 3, .cells = {4, 3}, .source = "x*y", .dirichlet = "x+y^2"},
    {.dim = 2,
     .degree = 4,
     .cells = {6, 4},
     .upper = {3, 1},
     .conductivity = "x<1?1:50",
     .reaction = "x<2?2:0",
     .source = "x^2-y",
     .neumann = {"xmax"},
     .flux = "y",
     .dirichlet = "0"},
    {.dim = 2, .degree = 2, .cells = {4, 4}, .source = "x-0.5", .neumann = {"rest"}, .flux = "0"},
    {.dim = 2,
     .degree = 5,
     .cells = {2, 4},
     .source = "x-0.5",
     .neumann = {"rest"},
     .flux = "0",
     .periodic = {0, 1}},
    {.dim = 3,
     .degree = 3,
     .conductivity = "x<0.5?1:5",
     .reaction = "2",
     .source = "x*z",
     .neumann = {"xmax", "zmin"},
     .flux = "y",
     .dirichlet = "x*y"},
    {.dim = 3, .degree = 2, .cells = {3, 2, 4}, .conductivity = "3", .source = "y", .dirichlet = "z"},
};
enum { N_DRAFTS = sizeof drafts / sizeof drafts[0] };

/* Through all sides but those that are joined, xmin last. */
static double flux_out(const struct made *m) {
    static const char *const sides[] = {"zmax", "zmin", "ymax", "ymin", "xmax", "xmin"};
    double sum = 0.0, flux;
    int n;
    for (int i = 6 - 2 * m->mesh->dim; i < 6; i++)
        if (sample_take(m->solver, "flux", -1, SAMPLE_INTEGRAL, sides[i], &flux, &n) == FACET_OK) sum += flux;
    return sum;
}

/* Numbers of all kinds; how many. The last is a flux that has its corners in common with others. */
static int measure(const struct made *m, double *numbers) {
    static const double places[] = {0.31, 0.21, 0.77, 0.99, 0.51, 0.7, 0.11, 0.99, 0.2};
    int dim = m->mesh->dim, count = 12, n;
    double x[9];
    for (int p = 0; p < 3; p++)
        for (int d = 0; d < dim; d++) x[p * dim + d] = places[3 * p + d];
    ok(facet_solver_evaluate(m->solver, "u", 3, x, numbers));
    ok(facet_solver_evaluate(m->solver, "q", 3, x, numbers + 3));
    if (dim == 2) count = 9;
    ok(sample_take(m->solver, "u", -1, SAMPLE_INTEGRAL, NULL, numbers + count++, &n));
    ok(sample_take(m->solver, "u", -1, SAMPLE_MEAN, "xmax", numbers + count++, &n));
    ok(sample_take(m->solver, "u", -1, SAMPLE_MAX, NULL, numbers + count++, &n));
    numbers[count++] = flux_out(m);
    ok(sample_take(m->solver, "flux", -1, SAMPLE_INTEGRAL, "xmin", numbers + count++, &n));
    return count;
}

static void the_same_as_condensed(void **state) {
    (void)state;
    for (int i = 0; i < N_DRAFTS; i++) {
        struct made m;
        facet_report condensed = {.size = sizeof condensed}, continuous = {.size = sizeof continuous};
        double wanted[32], found[32];
        ok(make_problem(&drafts[i], &m));
        m.options.rtol = 1e-13;
        m.options.discretization = "condensed";
        ok(make_solver(&m));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        ok(facet_solver_report(m.solver, &condensed));
        int n = measure(&m, wanted);
        m.options.discretization = "continuous";
        ok(make_solver(&m));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        ok(facet_solver_report(m.solver, &continuous));
        assert_int_equal(measure(&m, found), n);
        for (int j = 0; j < n; j++)
            near(found[j], wanted[j], (j < n - 1 ? 1e-9 : 5e-3) * fmax(1.0, fabs(wanted[j])));
        assert_int_equal(continuous.volume_unknowns, condensed.volume_unknowns);
        assert_true(continuous.trace_unknowns < 0 && continuous.conservation >= 0.0);
        assert_true(continuous.conservation < 1e-10 && condensed.conservation < 1e-10);
        assert_string_equal(continuous.operator_name, "tensor");
        let_go(&m);
    }
}

/* ------------------------------------------------------------------------------------- methods */

struct way {
    const char *method, *preconditioner, *smoother, *cycle, *precision;
    const char *used[2]; /* method and preconditioner that the report names */
    int most;            /* iterations, with one k, cells of 1 : 4 */
};
static const struct way ways[] = {
    {"multigrid", NULL, NULL, NULL, NULL, {"multigrid", "patches"}, 12},
    {"multigrid", "patches", "patches", "V", "double", {"multigrid", "patches"}, 12},
    {"multigrid", "gmg", NULL, "full", "mixed", {"multigrid", "patches"}, 12},
    {NULL, NULL, NULL, "full", NULL, {"multigrid", "patches"}, 12},
    {"cg", NULL, NULL, NULL, NULL, {"cg", "patches"}, 12},
    {NULL, "patches", NULL, "W", "mixed", {"cg", "patches"}, 12},
    {"fgmres", NULL, NULL, "F", NULL, {"fgmres", "patches"}, 12},
    {NULL, NULL, "additive", NULL, NULL, {"fgmres", "patches"}, 40},
    {"cg", "gmg", "chebyshev", NULL, "mixed", {"cg", "gmg"}, 40},
    {"cg", "none", NULL, NULL, NULL, {"cg", "none"}, 1000},
    {"cg", "jacobi", NULL, NULL, NULL, {"cg", "jacobi"}, 1000},
    {"fgmres", "jacobi", NULL, NULL, NULL, {"fgmres", "jacobi"}, 3000},
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

static void take(struct made *m, const struct way *w) {
    m->options.method = w->method;
    m->options.preconditioner = w->preconditioner;
    m->options.smoother = w->smoother;
    m->options.cycle = w->cycle;
    m->options.precision = w->precision;
}

static void every_method_agrees(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct draft d = {.dim = 2 + i % 2,
                          .degree = 3,
                          .cells = {4, 8, 2},
                          .conductivity = i < 2 ? "2" : "x<0.5?1:7",
                          .source = "1+x",
                          .neumann = {"ymax"},
                          .flux = "x",
                          .dirichlet = "y",
                          .device = i == 3 ? "debug" : "cpu"};
        struct made m;
        double wanted[32], found[32];
        ok(make_problem(&d, &m));
        m.options.rtol = 1e-12;
        ok(make_solver(&m));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        facet_report report = {.size = sizeof report};
        ok(facet_solver_report(m.solver, &report));
        assert_string_equal(report.method, i < 2 ? "direct" : "cg");
        assert_int_equal(report.rate < 0, i < 2);
        assert_int_equal(facet_solver_n_levels(m.solver) > 0, i >= 2);
        int n = measure(&m, wanted);
        for (int w = 0; w < N_WAYS; w++) {
            if (i >= 2 && ways[w].method != NULL && strcmp(ways[w].method, "multigrid") == 0) continue;
            take(&m, &ways[w]);
            ok(make_solver(&m));
            if (i >= 2 && facet_solver_n_levels(m.solver) > 0 && ways[w].method == NULL) continue;
            ok(facet_solver_solve(m.solver, NULL, NULL));
            ok(facet_solver_report(m.solver, &report));
            assert_string_equal(report.method, ways[w].used[0]);
            assert_string_equal(report.preconditioner, ways[w].used[1]);
            assert_true(report.residual <= 1e-12);
            if (i < 2) assert_true(report.iterations <= ways[w].most);
            measure(&m, found);
            for (int j = 0; j < n; j++) near(found[j], wanted[j], 1e-8 * fmax(1.0, fabs(wanted[j])));
        }
        let_go(&m);
    }
}

/* ------------------------------------------------------------------------------------- what is refused */

static void bad_words_are_refused(void **state) {
    static const struct {
        struct way way;
        const char *operator_name, *text;
        int degree, steps;
    } bad[] = {
        {{.preconditioner = "amg"}, NULL, "none, jacobi, gmg and patches", 0, 0},
        {{.preconditioner = "additive"}, NULL, "none, jacobi, gmg and patches", 0, 0},
        {{.smoother = "faces"}, NULL, "belongs to the discretization hdg", 0, 0},
        {{.preconditioner = "patches", .smoother = "chebyshev"}, NULL, "goes with gmg", 0, 0},
        {{.smoother = "jacobi"}, NULL, "jacobi is chebyshev with smoother_degree: 1", 0, 0},
        {{.smoother = "point"}, NULL, "runs in 'facet bench cui2024-iterations' only", 0, 0},
        {{.method = "cg", .cycle = "full"}, NULL, "goes with the method multigrid", 0, 0},
        {{.method = "cg", .cycle = "F"}, NULL, "not symmetric", 0, 0},
        {{.method = "direct", .cycle = "V"}, NULL, "does not belong to the direct solve", 0, 0},
        {{.method = "direct", .precision = "mixed"}, NULL, "does not belong to the direct solve", 0, 0},
        {{.method = "direct", .preconditioner = "patches"}, NULL, "does not belong to the direct", 0, 0},
        {{.method = "multigrid", .preconditioner = "none"}, NULL, "needs the preconditioner gmg", 0, 0},
        {{.preconditioner = "jacobi", .precision = "mixed"}, NULL, "needs the preconditioner gmg", 0, 0},
        {{.preconditioner = "none", .smoother = "chebyshev"}, NULL, "needs the preconditioner gmg", 0, 0},
        {{.method = NULL}, "mapped", "continuous has tensor", 0, 0},
        {{.method = NULL}, "mapped", "continuous has tensor", 0, 0},
        {{.method = NULL}, NULL, "must be 1 to 15", 16, 0},
        {{.smoother = "gauss"}, NULL, "unknown smoother", 0, 0},
    };
    struct draft d = {.dim = 2, .degree = 2, .source = "1", .dirichlet = "0"};
    struct made m;
    (void)state;
    ok(make_problem(&d, &m));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct problem_findings findings;
        struct options words;
        take(&m, &bad[i].way);
        m.options.operator_name = bad[i].operator_name;
        m.options.degree = bad[i].degree > 0 ? bad[i].degree : 2;
        m.options.smoother_degree = bad[i].steps;
        refused(make_solver(&m), FACET_ERROR_INPUT, bad[i].text);
        facet_status status = options_read(&m.options, &words);
        if (status == FACET_OK) status = problem_check_data(m.problem, &words, &findings);
        refused(status, FACET_ERROR_INPUT, bad[i].text);
    }
    /* Words of continuous elements elsewhere. */
    facet_options_default(&m.options, sizeof m.options);
    m.options.preconditioner = "patches";
    refused(make_solver(&m), FACET_ERROR_INPUT, "belongs to the discretization continuous");
    m.options.preconditioner = NULL;
    m.options.smoother = "additive";
    refused(make_solver(&m), FACET_ERROR_INPUT, "belongs to the discretization continuous");
    m.options.smoother = NULL;
    m.options.discretization = "continuous";
    m.options.tau_hat = 2.0;
    refused(make_solver(&m), FACET_ERROR_INPUT, "tau belongs");
    m.options.discretization = "continues";
    m.options.tau_hat = 0.0;
    refused(make_solver(&m), FACET_ERROR_INPUT, "valid: hdg, condensed, continuous");
    let_go(&m);
}

static void refuse(struct draft d, const char *robin, int matrix, const char *text) {
    static const char *const texts[] = {"2", "1", "1", "2"};
    struct made m;
    ok(make_problem(&d, &m));
    if (robin != NULL) ok(facet_problem_set_robin(m.problem, robin, "1", "0"));
    if (matrix) ok(facet_problem_set_conductivity(m.problem, NULL, 4, texts));
    refused(make_solver(&m), FACET_ERROR_INPUT, text);
    assert_non_null(strstr(facet_message(), "use the discretization condensed"));
    m.options.discretization = "condensed";
    ok(make_solver(&m));
    let_go(&m);
}

static void bad_problems_are_refused(void **state) {
    struct draft d = {.dim = 2, .degree = 2, .source = "1", .dirichlet = "0"};
    (void)state;
    refuse(d, "xmax", 0, "Robin condition");
    refuse(d, NULL, 1, "not a matrix");
    d.conductivity = "1+x";
    refuse(d, NULL, 0, "constant in every cell");
    d.conductivity = "x<0.3?1:2"; /* within a cell */
    refuse(d, NULL, 0, "constant in every cell");
    d.conductivity = NULL;
    d.reaction = "y";
    refuse(d, NULL, 0, "the reaction");
    d.reaction = NULL;
    d.shape = "triangle";
    refuse(d, NULL, 0, "quads or hexes");
    struct made m;
    d.shape = NULL;
    d.conductivity = "x<0.5?1:2";
    ok(make_problem(&d, &m));
    m.options.method = "direct";
    refused(make_solver(&m), FACET_ERROR_INPUT, "use {method: cg}");
    m.options.method = NULL;
    ok(make_solver(&m));
    ok(facet_solver_solve(m.solver, NULL, NULL));
    double value;
    refused(facet_solver_evaluate(m.solver, "u_star", 1, (const double[]){0.5, 0.5}, &value),
            FACET_ERROR_INPUT, "continuous has u and q");
    refused(facet_solver_write(m.solver, "unused.vtu", "trace"), FACET_ERROR_INPUT, "no trace");
    m.options.max_iterations = 1;
    ok(make_solver(&m));
    assert_int_equal(facet_solver_solve(m.solver, NULL, NULL), FACET_NOT_CONVERGED);
    let_go(&m);
    d = (struct draft){.dim = 2, .degree = 2, .source = "1", .neumann = {"rest"}, .flux = "0"};
    ok(make_problem(&d, &m));
    ok(make_solver(&m));
    refused(facet_solver_solve(m.solver, NULL, NULL), FACET_ERROR_INPUT, "balance");
    let_go(&m);
}

/* Where no node is free, the boundary values are the solution. */
static void no_unknowns(void **state) {
    (void)state;
    for (int jump = 0; jump < 2; jump++) {
        struct draft d = {.dim = 2, .degree = 1, .cells = {4, 1}, .source = "1", .dirichlet = "x+y"};
        struct made m;
        double value;
        if (jump) d.conductivity = "x<0.5?1:2";
        ok(make_problem(&d, &m));
        ok(make_solver(&m));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        ok(facet_solver_evaluate(m.solver, "u", 1, (const double[]){0.3, 0.4}, &value));
        near(value, 0.7, 1e-14);
        let_go(&m);
    }
}

/* Whatever the jump is, on odd numbers of cells (where patches have a factor of everything below), with
 * Neumann sides, and where the vertices are too many for a factor; and the solution is that of patches. */
static void iterations_do_not_see_jumps(void **state) {
    static const char *const jumps[] = {"1e2", "1e8"};
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        int dim = kind == 2 ? 2 : 3, n = kind == 0 ? 5 : kind == 1 ? 4 : 70, iterations[2];
        for (int i = 0; i < 2; i++) {
            char K[128];
            struct made m;
            facet_report report = {.size = sizeof report};
            const double place[] = {0.31, 0.42, 0.53};
            double with_vertices, with_patches;
            snprintf(K, sizeof K,
                     "mod(43758.5*sin(127.1*floor(%d*x)+311.7*floor(%d*y)+74.7*floor(%d*%s)),1)<0.5?1:%s", n,
                     n, n, dim == 3 ? "z" : "0", jumps[i]);
            struct draft d = {.dim = dim,
                              .degree = 3,
                              .cells = {n, n, n},
                              .conductivity = K,
                              .source = "1",
                              .dirichlet = "0",
                              .neumann = {kind == 1 ? "xmax" : NULL},
                              .flux = "0"};
            ok(make_problem(&d, &m));
            m.options.rtol = 1e-10;
            ok(make_solver(&m));
            ok(facet_solver_solve(m.solver, NULL, NULL));
            ok(facet_solver_report(m.solver, &report));
            assert_string_equal(report.preconditioner, "pmg");
            iterations[i] = report.iterations;
            ok(facet_solver_evaluate(m.solver, "u", 1, place, &with_vertices));
            if (kind == 0 || (kind == 1 && i == 0)) {
                m.options.smoother = "patches";
                ok(make_solver(&m));
                ok(facet_solver_solve(m.solver, NULL, NULL));
                ok(facet_solver_evaluate(m.solver, "u", 1, place, &with_patches));
                near(with_vertices, with_patches, 1e-6 * fabs(with_patches));
            }
            let_go(&m);
        }
        if (iterations[0] > 25 || iterations[1] > iterations[0] + 5)
            fail_msg("%d iterations, %d with a jump a million times as large", iterations[0], iterations[1]);
    }
}

/* ------------------------------------------------------------------------------------- many solves */

static double *array(const struct made *m) {
    double *a = calloc((size_t)facet_solver_n_points(m->solver), sizeof *a);
    assert_non_null(a);
    return a;
}

/* u = (1 + c) sin(x) sin(y): sources of the caller, a warm start, a guess, another reaction. */
static void callers_arrays(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        const double pi = 3.14159265358979323846;
        struct draft d = {.dim = 2, .degree = 7, .cells = {4, 4}, .upper = {pi, pi}, .dirichlet = "0"};
        struct made m;
        facet_report first = {.size = sizeof first}, next = {.size = sizeof next};
        if (way == 2) d.conductivity = "1+0*floor(x)"; /* a number, but not a constant */
        ok(make_problem(&d, &m));
        m.options.method = way == 0 ? "direct" : "cg";
        m.options.smoother = way == 2 ? "chebyshev" : NULL;
        m.options.warm_start = 1;
        ok(make_solver(&m));
        int64_t n = facet_solver_n_points(m.solver);
        double *x = calloc((size_t)(2 * n), sizeof *x), *f = array(&m), *u = array(&m), *shape = array(&m);
        assert_non_null(x);
        ok(facet_solver_points(m.solver, x));
        for (int64_t i = 0; i < n; i++) shape[i] = sin(x[2 * i]) * sin(x[2 * i + 1]);
        for (int step = 0; step < 4; step++) {
            double lambda = step < 2 ? 0.0 : 5.0, size = 1.0 + 1e-6 * (step % 2);
            if (step == 2) ok(facet_solver_set_reaction(m.solver, lambda));
            for (int64_t i = 0; i < n; i++) f[i] = size * (2.0 + lambda) * shape[i];
            ok(facet_solver_solve_n(m.solver, n, f, u));
            for (int64_t i = 0; i < n; i++) near(u[i], size * shape[i], 1e-7);
            ok(facet_solver_report(m.solver, step == 0 ? &first : &next));
            if (way > 0 && step == 1) assert_true(next.iterations < first.iterations);
        }
        ok(facet_solver_set_guess(m.solver, n, u)); /* the solution itself */
        ok(facet_solver_solve(m.solver, f, u));
        ok(facet_solver_report(m.solver, &next));
        if (way > 0) assert_true(next.iterations <= 1);
        refused(facet_solver_set_reaction(m.solver, -1.0), FACET_ERROR_INPUT, "negative");
        free(x);
        free(f);
        free(u);
        free(shape);
        let_go(&m);
    }
}

/* From a singular problem to a regular one and back. */
static void reaction_makes_regular(void **state) {
    struct draft d = {
        .dim = 2, .degree = 3, .cells = {4, 2}, .source = "x-0.5", .neumann = {"rest"}, .flux = "0"};
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct made m;
        double before, after, mean;
        int n;
        const double place[] = {0.1, 0.3};
        ok(make_problem(&d, &m));
        m.options.method = way == 0 ? "direct" : "multigrid";
        ok(make_solver(&m));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        ok(facet_solver_evaluate(m.solver, "u", 1, place, &before));
        ok(facet_solver_set_reaction(m.solver, 1e6));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        ok(sample_take(m.solver, "u", -1, SAMPLE_MEAN, NULL, &mean, &n));
        near(mean, 0.0, 1e-9);
        ok(facet_solver_evaluate(m.solver, "u", 1, place, &after));
        near(after, -0.4e-6, 2e-8);
        ok(facet_solver_set_reaction(m.solver, 0.0));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        ok(facet_solver_evaluate(m.solver, "u", 1, place, &after));
        near(after, before, 1e-9);
        let_go(&m);
    }
}

/* ------------------------------------------------------------------------------------- faults */

static facet_status whole_life(const struct draft *d, const struct way *w) {
    facet_status status = FACET_OK;
    struct made m;
    double value;
    facet_errors e = {.size = sizeof e};
    TRY(make_problem(d, &m));
    take(&m, w);
    TRY(make_solver(&m));
    TRY(facet_solver_solve(m.solver, NULL, NULL));
    TRY(facet_solver_errors(m.solver, &e));
    TRY(facet_solver_evaluate(m.solver, "q", 1, (const double[]){0.3, 0.4}, (double[3]){0}));
    int n;
    TRY(sample_take(m.solver, "flux", -1, SAMPLE_INTEGRAL, "xmin", &value, &n));
    TRY(facet_solver_set_reaction(m.solver, 2.0));
    TRY(facet_solver_solve(m.solver, NULL, NULL));
done:
    let_go(&m);
    return status;
}

static void allocation_faults(void **state) {
    static const struct draft jump = {.dim = 2,
                                      .degree = 2,
                                      .cells = {4, 2},
                                      .conductivity = "x<0.5?1:3",
                                      .exact = "x*y",
                                      .dirichlet = "exact"};
    static const struct draft closed = {
        .dim = 2, .degree = 2, .cells = {2, 2}, .exact = "x+y", .neumann = {"rest"}};
    static const struct draft high = {.dim = 2,
                                      .degree = 2,
                                      .cells = {4, 2},
                                      .conductivity = "x<0.5?1:300",
                                      .exact = "x*y",
                                      .dirichlet = "exact"};
    static const struct way by[] = {
        {.method = NULL}, {.preconditioner = "jacobi"}, {.smoother = "chebyshev"}};
    (void)state;
    base_set_threads(1);
    for (int i = 0; i < 5; i++) {
        const struct draft *d = i == 4 ? &high : i < 3 ? &jump : &closed;
        struct base_memory before, after;
        ok(whole_life(d, &by[i == 4 ? 0 : i % 3])); /* what libraries keep */
        base_memory_read(&before);
        for (int64_t k = 1;; k++) {
            base_memory_fail_at(k);
            facet_status status = whole_life(d, &by[i == 4 ? 0 : i % 3]);
            base_memory_fail_at(0);
            base_memory_read(&after);
            assert_int_equal(after.live_blocks, before.live_blocks);
            if (status == FACET_OK) break;
            assert_int_equal(status, FACET_ERROR_MACHINE);
        }
    }
}

/* A solver that could not change its reaction is what it was. */
static void failed_reaction(void **state) {
    struct draft d = {
        .dim = 2, .degree = 3, .cells = {4, 2}, .source = "x-0.5", .neumann = {"rest"}, .flux = "0"};
    (void)state;
    struct made m;
    double before, after;
    const double place[] = {0.1, 0.3};
    ok(make_problem(&d, &m));
    m.options.method = "multigrid";
    ok(make_solver(&m));
    ok(facet_solver_solve(m.solver, NULL, NULL));
    ok(facet_solver_evaluate(m.solver, "u", 1, place, &before));
    for (int64_t k = 1;; k++) {
        base_memory_fail_at(k);
        facet_status status = facet_solver_set_reaction(m.solver, 7.0);
        base_memory_fail_at(0);
        if (status == FACET_OK) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
        ok(facet_solver_solve(m.solver, NULL, NULL));
        ok(facet_solver_evaluate(m.solver, "u", 1, place, &after));
        near(after, before, 1e-9);
    }
    let_go(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders),
        cmocka_unit_test(the_same_as_condensed),
        cmocka_unit_test(every_method_agrees),
        cmocka_unit_test(bad_words_are_refused),
        cmocka_unit_test(bad_problems_are_refused),
        cmocka_unit_test(no_unknowns),
        cmocka_unit_test(iterations_do_not_see_jumps),
        cmocka_unit_test(callers_arrays),
        cmocka_unit_test(reaction_makes_regular),
        cmocka_unit_test(allocation_faults),
        cmocka_unit_test(failed_reaction),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
