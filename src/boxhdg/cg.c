/* The iteration. Its scale is that of F, which is divided by its norm, so that single precision has room. */
#include "boxhdg/cg.h"

#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "boxhdg/cells.h"
#include "boxhdg/precondition.h"
#include <stdio.h>
#include <stdlib.h>

/* In single precision the true residual is computed when the recursive one has fallen by a factor that the
 * error of the products leaves room for, and after so many steps anyway. */
#define LEAST_REDUCTION 3e-2
#define MOST_REDUCTION  1e-3
#define ERROR_ROOM      30.0
#define MOST_STEPS      20
/* Where the residual has drifted from the true one by this part, the directions no longer fit it: conjugate
 * gradients with an old direction and a new residual may stagnate for ever. They are forgotten. */
#define DRIFT 1e-2
/* Single precision is given up where the drift is this part, where it halves no residual after forgetting,
 * or after so many updates without half the residual. */
#define MOST_DRIFT   0.5
#define IDLE_UPDATES 5

void boxhdg_cg_destroy(struct boxhdg_cg *cg) {
    struct vector *all[] = {&cg->r,        &cg->p,
                            &cg->y,        &cg->x,
                            &cg->z,        &cg->moments,
                            &cg->F,        &cg->solution,
                            &cg->residual, &cg->coefficients,
                            &cg->kernel,   &cg->kernel_residual,
                            &cg->ratio,    &cg->spare};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) vector_destroy(all[i]);
}

/* b b of the single lanes over that of the double ones, if they differ: residuals on their way to single
 * precision are multiplied by it, and unknowns on their way back. */
static facet_status make_ratio(struct boxhdg_cg *cg) {
    facet_status status = FACET_OK;
    const struct box_plan *p = &cg->lanes->plan;
    double *plain = NULL, *both = NULL;
    struct vector v = {0};
    int differ = 0;
    for (int axis = 0; axis < 3; axis++) {
        int columns = axis == 0 ? p->packs * KERNEL_LANES : p->cells[axis];
        for (int i = 0; i < columns * p->modes[axis]; i++)
            differ |= cg->fast->b[axis][i] != cg->lanes->b[axis][i];
    }
    if (!differ) return FACET_OK;
    TRY(ALLOC(plain, cg->lanes->hdg->n_trace));
    TRY(ALLOC(both, 2 * p->size));
    for (int64_t i = 0; i < cg->lanes->hdg->n_trace; i++) plain[i] = 1.0;
    TRY(vector_create(cg->lanes->device, p->size, &v));
    TRY(vector_create(cg->lanes->device, p->size, &cg->spare));
    for (int i = 0; i < 2; i++) {
        TRY(boxhdg_lanes_pack(i == 0 ? cg->fast : cg->lanes, BOXHDG_RESIDUAL, plain, &v));
        TRY(vector_download(&v, both + i * p->size));
    }
    for (int64_t i = 0; i < p->size; i++) both[i] = both[i] > 0.0 ? both[i] / both[p->size + i] : 0.0;
    TRY(vector_create(cg->lanes->device, p->size, &cg->ratio));
    TRY(vector_upload(&cg->ratio, both));
done:
    base_free(&plain);
    base_free(&both);
    vector_destroy(&v);
    return status;
}

