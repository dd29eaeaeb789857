/* Solvers on a box, made to run against each other on the case of bench/wave.h: the eight of huismann2020
 * (Table 3), ours, and the direct ones. A rival is set up once and run many times, stage by stage, and all
 * rivals of a contest run in turn. */
#ifndef FACET_BENCH_RIVAL_H
#define FACET_BENCH_RIVAL_H

#include "bench/bench.h"
#include "bench/wave.h"
#include "solve/solve.h"

enum rival_kind {
    RIVAL_HDG_UNPREC, /* conjugate gradients with Algorithm 2 on nodes */
    RIVAL_HDG_DIAG,
    RIVAL_HDG_BLOCK,
    RIVAL_HDG_TRANS, /* Algorithm 3 in modes, the block preconditioner being diagonal there */
    RIVAL_CCG_UNPREC,
    RIVAL_CCG_DIAG,
    RIVAL_CCG_BLOCK,
    RIVAL_CCG_TRANS,
    RIVAL_TRANS, /* HDG-trans with our operator */
    RIVAL_ADDITIVE,
    RIVAL_CHEBYSHEV,
    RIVAL_STARS,
    RIVAL_CONDENSED,  /* the condensed method with our operator and its two levels */
    RIVAL_DIRECT,     /* on the trace */
    RIVAL_VOLUME,     /* in the volume */
    RIVAL_CONTINUOUS, /* the continuous method, in the volume */
    N_RIVALS
};
#define RIVAL_BIT(kind) (1u << (kind))
#define RIVALS_ALL      (RIVAL_BIT(N_RIVALS) - 1)
const char *rival_name(enum rival_kind kind);

enum rival_stage { RIVAL_GUESS, RIVAL_LOAD, RIVAL_SOLVE, RIVAL_RECOVER, N_RIVAL_STAGES };
#define RIVAL_PASSES 11
struct rival_result {
    int present, iterations, converged, n_passes;
    double seconds[N_RIVAL_STAGES]; /* medians */
    double passes[N_RIVAL_STAGES][RIVAL_PASSES];
    double preparation; /* seconds */
    double bytes;       /* what it keeps beyond the discretization, which all of a kind share */
    double error;       /* of u in L2 */
};

/* What a discretization shares: one file each. */
struct rival_space {
    const struct wave *wave;
    const struct device *device;
    double rtol; /* of the residual of the first guess */
    void *data;
    void (*destroy)(struct rival_space *space);
    facet_status (*create)(struct rival_space *space, enum rival_kind kind, void **solver);
    void (*drop)(struct rival_space *space, void **solver);
    /* All stages, the seconds of which are set. */
    facet_status (*run)(struct rival_space *space, void *solver, double seconds[N_RIVAL_STAGES],
                        struct solve_report *report);
    facet_status (*error)(struct rival_space *space, double *error); /* of the run before */
};
facet_status rival_space_hdg(const struct wave *wave, const struct device *device, double rtol,
                             struct rival_space *space);
facet_status rival_space_condensed(const struct wave *wave, const struct device *device, double rtol,
                                   struct rival_space *space);
facet_status rival_space_continuous(const struct wave *wave, const struct device *device, double rtol,
                                    struct rival_space *space);

/* The direct solve of HDG in the volume, apart from rival_hdg.c. u and f at the Gauss points. */
struct boxhdg;
struct box_volume;
facet_status rival_volume_create(const struct boxhdg *h, struct box_volume **volume);
void rival_volume_destroy(struct box_volume **volume);
void rival_volume_solve(struct box_volume *volume, const double *f, double *u);

/* K uhat = F on the trace, directly, where k = 1 and lambda = 0 everywhere. */
facet_status rival_solve_trace(const struct boxhdg *h, const double *F, double *uhat);

/* The clock of a run: ceiling_clock, or that of the wall where threads are compared. */
double rival_clock(void);

/* Runs all of `kinds` (bits) `passes` times in turn. A rival whose first run took longer than `patience`
 * seconds is not run again. with_errors: of the solutions too. */
struct contest {
    struct wave_case wave;
    unsigned kinds;
    int passes, with_errors;
    int wall; /* all times are those of the wall */
    double patience, rtol;
    struct rival_result results[N_RIVALS];
};
facet_status contest_run(const struct bench_options *options, struct contest *contest);

/* Seconds a unit of a result took: of the solve, in microseconds per unknown of the volume. */
double rival_micro(const struct contest *contest, enum rival_kind kind);
/* The median of the ratios of the solves of two rivals, pass by pass: how many times faster b is. */
double rival_ratio(const struct contest *contest, enum rival_kind a, enum rival_kind b);
/* Bytes a contest needs, about. */
double rival_bytes(const struct wave_case *wave, unsigned kinds);

#endif
