/* Batches whose maps or data vary, of problems that stay on a device: nodes, orientations and regions are
 * there, and maps, data at points and weights are made from them whenever a tile of batches is worked on. See
 * resident_parts.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "hdg/resident_parts.h"
#include "solve/solve.h"

#define TILE_NUMBERS (4 * (int64_t)RESIDENT_NUMBERS) /* of the arrays of a tile: many launches make one */

struct resident_general {
    struct resident_cells there;
    int varying, n_components;      /* of K */
    struct general_number *numbers; /* n_regions x (n_components + 1): K and lambda */
    double *psi;                    /* struct balance_general */
    /* Of a tile: */
    int64_t most; /* batches */
    int64_t sizes[N_GENERAL_ARRAYS];
    double *arrays[N_GENERAL_ARRAYS]; /* as of general_plan_of; nodes and orientations are those above */
    double *K, *reaction, *largest, *size, *scratch;
    struct general_cells cells;
};

static void tile_destroy(const struct hdg *h, struct resident_general *g) {
    for (int i = 0; i < N_GENERAL_ARRAYS; i++)
        if (i != A_NODES && i != A_ORIENTATIONS) device_free(h->device, &g->arrays[i]);
    double **arrays[] = {&g->K, &g->reaction, &g->largest, &g->size, &g->scratch};
    for (int i = 0; i < 5; i++) device_free(h->device, arrays[i]);
}

void resident_general_destroy(const struct hdg *h, struct resident_block *block) {
    struct resident_general *g = block->general;
    if (g == NULL) return;
    for (int i = 0; g->numbers != NULL && i < h->data.n_regions * (g->n_components + 1); i++)
        expr_program_destroy(&g->numbers[i].program);
    base_free(&g->numbers);
    resident_forget_cells(h, &g->there);
    device_free(h->device, &g->psi);
    tile_destroy(h, g);
    base_free(&block->general);
}

int resident_general_fits(const struct hdg *h) {
    static const char *const kernels[] = {"condense_general", "general_solve",   "lane_values",
                                          "general_weights",  "general_balance", "cell_metric",
                                          "face_metric"};
    const struct hdg_data *data = &h->data;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!device_has(h->device, kernels[i])) return 0;
    for (int r = 0; r < data->n_regions; r++) {
        const struct field *lambda = data->reaction != NULL ? data->reaction[r] : NULL;
        if (!field_is_differentiable(data->conductivity[r]) ||
            (lambda != NULL && !field_is_differentiable(lambda)))
            return 0;
    }
    return data->tau == NULL || field_is_constant(data->tau, NULL);
}

/* ------------------------------------------------------------------------------------------ cells */

facet_status resident_put_cells(const struct hdg *h, int block, int offsets, struct resident_cells *to) {
    facet_status status = FACET_OK;
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    const int lanes = h->lanes, n_faces = shape_n_faces(b->shape), dim = h->data.mesh->dim,
              size = b->n_nodes * dim;
    const int64_t n = trace_n_batches(h->device, h->data.mesh, block) * lanes;
    double *nodes = NULL, *orientations = NULL;
    TRY(ALLOC(nodes, n * size));
    TRY(ALLOC(orientations, n * n_faces));
    for (int less = 0; less <= offsets; less++) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
        for (int64_t i = 0; i < n; i++) {
            const double *from = b->nodes + resident_cell(h, block, i) * size;
            for (int k = 0; k < size; k++)
                nodes[(i / lanes * size + k) * lanes + i % lanes] = from[k] - (less ? from[k % dim] : 0.0);
        }
        TRY(device_copy(h->device, less ? &to->offsets : &to->nodes, nodes, (size_t)(n * size),
                        sizeof *nodes));
    }
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < n; i++)
        for (int f = 0; f < n_faces; f++)
            orientations[(i / lanes * n_faces + f) * lanes + i % lanes] =
                b->orientations[resident_cell(h, block, i) * n_faces + f];
    TRY(device_copy(h->device, &to->orientations, orientations, (size_t)(n * n_faces), sizeof *orientations));
    TRY(resident_put_regions(h, block, &to->regions));
done:
    base_free(&nodes);
    base_free(&orientations);
    return status;
}

void resident_forget_cells(const struct hdg *h, struct resident_cells *cells) {
    device_free(h->device, &cells->nodes);
    device_free(h->device, &cells->orientations);
    device_free(h->device, &cells->offsets);
    device_free(h->device, &cells->regions);
}

/* The field of number c (of the components of K, behind them the reaction) in a region, and which component
 * of it that is; NULL: zero. */
