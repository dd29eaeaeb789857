/* The greatest value of a polynomial over the unit cube by branch and bound: the cube is halved into pieces
 * until bounds say that no piece has more than what was found.
 *
 * The polynomial is a sum of c_i T_i0(1 - 2 t_0) T_i1(1 - 2 t_1) ... with Chebyshev polynomials T, which stay
 * between -1 and 1, also in the coordinates of a piece. So sums of |c| bound the polynomial and its first and
 * second derivatives there. A piece is left out if
 * - its values are bounded by what was found,
 * - one derivative has one sign in it, unless the maximum is on the surface of the cube: then that side is
 * left,
 * - or the polynomial is concave in it, so that its slope where Newton's method ends bounds all of its
 * values. */
#ifndef FACET_POLY_PIECES_H
#define FACET_POLY_PIECES_H

#include <stdint.h>

#include "base/status.h"

/* (n x n) Bernstein coefficients of degree n - 1 <= PIECES_MOST_BERNSTEIN of T_j(1 - 2 t), by columns j;
 * those of higher degree are large, and their rounding too. */
#define PIECES_MOST_BERNSTEIN 32
void pieces_fill_bernstein(int n, double *to);

/* Coefficients of T_j of the cube in a half of it: n x n for each half; entries below the diagonal vanish. */
struct pieces_table {
    int dim, n;
    double *halves;
};
facet_status pieces_table_create(int dim, int degree, struct pieces_table *table);
void pieces_table_destroy(struct pieces_table *table); /* safe on a zeroed struct, and twice */

struct pieces_goal {
    double low;    /* what is less is of no interest */
    double enough; /* differences that are less are none */
    /* From t uphill within lower .. upper; returns the value there, and the slope by t. */
    double (*climb)(const void *user, const double *lower, const double *upper, double *t, double *slope);
    const void *user;
};

/* Numbers of room for one search; the first (degree + 1)^dim are the coefficients, which are lost. */
int64_t pieces_room(const struct pieces_table *table);
/* From those coefficients: a bound of the polynomial. It makes Bernstein coefficients of them, whose bounds
 * are sharper, and returns 1, unless they are so large that rounding in them is not far less than `enough`.
 */
int pieces_prepare(const struct pieces_table *table, double enough, double *room, double *bound);
/* room: prepared, and what that returned. Raises *most, found at t, where there is more by at least `enough`.
 * Returns 0 if it gave up before the bounds said that there is not more. */
int pieces_search(const struct pieces_table *table, const struct pieces_goal *goal, int bernstein,
                  double *room, double *most, double *t);

#endif
