/* Private to the room: bases of the pyramid, which are rational functions.
 *
 * With s = 1 - z, u = x/s and v = y/s the pyramid is the image of the unit cube (u, v, z), whose face z = 1
 * has become the apex. The space of degree k is spanned by
 *
 *     P_i(u) P_j(v) s^m p_l(z),   m = max(i, j),  l <= k - m,
 *
 * P Legendre polynomials and p_l those orthonormal on [0, 1] for the weight s^(2m+2): what the volume element
 * s^2 du dv dz and s^(2m) make of it. It has dimension (k+1)(k+2)(2k+3)/6, contains all polynomials of degree
 * k in x, y, z, and is Q_k on the base and P_k on the triangles. As functions of the cube all of them are
 * polynomials, so Gauss-Jacobi products integrate them exactly. At the apex their gradients depend on where
 * one comes from; there u = v = 1/2 counts, the way through the middle. */
#ifndef FACET_POLY_PYRAMID_H
#define FACET_POLY_PYRAMID_H

#include "base/status.h"

/* As basis_eval and basis_lagrange (order 1..10). */
facet_status pyramid_eval(int degree, int n_points, const double *x, double *values, double *gradients);
facet_status pyramid_lagrange(int order, int n_points, const double *x, double *values, double *gradients);

#endif
