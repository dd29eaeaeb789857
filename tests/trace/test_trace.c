/* The trace room: numbering, gather and scatter, and the matrix in all its forms (cell by cell, face by face,
 * compressed rows, padded rows) against the brute-force sum of random element matrices, on triangles, quads,
 * mixed and periodic meshes, one cell wide included, on every device; and on the systems of the examples. */
#include <glob.h>

#include "base/run.h"
#include "bench/papers/products.h"
#include "case/run_case.h"
#include "hdg_helpers.h"
#include "poly/basis.h"
#include "trace/trace.h"

enum { N_MESHES = 10, N_FORMS = 4 };
static const enum product_form forms[N_FORMS] = {PRODUCT_CELLS, PRODUCT_CSR, PRODUCT_FACETS, PRODUCT_ELL};

/* The last two are the papers' and run on the host only. */
static int n_forms(const struct device *device) {
    return device_is_host(device) ? N_FORMS : 2;
}

static const char *const devices[] = {"cpu", "ref", "debug"};

static struct facet_mesh *test_mesh(int k) {
    switch (k) {
    case 0:
        return box("triangle", 3, 2, 0, 0);
    case 1:
        return box("quad", 3, 2, 0, 0);
    case 2:
        return lattice(MIXED, 4, 3, 0.1);
    case 3:
        return box("triangle", 3, 3, 1, 1);
    case 4:
        return box("quad", 2, 3, 1, 0);
    case 5:
        return box("quad", 1, 3, 1, 0); /* every cell is its own neighbour */
    case 6:
        return box("quad", 1, 1, 1, 1);
    case 7:
        return box("triangle", 1, 2, 1, 0);
    case 8:
        return lattice(TRIANGLES, 6, 5, 0.2); /* several batches of several colours */
    default:
        return box("quad", 1, 1, 0, 0);
    }
}

/* A few boundary faces, all of them, or none; inner ones too, which the room does not mind. */
static void eliminate(const struct facet_mesh *mesh, int how, uint8_t *eliminated) {
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int boundary = mesh->face_cells[2 * f + 1] < 0;
        eliminated[f] = how == 0 ? 0 : how == 1 ? boundary && f % 3 != 0 : how == 2 ? boundary : f % 4 == 1;
    }
}

struct work {
    struct facet_mesh *mesh;
    struct trace_space space;
    uint8_t *flags;
    double *dense[MESH_MAX_BLOCKS];   /* cells x n x n */
    double *vectors[MESH_MAX_BLOCKS]; /* cells x n */
    double *locals[MESH_MAX_BLOCKS];  /* the same in lanes */
    double *eliminated;
    int sizes[MESH_MAX_BLOCKS];
    struct trace_matrices matrices;
};

/* Random element data, and the same in lanes; NaN in the lanes and entries that belong to no cell. */
static void fill_block(struct work *w, int b, uint32_t *seed) {
    int n = w->sizes[b], L = w->matrices.lanes;
    int64_t count = w->mesh->blocks[b].count, batches = w->matrices.n_batches[b], packed = n * (n + 1) / 2;
    double *lanes = test_malloc((size_t)(batches * packed * L) * sizeof *lanes);
    w->dense[b] = test_calloc((size_t)(count * n * n), sizeof(double));
    w->vectors[b] = test_calloc((size_t)(count * n), sizeof(double));
    w->locals[b] = test_malloc((size_t)(batches * n * L) * sizeof(double));
    for (int64_t i = 0; i < batches * packed * L; i++) lanes[i] = NAN;
    for (int64_t i = 0; i < batches * n * L; i++) w->locals[b][i] = NAN;
    for (int64_t c = 0; c < count; c++)
        for (int i = 0; i < n; i++) {
            int64_t batch = c / L, lane = c % L;
            double *K = w->dense[b] + c * n * n;
            w->locals[b][(batch * n + i) * L + lane] = w->vectors[b][c * n + i] = random_signed(seed);
            for (int j = 0; j <= i; j++)
                lanes[(batch * packed + i * (i + 1) / 2 + j) * L + lane] = K[i * n + j] = K[j * n + i] =
                    random_signed(seed);
        }
    ok(device_upload(w->matrices.device, w->matrices.values[b], lanes,
                     (size_t)(batches * packed * L) * sizeof *lanes));
    test_free(lanes);
}

