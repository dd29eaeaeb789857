/* The elementary functions of expressions: ulp against long double over all ranges, special values as in C,
 * and the same bits from ref and from every instruction set that has fused multiply-adds. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "expr_helpers.h"

#define N      256
#define ROUNDS 400 /* blocks of N in each range */
#define MOST   2.0 /* ulp */

typedef void expression_kernel(const struct expression_plan *plan, int64_t n, const double *x,
                               const double *normals, double *work);
/* The kernel of every instruction set, whether the library has that set or not. */
#ifdef FACET_SETS_X86_64
expression_kernel expression_x86_64_v1, expression_x86_64_v3, expression_x86_64_v4;
#endif

/* The kinds of code that this processor runs, ref first; exact: with fused multiply-adds. */
struct kind {
    const char *name;
    expression_kernel *kernel;
    int exact;
};
static int list_kinds(struct kind kinds[4]) {
    int n = 0;
    kinds[n++] = (struct kind){"ref", kernels_ref()->expression[0], 1};
#ifdef FACET_SETS_X86_64
    int v3 =
            __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"),
        v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    kinds[n++] = (struct kind){"x86-64", expression_x86_64_v1, 0};
    if (v3) kinds[n++] = (struct kind){"x86-64-v3", expression_x86_64_v3, 1};
    if (v4) kinds[n++] = (struct kind){"x86-64-v4", expression_x86_64_v4, 1};
#else
    if (kernels_simd()->expression[0] != NULL) {
#    if defined __FMA__ || defined __ARM_FEATURE_FMA
        kinds[n++] = (struct kind){"native", kernels_simd()->expression[0], 1};
#    else
        kinds[n++] = (struct kind){"native", kernels_simd()->expression[0], 0};
#    endif
    }
#endif
    return n;
}

/* op of n <= N numbers x[2 i] and x[2 i + 1]; rows: the jet, N numbers each. */
static void evaluate(expression_kernel *kernel, enum op op, double constant, int order, int n,
                     const double *x, double *rows) {
    static double work[(EXPRESSION_SCRATCH + 30) * N];
    const struct expression_node nodes[3] = {
        {.op = OP_COORDINATE, .constant = 0, .first = 1, .slot = 0},
        {.op = OP_COORDINATE, .constant = 1, .first = 2, .slot = 1},
        {.op = (int)op, .argument = {0, 1}, .constant = constant, .first = 3, .second = 11, .slot = 2}};
    struct expression_plan plan = {.dim = 2, .order = order, .block = N, .n_nodes = 3, .nodes = nodes};
    for (size_t i = 0; i < sizeof work / sizeof *work; i++) work[i] = 0;
    kernel(&plan, n, x, NULL, work);
    for (int r = 0; r < expression_jet(order); r++)
        memcpy(rows + (size_t)r * N, work + expression_row(&plan, 2, r), (size_t)n * sizeof *rows);
}

#define ONE(name)                                                                                            \
    static long double exact_##name(double x, double y) {                                                    \
        (void)y;                                                                                             \
        return name##l((long double)x);                                                                      \
    }
#define TWO(name)                                                                                            \
    static long double exact_##name(double x, double y) {                                                    \
        return name##l((long double)x, (long double)y);                                                      \
    }
ONE(sin)
ONE(cos)
ONE(tan)
ONE(asin)
ONE(acos)
ONE(atan)
ONE(sinh)
ONE(cosh)
ONE(tanh)
ONE(exp)
ONE(log)
ONE(log10)
ONE(sqrt)
ONE(floor)
ONE(ceil)
ONE(erf)
TWO(pow)
TWO(atan2)
TWO(hypot)

