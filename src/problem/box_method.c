/* What solves the trace system of HDG on a box, by the names of the options: directly by fast diagonalization
 * where the coefficients are numbers, else by conjugate gradients with one of the preconditioners. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/lane_solver.h"
#include "boxhdg/lanes.h"
#include "problem/box_backend.h"
#include "problem/choice.h"
#include "solve/jumps.h"

/* `auto` iterates where a line of the box has more unknowns than this (the eigenvectors of its lines are
 * dense matrices), and on a device with memory of its own: the direct solve is the host's. */
#define AUTO_DIRECT_LINE 1500
/* Where k jumps, a polynomial takes less time than single steps up to so many modes along a line of a cell.
 */
#define FEW_LINE_MODES 4
/* Trace unknowns from which `auto` takes mixed precision. */
#define LARGE_SYSTEM 100000

/* ------------------------------------------------------------------------------ set-up */

/* The matrix holds the constant so weakly that it is kept apart. */
static int is_loose(const struct facet_solver *s) {
    return box_of(s)->apart && !box_of(s)->hdg->grid.singular;
}

/* Single precision inside: as wanted, or for large systems, and not where it is known to be hopeless. */
static int wants_mixed(const struct facet_solver *s) {
    if (box_of(s)->delicate && !box_of(s)->hdg->grid.singular) return 0;
    return s->options.precision == PRECISION_MIXED ||
           (s->options.precision == PRECISION_AUTO && box_of(s)->hdg->n_all_free >= LARGE_SYSTEM);
}

static struct boxhdg_solver_options lane_options(const struct facet_solver *s) {
    struct boxhdg_solver_options options;
    boxhdg_solver_options_default(&options);
    options.preconditioner = s->method == METHOD_DIRECT                      ? BOXHDG_DIRECT
                             : s->preconditioner == PRECONDITIONER_NONE      ? BOXHDG_NONE
                             : s->preconditioner == PRECONDITIONER_ADDITIVE  ? BOXHDG_ADDITIVE
                             : s->preconditioner == PRECONDITIONER_CHEBYSHEV ? BOXHDG_CHEBYSHEV
                                                                             : BOXHDG_DIAGONAL;
    options.mixed = wants_mixed(s) &&
                    (options.preconditioner == BOXHDG_ADDITIVE || options.preconditioner == BOXHDG_CHEBYSHEV);
    options.remember = s->options.warm_start && s->method != METHOD_DIRECT;
    options.loose = is_loose(s);
    return options;
}

/* ------------------------------------------------------------------------------ the choice */

static int line_unknowns(const struct boxhdg *h) {
    int most = 0;
    for (int d = 0; d < h->grid.dim; d++) most = h->grid.cells[d] > most ? h->grid.cells[d] : most;
    return most * h->n;
}

enum fact {
    AUTO_METHOD = 1 << 0,
    AUTO_PRECONDITIONER = 1 << 1,
    AUTO_PRECISION = 1 << 2,
    SEPARABLE = 1 << 3,
    SHORT_LINES = 1 << 4,
    GPU = 1 << 5,
    SEVERAL = 1 << 6, /* processes */
    JUMPS = 1 << 7,   /* of k, where a line of a cell has few modes */
    DIRECT = 1 << 8   /* is the method */
};

static const struct choice_row methods[] = {
    {0, AUTO_METHOD, CHOICE_ASKED, CHOICE_ASKED_FOR},
    {AUTO_PRECONDITIONER | AUTO_PRECISION | SEPARABLE | SHORT_LINES, GPU | SEVERAL, METHOD_DIRECT,
     "coefficients are the same in all cells, and lines are short"},
    {0, 0, METHOD_CG, "the matrix is symmetric"},
};
static const struct choice_row preconditioners[] = {
    {DIRECT, 0, PRECONDITIONER_NONE, "a direct solve needs none"},
    {0, AUTO_PRECONDITIONER, CHOICE_ASKED, CHOICE_ASKED_FOR},
    {JUMPS, 0, PRECONDITIONER_CHEBYSHEV, "the conductivity jumps, and cells have few modes"},
    {0, 0, PRECONDITIONER_ADDITIVE, "the general choice on boxes"},
};

facet_status box_method_choose(struct facet_solver *s, const struct boxhdg *h, struct choice *c) {
    static const char *const kernels[] = {"box_step",    "box_residual", "box_form",   "box_recur",
                                          "box_prolong", "box_restrict", "axis_apply", NULL};
    facet_status status = FACET_OK;
    const struct options *o = &s->options;
    double jump = 1.0;
    unsigned facts = choice_fact(o->method == METHOD_AUTO, AUTO_METHOD) |
                     choice_fact(o->preconditioner == PRECONDITIONER_AUTO, AUTO_PRECONDITIONER) |
                     choice_fact(o->precision == PRECISION_AUTO, AUTO_PRECISION) |
                     choice_fact(h->grid.separable, SEPARABLE) |
                     choice_fact(line_unknowns(h) <= AUTO_DIRECT_LINE, SHORT_LINES) |
                     choice_fact(device_has_memory(s->context->device), GPU) |
                     choice_fact(h->grid.part != NULL, SEVERAL);
    *c = (struct choice){0};
    c->method = choice_take(methods, facts, o->method, &c->why[1]);
    if (facts & SEVERAL && c->method == METHOD_DIRECT)
        FAIL(FACET_ERROR_INPUT,
             "the method direct is not distributed yet; use the program facet, or leave it to auto");
    if (c->method != METHOD_DIRECT && facts & AUTO_PRECONDITIONER && h->n <= FEW_LINE_MODES)
        TRY(box_jump(&h->grid, &jump));
    facts |= choice_fact(jump > SOLVE_LARGE_JUMP, JUMPS) | choice_fact(c->method == METHOD_DIRECT, DIRECT);
    c->preconditioner = choice_take(preconditioners, facts, o->preconditioner, &c->why[2]);
    s->method = c->method;
    s->preconditioner = c->preconditioner;
    if (s->method != METHOD_DIRECT)
        TRY(base_wrap(device_require(s->context->device, "hdg on boxes", kernels), "device"));
done:
    return status;
}

