/* Which instruction set the kernels of the host run with: the best that the library has and the processor
 * too. The variable FACET_INSTRUCTIONS names a lesser one. Chosen once, because a sum may differ in its last
 * bits between them. */
#if defined __x86_64__
#    include <cpuid.h>
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

struct instructions {
    const char *name;
    int (*are_there)(void);
    const struct kernels *(*kernels)(void);
};

/* CMake names the sets that were compiled (cmake/instructions.cmake), each a table of its own. */
#if defined FACET_SET_x86_64_v3 || defined FACET_SET_x86_64_v4
/* Asked of the processor itself: clang has no name for it before version 17. */
static int has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
static int has_v3(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2") && has_f16c();
}
#endif
#ifdef FACET_SET_x86_64_v4
const struct kernels *kernels_x86_64_v4(void);
static int has_v4(void) {
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif
#ifdef FACET_SET_x86_64_v3
const struct kernels *kernels_x86_64_v3(void);
#endif
#ifdef FACET_SET_x86_64_v1
const struct kernels *kernels_x86_64_v1(void);
#endif
#ifdef FACET_SET_native
const struct kernels *kernels_native(void);
#endif

static int always(void) {
    return 1;
}

/* No vector kernels: a library that has none for this processor runs those of ref, in batches of this size.
 */
static const struct kernels *kernels_none(void) {
    static const struct kernels none = {.lanes = 8};
    return &none;
}

/* The best first. */
static const struct instructions sets[] = {
#ifdef FACET_SET_x86_64_v4
    {"x86-64-v4", has_v4, kernels_x86_64_v4},
#endif
#ifdef FACET_SET_x86_64_v3
    {"x86-64-v3", has_v3, kernels_x86_64_v3},
#endif
#ifdef FACET_SET_x86_64_v1
    {"x86-64", always, kernels_x86_64_v1},
#endif
#ifdef FACET_SET_native
    {"native", always, kernels_native},
#endif
    {"none", always, kernels_none}};
#define N_SETS ((int)(sizeof sets / sizeof sets[0]))

static const struct instructions *chosen;
static const char *not_there; /* what FACET_INSTRUCTIONS names in vain */
static char names[64];        /* of all sets, with commas between them */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void) {
    const char *wanted = getenv("FACET_INSTRUCTIONS");
    int best = 0, i = 0;
#if defined __x86_64__
    __builtin_cpu_init();
#endif
    for (int s = 0; s < N_SETS; s++) {
        if (s > 0) strcat(names, ", ");
        strcat(names, sets[s].name);
    }
    while (!sets[best].are_there()) best++;
    chosen = &sets[best];
    if (wanted == NULL || *wanted == '\0') return;
    while (i < N_SETS && strcmp(sets[i].name, wanted) != 0) i++;
    if (i < N_SETS && sets[i].are_there())
        chosen = &sets[i];
    else
        not_there = wanted;
}

const struct kernels *kernels_simd(void) {
    pthread_once(&once, choose);
    return chosen->kernels();
}

const char *kernels_instructions(const char **refused) {
    pthread_once(&once, choose);
    if (refused != NULL) *refused = not_there;
    return chosen->name;
}

const char *kernels_instruction_sets(void) {
    pthread_once(&once, choose);
    return names;
}
