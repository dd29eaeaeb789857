/* Linear elasticity on mapped cells: patch tests, polynomials, rigid motions, the matrix and its correction,
 * local solvers without a kernel, orders, rollers, reactions, fields, devices and faults. */
#include <lapacke.h>

#include "elastic_helpers.h"
#include "elastic_orders.h"
#include "hdg/batch.h"

enum { N_SHAPES = 5 };
static const char *const shapes[N_SHAPES] = {"triangle", "quad", "tet", "hex", "prism"};

/* Straight, but no cell is like another. */
static struct facet_mesh *distorted(int shape, int n) {
    return remake(unit_box(shapes[shape], NULL, n), 1, map_wavy, 7);
}

#define LINEAR(dim)                                                                                          \
    {                                                                                                        \
        (dim) == 2 ? "1+2*x-3*y" : "1+2*x-3*y+z", (dim) == 2 ? "0.5*x+y" : "0.5*x+y-2*z",                    \
            (dim) == 3 ? "x-2*y+0.3*z" : NULL                                                                \
    }

/* ------------------------------------------------------------------------------------------ exactness */

static void check_exact(const struct answer *a, double tolerance) {
    const struct hdg_errors *e = &a->errors;
    near(e->u_L2, 0, tolerance);
    near(e->stress_L2, 0, 10 * tolerance);
    if (equation_has_field(a->data.equation, HDG_H)) {
        near(e->H_L2, 0, 10 * tolerance);
        near(e->p_L2, 0, 10 * tolerance);
        near(e->u_star_L2, 0, tolerance);
    }
    assert_true(a->conservation < 1e-12);
}

/* With all kinds of conditions, and moduli that vary in the symmetric formulation. */
static void linear_displacements_pass_the_patch_test(void **state) {
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int way = 0; way < 4; way++) { /* symmetric, with variable moduli; gradient, with tractions */
            struct facet_mesh *mesh = distorted(shape, 2);
            int dim = mesh->dim;
            struct body b = {.mesh = mesh,
                             .degree = 1 + way % 2,
                             .gradient = way >= 2,
                             .mu = way == 1 ? "1+x+0.3*y" : "1.5",
                             .lambda = way == 1 ? "2+y" : "2",
                             .tau = way == 1 ? "1+x*x" : NULL,
                             .exact = LINEAR(dim),
                             .conditions = {{.part = "xmax", .kind = way == 2 ? "natural" : "traction"},
                                            {.part = "ymin", .kind = way == 2 ? "fixed" : "y"}}};
            struct answer a;
            if (way == 1) b.degree = 2;
            body_solve(&b, &a);
            check_exact(&a, 1e-11);
            near(a.errors.trace_L2, 0, 1e-11);
            assert_int_equal(a.hdg->nonsymmetric, way == 3);
            answer_free(&a);
            mesh_destroy(&mesh);
        }
}

/* u of degree k + 1 with the stress of degree k on faces that are plane; in the gradient formulation k. */
static void polynomials_are_solved_to_rounding(void **state) {
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int degree = 1; degree <= 3; degree++)
            for (int gradient = 0; gradient < 2; gradient++) {
                struct facet_mesh *mesh =
                    shape >= 3 ? unit_box(shapes[shape], NULL, 2) : distorted(shape, shape < 2 ? 3 : 2);
                char text[3][96];
                int dim = mesh->dim, order = gradient ? degree : degree + 1;
                if (dim == 3 && degree == 3) {
                    mesh_destroy(&mesh);
                    continue;
                }
                for (int c = 0; c < 3; c++)
                    snprintf(text[c], sizeof text[c], "(0.3+x-0.%d*y%s)^%d + y*%d", c + 3,
                             dim == 3 ? "+z" : "", order, c);
                struct body b = {.mesh = mesh,
                                 .degree = degree,
                                 .gradient = gradient,
                                 .lambda = "3",
                                 .tau_hat = degree == 2 ? 1.0 : 0.0,
                                 .exact = {text[0], text[1], dim == 3 ? text[2] : NULL},
                                 .conditions = {{.part = "xmax", .kind = gradient ? "natural" : "traction"},
                                                {.part = "ymax", .kind = gradient ? "fixed" : "x"}}};
                struct answer a;
                body_solve(&b, &a);
                check_exact(&a, 1e-11);
                answer_free(&a);
                mesh_destroy(&mesh);
            }
}

