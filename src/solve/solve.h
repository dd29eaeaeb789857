/* Linear algebra that knows nothing of meshes and equations: operators, Krylov methods, direct solves.
 *
 * An Operator computes y = A x on a device. A preconditioner is an operator too. Solvers never print: they
 * report each iteration to the monitor and, at the end, why they stopped.
 *
 * Start here for a method of your own: fill a struct linear_operator with an apply function, hand it to
 * solve_cg.
 */
#ifndef FACET_SOLVE_SOLVE_H
#define FACET_SOLVE_SOLVE_H

#include <stdint.h>

#include "base/run.h"
#include "device/device.h"
#include "solve/null_space.h"

/* A square sparse matrix on the host in compressed rows, columns ascending in each row. */
struct csr {
    int64_t n;
    int asymmetric;   /* A' is not A: a factor of Cholesky, AMG and blocks by Cholesky refuse it */
    int64_t *offsets; /* n + 1 */
    int32_t *columns;
    double *values;
};
void csr_destroy(struct csr *csr);
/* For all that need a symmetric matrix: refuses another. who: "the factor of Cholesky", say. */
facet_status solve_need_symmetric(int asymmetric, const char *who);

/* A sum of small symmetric matrices: element e couples unknowns[starts[e]] .. unknowns[starts[e+1]-1], all
 * different, by the lower triangle by rows at matrices[matrix_starts[e]]. */
struct csr_elements {
    int64_t n, n_elements;
    int64_t *starts, *matrix_starts; /* n_elements + 1 each */
    int32_t *unknowns;
    double *matrices;
    int64_t *places; /* work of csr_elements_add */
};
void csr_elements_destroy(struct csr_elements *elements);
/* None yet, with room for n_elements of at most `size` unknowns, and n_single of one. */
facet_status csr_elements_create(int64_t n, int64_t n_elements, int64_t size, int64_t n_single,
                                 struct csr_elements *elements);
/* One more. numbers (size of them): of its functions, negative where there is no unknown; functions of the
 * same number (both ends of a ring of one cell) become one. matrix: lower triangle by rows. */
void csr_elements_add(struct csr_elements *elements, int size, const int64_t *numbers, const double *matrix);
facet_status csr_from_elements(const struct csr_elements *elements, struct csr *csr);
/* The two passes of a step of conjugate gradients in one sweep over the vectors each, where an operator can
 * do that. They measure |r| as the operator likes it, and have the inverse D of its diagonal built in, so
 * that z = B r is never stored: B is D, or D + P C P' with the coarse space of an additive multigrid, which
 * makes coefficients of P C P'r from what the second pass leaves of r, its moments. */
struct linear_operator;
struct operator_recurrence {
    double a[2], b[2], alpha, c;
};
struct operator_steps {
    /* x += alpha p (alpha 0: not), p = B r + beta p (r NULL: p stays; beta 0: p is not read), q = A p
     * (q NULL: not); returns p . q. e: the coefficients, or NULL. */
    double (*advance)(const struct linear_operator *A, double alpha, double beta, const struct vector *r,
                      const struct vector *e, struct vector *p, struct vector *x, struct vector *q);
    /* r -= alpha q; moments of it, or NULL; sums: r . D r and |r|^2. */
    void (*reduce)(const struct linear_operator *A, double alpha, const struct vector *q, struct vector *r,
                   struct vector *moments, double sums[2]);
    /* |x| of unknowns, which may be scaled differently from residuals. */
    double (*size)(const struct linear_operator *A, const struct vector *x);
    /* The same by three terms, fewer vectors moved; NULL: not. form: q = A B r; returns r . B q. recur: s,
     * the residual of the step before r, becomes r - alpha q + c (r - s), moments and sums as of reduce. With
     * x (or NULL), for the two steps of s and r: p = B s + b[0] p, x += a[0] p, p = B r + b[1] p, x += a[1]
     * p. */
    double (*form)(const struct linear_operator *A, const struct vector *r, const struct vector *e,
                   struct vector *q);
    void (*recur)(const struct linear_operator *A, const struct operator_recurrence *by,
                  const struct vector *q, const struct vector *r, const struct vector *e_r, struct vector *s,
                  const struct vector *e_s, struct vector *p, struct vector *x, struct vector *moments,
                  double sums[2]);
};

