/* The fast path (affine cells with constant data, condensed in lanes by the kernels) against the general one
 * (quadrature, cell by cell), which takes every batch of a mesh whose cells are not marked as affine:
 * K_e, right-hand sides, and what is recovered from any trace. */
#include "base/run.h"
#include "hdg_helpers.h"
#include "lanes_helpers.h"

/* An affine map of the whole mesh: squares become parallelograms. */
static void shear(struct facet_mesh *mesh) {
    int dim = mesh->dim;
    for (int b = 0; b < mesh->n_blocks; b++) {
        struct mesh_block *block = &mesh->blocks[b];
        for (int64_t i = 0; i < (int64_t)block->count * block->n_nodes; i++) {
            double *x = block->nodes + dim * i, old[3] = {x[0], x[1], dim == 3 ? x[2] : 0.0};
            x[0] = 1.3 * old[0] + 0.4 * old[1] - 0.1 * old[2];
            x[1] = -0.2 * old[0] + 0.7 * old[1];
            if (dim == 3) x[2] = 0.9 * old[2] + 0.3 * old[1];
        }
    }
}

/* ------------------------------------------------------------------------------------------ solids */

static int random_below(uint32_t *seed, int n) {
    return (int)(0.4999999 * (1 + random_signed(seed)) * n);
}

static void shuffle(uint32_t *seed, int n, int32_t *list) {
    for (int i = 0; i < n; i++) list[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = random_below(seed, i + 1);
        int32_t old = list[i];
        list[i] = list[j];
        list[j] = old;
    }
}

enum { NX = 3, NY = 2, NZ = 2, POINTS = (NX + 1) * (NY + 1) * (NZ + 1), MOST = 6 * NX * NY * NZ };
static const int bricks[3] = {NX, NY, NZ};

struct solid {
    int32_t number[POINTS];
    double x[POINTS][3]; /* by number */
    uint8_t shapes[MOST];
    int64_t vertex_offsets[MOST + 1], node_offsets[MOST + 1], n_cells;
    int32_t vertices[8 * MOST];
    double nodes[24 * MOST];
};

static int32_t solid_vertex(const struct solid *s, const int *at) {
    return s->number[(at[2] * (NY + 1) + at[1]) * (NX + 1) + at[0]];
}

static void solid_cell(struct solid *s, enum shape shape, const int32_t *v) {
    int n = shape_n_vertices(shape);
    int64_t c = s->n_cells++;
    s->shapes[c] = (uint8_t)shape;
    s->vertex_offsets[c + 1] = s->node_offsets[c + 1] = s->vertex_offsets[c] + n;
    for (int i = 0; i < n; i++) {
        int64_t first = s->vertex_offsets[c];
        s->vertices[first + i] = v[i];
        memcpy(s->nodes + 3 * (first + shape_vertex_node(shape, 1, i)), s->x[v[i]], sizeof s->x[0]);
    }
}

/* One brick: a hex seen from any of its corners along any axes, or the six tets around its diagonal, the
 * vertices of each in any order. Cells that come out mirrored are turned over by mesh_create. */
