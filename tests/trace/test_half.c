/* Element matrices in 16 bits: conversions against their definition, constants restored, the size of the
 * rounding, the judgement of stretched cells, iterations of solves, and allocation faults. */
#include <stdio.h>

#include "half_helpers.h"
#include "solid_helpers.h"

/* Every number of half precision up to 1, its neighbours and what lies between them. */
static void conversions_round_to_the_nearest(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x3c00; h++) {
        double value = h < 0x400 ? ldexp(h, -24) : ldexp(1024 + (h & 1023), (int)(h >> 10) - 25);
        double next =
            h + 1 < 0x400 ? ldexp(h + 1, -24) : ldexp(1024 + ((h + 1) & 1023), (int)((h + 1) >> 10) - 25);
        double middle = 0.5 * (value + next);
        assert_true(half_widen((uint16_t)h) == (float)value &&
                    half_widen((uint16_t)(h | 0x8000)) == -(float)value);
        assert_int_equal(half_round((float)value), h);
        assert_int_equal(half_round((float)middle), h + (h & 1));
        assert_int_equal(half_round(nextafterf((float)middle, 0.0f)), h);
        assert_int_equal(half_round(-nextafterf((float)middle, 1.0f)), (h + 1) | 0x8000);
    }
    for (int k = -126; k <= 127; k++) assert_true(half_scale(half_power(k)) == ldexpf(1.0f, k));
    for (int n = 1; n < 20; n++) { /* places are a numbering */
        uint8_t seen[200] = {0};
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                int64_t place = half_place(n, i, j);
                assert_true(place >= 0 && place < n * (n + 1) / 2 && !seen[place]++);
            }
    }
}

/* ------------------------------------------------------------------------------------------ products */

static double stretching;

/* Boxes, stretched in x, whose lower halves are bent: K may jump along the borders of cells in the upper
 * ones. */
static void map_half(const double *x, double *y) {
    double bend = x[1] < 0.49 ? 0.06 * sin(13.0 * x[1]) : 0.0;
    y[0] = stretching * (x[0] + bend * sin(3.1 * x[0]));
    y[1] = x[1] + bend * sin(6.3 * x[0] + 1.7 * x[2]);
    y[2] = x[2] + bend * sin(4.1 * x[0] - 3.3 * x[2]);
}

/* K = 1 and 1e4 from cell to cell without pattern where they are straight; a strong Robin condition on one
 * side; no face is eliminated in `space`. n: even. */
struct example {
    struct setup setup;
    struct solved s;
    struct trace_space space;
    struct linear_operator A, S;
};

static void make(const char *device, int k, int n, int degree, double stretch, struct example *e) {
    const struct hdg *h;
    char K[128];
    stretching = stretch;
    snprintf(K, sizeof K, "y > 0.5 && sin(97*floor(%d*x/%g)+31*floor(%d*y)) < 0 ? 1e4 : 1", n, stretch, n);
    *e = (struct example){.setup = {.mesh = remake(unit_box(shapes[k], NULL, n), 1, map_half, 11u),
                                    .degree = degree,
                                    .device = device,
                                    .n_K = 1,
                                    .K = {K},
                                    .exact = "x+y",
                                    .conditions = {{"xmin", "robin", "1", "1e6"}}}};
    solve(&e->setup, &e->s);
    h = mapped_of(e->s.solver)->hdg;
    uint8_t *none = test_calloc((size_t)h->data.mesh->n_faces, 1);
    ok(trace_space_create(h->data.mesh, degree, 1, none, &e->space));
    test_free(none);
    ok(trace_operator_create(&e->space, &h->matrices, &e->A));
    ok(trace_operator_halve(&e->space, &h->matrices, &e->A, &e->S));
}

static void unmake(struct example *e) {
    operator_destroy(&e->A);
    operator_destroy(&e->S);
    trace_space_destroy(&e->space);
    release(&e->s);
    facet_mesh_destroy(&e->setup.mesh);
}

/* With the matrices as they are, all faces free: S 1 = A 1 as floats have it, and |S - A| is the rounding of
 * 16 bits, entry by entry in units of the roots of the diagonal. */
static void check_products(const char *device, int k, int degree) {
    struct example e;
    make(device, k, k < 2 ? 4 : 2, degree, 1.0, &e);
    assert_non_null(e.S.apply);
    int64_t n = e.A.n, rows = trace_cell_size(&e.space, 0);
    double *x = test_calloc((size_t)(5 * n), sizeof *x), *y = x + n, *z = y + n, *one = z + n,
           *diagonal = one + n;
    double most = 0.0;
    for (int64_t f = 0; f < e.space.n_faces; f++)
        one[e.space.face_first[f]] = sqrt(shape_measure((enum shape)e.space.records[f].shape));
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1.0;
        apply(&e.A, x, y);
        diagonal[i] = sqrt(y[i]);
        x[i] = 0.0;
    }
    for (int64_t j = 0; j < n; j++) {
        x[j] = 1.0;
        apply(&e.A, x, y);
        apply(&e.S, x, z);
        for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(y[i] - z[i]) / (diagonal[i] * diagonal[j]));
        x[j] = 0.0;
    }
    if (!(most > 2e-5 && most < 2e-3)) fail_msg("%s, degree %d: rounding is %g", shapes[k], degree, most);
    apply(&e.A, one, y);
    apply(&e.S, one, z);
    most = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double around = 0.0; /* the size of what is added up */
        for (int64_t j = 0; j < n; j++) around = fmax(around, diagonal[j] * (one[j] > 0.0));
        most = fmax(most, fabs(y[i] - z[i]) / (diagonal[i] * around));
    }
    if (!(most < 2e-6)) fail_msg("%s, degree %d: constants are off by %g", shapes[k], degree, most);
    near(trace_operator_bytes(&e.S) / trace_operator_bytes(&e.A),
         2.0 * (double)half_size((int)rows) / (4.0 * (double)(rows * (rows + 1))), 1e-12);
    test_free(x);
    unmake(&e);
}

