/* The fast path (affine cells with constant data, condensed in lanes by the kernels) against the general one
 * (quadrature, cell by cell), which takes every batch of a mesh whose cells are not marked as affine:
 * factors, U and K_e, right-hand sides, and what is recovered from any trace. */
#include "base/run.h"
#include "hdg/batch.h"
#include "hdg_helpers.h"

/* An affine map of the whole mesh: squares become parallelograms. */
static void shear(struct facet_mesh *mesh) {
    for (int b = 0; b < mesh->n_blocks; b++) {
        struct mesh_block *block = &mesh->blocks[b];
        for (int64_t i = 0; i < (int64_t)block->count * block->n_nodes; i++) {
            double *x = block->nodes + 2 * i, old[2] = {x[0], x[1]};
            x[0] = 1.3 * old[0] + 0.4 * old[1];
            x[1] = -0.2 * old[0] + 0.7 * old[1];
        }
    }
}

enum { N_MESHES = 8 };

static struct facet_mesh *make_mesh(int k) {
    struct facet_mesh *mesh;
    switch (k) {
    case 0:
        return lattice(TRIANGLES, 5, 4, 0.25); /* vertices numbered without order: both orientations */
    case 1:
        mesh = lattice(QUADS, 5, 3, 0.0);
        shear(mesh);
        return mesh;
    case 2:
        return lattice(MIXED, 6, 5, 0.2); /* quads are general, triangles fast */
    case 3:
        mesh = lattice(MIXED, 7, 3, 0.0);
        shear(mesh);
        return mesh;
    case 4:
        return box("triangle", 3, 3, 1, 1);
    case 5:
        return box("quad", 1, 3, 1, 0);
    case 6:
        ok(mesh_read_gmsh("tests/meshes/straight_1.msh", &mesh));
        return mesh;
    default:
        return box("triangle", 1, 1, 0, 0); /* two of eight lanes are in use */
    }
}

static int count_fast(const struct hdg *h) {
    int n = 0;
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        for (int64_t batch = 0; batch < h->matrices.n_batches[b]; batch++) n += batch_is_fast(h, b, batch);
    return n;
}

/* Arrays of n_entries numbers a cell in lanes, on the device of h; lanes without a cell are not compared. */
static void same_lanes(const struct hdg *h, int block, int64_t n_entries, const double *a, const double *b,
                       double tolerance) {
    int64_t n_batches = h->matrices.n_batches[block], count = h->data.mesh->blocks[block].count;
    size_t total = (size_t)(n_batches * n_entries * TRACE_LANES);
    const double *x, *y;
    double largest = 0;
    ok(device_view(h->device, a, total, sizeof *a, (const void **)&x));
    ok(device_view(h->device, b, total, sizeof *b, (const void **)&y));
    for (int pass = 0; pass < 2; pass++)
        for (int64_t cell = 0; cell < count; cell++)
            for (int64_t e = 0; e < n_entries; e++) {
                int64_t at = (cell / TRACE_LANES * n_entries + e) * TRACE_LANES + cell % TRACE_LANES;
                if (pass == 0)
                    largest = fmax(largest, fabs(y[at]));
                else
                    near(x[at], y[at], tolerance * largest);
            }
    device_unview(h->device, a, (const void **)&x);
    device_unview(h->device, b, (const void **)&y);
}

static void same_numbers(int64_t n, const double *a, const double *b, double tolerance) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(b[i]));
    for (int64_t i = 0; i < n; i++) near(a[i], b[i], tolerance * largest);
}

/* Loads and recovery from one random trace. */
static void same_recovery(const struct hdg *a, const struct hdg *b) {
    struct hdg_solution s, t;
    uint32_t seed = 3;
    int64_t n = a->trace.n_free;
    double *F = test_calloc((size_t)n + 1, sizeof *F), *G = test_calloc((size_t)n + 1, sizeof *G);
    ok(hdg_solution_create(a, &s));
    ok(hdg_solution_create(b, &t));
    ok(hdg_load(a, NULL, &s, F));
    ok(hdg_load(b, NULL, &t, G));
    same_numbers(n, F, G, 1e-12);
    for (int64_t i = 0; i < a->trace.n_all; i++) s.trace[i] = t.trace[i] = random_signed(&seed);
    ok(hdg_recover(a, &s));
    ok(hdg_recover(b, &t));
    for (int k = 0; k < a->data.mesh->n_blocks; k++) {
        int64_t size = (int64_t)a->data.mesh->blocks[k].count * a->space.blocks[k].N;
        same_numbers(size, s.u[k], t.u[k], 1e-12);
        same_numbers(2 * size, s.q[k], t.q[k], 1e-12);
    }
    hdg_solution_destroy(&s);
    hdg_solution_destroy(&t);
    test_free(F);
    test_free(G);
}

