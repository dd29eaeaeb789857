/* The kernel `expression`, for all kinds of code: operations and the chain rule, each as loops over the
 * points of a block. Included by one file of kernels/ref, kernels/simd and kernels/cuda, where the block of a
 * thread is one point. With a and b the arguments of f, subscripts i, j for coordinates,
 *
 *     f_i  = f_a a_i + f_b b_i
 *     f_ij = f_a a_ij + f_b b_ij + f_aa a_i a_j + f_ab (a_i b_j + a_j b_i) + f_bb b_i b_j
 *
 * where terms with a factor that is zero at every point are left out, so that an infinite partial derivative
 * does not spoil the directions it has nothing to do with. Conditionals copy from the branch taken and
 * compute nothing. The derivatives of an operation that jumps or has a kink are those of the piece the point
 * is on; abs'(0) = 0. */
#include "kernels/expression.h"
#include "kernels/functions.h"

#ifdef __CUDACC__
#    define BODY     static __device__
#    define RESTRICT __restrict__
#    define CHUNK    1
#else
#    define BODY     static
#    define RESTRICT restrict
#    define CHUNK    64
#endif
#define EACH(i) for (int i = 0; i < n; i++)

/* What is evaluated: a plan, n points of it, and where its rows begin. */
struct block {
    const struct expression_plan *plan;
    int n;
    const double *x, *normals;
    double *work;
};

BODY double *row_of_value(const struct block *block, int node) {
    return block->work + expression_row(block->plan, node, 0);
}
/* NULL: zero */
BODY double *row_of_first(const struct block *block, int node, int i) {
    return block->plan->nodes[node].first >> i & 1 ? block->work + expression_row(block->plan, node, 1 + i)
                                                   : NULL;
}
BODY double *row_of_second(const struct block *block, int node, int i, int j) {
    const int pair = expression_pair(i, j);
    return block->plan->nodes[node].second >> pair & 1
               ? block->work + expression_row(block->plan, node, 4 + pair)
               : NULL;
}
BODY double *row_of_scratch(const struct block *block, int i) {
    return block->work + (size_t)i * (size_t)block->plan->block;
}

/* --------------------------------------------------------------------- operations of one argument */

#define UNARY_PARAMETERS                                                                                     \
    double k, int order, int n, const double *RESTRICT a, double *RESTRICT f, double *RESTRICT fa,           \
        double *RESTRICT faa

/* A function of one argument x: its value y, first derivative d and second derivative. */
#define UNARY(name, value, slope, bend)                                                                      \
    BODY void unary_##name(UNARY_PARAMETERS) {                                                               \
        (void)k;                                                                                             \
        if (order == 0) {                                                                                    \
            EACH(i) {                                                                                        \
                const double x = a[i];                                                                       \
                f[i] = (value);                                                                              \
            }                                                                                                \
        } else if (order == 1) {                                                                             \
            EACH(i) {                                                                                        \
                const double x = a[i], y = (value);                                                          \
                f[i] = y;                                                                                    \
                fa[i] = (slope);                                                                             \
            }                                                                                                \
        } else {                                                                                             \
            EACH(i) {                                                                                        \
                const double x = a[i], y = (value), d = (slope);                                             \
                f[i] = y;                                                                                    \
                fa[i] = d;                                                                                   \
                faa[i] = (bend);                                                                             \
            }                                                                                                \
        }                                                                                                    \
    }

FUNCTION double fn_not(double x) {
    const double value = x == 0 ? 1.0 : 0.0;
    return x != x ? x : value;
}
FUNCTION double fn_sign(double x) {
    const double up = x > 0 ? 1.0 : 0.0, value = x < 0 ? -1.0 : up;
    return x != x ? x : value;
}
FUNCTION double fn_kink(double x) { /* of abs; 0 for NaN */
    const double up = x > 0 ? 1.0 : 0.0;
    return x < 0 ? -1.0 : up;
}
FUNCTION double fn_step(double x) {
    const double value = x >= 0 ? 1.0 : 0.0;
    return x != x ? x : value;
}

