/* What makes q and u* of cells of tiles from their u and traces, on any device. Private to this room. */
#ifndef FACET_BOXHDG_FIELDS_H
#define FACET_BOXHDG_FIELDS_H

#include "box/tiles_parts.h"
#include "boxhdg/work.h"

struct boxhdg_fields {
    const struct boxhdg *h;
    struct box_tiles *tiles;
    struct boxhdg_star post;
    struct tile_tables moments, into[3];
    double *flux, *ends, *theta; /* on the device */
};
/* star: for u* too. */
facet_status boxhdg_fields_create(const struct boxhdg *h, struct box_tiles *tiles, int star,
                                  struct boxhdg_fields *fields);
void boxhdg_fields_destroy(struct boxhdg_fields *fields); /* safe on a zeroed struct, and twice */
/* Numbers of a cell with its traces, as the kernel box_cells packs it. */
static inline int64_t boxhdg_fields_width(const struct boxhdg *h) {
    return h->cell_size + 2 * h->grid.dim * h->face_size;
}
/* q of one direction from such cells. */
void boxhdg_fields_flux(const struct boxhdg_fields *fields, const struct tile_plan *tile, int d,
                        const double *cells, double *q);
/* u* in the functions y of post-processing, from u and q. constants: a number for each cell; room: scratch of
 * tile_contract. */
void boxhdg_fields_star(const struct boxhdg_fields *fields, const struct tile_plan *tile, const double *u,
                        const double *const q[3], double *constants, double *room, double *star);

#endif
