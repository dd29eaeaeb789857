/* The backend of boxes, HDG: over src/boxhdg, with the cell matrices factored into 1D ones. Cells have the
 * numbers of the mesh there. The solution stays on the device (boxhdg/resident.h), and what the host
 * evaluates is fetched first: the cells of a list, or all of them. */
#include "problem/box_backend.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "problem/choice.h"

/* Of the loads of all cells, whose integrals may all vanish. */
#define ROUNDING 1e-14

/* ------------------------------------------------------------------------------ set-up */

static void destroy(struct facet_solver *s) {
    struct box *b = box_of(s);
    if (b == NULL) return;
    boxhdg_resident_destroy(&b->resident);
    boxhdg_solver_destroy(&b->solver);
    boxhdg_solution_destroy(&b->solution);
    boxhdg_destroy(&b->hdg);
    box_data_destroy(&b->data);
    base_free(&s->self);
}

static facet_status create_hdg(struct facet_solver *s) {
    struct box *b = box_of(s);
    struct box_grid_data grid;
    facet_status status = box_constant_choose(b, &grid);
    if (status != FACET_OK) return status;
    return boxhdg_create(&grid, s->options.degree, (const double *const *)b->data.rho, &b->hdg);
}

static facet_status renew(struct facet_solver *s, int what) {
    const struct base_monitor *monitor = &s->context->monitor;
    const struct box_given given = box_given_data(s, &box_of(s)->data, NULL);
    const double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_LOAD);
    (void)what; /* no matrix has to do with the boundary */
    const facet_status status = boxhdg_resident_set_boundary(box_of(s)->resident, &given);
    base_phase_end(&s->timers, monitor, FACET_PHASE_LOAD, begin);
    return status;
}

static void describe(struct facet_solver *s, const struct boxhdg *h) {
    s->system = (struct hdg_system){.n_all = h->n_trace, .n_free = h->n_free};
    s->system.n_volume = (1 + h->grid.dim) * h->n_volume; /* u and q */
    s->n_unknowns = h->n_all_free;
}

static int is_continuous(const struct facet_solver *s) {
    return s->options.discretization == DISCRETIZATION_CONTINUOUS;
}

facet_status box_foresee(struct facet_solver *s, const struct box_data *data, struct choice *choice) {
    struct boxhdg *h = NULL;
    if (is_continuous(s)) return boxsem_foresee(s, data, choice);
    facet_status status = boxhdg_create(&data->grid, s->options.degree, (const double *const *)data->rho, &h);
    if (status == FACET_OK) {
        describe(s, h);
        status = box_method_choose(s, h, choice);
    }
    boxhdg_destroy(&h);
    return status;
}

static facet_status condense(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct choice choice;
    const struct base_monitor *monitor = &s->context->monitor;
    double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_CONDENSE);
    TRY(create_hdg(s));
    describe(s, box_of(s)->hdg);
    TRY(box_method_choose(s, box_of(s)->hdg, &choice));
    box_of(s)->device = s->context->device;
    if (boxhdg_resident_refusal(box_of(s)->device, box_of(s)->hdg) != NULL) box_of(s)->device = device_host();
    TRY(box_method_check_memory(s));
done:
    base_phase_end(&s->timers, monitor, FACET_PHASE_CONDENSE, begin);
    return status;
}

static facet_status start(struct facet_solver *s) {
    facet_status status = FACET_OK;
    TRY(box_method_create(s));
    TRY(boxhdg_resident_create(box_of(s)->solver, &box_of(s)->resident));
    TRY(renew(s, FACET_LOAD));
done:
    return status;
}

facet_status box_create(struct facet_solver *s, struct box_data *data) {
    if (is_continuous(s)) return boxsem_start(s, data);
    struct box *b;
    facet_status status = FACET_OK;
    TRY(CALLOC(b, 1));
    s->backend = &box_backend;
    s->self = b;
    b->data = *data;
    *data = (struct box_data){0};
    TRY(condense(s));
    TRY(start(s));
done:
    return status;
}

/* ------------------------------------------------------------------------------ solve */

static int64_t n_unknowns(const struct facet_solver *s) {
    return box_of(s)->hdg->n_trace;
}

