/* What is private to src/expr: the operations, the program that a text is compiled to, and its evaluation.
 *
 * A program is a list of nodes in evaluation order; every node is an operation whose arguments are earlier
 * nodes, and the last one is the result. Equal nodes exist once. Over a block of points a node is a jet: the
 * value, up to three first derivatives and up to six second ones, each a row of numbers, one per point. Which
 * derivatives of a node can differ from zero is known when it is made, and only those are stored and
 * computed.
 */
#ifndef FACET_EXPR_PROGRAM_H
#define FACET_EXPR_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "expr/expr.h"

#define EXPR_MAX_BYTES 65536 /* of a text */
#define EXPR_MAX_DEPTH 200   /* of nested parentheses, signs, powers and conditionals */
#define EXPR_BLOCK     256   /* points evaluated at once, at most */

enum op {
    OP_NUMBER,     /* constant */
    OP_COORDINATE, /* x, y, z: constant is 0, 1, 2; nx, ny, nz: 3, 4, 5 */
    /* of one argument */
    OP_NEGATE,
    OP_NOT,
    OP_SIN,
    OP_COS,
    OP_TAN,
    OP_ASIN,
    OP_ACOS,
    OP_ATAN,
    OP_SINH,
    OP_COSH,
    OP_TANH,
    OP_EXP,
    OP_LOG,
    OP_LOG10,
    OP_SQRT,
    OP_ABS,
    OP_SIGN,
    OP_FLOOR,
    OP_CEIL,
    OP_ERF,
    OP_STEP,
    OP_INTEGER_POWER,     /* a^constant, the constant a small integer */
    OP_CONSTANT_EXPONENT, /* a^constant */
    OP_CONSTANT_BASE,     /* constant^a */
    /* of two arguments */
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_POWER,
    OP_ATAN2,
    OP_HYPOT,
    OP_MOD,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_AND,
    OP_OR,
    /* of three arguments: a != 0 ? b : c */
    OP_SELECT,
    N_OPS,
    /* only asked for; program_apply makes conditionals of them */
    OP_MIN,
    OP_MAX
};

/* Which second partial derivatives of f(a, b) can differ from zero; OP_FLAT: the first ones are zero as well.
 */
enum { OP_AA = 1, OP_AB = 2, OP_BB = 4, OP_FLAT = 8 };

struct op_info {
    const char *name; /* as the user wrote it */
    int n_arguments;
    int bends; /* OP_AA | ... */
};
extern const struct op_info op_table[N_OPS];

/* f(a), f', f'' at n <= EXPR_BLOCK points; order 0, 1, 2 says how far. k is the node's constant. */
void op_unary(enum op op, double k, int order, int n, const double *a, double *f, double *fa, double *faa);
/* f(a, b) and in d the partial derivatives f_a, f_b (order 1), f_aa, f_ab, f_bb (order 2). */
void op_binary(enum op op, int order, int n, const double *a, const double *b, double *f, double *const d[5]);

struct node {
    enum op op;
    int argument[3];
    double constant;
    int column; /* in the text, from 1 */
    int varies; /* depends on x, y, z or the normal */
    int first;  /* bit i: the derivative by coordinate i can differ from zero */
    int second; /* bit expr_pair[i][j]: the same for the second derivatives */
    int slot;   /* where its jet lives during an evaluation */
    int mark, chain;
};

#define PROGRAM_BUCKETS 512
struct program {
    struct node *nodes;
    int n_nodes, capacity;
    int n_slots;
    int bucket[PROGRAM_BUCKETS]; /* while building: 1 + the last node with this hash; 0: none */
};

/* Position of (i, j) among the six second derivatives xx xy xz yy yz zz. */
extern const int expr_pair[3][3];

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

/* eval.c: one evaluation of a program. */
struct run {
    const struct program *program;
    int dim, order;
    int block; /* points per row of numbers */
    int keep;  /* every node keeps its jet: slots are node numbers */
    double *work;
};
/* order: 0 values, 1 gradients, 2 Hessians as well. */
facet_status run_begin(struct run *run, const struct program *program, int dim, int order, int block,
                       int keep);
void run_end(struct run *run);
/* Evaluates all nodes at n <= block points, x and normals (NULL: zero): n x dim. */
void run_block(struct run *run, int n, const double *x, const double *normals);
/* Rows of a node: its value, derivatives (NULL: zero). */
double *run_value(const struct run *run, int node);
double *run_first(const struct run *run, int node, int i);
double *run_second(const struct run *run, int node, int i, int j);

/* fault.c: why a result is not finite. */
/* The failure of a node with finite arguments of these values; degree: 0 its value, 1 and 2 its derivatives.
 */
facet_status fault_fail(const struct node *node, int degree, double a, double b);
/* Finds the operation to blame for a result that is not finite at the point x, and fails with its name. */
facet_status fault_trace(const struct program *program, int dim, int order, const double *x,
                         const double *normal);

#endif
