/* Expressions: values against libm, derivatives against formulas derived by hand, differences and identities,
 * the behaviour at singular points, threads and speed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/run.h"
#include "expr_helpers.h"

static double constant(const char *text) {
    double value = NAN;
    struct expr *expr = compile(text);
    if (!expr_is_constant(expr, &value)) fail_msg("%s is not constant", text);
    expr_destroy(&expr);
    return value;
}

/* Value, gradient and Hessian in 3D at one point. */
struct jet {
    double v, g[3], h[9];
};

static facet_status try_jet(const char *text, const double x[3], struct jet *jet) {
    struct expr *expr = compile(text);
    facet_status status = expr_eval(expr, 1, 3, x, NULL, &jet->v, jet->g, jet->h);
    expr_destroy(&expr);
    return status;
}

static struct jet jet_at(const char *text, double x, double y, double z) {
    struct jet jet;
    if (try_jet(text, (double[]){x, y, z}, &jet) != FACET_OK) fail_msg("%s: %s", text, base_message());
    return jet;
}

static double value_at(const char *text, double x, double y, double z) {
    double value;
    struct expr *expr = compile(text);
    if (expr_eval(expr, 1, 3, (double[]){x, y, z}, NULL, &value, NULL, NULL) != FACET_OK)
        fail_msg("%s: %s", text, base_message());
    expr_destroy(&expr);
    return value;
}

static void close_to(double a, double b, double tolerance, const char *text) {
    if (!(fabs(a - b) <= tolerance * (1 + fabs(b)))) fail_msg("%s: %.17g is not %.17g", text, a, b);
}

/* ---------------------------------------------------------------------------------------- values */

static void test_precedence(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"-2^2", -4},
        {"2^3^2", 512},
        {"2^-1", 0.5},
        {"(-2)^2", 4},
        {"-2^-2", -0.25},
        {"2*-3", -6},
        {"8/4/2", 1},
        {"8-4-2", 2},
        {"1+2*3^2", 19},
        {"--3", 3},
        {"+-+3", -3},
        {" 1.5e+2\t+ .5 + 5.\n", 155.5},
        {"1e-3", 0.001},
        {"1 < 2", 1},
        {"1+1 >= 3", 0},
        {"1 < 2 and 3 < 2", 0},
        {"1 < 2 && 3 < 2 || 1", 1},
        {"1 or 0 and 0", 1},
        {"not 1 > 2", 1},
        {"not 0 and 0", 0},
        {"!0 == 1", 1},
        {"not not 5", 1},
        {"2 and 3", 1},
        {"1 ? 2 : 0 ? 3 : 4", 2},
        {"0 ? 2 : 0 ? 3 : 4", 4},
        {"1 < 0 ? 1 : 2 + 3", 5},
        {"if(1 == 1, 2, 3) * 2", 4},
        {"min(3, 1, 2)", 1},
        {"max(3, 1, 4, 2)", 4},
        {"pow(2, 10)", 1024},
        {"2^0.5", M_SQRT2},
        {"mod(-1, 3)", 2},
        {"mod(7, -3)", -2},
        {"mod(6, 3)", 0},
        {"step(0) + step(-1) + step(2)", 2},
        {"sign(-3) + sign(0) + 5*sign(2)", 4},
        {"floor(-1.5) + ceil(-1.5)", -3},
        {"pi", M_PI},
        {"e", M_E},
        {"e^2", 7.38905609893065},
        {"0^0", 1},
        {"0^2", 0},
        {"0*-1", 0},
        {"if(0, 1/0, 3)", 3},
        {"0 and 1/0", 0},
        {"1 or log(-1)", 1},
    };
    for (int i = 0; i < COUNT(cases); i++)
        close_to(constant(cases[i].text), cases[i].value, 1e-15, cases[i].text);
}

#define VALUE(name, expression)                                                                              \
    static double name(double x, double y, double z) {                                                       \
        (void)x, (void)y, (void)z;                                                                           \
        return expression;                                                                                   \
    }