static void work_create(const char *name, int k, int degree, int components, int how, struct work *w) {
    uint32_t seed = 17;
    const struct device *device;
    *w = (struct work){.mesh = test_mesh(k)};
    ok(device_find(name, &device));
    w->flags = test_calloc((size_t)w->mesh->n_faces, 1);
    eliminate(w->mesh, how, w->flags);
    ok(trace_space_create(w->mesh, degree, components, w->flags, &w->space));
    ok(trace_matrices_create(device, &w->space, 0, &w->matrices));
    for (int b = 0; b < w->mesh->n_blocks; b++) {
        w->sizes[b] = trace_cell_size(&w->space, b);
        fill_block(w, b, &seed);
    }
    w->eliminated = test_calloc((size_t)w->space.n_all + 1, sizeof(double));
    for (int32_t f = 0; f < w->mesh->n_faces; f++) /* 0 where nothing is eliminated */
        for (int64_t i = w->space.face_first[f]; i < w->space.face_first[f + 1]; i++)
            w->eliminated[i] = w->flags[f] ? random_signed(&seed) : 0;
}

static void work_destroy(struct work *w) {
    for (int b = 0; b < w->mesh->n_blocks; b++) {
        test_free(w->dense[b]);
        test_free(w->vectors[b]);
        test_free(w->locals[b]);
    }
    test_free(w->eliminated);
    test_free(w->flags);
    trace_matrices_destroy(&w->matrices);
    trace_matrices_destroy(&w->matrices);
    trace_space_destroy(&w->space);
    trace_space_destroy(&w->space);
    mesh_destroy(&w->mesh);
}

/* The full numbers of a cell's unknowns, found with trace_gather itself. */
static void cell_numbers(const struct work *w, int b, int32_t cell, int *numbers) {
    double *full = test_malloc((size_t)w->space.n_all * sizeof *full), local[3 * 64];
    for (int64_t i = 0; i < w->space.n_all; i++) full[i] = (double)i;
    trace_gather(&w->space, b, cell, full, local, 3);
    for (int i = 0; i < w->sizes[b]; i++) numbers[i] = (int)local[3 * i];
    test_free(full);
}

/* free_of[i]: the free number of the full unknown i, -1 when eliminated. */
static int64_t *free_numbers(const struct work *w) {
    int64_t *free_of = test_malloc(((size_t)w->space.n_all + 1) * sizeof *free_of);
    for (int32_t f = 0; f < w->mesh->n_faces; f++)
        for (int64_t i = w->space.face_first[f]; i < w->space.face_first[f + 1]; i++)
            free_of[i] = w->flags[f] ? -1 : w->space.face_free[f] + i - w->space.face_first[f];
    return free_of;
}

static void numbering(const struct work *w, int degree, int components) {
    const struct trace_space *s = &w->space;
    int64_t n_free = 0, n_all = 0, block = 0;
    for (int32_t f = 0; f < w->mesh->n_faces; f++) {
        assert_int_equal(s->face_first[f], n_all);
        n_all += components * (degree + 1);
        assert_int_equal(s->face_free[f], w->flags[f] ? -1 : n_free);
        if (w->flags[f]) continue;
        assert_int_equal(s->free_offsets[block], n_free);
        assert_int_equal(s->free_faces[block++], f);
        n_free += components * (degree + 1);
    }
    assert_int_equal(s->n_all, n_all);
    assert_int_equal(s->face_first[w->mesh->n_faces], n_all);
    assert_int_equal(s->n_free, n_free);
    assert_int_equal(s->n_free_faces, block);
    assert_int_equal(s->free_offsets[block], n_free);
    for (int b = 0; b < w->mesh->n_blocks; b++)
        for (int32_t c = 0; c < w->mesh->blocks[b].count; c++) {
            int numbers[64], n_faces = shape_n_faces(w->mesh->blocks[b].shape), m = w->sizes[b] / n_faces;
            cell_numbers(w, b, c, numbers);
            for (int i = 0; i < w->sizes[b]; i++) {
                int32_t face = w->mesh->blocks[b].faces[c * n_faces + i / m];
                assert_int_equal(numbers[i], s->face_first[face] + i % m);
            }
        }
}