static void solid_brick(struct solid *s, enum shape shape, const int *corner, uint32_t *seed) {
    static const int paths[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int32_t v[8], order[4];
    if (shape == SHAPE_HEX) {
        const int *axes = paths[random_below(seed, 6)];
        int flip = random_below(seed, 8);
        for (int i = 0; i < 8; i++) {
            int at[3];
            for (int d = 0; d < 3; d++) {
                int up = (int)shape_vertices(SHAPE_HEX)[3 * i + d] ^ (flip >> d & 1);
                at[axes[d]] = corner[axes[d]] + up;
            }
            v[i] = solid_vertex(s, at);
        }
        solid_cell(s, shape, v);
        return;
    }
    for (int p = 0; p < 6; p++) {
        int at[3] = {corner[0], corner[1], corner[2]};
        shuffle(seed, 4, order);
        v[order[0]] = solid_vertex(s, at);
        for (int d = 0; d < 3; d++) {
            at[paths[p][d]]++;
            v[order[d + 1]] = solid_vertex(s, at);
        }
        solid_cell(s, shape, v);
    }
}

/* The unit cube in 12 bricks with vertices numbered at random, so that faces have all orientations; tets get
 * displaced vertices. */
static struct facet_mesh *solid(enum shape shape, double displacement) {
    struct solid *s = test_calloc(1, sizeof *s);
    struct facet_mesh *mesh;
    uint32_t seed = 77;
    int at[3], seen[8] = {0};
    shuffle(&seed, POINTS, s->number);
    for (int p = 0; p < POINTS; p++) {
        int place[3] = {p % (NX + 1), p / (NX + 1) % (NY + 1), p / (NX + 1) / (NY + 1)};
        for (int d = 0; d < 3; d++) {
            double move = place[d] > 0 && place[d] < bricks[d] ? displacement * random_signed(&seed) : 0.0;
            s->x[s->number[p]][d] = (place[d] + move) / bricks[d];
        }
    }
    for (at[2] = 0; at[2] < NZ; at[2]++)
        for (at[1] = 0; at[1] < NY; at[1]++)
            for (at[0] = 0; at[0] < NX; at[0]++) solid_brick(s, shape, at, &seed);
    struct mesh_input input = {.dim = 3,
                               .order = 1,
                               .n_vertices = POINTS,
                               .n_cells = s->n_cells,
                               .shapes = s->shapes,
                               .vertex_offsets = s->vertex_offsets,
                               .vertices = s->vertices,
                               .node_offsets = s->node_offsets,
                               .nodes = s->nodes};
    ok(mesh_create(&input, &mesh));
    test_free(s);
    const struct mesh_block *b = &mesh->blocks[0];
    int n_faces = shape_n_faces(shape), n = shape_n_orientations(shape_face_shape(shape, 0));
    for (int64_t i = 0; i < (int64_t)b->count * n_faces; i++) seen[b->orientations[i]]++;
    for (int o = 0; o < n; o++) assert_true(seen[o] > 0);
    return mesh;
}

/* ------------------------------------------------------------------------------------------ meshes */

enum { N_MESHES = 10, FIRST_SOLID = 8 };

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
    case 7:
        return box("triangle", 1, 1, 0, 0); /* two of eight lanes are in use */
    case 8:
        return solid(SHAPE_TET, 0.2);
    default:
        mesh = solid(SHAPE_HEX, 0.0);
        shear(mesh);
        return mesh;
    }
}

/* Loads, recovery from one random trace, and post-processing. */
static void same_recovery(const struct hdg *a, const struct hdg *b, double star_tolerance) {
    struct hdg_solution s, t;
    uint32_t seed = 3;
    int64_t n = a->trace.n_free;
    double *F = test_calloc((size_t)n + 1, sizeof *F), *G = test_calloc((size_t)n + 1, sizeof *G);
    ok(hdg_solution_create(a, &s));
    ok(hdg_solution_create(b, &t));
    ok(load_to_host(a, &s, F));
    ok(load_to_host(b, &t, G));
    same_numbers(n, F, G, 1e-12);
    for (int64_t i = 0; i < n; i++) F[i] = random_signed(&seed);
    ok(recover_from(a, F, &s));
    ok(recover_from(b, F, &t));
    for (int k = 0; k < a->data.mesh->n_blocks; k++) {
        int64_t size = (int64_t)a->data.mesh->blocks[k].count * a->space.blocks[k].N;
        same_numbers(size, s.u[k], t.u[k], 1e-12);
        same_numbers(a->data.mesh->dim * size, s.q[k], t.q[k], 1e-12);
    }
    for (int k = 0; k < a->data.mesh->n_blocks; k++) { /* of the same q: K^-1 may be large */
        int64_t size = (int64_t)a->data.mesh->blocks[k].count * a->space.blocks[k].N;
        memcpy(t.u[k], s.u[k], (size_t)size * sizeof *t.u[k]);
        memcpy(t.q[k], s.q[k], (size_t)(a->data.mesh->dim * size) * sizeof *t.q[k]);
    }
    ok(hdg_postprocess(a, &s));
    ok(hdg_postprocess(b, &t));
    for (int k = 0; k < a->data.mesh->n_blocks; k++)
        same_numbers((int64_t)a->data.mesh->blocks[k].count * a->space.blocks[k].N_star, s.star[k], t.star[k],
                     star_tolerance);
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
    const struct hdg *a = mapped_of(fast.solver)->hdg, *b = mapped_of(general.solver)->hdg;
    assert_true(count_fast(a) > 0);
    assert_int_equal(count_fast(b), 0);
    near(a->volume, b->volume, 1e-13 * b->volume);
    assert_true(a->largest_reaction == b->largest_reaction && a->singular == b->singular);
    for (int block = 0; block < mesh->n_blocks; block++) {
        int64_t n = a->space.blocks[block].n_trace;
        same_lanes(a, block, n * (n + 1) / 2, a->matrices.values[block], b->matrices.values[block], 1e-12);
    }
    same_as_single_cells(a, 1e-12);
    same_as_single_cells(b, 1e-12);
    same_recovery(a, b, setup.n_K > 1 && setup.K[0][0] == '1' ? 1e-9 : 1e-11); /* K: 1e-3 against 40 */
    assert_true(difference(&fast, &general) < 1e-7);
    release(&fast);
    release(&general);
    mesh_destroy(&mesh);
    mesh_destroy(&general_mesh);
}

