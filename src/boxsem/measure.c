/* Continuous elements at points: for the caller, for pictures, and against an exact solution. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxsem/cells.h"

/* ------------------------------------------------------------------------------------- evaluation */

/* One component of a field of a cell from its nodal values: counts[d] points in every direction with the
 * tables values[d] and slopes[d] (points x n). work: two rooms; returns where the result stands. */
static const double *evaluate_component(const struct boxsem *c, enum boxsem_field field, int component,
                                        const int at[3], const double *local, const int counts[3],
                                        const double *const values[3], const double *const slopes[3],
                                        int64_t room, double *work) {
    int n[3] = {c->n, c->n, c->n};
    const double *T[3];
    for (int d = 0; d < 3; d++) T[d] = field == BOXSEM_Q && d == component ? slopes[d] : values[d];
    memcpy(work, local, sizeof *work * (size_t)c->cell_size);
    double *result = box_contract_all(c->grid.dim, counts, n, T, work, work + room);
    if (field == BOXSEM_Q) {
        double factor =
            -box_conductivity(&c->grid, box_cell(&c->grid, at)) / c->grid.widths[component][at[component]];
        int64_t points = 1;
        for (int d = 0; d < c->grid.dim; d++) points *= counts[d];
        for (int64_t i = 0; i < points; i++) result[i] *= factor;
    }
    return result;
}

static int n_components(const struct boxsem *c, enum boxsem_field field) {
    return field == BOXSEM_Q ? c->grid.dim : 1;
}

/* The nodal values of one cell, wherever the vector is. */
static facet_status fetch_cell(const struct boxsem *c, const int at[3], double *local) {
    facet_status status = FACET_OK;
    double *nodes = NULL;
    struct vector u = c->u;
    TRY(boxsem_nodes_open(&u, &nodes));
    boxsem_cell_gather(c, at, nodes, local);
done:
    boxsem_nodes_close(&u, 0, &nodes);
    return status;
}

facet_status boxsem_evaluate_product(const struct boxsem *c, enum boxsem_field field, int64_t cell,
                                     const int counts[3], const double *const x[3], double *values) {
    facet_status status = FACET_OK;
    struct boxsem_samples s[3] = {{0}};
    const double *tables[3] = {NULL}, *slopes[3] = {NULL};
    int at[3], most = 1, components = n_components(c, field);
    int64_t points = 1;
    double *local = NULL, *work = NULL;
    for (int d = 0; d < c->grid.dim; d++) {
        TRY(boxsem_samples_create(c, counts[d], x[d], &s[d]));
        tables[d] = s[d].values;
        slopes[d] = s[d].slopes;
        points *= counts[d];
        most = counts[d] > most ? counts[d] : most;
    }
    int64_t room = boxsem_cell_room(c, most);
    TRY(CALLOC(local, c->cell_size));
    TRY(CALLOC(work, 2 * room));
    box_cell_at(&c->grid, cell, at);
    TRY(fetch_cell(c, at, local));
    for (int component = 0; component < components; component++) {
        const double *result =
            evaluate_component(c, field, component, at, local, counts, tables, slopes, room, work);
        for (int64_t i = 0; i < points; i++) values[i * components + component] = result[i];
    }
done:
    for (int d = 0; d < 3; d++) boxsem_samples_destroy(&s[d]);
    base_free(&local);
    base_free(&work);
    return status;
}

facet_status boxsem_evaluate(const struct boxsem *c, enum boxsem_field field, int64_t cell, int n,
                             const double *xi, double *values) {
    facet_status status = FACET_OK;
    struct boxsem_samples s[3] = {{0}};
    int at[3], counts[3] = {1, 1, 1}, dim = c->grid.dim, components = n_components(c, field);
    int64_t room = boxsem_cell_room(c, 1);
    double *local = NULL, *work = NULL, *x = NULL;
    TRY(ALLOC(x, n));
    for (int d = 0; d < dim; d++) {
        for (int i = 0; i < n; i++) x[i] = xi[i * dim + d];
        TRY(boxsem_samples_create(c, n, x, &s[d]));
    }
    TRY(CALLOC(local, c->cell_size));
    TRY(CALLOC(work, 2 * room));
    box_cell_at(&c->grid, cell, at);
    TRY(fetch_cell(c, at, local));
    for (int i = 0; i < n; i++) {
        const double *tables[3] = {NULL}, *slopes[3] = {NULL};
        for (int d = 0; d < dim; d++) {
            tables[d] = s[d].values + i * c->n;
            slopes[d] = s[d].slopes + i * c->n;
        }
        for (int component = 0; component < components; component++)
            values[i * components + component] =
                *evaluate_component(c, field, component, at, local, counts, tables, slopes, room, work);
    }
done:
    for (int d = 0; d < 3; d++) boxsem_samples_destroy(&s[d]);
    base_free(&local);
    base_free(&work);
    base_free(&x);
    return status;
}

/* ------------------------------------------------------------------------------------- Gauss points */

struct get_job {
    const struct boxsem_samples *samples;
    const double *nodes;
    double *values;
};

static facet_status get_work(const struct boxsem *c, int64_t cell, const int at[3], double *scratch,
                             void *user) {
    const struct get_job *job = user;
    int n[3] = {c->n, c->n, c->n};
    const double *T[3] = {job->samples->values, job->samples->values, job->samples->values};
    boxsem_cell_gather(c, at, job->nodes, scratch);
    const double *result =
        box_contract_all(c->grid.dim, n, n, T, scratch, scratch + boxsem_cell_room(c, c->n));
    memcpy(job->values + cell * c->cell_size, result, sizeof *result * (size_t)c->cell_size);
    return FACET_OK;
}

