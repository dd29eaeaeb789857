/* The operations of expressions as their users know them: the list of kernels/expression.def. */
#ifndef FACET_DEVICE_OPERATIONS_H
#define FACET_DEVICE_OPERATIONS_H

#include "device/device.h"

struct operation {
    const char *name; /* as the user wrote it */
    int n_arguments;
    int bends; /* EXPRESSION_AA | ..: which second derivatives can differ from zero */
};
extern const struct operation device_operations[N_OPS];

#endif
