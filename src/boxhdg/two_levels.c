/* The level of the faces. */
#include "boxhdg/two_levels.h"

#include "base/memory.h"

/* What smoother and link share; it belongs to the link. */
struct faces {
    const struct boxhdg_lanes *lanes;
    struct boxhdg_coarse *coarse;
    struct vector moments, coefficients;       /* the link's, for the polynomials */
    int degree;                                /* of the polynomials, which alone need what follows */
    double a[MG_MAX_DEGREE], b[MG_MAX_DEGREE]; /* d = a D r + b d */
    struct vector r, d, y;
};

static void faces_free(struct mg_link *link) {
    struct faces *f = link->data;
    if (f == NULL) return;
    vector_destroy(&f->r);
    vector_destroy(&f->d);
    vector_destroy(&f->y);
    boxhdg_coarse_destroy(&f->coarse);
    base_free(&link->data);
}

/* ------------------------------------------------------------------------------------------ the link */

static void gather(const struct mg_link *link, struct vector *coarse) {
    struct faces *f = link->data;
    boxhdg_coarse_gather(f->coarse, &f->moments, coarse);
}

static void spread(const struct mg_link *link, const struct vector *coarse) {
    struct faces *f = link->data;
    struct vector coefficients = link->coefficients;
    boxhdg_coarse_spread(f->coarse, coarse, &coefficients);
}

static void restrict_faces(const struct mg_link *link, const struct vector *fine, struct vector *coarse) {
    struct faces *f = link->data;
    struct vector same = *fine;
    double sums[2];
    boxhdg_lanes_residual(f->lanes, 0.0, fine, &same, &f->moments, sums);
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

static void smooth(const struct smoother *s, const struct linear_operator *A, const struct vector *f,
                   int from_zero, struct vector *x) {
    struct faces *c = s->data;
    if (!from_zero) operator_apply(A, x, &c->y);
    polynomial(c, f, from_zero, 0, x);
}

static void down(const struct smoother *s, const struct vector *f, struct vector *x, struct vector *coarse) {
    struct faces *c = s->data;
    double sums[2];
    polynomial(c, f, 1, 1, x);
    boxhdg_lanes_residual(c->lanes, 1.0, &c->y, &c->r, &c->moments, sums);
    boxhdg_coarse_gather(c->coarse, &c->moments, coarse);
}

static void up(const struct smoother *s, const struct vector *f, const struct vector *coarse,
               struct vector *x) {
    struct faces *c = s->data;
    struct box_step correct = {.direction = 1, .product = 1, .x_new = 1.0};
    (void)f; /* r is its residual */
    boxhdg_coarse_spread(c->coarse, coarse, &c->coefficients);
    boxhdg_lanes_step(c->lanes, &correct, NULL, &c->r, &c->coefficients, &c->d, x, &c->y);
    polynomial(c, &c->r, 0, 0, x);
}

/* x = D f: additive cycles begin with zero. */
static void scale(const struct smoother *s, const struct linear_operator *A, const struct vector *f,
                  int from_zero, struct vector *x) {
    const struct faces *c = s->data;
    struct linear_operator D;
    (void)A, (void)from_zero;
    operator_create_box_diagonal(c->lanes, &D);
    operator_apply(&D, f, x);
    operator_destroy(&D);
}

/* A start for the largest eigenvalue of D K that is zero in lanes that are no unknowns. */
static facet_status pack_noise(const struct boxhdg_lanes *lanes, struct vector *r) {
    facet_status status = FACET_OK;
    double *noise = NULL;
    TRY(ALLOC(noise, lanes->hdg->n_trace));
    solve_noise(lanes->hdg->n_trace, noise);
    TRY(boxhdg_lanes_pack(lanes, BOXHDG_RESIDUAL, noise, r));
    seam_add(lanes->seam, r);
done:
    base_free(&noise);
    return status;
}

static facet_status make_polynomial(struct faces *c, int degree, struct smoother *s) {
    facet_status status = FACET_OK;
    struct vector *vectors[] = {&c->r, NULL, &c->y, &c->d};
    struct linear_operator K = {0};
    double top;
    if (degree > MG_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree of a smoother must be 1 to %d, not %d", MG_MAX_DEGREE, degree);
    for (int i = 0; i < 4; i++)
        if (vectors[i] != NULL) TRY(boxhdg_lanes_vector(c->lanes, c->lanes->plan.size, vectors[i]));
    TRY(pack_noise(c->lanes, &c->r));
    operator_create_box(c->lanes, &K);
    solve_eigenvalue_bounds(&K, NULL, LANCZOS_MAX, vectors, NULL, &top);
    polynomial_coefficients(POLYNOMIAL_FOURTH, top, 1.0, degree, c->a, c->b);
    c->degree = degree;
    *s = (struct smoother){.smooth = smooth, .down = down, .up = up, .top = top, .data = c};
done:
    operator_destroy(&K);
    return status;
}

/* The level of the faces and its link, which owns what both share. */
static facet_status append_faces(const struct boxhdg_lanes *lanes, int degree, struct boxhdg_coarse **coarse,
                                 struct multigrid *mg) {
    facet_status status = FACET_OK;
    struct faces *f;
    struct linear_operator A;
    struct smoother smoother = {.smooth = scale};
    struct mg_link link = {.n_fine = lanes->plan.size,
                           .n_coarse = boxhdg_coarse_size(*coarse),
                           .prolong = prolong_faces,
                           .restrict_ = restrict_faces,
                           .gather = gather,
                           .spread = spread,
                           .far = 1,
                           .free = faces_free};
    double bytes = ((double)precision_size(lanes->precision)) *
                   ((double)lanes->plan.size + KERNEL_BOX_METRIC * (double)lanes->hdg->grid.n_cells);
    int64_t n_moments = lanes->plan.n_faces * KERNEL_BOX_MOMENTS * lanes->plan.lanes;
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

facet_status boxhdg_levels_create(const struct boxhdg_lanes *lanes, int degree, struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct boxhdg_coarse *coarse = NULL, *kept;
    struct multigrid *mg = NULL;
    *M = (struct linear_operator){0};
    TRY(boxhdg_coarse_create(lanes, &coarse));
    if (boxhdg_coarse_is_empty(coarse)) goto done;
    kept = coarse;
    TRY(multigrid_create(&mg));
    TRY(append_faces(lanes, degree, &coarse, mg));
    TRY(boxhdg_coarse_end(kept, mg));
    multigrid_keep_precision(mg);
    TRY(multigrid_finish(mg));
    TRY(multigrid_set_cycle(mg, degree > 0 ? MG_V : MG_ADDITIVE));
    TRY(operator_create_multigrid(&mg, M));
done:
    boxhdg_coarse_destroy(&coarse);
    multigrid_destroy(&mg);
    return status;
}
