/* HDG on all shapes, in 3D too: polynomials are solved to rounding on affine simplices and on
 * multilinear quads, hexes and prisms in every orientation, the matrix is symmetric and (semi-)definite,
 * curved cells are conservative and keep their geometry under refinement, periodic boxes close. */
#include <lapacke.h>
#include <stdio.h>

#include "base/run.h"
#include "bench/papers/products.h"
#include "mesh/mesh_internal.h"
#include "solid_helpers.h"

enum { N_SHAPES = 5 };
static const char *const shapes[N_SHAPES] = {"triangle", "quad", "tet", "hex", "prism"};

/* ------------------------------------------------------------------------------------------ exactness */

/* A polynomial in which every monomial of the degree occurs. */
static void polynomial(int dim, int degree, char *text, size_t bytes) {
    snprintf(text, bytes, "(0.3+0.8*x-0.7*y%s)^%d + 0.5*(x+0.6*y%s)^%d - 2*y", dim == 3 ? "+0.5*z" : "",
             degree, dim == 3 ? "-0.4*z" : "", degree);
}

static void check_exact(struct facet_mesh *mesh, int degree, int power, int variant) {
    char exact[160];
    struct setup setup = {
        .mesh = mesh,
        .degree = degree,
        .exact = exact,
        .n_K = variant % 2 ? mesh->dim * mesh->dim : 1,
        .reaction = variant / 2 ? "3" : NULL,
        .tau = variant == 3 ? "1+x^2+y^2" : "2",
        .conditions = {{"xmax", "neumann", "exact", NULL}, {"ymin", "robin", "exact", "2+x^2"}}};
    static const char *const flat[4] = {"2", "0.5", "0.5", "1"};
    static const char *const solid[9] = {"2", "0.5", "-0.3", "0.5", "1", "0.2", "-0.3", "0.2", "1.5"};
    memcpy(setup.K, mesh->dim == 2 ? flat : solid, (size_t)(mesh->dim * mesh->dim) * sizeof *flat);
    struct solved s;
    polynomial(mesh->dim, power, exact, sizeof exact);
    solve(&setup, &s);
    double worst = fmax(fmax(s.errors.u_Linf, s.errors.q_L2), fmax(s.errors.u_star_L2, s.errors.q_star_L2));
    if (!(fmax(worst, s.errors.trace_L2) < 2e-11) || !(s.report.conservation <= 1e-11))
        fail_msg(
            "%s, order %d, degree %d, variant %d: u %.2e q %.2e u* %.2e q* %.2e trace %.2e, balance %.2e",
            mesh->shape_text, mesh->order, degree, variant, s.errors.u_Linf, s.errors.q_L2,
            s.errors.u_star_L2, s.errors.q_star_L2, s.errors.trace_L2, s.report.conservation);
    release(&s);
}

/* x, y, z are in the mapped Q_1 of a multilinear cell, so their products of k factors are in its Q_k: all of
 * P_k is, though Q_k in x, y, z is not. */
static void polynomials_are_exact_on_affine_and_multilinear_cells(void **state) {
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int degree = 1; degree <= (k >= 3 ? 4 : 5); degree++)
            for (int variant = 0; variant < 4; variant++) {
                struct facet_mesh *mesh =
                    remake(unit_box(shapes[k], NULL, 2), 1, map_shaken, 7u + (uint32_t)degree);
                check_exact(mesh, degree, degree, variant);
                mesh_destroy(&mesh);
            }
    for (int degree = 1; degree <= 4; degree++) {
        struct facet_mesh *mesh = remake(unit_box("tet", "five", 2), 1, map_shaken, 3);
        check_exact(mesh, degree, degree, 1);
        mesh_destroy(&mesh);
    }
}

/* On cells of order g the mapped polynomials of degree m g contain those of degree m. */
static void lower_polynomials_are_exact_on_curved_cells(void **state) {
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int order = 2; order <= 3; order++)
            for (int power = 1; power * order <= 4; power++) {
                struct facet_mesh *mesh = remake(unit_box(shapes[k], NULL, 2), order, map_wavy, 5);
                check_exact(mesh, power * order, power, 1);
                mesh_destroy(&mesh);
            }
}

/* ------------------------------------------------------------------------------------------ matrix */

