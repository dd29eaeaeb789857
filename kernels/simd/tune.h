/* Tuning numbers, found by measurement on one machine (Zen 4, two cores): the only place where they stand.
 * `facet bench fabien2017-roofline` and `facet bench king2014` show what a change does. */
#ifndef FACET_KERNELS_SIMD_TUNE_H
#define FACET_KERNELS_SIMD_TUNE_H

/* Bytes of element matrices that a thread reads in one go: long enough for the processor to fetch ahead. */
#define TUNE_RUN_BYTES (1 << 20)
/* Unknowns of a face from which on a transposition moves them into lanes faster than single loads. */
#define TUNE_TRANSPOSE 4
/* The register tile of the local solvers: TUNE_TILE^2 accumulators and TUNE_TILE + 1 operands. */
#define TUNE_TILE 4

#endif
