/* Orthonormal hierarchical bases on the reference cells, and Lagrange bases on lattices.
 *
 * Orthonormal: the integral of phi_i phi_j over the reference cell is delta_ij, phi_0 is constant, and the
 * basis of degree k-1 is the beginning of that of degree k. Simplices span P_k (ordered by total degree),
 * tensor cells Q_k: products of Legendre polynomials of degrees (i,j,k), ordered by the largest of them, and
 * among equals with i running fastest. Prisms: products of both, P_k x P_k, ordered by the larger of the two
 * degrees. Pyramids: rational functions (pyramid.h). SHAPE_POINT has the one function 1.
 *
 * Nothing here keeps a state: all functions may be called from several threads at once.
 */
#ifndef FACET_POLY_BASIS_H
#define FACET_POLY_BASIS_H

#include "base/status.h"
#include "poly/shape.h"

int basis_size(enum shape shape, int degree);
/* values: n_points x size; gradients (or NULL): n_points x size x dim. x: n_points x dim. Points anywhere,
 * the collapsed vertices included. */
facet_status basis_eval(enum shape shape, int degree, int n_points, const double *x, double *values,
                        double *gradients);

/* The Lagrange basis on the nodes of shape_nodes(shape, order): values n_points x n_nodes, gradients (or
 * NULL) n_points x n_nodes x dim. order 1..10. At points of a face the functions of the nodes off the face
 * are exactly zero. */
facet_status basis_lagrange(enum shape shape, int order, int n_points, const double *x, double *values,
                            double *gradients);

/* 1D barycentric interpolation. weights of n distinct nodes, scaled so that the largest is 1. */
void lagrange_weights(int n, const double *nodes, double *weights);
/* row[j] = l_j(x), exact at the nodes. */
void lagrange_row(int n, const double *nodes, const double *weights, double x, double *row);
/* D[i*n+j] = l_j'(x_i), rows summing to zero exactly in the sense of the negative-sum trick. */
void lagrange_derivative(int n, const double *nodes, const double *weights, double *D);

#endif
