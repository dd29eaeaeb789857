/* Boxes through facet.h: the tensor operators give what the mapped ones give, in every number that can be
 * asked for; they are chosen where they apply and refused with the reason where they do not; many right-hand
 * sides, guesses and reactions. */
#include "hdg_helpers.h"

#include "base/run.h"

/* A problem by texts on a box. */
struct draft {
    int dim, degree, refine, periodic[3];
    const char *conductivity, *reaction, *source, *exact, *neumann,
        *other;            /* neumann: a side, "other" its data */
    const char *dirichlet; /* on all others */
    const char *discretization, *tau;
    double tau_hat;
};
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

static facet_status make_problem(const struct draft *d, struct made *m) {
    static const double graded[4] = {0, 0.4, 1, 1.3};
    facet_status status = FACET_OK;
    facet_box box = {.size = sizeof(facet_box),
                     .dim = d->dim,
                     .upper = {0, 1, 1.5},
                     .cells = {3, 2, 2},
                     .coordinates = {graded},
                     .shape = d->dim == 2 ? "quad" : "hex"};
    *m = (struct made){0};
    memcpy(box.periodic, d->periodic, sizeof box.periodic);
    facet_options_default(&m->options, sizeof m->options);
    m->options.degree = d->degree;
    m->options.discretization = d->discretization;
    m->options.tau = d->tau;
    m->options.tau_hat = d->tau_hat;
    m->options.rtol = 1e-12;
    TRY(facet_context_create(NULL, &m->context));
    TRY(facet_mesh_create_box(m->context, &box, &m->mesh));
    TRY(facet_mesh_refine(m->mesh, d->refine));
    TRY(facet_problem_create(m->context, m->mesh, FACET_DIFFUSION, &m->problem));
    if (d->conductivity != NULL) TRY(facet_problem_set_conductivity(m->problem, NULL, 1, &d->conductivity));
    if (d->reaction != NULL) TRY(facet_problem_set_reaction(m->problem, d->reaction));
    if (d->source != NULL) TRY(facet_problem_set_source(m->problem, d->source));
    if (d->exact != NULL) TRY(facet_problem_set_exact(m->problem, d->exact));
    if (d->neumann != NULL) TRY(facet_problem_set_neumann(m->problem, d->neumann, d->other));
    if (d->dirichlet != NULL) TRY(facet_problem_set_dirichlet(m->problem, "rest", d->dirichlet));
done:
    return status;
}

static facet_status make_solver(struct made *m, const char *operator_name, const char *method,
                                const char *preconditioner) {
    facet_solver_destroy(&m->solver);
    m->options.operator_name = operator_name;
    m->options.method = method;
    m->options.preconditioner = preconditioner;
    return facet_solver_create(m->problem, &m->options, &m->solver);
}

/* Every number that can be asked of a solution. Returns how many. */
static int measure(const struct made *m, int exact, double *numbers) {
    static const char *const fields[] = {"u", "q", "u_star", "q_star"};
    const double points[] = {0.31, 0.21, 0.77, 1.3, 0.5, 0.7, 0.9, 0.99, 1.2};
    int hybrid = m->options.discretization == NULL, count = 0, n;
    facet_errors e = {.size = sizeof e};
    for (int f = 0; f < (hybrid ? 4 : 2); f++) {
        double x[9];
        int dim = m->mesh->dim;
        for (int p = 0; p < 3; p++)
            for (int d = 0; d < dim; d++) x[p * dim + d] = points[3 * p + d];
        ok(facet_solver_evaluate(m->solver, fields[f], 3, x, numbers + count));
        count += 3 * (f % 2 == 0 ? 1 : dim);
        ok(sample_take(m->solver, fields[f], -1, SAMPLE_INTEGRAL, NULL, numbers + count, &n));
        count += n;
        ok(sample_take(m->solver, fields[f], -1, SAMPLE_MEAN, "xmax", numbers + count, &n));
        count += n;
    }
    ok(sample_take(m->solver, "flux", -1, SAMPLE_INTEGRAL, "xmin", numbers + count++, &n));
    ok(sample_take(m->solver, "flux", -1, SAMPLE_MEAN, "xmax", numbers + count++, &n));
    if (!exact) return count;
    ok(facet_solver_errors(m->solver, &e));
    numbers[count++] = e.u_L2;
    numbers[count++] = e.q_L2;
    numbers[count++] = e.trace_L2;
    if (hybrid) numbers[count++] = e.u_star_L2;
    if (hybrid) numbers[count++] = e.q_star_L2;
    return count;
}