struct linear_operator {
    int64_t n;
    const struct device *device;
    void (*apply)(const struct linear_operator *A, const struct vector *x, struct vector *y); /* y = A x */
    void (*free)(struct linear_operator *A); /* releases data; NULL: nothing to release */
    void *data;
    const void *of;           /* what it looks at, and does not own; or NULL */
    const char *name;         /* what it is, for messages; NULL: nameless */
    int asymmetric;           /* A' is not A: conjugate gradients refuse it */
    enum precision precision; /* of its vectors */
    struct seam *seam;        /* theirs, held; NULL: none */
    /* Fills a zeroed operator of single precision; NULL: there is none. */
    facet_status (*to_single)(const struct linear_operator *A, struct linear_operator *single);
    /* r = f - A x in one pass; NULL: by apply. */
    void (*residual)(const struct linear_operator *A, const struct vector *f, const struct vector *x,
                     struct vector *r);
    /* y += A x; NULL: by apply. */
    void (*add)(const struct linear_operator *A, const struct vector *x, struct vector *y);
    const struct operator_steps *steps; /* NULL: none */
};
void operator_apply(const struct linear_operator *A, const struct vector *x, struct vector *y);
/* r = f - A x; r is neither of them. */
void operator_residual(const struct linear_operator *A, const struct vector *f, const struct vector *x,
                       struct vector *r);
/* q = A p; returns p . q. */
double operator_product(const struct linear_operator *A, const struct vector *p, struct vector *q);
void operator_destroy(struct linear_operator *A); /* safe on a zeroed struct, and twice */
/* The same operator, rounded to single precision, on the same device. It owns all its data: A may go. An
 * operator that has no single precision, or is in it already, is refused by name. */
facet_status operator_create_single(const struct linear_operator *A, struct linear_operator *S);
facet_status operator_round(struct linear_operator *A); /* *A becomes that, or stays as it is on failure */

/* The sum of operators of n unknowns each. The parts are taken over (emptied), also on failure. */
facet_status operator_create_sum(const struct device *device, int64_t n, int n_parts,
                                 struct linear_operator *parts, const char *name, struct linear_operator *A);

/* Copies the matrix to the device. */
facet_status operator_create_csr(const struct device *device, const struct csr *csr,
                                 struct linear_operator *A);
/* y = d x entry by entry, d (n, on the host) being copied. */
facet_status operator_create_diagonal(const struct device *device, int64_t n, const double *d,
                                      struct linear_operator *M);
/* Preconditioners made from the matrix: its inverse diagonal; the inverses of its diagonal blocks, block b
 * being the unknowns block_offsets[b] .. block_offsets[b+1]-1. A block that is not positive definite is an
 * error. */
facet_status operator_create_jacobi(const struct device *device, const struct csr *csr,
                                    struct linear_operator *M);
facet_status operator_create_block_jacobi(const struct device *device, const struct csr *csr,
                                          int64_t n_blocks, const int64_t *block_offsets,
                                          struct linear_operator *M);

/* B, symmetric and positive definite, n x n, becomes its inverse. 0: it is not positive definite. */
int solve_invert(int64_t n, double *B);
/* Where blocks of n x n numbers begin, one after the other: n_blocks + 1; free with base_free. */
facet_status operator_block_starts(int64_t n_blocks, const int64_t *block_offsets, int64_t **starts);
/* The same from the blocks themselves, which stand there and become their inverses. *blocks is taken over,
 * and then NULL, where the device is the host. */
facet_status operator_create_blocks(const struct device *device, int64_t n_blocks,
                                    const int64_t *block_offsets, double **blocks, struct linear_operator *M);
/* The same from n_blocks blocks of m unknowns that stand in lanes on the device (the kernel lane_smooth),
 * which are taken over. */
facet_status operator_create_lane_blocks(const struct device *device, int64_t n_blocks, int m,
                                         double **blocks, struct linear_operator *M);
/* That m, where all blocks have one size and the device likes them in lanes; else 0. */
int operator_equal_blocks(const struct device *device, int64_t n_blocks, const int64_t *block_offsets);

/* An operator by a function on arrays of the host: x and y of a device that is not the host travel to it and
 * back. data is taken over, also on failure: `release` (or NULL) receives its address at the end. A failure
 * of the function leaves NaN in y, which whoever iterates notices, and is kept: operator_host_failure tells
 * the first one since it was last asked. */
