/* Texts of expressions: every kind of fault with its column and remedy, limits, parameters, and random texts,
 * of which none may do harm. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "expr_helpers.h"

static void test_faulty_texts(void **state) {
    (void)state;
    static const struct {
        const char *text, *column, *what;
    } cases[] = {
        {"", "column 1:", "empty"},
        {" \t\n", "column 1:", "empty"},
        {"1 + 2*xx", "column 7:", "unknown name 'xx'; did you mean 'x'?"},
        {"w", "column 1:", "known are x, y, z"},
        {"2*PI", "column 3:", "did you mean 'pi'?"},
        {"1 + 2*rohh", "column 7:", "did you mean 'rho'?"},
        {"sine(x)", "column 1:", "unknown function 'sine'; did you mean 'sin'?"},
        {"sqr(x)", "column 1:", "did you mean 'sqrt'?"},
        {"blubber(x)", "column 1:", "unknown function 'blubber'; functions are sin, cos, "},
        {"x + sin(x, y)", "column 5:", "sin takes 1 argument, not 2"},
        {"atan2(x)", "column 1:", "atan2 takes 2 arguments, not 1"},
        {"if(x, y)", "column 1:", "if takes 3 arguments, not 2"},
        {"max(x)", "column 1:", "max takes 2 arguments or more, not 1"},
        {"min()", "column 1:", "takes 2 arguments or more, not 0"},
        {"sin + 1", "column 1:", "write sin(...)"},
        {"x(1 + y)", "column 1:", "not a function"},
        {"rho(1)", "column 1:", "not a function"},
        {"2*(x + 1", "column 3:", "never closed"},
        {"sin(x", "column 4:", "never closed"},
        {"(x + 1))", "column 8:", "closes nothing"},
        {")", "column 1:", "unexpected ')'"},
        {"1 +", "column 4:", "ends too early"},
        {"1 + * 2", "column 5:", "unexpected '*'"},
        {"2x", "column 2:", "operator is missing before 'x'"},
        {"0x10", "column 2:", "operator is missing"},
        {"1e2e0", "column 4:", "operator is missing"},
        {"x y", "column 3:", "operator is missing"},
        {"(x)(y)", "column 4:", "operator is missing"},
        {"x, y", "column 2:", "unexpected ','; an operator or the end"},
        {"1,5", "column 2:", "decimals are written behind a point"},
        {"2*(1,5)", "column 5:", "decimals are written behind a point"},
        {"x = 1", "column 3:", "write =="},
        {"x & y", "column 3:", "&&"},
        {"x | y", "column 3:", "||"},
        {"x**2", "column 2:", "write ^"},
        {"x $ y", "column 3:", "unexpected character '$'"},
        {"x\xc2\xb2", "column 2:", "byte 0xc2"},
        {"[x]", "column 1:", "parentheses"},
        {"1e999", "column 1:", "too large"},
        {"1/0", "column 2:", "division by zero"},
        {"x + 2*log(1 - 1)", "column 7:", "logarithm of 0"},
        {"x*(2 - rho)^-1", "column 12:", "division by zero"},
        {"1e200*1e200", "column 6:", "overflow"},
        {"0 < x < 1", "column 7:", "do not chain"},
        {"1 + not x", "column 5:", "parentheses"},
        {"x ? y", "column 6:", "':'"},
        {"x : y", "column 3:", "unexpected ':'"},
        {"nan", "column 1:", "unknown name"},
        {"inf", "column 1:", "unknown name"},
        {".", "column 1:", "unexpected character '.'"},
    };
    const struct expr_parameter parameters[] = {{"rho", 2}, {"omega_1", 3}};
    for (int i = 0; i < COUNT(cases); i++) {
        struct expr *expr = (struct expr *)&parameters;
        if (expr_compile(cases[i].text, 2, parameters, &expr) != FACET_ERROR_INPUT)
            fail_msg("%s passes", cases[i].text);
        assert_null(expr);
        has(cases[i].text, cases[i].column);
        has(cases[i].text, cases[i].what);
    }
    struct expr *expr;
    assert_int_equal(expr_compile(NULL, 0, NULL, &expr), FACET_ERROR_INPUT);
}

/* n times `open`, then "x", then n times `close`. */
static facet_status nest(int n, const char *open, const char *close) {
    static char text[80000];
    size_t length = 0;
    for (int i = 0; i < n; i++) length += (size_t)snprintf(text + length, sizeof text - length, "%s", open);
    length += (size_t)snprintf(text + length, sizeof text - length, "x");
    for (int i = 0; i < n; i++) length += (size_t)snprintf(text + length, sizeof text - length, "%s", close);
    struct expr *expr;
    facet_status status = expr_compile(text, 0, NULL, &expr);
    if (status == FACET_OK) {
        double x = 1, v, g, h;
        assert_int_equal(expr_eval(expr, 1, 1, &x, NULL, &v, &g, &h), FACET_OK);
        expr_destroy(&expr);
    }
    return status;
}

static void test_depth_and_length(void **state) {
    (void)state;
    static const char *const shapes[][2] = {{"(", ")"},      {"-", ""},        {"!", ""},    {"x^", ""},
                                            {"sin(", ")"},   {"x?x:", ""},     {"x?", ":x"}, {"min(x,", ")"},
                                            {"(-x^(", "))"}, {"if(x,x,", ")"}, {"not(", ")"}};
    for (int i = 0; i < COUNT(shapes); i++) {
        assert_int_equal(nest(45, shapes[i][0], shapes[i][1]), FACET_OK);
        assert_int_equal(nest(6000, shapes[i][0], shapes[i][1]), FACET_ERROR_INPUT);
        has(shapes[i][0], "deep");
    }
    assert_int_equal(nest(199, "(", ")"), FACET_OK);
    assert_int_equal(nest(200, "(", ")"), FACET_ERROR_INPUT);
    assert_int_equal(nest(30000, "x+", ""), FACET_OK); /* long is not deep */
    assert_int_equal(nest(35000, "x+", ""), FACET_ERROR_INPUT);
    has("long", "at most");
}

