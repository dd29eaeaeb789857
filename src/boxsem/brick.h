/* What the kernels on bricks need to know about a box: the operator on its cells, and the embedding of the
 * functions of a box with fewer cells (kernels/brick.h). */
#ifndef FACET_BOXSEM_BRICK_H
#define FACET_BOXSEM_BRICK_H

#include "box/box.h"
#include "box/element.h"
#include "device/device.h"

struct boxsem_brick {
    const struct device *device;
    struct brick_cells cells; /* owns its arrays; k and lambda may be changed where no array holds them */
};
/* k and lambda are constants where the grid's are the same in all cells. */
facet_status boxsem_brick_create(const struct device *device, const struct box_grid *grid,
                                 const struct box_element *element, struct boxsem_brick *brick);
void boxsem_brick_destroy(struct boxsem_brick *brick); /* safe on a zeroed struct, and twice */

/* From `coarse` to `fine`: in every direction the coarse grid has the coordinates of the fine one, or every
 * second of them, and its functions are those of `low`, which is `element` or, on the same grid, the linear
 * one. */
struct boxsem_transfer {
    const struct device *device;
    struct brick_transfer plan;
};
facet_status boxsem_transfer_create(const struct device *device, const struct box_grid *fine,
                                    const struct box_grid *coarse, const struct box_element *element,
                                    const struct box_element *low, struct boxsem_transfer *transfer);
void boxsem_transfer_destroy(struct boxsem_transfer *transfer); /* safe on a zeroed struct, and twice */

#endif
