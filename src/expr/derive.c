/* Value and partial derivatives of every operation, each as one loop over the points of a block. The
 * derivatives of an operation that jumps or has a kink are those of the piece the point is on; abs'(0) = 0.
 */
#include "expr/program.h"

#include <math.h>

const struct op_info op_table[N_OPS] = {
    [OP_NUMBER] = {"number", 0, OP_FLAT},
    [OP_COORDINATE] = {"coordinate", 0, 0},
    [OP_NEGATE] = {"-", 1, 0},
    [OP_NOT] = {"not", 1, OP_FLAT},
    [OP_SIN] = {"sin", 1, OP_AA},
    [OP_COS] = {"cos", 1, OP_AA},
    [OP_TAN] = {"tan", 1, OP_AA},
    [OP_ASIN] = {"asin", 1, OP_AA},
    [OP_ACOS] = {"acos", 1, OP_AA},
    [OP_ATAN] = {"atan", 1, OP_AA},
    [OP_SINH] = {"sinh", 1, OP_AA},
    [OP_COSH] = {"cosh", 1, OP_AA},
    [OP_TANH] = {"tanh", 1, OP_AA},
    [OP_EXP] = {"exp", 1, OP_AA},
    [OP_LOG] = {"log", 1, OP_AA},
    [OP_LOG10] = {"log10", 1, OP_AA},
    [OP_SQRT] = {"sqrt", 1, OP_AA},
    [OP_ABS] = {"abs", 1, 0},
    [OP_SIGN] = {"sign", 1, OP_FLAT},
    [OP_FLOOR] = {"floor", 1, OP_FLAT},
    [OP_CEIL] = {"ceil", 1, OP_FLAT},
    [OP_ERF] = {"erf", 1, OP_AA},
    [OP_STEP] = {"step", 1, OP_FLAT},
    [OP_INTEGER_POWER] = {"^", 1, OP_AA},
    [OP_CONSTANT_EXPONENT] = {"^", 1, OP_AA},
    [OP_CONSTANT_BASE] = {"^", 1, OP_AA},
    [OP_ADD] = {"+", 2, 0},
    [OP_SUBTRACT] = {"-", 2, 0},
    [OP_MULTIPLY] = {"*", 2, OP_AB},
    [OP_DIVIDE] = {"/", 2, OP_AB | OP_BB},
    [OP_POWER] = {"^", 2, OP_AA | OP_AB | OP_BB},
    [OP_ATAN2] = {"atan2", 2, OP_AA | OP_AB | OP_BB},
    [OP_HYPOT] = {"hypot", 2, OP_AA | OP_AB | OP_BB},
    [OP_MOD] = {"mod", 2, 0},
    [OP_LESS] = {"<", 2, OP_FLAT},
    [OP_LESS_EQUAL] = {"<=", 2, OP_FLAT},
    [OP_GREATER] = {">", 2, OP_FLAT},
    [OP_GREATER_EQUAL] = {">=", 2, OP_FLAT},
    [OP_EQUAL] = {"==", 2, OP_FLAT},
    [OP_NOT_EQUAL] = {"!=", 2, OP_FLAT},
    [OP_AND] = {"and", 2, OP_FLAT},
    [OP_OR] = {"or", 2, OP_FLAT},
    [OP_SELECT] = {"if", 3, 0},
};

typedef void unary_function(double k, int order, int n, const double *restrict a, double *restrict f,
                            double *restrict fa, double *restrict faa);
typedef void binary_function(int order, int n, const double *restrict a, const double *restrict b,
                             double *restrict f, double *const *d);

/* A function of one argument x: its value y, first derivative d and second derivative. */
#define UNARY(name, value, slope, bend)                                                                      \
    static void unary_##name(double k, int order, int n, const double *restrict a, double *restrict f,       \
                             double *restrict fa, double *restrict faa) {                                    \
        (void)k;                                                                                             \
        for (int i = 0; order == 0 && i < n; i++) {                                                          \
            const double x = a[i];                                                                           \
            f[i] = (value);                                                                                  \
        }                                                                                                    \
        for (int i = 0; order == 1 && i < n; i++) {                                                          \
            const double x = a[i], y = (value);                                                              \
            f[i] = y;                                                                                        \
            fa[i] = (slope);                                                                                 \
        }                                                                                                    \
        for (int i = 0; order == 2 && i < n; i++) {                                                          \
            const double x = a[i], y = (value), d = (slope);                                                 \
            f[i] = y;                                                                                        \
            fa[i] = d;                                                                                       \
            faa[i] = (bend);                                                                                 \
        }                                                                                                    \
    }

