/* One cell at a time: the algebra of boxhdg/boxhdg.h on gathered sums and differences of opposite faces. */
#include "boxhdg/work.h"

#include <string.h>

#include "base/memory.h"

static const double zero[1] = {0.0}, one[1] = {1.0};

void boxhdg_at_set(const struct boxhdg *h, int64_t cell, struct boxhdg_at *at) {
    const struct box_grid *g = &h->grid;
    *at = (struct boxhdg_at){.h = h, .cell = cell, .V = 1.0};
    box_cell_at(g, cell, at->at);
    at->reaction = boxhdg_metric(h, at->at, at->a);
    at->k = box_conductivity(g, cell);
    for (int d = 0; d < 3; d++) {
        if (d >= g->dim) {
            at->extent[d] = 1;
            at->b[d] = at->eigenvalues[d] = at->slopes[d] = zero;
            at->ends[d] = at->moments[d] = one;
            continue;
        }
        const struct box_line *line = boxhdg_line(h, d, at->at[d]);
        const struct box_table *table = boxhdg_table(h, d, at->at[d]);
        at->lines[d] = h->column_line[d][at->at[d]];
        at->extent[d] = h->n;
        at->V *= 0.5 * g->widths[d][at->at[d]];
        at->inverse[d] = 2.0 / g->widths[d][at->at[d]];
        at->b[d] = line->b;
        at->eigenvalues[d] = line->eigenvalues;
        at->ends[d] = table->ends;
        at->slopes[d] = table->slopes;
        at->moments[d] = table->moments;
        at->tables[d] = table;
        for (int side = 0; side < 2; side++) at->faces[d][side] = box_face(g, at->at, d, side) * h->face_size;
    }
}

int64_t boxhdg_solution_place(const struct boxhdg_solution *s, int64_t cell) {
    int64_t low = 0, high = s->n_cells;
    if (s->cells == NULL) return cell;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (s->cells[middle] <= cell)
            low = middle;
        else
            high = middle;
    }
    return high > low && s->cells[low] == cell ? low : -1;
}

static void set_place(const struct boxhdg *h, int64_t place, struct boxhdg_at *at) {
    int dim = h->grid.dim;
    at->cell = place;
    for (int i = 0; i < 2 * dim; i++) at->faces[i / 2][i % 2] = (place * 2 * dim + i) * h->face_size;
}

void boxhdg_at_find(const struct boxhdg *h, const struct boxhdg_solution *s, int64_t cell,
                    struct boxhdg_at *at) {
    boxhdg_at_set(h, cell, at);
    if (s->cells != NULL) set_place(h, boxhdg_solution_place(s, cell), at);
}

double boxhdg_at_area(const struct boxhdg_at *at, int d) {
    return at->V * at->inverse[d];
}

void boxhdg_at_gather(const struct boxhdg_at *at, const double *trace, double *v) {
    int64_t size = at->h->face_size;
    int dim = at->h->grid.dim;
    for (int d = 0; d < dim; d++) {
        const double *low = trace + at->faces[d][0], *high = trace + at->faces[d][1];
        double *sum = v + 2 * d * size, *difference = sum + size;
        for (int64_t i = 0; i < size; i++) {
            sum[i] = high[i] + low[i];
            difference[i] = high[i] - low[i];
        }
    }
    memset(v + 2 * dim * size, 0, (size_t)(2 * (3 - dim) * size) * sizeof *v);
}

void boxhdg_at_scatter(const struct boxhdg_at *at, const double *r, const double factor[3], double *trace) {
    int64_t size = at->h->face_size;
    for (int d = 0; d < at->h->grid.dim; d++) {
        double *low = trace + at->faces[d][0], *high = trace + at->faces[d][1];
        const double *sum = r + 2 * d * size, *difference = sum + size;
        for (int64_t i = 0; i < size; i++) high[i] += factor[d] * (sum[i] + difference[i]);
        for (int64_t i = 0; i < size; i++) low[i] += factor[d] * (sum[i] - difference[i]);
    }
}

void boxhdg_at_reduce(const struct boxhdg_at *at, const double *const c[3], const double *u, double *r) {
    const int64_t size = at->h->face_size;
    const int n = at->h->n, even = (n + 1) / 2, dim = at->h->grid.dim;
    for (int d = 0; d < dim; d++) {
        const int64_t inner = box_power(n, d), outer = box_power(n, dim - 1 - d);
        double *to = r + 2 * d * size;
        box_contract(outer, 1, even, inner, c[d], u, n * inner, to, inner);
        box_contract(outer, 1, n - even, inner, c[d] + even, u + even * inner, n * inner, to + size, inner);
    }
    memset(r + 2 * dim * size, 0, (size_t)(2 * (3 - dim) * size) * sizeof *r);
}

