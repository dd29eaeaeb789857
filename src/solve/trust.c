/* How far a solution is from that of its system, by one more product and one more step of whatever solved it.
 *
 * A residual is not an error: where something holds the solution only weakly, rounding in the product leaves
 * a residual of 1e-13 and an error of any size, which neither Ritz values nor energies see. What sees it is
 * the preconditioner, applied to a residual with fresh rounding: not that of x, which the iteration has made
 * small as it was computed, but that of PROBE x, whose products are rounded differently. */
#include <math.h>

#include "solve/internal.h"

#define PROBE 1.25
/* What is said to be within rtol may be so many times it, and in any case as much as LEAST_LIMIT. */
#define ROOM        10.0
#define LEAST_LIMIT 1e-4

void solve_probe(const struct operator* A, const struct vector *b, const struct vector *x,
                 const struct solve_control *control, struct vector *t, struct vector *r) {
    vector_axpby(PROBE, x, 0.0, t);
    operator_apply(A, t, r);
    vector_axpby(PROBE, b, -1.0, r);
    solve_remove_kernel(control, SOLVE_RESIDUALS, r);
}

double solve_probed_error(const struct vector *z, const struct vector *x) {
    double size = vector_norm(x), error = vector_norm(z);
    return error == 0.0 ? 0.0 : error / (PROBE * size);
}

facet_status solve_accept(const struct solve_control *control, const char *reason, double residual,
                          double error, struct solve_report *report) {
    report->error = error;
    if (!isfinite(residual) || error <= fmax(ROOM * control->rtol, LEAST_LIMIT))
        return solve_finish(report, 1, reason, residual);
    (void)solve_finish(report, 1, reason, residual);
    report->converged = 0;
    report->reason = "not trusted: the error is far above the residual";
    return base_fail(
        FACET_NOT_CONVERGED,
        "the solution is not trusted: its error is about %.1e of it, though the residual is %.1e "
        "(%d iterations): something holds it so weakly that rounding decides (a small reaction, "
        "Robin coefficient or support, a very slender body, coefficients that jump by many "
        "orders of magnitude); hold it more firmly, or scale the problem",
        error, residual, report->iterations);
}