facet_status boxsem_get(const struct boxsem *c, double *values) {
    facet_status status = FACET_OK;
    struct boxsem_samples samples = {0};
    struct get_job job = {.samples = &samples, .values = values};
    struct vector u = c->u;
    double *nodes = NULL;
    TRY(boxsem_samples_create_gauss(c, c->n, &samples));
    TRY(boxsem_nodes_open(&u, &nodes));
    job.nodes = nodes;
    TRY(boxsem_for_cells(c, 0, 2 * boxsem_cell_room(c, c->n), get_work, &job));
done:
    boxsem_nodes_close(&u, 0, &nodes);
    boxsem_samples_destroy(&samples);
    return status;
}

void boxsem_points(const struct boxsem *c, double *x) {
    for (int64_t cell = 0; cell < c->grid.n_cells; cell++) {
        int at[3];
        box_cell_at(&c->grid, cell, at);
        boxsem_cell_points(c, at, c->n, c->gauss, x + cell * c->cell_size * c->grid.dim);
    }
}

facet_status boxsem_mean(const struct boxsem *c, double *mean) {
    facet_status status = FACET_OK;
    struct vector u = c->u;
    double *nodes = NULL;
    TRY(boxsem_nodes_open(&u, &nodes));
    *mean = boxsem_nodes_integral(c, nodes) / c->volume;
done:
    boxsem_nodes_close(&u, 0, &nodes);
    return status;
}

/* ------------------------------------------------------------------------------------- errors */

struct error_job {
    const struct boxsem_samples *samples;
    const struct field *exact;
    const double *nodes;
    struct boxsem_errors *cells; /* squares */
};

static facet_status error_work(const struct boxsem *c, int64_t cell, const int at[3], double *scratch,
                               void *user) {
    facet_status status = FACET_OK;
    const struct error_job *job = user;
    const struct boxsem_samples *s = job->samples;
    struct boxsem_errors *e = &job->cells[cell];
    int dim = c->grid.dim, n = s->n_points, counts[3] = {n, n, n}, points = 1;
    int64_t room = boxsem_cell_room(c, n);
    double *local = scratch, *work = local + room, *x = work + 2 * room, *exact = x + room * dim,
           *gradients = exact + room, *weights = gradients + room * dim;
    const double *values[3] = {s->values, s->values, s->values},
                 *slopes[3] = {s->slopes, s->slopes, s->slopes};
    double volume = boxsem_cell_volume(c, at), k = box_conductivity(&c->grid, cell);
    for (int d = 0; d < dim; d++) points *= n;
    for (int i = 0; i < points; i++) {
        weights[i] = volume;
        for (int d = 0, rest = i; d < dim; d++, rest /= n) weights[i] *= s->w[rest % n];
    }
    boxsem_cell_points(c, at, n, s->x, x);
    TRY(base_wrap(field_eval_jet(job->exact, 0, points, dim, x, exact, gradients, NULL), "exact"));
    boxsem_cell_gather(c, at, job->nodes, local);
    const double *u = evaluate_component(c, BOXSEM_U, 0, at, local, counts, values, slopes, room, work);
    for (int i = 0; i < points; i++) {
        double error = u[i] - exact[i];
        e->u_L2 += weights[i] * error * error;
        e->u_Linf = fmax(e->u_Linf, fabs(error));
    }
    for (int d = 0; d < dim; d++) {
        const double *q = evaluate_component(c, BOXSEM_Q, d, at, local, counts, values, slopes, room, work);
        for (int i = 0; i < points; i++) {
            double error = q[i] + k * gradients[i * dim + d];
            e->q_L2 += weights[i] * error * error;
        }
    }
done:
    return status;
}

facet_status boxsem_measure_errors(const struct boxsem *c, const struct field *exact,
                                   struct boxsem_errors *errors) {
    facet_status status = FACET_OK;
    struct boxsem_samples samples = {0};
    struct error_job job = {.samples = &samples, .exact = exact};
    struct boxsem_errors sum = {0};
    struct vector u = c->u;
    double *nodes = NULL;
    TRY(boxsem_samples_create_gauss(c, c->n + BOX_EXTRA_POINTS, &samples));
    TRY(CALLOC(job.cells, c->grid.n_cells));
    TRY(boxsem_nodes_open(&u, &nodes));
    job.nodes = nodes;
    TRY(boxsem_for_cells(c, 0, boxsem_cell_room(c, samples.n_points) * (5 + 2 * c->grid.dim), error_work,
                         &job));
    for (int64_t cell = 0; cell < c->grid.n_cells; cell++) {
        sum.u_L2 += job.cells[cell].u_L2;
        sum.q_L2 += job.cells[cell].q_L2;
        sum.u_Linf = fmax(sum.u_Linf, job.cells[cell].u_Linf);
    }
    *errors = (struct boxsem_errors){sqrt(sum.u_L2), sum.u_Linf, sqrt(sum.q_L2)};
done:
    boxsem_nodes_close(&u, 0, &nodes);
    boxsem_samples_destroy(&samples);
    base_free(&job.cells);
    return status;
}
