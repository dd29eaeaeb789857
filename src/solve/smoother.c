/* Polynomial smoothers: Chebyshev polynomials in D A, D being any symmetric approximation of the inverse. */
#include <math.h>

#include "base/memory.h"
#include "solve/multigrid.h"
#include "solve/solve_internal.h"

#define LANCZOS_STEPS 10

struct chebyshev {
    struct linear_operator D;
    enum polynomial kind;
    double ratio;
    int degree;
    double a[MG_MAX_DEGREE], b[MG_MAX_DEGREE]; /* d = a D r + b d */
    struct vector r, d, t;
};

void smoother_destroy(struct smoother *s) {
    if (s->free != NULL) s->free(s);
    *s = (struct smoother){0};
}

static void chebyshev_free(struct smoother *s) {
    struct chebyshev *c = s->data;
    if (c == NULL) return;
    operator_destroy(&c->D);
    vector_destroy(&c->r);
    vector_destroy(&c->d);
    vector_destroy(&c->t);
    base_free(&s->data);
}

/* r = f - t (t NULL: f), d = a D r + b d, x = x + d (from_zero: x = d). */
static void step(const struct chebyshev *c, int k, const struct vector *f, const struct vector *t,
                 int from_zero, struct vector *x) {
    struct vector r = c->r, d = c->d, z = c->t;
    if (operator_block_smooth(&c->D, c->a[k], c->b[k], from_zero ? 0.0 : 1.0, f, t, &r, &d, x)) return;
    if (f->numbers != r.numbers) vector_axpby(1.0, f, 0.0, &r);
    if (t != NULL) vector_axpby(-1.0, t, 1.0, &r);
    operator_apply(&c->D, &r, &z);
    vector_axpby(c->a[k], &z, c->b[k], &d);
    vector_axpby(1.0, &d, from_zero ? 0.0 : 1.0, x);
}

static void chebyshev_smooth(const struct smoother *s, const struct linear_operator *A,
                             const struct vector *f, int from_zero, struct vector *x) {
    const struct chebyshev *c = s->data;
    struct vector t = c->t;
    for (int k = 0; k < c->degree; k++) {
        int product = k > 0 || !from_zero;
        if (product) operator_apply(A, k > 0 ? &c->d : x, &t);
        step(c, k, k > 0 ? &c->r : f, product ? &t : NULL, k == 0 && from_zero, x);
    }
}

/* To begin with, in r: noise as D sees it is nearly all where A is small, and A times noise where A is large.
 * Of both as much, lest a largest eigenvalue elsewhere is missed. t, d: scratch. */
static void balance_noise(const struct linear_operator *A, const struct linear_operator *D, struct vector *r,
                          struct vector *d, struct vector *t) {
    operator_apply(D, r, d);
    double noise = sqrt(vector_dot(r, d));
    operator_apply(A, r, t);
    operator_apply(D, t, d);
    double image = sqrt(vector_dot(t, d));
    if (noise > 0.0 && image > 0.0 && isfinite(image / noise)) vector_axpby(noise / image, t, 1.0, r);
}

/* top: the largest eigenvalue of D A, by so many steps. */
static facet_status find_top(const struct linear_operator *A, struct chebyshev *c, int steps, double *top) {
    facet_status status = FACET_OK;
    struct vector p = {0};
    struct vector *const vectors[] = {&c->r, &c->d, &c->t, &p};
    TRY(solve_vector_like(A, &p));
    TRY(solve_fill_noise(&c->r));
    balance_noise(A, &c->D, &c->r, &c->d, &c->t);
    solve_eigenvalue_bounds(A, &c->D, steps, vectors, NULL, top);
done:
    vector_destroy(&p);
    return status;
}

static facet_status chebyshev_widen(struct smoother *s, const struct linear_operator *A) {
    struct chebyshev *c = s->data;
    double top = s->top;
    facet_status status = find_top(A, c, LANCZOS_ROOM, &top);
    if (status != FACET_OK || !(top > s->top)) return status;
    s->top = top;
    polynomial_coefficients(c->kind, top, c->ratio, c->degree, c->a, c->b);
    return FACET_OK;
}

facet_status smoother_create_chebyshev(const struct linear_operator *A, struct linear_operator *D,
                                       enum polynomial kind, double ratio, int degree, struct smoother *s) {
    facet_status status = FACET_OK;
    struct chebyshev *c = NULL;
    *s = (struct smoother){.smooth = chebyshev_smooth, .widen = chebyshev_widen, .free = chebyshev_free};
    if (degree < 1 || degree > MG_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree of a smoother must be 1 to %d, not %d", MG_MAX_DEGREE, degree);
    TRY(CALLOC(c, 1));
    s->data = c;
    c->D = *D;
    *D = (struct linear_operator){0};
    c->kind = kind;
    c->ratio = ratio;
    c->degree = degree;
    TRY(solve_vector_like(A, &c->r));
    TRY(solve_vector_like(A, &c->d));
    TRY(solve_vector_like(A, &c->t));
    TRY(find_top(A, c, LANCZOS_STEPS, &s->top));
    polynomial_coefficients(kind, s->top, ratio, degree, c->a, c->b);
done:
    operator_destroy(D);
    if (status != FACET_OK) smoother_destroy(s);
    return status;
}