static double *dense_matrix(const struct solved *s, int *n) {
    struct csr csr;
    ok(trace_assemble(&mapped_of(s->solver)->hdg->trace, &mapped_of(s->solver)->hdg->matrices, &csr));
    *n = (int)csr.n;
    double *A = test_calloc((size_t)(*n * *n), sizeof *A);
    for (int i = 0; i < *n; i++)
        for (int64_t k = csr.offsets[i]; k < csr.offsets[i + 1]; k++)
            A[i * *n + csr.columns[k]] = csr.values[k];
    csr_destroy(&csr);
    return A;
}

/* Asymmetry and the two smallest eigenvalues, relative to the largest. */
static void measure_matrix(const struct solved *s, double *asymmetry, double *smallest) {
    int n;
    double *A = dense_matrix(s, &n), *values = test_calloc((size_t)n, sizeof *values);
    *asymmetry = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) *asymmetry = fmax(*asymmetry, fabs(A[i * n + j] - A[j * n + i]));
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', n, A, n, values), 0);
    *asymmetry /= values[n - 1];
    smallest[0] = values[0] / values[n - 1];
    smallest[1] = values[1] / values[n - 1];
    test_free(A);
    test_free(values);
}

static void the_matrix_is_symmetric_and_definite_but_for_constants(void **state) {
    (void)state;
    for (int k = 2; k < N_SHAPES; k++)
        for (int order = 1; order <= 2; order++)
            for (int neumann = 0; neumann < 2; neumann++) {
                struct facet_mesh *mesh =
                    remake(unit_box(shapes[k], NULL, k == 2 ? 1 : 2), order, map_wavy, 11);
                struct setup setup = {
                    .mesh = mesh,
                    .degree = 2,
                    .exact = "x+y*z",
                    .n_K = 1,
                    .K = {"1+0.3*x*y"},
                    .conditions = {{"zmax", "dirichlet", "exact", NULL}, {"rest", "neumann", "exact", NULL}}};
                struct solved s;
                double asymmetry, smallest[2];
                if (neumann) setup.conditions[0] = (struct condition){"rest", "neumann", "exact", NULL};
                if (neumann) setup.conditions[1].part = NULL;
                solve(&setup, &s);
                measure_matrix(&s, &asymmetry, smallest);
                assert_true(asymmetry < 1e-14);
                assert_true(neumann ? fabs(smallest[0]) < 1e-14 : smallest[0] > 1e-6);
                assert_true(smallest[1] > 1e-6);
                assert_int_equal(mapped_of(s.solver)->hdg->singular, neumann);
                release(&s);
                mesh_destroy(&mesh);
            }
}

/* A cell of high degree has hundreds of unknowns on its faces: the product straight from the element matrices
 * is that of the assembled matrix. */
static void products_of_high_degree(void **state) {
    (void)state;
    struct facet_mesh *mesh = unit_box("hex", NULL, 1);
    facet_context *context;
    struct trace_space space;
    struct trace_matrices matrices;
    uint8_t eliminated[6] = {0};
    uint32_t seed = 3;
    ok(facet_context_create("cpu", &context));
    ok(trace_space_create(mesh, 11, 1, eliminated, &space));
    ok(trace_matrices_create(context->device, &space, 0, &matrices));
    int64_t n = space.n_free, size = n * (n + 1) / 2 * matrices.lanes;
    assert_int_equal(n, 6 * 144);
    for (int64_t i = 0; i < size; i++) matrices.values[0][i] = i % matrices.lanes ? 0 : random_signed(&seed);
    double *x = calloc((size_t)n, sizeof *x), *y[2];
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
    for (int form = 0; form < 2; form++) {
        struct linear_operator A;
        struct vector in, out;
        y[form] = calloc((size_t)n, sizeof *y[form]);
        ok(product_create(&space, &matrices, form ? PRODUCT_CSR : PRODUCT_CELLS, &A));
        ok(vector_create(context->device, n, &in));
        ok(vector_create(context->device, n, &out));
        ok(vector_upload(&in, x));
        A.apply(&A, &in, &out);
        ok(vector_download(&out, y[form]));
        vector_destroy(&in);
        vector_destroy(&out);
        operator_destroy(&A);
    }
    for (int64_t i = 0; i < n; i++) near(y[0][i], y[1][i], 1e-12);
    free(x);
    free(y[0]);
    free(y[1]);
    trace_matrices_destroy(&matrices);
    trace_space_destroy(&space);
    facet_context_destroy(&context);
    mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------------ geometry */

/* Refinement does not change the domain: not its volume, not the flux of a field through its sides. */
static void refinement_keeps_curved_geometry(void **state) {
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int order = 1; order <= 4; order++) {
            struct facet_mesh *mesh = remake(unit_box(shapes[k], NULL, 2), order, map_wavy, 13), *fine;
            struct mesh_quality before, after;
            struct mesh_locator *locator;
            int dim = mesh->dim;
            ok(mesh_measure_quality(mesh, &before));
            ok(mesh_refine(mesh, &fine));
            ok(mesh_need_lists(fine));
            ok(mesh_measure_quality(fine, &after));
            near(after.volume, before.volume, 1e-13);
            assert_int_equal(fine->n_cells, mesh->n_cells << dim);
            assert_true(after.smallest_jacobian > 0 && before.smallest_jacobian > 0);
            ok(mesh_locator_create(mesh, &locator));
            for (int32_t c = 0; c < fine->n_cells;
                 c += 3) { /* every fine node is a point of the coarse mesh */
                const struct mesh_block *block = &fine->blocks[0];
                const double *x = block->nodes + ((int64_t)c * block->n_nodes + c % block->n_nodes) * dim;
                double xi[3], y[3], J[9];
                int32_t cell;
                ok(mesh_locate(locator, x, &cell, xi));
                assert_true(cell >= 0);
                ok(mesh_point_map(block->shape, order, dim, mesh_cell_nodes(mesh, cell), xi, y, J));
                for (int a = 0; a < dim; a++) near(y[a], x[a], 1e-12);
            }
            mesh_locator_destroy(&locator);
            mesh_destroy(&fine);
            mesh_destroy(&mesh);
        }
}

