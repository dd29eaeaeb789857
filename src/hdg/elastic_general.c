/* Cells of elasticity whose map is curved or whose moduli vary, on a device that is not the host: nodes go
 * there once, and maps, moduli at points, weights and integrals are made there whenever a tile of the batches
 * is worked on. Moduli that are functions of the caller are asked for by the host, at the points of a tile.
 * Laws that are a matrix and tractions of the gradient formulation are left to the host. */
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "hdg/resident_parts.h"
#include "solve/solve.h"

#define TILE_BYTES   ((int64_t)512 << 20) /* of the arrays of a tile, about */
#define MOST_SCRATCH ((int64_t)2 << 30)   /* bytes of the kernels' */

/* The arrays of a tile: as of general_plan_of up to the normals, then */
enum {
    E_COORDINATES = FIRST_DATA,
    E_MU,
    E_LAMBDA,
    E_DEV,
    E_VOL,
    E_NUMBERS,
    E_TAU,
    E_VOLUMES,
    E_FACE_MU, /* this and the next: to see whether they are moduli there, too */
    E_FACE_LAMBDA,
    E_MIDDLE, /* this and the next: functions of physical coordinates */
    E_CHI,
    E_SLOPES,
    E_FACE_CHI,
    N_ELASTIC_ARRAYS
};

/* Of a block, beside the struct hdg_general, which has maps and functions. All arrays are on the device. */
struct elastic_general {
    struct elastic_general_tables tables;
    int64_t first;                  /* of its batches */
    struct general_number *numbers; /* n_regions x 2: mu, lambda */
    struct resident_cells cells;
    double *coordinates; /* n_nodes x n_faces m */
    double *psi;         /* struct elastic_general_forces */
    double *middle;      /* n_nodes x (1 + dim): the map and its derivatives in mid-cell; NULL: functions are
                            those of the reference cell */
    /* Of a tile, made when it is wanted first: */
    int64_t most; /* batches */
    int64_t sizes[N_ELASTIC_ARRAYS];
    double *arrays[N_ELASTIC_ARRAYS], *scratch;
};

/* ------------------------------------------------------------------------------------------ tables */

/* Whether the host alone knows a modulus. */
static int is_of_caller(const struct field *f) {
    return !field_is_differentiable(f);
}
static const struct field *modulus_of(const struct hdg *h, int region, int c) {
    return c == 0 ? h->data.mu[region] : h->data.lambda[region];
}

static void forget_numbers(const struct hdg *h, struct elastic_general *g) {
    for (int i = 0; g->numbers != NULL && i < 2 * h->data.n_regions; i++)
        expr_program_destroy(&g->numbers[i].program);
}

/* As the moduli are now: parameters may have changed since the cells were condensed last. */
static facet_status put_numbers(const struct hdg *h, int block) {
    facet_status status = FACET_OK;
    struct elastic_general *g = h->elastic->general[block];
    const int64_t most = g->most * h->lanes * g->tables.n;
    forget_numbers(h, g);
    for (int i = 0; i < 2 * h->data.n_regions; i++) {
        const struct field *f = modulus_of(h, i / 2, i % 2);
        TRY(general_number_create(h, is_of_caller(f) ? NULL : f, 0, most, &g->numbers[i]));
    }
done:
    return status;
}

void elastic_general_destroy(struct hdg *h, int block) {
    struct elastic_general *g = h->elastic->general[block];
    if (g == NULL) return;
    forget_numbers(h, g);
    base_free(&g->numbers);
    resident_forget_cells(h, &g->cells);
    device_free(h->device, &g->coordinates);
    device_free(h->device, &g->psi);
    device_free(h->device, &g->middle);
    for (int i = 0; i < N_ELASTIC_ARRAYS; i++) device_free(h->device, &g->arrays[i]);
    device_free(h->device, &g->scratch);
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
    if (!v->physical) TRY(device_copy(h->device, &g->phi, cell->phi, size, sizeof(double)));
    if (!v->physical) TRY(device_copy(h->device, &g->grad, cell->grad, (size_t)dim * size, sizeof(double)));
    TRY(general_face_tables(h, block, v->face, v->physical ? 0 : h->space.degree + h->data.equation->raise,
                            g));
done:
    return status;
}

