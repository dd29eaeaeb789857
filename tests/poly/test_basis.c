/* The orthonormal and the Lagrange bases: Gram matrices, reproduction of monomials and of their gradients,
 * identities of barycentric interpolation, and use from several threads. */
#include "poly/basis.h"
#include "poly/jacobi.h"
#include "poly/rule.h"
#include "tests/poly_helpers.h"

/* ---------------------------------------------------------------- orthonormal bases */

static void test_orthonormal(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++) {
        enum shape shape = all_shapes[s];
        int degree = s >= 5 ? 8 : 12, size = basis_size(shape, degree);
        struct rule rule;
        ok(rule_create(shape, 2 * degree, &rule));
        double *values = numbers(rule.n * size);
        ok(basis_eval(shape, degree, rule.n, rule.x, values, NULL));
        assert_true(isnan(values[(size_t)rule.n * (size_t)size]));
        double *gram = numbers(size);
        for (int i = 0; i < size; i++) {
            for (int j = 0; j < size; j++) gram[j] = 0;
            for (int p = 0; p < rule.n; p++) {
                const double *row = values + (size_t)p * (size_t)size;
                double factor = rule.w[p] * row[i];
                for (int j = 0; j <= i; j++) gram[j] += factor * row[j];
            }
            for (int j = 0; j <= i; j++) near(gram[j], i == j, 1e-12);
        }
        near(values[0], 1 / sqrt(shape_measure(shape)), 1e-14);
        test_free(gram);
        test_free(values);
        rule_destroy(&rule);
    }
}

/* In the hex the Gram matrix of degree 12 is too large for a quick test; that its functions are the products
 * of orthonormal Legendre polynomials, in the order of basis.h, says the same. */
static void test_tensor_products(void **state) {
    (void)state;
    double x[3] = {0.3, 0.9, 0.05}, line[3][13], *values = numbers(13 * 13 * 13);
    ok(basis_eval(SHAPE_HEX, 12, 1, x, values, NULL));
    for (int d = 0; d < 3; d++) ok(basis_eval(SHAPE_SEGMENT, 12, 1, &x[d], line[d], NULL));
    for (int d = 0; d < 3; d++) {
        double p[13];
        jacobi_orthonormal(12, 0, 0, 2 * x[d] - 1, p, NULL);
        for (int i = 0; i <= 12; i++) near(line[d][i], sqrt(2) * p[i], 1e-13);
    }
    const double *value = values;
    for (int n = 0; n <= 12; n++)
        for (int k = 0; k <= n; k++)
            for (int j = 0; j <= n; j++)
                for (int i = 0; i <= n; i++)
                    if (i == n || j == n || k == n)
                        near(*value++, line[0][i] * line[1][j] * line[2][k], 1e-12);
    assert_ptr_equal(value, values + 13 * 13 * 13);
    test_free(values);
}

static void test_hierarchy(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++) {
        enum shape shape = all_shapes[s];
        int n = 21, dim = shape_dim(shape), high = basis_size(shape, 7), low;
        double *x = sample(shape, n), *a = numbers(n * high), *b = numbers(n * high);
        double *da = numbers(n * high * dim), *db = numbers(n * high * dim);
        ok(basis_eval(shape, 7, n, x, a, da));
        for (int degree = 0; degree < 7; degree++) {
            ok(basis_eval(shape, degree, n, x, b, db));
            low = basis_size(shape, degree);
            for (int p = 0; p < n; p++)
                for (int i = 0; i < low; i++) {
                    near(b[p * low + i], a[p * high + i], 1e-12);
                    for (int d = 0; d < dim; d++)
                        near(db[(p * low + i) * dim + d], da[(p * high + i) * dim + d], 1e-10);
                }
        }
        test_free(x), test_free(a), test_free(b), test_free(da), test_free(db);
    }
    assert_int_equal(basis_size(SHAPE_TET, 4), 35);
    assert_int_equal(basis_size(SHAPE_HEX, 4), 125);
    assert_int_equal(basis_size(SHAPE_PRISM, 4), 75);
    assert_int_equal(basis_size(SHAPE_PYRAMID, 4), 55);
    assert_int_equal(basis_size(SHAPE_POINT, 4), 1);
}