/* A rotation has no stress, whatever the moduli; and unsupported bodies have the rigid motions in the kernel
 * of their matrix, also of the one that is not symmetric. */
static void rigid_motions_cost_nothing(void **state) {
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int gradient = 0; gradient < 2; gradient++) {
            struct facet_mesh *mesh = distorted(shape, 2);
            int dim = mesh->dim, n_modes = dim == 2 ? 3 : 6;
            struct body b = {.mesh = mesh,
                             .degree = 1,
                             .gradient = gradient,
                             .mu = "2",
                             .lambda = "300",
                             .exact = {"1-2*y", "2*x+3", dim == 3 ? "1" : NULL},
                             .conditions = {{.part = "xmin", .kind = "traction"}}};
            struct answer a;
            body_solve(&b, &a);
            near(a.errors.stress_L2, 0, 1e-10);
            answer_free(&a);
            static const char *const sides[6] = {"xmin", "xmax", "ymin", "ymax", "zmin", "zmax"};
            for (int s = 0; s < 2 * dim; s++)
                b.conditions[s] = (struct body_condition){.part = sides[s], .kind = "traction"};
            memset(&a, 0, sizeof a);
            ok(body_describe(&b, &a));
            ok(hdg_create(a.device, &a.data, 1, NULL, NULL, &a.hdg));
            ok(hdg_condense(a.hdg));
            struct csr csr;
            int64_t n = a.hdg->trace.n_free;
            assert_int_equal(hdg_n_rigid_modes(a.hdg), n_modes);
            ok(hdg_assemble(a.hdg, &csr));
            ok(ALLOC(a.x, n * n_modes));
            ok(hdg_rigid_modes(a.hdg, a.x));
            for (int mode = 0; mode < n_modes; mode++)
                for (int64_t i = 0; i < n; i++) {
                    double sum = 0;
                    for (int64_t k = csr.offsets[i]; k < csr.offsets[i + 1]; k++)
                        sum += csr.values[k] * a.x[mode * n + csr.columns[k]];
                    near(sum, 0, 1e-10);
                }
            csr_destroy(&csr);
            answer_free(&a);
            mesh_destroy(&mesh);
        }
}

/* ------------------------------------------------------------------------------------------ matrix */

static double *dense(const struct answer *a, int *n) {
    struct csr csr;
    ok(hdg_assemble(a->hdg, &csr));
    *n = (int)csr.n;
    double *A = test_calloc((size_t)(*n * *n), sizeof *A);
    for (int i = 0; i < *n; i++)
        for (int64_t k = csr.offsets[i]; k < csr.offsets[i + 1]; k++)
            A[i * *n + csr.columns[k]] = csr.values[k];
    csr_destroy(&csr);
    return A;
}

static double asymmetry(int n, const double *A) {
    double largest = 0, scale = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            largest = fmax(largest, fabs(A[i * n + j] - A[j * n + i]));
            scale = fmax(scale, fabs(A[i * n + j]));
        }
    return largest / scale;
}

/* Symmetric positive definite with rollers and tractions; the gradient formulation only without tractions,
 * and it says so. The operator is the assembled matrix. */
