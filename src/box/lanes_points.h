/* The cells of a box at their Gauss points, on the device of the lanes: from f there to the right-hand side
 * of the trace system, and from the trace to u there. What box/cells.h does on the host. */
#ifndef FACET_BOX_LANES_POINTS_H
#define FACET_BOX_LANES_POINTS_H

#include "box/lanes.h"

struct box_lanes_points {
    const struct box_lanes *lanes; /* borrowed */
    struct box_points points;
    void *owned[16]; /* arrays of the device */
    int n_owned;
};
/* lanes: of double precision. dirichlet, neumann: as box_hdg_load takes them. Degrees from
 * KERNEL_BOX_MAX_POINTS on are refused where the device is not the host. */
facet_status box_lanes_points_create(const struct box_lanes *lanes, const double *dirichlet,
                                     const double *neumann, struct box_lanes_points **points);
void box_lanes_points_destroy(struct box_lanes_points **points); /* safe on NULL, and twice */

/* f (NULL: zero) and u: n_volume numbers at the points, in the order of box/hdg.h; u may be f. */
void box_lanes_load(const struct box_lanes_points *points, const struct vector *f, struct vector *F);
void box_lanes_recover(const struct box_lanes_points *points, const struct vector *trace,
                       const struct vector *f, struct vector *u);

#endif
