/* Modal bases for continuous functions: every mode belongs to a vertex, an edge or the interior of its cell
 * and vanishes on the vertices, edges and faces that it does not belong to.
 *
 * Vertex modes are the barycentric (simplices) or multilinear (tensor cells) coordinates: they sum to 1. The
 * modes of an edge are blended from the Lobatto kernels
 *
 *     l_j(s) = integral of the orthonormal Legendre polynomial of degree j-1 from 0 to s,   j = 2 .. degree,
 *
 * on the frame of the edge, so that neighbours see the same trace without any signs. On a simplex l_j is
 * made homogeneous in the two barycentric coordinates of the edge, on a tensor cell it is multiplied by the
 * linear functions that are 1 on the edge. Reversing the frame multiplies mode j by (-1)^j. Interior modes:
 * orthonormal bubbles by ascending total degree on triangles, products l_i l_j by ascending max(i, j) on
 * quads, l_j on segments. Within each vertex, edge and interior the basis of degree k-1 is the beginning of
 * that of degree k, and all together span the space of basis_eval.
 *
 * Order: vertices, then edges (the faces of a 2D cell) with degree-1 modes each, then the interior.
 */
#ifndef FACET_POLY_MODAL_H
#define FACET_POLY_MODAL_H

#include "base/status.h"
#include "poly/shape.h"

/* Segments, triangles and quads. Modes of vertices and edges; of the interior. Their sum is
 * basis_size(shape, degree). degree >= 1. */
int modal_n_boundary(enum shape shape, int degree);
int modal_n_interior(enum shape shape, int degree);

/* values: n_points x size; gradients (or NULL): n_points x size x dim. orientations: of every edge, as in
 * shape.h (NULL: all 0). */
facet_status modal_eval(enum shape shape, int degree, const unsigned char *orientations, int n_points,
                        const double *x, double *values, double *gradients);

#endif
