/* Elasticity in lanes: affine cells with constant data against those of a mesh whose cells are not marked as
 * affine, and curved cells with moduli that vary against cells one by one: K_e, right-hand sides, and what is
 * recovered from any trace. */
#include "elastic_helpers.h"
#include "lanes_helpers.h"

enum { N_MESHES = 4 };

static void map_sheared(const double *x, double *y) {
    y[0] = 1.3 * x[0] + 0.4 * x[1] - 0.1 * x[2];
    y[1] = -0.2 * x[0] + 0.7 * x[1];
    y[2] = 0.9 * x[2] + 0.3 * x[1];
}

/* Faces meet in all orientations; simplices are displaced, the others all alike. */
static struct facet_mesh *make_mesh(int k) {
    static const char *const shapes[N_MESHES] = {"triangle", "quad", "tet", "hex"};
    return remake(unit_box(shapes[k], NULL, k < 2 ? 4 : 2), 1, k % 2 ? map_sheared : map_wavy, 7);
}

/* Loads, and recovery from one random trace. */
static void same_recovery(struct answer *a, struct answer *b) {
    const struct hdg *h = a->hdg;
    int64_t n = h->trace.n_free;
    uint32_t seed = 3;
    int dim = h->data.mesh->dim;
    struct answer *both[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        ok(hdg_solution_create(both[i]->hdg, &both[i]->solution));
        ok(ALLOC(both[i]->F, n + 1));
        ok(load_to_host(both[i]->hdg, &both[i]->solution, both[i]->F));
    }
    same_numbers(n, a->F, b->F, 1e-12);
    for (int64_t i = 0; i < n; i++) a->F[i] = random_signed(&seed);
    for (int i = 0; i < 2; i++) ok(recover_from(both[i]->hdg, a->F, &both[i]->solution));
    int64_t count = h->data.mesh->blocks[0].count, N = h->functions[0].N;
    same_numbers(count * dim * h->functions[0].Nu, a->solution.u[0], b->solution.u[0], 1e-11);
    same_numbers(count * dim * dim * N, a->solution.q[0], b->solution.q[0], 1e-11);
    if (a->solution.p[0] != NULL) same_numbers(count * N, a->solution.p[0], b->solution.p[0], 1e-11);
}

static void compare(const struct body *like, int k) {
    struct facet_mesh *mesh = make_mesh(k), *general_mesh = make_mesh(k);
    struct answer fast = {0}, general = {0};
    struct body b = *like;
    memset(general_mesh->blocks[0].affine, 0, (size_t)mesh->blocks[0].count);
    b.mesh = mesh;
    ok(body_describe(&b, &fast));
    b.mesh = general_mesh;
    ok(body_describe(&b, &general));
    ok(hdg_create(fast.device, &fast.data, b.degree, NULL, NULL, &fast.hdg));
    ok(hdg_create(general.device, &general.data, b.degree, NULL, NULL, &general.hdg));
    ok(hdg_condense(fast.hdg));
    ok(hdg_condense(general.hdg));
    int64_t n = (int64_t)mesh->dim * fast.hdg->space.blocks[0].n_trace;
    assert_int_equal(count_fast(fast.hdg), fast.hdg->matrices.n_batches[0]);
    assert_int_equal(count_fast(general.hdg), 0);
    near(fast.hdg->volume, general.hdg->volume, 1e-13 * general.hdg->volume);
    same_lanes(fast.hdg, 0, n * (n + 1) / 2, fast.hdg->matrices.values[0], general.hdg->matrices.values[0],
               1e-12);
    same_as_single_cells(fast.hdg, 1e-12);
    same_recovery(&fast, &general);
    answer_free(&fast);
    answer_free(&general);
    mesh_destroy(&mesh);
    mesh_destroy(&general_mesh);
}

/* Formulations, degrees, tau and moduli, one after the other. */
static void lanes_equal_single_cells(void **state) {
    static const char *const devices[3] = {"cpu", "ref", "debug"};
    (void)state;
    int64_t before = live_blocks();
    for (int k = 0; k < N_MESHES; k++)
        for (int gradient = 0; gradient < 2; gradient++)
            for (int degree = 1 - gradient; degree <= (k < 2 ? 4 : k == 2 ? 3 : 2); degree++)
                for (int d = 0; d < 3; d++) {
                    if (d > 0 && degree != 1) continue; /* they are slow */
                    int which = (k + degree + d) % 3;
                    struct body b = {.degree = degree,
                                     .gradient = gradient,
                                     .device = devices[d],
                                     .mu = "1.3",
                                     .lambda = which == 0 ? "40" : "0.7",
                                     .tau = which == 1 ? "3" : NULL,
                                     .tau_hat = which == 2 ? 0.8 : 0,
                                     .exact = {"x*y", "x+y*y", k < 2 ? NULL : "z*x"},
                                     .source = {"1+sin(3*x)*y", "x*x", k < 2 ? NULL : "y-x"}};
                    base_set_threads(1 + (k + degree) % 3);
                    compare(&b, k);
                }
    base_set_threads(0);
    assert_int_equal(live_blocks(), before);
}

