/* Single precision: conversions between precisions and devices, and operators in single precision against
 * those they were made from, on every device and on triangles, quads, tets and hexes; allocation faults. */
#include "base/run.h"
#include "hdg_helpers.h"
#include "trace/trace.h"

static const char *const names[] = {"cpu", "ref", "debug"};

static const struct device *find(const char *name) {
    const struct device *device;
    ok(device_find(name, &device));
    return device;
}

/* Numbers that single precision cannot hold, of many magnitudes. */
static double *numbers(int64_t n, uint32_t seed) {
    double *x = test_malloc(((size_t)n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed) / 3.0 * pow(2.0, (double)(i % 41 - 20));
    return x;
}

static void create(const struct device *device, int64_t n, int single, struct vector *v) {
    ok(vector_create_in(device, single ? F32 : F64, n, v));
    assert_true(n == 0 || v->numbers != NULL);
}

/* ------------------------------------------------------------------------------------------ vectors */

static void check_conversion(int from, int to, int precisions, int64_t n) {
    struct vector x, y;
    int rounded = precisions != 0;
    double *host = numbers(n, 3), *back = numbers(n, 4);
    create(find(names[from]), n, precisions & 1, &x);
    create(find(names[to]), n, precisions >> 1, &y);
    ok(vector_upload(&x, host));
    vector_fill(&y, NAN);
    ok(vector_convert(&x, &y));
    ok(vector_download(&y, back));
    for (int64_t i = 0; i < n; i++) assert_true(back[i] == (rounded ? (double)(float)host[i] : host[i]));
    vector_destroy(&x);
    vector_destroy(&x);
    vector_destroy(&y);
    test_free(host);
    test_free(back);
}

static void vectors_convert_between_precisions_and_devices(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 17, 10007};
    int64_t before = live_blocks();
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++)
            for (int precisions = 0; precisions < 4; precisions++)
                for (int s = 0; s < 4; s++) check_conversion(from, to, precisions, sizes[s]);
    assert_int_equal(live_blocks(), before);
}

static void single_vectors_compute(void **state) {
    (void)state;
    const int64_t n = 20001;
    for (int d = 0; d < 3; d++) {
        struct vector x, y;
        double *host = test_malloc((size_t)n * sizeof *host), sum = 0;
        create(find(names[d]), n, 1, &x);
        create(find(names[d]), n, 1, &y);
        vector_fill(&x, 0.1);
        near(vector_dot(&x, &x), (double)n * (double)0.1f * (double)0.1f, 1e-10); /* not summed in float */
        near(vector_norm(&x), sqrt((double)n) * (double)0.1f, 1e-11);
        for (int64_t i = 0; i < n; i++) sum += host[i] = (double)(i % 64) / 64;
        ok(vector_upload(&y, host));
        vector_axpby(2.0, &y, 1.0, &x);
        vector_fill(&y, 1.0);
        near(vector_dot(&x, &y), 2 * sum + 0.1 * (double)n, 1e-2);
        vector_destroy(&x);
        vector_destroy(&y);
        test_free(host);
    }
}

static void conversions_survive_allocation_faults(void **state) {
    (void)state;
    double host[5] = {1, 2, 3, 4, 5};
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++)
            for (int precisions = 0; precisions < 4; precisions++) {
                struct vector x, y;
                facet_status status = FACET_ERROR_MACHINE;
                create(find(names[from]), 5, precisions & 1, &x);
                create(find(names[to]), 5, precisions >> 1, &y);
                int64_t before = live_blocks();
                for (int k = 1; status != FACET_OK; k++) {
                    base_memory_fail_at(k);
                    status = vector_upload(&x, host);
                    if (status == FACET_OK) status = vector_convert(&x, &y);
                    if (status == FACET_OK) status = vector_download(&y, host);
                    base_memory_fail_at(0);
                    assert_true(status == FACET_OK || status == FACET_ERROR_MACHINE);
                    assert_int_equal(live_blocks(), before);
                }
                assert_true(host[4] == 5);
                vector_destroy(&x);
                vector_destroy(&y);
            }
    struct vector v;
    base_memory_fail_at(1);
    refused(vector_create_in(find("cpu"), F32, 5, &v), FACET_ERROR_MACHINE, "memory");
    vector_destroy(&v);
}

/* ------------------------------------------------------------------------------------------ operators */

