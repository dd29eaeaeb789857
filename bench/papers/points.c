/* Tables of the lines, and what is known on the sides of the box. */
#include "bench/papers/points.h"

#include "base/memory.h"
#include "box/vec.h"

static facet_status give(struct boxhdg_lanes_points *p, const void *host, int64_t n, size_t size,
                         const void **array) {
    facet_status status = FACET_OK;
    void *copy = NULL;
    TRY(device_copy(p->lanes->device, &copy, host, (size_t)n, size));
    p->owned[p->n_owned++] = copy;
    *array = copy;
done:
    return status;
}
#define GIVE(p, host, n, array) give(p, host, n, sizeof *(host), (const void **)(array))

static facet_status make_matrices(struct boxhdg_lanes_points *p) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = p->lanes->hdg;
    int n = h->n, size = n * n;
    double *forward = NULL, *backward = NULL;
    TRY(ALLOC(forward, h->n_lines * size));
    TRY(ALLOC(backward, h->n_lines * size));
    for (int l = 0; l < h->n_lines; l++)
        for (int q = 0; q < n; q++)
            for (int m = 0; m < n; m++) {
                double value = h->tables[l].full[1][m * vec_padded(n) + q];
                backward[l * size + q * n + m] = value;
                forward[l * size + m * n + q] = h->weights[q] * value;
            }
    TRY(GIVE(p, forward, h->n_lines * size, &p->points.forward));
    TRY(GIVE(p, backward, h->n_lines * size, &p->points.backward));
done:
    base_free(&forward);
    base_free(&backward);
    return status;
}

static facet_status make_columns(struct boxhdg_lanes_points *p, int axis) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = p->lanes->hdg;
    int d = p->lanes->direction[axis], n = p->lanes->plan.cells[axis];
    int32_t *lines = NULL;
    double *halves = NULL;
    TRY(CALLOC(lines, n));
    TRY(ALLOC(halves, n));
    for (int i = 0; i < n; i++) {
        if (d >= 0) lines[i] = h->column_line[d][i];
        halves[i] = d >= 0 ? 0.5 * h->grid.widths[d][i] : 1.0;
    }
    TRY(GIVE(p, lines, n, &p->points.lines[axis]));
    TRY(GIVE(p, halves, n, &p->points.halves[axis]));
done:
    base_free(&lines);
    base_free(&halves);
    return status;
}

/* b of a mode along an axis, for the cell with this place. */
static double root(const struct boxhdg_lanes *lanes, int axis, int cell, int mode) {
    int64_t n = lanes->plan.modes[axis], L = lanes->plan.lanes;
    return axis == 0 ? lanes->b[0][(cell / L * n + mode) * L + cell % L] : lanes->b[axis][cell * n + mode];
}

/* One side: traces over b b, or loads times b b. */
static facet_status make_side(struct boxhdg_lanes_points *p, int axis, int side, const double *plain) {
    facet_status status = FACET_OK;
    const struct boxhdg_lanes *lanes = p->lanes;
    const struct box_plan *plan = &lanes->plan;
    int slow = axis == 0 ? 1 : 0, fast = axis == 2 ? 1 : 2, at[3], cell[3] = {0};
    int64_t size = plan->face[axis], n = (int64_t)plan->cells[slow] * plan->cells[fast] * size;
    double *values = NULL, *to;
    TRY(ALLOC(values, n));
    to = values;
    at[axis] = side ? plan->cells[axis] - 1 : 0;
    for (at[fast] = 0; at[fast] < plan->cells[fast]; at[fast]++)
        for (at[slow] = 0; at[slow] < plan->cells[slow]; at[slow]++, to += size) {
            for (int d = 0; d < 3; d++)
                if (lanes->direction[d] >= 0) cell[lanes->direction[d]] = at[d];
            const double *from =
                plain + box_face(&lanes->hdg->grid, cell, lanes->direction[axis], side) * size;
            for (int a = 0; a < plan->modes[slow]; a++)
                for (int b = 0; b < plan->modes[fast]; b++) {
                    int64_t t = box_face_mode(plan, slow, fast, a, b);
                    double scale = root(lanes, slow, at[slow], a) * root(lanes, fast, at[fast], b);
                    double value = from[lanes->order[axis][t]];
                    to[t] = plan->fixed[axis][side] ? value / scale : value * scale;
                }
        }
    TRY(GIVE(p, values, n, &p->points.sides[axis][side]));
done:
    base_free(&values);
    return status;
}

facet_status boxhdg_lanes_points_create(const struct boxhdg_lanes *lanes, const double *dirichlet,
                                        const double *neumann, struct boxhdg_lanes_points **points) {
    facet_status status = FACET_OK;
    const struct box_plan *plan = &lanes->plan;
    TRY(CALLOC(*points, 1));
    (*points)->lanes = lanes;
    if (!device_is_host(lanes->device) && plan->modes[0] > KERNEL_BOX_MAX_POINTS)
        FAIL(FACET_ERROR_INPUT, "cells at their points are for degrees below %d on the device '%s', not %d",
             KERNEL_BOX_MAX_POINTS, device_name(lanes->device), lanes->hdg->degree);
    TRY(make_matrices(*points));
    for (int axis = 0; axis < 3; axis++) {
        TRY(make_columns(*points, axis));
        for (int side = 0; plan->present[axis] && !plan->periodic[axis] && side < 2; side++) {
            const double *plain = plan->fixed[axis][side] ? dirichlet : neumann;
            if (plain != NULL) TRY(make_side(*points, axis, side, plain));
        }
    }
done:
    if (status != FACET_OK) boxhdg_lanes_points_destroy(points);
    return status;
}

void boxhdg_lanes_points_destroy(struct boxhdg_lanes_points **points) {
    struct boxhdg_lanes_points *p = *points;
    if (p == NULL) return;
    for (int i = 0; i < p->n_owned; i++) device_free(p->lanes->device, &p->owned[i]);
    base_free(points);
}

void boxhdg_lanes_load(const struct boxhdg_lanes_points *p, const struct vector *f, struct vector *F) {
    device_box_load(p->lanes->device, &p->lanes->plan, &p->points, f != NULL ? f->data : NULL, F->data);
}

void boxhdg_lanes_recover(const struct boxhdg_lanes_points *p, const struct vector *trace,
                          const struct vector *f, struct vector *u) {
    device_box_recover(p->lanes->device, &p->lanes->plan, &p->points, trace->data, f != NULL ? f->data : NULL,
                       u->data);
}

facet_status boxhdg_lanes_solve(const struct boxhdg_lanes_points *p, struct boxhdg_solver *solver,
                                const struct vector *f, struct vector *u, const struct solve_control *control,
                                struct solve_report *report, double seconds[3]) {
    facet_status status = FACET_OK, solved;
    const struct device *device = p->lanes->device;
    struct vector *F, *trace;
    double clock[4] = {base_seconds()};
    (void)boxhdg_solver_lanes(solver, &F, &trace);
    boxhdg_lanes_load(p, f, F);
    vector_fill(trace, 0.0);
    TRY(device_check(device)); /* waits, so that times are those of the parts */
    clock[1] = base_seconds();
    solved = boxhdg_solver_solve_lanes(solver, control, report);
    if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) TRY(solved);
    clock[2] = base_seconds();
    boxhdg_lanes_recover(p, trace, f, u);
    TRY(device_check(device));
    clock[3] = base_seconds();
    for (int i = 0; seconds != NULL && i < 3; i++) seconds[i] = clock[i + 1] - clock[i];
    status = solved;
done:
    return status;
}