/* Sources are polynomials: others would be seen through different quadratures. */
static const struct draft drafts[] = {
    {.dim = 2, .degree = 3, .source = "x*y", .dirichlet = "x+y^2", .tau = "2"},
    {.dim = 2,
     .degree = 4,
     .conductivity = "2",
     .reaction = "3",
     .exact = "x^3*y+y^5",
     .refine = 1,
     .neumann = "ymax",
     .other = "exact",
     .tau_hat = 7},
    {.dim = 2,
     .degree = 2,
     .conductivity = "x<0.4?1:50",
     .reaction = "x<1?2:0",
     .source = "x^2-y",
     .neumann = "xmax",
     .other = "y",
     .dirichlet = "0"},
    {.dim = 2, .degree = 3, .source = "x-0.65", .neumann = "rest", .other = "0", .periodic = {0, 1, 0}},
    {.dim = 3, .degree = 2, .conductivity = "3", .exact = "x^3*y+y*z^2", .neumann = "zmin", .other = "exact"},
    {.dim = 3,
     .degree = 3,
     .conductivity = "z<0.75?1:1000",
     .tau = "z<0.75?4:4000",
     .source = "x*y*z",
     .dirichlet = "x",
     .periodic = {0, 1, 0}},
    {.dim = 3, .degree = 1, .reaction = "1", .source = "x", .dirichlet = "y", .refine = 1},
    /* chessboards, where the coarse space is that of the constants of faces */
    {.dim = 2,
     .degree = 3,
     .conductivity = "mod((x<0.4)+(x<1)+(y<0.5),2)<0.5?1:1e3",
     .reaction = "1",
     .source = "x-y",
     .neumann = "xmin",
     .other = "1",
     .dirichlet = "x",
     .refine = 1},
    {.dim = 3,
     .degree = 2,
     .conductivity = "mod((x<0.4)+(x<1)+(y<0.5)+(z<0.75),2)<0.5?1:1e3",
     .source = "x*y*z",
     .neumann = "zmax",
     .other = "x",
     .dirichlet = "x*y",
     .refine = 1},
    {.dim = 3,
     .degree = 1,
     .conductivity = "mod((x<0.4)+(x<1)+(z<0.75),2)<0.5?1:200",
     .source = "x",
     .dirichlet = "z",
     .periodic = {0, 1, 0},
     .refine = 1},
};
enum { N_DRAFTS = sizeof drafts / sizeof drafts[0] };

static void compare(const struct made *m, int exact, int n, const double *wanted) {
    double numbers[128];
    assert_int_equal(measure(m, exact, numbers), n);
    double scale = 0.0;
    for (int i = 0; i < n; i++) scale = fmax(scale, fabs(wanted[i]));
    for (int i = 0; i < n; i++) near(numbers[i], wanted[i], 1e-9 * scale);
}

static void the_same_as_mapped(void **state) {
    (void)state;
    for (int i = 0; i < N_DRAFTS; i++) {
        struct made m;
        facet_report mapped = {.size = sizeof mapped}, tensor = {.size = sizeof tensor};
        double wanted[128];
        /* On the border of two conductivities an expression belongs to one of them; here tau is to be that of
         * the cell, on mapped cells too. */
        int exact = drafts[i].exact != NULL, face_tau = drafts[i].tau != NULL && drafts[i].dim == 3;
        struct draft d = drafts[i];
        if (face_tau) d.tau = NULL;
        ok(make_problem(&d, &m));
        ok(make_solver(&m, "mapped", NULL, NULL));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        ok(facet_solver_report(m.solver, &mapped));
        int n = measure(&m, exact, wanted);
        ok(make_solver(&m, NULL, NULL, NULL));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        ok(facet_solver_report(m.solver, &tensor));
        assert_string_equal(mapped.operator_name, "mapped");
        assert_string_equal(tensor.operator_name, "tensor");
        assert_int_equal(tensor.trace_unknowns, mapped.trace_unknowns);
        assert_int_equal(tensor.volume_unknowns, mapped.volume_unknowns);
        assert_true(tensor.residual < 1e-11 && tensor.conservation < 1e-10);
        compare(&m, exact, n, wanted);
        let_go(&m);
        if (!face_tau) continue;
        ok(make_problem(&drafts[i], &m));
        ok(make_solver(&m, "tensor", NULL, NULL)); /* it follows the conductivity */
        let_go(&m);
    }
}