/* Projects the monomials of the space and evaluates the projections and their gradients: they must be the
 * monomials and theirs, at interior points, at the collapsed vertices and outside the cell. */
static void check_monomials(enum shape shape, int degree) {
    int dim = shape_dim(shape), size = basis_size(shape, degree), n = 40, power[3] = {0};
    struct rule rule;
    ok(rule_create(shape, 2 * degree, &rule));
    double *at = numbers(rule.n * size), *c = numbers(size), *x = sample(shape, n);
    double *values = numbers(n * size), *gradients = numbers(n * size * dim);
    ok(basis_eval(shape, degree, rule.n, rule.x, at, NULL));
    ok(basis_eval(shape, degree, n, x, values, gradients));
    do {
        for (int i = 0; i < size; i++) c[i] = 0;
        for (int p = 0; p < rule.n; p++) {
            double f = rule.w[p] * monomial(dim, power, rule.x + p * dim);
            for (int i = 0; i < size; i++) c[i] += f * at[p * size + i];
        }
        for (int p = 0; p < n; p++) {
            double u = 0, du[3] = {0}, scale = 0;
            for (int i = 0; i < size; i++) {
                u += c[i] * values[p * size + i];
                scale += fabs(values[p * size + i]);
                for (int d = 0; d < dim; d++) du[d] += c[i] * gradients[(p * size + i) * dim + d];
            }
            near(u, monomial(dim, power, x + p * dim), 1e-15 * (10 + scale));
            for (int d = 0; d < dim; d++) {
                int lower[3] = {power[0], power[1], power[2]};
                double exact = lower[d]--;
                exact = exact == 0 ? 0 : exact * monomial(dim, lower, x + p * dim);
                near(du[d], exact, 1e-15 * (1 + degree * degree) * (10 + scale));
            }
        }
    } while (next_power(shape, degree, power));
    test_free(at), test_free(c), test_free(x), test_free(values), test_free(gradients);
    rule_destroy(&rule);
}

static void test_gradients(void **state) {
    (void)state;
    for (int s = 1; s < N_SHAPES; s++)
        for (int degree = 0; degree <= (shape_dim(all_shapes[s]) > 2 ? 5 : 8); degree++)
            check_monomials(all_shapes[s], degree);
}

static void test_input(void **state) {
    (void)state;
    double x[3] = {0}, values[8], gradients[24];
    assert_int_equal(basis_eval(SHAPE_QUAD, -1, 1, x, values, gradients), FACET_ERROR_INPUT);
    assert_int_equal(basis_lagrange(SHAPE_QUAD, 0, 1, x, values, gradients), FACET_ERROR_INPUT);
    assert_int_equal(basis_lagrange(SHAPE_QUAD, 11, 1, x, values, gradients), FACET_ERROR_INPUT);
    ok(basis_eval(SHAPE_TET, 2, 0, NULL, NULL, NULL));
    ok(basis_lagrange(SHAPE_TET, 2, 0, NULL, NULL, NULL));
}

/* ---------------------------------------------------------------- Lagrange */

