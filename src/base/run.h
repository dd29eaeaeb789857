/* What a running computation shares with the program around it: threads, the stop flag, the clock by phase,
 * and the monitor through which everything the library has to say is said. */
#ifndef FACET_BASE_RUN_H
#define FACET_BASE_RUN_H

#include "base/status.h"

/* Threads of every parallel loop (a property of the process): `num_threads(base_threads())`. At least 1. */
int base_threads(void);
/* The same for a loop over `points` (of about a nanosecond each or more): 1 where that is so little that the
 * threads would wait for each other longer than they work, most of all on a machine that others use too. */
int base_threads_for(int64_t points);
/* 0: as many as the process may use. */
void base_set_threads(int n);
/* Threads inside BLAS and LAPACK calls: 1 inside parallel loops, base_threads() for one large factorisation.
 */
void base_set_blas_threads(int n);

/* The flag that facet_interrupt() raises. base_check_interrupt() fails with FACET_INTERRUPTED while it is up.
 */
facet_status base_check_interrupt(void);

/* Monotonic seconds. */
double base_seconds(void);

/* Where progress and iterations are reported; `call` may be NULL. */
struct base_monitor {
    facet_monitor call;
    void *user;
};
void base_report_progress(const struct base_monitor *monitor, facet_phase phase, double done, double total);
void base_report_iteration(const struct base_monitor *monitor, int iteration, double residual);

/* Seconds by phase. */
struct base_timers {
    double seconds[FACET_N_PHASES];
};
/* phase_begin returns the time outside all phases of these timers; phase_end adds what has passed since. So a
 * phase may begin and end inside another, and every second is counted once. timers: NULL where there are none
 * yet (begin: all are zero) or none any more. */
double base_phase_begin(const struct base_timers *timers, const struct base_monitor *monitor,
                        facet_phase phase);
void base_phase_end(struct base_timers *timers, const struct base_monitor *monitor, facet_phase phase,
                    double begin);

#endif
