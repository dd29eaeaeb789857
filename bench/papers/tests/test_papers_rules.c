/* The papers' quadrature rules, compared with the integrals of monomials. */
#include "bench/papers/rules.h"
#include "tests/poly_helpers.h"

/* With n+1 Lobatto and n Radau points both directions are exact to degree 2n-1 and 2n-2. */
static void test_lobatto_radau(void **state) {
    (void)state;
    for (int n = 1; n <= 12; n++) {
        struct rule rule;
        ok(rule_create_collapsed_lobatto_radau(n + 1, n, &rule));
        assert_int_equal(rule.n, n * (n + 1));
        check_rule(&rule, 2 * n - 2);
        for (int i = 0; i <= n; i++) assert_true(rule.x[2 * i + 1] == 0); /* the base is included */
        assert_true(rule.x[0] == 0 && rule.x[2 * n] == 1);
        rule_destroy(&rule);
    }
    struct rule rule;
    assert_int_equal(rule_create_collapsed_lobatto_radau(1, 1, &rule), FACET_ERROR_INPUT);
    assert_int_equal(rule_create_collapsed_lobatto_radau(2, -1, &rule), FACET_ERROR_INPUT);
}

/* Cancellation grows with the index: the sum of |w| is then far more than the measure. */
static void check_signed(const struct rule *rule, int degree) {
    int power[3] = {0};
    double size = 0;
    for (int i = 0; i < rule->n; i++) size += fabs(rule->w[i]);
    do {
        double sum = 0;
        for (int i = 0; i < rule->n; i++)
            sum += rule->w[i] * monomial(rule->dim, power, rule->x + i * rule->dim);
        near(sum, monomial_integral(rule->shape, power), 1e-13 * size);
    } while (next_power(rule->shape, degree, power));
}

static void test_grundmann_moeller(void **state) {
    (void)state;
    enum shape shapes[] = {SHAPE_TRIANGLE, SHAPE_TET};
    struct rule rule;
    for (int t = 0; t < 2; t++)
        for (int s = 0; s <= 10; s++) {
            int n = 1, dim = shape_dim(shapes[t]), power[3] = {2 * s + 2};
            ok(rule_create_grundmann_moeller(shapes[t], s, &rule));
            for (int i = 1; i <= dim + 1; i++) n = n * (s + i) / i;
            assert_int_equal(rule.n, n);
            check_signed(&rule, 2 * s + 1);
            double sum = 0, exact = monomial_integral(rule.shape, power); /* and not exact to one more */
            for (int i = 0; i < rule.n; i++) sum += rule.w[i] * monomial(dim, power, rule.x + i * dim);
            if (s <= 4) assert_true(fabs(sum / exact - 1) > 1e-6);
            rule_destroy(&rule);
        }
    assert_int_equal(rule_create_grundmann_moeller(SHAPE_QUAD, 2, &rule), FACET_ERROR_INPUT);
    assert_int_equal(rule_create_grundmann_moeller(SHAPE_TET, -1, &rule), FACET_ERROR_INPUT);
}

static void test_symmetric(void **state) {
    (void)state;
    static const struct {
        enum shape shape;
        int n, degree;
    } known[] = {{SHAPE_TRIANGLE, 6, 4}, {SHAPE_TET, 4, 2}, {SHAPE_TET, 14, 5}};
    struct rule rule;
    for (int r = 0; r < 3; r++) {
        ok(rule_create_symmetric(known[r].shape, known[r].n, &rule));
        assert_int_equal(rule.n, known[r].n);
        for (int i = 0; i < rule.n; i++) {
            double rest = 1;
            assert_true(rule.w[i] > 0);
            for (int d = 0; d < rule.dim; d++) {
                assert_true(rule.x[i * rule.dim + d] > 0);
                rest -= rule.x[i * rule.dim + d];
            }
            assert_true(rest > 0);
        }
        check_rule(&rule, known[r].degree);
        rule_destroy(&rule);
    }
    assert_int_equal(rule_create_symmetric(SHAPE_TET, 5, &rule), FACET_ERROR_INPUT);
    assert_int_equal(rule_create_symmetric(SHAPE_QUAD, 4, &rule), FACET_ERROR_INPUT);
}

static facet_status everything(void) {
    facet_status status = FACET_OK;
    struct rule collapsed = {0}, layers = {0}, few = {0};
    TRY(rule_create_collapsed_lobatto_radau(4, 3, &collapsed));
    TRY(rule_create_grundmann_moeller(SHAPE_TET, 2, &layers));
    TRY(rule_create_symmetric(SHAPE_TRIANGLE, 6, &few));
done:
    rule_destroy(&collapsed);
    rule_destroy(&layers);
    rule_destroy(&few);
    return status;
}

static void test_allocation_faults(void **state) {
    (void)state;
    struct base_memory before, after;
    base_memory_read(&before);
    facet_status status = FACET_ERROR_MACHINE;
    int k = 0;
    while (status != FACET_OK) {
        base_memory_fail_at(++k);
        status = everything();
        base_memory_read(&after);
        assert_int_equal(after.live_blocks, before.live_blocks);
        if (status != FACET_OK) assert_int_equal(status, FACET_ERROR_MACHINE);
    }
    base_memory_fail_at(0);
    assert_true(k > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lobatto_radau),
        cmocka_unit_test(test_grundmann_moeller),
        cmocka_unit_test(test_symmetric),
        cmocka_unit_test(test_allocation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