/* The map in mid-cell, where functions are of physical coordinates. */
static facet_status put_middle(const struct hdg *h, int block, struct elastic_general *g) {
    facet_status status = FACET_OK;
    const struct hdg_table *table = &h->functions[block].middle;
    const int row = 1 + table->dim;
    double *host = NULL;
    if (!h->functions[block].physical) return FACET_OK;
    TRY(ALLOC(host, table->n_nodes * row));
    for (int i = 0; i < table->n_nodes; i++) {
        host[i * row] = table->geo[i];
        for (int b = 0; b < table->dim; b++) host[i * row + 1 + b] = table->geo_grad[i * table->dim + b];
    }
    TRY(device_copy(h->device, &g->middle, host, (size_t)(table->n_nodes * row), sizeof *host));
done:
    base_free(&host);
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
    TRY(put_middle(h, block, g));
    TRY(resident_put_cells(h, block, sizes.rotations, &g->cells));
    TRY(resident_put_psi(h, block, h->functions[block].face, &g->psi));
    TRY(CALLOC(g->numbers, 2 * h->data.n_regions));
done:
    return status;
}

/* A tau that the device knows, functions that are mapped, or products. */
static int knows(const struct hdg *h, int block) {
    static const char *const kernels[] = {"condense_elastic_general",
                                          "elastic_general_solve",
                                          "elastic_general_balance",
                                          "elastic_weights",
                                          "physical_functions",
                                          "lane_values",
                                          "table_apply",
                                          "cell_metric",
                                          "face_metric"};
    if (device_is_host(h->device) || h->space.revolved || h->ways[block] == NULL ||
        (h->functions[block].physical && h->space.degree + 1 >= PHYSICAL_MOST))
        return 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!device_has(h->device, kernels[i])) return 0;
    return h->data.tau == NULL || field_is_constant(h->data.tau, NULL);
}

static int batch_fits_general(const struct hdg *h, int block, int64_t batch, elastic_cell_fits fits) {
    int64_t begin = batch * h->lanes, end = begin + h->lanes, count = h->data.mesh->blocks[block].count;
    if (h->ways[block][batch] != BATCH_SINGLE) return 0;
    for (int64_t cell = begin; cell < end && cell < count; cell++)
        if (!fits(h, block, (int32_t)cell)) return 0;
    return 1;
}

/* Of which a tile is made; numbers of a cell of its arrays into g->sizes. */
static void plan_tile(const struct hdg *h, int block, struct elastic_general *g) {
    const struct elastic_general_tables *t = &g->tables;
    const int varies = h->elastic->varies;
    const int64_t dim = t->sizes.dim, n = t->n, n_face = (int64_t)t->sizes.n_faces * t->n_face;
    const int64_t own = g->middle != NULL; /* functions */
    const int64_t sizes[N_ELASTIC_ARRAYS] = {
        [A_POINTS] = n * (1 + dim) * dim,
        [A_FACE_POINTS] = n_face * (1 + dim) * dim,
        [A_WJ] = n,
        [A_COFACTORS] = own ? 0 : n * dim * dim,
        [A_NORMALS] = n_face * dim,
        [E_COORDINATES] = t->sizes.rotations ? (int64_t)t->sizes.n_faces * t->sizes.m * dim : 0,
        [E_MU] = varies ? n : 1,
        [E_LAMBDA] = varies ? n : 1,
        [E_DEV] = n,
        [E_VOL] = varies ? n : 0,
        [E_NUMBERS] = N_ELASTIC_NUMBERS,
        [E_TAU] = n_face,
        [E_VOLUMES] = 1,
        [E_FACE_MU] = varies ? n_face : 0,
        [E_FACE_LAMBDA] = varies ? n_face : 0,
        [E_MIDDLE] = own * (1 + dim) * dim,
        [E_CHI] = own * n * t->sizes.Nu,
        [E_SLOPES] = own * dim * n * t->sizes.N,
        [E_FACE_CHI] = own * n_face * t->sizes.Nu};
    int64_t all = 0, n_batches = trace_n_batches(h->device, h->data.mesh, block);
    memcpy(g->sizes, sizes, sizeof sizes);
    for (int i = 0; i < N_ELASTIC_ARRAYS; i++) all += sizes[i];
    g->most = TILE_BYTES / (all * h->lanes * (int64_t)sizeof(double));
    g->most = g->most < 1 ? 1 : g->most < n_batches ? g->most : n_batches;
}