static void products_restore_constants(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "ref", "debug"};
    int64_t before = live_blocks();
    for (int d = half_pays() ? 0 : 1; d < 3; d++) {
        check_products(devices[d], 0, 5);
        check_products(devices[d], 1, 4);
        check_products(devices[d], 2, 2);
        if (d == 0) check_products(devices[d], 3, 2);
        if (d > 0) check_products(devices[d], 0, 2); /* an odd number of rows */
    }
    assert_int_equal(live_blocks(), before);
}

/* The same cells, more and more stretched: 16 bits, then none. */
static void stretched_cells_stay_in_single_precision(void **state) {
    (void)state;
    for (int k = 0; k < 3; k += 2)
        for (int far = 0; far < 2; far++) {
            struct example e;
            make("ref", k, 4, 2, far ? 300.0 : 3.0, &e);
            assert_int_equal(e.S.apply == NULL, far);
            unmake(&e);
        }
}

static void other_operators_are_left_alone(void **state) {
    (void)state;
    struct example e;
    struct linear_operator single = {0}, S = {.n = 7};
    make("ref", 0, 2, 2, 1.0, &e);
    const struct trace_matrices *matrices = &mapped_of(e.s.solver)->hdg->matrices;
    ok(operator_create_single(&e.A, &single));
    ok(trace_operator_halve(&e.space, matrices, &single, &S));
    assert_null(S.apply);
    e.space.n_components = 2;
    ok(trace_operator_halve(&e.space, matrices, &e.A, &S));
    assert_null(S.apply);
    e.space.n_components = 1;
    operator_destroy(&single);
    double *K;
    int64_t n_values = trace_matrix_size(matrices, 0) * matrices->n_batches[0] * matrices->lanes;
    K = matrices->values[0]; /* of the host, on ref */
    assert_true(n_values > 0);
    K[0] = -K[0];
    ok(trace_operator_halve(&e.space, matrices, &e.A, &S));
    assert_null(S.apply);
    K[0] = -K[0];
    for (int k = 1;; k++) { /* allocation faults */
        int64_t before = live_blocks();
        base_memory_fail_at(k);
        facet_status status = trace_operator_halve(&e.space, matrices, &e.A, &S);
        base_memory_fail_at(0);
        if (status == FACET_OK) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_int_equal(live_blocks(), before);
    }
    assert_non_null(S.apply);
    operator_destroy(&S);
    unmake(&e);
}

/* ------------------------------------------------------------------------------------------ solves */

static int iterations(const struct solved *s, const char *precision, int degree, double *bytes) {
    facet_options options;
    facet_solver *solver;
    facet_report report = {.size = sizeof report};
    facet_level level = {.size = sizeof level};
    facet_options_default(&options, sizeof options);
    options.degree = degree;
    options.operator_name = "mapped";
    options.method = "cg";
    options.preconditioner = "pmg";
    options.precision = precision;
    options.rtol = 1e-10;
    ok(facet_solver_create(s->problem, &options, &solver));
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_solver_report(solver, &report));
    ok(facet_solver_level(solver, 0, &level));
    *bytes = level.bytes;
    facet_solver_destroy(&solver);
    return report.iterations;
}

/* K = 1 and 1e4 without pattern. */
static void solves_take_the_iterations_of_double(void **state) {
    (void)state;
    if (!half_pays()) skip();
    for (int k = 0; k < 4; k++)
        for (int degree = k < 2 ? 5 : 2; degree <= (k < 2 ? 6 : 3); degree++) {
            struct example e;
            double bytes[2];
            make("cpu", k, k < 2 ? 12 : 4, degree, 1.0, &e);
            const struct hdg *h = mapped_of(e.s.solver)->hdg;
            int exact = iterations(&e.s, "double", degree, &bytes[0]);
            int mixed = iterations(&e.s, "mixed", degree, &bytes[1]);
            if (abs(exact - mixed) > 2)
                fail_msg("%s, degree %d: %d iterations in double, %d in mixed precision", shapes[k], degree,
                         exact, mixed);
            double size = (double)trace_matrix_size(&h->matrices, 0) * h->data.mesh->n_cells;
            if (!(bytes[1] - bytes[0] / 2 < 3.2 * size)) /* 16 bits, with scales and maps */
                fail_msg("%s, degree %d: %g bytes of %g numbers", shapes[k], degree, bytes[1] - bytes[0] / 2,
                         size);
            unmake(&e);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions_round_to_the_nearest),
        cmocka_unit_test(products_restore_constants),
        cmocka_unit_test(stretched_cells_stay_in_single_precision),
        cmocka_unit_test(other_operators_are_left_alone),
        cmocka_unit_test(solves_take_the_iterations_of_double),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