static void all_preconditioners_agree(void **state) {
    static const char *const names[] = {"none", "jacobi", "block", "additive", "chebyshev"};
    (void)state;
    for (int i = 0; i < N_DRAFTS; i++) {
        struct made m;
        double wanted[128];
        int exact = drafts[i].exact != NULL;
        ok(make_problem(&drafts[i], &m));
        ok(make_solver(&m, "tensor", NULL, NULL));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        int n = measure(&m, exact, wanted);
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            facet_report report = {.size = sizeof report};
            ok(make_solver(&m, "tensor", "cg", names[k]));
            ok(facet_solver_solve(m.solver, NULL, NULL));
            ok(facet_solver_report(m.solver, &report));
            assert_string_equal(report.operator_name, "tensor");
            assert_string_equal(report.preconditioner, names[k]);
            compare(&m, exact, n, wanted);
        }
        let_go(&m);
    }
}

/* Whatever the jump is. From 1e4 on a solve takes more steps, for its estimate. */
static void iterations_do_not_see_jumps(void **state) {
    static const char *const K[] = {"mod((x<0.4)+(x<1)+(y<0.5)+(z<0.75),2)<0.5?1:1e2",
                                    "mod((x<0.4)+(x<1)+(y<0.5)+(z<0.75),2)<0.5?1:1e5",
                                    "mod((x<0.4)+(x<1)+(y<0.5)+(z<0.75),2)<0.5?1:1e8"};
    (void)state;
    for (int chebyshev = 0; chebyshev < 2; chebyshev++) {
        int iterations[3];
        for (int i = 0; i < 3; i++) {
            struct made m;
            facet_report report = {.size = sizeof report};
            struct draft d = {
                .dim = 3, .degree = 3, .conductivity = K[i], .source = "1", .dirichlet = "0", .refine = 2};
            ok(make_problem(&d, &m));
            m.options.rtol = 1e-8;
            ok(make_solver(&m, "tensor", "cg", chebyshev ? "chebyshev" : "additive"));
            ok(facet_solver_solve(m.solver, NULL, NULL));
            ok(facet_solver_report(m.solver, &report));
            iterations[i] = report.iterations;
            let_go(&m);
        }
        if (iterations[2] > 1.3 * iterations[1] + 3 || iterations[2] > (chebyshev ? 25 : 100) ||
            iterations[0] > iterations[1])
            fail_msg("%d, %d and %d iterations where k jumps by 1e2, 1e5 and 1e8", iterations[0],
                     iterations[1], iterations[2]);
    }
}

/* Words of huismann2020 that are for benches alone. */
static void words_of_the_paper_are_refused(void **state) {
    static const char *const words[] = {"tp", "tpt", "mm"};
    struct made m;
    (void)state;
    ok(make_problem(&drafts[4], &m));
    for (int i = 0; i < 3; i++)
        refused(make_solver(&m, words[i], NULL, NULL), FACET_ERROR_INPUT, "facet bench huismann2020");
    refused(make_solver(&m, NULL, "cg", "stars"), FACET_ERROR_INPUT, "facet bench huismann2020");
    m.options.discretization = "condensed";
    refused(make_solver(&m, "tensor", NULL, NULL), FACET_ERROR_INPUT, "needs the operator mapped");
    let_go(&m);
}

/* ------------------------------------------------------------------------------------------ the choice */

static int wavy(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int i = 0; i < points->n; i++) values[i] = 1.5 + sin(points->x[i * points->dim]);
    return 0;
}

