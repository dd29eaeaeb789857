/* The 1D families of quadrature rules. The points of a Gauss rule are the eigenvalues of the Jacobi matrix
 * (Golub and Welsch), which LAPACK gives to about 1e-15; Newton steps in long double on the orthonormal
 * polynomial make them, and the weights, right to the rounding of a double. With the orthonormal p_k, the
 * weights are
 *
 *     w_i = 1 / sum_(k<n) p_k(x_i)^2                                                        (1)
 *
 * for Gauss, and for Radau rules (-1 is a point) as well: the rule integrates K(x,x_i) l_i(x) exactly, where
 * K is the kernel of the sum. The inner points of Lobatto rules are Gauss points for the weight times
 * (1-x)(1+x). All weights come from sums of positive terms; nothing cancels. */
#include <lapacke.h>
#include <math.h>

#include "base/memory.h"
#include "poly/jacobi.h"
#include "poly/rule.h"

/* The recurrence of jacobi.h for p_0 .. p_n. */
struct recurrence {
    int n;
    long double start;         /* p_0 */
    long double *alpha, *root; /* n, n+1 (root[0] = 0) */
};

static void recurrence_free(struct recurrence *r) {
    base_free(&r->alpha);
    base_free(&r->root);
}

static facet_status recurrence_make(int n, double a, double b, struct recurrence *r) {
    facet_status status = FACET_OK;
    *r = (struct recurrence){.n = n, .start = 1 / sqrtl(jacobi_mass(a, b))};
    TRY(ALLOC(r->alpha, n + 1));
    TRY(ALLOC(r->root, n + 1));
    for (int i = 0; i <= n; i++) {
        r->alpha[i] = jacobi_alpha(i, a, b);
        r->root[i] = i > 0 ? jacobi_root(i, a, b) : 0;
    }
done:
    if (status != FACET_OK) recurrence_free(r);
    return status;
}

/* p_n and its derivative at x, and the sum of p_k^2 over k < n. */
static void recurrence_run(const struct recurrence *r, long double x, long double *value,
                           long double *derivative, long double *sum) {
    long double p = r->start, before = 0, dp = 0, dbefore = 0, squares = 0;
    for (int k = 0; k < r->n; k++) {
        squares += p * p;
        long double next = ((x - r->alpha[k]) * p - r->root[k] * before) / r->root[k + 1];
        long double dnext = (p + (x - r->alpha[k]) * dp - r->root[k] * dbefore) / r->root[k + 1];
        before = p, p = next;
        dbefore = dp, dp = dnext;
    }
    *value = p;
    *derivative = dp;
    *sum = squares;
}

/* The sum in (1) at any x, for n terms: the inverse of the weight a Radau rule has there. */
static facet_status kernel(int n, double a, double b, double x, long double *sum) {
    facet_status status = FACET_OK;
    struct recurrence r = {0};
    long double value, derivative;
    TRY(recurrence_make(n, a, b, &r));
    recurrence_run(&r, x, &value, &derivative, sum);
done:
    recurrence_free(&r);
    return status;
}

static facet_status check(const char *name, int n, int n_min, double a, double b) {
    if (n < n_min)
        return base_fail(FACET_ERROR_INPUT, "a %s rule with %d points: it needs at least %d", name, n, n_min);
    if (!(a > -1 && b > -1))
        return base_fail(FACET_ERROR_INPUT,
                         "a %s rule for the weight (1-x)^%g (1+x)^%g: exponents must exceed -1", name, a, b);
    return FACET_OK;
}

/* Gauss points and weights in long double, n >= 0. Eigenvalues ascend. */
static facet_status gauss(int n, double a, double b, long double *x, long double *w) {
    facet_status status = FACET_OK;
    struct recurrence r = {0};
    double *diagonal = NULL, *beside = NULL;
    if (n == 0) goto done;
    TRY(recurrence_make(n, a, b, &r));
    TRY(ALLOC(diagonal, n));
    TRY(ALLOC(beside, n));
    for (int i = 0; i < n; i++) {
        diagonal[i] = (double)r.alpha[i];
        beside[i] = (double)r.root[i + 1];
    }
    if (LAPACKE_dsterf_work(n, diagonal, beside) != 0)
        FAIL(FACET_ERROR_MACHINE, "the eigenvalues of the Jacobi matrix for %d Gauss points did not converge",
             n);
    for (int i = 0; i < n; i++) {
        long double value, derivative, sum;
        x[i] = diagonal[i];
        for (int newton = 0; newton < 3; newton++) {
            recurrence_run(&r, x[i], &value, &derivative, &sum);
            x[i] -= value / derivative;
        }
        recurrence_run(&r, x[i], &value, &derivative, &sum);
        w[i] = 1 / sum;
    }
    /* An even weight has an even rule; rounding may have left a difference in the last place. */
    for (int i = 0, j = n - 1; a == b && i <= j; i++, j--) {
        x[j] = (x[j] - x[i]) / 2;
        x[i] = 0 - x[j]; /* +0 in the middle */
        w[i] = w[j] = (w[i] + w[j]) / 2;
    }
done:
    recurrence_free(&r);
    base_free(&diagonal);
    base_free(&beside);
    return status;
}

/* x, w of n points: those at the ends (lower, upper: 1 or 0) are left to the caller, the others are those of
 * the Gauss rule for the weight times (1+x)^lower (1-x)^upper, which the weights are divided by. */
static facet_status inner(int n, double a, double b, int lower, int upper, double *x, double *w) {
    facet_status status = FACET_OK;
    int m = n - lower - upper;
    long double *points = NULL, *weights = NULL;
    TRY(ALLOC(points, m));
    TRY(ALLOC(weights, m));
    TRY(gauss(m, a + upper, b + lower, points, weights));
    for (int i = 0; i < m; i++) {
        long double factor = (lower ? 1 + points[i] : 1) * (upper ? 1 - points[i] : 1);
        x[lower + i] = (double)points[i];
        w[lower + i] = (double)(weights[i] / factor);
    }
done:
    base_free(&points);
    base_free(&weights);
    return status;
}

facet_status rule_gauss_jacobi(int n, double a, double b, double *x, double *w) {
    facet_status status = FACET_OK;
    TRY(check("Gauss", n, 1, a, b));
    TRY(inner(n, a, b, 0, 0, x, w));
done:
    return status;
}

/* Applied to (1-x) g, a Lobatto rule is a Radau rule with one point less for the weight times (1-x), and so
 * its weight at -1 is half of that rule's; in the same way at +1. */
facet_status rule_gauss_lobatto(int n, double a, double b, double *x, double *w) {
    facet_status status = FACET_OK;
    long double sum;
    TRY(check("Gauss-Lobatto", n, 2, a, b));
    TRY(inner(n, a, b, 1, 1, x, w));
    TRY(kernel(n - 1, a + 1, b, -1.0, &sum));
    x[0] = -1.0;
    w[0] = (double)(0.5L / sum);
    TRY(kernel(n - 1, a, b + 1, 1.0, &sum));
    x[n - 1] = 1.0;
    w[n - 1] = (double)(0.5L / sum);
done:
    return status;
}
