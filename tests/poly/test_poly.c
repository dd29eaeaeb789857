/* Reference cells, Jacobi polynomials, 1D rules and rules on cells, compared with mathematics that does not
 * go through the code under test: closed forms, moments, integrals of monomials. */
#include "poly/jacobi.h"
#include "poly/rule.h"
#include "tests/poly_helpers.h"

/* ---------------------------------------------------------------- shapes */

static void face_vertex(enum shape shape, int face, int i, double *x) {
    int dim = shape_dim(shape), vertex = shape_face_vertices(shape, face)[i];
    memcpy(x, shape_vertices(shape) + vertex * dim, sizeof *x * (size_t)dim);
}

static void test_shapes(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++) {
        enum shape shape = all_shapes[s];
        for (int f = 0; f < shape_n_faces(shape); f++)
            assert_int_equal(shape_dim(shape_face_shape(shape, f)), shape_dim(shape) - 1);
        struct rule rule;
        ok(rule_create(shape, 3, &rule));
        double measure = 0;
        for (int i = 0; i < rule.n; i++) measure += rule.w[i];
        near(measure, shape_measure(shape), 1e-15);
        rule_destroy(&rule);
    }
    assert_string_equal(shape_name(SHAPE_HEX), "hex");
    assert_int_equal(shape_n_orientations(SHAPE_POINT), 1);
    assert_int_equal(shape_n_orientations(SHAPE_SEGMENT), 2);
    assert_int_equal(shape_n_orientations(SHAPE_TRIANGLE), 6);
    assert_int_equal(shape_n_orientations(SHAPE_QUAD), 8);
}

/* The face's vertices must turn so that the normal points away from the centre of the cell. */
static void test_outward(void **state) {
    (void)state;
    for (int s = 2; s < N_SHAPES; s++) {
        enum shape shape = all_shapes[s];
        int dim = shape_dim(shape), n_vertices = shape_n_vertices(shape);
        double centre[3] = {0};
        for (int v = 0; v < n_vertices; v++)
            for (int d = 0; d < dim; d++) centre[d] += shape_vertices(shape)[v * dim + d] / n_vertices;
        for (int f = 0; f < shape_n_faces(shape); f++) {
            double a[3] = {0}, b[3] = {0}, c[3] = {0}, normal[3];
            face_vertex(shape, f, 0, a);
            face_vertex(shape, f, 1, b);
            if (dim == 2) {
                normal[0] = b[1] - a[1], normal[1] = a[0] - b[0], normal[2] = 0;
            } else {
                face_vertex(shape, f, 2, c);
                for (int d = 0; d < 3; d++) {
                    int e = (d + 1) % 3, g = (d + 2) % 3;
                    normal[d] = (b[e] - a[e]) * (c[g] - a[g]) - (b[g] - a[g]) * (c[e] - a[e]);
                }
            }
            double out = 0;
            for (int d = 0; d < dim; d++) out += normal[d] * (a[d] - centre[d]);
            assert_true(out > 0.1);
        }
    }
}

/* Each face of a hex or quad, tet or triangle occurs once, and each edge of a 3D cell is run once in each
 * direction. */
static void test_faces_close(void **state) {
    (void)state;
    enum shape solids[] = {SHAPE_TET, SHAPE_HEX, SHAPE_PRISM, SHAPE_PYRAMID};
    for (int s = 0; s < 4; s++) {
        int runs[8][8] = {{0}};
        for (int f = 0; f < shape_n_faces(solids[s]); f++) {
            int n = shape_n_vertices(shape_face_shape(solids[s], f));
            const int *v = shape_face_vertices(solids[s], f);
            for (int i = 0; i < n; i++) runs[v[i]][v[(i + 1) % n]]++;
        }
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++) {
                assert_true(runs[i][j] <= 1);
                assert_int_equal(runs[i][j], runs[j][i]);
            }
    }
}

