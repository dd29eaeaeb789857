/* Eigenvectors of 1D problems, by parity: what all chains of cells and all elements are solved with.
 *
 * A problem that is its own mirror image falls into an even and an odd half. A fold T takes every unknown and
 * its mirror image to their (sum, difference) / sqrt(2), even ones first, so that T is orthogonal and
 * matrices of the problem are block diagonal between folded unknowns: half the work of everything. Problems
 * without symmetry have one block, "even", and T = 1.
 */
#ifndef FACET_BOX_MODES_H
#define FACET_BOX_MODES_H

#include <stdint.h>

#include "base/status.h"

/* y = T x ([0]) and x = T' y ([1]), row by row: y[i] = weights[i][0] x[from[i][0]] + weights[i][1]
 * x[from[i][1]]. */
struct box_fold {
    int n, sizes[2]; /* all, even ones (which come first), odd ones */
    int (*from[2])[2];
    double (*weights[2])[2];
};
/* mirror[i]: the index that i goes to, with the sign signs[i] (NULL: 1); mirror NULL: T = 1. */
facet_status box_fold_create(int n, const int *mirror, const int *signs, struct box_fold *fold);
/* The first `ends` unknowns are mirrored end for end, the rest stays; on a ring around the first of them. */
facet_status box_fold_create_mirrored(int n, int ends, int ring, struct box_fold *fold);
void box_fold_destroy(struct box_fold *fold); /* safe on a zeroed struct, and twice */
/* Along the rows of arrays, n x width each with so many numbers from row to row, or within one row. */
void box_fold_rows(const struct box_fold *fold, int back, int64_t width, const double *x, int64_t x_step,
                   double *y, int64_t y_step);
void box_fold_row(const struct box_fold *fold, int back, const double *x, double *y);
/* The block of one parity of T B T', the rows and columns of B having folds; `step` from row to row of B. */
void box_fold_matrix(const struct box_fold *rows, const struct box_fold *columns, int parity, const double *B,
                     int step, double *to);
static inline int box_fold_first(const struct box_fold *fold, int parity) {
    return parity ? fold->sizes[0] : 0;
}
/* Whether cells are the same from both ends. kinds: what else has to agree; NULL: nothing. */
int box_is_mirrored(int n_cells, const double *widths, const int *kinds);

/* S (n x n, rows: unknowns) with S'M S = 1 and S'A S = diag(eigenvalues): even modes first, each parity
 * ascending. M and A: n x n, `step` from row to row; M NULL: 1. */
facet_status box_modes(const struct box_fold *fold, const double *M, const double *A, int step, double *S,
                       double *eigenvalues);

/* C = alpha A B + beta C by rows, C being m x n and A m x k, so many numbers from row to row; A or B may be
 * given transposed. Parities may be empty: k = 0 leaves beta C, which is 0 for beta = 0. */
void box_multiply(int A_transposed, int B_transposed, int m, int n, int k, double alpha, const double *A,
                  int64_t A_step, const double *B, int64_t B_step, double beta, double *C, int64_t C_step);
/* Singular values, descending, and right singular vectors of A (rows x columns by columns, destroyed; rows >=
 * columns): V[j * columns + i] is component j of vector i. Errors are roundings of the largest value. */
facet_status box_singular_values(int rows, int columns, double *A, double *values, double *V);
/* The same by a Jacobi method: values to nearly full relative precision; V[i * columns + j], and left vectors
 * U[i * rows + j] (or NULL). */
facet_status box_singular_values_precise(int rows, int columns, double *A, double *values, double *U,
                                         double *V);

#endif
