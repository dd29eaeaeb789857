/* Extremes of polynomials on reference cells (poly/peak.h), against closed forms and dense samples. */
#include "poly/basis.h"
#include "poly/hull.h"
#include "poly/peak.h"
#include "tests/poly_helpers.h"

enum { FIRST_CELL = 1 }; /* of all_shapes: the point has no extremes */

/* n polynomials at points, which a callback knows. */
typedef void (*filler)(const void *user, int n, const double *x, double *values);

static double search(enum shape shape, int degree, const struct peak_goal *goal, filler fill,
                     const void *user, double *xi) {
    struct peak_table table;
    double most, t[3] = {0};
    ok(peak_table_create(shape_dim(shape), degree, goal->squares, &table));
    const int n = (int)peak_n_points(&table);
    double *x = numbers(n * table.dim), *values = numbers(n * goal->n),
           *scratch = numbers((int)peak_scratch(&table, goal->n));
    peak_points(&table, shape, x);
    fill(user, n, x, values);
    peak_find(&table, goal, values, scratch, &most, t);
    peak_point(shape, t, xi);
    test_free(x);
    test_free(values);
    test_free(scratch);
    peak_table_destroy(&table);
    return most;
}

/* The outward unit normal of a face, and whether a point lies in it. */
static int find_normal(enum shape shape, int face, const double *at, double *normal) {
    const int dim = shape_dim(shape), *v = shape_face_vertices(shape, face);
    const double *all = shape_vertices(shape), *a = all + v[0] * dim, *b = dim > 1 ? all + v[1] * dim : a;
    double length = 0.0, distance = 0.0;
    if (dim == 1) {
        normal[0] = face ? 1.0 : -1.0;
    } else if (dim == 2) {
        normal[0] = b[1] - a[1];
        normal[1] = a[0] - b[0];
    } else {
        const double *c = all + v[2] * dim;
        for (int d = 0; d < 3; d++) {
            const int e = (d + 1) % 3, g = (d + 2) % 3;
            normal[d] = (b[e] - a[e]) * (c[g] - a[g]) - (b[g] - a[g]) * (c[e] - a[e]);
        }
    }
    for (int d = 0; d < dim; d++) length += normal[d] * normal[d];
    for (int d = 0; d < dim; d++) {
        normal[d] /= sqrt(length);
        distance += normal[d] * (at[d] - a[d]);
    }
    return fabs(distance) < 1e-12;
}

struct ball {
    int dim;
    const double *centre;
};
static void fill_distance(const void *user, int n, const double *x, double *values) {
    const struct ball *b = user;
    for (int p = 0; p < n; p++) {
        values[p] = 3.0;
        for (int d = 0; d < b->dim; d++) values[p] -= pow(x[p * b->dim + d] - b->centre[d], 2);
    }
}
static void fill_vector(const void *user, int n, const double *x, double *values) {
    const struct ball *b = user;
    for (int i = 0; i < n * b->dim; i++) values[i] = x[i] - b->centre[i % b->dim];
}

/* 3 - |x - c|^2 is greatest at the point of the cell next to c: inside, in a face, an edge, or at a vertex.
 * The same as the least length of the vector x - c. */
static void one_point(enum shape shape, const double *at, double out) {
    const int dim = shape_dim(shape);
    double centre[3] = {0}, xi[3], square = 0.0;
    memcpy(centre, at, (size_t)dim * sizeof *at);
    for (int f = 0; f < shape_n_faces(shape); f++) {
        double normal[3];
        if (!find_normal(shape, f, at, normal)) continue;
        for (int d = 0; d < dim; d++) centre[d] += out * normal[d];
    }
    for (int d = 0; d < dim; d++) square += pow(centre[d] - at[d], 2);
    const struct ball ball = {dim, centre};
    for (int degree = 2; degree <= 6; degree += 2) {
        const struct peak_goal plain = {1, 0, 0, 1.0, -INFINITY, 1e-13, 1e-11},
                               squares = {dim, 1, 0, -1.0, -INFINITY, 1e-13, 1e-11};
        near(search(shape, degree, &plain, fill_distance, &ball, xi), 3.0 - square, 1e-13);
        for (int d = 0; d < dim; d++) near(xi[d], at[d], 1e-7);
        near(search(shape, degree, &squares, fill_vector, &ball, xi), -square, 1e-13);
        for (int d = 0; d < dim; d++) near(xi[d], at[d], 1e-7);
    }
}