static void tensor_is_chosen_where_it_applies(void **state) {
    static const struct {
        struct draft draft;
        const char *why; /* NULL: it applies */
    } table[] = {
        {{.dim = 2, .degree = 2, .dirichlet = "0"}, NULL},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .conductivity = "1+x"}, "the conductivity to be constant"},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .reaction = "y"}, "the reaction to be constant"},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .tau = "1+x"}, "tau to be constant"},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .conductivity = "y<0.5?1:2", .tau = "3"},
         "tau / conductivity"},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .conductivity = "y<0.5?1:2", .tau_hat = 3},
         "tau / conductivity"},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .conductivity = "y<0.5?1:2"}, NULL},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .conductivity = "floor(x/9)+2", .tau = "5"}, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct made m;
        facet_report report = {.size = sizeof report};
        ok(make_problem(&table[i].draft, &m));
        ok(make_solver(&m, "auto", NULL, NULL));
        ok(facet_solver_report(m.solver, &report));
        assert_string_equal(report.operator_name, table[i].why != NULL ? "mapped" : "tensor");
        if (table[i].why != NULL)
            assert_non_null(strstr(m.solver->notes[SOLVER_NOTE_OPERATOR], table[i].why));
        else
            assert_int_equal(m.solver->notes[SOLVER_NOTE_OPERATOR][0], '\0');
        if (table[i].why != NULL) {
            refused(make_solver(&m, "tensor", NULL, NULL), FACET_ERROR_INPUT, table[i].why);
            refused(make_solver(&m, NULL, "cg", "chebyshev"), FACET_ERROR_INPUT, table[i].why);
        }
        ok(make_solver(&m, NULL, "cg", "pmg")); /* what only mapped cells have */
        ok(facet_solver_report(m.solver, &report));
        assert_string_equal(report.operator_name, "mapped");
        refused(make_solver(&m, "tensor", "cg", "pmg"), FACET_ERROR_INPUT,
                "pmg needs the operator mapped, not tensor; use operator: mapped");
        refused(make_solver(&m, "mapped", "cg", "additive"), FACET_ERROR_INPUT, "needs the operator tensor");
        let_go(&m);
    }
}

static void other_meshes_and_conditions_are_mapped(void **state) {
    struct made m;
    facet_report report = {.size = sizeof report};
    const char *K[4] = {"2", "0", "0", "1"};
    (void)state;
    ok(make_problem(&(struct draft){.dim = 2, .degree = 2, .dirichlet = "0"}, &m));
    ok(facet_problem_set_robin(m.problem, "xmax", "1", "0"));
    refused(make_solver(&m, "tensor", NULL, NULL), FACET_ERROR_INPUT, "'xmax' has a Robin condition");
    ok(make_solver(&m, NULL, NULL, NULL));
    ok(facet_solver_report(m.solver, &report));
    assert_string_equal(report.operator_name, "mapped");
    let_go(&m);
    ok(make_problem(&(struct draft){.dim = 2, .degree = 2, .dirichlet = "0"}, &m));
    ok(facet_problem_set_conductivity(m.problem, NULL, 4, K));
    refused(make_solver(&m, "tensor", NULL, NULL), FACET_ERROR_INPUT, "not a matrix");
    ok(facet_problem_set_conductivity_function(m.problem, NULL, 1, wavy, NULL));
    refused(make_solver(&m, "tensor", NULL, NULL), FACET_ERROR_INPUT, "it varies");
    let_go(&m);
    facet_box simplices = {
        .size = sizeof(facet_box), .dim = 2, .upper = {1, 1}, .cells = {2, 2}, .shape = "triangle"};
    facet_options_default(&m.options, sizeof m.options);
    ok(facet_context_create(NULL, &m.context));
    ok(facet_mesh_create_box(m.context, &simplices, &m.mesh));
    ok(facet_problem_create(m.context, m.mesh, FACET_DIFFUSION, &m.problem));
    ok(facet_problem_set_dirichlet(m.problem, "rest", "0"));
    refused(make_solver(&m, "tensor", NULL, NULL), FACET_ERROR_INPUT, "a mesh.box of quads or hexes");
    m.options.degree = 17;
    refused(make_solver(&m, NULL, NULL, NULL), FACET_ERROR_INPUT, "a degree above 16");
    refused(make_solver(&m, NULL, NULL, NULL), FACET_ERROR_INPUT, "use a degree of at most 16");
    let_go(&m);
}

/* ------------------------------------------------------------------------------------------ bad input */

