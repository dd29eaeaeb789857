/* How far a solution is from that of its system, by one more product and one more step of whatever solved it.
 *
 * A residual is not an error: where something holds the solution only weakly, rounding in the product leaves
 * a residual of 1e-13 and an error of any size, which neither Ritz values nor energies see. What sees it is
 * the preconditioner, applied to a residual with fresh rounding: not that of x, which the iteration has made
 * small as it was computed, but that of SOLVE_PROBE x, whose products are rounded differently. */
#include <float.h>
#include <math.h>

#include "solve/multigrid.h"
#include "solve/solve_internal.h"

/* What is said to be within rtol may be so many times it, and in any case as much as LEAST_LIMIT. */
#define ROOM        10.0
#define LEAST_LIMIT 1e-4
/* Nothing that is made of the solution is better than this. */
#define ROUNDING 1e-14

facet_status solve_apply(const void *M, const struct vector *r, struct vector *d) {
    if (M != NULL) {
        multigrid_measure(M, r);
        operator_apply(M, r, d);
        multigrid_measure(M, NULL);
    } else {
        vector_axpby(1.0, r, 0.0, d);
    }
    return FACET_OK;
}

void solve_probe(const struct linear_operator *A, const struct vector *b, const struct vector *x,
                 const struct solve_control *control, struct vector *t, struct vector *r) {
    vector_axpby(SOLVE_PROBE, x, 0.0, t);
    operator_apply(A, t, r);
    vector_axpby(SOLVE_PROBE, b, -1.0, r);
    null_space_remove(control->null_space, SOLVE_RESIDUALS, r);
}

double solve_size(const struct linear_operator *A, const struct vector *x) {
    return A->steps != NULL ? A->steps->size(A, x) : vector_norm(x);
}

/* d = what r makes of the unknowns, relative to x. */
static facet_status measure(const struct linear_operator *A, solve_correction *correct, const void *data,
                            const struct solve_control *control, const struct vector *x,
                            const struct vector *r, struct vector *d, double *error) {
    facet_status status = FACET_OK;
    TRY(correct(data, r, d));
    null_space_remove(control->null_space, SOLVE_UNKNOWNS, d);
    if (control->forget != NULL) TRY(control->forget(control->forget_data, d));
    if (control->regard != NULL) TRY(control->regard(control->regard_data, r, d));
    *error = solve_size(A, d) / SOLVE_PROBE;
    if (*error != 0.0) *error /= solve_size(A, x);
done:
    return status;
}

/* Of a judge nobody knows how good it is: its second step tells what all of them would make of r. */
#define SLOWEST 0.99

static facet_status add_later_steps(const struct linear_operator *A, const struct solve_control *control,
                                    const struct vector *x, const struct vector *d, struct vector *r,
                                    double *error) {
    facet_status status = FACET_OK;
    struct vector t = {0};
    double second;
    if (*error == 0.0) return FACET_OK;
    TRY(vector_create_like(r, &t));
    operator_apply(A, d, &t);
    vector_axpby(-1.0, &t, 1.0, r);
    TRY(measure(A, solve_apply, control->judge, control, x, r, &t, &second));
    *error /= 1.0 - fmin(second / *error, SLOWEST);
done:
    vector_destroy(&t);
    return status;
}

facet_status solve_weigh(const struct linear_operator *A, solve_correction *correct, const void *data,
                         const struct vector *x, const struct solve_control *control, struct vector *d,
                         struct vector *r, double *error) {
    facet_status status = FACET_OK;
    double more;
    if (control->regard != NULL) TRY(control->regard(control->regard_data, NULL, NULL));
    if (control->draw_rounding != NULL && control->judge == NULL) {
        /* the signs of the rounding of element matrices are drawn, so that of both together the squares add
         * up */
        TRY(control->draw_rounding(control->draw_rounding_data, 0, x, d));
        null_space_remove(control->null_space, SOLVE_RESIDUALS, d);
        vector_axpby(1.0, d, 1.0, r);
        status = measure(A, correct, data, control, x, r, d, error);
        goto done;
    }
    TRY(measure(A, correct, data, control, x, r, d, error));
    if (control->judge != NULL) TRY(add_later_steps(A, control, x, d, r, error));
    if (control->draw_rounding == NULL) goto done;
    TRY(control->draw_rounding(control->draw_rounding_data, 0, x, r));
    null_space_remove(control->null_space, SOLVE_RESIDUALS, r);
    TRY(measure(A, correct, data, control, x, r, d, &more));
    *error += more;
done:
    return status;
}

/* Where one weak function is all that the rounding of the entries of A makes, its size is that of a sum of
 * random signs, which may be anything below its mean square: with one draw one estimate in sixteen is too
 * small by ten, with four one in two thousand. An error below WORTH is left as it is. */
#define MORE_DRAWS 3
#define WORTH      1e-8

facet_status solve_draw_again(const struct linear_operator *A, solve_correction *correct, const void *data,
                              const struct vector *x, const struct solve_control *control, struct vector *d,
                              struct vector *r, double *error) {
    facet_status status = FACET_OK;
    double squares = *error * *error, more;
    if (control->draw_rounding == NULL || !(*error > WORTH)) return FACET_OK;
    for (int draw = 1; draw <= MORE_DRAWS; draw++) {
        TRY(control->draw_rounding(control->draw_rounding_data, draw, x, r));
        null_space_remove(control->null_space, SOLVE_RESIDUALS, r);
        TRY(measure(A, correct, data, control, x, r, d, &more));
        squares += more * more;
    }
    *error = fmax(*error, sqrt(squares / (MORE_DRAWS + 1)));
done:
    return status;
}

