/* Quadrature rules on the reference cells as products of 1D rules. A simplex is the image of the unit box
 * under
 *
 *     x_l = u_l prod_(j>l) (1 - u_j),      dx = prod_l (1 - u_l)^l du,
 *
 * and the power of (1-u_l) goes into the weight of a Gauss-Jacobi rule, so that polynomials of total degree
 * up to 2n-1 are integrated exactly with n points per direction. */
#include "poly/rule.h"

#include <math.h>

#include "base/memory.h"

/* A 1D rule moved to [0,1]. */
struct line {
    int n;
    double *x, *w;
};

static void line_free(struct line *line) {
    base_free(&line->x);
    base_free(&line->w);
}

/* The Gauss rule for the weight (1-u)^a on [0,1]. */
static facet_status line_make(int n, int a, struct line *line) {
    facet_status status = FACET_OK;
    *line = (struct line){.n = n};
    TRY(ALLOC(line->x, n));
    TRY(ALLOC(line->w, n));
    TRY(rule_gauss_jacobi(n, a, 0.0, line->x, line->w));
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

/* The product of dim lines, the first coordinate fastest; collapsed for simplices. */
static facet_status rule_product(enum shape shape, const struct line *lines, struct rule *rule) {
    facet_status status = FACET_OK;
    int dim = shape_dim(shape), n = 1;
    for (int d = 0; d < dim; d++) n *= lines[d].n;
    *rule = (struct rule){.shape = shape, .dim = dim, .n = n};
    TRY(ALLOC(rule->x, (size_t)n * (size_t)dim));
    TRY(ALLOC(rule->w, n));
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
    if (status != FACET_OK) rule_destroy(rule);
    return status;
}

facet_status rule_create(enum shape shape, int degree, struct rule *rule) {
    facet_status status = FACET_OK;
    struct line lines[3] = {{0}};
    *rule = (struct rule){0};
    if (degree < 0)
        FAIL(FACET_ERROR_INPUT, "a quadrature rule of degree %d: the degree must be at least 0", degree);
    for (int d = 0; d < shape_dim(shape); d++)
        TRY(line_make(degree / 2 + 1, shape_is_simplex(shape) ? d : 0, &lines[d]));
    TRY(rule_product(shape, lines, rule));
done:
    for (int d = 0; d < 3; d++) line_free(&lines[d]);
    return status;
}
