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

/* Of elastic_balance. */
struct elastic_forces {
    double one, constant;        /* 1 / psi_0 on a reference face, chi_0 */
    const double *phi, *chi;     /* n_faces x N, n_faces x Nu: their integrals over the reference faces */
    const double *coefficients;  /* elastic_layout */
    const double *u, *q, *loads; /* batch x dim Nu, what elastic_solve makes, dim Nu x LANES */
    const double *trace;
    const int64_t *maps; /* batch x n_faces x LANES: first unknown of a face in the trace, -1: none */
};

/* What elastic_balance says of a cell, `lanes` apart. The traction that cells balance is that of the stress,
 * or of mu H - p 1, less tau (u - trace). */
EVERYWHERE void elastic_balance_cell(const struct elastic_tables *t, const struct elastic_layout *at,
                                     const struct elastic_forces *b, int64_t batch, int lane,
                                     double *balance) {
    const int dim = t->dim, L = t->lanes, F = t->n_faces, N = t->N, Nu = t->Nu;
    const int n_q = (dim * dim + (t->pressure != 0)) * N;
    const double *c = b->coefficients + batch * at->count * L + lane, *u = b->u + batch * dim * Nu * L + lane,
                 *q = b->q + batch * n_q * L + lane, *load = b->loads + batch * dim * Nu * L + lane;
    double det = 0.0, worst = 0.0, moduli = 0.0;
    for (int a = 0; a < dim; a++) det += c[(at->jacobian + a * dim) * L] * c[(at->cofactors + a * dim) * L];
    const double mu = t->pressure ? c[(at->moduli + 2) * L] * det : 1.0;
    for (int d = 0; d < dim; d++) {
        double out = 0.0;
        for (int f = 0; f < F; f++) {
            const int64_t first = b->maps[(batch * F + f) * L + lane];
            const double weight = c[(at->weight + f) * L], *normal = c + (at->normals + f * dim) * L,
                         outer = first >= 0 ? b->one * weight * b->trace[first + d * t->m] : 0.0;
            double flux = -outer;
            moduli += fabs(outer);
            for (int i = 0; i < N; i++) {
                double through = t->pressure ? normal[d * L] * q[(dim * dim * N + i) * L] : 0.0;
                for (int a = 0; a < dim; a++) through -= mu * normal[a * L] * q[((d * dim + a) * N + i) * L];
                flux += through * b->phi[f * N + i];
                moduli += fabs(through * b->phi[f * N + i]);
            }
            for (int i = 0; i < Nu; i++) {
                const double inner = weight * b->chi[f * Nu + i] * u[(d * Nu + i) * L];
                flux += inner;
                moduli += fabs(inner);
            }
            balance[(2 + f * dim + d) * L] = flux;
            out += flux;
        }
        worst = fmax(worst, fabs(load[d * Nu * L] / b->constant - out));
    }
    balance[0] = worst;
    balance[L] = moduli;
}

/* K_e times a rotation may lack so much of zero, relative to the largest diagonal entry, and is mended. */
#define ELASTIC_EXACT 1e-8

#endif
