/* What is private to src/expr: the operations, the program that a text is compiled to, and its evaluation.
 *
 * A program is a list of nodes in evaluation order; every node is an operation whose arguments are earlier
 * nodes, and the last one is the result. Equal nodes exist once. Which derivatives of a node can differ from
 * zero is known when it is made, and only those are stored and computed, by the kernel `expression`
 * (kernels/expression.h).
 */
#ifndef FACET_EXPR_PROGRAM_H
#define FACET_EXPR_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "device/device.h"
#include "device/operations.h"
#include "expr/expr.h"

#define EXPR_MAX_BYTES 65536 /* of a text */
#define EXPR_MAX_DEPTH 200   /* of nested parentheses, signs, powers and conditionals */
#define RUN_FEW        4096  /* numbers */
#define EXPR_BLOCK     256   /* points evaluated at once, at most */

/* Only asked for; program_apply makes conditionals of them. All others: kernels/expression.def. */
#define OP_MIN ((enum op)(N_OPS + 1))
#define OP_MAX ((enum op)(N_OPS + 2))

struct node {
    enum op op;
    int argument[3];
    double constant;
    int column;      /* in the text, from 1 */
    int coordinates; /* bit i: depends on coordinate i of x, y, z, nx, ny, nz */
    int leaves;      /* is the result, or taken by a node that depends on more of x, y, z */
    int first;       /* bit i: the derivative by coordinate i can differ from zero */
    int second;      /* bit expression_pair(i, j): the same for the second derivatives */
    int slot;        /* where its jet lives during an evaluation */
    int mark, chain;
};

/* The nodes that depend on the same of the coordinates x, y, z, as a program that takes what others have
 * made; numbers: what its nodes are called in the whole program. */
#define N_STAGES 8
struct stage {
    int n_nodes;
    struct expression_node *code;
    int *numbers;
};

#define PROGRAM_BUCKETS 512
struct program {
    struct node *nodes;
    int n_nodes, capacity;
    int n_slots;
    struct expression_node *code;  /* the same nodes as kernels take them; when finished */
    struct stage stages[N_STAGES]; /* by sets of coordinates, bit i for coordinate i */
    int bucket[PROGRAM_BUCKETS];   /* while building: 1 + the last node with this hash; 0: none */
};

/* Building, in program.c. Each gives back the number of a node. */
facet_status program_number(struct program *program, double value, int column, int *node);
facet_status program_coordinate(struct program *program, int axis, int column, int *node);
/* op of the arguments (as many as it takes), with constants folded. */
facet_status program_apply(struct program *program, enum op op, int column, const int *arguments, int *node);
/* Refuses constants that are not finite, drops what `root` does not need and assigns the slots. */
facet_status program_finish(struct program *program, int root);
void program_free(struct program *program);

/* parse.c: text to program, ready for evaluation. */
facet_status parse_text(const char *text, int n_parameters, const struct expr_parameter *parameters,
                        struct program *program);

/* names.c: functions, reserved words, and what the user may have meant. */
struct function {
    const char *name;
    enum op op;
    int least, most; /* arguments; most < 0: any number */
};
const struct function *names_function(const char *name, size_t length);
facet_status names_check_parameters(int n_parameters, const struct expr_parameter *parameters);
/* The nearest function (call) or name to an unknown one; NULL when none is near. */
const char *names_nearest(const char *name, size_t length, int call, int n_parameters,
                          const struct expr_parameter *parameters);

/* eval.c: one evaluation of a program, on the host. */
struct run {
    struct expression_plan plan;
    double *work; /* NULL: run_end has nothing to do */
    _Alignas(
        64) double few[RUN_FEW]; /* work of a few points, which comes and goes too often to be allocated */
};
/* order: 0 values, 1 gradients, 2 Hessians as well. */
/* block: points of a row of numbers. keep: every node keeps its jet. */
facet_status run_begin(struct run *run, const struct program *program, int dim, int order, int block,
                       int keep);
void run_end(struct run *run);
/* Evaluates all nodes at n <= block points, x and normals (NULL: zero): n x dim. */
void run_block(struct run *run, int n, const double *x, const double *normals);
/* Rows of a node: its value, derivatives (NULL: zero). */
double *run_value(const struct run *run, int node);
double *run_first(const struct run *run, int node, int i);
double *run_second(const struct run *run, int node, int i, int j);
/* The value of an operation whose arguments are numbers. */
double run_numbers(enum op op, double constant, const double *arguments);

/* grid.c: values on grids. */
facet_status stages_create(struct program *program); /* of a program that is finished otherwise */
void stages_free(struct program *program);
facet_status grid_eval(const struct program *program, const struct expr_grid *grid, double *values);

/* expr.c: true when all numbers are finite. */
int expr_row_is_finite(int n, const double *row);

/* fault.c: why a result is not finite. */
/* The failure of a node with finite arguments of these values; degree: 0 its value, 1 and 2 its derivatives.
 */
facet_status fault_fail(const struct node *node, int degree, double a, double b);
/* Finds the operation to blame for a result that is not finite at the point x, and fails with its name. */
facet_status fault_trace(const struct program *program, int dim, int order, const double *x,
                         const double *normal);

#endif
