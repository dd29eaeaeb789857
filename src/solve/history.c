/* An orthonormal set of products, the newest first, and what they are products of. */
#include "solve/history.h"

#include <float.h>
#include <math.h>

#include "solve/solve_internal.h"

/* What is left of a product beside newer ones has their rounding, and all that it had before: where y differs
 * from A x by this part of its length it has nothing to say. */
#define MOST_ROUNDING 1e-4

void solve_history_destroy(struct solve_history *h) {
    for (int i = 0; i < SOLVE_HISTORY; i++) {
        vector_destroy(&h->x[i]);
        vector_destroy(&h->y[i]);
    }
    h->n = 0;
}

void solve_history_guess(const struct solve_history *h, const struct vector *b, struct vector *x) {
    for (int i = 0; i < h->n; i++) vector_axpby(vector_dot(&h->y[i], b), &h->x[i], i > 0 ? 1.0 : 0.0, x);
}

/* Takes out of number i what it has of those before it; what is left of its length. */
static double take_out(struct solve_history *h, int i) {
    for (int j = 0; j < i; j++) {
        double part = vector_dot(&h->y[j], &h->y[i]);
        vector_axpby(-part, &h->y[j], 1.0, &h->y[i]);
        vector_axpby(-part, &h->x[j], 1.0, &h->x[i]);
    }
    return vector_norm(&h->y[i]);
}

/* Whether something is left of number i beside those before it, which then has length 1. Twice where most of
 * it goes: what rounding leaves of the newer ones would be as much as what is left, and a guess takes it for
 * a part of the right-hand side. */
static int make_orthonormal(struct solve_history *h, int i) {
    double length = vector_norm(&h->y[i]), left = length;
    if (!(length > 0.0) || !isfinite(length)) return 0;
    if (i > 0) left = take_out(h, i);
    if (i > 0 && left > 0.0 && left < 0.5 * length) left = take_out(h, i);
    h->rounding[i] = fmax(h->rounding[i], DBL_EPSILON) * length / left;
    if (!(h->rounding[i] < MOST_ROUNDING)) return 0;
    vector_axpby(0.0, &h->y[i], 1.0 / left, &h->y[i]);
    vector_axpby(0.0, &h->x[i], 1.0 / left, &h->x[i]);
    return 1;
}

static void swap(struct vector *a, struct vector *b) {
    struct vector keep = *a;
    *a = *b;
    *b = keep;
}

/* Puts number `from` in the place of number `to`, those in between go up by one. */
static void move(struct solve_history *h, int from, int to) {
    for (int step = from > to ? -1 : 1; from != to; from += step) {
        double rounding = h->rounding[from];
        h->rounding[from] = h->rounding[from + step];
        h->rounding[from + step] = rounding;
        swap(&h->x[from], &h->x[from + step]);
        swap(&h->y[from], &h->y[from + step]);
    }
}

facet_status solve_history_add(struct solve_history *h, const struct linear_operator *A,
                               const struct vector *x) {
    facet_status status = FACET_OK;
    int last = h->n < SOLVE_HISTORY ? h->n : SOLVE_HISTORY - 1;
    if (h->x[last].n == 0) TRY(solve_vector_like(A, &h->x[last]));
    if (h->y[last].n == 0) TRY(solve_vector_like(A, &h->y[last]));
    vector_axpby(1.0, x, 0.0, &h->x[last]);
    operator_apply(A, x, &h->y[last]);
    h->rounding[last] = 0.0;
    move(h, last, 0);
    for (int i = 0, n = last + 1; i < n;) {
        if (make_orthonormal(h, i)) {
            i++;
            h->n = i;
        } else {
            move(h, i, SOLVE_HISTORY - 1);
            n--;
            h->n = i;
        }
    }
done:
    if (status != FACET_OK) solve_history_destroy(h);
    return status;
}
