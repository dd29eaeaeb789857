/* Which instruction set the kernels of the host run with: the best that the library has and the processor
 * too. The variable FACET_INSTRUCTIONS names a lesser one. Chosen once, because a sum may differ in its last
 * bits between them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

struct instructions {
    const char *name;
    int (*are_there)(void);
    const struct kernels *(*kernels)(void);
};

static int always(void) {
    return 1;
}

#ifdef FACET_ISAS_X86_64
const struct kernels *kernels_x86_64_v1(void);
const struct kernels *kernels_x86_64_v3(void);
const struct kernels *kernels_x86_64_v4(void);

static int has_v3(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
}
static int has_v4(void) {
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static const struct instructions sets[] = {{"x86-64-v4", has_v4, kernels_x86_64_v4},
                                           {"x86-64-v3", has_v3, kernels_x86_64_v3},
                                           {"x86-64", always, kernels_x86_64_v1}};
#    define KNOWN "x86-64-v4, x86-64-v3, x86-64"
#elif defined(FACET_HAVE_SIMD)
const struct kernels *kernels_native(void);
static const struct instructions sets[] = {{"native", always, kernels_native}};
#    define KNOWN "native"
#else
static const struct instructions sets[] = {{"none", always, NULL}};
#    define KNOWN "none"
#endif
#define N_SETS ((int)(sizeof sets / sizeof sets[0]))

static const struct instructions *chosen;
static const char *not_there; /* what FACET_INSTRUCTIONS names in vain */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void) {
    const char *wanted = getenv("FACET_INSTRUCTIONS");
    int best = 0, i = 0;
#ifdef FACET_ISAS_X86_64
    __builtin_cpu_init();
#endif
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
    return KNOWN;
}