static void inside_and_on_faces_edges_and_vertices(void **state) {
    (void)state;
    for (int s = FIRST_CELL; s < N_SHAPES; s++) {
        const enum shape shape = all_shapes[s];
        const int dim = shape_dim(shape), n = shape_n_vertices(shape);
        const double *v = shape_vertices(shape);
        double middle[3] = {0};
        for (int i = 0; i < n; i++)
            for (int d = 0; d < dim; d++)
                middle[d] += v[i * dim + d] * (1.0 + 0.3 * i) / (n + 0.15 * n * (n - 1));
        one_point(shape, middle, 0.0);
        for (int i = 0; i < n; i++) one_point(shape, v + i * dim, 0.2);
        for (int f = 0; f < shape_n_faces(shape) && dim > 1; f++) { /* a point of the face, and of an edge */
            const int *w = shape_face_vertices(shape, f),
                      n_face = shape_n_vertices(shape_face_shape(shape, f));
            double at[3] = {0}, edge[3] = {0};
            for (int d = 0; d < dim; d++) {
                for (int i = 0; i < n_face; i++) at[d] += v[w[i] * dim + d] / n_face;
                at[d] += 0.3 * (v[w[0] * dim + d] - at[d]);
                edge[d] = 0.37 * v[w[0] * dim + d] + 0.63 * v[w[1] * dim + d];
            }
            one_point(shape, at, 0.0); /* where the slope across vanishes */
            one_point(shape, at, 0.2);
            one_point(shape, edge, 0.1);
        }
    }
}

struct combination {
    enum shape shape;
    int degree, components;
    const double *coefficients; /* components x size */
};
static void fill_combination(const void *user, int n, const double *x, double *values) {
    const struct combination *c = user;
    const int size = basis_size(c->shape, c->degree);
    double *phi = numbers(n * size);
    ok(basis_eval(c->shape, c->degree, n, x, phi, NULL));
    for (int p = 0; p < n; p++)
        for (int k = 0; k < c->components; k++) {
            double sum = 0.0;
            for (int i = 0; i < size; i++) sum += c->coefficients[k * size + i] * phi[p * size + i];
            values[p * c->components + k] = sum;
        }
    test_free(phi);
}

static double value_of(const struct combination *c, const struct peak_goal *goal, const double *v) {
    double sum = 0.0;
    for (int k = 0; k < c->components; k++) sum += v[k] * v[k];
    return goal->sign * (goal->squares ? sum : v[0]);
}

/* Random polynomials: what is found is a value of theirs, at its place, and no dense sample is greater; and
 * none is beyond the reach of the samples. */
static void random_polynomials(void **state) {
    (void)state;
    srand(3);
    for (int s = FIRST_CELL; s < N_SHAPES; s++)
        for (int degree = 1; degree <= 8; degree++)
            for (int kind = 0; kind < 4; kind++) {
                const enum shape shape = all_shapes[s];
                const int components = kind < 2 ? 1 : 2, size = basis_size(shape, degree),
                          dim = shape_dim(shape);
                const struct peak_goal goal = {components, kind > 1, 0,    kind % 2 ? -1.0 : 1.0,
                                               -INFINITY,  1e-12,    1e-10};
                double *c = numbers(components * size), xi[3], here[2];
                for (int i = 0; i < components * size; i++) c[i] = (random_unit() - 0.5) / (1 + i % size);
                const struct combination f = {shape, degree, components, c};
                const double found = search(shape, degree, &goal, fill_combination, &f, xi);
                fill_combination(&f, 1, xi, here);
                near(value_of(&f, &goal, here), found, 1e-11);
                const int fine = dim == 3 ? 20 : 80, n = shape_n_nodes(shape, fine);
                double *x = numbers(n * dim), *values = numbers(n * components);
                shape_samples(shape, fine, x);
                fill_combination(&f, n, x, values);
                for (int p = 0; p < n; p++)
                    assert_true(value_of(&f, &goal, values + p * components) <= found + 1e-11);
                const int order = peak_sample_order(degree, 10), m = shape_n_nodes(shape, order);
                double *y = numbers(m * dim), *few = numbers(m * components), low = INFINITY,
                       high = -INFINITY;
                shape_samples(shape, order, y);
                fill_combination(&f, m, y, few);
                for (int p = 0; p < m; p++) {
                    low = fmin(low, few[p * components]);
                    high = fmax(high, few[p * components]);
                }
                const double far = peak_reach(shape, degree, order) * 0.5 * (high - low) + 1e-12;
                for (int p = 0; p < n; p++)
                    assert_true(fabs(values[p * components] - 0.5 * (low + high)) <= far);
                test_free(c);
                test_free(x);
                test_free(values);
                test_free(y);
                test_free(few);
            }
}

