/* Private to the multigrid: what a level holds. */
#ifndef FACET_SOLVE_MULTIGRID_LEVELS_H
#define FACET_SOLVE_MULTIGRID_LEVELS_H

#include "solve/multigrid.h"
#include "solve/solve_internal.h"

struct mg_level {
    char name[32];
    const struct device *device;
    enum precision precision;
    int64_t n, entries;
    struct seam *seam; /* of its vectors */
    double bytes;
    const struct linear_operator *A; /* &own, or the caller's; NULL on the last level */
    struct linear_operator own;
    struct linear_operator exact; /* in double precision, of a level in single; or empty */
    struct smoother smoother;
    enum mg_cycle visit; /* of the level below: MG_K, MG_TWICE, or MG_V for what the cycle says */
    double steps[2],
        again; /* where this level is visited twice: d = steps[0] V r, then steps[1] V r + again d */
    double factor;
    int64_t n_coarse;
    int sums; /* what R gives is a part of a sum over the seam of the next level, if that has one */
    struct linear_operator P, R;
    struct mg_link link;               /* instead of P and R; then nothing but a K-cycle needs t */
    struct linear_operator complement; /* of a guess, or empty */
    struct vector r, t;
    struct vector rhs, x, full;     /* below the finest level: the problem there */
    struct vector f64, x64, r64;    /* the same in double, where `exact` is given */
    struct vector c, v;             /* where conjugate gradients are used: the first step and its image */
    struct vector near_rhs, near_x; /* of the next level, on this one's device and in its precision, where
                                       they differ */
    int64_t visits, watched;
    double seconds[MG_N_PHASES], residual, log_sum;
    struct team_traffic traffic; /* of a level over a seam */
};

struct multigrid {
    int n_levels;
    struct mg_level levels[MG_MAX_LEVELS];
    struct linear_operator last;
    enum mg_cycle cycle;
    int watching, ended, keeps_precision;
    const struct device *outer; /* where M works, if not where the finest level does */
    struct vector in, out;      /* of the finest level, where M works in another precision */
    double unit;           /* what right-hand sides are divided by, a power of two; see multigrid_measure */
    struct vector divided; /* room for one */
    int refined;           /* all levels but the last have their operator in double precision */
    facet_status failure;  /* of a transfer between devices in a cycle */
    char diagnosis[MG_DIAGNOSIS_BYTES];
};

/* A vector of the device and precision of a level, unless there is one already. */
facet_status mg_vector(const struct mg_level *like, int64_t n, struct vector *v);

/* What a level that is visited twice has to know. */
facet_status mg_measure_level(struct multigrid *mg, int level);

/* coarse = P' fine; both of the device and precision of level l. */
void mg_restrict(const struct mg_level *l, const struct vector *fine, struct vector *coarse);
/* fine += factor P coarse; fine = P coarse when from_zero. */
void mg_prolong(const struct mg_level *l, double factor, int from_zero, const struct vector *coarse,
                struct vector *fine);

/* A cycle cannot fail half-way; what fails in it is kept. */
static inline void mg_pass(struct multigrid *mg, facet_status status) {
    if (mg->failure == FACET_OK) mg->failure = status;
}

#endif
