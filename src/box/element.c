/* Elements in one dimension, and matrices by parity. */
#include "box/element.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/cell_loop.h"
#include "poly/basis.h"
#include "poly/rule.h"

#define SAME 1e-12

/* ------------------------------------------------------------------------------ one element */

void box_element_destroy(struct box_element *element) {
    base_free(&element->nodes);
    *element = (struct box_element){0};
}

/* With k + 1 Gauss points both integrals are exact. Degree 0: the element of a direction that is not there.
 */
/* A constant has no slope: the diagonal is minus the sum of the rest. What rounding leaves of such sums is the
 * same in all cells, and would be a source for a u that is far above its differences. */
static void forget_constants(int n, double *stiffness) {
    for (int i = 0; i < n; i++) {
        long double sum = 0.0L;
        for (int j = 0; j < n; j++)
            if (j != i) sum += stiffness[i * n + j];
        stiffness[i * n + i] = (double)-sum;
    }
}

facet_status box_element_create(int k, struct box_element *e) {
    facet_status status = FACET_OK;
    int n = k + 1;
    double *x = NULL, *w, *values, *slopes;
    *e = (struct box_element){.k = k};
    TRY(CALLOC(e->nodes, n + 2 * n * n));
    e->mass = e->nodes + n;
    e->stiffness = e->mass + n * n;
    TRY(ALLOC(x, 2 * n * (n + 1)));
    w = x + n;
    values = w + n;
    slopes = values + n * n;
    if (k > 0) TRY(rule_gauss_lobatto(n, 0.0, 0.0, e->nodes, w));
    for (int i = 0; i < n; i++) e->nodes[i] = 0.5 * (1.0 + e->nodes[i]);
    TRY(box_gauss(n, x, w));
    TRY(box_element_tables(e, n, x, values, slopes));
    for (int q = 0; q < n; q++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                e->mass[i * n + j] += w[q] * values[q * n + i] * values[q * n + j];
                e->stiffness[i * n + j] += w[q] * slopes[q * n + i] * slopes[q * n + j];
            }
    forget_constants(n, e->stiffness);
done:
    base_free(&x);
    if (status != FACET_OK) box_element_destroy(e);
    return status;
}

/* Products of differences: the nodes are few, and 1 stays exactly 1 at a node. */
void box_element_values(const struct box_element *e, double x, double *values) {
    for (int j = 0; j <= e->k; j++) {
        values[j] = 1.0;
        for (int i = 0; i <= e->k; i++)
            if (i != j) values[j] *= (x - e->nodes[i]) / (e->nodes[j] - e->nodes[i]);
    }
}

/* The slope of a function is the polynomial through its slopes at the nodes. */
facet_status box_element_tables(const struct box_element *e, int n_points, const double *x, double *values,
                                double *slopes) {
    facet_status status = FACET_OK;
    int n = e->k + 1;
    double *weights = NULL, *D;
    TRY(ALLOC(weights, n + n * n));
    D = weights + n;
    lagrange_weights(n, e->nodes, weights);
    lagrange_derivative(n, e->nodes, weights, D);
    memset(slopes, 0, (size_t)n_points * (size_t)n * sizeof *slopes);
    for (int q = 0; q < n_points; q++) {
        double *row = values + q * n;
        box_element_values(e, x[q], row);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) slopes[q * n + j] += row[i] * D[i * n + j];
    }
done:
    base_free(&weights);
    return status;
}

void box_element_add(const struct box_element *e, double h, const int *rows, const int *columns, int step,
                     double *M, double *A) {
    int n = e->k + 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (rows[i] < 0 || columns[j] < 0) continue;
            M[(int64_t)rows[i] * step + columns[j]] += h * e->mass[i * n + j];
            A[(int64_t)rows[i] * step + columns[j]] += e->stiffness[i * n + j] / h;
        }
}

/* ------------------------------------------------------------------------------ blocks */

int box_is_symmetric(int m, const double *B) {
    int with = m + 2;
    double largest = 0.0, difference = 0.0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < with; j++) {
            int at = i * with + j, mirror = (m - 1 - i) * with + with - 1 - j;
            largest = fmax(largest, fabs(B[at]));
            difference = fmax(difference, fabs(B[at] - B[mirror]));
        }
    return difference <= SAME * largest;
}

/* C[a][i] = one block of `rows` (modes from nodes) or its transpose. */
static double *put_block(double *to, int m, int first, int count, const double *rows, int by_rows) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            *to++ = by_rows ? rows[(first + i) * m + j] : rows[(first + j) * m + i];
    return to;
}

void box_put_blocks(double *to, int m, int even, const double *rows, int transposed) {
    to = put_block(to, m, 0, even > 0 ? even : m, rows, !transposed);
    if (even > 0) put_block(to, m, even, m - even, rows, !transposed);
}
