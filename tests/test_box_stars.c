/* The preconditioners of a box: the coarse space of vertices, the vertex stars. */
#include "box_plain.h"

#include "box/stars.h"

static const struct plain_box boxes[] = {
    {1, 3, {4}, 'g', "dn", 0.7, 0.0, 0},           {1, 2, {3}, 'u', "pp", 2.0, 1.5, 1},
    {2, 3, {3, 2}, 'u', "dddn", 1.3, 0.0, 0},      {2, 4, {2, 3}, 'g', "ppnn", 0.4, 0.0, 0},
    {2, 5, {1, 1}, 'u', "ddnn", 3.0, 2.0, 0},      {2, 2, {4, 3}, 'm', "pppp", 1.0, 3.0, 1},
    {3, 2, {2, 3, 2}, 'g', "ddnnpp", 2.0, 0.0, 1}, {3, 3, {2, 2, 2}, 'u', "dddddd", 9.0, 4.0, 0},
    {3, 1, {1, 2, 3}, 'u', "ppdnpp", 1.0, 0.0, 0}, {3, 2, {3, 3, 3}, 'u', "nnppnn", 5.0, 0.0, 1}};
#define N_BOXES (int)(sizeof boxes / sizeof boxes[0])

/* A_c = P'KP by columns, and <P'r, x> = <r, P x>. */
static void coarse_is_galerkin(void **state) {
    (void)state;
    for (int b = 0; b < N_BOXES; b++) {
        struct box_hdg *h;
        struct box_coarse c;
        ok(plain_create(&boxes[b], &h));
        ok(box_coarse_create(h, &c));
        double *x = calloc((size_t)c.n, sizeof *x), *y = calloc((size_t)c.n, sizeof *y);
        double *t = calloc((size_t)h->n_trace, sizeof *t), *Kt = calloc((size_t)h->n_trace, sizeof *t);
        double worst = 0.0, largest = 0.0;
        for (int64_t j = 0; j < c.n; j++) {
            for (int64_t i = 0; i < c.n; i++) x[i] = i == j;
            memset(t, 0, (size_t)h->n_trace * sizeof *t);
            box_coarse_prolong(&c, x, t);
            plain_multiply(h, t, Kt);
            box_coarse_restrict(&c, Kt, y);
            for (int64_t k = c.A.offsets[j]; k < c.A.offsets[j + 1]; k++) {
                y[c.A.columns[k]] -= c.A.values[k];
                largest = fmax(largest, fabs(c.A.values[k]));
            }
            for (int64_t i = 0; i < c.n; i++) worst = fmax(worst, fabs(y[i]));
        }
        if (!(worst <= 1e-12 * largest)) fail_msg("box %d: %g of %g", b, worst, largest);
        free(x);
        free(y);
        free(t);
        free(Kt);
        box_coarse_destroy(&c);
        box_hdg_destroy(&h);
    }
}

static double norm(int64_t n, const double *x) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* The residual that goes along is that of x, whatever the sweeps; where k is constant this says that the
 * solves on the stars are exact, since they put zero inside. */
static void sweeps_keep_the_residual(void **state) {
    (void)state;
    for (int b = 0; b < N_BOXES; b++) {
        struct box_hdg *h;
        struct box_stars *stars, *single;
        ok(plain_create(&boxes[b], &h));
        ok(box_stars_create(h, 0, &stars));
        ok(box_stars_create(h, 1, &single));
        size_t n = (size_t)h->n_trace;
        double *F = calloc(n, sizeof *F), *x = calloc(n, sizeof *F), *r = calloc(n, sizeof *F);
        double *y = calloc(n, sizeof *F), worst = 0.0, rough = 0.0;
        float *x1 = calloc(n, sizeof *x1), *r1 = calloc(n, sizeof *r1);
        plain_load(h, F, y);
        for (size_t i = 0; i < n; i++) r1[i] = (float)(r[i] = F[i]);
        for (int sweep = 0; sweep < 3; sweep++) {
            box_stars_sweep(stars, sweep % 2, x, r);
            box_stars_sweep_single(single, sweep % 2, x1, r1);
        }
        plain_multiply(h, x, y);
        for (size_t i = 0; i < n; i++) {
            worst = fmax(worst, fabs(F[i] - y[i] - r[i]));
            rough = fmax(rough, fabs(r1[i] - r[i]));
        }
        double scale = norm(h->n_trace, F);
        if (!(worst <= 1e-12 * scale)) fail_msg("box %d: %g of %g", b, worst, scale);
        if (!(rough <= 1e-4 * scale)) fail_msg("box %d, single: %g of %g", b, rough, scale);
        memset(r, 0, n * sizeof *r);
        box_stars_subtract(stars, x, r);
        for (size_t i = 0; i < n; i++) assert_true(fabs(r[i] + y[i]) <= 1e-12 * scale);
        free(F);
        free(x);
        free(r);
        free(y);
        free(x1);
        free(r1);
        box_stars_destroy(&stars);
        box_stars_destroy(&single);
        box_hdg_destroy(&h);
    }
}