UNARY(negation, fn_not(x), 0.0, 0.0)
UNARY(asin, fn_asin(x), 1 / sqrt((1 - x) * (1 + x)), x *d *d *d)
UNARY(acos, fn_acos(x), -1 / sqrt((1 - x) * (1 + x)), x *d *d *d)
UNARY(atan, fn_atan(x), 1 / (1 + x * x), -2 * x * d * d)
UNARY(sinh, fn_sinh(x), fn_cosh(x), y)
UNARY(cosh, fn_cosh(x), fn_sinh(x), y)
UNARY(tanh, fn_tanh(x), 1 / (fn_cosh(x) * fn_cosh(x)), -2 * y * d)
UNARY(exp, fn_exp(x), y, y)
UNARY(log, fn_log(x), 1 / x, -d *d)
UNARY(log10, fn_log10(x), LOG10_E_1 / x, -d / x)
UNARY(sqrt, sqrt(x), 0.5 / y, -0.5 * d / x)
UNARY(abs, fn_abs(x), fn_kink(x), 0.0)
UNARY(sign, fn_sign(x), 0.0, 0.0)
UNARY(floor, fn_floor(x), 0.0, 0.0)
UNARY(ceil, fn_ceil(x), 0.0, 0.0)
UNARY(erf, fn_erf(x), TWO_BY_ROOT_PI *fn_exp(-x *x), -2 * x * d)
UNARY(step, fn_step(x), 0.0, 0.0)

/* Angles beyond FAR are done again, one by one, where there are any. */
BODY int any_far(int n, const double *a) {
    int n_far = 0;
    EACH(i) n_far += fn_is_far(a[i]);
    return n_far > 0;
}
#define FAR_ONES(i)                                                                                          \
    if (any_far(n, a)) EACH(i) if (fn_is_far(a[i]))

BODY void unary_sin(UNARY_PARAMETERS) {
    (void)k;
    if (order == 0) {
        EACH(i) f[i] = fn_sin(a[i]);
        FAR_ONES(i) f[i] = sin_by(angle_far(fn_abs(a[i])), a[i]);
        return;
    }
    EACH(i) {
        const double x = a[i];
        const struct angle angle = angle_near(fn_abs(x));
        f[i] = sin_by(angle, x);
        fa[i] = cos_by(angle, x);
    }
    FAR_ONES(i) {
        const struct angle angle = angle_far(fn_abs(a[i]));
        f[i] = sin_by(angle, a[i]);
        fa[i] = cos_by(angle, a[i]);
    }
    if (order == 2) EACH(i) faa[i] = -f[i];
}

BODY void unary_cos(UNARY_PARAMETERS) {
    (void)k;
    if (order == 0) {
        EACH(i) f[i] = fn_cos(a[i]);
        FAR_ONES(i) f[i] = cos_by(angle_far(fn_abs(a[i])), a[i]);
        return;
    }
    EACH(i) {
        const double x = a[i];
        const struct angle angle = angle_near(fn_abs(x));
        f[i] = cos_by(angle, x);
        fa[i] = -sin_by(angle, x);
    }
    FAR_ONES(i) {
        const struct angle angle = angle_far(fn_abs(a[i]));
        f[i] = cos_by(angle, a[i]);
        fa[i] = -sin_by(angle, a[i]);
    }
    if (order == 2) EACH(i) faa[i] = -f[i];
}

BODY void unary_tan(UNARY_PARAMETERS) {
    (void)k;
    EACH(i) f[i] = fn_tan(a[i]);
    FAR_ONES(i) f[i] = tan_by(angle_far(fn_abs(a[i])), a[i]);
    if (order >= 1) EACH(i) fa[i] = 1 + f[i] * f[i];
    if (order == 2) EACH(i) faa[i] = 2 * f[i] * fa[i];
}

