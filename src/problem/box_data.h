/* A problem as the box room sees it: whether the mesh is a box and the data such that the tensor operators
 * apply, and these data cell by cell. */
#ifndef FACET_PROBLEM_BOX_DATA_H
#define FACET_PROBLEM_BOX_DATA_H

#include "box/box.h"
#include "problem/problem.h"

struct box_data {
    struct box_grid_data grid; /* coordinates: the mesh's; the arrays below */
    struct box_part *part;     /* where the mesh is a block of a box; NULL: it is whole */
    double *conductivity, *reaction;
    double *rho[3];                               /* cells[d]: tau h_d / (2 k) of a column; 0 without tau */
    const struct hdg_condition *conditions[3][2]; /* NULL: periodic, or a seam */
};

/* `why` receives the reason and the remedy when the tensor operators do not apply, "" when they do; only then
 * there are data. Coefficients that are no numbers are looked at on the device, and taken as constant in a
 * cell when they are the same at BOX_SAMPLES points a direction at most. A coefficient that no discretization
 * could take is FACET_ERROR_INPUT. Of a block all processes have the same answer. */
#define BOX_SAMPLES   10
#define BOX_WHY_BYTES PROBLEM_WHY_BYTES
facet_status box_data_create(const struct facet_context *context, const struct problem_resolved *resolved,
                             int degree, struct box_data *data, char why[BOX_WHY_BYTES]);
/* Conductivity and reaction are the same in all cells. */
facet_status box_data_is_uniform(const struct box_data *data, int *uniform);
void box_data_destroy(struct box_data *data); /* safe on a zeroed struct, and twice */

#endif
