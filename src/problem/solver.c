/* The public solver: what the options say, which discretization takes the problem (problem/backend.h), and
 * the calls of facet.h over it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "boxsem/boxsem.h"
#include "problem/box.h"
#include "solve/multigrid.h"

/* Data are looked at as mapped cells of this degree at most, though a box may have more. */
#define CHECKED_DEGREE 6

void facet_options_default(facet_options *options) {
    if (options == NULL) return;
    *options = (facet_options){.degree = 3, .postprocess = 1, .rtol = 1e-10, .max_iterations = 10000};
}

static int one_of(const char *word, const char *const *words) {
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(word, words[i]) == 0) return 1;
    return 0;
}

static int is_condensed(const facet_options *o) {
    return o->discretization != NULL && strcmp(o->discretization, "condensed") == 0;
}

static int is_continuous(const facet_options *o) {
    return o->discretization != NULL && strcmp(o->discretization, "continuous") == 0;
}

const char *problem_word_left(const char *key, const char *word) {
    static const struct {
        const char *key, *word, *hint;
    } left[] = {
        {"operator", "tp", "; tp runs in 'facet bench huismann2020' only, tensor is faster"},
        {"operator", "tpt", "; tpt runs in 'facet bench huismann2020' only, tensor is faster"},
        {"operator", "mm", "; mm runs in 'facet bench huismann2020' only, mapped solves the same problem"},
        {"preconditioner", "stars",
         "; stars runs in 'facet bench huismann2020' only, additive and chebyshev are faster"},
    };
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (strcmp(key, left[i].key) == 0 && strcmp(word, left[i].word) == 0) return left[i].hint;
    return "";
}

/* word (NULL: not given) must be one of those in `valid`, which are separated by ", ". */
static facet_status check_word(const char *key, const char *word, const char *valid) {
    for (const char *at = valid; word != NULL && at != NULL; at = strstr(at, ", ")) {
        if (at != valid) at += 2;
        size_t length = strcspn(at, ",");
        if (strlen(word) == length && strncmp(at, word, length) == 0) return FACET_OK;
    }
    if (word == NULL) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "unknown %s '%s'; valid: %s%s", key, word, valid,
                     problem_word_left(key, word));
}

/* What the equation does not have. */
static facet_status check_equation(const facet_options *o, facet_equation equation) {
    int elastic = equation == FACET_ELASTICITY;
    facet_status status = FACET_OK;
    TRY(check_word("formulation", o->formulation, "symmetric, gradient"));
    TRY(check_word("plane", o->plane, "strain, stress"));
    if (!elastic && (o->formulation != NULL || o->plane != NULL))
        FAIL(FACET_ERROR_INPUT, "%s belongs to elasticity", o->plane != NULL ? "plane" : "a formulation");
    if (elastic && (is_condensed(o) || is_continuous(o)))
        FAIL(FACET_ERROR_INPUT, "the discretization %s belongs to diffusion; elasticity has hdg",
             o->discretization);
done:
    return status;
}

/* What continuous elements do not have, and what only they have. */
static facet_status check_continuous(const facet_options *o) {
    const char *const smoothers[] = {"patches", "additive", "point", "jacobi", "chebyshev", NULL};
    const char *const preconditioners[] = {"patches", NULL}, *const operators[] = {"auto", "tensor", NULL};
    if (is_continuous(o)) {
        if (o->degree > BRICK_MAX_DEGREE)
            return base_fail(FACET_ERROR_INPUT,
                             "the degree of the discretization continuous must be 1 to %d, not %d; hdg and "
                             "condensed have more",
                             BRICK_MAX_DEGREE, o->degree);
        if (o->operator_name != NULL && !one_of(o->operator_name, operators))
            return base_fail(
                FACET_ERROR_INPUT,
                "the operator %s belongs to the discretizations hdg and condensed; continuous has "
                "tensor",
                o->operator_name);
        return FACET_OK;
    }
    int smoother = o->smoother != NULL && one_of(o->smoother, smoothers);
    if (smoother || (o->preconditioner != NULL && one_of(o->preconditioner, preconditioners)))
        return base_fail(FACET_ERROR_INPUT, "the %s %s belongs to the discretization continuous",
                         smoother ? "smoother" : "preconditioner",
                         smoother ? o->smoother : o->preconditioner);
    if (is_condensed(o) && o->preconditioner != NULL && strcmp(o->preconditioner, "gmg") == 0)
        return base_fail(FACET_ERROR_INPUT,
                         "the preconditioner gmg belongs to the discretizations hdg and continuous; use amg");
    return FACET_OK;
}

