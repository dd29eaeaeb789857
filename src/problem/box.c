/* The backend of boxes, HDG: over src/boxhdg, with the cell matrices factored into 1D ones. Cells have the
 * numbers of the mesh there. */
#include "problem/box.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* ------------------------------------------------------------------------------ set-up */

static void destroy(struct facet_solver *s) {
    struct box_backend *b = s->box;
    if (b == NULL) return;
    boxhdg_resident_destroy(&b->resident);
    box_method_destroy(&b->method);
    boxhdg_solution_destroy(&b->solution);
    base_free(&b->dirichlet);
    base_free(&b->neumann);
    base_free(&b->F);
    boxhdg_destroy(&b->hdg);
    box_data_destroy(&b->data);
    base_free(&s->box);
}

static facet_status create_hdg(struct facet_solver *s) {
    struct box_backend *b = s->box;
    struct box_grid_data grid;
    facet_status status = box_constant_choose(b, &grid);
    if (status != FACET_OK) return status;
    return boxhdg_create(&grid, s->options.degree, (const double *const *)b->data.rho, &b->hdg);
}

/* Whether some side of this kind has values that are not zero. */
static int has_values(const struct facet_solver *s, enum hdg_kind kind) {
    double value;
    for (int d = 0; d < s->problem->mesh->dim; d++)
        for (int side = 0; side < 2; side++) {
            const struct hdg_condition *c = s->box->data.conditions[d][side];
            if (c != NULL && c->kind == kind &&
                (c->g == NULL || !field_is_constant(c->g, &value) || value != 0.0))
                return 1;
        }
    return 0;
}

static facet_status project_boundary(struct facet_solver *s) {
    facet_status status = FACET_OK;
    const struct base_monitor *monitor = &s->context->monitor;
    struct box_backend *b = s->box;
    struct box_given given = box_given_data(s, NULL);
    double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_LOAD);
    base_free(&b->dirichlet);
    base_free(&b->neumann);
    if (has_values(s, HDG_DIRICHLET)) TRY(ALLOC(b->dirichlet, b->hdg->n_trace));
    if (has_values(s, HDG_NEUMANN)) TRY(CALLOC(b->neumann, b->hdg->n_trace));
    if (b->dirichlet == NULL && b->neumann == NULL) goto done;
    TRY(boxhdg_project_boundary(b->hdg, &given, b->dirichlet, b->neumann));
done:
    base_phase_end(&s->timers, monitor, FACET_PHASE_LOAD, begin);
    return status;
}

static facet_status renew(struct facet_solver *s, int what) {
    (void)what; /* no matrix has to do with the boundary */
    return project_boundary(s);
}

static void describe(struct facet_solver *s, const struct boxhdg *h) {
    s->system = (struct hdg_system){.n_all = h->n_trace, .n_free = h->n_free};
    s->system.n_volume = (1 + h->grid.dim) * h->n_volume; /* u and q */
    s->n_unknowns = h->n_all_free;
}

static int is_continuous(const struct facet_solver *s) {
    return s->options.discretization == DISCRETIZATION_CONTINUOUS;
}

facet_status box_count_unknowns(struct facet_solver *s, const struct box_data *data) {
    struct boxhdg *h = NULL;
    if (is_continuous(s)) return boxsem_count(s, data);
    facet_status status = boxhdg_create(&data->grid, s->options.degree, (const double *const *)data->rho, &h);
    if (status == FACET_OK) {
        describe(s, h);
        status = box_method_choose(s, h);
    }
    boxhdg_destroy(&h);
    return status;
}

static facet_status condense(struct facet_solver *s) {
    facet_status status = FACET_OK;
    const struct base_monitor *monitor = &s->context->monitor;
    double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_CONDENSE);
    TRY(create_hdg(s));
    describe(s, s->box->hdg);
    TRY(box_method_choose(s, s->box->hdg));
    TRY(box_method_check_memory(s));
    if (box_device_wanted(s)) goto done;
    TRY(project_boundary(s));
    TRY(ALLOC(s->box->F, s->box->hdg->n_trace));
    TRY(boxhdg_solution_create(s->box->hdg, &s->box->solution));
done:
    base_phase_end(&s->timers, monitor, FACET_PHASE_CONDENSE, begin);
    return status;
}

