/* Lagrange interpolation: barycentric in 1D, and the bases on the equispaced lattices of the reference cells.
 * Tensor cells are products of the 1D rows. On simplices the Lagrange functions l solve
 *
 *     sum_j phi_i(x_j) l_j(x) = phi_i(x)        with phi the orthonormal basis and x_j the nodes,
 *
 * whose matrix is so well conditioned, up to the order that is allowed, that l is right to about 1e-14. */
#include <lapacke.h>
#include <math.h>

#include "base/memory.h"
#include "poly/basis.h"

#define ORDER_MAX 10

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

/* Between points x nodes x dim (outside) and points x dim x nodes, where every derivative is a right-hand
 * side. */
static void turn(int n_points, int n, int dim, const double *from, double *to, int to_outside) {
    for (int p = 0; p < n_points; p++, from += n * dim, to += n * dim)
        for (int i = 0; i < n; i++)
            for (int d = 0; d < dim; d++) {
                if (to_outside)
                    to[i * dim + d] = from[d * n + i];
                else
                    to[d * n + i] = from[i * dim + d];
            }
}

/* Row-major V(j,i) = phi_i(x_j) is column-major V^T, the matrix of the system; the values of phi at a point
 * are a column of right-hand sides, and are replaced by the solution. */
static facet_status lagrange_simplex(enum shape shape, int order, int n_points, const double *x,
                                     double *values, double *gradients) {
    facet_status status = FACET_OK;
    int n = shape_n_nodes(shape, order), dim = shape_dim(shape);
    double *nodes = NULL, *V = NULL, *turned = NULL;
    lapack_int *pivots = NULL;
    TRY(ALLOC(nodes, n * dim));
    TRY(ALLOC(V, n * n));
    TRY(ALLOC(pivots, n));
    shape_nodes(shape, order, nodes);
    TRY(basis_eval(shape, order, n, nodes, V, NULL));
    TRY(basis_eval(shape, order, n_points, x, values, gradients));
    if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, V, n, pivots) != 0)
        FAIL(FACET_ERROR_MACHINE, "the Vandermonde matrix of the %s lattice of order %d is singular",
             shape_name(shape), order);
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, n_points, V, n, pivots, values, n);
    if (gradients == NULL) goto done;
    TRY(ALLOC(turned, (size_t)n_points * (size_t)(n * dim)));
    turn(n_points, n, dim, gradients, turned, 0);
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, n_points * dim, V, n, pivots, turned, n);
    turn(n_points, n, dim, turned, gradients, 1);
done:
    base_free(&nodes);
    base_free(&V);
    base_free(&pivots);
    base_free(&turned);
    return status;
}

facet_status basis_lagrange(enum shape shape, int order, int n_points, const double *x, double *values,
                            double *gradients) {
    if (order < 1 || order > ORDER_MAX)
        return base_fail(FACET_ERROR_INPUT, "a lattice of order %d: the order must lie between 1 and %d",
                         order, ORDER_MAX);
    if (n_points <= 0) return FACET_OK;
    if (shape == SHAPE_POINT) return basis_eval(shape, 0, n_points, x, values, gradients);
    if (shape_is_simplex(shape) && shape != SHAPE_SEGMENT)
        return lagrange_simplex(shape, order, n_points, x, values, gradients);
    lagrange_tensor(shape_dim(shape), order, n_points, x, values, gradients);
    return FACET_OK;
}
