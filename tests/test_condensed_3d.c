/* The condensed continuous method on tets and hexes: the modes of faces in every frame, the skeleton of the
 * mesh, continuity, exactness on polynomials, orders, agreement with HDG, symmetry, boundary conditions of
 * all kinds, failing allocations. Meshes have their vertices and cells numbered and turned at random. */
#include "condensed_helpers.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ meshes */

static const enum shape shapes[] = {SHAPE_TET, SHAPE_HEX};

static int below(uint32_t *seed, int n) {
    return (int)((random_signed(seed) + 1.0) / 2.0 * n) % n;
}

static void shuffle(uint32_t *seed, int n, int32_t *order) {
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = below(seed, i + 1);
        int32_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* A symmetry of the reference cell: vertex i goes to turned[i]. */
static void random_symmetry(uint32_t *seed, enum shape shape, int *turned) {
    const double *v = shape_vertices(shape);
    int32_t order[4];
    shuffle(seed, shape == SHAPE_TET ? 4 : 3, order);
    int flips = below(seed, 8);
    for (int i = 0; i < shape_n_vertices(shape); i++) {
        if (shape == SHAPE_TET) {
            turned[i] = order[i];
            continue;
        }
        for (int j = 0; j < 8; j++) {
            int same = 1;
            for (int a = 0; a < 3; a++)
                same &= v[3 * j + a] == (flips >> a & 1 ? 1 - v[3 * i + order[a]] : v[3 * i + order[a]]);
            if (same) turned[i] = j;
        }
    }
}

static void bend(double size, double *x) {
    double y[3] = {x[0], x[1], x[2]};
    for (int a = 0; a < 3; a++) x[a] += size * sin(1.3 * y[(a + 1) % 3] + 0.7 * y[(a + 2) % 3] + a);
}

struct scramble {
    struct mesh_input input;
    struct mesh_input_group groups[6];
    int32_t *faces[6], *periodic, *vertices, *map;
    int64_t *vertex_offsets, *node_offsets;
    uint8_t *shapes;
    double *nodes;
};

/* The corners of a face of a mesh in its frame, as one side sees them, in the new numbering. */
static void corners_of(const struct facet_mesh *mesh, const int32_t *map, int64_t face, int side,
                       int32_t *corners) {
    const struct mesh_block *b = &mesh->blocks[0];
    int64_t cell = mesh->face_cells[2 * face + side];
    int local = mesh->face_locals[2 * face + side], n = shape_n_vertices(b->shape);
    enum shape shape = shape_face_shape(b->shape, 0);
    const int *order = shape_permutation(shape, b->orientations[cell * shape_n_faces(b->shape) + local]);
    for (int i = 0; i < SHAPE_MAX_FACE_VERTICES; i++) corners[i] = -1;
    for (int i = 0; i < shape_n_vertices(shape); i++)
        corners[i] = map[b->vertices[cell * n + shape_face_vertices(b->shape, local)[order[i]]]];
}

static void scramble_faces(const struct facet_mesh *mesh, struct scramble *s) {
    for (int g = 0; g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        s->faces[g] = calloc((size_t)group->count * SHAPE_MAX_FACE_VERTICES, sizeof *s->faces[g]);
        for (int32_t i = 0; i < group->count; i++)
            corners_of(mesh, s->map, group->ids[i], 0, s->faces[g] + i * SHAPE_MAX_FACE_VERTICES);
        s->groups[g] = (struct mesh_input_group){
            .name = group->name, .dim = 2, .count = group->count, .vertices = s->faces[g]};
    }
    s->periodic = calloc((size_t)mesh->n_faces * 2 * SHAPE_MAX_FACE_VERTICES, sizeof *s->periodic);
    for (int64_t f = 0; f < mesh->n_faces; f++) {
        int32_t *pair = s->periodic + s->input.n_periodic * 2 * SHAPE_MAX_FACE_VERTICES;
        if (mesh->face_cells[2 * f + 1] < 0) continue;
        for (int side = 0; side < 2; side++)
            corners_of(mesh, s->map, f, side, pair + side * SHAPE_MAX_FACE_VERTICES);
        s->input.n_periodic +=
            memcmp(pair, pair + SHAPE_MAX_FACE_VERTICES, SHAPE_MAX_FACE_VERTICES * sizeof *pair) != 0;
    }
    s->input.n_groups = mesh->n_groups;
    s->input.groups = s->groups;
    s->input.periodic = s->periodic;
}

/* Cell c of the new mesh: that of the old one, with its vertices turned and its lattice bent. */
static void scramble_cell(const struct facet_mesh *mesh, int64_t c, uint32_t *seed, int order, double size,
                          struct scramble *s) {
    const struct mesh_block *b = &mesh->blocks[0];
    int n = shape_n_vertices(b->shape), m = shape_n_nodes(b->shape, order), turned[8];
    double xi[3 * 64], lagrange[8 * 64];
    random_symmetry(seed, b->shape, turned);
    s->shapes[c] = (uint8_t)b->shape;
    s->vertex_offsets[c + 1] = (c + 1) * n;
    s->node_offsets[c + 1] = (c + 1) * m;
    shape_nodes(b->shape, order, xi);
    ok(basis_lagrange(b->shape, 1, m, xi, lagrange, NULL));
    for (int i = 0; i < n; i++) s->vertices[c * n + i] = s->map[b->vertices[c * n + turned[i]]];
    for (int p = 0; p < m; p++) {
        double *x = s->nodes + 3 * (c * m + p);
        for (int i = 0; i < n; i++) {
            const double *corner = b->nodes + 3 * (c * n + shape_vertex_node(b->shape, 1, turned[i]));
            for (int a = 0; a < 3; a++)
                x[a] += lagrange[p * n + shape_vertex_node(b->shape, 1, i)] * corner[a];
        }
        bend(size, x);
    }
}

/* The unit cube, its geometry of this order bent by about `size`. */
static struct facet_mesh *cube(enum shape shape, const int *n, const int *periodic, int order, double size,
                               uint32_t seed) {
    facet_box box = {.dim = 3,
                     .upper = {1, 1, 1},
                     .cells = {n[0], n[1], n[2]},
                     .shape = shape_name(shape),
                     .periodic = {periodic[0], periodic[1], periodic[2]}};
    struct facet_mesh *plain, *mesh;
    struct scramble s = {0};
    ok(mesh_create_box(&box, &plain));
    size_t cells = (size_t)plain->n_cells;
    s.map = calloc((size_t)plain->n_vertices, sizeof *s.map);
    s.shapes = calloc(cells, sizeof *s.shapes);
    s.vertices = calloc(8 * cells, sizeof *s.vertices);
    s.vertex_offsets = calloc(cells + 1, sizeof *s.vertex_offsets);
    s.node_offsets = calloc(cells + 1, sizeof *s.node_offsets);
    s.nodes = calloc(3 * 64 * cells, sizeof *s.nodes);
    shuffle(&seed, plain->n_vertices, s.map);
    s.input = (struct mesh_input){.dim = 3,
                                  .order = order,
                                  .n_vertices = plain->n_vertices,
                                  .n_cells = plain->n_cells,
                                  .shapes = s.shapes,
                                  .vertex_offsets = s.vertex_offsets,
                                  .vertices = s.vertices,
                                  .node_offsets = s.node_offsets,
                                  .nodes = s.nodes};
    scramble_faces(plain, &s);
    for (int64_t c = 0; c < plain->n_cells; c++) scramble_cell(plain, c, &seed, order, size, &s);
    ok(mesh_create(&s.input, &mesh));
    mesh_destroy(&plain);
    for (int g = 0; g < 6; g++) free(s.faces[g]);
    free(s.periodic);
    free(s.map);
    free(s.shapes);
    free(s.vertices);
    free(s.vertex_offsets);
    free(s.node_offsets);
    free(s.nodes);
    return mesh;
}

static const int whole[3] = {0, 0, 0};

/* ------------------------------------------------------------------------------------------ the basis */

static void modes_span_the_space(void **state) {
    (void)state;
    for (int s = 0; s < 2; s++)
        for (int k = 1; k <= (s ? 5 : 7); k++) {
            uint32_t seed = 1;
            double *V = combination(shapes[s], k);
            for (int p = 0; p < 6; p++) { /* inside; the last at vertex 0 */
                double x[3], scale = p < 5 ? 0.33 : 0.0;
                for (int d = 0; d < 3; d++) x[d] = scale * (0.5 + 0.5 * random_signed(&seed));
                check_combination(shapes[s], k, V, x);
            }
            int M = basis_size(shapes[s], k), first = modal_n_boundary(shapes[s], k);
            for (int i = first; i < M && s == 0; i++) /* bubbles of tets are orthonormal */
                for (int j = first; j < M; j++) {
                    double sum = 0;
                    for (int c = 0; c < M; c++) sum += V[i * M + c] * V[j * M + c];
                    near(sum, i == j, 1e-11);
                }
            test_free(V);
        }
}

/* A frame with this orientation, and the modes of orientation 0 turned into it, are the same functions. */
static void turned_modes_are_those_of_the_frame(void **state) {
    (void)state;
    const int k = 6;
    for (int s = 0; s < 2; s++) {
        enum shape face = shape_face_shape(shapes[s], 0);
        int M = basis_size(shapes[s], k), n_edges = shape_n_entities(shapes[s], 1),
            n_faces = shape_n_faces(shapes[s]), own = modal_n_interior(face, k), n_vertices = s ? 8 : 4;
        const double x[3] = {0.31, 0.17, 0.23};
        double *plain = test_malloc((size_t)M * sizeof *plain),
               *turned = test_malloc((size_t)M * sizeof *turned);
        double T[25 * 25];
        ok(modal_eval(shapes[s], k, NULL, 1, x, plain, NULL));
        for (int o = 0; o < shape_n_orientations(face); o++) {
            unsigned char orientations[18];
            for (int i = 0; i < n_edges + n_faces; i++)
                orientations[i] = (unsigned char)(i < n_edges ? o % 2 : o);
            ok(modal_eval(shapes[s], k, orientations, 1, x, turned, NULL));
            ok(modal_turn(SHAPE_SEGMENT, k, o % 2, T));
            for (int e = 0; e < n_edges; e++)
                for (int i = 0; i < k - 1; i++) {
                    double sum = 0;
                    for (int j = 0; j < k - 1; j++)
                        sum += T[i * (k - 1) + j] * plain[n_vertices + e * (k - 1) + j];
                    near(turned[n_vertices + e * (k - 1) + i], sum, 1e-14);
                }
            ok(modal_turn(face, k, o, T));
            for (int f = 0; f < n_faces; f++)
                for (int i = 0; i < own; i++) {
                    int first = n_vertices + n_edges * (k - 1) + f * own;
                    double sum = 0;
                    for (int j = 0; j < own; j++) sum += T[i * own + j] * plain[first + j];
                    near(turned[first + i], sum, 1e-13);
                }
            for (int i = 0; i < own; i++)
                for (int j = 0; j < own; j++) {
                    double sum = 0;
                    for (int c = 0; c < own; c++) sum += T[i * own + c] * T[j * own + c];
                    near(sum, i == j, 1e-13);
                }
        }
        test_free(plain);
        test_free(turned);
    }
}

/* On a face only its own modes and those of its edges and vertices are not zero; and on an edge likewise. */
static void modes_vanish_elsewhere(void **state) {
    (void)state;
    for (int s = 0; s < 2; s++)
        for (int k = 2; k <= 16; k += 7) {
            enum shape shape = shapes[s], face = shape_face_shape(shape, 0);
            int M = basis_size(shape, k);
            double *values = test_malloc((size_t)M * sizeof *values);
            for (int f = 0; f < shape_n_faces(shape); f++) {
                const int *corners = shape_face_vertices(shape, f);
                double at[2] = {0.3, 0.45}, x[3];
                int mode = 0;
                shape_face_point(shape, f, 0, at, x);
                ok(modal_eval(shape, k, NULL, 1, x, values, NULL));
                for (int d = 0; d <= 3; d++)
                    for (int e = 0; e < shape_n_entities(shape, d); e++) {
                        const int *ids = shape_entity_vertices(shape, d, e);
                        int inside = 0, n = shape_n_vertices(shape_entity_shape(shape, d));
                        for (int i = 0; i < n; i++)
                            for (int j = 0; j < shape_n_vertices(face); j++) inside += ids[i] == corners[j];
                        double largest = 0;
                        for (int i = 0; i < modal_n_interior(shape_entity_shape(shape, d), k); i++)
                            largest = fmax(largest, fabs(values[mode++]));
                        if (inside < n) near(largest, 0, 1e-13);
                        if (inside == n && modal_n_interior(shape_entity_shape(shape, d), k) > 0)
                            assert_true(largest > 1e-3);
                    }
                assert_int_equal(mode, M);
            }
            test_free(values);
        }
}

/* ------------------------------------------------------------------------------------------ the skeleton */

static void vertices_edges_and_faces_obey_euler(void **state) {
    (void)state;
    static const int sizes[][3] = {{3, 2, 4}, {1, 2, 3}, {1, 1, 1}, {2, 2, 2}};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 4; i++)
            for (int p = 0; p < 8; p++) {
                int periodic[3] = {p & 1, p >> 1 & 1, p >> 2}, n[3], points = 1;
                struct facet_mesh *mesh = cube(shapes[s], sizes[i], periodic, 1, 0.0, 7);
                struct mesh_skeleton skeleton;
                for (int a = 0; a < 3; a++) {
                    n[a] = sizes[i][a];
                    points *= n[a] + !periodic[a];
                }
                ok(mesh_skeleton_create(mesh, &skeleton));
                assert_int_equal(skeleton.n_vertices, points);
                assert_int_equal(points - skeleton.n_edges + mesh->n_faces - mesh->n_cells, p == 0);
                mesh_skeleton_destroy(&skeleton);
                mesh_destroy(&mesh);
            }
}

