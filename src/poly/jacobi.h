/* Jacobi polynomials P_n^(a,b) on [-1, 1], and their orthonormal multiples. */
#ifndef FACET_POLY_JACOBI_H
#define FACET_POLY_JACOBI_H

/* values[0..n] and derivatives[0..n] (or NULL) of P_0..P_n^(a,b) at x; a, b > -1. The classical normalisation. */
void jacobi_all(int n, double a, double b, double x, double *values, double *derivatives);
/* The same, scaled so that the integral over [-1,1] of (1-x)^a (1+x)^b P_i P_j is delta_ij. */
void jacobi_orthonormal(int n, double a, double b, double x, double *values, double *derivatives);

#endif
