/* Data of a problem: loads, Dirichlet values, fluxes through Neumann sides, and a first guess. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxsem/cells.h"
#include "boxsem/levels.h"
#include "poly/basis.h"

/* ------------------------------------------------------------------------------------- source */

struct source_job {
    const struct boxsem *c;
    const struct box_given *data;
    double *nodes;
    struct boxsem_samples samples;
};

static facet_status source_work(int64_t cell, const int at[3], double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct source_job *job = user;
    const struct boxsem *c = job->c;
    const struct boxsem_samples *s = &job->samples;
    int dim = c->grid.dim, n = s->n_points, from[3] = {n, n, n}, to[3] = {c->n, c->n, c->n};
    int count = (int)box_power(n, dim);
    const double *T[3] = {s->weighted, s->weighted, s->weighted}, *x[3] = {s->x, s->x, s->x};
    int64_t room = boxsem_cell_room(c, n);
    double *values = scratch, *other = values + room, *points = other + room;
    if (job->data->values != NULL)
        memcpy(values, job->data->values + cell * count, sizeof *values * (size_t)count);
    else {
        box_cell_points(&c->grid, at, from, x, points);
        TRY(box_source_values(&c->grid, cell, job->data, count, points, points + count * dim, values));
    }
    double *loads = box_contract_all(dim, to, from, T, values, other);
    double volume = boxsem_cell_volume(c, at);
    for (int64_t i = 0; i < c->cell_size; i++) loads[i] *= volume;
    boxsem_cell_add(c, at, loads, job->nodes);
done:
    return status;
}

static facet_status add_source(const struct boxsem *c, const struct box_given *data, double *nodes) {
    facet_status status = FACET_OK;
    struct source_job job = {c, data, nodes, {0}};
    int dim = c->grid.dim;
    if (data->values == NULL && data->source == NULL && data->exact == NULL) return FACET_OK;
    TRY(boxsem_samples_create(c, data->values != NULL ? c->n : c->n + BOX_EXTRA_POINTS, &job.samples));
    int64_t room = boxsem_cell_room(c, job.samples.n_points);
    TRY(box_for_cells(&c->grid, c->cell_size, 1, room * (2 + 2 * dim + dim * dim), source_work, &job));
done:
    boxsem_samples_destroy(&job.samples);
    return status;
}

/* ------------------------------------------------------------------------------------- sides */

/* The coordinates of node i of direction d. */
static double node_place(const struct boxsem *c, int d, int i) {
    int cell = i / c->degree, local = i % c->degree;
    if (cell == c->grid.cells[d]) return c->grid.coordinates[d][cell];
    return c->grid.coordinates[d][cell] + c->grid.widths[d][cell] * c->element.nodes[local];
}

/* Dirichlet values at the nodes of a side. */
static facet_status interpolate_side(const struct boxsem *c, const struct box_given *data, int d, int side,
                                     double *nodes) {
    facet_status status = FACET_OK;
    const struct field *field = data->boundary[d][side] != NULL ? data->boundary[d][side] : data->exact;
    int dim = c->grid.dim, size[3] = {c->n_nodes[0], c->n_nodes[1], c->n_nodes[2]};
    double *x = NULL, *values = NULL;
    size[d] = 1;
    TRY(ALLOC(x, size[0] * dim));
    TRY(CALLOC(values, size[0]));
    for (int j2 = 0; j2 < size[2]; j2++)
        for (int j1 = 0; j1 < size[1]; j1++) {
            int at[3] = {0, j1, j2};
            for (int i = 0; i < size[0]; i++) {
                at[0] = i;
                if (side) at[d] = c->n_nodes[d] - 1;
                for (int t = 0; t < dim; t++) x[i * dim + t] = node_place(c, t, at[t]);
            }
            if (field != NULL)
                TRY(base_wrap(field_eval(field, size[0], dim, x, values), "side %c%s", "xyz"[d],
                              side ? "max" : "min"));
            for (int i = 0; i < size[0]; i++) {
                if (d > 0) at[0] = i;
                nodes[((int64_t)at[2] * c->n_nodes[1] + at[1]) * c->n_nodes[0] + at[0]] = values[i];
            }
        }
done:
    base_free(&x);
    base_free(&values);
    return status;
}

