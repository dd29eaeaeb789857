/* Small tensor contractions inside one cell: the tools of everything that costs O(p^4).
 *
 * An array of one cell is seen as outer x n x inner, the middle index being that of the direction at hand.
 * All kernels read up to BOX_SLACK numbers beyond the end of their input, so work arrays have that much room
 * to spare; they write exactly their output. Input and output do not overlap.
 */
#ifndef FACET_BOX_CONTRACT_H
#define FACET_BOX_CONTRACT_H

#include <stdint.h>

#include "base/status.h"
#include "box/line.h"

#define BOX_SLACK    8
#define BOX_MAX_LINE 64 /* numbers in one direction, at most */

/* What a line is multiplied with in cells. */
struct box_table {
    int n, n_even;
    double *flux;    /* n x n: (mode_j, mode_i'), 0 where both are of one parity */
    double *ends;    /* n: modes at +1; those at -1 are the same, odd ones negative */
    double *slopes;  /* n: derivatives of the modes at +1 */
    double *moments; /* n: integrals of the modes over [-1, 1] */
    double *store;   /* owns all of these */
};
/* gauss, weights: n each. */
facet_status box_table_create(const struct box_line *line, const double *gauss, const double *weights,
                              struct box_table *table);
void box_table_destroy(struct box_table *table); /* safe on a zeroed struct, and twice */

/* out[o][i][r] = sum_q T[i*n_in + q] in[o][q][r] for o < outer, i < n_out, q < n_in, r < inner; in_step and
 * out_step: from one o to the next. n_in <= BOX_MAX_LINE. */
void box_contract(int64_t outer, int n_out, int n_in, int64_t inner, const double *T, const double *in,
                  int64_t in_step, double *out, int64_t out_step);

/* The same in all directions: from counts n_in[d] to n_out[d] by T[d], direction 0 fastest. in: may be
 * overwritten, as the result goes back and forth between `in` and `out`; returns which of them holds it. Both
 * have room for max(n_in, n_out) in every direction, and slack. */
double *box_contract_all(int dim, const int n_out[3], const int n_in[3], const double *const T[3], double *in,
                         double *out);

/* The sum over i, j, k of u(i,j,k) weights[0][i] weights[1][j] weights[2][k]; and u += by these products. */
double box_weigh(const int extent[3], const double *const weights[3], const double *u);
void box_add_products(const int extent[3], const double *const weights[3], double by, double *u);

#endif
