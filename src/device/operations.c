/* The table of operations. */
#include "device/operations.h"

const struct operation device_operations[N_OPS] = {
#define OP(name, text, n_arguments, bends) {text, n_arguments, bends},
#include "kernels/expression.def"
#undef OP
};
