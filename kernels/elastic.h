/* Straight cells of elasticity with constant data: what their kernels are given. src/hdg/elastic.h derives
 * the matrices [S R; R' H] of a cell; kernels/ref/elastic.c writes them down.
 *
 * u_c has Nu functions chi, of which only the first n_low meet derivatives of the phi: D_b = (d_b phi, chi)
 * is zero on the others. So S and R are the same scalar matrices for every component there, and nothing
 * couples components but n_low functions and the trace. Unknowns: u component by component; the trace by
 * faces, on each by components. */
#ifndef FACET_KERNELS_ELASTIC_H
#define FACET_KERNELS_ELASTIC_H

#include <math.h>
#include <stdint.h>

#include "kernels/everywhere.h"

/* Faces in orientation 0, of which `turns` tells the others: those it counts are the n_faces dim runs of m
 * functions of the trace; it has no matrices. */
struct affine_tables;
struct elastic_tables {
    const struct affine_tables *turns; /* on the host, its arrays on the device */
    int lanes;
    int dim, n_faces, N, Nu, n_low, m;
    int rotations;      /* K_e does not see them: stresses are symmetric */
    int pressure;       /* p follows the flux */
    const double *D;    /* dim x N x n_low: d_b phi_i chi_j over the reference cell */
    const double *F;    /* n_faces x N x m: phi_i psi_j over the reference face */
    const double *FU;   /* n_faces x Nu x m: chi_i psi_j */
    const double *DD;   /* dim x dim x n_low x n_low: D_b'D_c */
    const double *DF;   /* n_faces x dim x n_low x m: D_b'F_f */
    const double *FF;   /* n_faces x n_faces x m x m: F_f'F_g */
    const double *mass; /* n_faces x Nu x Nu: FU_f FU_f' */
    /* The psi that linear functions need, the constant being the first; the moments of the reference
     * coordinates with them: dim x n_faces x n_linear. */
    int n_linear;
    const int32_t *linear;
    const double *coordinates;
};

/* Where the coefficients of a cell stand. C: cofactors of its Jacobian, J: its determinant. */
struct elastic_layout {
    int moduli, flux, cofactors, jacobian, normals, weight, orientation, count;
};

static inline struct elastic_layout elastic_layout(int dim, int n_faces) {
    struct elastic_layout at;
    at.moduli = 0;                          /* alpha, delta, gamma over J: see mix of kernels/ref/elastic.c */
    at.flux = 3;                            /* of t_ca, t_ac, 1_ca tr t in the flux, of tr t in p */
    at.cofactors = at.flux + 4;             /* C: dim x dim */
    at.jacobian = at.cofactors + dim * dim; /* dim x dim */
    at.normals = at.jacobian + dim * dim;   /* outward, times areas: face x dim */
    at.weight = at.normals + n_faces * dim; /* tau |F| of each face */
    at.orientation = at.weight + n_faces;   /* of each face: 0, 1, .. */
    at.count = at.orientation + n_faces;
    return at;
}

/* Cells whose map is curved or whose moduli vary, the phi being the first N of the chi, which are mapped from
 * the reference cell or the cell's own. With the masses M_dev and M_vol of the phi and weights of their own,
 * P = [D|G]'M_dev^-1 [D|G] and Q the same of M_vol, [S R; R' H] is, in blocks of components,
 *
 *     alpha P_cd + delta P_dc + gamma 1_cd sum_b P_bb + beta Q_cd + 1_cd [T E; E' H]
 *
 * E = <tau chi, psi>, H = <tau psi, psi>, T = <tau chi, chi> or (projects; tau is constant on a face) E H^-1
 * E'. */
struct elastic_general_tables {
    struct elastic_tables sizes;  /* without matrices and what linear functions need */
    int n, n_face;                /* points inside, on every face */
    int projects;                 /* u meets the trace by its projection */
    const double *chi, *grad;     /* n x Nu, dim x n x Nu: the chi and their derivatives */
    const double *face_chi, *psi; /* n_faces x n_face x Nu, n_face x m */
};

/* What a cell has beside integrals: numbers of the mixture above, and of the flux a t_ca + b t_ac + c 1_ca tr
 * t of M_dev^-1, d 1_ca tr t and (pressure) p = e tr t of M_vol^-1. */
enum { E_ALPHA, E_DELTA, E_GAMMA, E_BETA, E_FLUX, E_SPHERICAL = E_FLUX + 3, E_PRESSURE, N_ELASTIC_NUMBERS };

/* The cells, batch by batch; weights of the rules are contained. */
struct elastic_general_cells {
    const double *dev, *vol; /* batch x n x LANES: of the masses; vol NULL: M_vol is M_dev */
    const double *numbers;   /* batch x N_ELASTIC_NUMBERS x LANES */
    const double *cofactors; /* as of general_cells, n_metric = n */
    const double *normals, *tau;
    const double
        *coordinates; /* batch x n_faces x m x dim x LANES: x on the faces by the psi, for rotations */
    const double *orientations; /* batch x n_faces x LANES: 0, 1, .. */
    /* Functions of the cell's own (kernels/physical.h), batch x (n x Nu, dim x n x N, n_faces x n_face x Nu)
     * x LANES, the slopes d_a phi times weights and det J; NULL: those of the tables, with the cofactors. */
    const double *chi, *slopes, *face_chi;
};

