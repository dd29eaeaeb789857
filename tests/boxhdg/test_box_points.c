/* HDG on a box at the Gauss points of its cells on any device, against the host's way through plain modes:
 * right-hand sides, recovery, and whole solves. */
#include "bench/papers/box_plain.h"
#include "bench/papers/points.h"
#include "boxhdg/hdg_cells.h"
#include "boxhdg_lanes_helpers.h"
#include "device/device.h"

static const struct box_case boxes[] = {
    {.dim = 3, .degree = 3, .cells = {9, 4, 5}, .sides = {{0, 0}, {0, 0}, {0, 0}}, .rho = 3, .length = 2},
    {.dim = 3,
     .degree = 4,
     .cells = {10, 2, 3},
     .sides = {{2, 2}, {1, 0}, {1, 1}},
     .rho = 3,
     .length = 2,
     .graded = 1,
     .varied_lines = 1,
     .conductivity = 10,
     .reaction = -1},
    {.dim = 2,
     .degree = 6,
     .cells = {11, 7},
     .sides = {{0, 1}, {1, 0}},
     .rho = 3,
     .length = 2,
     .reaction = 1},
    {.dim = 1, .degree = 3, .cells = {13}, .sides = {{1, 0}}, .rho = 3, .length = 2},
};
enum { N_BOXES = sizeof boxes / sizeof *boxes };
static const char *const devices[] = {"cpu", "ref", "debug"};

