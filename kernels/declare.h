/* Declares the functions of one kind of code, OF(name), which the includer defines: name in double, and
 * name_single in float where a kernel has both precisions. */
#define KERNEL(result, precisions, name, parameters, arguments) KERNEL_##result OF(name) parameters;
#define SCRATCH(name, parameters, arguments)                    int64_t OF(name) parameters;
#define REAL                                                    double
#include "kernels/kernels.def"
#undef KERNEL
#undef REAL
#define DECLARE_ONE(result, name, parameters)
#define DECLARE_BOTH(result, name, parameters) result OF(name) parameters;
#define KERNEL(result, precisions, name, parameters, arguments)                                              \
    DECLARE_##precisions(KERNEL_##result, name##_single, parameters)
#define REAL float
#include "kernels/kernels.def"
#undef KERNEL
#undef REAL
#undef DECLARE_ONE
#undef DECLARE_BOTH
