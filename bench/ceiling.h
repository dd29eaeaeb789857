/* What the machine can do at most, measured in the run that is judged by it, and how a time is taken on a
 * machine that is shared: the best of many repetitions, rivals in turn. */
#ifndef FACET_BENCH_CEILING_H
#define FACET_BENCH_CEILING_H

#include <stdint.h>

#include "base/status.h"

/* A STREAM triad a = b + s c over arrays that exceed every cache. */
struct triad {
    int64_t n;
    double *a, *b, *c;
};
facet_status triad_create(struct triad *triad);
/* The same over three arrays of `bytes` together, which may fit into a cache. */
facet_status triad_create_bytes(int64_t bytes, struct triad *triad);
void triad_destroy(struct triad *triad);
/* Seconds (ceiling_clock) of one pass with base_threads() threads. */
double triad_run(struct triad *triad);
double triad_repeat(struct triad *triad, int count); /* of so many passes together */
/* Bytes of one pass as STREAM counts them: two arrays read, one written. */
double triad_bytes(const struct triad *triad);

/* Raises *rate to the operations per second of a large DGEMM with base_threads() threads, best of several. On
 * a machine that is shared it is called again and again between what it is to judge. */
facet_status ceiling_dgemm(double *rate);

/* Seconds: with one thread its processor time, which is what a loop costs whoever else is at work; with more
 * the time on the wall. */
double ceiling_clock(void);
/* The middle of n numbers, which are sorted. */
double ceiling_median(int n, double *values);

/* Bytes of the last-level cache that one processor sees. */
int64_t ceiling_cache_bytes(void);

/* Resident memory of the process, in bytes: now, and the most since the last call of ceiling_reset_peak. */
int64_t ceiling_resident_bytes(void);
int64_t ceiling_peak_bytes(void);
void ceiling_reset_peak(void);

#endif
