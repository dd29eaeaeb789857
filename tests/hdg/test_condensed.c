/* The condensed continuous method: its modal basis, exactness on polynomials, orders, symmetry, continuity,
 * agreement with a solve that condenses nothing, boundary conditions of all kinds, devices, forms of the
 * product, refused input, failing allocations. */
#include "condensed_helpers.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ the basis */

static const enum shape shapes[] = {SHAPE_SEGMENT, SHAPE_TRIANGLE, SHAPE_QUAD};

/* V V' is the mass matrix. */
static void check_orthonormal_interior(int k, const double *V) {
    int M = basis_size(SHAPE_TRIANGLE, k);
    for (int i = modal_n_boundary(SHAPE_TRIANGLE, k); i < M; i++)
        for (int j = modal_n_boundary(SHAPE_TRIANGLE, k); j < M; j++) {
            double sum = 0;
            for (int c = 0; c < M; c++) sum += V[i * M + c] * V[j * M + c];
            near(sum, i == j, 1e-11);
        }
}

static void modes_span_the_space(void **state) {
    (void)state;
    for (int s = 0; s < 3; s++)
        for (int k = 1; k <= 16; k += k < 6 ? 1 : 5) {
            uint32_t seed = 1;
            assert_int_equal(modal_n_boundary(shapes[s], k) + modal_n_interior(shapes[s], k),
                             basis_size(shapes[s], k));
            double *V = combination(shapes[s], k);
            for (int p = 0; p < 10; p++) { /* inside; the last at vertex 0 */
                double x[2], scale = p < 9 ? 0.5 : 0.0;
                for (int d = 0; d < 2; d++) x[d] = scale * (0.5 + 0.5 * random_signed(&seed));
                check_combination(shapes[s], k, V, x);
            }
            if (shapes[s] == SHAPE_TRIANGLE) check_orthonormal_interior(k, V);
            test_free(V);
        }
}

/* On an edge, in its frame: the modes of its ends and its own are those of a segment, all others vanish. */
static void traces_are_those_of_the_frame(void **state) {
    (void)state;
    const int k = 7;
    for (int s = 1; s < 3; s++)
        for (int pattern = 0; pattern < 16; pattern++) {
            unsigned char orientations[4];
            int n_edges = shape_n_faces(shapes[s]), M = basis_size(shapes[s], k);
            for (int e = 0; e < 4; e++) orientations[e] = (unsigned char)(pattern >> e & 1);
            for (int e = 0; e < n_edges; e++) {
                const int *ids = shape_face_vertices(shapes[s], e),
                          *order = shape_permutation(SHAPE_SEGMENT, orientations[e]);
                for (int p = 0; p <= 10; p++) {
                    double t = p / 10.0, x[2], on_segment[8], values[64];
                    shape_face_point(shapes[s], e, orientations[e], &t, x);
                    ok(modal_eval(SHAPE_SEGMENT, k, NULL, 1, &t, on_segment, NULL));
                    ok(modal_eval(shapes[s], k, orientations, 1, x, values, NULL));
                    for (int i = 0; i < M; i++) {
                        double expected = 0;
                        int own = i - shape_n_vertices(shapes[s]) - e * (k - 1);
                        if (i == ids[order[0]]) expected = on_segment[0];
                        if (i == ids[order[1]]) expected = on_segment[1];
                        if (own >= 0 && own < k - 1) expected = on_segment[2 + own];
                        near(values[i], expected, 1e-13);
                    }
                }
            }
        }
}

