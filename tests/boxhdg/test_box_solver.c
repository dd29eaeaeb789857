/* Our operator and solver for HDG on boxes: the operator in lanes against plain modes cell by cell, its
 * diagonal, the coarse space against Galerkin's definition, solves of all sorts judged by the plain operator,
 * iteration counts and their independence of the mesh, and failures. */
#include <math.h>
#include <stdio.h>

#include "bench/papers/box_plain.h"
#include "boxhdg/lane_solver.h"
#include "boxhdg/two_levels.h"
#include "boxhdg_lanes_helpers.h"

#define PI 3.14159265358979323846

static const struct device *find(const char *name) {
    const struct device *device;
    ok(device_find(name, &device));
    return device;
}

static double *random_trace(const struct boxhdg *h, uint32_t seed) {
    double *x = test_malloc((size_t)h->n_trace * sizeof *x);
    for (int64_t i = 0; i < h->n_trace; i++) x[i] = random_signed(&seed);
    return x;
}

static double norm(int64_t n, const double *x) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* Sets what stands on fixed faces to zero. */
static void clear_fixed(const struct boxhdg *h, double *x) {
    const struct box_grid *g = &h->grid;
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        int at[3];
        box_cell_at(g, cell, at);
        for (int d = 0; d < g->dim; d++)
            for (int s = 0; s < 2; s++)
                if (box_plane_is_fixed(g, d, (at[d] + s) % g->planes[d]))
                    for (int64_t t = 0; t < h->face_size; t++)
                        x[box_face(g, at, d, s) * h->face_size + t] = 0.0;
    }
}

/* ------------------------------------------------------------------------------------------ operator */

/* |K x - y| / |y| of the operator in lanes. */
static double operator_error(const struct box_case *c, const char *device, int single) {
    struct boxhdg *h = make_box(c);
    struct boxhdg_lanes *lanes = NULL;
    struct linear_operator A = {0};
    struct vector x, y;
    double *in = random_trace(h, 5), *expected = test_calloc((size_t)h->n_trace, sizeof *expected),
           *got = test_calloc((size_t)h->n_trace, sizeof *got);
    ok(boxhdg_lanes_create(find(device), h, single, &lanes));
    operator_create_box(lanes, &A);

    for (int i = 0; i < 2; i++) ok(boxhdg_lanes_vector(lanes, lanes->plan.size, i ? &x : &y));
    vector_fill(&y, NAN);
    plain_apply(h, in, expected);
    ok(boxhdg_lanes_pack(lanes, BOXHDG_UNKNOWN, in, &x));
    operator_apply(&A, &x, &y);
    ok(boxhdg_lanes_unpack(lanes, BOXHDG_RESIDUAL, &y, got));
    for (int64_t i = 0; i < h->n_trace; i++) got[i] -= expected[i];
    double error = norm(h->n_trace, got) / norm(h->n_trace, expected);
    operator_destroy(&A);
    vector_destroy(&x);
    vector_destroy(&y);
    test_free(in);
    test_free(expected);
    test_free(got);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
    return error;
}

static const struct box_case shapes[] = {
    {.dim = 1, .cells = {11}, .sides = {{0, 1}}, .rho = 2, .length = 3, .graded = 1, .conductivity = 5},
    {.dim = 1, .cells = {3}, .sides = {{2, 2}}, .rho = 2, .length = 3, .reaction = -1},
    {.dim = 2, .cells = {9, 3}, .sides = {{0, 0}, {1, 0}}, .rho = 2, .length = 3, .reaction = 1},
    {.dim = 2,
     .cells = {5, 4},
     .sides = {{2, 2}, {1, 1}},
     .rho = 2,
     .length = 3,
     .graded = 1,
     .varied_lines = 1,
     .conductivity = 100,
     .reaction = -2},
    {.dim = 3, .cells = {5, 2, 3}, .sides = {{0, 0}, {0, 0}, {0, 0}}, .rho = 25, .length = 2 * PI},
    {.dim = 3,
     .cells = {9, 2, 2},
     .sides = {{1, 0}, {2, 2}, {1, 1}},
     .rho = 2,
     .length = 3,
     .conductivity = 100},
    {.dim = 3,
     .cells = {3, 2, 3},
     .sides = {{2, 2}, {0, 1}, {2, 2}},
     .rho = 2,
     .length = 3,
     .graded = 1,
     .varied_lines = 1,
     .conductivity = 10,
     .reaction = -2},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static void the_operator_is_that_of_plain_modes(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++)
        for (int degree = 1; degree <= 12; degree++) {
            struct box_case c = shapes[s];
            c.degree = degree;
            assert_true(operator_error(&c, "cpu", 0) < 1e-12);
            assert_true(operator_error(&c, "cpu", 1) < 1e-5);
            if (degree <= 4) assert_true(operator_error(&c, "debug", 0) < 1e-12);
        }
}

