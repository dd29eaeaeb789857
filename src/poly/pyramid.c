/* The bases of the pyramid; pyramid.h says which functions they are. */
#include "poly/pyramid.h"

#include <math.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/jacobi.h"

#define ORDER_MAX 10
/* A distance to a face this small is a zero that was rounded. */
#define ON_FACE 1e-15

/* A point as u, v and s. */
struct place {
    double u, v, s, z;
};

static double ratio(double x, double s) {
    return fabs(s - x) <= ON_FACE ? 1.0 : x / s;
}

static struct place place_of(const double *x) {
    struct place p = {0.5, 0.5, 1.0 - x[2], x[2]};
    if (fabs(p.s) <= ON_FACE) {
        p.s = 0.0;
        return p;
    }
    p.u = ratio(x[0], p.s);
    p.v = ratio(x[1], p.s);
    return p;
}

/* s^m, and m s^(m-1). */
static double power(double s, int m) {
    double value = 1.0;
    for (int i = 0; i < m; i++) value *= s;
    return value;
}

/* The gradient of A(u) B(v) s^m C(z), dA and so on being derivatives. Where m is 0, so are dA and dB. */
static void product_gradient(const struct place *p, int m, double A, double dA, double B, double dB, double C,
                             double dC, double *gradient) {
    double less = m > 0 ? power(p->s, m - 1) : 0.0;
    gradient[0] = dA * B * less * C;
    gradient[1] = A * dB * less * C;
    gradient[2] = A * B * (power(p->s, m) * dC - m * less * C) + less * C * (p->u * dA * B + p->v * A * dB);
}

/* ------------------------------------------------------------------------------------------ orthonormal */

/* Orthonormal polynomials of [0, 1] for the weight (1 - x)^a, and their derivatives. */
static void line(int degree, int a, double x, double *values, double *slopes) {
    jacobi_orthonormal(degree, a, 0, 2.0 * x - 1.0, values, slopes);
    for (int n = 0; n <= degree; n++) {
        values[n] *= sqrt(ldexp(1.0, a + 1));
        slopes[n] *= 2.0 * sqrt(ldexp(1.0, a + 1));
    }
}

facet_status pyramid_eval(int degree, int n_points, const double *x, double *values, double *gradients) {
    facet_status status = FACET_OK;
    const int length = degree + 1;
    double *table = NULL;
    TRY(ALLOC(table, (4 + 2 * length) * length));
    double *A = table, *dA = A + length, *B = dA + length, *dB = B + length, *C = dB + length,
           *dC = C + length * length;
    for (int point = 0; point < n_points; point++, x += 3) {
        struct place p = place_of(x);
        line(degree, 0, p.u, A, dA);
        line(degree, 0, p.v, B, dB);
        for (int m = 0; m <= degree; m++) line(degree - m, 2 * m + 2, p.z, C + m * length, dC + m * length);
        for (int n = 0; n <= degree; n++) /* n = m + l */
            for (int m = 0; m <= n; m++)
                for (int j = 0; j <= m; j++)
                    for (int i = 0; i <= m; i++) {
                        if (i < m && j < m) continue;
                        const double c = C[m * length + n - m], dc = dC[m * length + n - m];
                        *values++ = A[i] * B[j] * power(p.s, m) * c;
                        if (gradients == NULL) continue;
                        product_gradient(&p, m, A[i], dA[i], B[j], dB[j], c, dc, gradients);
                        gradients += 3;
                    }
    }
done:
    base_free(&table);
    return status;
}

/* ------------------------------------------------------------------------------------------ Lagrange
 *
 * Layer k of the lattice has (d+1)^2 nodes, d = g - k. With R_k(z) = prod_(m<k) (g z - m)/(k - m), which is
 * zero on the layers below and 1 on its own, and l_i the Lagrange polynomials of d + 1 equidistant nodes,
 *
 *     F_ijk = R_k(z) (s/s_k)^d l_i(u) l_j(v)
 *
 * is zero at all nodes of its layer and below it but its own. From the apex down, l_ijk = F_ijk less its
 * values at the nodes above times their functions. */

struct layers {
    int order;
    double nodes[ORDER_MAX + 1][ORDER_MAX + 1], weights[ORDER_MAX + 1][ORDER_MAX + 1]; /* by d */
    double slopes[ORDER_MAX + 1][(ORDER_MAX + 1) * (ORDER_MAX + 1)];                   /* l_j'(x_i) */
    int first[ORDER_MAX + 1];                                                          /* node of layer k */
};