static void the_matrix_is_what_it_says(void **state) {
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int way = 0; way < 3; way++) {
            struct facet_mesh *mesh = distorted(shape, shape < 2 ? 2 : 1);
            int dim = mesh->dim, n;
            struct body b = {.mesh = mesh,
                             .degree = 2,
                             .gradient = way != 0,
                             .exact = LINEAR(dim),
                             .conditions = {{.part = "xmax", .kind = way == 1 ? "natural" : "traction"},
                                            {.part = "ymax", .kind = way == 1 ? "fixed" : "x"}}};
            struct answer a;
            struct linear_operator K;
            struct vector x, y;
            body_solve(&b, &a);
            double *A = dense(&a, &n), *w = test_calloc((size_t)n, sizeof *w);
            assert_int_equal(a.hdg->nonsymmetric, way == 2);
            if (way == 2)
                assert_true(asymmetry(n, A) > 1e-3);
            else
                assert_true(asymmetry(n, A) < 1e-14);
            ok(hdg_operator_create(a.hdg, &K));
            ok(vector_create(a.device, n, &x));
            ok(vector_create(a.device, n, &y));
            ok(vector_upload(&x, a.x));
            operator_apply(&K, &x, &y);
            ok(vector_download(&y, w));
            for (int i = 0; i < n; i++) near(w[i], a.F[i], 1e-9);
            vector_destroy(&x);
            vector_destroy(&y);
            operator_destroy(&K);
            for (int i = 0; i < n && way != 1; i++) { /* rollers: nothing but the diagonal */
                if (!a.hdg->trace.fixed[i]) continue;
                assert_true(A[i * n + i] > 0);
                for (int j = 0; j < n; j++)
                    if (j != i) assert_true(A[i * n + j] == 0 && A[j * n + i] == 0);
            }
            if (way < 2) {
                assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', n, A, n, w), 0);
                assert_true(w[0] > 1e-6 * w[n - 1]);
            }
            test_free(A);
            test_free(w);
            answer_free(&a);
            mesh_destroy(&mesh);
        }
}

/* The Cholesky factors of S: their diagonals show a kernel, or what is nearly one. */
static void local_solvers_have_no_kernel(void **state) {
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int degree = 1; degree <= (shape < 2 ? 6 : 3); degree++)
            for (int map = 0; map < 3; map++) {
                struct facet_mesh *mesh = remake(unit_box(shapes[shape], NULL, 1), map == 2 ? 2 : 1,
                                                 map > 0 ? map_wavy : map_same, 7);
                struct body b = {.mesh = mesh, .degree = degree, .exact = LINEAR(mesh->dim)};
                struct answer a = {0};
                int N, n;
                ok(body_describe(&b, &a));
                ok(hdg_create(a.device, &a.data, degree, NULL, NULL, &a.hdg));
                hdg_local_sizes(a.hdg, 0, &N, &n);
                struct condenser c;
                struct local l;
                double smallest = INFINITY, largest = 0;
                a.data.equation->condenser(a.hdg, 0, &c);
                ok(local_create(a.hdg, &l));
                ok(local_begin(&l, 0, 0));
                ok(c.matrix(&l));
                ok(local_factor(&l, N, n));
                for (int i = 0; i < N; i++) {
                    double entry = l.C[(int64_t)i * (N + n + 1)];
                    smallest = fmin(smallest, entry);
                    largest = fmax(largest, entry);
                }
                assert_true(smallest > 1e-3 * largest);
                local_destroy(&l);
                answer_free(&a);
                mesh_destroy(&mesh);
            }
}

/* ------------------------------------------------------------------------------------------ mechanics */

static void plane_stress_is_plane_strain_with_another_lambda(void **state) {
    (void)state;
    struct facet_mesh *mesh = distorted(1, 3);
    struct answer a[2];
    for (int way = 0; way < 2; way++) {
        struct body b = {.mesh = mesh,
                         .degree = 2,
                         .plane = way == 0 ? HDG_PLANE_STRESS : HDG_PLANE_STRAIN,
                         .mu = "1+x",
                         .lambda = way == 0 ? "3" : "2*(1+x)*3/(3+2*(1+x))",
                         .exact = {"sin(x+y)", "x*x*y"},
                         .conditions = {{.part = "xmax", .kind = "traction"}}};
        body_solve(&b, &a[way]);
        assert_true(a[way].errors.u_L2 < 1e-3);
    }
    for (int64_t i = 0; i < a[0].hdg->trace.n_free; i++) near(a[0].x[i], a[1].x[i], 1e-12);
    answer_free(&a[0]);
    answer_free(&a[1]);
    mesh_destroy(&mesh);
}