/* Modes that hardly feel the ends are scaled by a b of their own; the product must not notice. */
static void spurious_modes_do_no_harm(void **state) {
    (void)state;
    struct box_case c = {.dim = 2, .degree = 24, .cells = {3, 2}, .sides = {{0, 0}, {0, 1}}, .length = 1};
    for (c.rho = 1e-3; c.rho < 1e5; c.rho *= 100) {
        assert_true(operator_error(&c, "cpu", 0) < 1e-12);
        assert_true(operator_error(&c, "cpu", 1) < 1e-4);
    }
}

/* D (K e)_i = 1 for unit vectors e. */
static void the_diagonal_is_that_of_the_operator(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++) {
        struct box_case c = shapes[s];
        c.degree = 3;
        struct boxhdg *h = make_box(&c);
        struct boxhdg_lanes *lanes = NULL;
        struct linear_operator A = {0}, D = {0};
        struct vector x, y;
        ok(boxhdg_lanes_create(find("cpu"), h, 0, &lanes));
        operator_create_box(lanes, &A);
        operator_create_box_diagonal(lanes, &D);
        ok(vector_create(find("cpu"), lanes->plan.size, &x));
        ok(vector_create(find("cpu"), lanes->plan.size, &y));
        int found = 0;
        for (int64_t i = 0; i < lanes->plan.size; i += 5 + lanes->plan.size / 64) {
            vector_fill(&x, 0.0);
            x.data[i] = 1.0;
            operator_apply(&D, &x, &y);
            double inverse = y.data[i];
            if (inverse == 0.0) continue;
            operator_apply(&A, &x, &y);
            assert_true(fabs(inverse * y.data[i] - 1.0) < 1e-11);
            found++;
        }
        assert_true(found > 0);
        vector_destroy(&x);
        vector_destroy(&y);
        boxhdg_lanes_destroy(&lanes);
        boxhdg_destroy(&h);
    }
}

/* ------------------------------------------------------------------------------------------ coarse space */

/* P e with e at vertices: random, zero on Dirichlet sides, the same at both ends of a period. */
static void coarse_function(const struct boxhdg_lanes *lanes, struct vector *coefficients) {
    const struct box_plan *p = &lanes->plan;
    int size[3], at[3];
    uint32_t seed = 3;
    struct vector lattice;
    box_lattice(p, p->lanes, size);
    ok(vector_create(lanes->device, (int64_t)size[0] * size[1] * size[2], &lattice));
    vector_fill(&lattice, 0.0);
    for (at[2] = 0; at[2] < size[2]; at[2]++)
        for (at[1] = 0; at[1] < size[1]; at[1]++)
            for (at[0] = 0; at[0] <= p->cells[0]; at[0]++) {
                int zero = 0, from[3] = {at[0], at[1], at[2]};
                for (int d = 0; d < 3; d++) {
                    zero |= (at[d] == 0 && p->fixed[d][0]) || (at[d] == p->cells[d] && p->fixed[d][1]);
                    if (p->present[d] && p->periodic[d]) from[d] %= p->cells[d];
                }
                double *to = &lattice.data[((int64_t)at[2] * size[1] + at[1]) * size[0] + at[0]];
                *to = random_signed(&seed);
                if (from[0] != at[0] || from[1] != at[1] || from[2] != at[2])
                    *to = lattice.data[((int64_t)from[2] * size[1] + from[1]) * size[0] + from[0]];
                if (zero) *to = 0.0;
            }
    device_box_prolong(lanes->device, F64, p, lattice.data, coefficients->data);
    vector_destroy(&lattice);
}

