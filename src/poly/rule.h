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
 * Gauss: exact to degree 2n-1. Lobatto: both ends are points, n >= 2, 2n-3. */
facet_status rule_gauss_jacobi(int n, double a, double b, double *x, double *w);
facet_status rule_gauss_lobatto(int n, double a, double b, double *x, double *w);

/* A rule with positive weights inside the cell, exact for polynomials of total degree <= degree on simplices
 * and of degree <= degree in each coordinate on tensor cells (prisms: in x and y together, and in z;
 * pyramids: for polynomials of that degree in each coordinate of the cube that pyramid.h collapses, with the
 * weight of the collapse). Any degree >= 0. Tensor cells: Gauss with degree / 2 + 1 points per direction.
 * Triangles and tets: the rule of rule_tables.h with the fewest points, which the permutations of the corners
 * leave as it is; beyond the table, and where they have as few points, products. Prisms: the triangle's at
 * the points of Gauss. SHAPE_POINT: one point of weight 1. */
facet_status rule_create(enum shape shape, int degree, struct rule *rule);

/* The same by products alone, (degree / 2 + 1)^dim points on every shape: on simplices collapsed Gauss-Jacobi
 * products. For what is sampled rather than integrated, where more points see more. */
facet_status rule_create_product(enum shape shape, int degree, struct rule *rule);

#endif