VALUE(v_sin, sin(x))
VALUE(v_cos, cos(3 * x))
VALUE(v_tan, tan(x))
VALUE(v_asin, asin(x))
VALUE(v_acos, acos(x))
VALUE(v_atan, atan(4 * x))
VALUE(v_atan2, atan2(x, y))
VALUE(v_sinh, sinh(x))
VALUE(v_cosh, cosh(x))
VALUE(v_tanh, tanh(5 * x))
VALUE(v_exp, exp(-x))
VALUE(v_log, log(x + 1))
VALUE(v_log10, log10(x + 1))
VALUE(v_sqrt, sqrt(x *x + y * y))
VALUE(v_abs, fabs(x - y))
VALUE(v_erf, erf(x))
VALUE(v_hypot, hypot(x, y))
VALUE(v_fmin, fmin(x, y))
VALUE(v_fmax, fmax(x, z))
VALUE(v_pow, pow(1.5 + x, y))
VALUE(v_pow7, pow(x, 7))
VALUE(v_pow_3, pow(x + 2, -3))
VALUE(v_pow25, pow(x + 1, 2.5))
VALUE(v_two, pow(2, z))
VALUE(v_floor, floor(7 * x))
VALUE(v_ceil, ceil(7 * x))
VALUE(v_rational, (x - 2 * y) / (3 + x * z) - z)
VALUE(v_if, x > 0 && !(y > z) ? x : -1)

static const struct {
    const char *text;
    double (*value)(double, double, double);
} value_cases[] = {
    {"sin(x)", v_sin},
    {"cos(3*x)", v_cos},
    {"tan(x)", v_tan},
    {"asin(x)", v_asin},
    {"acos(x)", v_acos},
    {"atan(4*x)", v_atan},
    {"atan2(x, y)", v_atan2},
    {"sinh(x)", v_sinh},
    {"cosh(x)", v_cosh},
    {"tanh(5*x)", v_tanh},
    {"exp(-x)", v_exp},
    {"log(x + 1)", v_log},
    {"log10(x + 1)", v_log10},
    {"sqrt(x^2 + y^2)", v_sqrt},
    {"abs(x - y)", v_abs},
    {"erf(x)", v_erf},
    {"hypot(x, y)", v_hypot},
    {"min(x, y)", v_fmin},
    {"max(x, z)", v_fmax},
    {"(1.5 + x)^y", v_pow},
    {"x^7", v_pow7},
    {"pow(x + 2, -3)", v_pow_3},
    {"(x + 1)^2.5", v_pow25},
    {"2^z", v_two},
    {"floor(7*x)", v_floor},
    {"ceil(7*x)", v_ceil},
    {"(x - 2*y)/(3 + x*z) - z", v_rational},
    {"if(x > 0 and not y > z, x, -1)", v_if},
};

/* All modes agree with libm, whatever the number of points. */
static void test_values(void **state) {
    (void)state;
    enum { N = 1000 };
    static double x[3 * N], v[N], w[N], u[N], g[3 * N], h[9 * N];
    uint64_t seed = 20240001;
    for (int i = 0; i < 3 * N; i++) x[i] = random_between(&seed, -0.99, 0.99);
    for (int k = 0; k < COUNT(value_cases); k++) {
        const char *text = value_cases[k].text;
        struct expr *expr = compile(text);
        int n = N - 7 * k;
        assert_int_equal(expr_eval(expr, n, 3, x, NULL, v, NULL, NULL), FACET_OK);
        assert_int_equal(expr_eval(expr, n, 3, x, NULL, w, g, NULL), FACET_OK);
        assert_int_equal(expr_eval(expr, n, 3, x, NULL, u, g, h), FACET_OK);
        for (int i = 0; i < n; i++) {
            const double *p = x + 3 * i;
            close_to(v[i], value_cases[k].value(p[0], p[1], p[2]), 4e-15, text);
            close_to(w[i], v[i], 4e-15, text);
            close_to(u[i], v[i], 4e-15, text);
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < a; b++) assert_true(h[9 * i + 3 * a + b] == h[9 * i + 3 * b + a]);
        }
        expr_destroy(&expr);
    }
}

/* ---------------------------------------------------------------------------------------- derivatives */

#define JET(name, v, gx, gy, gz, hxx, hxy, hxz, hyy, hyz, hzz)                                               \
    static struct jet name(double x, double y, double z) {                                                   \
        (void)x, (void)y, (void)z;                                                                           \
        return (struct jet){v, {gx, gy, gz}, {hxx, hxy, hxz, hxy, hyy, hyz, hxz, hyz, hzz}};                 \
    }
