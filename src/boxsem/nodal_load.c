/* Data of a problem: loads, Dirichlet values, fluxes through Neumann sides; a first guess, and u, at Gauss
 * points. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/tiles.h"
#include "boxsem/element_nodes.h"
#include "boxsem/halved_boxes.h"
#include "poly/basis.h"

/* ------------------------------------------------------------------------------------- integrals */

struct load_job {
    const struct boxsem *c;
    const struct box_given *data;
    struct box_samples cells, sides; /* the rules of both */
};
/* Whether something is given on a side that is a condition on k grad u . n. */
static int has_flux(const struct load_job *job, int d, int side) {
    return job->c->grid.sides[d][side] == BOX_NEUMANN &&
           (job->data->boundary[d][side] != NULL || job->data->exact != NULL);
}

/* b += the loads of a side, at a plane of nodes. */
static facet_status add_side(const struct load_job *job, struct boxsem *c, int d, int side) {
    facet_status status = FACET_OK;
    const int fast = d == 0 ? 1 : 0, slow = d == 2 ? 1 : 2, nf = fast < c->grid.dim ? c->n : 1,
              *n = c->n_nodes;
    const int64_t all = (int64_t)n[fast] * n[slow], size = c->cell_size / c->n,
                  n_faces = c->grid.n_cells / c->grid.cells[d], steps[3] = {1, n[0], (int64_t)n[0] * n[1]};
    int64_t *places = NULL, *sent = NULL;
    double *plane = NULL, *values = NULL, *faces = NULL;
    TRY(CALLOC(plane, all));
    TRY(ALLOC(places, all));
    TRY(ALLOC(faces, n_faces * size));
    TRY(box_integrate_side(&job->sides, NULL, &c->grid, job->data, d, side, 1, faces));
    for (int64_t i = 0; i < n_faces * size; i++) {
        int at[3];
        box_side_cell(&c->grid, d, side, i / size, at);
        const int64_t x = boxsem_around(c, fast, at[fast] * c->degree + (int)(i % size) % nf),
                      y = boxsem_around(c, slow, at[slow] * c->degree + (int)(i % size) / nf);
        plane[y * n[fast] + x] += faces[i];
    }
    for (int64_t i = 0; i < all; i++)
        places[i] = i % n[fast] * steps[fast] + i / n[fast] * steps[slow] + (side ? n[d] - 1 : 0) * steps[d];
    TRY(device_copy(c->device, &sent, places, (size_t)all, sizeof *places));
    TRY(device_copy(c->device, &values, plane, (size_t)all, sizeof *plane));
    device_put_entries(c->device, F64, all, sent, values, 1.0, c->b.data);
    TRY(device_check(c->device));
done:
    device_free(c->device, &sent);
    device_free(c->device, &values);
    base_free(&plane);
    base_free(&places);
    base_free(&faces);
    return status;
}

static int is_zero(const struct field *field) {
    double value;
    return field != NULL && field_is_constant(field, &value) && value == 0.0;
}

