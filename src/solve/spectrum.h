/* What a polynomial smoother has to know of a spectrum: noise to begin with, the largest eigenvalue of D A,
 * and the coefficients of polynomials for it. */
#ifndef FACET_SOLVE_SPECTRUM_H
#define FACET_SOLVE_SPECTRUM_H

#include "solve/solve.h"

/* Numbers between -1 and 1 without structure that are the same everywhere, to begin estimates with; and on a
 * device. */
void solve_noise(int64_t n, double *x);
facet_status solve_fill_noise(struct vector *x);

/* Bounds of the spectrum of D A, both symmetric and definite up to a kernel, from the Lanczos matrix of at
 * most LANCZOS_ROOM steps of conjugate gradients: the estimates come from inside and are moved out a little.
 * least: NULL where it is not wanted. D NULL: it is built into the steps of A. work: four vectors like A's,
 * the first one to begin with; the second is for D alone. */
#define LANCZOS_MAX  12
#define LANCZOS_ROOM 40
void solve_eigenvalue_bounds(const struct linear_operator *A, const struct linear_operator *D, int steps,
                             struct vector *const work[4], double *least, double *top);

/* The least eigenvalue of a symmetric tridiagonal matrix, such as that of Lanczos, of at most SOLVE_LANCZOS
 * rows; both arrays are overwritten. 1 if there are none. */
#define SOLVE_LANCZOS 400
double solve_least_eigenvalue(int n, double *diagonal, double *below);

/* FIRST: Chebyshev polynomials of the first kind on [top / ratio, top]; FOURTH: of the fourth kind, which are
 * optimal for a coarse correction and need no lower bound. */
enum polynomial { POLYNOMIAL_FIRST, POLYNOMIAL_FOURTH };
/* The `degree` coefficients of the recurrence d = a D r + b d, x += d; b[0] = 0. */
void polynomial_coefficients(enum polynomial kind, double top, double ratio, int degree, double *a,
                             double *b);

#endif
