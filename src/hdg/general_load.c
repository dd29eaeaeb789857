/* Loads (f, phi) of diffusion, a few batches at a time: maps at the points of the source rule, f there, and
 * one product with the table of the functions. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/general.h"

enum { L_NODES, L_POINTS, L_WJ, L_VALUES, L_LOADS, N_ARRAYS };

struct load_job {
    struct general_load data;
    struct general_rule rule;
    double *phi; /* device: n x N */
};

/* w det J (f - shift) at the points of one lane. */
static facet_status put_values(struct general_work *w, const struct load_job *job, int64_t begin,
                               int64_t batch, int lane) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    struct local *l = &w->local;
    int n = job->rule.table->n, dim = h->data.mesh->dim, lanes = h->lanes;
    const double *wJ = w->host[L_WJ] + batch * w->size[L_WJ] + lane;
    double *to = w->host[L_VALUES] + batch * w->size[L_VALUES] + lane, *f = l->values;
    l->block = w->block;
    l->cell = general_cell(w, begin + batch, lane);
    double *total = job->data.totals + 2 * (int64_t)l->cell;
    general_points(n, dim, lanes, w->host[L_POINTS] + batch * w->size[L_POINTS] + lane, l->geometry.x);
    if (job->data.source != NULL) {
        memcpy(f, job->data.source + (int64_t)l->cell * n, (size_t)n * sizeof *f);
        TRY(local_place(local_check_source(n, 1, f), l));
    } else {
        TRY(local_place(local_source(l, local_region(&h->data, w->block, l->cell), n, l->geometry.x, f), l));
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
    TRY(general_nodes(w, L_NODES, begin, n));
    TRY(general_maps(w, &job->rule, begin, n, L_NODES, L_POINTS, L_WJ, -1));
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

facet_status general_load(const struct hdg *h, int block, const struct general_load *data) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int64_t dim = h->data.mesh->dim, n = b->source.n;
    struct load_job job = {.data = *data};
    struct general_plan plan = {.n_arrays = N_ARRAYS,
                                .sizes = {[L_NODES] = b->source.n_nodes * dim,
                                          [L_POINTS] = n * (1 + dim) * dim,
                                          [L_WJ] = n,
                                          [L_VALUES] = n,
                                          [L_LOADS] = b->N},
                                .n_scratch = 1};
    TRY(general_rule_create(h, &b->source, &job.rule));
    TRY(device_copy(h->device, &job.phi, b->source.phi, (size_t)n * (size_t)b->N, sizeof(double)));
    TRY(general_for_pieces(h, block, 0, h->matrices.n_batches[block], &plan, load_piece, &job, NULL));
done:
    general_rule_destroy(h, &job.rule);
    device_free(h->device, &job.phi);
    return status;
}
