/* Cells of elasticity whose map is curved or whose moduli vary, on a device that is not the host: nodes go
 * there, and maps, moduli at points, weights and integrals are made there whenever a piece of the batches is
 * worked on. Physical functions (elastic.h), laws that are a matrix and tractions of the gradient formulation
 * are left to the host. */
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "hdg/resident_parts.h"
#include "solve/solve.h"

#define PIECE_BYTES  (256 << 20)        /* of the arrays of a piece, about */
#define MOST_SCRATCH ((int64_t)2 << 30) /* bytes of the kernels' */

/* Of a block, beside the struct hdg_general, which has maps and functions. */
struct elastic_general {
    struct elastic_general_tables tables;
    struct general_number *numbers; /* n_regions x 2: mu, lambda */
    int32_t *regions;               /* device: batch x LANES; NULL: there is one */
    double *coordinates;            /* device: n_nodes x n_faces m */
};

/* The arrays of a piece: as of general_plan_of up to the normals, then */
enum {
    E_OFFSETS = FIRST_DATA, /* nodes less the first */
    E_COORDINATES,
    E_MU,
    E_LAMBDA,
    E_DEV,
    E_VOL,
    E_NUMBERS,
    E_TAU,
    E_ORIENTATIONS,
    E_VOLUMES,
    N_ELASTIC_ARRAYS
};
_Static_assert(N_ELASTIC_ARRAYS <= GENERAL_ARRAYS, "arrays of a piece");

/* ------------------------------------------------------------------------------------------ tables */

static void forget_numbers(const struct hdg *h, struct elastic_general *g) {
    for (int i = 0; g->numbers != NULL && i < 2 * h->data.n_regions; i++)
        expr_program_destroy(&g->numbers[i].program);
}

/* As the moduli are now: parameters may have changed since the cells were condensed last. */
static facet_status put_numbers(const struct hdg *h, int block) {
    facet_status status = FACET_OK;
    struct elastic_general *g = h->elastic->general[block];
    const int64_t most = trace_n_batches(h->device, h->data.mesh, block) * h->lanes * g->tables.n;
    forget_numbers(h, g);
    for (int i = 0; i < 2 * h->data.n_regions; i++)
        TRY(general_number_create(h, i % 2 == 0 ? h->data.mu[i / 2] : h->data.lambda[i / 2], 0, most,
                                  &g->numbers[i]));
done:
    return status;
}

void elastic_general_destroy(struct hdg *h, int block) {
    struct elastic_general *g = h->elastic->general[block];
    if (g == NULL) return;
    forget_numbers(h, g);
    base_free(&g->numbers);
    device_free(h->device, &g->regions);
    device_free(h->device, &g->coordinates);
    base_free(&h->elastic->general[block]);
    general_destroy(h, block);
}

/* What the nodes contribute to the coefficients of x on the faces, in orientation 0. */
static facet_status put_coordinates(const struct hdg *h, int block, struct elastic_general *g) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_face_table *face = h->functions[block].face;
    int dim = h->data.mesh->dim, n = face->rule.n, n_nodes = b->cell.n_nodes, m = b->m,
        columns = b->n_faces * m;
    struct hdg_table table = {0};
    double *xi = NULL, *host = NULL;
    TRY(ALLOC(xi, n * dim));
    TRY(CALLOC(host, n_nodes * columns));
    for (int f = 0; f < b->n_faces; f++) {
        for (int q = 0; q < n; q++)
            shape_face_point(b->shape, f, 0, face->rule.x + q * (dim - 1), xi + q * dim);
        hdg_table_destroy(&table);
        TRY(hdg_table_create(b->shape, 0, h->data.mesh->order, n, xi, &table));
        for (int k = 0; k < n * n_nodes * m; k++) {
            int q = k / m / n_nodes, node = k / m % n_nodes, i = k % m;
            host[node * columns + f * m + i] +=
                face->rule.w[q] * face->psi[q * m + i] * table.geo[q * n_nodes + node];
        }
    }
    TRY(device_copy(h->device, &g->coordinates, host, (size_t)(n_nodes * columns), sizeof *host));
done:
    hdg_table_destroy(&table);
    base_free(&xi);
    base_free(&host);
    return status;
}

