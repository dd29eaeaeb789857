/* Why an iteration with a multigrid failed: every smoother and the coarse solve are tried by themselves. */
#include <math.h>
#include <stdio.h>

#include "solve/multigrid_levels.h"

/* Applications of a smoother: its largest factor comes to the top. */
#define SMOOTHER_STEPS 20
#define DIVERGENCE     1.001
/* Of the coarse solve, and the part of the error that is allowed to be left by each. */
#define SOLVE_STEPS 3
#define USELESS     0.97
/* Energies below these parts of the first one are rounding. */
#define NOTHING        1e-24
#define NOTHING_SINGLE 1e-10

/* The factor by which the smoother multiplies the energy norm of an error at last; 0 when there is nothing to
 * be said. f: zero; y: work. */
static double smoother_factor(const struct mg_level *l, const struct vector *f, struct vector *x,
                              struct vector *y) {
    double first, before, energy = 0.0, left = 1.0, factor = 0.0;
    operator_apply(l->A, x, y);
    first = before = vector_dot(x, y);
    if (!(before > 0.0)) return 0.0;
    for (int k = 0; k < SMOOTHER_STEPS; k++) {
        l->smoother.smooth(&l->smoother, l->A, f, 0, x);
        if (l->smoother.post != NULL) l->smoother.post(&l->smoother, l->A, f, x);
        operator_apply(l->A, x, y);
        energy = vector_dot(x, y);
        if (!isfinite(energy)) return INFINITY;
        left *= energy / before;
        factor = sqrt(fmax(energy / before, 0.0));
        if (!(left > (l->precision == F32 ? NOTHING_SINGLE : NOTHING))) return 0.0;
        vector_axpby(0.0, x, sqrt(first / energy), x); /* stay within the range of numbers */
        before = first;
    }
    return factor;
}

static facet_status try_smoother(const struct mg_level *l, int level, char *text) {
    facet_status status = FACET_OK;
    struct vector f = {0}, x = {0}, y = {0};
    char expects[64] = "";
    TRY(mg_vector(l, l->n, &f));
    TRY(mg_vector(l, l->n, &x));
    TRY(mg_vector(l, l->n, &y));
    TRY(solve_fill_noise(&f));
    l->smoother.smooth(&l->smoother, l->A, &f, 1, &x); /* zero where the level has no unknowns */
    vector_fill(&f, 0.0);
    double factor = smoother_factor(l, &f, &x, &y), top = l->smoother.top;
    if (!(factor > DIVERGENCE)) goto done;
    if (top > 0.0) snprintf(expects, sizeof expects, "; it expects eigenvalues up to %.3g", top);
    snprintf(text, MG_DIAGNOSIS_BYTES,
             "the smoother of level %d (%s) diverges: it multiplies the energy norm of an error by %.3g%s",
             level, l->name, factor, expects);
done:
    vector_destroy(&f);
    vector_destroy(&x);
    vector_destroy(&y);
    return status;
}

/* f = P'AP e on the last level. fine: two vectors of the level above. */
static facet_status coarse_product(const struct mg_level *l, const struct vector *e, struct vector *fine,
                                   struct vector *f) {
    facet_status status = FACET_OK;
    struct vector near_e = *e, near_f = *f;
    if (l->near_x.n > 0) {
        near_e = l->near_x;
        near_f = l->near_rhs;
        TRY(vector_convert(e, &near_e));
    }
    mg_prolong(l, 1.0, 1, &near_e, &fine[0]);
    operator_apply(l->A, &fine[0], &fine[1]);
    mg_restrict(l, &fine[1], &near_f);
    if (l->near_x.n > 0) TRY(vector_convert(&near_f, f));
done:
    return status;
}

/* e = e - S P'AP e a few times, S being the coarse solve. *residual: what the first solve leaves. *left: of
 * the energy, in all. */
