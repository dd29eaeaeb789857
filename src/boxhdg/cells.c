/* Loads, the right-hand side, and recovery. */
#include "boxhdg/cells.h"

#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"

/* ------------------------------------------------------------------------------------- points and modes */

struct points_job {
    const double *from;
    double *to;
    int forward;
};

static facet_status points_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct points_job *job = user;
    int64_t size = at->h->cell_size;
    int dim = at->h->grid.dim;
    double *other = scratch + size + BOX_SLACK;
    memcpy(scratch, job->from + at->cell * size, (size_t)size * sizeof *scratch);
    const double *result = job->forward ? box_forward(dim, at->tables, scratch, other)
                                        : box_backward(dim, at->tables, scratch, other);
    memcpy(job->to + at->cell * size, result, (size_t)size * sizeof *scratch);
    return FACET_OK;
}

facet_status boxhdg_transform(const struct boxhdg *h, int to_points, const double *from, double *to) {
    struct points_job job = {.from = from, .to = to, .forward = !to_points};
    return boxhdg_for_cells(h, 0, 2 * (h->cell_size + BOX_SLACK), points_work, &job);
}

/* ------------------------------------------------------------------------------------- right-hand side */

struct load_job {
    const double *f, *given; /* values at points; or loads that are given */
    double *loads, *F;
};

static facet_status load_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct load_job *job = user;
    int64_t size = at->h->cell_size;
    double *f = scratch, *other = f + size + BOX_SLACK, *r = other + size + BOX_SLACK, *loads = f;
    if (job->f != NULL) {
        memcpy(f, job->f + at->cell * size, (size_t)size * sizeof *f);
        loads = box_forward(at->h->grid.dim, at->tables, f, other);
        for (int64_t i = 0; i < size; i++) loads[i] *= at->V;
        memcpy(job->loads + at->cell * size, loads, (size_t)size * sizeof *loads);
    } else
        memcpy(f, job->given + at->cell * size, (size_t)size * sizeof *f);
    double *u = loads == f ? other : f;
    boxhdg_at_solve(at, loads, NULL, u);
    boxhdg_at_reduce(at, at->b, u, r);
    boxhdg_at_scatter(at, r, at->a, job->F);
    return FACET_OK;
}

/* The cell operator: y += sign (a gamma v - a R' Z^-1 R v). */
struct apply_job {
    const double *x;
    double *y;
    double sign;
    int fixed_only; /* x vanishes except on Dirichlet faces */
};

static int touches_fixed(const struct boxhdg_at *at) {
    for (int d = 0; d < at->h->grid.dim; d++)
        for (int side = 0; side < 2; side++)
            if (at->h->grid.sides[d][side] == BOX_DIRICHLET && boxhdg_at_boundary(at, d, side)) return 1;
    return 0;
}

static facet_status apply_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct apply_job *job = user;
    const struct boxhdg *h = at->h;
    int64_t size = h->face_size;
    double *u = scratch, *v = u + h->cell_size + BOX_SLACK, *r = v + boxhdg_pairs_size(h), factor[3];
    if (job->fixed_only && !touches_fixed(at)) return FACET_OK;
    boxhdg_at_gather(at, job->x, v);
    boxhdg_at_solve(at, NULL, v, u);
    boxhdg_at_reduce(at, at->b, u, r);
    for (int d = 0; d < h->grid.dim; d++) {
        const double *gamma = boxhdg_line(h, d, at->at[d])->gamma;
        factor[d] = job->sign * at->a[d];
        for (int parity = 0; parity < 2; parity++) {
            const double *from = v + (2 * d + parity) * size;
            double *to = r + (2 * d + parity) * size;
            for (int64_t i = 0; i < size; i++) to[i] = gamma[parity] * from[i] - to[i];
        }
    }
    boxhdg_at_scatter(at, r, factor, job->y);
    return FACET_OK;
}

static facet_status add_applied(const struct boxhdg *h, double sign, const double *x, double *y) {
    struct apply_job job = {.x = x, .y = y, .sign = sign, .fixed_only = sign < 0.0};
    return boxhdg_for_cells(h, 1, h->cell_size + BOX_SLACK + 2 * boxhdg_pairs_size(h), apply_work, &job);
}

facet_status boxhdg_apply(const struct boxhdg *h, const double *x, double *y) {
    facet_status status = FACET_OK;
    double *free = NULL;
    TRY(ALLOC(free, h->n_trace));
    memcpy(free, x, (size_t)h->n_trace * sizeof *free);
    boxhdg_add_dirichlet(h, NULL, free);
    memset(y, 0, (size_t)h->n_trace * sizeof *y);
    TRY(add_applied(h, 1.0, free, y));
    boxhdg_add_dirichlet(h, NULL, y);
    TRY(boxhdg_add_seam(h, y));
done:
    base_free(&free);
    return status;
}

/* What known traces contribute, moved to the right. */
static facet_status add_lift(const struct boxhdg *h, const double *dirichlet, double *F) {
    facet_status status = FACET_OK;
    double *extended = NULL;
    TRY(CALLOC(extended, h->n_trace));
    boxhdg_add_dirichlet(h, dirichlet, extended);
    TRY(add_applied(h, -1.0, extended, F));
done:
    base_free(&extended);
    return status;
}