void solve_find_correction(const struct linear_operator *A, const struct linear_operator *M,
                           const struct vector *b, const struct vector *x,
                           const struct solve_control *control, struct vector *r, struct vector *lack) {
    solve_probe(A, b, x, control, lack, r);
    vector_axpby(0.0, r, 1.0 / SOLVE_PROBE, r);
    solve_apply(M, r, lack);
    null_space_remove(control->null_space, SOLVE_UNKNOWNS, lack);
}

facet_status solve_estimate(const struct linear_operator *A, solve_correction *correct, const void *data,
                            const struct vector *b, const struct vector *x,
                            const struct solve_control *control, struct vector *d, struct vector *r,
                            double *error) {
    facet_status status = FACET_OK;
    solve_probe(A, b, x, control, d, r);
    TRY(solve_weigh(A, correct, data, x, control, d, r, error));
    TRY(solve_draw_again(A, correct, data, x, control, d, r, error));
done:
    return status;
}

/* A stabilization tau that is so many times K/h makes the right-hand side and the residual of rough functions
 * as large as itself, and the residual of smooth ones, which are what matters, invisible beside them. */
#define HEAVY           100.0
#define LEAST_TOLERANCE 1e-12

double solve_tolerance(double rtol, double heaviest) {
    return heaviest > HEAVY ? fmin(rtol, fmax(rtol * HEAVY / heaviest, LEAST_TOLERANCE)) : rtol;
}

static facet_status distrust(struct solve_report *report) {
    report->converged = 0;
    report->reason = "not trusted: the error is far above the residual";
    return base_fail(FACET_NOT_CONVERGED,
                     "the solution is not trusted: its relative error is about %.1e, and its residual %.1e "
                     "(%d iterations): something holds it so weakly that rounding decides (a small reaction, "
                     "Robin coefficient or support, a very slender body, coefficients that jump by many "
                     "orders of magnitude, a tau far from K/h); hold it more firmly, or scale the problem",
                     report->error, report->residual, report->iterations);
}

static int is_small(double error, double rtol) {
    return error <= fmax(ROOM * rtol, LEAST_LIMIT);
}

facet_status solve_accept(const struct solve_control *control, const char *reason, double residual,
                          double error, struct solve_report *report) {
    /* what ended in rounding above the tolerance has taken up that of all steps, of which the estimate sees
     * one, and is not said to be better than its residual */
    if (reason == solve_rounding_reason) error = fmax(error * sqrt(fmax(report->iterations, 1)), residual);
    report->error = fmin(fmax(error, ROUNDING), 1.0);
    facet_status status = solve_finish(report, 1, reason, residual);
    return status != FACET_OK || is_small(error, control->rtol) ? status : distrust(report);
}

facet_status solve_judge(const struct linear_operator *A, const struct vector *b, const struct vector *x,
                         const struct solve_control *control, struct solve_report *report) {
    facet_status status = FACET_OK;
    struct vector d = {0}, r = {0};
    double error;
    TRY(vector_create_like(b, &d));
    TRY(vector_create_like(b, &r));
    TRY(solve_estimate(A, solve_apply, control->judge, b, x, control, &d, &r, &error));
    status = solve_accept(control, report->reason, report->residual, error, report);
done:
    vector_destroy(&d);
    vector_destroy(&r);
    return status;
}

/* So much less than the error has to fall the residual falls, at least and at most. */
#define MARGIN     0.3
#define LEAST_FALL 0.5
#define MOST_FALL  1e-3

int solve_again(double target, struct solve_control *control, struct solve_report *report, int *before) {
    report->iterations += *before;
    if (target == 0.0 || report->error <= target || report->residual == 0.0 ||
        report->iterations >= control->max_iterations)
        return 0;
    double rtol = report->residual * fmax(fmin(MARGIN * target / report->error, LEAST_FALL), MOST_FALL);
    if (rtol < DBL_EPSILON) return 0;
    control->rtol = rtol;
    *before = report->iterations;
    return 1;
}

facet_status solve_reached(double target, struct solve_report *report) {
    if (target == 0.0 || report->error <= target) return FACET_OK;
    report->converged = 0;
    report->reason = "the error that was asked for was not reached";
    return base_fail(FACET_NOT_CONVERGED,
                     "the solve did not reach the error that was asked for, %.1e: it is about %.1e after %d "
                     "iterations, with a residual of %.1e",
                     target, report->error, report->iterations, report->residual);
}

double solve_largest(int64_t n, const double *x) {
    double most = 0.0;
#pragma omp parallel for num_threads(base_threads_for(n)) schedule(static) reduction(max : most)
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

facet_status solve_check_size(double largest, struct solve_report *report) {
    report->largest = largest;
    if (largest == 0.0 || (largest >= SOLVE_LEAST && largest <= 1.0 / SOLVE_LEAST)) return FACET_OK;
    report->converged = 0;
    report->reason = "the solution is too small or too large";
    return base_fail(FACET_NOT_CONVERGED,
                     "the solution is %s, about %.1e: squares of numbers below %g and above %g are zero and "
                     "infinite in double precision, so that no norm can be trusted; use other units",
                     largest < 1.0 ? "too small" : "too large", largest, SOLVE_LEAST, 1.0 / SOLVE_LEAST);
}

facet_status solve_accept_more(double rtol, double error, struct solve_report *report) {
    report->error = fmin(fmax(report->error, isfinite(error) ? error : 1.0), 1.0);
    return is_small(error, rtol) ? FACET_OK : distrust(report);
}
