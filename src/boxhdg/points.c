/* Tables of the lines, and what is known on the sides of the box. */
#include "boxhdg/points.h"

#include <math.h>

#include "base/memory.h"
#include "boxhdg/work.h"

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

/* Values of the modes at the Gauss points; with weights, to modes and back. */
static facet_status make_matrices(struct boxhdg_lanes_points *p) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = p->lanes->hdg;
    int n = h->n, size = n * n;
    double *forward = NULL;
    struct box_samples samples = {0};
    TRY(boxhdg_samples_create(h, n, &samples));
    TRY(ALLOC(forward, h->n_lines * size));
    for (int64_t i = 0; i < (int64_t)h->n_lines * size; i++) forward[i] = 2.0 * samples.weighted[i];
    TRY(GIVE(p, forward, h->n_lines * size, &p->points.forward));
    TRY(GIVE(p, samples.values, h->n_lines * size, &p->points.backward));
    TRY(GIVE(p, h->weights, n, &p->points.weights));
    p->points.values = p->points.backward;
done:
    base_free(&forward);
    box_samples_destroy(&samples);
    return status;
}

/* Ends, moments, slopes and squares of the lines (kernels/box.h). */
static facet_status make_lines(struct boxhdg_lanes_points *p) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = p->lanes->hdg;
    int n = h->n, all = h->n_lines * n;
    double *numbers = NULL;
    TRY(CALLOC(numbers, 3 * all + 3 * h->n_lines));
    double *ends = numbers, *moments = ends + all, *slopes = moments + all, *squares = slopes + all,
           *rho = squares + 2 * h->n_lines;
    for (int l = 0; l < h->n_lines; l++) {
        const struct box_table *t = &h->tables[l];
        rho[l] = h->lines[l].rho;
        boxhdg_line_ends(t, slopes + l * n, squares + 2 * l);
        for (int i = 0; i < n; i++) {
            ends[l * n + i] = t->ends[i];
            moments[l * n + i] = t->moments[i];
        }
    }
    TRY(GIVE(p, ends, all, &p->points.ends));
    TRY(GIVE(p, moments, all, &p->points.moments));
    TRY(GIVE(p, slopes, all, &p->points.slopes));
    TRY(GIVE(p, squares, 2 * h->n_lines, &p->points.squares));
    TRY(GIVE(p, rho, h->n_lines, &p->points.rho));
done:
    base_free(&numbers);
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

/* One side: traces over b b, or loads times b b. whole: plain is a vector of the trace, else of this side. */
static facet_status make_side(struct boxhdg_lanes_points *p, int axis, int side, int whole,
                              const double *plain) {
    facet_status status = FACET_OK;
    const struct boxhdg_lanes *lanes = p->lanes;
    const struct box_plan *plan = &lanes->plan;
    int slow = axis == 0 ? 1 : 0, fast = axis == 2 ? 1 : 2, at[3], cell[3];
    int64_t size = plan->face[axis], n = (int64_t)plan->cells[slow] * plan->cells[fast] * size;
    double *values = NULL, *to;
    TRY(ALLOC(values, n));
    to = values;
    at[axis] = side ? plan->cells[axis] - 1 : 0;
    for (at[fast] = 0; at[fast] < plan->cells[fast]; at[fast]++)
        for (at[slow] = 0; at[slow] < plan->cells[slow]; at[slow]++, to += size) {
            boxhdg_lanes_place(lanes, at, cell);
            int64_t face = whole ? box_face(&lanes->hdg->grid, cell, lanes->direction[axis], side)
                                 : (int64_t)at[fast] * plan->cells[slow] + at[slow];
            const double *from = plain + face * size;
            for (int a = 0; a < plan->modes[slow]; a++)
                for (int b = 0; b < plan->modes[fast]; b++) {
                    int64_t t = box_face_mode(plan, slow, fast, a, b);
                    double scale = root(lanes, slow, at[slow], a) * root(lanes, fast, at[fast], b);
                    double value = from[lanes->order[axis][t]];
                    to[t] = plan->fixed[axis][side] ? value / scale : value * scale;
                }
        }
    if (p->sides[axis][side] == NULL)
        TRY(device_alloc(lanes->device, &p->sides[axis][side], (size_t)n, sizeof *values));
    TRY(device_upload(lanes->device, p->sides[axis][side], values, (size_t)n * sizeof *values));
    p->points.sides[axis][side] = p->sides[axis][side];
done:
    base_free(&values);
    return status;
}

facet_status boxhdg_lanes_points_set_side(struct boxhdg_lanes_points *p, int d, int side,
                                          const double *faces) {
    int axis = 0;
    while (p->lanes->direction[axis] != d) axis++;
    if (faces != NULL) return make_side(p, axis, side, 0, faces);
    p->points.sides[axis][side] = NULL;
    return FACET_OK;
}

void boxhdg_lanes_points_in_modes(struct boxhdg_lanes_points *p) {
    p->points.forward = p->points.backward = NULL;
}

