/* The coarse solve and what smoothers know of spectra: matrices from elements, a factor or algebraic
 * multigrid by size, bounds of eigenvalues, and the polynomials' own bounds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "solve/coarse.h"

#define OK(call) assert_int_equal(call, FACET_OK)

static const struct device *the_device(void) {
    const struct device *device;
    OK(device_find("cpu", &device));
    return device;
}

/* A chain of n cells of width 1, linear elements of -u'' + lambda u: a ring, or held at its first node. */
static facet_status make_chain(int n, int ring, double lambda, struct csr *csr) {
    struct csr_elements e;
    const double matrix[3] = {1.0 + lambda / 3.0, -1.0 + lambda / 6.0, 1.0 + lambda / 3.0};
    facet_status status = csr_elements_create(n, n, 2, 0, &e);
    for (int c = 0; status == FACET_OK && c < n; c++) {
        int64_t numbers[2] = {ring ? c : c - 1, ring ? (c + 1) % n : c};
        csr_elements_add(&e, 2, numbers, matrix);
    }
    if (status == FACET_OK) status = csr_from_elements(&e, csr);
    csr_elements_destroy(&e);
    return status;
}

/* A ring of one cell has one unknown, of which the two ends' entries are all added up. */
static void elements_meet(void **state) {
    (void)state;
    for (int n = 1; n <= 4; n++) {
        struct csr csr = {0};
        OK(make_chain(n, 1, 0.6, &csr));
        assert_int_equal(csr.n, n);
        for (int64_t i = 0; i < n; i++) {
            double sum = 0.0; /* of a row: lambda times the integral of a function */
            assert_int_equal(csr.offsets[i + 1] - csr.offsets[i], n < 3 ? n : 3);
            for (int64_t k = csr.offsets[i]; k < csr.offsets[i + 1]; k++) sum += csr.values[k];
            assert_true(fabs(sum - 0.6) < 1e-14);
        }
        csr_destroy(&csr);
        OK(make_chain(n, 0, 0.0, &csr));
        assert_true(csr.values[0] == (n > 1 ? 2.0 : 1.0));
        csr_destroy(&csr);
    }
}

static facet_status solve_chain(int n, int ring, const struct coarse_options *options, int *factored,
                                int *iterations) {
    facet_status status = FACET_OK;
    struct coarse_matrix last = {.name = "chain", .singular = ring};
    struct linear_operator A = {0}, M = {0};
    struct vector b = {0}, x = {0};
    struct null_space constants = {0};
    struct solve_report report = {0};
    struct solve_control control = {
        .rtol = 1e-10, .max_iterations = 100, .null_space = ring ? &constants : NULL};
    TRY(make_chain(n, ring, 0.0, &last.csr));
    TRY(operator_create_csr(the_device(), &last.csr, &A));
    TRY(operator_create_coarse(the_device(), &last, options, &M));
    TRY(vector_create(the_device(), n, &b));
    TRY(vector_create(the_device(), n, &x));
    TRY(vector_create(the_device(), n, &constants.function));
    vector_fill(&constants.function, 1.0 / sqrt(n));
    vector_fill(&x, 0.0);
    TRY(solve_fill_noise(&b));
    TRY(solve_cg(&A, &M, &b, &x, &control, &report));
    *factored = operator_multigrid(&M) == NULL;
    *iterations = report.iterations;
done:
    coarse_matrix_destroy(&last);
    operator_destroy(&A);
    operator_destroy(&M);
    vector_destroy(&b);
    vector_destroy(&x);
    null_space_destroy(&constants);
    solve_report_clear(&report);
    return status;
}

/* n unknowns under every wish; what AUTO makes of the limits. */
static void size_decides(void **state) {
    (void)state;
    const struct {
        struct coarse_options options;
        int factored;
    } rows[] = {{{.wish = COARSE_FACTOR, .unknowns = 1}, 1},
                {{.wish = COARSE_AMG}, 0},
                {{.unknowns = 1000}, 1},
                {{.unknowns = 999}, 0},
                {{.unknowns = 999, .cycle = MG_W}, 0},
                {{.fine_bytes = 1.0}, 1},
                {{.locking = 1}, 1},
                {{.unknowns = 999, .locking = 1}, 0}};
    for (int ring = 0; ring < 2; ring++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            int factored = -1, iterations = -1;
            OK(solve_chain(1000, ring, &rows[i].options, &factored, &iterations));
            assert_int_equal(factored, rows[i].factored);
            assert_true(iterations <= (factored ? 2 : 60));
        }
    struct coarse_options small = {.fine_bytes = 1e6};
    assert_true(coarse_is_worth_ordering(&small, 1000, 1e5));
    assert_false(coarse_is_worth_ordering(&small, 1000, 1e6));
    small.locking = 1;
    assert_true(coarse_is_worth_ordering(&small, 1000, 1e6));
}

