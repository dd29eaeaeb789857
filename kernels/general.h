/* Cells whose map is curved or whose data vary, in lanes: what their matrices are integrated from. Included
 * by kernels/kernels.h. */
#ifndef FACET_KERNELS_GENERAL_H
#define FACET_KERNELS_GENERAL_H

#include <math.h>

#include "kernels/everywhere.h"

/* One shape and degree; faces in orientation 0. N functions phi inside, m functions psi of a face. The tables
 * are in the device's memory. */
struct general_tables {
    int lanes, dim, n_faces, N, m;
    int n, n_face;            /* points inside, on every face */
    const double *phi, *grad; /* n x N, dim x n x N */
    const double *face_phi;   /* n_faces x n_face x N */
    const double *psi;        /* n_face x m */
    /* Cofactors and determinants of maps are polynomials, known from few points. What their values there
     * contribute: D: n_metric x dim x N x N, of cofactor c of every point to (d_c phi_i, phi_j), M: n_det x N
     * x N to (phi_i, phi_j). NULL: by the rule, n_metric = n. */
    int n_metric, n_det;
    const double *D, *M;
    const struct affine_tables *affine; /* on the host: measure of a face, and turns */
};

/* The cells, batch by batch; weights of the rules, and of the tables above, are contained. */
struct general_cells {
    int full;            /* mass has dim (dim + 1) / 2 weights: 00 01 11 (02 12 22) of K^-1 */
    const double *mass;  /* batch x (1 or pairs) x n x LANES: det J / K */
    const double *det;   /* batch x n_det x LANES: the same at the points of M instead, or NULL */
    const double *roots; /* batch x dim x dim x LANES, or NULL: K = root root' times what mass has, lower */
    const double *reaction;     /* batch x n x LANES, or NULL: det J lambda */
    const double *cofactors;    /* batch x n_metric x dim x dim x LANES: det J d xi_c / d x_a at [c][a] */
    const double *normals;      /* batch x n_faces x n_face x dim x LANES */
    const double *tau;          /* batch x n_faces x n_face x LANES: times the length of the normal */
    const double *orientations; /* batch x n_faces x LANES: 0, 1, .. */
};

/* Fields of diffusion and the exact solution at the n points of every cell, batch by batch. C: cofactors (det
 * J d xi_c / d x_a at [c][a]) times what `det` contains. */
struct error_points {
    int lanes, dim, n;
    int straight;           /* one C and one det for all points */
    int varying;            /* K has n matrices, else one */
    const double *wJ;       /* n x LANES */
    const double *C, *det;  /* dim x dim x LANES, LANES, of a point */
    const double *K;        /* dim x dim x LANES, of a point */
    const double *u, *grad; /* n x LANES, n x LANES x dim: exact */
    const double *u_h, *q;  /* n x LANES, n x dim x LANES; NULL: not measured */
    const double *star,
        *slopes; /* n x LANES, dim x n x LANES, by reference coordinates; NULL: not measured */
};
/* What is found of a cell: integrals of the squares of u_h - u, of the components of q + K grad u, of u* - u
 * and of the components of K grad(u* - u); the largest |u_h - u|. */
enum { ERROR_U, ERROR_Q, ERROR_STAR = ERROR_Q + 3, ERROR_Q_STAR, ERROR_MAX = ERROR_Q_STAR + 3, N_ERRORS };

/* y = K x, entries of K `lanes` apart. */
EVERYWHERE void general_apply_matrix(int dim, int lanes, const double *K, const double *x, double *y) {
    for (int a = 0; a < dim; a++) {
        y[a] = 0.0;
        for (int b = 0; b < dim; b++) y[a] += K[(a * dim + b) * lanes] * x[b];
    }
}
/* What point q of a cell adds to its errors, which stand `step` apart. */
EVERYWHERE void general_add_errors(const struct error_points *p, int64_t batch, int q, int lane, double *e,
                                   int step) {
    const int dim = p->dim, lanes = p->lanes;
    const int64_t i = batch * p->n + q, at = p->straight ? batch : i, k = p->varying ? i : batch;
    const double *K = p->K + k * dim * dim * lanes + lane, *C = p->C + at * dim * dim * lanes + lane;
    const double *grad = p->grad + (i * lanes + lane) * dim, w = p->wJ[i * lanes + lane],
                 u = p->u[i * lanes + lane];
    double flux[3], slope[3];
    if (p->u_h != (const double *)0) {
        double error = p->u_h[i * lanes + lane] - u;
        e[ERROR_U * step] += w * error * error;
        e[ERROR_MAX * step] = fmax(e[ERROR_MAX * step], fabs(error));
        general_apply_matrix(dim, lanes, K, grad, flux);
        for (int a = 0; a < dim; a++) {
            error = p->q[(i * dim + a) * lanes + lane] + flux[a];
            e[(ERROR_Q + a) * step] += w * error * error;
        }
    }
    if (p->star == (const double *)0) return;
    double error = p->star[i * lanes + lane] - u, scale = 1.0 / p->det[at * lanes + lane];
    e[ERROR_STAR * step] += w * error * error;
    for (int a = 0; a < dim; a++) {
        slope[a] = 0.0;
        for (int c = 0; c < dim; c++)
            slope[a] += C[(c * dim + a) * lanes] * p->slopes[((batch * dim + c) * p->n + q) * lanes + lane];
        slope[a] = scale * slope[a] - grad[a];
    }
    general_apply_matrix(dim, lanes, K, slope, flux);
    for (int a = 0; a < dim; a++) e[(ERROR_Q_STAR + a) * step] += w * flux[a] * flux[a];
}

/* What star_weights makes at point number i (batch by batch) of a lane. */
EVERYWHERE void general_star_weights(int lanes, int dim, int n, int varying, const double *wJ, const double *C,
                                     const double *K, const double *q, int64_t i, int lane, double *flow,
                                     double *W) {
    const int pairs = dim * (dim + 1) / 2;
    const int64_t batch = i / n;
    const double *c = C + i * dim * dim * lanes + lane,
                 *k = K + (varying ? i : batch) * dim * dim * lanes + lane;
    double rows[3][3], KC[3][3];
    for (int b = 0; b < dim; b++) {
        double sum = 0.0;
        for (int a = 0; a < dim; a++) {
            rows[b][a] = c[(b * dim + a) * lanes];
            sum -= rows[b][a] * q[(i * dim + a) * lanes + lane];
        }
        flow[((batch * dim + b) * n + i % n) * lanes + lane] = sum;
        general_apply_matrix(dim, lanes, k, rows[b], KC[b]);
    }
    for (int e = 0, pair = 0; e < dim; e++)
        for (int b = 0; b <= e; b++, pair++) {
            double sum = 0.0;
            for (int a = 0; a < dim; a++) sum += rows[b][a] * KC[e][a];
            W[(i * pairs + pair) * lanes + lane] = sum / wJ[i * lanes + lane];
        }
}

#endif
