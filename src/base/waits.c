/* How long OpenMP's threads spin when they wait for each other. Long is right where they have the processors
 * to themselves, and ruins them where they do not: the one that is waited for has no processor, because those
 * that wait hold it. libgomp has no call for it, but spins briefly while more threads are under its hand than
 * there are processors: those of a second team, which sleeps until it is let go. So the second team is there
 * while threads of this process that could run are seen to wait for a processor, and not otherwise. */
#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/run.h"

#define LOOK_EVERY 0.02 /* seconds */
#define LOOK_SHARE 0.01 /* of the time, at most, for looking */
#define CONTESTED  0.3  /* seconds of all threads without a processor in a second */
#define CALM       0.15
#define LOOKS      2 /* in a row that agree: a start or a write disturbs one */

/* LLVM's runtime has a call. */
extern void kmp_set_blocktime(int milliseconds) __attribute__((weak));

static atomic_int enabled; /* -1: the system does not tell, and the second team stays */
static pthread_mutex_t look = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static double next_look, last_look, last_delay;
static int tendency; /* looks in a row that found the processors contested, or, negative, ours */
static int held;
static pthread_t holder;
static sem_t made, let_go;

/* ------------------------------------------------------------------------------------------ the second team
 */

static void wait_for(sem_t *what) {
    while (sem_wait(what) != 0) {
    }
}

static void *hold_a_team(void *unused) {
    int n = 0;
#pragma omp parallel num_threads(omp_get_num_procs() + 1) reduction(+ : n)
    n++;
    sem_post(&made);
    wait_for(&let_go);
    return unused;
}

static void hold(int on) {
    if (on && !held && pthread_create(&holder, NULL, hold_a_team, NULL) == 0) {
        wait_for(&made);
        held = 1;
    } else if (!on && held) {
        sem_post(&let_go);
        pthread_join(holder, NULL);
        held = 0;
    }
}

/* ------------------------------------------------------------------------------------------ looking */

/* Seconds that the process's threads wanted a processor and had none; negative: the system does not tell. */
static double seconds_without_processor(void) {
    DIR *tasks = opendir("/proc/self/task");
    double sum = 0.0;
    int told = 0;
    for (struct dirent *e; tasks != NULL && (e = readdir(tasks)) != NULL;) {
        char path[300];
        double delay;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", e->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue; /* it has ended */
        if (fscanf(file, "%*f %lf", &delay) == 1) {
            sum += 1e-9 * delay;
            told = 1;
        }
        fclose(file);
    }
    if (tasks != NULL) closedir(tasks);
    return told ? sum : -1.0;
}

static void look_around(double now) {
    double delay = seconds_without_processor(), rate = (delay - last_delay) / (now - last_look);
    tendency = rate > CONTESTED ? (tendency > 0 ? tendency : 0) + 1
               : rate < CALM    ? (tendency < 0 ? tendency : 0) - 1
                                : 0;
    if (tendency >= LOOKS)
        hold(1);
    else if (tendency <= -LOOKS)
        hold(0);
    last_delay = delay;
    last_look = base_seconds();
    next_look = last_look + LOOK_EVERY + (last_look - now) / LOOK_SHARE;
}

void base_waits_look(void) {
    if (atomic_load_explicit(&enabled, memory_order_relaxed) <= 0 || base_threads() == 1 ||
        omp_in_parallel() || pthread_mutex_trylock(&look) != 0)
        return;
    double now = base_seconds();
    if (now >= next_look) look_around(now);
    pthread_mutex_unlock(&look);
}

void facet_share_processors(void) {
    if (getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL || base_is_limited()) return;
    if (kmp_set_blocktime != NULL) {
        kmp_set_blocktime(0);
        return;
    }
    pthread_mutex_lock(&look);
    if (atomic_load(&enabled) == 0 && omp_get_num_procs() > 1 && sem_init(&made, 0, 0) == 0 &&
        sem_init(&let_go, 0, 0) == 0) {
        last_look = base_seconds();
        next_look = last_look + LOOK_EVERY;
        last_delay = seconds_without_processor();
        if (last_delay < 0.0) hold(1);
        atomic_store(&enabled, last_delay < 0.0 ? -1 : 1);
    }
    pthread_mutex_unlock(&look);
}
