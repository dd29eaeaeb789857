/* The coarse space of a box that processes hold block by block, solved by all of them alike: with constant
 * coefficients the vertices of the whole box are few beside the unknowns of its faces, and fast
 * diagonalization (box/diagonalize.h) takes less time than messages between the grids of algebraic multigrid.
 * Private to this room. */
#ifndef FACET_BOXHDG_WHOLE_H
#define FACET_BOXHDG_WHOLE_H

#include "box/diagonalize.h"
#include "boxhdg/lanes.h"

/* The inverse eigenvalues of A = P'KP from those of linear elements along the axes, by the mean coefficients
 * of all cells in products of mass (0) and stiffness (1), bit 2 - axis. */
void boxhdg_invert_products(const struct box_diagonal *diagonal, const double mean[8], int singular,
                            double *inverses);

/* Up to so many vertices of the whole. */
#define BOXHDG_WHOLE_VERTICES 30000
int64_t boxhdg_whole_vertices(const struct boxhdg_lanes *lanes);
/* The solve, on the host: it takes the parts of a right-hand side, whose sum over all blocks it is, and gives
 * every block its part of the solution. mean: of the cells of this block. numbers: of the lattice of the
 * block, which is so long as size says; n unknowns. Collective. */
facet_status operator_create_whole(const struct boxhdg_lanes *lanes, const double mean[8], const int size[3],
                                   const int64_t *numbers, int64_t n, struct operator* M);

#endif