/* A singular problem: what quadrature leaves of the sum of all loads is taken off the source, and no more. */
static facet_status balance(struct facet_solver *s) {
    facet_status status = FACET_OK;
    double sums[2];
    const double rounding = ROUNDING * boxhdg_resident_size_of_loads(box_of(s)->resident);
    TRY(boxhdg_resident_balance(box_of(s)->resident, sums));
    if (fabs(sums[0]) <= rounding) sums[0] = 0.0;
    s->imbalance[0] = sums[0];
    s->imbalance[1] = sums[1];
    TRY(null_space_check_constant(sums[0], sums[1]));
done:
    return status;
}

/* What the host holds of a solution goes with it. */
static facet_status load_from(struct facet_solver *s, const double *source, enum boxhdg_where where) {
    facet_status status = FACET_OK;
    struct box *b = box_of(s);
    const struct box_given given = box_given_data(s, &box_of(s)->data, NULL);
    boxhdg_solution_destroy(&b->solution);
    b->constant = 0.0;
    b->all_is_constant = 0;
    TRY(source != NULL ? boxhdg_resident_load_values(b->resident, source, where)
                       : boxhdg_resident_load(b->resident, &given));
    if (b->hdg->grid.singular && !b->apart) TRY(balance(s));
    if (b->apart)
        TRY(box_constant_take(b, source == NULL && given.source == NULL ? given.exact : NULL,
                              source == NULL && box_given_is_exact(&given)));
    TRY(boxhdg_resident_condense(b->resident));
    if (b->all_is_constant) boxhdg_resident_clear(b->resident);
done:
    return status;
}

static facet_status load(struct facet_solver *s, const double *source) {
    return load_from(s, source, BOXHDG_HOST);
}

/* Arrays of the device of the context, which may be another one than that of the box. */
static facet_status load_there(struct facet_solver *s, const double *source) {
    facet_status status = FACET_OK;
    double *here = NULL;
    if (box_of(s)->device == s->context->device) return load_from(s, source, BOXHDG_DEVICE);
    TRY(ALLOC(here, box_of(s)->hdg->n_volume));
    TRY(device_download(s->context->device, here, source, (size_t)box_of(s)->hdg->n_volume * sizeof *here));
    TRY(load_from(s, here, BOXHDG_HOST));
done:
    base_free(&here);
    return status;
}

static facet_status solve(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct box *b = box_of(s);
    enum boxhdg_guess guess = b->has_guess                            ? BOXHDG_FROM_GIVEN
                              : b->has_trace && s->options.warm_start ? BOXHDG_FROM_BEFORE
                                                                      : BOXHDG_FROM_ZERO;
    b->has_guess = b->has_trace = 0;
    TRY(box_method_solve(s, guess));
    b->has_trace = 1;
done:
    return status;
}

/* Rounding in the matrices of cells: a tau that is far from k / h, either way. A large one hides the residual
 * of smooth functions, too, as far as that is above rounding. By measurement. */
static double matrix_uncertainty(const struct boxhdg *h, double residual) {
    const double rough = fmax(4.0 * DBL_EPSILON, 0.01 * fmin(residual, 1e-12)), fine = 1e-3 * DBL_EPSILON;
    double most = 0.0;
    for (int i = 0; i < h->n_lines; i++)
        most = fmax(most, fmax(rough * h->lines[i].rho, fine / h->lines[i].rho));
    return box_all(&h->grid, TEAM_MAX, most);
}

/* What the solve did not see: rounding of matrices, jumps of k, a reaction that was left out, and rounding of
 * a constant that is kept apart beside u, whose mean is zero. */
static facet_status judge(struct facet_solver *s) {
    const struct box *b = box_of(s);
    double uncertainty = fmax(b->apart ? b->uncertainty : 0.0, boxhdg_solver_uncertainty(b->solver));
    facet_status status =
        solve_accept_more(s->options.rtol, matrix_uncertainty(b->hdg, s->report.residual), &s->report);
    if (status != FACET_OK || fmax(uncertainty, b->dropped) == 0.0) return status;
    double cells = box_all(&b->hdg->grid, TEAM_SUM, /* functions have the square 1 on [-1, 1] */
                           (double)(b->hdg->grid.n_cells << b->hdg->grid.dim));
    double size = boxhdg_resident_norm(b->resident) / sqrt(cells);
    if (size + fabs(b->constant) == 0.0) return FACET_OK;
    return solve_accept_more(s->options.rtol,
                             fmax(uncertainty, b->dropped * size) / (fabs(b->constant) + size), &s->report);
}

