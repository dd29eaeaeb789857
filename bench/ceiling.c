/* Ceilings of the machine: memory bandwidth, arithmetic, cache size, resident memory. */
#include "bench/ceiling.h"

#include <cblas.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/run.h"

#define REPETITIONS  5
#define DGEMM_SIZE   1536
#define TRIAD_CACHES 4 /* every array of the triad is this many times the last-level cache */

int64_t ceiling_cache_bytes(void) {
    long long kib = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (file != NULL) {
        if (fscanf(file, "%lldK", &kib) != 1) kib = 0;
        fclose(file);
    }
    return (kib > 0 ? kib : 32768) * 1024;
}

double ceiling_clock(void) {
    struct timespec now;
    if (base_threads() > 1) return base_seconds();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double ceiling_median(int n, double *values) {
    qsort(values, (size_t)n, sizeof *values, ascending);
    return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

facet_status triad_create(struct triad *t) {
    return triad_create_bytes(3 * TRIAD_CACHES * ceiling_cache_bytes(), t);
}

facet_status triad_create_bytes(int64_t bytes, struct triad *t) {
    facet_status status = FACET_OK;
    *t = (struct triad){.n = bytes / 3 / (int64_t)sizeof(double)};
    TRY(ALLOC(t->a, t->n));
    TRY(ALLOC(t->b, t->n));
    TRY(ALLOC(t->c, t->n));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < t->n; i++) {
        t->a[i] = 0.0;
        t->b[i] = 1.0;
        t->c[i] = 2.0;
    }
done:
    if (status != FACET_OK) triad_destroy(t);
    return status;
}

void triad_destroy(struct triad *t) {
    base_free(&t->a);
    base_free(&t->b);
    base_free(&t->c);
}

double triad_repeat(struct triad *t, int count) {
    double *restrict a = t->a, begin = ceiling_clock();
    const double *restrict b = t->b, *restrict c = t->c;
    for (int k = 0; k < count; k++) {
#pragma omp parallel for simd num_threads(base_threads()) schedule(static)
        for (int64_t i = 0; i < t->n; i++) a[i] = b[i] + 3.0 * c[i];
        __asm__ volatile("" ::: "memory"); /* every pass is made */
    }
    return ceiling_clock() - begin;
}

double triad_run(struct triad *t) {
    return triad_repeat(t, 1);
}

double triad_bytes(const struct triad *t) {
    return 24.0 * (double)t->n;
}

/* Operations per second of products of size n, best of several. */
static double dgemm_rate(int n, const double *A, const double *B, double *C) {
    double best = 0.0;
    for (int r = 0; r < REPETITIONS; r++) {
        double begin = ceiling_clock();
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, A, n, B, n, 0.0, C, n);
        double now = 2.0 * n * n * n / (ceiling_clock() - begin);
        best = now > best ? now : best;
    }
    return best;
}

facet_status ceiling_dgemm(double *rate) {
    facet_status status = FACET_OK;
    const int n = DGEMM_SIZE;
    double *A = NULL, *B = NULL, *C = NULL;
    TRY(ALLOC(A, n * n));
    TRY(ALLOC(B, n * n));
    TRY(CALLOC(C, n * n));
    for (int i = 0; i < n * n; i++) {
        A[i] = 1.0 / (1 + i % 7);
        B[i] = 1.0 / (1 + i % 5);
    }
    int threads = base_blas_begin_wide();
    for (int size = n; size >= n / 2; size /= 2) {
        double now = dgemm_rate(size, A, B, C);
        *rate = now > *rate ? now : *rate;
    }
    base_blas_end_wide(threads);
done:
    base_free(&A);
    base_free(&B);
    base_free(&C);
    return status;
}

/* A line of the status of this process in bytes; 0 where there is none. */
static int64_t read_status(const char *key) {
    char line[256];
    long long kib = 0;
    size_t length = strlen(key);
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, length) == 0 && sscanf(line + length, ": %lld kB", &kib) == 1) break;
    fclose(file);
    return (int64_t)kib * 1024;
}

int64_t ceiling_resident_bytes(void) {
    return read_status("VmRSS");
}

int64_t ceiling_peak_bytes(void) {
    return read_status("VmHWM");
}

void ceiling_reset_peak(void) {
#ifdef __GLIBC__
    malloc_trim(0); /* what was freed goes back to the system, so that it is seen to be taken again */
#endif
    FILE *file = fopen("/proc/self/clear_refs", "w"); /* 5: forget the peak (Linux) */
    if (file == NULL) return;
    fputs("5", file);
    fclose(file);
}
