/* The condensed continuous method on tets and hexes: the modes of faces in every frame, continuity, exactness
 * on polynomials, orders, agreement with HDG, boundary conditions of all kinds. */
#include "condensed_helpers.h"
#include "cube_helpers.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ the basis */

static void modes_span_the_space(void **state) {
    (void)state;
    for (int s = 0; s < 2; s++)
        for (int k = 1; k <= (s ? 5 : 7); k++) {
            uint32_t seed = 1;
            double *V = combination(cube_shapes[s], k);
            for (int p = 0; p < 6; p++) { /* inside; the last at vertex 0 */
                double x[3], scale = p < 5 ? 0.33 : 0.0;
                for (int d = 0; d < 3; d++) x[d] = scale * (0.5 + 0.5 * random_signed(&seed));
                check_combination(cube_shapes[s], k, V, x);
            }
            int M = basis_size(cube_shapes[s], k), first = modal_n_boundary(cube_shapes[s], k);
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
        enum shape face = shape_face_shape(cube_shapes[s], 0);
        int M = basis_size(cube_shapes[s], k), n_edges = shape_n_entities(cube_shapes[s], 1),
            n_faces = shape_n_faces(cube_shapes[s]), own = modal_n_interior(face, k), n_vertices = s ? 8 : 4;
        const double x[3] = {0.31, 0.17, 0.23};
        double *plain = test_malloc((size_t)M * sizeof *plain),
               *turned = test_malloc((size_t)M * sizeof *turned);
        double T[25 * 25];
        ok(modal_eval(cube_shapes[s], k, NULL, 1, x, plain, NULL));
        for (int o = 0; o < shape_n_orientations(face); o++) {
            unsigned char orientations[18];
            for (int i = 0; i < n_edges + n_faces; i++)
                orientations[i] = (unsigned char)(i < n_edges ? o % 2 : o);
            ok(modal_eval(cube_shapes[s], k, orientations, 1, x, turned, NULL));
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
            enum shape shape = cube_shapes[s], face = shape_face_shape(shape, 0);
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
            for (int k = 1; k <= (s ? 4 : 6); k += k < 2 ? 1 : 2) {
                const int n[3] = {3 - s, 2, 2};
                struct facet_mesh *mesh =
                    cube(cube_shapes[s], n, whole, 1, 0.1 * bent, (uint32_t)(17 * k + bent));
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
        struct facet_mesh *mesh = cube(cube_shapes[s], n, whole, 1, 0.1, 3);
        struct setup p = {
            .mesh = mesh, .degree = s ? 6 : 8, .exact = "sin(x + z)*exp(y)", .conditions = {{0}}};
        struct solved r;
        condense(&p, &r);
        near(r.errors.u_Linf, 0, s ? 1e-6 : 1e-7);
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
        for (int k = 1; k <= 3; k++)
            for (int order = 1; order <= k; order += k > 1 ? k - 1 : 1) { /* straight, and curved */
                int n = k == 1 ? 3 : 2;
                double coarse[3], fine[3], rates[3];
                errors_on(cube_shapes[s], n, order, k, coarse, NULL);
                errors_on(cube_shapes[s], 2 * n, order, k, fine, NULL);
                for (int i = 0; i < 3; i++) rates[i] = log2(coarse[i] / fine[i]);
                print_message("%s order %d k=%d  u %5.2f  q %5.2f  trace %5.2f\n", shape_name(cube_shapes[s]),
                              order, k, rates[0], rates[1], rates[2]);
                assert_true(rates[0] > k + 0.8 && rates[1] > k - 0.2 && rates[2] > k + 0.3);
            }
}

static void agrees_with_hdg(void **state) {
    (void)state;
    for (int s = 0; s < 2; s++) {
        double errors[3], apart[2];
        for (int i = 0; i < 2; i++) errors_on(cube_shapes[s], 2 + 2 * i, 1, 3, errors, &apart[i]);
        assert_true(apart[0] < 2e-3 && apart[1] < 2e-4);
    }
}

/* ------------------------------------------------------------------------------------------ conditions */

static void pure_neumann_problems_get_the_exact_mean(void **state) {
    (void)state;
    const int n[3] = {2, 2, 2};
    for (int s = 0; s < 2; s++) {
        struct facet_mesh *mesh = cube(cube_shapes[s], n, whole, 1, 0.1, 2);
        struct setup p = {.mesh = mesh,
                          .degree = 3,
                          .method = "cg",
                          .exact = "5 + x^3 - 2*x*y*z",
                          .conditions = {{"rest", "neumann", "exact", NULL}}};
        struct solved r;
        condense(&p, &r);
        assert_true(mapped_of(r.solver)->hdg->singular);
        near(r.errors.u_Linf, 0, 1e-10);
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
            const int n[3] = {3 << level, 1 << level, 2 << level}, periodic[3] = {1, 0, 1};
            struct facet_mesh *mesh = cube(cube_shapes[s], n, periodic, 1, 0.0, 4);
            struct setup p = {.mesh = mesh, .degree = 2, .exact = "sin(2*pi*x + y)*cos(2*pi*z)"};
            struct solved r;
            condense(&p, &r);
            errors[level] = r.errors.u_L2;
            release(&r);
            mesh_destroy(&mesh);
        }
        assert_true(log2(errors[0] / errors[1]) > 2.5);
    }
}

/* Where Dirichlet parts disagree, vertices and edges get the mean. */
static void edges_take_the_mean_of_their_dirichlet_faces(void **state) {
    (void)state;
    const int n[3] = {2, 2, 2};
    for (int s = 0; s < 2; s++) {
        struct facet_mesh *mesh = cube(cube_shapes[s], n, whole, 1, 0.0, 8);
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

/* ------------------------------------------------------------------------------------------ results */

static void fluxes_and_means_are_those_of_u(void **state) {
    (void)state;
    const int n[3] = {2, 2, 2};
    for (int s = 0; s < 2; s++) {
        struct facet_mesh *mesh = cube(cube_shapes[s], n, whole, 1, 0.0, 12);
        struct setup p = {
            .mesh = mesh, .degree = 3, .exact = "1 + 2*x + x*y*z", .n_K = 1, .K = {"3"}, .conditions = {{0}}};
        const double x[] = {0.4, 0.3, 0.2};
        double value[3];
        int count;
        struct solved r;
        condense(&p, &r);
        ok(sample_take(r.solver, "flux", -1, SAMPLE_INTEGRAL, "xmax", value, &count));
        near(value[0], -3 * (2 + 0.25), 1e-10);
        ok(facet_solver_evaluate(r.solver, "q", 1, x, value));
        near(value[0], -3 * 2.06, 1e-10);
        near(value[1], -3 * 0.08, 1e-10);
        near(value[2], -3 * 0.12, 1e-10);
        ok(sample_take(r.solver, "u", -1, SAMPLE_INTEGRAL, NULL, value, &count));
        near(value[0], 2.125, 1e-12);
        release(&r);
        mesh_destroy(&mesh);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_span_the_space),
        cmocka_unit_test(turned_modes_are_those_of_the_frame),
        cmocka_unit_test(modes_vanish_elsewhere),
        cmocka_unit_test(polynomials_are_exact),
        cmocka_unit_test(high_degrees_work),
        cmocka_unit_test(orders_are_those_of_the_theory),
        cmocka_unit_test(agrees_with_hdg),
        cmocka_unit_test(pure_neumann_problems_get_the_exact_mean),
        cmocka_unit_test(periodic_problems_converge),
        cmocka_unit_test(edges_take_the_mean_of_their_dirichlet_faces),
        cmocka_unit_test(fluxes_and_means_are_those_of_u),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