/* u of a singular problem is known up to a constant: the mean of the exact solution, or zero. */
static facet_status recover(struct facet_solver *s) {
    facet_status status = FACET_OK;
    const struct box *b = box_of(s);
    const struct boxhdg *h = b->hdg;
    double mean = 0.0;
    if (h->grid.singular && !b->apart && s->problem->exact != NULL)
        TRY(box_field_mean(&h->grid, h->n + BOX_EXTRA_POINTS, s->problem->exact, &mean));
    TRY(boxhdg_resident_recover(b->resident));
    if (h->grid.singular || b->apart) TRY(boxhdg_resident_set_mean(b->resident, mean));
    TRY(solve_check_size(fmax(fabs(b->constant), boxhdg_resident_norm(b->resident)), &s->report));
    TRY(judge(s));
    TRY(solve_reached(s->options.error, &s->report));
done:
    return status;
}

/* Whoever works on tiles has the lock: their scratch is one for all readers. */
static facet_status copy_out(const struct facet_solver *s, double *u) {
    solver_lock(s);
    const facet_status status =
        boxhdg_resident_copy(box_of(s)->resident, box_of(s)->constant, u, BOXHDG_HOST);
    solver_unlock(s);
    return status;
}

static facet_status copy_there(const struct facet_solver *s, double *u) {
    facet_status status = FACET_OK;
    double *here = NULL;
    if (box_of(s)->device == s->context->device)
        return boxhdg_resident_copy(box_of(s)->resident, box_of(s)->constant, u, BOXHDG_DEVICE);
    TRY(ALLOC(here, box_of(s)->hdg->n_volume));
    TRY(copy_out(s, here));
    TRY(device_upload(s->context->device, u, here, (size_t)box_of(s)->hdg->n_volume * sizeof *here));
done:
    base_free(&here);
    return status;
}

static facet_status conservation(const struct facet_solver *s, struct solve_balance *balance) {
    solver_lock(s);
    const facet_status status = boxhdg_resident_conservation(box_of(s)->resident, balance);
    solver_unlock(s);
    return status;
}

/* Of all cells, which others may be reading, q and u* are added. Some cells that were fetched without them
 * are fetched again. */
static int has_all(const struct box *b) {
    return b->solution.n_cells > 0 && b->solution.cells == NULL;
}

static facet_status need(const struct facet_solver *s, enum hdg_field field) {
    struct box *b = box_of(s);
    facet_status status = FACET_OK;
    int star = hdg_fields[field].star, q = star || field == HDG_Q;
    b->wants_q |= q;
    b->wants_star |= star;
    const int no_q = q && b->solution.q == NULL, no_star = star && b->solution.star == NULL;
    if (has_all(b)) {
        if (no_q) TRY(boxhdg_solution_find_q(b->hdg, &b->solution));
        if (no_star) TRY(boxhdg_postprocess(b->hdg, &b->solution));
    } else if (no_q || no_star) {
        boxhdg_solution_destroy(&b->solution);
    }
done:
    return status;
}

/* All cells, once; on the host for any list, since there is nothing to be saved, and others may be reading.
 */
static facet_status fetch_all(const struct facet_solver *s) {
    struct box *b = box_of(s);
    solver_lock(s);
    const facet_status status =
        has_all(b) ? FACET_OK : boxhdg_resident_bring(b->resident, b->wants_q, b->wants_star, &b->solution);
    solver_unlock(s);
    return status;
}

static facet_status fetch(const struct facet_solver *s, int64_t n, const int32_t *cells) {
    facet_status status = FACET_OK;
    struct box *b = box_of(s);
    int64_t *list = NULL, m, missing = 0;
    if (cells == NULL || device_is_host(s->context->device)) return fetch_all(s);
    for (int64_t i = 0; i < n; i++)
        missing += b->solution.n_cells == 0 || boxhdg_solution_place(&b->solution, cells[i]) < 0;
    if (missing == 0) return FACET_OK;
    TRY(box_points_list(n, cells, &list, &m));
    TRY(boxhdg_resident_fetch(b->resident, m, list, b->wants_q, b->wants_star, &b->solution));
done:
    base_free(&list);
    return status;
}

