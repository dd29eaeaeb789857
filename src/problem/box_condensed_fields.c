/* Fields and errors of the condensed continuous method on boxes. */
#include "problem/box_condensed.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/rule.h"

/* u, or q with its components together, at counts[d] coordinates of [0, 1] in the directions of a cell. */
static facet_status at_product(const struct facet_solver *s, int64_t cell, const int counts[3],
                               const double *const coordinates[3], double *u, double *q) {
    facet_status status = FACET_OK;
    const struct box_condensed *h = s->box->condensed->space;
    struct box_condensed_lattice lattice = {0};
    int dim = h->grid.dim, at[3], n = 1, m[3] = {1, 1, 1};
    double *x = NULL, *components = NULL;
    const double *lines[3] = {NULL};
    for (int d = 0; d < dim; d++) {
        m[d] = counts[d];
        n *= m[d];
    }
    TRY(ALLOC(x, dim * n));
    for (int d = 0; d < dim; d++) {
        lines[d] = x + d * n;
        for (int i = 0; i < m[d]; i++) x[d * n + i] = 2.0 * coordinates[d][i] - 1.0;
    }
    if (q != NULL) TRY(ALLOC(components, dim * n));
    TRY(box_condensed_lattice_create(h, m, lines, &lattice));
    box_cell_at(&h->grid, cell, at);
    TRY(box_condensed_evaluate(h, s->box->condensed->u, at, &lattice, u, components));
    for (int i = 0; q != NULL && i < n; i++)
        for (int d = 0; d < dim; d++) q[i * dim + d] = components[d * n + i];
done:
    box_condensed_lattice_destroy(&lattice);
    base_free(&x);
    base_free(&components);
    return status;
}

facet_status condensed_evaluate(const struct facet_solver *s, enum hdg_field field, int32_t cell,
                                const struct backend_points *points, double *values) {
    facet_status status = FACET_OK;
    int dim = points->dim, components = field == HDG_Q ? dim : 1, product = points->counts[0] > 0;
    int64_t number = s->box->data.cells[cell];
    double *all = NULL;
    for (int i = 0; i < points->n && !product; i++) {
        const double *xi = points->xi + i * dim, *at[3] = {xi, xi + 1, xi + 2};
        double *value = values + i * components;
        TRY(at_product(s, number, (const int[3]){1, 1, 1}, at, field == HDG_Q ? NULL : value,
                       field == HDG_Q ? value : NULL));
    }
    if (!product) goto done;
    TRY(ALLOC(all, points->n * components));
    TRY(at_product(s, number, points->counts, (const double *const *)points->coordinates,
                   field == HDG_Q ? NULL : all, field == HDG_Q ? all : NULL));
    for (int i = 0; i < points->n; i++)
        memcpy(values + points->places[i] * components, all + i * components,
               (size_t)components * sizeof *values);
done:
    base_free(&all);
    return status;
}

/* Gauss points of [0, 1], more than the degree needs. */
struct line {
    int m;
    double x[BOX_MAX_DEGREE + 1 + EXTRA_POINTS], w[BOX_MAX_DEGREE + 1 + EXTRA_POINTS];
};

static facet_status line_create(const struct box_condensed *h, struct line *line) {
    line->m = h->n + EXTRA_POINTS;
    facet_status status = rule_gauss_jacobi(line->m, 0.0, 0.0, line->x, line->w);
    for (int i = 0; i < line->m; i++) {
        line->x[i] = 0.5 * (1.0 + line->x[i]);
        line->w[i] *= 0.5;
    }
    return status;
}

/* u at the points of a cell (d = -1), or of its face normal to d at `end` 0 or 1: values, the places x and
 * the weights, whose sum is the volume or area. Returns the number of points through *n. */
