/* Expressions on grids: the bits of the same points one by one, whatever coordinates their parts depend on;
 * and what is said where a value is not finite. */
#include <stdio.h>

#include "expr/field.h"
#include "expr_helpers.h"

enum { MOST = 70 };

static double lines[3][MOST];

static struct expr_grid grid_of(int dim, const int counts[3]) {
    uint64_t seed = 20240002;
    struct expr_grid grid = {.dim = dim};
    for (int d = 0; d < dim; d++) {
        grid.counts[d] = counts[d];
        grid.lines[d] = lines[d];
        for (int i = 0; i < counts[d]; i++) lines[d][i] = random_between(&seed, 0.01, 0.99);
    }
    return grid;
}

static int points_of(const struct expr_grid *grid) {
    int n = 1;
    for (int d = 0; d < grid->dim; d++) n *= grid->counts[d];
    return n;
}

static void compare(const char *text, const struct expr_grid *grid) {
    struct expr *expr = compile(text);
    int n = points_of(grid);
    double *x = test_calloc((size_t)(n * grid->dim), sizeof *x),
           *expected = test_calloc((size_t)n, sizeof *x), *found = test_calloc((size_t)n, sizeof *x);
    expr_grid_points(grid, x);
    assert_int_equal(expr_eval(expr, n, grid->dim, x, NULL, expected, NULL, NULL), FACET_OK);
    assert_int_equal(expr_eval_grid(expr, grid, found), FACET_OK);
    for (int i = 0; i < n; i++)
        if (memcmp(&found[i], &expected[i], sizeof *found) != 0)
            fail_msg("%s in %d dimensions, point %d: %.17g is not %.17g", text, grid->dim, i, found[i],
                     expected[i]);
    test_free(x);
    test_free(expected);
    test_free(found);
    expr_destroy(&expr);
}

static const char *const texts[] = {
    "3",
    "x",
    "sin(pi*x)*cos(2*x)",
    "if(x > 0.5, 1/(x + 1), exp(x))",
    "x^2.5 + 2^x - x^-3",
    "x/2.6e10 - 3e9",
    "if(0, 1/0, 3) + x",
    "y",
    "sin(pi*x)*cos(2*y)",
    "exp(-10*((x - 0.3)^2 + (y - 0.7)^2)) + x",
    "atan2(x, y) + hypot(y, x) + mod(7*y, 0.3)",
    "z",
    "sin(x)*sin(y)*sin(z) + cos(x)*cos(y)*cos(z)",
    "sin(x*y) + sin(y*z) + sin(x*z)",
    "if(x*x + y*y + z*z < 0.7, log(x + y), sqrt(z) + floor(5*x))",
    "(x + y)^(1 + z) + cos(40000000*z)",
    "sin(z)*exp(y)",
    "1/(x - y) + erf(z)",
};

static void test_bits(void **state) {
    (void)state;
    static const int counts[][3] = {{19, 19, 19}, {1, 7, 5}, {3, 1, 1}, {5, 64, 2}, {70, 9, 3}};
    for (int k = 0; k < COUNT(texts); k++) {
        struct expr *expr = compile(texts[k]);
        int least = expr_n_coordinates(expr);
        expr_destroy(&expr);
        for (int dim = least > 1 ? least : 1; dim <= 3; dim++)
            for (int i = 0; i < COUNT(counts); i++) {
                struct expr_grid grid = grid_of(dim, counts[i]);
                compare(texts[k], &grid);
            }
    }
}

static void test_faults(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"1/(x - 0.25) + y", "division by zero"},
        {"z + log(y - 0.5)", "y=0.5"},
        {"log(x + y + z - 1)", "x=0.25, y=0.5, z=0.25"},
    };
    double x[] = {0.75, 0.25}, y[] = {0.9, 0.5}, z[] = {0.6, 0.25}, values[8];
    const struct expr_grid grid = {.dim = 3, .counts = {2, 2, 2}, .lines = {x, y, z}};
    for (int k = 0; k < COUNT(cases); k++) {
        struct expr *expr = compile(cases[k].text);
        assert_int_equal(expr_eval_grid(expr, &grid, values), FACET_ERROR_INPUT);
        has(cases[k].text, cases[k].says);
        expr_destroy(&expr);
    }
}

static int product(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int64_t i = 0; i < points->n; i++) values[i] = points->x[2 * i] * points->x[2 * i + 1];
    return 0;
}

/* Fields of several components, of numbers and of functions. */
static void test_fields(void **state) {
    (void)state;
    const int counts[3] = {4, 3};
    const struct expr_grid grid = grid_of(2, counts);
    struct field *fields[3] = {NULL};
    double found[24];
    assert_int_equal(field_create_texts(2, (const char *const[]){"x*y", "7"}, 0, NULL, &fields[0]), FACET_OK);
    assert_int_equal(field_create_function(1, product, NULL, &fields[1]), FACET_OK);
    assert_int_equal(field_create_texts(1, (const char *const[]){"x*y"}, 0, NULL, &fields[2]), FACET_OK);
    for (int f = 0; f < 3; f++) {
        int components = field_n_components(fields[f]);
        assert_int_equal(field_eval_grid(fields[f], &grid, found), FACET_OK);
        for (int i = 0; i < 12; i++) {
            assert_true(found[i * components] == lines[0][i % 4] * lines[1][i / 4]);
            if (components == 2) assert_true(found[2 * i + 1] == 7.0);
        }
        field_destroy(&fields[f]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
