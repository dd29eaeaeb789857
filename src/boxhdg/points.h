/* The cells of a box on the device of the lanes: from loads (or f at the Gauss points) to the right-hand side
 * of the trace system, from the trace to u, balance and single cells. What boxhdg/hdg_cells.h does on the host.
 */
#ifndef FACET_BOXHDG_POINTS_H
#define FACET_BOXHDG_POINTS_H

#include "boxhdg/lane_solver.h"

struct boxhdg_lanes_points {
    const struct boxhdg_lanes *lanes; /* borrowed */
    struct box_points points;
    void *owned[16]; /* arrays of the device */
    int n_owned;
    double *sides[3][2]; /* what is known on the sides, there */
};
/* lanes: of double precision. dirichlet, neumann: as boxhdg_load takes them; NULL: zero. Degrees from
 * KERNEL_BOX_MAX_POINTS on are refused where the device is not the host. */
facet_status boxhdg_lanes_points_create(const struct boxhdg_lanes *lanes, const double *dirichlet,
                                        const double *neumann, struct boxhdg_lanes_points **points);
void boxhdg_lanes_points_destroy(struct boxhdg_lanes_points **points); /* safe on NULL, and twice */

/* From now on f and u are in modes: f are loads. */
void boxhdg_lanes_points_in_modes(struct boxhdg_lanes_points *points);
/* What is known on one side (direction d): face_size plain modes for each of its faces (NULL: zero), faces of
 * the lower tangential direction fastest. */
facet_status boxhdg_lanes_points_set_side(struct boxhdg_lanes_points *points, int d, int side,
                                          const double *faces);

/* f (NULL: zero) and u: n_volume numbers at the points, in the order of boxhdg/boxhdg.h; u may be f. */
void boxhdg_lanes_load(const struct boxhdg_lanes_points *points, const struct vector *f, struct vector *F);
void boxhdg_lanes_recover(const struct boxhdg_lanes_points *points, const struct vector *trace,
                          const struct vector *f, struct vector *u);

/* As boxhdg_resident_conservation; loads and u in modes. */
facet_status boxhdg_lanes_conservation(const struct boxhdg_lanes_points *points, const struct vector *trace,
                                       const struct vector *loads, const struct vector *u,
                                       struct solve_balance *balance);

#endif
