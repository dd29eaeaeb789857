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

/* Of a patch along one direction: m free nodes from `first` on in `cells` cells from `cell` on (modulo those
 * of a ring). */
struct boxsem_column {
    int first, m;
    int cell, cells;
    int ring; /* all of a periodic direction with one cell: its last node is its first */
    int colour;
};
/* All columns of a direction of n cells, ascending; returns their number, and that of their colours. columns:
 * n + 1. */
int boxsem_list_columns(int n, const enum box_side sides[2], int k, struct boxsem_column *columns,
                        int *n_colours);

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
/* The same with given columns: of a box that is a part of another. */
facet_status boxsem_patches_create_of(const struct device *device, const struct box_grid *grid,
                                      const struct box_element *element, const struct brick_cells *cells,
                                      const int n_columns[3], const struct boxsem_column *const columns[3],
                                      const int n_colours[3], struct boxsem_patches *patches);
void boxsem_patches_destroy(struct boxsem_patches *patches); /* safe on a zeroed struct, and twice */

#endif