static void check_lattice(enum shape shape, int order) {
    int dim = shape_dim(shape), n = shape_n_nodes(shape, order), m = 25, power[3] = {0};
    double *nodes = numbers(n * dim), *values = numbers(n * n), *x = sample(shape, m);
    double *gradients = numbers(m * n * dim);
    shape_nodes(shape, order, nodes);
    ok(basis_lagrange(shape, order, n, nodes, values, NULL));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) near(values[i * n + j], i == j, 1e-12);
    test_free(values);
    values = numbers(m * n);
    ok(basis_lagrange(shape, order, m, x, values, gradients));
    do {
        for (int p = 0; p < m; p++) {
            double u = 0, du[3] = {0}, scale = 0;
            for (int j = 0; j < n; j++) {
                double f = monomial(dim, power, nodes + j * dim);
                u += f * values[p * n + j];
                scale += fabs(values[p * n + j]);
                for (int d = 0; d < dim; d++) du[d] += f * gradients[(p * n + j) * dim + d];
            }
            near(u, monomial(dim, power, x + p * dim), 1e-13 * (1 + scale));
            for (int d = 0; d < dim; d++) {
                int lower[3] = {power[0], power[1], power[2]};
                double exact = lower[d]--;
                exact = exact == 0 ? 0 : exact * monomial(dim, lower, x + p * dim);
                near(du[d], exact, 1e-13 * order * order * (10 + scale));
            }
        }
    } while (next_power(shape, order, power));
    test_free(nodes), test_free(values), test_free(x), test_free(gradients);
}

static void test_lattices(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++)
        for (int order = 1; order <= (s >= 5 ? 5 : 10); order++) check_lattice(all_shapes[s], order);
    check_lattice(SHAPE_HEX, 9);
    check_lattice(SHAPE_PRISM, 9);
    check_lattice(SHAPE_PYRAMID, 9);
}

/* On a face the functions of the nodes off it are zero, exactly, whatever the face's orientation and point.
 */
static void check_faces(enum shape shape, int order) {
    int dim = shape_dim(shape), n = shape_n_nodes(shape, order), m = 40;
    double *nodes = numbers(n * dim), *values = numbers(m * n), *x = numbers(m * dim);
    shape_nodes(shape, order, nodes);
    for (int f = 0; f < shape_n_faces(shape); f++) {
        enum shape face_shape = shape_face_shape(shape, f);
        double *s = sample(face_shape, m), corner[3 * SHAPE_MAX_FACE_VERTICES];
        for (int v = 0; v < shape_n_vertices(face_shape); v++)
            for (int a = 0; a < dim; a++)
                corner[v * dim + a] = shape_vertices(shape)[shape_face_vertices(shape, f)[v] * dim + a];
        for (int o = 0; o < shape_n_orientations(face_shape); o++) {
            for (int p = 0; p < m; p++) shape_face_point(shape, f, o, s + p * (dim - 1), x + p * dim);
            ok(basis_lagrange(shape, order, m, x, values, NULL));
            for (int j = 0; j < n; j++) {
                double e[2][3] = {{0}}, away[3] = {0}; /* the volume over the face is zero for nodes on it */
                for (int a = 0; a < dim; a++) {
                    e[0][a] = corner[dim + a] - corner[a];
                    e[1][a] = dim > 2 ? corner[2 * dim + a] - corner[a] : 0.0;
                    away[a] = nodes[j * dim + a] - corner[a];
                }
                if (dim == 2) e[1][2] = 1.0;
                double volume = away[0] * (e[0][1] * e[1][2] - e[0][2] * e[1][1]) +
                                away[1] * (e[0][2] * e[1][0] - e[0][0] * e[1][2]) +
                                away[2] * (e[0][0] * e[1][1] - e[0][1] * e[1][0]);
                if (fabs(volume) < 1e-6) continue;
                for (int p = 0; p < m; p++) assert_true(values[p * n + j] == 0.0);
            }
        }
        test_free(s);
    }
    test_free(nodes), test_free(values), test_free(x);
}

static void test_faces(void **state) {
    (void)state;
    static const enum shape shapes[] = {SHAPE_TRIANGLE, SHAPE_QUAD,  SHAPE_TET,
                                        SHAPE_HEX,      SHAPE_PRISM, SHAPE_PYRAMID};
    for (int s = 0; s < 6; s++)
        for (int order = 1; order <= (s >= 3 ? 4 : 9); order++) check_faces(shapes[s], order);
}

