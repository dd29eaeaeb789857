/* A box with one k and one lambda is a product of 1D problems, solved without iteration: with the 1D modes
 * S'M S = 1, S'A S = Theta of the whole direction,
 *
 *     u = S S S [lambda + k (theta_0 + theta_1 + theta_2)]^-1 S'S'S' b.
 *
 * 12 N k operations per unknown, N k being the nodes of a direction, all of it products of dense matrices:
 * the rival of multigrid where it applies, and its coarse solver.
 */
#ifndef FACET_BOX_SEPARABLE_H
#define FACET_BOX_SEPARABLE_H

#include "box/box.h"
#include "box/element.h"
#include "solve/solve.h"

struct box_separable;
/* k and lambda are those of the first cell. One solve at a time: the work arrays belong to the object. */
facet_status box_separable_create(const struct device *device, const struct box_grid *grid,
                                  const struct box_element *element, struct box_separable **separable);
void box_separable_destroy(struct box_separable **separable);
void box_separable_set_reaction(struct box_separable *separable, double reaction);
/* Vectors of all nodes, b and u may be one; u is zero on nodes with Dirichlet values. In the singular case
 * the constant part of b is taken out, and u has none (in the sense of M). `separable` is borrowed and must
 * outlive M. */
void operator_create_separable(struct box_separable *separable, struct operator* M);

#endif