facet_status box_create(struct facet_solver *s, struct box_data *data) {
    facet_status status = CALLOC(s->box, 1);
    if (status != FACET_OK) {
        box_data_destroy(data);
        return status;
    }
    s->backend = &box_backend;
    s->box->data = *data;
    *data = (struct box_data){0};
    if (is_continuous(s)) return boxsem_start(s);
    status = condense(s);
    if (status != FACET_OK) return status;
    return box_device_wanted(s) ? box_device_start(s) : box_method_create(s);
}

/* ------------------------------------------------------------------------------ solve */

static int64_t n_points(const struct facet_solver *s) {
    return s->box->hdg->n_volume;
}

static facet_status source_points(const struct facet_solver *s, double *x) {
    return box_points_source(s, &s->box->hdg->grid, x);
}

static facet_status source_weights(const struct facet_solver *s, double *weights) {
    return box_points_source_weights(s, &s->box->hdg->grid, weights);
}

static int64_t n_unknowns(const struct facet_solver *s) {
    return s->box->hdg->n_trace;
}

/* A singular problem: what quadrature leaves of the sum of all loads is taken off the source, and no more. */
static facet_status balance(const struct box_backend *b, double imbalance[2]) {
    double shift, scale, volume = 1.0;
    const struct box_grid *g = &b->hdg->grid;
    boxhdg_balance(b->hdg, b->neumann, b->solution.loads, &shift, &scale);
    for (int d = 0; d < g->dim; d++) volume *= g->coordinates[d][g->cells[d]] - g->coordinates[d][0];
    volume = box_all(g, TEAM_SUM, volume);
    imbalance[0] = shift * volume;
    imbalance[1] = scale * volume;
    return box_check_balance(imbalance[0], imbalance[1]);
}

static facet_status load(struct facet_solver *s, const double *source) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    struct box_given given = box_given_data(s, NULL);
    double *loads = b->solution.loads;
    b->has_q = 0;
    base_free(&b->solution.star);
    if (source != NULL) TRY(boxhdg_load(b->hdg, source, b->dirichlet, b->neumann, loads, b->F));
    if (source == NULL) TRY(boxhdg_project_source(b->hdg, &given, loads));
    b->constant = 0.0;
    b->all_is_constant = 0;
    if (b->hdg->grid.singular && !b->apart) TRY(balance(b, s->imbalance));
    if (b->apart)
        TRY(box_constant_take(b, source == NULL && given.source == NULL ? given.exact : NULL,
                              source == NULL && box_given_is_exact(&given)));
    if (source == NULL || b->hdg->grid.singular || b->apart)
        TRY(boxhdg_condense_loads(b->hdg, loads, b->dirichlet, b->neumann, b->F));
    if (b->all_is_constant) memset(b->F, 0, (size_t)b->hdg->n_trace * sizeof *b->F);
done:
    return status;
}

static facet_status solve(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    double *trace = b->solution.trace;
    enum boxhdg_guess guess = b->has_guess                            ? BOXHDG_FROM_GIVEN
                              : b->has_trace && s->options.warm_start ? BOXHDG_FROM_BEFORE
                                                                      : BOXHDG_FROM_ZERO;
    if (guess != BOXHDG_FROM_ZERO)
        boxhdg_add_dirichlet(b->hdg, NULL, trace);
    else
        memset(trace, 0, (size_t)b->hdg->n_trace * sizeof *trace);
    b->has_guess = b->has_trace = 0;
    TRY(box_method_solve(s, b->F, guess, trace));
    b->has_trace = 1;
    boxhdg_add_dirichlet(b->hdg, b->dirichlet, trace);
done:
    return status;
}

/* q is computed when someone asks for it: a flow code that wants u does not pay for it. */
static facet_status need_q(const struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    if (b->has_q) return FACET_OK;
    TRY(boxhdg_solution_find_q(b->hdg, &b->solution)); /* others may be reading u */
    b->has_q = 1;
done:
    return status;
}

/* Rounding in the matrices of cells: a tau that is far from k / h, either way. A large one hides the residual
 * of smooth functions, too, as far as that is above rounding. By measurement. */
static double matrix_doubt(const struct boxhdg *h, double residual) {
    const double rough = fmax(4.0 * DBL_EPSILON, 0.01 * fmin(residual, 1e-12)), fine = 1e-3 * DBL_EPSILON;
    double most = 0.0;
    for (int i = 0; i < h->n_lines; i++)
        most = fmax(most, fmax(rough * h->lines[i].rho, fine / h->lines[i].rho));
    return box_all(&h->grid, TEAM_MAX, most);
}

