/* Why a solve with multigrid failed: a smoother that diverges, a coarse solve that fails, a stall and an
 * exhausted number of iterations are told apart, by every solver, on every device and in both precisions;
 * allocation faults.
 */
#include "hdg_helpers.h"
#include "solve/multigrid.h"
#include "solve/solve_internal.h"

enum fault { NONE, SMOOTHER, COARSE_SIGN, COARSE_ZERO, COARSE_NAN, SINGULAR };

static const struct device *find(const char *name) {
    const struct device *device;
    ok(device_find(name, &device));
    return device;
}

/* factor times -u'' on n points; singular: without ends. */
static void chain_matrix(int64_t n, double factor, int singular, struct csr *csr) {
    int64_t at = 0;
    *csr = (struct csr){.n = n};
    ok(ALLOC(csr->offsets, n + 1));
    ok(ALLOC(csr->columns, 3 * n));
    ok(ALLOC(csr->values, 3 * n));
    for (int64_t i = 0; i < n; i++) {
        csr->offsets[i] = at;
        for (int64_t j = i - 1; j <= i + 1; j++) {
            if (j < 0 || j >= n) continue;
            int end = singular && (i == 0 || i == n - 1);
            csr->columns[at] = (int32_t)j;
            csr->values[at++] = factor * (i != j ? -1.0 : end ? 1.0 : 2.0);
        }
    }
    csr->offsets[n] = at;
}

/* From pairs of points; the last one is alone when n is odd. */
static void pairs(int64_t n, struct mg_transfer *P) {
    *P = (struct mg_transfer){.n_rows = n, .n_columns = (n + 1) / 2};
    ok(ALLOC(P->offsets, n + 1));
    ok(ALLOC(P->columns, n));
    ok(ALLOC(P->values, n));
    for (int64_t i = 0; i <= n; i++) P->offsets[i] = i;
    for (int64_t i = 0; i < n; i++) {
        P->columns[i] = (int32_t)(i / 2);
        P->values[i] = 1.0;
    }
}

/* A solve that is wrong on purpose. */
static void times_nan(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    (void)A;
    vector_axpby(NAN, x, 0.0, y);
}
static void times_zero(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    (void)A;
    (void)x;
    vector_fill(y, 0.0);
}
static void times_minus_one(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    (void)A;
    vector_axpby(-1.0, x, 0.0, y);
}

/* The operator that stands for the last level: the inverse of the Galerkin matrix, which is the chain again.
 */
static facet_status coarse_solve(const struct device *device, int64_t n, enum fault fault,
                                 struct linear_operator *solve) {
    facet_status status = FACET_OK;
    struct csr csr = {0};
    int64_t whole[2] = {0, n};
    *solve = (struct linear_operator){.n = n, .device = device};
    if (fault == COARSE_NAN || fault == COARSE_ZERO || fault == COARSE_SIGN) {
        solve->apply = fault == COARSE_NAN ? times_nan : fault == COARSE_ZERO ? times_zero : times_minus_one;
        return status;
    }
    chain_matrix(n, 1.0, fault == SINGULAR, &csr);
    if (fault == SINGULAR) csr.values[0] += 1.0; /* one end is held */
    TRY(operator_create_block_jacobi(device, &csr, 1, whole, solve));
done:
    csr_destroy(&csr);
    return status;
}

#define POINTS 64

/* Levels of 64, 32 and 16 points. The smoother of the second level may be made for a matrix four times
 * smaller. */
static facet_status make(const char *fine, const char *coarse, int single, enum fault fault,
                         struct linear_operator *A, struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct linear_operator own = {0}, D = {0}, S = {0}, scaled = {0}, last = {0};
    struct smoother smoother = {0};
    struct mg_transfer P = {0};
    struct csr csr = {0};
    struct multigrid *mg = NULL;
    TRY(multigrid_create(&mg));
    for (int level = 0; level < 2; level++) {
        int64_t n = POINTS >> level;
        const struct device *device = find(level == 0 ? fine : coarse);
        int rounded = single && level == 0, wrong = fault == SMOOTHER && level == 1;
        chain_matrix(n, 1.0, fault == SINGULAR, &csr);
        TRY(operator_create_csr(device, &csr, level == 0 ? A : &own));
        TRY(operator_create_jacobi(device, &csr, &D));
        csr_destroy(&csr);
        if (wrong) {
            chain_matrix(n, 0.25, 0, &csr);
            TRY(operator_create_csr(device, &csr, &scaled));
            csr_destroy(&csr);
        }
        if (rounded) {
            TRY(operator_create_single(A, &own));
            TRY(operator_create_single(&D, &S));
            operator_destroy(&D);
            D = S;
            S = (struct linear_operator){0};
        }
        const struct linear_operator *borrowed = level == 0 && !rounded ? A : NULL;
        TRY(smoother_create_chebyshev(wrong              ? &scaled
                                      : borrowed != NULL ? borrowed
                                                         : &own,
                                      &D, POLYNOMIAL_FIRST, 6.0, 2, &smoother));
        TRY(multigrid_append(mg, level == 0 ? "fine" : "middle", borrowed, borrowed != NULL ? NULL : &own,
                             &smoother));
        pairs(n, &P);
        TRY(multigrid_connect(mg, &P));
        mg_transfer_destroy(&P);
    }
    TRY(coarse_solve(find(coarse), POINTS / 4, fault, &last));
    TRY(multigrid_end(mg, "points", &last));
    TRY(multigrid_finish(mg));
    TRY(operator_create_multigrid(&mg, M));
done:
    csr_destroy(&csr);
    mg_transfer_destroy(&P);
    operator_destroy(&own);
    operator_destroy(&D);
    operator_destroy(&S);
    operator_destroy(&scaled);
    operator_destroy(&last);
    smoother_destroy(&smoother);
    multigrid_destroy(&mg);
    return status;
}

