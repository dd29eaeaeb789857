/* The solver as callers see it: plain modes in, plain modes out. */
#include "boxhdg/solver.h"

#include "base/memory.h"
#include "boxhdg/cg.h"
#include "boxhdg/lanes_points.h"
#include "boxhdg/precondition.h"

/* Of the products of single precision; beyond it, conjugate gradients need many more steps than in double. */
#define MOST_ERROR 3e-3

struct boxhdg_solver {
    const struct device *device;
    struct boxhdg_solver_options options;
    struct boxhdg_lanes *lanes, *single; /* single: NULL unless mixed */
    struct boxhdg_lanes_coarse *coarse;
    struct operator cycle, exact_cycle;
    struct boxhdg_cg cg;
    struct boxhdg_cg exact; /* in double precision, made when single is not enough */
    struct boxhdg_cg *now;  /* the one in use */
    double convert_seconds;
    struct boxhdg_lanes_points *points; /* NULL until boundary data are set */
};

void boxhdg_solver_options_default(struct boxhdg_solver_options *options) {
    *options =
        (struct boxhdg_solver_options){.preconditioner = BOXHDG_ADDITIVE, .mixed = 1, .chebyshev_degree = 4};
}

const char *boxhdg_preconditioner_name(enum boxhdg_preconditioner preconditioner) {
    static const char *const names[] = {"none", "diagonal", "additive", "chebyshev"};
    return names[preconditioner];
}

/* The identity on plain modes instead of the inverse diagonal: 1 / (b b)^2 in lanes. */
static facet_status forget_diagonal(struct boxhdg_lanes *lanes) {
    facet_status status = FACET_OK;
    int64_t n = lanes->hdg->n_trace;
    double *ones = NULL;
    struct vector v = {0};
    TRY(ALLOC(ones, n));
    for (int64_t i = 0; i < n; i++) ones[i] = 1.0;
    TRY(boxhdg_lanes_vector(lanes, lanes->plan.size, &v));
    TRY(boxhdg_lanes_pack(lanes, BOXHDG_UNKNOWN, ones, &v));
    if (lanes->single)
        device_multiply_single(lanes->device, v.n, v.single, v.single, (float *)lanes->plan.f32.diagonal);
    else
        device_multiply(lanes->device, v.n, v.data, v.data, (double *)lanes->plan.f64.diagonal);
done:
    base_free(&ones);
    vector_destroy(&v);
    return status;
}

/* The iteration in the precision of `fast`, with the cycle it may need. */
static facet_status make_iteration(struct boxhdg_solver *s, const struct boxhdg_lanes *fast,
                                   struct operator* cycle, struct boxhdg_cg *cg) {
    facet_status status = FACET_OK;
    cg->lanes = s->lanes;
    cg->fast = fast;
    cg->coarse = s->coarse;
    if (s->coarse != NULL && s->options.preconditioner == BOXHDG_CHEBYSHEV) {
        TRY(operator_create_box_cycle(fast, s->coarse, s->options.chebyshev_degree, cycle));
        cg->M = cycle;
    }
    TRY(boxhdg_cg_create(cg));
done:
    if (status != FACET_OK) {
        boxhdg_cg_destroy(cg);
        operator_destroy(cycle);
    }
    return status;
}

/* Whether the iteration may run in single precision; if not, it is made anew in double. */
static facet_status judge_single(struct boxhdg_solver *s) {
    facet_status status = FACET_OK;
    TRY(boxhdg_cg_error(&s->cg));
    if (s->cg.error <= MOST_ERROR) goto done;
    boxhdg_cg_destroy(&s->cg);
    operator_destroy(&s->cycle);
    boxhdg_lanes_destroy(&s->single);
    s->cg = (struct boxhdg_cg){0};
    TRY(make_iteration(s, s->lanes, &s->cycle, &s->cg));
done:
    return status;
}

facet_status boxhdg_solver_create(const struct device *device, const struct boxhdg *hdg,
                                  const struct boxhdg_solver_options *options,
                                  struct boxhdg_solver **solver) {
    facet_status status = FACET_OK;
    struct boxhdg_solver *s;
    TRY(CALLOC(*solver, 1));
    s = *solver;
    s->device = device;
    s->now = &s->cg;
    boxhdg_solver_options_default(&s->options);
    if (options != NULL) s->options = *options;
    enum boxhdg_preconditioner kind = s->options.preconditioner;
    TRY(boxhdg_solver_check_memory(device, hdg, &s->options));
    TRY(boxhdg_lanes_create(device, hdg, 0, &s->lanes));
    if (s->options.mixed) TRY(boxhdg_lanes_create(device, hdg, 1, &s->single));
    if (kind == BOXHDG_NONE) {
        TRY(forget_diagonal(s->lanes));
        if (s->single != NULL) TRY(forget_diagonal(s->single));
    }
    if (kind == BOXHDG_ADDITIVE || kind == BOXHDG_CHEBYSHEV)
        TRY(boxhdg_lanes_coarse_create(s->lanes, &s->coarse));
    if (s->coarse != NULL && boxhdg_lanes_coarse_size(s->coarse) == 0)
        boxhdg_lanes_coarse_destroy(&s->coarse); /* none is free */
    TRY(make_iteration(s, s->single != NULL ? s->single : s->lanes, &s->cycle, &s->cg));
    if (s->single != NULL) TRY(judge_single(s));
done:
    if (status != FACET_OK) boxhdg_solver_destroy(solver);
    return status;
}