static const struct field *field_of(const struct hdg *h, const struct resident_general *g, int region, int c,
                                    int *component) {
    const struct field *K = h->data.conductivity[region];
    *component = 0;
    if (c == g->n_components) return h->data.reaction != NULL ? h->data.reaction[region] : NULL;
    if (field_n_components(K) > 1) *component = c;
    return field_n_components(K) > 1 || c % (h->data.mesh->dim + 1) == 0 ? K : NULL;
}

static facet_status put_numbers(const struct hdg *h, struct resident_general *g) {
    facet_status status = FACET_OK;
    const int row = g->n_components + 1;
    TRY(CALLOC(g->numbers, h->data.n_regions * row));
    for (int i = 0; i < h->data.n_regions * row; i++) {
        int component;
        const struct field *f = field_of(h, g, i / row, i % row, &component);
        TRY(general_number_create(h, f, component, g->most * h->lanes * g->sizes[A_WJ], &g->numbers[i]));
    }
done:
    return status;
}

facet_status resident_put_psi(const struct hdg *h, int block, const struct hdg_face_table *face,
                              double **psi) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const int64_t m = b->m, n = face->rule.n;
    double *O = NULL, *host = NULL;
    TRY(CALLOC(O, 8 * m * m));
    TRY(CALLOC(host, 8 * n * m));
    TRY(batch_turn_matrices(b, h->space.degree, O));
    for (int64_t i = 0; i < 8 * n * m; i++)
        for (int64_t k = 0; k < m; k++)
            host[i] += face->psi[i / m % n * m + k] * O[(i / (n * m) * m + k) * m + i % m];
    TRY(device_copy(h->device, psi, host, (size_t)(8 * n * m), sizeof *host));
done:
    base_free(&O);
    base_free(&host);
    return status;
}

/* How K is, in all regions. */
static void choose_form(const struct hdg *h, struct resident_general *g) {
    int scalar = 1;
    for (int r = 0; r < h->data.n_regions; r++) scalar &= field_n_components(h->data.conductivity[r]) == 1;
    g->varying = general_varies(h);
    g->n_components = scalar ? 1 : h->data.mesh->dim * h->data.mesh->dim;
}

