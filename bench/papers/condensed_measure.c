/* The solution of the condensed method at points, and its errors. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/condensed_local.h"
#include "poly/rule.h"

/* n^dim */
static int64_t cell_size(const struct box_condensed *h) {
    int64_t size = 1;
    for (int d = 0; d < h->grid.dim; d++) size *= h->n;
    return size;
}
static int64_t lattice_size(const struct box_condensed *h, const struct box_condensed_lattice *l) {
    int64_t size = 1;
    for (int d = 0; d < h->grid.dim; d++) size *= l->m[d];
    return size;
}
/* Room for condensed_tensor. */
static int64_t tensor_room(const struct box_condensed *h, const struct box_condensed_lattice *l) {
    int64_t size = 2;
    for (int d = 0; d < h->grid.dim; d++) size *= l->m[d] > h->n ? l->m[d] : h->n;
    return size;
}

void box_condensed_lattice_destroy(struct box_condensed_lattice *lattice) {
    for (int d = 0; d < 3; d++) {
        base_free(&lattice->values[d]);
        base_free(&lattice->slopes[d]);
    }
    *lattice = (struct box_condensed_lattice){0};
}

facet_status box_condensed_lattice_create(const struct box_condensed *h, const int m[3],
                                          const double *const x[3], struct box_condensed_lattice *lattice) {
    facet_status status = FACET_OK;
    *lattice = (struct box_condensed_lattice){0};
    for (int d = 0; d < h->grid.dim; d++) {
        lattice->m[d] = m[d];
        TRY(ALLOC(lattice->values[d], m[d] * h->n));
        TRY(ALLOC(lattice->slopes[d], m[d] * h->n));
        TRY(box_ends_evaluate(&h->ends, m[d], x[d], lattice->values[d], lattice->slopes[d]));
    }
done:
    if (status != FACET_OK) box_condensed_lattice_destroy(lattice);
    return status;
}

/* work: tensor_room. */
static void evaluate(const struct box_condensed *h, const double *u, const int at[3],
                     const struct box_condensed_lattice *l, double *values, double *q, double *work) {
    const struct box_grid *g = &h->grid;
    int64_t cell = box_cell(g, at), count = lattice_size(h, l);
    int extent[3] = {h->n, h->n, h->n};
    const double *A[3] = {l->values[0], l->values[1], l->values[2]};
    u += cell * cell_size(h);
    if (values != NULL) condensed_tensor(g->dim, extent, l->m, A, 0, u, values, work);
    for (int d = 0; d < g->dim && q != NULL; d++, q += count) {
        double scale = -2.0 * box_conductivity(g, cell) / g->widths[d][at[d]];
        A[d] = l->slopes[d];
        condensed_tensor(g->dim, extent, l->m, A, 0, u, q, work);
        A[d] = l->values[d];
        for (int64_t i = 0; i < count; i++) q[i] *= scale;
    }
}

facet_status box_condensed_evaluate(const struct box_condensed *h, const double *u, const int at[3],
                                    const struct box_condensed_lattice *lattice, double *values, double *q) {
    facet_status status = FACET_OK;
    double *work = NULL;
    TRY(ALLOC(work, tensor_room(h, lattice)));
    evaluate(h, u, at, lattice, values, q, work);
done:
    base_free(&work);
    return status;
}

facet_status box_condensed_values(const struct box_condensed *h, const double *u, double *values) {
    facet_status status = FACET_OK;
    int extent[3] = {h->n, h->n, h->n}, n_threads = base_threads_for(h->grid.n_cells * cell_size(h));
    int64_t size = cell_size(h);
    const double *const A[3] = {h->gauss_values, h->gauss_values, h->gauss_values};
    double *work = NULL;
    TRY(ALLOC(work, n_threads * 2 * size));
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t cell = 0; cell < h->grid.n_cells; cell++)
        condensed_tensor(h->grid.dim, extent, extent, A, 0, u + cell * size, values + cell * size,
                         work + omp_get_thread_num() * 2 * size);
done:
    base_free(&work);
    return status;
}

/* The cell of a direction in which x lies, and its place there; 0 if it lies outside by more than rounding.
 */
