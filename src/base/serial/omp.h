/* OpenMP's functions, as far as facet calls them, for a build without OpenMP: one thread. The folder of this
 * header is on the path of such a build alone. */
#ifndef FACET_BASE_SERIAL_OMP_H
#define FACET_BASE_SERIAL_OMP_H

#include <stddef.h>

static inline int omp_get_thread_num(void) {
    return 0;
}

static inline int omp_get_num_threads(void) {
    return 1;
}

static inline int omp_get_max_threads(void) {
    return 1;
}

static inline int omp_get_num_procs(void) {
    return 1;
}

static inline int omp_in_parallel(void) {
    return 0;
}

static inline void omp_set_num_threads(int n) {
    (void)n;
}

/* CHOLMOD may have OpenMP all the same. Its runtime is in the process then, and is told. */
extern int omp_get_max_active_levels(void) __attribute__((weak));
extern void omp_set_max_active_levels(int n) __attribute__((weak));

static inline int serial_get_levels(void) {
    return omp_get_max_active_levels != NULL ? omp_get_max_active_levels() : 1;
}

static inline void serial_set_levels(int n) {
    if (omp_set_max_active_levels != NULL) omp_set_max_active_levels(n);
}

#define omp_get_max_active_levels serial_get_levels
#define omp_set_max_active_levels serial_set_levels

#endif
