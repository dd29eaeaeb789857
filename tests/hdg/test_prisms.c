/* Prisms and pyramids, whose faces are of two shapes: meshes in which they stand between tets and hexes,
 * matrices and levels where the faces of a cell have different numbers of unknowns, orders, elasticity, and
 * what is refused. That polynomials are exact on prisms in all orientations, straight and curved,
 * test_solids.c and test_elastic.c say. */
#include <lapacke.h>

#include "base/run.h"
#include "elastic_helpers.h"
#include "long.h"
#include "mesh/mesh_internal.h"

/* ------------------------------------------------------------------------------------------ a mixed mesh */

/* Hexes for x < 1, prisms for 1 < x < 2, and above these tets that meet in one point. Between them n x n x n
 * bricks each; inner points are moved. Or bricks of the unit cube, all of them or every other one cut into
 * six pyramids. */
struct mixture {
    int n;
    struct mesh_input input;
    uint8_t *shapes;
    int64_t *vertex_offsets, *node_offsets;
    int32_t *vertices;
    double *nodes, *points;
};

static int32_t point_at(const struct mixture *m, int i, int j, int k) {
    return (int32_t)((k * (m->n + 1) + j) * (2 * m->n + 1) + i);
}

static void add_cell(struct mixture *m, enum shape shape, const int32_t *corners) {
    int n = shape_n_vertices(shape);
    int64_t cell = m->input.n_cells++, first = m->vertex_offsets[cell];
    m->shapes[cell] = (uint8_t)shape;
    m->vertex_offsets[cell + 1] = m->node_offsets[cell + 1] = first + n;
    for (int v = 0; v < n; v++) {
        m->vertices[first + v] = corners[v];
        memcpy(m->nodes + 3 * (first + shape_vertex_node(shape, 1, v)), m->points + 3 * corners[v],
               3 * sizeof(double));
    }
}

static void add_brick(struct mixture *m, int i, int j, int k) {
    int32_t p[8];
    for (int c = 0; c < 8; c++) p[c] = point_at(m, i + (c & 1), j + (c >> 1 & 1), k + (c >> 2));
    const int32_t hex[8] = {p[0], p[1], p[3], p[2], p[4], p[5], p[7], p[6]};
    const int32_t prisms[2][6] = {{p[0], p[1], p[3], p[4], p[5], p[7]}, {p[0], p[3], p[2], p[4], p[7], p[6]}};
    int32_t apex = (int32_t)m->input.n_vertices - 1;
    if (i < m->n) {
        add_cell(m, SHAPE_HEX, hex);
        return;
    }
    for (int h = 0; h < 2; h++) {
        const int32_t tet[4] = {prisms[h][3], prisms[h][4], prisms[h][5], apex};
        add_cell(m, SHAPE_PRISM, prisms[h]);
        if (k == m->n - 1) add_cell(m, SHAPE_TET, tet);
    }
}

static struct mixture mixture_begin(int n, size_t most, size_t n_points) {
    struct mixture m = {.n = n};
    m.shapes = calloc(most, sizeof *m.shapes);
    m.vertex_offsets = calloc(most + 1, sizeof *m.vertex_offsets);
    m.node_offsets = calloc(most + 1, sizeof *m.node_offsets);
    m.vertices = calloc(8 * most, sizeof *m.vertices);
    m.nodes = calloc(24 * most, sizeof *m.nodes);
    m.points = calloc(3 * n_points, sizeof *m.points);
    m.input = (struct mesh_input){.dim = 3, .order = 1, .n_vertices = (int64_t)n_points};
    return m;
}

static struct facet_mesh *mixture_end(struct mixture *m) {
    struct facet_mesh *mesh;
    m->input.shapes = m->shapes;
    m->input.vertex_offsets = m->vertex_offsets;
    m->input.vertices = m->vertices;
    m->input.node_offsets = m->node_offsets;
    m->input.nodes = m->nodes;
    ok(mesh_create(&m->input, &mesh));
    free(m->shapes);
    free(m->vertex_offsets);
    free(m->node_offsets);
    free(m->vertices);
    free(m->nodes);
    free(m->points);
    return mesh;
}

