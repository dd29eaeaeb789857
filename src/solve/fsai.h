/* Factored sparse approximate inverse of a symmetric positive definite matrix: M = G'G, G lower triangular,
 * such that |I - G L| is least in the Frobenius norm over the pattern of G, L being the Cholesky factor of A
 * (which is not needed: row i of G solves the small system of A on its pattern). M is applied as two products
 * with sparse matrices, so that it runs on every device and in single precision. */
#ifndef FACET_SOLVE_FSAI_H
#define FACET_SOLVE_FSAI_H

#include "solve/solve.h"

struct fsai_options {
    /* nnz(G) against the lower triangle of A. 1: its pattern, whole blocks of it. More: the columns that
     * reduce the Kaporin number of GAG' most come in, until the fill is reached. */
    double fill;
    /* The pattern begins with the blocks themselves instead of that of A, and any fill is reached by growth:
     * a much better M for the same nnz. */
    int free_pattern;
    int64_t n_blocks;             /* of unknowns that belong together (faces), or 0: unknowns one by one */
    const int64_t *block_offsets; /* n_blocks + 1 */
};
struct fsai_report {
    double fill; /* that was reached */
    double bytes;
};
/* report may be NULL. A matrix that is not positive definite is an error that names the row. */
facet_status operator_create_fsai(const struct device *device, const struct csr *csr,
                                  const struct fsai_options *options, struct operator* M,
                                  struct fsai_report *report);
/* The ratio for smoother_create_chebyshev (POLYNOMIAL_FIRST, two steps) that gave the smallest rates of
 * V-cycles with inherited coarse operators on quads: 4 for the pattern of A, falling to 2 as M gets better.
 * HDG_RATES. Where tau h is small the slow modes along rows of cells (trace/coarse.h) want a larger ratio: 4
 * to 6 at tau h = 1/64, p = 1. */
double fsai_ratio(const struct fsai_options *options);

#endif