static facet_status need_tile(const struct hdg *h, struct elastic_general *g) {
    facet_status status = FACET_OK;
    if (g->scratch != NULL) return FACET_OK;
    for (int i = 0; i < N_ELASTIC_ARRAYS; i++)
        if (g->arrays[i] == NULL && g->sizes[i] > 0)
            TRY(device_alloc(h->device, &g->arrays[i], (size_t)(g->most * g->sizes[i] * h->lanes),
                             sizeof(double)));
    TRY(device_alloc(h->device, &g->scratch, (size_t)device_elastic_general_scratch(h->device, &g->tables),
                     sizeof(double)));
done:
    return status;
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
    plan_tile(h, block, h->elastic->general[block]);
    if (device_elastic_general_scratch(h->device, &h->elastic->general[block]->tables) *
            (int64_t)sizeof(double) >
        MOST_SCRATCH) {
        elastic_general_destroy(h, block);
        goto done;
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        if (!batch_fits_general(h, block, i, fits)) continue;
        h->ways[block][i] = BATCH_GENERAL;
        h->elastic->general[block]->first = i;
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ data */

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

/* Where moduli are wanted: the numbers of the arrays of points and of what mu and lambda become, and how many
 * points a cell has. */
struct moduli_place {
    int points, n, to[2];
};

/* Values of a function of the caller at the points (and Jacobians there) of the cells of its region,
 * in batches at hand, the first of them `begin`. */
struct caller_job {
    const struct field *field;
    int32_t region;
    int64_t begin;
    int n_points;
    const double *points;
    double *values;
};

static facet_status ask_cell(const struct hdg *h, int block, const struct caller_job *job, int64_t i,
                             double *x, double *values) {
    const int dim = h->data.mesh->dim, n = job->n_points, lanes = h->lanes;
    const int32_t cell = (int32_t)resident_cell(h, block, job->begin * lanes + i);
    if (local_region(&h->data, block, cell) != job->region) return FACET_OK;
    general_points(n, dim, lanes, (1 + dim) * dim,
                   job->points + i / lanes * n * (1 + dim) * dim * lanes + i % lanes, x);
    facet_status status = field_eval(job->field, n, dim, x, values);
    for (int q = 0; q < n; q++) job->values[(i / lanes * n + q) * lanes + i % lanes] = values[q];
    return status;
}

static facet_status ask_caller(const struct hdg *h, int block, const struct caller_job *job, int64_t n) {
    struct base_collector failures;
    const int64_t n_points = job->n_points;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        double *x = NULL;
        facet_status mine = ALLOC(x, n_points * (h->data.mesh->dim + 1));
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 32)
        for (int64_t i = 0; i < n * h->lanes; i++) {
            if (mine != FACET_OK) continue;
            mine = ask_cell(h, block, job, i, x, x + n_points * h->data.mesh->dim);
            base_collect(&failures, i, mine);
        }
        base_free(&x);
    }
    return base_collected(&failures);
}

/* Modulus c (mu, lambda) of those regions where the host alone knows it, into values of the device. */
static facet_status put_moduli_of_caller(const struct hdg *h, int block, int64_t begin, int64_t n,
                                         const struct moduli_place *p, int c) {
    facet_status status = FACET_OK;
    const struct elastic_general *g = h->elastic->general[block];
    const int64_t n_values = n * p->n * h->lanes, n_points = n * g->sizes[p->points] * h->lanes;
    double *values = g->arrays[p->to[c]], *host = NULL, *points = NULL;
    for (int r = 0; r < h->data.n_regions; r++) {
        struct caller_job job = {.field = modulus_of(h, r, c), .region = r, .begin = begin, .n_points = p->n};
        if (!is_of_caller(job.field)) continue;
        if (host == NULL) {
            TRY(ALLOC(host, n_values));
            TRY(ALLOC(points, n_points));
            TRY(device_download(h->device, host, values, (size_t)n_values * sizeof *host));
            TRY(device_download(h->device, points, g->arrays[p->points], (size_t)n_points * sizeof *points));
        }
        job.points = points;
        job.values = host;
        TRY(ask_caller(h, block, &job, n));
    }
    if (host != NULL) TRY(device_upload(h->device, values, host, (size_t)n_values * sizeof *host));
done:
    base_free(&host);
    base_free(&points);
    return status;
}

