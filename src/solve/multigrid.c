/* The cycle over the levels of a multigrid, and the multigrid as a preconditioner and as a solver. How levels
 * are put together is in multigrid_levels.c. */
#include <math.h>

#include "base/memory.h"
#include "device/seam.h"
#include "solve/multigrid_levels.h"

/* A second step on a coarse level is skipped when the first reduced the residual this far (Notay 2008). */
#define K_TOLERANCE 0.25

static void cycle(struct multigrid *mg, int level, enum mg_cycle kind, const struct vector *f, int from_zero,
                  struct vector *x);

/* When something began on a level, and what its process had sent until then. */
struct beginning {
    double seconds;
    struct team_traffic traffic;
};

static struct team_traffic traffic_of(const struct mg_level *l) {
    return l->seam != NULL ? l->seam->team->traffic : (struct team_traffic){0};
}

static struct beginning start(const struct mg_level *l) {
    return (struct beginning){base_seconds(), traffic_of(l)};
}

static void stop(struct mg_level *l, enum mg_phase phase, const struct beginning *begin) {
    const struct team_traffic now = traffic_of(l);
    l->seconds[phase] += base_seconds() - begin->seconds;
    l->traffic.messages += now.messages - begin->traffic.messages;
    l->traffic.bytes += now.bytes - begin->traffic.bytes;
    l->traffic.reductions += now.reductions - begin->traffic.reductions;
}

static void smooth(struct mg_level *l, const struct vector *f, int from_zero, struct vector *x) {
    const struct beginning begin = start(l);
    l->smoother.smooth(&l->smoother, l->A, f, from_zero, x);
    stop(l, MG_SMOOTH, &begin);
}

static void smooth_after(struct mg_level *l, const struct vector *f, struct vector *x) {
    const struct beginning begin = start(l);
    if (l->smoother.post == NULL) {
        smooth(l, f, 0, x);
        return;
    }
    l->smoother.post(&l->smoother, l->A, f, x);
    stop(l, MG_SMOOTH, &begin);
}

void mg_restrict(const struct mg_level *l, const struct vector *fine, struct vector *coarse) {
    if (l->link.restrict_ != NULL)
        l->link.restrict_(&l->link, fine, coarse);
    else
        operator_apply(&l->R, fine, coarse);
    if (l->sums) seam_add(coarse->seam, coarse);
}

void mg_prolong(const struct mg_level *l, double factor, int from_zero, const struct vector *coarse,
                struct vector *fine) {
    struct vector t = l->t;
    if (l->link.prolong != NULL) { /* with a factor of 1: multigrid_link has no other */
        if (from_zero) vector_fill(fine, 0.0);
        l->link.prolong(&l->link, coarse, fine);
        return;
    }
    operator_apply(&l->P, coarse, from_zero ? fine : &t);
    if (!from_zero) vector_axpby(factor, &t, 1.0, fine);
}

/* `to` of the next level = P' fine. */
static void pass_down(struct multigrid *mg, int level, const struct vector *fine, struct vector *to) {
    struct mg_level *l = &mg->levels[level];
    struct vector coarse = l->near_rhs.n > 0 ? l->near_rhs : *to;
    const struct beginning begin = start(l);
    mg_restrict(l, fine, &coarse);
    if (l->near_rhs.n > 0) mg_pass(mg, vector_convert(&coarse, to));
    stop(l, MG_TRANSFER, &begin);
}

/* rhs of the next level = P'(f - A x). */
static void restrict_residual(struct multigrid *mg, int level, const struct vector *f,
                              const struct vector *x) {
    struct mg_level *l = &mg->levels[level];
    struct vector r = l->r;
    const struct beginning begin = start(l);
    operator_residual(l->A, f, x, &r);
    stop(l, MG_RESIDUAL, &begin);
    pass_down(mg, level, &r, &l[1].rhs);
}

/* x += factor P (solution of the next level); x = that when from_zero. */
static void correct(struct multigrid *mg, int level, double factor, int from_zero, struct vector *x) {
    struct mg_level *l = &mg->levels[level], *next = l + 1;
    struct vector coarse = next->x;
    const struct beginning begin = start(l);
    if (l->near_x.n > 0) {
        coarse = l->near_x;
        mg_pass(mg, vector_convert(&next->x, &coarse));
    }
    mg_prolong(l, factor, from_zero, &coarse, x);
    stop(l, MG_TRANSFER, &begin);
}