/* The constant in plain modes: 1 is `hats` in even modes, and nothing in odd ones. */
static facet_status make_kernel(struct boxhdg_cg *cg) {
    facet_status status = FACET_OK;
    const struct boxhdg_lanes *lanes = cg->lanes;
    const struct boxhdg *h = lanes->hdg;
    const struct box_grid *g = &h->grid;
    double *plain = NULL;
    TRY(CALLOC(plain, h->n_trace));
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        int at[3];
        box_cell_at(g, cell, at);
        for (int d = 0; d < g->dim; d++)
            for (int side = 0; side < 2; side++)
                for (int64_t t = 0; t < h->face_size; t++) {
                    double value = 1.0;
                    int64_t rest = t;
                    for (int o = 0; o < g->dim; o++) {
                        if (o == d) continue;
                        const struct box_line *line = boxhdg_line(h, o, at[o]);
                        int m = (int)(rest % h->n);
                        value *= m < line->n_even ? sqrt(2.0) * line->S[m] : 0.0;
                        rest /= h->n;
                    }
                    plain[box_face(g, at, d, side) * h->face_size + t] = value;
                }
    }
    TRY(boxhdg_lanes_vector(lanes, lanes->plan.size, &cg->kernel));
    TRY(boxhdg_lanes_vector(lanes, lanes->plan.size, &cg->kernel_residual));
    TRY(boxhdg_lanes_pack(lanes, BOXHDG_UNKNOWN, plain, &cg->kernel));
    TRY(boxhdg_lanes_pack(lanes, BOXHDG_RESIDUAL, plain, &cg->kernel_residual));
    cg->kernel_square = vector_dot(&cg->kernel, &cg->kernel_residual);
done:
    base_free(&plain);
    return status;
}

facet_status boxhdg_cg_create(struct boxhdg_cg *cg) {
    facet_status status = FACET_OK;
    const struct box_plan *p = &cg->lanes->plan;
    int64_t n = p->size, n_moments = p->n_faces * KERNEL_BOX_MOMENTS * KERNEL_LANES;
    TRY(boxhdg_lanes_vector(cg->lanes, n, &cg->F));
    TRY(boxhdg_lanes_vector(cg->lanes, n, &cg->solution));
    TRY(boxhdg_lanes_vector(cg->fast, n, &cg->r));
    TRY(boxhdg_lanes_vector(cg->fast, n, &cg->p));
    TRY(boxhdg_lanes_vector(cg->fast, n, &cg->y));
    if (cg->fast != cg->lanes) {
        TRY(boxhdg_lanes_vector(cg->fast, n, &cg->x));
        TRY(boxhdg_lanes_vector(cg->lanes, n, &cg->residual));
        TRY(make_ratio(cg));
    }
    if (cg->M != NULL) TRY(boxhdg_lanes_vector(cg->fast, n, &cg->z));
    if (cg->coarse != NULL && cg->M == NULL) {
        TRY(boxhdg_lanes_vector(cg->fast, n_moments, &cg->moments));
        TRY(boxhdg_lanes_vector(cg->fast, n_moments, &cg->coefficients));
    }
    if (cg->lanes->hdg->grid.singular) TRY(make_kernel(cg));
done:
    return status;
}

/* Without the constant: along = kernel and against = kernel_residual for unknowns, the other way for
 * residuals. */
static void remove_constant(const struct boxhdg_cg *cg, const struct vector *along,
                            const struct vector *against, struct vector *x) {
    if (cg->kernel.n > 0) vector_axpby(-vector_dot(against, x) / cg->kernel_square, along, 1.0, x);
}

/* What an iteration carries. */
struct state {
    double norm;            /* of r, in plain modes */
    double rz, previous_rz; /* r . B r */
    double alpha;           /* step along p that the solution has not made yet */
    int fresh;              /* p holds nothing */
    double drift;           /* |r - true residual| / |true residual| at the last update */
    double best;            /* true residual so far, up to a half; */
    int idle;               /* updates since then */
};

/* r = F - K solution; its norm. */
static double true_residual(struct boxhdg_cg *cg) {
    struct vector *r = cg->fast != cg->lanes ? &cg->residual : &cg->r;
    struct box_step step = {.product = 1};
    double sums[2];
    boxhdg_lanes_step(cg->lanes, &step, NULL, NULL, NULL, &cg->solution, NULL, r);
    vector_axpby(1.0, &cg->F, -1.0, r);
    remove_constant(cg, &cg->kernel_residual, &cg->kernel, r);
    boxhdg_lanes_residual(cg->lanes, 0.0, r, r, NULL, sums);
    return sqrt(sums[1]);
}

