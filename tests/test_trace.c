/* The trace room: numbering, gather and scatter, and assembly against the brute-force sum of random element
 * matrices, on triangles, quads, mixed and periodic meshes, one cell wide included. */
#include "base/run.h"
#include "hdg_helpers.h"
#include "poly/basis.h"
#include "trace/trace.h"

enum { N_MESHES = 9 };

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
    double *matrices[MESH_MAX_BLOCKS], *locals[MESH_MAX_BLOCKS], *eliminated, *dense;
    int sizes[MESH_MAX_BLOCKS];
};

static void work_create(int k, int degree, int components, int how, struct work *w) {
    uint32_t seed = 17;
    *w = (struct work){.mesh = test_mesh(k)};
    w->flags = test_calloc((size_t)w->mesh->n_faces, 1);
    eliminate(w->mesh, how, w->flags);
    ok(trace_space_create(w->mesh, degree, components, w->flags, &w->space));
    for (int b = 0; b < w->mesh->n_blocks; b++) {
        int n = w->sizes[b] = trace_cell_size(&w->space, b);
        size_t count = (size_t)w->mesh->blocks[b].count;
        w->matrices[b] = test_calloc(count * (size_t)(n * n), sizeof(double));
        w->locals[b] = test_calloc(count * (size_t)n, sizeof(double));
        for (size_t c = 0; c < count; c++)
            for (int i = 0; i < n; i++) {
                double *K = w->matrices[b] + c * (size_t)(n * n);
                w->locals[b][c * (size_t)n + (size_t)i] = random_signed(&seed);
                for (int j = 0; j <= i; j++) K[i * n + j] = K[j * n + i] = random_signed(&seed);
            }
    }
    w->eliminated = test_calloc((size_t)w->space.n_all + 1, sizeof(double));
    for (int64_t i = 0; i < w->space.n_all; i++) w->eliminated[i] = random_signed(&seed);
}

static void work_destroy(struct work *w) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        if (w->matrices[b] != NULL) test_free(w->matrices[b]);
        if (w->locals[b] != NULL) test_free(w->locals[b]);
    }
    test_free(w->eliminated);
    test_free(w->flags);
    trace_space_destroy(&w->space);
    trace_space_destroy(&w->space);
    mesh_destroy(&w->mesh);
}

/* The full numbers of a cell's unknowns, found with trace_gather itself. */
static void cell_numbers(const struct work *w, int b, int32_t cell, int *numbers) {
    double *full = test_malloc((size_t)w->space.n_all * sizeof *full), local[64];
    for (int64_t i = 0; i < w->space.n_all; i++) full[i] = (double)i;
    trace_gather(&w->space, b, cell, full, local);
    for (int i = 0; i < w->sizes[b]; i++) numbers[i] = (int)local[i];
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

/* K û over all unknowns, then the rows of the free ones: K_ff and -K_fe times the eliminated values. */
static void assembly(const struct work *w) {
    int64_t n = w->space.n_free, *free_of = free_numbers(w);
    double *dense = test_calloc((size_t)(n * n) + 1, sizeof *dense),
           *lift = test_calloc((size_t)n + 1, sizeof *lift),
           *found = test_calloc((size_t)n + 1, sizeof *found), *sum = test_calloc((size_t)n + 1, sizeof *sum);
    struct csr csr;
    for (int b = 0; b < w->mesh->n_blocks; b++)
        for (int32_t c = 0; c < w->mesh->blocks[b].count; c++) {
            int size = w->sizes[b], numbers[64];
            cell_numbers(w, b, c, numbers);
            for (int i = 0; i < size; i++) {
                int64_t row = free_of[numbers[i]];
                if (row < 0) continue;
                sum[row] += w->locals[b][c * size + i];
                for (int j = 0; j < size; j++) {
                    double value = w->matrices[b][((int64_t)c * size + i) * size + j];
                    if (free_of[numbers[j]] >= 0)
                        dense[row * n + free_of[numbers[j]]] += value;
                    else
                        lift[row] -= value * w->eliminated[numbers[j]];
                }
            }
        }
    ok(trace_assemble(&w->space, w->matrices, w->eliminated, &csr, found));
    assert_int_equal(csr.n, n);
    rows_are_sorted(&csr);
    for (int64_t i = 0; i < n; i++) {
        near(found[i], lift[i], 1e-13);
        for (int64_t k = csr.offsets[i]; k < csr.offsets[i + 1]; k++) {
            near(csr.values[k], dense[i * n + csr.columns[k]], 1e-14);
            dense[i * n + csr.columns[k]] = 0.0;
        }
    }
    for (int64_t i = 0; i < n * n; i++) assert_true(dense[i] == 0.0); /* nothing was left out */
    trace_assemble_vector(&w->space, w->locals, found);
    for (int64_t i = 0; i < n; i++) near(found[i], sum[i], 1e-14);
    csr_destroy(&csr);
    test_free(dense);
    test_free(lift);
    test_free(found);
    test_free(sum);
    test_free(free_of);
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

static void assembly_equals_the_brute_force_sum(void **state) {
    (void)state;
    int64_t before = live_blocks();
    for (int k = 0; k < N_MESHES; k++)
        for (int how = 0; how < 4; how++)
            for (int degree = 1; degree <= 3; degree += 2)
                for (int components = 1; components <= 2; components++) {
                    struct work w;
                    base_set_threads(1 + (k + how) % 3);
                    work_create(k, degree, components, how, &w);
                    numbering(&w, degree, components);
                    assembly(&w);
                    scattering(&w);
                    work_destroy(&w);
                }
    base_set_threads(0);
    assert_int_equal(live_blocks(), before);
}

static facet_status everything(const struct work *w) {
    facet_status status = FACET_OK;
    struct trace_space space = {0};
    struct csr csr = {0};
    double lift[256];
    TRY(trace_space_create(w->mesh, 1, 1, w->flags, &space));
    TRY(trace_assemble(&space, w->matrices, w->eliminated, &csr, lift));
done:
    csr_destroy(&csr);
    trace_space_destroy(&space);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    struct work w;
    facet_status status = FACET_ERROR_MACHINE;
    work_create(2, 1, 1, 1, &w);
    int64_t before = live_blocks();
    for (int k = 1; status != FACET_OK; k++) {
        assert_true(k < 100);
        base_memory_fail_at(k);
        status = everything(&w);
        base_memory_fail_at(0);
        if (status != FACET_OK) assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_int_equal(live_blocks(), before);
    }
    work_destroy(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assembly_equals_the_brute_force_sum),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
