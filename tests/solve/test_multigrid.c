/* Cycles of multigrid against their definition, symmetry, levels on other devices and in single precision. */
#include <stdio.h>

#include "multigrid_helpers.h"
#include "solve/multigrid.h"

/* ------------------------------------------------------------------------------------------ a chain */

/* -u'' on n = 2^levels - 1 points, and linear interpolation between such chains. */
static void chain_matrix(int64_t n, struct csr *csr) {
    double scale = (double)(n + 1);
    int64_t at = 0;
    *csr = (struct csr){.n = n};
    ok(ALLOC(csr->offsets, n + 1));
    ok(ALLOC(csr->columns, 3 * n));
    ok(ALLOC(csr->values, 3 * n));
    for (int64_t i = 0; i < n; i++) {
        csr->offsets[i] = at;
        for (int64_t j = i - 1; j <= i + 1; j++) {
            if (j < 0 || j >= n) continue;
            csr->columns[at] = (int32_t)j;
            csr->values[at++] = i == j ? 2.0 * scale : -scale;
        }
    }
    csr->offsets[n] = at;
}

static void chain_transfer(int64_t n_coarse, struct mg_transfer *P) {
    int64_t n = 2 * n_coarse + 1, at = 0;
    *P = (struct mg_transfer){.n_rows = n, .n_columns = n_coarse};
    ok(ALLOC(P->offsets, n + 1));
    ok(ALLOC(P->columns, 3 * n_coarse));
    ok(ALLOC(P->values, 3 * n_coarse));
    for (int64_t i = 0; i < n; i++) {
        P->offsets[i] = at;
        for (int64_t j = (i - 1) / 2; j <= i / 2; j++) {
            if (j < 0 || j >= n_coarse || (i % 2 == 1 && j != i / 2) || (i == 0 && j > 0)) continue;
            P->columns[at] = (int32_t)j;
            P->values[at++] = i % 2 == 1 ? 1.0 : 0.5;
        }
    }
    P->offsets[n] = at;
}

/* Levels of chains from the device `fine` to `coarse`; the matrix of the finest one stays in *A. */
static facet_status chain_multigrid(const struct device *fine, const struct device *coarse, int n_levels,
                                    int single, struct linear_operator *A, struct multigrid **mg) {
    facet_status status = FACET_OK;
    struct linear_operator own = {0}, twin = {0}, D = {0}, last = {0};
    struct smoother smoother = {0};
    struct mg_transfer P = {0};
    struct csr csr = {0};
    int64_t whole[2] = {0, 0};
    TRY(multigrid_create(mg));
    for (int l = n_levels; l > 0; l--) {
        int64_t n = ((int64_t)1 << (l + 1)) - 1;
        const struct device *device = l > n_levels / 2 ? fine : coarse;
        chain_matrix(n, &csr);
        if (l == 1) {
            whole[1] = n;
            TRY(operator_create_block_jacobi(device, &csr, 1, whole, &last));
            TRY(multigrid_end(*mg, "chain", &last));
            csr_destroy(&csr);
            break;
        }
        TRY(operator_create_csr(device, &csr, l == n_levels ? A : &own));
        TRY(operator_create_jacobi(device, &csr, &D));
        csr_destroy(&csr);
        if (single && l > n_levels / 2) {
            TRY(operator_create_single(&D, &twin));
            operator_destroy(&D);
            D = twin;
            TRY(operator_create_single(l == n_levels ? A : &own, &twin));
            operator_destroy(&own);
            own = twin;
            twin = (struct linear_operator){0};
        }
        const struct linear_operator *borrowed = l == n_levels && !single ? A : NULL;
        TRY(smoother_create_chebyshev(borrowed != NULL ? borrowed : &own, &D, POLYNOMIAL_FOURTH, 1.0, 2,
                                      &smoother));
        TRY(multigrid_append(*mg, "chain", borrowed, borrowed != NULL ? NULL : &own, &smoother));
        chain_transfer((n - 1) / 2, &P);
        TRY(multigrid_connect(*mg, &P));
        mg_transfer_destroy(&P);
    }
    TRY(multigrid_finish(*mg));
done:
    csr_destroy(&csr);
    mg_transfer_destroy(&P);
    operator_destroy(&own);
    operator_destroy(&D);
    operator_destroy(&last);
    smoother_destroy(&smoother);
    if (status != FACET_OK) {
        operator_destroy(A);
        multigrid_destroy(mg);
    }
    return status;
}