static facet_status check_options(const facet_options *o, facet_equation equation) {
    facet_status status = FACET_OK;
    /* Degree 0 exists in the formulation gradient only: fabien2019 measured it. */
    int least = o->formulation != NULL && strcmp(o->formulation, "gradient") == 0 ? 0 : 1;
    if (o->degree < least || o->degree > BOX_MAX_DEGREE)
        return base_fail(FACET_ERROR_INPUT,
                         "the degree must be %d to %d (with the operator tensor to %d), not %d", least,
                         PROBLEM_MAX_DEGREE, BOX_MAX_DEGREE, o->degree);
    if (o->tau_hat < 0.0 || !isfinite(o->tau_hat))
        return base_fail(FACET_ERROR_INPUT, "tau.hat must be positive, not %g", o->tau_hat);
    TRY(check_word("discretization", o->discretization, "hdg, condensed, continuous"));
    if ((is_condensed(o) || is_continuous(o)) && (o->tau != NULL || o->tau_hat > 0.0))
        return base_fail(FACET_ERROR_INPUT,
                         "tau belongs to the discretization hdg; the %s one has no stabilization",
                         o->discretization);
    if (!(o->rtol > 0.0 && o->rtol < 1.0))
        return base_fail(FACET_ERROR_INPUT, "rtol must lie between 0 and 1, not %g", o->rtol);
    if (o->max_iterations < 1)
        return base_fail(FACET_ERROR_INPUT, "max_iterations must be at least 1, not %d", o->max_iterations);
    TRY(check_equation(o, equation));
    TRY(check_word("operator", o->operator_name, "auto, mapped, tensor"));
    TRY(check_word("method", o->method, "auto, cg, fgmres, multigrid, direct"));
    TRY(check_word("preconditioner", o->preconditioner,
                   "auto, none, jacobi, block, amg, pmg, additive, chebyshev, gmg, patches"));
    TRY(check_word("cycle", o->cycle, "auto, V, W, F, full"));
    TRY(check_word(
        "smoother", o->smoother,
        "auto, faces, rows, cells, vertices, fsai, sweep-cells, sweep-vertices, patches, additive, point, "
        "jacobi, chebyshev"));
    TRY(check_word("degrees", o->degrees, "auto, arithmetic, even, geometric, straight"));
    if (!(o->fill >= 0.0 && isfinite(o->fill)))
        return base_fail(FACET_ERROR_INPUT, "fill must not be negative: %g", o->fill);
    if (o->coarse_unknowns < 0)
        return base_fail(FACET_ERROR_INPUT, "coarse_unknowns must not be negative: %lld",
                         (long long)o->coarse_unknowns);
    TRY(check_word("precision", o->precision, "auto, double, mixed"));
    TRY(check_continuous(o));
    if (o->coarse_device != NULL) {
        const struct device *device;
        TRY(base_wrap(device_find(o->coarse_device, &device), "coarse_device"));
    }
done:
    return status;
}

