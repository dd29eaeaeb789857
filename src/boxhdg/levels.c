/* The level of the faces. */
#include "boxhdg/levels.h"

#include <lapacke.h>
#include <math.h>

#include "base/memory.h"

#define LANCZOS_STEPS     12
#define EIGENVALUE_SAFETY 1.1 /* the estimate comes from below */

/* What smoother and link share; it belongs to the link. */
struct faces {
    const struct boxhdg_lanes *lanes;
    struct boxhdg_lanes_coarse *coarse;
    struct vector moments, coefficients;            /* the link's */
    int degree;                                     /* of the polynomials, which alone need what follows */
    double top, a[MG_MAX_DEGREE], b[MG_MAX_DEGREE]; /* d = a D r + b d */
    struct vector r, d, y;
};

static void faces_free(struct mg_link *link) {
    struct faces *f = link->data;
    if (f == NULL) return;
    vector_destroy(&f->r);
    vector_destroy(&f->d);
    vector_destroy(&f->y);
    boxhdg_lanes_coarse_destroy(&f->coarse);
    base_free(&link->data);
}

/* ------------------------------------------------------------------------------------------ the link */

static void gather(const struct mg_link *link, struct vector *coarse) {
    const struct faces *f = link->data;
    boxhdg_lanes_coarse_gather(f->coarse, &f->moments, coarse);
}

static void spread(const struct mg_link *link, const struct vector *coarse) {
    struct faces *f = link->data;
    boxhdg_lanes_coarse_spread(f->coarse, coarse, &f->coefficients);
}

static void restrict_faces(const struct mg_link *link, const struct vector *fine, struct vector *coarse) {
    struct faces *f = link->data;
    double sums[2];
    boxhdg_lanes_residual(f->lanes, 0.0, fine, (struct vector *)fine, &f->moments, sums);
    gather(link, coarse);
}

static void prolong_faces(const struct mg_link *link, const struct vector *coarse, struct vector *fine) {
    const struct faces *f = link->data;
    struct box_step add = {.direction = 1, .b = 1.0};
    spread(link, coarse);
    boxhdg_lanes_step(f->lanes, &add, NULL, fine, &link->coefficients, fine, NULL, NULL);
}

/* ------------------------------------------------------------------------------------------ the smoother */

/* r = f - y, d = a D r + b d, x += d, y = K d: one sweep a step. At the end r lacks the last y, which is
 * computed if `product`. from_zero: x = 0 and y = 0 at the beginning. */
