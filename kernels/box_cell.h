/* One cell of a box at a time: what the kernels of the host on cells of kernels/box.h share. */
#ifndef FACET_KERNELS_BOX_CELL_H
#define FACET_KERNELS_BOX_CELL_H

#include <math.h>
#include <stddef.h>

#include "kernels/kernels.h"

#define MAX_LINE 33

struct cell {
    const struct box_plan *plan;
    const struct box_points *points;
    int at[3], lane, pack;
    int64_t number;           /* of its pack */
    double a[3], reaction, k; /* of the metric */
    int64_t where[3][2];
};

/* The scratch of a plan has room for these doubles (box_scratch). */
static inline double *room_of(const struct box_plan *p) {
    void *scratch = p->f64.scratch;
    return scratch != NULL ? scratch : (void *)p->f32.scratch;
}

static inline void look_at(const struct box_plan *p, const struct box_points *points, int64_t number,
                           struct cell *c) {
    const int L = p->lanes;
    *c = (struct cell){.plan = p, .points = points};
    c->at[0] = (int)(number % p->cells[0]);
    c->at[1] = (int)(number / p->cells[0] % p->cells[1]);
    c->at[2] = (int)(number / p->cells[0] / p->cells[1]);
    c->pack = c->at[0] / L;
    c->lane = c->at[0] % L;
    c->number = ((int64_t)c->at[2] * p->cells[1] + c->at[1]) * p->packs + c->pack;
    const double *metric = p->f64.metric + c->number * KERNEL_BOX_METRIC * L + c->lane;
    for (int d = 0; d < 3; d++) {
        c->a[d] = metric[d * L];
        for (int side = 0; side < 2; side++)
            c->where[d][side] = p->present[d] ? box_where(p, d, c->at, side, L) : -1;
    }
    c->reaction = metric[3 * L];
    c->k = metric[4 * L];
}

static inline double entry(const struct cell *c, const double *const table[3], int axis, int width,
                           int mode) {
    const int L = c->plan->lanes;
    return axis == 0 ? table[0][((int64_t)c->pack * width + mode) * L + c->lane]
                     : table[axis][(int64_t)c->at[axis] * width + mode];
}

/* The tangential axes of a face. */
static inline int slow_axis(int axis) {
    return axis == 0 ? 1 : 0;
}
static inline int fast_axis(int axis) {
    return axis == 2 ? 1 : 2;
}

static inline int on_side(const struct cell *c, int axis, int side) {
    return !c->plan->periodic[axis] && c->at[axis] == (side ? c->plan->cells[axis] - 1 : 0);
}

/* What is known on a side of the box that the cell touches; NULL: nothing. */
static inline const double *known(const struct cell *c, int axis, int side) {
    const struct box_plan *p = c->plan;
    int slow = slow_axis(axis), fast = fast_axis(axis);
    const double *values = p->present[axis] && on_side(c, axis, side) ? c->points->sides[axis][side] : NULL;
    return values == NULL ? NULL
                          : values + ((int64_t)c->at[fast] * p->cells[slow] + c->at[slow]) * p->face[axis];
}

/* Mode t of a face in lanes: known, or of the vector (or NULL). */
static inline double trace_of(const struct cell *c, const double *trace, int axis, int side, int64_t t) {
    const double *given = c->plan->fixed[axis][side] ? known(c, axis, side) : NULL;
    if (given != NULL) return given[t];
    return trace != NULL && c->where[axis][side] >= 0 ? trace[c->where[axis][side] + t * c->plan->lanes]
                                                      : 0.0;
}

#endif
