/* The greatest value of a function over the unit cube [0,1]^dim, to rounding, where it is a polynomial of
 * some degree in every coordinate: known by its values at Chebyshev points, t_j = (1 - cos(pi j/degree)) / 2.
 *
 * All reference cells are images of the cube (peak_point), of which one or more faces become an edge or a
 * vertex, and all functions of poly/basis.h are polynomials in its coordinates. What is sought is the largest
 * value of `sign` times one polynomial, or times the sum of the squares of several. The coefficients c of
 * Chebyshev polynomials bound a polynomial, |p - c_0| <= sum of the other |c|; where that bound is no
 * obstacle, p is looked at on a finer grid, and Newton's method goes from the local maxima of the grid to
 * those of p, inside the cube or along its faces and edges. Neighbours on the grid
 * tell how much there may be to gain. */
#ifndef FACET_POLY_PEAK_H
#define FACET_POLY_PEAK_H

#include <stdint.h>

#include "base/status.h"
#include "poly/pieces.h"
#include "poly/shape.h"

#define PEAK_MAX_DEGREE 64

/* The point of a cell that t in the cube stands for. */
void peak_point(enum shape shape, const double *t, double *xi);

/* The order of shape_samples that are enough for a degree: two for each, but no more than are cheap if that
 * suffices. */
int peak_sample_order(int degree, int cheap);
/* A polynomial whose samples of this order lie in [-1, 1] is about this at most. For every point x there are
 * weights with p(x) = sum w_j p(x_j) for all p, and the least sum of |w| bounds p(x). It was computed on
 * dense points of lines, and elsewhere at some 65 to 100 points of a cell, the worst by least squares among
 * them (triangles: degrees to 17, tets: 1 to 11 and 13, pyramids: to 8), and rounded up; the rest of the
 * tables is a guess. So this is no proof but on lines, where 1/cos(d pi/(2 m)) bounds it too (ehlich1964). */
double peak_reach(enum shape shape, int degree, int order);

struct peak_table {
    int dim, degree, fine; /* fine + 1: points of the finer grid in a direction */
    double *coefficients;  /* (degree + 1)^2: from values at the points */
    double *values;        /* (fine + 1) x (degree + 1): to those of the finer grid */
    double *points;        /* degree + 1: t_j */
    double near[3];        /* t of the finer grid's points after its first */
    double *bernstein;     /* (degree + 1)^2: from Chebyshev coefficients; NULL where they are too large */
    double *sums;          /* from values on the finer grid: coefficients of what is sought */
    struct pieces_table pieces;
};
/* degree: 1 .. PEAK_MAX_DEGREE; squares: sums of squares are looked for. */
facet_status peak_table_create(int dim, int degree, int squares, struct peak_table *table);
void peak_table_destroy(struct peak_table *table); /* safe on a zeroed struct, and twice */
int64_t peak_n_points(const struct peak_table *table);
void peak_points(const struct peak_table *table, enum shape shape, double *xi); /* n_points x dim */

struct peak_goal {
    int n;        /* polynomials */
    int squares;  /* the sum of their squares counts; else n is 1 */
    int quick;    /* climbs alone are enough: what they find may be less than the greatest value */
    double sign;  /* -1: the least value is sought, and is negative as are `low` and the result */
    double low;   /* what is less is of no interest */
    double slack; /* gains that are less are none */
    double tie;   /* of values that differ by less the first by its coordinates gives the place */
};
/* Numbers of scratch for one search. */
int64_t peak_scratch(const struct peak_table *table, int n);
/* values: n_points x n. *most: -INFINITY where all is below `low`; t: where it is. */
void peak_find(const struct peak_table *table, const struct peak_goal *goal, const double *values,
               double *scratch, double *most, double t[3]);

#endif