/* What the solve did not see: rounding of matrices, jumps of k, a reaction that was left out, and rounding of
 * a constant that is kept apart beside u, whose mean is zero. */
facet_status box_judge(struct facet_solver *s) {
    const struct box_backend *b = s->box;
    double square = 0.0, doubt = fmax(b->apart ? b->doubt : 0.0, box_method_doubt(s));
    facet_status status =
        solve_accept_more(s->options.rtol, matrix_doubt(b->hdg, s->report.residual), &s->report);
    if (status != FACET_OK || fmax(doubt, b->dropped) == 0.0) return status;
    for (int64_t i = 0; b->resident == NULL && i < b->hdg->n_volume; i++)
        square += b->solution.u[i] * b->solution.u[i];
    if (b->resident != NULL) square = pow(boxhdg_resident_norm(b->resident), 2);
    square = box_all(&b->hdg->grid, TEAM_SUM, square);
    double cells = box_all(&b->hdg->grid, TEAM_SUM, /* functions have the square 1 on [-1, 1] */
                           (double)(b->hdg->grid.n_cells << b->hdg->grid.dim));
    double size = sqrt(square / cells);
    if (size + fabs(b->constant) == 0.0) return FACET_OK;
    return solve_accept_more(s->options.rtol, fmax(doubt, b->dropped * size) / (fabs(b->constant) + size),
                             &s->report);
}

static facet_status recover(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    struct boxhdg_solution *solution = &b->solution;
    TRY(boxhdg_recover(b->hdg, solution->loads, solution->trace, solution->u, NULL));
    if (b->hdg->grid.singular &&
        !b->apart) { /* u is known up to a constant: the mean of the exact solution, or zero */
        double mean = 0.0;
        if (s->problem->exact != NULL)
            TRY(box_field_mean(&b->hdg->grid, b->hdg->n + BOX_EXTRA_POINTS, s->problem->exact, &mean));
        boxhdg_shift(b->hdg, mean - boxhdg_mean(b->hdg, solution->u), solution);
    }
    if (b->apart) boxhdg_shift(b->hdg, -boxhdg_mean(b->hdg, solution->u), solution);
    double largest =
        fmax(solve_largest(b->hdg->n_trace, solution->trace), solve_largest(b->hdg->n_volume, solution->u));
    largest = box_all(&b->hdg->grid, TEAM_MAX, fmax(fabs(b->constant), largest));
    TRY(solve_check_size(largest, &s->report));
    TRY(box_judge(s));
    TRY(solve_reached(s->options.error, &s->report));
done:
    return status;
}

/* And so is u*, from u, which has its mean by then. */
static facet_status need_star(const struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    if (b->solution.star != NULL) return FACET_OK;
    TRY(need_q(s));
    TRY(boxhdg_postprocess(b->hdg, &b->solution));
done:
    return status;
}

static facet_status copy_out(const struct facet_solver *s, double *u) {
    const struct box_backend *b = s->box;
    facet_status status = boxhdg_transform(b->hdg, 1, b->solution.u, u);
    for (int64_t i = 0; status == FACET_OK && b->apart && i < b->hdg->n_volume; i++) u[i] += b->constant;
    return status;
}

static facet_status conservation(const struct facet_solver *s, struct solve_balance *balance) {
    return boxhdg_conservation(s->box->hdg, &s->box->solution, balance);
}

static facet_status arrays(struct facet_solver *s, struct backend_array *arrays, int *n) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    if (b->resident != NULL) TRY(box_device_fetch(s, 0, NULL));
    arrays[0] = (struct backend_array){b->solution.trace, b->hdg->n_trace};
    arrays[1] = (struct backend_array){b->solution.u, b->hdg->n_volume};
    *n = 2;
    b->has_q = 0; /* they may be written to */
done:
    return status;
}

static facet_status totals(const struct facet_solver *s, int whole, int n, const double *const *psi,
                           double *totals, double *roundings, double *squares) {
    facet_status status = FACET_OK;
    const struct box_backend *b = s->box;
    double *neumann = NULL;
    if (b->resident != NULL) TRY(box_device_fetch(s, 0, NULL));
    if (b->resident != NULL) TRY(boxhdg_resident_neumann(b->resident, &neumann));
    TRY(boxhdg_totals(b->hdg, &b->solution, b->resident != NULL ? neumann : b->neumann, whole, n, psi, totals,
                      roundings, squares));
done:
    base_free(&neumann);
    return status;
}