static struct facet_mesh *mixed(int n, double moved) {
    size_t n_points = (size_t)((2 * n + 1) * (n + 1) * (n + 1) + 1);
    struct mixture m = mixture_begin(n, 5 * (size_t)(n * n * n), n_points);
    uint32_t seed = 5;
    for (int k = 0; k <= n; k++)
        for (int j = 0; j <= n; j++)
            for (int i = 0; i <= 2 * n; i++) {
                double *x = m.points + 3 * point_at(&m, i, j, k);
                int inside = i > 0 && i < 2 * n && j > 0 && j < n && k > 0 && k < n;
                x[0] = (double)i / n, x[1] = (double)j / n, x[2] = (double)k / n;
                for (int a = 0; a < 3; a++) x[a] += inside ? moved / n * random_signed(&seed) : 0.0;
            }
    memcpy(m.points + 3 * (n_points - 1), (const double[3]){1.4, 0.6, 1.8}, 3 * sizeof(double));
    for (int b = 0; b < 2 * n * n * n; b++) add_brick(&m, b % (2 * n), b / (2 * n) % n, b / (2 * n * n));
    return mixture_end(&m);
}

/* every: 1, or 2 so that hexes are left between. */
static struct facet_mesh *pyramids(int n, int every) {
    const int side = n + 1, n_corners = side * side * side, n_bricks = n * n * n;
    struct mixture m = mixture_begin(n, 6 * (size_t)n_bricks, (size_t)(n_corners + n_bricks));
    for (int p = 0; p < n_corners; p++)
        for (int a = 0, rest = p; a < 3; a++, rest /= side) m.points[3 * p + a] = (double)(rest % side) / n;
    for (int b = 0; b < n_bricks; b++) {
        int index[3] = {b % n, b / n % n, b / n / n};
        int32_t corner[8], hex[8] = {0}, middle = (int32_t)(n_corners + b);
        for (int a = 0; a < 3; a++) m.points[3 * middle + a] = (index[a] + 0.5) / n;
        for (int c = 0; c < 8; c++)
            corner[c] = (int32_t)(((index[2] + (c >> 2)) * side + index[1] + (c >> 1 & 1)) * side + index[0] +
                                  (c & 1));
        static const int order[8] = {0, 1, 3, 2, 4, 5, 7, 6};
        for (int v = 0; v < 8; v++) hex[v] = corner[order[v]];
        if ((index[0] + index[1] + index[2]) % every != 0) add_cell(&m, SHAPE_HEX, hex);
        for (int f = 0; f < 6 && (index[0] + index[1] + index[2]) % every == 0; f++) {
            int32_t cell[5] = {[4] = middle}; /* the base seen from inside */
            for (int v = 0; v < 4; v++) cell[v] = hex[shape_face_vertices(SHAPE_HEX, f)[3 - v]];
            add_cell(&m, SHAPE_PYRAMID, cell);
        }
    }
    return mixture_end(&m);
}

static void tets_prisms_and_hexes_conform(void **state) {
    (void)state;
    for (int n = 1; n <= 3; n++) {
        struct facet_mesh *mesh = mixed(n, 0.2), *fine;
        struct mesh_quality quality;
        assert_string_equal(mesh->shape_text, "tet+hex+prism");
        assert_int_equal(mesh->n_cells, 3 * n * n * n + 2 * n * n);
        ok(mesh_measure_quality(mesh, &quality));
        near(quality.volume, 2 + 0.8 / 3, 1e-13);
        ok(mesh_refine(mesh, &fine));
        assert_int_equal(fine->n_cells, 8 * mesh->n_cells);
        assert_int_equal(fine->n_boundary_faces, 4 * mesh->n_boundary_faces);
        ok(mesh_measure_quality(fine, &quality));
        near(quality.volume, 2 + 0.8 / 3, 1e-13);
        struct mesh_overlap overlap;
        ok(mesh_find_overlap(fine, 1, &overlap));
        assert_false(overlap.found);
        mesh_destroy(&fine);
        mesh_destroy(&mesh);
    }
}

