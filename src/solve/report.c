/* What solves report, and direct solves with refinement, which judge themselves by the true residual. */
#include <math.h>

#include "base/memory.h"
#include "solve/internal.h"

void solve_report_clear(struct solve_report *report) {
    base_free(&report->history);
    *report = (struct solve_report){.reason = "not started", .error = -1.0};
}

static facet_status add_residual(struct solve_report *report, double residual) {
    if (report->n_history == report->history_capacity) {
        int capacity = report->history_capacity > 0 ? 2 * report->history_capacity : 64;
        facet_status status = base_realloc(&report->history, (size_t)capacity, sizeof *report->history);
        if (status != FACET_OK) return status;
        report->history_capacity = capacity;
    }
    report->history[report->n_history++] = residual;
    return FACET_OK;
}

facet_status solve_finish(struct solve_report *report, int converged, const char *reason, double residual) {
    if (converged && !isfinite(residual)) {
        converged = 0;
        reason = "a value is not finite; are the data within the range of double precision?";
    }
    report->converged = converged;
    report->reason = reason;
    report->residual = residual;
    double first = report->n_history > 0 ? report->history[0] : 1.0;
    int n = report->iterations;
    report->rate = n > 0 && first > 0.0 && residual > 0.0 ? pow(residual / first, 1.0 / n) : 0.0;
    if (converged) return FACET_OK;
    return base_fail(FACET_NOT_CONVERGED,
                     "the solve did not converge: %s after %d iterations, relative residual %.2e", reason,
                     report->iterations, residual);
}

facet_status solve_record(const struct solve_control *control, struct solve_report *report, double residual) {
    report->residual = residual;
    base_report_iteration(control->monitor, report->iterations, residual);
    facet_status status = add_residual(report, residual);
    if (status == FACET_OK) status = base_check_interrupt();
    if (status == FACET_INTERRUPTED) report->reason = "interrupted";
    return status;
}

static facet_status refine(const struct operator* A, solve_correction *correct, void *data,
                           const struct vector *b, struct vector *x, const struct solve_control *control,
                           struct solve_report *report) {
    facet_status status = FACET_OK;
    struct vector r = {0}, d = {0};
    solve_report_clear(report);
    TRY(vector_create(b->device, b->n, &r));
    TRY(vector_create(b->device, b->n, &d));
    double scale = vector_norm(b), norm = scale, before;
    vector_fill(x, 0.0);
    if (scale == 0.0) {
        status = solve_finish(report, 1, "the right-hand side is zero", 0.0);
        goto done;
    }
    vector_axpby(1.0, b, 0.0, &r);
    TRY(solve_record(control, report, 1.0));
    const char *reason = "the tolerance was reached";
    do {
        before = norm;
        TRY(correct(data, &r, &d));
        vector_axpby(1.0, &d, 1.0, x);
        solve_remove_kernel(control, SOLVE_UNKNOWNS, x);
        norm = solve_true_residual(A, b, x, control, &r);
        report->iterations++;
        TRY(solve_record(control, report, norm / scale));
    } while (norm > control->rtol * scale && norm < 0.5 * before &&
             report->iterations < control->max_iterations);
    if (!(norm <= control->rtol * scale)) {
        int limit = norm < 0.5 * before;
        if (limit || !solve_is_rounding(A, b, x, control, norm / scale, &r, &d)) {
            reason = limit ? "the iteration limit was reached" : solve_stall_reason(norm);
            status = solve_finish(report, 0, reason, norm / scale);
            goto done;
        }
        reason = solve_rounding_reason;
    }
    double error;
    TRY(solve_estimate(A, correct, data, b, x, control, &d, &r, &error));
    status = solve_accept(control, reason, norm / scale, error, report);
done:
    vector_destroy(&r);
    vector_destroy(&d);
    return status;
}

struct cholesky_correction {
    struct cholesky *cholesky;
    double *host; /* two vectors */
};

static facet_status correct_by_cholesky(void *data, const struct vector *r, struct vector *d) {
    facet_status status = FACET_OK;
    const struct cholesky_correction *c = data;
    TRY(vector_download(r, c->host));
    TRY(cholesky_solve(c->cholesky, c->host, c->host + r->n));
    TRY(vector_upload(d, c->host + r->n));
done:
    return status;
}

facet_status solve_direct(const struct operator* A, struct cholesky *cholesky, const struct vector *b,
                          struct vector *x, const struct solve_control *control,
                          struct solve_report *report) {
    struct cholesky_correction c = {.cholesky = cholesky};
    facet_status status = ALLOC(c.host, 2 * b->n);
    if (status == FACET_OK) status = refine(A, correct_by_cholesky, &c, b, x, control, report);
    base_free(&c.host);
    return status;
}

facet_status solve_refined(const struct operator* A, struct operator* inverse, const struct vector *b,
                           struct vector *x, const struct solve_control *control,
                           struct solve_report *report) {
    return refine(A, solve_apply, inverse, b, x, control, report);
}
