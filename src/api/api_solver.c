/* facet.h: solvers. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"
#include "solve/multigrid.h"

facet_status facet_solver_create(const facet_problem *problem, const facet_options *options,
                                 facet_solver **solver) {
    struct options words;
    REQUIRE(problem, solver);
    *solver = NULL;
    struct base_call call;
    struct facet_context *context = problem->data.context;
    facet_status status = options_read(options, &words);
    if (status != FACET_OK) return status;
    context_call_begin(context, 0, &call);
    status = context_call_end(context, &call, solver_create(problem, &words, NULL, solver));
    if (status != FACET_OK) facet_solver_destroy(solver);
    return status;
}

void facet_solver_destroy(facet_solver **solver) {
    if (solver != NULL) solver_destroy(solver);
}

/* A solver whose new data were refused has nothing to work with. */
static facet_status check_ready(const struct facet_solver *s) {
    if (s->backend != NULL) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT,
                     "the data of this solver were refused when it was updated last; give it "
                     "others and call facet_solver_update");
}

int64_t facet_solver_n_points(const facet_solver *solver) {
    return solver != NULL && solver->backend != NULL ? solver->backend->n_points(solver) : 0;
}

facet_status facet_solver_points(const facet_solver *solver, double *x) {
    REQUIRE(solver, x);
    facet_status status = check_ready(solver);
    if (status == FACET_OK) status = solver_check_host(solver, "facet_solver_points", "x", x);
    if (status == FACET_OK) SOLVER_CALL(solver, status, solver->backend->points(solver, x));
    return status;
}

/* Whether a caller's array has a number for every point and component. */
static facet_status check_length(const struct facet_solver *s, const char *function, int64_t n) {
    int components = physics_components(s->problem->physics, s->problem->mesh->dim);
    int64_t wanted = components * s->backend->n_points(s);
    if (n == wanted) return FACET_OK;
    return base_fail(
        FACET_ERROR_INPUT,
        "%s: the arrays have %lld numbers, but the solver has %lld points (facet_solver_n_points) "
        "of %d each",
        function, (long long)n, (long long)(wanted / components), components);
}

/* Arrays of facet_solver_solve_device. */
static facet_status check_there(const struct facet_solver *s, const char *array, const double *address) {
    const struct device *device = s->context->device;
    const int64_t n =
        physics_components(s->problem->physics, s->problem->mesh->dim) * s->backend->n_points(s);
    if (address == NULL) return FACET_OK;
    if (!device_owns(device, address))
        return base_fail(FACET_ERROR_INPUT,
                         "facet_solver_solve_device: %s is no memory of the device '%s'; facet_solver_solve "
                         "takes arrays of the host",
                         array, device_name(device));
    if ((uintptr_t)address % sizeof(double) != 0)
        return base_fail(FACET_ERROR_INPUT,
                         "facet_solver_solve_device: %s does not begin at a multiple of %zu bytes", array,
                         sizeof(double));
    if (!device_holds(device, address, (size_t)n * sizeof(double)))
        return base_fail(FACET_ERROR_INPUT,
                         "facet_solver_solve_device: %s ends before its %lld numbers (facet_solver_n_points)",
                         array, (long long)n);
    return FACET_OK;
}

static facet_status check_arrays(const struct facet_solver *s, const double *source, const double *u,
                                 int there) {
    facet_status status = there ? check_there(s, "the source", source)
                                : solver_check_host(s, "facet_solver_solve", "the source", source);
    if (status != FACET_OK) return status;
    return there ? check_there(s, "u", u) : solver_check_host(s, "facet_solver_solve", "u", u);
}

static facet_status check_and_solve(struct facet_solver *s, const double *source, double *u, int there) {
    facet_status status = check_arrays(s, source, u, there);
    return status == FACET_OK ? solver_solve(s, source, u, there) : status;
}

static facet_status call_solve(struct facet_solver *s, const double *source, double *u, int there) {
    facet_status status;
    SOLVER_CALL(s, status, check_and_solve(s, source, u, there));
    status = solver_explain(s, status);
    if (status != FACET_OK && status != FACET_ERROR_INPUT) s->solved = 0; /* what a device failed in */
    if (status == FACET_INTERRUPTED) {                                    /* wherever that was */
        s->report.reason = "interrupted";
        s->report.converged = 0;
    }
    return status;
}

facet_status facet_solver_solve(facet_solver *s, const double *source, double *u) {
    REQUIRE_AS(s, "solver");
    return call_solve(s, source, u, 0);
}

