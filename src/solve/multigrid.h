/* Multigrid: a list of levels from fine to coarse, a cycle over them, a solve on the last one.
 *
 * A level is an operator, a smoother, and the prolongation from the next coarser level; its near-null space
 * is what whoever makes the levels hands to the algebraic multigrid below them (solve/amg.h). Levels know
 * nothing of meshes: every discretization appends its own. A level may live on another device or in another
 * precision than its finer neighbour; what passes between them is converted on the way.
 *
 *     multigrid_create(&mg);
 *     multigrid_append(mg, "k=3", &A, NULL, &smoother);         finest first
 *     multigrid_connect(mg, &P);                                 from the next level to this one
 *     multigrid_append(mg, "k=1", NULL, &A1, &smoother1); ...
 *     multigrid_end(mg, "vertices", &coarse);                    an operator that solves
 *     multigrid_finish(mg);                                      work vectors
 *     operator_create_multigrid(&mg, &M);                        or solve_multigrid
 *
 * With V and W the cycle is linear and, when the smoothers are symmetric, symmetric positive definite: any
 * Krylov method may use it. The F-cycle and the full cycle are linear but not symmetric; the K-cycle takes up
 * to two steps of conjugate gradients on a coarse level, so it changes from application to application. These
 * want solve_control.flexible or solve_fgmres.
 */
#ifndef FACET_SOLVE_MULTIGRID_H
#define FACET_SOLVE_MULTIGRID_H

#include "base/team.h"
#include "solve/spectrum.h"

#define MG_MAX_LEVELS 48
#define MG_MAX_DEGREE 16

/* How often a coarse level is visited: once; twice; as F, then as V; by flexible conjugate gradients. FULL:
 * from the coarsest level up, with a V-cycle on each. ADDITIVE: the smoother of the finest level and the
 * V-cycle below it both see the right-hand side, and what they give is added. TWICE, of single levels
 * (multigrid_visit): by two Chebyshev steps around the V-cycle, for bounds of its spectrum that
 * multigrid_finish measures. It takes the energy out of both ends as K does, but is linear, symmetric, and
 * needs no dots. */
enum mg_cycle { MG_V, MG_W, MG_F, MG_K, MG_FULL, MG_ADDITIVE, MG_TWICE };

/* A sparse matrix of any shape on the host: a prolongation by rows. */
struct mg_transfer {
    int64_t n_rows, n_columns;
    int64_t *offsets; /* n_rows + 1 */
    int32_t *columns;
    double *values;
    int sums; /* rows of one process reach into blocks of another at the next level: where there is a seam
                 (device/seam.h) owned rows alone are restricted, and then the sums are taken there; by
                 whoever solves, where the next level is the last and has none */
};
void mg_transfer_destroy(struct mg_transfer *P); /* safe on a zeroed struct, and twice */
facet_status mg_transpose(const struct mg_transfer *P, struct mg_transfer *R);
/* y = P x; copied to the device. */
facet_status operator_create_transfer(const struct device *device, const struct mg_transfer *P,
                                      struct linear_operator *A);

/* The same without a matrix: a prolongation P as a pair of functions. */
struct mg_link {
    int64_t n_fine, n_coarse;
    void (*prolong)(const struct mg_link *link, const struct vector *coarse,
                    struct vector *fine); /* fine += P coarse */
    void (*restrict_)(const struct mg_link *link, const struct vector *fine,
                      struct vector *coarse); /* coarse = P' fine */
    /* The same between the coarse level and what the steps of an operator know of a fine vector (struct
     * operator_steps): from the moments of one, and to coefficients. NULL: not. */
    struct vector moments, coefficients;
    void (*gather)(const struct mg_link *link, struct vector *coarse);
    void (*spread)(const struct mg_link *link, const struct vector *coarse);
    int far; /* coarse vectors are of the next level's device and precision, not of this one's */
    void (*free)(struct mg_link *link);
    void *data;
};
void mg_link_destroy(struct mg_link *link); /* safe on a zeroed struct, and twice */

/* What removes the rough part of the error. */
struct smoother {
    /* A few steps on A x = f. from_zero: x is not read. Must be the same linear operation each time. */
    void (*smooth)(const struct smoother *s, const struct linear_operator *A, const struct vector *f,
                   int from_zero, struct vector *x);
    /* After the coarse correction; NULL: as before it. A cycle is symmetric when this is the adjoint. */
    void (*post)(const struct smoother *s, const struct linear_operator *A, const struct vector *f,
                 struct vector *x);
    /* Both halves of a visit in fewer sweeps, where smoother and link are of one make; NULL: by what stands
     * above. down: x from zero, coarse = P'(f - A x). up: x += P coarse, and on as after a correction. */
    void (*down)(const struct smoother *s, const struct vector *f, struct vector *x, struct vector *coarse);
    void (*up)(const struct smoother *s, const struct vector *f, const struct vector *coarse,
               struct vector *x);
    double top; /* of a polynomial: the largest eigenvalue it expects; 0: none */
    /* Looks for it again, with more steps; NULL: there is none. */
    facet_status (*widen)(struct smoother *s, const struct linear_operator *A);
    void (*free)(struct smoother *s);
    void *data;
};
void smoother_destroy(struct smoother *s); /* safe on a zeroed struct, and twice */

/* A polynomial of solve/spectrum.h in D A, `degree` 1 .. MG_MAX_DEGREE. D, symmetric positive definite, is
 * taken over (emptied), also on failure. A is only looked at during the call, for its largest eigenvalue. */
facet_status smoother_create_chebyshev(const struct linear_operator *A, struct linear_operator *D,
                                       enum polynomial kind, double ratio, int degree, struct smoother *s);