/* r . B r of the present r, from its sums and moments; coefficients of P e, or z. */
static facet_status precondition(struct boxhdg_cg *cg, const double sums[2], struct state *s) {
    facet_status status = FACET_OK;
    double dot = 0.0;
    s->previous_rz = s->rz;
    if (cg->M != NULL) {
        operator_apply(cg->M, &cg->r, &cg->z);
        s->rz = vector_dot(&cg->r, &cg->z);
        TRY(boxhdg_cycle_failure(cg->M));
        goto done;
    }
    if (cg->coarse != NULL)
        TRY(boxhdg_lanes_coarse_correct(cg->coarse, &cg->moments, &cg->coefficients, &dot));
    s->rz = sums[0] + dot;
done:
    return status;
}

/* The first sweep; returns p . K p. */
static double advance(struct boxhdg_cg *cg, struct state *s) {
    struct vector *x = cg->fast != cg->lanes ? &cg->x : &cg->solution;
    struct box_step step = {.product = 1};
    double beta = s->fresh ? 0.0 : s->rz / s->previous_rz;
    if (cg->M != NULL) {
        if (s->alpha != 0.0) vector_axpby(s->alpha, &cg->p, 1.0, x);
        vector_axpby(1.0, &cg->z, beta, &cg->p);
        return boxhdg_lanes_step(cg->fast, &step, NULL, NULL, NULL, &cg->p, NULL, &cg->y);
    }
    step.direction = 1;
    step.a = 1.0;
    step.b = beta;
    step.x_old = s->alpha;
    return boxhdg_lanes_step(cg->fast, &step, NULL, &cg->r, cg->coarse != NULL ? &cg->coefficients : NULL,
                             &cg->p, s->alpha != 0.0 ? x : NULL, &cg->y);
}

/* y = ratio x, or y = x where the lanes scale alike; returns where it is. */
static const struct vector *rescale(struct boxhdg_cg *cg, const struct vector *x) {
    if (cg->ratio.n == 0) return x;
    device_multiply(x->device, x->n, cg->ratio.data, x->data, cg->spare.data);
    return &cg->spare;
}

/* The solution gets x times `sign`. */
static facet_status add_steps(struct boxhdg_cg *cg, double sign) {
    facet_status status = FACET_OK;
    TRY(vector_convert(&cg->x, &cg->residual));
    vector_axpby(sign, rescale(cg, &cg->residual), 1.0, &cg->solution);
done:
    return status;
}

/* r becomes the true residual, rounded; how far it was from it. */
static facet_status replace_residual(struct boxhdg_cg *cg, struct state *s) {
    facet_status status = FACET_OK;
    double sums[2];
    TRY(vector_convert(rescale(cg, &cg->residual), &cg->y));
    vector_axpby(1.0, &cg->y, -1.0, &cg->r);
    boxhdg_lanes_residual(cg->fast, 0.0, &cg->y, &cg->r, NULL, sums);
    s->drift = sqrt(sums[1]) / s->norm;
    vector_axpby(1.0, &cg->y, 0.0, &cg->r);
done:
    return status;
}

/* The solution with all steps made, and its true residual, which becomes r. Steps in single precision that
 * made things worse are taken back. */
static facet_status update(struct boxhdg_cg *cg, struct state *s) {
    facet_status status = FACET_OK;
    int mixed = cg->fast != cg->lanes;
    struct vector *x = mixed ? &cg->x : &cg->solution;
    if (s->alpha != 0.0) vector_axpby(s->alpha, &cg->p, 1.0, x);
    s->alpha = 0.0;
    if (!mixed) {
        s->norm = true_residual(cg);
        return FACET_OK;
    }
    int finite = isfinite(vector_dot(x, x));
    if (finite) TRY(add_steps(cg, 1.0));
    s->norm = true_residual(cg);
    TRY(replace_residual(cg, s));
    if (!finite) s->drift = INFINITY;
    if (finite && !(s->drift <= MOST_DRIFT) && !(s->norm <= s->best)) {
        TRY(add_steps(cg, -1.0));
        s->norm = true_residual(cg);
    }
    vector_fill(x, 0.0);
done:
    return status;
}