static void rows_are_sorted(const struct csr *csr) {
    for (int64_t i = 0; i < csr->n; i++)
        for (int64_t k = csr->offsets[i] + 1; k < csr->offsets[i + 1]; k++)
            assert_true(csr->columns[k - 1] < csr->columns[k]);
}

/* What the rows of the free unknowns sum up to: K_ff, -K_fe times the eliminated values, and the vectors. */
struct sums {
    int64_t n, *free_of;
    double *K, *lift, *vector;
};

static void add_cell(const struct work *w, int b, int32_t c, struct sums *s) {
    int size = w->sizes[b], numbers[64];
    cell_numbers(w, b, c, numbers);
    for (int i = 0; i < size; i++) {
        int64_t row = s->free_of[numbers[i]];
        if (row < 0) continue;
        s->vector[row] += w->vectors[b][c * size + i];
        for (int j = 0; j < size; j++) {
            double value = w->dense[b][((int64_t)c * size + i) * size + j];
            if (s->free_of[numbers[j]] >= 0)
                s->K[row * s->n + s->free_of[numbers[j]]] += value;
            else
                s->lift[row] -= value * w->eliminated[numbers[j]];
        }
    }
}

static void sums_create(const struct work *w, struct sums *s) {
    size_t n = (size_t)w->space.n_free;
    *s = (struct sums){.n = w->space.n_free, .free_of = free_numbers(w)};
    s->K = test_calloc(n * n + 1, sizeof(double));
    s->lift = test_calloc(n + 1, sizeof(double));
    s->vector = test_calloc(n + 1, sizeof(double));
    for (int b = 0; b < w->mesh->n_blocks; b++)
        for (int32_t c = 0; c < w->mesh->blocks[b].count; c++) add_cell(w, b, c, s);
}

static void sums_destroy(struct sums *s) {
    test_free(s->free_of);
    test_free(s->K);
    test_free(s->lift);
    test_free(s->vector);
}

/* The assembled matrix has the entries of the dense one, and nothing else; itself: within the faces only. */
static void same_entries(const struct work *w, const struct sums *s, const struct csr *csr, int itself) {
    int64_t block = w->space.n_free_faces > 0 ? w->space.free_offsets[1] : 1, left = 0;
    double *rest = test_malloc((size_t)(s->n * s->n + 1) * sizeof *rest);
    memcpy(rest, s->K, (size_t)(s->n * s->n) * sizeof *rest);
    assert_int_equal(csr->n, s->n);
    rows_are_sorted(csr);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = csr->offsets[i]; k < csr->offsets[i + 1]; k++) {
            near(csr->values[k], rest[i * s->n + csr->columns[k]], 1e-14);
            rest[i * s->n + csr->columns[k]] = 0.0;
        }
    for (int64_t i = 0; i < s->n * s->n; i++)
        left += rest[i] != 0.0 && (!itself || i / s->n / block == i % s->n / block);
    assert_int_equal(left, 0);
    test_free(rest);
}

/* Rows of equal length, where the matrices are: the same entries, and zeros. */
static int n_equal_rows; /* systems that were looked at */
static void equal_rows(const struct work *w, const struct sums *s) {
    struct trace_entries e;
    double difference = 0.0;
    ok(trace_entries_create(&w->space, &w->matrices, 1, &e));
    if (e.values == NULL) return;
    n_equal_rows++;
    assert_int_equal(e.count, e.width * s->n);
    double *values = test_malloc((size_t)(e.count + 1) * sizeof *values),
           *rest = test_malloc((size_t)(s->n * s->n + 1) * sizeof *rest);
    int32_t *columns = test_malloc((size_t)(e.count + 1) * sizeof *columns);
    ok(device_download(e.device, values, e.values, (size_t)e.count * sizeof *values));
    ok(device_download(e.device, columns, e.columns, (size_t)e.count * sizeof *columns));
    memcpy(rest, s->K, (size_t)(s->n * s->n) * sizeof *rest);
    for (int64_t k = 0; k < e.count; k++) {
        if (columns[k] >= 0) rest[k % s->n * s->n + columns[k]] -= values[k];
        if (columns[k] < 0) difference = fmax(difference, fabs(values[k]));
    }
    for (int64_t i = 0; i < s->n * s->n; i++) difference = fmax(difference, fabs(rest[i]));
    near(difference, 0.0, 1e-14);
    test_free(values);
    test_free(rest);
    test_free(columns);
    trace_entries_destroy(&e);
}

