/* Batches whose maps or data vary, of problems that stay on a device: nodes, orientations and regions are
 * there, and maps, data at points and weights are made from them whenever a tile of batches is worked on. See
 * resident_parts.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "hdg/resident_parts.h"

void resident_general_destroy(const struct hdg *h, struct resident_block *block) {
    struct resident_general *g = block->general;
    if (g == NULL) return;
    general_forget(&g->work);
    resident_forget_cells(h, &g->there);
    device_free(h->device, &g->psi);
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

/* Sizes of cells go to det of the block. */
static facet_status size_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct resident_block *r = user;
    const int64_t lanes = w->hdg->lanes;
    TRY(general_diffusion.data(w, begin, n, 1));
    device_move(w->hdg->device, r->det + begin * lanes, w->device[A_VOLUMES],
                (size_t)(n * lanes) * sizeof(double));
    TRY(general_fetch(w, A_LARGEST, n));
    for (int64_t i = 0; i < n * lanes && w->hdg->data.reaction != NULL; i++)
        w->largest_reaction = fmax(w->largest_reaction, w->host[A_LARGEST][i]);
done:
    return status;
}

facet_status resident_general_create(struct hdg *h, int block) {
    facet_status status = FACET_OK;
    struct resident_block *r = &h->resident->blocks[block];
    const int64_t n = trace_n_batches(h->device, h->data.mesh, block);
    TRY(CALLOC(r->general, 1));
    TRY(resident_put_cells(h, block, 0, &r->general->there));
    TRY(resident_put_psi(h, block, &h->space.blocks[block].face, &r->general->psi));
    const struct general_plan plan = general_diffusion.plan(h, block);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        const enum batch_way way = batch_way(h, block, begin);
        for (end = begin + 1; end < n && batch_way(h, block, end) == way;) end++;
        if (way != BATCH_GENERAL) continue;
        TRY(general_for_pieces(h, block, begin, end, &plan, size_piece, r, &h->resident->reaction));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ work */

static facet_status balance_piece(struct general_work *w, int64_t begin, int64_t n, void *balance) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct resident_block *r = &h->resident->blocks[w->block];
    const struct general_tables *t = &h->general[w->block]->tables;
    const int64_t lanes = h->lanes, N = t->N * lanes;
    const struct balance_general fields = {.constant = h->space.blocks[w->block].source.phi[0],
                                           .psi = r->general->psi,
                                           .u = r->u + begin * N,
                                           .q = r->q + begin * t->dim * N,
                                           .loads = r->loads + begin * N,
                                           .trace = h->resident->trace,
                                           .maps = r->maps + begin * t->n_faces * lanes};
    TRY(general_diffusion.data(w, begin, n, 0));
    device_general_balance(h->device, t, &w->cells, &fields, n,
                           (double *)balance + begin * (2 + t->n_faces) * lanes);
done:
    return status;
}

facet_status resident_general_balance(const struct hdg *h, int block, int64_t begin, int64_t end,
                                      double *balance) {
    const struct general_plan plan = general_diffusion.plan(h, block);
    return general_for_pieces(h, block, begin, end, &plan, balance_piece, balance, NULL);
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

/* What integrals are taken with: the functions at the points, and ones. */
struct integral_job {
    double *phi, *ones, *integrals; /* device */
};

static facet_status integrate_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct integral_job *job = user;
    const struct hdg *h = w->hdg;
    const struct general_tables *t = &h->general[w->block]->tables;
    double *values = w->device[A_POINTS]; /* which nobody wants any more */
    TRY(general_diffusion.data(w, begin, n, 0));
    device_table_apply(h->device, h->lanes, n, t->n, t->N, 1, job->phi,
                       h->resident->blocks[w->block].u + begin * t->N * h->lanes, values);
    device_multiply(h->device, F64, n * t->n * h->lanes, w->device[A_WJ], values, values);
    device_table_apply(h->device, h->lanes, n, 1, t->n, 1, job->ones, values,
                       job->integrals + begin * h->lanes);
done:
    return status;
}

facet_status resident_general_integrals(const struct hdg *h, int block, int64_t begin, int64_t end,
                                        double *integrals) {
    facet_status status = FACET_OK;
    const struct general_tables *t = &h->general[block]->tables;
    const struct general_plan plan = general_diffusion.plan(h, block);
    struct integral_job job = {.integrals = integrals};
    TRY(general_put_turned(h, t->n, t->N, t->N, h->space.blocks[block].cell.phi, &job.phi));
    TRY(device_alloc(h->device, &job.ones, (size_t)t->n, sizeof *job.ones));
    device_fill(h->device, F64, t->n, 1.0, job.ones);
    TRY(general_for_pieces(h, block, begin, end, &plan, integrate_piece, &job, NULL));
done:
    device_free(h->device, &job.phi);
    device_free(h->device, &job.ones);
    return status;
}
