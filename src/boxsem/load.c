/* Data of a problem: loads, Dirichlet values, fluxes through Neumann sides; a first guess, and u, at Gauss
 * points. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/tiles.h"
#include "boxsem/cells.h"
#include "boxsem/levels.h"
#include "poly/basis.h"

/* ------------------------------------------------------------------------------------- integrals */

struct load_job {
    const struct boxsem *c;
    const struct box_given *data;
    double *nodes;
    struct box_samples cells, sides; /* the rules of both */
};
static const int kinds[3] = {0, 0, 0};

/* Adds <g, phi> over a face to the loads of a cell: the functions that do not vanish on it are those of its
 * nodes. */
static facet_status add_face(const struct load_job *job, int64_t cell, const int at[3], int d, int side,
                             double *scratch, double *loads) {
    facet_status status = FACET_OK;
    const struct boxsem *c = job->c;
    const struct box_grid *g = &c->grid;
    double *integrals, area = box_cell_volume(g, at) / g->widths[d][at[d]];
    int64_t inner = box_power(c->n, d), size = c->cell_size / c->n, end = side * c->degree;
    TRY(box_integrate(&job->sides, kinds, g, job->data, cell, d, side, scratch, &integrals));
    for (int64_t i = 0; i < size; i++)
        loads[(i / inner * c->n + end) * inner + i % inner] += area * integrals[i];
done:
    return status;
}

/* Whether something is given on a side that is a condition on k grad u . n. */
static int has_flux(const struct load_job *job, int d, int side) {
    return job->c->grid.sides[d][side] == BOX_NEUMANN &&
           (job->data->boundary[d][side] != NULL || job->data->exact != NULL);
}

static facet_status load_work(int64_t cell, const int at[3], double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct load_job *job = user;
    const struct boxsem *c = job->c;
    const struct box_given *data = job->data;
    double *loads = scratch, *rest = scratch + c->cell_size, *integrals,
           volume = box_cell_volume(&c->grid, at);
    memset(loads, 0, sizeof *loads * (size_t)c->cell_size);
    if (data->values != NULL || data->source != NULL || data->exact != NULL) {
        TRY(box_integrate(&job->cells, kinds, &c->grid, data, cell, -1, 0, rest, &integrals));
        for (int64_t i = 0; i < c->cell_size; i++) loads[i] = volume * integrals[i];
    }
    for (int d = 0; d < c->grid.dim; d++)
        for (int side = 0; side < 2; side++)
            if (at[d] == side * (c->grid.cells[d] - 1) && has_flux(job, d, side))
                TRY(add_face(job, cell, at, d, side, rest, loads));
    boxsem_cell_move(c, at, BOXSEM_ADD, job->nodes, loads);
done:
    return status;
}

static facet_status add_loads(const struct boxsem *c, const struct box_given *data, double *nodes) {
    facet_status status = FACET_OK;
    struct load_job job = {.c = c, .data = data, .nodes = nodes};
    int any = data->values != NULL || data->source != NULL || data->exact != NULL;
    for (int d = 0; d < c->grid.dim; d++) any |= has_flux(&job, d, 0) || has_flux(&job, d, 1);
    if (!any) return FACET_OK;
    TRY(boxsem_samples_create(c, data->values != NULL ? c->n : c->n + BOX_EXTRA_POINTS, &job.cells));
    TRY(boxsem_samples_create(c, c->n + BOX_EXTRA_POINTS, &job.sides));
    TRY(box_for_cells(&c->grid, c->cell_size, 1, c->cell_size + box_integrate_room(&job.sides, c->grid.dim),
                      load_work, &job));
done:
    box_samples_destroy(&job.cells);
    box_samples_destroy(&job.sides);
    return status;
}

/* ------------------------------------------------------------------------------------- on a device */