/* Every solver finds the same polynomial, and every cell is balanced. */
static void mixed_meshes_solve_polynomials(void **state) {
    (void)state;
    static const char *const texts[4] = {NULL, "1+2*x-y+3*z", "x^2-y*z+x*y-2*z^2", "x^3-3*x*y*z+z^3+y^2"};
    static const char *const preconditioners[4] = {NULL, "pmg", "amg", "block"};
    struct facet_mesh *mesh = mixed(2, 0.2);
    for (int degree = 1; degree <= 3; degree++)
        for (int way = 0; way < 4; way++) {
            struct setup setup = {.mesh = mesh,
                                  .degree = degree,
                                  .exact = texts[degree],
                                  .n_K = way % 2 ? 9 : 1,
                                  .K = {"2", "0.5", "-0.3", "0.5", "1", "0.2", "-0.3", "0.2", "1.5"},
                                  .reaction = way == 2 ? "1+x" : NULL,
                                  .method = way == 0 ? "direct" : "cg",
                                  .preconditioner = preconditioners[way],
                                  .rtol = 1e-13};
            struct solved s;
            solve(&setup, &s);
            assert_true(s.errors.u_Linf < 1e-10 && s.errors.q_L2 < 1e-9 && s.errors.trace_L2 < 1e-9);
            assert_true(s.errors.u_star_L2 < 1e-10);
            assert_true(s.report.conservation <= 1e-10);
            release(&s);
        }
    mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------------ the matrix */

static void the_matrix_is_symmetric_and_definite(void **state) {
    (void)state;
    struct facet_mesh *mesh = mixed(1, 0.0);
    struct setup setup = {.mesh = mesh, .degree = 2, .exact = "x*y+z", .n_K = 1, .K = {"1+0.3*x*y"}};
    struct solved s;
    struct csr csr;
    solve(&setup, &s);
    ok(trace_assemble(&mapped_of(s.solver)->hdg->trace, &mapped_of(s.solver)->hdg->matrices, &csr));
    int n = (int)csr.n;
    double *A = test_calloc((size_t)(n * n), sizeof *A), *values = test_calloc((size_t)n, sizeof *values);
    for (int i = 0; i < n; i++)
        for (int64_t k = csr.offsets[i]; k < csr.offsets[i + 1]; k++)
            A[i * n + csr.columns[k]] = csr.values[k];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) near(A[i * n + j], A[j * n + i], 1e-13);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', n, A, n, values), 0);
    assert_true(values[0] > 1e-6 * values[n - 1]);
    test_free(A);
    test_free(values);
    csr_destroy(&csr);
    release(&s);
    mesh_destroy(&mesh);
}

/* Products without a matrix, in double and single precision, are those of the assembled matrix. */
static void products_agree(void **state) {
    (void)state;
    struct facet_mesh *mesh = mixed(2, 0.2);
    struct setup setup = {.mesh = mesh, .degree = 3, .exact = "x*y+z"};
    struct solved s;
    solve(&setup, &s);
    const struct hdg *h = mapped_of(s.solver)->hdg;
    int64_t n = h->trace.n_free;
    struct linear_operator A[3] = {{0}};
    struct csr csr;
    double *x = test_calloc((size_t)n, sizeof *x), *y[3];
    uint32_t seed = 9;
    ok(trace_assemble(&h->trace, &h->matrices, &csr));
    ok(trace_operator_create(&h->trace, &h->matrices, &A[0]));
    ok(operator_create_csr(h->device, &csr, &A[1]));
    ok(operator_create_single(&A[0], &A[2]));
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
    for (int form = 0; form < 3; form++) {
        struct vector in, out;
        y[form] = test_calloc((size_t)n, sizeof *y[form]);
        ok(vector_create_in(h->device, form == 2 ? F32 : F64, n, &in));
        ok(vector_create_in(h->device, form == 2 ? F32 : F64, n, &out));
        ok(vector_upload(&in, x));
        operator_apply(&A[form], &in, &out);
        ok(vector_download(&out, y[form]));
        vector_destroy(&in);
        vector_destroy(&out);
        operator_destroy(&A[form]);
    }
    double most = 0.0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(y[1][i]));
    for (int64_t i = 0; i < n; i++) near(y[0][i], y[1][i], 1e-13 * most);
    for (int64_t i = 0; i < n; i++) near(y[2][i], y[1][i], 1e-5 * most);
    for (int form = 0; form < 3; form++) test_free(y[form]);
    test_free(x);
    csr_destroy(&csr);
    release(&s);
    mesh_destroy(&mesh);
}

/* p-multigrid, whose levels pick the lower degrees out of faces of two sizes, needs a few iterations,
 * whatever the mesh. */
