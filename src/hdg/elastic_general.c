/* Elasticity in cells whose map is curved or whose moduli vary: tables of a block, and data at the points of
 * a tile of batches, from which the kernels of kernels/elastic.h make the matrices. Laws that are a matrix
 * and tractions of the gradient formulation are left to the host. */
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "hdg/general.h"
#include "solve/solve.h"

#define HOST_SCRATCH                                                                                         \
    ((int64_t)64 << 20)                 /* bytes of a thread of the host: larger matrices are better off one \
                                           by one, */
#define MOST_SCRATCH ((int64_t)2 << 30) /* and of all threads of another device */

/* The arrays of a tile, behind those of all equations. */
enum {
    E_COORDINATES = FIRST_DATA,
    E_MU,
    E_LAMBDA,
    E_DEV,
    E_VOL,
    E_NUMBERS,
    E_TAU,
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
    double *coordinates; /* n_nodes x n_faces m */
    double *middle;      /* n_nodes x (1 + dim): the map and its derivatives in mid-cell; NULL: functions are
                       those of the reference cell */
};

/* ------------------------------------------------------------------------------------------ tables */

void elastic_general_destroy(struct hdg *h, int block) {
    struct elastic_general *g = h->elastic->general[block];
    if (g == NULL) return;
    device_free(h->device, &g->coordinates);
    device_free(h->device, &g->middle);
    base_free(&h->elastic->general[block]);
    cells_forget(h, block);
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
    TRY(cells_place(h, block, sizes.rotations));
done:
    return status;
}