/* Adds <g, phi> over one face: the functions of the cell that do not vanish on it are those of its nodes. */
static facet_status add_face(const struct boxsem *c, const struct box_given *data,
                             const struct boxsem_samples *s, const int at[3], int d, int side, double *work,
                             double *nodes) {
    facet_status status = FACET_OK;
    int dim = c->grid.dim, n = s->n_points, from[3] = {1, 1, 1}, to[3] = {1, 1, 1};
    const double one = 1.0, end = side, *T[3], *at_points[3];
    int64_t room = boxsem_cell_room(c, n);
    double *values = work, *other = values + room, *x = other + room, area = 1.0;
    for (int t = 0; t < dim; t++) {
        T[t] = t == d ? &one : s->weighted;
        at_points[t] = t == d ? &end : s->x;
        from[t] = t == d ? 1 : n;
        to[t] = t == d ? 1 : c->n;
        if (t != d) area *= c->grid.widths[t][at[t]];
    }
    int count = box_cell_points(&c->grid, at, from, at_points, x);
    TRY(box_side_values(&c->grid, box_cell(&c->grid, at), data, d, side, count, x, x + count * dim, values));
    const double *loads = box_contract_all(dim, to, from, T, values, other);
    for (int i = 0; i < to[0] * to[1] * to[2]; i++) {
        int local[3] = {i % to[0], i / to[0] % to[1], i / to[0] / to[1]};
        int64_t node = 0;
        if (side) local[d] = c->degree;
        for (int t = 2; t >= 0; t--)
            node = node * c->n_nodes[t] + (at[t] * c->degree + local[t]) % c->n_nodes[t];
        nodes[node] += area * loads[i];
    }
done:
    return status;
}

static facet_status add_side(const struct boxsem *c, const struct box_given *data, int d, int side,
                             double *nodes) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &c->grid;
    struct boxsem_samples samples = {0};
    double *work = NULL;
    int size[3] = {g->cells[0], g->cells[1], g->cells[2]};
    if (data->boundary[d][side] == NULL && data->exact == NULL) return FACET_OK;
    TRY(boxsem_samples_create(c, c->n + BOX_EXTRA_POINTS, &samples));
    TRY(CALLOC(work, boxsem_cell_room(c, samples.n_points) * (2 + 2 * g->dim)));
    size[d] = 1;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                int at[3] = {x, y, z};
                if (side) at[d] = g->cells[d] - 1;
                TRY(add_face(c, data, &samples, at, d, side, work, nodes));
            }
done:
    boxsem_samples_destroy(&samples);
    base_free(&work);
    return status;
}

/* ------------------------------------------------------------------------------------- all of it */

/* The loads of a singular problem must sum to zero: what quadrature leaves is taken out, and no more. */
static facet_status balance(const struct boxsem *c, double *nodes) {
    double total = 0.0, scale = 0.0;
    for (int64_t i = 0; i < c->n_all; i++) {
        total += nodes[i];
        scale += fabs(nodes[i]);
    }
    facet_status status = box_check_balance(total, scale);
    if (status != FACET_OK) return status;
    for (int64_t i = 0; i < c->n_all; i++) {
        int64_t rest = i / c->n_nodes[0];
        nodes[i] -= total / c->volume * c->moments[0][i % c->n_nodes[0]] *
                    c->moments[1][rest % c->n_nodes[1]] * c->moments[2][rest / c->n_nodes[1]];
    }
    return FACET_OK;
}

/* u on Dirichlet sides; *any: one of them is not zero. */
static facet_status load_fixed(struct boxsem *c, const struct box_given *data, int *any) {
    facet_status status = FACET_OK;
    double *nodes = NULL;
    int64_t n_fixed = c->n_all - c->n_free;
    *any = 0;
    c->fixed_is_zero = 0;
    TRY(boxsem_nodes_open(&c->u, &nodes));
    for (int d = 0; d < c->grid.dim; d++)
        for (int side = 0; side < 2; side++)
            if (c->grid.sides[d][side] == BOX_DIRICHLET) TRY(interpolate_side(c, data, d, side, nodes));
    for (int64_t i = 0; i < n_fixed; i++) {
        c->fixed_values[i] = nodes[c->fixed[i]];
        if (c->fixed_values[i] != 0.0) *any = 1;
    }
    TRY(boxsem_nodes_close(&c->u, 1, &nodes));
done:
    boxsem_nodes_close(&c->u, 0, &nodes);
    return status;
}

/* b -= A (Dirichlet values). */
static facet_status lift(struct boxsem *c) {
    facet_status status = FACET_OK;
    struct vector x = {0}, r = {0};
    TRY(vector_create(c->device, c->n_all, &x));
    TRY(vector_create(c->device, c->n_all, &r));
    vector_fill(&x, 0.0);
    TRY(boxsem_nodes_fix(c, c->fixed_values, &x));
    TRY(boxsem_levels_prepare(c->levels));
    operator_residual(&c->levels->A, &c->b, &x, &r);
    struct vector swap = c->b;
    c->b = r;
    r = swap;
done:
    vector_destroy(&x);
    vector_destroy(&r);
    return status;
}