/* One or two steps of flexible conjugate gradients with the cycle as preconditioner; rhs is spent. */
static void solve_flexible(struct multigrid *mg, int level) {
    const struct mg_level *l = &mg->levels[level];
    struct vector rhs = l->rhs, x = l->x, c = l->c, v = l->v, w = l->t;
    cycle(mg, level, MG_V, &rhs, 1, &c);
    operator_apply(l->A, &c, &v);
    double rho = vector_dot(&c, &v), alpha = vector_dot(&c, &rhs), norm = vector_norm(&rhs);
    if (!(rho > 0.0)) { /* c in the kernel, or rhs zero: nothing to scale */
        vector_fill(&x, 0.0);
        return;
    }
    vector_axpby(-alpha / rho, &v, 1.0, &rhs);
    if (vector_norm(&rhs) <= K_TOLERANCE * norm) {
        vector_axpby(alpha / rho, &c, 0.0, &x);
        return;
    }
    cycle(mg, level, MG_V, &rhs, 1, &x);
    operator_apply(l->A, &x, &w);
    double gamma = vector_dot(&x, &v), beta = vector_dot(&x, &w), alpha2 = vector_dot(&x, &rhs);
    double rho2 = beta - gamma * gamma / rho;
    double second = rho2 > 1e-14 * beta ? alpha2 / rho2 : 0.0;
    vector_axpby(alpha / rho - gamma * second / rho, &c, second, &x);
}

/* Two steps of a Chebyshev polynomial with the V-cycle. */
static void solve_twice(struct multigrid *mg, int level) {
    const struct mg_level *l = &mg->levels[level];
    struct vector rhs = l->rhs, x = l->x, d = l->c, r = l->v;
    cycle(mg, level, MG_V, &rhs, 1, &d);
    operator_apply(l->A, &d, &r);
    vector_axpby(1.0, &rhs, -l->steps[0], &r);
    cycle(mg, level, MG_V, &r, 1, &x);
    vector_axpby((1.0 + l->again) * l->steps[0], &d, l->steps[1], &x);
}

struct level_at {
    struct multigrid *mg;
    int level;
};

static void apply_cycle(const struct linear_operator *M, const struct vector *f, struct vector *x) {
    const struct level_at *at = M->data;
    cycle(at->mg, at->level, MG_V, f, 1, x);
}

facet_status mg_measure_level(struct multigrid *mg, int level) {
    facet_status status = FACET_OK;
    struct mg_level *l = &mg->levels[level];
    struct level_at at = {mg, level};
    struct linear_operator M = {
        .n = l->n, .device = l->device, .precision = l->precision, .apply = apply_cycle, .data = &at};
    struct vector work[4] = {{0}};
    struct vector *const vectors[4] = {&work[0], &work[1], &work[2], &work[3]};
    double least, top, a[2], b[2];
    for (int i = 0; i < 4; i++) TRY(mg_vector(l, l->n, &work[i]));
    TRY(solve_fill_noise(&work[0]));
    solve_eigenvalue_bounds(l->A, &M, LANCZOS_MAX, vectors, &least, &top);
    polynomial_coefficients(POLYNOMIAL_FIRST, top, fmax(top / least, 1.01), 2, a, b);
    for (int i = 0; i < 2; i++) l->steps[i] = a[i];
    l->again = b[1];
    for (int i = level; i < mg->n_levels; i++) { /* that was no solve */
        mg->levels[i].visits = 0;
        mg->levels[i].traffic = (struct team_traffic){0};
        for (int phase = 0; phase < MG_N_PHASES; phase++) mg->levels[i].seconds[phase] = 0.0;
    }
    TRY(mg->failure);
done:
    for (int i = 0; i < 4; i++) vector_destroy(&work[i]);
    return status;
}

