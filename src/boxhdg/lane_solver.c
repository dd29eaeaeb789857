/* The solver as callers see it: plain modes in, plain modes out. */
#include "boxhdg/lane_solver.h"

#include <math.h>

#include <string.h>

#include "base/memory.h"
#include "boxhdg/direct.h"
#include "boxhdg/hdg_cells.h"
#include "boxhdg/lattice.h"
#include "boxhdg/two_levels.h"
#include "solve/history.h"

struct boxhdg_solver {
    const struct device *device;
    struct boxhdg_solver_options options;
    struct boxhdg_lanes *lanes, *single; /* single: NULL unless mixed */
    struct linear_operator A, rounded;   /* on these */
    struct linear_operator M, exact;     /* of the precision of the iteration; of double, when it is needed */
    struct linear_operator rough;        /* of a direct solve: for its estimate */
    struct solve_fast fast;              /* of mixed */
    struct solve_work *work;
    struct vector F, solution;
    struct vector ratio;          /* of the scales of the two lanes, where they differ; else empty */
    struct null_space constants;  /* as unknowns and as residuals; or empty */
    double constant_square;       /* what the function was divided by */
    struct solve_history history; /* of remembered solutions */
    double uncertainty;           /* of the last solve */
};

void boxhdg_solver_options_default(struct boxhdg_solver_options *options) {
    *options =
        (struct boxhdg_solver_options){.preconditioner = BOXHDG_ADDITIVE, .mixed = 1, .chebyshev_degree = 4};
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
    device_multiply(lanes->device, lanes->precision, v.n, v.numbers, v.numbers, v.numbers);
    lanes->owned[lanes->n_owned++] = v.numbers;
    lanes->plan.alike = 0;
    lanes->plan.f64.diagonal = v.data;
    v = (struct vector){0};
    for (int64_t i = 0; i < lanes->n_foreign * lanes->hdg->face_size; i++)
        lanes->foreign_diagonal[i] = 1.0 / lanes->foreign_scales[i];
done:
    base_free(&ones);
    vector_destroy(&v);
    return status;
}

/* b of the single lanes over that of the double ones, by axes, on the device; *differ: they are not all the
 * same. */
static facet_status compare_roots(const struct boxhdg_solver *s, double *tables[3], int *differ) {
    facet_status status = FACET_OK;
    const struct box_plan *p = &s->lanes->plan;
    double *ratio = NULL;
    *differ = 0;
    for (int axis = 0; axis < 3; axis++) {
        int n = (axis == 0 ? p->packs * p->lanes : p->cells[axis]) * p->modes[axis];
        TRY(ALLOC(ratio, n));
        for (int i = 0; i < n; i++) {
            ratio[i] = s->single->b[axis][i] / s->lanes->b[axis][i];
            *differ |= ratio[i] != 1.0;
        }
        TRY(device_copy(s->device, &tables[axis], ratio, (size_t)n, sizeof *ratio));
        base_free(&ratio);
    }
done:
    base_free(&ratio);
    return status;
}

/* b b of the single lanes over that of the double ones, if they differ. */
static facet_status make_ratio(struct boxhdg_solver *s) {
    facet_status status = FACET_OK;
    double *tables[3] = {NULL};
    int differ;
    TRY(compare_roots(s, tables, &differ));
    if (!differ) goto done;
    TRY(vector_create(s->device, s->lanes->plan.size, &s->ratio));
    vector_fill(&s->ratio, 1.0);
    device_box_scale(s->device, F64, &s->lanes->plan, tables[0], tables[1], tables[2], s->ratio.data);
    s->fast.ratio = &s->ratio;
done:
    for (int axis = 0; axis < 3; axis++) device_free(s->device, &tables[axis]);
    return status;
}

static facet_status make_constants(struct boxhdg_solver *s) {
    facet_status status = FACET_OK;
    struct vector *function = &s->constants.function, *dual = &s->constants.dual;
    TRY(boxhdg_lanes_vector(s->lanes, s->lanes->plan.size, function));
    TRY(boxhdg_lanes_vector(s->lanes, s->lanes->plan.size, dual));
    TRY(boxhdg_lanes_constant(s->lanes, BOXHDG_UNKNOWN, function));
    TRY(boxhdg_lanes_constant(s->lanes, BOXHDG_RESIDUAL, dual));
    s->constant_square = vector_dot(function, dual);
    vector_axpby(0.0, dual, 1.0 / s->constant_square, function);
done:
    return status;
}