typedef facet_status (*operator_on_host)(void *data, const double *x, double *y);
facet_status operator_create_host(const struct device *device, int64_t n, const char *name,
                                  operator_on_host apply, void *data, void (*release)(void **data),
                                  struct linear_operator *A);
facet_status operator_host_failure(const struct linear_operator *A);
void *operator_host_data(const struct linear_operator *A); /* that of the function */

/* Conjugate gradients in single precision, with the solution and the true residual in double. */
struct solve_fast {
    const struct linear_operator *A; /* rounded; the preconditioner is of its precision */
    /* Where the two scale their unknowns differently: residuals on their way to single precision are
     * multiplied by it, and unknowns on their way back. NULL: they do not. */
    const struct vector *ratio;
    double error; /* of products, an estimate of the largest |e| / |p|, e = (A - fast A) p, in the norms of
                     A^-1 (the preconditioner standing for it) and A; by solve_judge_fast */
    int given_up; /* single precision is not enough: now and for all later solves */
    /* The preconditioner in double precision, to go on with; made when it is first asked for. */
    facet_status (*exact)(void *data, const struct linear_operator **M);
    void *data;
};

struct solve_external;
/* Vectors that solve_cg and solve_refined keep from solve to solve. */
struct solve_work;
void solve_work_destroy(struct solve_work **work); /* safe on NULL, and twice */

struct solve_control {
    double rtol; /* on the true residual |b - A x| / |b| */
    int max_iterations;
    const struct base_monitor *monitor;
    /* The kernel of a singular A, or NULL; solve_cg alone knows one whose dual is another function. */
    const struct null_space *null_space;
    /* Takes out of an error what the caller finds anew himself: an estimate does not count it. Or NULL. */
    facet_status (*forget)(void *data, struct vector *error);
    void *forget_data;
    /* Some unknowns are held so much more weakly than others that the energy of an error says little of its
     * size. */
    int light;
    /* What estimates the error instead of M, where M is far from the inverse of A. Or NULL. */
    const struct linear_operator *judge;
    /* r: what rounding in the entries of A may have done to A x, where that is more than rounding in
     * products. Its signs are drawn: draw 0, 1, .. are different ones. Or NULL. */
    facet_status (*draw_rounding)(void *data, int draw, const struct vector *x, struct vector *r);
    void *draw_rounding_data;
    /* Sees the residuals, and the errors that they make, whose norms an estimate is made of. NULL
     * instead of both means that a new estimate begins. Or NULL. */
    facet_status (*regard)(void *data, const struct vector *residual, const struct vector *error);
    void *regard_data;
    int flexible; /* solve_cg: M may change from step to step (a K-cycle); costs one more dot product */
    int restart;  /* solve_fgmres: steps between restarts (0: 50) */
    struct solve_fast *fast; /* solve_cg: NULL: in double precision */
    /* solve_refined: the inverse to a few digits, for the estimate of the error. NULL: the inverse itself. */
    const struct linear_operator *rough;
    /* solve_refined: of whom the inverse is (external.h), whose iterations count. NULL: its steps do. */
    const struct solve_external *external;
    struct solve_work **work; /* NULL: made and freed; *work NULL: made */
};
struct solve_report {
    int iterations, converged;
    const char *reason; /* lives as long as the preconditioner */
    double residual;    /* true, relative */
    double rate;        /* geometric mean of the reduction per iteration */
    double error;       /* of x, relative: an estimate (error_estimate.c); negative: none was made */
    double largest;     /* what solve_check_size was told */
    int n_history, history_capacity;
    double *history; /* relative residual before iteration 1, after it, ... */
};
/* What a solution conserves. Lacks are what the balances of cells leave, and the differences of the fluxes
 * that both cells of a face have for it; terms those of the flux through the faces of a cell, which nearly
 * cancel. */
struct solve_balance {
    double cells; /* the largest lack, relative to the largest terms; negative: nothing is conserved */
    double
        missing; /* the sum of all lacks with their signs: what flows in and is made, less what flows out */
    double through; /* half of the sum of the moduli of all boundary fluxes, and of what cells make */
    double terms;   /* the root of the sum of the squares of all terms */
};
void solve_report_clear(struct solve_report *report); /* empties it, keeps nothing */
/* One more entry of the history, told to the monitor; fails when interrupted. */
facet_status solve_record(const struct solve_control *control, struct solve_report *report, double residual);
/* Where squares are zero or infinite: a norm of b of which solve_nothing is to say what that means. It makes
 * x = 0, with success if b is zero. */
