/* Quadrature rules on the reference cells.
 *
 * A rule owns its arrays; free it with rule_destroy. Points are rows of dim coordinates in the unit cells of
 * shape.h; the weights sum to the measure of the cell. The 1D families below live on [-1, 1].
 */
#ifndef FACET_POLY_RULE_H
#define FACET_POLY_RULE_H

#include "base/status.h"
#include "poly/shape.h"

struct rule {
    enum shape shape;
    int dim, n;
    double *x; /* n x dim */
    double *w; /* n */
};
void rule_destroy(struct rule *rule); /* empties it; safe on a zeroed struct, and twice */

/* 1D rules on [-1,1] with n points for the weight (1-x)^a (1+x)^b, to rounding, for any n; points ascend.
 * Gauss: exact to degree 2n-1. Radau: -1 is a point, 2n-2. Lobatto: both ends are, n >= 2, 2n-3. */
facet_status rule_gauss_jacobi(int n, double a, double b, double *x, double *w);
facet_status rule_gauss_radau(int n, double a, double b, double *x, double *w);
facet_status rule_gauss_lobatto(int n, double a, double b, double *x, double *w);

/* A rule with positive weights inside the cell, exact for polynomials of total degree <= degree on simplices
 * and of degree <= degree in each coordinate on tensor cells. Any degree >= 0. Tensor cells: Gauss.
 * Simplices: collapsed Gauss-Jacobi products. SHAPE_POINT: one point of weight 1. */
facet_status rule_create(enum shape shape, int degree, struct rule *rule);
/* Tensor Gauss with n points per direction (tensor cells), or the collapsed product with n per direction. */
facet_status rule_create_points(enum shape shape, int n, struct rule *rule);
/* king2014's rule on a triangle: n_lobatto Gauss-Lobatto points along the base times n_radau Gauss-Radau(1,0)
 * points (the base included) towards the collapsed vertex, the third one. */
facet_status rule_create_collapsed_lobatto_radau(int n_lobatto, int n_radau, struct rule *rule);
/* The rule of Grundmann and Moeller with index s >= 0 on a triangle or tet, exact to degree 2s + 1. Weights
 * of both signs: for repeating what a paper measured, not for matrices. */
facet_status rule_create_grundmann_moeller(enum shape shape, int s, struct rule *rule);
/* The symmetric rules of few points, all inside and of positive weight: 6 points of degree 4 on a triangle, 4
 * points of degree 2 and 14 points of degree 5 on a tet; FACET_ERROR_INPUT for another number. */
facet_status rule_create_symmetric(enum shape shape, int n, struct rule *rule);
/* A copy with room of its own. */
facet_status rule_copy(const struct rule *from, struct rule *to);

#endif