/* Of elastic_weights: moduli at points, and what becomes of them. */
struct elastic_data {
    int lanes, dim, n, n_faces, n_face;
    int varying;                /* mu, lambda: batch x (varying: n, else 1) x LANES */
    int gradient, plane_stress; /* the formulation; lambda is that of the body in space */
    const double *mu, *lambda;
    const double *wJ, *normals;         /* of cell_metric and face_metric */
    double tau, tau_mu;                 /* tau + tau_mu (mean mu), */
    int over_height;                    /* over the height of the cell above the face */
    double heights[6], most;            /* shape_height; mu is in 1 / most .. most */
    double *dev, *vol, *numbers, *taus; /* vol: NULL where nothing varies */
    double *volumes;                    /* batch x LANES */
};

/* The moduli at a point of a cell, as the plane wants them; 0: they are none. */
EVERYWHERE int elastic_moduli_at(const struct elastic_data *d, int64_t batch, int lane, int q, double *mu,
                                 double *lambda) {
    const int64_t at = (d->varying ? batch * d->n + q : batch) * d->lanes + lane;
    *mu = d->mu[at];
    *lambda = d->lambda[at];
    const int fit =
        *mu >= 1.0 / d->most && *mu <= d->most && 3.0 * *lambda > -2.0 * *mu && *lambda <= d->most;
    if (d->plane_stress) *lambda = 2.0 * *mu * *lambda / (*lambda + 2.0 * *mu);
    return fit;
}

/* src/hdg/elastic.h has the formulas: of one mu and lambda M_dev is the mass without either. */
EVERYWHERE void elastic_numbers_of(const struct elastic_data *d, double mu, double lambda, double *to) {
    const int L = d->lanes, varying = d->varying, gradient = d->gradient;
    const double n = d->dim;
    to[E_ALPHA * L] = gradient ? (varying ? 0.0 : mu + lambda) : varying ? -1.0 / n : lambda;
    to[E_DELTA * L] = gradient ? 0.0 : varying ? 0.5 : mu;
    to[E_GAMMA * L] = gradient ? (varying ? 1.0 : mu) : varying ? 0.5 : mu;
    to[E_BETA * L] = !varying ? 0.0 : gradient ? 1.0 : 1.0 / n;
    to[E_FLUX * L] = gradient ? (varying ? -1.0 / mu : -1.0) : varying ? -0.5 : -mu;
    to[(E_FLUX + 1) * L] = gradient ? 0.0 : varying ? -0.5 : -mu;
    to[(E_FLUX + 2) * L] = gradient ? 0.0 : varying ? 1.0 / n : -lambda;
    to[E_SPHERICAL * L] = varying && !gradient ? -1.0 / n : 0.0;
    to[E_PRESSURE * L] = varying ? 1.0 : mu + lambda;
}

/* tau times the lengths of the normals of a cell. */
EVERYWHERE void elastic_taus(const struct elastic_data *d, int64_t batch, int lane, double volume,
                             double mean_mu) {
    const int dim = d->dim, n = d->n_face, L = d->lanes;
    const double *normals = d->normals + batch * d->n_faces * n * dim * L + lane;
    double *to = d->taus + batch * d->n_faces * n * L + lane;
    for (int f = 0; f < d->n_faces; f++, normals += (int64_t)n * dim * L, to += (int64_t)n * L) {
        double area = 0.0, tau = d->tau + d->tau_mu * mean_mu;
        for (int q = 0; q < n; q++) {
            double square = 0.0;
            for (int a = 0; a < dim; a++) square += normals[(q * dim + a) * L] * normals[(q * dim + a) * L];
            to[q * L] = sqrt(square);
            area += to[q * L];
        }
        if (d->over_height) tau /= volume / area * d->heights[f];
        for (int q = 0; q < n; q++) to[q * L] *= tau;
    }
}

/* What elastic_weights makes of a cell; 0: its moduli are not fit. */
EVERYWHERE int elastic_weights_of(const struct elastic_data *d, int64_t batch, int lane) {
    const int n = d->n, L = d->lanes;
    const double *wJ = d->wJ + batch * n * L + lane;
    double *dev = d->dev + batch * n * L + lane, mu = 0.0, lambda = 0.0, volume = 0.0, sum = 0.0;
    int fit = 1;
    for (int q = 0; q < n; q++) {
        if (q == 0 || d->varying) fit &= elastic_moduli_at(d, batch, lane, q, &mu, &lambda);
        volume += wJ[q * L];
        sum += wJ[q * L] * mu;
        dev[q * L] = !d->varying ? wJ[q * L] : wJ[q * L] / (d->gradient ? mu : 2.0 * mu);
        if (d->varying)
            d->vol[(batch * n + q) * L + lane] =
                wJ[q * L] / (d->gradient ? mu + lambda : 2.0 * mu + d->dim * lambda);
    }
    elastic_numbers_of(d, mu, lambda, d->numbers + batch * N_ELASTIC_NUMBERS * L + lane);
    elastic_taus(d, batch, lane, volume, d->varying ? sum / volume : mu);
    d->volumes[batch * L + lane] = volume;
    return fit;
}

/* K_e times a rotation may lack so much of zero, relative to the largest diagonal entry, and is mended. */
#define ELASTIC_EXACT 1e-8

#endif