static void test_frames(void **state) {
    (void)state;
    for (int s = 1; s < N_SHAPES; s++) {
        enum shape shape = all_shapes[s];
        int dim = shape_dim(shape);
        for (int f = 0; f < shape_n_faces(shape); f++) {
            enum shape face = shape_face_shape(shape, f);
            int n = shape_n_vertices(face);
            for (int o = 0; o < shape_n_orientations(face); o++) {
                const int *permutation = shape_permutation(face, o);
                int frame[SHAPE_MAX_FACE_VERTICES];
                double mean[3] = {0}, centre[2] = {0}, xi[3];
                for (int i = 0; i < n; i++) {
                    double v[3];
                    const double *corner = shape_vertices(face) + i * (dim - 1);
                    face_vertex(shape, f, permutation[i], v);
                    shape_face_point(shape, f, o, corner, xi);
                    for (int d = 0; d < dim; d++) assert_true(xi[d] == v[d]);
                    for (int d = 0; d < dim; d++) mean[d] += v[d] / n;
                    for (int d = 0; d < dim - 1; d++) centre[d] += corner[d] / n;
                    frame[i] = 100 + shape_face_vertices(shape, f)[permutation[i]];
                }
                shape_face_point(shape, f, o, centre, xi);
                for (int d = 0; d < dim; d++) near(xi[d], mean[d], 1e-15);
                int local[SHAPE_MAX_FACE_VERTICES];
                for (int i = 0; i < n; i++) local[i] = 100 + shape_face_vertices(shape, f)[i];
                assert_int_equal(shape_find_orientation(face, frame, local), o);
            }
        }
    }
    int frame[4] = {0, 2, 1, 3}, local[4] = {0, 1, 2, 3}; /* crosses the quad: no symmetry of it */
    assert_int_equal(shape_find_orientation(SHAPE_QUAD, frame, local), -1);
}

static void test_nodes(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++)
        for (int order = 1; order <= 10; order++) {
            enum shape shape = all_shapes[s];
            int dim = shape_dim(shape), n = shape_n_nodes(shape, order);
            double *xi = numbers(n * dim);
            shape_nodes(shape, order, xi);
            for (int i = 0; i < n * dim; i++) assert_true(xi[i] >= 0 && xi[i] <= 1);
            assert_true(isnan(xi[n * dim]));
            for (int v = 0; v < shape_n_vertices(shape); v++)
                for (int d = 0; d < dim; d++)
                    assert_true(xi[shape_vertex_node(shape, order, v) * dim + d] ==
                                shape_vertices(shape)[v * dim + d]);
            /* The first coordinate is the fastest, so that nodes ascend when read from the last one. */
            for (int i = 1; i < n; i++) {
                int d = dim - 1;
                while (d > 0 && xi[i * dim + d] == xi[(i - 1) * dim + d]) d--;
                assert_true(xi[i * dim + d] > xi[(i - 1) * dim + d]);
            }
            test_free(xi);
        }
}

/* ---------------------------------------------------------------- 1D rules */

/* ln of the integral of (1-x)^a (1+x)^b over [-1,1]. */
static double log_moment(double a, double b) {
    return (a + b + 1) * log(2) + lgamma(a + 1) + lgamma(b + 1) - lgamma(a + b + 2);
}

/* All terms of the sums are positive, so that the relative error measures points and weights at once; the
 * tolerance allows for the powers' own sensitivity. */
static void check_line(int n, int degree, double a, double b, const double *x, const double *w) {
    for (int i = 0; i < n; i++) assert_true(w[i] > 0 && x[i] >= -1 && x[i] <= 1);
    for (int i = 1; i < n; i++) assert_true(x[i] > x[i - 1]);
    for (int k = 0; k <= degree; k += degree > 40 ? 7 : 1) {
        double plus = 0, minus = 0, at_plus = log_moment(a, b + k), at_minus = log_moment(a + k, b);
        for (int i = 0; i < n; i++) {
            plus += w[i] * exp((k > 0 ? k * log1p(x[i]) : 0) - at_plus);
            minus += w[i] * exp((k > 0 ? k * log1p(-x[i]) : 0) - at_minus);
        }
        near(plus, 1.0, 1e-14 * (20 + k));
        near(minus, 1.0, 1e-14 * (20 + k));
    }
    double sum = 0;
    for (int i = 0; i < n; i++) sum += w[i];
    near(sum / exp(log_moment(a, b)), 1.0, 1e-13);
}

static void check_families(int n, double a, double b) {
    double x[400], w[400];
    ok(rule_gauss_jacobi(n, a, b, x, w));
    check_line(n, 2 * n - 1, a, b, x, w);
    assert_true(x[0] > -1 && x[n - 1] < 1);
    if (n < 2) return;
    ok(rule_gauss_lobatto(n, a, b, x, w));
    check_line(n, 2 * n - 3, a, b, x, w);
    assert_true(x[0] == -1 && x[n - 1] == 1);
}

static void test_lines(void **state) {
    (void)state;
    for (int n = 1; n <= 40; n++) check_families(n, 0, 0);
    for (int n = 50; n <= 200; n += 25) check_families(n, 0, 0);
    check_families(400, 0, 0);
    for (int n = 1; n <= 25; n += 4)
        for (int a = 0; a <= 30; a += 3)
            for (int b = 0; b <= 30; b += 5) check_families(n, a, b);
    check_families(12, -0.5, -0.5);
    check_families(12, -0.9, 0.3);
    check_families(60, 1, 0);
}