#define S sin(x *y)
#define C cos(x *y)
#define E exp(-x *x - y)
#define R hypot(x, y)
#define Q (1 + x * x + z * z)
#define T tanh(x - 2 * z)
#define A (2 + x)
JET(j_sinxy, S, y *C, x *C, 0, -y *y *S, C - x * y * S, 0, -x *x *S, 0, 0)
JET(j_gauss, E, -2 * x * E, -E, 0, (4 * x * x - 2) * E, 2 * x * E, 0, E, 0, 0)
JET(j_log, log(Q), 2 * x / Q, 0, 2 * z / Q, 2 / Q - 4 * x * x / (Q * Q), 0, -4 * x * z / (Q * Q), 0, 0,
    2 / Q - 4 * z * z / (Q * Q))
JET(j_sqrt, sqrt(Q), x / sqrt(Q), 0, z / sqrt(Q), (1 + z * z) / pow(Q, 1.5), 0, -x *z / pow(Q, 1.5), 0, 0,
    (1 + x * x) / pow(Q, 1.5))
JET(j_quotient, x / (1 + y * y), 1 / (1 + y * y), -2 * x * y / pow(1 + y * y, 2), 0, 0,
    -2 * y / pow(1 + y * y, 2), 0, x *(6 * y * y - 2) / pow(1 + y * y, 3), 0, 0)
JET(j_product, x *x *y *z, 2 * x * y * z, x *x *z, x *x *y, 2 * y * z, 2 * x * z, 2 * x * y, 0, x *x, 0)
JET(j_power, pow(A, y), y *pow(A, y - 1), log(A) * pow(A, y), 0, y *(y - 1) * pow(A, y - 2),
    pow(A, y - 1) * (1 + y * log(A)), 0, log(A) * log(A) * pow(A, y), 0, 0)
JET(j_tanh, T, 1 - T * T, 0, -2 * (1 - T * T), -2 * T * (1 - T * T), 0, 4 * T * (1 - T * T), 0, 0,
    -8 * T * (1 - T * T))
JET(j_atan2, atan2(y, x), -y / (R * R), x / (R * R), 0, 2 * x * y / pow(R, 4), (y * y - x * x) / pow(R, 4), 0,
    -2 * x * y / pow(R, 4), 0, 0)
JET(j_radius, x *R, R + x * x / R, x *y / R, 0, 3 * x / R - x * x * x / (R * R * R), y *y *y / (R * R * R), 0,
    x *x *x / (R * R * R), 0, 0)
JET(j_cube, pow(x - y * z, 3), 3 * pow(x - y * z, 2), -3 * z * pow(x - y * z, 2), -3 * y * pow(x - y * z, 2),
    6 * (x - y * z), -6 * z * (x - y * z), -6 * y * (x - y * z), 6 * z * z * (x - y * z),
    6 * y * z * (x - y * z) - 3 * pow(x - y * z, 2), 6 * y * y * (x - y * z))
JET(j_inverse, 1 / (A * A), -2 / (A * A * A), 0, 0, 6 / pow(A, 4), 0, 0, 0, 0, 0)
JET(j_erf, erf(x) * z, M_2_SQRTPI *exp(-x *x) * z, 0, erf(x), -2 * x * z * M_2_SQRTPI * exp(-x * x), 0,
    M_2_SQRTPI *exp(-x *x), 0, 0, 0)
JET(j_mod, fmod(5 + x, 2) * y, y, fmod(5 + x, 2), 0, 0, 1, 0, 0, 0, 0)

static const struct {
    const char *text;
    struct jet (*jet)(double, double, double);
} jet_cases[] = {
    {"sin(x*y)", j_sinxy},
    {"exp(-x^2 - y)", j_gauss},
    {"log(1 + x^2 + z^2)", j_log},
    {"sqrt(1 + x*x + z^2)", j_sqrt},
    {"x/(1 + y^2)", j_quotient},
    {"x^2*y*z", j_product},
    {"(2 + x)^y", j_power},
    {"tanh(x - 2*z)", j_tanh},
    {"atan2(y, x)", j_atan2},
    {"x*hypot(x, y)", j_radius},
    {"(x - y*z)^3", j_cube},
    {"(2 + x)^-2", j_inverse},
    {"1/(2 + x)^2", j_inverse},
    {"(2 + x)^-2.0000000000000000001", j_inverse},
    {"erf(x)*z", j_erf},
    {"mod(5 + x, 2)*y", j_mod},
    {"if(x > 5, log(x - 5), -(-sin(x*y)))", j_sinxy},
    {"e^(-x^2)*e^-y", j_gauss},
};