/* The mean that a singular solution gets. */
static facet_status mean_work(int64_t cell, const int at[3], double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct source_job *job = user;
    const struct boxsem_samples *s = &job->samples;
    int dim = job->c->grid.dim, n = s->n_points, count, counts[3] = {n, n, n};
    const double *const x[3] = {s->x, s->x, s->x};
    double *values = scratch, *points = values + box_power(n, dim), sum = 0.0;
    count = box_cell_points(&job->c->grid, at, counts, x, points);
    TRY(base_wrap(field_eval(job->data->exact, count, dim, points, values), "exact"));
    for (int i = 0; i < count; i++) {
        double weight = 1.0;
        for (int d = 0, rest = i; d < dim; d++, rest /= n) weight *= s->w[rest % n];
        sum += weight * values[i];
    }
    job->nodes[cell] = sum * boxsem_cell_volume(job->c, at);
done:
    return status;
}

static facet_status load_mean(struct boxsem *c, const struct box_given *data) {
    facet_status status = FACET_OK;
    struct source_job job = {.c = c, .data = data};
    c->mean = 0.0;
    if (data->exact == NULL) return FACET_OK;
    TRY(ALLOC(job.nodes, c->grid.n_cells));
    TRY(boxsem_samples_create(c, c->n + BOX_EXTRA_POINTS, &job.samples));
    int64_t room = boxsem_cell_room(c, job.samples.n_points) * (1 + c->grid.dim);
    TRY(box_for_cells(&c->grid, c->cell_size, 0, room, mean_work, &job));
    for (int64_t cell = 0; cell < c->grid.n_cells; cell++) c->mean += job.nodes[cell] / c->volume;
done:
    base_free(&job.nodes);
    boxsem_samples_destroy(&job.samples);
    return status;
}

facet_status boxsem_load(struct boxsem *c, const struct box_given *data) {
    facet_status status = FACET_OK;
    double *nodes = NULL;
    int any;
    vector_fill(&c->b, 0.0);
    TRY(boxsem_nodes_open(&c->b, &nodes));
    TRY(add_source(c, data, nodes));
    for (int d = 0; d < c->grid.dim; d++)
        for (int side = 0; side < 2; side++)
            if (c->grid.sides[d][side] == BOX_NEUMANN) TRY(add_side(c, data, d, side, nodes));
    for (int64_t i = 0; i < c->n_all - c->n_free; i++) nodes[c->fixed[i]] = 0.0;
    if (c->grid.singular) {
        TRY(balance(c, nodes));
        TRY(load_mean(c, data));
    }
    TRY(boxsem_nodes_close(&c->b, 1, &nodes));
    TRY(load_fixed(c, data, &any));
    if (any) TRY(lift(c));
done:
    boxsem_nodes_close(&c->b, 0, &nodes);
    return status;
}

/* ------------------------------------------------------------------------------------- guess */

struct guess_job {
    const struct boxsem *c;
    const double *matrix; /* n x n: values at the nodes from those at the Gauss points */
    const double *values;
    double *nodes;
};

static facet_status guess_work(int64_t cell, const int at[3], double *scratch, void *user) {
    const struct guess_job *job = user;
    const struct boxsem *c = job->c;
    int n[3] = {c->n, c->n, c->n};
    const double *T[3] = {job->matrix, job->matrix, job->matrix};
    memcpy(scratch, job->values + cell * c->cell_size, sizeof *scratch * (size_t)c->cell_size);
    boxsem_cell_put(c, at,
                    box_contract_all(c->grid.dim, n, n, T, scratch, scratch + boxsem_cell_room(c, c->n)),
                    job->nodes);
    return FACET_OK;
}

facet_status boxsem_set_guess(struct boxsem *c, const double *values) {
    facet_status status = FACET_OK;
    struct guess_job job = {.c = c, .values = values};
    double *weights = NULL, *matrix = NULL;
    if (values == NULL) {
        vector_fill(&c->u, 0.0);
        return FACET_OK;
    }
    TRY(ALLOC(weights, c->n));
    TRY(ALLOC(matrix, c->n * c->n));
    lagrange_weights(c->n, c->gauss, weights);
    for (int i = 0; i < c->n; i++)
        lagrange_row(c->n, c->gauss, weights, c->element.nodes[i], matrix + i * c->n);
    job.matrix = matrix;
    c->fixed_is_zero = 0;
    TRY(boxsem_nodes_open(&c->u, &job.nodes));
    TRY(box_for_cells(&c->grid, c->cell_size, 1, 2 * boxsem_cell_room(c, c->n), guess_work, &job));
    TRY(boxsem_nodes_close(&c->u, 1, &job.nodes));
done:
    boxsem_nodes_close(&c->u, 0, &job.nodes);
    base_free(&weights);
    base_free(&matrix);
    return status;
}