static void bad_input_is_refused(void **state) {
    static const double flat[3] = {0, 0.5, 0.5};
    static const struct {
        struct draft draft;
        const char *message;
    } table[] = {
        {{.dim = 2, .degree = 0, .dirichlet = "0"}, "not 0"},
        {{.dim = 2, .degree = 33, .dirichlet = "0"}, "to 32), not 33"},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .reaction = "-1"},
         "the reaction must not be negative, but is -1"},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .reaction = "x<1?1:-2"},
         "must not be negative, but is -2 at x="},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .conductivity = "0"}, "the conductivity must be positive"},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .tau = "0"}, "tau must be positive, but is 0 at x="},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .tau = "-3"}, "tau must be positive"},
        {{.dim = 2, .degree = 2, .dirichlet = "0", .tau_hat = -1}, "tau.hat must be positive"},
    };
    struct made m;
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        for (int insist = 0; insist < 2; insist++) {
            ok(make_problem(&table[i].draft, &m));
            refused(make_solver(&m, insist ? "tensor" : NULL, NULL, NULL), FACET_ERROR_INPUT,
                    table[i].message);
            assert_null(m.solver);
            let_go(&m);
        }
    struct draft draft = {.dim = 2, .degree = 2, .source = "1", .neumann = "rest", .other = "0"};
    ok(make_problem(&draft, &m));
    ok(make_solver(&m, "tensor", NULL, NULL));
    refused(facet_solver_solve(m.solver, NULL, NULL), FACET_ERROR_INPUT, "must balance");
    struct problem_findings findings;
    struct options words;
    ok(options_read(&m.options, &words));
    refused(problem_check_data(m.problem, &words, &findings), FACET_ERROR_INPUT, "must balance");
    facet_solver_destroy(&m.solver);
    ok(facet_problem_set_source(m.problem, "x-0.65"));
    ok(problem_check_data(m.problem, &words, &findings));
    let_go(&m);
    facet_box box = {.size = sizeof(facet_box),
                     .dim = 2,
                     .upper = {0, 1},
                     .cells = {2, 1},
                     .coordinates = {flat},
                     .shape = "quad"};
    facet_mesh *mesh;
    facet_context *context;
    ok(facet_context_create(NULL, &context));
    refused(facet_mesh_create_box(context, &box, &mesh), FACET_ERROR_INPUT, "must increase: number 1 is 0.5");
    facet_context_destroy(&context);
    ok(make_problem(&(struct draft){.dim = 2, .degree = 2, .conductivity = "y<0.5?1:2", .dirichlet = "0"},
                    &m));
    refused(make_solver(&m, "tensor", "direct", NULL), FACET_ERROR_INPUT, "the same in all cells");
    m.options.precision = "mixed";
    refused(make_solver(&m, "tensor", "cg", "block"), FACET_ERROR_INPUT, "precision belongs to");
    let_go(&m);
}

/* ------------------------------------------------------------------------------------------ many solves */

static void arrays_of_the_caller(void **state) {
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        struct made m;
        struct draft draft = {.dim = dim, .degree = 3, .source = "1+x*y", .dirichlet = "0", .refine = 1};
        ok(make_problem(&draft, &m));
        ok(make_solver(&m, "tensor", NULL, NULL));
        int64_t n = facet_solver_n_points(m.solver);
        double *x = test_malloc((size_t)(n * dim) * sizeof *x), *f = test_malloc((size_t)n * sizeof *f);
        double *u = test_malloc((size_t)n * sizeof *u), *v = test_malloc((size_t)n * sizeof *v);
        assert_int_equal(n, m.mesh->n_cells * (dim == 2 ? 16 : 64));
        ok(facet_solver_points(m.solver, x));
        for (int64_t i = 0; i < n; i++) f[i] = 1 + x[i * dim] * x[i * dim + 1];
        ok(facet_solver_solve(m.solver, NULL, u));
        ok(facet_solver_solve_n(m.solver, n, f, v));
        for (int64_t i = 0; i < n; i++) near(u[i], v[i], 1e-10);
        ok(facet_solver_evaluate(m.solver, "u", n, x, v));
        for (int64_t i = 0; i < n; i++) near(u[i], v[i], 1e-10);
        refused(facet_solver_solve_n(m.solver, n - 1, f, v), FACET_ERROR_INPUT, "facet_solver_n_points");
        refused(facet_solver_solve_n(m.solver, n + 1, NULL, v), FACET_ERROR_INPUT, "numbers, but the solver");
        test_free(x), test_free(f), test_free(u), test_free(v);
        let_go(&m);
    }
}

