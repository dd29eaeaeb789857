/* The coarse space of a box that processes hold block by block: with constant coefficients its vertices are
 * solved for by fast diagonalization (box/diagonalize.h). A process takes the vertices of its block to the
 * modes of the whole box, the modes are added up over all processes, and each takes what it divides them by
 * back to its block: no process works on more points than it has. Private to this room. */
#ifndef FACET_BOXHDG_SHARED_VERTICES_H
#define FACET_BOXHDG_SHARED_VERTICES_H

#include "box/diagonalize.h"
#include "boxhdg/lanes.h"

/* The inverse eigenvalues of A = P'KP from those of linear elements along the axes, by the mean coefficients
 * of all cells in products of mass (0) and stiffness (1), bit 2 - axis. */
void boxhdg_invert_products(const struct box_diagonal *diagonal, const double mean[8], int singular,
                            double *inverses);

/* Whether that takes less time than algebraic multigrid, by the operations for each vertex of a block.
 * Collective. */
facet_status boxhdg_shared_vertices_pay(const struct boxhdg_lanes *lanes, int *pays);
/* The solve, on the host: it takes the parts of a right-hand side, whose sum over all blocks it is, and gives
 * every block its part of the solution. mean: of the cells of this block. numbers: of the lattice of the
 * block, which is so long as size says; n unknowns. Collective. */
facet_status operator_create_shared_vertices(const struct boxhdg_lanes *lanes, const double mean[8],
                                             const int size[3], const int64_t *numbers, int64_t n,
                                             struct linear_operator *M);

#endif
