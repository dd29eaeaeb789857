/* The smoother and the V-cycle. */
#include "boxhdg/precondition.h"

#include <lapacke.h>
#include <math.h>

#include "base/memory.h"

#define LANCZOS_STEPS     12
#define EIGENVALUE_SAFETY 1.1 /* the estimate comes from below */

struct boxhdg_cycle {
    const struct boxhdg_lanes *lanes;
    struct boxhdg_lanes_coarse *coarse;
    int degree;
    double top, a[MG_MAX_DEGREE], b[MG_MAX_DEGREE]; /* d = a D r + b d */
    struct vector r, d, y, moments, coefficients;
    facet_status failure;
};

static void cycle_free(struct operator* M) {
    struct boxhdg_cycle *c = M->data;
    if (c == NULL) return;
    vector_destroy(&c->r);
    vector_destroy(&c->d);
    vector_destroy(&c->y);
    vector_destroy(&c->moments);
    vector_destroy(&c->coefficients);
    base_free(&M->data);
}

facet_status boxhdg_cycle_failure(const struct operator* M) {
    return ((const struct boxhdg_cycle *)M->data)->failure;
}

double boxhdg_cycle_top(const struct operator* M) {
    return ((const struct boxhdg_cycle *)M->data)->top;
}

/* r = f - y, d = a D r + b d, x += d, y = K d: one sweep a step. At the end r lacks the last y, which is
 * computed if `product`. from_zero: x = 0 and y = 0 at the beginning. */
static void smooth(struct boxhdg_cycle *c, const struct vector *f, int from_zero, int product,
                   struct vector *x) {
    for (int k = 0; k < c->degree; k++) {
        struct box_step step = {.subtract = k > 0 || !from_zero,
                                .direction = 1,
                                .product = product || k + 1 < c->degree,
                                .assign = k == 0 && from_zero,
                                .a = c->a[k],
                                .b = c->b[k],
                                .x_new = 1.0};
        boxhdg_lanes_step(c->lanes, &step, k == 0 ? f : &c->r, &c->r, NULL, &c->d, x, &c->y);
    }
}

static void cycle_apply(const struct operator* M, const struct vector *f, struct vector *x) {
    struct boxhdg_cycle *c = M->data;
    struct box_step correct = {.direction = 1, .product = 1, .x_new = 1.0};
    double sums[2], dot;
    smooth(c, f, 1, 1, x);
    boxhdg_lanes_residual(c->lanes, 1.0, &c->y, &c->r, &c->moments, sums);
    facet_status status = boxhdg_lanes_coarse_correct(c->coarse, &c->moments, &c->coefficients, &dot);
    if (status != FACET_OK && c->failure == FACET_OK) c->failure = status;
    boxhdg_lanes_step(c->lanes, &correct, NULL, &c->r, &c->coefficients, &c->d, x, &c->y);
    smooth(c, &c->r, 0, 0, x);
}

/* The largest eigenvalue of D K by the Lanczos process of a few preconditioned conjugate gradient steps. */
static facet_status estimate_top(const struct boxhdg_lanes *lanes, double *top) {
    facet_status status = FACET_OK;
    struct vector r = {0}, p = {0}, y = {0};
    double diagonal[LANCZOS_STEPS], below[LANCZOS_STEPS], sums[2], beta = 0.0, previous = 1.0, *noise = NULL;
    int n = 0;
    uint32_t seed = 12345;
    TRY(ALLOC(noise, lanes->hdg->n_trace));
    for (int64_t i = 0; i < lanes->hdg->n_trace; i++) {
        seed = seed * 1664525u + 1013904223u;
        noise[i] = (double)(seed >> 8) / 8388608.0 - 1.0;
    }
    TRY(boxhdg_lanes_vector(lanes, lanes->plan.size, &r));
    TRY(boxhdg_lanes_vector(lanes, lanes->plan.size, &p));
    TRY(boxhdg_lanes_vector(lanes, lanes->plan.size, &y));
    TRY(boxhdg_lanes_pack(lanes, BOXHDG_RESIDUAL, noise, &r));
    vector_fill(&y, 0.0);
    boxhdg_lanes_residual(lanes, 0.0, &y, &r, NULL, sums);
    double rz = sums[0], first = rz;
    while (n < LANCZOS_STEPS && rz > 1e-10 * first) {
        struct box_step step = {.direction = 1, .product = 1, .a = 1.0, .b = beta};
        double alpha = rz / boxhdg_lanes_step(lanes, &step, NULL, &r, NULL, &p, NULL, &y);
        if (!(alpha > 0.0) || !isfinite(alpha)) break;
        diagonal[n] = 1.0 / alpha + beta / previous;
        boxhdg_lanes_residual(lanes, alpha, &y, &r, NULL, sums);
        beta = sums[0] / rz;
        below[n++] = sqrt(beta) / alpha;
        rz = sums[0];
        previous = alpha;
    }
    *top = EIGENVALUE_SAFETY;
    if (n > 0 && LAPACKE_dsterf_work(n, diagonal, below) == 0) *top *= diagonal[n - 1];
done:
    base_free(&noise);
    vector_destroy(&r);
    vector_destroy(&p);
    vector_destroy(&y);
    return status;
}

facet_status operator_create_box_cycle(const struct boxhdg_lanes *lanes, struct boxhdg_lanes_coarse *coarse,
                                       int degree, struct operator* M) {
    facet_status status = FACET_OK;
    struct boxhdg_cycle *c = NULL;
    int64_t n = lanes->plan.size, n_moments = lanes->plan.n_faces * KERNEL_BOX_MOMENTS * KERNEL_LANES;
    *M = (struct operator){.n = n,
                           .device = lanes->device,
                           .apply = cycle_apply,
                           .free = cycle_free,
                           .name = "the cycle on a box",
                           .single = lanes->single};
    if (degree < 1 || degree > MG_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree of a smoother must be 1 to %d, not %d", MG_MAX_DEGREE, degree);
    TRY(CALLOC(c, 1));
    M->data = c;
    c->lanes = lanes;
    c->coarse = coarse;
    c->degree = degree;
    struct vector *vectors[] = {&c->r, &c->d, &c->y, &c->moments, &c->coefficients};
    for (int i = 0; i < 5; i++) TRY(boxhdg_lanes_vector(lanes, i < 3 ? n : n_moments, vectors[i]));
    TRY(estimate_top(lanes, &c->top));
    for (int k = 0; k < degree; k++) {
        c->a[k] = (8.0 * k + 4.0) / (2.0 * k + 3.0) / c->top;
        c->b[k] = k > 0 ? (2.0 * k - 1.0) / (2.0 * k + 3.0) : 0.0;
    }
done:
    if (status != FACET_OK) operator_destroy(M);
    return status;
}
