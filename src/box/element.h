/* Continuous elements in one dimension, and the blocks in which kernels/brick.h keeps matrices that send even
 * functions to even modes and odd ones to odd modes. */
#ifndef FACET_BOX_ELEMENT_H
#define FACET_BOX_ELEMENT_H

#include "base/status.h"

/* 1D elements of degree k on [0, 1] in the Lagrange basis of the Gauss-Lobatto points, mass and stiffness
 * exact. */
struct box_element {
    int k;
    double *nodes;            /* k + 1; owns all three */
    double *mass, *stiffness; /* (k + 1) x (k + 1) */
};
facet_status box_element_create(int k, struct box_element *element);
void box_element_destroy(struct box_element *element); /* safe on a zeroed struct, and twice */
/* Values of the k + 1 Lagrange functions at x. */
void box_element_values(const struct box_element *element, double x, double *values);
/* Values and slopes at n_points points, n_points x (k + 1) each. */
facet_status box_element_tables(const struct box_element *element, int n_points, const double *x,
                                double *values, double *slopes);
/* Adds the mass and stiffness of an element of width h to M and A, `step` numbers from row to row. rows,
 * columns: k + 1 places each, those that are negative being left out. */
void box_element_add(const struct box_element *element, double h, const int *rows, const int *columns,
                     int step, double *M, double *A);

/* Whether a matrix (m x (m + 2): a column before and one after the nodes) is the same when all nodes are
 * taken in reverse. */
int box_is_symmetric(int m, const double *B);
/* rows (m x m: modes by nodes, `even` even modes first; 0: no parity) or its transpose as blocks for sums and
 * differences of opposite nodes. */
void box_put_blocks(double *to, int m, int even, const double *rows, int transposed);

#endif
