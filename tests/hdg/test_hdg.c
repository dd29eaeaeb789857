/* HDG for diffusion: polynomials are solved to rounding, the matrix is symmetric and (semi-)definite, cells
 * are conservative, the fast paths agree with the general one, and results depend neither on threads nor
 * device. */
#include <lapacke.h>
#include <stdio.h>

#include "base/run.h"
#include "hdg_helpers.h"

#define N_KINDS 7
static struct facet_mesh *mesh_of_kind(int kind) {
    switch (kind) {
    case 0:
        return box("triangle", 2, 3, 0, 0);
    case 1:
        return box("quad", 2, 3, 0, 0);
    case 2:
        return lattice(TRIANGLES, 3, 2, 0.2);
    case 3:
        return lattice(QUADS, 3, 3, 0.2);
    case 4:
        return lattice(MIXED, 3, 3, 0.2);
    case 5:
        return box("triangle", 1, 1, 0, 0);
    default:
        return box("quad", 1, 1, 0, 0);
    }
}

static void polynomial(int degree, char *text, size_t bytes) {
    snprintf(text, bytes, "(0.3+x-0.7*y)^%d + 0.5*(x+y)^%d - 2*y", degree, degree);
}

/* ------------------------------------------------------------------------------------------ exactness */

/* Every kind of condition, with and without reaction, with scalar and anisotropic K. */
static void polynomials_are_solved_to_rounding(void **state) {
    (void)state;
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int degree = 1; degree <= 6; degree++)
            for (int variant = 0; variant < 4; variant++) {
                char exact[128];
                struct facet_mesh *mesh = mesh_of_kind(kind);
                struct setup setup = {
                    .mesh = mesh,
                    .degree = degree,
                    .exact = exact,
                    .n_K = variant % 2 ? 4 : 1,
                    .K = {"2", "0.5", "0.5", "1"},
                    .reaction = variant / 2 ? "3" : NULL,
                    .tau = variant == 3 ? "1+x+y" : "2",
                    .conditions = {{"xmax", "neumann", "exact", NULL}, {"ymin", "robin", "exact", "2+x"}}};
                struct solved s;
                polynomial(degree, exact, sizeof exact);
                solve(&setup, &s);
                assert_true(s.errors.u_L2 < 2e-12);
                assert_true(s.errors.u_Linf < 1e-11);
                assert_true(s.errors.q_L2 < 4e-11);
                assert_true(s.errors.trace_L2 < 1e-11);
                assert_true(s.errors.u_star_L2 < 2e-12);
                assert_true(s.errors.q_star_L2 < 4e-11);
                assert_true(s.report.conservation <= 1e-11);
                release(&s);
                mesh_destroy(&mesh);
            }
}

/* Without any flux, rounding must not look like an imbalance. */
static void constants_are_conservative(void **state) {
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        struct facet_mesh *mesh = mesh_of_kind(kind);
        struct setup setup = {.mesh = mesh, .degree = 3, .exact = "7"};
        struct solved s;
        solve(&setup, &s);
        assert_true(s.errors.u_L2 < 1e-12);
        assert_true(s.report.conservation <= 1e-11);
        release(&s);
        mesh_destroy(&mesh);
    }
}

/* On cells of order g the mapped polynomials contain x and y themselves. */
static void linear_functions_are_exact_on_curved_cells(void **state) {
    (void)state;
    for (int order = 1; order <= 5; order++) {
        char path[64];
        struct facet_mesh *mesh;
        struct solved s;
        snprintf(path, sizeof path, "tests/meshes/annulus_%d_41.msh", order);
        ok(mesh_read_gmsh(path, &mesh));
        struct setup setup = {.mesh = mesh,
                              .degree = order,
                              .exact = "1+2*x-3*y",
                              .n_K = 4,
                              .K = {"2", "0.5", "0.5", "1"},
                              .conditions = {{"outer", "neumann", "exact", NULL}}};
        solve(&setup, &s);
        assert_true(s.errors.u_L2 < 1e-12);
        assert_true(s.errors.q_L2 < 1e-11);
        assert_true(s.report.conservation <= 1e-11);
        release(&s);
        mesh_destroy(&mesh);
    }
}

/* ------------------------------------------------------------------------------------------ matrix */