/* The loads of one side at its nodes, a plane of them; cells as in boxsem_cell_move. */
static facet_status side_loads(const struct load_job *job, int d, int side, double *scratch, double *plane) {
    facet_status status = FACET_OK;
    const struct boxsem *c = job->c;
    const struct box_grid *g = &c->grid;
    int fast = d == 0 ? 1 : 0, slow = d == 2 ? 1 : 2, nf = fast < g->dim ? c->n : 1, k = c->degree, at[3];
    at[d] = side ? g->cells[d] - 1 : 0;
    for (at[slow] = 0; at[slow] < g->cells[slow]; at[slow]++)
        for (at[fast] = 0; at[fast] < g->cells[fast]; at[fast]++) {
            double *integrals, area = box_cell_volume(g, at) / g->widths[d][at[d]];
            TRY(box_integrate(&job->sides, kinds, g, job->data, box_cell(g, at), d, side, scratch,
                              &integrals));
            for (int64_t i = 0; i < c->cell_size / c->n; i++) {
                int64_t x = (at[fast] * k + i % nf) % c->n_nodes[fast],
                        y = (at[slow] * k + i / nf) % c->n_nodes[slow];
                plane[y * c->n_nodes[fast] + x] += area * integrals[i];
            }
        }
done:
    return status;
}

/* b += the loads of a side, by way of a vector that is zero elsewhere: sides share their edges. */
static facet_status add_side(struct load_job *job, struct boxsem *c, int d, int side) {
    facet_status status = FACET_OK;
    int fast = d == 0 ? 1 : 0, slow = d == 2 ? 1 : 2;
    int64_t n = (int64_t)c->n_nodes[fast] * c->n_nodes[slow], *places = NULL, *sent = NULL,
            steps[3] = {1, c->n_nodes[0], (int64_t)c->n_nodes[0] * c->n_nodes[1]};
    double *plane = NULL, *values = NULL, *scratch = NULL;
    struct vector x = {0};
    TRY(CALLOC(plane, n));
    TRY(ALLOC(places, n));
    TRY(ALLOC(scratch, box_integrate_room(&job->sides, c->grid.dim)));
    TRY(side_loads(job, d, side, scratch, plane));
    for (int64_t i = 0; i < n; i++)
        places[i] = i % c->n_nodes[fast] * steps[fast] + i / c->n_nodes[fast] * steps[slow] +
                    (side ? c->n_nodes[d] - 1 : 0) * steps[d];
    TRY(device_copy(c->device, &sent, places, (size_t)n, sizeof *places));
    TRY(device_copy(c->device, &values, plane, (size_t)n, sizeof *plane));
    TRY(vector_create(c->device, c->n_all, &x));
    vector_fill(&x, 0.0);
    device_put_entries(c->device, n, sent, values, x.data);
    vector_axpby(1.0, &x, 1.0, &c->b);
done:
    device_free(c->device, &sent);
    device_free(c->device, &values);
    vector_destroy(&x);
    base_free(&plane);
    base_free(&places);
    base_free(&scratch);
    return status;
}

static int is_zero(const struct field *field) {
    double value;
    return field != NULL && field_is_constant(field, &value) && value == 0.0;
}

/* The loads of everything but Dirichlet sides, where b is not the host's; there: f at the Gauss points, or
 * NULL. */
static facet_status load_on_device(struct boxsem *c, const struct box_given *data, const double *there) {
    facet_status status = FACET_OK;
    struct load_job job = {.c = c, .data = data};
    TRY(boxsem_samples_create(c, there != NULL || data->values != NULL ? c->n : c->n + BOX_EXTRA_POINTS,
                              &job.cells));
    TRY(boxsem_samples_create(c, c->n + BOX_EXTRA_POINTS, &job.sides));
    if (there != NULL)
        TRY(box_tiles_integrate_values(c->tiles, &job.cells, there, c->b.data));
    else if (data->values != NULL || data->exact != NULL || (data->source != NULL && !is_zero(data->source)))
        TRY(box_tiles_integrate(c->tiles, &job.cells, data, c->b.data));
    for (int d = 0; d < c->grid.dim; d++)
        for (int side = 0; side < 2; side++)
            if (has_flux(&job, d, side) && !is_zero(data->boundary[d][side])) TRY(add_side(&job, c, d, side));
    TRY(boxsem_keep_loads(c));
done:
    box_samples_destroy(&job.cells);
    box_samples_destroy(&job.sides);
    return status;
}

