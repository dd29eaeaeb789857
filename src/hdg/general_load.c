/* Loads (f, phi) of diffusion, a few batches at a time: maps at the points of the source rule, f there, and
 * one product with the table of the functions. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/general.h"

/* The last three are the host's, cell after cell: points, f, and what it is made of. */
enum { L_NODES, L_POINTS, L_MIDDLE, L_DET, L_WJ, L_VALUES, L_LOADS, L_X, L_F, L_JETS, N_ARRAYS };

struct load_job {
    struct general_load data;
    struct general_rule rule;
    double *phi; /* device: n x N */
};

/* f of the cells first .. end-1 at hand, which are of one region, in one call: a few points each are not
 * worth one. */
static facet_status find_source(struct general_work *w, int points, int64_t begin, int64_t first, int64_t end,
                                int32_t region) {
    struct local *l = &w->local;
    int dim = w->hdg->data.mesh->dim, lanes = w->hdg->lanes;
    double *x = w->host[L_X], *f = w->host[L_F], *jets = l->jets;
    l->jets = w->host[L_JETS];
    facet_status status =
        local_source(l, region, (int)(end - first) * points, x + first * points * dim, f + first * points);
    l->jets = jets;
    for (int64_t c = first; c < end && status != FACET_OK; c++) { /* which cell it is */
        l->block = w->block;
        l->cell = general_cell(w, begin + c / lanes, (int)(c % lanes));
        facet_status mine = local_source(l, region, points, x + c * points * dim, f + c * points);
        if (mine != FACET_OK) return local_place(mine, l);
    }
    return status;
}

/* f of all cells at hand. */
static facet_status find_sources(struct general_work *w, const struct load_job *job, int64_t begin,
                                 int64_t n) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    int points = job->rule.table->n, dim = h->data.mesh->dim, lanes = h->lanes;
    int64_t first = 0;
    int32_t region = -1;
    for (int64_t c = 0; c < n * lanes; c++) {
        int32_t cell = general_cell(w, begin + c / lanes, (int)(c % lanes));
        int32_t mine = local_region(&h->data, w->block, cell);
        if (mine != region && c > first) {
            TRY(find_source(w, points, begin, first, c, region));
            first = c;
        }
        region = mine;
        general_points(points, dim, lanes, general_point_size(&job->rule),
                       w->host[L_POINTS] + c / lanes * w->size[L_POINTS] + c % lanes,
                       w->host[L_X] + c * points * dim);
    }
    TRY(find_source(w, points, begin, first, n * lanes, region));
done:
    return status;
}

/* w det J (f - shift) at the points of one lane. */
static facet_status put_values(struct general_work *w, const struct load_job *job, int64_t begin,
                               int64_t batch, int lane) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    struct local *l = &w->local;
    int n = job->rule.table->n, lanes = h->lanes;
    const double *wJ = w->host[L_WJ] + batch * w->size[L_WJ] + lane;
    const double *f = w->host[L_F] + (batch * lanes + lane) * n;
    double *to = w->host[L_VALUES] + batch * w->size[L_VALUES] + lane;
    l->block = w->block;
    l->cell = general_cell(w, begin + batch, lane);
    double *total = job->data.totals + 2 * (int64_t)l->cell;
    if (job->data.source != NULL) {
        f = job->data.source + (int64_t)l->cell * n;
        TRY(local_place(local_check_source(n, 1, f), l));
    }
    double sums[2] = {0.0, 0.0};
    for (int q = 0; q < n; q++) {
        double value = (f[q] - job->data.shift) * wJ[q * lanes];
        to[q * lanes] = value;
        sums[0] += value;
        sums[1] += fabs(value);
    }
    if ((begin + batch) * lanes + lane < h->data.mesh->blocks[w->block].count)
        memcpy(total, sums, sizeof sums);
done:
    return status;
}

static facet_status load_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct load_job *job = user;
    const struct hdg *h = w->hdg;
    int lanes = h->lanes, N = h->space.blocks[w->block].N, n_points = job->rule.table->n;
    TRY(general_nodes(w, L_NODES, 0, begin, n));
    TRY(general_maps(w, &job->rule, begin, n,
                     &(struct general_places){.nodes = L_NODES,
                                              .points = L_POINTS,
                                              .wJ = L_WJ,
                                              .cofactors = -1,
                                              .middle = L_MIDDLE,
                                              .det = L_DET}));
    if (job->data.source == NULL) TRY(find_sources(w, job, begin, n));
    for (int64_t batch = 0; batch < n; batch++)
        for (int lane = 0; lane < lanes; lane++) TRY(put_values(w, job, begin, batch, lane));
    TRY(general_send(w, L_VALUES, n));
    device_table_apply(h->device, lanes, n, N, n_points, 1, job->phi, w->device[L_VALUES],
                       w->device[L_LOADS]);
    TRY(general_fetch(w, L_LOADS, n));
    memcpy(job->data.loads + begin * w->size[L_LOADS], w->host[L_LOADS],
           (size_t)(n * w->size[L_LOADS]) * sizeof(double));
done:
    return status;
}

/* Batches begin .. end-1, all of them straight, or any. All take f at the points of one rule: which cells a
 * device has in a batch must not be seen in u. */
static facet_status load_run(const struct hdg *h, int block, const struct general_load *data, int straight,
                             int64_t begin, int64_t end) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_table *table = &b->source;
    int64_t dim = h->data.mesh->dim;
    struct load_job job = {.data = *data};
    int64_t n = table->n;
    TRY(general_rule_create(h, table, straight, &job.rule));
    TRY(device_copy(h->device, &job.phi, table->phi, (size_t)n * (size_t)b->N, sizeof(double)));
    struct general_plan plan = {.n_arrays = N_ARRAYS,
                                .sizes = {[L_NODES] = table->n_nodes * dim,
                                          [L_POINTS] = n * general_point_size(&job.rule),
                                          [L_MIDDLE] = (1 + dim) * dim,
                                          [L_DET] = 1,
                                          [L_WJ] = n,
                                          [L_VALUES] = n,
                                          [L_LOADS] = b->N,
                                          [L_X] = n * dim,
                                          [L_F] = n,
                                          [L_JETS] = n * (2 + 2 * dim + dim * dim)},
                                .n_scratch = 1};
    TRY(general_for_pieces(h, block, begin, end, &plan, load_piece, &job, NULL));
done:
    general_rule_destroy(h, &job.rule);
    device_free(h->device, &job.phi);
    return status;
}

facet_status general_load(const struct hdg *h, int block, const struct general_load *data) {
    facet_status status = FACET_OK;
    int64_t n = h->matrices.n_batches[block];
    for (int64_t begin = 0, end; begin < n; begin = end) {
        int straight = general_is_straight(h, block, begin);
        for (end = begin + 1; end < n && general_is_straight(h, block, end) == straight;) end++;
        TRY(load_run(h, block, data, straight, begin, end));
    }
done:
    return status;
}
