/* Conjugate gradients: one loop for all operators, in double precision or, with reliable updates, in single.
 *
 * A step is two passes, which an operator with steps of its own (struct operator_steps) does in two sweeps:
 *     x += alpha p,  p = z + beta p,  q = A p,  p.q          z = B r; alpha is that of the step before
 *     r -= alpha q,  |r|,  r.z
 * or, where vectors are what a step costs, by three terms, s being the residual before r:
 *     q = A z,  z.q                                          neither z nor A p is stored
 *     s = r - alpha q + c (r - s),  |s|,  s.z                r and s trade names; x, p every second time
 * With c = alpha beta / (the alpha before) the residuals of both forms are equal, and p.A p = z.q - beta
 * r.z / (the alpha before). When the recursive residual is small enough, the true one takes its place: in
 * double precision at the end, where rounding may call for another sweep from there; in single precision
 * every few steps, the search going on with the directions it had as long as they fit (van der Vorst and Ye,
 * 2000). Residuals of single precision are in units of |b|, so that they have room. */
#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "device/seam.h"
#include "solve/multigrid.h"
#include "solve/solve_internal.h"

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
 * or after so many updates without half the residual; and not begun where the error of its products makes
 * many more steps than in double precision. */
#define MOST_DRIFT   0.5
#define IDLE_UPDATES 5
#define MOST_ERROR   3e-3

void solve_work_destroy(struct solve_work **work) {
    struct solve_work *w = *work;
    if (w == NULL) return;
    struct vector *all[] = {&w->r,       &w->p,     &w->q,        &w->z,    &w->before,
                            &w->earlier, &w->delta, &w->residual, &w->spare};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) vector_destroy(all[i]);
    base_free(work);
}

/* A solve: what is given, and what the iteration carries. */
struct cg {
    const struct linear_operator *A, *K, *M; /* in double precision, and of the iteration; may be NULL */
    const struct operator_steps *steps;
    struct mg_link *additive; /* of M, where z is never stored */
    const struct vector *b;
    struct vector *x;
    const struct solve_control *control;
    struct solve_fast *fast; /* NULL: all is in double precision */
    struct solve_work *w;
    double scale, unit;     /* |b|; what norms of r are to be divided by */
    double norm;            /* of r, relative */
    double square;          /* r . D r, of steps */
    double rz, previous_rz; /* r . B r */
    double pq;
    double alpha;                 /* step along p that x has not made yet */
    int three;                    /* by three terms: */
    double ratio;                 /* beta over the alpha before */
    double held_alpha, held_beta; /* of a step that neither p nor x has made yet; 0: there is none */
    int fresh;                    /* p holds nothing */
    int blank;                    /* x is zero */
    int probed;                   /* r is SOLVE_PROBE (b - A x), with its rounding */
    double drift;                 /* |r - true residual| / |true residual| at the last update */
    double best;                  /* true residual so far, up to a half; */
    int idle;                     /* updates since then */
    /* The Lanczos matrix of the steps since p held nothing, or the first of them; the least eigenvalue of
     * those before, at most 1. */
    int n_lanczos;
    double diagonal[SOLVE_LANCZOS], below[SOLVE_LANCZOS], beta, previous_alpha, least;
};

facet_status solve_fit(const struct linear_operator *A, struct vector *v) {
    if (v->n == A->n && v->device == A->device && v->precision == A->precision && v->seam == A->seam)
        return FACET_OK;
    vector_destroy(v);
    return solve_vector_like(A, v);
}

static facet_status fit_like(const struct vector *model, struct vector *v) {
    if (v->n == model->n && v->device == model->device && v->precision == model->precision) return FACET_OK;
    vector_destroy(v);
    return vector_create_in(model->device, model->precision, model->n, v);
}

