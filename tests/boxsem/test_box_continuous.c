/* Continuous elements on boxes: the operator against its assembled matrix, orders, iteration counts of
 * cui2024, precisions, solvers, singular problems, coefficients by cell, the mapped method, allocation
 * faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "base/memory.h"
#include "boxsem/halved_boxes.h"

struct setting {
    int dim, cells[3], degree;
    double upper[3], grade;
    enum box_side sides[3][2];
    double reaction, contrast; /* k between 1 and contrast, by cell */
    const char *device, *exact;
    struct boxsem_options options;
};

static struct setting basic(int dim, int cells, int degree) {
    struct setting s = {.dim = dim, .degree = degree, .contrast = 1.0, .upper = {1.0, 1.0, 1.0}};
    for (int d = 0; d < 3; d++) s.cells[d] = d < dim ? cells : 1;
    s.exact = dim == 1 ? "sin(pi*x)" : dim == 2 ? "sin(pi*x)*sin(pi*y)" : "sin(pi*x)*sin(pi*y)*sin(pi*z)";
    boxsem_options_default(&s.options);
    s.options.single = 0;
    return s;
}

/* A number between 0 and 1 that looks random and is the same everywhere. */
static double noise(int64_t i) {
    uint64_t x = (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u;
    x ^= x >> 31;
    x *= 0xBF58476D1CE4E5B9u;
    return (double)(x >> 11) / 9007199254740992.0;
}

static facet_status build(const struct setting *s, struct boxsem **c) {
    facet_status status = FACET_OK;
    const struct device *device;
    double *x[3] = {NULL}, *k = NULL, *lambda = NULL;
    int64_t n = (int64_t)s->cells[0] * s->cells[1] * s->cells[2];
    struct box_grid_data data = {.dim = s->dim};
    *c = NULL;
    TRY(device_find(s->device, &device));
    for (int d = 0; d < 3; d++) {
        data.cells[d] = s->cells[d];
        memcpy(data.sides[d], s->sides[d], sizeof data.sides[d]);
        if (d >= s->dim) continue;
        TRY(ALLOC(x[d], s->cells[d] + 1));
        for (int i = 0; i <= s->cells[d]; i++) {
            double t = (double)i / s->cells[d];
            x[d][i] = s->upper[d] * (t + s->grade * t * (1.0 - t));
        }
        data.coordinates[d] = x[d];
    }
    TRY(ALLOC(k, n));
    TRY(ALLOC(lambda, n));
    for (int64_t i = 0; i < n; i++) {
        k[i] = pow(s->contrast, noise(i));
        lambda[i] = s->reaction;
    }
    data.conductivity = k;
    data.reaction = lambda;
    TRY(boxsem_create(device, &data, s->degree, &s->options, c));
done:
    for (int d = 0; d < 3; d++) base_free(&x[d]);
    base_free(&k);
    base_free(&lambda);
    return status;
}

static facet_status run(struct boxsem *c, const char *exact, const char *source, double rtol,
                        struct solve_report *report, struct box_errors *errors) {
    facet_status status = FACET_OK;
    struct field *u = NULL, *f = NULL;
    struct box_given data = {0};
    struct solve_control control = {.rtol = rtol, .max_iterations = 200};
    if (exact != NULL) TRY(field_create_texts(1, &exact, 0, NULL, &u));
    if (source != NULL) TRY(field_create_texts(1, &source, 0, NULL, &f));
    data.exact = u;
    data.source = f;
    TRY(boxsem_load(c, &data));
    TRY(boxsem_solve(c, &control, report));
    if (errors != NULL) TRY(boxsem_measure_errors(c, u, errors));
done:
    field_destroy(&u);
    field_destroy(&f);
    return status;
}

/* A whole run with errors; returns the iterations. */
static int measure(const struct setting *s, double rtol, struct box_errors *errors) {
    struct boxsem *c;
    struct solve_report report = {0};
    if (build(s, &c) != FACET_OK || run(c, s->exact, NULL, rtol, &report, errors) != FACET_OK)
        fail_msg("%s", base_message());
    int iterations = report.iterations;
    solve_report_clear(&report);
    boxsem_destroy(&c);
    return iterations;
}

/* ------------------------------------------------------------------------------------- operator */

static void check_operator(const struct setting *s) {
    struct boxsem *c;
    struct csr csr = {0};
    struct vector x, y;
    if (build(s, &c) != FACET_OK) fail_msg("%s", base_message());
    assert_int_equal(boxsem_levels_assemble(&c->levels->levels[0], &c->element, &csr), FACET_OK);
    double *host, *image, largest = 0.0;
    assert_int_equal(ALLOC(host, c->n_all), FACET_OK);
    assert_int_equal(ALLOC(image, c->n_all), FACET_OK);
    for (int64_t i = 0; i < c->n_all; i++) host[i] = noise(i) - 0.5;
    for (int64_t i = 0; i < c->n_all - c->n_free; i++) host[c->fixed[i]] = 0.0;
    assert_int_equal(vector_create(c->device, c->n_all, &x), FACET_OK);
    assert_int_equal(vector_create(c->device, c->n_all, &y), FACET_OK);
    assert_int_equal(vector_upload(&x, host), FACET_OK);
    operator_apply(&c->levels->A, &x, &y);
    assert_int_equal(vector_download(&y, image), FACET_OK);
    for (int64_t i = 0; i < c->n_all; i++) largest = fmax(largest, fabs(image[i]));
    for (int64_t i = 0; i < c->n_all; i++) {
        double sum = 0.0;
        for (int64_t j = csr.offsets[i]; j < csr.offsets[i + 1]; j++)
            sum += csr.values[j] * host[csr.columns[j]];
        assert_true(fabs(sum - image[i]) <= 1e-12 * largest);
    }
    vector_destroy(&x);
    vector_destroy(&y);
    csr_destroy(&csr);
    base_free(&host);
    base_free(&image);
    boxsem_destroy(&c);
}

static void test_operator(void **state) {
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int k = 1; k <= 4; k++) {
            struct setting s = basic(dim, 3, k);
            check_operator(&s);
            s.contrast = 100.0;
            s.reaction = 2.0;
            s.grade = 0.3;
            s.sides[0][0] = BOX_NEUMANN;
            s.sides[dim - 1][1] = dim > 1 ? BOX_PERIODIC : BOX_DIRICHLET;
            if (dim > 1) s.sides[dim - 1][0] = BOX_PERIODIC;
            check_operator(&s);
            s.cells[dim - 1] = 1;
            check_operator(&s);
        }
}