static void vertex_modes_sum_to_one_and_kernels_are_hierarchical(void **state) {
    (void)state;
    double x[2] = {0.3, 0.25}, low[64], high[128], grad[8], sum;
    for (int s = 0; s < 3; s++) {
        int n_vertices = shape_n_vertices(shapes[s]), n_edges = shapes[s] == SHAPE_SEGMENT ? 0 : n_vertices;
        ok(modal_eval(shapes[s], 6, NULL, 1, x, low, NULL));
        ok(modal_eval(shapes[s], 8, NULL, 1, x, high, NULL));
        sum = 0;
        for (int v = 0; v < n_vertices; v++) sum += low[v];
        near(sum, 1, 1e-15);
        for (int e = 0; e < n_edges; e++)
            for (int j = 0; j < 5; j++)
                near(low[n_vertices + e * 5 + j], high[n_vertices + e * 7 + j], 1e-15);
        for (int i = 0; i < modal_n_interior(shapes[s], 6); i++)
            near(low[modal_n_boundary(shapes[s], 6) + i], high[modal_n_boundary(shapes[s], 8) + i], 1e-14);
    }
    double square = 0; /* the derivative of l_5 has norm 1 */
    struct rule rule;
    ok(rule_create(SHAPE_SEGMENT, 12, &rule));
    for (int q = 0; q < rule.n; q++) {
        ok(modal_eval(SHAPE_SEGMENT, 6, NULL, 1, rule.x + q, low, grad));
        square += rule.w[q] * grad[5] * grad[5];
    }
    near(square, 1, 1e-13);
    rule_destroy(&rule);
    refused(modal_eval(SHAPE_POINT, 3, NULL, 0, x, low, NULL), FACET_ERROR_INPUT, "point");
    refused(modal_eval(SHAPE_QUAD, 0, NULL, 0, x, low, NULL), FACET_ERROR_INPUT, "degree 0");
}

/* ------------------------------------------------------------------------------------------ exactness */

#define MIXED_CONDITIONS                                                                                     \
    {                                                                                                        \
        {"xmax", "neumann", "exact", NULL}, {"ymin", "robin", "exact", "1 + x"},                             \
            {"ymax", "dirichlet", "exact", NULL},                                                            \
    }

static void polynomials_are_exact(void **state) {
    (void)state;
    for (int kind = TRIANGLES; kind <= MIXED; kind++)
        for (int distorted = 0; distorted < 2; distorted++) {
            struct facet_mesh *mesh = lattice((enum kind)kind, 3, 4, distorted ? 0.2 : 0.0);
            for (int k = 1; k <= 8; k += k < 5 ? 1 : 3) {
                char exact[64];
                snprintf(exact, sizeof exact, "(0.2 + 0.5*x - 0.7*y)^%d + x", k);
                for (int variable = 0; variable < 2; variable++) {
                    struct setup p = {.mesh = mesh,
                                      .degree = k,
                                      .exact = exact,
                                      .reaction = variable ? "1 + y" : "2",
                                      .n_K = 4,
                                      .K = {variable ? "2 + x" : "2", "0.5", "0.5", "1"},
                                      .conditions = MIXED_CONDITIONS};
                    struct solved s;
                    condense(&p, &s);
                    near(s.errors.u_Linf, 0, 1e-11);
                    near(s.errors.trace_L2, 0, 1e-11);
                    near(s.errors.q_L2, 0, 1e-10);
                    assert_true(s.errors.u_star_L2 < 0 && s.report.conservation < 1e-11);
                    near(largest_jump(&s), 0, 1e-11);
                    release(&s);
                }
            }
            mesh_destroy(&mesh);
        }
}

static void degree_sixteen_works(void **state) {
    (void)state;
    for (int kind = TRIANGLES; kind <= QUADS; kind++) {
        struct facet_mesh *mesh = lattice((enum kind)kind, 2, 2, 0.2);
        struct setup p = {.mesh = mesh, .degree = 16, .exact = "sin(3*x)*exp(y)", .conditions = {{0}}};
        struct solved s;
        condense(&p, &s);
        near(s.errors.u_Linf, 0, 1e-11);
        near(s.errors.q_L2, 0, 1e-9);
        release(&s);
        mesh_destroy(&mesh);
    }
}

/* ------------------------------------------------------------------------------------------ orders */

