/* Loops over cells, points and data, evaluation and errors. */
#include "box/cells.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "box/contract.h"
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

int box_cell_points(const struct box_grid *g, const int at[3], const int counts[3], const double *const x[3],
                    double *points) {
    int n = 1;
    for (int d = 0; d < g->dim; d++) n *= counts[d];
    for (int i = 0; i < n; i++)
        for (int d = 0, rest = i; d < g->dim; rest /= counts[d++]) {
            double xi = x[d][rest % counts[d]];
            *points++ = xi == 1.0 ? g->coordinates[d][at[d] + 1]
                                  : g->coordinates[d][at[d]] + g->widths[d][at[d]] * xi;
        }
    return n;
}

void box_all_points(const struct box_grid *g, int n, const double *x, double *points) {
    const int counts[3] = {n, n, n};
    const double *const all[3] = {x, x, x};
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        int at[3];
        box_cell_at(g, cell, at);
        points += g->dim * box_cell_points(g, at, counts, all, points);
    }
}

facet_status box_source_values(const struct box_grid *g, int64_t cell, const struct box_given *given,
                               int count, const double *points, double *work, double *values) {
    facet_status status = FACET_OK;
    int dim = g->dim;
    double *hessians = work + count * dim, k = box_conductivity(g, cell), lambda = box_reaction(g, cell);
    if (given->source != NULL)
        return base_wrap(field_eval(given->source, count, dim, points, values), "source");
    TRY(base_wrap(field_eval_jet(given->exact, 0, count, dim, points, values, work, hessians), "exact"));
    for (int i = 0; i < count; i++) {
        double laplacian = 0.0;
        for (int d = 0; d < dim; d++) laplacian += hessians[(i * dim + d) * dim + d];
        values[i] = lambda * values[i] - k * laplacian;
    }
done:
    return status;
}

facet_status box_side_values(const struct box_grid *g, int64_t cell, const struct box_given *given, int d,
                             int side, int count, const double *points, double *work, double *values) {
    const struct field *field = given->boundary[d][side];
    double k = side ? box_conductivity(g, cell) : -box_conductivity(g, cell);
    int plain = field != NULL || g->sides[d][side] == BOX_DIRICHLET;
    facet_status status =
        plain ? field_eval(field != NULL ? field : given->exact, count, g->dim, points, values)
              : field_eval_jet(given->exact, 0, count, g->dim, points, values, work, NULL);
    for (int i = 0; status == FACET_OK && !plain && i < count; i++) values[i] = k * work[i * g->dim + d];
    return base_wrap(status, "side %c%s", "xyz"[d], side ? "max" : "min");
}

facet_status box_check_balance(double sum, double scale) {
    if (fabs(sum) <= 1e-4 * scale) return FACET_OK;
    return base_fail(
        FACET_ERROR_INPUT,
        "with Neumann or periodic conditions everywhere and no reaction, the source and the boundary fluxes "
        "must balance, but they sum to %.6g (of %.6g in absolute terms); subtract it, or give a Dirichlet "
        "part",
        sum, scale);
}

/* ------------------------------------------------------------------------------------- functions */

static int64_t room_for(int dim, int n, const int counts[3]) {
    int64_t room = 1;
    for (int d = 0; d < dim; d++) room *= counts[d] > n ? counts[d] : n;
    return room + BOX_SLACK;
}

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

facet_status box_evaluate(const struct box_function *f, const struct box_places *p, double *values) {
    facet_status status = FACET_OK;
    const int one[3] = {1, 1, 1}, *counts = p->counts != NULL ? p->counts : one;
    int dim = f->dim, n[3] = {0};
    int64_t all = 1, most = 0, room = room_for(dim, f->n, counts);
    const double *tables[3] = {NULL}, *slopes[3] = {NULL};
    double *store = NULL, *work = NULL, *x, *to;
    for (int d = 0; d < dim; d++) {
        n[d] = p->counts != NULL ? p->counts[d] : p->n;
        all *= counts[d];
        most += n[d];
    }
    TRY(ALLOC(store, most * (2 * f->n + 1)));
    TRY(CALLOC(work, 2 * room + all * f->components));
    x = store + 2 * most * f->n;
    to = store;
    for (int d = 0; d < dim; to += n[d++] * f->n) {
        tables[d] = to;
        slopes[d] = to += n[d] * f->n;
        for (int i = 0; i < n[d]; i++) x[i] = p->counts != NULL ? p->x[d][i] : p->xi[i * dim + d];
        TRY(f->tabulate(f, d, n[d], x, (double *)tables[d], (double *)slopes[d]));
    }
    double *result = work + 2 * room;
    for (int i = 0; p->counts == NULL && i < p->n; i++) {
        evaluate(f, counts, tables, slopes, work, values + (int64_t)i * f->components);
        for (int d = 0; d < dim; d++) {
            tables[d] += f->n;
            slopes[d] += f->n;
        }
    }
    if (p->counts == NULL) goto done;
    evaluate(f, counts, tables, slopes, work, result);
    for (int64_t i = 0; i < all; i++)
        memcpy(values + (p->order != NULL ? p->order[i] : i) * f->components, result + i * f->components,
               (size_t)f->components * sizeof *values);
done:
    base_free(&store);
    base_free(&work);
    return status;
}