facet_status box_method_check_memory(const struct facet_solver *s) {
    struct boxhdg_solver_options options = lane_options(s);
    return boxhdg_check_memory(box_of(s)->device, box_of(s)->hdg, &options, BOXHDG_ON_DEVICE);
}

facet_status box_method_create(struct facet_solver *s) {
    struct box *b = box_of(s);
    struct boxhdg_solver_options options = lane_options(s);
    facet_status status = boxhdg_solver_create(b->device, b->hdg, &options, &b->solver);
    struct multigrid *mg = status == FACET_OK ? boxhdg_solver_multigrid(b->solver) : NULL;
    return mg != NULL ? multigrid_watch(mg, s->options.watch) : status;
}

/* ------------------------------------------------------------------------------ solve */

/* tau h / k. */
static double heaviest_tau(const struct boxhdg *h) {
    double most = 0.0;
    for (int i = 0; i < h->n_lines; i++) most = fmax(most, 2.0 * h->lines[i].rho);
    return box_all(&h->grid, TEAM_MAX, most);
}

/* Once, or where an error was asked for as often as it takes. */
facet_status box_method_solve(struct facet_solver *s, enum boxhdg_guess guess) {
    struct solve_control control = {.rtol = solve_tolerance(s->options.rtol, heaviest_tau(box_of(s)->hdg)),
                                    .max_iterations = s->options.max_iterations,
                                    .monitor = &s->context->monitor};
    if (box_of(s)->hdg->n_all_free == 0) {
        solve_report_clear(&s->report);
        s->report.converged = 1;
        s->report.reason = "there are no unknowns: every face has a Dirichlet condition";
        return FACET_OK;
    }
    facet_status status;
    int before = 0, again = 0;
    do
        status = boxhdg_resident_solve(box_of(s)->resident, again ? BOXHDG_FROM_GIVEN : guess, &control,
                                       &s->report);
    while (status == FACET_OK && s->method != METHOD_DIRECT &&
           (again = solve_again(s->options.error, &control, &s->report, &before)));
    return status == FACET_OK ? solve_reached(s->options.error, &s->report) : status;
}

/* ------------------------------------------------------------------------------ the system */

/* A copy of x without what it has on fixed faces. */
static facet_status copy_free(const struct boxhdg *h, const double *x, double **copy) {
    facet_status status = ALLOC(*copy, h->n_trace);
    if (status != FACET_OK) return status;
    memcpy(*copy, x, (size_t)h->n_trace * sizeof *x);
    boxhdg_add_dirichlet(h, NULL, *copy);
    return FACET_OK;
}

facet_status box_method_apply(const struct facet_solver *s, const double *x, double *y) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = box_of(s)->hdg;
    double *copy = NULL;
    TRY(copy_free(h, x, &copy));
    memset(y, 0, (size_t)h->n_trace * sizeof *y);
    if (h->n_all_free == 0) goto done;
    TRY(boxhdg_solver_apply(box_of(s)->solver, copy, y));
    boxhdg_add_dirichlet(h, NULL, y);
done:
    base_free(&copy);
    return status;
}

facet_status box_method_precondition(const struct facet_solver *s, const double *x, double *y) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = box_of(s)->hdg;
    double *copy = NULL;
    TRY(copy_free(h, x, &copy));
    memset(y, 0, (size_t)h->n_trace * sizeof *y);
    if (h->n_all_free == 0) goto done;
    TRY(boxhdg_solver_precondition(box_of(s)->solver, copy, y));
    boxhdg_add_dirichlet(h, NULL, y);
done:
    base_free(&copy);
    return status;
}

facet_status box_method_get(const struct facet_solver *s, double *F, double *uhat) {
    facet_status status = FACET_OK;
    const struct box *b = box_of(s);
    size_t bytes = (size_t)b->hdg->n_trace * sizeof *F;
    struct vector *loads, *solution;
    if (F != NULL) memset(F, 0, bytes);
    if (uhat != NULL) memset(uhat, 0, bytes);
    const struct boxhdg_lanes *lanes = boxhdg_solver_lanes(b->solver, &loads, &solution);
    if (F != NULL) TRY(boxhdg_lanes_unpack(lanes, BOXHDG_RESIDUAL, loads, F));
    if (uhat != NULL) TRY(boxhdg_lanes_unpack(lanes, BOXHDG_UNKNOWN, solution, uhat));
done:
    return status;
}