/* The preconditioner on lanes; empty: the diagonal alone. */
static facet_status make_levels(const struct boxhdg_solver *s, const struct boxhdg_lanes *lanes,
                                struct linear_operator *M) {
    enum boxhdg_preconditioner kind = s->options.preconditioner;
    int degree = s->options.chebyshev_degree;
    if (kind != BOXHDG_ADDITIVE && kind != BOXHDG_CHEBYSHEV) return FACET_OK;
    if (kind == BOXHDG_CHEBYSHEV && degree < 1)
        return base_fail(FACET_ERROR_INPUT, "the degree of a smoother must be at least 1, not %d", degree);
    return boxhdg_levels_create(lanes, kind == BOXHDG_CHEBYSHEV ? degree : 0, M);
}

static facet_status make_exact(void *data, const struct linear_operator **M) {
    struct boxhdg_solver *s = data;
    facet_status status = s->exact.apply == NULL ? make_levels(s, s->lanes, &s->exact) : FACET_OK;
    *M = s->exact.apply != NULL ? &s->exact : NULL;
    return status;
}

static void drop_single(struct boxhdg_solver *s) {
    operator_destroy(&s->M);
    operator_destroy(&s->rounded);
    vector_destroy(&s->ratio);
    boxhdg_lanes_destroy(&s->single);
    solve_work_destroy(&s->work);
    s->fast = (struct solve_fast){0};
}

/* The iteration in single precision, if that will do: tried on what the preconditioner makes of constants,
 * which comes near the lowest mode; where these are a kernel, of noise and of its error. */
static facet_status make_single(struct boxhdg_solver *s) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = s->lanes->hdg;
    double *plain = NULL;
    TRY(boxhdg_lanes_create(s->device, h, F32, &s->single));
    operator_create_box(s->single, &s->rounded);
    s->fast = (struct solve_fast){.A = &s->rounded, .exact = make_exact, .data = s};
    TRY(make_ratio(s));
    TRY(make_levels(s, s->single, &s->M));
    if (h->grid.singular) {
        TRY(ALLOC(plain, h->n_trace));
        solve_noise(h->n_trace, plain);
        TRY(boxhdg_lanes_pack(s->lanes, BOXHDG_RESIDUAL, plain, &s->F));
        seam_add(s->lanes->seam, &s->F);
    } else
        TRY(boxhdg_lanes_constant(s->lanes, BOXHDG_RESIDUAL, &s->F));
    TRY(solve_judge_fast(&s->A, s->M.apply != NULL ? &s->M : NULL, &s->F, &s->solution, 1 + h->grid.singular,
                         &s->work, &s->fast));
    if (s->fast.given_up) drop_single(s);
done:
    base_free(&plain);
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
    boxhdg_solver_options_default(&s->options);
    if (options != NULL) s->options = *options;
    TRY(boxhdg_check_memory(device, hdg, &s->options, BOXHDG_ALONE));
    TRY(boxhdg_lanes_create(device, hdg, 0, &s->lanes));
    if (s->options.preconditioner == BOXHDG_NONE) TRY(forget_diagonal(s->lanes));
    if (s->options.preconditioner == BOXHDG_NONE || s->options.preconditioner == BOXHDG_DIRECT)
        s->options.mixed = 0;
    operator_create_box(s->lanes, &s->A);
    TRY(boxhdg_lanes_vector(s->lanes, s->lanes->plan.size, &s->F));
    TRY(boxhdg_lanes_vector(s->lanes, s->lanes->plan.size, &s->solution));
    if (hdg->grid.singular || s->options.loose) TRY(make_constants(s));
    if (s->options.mixed) TRY(make_single(s));
    if (s->options.preconditioner == BOXHDG_DIRECT)
        TRY(boxhdg_lattice_refusal(device, hdg) == NULL
                ? operator_create_box_lattice(s->lanes, &s->M, &s->rough)
                : operator_create_box_direct(s->lanes, &s->M));
    else if (s->single == NULL)
        TRY(make_levels(s, s->lanes, &s->M));
done:
    if (status != FACET_OK) boxhdg_solver_destroy(solver);
    return status;
}

void boxhdg_solver_destroy(struct boxhdg_solver **solver) {
    struct boxhdg_solver *s = *solver;
    if (s == NULL) return;
    drop_single(s);
    operator_destroy(&s->rough);
    operator_destroy(&s->exact);
    operator_destroy(&s->A);
    vector_destroy(&s->F);
    vector_destroy(&s->solution);
    null_space_destroy(&s->constants);
    solve_history_destroy(&s->history);
    boxhdg_lanes_destroy(&s->lanes);
    base_free(solver);
}

const struct boxhdg_lanes *boxhdg_solver_lanes(struct boxhdg_solver *s, struct vector **F,
                                               struct vector **solution) {
    *F = &s->F;
    *solution = &s->solution;
    return s->lanes;
}

