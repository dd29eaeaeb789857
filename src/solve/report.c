/* What solves report, and direct solves with refinement, which judge themselves by the true residual. */
#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "solve/external.h"
#include "solve/solve_internal.h"

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
                     "the solve did not converge: %s after %d iteration%s, relative residual %.2e", reason,
                     report->iterations, report->iterations == 1 ? "" : "s", residual);
}

facet_status solve_nothing(double norm, const struct vector *b, struct vector *x,
                           struct solve_report *report) {
    if (norm > SOLVE_LEAST) {
        vector_fill(x, 0.0);
        report->reason = "the right-hand side is too large";
        return base_fail(
            FACET_ERROR_INPUT,
            "the right-hand side that the data make is too large, %.1e: squares of numbers above "
            "%g are infinite in double precision; use other units",
            norm, 1.0 / SOLVE_LEAST);
    }
    vector_axpby(0x1p500, b, 0.0, x);
    vector_axpby(0.0, x, 0x1p250, x); /* so that the least of all numbers has a square */
    norm = vector_norm(x);
    vector_fill(x, 0.0);
    if (norm == 0.0) return solve_finish(report, 1, "the right-hand side is zero", 0.0);
    report->reason = "the right-hand side is too small";
    return base_fail(FACET_NOT_CONVERGED,
                     "the right-hand side is too small: squares of numbers below 1e-150 are zero in double "
                     "precision; use other units");
}

facet_status solve_record(const struct solve_control *control, struct solve_report *report, double residual) {
    report->residual = residual;
    base_report_iteration(control->monitor, report->iterations, residual);
    facet_status status = add_residual(report, residual);
    if (status == FACET_OK) status = base_check_interrupt();
    if (status == FACET_INTERRUPTED) report->reason = "interrupted";
    return status;
}

struct refinement {
    const struct linear_operator *A;
    solve_correction *correct;
    const void *data;
    const struct vector *b;
    struct vector *x;
    const struct solve_control *control;
    struct solve_report *report;
    const struct linear_operator *inverse; /* of control->elsewhere, or NULL, */
    int before;                            /* and the iterations that it had made */
    int steps;
    int sharp;  /* A x is more accurate than a correction */
    int probed; /* r is SOLVE_PROBE (b - A x), with its rounding */
    struct vector *r, *d;
    double scale, norm; /* of b; of b - A x */
};

static void find_residual(struct refinement *s, int probed) {
    s->probed = probed;
    if (probed) {
        solve_probe(s->A, s->b, s->x, s->control, s->d, s->r);
        s->norm = solve_norm(s->A, s->r) / SOLVE_PROBE;
    } else {
        s->norm = solve_true_residual(s->A, s->b, s->x, s->control, s->r);
    }
}

/* The first step is the solution of b. After it no correction has seen the rounding of a product yet: the
 * residual of the probe is as true as any, and it is what the estimate wants; so it is later on where
 * corrections are no less accurate than products. */
static facet_status take_step(struct refinement *s) {
    facet_status status = FACET_OK;
    int first = s->steps == 0;
    if (first) {
        TRY(s->correct(s->data, s->b, s->x));
    } else {
        TRY(s->correct(s->data, s->r, s->d));
        vector_axpby(s->probed ? 1.0 / SOLVE_PROBE : 1.0, s->d, 1.0, s->x);
    }
    null_space_remove(s->control->null_space, SOLVE_UNKNOWNS, s->x);
    find_residual(s, first || !s->sharp);
    s->steps++;
    s->report->iterations =
        s->inverse != NULL ? s->control->external->iterations(s->inverse) - s->before : s->steps;
    TRY(solve_record(s->control, s->report, s->norm / s->scale));
done:
    return status;
}

/* An error above this is worth a step more, as long as it falls: where the matrix is ill-conditioned (a
 * slender body) a residual of rtol says little. */
#define SHARP 1e-12

