/* What solves the trace system of HDG on a box, by the names of the options: directly by fast diagonalization
 * where the coefficients are numbers, else by conjugate gradients with one of the preconditioners. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/direct.h"
#include "boxhdg/solver.h"
#include "problem/box.h"

/* What `auto` takes where there is no direct solve, or where a line of the box has more unknowns than this:
 * the eigenvectors of its lines are dense matrices. */
#define AUTO_PRECONDITIONER "additive"
#define AUTO_DIRECT_LINE    1500
/* Trace unknowns from which `auto` takes mixed precision. */
#define LARGE_SYSTEM 100000

struct box_method {
    struct boxhdg_direct *direct;
    const struct boxhdg *hdg; /* the rest is that of the direct solve */
    double conductivity, reaction;
    struct base_collector failure; /* of its products */

    struct boxhdg_solver *solver; /* conjugate gradients in lanes */
    struct operator A, M;         /* on plain modes of the host */
    struct vector kernel;
};

static int is(const char *given, const char *word) {
    return strcmp(given != NULL ? given : "auto", word) == 0;
}

void box_method_destroy(struct box_method **method) {
    struct box_method *m = *method;
    if (m == NULL) return;
    boxhdg_direct_destroy(&m->direct);
    boxhdg_solver_destroy(&m->solver);
    vector_destroy(&m->kernel);
    base_free(method);
}

const struct multigrid *box_method_multigrid(const struct box_method *method) {
    return method->solver != NULL ? boxhdg_solver_multigrid(method->solver) : NULL;
}

/* ------------------------------------------------------------------------------ set-up */

/* Constants on the trace, normalised; where they are wanted there are no Dirichlet faces. */
static facet_status make_kernel(struct facet_solver *s, const struct device *device) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = s->box->hdg;
    struct box_method *m = s->box->method;
    double *one = NULL, square = 0.0;
    TRY(ALLOC(one, h->n_trace));
    boxhdg_constant(h, one);
    for (int64_t i = 0; i < h->n_trace; i++) square += one[i] * one[i];
    for (int64_t i = 0; i < h->n_trace; i++) one[i] /= sqrt(square);
    TRY(vector_create(device, h->n_trace, &m->kernel));
    TRY(vector_upload(&m->kernel, one));
done:
    base_free(&one);
    return status;
}

/* A device with kernels of its own only: what works on arrays of the host is not there. */
static int is_far(const struct device *device) {
    return !device_is_host(device) && !is(device_name(device), "debug");
}

/* What is not in lanes works on arrays of the host. */
static facet_status host_of(const struct facet_solver *s, const struct device **device) {
    *device = s->context->device;
    if (is_far(*device))
        return base_fail(FACET_ERROR_INPUT,
                         "device: '%s' has no method direct for hdg on boxes; use solver: {method: cg, "
                         "preconditioner: additive}, or chebyshev, block, none, or another device",
                         device_name(*device));
    return device_is_host(*device) ? FACET_OK : device_find("ref", device);
}

/* Both operators of the direct solve work on the arrays of struct box_method. */
static void apply_product(const struct operator* A, const struct vector *x, struct vector *y) {
    struct box_method *m = A->data;
    facet_status status = boxhdg_apply(m->hdg, x->data, y->data);
    if (status == FACET_OK) return;
    base_collect(&m->failure, 0, status);
    vector_fill(y, NAN);
}

static void apply_direct(const struct operator* M, const struct vector *x, struct vector *y) {
    struct box_method *m = M->data;
    boxhdg_direct_solve(m->direct, m->conductivity, m->reaction, x->data, y->data);
}

static facet_status make_direct(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct box_method *m = s->box->method;
    const struct boxhdg *h = s->box->hdg;
    const struct device *device;
    TRY(host_of(s, &device));
    m->hdg = h;
    m->conductivity = box_conductivity(&h->grid, 0);
    m->reaction = box_reaction(&h->grid, 0);
    m->A = (struct operator){.n = h->n_trace, .device = device, .apply = apply_product, .data = m};
    m->M = (struct operator){.n = h->n_trace, .device = device, .apply = apply_direct, .data = m};
    TRY(boxhdg_direct_create(h, &m->direct));
    if (h->grid.singular) TRY(make_kernel(s, device));
done:
    return status;
}

/* Single precision inside: as wanted, or for large systems, and not where it is known to be hopeless. */
static int wants_mixed(const struct facet_solver *s) {
    if (s->box->delicate && !s->box->hdg->grid.singular) return 0;
    return is(s->options.precision, "mixed") ||
           (is(s->options.precision, "auto") && s->box->hdg->n_free >= LARGE_SYSTEM);
}

