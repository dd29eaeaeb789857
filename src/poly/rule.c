/* Quadrature rules on the reference cells: symmetric ones from a table where it has one with fewer points,
 * else products of 1D rules. A simplex is the image of the unit box under
 *
 *     x_l = u_l prod_(j>l) (1 - u_j),      dx = prod_l (1 - u_l)^l du,
 *
 * and the power of (1-u_l) goes into the weight of a Gauss-Jacobi rule, so that polynomials of total degree
 * up to 2n-1 are integrated exactly with n points per direction. */
#include "poly/rule.h"

#include <math.h>

#include "base/memory.h"
#include "poly/rule_tables.h"

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

/* How many axes x_d shortens: the power of (1 - u_d) in dx. */
static int power_of(enum shape shape, int d) {
    int n = 0;
    for (int l = 0; l < d; l++) n += shape_shortened(shape, l) >> d & 1;
    return n;
}

/* The product of dim lines, the first coordinate fastest; collapsed where axes are shortened. */
static facet_status rule_product(enum shape shape, const struct line *lines, struct rule *rule) {
    facet_status status = FACET_OK;
    int dim = shape_dim(shape), n = 1;
    for (int d = 0; d < dim; d++) n *= lines[d].n;
    *rule = (struct rule){.shape = shape, .dim = dim, .n = n};
    TRY(ALLOC(rule->x, (size_t)n * (size_t)dim));
    TRY(ALLOC(rule->w, n));
    for (int i = 0; i < n; i++) {
        int index[3] = {0}, rest = i;
        double *x = rule->x + (size_t)i * (size_t)dim;
        for (int d = 0; d < dim; d++) {
            index[d] = rest % lines[d].n;
            rest /= lines[d].n;
        }
        rule->w[i] = 1.0;
        for (int d = dim - 1; d >= 0; d--) {
            double shrink = 1.0;
            for (int j = dim - 1; j > d; j--)
                if (shape_shortened(shape, d) >> j & 1) shrink *= 1 - lines[j].x[index[j]];
            x[d] = lines[d].x[index[d]] * shrink;
            rule->w[i] *= lines[d].w[index[d]];
        }
    }
done:
    if (status != FACET_OK) rule_destroy(rule);
    return status;
}

facet_status rule_create_product(enum shape shape, int degree, struct rule *rule) {
    facet_status status = FACET_OK;
    struct line lines[3] = {{0}};
    *rule = (struct rule){0};
    if (degree < 0)
        FAIL(FACET_ERROR_INPUT, "a quadrature rule of degree %d: the degree must be at least 0", degree);
    for (int d = 0; d < shape_dim(shape); d++) TRY(line_make(degree / 2 + 1, power_of(shape, d), &lines[d]));
    TRY(rule_product(shape, lines, rule));
done:
    for (int d = 0; d < 3; d++) line_free(&lines[d]);
    return status;
}

/* ------------------------------------------------------------------------------ symmetric rules on simplices
 */

/* Which of the barycentric coordinates of an orbit are equal, by the kinds of the table. */
static const int triangle_kinds[][4] = {{0, 0, 0}, {0, 0, 1}, {0, 1, 2}};
static const int tet_kinds[][4] = {{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 1}, {0, 0, 1, 2}, {0, 1, 2, 3}};

/* The next arrangement of n labels in lexicographic order; 0 after the last. */
static int rearrange(int n, int *labels) {
    int i = n - 2, j = n - 1;
    while (i >= 0 && labels[i] >= labels[i + 1]) i--;
    if (i < 0) return 0;
    while (labels[j] <= labels[i]) j--;
    int kept = labels[i];
    labels[i] = labels[j];
    labels[j] = kept;
    for (i++, j = n - 1; i < j; i++, j--) {
        kept = labels[i];
        labels[i] = labels[j];
        labels[j] = kept;
    }
    return 1;
}

