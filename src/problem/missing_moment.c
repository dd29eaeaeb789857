/* A note where curved cells of a low degree take moments away (hdg/moments.c). Free bodies are held by a few
 * unknowns of the trace, which carry what such cells lack: there the balance of the forces tells. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/mapped_backend.h"

/* Of the moments, or the forces. */
#define TOLD 1e-3

/* The degree of the geometry of cells that are curved; 1 where none is. */
static int curved_order(const struct facet_mesh *mesh) {
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int32_t c = 0; c < mesh->blocks[b].count; c++)
            if (!mesh->blocks[b].affine[c]) return mesh->order;
    return 1;
}

/* In the formulation gradient what is balanced is no symmetric stress, and has no moments. */
static int is_known(const struct facet_solver *s) {
    const struct hdg_data *data = &s->resolved.data;
    return s->backend == &mapped_backend && data->equation->is_vector && data->exact == NULL &&
           s->options.formulation != FORMULATION_GRADIENT && !s->has_source &&
           data->plane != HDG_AXISYMMETRIC && s->problem->mesh->order > s->options.degree &&
           !mapped_of(s)->hdg->stays && mapped_of(s)->hdg->condensed == NULL && s->report.converged;
}

facet_status solver_find_missing_moment(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct mesh_joined *joined = NULL;
    struct mesh_quality size;
    struct solve_balance balance;
    double center[3], share;
    int32_t n;
    s->notes[SOLVER_NOTE_MOMENT][0] = '\0';
    if (!is_known(s)) return FACET_OK;
    struct mapped *m = mapped_of(s);
    int64_t most[2] = {curved_order(s->problem->mesh), 0};
    TRY(mesh_find_joined(s->problem->mesh, &joined, &n)); /* sides that repeat each other carry moments */
    most[1] = n;
    TRY(team_reduce_counts(mesh_team(s->problem->mesh), TEAM_MAX, 2, most));
    if (most[0] <= s->options.degree || most[1] > 0) goto done;
    if (s->resolved.data.n_free_pieces > 0) {
        TRY(hdg_conservation(m->hdg, &m->solution, &balance));
        share = balance.through > 0.0 ? balance.missing / balance.through : 0.0;
    } else {
        TRY(mesh_measure_size(s->problem->mesh, &size));
        for (int a = 0; a < s->problem->mesh->dim; a++) center[a] = 0.5 * (size.lower[a] + size.upper[a]);
        TRY(hdg_missing_moment(m->hdg, &m->solution, center, &share));
    }
    if (share > TOLD)
        snprintf(s->notes[SOLVER_NOTE_MOMENT], PROBLEM_WHY_BYTES,
                 "curved cells of order %d cannot turn without strain at degree %d: %.2g of the moments of "
                 "loads and supports is missing in their balance; raise discretization.degree to %d, or make "
                 "the mesh anew with a lower order",
                 s->problem->mesh->order, s->options.degree, share, s->problem->mesh->order);
done:
    base_free(&joined);
    return status;
}
