/* The multigrid of HDG on a box: the faces, smoothed by the inverse diagonal D of K, and below them the
 * continuous linear functions of the cell mesh (boxhdg/vertex_space.h), solved.
 *
 * ADDITIVE: D + P A^-1 P'. Conjugate gradients never store what it gives: they take it as four coefficients a
 * face (struct operator_steps). CHEBYSHEV: a V-cycle with polynomials of the fourth kind in D K before and
 * after the correction, every step being one sweep. */
#ifndef FACET_BOXHDG_TWO_LEVELS_H
#define FACET_BOXHDG_TWO_LEVELS_H

#include "boxhdg/vertex_space.h"
#include "solve/multigrid.h"

/* degree: of the polynomials; 0: additive. lanes must outlive M, which is of their precision. M stays empty
 * where the coarse space is. */
facet_status boxhdg_levels_create(const struct boxhdg_lanes *lanes, int degree, struct linear_operator *M);

#endif
