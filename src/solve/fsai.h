/* Factored sparse approximate inverse of a symmetric positive definite matrix: M = G'G, G lower triangular,
 * such that |I - G L| is least in the Frobenius norm over the pattern of G, L being the Cholesky factor of A
 * (which is not needed: row i of G solves the small system of A on its pattern). M is applied as two products
 * with sparse matrices, so that it runs on every device and in single precision. */
#ifndef FACET_SOLVE_FSAI_H
#define FACET_SOLVE_FSAI_H

#include "solve/solve.h"

struct fsai_options {
    /* nnz(G) against the lower triangle of A. 1: its pattern. More: each row grows by the entries (or whole
     * blocks) that reduce its functional most, until the fill is reached. */
    double fill;
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

#endif
