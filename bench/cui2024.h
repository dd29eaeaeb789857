/* What the benches of cui2024 share: a cube of continuous elements, solved and described. */
#ifndef FACET_BENCH_CUI2024_H
#define FACET_BENCH_CUI2024_H

#include "bench/bench.h"
#include "boxsem/boxsem.h"

struct cui2024_case {
    int dim, cells, degree;
    double
        contrast; /* k at random between 1 and this from cell to cell, evenly in its logarithm; 1: constant */
    const char *exact; /* an expression; NULL: f = 1 */
    struct boxsem_options options;
};
struct cui2024_result {
    int64_t n;                 /* free nodes */
    int iterations, converged; /* V-cycles; of full multigrid those after its start, at least 1 */
    double setup_seconds, load_seconds, seconds; /* seconds: the best solve of all repetitions */
    double residual, error;                      /* error: L2 of u, with an exact solution */
    double bytes;                                /* of the library's memory at most */
};
/* The unit cube with u = 0 all around, solved to 1e-9. */
facet_status cui2024_run(const struct bench_options *options, const struct cui2024_case *c, int repetitions,
                         struct cui2024_result *result);
/* Smoothing steps by every kernel, rooflines, and products, on one device. */
facet_status cui2024_kernels(const struct bench_options *options, const struct device *device);
/* Free nodes of a case. */
int64_t cui2024_size(int dim, int cells, int degree);

#endif
