/* Polynomial smoothers: Chebyshev polynomials in D A, D being any symmetric approximation of the inverse. */
#include <lapacke.h>
#include <math.h>

#include "base/memory.h"
#include "solve/internal.h"
#include "solve/multigrid.h"

#define LANCZOS_STEPS 10
/* The estimate of the largest eigenvalue comes from below. */
#define EIGENVALUE_SAFETY 1.1

struct chebyshev {
    struct operator D;
    double top;
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
    if (f->data != r.data || f->single != r.single) vector_axpby(1.0, f, 0.0, &r);
    if (t != NULL) vector_axpby(-1.0, t, 1.0, &r);
    operator_apply(&c->D, &r, &z);
    vector_axpby(c->a[k], &z, c->b[k], &d);
    vector_axpby(1.0, &d, from_zero ? 0.0 : 1.0, x);
}

static void chebyshev_smooth(const struct smoother *s, const struct operator* A, const struct vector *f,
                             int from_zero, struct vector *x) {
    const struct chebyshev *c = s->data;
    struct vector t = c->t;
    for (int k = 0; k < c->degree; k++) {
        int product = k > 0 || !from_zero;
        if (product) operator_apply(A, k > 0 ? &c->d : x, &t);
        step(c, k, k > 0 ? &c->r : f, product ? &t : NULL, k == 0 && from_zero, x);
    }
}

/* The largest eigenvalue of D A from a few steps of preconditioned conjugate gradients, whose coefficients
 * are the Lanczos matrix. p: work. */
static facet_status estimate_top(const struct operator* A, struct chebyshev *c, struct vector *p) {
    struct vector *r = &c->r, *q = &c->t, *z = &c->d;
    double diagonal[LANCZOS_STEPS], below[LANCZOS_STEPS], previous = 0.0, beta = 0.0;
    facet_status status = solve_fill_noise(r);
    int n = 0;
    if (status != FACET_OK) return status;
    operator_apply(&c->D, r, z);
    vector_axpby(1.0, z, 0.0, p);
    double rz = vector_dot(r, z), first = rz;
    while (n < LANCZOS_STEPS && rz > 1e-10 * first) {
        operator_apply(A, p, q);
        double alpha = rz / vector_dot(p, q);
        /* Of a singular A only the kernel is left when everything else has been found. */
        if (!(alpha > 0.0) || !isfinite(alpha) || (n > 0 && 1.0 / alpha < 1e-8 * diagonal[0])) break;
        diagonal[n] = 1.0 / alpha + (n > 0 ? beta / previous : 0.0);
        vector_axpby(-alpha, q, 1.0, r);
        operator_apply(&c->D, r, z);
        double rz_new = vector_dot(r, z);
        if (!(rz_new >= 0.0)) break;
        beta = rz_new / rz;
        below[n++] = sqrt(beta) / alpha;
        vector_axpby(1.0, z, beta, p);
        rz = rz_new;
        previous = alpha;
    }
    c->top = EIGENVALUE_SAFETY;
    if (n > 0 && LAPACKE_dsterf_work(n, diagonal, below) == 0) c->top = EIGENVALUE_SAFETY * diagonal[n - 1];
    return FACET_OK;
}

/* Coefficients of the three-term recurrence. */
static void choose_polynomial(struct chebyshev *c, enum polynomial kind, double ratio) {
    double low = c->top / ratio, theta = 0.5 * (c->top + low), delta = 0.5 * (c->top - low);
    double sigma = theta / delta, rho = 1.0 / sigma;
    for (int k = 0; k < c->degree; k++) {
        if (kind == POLYNOMIAL_FOURTH) {
            c->a[k] = (8.0 * k + 4.0) / (2.0 * k + 3.0) / c->top;
            c->b[k] = (2.0 * k - 1.0) / (2.0 * k + 3.0);
        } else if (k == 0) {
            c->a[k] = 1.0 / theta;
        } else {
            double next = 1.0 / (2.0 * sigma - rho);
            c->a[k] = 2.0 * next / delta;
            c->b[k] = next * rho;
            rho = next;
        }
    }
    c->b[0] = 0.0;
}

facet_status smoother_create_chebyshev(const struct operator* A, struct operator* D, enum polynomial kind,
                                       double ratio, int degree, struct smoother *s) {
    facet_status status = FACET_OK;
    struct chebyshev *c = NULL;
    struct vector p = {0};
    *s = (struct smoother){.smooth = chebyshev_smooth, .free = chebyshev_free};
    if (degree < 1 || degree > MG_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree of a smoother must be 1 to %d, not %d", MG_MAX_DEGREE, degree);
    TRY(CALLOC(c, 1));
    s->data = c;
    c->D = *D;
    *D = (struct operator){0};
    c->degree = degree;
    struct vector *vectors[] = {&c->r, &c->d, &c->t, &p};
    for (int i = 0; i < 4; i++) TRY(solve_vector_like(A, vectors[i]));
    TRY(estimate_top(A, c, &p));
    choose_polynomial(c, kind, ratio);
    s->top = c->top;
done:
    vector_destroy(&p);
    operator_destroy(D);
    if (status != FACET_OK) smoother_destroy(s);
    return status;
}
