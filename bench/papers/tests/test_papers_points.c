/* Gauss-Seidel on the nodes of bricks against its definition on the dense matrix, with one thread and three, in
 * both precisions, on every device that has it; and as the smoother of a cycle. */
#include "bench/papers/brick_points.h"
#include "boxsem/boxsem.h"
#include "brick_helpers.h"
#include "expr/field.h"

static const struct device *find(const char *name) {
    const struct device *device;
    return device_find(name, &device) == FACET_OK ? device : NULL;
}

static double *numbers(int64_t n, uint32_t seed) {
    double *x = test_malloc(((size_t)n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = seed > 0 ? random_signed(&seed) : 0.0;
    return x;
}

/* A by columns, as brick_apply has it. */
static double *matrix_of(const struct brick_setup *s) {
    const struct brick_cells *c = &s->brick.cells;
    double *A = numbers(s->n * s->n, 0), *e = numbers(s->n, 0),
           *scratch = numbers(brick_scratch(c, base_threads()), 0);
    for (int64_t j = 0; j < s->n; j++) {
        e[j] = 1.0;
        device_brick_apply(s->device, F64, c, 1.0, e, 0.0, NULL, A + j * s->n, scratch);
        e[j] = 0.0;
    }
    test_free(e);
    test_free(scratch);
    return A;
}

static void sweep_densely(const struct brick_cells *c, const double *A, int backward, const double *b,
                          double *x) {
    const int d = brick_layers(c), layers = c->cells[d], odd = c->periodic[d] && layers > 1 && layers % 2;
    const int64_t n = brick_n_nodes(c);
    for (int step = 0; step < 3; step++)
        for (int l = 0; l < layers; l++) {
            const int layer = backward ? layers - 1 - l : l,
                      colour = odd && layer == layers - 1 ? 2 : layer % 2;
            for (int64_t m = 0; m < n && colour == (backward ? 2 - step : step); m++) {
                const int64_t i = backward ? n - 1 - m : m;
                int at[3];
                brick_node_at(c, i, at);
                const int of = at[d] / c->element[d].k;
                if ((of < layers ? of : layers - 1) != layer || brick_is_fixed(c, i)) continue;
                double sum = b[i];
                for (int64_t j = 0; j < n; j++) sum -= j != i ? A[j * n + i] * x[j] : 0.0;
                x[i] = sum / A[i * n + i];
            }
        }
}

static void near_all(int64_t n, const double *x, const double *y, double tolerance) {
    double largest = 0.0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(y[i]));
    for (int64_t i = 0; i < n; i++) near(x[i], y[i], tolerance * largest);
}

/* The same on a device, from arrays of the host. */
static void sweep_on(const struct device *device, enum precision precision, const struct brick_cells *c,
                     int backward, const double *b, double *x) {
    struct vector all[2] = {0};
    for (int i = 0; i < 2; i++) {
        ok(vector_create_in(device, precision, brick_n_nodes(c), &all[i]));
        ok(vector_upload(&all[i], i == 0 ? b : x));
    }
    brick_points_step(device, precision, c, backward, all[0].numbers, all[1].numbers);
    ok(vector_download(&all[1], x));
    for (int i = 0; i < 2; i++) vector_destroy(&all[i]);
}

static void check_sweeps(const struct device *device, int number) {
    struct brick_setup s, there;
    brick_setup_create(find("ref"), number, &s);
    brick_setup_create(device, number, &there);
    const struct brick_cells *c = &s.brick.cells;
    double *A = matrix_of(&s), *b = numbers(s.n, 7), *start = numbers(s.n, 8), *x = numbers(s.n, 0),
           *y = numbers(s.n, 0);
    for (int i = 0; i < 8; i++) {
        const int backward = i & 1, single = i & 2;
        base_set_threads(i & 4 ? 3 : 1);
        memcpy(x, start, (size_t)s.n * sizeof *x);
        memcpy(y, start, (size_t)s.n * sizeof *y);
        sweep_densely(c, A, backward, b, y);
        sweep_on(device, single ? F32 : F64, &there.brick.cells, backward, b, x);
        near_all(s.n, x, y, single ? 1e-3 : 1e-11);
    }
    base_set_threads(0);
    double *const arrays[] = {A, b, start, x, y};
    for (int i = 0; i < 5; i++) test_free(arrays[i]);
    brick_setup_destroy(&there);
    brick_setup_destroy(&s);
}

static void a_sweep_is_what_it_says(void **state) {
    static const int bricks[] = {3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16, 17};
    const struct device *devices[] = {find("cpu"), find("cuda")};
    (void)state;
    for (int d = 0; d < 2; d++)
        for (size_t i = 0; i < sizeof bricks / sizeof *bricks; i++)
            if (devices[d] != NULL && brick_points_run_on(devices[d])) check_sweeps(devices[d], bricks[i]);
    assert_false(brick_points_run_on(find("debug")));
}

/* Cycles on a cube: cui2024 has 8 of them for degree 2. */
static void it_smooths(void **state) {
    static const double x[9] = {0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1};
    struct box_grid_data data = {.dim = 3, .cells = {8, 8, 8}, .coordinates = {x, x, x}};
    struct boxsem_options options;
    struct boxsem *box = NULL;
    struct solve_report report = {0};
    struct field *source = NULL;
    const double f = 1.0;
    (void)state;
    for (int d = 0; d < 3; d++) data.sides[d][0] = data.sides[d][1] = BOX_DIRICHLET;
    boxsem_options_default(&options);
    options.solver = BOXSEM_MULTIGRID;
    options.smoother = BOXSEM_OTHER;
    options.other = brick_points_step;
    ok(boxsem_create(find("cpu"), &data, 2, &options, &box));
    ok(field_create_constants(1, &f, &source));
    ok(boxsem_load(box, &(struct box_given){.source = source}));
    ok(boxsem_solve(box, &(struct solve_control){.rtol = 1e-9, .max_iterations = 30}, &report));
    assert_true(report.converged && report.iterations <= 10);
    solve_report_clear(&report);
    field_destroy(&source);
    boxsem_destroy(&box);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_sweep_is_what_it_says),
                                       cmocka_unit_test(it_smooths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
