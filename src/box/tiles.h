/* The cells of a box on a device: data at their points, functions that are tensor products in every cell, by kernels
 * (kernels/tile.h) for a tile of cells after the other, so that what is made on the way fits, on the host into a cache.
 * Functions of the caller are called on the host, tile by tile. */
#ifndef FACET_BOX_TILES_H
#define FACET_BOX_TILES_H

#include "box/cell_loop.h"
#include "device/device.h"

struct box_tiles;
/* kinds[d]: cells[d] numbers, the kind of line of every column (NULL: all 0). The grid must outlive it. */
facet_status box_tiles_create(const struct device *device, const struct box_grid *grid,
                              const int *const kinds[3], struct box_tiles **tiles);
void box_tiles_destroy(struct box_tiles **tiles); /* safe on NULL, and twice */
/* Bytes of the device that any of the calls below takes, at most, where a cell has n numbers a direction. */
double box_tiles_bytes(const struct device *device, int dim, int n, double n_cells);

/* The reaction of the grid is another one. */
void box_tiles_forget_reaction(struct box_tiles *tiles);

/* From now on `in` and `out` of box_tiles_integrate, _download and _extremes are vectors of the nodes of
 * elements of degree k that share their ends (kernels.def, tile_gather), not arrays of cells; out of
 * box_tiles_integrate receives sums. */
void box_tiles_share(struct box_tiles *tiles, int k, const int nodes[3]);

/* As box_integrate for all cells (d < 0), times their volumes: out (cells x n^dim) on the device. A source
 * that is not finite somewhere is refused with its place. */
facet_status box_tiles_integrate(struct box_tiles *tiles, const struct box_samples *samples,
                                 const struct box_given *given, double *out);

/* From n_in to n_out numbers in every direction of all cells, by T[d] (on the host: kinds x n_out x n_in),
 * times the scale; in and out on the device, and not the same. */
facet_status box_tiles_contract(struct box_tiles *tiles, int n_in, int n_out, const double *const T[3],
                                const struct tile_scale *scale, const double *in, double *out);
/* The same with the result on the host. */
facet_status box_tiles_download(struct box_tiles *tiles, int n_in, int n_out, const double *const T[3],
                                const struct tile_scale *scale, const double *in, double *out);
/* out += scale times what T makes of the function 1, given by n ones in every direction; on the device. */
facet_status box_tiles_add_one(struct box_tiles *tiles, int n, const double *const T[3],
                               const struct tile_scale *scale, double *out);
/* A table that stays where it is and as it is, and is sent once: for calls that are made again and again. */
facet_status box_tiles_keep(struct box_tiles *tiles, int n_in, int n_out, const double *table);
/* FACET_ERROR_INPUT with the first place where values at the Gauss points, n a direction, are not finite; on
 * the device. */
facet_status box_tiles_check_finite(struct box_tiles *tiles, int n, const double *values, const char *what);
/* As box_tiles_integrate with f at the n Gauss points of the samples, on the host or on the device. */
facet_status box_tiles_integrate_values(struct box_tiles *tiles, const struct box_samples *samples,
                                        int on_host, const double *values, double *out);
/* The numbers of n cells in turn, n_in^dim each, on the host. */
facet_status box_tiles_fetch(struct box_tiles *tiles, int n_in, int64_t n, const int64_t *cells,
                             const double *in, double *out);
/* The least and the greatest value of every cell (2 each, on the host) at n_out points in every direction. */
facet_status box_tiles_extremes(struct box_tiles *tiles, int n_in, int n_out, const double *const T[3],
                                const double *in, double *extremes);
/* Of a field that is an expression, at n points x of [0, 1] in every direction; what is not finite in a cell
 * makes its least value so. */
facet_status box_tiles_field_extremes(struct box_tiles *tiles, const struct field *field, int n,
                                      const double *x, double *extremes);

/* Errors against an exact solution, which is no function of the caller, tile by tile. */
struct box_tiles_measure {
    const struct field *exact;
    double constant; /* is taken off it first */
    int n;           /* points x of [0, 1] in every direction, with weights */
    const double *x, *weights;
    int n_fields; /* in turn against u and against -k grad u */
    /* A tile begins; a component of a field at its points (count x n^dim, on the device); and, NULL where
     * there is no trace, the square of its error on the lower faces (side 0) of direction d of the cells of a
     * tile, or on the upper ones of a tile of the last cells of the direction, from exact values at the
     * points of these faces; add: to what is there. */
    facet_status (*begin)(void *user, const struct tile_plan *tile);
    void (*evaluate)(void *user, const struct tile_plan *tile, int field, int component, double *values);
    facet_status (*faces)(void *user, const struct tile_plan *tile, int d, int side, const double *exact,
                          int add, double *squares);
    void *user;
    /* Or another one for every part of the cells, which threads work on at once. NULL: one for all. */
    facet_status (*open)(const void *of, struct box_tiles *part, void **user);
    void (*close)(void **user);
    const void *of;
};
int64_t box_tiles_measured(const struct box_tiles *tiles, int n); /* cells of a tile, at most */
/* L2[f] of every field, then of the trace; *Linf of the first. An exact solution that is not finite is
 * refused with its place. */
facet_status box_tiles_measure(struct box_tiles *tiles, const struct box_tiles_measure *m, double *L2,
                               double *Linf);

#endif