UNARY(negate, -x, -1.0, 0.0)
UNARY(not, isnan(x) ? x : x == 0, 0.0, 0.0)
UNARY(sin, sin(x), cos(x), -y)
UNARY(cos, cos(x), -sin(x), -y)
UNARY(tan, tan(x), 1 + y * y, 2 * y * d)
UNARY(asin, asin(x), 1 / sqrt((1 - x) * (1 + x)), x *d *d *d)
UNARY(acos, acos(x), -1 / sqrt((1 - x) * (1 + x)), x *d *d *d)
UNARY(atan, atan(x), 1 / (1 + x * x), -2 * x * d * d)
UNARY(sinh, sinh(x), cosh(x), y)
UNARY(cosh, cosh(x), sinh(x), y)
UNARY(tanh, tanh(x), 1 / (cosh(x) * cosh(x)), -2 * y * d)
UNARY(exp, exp(x), y, y)
UNARY(log, log(x), 1 / x, -d *d)
UNARY(log10, log10(x), M_LOG10E / x, -d / x)
UNARY(sqrt, sqrt(x), 0.5 / y, -0.5 * d / x)
UNARY(abs, fabs(x), (x > 0) - (x < 0), 0.0)
UNARY(sign, isnan(x) ? x : (x > 0) - (x < 0), 0.0, 0.0)
UNARY(floor, floor(x), 0.0, 0.0)
UNARY(ceil, ceil(x), 0.0, 0.0)
UNARY(erf, erf(x), M_2_SQRTPI *exp(-x *x), -2 * x * d)
UNARY(step, isnan(x) ? x : x >= 0, 0.0, 0.0)
UNARY(constant_exponent, pow(x, k), k *pow(x, k - 1), k *(k - 1) * pow(x, k - 2))
UNARY(constant_base, pow(k, x), log(k) * y, log(k) * d)

/* out = x^m for m >= 0 by repeated squaring, all points at once. */
static void raise_block(int n, const double *restrict x, int m, double *restrict out) {
    double square[EXPR_BLOCK];
    for (int i = 0; i < n; i++) out[i] = 1, square[i] = x[i];
    for (; m > 0; m >>= 1) {
        if (m & 1)
            for (int i = 0; i < n; i++) out[i] *= square[i];
        if (m > 1)
            for (int i = 0; i < n; i++) square[i] *= square[i];
    }
}

/* x^k, k an integer other than 0 and 1. For k >= 2 everything is made from x^(k-2), so that nothing is
 * divided by x. */
static void unary_integer_power(double k, int order, int n, const double *restrict a, double *restrict f,
                                double *restrict fa, double *restrict faa) {
    if (k < 0) {
        raise_block(n, a, (int)-k, f);
        for (int i = 0; i < n; i++) f[i] = 1 / f[i];
        for (int i = 0; order >= 1 && i < n; i++) fa[i] = k * f[i] / a[i];
        for (int i = 0; order == 2 && i < n; i++) faa[i] = (k - 1) * fa[i] / a[i];
    } else if (order == 0) {
        raise_block(n, a, (int)k, f);
    } else {
        raise_block(n, a, (int)k - 2, f);
        for (int i = 0; order == 2 && i < n; i++) faa[i] = k * (k - 1) * f[i];
        for (int i = 0; i < n; i++) fa[i] = k * (f[i] * a[i]);
        for (int i = 0; i < n; i++) f[i] *= a[i] * a[i];
    }
}

/* A function of two arguments x, y: value v and partial derivatives; c is an abbreviation they share. */
#define BINARY(name, value, share, slope_x, slope_y, bend_xx, bend_xy, bend_yy)                              \
    static void binary_##name(int order, int n, const double *restrict a, const double *restrict b,          \
                              double *restrict f, double *const *d) {                                        \
        for (int i = 0; order == 0 && i < n; i++) {                                                          \
            const double x = a[i], y = b[i];                                                                 \
            f[i] = (value);                                                                                  \
        }                                                                                                    \
        if (order == 0) return;                                                                              \
        double *restrict fx = d[0], *restrict fy = d[1];                                                     \
        for (int i = 0; i < n; i++) {                                                                        \
            const double x = a[i], y = b[i], v = (value), c = (share);                                       \
            (void)c;                                                                                         \
            f[i] = v;                                                                                        \
            fx[i] = (slope_x);                                                                               \
            fy[i] = (slope_y);                                                                               \
        }                                                                                                    \
        if (order == 1) return;                                                                              \
        double *restrict fxx = d[2], *restrict fxy = d[3], *restrict fyy = d[4];                             \
        for (int i = 0; i < n; i++) {                                                                        \
            const double x = a[i], y = b[i], v = f[i], c = (share);                                          \
            (void)x, (void)y, (void)v, (void)c;                                                              \
            fxx[i] = (bend_xx);                                                                              \
            fxy[i] = (bend_xy);                                                                              \
            fyy[i] = (bend_yy);                                                                              \
        }                                                                                                    \
    }