/* ------------------------------------------------------------------------------------------ exactness */

#define MIXED_CONDITIONS                                                                                     \
    {                                                                                                        \
        {"xmax", "neumann", "exact", NULL}, {"ymin", "robin", "exact", "1 + x"},                             \
            {"zmax", "robin", "exact", "2"}, {"ymax", "dirichlet", "exact", NULL},                           \
    }

static void polynomials_are_exact(void **state) {
    (void)state;
    for (int s = 0; s < 2; s++)
        for (int bent = 0; bent < 2; bent++)
            for (int k = 1; k <= (s ? 4 : 6); k++) {
                const int n[3] = {3 - s, 2, 2};
                struct facet_mesh *mesh = cube(shapes[s], n, whole, 1, 0.1 * bent, (uint32_t)(17 * k + bent));
                char exact[64];
                snprintf(exact, sizeof exact, "(0.2 + 0.5*x - 0.7*y + 0.4*z)^%d + x", k);
                for (int variable = 0; variable < 2; variable++) {
                    struct setup p = {
                        .mesh = mesh,
                        .degree = k,
                        .exact = exact,
                        .reaction = variable ? "1 + y" : "2",
                        .n_K = 9,
                        .K = {variable ? "2 + x" : "2", "0.5", "0", "0.5", "1", "0.2", "0", "0.2", "1.5"},
                        .conditions = MIXED_CONDITIONS};
                    struct solved r;
                    condense(&p, &r);
                    near(r.errors.u_Linf, 0, 1e-11);
                    near(r.errors.trace_L2, 0, 1e-11);
                    near(r.errors.q_L2, 0, 1e-10);
                    near(largest_jump(&r), 0, 1e-12);
                    release(&r);
                }
                mesh_destroy(&mesh);
            }
}

