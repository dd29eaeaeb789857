/* How many threads a parallel loop has, and no more, so that kernels need to know no more. */
#ifndef FACET_BASE_THREADS_H
#define FACET_BASE_THREADS_H

#include <stdint.h>

/* Threads of every parallel loop: `num_threads(base_threads())`, those of the public call that is under way
 * in this thread (struct base_call), or else of the process. At least 1. */
int base_threads(void);
/* The same for a loop over `points` (of about a nanosecond each or more): 1 where that is so little that the
 * threads would wait for each other longer than they work, most of all on a machine that others use too. */
int base_threads_for(int64_t points);
/* The same for kernels that iterations call over and over, `points` from one barrier to the next: their
 * threads are awake as a rule, so that less is worth it. */
int base_threads_again(int64_t points);
#define BASE_MAX_THREADS 4096 /* that can be asked for */
/* A build without OpenMP has one thread, whatever is asked for. */
#ifdef _OPENMP
#    define BASE_HAS_OPENMP 1
#else
#    define BASE_HAS_OPENMP 0
#endif
/* Of the process; 0: as many as it may use. */
void base_set_threads(int n);

#endif