static facet_status tile_create(const struct hdg *h, int block, struct resident_general *g) {
    facet_status status = FACET_OK;
    const struct general_tables *t = &h->general[block]->tables;
    const struct general_plan plan = general_plan_of(h, block);
    const int64_t lanes = h->lanes, n_batches = trace_n_batches(h->device, h->data.mesh, block);
    int64_t all = (g->varying ? t->n : 1) * g->n_components + t->n + 2;
    memcpy(g->sizes, plan.sizes, sizeof g->sizes);
    if (h->data.reaction == NULL) g->sizes[A_REACTION] = 0;
    for (int i = A_NODES; i < N_GENERAL_ARRAYS; i++) all += g->sizes[i];
    g->most = TILE_NUMBERS / (all * lanes);
    g->most = g->most < 1 ? 1 : g->most < n_batches ? g->most : n_batches;
    for (int i = A_NODES; i < N_GENERAL_ARRAYS; i++)
        if (i != A_NODES && i != A_ORIENTATIONS)
            TRY(device_alloc(h->device, &g->arrays[i], (size_t)(g->most * g->sizes[i] * lanes),
                             sizeof(double)));
    TRY(device_alloc(h->device, &g->K, (size_t)(g->most * (g->varying ? t->n : 1) * g->n_components * lanes),
                     sizeof(double)));
    TRY(device_alloc(h->device, &g->reaction, (size_t)(g->most * t->n * lanes), sizeof(double)));
    TRY(device_alloc(h->device, &g->largest, (size_t)(g->most * lanes), sizeof(double)));
    TRY(device_alloc(h->device, &g->size, (size_t)(g->most * lanes), sizeof(double)));
    TRY(device_alloc(h->device, &g->scratch, (size_t)plan.n_scratch, sizeof(double)));
    const int full = g->n_components > 1 && g->varying, roots = g->n_components > 1 && !g->varying;
    g->cells = (struct general_cells){.full = full,
                                      .mass = g->arrays[A_MASS],
                                      .det = !g->varying && t->M != NULL ? g->arrays[A_DET] : NULL,
                                      .roots = roots ? g->arrays[A_ROOTS] : NULL,
                                      .reaction = h->data.reaction != NULL ? g->arrays[A_REACTION] : NULL,
                                      .cofactors = g->arrays[A_COFACTORS],
                                      .normals = g->arrays[A_NORMALS],
                                      .tau = g->arrays[A_TAU]};
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ data */

/* Number c, `row` of n_rows, at n_points points of the cells of n batches. */
static void put_values(const struct hdg *h, const struct resident_general *g, int64_t begin, int64_t n,
                       int n_points, int c, int row, int n_rows, double *values) {
    const struct general_values from = {
        .numbers = g->numbers + c,
        .step = g->n_components + 1,
        .n_points = n_points,
        .row = row,
        .n_rows = n_rows,
        .regions = g->there.regions != NULL ? g->there.regions + begin * h->lanes : NULL,
        .points = g->arrays[A_POINTS]};
    general_put_values(h, &from, n, values);
}

/* Maps and data of n batches, no more than a tile; size: of the cells (det of resident_block). *fit as of
 * resident_general_create. */
static void make_data(const struct hdg *h, int block, int64_t begin, int64_t n, double *size, int *fit) {
    struct resident_general *g = h->resident->blocks[block].general;
    const struct general_tables *t = &h->general[block]->tables;
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    const int lanes = h->lanes;
    struct general_data d = {.lanes = lanes,
                             .dim = t->dim,
                             .n = t->n,
                             .n_faces = t->n_faces,
                             .n_face = t->n_face,
                             .n_det = t->n_det,
                             .varying = g->varying,
                             .n_components = g->n_components,
                             .K = g->K,
                             .reaction = h->data.reaction != NULL ? g->reaction : NULL,
                             .wJ = g->arrays[A_WJ],
                             .normals = g->arrays[A_NORMALS],
                             .tau_hat = h->data.tau_hat,
                             .length = h->space.length,
                             .unit = shape_measure(b->shape),
                             .most = 1.0 / SOLVE_LEAST,
                             .full = g->cells.full,
                             .mass = g->cells.det == NULL ? g->arrays[A_MASS] : NULL,
                             .roots = g->cells.roots != NULL ? g->arrays[A_ROOTS] : NULL,
                             .weights = g->arrays[A_REACTION],
                             .taus = g->arrays[A_TAU],
                             .det = g->cells.det != NULL ? g->arrays[A_DET] : NULL,
                             .size = size,
                             .largest = g->largest};
    for (int f = 0; f < t->n_faces; f++) d.heights[f] = shape_height(b->shape, f);
    if (h->data.tau != NULL) {
        field_is_constant(h->data.tau, &d.tau);
        if (!(d.tau > 0.0)) *fit = 0;
    }
    g->arrays[A_NODES] = g->there.nodes + begin * g->sizes[A_NODES] * lanes;
    g->cells.orientations = g->there.orientations + begin * t->n_faces * lanes;
    if (general_map_points(h, block, n, g->arrays) >= 0) *fit = 0;
    for (int c = 0; c < g->n_components; c++)
        put_values(h, g, begin, n, g->varying ? t->n : 1, c, c, g->n_components, g->K);
    if (h->data.reaction != NULL) put_values(h, g, begin, n, t->n, g->n_components, 0, 1, g->reaction);
    if (device_general_weights(h->device, &d, n) >= 0) *fit = 0;
}

/* Batches of the next tile. */
static int64_t tile_size(const struct resident_general *g, int64_t begin, int64_t end) {
    return end - begin < g->most ? end - begin : g->most;
}

static facet_status find_largest(struct hdg *h, const struct resident_general *g, int64_t n) {
    facet_status status = FACET_OK;
    double *host = NULL;
    TRY(ALLOC(host, n));
    TRY(device_download(h->device, host, g->largest, (size_t)n * sizeof *host));
    for (int64_t i = 0; i < n; i++) h->resident->reaction = fmax(h->resident->reaction, host[i]);
done:
    base_free(&host);
    return status;
}

facet_status resident_general_create(struct hdg *h, int block, int *fit) {
    facet_status status = FACET_OK;
    struct resident_block *r = &h->resident->blocks[block];
    const int64_t n_batches = trace_n_batches(h->device, h->data.mesh, block);
    struct resident_general *g;
    TRY(CALLOC(r->general, 1));
    g = r->general;
    choose_form(h, g);
    TRY(tile_create(h, block, g));
    TRY(resident_put_cells(h, block, 0, &g->there));
    TRY(put_numbers(h, g));
    TRY(resident_put_psi(h, block, &h->space.blocks[block].face, &g->psi));
    for (int64_t begin = 0, n; begin < n_batches && *fit; begin += n) {
        const int64_t end = resident_run_end(h, block, begin);
        n = batch_way(h, block, begin) == BATCH_GENERAL ? tile_size(g, begin, end) : end - begin;
        if (batch_way(h, block, begin) != BATCH_GENERAL) continue;
        make_data(h, block, begin, n, r->det + begin * h->lanes, fit);
        if (*fit && h->data.reaction != NULL) TRY(find_largest(h, g, n * h->lanes));
    }
    TRY(device_check(h->device));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ work */

facet_status hdg_resident_condense(struct hdg *h, int block, int64_t begin, int64_t end) {
    facet_status status = FACET_OK;
    struct resident_block *r = &h->resident->blocks[block];
    struct resident_general *g = r->general;
    const struct general_tables *t = &h->general[block]->tables;
    const int64_t trace = (int64_t)t->n_faces * t->m, size = trace * (trace + 1) / 2 * h->lanes;
    int fit = 1;
    for (int64_t at = begin, n; at < end; at += n) {
        n = tile_size(g, at, end);
        make_data(h, block, at, n, g->size, &fit);
        int64_t failed = device_condense_general(h->device, t, &g->cells, n,
                                                 h->matrices.values[block] + at * size, g->scratch);
        if (failed >= 0) TRY(batch_refuse(h, block, at + failed, "the local problem"));
    }
    TRY(device_check(h->device));
done:
    return status;
}

facet_status resident_general_solve(const struct hdg *h, int block, int64_t begin, int64_t end,
                                    const double *uhat, double *load, int64_t *failed) {
    struct resident_block *r = &h->resident->blocks[block];
    struct resident_general *g = r->general;
    const struct general_tables *t = &h->general[block]->tables;
    const int64_t trace = (int64_t)t->n_faces * t->m * h->lanes, N = (int64_t)t->N * h->lanes;
    int fit = 1;
    *failed = -1;
    for (int64_t at = begin, n; at < end && *failed < 0; at += n) {
        n = tile_size(g, at, end);
        make_data(h, block, at, n, g->size, &fit);
        *failed = device_general_solve(h->device, t, &g->cells, n, uhat != NULL ? uhat + at * trace : NULL,
                                       r->u + at * N, uhat != NULL ? r->q + at * t->dim * N : NULL,
                                       load != NULL ? load + at * trace : NULL, g->scratch);
        if (*failed >= 0) *failed += at;
    }
    return device_check(h->device);
}

facet_status resident_general_balance(const struct hdg *h, int block, int64_t begin, int64_t end,
                                      double *balance) {
    const struct resident_block *r = &h->resident->blocks[block];
    struct resident_general *g = r->general;
    const struct general_tables *t = &h->general[block]->tables;
    const int64_t lanes = h->lanes, N = t->N * lanes;
    int fit = 1;
    for (int64_t at = begin, n; at < end; at += n) {
        const struct balance_general fields = {.constant = h->space.blocks[block].source.phi[0],
                                               .psi = g->psi,
                                               .u = r->u + at * N,
                                               .q = r->q + at * t->dim * N,
                                               .loads = r->loads + at * N,
                                               .trace = h->resident->trace,
                                               .maps = r->maps + at * t->n_faces * lanes};
        n = tile_size(g, at, end);
        make_data(h, block, at, n, g->size, &fit);
        device_general_balance(h->device, t, &g->cells, &fields, n, balance + at * (2 + t->n_faces) * lanes);
    }
    return device_check(h->device);
}

/* ------------------------------------------------------------------------------------------ loads and
 * integrals */

/* What the sources of a block are taken with. */
struct load_work {
    struct general_rule rule;
    struct expr_program programs[3]; /* empty where a component is a number */
    double constants[3];
    double *chi, *points, *wJ, *values; /* device */
    int64_t most;                       /* batches at once */
};

static void load_work_destroy(const struct hdg *h, struct load_work *w) {
    general_rule_destroy(h, &w->rule);
    for (int c = 0; c < 3; c++) expr_program_destroy(&w->programs[c]);
    double **arrays[] = {&w->chi, &w->points, &w->wJ, &w->values};
    for (int i = 0; i < 4; i++) device_free(h->device, arrays[i]);
}

static facet_status load_work_create(const struct hdg *h, int block, const struct field *f,
                                     struct load_work *w) {
    facet_status status = FACET_OK;
    const struct hdg_table *table = h->functions[block].source.table;
    const int dim = h->data.mesh->dim, nc = h->trace.n_components, Nu = h->functions[block].Nu;
    const int64_t row = (1 + dim) * dim, points = table->n * (int64_t)h->lanes,
                  n = h->matrices.n_batches[block];
    double *chi = NULL;
    w->most = RESIDENT_NUMBERS / (points * row);
    w->most = w->most < 1 ? 1 : w->most < n ? w->most : n;
    for (int c = 0; c < nc; c++)
        if (f != NULL && !field_is_number(f, c, &w->constants[c]))
            TRY(field_program_create(f, c, h->device, dim, 0, 0, w->most * points, &w->programs[c]));
    TRY(general_rule_create(h, table, 0, &w->rule));
    TRY(ALLOC(chi, table->n * Nu));
    for (int64_t i = 0; i < (int64_t)table->n * Nu; i++) chi[i] = table->phi[i / Nu * table->N + i % Nu];
    TRY(device_copy(h->device, &w->chi, chi, (size_t)(table->n * Nu), sizeof *chi));
    TRY(device_alloc(h->device, &w->points, (size_t)(w->most * points * row), sizeof(double)));
    TRY(device_alloc(h->device, &w->wJ, (size_t)(w->most * points), sizeof(double)));
    TRY(device_alloc(h->device, &w->values, (size_t)(w->most * points * nc), sizeof(double)));
done:
    base_free(&chi);
    return status;
}

/* Batches begin .. end-1, all of them general. */
static void load_run(const struct hdg *h, int block, const struct load_work *w, int64_t begin, int64_t end) {
    const struct resident_block *r = &h->resident->blocks[block];
    const struct hdg_table *table = h->functions[block].source.table;
    const double *nodes = h->elastic != NULL ? elastic_general_nodes(h, block) : r->general->there.nodes;
    const int lanes = h->lanes, dim = h->data.mesh->dim, nc = h->trace.n_components;
    for (int64_t at = begin; at < end; at += w->most) {
        const int64_t many = end - at < w->most ? end - at : w->most;
        device_table_apply(h->device, lanes, many, table->n * (1 + dim), table->n_nodes, dim, w->rule.map,
                           nodes + at * table->n_nodes * dim * lanes, w->points);
        (void)device_cell_metric(h->device, lanes, many, dim, table->n, w->rule.w, w->points, w->wJ, NULL);
        for (int c = 0; c < nc; c++) {
            const struct lane_points p = {.lanes = lanes,
                                          .dim = dim,
                                          .n = table->n,
                                          .step = (1 + dim) * dim,
                                          .points = w->points,
                                          .weights = w->wJ,
                                          .row = c,
                                          .n_rows = nc,
                                          .by_rows = 1,
                                          .constant = w->constants[c],
                                          .plan = w->programs[c].plan,
                                          .work = w->programs[c].work};
            device_lane_values(h->device, &p, many, w->values);
        }
        device_table_apply(h->device, lanes, many * nc, h->functions[block].Nu, table->n, 1, w->chi,
                           w->values, r->loads + at * r->N * lanes);
    }
}

facet_status resident_general_load(const struct hdg *h, int block, const struct field *f) {
    facet_status status = FACET_OK;
    struct load_work w = {.most = 0};
    TRY(load_work_create(h, block, f, &w));
    for (int64_t begin = 0, end; begin < h->matrices.n_batches[block]; begin = end) {
        end = resident_run_end(h, block, begin);
        if (!batch_is_fast(h, block, begin)) load_run(h, block, &w, begin, end);
    }
    TRY(device_check(h->device)); /* before the programs go */
done:
    load_work_destroy(h, &w);
    return status;
}

facet_status resident_general_integrals(const struct hdg *h, int block, int64_t begin, int64_t end,
                                        double *integrals) {
    facet_status status = FACET_OK;
    const struct resident_block *r = &h->resident->blocks[block];
    struct resident_general *g = r->general;
    const struct general_tables *t = &h->general[block]->tables;
    const int64_t lanes = h->lanes, N = t->N * lanes;
    double *phi = NULL, *ones = NULL, *values = g->arrays[A_MASS], *weighted = g->reaction;
    int fit = 1;
    TRY(general_put_turned(h, t->n, t->N, t->N, h->space.blocks[block].cell.phi, &phi));
    TRY(device_alloc(h->device, &ones, (size_t)t->n, sizeof *ones));
    device_fill(h->device, F64, t->n, 1.0, ones);
    for (int64_t at = begin, n; at < end; at += n) {
        n = tile_size(g, at, end);
        make_data(h, block, at, n, g->size, &fit);
        device_table_apply(h->device, h->lanes, n, t->n, t->N, 1, phi, r->u + at * N, values);
        device_multiply(h->device, F64, n * t->n * lanes, g->arrays[A_WJ], values, weighted);
        device_table_apply(h->device, h->lanes, n, 1, t->n, 1, ones, weighted, integrals + at * lanes);
    }
    TRY(device_check(h->device));
done:
    device_free(h->device, &phi);
    device_free(h->device, &ones);
    return status;
}
