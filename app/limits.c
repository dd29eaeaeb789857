/* A limit on address space (ulimit -v), which OpenBLAS does not survive: before main it starts a thread for
 * every processor, each with a buffer; later every thread that calls it gets one; and where a buffer cannot
 * be had it asks again, for ever. So the limit is looked at before any library is initialised, and the
 * buffers are taken before anything else takes the addresses. */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/app.h"
#include "base/memory.h"
#include "base/run.h"

#define BUFFER         (140u << 20) /* bytes, of a thread */
#define THREAD         (220u << 20) /* with its stack and its part of the heap */
#define PROGRAM        (200u << 20)
#define MOST_VARIABLES 4096 /* of the environment */

#ifdef __GLIBC__
static void refuse(const char *message) {
    if (write(STDERR_FILENO, message, strlen(message)) >= 0) _exit(FACET_ERROR_MACHINE);
    _exit(FACET_ERROR_MACHINE);
}

/* Whoever has too little stack dies without a word. */
static void look_at_stack(char **environment) {
    static const char *const names[] = {"OMP_STACKSIZE=", "GOMP_STACKSIZE="};
    const char *given[2] = {NULL, NULL}, *message;
    for (char **e = environment; *e != NULL; e++)
        for (int i = 0; i < 2; i++)
            if (strncmp(*e, names[i], strlen(names[i])) == 0) given[i] = *e + strlen(names[i]);
    message = base_small_stack(given);
    if (message == NULL) return;
    if (write(STDERR_FILENO, "facet: ", 7) < 0 || write(STDERR_FILENO, message, strlen(message)) < 0)
        _exit(FACET_ERROR_MACHINE);
    refuse("\n");
}

/* Where the threads before main are what is too much, the program starts once more and asks for one. */
static void look_at_limit(int argc, char **argv, char **environment) {
    static const char refusal[] = "facet: the address space is limited (ulimit -v) to less than 340 MB; the "
                                  "BLAS does not start there\n";
    static const char variable[] = "OPENBLAS_NUM_THREADS=";
    static char one[] = "OPENBLAS_NUM_THREADS=1", *with_one[MOST_VARIABLES];
    struct rlimit limit;
    int64_t count = 0;
    (void)argc;
    look_at_stack(environment);
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    if (limit.rlim_cur < PROGRAM + BUFFER) refuse(refusal);
    for (; environment[count] != NULL; count++)
        if (strncmp(environment[count], variable, sizeof variable - 1) == 0) return; /* someone knows */
    if (limit.rlim_cur / BUFFER > (rlim_t)sysconf(_SC_NPROCESSORS_ONLN) + 1 || count + 2 > MOST_VARIABLES)
        return;
    memcpy(with_one, environment, (size_t)count * sizeof *with_one);
    with_one[count] = one;
    execve("/proc/self/exe", argv, with_one);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int, char **, char **) = look_at_limit;
#endif

/* A product that is large enough for a buffer. */
static void use_blas(double *scratch) {
    const int n = 128;
    double *A = scratch, *B = A + n * n;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, A, n, A, n, 0.0, B, n);
}

/* OpenBLAS exports it; another BLAS may not. Its threads ask for work without a pause for some 25 ms before
 * they sleep, on a processor that ours are to have; they come back when they are needed. */
extern int blas_thread_shutdown_(void) __attribute__((weak));

facet_status app_prepare_blas(void) {
    facet_status status = FACET_OK;
    const int64_t size = 2 * 128 * 128;
    int n = base_threads();
    double *scratch = NULL;
    if (blas_thread_shutdown_ != NULL) (void)blas_thread_shutdown_();
    if (!base_is_limited()) return FACET_OK;
    int fit = (int)fmin(base_available_bytes() / THREAD, n);
    if (fit < n)
        FAIL(
            FACET_ERROR_MACHINE,
            "the address space is limited (ulimit -v), and %.0f MB that are left are too few for %d threads: "
            "each takes %d MB for buffers of the BLAS, stack and heap%s",
            base_available_bytes() / 1048576.0, n, THREAD >> 20,
            fit > 0 ? "; ask for fewer (--threads)" : "");
    TRY(CALLOC(scratch, n * size));
#pragma omp parallel num_threads(n)
    for (int i = 0; i < 8; i++) {
#pragma omp barrier
        use_blas(scratch + omp_get_thread_num() * size);
    }
done:
    base_free(&scratch);
    return status;
}
