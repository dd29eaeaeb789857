/* The kernels that a device has for one smoothing step (enum patch_kernel): on boxes of equal cells, where
 * each of them has code of its own, all give what `ref` gives, and the same bits twice. */
#include "bench/papers/patch_ladder.h"
#include "boxsem/brick.h"
#include "boxsem/patches.h"
#include "hdg_helpers.h"

struct smoothing {
    struct box_grid grid;
    struct box_element element;
    struct boxsem_brick brick;
    struct boxsem_patches patches;
};

static void create(const struct device *device, int dim, int degree, int varies, struct smoothing *s) {
    static const int cells[3][3] = {{0}, {7, 4, 1}, {4, 3, 5}};
    double coordinates[3][8], k[60], lambda[60];
    struct box_grid_data data = {.dim = dim, .conductivity = k, .reaction = lambda};
    uint32_t seed = 3;
    memset(s, 0, sizeof *s);
    for (int d = 0; d < dim; d++) {
        data.cells[d] = cells[dim - 1][d];
        for (int i = 0; i <= data.cells[d]; i++) coordinates[d][i] = (1 + 0.25 * d) * i / data.cells[d];
        data.coordinates[d] = coordinates[d];
    }
    for (int i = 0; i < 60; i++) {
        k[i] = varies ? exp(2 * random_signed(&seed)) : 1.25;
        lambda[i] = 0.5;
    }
    assert_int_equal(box_grid_create(&data, &s->grid), FACET_OK);
    assert_int_equal(box_element_create(degree, &s->element), FACET_OK);
    assert_int_equal(boxsem_brick_create(device, &s->grid, &s->element, &s->brick), FACET_OK);
    assert_int_equal(boxsem_patches_create(device, &s->grid, &s->element, &s->brick.cells, &s->patches),
                     FACET_OK);
}
static void destroy(struct smoothing *s) {
    boxsem_patches_destroy(&s->patches);
    boxsem_brick_destroy(&s->brick);
    box_element_destroy(&s->element);
    box_grid_destroy(&s->grid);
}

/* One step forward and one backward from random numbers; x: as many as nodes. */
static void smooth(const struct device *device, struct smoothing *s, int single, double *x) {
    const int64_t n = brick_n_nodes(&s->brick.cells);
    struct vector load, value;
    double *scratch = NULL;
    uint32_t seed = 7;
    assert_int_equal(vector_create_in(device, single ? F32 : F64, n, &load), FACET_OK);
    assert_int_equal(vector_create_in(device, single ? F32 : F64, n, &value), FACET_OK);
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed) / 64;
    assert_int_equal(vector_upload(&load, x), FACET_OK);
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
    assert_int_equal(vector_upload(&value, x), FACET_OK);
    int64_t size = device_patch_scratch(device, &s->patches.plan);
    assert_true(size >= 0);
    assert_int_equal(device_alloc(device, &scratch, (size_t)size, sizeof *scratch), FACET_OK);
    for (int backward = 0; backward < 2; backward++)
        device_patch_sweep(device, load.precision, &s->patches.plan, backward, load.numbers, value.numbers,
                           scratch);
    assert_int_equal(device_check(device), FACET_OK);
    assert_int_equal(vector_download(&value, x), FACET_OK);
    device_free(device, &scratch);
    vector_destroy(&load);
    vector_destroy(&value);
}

static int check(const struct device *device, struct smoothing *s, int single, int64_t n,
                 const double *want) {
    double *x = test_malloc((size_t)n * sizeof *x), *again = test_malloc((size_t)n * sizeof *again);
    double largest = 0, worst = 0;
    smooth(device, s, single, x);
    smooth(device, s, single, again);
    int same = memcmp(x, again, (size_t)n * sizeof *x) == 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
        if (!(fabs(x[i] - want[i]) <= worst)) worst = fabs(x[i] - want[i]);
    }
    int good = same && worst <= (single ? 2e-4 : 1e-11) * largest;
    if (!good)
        print_error("%s, %dD, degree %d, %s, variant %d, kernel %d, inner %d: off by %.2e of %.2e%s\n",
                    device_name(device), s->grid.dim, s->element.k, single ? "single" : "double",
                    s->patches.plan.variant, s->patches.plan.kernel, s->patches.plan.inner, worst, largest,
                    same ? "" : ", not the same bits again");
    test_free(x);
    test_free(again);
    return !good;
}

/* all: every variant and kernel; else the first, and the one with the residual of the whole brick. */
static int check_degree(const char *name, int dim, int degree, int varies, int inner, int all) {
    const struct device *device = NULL, *ref = NULL;
    struct smoothing s, r;
    int failed = 0;
    assert_int_equal(device_find(name, &device), FACET_OK);
    assert_int_equal(device_find("ref", &ref), FACET_OK);
    create(device, dim, degree, varies, &s);
    create(ref, dim, degree, varies, &r);
    int64_t n = brick_n_nodes(&r.brick.cells);
    double *want = test_malloc((size_t)n * sizeof *want);
    s.patches.plan.inner = r.patches.plan.inner = inner;
    smooth(ref, &r, 0, want);
    /* The host has one kernel for each variant. */
    const int last = all && strcmp(name, "cuda") == 0 ? PATCH_KERNEL_TENSOR : PATCH_KERNEL_BEST;
    for (int variant = PATCH_BOUNDARY; variant <= PATCH_GLOBAL; variant += all ? 1 : PATCH_GLOBAL)
        for (int kernel = PATCH_KERNEL_BEST; kernel <= last; kernel++)
            for (int single = 0; single < 2; single++) {
                s.patches.plan.variant = (enum patch_variant)variant;
                s.patches.plan.kernel = (enum patch_kernel)kernel;
                failed += check(device, &s, single, n, want);
            }
    test_free(want);
    destroy(&s);
    destroy(&r);
    return failed;
}

static void every_patch_kernel_gives_what_ref_gives(void **state) {
    (void)state;
    const struct device *gpu;
    const char *name = device_find("cuda", &gpu) == FACET_OK ? "cuda" : "cpu";
    int most = strcmp(name, "cuda") == 0 ? 8 : 4, failed = 0;
    papers_add_ladder();
    for (int dim = 2; dim <= 3; dim++)
        for (int degree = 1; degree <= most; degree++) {
            failed += check_degree(name, dim, degree, 0, 0, 1);
            failed += check_degree(name, dim, degree, 1, 0, 1);
            failed += check_degree(name, dim, degree, 1, 3, 1);
        }
    assert_int_equal(failed, 0);
}

/* Patches without room for their residual, and without room for themselves, in what a block shares. */
static void high_degrees_give_what_ref_gives(void **state) {
    (void)state;
    const struct device *gpu;
    const char *name = device_find("cuda", &gpu) == FACET_OK ? "cuda" : "cpu";
    int failed = 0;
    for (int dim = 2; dim <= 3; dim++)
        for (int degree = 9; degree <= 13; degree += 4)
            for (int varies = 0; varies < 2; varies++)
                failed += check_degree(name, dim, degree, varies, 0, 0);
    assert_int_equal(failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_patch_kernel_gives_what_ref_gives),
                                       cmocka_unit_test(high_degrees_give_what_ref_gives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
