/* Cells of continuous elements: tables, nodes and the loop over them. */
#include "boxsem/cells.h"

#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "poly/basis.h"
#include "poly/rule.h"

#ifdef _OPENMP
#    include <omp.h>
#endif

static int thread_number(void) {
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* ------------------------------------------------------------------------------------- tables */

void boxsem_samples_destroy(struct boxsem_samples *s) {
    base_free(&s->x);
    base_free(&s->w);
    base_free(&s->values);
    base_free(&s->slopes);
    base_free(&s->weighted);
    *s = (struct boxsem_samples){0};
}

/* The slope of a function is the polynomial through its slopes at the nodes. */
static facet_status fill_samples(const struct boxsem *c, struct boxsem_samples *s) {
    facet_status status = FACET_OK;
    int n = c->n;
    double *weights = NULL, *D = NULL;
    TRY(ALLOC(weights, n));
    TRY(ALLOC(D, n * n));
    TRY(ALLOC(s->values, s->n_points * n));
    TRY(CALLOC(s->slopes, s->n_points * n));
    lagrange_weights(n, c->element.nodes, weights);
    lagrange_derivative(n, c->element.nodes, weights, D);
    for (int q = 0; q < s->n_points; q++) {
        double *row = s->values + q * n;
        box_element_values(&c->element, s->x[q], row);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) s->slopes[q * n + j] += row[i] * D[i * n + j];
    }
done:
    base_free(&weights);
    base_free(&D);
    return status;
}

facet_status boxsem_samples_create(const struct boxsem *c, int n_points, const double *x,
                                   struct boxsem_samples *s) {
    facet_status status = FACET_OK;
    *s = (struct boxsem_samples){.n_points = n_points};
    TRY(ALLOC(s->x, n_points));
    memcpy(s->x, x, sizeof *x * (size_t)n_points);
    TRY(fill_samples(c, s));
done:
    if (status != FACET_OK) boxsem_samples_destroy(s);
    return status;
}

facet_status boxsem_samples_create_gauss(const struct boxsem *c, int n_points, struct boxsem_samples *s) {
    facet_status status = FACET_OK;
    *s = (struct boxsem_samples){.n_points = n_points};
    TRY(ALLOC(s->x, n_points));
    TRY(ALLOC(s->w, n_points));
    TRY(ALLOC(s->weighted, c->n * n_points));
    TRY(rule_gauss_jacobi(n_points, 0.0, 0.0, s->x, s->w));
    for (int q = 0; q < n_points; q++) {
        s->x[q] = 0.5 * (1.0 + s->x[q]);
        s->w[q] *= 0.5;
    }
    TRY(fill_samples(c, s));
    for (int q = 0; q < n_points; q++)
        for (int i = 0; i < c->n; i++) s->weighted[i * n_points + q] = s->w[q] * s->values[q * c->n + i];
done:
    if (status != FACET_OK) boxsem_samples_destroy(s);
    return status;
}

/* ------------------------------------------------------------------------------------- nodes of a cell */

int64_t boxsem_cell_room(const struct boxsem *c, int n_points) {
    int64_t size = 1;
    for (int d = 0; d < c->grid.dim; d++) size *= n_points > c->n ? n_points : c->n;
    return size + BOX_SLACK;
}

enum move { GATHER, ADD, PUT };

/* Rows of a cell: k nodes that follow each other and the last, which may be the first of a ring. */
static void move(const struct boxsem *c, const int at[3], enum move how, double *nodes, double *local) {
    int k = c->degree, n[3];
    for (int d = 0; d < 3; d++) n[d] = d < c->grid.dim ? c->n : 1;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++, local += n[0]) {
            int64_t row = (at[2] * k + z) % c->n_nodes[2];
            row = (row * c->n_nodes[1] + (at[1] * k + y) % c->n_nodes[1]) * c->n_nodes[0];
            double *first = nodes + row + at[0] * k, *last = nodes + row + (at[0] + 1) * k % c->n_nodes[0];
            if (how == GATHER) {
                memcpy(local, first, sizeof *local * (size_t)k);
                local[k] = *last;
            } else if (how == ADD) {
                for (int i = 0; i < k; i++) first[i] += local[i];
                *last += local[k];
            } else {
                memcpy(first, local, sizeof *local * (size_t)k);
                *last = local[k];
            }
        }
}

void boxsem_cell_gather(const struct boxsem *c, const int at[3], const double *nodes, double *local) {
    move(c, at, GATHER, (double *)nodes, local);
}

void boxsem_cell_add(const struct boxsem *c, const int at[3], const double *local, double *nodes) {
    move(c, at, ADD, nodes, (double *)local);
}

void boxsem_cell_put(const struct boxsem *c, const int at[3], const double *local, double *nodes) {
    move(c, at, PUT, nodes, (double *)local);
}

double boxsem_cell_volume(const struct boxsem *c, const int at[3]) {
    double volume = 1.0;
    for (int d = 0; d < c->grid.dim; d++) volume *= c->grid.widths[d][at[d]];
    return volume;
}