static const struct function {
    const char *name;
    enum op op;
    int n_arguments;
    long double (*exact)(double, double);
} functions[] = {
    {"sin", OP_SIN, 1, exact_sin},       {"cos", OP_COS, 1, exact_cos},
    {"tan", OP_TAN, 1, exact_tan},       {"asin", OP_ASIN, 1, exact_asin},
    {"acos", OP_ACOS, 1, exact_acos},    {"atan", OP_ATAN, 1, exact_atan},
    {"sinh", OP_SINH, 1, exact_sinh},    {"cosh", OP_COSH, 1, exact_cosh},
    {"tanh", OP_TANH, 1, exact_tanh},    {"exp", OP_EXP, 1, exact_exp},
    {"log", OP_LOG, 1, exact_log},       {"log10", OP_LOG10, 1, exact_log10},
    {"sqrt", OP_SQRT, 1, exact_sqrt},    {"floor", OP_FLOOR, 1, exact_floor},
    {"ceil", OP_CEIL, 1, exact_ceil},    {"erf", OP_ERF, 1, exact_erf},
    {"pow", OP_POWER, 2, exact_pow},     {"atan2", OP_ATAN2, 2, exact_atan2},
    {"hypot", OP_HYPOT, 2, exact_hypot},
};

static const struct function *find(const char *name) {
    for (int i = 0; i < COUNT(functions); i++)
        if (strcmp(functions[i].name, name) == 0) return &functions[i];
    fail_msg("no function %s", name);
    return NULL;
}

/* How far a value is from the exact one, in units of the last place of the latter; where that is too large
 * for a double, infinity is right. */
static double ulp(double value, long double exact) {
    double rounded = (double)exact;
    int exponent;
    if (isnan(rounded)) return isnan(value) ? 0 : INFINITY;
    if (isinf(rounded)) return value == rounded || fabs(value) == DBL_MAX ? 0 : INFINITY;
    if (isinf(value)) return fabsl(exact) >= (long double)DBL_MAX * (1 - DBL_EPSILON) ? 1 : INFINITY;
    (void)frexp(rounded, &exponent);
    long double unit = ldexpl(1.0L, exponent - 53 < -1074 || rounded == 0 ? -1074 : exponent - 53);
    return (double)(fabsl((long double)value - exact) / unit);
}