/* ------------------------------------------------------------------------------------- Dirichlet values */

/* The coordinates of node i of direction d. */
static double node_place(const struct boxsem *c, int d, int i) {
    int cell = i / c->degree, local = i % c->degree;
    if (cell == c->grid.cells[d]) return c->grid.coordinates[d][cell];
    return c->grid.coordinates[d][cell] + c->grid.widths[d][cell] * c->element.nodes[local];
}

/* Where a node is, and the sides that give it a value, 2 d + side; their number. Sides with one and the same
 * field count once. */
static int fixed_sides(const struct boxsem *c, const struct box_given *data, int64_t node, int at[3],
                       int sides[3]) {
    int n = 0;
    for (int d = 0; d < 3; d++) {
        at[d] = (int)(node % c->n_nodes[d]);
        node /= c->n_nodes[d];
        for (int side = 0; side < 2 && d < c->grid.dim; side++) {
            int again = at[d] != side * (c->n_nodes[d] - 1) || c->grid.sides[d][side] != BOX_DIRICHLET;
            for (int k = 0; k < n; k++)
                again |= data->boundary[sides[k] / 2][sides[k] % 2] == data->boundary[d][side];
            if (!again) sides[n++] = 2 * d + side;
        }
    }
    return n;
}

/* Adds what a side gives; where several sides meet, a node takes the mean of what they give. */
static facet_status interpolate_side(const struct boxsem *c, const struct box_given *data, int d, int side) {
    facet_status status = FACET_OK;
    const struct field *field = data->boundary[d][side] != NULL ? data->boundary[d][side] : data->exact;
    int dim = c->grid.dim, at[3], count = 0;
    int64_t size = c->n_all / c->n_nodes[d], *which = NULL;
    double *x = NULL, *values = NULL, normal[3] = {0.0};
    normal[d] = side ? 1.0 : -1.0;
    TRY(ALLOC(which, size));
    TRY(ALLOC(x, size * dim));
    TRY(CALLOC(values, size));
    for (int64_t i = 0; i < c->n_all - c->n_free; i++) {
        int sides[3], n = fixed_sides(c, data, c->fixed[i], at, sides), mine = 0;
        for (int k = 0; k < n; k++) mine |= sides[k] == 2 * d + side;
        if (!mine) continue;
        for (int t = 0; t < dim; t++) x[count * dim + t] = node_place(c, t, at[t]);
        which[count++] = i;
    }
    if (field != NULL)
        TRY(base_wrap(field_eval_on(field, count, dim, x, 0, normal, values), "side %c%s", "xyz"[d],
                      side ? "max" : "min"));
    for (int i = 0; i < count; i++) c->fixed_values[which[i]] += values[i];
done:
    base_free(&which);
    base_free(&x);
    base_free(&values);
    return status;
}

/* Around a ring that processes share, data that do not repeat differ in the copies of a node: that of the
 * owner counts, whose coordinates are those of one process. */
static facet_status share_fixed(struct boxsem *c) {
    facet_status status = FACET_OK;
    struct vector x = {0};
    const int64_t n_fixed = c->n_all - c->n_free;
    if (c->u.seam == NULL) return FACET_OK;
    TRY(vector_create(c->device, c->n_all, &x));
    vector_fill(&x, 0.0);
    if (n_fixed > 0) device_put_entries(c->device, n_fixed, c->fixed, c->fixed_values, x.data);
    TRY(seam_share(c->u.seam, &x));
    for (int64_t i = 0; i < n_fixed; i++) c->fixed_values[i] = x.data[c->fixed[i]];
done:
    vector_destroy(&x);
    return status;
}

