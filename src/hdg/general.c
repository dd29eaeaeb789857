/* Cells whose map is curved or whose data vary, a few batches at a time: maps at points, data there, and the
 * kernels of kernels/general.h. */
#include "hdg/general.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/diffusion.h"

/* ------------------------------------------------------------------------------------------ work */

static void work_destroy(struct general_work *w) {
    const struct device *device = w->hdg->device;
    for (int i = 0; i < w->n_arrays; i++) {
        if (w->host[i] != w->device[i]) base_free(&w->host[i]);
        if (w->size[i] > 0) device_free(device, &w->device[i]); /* else they are of hdg.cells */
    }
    for (int i = 0; w->numbers != NULL && i < w->hdg->data.n_regions * w->plan.n_numbers; i++)
        expr_program_destroy(&w->numbers[i].program);
    base_free(&w->numbers);
    device_free(device, &w->scratch);
    local_destroy(&w->local);
}

static facet_status put_number(const struct general_work *w, int region, int c,
                               struct general_number *number) {
    const struct hdg *h = w->hdg;
    int component = 0;
    const struct field *f = w->plan.number(h, region, c, &component);
    number->constant = 0.0;
    if (f == NULL || !field_is_differentiable(f) || field_is_number(f, component, &number->constant))
        return FACET_OK;
    return field_program_create(f, component, h->device, h->data.mesh->dim, 0, 0,
                                w->most * h->lanes * w->plan.n_points, &number->program);
}

static facet_status put_numbers(struct general_work *w) {
    facet_status status = FACET_OK;
    const int row = w->plan.n_numbers, n = w->hdg->data.n_regions * row;
    if (row == 0) return FACET_OK;
    TRY(CALLOC(w->numbers, n));
    for (int i = 0; i < n; i++) TRY(put_number(w, i / row, i % row, &w->numbers[i]));
done:
    return status;
}

/* How many batches a tile has. */
static int64_t tile_batches(const struct hdg *h, int block, const struct general_plan *plan) {
    const int64_t n = trace_n_batches(h->device, h->data.mesh, block);
    int64_t all = plan->beside * h->lanes;
    for (int i = 0; i < plan->n_arrays; i++) all += plan->sizes[i] * h->lanes;
    const int64_t bytes = device_work(h->device, plan->whole).bytes,
                  most = all > 0 ? bytes / (all * (int64_t)sizeof(double)) : n;
    return most > n && n > 0 ? n : most > 1 ? most : 1;
}

static facet_status work_create(const struct hdg *h, int block, const struct general_plan *plan,
                                struct general_work *w) {
    facet_status status = FACET_OK;
    const int n_seen = plan->n_seen > 0 ? plan->n_seen : plan->n_arrays;
    *w = (struct general_work){.hdg = h,
                               .block = block,
                               .n_arrays = plan->n_arrays,
                               .most = tile_batches(h, block, plan),
                               .plan = *plan};
    for (int i = 0; i < w->n_arrays; i++) {
        w->size[i] = plan->sizes[i] * h->lanes;
        size_t count = (size_t)(w->most * w->size[i]);
        if (!plan->on_host) TRY(device_alloc(h->device, &w->device[i], count, sizeof(double)));
        w->host[i] = device_seen(h->device, w->device[i]);
        if (w->host[i] == NULL && i < n_seen) TRY(ALLOC(w->host[i], count));
    }
    TRY(device_alloc(h->device, &w->scratch, (size_t)plan->n_scratch, sizeof(double)));
    TRY(put_numbers(w));
    TRY(local_create(h, &w->local));
done:
    return status;
}

void general_forget(struct general_work **kept) {
    if (*kept == NULL) return;
    work_destroy(*kept);
    base_free(kept);
}

/* Of one thread, by what is kept. */
static facet_status kept_pieces(const struct hdg *h, int block, int64_t begin, int64_t end,
                                const struct general_plan *plan, general_piece work, void *user,
                                double *reaction) {
    facet_status status = FACET_OK;
    struct general_work *w = *plan->kept;
    if (w == NULL) {
        TRY(CALLOC(*plan->kept, 1));
        w = *plan->kept;
        TRY(work_create(h, block, plan, w));
    }
    for (int64_t batch = begin; batch < end; batch += w->most)
        TRY(work(w, batch, end - batch < w->most ? end - batch : w->most, user));
    if (reaction != NULL) *reaction = fmax(*reaction, w->largest_reaction);
    TRY(device_check(h->device));
done:
    if (status != FACET_OK) general_forget(plan->kept);
    return status;
}