/* x - y floor(x / y), with the sign of y; fmod has that of x. */
static inline double floored_mod(double x, double y) {
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static inline double both(double x, double y) {
    return isnan(x) ? x : x == 0 ? 0.0 : isnan(y) ? y : (double)(y != 0);
}

static inline double either(double x, double y) {
    return isnan(x) ? x : x != 0 ? 1.0 : isnan(y) ? y : (double)(y != 0);
}

/* What multiplies log(x) or its powers in a derivative of x^y vanishes faster than they grow, for x -> 0 and
 * exponents above `least`. */
static inline double times_log(double factor, double log_part, double x, double y, double least) {
    return x == 0 && y > least ? 0.0 : factor * log_part;
}

static inline double scaled_power(double factor, double x, double exponent) {
    return factor == 0 ? 0.0 : factor * pow(x, exponent);
}

BINARY(divide, x / y, 1 / y, c, -v *c, 0.0, -c *c, 2 * v * c * c)
BINARY(power, pow(x, y), log(x), scaled_power(y, x, y - 1), times_log(v, c, x, y, 0),
       scaled_power(y *(y - 1), x, y - 2), times_log(pow(x, y - 1), 1 + y * c, x, y, 1),
       times_log(v, c *c, x, y, 0))
BINARY(atan2, atan2(x, y), 1 / (x * x + y * y), y *c, -x *c, -2 * x * y * c * c, (x - y) * (x + y) * c * c,
       2 * x * y * c * c)
BINARY(hypot, hypot(x, y), 1 / v, x *c, y *c, (y * c) * (y * c) * c, -(x *c) * (y * c) * c,
       (x * c) * (x * c) * c)
BINARY(mod, floored_mod(x, y), 0.0, 1.0, rint((v - x) / y), 0.0, 0.0, 0.0)
#define FLAT(name, value) BINARY(name, value, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
FLAT(less, isunordered(x, y) ? NAN : x < y)
FLAT(less_equal, isunordered(x, y) ? NAN : x <= y)
FLAT(greater, isunordered(x, y) ? NAN : x > y)
FLAT(greater_equal, isunordered(x, y) ? NAN : x >= y)
FLAT(equal, isunordered(x, y) ? NAN : x == y)
FLAT(not_equal, isunordered(x, y) ? NAN : x != y)
FLAT(and, both(x, y))
FLAT(or, either(x, y))

/* Sums and products have derivatives that eval.c applies without coefficients; only the values are asked for.
 */
#define VALUE(name, value)                                                                                   \
    static void binary_##name(int order, int n, const double *restrict a, const double *restrict b,          \
                              double *restrict f, double *const *d) {                                        \
        (void)order, (void)d;                                                                                \
        for (int i = 0; i < n; i++) {                                                                        \
            const double x = a[i], y = b[i];                                                                 \
            f[i] = (value);                                                                                  \
        }                                                                                                    \
    }
VALUE(add, x + y)
VALUE(subtract, x - y)
VALUE(multiply, x *y)

static unary_function *const unary_table[N_OPS] = {
    [OP_NEGATE] = unary_negate,
    [OP_NOT] = unary_not,
    [OP_SIN] = unary_sin,
    [OP_COS] = unary_cos,
    [OP_TAN] = unary_tan,
    [OP_ASIN] = unary_asin,
    [OP_ACOS] = unary_acos,
    [OP_ATAN] = unary_atan,
    [OP_SINH] = unary_sinh,
    [OP_COSH] = unary_cosh,
    [OP_TANH] = unary_tanh,
    [OP_EXP] = unary_exp,
    [OP_LOG] = unary_log,
    [OP_LOG10] = unary_log10,
    [OP_SQRT] = unary_sqrt,
    [OP_ABS] = unary_abs,
    [OP_SIGN] = unary_sign,
    [OP_FLOOR] = unary_floor,
    [OP_CEIL] = unary_ceil,
    [OP_ERF] = unary_erf,
    [OP_STEP] = unary_step,
    [OP_INTEGER_POWER] = unary_integer_power,
    [OP_CONSTANT_EXPONENT] = unary_constant_exponent,
    [OP_CONSTANT_BASE] = unary_constant_base,
};

static binary_function *const binary_table[N_OPS] = {
    [OP_ADD] = binary_add,           [OP_SUBTRACT] = binary_subtract,
    [OP_MULTIPLY] = binary_multiply, [OP_DIVIDE] = binary_divide,
    [OP_POWER] = binary_power,       [OP_ATAN2] = binary_atan2,
    [OP_HYPOT] = binary_hypot,       [OP_MOD] = binary_mod,
    [OP_LESS] = binary_less,         [OP_LESS_EQUAL] = binary_less_equal,
    [OP_GREATER] = binary_greater,   [OP_GREATER_EQUAL] = binary_greater_equal,
    [OP_EQUAL] = binary_equal,       [OP_NOT_EQUAL] = binary_not_equal,
    [OP_AND] = binary_and,           [OP_OR] = binary_or,
};

void op_unary(enum op op, double k, int order, int n, const double *a, double *f, double *fa, double *faa) {
    unary_table[op](k, order, n, a, f, fa, faa);
}

void op_binary(enum op op, int order, int n, const double *a, const double *b, double *f,
               double *const d[5]) {
    binary_table[op](order, n, a, b, f, d);
}
