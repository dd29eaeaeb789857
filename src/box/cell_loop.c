/* Loops over cells, points and data, evaluation and errors. */
#include "box/cell_loop.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "poly/rule.h"

/* ------------------------------------------------------------------------------------- the loop */

int box_layers(const struct box_grid *g, struct box_layers *layers) {
    int d = g->dim - 1;
    for (int t = d - 1; t >= 0; t--)
        if (g->cells[t] > g->cells[d]) d = t;
    *layers = (struct box_layers){.count = g->cells[d], .inner = 1};
    for (int t = 0; t < d; t++) layers->inner *= g->cells[t];
    layers->size = g->n_cells / layers->count;
    return d;
}

struct loop {
    const struct box_grid *grid;
    box_work work;
    void *user;
    double *scratch;
    int64_t slot;
    struct base_collector failures;
};

static void do_cell(struct loop *loop, int64_t cell) {
    int at[3];
    if (base_collector_failed(&loop->failures)) return;
    box_cell_at(loop->grid, cell, at);
    base_collect(&loop->failures, cell,
                 loop->work(cell, at, loop->scratch + omp_get_thread_num() * loop->slot, loop->user));
}

static void do_layers(struct loop *loop, int threads) {
    struct box_layers layers;
    box_layers(loop->grid, &layers);
    for (int colour = 0; colour < 3; colour++) {
        int first, end;
        box_layers_colour(&layers, colour, &first, &end);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
        for (int l = first; l < end; l += 2)
            for (int64_t i = 0; i < layers.size; i++) do_cell(loop, box_layers_cell(&layers, l, i));
    }
}

facet_status box_for_cells(const struct box_grid *g, int64_t cell_size, int layers, int64_t room,
                           box_work work, void *user) {
    facet_status status = FACET_OK;
    int threads = base_threads_for(g->n_cells * cell_size);
    struct loop loop = {.grid = g, .work = work, .user = user, .slot = (room + 2 * BOX_SLACK + 7) / 8 * 8};
    base_collector_init(&loop.failures);
    TRY(CALLOC(loop.scratch, loop.slot * threads));
    if (layers)
        do_layers(&loop, threads);
    else {
        int64_t chunk = 1 + (g->n_cells - 1) / (64 * (int64_t)threads);
#pragma omp parallel for num_threads(threads) schedule(dynamic, chunk)
        for (int64_t c = 0; c < g->n_cells; c++) do_cell(&loop, c);
    }
    status = base_collected(&loop.failures);
done:
    base_free(&loop.scratch);
    return status;
}

/* ------------------------------------------------------------------------------------- points and data */

facet_status box_gauss(int n, double *x, double *weights) {
    facet_status status = rule_gauss_jacobi(n, 0.0, 0.0, x, weights);
    for (int q = 0; status == FACET_OK && q < n; q++) {
        x[q] = 0.5 * (1.0 + x[q]);
        weights[q] *= 0.5;
    }
    return status;
}

static double place(const struct box_grid *g, const int at[3], int d, double xi) {
    return xi == 1.0 ? g->coordinates[d][at[d] + 1] : g->coordinates[d][at[d]] + g->widths[d][at[d]] * xi;
}

struct expr_grid box_cell_lines(const struct box_grid *g, const int at[3], const int counts[3],
                                const double *const x[3], double lines[3][BOX_MAX_LINE]) {
    struct expr_grid grid = {.dim = g->dim};
    for (int d = 0; d < g->dim; d++) {
        grid.counts[d] = counts[d];
        grid.lines[d] = lines[d];
        for (int i = 0; i < counts[d]; i++) lines[d][i] = place(g, at, d, x[d][i]);
    }
    return grid;
}

/* f at the points of a cell, `count` in all: the source, or lambda u - k div grad u of the exact solution.
 * work: points, gradients and Hessians. */