/* The struct hdg_general of the block: all by the rule of the cell. */
static facet_status make_maps(struct hdg *h, int block) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_functions *v = &h->functions[block];
    const struct hdg_table *cell = v->cell.table;
    size_t size = (size_t)cell->n * (size_t)v->Nu;
    int dim = h->data.mesh->dim;
    struct hdg_general *g;
    TRY(CALLOC(h->general[block], 1));
    g = h->general[block];
    g->tables = (struct general_tables){.lanes = h->lanes,
                                        .dim = dim,
                                        .n_faces = b->n_faces,
                                        .N = v->N,
                                        .m = b->m,
                                        .n = cell->n,
                                        .n_face = v->face->rule.n,
                                        .n_metric = cell->n,
                                        .affine = &h->tables[block]};
    TRY(general_rule_create(h, cell, 0, &g->cell));
    TRY(device_copy(h->device, &g->phi, cell->phi, size, sizeof(double)));
    TRY(device_copy(h->device, &g->grad, cell->grad, (size_t)dim * size, sizeof(double)));
    TRY(general_face_tables(h, block, v->face, h->space.degree + h->data.equation->raise, g));
done:
    return status;
}

static facet_status make_tables(struct hdg *h, int block) {
    facet_status status = FACET_OK;
    const struct hdg_general *from = h->general[block];
    struct elastic_general *g = h->elastic->general[block];
    struct elastic_tables sizes = h->elastic->tables[block];
    int symmetric = !elastic_is_gradient(&h->data);
    sizes.D = sizes.F = sizes.FU = sizes.DD = sizes.DF = sizes.FF = sizes.mass = sizes.coordinates = NULL;
    sizes.linear = NULL;
    sizes.rotations = symmetric && h->data.mesh->order <= h->space.degree;
    g->tables = (struct elastic_general_tables){.sizes = sizes,
                                                .n = from->tables.n,
                                                .n_face = from->tables.n_face,
                                                .projects = symmetric,
                                                .chi = from->phi,
                                                .grad = from->grad,
                                                .face_chi = from->face_phi,
                                                .psi = from->psi};
    TRY(put_coordinates(h, block, g));
    TRY(resident_put_regions(h, block, &g->regions));
    TRY(CALLOC(g->numbers, 2 * h->data.n_regions));
done:
    return status;
}

/* Moduli and tau that the device knows, functions that are mapped. */
static int knows(const struct hdg *h, int block) {
    static const char *const kernels[] = {"condense_elastic_general",
                                          "elastic_general_solve",
                                          "elastic_weights",
                                          "lane_values",
                                          "table_apply",
                                          "cell_metric",
                                          "face_metric"};
    const struct hdg_data *data = &h->data;
    if (device_is_host(h->device) || h->space.revolved || h->functions[block].physical ||
        h->ways[block] == NULL)
        return 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!device_has(h->device, kernels[i])) return 0;
    for (int r = 0; r < data->n_regions; r++)
        if (!field_is_differentiable(data->mu[r]) || !field_is_differentiable(data->lambda[r])) return 0;
    return data->tau == NULL || field_is_constant(data->tau, NULL);
}

static int batch_fits_general(const struct hdg *h, int block, int64_t batch, elastic_cell_fits fits) {
    int64_t begin = batch * h->lanes, end = begin + h->lanes, count = h->data.mesh->blocks[block].count;
    if (h->ways[block][batch] != BATCH_SINGLE) return 0;
    for (int64_t cell = begin; cell < end && cell < count; cell++)
        if (!fits(h, block, (int32_t)cell)) return 0;
    return 1;
}

struct general_plan elastic_general_plan(const struct hdg *h, int block) {
    const struct elastic_general_tables *t = &h->elastic->general[block]->tables;
    const int varies = h->elastic->varies;
    int64_t dim = t->sizes.dim, n = t->n, n_face = (int64_t)t->sizes.n_faces * t->n_face,
            nodes = h->space.blocks[block].cell.n_nodes * dim;
    return (struct general_plan){.n_arrays = N_ELASTIC_ARRAYS,
                                 .sizes = {[A_NODES] = nodes,
                                           [A_POINTS] = n * (1 + dim) * dim,
                                           [A_FACE_POINTS] = n_face * (1 + dim) * dim,
                                           [A_WJ] = n,
                                           [A_COFACTORS] = n * dim * dim,
                                           [A_NORMALS] = n_face * dim,
                                           [E_OFFSETS] = nodes,
                                           [E_COORDINATES] = (int64_t)t->sizes.n_faces * t->sizes.m * dim,
                                           [E_MU] = varies ? n : 1,
                                           [E_LAMBDA] = varies ? n : 1,
                                           [E_DEV] = n,
                                           [E_VOL] = varies ? n : 0,
                                           [E_NUMBERS] = N_ELASTIC_NUMBERS,
                                           [E_TAU] = n_face,
                                           [E_ORIENTATIONS] = t->sizes.n_faces,
                                           [E_VOLUMES] = 1},
                                 .n_scratch = device_elastic_general_scratch(h->device, t),
                                 .bytes = PIECE_BYTES,
                                 .alone = 1};
}