facet_status facet_solver_solve_device(facet_solver *s, const double *source, double *u) {
    REQUIRE_AS(s, "solver");
    facet_status status = check_ready(s);
    if (status != FACET_OK) return status;
    if (device_is_host(s->context->device)) return call_solve(s, source, u, 0);
    if (s->backend->load_there == NULL)
        return base_fail(
            FACET_ERROR_INPUT,
            "arrays of the device '%s' are for boxes, by hdg or by continuous elements, without a reaction "
            "so weak that rounding decides about the constant; this solver keeps its data on the host",
            device_name(s->context->device));
    return call_solve(s, source, u, 1);
}

facet_status facet_solver_solve_n(facet_solver *s, int64_t n, const double *source, double *u) {
    REQUIRE_AS(s, "solver");
    facet_status status = check_ready(s);
    if (status == FACET_OK) status = check_length(s, "facet_solver_solve_n", n);
    return status == FACET_OK ? facet_solver_solve(s, source, u) : status;
}

static const char *discretization_of(const struct facet_solver *s) {
    return option_words[OPTION_DISCRETIZATION][s->options.discretization];
}

static const char *operator_of(const struct facet_solver *s) {
    return option_words[OPTION_OPERATOR][s->operator_used];
}

facet_status facet_solver_set_guess(facet_solver *s, int64_t n, const double *u) {
    REQUIRE_AS(s, "solver");
    REQUIRE(u);
    facet_status status = FACET_OK;
    TRY(check_ready(s));
    TRY(check_length(s, "facet_solver_set_guess", n));
    if (s->backend->set_guess == NULL)
        FAIL(FACET_ERROR_INPUT,
             "a guess needs the discretization hdg and the operator tensor, or continuous, and this solver "
             "has "
             "%s and %s; use the option warm_start, which begins with the solution before",
             discretization_of(s), operator_of(s));
    TRY(solver_check_host(s, "facet_solver_set_guess", "the guess", u));
    TRY(solver_check_finite("facet_solver_set_guess", "the guess", n, u));
    SOLVER_CALL(s, status, s->backend->set_guess(s, u));
done:
    return status;
}

facet_status facet_solver_set_reaction(facet_solver *s, double reaction) {
    REQUIRE_AS(s, "solver");
    if (!(fabs(reaction) <= FIELD_LARGEST) || reaction < 0.0)
        return base_fail(FACET_ERROR_INPUT, "the reaction must %s, but is %g",
                         !isfinite(reaction) ? "be finite"
                         : reaction < 0.0    ? "not be negative"
                                             : "not be beyond 1e140 (use other units)",
                         reaction);
    facet_status status = check_ready(s);
    if (status != FACET_OK) return status;
    if (s->backend->set_reaction == NULL)
        return base_fail(FACET_ERROR_INPUT,
                         "another reaction is cheap with the discretization hdg and the operator tensor, or "
                         "continuous, and "
                         "this solver has %s and %s; make a new solver",
                         discretization_of(s), operator_of(s));
    SOLVER_CALL(s, status, solver_set_reaction(s, reaction));
    return status;
}

static int n_notes(const struct facet_solver *s) {
    char text[PROBLEM_WHY_BYTES];
    int n = 0;
    for (int which = 0; which < SOLVER_N_NOTES; which++)
        n += solver_note(s, (enum solver_note)which, text, sizeof text) != NULL;
    return n;
}

/* A flux is rounding, or an error of u, where it is no more than so many times what these make of the terms
 * that nearly cancel in it. */
#define ABOVE_ERROR 10.0

/* What is missing in the whole, relative to what passes; where nothing does, to the terms. */
static double whole_balance(const struct solve_balance *b, double error) {
    const int passes = b->through > ABOVE_ERROR * fmax(error, DBL_EPSILON) * b->terms;
    const double scale = passes ? b->through : b->terms;
    return scale > 0.0 ? b->missing / scale : 0.0;
}