/* Arguments between a and b: evenly (or by their logarithms, with both signs where `both`). */
enum spread { EVEN, LOGS, SIGNED_LOGS };
static const struct range {
    const char *name;
    enum spread spread, spread_y;
    double a, b, c, d;
} ranges[] = {
    {"sin", EVEN, EVEN, -10, 10, 0, 0},
    {"sin", EVEN, EVEN, -131073, 131073, 0, 0},
    {"sin", SIGNED_LOGS, EVEN, 1e-320, 1e308, 0, 0},
    {"sin", LOGS, EVEN, 1e5, 1e12, 0, 0},
    {"cos", EVEN, EVEN, -10, 10, 0, 0},
    {"cos", EVEN, EVEN, -131073, 131073, 0, 0},
    {"cos", SIGNED_LOGS, EVEN, 1e-320, 1e308, 0, 0},
    {"cos", LOGS, EVEN, 1e5, 1e12, 0, 0},
    {"tan", EVEN, EVEN, -10, 10, 0, 0},
    {"tan", EVEN, EVEN, -131073, 131073, 0, 0},
    {"tan", SIGNED_LOGS, EVEN, 1e-320, 1e308, 0, 0},
    {"asin", EVEN, EVEN, -1, 1, 0, 0},
    {"asin", SIGNED_LOGS, EVEN, 1e-320, 1, 0, 0},
    {"asin", EVEN, EVEN, 0.999, 1, 0, 0},
    {"acos", EVEN, EVEN, -1, 1, 0, 0},
    {"acos", EVEN, EVEN, 0.999, 1, 0, 0},
    {"acos", SIGNED_LOGS, EVEN, 1e-320, 1, 0, 0},
    {"atan", EVEN, EVEN, -3, 3, 0, 0},
    {"atan", SIGNED_LOGS, EVEN, 1e-320, 1e308, 0, 0},
    {"sinh", EVEN, EVEN, -3, 3, 0, 0},
    {"sinh", EVEN, EVEN, -711, 711, 0, 0},
    {"sinh", SIGNED_LOGS, EVEN, 1e-320, 1, 0, 0},
    {"cosh", EVEN, EVEN, -3, 3, 0, 0},
    {"cosh", EVEN, EVEN, -711, 711, 0, 0},
    {"tanh", EVEN, EVEN, -3, 3, 0, 0},
    {"tanh", EVEN, EVEN, -25, 25, 0, 0},
    {"tanh", SIGNED_LOGS, EVEN, 1e-320, 1, 0, 0},
    {"exp", EVEN, EVEN, -5, 5, 0, 0},
    {"exp", EVEN, EVEN, -750, 712, 0, 0},
    {"exp", SIGNED_LOGS, EVEN, 1e-30, 1, 0, 0},
    {"log", EVEN, EVEN, 0, 10, 0, 0},
    {"log", EVEN, EVEN, 0.99, 1.01, 0, 0},
    {"log", LOGS, EVEN, 1e-320, 1e308, 0, 0},
    {"log10", EVEN, EVEN, 0, 10, 0, 0},
    {"log10", EVEN, EVEN, 0.99, 1.01, 0, 0},
    {"log10", LOGS, EVEN, 1e-320, 1e308, 0, 0},
    {"sqrt", LOGS, EVEN, 1e-320, 1e308, 0, 0},
    {"floor", EVEN, EVEN, -20, 20, 0, 0},
    {"floor", SIGNED_LOGS, EVEN, 1e-320, 1e20, 0, 0},
    {"ceil", EVEN, EVEN, -20, 20, 0, 0},
    {"ceil", SIGNED_LOGS, EVEN, 1e-320, 1e20, 0, 0},
    {"erf", EVEN, EVEN, -2, 2, 0, 0},
    {"erf", EVEN, EVEN, -7, 7, 0, 0},
    {"erf", SIGNED_LOGS, EVEN, 1e-300, 30, 0, 0},
    {"pow", EVEN, EVEN, 0, 10, -5, 5},
    {"pow", LOGS, EVEN, 1e-320, 1e308, -1.1, 1.1},
    {"pow", EVEN, EVEN, 0.99, 1.01, -80000, 80000},
    {"pow", LOGS, SIGNED_LOGS, 1e-10, 1e10, 1e-5, 30},
    {"atan2", EVEN, EVEN, -1, 1, -1, 1},
    {"atan2", SIGNED_LOGS, SIGNED_LOGS, 1e-3, 1e3, 1e-3, 1e3},
    {"atan2", SIGNED_LOGS, SIGNED_LOGS, 1e-320, 1e308, 1e-320, 1e308},
    {"hypot", EVEN, EVEN, -1, 1, -1, 1},
    {"hypot", SIGNED_LOGS, SIGNED_LOGS, 1e-320, 1e308, 1e-320, 1e308},
};

static double draw(uint64_t *state, enum spread spread, double a, double b) {
    if (spread == EVEN) return random_between(state, a, b);
    double value = exp(random_between(state, log(a), log(b)));
    return spread == SIGNED_LOGS && random_bits(state) >> 40 & 1 ? -value : value;
}