static void test_jets(void **state) {
    (void)state;
    uint64_t seed = 20240002;
    for (int k = 0; k < COUNT(jet_cases); k++) {
        const char *text = jet_cases[k].text;
        for (int i = 0; i < 50; i++) {
            double x[3];
            for (int d = 0; d < 3; d++) x[d] = random_between(&seed, -0.95, 0.95);
            struct jet want = jet_cases[k].jet(x[0], x[1], x[2]), have = jet_at(text, x[0], x[1], x[2]);
            double scale = 1 / fmin(1, pow(hypot(x[0], x[1]), 2)); /* of the angle's derivatives */
            close_to(have.v, want.v, 1e-14, text);
            for (int d = 0; d < 3; d++) close_to(have.g[d], want.g[d], 1e-14 * scale, text);
            for (int d = 0; d < 9; d++) close_to(have.h[d], want.h[d], 1e-13 * scale, text);
        }
    }
}

/* Central differences of order six of every function: df = sum_k w_k (f(x + k s) - f(x - k s)) / s. */
static void test_differences(void **state) {
    (void)state;
    static const char *const texts[] = {"sin(x*y)",
                                        "cos(x + z)",
                                        "tan(x*z)",
                                        "asin(0.6*x*y)",
                                        "acos(0.5*(x - z))",
                                        "atan(x*y*z)",
                                        "atan2(1.5 + x, y)",
                                        "sinh(x*z)",
                                        "cosh(x - y)",
                                        "tanh(2*x*y)",
                                        "exp(x*y - z)",
                                        "log(2 + x*y)",
                                        "log10(2 + x*z)",
                                        "sqrt(2 + x*y*z)",
                                        "abs(2 + x*y)*x",
                                        "erf(x*y + z)",
                                        "hypot(2 + x, y*z)",
                                        "3^(x*y)",
                                        "(2 + x*y)^1.7",
                                        "(2 + x*y)^(x + z)",
                                        "(x*y - 3)^5",
                                        "(x*y - 3)^-5",
                                        "x*y/(2 + z*x)",
                                        "mod(x*y + 7.5, 5)",
                                        "mod(7.5 + x*y, 5 + 0.1*z)",
                                        "(3 + x)^100",
                                        "min(x*y, 4)*z",
                                        "max(x*y, 4, z)",
                                        "x > 3 ? 1/0 : x*y*z"};
    static const double weight[3] = {0.75, -0.15, 1.0 / 60};
    const double s = 5e-3, x[3] = {0.31, -0.42, 0.57};
    for (int t = 0; t < COUNT(texts); t++) {
        struct jet at = jet_at(texts[t], x[0], x[1], x[2]);
        for (int d = 0; d < 3; d++) {
            double df = 0, dg[3] = {0};
            for (int k = 1; k <= 3; k++) {
                double p[3] = {x[0], x[1], x[2]}, m[3] = {x[0], x[1], x[2]};
                p[d] += k * s, m[d] -= k * s;
                struct jet jp = jet_at(texts[t], p[0], p[1], p[2]), jm = jet_at(texts[t], m[0], m[1], m[2]);
                df += weight[k - 1] * (jp.v - jm.v) / s;
                for (int i = 0; i < 3; i++) dg[i] += weight[k - 1] * (jp.g[i] - jm.g[i]) / s;
            }
            double scale = 1 + fabs(at.v);
            close_to(at.g[d] / scale, df / scale, strchr(texts[t], '1') ? 2e-7 : 1e-9, texts[t]);
            for (int i = 0; i < 3; i++) close_to(at.h[3 * d + i] / scale, dg[i] / scale, 2e-6, texts[t]);
        }
    }
}

