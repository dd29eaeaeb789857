/* The specification: name_ref and name_single_ref for every kernel of kernels.def. */
#ifndef FACET_KERNELS_REF_H
#define FACET_KERNELS_REF_H

#include "kernels/kernels.h"

#define OF(name) name##_ref
#include "kernels/declare.h"

/* condense.c, of one cell: C has `total` columns, its first N rows are eliminated. */
int ref_eliminate(int N, int total, double *C);
void ref_substitute_back(int N, int total, double *C);
void ref_turn_row(const struct affine_tables *t, int o, double *x, int step, double *row);
void ref_turn(const struct affine_tables *t, const double *orientations, double *C, double *row);
void ref_store(int n, int ld, const double *K, int L, double *to);
/* C = [S R], N rows of N + n: u = S^-1 (u + sign R uhat), load = sign R'u, uhat and load (or NULL) `L` apart.
 * S: (N + 1)^2 numbers of scratch. 0 when S is not positive definite. */
int ref_solve(int N, int n, const double *C, double sign, int L, const double *uhat, double *u, double *load,
              double *S);
void ref_restore_sums(int n, int ld, int n_ones, int m, double one, double *d, double *K);

/* general.c: R'R = A (size x size, row-major upper triangle, in place), 0: it is not positive definite; and x
 * = R^-T x, or R^-1 x, `step` apart. */
int ref_factor(int size, double *A);
void ref_forward(int size, const double *R, double *x, int64_t step);
void ref_backward(int size, const double *R, double *x, int64_t step);

#endif
