/* Conjugate gradients, and the direct solve with refinement: both judge themselves by the true residual. */
#include <math.h>

#include "base/memory.h"
#include "solve/internal.h"

void solve_report_clear(struct solve_report *report) {
    base_free(&report->history);
    *report = (struct solve_report){.reason = "not started"};
}

facet_status solve_report_add(struct solve_report *report, double residual) {
    if (report->n_history == report->history_capacity) {
        int capacity = report->history_capacity > 0 ? 2 * report->history_capacity : 64;
        facet_status status = base_realloc(&report->history, (size_t)capacity, sizeof *report->history);
        if (status != FACET_OK) return status;
        report->history_capacity = capacity;
    }
    report->history[report->n_history++] = residual;
    return FACET_OK;
}

void solve_remove_kernel(const struct vector *kernel, struct vector *x) {
    if (kernel != NULL) vector_axpby(-vector_dot(kernel, x), kernel, 1.0, x);
}

double solve_true_residual(const struct operator* A, const struct vector *b, const struct vector *x,
                           const struct vector *kernel, struct vector *r) {
    operator_residual(A, b, x, r);
    solve_remove_kernel(kernel, r);
    return vector_norm(r);
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

/* Why a residual stays above the tolerance though nothing stopped the method. */
static const char *stalled(double residual) {
    return isfinite(residual) ? "the true residual no longer falls: the tolerance is below rounding"
                              : "a value is not finite";
}

facet_status solve_record(const struct solve_control *control, struct solve_report *report, double residual) {
    report->residual = residual;
    base_report_iteration(control->monitor, report->iterations, residual);
    facet_status status = solve_report_add(report, residual);
    if (status == FACET_OK) status = base_check_interrupt();
    if (status == FACET_INTERRUPTED) report->reason = "interrupted";
    return status;
}

struct cg_vectors {
    struct vector r, z, p, q;
};

static facet_status cg_create(const struct vector *b, int with_z, struct cg_vectors *v) {
    facet_status status = FACET_OK;
    TRY(vector_create(b->device, b->n, &v->r));
    TRY(vector_create(b->device, b->n, &v->p));
    TRY(vector_create(b->device, b->n, &v->q));
    if (with_z) TRY(vector_create(b->device, b->n, &v->z));
done:
    return status;
}

static void cg_destroy(struct cg_vectors *v) {
    vector_destroy(&v->r);
    vector_destroy(&v->z);
    vector_destroy(&v->p);
    vector_destroy(&v->q);
}

static const struct vector *precondition(const struct operator* M, const struct vector *kernel,
                                         struct cg_vectors *v) {
    if (M == NULL) return &v->r;
    operator_apply(M, &v->r, &v->z);
    solve_remove_kernel(kernel, &v->z);
    return &v->z;
}

/* Steps until the recursive residual meets the tolerance or something stops them; *reason is NULL in the
 * first case. Returns the recursive residual in *norm. */
static facet_status cg_sweep(const struct operator* A, const struct operator* M, struct vector *x,
                             const struct solve_control *control, double scale, struct cg_vectors *v,
                             struct solve_report *report, double *norm, const char **reason) {
    facet_status status = FACET_OK;
    const struct vector *z = precondition(M, control->kernel, v);
    double rz = vector_dot(&v->r, z);
    *reason = NULL;
    vector_axpby(1.0, z, 0.0, &v->p);
    while (*norm > control->rtol * scale) {
        if (report->iterations >= control->max_iterations) {
            *reason = "the iteration limit was reached";
            break;
        }
        operator_apply(A, &v->p, &v->q);
        double pq = vector_dot(&v->p, &v->q);
        if (!(pq > 0.0) || !(rz > 0.0)) {
            *reason = isfinite(pq) && isfinite(rz)
                          ? "the matrix or the preconditioner is not positive definite"
                          : "a value is not finite";
            break;
        }
        double alpha = rz / pq;
        vector_axpby(alpha, &v->p, 1.0, x);
        vector_axpby(-alpha, &v->q, 1.0, &v->r);
        solve_remove_kernel(control->kernel, &v->r);
        *norm = vector_norm(&v->r);
        report->iterations++;
        TRY(solve_record(control, report, *norm / scale));
        z = precondition(M, control->kernel, v);
        double rz_new = vector_dot(&v->r, z);
        /* The same number for a linear M; the second makes the directions conjugate for any M (FCG(1)). */
        double beta = control->flexible ? -vector_dot(z, &v->q) / pq : rz_new / rz;
        vector_axpby(1.0, z, beta, &v->p);
        rz = rz_new;
    }
done:
    return status;
}

/* Where coefficients jump by many orders of magnitude, |A||x| is so much larger than |b| that rounding alone
 * keeps the residual above the tolerance. A solve whose residual is rounding against |A||x| is as good as
 * double precision allows, and is taken, unless the caller asked for a tolerance that only speaks of
 * rounding.
 */
#define ROUNDING         1e-14
#define ROUGH_TOLERANCE  1e-12
#define LARGEST_RESIDUAL 1e-6
const char solve_rounding_reason[] = "the residual is rounding against the matrix times the solution";

/* Of A, from below, by a few power steps; r and d are overwritten, d being the start. */
static double largest_eigenvalue(const struct operator* A, struct vector *r, struct vector *d) {
    double size = vector_norm(d), value = 0.0;
    for (int k = 0; k < 10 && size > 0.0; k++) {
        vector_axpby(1.0 / size, d, 0.0, r);
        operator_apply(A, r, d);
        value = size = vector_norm(d);
    }
    return value;
}

int solve_is_rounding(const struct operator* A, const struct vector *x, const struct solve_control *control,
                      double norm, double scale, struct vector *r, struct vector *d) {
    if (control->rtol < ROUGH_TOLERANCE || !(norm <= LARGEST_RESIDUAL * scale)) return 0;
    vector_axpby(1.0, x, 0.0, d);
    return norm <= ROUNDING * (largest_eigenvalue(A, r, d) * vector_norm(x) + scale);
}

facet_status solve_cg(const struct operator* A, const struct operator* M, const struct vector *b,
                      struct vector *x, const struct solve_control *control, struct solve_report *report) {
    facet_status status = FACET_OK;
    struct cg_vectors v = {0};
    solve_report_clear(report);
    TRY(cg_create(b, M != NULL, &v));
    solve_remove_kernel(control->kernel, x);
    double scale = vector_norm(b);
    if (scale == 0.0) {
        vector_fill(x, 0.0);
        status = solve_finish(report, 1, "the right-hand side is zero", 0.0);
        goto done;
    }
    double norm = solve_true_residual(A, b, x, control->kernel, &v.r), before;
    TRY(solve_record(control, report, norm / scale));
    do { /* a sweep, then the truth; rounding may call for another sweep from there */
        const char *reason;
        before = norm;
        TRY(cg_sweep(A, M, x, control, scale, &v, report, &norm, &reason));
        norm = solve_true_residual(A, b, x, control->kernel, &v.r);
        if (norm <= control->rtol * scale) {
            status = solve_finish(report, 1, "the tolerance was reached", norm / scale);
            goto done;
        }
        if (reason != NULL) {
            status = solve_fail(report, M, reason, norm / scale);
            goto done;
        }
    } while (norm < 0.5 * before);
    status = solve_is_rounding(A, x, control, norm, scale, &v.q, &v.p)
                 ? solve_finish(report, 1, solve_rounding_reason, norm / scale)
                 : solve_fail(report, M, stalled(norm), norm / scale);
done:
    cg_destroy(&v);
    return status;
}

/* d = the direct solution for r. */
typedef facet_status correction(void *data, const struct vector *r, struct vector *d);

static facet_status refine(const struct operator* A, correction *correct, void *data, const struct vector *b,
                           struct vector *x, const struct solve_control *control,
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
    do {
        before = norm;
        TRY(correct(data, &r, &d));
        vector_axpby(1.0, &d, 1.0, x);
        solve_remove_kernel(control->kernel, x);
        norm = solve_true_residual(A, b, x, control->kernel, &r);
        report->iterations++;
        TRY(solve_record(control, report, norm / scale));
        if (norm <= control->rtol * scale) {
            status = solve_finish(report, 1, "the tolerance was reached", norm / scale);
            goto done;
        }
    } while (norm < 0.5 * before && report->iterations < control->max_iterations);
    int limit = norm < 0.5 * before,
        rounding = !limit && solve_is_rounding(A, x, control, norm, scale, &r, &d);
    status = solve_finish(report, rounding,
                          rounding ? solve_rounding_reason
                          : limit  ? "the iteration limit was reached"
                                   : stalled(norm),
                          norm / scale);
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

static facet_status correct_by_operator(void *data, const struct vector *r, struct vector *d) {
    operator_apply(data, r, d);
    return FACET_OK;
}

facet_status solve_refined(const struct operator* A, struct operator* inverse, const struct vector *b,
                           struct vector *x, const struct solve_control *control,
                           struct solve_report *report) {
    return refine(A, correct_by_operator, inverse, b, x, control, report);
}
