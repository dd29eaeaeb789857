/* What the kernels on bricks need to know about a box: the operator on its cells, and the embedding of the
 * functions of a box with fewer cells (kernels/brick.h). */
#ifndef FACET_BOX_BRICK_H
#define FACET_BOX_BRICK_H

#include "box/grid.h"
#include "box/modes.h"
#include "device/device.h"

struct box_brick {
    const struct device *device;
    struct brick_cells cells; /* owns its arrays; k and lambda may be changed where no array holds them */
};
/* k and lambda are constants where the grid's are the same in all cells. */
facet_status box_brick_create(const struct device *device, const struct box_grid *grid,
                              const struct box_element *element, struct box_brick *brick);
void box_brick_destroy(struct box_brick *brick); /* safe on a zeroed struct, and twice */

/* From `coarse` to `fine`: in every direction the coarse grid has the coordinates of the fine one, or every
 * second of them. */
struct box_transfer {
    const struct device *device;
    struct brick_transfer plan;
};
facet_status box_transfer_create(const struct device *device, const struct box_grid *fine,
                                 const struct box_grid *coarse, const struct box_element *element,
                                 struct box_transfer *transfer);
void box_transfer_destroy(struct box_transfer *transfer); /* safe on a zeroed struct, and twice */

#endif
