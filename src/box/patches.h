/* The lines, columns and colours of vertex patches on a box (kernels/brick.h).
 *
 * Every vertex that carries an unknown is the middle of a patch: inside the box the two cells of the
 * direction with 2k - 1 free nodes, at an end without Dirichlet values the one cell there with its end node.
 * A direction that one patch can cover (one cell; two cells between Dirichlet ends) has that one column, so
 * that a step is an exact solve along it.
 */
#ifndef FACET_BOX_PATCHES_H
#define FACET_BOX_PATCHES_H

#include "box/grid.h"
#include "device/device.h"
#include "kernels/brick.h"

/* 1D elements of degree k on [0, 1] in the Lagrange basis of the Gauss-Lobatto points, mass and stiffness
 * exact. */
struct box_element {
    int k;
    double *nodes;            /* k + 1 */
    double *mass, *stiffness; /* (k + 1) x (k + 1) */
};
facet_status box_element_create(int k, struct box_element *element);
void box_element_destroy(struct box_element *element); /* safe on a zeroed struct, and twice */

struct box_patches {
    const struct device *device;
    struct brick_patches plan;
    struct brick_line *lines;
    double *scratch;
    int64_t scratch_bytes;
};
/* lambda and k of the plan are those of the first cell. */
facet_status box_patches_create(const struct device *device, const struct box_grid *grid,
                                const struct box_element *element, struct box_patches *patches);
void box_patches_destroy(struct box_patches *patches); /* safe on a zeroed struct, and twice */

#endif