/* u on Dirichlet sides; *any: one of them is not zero. */
static facet_status load_fixed(struct boxsem *c, const struct box_given *data, int *any) {
    facet_status status = FACET_OK;
    int zero = 1;
    for (int d = 0; d < c->grid.dim; d++)
        for (int side = 0; side < 2; side++)
            if (c->grid.sides[d][side] == BOX_DIRICHLET)
                zero &=
                    data->boundary[d][side] != NULL ? is_zero(data->boundary[d][side]) : data->exact == NULL;
    memset(c->fixed_values, 0, (size_t)(c->n_all - c->n_free) * sizeof *c->fixed_values);
    for (int d = 0; d < c->grid.dim && !zero; d++)
        for (int side = 0; side < 2; side++)
            if (c->grid.sides[d][side] == BOX_DIRICHLET) TRY(interpolate_side(c, data, d, side));
    for (int64_t i = 0; !zero && i < c->n_all - c->n_free; i++) {
        int at[3], sides[3], n = fixed_sides(c, data, c->fixed[i], at, sides);
        if (n > 1) c->fixed_values[i] /= n;
    }
    TRY(share_fixed(c));
    *any = 0;
    for (int64_t i = 0; i < c->n_all - c->n_free; i++) *any |= c->fixed_values[i] != 0.0;
    TRY(boxsem_nodes_fix(c, c->fixed_values, &c->u));
done:
    return status;
}

/* ------------------------------------------------------------------------------------- all of it */

/* The sum of all loads, and of their absolute values; of a block, nodes are parts of sums. */
static facet_status add_up(const struct boxsem *c, const double *nodes, double sums[2]) {
    boxsem_add_up(c, nodes, sums);
    return c->grid.part != NULL ? team_reduce(c->grid.part->team, TEAM_SUM, 2, sums) : FACET_OK;
}

/* The loads of a singular problem must sum to zero: what quadrature leaves is taken out, and no more. */
static facet_status balance(struct boxsem *c, double *nodes) {
    facet_status status = FACET_OK;
    double *sums = c->imbalance;
    TRY(add_up(c, nodes, sums));
    TRY(box_check_balance(sums[0], sums[1]));
    box_add_products(c->n_nodes, (const double *const *)c->moments, -sums[0] / c->volume, nodes);
done:
    return status;
}

