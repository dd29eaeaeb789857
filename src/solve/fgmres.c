/* Flexible GMRES: Arnoldi vectors V, the preconditioned directions Z = M V kept beside them, A Z = V H.
 * Givens rotations keep H triangular, so that the residual of the least-squares problem is known at every
 * step. */
#include <math.h>

#include "base/memory.h"
#include "solve/solve_internal.h"

#define DEFAULT_RESTART 50

struct arnoldi {
    int m, n;                        /* columns, and those of the last sweep */
    struct vector *V, *Z;            /* m + 1, m */
    double *H, *cosines, *sines, *g; /* H: column j at j (m + 1) */
};

static facet_status arnoldi_create(int m, struct arnoldi *a) {
    facet_status status = FACET_OK;
    a->m = m;
    TRY(CALLOC(a->V, m + 1));
    TRY(CALLOC(a->Z, m));
    TRY(ALLOC(a->H, m * (m + 1)));
    TRY(ALLOC(a->cosines, m));
    TRY(ALLOC(a->sines, m));
    TRY(ALLOC(a->g, m + 1));
done:
    return status;
}

static void arnoldi_destroy(struct arnoldi *a) {
    for (int i = 0; a->V != NULL && i <= a->m; i++) vector_destroy(&a->V[i]);
    for (int i = 0; a->Z != NULL && i < a->m; i++) vector_destroy(&a->Z[i]);
    base_free(&a->V);
    base_free(&a->Z);
    base_free(&a->H);
    base_free(&a->cosines);
    base_free(&a->sines);
    base_free(&a->g);
}

/* Vectors are made when first needed: a solve that takes ten steps holds ten. */
static facet_status need(struct vector *v, const struct vector *like) {
    return v->device != NULL ? FACET_OK : vector_create_like(like, v);
}

/* w is made orthogonal to V[0..j], twice over; h[0..j] = the coefficients, h[j+1] = the norm left. */
static void orthogonalise(struct arnoldi *a, int j, struct vector *w, double *h) {
    for (int i = 0; i <= j; i++) h[i] = 0.0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i <= j; i++) {
            double dot = vector_dot(&a->V[i], w);
            vector_axpby(-dot, &a->V[i], 1.0, w);
            h[i] += dot;
        }
    h[j + 1] = vector_norm(w);
}

/* Applies the earlier rotations to column j, makes the one that annihilates h[j+1]; returns |residual|. */
static double rotate(struct arnoldi *a, int j, double *h) {
    for (int i = 0; i < j; i++) {
        double upper = a->cosines[i] * h[i] + a->sines[i] * h[i + 1];
        h[i + 1] = -a->sines[i] * h[i] + a->cosines[i] * h[i + 1];
        h[i] = upper;
    }
    double length = hypot(h[j], h[j + 1]);
    a->cosines[j] = length > 0.0 ? h[j] / length : 1.0;
    a->sines[j] = length > 0.0 ? h[j + 1] / length : 0.0;
    h[j] = length;
    h[j + 1] = 0.0;
    a->g[j + 1] = -a->sines[j] * a->g[j];
    a->g[j] *= a->cosines[j];
    return fabs(a->g[j + 1]);
}

/* x += Z y, H y = g, with the first n columns. */
static void update(struct arnoldi *a, int n, struct vector *x) {
    int m1 = a->m + 1;
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) a->g[i] -= a->H[j * m1 + i] * a->g[j];
        a->g[i] /= a->H[i * m1 + i];
    }
    for (int i = 0; i < n; i++) vector_axpby(a->g[i], &a->Z[i], 1.0, x);
}

/* One step: column j, and the residual norm after it. */
static facet_status step(const struct linear_operator *A, const struct linear_operator *M,
                         const struct solve_control *control, int j, struct arnoldi *a, double *norm) {
    facet_status status = FACET_OK;
    double *h = a->H + (int64_t)j * (a->m + 1);
    TRY(need(&a->Z[j], &a->V[0]));
    TRY(need(&a->V[j + 1], &a->V[0]));
    if (M != NULL)
        operator_apply(M, &a->V[j], &a->Z[j]);
    else
        vector_axpby(1.0, &a->V[j], 0.0, &a->Z[j]);
    null_space_remove(control->null_space, SOLVE_UNKNOWNS, &a->Z[j]);
    operator_apply(A, &a->Z[j], &a->V[j + 1]);
    null_space_remove(control->null_space, SOLVE_RESIDUALS, &a->V[j + 1]);
    orthogonalise(a, j, &a->V[j + 1], h);
    double length = h[j + 1];
    *norm = rotate(a, j, h);
    if (length > 0.0) vector_axpby(0.0, &a->V[j + 1], 1.0 / length, &a->V[j + 1]);
done:
    return status;
}

/* Of the triangle that the rotations leave of H, by inverse iteration; 1 if there is none. */
static double least_singular_value(const struct arnoldi *a) {
    double y[DEFAULT_RESTART], size = 0.0;
    int n = a->n < DEFAULT_RESTART ? a->n : DEFAULT_RESTART, stride = a->m + 1;
    for (int i = 0; i < n; i++) y[i] = 1.0 / sqrt((double)n);
    for (int step = 0; step < 10; step++) {
        for (int j = 0; j < n; j++) { /* R' */
            for (int i = 0; i < j; i++) y[j] -= a->H[j * stride + i] * y[i];
            y[j] /= a->H[j * stride + j];
        }
        for (int i = n - 1; i >= 0; i--) { /* R */
            for (int j = i + 1; j < n; j++) y[i] -= a->H[j * stride + i] * y[j];
            y[i] /= a->H[i * stride + i];
        }
        size = 0.0;
        for (int i = 0; i < n; i++) size += y[i] * y[i];
        size = sqrt(size);
        for (int i = 0; i < n; i++) y[i] /= size;
    }
    return size > 0.0 && isfinite(size) ? 1.0 / sqrt(size) : 1.0;
}