static void numbers_that_are_not_finite_are_refused(void **state) {
    static const char *const names[][3] = {
        {"tensor", "direct", NULL}, {"tensor", "cg", "additive"}, {"mapped", NULL, NULL}};
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct made m;
        struct draft draft = {.dim = 2, .degree = 3, .dirichlet = "0"};
        ok(make_problem(&draft, &m));
        ok(make_solver(&m, names[k][0], names[k][1], names[k][2]));
        int64_t n = facet_solver_n_points(m.solver);
        double *f = test_calloc((size_t)n, sizeof *f);
        f[3] = 1;
        ok(facet_solver_solve_n(m.solver, n, f, NULL));
        f[n - 1] = NAN;
        refused(facet_solver_solve_n(m.solver, n, f, NULL), FACET_ERROR_INPUT, "of the source is nan");
        f[5] = INFINITY;
        refused(facet_solver_solve(m.solver, f, NULL), FACET_ERROR_INPUT, "number 5 of the source is inf");
        refused(facet_solver_set_reaction(m.solver, INFINITY), FACET_ERROR_INPUT, "must be finite");
        refused(facet_solver_set_reaction(m.solver, NAN), FACET_ERROR_INPUT, "must be finite");
        ok(facet_solver_evaluate(m.solver, "u", 1, (double[2]){0.5, 0.5}, f)); /* the solution before */
        test_free(f);
        let_go(&m);
    }
}

/* Without a hold and with lambda -> 0, u -> mean(f) / lambda + v, where v is the solution without the mean of
 * f; q and the flux keep their digits, though u has lost them. */
static void weak_reactions_keep_the_flux(void **state) {
    static const char *const names[][3] = {{"tensor", "direct", NULL},
                                           {"tensor", "cg", "additive"},
                                           {"tensor", "cg", "chebyshev"},
                                           {"tensor", "cg", "block"}};
    static const double weak[] = {1e-30, 1e-13, 1e-10, 1e-6};
    const double x[4] = {0.2, 0.3, 1.1, 0.8};
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int periodic = 0; periodic < 2; periodic++) {
            struct made m;
            struct draft draft = {.dim = 2,
                                  .degree = 3,
                                  .reaction = "1",
                                  .source = "3+sin(2*pi*y)",
                                  .periodic = {0, periodic},
                                  .neumann = "rest",
                                  .other = "0",
                                  .refine = 1};
            double limit[4], q[4], star[4], u[2], flux, mean;
            int n;
            facet_report report = {.size = sizeof report};
            ok(make_problem(&draft, &m));
            ok(make_solver(&m, names[k][0], names[k][1], names[k][2]));
            int64_t n_points = facet_solver_n_points(m.solver);
            double *f = test_malloc((size_t)(2 * n_points) * sizeof *f);
            ok(facet_solver_points(m.solver, f));
            for (int64_t i = 0; i < n_points; i++) f[i] = sin(2 * M_PI * f[2 * i + 1]);
            ok(facet_solver_set_reaction(m.solver, 0));
            ok(facet_solver_solve(m.solver, f, NULL));
            ok(facet_solver_evaluate(m.solver, "q", 2, x, limit));
            for (int w = 0; w < 4; w++) {
                for (int64_t i = 0; i < n_points; i++) f[i] += w == 0 ? 3.0 : 0.0;
                ok(facet_solver_set_reaction(m.solver, weak[w]));
                ok(facet_solver_solve(m.solver, f, f + n_points));
                ok(facet_solver_report(m.solver, &report));
                assert_true(report.converged && report.residual < 1e-10 && report.conservation < 1e-9);
                ok(facet_solver_evaluate(m.solver, "q", 2, x, q));
                ok(facet_solver_evaluate(m.solver, "q_star", 2, x, star));
                for (int i = 0; i < 4; i++) near(q[i], limit[i], 1e-8 + weak[w]);
                for (int i = 0; i < 4; i++) near(star[i], q[i], 2e-2);
                ok(facet_solver_evaluate(m.solver, "u", 2, x, u));
                ok(sample_take(m.solver, "u", -1, SAMPLE_MEAN, NULL, &mean, &n));
                ok(sample_take(m.solver, "flux", -1, SAMPLE_MEAN, "xmax", &flux, &n));
                near(mean * weak[w], 3.0, 1e-10);
                near(f[n_points] * weak[w], 3.0, 1e-6);
                near(u[1] * weak[w], 3.0, 1e-6);
                near(flux, 0.0, 1e-9);
            }
            for (int64_t i = 0; i < n_points; i++) f[i] = -2.0;
            ok(facet_solver_solve(m.solver, f, f + n_points)); /* nothing but the constant */
            near(f[n_points + 1] * weak[3], -2.0, 1e-12);
            test_free(f);
            let_go(&m);
        }
}