/* b -= A (Dirichlet values). */
static facet_status lift(struct boxsem *c) {
    facet_status status = FACET_OK;
    struct vector x = {0}, r = {0};
    TRY(vector_create(c->device, c->n_all, &x));
    TRY(vector_create_like(&c->b, &r)); /* takes its place */
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

/* The mean of a loose solution: that of the exact one if all data are its, or what the reaction makes of the
 * integrals of f and the boundary data, which the nodes have. */
static facet_status find_mean(struct boxsem *c, const struct box_given *data, const double *nodes) {
    facet_status status = FACET_OK;
    double sums[2];
    c->uncertainty = 0.0;
    if (box_given_is_exact(data))
        return box_field_mean(&c->grid, c->n + BOX_EXTRA_POINTS, data->exact, &c->mean);
    TRY(add_up(c, nodes, sums));
    c->mean = sums[0] / (c->grid.reaction[0] * c->volume);
    c->uncertainty = DBL_EPSILON * sums[1] / (c->grid.reaction[0] * c->volume);
done:
    return status;
}

static facet_status load(struct boxsem *c, const struct box_given *data, const double *there) {
    facet_status status = FACET_OK;
    double *nodes = NULL;
    int any;
    boxsem_forget(c);
    c->fluxes.known = 0;
    vector_fill(&c->b, 0.0);
    if (c->tiles != NULL && !c->grid.singular && !c->loose) {
        TRY(load_on_device(c, data, there));
        goto sides;
    }
    TRY(boxsem_nodes_open(&c->b, &nodes));
    TRY(add_loads(c, data, nodes));
    if (c->grid.singular) {
        TRY(balance(c, nodes));
        c->mean = 0.0;
        if (data->exact != NULL)
            TRY(box_field_mean(&c->grid, c->n + BOX_EXTRA_POINTS, data->exact, &c->mean));
    }
    if (c->loose) TRY(find_mean(c, data, nodes));
    TRY(boxsem_nodes_close(&c->b, 1, &nodes));
    TRY(boxsem_keep_loads(c));
    seam_add(c->b.seam, &c->b);
sides:
    TRY(load_fixed(c, data, &any));
    if (box_all(&c->grid, TEAM_MAX, any) > 0.0) TRY(lift(c));
done:
    boxsem_nodes_close(&c->b, 0, &nodes);
    return status;
}

facet_status boxsem_load(struct boxsem *c, const struct box_given *data) {
    return load(c, data, NULL);
}

facet_status boxsem_load_there(struct boxsem *c, const struct box_given *data, const double *values) {
    facet_status status = box_tiles_check_finite(c->tiles, c->n, values, "the source");
    return status == FACET_OK ? load(c, data, values) : status;
}

/* ------------------------------------------------------------------------------------- Gauss points */

/* From values at the Gauss points of every cell to nodes, or back. */
struct points_job {
    const struct boxsem *c;
    const double *matrix; /* n x n */
    const double *from;   /* or NULL: back, */
    double *to;           /* to these */
    double *nodes;
};

static facet_status points_work(int64_t cell, const int at[3], double *scratch, void *user) {
    const struct points_job *job = user;
    const struct boxsem *c = job->c;
    const int n[3] = {c->n, c->n, c->n};
    const double *T[3] = {job->matrix, job->matrix, job->matrix};
    const size_t bytes = sizeof *scratch * (size_t)c->cell_size;
    if (job->from != NULL)
        memcpy(scratch, job->from + cell * c->cell_size, bytes);
    else
        boxsem_cell_move(c, at, BOXSEM_GATHER, job->nodes, scratch);
    double *result = box_contract_all(c->grid.dim, n, n, T, scratch, scratch + c->cell_size + BOX_SLACK);
    if (job->from != NULL)
        boxsem_cell_move(c, at, BOXSEM_PUT, job->nodes, result);
    else
        memcpy(job->to + cell * c->cell_size, result, bytes);
    return FACET_OK;
}

/* Neighbours put the same node: never at once. */
static facet_status run_points(const struct boxsem *c, struct points_job *job) {
    job->c = c;
    return box_for_cells(&c->grid, c->cell_size, job->from != NULL, 2 * (c->cell_size + BOX_SLACK),
                         points_work, job);
}

facet_status boxsem_set_guess(struct boxsem *c, const double *values) {
    facet_status status = FACET_OK;
    struct points_job job = {.from = values};
    double *weights = NULL, *matrix = NULL;
    boxsem_forget(c);
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
    TRY(run_points(c, &job));
    TRY(boxsem_nodes_close(&c->u, 1, &job.nodes));
    TRY(seam_share(c->u.seam, &c->u)); /* the values of cells need not agree */
done:
    boxsem_nodes_close(&c->u, 0, &job.nodes);
    base_free(&weights);
    base_free(&matrix);
    return status;
}

facet_status boxsem_get(const struct boxsem *c, double *values) {
    facet_status status = FACET_OK;
    struct points_job job = {.to = values};
    struct box_samples samples = {0};
    struct vector u = c->u;
    TRY(boxsem_samples_create(c, c->n, &samples));
    TRY(boxsem_nodes_open(&u, &job.nodes));
    job.matrix = samples.values;
    TRY(run_points(c, &job));
done:
    boxsem_nodes_close(&u, 0, &job.nodes);
    box_samples_destroy(&samples);
    return status;
}

facet_status boxsem_get_there(const struct boxsem *c, double *values) {
    facet_status status = FACET_OK;
    const struct tile_scale plain = {.factor = 1.0};
    struct box_samples samples = {0};
    TRY(boxsem_samples_create(c, c->n, &samples));
    const double *const T[3] = {samples.values, samples.values, samples.values};
    TRY(box_tiles_contract(c->tiles, c->n, c->n, T, &plain, c->u.data, values));
done:
    box_samples_destroy(&samples);
    return status;
}