/* x of a coarse level from its rhs, which may be spent. visit: how its finer neighbour wants it. */
static void solve_level(struct multigrid *mg, int level, enum mg_cycle visit) {
    struct mg_level *l = &mg->levels[level];
    struct vector x = l->x;
    if (level == mg->n_levels - 1 || visit == MG_V) {
        cycle(mg, level, MG_V, &l->rhs, 1, &x);
    } else if (visit == MG_K) {
        solve_flexible(mg, level);
    } else if (visit == MG_TWICE) {
        solve_twice(mg, level);
    } else {
        cycle(mg, level, visit, &l->rhs, 1, &x);
        cycle(mg, level, visit == MG_F ? MG_V : MG_W, &l->rhs, 0, &x);
    }
}

/* The reduction of the residual by one visit. */
static void watch(struct multigrid *mg, int level, double before, const struct vector *f,
                  const struct vector *x) {
    struct mg_level *l = &mg->levels[level];
    struct vector r = l->r;
    if (!mg->watching || !(before > 0.0)) return;
    operator_residual(l->A, f, x, &r);
    l->residual = vector_norm(&r) / before;
    if (l->residual > 0.0) l->log_sum += log(l->residual);
    l->watched++;
}

/* A visit from zero by a smoother that goes down and up itself. */
static void visit_fused(struct multigrid *mg, int level, enum mg_cycle kind, const struct vector *f,
                        struct vector *x) {
    struct mg_level *l = &mg->levels[level], *next = l + 1;
    struct beginning begin = start(l);
    l->smoother.down(&l->smoother, f, x, &next->rhs);
    stop(l, MG_SMOOTH, &begin);
    solve_level(mg, level + 1, kind);
    begin = start(l);
    l->smoother.up(&l->smoother, f, &next->x, x);
    stop(l, MG_SMOOTH, &begin);
}

/* kind: V, W or F for the levels that have no will of their own. */
static void cycle(struct multigrid *mg, int level, enum mg_cycle kind, const struct vector *f, int from_zero,
                  struct vector *x) {
    struct mg_level *l = &mg->levels[level];
    l->visits++;
    if (level == mg->n_levels - 1) {
        const struct beginning begin = start(l);
        operator_apply(&mg->last, f, x);
        stop(l, MG_SOLVE, &begin);
        return;
    }
    double before = mg->watching && from_zero ? vector_norm(f) : 0.0;
    if (l->smoother.down != NULL && from_zero && kind != MG_ADDITIVE) {
        visit_fused(mg, level, l->visit != MG_V ? l->visit : kind, f, x);
    } else {
        smooth(l, f, from_zero, x);
        if (kind == MG_ADDITIVE)
            pass_down(mg, level, f, &l[1].rhs);
        else
            restrict_residual(mg, level, f, x);
        solve_level(mg, level + 1, l->visit != MG_V ? l->visit : kind == MG_ADDITIVE ? MG_V : kind);
        correct(mg, level, l->factor, 0, x);
        if (kind != MG_ADDITIVE) smooth_after(l, f, x);
    }
    watch(mg, level, before, f, x);
}

facet_status multigrid_correct(struct multigrid *mg, double *dot) {
    struct mg_level *l = &mg->levels[0], *next = l + 1;
    struct beginning begin = start(l);
    l->visits++;
    l->link.gather(&l->link, &next->rhs);
    stop(l, MG_TRANSFER, &begin);
    solve_level(mg, 1, MG_V);
    begin = start(l);
    *dot = vector_dot(&next->rhs, &next->x);
    if (l->seam != NULL && next->seam == NULL) /* the right-hand side is the sum of what processes have */
        mg_pass(mg, team_reduce(l->seam->team, TEAM_SUM, 1, dot));
    l->link.spread(&l->link, &next->x);
    stop(l, MG_TRANSFER, &begin);
    return mg->failure;
}

static void full_cycle(struct multigrid *mg, int level, const struct vector *f, struct vector *x);

