/* p-multigrid for bodies: the normal displacements of faces beside the functions of vertices, iterations
 * where lambda is large or two materials meet, and allocation faults. */
#include <lapacke.h>

#include "elastic_helpers.h"
#include "half_helpers.h"
#include "trace/pmg.h"
#include "trace/pmg_parts.h"

static void bend(const double *x, double *y) {
    y[0] = x[0] + 0.05 * sin(6.1 * x[1] + 1.0);
    y[1] = 1.3 * x[1] + 0.05 * sin(5.3 * x[0] + 2.0 * x[2]);
    y[2] = 0.8 * x[2] + 0.05 * sin(4.7 * x[0] - 3.0 * x[1]);
}

/* ------------------------------------------------------------------------------------------ normals */

/* Edges of a face from one vertex of it, of a quad its diagonals; returns how many. */
static int face_lines(const struct facet_mesh *mesh, int32_t face, double (*lines)[3]) {
    int32_t vertices[SHAPE_MAX_FACE_VERTICES], cell = mesh->face_cells[2 * (int64_t)face];
    int locals[SHAPE_MAX_FACE_VERTICES], n = mesh_side_vertices(mesh, face, 0, vertices, locals);
    const struct mesh_block *b = mesh_block_of(mesh, cell);
    const double *x[SHAPE_MAX_FACE_VERTICES] = {NULL};
    for (int i = 0; i < n; i++)
        x[i] = b->nodes + ((cell - b->first) * (int64_t)b->n_nodes +
                           shape_vertex_node(b->shape, mesh->order, locals[i])) *
                              mesh->dim;
    for (int c = 0; c < mesh->dim; c++) {
        lines[0][c] = x[n == 4 ? 2 : 1][c] - x[0][c];
        if (n > 2) lines[1][c] = x[n - 1][c] - x[n == 4 ? 1 : 0][c];
    }
    return n > 2 ? 2 : 1;
}

/* Every face has `each` of them: functions 0, 1, .. of length 1 at right angles to it, and nothing on others.
 */
static void check_normals(const struct facet_mesh *mesh, const struct trace_space *space, int each,
                          const struct trace_nodes *nodes) {
    const int dim = mesh->dim;
    int64_t first = nodes->offsets[nodes->n_vertices];
    assert_int_equal(nodes->n - nodes->n_vertices, space->n_free_faces);
    assert_int_equal(nodes->P.n_columns - first, each * space->n_free_faces);
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t begin = space->free_offsets[b], size = (space->free_offsets[b + 1] - begin) / dim;
        double normals[3][3] = {{0}}, lines[2][3];
        for (int64_t i = 0; i < size * dim; i++)
            for (int64_t e = nodes->P.offsets[begin + i]; e < nodes->P.offsets[begin + i + 1]; e++) {
                if (nodes->P.columns[e] < first) continue;
                assert_true(i % size < each);
                assert_int_equal(nodes->P.columns[e], first + each * b + i % size);
                normals[i % size][i / size] = nodes->P.values[e];
            }
        int n_lines = face_lines(mesh, space->free_faces[b], lines);
        for (int i = 0; i < each; i++) {
            double square = 0.0, dot[2] = {0};
            for (int c = 0; c < dim; c++) {
                square += normals[i][c] * normals[i][c];
                for (int l = 0; l < n_lines; l++) dot[l] += normals[i][c] * lines[l][c];
            }
            near(square, 1.0, 1e-14);
            for (int l = 0; l < n_lines; l++) near(dot[l], 0.0, 1e-14);
        }
    }
}

/* P'P is positive definite: the columns are independent. */
static void check_rank(const struct mg_transfer *P) {
    lapack_int n = (lapack_int)P->n_columns;
    double *G = test_calloc((size_t)(n * n), sizeof *G);
    for (int64_t row = 0; row < P->n_rows; row++)
        for (int64_t a = P->offsets[row]; a < P->offsets[row + 1]; a++)
            for (int64_t b = P->offsets[row]; b < P->offsets[row + 1]; b++)
                G[P->columns[a] * (int64_t)n + P->columns[b]] += P->values[a] * P->values[b];
    assert_int_equal(LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, G, n), 0);
    double least = 1.0;
    for (lapack_int i = 0; i < n; i++) least = fmin(least, G[i * (int64_t)n + i]);
    assert_true(least > 0.01);
    test_free(G);
}