static void check_orders(const char *name, struct facet_mesh *mesh, int k, double slack) {
    double before[3] = {0}, rates[3];
    struct setup p = {.mesh = mesh,
                      .degree = k,
                      .exact = "sin(2*x + 0.3)*cos(1.5*y)",
                      .reaction = "1",
                      .n_K = 1,
                      .K = {"1 + 0.5*x*y"},
                      .conditions = {{0}}};
    for (int level = 0; level < 2; level++) {
        struct solved s;
        if (level > 0) ok(facet_mesh_refine(mesh, 1));
        condense(&p, &s);
        double errors[3] = {s.errors.u_L2, s.errors.q_L2, s.errors.trace_L2};
        for (int i = 0; i < 3; i++) {
            rates[i] = log2(before[i] / errors[i]);
            before[i] = errors[i];
        }
        near(largest_jump(&s), 0, 1e-11);
        release(&s);
    }
    print_message("%-9s k=%d  u %5.2f  q %5.2f  trace %5.2f\n", name, k, rates[0], rates[1], rates[2]);
    assert_true(rates[0] > k + 1 - slack && rates[1] > k - slack && rates[2] > k + 0.5 - slack);
}

static void orders_are_those_of_the_theory(void **state) {
    (void)state;
    static const char *const names[] = {"triangles", "quads", "mixed"};
    for (int kind = TRIANGLES; kind <= MIXED; kind++)
        for (int k = 1; k <= 5; k++) {
            struct facet_mesh *mesh = lattice((enum kind)kind, 4, 4, 0.15);
            check_orders(names[kind], mesh, k, 0.25);
            facet_mesh_destroy(&mesh);
        }
    for (int k = 1; k <= 4; k++) {
        char path[64];
        struct facet_mesh *mesh;
        snprintf(path, sizeof path, "tests/meshes/annulus_%d_41.msh", k);
        ok(mesh_read_gmsh(path, &mesh));
        ok(facet_mesh_refine(mesh, 1));
        check_orders("annulus", mesh, k, 0.35);
        facet_mesh_destroy(&mesh);
    }
}

/* ------------------------------------------------------------------------------------------ the system */

static void the_matrix_is_symmetric_positive_definite_in_every_form(void **state) {
    (void)state;
    for (int kind = TRIANGLES; kind <= MIXED; kind++)
        for (int k = 1; k <= 6; k += k < 3 ? 1 : 3)
            for (int singular = 0; singular < 2; singular++) {
                struct facet_mesh *mesh = lattice((enum kind)kind, 5, 4, 0.2);
                struct setup p = {.mesh = mesh,
                                  .degree = k,
                                  .n_K = 1,
                                  .K = {kind == QUADS ? "1 + x" : "3"},
                                  .conditions = {{"rest", "neumann", "0", NULL}}};
                if (!singular)
                    p.conditions[1] = (struct condition){"xmin", "dirichlet", "y", NULL},
                    p.conditions[2] = (struct condition){"ymax", "robin", "1", "x"};
                struct solved s;
                condense(&p, &s);
                assert_int_equal(mapped_of(s.solver)->hdg->singular, singular);
                compare_products(&s);
                release(&s);
                mesh_destroy(&mesh);
            }
}

