/* Solutions. */
#include "boxhdg/cells.h"

#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"

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
