/* Boxes of Cartesian cells: numbering, and the refusal of data that make no sense. */
#include "box/box.h"

#include <math.h>

#include "base/memory.h"

#define UNIFORM_TOLERANCE 1e-12

void box_grid_destroy(struct box_grid *g) {
    for (int d = 0; d < 3; d++) {
        base_free(&g->coordinates[d]);
        base_free(&g->widths[d]);
    }
    base_free(&g->conductivity);
    base_free(&g->reaction);
    *g = (struct box_grid){0};
}

static facet_status make_direction(const struct box_grid_data *data, int d, struct box_grid *g) {
    facet_status status = FACET_OK;
    char axis = "xyz"[d];
    int n = g->cells[d] = d < data->dim ? data->cells[d] : 1;
    if (n < 1) FAIL(FACET_ERROR_INPUT, "a box needs at least 1 cell in direction %c, not %d", axis, n);
    TRY(ALLOC(g->coordinates[d], n + 1));
    TRY(ALLOC(g->widths[d], n));
    for (int i = 0; i <= n; i++)
        g->coordinates[d][i] = d < data->dim ? data->coordinates[d][i] : 2.0 * i - 1.0;
    g->uniform[d] = 1;
    for (int i = 0; i < n; i++) {
        double low = g->coordinates[d][i], high = g->coordinates[d][i + 1], h = high - low;
        g->widths[d][i] = h;
        if (!isfinite(low) || !isfinite(high) || !(h > 0.0))
            FAIL(FACET_ERROR_INPUT,
                 "cell %d of the box in direction %c runs from %g to %g: coordinates must be finite and "
                 "increase",
                 i, axis, low, high);
        if (fabs(h - g->widths[d][0]) > UNIFORM_TOLERANCE * (fabs(low) + fabs(high) + h)) g->uniform[d] = 0;
    }
    if (d >= data->dim) goto done;
    g->sides[d][0] = data->sides[d][0];
    g->sides[d][1] = data->sides[d][1];
    if ((g->sides[d][0] == BOX_PERIODIC) != (g->sides[d][1] == BOX_PERIODIC))
        FAIL(FACET_ERROR_INPUT, "direction %c is periodic on one side only", axis);
    g->planes[d] = n + (g->sides[d][0] != BOX_PERIODIC);
done:
    return status;
}

/* A copy of one number a cell, all finite and not negative, or positive. */
static facet_status copy_cells(const struct box_grid *g, const double *from, const char *what, int positive,
                               double **to) {
    facet_status status = FACET_OK;
    if (from == NULL) return FACET_OK;
    TRY(ALLOC(*to, g->n_cells));
    for (int64_t c = 0; c < g->n_cells; c++) {
        (*to)[c] = from[c];
        if (!isfinite(from[c]) || from[c] < 0.0 || (positive && from[c] == 0.0)) {
            int at[3];
            box_cell_at(g, c, at);
            FAIL(FACET_ERROR_INPUT, "the %s of cell (%d, %d, %d) is %g; it must be finite and %s", what,
                 at[0], at[1], at[2], from[c], positive ? "positive" : "not negative");
        }
    }
done:
    return status;
}

facet_status box_find_range(const struct box_grid_data *data, struct box_range *r) {
    facet_status status = FACET_OK;
    int64_t n_cells = 1;
    *r = (struct box_range){.softest = INFINITY, .least_reaction = INFINITY};
    for (int d = 0; d < data->dim; d++) {
        if (data->sides[d][0] == BOX_DIRICHLET || data->sides[d][1] == BOX_DIRICHLET) r->closed = 1.0;
        r->lower[d] = data->coordinates[d][0];
        r->upper[d] = data->coordinates[d][data->cells[d]];
        n_cells *= data->cells[d];
    }
    for (int64_t c = 0; c < n_cells; c++) {
        const double k = data->conductivity != NULL ? data->conductivity[c] : 1.0,
                     lambda = data->reaction != NULL ? data->reaction[c] : 0.0;
        r->stiffest = fmax(r->stiffest, k);
        r->softest = fmin(r->softest, k);
        r->reaction = fmax(r->reaction, lambda);
        r->least_reaction = fmin(r->least_reaction, lambda);
    }
    if (data->part == NULL) return FACET_OK;
    TRY(team_reduce(data->part->team, TEAM_MAX, 6, &r->closed));
    TRY(team_reduce(data->part->team, TEAM_MIN, 5, &r->softest));
done:
    return status;
}

facet_status box_grid_judge(struct box_grid *g) {
    facet_status status = FACET_OK;
    const struct box_range *r = &g->range;
    struct box_grid_data data = {
        .dim = g->dim, .conductivity = g->conductivity, .reaction = g->reaction, .part = g->part};
    for (int d = 0; d < 3; d++) {
        data.cells[d] = g->cells[d];
        data.coordinates[d] = g->coordinates[d];
        for (int i = 0; i < 2; i++) data.sides[d][i] = g->sides[d][i];
    }
    TRY(box_find_range(&data, &g->range));
    g->closed = r->closed > 0.0;
    g->separable = r->stiffest == r->softest && r->reaction == r->least_reaction;
    g->singular = !g->closed && r->reaction == 0.0;
done:
    return status;
}

facet_status box_grid_create(const struct box_grid_data *data, struct box_grid *g) {
    facet_status status = FACET_OK;
    *g = (struct box_grid){.dim = data->dim, .n_cells = 1, .part = data->part};
    if (data->dim < 1 || data->dim > 3)
        FAIL(FACET_ERROR_INPUT, "a box has 1, 2 or 3 dimensions, not %d", data->dim);
    for (int d = 0; d < 3; d++) {
        TRY(make_direction(data, d, g));
        g->n_cells *= g->cells[d];
    }
    for (int d = 0; d < 3; d++) {
        int64_t faces = d < g->dim ? g->n_cells / g->cells[d] * g->planes[d] : 0;
        g->first_face[d + 1] = g->n_faces += faces;
    }
    TRY(copy_cells(g, data->conductivity, "conductivity", 1, &g->conductivity));
    TRY(copy_cells(g, data->reaction, "reaction", 0, &g->reaction));
    TRY(box_grid_judge(g));
done:
    if (status != FACET_OK) box_grid_destroy(g);
    return status;
}

int64_t box_face(const struct box_grid *g, const int at[3], int d, int side) {
    int index[3] = {at[0], at[1], at[2]}, extent[3] = {g->cells[0], g->cells[1], g->cells[2]};
    extent[d] = g->planes[d];
    index[d] = (at[d] + side) % g->planes[d];
    return g->first_face[d] + ((int64_t)index[2] * extent[1] + index[1]) * extent[0] + index[0];
}

int box_plane_is_fixed(const struct box_grid *g, int d, int plane) {
    return (plane == 0 && g->sides[d][0] == BOX_DIRICHLET) ||
           (plane == g->cells[d] && g->sides[d][1] == BOX_DIRICHLET);
}

int box_same_direction(const struct box_grid *g, int d, int e) {
    if (d < 0 || e < 0 || d >= g->dim || e >= g->dim || g->cells[d] != g->cells[e]) return 0;
    for (int side = 0; side < 2; side++)
        if (g->sides[d][side] != g->sides[e][side]) return 0;
    for (int c = 0; c < g->cells[d]; c++)
        if (g->widths[d][c] != g->widths[e][c]) return 0;
    return 1;
}