static facet_status make_right_side(const struct boxhdg *h, struct load_job *job, const double *dirichlet,
                                    const double *neumann) {
    facet_status status = FACET_OK;
    memset(job->F, 0, (size_t)h->n_trace * sizeof *job->F);
    if (job->given != NULL)
        TRY(boxhdg_for_cells(h, 1, 2 * (h->cell_size + BOX_SLACK) + boxhdg_pairs_size(h), load_work, job));
    if (dirichlet != NULL) TRY(add_lift(h, dirichlet, job->F));
    if (neumann != NULL) boxhdg_add_neumann(h, neumann, job->F);
    boxhdg_add_dirichlet(h, NULL, job->F);
    TRY(boxhdg_add_seam(h, job->F));
done:
    return status;
}

facet_status boxhdg_load(const struct boxhdg *h, const double *f, const double *dirichlet,
                         const double *neumann, double *loads, double *F) {
    struct load_job job = {.f = f, .given = f != NULL ? loads : NULL, .loads = loads, .F = F};
    if (f == NULL) memset(loads, 0, (size_t)h->n_volume * sizeof *loads);
    return make_right_side(h, &job, dirichlet, neumann);
}

facet_status boxhdg_condense_loads(const struct boxhdg *h, const double *loads, const double *dirichlet,
                                   const double *neumann, double *F) {
    struct load_job job = {.given = loads, .F = F};
    return make_right_side(h, &job, dirichlet, neumann);
}

/* ------------------------------------------------------------------------------------- recovery */

struct recover_job {
    const double *loads, *trace;
    double *u, *q;
};

static facet_status recover_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct recover_job *job = user;
    const struct boxhdg *h = at->h;
    int64_t size = h->cell_size;
    double *u = scratch, *q = u + size + BOX_SLACK, *v = q + size + BOX_SLACK;
    memcpy(q, job->loads + at->cell * size, (size_t)size * sizeof *q);
    boxhdg_at_gather(at, job->trace, v);
    boxhdg_at_solve(at, q, v, u);
    memcpy(job->u + at->cell * size, u, (size_t)size * sizeof *u);
    for (int d = 0; job->q != NULL && d < h->grid.dim; d++) {
        boxhdg_at_flux(at, d, u, v, q);
        memcpy(job->q + d * h->n_volume + at->cell * size, q, (size_t)size * sizeof *q);
    }
    return FACET_OK;
}

facet_status boxhdg_recover(const struct boxhdg *h, const double *loads, const double *uhat, double *u,
                            double *q) {
    struct recover_job job = {.loads = loads, .trace = uhat, .u = u, .q = q};
    return boxhdg_for_cells(h, 0, 2 * (h->cell_size + BOX_SLACK) + boxhdg_pairs_size(h), recover_work, &job);
}

/* ------------------------------------------------------------------------------------- solutions */

facet_status boxhdg_solution_create(const struct boxhdg *h, struct boxhdg_solution *s) {
    facet_status status = FACET_OK;
    *s = (struct boxhdg_solution){0};
    s->n_cells = h->grid.n_cells;
    TRY(ALLOC(s->loads, h->n_volume));
    TRY(ALLOC(s->trace, h->n_trace));
    TRY(ALLOC(s->u, h->n_volume));
done:
    if (status != FACET_OK) boxhdg_solution_destroy(s);
    return status;
}

static facet_status flux_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct boxhdg_solution *s = user;
    const struct boxhdg *h = at->h;
    int64_t size = h->cell_size;
    double *u = scratch, *q = u + size + BOX_SLACK, *v = q + size + BOX_SLACK;
    memcpy(u, s->u + at->cell * size, (size_t)size * sizeof *u);
    boxhdg_at_gather(at, s->trace, v);
    for (int d = 0; d < h->grid.dim; d++) {
        boxhdg_at_flux(at, d, u, v, q);
        memcpy(s->q + (d * s->n_cells + at->cell) * size, q, (size_t)size * sizeof *q);
    }
    return FACET_OK;
}

facet_status boxhdg_solution_find_q(const struct boxhdg *h, struct boxhdg_solution *s) {
    facet_status status = FACET_OK;
    if (s->q == NULL) TRY(ALLOC(s->q, h->grid.dim * s->n_cells * h->cell_size));
    TRY(boxhdg_for_solution(h, s, 2 * (h->cell_size + BOX_SLACK) + boxhdg_pairs_size(h), flux_work, s));
done:
    if (status != FACET_OK) base_free(&s->q);
    return status;
}

void boxhdg_solution_destroy(struct boxhdg_solution *s) {
    if (s->borrowed) s->loads = s->u = NULL;
    s->n_cells = s->borrowed = 0;
    base_free(&s->cells);
    base_free(&s->loads);
    base_free(&s->trace);
    base_free(&s->u);
    base_free(&s->q);
    base_free(&s->star);
}