/* Curved cells with moduli that vary, in lanes and one by one; physical functions on quads and hexes. */
static void compare_curved(const struct body *like, int k) {
    static const char *const shapes[N_MESHES] = {"triangle", "quad", "tet", "hex"};
    struct facet_mesh *mesh = remake(unit_box(shapes[k], NULL, k < 2 ? 3 : 2), 2, map_wavy, 7);
    struct answer lanes = {0}, single = {0};
    struct answer *both[2] = {&lanes, &single};
    struct body b = *like;
    b.mesh = mesh;
    for (int i = 0; i < 2; i++) {
        struct answer *a = both[i];
        ok(body_describe(&b, a));
        ok(hdg_create(a->device, &a->data, b.degree, NULL, NULL, &a->hdg));
        for (int64_t batch = 0; batch < trace_n_batches(a->device, mesh, 0); batch++) {
            assert_int_equal(batch_way(a->hdg, 0, batch), BATCH_GENERAL);
            if (i == 1) a->hdg->ways[0][batch] = BATCH_SINGLE;
        }
        ok(hdg_condense(a->hdg));
    }
    int64_t n = (int64_t)mesh->dim * lanes.hdg->space.blocks[0].n_trace;
    near(lanes.hdg->volume, single.hdg->volume, 1e-13 * single.hdg->volume);
    same_lanes(lanes.hdg, 0, n * (n + 1) / 2, lanes.hdg->matrices.values[0], single.hdg->matrices.values[0],
               1e-11);
    same_recovery(&lanes, &single);
    answer_free(&lanes);
    answer_free(&single);
    mesh_destroy(&mesh);
}

static void curved_cells_are_in_lanes(void **state) {
    (void)state;
    int64_t before = live_blocks();
    for (int k = 0; k < N_MESHES; k++)
        for (int gradient = 0; gradient < 2; gradient++)
            for (int d = 0; d < 2; d++) {
                struct body b = {.degree = k < 2 ? 2 : 1,
                                 .gradient = gradient,
                                 .device = d == 0 ? "cpu" : "ref",
                                 .mu = gradient ? "1.3" : "1.3 + x",
                                 .lambda = "0.7 + y*y",
                                 .tau_hat = k % 2 == 0 ? 0.8 : 0,
                                 .exact = {"x*y", "x+y*y", k < 2 ? NULL : "z*x"},
                                 .source = {"1+sin(3*x)*y", "x*x", k < 2 ? NULL : "y-x"}};
                if (!gradient) b.conditions[0] = (struct body_condition){.part = "ymin", .kind = "y"};
                compare_curved(&b, k);
            }
    assert_int_equal(live_blocks(), before);
}

/* Rollers: unknowns that are given leave the matrix after it was condensed in lanes. */
static void rollers_are_in_lanes(void **state) {
    (void)state;
    for (int k = 0; k < N_MESHES; k++) {
        struct body b = {.degree = 2,
                         .exact = {"x*y", "x+y*y", k < 2 ? NULL : "z*x"},
                         .conditions = {{.part = "xmax", .kind = "traction"}, {.part = "ymin", .kind = "y"}}};
        compare(&b, k);
    }
}

/* The energy of rotations, which K_e does not see: less than what the elimination alone leaves, three times
 * as much and more. Root mean square over the cells, over the largest entry of each; in more digits, and of a
 * motion that may be rounded: what that adds is squared. */
static double rotation_energy(const struct answer *a) {
    const struct hdg *h = a->hdg;
    int64_t n = trace_cell_size(&h->trace, 0), lanes = h->lanes, n_all = h->trace.n_all, count = 0;
    int dim = h->data.mesh->dim, m = h->space.blocks[0].m, n_faces = h->space.blocks[0].n_faces;
    int n_modes = hdg_n_rigid_modes(h);
    double *modes = test_calloc((size_t)(n_modes * n_all), sizeof *modes),
           *v = test_calloc((size_t)n, sizeof *v);
    double squares = 0.0;
    ok(hdg_rigid_modes(h, modes));
    for (int32_t cell = 0; cell < h->data.mesh->blocks[0].count; cell++)
        for (int mode = dim; mode < n_modes; mode++, count++) {
            const double *K = h->matrices.values[0] + cell / lanes * (n * (n + 1) / 2) * lanes + cell % lanes;
            long double energy = 0.0, largest = 0.0, square = 0.0;
            trace_gather(&h->trace, 0, cell, modes + mode * n_all, v, 1);
            for (int c = 0; c < dim; c++) { /* about the middle of the cell */
                double mean = 0.0;
                for (int f = 0; f < n_faces; f++) mean += v[(f * dim + c) * m] / n_faces;
                for (int f = 0; f < n_faces; f++) v[(f * dim + c) * m] -= mean;
            }
            for (int64_t i = 0; i < n; i++) {
                square += (long double)v[i] * v[i];
                largest = fmaxl(largest, K[(i * (i + 1) / 2 + i) * lanes]);
                for (int64_t j = 0; j < n; j++)
                    energy += (long double)v[i] * v[j] *
                              K[(i > j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i) * lanes];
            }
            squares += (double)(energy / (largest * square) * (energy / (largest * square)));
        }
    test_free(modes);
    test_free(v);
    return sqrt(squares / (double)count);
}

static void rotations_have_no_energy(void **state) {
    (void)state;
    for (int k = 0; k < N_MESHES - 1; k++) {
        struct facet_mesh *mesh = make_mesh(k);
        struct body b = {.mesh = mesh, .degree = k == 2 ? 3 : 5, .exact = {"0", "0", k < 2 ? NULL : "0"}};
        struct answer a = {0};
        ok(body_describe(&b, &a));
        memset(a.conditions[0].fixed, 0, sizeof a.conditions[0].fixed); /* all unknowns are free */
        ok(hdg_create(a.device, &a.data, b.degree, NULL, NULL, &a.hdg));
        ok(hdg_condense(a.hdg));
        assert_int_equal(count_fast(a.hdg), a.hdg->matrices.n_batches[0]);
        assert_int_equal(a.hdg->trace.n_free, a.hdg->trace.n_all);
        assert_true(rotation_energy(&a) < 1e-16);
        answer_free(&a);
        mesh_destroy(&mesh);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_equal_single_cells), cmocka_unit_test(curved_cells_are_in_lanes),
        cmocka_unit_test(rollers_are_in_lanes), cmocka_unit_test(rotations_have_no_energy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