static double *dense_matrix(const struct solved *s, int *n) {
    struct csr csr;
    ok(trace_assemble(&mapped_of(s->solver)->hdg->trace, &mapped_of(s->solver)->hdg->matrices, &csr));
    *n = (int)csr.n;
    double *A = test_calloc((size_t)(*n * *n), sizeof *A);
    for (int i = 0; i < *n; i++)
        for (int64_t k = csr.offsets[i]; k < csr.offsets[i + 1]; k++)
            A[i * *n + csr.columns[k]] = csr.values[k];
    csr_destroy(&csr);
    return A;
}

/* Largest entry, largest asymmetry, and the two smallest eigenvalues. */
static void measure_matrix(const struct solved *s, double *largest, double *asymmetry, double *smallest) {
    int n;
    double *A = dense_matrix(s, &n), *values = test_calloc((size_t)n, sizeof *values);
    *largest = *asymmetry = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            *largest = fmax(*largest, fabs(A[i * n + j]));
            *asymmetry = fmax(*asymmetry, fabs(A[i * n + j] - A[j * n + i]));
        }
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', n, A, n, values), 0);
    smallest[0] = values[0];
    smallest[1] = n > 1 ? values[1] : values[0];
    test_free(A);
    test_free(values);
}

static void the_matrix_is_symmetric_positive_definite(void **state) {
    (void)state;
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int degree = 1; degree <= 4; degree++)
            for (int variant = 0; variant < 3; variant++) {
                struct facet_mesh *mesh = mesh_of_kind(kind);
                struct setup setup = {.mesh = mesh,
                                      .degree = degree,
                                      .n_K = variant == 1 ? 4 : 1,
                                      .K = {"2+x*y", "0.5*cos(x)", "0.5*cos(x)", "1+exp(-y)"},
                                      .reaction = variant == 2 ? "1+x" : NULL,
                                      .source = "1",
                                      .conditions = {{"rest", "neumann", "0", NULL}}};
                if (variant < 2) setup.conditions[1] = (struct condition){"xmin", "dirichlet", "x", NULL};
                struct solved s;
                double largest, asymmetry, smallest[2];
                solve(&setup, &s);
                measure_matrix(&s, &largest, &asymmetry, smallest);
                assert_true(asymmetry <= 1e-13 * largest);
                assert_true(smallest[0] > 1e-5 * largest);
                release(&s);
                mesh_destroy(&mesh);
            }
}

/* Periodic or Neumann everywhere: K 1 = 0, and nothing else. */
static void constants_are_the_kernel(void **state) {
    (void)state;
    for (int kind = 0; kind < 8; kind++)
        for (int degree = 1; degree <= 4; degree++) {
            struct facet_mesh *mesh = kind < 5    ? mesh_of_kind(kind)
                                      : kind == 5 ? box("triangle", 2, 2, 1, 1)
                                      : kind == 6 ? box("quad", 1, 2, 1, 0)
                                                  : box("quad", 3, 1, 1, 1);
            struct setup setup = {.mesh = mesh,
                                  .degree = degree,
                                  .n_K = 1,
                                  .K = {"1+x*y"},
                                  .conditions = {{"rest", "neumann", "0", NULL}}};
            struct solved s;
            double largest, asymmetry, smallest[2];
            solve(&setup, &s);
            assert_true(mapped_of(s.solver)->hdg->singular);
            measure_matrix(&s, &largest, &asymmetry, smallest);
            assert_true(asymmetry <= 1e-13 * largest);
            assert_true(fabs(smallest[0]) <= 1e-14 * largest);
            assert_true(smallest[1] > 1e-5 * largest);
            int n;
            double *A = dense_matrix(&s, &n);
            for (int i = 0; i < n; i++) { /* psi_0 = 1 on segments */
                double sum = 0;
                for (int j = 0; j < n; j += degree + 1) sum += A[i * n + j];
                assert_true(fabs(sum) <= 1e-14 * largest);
            }
            test_free(A);
            release(&s);
            mesh_destroy(&mesh);
        }
}

/* ------------------------------------------------------------------------------------------ paths */

static int two(void *user, const facet_points *points, double *values) {
    int components = *(int *)user;
    for (int i = 0; i < points->n * components; i++) values[i] = components == 1 || i % 4 % 3 == 0 ? 2 : 0;
    return 0;
}