facet_status general_for_pieces(const struct hdg *h, int block, int64_t begin, int64_t end,
                                const struct general_plan *plan, general_piece work, void *user,
                                double *reaction) {
    struct base_collector failures;
    const struct device_work share = device_work(h->device, plan->whole);
    const int n_threads = plan->on_host ? base_threads() : share.threads;
    double largest = 0.0;
    if (plan->kept != NULL && share.keeps)
        return kept_pieces(h, block, begin, end, plan, work, user, reaction);
    base_collector_init(&failures);
#pragma omp parallel num_threads(n_threads) reduction(max : largest)
    {
        struct general_work w;
        facet_status mine = work_create(h, block, plan, &w);
        int64_t most = w.most;
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 1)
        for (int64_t batch = begin; batch < end; batch += most) {
            if (mine != FACET_OK) continue;
            mine = work(&w, batch, end - batch < most ? end - batch : most, user);
            base_collect(&failures, batch, mine);
        }
        largest = w.largest_reaction;
        work_destroy(&w);
    }
    if (reaction != NULL) *reaction = fmax(*reaction, largest);
    return base_collected(&failures);
}

facet_status general_fetch(const struct general_work *w, int array, int64_t n_batches) {
    if (w->host[array] == w->device[array] || w->host[array] == NULL || w->device[array] == NULL)
        return FACET_OK;
    return device_download(w->hdg->device, w->host[array], w->device[array],
                           (size_t)(n_batches * w->size[array]) * sizeof(double));
}

facet_status general_send(const struct general_work *w, int array, int64_t n_batches) {
    if (w->host[array] == w->device[array] || w->device[array] == NULL) return FACET_OK;
    return device_upload(w->hdg->device, w->device[array], w->host[array],
                         (size_t)(n_batches * w->size[array]) * sizeof(double));
}

/* ------------------------------------------------------------------------------------------ cells */

int32_t general_cell(const struct general_work *w, int64_t batch, int lane) {
    return (int32_t)cells_of_lane(&w->hdg->data.mesh->blocks[w->block], batch * w->hdg->lanes + lane);
}

facet_status general_put_numbers(const struct general_work *w, int array, int64_t begin, int64_t n,
                                 const double *values, int64_t count, int64_t width) {
    const int64_t lanes = w->hdg->lanes;
    for (int64_t l = 0; l < n * lanes; l++) {
        const double *cell = values + general_cell(w, begin + l / lanes, (int)(l % lanes)) * count * width;
        double *to = w->host[array] + l / lanes * w->size[array] + l % lanes;
        for (int64_t i = 0; i < count; i++)
            for (int64_t a = 0; a < width; a++) to[(i * width + a) * lanes] = cell[a * count + i];
    }
    return general_send(w, array, n);
}

void general_nodes(struct general_work *w, int array, int64_t begin) {
    const struct hdg_cells *there = w->hdg->cells[w->block];
    const int64_t first = begin * w->hdg->lanes;
    w->device[array] =
        there->nodes + first * w->hdg->data.mesh->blocks[w->block].n_nodes * w->hdg->data.mesh->dim;
    w->regions = there->regions != NULL ? there->regions + first : NULL;
}

void general_place(struct general_work *w, int64_t begin) {
    const struct mesh_block *b = &w->hdg->data.mesh->blocks[w->block];
    const struct hdg_cells *there = w->hdg->cells[w->block];
    const int64_t first = begin * w->hdg->lanes;
    general_nodes(w, A_NODES, begin);
    if (there->offsets != NULL)
        w->device[A_OFFSETS] = there->offsets + first * b->n_nodes * w->hdg->data.mesh->dim;
    w->device[A_ORIENTATIONS] = there->orientations + first * shape_n_faces(b->shape);
}

/* ------------------------------------------------------------------------------------------ data */

facet_status general_points_of(const struct general_work *w, int array, int n, int64_t batch, int lane,
                               double *x) {
    facet_status status = FACET_OK;
    const int dim = w->hdg->data.mesh->dim, lanes = w->hdg->lanes;
    const size_t count = (size_t)(n * (1 + dim) * dim * lanes);
    const void *view = NULL;
    TRY(device_view(w->hdg->device, w->device[array] + batch * w->size[array], count, sizeof *x, &view));
    general_points(n, dim, lanes, (1 + dim) * dim, (const double *)view + lane, x);
done:
    device_unview(w->hdg->device, w->device[array] + batch * w->size[array], &view);
    return status;
}

