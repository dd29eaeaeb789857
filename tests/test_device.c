/* Devices: every kernel of every device against ref on random data of odd sizes, for several numbers of
 * threads; results do not depend on scheduling. */
#include <stdint.h>

#include "device/device.h"
#include "hdg_helpers.h"

static const char *const others[] = {"cpu"};
static const int64_t sizes[] = {0, 1, 2, 3, 7, 63, 513, 4096, 4097, 8191, 8193, 50001};
#define N_SIZES (int)(sizeof sizes / sizeof *sizes)
static const int thread_counts[] = {1, 2, 3, 8};

static const struct device *find(const char *name) {
    const struct device *device;
    ok(device_find(name, &device));
    return device;
}

static double *random_numbers(int64_t n, uint32_t seed) {
    double *x = test_malloc(((size_t)n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
    return x;
}

static void upload(const struct device *device, int64_t n, const double *host, struct vector *v) {
    ok(vector_create(device, n, v));
    ok(vector_upload(v, host));
}

static void same(const struct vector *a, const struct vector *b, double tolerance) {
    double *x = random_numbers(a->n, 1), *y = random_numbers(b->n, 2);
    ok(vector_download(a, x));
    ok(vector_download(b, y));
    for (int64_t i = 0; i < a->n; i++) near(x[i], y[i], tolerance);
    test_free(x);
    test_free(y);
}

/* Two vectors each on ref and on the other device, with the same contents. */
struct pair {
    struct vector x[2], y[2];
    double *host_x, *host_y;
};

static void pair_create(const char *other, int64_t n, struct pair *p) {
    p->host_x = random_numbers(n, 11);
    p->host_y = random_numbers(n, 22);
    for (int d = 0; d < 2; d++) {
        upload(find(d == 0 ? "ref" : other), n, p->host_x, &p->x[d]);
        upload(find(d == 0 ? "ref" : other), n, p->host_y, &p->y[d]);
    }
}

static void pair_destroy(struct pair *p) {
    for (int d = 0; d < 2; d++) {
        vector_destroy(&p->x[d]);
        vector_destroy(&p->x[d]);
        vector_destroy(&p->y[d]);
    }
    test_free(p->host_x);
    test_free(p->host_y);
}

static void check_vectors(const char *other, int64_t n) {
    struct pair p;
    pair_create(other, n, &p);
    near(vector_dot(&p.x[0], &p.y[0]), vector_dot(&p.x[1], &p.y[1]), 1e-15 * (double)(n + 1));
    near(vector_norm(&p.x[0]), vector_norm(&p.x[1]), 1e-14 * (double)(n + 1));
    for (int d = 0; d < 2; d++) vector_axpby(0.75, &p.x[d], -1.5, &p.y[d]);
    same(&p.y[0], &p.y[1], 1e-15);
    for (int d = 0; d < 2; d++) {
        vector_fill(&p.y[d], NAN);
        vector_axpby(2.0, &p.x[d], 0.0, &p.y[d]); /* b = 0 ignores y, be it NaN */
    }
    same(&p.y[0], &p.y[1], 0.0);
    for (int d = 0; d < 2; d++) device_multiply(p.x[d].device, n, p.x[d].data, p.x[d].data, p.y[d].data);
    same(&p.y[0], &p.y[1], 0.0);
    for (int d = 0; d < 2; d++) vector_fill(&p.y[d], -3.25);
    same(&p.y[0], &p.y[1], 0.0);
    if (n > 0) near(vector_dot(&p.y[1], &p.y[1]), 3.25 * 3.25 * (double)n, 1e-12 * (double)n);
    pair_destroy(&p);
}

/* Rows of 0 .. 12 entries. */
static void check_csr(const char *other, int64_t n) {
    uint32_t seed = 5;
    int64_t *offsets = test_malloc(((size_t)n + 1) * sizeof *offsets);
    int32_t *columns = test_malloc((13 * (size_t)n + 1) * sizeof *columns);
    double *values = random_numbers(13 * n, 6);
    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        offsets[i + 1] = offsets[i] + (int64_t)(6.5 * (1 + random_signed(&seed)));
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
            columns[k] = (int32_t)(0.499999 * (1 + random_signed(&seed)) * (double)n);
    }
    struct pair p;
    pair_create(other, n, &p);
    for (int d = 0; d < 2; d++)
        device_csr_apply(p.x[d].device, n, offsets, columns, values, p.x[d].data, p.y[d].data);
    same(&p.y[0], &p.y[1], 1e-14);
    pair_destroy(&p);
    test_free(offsets);
    test_free(columns);
    test_free(values);
}

/* Blocks of 0 .. 9 unknowns. */
static void check_blocks(const char *other, int64_t n_blocks) {
    uint32_t seed = 7;
    int64_t *first = test_malloc(((size_t)n_blocks + 1) * sizeof *first);
    int64_t *starts = test_malloc(((size_t)n_blocks + 1) * sizeof *starts);
    first[0] = starts[0] = 0;
    for (int64_t b = 0; b < n_blocks; b++) {
        int64_t n = (int64_t)(5 * (1 + random_signed(&seed)));
        first[b + 1] = first[b] + n;
        starts[b + 1] = starts[b] + n * n;
    }
    double *matrices = random_numbers(starts[n_blocks], 8);
    struct pair p;
    pair_create(other, first[n_blocks], &p);
    for (int d = 0; d < 2; d++)
        device_block_apply(p.x[d].device, n_blocks, first, starts, matrices, p.x[d].data, p.y[d].data);
    same(&p.y[0], &p.y[1], 1e-14);
    pair_destroy(&p);
    test_free(first);
    test_free(starts);
    test_free(matrices);
}

static void every_kernel_gives_what_ref_gives(void **state) {
    (void)state;
    int64_t before = live_blocks();
    for (int o = 0; o < (int)(sizeof others / sizeof *others); o++)
        for (int t = 0; t < 4; t++) {
            base_set_threads(thread_counts[t]);
            for (int s = 0; s < N_SIZES; s++) {
                check_vectors(others[o], sizes[s]);
                check_csr(others[o], sizes[s] < 10000 ? sizes[s] : 10007);
                check_blocks(others[o], sizes[s] < 5000 ? sizes[s] : 5003);
            }
        }
    base_set_threads(0);
    assert_int_equal(live_blocks(), before);
}

/* The reference kernels themselves, by hand. */
static void ref_does_what_it_says(void **state) {
    (void)state;
    const struct device *ref = find("ref");
    const int64_t offsets[] = {0, 2, 2, 3}, first[] = {0, 1, 3}, starts[] = {0, 1};
    const int32_t columns[] = {0, 2, 1};
    const double values[] = {2, -1, 4}, blocks[] = {5, 1, 2, 3, 4}, x[] = {1, 10, 100};
    double y[3] = {NAN, NAN, NAN};
    device_csr_apply(ref, 3, offsets, columns, values, x, y);
    assert_true(y[0] == -98 && y[1] == 0 && y[2] == 40);
    device_block_apply(ref, 2, first, starts, blocks, x, y);
    assert_true(y[0] == 5 && y[1] == 210 && y[2] == 430);
    device_multiply(ref, 3, x, x, y);
    assert_true(y[0] == 1 && y[1] == 100 && y[2] == 10000);
}

/* Bit for bit: the same for every number of threads and every repetition. */
static void dot_is_deterministic(void **state) {
    (void)state;
    const int64_t n = 5000003;
    double *x = random_numbers(n, 3), *y = random_numbers(n, 4), first = 0;
    struct vector a, b;
    upload(find("cpu"), n, x, &a);
    upload(find("cpu"), n, y, &b);
    for (int t = 0; t < 4; t++) {
        base_set_threads(thread_counts[t]);
        for (int i = 0; i < 3; i++) {
            double dot = vector_dot(&a, &b);
            if (t == 0 && i == 0) first = dot;
            assert_true(dot == first);
        }
    }
    base_set_threads(0);
    double exact = 0; /* the scale of the sum is n/3 */
    for (int64_t i = 0; i < n; i++) exact += x[i] * y[i];
    near(first, exact, 1e-12 * (double)n);
    vector_destroy(&a);
    vector_destroy(&b);
    test_free(x);
    test_free(y);
}

static void unknown_devices_are_refused(void **state) {
    (void)state;
    const struct device *device;
    facet_context *context = NULL;
    assert_string_equal(device_name(find(NULL)), "cpu");
    assert_string_equal(device_name(find("ref")), "ref");
    refused(device_find("tpu", &device), FACET_ERROR_INPUT, "tpu");
    assert_non_null(strstr(facet_message(), device_list()));
    refused(device_find("", &device), FACET_ERROR_INPUT, device_list());
    refused(facet_context_create("gpu", &context), FACET_ERROR_INPUT, "gpu");
    assert_null(context);
    facet_context_destroy(&context);
}

static void contexts_carry_device_threads_and_monitor(void **state) {
    (void)state;
    int64_t before = live_blocks();
    facet_context *context;
    ok(facet_context_create("ref", &context));
    assert_string_equal(facet_context_device(context), "ref");
    ok(facet_context_set_threads(context, 3));
    assert_int_equal(facet_context_threads(context), 3);
    refused(facet_context_set_threads(context, -1), FACET_ERROR_INPUT, "-1");
    ok(facet_context_set_threads(context, 0));
    assert_true(facet_context_threads(context) >= 1);
    facet_context_destroy(&context);
    assert_null(context);
    facet_context_destroy(&context);
    base_memory_fail_at(1);
    refused(facet_context_create("ref", &context), FACET_ERROR_MACHINE, "memory");
    assert_int_equal(live_blocks(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_gives_what_ref_gives),
        cmocka_unit_test(ref_does_what_it_says),
        cmocka_unit_test(dot_is_deterministic),
        cmocka_unit_test(unknown_devices_are_refused),
        cmocka_unit_test(contexts_carry_device_threads_and_monitor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