/* b += the loads of everything but Dirichlet sides; there: f at the Gauss points on the device, or NULL. */
static facet_status add_loads(struct boxsem *c, const struct box_given *data, const double *there) {
    facet_status status = FACET_OK;
    struct load_job job = {.c = c, .data = data};
    const double *values = there != NULL ? there : data->values;
    TRY(boxsem_samples_create(c, values != NULL ? c->n : c->n + BOX_EXTRA_POINTS, &job.cells));
    TRY(boxsem_samples_create(c, c->n + BOX_EXTRA_POINTS, &job.sides));
    if (values != NULL)
        TRY(box_tiles_integrate_values(c->tiles, &job.cells, there == NULL, values, c->b.data));
    else if (data->source != NULL ? !is_zero(data->source) : data->exact != NULL)
        TRY(box_tiles_integrate(c->tiles, &job.cells, data, c->b.data));
    for (int d = 0; d < c->grid.dim; d++)
        for (int side = 0; side < 2; side++)
            if (has_flux(&job, d, side) && !is_zero(data->boundary[d][side])) TRY(add_side(&job, c, d, side));
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
    if (n_fixed > 0) device_put_entries(c->device, F64, n_fixed, c->fixed, c->fixed_values, 0.0, x.data);
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
    TRY(null_space_check_constant(sums[0], sums[1]));
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
static facet_status find_mean(struct boxsem *c, int is_exact, const struct field *exact,
                              const double *nodes) {
    facet_status status = FACET_OK;
    double sums[2];
    c->uncertainty = 0.0;
    if (is_exact) return box_field_mean(&c->grid, c->n + BOX_EXTRA_POINTS, exact, &c->mean);
    TRY(add_up(c, nodes, sums));
    c->mean = sums[0] / (c->grid.reaction[0] * c->volume);
    c->uncertainty = DBL_EPSILON * sums[1] / (c->grid.reaction[0] * c->volume);
done:
    return status;
}

/* Of a solution that is unique up to a constant, or nearly so: what its mean is to be. */
static facet_status judge_constant(struct boxsem *c, const struct box_given *data, const double *there) {
    facet_status status = FACET_OK;
    double *nodes = NULL;
    if (!c->grid.singular && !c->loose) return FACET_OK;
    TRY(boxsem_nodes_open(&c->b, &nodes));
    if (c->grid.singular) {
        TRY(balance(c, nodes));
        c->mean = 0.0;
        if (data->exact != NULL)
            TRY(box_field_mean(&c->grid, c->n + BOX_EXTRA_POINTS, data->exact, &c->mean));
    }
    if (c->loose) TRY(find_mean(c, there == NULL && box_given_is_exact(data), data->exact, nodes));
    TRY(boxsem_nodes_close(&c->b, c->grid.singular, &nodes));
done:
    boxsem_nodes_close(&c->b, 0, &nodes);
    return status;
}

static facet_status load(struct boxsem *c, const struct box_given *data, const double *there) {
    facet_status status = FACET_OK;
    int any;
    boxsem_forget(c);
    c->fluxes.known = 0;
    vector_fill(&c->b, 0.0);
    TRY(add_loads(c, data, there));
    TRY(judge_constant(c, data, there));
    TRY(boxsem_keep_loads(c));
    seam_add(c->b.seam, &c->b);
    TRY(load_fixed(c, data, &any));
    if (box_all(&c->grid, TEAM_MAX, any) > 0.0) TRY(lift(c));
done:
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

/* One over the volume of the cells that have a node, in this block. */
static facet_status find_shares(const struct boxsem *c, double *shares) {
    facet_status status = FACET_OK;
    double *widths[3] = {NULL}; /* of the cells that have a node of a direction */
    for (int d = 0; d < 3; d++) {
        TRY(CALLOC(widths[d], c->n_nodes[d]));
        if (d >= c->grid.dim) widths[d][0] = 1.0;
        for (int cell = 0; d < c->grid.dim && cell < c->grid.cells[d]; cell++)
            for (int i = 0; i < c->n; i++)
                widths[d][boxsem_around(c, d, cell * c->degree + i)] += c->grid.widths[d][cell];
    }
    for (int z = 0; z < c->n_nodes[2]; z++)
        for (int y = 0; y < c->n_nodes[1]; y++)
            for (int x = 0; x < c->n_nodes[0]; x++)
                *shares++ = 1.0 / (widths[0][x] * widths[1][y] * widths[2][z]);
done:
    for (int d = 0; d < 3; d++) base_free(&widths[d]);
    return status;
}

/* A node takes the mean of what its cells have for it. */
facet_status boxsem_set_guess(struct boxsem *c, const double *values) {
    facet_status status = FACET_OK;
    struct box_samples to_nodes = {.n = c->n, .n_points = c->n};
    double *weights = NULL, *matrix = NULL, *shares = NULL, *there = NULL;
    boxsem_forget(c);
    vector_fill(&c->u, 0.0);
    if (values == NULL) return FACET_OK;
    TRY(ALLOC(weights, c->n));
    TRY(ALLOC(matrix, c->n * c->n));
    lagrange_weights(c->n, c->gauss, weights);
    for (int i = 0; i < c->n; i++)
        lagrange_row(c->n, c->gauss, weights, c->element.nodes[i], matrix + i * c->n);
    to_nodes.weighted = matrix;
    c->fixed_is_zero = 0;
    TRY(box_tiles_integrate_values(c->tiles, &to_nodes, 1, values, c->u.data));
    TRY(ALLOC(shares, c->n_all));
    TRY(find_shares(c, shares));
    TRY(device_copy(c->device, &there, shares, (size_t)c->n_all, sizeof *shares));
    device_multiply(c->device, F64, c->n_all, there, c->u.data, c->u.data);
    TRY(seam_share(c->u.seam, &c->u)); /* the values of cells need not agree */
    TRY(device_check(c->device));
done:
    device_free(c->device, &there);
    base_free(&shares);
    base_free(&weights);
    base_free(&matrix);
    return status;
}

facet_status boxsem_get(const struct boxsem *c, int on_host, double *values) {
    facet_status status = FACET_OK;
    const struct tile_scale plain = {.factor = 1.0};
    struct box_samples samples = {0};
    TRY(boxsem_samples_create(c, c->n, &samples));
    const double *const T[3] = {samples.values, samples.values, samples.values};
    TRY((on_host ? box_tiles_download : box_tiles_contract)(c->tiles, c->n, c->n, T, &plain, c->u.data,
                                                            values));
done:
    box_samples_destroy(&samples);
    return status;
}