static void high_degrees_work(void **state) {
    (void)state;
    const int n[3] = {1, 1, 1};
    for (int s = 0; s < 2; s++) {
        struct facet_mesh *mesh = cube(shapes[s], n, whole, 1, 0.1, 3);
        struct setup p = {
            .mesh = mesh, .degree = s ? 6 : 8, .exact = "sin(x + z)*exp(y)", .conditions = {{0}}};
        struct solved r;
        condense(&p, &r);
        near(r.errors.u_Linf, 0, s ? 2e-6 : 2e-8);
        near(largest_jump(&r), 0, 1e-12);
        release(&r);
        mesh_destroy(&mesh);
    }
}

/* ------------------------------------------------------------------------------------------ orders */

/* Errors of u, q and the trace on n^3 parts; *apart: the largest difference from HDG at a few points. */
static void errors_on(enum shape shape, int n, int order, int k, double *errors, double *apart) {
    const int cells[3] = {n, n, n};
    struct facet_mesh *mesh = cube(shape, cells, whole, order, 0.1, 11);
    struct setup p = {.mesh = mesh,
                      .degree = k,
                      .exact = "sin(2*x + 0.3)*cos(1.5*y)*exp(0.5*z)",
                      .reaction = "1",
                      .n_K = 1,
                      .K = {"1 + 0.5*x*y"},
                      .conditions = {{"zmax", "neumann", "exact", NULL}}};
    struct solved s;
    condense(&p, &s);
    const double found[3] = {s.errors.u_L2, s.errors.q_L2, s.errors.trace_L2};
    memcpy(errors, found, sizeof found);
    near(largest_jump(&s), 0, 1e-12);
    if (apart != NULL) {
        struct solved hybrid;
        double x[3] = {0.52, 0.43, 0.61}, u[2];
        solve(&p, &hybrid);
        ok(facet_solver_evaluate(s.solver, "u", 1, x, &u[0]));
        ok(facet_solver_evaluate(hybrid.solver, "u_star", 1, x, &u[1]));
        *apart = fabs(u[0] - u[1]);
        release(&hybrid);
    }
    release(&s);
    mesh_destroy(&mesh);
}