/* The solver's choices and the data of its discretization; nothing is computed. */
static facet_status prepare(const struct facet_problem *problem, const facet_options *options,
                            struct facet_solver **solver) {
    facet_status status = FACET_OK;
    struct facet_solver *s;
    facet_options defaults;
    facet_options_default(&defaults);
    if (options == NULL) options = &defaults;
    *solver = NULL;
    TRY(check_options(options, problem->shared->equation));
    TRY(CALLOC(*solver, 1));
    s = *solver;
    s->context = problem->shared->context;
    s->options = *options;
    s->options.tau = NULL; /* the caller's text; kept as a field */
    int continuous = is_continuous(options), star = !continuous && !is_condensed(options);
    s->options.discretization = continuous ? "continuous" : star ? "hdg" : "condensed";
    int gradient = options->formulation != NULL && strcmp(options->formulation, "gradient") == 0;
    int elastic = problem->shared->equation == FACET_ELASTICITY;
    s->options.formulation = !elastic ? NULL : gradient ? "gradient" : "symmetric";
    s->options.plane = NULL;                                         /* the data say it */
    if (!star || (elastic && !gradient)) s->options.postprocess = 0; /* there is none */
    s->problem = problem->shared;
    s->problem->references++;
    TRY(problem_resolve(s->problem, options, &s->resolved));
    if (options->tau != NULL)
        TRY(base_wrap(
            field_create_texts(1, &options->tau, s->problem->n_parameters, s->problem->parameters, &s->tau),
            "tau"));
    if (s->tau != NULL) TRY(base_wrap(field_check_coordinates(s->tau, s->problem->mesh->dim), "tau"));
    if (!elastic) s->resolved.data.scheme = star ? HDG_HYBRID : HDG_CONDENSED;
    s->resolved.data.tau = s->tau;
    s->resolved.data.tau_hat = options->tau_hat;
done:
    if (status != FACET_OK) facet_solver_destroy(solver);
    return status;
}

/* ------------------------------------------------------------------------------ the backend */

static int is(const char *given, const char *word) {
    return strcmp(given != NULL ? given : "auto", word) == 0;
}

/* What only mapped cells, or only boxes, have, and what to do without it; no name: nothing is wanted of the
 * kind. */
struct want {
    const char *name, *instead;
};

static struct want wants_mapped(const struct facet_solver *s) {
    const facet_options *o = &s->options;
    const struct {
        int asked;
        struct want want;
    } all[] = {
        {is(o->preconditioner, "pmg"), {"the preconditioner pmg", "another preconditioner"}},
        {is(o->preconditioner, "gmg"), {"the preconditioner gmg", "another preconditioner"}},
        {is(o->preconditioner, "amg"), {"the preconditioner amg", "another preconditioner"}},
        {is(o->method, "fgmres"), {"the method fgmres", "the method cg"}},
        {is_condensed(o), {"the discretization condensed", "the discretization hdg or continuous"}},
        {is(o->method, "multigrid"), {"the method multigrid", "the method cg"}},
        {!is(o->cycle, "auto"), {"a cycle", "no cycle"}},
        {!is(o->smoother, "auto"), {"a smoother", "no smoother"}},
        {o->smoother_degree > 0, {"a smoother_degree", "no smoother_degree"}},
        {o->coarse_device != NULL, {"a coarse_device", "no coarse_device"}},
        {o->coarse_unknowns > 0, {"coarse_unknowns", "no coarse_unknowns"}},
        {!is(o->degrees, "auto"), {"a sequence of degrees", "no degrees"}},
        {o->fill > 0.0, {"a fill", "no fill"}},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].asked) return all[i].want;
    return (struct want){NULL, NULL};
}

static struct want wants_box(const facet_options *o) {
    static const char instead[] = "another preconditioner, or auto";
    return is(o->preconditioner, "additive")    ? (struct want){"the preconditioner additive", instead}
           : is(o->preconditioner, "chebyshev") ? (struct want){"the preconditioner chebyshev", instead}
           : o->degree > PROBLEM_MAX_DEGREE     ? (struct want){"a degree above 16", "a degree of at most 16"}
                                                : (struct want){NULL, NULL};
}

/* Condensed elements on a box whose tensor operators would apply: what solves the same at their speed. */
static facet_status recommend(struct facet_solver *s, struct box_data *data) {
    if (s->problem->mesh->box.cells[0] == 0) return FACET_OK;
    facet_status status = box_data_create(&s->resolved, s->options.degree, data, s->why_mapped);
    int applies = status == FACET_OK && s->why_mapped[0] == '\0';
    snprintf(s->why_mapped, sizeof s->why_mapped, "%s",
             applies ? "method: continuous (the same elements) or hdg, many times faster on this box" : "");
    box_data_destroy(data);
    return status;
}

/* Whether the box room takes the problem: then there are data, and s->operator_name is one of its names. An
 * operator that was asked for and does not apply is refused with the reason. */
