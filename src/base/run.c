/* Threads, interruption, clock and monitor. */
#include "base/run.h"

#include <omp.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "base/memory.h"

/* Points that one thread does alone. */
#define SMALL_LOOP  50000 /* waking 2 threads takes 15 microseconds, 16 take 40 */
#define SMALL_AWAKE 10000 /* where threads spin, 2 take 1 microsecond, 16 take 5 */

static atomic_int n_threads;
static _Thread_local struct base_call *here;

/* OpenBLAS exports it; another BLAS may not. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

int base_threads(void) {
    if (!BASE_HAS_OPENMP) return 1;
    int n = here != NULL && here->threads > 0 ? here->threads : atomic_load(&n_threads);
    if (n > 0) return n;
    n = omp_get_max_threads();
    return n > 0 ? n : 1;
}

int base_threads_for(int64_t points) {
    return points < SMALL_LOOP ? 1 : base_threads();
}

int base_threads_again(int64_t points) {
    return points < SMALL_AWAKE ? 1 : base_threads();
}

void base_set_threads(int n) {
    atomic_store(&n_threads, n > 0 ? n : 0);
}

static pthread_mutex_t wide = PTHREAD_MUTEX_INITIALIZER;

static void set_blas_threads(int n) {
    if (openblas_set_num_threads != NULL) openblas_set_num_threads(n);
}

void base_blas_narrow(void) {
    set_blas_threads(1);
}

/* Where a new thread of OpenBLAS cannot have its buffer, it asks for ever. */
int base_blas_begin_wide(void) {
    int n = base_threads();
    if (n == 1 || base_is_limited()) return 1;
    pthread_mutex_lock(&wide);
    set_blas_threads(n);
    return n;
}

void base_blas_end_wide(int n) {
    if (n == 1) return;
    set_blas_threads(1);
    pthread_mutex_unlock(&wide);
}

/* ------------------------------------------------------------------------------------------ interrupts */

/* Of all contexts: how many there were, the last that was taken back, and the last that anyone obeyed. */
static atomic_uint interrupts, taken_back, settled;

static int is_after(unsigned a, unsigned b) {
    return (int)(a - b) > 0;
}

static void advance(atomic_uint *counter, unsigned to) {
    unsigned from = atomic_load(counter);
    while (is_after(to, from) && !atomic_compare_exchange_weak(counter, &from, to)) {
    }
}

void facet_interrupt(void) {
    atomic_fetch_add(&interrupts, 1);
}

void facet_interrupt_clear(void) {
    unsigned now = atomic_load(&interrupts);
    advance(&taken_back, now);
    advance(&settled, now);
}

void base_owner_init(struct base_owner *owner) {
    atomic_init(&owner->threads, 0);
    atomic_init(&owner->interrupts, 0);
    atomic_init(&owner->obeyed[0], atomic_load(&settled));
    atomic_init(&owner->obeyed[1], 0);
}

void base_owner_interrupt(struct base_owner *owner) {
    atomic_fetch_add(&owner->interrupts, 1);
}

void base_call_begin(struct base_call *call, struct base_owner *owner, const struct base_monitor *monitor,
                     int threads) {
    call->owner = owner;
    call->monitor = monitor;
    call->told = base_seconds();
    call->phase = here != NULL ? here->phase : FACET_PHASE_SETUP;
    call->threads = threads > 0 ? threads : atomic_load(&owner->threads);
    for (int i = 0; i < 2; i++) call->obeyed[i] = atomic_load(&owner->obeyed[i]);
    call->outer = here;
    call->team = NULL;
    here = call;
}

facet_status base_call_end(struct base_call *call, facet_status status) {
    here = call->outer;
    if (status == FACET_INTERRUPTED) {
        unsigned now = atomic_load(&interrupts);
        advance(&settled, now);
        advance(&call->owner->obeyed[0], now);
        advance(&call->owner->obeyed[1], atomic_load(&call->owner->interrupts));
    }
    return status;
}

const struct base_call *base_call_here(void) {
    return here;
}

facet_status base_check_interrupt_of(const struct base_call *call) {
    unsigned now = atomic_load(&interrupts);
    int stop = is_after(now, atomic_load(&taken_back));
    if (call != NULL)
        stop = (stop && is_after(now, call->obeyed[0])) ||
               is_after(atomic_load(&call->owner->interrupts), call->obeyed[1]);
    return stop ? base_fail(FACET_INTERRUPTED, "interrupted") : FACET_OK;
}

/* Seconds of silence after which the monitor is told that the call goes on. */
#define SILENCE 0.1

static void report(const struct base_monitor *monitor, const facet_event *event) {
    if (monitor == NULL || monitor->call == NULL) return;
    monitor->call(monitor->user, event);
    if (here != NULL) here->told = base_seconds();
}

void base_tell(void) {
    if (here != NULL && here->monitor != NULL && here->monitor->call != NULL &&
        base_seconds_roughly() - here->told >= SILENCE)
        report(here->monitor, &(facet_event){.kind = FACET_EVENT_TICK, .phase = (facet_phase)here->phase});
}

facet_status base_check_interrupt(void) {
    base_waits_look();
    base_tell();
    return base_check_interrupt_of(here);
}

facet_status base_look(void) {
    return here != NULL ? base_check_interrupt() : FACET_OK;
}

/* ------------------------------------------------------------------------------------------ clock */

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double base_seconds(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

double base_seconds_roughly(void) {
#ifdef CLOCK_MONOTONIC_COARSE
    return seconds_of(CLOCK_MONOTONIC_COARSE);
#else
    return base_seconds();
#endif
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
    base_waits_look();
    if (here != NULL) here->phase = (int)phase;
    report(monitor, &(facet_event){.kind = FACET_EVENT_BEGIN, .phase = phase});
    return seconds_outside(timers);
}

void base_phase_end(struct base_timers *timers, const struct base_monitor *monitor, facet_phase phase,
                    double begin) {
    double seconds = seconds_outside(timers) - begin;
    if (seconds < 0.0) seconds = 0.0; /* of rounding */
    if (timers != NULL) {
        timers->seconds[phase] += seconds;
        timers->peak_bytes[phase] = (double)base_peak_resident_bytes();
    }
    report(monitor, &(facet_event){.kind = FACET_EVENT_END, .phase = phase, .seconds = seconds});
}