static void multigrid_does_not_feel_the_mesh(void **state) {
    (void)state;
    for (int degree = 1; degree <= 3; degree++)
        for (int n = 3; n <= (degree == 3 ? 3 : 6); n *= 2) {
            struct facet_mesh *mesh = unit_box("prism", NULL, n);
            struct setup setup = {.mesh = mesh,
                                  .degree = degree,
                                  .exact = "sin(3*x)*cos(2*y)*exp(z)",
                                  .method = "cg",
                                  .preconditioner = "pmg",
                                  .rtol = 1e-10};
            struct solved s;
            solve(&setup, &s);
            if (s.report.iterations > 16)
                fail_msg("degree %d, %d^3: %d iterations", degree, n, s.report.iterations);
            release(&s);
            mesh_destroy(&mesh);
        }
}

/* ------------------------------------------------------------------------------------------ pyramids */

static void pyramids_are_refined_into_pyramids_and_tets(void **state) {
    (void)state;
    for (int order = 1; order <= 3; order++) {
        struct facet_mesh *mesh = remake(pyramids(2, 2), order, map_wavy, 3), *fine;
        struct mesh_quality before, after;
        struct mesh_locator *locator;
        assert_string_equal(mesh->shape_text, "hex+pyramid");
        ok(mesh_measure_quality(mesh, &before));
        ok(mesh_refine(mesh, &fine));
        assert_int_equal(fine->n_cells, 4 * 8 + 24 * 10);
        assert_int_equal(fine->n_boundary_faces, 4 * mesh->n_boundary_faces);
        ok(mesh_measure_quality(fine, &after));
        assert_true(after.smallest_jacobian > 0);
        near(after.volume, before.volume,
             order == 1 ? 1e-13 : 2e-3); /* maps of the tets inside are interpolated */
        ok(mesh_locator_create(mesh, &locator));
        for (int32_t c = 0; c < mesh->n_cells; c++) { /* a point of every cell is found in it */
            const struct mesh_block *block = mesh_block_of(mesh, c);
            double xi[3] = {0.3, 0.2, 0.4}, x[3], J[9], found[3];
            int32_t cell;
            ok(mesh_point_map(block->shape, order, 3, mesh_cell_nodes(mesh, c), xi, x, J));
            ok(mesh_locate(locator, x, &cell, found));
            assert_int_equal(cell, c);
            for (int a = 0; a < 3; a++) near(found[a], xi[a], 1e-11);
        }
        mesh_locator_destroy(&locator);
        mesh_destroy(&fine);
        mesh_destroy(&mesh);
    }
}

static void check_polynomial(struct facet_mesh *mesh, int degree, int power, int variant) {
    char exact[160];
    struct setup setup = {.mesh = mesh,
                          .degree = degree,
                          .exact = exact,
                          .n_K = variant % 2 ? 9 : 1,
                          .K = {"2", "0.5", "-0.3", "0.5", "1", "0.2", "-0.3", "0.2", "1.5"},
                          .reaction = variant / 2 ? "3" : NULL,
                          .tau = variant == 3 ? "1+x^2+y^2" : "2"};
    struct solved s;
    snprintf(exact, sizeof exact, "(0.3+0.8*x-0.7*y+0.5*z)^%d + 0.5*(x+0.6*y-0.4*z)^%d - 2*y", power, power);
    solve(&setup, &s);
    double worst = fmax(fmax(s.errors.u_Linf, s.errors.q_L2), fmax(s.errors.u_star_L2, s.errors.q_star_L2));
    if (!(fmax(worst, s.errors.trace_L2) < 2e-11) || !(s.report.conservation <= 1e-11))
        fail_msg("%s, order %d, degree %d, variant %d: %.2e, trace %.2e, balance %.2e", mesh->shape_text,
                 mesh->order, degree, variant, worst, s.errors.trace_L2, s.report.conservation);
    release(&s);
}

/* All polynomials of degree k are in the space of degree k of a straight pyramid, also if its base is no
 * parallelogram; on those of order g the degree m g contains the degree m. */
static void polynomials_are_exact_on_pyramids(void **state) {
    (void)state;
    for (int degree = 1; degree <= 4; degree++)
        for (int variant = 0; variant < 4; variant++) {
            struct facet_mesh *straight = remake(pyramids(1, 1), 1, map_same, 3),
                              *moved = remake(pyramids(2, 2), 1, map_shaken, 7);
            check_polynomial(straight, degree, degree, variant);
            if (degree < 4) check_polynomial(moved, degree, degree, variant);
            mesh_destroy(&straight);
            mesh_destroy(&moved);
        }
    for (int order = 2; order <= 3; order++)
        for (int power = 1; power * order <= 4; power++) {
            struct facet_mesh *mesh = remake(pyramids(1, 1), order, map_wavy, 5);
            check_polynomial(mesh, power * order, power, 1);
            mesh_destroy(&mesh);
        }
}

