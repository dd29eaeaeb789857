/* The direct solve of boxhdg/direct.h in lanes, on devices with memory for it: the same algebra on whole
 * lattices, a product of dense matrices after the other, with u of all modes of the box in between. Matrices
 * are not split by parity: the arithmetic of a GPU is cheaper than the way there. */
#ifndef FACET_BOXHDG_LATTICE_H
#define FACET_BOXHDG_LATTICE_H

#include "boxhdg/lanes.h"
#include "solve/solve.h"

/* M: the inverse of K, for vectors in these lanes (double precision), which must outlive it. The box is
 * separable and not singular; k and lambda are those of its first cell. rough: the same in single precision
 * and less, as estimates of errors need it; it ends with M. */
facet_status operator_create_box_lattice(const struct boxhdg_lanes *lanes, struct linear_operator *M,
                                         struct linear_operator *rough);
/* NULL, or why a device has no such solve of a box. */
const char *boxhdg_lattice_refusal(const struct device *device, const struct boxhdg *hdg);
/* Bytes of the device that it takes for a box of so many cells. */
double boxhdg_lattice_bytes(const struct boxhdg *hdg, const int cells[3]);

#endif