/* One K in six disguises, which take all four ways of inverting the flux mass. */
static void conductivity_may_be_given_in_many_ways(void **state) {
    (void)state;
    static const char *const texts[4][4] = {
        {"2"}, {"2", "0", "0", "2"}, {"2+0*x"}, {"2+0*x", "0*x", "0*y", "2"}};
    static const int counts[6] = {1, 4, 1, 4, 1, 4};
    for (int kind = 0; kind < 5; kind++)
        for (int degree = 1; degree <= 3; degree++) {
            struct facet_mesh *mesh = mesh_of_kind(kind);
            struct solved first = {0};
            for (int way = 0; way < 6; way++) {
                struct solved s = {0};
                facet_options options;
                int components = counts[way];
                facet_options_default(&options, sizeof options);
                options.degree = degree;
                options.operator_name = "mapped";
                options.tau = "1.5";
                ok(facet_context_create(NULL, &s.context));
                ok(facet_problem_create(s.context, mesh, FACET_DIFFUSION, &s.problem));
                if (way < 4)
                    ok(facet_problem_set_conductivity(s.problem, NULL, counts[way], texts[way]));
                else
                    ok(facet_problem_set_conductivity_function(s.problem, NULL, counts[way], two,
                                                               &components));
                ok(facet_problem_set_source(s.problem, "sin(3*x)*y"));
                ok(facet_problem_set_dirichlet(s.problem, "rest", "x*y"));
                ok(facet_solver_create(s.problem, &options, &s.solver));
                int constant = field_is_constant(s.solver->resolved.conductivity[0], NULL);
                if (way < 2) assert_true(constant);
                if (way > 3) assert_false(constant);
                ok(facet_solver_solve(s.solver, NULL, NULL));
                if (way == 0) {
                    first = s;
                    continue;
                }
                assert_true(difference(&first, &s) < 1e-11);
                release(&s);
            }
            release(&first);
            mesh_destroy(&mesh);
        }
}

static void results_depend_on_neither_threads_nor_device(void **state) {
    (void)state;
    for (int method = 0; method < 2; method++) {
        struct facet_mesh *mesh = lattice(MIXED, 12, 12, 0.2);
        struct solved first = {0};
        for (int run = 0; run < 4; run++) {
            struct setup setup = {.mesh = mesh,
                                  .degree = 3,
                                  .n_K = 1,
                                  .K = {"1+x*y"},
                                  .source = "sin(3*x)*y",
                                  .reaction = "1",
                                  .rtol = 1e-13,
                                  .device = run == 3 ? "ref" : "cpu",
                                  .method = method ? "cg" : "direct",
                                  .conditions = {{"rest", "dirichlet", "x*y", NULL}}};
            struct solved s;
            base_set_threads(1 + run % 3);
            solve(&setup, &s);
            if (run == 0) {
                first = s;
                continue;
            }
            assert_true(difference(&first, &s) < 1e-12);
            release(&s);
        }
        release(&first);
        mesh_destroy(&mesh);
    }
    base_set_threads(0);
}

