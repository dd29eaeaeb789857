/* The preconditioners of a box: the coarse space of vertices, the vertex stars. */
#include "box_plain.h"

#include "bench/papers/stars.h"

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
        struct boxhdg *h;
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
        boxhdg_destroy(&h);
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
        struct boxhdg *h;
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
        boxhdg_destroy(&h);
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
        struct boxhdg *h;
        struct linear_operator M;
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
        boxhdg_destroy(&h);
    }
}

/* Iterations of conjugate gradients to 1e-10. */
static int count(const struct plain_box *b, int single) {
    struct boxhdg *h;
    struct linear_operator A, M;
    struct vector f, x;
    struct null_space constants = {0};
    struct solve_report report = {0};
    struct solve_control control = {.rtol = 1e-10, .max_iterations = 60};
    ok(plain_create(b, &h));
    ok(operator_create_box_plain(cpu(), h, &A));
    ok(box_two_level_create(cpu(), h, single, &M));
    ok(vector_create(cpu(), h->n_trace, &f));
    ok(vector_create(cpu(), h->n_trace, &x));
    ok(vector_create(cpu(), h->n_trace, &constants.function));
    plain_load(h, f.data, constants.function.data);
    vector_fill(&x, 0.0);
    if (h->grid.singular) control.null_space = &constants;
    ok(solve_cg(&A, &M, &f, &x, &control, &report));
    assert_true(plain_residual(h, f.data, x.data) <= 1.1e-10);
    int iterations = report.iterations;
    solve_report_clear(&report);
    vector_destroy(&f);
    vector_destroy(&x);
    null_space_destroy(&constants);
    operator_destroy(&A);
    operator_destroy(&M);
    boxhdg_destroy(&h);
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

/* Sweeps have the same bits with any number of threads. */
static void threads_change_nothing(void **state) {
    (void)state;
    int threads = base_threads();
    for (int b = 5; b < N_BOXES; b++) {
        struct boxhdg *h;
        double *x[3], *kernel, *F, *r;
        ok(plain_create(&boxes[b], &h));
        size_t n = (size_t)h->n_trace;
        kernel = calloc(n, sizeof *kernel);
        F = calloc(n, sizeof *F);
        r = calloc(n, sizeof *r);
        plain_load(h, F, kernel);
        for (int t = 0; t < 3; t++) {
            struct box_stars *stars;
            base_set_threads(t + 1);
            ok(box_stars_create(h, 0, &stars));
            x[t] = calloc(n, sizeof *F);
            memcpy(r, F, n * sizeof *r);
            box_stars_sweep(stars, 0, x[t], r);
            box_stars_subtract(stars, x[t], r);
            box_stars_sweep(stars, 1, x[t], r);
            assert_memory_equal(x[t], x[0], n * sizeof *F);
            box_stars_destroy(&stars);
        }
        for (int t = 0; t < 3; t++) free(x[t]);
        free(kernel);
        free(F);
        free(r);
        boxhdg_destroy(&h);
    }
    base_set_threads(threads);
}

/* P as a sparse matrix. */
static void prolongation(const struct boxhdg *h, const struct box_coarse *c, struct mg_transfer *P) {
    double *unit = calloc((size_t)c->n, sizeof *unit), *column = calloc((size_t)h->n_trace, sizeof *column);
    struct mg_transfer R = {.n_rows = c->n, .n_columns = h->n_trace};
    int64_t at = 0;
    ok(ALLOC(R.offsets, c->n + 1));
    ok(ALLOC(R.columns, c->n * h->n_trace));
    ok(ALLOC(R.values, c->n * h->n_trace));
    for (int64_t j = 0; j < c->n; j++) {
        R.offsets[j] = at;
        memset(column, 0, (size_t)h->n_trace * sizeof *column);
        unit[j] = 1.0;
        box_coarse_prolong(c, unit, column);
        unit[j] = 0.0;
        for (int64_t i = 0; i < h->n_trace; i++)
            if (column[i] != 0.0) {
                R.columns[at] = (int32_t)i;
                R.values[at++] = column[i];
            }
    }
    R.offsets[c->n] = at;
    ok(mg_transpose(&R, P));
    mg_transfer_destroy(&R);
    free(unit);
    free(column);
}

/* As a smoother in the general multigrid, the stars give the two-level preconditioner. */
static void smoother_makes_the_same_cycle(void **state) {
    (void)state;
    struct plain_box box = {3, 3, {3, 2, 3}, 'g', "ddnnpp", 2.0, 1.0, 1};
    struct boxhdg *h;
    struct box_stars *stars;
    struct box_coarse c;
    struct linear_operator A, M, N, solve;
    struct smoother smoother;
    struct multigrid *mg;
    struct mg_transfer P;
    struct vector f, x, y;
    ok(plain_create(&box, &h));
    ok(box_coarse_create(h, &c));
    ok(box_stars_create(h, 0, &stars));
    ok(smoother_create_box_stars(&stars, &smoother));
    ok(operator_create_box_plain(cpu(), h, &A));
    ok(box_coarse_solver(cpu(), &c, &solve));
    prolongation(h, &c, &P);
    ok(multigrid_create(&mg));
    ok(multigrid_append(mg, "traces", &A, NULL, &smoother));
    ok(multigrid_connect(mg, &P));
    ok(multigrid_end(mg, "vertices", &solve));
    ok(multigrid_finish(mg));
    ok(operator_create_multigrid(&mg, &M));
    ok(box_two_level_create(cpu(), h, 0, &N));
    ok(vector_create(cpu(), h->n_trace, &f));
    ok(vector_create(cpu(), h->n_trace, &x));
    ok(vector_create(cpu(), h->n_trace, &y));
    plain_load(h, f.data, x.data);
    operator_apply(&M, &f, &x);
    operator_apply(&N, &f, &y);
    double size = vector_norm(&y);
    vector_axpby(-1.0, &x, 1.0, &y);
    assert_true(vector_norm(&y) <= 1e-12 * size);
    vector_destroy(&f);
    vector_destroy(&x);
    vector_destroy(&y);
    operator_destroy(&M);
    operator_destroy(&N);
    operator_destroy(&A);
    mg_transfer_destroy(&P);
    box_coarse_destroy(&c);
    boxhdg_destroy(&h);
}

static facet_status make_all(const struct boxhdg *h, int single) {
    facet_status status = FACET_OK;
    struct box_stars *stars = NULL;
    struct smoother smoother = {0};
    struct linear_operator A = {0}, M = {0};
    TRY(box_stars_create(h, single, &stars));
    TRY(smoother_create_box_stars(&stars, &smoother));
    TRY(operator_create_box_plain(cpu(), h, &A));
    TRY(box_two_level_create(cpu(), h, single, &M));
done:
    box_stars_destroy(&stars);
    smoother_destroy(&smoother);
    operator_destroy(&A);
    operator_destroy(&M);
    return status;
}

static void survives_faults(void **state) {
    (void)state;
    struct base_memory before, after;
    for (int b = 0; b < 4; b++) {
        struct plain_box box = {2, 2, {2, 3}, b < 2 ? 'g' : 'u', "ppnn", 1.0, 1.0, b < 2};
        struct boxhdg *h;
        facet_status status = FACET_ERROR_MACHINE;
        ok(plain_create(&box, &h));
        base_memory_read(&before);
        for (int64_t k = 1; status != FACET_OK; k++) {
            base_memory_fail_at(k);
            status = make_all(h, b % 2);
            base_memory_fail_at(0);
            base_memory_read(&after);
            assert_true(status == FACET_OK || status == FACET_ERROR_MACHINE);
            assert_int_equal(after.live_blocks, before.live_blocks);
        }
        boxhdg_destroy(&h);
    }
}

static void refuses_walls(void **state) {
    (void)state;
    struct boxhdg *h;
    struct linear_operator M;
    const struct device *device;
    ok(device_find("debug", &device));
    ok(plain_create(&boxes[2], &h));
    assert_int_equal(box_two_level_create(device, h, 0, &M), FACET_ERROR_INPUT);
    assert_int_equal(operator_create_box_plain(device, h, &M), FACET_ERROR_INPUT);
    boxhdg_destroy(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coarse_is_galerkin),     cmocka_unit_test(sweeps_keep_the_residual),
        cmocka_unit_test(two_level_is_symmetric), cmocka_unit_test(counts_do_not_grow),
        cmocka_unit_test(threads_change_nothing), cmocka_unit_test(smoother_makes_the_same_cycle),
        cmocka_unit_test(survives_faults),        cmocka_unit_test(refuses_walls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