/* They may be written to: q is made again. */
static facet_status arrays(struct facet_solver *s, struct backend_array *arrays, int *n) {
    facet_status status = FACET_OK;
    struct box *b = box_of(s);
    TRY(fetch(s, 0, NULL));
    base_free(&b->solution.q);
    base_free(&b->solution.star);
    arrays[0] = (struct backend_array){b->solution.trace, b->hdg->n_trace};
    arrays[1] = (struct backend_array){b->solution.u, b->hdg->n_volume};
    *n = 2;
done:
    return status;
}

static facet_status totals(const struct facet_solver *s, int version, int whole, int n, double *const *psi,
                           double *totals, double *roundings, double *squares) {
    facet_status status = FACET_OK;
    const struct box *b = box_of(s);
    double *neumann = NULL;
    (void)version;
    TRY(fetch(s, 0, NULL));
    solver_lock(s);
    status = boxhdg_resident_neumann(b->resident, &neumann);
    solver_unlock(s);
    TRY(status);
    TRY(boxhdg_totals(b->hdg, &b->solution, neumann, whole, n, psi, totals, roundings, squares));
done:
    base_free(&neumann);
    return status;
}

static facet_status set_guess(struct facet_solver *s, const double *u) {
    facet_status status = FACET_OK;
    s->solved = 0; /* the trace is overwritten */
    TRY(boxhdg_resident_set_guess(box_of(s)->resident, u, box_of(s)->apart));
    box_of(s)->has_guess = 1;
done:
    return status;
}

/* Lines and boundary data do not depend on the reaction; what does is made anew, and a failure leaves the
 * solver as it was. */
static facet_status set_reaction(struct facet_solver *s, double reaction) {
    facet_status status = FACET_OK;
    struct box *b = box_of(s);
    struct boxhdg *hdg = b->hdg;
    struct boxhdg_solver *solver = b->solver;
    struct boxhdg_resident *resident = b->resident;
    struct choice choice;
    int apart = b->apart;
    double weak = b->reaction, *before = b->data.reaction, *after = NULL;
    TRY(ALLOC(after, hdg->grid.n_cells));
    for (int64_t c = 0; c < hdg->grid.n_cells; c++) after[c] = reaction;
    b->data.grid.reaction = b->data.reaction = after;
    b->hdg = NULL;
    b->solver = NULL;
    b->resident = NULL;
    TRY(create_hdg(s));
    TRY(box_method_choose(s, b->hdg, &choice));
    TRY(start(s));
    boxhdg_resident_adopt(b->resident, resident);
    boxhdg_solution_destroy(&b->solution); /* it may read what goes */
    s->solved = 0;
done:
    if (status != FACET_OK && after != NULL) { /* the new ones go */
        struct boxhdg_solver *failed = b->solver;
        struct boxhdg *unused = b->hdg;
        struct boxhdg_resident *partial = b->resident;
        b->hdg = hdg;
        b->solver = solver;
        b->resident = resident;
        b->apart = apart;
        b->reaction = weak;
        b->data.grid.reaction = b->data.reaction = before;
        hdg = unused;
        solver = failed;
        resident = partial;
        before = after;
    }
    if (after != NULL) {
        boxhdg_resident_destroy(&resident);
        boxhdg_solver_destroy(&solver);
        boxhdg_destroy(&hdg);
        base_free(&before);
    }
    return status;
}

static const struct multigrid *multigrid_of(const struct facet_solver *s) {
    return box_of(s)->solver != NULL ? boxhdg_solver_multigrid(box_of(s)->solver) : NULL;
}

static facet_status measure_errors(const struct facet_solver *s, struct hdg_errors *errors) {
    const struct box *b = box_of(s);
    const int star = s->options.postprocess;
    struct box_errors e;
    solver_lock(s);
    const facet_status status = boxhdg_resident_errors(b->resident, s->problem->exact, b->constant, star, &e);
    solver_unlock(s);
    if (status == FACET_OK) *errors = box_points_errors(&e, star);
    return status;
}

