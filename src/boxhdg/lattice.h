/* Direct solves on separable boxes (the same k and lambda in all cells) by fast diagonalization: the whole box is one
 * product of the chains of boxhdg/axis.h. With F_d the right-hand side on the faces normal to d and hats for the
 * transform by Q' in their tangential directions,
 *
 *     u = [P_1 F^_1 + P_2 F^_2 + P_3 F^_3] / (lambda + k (theta_1 + theta_2 + theta_3))
 *     uhat_d = Q Q [G_d^-1 F^_d / k + P_d' u]
 *
 * solves K uhat = F: 36 N operations per unknown of the volume, N being the cells of a direction, all of them products
 * of dense matrices on lattices. Boxes that are their own mirror images would need half of them; the way there and
 * back costs as much. u exists in slabs of the last axis, as large as a device likes tiles. */
#ifndef FACET_BOXHDG_LATTICE_H
#define FACET_BOXHDG_LATTICE_H

#include "boxhdg/lanes.h"
#include "solve/solve.h"

/* M: the inverse of K, for vectors in these lanes (double precision), which must outlive it. The box is
 * separable; k and lambda are those of its first cell. Of a singular one, F has nothing along the constant; what x has
 * of it is not determined. rough: the same in single precision and less, as estimates of errors need it; it ends with
 * M. One solve at a time. */
facet_status operator_create_box_lattice(const struct boxhdg_lanes *lanes, struct linear_operator *M,
                                         struct linear_operator *rough);
/* Bytes of the device that it takes for a box of so many cells. */
double boxhdg_lattice_bytes(const struct device *device, const struct boxhdg *hdg, const int cells[3]);

#endif
