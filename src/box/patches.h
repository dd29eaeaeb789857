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
#include "box/modes.h"
#include "device/device.h"

struct box_patches {
    const struct device *device;
    struct brick_patches plan;
    struct brick_line *lines;
};
/* `cells` (box/brick.h) must outlive it. The variant is PATCH_BOUNDARY, there are no inner steps, the damping
 * is 1 or that of approximate patches; the caller may change all three in the plan. */
facet_status box_patches_create(const struct device *device, const struct box_grid *grid,
                                const struct box_element *element, const struct brick_cells *cells,
                                struct box_patches *patches);
void box_patches_destroy(struct box_patches *patches); /* safe on a zeroed struct, and twice */

#endif