/* ------------------------------------------------------------------------------------- errors */

struct error_job {
    const struct box_measure *measure;
    double (*cells)[BOX_MAX_FIELDS + 1]; /* squares of the fields, the largest of the first */
};

static facet_status error_work(int64_t cell, const int at[3], double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct error_job *job = user;
    const struct box_measure *m = job->measure;
    const struct box_grid *g = m->grid;
    int dim = g->dim, n = m->n_points, counts[3] = {n, n, n}, points = (int)box_power(n, dim);
    const double *const x[3] = {m->x, m->x, m->x};
    double *local = scratch, *at_points = local + m->room, *exact = at_points + points * dim,
           *gradients = exact + points, *weights = gradients + points * dim, *values = weights + points,
           *work = values + points * dim;
    struct box_function fields[BOX_MAX_FIELDS];
    const double *tables[BOX_MAX_FIELDS][3] = {{NULL}}, *slopes[BOX_MAX_FIELDS][3] = {{NULL}};
    double volume = 1.0;
    for (int d = 0; d < dim; d++) volume *= g->widths[d][at[d]];
    for (int i = 0; i < points; i++) {
        weights[i] = volume;
        for (int d = 0, rest = i; d < dim; d++, rest /= n) weights[i] *= m->weights[rest % n];
    }
    box_cell_points(g, at, counts, x, at_points);
    TRY(base_wrap(field_eval_jet(m->exact, 0, points, dim, at_points, exact, gradients, NULL), "exact"));
    for (int i = 0; i < points * dim; i++) gradients[i] *= -box_conductivity(g, cell);
    m->describe(m->user, cell, at, local, fields, tables, slopes);
    for (int f = 0; f < m->n_fields; f++) {
        int components = fields[f].components;
        const double *other = f % 2 == 0 ? exact : gradients;
        evaluate(&fields[f], counts, tables[f], slopes[f], work, values);
        double square = 0.0, largest = 0.0;
        for (int i = 0; i < points; i++)
            for (int c = i * components; c < (i + 1) * components; c++) {
                double error = values[c] - other[c];
                square += weights[i] * error * error;
                if (f == 0 && fabs(error) > largest) largest = fabs(error);
            }
        job->cells[cell][f] = square;
        if (f == 0) job->cells[cell][m->n_fields] = largest;
    }
done:
    return status;
}

facet_status box_measure(const struct box_measure *m, double *L2, double *Linf) {
    facet_status status = FACET_OK;
    struct error_job job = {.measure = m};
    int dim = m->grid->dim;
    int64_t points = box_power(m->n_points, dim);
    TRY(CALLOC(job.cells, m->grid->n_cells));
    TRY(box_for_cells(m->grid, points, 0, m->room + points * (3 * dim + 2) + 2 * (points + BOX_SLACK),
                      error_work, &job));
    *Linf = 0.0;
    for (int f = 0; f < m->n_fields; f++) L2[f] = 0.0;
    for (int64_t cell = 0; cell < m->grid->n_cells; cell++) {
        for (int f = 0; f < m->n_fields; f++) L2[f] += job.cells[cell][f];
        *Linf = fmax(*Linf, job.cells[cell][m->n_fields]);
    }
    for (int f = 0; f < m->n_fields; f++) L2[f] = sqrt(L2[f]);
done:
    base_free(&job.cells);
    return status;
}
