/* Fields: numbers, expressions and C functions; and what happens to all of src/expr when memory runs out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "expr/field.h"
#include "expr_helpers.h"

static int swirl(void *user, const facet_points *points, double *values) {
    const double *scale = user;
    for (int i = 0; i < points->n; i++) {
        values[2 * i] = -*scale * points->x[points->dim * i + 1];
        values[2 * i + 1] = *scale / points->x[points->dim * i];
    }
    return *scale == 13;
}

static int only_the_first(void *user, const facet_points *points, double *values) {
    (void)points;
    (void)user;
    values[0] = 1;
    return 0;
}

static void test_fields(void **state) {
    (void)state;
    struct field *field;
    const char *const texts[] = {"x*y", "2", "k + x"};
    const struct expr_parameter k = {"k", 5};
    const double x[] = {1, 2, 3, 4};
    double v[6], g[4], h[8];
    assert_int_equal(field_create_texts(3, texts, 1, &k, &field), FACET_OK);
    assert_int_equal(field_n_components(field), 3);
    assert_true(field_is_differentiable(field) && !field_is_constant(field, NULL));
    assert_int_equal(field_eval(field, 2, 2, x, v), FACET_OK);
    assert_true(v[0] == 2 && v[1] == 2 && v[2] == 6 && v[3] == 12 && v[4] == 2 && v[5] == 8);
    assert_int_equal(field_eval_jet(field, 0, 2, 2, x, v, g, h), FACET_OK);
    assert_true(v[1] == 12 && g[2] == 4 && g[3] == 3 && h[4] == 0 && h[5] == 1 && h[6] == 1);
    assert_int_equal(field_eval_jet(field, 1, 2, 2, x, v, g, h), FACET_OK);
    assert_true(v[1] == 2 && g[3] == 0 && h[7] == 0);
    assert_int_equal(field_eval_jet(field, 3, 2, 2, x, v, g, h), FACET_ERROR_INPUT);
    field_destroy(&field);
    assert_null(field);

    const char *const numbers[] = {"k^2", "1/4"};
    assert_int_equal(field_create_texts(2, numbers, 1, &k, &field), FACET_OK);
    assert_true(field_is_constant(field, v) && v[0] == 25 && v[1] == 0.25);
    field_destroy(&field);
    assert_int_equal(field_create_constants(2, (double[]){3, 4}, &field), FACET_OK);
    assert_true(field_is_constant(field, v) && v[0] == 3 && v[1] == 4);
    assert_int_equal(field_eval(field, 2, 2, x, v), FACET_OK);
    assert_true(v[2] == 3 && v[3] == 4);
    field_destroy(&field);

    const char *const bad[] = {"1", "x +", "1"}, *const singular[] = {"1", "1/(x - 3)"};
    assert_int_equal(field_create_texts(3, bad, 0, NULL, &field), FACET_ERROR_INPUT);
    assert_null(field);
    has("fields", "component 2: column 4:");
    assert_int_equal(field_create_texts(2, singular, 0, NULL, &field), FACET_OK);
    assert_int_equal(field_eval(field, 2, 2, x, v), FACET_ERROR_INPUT);
    assert_string_equal(base_message(), "component 2: column 2: division by zero at x=3, y=4");
    field_destroy(&field);
    assert_int_equal(field_create_constants(1, (double[]){NAN}, &field), FACET_ERROR_INPUT);
    assert_int_equal(field_create_texts(0, NULL, 0, NULL, &field), FACET_ERROR_INPUT);
}

static void test_function_fields(void **state) {
    (void)state;
    struct field *field;
    double scale = 2, v[4], x[] = {1, 2, 4, 5};
    assert_int_equal(field_create_function(2, swirl, &scale, &field), FACET_OK);
    assert_false(field_is_differentiable(field) || field_is_constant(field, NULL));
    assert_int_equal(field_eval(field, 2, 2, x, v), FACET_OK);
    assert_true(v[0] == -4 && v[1] == 2 && v[2] == -10 && v[3] == 0.5);
    assert_int_equal(field_eval_jet(field, 0, 2, 2, x, v, NULL, NULL), FACET_ERROR_INPUT);
    x[2] = 0;
    assert_int_equal(field_eval(field, 2, 2, x, v), FACET_ERROR_INPUT);
    has("function", "component 2");
    has("function", "x=0, y=5");
    x[2] = 1, scale = 13;
    assert_int_equal(field_eval(field, 2, 2, x, v), FACET_ERROR_INPUT);
    field_destroy(&field);
    assert_int_equal(field_create_function(1, only_the_first, NULL, &field), FACET_OK);
    assert_int_equal(field_eval(field, 2, 2, x, v), FACET_ERROR_INPUT); /* a value was not written */
    has("function", "x=1, y=5");
    field_destroy(&field);
    assert_int_equal(field_create_function(1, NULL, NULL, &field), FACET_ERROR_INPUT);
}

/* Everything that allocates, in one go. */
static facet_status use_everything(void) {
    facet_status status = FACET_OK;
    struct field *field = NULL, *numbers = NULL, *function = NULL;
    struct expr *expr = NULL;
    const char *const texts[] = {
        "sin(x) + y*exp(-x) + 1/(2 + x) + sqrt(1 + x*y) + x^3*tanh(y) - x*y*z + x^y + cos(x*y)",
        "x > 0 ? x : 3"};
    const double x[] = {0.5, 1, 0.25, 2};
    double scale = 1, v[4], g[4], h[8];
    TRY(field_create_texts(2, texts, 0, NULL, &field));
    TRY(field_eval(field, 2, 2, x, v));
    TRY(field_eval_jet(field, 0, 2, 2, x, v, g, h));
    TRY(field_create_constants(2, x, &numbers));
    TRY(field_create_function(2, swirl, &scale, &function));
    TRY(expr_compile("1/(x - x)", 0, NULL, &expr));
    status = expr_eval(expr, 2, 2, x, NULL, v, g, h); /* the search for the fault allocates too */
    if (status == FACET_ERROR_INPUT) status = FACET_OK;
done:
    field_destroy(&field);
    field_destroy(&numbers);
    field_destroy(&function);
    expr_destroy(&expr);
    return status;
}

static void test_lost_memory(void **state) {
    (void)state;
    struct base_memory before, after;
    base_memory_read(&before);
    int k = 0;
    for (facet_status status = FACET_ERROR_MACHINE; status != FACET_OK;) {
        base_memory_fail_at(++k);
        status = use_everything();
        base_memory_fail_at(0);
        assert_true(status == FACET_OK || status == FACET_ERROR_MACHINE);
        base_memory_read(&after);
        assert_true(after.live_blocks == before.live_blocks);
    }
    assert_true(k > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_function_fields),
        cmocka_unit_test(test_lost_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
