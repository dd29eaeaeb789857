/* What the tests of the room poly share: comparisons, sample points, and the monomials with their exact
 * integrals. */
#ifndef FACET_TESTS_POLY_HELPERS_H
#define FACET_TESTS_POLY_HELPERS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "poly/rule.h"

static const enum shape all_shapes[] = {SHAPE_POINT, SHAPE_SEGMENT, SHAPE_TRIANGLE, SHAPE_QUAD,
                                        SHAPE_TET,   SHAPE_HEX,     SHAPE_PRISM,    SHAPE_PYRAMID};
#define N_SHAPES (int)(sizeof all_shapes / sizeof *all_shapes)

static inline void ok(facet_status status) {
    if (status != FACET_OK) fail_msg("%s", base_message());
}

static inline void near(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g and %.17g differ by more than %g", a, b, tolerance);
}

static inline double *numbers(int n) {
    double *p = test_malloc(((size_t)n + 1) * sizeof *p);
    for (int i = 0; i <= n; i++) p[i] = NAN;
    return p;
}

static inline double random_unit(void) {
    return rand() / (RAND_MAX + 1.0);
}

/* n points in and around the cell; the vertices come first, as many as there is room for. */
static inline double *sample(enum shape shape, int n) {
    int dim = shape_dim(shape), n_vertices = shape_n_vertices(shape);
    double *x = numbers(n * dim);
    for (int i = 0; i < n; i++)
        for (int d = 0; d < dim; d++)
            x[i * dim + d] = i < n_vertices ? shape_vertices(shape)[i * dim + d] : random_unit();
    for (int i = n_vertices; i < n && shape == SHAPE_PYRAMID; i++) /* inside: u and v are not large */
        for (int d = 0; d < 2; d++) x[i * dim + d] *= 1 - x[i * dim + 2];
    return x;
}

static inline double factorial(int n) {
    return tgamma(n + 1.0);
}

/* The integral of x^i y^j z^k over the unit cell. */
static inline double monomial_integral(enum shape shape, const int *power) {
    int dim = shape_dim(shape), sum = dim;
    double tensor = 1, simplex = 1;
    for (int d = 0; d < dim; d++) {
        tensor /= power[d] + 1;
        simplex *= factorial(power[d]);
        sum += power[d];
    }
    if (shape == SHAPE_PRISM)
        return monomial_integral(SHAPE_TRIANGLE, power) * monomial_integral(SHAPE_SEGMENT, power + 2);
    if (shape == SHAPE_PYRAMID)
        return factorial(power[2]) * factorial(power[0] + power[1] + 2) / factorial(sum) /
               ((power[0] + 1) * (power[1] + 1));
    return shape_is_simplex(shape) ? simplex / factorial(sum) : tensor;
}

static inline double monomial(int dim, const int *power, const double *x) {
    double value = 1;
    for (int d = 0; d < dim; d++) value *= pow(x[d], power[d]);
    return value;
}

/* The next tuple of powers within the space of the degree; 0 after the last. */
static inline int next_power(enum shape shape, int degree, int *power) {
    for (int d = 0; d < shape_dim(shape); d++) {
        power[d]++;
        int total = shape_is_simplex(shape) || shape == SHAPE_PYRAMID;
        int size = total                           ? power[0] + power[1] + power[2]
                   : shape == SHAPE_PRISM && d < 2 ? power[0] + power[1]
                                                   : power[d];
        if (size <= degree) return 1;
        power[d] = 0;
    }
    return 0;
}

/* Exact for the monomials up to the degree, to rounding. */
static inline void check_rule(const struct rule *rule, int degree) {
    int power[3] = {0}, n = rule->n, dim = rule->dim;
    double *powers = numbers((degree + 1) * dim * n); /* power x coordinate x point */
    for (int p = 0; p <= degree; p++)
        for (int d = 0; d < dim; d++)
            for (int i = 0; i < n; i++) powers[(p * dim + d) * n + i] = pow(rule->x[i * dim + d], p);
    do {
        double sum = 0, exact = monomial_integral(rule->shape, power);
        for (int i = 0; i < n; i++) {
            double value = rule->w[i];
            for (int d = 0; d < dim; d++) value *= powers[(power[d] * dim + d) * n + i];
            sum += value;
        }
        near(sum / exact, 1.0, 4e-14);
    } while (next_power(rule->shape, degree, power));
    test_free(powers);
}

#endif