static void nothing_is_solved(void **state) {
    (void)state;
    struct coarse_matrix none = {0};
    struct linear_operator M;
    OK(operator_create_coarse(the_device(), &none, &(struct coarse_options){0}, &M));
    operator_apply(&M, NULL, NULL);
    operator_destroy(&M);
}

/* The chain held at one end, scaled by its diagonal: 1 - cos(theta), theta = (j - 1/2) pi / N. */
static void spectra_are_bounded(void **state) {
    (void)state;
    enum { N = 200 };
    struct csr csr = {0};
    struct linear_operator A, D;
    struct vector work[4], *vectors[4];
    double top, largest = 1.0 + cos(acos(-1.0) / (2.0 * N));
    OK(make_chain(N, 0, 0.0, &csr));
    OK(operator_create_csr(the_device(), &csr, &A));
    OK(operator_create_jacobi(the_device(), &csr, &D));
    for (int i = 0; i < 4; i++) OK(vector_create(the_device(), N, vectors[i] = &work[i]));
    OK(solve_fill_noise(&work[0]));
    solve_eigenvalue_bounds(&A, &D, 10, vectors, NULL, &top);
    assert_true(top > largest && top < 1.15 * largest);
    for (int i = 0; i < 4; i++) vector_destroy(&work[i]);
    operator_destroy(&A);
    operator_destroy(&D);
    csr_destroy(&csr);
}

/* What is left of an error after the recurrence, for the eigenvalue lambda. */
static double remainder_of(double lambda, int degree, const double *a, const double *b) {
    double e = 1.0, d = 0.0;
    for (int k = 0; k < degree; k++) {
        d = a[k] * lambda * e + b[k] * d;
        e -= d;
    }
    return e;
}

/* FIRST: at most 1 / T_n on its interval, and that at the ends; FOURTH: at most sqrt(top / lambda) /
 * (2 n + 1). */
static void polynomials_keep_their_bounds(void **state) {
    (void)state;
    double a[MG_MAX_DEGREE], b[MG_MAX_DEGREE], top = 1.7, ratio = 8.0;
    for (int degree = 1; degree <= MG_MAX_DEGREE; degree++) {
        double bound = 1.0 / cosh(degree * acosh((ratio + 1.0) / (ratio - 1.0)));
        polynomial_coefficients(POLYNOMIAL_FIRST, top, ratio, degree, a, b);
        for (int i = 0; i <= 400; i++) {
            double lambda = top / ratio + i / 400.0 * (top - top / ratio);
            assert_true(fabs(remainder_of(lambda, degree, a, b)) <= bound * (1.0 + 1e-9) + 1e-14);
        }
        assert_true(fabs(remainder_of(top / ratio, degree, a, b) - bound) <= 1e-9 * bound + 1e-14);
        polynomial_coefficients(POLYNOMIAL_FOURTH, top, 1.0, degree, a, b);
        for (int i = 1; i <= 400; i++) {
            double lambda = i / 400.0 * top;
            assert_true(fabs(remainder_of(lambda, degree, a, b)) <=
                        sqrt(top / lambda) / (2.0 * degree + 1.0) + 1e-12);
        }
    }
}

/* Every allocation fails in turn; nothing may be left behind. */
static void memory_faults_leave_nothing(void **state) {
    (void)state;
    struct coarse_options options = {0};
    for (int amg = 0; amg < 2; amg++) {
        facet_status status = FACET_ERROR_MACHINE;
        options.wish = amg ? COARSE_AMG : COARSE_FACTOR;
        for (int64_t k = 1; status != FACET_OK; k++) {
            struct base_memory before, after;
            int factored, iterations;
            base_memory_read(&before);
            base_memory_fail_at(k);
            status = solve_chain(400, 1, &options, &factored, &iterations);
            base_memory_fail_at(0);
            base_memory_read(&after);
            assert_int_equal(before.live_blocks, after.live_blocks);
            assert_true(status == FACET_OK || status == FACET_ERROR_MACHINE);
            assert_true(k < 10000);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_meet),
        cmocka_unit_test(size_decides),
        cmocka_unit_test(nothing_is_solved),
        cmocka_unit_test(spectra_are_bounded),
        cmocka_unit_test(polynomials_keep_their_bounds),
        cmocka_unit_test(memory_faults_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