static facet_status make_lanes(struct facet_solver *s) {
    static const char *const kernels[] = {
        "box_step",        "box_residual",        "box_prolong",        "box_restrict",        "axis_apply",
        "box_step_single", "box_residual_single", "box_prolong_single", "box_restrict_single", NULL};
    struct boxhdg_solver_options options;
    const char *name = s->preconditioner;
    facet_status status = device_require(s->context->device, "hdg on boxes", kernels);
    if (status != FACET_OK) return base_wrap(status, "device");
    boxhdg_solver_options_default(&options);
    options.preconditioner = is(name, "none")        ? BOXHDG_NONE
                             : is(name, "additive")  ? BOXHDG_ADDITIVE
                             : is(name, "chebyshev") ? BOXHDG_CHEBYSHEV
                                                     : BOXHDG_DIAGONAL;
    options.mixed = wants_mixed(s) && options.preconditioner >= BOXHDG_ADDITIVE;
    status = boxhdg_solver_create(s->context->device, s->box->hdg, &options, &s->box->method->solver);
    struct multigrid *mg = status == FACET_OK ? boxhdg_solver_multigrid(s->box->method->solver) : NULL;
    return mg != NULL ? multigrid_watch(mg, s->options.watch) : status;
}

/* ------------------------------------------------------------------------------ the choice */

static int line_unknowns(const struct boxhdg *h) {
    int most = 0;
    for (int d = 0; d < h->grid.dim; d++) most = h->grid.cells[d] > most ? h->grid.cells[d] : most;
    return most * h->n;
}

static facet_status choose(struct facet_solver *s) {
    const facet_options *o = &s->options;
    const struct boxhdg *h = s->box->hdg;
    int any = is(o->preconditioner, "auto");
    int two_level = is(o->preconditioner, "additive") || is(o->preconditioner, "chebyshev");
    if (is(o->method, "direct") && !h->grid.separable)
        return base_fail(
            FACET_ERROR_INPUT,
            "the direct solve with the operator %s needs a conductivity and a reaction that are the "
            "same in all cells; use {method: cg}, or operator: mapped",
            s->operator_name);
    int direct = is(o->method, "direct") ||
                 (is(o->method, "auto") && any && is(o->precision, "auto") && h->grid.separable &&
                  line_unknowns(h) <= AUTO_DIRECT_LINE && !is_far(s->context->device));
    s->method = direct ? "direct" : "cg";
    s->preconditioner = direct ? "none" : any ? AUTO_PRECONDITIONER : o->preconditioner;
    if (!is(o->precision, "auto") && (direct || !(two_level || any)))
        return base_fail(FACET_ERROR_INPUT,
                         "precision belongs to the preconditioners pmg, additive and chebyshev");
    return FACET_OK;
}

facet_status box_method_create(struct facet_solver *s) {
    facet_status status = FACET_OK;
    TRY(choose(s));
    TRY(CALLOC(s->box->method, 1));
    TRY(is(s->method, "direct") ? make_direct(s) : make_lanes(s));
done:
    return status;
}

/* ------------------------------------------------------------------------------ solve */

/* On the arrays as they are: the device is one whose memory is the host's. */
static facet_status solve_directly(struct facet_solver *s, const double *F, double *uhat,
                                   struct solve_control *control) {
    struct box_method *m = s->box->method;
    struct vector b = {.device = m->A.device, .n = m->A.n, .data = (double *)F};
    struct vector x = {.device = m->A.device, .n = m->A.n, .data = uhat};
    if (m->kernel.n > 0) control->kernel = &m->kernel;
    base_collector_init(&m->failure);
    facet_status status = solve_refined(&m->A, &m->M, &b, &x, control, &s->report);
    return base_collector_failed(&m->failure) ? base_collected(&m->failure) : status;
}

facet_status box_method_solve(struct facet_solver *s, const double *F, int guess, double *uhat) {
    struct box_method *m = s->box->method;
    struct solve_control control = {.rtol = s->options.rtol,
                                    .max_iterations = s->options.max_iterations,
                                    .monitor = &s->context->monitor};
    if (s->box->hdg->n_free == 0) {
        solve_report_clear(&s->report);
        s->report.converged = 1;
        s->report.reason = "there are no unknowns: every face has a Dirichlet condition";
        return FACET_OK;
    }
    return m->direct != NULL ? solve_directly(s, F, uhat, &control)
                             : boxhdg_solver_solve(m->solver, F, uhat, guess, &control, &s->report);
}
