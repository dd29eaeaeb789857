/* Orders of convergence: p+1 for u, q and q*, p+2 for u*, on boxes of triangles and quads, on a distorted
 * mixed mesh, with scalar and matrix conductivities that vary, and on a curved annulus. FACET_TEST_TABLE=1 in
 * the environment prints the measured rates. */
#include <stdio.h>

#include "hdg_helpers.h"

#define MAX_DEGREE 6

/* Levels of refinement per degree: as far as rounding allows. */
static const int finest[MAX_DEGREE + 1] = {0, 3, 3, 3, 2, 2, 2};

static void print_rates(const char *name, int degree, const double *rates, double conservation) {
    if (getenv("FACET_TEST_TABLE") != NULL)
        fprintf(stderr, "| %s | %d | %.2f | %.2f | %.2f | %.2f | %.1e |\n", name, degree, rates[0], rates[1],
                rates[2], rates[3], conservation);
}

/* Refines a mesh made by `make` to the last two levels and compares. */
static void check_rates(const char *name, struct facet_mesh *mesh, struct setup *setup, int levels,
                        const double *expected) {
    double before[4] = {0}, rates[4], conservation = 0;
    for (int level = 0; level <= levels; level++) {
        if (level > 0) ok(facet_mesh_refine(mesh, 1));
        if (level < levels - 1) continue;
        struct solved s;
        setup->mesh = mesh;
        solve(setup, &s);
        double errors[4] = {s.errors.u_L2, s.errors.q_L2, s.errors.u_star_L2, s.errors.q_star_L2};
        conservation = fmax(conservation, s.report.conservation);
        for (int i = 0; i < 4; i++) {
            rates[i] = log2(before[i] / errors[i]);
            before[i] = errors[i];
        }
        release(&s);
    }
    print_rates(name, setup->degree, rates, conservation);
    for (int i = 0; i < 4; i++)
        if (!(rates[i] > expected[i] - 0.25))
            fail_msg("%s, degree %d: rate %d is %.3f, expected %.2f", name, setup->degree, i, rates[i],
                     expected[i]);
    assert_true(conservation <= 1e-11);
    mesh_destroy(&mesh);
}

static const char *const wave = "sin(2*x+0.3)*cos(1.5*y)+0.5*exp(x*y)";

static void check_all_degrees(const char *name, int kind, const struct setup *what, double loss) {
    for (int degree = 1; degree <= MAX_DEGREE; degree++) {
        struct setup setup = *what;
        double p = degree, expected[4] = {p + 1, p + 1 - loss, p + 2 - loss, p + 1 - loss};
        struct facet_mesh *mesh = kind == 0   ? box("triangle", 2, 2, 0, 0)
                                  : kind == 1 ? box("quad", 2, 2, 0, 0)
                                              : lattice(MIXED, 3, 3, 0.18);
        setup.degree = degree;
        setup.exact = wave;
        setup.method = "direct"; /* no tolerance */
        check_rates(name, mesh, &setup, finest[degree], expected);
    }
}

static const struct setup scalar_K = {
    .n_K = 1, .K = {"1+0.5*sin(x)*y"}, .tau = "10", .conditions = {{"xmax", "neumann", "exact", NULL}}};
static const struct setup matrix_K = {.n_K = 4,
                                      .K = {"2+x*y", "0.5*cos(x)", "0.5*cos(x)", "1+exp(-y)"},
                                      .reaction = "1+x",
                                      .tau = "10",
                                      .conditions = {{"ymin", "robin", "exact", "1+x"}}};

static void boxes_of_triangles(void **state) {
    (void)state;
    check_all_degrees("triangle box, scalar K", 0, &scalar_K, 0);
    check_all_degrees("triangle box, matrix K", 0, &matrix_K, 0);
}

static void boxes_of_quads(void **state) {
    (void)state;
    check_all_degrees("quad box, scalar K", 1, &scalar_K, 0);
    check_all_degrees("quad box, matrix K", 1, &matrix_K, 0);
}

static void distorted_mixed_meshes(void **state) {
    (void)state;
    check_all_degrees("mixed distorted, scalar K", 2, &scalar_K, 0);
    check_all_degrees("mixed distorted, matrix K", 2, &matrix_K, 0);
}

static void tau_of_order_one(void **state) {
    (void)state;
    struct setup with_tau = scalar_K;
    with_tau.tau = "1";
    check_all_degrees("triangle box, tau 1", 0, &with_tau, 0);
    check_all_degrees("quad box, tau 1", 1, &with_tau, 0.25);
    check_all_degrees("mixed distorted, tau 1", 2, &with_tau, 0.25);
}

/* Geometry of order g is an approximation of the circle to order g+1 in position: its error is that of the
 * refined mesh of the file, since refinement keeps the curve of the file, on which the exact solution is
 * given. So the orders are those of the space. */
static void curved_annulus(void **state) {
    (void)state;
    for (int degree = 1; degree <= 3; degree++) {
        struct setup setup = {.degree = degree,
                              .exact = "log(x^2+y^2)+x*y",
                              .n_K = 1,
                              .K = {"1+0.2*x"},
                              .tau = "10",
                              .conditions = {{"inner", "neumann", "exact", NULL}}};
        struct facet_mesh *mesh;
        double p = degree, expected[4] = {p + 1, p + 1, p + 2, p + 1};
        ok(mesh_read_gmsh("tests/meshes/annulus_3_41.msh", &mesh));
        check_rates("annulus of order 3", mesh, &setup, 4, expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_of_triangles),     cmocka_unit_test(boxes_of_quads),
        cmocka_unit_test(distorted_mixed_meshes), cmocka_unit_test(tau_of_order_one),
        cmocka_unit_test(curved_annulus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
