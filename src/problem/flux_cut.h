/* Private to flux_bars.c and flux_cut.c: how well a flux through faces is known, and fluxes by the cells
 * behind them.
 */
#ifndef FACET_PROBLEM_FLUX_CUT_H
#define FACET_PROBLEM_FLUX_CUT_H

#include "problem/problem.h"

/* A face as a cell sees it. weight: an error e of u is weight e in what is computed to go through; of_cell:
 * and would be so much without a condition that says what does. */
struct flux_face {
    double area, weight, of_cell;
};
/* Of the data that a cell has. */
static inline int32_t flux_region(const struct facet_solver *s, int32_t cell) {
    const int32_t *regions = s->resolved.data.cell_region;
    return regions != NULL ? regions[cell] : mesh_is_box(s->problem->mesh) ? s->resolved.region : 0;
}
/* Of one component of the flux. c: the condition, NULL inside of the mesh. */
facet_status flux_face_weight(const struct facet_solver *s, int32_t cell, int local, int component,
                              const struct hdg_condition *c, struct flux_face *face);
/* The number of the condition of face i of a part; -1: it has none. */
static inline int32_t flux_condition(const struct facet_solver *s, const struct mesh_group *part, int32_t i) {
    return mesh_is_box(s->problem->mesh) ? s->resolved.side_condition[part->side]
                                         : s->resolved.face_condition[part->ids[i]];
}
/* A flux is in doubt by so many times what a correction of the solution changes in it (solver_find_better).
 */
#define FLUX_LACKS 2.0
/* What is known of one component of a flux. */
struct flux_known {
    int better; /* solver_find_better */
    int component;
    double flux, weight; /* weight: of the faces that the flux was summed over */
    double rest; /* what may be missing by what is left of the equations, whatever the flux is summed over */
    double bar;
    double apart; /* the most by which two ways to find it differ, in their doubts: above 1 the estimate of
                     the error of u is too small */
};
/* By the error of u, and by best->rest. */
double flux_doubt(const struct facet_solver *s, double weight, double size, double rest);
/* flux_cut.c: other ways to a component (of n) of what goes through parts, by the balances of cells behind
 * them; the best way is kept. size: of u. Nothing happens where the discretization balances nothing.
 * Collective.
 */
facet_status flux_by_cut(const struct facet_solver *s, const struct sample_domain *where, int n, double size,
                         struct flux_known *best);

#endif