/* ------------------------------------------------------------------------------------- orders */

static void check_order(struct setting s, int coarse) {
    struct box_errors e[2];
    for (int level = 0; level < 2; level++) {
        for (int d = 0; d < s.dim; d++) s.cells[d] = coarse << level;
        measure(&s, 1e-12, &e[level]);
    }
    double u = log2(e[0].u_L2 / e[1].u_L2), q = log2(e[0].q_L2 / e[1].q_L2);
    if (!(u > s.degree + 0.75 && q > s.degree - 0.25))
        fail_msg("dim %d, degree %d: orders %.2f and %.2f (errors %.2e, %.2e)", s.dim, s.degree, u, q,
                 e[0].u_L2, e[1].u_L2);
}

static void test_orders(void **state) {
    (void)state;
    for (int k = 1; k <= 8; k++) {
        struct setting s = basic(2, 0, k);
        s.exact = k < 6 ? "sin(2*x + 1)*cos(3*y)" : "sin(4*x + 1)*cos(5*y)";
        s.reaction = 1.0;
        check_order(s, k < 3 ? 8 : k < 6 ? 4 : 2);
        s.upper[1] = 0.25; /* cells four times as long as wide */
        s.sides[0][1] = s.sides[1][0] = BOX_NEUMANN;
        check_order(s, k < 3 ? 8 : k < 6 ? 4 : 2);
        s = basic(3, 0, k);
        s.exact = k < 6 ? "sin(2*x + 1)*cos(2*y)*exp(z)" : "sin(3*x + 1)*cos(3*y)*exp(2*z)";
        check_order(s, k < 3 ? 4 : 2);
        s.upper[2] = 0.5;
        s.grade = 0.2;
        s.sides[2][1] = BOX_NEUMANN;
        if (k < 5) check_order(s, k < 3 ? 4 : 2);
    }
}