/* x^y, of which the logarithms are known; constant y where `y` is NULL. */
BODY void power_row(int n, const double *RESTRICT hi, const double *RESTRICT lo, const double *RESTRICT x,
                    const double *RESTRICT y, double constant, double *RESTRICT f) {
    int n_special = 0;
    if (y != NULL) {
        EACH(i) {
            const struct pair l = {hi[i], lo[i]};
            f[i] = pow_plain(l, y[i]);
        }
        EACH(i) n_special += !pow_is_plain(x[i], y[i]);
        if (n_special == 0) return;
        EACH(i) if (!pow_is_plain(x[i], y[i])) f[i] = fn_pow(x[i], y[i]);
    } else {
        EACH(i) {
            const struct pair l = {hi[i], lo[i]};
            f[i] = pow_plain(l, constant);
        }
        EACH(i) n_special += !pow_is_plain(x[i], constant);
        if (n_special == 0) return;
        EACH(i) if (!pow_is_plain(x[i], constant)) f[i] = fn_pow(x[i], constant);
    }
}

BODY void log_rows(int n, const double *RESTRICT x, double *RESTRICT hi, double *RESTRICT lo) {
    EACH(i) {
        const struct pair l = log_pair(fn_abs(x[i]));
        hi[i] = l.hi;
        lo[i] = l.lo;
    }
}

BODY void unary_constant_exponent(UNARY_PARAMETERS) {
    double hi[CHUNK], lo[CHUNK];
    for (int j = 0; j < n; j += CHUNK) {
        const int m = n - j < CHUNK ? n - j : CHUNK;
        log_rows(m, a + j, hi, lo);
        power_row(m, hi, lo, a + j, NULL, k, f + j);
        if (order >= 1) power_row(m, hi, lo, a + j, NULL, k - 1, fa + j);
        if (order == 2) power_row(m, hi, lo, a + j, NULL, k - 2, faa + j);
    }
    if (order >= 1) EACH(i) fa[i] = k * fa[i];
    if (order == 2) EACH(i) faa[i] = k * (k - 1) * faa[i];
}

BODY void unary_constant_base(UNARY_PARAMETERS) {
    const struct pair l = log_pair(k);
    const double logarithm = fn_log(k);
    int n_special = 0;
    EACH(i) f[i] = pow_plain(l, a[i]);
    EACH(i) n_special += !pow_is_plain(k, a[i]);
    if (n_special > 0) EACH(i) if (!pow_is_plain(k, a[i])) f[i] = fn_pow(k, a[i]);
    if (order >= 1) EACH(i) fa[i] = logarithm * f[i];
    if (order == 2) EACH(i) faa[i] = logarithm * fa[i];
}

/* out = x^m for m >= 0 by repeated squaring, all points at once. */
BODY void raise_row(int n, const double *RESTRICT x, int m, double *RESTRICT out, double *RESTRICT square) {
    EACH(i) out[i] = 1;
    EACH(i) square[i] = x[i];
    for (; m > 0; m >>= 1) {
        if (m & 1) EACH(i) out[i] *= square[i];
        if (m > 1) EACH(i) square[i] *= square[i];
    }
}

/* x^k, k an integer other than 0 and 1. For k >= 2 everything is made from x^(k-2), so that nothing is
 * divided by x. */
BODY void unary_integer_power(UNARY_PARAMETERS) {
    if (k < 0) {
        raise_row(n, a, (int)-k, f, faa);
        EACH(i) f[i] = 1 / f[i];
        if (order >= 1) EACH(i) fa[i] = k * f[i] / a[i];
        if (order == 2) EACH(i) faa[i] = (k - 1) * fa[i] / a[i];
    } else if (order == 0 && k == 2) {
        EACH(i) f[i] = a[i] * a[i];
    } else if (order == 0) {
        raise_row(n, a, (int)k, f, faa);
    } else {
        raise_row(n, a, (int)k - 2, f, faa);
        if (order == 2) EACH(i) faa[i] = k * (k - 1) * f[i];
        EACH(i) fa[i] = k * (f[i] * a[i]);
        EACH(i) f[i] *= a[i] * a[i];
    }
}