static facet_status set_guess(struct facet_solver *s, const double *u) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    s->solved = 0; /* the trace is overwritten */
    TRY(boxhdg_hybridize(b->hdg, u, b->dirichlet, b->neumann, b->solution.trace));
    if (b->apart) TRY(box_constant_drop(b->hdg, b->solution.trace));
    b->has_guess = 1;
done:
    return status;
}

/* Lines and boundary data do not depend on the reaction; what does is made anew, and a failure leaves the
 * solver as it was. */
static facet_status set_reaction(struct facet_solver *s, double reaction) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    struct boxhdg *hdg = b->hdg;
    struct box_method *method = b->method;
    struct boxhdg_resident *resident = b->resident;
    int apart = b->apart;
    double weak = b->reaction, *before = b->data.reaction, *after = NULL;
    TRY(ALLOC(after, hdg->grid.n_cells));
    for (int64_t c = 0; c < hdg->grid.n_cells; c++) after[c] = reaction;
    b->data.grid.reaction = b->data.reaction = after;
    b->hdg = NULL;
    b->method = NULL;
    b->resident = NULL;
    TRY(create_hdg(s));
    TRY(box_method_choose(s, b->hdg));
    TRY(resident != NULL ? box_device_start(s) : box_method_create(s));
    if (resident != NULL) boxhdg_resident_adopt(b->resident, resident);
    s->solved = 0;
done:
    if (status != FACET_OK && after != NULL) { /* the new ones go */
        struct box_method *failed = b->method;
        struct boxhdg *unused = b->hdg;
        struct boxhdg_resident *partial = b->resident;
        b->hdg = hdg;
        b->method = method;
        b->resident = resident;
        b->apart = apart;
        b->reaction = weak;
        b->data.grid.reaction = b->data.reaction = before;
        hdg = unused;
        method = failed;
        resident = partial;
        before = after;
    }
    if (after != NULL) {
        boxhdg_resident_destroy(&resident);
        box_method_destroy(&method);
        boxhdg_destroy(&hdg);
        base_free(&before);
    }
    return status;
}

static const struct multigrid *multigrid_of(const struct facet_solver *s) {
    return s->box->method != NULL ? box_method_multigrid(s->box->method) : NULL;
}

static facet_status measure_errors(const struct facet_solver *s, struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    struct box_errors e;
    TRY(solver_need(s, s->options.postprocess ? HDG_U_STAR : HDG_Q));
    TRY(box_constant_measure(s->box, s->problem->exact, &e));
    *errors = box_points_errors(&e, s->options.postprocess);
done:
    return status;
}

/* ------------------------------------------------------------------------------ fields */

static facet_status need(const struct facet_solver *s, enum hdg_field field) {
    return hdg_fields[field].star ? need_star(s) : field == HDG_Q ? need_q(s) : FACET_OK;
}

static const enum boxhdg_field names[] = {
    [HDG_U] = BOX_U, [HDG_U_STAR] = BOX_U_STAR, [HDG_Q] = BOX_Q, [HDG_Q_STAR] = BOX_Q_STAR};

static facet_status evaluate(const struct facet_solver *s, enum hdg_field field, int n_cells,
                             const int32_t *cells, const struct backend_points *points, double *values) {
    facet_status status = FACET_OK;
    const struct box_backend *b = s->box;
    const struct box_places places = box_points_places(points);
    const int apart = b->apart && (field == HDG_U || field == HDG_U_STAR);
    const int64_t size =
        (int64_t)points->n * (field == HDG_Q || field == HDG_Q_STAR ? s->problem->mesh->dim : 1);
    for (int i = 0; i < n_cells; i++)
        TRY(boxhdg_evaluate(b->hdg, &b->solution, names[field], cells[i], &places, values + i * size));
    for (int64_t i = 0; apart && i < n_cells * size; i++) values[i] += b->constant;
done:
    return status;
}

static facet_status integrate(const struct facet_solver *s, enum hdg_field field, int32_t cell,
                              double *integrals, double *volume) {
    const struct box_backend *b = s->box;
    *volume = box_points_volume(s, cell);
    facet_status status = boxhdg_integrate(b->hdg, &b->solution, names[field], cell, integrals);
    if (b->apart && boxhdg_field_components(b->hdg, names[field]) == 1) integrals[0] += b->constant * *volume;
    return status;
}

