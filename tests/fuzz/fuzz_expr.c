/* Fuzzes expressions: compiling, and evaluating with first and second derivatives. What is not finite is
 * refused, so all that comes back must be finite. */
#include "fuzz.h"

#include <math.h>

#include "expr/expr.h"

enum { N_POINTS = 5, DIM = 3 };

/* Values and derivatives at one point. */
static facet_status use_at(const struct expr *expr, const double *x) {
    double value, alone, constant, gradient[DIM], hessian[DIM * DIM];
    facet_status status = expr_eval(expr, 1, DIM, x, NULL, &alone, NULL, NULL);
    if (status == FACET_OK) fuzz_check(isfinite(alone), "a value that is not finite");
    if (status == FACET_OK && expr_is_constant(expr, &constant))
        fuzz_check(alone == constant, "a constant that varies");
    status = expr_eval(expr, 1, DIM, x, NULL, &value, gradient, hessian);
    if (status != FACET_OK) return status;
    fuzz_check(isfinite(value), "a value that is not finite");
    for (int k = 0; k < DIM * DIM; k++) fuzz_check(isfinite(hessian[k]), "a Hessian that is not finite");
    for (int k = 0; k < DIM; k++) fuzz_check(isfinite(gradient[k]), "a gradient that is not finite");
    return FACET_OK;
}

/* Point by point: one that is refused must not hide the others. */
static facet_status use(const struct expr *expr) {
    static const double x[N_POINTS * DIM] = {0.5, 0.25, -1, 0, 0, 0, 1, 1, 1, -2, 3, 0.1, 1e3, -1e-3, 7};
    facet_status status = FACET_OK;
    for (int i = 0; i < N_POINTS; i++) {
        facet_status here = use_at(expr, x + i * DIM);
        if (here != FACET_OK) status = here;
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct expr_parameter parameters[] = {{"g", 0.016}, {"mu", -2.5}};
    struct expr *expr = NULL;
    char *text = fuzz_text(data, size);
    fuzz_begin();
    facet_status status = expr_compile(text, 2, parameters, &expr);
    fuzz_check((status == FACET_OK) == (expr != NULL), "an expression with a failure, or none without one");
    if (expr != NULL) status = use(expr);
    expr_destroy(&expr);
    free(text);
    fuzz_end(status);
    return 0;
}
