/* Straight cells with constant data: what is known of them from their corners, and what is made of sources
 * and fluxes there. The code of a cell serves ref and CUDA.
 *
 * Corners: batch x (1 + dim) x dim x LANES, the first vertex of a cell and those at the ends of the reference
 * axes, so that x = corner_0 + sum_b xi_b (corner_(b + 1) - corner_0), J[a dim + b] = d x_a / d xi_b. C = det
 * J J^-T: the outward normal of a face, as long as its area per unit of its frame, is C times that of the
 * reference face. */
#ifndef FACET_KERNELS_STRAIGHT_H
#define FACET_KERNELS_STRAIGHT_H

#include <math.h>

#include "kernels/everywhere.h"

/* Included by kernels/kernels.h, behind the layout of coefficients.
 *
 * Of affine_coefficients: what the coefficients of affine_layout are made of. */
struct straight_cells {
    int lanes, dim, n_faces, simplex;
    int n_nodes, corners[4];     /* which of the nodes are the origin and the ends of the axes */
    const double *nodes;         /* batch x n_nodes x dim x LANES */
    const double *orientations;  /* batch x n_faces x LANES: 0, 1, .. */
    const int32_t *regions;      /* batch x LANES; NULL: all 0 */
    const double *K, *reaction;  /* regions x dim x dim, regions */
    const double *normals;       /* n_faces x 3, of the reference cell */
    double volume, face;         /* of it, and of its faces */
    double tau, tau_hat, length; /* tau > 0: that; tau_hat > 0: 2 tau_hat / height; else mean K / length */
};

/* C = det J J^-T: its columns are normal to those of J. Returns det J. */
EVERYWHERE double straight_cofactors(int dim, const double *J, double *C) {
    if (dim == 2) {
        C[0] = J[3];
        C[1] = -J[2];
        C[2] = -J[1];
        C[3] = J[0];
        return J[0] * C[0] + J[2] * C[2];
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            const int a1 = (a + 1) % 3, a2 = (a + 2) % 3, b1 = (b + 1) % 3, b2 = (b + 2) % 3;
            C[a * 3 + b] = J[a1 * 3 + b1] * J[a2 * 3 + b2] - J[a1 * 3 + b2] * J[a2 * 3 + b1];
        }
    return J[0] * C[0] + J[3] * C[3] + J[6] * C[6];
}

/* y = A x */
EVERYWHERE void straight_apply(int dim, const double *A, const double *x, double *y) {
    for (int a = 0; a < dim; a++) {
        y[a] = 0.0;
        for (int b = 0; b < dim; b++) y[a] += A[a * dim + b] * x[b];
    }
}

/* tau times the length of the normal n of a face. */
EVERYWHERE double straight_weight(const struct straight_cells *s, const double *K, double det,
                                  const double *n) {
    double square = 0.0, mean = 0.0;
    for (int a = 0; a < s->dim; a++) {
        square += n[a] * n[a];
        mean += K[a * (s->dim + 1)] / s->dim;
    }
    const double length = sqrt(square);
    if (s->tau > 0.0) return s->tau * length;
    if (!(s->tau_hat > 0.0)) return mean / s->length * length;
    const double height = det * s->volume / (length * s->face) * (s->simplex ? s->dim : 1);
    return 2.0 * s->tau_hat / height * length;
}

/* The coefficients of a cell but for the orientations of its faces, which are those of its lane: c[k
 * lanes]. at: affine_layout; C: cofactors of its Jacobian, det: its determinant. */
EVERYWHERE void straight_fill(const struct straight_cells *s, const struct affine_layout *at, int dim,
                              const double *K, double reaction, const double *C, double det, double *c) {
    const int L = s->lanes, F = s->n_faces;
    const double scale = 1.0 / det;
    double KC[9], n[6][3], Kn[6][3];
    c[at->reaction * L] = reaction * det;
    for (int a = 0; a < dim; a++)
        for (int e = 0; e < dim; e++) {
            double sum = 0.0;
            for (int d = 0; d < dim; d++) sum += K[a * dim + d] * C[d * dim + e];
            c[(at->flux + a * dim + e) * L] = KC[a * dim + e] = sum * scale;
        }
    for (int e = 0, pair = 0; e < dim; e++)
        for (int b = 0; b <= e; b++, pair++) {
            double sum = 0.0;
            for (int d = 0; d < dim; d++) sum += C[d * dim + b] * KC[d * dim + e];
            c[(at->stiffness + pair) * L] = sum;
        }
    for (int f = 0; f < F; f++) {
        straight_apply(dim, C, s->normals + 3 * f, n[f]);
        straight_apply(dim, K, n[f], Kn[f]);
        c[(at->weight + f) * L] = straight_weight(s, K, det, n[f]);
        for (int a = 0; a < dim; a++) {
            double sum = 0.0;
            for (int d = 0; d < dim; d++) sum += C[d * dim + a] * Kn[f][d] * scale;
            c[(at->gradient + f * dim + a) * L] = sum;
            c[(at->flux_normal + f * dim + a) * L] = Kn[f][a] * scale;
        }
    }
    for (int f = 0; f < F; f++)
        for (int g = 0; g < F; g++) {
            double sum = 0.0;
            for (int a = 0; a < dim; a++) sum += n[f][a] * Kn[g][a];
            c[(at->normals + f * F + g) * L] = sum * scale;
        }
}

/* All coefficients; returns det J. */
EVERYWHERE double straight_coefficients(const struct straight_cells *s, const struct affine_layout *at,
                                        int64_t cell, double *c) {
    const int dim = s->dim, L = s->lanes, F = s->n_faces;
    const int64_t batch = cell / L, lane = cell % L;
    const int region = s->regions != (const int32_t *)0 ? s->regions[cell] : 0;
    const double *nodes = s->nodes + batch * s->n_nodes * dim * L + lane;
    double J[9], C[9];
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++)
            J[a * dim + b] = nodes[(s->corners[1 + b] * dim + a) * L] - nodes[(s->corners[0] * dim + a) * L];
    const double det = straight_cofactors(dim, J, C);
    straight_fill(s, at, dim, s->K + region * dim * dim, s->reaction[region], C, det, c);
    for (int f = 0; f < F; f++) c[(at->orientation + f) * L] = s->orientations[(batch * F + f) * L + lane];
    return det;
}

#endif