/* A bar between rollers, pulled by 3 at one end: u_x = 3 x / E, reactions, von Mises stress, strains. */
static void a_bar_on_rollers(void **state) {
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int gradient = 0; gradient < 2; gradient++) {
            struct facet_mesh *mesh = unit_box(shapes[shape], NULL, 2);
            int dim = mesh->dim;
            /* mu = 1, lambda = 2: E = mu (3 lambda + 2 mu) / (lambda + mu) = 8/3; in plane stress the same */
            struct body b = {.mesh = mesh,
                             .degree = 1,
                             .gradient = gradient,
                             .plane = HDG_PLANE_STRESS,
                             .lambda = "2",
                             .source = {"0", "0", dim == 3 ? "0" : NULL},
                             .conditions = {{"xmin", "x", {"0", "0", "0"}, {"0", "0", "0"}},
                                            {"ymin", "y", {"0", "0", "0"}, {"0", "0", "0"}},
                                            {"xmax", "traction", {NULL}, {"3", "0", "0"}},
                                            {"ymax", "traction", {NULL}, {"0", "0", "0"}},
                                            {dim == 3 ? "zmin" : NULL, "z", {"0", "0", "0"}, {"0", "0", "0"}},
                                            {"zmax", "traction", {NULL}, {"0", "0", "0"}}}};
            struct answer a;
            body_solve(&b, &a);
            const struct hdg_block_space *space = &a.hdg->space.blocks[0];
            double u[3], x[3], stress[9], strain[9], mises, force[3] = {0}, E = 8.0 / 3.0;
            struct hdg_geometry g;
            struct hdg_table center;
            double xi[3] = {0.2, 0.3, 0.1};
            const int32_t second = 1;
            ok(hdg_table_create(space->shape, 2, 1, 1, xi, &center));
            ok(hdg_geometry_create(1, dim, &g));
            hdg_cell_geometry(&a.hdg->space, 0, second, &center, &g);
            memcpy(x, g.x, (size_t)dim * sizeof *x);
            ok(hdg_evaluate(a.hdg, &a.solution, HDG_U, 0, 1, &second, &center, u));
            ok(hdg_evaluate(a.hdg, &a.solution, HDG_STRESS, 0, 1, &second, &center, stress));
            ok(hdg_evaluate(a.hdg, &a.solution, HDG_STRAIN, 0, 1, &second, &center, strain));
            ok(hdg_evaluate(a.hdg, &a.solution, HDG_VON_MISES, 0, 1, &second, &center, &mises));
            near(u[0], 3 * x[0] / E, 1e-12);
            near(u[1], -3 * x[1] / E / 3, 1e-12); /* nu = 1/3 */
            near(stress[0], 3, 1e-11);
            near(stress[dim + 1], 0, 1e-11);
            near(strain[0], 3 / E, 1e-12);
            near(mises, 3, 1e-11);
            const struct mesh_group *support = mesh_find_group(mesh, "xmin", dim - 1);
            for (int32_t i = 0; i < support->count; i++) {
                const struct mesh_group_face face = mesh_group_face(mesh, support, i);
                double t[3];
                ok(hdg_face_fluxes(a.hdg, &a.solution, 1, &face, t));
                for (int c = 0; c < dim; c++) force[c] += t[c];
            }
            near(force[0], -3, 1e-11);
            near(force[1], 0, 1e-11);
            assert_int_equal(equation_has_field(a.data.equation, HDG_VORTICITY), gradient);
            hdg_table_destroy(&center);
            hdg_geometry_destroy(&g);
            answer_free(&a);
            mesh_destroy(&mesh);
        }
}