double boxhdg_at_integral(const struct boxhdg_at *at, int d, const double *modes) {
    int first = d == 0, second = d == 2 ? 1 : 2; /* the tangential directions; a face is a plane of rows */
    const double *weights[3] = {at->moments[first], at->moments[second], one};
    int extent[3] = {at->extent[first], at->extent[second], 1};
    return box_weigh(extent, weights, modes);
}

facet_status boxhdg_tabulate(const void *user, int line, int n_points, const double *x, double *values,
                             double *slopes) {
    const struct boxhdg *h = user;
    for (int q = 0; q < n_points; q++) slopes[q] = 2.0 * x[q] - 1.0;
    return box_legendre_evaluate(h->n, h->lines[line].S, n_points, slopes, values, NULL);
}

facet_status boxhdg_tabulate_all(const struct boxhdg *h, int n_points, const double *x, double **values) {
    facet_status status = FACET_OK;
    double *slopes = NULL;
    TRY(ALLOC(*values, (int64_t)h->n_lines * n_points * h->n));
    TRY(ALLOC(slopes, n_points * h->n));
    for (int line = 0; line < h->n_lines; line++)
        TRY(boxhdg_tabulate(h, line, n_points, x, *values + (int64_t)line * n_points * h->n, slopes));
done:
    base_free(&slopes);
    return status;
}

facet_status boxhdg_samples_create(const struct boxhdg *h, int n_points, struct box_samples *samples) {
    return box_samples_create(h->n, n_points, h->n_lines, boxhdg_tabulate, h, samples);
}

/* ------------------------------------------------------------------------------------- loops */

struct loop {
    const struct boxhdg *h;
    boxhdg_work work;
    void *user;
};

static facet_status do_cell(int64_t cell, const int place[3], double *scratch, void *user) {
    const struct loop *loop = user;
    struct boxhdg_at at;
    (void)place;
    boxhdg_at_set(loop->h, cell, &at);
    return loop->work(&at, scratch, loop->user);
}

facet_status boxhdg_for_cells(const struct boxhdg *h, int layers, int64_t size, boxhdg_work work,
                              void *user) {
    struct loop loop = {h, work, user};
    return box_for_cells(&h->grid, h->cell_size, layers, size, do_cell, &loop);
}

facet_status boxhdg_for_solution(const struct boxhdg *h, const struct boxhdg_solution *s, int64_t size,
                                 boxhdg_work work, void *user) {
    struct base_collector failures;
    if (s->cells == NULL) return boxhdg_for_cells(h, 0, size, work, user);
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads_for(s->n_cells * h->cell_size))
    {
        struct boxhdg_at at;
        double *scratch = NULL;
        facet_status mine = CALLOC(scratch, size);
        base_collect(&failures, -1, mine);
#pragma omp for
        for (int64_t i = 0; i < s->n_cells; i++) {
            if (mine != FACET_OK) continue;
            boxhdg_at_set(h, s->cells[i], &at);
            set_place(h, i, &at);
            base_collect(&failures, i, work(&at, scratch, user));
        }
        base_free(&scratch);
    }
    return base_collected(&failures);
}

/* The faces of all sides of one kind: trace = from (NULL: zero), or trace += from. */
static void set_sides(const struct boxhdg *h, enum box_side kind, int add, const double *from,
                      double *trace) {
    const struct box_grid *g = &h->grid;
    for (int d = 0; d < g->dim; d++) {
        int64_t inner = h->face_size, outer = 1;
        for (int t = 0; t < g->dim; t++) *(t < d ? &inner : &outer) *= t == d ? 1 : g->cells[t];
        for (int64_t i = 0; i < 2 * outer; i++) {
            int side = (int)(i % 2), plane = side * g->cells[d];
            int64_t first = g->first_face[d] * h->face_size + (i / 2 * g->planes[d] + plane) * inner;
            if (g->sides[d][side] != kind) continue;
            for (int64_t j = first; j < first + inner; j++)
                trace[j] = (add ? trace[j] : 0.0) + (from != NULL ? from[j] : 0.0);
        }
    }
}

void boxhdg_add_dirichlet(const struct boxhdg *h, const double *dirichlet, double *trace) {
    set_sides(h, BOX_DIRICHLET, 0, dirichlet, trace);
}