static void test_laplacians(void **state) {
    (void)state;
    uint64_t seed = 20240003;
    for (int i = 0; i < 100; i++) {
        double x = random_between(&seed, 0.2, 1), y = random_between(&seed, 0.2, 1),
               z = random_between(&seed, 0.2, 1);
        struct jet u = jet_at("sin(2*pi*x)*sin(2*pi*y)", x, y, z);
        close_to(u.h[0] + u.h[4], -8 * M_PI * M_PI * u.v, 1e-13, "eigenfunction");
        static const char *const harmonic[] = {
            "log(hypot(x, y))", "atan2(y, x)",          "exp(x)*sin(y)",
            "x^3 - 3*x*y^2",    "1/sqrt(x^2+y^2+z^2)",  "(x^2 + y^2 + z^2)^-0.5",
            "sinh(x)*cos(y)",   "cos(3*x)*exp(-3*y)+z", "x/(x^2 + y^2)"};
        for (int k = 0; k < COUNT(harmonic); k++) {
            u = jet_at(harmonic[k], x, y, z);
            double scale = 10 + fabs(u.h[0]) + fabs(u.h[4]) + fabs(u.h[8]);
            if (!(fabs(u.h[0] + u.h[4] + u.h[8]) <= 1e-13 * scale))
                fail_msg("%s is not harmonic", harmonic[k]);
        }
    }
}

static void test_powers(void **state) {
    (void)state;
    for (int n = 2; n <= 70; n++) {
        char text[32];
        snprintf(text, sizeof text, "x^%d", n);
        struct jet u = jet_at(text, 0, 0, 0);
        assert_true(u.v == 0 && u.g[0] == 0 && u.h[0] == (n == 2 ? 2 : 0));
        u = jet_at(text, -1.25, 0, 0);
        close_to(u.v, pow(-1.25, n), 1e-13, text);
        close_to(u.g[0], n * pow(-1.25, n - 1), 1e-13, text);
        close_to(u.h[0], n * (n - 1) * pow(-1.25, n - 2), 1e-13, text);
        snprintf(text, sizeof text, "pow(x, -%d)", n);
        u = jet_at(text, -1.25, 0, 0);
        close_to(u.v, pow(-1.25, -n), 1e-13, text);
        close_to(u.h[0], n * (n + 1) * pow(-1.25, -n - 2), 1e-13, text);
    }
    struct jet u = jet_at("x^1 + x^0", 0, 0, 0);
    assert_true(u.v == 1 && u.g[0] == 1 && u.h[0] == 0);
    u = jet_at("x^2.5", 0, 0, 0);
    assert_true(u.v == 0 && u.g[0] == 0 && u.h[0] == 0);
    u = jet_at("x^(3 + y)", 0, 0, 0); /* 0 to a positive power that varies */
    assert_true(u.v == 0 && u.g[0] == 0 && u.g[1] == 0 && u.h[0] == 0 && u.h[1] == 0 && u.h[4] == 0);
    u = jet_at("0^x", 2, 0, 0);
    assert_true(u.v == 0 && u.g[0] == 0 && u.h[0] == 0);
    u = jet_at("x^floor(2.5 + y)", -3, 0.1, 0); /* an exponent that varies but has no derivative */
    assert_true(u.v == 9 && u.g[0] == -6 && u.h[0] == 2);
    assert_true(value_at("x^0.5", 0, 0, 0) == 0);
    assert_true(value_at("x^y", -2, 3, 0) == -8);
    assert_true(value_at("(-2)^x", 3, 0, 0) == -8);
}

static void test_kinks(void **state) {
    (void)state;
    struct jet u = jet_at("abs(x)", 0, 0, 0);
    assert_true(u.v == 0 && u.g[0] == 0 && u.h[0] == 0);
    u = jet_at("abs(x^3)", -2, 0, 0);
    assert_true(u.v == 8 && u.g[0] == -12 && u.h[0] == 12);
    u = jet_at("floor(x) + ceil(y) + sign(z) + step(x) + (x < y)", 1, 2, 3);
    for (int i = 0; i < 3; i++) assert_true(u.g[i] == 0 && u.h[i] == 0);
    u = jet_at("min(x^2, y)", 3, 3, 0);
    assert_true(u.v == 3 && u.g[0] == 0 && u.g[1] == 1);
    u = jet_at("max(x, -x, y^2)", -3, 1, 0);
    assert_true(u.v == 3 && u.g[0] == -1 && u.g[1] == 0 && u.h[4] == 0);
    u = jet_at("min(x, y)", 1, 1, 0); /* equal: the first */
    assert_true(u.g[0] == 1 && u.g[1] == 0);
}