static facet_status sharpen(struct refinement *s, double *error) {
    facet_status status = FACET_OK;
    double before = 1.0 / DBL_EPSILON;
    for (;;) {
        if (!s->probed) solve_probe(s->A, s->b, s->x, s->control, s->d, s->r);
        s->probed = 0;
        TRY(solve_weigh(s->A, s->correct, s->data, s->x, s->control, s->d, s->r, error));
        if (*error <= SHARP || !(*error < 0.5 * before) ||
            s->report->iterations >= s->control->max_iterations)
            break;
        before = *error;
        find_residual(s, 0);
        TRY(take_step(s));
    }
    TRY(solve_draw_again(s->A, s->correct, s->data, s->x, s->control, s->d, s->r, error));
done:
    return status;
}

static facet_status estimate(struct refinement *s, double *error) {
    const struct linear_operator *rough = s->control->rough;
    return solve_weigh(s->A, rough != NULL ? solve_apply : s->correct, rough != NULL ? rough : s->data, s->x,
                       s->control, s->d, s->r, error);
}

static facet_status refine(struct refinement *s) {
    facet_status status = FACET_OK;
    double before;
    struct solve_work *own = NULL, **work = s->control->work != NULL ? s->control->work : &own;
    solve_report_clear(s->report);
    if (*work == NULL) TRY(CALLOC(*work, 1));
    s->r = &(*work)->r;
    s->d = &(*work)->z;
    TRY(solve_fit(s->A, s->r));
    TRY(solve_fit(s->A, s->d));
    s->scale = s->norm = solve_norm(s->A, s->b);
    if (solve_is_extreme(s->scale)) {
        status = solve_nothing(s->scale, s->b, s->x, s->report);
        goto done;
    }
    TRY(solve_record(s->control, s->report, 1.0));
    const char *reason = "the tolerance was reached";
    double wanted = s->control->rtol * s->scale;
    do {
        before = s->norm;
        TRY(take_step(s));
    } while (s->norm > wanted && s->norm < 0.5 * before &&
             s->report->iterations < s->control->max_iterations);
    if (!(s->norm <= wanted)) {
        int limit = s->norm < 0.5 * before;
        double residual = s->norm / s->scale;
        if (limit || !solve_is_rounding(s->A, s->b, s->x, s->control, residual, s->r, s->d)) {
            reason = limit                ? "the iteration limit was reached"
                     : s->inverse != NULL ? s->control->external->ending(s->inverse)
                                          : solve_stall_reason(s->norm);
            status = solve_finish(s->report, 0, reason, residual);
            goto done;
        }
        reason = solve_rounding_reason;
        find_residual(s, 1);
    }
    double error;
    TRY(s->sharp ? sharpen(s, &error) : estimate(s, &error));
    status = solve_accept(s->control, reason, s->norm / s->scale, error, s->report);
done:
    solve_work_destroy(&own);
    return status;
}

struct cholesky_correction {
    struct cholesky *cholesky;
    double *host; /* two vectors */
};

static facet_status correct_by_cholesky(const void *data, const struct vector *r, struct vector *d) {
    facet_status status = FACET_OK;
    const struct cholesky_correction *c = data;
    TRY(vector_download(r, c->host));
    TRY(cholesky_solve(c->cholesky, c->host, c->host + r->n));
    TRY(vector_upload(d, c->host + r->n));
done:
    return status;
}

facet_status solve_direct(const struct linear_operator *A, struct cholesky *cholesky, const struct vector *b,
                          struct vector *x, const struct solve_control *control,
                          struct solve_report *report) {
    struct cholesky_correction c = {.cholesky = cholesky};
    facet_status status = ALLOC(c.host, 2 * b->n);
    struct refinement s = {.A = A,
                           .correct = correct_by_cholesky,
                           .sharp = 1,
                           .data = &c,
                           .b = b,
                           .x = x,
                           .control = control,
                           .report = report};
    if (status == FACET_OK) status = refine(&s);
    base_free(&c.host);
    return status;
}

facet_status solve_refined(const struct linear_operator *A, struct linear_operator *inverse,
                           const struct vector *b, struct vector *x, const struct solve_control *control,
                           struct solve_report *report) {
    const struct solve_external *external = control->external;
    struct refinement s = {.A = A,
                           .inverse = external != NULL ? inverse : NULL,
                           .before = external != NULL ? external->iterations(inverse) : 0,
                           .correct = solve_apply,
                           .data = inverse,
                           .b = b,
                           .x = x,
                           .control = control,
                           .report = report};
    return refine(&s);
}