/* What the full cycle gives on the next level, not for the last one. */
static void guess(struct multigrid *mg, int level, const struct vector *f, struct vector *x) {
    struct mg_level *l = &mg->levels[level], *next = l + 1;
    pass_down(mg, level, f, &next->full);
    full_cycle(mg, level + 1, &next->full, &next->x);
    correct(mg, level, 1.0, 1, x);
    if (l->complement.apply == NULL) return;
    struct vector r = l->r;
    operator_apply(&l->complement, f, &r);
    vector_axpby(1.0, &r, 1.0, x);
}

/* Full multigrid: the right-hand side goes down unsmoothed, the solution comes up with a cycle on each level.
 */
static void full_cycle(struct multigrid *mg, int level, const struct vector *f, struct vector *x) {
    const int last = level == mg->n_levels - 1;
    if (!last) guess(mg, level, f, x);
    cycle(mg, level, MG_V, f, last, x);
}

/* When cycles by themselves have stalled; see is_stalled. */
#define STALL_RATE     0.999
#define LARGE_RESIDUAL 0.1
#define HUGE_RESIDUAL  1e4
#define MAX_GROWTHS    4
/* The reduction of a cycle of which that of all to come is judged. */
#define SLOWEST 0.99

/* ------------------------------------------------------------------------------ preconditioner and solver */

/* Single precision has room for the residuals of a right-hand side of such a size, and double precision for
 * the products of their squares. */
#define SMALL_SIZE 1e-15
#define LARGE_SIZE 1e15

void multigrid_measure(const struct linear_operator *M, const struct vector *like) {
    struct multigrid *mg = M != NULL ? operator_multigrid(M) : NULL;
    if (mg == NULL) return;
    mg->unit = 1.0;
    const double size = like != NULL ? vector_norm(like) : 0.0;
    if (size > 0.0 && isfinite(size) && (size < SMALL_SIZE || size > LARGE_SIZE))
        mg->unit = ldexp(1.0, ilogb(size));
}

/* b in the unit of the levels. */
static const struct vector *divide(struct multigrid *mg, const struct vector *b) {
    if (mg->unit == 1.0) return b;
    if (mg->divided.n == 0) {
        const facet_status status = vector_create_like(b, &mg->divided);
        if (status != FACET_OK) vector_destroy(&mg->divided);
        mg_pass(mg, status);
    }
    if (mg->divided.n == 0) return b;
    vector_axpby(1.0 / mg->unit, b, 0.0, &mg->divided);
    return &mg->divided;
}

static void multiply(const struct multigrid *mg, struct vector *x) {
    if (mg->unit != 1.0) vector_axpby(0.0, x, mg->unit, x);
}

/* x += what stands in mg->out; `divided` is overwritten. */
static void add_rounded(struct multigrid *mg, struct vector *x) {
    if (mg->unit == 1.0 || mg->divided.n == 0) {
        vector_add(&mg->out, x);
        return;
    }
    mg_pass(mg, vector_convert(&mg->out, &mg->divided));
    vector_axpby(mg->unit, &mg->divided, 1.0, x);
}

static void mg_apply(const struct linear_operator *M, const struct vector *b, struct vector *y) {
    struct multigrid *mg = M->data;
    struct vector x = *y;
    if (mg->n_levels == 0) return;
    const struct vector *f = divide(mg, b);
    if (mg->in.n > 0) { /* the finest level has a precision or a device of its own */
        mg_pass(mg, vector_convert(f, &mg->in));
        f = &mg->in;
        x = mg->out;
    }
    if (mg->cycle == MG_FULL)
        full_cycle(mg, 0, f, &x);
    else
        cycle(mg, 0, mg->cycle, f, 1, &x);
    if (mg->in.n > 0) mg_pass(mg, vector_convert(&mg->out, y));
    multiply(mg, y);
    if (mg->levels[0].seam != NULL) mg_pass(mg, seam_share(mg->levels[0].seam, y));
}

static void mg_free(struct linear_operator *M) {
    struct multigrid *mg = M->data;
    multigrid_destroy(&mg);
    M->data = NULL;
}

facet_status operator_create_multigrid(struct multigrid **mg, struct linear_operator *M) {
    struct multigrid *m = *mg;
    *M = (struct linear_operator){.n = m->levels[0].n,
                                  .device = m->in.n > 0 ? m->outer : m->levels[0].device,
                                  .apply = mg_apply,
                                  .free = mg_free,
                                  .precision = m->keeps_precision ? m->levels[0].precision : F64,
                                  .data = m};
    *mg = NULL;
    return FACET_OK;
}

