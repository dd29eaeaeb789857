/* Why a result is not finite: the program is evaluated once more at the one point, every jet is kept, and
 * from the result the way goes down to the operation that made something infinite of finite arguments. */
#include "expr/program.h"

#include <math.h>
#include <stdio.h>

static void describe_power(double base, double exponent, char *text, size_t bytes) {
    if (base == 0)
        snprintf(text, bytes, "0 to the power %g is a division by zero", exponent);
    else if (base < 0 && exponent != rint(exponent))
        snprintf(text, bytes, "%g to the power %g is not a real number", base, exponent);
    else
        snprintf(text, bytes, "overflow in %g^%g", base, exponent);
}

static void describe_value(const struct node *node, double a, double b, char *text, size_t bytes) {
    const char *name = device_operations[node->op].name;
    if (node->op == OP_DIVIDE && b == 0)
        snprintf(text, bytes, "division by zero");
    else if ((node->op == OP_LOG || node->op == OP_LOG10) && a <= 0)
        snprintf(text, bytes, "logarithm of %g", a);
    else if (node->op == OP_SQRT && a < 0)
        snprintf(text, bytes, "square root of %g", a);
    else if (node->op == OP_ASIN || node->op == OP_ACOS)
        snprintf(text, bytes, "%s of %g, which is not between -1 and 1", name, a);
    else if (node->op == OP_POWER)
        describe_power(a, b, text, bytes);
    else if (node->op == OP_INTEGER_POWER || node->op == OP_CONSTANT_EXPONENT)
        describe_power(a, node->constant, text, bytes);
    else if (node->op == OP_CONSTANT_BASE)
        describe_power(node->constant, a, text, bytes);
    else if (node->op == OP_MOD && b == 0)
        snprintf(text, bytes, "remainder of a division by zero");
    else if (node->op == OP_COORDINATE)
        snprintf(text, bytes, "the coordinate %c is not finite", "xyz"[(int)node->constant]);
    else
        snprintf(text, bytes, "overflow in '%s'", name);
}

facet_status fault_fail(const struct node *node, int degree, double a, double b) {
    char text[160];
    const char *order = degree == 2 ? "second derivative" : "derivative",
               *name = device_operations[node->op].name;
    if (degree == 0)
        describe_value(node, a, b, text, sizeof text);
    else if (device_operations[node->op].n_arguments == 1)
        snprintf(text, sizeof text, "'%s' of %g has no finite %s", name, a, order);
    else
        snprintf(text, sizeof text, "'%s' of %g and %g has no finite %s", name, a, b, order);
    return base_fail(FACET_ERROR_INPUT, "column %d: %s", node->column, text);
}

/* The lowest degree (0 value, 1 gradient, 2 Hessian) in which a kept jet is not finite; 3: it is finite. */
static int broken_degree(const struct run *run, int node) {
    if (!isfinite(*run_value(run, node))) return 0;
    for (int i = 0; run->plan.order >= 1 && i < run->plan.dim; i++) {
        const double *derivative = run_first(run, node, i);
        if (derivative && !isfinite(*derivative)) return 1;
    }
    for (int i = 0; run->plan.order == 2 && i < run->plan.dim; i++)
        for (int j = i; j < run->plan.dim; j++) {
            const double *derivative = run_second(run, node, i, j);
            if (derivative && !isfinite(*derivative)) return 2;
        }
    return 3;
}

/* The argument from which a node has what is not finite in it up to `degree`; -1: it is the node's own doing.
 */
static int blame(const struct run *run, int number, int degree) {
    const struct expression_node *node = &run->plan.nodes[number];
    const int *argument = node->argument;
    if (node->op == OP_SELECT) {
        double condition = *run_value(run, argument[0]);
        return isnan(condition) ? argument[0] : argument[condition != 0 ? 1 : 2];
    }
    for (int i = 0; i < device_operations[node->op].n_arguments; i++)
        if (broken_degree(run, argument[i]) <= degree) return argument[i];
    return -1;
}

facet_status fault_trace(const struct program *program, int dim, int order, const double *x,
                         const double *normal) {
    facet_status status = FACET_OK;
    struct run run = {0};
    TRY(run_begin(&run, program, dim, order, 1, 1));
    run_block(&run, 1, x, normal);
    int number = program->n_nodes - 1, degree = broken_degree(&run, number);
    for (int next = number; next >= 0 && degree < 3; next = blame(&run, number, degree)) {
        number = next;
        degree = broken_degree(&run, number);
    }
    const struct node *node = &program->nodes[number];
    double value[2] = {0};
    for (int i = 0; i < device_operations[node->op].n_arguments && i < 2; i++)
        value[i] = *run_value(&run, node->argument[i]);
    (void)fault_fail(node, degree, value[0], value[1]); /* sets the message, to which the place is added */
    char where[128], text[BASE_MESSAGE_BYTES];
    snprintf(text, sizeof text, "%s", base_message());
    status = base_fail(FACET_ERROR_INPUT, "%s at %s", text, expr_point_text(dim, x, 10, where, sizeof where));
done:
    run_end(&run);
    return status;
}

const char *expr_point_text(int dim, const double *x, int digits, char *text, size_t bytes) {
    int length = 0;
    for (int d = 0; d < dim && d < 3; d++)
        length += snprintf(text + length, bytes - (size_t)length, "%s%c=%.*g", d ? ", " : "", "xyz"[d],
                           digits, x[d]);
    return text;
}