/* What is not taken leaves no trace: neither its values nor its derivatives. */
static void test_untaken_branches(void **state) {
    (void)state;
    static const char *const texts[] = {"if(x > 0, log(x), y^2)",      "x <= 0 ? y^2 : sqrt(x)",
                                        "if(x < 0, y*y, y^2)",         "if(x != 0, y^2/x^2*x^2, y^2)",
                                        "x > 0 ? x^0.3 : y^2",         "x > 0 and log(x) > 1 ? 1/x : y^2",
                                        "x <= 0 or 1/x > 3 ? y^2 : 0", "if(not x > 0, y^2, 1/(x - x))"};
    for (int i = 0; i < COUNT(texts); i++) {
        struct jet u = jet_at(texts[i], 0, 3, 0);
        assert_true(u.v == 9 && u.g[0] == 0 && u.g[1] == 6 && u.h[0] == 0 && u.h[1] == 0 && u.h[4] == 2);
    }
    struct jet u = jet_at("if(x > 0, log(x), 0)", -1, 0, 0);
    assert_true(u.v == 0 && u.g[0] == 0 && u.h[0] == 0);
    u = jet_at("min(y, if(x > 0, 1/x, 1000))", 0, 2, 0);
    assert_true(u.v == 2 && u.g[0] == 0 && u.g[1] == 1);
    assert_true(value_at("1/(1/x)", 0, 0, 0) == 0); /* what does not reach the result is no fault */
}

/* ---------------------------------------------------------------------------------------- faults */

static void test_singular_points(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double x[3];
        const char *column, *what;
    } cases[] = {
        {"1+1/y", {0.5, 0, 1}, "column 4:", "division by zero at x=0.5, y=0, z=1"},
        {"y*log(x)", {-1, 1, 0}, "column 3:", "logarithm of -1"},
        {"log10(x)", {0, 1, 0}, "column 1:", "logarithm of 0"},
        {"1 + sqrt(x)", {-2, 1, 0}, "column 5:", "square root of -2"},
        {"asin(2*x)", {1, 1, 0}, "column 1:", "asin of 2"},
        {"exp(x)", {1000, 1, 0}, "column 1:", "overflow in 'exp'"},
        {"x^-1", {0, 1, 0}, "column 2:", "division by zero"},
        {"x^0.5", {-1, 1, 0}, "column 2:", "-1 to the power 0.5"},
        {"x^y", {-1, 0.5, 0}, "column 2:", "not a real number"},
        {"mod(x, y)", {1, 0, 0}, "column 1:", "division by zero"},
        {"x*1e300*x", {1e100, 0, 0}, "column 2:", "overflow in '*'"},
        {"sqrt(y + x)", {0, 0, 0}, "column 1:", "'sqrt' of 0 has no finite derivative"},
        {"x^1.5", {0, 0, 0}, "column 2:", "second derivative"},
        {"hypot(x, y)", {0, 0, 0}, "column 1:", "'hypot' of 0 and 0 has no finite derivative"},
        {"if(sqrt(x) > 1, 1, 2)", {-1, 0, 0}, "column 4:", "square root of -1"},
        {"x > -5 ? sin(1/x) : y", {0, 0, 0}, "column 15:", "division by zero"},
        {"min(log(x), y)", {-1, 0, 0}, "column 5:", "logarithm of -1"},
        {"if(x > 0, 1/0, 2)", {1, 0, 0}, "column 12:", "division by zero"},
        {"x", {NAN, 0, 0}, "column 1:", "coordinate x is not finite"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        struct jet u;
        if (try_jet(cases[i].text, cases[i].x, &u) != FACET_ERROR_INPUT) fail_msg("%s passes", cases[i].text);
        has(cases[i].text, cases[i].column);
        has(cases[i].text, cases[i].what);
    }
    /* In two dimensions the point has two coordinates, and the first bad point is the one that is named. */
    double x[600], v[300];
    for (int i = 0; i < 300; i++) x[2 * i] = i - 270, x[2 * i + 1] = 7;
    struct expr *expr = compile("1/x + z");
    assert_int_equal(expr_eval(expr, 300, 2, x, NULL, v, NULL, NULL), FACET_ERROR_INPUT);
    assert_string_equal(base_message(), "column 2: division by zero at x=0, y=7");
    assert_int_equal(expr_eval(expr, 270, 2, x, NULL, v, NULL, NULL), FACET_OK);
    expr_destroy(&expr);
}

