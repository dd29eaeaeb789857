/* Tuning numbers, found by measurement on one machine (Zen 4, two cores): the only place where they stand.
 * `facet bench fabien2017-roofline` and `facet bench king2014` show what a change does. */
#ifndef FACET_KERNELS_SIMD_TUNE_H
#define FACET_KERNELS_SIMD_TUNE_H

#include <limits.h>

/* Bytes of element matrices that a thread reads in one go: long enough for the processor to fetch ahead. */
#define TUNE_RUN_BYTES (1 << 20)
/* Rows of an ELL matrix taken at once. */
#define TUNE_ELL_ROWS 4096
/* Unknowns of a face from which on a transposition moves them into lanes faster than single loads. */
#define TUNE_TRANSPOSE 4
/* Rows of element matrices from which on 16 bits are faster than single precision wherever the matrices lie,
 * and where they have more bytes in single precision than caches hold. */
#ifdef __F16C__
#    define TUNE_HALF_ROWS     16
#    define TUNE_HALF_FEW_ROWS 12
#else /* never, without instructions for it */
#    define TUNE_HALF_ROWS     INT_MAX
#    define TUNE_HALF_FEW_ROWS INT_MAX
#endif
#define TUNE_HALF_BYTES (16 << 20)
/* The register tile of the local solvers: rows x columns sums and columns + 1 operands in 32 registers, or
 * in 16 before AVX-512. */
#define TUNE_TILE_ROWS 4
#ifdef __AVX512F__
#    define TUNE_TILE_COLUMNS 6
#else
#    define TUNE_TILE_COLUMNS 3
#endif

#endif