/* Sums and moments of r as it is, for the preconditioner. */
static facet_status begin(struct boxhdg_cg *cg, struct state *s) {
    double sums[2];
    vector_fill(&cg->y, 0.0);
    boxhdg_lanes_residual(cg->fast, 0.0, &cg->y, &cg->r, cg->moments.n > 0 ? &cg->moments : NULL, sums);
    return precondition(cg, sums, s);
}

/* r of the iteration from plain modes on the host. */
static facet_status put_residual(struct boxhdg_cg *cg, const double *plain) {
    facet_status status = FACET_OK;
    TRY(boxhdg_lanes_pack(cg->lanes, BOXHDG_RESIDUAL, plain, &cg->F));
    TRY(vector_convert(rescale(cg, &cg->F), &cg->r));
done:
    return status;
}

/* With p = B r, and e the difference of K p in both precisions, sqrt(e.B e / p.K p); e becomes r. */
static facet_status probe(struct boxhdg_cg *cg, double *error) {
    facet_status status = FACET_OK;
    struct box_step product = {.product = 1};
    struct state s = {.fresh = 1};
    TRY(begin(cg, &s));
    advance(cg, &s);
    TRY(vector_convert(&cg->p, &cg->residual));
    vector_axpby(1.0, rescale(cg, &cg->residual), 0.0, &cg->solution);
    double energy = boxhdg_lanes_step(cg->lanes, &product, NULL, NULL, NULL, &cg->solution, NULL, &cg->F);
    TRY(vector_convert(&cg->y, &cg->residual));
    vector_axpby(1.0, rescale(cg, &cg->F), -1.0, &cg->residual);
    TRY(vector_convert(&cg->residual, &cg->r));
    TRY(begin(cg, &s));
    *error = s.rz == 0.0 ? 0.0 : sqrt(s.rz / energy);
done:
    return status;
}

facet_status boxhdg_cg_error(struct boxhdg_cg *cg) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = cg->lanes->hdg;
    double *plain = NULL, error;
    uint32_t seed = 12345;
    TRY(ALLOC(plain, h->n_trace));
    boxhdg_constant(h, plain);
    for (int64_t i = 0; h->grid.singular && i < h->n_trace; i++) {
        seed = seed * 1664525u + 1013904223u;
        plain[i] = (double)(seed >> 8) / 8388608.0 - 1.0;
    }
    TRY(put_residual(cg, plain));
    for (int round = 0; round < 1 + h->grid.singular && !isnan(cg->error); round++) {
        TRY(probe(cg, &error));
        if (!(error <= cg->error)) cg->error = error;
    }
done:
    base_free(&plain);
    return status;
}

/* Steps until the recursive residual is below `goal`, or `most` of them, or something stops them, with a
 * reason. */
static facet_status sweep(struct boxhdg_cg *cg, const struct solve_control *control, double goal, int most,
                          struct solve_report *report, struct state *s, const char **reason) {
    facet_status status = FACET_OK;
    double sums[2];
    for (int step = 0; s->norm > goal && step < most; step++) {
        if (report->iterations >= control->max_iterations) {
            *reason = "the iteration limit was reached";
            break;
        }
        double py = advance(cg, s);
        s->fresh = 0;
        s->alpha = 0.0;
        if (!(py > 0.0) || !(s->rz > 0.0)) {
            *reason = isfinite(py) && isfinite(s->rz)
                          ? "the matrix or the preconditioner is not positive definite"
                          : "a value is not finite";
            break;
        }
        s->alpha = s->rz / py;
        boxhdg_lanes_residual(cg->fast, s->alpha, &cg->y, &cg->r, cg->moments.n > 0 ? &cg->moments : NULL,
                              sums);
        s->norm = sqrt(sums[1]);
        report->iterations++;
        TRY(solve_record(control, report, s->norm));
        if (s->norm > goal && step + 1 < most) TRY(precondition(cg, sums, s));
    }
done:
    return status;
}

