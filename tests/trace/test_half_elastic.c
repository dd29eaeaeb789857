/* Element matrices of displacements in 16 bits: rigid motions restored, the size of the rounding, what stays
 * in single precision, iterations of solves, and allocation faults. */
#include "elastic_helpers.h"
#include "half_helpers.h"
#include "poly/basis.h"
#include "trace/pmg_parts.h"

/* Bent, so that no two cells are alike; quads and hexes stay multilinear. */
static void bend(const double *x, double *y) {
    y[0] = x[0] + 0.05 * sin(6.1 * x[1] + 1.0);
    y[1] = 1.3 * x[1] + 0.05 * sin(5.3 * x[0] + 2.0 * x[2]);
    y[2] = 0.8 * x[2] + 0.05 * sin(4.7 * x[0] - 3.0 * x[1]);
}

struct example {
    struct body body;
    struct answer answer;
    struct trace_space space; /* nothing is eliminated */
    struct linear_operator A, S;
};

/* The body is there. */
static void condense(struct example *e) {
    ok(body_describe(&e->body, &e->answer));
    ok(hdg_create(e->answer.device, &e->answer.data, e->body.degree, NULL, NULL, &e->answer.hdg));
    ok(hdg_condense(e->answer.hdg));
    uint8_t *none = test_calloc((size_t)e->body.mesh->n_faces, 1);
    ok(trace_space_create(e->body.mesh, e->body.degree, e->body.mesh->dim, none, &e->space));
    test_free(none);
    ok(trace_operator_create(&e->space, &e->answer.hdg->matrices, &e->A));
    ok(trace_operator_halve(&e->space, &e->answer.hdg->matrices, &e->A, &e->S));
}

static void make(const char *device, int k, int order, int degree, int gradient, const char *lambda,
                 struct example *e) {
    *e = (struct example){.body = {.mesh = remake(unit_box(shapes[k], NULL, 2), order, bend, 11u),
                                   .degree = degree,
                                   .gradient = gradient,
                                   .lambda = lambda,
                                   .exact = {"x*y", "y", "x"},
                                   .device = device}};
    condense(e);
}

static void unmake(struct example *e) {
    operator_destroy(&e->A);
    operator_destroy(&e->S);
    trace_space_destroy(&e->space);
    answer_free(&e->answer);
    mesh_destroy(&e->body.mesh);
}

/* A motion as a trace: of component `to` what `from` says: 1 (from < 0), or a coordinate times `sign`. */
static void add_motion(const struct example *e, int to, int from, double sign, double *x) {
    const struct facet_mesh *mesh = e->body.mesh;
    const int dim = mesh->dim;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t vertices[SHAPE_MAX_FACE_VERTICES], cell = mesh->face_cells[2 * (int64_t)f];
        int locals[SHAPE_MAX_FACE_VERTICES], n = mesh_side_vertices(mesh, f, 0, vertices, locals);
        const struct mesh_block *b = mesh_block_of(mesh, cell);
        int64_t size = (e->space.face_first[f + 1] - e->space.face_first[f]) / dim;
        double *hats;
        ok(trace_hats((enum shape)mesh->face_shapes[f], &hats));
        for (int i = 0; i < basis_size((enum shape)mesh->face_shapes[f], 1); i++)
            for (int v = 0; v < n; v++) {
                const double *node = b->nodes + ((cell - b->first) * (int64_t)b->n_nodes +
                                                 shape_vertex_node(b->shape, mesh->order, locals[v])) *
                                                    dim;
                x[e->space.face_first[f] + to * size + i] +=
                    sign * hats[i * n + v] * (from < 0 ? 1.0 : node[from]);
            }
        base_free(&hats);
    }
}

/* |S x - A x| in units of the roots of the diagonal, at most. */
static double rounding_of(const struct example *e, const double *x, const double *diagonal, double *y,
                          double *z) {
    double most = 0.0, size = 0.0;
    for (int64_t i = 0; i < e->A.n; i++) size = fmax(size, fabs(x[i]) * diagonal[i]);
    apply(&e->A, x, y);
    apply(&e->S, x, z);
    for (int64_t i = 0; i < e->A.n; i++) most = fmax(most, fabs(y[i] - z[i]) / diagonal[i]);
    return most / size;
}