static facet_status on_lines(const struct facet_solver *s, int64_t cell, int d, double end,
                             const struct line *line, int *n, double *values, double *weights, double *x) {
    const struct box_grid *g = &s->box->condensed->space->grid;
    const double *coordinates[3] = {line->x, line->x, line->x};
    int counts[3] = {line->m, line->m, line->m}, at[3];
    if (d >= 0) {
        counts[d] = 1;
        coordinates[d] = &end;
    }
    *n = 1;
    for (int a = 0; a < g->dim; a++) *n *= counts[a];
    box_cell_at(g, cell, at);
    for (int i = 0; i < *n; i++) {
        weights[i] = 1.0;
        for (int a = 0, rest = i; a < g->dim; a++) {
            int k = rest % counts[a];
            if (a != d) weights[i] *= line->w[k] * g->widths[a][at[a]];
            x[i * g->dim + a] = g->coordinates[a][at[a]] + coordinates[a][k] * g->widths[a][at[a]];
            rest /= counts[a];
        }
    }
    return at_product(s, cell, counts, coordinates, values, NULL);
}

/* Room for the three arrays of on_lines and one more like the values. */
static facet_status lines_room(const struct box_condensed *h, const struct line *line, double **room,
                               int64_t *size) {
    *size = 1;
    for (int d = 0; d < h->grid.dim; d++) *size *= line->m;
    return ALLOC(*room, *size * (3 + h->grid.dim));
}

facet_status condensed_mean_trace(const struct facet_solver *s, int32_t cell, double *mean) {
    facet_status status = FACET_OK;
    const struct box_condensed *h = s->box->condensed->space;
    struct line line;
    int64_t size;
    double *u = NULL;
    TRY(line_create(h, &line));
    TRY(lines_room(h, &line, &u, &size));
    mean[0] = 0.0;
    for (int f = 0; f < 2 * h->grid.dim; f++) {
        int n;
        double integral = 0.0, area = 0.0, *weights = u + size;
        TRY(on_lines(s, s->box->data.cells[cell], f / 2, f % 2, &line, &n, u, weights, weights + 2 * size));
        for (int i = 0; i < n; i++) {
            integral += weights[i] * u[i];
            area += weights[i];
        }
        mean[0] += integral / area / (2 * h->grid.dim);
    }
done:
    base_free(&u);
    return status;
}

/* The error of u in a cell, or on one of its faces: the largest, and the integral of its square. */
static facet_status add_error(const struct facet_solver *s, int64_t cell, int d, int side,
                              const struct line *line, int64_t size, double *room, double *largest,
                              double *square) {
    facet_status status = FACET_OK;
    double *u = room, *weights = u + size, *exact = weights + size, *x = exact + size;
    int n;
    TRY(on_lines(s, cell, d, side, line, &n, u, weights, x));
    TRY(field_eval(s->problem->exact, n, s->problem->mesh->dim, x, exact));
    for (int i = 0; i < n; i++) {
        double e = fabs(u[i] - exact[i]);
        *largest = fmax(*largest, e);
        *square += weights[i] * e * e;
    }
done:
    return status;
}

/* Each face counts once, with the cell above it; those at the end of a direction that does not close with the
 * one below. */
facet_status condensed_measure_errors(const struct facet_solver *s, struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    const struct condensed_backend *c = s->box->condensed;
    const struct box_grid *g = &c->space->grid;
    struct line line;
    int64_t size;
    double *room = NULL, trace = 0.0, unused = 0.0;
    *errors = (struct hdg_errors){.u_star_L2 = -1.0, .q_star_L2 = -1.0};
    TRY(box_condensed_errors(c->space, c->u, s->problem->exact, NULL, &errors->u_L2, &errors->q_L2));
    TRY(line_create(c->space, &line));
    TRY(lines_room(c->space, &line, &room, &size));
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        int at[3];
        box_cell_at(g, cell, at);
        TRY(add_error(s, cell, -1, 0, &line, size, room, &errors->u_Linf, &unused));
        for (int d = 0; d < g->dim; d++) {
            int last = at[d] == g->cells[d] - 1 && g->sides[d][1] != BOX_PERIODIC;
            for (int side = 0; side <= last; side++)
                TRY(add_error(s, cell, d, side, &line, size, room, &unused, &trace));
        }
    }
    errors->trace_L2 = sqrt(trace);
done:
    base_free(&room);
    return status;
}