static facet_status source_values(const struct box_grid *g, int64_t cell, const struct box_given *given,
                                  const struct expr_grid *grid, int count, double *work, double *values) {
    facet_status status = FACET_OK;
    int dim = g->dim;
    double *points = work, *hessians = work + 2 * count * dim, k = box_conductivity(g, cell),
           lambda = box_reaction(g, cell);
    work += count * dim;
    if (given->source != NULL) return base_wrap(field_eval_grid(given->source, grid, values), "source");
    expr_grid_points(grid, points);
    TRY(base_wrap(field_eval_jet(given->exact, 0, count, dim, points, values, work, hessians), "exact"));
    for (int i = 0; i < count; i++) {
        double laplacian = 0.0;
        for (int d = 0; d < dim; d++) laplacian += hessians[(i * dim + d) * dim + d];
        values[i] = lambda * values[i] - k * laplacian;
    }
done:
    return status;
}

/* u, or k grad u . n, at the points of a face on a side; there must be data or an exact solution. work:
 * points, and what field_gradient_inside takes; less than a cell has. */
static facet_status side_values(const struct box_grid *g, int64_t cell, const struct box_given *given, int d,
                                int side, const struct expr_grid *grid, int count, double *work,
                                double *values) {
    double *points = work;
    const struct field *field = given->boundary[d][side];
    double k = side ? box_conductivity(g, cell) : -box_conductivity(g, cell);
    int plain = field != NULL || g->sides[d][side] == BOX_DIRICHLET;
    const double normal[3] = {d == 0 ? 2 * side - 1 : 0, d == 1 ? 2 * side - 1 : 0,
                              d == 2 ? 2 * side - 1 : 0};
    double *inside = points + count * g->dim, *gradients = inside + count * g->dim;
    expr_grid_points(grid, points);
    facet_status status =
        plain ? field_eval_on(field != NULL ? field : given->exact, count, g->dim, points, 0, normal, values)
              : field_gradient_inside(given->exact, count, g->dim, points, 0, normal,
                                      g->widths[d][side ? g->cells[d] - 1 : 0], inside,
                                      gradients + count * g->dim, gradients);
    for (int i = 0; status == FACET_OK && !plain && i < count; i++) values[i] = k * gradients[i * g->dim + d];
    return base_wrap(status, "side %c%s", "xyz"[d], side ? "max" : "min");
}

int box_given_is_exact(const struct box_given *given) {
    int own = given->values != NULL || given->source != NULL;
    for (int i = 0; i < 6; i++) own |= given->boundary[i / 2][i % 2] != NULL;
    return given->exact != NULL && !own;
}

/* ------------------------------------------------------------------------------------- integrals */

void box_samples_destroy(struct box_samples *s) {
    base_free(&s->x);
    *s = (struct box_samples){0};
}

facet_status box_samples_create(int n, int n_points, int n_kinds, box_tabulate tabulate, const void *user,
                                struct box_samples *s) {
    facet_status status = FACET_OK;
    const int64_t size = (int64_t)n * n_points, all = n_kinds * size;
    *s = (struct box_samples){.n = n, .n_points = n_points};
    TRY(CALLOC(s->x, 2 * n_points + 3 * all));
    s->w = s->x + n_points;
    s->values = s->w + n_points;
    s->slopes = s->values + all;
    s->weighted = s->slopes + all;
    TRY(box_gauss(n_points, s->x, s->w));
    for (int kind = 0; kind < n_kinds; kind++) {
        double *values = s->values + kind * size, *weighted = s->weighted + kind * size;
        TRY(tabulate(user, kind, n_points, s->x, values, s->slopes + kind * size));
        for (int q = 0; q < n_points; q++)
            for (int i = 0; i < n; i++) weighted[i * n_points + q] = s->w[q] * values[q * n + i];
    }
done:
    if (status != FACET_OK) box_samples_destroy(s);
    return status;
}

static int64_t room_for(int dim, int n, const int counts[3]) {
    int64_t room = 1;
    for (int d = 0; d < dim && d < 3; d++) room *= counts[d] > n ? counts[d] : n;
    return room + BOX_SLACK;
}

/* Values and what they are contracted to; points, gradients and Hessians. */
int64_t box_integrate_room(const struct box_samples *s, int dim) {
    const int counts[3] = {s->n_points, s->n_points, s->n_points};
    return room_for(dim, s->n, counts) * (2 + 2 * dim + dim * dim);
}