/* Extremes of u, whose tables are made once for all cells. */
static facet_status reduce(const struct facet_solver *s, enum hdg_field field, enum backend_take take, int n,
                           const double *x, double *values, int64_t *n_pairs) {
    facet_status status = FACET_OK;
    const struct box_backend *b = s->box;
    const int here = (take == BACKEND_EXTREMES || take == BACKEND_RANGE) && field == HDG_U;
    *n_pairs = here ? b->hdg->grid.n_cells : 0;
    if (!here) return FACET_OK;
    TRY(boxhdg_extremes(b->hdg, &b->solution, n, x, values));
    for (int64_t i = 0; b->apart && i < 2 * b->hdg->grid.n_cells; i++) values[i] += b->constant;
done:
    return status;
}

static facet_status face_fluxes(const struct facet_solver *s, int n, const struct mesh_group_face *faces,
                                double *fluxes) {
    const struct box_backend *b = s->box;
    const int known = b->neumann != NULL || !has_values(s, HDG_NEUMANN);
    for (int i = 0; i < n; i++) {
        int d, side;
        shape_face_side(s->problem->mesh->blocks[0].shape, faces[i].local, &d, &side);
        if (known && boxhdg_given_flux(b->hdg, b->neumann, faces[i].cell, d, side, &fluxes[3 * i])) continue;
        fluxes[3 * i] = boxhdg_face_flux(s->box->hdg, &s->box->solution, faces[i].cell, d, side);
    }
    return FACET_OK;
}

static facet_status mean_trace(const struct facet_solver *s, int32_t cell, double *values) {
    values[0] = s->box->constant + boxhdg_mean_trace(s->box->hdg, &s->box->solution, cell);
    return FACET_OK;
}

/* Of boxes whose solution does not stay on the device. */
static void on_host(const struct facet_solver *s, char *text, size_t bytes) {
    (void)s;
    snprintf(text, bytes, "load and recovery");
}

const struct backend box_backend = {.destroy = destroy,
                                    .n_points = n_points,
                                    .points = source_points,
                                    .point_weights = source_weights,
                                    .n_unknowns = n_unknowns,
                                    .apply = box_method_apply,
                                    .precondition = box_method_precondition,
                                    .get_system = box_method_get,
                                    .renew = renew,
                                    .load = load,
                                    .solve = solve,
                                    .recover = recover,
                                    .conservation = conservation,
                                    .on_host = on_host,
                                    .copy_out = copy_out,
                                    .set_guess = set_guess,
                                    .set_reaction = set_reaction,
                                    .multigrid = multigrid_of,
                                    .measure_errors = measure_errors,
                                    .need = need,
                                    .prepare = box_points_prepare,
                                    .rule = box_points_rule,
                                    .weights = box_points_weights,
                                    .map = box_points_map,
                                    .evaluate = evaluate,
                                    .integrate = integrate,
                                    .reduce = reduce,
                                    .face_rule = box_points_face_rule,
                                    .face_fluxes = face_fluxes,
                                    .arrays = arrays,
                                    .totals = totals,
                                    .mean_trace = mean_trace};

/* The same with the solution on the device. */
const struct backend box_device_backend = {.destroy = destroy,
                                           .n_points = n_points,
                                           .points = source_points,
                                           .point_weights = source_weights,
                                           .n_unknowns = n_unknowns,
                                           .apply = box_method_apply,
                                           .precondition = box_method_precondition,
                                           .get_system = box_method_get,
                                           .renew = box_device_renew,
                                           .load = box_device_load,
                                           .solve = box_device_solve,
                                           .recover = box_device_recover,
                                           .conservation = box_device_conservation,
                                           .copy_out = box_device_copy_out,
                                           .load_there = box_device_load_there,
                                           .copy_there = box_device_copy_there,
                                           .set_guess = box_device_set_guess,
                                           .set_reaction = set_reaction,
                                           .multigrid = multigrid_of,
                                           .measure_errors = box_device_measure_errors,
                                           .fetch = box_device_fetch,
                                           .need = box_device_need,
                                           .prepare = box_points_prepare,
                                           .rule = box_points_rule,
                                           .weights = box_points_weights,
                                           .map = box_points_map,
                                           .evaluate = evaluate,
                                           .integrate = integrate,
                                           .reduce = box_device_reduce,
                                           .face_rule = box_points_face_rule,
                                           .face_fluxes = face_fluxes,
                                           .arrays = arrays,
                                           .totals = totals,
                                           .mean_trace = mean_trace};