static void tau_may_be_given_in_many_ways(void **state) {
    (void)state;
    static const char *const taus[3] = {"16", "16+0*x", NULL};
    struct facet_mesh *mesh = box("quad", 4, 4, 0, 0);
    struct solved first = {0};
    for (int way = 0; way < 3; way++) { /* h = 1/4: tau = 2 tau_hat / h */
        struct setup setup = {.mesh = mesh,
                              .degree = 3,
                              .source = "sin(3*x)*y",
                              .tau = taus[way],
                              .tau_hat = way == 2 ? 2 : 0,
                              .conditions = {{"rest", "dirichlet", "x*y", NULL}}};
        struct solved s;
        solve(&setup, &s);
        if (way == 0)
            first = s;
        else
            assert_true(difference(&first, &s) < 1e-12);
        if (way > 0) release(&s);
    }
    release(&first);
    mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------------ singular */

static void neumann_everywhere_is_solved_with_the_exact_mean(void **state) {
    (void)state;
    static const char *const methods[4][2] = {
        {"direct", NULL}, {"cg", "none"}, {"cg", "jacobi"}, {"cg", "block"}};
    for (int kind = 0; kind < 5; kind++)
        for (int method = 0; method < 4; method++) {
            struct facet_mesh *mesh = mesh_of_kind(kind);
            struct setup setup = {.mesh = mesh,
                                  .degree = 3,
                                  .exact = "3+x^3-2*x*y^2+y",
                                  .n_K = 4,
                                  .K = {"2", "0.5", "0.5", "1"},
                                  .method = methods[method][0],
                                  .preconditioner = methods[method][1],
                                  .conditions = {{"rest", "neumann", "exact", NULL}}};
            struct solved s;
            solve(&setup, &s);
            assert_true(mapped_of(s.solver)->hdg->singular);
            assert_true(s.errors.u_L2 < 1e-10);
            assert_true(s.errors.q_L2 < 1e-10);
            assert_true(s.errors.trace_L2 < 1e-10);
            assert_true(s.errors.u_star_L2 < 1e-10);
            assert_true(s.report.conservation <= 1e-10);
            release(&s);
            mesh_destroy(&mesh);
        }
}

/* u = x, held by a reaction and by Robin's a on two sides, and these hardly: of the error x an x - c is left
 * of which they take nothing. It was an x - c without a mean, whatever holds the ends. */
static void errors_keep_the_constant_of_weak_pieces(void **state) {
    (void)state;
    static const char *const reactions[] = {NULL, "1e-6"}, *const methods[] = {"hdg", "condensed"};
    for (int variant = 0; variant < 8; variant++) {
        const double reaction = variant & 1 ? 1e-6 : 0.0, c = (reaction / 2 + 4e-6) / (reaction + 5e-6);
        struct facet_mesh *mesh = box(variant & 2 ? "quad" : "triangle", 3, 2, 0, 0);
        struct setup setup = {.mesh = mesh,
                              .degree = 2,
                              .exact = "x",
                              .reaction = reactions[variant & 1],
                              .discretization = methods[variant / 4],
                              .conditions = {{"xmin", "robin", "exact", "1e-6"},
                                             {"xmax", "robin", "exact", "4e-6"},
                                             {"rest", "neumann", "exact", NULL}}};
        struct solved s;
        solve(&setup, &s);
        const struct hdg *h = mapped_of(s.solver)->hdg;
        const double *trace = mapped_of(s.solver)->solution.trace;
        assert_int_equal(h->weak.n, 1);
        double *error = test_calloc((size_t)h->trace.n_free, sizeof *error);
        for (int64_t f = 0; f < h->trace.n_faces; f++)
            for (int64_t i = h->trace.face_first[f]; i < h->trace.face_first[f + 1]; i++)
                error[h->trace.face_free[f] + i - h->trace.face_first[f]] = trace[i];
        ok(hdg_weak_constants_forget(h, error));
        for (int64_t f = 0; f < h->trace.n_faces; f++)
            near(error[h->trace.face_free[f]],
                 trace[h->trace.face_first[f]] - c * h->data.equation->one_on(h, f), 1e-9);
        test_free(error);
        release(&s);
        mesh_destroy(&mesh);
    }
}

static void periodic_problems_are_solved(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) { /* one cell wide: y alone matters */
        struct facet_mesh *mesh = kind == 0   ? box("quad", 1, 3, 1, 0)
                                  : kind == 1 ? box("triangle", 1, 3, 1, 0)
                                              : box("triangle", 3, 2, 1, 0);
        struct setup setup = {.mesh = mesh, .degree = 3, .exact = "y^3-2*y"};
        struct solved s;
        solve(&setup, &s);
        assert_true(s.errors.u_L2 < 1e-12);
        assert_true(s.report.conservation <= 1e-11);
        release(&s);
        mesh_destroy(&mesh);
    }
    for (int triangles = 0; triangles < 2; triangles++) {
        struct facet_mesh *mesh = box(triangles ? "triangle" : "quad", 4, 4, 1, 1);
        struct setup setup = {.mesh = mesh, .degree = 8, .exact = "2+sin(2*pi*x)*cos(2*pi*y)"};
        struct solved s;
        double mean;
        int n;
        solve(&setup, &s);
        assert_true(s.errors.u_L2 < 1e-6);
        assert_true(s.report.conservation <= 1e-10);
        ok(sample_take(s.solver, "u", -1, SAMPLE_MEAN, NULL, &mean, &n));
        near(mean, 2, 1e-10);
        release(&s);
        mesh_destroy(&mesh);
    }
}

