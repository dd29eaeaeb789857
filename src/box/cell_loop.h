/* What happens in the cells of any box: the loop over them, data at their points, functions that are tensor
 * products in every cell, and their errors. What these functions are, a discretization says.
 */
#ifndef FACET_BOX_CELL_LOOP_H
#define FACET_BOX_CELL_LOOP_H

#include "box/box.h"
#include "box/contract.h"
#include "expr/field.h"

/* Gauss points for data and errors: so many more in a direction than functions. */
#define BOX_EXTRA_POINTS 3

static inline int64_t box_power(int base, int exponent) {
    int64_t product = 1;
    for (int i = 0; i < exponent; i++) product *= base;
    return product;
}

/* ------------------------------------------------------------------------------------- the loop */

/* Cells in layers across the direction that has the most of them: cells of two layers that are not neighbours
 * share no face and no vertex. In three colours (even layers, odd layers, and the last of an odd number,
 * whose neighbour across a periodic side is the first) layers first, first + 2, .. < end may be at work
 * together. */
struct box_layers {
    int count;
    int64_t size, inner; /* cells of a layer; of these, so many lie together */
};
int box_layers(const struct box_grid *g, struct box_layers *layers); /* returns the direction */
static inline void box_layers_colour(const struct box_layers *layers, int colour, int *first, int *end) {
    int even = layers->count / 2 * 2;
    *first = colour < 2 ? colour : even;
    *end = colour < 2 ? even : layers->count;
}
static inline int64_t box_layers_cell(const struct box_layers *layers, int layer, int64_t i) {
    return (i / layers->inner * layers->count + layer) * layers->inner + i % layers->inner;
}

/* work(cell, at, scratch, user) for every cell, `room` numbers of scratch for each thread; cell_size: numbers
 * a cell, to judge what threads are worth. layers: cells that share a face or a vertex are never at work
 * together, and both always receive in the same order. A failure stops the loop; the one of the lowest cell
 * is reported. */
typedef facet_status (*box_work)(int64_t cell, const int at[3], double *scratch, void *user);
facet_status box_for_cells(const struct box_grid *g, int64_t cell_size, int layers, int64_t room,
                           box_work work, void *user);

/* ------------------------------------------------------------------------------------- points and data */

/* The cell at face number i of a side, the lower tangential direction being fastest. */
void box_side_cell(const struct box_grid *g, int d, int side, int64_t i, int at[3]);

/* Gauss points and weights on [0, 1]. */
facet_status box_gauss(int n, double *x, double *weights);
/* Products of counts[d] <= BOX_MAX_LINE points x[d] in [0, 1] of a cell; a face has one point, 0 or 1, in its
 * normal direction. lines: receives the coordinates. */
struct expr_grid box_cell_lines(const struct box_grid *g, const int at[3], const int counts[3],
                                const double *const x[3], double lines[3][BOX_MAX_LINE]);
/* What a problem is given by; all of it belongs to the caller. Where something is NULL and the exact solution
 * is known, it is derived from that; else it is zero. */
struct box_given {
    const double *values;       /* f at the Gauss points of all cells, which boxsem_load looks at, or */
    const struct field *source; /* f */
    const struct field *boundary[3][2]; /* by side: u on a Dirichlet side, k grad u . n on a Neumann side */
    const struct field *exact;
};
/* Everything is derived from the exact solution. */
int box_given_is_exact(const struct box_given *given);

/* ------------------------------------------------------------------------------------- functions */

/* Values and slopes (n_points x n each) at points of [0, 1] of the n functions of a line; lines are of
 * several kinds, which a discretization numbers. */
typedef facet_status (*box_tabulate)(const void *user, int kind, int n_points, const double *x,
                                     double *values, double *slopes);
/* The functions of all kinds at the points of a Gauss rule on [0, 1] and, for integrals, the transpose of
 * their values times weights (n x n_points); one kind after the other. */
struct box_samples {
    int n, n_points;
    double *x, *w, *values, *slopes, *weighted; /* the first owns all */
};
facet_status box_samples_create(int n, int n_points, int n_kinds, box_tabulate tabulate, const void *user,
                                struct box_samples *samples);
void box_samples_destroy(struct box_samples *samples); /* safe on a zeroed struct, and twice */

/* Integrals over the unit cell of f (d < 0), or over its face of what is given on side `side` of direction d,
 * times the products of n functions a direction, kinds[t] of direction t: *integrals lie in the scratch,
 * which has room for box_integrate_room numbers. */
facet_status box_integrate(const struct box_samples *samples, const int kinds[3], const struct box_grid *g,
                           const struct box_given *given, int64_t cell, int d, int side, double *scratch,
                           double **integrals);
/* The same of all faces of a side, one after the other (box_side_cell), n^(dim - 1) numbers each; by_area: times
 * their areas. kinds: by columns, as of box_tiles_create. */
facet_status box_integrate_side(const struct box_samples *samples, const int *const kinds[3],
                                const struct box_grid *g, const struct box_given *given, int d, int side,
                                int by_area, double *faces);
int64_t box_integrate_room(const struct box_samples *samples, int dim);
/* Of all blocks. */
double box_volume(const struct box_grid *g);
/* The mean of a field over the box, by n_points Gauss points in each direction of a cell. */
facet_status box_field_mean(const struct box_grid *g, int n_points, const struct field *field, double *mean);

/* A field in one cell: component c is factor[c] times the sum of from[c] (n^dim coefficients) over products
 * of n 1D functions a direction, with their slopes in direction slope[c] (-1: in none). */
struct box_function {
    int dim, n, components;
    const double *from[3];
    int slope[3];
    double factor[3];
    box_tabulate tabulate;
    const void *user;
    int kinds[3];
};
/* Points of [0, 1]^dim: n of them, xi (n x dim); or the products of counts[d] points x[d] of every direction,
 * the i-th of which is number order[i] (NULL: i). */
struct box_places {
    int n;
    const double *xi;
    const int *counts;
    const double *const *x;
    const int32_t *order;
};
/* `many` points of [0, 1] in every direction. */
#define BOX_LATTICE(many, points)                                                                            \
    (&(const struct box_places){.counts = (const int[3]){many, many, many},                                  \
                                .x = (const double *const[3]){points, points, points}})
/* values: points x components. */
facet_status box_evaluate(const struct box_function *f, const struct box_places *places, double *values);

/* True L2 norms of whole vectors, over-integrated; trace: each face once; Linf: at the points of the norm. -1
 * for what there is not. */
struct box_errors {
    double u_L2, u_Linf, q_L2, u_star_L2, q_star_L2, trace_L2;
};
#define BOX_MAX_FIELDS 4

#endif