static void assembly(const struct work *w, const struct sums *s) {
    double *found = test_calloc((size_t)s->n + 1, sizeof *found);
    struct csr csr;
    ok(trace_assemble(&w->space, &w->matrices, &csr));
    same_entries(w, s, &csr, 0);
    csr_destroy(&csr);
    ok(trace_block_diagonal(&w->space, &w->matrices, &csr));
    same_entries(w, s, &csr, 1);
    csr_destroy(&csr);
    equal_rows(w, s);
    ok(trace_lift(&w->space, &w->matrices, w->eliminated, found));
    for (int64_t i = 0; i < s->n; i++) near(found[i], s->lift[i], 1e-13);
    trace_assemble_vector(&w->space, w->matrices.lanes, w->locals, found);
    for (int64_t i = 0; i < s->n; i++) near(found[i], s->vector[i], 1e-14);
    test_free(found);
}

/* y = K x in one form. */
static void multiply(const struct trace_space *space, const struct trace_matrices *matrices,
                     enum product_form form, const double *from, double *to) {
    struct linear_operator A;
    struct vector x, y;
    ok(product_create(space, matrices, form, &A));
    assert_int_equal(A.n, space->n_free);
    assert_true(product_bytes(&A) > 0 || space->n_free == 0);
    ok(vector_create(matrices->device, A.n, &x));
    ok(vector_create(matrices->device, A.n, &y));
    ok(vector_upload(&x, from));
    vector_fill(&y, NAN); /* a product does not look at what it replaces */
    operator_apply(&A, &x, &y);
    ok(vector_download(&y, to));
    vector_destroy(&x);
    vector_destroy(&y);
    operator_destroy(&A);
    operator_destroy(&A);
}

static void products(const struct work *w, const struct sums *s) {
    uint32_t seed = 5;
    double *x = test_calloc((size_t)s->n + 1, sizeof *x), *y = test_calloc((size_t)s->n + 1, sizeof *y);
    for (int64_t i = 0; i < s->n; i++) x[i] = random_signed(&seed);
    for (int form = 0; form < n_forms(w->matrices.device); form++) {
        multiply(&w->space, &w->matrices, forms[form], x, y);
        for (int64_t i = 0; i < s->n; i++) {
            double sum = 0;
            for (int64_t j = 0; j < s->n; j++) sum += s->K[i * s->n + j] * x[j];
            near(y[i], sum, 1e-12);
        }
    }
    test_free(x);
    test_free(y);
}

static void scattering(const struct work *w) {
    int64_t *free_of = free_numbers(w);
    double *values = test_malloc(((size_t)w->space.n_free + 1) * sizeof *values),
           *full = test_malloc(((size_t)w->space.n_all + 1) * sizeof *full);
    for (int64_t i = 0; i < w->space.n_free; i++) values[i] = 1000.0 + (double)i;
    trace_scatter(&w->space, values, w->eliminated, full);
    for (int64_t i = 0; i < w->space.n_all; i++)
        assert_true(full[i] == (free_of[i] >= 0 ? 1000.0 + (double)free_of[i] : w->eliminated[i]));
    test_free(values);
    test_free(full);
    test_free(free_of);
}

static void all_forms_equal_the_brute_force_sum(void **state) {
    (void)state;
    int64_t before = live_blocks();
    for (int device = 0; device < 3; device++)
        for (int k = 0; k < N_MESHES; k++)
            for (int how = 0; how < 4; how++)
                for (int degree = 1; degree <= 3; degree += 2)
                    for (int components = 1; components <= (device == 0 ? 2 : 1); components++) {
                        struct work w;
                        struct sums s;
                        base_set_threads(1 + (k + how) % 3);
                        work_create(devices[device], k, degree, components, how, &w);
                        sums_create(&w, &s);
                        numbering(&w, degree, components);
                        assembly(&w, &s);
                        products(&w, &s);
                        scattering(&w);
                        sums_destroy(&s);
                        work_destroy(&w);
                    }
    base_set_threads(0);
    assert_true(n_equal_rows >
                3 * 4 * 2); /* of every device more than one mesh, whatever `how` and the degree */
    assert_int_equal(live_blocks(), before);
}

/* ------------------------------------------------------------------------------------------ examples */