static void test_periodic(void **state) {
    (void)state;
    for (int k = 1; k <= 6; k++) {
        struct setting s = basic(2, 0, k);
        s.exact = "sin(2*pi*x + 1)*cos(3*y)";
        s.sides[0][0] = s.sides[0][1] = BOX_PERIODIC;
        s.sides[1][1] = BOX_NEUMANN;
        check_order(s, k < 3 ? 16 : 8);
    }
}

/* Nothing but Neumann and periodic sides: the mean is that of the exact solution. */
static void test_singular(void **state) {
    (void)state;
    for (int variant = 0; variant < 3; variant++)
        for (int k = 1; k <= 5; k += 2) {
            struct setting s = basic(2, 0, k);
            s.exact = "3 + cos(2*pi*x)*cos(pi*y)";
            s.sides[0][0] = s.sides[0][1] = BOX_PERIODIC;
            s.sides[1][0] = s.sides[1][1] = BOX_NEUMANN;
            s.options.single = variant == 1;
            s.options.solver = variant == 2 ? BOXSEM_CG : BOXSEM_AUTO;
            check_order(s, 8);
        }
    struct setting s = basic(2, 4, 2);
    struct boxsem *c;
    struct solve_report report = {0};
    memset(s.sides, 0, sizeof s.sides);
    for (int d = 0; d < 2; d++) s.sides[d][0] = s.sides[d][1] = BOX_NEUMANN;
    assert_int_equal(build(&s, &c), FACET_OK);
    assert_int_equal(run(c, NULL, "1", 1e-9, &report, NULL), FACET_ERROR_INPUT); /* does not balance */
    assert_int_equal(run(c, NULL, "x - 1/2", 1e-9, &report, NULL), FACET_OK);
    double mean;
    assert_int_equal(boxsem_mean(c, &mean), FACET_OK);
    assert_true(fabs(mean) < 1e-14);
    solve_report_clear(&report);
    boxsem_destroy(&c);
}

/* ------------------------------------------------------------------------------------- iterations */

/* V-cycles after the full multigrid start, f = 1, to 1e-9 (cui2024, Algorithm 2.2). */
static int count_cycles(int dim, int cells, int degree, int single) {
    struct setting s = basic(dim, cells, degree);
    struct boxsem *c;
    struct solve_report report = {0};
    s.options.single = single;
    if (build(&s, &c) != FACET_OK || run(c, NULL, "1", 1e-9, &report, NULL) != FACET_OK)
        fail_msg("%s", base_message());
    int iterations = report.iterations > 1 ? report.iterations - 1 : 1;
    solve_report_clear(&report);
    boxsem_destroy(&c);
    return iterations;
}

static void test_iterations(void **state) {
    (void)state;
    static const int plane[] = {5, 2, 2, 1, 1, 1, 1}, solid[] = {6, 4, 2, 2, 1};
    for (int k = 1; k <= 7; k++) assert_true(count_cycles(2, 16, k, 0) <= plane[k - 1]);
    for (int k = 1; k <= 5; k++) assert_true(count_cycles(3, k < 4 ? 16 : 8, k, 0) <= solid[k - 1]);
    for (int k = 3; k <= 5; k++) assert_true(count_cycles(3, 8, k, 1) <= count_cycles(3, 8, k, 0));
    assert_true(count_cycles(2, 16, 7, 1) <= count_cycles(2, 16, 7, 0));
}

/* ------------------------------------------------------------------------------------- variants */

