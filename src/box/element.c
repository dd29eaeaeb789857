/* Elements in one dimension, and matrices by parity. */
#include "box/element.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/jacobi.h"
#include "poly/rule.h"

#define SAME 1e-12

/* ------------------------------------------------------------------------------ one element */

void box_element_destroy(struct box_element *element) {
    base_free(&element->nodes);
    base_free(&element->mass);
    base_free(&element->stiffness);
    *element = (struct box_element){0};
}

/* The element of a direction beyond the dimension. */
static facet_status make_constant(struct box_element *e) {
    facet_status status = FACET_OK;
    *e = (struct box_element){0};
    TRY(CALLOC(e->nodes, 1));
    TRY(CALLOC(e->mass, 1));
    TRY(CALLOC(e->stiffness, 1));
    e->mass[0] = 1.0;
done:
    if (status != FACET_OK) box_element_destroy(e);
    return status;
}

/* In the orthonormal Legendre basis the mass is 1; V holds its values at the nodes, so that Lagrange
 * functions have the coefficients V^-1: mass V^-T V^-1, stiffness the same of the derivatives at Gauss
 * points. */
facet_status box_element_create(int k, struct box_element *e) {
    facet_status status = FACET_OK;
    int n = k + 1;
    if (k == 0) return make_constant(e);
    double *x = NULL, *w = NULL, *V = NULL, *P = NULL, *D = NULL;
    lapack_int *pivots = NULL;
    *e = (struct box_element){.k = k};
    TRY(ALLOC(e->nodes, n));
    TRY(CALLOC(e->mass, n * n));
    TRY(CALLOC(e->stiffness, n * n));
    TRY(ALLOC(x, n));
    TRY(ALLOC(w, n));
    TRY(ALLOC(V, n * n));
    TRY(ALLOC(P, n * n));
    TRY(ALLOC(D, n * n));
    TRY(ALLOC(pivots, n));
    TRY(rule_gauss_lobatto(n, 0.0, 0.0, e->nodes, w));
    TRY(rule_gauss_jacobi(n, 0.0, 0.0, x, w));
    for (int i = 0; i < n; i++) jacobi_orthonormal(k, 0.0, 0.0, e->nodes[i], V + i * n, NULL);
    /* Lagrange values and slopes at the Gauss points: rows of P V^-1, D V^-1 */
    for (int q = 0; q < n; q++) jacobi_orthonormal(k, 0.0, 0.0, x[q], P + q * n, D + q * n);
    /* V is stored by rows; as columns it is V', and V' X = P' gives X = (P V^-1)' */
    if (LAPACKE_dgetrf(LAPACK_COL_MAJOR, n, n, V, n, pivots) != 0 ||
        LAPACKE_dgetrs(LAPACK_COL_MAJOR, 'N', n, n, V, n, pivots, P, n) != 0 ||
        LAPACKE_dgetrs(LAPACK_COL_MAJOR, 'N', n, n, V, n, pivots, D, n) != 0)
        FAIL(FACET_ERROR_MACHINE, "the Lagrange basis of degree %d was not found", k);
    for (int q = 0; q < n; q++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) { /* from [-1, 1] to [0, 1] */
                e->mass[i * n + j] += 0.5 * w[q] * P[q * n + i] * P[q * n + j];
                e->stiffness[i * n + j] += 2.0 * w[q] * D[q * n + i] * D[q * n + j];
            }
    for (int i = 0; i < n; i++) e->nodes[i] = 0.5 * (1.0 + e->nodes[i]);
done:
    base_free(&x);
    base_free(&w);
    base_free(&V);
    base_free(&P);
    base_free(&D);
    base_free(&pivots);
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
    double *weights = NULL, *D = NULL;
    TRY(ALLOC(weights, n));
    TRY(ALLOC(D, n * n));
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
    base_free(&D);
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

int box_is_symmetric(int m, const double *M, const double *A) {
    int with = m + 2;
    double largest_M = 0.0, largest_A = 0.0, difference_M = 0.0, difference_A = 0.0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < with; j++) {
            int at = i * with + j, mirror = (m - 1 - i) * with + with - 1 - j;
            largest_M = fmax(largest_M, fabs(M[at]));
            largest_A = fmax(largest_A, fabs(A[at]));
            difference_M = fmax(difference_M, fabs(M[at] - M[mirror]));
            difference_A = fmax(difference_A, fabs(A[at] - A[mirror]));
        }
    return difference_M <= SAME * largest_M && difference_A <= SAME * largest_A;
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