static void every_function_is_right_to_two_ulp(void **state) {
    (void)state;
    static double x[2 * N], value[N];
    struct kind kinds[4];
    int n_kinds = list_kinds(kinds), n_bad = 0;
    double worst_of[COUNT(functions)][4] = {{0}};
    for (int r = 0; r < COUNT(ranges); r++) {
        const struct range *range = &ranges[r];
        const struct function *f = find(range->name);
        uint64_t seed = 88172645463325252u + (uint64_t)r;
        for (int round = 0; round < ROUNDS; round++) {
            long double exact[N];
            for (int i = 0; i < N; i++) {
                x[2 * i] = draw(&seed, range->spread, range->a, range->b);
                x[2 * i + 1] = f->n_arguments == 2 ? draw(&seed, range->spread_y, range->c, range->d) : 0;
                exact[i] = f->exact(x[2 * i], x[2 * i + 1]);
            }
            for (int k = 0; k < n_kinds; k++) {
                double *worst = &worst_of[f - functions][k];
                evaluate(kinds[k].kernel, f->op, 0, 0, N, x, value);
                for (int i = 0; i < N; i++) {
                    double error = ulp(value[i], exact[i]);
                    if (error > *worst) *worst = error;
                    if (error <= MOST || n_bad++ > 10) continue;
                    print_error("%s, %s(%.17g, %.17g) = %.17g, %.2f ulp\n", kinds[k].name, f->name, x[2 * i],
                                x[2 * i + 1], value[i], error);
                }
            }
        }
    }
    for (int f = 0; f < COUNT(functions); f++) {
        print_message("%-6s", functions[f].name);
        for (int k = 0; k < n_kinds; k++) print_message("  %s %.3f", kinds[k].name, worst_of[f][k]);
        print_message(" ulp\n");
    }
    assert_int_equal(n_bad, 0);
}

static int same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* All functions, values and both derivatives, for numbers of all sizes, and blocks that end anywhere. */
static void all_kinds_give_the_same_bits(void **state) {
    (void)state;
    static const int sizes[] = {1, 2, 3, 5, 8, 63, 64, 65, 200, N};
    static const enum spread spreads[] = {EVEN, SIGNED_LOGS};
    static double x[2 * N], first[10 * N], other[10 * N];
    struct kind kinds[4];
    int n_kinds = list_kinds(kinds);
    uint64_t seed = 1234567u;
    for (int op = OP_NOT; op < OP_SELECT; op++)
        for (int order = 0; op != OP_ADD && op != OP_SUBTRACT && order < 3; order++)
            for (int s = 0; s < 2 * COUNT(sizes); s++) {
                int n = sizes[s / 2];
                for (int i = 0; i < 2 * n; i++)
                    x[i] = draw(&seed, spreads[s % 2], s % 2 ? 1e-300 : -3, s % 2 ? 1e300 : 3);
                double constant = op == OP_INTEGER_POWER ? (double)(s % 9) - 11 : 2.5;
                evaluate(kinds[0].kernel, (enum op)op, constant, order, n, x, first);
                for (int k = 1; k < n_kinds; k++) {
                    if (!kinds[k].exact) continue;
                    evaluate(kinds[k].kernel, (enum op)op, constant, order, n, x, other);
                    for (int row = 0; row < expression_jet(order); row++)
                        for (int i = 0; i < n; i++)
                            if (!same_bits(first[row * N + i], other[row * N + i]))
                                fail_msg("operation %d of %.17g, %.17g: row %d is %.17g on %s, %.17g on ref",
                                         op, x[2 * i], x[2 * i + 1], row, other[row * N + i], kinds[k].name,
                                         first[row * N + i]);
                }
            }
}

/* What a step of one ulp would make visible: integers of rounded values. */
static void steps_do_not_flip(void **state) {
    (void)state;
    static double x[2 * N], inner[N], first[N], other[N];
    struct kind kinds[4];
    int n_kinds = list_kinds(kinds);
    uint64_t seed = 42;
    for (int round = 0; round < 200; round++)
        for (int k = 0; k < n_kinds; k++) {
            if (!kinds[k].exact) continue;
            if (k == 0)
                for (int i = 0; i < N; i++)
                    x[2 * i] = (double)(random_bits(&seed) % 4801) / 400.0, x[2 * i + 1] = 0;
            evaluate(kinds[k].kernel, OP_SIN, 0, 0, N, x, inner);
            double y[2 * N];
            for (int i = 0; i < N; i++) y[2 * i] = 12 * inner[i], y[2 * i + 1] = 0;
            evaluate(kinds[k].kernel, OP_FLOOR, 0, 0, N, y, k == 0 ? first : other);
            for (int i = 0; k > 0 && i < N; i++) assert_true(first[i] == other[i]);
        }
}