/* Closed forms: Gauss-Chebyshev, and the classical small rules. */
static void test_lines_known(void **state) {
    (void)state;
    double x[64], w[64];
    ok(rule_gauss_jacobi(64, -0.5, -0.5, x, w));
    for (int i = 0; i < 64; i++) {
        near(x[i], -cos((2 * i + 1) * acos(-1.0) / 128), 3e-16);
        near(w[i], acos(-1.0) / 64, 3e-17);
    }
    ok(rule_gauss_jacobi(3, 0, 0, x, w));
    assert_true(x[1] == 0 && x[0] == -x[2]);
    near(x[2], sqrt(0.6), 1e-16);
    near(w[1], 8.0 / 9.0, 1e-16);
    ok(rule_gauss_lobatto(4, 0, 0, x, w));
    near(x[2], sqrt(0.2), 1e-16);
    near(w[0], 1.0 / 6.0, 1e-17);
    assert_int_equal(rule_gauss_jacobi(0, 0, 0, x, w), FACET_ERROR_INPUT);
    assert_int_equal(rule_gauss_lobatto(1, 0, 0, x, w), FACET_ERROR_INPUT);
    assert_int_equal(rule_gauss_lobatto(3, -1, 0, x, w), FACET_ERROR_INPUT);
    assert_int_equal(rule_gauss_lobatto(3, 0, NAN, x, w), FACET_ERROR_INPUT);
}

static void test_jacobi(void **state) {
    (void)state;
    enum { N = 20 };
    double a = 3, b = 1.5, x[N + 1], w[N + 1], gram[N + 1][N + 1] = {{0}}, p[N + 1], dp[N + 1], up[N + 1];
    ok(rule_gauss_jacobi(N + 1, a, b, x, w));
    for (int i = 0; i <= N; i++) {
        jacobi_orthonormal(N, a, b, x[i], p, dp);
        /* d/dx p_n^(a,b) = sqrt(n (n+a+b+1)) p_(n-1)^(a+1,b+1) */
        jacobi_orthonormal(N, a + 1, b + 1, x[i], up, NULL);
        assert_true(dp[0] == 0);
        for (int n = 1; n <= N; n++)
            near(dp[n], sqrt(n * (n + a + b + 1)) * up[n - 1], 1e-11 * (1 + fabs(dp[n])));
        for (int j = 0; j <= N; j++)
            for (int k = 0; k <= N; k++) gram[j][k] += w[i] * p[j] * p[k];
    }
    for (int j = 0; j <= N; j++)
        for (int k = 0; k <= N; k++) near(gram[j][k], j == k, 1e-13);
    jacobi_orthonormal(6, 0, 0, 1.0, p, dp); /* P_n(1) = 1, P_n'(1) = n(n+1)/2, |P_n|^2 = 2/(2n+1) */
    near(p[6], sqrt(6.5), 1e-13);
    near(dp[6], 21 * sqrt(6.5), 1e-12);
    jacobi_orthonormal(4, -0.5, -0.5, cos(0.3), p, NULL); /* Chebyshev: sqrt(2/pi) cos(4 theta) */
    near(p[4], sqrt(2 / acos(-1.0)) * cos(1.2), 4e-15);
}

/* ---------------------------------------------------------------- rules on cells */

static int n_product(enum shape shape, int degree) {
    int n = 1;
    for (int d = 0; d < shape_dim(shape); d++) n *= degree / 2 + 1;
    return n;
}

/* Positive weights, and all points strictly inside. */
static void check_inside(const struct rule *rule) {
    for (int i = 0; i < rule->n; i++) {
        double rest = 1;
        assert_true(rule->w[i] > 0);
        for (int d = 0; d < rule->dim; d++) {
            assert_true(rule->x[i * rule->dim + d] > 0 && rule->x[i * rule->dim + d] < 1);
            rest -= rule->x[i * rule->dim + d];
        }
        assert_true(!shape_is_simplex(rule->shape) || rest > 0 || rule->dim == 0);
    }
}