/* values (n x components) at points whose functions are phi. */
static void sum_functions(const struct combination *c, int n, const double *phi, double *values) {
    const int size = basis_size(c->shape, c->degree);
    memset(values, 0, (size_t)(n * c->components) * sizeof *values);
    for (int p = 0; p < n; p++)
        for (int k = 0; k < c->components; k++)
            for (int i = 0; i < size; i++)
                values[p * c->components + k] += c->coefficients[k * size + i] * phi[p * size + i];
}

/* Polynomials without any order in their coefficients have several extremes, on faces and edges too: in
 * `draws` of them no dense sample exceeds what is found. */
static void draw_polynomials(enum shape shape, int degree, int draws) {
    const int size = basis_size(shape, degree), dim = shape_dim(shape), fine = dim == 3 ? 14 : 50,
              n = shape_n_nodes(shape, fine);
    struct peak_table tables[2];
    for (int squares = 0; squares < 2; squares++)
        ok(peak_table_create(dim, degree, squares, &tables[squares]));
    const int m = (int)peak_n_points(&tables[0]);
    double *x = numbers(n * dim), *y = numbers(m * dim), *at_x = numbers(n * size), *at_y = numbers(m * size),
           *c = numbers(3 * size), *dense = numbers(3 * n), *values = numbers(3 * m),
           *scratch = numbers((int)peak_scratch(&tables[1], 3));
    shape_samples(shape, fine, x);
    peak_points(&tables[0], shape, y);
    ok(basis_eval(shape, degree, n, x, at_x, NULL));
    ok(basis_eval(shape, degree, m, y, at_y, NULL));
    for (int draw = 0; draw < draws; draw++) {
        const int kind = draw % 8, squares = kind > 5, components = squares ? dim : 1;
        const struct peak_goal goal = {components, squares, 0,    kind % 2 ? -1.0 : 1.0,
                                       -INFINITY,  1e-12,   1e-10};
        const struct combination f = {shape, degree, components, c};
        double most, t[3];
        for (int i = 0; i < components * size; i++) c[i] = 2.0 * random_unit() - 1.0;
        sum_functions(&f, n, at_x, dense);
        sum_functions(&f, m, at_y, values);
        peak_find(&tables[squares], &goal, values, scratch, &most, t);
        for (int p = 0; p < n; p++) assert_true(value_of(&f, &goal, dense + p * components) <= most + 1e-9);
    }
    for (int squares = 0; squares < 2; squares++) peak_table_destroy(&tables[squares]);
    double *const all[] = {x, y, at_x, at_y, c, dense, values, scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) test_free(all[i]);
}

static void nothing_greater_is_left(void **state) {
    (void)state;
    srand(8);
    for (int s = FIRST_CELL; s < N_SHAPES; s++)
        for (int degree = 1; degree <= 8; degree++)
            draw_polynomials(all_shapes[s], degree,
                             shape_dim(all_shapes[s]) < 3 ? 1000
                             : degree < 5                 ? 400
                                                          : 40);
}

/* The slope is zero along a line: bounds cannot tell its points apart. */
static void fill_ridge(const void *user, int n, const double *x, double *values) {
    const int dim = *(const int *)user;
    for (int p = 0; p < n; p++) {
        double sum = -0.41;
        for (int d = 0; d < dim; d++) sum += (1.0 + 0.3 * d) * x[p * dim + d];
        values[p] = -sum * sum;
    }
}
static void ridges(void **state) {
    (void)state;
    for (int s = FIRST_CELL; s < N_SHAPES; s++)
        for (int degree = 2; degree <= 6; degree += 2) {
            const int dim = shape_dim(all_shapes[s]);
            const struct peak_goal goal = {1, 0, 0, 1.0, -INFINITY, 1e-12, 1e-10};
            double xi[3];
            near(search(all_shapes[s], degree, &goal, fill_ridge, &dim, xi), 0.0, 1e-12);
        }
}