/* From the moments of K P e the coarse solve finds P e again. */
static void the_coarse_matrix_is_galerkins(void **state) {
    (void)state;
    static const struct box_case cases[] = {
        {.dim = 3, .degree = 3, .cells = {5, 3, 4}, .sides = {{0, 0}, {0, 0}, {0, 0}}, .rho = 9, .length = 2},
        {.dim = 3,
         .degree = 4,
         .cells = {9, 2, 3},
         .sides = {{1, 0}, {2, 2}, {1, 1}},
         .rho = 2,
         .length = 2,
         .reaction = 3},
        {.dim = 3,
         .degree = 3,
         .cells = {9, 2, 1},
         .sides = {{1, 0}, {2, 2}, {2, 2}},
         .rho = 2,
         .length = 2,
         .conductivity = 50},
        {.dim = 3,
         .degree = 2,
         .cells = {4, 3, 2},
         .sides = {{1, 0}, {0, 0}, {1, 1}},
         .rho = 2,
         .length = 2,
         .conductivity = 50,
         .reaction = -3,
         .graded = 1,
         .varied_lines = 1},
        {.dim = 2,
         .degree = 5,
         .cells = {6, 5},
         .sides = {{1, 0}, {1, 1}},
         .rho = 2,
         .length = 2,
         .reaction = 1},
        {.dim = 2,
         .degree = 5,
         .cells = {6, 5},
         .sides = {{1, 0}, {1, 1}},
         .rho = 2,
         .length = 2,
         .conductivity = 9},
        {.dim = 1, .degree = 5, .cells = {12}, .sides = {{1, 0}}, .rho = 2, .length = 2},
    };
    for (size_t s = 0; s < sizeof cases / sizeof *cases; s++) {
        struct boxhdg *h = make_box(&cases[s]);
        struct boxhdg_lanes *lanes = NULL;
        struct linear_operator M;
        struct vector e, d, y;
        struct box_step step = {.direction = 1, .product = 1};
        double sums[2], dot, energy;
        ok(boxhdg_lanes_create(find("cpu"), h, 0, &lanes));
        ok(boxhdg_levels_create(lanes, 0, &M));
        struct mg_link *link = multigrid_additive(operator_multigrid(&M));
        int64_t n = lanes->plan.n_faces * KERNEL_BOX_MOMENTS * lanes->plan.lanes;
        ok(vector_create(find("cpu"), n, &e));
        ok(vector_create(find("cpu"), lanes->plan.size, &d));
        ok(vector_create(find("cpu"), lanes->plan.size, &y));
        coarse_function(lanes, &e);
        vector_fill(&y, 0.0);
        energy = boxhdg_lanes_step(lanes, &step, NULL, &y, &e, &d, NULL, &y);
        boxhdg_lanes_residual(lanes, 0.0, &d, &y, &link->moments, sums);
        ok(multigrid_correct(operator_multigrid(&M), &dot));
        assert_true(fabs(dot - energy) < 1e-10 * energy);
        for (int64_t i = 0; i < n; i++) assert_true(fabs(link->coefficients.data[i] - e.data[i]) < 1e-9);
        vector_destroy(&e);
        vector_destroy(&d);
        vector_destroy(&y);
        operator_destroy(&M);
        boxhdg_lanes_destroy(&lanes);
        boxhdg_destroy(&h);
    }
}

/* ------------------------------------------------------------------------------------------ solves */

struct outcome {
    int iterations;
    double residual; /* by the plain operator */
};

static struct outcome solve_box_to(const struct box_case *c, const char *device,
                                   enum boxhdg_preconditioner preconditioner, int mixed, double rtol) {
    struct boxhdg *h = make_box(c);
    struct boxhdg_solver *solver = NULL;
    struct boxhdg_solver_options options;
    struct solve_control control = {.rtol = rtol, .max_iterations = 2000};
    struct solve_report report = {0};
    double *F = random_trace(h, 9), *uhat = random_trace(h, 10),
           *r = test_malloc((size_t)h->n_trace * sizeof *r);
    clear_fixed(h, F);
    clear_fixed(h, uhat);
    if (h->grid.singular) { /* F in the range of K */
        plain_apply(h, uhat, r);
        memcpy(F, r, (size_t)h->n_trace * sizeof *r);
    }
    boxhdg_solver_options_default(&options);
    options.preconditioner = preconditioner;
    options.mixed = mixed;
    ok(boxhdg_solver_create(find(device), h, &options, &solver));
    ok(boxhdg_solver_solve(solver, F, uhat, 0, &control, &report));
    struct outcome outcome = {.iterations = report.iterations};
    plain_apply(h, uhat, r);
    for (int64_t i = 0; i < h->n_trace; i++) r[i] -= F[i];
    outcome.residual = norm(h->n_trace, r) / norm(h->n_trace, F);
    assert_true(report.converged && report.residual <= rtol);
    assert_true(fabs(outcome.residual - report.residual) < 1e-2 * rtol);
    /* once more from the solution: nothing is left to do */
    ok(boxhdg_solver_solve(solver, F, uhat, 1, &control, &report));
    assert_true(report.iterations <= 1);
    solve_report_clear(&report);
    boxhdg_solver_destroy(&solver);
    test_free(F);
    test_free(uhat);
    test_free(r);
    boxhdg_destroy(&h);
    return outcome;
}