enum { N_VARIANTS = 6 };

/* All of lambda, K, tau and the conditions, one after the other. */
static struct setup make_setup(int variant, int degree, const char *device, int dim) {
    static const char *const full[2][9] = {{"2", "0.5", "0.1", "0.5", "1", "0.2", "0.1", "0.2", "3"},
                                           {"1e-3", "0", "0", "0", "40", "0", "0", "0", "1"}};
    struct setup setup = {.degree = degree,
                          .device = device,
                          .source = "1+sin(3*x)*y",
                          .rtol = 1e-10,
                          .reaction = variant == 1 || variant == 4 ? "2.5" : NULL,
                          .n_K = variant % 2 ? dim * dim : 1,
                          .tau = variant == 2 || variant == 3 ? "3" : NULL,
                          .tau_hat = variant == 4 ? 0.8 : 0,
                          .conditions = {{"rest", "dirichlet", "x*y", NULL}}};
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++) setup.K[a * dim + b] = full[variant == 5][3 * a + b];
    if (variant == 3) setup.conditions[0] = (struct condition){"rest", "robin", "1", "2"};
    return setup;
}

/* The degrees tried on a mesh: all devices low ones, cpu high ones too. */
static int degree_of(int k, int device, int step) {
    static const int flat[3] = {1, 4, 7}, tets[4] = {1, 2, 3, 5}, hexes[3] = {1, 2, 4};
    if (device > 0) return step < 2 ? 1 + step : 0;
    if (k < FIRST_SOLID) return step < 3 ? flat[step] : 0;
    if (k == FIRST_SOLID) return step < 4 ? tets[step] : 0;
    return step < 3 ? hexes[step] : 0;
}

static void check_mesh(int k) {
    static const char *const devices[3] = {"cpu", "ref", "debug"};
    int64_t before = live_blocks();
    for (int variant = 0; variant < N_VARIANTS; variant++)
        for (int device = 0; device < 3; device++)
            for (int step = 0; degree_of(k, device, step) > 0; step++) {
                int solid_mesh = k >= FIRST_SOLID, degree = degree_of(k, device, step);
                struct setup setup = make_setup(variant, degree, devices[device], solid_mesh ? 3 : 2);
                if (k == 4) { /* no boundary: hold the constant */
                    setup.conditions[0].part = NULL;
                    setup.reaction = "2.5";
                    if (variant == 3) continue;
                }
                if (solid_mesh && step > 0 && (variant + device + step) % 3 != 0)
                    continue; /* they are large */
                base_set_threads(1 + (k + variant) % 3);
                compare(&setup, k);
            }
    base_set_threads(0);
    assert_int_equal(live_blocks(), before);
}

static void the_fast_path_equals_the_general_one(void **state) {
    (void)state;
    for (int k = 0; k < FIRST_SOLID; k++) check_mesh(k);
}

static void so_it_does_on_tets(void **state) {
    (void)state;
    check_mesh(FIRST_SOLID);
}

