/* Cells whose map is curved or whose data vary, in lanes: what their matrices are integrated from. Included
 * by kernels/kernels.h. */
#ifndef FACET_KERNELS_GENERAL_H
#define FACET_KERNELS_GENERAL_H

/* One shape and degree; faces in orientation 0. N functions phi inside, m functions psi of a face. The tables
 * are in the device's memory. */
struct general_tables {
    int lanes, dim, n_faces, N, m;
    int n, n_face;                      /* points inside, on every face */
    const double *phi, *grad;           /* n x N, dim x n x N */
    const double *face_phi;             /* n_faces x n_face x N */
    const double *psi;                  /* n_face x m */
    const struct affine_tables *affine; /* on the host: measure of a face, and turns */
};

/* The cells, batch by batch; weights of the rules are contained. */
struct general_cells {
    int full;            /* mass has dim (dim + 1) / 2 weights: 00 01 11 (02 12 22) of K^-1 */
    const double *mass;  /* batch x (1 or pairs) x n x LANES: det J / K */
    const double *roots; /* batch x dim x dim x LANES, or NULL: K = root root' times what mass has, lower */
    const double *reaction;     /* batch x n x LANES, or NULL: det J lambda */
    const double *cofactors;    /* batch x n x dim x dim x LANES: det J d xi_c / d x_a at [c][a] */
    const double *normals;      /* batch x n_faces x n_face x dim x LANES */
    const double *tau;          /* batch x n_faces x n_face x LANES: times the length of the normal */
    const double *orientations; /* batch x n_faces x LANES: 0, 1, .. */
};

#endif