/* From the residual in V[0], of length *norm, to the next restart or the tolerance. x is updated; *reason is
 * NULL unless there is no going on. */
static facet_status sweep(const struct linear_operator *A, const struct linear_operator *M, struct vector *x,
                          const struct solve_control *control, double scale, struct arnoldi *a,
                          struct solve_report *report, double *norm, const char **reason) {
    facet_status status = FACET_OK;
    int n = 0;
    double before = *norm;
    *reason = NULL;
    vector_axpby(0.0, &a->V[0], 1.0 / *norm, &a->V[0]);
    a->g[0] = *norm;
    while (n<a->m && * norm> control->rtol * scale && *reason == NULL) {
        if (report->iterations >= control->max_iterations) {
            *reason = "the iteration limit was reached";
            break;
        }
        TRY(step(A, M, control, n, a, norm));
        if (!isfinite(*norm)) {
            *reason = "a value is not finite";
            break;
        }
        if (a->H[(int64_t)n * (a->m + 1) + n] == 0.0) {
            *reason = "the matrix or the preconditioner is singular";
            break;
        }
        n++;
        report->iterations++;
        TRY(solve_record(control, report, *norm / scale));
    }
    if (*reason == NULL && n == a->m && *norm >= before * (1.0 - 1e-12))
        *reason = "the residual no longer falls";
    update(a, n, x);
    a->n = n;
done:
    return status;
}

/* Restarts are alike: what the last ones took off the residual tells what those to come will. */
#define RESTARTS 6

/* Whether the residual would still be above the goal after all iterations that are left. norms: after each of
 * the last RESTARTS + 1 restarts, by turns; n: restarts so far. */
static int is_hopeless(const double *norms, int n, int iterations, double goal,
                       const struct solve_control *control) {
    double now = norms[n % (RESTARTS + 1)], then = norms[(n + 1) % (RESTARTS + 1)];
    if (n < RESTARTS) return 0;
    double more = (double)(control->max_iterations - iterations) * n / ((double)iterations * RESTARTS);
    return now * pow(now / then, more) > goal;
}

facet_status solve_fgmres(const struct linear_operator *A, const struct linear_operator *M,
                          const struct vector *b, struct vector *x, const struct solve_control *control,
                          struct solve_report *report) {
    facet_status status = FACET_OK;
    struct arnoldi a = {0};
    solve_report_clear(report);
    TRY(arnoldi_create(control->restart > 0 ? control->restart : DEFAULT_RESTART, &a));
    TRY(vector_create_like(b, &a.V[0]));
    null_space_remove(control->null_space, SOLVE_UNKNOWNS, x);
    double scale = vector_norm(b), goal = control->rtol * scale;
    if (solve_is_extreme(scale)) {
        status = solve_nothing(scale, b, x, report);
        goto done;
    }
    double norm = solve_true_residual(A, b, x, control, &a.V[0]);
    TRY(solve_record(control, report, norm / scale));
    const char *reason = NULL;
    double norms[RESTARTS + 1] = {norm}, least = 1.0;
    int n_restarts = 0;
    while (norm > goal && reason == NULL) { /* a restart measures the truth */
        double before = norm;
        TRY(sweep(A, M, x, control, scale, &a, report, &norm, &reason));
        least = fmin(least, least_singular_value(&a)); /* the last sweep may be too short to see it */
        int claimed = norm <= goal;
        norm = solve_true_residual(A, b, x, control, &a.V[0]);
        if (claimed && !(norm <= goal) && !(norm < 0.5 * before))
            reason = "the true residual no longer falls: the tolerance is below rounding";
        norms[++n_restarts % (RESTARTS + 1)] = norm;
        if (reason == NULL && is_hopeless(norms, n_restarts, report->iterations, goal, control))
            reason = "the residual falls too slowly for the iterations that are left";
    }
    int rounding = 0;
    if (!(norm <= goal) && reason != NULL && report->iterations < control->max_iterations) {
        TRY(need(&a.Z[0], &a.V[0]));
        rounding = solve_is_rounding(A, b, x, control, norm / scale, &a.V[0], &a.Z[0]);
    }
    if (norm <= goal) reason = "the tolerance was reached";
    if (rounding) reason = solve_rounding_reason;
    if (reason == NULL) reason = "a value is not finite";
    if (!(norm <= goal) && !rounding) {
        status = solve_fail(report, M, reason, norm / scale);
        goto done;
    }
    TRY(need(&a.Z[0], &a.V[0]));
    const struct linear_operator *judge = control->judge != NULL ? control->judge : M;
    double error;
    TRY(solve_estimate(A, solve_apply, judge, b, x, control, &a.Z[0], &a.V[0], &error));
    if (control->judge == NULL) error /= least;
    status = solve_accept(control, reason, norm / scale, error, report);
done:
    arnoldi_destroy(&a);
    return status;
}