/* The largest difference at the Gauss points between two ways to solve one problem. */
static double difference(const struct setting *a, const struct setting *b) {
    const struct setting *settings[2] = {a, b};
    double *values[2] = {NULL}, largest = 0.0;
    int64_t n = 0;
    for (int i = 0; i < 2; i++) {
        struct boxsem *c;
        struct solve_report report = {0};
        if (build(settings[i], &c) != FACET_OK ||
            run(c, settings[i]->exact, "1 + x", 1e-11, &report, NULL) != FACET_OK)
            fail_msg("%s", base_message());
        n = c->n_volume;
        assert_int_equal(ALLOC(values[i], n), FACET_OK);
        assert_int_equal(boxsem_get(c, 1, values[i]), FACET_OK);
        solve_report_clear(&report);
        boxsem_destroy(&c);
    }
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(values[0][i] - values[1][i]));
    base_free(&values[0]);
    base_free(&values[1]);
    return largest;
}

static void test_solvers_agree(void **state) {
    (void)state;
    static const struct {
        enum boxsem_solver solver;
        enum boxsem_smoother smoother;
        enum mg_cycle cycle;
        int single, steps;
    } ways[] = {
        {BOXSEM_MULTIGRID, BOXSEM_VERTEX, MG_FULL, 1, 1}, {BOXSEM_MULTIGRID, BOXSEM_VERTEX, MG_W, 0, 1},
        {BOXSEM_CG, BOXSEM_VERTEX, MG_V, 1, 1},           {BOXSEM_FGMRES, BOXSEM_VERTEX, MG_F, 1, 1},
        {BOXSEM_CG, BOXSEM_CHEBYSHEV, MG_V, 0, 4},        {BOXSEM_CG, BOXSEM_CHEBYSHEV, MG_V, 1, 1},
        {BOXSEM_FGMRES, BOXSEM_ADDITIVE, MG_V, 0, 1},     {BOXSEM_DIRECT, BOXSEM_VERTEX, MG_V, 0, 1},
    };
    struct setting a = basic(2, 12, 3);
    a.sides[1][1] = BOX_NEUMANN;
    a.exact = "x*y";
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct setting b = a;
        b.options.solver = ways[i].solver;
        b.options.smoother = ways[i].smoother;
        b.options.cycle = ways[i].cycle;
        b.options.single = ways[i].single;
        b.options.steps = ways[i].steps;
        double d = difference(&a, &b);
        if (!(d < 1e-9)) fail_msg("way %d differs by %.2e", (int)i, d);
    }
    for (int variant = PATCH_FUSED; variant <= PATCH_GLOBAL; variant++) {
        struct setting b = a;
        b.options.variant = (enum patch_variant)variant;
        assert_true(difference(&a, &b) < 1e-9);
    }
    struct setting b = a;
    b.device = "debug";
    assert_true(difference(&a, &b) < 1e-9);
}

/* k by cell: the smoother and the coarse levels approximate, the solution does not. */
static void test_cells(void **state) {
    (void)state;
    for (int k = 1; k <= 5; k++)
        for (int odd = 0; odd < 2; odd++) {
            struct setting a = basic(2, odd ? 7 : 8, k), b;
            a.contrast = 100.0;
            b = a;
            b.options.solver = BOXSEM_FGMRES;
            b.options.single = 1;
            b.options.steps = 2;
            assert_true(difference(&a, &b) < 1e-8);
        }
}

/* Iterations of conjugate gradients with f = 1, to 1e-9. */
static int count_steps(int dim, int cells, int degree, double contrast) {
    struct setting s = basic(dim, cells, degree);
    struct boxsem *c;
    struct solve_report report = {0};
    s.contrast = contrast;
    s.options.solver = BOXSEM_CG;
    if (build(&s, &c) != FACET_OK || run(c, NULL, "1", 1e-9, &report, NULL) != FACET_OK)
        fail_msg("%s", base_message());
    int iterations = report.iterations;
    solve_report_clear(&report);
    boxsem_destroy(&c);
    return iterations;
}

/* k that jumps by 100 takes at most three times the V-cycles of constant k in 3D, and in 2D at low degrees;
 * 17 at others, where constant k takes 5. */