static void every_face_has_its_normal(void **state) {
    (void)state;
    for (int k = 0; k < 12; k++) { /* degrees 0, 1, 2 */
        struct facet_mesh *mesh = remake(unit_box(shapes[k % 4], NULL, 2), 1, bend, 11u);
        struct trace_space space;
        struct trace_nodes nodes;
        uint8_t *none = test_calloc((size_t)mesh->n_faces, 1);
        ok(trace_space_create(mesh, k / 4, mesh->dim, none, &space));
        for (int beside = TRACE_FLUXES; beside <= TRACE_NORMALS; beside++) {
            ok(trace_continuous_nodes(&space, (enum trace_beside)beside, NULL, &nodes));
            assert_int_equal(nodes.n_vertices, mesh->n_vertices);
            check_normals(mesh, &space, beside == TRACE_NORMALS && k >= 4 ? mesh->dim : 1, &nodes);
            if (k >= 4) check_rank(&nodes.P);
            trace_nodes_destroy(&nodes);
        }
        trace_space_destroy(&space);
        test_free(none);
        mesh_destroy(&mesh);
    }
}

/* ------------------------------------------------------------------------------------------ iterations */

struct example {
    struct body body;
    struct answer answer;
    struct linear_operator A;
};

/* Held at xmin, or on rollers at ymin as well. */
static void make(int k, int n, int degree, const char *lambda, int rollers, struct example *e) {
    *e = (struct example){.body = {.mesh = remake(unit_box(shapes[k], NULL, n), 1, bend, 11u),
                                   .degree = degree,
                                   .lambda = lambda,
                                   .exact = {"x*y", "y", "x"},
                                   .device = "cpu",
                                   .conditions = {{"xmax", "traction"},
                                                  {"ymax", "traction"},
                                                  {"ymin", rollers ? "y" : "traction"},
                                                  {k < 2 ? NULL : "zmin", "traction"},
                                                  {"zmax", "traction"}}}};
    ok(body_describe(&e->body, &e->answer));
    ok(hdg_create(e->answer.device, &e->answer.data, degree, NULL, NULL, &e->answer.hdg));
    ok(hdg_condense(e->answer.hdg));
    ok(trace_operator_create(&e->answer.hdg->trace, &e->answer.hdg->matrices, &e->A));
}

static void unmake(struct example *e) {
    operator_destroy(&e->A);
    answer_free(&e->answer);
    mesh_destroy(&e->body.mesh);
}

/* Both moduli times 1e4 in every other one of n^d bricks. */
static void stiffen(struct example *e, int n) {
    struct trace_matrices *m = &e->answer.hdg->matrices;
    const int64_t n_bricks = e->body.mesh->dim == 2 ? n * n : n * n * n;
    for (int64_t c = 0; c < e->body.mesh->n_cells; c++) {
        double *values = m->values[0] + trace_matrix_start(m, 0, c);
        int64_t brick = c / (e->body.mesh->n_cells / n_bricks);
        int odd = (int)(brick % n + brick / n % n + brick / n / n) % 2;
        for (int64_t i = 0; i < trace_matrix_size(m, 0) && odd; i++) values[i * m->lanes] *= 1e4;
    }
}

static facet_status fill_modes(void *hdg, double *modes) {
    return hdg_rigid_modes(hdg, modes);
}

static void choose(struct example *e, int incompressible, struct pmg_options *options) {
    pmg_options_default(options);
    options->n_modes = hdg_n_rigid_modes(e->answer.hdg);
    options->fill_modes = fill_modes;
    options->modes_data = e->answer.hdg;
    options->incompressible = incompressible;
}

/* last: the name of the last level, if it is what was expected to be factored. */
static int iterations(struct example *e, const struct pmg_options *options, char *last) {
    struct multigrid *mg = NULL;
    struct linear_operator M = {0};
    struct vector b, x;
    struct solve_report report = {0};
    struct solve_control control = {.rtol = 1e-10, .max_iterations = 2000};
    struct mg_summary level;
    ok(trace_pmg_create(&e->answer.hdg->trace, &e->answer.hdg->matrices, &e->A, options, &mg));
    multigrid_summarize(mg, multigrid_n_levels(mg) - 1, &level);
    snprintf(last, 32, "%s", level.name);
    ok(operator_create_multigrid(&mg, &M));
    ok(vector_create(e->answer.device, e->A.n, &b));
    ok(vector_create(e->answer.device, e->A.n, &x));
    ok(solve_fill_noise(&b));
    vector_fill(&x, 0.0);
    ok(solve_cg(&e->A, &M, &b, &x, &control, &report));
    int count = report.iterations;
    solve_report_clear(&report);
    operator_destroy(&M);
    vector_destroy(&b);
    vector_destroy(&x);
    return count;
}

