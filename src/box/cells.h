/* What happens in the cells of any box: the loop over them, data at their points, functions that are tensor
 * products in every cell, and their errors. What these functions are, a discretization says.
 */
#ifndef FACET_BOX_CELLS_H
#define FACET_BOX_CELLS_H

#include "box/box.h"
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

/* Gauss points and weights on [0, 1]. */
facet_status box_gauss(int n, double *x, double *weights);
/* Coordinates (counts[0] x .. x dim, direction 0 fastest) of the products of counts[d] points x[d] in [0, 1]
 * of a cell; a face has one point, 0 or 1, in its normal direction. Returns their number. */
int box_cell_points(const struct box_grid *g, const int at[3], const int counts[3], const double *const x[3],
                    double *points);
/* The same with n points x in every direction of all cells, one after the other. */
void box_all_points(const struct box_grid *g, int n, const double *x, double *points);

/* What a problem is given by; all of it belongs to the caller. Where something is NULL and the exact solution
 * is known, it is derived from that; else it is zero. */
struct box_given {
    const double *values;               /* f at the Gauss points of all cells (boxsem), or */
    const struct field *source;         /* f */
    const struct field *boundary[3][2]; /* by side: u on a Dirichlet side, k grad u . n on a Neumann side */
    const struct field *exact;
};
/* f at `count` points of a cell: the source, or lambda u - k div grad u of the exact solution. work:
 * gradients and Hessians. */
facet_status box_source_values(const struct box_grid *g, int64_t cell, const struct box_given *given,
                               int count, const double *points, double *work, double *values);
/* u, or k grad u . n, at points of a face on a side; there must be data or an exact solution. work:
 * gradients.
 */
facet_status box_side_values(const struct box_grid *g, int64_t cell, const struct box_given *given, int d,
                             int side, int count, const double *points, double *work, double *values);
/* Refuses the data of a singular problem that do not sum to (nearly) zero. */
facet_status box_check_balance(double sum, double scale);

/* ------------------------------------------------------------------------------------- functions */

/* A field in one cell: component c is factor[c] times the sum of from[c] (n^dim coefficients) over products
 * of n 1D functions a direction, with their slopes in direction slope[c] (-1: in none). */
struct box_function {
    int dim, n, components;
    const double *from[3];
    int slope[3];
    double factor[3];
    /* values and slopes (n_points x n) of the 1D functions of direction d at points of [0, 1] */
    facet_status (*tabulate)(const struct box_function *f, int d, int n_points, const double *x,
                             double *values, double *slopes);
    const void *user;
    int at[3];
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
struct box_measure {
    const struct box_grid *grid;
    const struct field *exact;
    int n_fields;              /* in turn against u and against -k grad u */
    int n_points;              /* of a Gauss rule, in each direction: */
    const double *x, *weights; /* on [0, 1] */
    /* The fields in a cell and their 1D functions (n_points x n) at the points of the rule; room: numbers it
     * is given for coefficients. */
    void (*describe)(const void *user, int64_t cell, const int at[3], double *coefficients,
                     struct box_function fields[], const double *values[][3], const double *slopes[][3]);
    int64_t room;
    const void *user;
};
/* L2[f] of every field; *Linf of the first. */
facet_status box_measure(const struct box_measure *m, double *L2, double *Linf);

#endif