static void test_jumps(void **state) {
    (void)state;
    for (int k = 1; k <= 7; k += k < 3 ? 2 : 4) {
        assert_true(count_steps(3, 8, k, 100.0) <= 3 * count_steps(3, 8, k, 1.0));
        const int plane = count_steps(2, 16, k, 100.0);
        assert_true(plane <= 17 && (k > 3 || plane <= 3 * count_steps(2, 16, k, 1.0)));
    }
    assert_true(count_steps(2, 16, 3, 1e4) < 100); /* slower, but it converges */
    assert_true(count_steps(2, 16, 1, 1e6) < 60);
}

/* Another reaction, a warm start, another number of threads. */
static void test_changes(void **state) {
    (void)state;
    struct setting s = basic(2, 16, 3);
    struct boxsem *c;
    struct solve_report report = {0};
    struct box_errors errors;
    if (build(&s, &c) != FACET_OK) fail_msg("%s", base_message());
    for (int i = 0; i < 3; i++) {
        if (i > 0) assert_int_equal(boxsem_set_reaction(c, 10.0 * i), FACET_OK);
        base_set_threads(1 + i % 2);
        assert_int_equal(boxsem_set_guess(c, NULL), FACET_OK);
        assert_int_equal(run(c, s.exact, NULL, 1e-11, &report, &errors), FACET_OK);
        assert_true(errors.u_L2 < 1e-6);
    }
    base_set_threads(1);
    double *values;
    assert_int_equal(ALLOC(values, c->n_volume), FACET_OK);
    assert_int_equal(boxsem_get(c, 1, values), FACET_OK);
    assert_int_equal(boxsem_set_guess(c, values), FACET_OK);
    assert_int_equal(run(c, s.exact, NULL, 1e-10, &report, &errors), FACET_OK);
    assert_int_equal(report.iterations, 0);
    base_free(&values);
    solve_report_clear(&report);
    boxsem_destroy(&c);
}

/* What goes out through all faces of the sides is the integral of f, and has the same bits however many
 * threads look for it. The lower side in z is a Neumann side. */
static void check_fluxes(const struct setting *s) {
    struct boxsem *c;
    struct solve_report report = {0};
    const struct box_given none = {0};
    double sums[2] = {0.0};
    if (build(s, &c) != FACET_OK || run(c, NULL, "1 + x", 1e-12, &report, NULL) != FACET_OK)
        fail_msg("%s", base_message());
    for (int threads = 1; threads <= 2; threads++) {
        base_set_threads(threads);
        c->fluxes.known = 0;
        assert_int_equal(boxsem_find_fluxes(c, &none), FACET_OK);
        for (int64_t cell = 0; cell < c->grid.n_cells; cell++) {
            int at[3];
            box_cell_at(&c->grid, cell, at);
            for (int i = 0; i < 2 * s->dim; i++) {
                double flux;
                if (at[i / 2] != i % 2 * (s->cells[i / 2] - 1) || s->sides[i / 2][i % 2] == BOX_PERIODIC)
                    continue;
                assert_int_equal(boxsem_face_flux(c, cell, i / 2, i % 2, &flux), FACET_OK);
                assert_true(s->sides[i / 2][i % 2] != BOX_NEUMANN || flux == 0.0);
                sums[threads - 1] += flux;
            }
        }
    }
    base_set_threads(1);
    assert_true(sums[0] == sums[1] && fabs(sums[0] - 1.5) < 1e-9);
    solve_report_clear(&report);
    boxsem_destroy(&c);
}

static void test_fluxes(void **state) {
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int periodic = 0; periodic < (dim > 1 ? 2 : 1); periodic++) {
            struct setting s = basic(dim, 7, 3);
            s.contrast = 3.0;
            s.sides[dim - 1][0] = BOX_NEUMANN;
            if (periodic) s.sides[0][0] = s.sides[0][1] = BOX_PERIODIC;
            check_fluxes(&s);
        }
    struct setting large = basic(3, 20, 4);
    large.cells[1] = 2;
    check_fluxes(&large);
}