facet_status facet_solver_report(const facet_solver *s, facet_report *report) {
    REQUIRE_AS(s, "solver");
    REQUIRE(report);
    struct solve_balance balance = {.cells = -1.0};
    if (s->solved) {
        facet_status status;
        SOLVER_READ(s, status, s->backend->conservation(s, &balance));
        if (status != FACET_OK) return status;
    }
    const double whole = s->solved ? whole_balance(&balance, s->report.error) : -1.0;
    int64_t volume = s->system.n_volume, trace = s->n_unknowns > 0 ? s->n_unknowns : s->system.n_free;
    facet_status counted = team_reduce_counts(mesh_team(s->problem->mesh), TEAM_SUM, 1, &volume);
    if (counted != FACET_OK) return counted;
    facet_report full = {.trace_unknowns = trace,
                         .volume_unknowns = volume,
                         .iterations = s->report.iterations,
                         .converged = s->report.converged,
                         .method = option_words[OPTION_METHOD][s->method],
                         .preconditioner = solver_preconditioner(s),
                         .reason = s->report.reason != NULL ? s->report.reason : "not started",
                         .residual = s->report.residual,
                         .rate = s->report.rate,
                         .error = s->report.error,
                         .operator_name = operator_of(s),
                         .conservation = fmax(balance.cells, whole),
                         .conservation_whole = whole,
                         .discretization = discretization_of(s),
                         .equation = s->problem->physics->name,
                         .device = device_name(s->context->device),
                         .degree = s->options.degree,
                         .dim = s->problem->mesh->dim,
                         .threads = s->threads,
                         .n_notes = n_notes(s),
                         .memory_bytes = (double)base_peak_resident_bytes()};
    memcpy(full.seconds, s->timers.seconds, sizeof s->timers.seconds);
    memcpy(full.peak_bytes, s->timers.peak_bytes, sizeof s->timers.peak_bytes);
    return base_struct_write("facet_report", &full, report, sizeof full);
}

facet_status facet_solver_note(const facet_solver *s, int i, size_t bytes, char *text) {
    REQUIRE_AS(s, "solver");
    REQUIRE(text);
    int seen = 0;
    for (int which = 0; which < SOLVER_N_NOTES && bytes > 0; which++)
        if (solver_note(s, (enum solver_note)which, text, bytes) != NULL && seen++ == i) return FACET_OK;
    if (bytes > 0) text[0] = '\0';
    return base_fail(FACET_ERROR_INPUT, "there is no note %d of %d, or no room for it", i, seen);
}

facet_status facet_solver_errors(const facet_solver *s, facet_errors *errors) {
    REQUIRE_AS(s, "solver");
    REQUIRE(errors);
    struct hdg_errors e;
    if (!s->solved)
        return base_fail(FACET_ERROR_INPUT, "there is no solution yet: call facet_solver_solve first");
    if (s->problem->exact == NULL)
        return base_fail(FACET_ERROR_INPUT,
                         "errors are measured against an exact solution, but there is none");
    facet_status status;
    SOLVER_CALL(s, status, s->backend->measure_errors(s, &e));
    if (status != FACET_OK) return status;
    facet_errors full = {.u_L2 = e.u_L2,
                         .u_Linf = e.u_Linf,
                         .q_L2 = e.q_L2,
                         .u_star_L2 = e.u_star_L2,
                         .q_star_L2 = e.q_star_L2,
                         .trace_L2 = e.trace_L2,
                         .H_L2 = e.H_L2,
                         .p_L2 = e.p_L2,
                         .stress_L2 = e.stress_L2};
    double *const members[HDG_N_FIELDS] = {[HDG_Q] = &full.q_L2,
                                           [HDG_Q_STAR] = &full.q_star_L2,
                                           [HDG_H] = &full.H_L2,
                                           [HDG_P] = &full.p_L2,
                                           [HDG_STRESS] = &full.stress_L2};
    for (int i = 0; i < HDG_N_FIELDS; i++) /* boxes measure their own fields only */
        if (members[i] != NULL && !equation_has_field(s->resolved.data.equation, (enum hdg_field)i))
            *members[i] = -1.0;
    return base_struct_write("facet_errors", &full, errors, sizeof full);
}

int facet_solver_n_levels(const facet_solver *solver) {
    int ready = solver != NULL && solver->backend != NULL;
    const struct multigrid *mg = ready ? solver->backend->multigrid(solver) : NULL;
    return mg != NULL ? multigrid_n_levels(mg) : 0;
}

facet_status facet_solver_level(const facet_solver *solver, int level, facet_level *info) {
    REQUIRE(solver, info);
    struct mg_summary summary;
    int n = facet_solver_n_levels(solver);
    if (level < 0 || level >= n) return base_fail(FACET_ERROR_INPUT, "there is no level %d of %d", level, n);
    multigrid_summarize(solver->backend->multigrid(solver), level, &summary);
    facet_level full = {.name = summary.name,
                        .device = summary.device,
                        .precision = summary.precision == F32 ? "single" : "double",
                        .unknowns = summary.n,
                        .bytes = summary.bytes,
                        .visits = summary.visits,
                        .smooth = summary.seconds[MG_SMOOTH],
                        .residual = summary.seconds[MG_RESIDUAL],
                        .transfer = summary.seconds[MG_TRANSFER],
                        .solve = summary.seconds[MG_SOLVE],
                        .reduction = summary.residual,
                        .rate = summary.rate};
    return base_struct_write("facet_level", &full, info, sizeof full);
}
