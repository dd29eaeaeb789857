/* Cells whose map is curved or whose data vary, in lanes: what their matrices are integrated from. Included
 * by kernels/kernels.h. */
#ifndef FACET_KERNELS_GENERAL_H
#define FACET_KERNELS_GENERAL_H

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

#endif
