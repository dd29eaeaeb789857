/* Errors of a solution of HDG on a box whose u and trace are on the device (boxhdg/resident.h). */
#ifndef FACET_BOXHDG_RESIDENT_ERRORS_H
#define FACET_BOXHDG_RESIDENT_ERRORS_H

#include "box/tiles.h"
#include "boxhdg/boxhdg.h"

/* Where things are there: the trace in lanes, u in modes. */
struct boxhdg_there {
    const struct box_plan *plan;
    const struct box_points *points;
    const double *trace, *u;
};
/* As boxhdg_measure_errors; star: u* and q* too; u, u* and the trace are what is there plus a constant. */
facet_status boxhdg_tiles_errors(const struct boxhdg *hdg, struct box_tiles *tiles,
                                 const struct boxhdg_there *there, const struct field *exact, double constant,
                                 int star, struct box_errors *errors);

#endif