static struct outcome solve_box(const struct box_case *c, const char *device,
                                enum boxhdg_preconditioner preconditioner, int mixed) {
    return solve_box_to(c, device, preconditioner, mixed, 1e-10);
}

static void all_sorts_of_boxes_are_solved(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++)
        for (int k = BOXHDG_NONE; k <= BOXHDG_CHEBYSHEV; k++)
            for (int mixed = 0; mixed < 2; mixed++) {
                struct box_case c = shapes[s];
                c.degree = 3;
                struct outcome outcome = solve_box(&c, "cpu", (enum boxhdg_preconditioner)k, mixed);
                assert_true(outcome.residual <= 1.01e-10);
            }
}

static void other_devices_solve_the_same(void **state) {
    (void)state;
    struct box_case c = shapes[4];
    c.degree = 2;
    for (int k = BOXHDG_DIAGONAL; k <= BOXHDG_CHEBYSHEV; k++) {
        struct outcome cpu = solve_box(&c, "cpu", (enum boxhdg_preconditioner)k, 1);
        struct outcome debug = solve_box(&c, "debug", (enum boxhdg_preconditioner)k, 1);
        assert_true(abs(cpu.iterations - debug.iterations) <= 1);
    }
}

/* Constants are a kernel: the solution has no part along it. */
static void a_singular_box_is_solved(void **state) {
    (void)state;
    static const struct box_case cases[] = {
        {.dim = 3, .degree = 3, .cells = {4, 3, 2}, .sides = {{1, 1}, {2, 2}, {1, 1}}, .rho = 2, .length = 1},
        {.dim = 2,
         .degree = 3,
         .cells = {4, 3},
         .sides = {{1, 1}, {1, 1}},
         .rho = 2,
         .length = 1,
         .conductivity = 9},
    };
    for (int s = 0; s < 2; s++)
        for (int k = BOXHDG_DIAGONAL; k <= BOXHDG_CHEBYSHEV; k++)
            for (int mixed = 0; mixed < 2; mixed++)
                assert_true(solve_box(&cases[s], "cpu", (enum boxhdg_preconditioner)k, mixed).residual <=
                            1.01e-10);
}

static struct box_case cube(int cells, int degree) {
    return (struct box_case){.dim = 3,
                             .degree = degree,
                             .cells = {cells, cells, cells},
                             .rho = 12.5 * 2 * PI / cells, /* tau = 25 */
                             .length = 2 * PI};
}

/* huismann2020, section 5.3: (0, 2 pi)^3, tau = 25, to 1e-10. */
static void iterations_do_not_grow_with_the_mesh(void **state) {
    (void)state;
    static const struct { int degree, additive, cycle; } bounds[] = {{3, 46, 10}, {7, 51, 10}};
    for (int b = 0; b < 2; b++)
        for (int mixed = 0; mixed < 2; mixed++) {
            struct box_case small = cube(4, bounds[b].degree),
                            large = cube(b == 0 ? 16 : 8, bounds[b].degree);
            int first = solve_box(&small, "cpu", BOXHDG_ADDITIVE, mixed).iterations;
            int second = solve_box(&large, "cpu", BOXHDG_ADDITIVE, mixed).iterations;
            assert_true(first <= bounds[b].additive && second <= 1.1 * first);
            assert_true(solve_box(&small, "cpu", BOXHDG_CHEBYSHEV, mixed).iterations <= bounds[b].cycle);
            assert_true(solve_box(&large, "cpu", BOXHDG_CHEBYSHEV, mixed).iterations <= bounds[b].cycle);
        }
    struct box_case c = cube(8, 7);
    int diagonal = solve_box(&c, "cpu", BOXHDG_DIAGONAL, 0).iterations,
        additive = solve_box(&c, "cpu", BOXHDG_ADDITIVE, 0).iterations;
    assert_true(diagonal >= 2.2 * additive);
}

