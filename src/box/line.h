/* HDG on one cell in one direction: the 1D matrices of huismann2020, eq. 8 and 18, on [-1, 1].
 *
 * In the orthonormal Legendre basis l_0 .. l_p (mass matrix = identity), with D_ij = (l_i, l_j'), the end
 * values e_- = l(-1), e_+ = l(+1) and rho = tau h / (2 k):
 *
 *     L = rho (e_- e_-' + e_+ e_+') + D D'                            (eq. 8g; L S = S Lambda, S' S = 1)
 *     R_- = rho e_- - D e_-,   R_+ = rho e_+ + D e_+                  (what a trace value does to u)
 *     g = rho + e_+' e_+,      c = -e_-' e_+                          (G + C' M^-1 C = [g c; c g])
 *
 * A 1D cell of width h then has, with the factor 2 k / h, the element matrix [g c; c g] - R' (lambda h^2 / (4
 * k) + L)^-1 R. Reflection maps l_i to (-1)^i l_i, so every eigenvector is even or odd: modes are sorted with
 * the even ones first, each parity by ascending eigenvalue, and for mode m
 *
 *     (S' R_+)_m = b_m > 0,   (S' R_-)_m = b_m (even) or -b_m (odd).
 *
 * b_m vanishes for no mode: a mode that feels neither end would be orthogonal to all polynomials of degree p.
 * With the sum v_0 = uhat_+ + uhat_- and the difference v_1 = uhat_+ - uhat_- of the two ends, mode m sees
 * b_m v_par(m), and the ends receive r_0 +- r_1 with r_par = gamma[par] v_par - sum over modes m of this
 * parity of b_m u_m.
 */
#ifndef FACET_BOX_LINE_H
#define FACET_BOX_LINE_H

#include <math.h>

#include "base/status.h"

/* Of the orthonormal Legendre polynomials: (l_i, l_j') and l_i(1). */
static inline double box_legendre_slope(int i, int j) {
    return j > i && (i + j) % 2 == 1 ? sqrt((2.0 * i + 1.0) * (2.0 * j + 1.0)) : 0.0;
}
static inline double box_legendre_end(int i) {
    return sqrt(i + 0.5);
}

/* values[q*n + f] of n functions, and their derivatives (or NULL), at n_points points of [-1, 1]:
 * coefficients[i*n + f] is that of l_i in function f. */
facet_status box_legendre_evaluate(int n, const double *coefficients, int n_points, const double *x,
                                   double *values, double *derivatives);

struct box_line {
    int n, n_even;    /* modes: degree + 1; even ones: (n + 1) / 2 */
    double rho, last; /* last: l_p is divided by the root of its mass */
    double *S; /* n x n: S[i*n + m] is the coefficient of l_i in mode m; zero if i and m differ in parity */
    double *eigenvalues; /* n, Lambda */
    double *b;           /* n */
    double gamma[2];     /* (g + c) / 2, (g - c) / 2 */
};
/* degree 1 .. BOX_MAX_DEGREE, rho > 0. lumped: the mass at the Gauss-Lobatto points; that matrix is still
 * diagonal, but the square of l_p, which the rule does not integrate, is 2 + 1/p. */
facet_status box_line_create(int degree, double rho, int lumped, struct box_line *line);
void box_line_destroy(struct box_line *line); /* safe on a zeroed struct, and twice */

#endif