facet_status box_integrate(const struct box_samples *s, const int kinds[3], const struct box_grid *g,
                           const struct box_given *given, int64_t cell, int d, int side, double *scratch,
                           double **integrals) {
    facet_status status = FACET_OK;
    const double one = 1.0, end = side, *T[3] = {NULL}, *x[3] = {NULL};
    int at[3], from[3] = {1, 1, 1}, to[3] = {1, 1, 1}, count = 1;
    for (int t = 0; t < g->dim; t++) {
        T[t] = t == d ? &one : s->weighted + (int64_t)kinds[t] * s->n * s->n_points;
        x[t] = t == d ? &end : s->x;
        from[t] = t == d ? 1 : s->n_points;
        to[t] = t == d ? 1 : s->n;
        count *= from[t];
    }
    int64_t room = room_for(g->dim, s->n, from);
    double *values = scratch, *other = values + room, *work = other + room, lines[3][BOX_MAX_LINE];
    box_cell_at(g, cell, at);
    struct expr_grid grid = box_cell_lines(g, at, from, x, lines);
    if (d >= 0)
        TRY(side_values(g, cell, given, d, side, &grid, count, work, values));
    else
        TRY(source_values(g, cell, given, &grid, count, work, values));
    *integrals = box_contract_all(g->dim, to, from, T, values, other);
done:
    return status;
}

void box_side_cell(const struct box_grid *g, int d, int side, int64_t i, int at[3]) {
    int slow = d == 2 ? 1 : 2, fast = d == 0 ? 1 : 0;
    at[d] = side ? g->cells[d] - 1 : 0;
    at[fast] = (int)(i % g->cells[fast]);
    at[slow] = (int)(i / g->cells[fast]);
}

facet_status box_integrate_side(const struct box_samples *s, const int *const kinds[3],
                                const struct box_grid *g, const struct box_given *given, int d, int side,
                                int by_area, double *faces) {
    const int64_t n = g->n_cells / g->cells[d], size = box_power(s->n, g->dim - 1);
    struct base_collector failures;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads_for(n *size))
    {
        double *scratch = NULL;
        facet_status mine = ALLOC(scratch, box_integrate_room(s, g->dim));
        base_collect(&failures, -1, mine);
#pragma omp for
        for (int64_t i = 0; i < n; i++) {
            int at[3], own[3] = {0};
            double *integrals;
            if (mine != FACET_OK) continue;
            box_side_cell(g, d, side, i, at);
            for (int t = 0; t < g->dim && kinds != NULL; t++) own[t] = kinds[t][at[t]];
            const facet_status status =
                box_integrate(s, own, g, given, box_cell(g, at), d, side, scratch, &integrals);
            const double area = by_area ? box_cell_volume(g, at) / g->widths[d][at[d]] : 1.0;
            for (int64_t j = 0; status == FACET_OK && j < size; j++)
                faces[i * size + j] = area * integrals[j];
            base_collect(&failures, i, status);
        }
        base_free(&scratch);
    }
    return base_collected(&failures);
}

/* The weight of point i of a rule on a cell of this volume. */
static double weight_of(const struct box_samples *s, int dim, int i, double volume) {
    for (int d = 0; d < dim; d++, i /= s->n_points) volume *= s->w[i % s->n_points];
    return volume;
}

struct mean_job {
    const struct box_grid *grid;
    const struct field *field;
    struct box_samples rule;
    double *integrals; /* of cells */
};

static facet_status mean_work(int64_t cell, const int at[3], double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct mean_job *job = user;
    const struct box_samples *s = &job->rule;
    const int dim = job->grid->dim, counts[3] = {s->n_points, s->n_points, s->n_points};
    const double *const x[3] = {s->x, s->x, s->x};
    double *values = scratch, lines[3][BOX_MAX_LINE], sum = 0.0;
    struct expr_grid grid = box_cell_lines(job->grid, at, counts, x, lines);
    TRY(base_wrap(field_eval_grid(job->field, &grid, values), "exact"));
    for (int i = 0; i < box_power(s->n_points, dim); i++) sum += weight_of(s, dim, i, 1.0) * values[i];
    job->integrals[cell] = sum * box_cell_volume(job->grid, at);
done:
    return status;
}

