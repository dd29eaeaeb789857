/* facet.h: the linear system of a solver, for those who look at it: products, the preconditioner, the matrix. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "problem/problem.h"

/* Whether the arrays of a caller are of the host and have as many numbers as there are unknowns, and there is
 * a backend to work with. */
static facet_status check_numbers(const struct facet_solver *s, const char *function, int64_t n,
                                  const double *x, const double *y) {
    if (s->backend == NULL)
        return base_fail(FACET_ERROR_INPUT, "%s: the data of this solver were refused when it was updated",
                         function);
    int64_t wanted = s->backend->n_unknowns(s);
    if (n != wanted)
        return base_fail(FACET_ERROR_INPUT, "%s: the arrays have %lld numbers, but there are %lld unknowns",
                         function, (long long)n, (long long)wanted);
    facet_status status = solver_check_host(s, function, "an array", x);
    return status == FACET_OK ? solver_check_host(s, function, "an array", y) : status;
}

static facet_status check_finite(const char *function, int64_t n, const double *x) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return base_fail(FACET_ERROR_INPUT, "%s: number %lld of x is %g", function, (long long)i, x[i]);
    return FACET_OK;
}

int64_t facet_solver_n_unknowns(const facet_solver *s) {
    return s != NULL && s->backend != NULL ? s->backend->n_unknowns(s) : 0;
}

facet_status facet_solver_apply(const facet_solver *s, int64_t n, const double *x, double *y) {
    facet_status status = FACET_OK;
    REQUIRE_AS(s, "solver");
    REQUIRE(x, y);
    TRY(check_numbers(s, "facet_solver_apply", n, x, y));
    TRY(check_finite("facet_solver_apply", n, x));
    if (n > 0) SOLVER_CALL(s, status, s->backend->apply(s, x, y));
done:
    return status;
}

facet_status facet_solver_precondition(const facet_solver *s, int64_t n, const double *x, double *y) {
    facet_status status = FACET_OK;
    REQUIRE_AS(s, "solver");
    REQUIRE(x, y);
    TRY(check_numbers(s, "facet_solver_precondition", n, x, y));
    TRY(check_finite("facet_solver_precondition", n, x));
    if (n > 0) SOLVER_CALL(s, status, s->backend->precondition(s, x, y));
done:
    return status;
}

facet_status facet_solver_system(const facet_solver *s, int64_t n, double *F, double *x) {
    facet_status status = FACET_OK;
    REQUIRE_AS(s, "solver");
    TRY(check_numbers(s, "facet_solver_system", n, F, x));
    if (!s->solved) FAIL(FACET_ERROR_INPUT, "facet_solver_system: there is no solution yet");
    if (n > 0) SOLVER_CALL(s, status, s->backend->get_system(s, F, x));
done:
    return status;
}

static facet_status copy_matrix(const struct facet_solver *s, int64_t n, int64_t *n_entries, int64_t *offsets,
                                int32_t *columns, double *values) {
    facet_status status = FACET_OK;
    struct csr csr = {0};
    int64_t room = *n_entries;
    if (n == 0) {
        *n_entries = 0;
        if (offsets != NULL) offsets[0] = 0;
        goto done;
    }
    TRY(s->backend->matrix(s, &csr));
    *n_entries = csr.offsets[n];
    if (offsets == NULL && columns == NULL && values == NULL) goto done;
    if (room < *n_entries)
        FAIL(FACET_ERROR_INPUT, "facet_solver_matrix: there are %lld entries, but room for %lld",
             (long long)*n_entries, (long long)room);
    if (offsets != NULL) memcpy(offsets, csr.offsets, (size_t)(n + 1) * sizeof *offsets);
    if (columns != NULL) base_copy(columns, csr.columns, (size_t)*n_entries * sizeof *columns);
    if (values != NULL) base_copy(values, csr.values, (size_t)*n_entries * sizeof *values);
done:
    csr_destroy(&csr);
    return status;
}

facet_status facet_solver_matrix(const facet_solver *s, int64_t n, int64_t *n_entries, int64_t *offsets,
                                 int32_t *columns, double *values) {
    facet_status status = FACET_OK;
    REQUIRE_AS(s, "solver");
    REQUIRE(n_entries);
    TRY(check_numbers(s, "facet_solver_matrix", n, values, NULL));
    if (s->problem->mesh->part != NULL)
        FAIL(FACET_ERROR_INPUT,
             "facet_solver_matrix: the matrix of a part of a mesh is not given away yet; use "
             "facet_solver_apply, or the method petsc");
    if (s->backend->matrix == NULL)
        FAIL(FACET_ERROR_INPUT,
             "facet_solver_matrix: the matrix of the %s is never assembled; use the "
             "operator mapped",
             s->system.n_free < 0 ? "discretization continuous" : "operator tensor");
    SOLVER_CALL(s, status, copy_matrix(s, n, n_entries, offsets, columns, values));
done:
    return status;
}

facet_status facet_solver_weights(const facet_solver *s, double *weights) {
    facet_status status = FACET_OK;
    REQUIRE_AS(s, "solver");
    REQUIRE(weights);
    if (s->backend == NULL)
        FAIL(FACET_ERROR_INPUT, "facet_solver_weights: the data of this solver were refused");
    TRY(solver_check_host(s, "facet_solver_weights", "weights", weights));
    SOLVER_CALL(s, status, s->backend->point_weights(s, weights));
done:
    return status;
}

facet_status facet_solver_history(const facet_solver *s, int64_t n, double *values, int64_t *n_values) {
    REQUIRE_AS(s, "solver");
    REQUIRE(n_values);
    const struct solve_report *r = &s->report;
    *n_values = r->n_history;
    if (values == NULL) return FACET_OK;
    if (n < r->n_history)
        return base_fail(FACET_ERROR_INPUT, "facet_solver_history: there are %d residuals, but room for %lld",
                         r->n_history, (long long)n);
    if (r->n_history > 0) memcpy(values, r->history, (size_t)r->n_history * sizeof *values);
    return FACET_OK;
}