/* The highest functions of u are held by tau alone: where tau h / k is less than this, an error of the trace
 * may be far larger in the cells. Where k jumps, cells of small k hold as little, beside loads of the others. */
#define LIGHT_TAU 0.01

static int is_light(const struct boxhdg *h) {
    int light = box_is_contrasting(&h->grid);
    for (int i = 0; i < h->n_lines; i++) light |= 2.0 * h->lines[i].rho < LIGHT_TAU;
    return box_all(&h->grid, TEAM_MAX, light) > 0.0;
}

facet_status boxhdg_solver_solve_lanes(struct boxhdg_solver *s, enum boxhdg_guess guess,
                                       const struct solve_control *given, struct solve_report *report) {
    facet_status status = FACET_OK;
    struct solve_control control = *given;
    control.null_space = null_space_is_empty(&s->constants) || s->options.loose ? NULL : &s->constants;
    control.forget = s->options.loose ? null_space_forget : NULL;
    control.forget_data = &s->constants;
    control.fast = s->single != NULL ? &s->fast : NULL;
    control.work = &s->work;
    control.light = is_light(s->lanes->hdg) && guess == BOXHDG_FROM_ZERO;
    null_space_remove(control.null_space, SOLVE_RESIDUALS, &s->F);
    if (s->options.preconditioner == BOXHDG_DIRECT) {
        control.rough = s->rough.apply != NULL ? &s->rough : NULL;
        status = solve_refined(&s->A, &s->M, &s->F, &s->solution, &control, report);
        facet_status failure = s->rough.apply == NULL ? operator_host_failure(&s->M) : FACET_OK;
        if (failure != FACET_OK) return failure;
    } else {
        if (guess == BOXHDG_FROM_ZERO) vector_fill(&s->solution, 0.0);
        if (guess == BOXHDG_FROM_BEFORE) solve_history_guess(&s->history, &s->F, &s->solution);
        status = solve_cg(&s->A, s->M.apply != NULL ? &s->M : NULL, &s->F, &s->solution, &control, report);
        if (status == FACET_OK && s->options.remember)
            status = solve_history_add(&s->history, &s->A, &s->solution);
    }
    facet_status device = device_check(s->device);
    if (device == FACET_OK && status == FACET_OK) status = seam_share(s->lanes->seam, &s->solution);
    return device != FACET_OK ? device : status;
}

/* A residual with fresh rounding, that of PROBE times the solution, in plain modes. */
#define PROBE 1.25

static facet_status find_residual(struct boxhdg_solver *s, double *plain) {
    facet_status status = FACET_OK;
    struct vector x = {0}, r = {0};
    TRY(boxhdg_lanes_vector(s->lanes, s->lanes->plan.size, &x));
    TRY(boxhdg_lanes_vector(s->lanes, s->lanes->plan.size, &r));
    vector_axpby(PROBE, &s->solution, 0.0, &x);
    operator_apply(&s->A, &x, &r);
    vector_axpby(1.0, &s->F, -1.0 / PROBE, &r);
    TRY(boxhdg_lanes_unpack(s->lanes, BOXHDG_RESIDUAL, &r, plain));
done:
    vector_destroy(&x);
    vector_destroy(&r);
    return status;
}

/* The part of a face that belongs to a cell: its two cells divide it as they hold it. */
static double share_of(const struct box_grid *g, const int at[3], int d, int side) {
    int beyond[3] = {at[0], at[1], at[2]}, end = side * (g->cells[d] - 1);
    if (at[d] == end && g->sides[d][side] != BOX_PERIODIC) return 1.0;
    beyond[d] = at[d] == end ? g->cells[d] - 1 - end : at[d] + 2 * side - 1;
    double own = box_conductivity(g, box_cell(g, at)) / g->widths[d][at[d]];
    return own / (own + box_conductivity(g, box_cell(g, beyond)) / g->widths[d][beyond[d]]);
}

/* The residual tested with the function 1 of a cell. */
static double test_cell(const struct boxhdg *h, int64_t cell, const double *one, const double *residual) {
    const struct box_grid *g = &h->grid;
    int64_t n = h->n_trace / g->n_faces;
    double sum = 0.0;
    int at[3];
    box_cell_at(g, cell, at);
    for (int d = 0; d < g->dim; d++)
        for (int side = 0; side < 2; side++) {
            int64_t first = box_face(g, at, d, side) * n;
            double share = share_of(g, at, d, side);
            for (int64_t i = first; i < first + n; i++) sum += share * one[i] * residual[i];
        }
    return sum;
}