/* F and the first guess in units of |F|. */
static double normalize(struct boxhdg_cg *cg) {
    double sums[2];
    remove_constant(cg, &cg->kernel_residual, &cg->kernel, &cg->F);
    remove_constant(cg, &cg->kernel, &cg->kernel_residual, &cg->solution);
    boxhdg_lanes_residual(cg->lanes, 0.0, &cg->F, &cg->F, NULL, sums);
    double scale = sqrt(sums[1]);
    if (!(scale > 0.0) || !isfinite(scale)) return scale;
    vector_axpby(0.0, &cg->solution, 1.0 / scale, &cg->F);
    vector_axpby(0.0, &cg->F, 1.0 / scale, &cg->solution);
    return scale;
}

/* The last word on a solve whose true residual is s->norm. */
static facet_status conclude(const struct boxhdg_cg *cg, const struct solve_control *control, double norm,
                             const char *reason, struct solve_report *report, int *stalled) {
    if (norm <= control->rtol) return solve_finish(report, 1, "the tolerance was reached", norm);
    *stalled = cg->fast != cg->lanes && report->iterations < control->max_iterations && isfinite(norm);
    if (*stalled) return FACET_OK;
    if (reason == NULL)
        reason = isfinite(norm) ? "the true residual no longer falls: the tolerance is below rounding"
                                : "a value is not finite";
    return solve_finish(report, 0, reason, norm);
}

/* After an update: what becomes of the directions, and whether it is worth going on. */
static int goes_on(const struct boxhdg_cg *cg, double before, struct state *s) {
    if (cg->fast == cg->lanes) {
        s->fresh = 1;
        return s->norm < 0.5 * before;
    }
    if (s->norm < 0.5 * s->best) {
        s->best = s->norm;
        s->idle = 0;
    } else {
        s->idle++;
    }
    s->fresh = !(s->drift <= DRIFT);
    return s->drift <= MOST_DRIFT && s->idle < (s->fresh ? 1 : IDLE_UPDATES);
}

facet_status boxhdg_cg_solve(struct boxhdg_cg *cg, const struct solve_control *control,
                             struct solve_report *report, int *stalled) {
    facet_status status = FACET_OK;
    struct state s = {.fresh = 1, .best = INFINITY};
    const char *reason = NULL;
    int mixed = cg->fast != cg->lanes, most = mixed ? MOST_STEPS : INT_MAX, on;
    double scale = normalize(cg);
    double reduction = mixed ? fmin(LEAST_REDUCTION, fmax(MOST_REDUCTION, ERROR_ROOM * cg->error)) : 0.0;
    *stalled = 0;
    if (scale == 0.0) {
        vector_fill(&cg->solution, 0.0);
        return solve_finish(report, 1, "the right-hand side is zero", 0.0);
    }
    if (mixed) {
        vector_fill(&cg->x, 0.0);
        vector_fill(&cg->r, 0.0);
    }
    TRY(update(cg, &s));
    s.best = s.norm;
    if (report->n_history == 0) TRY(solve_record(control, report, s.norm));
    do { /* a sweep, then the truth */
        double before = s.norm;
        if (s.norm <= control->rtol) break;
        TRY(begin(cg, &s));
        TRY(sweep(cg, control, fmax(control->rtol, reduction * s.norm), most, report, &s, &reason));
        TRY(update(cg, &s));
        on = goes_on(cg, before, &s);
    } while (on && reason == NULL && s.norm > control->rtol);
    status = conclude(cg, control, s.norm, reason, report, stalled);
done:
    remove_constant(cg, &cg->kernel, &cg->kernel_residual, &cg->solution);
    vector_axpby(0.0, &cg->F, scale, &cg->solution);
    return status;
}