static void test_parameters(void **state) {
    (void)state;
    struct expr *expr;
    const struct expr_parameter good[] = {{"k", 2}, {"k2", -0.5}, {"xx", 7}};
    double value;
    assert_int_equal(expr_compile("k^2 + k2*xx", 3, good, &expr), FACET_OK);
    assert_true(expr_is_constant(expr, &value) && expr_is_constant(expr, NULL));
    assert_true(value == 0.5);
    assert_string_equal(expr_text(expr), "k^2 + k2*xx");
    expr_destroy(&expr);
    expr_destroy(&expr);
    assert_int_equal(expr_compile("if(k2 > 0, 1/0, floor(x))", 3, good, &expr), FACET_OK);
    assert_false(expr_is_constant(expr, &value));
    expr_destroy(&expr);
    static const char *const names[] = {"x",   "y",  "z", "pi", "e",   "sin", "min",      "if", "and",
                                        "not", "or", "",  "2a", "a b", "a-b", "\xc3\xa4", "k",  NULL};
    for (int i = 0; i < COUNT(names); i++) {
        const struct expr_parameter bad[] = {{"k", 1}, {names[i], 1}};
        assert_int_equal(expr_compile("1", 2, bad, &expr), FACET_ERROR_INPUT);
        has(names[i] ? names[i] : "NULL", "parameter");
    }
    const struct expr_parameter infinite = {"a", INFINITY};
    assert_int_equal(expr_compile("1", 1, &infinite, &expr), FACET_ERROR_INPUT);
}

static void swallow(const char *text) {
    struct expr *expr;
    static const double x[] = {0, 0, 0, 0.5, -1, 2, -1, 0.25, 1e3, 1, 1, 1};
    double v[4], g[12], h[36];
    facet_status status = expr_compile(text, 0, NULL, &expr);
    if (status == FACET_OK) {
        status = expr_eval(expr, 4, 3, x, NULL, v, g, h);
        for (int i = 0; status == FACET_OK && i < 4; i++) assert_true(isfinite(v[i]) && isfinite(h[9 * i]));
        expr_destroy(&expr);
    }
    assert_true(status == FACET_OK || status == FACET_ERROR_INPUT);
    if (status != FACET_OK) has(text, "column ");
}

static void test_random_texts(void **state) {
    (void)state;
    static const char *const tokens[] = {
        "x",    "y",     "z",    "pi", "e", "1",     "2",    "0",    "0.5", "3e2",  "(",      ")",    ",",
        "+",    "-",     "*",    "/",  "^", "<",     "<=",   ">",    "==",  "!=",   "and",    "or",   "not",
        "&&",   "||",    "!",    "?",  ":", "sin(",  "cos(", "log(", "if(", "min(", "atan2(", "pow(", "sqrt(",
        "mod(", "hypot", "abs(", "w",  " ", "1e999", "=",    "x",    "y",   "+",    "*",      "(x)",  ")"};
    uint64_t seed = 20240004;
    struct base_memory before, after;
    base_memory_read(&before);
    for (int i = 0; i < 10000; i++) {
        char text[64];
        int n = (int)(random_bits(&seed) % (sizeof text - 1));
        for (int k = 0; k < n; k++) text[k] = (char)(1 + random_bits(&seed) % 255);
        text[n] = 0;
        swallow(text);
    }
    for (int i = 0; i < 20000; i++) {
        char text[256] = "";
        int n = 1 + (int)(random_bits(&seed) % (i % 2 ? 6 : 30)), length = 0;
        for (int k = 0; k < n; k++)
            length += snprintf(text + length, sizeof text - (size_t)length, "%s",
                               tokens[random_bits(&seed) % COUNT(tokens)]);
        swallow(text);
    }
    base_memory_read(&after);
    assert_true(after.live_blocks == before.live_blocks);
}

static int write_point(char *text, size_t bytes, uint64_t *seed, int depth) {
    static const char *const calls[] = {"sin", "tanh", "exp", "sqrt", "log", "abs", "-", "atan"};
    static const char *const between[] = {"+", "-", "*", "/", "^", "<", " or "};
    static const char *const leaves[] = {"x", "y", "z", "2", "0.5", "1", "pi"};
    if (depth == 0) return snprintf(text, bytes, "%s", leaves[random_bits(seed) % COUNT(leaves)]);
    int n = 0;
    if (random_bits(seed) % 2) {
        n += snprintf(text + n, bytes - (size_t)n, "%s(", calls[random_bits(seed) % COUNT(calls)]);
        n += write_point(text + n, bytes - (size_t)n, seed, depth - 1);
    } else {
        n += snprintf(text + n, bytes - (size_t)n, "(");
        n += write_point(text + n, bytes - (size_t)n, seed, depth - 1);
        n += snprintf(text + n, bytes - (size_t)n, "%s", between[random_bits(seed) % COUNT(between)]);
        n += write_point(text + n, bytes - (size_t)n, seed, depth - 1);
    }
    return n + snprintf(text + n, bytes - (size_t)n, ")");
}

/* Right texts made at random: every failure is that of a singular point. */
static void test_random_expressions(void **state) {
    (void)state;
    uint64_t seed = 20240005;
    for (int i = 0; i < 3000; i++) {
        char text[2048];
        write_point(text, sizeof text, &seed, 1 + i % 5);
        swallow(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faulty_texts),       cmocka_unit_test(test_depth_and_length),
        cmocka_unit_test(test_parameters),         cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_random_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