/* All faces free: no rigid motion is seen, as floats have it, and |S - A| is the rounding of 16 bits. The
 * gradient formulation sees rotations. */
static void check_products(const char *device, int k, int degree, int gradient) {
    struct example e;
    make(device, k, 1, degree, gradient, NULL, &e);
    assert_non_null(e.S.apply);
    const int dim = e.body.mesh->dim;
    int64_t n = e.A.n, rows = trace_cell_size(&e.space, 0);
    double *x = test_calloc((size_t)(4 * n), sizeof *x), *y = x + n, *z = y + n, *diagonal = z + n;
    double most = 0.0, bytes = trace_operator_bytes(&e.S) / trace_operator_bytes(&e.A);
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1.0;
        apply(&e.A, x, y);
        diagonal[i] = sqrt(y[i]);
        x[i] = 0.0;
    }
    for (int64_t j = 0; j < n; j += 1 + n / 300) {
        x[j] = 1.0;
        most = fmax(most, rounding_of(&e, x, diagonal, y, z));
        x[j] = 0.0;
    }
    if (!(most > 2e-5 && most < 2e-3)) fail_msg("%s, degree %d: rounding is %g", shapes[k], degree, most);
    for (int motion = 0; motion < (gradient ? dim : dim * (dim + 1) / 2); motion++) {
        memset(x, 0, (size_t)n * sizeof *x);
        if (motion < dim) {
            add_motion(&e, motion, -1, 1.0, x);
        } else {
            int from = dim == 2 ? 0 : (motion + 1) % 3, to = dim == 2 ? 1 : (motion + 2) % 3;
            add_motion(&e, to, from, 1.0, x);
            add_motion(&e, from, to, -1.0, x);
        }
        double off = rounding_of(&e, x, diagonal, y, z);
        if (!(off < 2e-6)) fail_msg("%s, degree %d: motion %d is off by %g", shapes[k], degree, motion, off);
    }
    double entries =
        (double)(rows * (rows + 1)) / 2.0; /* beside them scales, coordinates and a small matrix */
    near(bytes,
         0.25 + (double)(rows + 2 * (rows * basis_size(e.space.records[0].shape, 1) /
                                         basis_size(e.space.records[0].shape, degree) +
                                     (dim == 2 ? 6 : 21))) /
                    (4.0 * entries),
         1e-12);
    test_free(x);
    unmake(&e);
}

static void products_restore_motions(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "ref", "debug"};
    int64_t before = live_blocks();
    for (int d = half_pays() ? 0 : 1; d < 3; d++)
        for (int k = 0; k < 4; k++) {
            if (d > 0 && k == 3) continue;
            static const int degrees[2][4] = {{5, 3, 2, 2}, {3, 3, 1}}; /* enough rows for vector units */
            check_products(devices[d], k, degrees[d > 0][k], 0);
            if (k % 2 == 0) check_products(devices[d], k, degrees[d > 0][k], 1);
        }
    assert_int_equal(live_blocks(), before);
}

/* A body on rollers: cells there see motions, and are in single precision with those of their batches; all
 * others see none. */
static void rollers_hold_few_cells(void **state) {
    (void)state;
    if (!half_pays()) skip();
    int64_t before = live_blocks();
    struct example e = {.body = {.mesh = unit_box("tet", NULL, 4),
                                 .degree = 2,
                                 .device = "cpu",
                                 .exact = {"x*y", "y", "x"},
                                 .conditions = {{"xmin", "x"}}}};
    condense(&e);
    assert_non_null(e.S.apply);
    int64_t n = e.A.n, n_held = 0;
    double *x = test_calloc((size_t)(3 * n), sizeof *x), *y = x + n, *z = y + n, largest = 0.0;
    for (int64_t j = 0; j < n; j += 97) {
        x[j] = 1.0;
        apply(&e.A, x, y);
        for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(y[i]));
        x[j] = 0.0;
    }
    for (int motion = 0; motion < 2; motion++) {
        memset(x, 0, (size_t)n * sizeof *x);
        add_motion(&e, motion, motion == 0 ? -1 : 0, 1.0, x); /* along x, and a rotation about z */
        if (motion == 1) add_motion(&e, 0, 1, -1.0, x);
        apply(&e.A, x, y);
        apply(&e.S, x, z);
        double off = 0.0, seen = 0.0;
        for (int64_t i = 0; i < n; i++) {
            off = fmax(off, fabs(y[i] - z[i]) / largest);
            seen = fmax(seen, fabs(y[i]) / largest);
        }
        assert_true(seen > 0.01 && off < 2e-6);
    }
    const uint8_t *loose = e.answer.hdg->matrices.loose[0];
    for (int32_t c = 0; c < e.body.mesh->n_cells; c++) n_held += loose[c] != 15;
    assert_true(n_held >= 32 && n_held < 100);
    assert_true(trace_operator_bytes(&e.S) < 0.44 * trace_operator_bytes(&e.A));
    test_free(x);
    unmake(&e);
    assert_int_equal(live_blocks(), before);
}