/* A tau that the device knows, functions that are mapped, or products. */
static int knows(const struct hdg *h, int block) {
    static const char *const kernels[] = {"condense_elastic_general",
                                          "elastic_general_solve",
                                          "elastic_weights",
                                          "physical_functions",
                                          "lane_values",
                                          "table_apply",
                                          "cell_metric",
                                          "face_metric"};
    if (h->space.revolved || h->ways[block] == NULL ||
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

/* mu and lambda of a region. */
static const struct field *number_of(const struct hdg *h, int region, int c, int *component) {
    *component = 0;
    return c == 0 ? h->data.mu[region] : h->data.lambda[region];
}

static struct general_plan plan_of(const struct hdg *h, int block) {
    struct elastic_general *g = h->elastic->general[block];
    const struct elastic_general_tables *t = &g->tables;
    const int varies = h->elastic->varies;
    const int64_t dim = t->sizes.dim, n = t->n, n_face = (int64_t)t->sizes.n_faces * t->n_face;
    const int64_t own = g->middle != NULL; /* functions */
    const int64_t rotations = t->sizes.rotations;
    return (struct general_plan){.n_arrays = N_ELASTIC_ARRAYS,
                                 .sizes = {[W_UHAT] = dim * t->sizes.n_faces * t->sizes.m,
                                           [A_VOLUMES] = 1,
                                           [A_POINTS] = n * (1 + dim) * dim,
                                           [A_FACE_POINTS] = n_face * (1 + dim) * dim,
                                           [A_WJ] = n,
                                           [A_COFACTORS] = own ? 0 : n * dim * dim,
                                           [A_NORMALS] = n_face * dim,
                                           [E_COORDINATES] = rotations * t->sizes.n_faces * t->sizes.m * dim,
                                           [E_MU] = varies ? n : 1,
                                           [E_LAMBDA] = varies ? n : 1,
                                           [E_DEV] = n,
                                           [E_VOL] = varies ? n : 0,
                                           [E_NUMBERS] = N_ELASTIC_NUMBERS,
                                           [E_TAU] = n_face,
                                           [E_FACE_MU] = varies ? n_face : 0,
                                           [E_FACE_LAMBDA] = varies ? n_face : 0,
                                           [E_MIDDLE] = own * (1 + dim) * dim,
                                           [E_CHI] = own * n * t->sizes.Nu,
                                           [E_SLOPES] = own * dim * n * t->sizes.N,
                                           [E_FACE_CHI] = own * n_face * t->sizes.Nu},
                                 .n_seen = A_POINTS,
                                 .n_scratch = device_elastic_general_scratch(h->device, t),
                                 .whole = 1,
                                 .kept = &h->cells[block]->work,
                                 .number = number_of,
                                 .n_numbers = 2,
                                 .n_points = (int)(n > n_face ? n : n_face),
                                 .unit = 1.0};
}

/* Whether the kernels' scratch is not too large. */
static int is_small(const struct hdg *h, int block) {
    const int64_t bytes = device_elastic_general_scratch(h->device, &h->elastic->general[block]->tables) *
                          (int64_t)sizeof(double);
    return device_has_memory(h->device) ? bytes <= MOST_SCRATCH : bytes / base_threads() <= HOST_SCRATCH;
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
    if (!is_small(h, block)) {
        elastic_general_destroy(h, block);
        goto done;
    }
    for (int64_t i = 0; i < n; i++)
        if (batch_fits_general(h, block, i, fits)) h->ways[block][i] = BATCH_GENERAL;
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

/* Where moduli are wanted: the arrays of points and of mu and lambda, and how many points a cell has. */
struct moduli_place {
    int points, n, to[2];
};

static facet_status put_moduli(struct general_work *w, int64_t begin, int64_t n,
                               const struct moduli_place *p) {
    facet_status status = FACET_OK;
    const int dim = w->hdg->data.mesh->dim;
    for (int c = 0; c < 2; c++) {
        const struct general_values to = {.points = p->points,
                                          .n_points = p->n,
                                          .step = (1 + dim) * dim,
                                          .c = c,
                                          .count = 1,
                                          .values = w->device[p->to[c]]};
        TRY(general_put_field(w, begin, n, &to));
    }
done:
    return status;
}

/* What is wrong with the moduli of a batch, number `failed` of those at hand, as the host says it. */
static facet_status refuse_moduli(struct general_work *w, int64_t begin, int64_t failed,
                                  const struct moduli_place *p) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const int dim = h->data.mesh->dim;
    double *x = NULL;
    struct local l = {.hdg = h, .block = w->block};
    TRY(ALLOC(x, (int64_t)p->n * (dim + 2)));
    for (int lane = 0; lane < h->lanes; lane++) {
        double *mu = x + (int64_t)p->n * dim;
        l.cell = general_cell(w, begin + failed, lane);
        TRY(general_points_of(w, p->points, p->n, failed, lane, x));
        TRY(local_place(
            elastic_moduli(&h->data, local_region(&h->data, w->block, l.cell), p->n, x, mu, mu + p->n), &l));
    }
    TRY(batch_refuse(h, w->block, begin + failed, "the material"));
done:
    base_free(&x);
    return status;
}

/* That they are moduli on faces, too, where stresses are taken from them. What elastic_weights makes of them
 * there is overwritten by those of the cells. */
static facet_status check_faces(struct general_work *w, int64_t begin, int64_t n,
                                const struct elastic_data *of_cells) {
    facet_status status = FACET_OK;
    const struct elastic_general_tables *t = &w->hdg->elastic->general[w->block]->tables;
    const int n_points = t->sizes.n_faces * t->n_face;
    const struct moduli_place faces = {A_FACE_POINTS, n_points, {E_FACE_MU, E_FACE_LAMBDA}};
    struct elastic_data d = *of_cells;
    if (!d.varying) return FACET_OK;
    TRY(put_moduli(w, begin, n, &faces));
    d.n = n_points;
    d.wJ = d.mu = d.dev = w->device[E_FACE_MU];
    d.lambda = d.vol = w->device[E_FACE_LAMBDA];
    const int64_t failed = device_elastic_weights(w->hdg->device, &d, n);
    if (failed >= 0) TRY(refuse_moduli(w, begin, failed, &faces));
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

static void describe_cells(struct general_work *w) {
    double *const *at = w->device;
    w->bodies = (struct elastic_general_cells){.dev = at[E_DEV],
                                               .vol = w->size[E_VOL] > 0 ? at[E_VOL] : NULL,
                                               .numbers = at[E_NUMBERS],
                                               .cofactors = at[A_COFACTORS],
                                               .normals = at[A_NORMALS],
                                               .tau = at[E_TAU],
                                               .coordinates = at[E_COORDINATES],
                                               .orientations = at[A_ORIENTATIONS]};
    if (w->size[E_CHI] == 0) return;
    w->bodies.chi = at[E_CHI];
    w->bodies.slopes = at[E_SLOPES];
    w->bodies.face_chi = at[E_FACE_CHI];
}

static facet_status make_data(struct general_work *w, int64_t begin, int64_t n, int check) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const int block = w->block, varies = h->elastic->varies, n_nodes = h->space.blocks[block].cell.n_nodes;
    const struct elastic_general *g = h->elastic->general[block];
    const struct elastic_tables *t = &g->tables.sizes;
    general_place(w, begin);
    describe_cells(w);
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
                             .volumes = at[A_VOLUMES]};
    for (int f = 0; f < t->n_faces; f++) d.heights[f] = shape_height(h->space.blocks[block].shape, f);
    choose_tau(h, &d);
    int64_t failed = general_map_points(h, block, n, at);
    if (failed >= 0) TRY(general_refuse_inverted(h, block, begin + failed));
    if (t->rotations)
        device_table_apply(h->device, h->lanes, n, t->n_faces * t->m, n_nodes, t->dim, g->coordinates,
                           at[A_OFFSETS], at[E_COORDINATES]);
    if (g->middle != NULL) make_functions(h, block, n, at);
    const struct moduli_place inside = {A_POINTS, varies ? g->tables.n : 1, {E_MU, E_LAMBDA}};
    if (check) TRY(check_faces(w, begin, n, &d));
    TRY(put_moduli(w, begin, n, &inside));
    failed = device_elastic_weights(h->device, &d, n);
    if (failed >= 0) TRY(refuse_moduli(w, begin, failed, &inside));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ runs */

static int64_t condense(const struct general_work *w, int64_t n, double *K) {
    return device_condense_elastic_general(w->hdg->device, &w->hdg->elastic->general[w->block]->tables,
                                           &w->bodies, n, K, w->scratch);
}

static int64_t solve(const struct general_work *w, int64_t n, const double *uhat, double *u, double *q,
                     double *load) {
    return device_elastic_general_solve(w->hdg->device, &w->hdg->elastic->general[w->block]->tables,
                                        &w->bodies, n, uhat, u, q, load, w->scratch);
}

const struct general_maker elastic_general_maker = {plan_of, make_data, condense, solve};