/* |S x - A x| <= 1e-6 |A x|, S in single precision. */
static void check_same(const struct linear_operator *A, const struct linear_operator *S) {
    struct vector x, y, xs, ys, z;
    double *host = test_malloc(((size_t)A->n + 1) * sizeof *host);
    uint32_t seed = 5;
    for (int64_t i = 0; i < A->n; i++) host[i] = random_signed(&seed) / 3.0;
    assert_int_equal(S->n, A->n);
    assert_true(S->precision == F32 && A->precision == F64 && S->device == A->device);
    create(A->device, A->n, 0, &x);
    create(A->device, A->n, 0, &y);
    create(A->device, A->n, 0, &z);
    create(A->device, A->n, 1, &xs);
    create(A->device, A->n, 1, &ys);
    ok(vector_upload(&x, host));
    ok(vector_convert(&x, &xs));
    vector_fill(&ys, NAN);
    operator_apply(A, &x, &y);
    operator_apply(S, &xs, &ys);
    ok(vector_convert(&ys, &z));
    double norm = vector_norm(&y);
    assert_true(A->n == 0 || norm > 0);
    vector_axpby(-1.0, &y, 1.0, &z);
    near(vector_norm(&z), 0, 1e-6 * norm);
    struct vector *all[] = {&x, &y, &z, &xs, &ys};
    for (int i = 0; i < 5; i++) vector_destroy(all[i]);
    test_free(host);
}

static void check_single(const struct linear_operator *A) {
    struct linear_operator S, twice;
    ok(operator_create_single(A, &S));
    check_same(A, &S);
    refused(operator_create_single(&S, &twice), FACET_ERROR_INPUT, A->name);
    assert_null(twice.apply);
    operator_destroy(&S);
    operator_destroy(&S);
}

/* A random symmetric matrix with a strong diagonal: n rows of up to five entries. */
static void random_csr(int64_t n, struct csr *csr) {
    *csr = (struct csr){.n = n};
    ok(ALLOC(csr->offsets, n + 1));
    ok(ALLOC(csr->columns, 5 * n));
    ok(ALLOC(csr->values, 5 * n));
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        csr->offsets[i] = at;
        for (int64_t j = i - 2; j <= i + 2; j++) {
            if (j < 0 || j >= n) continue;
            csr->columns[at] = (int32_t)j;
            csr->values[at++] = i == j ? 4.0 + (double)(i % 7) / 3.0 : 1.0 / (3.0 + (double)((i + j) % 5));
        }
    }
    csr->offsets[n] = at;
}

static void matrices_and_their_preconditioners(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 40, 9001};
    int64_t before = live_blocks();
    for (int d = 0; d < 3; d++)
        for (int s = 0; s < 4; s++) {
            struct csr csr;
            struct linear_operator A;
            int64_t n = sizes[s], n_blocks = (n + 2) / 3,
                    *blocks = test_malloc((size_t)(n + 2) * sizeof *blocks);
            for (int64_t b = 0; b <= n_blocks; b++) blocks[b] = 3 * b < n ? 3 * b : n;
            random_csr(n, &csr);
            ok(operator_create_csr(find(names[d]), &csr, &A));
            check_single(&A);
            operator_destroy(&A);
            ok(operator_create_jacobi(find(names[d]), &csr, &A));
            check_single(&A);
            operator_destroy(&A);
            ok(operator_create_block_jacobi(find(names[d]), &csr, n_blocks, blocks, &A));
            check_single(&A);
            operator_destroy(&A);
            csr_destroy(&csr);
            test_free(blocks);
        }
    assert_int_equal(live_blocks(), before);
}

/* Rows without entries: there are offsets, but no columns. */
static void an_empty_matrix_has_rows(void **state) {
    (void)state;
    int64_t offsets[4] = {0};
    struct csr csr = {.n = 3, .offsets = offsets};
    struct linear_operator A, S;
    struct vector x, y;
    ok(operator_create_csr(find("debug"), &csr, &A));
    ok(operator_create_single(&A, &S));
    operator_destroy(&A); /* S stands alone */
    create(S.device, 3, 1, &x);
    create(S.device, 3, 1, &y);
    vector_fill(&x, 1);
    operator_apply(&S, &x, &y);
    assert_true(vector_norm(&y) == 0);
    vector_destroy(&x);
    vector_destroy(&y);
    operator_destroy(&S);
}

/* ------------------------------------------------------------------------------------------ traces */

struct trace {
    struct facet_mesh *mesh;
    struct trace_space space;
    struct trace_matrices matrices;
};

/* Random element matrices over a box; every fifth face is eliminated. */
static void trace_make(const struct device *device, const char *shape, int n, int degree, struct trace *t) {
    int dim = strcmp(shape, "tet") == 0 || strcmp(shape, "hex") == 0 ? 3 : 2;
    facet_box b = {
        .size = sizeof(facet_box), .dim = dim, .upper = {1, 1, 1}, .cells = {n, n, n}, .shape = shape};
    uint32_t seed = 7;
    ok(mesh_create_box(&b, &t->mesh));
    ok(mesh_need_lists(t->mesh));
    uint8_t *flags = test_calloc((size_t)t->mesh->n_faces, 1);
    for (int32_t f = 0; f < t->mesh->n_faces; f++) flags[f] = f % 5 == 0;
    ok(trace_space_create(t->mesh, degree, 1, flags, &t->space));
    ok(trace_matrices_create(device, &t->space, 0, &t->matrices));
    for (int k = 0; k < t->mesh->n_blocks; k++) {
        int64_t rows = t->matrices.n[k],
                count = t->matrices.n_batches[k] * (rows * (rows + 1) / 2) * t->matrices.lanes;
        double *values = test_malloc((size_t)count * sizeof *values);
        for (int64_t i = 0; i < count; i++) values[i] = random_signed(&seed) / 3.0;
        ok(device_upload(device, t->matrices.values[k], values, (size_t)count * sizeof *values));
        test_free(values);
    }
    test_free(flags);
}