void boxsem_cell_points(const struct boxsem *c, const int at[3], int n_points, const double *x,
                        double *points) {
    const struct box_grid *g = &c->grid;
    int64_t count = 1;
    for (int d = 0; d < g->dim; d++) count *= n_points;
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        for (int d = 0; d < g->dim; d++, rest /= n_points)
            points[i * g->dim + d] = g->coordinates[d][at[d]] + g->widths[d][at[d]] * x[rest % n_points];
    }
}

/* ------------------------------------------------------------------------------------- the loop */

static void walk(const struct boxsem *c, int64_t first, int64_t count, boxsem_work work, double *scratch,
                 void *user, struct base_collector *failures) {
    for (int64_t cell = first; cell < first + count; cell++) {
        int at[3];
        if (base_collector_failed(failures)) return;
        box_cell_at(&c->grid, cell, at);
        base_collect(failures, cell, work(c, cell, at, scratch, user));
    }
}

/* A layer is what has one index in the last direction. Three colours, the third for the last layer of an odd
 * number: its neighbour across a periodic side is the first one. */
facet_status boxsem_for_cells(const struct boxsem *c, int layers, int64_t size, boxsem_work work,
                              void *user) {
    facet_status status = FACET_OK;
    struct base_collector failures;
    double *scratch = NULL;
    int n_layers = c->grid.cells[c->grid.dim - 1], threads = base_threads();
    int64_t n_cells = c->grid.n_cells, layer = n_cells / n_layers, slot = (size + 7) / 8 * 8;
    if (!layers) {
        layer = 1 + (n_cells - 1) / (64 * (int64_t)threads);
        n_layers = (int)((n_cells + layer - 1) / layer);
    }
    base_collector_init(&failures);
    TRY(CALLOC(scratch, slot * threads));
    for (int colour = 0; colour < (layers ? 3 : 1); colour++) {
        int step = layers ? 2 : 1, end = layers ? n_layers - n_layers % 2 : n_layers;
        int first = colour < 2 ? colour : end;
        if (colour == 2) end = n_layers;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
        for (int l = first; l < end; l += step) {
            int64_t from = l * layer, rest = n_cells - from;
            walk(c, from, rest < layer ? rest : layer, work, scratch + thread_number() * slot, user,
                 &failures);
        }
    }
    status = base_collected(&failures);
done:
    base_free(&scratch);
    return status;
}

/* ------------------------------------------------------------------------------------- vectors */

facet_status boxsem_nodes_open(const struct vector *v, double **nodes) {
    facet_status status = FACET_OK;
    *nodes = v->data;
    if (device_is_host(v->device)) return FACET_OK;
    *nodes = NULL;
    TRY(ALLOC(*nodes, v->n));
    TRY(vector_download(v, *nodes));
done:
    if (status != FACET_OK) base_free(nodes);
    return status;
}

facet_status boxsem_nodes_close(struct vector *v, int write, double **nodes) {
    facet_status status = FACET_OK;
    if (*nodes == NULL || device_is_host(v->device)) return FACET_OK;
    if (write) status = vector_upload(v, *nodes);
    base_free(nodes);
    return status;
}

facet_status boxsem_nodes_fix(struct boxsem *c, const double *values, struct vector *v) {
    facet_status status = FACET_OK;
    double *sent = NULL;
    int64_t n_fixed = c->n_all - c->n_free, first = 0;
    while (values != NULL && first < n_fixed && values[first] == 0.0) first++;
    if (n_fixed == 0) return FACET_OK;
    /* Zeros stay where they are: nothing has to come from the device and go back. */
    int zero = values == NULL || first == n_fixed, solution = v == &c->u;
    if (solution && zero && c->fixed_is_zero) return FACET_OK;
    if (solution) c->fixed_is_zero = zero;
    if (device_is_host(v->device)) {
        device_put_entries(v->device, n_fixed, c->fixed, zero ? NULL : values, v->data);
        return FACET_OK;
    }
    if (c->fixed_places == NULL)
        TRY(device_copy(v->device, &c->fixed_places, c->fixed, (size_t)n_fixed, sizeof *c->fixed));
    if (!zero) TRY(device_copy(v->device, &sent, values, (size_t)n_fixed, sizeof *values));
    device_put_entries(v->device, n_fixed, c->fixed_places, sent, v->data);
done:
    device_free(v->device, &sent);
    return status;
}

double boxsem_nodes_integral(const struct boxsem *c, const double *nodes) {
    double sum = 0.0;
    for (int z = 0; z < c->n_nodes[2]; z++)
        for (int y = 0; y < c->n_nodes[1]; y++) {
            const double *row = nodes + ((int64_t)z * c->n_nodes[1] + y) * c->n_nodes[0];
            double line = 0.0;
            for (int x = 0; x < c->n_nodes[0]; x++) line += c->moments[0][x] * row[x];
            sum += c->moments[2][z] * c->moments[1][y] * line;
        }
    return sum;
}