#define SOLVE_LEAST 1e-140
static inline int solve_is_extreme(double norm) {
    return norm < SOLVE_LEAST || norm > 1.0 / SOLVE_LEAST; /* and not NaN, which every method notices */
}
facet_status solve_nothing(double norm, const struct vector *b, struct vector *x,
                           struct solve_report *report);
/* Completes the report. */
facet_status solve_finish(struct solve_report *report, int converged, const char *reason, double residual);

/* The relative residual that a caller who asks for rtol needs where tau h / K is `heaviest`. */
double solve_tolerance(double rtol, double heaviest);
/* After a solve that converged with x: whether it is to be solved again from there, with the control's rtol,
 * which falls, for the error to fall below `target` (0: any will do). before: the iterations so far, 0 at
 * first; the report counts them all. */
int solve_again(double target, struct solve_control *control, struct solve_report *report, int *before);
/* Whether the error of a solve that converged is what was asked for. */
facet_status solve_reached(double target, struct solve_report *report);
/* After a solve that converged with x: its error once more, by the control's judge. */
facet_status solve_judge(const struct linear_operator *A, const struct vector *b, const struct vector *x,
                         const struct solve_control *control, struct solve_report *report);
/* After a solve that converged with x: what x lacks, by one correction with M. r is overwritten. */
void solve_find_correction(const struct linear_operator *A, const struct linear_operator *M,
                           const struct vector *b, const struct vector *x,
                           const struct solve_control *control, struct vector *r, struct vector *lack);
/* After a solve that converged, of which something else has that relative error as well. */
facet_status solve_accept_more(double rtol, double error, struct solve_report *report);
/* After a solve that converged: whether norms of a solution so large can be computed; 0: it is zero. */
facet_status solve_check_size(double largest, struct solve_report *report);
double solve_largest(int64_t n, const double *x); /* |x_i| */

/* Preconditioned conjugate gradients; M may be NULL. x: initial guess and solution. Returns FACET_OK when it
 * converged, FACET_NOT_CONVERGED (with the reason) when not, x being the last iterate. */
facet_status solve_cg(const struct linear_operator *A, const struct linear_operator *M,
                      const struct vector *b, struct vector *x, const struct solve_control *control,
                      struct solve_report *report);

/* What `mixed` means for conjugate gradients whose operator has a single precision: fast->error and
 * ->given_up by a few products with M, of the precision of `fast`. b: a residual of double precision to begin
 * with, rich in low modes; b and x are overwritten. Otherwise `mixed` is a preconditioner in single
 * precision. */
facet_status solve_judge_fast(const struct linear_operator *A, const struct linear_operator *M,
                              struct vector *b, struct vector *x, int rounds, struct solve_work **work,
                              struct solve_fast *fast);

/* Flexible GMRES for any regular A and any M (NULL: none), which may change from step to step: preconditioned
 * from the right, restarted. Needs 2 * restart vectors. Arguments and results as for solve_cg; the kernel of
 * a singular A must also be orthogonal to its range. */
facet_status solve_fgmres(const struct linear_operator *A, const struct linear_operator *M,
                          const struct vector *b, struct vector *x, const struct solve_control *control,
                          struct solve_report *report);

/* Sparse Cholesky factorisation (CHOLMOD; a banded one of LAPACK without it). The ordering is found on the
 * graph of the blocks, which must cover the unknowns. A singular matrix is made regular by holding one
 * unknown, `pin`, at zero (-1: none). */
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
                                      struct linear_operator *M);
/* Beyond so many unknowns another method is the better choice, whatever the memory (the banded factor).
 */
int64_t cholesky_reasonable_size(void);
const char *cholesky_library(void); /* "CHOLMOD 3.0.14" or "LAPACK (banded)" */

/* Direct solve with iterative refinement until the true residual meets rtol. */
facet_status solve_direct(const struct linear_operator *A, struct cholesky *cholesky, const struct vector *b,
                          struct vector *x, const struct solve_control *control, struct solve_report *report);
/* The same where the direct solve is an operator, the inverse of A up to rounding. */
facet_status solve_refined(const struct linear_operator *A, struct linear_operator *inverse,
                           const struct vector *b, struct vector *x, const struct solve_control *control,
                           struct solve_report *report);

#endif
