/* Arrays of a solution of HDG on a box, and what frees them. */
#include "boxhdg/hdg_cells.h"

#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"

/* ------------------------------------------------------------------------------------- solutions */

void boxhdg_solution_destroy(struct boxhdg_solution *s) {
    s->n_cells = 0;
    s->loads = s->u = NULL;
    for (int i = 0; i < 2; i++) base_free(&s->rooms[i]);
    base_free(&s->cells);
    base_free(&s->trace);
    base_free(&s->q);
    base_free(&s->star);
}