/* The condensed system of a solved case, in all forms. */
static void forms_agree(const char *path, const struct hdg *h) {
    int64_t n = h->trace.n_free;
    uint32_t seed = 9;
    double *x = test_calloc((size_t)n + 1, sizeof *x), *expected = test_calloc((size_t)n + 1, sizeof *x),
           *y = test_calloc((size_t)n + 1, sizeof *y), largest = 0, worst = 0;
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
    multiply(&h->trace, &h->matrices, PRODUCT_CSR, x, expected);
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(expected[i]));
    for (int form = 0; form < n_forms(h->matrices.device); form++) {
        multiply(&h->trace, &h->matrices, forms[form], x, y);
        for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(y[i] - expected[i]));
        if (!(worst <= 1e-12 * largest)) fail_msg("%s: form %d differs by %g", path, form, worst);
    }
    test_free(x);
    test_free(expected);
    test_free(y);
}

static void all_forms_agree_on_every_example(void **state) {
    (void)state;
    glob_t found;
    int64_t before = live_blocks();
    assert_int_equal(glob("examples/*.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 8);
    for (int device = 0; device < 3; device++)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct case_file *file;
            facet_context *context;
            facet_mesh *mesh;
            struct run run = {0};
            if (strstr(found.gl_pathv[i], "continuous") != NULL) continue; /* has no trace */
            /* dense matrices: not of the degree that a box is solved with */
            int box = strstr(found.gl_pathv[i], "box-hdg") != NULL,
                chain = strstr(found.gl_pathv[i], "hot-cylinder") != NULL; /* the first of it */
            const char *const settings[] = {chain ? "cases.0.discretization.operator=mapped"
                                                  : "discretization.operator=mapped",
                                            "discretization.degree=2"};
            ok(case_read(found.gl_pathv[i], NULL, box ? 2 : 1, settings, &file));
            ok(facet_context_create(devices[device], &context));
            ok(run_mesh(file, context, 0, &mesh));
            int solid = mesh->dim == 3, large = mesh->n_cells > 1500;
            facet_mesh_destroy(&mesh);
            struct run_options options = {.no_files = 1, .degree = device == 0 ? 0 : solid ? 1 : 2};
            if (device == 0 || !large) { /* plain C takes its time */
                ok(run_solve(file, context, &options, &run));
                forms_agree(found.gl_pathv[i], mapped_of(run.solver)->hdg);
            }
            run_destroy(&run);
            facet_context_destroy(&context);
            case_destroy(&file);
        }
    globfree(&found);
    assert_int_equal(live_blocks(), before);
}

/* ------------------------------------------------------------------------------------------ faults */

static facet_status everything(const struct work *w, enum product_form form) {
    facet_status status = FACET_OK;
    struct trace_space space = {0};
    struct trace_matrices matrices = {0};
    struct csr csr = {0}, diagonal = {0};
    struct linear_operator A = {0};
    double lift[256];
    TRY(trace_space_create(w->mesh, 1, 1, w->flags, &space));
    TRY(trace_matrices_create(w->matrices.device, &space, 0, &matrices));
    TRY(product_create(&space, &w->matrices, form, &A));
    TRY(trace_lift(&space, &w->matrices, w->eliminated, lift));
    TRY(trace_assemble(&space, &w->matrices, &csr));
    TRY(trace_block_diagonal(&space, &w->matrices, &diagonal));
done:
    csr_destroy(&csr);
    csr_destroy(&diagonal);
    operator_destroy(&A);
    trace_matrices_destroy(&matrices);
    trace_space_destroy(&space);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (int device = 0; device < 3; device++)
        for (int form = 0; form < (device < 2 ? N_FORMS : 2); form++) {
            struct work w;
            facet_status status = FACET_ERROR_MACHINE;
            work_create(devices[device], 2, 1, 1, 1, &w);
            int64_t before = live_blocks();
            for (int k = 1; status != FACET_OK; k++) {
                assert_true(k < 200);
                base_memory_fail_at(k);
                status = everything(&w, forms[form]);
                base_memory_fail_at(0);
                if (status != FACET_OK) assert_int_equal(status, FACET_ERROR_MACHINE);
                assert_int_equal(live_blocks(), before);
            }
            work_destroy(&w);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_equal_the_brute_force_sum),
        cmocka_unit_test(all_forms_agree_on_every_example),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