static void so_it_does_on_hexes(void **state) {
    (void)state;
    check_mesh(FIRST_SOLID + 1);
}

/* ------------------------------------------------------------------------------------------ orientations */

/* The turned reference matrices of all faces: F_f O_o against those made by quadrature, and O'O = 1. */
static void check_turns(const struct hdg *h) {
    const struct hdg_block_space *b = &h->space.blocks[0];
    const struct affine_tables *t = &h->tables[0];
    int N = b->N, m = b->m, degree = h->space.degree, simplex = shape_is_simplex(b->shape);
    int pairs = simplex ? degree + 1 : m - (m - degree - 1) / 2;
    assert_int_equal(t->n_groups, h->data.mesh->dim == 2 ? m : pairs);
    for (int o = 0; o < shape_n_orientations(shape_face_shape(b->shape, 0)); o++) {
        double *O = test_calloc((size_t)(m * m), sizeof *O);
        const double *from = t->turns + o * t->n_turn;
        for (int g = 0; g < t->n_groups; g++)
            for (int i = t->group_starts[g]; i < t->group_starts[g + 1]; i++)
                for (int j = t->group_starts[g]; j < t->group_starts[g + 1]; j++)
                    O[t->modes[i] * m + t->modes[j]] = *from++;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) {
                double sum = 0;
                for (int l = 0; l < m; l++) sum += O[l * m + i] * O[l * m + j];
                near(sum, i == j, 1e-12);
            }
        for (int f = 0; f < b->n_faces; f++)
            for (int i = 0; i < N && b->face.side[f][o].n > 0; i++) /* there are tables for what occurs */
                for (int j = 0; j < m; j++) {
                    const double *F = b->F_ref + (int64_t)f * 8 * N * m;
                    double sum = 0;
                    for (int l = 0; l < m; l++) sum += F[i * m + l] * O[l * m + j];
                    near(sum, F[((int64_t)o * N + i) * m + j], 1e-12);
                }
        test_free(O);
    }
}

static void orientations_turn_the_trace(void **state) {
    (void)state;
    static const int meshes[4] = {7, 5, FIRST_SOLID, FIRST_SOLID + 1};
    for (int k = 0; k < 4; k++) {
        struct facet_mesh *mesh = make_mesh(meshes[k]);
        for (int degree = 1; degree <= (k < 2 ? 6 : 4); degree += k < 2 ? 2 : 1) {
            struct setup setup = make_setup(0, degree, "cpu", mesh->dim);
            struct solved solved;
            setup.mesh = mesh;
            setup.rtol = 1e-2;
            solve(&setup, &solved);
            check_turns(mapped_of(solved.solver)->hdg);
            release(&solved);
        }
        mesh_destroy(&mesh);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    facet_box cube = {
        .size = sizeof(facet_box), .dim = 3, .upper = {1, 1, 1}, .cells = {1, 1, 1}, .shape = "tet"};
    struct facet_mesh *mesh;
    struct solved solved;
    ok(mesh_create_box(&cube, &mesh));
    ok(mesh_need_lists(mesh));
    int64_t before = live_blocks();
    base_set_threads(1);
    for (int device = 0; device < 2; device++) { /* debug: what stays there, and comes back */
        struct setup setup = make_setup(0, 1, device ? "debug" : "cpu", 3);
        setup.mesh = mesh;
        for (int k = 1;; k++) {
            base_memory_fail_at(k);
            facet_status status = try_solve(&setup, &solved);
            base_memory_fail_at(0);
            if (status == FACET_OK) break;
            assert_int_equal(status, FACET_ERROR_MACHINE);
            assert_int_equal(live_blocks(), before);
        }
        assert_true((mapped_of(solved.solver)->hdg->stays) == (device == 1));
        release(&solved);
        assert_int_equal(live_blocks(), before);
    }
    base_set_threads(0);
    mesh_destroy(&mesh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fast_path_equals_the_general_one),
        cmocka_unit_test(so_it_does_on_tets),
        cmocka_unit_test(so_it_does_on_hexes),
        cmocka_unit_test(orientations_turn_the_trace),
        cmocka_unit_test(every_allocation_may_fail),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
