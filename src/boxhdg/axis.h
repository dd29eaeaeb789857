/* A chain of cells in one direction, solved: the 1D problem of which the box is a product.
 *
 * With u in the modes of the cells and uhat on the free planes between them, and M = diag(h/2), the chain has
 *
 *     L = blockdiag(2/h Lambda),  R: entries (2/h)(+-b),  G: assembled (2/h) [g c; c g],
 *     Lbar = L - R G^-1 R',       Lbar Q = M Q Theta,  Q'MQ = 1,       P = Q' R G^-1.
 *
 * The energy of a chain is |X u - Y uhat|^2 (flux and jumps of box/line.h), so that Lbar = X'(1 - Y Y^+)X:
 * the roots of Theta are the singular values of X with the columns of Y taken out by a QR factorisation.
 * Their error is a rounding of the largest one; an eigensolver for Lbar would lose the square of that.
 *
 * A chain that is its own mirror image falls into an even and an odd half: T takes (u, its mirror image) to
 * (sum, difference) / sqrt(2), and Q, P and G^-1 are block diagonal in sums and differences. This halves the
 * work of everything; other chains have one block, "even", and T = 1.
 */
#ifndef FACET_BOXHDG_AXIS_H
#define FACET_BOXHDG_AXIS_H

#include "boxhdg/boxhdg.h"

/* y = T x and x = T' y, row by row: y[i] = weights[i][0] x[from[i][0]] + weights[i][1] x[from[i][1]]. */
struct box_fold {
    int n, sizes[2]; /* all, even ones (which come first), odd ones */
    int (*from)[2], (*back_from)[2];
    double (*weights)[2], (*back_weights)[2];
};
/* mirror[i]: the index that i goes to, with the sign signs[i] (NULL: 1); mirror NULL: T = 1. */
facet_status box_fold_create(int n, const int *mirror, const int *signs, struct box_fold *fold);
void box_fold_destroy(struct box_fold *fold);
/* Along the rows of arrays, n x width each with so many numbers from row to row, or within one row. */
void box_fold_rows(const struct box_fold *fold, int back, int64_t width, const double *x, int64_t x_step,
                   double *y, int64_t y_step);
void box_fold_row(const struct box_fold *fold, int back, const double *x, double *y);

/* Cells one after the other. low, high: the numbers of their planes, -1 where uhat is zero. */
struct box_chain {
    int n, n_cells, n_planes; /* modes a cell */
    const double *widths;
    const struct box_line *const *lines;
    const int *low, *high;
};

struct box_axis {
    int n, n_cells, m;    /* m = n x n_cells */
    int n_planes;         /* free ones */
    struct box_fold fold; /* of the m modes, cell by cell */
    struct box_fold plane_fold;
    double *Q[2];        /* sizes[b] x sizes[b]: rows are folded modes, columns eigenvectors */
    double *Q_turned[2]; /* its transpose */
    double *theta;       /* m: even ones, then odd ones */
    double *P[2];        /* sizes[b] x plane sizes[b] */
    double *inverse[2];  /* of G: plane sizes[b] squared */
    int smallest;        /* the index of the smallest theta */
};
facet_status box_axis_create(const struct box_chain *chain, struct box_axis *axis);
/* The chain of all cells of the box in direction d; a direction that is not there has one mode of value 1. */
facet_status box_axis_create_whole(const struct boxhdg *h, int d, struct box_axis *axis);
void box_axis_destroy(struct box_axis *axis); /* safe on a zeroed struct, and twice */

/* Singular values and right singular vectors of A (rows x columns by columns, destroyed; rows >= columns):
 * V[j * columns + i] is component j of vector i. */
facet_status box_singular_values(int rows, int columns, double *A, double *values, double *V);
int box_is_mirrored(int n_cells, const double *widths, const int *kinds);

#endif