static void polynomial(struct faces *c, const struct vector *f, int from_zero, int product,
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

static void smooth(const struct smoother *s, const struct operator* A, const struct vector *f, int from_zero,
                   struct vector *x) {
    struct faces *c = s->data;
    if (!from_zero) operator_apply(A, x, &c->y);
    polynomial(c, f, from_zero, 0, x);
}

static void down(const struct smoother *s, const struct vector *f, struct vector *x, struct vector *coarse) {
    struct faces *c = s->data;
    double sums[2];
    polynomial(c, f, 1, 1, x);
    boxhdg_lanes_residual(c->lanes, 1.0, &c->y, &c->r, &c->moments, sums);
    boxhdg_lanes_coarse_gather(c->coarse, &c->moments, coarse);
}

static void up(const struct smoother *s, const struct vector *f, const struct vector *coarse,
               struct vector *x) {
    struct faces *c = s->data;
    struct box_step correct = {.direction = 1, .product = 1, .x_new = 1.0};
    (void)f; /* r is its residual */
    boxhdg_lanes_coarse_spread(c->coarse, coarse, &c->coefficients);
    boxhdg_lanes_step(c->lanes, &correct, NULL, &c->r, &c->coefficients, &c->d, x, &c->y);
    polynomial(c, &c->r, 0, 0, x);
}

/* x = D f: additive cycles begin with zero. */
static void scale(const struct smoother *s, const struct operator* A, const struct vector *f, int from_zero,
                  struct vector *x) {
    const struct faces *c = s->data;
    struct operator D;
    (void)A, (void)from_zero;
    operator_create_box_diagonal(c->lanes, &D);
    operator_apply(&D, f, x);
}

/* The largest eigenvalue of D K by the Lanczos process of a few preconditioned conjugate gradient steps. */
static facet_status estimate_top(const struct boxhdg_lanes *lanes, double *top) {
    facet_status status = FACET_OK;
    struct vector r = {0}, p = {0}, y = {0};
    double diagonal[LANCZOS_STEPS], below[LANCZOS_STEPS], sums[2], beta = 0.0, previous = 1.0, *noise = NULL;
    int n = 0;
    TRY(ALLOC(noise, lanes->hdg->n_trace));
    solve_noise(lanes->hdg->n_trace, noise);
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

static facet_status make_polynomial(struct faces *c, int degree, struct smoother *s) {
    facet_status status = FACET_OK;
    struct vector *vectors[] = {&c->r, &c->d, &c->y};
    if (degree > MG_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree of a smoother must be 1 to %d, not %d", MG_MAX_DEGREE, degree);
    for (int i = 0; i < 3; i++) TRY(boxhdg_lanes_vector(c->lanes, c->lanes->plan.size, vectors[i]));
    TRY(estimate_top(c->lanes, &c->top));
    for (int k = 0; k < degree; k++) {
        c->a[k] = (8.0 * k + 4.0) / (2.0 * k + 3.0) / c->top;
        c->b[k] = k > 0 ? (2.0 * k - 1.0) / (2.0 * k + 3.0) : 0.0;
    }
    c->degree = degree;
    *s = (struct smoother){.smooth = smooth, .down = down, .up = up, .top = c->top, .data = c};
done:
    return status;
}

/* The level of the faces and its link, which owns what both share. */
static facet_status append_faces(const struct boxhdg_lanes *lanes, int degree,
                                 struct boxhdg_lanes_coarse **coarse, struct multigrid *mg) {
    facet_status status = FACET_OK;
    struct faces *f;
    struct operator A;
    struct smoother smoother = {.smooth = scale};
    struct mg_link link = {.n_fine = lanes->plan.size,
                           .n_coarse = boxhdg_lanes_coarse_size(*coarse),
                           .prolong = prolong_faces,
                           .restrict_ = restrict_faces,
                           .gather = gather,
                           .spread = spread,
                           .far = 1,
                           .free = faces_free};
    double bytes = (lanes->single ? 4.0 : 8.0) *
                   ((double)lanes->plan.size + KERNEL_BOX_METRIC * (double)lanes->hdg->grid.n_cells);
    int64_t n_moments = lanes->plan.n_faces * KERNEL_BOX_MOMENTS * KERNEL_LANES;
    TRY(CALLOC(f, 1));
    link.data = f;
    f->lanes = lanes;
    f->coarse = *coarse;
    *coarse = NULL;
    TRY(boxhdg_lanes_vector(lanes, n_moments, &link.moments));
    TRY(boxhdg_lanes_vector(lanes, n_moments, &link.coefficients));
    f->moments = link.moments;
    f->coefficients = link.coefficients;
    smoother.data = f;
    if (degree > 0) TRY(make_polynomial(f, degree, &smoother));
    operator_create_box(lanes, &A);
    TRY(multigrid_append(mg, "faces", NULL, &A, &smoother));
    multigrid_describe(mg, 0, bytes);
    TRY(multigrid_link(mg, &link));
done:
    mg_link_destroy(&link);
    return status;
}

facet_status boxhdg_levels_create(const struct boxhdg_lanes *lanes, int degree, struct operator* M) {
    facet_status status = FACET_OK;
    struct boxhdg_lanes_coarse *coarse = NULL, *kept;
    struct multigrid *mg = NULL;
    *M = (struct operator){0};
    TRY(boxhdg_lanes_coarse_create(lanes, &coarse));
    if (boxhdg_lanes_coarse_size(coarse) == 0) goto done;
    kept = coarse;
    TRY(multigrid_create(&mg));
    TRY(append_faces(lanes, degree, &coarse, mg));
    TRY(boxhdg_lanes_coarse_end(kept, mg));
    multigrid_keep_precision(mg);
    TRY(multigrid_finish(mg));
    TRY(multigrid_set_cycle(mg, degree > 0 ? MG_V : MG_ADDITIVE));
    TRY(operator_create_multigrid(&mg, M));
done:
    boxhdg_lanes_coarse_destroy(&coarse);
    multigrid_destroy(&mg);
    return status;
}
