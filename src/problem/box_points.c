/* Points in the cells of a box. Most sets of points are products of coordinates in every direction: lattices,
 * rules, points of a face. They are recognized here, so that evaluation costs O(p^4) for all of them and not
 * O(p^3) for each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "problem/box_backend.h"

/* Coordinates of the reference cell that differ by less are one. */
#define SAME 1e-13

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The number of the coordinate that is x. */
static int find(int n, const double *sorted, double x) {
    int low = 0, high = n;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (sorted[middle] <= x + SAME)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The distinct coordinates of direction d, ascending. */
static facet_status find_coordinates(struct backend_points *p, int d) {
    facet_status status = FACET_OK;
    double *x;
    TRY(ALLOC(p->coordinates[d], p->n));
    x = p->coordinates[d];
    for (int i = 0; i < p->n; i++) x[i] = p->xi[i * p->dim + d];
    qsort(x, (size_t)p->n, sizeof *x, by_value);
    for (int i = 0; i < p->n; i++)
        if (p->counts[d] == 0 || x[i] > x[p->counts[d] - 1] + SAME) x[p->counts[d]++] = x[i];
done:
    return status;
}

/* Whether the points are all combinations of their coordinates, each once; their places then. */
static facet_status find_product(struct backend_points *p) {
    facet_status status = FACET_OK;
    int64_t n = 1;
    for (int d = 0; d < p->dim; d++) {
        TRY(find_coordinates(p, d));
        n *= p->counts[d];
    }
    int product = n == p->n;
    if (product) TRY(ALLOC(p->places, p->n));
    for (int i = 0; product && i < p->n; i++) p->places[i] = -1;
    for (int i = 0; product && i < p->n; i++) {
        int at = 0;
        for (int d = p->dim - 1; d >= 0; d--)
            at = at * p->counts[d] + find(p->counts[d], p->coordinates[d], p->xi[i * p->dim + d]);
        product = p->places[at] < 0;
        p->places[at] = i;
    }
    if (!product) {
        for (int d = 0; d < 3; d++) p->counts[d] = 0;
        base_free(&p->places);
    }
done:
    return status;
}

facet_status box_points_prepare(const struct facet_solver *s, int block, int degree, int n, const double *xi,
                                struct backend_points *points) {
    facet_status status = FACET_OK;
    (void)block;
    (void)degree;
    backend_points_destroy(points);
    points->n = n;
    points->dim = s->problem->mesh->dim;
    TRY(ALLOC(points->xi, n * points->dim));
    memcpy(points->xi, xi, (size_t)(n * points->dim) * sizeof *xi);
    TRY(find_product(points));
done:
    return status;
}

/* The product of a Gauss rule in m directions of [0, 1], exact for all fields, u* of degree p + 1 included:
 * xi is n x m. */
static facet_status make_rule(int degree, int m, int *n, double **xi, double **weights) {
    facet_status status = FACET_OK;
    int k = degree / 2 + 2;
    double *x = NULL, *w = NULL;
    *n = 1;
    for (int d = 0; d < m; d++) *n *= k;
    TRY(ALLOC(x, k));
    TRY(ALLOC(w, k));
    TRY(ALLOC(*xi, *n * m));
    TRY(ALLOC(*weights, *n));
    TRY(box_gauss(k, x, w));
    for (int i = 0; i < *n; i++) {
        (*weights)[i] = 1.0;
        for (int d = 0, rest = i; d < m; d++, rest /= k) {
            (*xi)[i * m + d] = x[rest % k];
            (*weights)[i] *= w[rest % k];
        }
    }
done:
    base_free(&x);
    base_free(&w);
    return status;
}

facet_status box_points_rule(const struct facet_solver *s, int block, struct backend_points *points) {
    facet_status status = FACET_OK;
    double *xi = NULL, *weights = NULL;
    int n;
    TRY(make_rule(s->options.degree, s->problem->mesh->dim, &n, &xi, &weights));
    TRY(s->backend->prepare(s, block, s->options.degree, n, xi, points));
    points->weights = weights;
    weights = NULL;
done:
    base_free(&xi);
    base_free(&weights);
    return status;
}

/* Lower corner and widths of a cell of the mesh. */
static void find_cell(const struct facet_solver *s, int32_t cell, double lower[3], double widths[3]) {
    const struct mesh_box *box = mesh_bricks(s->problem->mesh);
    int at[3];
    mesh_box_index(s->problem->mesh, cell, at);
    for (int d = 0; d < s->problem->mesh->dim; d++) {
        const double *ends = box->coordinates[d] + at[d];
        lower[d] = ends[0];
        widths[d] = ends[1] - ends[0];
    }
}

double box_points_volume(const struct facet_solver *s, int32_t cell) {
    double lower[3], widths[3], volume = 1.0;
    find_cell(s, cell, lower, widths);
    for (int d = 0; d < s->problem->mesh->dim; d++) volume *= widths[d];
    return volume;
}

facet_status box_points_weights(const struct facet_solver *s, int32_t cell,
                                const struct backend_points *points, double *wJ) {
    double volume = box_points_volume(s, cell);
    for (int i = 0; i < points->n; i++) wJ[i] = volume * points->weights[i];
    return FACET_OK;
}

static int by_number(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

facet_status box_points_list(int64_t n, const int32_t *cells, int64_t **list, int64_t *m) {
    facet_status status = ALLOC(*list, n);
    if (status != FACET_OK) return status;
    for (int64_t i = 0; i < n; i++) (*list)[i] = cells[i];
    qsort(*list, (size_t)n, sizeof **list, by_number);
    *m = 0;
    for (int64_t i = 0; i < n; i++)
        if (*m == 0 || (*list)[i] != (*list)[*m - 1]) (*list)[(*m)++] = (*list)[i];
    return FACET_OK;
}

facet_status box_points_integrals(const struct facet_solver *s, facet_status found, double *values) {
    if (found != FACET_OK) return found;
    for (int64_t c = s->n_cells - 1; c >= 0; c--) values[2 * c] = values[c];
#pragma omp parallel for num_threads(base_threads_for(s->n_cells))
    for (int32_t c = 0; c < s->n_cells; c++) values[2 * (int64_t)c + 1] = box_points_volume(s, c);
    return FACET_OK;
}

void box_points_map(const struct facet_solver *s, int32_t cell, const struct backend_points *points,
                    double *x) {
    double lower[3], widths[3];
    find_cell(s, cell, lower, widths);
    for (int i = 0; i < points->n; i++)
        for (int d = 0; d < points->dim; d++)
            x[i * points->dim + d] = lower[d] + widths[d] * points->xi[i * points->dim + d];
}

facet_status box_points_face_rule(const struct facet_solver *s, int32_t cell, int local, int *n, double **xi,
                                  double **wA) {
    facet_status status = FACET_OK;
    int dim = s->problem->mesh->dim, normal, side;
    enum shape shape = s->problem->mesh->blocks[0].shape;
    double lower[3], widths[3], area = 1.0, *frame = NULL;
    *xi = *wA = NULL;
    TRY(make_rule(s->options.degree, dim - 1, n, &frame, wA));
    TRY(ALLOC(*xi, *n * dim));
    find_cell(s, cell, lower, widths);
    shape_face_side(shape, local, &normal, &side);
    for (int d = 0; d < dim; d++) area *= d != normal ? widths[d] : 1.0;
    for (int i = 0; i < *n; i++) {
        shape_face_point(shape, local, 0, frame + i * (dim - 1), *xi + i * dim);
        (*wA)[i] *= area;
    }
done:
    base_free(&frame);
    return status;
}

int64_t box_points_count(const struct facet_solver *s) {
    return s->problem->mesh->n_cells * box_power(s->options.degree + 1, s->problem->mesh->dim);
}

/* Points of the source, or the weights of these. */
static facet_status fill_source(const struct facet_solver *s, int points, double *to) {
    facet_status status = FACET_OK;
    const int n = s->options.degree + 1, dim = s->problem->mesh->dim, size = (int)box_power(n, dim);
    double *gauss = NULL, lower[3], widths[3];
    TRY(ALLOC(gauss, 2 * n));
    TRY(box_gauss(n, gauss, gauss + n));
    for (int32_t cell = 0; cell < s->problem->mesh->n_cells; cell++) {
        find_cell(s, cell, lower, widths);
        for (int i = 0; i < size; i++) {
            double weight = 1.0;
            for (int d = 0, rest = i; d < dim; d++, rest /= n) {
                weight *= widths[d] * gauss[n + rest % n];
                if (points) *to++ = lower[d] + widths[d] * gauss[rest % n];
            }
            if (!points) *to++ = weight;
        }
    }
done:
    base_free(&gauss);
    return status;
}

facet_status box_points_source(const struct facet_solver *s, double *x) {
    return fill_source(s, 1, x);
}

facet_status box_points_source_weights(const struct facet_solver *s, double *weights) {
    return fill_source(s, 0, weights);
}

struct hdg_errors box_points_errors(const struct box_errors *e, int star) {
    return (struct hdg_errors){.u_L2 = e->u_L2,
                               .u_Linf = e->u_Linf,
                               .q_L2 = e->q_L2,
                               .u_star_L2 = star ? e->u_star_L2 : -1.0,
                               .q_star_L2 = star ? e->q_star_L2 : -1.0,
                               .trace_L2 = e->trace_L2};
}

struct box_places box_points_places(const struct backend_points *points) {
    int product = points->counts[0] > 0;
    return (struct box_places){.n = points->n,
                               .xi = points->xi,
                               .counts = product ? points->counts : NULL,
                               .x = (const double *const *)points->coordinates,
                               .order = points->places};
}

struct box_given box_given_data(const struct facet_solver *s, const struct box_data *data,
                                const double *values) {
    struct box_given given = {.values = values, .source = s->problem->source, .exact = s->problem->exact};
    for (int d = 0; d < s->problem->mesh->dim; d++)
        for (int side = 0; side < 2; side++)
            if (data->conditions[d][side] != NULL) given.boundary[d][side] = data->conditions[d][side]->g;
    return given;
}