static facet_status put_moduli(const struct hdg *h, int block, int64_t begin, int64_t n,
                               const struct moduli_place *p) {
    facet_status status = FACET_OK;
    const struct elastic_general *g = h->elastic->general[block];
    struct general_values values = {.step = 2,
                                    .n_points = p->n,
                                    .n_rows = 1,
                                    .regions =
                                        g->cells.regions != NULL ? g->cells.regions + begin * h->lanes : NULL,
                                    .points = g->arrays[p->points]};
    for (int c = 0; c < 2; c++) {
        values.numbers = g->numbers + c;
        general_put_values(h, &values, n, g->arrays[p->to[c]]);
        TRY(put_moduli_of_caller(h, block, begin, n, p, c));
    }
done:
    return status;
}

/* What is wrong with the moduli of a batch, number `failed` of those at hand, as the host says it. */
static facet_status refuse_moduli(const struct hdg *h, int block, int64_t begin, int64_t failed,
                                  const struct moduli_place *p) {
    facet_status status = FACET_OK;
    const struct elastic_general *g = h->elastic->general[block];
    const int dim = h->data.mesh->dim, lanes = h->lanes, row = (1 + dim) * dim;
    const int64_t size = g->sizes[p->points] * lanes;
    double *points = NULL, *x = NULL;
    struct local l = {.hdg = h, .block = block};
    TRY(ALLOC(points, size));
    TRY(ALLOC(x, (int64_t)p->n * (dim + 2)));
    TRY(device_download(h->device, points, g->arrays[p->points] + failed * size,
                        (size_t)size * sizeof *points));
    for (int lane = 0; lane < lanes; lane++) {
        double *mu = x + (int64_t)p->n * dim;
        l.cell = (int32_t)resident_cell(h, block, (begin + failed) * lanes + lane);
        general_points(p->n, dim, lanes, row, points + lane, x);
        TRY(local_place(
            elastic_moduli(&h->data, local_region(&h->data, block, l.cell), p->n, x, mu, mu + p->n), &l));
    }
    TRY(batch_refuse(h, block, begin + failed, "the material"));
done:
    base_free(&points);
    base_free(&x);
    return status;
}

/* That they are moduli on faces, too, where stresses are taken from them. What elastic_weights makes of them
 * there is overwritten by those of the cells. */
static facet_status check_faces(const struct hdg *h, int block, int64_t begin, int64_t n,
                                const struct elastic_data *of_cells) {
    facet_status status = FACET_OK;
    const struct elastic_general *g = h->elastic->general[block];
    const int n_points = g->tables.sizes.n_faces * g->tables.n_face;
    const struct moduli_place faces = {A_FACE_POINTS, n_points, {E_FACE_MU, E_FACE_LAMBDA}};
    struct elastic_data d = *of_cells;
    if (!d.varying) return FACET_OK;
    TRY(put_moduli(h, block, begin, n, &faces));
    d.n = n_points;
    d.wJ = d.mu = d.dev = g->arrays[E_FACE_MU];
    d.lambda = d.vol = g->arrays[E_FACE_LAMBDA];
    const int64_t failed = device_elastic_weights(h->device, &d, n);
    if (failed >= 0) TRY(refuse_moduli(h, block, begin, failed, &faces));
done:
    return status;
}

