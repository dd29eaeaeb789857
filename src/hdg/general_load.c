/* Loads (f, chi), a tile of batches at a time: maps at the points of the source rule, f there, and one
 * product with the table of the functions. What no table has, functions of physical coordinates in curved
 * cells, is left to the host, cell by cell. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/general.h"

/* Values: f with weights, component by component. The last three are the host's, cell after cell: points, f,
 * and what it is made of. */
enum { L_POINTS = A_POINTS, L_MIDDLE, L_DET, L_WJ, L_VALUES, L_X, L_F, L_JETS, N_ARRAYS };

struct load_job {
    struct general_load data;
    int known;  /* f is one of expressions and numbers */
    int single; /* cells are left to the host */
    struct general_rule rule;
    double *chi; /* device: n x Nu */
};

/* ------------------------------------------------------------------------------------------ f */

static const struct field *number_of(const struct hdg *h, int region, int c, int *component) {
    *component = c;
    return h->data.source != NULL ? h->data.source[region] : NULL;
}

int general_knows_source(const struct hdg *h, const double *source) {
    for (int r = 0; r < h->data.n_regions && h->data.source != NULL; r++)
        if (h->data.source[r] != NULL && !field_is_differentiable(h->data.source[r])) return 0;
    return source == NULL && h->data.exact == NULL;
}

/* f of the cells first .. end-1 at hand, which are of one region. Of diffusion in one call: a few points each
 * are not worth one. */
static facet_status find_source(struct general_work *w, int points, int64_t begin, int64_t first, int64_t end,
                                int32_t region) {
    facet_status status = FACET_ERROR_INPUT;
    struct local *l = &w->local;
    const int dim = w->hdg->data.mesh->dim, nc = w->hdg->trace.n_components;
    double *x = w->host[L_X], *f = w->host[L_F], *jets = l->jets;
    if (nc == 1) {
        l->jets = w->host[L_JETS];
        status = local_source(l, region, (int)(end - first) * points, x + first * points * dim,
                              f + first * points);
        l->jets = jets;
    }
    for (int64_t c = first; c < end && status != FACET_OK; c++) { /* which cell it is */
        l->block = w->block;
        l->cell = general_cell(w, begin + c / w->hdg->lanes, (int)(c % w->hdg->lanes));
        facet_status mine = local_source(l, region, points, x + c * points * dim, f + c * points * nc);
        if (mine != FACET_OK) return local_place(mine, l);
    }
    return nc == 1 ? status : FACET_OK;
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

/* w det J (f - shift) at the points of one lane, by components. */
static facet_status put_lane(struct general_work *w, const struct load_job *job, int64_t begin, int64_t batch,
                             int lane) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    struct local *l = &w->local;
    const int n = job->rule.table->n, lanes = h->lanes, nc = h->trace.n_components;
    const double *wJ = w->host[L_WJ] + batch * w->size[L_WJ] + lane;
    const double *f = w->host[L_F] + (batch * lanes + lane) * n * nc;
    double *to = w->host[L_VALUES] + batch * w->size[L_VALUES] + lane;
    l->block = w->block;
    l->cell = general_cell(w, begin + batch, lane);
    if (job->data.source != NULL) {
        f = job->data.source + (local_source_start(h, w->block) + (int64_t)l->cell * n) * nc;
        TRY(local_place(local_check_source(n, nc, f), l));
    }
    for (int c = 0; c < nc; c++)
        for (int q = 0; q < n; q++)
            to[(c * n + q) * lanes] = (f[q * nc + c] - job->data.shift) * wJ[q * lanes];
done:
    return status;
}

/* Integrals of f and of its modulus, where they are wanted; *finite: whether they are. */
static void take_totals(const struct general_work *w, const struct load_job *job, int64_t begin, int64_t n,
                        int *finite) {
    const struct mesh_block *b = &w->hdg->data.mesh->blocks[w->block];
    const int64_t lanes = w->hdg->lanes, count = w->size[L_VALUES] / lanes;
    for (int64_t i = 0; i < n * lanes && begin * lanes + i < b->count; i++) {
        const double *f = w->host[L_VALUES] + i / lanes * count * lanes + i % lanes;
        double sums[2] = {0.0, 0.0};
        for (int64_t q = 0; q < count; q++) {
            sums[0] += f[q * lanes];
            sums[1] += fabs(f[q * lanes]);
        }
        *finite &= isfinite(sums[1]) != 0;
        memcpy(job->data.totals + 2 * (begin * lanes + i), sums, sizeof sums);
    }
}

/* Of the batches at hand, whose maps are there. */
static facet_status put_sources(struct general_work *w, const struct load_job *job, int64_t begin,
                                int64_t n) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    int finite = 1;
    if (job->data.ones) {
        device_move(h->device, w->device[L_VALUES], w->device[L_WJ],
                    (size_t)(n * w->size[L_WJ]) * sizeof(double));
        return FACET_OK;
    }
    if (job->known) {
        const struct general_values values = {.points = L_POINTS,
                                              .n_points = job->rule.table->n,
                                              .step = general_point_size(&job->rule),
                                              .count = h->trace.n_components,
                                              .by_rows = 1,
                                              .weights = w->device[L_WJ],
                                              .values = w->device[L_VALUES]};
        TRY(general_put_field(w, begin, n, &values));
        if (job->data.shift != 0.0)
            device_axpby(h->device, F64, n * w->size[L_WJ], -job->data.shift, w->device[L_WJ], 1.0,
                         w->device[L_VALUES]);
        if (job->data.totals == NULL) goto done;
    } else {
        if (job->data.source == NULL) TRY(find_sources(w, job, begin, n));
        for (int64_t i = 0; i < n * h->lanes; i++)
            TRY(put_lane(w, job, begin, i / h->lanes, (int)(i % h->lanes)));
        TRY(general_send(w, L_VALUES, n));
    }
    if (job->data.totals != NULL) take_totals(w, job, begin, n, &finite);
    if (!finite && job->known) TRY(find_sources(w, job, begin, n)); /* says where */
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ loads */

