/* The typed table of hot kernels: the only seam between src/ and the hardware.
 *
 * kernels/ref holds the plain-C specification of every entry. A device starts from a table and overrides what
 * it does better; all its entries must give what ref gives up to rounding. Pointers are addresses in the
 * device's memory; sizes and scalars come from the host. src/device is the only includer.
 */
#ifndef FACET_KERNELS_H
#define FACET_KERNELS_H

#include <stdint.h>

struct kernels {
    void (*fill)(int64_t n, double a, double *x); /* x = a */
    void (*axpby)(int64_t n, double a, const double *x, double b,
                  double *y); /* y = a x + b y; b = 0 ignores y */
    void (*multiply)(int64_t n, const double *d, const double *x, double *y); /* y_i = d_i x_i */
    double (*dot)(int64_t n, const double *x, const double *y);
    /* y = A x, A in compressed rows: row i holds entries offsets[i] .. offsets[i+1]-1. */
    void (*csr_apply)(int64_t n_rows, const int64_t *offsets, const int32_t *columns, const double *values,
                      const double *x, double *y);
    /* y_b = B_b x_b: block b covers unknowns first[b] .. first[b+1]-1, its square matrix (rows) begins at
     * matrices[starts[b]]. */
    void (*block_apply)(int64_t n_blocks, const int64_t *first, const int64_t *starts, const double *matrices,
                        const double *x, double *y);
};

const struct kernels *kernels_ref(void);
/* ref with OpenMP and vector overrides. */
const struct kernels *kernels_simd(void);

#endif