static void cycles_are_symmetric_and_converge_alike_on_all_sizes(void **state) {
    (void)state;
    static const enum mg_cycle cycles[] = {MG_V, MG_W, MG_F, MG_FULL};
    for (int c = 0; c < 4; c++) {
        double rates[2];
        for (int size = 0; size < 2; size++) {
            struct linear_operator A = {0}, M = {0};
            struct multigrid *mg;
            struct vector b = {0}, x = {0};
            struct solve_report report = {0};
            struct solve_control control = {.rtol = 1e-10, .max_iterations = 60};
            ok(chain_multigrid(find("cpu"), find("cpu"), size == 0 ? 5 : 9, 0, &A, &mg));
            ok(multigrid_set_cycle(mg, cycles[c]));
            assert_int_equal(multigrid_is_flexible(mg), cycles[c] == MG_FULL || cycles[c] == MG_F);
            ok(operator_create_multigrid(&mg, &M));
            assert_null(mg);
            if (!multigrid_is_flexible(operator_multigrid(&M))) check_symmetric(&M, 1e-12);
            ok(vector_create(A.device, A.n, &b));
            ok(vector_create(A.device, A.n, &x));
            ok(solve_fill_noise(&b));
            vector_fill(&x, 0.0);
            ok(solve_multigrid(&A, &M, &b, &x, &control, &report));
            rates[size] = report.rate;
            if (!(report.rate < 0.25)) fail_msg("cycle %d, size %d: rate %.3f", c, size, report.rate);
            solve_report_clear(&report);
            vector_fill(&x, 0.0);
            control.flexible = 1;
            ok(solve_cg(&A, &M, &b, &x, &control, &report));
            assert_true(report.iterations <= 10);
            solve_report_clear(&report);
            vector_destroy(&b);
            vector_destroy(&x);
            operator_destroy(&M);
            operator_destroy(&A);
        }
        assert_true(rates[1] < rates[0] + 0.05);
    }
}

/* One V-cycle of two levels, written out with dense loops. */
static void a_cycle_is_what_it_says(void **state) {
    (void)state;
    struct linear_operator A = {0}, M = {0};
    struct multigrid *mg;
    struct csr fine, coarse;
    struct mg_transfer P;
    enum { N = 7, C = 3 };
    double f[N], x[N] = {0}, out[N], r[N], d[N], rc[C], full[C * C];
    uint32_t seed = 1;
    ok(chain_multigrid(find("ref"), find("ref"), 2, 0, &A, &mg));
    struct mg_summary summary;
    multigrid_summarize(mg, 0, &summary);
    ok(operator_create_multigrid(&mg, &M));
    chain_matrix(N, &fine);
    chain_matrix(C, &coarse);
    chain_transfer(C, &P);
    noise(&seed, N, f);
    apply(&M, f, out);
    for (int pass = 0; pass < 2; pass++) {
        memset(d, 0, sizeof d);
        for (int k = 0; k < 2; k++) { /* Chebyshev of the fourth kind over the diagonal, 2 (N + 1) */
            for (int i = 0; i < N; i++) {
                r[i] = f[i];
                for (int64_t e = fine.offsets[i]; e < fine.offsets[i + 1]; e++)
                    r[i] -= fine.values[e] * x[fine.columns[e]];
            }
            for (int i = 0; i < N; i++)
                d[i] = (2.0 * k - 1.0) / (2.0 * k + 3.0) * (k > 0 ? d[i] : 0.0) +
                       (8.0 * k + 4.0) / (2.0 * k + 3.0) / summary.top * r[i] / (2.0 * (N + 1));
            for (int i = 0; i < N; i++) x[i] += d[i];
        }
        if (pass == 1) break;
        memset(rc, 0, sizeof rc);
        memset(full, 0, sizeof full);
        for (int i = 0; i < N; i++) {
            r[i] = f[i];
            for (int64_t e = fine.offsets[i]; e < fine.offsets[i + 1]; e++)
                r[i] -= fine.values[e] * x[fine.columns[e]];
            for (int64_t e = P.offsets[i]; e < P.offsets[i + 1]; e++) rc[P.columns[e]] += P.values[e] * r[i];
        }
        for (int i = 0; i < C; i++)
            for (int64_t e = coarse.offsets[i]; e < coarse.offsets[i + 1]; e++)
                full[i * C + coarse.columns[e]] = coarse.values[e];
        for (int i = 0; i < C; i++) { /* elimination */
            for (int j = i + 1; j < C; j++) {
                double q = full[j * C + i] / full[i * C + i];
                for (int k = 0; k < C; k++) full[j * C + k] -= q * full[i * C + k];
                rc[j] -= q * rc[i];
            }
        }
        for (int i = C - 1; i >= 0; i--) {
            for (int j = i + 1; j < C; j++) rc[i] -= full[i * C + j] * rc[j];
            rc[i] /= full[i * C + i];
        }
        for (int i = 0; i < N; i++)
            for (int64_t e = P.offsets[i]; e < P.offsets[i + 1]; e++) x[i] += P.values[e] * rc[P.columns[e]];
    }
    for (int i = 0; i < N; i++) near(out[i], x[i], 1e-14);
    csr_destroy(&fine);
    csr_destroy(&coarse);
    mg_transfer_destroy(&P);
    operator_destroy(&M);
    operator_destroy(&A);
}