struct multigrid *operator_multigrid(const struct linear_operator *M) {
    return M->apply == mg_apply ? M->data : NULL;
}

/* The full cycle where the levels are in single precision: x += what the next level gives for r, without the
 * cycle on the finest level. That one is for the residual in double precision, since the rounding of a vector
 * as large as the solution would spoil what it gains. */
static void guess_rounded(struct multigrid *mg, const struct vector *r, struct vector *x) {
    struct vector rounded = mg->out;
    mg_pass(mg, vector_convert(divide(mg, r), &mg->in));
    guess(mg, 0, &mg->in, &rounded);
    add_rounded(mg, x);
}

/* The same with all in double precision but the cycles, which are on residuals: x of a level from its f, r
 * being room for the residual. */
static void full_refined(struct multigrid *mg, int level, const struct vector *f, struct vector *x,
                         struct vector *r) {
    struct mg_level *l = &mg->levels[level], *next = l + 1;
    if (level == mg->n_levels - 1) {
        mg_pass(mg, vector_convert(f, &l->rhs));
        cycle(mg, level, MG_V, &l->rhs, 1, &l->x);
        mg_pass(mg, vector_convert(&l->x, x));
        return;
    }
    l->link.restrict_(&l->link, f, &next->f64);
    full_refined(mg, level + 1, &next->f64, &next->x64, &next->r64);
    vector_fill(x, 0.0);
    l->link.prolong(&l->link, &next->x64, x);
    operator_residual(&l->exact, f, x, r);
    struct vector rhs = level > 0 ? l->rhs : mg->in, d = level > 0 ? l->x : mg->out;
    mg_pass(mg, vector_convert(r, &rhs));
    cycle(mg, level, MG_V, &rhs, 1, &d);
    vector_add(&d, x);
}

/* x += one cycle for the residual r. d (room for a correction) is needed where the levels are in double
 * precision. */
static void step(const struct linear_operator *M, const struct vector *r, struct vector *d,
                 struct vector *x) {
    struct multigrid *mg = M->data;
    if (mg->in.n == 0) {
        operator_apply(M, r, d);
        vector_axpby(1.0, d, 1.0, x);
        return;
    }
    struct vector rounded = mg->out;
    mg_pass(mg, vector_convert(divide(mg, r), &mg->in));
    cycle(mg, 0, mg->cycle, &mg->in, 1, &rounded);
    add_rounded(mg, x);
}

/* The first step of a solve: a full cycle for the residual r. */
static facet_status first_step(const struct linear_operator *A, const struct linear_operator *M,
                               const struct vector *b, const struct solve_control *control, int from_zero,
                               struct vector *r, struct vector *d, struct vector *x) {
    facet_status status = FACET_OK;
    struct multigrid *mg = M->data;
    struct vector more = {0};
    if (mg->in.n == 0 || mg->n_levels == 1) {
        step(M, r, d, x);
    } else if (mg->refined && from_zero) {
        full_refined(mg, 0, divide(mg, b), x, r);
        multiply(mg, x);
    } else if (mg->refined) {
        if (d->n == 0) TRY(vector_create_like(b, d));
        TRY(vector_create_like(b, &more));
        full_refined(mg, 0, divide(mg, r), d, &more);
        vector_axpby(mg->unit, d, 1.0, x);
    } else {
        guess_rounded(mg, r, x);
        null_space_remove(control->null_space, SOLVE_UNKNOWNS, x);
        solve_true_residual(A, b, x, control, r);
        mg->cycle = MG_V;
        step(M, r, d, x);
    }
done:
    vector_destroy(&more);
    return status;
}

/* A cycle that reduces the energy of the error may raise the residual at first: some such cycles are let
 * pass while it is large. residual: relative; rate: of the last cycle; growths: how many were let pass. */
static int is_stalled(double residual, double rate, int *growths) {
    if (rate <= STALL_RATE) return 0;
    return residual < LARGE_RESIDUAL || residual > HUGE_RESIDUAL || ++*growths > MAX_GROWTHS;
}