BODY void unary(int op, UNARY_PARAMETERS) {
    switch (op) {
#define CASE(OP, name)                                                                                       \
    case OP_##OP:                                                                                            \
        unary_##name(k, order, n, a, f, fa, faa);                                                            \
        break;
        CASE(NOT, negation)
        CASE(SIN, sin)
        CASE(COS, cos)
        CASE(TAN, tan)
        CASE(ASIN, asin)
        CASE(ACOS, acos)
        CASE(ATAN, atan)
        CASE(SINH, sinh)
        CASE(COSH, cosh)
        CASE(TANH, tanh)
        CASE(EXP, exp)
        CASE(LOG, log)
        CASE(LOG10, log10)
        CASE(SQRT, sqrt)
        CASE(ABS, abs)
        CASE(SIGN, sign)
        CASE(FLOOR, floor)
        CASE(CEIL, ceil)
        CASE(ERF, erf)
        CASE(STEP, step)
        CASE(INTEGER_POWER, integer_power)
        CASE(CONSTANT_EXPONENT, constant_exponent)
        CASE(CONSTANT_BASE, constant_base)
#undef CASE
    }
}

/* -------------------------------------------------------------------- operations of two arguments */

#define BINARY_PARAMETERS                                                                                    \
    int order, int n, const double *RESTRICT a, const double *RESTRICT b, double *RESTRICT f,                \
        double *RESTRICT fx, double *RESTRICT fy, double *RESTRICT fxx, double *RESTRICT fxy,                \
        double *RESTRICT fyy

/* A function of two arguments x, y: value v and partial derivatives; c is an abbreviation they share. */
#define BINARY(name, value, share, slope_x, slope_y, bend_xx, bend_xy, bend_yy)                              \
    BODY void binary_##name(BINARY_PARAMETERS) {                                                             \
        EACH(i) {                                                                                            \
            const double x = a[i], y = b[i];                                                                 \
            f[i] = (value);                                                                                  \
        }                                                                                                    \
        if (order == 0) return;                                                                              \
        EACH(i) {                                                                                            \
            const double x = a[i], y = b[i], v = f[i], c = (share);                                          \
            (void)x, (void)y, (void)v, (void)c;                                                              \
            fx[i] = (slope_x);                                                                               \
            fy[i] = (slope_y);                                                                               \
        }                                                                                                    \
        if (order == 1) return;                                                                              \
        EACH(i) {                                                                                            \
            const double x = a[i], y = b[i], v = f[i], c = (share);                                          \
            (void)x, (void)y, (void)v, (void)c;                                                              \
            fxx[i] = (bend_xx);                                                                              \
            fxy[i] = (bend_xy);                                                                              \
            fyy[i] = (bend_yy);                                                                              \
        }                                                                                                    \
    }

