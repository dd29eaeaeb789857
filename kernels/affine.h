/* Where the coefficients of an affine cell stand: shared by the kernels and by the code that fills them. */
#ifndef FACET_KERNELS_AFFINE_H
#define FACET_KERNELS_AFFINE_H

struct affine_layout {
    int reaction, stiffness, weight, sign, gradient, flux_normal, normals, flux, count;
};

static inline struct affine_layout affine_layout(int dim, int n_faces) {
    struct affine_layout at;
    at.reaction = 0;                                /* J lambda */
    at.stiffness = 1;                               /* C'KC/J: pairs */
    at.weight = at.stiffness + dim * (dim + 1) / 2; /* tau |F| of each face */
    at.sign = at.weight + n_faces;                  /* of odd trace functions of each face */
    at.gradient = at.sign + n_faces;                /* C'K n_f/J: face x dim */
    at.flux_normal = at.gradient + n_faces * dim;   /* K n_f/J: face x dim */
    at.normals = at.flux_normal + n_faces * dim;    /* n_f'K n_g/J: face x face */
    at.flux = at.normals + n_faces * n_faces;       /* KC/J: dim x dim */
    at.count = at.flux + dim * dim;
    return at;
}

#endif