static int iterations(const struct made *m) {
    facet_report report = {.size = sizeof report};
    ok(facet_solver_report(m->solver, &report));
    return report.iterations;
}

static void a_good_guess_saves_iterations(void **state) {
    static const char *const names[][2] = {
        {"tensor", "block"}, {"tensor", "additive"}, {"tensor", "chebyshev"}};
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct made m;
        /* u = x^2 - 2 y^2 + z^2 and its flux lie in the space: their trace is that of the solution. */
        struct draft draft = {.dim = 3, .degree = 3, .conductivity = "2", .exact = "x^2-2*y^2+z^2"};
        ok(make_problem(&draft, &m));
        ok(make_solver(&m, names[k][0], "cg", names[k][1]));
        int64_t n = facet_solver_n_points(m.solver);
        double *u = test_malloc((size_t)n * sizeof *u), *v = test_malloc((size_t)n * sizeof *v);
        ok(facet_solver_solve(m.solver, NULL, u));
        int cold = iterations(&m);
        ok(facet_solver_set_guess(m.solver, n, u));
        ok(facet_solver_solve(m.solver, NULL, v));
        assert_true(cold >= 3 && iterations(&m) <= cold / 3);
        for (int64_t i = 0; i < n; i++) near(u[i], v[i], 1e-9);
        ok(facet_solver_solve(m.solver, NULL, v)); /* a guess is for one solve */
        assert_int_equal(iterations(&m), cold);
        refused(facet_solver_set_guess(m.solver, n + 3, u), FACET_ERROR_INPUT, "facet_solver_n_points");
        u[5] = NAN;
        refused(facet_solver_set_guess(m.solver, n, u), FACET_ERROR_INPUT, "number 5");
        m.options.warm_start = 1;
        ok(make_solver(&m, names[k][0], "cg", names[k][1]));
        ok(facet_solver_solve(m.solver, NULL, u));
        assert_int_equal(iterations(&m), cold);
        ok(facet_solver_solve(m.solver, NULL, v));
        assert_true(iterations(&m) <= 1);
        for (int64_t i = 0; i < n; i++) near(u[i], v[i], 1e-9);
        for (int step = 0; step < 8; step++) { /* sources of which each is made of two before */
            for (int64_t i = 0; i < n; i++) u[i] = 1.0 + 0.01 * step;
            ok(facet_solver_solve(m.solver, u, v));
            if (step >= 3 && iterations(&m) > cold / 3)
                fail_msg("%s: %d iterations at step %d, %d at first", names[k][0], iterations(&m), step,
                         cold);
        }
        test_free(u), test_free(v);
        let_go(&m);
    }
}

static void the_reaction_may_change(void **state) {
    static const char *const names[] = {NULL, "additive", "chebyshev"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct made m, other;
        struct draft draft = {.dim = 2, .degree = 4, .reaction = "1", .exact = "sin(x)*y", .refine = 1};
        ok(make_problem(&draft, &m));
        draft.reaction = "40";
        ok(make_problem(&draft, &other));
        ok(make_solver(&m, "tensor", k > 0 ? "cg" : NULL, names[k]));
        ok(make_solver(&other, "tensor", k > 0 ? "cg" : NULL, names[k]));
        int64_t n = facet_solver_n_points(m.solver);
        double *u = test_malloc((size_t)n * sizeof *u), *v = test_malloc((size_t)n * sizeof *v);
        ok(facet_solver_solve(m.solver, NULL, v));
        ok(facet_solver_set_reaction(m.solver, 40));
        ok(facet_solver_solve(m.solver, NULL, u)); /* the source of the exact solution is another, too */
        ok(facet_solver_solve(other.solver, NULL, v));
        for (int64_t i = 0; i < n; i++) near(u[i], v[i], 1e-12);
        refused(facet_solver_set_reaction(m.solver, -1), FACET_ERROR_INPUT, "must not be negative");
        ok(make_solver(&m, "mapped", NULL, NULL));
        refused(facet_solver_set_reaction(m.solver, 2), FACET_ERROR_INPUT, "make a new solver");
        refused(facet_solver_set_guess(m.solver, facet_solver_n_points(m.solver), u), FACET_ERROR_INPUT,
                "warm_start");
        test_free(u), test_free(v);
        let_go(&m);
        let_go(&other);
    }
}