static void data_that_do_not_balance_are_refused(void **state) {
    (void)state;
    struct facet_mesh *mesh = box("triangle", 2, 2, 0, 0), *periodic = box("quad", 2, 2, 1, 1);
    struct setup setup = {
        .mesh = mesh, .degree = 2, .source = "1", .conditions = {{"rest", "neumann", "0", NULL}}};
    struct solved s;
    refused(try_solve(&setup, &s), FACET_ERROR_INPUT, "balance");
    setup.conditions[0].g = "-0.25"; /* four sides of length one */
    solve(&setup, &s);
    assert_true(fabs(mapped_of(s.solver)->solution.imbalance[0]) < 1e-13);
    assert_true(s.report.conservation <= 1e-11);
    release(&s);
    setup.mesh = periodic;
    setup.conditions[0].part = NULL;
    refused(try_solve(&setup, &s), FACET_ERROR_INPUT, "balance");
    setup.source = "x-0.5";
    solve(&setup, &s);
    release(&s);
    setup.source = "1";
    setup.reaction = "2"; /* holds the constant: u = 1/2 */
    solve(&setup, &s);
    double u;
    ok(facet_solver_evaluate(s.solver, "u", 1, (const double[]){0.3, 0.4}, &u));
    near(u, 0.5, 1e-12);
    release(&s);
    mesh_destroy(&mesh);
    mesh_destroy(&periodic);
}

/* ------------------------------------------------------------------------------------------ bad data */

static void bad_numbers_are_refused_with_their_place(void **state) {
    (void)state;
    static const struct {
        struct setup setup;
        const char *text;
    } bad[] = {
        {{.n_K = 1, .K = {"x-0.5"}}, "conductivity"},
        {{.n_K = 1, .K = {"-2"}}, "conductivity"},
        {{.n_K = 1, .K = {"0"}}, "conductivity"},
        {{.n_K = 4, .K = {"1", "2", "2", "1"}}, "conductivity"},
        {{.n_K = 4, .K = {"1", "0.5", "0", "1"}}, "symmetric"},
        {{.n_K = 4, .K = {"1", "x", "0", "1"}}, "symmetric"},
        {{.n_K = 1, .K = {"1/(x-x)"}}, "conductivity"},
        {{.source = "sqrt(0.5-x)"}, "source"},
        {{.source = "log(x-2)"}, "source"},
        {{.reaction = "y-0.5"}, "reaction"},
        {{.reaction = "-1"}, "reaction"},
        {{.reaction = "log(x-2)"}, "reaction"},
        {{.tau = "x-0.5"}, "tau"},
        {{.tau = "0"}, "tau"},
        {{.tau = "-1"}, "tau"},
        {{.conditions = {{"xmin", "robin", "0", "y-0.5"}}}, "robin.a"},
        {{.conditions = {{"xmin", "robin", "0", "-1"}}}, "robin.a"},
        {{.conditions = {{"xmin", "dirichlet", "log(x-2)", NULL}}}, "xmin"},
        {{.exact = "sqrt(0.5-x)"}, "x="},
    };
    int64_t before = live_blocks();
    for (int kind = 0; kind < 5; kind++) {
        struct facet_mesh *mesh = mesh_of_kind(kind);
        for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
            struct setup setup = bad[i].setup;
            struct solved s;
            int at = setup.conditions[0].part != NULL;
            setup.mesh = mesh;
            setup.degree = 2;
            setup.conditions[at] = (struct condition){"rest", "dirichlet", "0", NULL};
            refused(try_solve(&setup, &s), FACET_ERROR_INPUT, bad[i].text);
            if (strstr(facet_message(), "x=") == NULL) fail_msg("no place in '%s'", facet_message());
        }
        mesh_destroy(&mesh);
    }
    assert_int_equal(live_blocks(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polynomials_are_solved_to_rounding),
        cmocka_unit_test(constants_are_conservative),
        cmocka_unit_test(linear_functions_are_exact_on_curved_cells),
        cmocka_unit_test(the_matrix_is_symmetric_positive_definite),
        cmocka_unit_test(constants_are_the_kernel),
        cmocka_unit_test(conductivity_may_be_given_in_many_ways),
        cmocka_unit_test(results_depend_on_neither_threads_nor_device),
        cmocka_unit_test(tau_may_be_given_in_many_ways),
        cmocka_unit_test(neumann_everywhere_is_solved_with_the_exact_mean),
        cmocka_unit_test(errors_keep_the_constant_of_weak_pieces),
        cmocka_unit_test(periodic_problems_are_solved),
        cmocka_unit_test(data_that_do_not_balance_are_refused),
        cmocka_unit_test(bad_numbers_are_refused_with_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
