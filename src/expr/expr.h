/* Expressions in x, y, z, the components nx, ny, nz of a normal and named parameters, with exact first and
 * second derivatives.
 *
 * Grammar, from the loosest to the tightest binding:
 *     c ? a : b              from right to left; if(c, a, b) is the same
 *     or ||
 *     and &&                 the right side of `or` and `and` counts only where the left one does not decide
 *     not !                  not x > 0 is not (x > 0)
 *     < <= > >= == !=        1 or 0; they do not chain: write 0 < x and x < 1
 *     + -                    from left to right
 *     * /                    from left to right
 *     + - (signs)            -2^2 = -4
 *     ^                      from right to left: 2^3^2 = 2^9; the exponent may have a sign: 2^-1
 *     numbers (1, 2.5e-3), names (x, y, z, nx, ny, nz, pi, e, parameters), parentheses, and calls of
 *         sin cos tan asin acos atan atan2 sinh cosh tanh exp log log10 sqrt abs sign min max pow
 *         floor ceil erf hypot step mod
 *
 * A condition holds when it is not 0. min and max take two arguments or more. step(a) is 1 for a >= 0, else
 * 0. mod(a, b) = a - b floor(a/b) has the sign of b. atan2(a, b) is the angle of the point (b, a).
 *
 * t is the time: 0, unless a parameter of that name says another.
 *
 * Where a function jumps or has a kink, its derivatives are those of the piece that gives the value: of the
 * branch taken, of the first argument when min or max have equal ones, 0 for floor, ceil, sign, step and
 * comparisons, and abs'(0) = 0. Powers with a constant integer exponent are products, for any sign of the
 * base and at 0; 0^0 = 1.
 *
 * Everything is evaluated over many points at once in blocks, by one pass over a short program. A compiled
 * expression is immutable: many threads may evaluate it at once.
 */
#ifndef FACET_EXPR_EXPR_H
#define FACET_EXPR_EXPR_H

#include "device/device.h"

struct expr;

struct expr_parameter {
    const char *name;
    double value;
};

/* On failure the message says the column, e.g. "column 7: unknown name 'xx'; did you mean 'x'?". Parameters
 * may not hide x, y, z, constants or functions; one called nx, ny or nz hides the component of the normal. */
facet_status expr_compile(const char *text, int n_parameters, const struct expr_parameter *parameters,
                          struct expr **expr);
void expr_destroy(struct expr **expr);
const char *expr_text(const struct expr *expr);
/* True when the value depends on parameters alone; then *value (or NULL) receives it. */
int expr_is_constant(const struct expr *expr, double *value);
/* How many coordinates a point must have: 3 when z or nz is used, 2 for y, 1 for x, 0 for a constant. */
int expr_n_coordinates(const struct expr *expr);
int expr_reads_normal(const struct expr *expr);
/* Whether a text that can be compiled uses a name. */
int expr_reads(const char *text, const char *name);

/* x: n_points x dim (missing coordinates are 0). normals: the same, or NULL for zero; they count as constants
 * in derivatives. values: n_points. gradients (or NULL): n_points x dim.
 * hessians (or NULL): n_points x dim x dim, symmetric; needs gradients. A value or derivative that is not
 * finite is a FACET_ERROR_INPUT whose message names the operation (division by zero, logarithm of -1, ...),
 * the column and the point. Branches of conditionals that are not taken may be anything. */
facet_status expr_eval(const struct expr *expr, int n_points, int dim, const double *x, const double *normals,
                       double *values, double *gradients, double *hessians);

/* Products of points on lines: lines[d] has counts[d] of them in direction d < dim; direction 0 is the
 * fastest. */
struct expr_grid {
    int dim, counts[3];
    const double *lines[3];
};
/* Their coordinates, n_points x dim. */
void expr_grid_points(const struct expr_grid *grid, double *points);
/* The values there, as expr_eval makes them to the last bit; what depends on fewer coordinates is computed
 * once for all points that share these. */
facet_status expr_eval_grid(const struct expr *expr, const struct expr_grid *grid, double *values);

/* Of so many points a device works on so many at once. */
int64_t expr_program_block(const struct device *device, int64_t n_points);
/* The program of an expression in the memory of a device, with its room for work: what the kernel
 * tile_expression takes. n_points: how many will be wanted at once, at most. sets: bit i says that what
 * depends on the set i of coordinates (bits) alone is left to lines and planes. */
struct expr_program {
    const struct device *device;
    struct expression_plan plan;
    double *work;
    struct tile_lines lines; /* without values yet, */
    int numbers[TILE_LINES]; /* which are those of these nodes of the whole program */
};
facet_status expr_program_create(const struct expr *expr, const struct device *device, int dim, int order,
                                 unsigned sets, int64_t n_points, struct expr_program *program);
void expr_program_destroy(struct expr_program *program); /* safe on a zeroed struct, and twice */
/* Gives lines and planes their values, at n[d] coordinates x[d] of every direction. */
facet_status expr_program_set_lines(const struct expr *expr, struct expr_program *program, const int n[3],
                                    const double *const x[3]);

/* Function i of expressions, for help, NULL behind the last: its name, and how many arguments it takes; *most
 * < 0: any number. */
const char *expr_function(int i, int *least, int *most);

/* "x=0.5, y=1", for messages; digits: of each number. */
const char *expr_point_text(int dim, const double *x, int digits, char *text, size_t bytes);

#endif
