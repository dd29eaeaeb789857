/* Entries of a table, from the functions OF(name): ENTRY_ONE(name) and ENTRY_BOTH(name), the latter through
 * functions that take the numbers by void *. */
#define RETURN_NONE
#define RETURN_SUM return
#define RETURN_SUMS
#define ENTRY_ONE(name)                                                                                      \
    { OF(name) }
#define ENTRY_BOTH(name)                                                                                     \
    { name##_f64, name##_f32 }

#define ADAPT_ONE(result, name, parameters, arguments)
#define ADAPT_BOTH(result, name, parameters, arguments)                                                      \
    static inline KERNEL_##result name##_f64 parameters {                                                    \
        RETURN_##result OF(name) arguments;                                                                  \
    }                                                                                                        \
    static inline KERNEL_##result name##_f32 parameters {                                                    \
        RETURN_##result OF(name##_single) arguments;                                                         \
    }
#define KERNEL(result, precisions, name, parameters, arguments)                                              \
    ADAPT_##precisions(result, name, parameters, arguments)
#define REAL void
#include "kernels/kernels.def"
#undef KERNEL
#undef REAL