/* Devices that are not the host iterate by three terms: as many steps, and a residual as small. */
static void three_terms_are_as_accurate_as_two(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        for (int k = BOXHDG_DIAGONAL; k <= BOXHDG_ADDITIVE; k++)
            for (int mixed = 0; mixed < 2; mixed++) {
                struct box_case c = cube(4, kind == 2 ? 3 : 4);
                c.conductivity = kind == 0 ? 0.0 : kind == 1 ? 100.0 : 1e4;
                struct outcome two = solve_box_to(&c, "cpu", (enum boxhdg_preconditioner)k, mixed, 1e-12),
                               three = solve_box_to(&c, "debug", (enum boxhdg_preconditioner)k, mixed, 1e-12);
                print_message("jumps of %g, %s%s: %d and %d steps, residuals %.1e and %.1e\n", c.conductivity,
                              k == BOXHDG_DIAGONAL ? "diagonal" : "additive", mixed ? ", mixed" : "",
                              two.iterations, three.iterations, two.residual, three.residual);
                assert_true(abs(two.iterations - three.iterations) <= 1 + (mixed ? two.iterations / 10 : 0));
                assert_true(three.residual <= 1.01e-12);
            }
}

static void rough_coefficients_cost_little(void **state) {
    (void)state;
    for (int degree = 3; degree <= 7; degree += 4) {
        struct box_case smooth = cube(6, degree), rough = smooth;
        rough.conductivity = 100.0;
        for (int k = BOXHDG_ADDITIVE; k <= BOXHDG_CHEBYSHEV; k++) {
            int first = solve_box(&smooth, "cpu", (enum boxhdg_preconditioner)k, 1).iterations;
            int second = solve_box(&rough, "cpu", (enum boxhdg_preconditioner)k, 1).iterations;
            assert_true(second <= 2.5 * first);
        }
    }
}

/* The same bits whenever it is run with as many threads; the same iterations with any number. */
static void threads_change_nothing_but_rounding(void **state) {
    (void)state;
    struct box_case c = cube(6, 4);
    struct boxhdg *h = make_box(&c);
    double *F = random_trace(h, 1), *u[2];
    int iterations[3];
    clear_fixed(h, F);
    for (int i = 0; i < 2; i++) u[i] = test_calloc((size_t)h->n_trace, sizeof **u);
    for (int threads = 1; threads <= 3; threads++)
        for (int i = 0; i < 2; i++) {
            struct boxhdg_solver *solver = NULL;
            struct solve_control control = {.rtol = 1e-10, .max_iterations = 200};
            struct solve_report report = {0};
            base_set_threads(threads);
            ok(boxhdg_solver_create(find("cpu"), h, NULL, &solver));
            ok(boxhdg_solver_solve(solver, F, u[i], 0, &control, &report));
            iterations[threads - 1] = report.iterations;
            solve_report_clear(&report);
            boxhdg_solver_destroy(&solver);
            if (i == 1) assert_memory_equal(u[0], u[1], (size_t)h->n_trace * sizeof **u);
        }
    base_set_threads(0);
    assert_true(abs(iterations[0] - iterations[1]) <= 1 && abs(iterations[0] - iterations[2]) <= 1);
    test_free(F);
    test_free(u[0]);
    test_free(u[1]);
    boxhdg_destroy(&h);
}

/* x after so many steps, by the operator's own steps or by plain ones. degree: of the smoother; 0: additive.
 */
static void iterate(struct boxhdg_lanes *lanes, int plain, int degree, int steps, struct vector *b,
                    struct vector *x) {
    struct linear_operator A, M;
    struct solve_control control = {.rtol = 1e-14, .max_iterations = steps};
    struct solve_report report = {0};
    operator_create_box(lanes, &A);
    if (plain) A.steps = NULL;
    ok(boxhdg_levels_create(lanes, degree, &M));
    vector_fill(x, 0.0);
    assert_int_equal(solve_cg(&A, &M, b, x, &control, &report), FACET_NOT_CONVERGED);
    assert_int_equal(report.iterations, steps);
    solve_report_clear(&report);
    operator_destroy(&M);
}