static double *random_numbers(int64_t n, uint32_t seed) {
    double *x = test_malloc(((size_t)n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
    return x;
}

static double relative(int64_t n, const double *x, const double *y) {
    double square = 0.0, norm = 0.0;
    for (int64_t i = 0; i < n; i++) {
        square += (x[i] - y[i]) * (x[i] - y[i]);
        norm += y[i] * y[i];
    }
    return sqrt(square / norm);
}

/* Random data of one box, and what the host makes of them. */
struct data {
    struct boxhdg *h;
    double *f, *dirichlet, *neumann, *F, *loads, *trace, *u, *back;
};

static void data_create(const struct box_case *c, struct data *d) {
    d->h = make_box(c);
    int64_t n = d->h->n_trace, m = d->h->n_volume;
    d->f = random_numbers(m, 1);
    d->dirichlet = random_numbers(n, 2);
    d->neumann = random_numbers(n, 3);
    d->F = random_numbers(n, 4);
    d->trace = random_numbers(n, 5);
    d->loads = random_numbers(m, 6);
    d->u = random_numbers(m, 7);
    d->back = random_numbers(m > n ? m : n, 8);
    ok(boxhdg_load(d->h, d->f, d->dirichlet, d->neumann, d->loads, d->F));
}

static void data_destroy(struct data *d) {
    double *all[] = {d->f, d->dirichlet, d->neumann, d->F, d->loads, d->trace, d->u, d->back};
    for (int i = 0; i < 8; i++) test_free(all[i]);
    boxhdg_destroy(&d->h);
}

static void loads_and_recovery_are_those_of_the_host(void **state) {
    (void)state;
    int64_t before = live_blocks();
    for (int k = 0; k < N_BOXES * 3; k++) {
        const struct device *device;
        struct data d;
        struct boxhdg_lanes *lanes = NULL;
        struct boxhdg_lanes_points *points = NULL;
        struct vector f, F, trace;
        ok(device_find(devices[k % 3], &device));
        data_create(&boxes[k / 3], &d);
        ok(boxhdg_lanes_create(device, d.h, 0, &lanes));
        ok(boxhdg_lanes_points_create(lanes, d.dirichlet, d.neumann, &points));
        ok(vector_create(device, d.h->n_volume, &f));
        ok(vector_create(device, lanes->plan.size, &F));
        ok(vector_create(device, lanes->plan.size, &trace));
        ok(vector_upload(&f, d.f));
        boxhdg_lanes_load(points, &f, &F);
        for (int64_t i = 0; i < d.h->n_trace; i++) d.back[i] = 0.0;
        ok(boxhdg_lanes_unpack(lanes, BOXHDG_RESIDUAL, &F, d.back));
        assert_true(relative(d.h->n_trace, d.back, d.F) < 1e-11);

        ok(boxhdg_lanes_pack(lanes, BOXHDG_UNKNOWN, d.trace, &trace));
        boxhdg_lanes_recover(points, &trace, &f, &f);
        ok(vector_download(&f, d.back));
        boxhdg_add_dirichlet(d.h, d.dirichlet, d.trace);
        ok(boxhdg_recover(d.h, d.loads, d.trace, d.u, NULL));
        ok(boxhdg_transform(d.h, 1, d.u, d.u));
        assert_true(relative(d.h->n_volume, d.back, d.u) < 1e-11);
        vector_destroy(&f);
        vector_destroy(&F);
        vector_destroy(&trace);
        boxhdg_lanes_points_destroy(&points);
        boxhdg_lanes_destroy(&lanes);
        data_destroy(&d);
    }
    assert_int_equal(live_blocks(), before);
}

static struct boxhdg_lanes_points *set_boundary(struct boxhdg_solver *solver, const struct data *d) {
    struct boxhdg_lanes_points *points = NULL;
    struct vector *F, *trace;
    ok(boxhdg_lanes_points_create(boxhdg_solver_lanes(solver, &F, &trace), d->dirichlet, d->neumann,
                                  &points));
    return points;
}

/* On all devices, in both precisions, with and without a coarse space. */
static void whole_solves_are_those_of_the_host(void **state) {
    (void)state;
    static const enum boxhdg_preconditioner kinds[] = {BOXHDG_DIAGONAL, BOXHDG_ADDITIVE, BOXHDG_CHEBYSHEV};
    int64_t before = live_blocks();
    for (int k = 0; k < N_BOXES * 3 * 2; k++) {
        const struct device *device;
        const struct solve_control control = {.rtol = 1e-12, .max_iterations = 2000};
        struct boxhdg_solver_options options;
        struct boxhdg_solver *solver = NULL;
        struct boxhdg_lanes_points *points;
        struct solve_report report = {0};
        struct data d;
        struct vector f;
        double seconds[3];
        boxhdg_solver_options_default(&options);
        options.preconditioner = kinds[k % 3];
        options.mixed = k / 3 % 2;
        ok(device_find(k / 6 % 2 ? "debug" : "cpu", &device));
        data_create(&boxes[k / 6], &d);
        ok(boxhdg_solver_create(device, d.h, &options, &solver));
        ok(boxhdg_solver_solve(solver, d.F, d.trace, 0, &control, &report));
        boxhdg_add_dirichlet(d.h, d.dirichlet, d.trace);
        ok(boxhdg_recover(d.h, d.loads, d.trace, d.u, NULL));
        ok(boxhdg_transform(d.h, 1, d.u, d.u));
        ok(vector_create(device, d.h->n_volume, &f));
        ok(vector_upload(&f, d.f));
        points = set_boundary(solver, &d);
        ok(boxhdg_lanes_solve(points, solver, &f, &f, &control, &report, seconds));
        assert_true(report.converged);
        ok(vector_download(&f, d.back));
        assert_true(relative(d.h->n_volume, d.back, d.u) < 1e-9);
        solve_report_clear(&report);
        vector_destroy(&f);
        boxhdg_lanes_points_destroy(&points);
        boxhdg_solver_destroy(&solver);
        data_destroy(&d);
    }
    assert_int_equal(live_blocks(), before);
}

/* u at the points after so many iterations in double precision. */
static void iterate(const char *name, const struct data *d, enum boxhdg_preconditioner kind, double *u) {
    const struct device *device;
    const struct solve_control control = {.rtol = 1e-30, .max_iterations = 6};
    const struct boxhdg_solver_options options = {.preconditioner = kind, .chebyshev_degree = 4};
    struct boxhdg_solver *solver = NULL;
    struct boxhdg_lanes_points *points;
    struct solve_report report = {0};
    struct vector f;
    ok(device_find(name, &device));
    ok(boxhdg_solver_create(device, d->h, &options, &solver));
    ok(vector_create(device, d->h->n_volume, &f));
    ok(vector_upload(&f, d->f));
    points = set_boundary(solver, d);
    assert_int_equal(boxhdg_lanes_solve(points, solver, &f, &f, &control, &report, NULL),
                     FACET_NOT_CONVERGED);
    assert_int_equal(report.iterations, 6);
    ok(vector_download(&f, u));
    solve_report_clear(&report);
    vector_destroy(&f);
    boxhdg_lanes_points_destroy(&points);
    boxhdg_solver_destroy(&solver);
}

/* After equal iterations the devices have the same solution, up to rounding; the GPU too where there is one.
 */
static void devices_agree_after_equal_iterations(void **state) {
    (void)state;
    static const enum boxhdg_preconditioner kinds[] = {BOXHDG_NONE, BOXHDG_DIAGONAL, BOXHDG_ADDITIVE,
                                                       BOXHDG_CHEBYSHEV};
    const struct device *gpu;
    int n_devices = device_find("cuda", &gpu) == FACET_OK ? 3 : 2;
    static const char *const names[] = {"ref", "debug", "cuda"};
    for (int k = 0; k < 3 * 4; k++) { /* a line of 13 cells is solved before */
        struct data d;
        data_create(&boxes[k / 4], &d);
        iterate("cpu", &d, kinds[k % 4], d.u);
        for (int i = 0; i < n_devices; i++) {
            iterate(names[i], &d, kinds[k % 4], d.back);
            assert_true(relative(d.h->n_volume, d.back, d.u) < 1e-12);
        }
        data_destroy(&d);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const names[] = {"ref", "debug"};
    struct data d;
    data_create(&boxes[2], &d);
    for (int i = 0; i < 2; i++) {
        const struct device *device;
        facet_status status = FACET_ERROR_MACHINE;
        ok(device_find(names[i], &device));
        int64_t before = live_blocks();
        for (int k = 1; status != FACET_OK; k++) {
            struct boxhdg_solver *solver = NULL;
            struct boxhdg_lanes_points *points = NULL;
            struct vector *F, *trace;
            base_memory_fail_at(k);
            status = boxhdg_solver_create(device, d.h, NULL, &solver);
            if (status == FACET_OK)
                status = boxhdg_lanes_points_create(boxhdg_solver_lanes(solver, &F, &trace), d.dirichlet,
                                                    d.neumann, &points);
            base_memory_fail_at(0);
            boxhdg_lanes_points_destroy(&points);
            boxhdg_solver_destroy(&solver);
            assert_true(status == FACET_OK || status == FACET_ERROR_MACHINE);
            assert_int_equal(live_blocks(), before);
        }
    }
    data_destroy(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_and_recovery_are_those_of_the_host),
        cmocka_unit_test(whole_solves_are_those_of_the_host),
        cmocka_unit_test(devices_agree_after_equal_iterations),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