static void orders_are_those_of_the_theory(void **state) {
    (void)state;
    for (int s = 0; s < 2; s++)
        for (int curved = 0; curved < 2; curved++)
            for (int k = 1; k <= 3; k++) {
                int n = k == 1 ? 4 : 2, order = curved ? k : 1;
                double coarse[3], fine[3], rates[3];
                errors_on(shapes[s], n, order, k, coarse, NULL);
                errors_on(shapes[s], 2 * n, order, k, fine, NULL);
                for (int i = 0; i < 3; i++) rates[i] = log2(coarse[i] / fine[i]);
                print_message("%s order %d k=%d  u %5.2f  q %5.2f  trace %5.2f\n", shape_name(shapes[s]),
                              order, k, rates[0], rates[1], rates[2]);
                assert_true(rates[0] > k + 0.6 && rates[1] > k - 0.3 && rates[2] > k + 0.1);
            }
}

static void agrees_with_hdg(void **state) {
    (void)state;
    for (int s = 0; s < 2; s++) {
        double errors[3], apart[2];
        for (int i = 0; i < 2; i++) errors_on(shapes[s], 2 + 2 * i, 1, 3, errors, &apart[i]);
        assert_true(apart[0] < 2e-3 && apart[1] < 2e-4);
    }
}

/* ------------------------------------------------------------------------------------------ the system */