/* Functions of physical coordinates, at points that are there. */
static void make_functions(const struct hdg *h, int block, int64_t n, double *const *at) {
    const struct elastic_general *g = h->elastic->general[block];
    const struct elastic_tables *t = &g->tables.sizes;
    struct physical_points p = {.lanes = h->lanes,
                                .dim = t->dim,
                                .n = g->tables.n,
                                .degree = h->space.degree + 1,
                                .points = at[A_POINTS],
                                .middle = at[E_MIDDLE],
                                .wJ = at[A_WJ],
                                .values = at[E_CHI],
                                .slopes = at[E_SLOPES]};
    device_table_apply(h->device, h->lanes, n, 1 + t->dim, h->space.blocks[block].cell.n_nodes, t->dim,
                       g->middle, at[A_NODES], at[E_MIDDLE]);
    device_physical_functions(h->device, &p, n);
    p.n = t->n_faces * g->tables.n_face;
    p.points = at[A_FACE_POINTS];
    p.values = at[E_FACE_CHI];
    p.slopes = NULL;
    device_physical_functions(h->device, &p, n);
}

/* Maps and data of batches begin .. begin+n-1, no more than a tile. check: moduli on faces, which are of no
 * use but to be looked at. */
static facet_status make_data(const struct hdg *h, int block, int64_t begin, int64_t n, int check,
                              struct elastic_general_cells *cells) {
    facet_status status = FACET_OK;
    struct elastic_general *g = h->elastic->general[block];
    const struct elastic_tables *t = &g->tables.sizes;
    const int varies = h->elastic->varies, n_nodes = h->space.blocks[block].cell.n_nodes;
    const int64_t nodes = begin * n_nodes * t->dim * h->lanes;
    double *at[N_ELASTIC_ARRAYS];
    memcpy(at, g->arrays, sizeof at);
    at[A_NODES] = g->cells.nodes + nodes;
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
    for (int f = 0; f < t->n_faces; f++) d.heights[f] = shape_height(h->space.blocks[block].shape, f);
    choose_tau(h, &d);
    int64_t failed = general_map_points(h, block, n, at);
    if (failed >= 0) TRY(general_refuse_inverted(h, block, begin + failed));
    if (t->rotations)
        device_table_apply(h->device, h->lanes, n, t->n_faces * t->m, n_nodes, t->dim, g->coordinates,
                           g->cells.offsets + nodes, at[E_COORDINATES]);
    if (g->middle != NULL) make_functions(h, block, n, at);
    const struct moduli_place inside = {A_POINTS, varies ? g->tables.n : 1, {E_MU, E_LAMBDA}};
    if (check) TRY(check_faces(h, block, begin, n, &d));
    TRY(put_moduli(h, block, begin, n, &inside));
    failed = device_elastic_weights(h->device, &d, n);
    if (failed >= 0) TRY(refuse_moduli(h, block, begin, failed, &inside));
    *cells =
        (struct elastic_general_cells){.dev = d.dev,
                                       .vol = d.vol,
                                       .numbers = d.numbers,
                                       .cofactors = at[A_COFACTORS],
                                       .normals = d.normals,
                                       .tau = d.taus,
                                       .coordinates = at[E_COORDINATES],
                                       .orientations = g->cells.orientations + begin * t->n_faces * h->lanes,
                                       .chi = at[E_CHI],
                                       .slopes = at[E_SLOPES],
                                       .face_chi = at[E_FACE_CHI]};
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ runs */

/* Batches of the next tile. */
static int64_t tile_size(const struct elastic_general *g, int64_t begin, int64_t end) {
    return end - begin < g->most ? end - begin : g->most;
}

/* Of the n batches at hand, from `begin` on; lanes without a cell have none. */
static facet_status fetch_volumes(const struct hdg *h, int block, int64_t begin, int64_t n, double *volumes) {
    facet_status status = FACET_OK;
    const int64_t count = h->data.mesh->blocks[block].count, lanes = h->lanes;
    double *host = NULL;
    TRY(ALLOC(host, n * lanes));
    TRY(device_download(h->device, host, h->elastic->general[block]->arrays[E_VOLUMES],
                        (size_t)(n * lanes) * sizeof *host));
    for (int64_t i = 0; i < n * lanes; i++) {
        if (i % lanes == 0) volumes[i / lanes] = 0.0;
        if (begin * lanes + i < count) volumes[i / lanes] += host[i];
    }
done:
    base_free(&host);
    return status;
}

facet_status elastic_general_condense(struct hdg *h, int block, int64_t begin, int64_t end, double *volumes) {
    facet_status status = FACET_OK;
    struct elastic_general *g = h->elastic->general[block];
    const struct elastic_tables *t = &g->tables.sizes;
    const int64_t trace = (int64_t)t->dim * t->n_faces * t->m, size = trace * (trace + 1) / 2 * h->lanes;
    TRY(need_tile(h, g));
    if (begin == g->first) TRY(put_numbers(h, block)); /* of all runs of batches that follow, too */
    for (int64_t at = begin, n; at < end; at += n) {
        struct elastic_general_cells cells;
        n = tile_size(g, at, end);
        TRY(make_data(h, block, at, n, 1, &cells));
        TRY(fetch_volumes(h, block, at, n, volumes + at - begin));
        int64_t failed = device_condense_elastic_general(h->device, &g->tables, &cells, n,
                                                         h->matrices.values[block] + at * size, g->scratch);
        if (failed >= 0) TRY(batch_refuse(h, block, at + failed, "the local problem"));
    }
    TRY(device_check(h->device));
done:
    return status;
}

struct general_plan elastic_general_plan(void) {
    return (struct general_plan){.n_arrays = W_OWN, .bytes = TILE_BYTES / 2, .alone = 1};
}

facet_status elastic_general_solve(const struct hdg *h, int block, int64_t begin, int64_t end,
                                   const double *uhat, double *u, double *q, double *load, int64_t *failed) {
    facet_status status = FACET_OK;
    struct elastic_general *g = h->elastic->general[block];
    const struct elastic_tables *t = &g->tables.sizes;
    const int64_t lanes = h->lanes, trace = t->dim * t->n_faces * t->m * lanes, N = t->dim * t->Nu * lanes,
                  flux = (t->dim * t->dim + (t->pressure != 0)) * t->N * lanes;
    *failed = -1;
    TRY(need_tile(h, g));
    for (int64_t at = begin, n; at < end && *failed < 0; at += n) {
        struct elastic_general_cells cells;
        const int64_t i = at - begin;
        n = tile_size(g, at, end);
        TRY(make_data(h, block, at, n, 0, &cells));
        *failed = device_elastic_general_solve(
            h->device, &g->tables, &cells, n, uhat != NULL ? uhat + i * trace : NULL, u + i * N,
            q != NULL ? q + i * flux : NULL, load != NULL ? load + i * trace : NULL, g->scratch);
        if (*failed >= 0) *failed += i;
    }
    TRY(device_check(h->device));
done:
    return status;
}

facet_status elastic_general_balance(const struct hdg *h, int block, int64_t begin, int64_t end,
                                     double *balance) {
    facet_status status = FACET_OK;
    struct elastic_general *g = h->elastic->general[block];
    const struct resident_block *r = &h->resident->blocks[block];
    const struct elastic_tables *t = &g->tables.sizes;
    const int64_t lanes = h->lanes, N = r->N * lanes, faces = t->n_faces * lanes;
    TRY(need_tile(h, g));
    for (int64_t at = begin, n; at < end; at += n) {
        const struct hdg_functions *v = &h->functions[block];
        const struct elastic_general_forces forces = {.constant = v->physical ? v->source.chi[0]
                                                                              : v->source.table->phi[0],
                                                      .psi = g->psi,
                                                      .u = r->u + at * N,
                                                      .q = r->q + at * r->n_flux * lanes,
                                                      .loads = r->loads + at * N,
                                                      .trace = h->resident->trace,
                                                      .maps = r->maps + at * faces};
        struct elastic_general_cells cells;
        n = tile_size(g, at, end);
        TRY(make_data(h, block, at, n, 0, &cells));
        device_elastic_general_balance(h->device, &g->tables, &cells, &forces, n,
                                       balance + at * (2 * lanes + t->dim * faces));
    }
    TRY(device_check(h->device));
done:
    return status;
}

const double *elastic_general_nodes(const struct hdg *h, int block) {
    return h->elastic->general[block]->cells.nodes;
}