/* Points, lattices and Gauss points see one function. */
static void test_evaluation(void **state) {
    (void)state;
    struct setting s = basic(3, 3, 3);
    struct boxsem *c;
    struct solve_report report = {0};
    s.exact = "x^3 - x*y*z^2 + y";
    s.grade = 0.3;
    if (build(&s, &c) != FACET_OK || run(c, s.exact, NULL, 1e-12, &report, NULL) != FACET_OK)
        fail_msg("%s", base_message());
    double *values, *x, lattice[64], at[3] = {c->gauss[1], c->gauss[3], c->gauss[0]}, q[3], u;
    assert_int_equal(ALLOC(values, c->n_volume), FACET_OK);
    assert_int_equal(ALLOC(x, 3 * c->n_volume), FACET_OK);
    assert_int_equal(boxsem_get(c, 1, values), FACET_OK);
    for (int64_t cell = 0; cell < c->grid.n_cells; cell++) {
        const double *const gauss[3] = {c->gauss, c->gauss, c->gauss};
        double lines[3][BOX_MAX_LINE];
        int place[3];
        box_cell_at(&c->grid, cell, place);
        const struct expr_grid grid =
            box_cell_lines(&c->grid, place, (const int[3]){c->n, c->n, c->n}, gauss, lines);
        expr_grid_points(&grid, x + 3 * cell * c->cell_size);
    }
    for (int64_t i = 0; i < c->n_volume; i++) {
        const double *p = x + 3 * i;
        assert_true(fabs(values[i] - (pow(p[0], 3) - p[0] * p[1] * p[2] * p[2] + p[1])) < 1e-10);
    }
    int64_t cell = 14, place = 14 * 64 + 1 + 4 * 3;
    assert_int_equal(boxsem_evaluate(c, BOXSEM_U, cell, BOX_LATTICE(4, c->gauss), lattice), FACET_OK);
    for (int i = 0; i < 64; i++) assert_true(fabs(lattice[i] - values[cell * 64 + i]) < 1e-12);
    assert_int_equal(boxsem_evaluate(c, BOXSEM_U, cell, &(struct box_places){.n = 1, .xi = at}, &u),
                     FACET_OK);
    assert_true(fabs(u - values[place]) < 1e-12);
    assert_int_equal(boxsem_evaluate(c, BOXSEM_Q, cell, &(struct box_places){.n = 1, .xi = at}, q), FACET_OK);
    const double *p = x + 3 * place;
    assert_true(fabs(q[0] + 3 * p[0] * p[0] - p[1] * p[2] * p[2]) < 1e-8);
    assert_true(fabs(q[1] + 1.0 - p[0] * p[2] * p[2]) < 1e-8);
    assert_true(fabs(q[2] - 2 * p[0] * p[1] * p[2]) < 1e-8);
    base_free(&values);
    base_free(&x);
    solve_report_clear(&report);
    boxsem_destroy(&c);
}

/* ------------------------------------------------------------------------------------- faults */

static facet_status whole_way(const struct setting *s) {
    facet_status status = FACET_OK;
    struct boxsem *c = NULL;
    struct solve_report report = {0};
    struct box_errors errors;
    double *values = NULL;
    TRY(build(s, &c));
    TRY(run(c, s->exact, NULL, 1e-8, &report, &errors));
    TRY(ALLOC(values, c->n_volume));
    TRY(boxsem_get(c, 1, values));
    TRY(boxsem_set_guess(c, values));
    if (s->contrast == 1.0) TRY(boxsem_set_reaction(c, 1.0));
done:
    base_free(&values);
    solve_report_clear(&report);
    boxsem_destroy(&c);
    return status;
}

static void check_faults(const struct setting *s) {
    struct base_memory before, after;
    if (whole_way(s) != FACET_OK) fail_msg("%s", base_message());
    for (int64_t k = 1;; k++) {
        base_memory_read(&before);
        base_memory_fail_at(k);
        facet_status status = whole_way(s);
        base_memory_fail_at(0);
        base_memory_read(&after);
        assert_int_equal(after.live_blocks, before.live_blocks);
        if (status == FACET_OK) break;
        if (status != FACET_ERROR_MACHINE) fail_msg("allocation %d: %s", (int)k, base_message());
    }
}