static facet_status iterate_solve(const struct multigrid *mg, struct vector *fine, struct vector *e,
                                  struct vector *f, struct vector *x, double *residual, double *left) {
    facet_status status = FACET_OK;
    const struct mg_level *above = &mg->levels[mg->n_levels - 2];
    double first = 0.0, energy = 0.0;
    TRY(coarse_product(above, e, fine, f));
    double norm = vector_norm(f);
    first = vector_dot(e, f);
    *residual = *left = 0.0;
    if (!(first > 0.0)) goto done;
    for (int k = 0; k < SOLVE_STEPS; k++) {
        operator_apply(&mg->last, f, x);
        vector_axpby(-1.0, x, 1.0, e);
        TRY(coarse_product(above, e, fine, f));
        if (k == 0) *residual = vector_norm(f) / norm;
    }
    energy = vector_dot(e, f);
    *left = energy / first;
done:
    return status;
}

static facet_status try_solve(const struct multigrid *mg, char *text) {
    facet_status status = FACET_OK;
    int level = mg->n_levels - 1;
    const struct mg_level *last = &mg->levels[level];
    struct vector fine[2] = {{0}, {0}}, e = {0}, f = {0}, x = {0};
    double residual = 0.0, left = 0.0;
    if (level > 0 && last[-1].seam != NULL) goto done; /* of a team: its vectors are not alike */
    TRY(mg_vector(last, last->n, &e));
    TRY(mg_vector(last, last->n, &f));
    TRY(mg_vector(last, last->n, &x));
    TRY(solve_fill_noise(&e));
    if (level > 0) {
        const struct mg_level *above = last - 1;
        for (int i = 0; i < 2; i++) TRY(mg_vector(above, above->n, &fine[i]));
        TRY(iterate_solve(mg, fine, &e, &f, &x, &residual, &left));
    } else { /* nothing says what it solves */
        operator_apply(&mg->last, &e, &x);
        left = residual = isfinite(vector_norm(&x)) ? 0.0 : NAN;
    }
    if (!isfinite(left) || !isfinite(residual))
        snprintf(text, MG_DIAGNOSIS_BYTES,
                 "the coarse solve of level %d (%s) fails: it gives values that are not finite", level,
                 last->name);
    else if (left > pow(USELESS, 2.0 * SOLVE_STEPS))
        snprintf(text, MG_DIAGNOSIS_BYTES,
                 "the coarse solve of level %d (%s) fails: it leaves a relative residual of %.2e", level,
                 last->name, residual);
done:
    for (int i = 0; i < 2; i++) vector_destroy(&fine[i]);
    vector_destroy(&e);
    vector_destroy(&f);
    vector_destroy(&x);
    return status;
}

/* Less is rounding of the same eigenvalue. */
#define WIDER 1.01

facet_status multigrid_widen(struct multigrid *mg, int *wider) {
    facet_status status = FACET_OK;
    *wider = 0;
    for (int i = 0; i < mg->n_levels; i++) {
        struct mg_level *l = &mg->levels[i];
        double before = l->smoother.top;
        if (l->smoother.widen == NULL || l->A == NULL) continue;
        TRY(l->smoother.widen(&l->smoother, l->A));
        *wider |= l->smoother.top > WIDER * before;
    }
done:
    return status;
}

facet_status multigrid_diagnose(struct multigrid *mg, const char **diagnosis) {
    facet_status status = FACET_OK;
    mg->diagnosis[0] = '\0';
    *diagnosis = NULL;
    if (mg->n_levels == 0) goto done;
    TRY(try_solve(mg, mg->diagnosis));
    for (int i = mg->cycle == MG_ADDITIVE; i < mg->n_levels - 1 && mg->diagnosis[0] == '\0'; i++)
        TRY(try_smoother(&mg->levels[i], i, mg->diagnosis));
    if (mg->diagnosis[0] != '\0') *diagnosis = mg->diagnosis;
done:
    return status;
}

facet_status solve_fail(struct solve_report *report, const struct linear_operator *M, const char *reason,
                        double residual) {
    struct multigrid *mg = M != NULL ? operator_multigrid(M) : NULL;
    const char *diagnosis = NULL;
    facet_status status = mg != NULL ? multigrid_diagnose(mg, &diagnosis) : FACET_OK;
    if (status != FACET_OK) return status;
    return solve_finish(report, 0, diagnosis != NULL ? diagnosis : reason, residual);
}
