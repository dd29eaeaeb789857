/* Polynomials of physical coordinates on quads and hexes (src/hdg/elastic.h): products of orthonormal
 * Legendre polynomials of xi(x) = 1/2 + J^-1 (x - x_middle), J in the middle of the cell, by total degree.
 * Included by kernels/kernels.h. */
#ifndef FACET_KERNELS_PHYSICAL_H
#define FACET_KERNELS_PHYSICAL_H

#include <math.h>
#include <stdint.h>

#include "kernels/everywhere.h"

/* Orthonormal Legendre polynomials of [0, 1] and their derivatives: P_{n+1}' = P_{n-1}' + (2 n + 1) P_n. */
EVERYWHERE void physical_legendre(int degree, double x, double *values, double *slopes) {
    double t = 2.0 * x - 1.0, before = 0.0, now = 1.0, slope_before = 0.0, slope = 0.0;
    for (int n = 0; n <= degree; n++) {
        double root = sqrt(2.0 * n + 1.0), next = ((2 * n + 1) * t * now - n * before) / (n + 1);
        double slope_next = slope_before + (2 * n + 1) * now;
        values[n] = root * now;
        slopes[n] = 2.0 * root * slope;
        before = now;
        now = next;
        slope_before = slope;
        slope = slope_next;
    }
}

/* The degrees of a product in every direction; all zero: the first. */
struct physical_term {
    int total, i, j, k;
};
EVERYWHERE void physical_next(int dim, struct physical_term *t) {
    if (t->i > 0) {
        t->i--;
        t->j++;
    } else if (dim == 3 && t->k < t->total) {
        t->k++;
        t->j = 0;
        t->i = t->total - t->k;
    } else {
        t->i = ++t->total;
        t->j = t->k = 0;
    }
}

/* Of physical_functions: values of the functions of degrees up to `degree`, fewer than PHYSICAL_MOST, and
 * slopes of those up to degree - 1, at n points of every cell. */
#define PHYSICAL_MOST 16
struct physical_points {
    int lanes, dim, n, degree;
    const double *points; /* batch x n x (1 + dim) dim x LANES, x first */
    const double *middle; /* batch x (1 + dim) dim x LANES: x, and d x_a / d xi_b at [b][a], in mid-cell */
    const double *wJ;     /* batch x n x LANES: of the slopes */
    double *values;       /* batch x n x functions x LANES */
    double *slopes;       /* batch x dim x n x functions x LANES: w det J d_a phi; NULL: not wanted */
};

EVERYWHERE int physical_count(int dim, int degree) {
    return dim == 3 ? (degree + 1) * (degree + 2) / 2 * (degree + 3) / 3 : (degree + 1) * (degree + 2) / 2;
}

/* d xi_b / d x_a at [b][a] from d x_a / d xi_b, `step` apart. */
EVERYWHERE void physical_inverse(int dim, const double *J, int step, double *inverse) {
    double det = 0.0;
    for (int b = 0; b < dim; b++)
        for (int a = 0; a < dim; a++) {
            const int b1 = (b + 1) % dim, b2 = (b + 2) % dim, a1 = (a + 1) % dim, a2 = (a + 2) % dim;
            inverse[b * dim + a] = dim == 2 ? (a == b ? 1.0 : -1.0) * J[(b1 * 2 + a1) * step]
                                            : J[(b1 * 3 + a1) * step] * J[(b2 * 3 + a2) * step] -
                                                  J[(b1 * 3 + a2) * step] * J[(b2 * 3 + a1) * step];
        }
    for (int a = 0; a < dim; a++) det += J[a * step] * inverse[a];
    for (int i = 0; i < dim * dim; i++) inverse[i] /= det;
}

/* All of one point. */
EVERYWHERE void physical_functions_at(const struct physical_points *p, int64_t batch, int q, int lane) {
    const int dim = p->dim, L = p->lanes, row = (1 + dim) * dim, Nu = physical_count(dim, p->degree),
              N = physical_count(dim, p->degree - 1);
    const double *x = p->points + (batch * p->n + q) * row * L + lane,
                 *middle = p->middle + batch * row * L + lane;
    double f[3][PHYSICAL_MOST], d[3][PHYSICAL_MOST], inverse[9];
    struct physical_term t = {0, 0, 0, 0};
    physical_inverse(dim, middle + dim * L, L, inverse);
    f[2][0] = 1.0;
    d[2][0] = 0.0;
    for (int b = 0; b < dim; b++) {
        double xi = 0.5;
        for (int a = 0; a < dim; a++) xi += inverse[b * dim + a] * (x[a * L] - middle[a * L]);
        physical_legendre(p->degree, xi, f[b], d[b]);
    }
    const double weight = p->slopes != (double *)0 ? p->wJ[(batch * p->n + q) * L + lane] : 0.0;
    for (int e = 0; e < Nu; e++, physical_next(dim, &t)) {
        p->values[((batch * p->n + q) * Nu + e) * L + lane] = f[0][t.i] * f[1][t.j] * f[2][t.k];
        if (p->slopes == (double *)0 || e >= N) continue;
        const double slopes[3] = {d[0][t.i] * f[1][t.j] * f[2][t.k], f[0][t.i] * d[1][t.j] * f[2][t.k],
                                  f[0][t.i] * f[1][t.j] * d[2][t.k]};
        for (int a = 0; a < dim; a++) {
            double sum = 0.0;
            for (int b = 0; b < dim; b++) sum += inverse[b * dim + a] * slopes[b];
            p->slopes[(((batch * dim + a) * p->n + q) * N + e) * L + lane] = weight * sum;
        }
    }
}

#endif