static facet_status choose_backend(struct facet_solver *s, struct box_data *data, int *box) {
    facet_status status = FACET_OK;
    const char *name = s->options.operator_name;
    struct want mapped = wants_mapped(s), other = wants_box(&s->options);
    int any = is(name, "auto");
    char *why = s->why_mapped;
    *box = 0;
    if (is_continuous(&s->options)) {
        s->operator_name = "tensor";
        *box = 1;
        TRY(box_data_create(&s->resolved, s->options.degree, data, why));
        if (why[0] != '\0')
            FAIL(FACET_ERROR_INPUT,
                 "the discretization continuous needs %s; use the discretization condensed", why);
        goto done;
    }
    if (is(name, "mapped")) {
        if (other.name != NULL)
            FAIL(FACET_ERROR_INPUT, "%s needs the operator tensor, not mapped; use operator: auto, or %s",
                 other.name, other.instead);
        goto done;
    }
    if (mapped.name != NULL && any && other.name == NULL) {
        if (is_condensed(&s->options)) TRY(recommend(s, data));
        goto done;
    }
    if (mapped.name != NULL && any)
        FAIL(FACET_ERROR_INPUT, "%s needs the operator mapped, and %s the operator tensor; use %s, or %s",
             mapped.name, other.name, mapped.instead, other.instead);
    if (mapped.name != NULL)
        FAIL(FACET_ERROR_INPUT, "%s needs the operator mapped, not %s; use operator: mapped, or %s",
             mapped.name, name, mapped.instead);
    TRY(box_data_create(&s->resolved, s->options.degree, data, why));
    *box = why[0] == '\0';
    if (*box) s->operator_name = any ? "tensor" : name;
    if (!*box && !any) FAIL(FACET_ERROR_INPUT, "the operator %s needs %s; use operator: mapped", name, why);
    if (!*box && other.name != NULL)
        FAIL(FACET_ERROR_INPUT, "%s needs %s; use %s", other.name, why, other.instead);
    if (s->problem->mesh->box.cells[0] == 0 || s->problem->equation == FACET_ELASTICITY)
        why[0] = '\0'; /* nobody expects it */
done:
    return status;
}

facet_status solver_create(const struct facet_problem *problem, const facet_options *options,
                           hdg_rule_maker maker, struct facet_solver **solver) {
    facet_status status = FACET_OK;
    struct box_data data = {0};
    const struct base_monitor *monitor = &problem->shared->context->monitor;
    double begin = base_phase_begin(NULL, monitor, FACET_PHASE_SETUP);
    int box = 0;
    static const char *const kernels[] = {"condense_affine", "cell_apply", NULL};
    TRY(prepare(problem, options, solver));
    if (maker == NULL) TRY(choose_backend(*solver, &data, &box));
    if (!box) /* the methods on boxes ask for what they need */
        TRY(base_wrap(device_require((*solver)->context->device,
                                     "all but hdg and the discretization continuous on boxes", kernels),
                      "device"));
    TRY(box ? box_create(*solver, &data) : mapped_create(*solver, maker));
done:
    base_phase_end(*solver != NULL ? &(*solver)->timers : NULL, monitor, FACET_PHASE_SETUP, begin);
    if (status != FACET_OK) {
        box_data_destroy(&data);
        facet_solver_destroy(solver);
    }
    return status;
}

facet_status problem_check_data(const struct facet_problem *problem, const facet_options *options,
                                struct hdg_mismatch *mismatch, int64_t unknowns[2]) {
    facet_status status = FACET_OK;
    struct facet_solver *s = NULL;
    struct box_data data = {0};
    int box;
    TRY(prepare(problem, options, &s));
    TRY(choose_backend(s, &data, &box));
    int degree = box && s->options.degree > CHECKED_DEGREE ? CHECKED_DEGREE : s->options.degree;
    s->backend = &mapped_backend;
    TRY(problem_resolve_lists(s->problem, &s->resolved));
    TRY(hdg_create(s->context->device, &s->resolved.data, degree, NULL, NULL, &s->hdg));
    TRY(hdg_check_data(s->hdg, mismatch));
    hdg_describe(s->hdg, &s->system);
    if (box) TRY(box_count_unknowns(s, &data));
    if (unknowns != NULL) {
        unknowns[0] = s->system.n_free;
        unknowns[1] = s->system.n_volume;
    }
    for (int i = 0; i < s->problem->n_conditions && mismatch->part != NULL;
         i++) /* the solver's copy goes with it */
        if (strcmp(s->problem->conditions[i].part, mismatch->part) == 0)
            mismatch->part = s->problem->conditions[i].part;
done:
    box_data_destroy(&data);
    facet_solver_destroy(&s);
    return status;
}

