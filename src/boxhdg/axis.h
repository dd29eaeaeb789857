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
 * A chain that is its own mirror image falls into an even and an odd half (box/modes.h): Q, P and G^-1 are
 * block diagonal between folded modes of the cells and folded planes.
 */
#ifndef FACET_BOXHDG_AXIS_H
#define FACET_BOXHDG_AXIS_H

#include "box/diagonalize.h"
#include "boxhdg/boxhdg.h"

/* Cells one after the other. low, high: the numbers of their planes, -1 where uhat is zero. */
struct box_chain {
    int n, n_cells, n_planes; /* modes a cell */
    const double *widths;
    const struct box_line *const *lines;
    const int *low, *high;
};

struct box_axis {
    int n, n_cells;
    struct box_direction
        modes;    /* from the n x n_cells modes, cell by cell, to eigenvectors: Q', Q and Theta */
    int n_planes; /* free ones */
    struct box_fold plane_fold;
    double *P[2];       /* modes.sizes[b] x plane sizes[b] */
    double *inverse[2]; /* of G: plane sizes[b] squared */
};
facet_status box_axis_create(const struct box_chain *chain, struct box_axis *axis);
/* The chain of all cells of the box in direction d; a direction that is not there has one mode of value 1. */
facet_status box_axis_create_whole(const struct boxhdg *h, int d, struct box_axis *axis);
/* Whether two directions have the same cells, conditions and lines. */
int box_axis_same(const struct boxhdg *h, int d, int e);
void box_axis_destroy(struct box_axis *axis); /* safe on a zeroed struct, and twice */

#endif
