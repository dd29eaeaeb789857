/* Expressions in x, y, z and named parameters, with exact first and second derivatives.
 *
 * Grammar: numbers (1, 2.5e-3), names, + - * / ^ (right-associative; -2^2 = -4), parentheses, comparisons
 * < <= > >= == != (1 or 0), `and`, `or`, `not` (also && || !), conditionals `if(c, a, b)` and `c ? a : b`, and calls
 *   sin cos tan asin acos atan atan2 sinh cosh tanh exp log log10 sqrt abs sign min max pow floor ceil erf hypot step mod
 * Constants: pi, e. Everything is evaluated over many points at once in blocks, by one pass over a short program.
 *
 * A compiled expression is immutable: many threads may evaluate it at once.
 */
#ifndef FACET_EXPR_EXPR_H
#define FACET_EXPR_EXPR_H

#include "base/status.h"

struct expr;

struct expr_parameter {
    const char *name;
    double value;
};

/* On failure the message says the column, e.g. "column 7: unknown name 'xx'; did you mean 'x'?". Parameters may not hide
 * x, y, z, constants or functions. */
facet_status expr_compile(const char *text, int n_parameters, const struct expr_parameter *parameters,
                          struct expr **expr);
void expr_destroy(struct expr **expr);
const char *expr_text(const struct expr *expr);
/* True when the value does not depend on x, y, z; then *value (or NULL) receives it. */
int expr_is_constant(const struct expr *expr, double *value);

/* x: n_points x dim (missing coordinates are 0). values: n_points. gradients (or NULL): n_points x dim.
 * hessians (or NULL): n_points x dim x dim, symmetric; needs gradients. A value or derivative that is not finite is a
 * FACET_ERROR_INPUT whose message names the operation (division by zero, logarithm of -1, ...), the column and the point.
 * Branches of conditionals that are not taken may be anything. */
facet_status expr_eval(const struct expr *expr, int n_points, int dim, const double *x, double *values,
                       double *gradients, double *hessians);

#endif