/* The volume of a piece of a pipe: an interpolated map of order g has an error of h^(2 ceil((g+1)/2)). */
static void volumes_converge(void **state) {
    (void)state;
    for (int k = 2; k < N_SHAPES; k++)
        for (int order = 1; order <= 4; order++) {
            double errors[2];
            for (int level = 0; level < 2; level++) {
                struct facet_mesh *mesh = remake(unit_box(shapes[k], NULL, 2 << level), order, map_pipe, 17);
                struct mesh_quality quality;
                ok(mesh_measure_quality(mesh, &quality));
                errors[level] = fabs(quality.volume - 3 * 0.78539816339744830962 / 2);
                assert_int_equal(quality.n_curved > 0, order > 1);
                mesh_destroy(&mesh);
            }
            double rate = log2(errors[0] / errors[1]);
            if (!(rate > 2 * ((order + 2) / 2) - 0.2))
                fail_msg("%s, order %d: %.2e, %.2e, rate %.2f", shapes[k], order, errors[0], errors[1], rate);
        }
}

/* A field is found at points inside curved cells, and its integrals over them and their sides are right. */
static void values_are_found_in_curved_cells(void **state) {
    (void)state;
    for (int k = 2; k < N_SHAPES; k++) {
        struct facet_mesh *mesh = remake(unit_box(shapes[k], NULL, 2), 2, map_pipe, 19);
        struct setup setup = {.mesh = mesh, .degree = 2, .exact = "1+2*x-3*y+z"};
        struct solved s;
        double u, q[3], flux = 0, one;
        int n;
        uint32_t seed = 5;
        solve(&setup, &s);
        for (int i = 0; i < 200; i++) {
            double at[3], x[3];
            for (int a = 0; a < 3; a++) at[a] = 0.5 + 0.49 * random_signed(&seed);
            map_pipe(at, x);
            ok(facet_solver_evaluate(s.solver, "u", 1, x, &u));
            near(u, 1 + 2 * x[0] - 3 * x[1] + x[2], 1e-11);
            ok(facet_solver_evaluate(s.solver, "q_star", 1, x, q));
            near(q[0], -2, 1e-10);
            near(q[1], 3, 1e-10);
            near(q[2], -1, 1e-10);
        }
        ok(sample_take(s.solver, "flux", -1, SAMPLE_INTEGRAL, "zmax", &one, &n));
        struct mesh_quality quality;
        ok(mesh_measure_quality(mesh, &quality));
        near(one, -quality.volume, 1e-11); /* the pipe is one long: its section times q_z */
        for (int g = 0; g < mesh->n_groups; g++) {
            ok(sample_take(s.solver, "flux", -1, SAMPLE_INTEGRAL, mesh->groups[g].name, &one, &n));
            flux += one;
        }
        near(flux, 0, 1e-11);
        release(&s);
        mesh_destroy(&mesh);
    }
}

/* ------------------------------------------------------------------------------------------ periodic */

