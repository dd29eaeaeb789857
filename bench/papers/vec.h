/* Eight numbers that lie together: the unit of the loops inside cells. The compiler splits it where registers
 * are narrower. */
#ifndef FACET_BENCH_PAPERS_VEC_H
#define FACET_BENCH_PAPERS_VEC_H

#include <string.h>

#define VEC 8
typedef double vec __attribute__((vector_size(VEC * sizeof(double))));

static inline vec vec_load(const double *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}
static inline void vec_put(double *to, vec v) {
    memcpy(to, &v, sizeof v);
}
/* The first n only. */
static inline void vec_store(int n, double *to, vec v) {
    if (n >= VEC)
        memcpy(to, &v, sizeof v);
    else if (n >= VEC / 2) {
        memcpy(to, &v, sizeof v / 2);
        for (int i = VEC / 2; i < n; i++) to[i] = v[i];
    } else
        for (int i = 0; i < n; i++) to[i] = v[i];
}
static inline double vec_sum(vec v) {
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}
/* n, rounded up to whole vectors. */
static inline int vec_padded(int n) {
    return (n + VEC - 1) / VEC * VEC;
}

#endif
