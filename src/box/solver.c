/* The solver as callers see it: plain modes in, plain modes out. */
#include "box/solver.h"

#include "base/memory.h"
#include "box/cg.h"
#include "box/precondition.h"

struct box_solver {
    struct box_lanes *lanes;
    struct box_lanes_coarse *coarse;
    struct operator M;
    struct box_cg cg;
    double convert_seconds;
};

void box_solver_options_default(struct box_solver_options *options) {
    *options = (struct box_solver_options){.preconditioner = BOX_ADDITIVE, .mixed = 1, .chebyshev_degree = 4};
}

const char *box_preconditioner_name(enum box_preconditioner preconditioner) {
    static const char *const names[] = {"none", "diagonal", "additive", "chebyshev"};
    return names[preconditioner];
}

/* The identity on plain modes instead of the inverse diagonal: 1 / (b b)^2 in lanes. */
static facet_status forget_diagonal(struct box_lanes *lanes) {
    facet_status status = FACET_OK;
    int64_t n = lanes->hdg->n_trace;
    double *ones = NULL;
    struct vector v = {0};
    TRY(ALLOC(ones, n));
    for (int64_t i = 0; i < n; i++) ones[i] = 1.0;
    TRY(vector_create(lanes->device, lanes->plan.size, &v));
    TRY(box_lanes_pack(lanes, BOX_UNKNOWN, ones, &v));
    double *diagonal = (double *)lanes->plan.f64.diagonal;
    device_multiply(lanes->device, v.n, v.data, v.data, diagonal);
    if (lanes->single)
        device_convert_to_single(lanes->device, v.n, diagonal, (float *)lanes->plan.f32.diagonal);
done:
    base_free(&ones);
    vector_destroy(&v);
    return status;
}

facet_status box_solver_create(const struct device *device, const struct box_hdg *hdg,
                               const struct box_solver_options *options, struct box_solver **solver) {
    facet_status status = FACET_OK;
    struct box_solver_options defaults;
    struct box_solver *s;
    box_solver_options_default(&defaults);
    if (options == NULL) options = &defaults;
    enum box_preconditioner kind = options->preconditioner;
    TRY(CALLOC(*solver, 1));
    s = *solver;
    TRY(box_lanes_create(device, hdg, options->mixed, &s->lanes));
    if (kind == BOX_NONE) TRY(forget_diagonal(s->lanes));
    if (kind == BOX_ADDITIVE || kind == BOX_CHEBYSHEV) TRY(box_lanes_coarse_create(s->lanes, &s->coarse));
    if (s->coarse != NULL && box_lanes_coarse_size(s->coarse) == 0) { /* all vertices are fixed */
        box_lanes_coarse_destroy(&s->coarse);
        kind = BOX_DIAGONAL;
    }
    if (kind == BOX_CHEBYSHEV)
        TRY(operator_create_box_cycle(s->lanes, s->coarse, options->chebyshev_degree, options->mixed, &s->M));
    s->cg.lanes = s->lanes;
    s->cg.coarse = s->coarse;
    s->cg.M = kind == BOX_CHEBYSHEV ? &s->M : NULL;
    s->cg.single = options->mixed;
    TRY(box_cg_create(&s->cg));
done:
    if (status != FACET_OK) box_solver_destroy(solver);
    return status;
}

void box_solver_destroy(struct box_solver **solver) {
    struct box_solver *s = *solver;
    if (s == NULL) return;
    box_cg_destroy(&s->cg);
    operator_destroy(&s->M);
    box_lanes_coarse_destroy(&s->coarse);
    box_lanes_destroy(&s->lanes);
    base_free(solver);
}

facet_status box_solver_solve(struct box_solver *s, const double *F, double *uhat, int use_guess,
                              const struct solve_control *control, struct solve_report *report) {
    facet_status status = FACET_OK, solved;
    double clock = base_seconds();
    TRY(box_lanes_pack(s->lanes, BOX_RESIDUAL, F, &s->cg.F));
    if (use_guess)
        TRY(box_lanes_pack(s->lanes, BOX_UNKNOWN, uhat, &s->cg.solution));
    else
        vector_fill(&s->cg.solution, 0.0);
    s->convert_seconds = base_seconds() - clock;
    solved = box_cg_solve(&s->cg, control, report);
    if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) {
        status = solved;
        goto done;
    }
    clock = base_seconds();
    TRY(box_lanes_unpack(s->lanes, BOX_UNKNOWN, &s->cg.solution, uhat));
    s->convert_seconds += base_seconds() - clock;
    status = solved;
done:
    return status;
}

struct multigrid *box_solver_multigrid(const struct box_solver *s) {
    return s->coarse != NULL ? box_lanes_coarse_multigrid(s->coarse) : NULL;
}

double box_solver_convert_seconds(const struct box_solver *s) {
    return s->convert_seconds;
}