static void wrong_formulations_are_refused(void **state) {
    (void)state;
    struct facet_mesh *mesh = unit_box("triangle", NULL, 1);
    struct body b = {.mesh = mesh, .degree = 0, .exact = {"x", "y"}};
    struct answer a;
    refused(body_try(&b, &a), FACET_ERROR_INPUT, "degree 1");
    b = (struct body){.mesh = mesh, .degree = 1, .gradient = 1, .mu = "1+x", .exact = {"x", "y"}};
    refused(body_try(&b, &a), FACET_ERROR_INPUT, "one mu");
    b = (struct body){
        .mesh = mesh, .degree = 1, .exact = {"x", "y"}, .conditions = {{.part = "xmin", .kind = "natural"}}};
    refused(body_try(&b, &a), FACET_ERROR_INPUT, "gradient_pressure");
    b = (struct body){.mesh = mesh, .degree = 1, .mu = "x-2", .exact = {"x", "y"}};
    refused(body_try(&b, &a), FACET_ERROR_INPUT, "mu must be positive");
    b = (struct body){.mesh = mesh, .degree = 1, .lambda = "-1", .exact = {"x", "y"}};
    refused(body_try(&b, &a), FACET_ERROR_INPUT, "lambda must be above -2 mu/3");
    mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------------ orders */

static void orders_in_the_plane(void **state) {
    (void)state;
    for (int shape = 0; shape < 2; shape++)
        for (int degree = 1; degree <= 2; degree++)
            for (int curved = 0; curved < 2; curved++) elastic_orders(shapes[shape], degree, curved, 8);
}

static void orders_of_solids(void **state) {
    (void)state;
    elastic_orders("tet", 1, 0, 2);
    elastic_orders("hex", 1, 1, 2);
    elastic_orders("prism", 1, 1, 2);
    elastic_orders("prism", 2, 0, 2);
    elastic_orders("hex", 2, 0, 2); /* the first degree where mapped stresses would be unstable */
}

/* ------------------------------------------------------------------------------------------ machine */

static const struct body small_bodies[2] = {
    {.degree = 1,
     .mu = "1+x",
     .exact = {"x*y", "x+y*y"},
     .conditions = {{.part = "xmin", .kind = "traction"}, {.part = "ymin", .kind = "y"}}},
    {.degree = 1,
     .gradient = 1,
     .exact = {"x*y", "x+y*y"},
     .conditions = {{.part = "xmin", .kind = "traction"}, {.part = "ymin", .kind = "y"}}}};

static void devices_agree(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct facet_mesh *mesh = distorted(1, 3);
        struct answer a[3];
        for (int d = 0; d < 3; d++) {
            struct body b = small_bodies[which];
            b.mesh = mesh;
            b.device = d == 0 ? "cpu" : d == 1 ? "ref" : "debug";
            body_solve(&b, &a[d]);
        }
        for (int d = 1; d < 3; d++) {
            for (int64_t i = 0; i < a[0].hdg->trace.n_free; i++) near(a[d].x[i], a[0].x[i], 1e-11);
            near(a[d].errors.stress_L2, a[0].errors.stress_L2, 1e-10);
        }
        for (int d = 0; d < 3; d++) answer_free(&a[d]);
        mesh_destroy(&mesh);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    base_set_threads(1);
    for (int which = 0; which < 2; which++) {
        struct facet_mesh *mesh = distorted(which, 1);
        struct body b = small_bodies[which];
        struct answer a;
        b.mesh = mesh;
        body_solve(&b, &a); /* makes what lives for good */
        answer_free(&a);
        int64_t before = live_blocks(), k = 1;
        for (;; k++) {
            base_memory_fail_at(k);
            facet_status status = body_try(&b, &a);
            base_memory_fail_at(0);
            if (status == FACET_OK) break;
            assert_int_equal(status, FACET_ERROR_MACHINE);
            assert_int_equal(live_blocks(), before);
        }
        assert_true(k > 100);
        answer_free(&a);
        mesh_destroy(&mesh);
    }
    base_set_threads(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_displacements_pass_the_patch_test),
        cmocka_unit_test(polynomials_are_solved_to_rounding),
        cmocka_unit_test(rigid_motions_cost_nothing),
        cmocka_unit_test(the_matrix_is_what_it_says),
        cmocka_unit_test(local_solvers_have_no_kernel),
        cmocka_unit_test(plane_stress_is_plane_strain_with_another_lambda),
        cmocka_unit_test(a_bar_on_rollers),
        cmocka_unit_test(wrong_formulations_are_refused),
        cmocka_unit_test(orders_in_the_plane),
        cmocka_unit_test(orders_of_solids),
        cmocka_unit_test(devices_agree),
        cmocka_unit_test(every_allocation_may_fail),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