void boxhdg_solver_destroy(struct boxhdg_solver **solver) {
    struct boxhdg_solver *s = *solver;
    if (s == NULL) return;
    boxhdg_cg_destroy(&s->cg);
    boxhdg_cg_destroy(&s->exact);
    operator_destroy(&s->cycle);
    operator_destroy(&s->exact_cycle);
    boxhdg_lanes_coarse_destroy(&s->coarse);
    boxhdg_lanes_points_destroy(&s->points);
    boxhdg_lanes_destroy(&s->single);
    boxhdg_lanes_destroy(&s->lanes);
    base_free(solver);
}

/* The right-hand side in lanes: from plain modes on the host, or (F = NULL) from f at the points. */
static facet_status put_right_side(struct boxhdg_solver *s, const double *F, const struct vector *f,
                                   struct boxhdg_cg *cg) {
    if (F != NULL) return boxhdg_lanes_pack(s->lanes, BOXHDG_RESIDUAL, F, &cg->F);
    boxhdg_lanes_load(s->points, f, &cg->F);
    return FACET_OK;
}

/* Goes on in double precision from where single precision came to, and stays there. */
static facet_status go_on(struct boxhdg_solver *s, const double *F, const struct vector *f,
                          const struct solve_control *control, struct solve_report *report) {
    facet_status status = FACET_OK;
    int stalled;
    if (s->exact.F.n == 0) TRY(make_iteration(s, s->lanes, &s->exact_cycle, &s->exact));
    TRY(put_right_side(s, F, f, &s->exact));
    vector_axpby(1.0, &s->cg.solution, 0.0, &s->exact.solution);
    s->now = &s->exact;
    status = boxhdg_cg_solve(s->now, control, report, &stalled);
done:
    return status;
}

facet_status boxhdg_solver_solve(struct boxhdg_solver *s, const double *F, double *uhat, int use_guess,
                                 const struct solve_control *control, struct solve_report *report) {
    facet_status status = FACET_OK, solved;
    double clock = base_seconds();
    int stalled;
    solve_report_clear(report);
    TRY(boxhdg_lanes_pack(s->lanes, BOXHDG_RESIDUAL, F, &s->now->F));
    if (use_guess)
        TRY(boxhdg_lanes_pack(s->lanes, BOXHDG_UNKNOWN, uhat, &s->now->solution));
    else
        vector_fill(&s->now->solution, 0.0);
    s->convert_seconds = base_seconds() - clock;
    solved = boxhdg_cg_solve(s->now, control, report, &stalled);
    if (solved == FACET_OK && stalled) solved = go_on(s, F, NULL, control, report);
    if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) {
        status = solved;
        goto done;
    }
    clock = base_seconds();
    TRY(boxhdg_lanes_unpack(s->lanes, BOXHDG_UNKNOWN, &s->now->solution, uhat));
    s->convert_seconds += base_seconds() - clock;
    status = solved;
done:
    return status;
}

facet_status boxhdg_solver_set_boundary(struct boxhdg_solver *s, const double *dirichlet,
                                        const double *neumann) {
    boxhdg_lanes_points_destroy(&s->points);
    return boxhdg_lanes_points_create(s->lanes, dirichlet, neumann, &s->points);
}

facet_status boxhdg_solver_solve_points(struct boxhdg_solver *s, const struct vector *f, struct vector *u,
                                        const struct solve_control *control, struct solve_report *report,
                                        double seconds[3]) {
    facet_status status = FACET_OK, solved;
    double clock[4] = {base_seconds()};
    int stalled;
    solve_report_clear(report);
    if (s->points == NULL) TRY(boxhdg_solver_set_boundary(s, NULL, NULL));
    TRY(put_right_side(s, NULL, f, s->now));
    vector_fill(&s->now->solution, 0.0);
    TRY(device_check(s->device)); /* waits, so that times are those of the parts */
    clock[1] = base_seconds();
    solved = boxhdg_cg_solve(s->now, control, report, &stalled);
    if (solved == FACET_OK && stalled) solved = go_on(s, NULL, f, control, report);
    TRY(device_check(s->device));
    if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) {
        status = solved;
        goto done;
    }
    clock[2] = base_seconds();
    boxhdg_lanes_recover(s->points, &s->now->solution, f, u);
    TRY(device_check(s->device));
    clock[3] = base_seconds();
    for (int i = 0; seconds != NULL && i < 3; i++) seconds[i] = clock[i + 1] - clock[i];
    status = solved;
done:
    return status;
}

struct multigrid *boxhdg_solver_multigrid(const struct boxhdg_solver *s) {
    return s->coarse != NULL ? boxhdg_lanes_coarse_multigrid(s->coarse) : NULL;
}

double boxhdg_solver_convert_seconds(const struct boxhdg_solver *s) {
    return s->convert_seconds;
}
