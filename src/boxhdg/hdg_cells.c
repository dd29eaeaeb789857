/* Solutions. */
#include "boxhdg/hdg_cells.h"

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
