/* The coarse space of the preconditioners on a box: continuous functions on the cell mesh, linear in every
 * direction, given by their values at the vertices; those on Dirichlet sides are dropped, periodic ones are
 * one. In modes such a function is 1 or xi along each tangential axis of a face: the `hats` of kernels/box.h.
 *
 * The Galerkin matrix A = P'KP. On one cell the eight products of 1 and xi are its eigenvectors (reflections
 * leave the cell as it is), so it is known by eight energies; and these eight numbers make it a combination
 * of products of the 1D mass and stiffness matrices of linear elements. With constant k and lambda A is
 * solved by the eigenvectors of these 1D matrices: exactly where cells are equal, and with averaged energies
 * on graded boxes. Otherwise it is assembled, and solved by Cholesky or, when large, by a cycle of algebraic
 * multigrid. Of a block the right-hand side is a part of a sum, in which a face counts where it is owned, and
 * the sum of the matrices of all blocks is solved elsewhere (solve/external.h). */
#ifndef FACET_BOXHDG_VERTEX_SPACE_H
#define FACET_BOXHDG_VERTEX_SPACE_H

#include "boxhdg/lanes.h"
#include "solve/multigrid.h"

struct boxhdg_coarse;
/* For lanes of any precision, whose device it is on: its vectors are of double precision. */
facet_status boxhdg_coarse_create(const struct boxhdg_lanes *lanes, struct boxhdg_coarse **coarse);
void boxhdg_coarse_destroy(struct boxhdg_coarse **coarse);
int64_t boxhdg_coarse_size(const struct boxhdg_coarse *coarse);
int boxhdg_coarse_is_empty(const struct boxhdg_coarse *coarse); /* on all blocks */

/* The last levels of a multigrid: the solve of A. The coarse space must outlive them. */
facet_status boxhdg_coarse_end(struct boxhdg_coarse *coarse, struct multigrid *mg);
/* vertices = P'r from the moments of r, and the coefficients of P times vertices on all faces, in the
 * precision of those. Of a block the moments of faces that others own become zero. */
void boxhdg_coarse_gather(struct boxhdg_coarse *coarse, struct vector *moments, struct vector *vertices);
void boxhdg_coarse_spread(struct boxhdg_coarse *coarse, const struct vector *vertices,
                          struct vector *coefficients);

#endif
