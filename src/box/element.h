/* Modes of 1D pairs of mass and stiffness, and the blocks in which kernels/brick.h keeps matrices that send
 * even functions to even modes and odd ones to odd modes. */
#ifndef FACET_BOX_ELEMENT_H
#define FACET_BOX_ELEMENT_H

#include "base/status.h"

/* 1D elements of degree k on [0, 1] in the Lagrange basis of the Gauss-Lobatto points, mass and stiffness
 * exact. */
struct box_element {
    int k;
    double *nodes;            /* k + 1 */
    double *mass, *stiffness; /* (k + 1) x (k + 1) */
};
facet_status box_element_create(int k, struct box_element *element);
void box_element_destroy(struct box_element *element); /* safe on a zeroed struct, and twice */
/* Values of the k + 1 Lagrange functions at x. */
void box_element_values(const struct box_element *element, double x, double *values);

/* S (m x m, rows: nodes) with S'M S = 1 and S'A S = diag(eigenvalues), ascending. M and A are m x (m + 2):
 * the first and the last column are left out. With even > 0 the pair is symmetric under reflection, and the
 * even modes come first. */
facet_status box_modes(int m, int even, const double *M, const double *A, double *S, double *eigenvalues);
/* Whether M and A (m x (m + 2)) are the same when all nodes are taken in reverse. */
int box_is_symmetric(int m, const double *M, const double *A);
/* rows (m x m: modes by nodes) or its transpose as blocks for sums and differences of opposite nodes. */
void box_put_blocks(double *to, int m, int even, const double *rows, int transposed);

#endif