/* What the steps of the operator and coefficients of the coarse space do is what products, vectors and whole
 * cycles do. */
static void fused_steps_make_the_same_iterates(void **state) {
    (void)state;
    struct box_case cases[] = {
        cube(4, 3),
        {.dim = 2, .degree = 5, .cells = {6, 5}, .rho = 2, .length = 2, .conductivity = 9, .reaction = 1}};
    static const char *const devices[] = {"cpu", "debug"}; /* two terms, three */
    for (int c = 0; c < 4; c++)
        for (int degree = 0; degree <= 4; degree += 4) {
            struct boxhdg *h = make_box(&cases[c / 2]);
            struct boxhdg_lanes *lanes = NULL;
            double *F = random_trace(h, 3);
            struct vector b, x, y;
            clear_fixed(h, F);
            ok(boxhdg_lanes_create(find(devices[c % 2]), h, 0, &lanes));
            ok(boxhdg_lanes_vector(lanes, lanes->plan.size, &b));
            ok(boxhdg_lanes_vector(lanes, lanes->plan.size, &x));
            ok(boxhdg_lanes_vector(lanes, lanes->plan.size, &y));
            ok(boxhdg_lanes_pack(lanes, BOXHDG_RESIDUAL, F, &b));
            for (int steps = 1; steps <= 5; steps++) {
                iterate(lanes, 0, degree, steps, &b, &x);
                iterate(lanes, 1, degree, steps, &b, &y);
                double size = vector_norm(&x);
                vector_axpby(-1.0, &x, 1.0, &y);
                assert_true(size > 0.0 && vector_norm(&y) < 1e-12 * size);
            }
            vector_destroy(&b);
            vector_destroy(&x);
            vector_destroy(&y);
            boxhdg_lanes_destroy(&lanes);
            boxhdg_destroy(&h);
            test_free(F);
        }
}

/* ------------------------------------------------------------------------------------------ failures */

static void what_stops_a_solve_is_told(void **state) {
    (void)state;
    struct box_case c = cube(3, 3);
    struct boxhdg *h = make_box(&c);
    struct boxhdg_solver *solver = NULL;
    struct solve_control control = {.rtol = 1e-10, .max_iterations = 3};
    struct solve_report report = {0};
    struct boxhdg_solver_options options;
    double *F = random_trace(h, 1), *u = test_calloc((size_t)h->n_trace, sizeof *u);
    clear_fixed(h, F);
    ok(boxhdg_solver_create(find("cpu"), h, NULL, &solver));
    assert_int_equal(boxhdg_solver_solve(solver, F, u, 0, &control, &report), FACET_NOT_CONVERGED);
    assert_int_equal(report.iterations, 3);
    assert_int_equal(report.n_history, 4);
    facet_interrupt();
    assert_int_equal(boxhdg_solver_solve(solver, F, u, 0, &control, &report), FACET_INTERRUPTED);
    facet_interrupt_clear();
    control.max_iterations = 100;
    for (int64_t i = 0; i < h->n_trace; i++) u[i] = F[i], F[i] = 0.0;
    ok(boxhdg_solver_solve(solver, F, u, 1, &control, &report));
    clear_fixed(h, u);
    assert_true(norm(h->n_trace, u) == 0.0);
    F[h->n_trace / 2] = NAN;
    assert_int_equal(boxhdg_solver_solve(solver, F, u, 0, &control, &report), FACET_NOT_CONVERGED);
    boxhdg_solver_destroy(&solver);
    boxhdg_solver_options_default(&options);
    options.preconditioner = BOXHDG_CHEBYSHEV;
    options.chebyshev_degree = 0;
    assert_int_equal(boxhdg_solver_create(find("cpu"), h, &options, &solver), FACET_ERROR_INPUT);
    assert_null(solver);
    solve_report_clear(&report);
    test_free(F);
    test_free(u);
    boxhdg_destroy(&h);
}