static facet_status prepare(struct cg *cg) {
    facet_status status = FACET_OK;
    struct solve_work *w = cg->w;
    const struct linear_operator *K = cg->K;
    TRY(solve_fit(K, &w->r));
    TRY(solve_fit(K, &w->p));
    TRY(solve_fit(K, &w->q));
    if (cg->M != NULL && cg->additive == NULL) TRY(solve_fit(K, &w->z));
    if (cg->three) TRY(solve_fit(K, &w->before));
    if (cg->three && cg->additive != NULL) TRY(fit_like(&cg->additive->coefficients, &w->earlier));
    if (cg->fast != NULL) {
        TRY(solve_fit(K, &w->delta));
        TRY(solve_fit(cg->A, &w->residual));
        if (cg->fast->ratio != NULL) TRY(solve_fit(cg->A, &w->spare));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------ norm */

double solve_norm(const struct linear_operator *A, const struct vector *r) {
    struct vector same = *r; /* from which nothing is taken */
    double sums[2];
    if (A->steps == NULL) return vector_norm(r);
    A->steps->reduce(A, 0.0, r, &same, NULL, sums);
    return sqrt(sums[1]);
}

double solve_true_residual(const struct linear_operator *A, const struct vector *b, const struct vector *x,
                           const struct solve_control *control, struct vector *r) {
    operator_residual(A, b, x, r);
    null_space_remove(control->null_space, SOLVE_RESIDUALS, r);
    return solve_norm(A, r);
}

/* ------------------------------------------------------------------------------ steps */

/* r . B r of the present r; coefficients of the coarse space, or z. */
static facet_status precondition(struct cg *cg) {
    facet_status status = FACET_OK;
    struct solve_work *w = cg->w;
    double dot = 0.0;
    cg->previous_rz = cg->rz;
    if (cg->additive != NULL) {
        TRY(multigrid_correct(operator_multigrid(cg->M), &dot));
        cg->rz = cg->square + dot;
    } else if (cg->M != NULL) {
        operator_apply(cg->M, &w->r, &w->z);
        if (cg->steps == NULL) null_space_remove(cg->control->null_space, SOLVE_UNKNOWNS, &w->z);
        cg->rz = vector_dot(&w->r, &w->z);
        if (operator_multigrid(cg->M) != NULL) TRY(multigrid_failure(operator_multigrid(cg->M)));
    } else {
        cg->rz = cg->steps != NULL ? cg->square : vector_dot(&w->r, &w->r);
    }
done:
    return status;
}

static void end_lanczos(struct cg *cg) {
    double least = solve_least_eigenvalue(cg->n_lanczos, cg->diagonal, cg->below);
    if (least > 0.0) cg->least = fmin(cg->least, least);
    cg->n_lanczos = 0;
}

/* The coefficients of r; NULL: none. */
static const struct vector *coefficients(const struct cg *cg) {
    return cg->additive != NULL ? &cg->additive->coefficients : NULL;
}

/* The first pass; p.q is left in the state. */
static void advance(struct cg *cg) {
    struct solve_work *w = cg->w;
    struct vector *x = cg->fast != NULL ? &w->delta : cg->x;
    const struct vector *z = cg->M != NULL ? &w->z : &w->r;
    /* The two are the same number for a linear M; the first makes directions conjugate for any (FCG(1)). */
    double beta = cg->fresh               ? 0.0
                  : cg->control->flexible ? -vector_dot(z, &w->q) / cg->pq
                                          : cg->rz / cg->previous_rz;
    if (cg->three) {
        cg->ratio = cg->fresh ? 0.0 : beta / cg->previous_alpha;
        cg->pq = cg->steps->form(cg->K, &w->r, coefficients(cg), &w->q) - cg->ratio * cg->rz;
    } else if (cg->steps != NULL && (cg->additive != NULL || cg->M == NULL)) {
        cg->pq = cg->steps->advance(cg->K, cg->alpha, beta, &w->r, coefficients(cg), &w->p, x, &w->q);
    } else {
        if (cg->alpha != 0.0) vector_axpby(cg->alpha, &w->p, 1.0, x);
        vector_axpby(1.0, z, beta, &w->p);
        cg->pq = operator_product(cg->K, &w->p, &w->q);
    }
    cg->alpha = 0.0;
    if (cg->fresh) end_lanczos(cg);
    cg->beta = beta;
    cg->fresh = 0;
}

/* After the step alpha: a row of the Lanczos matrix, the part beside the diagonal belonging to the row
 * before.
 */
static void keep_step(struct cg *cg) {
    int n = cg->n_lanczos;
    if (n < SOLVE_LANCZOS) {
        cg->diagonal[n] = 1.0 / cg->alpha + (n > 0 ? cg->beta / cg->previous_alpha : 0.0);
        if (n > 0) cg->below[n - 1] = sqrt(fmax(cg->beta, 0.0)) / cg->previous_alpha;
        cg->n_lanczos++;
    }
    cg->previous_alpha = cg->alpha;
}

static void exchange(struct vector *a, struct vector *b) {
    struct vector kept = *a;
    *a = *b;
    *b = kept;
}

/* The second pass by three terms. */
static void recur(struct cg *cg, double sums[2]) {
    struct solve_work *w = cg->w;
    struct vector *x = cg->fast != NULL ? &w->delta : cg->x, *e = NULL, *moments = NULL;
    const struct operator_recurrence by = {.a = {cg->held_alpha, cg->alpha},
                                           .b = {cg->held_beta, cg->beta},
                                           .alpha = cg->alpha,
                                           .c = cg->alpha * cg->ratio};
    const int moves = cg->held_alpha != 0.0;
    if (cg->additive != NULL) e = &cg->additive->coefficients, moments = &cg->additive->moments;
    cg->steps->recur(cg->K, &by, &w->q, &w->r, e, &w->before, e != NULL ? &w->earlier : NULL, &w->p,
                     moves ? x : NULL, moments, sums);
    exchange(&w->r, &w->before);
    if (e != NULL) exchange(e, &w->earlier);
    cg->held_alpha = moves ? 0.0 : cg->alpha;
    cg->held_beta = cg->beta;
    cg->alpha = 0.0;
}

/* A step that is held becomes one that x alone has not made yet. */
static void release(struct cg *cg) {
    struct solve_work *w = cg->w;
    if (cg->held_alpha == 0.0) return;
    cg->steps->advance(cg->K, 0.0, cg->held_beta, &w->before, cg->additive != NULL ? &w->earlier : NULL,
                       &w->p, NULL, NULL);
    cg->alpha = cg->held_alpha;
    cg->held_alpha = 0.0;
}

/* The second pass: r -= step q, its norm, and what the preconditioner needs; with step 0 only that. */
static void reduce(struct cg *cg, double step) {
    struct solve_work *w = cg->w;
    double sums[2];
    if (cg->steps != NULL) {
        if (cg->three && step != 0.0)
            recur(cg, sums);
        else
            cg->steps->reduce(cg->K, step, step != 0.0 ? &w->q : &w->r, &w->r,
                              cg->additive != NULL ? &cg->additive->moments : NULL, sums);
        cg->square = sums[0];
        if (step != 0.0) cg->norm = sqrt(sums[1]) / cg->unit;
    } else if (step != 0.0) {
        vector_axpby(-step, &w->q, 1.0, &w->r);
        null_space_remove(cg->control->null_space, SOLVE_RESIDUALS, &w->r);
        cg->norm = vector_norm(&w->r) / cg->unit;
    }
}

/* What rounding has left of a kernel in r stays there, for A p has none of it, and bursts the iteration when
 * the rest of r is as small. Fused passes leave no room to take it out in every step. */
#define CLEAN 1e-3

static void clean(struct cg *cg, double *before) {
    if (cg->steps == NULL || cg->fast != NULL || cg->control->null_space == NULL ||
        cg->norm > CLEAN * *before)
        return;
    null_space_remove(cg->control->null_space, SOLVE_RESIDUALS, &cg->w->r);
    if (cg->three) null_space_remove(cg->control->null_space, SOLVE_RESIDUALS, &cg->w->before);
    reduce(cg, 0.0);
    *before = cg->norm;
}

/* Steps until the recursive residual is below `goal`, or `most` of them, or something stops them, with a
 * reason. */
static facet_status sweep(struct cg *cg, double goal, int most, struct solve_report *report,
                          const char **reason) {
    facet_status status = FACET_OK;
    double cleaned = cg->norm;
    reduce(cg, 0.0);
    TRY(precondition(cg));
    for (int step = 0; cg->norm > goal && step < most; step++) {
        if (report->iterations >= cg->control->max_iterations) {
            *reason = "the iteration limit was reached";
            break;
        }
        advance(cg);
        if (!(cg->pq > 0.0) || !(cg->rz > 0.0)) {
            *reason = isfinite(cg->pq) && isfinite(cg->rz)
                          ? "the matrix or the preconditioner is not positive definite"
                          : "a value is not finite";
            break;
        }
        cg->alpha = cg->rz / cg->pq;
        keep_step(cg);
        reduce(cg, cg->alpha);
        report->iterations++;
        TRY(solve_record(cg->control, report, cg->norm));
        clean(cg, &cleaned);
        if (cg->norm > goal && step + 1 < most) TRY(precondition(cg));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------ single precision */

/* ratio x, or x where both precisions scale alike. */
static const struct vector *rescale(struct cg *cg, const struct vector *x) {
    if (cg->fast->ratio == NULL) return x;
    device_multiply(x->device, F64, x->n, cg->fast->ratio->data, x->data, cg->w->spare.data);
    return &cg->w->spare;
}

/* residual = (b - A x) / |b|; its norm. */
static void true_residual(struct cg *cg) {
    struct vector *r = &cg->w->residual;
    if (cg->blank)
        vector_fill(r, 0.0);
    else
        operator_apply(cg->A, cg->x, r);
    vector_axpby(1.0 / cg->scale, cg->b, -1.0 / cg->scale, r);
    null_space_remove(cg->control->null_space, SOLVE_RESIDUALS, r);
    cg->norm = solve_norm(cg->A, r);
}

/* x gets what came since the last update, times `sign`. */
static facet_status add_steps(struct cg *cg, double sign) {
    facet_status status = FACET_OK;
    TRY(vector_convert(&cg->w->delta, &cg->w->residual));
    TRY(seam_share(cg->A->seam, &cg->w->residual)); /* what copies differ by in single precision would stay */
    vector_axpby(sign * cg->scale, rescale(cg, &cg->w->residual), 1.0, cg->x);
done:
    return status;
}

/* r becomes the true residual, rounded; how far it was from it. */
static facet_status replace_residual(struct cg *cg) {
    facet_status status = FACET_OK;
    struct solve_work *w = cg->w;
    TRY(vector_convert(rescale(cg, &w->residual), &w->q));
    vector_axpby(1.0, &w->q, -1.0, &w->r);
    cg->drift = solve_norm(cg->K, &w->r) / cg->norm;
    if (cg->three) vector_axpby(1.0, &w->r, 1.0, &w->before); /* their difference stays */
    vector_axpby(1.0, &w->q, 0.0, &w->r);
done:
    return status;
}

/* r = b - A x in double precision, and its norm. */
static void find_residual(struct cg *cg) {
    struct vector *r = &cg->w->r;
    cg->probed = 0;
    if (!cg->blank) {
        cg->norm = solve_true_residual(cg->A, cg->b, cg->x, cg->control, r) / cg->unit;
        return;
    }
    vector_axpby(1.0, cg->b, 0.0, r);
    null_space_remove(cg->control->null_space, SOLVE_RESIDUALS, r);
    cg->norm = solve_norm(cg->A, r) / cg->unit;
}

/* The first steps have not seen the rounding of A x yet: the residual of the probe is as true as any, and if
 * it is small enough it is what the estimate wants, which saves a product. */
static void probe_residual(struct cg *cg) {
    struct solve_work *w = cg->w;
    solve_probe(cg->A, cg->b, cg->x, cg->control, &w->q, &w->r);
    cg->norm = solve_norm(cg->A, &w->r) / SOLVE_PROBE / cg->unit;
    cg->probed = 1;
    if (!(cg->norm <= cg->control->rtol)) find_residual(cg);
}

/* x with all steps made, and its true residual, which becomes r. Steps in single precision that made things
 * worse are taken back. first: there was no other since the solve began. */
static facet_status update(struct cg *cg, int first) {
    facet_status status = FACET_OK;
    struct solve_work *w = cg->w;
    release(cg);
    if (cg->alpha != 0.0) vector_axpby(cg->alpha, &w->p, 1.0, cg->fast != NULL ? &w->delta : cg->x);
    cg->alpha = 0.0;
    if (cg->fast == NULL) {
        if (first && !cg->control->light)
            probe_residual(cg);
        else
            find_residual(cg);
        return FACET_OK;
    }
    int finite = isfinite(vector_dot(&w->delta, &w->delta));
    if (finite) TRY(add_steps(cg, 1.0));
    true_residual(cg);
    TRY(replace_residual(cg));
    if (!finite) cg->drift = INFINITY;
    if (finite && !(cg->drift <= MOST_DRIFT) && !(cg->norm <= cg->best)) {
        TRY(add_steps(cg, -1.0));
        true_residual(cg);
    }
    vector_fill(&w->delta, 0.0);
done:
    return status;
}

/* After an update: what becomes of the directions, and whether it is worth going on. */
static int goes_on(struct cg *cg, double before) {
    if (cg->fast == NULL) {
        cg->fresh = 1;
        return cg->norm < 0.5 * before;
    }
    if (cg->norm < 0.5 * cg->best) {
        cg->best = cg->norm;
        cg->idle = 0;
    } else {
        cg->idle++;
    }
    cg->fresh = !(cg->drift <= DRIFT);
    return cg->drift <= MOST_DRIFT && cg->idle < (cg->fresh ? 1 : IDLE_UPDATES);
}

/* With p = B r and e the difference of A p in both precisions, sqrt(e.B e / p.A p); e becomes r. No more
 * vectors are touched than there must be: where single precision is given up that was for nothing. */
static facet_status probe(struct cg *cg, struct vector *x, struct vector *y, double *error) {
    facet_status status = FACET_OK;
    struct solve_work *w = cg->w;
    cg->fresh = 1;
    reduce(cg, 0.0);
    TRY(precondition(cg));
    advance(cg);
    TRY(vector_convert(&w->p, x));
    if (cg->fast->ratio != NULL) vector_axpby(1.0, rescale(cg, x), 0.0, x);
    double energy = operator_product(cg->A, x, y);
    TRY(vector_convert(&w->q, x));
    vector_axpby(1.0, rescale(cg, y), -1.0, x);
    TRY(vector_convert(x, &w->r));
    reduce(cg, 0.0);
    TRY(precondition(cg));
    *error = cg->rz == 0.0 ? 0.0 : sqrt(cg->rz / energy);
done:
    return status;
}

/* What a solve of A with M looks like in the precision of `fast` (NULL: double). */
static struct cg state_of(const struct linear_operator *A, const struct linear_operator *M,
                          struct solve_fast *fast, const struct solve_control *control,
                          struct solve_work *w) {
    struct cg cg = {
        .A = A, .K = fast != NULL ? fast->A : A, .M = M, .fast = fast, .control = control, .w = w};
    struct multigrid *mg = M != NULL ? operator_multigrid(M) : NULL;
    cg.steps = cg.K->steps;
    if (cg.steps != NULL && mg != NULL) cg.additive = multigrid_additive(mg);
    cg.three = cg.steps != NULL && cg.steps->form != NULL && (M == NULL || cg.additive != NULL);
    cg.fresh = 1;
    cg.unit = 1.0;
    cg.best = INFINITY;
    cg.least = 1.0;
    return cg;
}

facet_status solve_judge_fast(const struct linear_operator *A, const struct linear_operator *M,
                              struct vector *b, struct vector *x, int rounds, struct solve_work **work,
                              struct solve_fast *fast) {
    facet_status status = FACET_OK;
    const struct solve_control control = {0};
    double error;
    if (*work == NULL) TRY(CALLOC(*work, 1));
    struct cg cg = state_of(A, M, fast, &control, *work);
    cg.three = 0; /* p itself is looked at */
    TRY(prepare(&cg));
    TRY(vector_convert(rescale(&cg, b), &cg.w->r));
    for (int round = 0; round < rounds && !isnan(fast->error); round++) {
        TRY(probe(&cg, x, b, &error));
        if (!(error <= fast->error)) fast->error = error;
    }
    fast->given_up = !(fast->error <= MOST_ERROR);
done:
    return status;
}

/* ------------------------------------------------------------------------------ the solve */

/* Where coefficients jump by many orders of magnitude, |A||x| is so much larger than |b| that rounding alone
 * keeps the residual above the tolerance. A solve whose residual is rounding against |A||x| is as good as
 * double precision allows, and is taken, unless the caller asked for a tolerance that only speaks of
 * rounding. */
#define ROUNDING         1e-14
#define ROUGH_TOLERANCE  1e-12
#define LARGEST_RESIDUAL 1e-2
const char solve_rounding_reason[] =
    "converged to rounding: the residual is as small as numbers of this size allow";

/* Of A, from below, by a few power steps; r and d are overwritten, d being the start. */
static double largest_eigenvalue(const struct linear_operator *A, struct vector *r, struct vector *d) {
    double size = vector_norm(d), value = 0.0;
    for (int k = 0; k < 10 && size > 0.0; k++) {
        vector_axpby(1.0 / size, d, 0.0, r);
        operator_apply(A, r, d);
        value = size = vector_norm(d);
    }
    return value;
}

int solve_is_rounding(const struct linear_operator *A, const struct vector *b, const struct vector *x,
                      const struct solve_control *control, double residual, struct vector *r,
                      struct vector *d) {
    if (control->rtol < ROUGH_TOLERANCE || !(residual <= LARGEST_RESIDUAL)) return 0;
    double norm = vector_norm(r); /* as the vectors are, like that of A */
    vector_axpby(1.0, x, 0.0, d);
    return norm <= ROUNDING * (largest_eigenvalue(A, r, d) * vector_norm(x) + vector_norm(b));
}

const char *solve_stall_reason(double residual) {
    return isfinite(residual) ? "the true residual no longer falls: the tolerance is below rounding"
                              : "a value is not finite";
}

/* In the norm of energy, where the preconditioner is a diagonal that steps have built in: (r, A^-1 r) is at
 * most r.D r over the least eigenvalue of D A. Where that says little of its size, D r over that eigenvalue.
 * q: the residual; unit: what it is to be multiplied by. */
static double energy_error(struct cg *cg, double unit, double least) {
    struct solve_work *w = cg->w;
    double sums[2], energy = vector_dot(cg->b, cg->x), size = solve_size(cg->A, cg->x), error = 0.0;
    cg->steps->reduce(cg->K, 0.0, &w->q, &w->q, NULL, sums);
    if (energy > 0.0) error = unit * sqrt(sums[0] / least / energy);
    if (!cg->control->light || size == 0.0) return error;
    cg->steps->advance(cg->K, 0.0, 0.0, &w->q, NULL, &w->p, NULL, &w->r); /* p = D q */
    return fmax(error, unit * solve_size(cg->K, &w->p) / least / size);
}

/* The error of x, relative: what the preconditioner, or a better one, makes of a residual with fresh rounding
 * (in single precision: of the true residual that stands there). One that is no inverse leaves the smooth
 * part of the error: it is judged over the least eigenvalue of M A that the steps have seen. */
static facet_status estimate_error(struct cg *cg, double *error) {
    facet_status status = FACET_OK;
    struct solve_work *w = cg->w;
    const struct linear_operator *M = cg->control->judge != NULL ? cg->control->judge : cg->M;
    end_lanczos(cg);
    double least = cg->control->judge != NULL ? 1.0 : cg->least;
    if (cg->fast == NULL && !cg->probed)
        solve_probe(cg->A, cg->b, cg->x, cg->control, &w->p, &w->q);
    else if (cg->fast == NULL)
        exchange(&w->q, &w->r);
    if (cg->fast == NULL && (M != NULL || cg->steps == NULL)) {
        TRY(solve_weigh(cg->A, solve_apply, M, cg->x, cg->control, &w->p, &w->q, error));
        TRY(solve_draw_again(cg->A, solve_apply, M, cg->x, cg->control, &w->p, &w->q, error));
    } else if (cg->fast == NULL) {
        *error = energy_error(cg, 1.0 / SOLVE_PROBE, least);
        goto done;
    } else {
        double size = solve_size(cg->A, cg->x);
        TRY(vector_convert(rescale(cg, &w->residual), &w->q));
        if (M == NULL) {
            *error = energy_error(cg, cg->scale, least);
            goto done;
        }
        operator_apply(M, &w->q, &w->p);
        TRY(vector_convert(&w->p, &w->residual));
        *error = size > 0.0 ? cg->scale * solve_size(cg->A, rescale(cg, &w->residual)) / size : 0.0;
    }
    if (M != NULL && operator_multigrid(M) != NULL) TRY(multigrid_failure(operator_multigrid(M)));
    *error /= least;
done:
    return status;
}

static facet_status accept(struct cg *cg, const char *reason, struct solve_report *report) {
    double error = 0.0, residual = cg->norm;
    facet_status status = estimate_error(cg, &error);
    return status != FACET_OK ? status : solve_accept(cg->control, reason, residual, error, report);
}

/* Where the preconditioner proved indefinite, or the solve burst: smoothers may expect too little. */
static facet_status widen(struct cg *cg, const char *reason, int *wider) {
    struct multigrid *mg = cg->M != NULL ? operator_multigrid(cg->M) : NULL;
    *wider = 0;
    if (reason == NULL || mg == NULL || (cg->pq > 0.0 && cg->rz > 0.0)) return FACET_OK;
    return multigrid_widen(mg, wider);
}

/* The last word on a solve. *stalled: it got no further so, and may in double precision or with wider bounds.
 */
static facet_status conclude(struct cg *cg, const char *reason, struct solve_report *report, int *stalled) {
    struct solve_work *w = cg->w;
    facet_status status;
    if (cg->norm <= cg->control->rtol) return accept(cg, "the tolerance was reached", report);
    *stalled = cg->fast != NULL && report->iterations < cg->control->max_iterations && isfinite(cg->norm);
    if (*stalled) return FACET_OK;
    if (reason == NULL && cg->fast == NULL &&
        solve_is_rounding(cg->A, cg->b, cg->x, cg->control, cg->norm, &w->r, &w->p))
        return accept(cg, solve_rounding_reason, report);
    status = widen(cg, reason, stalled);
    if (status != FACET_OK || *stalled) return status;
    return solve_fail(report, cg->M, reason != NULL ? reason : solve_stall_reason(cg->norm), cg->norm);
}

/* Of problems with weakly held unknowns: so many steps at least, unless the residual is rounding. */
#define LIGHT_STEPS 30
#define LIGHT_PART  0.1
#define LIGHT_END   1e-13

static facet_status iterate(struct cg *cg, struct solve_report *report, int *stalled) {
    facet_status status = FACET_OK;
    const char *reason = NULL;
    const int mixed = cg->fast != NULL, most = mixed ? MOST_STEPS : INT_MAX;
    const double rtol = cg->control->rtol;
    const double part = mixed ? fmin(LEAST_REDUCTION, fmax(MOST_REDUCTION, ERROR_ROOM * cg->fast->error)) : 0;
    int on = 1, first = 1;
    TRY(prepare(cg));
    if (mixed) {
        vector_fill(&cg->w->delta, 0.0);
        vector_fill(&cg->w->r, 0.0);
        if (cg->three) vector_fill(&cg->w->before, 0.0);
    }
    cg->blank = vector_dot(cg->x, cg->x) == 0.0;
    TRY(update(cg, 0));
    cg->blank = 0;
    cg->best = cg->norm;
    if (report->n_history == 0) TRY(solve_record(cg->control, report, cg->norm));
    while (on && reason == NULL &&
           (cg->norm > rtol ||
            (cg->control->light && report->iterations < LIGHT_STEPS && cg->norm > LIGHT_END))) {
        double before = cg->norm; /* a sweep, then the truth */
        double end = cg->norm > rtol ? rtol : fmax(LIGHT_PART * cg->norm, LIGHT_END);
        TRY(sweep(cg, fmax(end, part * cg->norm), most, report, &reason));
        TRY(update(cg, first));
        on = goes_on(cg, before);
        first = 0;
    }
    status = conclude(cg, reason, report, stalled);
done:
    return status;
}

facet_status solve_cg(const struct linear_operator *A, const struct linear_operator *M,
                      const struct vector *b, struct vector *x, const struct solve_control *control,
                      struct solve_report *report) {
    facet_status status = FACET_OK;
    struct solve_work *own = NULL, **work = control->work != NULL ? control->work : &own;
    struct solve_fast *fast = control->fast;
    int stalled = 0;
    solve_report_clear(report);
    TRY(solve_need_symmetric(A->asymmetric, "the method of conjugate gradients"));
    if (*work == NULL) TRY(CALLOC(*work, 1));
    double scale = solve_norm(A, b);
    if (solve_is_extreme(scale)) {
        status = solve_nothing(scale, b, x, report);
        goto done;
    }
    null_space_remove(control->null_space, SOLVE_UNKNOWNS, x);
    if (fast != NULL && !fast->given_up) {
        struct cg cg = state_of(A, M, fast, control, *work);
        cg.b = b, cg.x = x, cg.scale = scale;
        status = iterate(&cg, report, &stalled);
        if (!stalled || status != FACET_OK) goto done;
        fast->given_up = 1;
    }
    if (fast != NULL) TRY(fast->exact(fast->data, &M));
    do {
        if (stalled && fast == NULL) vector_fill(x, 0.0); /* nothing of it was right */
        struct cg cg = state_of(A, M, NULL, control, *work);
        cg.b = b, cg.x = x, cg.scale = cg.unit = scale;
        stalled = 0;
        multigrid_measure(M, b);
        status = iterate(&cg, report, &stalled);
        fast = NULL;
    } while (stalled && status == FACET_OK);
done:
    multigrid_measure(M, NULL);
    null_space_remove(control->null_space, SOLVE_UNKNOWNS, x);
    solve_work_destroy(&own);
    return status;
}
