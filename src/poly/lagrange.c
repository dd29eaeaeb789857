/* Lagrange interpolation: barycentric in 1D, and the bases on the equispaced lattices of the reference cells.
 * Tensor cells are products of the 1D rows. On simplices the functions have Silvester's closed form: with the
 * barycentric coordinates z_b of a point and m_b = g z_b those of the node, which sum to the order g,
 *
 *     l(x) = prod_b R_(m_b)(z_b),        R_m(z) = prod_(s<m) (g z - s)/(s + 1).
 *
 * In both forms the functions of the nodes off a face vanish on it exactly and not only to rounding, so that
 * the map of a cell takes its faces to where their own nodes are. */
#include <math.h>
#include <stddef.h>

#include "poly/basis.h"
#include "poly/pyramid.h"

#define ORDER_MAX 10
/* A barycentric coordinate this small is a zero that was rounded. */
#define ON_FACE 1e-15

/* 1/prod_k (x_j - x_k), with mantissa and exponent apart, since the products leave the range of a double for
 * a few hundred nodes. */
void lagrange_weights(int n, const double *nodes, double *weights) {
    double largest = 0.0;
    int top = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < n; j++) {
            double mantissa = 1.0;
            int exponent = 0, shift;
            for (int k = 0; k < n; k++) {
                if (k == j) continue;
                mantissa = frexp(mantissa / (nodes[j] - nodes[k]), &shift);
                exponent += shift;
            }
            if (pass == 1)
                weights[j] = ldexp(mantissa / largest, exponent - top);
            else if (largest == 0.0 || exponent > top ||
                     (exponent == top && fabs(mantissa) > fabs(largest))) {
                largest = mantissa;
                top = exponent;
            }
        }
}

/* With c the node nearest to x: l_c = prod_k (x - x_k)/(x_c - x_k), and the others are multiples of it,
 * l_j = l_c (w_j/w_c) (x - x_c)/(x - x_j). Every factor is accurate, also outside the nodes' range, and at a
 * node both are exact. */
void lagrange_row(int n, const double *nodes, const double *weights, double x, double *row) {
    int c = 0;
    for (int j = 1; j < n; j++)
        if (fabs(x - nodes[j]) < fabs(x - nodes[c])) c = j;
    double product = 1.0;
    for (int k = 0; k < n; k++)
        if (k != c) product *= (x - nodes[k]) / (nodes[c] - nodes[k]);
    double scale = product * (x - nodes[c]) / weights[c];
    for (int j = 0; j < n; j++) row[j] = j == c ? product : scale * weights[j] / (x - nodes[j]);
}

void lagrange_derivative(int n, const double *nodes, const double *weights, double *D) {
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int j = 0; j < n; j++) {
            if (j == i) continue;
            D[i * n + j] = weights[j] / weights[i] / (nodes[i] - nodes[j]);
            sum += D[i * n + j];
        }
        D[i * n + i] = -sum;
    }
}

/* A row of values and of derivatives for each coordinate, then their products; l_j' = sum_i l_i l_j'(x_i),
 * because l_j' is its own interpolant. */
static void lagrange_tensor(int dim, int order, int n_points, const double *x, double *values,
                            double *gradients) {
    int n = order + 1, n_k = dim > 2 ? n : 1, n_j = dim > 1 ? n : 1;
    double nodes[ORDER_MAX + 1] = {0}, weights[ORDER_MAX + 1], D[(ORDER_MAX + 1) * (ORDER_MAX + 1)];
    double row[3][ORDER_MAX + 1], slope[3][ORDER_MAX + 1];
    for (int i = 0; i < n; i++) nodes[i] = (double)i / order;
    lagrange_weights(n, nodes, weights);
    lagrange_derivative(n, nodes, weights, D);
    for (int d = 0; d < 3; d++) row[d][0] = 1.0;
    for (int point = 0; point < n_points; point++, x += dim) {
        for (int d = 0; d < dim; d++) {
            lagrange_row(n, nodes, weights, x[d], row[d]);
            for (int j = 0; j < n; j++) slope[d][j] = 0.0;
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) slope[d][j] += row[d][i] * D[i * n + j];
        }
        for (int k = 0; k < n_k; k++)
            for (int j = 0; j < n_j; j++)
                for (int i = 0; i < n; i++) {
                    *values++ = row[0][i] * row[1][j] * row[2][k];
                    if (gradients == NULL) continue;
                    *gradients++ = slope[0][i] * row[1][j] * row[2][k];
                    if (dim > 1) *gradients++ = row[0][i] * slope[1][j] * row[2][k];
                    if (dim > 2) *gradients++ = row[0][i] * row[1][j] * slope[2][k];
                }
    }
}

