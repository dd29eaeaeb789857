/* A program that evaluates an expression, as the kernel `expression` takes it.
 *
 * Nodes stand in the order of evaluation; every node is an operation whose arguments are earlier nodes. Over
 * a block of points a node is a jet: the value, up to three first derivatives (x y z) and up to six second
 * ones (xx xy xz yy yz zz), each a row of `block` numbers, of which only those that can differ from zero are
 * written: `first` and `second` say which. A jet lives in a slot; slots are used again.
 *
 * work: EXPRESSION_SCRATCH rows that belong to nobody, then for every slot 1, 4 or 10 rows by order 0, 1, 2.
 */
#ifndef FACET_KERNELS_EXPRESSION_H
#define FACET_KERNELS_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/everywhere.h"

enum { EXPRESSION_AA = 1, EXPRESSION_AB = 2, EXPRESSION_BB = 4, EXPRESSION_FLAT = 8 };

enum op {
#define OP(name, text, n_arguments, bends) OP_##name,
#include "kernels/expression.def"
#undef OP
    N_OPS
};

#define EXPRESSION_SCRATCH 5

struct expression_node {
    double constant;
    int op; /* enum op */
    int argument[3];
    int first;  /* bit i: the derivative by coordinate i is there */
    int second; /* bit expression_pair(i, j): the same for the second derivatives */
    int slot;
};

struct expression_plan {
    int dim, order; /* order: 0 values, 1 gradients, 2 Hessians as well */
    int block;      /* points of a row */
    int n_nodes;
    int keep;                            /* every node keeps its jet: slots are node numbers */
    const struct expression_node *nodes; /* n_nodes, in the device's memory */
};

/* Of expression.def. */
EVERYWHERE int expression_bends(int op) {
    switch (op) {
#define OP(name, text, n_arguments, bends)                                                                   \
case OP_##name:                                                                                              \
    return bends;
#include "kernels/expression.def"
#undef OP
    default:
        return 0;
    }
}
/* Position of (i, j) among the six second derivatives. */
EVERYWHERE int expression_pair(int i, int j) {
    return i <= j ? i * (5 - i) / 2 + j : j * (5 - j) / 2 + i;
}
/* Rows of a jet. */
EVERYWHERE int expression_jet(int order) {
    return order == 0 ? 1 : order == 1 ? 4 : 10;
}
/* Where a row of a node begins in work: 0 its value, 1 + i and 4 + pair its derivatives. */
EVERYWHERE size_t expression_row(const struct expression_plan *plan, int node, int number) {
    const int slot = plan->keep ? node : plan->nodes[node].slot;
    return ((size_t)EXPRESSION_SCRATCH + (size_t)slot * (size_t)expression_jet(plan->order) +
            (size_t)number) *
           (size_t)plan->block;
}

#endif