/* The error that jumps of k let pass (box/contrast.c). */
static facet_status find_uncertainty(struct boxhdg_solver *s, const double *uhat) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = s->lanes->hdg;
    double *residual = NULL, *one = NULL, *cells = NULL, square = 0.0, ones = 0.0;
    if (!box_is_contrasting(&h->grid)) return FACET_OK;
    TRY(CALLOC(residual, h->n_trace));
    TRY(ALLOC(one, h->n_trace));
    TRY(ALLOC(cells, h->grid.n_cells));
    boxhdg_constant(h, one);
    TRY(find_residual(s, residual));
    for (int64_t cell = 0; cell < h->grid.n_cells; cell++) cells[cell] = test_cell(h, cell, one, residual);
    for (int64_t i = 0; i < h->n_trace; i++) {
        square += uhat[i] * uhat[i];
        ones += one[i] * one[i];
    }
    TRY(box_contrast_error(&h->grid, h->degree, h->grid.singular || s->options.loose, sqrt(square / ones),
                           cells, &s->uncertainty));
done:
    base_free(&residual);
    base_free(&one);
    base_free(&cells);
    return status;
}

facet_status boxhdg_solver_find_uncertainty(struct boxhdg_solver *s) {
    facet_status status = FACET_OK;
    double *uhat = NULL;
    s->uncertainty = 0.0;
    if (!box_is_contrasting(&s->lanes->hdg->grid)) return FACET_OK;
    TRY(CALLOC(uhat, s->lanes->hdg->n_trace));
    TRY(boxhdg_lanes_unpack(s->lanes, BOXHDG_UNKNOWN, &s->solution, uhat));
    TRY(find_uncertainty(s, uhat));
done:
    base_free(&uhat);
    return status;
}

double boxhdg_solver_uncertainty(const struct boxhdg_solver *s) {
    return s->uncertainty;
}

facet_status boxhdg_solver_precondition(struct boxhdg_solver *s, const double *r, double *z) {
    facet_status status = FACET_OK;
    struct vector from = {0}, to = {0};
    struct linear_operator diagonal = {0};
    enum boxhdg_preconditioner kind = s->options.preconditioner;
    const struct linear_operator *M = &diagonal;
    if (kind == BOXHDG_NONE) {
        memcpy(z, r, (size_t)s->lanes->hdg->n_trace * sizeof *z);
        return FACET_OK;
    }
    if (kind == BOXHDG_ADDITIVE || kind == BOXHDG_CHEBYSHEV) {
        if (s->single != NULL || s->M.apply == NULL)
            TRY(make_exact(s, &M));
        else
            M = &s->M;
    } else if (kind == BOXHDG_DIRECT) {
        M = &s->M;
    } else
        operator_create_box_diagonal(s->lanes, &diagonal);
    TRY(boxhdg_lanes_vector(s->lanes, s->lanes->plan.size, &from));
    TRY(boxhdg_lanes_vector(s->lanes, s->lanes->plan.size, &to));
    TRY(boxhdg_lanes_pack(s->lanes, BOXHDG_RESIDUAL, r, &from));
    operator_apply(M, &from, &to);
    if (kind == BOXHDG_DIRECT && s->rough.apply == NULL) TRY(operator_host_failure(M));
    TRY(boxhdg_lanes_unpack(s->lanes, BOXHDG_UNKNOWN, &to, z));
    TRY(device_check(s->device));
done:
    operator_destroy(&diagonal);
    vector_destroy(&from);
    vector_destroy(&to);
    return status;
}

facet_status boxhdg_solver_apply(const struct boxhdg_solver *s, const double *x, double *y) {
    facet_status status = FACET_OK;
    struct vector from = {0}, to = {0};
    TRY(boxhdg_lanes_vector(s->lanes, s->lanes->plan.size, &from));
    TRY(boxhdg_lanes_vector(s->lanes, s->lanes->plan.size, &to));
    TRY(boxhdg_lanes_pack(s->lanes, BOXHDG_UNKNOWN, x, &from));
    operator_apply(&s->A, &from, &to);
    TRY(boxhdg_lanes_unpack(s->lanes, BOXHDG_RESIDUAL, &to, y));
    TRY(device_check(s->device));
done:
    vector_destroy(&from);
    vector_destroy(&to);
    return status;
}

void boxhdg_solver_shift(struct boxhdg_solver *s, double by) {
    vector_axpby(by * s->constant_square, &s->constants.function, 1.0, &s->solution);
}

struct multigrid *boxhdg_solver_multigrid(const struct boxhdg_solver *s) {
    const struct linear_operator *M = s->fast.given_up ? &s->exact : &s->M;
    return M->apply != NULL ? operator_multigrid(M) : NULL;
}