/* Degrees that dense tables could not hold, and the file of such a solution. */
static void high_degrees(void **state) {
    (void)state;
    for (int degree = 17; degree <= 32; degree += 15) {
        struct made m;
        facet_errors e = {.size = sizeof e};
        double largest;
        int n;
        ok(make_problem(&(struct draft){.dim = 3, .degree = degree, .exact = "sin(9*x)*cos(7*y)*exp(z)"},
                        &m));
        ok(make_solver(&m, NULL, NULL, NULL));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        ok(facet_solver_errors(m.solver, &e));
        assert_true(e.u_L2 < 1e-10 && e.q_L2 < 1e-8 && e.u_star_L2 < 1e-10);
        ok(sample_take(m.solver, "u", -1, SAMPLE_MAX, NULL, &largest, &n));
        near(largest, exp(1.5), 1e-2);
        if (degree == 17) ok(facet_solver_write(m.solver, "/dev/null", "u,q_star,error,trace,cell"));
        let_go(&m);
    }
}

/* ------------------------------------------------------------------------------------------ faults */

static facet_status whole_way(int variant) {
    static const char *const names[][2] = {{"tensor", NULL},
                                           {"tensor", "additive"},
                                           {"tensor", "chebyshev"},
                                           {"tensor", "block"},
                                           {"tensor", NULL}};
    struct draft draft = {.dim = 2, .degree = 2, .conductivity = "y<0.5?1:2", .exact = "x*y"};
    facet_status status = FACET_OK;
    struct made m = {0};
    facet_report report = {.size = sizeof report};
    facet_errors errors = {.size = sizeof errors};
    double u, x[2] = {0.4, 0.3}, *guess = NULL;
    int n;
    if (variant == 0 || variant == 4) draft.conductivity = "3";
    if (variant == 4) {
        draft.reaction = "1e-7";
        draft.neumann = "rest";
        draft.other = "exact";
    }
    TRY(make_problem(&draft, &m));
    TRY(make_solver(&m, names[variant][0], NULL, names[variant][1]));
    TRY(facet_solver_solve(m.solver, NULL, NULL));
    TRY(facet_solver_report(m.solver, &report));
    TRY(facet_solver_errors(m.solver, &errors));
    TRY(facet_solver_evaluate(m.solver, "q", 1, x, (double[2]){0}));
    TRY(sample_take(m.solver, "u", -1, SAMPLE_MAX, NULL, &u, &n));
    TRY(sample_take(m.solver, "flux", -1, SAMPLE_MEAN, "xmin", &u, &n));
    TRY(facet_solver_write(m.solver, "/dev/null", "u,q,error,trace"));
    TRY(CALLOC(guess, facet_solver_n_points(m.solver)));
    TRY(facet_solver_set_guess(m.solver, facet_solver_n_points(m.solver), guess));
    TRY(facet_solver_set_reaction(m.solver, 2));
    TRY(facet_solver_solve(m.solver, NULL, NULL));
done:
    base_free(&guess);
    let_go(&m);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    base_set_threads(1);
    for (int variant = 0; variant < 5; variant++) {
        facet_status status = FACET_ERROR_MACHINE;
        ok(whole_way(variant));
        int64_t before = live_blocks();
        int k;
        for (k = 1; status != FACET_OK; k++) {
            assert_true(k < 100000);
            base_memory_fail_at(k);
            status = whole_way(variant);
            base_memory_fail_at(0);
            if (status != FACET_OK && status != FACET_ERROR_MACHINE)
                fail_msg("variant %d, allocation %d: status %d, %s", variant, k, (int)status,
                         facet_message());
            assert_int_equal(live_blocks(), before);
        }
        assert_true(k > 100);
    }
    base_set_threads(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_as_mapped),
        cmocka_unit_test(all_preconditioners_agree),
        cmocka_unit_test(iterations_do_not_see_jumps),
        cmocka_unit_test(words_of_the_paper_are_refused),
        cmocka_unit_test(tensor_is_chosen_where_it_applies),
        cmocka_unit_test(other_meshes_and_conditions_are_mapped),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(arrays_of_the_caller),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(weak_reactions_keep_the_flux),
        cmocka_unit_test(a_good_guess_saves_iterations),
        cmocka_unit_test(the_reaction_may_change),
        cmocka_unit_test(high_degrees),
        cmocka_unit_test(every_allocation_may_fail),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
