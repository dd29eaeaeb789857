/* Orthonormal multiples of the Jacobi polynomials P_n^(a,b) on [-1, 1]. */
#ifndef FACET_POLY_JACOBI_H
#define FACET_POLY_JACOBI_H

/* values[0..n] and derivatives[0..n] (or NULL) of P_0..P_n^(a,b) at x; a, b > -1, scaled so that the integral
 * over [-1,1] of (1-x)^a (1+x)^b P_i P_j is delta_ij. */
void jacobi_orthonormal(int n, double a, double b, double x, double *values, double *derivatives);

/* The recurrence of the orthonormal polynomials p_n, from which everything else in this room is built:
 *     root_(n+1) p_(n+1) = (x - alpha_n) p_n - root_n p_(n-1),   p_0 = 1/sqrt(mass),  p_(-1) = 0.
 * In long double, since the rules want their points and weights correct to the last digit of a double. */
long double jacobi_alpha(int n, long double a, long double b);
long double jacobi_root(int n, long double a, long double b); /* n >= 1 */
/* The integral of the weight, 2^(a+b+1) B(a+1, b+1). */
long double jacobi_mass(long double a, long double b);

#endif
