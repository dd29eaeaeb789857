/* Threads, interruption, clock and monitor. */
#include "base/run.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SMALL_LOOP 50000 /* points */

static atomic_int n_threads;
static volatile sig_atomic_t interrupted;

/* OpenBLAS exports it; another BLAS may not. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

int base_threads(void) {
    int n = atomic_load(&n_threads);
    if (n > 0) return n;
    n = omp_get_max_threads();
    return n > 0 ? n : 1;
}

int base_threads_for(int64_t points) {
    return points < SMALL_LOOP ? 1 : base_threads();
}

void base_set_threads(int n) {
    atomic_store(&n_threads, n > 0 ? n : 0);
}

/* libgomp has no call for it, but spins briefly while more threads are under its hand than there are
 * processors: those of a second team, which waits for ever. LLVM's runtime has one. */
extern void kmp_set_blocktime(int milliseconds) __attribute__((weak));

static void *hold_a_team(void *unused) {
    int n = 0;
#pragma omp parallel num_threads(omp_get_num_procs()) reduction(+ : n)
    n++;
    for (;;) pause();
    return unused;
}

void facet_share_processors(void) {
    static atomic_flag done = ATOMIC_FLAG_INIT;
    pthread_t thread;
    if (atomic_flag_test_and_set(&done) || getenv("OMP_WAIT_POLICY") != NULL ||
        getenv("GOMP_SPINCOUNT") != NULL)
        return;
    if (kmp_set_blocktime != NULL)
        kmp_set_blocktime(0);
    else if (omp_get_num_procs() > 1 && pthread_create(&thread, NULL, hold_a_team, NULL) == 0)
        pthread_detach(thread);
}

void base_set_blas_threads(int n) {
    if (openblas_set_num_threads != NULL) openblas_set_num_threads(n);
}

void facet_interrupt(void) {
    interrupted = 1;
}

void facet_interrupt_clear(void) {
    interrupted = 0;
}

facet_status base_check_interrupt(void) {
    return interrupted ? base_fail(FACET_INTERRUPTED, "interrupted") : FACET_OK;
}

double base_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(const struct base_monitor *monitor, const facet_event *event) {
    if (monitor != NULL && monitor->call != NULL) monitor->call(monitor->user, event);
}

void base_report_progress(const struct base_monitor *monitor, facet_phase phase, double done, double total) {
    report(monitor,
           &(facet_event){.kind = FACET_EVENT_PROGRESS, .phase = phase, .done = done, .total = total});
}

void base_report_iteration(const struct base_monitor *monitor, int iteration, double residual) {
    report(monitor, &(facet_event){.kind = FACET_EVENT_ITERATION,
                                   .phase = FACET_PHASE_SOLVE,
                                   .iteration = iteration,
                                   .residual = residual});
}

/* The time less all that was counted: it stands still while a phase runs inside another. */
static double seconds_outside(const struct base_timers *timers) {
    double seconds = base_seconds();
    for (int i = 0; timers != NULL && i < FACET_N_PHASES; i++) seconds -= timers->seconds[i];
    return seconds;
}

double base_phase_begin(const struct base_timers *timers, const struct base_monitor *monitor,
                        facet_phase phase) {
    report(monitor, &(facet_event){.kind = FACET_EVENT_BEGIN, .phase = phase});
    return seconds_outside(timers);
}

void base_phase_end(struct base_timers *timers, const struct base_monitor *monitor, facet_phase phase,
                    double begin) {
    double seconds = seconds_outside(timers) - begin;
    if (seconds < 0.0) seconds = 0.0; /* of rounding */
    if (timers != NULL) timers->seconds[phase] += seconds;
    report(monitor, &(facet_event){.kind = FACET_EVENT_END, .phase = phase, .seconds = seconds});
}