typedef facet_status solver(const struct linear_operator *A, const struct linear_operator *M,
                            const struct vector *b, struct vector *x, const struct solve_control *control,
                            struct solve_report *report);
static solver *const solvers[] = {solve_multigrid, solve_cg, solve_fgmres};

/* The reason contains all of these. */
static void expect(const struct solve_report *report, const char *const *texts) {
    for (; *texts != NULL; texts++)
        if (strstr(report->reason, *texts) == NULL)
            fail_msg("'%s' does not say '%s'", report->reason, *texts);
}

static void run(solver *method, const char *fine, const char *coarse, int single, enum fault fault, int limit,
                const char *const *texts) {
    struct linear_operator A = {0}, M = {0};
    struct vector b = {0}, x = {0};
    struct solve_report report = {0};
    struct solve_control control = {.rtol = 1e-9, .max_iterations = limit, .flexible = 1};
    ok(make(fine, coarse, single, fault, &A, &M));
    ok(vector_create(A.device, A.n, &b));
    ok(vector_create(A.device, A.n, &x));
    ok(solve_fill_noise(&b));
    vector_fill(&x, 0.0);
    if (fault == SINGULAR) vector_fill(&b, 1.0);
    facet_status status = method(&A, &M, &b, &x, &control, &report);
    assert_int_equal(status, texts[0] == NULL ? FACET_OK : FACET_NOT_CONVERGED);
    expect(&report, texts);
    if (status != FACET_OK) assert_non_null(strstr(base_message(), report.reason));
    solve_report_clear(&report);
    vector_destroy(&b);
    vector_destroy(&x);
    operator_destroy(&A);
    operator_destroy(&M);
}

static const char *const nothing[] = {NULL};
static const char *const smoother_text[] = {"smoother of level 1 (middle) diverges", "eigenvalues up to 0.5",
                                            NULL};
static const char *const coarse_text[] = {"coarse solve of level 2 (points) fails", "residual of", NULL};
static const char *const nan_text[] = {"coarse solve of level 2 (points) fails", "not finite", NULL};
static const char *const limit_text[] = {"the iteration limit was reached", NULL};

static void causes_are_told_apart(void **state) {
    (void)state;
    static const char *const devices[][2] = {{"cpu", "cpu"}, {"ref", "debug"}, {"debug", "cpu"}};
    for (int s = 0; s < 3; s++)
        for (int d = 0; d < 3; d++)
            for (int single = 0; single < 2; single++) {
                const char *fine = devices[d][0], *coarse = devices[d][1];
                run(solvers[s], fine, coarse, single, NONE, 200, nothing);
                run(solvers[s], fine, coarse, single, NONE, 2, limit_text);
                if (solvers[s] == solve_cg) /* finds the bound again, and goes on */
                    run(solvers[s], fine, coarse, single, SMOOTHER, 200, nothing);
                else
                    run(solvers[s], fine, coarse, single, SMOOTHER, 8, smoother_text);
                run(solvers[s], fine, coarse, single, COARSE_SIGN, 8, coarse_text);
                run(solvers[s], fine, coarse, single, COARSE_ZERO, 8, coarse_text);
                run(solvers[s], fine, coarse, single, COARSE_NAN, 8, nan_text);
            }
}

/* A right-hand side outside the range: all parts work, and nothing can be gained. */
static void a_stall_is_a_stall(void **state) {
    (void)state;
    static const char *const stall[] = {"the cycle no longer reduces the residual", NULL};
    run(solve_multigrid, "cpu", "cpu", 0, SINGULAR, 500, stall);
    run(solve_multigrid, "cpu", "debug", 1, SINGULAR, 500, stall);
    for (int s = 1; s < 3; s++) {
        struct linear_operator A = {0}, M = {0};
        const char *diagnosis = "";
        ok(make("cpu", "cpu", s - 1, SINGULAR, &A, &M));
        ok(multigrid_diagnose(operator_multigrid(&M), &diagnosis));
        assert_null(diagnosis);
        operator_destroy(&A);
        operator_destroy(&M);
    }
}

static void allocation_faults(void **state) {
    (void)state;
    static const enum fault faults[] = {NONE, SMOOTHER, COARSE_NAN};
    for (int f = 0; f < 3; f++) {
        struct linear_operator A = {0}, M = {0};
        ok(make("debug", "cpu", 1, faults[f], &A, &M));
        int64_t before = live_blocks();
        for (int64_t k = 1;; k++) {
            const char *diagnosis;
            base_memory_fail_at(k);
            facet_status status = multigrid_diagnose(operator_multigrid(&M), &diagnosis);
            base_memory_fail_at(0);
            assert_int_equal(live_blocks(), before);
            if (status == FACET_OK) {
                assert_true((diagnosis == NULL) == (f == 0));
                break;
            }
            assert_int_equal(status, FACET_ERROR_MACHINE);
        }
        operator_destroy(&A);
        operator_destroy(&M);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causes_are_told_apart),
        cmocka_unit_test(a_stall_is_a_stall),
        cmocka_unit_test(allocation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
