/* Loads, the right-hand side, and recovery. */
#include "boxhdg/cells.h"

#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"

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