facet_status boxhdg_lanes_points_create(const struct boxhdg_lanes *lanes, const double *dirichlet,
                                        const double *neumann, struct boxhdg_lanes_points **points) {
    facet_status status = FACET_OK;
    const struct box_plan *plan = &lanes->plan;
    TRY(CALLOC(*points, 1));
    (*points)->lanes = lanes;
    if (plan->modes[0] > device_box_modes(lanes->device))
        FAIL(FACET_ERROR_INPUT, "cells at their points are for degrees below %d on the device '%s', not %d",
             device_box_modes(lanes->device), device_name(lanes->device), lanes->hdg->degree);
    TRY(make_matrices(*points));
    TRY(make_lines(*points));
    for (int axis = 0; axis < 3; axis++) {
        TRY(make_columns(*points, axis));
        for (int side = 0; plan->present[axis] && !plan->periodic[axis] && side < 2; side++) {
            const double *plain = plan->fixed[axis][side] ? dirichlet : neumann;
            if (plain != NULL) TRY(make_side(*points, axis, side, 1, plain));
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
    for (int i = 0; i < 6; i++) device_free(p->lanes->device, &p->sides[i / 2][i % 2]);
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

/* Across seams outward fluxes of both cells of a face sum to nothing. Both blocks have the sum, and that with
 * the seam at its upper side counts it. Cells took these faces for a part of the boundary. */
static facet_status add_seam(const struct boxhdg_lanes *lanes, const double *there, double *worst,
                             double *missing, double *through) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = lanes->hdg;
    const struct box_grid *g = &h->grid;
    double *sums = NULL, *balance = NULL;
    if (h->seam == NULL) return FACET_OK;
    TRY(CALLOC(sums, g->n_faces));
    TRY(ALLOC(balance, KERNEL_BOX_BALANCE * g->n_cells));
    TRY(device_download(lanes->device, balance, there,
                        (size_t)(KERNEL_BOX_BALANCE * g->n_cells) * sizeof *there));
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < 6; i++) {
            const int axis = i / 2, side = i % 2, d = lanes->direction[axis];
            if (d < 0 || g->sides[d][side] != BOX_SEAM) continue;
            for (int64_t j = 0; j < g->n_cells / g->cells[d]; j++) {
                int at[3];
                box_side_cell(g, d, side, j, at);
                const int64_t face = box_face(g, at, d, side);
                const double flux = balance[box_cell(g, at) * KERNEL_BOX_BALANCE + 2 + i];
                if (pass == 0) {
                    sums[face] = flux;
                    *through -= 0.5 * fabs(flux);
                    continue;
                }
                *worst = fmax(*worst, fabs(sums[face]));
                *missing += side ? sums[face] : 0.0;
            }
        }
        if (pass == 0) TRY(boxhdg_add_seam_of_faces(h, sums));
    }
done:
    base_free(&sums);
    base_free(&balance);
    return status;
}

facet_status boxhdg_lanes_conservation(const struct boxhdg_lanes_points *p, const struct vector *trace,
                                       const struct vector *loads, const struct vector *u,
                                       struct solve_balance *result) {
    facet_status status = FACET_OK;
    const struct boxhdg_lanes *lanes = p->lanes;
    const struct box_grid *g = &lanes->hdg->grid;
    double *balance = NULL, *there = NULL, *here = NULL, worst = 0.0, largest = 0.0;
    double missing = 0.0, through = 0.0, square = 0.0;
    const size_t count = (size_t)(KERNEL_BOX_IMBALANCE * g->n_cells);
    TRY(device_alloc(lanes->device, &balance, (size_t)(KERNEL_BOX_BALANCE * g->n_cells), sizeof *balance));
    TRY(device_alloc(lanes->device, &there, count, sizeof *there));
    device_box_balance(lanes->device, &lanes->plan, &p->points, trace->data, loads->data, u->data, balance);
    device_box_imbalance(lanes->device, &lanes->plan, balance, there);
    TRY(ALLOC(here, KERNEL_BOX_IMBALANCE * g->n_cells));
    TRY(device_download(lanes->device, here, there, count * sizeof *here));
#pragma omp parallel for num_threads(base_threads_for(g->n_cells)) reduction(max : worst, largest)
    for (int64_t c = 0; c < g->n_cells; c++) {
        worst = fmax(worst, here[KERNEL_BOX_IMBALANCE * c]);
        largest = fmax(largest, here[KERNEL_BOX_IMBALANCE * c + 1]);
    }
    for (int64_t c = 0; c < g->n_cells; c++) { /* in one order */
        const double *of = here + KERNEL_BOX_IMBALANCE * c;
        square += of[1] * of[1];
        missing += of[2];
        through += 0.5 * of[3];
    }
    TRY(add_seam(lanes, balance, &worst, &missing, &through));
    worst = box_all(g, TEAM_MAX, worst);
    largest = box_all(g, TEAM_MAX, largest);
    *result = (struct solve_balance){.cells = largest > 0.0 ? worst / largest : 0.0,
                                     .missing = fabs(box_all(g, TEAM_SUM, missing)),
                                     .through = box_all(g, TEAM_SUM, through),
                                     .terms = sqrt(box_all(g, TEAM_SUM, square))};
done:
    device_free(lanes->device, &there);
    device_free(lanes->device, &balance);
    base_free(&here);
    return status;
}
