/* Factored sparse approximate inverse of a symmetric positive definite matrix: M = G'G, G lower triangular,
 * such that |I - G L| is least in the Frobenius norm over the pattern of G, L being the Cholesky factor of A
 * (which is not needed: row i of G solves the small system of A on its pattern). M is applied as two products
 * with sparse matrices, so that it runs on every device and in single precision. */
#ifndef FACET_SOLVE_FSAI_H
#define FACET_SOLVE_FSAI_H

#include "solve/multigrid.h"

struct fsai_options {
    /* nnz(G) against the lower triangle of A. 1: its pattern, whole blocks of it. More: the columns that
     * reduce the Kaporin number of GAG' most come in, until the fill is reached. */
    double fill;
    int64_t n_blocks;             /* of unknowns that belong together (faces), or 0: unknowns one by one */
    const int64_t *block_offsets; /* n_blocks + 1 */
};
struct fsai_report {
    double fill; /* that was reached */
    double bytes;
};
/* G on the host, columns ascending; its diagonal is positive, and that of GAG' is 1. A matrix that is not
 * positive definite is an error that names the row. */
facet_status fsai_factor(const struct csr *csr, const struct fsai_options *options, struct mg_transfer *G);
/* report may be NULL. */
facet_status operator_create_fsai(const struct device *device, const struct csr *csr,
                                  const struct fsai_options *options, struct linear_operator *M,
                                  struct fsai_report *report);
/* The ratio for smoother_create_chebyshev (POLYNOMIAL_FIRST, two steps before and after): 4 for the pattern
 * of A, 3 for fill 1.5, 2.5 for fill 2.5. A smaller one leaves too much where
 * tau h is small, a larger one makes the polynomial the bound of the rate. `facet bench
 * fabien2017-multigrid` measures the rates. Where tau h is small, p = 1 is the hardest, since modes along
 * rows of cells (trace/pmg_parts.h) are slow and only a pattern that grows finds them. */
double fsai_ratio(const struct fsai_options *options);

#endif
