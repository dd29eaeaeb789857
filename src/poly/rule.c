/* Quadrature rules on the reference cells as products of 1D rules. A simplex is the image of the unit box
 * under
 *
 *     x_l = u_l prod_(j>l) (1 - u_j),      dx = prod_l (1 - u_l)^l du,
 *
 * and the power of (1-u_l) goes into the weight of a Gauss-Jacobi rule, so that polynomials of total degree
 * up to 2n-1 are integrated exactly with n points per direction. */
#include "poly/rule.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* A 1D rule moved to [0,1]. */
struct line {
    int n;
    double *x, *w;
};

typedef facet_status line_family(int n, double a, double b, double *x, double *w);

static void line_free(struct line *line) {
    base_free(&line->x);
    base_free(&line->w);
}

/* The rule of the family for the weight (1-u)^a on [0,1]. */
static facet_status line_make(line_family *family, int n, int a, struct line *line) {
    facet_status status = FACET_OK;
    *line = (struct line){.n = n};
    TRY(ALLOC(line->x, n));
    TRY(ALLOC(line->w, n));
    TRY(family(n, a, 0.0, line->x, line->w));
    for (int i = 0; i < n; i++) {
        line->x[i] = (1 + line->x[i]) / 2;
        line->w[i] = ldexp(line->w[i], -(a + 1));
    }
done:
    if (status != FACET_OK) line_free(line);
    return status;
}

void rule_destroy(struct rule *rule) {
    base_free(&rule->x);
    base_free(&rule->w);
    *rule = (struct rule){0};
}

static facet_status rule_alloc(enum shape shape, int n, struct rule *rule) {
    facet_status status = FACET_OK;
    *rule = (struct rule){.shape = shape, .dim = shape_dim(shape), .n = n};
    TRY(ALLOC(rule->x, (size_t)n * (size_t)rule->dim));
    TRY(ALLOC(rule->w, n));
done:
    if (status != FACET_OK) rule_destroy(rule);
    return status;
}

/* The product of dim lines, the first coordinate fastest; collapsed for simplices. */
static facet_status rule_product(enum shape shape, const struct line *lines, struct rule *rule) {
    facet_status status = FACET_OK;
    int dim = shape_dim(shape), n = 1;
    for (int d = 0; d < dim; d++) n *= lines[d].n;
    TRY(rule_alloc(shape, n, rule));
    for (int i = 0; i < n; i++) {
        int index[3] = {0}, rest = i;
        double shrink = 1.0, *x = rule->x + (size_t)i * (size_t)dim;
        for (int d = 0; d < dim; d++) {
            index[d] = rest % lines[d].n;
            rest /= lines[d].n;
        }
        rule->w[i] = 1.0;
        for (int d = dim - 1; d >= 0; d--) {
            double u = lines[d].x[index[d]];
            x[d] = u * shrink;
            rule->w[i] *= lines[d].w[index[d]];
            if (shape_is_simplex(shape)) shrink *= 1 - u;
        }
    }
done:
    return status;
}

facet_status rule_create_points(enum shape shape, int n, struct rule *rule) {
    facet_status status = FACET_OK;
    struct line lines[3] = {{0}};
    *rule = (struct rule){0};
    if (n < 1) FAIL(FACET_ERROR_INPUT, "a quadrature rule with %d points per direction: at least 1", n);
    for (int d = 0; d < shape_dim(shape); d++)
        TRY(line_make(rule_gauss_jacobi, n, shape_is_simplex(shape) ? d : 0, &lines[d]));
    TRY(rule_product(shape, lines, rule));
done:
    for (int d = 0; d < 3; d++) line_free(&lines[d]);
    return status;
}

facet_status rule_create(enum shape shape, int degree, struct rule *rule) {
    *rule = (struct rule){0};
    if (degree < 0)
        return base_fail(FACET_ERROR_INPUT, "a quadrature rule of degree %d: the degree must be at least 0",
                         degree);
    return rule_create_points(shape, degree / 2 + 1, rule);
}

facet_status rule_create_collapsed_lobatto_radau(int n_lobatto, int n_radau, struct rule *rule) {
    facet_status status = FACET_OK;
    struct line lines[2] = {{0}};
    *rule = (struct rule){0};
    if (n_lobatto < 2 || n_radau < 1)
        FAIL(FACET_ERROR_INPUT, "a collapsed rule of %d Lobatto times %d Radau points: at least 2 and 1",
             n_lobatto, n_radau);
    TRY(line_make(rule_gauss_lobatto, n_lobatto, 0, &lines[0]));
    TRY(line_make(rule_gauss_radau, n_radau, 1, &lines[1]));
    TRY(rule_product(SHAPE_TRIANGLE, lines, rule));
done:
    line_free(&lines[0]);
    line_free(&lines[1]);
    return status;
}

facet_status rule_copy(const struct rule *from, struct rule *to) {
    facet_status status = FACET_OK;
    TRY(rule_alloc(from->shape, from->n, to));
    if (from->dim > 0) memcpy(to->x, from->x, sizeof *to->x * (size_t)from->n * (size_t)from->dim);
    if (from->n > 0) memcpy(to->w, from->w, sizeof *to->w * (size_t)from->n);
done:
    return status;
}