static void test_barycentric(void **state) {
    (void)state;
    enum { N = 300 };
    static double x[N], w[N], weights[N], row[N], D[N * N];
    ok(rule_gauss_lobatto(N, 0, 0, x, w));
    lagrange_weights(N, x, weights);
    double largest = 0;
    for (int i = 0; i < N; i++) largest = fmax(largest, fabs(weights[i]));
    near(largest, 1, 1e-15);
    for (int i = 0; i < N; i++) {
        lagrange_row(N, x, weights, x[i], row);
        for (int j = 0; j < N; j++) assert_true(row[j] == (i == j));
    }
    double points[] = {-0.999, 0.123456, x[7] + 1e-15, x[8] + 1e-300, 0.5, nextafter(x[150], 2)};
    for (size_t p = 0; p < sizeof points / sizeof *points; p++) {
        double one = 0, u = 0;
        lagrange_row(N, x, weights, points[p], row);
        for (int j = 0; j < N; j++) one += row[j], u += row[j] * sin(20 * x[j]);
        near(one, 1, 1e-12);
        near(u, sin(20 * points[p]), 1e-12);
    }
    int n = 20;
    ok(rule_gauss_lobatto(n, 0, 0, x, w));
    lagrange_weights(n, x, weights);
    lagrange_derivative(n, x, weights, D);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            double u = 0;
            for (int j = 0; j < n; j++) u += D[i * n + j] * pow(x[j], k);
            near(u, k == 0 ? 0 : k * pow(x[i], k - 1), 2e-12);
        }
    /* Extrapolation keeps its digits: x^9 on equispaced nodes, far outside. */
    for (int i = 0; i < 10; i++) x[i] = i / 9.0;
    lagrange_weights(10, x, weights);
    lagrange_row(10, x, weights, 2.0, row);
    double u = 0, scale = 0;
    for (int j = 0; j < 10; j++) u += row[j] * pow(x[j], 9), scale += fabs(row[j]);
    near(u, 512, 1e-15 * scale);
    lagrange_weights(1, x, weights);
    lagrange_row(1, x, weights, 3, row);
    assert_true(weights[0] == 1 && row[0] == 1);
}

/* ---------------------------------------------------------------- threads, memory */

static void test_threads(void **state) {
    (void)state;
    enum { RUNS = 64, N = 9 };
    int size = basis_size(SHAPE_TET, 6), wrong = 0;
    double *x = sample(SHAPE_TET, N), *expected = numbers(N * size);
    ok(basis_lagrange(SHAPE_TET, 6, N, x, expected, NULL));
#pragma omp parallel for num_threads(4) reduction(+ : wrong)
    for (int run = 0; run < RUNS; run++) {
        double values[N * 84];
        if (basis_lagrange(SHAPE_TET, 6, N, x, values, NULL) != FACET_OK) wrong++;
        for (int i = 0; i < N * size; i++) wrong += !(fabs(values[i] - expected[i]) < 1e-12);
    }
    assert_int_equal(wrong, 0);
    test_free(x), test_free(expected);
}

static facet_status everything(void) {
    facet_status status = FACET_OK;
    static const double x[3 * 3] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.1};
    static double values[3 * 64], gradients[3 * 64 * 3];
    TRY(basis_eval(SHAPE_TET, 3, 3, x, values, gradients));
    TRY(basis_eval(SHAPE_HEX, 3, 3, x, values, gradients));
    TRY(basis_lagrange(SHAPE_TET, 3, 3, x, values, gradients));
    TRY(basis_lagrange(SHAPE_QUAD, 3, 3, x, values, gradients));
done:
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
    assert_true(k > 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orthonormal), cmocka_unit_test(test_tensor_products),
        cmocka_unit_test(test_hierarchy),   cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_input),       cmocka_unit_test(test_lattices),
        cmocka_unit_test(test_faces),       cmocka_unit_test(test_barycentric),
        cmocka_unit_test(test_threads),     cmocka_unit_test(test_allocation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
