/* What is made of vertex stars: a smoother, the product with K, and the two-level preconditioner. */
#include <string.h>

#include "base/memory.h"
#include "bench/papers/stars.h"

static facet_status require_host(const struct device *device) {
    if (device_is_host(device)) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "vertex stars run on the host, not on the device %s",
                     device_name(device));
}

/* ---------------------------------------------------------------------------------- the smoother */

struct star_smoother {
    struct box_stars *stars;
    void *r; /* n_trace, of the precision of the stars */
};

static void stars_smooth(const struct smoother *sm, const struct linear_operator *A, const struct vector *f,
                         int from_zero, struct vector *x) {
    const struct star_smoother *s = sm->data;
    size_t n = (size_t)f->n;
    (void)A;
    if (box_stars_is_single(s->stars)) {
        memcpy(s->r, f->numbers, n * sizeof(float));
        if (from_zero)
            memset(x->numbers, 0, n * sizeof(float));
        else
            box_stars_subtract_single(s->stars, x->numbers, s->r);
        box_stars_sweep_single(s->stars, !from_zero, x->numbers, s->r);
    } else {
        memcpy(s->r, f->data, n * sizeof(double));
        if (from_zero)
            memset(x->data, 0, n * sizeof(double));
        else
            box_stars_subtract(s->stars, x->data, s->r);
        box_stars_sweep(s->stars, !from_zero, x->data, s->r);
    }
}

static void smoother_free(struct smoother *sm) {
    struct star_smoother *s = sm->data;
    if (s == NULL) return;
    box_stars_destroy(&s->stars);
    base_free(&s->r);
    base_free(&sm->data);
}

facet_status smoother_create_box_stars(struct box_stars **stars, struct smoother *sm) {
    facet_status status = FACET_OK;
    struct star_smoother *s = NULL;
    size_t size = box_stars_is_single(*stars) ? sizeof(float) : sizeof(double);
    *sm = (struct smoother){.smooth = stars_smooth, .free = smoother_free};
    TRY(CALLOC(s, 1));
    sm->data = s;
    s->stars = *stars;
    *stars = NULL;
    TRY(base_alloc(&s->r, (size_t)box_stars_hdg(s->stars)->n_trace, size));
done:
    box_stars_destroy(stars);
    if (status != FACET_OK) smoother_destroy(sm);
    return status;
}

/* ------------------------------------------------------------------------------------ the product */

static void plain_apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    memset(y->data, 0, (size_t)A->n * sizeof *y->data);
    box_stars_subtract(A->data, x->data, y->data);
    for (int64_t i = 0; i < A->n; i++) y->data[i] = -y->data[i];
}

static void plain_free(struct linear_operator *A) {
    struct box_stars *stars = A->data;
    box_stars_destroy(&stars);
    A->data = NULL;
}

facet_status operator_create_box_plain(const struct device *device, const struct boxhdg *h,
                                       struct linear_operator *A) {
    facet_status status = FACET_OK;
    struct box_stars *stars = NULL;
    *A = (struct linear_operator){.n = h->n_trace,
                                  .device = device,
                                  .apply = plain_apply,
                                  .free = plain_free,
                                  .name = "the product on a box in plain modes"};
    TRY(require_host(device));
    TRY(box_stars_create(h, 0, &stars));
    A->data = stars;
done:
    return status;
}

/* ---------------------------------------------------------------------------------- two levels */

struct two_level {
    const struct boxhdg *h;
    struct box_stars *stars;
    struct box_coarse coarse;
    struct linear_operator solve;
    struct vector b, c; /* of the vertices */
    double *x, *r;      /* n_trace: the coarse correction, the residual */
    float *x_single, *t, *r_single;
};

static void solve_coarse(struct two_level *s) {
    if (s->coarse.n > 0) operator_apply(&s->solve, &s->b, &s->c);
}

static void apply_double(struct two_level *s, double *x) {
    size_t bytes = (size_t)s->h->n_trace * sizeof *x;
    memset(x, 0, bytes);
    box_stars_sweep(s->stars, 0, x, s->r);
    box_coarse_restrict(&s->coarse, s->r, s->b.data);
    solve_coarse(s);
    memset(s->x, 0, bytes);
    box_coarse_prolong(&s->coarse, s->c.data, s->x);
    box_stars_subtract(s->stars, s->x, s->r);
    for (int64_t i = 0; i < s->h->n_trace; i++) x[i] += s->x[i];
    box_stars_sweep(s->stars, 1, x, s->r);
}

static void apply_single(struct two_level *s, const double *f, double *x) {
    int64_t n = s->h->n_trace;
    for (int64_t i = 0; i < n; i++) s->r_single[i] = (float)f[i];
    memset(s->x_single, 0, (size_t)n * sizeof(float));
    box_stars_sweep_single(s->stars, 0, s->x_single, s->r_single);
    box_coarse_restrict_single(&s->coarse, s->r_single, s->b.data);
    solve_coarse(s);
    memset(s->t, 0, (size_t)n * sizeof(float));
    box_coarse_prolong_single(&s->coarse, s->c.data, s->t);
    box_stars_subtract_single(s->stars, s->t, s->r_single);
    for (int64_t i = 0; i < n; i++) s->x_single[i] += s->t[i];
    box_stars_sweep_single(s->stars, 1, s->x_single, s->r_single);
    for (int64_t i = 0; i < n; i++) x[i] = (double)s->x_single[i];
}

static void two_level_apply(const struct linear_operator *M, const struct vector *f, struct vector *x) {
    struct two_level *s = M->data;
    if (box_stars_is_single(s->stars)) {
        apply_single(s, f->data, x->data);
        return;
    }
    memcpy(s->r, f->data, (size_t)s->h->n_trace * sizeof *s->r);
    apply_double(s, x->data);
}

static void two_level_free(struct linear_operator *M) {
    struct two_level *s = M->data;
    if (s == NULL) return;
    box_stars_destroy(&s->stars);
    box_coarse_destroy(&s->coarse);
    operator_destroy(&s->solve);
    vector_destroy(&s->b);
    vector_destroy(&s->c);
    base_free(&s->x);
    base_free(&s->r);
    base_free(&s->x_single);
    base_free(&s->t);
    base_free(&s->r_single);
    base_free(&M->data);
}

facet_status box_two_level_create(const struct device *device, const struct boxhdg *h, int single,
                                  struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct two_level *s = NULL;
    *M = (struct linear_operator){.n = h->n_trace,
                                  .device = device,
                                  .apply = two_level_apply,
                                  .free = two_level_free,
                                  .name = "vertex stars over vertices"};
    TRY(require_host(device));
    TRY(CALLOC(s, 1));
    M->data = s;
    s->h = h;
    TRY(box_stars_create(h, single, &s->stars));
    TRY(box_coarse_create(h, &s->coarse));
    TRY(box_coarse_solver(device, &s->coarse, &s->solve));
    TRY(vector_create(device, s->coarse.n, &s->b));
    TRY(vector_create(device, s->coarse.n, &s->c));
    if (single) {
        TRY(ALLOC(s->x_single, h->n_trace));
        TRY(ALLOC(s->t, h->n_trace));
        TRY(ALLOC(s->r_single, h->n_trace));
    } else {
        TRY(ALLOC(s->x, h->n_trace));
        TRY(ALLOC(s->r, h->n_trace));
    }
done:
    if (status != FACET_OK) operator_destroy(M);
    return status;
}