/* x - y floor(x / y), with the sign of y; fmod, which is exact everywhere, has that of x. */
FUNCTION double floored_mod(double x, double y) {
    const double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
FUNCTION double to_integer(double x) {
    const double m = fn_abs(x);
    return m < 0x1p52 ? with_sign((m + 0x1p52) - 0x1p52, x) : x;
}

FUNCTION double both(double x, double y) {
    const double right = y != 0 ? 1.0 : 0.0, known = y != y ? y : right, value = x == 0 ? 0.0 : known;
    return x != x ? x : value;
}
FUNCTION double either(double x, double y) {
    const double right = y != 0 ? 1.0 : 0.0, known = y != y ? y : right, value = x != 0 ? 1.0 : known;
    return x != x ? x : value;
}
FUNCTION double ordered(double x, double y, double holds) {
    const double value = x != x ? FN_NAN : holds;
    return y != y ? FN_NAN : value;
}

/* What multiplies log(x) or its powers in a derivative of x^y vanishes faster than they grow, for x -> 0 and
 * exponents above `least`. */
FUNCTION double times_log(double factor, double log_part, double x, double y, double least) {
    return x == 0 && y > least ? 0.0 : factor * log_part;
}
FUNCTION double scaled_power(double factor, double x, double exponent) {
    return factor == 0 ? 0.0 : factor * fn_pow(x, exponent);
}

/* Its derivatives are its arguments. */
BODY void multiply(int n, const double *RESTRICT a, const double *RESTRICT b, double *RESTRICT f) {
    EACH(i) f[i] = a[i] * b[i];
}
BINARY(divide, x / y, 1 / y, c, -v *c, 0.0, -c *c, 2 * v * c * c)
BINARY(atan2, fn_atan2(x, y), 1 / (x * x + y * y), y *c, -x *c, -2 * x * y * c * c, (x - y) * (x + y) * c * c,
       2 * x * y * c * c)
BINARY(hypot, fn_hypot(x, y), 1 / v, x *c, y *c, (y * c) * (y * c) * c, -(x *c) * (y * c) * c,
       (x * c) * (x * c) * c)
BINARY(mod, floored_mod(x, y), 0.0, 1.0, to_integer((v - x) / y), 0.0, 0.0, 0.0)
#define FLAT(name, value) BINARY(name, value, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
FLAT(less, ordered(x, y, x < y ? 1.0 : 0.0))
FLAT(less_equal, ordered(x, y, x <= y ? 1.0 : 0.0))
FLAT(greater, ordered(x, y, x > y ? 1.0 : 0.0))
FLAT(greater_equal, ordered(x, y, x >= y ? 1.0 : 0.0))
FLAT(equal, ordered(x, y, x == y ? 1.0 : 0.0))
FLAT(not_equal, ordered(x, y, x != y ? 1.0 : 0.0))
FLAT(both, both(x, y))
FLAT(either, either(x, y))

BODY void binary_power(BINARY_PARAMETERS) {
    double hi[CHUNK], lo[CHUNK];
    for (int j = 0; j < n; j += CHUNK) {
        const int m = n - j < CHUNK ? n - j : CHUNK;
        log_rows(m, a + j, hi, lo);
        power_row(m, hi, lo, a + j, b + j, 0, f + j);
    }
    if (order == 0) return;
    EACH(i) {
        const double x = a[i], y = b[i];
        fx[i] = scaled_power(y, x, y - 1);
        fy[i] = times_log(f[i], fn_log(x), x, y, 0);
    }
    if (order == 1) return;
    EACH(i) {
        const double x = a[i], y = b[i], c = fn_log(x);
        fxx[i] = scaled_power(y * (y - 1), x, y - 2);
        fxy[i] = times_log(fn_pow(x, y - 1), 1 + y * c, x, y, 1);
        fyy[i] = times_log(f[i], c * c, x, y, 0);
    }
}

BODY void binary(int op, BINARY_PARAMETERS) {
    switch (op) {
#define CASE(OP, name)                                                                                       \
    case OP_##OP:                                                                                            \
        binary_##name(order, n, a, b, f, fx, fy, fxx, fxy, fyy);                                             \
        break;
        CASE(DIVIDE, divide)
        CASE(POWER, power)
        CASE(ATAN2, atan2)
        CASE(HYPOT, hypot)
        CASE(MOD, mod)
        CASE(LESS, less)
        CASE(LESS_EQUAL, less_equal)
        CASE(GREATER, greater)
        CASE(GREATER_EQUAL, greater_equal)
        CASE(EQUAL, equal)
        CASE(NOT_EQUAL, not_equal)
        CASE(AND, both)
        CASE(OR, either)
#undef CASE
    }
}

/* ------------------------------------------------------------------------------------ the chain rule */

/* A sum of products, term by term, which is all zero before the first. */
struct sum {
    double *out;
    int n, begun;
};

/* Adds p q, where both are there. */
BODY void add2(struct sum *sum, const double *RESTRICT p, const double *RESTRICT q) {
    double *RESTRICT out = sum->out;
    const int n = sum->n;
    if (p == NULL || q == NULL) return;
    if (sum->begun)
        EACH(i) out[i] += p[i] * q[i];
    else
        EACH(i) out[i] = p[i] * q[i];
    sum->begun = 1;
}

/* Adds p q r. */
BODY void add3(struct sum *sum, const double *RESTRICT p, const double *q, const double *r) {
    double *RESTRICT out = sum->out;
    const int n = sum->n;
    if (p == NULL || q == NULL || r == NULL) return;
    if (sum->begun)
        EACH(i) out[i] += p[i] * (q[i] * r[i]);
    else
        EACH(i) out[i] = p[i] * (q[i] * r[i]);
    sum->begun = 1;
}

/* For node f of arguments a and b (b < 0: none); partial derivatives f_a, f_b, f_aa, f_ab, f_bb, NULL for
 * those that are zero everywhere. */
BODY void chain_rule(const struct block *block, int f, int a, int b, const double *const d[5]) {
    const double *ga[3], *gb[3];
    const int dim = block->plan->dim;
    for (int i = 0; i < dim; i++) {
        ga[i] = row_of_first(block, a, i);
        gb[i] = b < 0 ? NULL : row_of_first(block, b, i);
        struct sum sum = {row_of_first(block, f, i), block->n, 0};
        if (sum.out == NULL) continue;
        add2(&sum, d[0], ga[i]);
        add2(&sum, d[1], gb[i]);
    }
    if (block->plan->order < 2) return;
    for (int i = 0; i < dim; i++)
        for (int j = i; j < dim; j++) {
            struct sum sum = {row_of_second(block, f, i, j), block->n, 0};
            if (sum.out == NULL) continue;
            add2(&sum, d[0], row_of_second(block, a, i, j));
            add3(&sum, d[2], ga[i], ga[j]);
            if (b < 0) continue;
            add2(&sum, d[1], row_of_second(block, b, i, j));
            add3(&sum, d[3], ga[i], gb[j]);
            add3(&sum, d[3], ga[j], gb[i]);
            add3(&sum, d[4], gb[i], gb[j]);
        }
}

BODY void unary_node(const struct block *block, int number) {
    const struct expression_node *node = &block->plan->nodes[number];
    const int bends = expression_bends(node->op);
    const int order = node->first ? block->plan->order : 0, a = node->argument[0];
    double *fa = row_of_scratch(block, 0), *faa = row_of_scratch(block, 1);
    unary(node->op, node->constant, order, block->n, row_of_value(block, a), row_of_value(block, number), fa,
          faa);
    const double *const d[5] = {fa, NULL, bends & EXPRESSION_AA ? faa : NULL, NULL, NULL};
    if (order > 0) chain_rule(block, number, a, -1, d);
}

BODY void binary_node(const struct block *block, int number) {
    const struct expression_node *node = &block->plan->nodes[number];
    const int bends = expression_bends(node->op);
    const int order = node->first ? block->plan->order : 0, a = node->argument[0], b = node->argument[1];
    double *w[5];
    for (int i = 0; i < 5; i++) w[i] = row_of_scratch(block, i);
    if (node->op == OP_MULTIPLY) {
        const double *x = row_of_value(block, a), *y = row_of_value(block, b);
        const double *const d[5] = {y, x, NULL, w[3], NULL};
        const int n = block->n;
        multiply(n, x, y, row_of_value(block, number));
        if (order == 2) EACH(i) w[3][i] = 1;
        if (order > 0) chain_rule(block, number, a, b, d);
        return;
    }
    binary(node->op, order, block->n, row_of_value(block, a), row_of_value(block, b),
           row_of_value(block, number), w[0], w[1], w[2], w[3], w[4]);
    const double *const d[5] = {w[0], w[1], bends & EXPRESSION_AA ? w[2] : NULL,
                                bends & EXPRESSION_AB ? w[3] : NULL, bends & EXPRESSION_BB ? w[4] : NULL};
    if (order > 0) chain_rule(block, number, a, b, d);
}

/* ------------------------------------------------------------------ operations that treat all rows alike */

/* Row `number` of a jet: its value, then the first and the second derivatives; NULL: zero. */
BODY double *row_of(const struct block *block, int node, int number) {
    const struct expression_node *n = &block->plan->nodes[node];
    const int there = number == 0 || (number < 4 ? n->first >> (number - 1) : n->second >> (number - 4)) & 1;
    return there ? block->work + expression_row(block->plan, node, number) : NULL;
}

/* Whether points of this dimension have row `number`. */
BODY int has_row(int dim, int number) {
    return number < 4 ? number <= dim : dim == 3 || number == 4 || (dim == 2 && (number == 5 || number == 7));
}

/* a + b, a - b, -a */
BODY void linear_node(const struct block *block, int number) {
    const struct expression_node *node = &block->plan->nodes[number];
    const int n = block->n, minus = node->op != OP_ADD;
    for (int k = 0; k < expression_jet(block->plan->order); k++) {
        double *RESTRICT out = has_row(block->plan->dim, k) ? row_of(block, number, k) : NULL;
        if (out == NULL) continue;
        const double *a = row_of(block, node->argument[0], k),
                     *b = node->op == OP_NEGATE ? NULL : row_of(block, node->argument[1], k);
        if (node->op == OP_NEGATE || (a == NULL && minus)) {
            const double *only = a != NULL ? a : b;
            EACH(i) out[i] = -only[i];
        } else if (a == NULL || b == NULL) {
            const double *only = a != NULL ? a : b;
            EACH(i) out[i] = only[i];
        } else if (minus) {
            EACH(i) out[i] = a[i] - b[i];
        } else {
            EACH(i) out[i] = a[i] + b[i];
        }
    }
}

/* c != 0 ? a : b; a condition that is not a number has no answer. */
BODY void select_node(const struct block *block, int number) {
    const struct expression_node *node = &block->plan->nodes[number];
    const int n = block->n;
    const double *c = row_of_value(block, node->argument[0]);
    double *zeros = row_of_scratch(block, 0);
    EACH(i) zeros[i] = 0;
    for (int k = 0; k < expression_jet(block->plan->order); k++) {
        double *RESTRICT out = has_row(block->plan->dim, k) ? row_of(block, number, k) : NULL;
        if (out == NULL) continue;
        const double *a = row_of(block, node->argument[1], k), *b = row_of(block, node->argument[2], k);
        if (a == NULL) a = zeros;
        if (b == NULL) b = zeros;
        EACH(i) {
            const double p = a[i], q = b[i], taken = c[i] != 0 ? p : q;
            out[i] = c[i] != c[i] ? c[i] : taken;
        }
    }
}

BODY void coordinate_node(const struct block *block, int number) {
    const int axis = (int)block->plan->nodes[number].constant, dim = block->plan->dim, n = block->n;
    const double *from = axis < 3 ? block->x : block->normals;
    double *RESTRICT out = row_of_value(block, number);
    if (axis % 3 >= dim || from == NULL)
        EACH(i) out[i] = 0;
    else
        EACH(i) out[i] = from[(size_t)i * (size_t)dim + (size_t)(axis % 3)];
    if (block->plan->order == 0 || axis >= dim) return;
    out = row_of_first(block, number, axis);
    EACH(i) out[i] = 1;
}

BODY void evaluate_block(const struct block *block) {
    const int n = block->n;
    for (int number = 0; number < block->plan->n_nodes; number++) {
        const struct expression_node *node = &block->plan->nodes[number];
        switch (node->op) {
        case OP_NUMBER: {
            double *RESTRICT out = row_of_value(block, number);
            const double value = node->constant;
            EACH(i) out[i] = value;
            break;
        }
        case OP_GIVEN:
            break;
        case OP_COORDINATE:
            coordinate_node(block, number);
            break;
        case OP_SELECT:
            select_node(block, number);
            break;
        case OP_NEGATE:
        case OP_ADD:
        case OP_SUBTRACT:
            linear_node(block, number);
            break;
        default:
            if (node->op < OP_ADD)
                unary_node(block, number);
            else
                binary_node(block, number);
        }
    }
}