/* r[m] = R_m(z) and d[m] = R_m'(z) for R_m(z) = prod_(s<m) (g z - s)/(s + 1), which is 1 at z = m/g and 0 at
 * the nodes below. R_m(0) is exactly 0 for m > 0. */
static void silvester_row(int order, double z, double *r, double *d) {
    r[0] = 1.0;
    d[0] = 0.0;
    for (int m = 1; m <= order; m++) {
        double line = order * z - (m - 1);
        r[m] = r[m - 1] * line / m;
        d[m] = (d[m - 1] * line + r[m - 1] * order) / m;
    }
}

/* 1 - x - y - z, the barycentric coordinate of vertex 0. On the opposite face it must be exactly 0, but a
 * point given there by rounded coordinates is off by a few units of the last place: such a point is meant to
 * be on it. */
static double last_coordinate(int dim, const double *x) {
    double z = 1.0;
    for (int b = 0; b < dim; b++) z -= x[b];
    return fabs(z) <= ON_FACE ? 0.0 : z;
}

static void lagrange_simplex(int dim, int order, int n_points, const double *x, double *values,
                             double *gradients) {
    double r[4][ORDER_MAX + 1] = {{0}, {1}, {1}}, d[4][ORDER_MAX + 1] = {{0}};
    for (int point = 0; point < n_points; point++, x += dim) {
        for (int b = 0; b < dim; b++) silvester_row(order, x[b], r[b], d[b]);
        silvester_row(order, last_coordinate(dim, x), r[3], d[3]);
        for (int k = 0; k <= (dim > 2 ? order : 0); k++)
            for (int j = 0; j <= order - k; j++)
                for (int i = 0; i <= order - j - k; i++) {
                    int rest = order - i - j - k;
                    double all = r[0][i] * r[1][j] * r[2][k], slope = all * d[3][rest];
                    *values++ = all * r[3][rest];
                    if (gradients == NULL) continue;
                    *gradients++ = d[0][i] * r[1][j] * r[2][k] * r[3][rest] - slope;
                    *gradients++ = r[0][i] * d[1][j] * r[2][k] * r[3][rest] - slope;
                    if (dim > 2) *gradients++ = r[0][i] * r[1][j] * d[2][k] * r[3][rest] - slope;
                }
    }
}

/* Silvester's functions of a triangle times those of the line. */
static void lagrange_prism(int order, int n_points, const double *x, double *values, double *gradients) {
    double plane[(ORDER_MAX + 1) * (ORDER_MAX + 2) / 2], slopes[2 * (ORDER_MAX + 1) * (ORDER_MAX + 2) / 2];
    double line[ORDER_MAX + 1], slope[ORDER_MAX + 1];
    const int n = (order + 1) * (order + 2) / 2;
    for (int point = 0; point < n_points; point++, x += 3) {
        lagrange_simplex(2, order, 1, x, plane, slopes);
        lagrange_tensor(1, order, 1, x + 2, line, slope);
        for (int k = 0; k <= order; k++)
            for (int i = 0; i < n; i++) {
                *values++ = plane[i] * line[k];
                if (gradients == NULL) continue;
                *gradients++ = slopes[2 * i] * line[k];
                *gradients++ = slopes[2 * i + 1] * line[k];
                *gradients++ = plane[i] * slope[k];
            }
    }
}

facet_status basis_lagrange(enum shape shape, int order, int n_points, const double *x, double *values,
                            double *gradients) {
    if (order < 1 || order > ORDER_MAX)
        return base_fail(FACET_ERROR_INPUT, "a lattice of order %d: the order must lie between 1 and %d",
                         order, ORDER_MAX);
    if (n_points <= 0) return FACET_OK;
    if (shape == SHAPE_POINT) return basis_eval(shape, 0, n_points, x, values, gradients);
    if (shape == SHAPE_TRIANGLE || shape == SHAPE_TET)
        lagrange_simplex(shape_dim(shape), order, n_points, x, values, gradients);
    else if (shape == SHAPE_PYRAMID)
        return pyramid_lagrange(order, n_points, x, values, gradients);
    else if (shape == SHAPE_PRISM)
        lagrange_prism(order, n_points, x, values, gradients);
    else
        lagrange_tensor(shape_dim(shape), order, n_points, x, values, gradients);
    return FACET_OK;
}