/* Values of a function of the caller at the points of the cells of its region. */
struct caller_job {
    const struct general_work *w;
    const struct general_values *to;
    const struct field *field;
    int32_t region;
    int64_t begin;
    const double *points; /* on the host */
    double *values;
};

static facet_status ask_cell(const struct caller_job *job, int64_t i, double *x, double *values) {
    const struct hdg *h = job->w->hdg;
    const struct general_values *to = job->to;
    const int dim = h->data.mesh->dim, n = to->n_points, lanes = h->lanes,
              given = field_n_components(job->field);
    struct local l = {.hdg = h,
                      .block = job->w->block,
                      .cell = general_cell(job->w, job->begin + i / lanes, (int)(i % lanes))};
    if (local_region(&h->data, l.block, l.cell) != job->region) return FACET_OK;
    general_points(n, dim, lanes, to->step, job->points + i / lanes * job->w->size[to->points] + i % lanes,
                   x);
    facet_status status =
        local_place(base_wrap(field_eval(job->field, n, dim, x, values), "%s", to->name), &l);
    for (int q = 0; q < n; q++)
        for (int k = 0; k < to->count; k++)
            if (given > 1 || k % (dim + 1) == 0) /* a number is one on the diagonal */
                job->values[((i / lanes * n + q) * to->count + k) * lanes + i % lanes] =
                    values[q * given + (given > 1 ? k : 0)];
    return status;
}

static facet_status ask_caller(const struct caller_job *job, int64_t n) {
    struct base_collector failures;
    const int64_t n_points = job->to->n_points, dim = job->w->hdg->data.mesh->dim;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        double *x = NULL;
        facet_status mine = ALLOC(x, n_points * (dim + job->to->count));
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 32)
        for (int64_t i = 0; i < n * job->w->hdg->lanes; i++) {
            if (mine != FACET_OK) continue;
            mine = ask_cell(job, i, x, x + n_points * dim);
            base_collect(&failures, i, mine);
        }
        base_free(&x);
    }
    return base_collected(&failures);
}

/* Where the host alone knows them: as they are, point after point. */
static facet_status put_field_of_caller(const struct general_work *w, int64_t begin, int64_t n,
                                        const struct general_values *to) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const size_t n_values = (size_t)(n * to->n_points * to->count * h->lanes),
                 n_there = (size_t)(n * w->size[to->points]);
    double *host = NULL;
    const void *there = NULL;
    for (int r = 0, component; r < h->data.n_regions; r++) {
        const struct field *f = w->plan.number(h, r, to->c, &component);
        if (f == NULL || field_is_differentiable(f)) continue;
        if (there == NULL) {
            TRY(device_view(h->device, w->device[to->points], n_there, sizeof *host, &there));
            TRY(ALLOC(host, n_values));
            TRY(device_download(h->device, host, to->values, n_values * sizeof *host));
        }
        const struct caller_job job = {
            .w = w, .to = to, .field = f, .region = r, .begin = begin, .points = there, .values = host};
        TRY(ask_caller(&job, n));
    }
    if (host != NULL) TRY(device_upload(h->device, to->values, host, n_values * sizeof *host));
done:
    device_unview(h->device, w->device[to->points], &there);
    base_free(&host);
    return status;
}

facet_status general_put_field(const struct general_work *w, int64_t begin, int64_t n,
                               const struct general_values *to) {
    const struct hdg *h = w->hdg;
    for (int k = 0; k < to->count; k++)
        for (int r = 0; r < h->data.n_regions; r++) {
            const struct general_number *number = &w->numbers[(int64_t)r * w->plan.n_numbers + to->c + k];
            const struct lane_points p = {.lanes = h->lanes,
                                          .dim = h->data.mesh->dim,
                                          .n = to->n_points,
                                          .step = to->step,
                                          .points = w->device[to->points],
                                          .weights = to->weights,
                                          .regions = w->regions,
                                          .region = r,
                                          .row = k,
                                          .n_rows = to->count,
                                          .by_rows = to->by_rows,
                                          .constant = number->constant,
                                          .plan = number->program.plan,
                                          .work = number->program.work};
            device_lane_values(h->device, &p, n, to->values);
        }
    return to->by_rows ? FACET_OK : put_field_of_caller(w, begin, n, to);
}