/* ------------------------------------------------------------------------------ fields */

static const enum boxhdg_field names[] = {
    [HDG_U] = BOX_U, [HDG_U_STAR] = BOX_U_STAR, [HDG_Q] = BOX_Q, [HDG_Q_STAR] = BOX_Q_STAR};

static facet_status evaluate(const struct facet_solver *s, int version, enum hdg_field field, int n_cells,
                             const int32_t *cells, const struct backend_points *points, double *values) {
    (void)version;
    facet_status status = FACET_OK;
    const struct box *b = box_of(s);
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
    const struct box *b = box_of(s);
    *volume = box_points_volume(s, cell);
    facet_status status = boxhdg_integrate(b->hdg, &b->solution, names[field], cell, integrals);
    if (b->apart && boxhdg_field_components(b->hdg, names[field]) == 1) integrals[0] += b->constant * *volume;
    return status;
}

/* Of u on the device; of everything else cell by cell. */
static facet_status reduce(const struct facet_solver *s, enum hdg_field field, enum backend_take take, int n,
                           const double *x, double *values, int64_t *n_pairs) {
    facet_status status = FACET_OK;
    const struct box *b = box_of(s);
    const int whole = take == BACKEND_INTEGRALS || take == BACKEND_TOTAL;
    *n_pairs = field == HDG_U ? b->hdg->grid.n_cells : 0;
    if (*n_pairs == 0) return FACET_OK;
    solver_lock(s);
    status = whole ? boxhdg_resident_integrals(b->resident, values)
                   : boxhdg_resident_extremes(b->resident, n, x, values);
    solver_unlock(s);
    TRY(whole ? box_points_integrals(s, status, values) : status);
    for (int64_t i = 0; b->apart && i < *n_pairs; i++) {
        values[2 * i] += b->constant * (whole ? values[2 * i + 1] : 1.0);
        if (!whole) values[2 * i + 1] += b->constant;
    }
done:
    return status;
}

static facet_status face_fluxes(const struct facet_solver *s, int version, int n,
                                const struct mesh_group_face *faces, double *fluxes) {
    (void)version;
    const struct box *b = box_of(s);
    for (int i = 0; i < n; i++) {
        int d, side;
        shape_face_side(s->problem->mesh->blocks[0].shape, faces[i].local, &d, &side);
        if (boxhdg_resident_given_flux(b->resident, faces[i].cell, d, side, &fluxes[3 * i])) continue;
        fluxes[3 * i] = boxhdg_face_flux(b->hdg, &b->solution, faces[i].cell, d, side);
    }
    return FACET_OK;
}

static facet_status mean_trace(const struct facet_solver *s, int32_t cell, double *values) {
    values[0] = box_of(s)->constant + boxhdg_mean_trace(box_of(s)->hdg, &box_of(s)->solution, cell);
    return FACET_OK;
}

static void on_host(const struct facet_solver *s, char *text, size_t bytes) {
    if (box_of(s)->device != s->context->device) snprintf(text, bytes, "everything");
}

/* clang-format off */
const struct backend box_backend = {
    .destroy = destroy, .n_points = box_points_count, .points = box_points_source,
    .point_weights = box_points_source_weights,
    .n_unknowns = n_unknowns, .apply = box_method_apply, .precondition = box_method_precondition,
    .get_system = box_method_get, .renew = renew, .load = load, .load_there = load_there, .solve = solve,
    .recover = recover, .conservation = conservation, .on_host = on_host, .copy_out = copy_out,
    .copy_there = copy_there, .set_guess = set_guess, .set_reaction = set_reaction, .multigrid = multigrid_of,
    .measure_errors = measure_errors, .fetch = fetch, .need = need, .prepare = box_points_prepare,
    .rule = box_points_rule, .weights = box_points_weights, .map = box_points_map, .evaluate = evaluate,
    .integrate = integrate, .reduce = reduce, .face_rule = box_points_face_rule, .face_fluxes = face_fluxes,
    .arrays = arrays, .totals = totals, .mean_trace = mean_trace,
};
/* clang-format on */
