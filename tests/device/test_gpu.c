/* Whole solves on the GPU against the same cycles on the host: continuous elements of all degrees that the
 * GPU has, one k and a k of every cell, levels down to the last and a direct solution in the middle, and the
 * direct solution alone. Skipped where there is no GPU; then the same runs on the device that only debugs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "base/memory.h"
#include "boxsem/halved_boxes.h"

struct run {
    int degree, cells;
    double contrast; /* k between 1 and contrast, by cell */
    int64_t direct;
    enum boxsem_solver solver;
    int single, steps;
};

/* A number between 0 and 1 that looks random and is the same everywhere. */
static double noise(int64_t i) {
    uint64_t x = (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u;
    x ^= x >> 31;
    x *= 0xBF58476D1CE4E5B9u;
    return (double)(x >> 11) / 9007199254740992.0;
}

/* A right-hand side of all frequencies, and a fixed number of steps from zero. Returns the solution. */
static double *solve(const struct run *run, const char *name, int64_t *n) {
    const struct device *device;
    struct boxsem *c;
    struct boxsem_options options;
    struct solve_report report = {0};
    struct solve_control control = {.rtol = 1e-300, .max_iterations = run->steps};
    const int64_t n_cells = (int64_t)run->cells * run->cells * run->cells;
    struct box_grid_data data = {.dim = 3, .cells = {run->cells, run->cells, run->cells}};
    double *x, *k, *values;
    assert_int_equal(device_find(name, &device), FACET_OK);
    assert_int_equal(ALLOC(x, run->cells + 1), FACET_OK);
    assert_int_equal(ALLOC(k, n_cells), FACET_OK);
    for (int i = 0; i <= run->cells; i++) x[i] = (double)i / run->cells;
    for (int64_t i = 0; i < n_cells; i++) k[i] = pow(run->contrast, noise(i));
    for (int d = 0; d < 3; d++) data.coordinates[d] = x;
    data.conductivity = k;
    boxsem_options_default(&options);
    options.solver = run->solver;
    options.single = run->single;
    options.direct = run->direct;
    options.inner = 0;
    if (boxsem_create(device, &data, run->degree, &options, &c) != FACET_OK) fail_msg("%s", base_message());
    *n = c->n_all;
    assert_int_equal(ALLOC(values, c->n_all), FACET_OK);
    for (int64_t i = 0; i < c->n_all; i++) values[i] = 1.0 + noise(i);
    for (int64_t i = 0; i < c->n_all - c->n_free; i++) values[c->fixed[i]] = 0.0;
    assert_int_equal(vector_upload(&c->b, values), FACET_OK);
    vector_fill(&c->u, 0.0);
    (void)boxsem_solve(c, &control, &report); /* which does not converge in so few steps */
    assert_int_equal(device_check(device), FACET_OK);
    assert_int_equal(vector_download(&c->u, values), FACET_OK);
    solve_report_clear(&report);
    boxsem_destroy(&c);
    base_free(&x);
    base_free(&k);
    return values;
}

/* The difference of two devices in relative L2. */
static void compare(const struct run *run, const char *other, double tolerance) {
    int64_t n, same;
    double *a = solve(run, "ref", &n), *b = solve(run, other, &same), *c = solve(run, other, &same),
           square = 0.0, scale = 0.0;
    assert_int_equal(n, same);
    for (int64_t i = 0; i < n; i++) {
        square += (a[i] - b[i]) * (a[i] - b[i]);
        scale += a[i] * a[i];
    }
    if (!(scale > 0.0 && sqrt(square / scale) <= tolerance))
        fail_msg("k = %d, %d cells, contrast %g, direct %lld on %s: %.2e from ref", run->degree, run->cells,
                 run->contrast, (long long)run->direct, other, sqrt(square / scale));
    assert_memory_equal(b, c, (size_t)n * sizeof *b); /* the same bits again */
    base_free(&a);
    base_free(&b);
    base_free(&c);
}

static const char *find_device(int *gpu) {
    const struct device *device;
    *gpu = device_find("cuda", &device) == FACET_OK;
    return *gpu ? "cuda" : "debug";
}

static void test_cycles(void **state) {
    (void)state;
    int gpu;
    const char *name = find_device(&gpu);
    for (int k = 1; k <= (gpu ? 8 : 2); k++) {
        struct run run = {k, k > 4 ? 4 : 8, 1.0, 0, BOXSEM_MULTIGRID, 0, 2};
        compare(&run, name, 1e-12);
        run.direct = 6000; /* of a coarse level */
        compare(&run, name, 1e-12);
        run.single = 1;
        compare(&run, name, 1e-6);
    }
}

static void test_cells(void **state) {
    (void)state;
    int gpu;
    const char *name = find_device(&gpu);
    for (int k = 1; k <= (gpu ? 8 : 2); k++) {
        struct run run = {k, 4, 100.0, 0, BOXSEM_CG, 0, 4};
        compare(&run, name, 1e-12);
    }
}

static void test_direct(void **state) {
    (void)state;
    int gpu;
    const char *name = find_device(&gpu);
    for (int k = 1; k <= (gpu ? 8 : 3); k++) {
        struct run run = {k, k < 4 ? 7 : 4, 1.0, 0, BOXSEM_DIRECT, 0, 2};
        compare(&run, name, 1e-12);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_direct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