static void the_matrix_is_symmetric_positive_definite_in_every_form(void **state) {
    (void)state;
    const int n[3] = {2, 2, 1};
    for (int s = 0; s < 2; s++)
        for (int k = 1; k <= 4; k++)
            for (int singular = 0; singular < 2; singular++) {
                struct facet_mesh *mesh = cube(shapes[s], n, whole, 1, s ? 0.1 : 0.0, 5);
                struct setup p = {.mesh = mesh,
                                  .degree = k,
                                  .n_K = 1,
                                  .K = {k == 3 ? "1 + x" : "3"},
                                  .device = k == 2 ? "debug" : NULL,
                                  .conditions = {{"rest", "neumann", "0", NULL}}};
                if (!singular)
                    p.conditions[1] = (struct condition){"xmin", "dirichlet", "y", NULL},
                    p.conditions[2] = (struct condition){"ymax", "robin", "1", "x"};
                struct solved r;
                condense(&p, &r);
                assert_int_equal(r.solver->hdg->singular, singular);
                compare_products(&r);
                release(&r);
                mesh_destroy(&mesh);
            }
}

/* Affine cells by reference matrices against the same cells by points. */
static void reference_matrices_agree_with_points(void **state) {
    (void)state;
    const int n[3] = {2, 2, 2};
    for (int s = 0; s < 2; s++) {
        struct facet_mesh *mesh = cube(shapes[s], n, whole, 1, 0.0, 9);
        struct setup p = {.mesh = mesh,
                          .degree = 4,
                          .source = "exp(x*y) + z",
                          .reaction = "2",
                          .n_K = 1,
                          .K = {"3"},
                          .conditions = {{"xmin", "dirichlet", "sin(3*y) + z^2", NULL},
                                         {"xmax", "robin", "1 + y", "2"},
                                         {"rest", "neumann", "x", NULL}}};
        struct solved a, b;
        condense(&p, &a);
        p.K[0] = "3 + 0*x";
        p.reaction = "2 + 0*x";
        p.method = "cg";
        p.preconditioner = s ? "amg" : "block";
        condense(&p, &b);
        near(largest_difference(&a, &b), 0, 1e-11);
        release(&a);
        release(&b);
        mesh_destroy(&mesh);
    }
}