/* Cell by cell, on the host. */
static facet_status single_piece(struct general_work *w, const struct load_job *job, int64_t begin,
                                 int64_t n) {
    facet_status status = FACET_OK;
    const int64_t lanes = w->hdg->lanes, count = w->hdg->data.mesh->blocks[w->block].count,
                  N = w->hdg->n_eliminated[w->block];
    const size_t bytes = (size_t)(n * lanes * N) * sizeof(double);
    double *loads = w->host[L_VALUES];
    memset(loads, 0, bytes);
    for (int64_t cell = begin * lanes; cell < (begin + n) * lanes && cell < count; cell++) {
        double *to = loads + local_lane((int)lanes, cell - begin * lanes, N), *load = w->local.vector,
               totals[2];
        TRY(local_load(&w->local, w->block, (int32_t)cell, job->data.source, &job->data.shift, load,
                       job->data.totals != NULL ? job->data.totals + 2 * cell : totals));
        for (int64_t i = 0; i < N; i++) to[i * lanes] = load[i];
    }
    TRY(device_upload(w->hdg->device, job->data.loads + begin * lanes * N, loads, bytes));
done:
    return status;
}

static facet_status load_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct load_job *job = user;
    const struct hdg *h = w->hdg;
    const int nc = h->trace.n_components, Nu = h->functions[w->block].Nu;
    const int64_t size = (int64_t)nc * Nu * h->lanes;
    if (job->single) return single_piece(w, job, begin, n);
    general_place(w, begin);
    TRY(general_maps(w, &job->rule, begin, n,
                     &(struct general_places){.nodes = A_NODES,
                                              .points = L_POINTS,
                                              .wJ = L_WJ,
                                              .cofactors = -1,
                                              .middle = L_MIDDLE,
                                              .det = L_DET}));
    TRY(put_sources(w, job, begin, n));
    device_table_apply(h->device, h->lanes, n * nc, Nu, job->rule.table->n, 1, job->chi, w->device[L_VALUES],
                       job->data.loads + begin * size);
done:
    return status;
}

static struct general_plan plan_of(const struct hdg *h, int block, const struct load_job *job) {
    const int64_t dim = h->data.mesh->dim, n = job->rule.table->n, nc = h->trace.n_components,
                  host = !job->data.ones && (!job->known || job->data.totals != NULL);
    struct general_plan plan = {.n_arrays = N_ARRAYS,
                                .sizes = {[L_POINTS] = n * general_point_size(&job->rule),
                                          [L_MIDDLE] = (1 + dim) * dim,
                                          [L_DET] = 1,
                                          [L_WJ] = n,
                                          [L_VALUES] = job->single ? h->n_eliminated[block] : n * nc,
                                          [L_X] = host * n * dim,
                                          [L_F] = host * n * nc,
                                          [L_JETS] = host * (nc == 1) * n * (2 + 2 * dim + dim * dim)},
                                .n_scratch = 1,
                                .number = number_of,
                                .n_numbers = (int)nc,
                                .n_points = (int)n,
                                .beside = nc * h->functions[block].Nu};
    if (host || job->single) return plan;
    plan.whole = 1;
    plan.n_seen = A_POINTS;
    return plan;
}

/* Batches begin .. end-1, all of them straight, or any. All take f at the points of one rule: which cells a
 * device has in a batch must not be seen in u. */
static facet_status load_run(const struct hdg *h, int block, const struct general_load *data, int straight,
                             int64_t begin, int64_t end) {
    facet_status status = FACET_OK;
    const struct hdg_functions *v = &h->functions[block];
    const struct hdg_table *table = v->source.table;
    const int compact = v->physical, Nu = v->Nu, row = compact ? Nu : table->N;
    const double *from = compact ? v->source.chi : table->phi;
    struct load_job job = {
        .data = *data, .known = general_knows_source(h, data->source), .single = compact && !straight};
    double *chi = NULL;
    TRY(general_rule_create(h, table, straight, &job.rule));
    TRY(ALLOC(chi, (int64_t)table->n * Nu));
    for (int64_t i = 0; i < (int64_t)table->n * Nu && !job.single; i++) chi[i] = from[i / Nu * row + i % Nu];
    if (!job.single) TRY(device_copy(h->device, &job.chi, chi, (size_t)table->n * (size_t)Nu, sizeof *chi));
    const struct general_plan plan = plan_of(h, block, &job);
    TRY(general_for_pieces(h, block, begin, end, &plan, load_piece, &job, NULL));
done:
    base_free(&chi);
    general_rule_destroy(h, &job.rule);
    device_free(h->device, &job.chi);
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