double box_volume(const struct box_grid *g) {
    double volume = 1.0;
    for (int d = 0; d < g->dim; d++) volume *= g->coordinates[d][g->cells[d]] - g->coordinates[d][0];
    return box_all(g, TEAM_SUM, volume);
}

facet_status box_field_mean(const struct box_grid *g, int n_points, const struct field *field, double *mean) {
    facet_status status = FACET_OK;
    struct mean_job job = {.grid = g, .field = field};
    int64_t size = box_power(n_points, g->dim);
    const double volume = box_volume(g);
    TRY(ALLOC(job.integrals, g->n_cells));
    TRY(box_samples_create(0, n_points, 0, NULL, NULL, &job.rule));
    TRY(box_for_cells(g, size, 0, size, mean_work, &job));
    *mean = 0.0;
    for (int64_t cell = 0; cell < g->n_cells; cell++) *mean += job.integrals[cell] / volume;
    *mean = box_all(g, TEAM_SUM, *mean);
done:
    base_free(&job.integrals);
    box_samples_destroy(&job.rule);
    return status;
}

/* ------------------------------------------------------------------------------------- functions */

/* At products of points with these tables; work: two rooms. */
static void evaluate(const struct box_function *f, const int counts[3], const double *const tables[3],
                     const double *const slopes[3], double *work, double *values) {
    int n[3] = {f->n, f->n, f->n};
    int64_t size = box_power(f->n, f->dim), points = 1;
    for (int d = 0; d < f->dim; d++) points *= counts[d];
    for (int c = 0; c < f->components; c++) {
        const double *T[3] = {NULL};
        for (int d = 0; d < f->dim; d++) T[d] = d == f->slope[c] ? slopes[d] : tables[d];
        memcpy(work, f->from[c], (size_t)size * sizeof *work);
        const double *result =
            box_contract_all(f->dim, counts, n, T, work, work + room_for(f->dim, f->n, counts));
        for (int64_t i = 0; i < points; i++) values[i * f->components + c] = f->factor[c] * result[i];
    }
}

/* Points that are no products are lattices of one point each. */
facet_status box_evaluate(const struct box_function *f, const struct box_places *p, double *values) {
    facet_status status = FACET_OK;
    const int one[3] = {1, 1, 1}, *counts = p->counts != NULL ? p->counts : one, dim = f->dim,
              sets = p->counts != NULL ? 1 : p->n;
    int64_t all = 1, most = 0, room = room_for(dim, f->n, counts), size = f->components;
    const double *tables[3] = {NULL}, *slopes[3] = {NULL};
    double *store = NULL, *work = NULL, *x, *to;
    for (int d = 0; d < dim; d++) {
        all *= counts[d];
        most += sets * counts[d];
    }
    TRY(ALLOC(store, most * (2 * f->n + 1)));
    TRY(ALLOC(work, 2 * room + all * size));
    x = store + 2 * most * f->n;
    to = store;
    for (int d = 0; d < dim; d++) {
        int n = sets * counts[d];
        tables[d] = to;
        slopes[d] = to + n * f->n;
        for (int i = 0; i < n; i++) x[i] = p->counts != NULL ? p->x[d][i] : p->xi[i * dim + d];
        TRY(f->tabulate(f->user, f->kinds[d], n, x, to, to + n * f->n));
        to += 2 * n * f->n;
    }
    for (int set = 0; set < sets; set++, values += size) {
        double *result = work + 2 * room;
        evaluate(f, counts, tables, slopes, work, result);
        for (int64_t i = 0; i < all; i++) {
            double *value = values + (p->order != NULL ? p->order[i] : i) * size;
            for (int64_t c = 0; c < size; c++) value[c] = result[i * size + c];
        }
        for (int d = 0; d < dim; d++) {
            tables[d] += f->n;
            slopes[d] += f->n;
        }
    }
done:
    base_free(&store);
    base_free(&work);
    return status;
}
