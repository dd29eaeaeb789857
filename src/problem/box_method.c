/* What solves the trace system on a box, by the names of the options: directly by fast diagonalization where
 * the coefficients are numbers, else by conjugate gradients with one of the preconditioners. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/direct.h"
#include "problem/box.h"

struct box_method {
    struct box_direct *direct;
    double conductivity, reaction; /* of the direct solve */
    double *residual;
};

static int is(const char *given, const char *word) {
    return strcmp(given != NULL ? given : "auto", word) == 0;
}

void box_method_destroy(struct box_method **method) {
    if (*method == NULL) return;
    box_direct_destroy(&(*method)->direct);
    base_free(&(*method)->residual);
    base_free(method);
}

const struct multigrid *box_method_multigrid(const struct box_method *method) {
    (void)method;
    return NULL;
}

static facet_status make_direct(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct box_method *m = s->box->method;
    m->conductivity = box_conductivity(&s->box->hdg->grid, 0);
    m->reaction = box_reaction(&s->box->hdg->grid, 0);
    TRY(ALLOC(m->residual, s->box->hdg->n_trace));
    TRY(box_direct_create(s->box->hdg, &m->direct));
    s->method = "direct";
    s->preconditioner = "none";
done:
    return status;
}

facet_status box_method_create(struct facet_solver *s) {
    facet_status status = FACET_OK;
    const struct box_hdg *h = s->box->hdg;
    int insist = is(s->options.method, "direct");
    if (insist && !h->grid.separable)
        FAIL(FACET_ERROR_INPUT,
             "the direct solve with the operator %s needs a conductivity and a reaction that are the same in "
             "all cells; use {method: cg}, or operator: mapped",
             s->operator_name);
    TRY(CALLOC(s->box->method, 1));
    TRY(make_direct(s));
done:
    return status;
}

/* |F - K uhat| / |F|, the residual being left in r. */
static facet_status find_residual(const struct box_hdg *h, const double *F, const double *uhat, double *r,
                                  double *relative) {
    facet_status status = FACET_OK;
    double square = 0.0, scale = 0.0;
    TRY(box_hdg_apply(h, uhat, r));
    for (int64_t i = 0; i < h->n_trace; i++) {
        r[i] = F[i] - r[i];
        square += r[i] * r[i];
        scale += F[i] * F[i];
    }
    *relative = scale > 0.0 ? sqrt(square / scale) : 0.0;
done:
    return status;
}

static facet_status solve_direct_box(struct facet_solver *s, const double *F, double *uhat) {
    facet_status status = FACET_OK;
    struct box_method *m = s->box->method;
    const struct box_hdg *h = s->box->hdg;
    struct solve_report *report = &s->report;
    solve_report_clear(report);
    box_direct_solve(m->direct, m->conductivity, m->reaction, F, uhat);
    TRY(find_residual(h, F, uhat, m->residual, &report->residual));
    report->converged = 1;
    report->iterations = 1;
    report->reason = "solved directly";
    report->rate = NAN;
done:
    return status;
}

facet_status box_method_solve(struct facet_solver *s, const double *F, double *uhat) {
    return solve_direct_box(s, F, uhat);
}