static void compare(const struct setup *like, int k) {
    struct setup setup = *like;
    struct facet_mesh *mesh = make_mesh(k), *general_mesh = make_mesh(k);
    struct solved fast, general;
    for (int b = 0; b < mesh->n_blocks; b++)
        memset(general_mesh->blocks[b].affine, 0, (size_t)mesh->blocks[b].count);
    setup.mesh = mesh;
    solve(&setup, &fast);
    setup.mesh = general_mesh;
    solve(&setup, &general);
    const struct hdg *a = fast.solver->hdg, *b = general.solver->hdg;
    assert_true(count_fast(a) > 0 || setup.conditions[0].kind[0] == 'r');
    assert_int_equal(count_fast(b), 0);
    near(a->volume, b->volume, 1e-13 * b->volume);
    assert_true(a->largest_reaction == b->largest_reaction && a->singular == b->singular);
    for (int block = 0; block < mesh->n_blocks; block++) {
        int64_t N = a->space.blocks[block].N, n = a->space.blocks[block].n_trace;
        same_lanes(a, block, N * (N + 1) / 2, a->factors[block], b->factors[block], 1e-12);
        same_lanes(a, block, N * n, a->U[block], b->U[block], 1e-12);
        same_lanes(a, block, n * (n + 1) / 2, a->matrices.values[block], b->matrices.values[block], 1e-12);
    }
    same_recovery(a, b);
    assert_true(difference(&fast, &general) < 1e-7);
    release(&fast);
    release(&general);
    mesh_destroy(&mesh);
    mesh_destroy(&general_mesh);
}

enum { N_VARIANTS = 6 };

/* All of lambda, K, tau and the conditions, one after the other. */
static struct setup make_setup(int variant, int degree, const char *device) {
    struct setup setup = {.degree = degree,
                          .device = device,
                          .source = "1+sin(3*x)*y",
                          .rtol = 1e-10,
                          .reaction = variant == 1 || variant == 4 ? "2.5" : NULL,
                          .n_K = variant % 2 ? 4 : 1,
                          .K = {variant == 5 ? "1e-3" : "2", variant == 5 ? "0" : "0.5",
                                variant == 5 ? "0" : "0.5", variant == 5 ? "40" : "1"},
                          .tau = variant == 2 || variant == 3 ? "3" : NULL,
                          .tau_hat = variant == 4 ? 0.8 : 0,
                          .conditions = {{"rest", "dirichlet", "x*y", NULL}}};
    if (variant == 3) setup.conditions[0] = (struct condition){"rest", "robin", "1", "2"};
    return setup;
}

static void the_fast_path_equals_the_general_one(void **state) {
    (void)state;
    static const char *const devices[3] = {"cpu", "ref", "debug"};
    int64_t before = live_blocks();
    for (int k = 0; k < N_MESHES; k++)
        for (int variant = 0; variant < N_VARIANTS; variant++)
            for (int device = 0; device < 3; device++)
                for (int degree = 1; degree <= (device == 0 ? 7 : 2); degree += device == 0 ? 3 : 1) {
                    struct setup setup = make_setup(variant, degree, devices[device]);
                    if (k == 4) { /* no boundary: hold the constant */
                        setup.conditions[0].part = NULL;
                        setup.reaction = "2.5";
                        if (variant == 3) continue;
                    }
                    base_set_threads(1 + (k + variant) % 3);
                    compare(&setup, k);
                }
    base_set_threads(0);
    assert_int_equal(live_blocks(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fast_path_equals_the_general_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