static const struct device *cpu(void) {
    const struct device *device;
    ok(device_find("cpu", &device));
    return device;
}

static void two_level_is_symmetric(void **state) {
    (void)state;
    for (int b = 0; b < N_BOXES; b++) {
        struct box_hdg *h;
        struct operator M;
        struct vector x[2], y[2];
        ok(plain_create(&boxes[b], &h));
        ok(box_two_level_create(cpu(), h, 0, &M));
        double *kernel = calloc((size_t)h->n_trace, sizeof *kernel);
        for (int i = 0; i < 2; i++) {
            ok(vector_create(cpu(), h->n_trace, &x[i]));
            ok(vector_create(cpu(), h->n_trace, &y[i]));
            plain_load(h, x[i].data, kernel);
            operator_apply(&M, &x[i], &y[i]);
        }
        double one = vector_dot(&x[0], &y[1]), two = vector_dot(&y[0], &x[1]);
        double size = sqrt(vector_dot(&x[0], &y[0]) * vector_dot(&x[1], &y[1]));
        assert_true(vector_dot(&x[0], &y[0]) > 0.0);
        if (!(fabs(one - two) <= 1e-11 * size)) fail_msg("box %d: %g and %g of %g", b, one, two, size);
        for (int i = 0; i < 2; i++) {
            vector_destroy(&x[i]);
            vector_destroy(&y[i]);
        }
        free(kernel);
        operator_destroy(&M);
        box_hdg_destroy(&h);
    }
}

/* Iterations of conjugate gradients to 1e-10. */
static int count(const struct plain_box *b, int single) {
    struct box_hdg *h;
    struct operator A, M;
    struct vector f, x, kernel;
    struct solve_report report = {0};
    struct solve_control control = {.rtol = 1e-10, .max_iterations = 60};
    ok(plain_create(b, &h));
    ok(operator_create_box_plain(cpu(), h, &A));
    ok(box_two_level_create(cpu(), h, single, &M));
    ok(vector_create(cpu(), h->n_trace, &f));
    ok(vector_create(cpu(), h->n_trace, &x));
    ok(vector_create(cpu(), h->n_trace, &kernel));
    plain_load(h, f.data, kernel.data);
    vector_fill(&x, 0.0);
    if (h->grid.singular) control.kernel = &kernel;
    ok(solve_cg(&A, &M, &f, &x, &control, &report));
    assert_true(plain_residual(h, f.data, x.data) <= 1.1e-10);
    int iterations = report.iterations;
    solve_report_clear(&report);
    vector_destroy(&f);
    vector_destroy(&x);
    vector_destroy(&kernel);
    operator_destroy(&A);
    operator_destroy(&M);
    box_hdg_destroy(&h);
    return iterations;
}

static void counts_do_not_grow(void **state) {
    (void)state;
    for (int p = 3; p <= 7; p += 4)
        for (int cells = 2; cells <= (p == 3 ? 8 : 4); cells *= 2) {
            struct plain_box box = {3, p, {cells, cells, cells}, 'u', "dddddd", 5.0, 0.0, 0};
            int in_double = count(&box, 0), in_single = count(&box, 1);
            if (getenv("FACET_SHOW") != NULL) printf("p %d, %d^3: %d %d\n", p, cells, in_double, in_single);
            assert_true(in_double <= 6 && in_single <= in_double + 2);
        }
    for (int b = 0; b < N_BOXES; b++) {
        int iterations = count(&boxes[b], 0);
        if (getenv("FACET_SHOW") != NULL) printf("box %d: %d\n", b, iterations);
        assert_true(iterations <= (boxes[b].jumps ? 12 : 8));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coarse_is_galerkin), cmocka_unit_test(sweeps_keep_the_residual),
        cmocka_unit_test(two_level_is_symmetric), cmocka_unit_test(counts_do_not_grow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
