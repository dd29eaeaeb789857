/* The lines, columns and colours of vertex patches on a box (kernels/brick.h).
 *
 * Every vertex that carries an unknown is the middle of a patch: inside the box the two cells of the
 * direction with 2k - 1 free nodes, at an end without Dirichlet values the one cell there with its end node.
 * A direction that one patch can cover (one cell; two cells between Dirichlet ends) has that one column, so
 * that a step is an exact solve along it.
 */
#ifndef FACET_BOXSEM_PATCHES_H
#define FACET_BOXSEM_PATCHES_H

#include "box/box.h"
#include "box/element.h"
#include "device/device.h"

struct boxsem_patches {
    const struct device *device;
    struct brick_patches plan;
    struct brick_line *lines;
};
/* `cells` (boxsem/brick.h) must outlive it. The variant is PATCH_BOUNDARY, there are no inner steps, the
 * damping is 1 or that of approximate patches; the caller may change all three in the plan. */
facet_status boxsem_patches_create(const struct device *device, const struct box_grid *grid,
                                   const struct box_element *element, const struct brick_cells *cells,
                                   struct boxsem_patches *patches);
void boxsem_patches_destroy(struct boxsem_patches *patches); /* safe on a zeroed struct, and twice */

#endif
