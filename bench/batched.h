/* Local solvers as a sequence of batched calls of cuSOLVER and cuBLAS, which are looked for when the program
 * runs: nothing is linked against them. */
#ifndef FACET_BENCH_BATCHED_H
#define FACET_BENCH_BATCHED_H

#include "device/device.h"

/* Seconds for K = H - R'S^-1 R of `count` cells, S (N x N), R (N x n) and H being there in memory of the
 * device: potrf, trsm, gemm, the best of a few runs. 0: not on this device, or a library was not found. */
facet_status batched_seconds(const struct device *device, int N, int n, int count, double *seconds);

#endif