facet_status general_refuse_inverted(const struct hdg *h, int block, int64_t batch) {
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    int64_t first = batch * h->lanes, last = first + h->lanes - 1;
    return base_fail(
        FACET_ERROR_INPUT,
        "one of the cells %lld to %lld (%s) is inverted at a point of the quadrature: its Jacobian is "
        "not positive there; optimize the high-order mesh or refine there",
        (long long)(b->first + first), (long long)(b->first + (last < b->count ? last : b->count - 1)),
        shape_name(b->shape));
}

/* One point has the Jacobian of all. */
static facet_status straight_maps(const struct general_work *w, const struct general_rule *rule,
                                  int64_t begin, int64_t n, const struct general_places *at) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    int n_nodes = rule->table->n_nodes, lanes = h->lanes, dim = h->data.mesh->dim, points = rule->table->n;
    device_table_apply(h->device, lanes, n, points, n_nodes, dim, rule->map, w->device[at->nodes],
                       w->device[at->points]);
    device_table_apply(h->device, lanes, n, 1 + dim, n_nodes, dim, rule->middle, w->device[at->nodes],
                       w->device[at->middle]);
    int64_t failed =
        device_cell_metric(h->device, lanes, n, dim, 1, rule->w, w->device[at->middle], w->device[at->det],
                           at->cofactors >= 0 ? w->device[at->cofactors] : NULL);
    if (failed >= 0) TRY(general_refuse_inverted(w->hdg, w->block, begin + failed));
    device_table_apply(h->device, lanes, n, points, 1, 1, rule->spread, w->device[at->det],
                       w->device[at->wJ]);
    TRY(general_fetch(w, at->points, n));
    TRY(general_fetch(w, at->wJ, n));
done:
    return status;
}

facet_status general_maps(const struct general_work *w, const struct general_rule *rule, int64_t begin,
                          int64_t n, const struct general_places *at) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    int lanes = h->lanes, dim = h->data.mesh->dim, n_points = rule->table->n;
    if (rule->middle != NULL) return straight_maps(w, rule, begin, n, at);
    device_table_apply(h->device, lanes, n, n_points * (1 + dim), rule->table->n_nodes, dim, rule->map,
                       w->device[at->nodes], w->device[at->points]);
    int64_t failed =
        device_cell_metric(h->device, lanes, n, dim, n_points, rule->w, w->device[at->points],
                           w->device[at->wJ], at->cofactors >= 0 ? w->device[at->cofactors] : NULL);
    if (failed >= 0) TRY(general_refuse_inverted(w->hdg, w->block, begin + failed));
    TRY(general_fetch(w, at->points, n));
    TRY(general_fetch(w, at->wJ, n));
done:
    return status;
}

void general_points(int n, int dim, int lanes, int step, const double *points, double *x) {
    for (int q = 0; q < n; q++)
        for (int a = 0; a < dim; a++) x[q * dim + a] = points[((int64_t)q * step + a) * lanes];
}

void general_all_points(const struct hdg *h, int64_t n, int step, const double *points, double *x) {
    int dim = h->data.mesh->dim, lanes = h->lanes;
    for (int64_t q = 0; q < n; q++)
        for (int lane = 0; lane < lanes; lane++)
            for (int a = 0; a < dim; a++)
                x[(q * lanes + lane) * dim + a] = points[(q * step + a) * lanes + lane];
}

int general_is_straight(const struct hdg *h, int block, int64_t batch) {
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    for (int64_t cell = batch * h->lanes; cell < (batch + 1) * h->lanes && cell < b->count; cell++)
        if (!b->affine[cell]) return 0;
    return 1;
}

/* det J and (NULL: not wanted) cofactors at few points; they need not be positive there. */
static void maps_at_few(const struct hdg *h, const struct general_few *few, int64_t n, const double *nodes,
                        double *points, double *det, double *cofactors) {
    int dim = h->data.mesh->dim, count = few->rule.n;
    device_table_apply(h->device, h->lanes, n, count * (1 + dim), few->points.n_nodes, dim, few->at.map,
                       nodes, points);
    (void)device_cell_metric(h->device, h->lanes, n, dim, count, few->at.w, points, det, cofactors);
}