facet_status facet_solver_create(const facet_problem *problem, const facet_options *options,
                                 facet_solver **solver) {
    REQUIRE(problem);
    REQUIRE(solver);
    return solver_create(problem, options, NULL, solver);
}

void facet_solver_destroy(facet_solver **solver) {
    if (solver == NULL || *solver == NULL) return;
    struct facet_solver *s = *solver;
    if (s->backend != NULL) s->backend->destroy(s);
    field_destroy(&s->tau);
    problem_resolved_destroy(&s->resolved);
    solve_report_clear(&s->report);
    problem_release(&s->problem);
    base_free(solver);
}

int64_t facet_solver_n_points(const facet_solver *solver) {
    return solver != NULL ? solver->backend->n_points(solver) : 0;
}

facet_status facet_solver_points(const facet_solver *solver, double *x) {
    REQUIRE(solver);
    REQUIRE(x);
    return solver->backend->points(solver, x);
}

/* Whether a caller's array has a number for every point and component. */
static facet_status check_length(const struct facet_solver *s, const char *function, int64_t n) {
    int components = s->problem->equation == FACET_ELASTICITY ? s->problem->mesh->dim : 1;
    int64_t wanted = components * s->backend->n_points(s);
    if (n == wanted) return FACET_OK;
    return base_fail(
        FACET_ERROR_INPUT,
        "%s: the arrays have %lld numbers, but the solver has %lld points (facet_solver_n_points) "
        "of %d each",
        function, (long long)n, (long long)(wanted / components), components);
}

/* Whether all numbers of a caller's array are finite; one that is not is named. */
static facet_status check_finite(const char *function, const char *array, int64_t n, const double *values) {
    int64_t wrong = n;
#pragma omp parallel for reduction(min : wrong) num_threads(base_threads()) if (n > 100000)
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i]) && i < wrong) wrong = i;
    if (wrong == n) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "%s: number %lld of %s is %g", function, (long long)wrong, array,
                     values[wrong]);
}

/* A source that is refused leaves the solution before as it is. */
static facet_status load(struct facet_solver *s, const double *source) {
    if (source != NULL) {
        int components = s->problem->equation == FACET_ELASTICITY ? s->problem->mesh->dim : 1;
        facet_status status =
            check_finite("facet_solver_solve", "the source", components * s->backend->n_points(s), source);
        if (status != FACET_OK) return status;
    }
    s->solved = 0;
    return s->backend->load(s, source);
}

facet_status facet_solver_solve(facet_solver *s, const double *source, double *u) {
    REQUIRE_AS(s, "solver");
    const struct base_monitor *monitor = &s->context->monitor;
    struct base_timers *timers = &s->timers;
    double begin = base_phase_begin(timers, monitor, FACET_PHASE_LOAD);
    facet_status status = load(s, source);
    base_phase_end(timers, monitor, FACET_PHASE_LOAD, begin);
    if (status != FACET_OK) return status;
    begin = base_phase_begin(timers, monitor, FACET_PHASE_SOLVE);
    status = s->backend->solve(s);
    base_phase_end(timers, monitor, FACET_PHASE_SOLVE, begin);
    if (status != FACET_OK) return status;
    begin = base_phase_begin(timers, monitor, FACET_PHASE_RECOVER);
    status = s->backend->recover(s);
    base_phase_end(timers, monitor, FACET_PHASE_RECOVER, begin);
    if (status != FACET_OK) return status;
    if (s->options.postprocess) {
        begin = base_phase_begin(timers, monitor, FACET_PHASE_POSTPROCESS);
        status = s->backend->postprocess(s);
        base_phase_end(timers, monitor, FACET_PHASE_POSTPROCESS, begin);
        if (status != FACET_OK) return status;
    }
    s->solved = 1;
    if (u == NULL) return FACET_OK;
    begin = base_phase_begin(timers, monitor, FACET_PHASE_RECOVER);
    status = s->backend->copy_out(s, u);
    base_phase_end(timers, monitor, FACET_PHASE_RECOVER, begin);
    return status;
}