/* ------------------------------------------------------------------------------------------ conditions */

static void pure_neumann_problems_get_the_exact_mean(void **state) {
    (void)state;
    const int n[3] = {2, 2, 2};
    for (int s = 0; s < 2; s++) {
        struct facet_mesh *mesh = cube(shapes[s], n, whole, 1, 0.1, 2);
        struct setup p = {.mesh = mesh,
                          .degree = 3,
                          .method = "cg",
                          .exact = "5 + x^3 - 2*x*y*z",
                          .conditions = {{"rest", "neumann", "exact", NULL}}};
        struct solved r;
        condense(&p, &r);
        assert_true(r.solver->hdg->singular);
        near(r.errors.u_Linf, 0, 1e-10);
        release(&r);
        mesh_destroy(&mesh);
    }
}

static void periodic_problems_join_their_entities(void **state) {
    (void)state;
    static const int sizes[][3] = {{3, 2, 1}, {1, 2, 2}, {1, 1, 1}};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 3; i++)
            for (int singular = 0; singular < 2; singular++) {
                const int periodic[3] = {1, i != 1, 1};
                struct facet_mesh *mesh = cube(shapes[s], sizes[i], periodic, 1, 0.0, (uint32_t)(i + 1));
                struct setup p = {.mesh = mesh,
                                  .degree = 3,
                                  .reaction = singular ? "0" : "1",
                                  .exact = "1 + sin(2*pi*x)*cos(2*pi*y) + 0*z"};
                if (i == 1) p.conditions[0] = (struct condition){"rest", "neumann", "exact", NULL};
                struct solved r;
                condense(&p, &r);
                assert_int_equal(r.solver->hdg->singular, singular);
                near(largest_jump(&r), 0, 1e-12);
                if (sizes[i][0] * sizes[i][1] < 4) compare_products(&r);
                release(&r);
                mesh_destroy(&mesh);
            }
}