/* Of x, by one more cycle. d: without room where the levels have vectors of their own, which then do. */
static facet_status estimate_error(const struct linear_operator *A, const struct linear_operator *M,
                                   const struct vector *b, const struct vector *x,
                                   const struct solve_control *control, struct vector *r, struct vector *d,
                                   double *error) {
    struct multigrid *mg = M->data;
    if (d->n > 0) return solve_estimate(A, solve_apply, M, b, x, control, d, r, error);
    double size = vector_norm(x);
    struct vector rounded = mg->out;
    solve_true_residual(A, b, x, control, r);
    mg_pass(mg, vector_convert(divide(mg, r), &mg->in));
    cycle(mg, 0, MG_V, &mg->in, 1, &rounded);
    *error = size > 0.0 ? mg->unit * vector_norm(&rounded) / size : 0.0;
    return FACET_OK;
}

facet_status solve_multigrid(const struct linear_operator *A, const struct linear_operator *M,
                             const struct vector *b, struct vector *x, const struct solve_control *control,
                             struct solve_report *report) {
    facet_status status = FACET_OK;
    struct multigrid *mg = operator_multigrid(M);
    struct vector r = {0}, d = {0};
    enum mg_cycle wanted = mg->cycle;
    solve_report_clear(report);
    TRY(vector_create_like(b, &r));
    if (mg->in.n == 0) TRY(vector_create_like(b, &d));
    null_space_remove(control->null_space, SOLVE_UNKNOWNS, x);
    double scale = vector_norm(b), before = INFINITY;
    if (solve_is_extreme(scale)) {
        status = solve_nothing(scale, b, x, report);
        goto done;
    }
    double norm = scale;
    multigrid_measure(M, b);
    const int from_zero = control->null_space == NULL && vector_norm(x) == 0.0;
    const int refined = from_zero && mg->cycle == MG_FULL && mg->in.n > 0 && mg->refined;
    if (from_zero && !refined)
        vector_axpby(1.0, b, 0.0, &r); /* saves a product */
    else if (!from_zero)
        norm = solve_true_residual(A, b, x, control, &r);
    const char *reason = NULL;
    int growths = 0;
    TRY(solve_record(control, report, norm / scale));
    while (norm > control->rtol * scale && reason == NULL) {
        before = norm;
        if (mg->cycle == MG_FULL)
            TRY(first_step(A, M, b, control, from_zero, &r, &d, x));
        else
            step(M, &r, &d, x);
        null_space_remove(control->null_space, SOLVE_UNKNOWNS, x);
        norm = solve_true_residual(A, b, x, control, &r);
        report->iterations++;
        TRY(solve_record(control, report, norm / scale));
        if (mg->cycle == MG_FULL) mg->cycle = MG_V;
        if (!isfinite(norm))
            reason = "a value is not finite";
        else if (norm > control->rtol * scale && is_stalled(norm / scale, norm / before, &growths))
            reason = "the cycle no longer reduces the residual";
        else if (norm > control->rtol * scale && report->iterations >= control->max_iterations)
            reason = "the iteration limit was reached";
    }
    if (reason != NULL && d.n == 0) TRY(vector_create_like(b, &d));
    int rounding = reason != NULL && solve_is_rounding(A, b, x, control, norm / scale, &r, &d);
    if (reason != NULL && !rounding) {
        status = solve_fail(report, M, reason, norm / scale);
        goto done;
    }
    if ((control->null_space != NULL || control->forget != NULL || control->draw_rounding != NULL) &&
        d.n == 0)
        TRY(vector_create_like(b, &d));
    double error, rate = fmin(norm / before, SLOWEST);
    TRY(estimate_error(A, M, b, x, control, &r, &d, &error));
    error /= 1.0 - rate; /* what all cycles to come would add */
    status = solve_accept(control, reason == NULL ? "the tolerance was reached" : solve_rounding_reason,
                          norm / scale, error, report);
done:
    mg->cycle = wanted;
    multigrid_measure(M, NULL);
    vector_destroy(&r);
    vector_destroy(&d);
    return status;
}