/* Hexes, pyramids and tets from Gmsh. */
static void transitions_are_solved(void **state) {
    (void)state;
    for (int order = 1; order <= 2; order++) {
        struct facet_mesh *mesh;
        ok(mesh_read_gmsh(order == 1 ? "tests/meshes/pyramids_1.msh" : "tests/meshes/pyramids_2.msh", &mesh));
        assert_string_equal(mesh->shape_text, "tet+hex+pyramid");
        struct setup setup = {
            .mesh = mesh, .degree = 2, .exact = "x^2-y*z+x*y-2*z^2", .method = "cg", .preconditioner = "pmg"};
        struct solved s;
        ok(facet_mesh_refine(mesh, 1));
        solve(&setup, &s);
        assert_true(s.errors.u_Linf < 1e-9 && s.errors.q_L2 < 1e-8); /* nodes of Gmsh are rounded */
        assert_true(s.report.iterations < 20);
        release(&s);
        mesh_destroy(&mesh);
    }
}

static void elasticity_on_pyramids(void **state) {
    (void)state;
    for (int degree = 1; degree <= 2; degree++)
        for (int gradient = 0; gradient < 2; gradient++)
            for (int moved = 0; moved < 2; moved++) {
                static const char *const u[3][3] = {{"1+2*x-y", "x+z", "y-2*x+0.5*z"},
                                                    {"x^2-y*z", "x*y+z^2", "y^2-2*x*z+x"},
                                                    {"x^3-y*z", "x*y*z+z^2", "y^3-2*x*z+x*y*y"}};
                const char *const *text = u[moved ? 0 : gradient ? degree - 1 : degree];
                struct facet_mesh *mesh = remake(pyramids(moved + 1, 2), 1, moved ? map_shaken : map_same, 3);
                struct body b = {.mesh = mesh,
                                 .degree = degree,
                                 .gradient = gradient,
                                 .lambda = "3",
                                 .exact = {text[0], text[1], text[2]}};
                struct answer a;
                body_solve(&b, &a);
                near(a.errors.u_L2, 0, 1e-11);
                near(a.errors.stress_L2, 0, 1e-10);
                assert_true(a.conservation < 1e-11);
                answer_free(&a);
                mesh_destroy(&mesh);
            }
}

/* ------------------------------------------------------------------------------------------ orders */

/* u and q of order p + 1, u* of order p + 2 with the tau of order 10 that hexes want too. In the default run
 * curved cells, whose maps take most of the time, are those of degree 1. */
static void check_orders(int is_pyramid) {
    for (int degree = 1; degree <= 3; degree++)
        for (int curved = 0; curved < 2; curved++) {
            if (degree > 1 && curved && !is_long_run()) continue;
            facet_errors e[2];
            for (int level = 0; level < 2; level++) {
                int n = (is_pyramid ? (degree < 3 ? 3 : 2) : degree < 3 ? 4 : 2) << level;
                struct facet_mesh *mesh = remake(is_pyramid ? pyramids(n, 1) : unit_box("prism", NULL, n),
                                                 curved ? degree + 1 : 1, map_wavy, 3);
                struct setup setup = {
                    .mesh = mesh, .degree = degree, .exact = "sin(x+2*y)*exp(z)", .tau = "10"};
                struct solved s;
                solve(&setup, &s);
                e[level] = s.errors;
                release(&s);
                mesh_destroy(&mesh);
            }
            double u = log2(e[0].u_L2 / e[1].u_L2), q = log2(e[0].q_L2 / e[1].q_L2),
                   star = log2(e[0].u_star_L2 / e[1].u_star_L2);
            if (!(u > degree + 0.8 && q > degree + 0.6 && star > degree + 1.6))
                fail_msg("degree %d, curved %d: u %.2f q %.2f u* %.2f", degree, curved, u, q, star);
        }
}

static void orders_on_prisms(void **state) {
    (void)state;
    check_orders(0);
}

static void orders_on_pyramids(void **state) {
    (void)state;
    check_orders(1);
}

/* ------------------------------------------------------------------------------------------ elasticity */

