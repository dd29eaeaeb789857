/* Modal bases for continuous functions: every mode belongs to a vertex, an edge, a face or the interior of
 * its cell and vanishes on the vertices, edges and faces that it does not belong to.
 *
 * Vertex modes are the barycentric (simplices) or multilinear (tensor cells) coordinates: they sum to 1. The
 * modes of an edge are blended from the Lobatto kernels
 *
 *     l_j(s) = integral of the orthonormal Legendre polynomial of degree j-1 from 0 to s,   j = 2 .. degree,
 *
 * on the frame of the edge, so that neighbours see the same trace without any signs. On a simplex l_j is
 * made homogeneous in the two barycentric coordinates of the edge, on a tensor cell it is multiplied by the
 * linear functions that are 1 on the edge. Bubbles of triangles and tets: orthonormal, by ascending total
 * degree; of quads and hexes: products of kernels by ascending largest index. A 3D cell takes those of its
 * triangles and quads to its faces in the same way, in the frame of the face. Within each vertex, edge, face
 * and interior the basis of degree k-1 is the beginning of that of degree k, and all together span the space
 * of basis_eval.
 *
 * Order: by the entities of poly/shape.h, vertices, edges, (3D) faces, then the interior.
 */
#ifndef FACET_POLY_MODAL_H
#define FACET_POLY_MODAL_H

#include "base/status.h"
#include "poly/shape.h"

/* Modes of an edge or face at the largest degree, 16. */
#define MODAL_MAX_SHARED 225

/* Modes of the interior, which are also those that the shape has as an edge or a face of a cell; all others.
 * Their sum is basis_size(shape, degree). degree >= 1. */
int modal_n_interior(enum shape shape, int degree);
int modal_n_boundary(enum shape shape, int degree);

/* values: n_points x size; gradients (or NULL): n_points x size x dim. orientations: of every edge, then (3D)
 * of every face, as in shape.h (NULL: all 0). Any shape but the point. */
facet_status modal_eval(enum shape shape, int degree, const unsigned char *orientations, int n_points,
                        const double *x, double *values, double *gradients);

/* The modes of an edge or face in the frame with this orientation are T (n x n, orthogonal) times those with
 * orientation 0: signs on segments, signs and a permutation on quads, blocks by degree on triangles. */
facet_status modal_turn(enum shape shape, int degree, int orientation, double *T);

#endif
