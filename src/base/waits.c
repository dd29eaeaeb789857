/* How long OpenMP's threads spin when they wait for each other. Long is right where they have the processors
 * to themselves, and ruins them where they do not: the one that is waited for has no processor, because those
 * that wait hold it. So threads spin until others are seen to want the processors, then give theirs up soon
 * for a while, and spin again to see whether the others are gone: the while is short at first, and doubles as
 * long as they are not. Where more threads want to run than the machine has processors, nobody needs to try.
 *
 * Looking must cost nothing where nobody is. The kernel counts how often it took a processor away from this
 * process, which is cheap to ask for. Only when that number grows is every thread asked how long it had to
 * wait for a processor, which tells a daemon's moment from a neighbour that computes. Two of these threads
 * may also share a processor for a moment while another one is idle. So others want the processors only if
 * there are more threads that want to run than processors, or if the waiting takes half of the time of all
 * threads, as where a group of processes is granted less than the machine has.
 *
 * libgomp has no call for the time of spinning, but spins briefly while more threads are under its hand than
 * there are processors: those of a second team, which sleeps until it is let go. LLVM's runtime has a call.
 */
#include <dirent.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"

#define LOOK_EVERY  0.001 /* seconds */
#define COUNT_EVERY 0.004 /* seconds between two questions to all threads, at least */
#define COUNT_SHARE 0.01  /* of the time, at most, for these questions */
#define CONTESTED   0.3   /* seconds of all threads without a processor in a second */
#define STARVED     0.5   /* of the time of all threads: a share of the machine is all there is */
#define SLICE       0.003 /* seconds that a processor is away, where the system does not tell */
#define PATIENCE    0.1   /* seconds for which processors are given up soon, the first time */
#define MOST        2.0   /* the same when others stay for long */
#define SPINNING    200   /* milliseconds, the default of LLVM's runtime */

extern void kmp_set_blocktime(int milliseconds) __attribute__((weak));

enum { UNKNOWN, LOOKING, LEFT_ALONE };
static atomic_int mode;
static _Atomic double next_look;
static pthread_mutex_t look = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static long taken;                                       /* how often a processor was taken away */
static struct {
    double at, seconds, next; /* when all threads were asked, what they said, and when they may be again */
} count;
static int held;
static int sees_all;                     /* is_crowded knows of the processors that this process has */
static double patience, until, released; /* held until; spinning since */
static sem_t let_go;

/* ------------------------------------------------------------------------------------------ giving up */

static void *hold_a_team(void *unused) {
    int n = 0;
#pragma omp parallel num_threads(omp_get_num_procs() + 1) reduction(+ : n)
    n++;
    while (sem_wait(&let_go) != 0) {
    }
    return unused;
}

/* Nobody waits for the second team to come or to go: on a busy machine that takes long. */
static void hold(int on) {
    pthread_attr_t detached;
    pthread_t holder;
    held = on;
    if (kmp_set_blocktime != NULL) {
        kmp_set_blocktime(on ? 0 : SPINNING);
    } else if (!on) {
        sem_post(&let_go);
    } else if (pthread_attr_init(&detached) == 0) {
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        held = pthread_create(&holder, &detached, hold_a_team, NULL) == 0;
        pthread_attr_destroy(&detached);
    }
}

/* ------------------------------------------------------------------------------------------ looking */

static long times_taken(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Seconds that the process's threads wanted a processor and had none. */
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
    return told ? sum : SLICE * (double)taken;
}

/* Whether more threads want to run on this machine, at this moment, than it has processors. */
static int is_crowded(void) {
    FILE *file = fopen("/proc/loadavg", "r");
    long running = 0;
    if (file == NULL) return 0;
    if (fscanf(file, "%*f %*f %*f %ld", &running) != 1) running = 0;
    fclose(file);
    return running > sysconf(_SC_NPROCESSORS_ONLN);
}

/* Asks all threads; whether they waited for processors since they were asked last. */
static int is_contested(double now) {
    const double before = count.seconds, span = now - count.at;
    count.seconds = seconds_without_processor();
    count.at = now;
    double cost = base_seconds() - now;
    count.next = now + (cost > COUNT_SHARE * COUNT_EVERY ? cost / COUNT_SHARE : COUNT_EVERY);
    const double waited = count.seconds - before;
    return waited > CONTESTED * span &&
           (!sees_all || is_crowded() || waited > STARVED * base_threads() * span);
}

static void look_around(double now) {
    if (held) {
        if (now < until) return;
        until = now + patience;
        if (is_crowded()) return;
        hold(0);
        released = now;
        taken = times_taken();
        return;
    }
    long n = times_taken();
    if (n == taken || now < count.next) return;
    taken = n;
    if (!is_contested(now)) return;
    patience = now - released > patience ? PATIENCE : fmin(2.0 * patience, MOST);
    hold(1);
    until = now + patience;
}

/* Who has said how threads are to wait has his way. */
static int begin(void) {
    static const char *const words[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
    int free = omp_get_num_procs() > 1 && !base_is_limited() && sem_init(&let_go, 0, 0) == 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) free = free && getenv(words[i]) == NULL;
    sees_all = omp_get_num_procs() == sysconf(_SC_NPROCESSORS_ONLN) && access("/proc/loadavg", R_OK) == 0;
    taken = times_taken();
    released = base_seconds();
    if (free) (void)is_contested(released);
    if (free && is_crowded()) {
        hold(1);
        patience = PATIENCE;
        until = released + patience;
    }
    atomic_store(&mode, free ? LOOKING : LEFT_ALONE);
    return free;
}

void base_waits_look(void) {
    if (atomic_load_explicit(&mode, memory_order_relaxed) == LEFT_ALONE) return;
    if (base_seconds_roughly() < atomic_load_explicit(&next_look, memory_order_relaxed) ||
        base_threads() == 1 || omp_in_parallel() || pthread_mutex_trylock(&look) != 0)
        return;
    if (atomic_load(&mode) == LOOKING || begin()) look_around(base_seconds());
    atomic_store(&next_look, base_seconds() + LOOK_EVERY);
    pthread_mutex_unlock(&look);
}