static int find_column(const struct box_grid *g, int d, double x, int *column, double *xi) {
    const double *c = g->coordinates[d];
    int low = 0, high = g->cells[d];
    double slack = 1e-12 * (c[high] - c[0]);
    if (!(x >= c[0] - slack && x <= c[high] + slack)) return 0;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (c[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    *column = low;
    *xi = fmin(1.0, fmax(-1.0, 2.0 * (x - c[low]) / g->widths[d][low] - 1.0));
    return 1;
}

static facet_status at_point(const struct box_condensed *h, const double *u, const double *x, double *values,
                             double *q, double *work) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    int at[3] = {0, 0, 0}, n = h->n;
    struct box_condensed_lattice l = {.m = {1, 1, 1}};
    for (int d = 0; d < g->dim; d++) {
        double xi;
        if (!find_column(g, d, x[d], &at[d], &xi))
            FAIL(FACET_ERROR_INPUT, "the point lies outside the box: its %c is %g", "xyz"[d], x[d]);
        l.values[d] = work + 2 * d * n;
        l.slopes[d] = l.values[d] + n;
        TRY(box_ends_evaluate(&h->ends, 1, &xi, l.values[d], l.slopes[d]));
    }
    evaluate(h, u, at, &l, values, q, work + 6 * n);
done:
    return status;
}

facet_status box_condensed_at_points(const struct box_condensed *h, const double *u, int64_t n_points,
                                     const double *x, double *values, double *q) {
    facet_status status = FACET_OK;
    int dim = h->grid.dim;
    double *work = NULL;
    TRY(ALLOC(work, 6 * h->n + 2 * cell_size(h)));
    for (int64_t i = 0; i < n_points; i++)
        TRY(base_wrap(at_point(h, u, x + i * dim, values != NULL ? values + i : NULL,
                               q != NULL ? q + i * dim : NULL, work),
                      "point %lld", (long long)i));
done:
    base_free(&work);
    return status;
}

/* -------------------------------------------------------------------------------------------- errors */

struct measure {
    const struct box_condensed *h;
    const double *u;
    const struct field *exact, *q;
    struct box_condensed_lattice lattice;
    double points[BOX_MAX_DEGREE + 3], weights[BOX_MAX_DEGREE + 3];
    int64_t count, room;
};

/* Adds the squares of a cell to sums[0] (u) and sums[1] (q). */
static facet_status measure_cell(const struct measure *m, int64_t cell, double *scratch, double sums[2]) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &m->h->grid;
    int dim = g->dim, points = m->h->n + 2, at[3], with_q = m->q != NULL || field_is_differentiable(m->exact);
    int64_t count = m->count;
    double *x = scratch, *u = x + count * dim, *q = u + count, *exact = q + count * dim,
           *flux = exact + count, *work = flux + count * dim, k = box_conductivity(g, cell);
    box_cell_at(g, cell, at);
    evaluate(m->h, m->u, at, &m->lattice, u, with_q ? q : NULL, work);
    for (int64_t i = 0; i < count; i++)
        for (int64_t d = 0, rest = i; d < dim; d++, rest /= points)
            x[i * dim + d] =
                g->coordinates[d][at[d]] + 0.5 * g->widths[d][at[d]] * (1.0 + m->points[rest % points]);
    TRY(field_eval(m->exact, (int)count, dim, x, exact));
    if (m->q != NULL)
        TRY(field_eval(m->q, (int)count, dim, x, flux));
    else if (with_q)
        TRY(field_eval_jet(m->exact, 0, (int)count, dim, x, exact, flux, NULL));
    for (int64_t i = 0; i < count; i++) {
        double weight = 1.0, difference = u[i] - exact[i];
        for (int64_t d = 0, rest = i; d < dim; d++, rest /= points)
            weight *= 0.5 * g->widths[d][at[d]] * m->weights[rest % points];
        sums[0] += weight * difference * difference;
        for (int d = 0; d < dim && with_q; d++) {
            difference = q[d * count + i] - (m->q != NULL ? 1.0 : -k) * flux[i * dim + d];
            sums[1] += weight * difference * difference;
        }
    }
done:
    return status;
}

facet_status box_condensed_errors(const struct box_condensed *h, const double *u, const struct field *exact,
                                  const struct field *q, double *u_L2, double *q_L2) {
    facet_status status = FACET_OK;
    int points = h->n + 2, n_threads = base_threads_for(h->grid.n_cells * cell_size(h)), dim = h->grid.dim,
        m[3] = {points, points, points};
    struct measure measure = {.h = h, .u = u, .exact = exact, .q = q, .count = 1};
    const double *const x[3] = {measure.points, measure.points, measure.points};
    struct base_collector collector;
    double *scratch = NULL, u_square = 0.0, q_square = 0.0;
    base_collector_init(&collector);
    TRY(rule_gauss_jacobi(points, 0.0, 0.0, measure.points, measure.weights));
    TRY(box_condensed_lattice_create(h, m, x, &measure.lattice));
    for (int d = 0; d < dim; d++) measure.count *= points;
    measure.room = measure.count * (3 * dim + 2) + tensor_room(h, &measure.lattice);
    TRY(ALLOC(scratch, n_threads * measure.room));
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(+ : u_square, q_square)
    for (int64_t cell = 0; cell < h->grid.n_cells; cell++) {
        double sums[2] = {0.0, 0.0};
        if (base_collector_failed(&collector)) continue;
        facet_status failed =
            measure_cell(&measure, cell, scratch + omp_get_thread_num() * measure.room, sums);
        if (failed != FACET_OK) base_collect(&collector, cell, failed);
        u_square += sums[0];
        q_square += sums[1];
    }
    TRY(base_collected(&collector));
    *u_L2 = sqrt(u_square);
    *q_L2 = q != NULL || field_is_differentiable(exact) ? sqrt(q_square) : -1.0;
done:
    box_condensed_lattice_destroy(&measure.lattice);
    base_free(&scratch);
    return status;
}