/* 600 triangles round one vertex: more batches meet there than there are colours to share. */
static void a_fan_of_many_cells_works(void **state) {
    (void)state;
    enum { N = 600 };
    static uint8_t cell_shapes[N];
    static int64_t offsets[N + 1];
    static int32_t vertices[3 * N];
    static double nodes[6 * N];
    for (int c = 0; c < N; c++) {
        double a = 2 * M_PI * c / N, b = 2 * M_PI * (c + 1) / N;
        const int32_t ids[3] = {0, 1 + c, 1 + (c + 1) % N};
        const double points[6] = {0, 0, cos(a), sin(a), cos(b), sin(b)};
        cell_shapes[c] = SHAPE_TRIANGLE;
        offsets[c + 1] = 3 * (c + 1);
        for (int i = 0; i < 3; i++) {
            vertices[3 * c + i] = ids[i];
            memcpy(nodes + 2 * (3 * c + shape_vertex_node(SHAPE_TRIANGLE, 1, i)), points + 2 * i,
                   2 * sizeof(double));
        }
    }
    struct mesh_input input = {.dim = 2,
                               .order = 1,
                               .n_vertices = N + 1,
                               .n_cells = N,
                               .shapes = cell_shapes,
                               .vertex_offsets = offsets,
                               .vertices = vertices,
                               .node_offsets = offsets,
                               .nodes = nodes};
    struct facet_mesh *mesh;
    ok(mesh_create(&input, &mesh));
    struct setup p = {
        .mesh = mesh, .degree = 2, .exact = "1 + x - x*y", .method = "cg", .preconditioner = "jacobi"};
    struct solved s;
    condense(&p, &s);
    near(s.errors.u_Linf, 0, 1e-10);
    compare_products(&s);
    release(&s);
    mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------------ not condensed */

struct whole {
    int64_t n, n_shared;
    double *A, *b;
};

/* Adds one cell: all its modes, with orientations, straight from the weak form; matrix or load, by the rule
 * of the table. */
static void whole_cell(const struct hdg *h, int block, int32_t cell, const struct hdg_table *table,
                       int64_t first_interior, struct whole *w) {
    const struct mesh_block *mb = &h->data.mesh->blocks[block];
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct trace_space *space = &h->trace;
    int M = b->N, n = trace_cell_size(space, block), is_load = table == &b->source;
    double *numbers = test_malloc((size_t)space->n_all * sizeof *numbers),
           *shared = test_malloc((size_t)n * sizeof *shared); /* full numbers of the cell's unknowns */
    for (int64_t i = 0; i < space->n_all; i++) numbers[i] = (double)i;
    trace_gather(space, block, cell, numbers, shared, 1);
    size_t count = (size_t)(table->n * M);
    double *phi = test_malloc(count * sizeof *phi), *grad = test_malloc(2 * count * sizeof *grad);
    struct hdg_geometry g;
    ok(hdg_geometry_create(table->n, 2, &g));
    hdg_cell_geometry(&h->space, block, cell, table, &g);
    ok(modal_eval(mb->shape, h->space.degree, mb->orientations + (int64_t)cell * b->n_faces, table->n,
                  table->xi, phi, grad));
    for (int q = 0; q < table->n; q++) {
        double x = g.x[2 * q], y = g.x[2 * q + 1], K[2][2] = {{2 + x, 0.5}, {0.5, 1 + y * y}};
        for (int i = 0; i < M; i++) { /* gradients, in place */
            double *at = grad + 2 * (q * M + i), old[2] = {at[0], at[1]};
            for (int a = 0; a < 2; a++)
                at[a] = g.inverse[4 * q + a] * old[0] + g.inverse[4 * q + 2 + a] * old[1];
        }
        for (int i = 0; i < M; i++) {
            int64_t row = i < n ? (int64_t)shared[i] : first_interior + i - n;
            const double *gi = grad + 2 * (q * M + i);
            if (is_load) w->b[row] += g.wJ[q] * (3 + x * y) * phi[q * M + i];
            for (int j = 0; j < M && !is_load; j++) {
                int64_t column = j < n ? (int64_t)shared[j] : first_interior + j - n;
                const double *gj = grad + 2 * (q * M + j);
                double flux =
                    gi[0] * (K[0][0] * gj[0] + K[0][1] * gj[1]) + gi[1] * (K[1][0] * gj[0] + K[1][1] * gj[1]);
                w->A[row * w->n + column] += g.wJ[q] * (flux + (1 + x) * phi[q * M + i] * phi[q * M + j]);
            }
        }
    }
    hdg_geometry_destroy(&g);
    test_free(numbers);
    test_free(shared);
    test_free(phi);
    test_free(grad);
}

static void agrees_with_a_solve_that_condenses_nothing(void **state) {
    (void)state;
    for (int kind = TRIANGLES; kind <= MIXED; kind++)
        for (int k = 1; k <= 5; k += 2) {
            struct facet_mesh *mesh = lattice((enum kind)kind, 3, 2, 0.2);
            struct setup p = {
                .mesh = mesh,
                .degree = k,
                .n_K = 4,
                .K = {"2 + x", "0.5", "0.5", "1 + y^2"},
                .reaction = "1 + x",
                .source = "3 + x*y",
                .conditions = {{"xmin", "dirichlet", "sin(3*y)", NULL}, {"rest", "neumann", "0", NULL}}};
            struct solved s;
            condense(&p, &s);
            const struct hdg *h = mapped_of(s.solver)->hdg;
            const struct trace_space *space = &h->trace;
            struct whole w = {.n_shared = space->n_all, .n = space->n_all};
            for (int b = 0; b < mesh->n_blocks; b++)
                w.n += (int64_t)mesh->blocks[b].count * h->condensed->blocks[b].N;
            assert_int_equal(w.n, s.report.volume_unknowns);
            w.A = test_calloc((size_t)(w.n * w.n), sizeof *w.A);
            w.b = test_calloc((size_t)w.n, sizeof *w.b);
            int64_t interior = space->n_all;
            for (int b = 0; b < mesh->n_blocks; b++)
                for (int32_t c = 0; c < mesh->blocks[b].count; c++) {
                    whole_cell(h, b, c, &h->space.blocks[b].cell, interior, &w);
                    whole_cell(h, b, c, &h->space.blocks[b].source, interior, &w);
                    interior += h->condensed->blocks[b].N;
                }
            for (int64_t f = 0; f < space->n_faces; f++) { /* Dirichlet values are held by their equations */
                if (space->face_free[f] >= 0) continue;
                for (int64_t i = space->face_first[f]; i < space->face_first[f + 1]; i++) {
                    for (int64_t j = 0; j < w.n; j++) w.A[i * w.n + j] = i == j;
                    w.b[i] = h->eliminated[i];
                }
            }
            lapack_int *pivots = test_malloc((size_t)w.n * sizeof *pivots);
            assert_int_equal(
                LAPACKE_dgesv(LAPACK_ROW_MAJOR, (lapack_int)w.n, 1, w.A, (lapack_int)w.n, pivots, w.b, 1), 0);
            for (int64_t i = 0; i < space->n_all; i++)
                near(mapped_of(s.solver)->solution.trace[i], w.b[i], 1e-11);
            release(&s);
            mesh_destroy(&mesh);
            test_free(w.A);
            test_free(w.b);
            test_free(pivots);
        }
}

/* ------------------------------------------------------------------------------------------ conditions */

static void pure_neumann_problems_get_the_exact_mean(void **state) {
    (void)state;
    for (int kind = TRIANGLES; kind <= MIXED; kind++) {
        struct facet_mesh *mesh = lattice((enum kind)kind, 4, 3, 0.2);
        static const char *const methods[] = {"direct", "cg"};
        for (int m = 0; m < 2; m++) {
            struct setup p = {.mesh = mesh,
                              .degree = 3,
                              .method = methods[m],
                              .exact = "5 + x^3 - 2*x*y",
                              .conditions = {{"rest", "neumann", "exact", NULL}}};
            struct solved s;
            condense(&p, &s);
            assert_true(mapped_of(s.solver)->hdg->singular);
            near(s.errors.u_Linf, 0, 1e-10);
            release(&s);
        }
        struct setup bad = {
            .mesh = mesh, .degree = 2, .source = "1", .conditions = {{"rest", "neumann", "0", NULL}}};
        struct solved s;
        refused(try_condensed(&bad, &s), FACET_ERROR_INPUT, "balance");
        mesh_destroy(&mesh);
    }
}

static void periodic_problems_join_their_vertices(void **state) {
    (void)state;
    static const int sizes[][4] = {{3, 2, 1, 1}, {1, 2, 1, 0}, {1, 1, 1, 1}, {2, 1, 0, 1}};
    for (int shape = 0; shape < 2; shape++)
        for (int i = 0; i < 4; i++)
            for (int singular = 0; singular < 2; singular++) {
                const int *n = sizes[i];
                struct facet_mesh *mesh = box(shape ? "quad" : "triangle", n[0], n[1], n[2], n[3]);
                struct setup p = {.mesh = mesh,
                                  .degree = 16,
                                  .reaction = singular ? "0" : "1",
                                  .exact = "1 + sin(2*pi*x)*cos(2*pi*y)"};
                if (!n[2] || !n[3]) p.conditions[0] = (struct condition){"rest", "neumann", "exact", NULL};
                struct solved s;
                condense(&p, &s);
                const struct continuous_space *space = &mapped_of(s.solver)->hdg->condensed->space;
                assert_int_equal(mapped_of(s.solver)->hdg->singular, singular);
                assert_int_equal(space->skeleton.n_vertices, (n[0] + !n[2]) * (n[1] + !n[3]));
                near(s.errors.u_Linf, 0, 1e-5);
                near(largest_jump(&s), 0, 1e-10);
                if (i > 0) compare_products(&s);
                release(&s);
                mesh_destroy(&mesh);
            }
}

/* Where two Dirichlet parts disagree, their vertex gets the mean. */
static void vertices_take_the_mean_of_their_dirichlet_faces(void **state) {
    (void)state;
    struct facet_mesh *mesh = lattice(QUADS, 2, 2, 0.0);
    struct setup p = {.mesh = mesh,
                      .degree = 3,
                      .conditions = {{"xmin", "dirichlet", "1", NULL}, {"rest", "dirichlet", "0", NULL}}};
    const double x[] = {0, 0, 0, 0.5, 1, 1};
    double u[3];
    struct solved s;
    condense(&p, &s);
    ok(facet_solver_evaluate(s.solver, "u", 3, x, u));
    near(u[0], 0.5, 1e-12);
    near(u[1], 1, 1e-12);
    near(u[2], 0, 1e-12);
    release(&s);
    mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------------ results */

static void fluxes_and_means_are_those_of_u(void **state) {
    (void)state;
    struct facet_mesh *mesh = lattice(MIXED, 3, 3, 0.2);
    struct setup p = {
        .mesh = mesh, .degree = 2, .exact = "1 + 2*x + x*y", .n_K = 1, .K = {"3"}, .conditions = {{0}}};
    const double x[] = {0.4, 0.3};
    double value[2];
    int n;
    struct solved s;
    condense(&p, &s);
    ok(sample_take(s.solver, "flux", -1, SAMPLE_INTEGRAL, "xmax", value, &n));
    near(value[0], -3 * (2 + 0.5), 1e-10);
    ok(facet_solver_evaluate(s.solver, "q", 1, x, value));
    near(value[0], -3 * 2.3, 1e-10);
    near(value[1], -3 * 0.4, 1e-10);
    ok(sample_take(s.solver, "u", -1, SAMPLE_INTEGRAL, NULL, value, &n));
    near(value[0], 2.25, 1e-12);
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int32_t c = 0; c < mesh->blocks[b].count; c++) {
            double trace;
            hdg_mean_trace(mapped_of(s.solver)->hdg, &mapped_of(s.solver)->solution, b, c, &trace);
            assert_true(trace > 1 && trace < 4);
        }
    refused(facet_solver_evaluate(s.solver, "u_star", 1, x, value), FACET_ERROR_INPUT, "discretization hdg");
    refused(hdg_postprocess(mapped_of(s.solver)->hdg, &mapped_of(s.solver)->solution), FACET_ERROR_INPUT,
            "post-processing");
    release(&s);
    mesh_destroy(&mesh);
}

static void options_are_checked(void **state) {
    (void)state;
    struct facet_mesh *mesh = lattice(QUADS, 2, 2, 0.0);
    facet_context *context;
    facet_problem *problem;
    facet_solver *solver;
    facet_options options;
    ok(facet_context_create(NULL, &context));
    ok(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    ok(facet_problem_set_exact(problem, "x"));
    facet_options_default(&options, sizeof options);
    options.discretization = "spectral";
    refused(facet_solver_create(problem, &options, &solver), FACET_ERROR_INPUT, "hdg, condensed");
    options.discretization = "condensed";
    options.tau = "1";
    refused(facet_solver_create(problem, &options, &solver), FACET_ERROR_INPUT, "tau");
    options.tau = NULL;
    options.tau_hat = 2;
    refused(facet_solver_create(problem, &options, &solver), FACET_ERROR_INPUT, "tau");
    facet_problem_destroy(&problem);
    facet_context_destroy(&context);
    mesh_destroy(&mesh);
}

static void all_solvers_and_devices_agree(void **state) {
    (void)state;
    static const char *const choices[][3] = {
        {"cpu", "cg", "none"},   {"cpu", "cg", "jacobi"},   {"cpu", "cg", "block"}, {"cpu", "cg", "amg"},
        {"ref", "direct", NULL}, {"debug", "direct", NULL}, {"debug", "cg", "amg"}, {"ref", "cg", "block"}};
    for (int kind = TRIANGLES; kind <= MIXED; kind++)
        for (int k = 1; k <= 4; k++) {
            struct facet_mesh *mesh = lattice((enum kind)kind, 7, 5, kind == MIXED ? 0.2 : 0.0);
            struct setup p = {.mesh = mesh,
                              .degree = k,
                              .source = "exp(x*y)",
                              .reaction = "2",
                              .conditions = {{"xmin", "dirichlet", "y", NULL},
                                             {"xmax", "robin", "1 + y", "2"},
                                             {"rest", "neumann", "x", NULL}}};
            struct solved first, other;
            condense(&p, &first);
            for (int c = 0; c < 8; c++) {
                p.device = choices[c][0];
                p.method = choices[c][1];
                p.preconditioner = choices[c][2];
                condense(&p, &other);
                near(largest_difference(&first, &other), 0, 1e-10);
                release(&other);
            }
            release(&first);
            mesh_destroy(&mesh);
        }
}

/* Several levels deep. Nodes of edges carry no constant, and leave no coarse unknowns. */
static void multigrid_converges(void **state) {
    (void)state;
    struct facet_mesh *mesh = box("triangle", 48, 48, 0, 0);
    for (int k = 1; k <= 3; k++) {
        struct setup p = {
            .mesh = mesh, .degree = k, .exact = "x*y + x", .method = "cg", .preconditioner = "amg"};
        struct solved s;
        condense(&p, &s);
        assert_string_equal(s.report.preconditioner, "amg");
        assert_true(s.report.iterations < 50);
        near(s.errors.u_Linf, 0, k == 1 ? 1e-3 : 1e-10);
        release(&s);
    }
    mesh_destroy(&mesh);
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    for (int k = 1; k <= 3; k += 2) {
        struct facet_mesh *mesh = lattice(MIXED, 2, 2, 0.1);
        struct setup p = {.mesh = mesh,
                          .degree = k,
                          .exact = "x*y + 1",
                          .reaction = "1",
                          .method = "cg",
                          .preconditioner = k == 1 ? "amg" : "block",
                          .conditions = MIXED_CONDITIONS};
        struct solved s;
        facet_status status = FACET_ERROR_MACHINE;
        base_set_threads(1);
        int64_t before = live_blocks(), n = 0;
        while (status != FACET_OK) {
            base_memory_fail_at(++n);
            status = try_condensed(&p, &s);
            base_memory_fail_at(0);
            if (status == FACET_OK) break;
            assert_int_equal(status, FACET_ERROR_MACHINE);
            assert_int_equal(live_blocks(), before);
        }
        assert_true(n > 100);
        release(&s);
        assert_int_equal(live_blocks(), before);
        base_set_threads(0);
        mesh_destroy(&mesh);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_span_the_space),
        cmocka_unit_test(traces_are_those_of_the_frame),
        cmocka_unit_test(vertex_modes_sum_to_one_and_kernels_are_hierarchical),
        cmocka_unit_test(polynomials_are_exact),
        cmocka_unit_test(degree_sixteen_works),
        cmocka_unit_test(orders_are_those_of_the_theory),
        cmocka_unit_test(the_matrix_is_symmetric_positive_definite_in_every_form),
        cmocka_unit_test(a_fan_of_many_cells_works),
        cmocka_unit_test(agrees_with_a_solve_that_condenses_nothing),
        cmocka_unit_test(pure_neumann_problems_get_the_exact_mean),
        cmocka_unit_test(periodic_problems_join_their_vertices),
        cmocka_unit_test(vertices_take_the_mean_of_their_dirichlet_faces),
        cmocka_unit_test(fluxes_and_means_are_those_of_u),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(all_solvers_and_devices_agree),
        cmocka_unit_test(multigrid_converges),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