/* Zeros of both signs, infinities, NaN, denormal and huge numbers, and integers: as libm has them. */
static void special_values_are_those_of_c(void **state) {
    (void)state;
    static const double numbers[] = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     0.5,
                                     -0.5,
                                     2.0,
                                     -2.0,
                                     3.0,
                                     -3.0,
                                     INFINITY,
                                     -INFINITY,
                                     NAN,
                                     DBL_MIN,
                                     -DBL_MIN,
                                     5e-324,
                                     -5e-324,
                                     1e300,
                                     -1e300,
                                     DBL_MAX,
                                     -DBL_MAX,
                                     1e-300,
                                     0x1p52,
                                     0x1p53,
                                     -0x1p53,
                                     1e16,
                                     -1e16,
                                     1e22,
                                     709.9,
                                     -745.2,
                                     710.5,
                                     -710.5,
                                     1000,
                                     -1000,
                                     1.5,
                                     -1.5,
                                     0x1.fffffffffffffp-1,
                                     0x1.0000000000001p0,
                                     131072.0,
                                     131073.0,
                                     20.5,
                                     7.0};
    struct kind kinds[4];
    int n_kinds = list_kinds(kinds);
    for (int f = 0; f < COUNT(functions); f++)
        for (int i = 0; i < COUNT(numbers); i++)
            for (int j = 0; j < (functions[f].n_arguments == 2 ? COUNT(numbers) : 1); j++) {
                const double x[2] = {numbers[i], numbers[j]};
                long double exact = functions[f].exact(x[0], x[1]);
                for (int k = 0; k < n_kinds; k++) {
                    double value[N];
                    evaluate(kinds[k].kernel, functions[f].op, 0, 0, 1, x, value);
                    int zero = exact == 0 && !(functions[f].op == OP_FLOOR || functions[f].op == OP_CEIL);
                    if (ulp(value[0], exact) > MOST ||
                        (zero && !signbit(value[0]) != !signbit((double)exact)))
                        fail_msg("%s, %s(%.17g, %.17g) = %.17g, not %.17g", kinds[k].name, functions[f].name,
                                 x[0], x[1], value[0], (double)exact);
                }
            }
}

/* Powers with a number for base or exponent are those with two arguments. */
static void powers_agree(void **state) {
    (void)state;
    static double x[2 * N], first[N], other[N];
    uint64_t seed = 7;
    expression_kernel *kernel = kernels_ref()->expression[0];
    for (int round = 0; round < 50; round++) {
        double constant = random_between(&seed, 0.1, 7);
        for (int i = 0; i < N; i++) x[2 * i] = random_between(&seed, -1, 5), x[2 * i + 1] = constant;
        evaluate(kernel, OP_POWER, 0, 0, N, x, first);
        evaluate(kernel, OP_CONSTANT_EXPONENT, constant, 0, N, x, other);
        for (int i = 0; i < N; i++) assert_true(same_bits(first[i], other[i]));
        for (int i = 0; i < N; i++) x[2 * i + 1] = x[2 * i], x[2 * i] = constant;
        evaluate(kernel, OP_POWER, 0, 0, N, x, first);
        for (int i = 0; i < N; i++) x[2 * i] = x[2 * i + 1];
        evaluate(kernel, OP_CONSTANT_BASE, constant, 0, N, x, other);
        for (int i = 0; i < N; i++) assert_true(same_bits(first[i], other[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_right_to_two_ulp),
        cmocka_unit_test(all_kinds_give_the_same_bits),
        cmocka_unit_test(steps_do_not_flip),
        cmocka_unit_test(special_values_are_those_of_c),
        cmocka_unit_test(powers_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