static void fill_flat(const void *user, int n, const double *x, double *values) {
    (void)x;
    for (int p = 0; p < n; p++) values[p] = *(const double *)user;
}

/* A constant has its extreme anywhere: at the first point. Nothing is found where all is too low. */
static void flat_fields(void **state) {
    (void)state;
    for (int s = FIRST_CELL; s < N_SHAPES; s++) {
        const double value = 0.1;
        struct peak_goal goal = {1, 0, 0, 1.0, -INFINITY, 1e-13, 1e-11};
        double xi[3];
        near(search(all_shapes[s], 5, &goal, fill_flat, &value, xi), value, 1e-14);
        for (int d = 0; d < shape_dim(all_shapes[s]); d++) assert_true(xi[d] >= 0.0 && xi[d] <= 1.0);
        goal.low = 0.2;
        assert_true(search(all_shapes[s], 5, &goal, fill_flat, &value, xi) == -INFINITY);
    }
}

/* Samples lie in the cell, its vertices among them, at the numbers of the lattice. */
static void samples_of_shapes(void **state) {
    (void)state;
    for (int s = FIRST_CELL; s < N_SHAPES; s++)
        for (int order = 1; order <= 9; order++) {
            const enum shape shape = all_shapes[s];
            const int dim = shape_dim(shape), n = shape_n_nodes(shape, order);
            double *x = numbers(n * dim);
            shape_samples(shape, order, x);
            for (int p = 0; p < n; p++)
                for (int d = 0; d < dim; d++)
                    assert_true(x[p * dim + d] >= 0.0 && shape_room(shape, d, x + p * dim) >= -1e-15);
            for (int v = 0; v < shape_n_vertices(shape); v++)
                for (int d = 0; d < dim; d++)
                    near(x[shape_vertex_node(shape, order, v) * dim + d], shape_vertices(shape)[v * dim + d],
                         1e-15);
            test_free(x);
        }
}

/* The hull of the unit vectors is 1/sqrt(n) from the origin, moved away and turned as well; what is found is
 * a point of the hull, and no bound exceeds the distance. */
static void test_hull(void **state) {
    (void)state;
    for (int n = 1; n <= 6; n++)
        for (int moved = 0; moved <= 3; moved++) {
            double points[6 * 7] = {0.0}, room[14], x[HULL_MOST], square = 0.0;
            const int count = n + 1; /* the last is their mean, twice as far */
            for (int d = 0; d < n; d++)
                for (int i = 0; i < count; i++)
                    points[d * count + i] = (i < n ? i == d : 2.0 / n) + moved * (d % 2 ? -1.0 : 1.0);
            const double bound = hull_distance(n, count, points, 0.0, room, x);
            for (int d = 0; d < n; d++) square += x[d] * x[d];
            assert_true(bound <= sqrt(square) + 1e-13 && bound >= 0.9 * sqrt(square) - 1e-12);
            for (int trial = 0; trial < 200; trial++) { /* other points of the hull */
                double weights[7], sum = 0.0, other = 0.0;
                for (int i = 0; i < count; i++) sum += weights[i] = pow((trial * 37 + i * 61) % 97 / 97.0, 4);
                for (int d = 0; d < n; d++) {
                    double y = 0.0;
                    for (int i = 0; i < count; i++) y += weights[i] / sum * points[d * count + i];
                    other += y * y;
                }
                assert_true(sqrt(other) >= bound - 1e-13);
            }
            if (moved == 0) assert_true(fabs(bound - sqrt(1.0 / n)) < 1e-2 && bound <= sqrt(1.0 / n) + 1e-13);
            assert_true(hull_distance(n, count, points, 2.0 * sqrt(square) + 1.0, room, x) <= bound + 1e-13);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_shapes),
        cmocka_unit_test(inside_and_on_faces_edges_and_vertices),
        cmocka_unit_test(random_polynomials),
        cmocka_unit_test(nothing_greater_is_left),
        cmocka_unit_test(ridges),
        cmocka_unit_test(flat_fields),
        cmocka_unit_test(test_hull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