facet_status elastic_find_general(struct hdg *h, int block, elastic_cell_fits fits) {
    facet_status status = FACET_OK;
    const int64_t n = trace_n_batches(h->device, h->data.mesh, block);
    int64_t found = 0;
    if (!knows(h, block)) return FACET_OK;
    for (int64_t i = 0; i < n; i++) found += batch_fits_general(h, block, i, fits);
    if (found == 0) return FACET_OK;
    TRY(CALLOC(h->elastic->general[block], 1));
    TRY(make_maps(h, block));
    TRY(make_tables(h, block));
    const struct general_plan plan = elastic_general_plan(h, block);
    if (plan.n_scratch * (int64_t)sizeof(double) > MOST_SCRATCH) {
        elastic_general_destroy(h, block);
        goto done;
    }
    for (int64_t i = 0; i < n; i++)
        if (batch_fits_general(h, block, i, fits)) h->ways[block][i] = BATCH_GENERAL;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ data */

static facet_status put_offsets(const struct general_work *w, int64_t begin, int64_t n) {
    const struct mesh_block *b = &w->hdg->data.mesh->blocks[w->block];
    int lanes = w->hdg->lanes, dim = w->hdg->data.mesh->dim, size = b->n_nodes * dim;
    for (int64_t batch = 0; batch < n; batch++)
        for (int lane = 0; lane < lanes; lane++) {
            const double *from = b->nodes + (int64_t)general_cell(w, begin + batch, lane) * size;
            double *to = w->host[E_OFFSETS] + batch * w->size[E_OFFSETS] + lane;
            for (int i = 0; i < size; i++) to[i * lanes] = from[i] - from[i % dim];
        }
    return general_send(w, E_OFFSETS, n);
}

/* tau as elastic_tau_at has it. */
static void choose_tau(const struct hdg *h, struct elastic_data *d) {
    const struct hdg_data *data = &h->data;
    int symmetric = !elastic_is_gradient(data);
    if (data->tau != NULL) {
        field_is_constant(data->tau, &d->tau);
        d->over_height = symmetric;
    } else if (data->tau_hat > 0.0) {
        d->tau = 2.0 * data->tau_hat;
        d->over_height = 1;
    } else {
        d->over_height = symmetric || h->nonsymmetric;
        d->tau_mu = symmetric ? 2.0 : h->nonsymmetric ? ELASTIC_TRACTION_TAU : 1.0 / h->space.length;
    }
}

/* What is wrong with the moduli of a batch, as the host says it. */
static facet_status refuse_moduli(struct general_work *w, int64_t batch) {
    for (int lane = 0; lane < w->hdg->lanes; lane++) {
        facet_status status = local_begin(&w->local, w->block, general_cell(w, batch, lane));
        if (status != FACET_OK) return status;
    }
    return batch_refuse(w->hdg, w->block, batch, "the material");
}

/* Maps and data of batches begin .. begin+n-1 into the arrays of the device. */
static facet_status make_data(struct general_work *w, int64_t begin, int64_t n,
                              struct elastic_general_cells *cells) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct elastic_general *g = h->elastic->general[w->block];
    const struct elastic_tables *t = &g->tables.sizes;
    const int varies = h->elastic->varies;
    double *const *at = w->device;
    struct elastic_data d = {.lanes = h->lanes,
                             .dim = t->dim,
                             .n = g->tables.n,
                             .n_faces = t->n_faces,
                             .n_face = g->tables.n_face,
                             .varying = varies,
                             .gradient = elastic_is_gradient(&h->data),
                             .plane_stress = t->dim == 2 && h->data.plane == HDG_PLANE_STRESS,
                             .mu = at[E_MU],
                             .lambda = at[E_LAMBDA],
                             .wJ = at[A_WJ],
                             .normals = at[A_NORMALS],
                             .most = 1.0 / SOLVE_LEAST,
                             .dev = at[E_DEV],
                             .vol = varies ? at[E_VOL] : NULL,
                             .numbers = at[E_NUMBERS],
                             .taus = at[E_TAU],
                             .volumes = at[E_VOLUMES]};
    struct general_values values = {.step = 2,
                                    .n_points = varies ? g->tables.n : 1,
                                    .n_rows = 1,
                                    .regions = g->regions != NULL ? g->regions + begin * h->lanes : NULL,
                                    .points = at[A_POINTS]};
    for (int f = 0; f < t->n_faces; f++) d.heights[f] = shape_height(h->space.blocks[w->block].shape, f);
    choose_tau(h, &d);
    TRY(general_orientations(w, E_ORIENTATIONS, begin, n));
    TRY(general_nodes(w, A_NODES, begin, n));
    int64_t failed = general_map_points(h, w->block, n, at);
    if (failed >= 0) TRY(general_refuse_inverted(w, begin + failed));
    if (t->rotations) {
        TRY(put_offsets(w, begin, n));
        device_table_apply(h->device, h->lanes, n, t->n_faces * t->m, h->space.blocks[w->block].cell.n_nodes,
                           t->dim, g->coordinates, at[E_OFFSETS], at[E_COORDINATES]);
    }
    for (int c = 0; c < 2; c++) {
        values.numbers = g->numbers + c;
        general_put_values(h, &values, n, at[c == 0 ? E_MU : E_LAMBDA]);
    }
    failed = device_elastic_weights(h->device, &d, n);
    if (failed >= 0) TRY(refuse_moduli(w, begin + failed));
    *cells = (struct elastic_general_cells){.dev = d.dev,
                                            .vol = d.vol,
                                            .numbers = d.numbers,
                                            .cofactors = at[A_COFACTORS],
                                            .normals = d.normals,
                                            .tau = d.taus,
                                            .coordinates = at[E_COORDINATES],
                                            .orientations = at[E_ORIENTATIONS]};
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ runs */

struct condense_job {
    struct hdg *hdg;
    int64_t begin;
    double *volumes;
};

static facet_status condense_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct condense_job *job = user;
    struct hdg *h = job->hdg;
    const struct elastic_general_tables *t = &h->elastic->general[w->block]->tables;
    int64_t trace = (int64_t)t->sizes.dim * t->sizes.n_faces * t->sizes.m, lanes = h->lanes,
            count = h->data.mesh->blocks[w->block].count;
    struct elastic_general_cells cells;
    TRY(make_data(w, begin, n, &cells));
    TRY(general_fetch(w, E_VOLUMES, n));
    for (int64_t batch = begin; batch < begin + n; batch++) {
        job->volumes[batch - job->begin] = 0.0;
        for (int64_t i = batch * lanes; i < (batch + 1) * lanes && i < count; i++)
            job->volumes[batch - job->begin] += w->host[E_VOLUMES][i - begin * lanes];
    }
    int64_t failed = device_condense_elastic_general(
        h->device, t, &cells, n, h->matrices.values[w->block] + begin * (trace * (trace + 1) / 2) * lanes,
        w->scratch);
    if (failed >= 0) TRY(batch_refuse(h, w->block, begin + failed, "the local problem"));
done:
    return status;
}

facet_status elastic_general_condense(struct hdg *h, int block, int64_t begin, int64_t end, double *volumes) {
    struct condense_job job = {h, begin, volumes};
    struct general_plan plan = elastic_general_plan(h, block);
    facet_status status = put_numbers(h, block);
    if (status != FACET_OK) return status;
    return general_for_pieces(h, block, begin, end, &plan, condense_piece, &job, NULL);
}

facet_status elastic_general_solve(struct general_work *w, int64_t begin, int64_t n, const double *uhat,
                                   double *u, double *q, double *load, int64_t *failed) {
    facet_status status = FACET_OK;
    struct elastic_general_cells cells;
    TRY(make_data(w, begin, n, &cells));
    *failed = device_elastic_general_solve(w->hdg->device, &w->hdg->elastic->general[w->block]->tables,
                                           &cells, n, uhat, u, q, load, w->scratch);
done:
    return status;
}