struct multigrid;
facet_status multigrid_create(struct multigrid **mg);
void multigrid_destroy(struct multigrid **mg);
/* The next coarser level. The operator is borrowed (must outlive mg) or owned: one of them is NULL. The owned
 * one and the smoother are taken over (emptied), also on failure. */
facet_status multigrid_append(struct multigrid *mg, const char *name, const struct linear_operator *borrowed,
                              struct linear_operator *owned, struct smoother *smoother);
/* From the level appended next to the level appended last; copied to that level's device. */
facet_status multigrid_connect(struct multigrid *mg, const struct mg_transfer *P);
/* The same by functions, whose vectors are of that level's device and precision. Taken over (emptied), also
 * on failure. */
facet_status multigrid_link(struct multigrid *mg, struct mg_link *link);
/* The operator of the last appended level in double precision, for a level in single precision with a link.
 * Where all levels have one, the full cycle keeps right-hand sides, solutions and residuals in double
 * precision, and only the cycles on the residuals are in single: what they add is small, and so is its
 * rounding. Taken over (emptied). */
void multigrid_refine(struct multigrid *mg, struct linear_operator *A);
/* What the last appended level adds to the guess that a full cycle brings up from the next one: x += B f, B
 * being a solve in a complement of the coarse space. Taken over, also on failure. */
void multigrid_complete(struct multigrid *mg, struct linear_operator *B);
/* The coarsest level: `solve` gives x from f. Taken over, also on failure. */
facet_status multigrid_end(struct multigrid *mg, const char *name, struct linear_operator *solve);
/* How the level below the last appended one is visited (V), and the factor of its correction (1; a link
 * knows no other). */
void multigrid_visit(struct multigrid *mg, enum mg_cycle visit, double factor);
/* Entries of the last appended level's matrix and bytes it takes, for the report. */
void multigrid_describe(struct multigrid *mg, int64_t entries, double bytes);
/* M works on vectors of the finest level's precision, whatever that is; before multigrid_finish. */
void multigrid_keep_precision(struct multigrid *mg);
/* Makes the work vectors; the list is complete. */
facet_status multigrid_finish(struct multigrid *mg);

/* How all levels are visited, those included that asked for K; after multigrid_finish. */
facet_status multigrid_set_cycle(struct multigrid *mg, enum mg_cycle cycle);
int multigrid_is_flexible(const struct multigrid *mg); /* not symmetric, or not linear */
/* Where the finest level of an additive cycle has moments and coefficients, the vectors of its link; else
 * NULL. */
struct mg_link *multigrid_additive(struct multigrid *mg);
/* Such a cycle without a vector of the finest level: from the moments of r the coefficients of P C P'r; *dot
 * = r . P C P'r. */
facet_status multigrid_correct(struct multigrid *mg, double *dot);
/* What went wrong in a cycle (a transfer between devices needs memory); solvers ask after they are done. */
facet_status multigrid_failure(const struct multigrid *mg);
/* After an iteration with mg failed: *diagnosis = which part of it is to blame, or NULL when all parts do
 * what they should (a stall). Belongs to mg, until the next call. A smoother diverges when it multiplies the
 * energy of some error by more than 1 (a Chebyshev polynomial whose top is too low); the coarse solve fails
 * when it gives values that are not finite, or does not reduce the error of the coarse problem P'AP. */
#define MG_DIAGNOSIS_BYTES 256
facet_status multigrid_diagnose(struct multigrid *mg, const char **diagnosis);
/* After that: smoothers whose top was too low (a start that hardly had the mode of the largest eigenvalue)
 * expect more. *wider: 0 where all of them were right. */
facet_status multigrid_widen(struct multigrid *mg, int *wider);
/* Measures the reduction of the residual by every visit of a level, which costs a product each. */
facet_status multigrid_watch(struct multigrid *mg, int on);

/* One application as a preconditioner; mg is taken over. */
facet_status operator_create_multigrid(struct multigrid **mg, struct linear_operator *M);
struct multigrid *operator_multigrid(const struct linear_operator *M); /* NULL when it is none */
/* What M is applied to until the next call is no larger than `like`, and smaller by what a solve takes off
 * it: levels see it divided by a power of two where it would leave the range of single precision. NULL: of a
 * size near 1. M may be NULL, or something else. */
void multigrid_measure(const struct linear_operator *M, const struct vector *like);
/* Cycles by themselves, A being the operator in double precision: x += B (b - A x) until the true residual
 * meets rtol. FULL gives the first guess by one full cycle and goes on with V-cycles; with
 * levels in single precision it is that of multigrid_refine, or its last part at least is for the residual
 * in double precision.
 * Arguments and results as for solve_cg. */
facet_status solve_multigrid(const struct linear_operator *A, const struct linear_operator *M,
                             const struct vector *b, struct vector *x, const struct solve_control *control,
                             struct solve_report *report);

/* What happened on a level. */
enum mg_phase { MG_SMOOTH, MG_RESIDUAL, MG_TRANSFER, MG_SOLVE, MG_N_PHASES };
struct mg_summary {
    const char *name, *device;
    enum precision precision;
    int64_t n, entries;
    double bytes;
    int64_t visits;
    double seconds[MG_N_PHASES];
    struct team_traffic traffic; /* that this process has sent for the level, which is over a seam */
    double residual;             /* of the last visit: |f - A x| / |f|; negative: not watched */
    double top;                  /* largest eigenvalue the smoother expects; 0: none of that kind */
    double rate;                 /* geometric mean of these over all visits */
};
int multigrid_n_levels(const struct multigrid *mg);
void multigrid_summarize(const struct multigrid *mg, int level, struct mg_summary *summary);

#endif