/* The energy of a face that slides along one of its edges: no flux, so that it does not know lambda. */
static double sliding_energy(const struct example *e, const struct linear_operator *A, int32_t f, double *x,
                             double *y) {
    const struct facet_mesh *mesh = e->body.mesh;
    int32_t vertices[SHAPE_MAX_FACE_VERTICES], cell = mesh->face_cells[2 * (int64_t)f];
    int locals[SHAPE_MAX_FACE_VERTICES];
    const struct mesh_block *b = mesh_block_of(mesh, cell);
    int64_t first = e->space.face_first[f], size = (e->space.face_first[f + 1] - first) / mesh->dim;
    double energy = 0.0;
    mesh_side_vertices(mesh, f, 0, vertices, locals);
    memset(x, 0, (size_t)A->n * sizeof *x);
    for (int c = 0; c < mesh->dim; c++)
        for (int v = 0; v < 2; v++)
            x[first + c * size] +=
                (v == 0 ? -1.0 : 1.0) * b->nodes[((cell - b->first) * (int64_t)b->n_nodes +
                                                  shape_vertex_node(b->shape, 1, locals[v])) *
                                                     mesh->dim +
                                                 c];
    apply(A, x, y);
    for (int64_t i = 0; i < A->n; i++) energy += x[i] * y[i];
    return energy;
}

/* lambda = 1e6 mu: what does not change the volume of cells keeps its energy, and the flux of cells is that
 * of floats. */
static void the_net_flux_is_apart(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "ref"};
    for (int d = half_pays() ? 0 : 1; d < 2; d++)
        for (int k = 0; k < 3; k += 2)
            for (int gradient = 0; gradient < 2; gradient++) {
                struct example e;
                make(devices[d], k, 1, k == 0 ? 5 : 2, gradient, "1e6", &e);
                assert_non_null(e.S.apply);
                double *x = test_calloc((size_t)(2 * e.A.n), sizeof *x), *y = x + e.A.n;
                for (int32_t f = 0; f < e.body.mesh->n_faces; f += 5) {
                    double exact = sliding_energy(&e, &e.A, f, x, y),
                           half = sliding_energy(&e, &e.S, f, x, y);
                    if (!(fabs(half - exact) < 0.01 * exact))
                        fail_msg("%s, gradient %d, face %d: energy %g, not %g", shapes[k], gradient, (int)f,
                                 half, exact);
                }
                test_free(x);
                unmake(&e);
            }
}

/* Curved cells see the linear part of their rotations. */
static void others_stay_in_single_precision(void **state) {
    (void)state;
    if (!half_pays()) skip();
    struct example e;
    make("ref", 0, 2, 3, 0, NULL, &e);
    assert_null(e.S.apply);
    unmake(&e);
    make("ref", 2, 1, 2, 0, NULL, &e); /* a cell that holds a component */
    uint8_t *loose = e.answer.hdg->matrices.loose[0];
    struct linear_operator S = {0};
    for (int c = 0; c < e.body.mesh->n_cells; c += 2) loose[c] &= (uint8_t)~2;
    ok(trace_operator_halve(&e.space, &e.answer.hdg->matrices, &e.A, &S));
    assert_null(S.apply); /* where so many do, all are in single precision */
    for (int c = 1; c < e.body.mesh->n_cells; c++) loose[c] |= 2;
    for (int k = 1;; k++) { /* allocation faults */
        int64_t before = live_blocks();
        base_memory_fail_at(k);
        facet_status status = trace_operator_halve(&e.space, &e.answer.hdg->matrices, &e.A, &S);
        base_memory_fail_at(0);
        if (status == FACET_OK) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_int_equal(live_blocks(), before);
    }
    assert_non_null(S.apply);
    operator_destroy(&S);
    unmake(&e);
}