static void levels_live_on_other_devices_and_in_single_precision(void **state) {
    (void)state;
    static const char *const devices[3][2] = {{"cpu", "debug"}, {"debug", "ref"}, {"debug", "debug"}};
    double f[127], expected[127], out[127];
    uint32_t seed = 3;
    noise(&seed, 127, f);
    for (int k = -1; k < 3; k++)
        for (int single = 0; single < 2; single++) {
            struct linear_operator A = {0}, M = {0};
            struct multigrid *mg;
            ok(chain_multigrid(find(k < 0 ? "ref" : devices[k][0]), find(k < 0 ? "ref" : devices[k][1]), 6,
                               single, &A, &mg));
            ok(operator_create_multigrid(&mg, &M));
            apply(&M, f, k < 0 && !single ? expected : out);
            ok(multigrid_failure(operator_multigrid(&M)));
            for (int i = 0; i < 127 && (k >= 0 || single); i++)
                near(out[i], expected[i], single ? 3e-6 : 1e-13);
            operator_destroy(&M);
            operator_destroy(&A);
        }
}

static void wrong_lists_are_refused(void **state) {
    (void)state;
    struct multigrid *mg;
    struct mg_transfer P;
    struct csr csr;
    struct linear_operator A = {0}, last = {0};
    struct smoother smoother = {0};
    int64_t whole[2] = {0, 7};
    chain_matrix(7, &csr);
    chain_transfer(1, &P); /* 3 x 1: does not fit */
    ok(multigrid_create(&mg));
    refused(multigrid_finish(mg), FACET_ERROR_INPUT, "no coarsest level");
    ok(operator_create_csr(find("cpu"), &csr, &A));
    ok(multigrid_append(mg, "seven", NULL, &A, &smoother));
    refused(multigrid_connect(mg, &P), FACET_ERROR_INPUT, "3 rows for 7 unknowns");
    ok(operator_create_block_jacobi(find("cpu"), &csr, 1, whole, &last));
    refused(multigrid_end(mg, "end", &last), FACET_ERROR_INPUT, "0 columns");
    multigrid_destroy(&mg);
    csr_destroy(&csr);
    mg_transfer_destroy(&P);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_are_symmetric_and_converge_alike_on_all_sizes),
        cmocka_unit_test(a_cycle_is_what_it_says),
        cmocka_unit_test(levels_live_on_other_devices_and_in_single_precision),
        cmocka_unit_test(wrong_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
