/* The backend of boxes, HDG, where the device has a memory of its own: the solution stays there
 * (boxhdg/resident.h), and what the host evaluates is fetched first: the cells of a list, or all of them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/lattice.h"
#include "problem/box.h"

facet_status box_device_renew(struct facet_solver *s, int what) {
    facet_status status = FACET_OK;
    const struct base_monitor *monitor = &s->context->monitor;
    struct box_given given = box_given_data(s, NULL);
    double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_LOAD);
    (void)what; /* no matrix has to do with the boundary */
    TRY(boxhdg_resident_set_boundary(s->box->resident, &given));
done:
    base_phase_end(&s->timers, monitor, FACET_PHASE_LOAD, begin);
    return status;
}

int box_device_wanted(const struct facet_solver *s) {
    const struct box_backend *b = s->box;
    /* The loads, the recovery and the errors of a block are the host's. */
    return !b->apart && b->hdg->grid.part == NULL &&
           boxhdg_resident_refusal(s->context->device, b->hdg) == NULL;
}

facet_status box_device_start(struct facet_solver *s) {
    facet_status status = FACET_OK;
    s->backend = &box_device_backend;
    TRY(box_method_create(s));
    TRY(boxhdg_resident_create(box_method_solver(s->box->method), &s->box->resident));
    TRY(box_device_renew(s, FACET_LOAD));
done:
    return status;
}

/* What the host holds of a solution goes with it. */
static void forget(struct box_backend *b) {
    boxhdg_solution_destroy(&b->solution);
}

/* ------------------------------------------------------------------------------ solve */

facet_status box_device_load(struct facet_solver *s, const double *source) {
    struct box_given given = box_given_data(s, NULL);
    forget(s->box);
    facet_status status = source != NULL ? boxhdg_resident_load_values(s->box->resident, source, BOXHDG_HOST)
                                         : boxhdg_resident_load(s->box->resident, &given);
    memcpy(s->imbalance, boxhdg_resident_imbalance(s->box->resident), sizeof s->imbalance);
    return status;
}

facet_status box_device_solve(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    enum boxhdg_guess guess = b->has_guess                            ? BOXHDG_FROM_GIVEN
                              : b->has_trace && s->options.warm_start ? BOXHDG_FROM_BEFORE
                                                                      : BOXHDG_FROM_ZERO;
    b->has_guess = b->has_trace = 0;
    TRY(box_method_solve_resident(s, guess));
    b->has_trace = 1;
done:
    return status;
}

/* u of a singular problem is known up to a constant: the mean of the exact solution, or zero. */
facet_status box_device_recover(struct facet_solver *s) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = s->box->hdg;
    double mean = 0.0;
    if (h->grid.singular && s->problem->exact != NULL)
        TRY(box_field_mean(&h->grid, h->n + BOX_EXTRA_POINTS, s->problem->exact, &mean));
    TRY(boxhdg_resident_recover(s->box->resident));
    if (s->box->hdg->grid.singular) TRY(boxhdg_resident_set_mean(s->box->resident, mean));
    TRY(solve_check_size(boxhdg_resident_norm(s->box->resident), &s->report));
    TRY(box_judge(s));
    TRY(solve_reached(s->options.error, &s->report));
done:
    return status;
}

facet_status box_device_copy_out(const struct facet_solver *s, double *u) {
    return boxhdg_resident_copy(s->box->resident, u, BOXHDG_HOST);
}

facet_status box_device_load_there(struct facet_solver *s, const double *source) {
    forget(s->box);
    facet_status status = boxhdg_resident_load_values(s->box->resident, source, BOXHDG_DEVICE);
    memcpy(s->imbalance, boxhdg_resident_imbalance(s->box->resident), sizeof s->imbalance);
    return status;
}

facet_status box_device_copy_there(const struct facet_solver *s, double *u) {
    return boxhdg_resident_copy(s->box->resident, u, BOXHDG_DEVICE);
}

facet_status box_device_conservation(const struct facet_solver *s, struct solve_balance *balance) {
    return boxhdg_resident_conservation(s->box->resident, balance);
}

facet_status box_device_set_guess(struct facet_solver *s, const double *u) {
    facet_status status = FACET_OK;
    s->solved = 0; /* the trace is overwritten */
    TRY(boxhdg_resident_set_guess(s->box->resident, u));
    s->box->has_guess = 1;
done:
    return status;
}

/* ------------------------------------------------------------------------------ fields */

/* Of all cells, which others may be reading, q and u* are added. Some cells that were fetched without them
 * are fetched again. */
static int has_all(const struct box_backend *b) {
    return b->solution.n_cells > 0 && b->solution.cells == NULL;
}

facet_status box_device_need(const struct facet_solver *s, enum hdg_field field) {
    struct box_backend *b = s->box;
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

facet_status box_device_fetch(const struct facet_solver *s, int64_t n, const int32_t *cells) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    int64_t *list = NULL, m, missing = 0;
    if (cells == NULL) {
        if (has_all(b)) return FACET_OK;
        return boxhdg_resident_bring(b->resident, b->wants_q, b->wants_star, &b->solution);
    }
    for (int64_t i = 0; i < n; i++)
        missing += b->solution.n_cells == 0 || boxhdg_solution_place(&b->solution, cells[i]) < 0;
    if (missing == 0) return FACET_OK;
    TRY(box_points_list(n, cells, &list, &m));
    TRY(boxhdg_resident_fetch(b->resident, m, list, b->wants_q, b->wants_star, &b->solution));
done:
    base_free(&list);
    return status;
}

facet_status box_device_measure_errors(const struct facet_solver *s, struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    struct box_errors e;
    solver_lock(s);
    status = boxhdg_resident_errors(s->box->resident, s->problem->exact, s->options.postprocess, &e);
    solver_unlock(s);
    if (status == FACET_OK) *errors = box_points_errors(&e, s->options.postprocess);
    return status;
}

/* Of u on the device; of everything else cell by cell. */
facet_status box_device_reduce(const struct facet_solver *s, enum hdg_field field, enum backend_take take,
                               int n, const double *x, double *values, int64_t *n_pairs) {
    struct boxhdg_resident *r = s->box->resident;
    *n_pairs = field == HDG_U ? s->problem->mesh->n_cells : 0;
    if (*n_pairs == 0) return FACET_OK;
    return take == BACKEND_INTEGRALS || take == BACKEND_TOTAL
               ? box_points_integrals(s, boxhdg_resident_integrals(r, values), values)
               : boxhdg_resident_extremes(r, n, x, values);
}
