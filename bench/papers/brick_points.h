/* Gauss-Seidel on the nodes of a brick (cui2024, Table 3), beside which vertex patches are measured: a smoother
 * for struct boxsem_options.
 *
 * Free nodes are taken one after another such that their equation A x = b holds. A layer is a cell in the last
 * direction that has more than one, with its nodes except the last (which is the first of the next layer; of
 * the last layer too where there is no next). Even layers come first, then odd ones, then the last one if the
 * direction is periodic with an odd number; within a layer nodes are lexicographic. Backward is the same in
 * reverse. */
#ifndef FACET_BENCH_PAPERS_BRICK_POINTS_H
#define FACET_BENCH_PAPERS_BRICK_POINTS_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device;

/* Whether there is code for the device: for those whose memory is the host's, and for a GPU. */
int brick_points_run_on(const struct device *device);
/* A boxsem_step, on such a device. Without memory for a few rows of nodes x stays. */
void brick_points_step(const struct device *device, enum precision precision, const struct brick_cells *cells,
                       int backward, const void *b, void *x);

/* brick_points.cu: the same on a GPU. */
void brick_points_cuda(enum precision precision, const struct brick_cells *cells, int backward, const void *b,
                       void *x);

/* The direction whose cells are the layers: the last one with more than one cell, or 0. */
static inline int brick_layers(const struct brick_cells *c) {
    return c->cells[2] > 1 ? 2 : c->cells[1] > 1 ? 1 : 0;
}

#ifdef __cplusplus
}
#endif
#endif