static int differ(int n, const double *a, const double *b) {
    for (int i = 0; i < n; i++)
        if (a[i] != b[i]) return 1;
    return 0;
}

static void test_threads(void **state) {
    (void)state;
    enum { N = 500 };
    static double x[2 * N], want[N], want_g[2 * N], want_h[4 * N];
    uint64_t seed = 20240006;
    for (int i = 0; i < 2 * N; i++) x[i] = random_between(&seed, 0.1, 1);
    struct expr *expr = compile("exp(-x*y)*sin(3*x)^2 + if(x > y, log(x/y), x^y)");
    struct expr *bad = compile("1/(x - x)");
    assert_int_equal(expr_eval(expr, N, 2, x, NULL, want, want_g, want_h), FACET_OK);
    int n_wrong = 0;
#pragma omp parallel for num_threads(4) reduction(+ : n_wrong)
    for (int k = 0; k < 64; k++) {
        double v[N], g[2 * N], h[4 * N];
        n_wrong += expr_eval(expr, N, 2, x, NULL, v, g, h) != FACET_OK;
        n_wrong += differ(N, v, want) || differ(2 * N, g, want_g) || differ(4 * N, h, want_h);
        n_wrong += expr_eval(bad, N, 2, x, NULL, v, NULL, NULL) != FACET_ERROR_INPUT;
        n_wrong += !strstr(base_message(), "division by zero");
    }
    assert_int_equal(n_wrong, 0);
    expr_destroy(&expr);
    expr_destroy(&bad);
}

static void report_speed(const char *text, int n_operations, int dim) {
    enum { N = 4096 };
    static double x[3 * N], v[N], g[3 * N], h[9 * N];
    uint64_t seed = 20240007;
    for (int i = 0; i < 3 * N; i++) x[i] = random_between(&seed, 0.1, 1);
    struct expr *expr = compile(text);
    double best[3] = {1e9, 1e9, 1e9};
    for (int mode = 0; mode < 3; mode++)
        for (int k = 0; k < 20; k++) {
            double begin = base_seconds();
            assert_int_equal(expr_eval(expr, N, dim, x, NULL, v, mode ? g : NULL, mode == 2 ? h : NULL),
                             FACET_OK);
            best[mode] = fmin(best[mode], (base_seconds() - begin) / N / n_operations);
        }
    print_message("%dD %-50s ns per point and operation: %6.2f value %6.2f gradient %6.2f Hessian\n", dim,
                  text, best[0] * 1e9, best[1] * 1e9, best[2] * 1e9);
    expr_destroy(&expr);
}

static void test_speed(void **state) {
    (void)state;
    report_speed("x*y + 2*x - y*(x + 3)*(y - x)", 9, 2);
    report_speed("x*y*z + 2*x - y*(x + z)*(y - x)", 9, 3);
    report_speed("(x + 2)/(y + 3) + x^5", 5, 2);
    report_speed("sin(2*pi*x)*sin(2*pi*y)", 5, 2);
    report_speed("exp(-((x - 0.5)^2 + (y - 0.5)^2))", 7, 2);
}

static void test_coordinates(void **state) {
    static const struct {
        const char *text;
        int n;
    } cases[] = {{"1", 0},       {"2*pi", 0},
                 {"x", 1},       {"sin(x)^2", 1},
                 {"y", 2},       {"x + if(y > 0, 1, x)", 2},
                 {"x + y*z", 3}, {"if(x > 0, x, z)", 3}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expr *expr;
        assert_int_equal(expr_compile(cases[i].text, 0, NULL, &expr), FACET_OK);
        assert_int_equal(expr_n_coordinates(expr), cases[i].n);
        expr_destroy(&expr);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),       cmocka_unit_test(test_values),
        cmocka_unit_test(test_coordinates),      cmocka_unit_test(test_jets),
        cmocka_unit_test(test_differences),      cmocka_unit_test(test_laplacians),
        cmocka_unit_test(test_powers),           cmocka_unit_test(test_kinks),
        cmocka_unit_test(test_untaken_branches), cmocka_unit_test(test_singular_points),
        cmocka_unit_test(test_threads),          cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