/* A periodic solution is found as well as with Dirichlet data on the sides that are joined, on refined meshes
 * too. */
static void periodic_boxes_close(void **state) {
    (void)state;
    static const char *const splits[4] = {"six", "five", NULL, NULL};
    for (int k = 0; k < 4; k++)
        for (int which = 1; which < 8; which = which == 4 ? 7 : 2 * which) {
            char exact[128];
            double errors[2];
            snprintf(exact, sizeof exact, "%s+%s+%s", which & 1 ? "cos(2*pi*x)" : "x",
                     which & 2 ? "sin(2*pi*y)" : "y^2", which & 4 ? "cos(2*pi*z)" : "z^3");
            for (int open = 0; open < 2; open++) {
                facet_box box = {.size = sizeof(facet_box),
                                 .dim = 3,
                                 .upper = {1, 1, 1},
                                 .cells = {2, 2, 2},
                                 .shape = k < 2 ? "tet" : shapes[k + 1],
                                 .split = splits[k]};
                int n_boundary = 0, joined = open ? 0 : which;
                for (int a = 0; a < 3; a++) {
                    box.periodic[a] = joined >> a & 1;
                    n_boundary += box.periodic[a] ? 0 : k < 2 || (k == 3 && a == 2) ? 64 : 32;
                }
                struct facet_mesh *mesh;
                struct solved s;
                ok(mesh_create_box(&box, &mesh));
                ok(mesh_need_lists(mesh));
                ok(facet_mesh_refine(mesh, 1));
                assert_int_equal(mesh->n_boundary_faces, n_boundary);
                assert_int_equal(mesh->n_groups, 6 - 2 * __builtin_popcount((unsigned)joined));
                struct setup setup = {.mesh = mesh, .degree = 2, .exact = exact, .tau = "4"};
                solve(&setup, &s);
                assert_int_equal(mapped_of(s.solver)->hdg->singular, joined == 7);
                assert_true(s.report.conservation <= 1e-11);
                errors[open] = s.errors.u_L2;
                release(&s);
                mesh_destroy(&mesh);
            }
            if (!(errors[0] < 1.3 * errors[1]))
                fail_msg("%s %d: %.2e, open %.2e", k < 2 ? splits[k] : shapes[k + 1], which, errors[0],
                         errors[1]);
        }
}

/* ------------------------------------------------------------------------------------------ pieces */

/* Tets and hexes share no faces, but may fill one mesh in pieces that do not touch. */
static void pieces_of_tets_and_hexes(void **state) {
    (void)state;
    struct mesh_input input = {.dim = 3, .order = 1, .n_vertices = 12, .n_cells = 2};
    static const uint8_t cell_shapes[2] = {SHAPE_HEX, SHAPE_TET};
    static const int64_t offsets[3] = {0, 8, 12};
    static const int32_t vertices[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static const double nodes[36] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1,
                                     0, 1, 1, 1, 1, 1, 3, 0, 0, 4, 0, 0, 3, 1, 0, 3, 0, 1};
    struct facet_mesh *mesh;
    input.shapes = cell_shapes;
    input.vertex_offsets = input.node_offsets = offsets;
    input.vertices = vertices;
    input.nodes = nodes;
    ok(mesh_create(&input, &mesh));
    assert_string_equal(mesh->shape_text, "tet+hex");
    ok(facet_mesh_refine(mesh, 1));
    assert_int_equal(mesh->n_cells, 16);
    struct setup setup = {.mesh = mesh, .degree = 2, .exact = "x^2-y*z+1"};
    struct solved s;
    solve(&setup, &s);
    assert_true(s.errors.u_Linf < 1e-12 && s.errors.q_L2 < 1e-11);
    near(mapped_of(s.solver)->hdg->volume, 1 + 1.0 / 6, 1e-13);
    release(&s);
    mesh_destroy(&mesh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polynomials_are_exact_on_affine_and_multilinear_cells),
        cmocka_unit_test(lower_polynomials_are_exact_on_curved_cells),
        cmocka_unit_test(the_matrix_is_symmetric_and_definite_but_for_constants),
        cmocka_unit_test(products_of_high_degree),
        cmocka_unit_test(refinement_keeps_curved_geometry),
        cmocka_unit_test(volumes_converge),
        cmocka_unit_test(values_are_found_in_curved_cells),
        cmocka_unit_test(periodic_boxes_close),
        cmocka_unit_test(pieces_of_tets_and_hexes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