static void trace_unmake(struct trace *t) {
    trace_matrices_destroy(&t->matrices);
    trace_space_destroy(&t->space);
    mesh_destroy(&t->mesh);
}

static void check_trace(const char *name, const char *shape, int n, int degree) {
    struct trace t;
    struct linear_operator A, S;
    trace_make(find(name), shape, n, degree, &t);
    ok(trace_operator_create(&t.space, &t.matrices, &A));
    check_single(&A);
    ok(operator_create_single(&A, &S));
    near(trace_operator_bytes(&S) / trace_operator_bytes(&A), 0.5, 1e-12);
    operator_destroy(&S);
    operator_destroy(&A);
    trace_unmake(&t);
}

static void trace_products(void **state) {
    (void)state;
    static const char *const shapes[] = {"triangle", "quad", "tet", "hex"};
    int64_t before = live_blocks();
    for (int threads = 1; threads <= 3; threads++) {
        base_set_threads(threads);
        for (int d = 0; d < 3; d++)
            for (int s = 0; s < 4; s++)
                for (int degree = 1; degree <= (s < 2 ? 7 : 3); degree += 2)
                    if (d == 0 || threads == 1) check_trace(names[d], shapes[s], s < 2 ? 7 : 3, degree);
    }
    base_set_threads(0);
    assert_int_equal(live_blocks(), before);
}

/* The single operator has its own data: what it came from may go. */
static void single_operators_stand_alone(void **state) {
    (void)state;
    struct trace t;
    struct linear_operator A, S;
    struct vector x, y;
    trace_make(find("debug"), "triangle", 4, 2, &t);
    ok(trace_operator_create(&t.space, &t.matrices, &A));
    ok(operator_create_single(&A, &S));
    create(S.device, S.n, 1, &x);
    create(S.device, S.n, 1, &y);
    vector_fill(&x, 1);
    operator_apply(&S, &x, &y);
    double norm = vector_norm(&y);
    operator_destroy(&A);
    trace_unmake(&t);
    operator_apply(&S, &x, &y);
    assert_true(norm > 0 && vector_norm(&y) == norm);
    vector_destroy(&x);
    vector_destroy(&y);
    operator_destroy(&S);
}

static void refusals_name_the_operator(void **state) {
    (void)state;
    struct linear_operator A = {.n = 1}, S;
    refused(operator_create_single(&A, &S), FACET_ERROR_INPUT, "no single precision");
    A.name = "the operator of this test";
    refused(operator_create_single(&A, &S), FACET_ERROR_INPUT, "of this test");
}

static void check_faults(const struct linear_operator *A) {
    facet_status status = FACET_ERROR_MACHINE;
    struct linear_operator S;
    int64_t before = live_blocks();
    for (int k = 1; status != FACET_OK; k++) {
        base_memory_fail_at(k);
        status = operator_create_single(A, &S);
        base_memory_fail_at(0);
        if (status == FACET_OK) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_int_equal(live_blocks(), before);
        assert_null(S.data);
    }
    operator_destroy(&S);
    assert_int_equal(live_blocks(), before);
}

static void operators_survive_allocation_faults(void **state) {
    (void)state;
    const int64_t blocks[] = {0, 2, 5, 9};
    for (int d = 0; d < 3; d++) {
        struct trace t;
        struct csr csr;
        struct linear_operator A[4];
        random_csr(9, &csr);
        trace_make(find(names[d]), "quad", 3, 2, &t);
        ok(operator_create_csr(find(names[d]), &csr, &A[0]));
        ok(operator_create_jacobi(find(names[d]), &csr, &A[1]));
        ok(operator_create_block_jacobi(find(names[d]), &csr, 3, blocks, &A[2]));
        ok(trace_operator_create(&t.space, &t.matrices, &A[3]));
        for (int i = 0; i < 4; i++) {
            check_faults(&A[i]);
            operator_destroy(&A[i]);
        }
        trace_unmake(&t);
        csr_destroy(&csr);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_convert_between_precisions_and_devices),
        cmocka_unit_test(single_vectors_compute),
        cmocka_unit_test(conversions_survive_allocation_faults),
        cmocka_unit_test(matrices_and_their_preconditioners),
        cmocka_unit_test(an_empty_matrix_has_rows),
        cmocka_unit_test(trace_products),
        cmocka_unit_test(single_operators_stand_alone),
        cmocka_unit_test(refusals_name_the_operator),
        cmocka_unit_test(operators_survive_allocation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