/* A periodic solution converges across the seam as it does inside. */
static void periodic_problems_converge(void **state) {
    (void)state;
    for (int s = 0; s < 2; s++) {
        double errors[2];
        for (int level = 0; level < 2; level++) {
            const int n[3] = {2 << level, 1 << level, 1 << level}, periodic[3] = {1, 0, 1};
            struct facet_mesh *mesh = cube(shapes[s], n, periodic, 1, 0.0, 4);
            struct setup p = {.mesh = mesh, .degree = 4, .exact = "sin(2*pi*x + y)*cos(2*pi*z)"};
            struct solved r;
            condense(&p, &r);
            errors[level] = r.errors.u_L2;
            release(&r);
            mesh_destroy(&mesh);
        }
        assert_true(errors[1] < errors[0] / 16 && errors[1] < 5e-3);
    }
}

/* Where Dirichlet parts disagree, vertices and edges get the mean. */
static void edges_take_the_mean_of_their_dirichlet_faces(void **state) {
    (void)state;
    const int n[3] = {2, 2, 2};
    for (int s = 0; s < 2; s++) {
        struct facet_mesh *mesh = cube(shapes[s], n, whole, 1, 0.0, 8);
        struct setup p = {.mesh = mesh,
                          .degree = 4,
                          .conditions = {{"xmin", "dirichlet", "1 + z^2", NULL},
                                         {"ymin", "dirichlet", "0", NULL},
                                         {"rest", "neumann", "0", NULL}}};
        const double x[] = {0, 0, 0.3, 0, 0.7, 0.4, 0.7, 0, 0.4};
        double u[3];
        struct solved r;
        condense(&p, &r);
        ok(facet_solver_evaluate(r.solver, "u", 3, x, u));
        near(u[0], (1 + 0.09) / 2, 1e-12);
        near(u[1], 1 + 0.16, 1e-12);
        near(u[2], 0, 1e-12);
        release(&r);
        mesh_destroy(&mesh);
    }
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    const int n[3] = {1, 1, 2}, periodic[3] = {0, 0, 1};
    for (int s = 0; s < 2; s++) {
        struct facet_mesh *mesh = cube(shapes[s], n, periodic, 1, 0.0, 6);
        struct setup p = {
            .mesh = mesh,
            .degree = 3 - s,
            .exact = "x*y + 1",
            .reaction = "1",
            .method = "cg",
            .preconditioner = "block",
            .conditions = {{"xmax", "neumann", "exact", NULL}, {"ymin", "robin", "exact", "1 + x"}}};
        struct solved r;
        facet_status status = FACET_ERROR_MACHINE;
        base_set_threads(1);
        int64_t before = live_blocks(), at = 0;
        while (status != FACET_OK) {
            base_memory_fail_at(++at);
            status = try_condensed(&p, &r);
            base_memory_fail_at(0);
            if (status == FACET_OK) break;
            assert_int_equal(status, FACET_ERROR_MACHINE);
            assert_int_equal(live_blocks(), before);
        }
        assert_true(at > 100);
        release(&r);
        assert_int_equal(live_blocks(), before);
        base_set_threads(0);
        mesh_destroy(&mesh);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_span_the_space),
        cmocka_unit_test(turned_modes_are_those_of_the_frame),
        cmocka_unit_test(modes_vanish_elsewhere),
        cmocka_unit_test(vertices_edges_and_faces_obey_euler),
        cmocka_unit_test(polynomials_are_exact),
        cmocka_unit_test(high_degrees_work),
        cmocka_unit_test(orders_are_those_of_the_theory),
        cmocka_unit_test(agrees_with_hdg),
        cmocka_unit_test(the_matrix_is_symmetric_positive_definite_in_every_form),
        cmocka_unit_test(reference_matrices_agree_with_points),
        cmocka_unit_test(pure_neumann_problems_get_the_exact_mean),
        cmocka_unit_test(periodic_problems_join_their_entities),
        cmocka_unit_test(periodic_problems_converge),
        cmocka_unit_test(edges_take_the_mean_of_their_dirichlet_faces),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