static void layers_make(int order, struct layers *t) {
    int next = 0;
    t->order = order;
    for (int d = 0; d <= order; d++) {
        for (int i = 0; i <= d; i++) t->nodes[d][i] = d > 0 ? (double)i / d : 0.5;
        lagrange_weights(d + 1, t->nodes[d], t->weights[d]);
        lagrange_derivative(d + 1, t->nodes[d], t->weights[d], t->slopes[d]);
    }
    for (int k = 0; k <= order; k++) {
        t->first[k] = next;
        next += (order - k + 1) * (order - k + 1);
    }
}

/* l_i at x, and (or NULL) their derivatives. */
static void row_of(const struct layers *t, int d, double x, double *values, double *slopes) {
    lagrange_row(d + 1, t->nodes[d], t->weights[d], x, values);
    for (int j = 0; j <= d && slopes != NULL; j++) {
        slopes[j] = 0.0;
        for (int i = 0; i <= d; i++) slopes[j] += values[i] * t->slopes[d][i * (d + 1) + j];
    }
}

/* R_k(z) / s_k^d and its derivative. */
static void across(int order, int k, double z, double *value, double *slope) {
    *value = 1.0 / power((double)(order - k) / order, order - k);
    *slope = 0.0;
    for (int m = 0; m < k; m++) {
        double factor = (order * z - m) / (k - m);
        *slope = *slope * factor + *value * order / (k - m);
        *value *= factor;
    }
}

/* Takes off layer k what it has at the nodes of layer m above: of n numbers (1 or 3) for every node. */
static void take_off(const struct layers *t, int k, int m, int n, double *numbers) {
    const int d = t->order - k, e = t->order - m;
    double at[ORDER_MAX + 1][ORDER_MAX + 1], scale, slope;
    across(t->order, k, (double)m / t->order, &scale, &slope);
    scale *= power((double)e / t->order, d);
    for (int a = 0; a <= e; a++) row_of(t, d, t->nodes[e][a], at[a], NULL);
    for (int j = 0; j <= d; j++)
        for (int i = 0; i <= d; i++)
            for (int b = 0; b <= e; b++)
                for (int a = 0; a <= e; a++) {
                    double value = scale * at[a][i] * at[b][j];
                    if (value == 0.0) continue;
                    double *to = numbers + (t->first[k] + j * (d + 1) + i) * n;
                    const double *from = numbers + (t->first[m] + b * (e + 1) + a) * n;
                    for (int c = 0; c < n; c++) to[c] -= value * from[c];
                }
}

static void layer_functions(const struct layers *t, int k, const struct place *p, double *values,
                            double *gradients) {
    const int d = t->order - k;
    double A[ORDER_MAX + 1], dA[ORDER_MAX + 1], B[ORDER_MAX + 1], dB[ORDER_MAX + 1], C, dC;
    row_of(t, d, p->u, A, dA);
    row_of(t, d, p->v, B, dB);
    across(t->order, k, p->z, &C, &dC);
    for (int i = 0; i < (d + 1) * (d + 1); i++) {
        int a = i % (d + 1), b = i / (d + 1);
        values[t->first[k] + i] = A[a] * B[b] * power(p->s, d) * C;
        if (gradients != NULL)
            product_gradient(p, d, A[a], dA[a], B[b], dB[b], C, dC, gradients + 3 * (t->first[k] + i));
    }
}

facet_status pyramid_lagrange(int order, int n_points, const double *x, double *values, double *gradients) {
    facet_status status = FACET_OK;
    struct layers t;
    const int n = shape_n_nodes(SHAPE_PYRAMID, order);
    layers_make(order, &t);
    for (int point = 0; point < n_points; point++, x += 3, values += n) {
        struct place p = place_of(x);
        for (int k = order; k >= 0; k--) {
            layer_functions(&t, k, &p, values, gradients);
            for (int m = order; m > k; m--) {
                take_off(&t, k, m, 1, values);
                if (gradients != NULL) take_off(&t, k, m, 3, gradients);
            }
        }
        if (gradients != NULL) gradients += 3 * n;
    }
    return status;
}
