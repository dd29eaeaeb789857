/* Null spaces: null_space.h has the algebra. */
#include "solve/null_space.h"

#include <math.h>

void null_space_destroy(struct null_space *null_space) {
    vector_destroy(&null_space->function);
    vector_destroy(&null_space->dual);
}

void null_space_remove(const struct null_space *null_space, enum solve_space space, struct vector *x) {
    if (null_space == NULL) return;
    const struct vector *function = &null_space->function,
                        *dual = null_space->dual.n > 0 ? &null_space->dual : function;
    if (space == SOLVE_UNKNOWNS)
        vector_axpby(-vector_dot(dual, x), function, 1.0, x);
    else
        vector_axpby(-vector_dot(function, x), dual, 1.0, x);
}

facet_status null_space_forget(void *null_space, struct vector *error) {
    null_space_remove(null_space, SOLVE_UNKNOWNS, error);
    return FACET_OK;
}

int null_space_balances(double left, double scale) {
    return fabs(left) <= 1e-4 * scale;
}

facet_status null_space_check_constant(double left, double scale) {
    if (null_space_balances(left, scale)) return FACET_OK;
    return base_fail(
        FACET_ERROR_INPUT,
        "with Neumann or periodic conditions everywhere and no reaction, the source and the boundary "
        "fluxes must balance, but they sum to %.6g (of %.6g in absolute terms); subtract it, or give a "
        "part of the boundary another condition",
        left, scale);
}