static void test_faults(void **state) {
    (void)state;
    struct setting s = basic(2, 4, 2);
    s.exact = "1 + x*y";
    s.sides[0][0] = BOX_NEUMANN;
    check_faults(&s);
    s.options.single = 1;
    s.options.solver = BOXSEM_FGMRES;
    s.options.smoother = BOXSEM_CHEBYSHEV;
    check_faults(&s);
    s.cells[0] = s.cells[1] = 3;
    s.contrast = 10.0;
    s.options.solver = BOXSEM_CG;
    s.options.smoother = BOXSEM_VERTEX;
    check_faults(&s);
    s.cells[0] = 6;
    check_faults(&s);
    s.contrast = 1.0;
    s.options.solver = BOXSEM_DIRECT;
    check_faults(&s);
    s.options.solver = BOXSEM_AUTO;
    s.device = "debug";
    check_faults(&s);
}

/* With levels in single precision the full cycle is as good as in double, also where rounding the solution
 * would be seen. */
static void test_mixed(void **state) {
    (void)state;
    static const int sizes[][2] = {{1, 16}, {2, 16}, {3, 16}, {5, 8}, {7, 8}};
    for (int i = 0; i < 5; i++) {
        struct box_errors errors;
        struct setting s = basic(3, sizes[i][1], sizes[i][0]);
        s.options.solver = BOXSEM_MULTIGRID;
        int in_double = measure(&s, 1e-9, &errors);
        s.options.single = 1;
        assert_int_equal(measure(&s, 1e-9, &errors), in_double);
    }
}

/* Levels that end in a direct solution: the same answer in no more cycles, with another reaction too. */
static void test_direct_levels(void **state) {
    (void)state;
    struct box_errors levels, direct;
    struct setting s = basic(3, 8, 3);
    s.options.solver = BOXSEM_MULTIGRID;
    int most = measure(&s, 1e-10, &levels);
    s.options.direct = 3000;
    assert_true(measure(&s, 1e-10, &direct) <= most);
    assert_true(fabs(levels.u_L2 - direct.u_L2) <= 1e-6 * levels.u_L2);
    s.device = "debug";
    assert_true(measure(&s, 1e-10, &direct) <= most);
    assert_true(fabs(levels.u_L2 - direct.u_L2) <= 1e-6 * levels.u_L2);
}

/* What does not fit is refused before it is tried, with a size that fits. */
static void test_memory(void **state) {
    (void)state;
    struct boxsem *c;
    struct setting s = basic(3, 16, 3);
    double needed, nodes = 49.0 * 49.0 * 49.0;
    base_pretend_available(1.0);
    assert_int_equal(build(&s, &c), FACET_ERROR_MACHINE);
    assert_int_equal(sscanf(strstr(base_message(), "GiB ("), "GiB (%lf bytes)", &needed), 1);
    assert_true(needed > 40.0 * nodes && needed < 60.0 * nodes);
    base_pretend_available(0.2 * needed);
    assert_int_equal(build(&s, &c), FACET_ERROR_MACHINE);
    int cells = 0;
    const char *at = strstr(base_message(), "of this degree");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "of this degree %d", &cells), 1);
    assert_true(cells >= 8 && cells < 16);
    s = basic(3, cells, 3);
    if (build(&s, &c) != FACET_OK) fail_msg("%s", base_message());
    boxsem_destroy(&c);
    base_pretend_available(10.0);
    assert_int_equal(build(&s, &c), FACET_ERROR_MACHINE);
    base_pretend_available(0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operator),      cmocka_unit_test(test_orders),
        cmocka_unit_test(test_periodic),      cmocka_unit_test(test_singular),
        cmocka_unit_test(test_iterations),    cmocka_unit_test(test_cells),
        cmocka_unit_test(test_solvers_agree), cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_changes),       cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_mixed),         cmocka_unit_test(test_direct_levels),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_fluxes),
    };
    base_set_threads(1); /* the boxes are small */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