/* Two corners that follow each other change places: every point becomes one of the same weight. */
static void check_symmetric(const struct rule *rule) {
    int dim = rule->dim;
    for (int corner = 0; corner < dim; corner++)
        for (int i = 0; i < rule->n; i++) {
            double at[4] = {1}, nearest = 1;
            for (int d = 0; d < dim; d++) at[d + 1] = rule->x[i * dim + d];
            for (int d = 0; d < dim; d++) at[0] -= at[d + 1];
            double kept = at[corner];
            at[corner] = at[corner + 1];
            at[corner + 1] = kept;
            for (int j = 0; j < rule->n; j++) {
                double distance = fabs(rule->w[j] - rule->w[i]) > 0;
                for (int d = 0; d < dim; d++)
                    distance = fmax(distance, fabs(at[d + 1] - rule->x[j * dim + d]));
                nearest = fmin(nearest, distance);
            }
            assert_true(nearest < 1e-15);
        }
}

static void test_rules(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++)
        for (int degree = 0; degree <= 30; degree++) {
            enum shape shape = all_shapes[s];
            struct rule rule;
            ok(rule_create(shape, degree, &rule));
            assert_int_equal(rule.dim, shape_dim(shape));
            if (shape == SHAPE_TRIANGLE || shape == SHAPE_TET || shape == SHAPE_PRISM)
                assert_true(rule.n <= n_product(shape, degree));
            else
                assert_int_equal(rule.n, n_product(shape, degree));
            check_inside(&rule);
            check_rule(&rule, degree);
            rule_destroy(&rule);
            rule_destroy(&rule);
        }
    struct rule rule;
    ok(rule_create(SHAPE_TRIANGLE, 80, &rule));
    check_rule(&rule, 80);
    rule_destroy(&rule);
    assert_int_equal(rule_create(SHAPE_TRIANGLE, -1, &rule), FACET_ERROR_INPUT);
    rule_destroy(&rule);
}

/* The rules of the table are symmetric, and have few points: dim + 1 numbers for each, and one polynomial
 * that each number pays for, would be the number of polynomials / (dim + 1). */
static void test_symmetric_rules(void **state) {
    (void)state;
    static const struct {
        enum shape shape;
        int last;
    } tables[] = {{SHAPE_TRIANGLE, 24}, {SHAPE_TET, 20}};
    for (int t = 0; t < 2; t++)
        for (int degree = 2; degree <= tables[t].last; degree++) {
            enum shape shape = tables[t].shape;
            struct rule rule;
            double ideal = shape_n_nodes(shape, degree) / (shape_dim(shape) + 1.0);
            ok(rule_create(shape, degree, &rule));
            if (rule.n < n_product(shape, degree)) check_symmetric(&rule);
            print_message("%s, degree %d: %d points, %d of the product\n", shape_name(shape), degree, rule.n,
                          n_product(shape, degree));
            assert_true(rule.n <= 1.25 * ideal + 4);
            rule_destroy(&rule);
        }
}

static void test_product_rules(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++)
        for (int degree = 0; degree <= 20; degree += degree < 8 ? 1 : 3) {
            struct rule rule;
            ok(rule_create_product(all_shapes[s], degree, &rule));
            assert_int_equal(rule.n, n_product(all_shapes[s], degree));
            check_inside(&rule);
            check_rule(&rule, degree);
            rule_destroy(&rule);
        }
}

/* ---------------------------------------------------------------- memory */

static facet_status everything(void) {
    facet_status status = FACET_OK;
    struct rule rule = {0};
    double x[4], w[4];
    TRY(rule_gauss_lobatto(4, 1.0, 2.0, x, w));
    TRY(rule_create(SHAPE_TET, 5, &rule));
    rule_destroy(&rule);
    TRY(rule_create_product(SHAPE_TET, 5, &rule));
done:
    rule_destroy(&rule);
    return status;
}

static void test_allocation_faults(void **state) {
    (void)state;
    struct base_memory before, after;
    base_memory_read(&before);
    facet_status status = FACET_ERROR_MACHINE;
    int k = 0;
    while (status != FACET_OK) {
        base_memory_fail_at(++k);
        status = everything();
        base_memory_read(&after);
        assert_int_equal(after.live_blocks, before.live_blocks);
        if (status != FACET_OK) assert_int_equal(status, FACET_ERROR_MACHINE);
    }
    base_memory_fail_at(0);
    assert_true(k > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),        cmocka_unit_test(test_outward),
        cmocka_unit_test(test_faces_close),   cmocka_unit_test(test_frames),
        cmocka_unit_test(test_nodes),         cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lines_known),   cmocka_unit_test(test_jacobi),
        cmocka_unit_test(test_rules),         cmocka_unit_test(test_symmetric_rules),
        cmocka_unit_test(test_product_rules), cmocka_unit_test(test_allocation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