/* On tets, prisms and hexes together: u of degree k + 1 (symmetric) and k (gradient). */
static void mixed_meshes_solve_elasticity(void **state) {
    (void)state;
    struct facet_mesh *mesh = mixed(2, 0.0);
    for (int degree = 1; degree <= 2; degree++)
        for (int gradient = 0; gradient < 2; gradient++) {
            static const char *const u[3][3] = {{"1+2*x-y", "x+z", "y-2*x+0.5*z"},
                                                {"x^2-y*z", "x*y+z^2", "y^2-2*x*z+x"},
                                                {"x^3-y*z", "x*y*z+z^2", "y^3-2*x*z+x*y*y"}};
            const char *const *text = u[gradient ? degree - 1 : degree];
            struct body b = {.mesh = mesh,
                             .degree = degree,
                             .gradient = gradient,
                             .lambda = "3",
                             .exact = {text[0], text[1], text[2]}};
            struct answer a;
            body_solve(&b, &a);
            near(a.errors.u_L2, 0, 1e-11);
            near(a.errors.stress_L2, 0, 1e-10);
            assert_true(a.conservation < 1e-11);
            answer_free(&a);
        }
    mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------------ values */

/* Means and fluxes over faces of both shapes. */
static void parts_of_both_shapes_are_measured(void **state) {
    (void)state;
    struct facet_mesh *mesh = remake(unit_box("prism", NULL, 2), 2, map_pipe, 3);
    struct setup setup = {.mesh = mesh, .degree = 2, .exact = "1+2*x-3*y+z"};
    struct solved s;
    struct mesh_quality quality;
    double value, sum = 0.0;
    int n;
    ok(mesh_measure_quality(mesh, &quality));
    solve(&setup, &s);
    ok(sample_take(s.solver, "flux", -1, SAMPLE_INTEGRAL, "zmax", &value, &n));
    near(value, -quality.volume, 1e-11);
    for (int g = 0; g < mesh->n_groups; g++) {
        ok(sample_take(s.solver, "flux", -1, SAMPLE_INTEGRAL, mesh->groups[g].name, &value, &n));
        sum += value;
    }
    near(sum, 0.0, 1e-11);
    ok(sample_take(s.solver, "u", -1, SAMPLE_MAX, "zmin", &value, &n));
    near(value, 5.0, 1e-6); /* at (2, 0, 0) */
    release(&s);
    mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------------ refusals */

static void what_prisms_have_not_is_refused(void **state) {
    (void)state;
    struct facet_mesh *mesh = unit_box("prism", NULL, 2);
    struct setup setup = {.mesh = mesh, .degree = 2, .exact = "x", .discretization = "condensed"};
    struct solved s;
    refused(try_solve(&setup, &s), FACET_ERROR_INPUT, "has no cells of shape prism; use the method hdg");
    setup.discretization = NULL;
    setup.method = "cg";
    setup.preconditioner = "gmg";
    solve(&setup, &s);
    assert_non_null(strstr(s.solver->notes[SOLVER_NOTE_PMG], "knows no prisms"));
    release(&s);
    mesh_destroy(&mesh);
    facet_box box = {.size = sizeof box, .dim = 3, .upper = {1, 1, 1}, .cells = {1, 1, 1}, .shape = "prism"};
    box.split = "six";
    refused(mesh_create_box(&box, &mesh), FACET_ERROR_INPUT, "unknown split 'six' of a box of shape prism");
    box.shape = "wedge";
    refused(mesh_create_box(&box, &mesh), FACET_ERROR_INPUT, "known are: tet, hex, prism");
    box.dim = 2;
    box.shape = "prism";
    refused(mesh_create_box(&box, &mesh), FACET_ERROR_INPUT, "known are: triangle, quad");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tets_prisms_and_hexes_conform),
        cmocka_unit_test(mixed_meshes_solve_polynomials),
        cmocka_unit_test(the_matrix_is_symmetric_and_definite),
        cmocka_unit_test(products_agree),
        cmocka_unit_test(multigrid_does_not_feel_the_mesh),
        cmocka_unit_test(pyramids_are_refined_into_pyramids_and_tets),
        cmocka_unit_test(polynomials_are_exact_on_pyramids),
        cmocka_unit_test(transitions_are_solved),
        cmocka_unit_test(elasticity_on_pyramids),
        cmocka_unit_test(orders_on_prisms),
        cmocka_unit_test(orders_on_pyramids),
        cmocka_unit_test(mixed_meshes_solve_elasticity),
        cmocka_unit_test(parts_of_both_shapes_are_measured),
        cmocka_unit_test(what_prisms_have_not_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