/* ------------------------------------------------------------------------------------------ solves */

static int iterations(facet_problem *problem, const char *precision, int degree, double *bytes) {
    facet_options options;
    facet_solver *solver;
    facet_report report = {.size = sizeof report};
    facet_level level = {.size = sizeof level};
    facet_options_default(&options, sizeof options);
    options.degree = degree;
    options.method = "cg";
    options.preconditioner = "pmg";
    options.precision = precision;
    options.rtol = 1e-10;
    ok(facet_solver_create(problem, &options, &solver));
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_solver_report(solver, &report));
    ok(facet_solver_level(solver, 0, &level));
    *bytes = level.bytes;
    facet_solver_destroy(&solver);
    return report.iterations;
}

/* A beam held at one end, three times as long as wide. */
static void beam(const double *x, double *y) {
    bend(x, y);
    y[0] = 3.0 * x[0];
}

static void solves_take_the_iterations_of_double(void **state) {
    (void)state;
    if (!half_pays()) skip();
    static const char *const moduli[2][2] = {{"1", "1"}, {"1", "1e6"}}, *const load[3] = {"0", "1", "x"},
                             *const nothing[3] = {"0", "0", "0"};
    for (int k = 0; k < 4; k++)
        for (int variant = 0; variant < 3; variant++) {
            static const int degrees[4] = {5, 3, 2, 2};
            int degree = degrees[k], slender = variant == 1, stiff = variant == 2;
            facet_context *context;
            facet_problem *problem;
            double bytes[2];
            struct facet_mesh *mesh =
                remake(unit_box(shapes[k], NULL, k < 2 ? 12 : 4), 1, slender ? beam : bend, 7u);
            ok(facet_context_create(NULL, &context));
            ok(facet_problem_create(context, mesh, FACET_ELASTICITY, &problem));
            ok(facet_problem_set_material(problem, NULL, "mu,lambda", moduli[stiff]));
            ok(facet_problem_set_vector_source(problem, mesh->dim, load));
            ok(facet_problem_set_displacement(problem, "xmin", mesh->dim, nothing));
            ok(facet_problem_set_traction(problem, "rest", mesh->dim, nothing));
            int exact = iterations(problem, "double", degree, &bytes[0]);
            int mixed = iterations(problem, "mixed", degree, &bytes[1]);
            /* Of stiff ones rounding decides, and with it the processor: 21 and 28, or 15 and 20. */
            if (abs(exact - mixed) > 2 + (stiff ? exact / 3 : 0))
                fail_msg("%s, slender %d, lambda %s: %d iterations in double, %d in mixed precision",
                         shapes[k], slender, moduli[stiff][1], exact, mixed);
            double rows = shape_n_faces(mesh->blocks[0].shape) * mesh->dim *
                          basis_size(shape_face_shape(mesh->blocks[0].shape, 0), degree),
                   size = rows * (rows + 1) / 2 * mesh->n_cells;
            if (!slender &&
                !(bytes[1] - bytes[0] / 2 < 3.2 * size)) /* 16 bits, with scales, motions and maps */
                fail_msg("%s: %g bytes of %g numbers", shapes[k], bytes[1] - bytes[0] / 2, size);
            facet_problem_destroy(&problem);
            facet_context_destroy(&context);
            mesh_destroy(&mesh);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_restore_motions),
        cmocka_unit_test(rollers_hold_few_cells),
        cmocka_unit_test(the_net_flux_is_apart),
        cmocka_unit_test(others_stay_in_single_precision),
        cmocka_unit_test(solves_take_the_iterations_of_double),
    };
    base_set_threads(1); /* much is small */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
