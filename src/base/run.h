/* What a running computation shares with the program around it: threads, interrupts, the clock by phase, and
 * the monitor through which everything the library has to say is said. */
#ifndef FACET_BASE_RUN_H
#define FACET_BASE_RUN_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"
#include "base/team.h"
#include "base/threads.h"

/* BLAS and LAPACK have one thread, which device_find sees to, and all of base_threads() between begin_wide
 * and end_wide, for one large factorisation. That is a property of the process: where it is more than one,
 * one caller is let in at a time. begin_wide returns what end_wide is to be told. */
void base_blas_narrow(void);
int base_blas_begin_wide(void);
void base_blas_end_wide(int n);

/* What a context says to the calls made with it. Interrupts are counted, so that each of many calls can tell
 * whether there were any since it began: [0] those of all contexts, [1] those of this one. */
struct base_owner {
    atomic_int threads; /* 0: those of the process */
    atomic_uint interrupts, obeyed[2];
};
void base_owner_init(struct base_owner *owner);
void base_owner_interrupt(struct base_owner *owner);

/* A public call that computes. It stands between base_call_begin and base_call_end, which returns `status`
 * and, where that is FACET_INTERRUPTED, lets the owner's next calls begin afresh. A call may begin inside
 * another. threads: 0: those of the owner. */
struct base_monitor;
struct base_call {
    struct base_owner *owner;
    int threads;
    unsigned obeyed[2]; /* when it began */
    struct base_call *outer;
    const struct base_monitor *monitor; /* who wants to hear now and then that it goes on, */
    double told;                        /* when that was, */
    int phase;                          /* and what is being done, or was done last */
    struct base_team *team;             /* with whom it is made, or NULL */
};
void base_call_begin(struct base_call *call, struct base_owner *owner, const struct base_monitor *monitor,
                     int threads);
facet_status base_call_end(struct base_call *call, facet_status status);
/* That of this thread, or NULL: the program's own. */
const struct base_call *base_call_here(void);
/* Fails with FACET_INTERRUPTED when the call is to stop; of a thread that works for another, its call. */
facet_status base_check_interrupt_of(const struct base_call *call);
/* Of this thread's call, whose monitor is told when it has heard nothing for a while. Every loop that may
 * take longer does it now and then; in parallel loops base_collect does, in the thread of the call. */
facet_status base_check_interrupt(void);
facet_status base_look(void); /* the same inside of calls; elsewhere nothing is looked at */

/* Tells the monitor of this thread's call, when it has heard nothing for a while. Kernels, large
 * allocations and loops over all cells do it; they cannot be stopped there, but between them. */
void base_tell(void);
/* The same in round i of a loop over very many small things. */
static inline void base_tell_at(int64_t i) {
    if ((i & 255) == 0) base_tell();
}

/* Now and then: whether others want the processors too, and so how long OpenMP's threads spin when they wait
 * for each other. base_check_interrupt, base_phase_begin and operator_apply do it. */
void base_waits_look(void);

/* Monotonic seconds; to some milliseconds, in a third of the time. */
double base_seconds(void);
double base_seconds_roughly(void);

/* Where progress and iterations are reported; `call` may be NULL. */
struct base_monitor {
    facet_monitor call;
    void *user;
};
void base_report_progress(const struct base_monitor *monitor, facet_phase phase, double done, double total);
void base_report_iteration(const struct base_monitor *monitor, int iteration, double residual);

/* Seconds by phase, and the peak of the process's memory until its end. */
struct base_timers {
    double seconds[FACET_N_PHASES];
    double peak_bytes[FACET_N_PHASES];
};
/* phase_begin returns the time outside all phases of these timers; phase_end adds what has passed since. So a
 * phase may begin and end inside another, and every second is counted once. timers: NULL where there are none
 * yet (begin: all are zero) or none any more. */
double base_phase_begin(const struct base_timers *timers, const struct base_monitor *monitor,
                        facet_phase phase);
void base_phase_end(struct base_timers *timers, const struct base_monitor *monitor, facet_phase phase,
                    double begin);

#endif