/* The bytes that are counted beforehand are those that are taken, and what does not fit is refused. */
static void memory_is_known_beforehand(void **state) {
    (void)state;
    struct box_case c = cube(16, 7);
    struct boxhdg *h = make_box(&c);
    double *F = random_trace(h, 1), *u = test_calloc((size_t)h->n_trace, sizeof *u);
    clear_fixed(h, F);
    for (int kind = BOXHDG_DIAGONAL; kind <= BOXHDG_CHEBYSHEV; kind++)
        for (int mixed = 0; mixed < 2; mixed++) {
            struct boxhdg_solver *solver = NULL;
            struct boxhdg_solver_options options;
            struct base_memory before, after;
            struct solve_control control = {.rtol = 0.5, .max_iterations = 1};
            struct solve_report report = {0};
            boxhdg_solver_options_default(&options);
            options.preconditioner = (enum boxhdg_preconditioner)kind;
            options.mixed = mixed;
            double wanted;
            base_pretend_available(1.0);
            refused(boxhdg_solver_create(find("cpu"), h, &options, &solver), FACET_ERROR_MACHINE,
                    "would take");
            base_pretend_available(0.0);
            const char *at = strstr(base_message(), "GiB (");
            assert_int_equal(sscanf(at, "GiB (%lf bytes)", &wanted), 1);
            base_memory_read(&before);
            ok(boxhdg_solver_create(find("cpu"), h, &options, &solver));
            boxhdg_solver_solve(solver, F, u, 0, &control, &report);
            solve_report_clear(&report);
            base_memory_read(&after);
            boxhdg_solver_destroy(&solver);
            double taken = (double)(after.live_bytes - before.live_bytes);
            if (!(wanted > 0.8 * taken && wanted < 1.25 * taken))
                fail_msg("preconditioner %d, mixed %d: %g bytes expected, %g taken", kind, mixed, wanted,
                         taken);
            int cells = 0;
            base_pretend_available(0.2 * wanted);
            refused(boxhdg_solver_create(find("cpu"), h, &options, &solver), FACET_ERROR_MACHINE,
                    "would fit");
            at = strstr(base_message(), "of this degree");
            base_pretend_available(0.0);
            assert_int_equal(sscanf(at, "of this degree %d", &cells), 1);
            assert_in_range(cells, 4, 10);
        }
    test_free(F);
    test_free(u);
    boxhdg_destroy(&h);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (int k = BOXHDG_NONE; k <= BOXHDG_CHEBYSHEV; k++)
        for (int rough = 0; rough < 2; rough++) {
            struct box_case c = cube(2, 2);
            if (rough) c.conductivity = 10.0;
            c.sides[0][1] = BOX_NEUMANN;
            struct boxhdg *h = make_box(&c);
            struct boxhdg_solver_options options;
            struct solve_control control = {.rtol = 1e-8, .max_iterations = 100};
            struct solve_report report = {0};
            double *F = random_trace(h, 1), *u = test_calloc((size_t)h->n_trace, sizeof *u);
            clear_fixed(h, F);
            boxhdg_solver_options_default(&options);
            options.preconditioner = (enum boxhdg_preconditioner)k;
            facet_status status = FACET_ERROR_MACHINE;
            for (int64_t at = 1; status != FACET_OK; at++) {
                struct boxhdg_solver *solver = NULL;
                int64_t before = live_blocks();
                base_memory_fail_at(at);
                status = boxhdg_solver_create(find("cpu"), h, &options, &solver);
                if (status == FACET_OK) status = boxhdg_solver_solve(solver, F, u, 0, &control, &report);
                base_memory_fail_at(0);
                if (status != FACET_OK) assert_int_equal(status, FACET_ERROR_MACHINE);
                boxhdg_solver_destroy(&solver);
                solve_report_clear(&report);
                assert_int_equal(live_blocks(), before);
                assert_true(at < 1000);
            }
            test_free(F);
            test_free(u);
            boxhdg_destroy(&h);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_operator_is_that_of_plain_modes),
        cmocka_unit_test(spurious_modes_do_no_harm),
        cmocka_unit_test(the_diagonal_is_that_of_the_operator),
        cmocka_unit_test(the_coarse_matrix_is_galerkins),
        cmocka_unit_test(all_sorts_of_boxes_are_solved),
        cmocka_unit_test(other_devices_solve_the_same),
        cmocka_unit_test(a_singular_box_is_solved),
        cmocka_unit_test(iterations_do_not_grow_with_the_mesh),
        cmocka_unit_test(three_terms_are_as_accurate_as_two),
        cmocka_unit_test(rough_coefficients_cost_little),
        cmocka_unit_test(threads_change_nothing_but_rounding),
        cmocka_unit_test(fused_steps_make_the_same_iterates),
        cmocka_unit_test(what_stops_a_solve_is_told),
        cmocka_unit_test(memory_is_known_beforehand),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
