/* Straight cells of elasticity with constant data: what their kernels are given. src/hdg/elastic.h derives
 * the matrices [S R; R' H] of a cell; kernels/ref/elastic.c writes them down.
 *
 * u_c has Nu functions chi, of which only the first n_low meet derivatives of the phi: D_b = (d_b phi, chi)
 * is zero on the others. So S and R are the same scalar matrices for every component there, and nothing
 * couples components but n_low functions and the trace. Unknowns: u component by component; the trace by
 * faces, on each by components. */
#ifndef FACET_KERNELS_ELASTIC_H
#define FACET_KERNELS_ELASTIC_H

#include <stdint.h>

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

/* K_e times a rotation may lack so much of zero, relative to the largest diagonal entry, and is mended. */
#define ELASTIC_EXACT 1e-8

#endif
