/* Linear algebra that knows nothing of meshes and equations: operators, Krylov methods, direct solves.
 *
 * An Operator computes y = A x on a device. A preconditioner is an operator too. Solvers never print: they
 * report each iteration to the monitor and, at the end, why they stopped.
 *
 * Start here for a method of your own: fill a struct operator with an apply function, hand it to solve_cg.
 */
#ifndef FACET_SOLVE_SOLVE_H
#define FACET_SOLVE_SOLVE_H

#include <stdint.h>

#include "base/run.h"
#include "device/device.h"

/* A square sparse matrix on the host in compressed rows, columns ascending in each row. */
struct csr {
    int64_t n;
    int64_t *offsets; /* n + 1 */
    int32_t *columns;
    double *values;
};
void csr_destroy(struct csr *csr);

/* A sum of small symmetric matrices: element e couples unknowns[starts[e]] .. unknowns[starts[e+1]-1], all
 * different, by the lower triangle by rows at matrices[matrix_starts[e]]. */
struct csr_elements {
    int64_t n, n_elements;
    int64_t *starts, *matrix_starts; /* n_elements + 1 each */
    int32_t *unknowns;
    double *matrices;
};
void csr_elements_destroy(struct csr_elements *elements);
facet_status csr_from_elements(const struct csr_elements *elements, struct csr *csr);

struct operator{
    int64_t n;
    const struct device *device;
    void (*apply)(const struct operator* A, const struct vector *x, struct vector *y); /* y = A x */
    void (*free)(struct operator* A); /* releases data; NULL: nothing to release */
    void *data;
    const char *name; /* what it is, for messages; NULL: nameless */
    int single;       /* its vectors are in single precision */
    /* Fills a zeroed operator of single precision; NULL: there is none. */
    facet_status (*to_single)(const struct operator* A, struct operator* single);
    /* r = f - A x in one pass; NULL: by apply. */
    void (*residual)(const struct operator* A, const struct vector *f, const struct vector *x,
                     struct vector *r);
};
void operator_apply(const struct operator* A, const struct vector *x, struct vector *y);
/* r = f - A x; r is neither of them. */
void operator_residual(const struct operator* A, const struct vector *f, const struct vector *x,
                       struct vector *r);
void operator_destroy(struct operator* A); /* safe on a zeroed struct, and twice */
/* The same operator, rounded to single precision, on the same device. It owns all its data: A may go. An
 * operator that has no single precision, or is in it already, is refused by name. */
facet_status operator_create_single(const struct operator* A, struct operator* S);

/* Copies the matrix to the device. */
facet_status operator_create_csr(const struct device *device, const struct csr *csr, struct operator* A);
/* Preconditioners made from the matrix: its inverse diagonal; the inverses of its diagonal blocks, block b
 * being the unknowns block_offsets[b] .. block_offsets[b+1]-1. A block that is not positive definite is an
 * error. */
facet_status operator_create_jacobi(const struct device *device, const struct csr *csr, struct operator* M);
facet_status operator_create_block_jacobi(const struct device *device, const struct csr *csr,
                                          int64_t n_blocks, const int64_t *block_offsets, struct operator* M);

/* The same from the blocks themselves, n x n each, one after the other; they become their inverses. */
facet_status operator_create_blocks(const struct device *device, int64_t n_blocks,
                                    const int64_t *block_offsets, double *blocks, struct operator* M);

struct solve_control {
    double rtol; /* on the true residual |b - A x| / |b| */
    int max_iterations;
    const struct base_monitor *monitor;
    /* The kernel of a singular A (normalised), or NULL: b and x are kept orthogonal to it. */
    const struct vector *kernel;
    int flexible; /* solve_cg: M may change from step to step (a K-cycle); costs one more dot product */
    int restart;  /* solve_fgmres: steps between restarts (0: 50) */
};
struct solve_report {
    int iterations, converged;
    const char *reason; /* lives as long as the preconditioner */
    double residual;    /* true, relative */
    double rate;        /* geometric mean of the reduction per iteration */
    int n_history, history_capacity;
    double *history; /* relative residual before iteration 1, after it, ... */
};
void solve_report_clear(struct solve_report *report); /* empties it, keeps nothing */
facet_status solve_report_add(struct solve_report *report, double residual);
/* One more entry of the history, told to the monitor; fails when interrupted. */
facet_status solve_record(const struct solve_control *control, struct solve_report *report, double residual);
/* Completes the report. */
facet_status solve_finish(struct solve_report *report, int converged, const char *reason, double residual);

/* Preconditioned conjugate gradients; M may be NULL. x: initial guess and solution. Returns FACET_OK when it
 * converged, FACET_NOT_CONVERGED (with the reason) when not, x being the last iterate. */
facet_status solve_cg(const struct operator* A, const struct operator* M, const struct vector *b,
                      struct vector *x, const struct solve_control *control, struct solve_report *report);

/* Flexible GMRES for any regular A and any M (NULL: none), which may change from step to step: preconditioned
 * from the right, restarted. Needs 2 * restart vectors. Arguments and results as for solve_cg; the kernel of
 * a singular A must also be orthogonal to its range. */
facet_status solve_fgmres(const struct operator* A, const struct operator* M, const struct vector *b,
                          struct vector *x, const struct solve_control *control, struct solve_report *report);

/* Sparse Cholesky factorisation (CHOLMOD; dense LAPACK without it). The ordering is found on the graph of the
 * blocks, which must cover the unknowns. A singular matrix is made regular by holding one unknown, `pin`, at
 * zero (-1: none). */
struct cholesky;
/* Analyses only. factor_bytes: what the factor will take. */
facet_status cholesky_analyze(const struct csr *csr, int64_t n_blocks, const int64_t *block_offsets,
                              int64_t pin, struct cholesky **cholesky, double *factor_bytes);
/* What the factorisation will cost, in floating-point operations. */
double cholesky_operations(const struct cholesky *cholesky);
/* A matrix that is not positive definite is an error. */
facet_status cholesky_factor(struct cholesky *cholesky, const struct csr *csr);
/* The same for the last time: the matrix is emptied as soon as it is copied, so that it and the factor need
 * not stand in memory together. */
facet_status cholesky_factor_last(struct cholesky *cholesky, struct csr *csr);
facet_status cholesky_solve(struct cholesky *cholesky, const double *b, double *x);
void cholesky_destroy(struct cholesky **cholesky);
/* The factored matrix as an operator: vectors of the device travel to the host and back. The factor is taken
 * over, also on failure. */
facet_status operator_create_cholesky(const struct device *device, int64_t n, struct cholesky **cholesky,
                                      struct operator* M);
/* Beyond so many unknowns another method is the better choice, whatever the memory (the dense LAPACK factor).
 */
int64_t cholesky_reasonable_size(void);
const char *cholesky_library(void); /* "CHOLMOD 3.0.14" or "LAPACK (dense)" */

/* Direct solve with iterative refinement until the true residual meets rtol. */
facet_status solve_direct(const struct operator* A, struct cholesky *cholesky, const struct vector *b,
                          struct vector *x, const struct solve_control *control, struct solve_report *report);
/* The same where the direct solve is an operator, the inverse of A up to rounding. */
facet_status solve_refined(const struct operator* A, struct operator* inverse, const struct vector *b,
                           struct vector *x, const struct solve_control *control,
                           struct solve_report *report);

#endif