/* However large lambda is and wherever moduli jump, also in mixed precision (floats see lambda = 1e6 mu). */
static void bodies_take_few_iterations(void **state) {
    (void)state;
    static const char *const lambdas[] = {"1", "5000", "1e6"};
    for (int k = 0; k < 4; k++)
        for (int degree = 1; degree <= 3; degree += k < 2 ? 2 : 1)
            for (int l = 0; l < 3; l++) {
                struct example e;
                struct pmg_options options;
                char last[32];
                int counts[4] = {0}; /* in double and mixed precision, with normals, of two materials */
                if (k > 1 && degree == 3) continue;
                make(k, k < 2 ? 12 : 4, degree, lambdas[l], l == 1, &e);
                choose(&e, l > 0, &options);
                options.precision = PMG_DOUBLE;
                counts[0] = iterations(&e, &options, last);
                assert_string_equal(last, l > 0 ? "rigid" : "linear");
                options.precision = PMG_MIXED;
                counts[1] = iterations(&e, &options, last);
                options.coarse = PMG_NORMALS;
                if (l > 0) counts[2] = iterations(&e, &options, last);
                stiffen(&e, k < 2 ? 12 : 4);
                options.coarse = PMG_COARSE_AUTO;
                options.precision = PMG_PRECISION_AUTO;
                if (l == 0) {
                    counts[3] = iterations(&e, &options, last);
                    assert_string_equal(last, "rigid");
                }
                int rounding = l == 2 ? 2 + counts[0] / 2 : 2;
                if (!(counts[0] <= 40 && counts[1] <= counts[0] + rounding && counts[2] <= 70 &&
                      counts[3] <= 40))
                    fail_msg(
                        "%s, degree %d, lambda %s: %d iterations, %d in mixed precision, %d with normals, "
                        "%d of two materials",
                        shapes[k], degree, lambdas[l], counts[0], counts[1], counts[2], counts[3]);
                unmake(&e);
            }
}

/* Fluxes alone hold what locks continuous functions: of 4^3 bricks these take three times the iterations and
 * more. */
static void fluxes_do_not_lock(void **state) {
    (void)state;
    for (int k = 2; k < 4; k++) {
        struct example e;
        struct pmg_options options;
        char last[32];
        make(k, 4, 2, "5000", 0, &e);
        choose(&e, 1, &options);
        options.coarse = PMG_FLUXES;
        int fluxes = iterations(&e, &options, last);
        assert_string_equal(last, "linear+fluxes");
        options.coarse = PMG_CONTINUOUS;
        int locked = iterations(&e, &options, last);
        if (!(fluxes <= 50 && locked >= 3 * fluxes))
            fail_msg("%s: %d iterations with fluxes, %d without", shapes[k], fluxes, locked);
        unmake(&e);
    }
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    struct example e;
    struct pmg_options options;
    make(2, 2, 2, "1e6", 1, &e);
    choose(&e, 1, &options);
    options.precision = PMG_MIXED;
    options.coarse = PMG_NORMALS;
    int64_t blocks = live_blocks();
    for (int k = 1;; k++) {
        struct multigrid *mg = NULL;
        base_memory_fail_at(k);
        facet_status status =
            trace_pmg_create(&e.answer.hdg->trace, &e.answer.hdg->matrices, &e.A, &options, &mg);
        base_memory_fail_at(0);
        multigrid_destroy(&mg);
        assert_int_equal(live_blocks(), blocks);
        if (status == FACET_OK) {
            assert_true(k > 20);
            break;
        }
        assert_int_equal(status, FACET_ERROR_MACHINE);
    }
    unmake(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_face_has_its_normal),
        cmocka_unit_test(bodies_take_few_iterations),
        cmocka_unit_test(fluxes_do_not_lock),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    base_set_threads(1); /* much is small */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