/* One orbit; returns the number of its points. */
static int put_orbit(int dim, const int *kind, const double *numbers, double *x, double *w) {
    int labels[4], n_values = kind[dim] + 1, n_last = 0, n = 0;
    double values[4], rest = 1.0;
    for (int i = 0; i < n_values - 1; i++) values[i] = numbers[1 + i];
    for (int i = 0; i <= dim; i++) {
        labels[i] = kind[i];
        n_last += kind[i] == n_values - 1;
        if (kind[i] < n_values - 1) rest -= values[kind[i]];
    }
    values[n_values - 1] = rest / n_last;
    do {
        for (int d = 0; d < dim; d++) x[n * dim + d] = values[labels[d + 1]];
        w[n++] = numbers[0];
    } while (rearrange(dim + 1, labels));
    return n;
}

static facet_status rule_from_table(enum shape shape, const struct rule_table *table, struct rule *rule) {
    facet_status status = FACET_OK;
    const int(*kinds)[4] = shape == SHAPE_TET ? tet_kinds : triangle_kinds;
    const double *numbers = table->numbers;
    int dim = shape_dim(shape), n = 0;
    *rule = (struct rule){.shape = shape, .dim = dim, .n = table->n};
    TRY(ALLOC(rule->x, rule->n * dim));
    TRY(ALLOC(rule->w, rule->n));
    for (int k = 0; k < RULE_TABLE_KINDS; k++)
        for (int i = 0; i < table->n_orbits[k]; i++, numbers += 1 + kinds[k][dim])
            n += put_orbit(dim, kinds[k], numbers, rule->x + n * dim, rule->w + n);
done:
    if (status != FACET_OK) rule_destroy(rule);
    return status;
}

/* The rule of the table with the fewest points that is exact to the degree; NULL when the product has fewer.
 */
static const struct rule_table *find_table(enum shape shape, int degree) {
    const struct rule_table *rules = shape == SHAPE_TET ? tet_rules : triangle_rules, *best = NULL;
    int n_rules = shape == SHAPE_TET        ? (int)(sizeof tet_rules / sizeof *tet_rules)
                  : shape == SHAPE_TRIANGLE ? (int)(sizeof triangle_rules / sizeof *triangle_rules)
                                            : 0;
    int n = degree / 2 + 1;
    for (int d = 1; d < shape_dim(shape); d++) n *= degree / 2 + 1;
    for (int i = 0; i < n_rules; i++)
        if (rules[i].degree >= degree && rules[i].n < n) best = &rules[i], n = rules[i].n;
    return best;
}

/* A rule of the triangle at every point of one of the line. */
static facet_status rule_prism(int degree, struct rule *rule) {
    facet_status status = FACET_OK;
    struct rule plane = {0};
    struct line line = {0};
    TRY(rule_create(SHAPE_TRIANGLE, degree, &plane));
    TRY(line_make(degree / 2 + 1, 0, &line));
    *rule = (struct rule){.shape = SHAPE_PRISM, .dim = 3, .n = plane.n * line.n};
    TRY(ALLOC(rule->x, rule->n * 3));
    TRY(ALLOC(rule->w, rule->n));
    for (int i = 0; i < rule->n; i++) {
        for (int d = 0; d < 2; d++) rule->x[3 * i + d] = plane.x[2 * (i % plane.n) + d];
        rule->x[3 * i + 2] = line.x[i / plane.n];
        rule->w[i] = plane.w[i % plane.n] * line.w[i / plane.n];
    }
done:
    rule_destroy(&plane);
    line_free(&line);
    if (status != FACET_OK) rule_destroy(rule);
    return status;
}

facet_status rule_create(enum shape shape, int degree, struct rule *rule) {
    *rule = (struct rule){0};
    if (shape == SHAPE_PRISM && degree >= 0) return rule_prism(degree, rule);
    const struct rule_table *table = find_table(shape, degree);
    return table != NULL ? rule_from_table(shape, table, rule) : rule_create_product(shape, degree, rule);
}