int64_t general_map_points(const struct hdg *h, int block, int64_t n, double *const *at) {
    const struct hdg_general *g = h->general[block];
    const struct general_tables *t = &g->tables;
    int lanes = h->lanes, dim = t->dim, n_face = t->n_faces * t->n_face, n_nodes = g->cell.table->n_nodes;
    device_table_apply(h->device, lanes, n, t->n * (1 + dim), n_nodes, dim, g->cell.map, at[A_NODES],
                       at[A_POINTS]);
    int64_t failed = device_cell_metric(h->device, lanes, n, dim, t->n, g->cell.w, at[A_POINTS], at[A_WJ],
                                        t->D != NULL ? NULL : at[A_COFACTORS]);
    if (failed >= 0) return failed;
    if (t->D != NULL)
        maps_at_few(h, &g->metric, n, at[A_NODES], at[A_METRIC_POINTS], at[A_METRIC_DET], at[A_COFACTORS]);
    if (t->M != NULL) maps_at_few(h, &g->det, n, at[A_NODES], at[A_DET_POINTS], at[A_DET], NULL);
    device_table_apply(h->device, lanes, n, n_face * (1 + dim), n_nodes, dim, g->face.map, at[A_NODES],
                       at[A_FACE_POINTS]);
    device_face_metric(h->device, lanes, n, dim, t->n_faces, t->n_face, g->face.w, g->normals,
                       at[A_FACE_POINTS], at[A_NORMALS]);
    return -1;
}

/* ------------------------------------------------------------------------------------------ runs */

struct condense_job {
    struct hdg *hdg;
    const struct condenser *condenser;
    int64_t begin;
    double *volumes;
};

/* Volumes of the batches at hand, without lanes that have no cell. */
static facet_status take_facts(struct general_work *w, int64_t begin, int64_t n, double *volumes) {
    facet_status status = FACET_OK;
    const int64_t lanes = w->hdg->lanes, count = w->hdg->data.mesh->blocks[w->block].count;
    TRY(general_fetch(w, A_VOLUMES, n));
    for (int64_t i = 0; i < n * lanes; i++) {
        if (i % lanes == 0) volumes[i / lanes] = 0.0;
        if (begin * lanes + i < count) volumes[i / lanes] += w->plan.unit * w->host[A_VOLUMES][i];
    }
    if (w->size[A_LARGEST] == 0) goto done;
    TRY(general_fetch(w, A_LARGEST, n));
    for (int64_t i = 0; i < n * lanes; i++)
        w->largest_reaction = fmax(w->largest_reaction, w->host[A_LARGEST][i]);
done:
    return status;
}

static facet_status condense_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct condense_job *job = user;
    const struct trace_matrices *matrices = &job->hdg->matrices;
    const int64_t size = matrices->n[w->block] * (matrices->n[w->block] + 1) / 2 * w->hdg->lanes;
    const struct general_maker *maker = job->condenser->general;
    TRY(maker->data(w, begin, n, 1));
    TRY(take_facts(w, begin, n, job->volumes + begin - job->begin));
    int64_t failed = maker->condense(w, n, matrices->values[w->block] + begin * size);
    if (failed >= 0) TRY(batch_refuse(w->hdg, w->block, begin + failed, "the local problem"));
done:
    return status;
}

facet_status general_condense(struct hdg *h, int block, int64_t begin, int64_t end, double *volumes,
                              double *reaction) {
    struct condenser c;
    h->data.equation->condenser(h, block, &c);
    struct condense_job job = {h, &c, begin, volumes};
    struct general_plan plan = c.general->plan(h, block);
    return general_for_pieces(h, block, begin, end, &plan, condense_piece, &job, reaction);
}

facet_status general_solve(struct general_work *w, const struct general_maker *maker, int64_t begin,
                           int64_t n, const double *uhat, double *u, double *q, double *load,
                           int64_t *failed) {
    facet_status status = FACET_OK;
    TRY(maker->data(w, begin, n, 0));
    *failed = maker->solve(w, n, uhat, u, q, load);
done:
    return status;
}

facet_status general_put_turned(const struct hdg *h, int n, int columns, int row, const double *from,
                                double **to) {
    facet_status status = FACET_OK;
    double *turned = NULL;
    TRY(ALLOC(turned, (int64_t)n * columns));
    for (int64_t q = 0; q < n; q++)
        for (int64_t i = 0; i < columns; i++) turned[i * n + q] = from[q * row + i];
    TRY(device_copy(h->device, to, turned, (size_t)n * (size_t)columns, sizeof *turned));
done:
    base_free(&turned);
    return status;
}
