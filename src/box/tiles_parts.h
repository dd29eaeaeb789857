/* What the files of box/tiles.h, and those who work on tiles themselves, share. */
#ifndef FACET_BOX_TILES_PARTS_H
#define FACET_BOX_TILES_PARTS_H

#include "box/tiles.h"
#include "expr/field.h"

/* A table that was sent, and what it was sent from. */
#define KEPT 4
struct kept {
    const double *host;
    double *there;
};

struct box_tiles {
    const struct device *device;
    const struct box_grid *grid;
    struct tile_plan all;     /* of all cells */
    const int *host_kinds[3]; /* the caller's */
    int n_kinds;
    void *owned[8];
    int n_owned;
    struct kept kept[KEPT];
    int n_kept;
    double *room; /* scratch of contractions, which stays */
    int64_t room_size;
    double *k, *lambda;   /* of the cells; made when they are needed */
    int degree, nodes[3]; /* of elements that share nodes; 0: they do not */
};

/* Cells of a tile whose arrays have `numbers` for each. */
int64_t tiles_in_one(const struct box_tiles *t, int64_t numbers);
/* The number behind that of the last cell. */
int64_t tiles_end(const struct box_tiles *t);
/* work(part, user) for all cells, at once for the parts of as many threads as that many numbers a cell are
 * worth; a device other than the host has one part. A part knows all that the whole does, and has its own
 * scratch. */
typedef facet_status (*tiles_work)(struct box_tiles *part, void *user);
facet_status tiles_share_out(struct box_tiles *t, int64_t numbers, tiles_work work, void *user);
/* The tile that begins at a cell. */
struct tile_plan tiles_next(const struct box_tiles *t, int64_t first, int64_t most);

/* Tables on the device, one for each direction; `own` are those that go again. */
struct tile_tables {
    const struct device *device;
    double *T[3], *own[3];
};

void tile_tables_destroy(struct tile_tables *tables);
facet_status tile_tables_create(const struct box_tiles *t, int n_in, int n_out, const double *const T[3],
                                struct tile_tables *tables);
/* Scratch for the largest tile, kept from call to call. */
facet_status tiles_need_room(struct box_tiles *t, int64_t most, int n_in, int n_out);
/* k or lambda of the cells. */
facet_status tiles_need_cells(struct box_tiles *t, int reaction, double **cells);
/* Of the values of a tile: extremes of its cells, on the host. */
facet_status tiles_extremes(const struct box_tiles *t, int64_t n_cells, int64_t numbers, const double *values,
                            double *extremes);
/* The program of a field for so many points of cells at once, with what depends on one coordinate along lines
 * (expr/field.h). end: the direction of whose cells there are the last ones alone; -1: there are all. */
facet_status tiles_make_program(const struct box_tiles *t, const struct field *field, int order,
                                const struct tile_points *points, int end, int64_t most,
                                struct expr_program *program);
/* n points x in every direction; but one point, which is `at`, in direction d (-1: in none). */
struct tile_points tiles_points(int dim, int n, const double *x, int d, const double *at);

#endif