facet_status facet_solver_solve_n(facet_solver *s, int64_t n, const double *source, double *u) {
    REQUIRE_AS(s, "solver");
    facet_status status = check_length(s, "facet_solver_solve_n", n);
    return status == FACET_OK ? facet_solver_solve(s, source, u) : status;
}

facet_status facet_solver_set_guess(facet_solver *s, int64_t n, const double *u) {
    REQUIRE_AS(s, "solver");
    REQUIRE(u);
    facet_status status = FACET_OK;
    TRY(check_length(s, "facet_solver_set_guess", n));
    if (s->backend->set_guess == NULL)
        FAIL(FACET_ERROR_INPUT,
             "a guess needs the discretization hdg and the operator tensor, or continuous, and this solver "
             "has "
             "%s and %s; use the option warm_start, which begins with the solution before",
             s->options.discretization, s->operator_name);
    TRY(check_finite("facet_solver_set_guess", "the guess", n, u));
    TRY(s->backend->set_guess(s, u));
done:
    return status;
}

facet_status facet_solver_set_reaction(facet_solver *s, double reaction) {
    REQUIRE_AS(s, "solver");
    if (!isfinite(reaction) || reaction < 0.0)
        return base_fail(FACET_ERROR_INPUT, "the reaction must %s, but is %g",
                         isfinite(reaction) ? "not be negative" : "be finite", reaction);
    if (s->backend->set_reaction == NULL)
        return base_fail(FACET_ERROR_INPUT,
                         "another reaction is cheap with the discretization hdg and the operator tensor, or "
                         "continuous, and "
                         "this solver has %s and %s; make a new solver",
                         s->options.discretization, s->operator_name);
    return s->backend->set_reaction(s, reaction);
}

facet_status facet_solver_report(const facet_solver *s, facet_report *report) {
    REQUIRE_AS(s, "solver");
    REQUIRE(report);
    double conservation = -1.0;
    if (s->solved) {
        facet_status status = s->backend->conservation(s, &conservation);
        if (status != FACET_OK) return status;
    }
    *report = (facet_report){.trace_unknowns = s->system.n_free,
                             .volume_unknowns = s->system.n_volume,
                             .iterations = s->report.iterations,
                             .converged = s->report.converged,
                             .method = s->method,
                             .preconditioner = s->preconditioner,
                             .reason = s->report.reason != NULL ? s->report.reason : "not started",
                             .residual = s->report.residual,
                             .rate = s->report.rate,
                             .operator_name = s->operator_name,
                             .conservation = conservation};
    memcpy(report->seconds, s->timers.seconds, sizeof report->seconds);
    return FACET_OK;
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
    facet_status status = s->backend->measure_errors(s, &e);
    if (status != FACET_OK) return status;
    *errors = (facet_errors){.u_L2 = e.u_L2,
                             .u_Linf = e.u_Linf,
                             .q_L2 = e.q_L2,
                             .u_star_L2 = e.u_star_L2,
                             .q_star_L2 = e.q_star_L2,
                             .trace_L2 = e.trace_L2,
                             .H_L2 = e.H_L2,
                             .p_L2 = e.p_L2,
                             .stress_L2 = e.stress_L2};
    if (s->problem->equation == FACET_ELASTICITY)
        errors->q_L2 = errors->q_star_L2 = -1.0;
    else
        errors->H_L2 = errors->p_L2 = errors->stress_L2 = -1.0;
    return status;
}

int facet_solver_n_levels(const facet_solver *solver) {
    const struct multigrid *mg = solver != NULL ? solver->backend->multigrid(solver) : NULL;
    return mg != NULL ? multigrid_n_levels(mg) : 0;
}

facet_status facet_solver_level(const facet_solver *solver, int level, facet_level *info) {
    REQUIRE(solver);
    REQUIRE(info);
    struct mg_summary summary;
    int n = facet_solver_n_levels(solver);
    if (level < 0 || level >= n) return base_fail(FACET_ERROR_INPUT, "there is no level %d of %d", level, n);
    multigrid_summarize(solver->backend->multigrid(solver), level, &summary);
    *info = (facet_level){.name = summary.name,
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
    return FACET_OK;
}
