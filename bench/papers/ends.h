/* One cell in one direction for continuous elements of degree p on [-1, 1]: two end functions, which carry
 * the values at -1 and +1, and p - 1 modes inside, which vanish there.
 *
 * Both are chosen for the mass matrix in use: the exact one, or that of huismann2020, collocated at the
 * Gauss-Lobatto points. In the orthonormal Legendre basis l_0 .. l_p the exact one is the identity, and the
 * collocated one differs from it in a single entry, (l_p, l_p) = (2p + 1) / p, the rule being exact to degree
 * 2p - 1. So both are diag(gamma). The modes are orthonormal and diagonalize the stiffness matrix; the end
 * functions are orthogonal to all modes:
 *
 *     mass      = [ mass[0] mass[1] | 0 ]     stiffness = [ stiffness[0] stiffness[1] | L_- ]
 *                 [ mass[1] mass[0] | 0 ]                 [ stiffness[1] stiffness[0] | L_+ ]
 *                 [        0        | 1 ]                 [       L_-'         L_+'   | Lambda ]
 *
 * (L_+)_m = b_m > 0, and (L_-)_m is b_m for even modes and -b_m for odd ones. Even modes come first, each
 * parity by ascending eigenvalue. With the collocated mass the end functions are the Lagrange polynomials of
 * the Gauss-Lobatto points.
 */
#ifndef FACET_BENCH_PAPERS_ENDS_H
#define FACET_BENCH_PAPERS_ENDS_H

#include "base/status.h"

enum box_mass { BOX_MASS_EXACT, BOX_MASS_COLLOCATED };

struct box_ends {
    int n, n_inner, n_even; /* functions: degree + 1; modes: degree - 1; even ones of these */
    enum box_mass kind;
    double *coefficients; /* n x n: [i*n + f] is that of l_i in function f: 0 at -1, 1 at +1, then the modes
                           */
    double *eigenvalues, *b;      /* n_inner each */
    double mass[2], stiffness[2]; /* an end with itself, with the other one */
    double *linear; /* n_inner: (1 + x) / 2 is the end function of +1 plus these modes; for (1 - x) / 2
                       odd ones change sign */
    double *nodes, *weights; /* n: the Gauss-Lobatto points and weights */
    double *S;               /* n_inner x n_inner: [q*n_inner + m] is mode m at node q + 1 */
};
/* degree 1 .. BOX_MAX_DEGREE. */
facet_status box_ends_create(int degree, enum box_mass kind, struct box_ends *ends);
void box_ends_destroy(struct box_ends *ends); /* safe on a zeroed struct, and twice */
/* values[q*n + f] of the functions, and their derivatives (or NULL), at n_points points of [-1, 1]. */
facet_status box_ends_evaluate(const struct box_ends *ends, int n_points, const double *x, double *values,
                               double *derivatives);

static inline int box_ends_odd(const struct box_ends *ends, int mode) {
    return mode >= ends->n_even;
}
/* Stiffness of a mode with the end at -1 (side 0) or +1 (side 1). */
static inline double box_ends_coupling(const struct box_ends *ends, int side, int mode) {
    return side == 0 && box_ends_odd(ends, mode) ? -ends->b[mode] : ends->b[mode];
}

#endif
