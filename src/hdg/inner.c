/* Solves inside the cells, a tile of batches at a time: from loads to the trace, and from the trace back to u
 * and q. Nothing is kept of the cells: to make S again is cheaper than to write and to read S^-1 R. Loads, u
 * and q are where kernels see them (device_cells.h); cells that no kernel takes come to the host and go
 * back. */
#include <cblas.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "hdg/inner.h"

/* Without a reaction a cell sees u in differences only, but for displacements away from an axis. The
 * constant of its first face, or vertex, is taken off the trace before the cell is solved and added to its
 * u afterwards, lest q lose as many digits as u is larger than its differences. */
static void find_ones(const struct hdg *h, int block, struct inner_job *job) {
    const struct trace_space *t = contact_seen(h);
    const int at_vertices = !h->data.equation->by_faces;
    job->components = h->trace.turns == NULL ? (1 << t->n_components) - 1 : 0;
    if (hdg_has_hoop(h)) job->components &= ~1;
    job->n_ones = at_vertices ? shape_n_vertices(h->data.mesh->blocks[block].shape) : t->n_slots[block];
    for (int s = 0; s < job->n_ones && h->data.mesh->blocks[block].count > 0; s++)
        job->ones[s] = contact_one_on(h, t->faces[block][s]);
}

static double constant_of(const struct hdg *h, const struct inner_job *job, int block, int64_t cell, int c) {
    const struct trace_space *t = contact_seen(h);
    const int size = t->slots[block][1] / t->n_components;
    if (!(job->components >> c & 1) ||
        (h->data.reaction != NULL && h->data.reaction[local_region(&h->data, block, (int32_t)cell)] != NULL))
        return 0.0;
    return job->solution->trace[t->face_first[t->faces[block][cell * t->n_slots[block]]] + c * size] /
           job->ones[0];
}

static void take_constants(const struct hdg *h, const struct inner_job *job, int block, int64_t cell,
                           double *uhat) {
    const struct mesh_block *cells = &h->data.mesh->blocks[block];
    const int *slots = contact_seen(h)->slots[block], n = contact_seen(h)->n_components;
    for (int c = 0; c < n; c++) {
        const double constant = constant_of(h, job, block, cell, c);
        for (int s = 0; constant != 0.0 && s < job->n_ones; s++)
            if (!h->space.revolved || !hdg_is_on_axis(&h->data, cells->faces[cell * job->n_ones + s]))
                uhat[(slots[s] + c * (slots[s + 1] - slots[s]) / n) * h->lanes] -= constant * job->ones[s];
    }
}

/* To numbers of u of a cell, `step` apart. */
static void add_constants_of(const struct hdg *h, const struct inner_job *job, int block, int64_t cell,
                             int step, double *u) {
    const int Nu = h->functions[block].Nu;
    const double one = sqrt(shape_measure(h->data.mesh->blocks[block].shape));
    for (int c = 0; c < h->trace.n_components; c++)
        u[(int64_t)c * Nu * step] += one * constant_of(h, job, block, cell, c);
}

/* To those of a run in lanes, where u of a cell is what it eliminates. */
static void add_constants(const struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n,
                          double *u) {
    const struct hdg *h = w->hdg;
    const int lanes = h->lanes;
    const int64_t count = h->data.mesh->blocks[w->block].count;
    if (h->data.equation->join != NULL) return;
    for (int64_t cell = begin * lanes; cell < (begin + n) * lanes && cell < count; cell++)
        add_constants_of(h, job, w->block, cell, lanes, u + local_lane(lanes, cell - begin * lanes, job->N));
}

/* A run of batches of the device to an array of the host, and back. */
static facet_status copy_in(const struct general_work *w, int array, const double *from, int64_t n) {
    return device_download(w->hdg->device, w->host[array], from,
                           (size_t)(n * w->size[array]) * sizeof(double));
}
static facet_status copy_out(const struct general_work *w, int array, double *to, int64_t n) {
    return device_upload(w->hdg->device, to, w->host[array], (size_t)(n * w->size[array]) * sizeof(double));
}

facet_status inner_put_trace(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n) {
    const struct hdg *h = w->hdg;
    facet_status status = FACET_OK;
    const int lanes = h->lanes;
    const int64_t count = h->data.mesh->blocks[w->block].count;
    const struct hdg_cells *there = h->cells[w->block];
    const int gathers = there->maps != NULL && job->way != BATCH_SINGLE;
    double *host = w->host[W_UHAT];
    if (gathers) {
        const int n_faces = h->space.blocks[w->block].n_faces;
        device_cell_gather(h->device, lanes, n, n_faces, there->face, there->maps + begin * lanes * n_faces,
                           job->solution->device_trace, w->device[W_UHAT]);
        if (h->stays || !job->recovers) return FACET_OK;
        TRY(general_fetch(w, W_UHAT, n));
    } else if ((begin + n) * lanes > count) {
        memset(host, 0, (size_t)(n * w->size[W_UHAT]) * sizeof(double));
    }
    for (int64_t cell = begin * lanes; cell < (begin + n) * lanes && cell < count; cell++) {
        double *uhat = host + local_lane(lanes, cell - begin * lanes, job->n);
        if (!gathers)
            trace_gather(contact_seen(h), w->block, (int32_t)cell, job->solution->trace, uhat, lanes);
        if (job->recovers) take_constants(h, job, w->block, cell, uhat);
    }
    TRY(general_send(w, W_UHAT, n));
done:
    return status;
}

/* u of the cell at hand, from loads and the trace; its part of the trace's load. v: N + n of scratch. */
static facet_status solve_cell(struct general_work *w, const struct inner_job *job, int64_t at, double *v) {
    facet_status status = FACET_OK;
    const struct condenser *c = &job->condenser;
    struct local *l = &w->local;
    int N = job->N, n = job->n, lanes = w->hdg->lanes;
    double *u = w->host[W_U] + (N > 0 ? local_lane(lanes, (int32_t)at, N) : 0), *trace = v + N;
    double *load = w->host[W_LOAD] + local_lane(lanes, (int32_t)at, n);
    const double *uhat = w->host[W_UHAT] + local_lane(lanes, (int32_t)at, n);
    if (job->recovers) {
        for (int i = 0; i < n; i++) trace[i] = uhat[i * lanes];
        if (c->turn != NULL) c->turn(l, 0, trace);
    }
    if (N > 0) {
        TRY(c->matrix(l));
        TRY(local_factor(l, N, n));
        for (int i = 0; i < N; i++) v[i] = u[i * lanes];
        if (job->recovers)
            cblas_dgemv(CblasRowMajor, CblasNoTrans, N, n, c->sign, l->C + N, N + n, trace, 1, 1.0, v, 1);
        local_half_solve(l, N, n, 0, v);
        local_half_solve(l, N, n, 1, v);
        for (int i = 0; i < N; i++) u[i * lanes] = v[i];
    }
    if (job->recovers) goto done;
    memset(trace, 0, (size_t)n * sizeof *trace);
    if (N > 0) cblas_dgemv(CblasRowMajor, CblasTrans, N, n, c->sign, l->C + N, N + n, v, 1, 0.0, trace, 1);
    if (c->turn != NULL) c->turn(l, 1, trace);
    for (int i = 0; i < n; i++) load[i * lanes] = trace[i];
done:
    return status;
}

/* Numbers of a cell into its lane of an array of the host. */
static void put_lane(struct general_work *w, int array, int64_t at, int64_t count, const double *from) {
    const int64_t lanes = w->hdg->lanes;
    double *to = w->host[array] + local_lane((int)lanes, at, count);
    for (int64_t i = 0; i < count; i++) to[i * lanes] = from[i];
}

/* Cells that no kernel takes, and their fluxes. */
static facet_status single_run(struct general_work *w, const struct inner_job *job, int64_t begin,
                               int64_t n) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct equation *e = h->data.equation;
    const struct hdg_stored *there = &job->solution->cells[w->block];
    const int64_t lanes = h->lanes, count = h->data.mesh->blocks[w->block].count, first = begin * lanes;
    const int64_t n_p = job->solution->p[w->block] != NULL ? h->functions[w->block].N : 0;
    double *v = w->host[W_OWN], *q = v + job->N + job->n;
    if (job->N > 0) TRY(copy_in(w, W_U, there->loads + first * job->N, n));
    if (job->recovers) TRY(inner_put_trace(w, job, begin, n));
    for (int64_t cell = first; cell < first + n * lanes && cell < count; cell++) {
        TRY(local_begin(&w->local, w->block, (int32_t)cell));
        TRY(solve_cell(w, job, cell - first, v));
        if (job->Q == 0) continue;
        TRY(e->flux(&w->local, v, v + job->N, q, n_p > 0 ? q + job->Q - n_p : NULL));
        put_lane(w, W_Q, cell - first, job->Q, q);
    }
    if (!job->recovers) TRY(copy_out(w, W_LOAD, job->locals + first * job->n, n));
    if (job->recovers && job->N > 0) {
        add_constants(w, job, begin, n, w->host[W_U]);
        TRY(copy_out(w, W_U, there->u + first * job->N, n));
    }
    if (job->Q > 0) TRY(copy_out(w, W_Q, there->q + first * job->Q, n));
done:
    return status;
}

static facet_status solve_run(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct condenser *c = &job->condenser;
    const struct hdg_stored *there = &job->solution->cells[w->block];
    const int64_t first = begin * h->lanes;
    double *u = there->u + first * job->N, *q = job->Q > 0 ? there->q + first * job->Q : NULL, *uhat = NULL,
           *load = NULL;
    int64_t failed = -1;
    if (job->way == BATCH_SINGLE) return single_run(w, job, begin, n);
    device_move(h->device, u, there->loads + first * job->N,
                (size_t)(n * h->lanes * job->N) * sizeof(double));
    if (job->recovers)
        TRY(inner_put_trace(w, job, begin, n));
    else
        load = job->locals + first * job->n;
    if (job->recovers) uhat = w->device[W_UHAT];
    if (job->way == BATCH_GENERAL)
        TRY(general_solve(w, c->general, begin, n, uhat, u, q, load, &failed));
    else
        failed =
            c->solve(h, w->block, n, h->cells[w->block]->coefficients + begin * c->n_coefficients * h->lanes,
                     uhat, u, q, load, w->scratch);
    if (failed >= 0) TRY(batch_refuse(h, w->block, begin + failed, "the local problem"));
    if (!job->recovers || h->stays) goto done;
    if (device_seen(h->device, u) != NULL) {
        add_constants(w, job, begin, n, u);
        goto done;
    }
    TRY(copy_in(w, W_U, u, n));
    add_constants(w, job, begin, n, w->host[W_U]);
    TRY(copy_out(w, W_U, u, n));
done:
    return status;
}

/* Those batches of a piece that go this way. */
static facet_status run_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct inner_job *job = user;
    for (int64_t batch = begin, end; batch < begin + n; batch = end) {
        end = batch + 1;
        if (condenser_way(w->hdg, &job->condenser, w->block, batch) != job->way) continue;
        while (end < begin + n && condenser_way(w->hdg, &job->condenser, w->block, end) == job->way) end++;
        TRY(job->run(w, job, batch, end - batch));
    }
done:
    return status;
}

/* What a thread works with. */
static struct general_plan plan_of(const struct hdg *h, int block, const struct inner_job *job) {
    struct general_plan plan = {.n_arrays = W_OWN + 1, .whole = 1, .n_scratch = job->condenser.n_inner};
    if (job->way == BATCH_GENERAL) plan = job->condenser.general->plan(h, block);
    plan.sizes[W_UHAT] = job->n;
    if (!h->stays) {
        plan.kept = NULL;
        plan.sizes[W_U] = device_seen(h->device, job->solution->cells[block].u) == NULL ? job->N : 0;
    }
    plan.beside = 2 * job->N + job->n + job->Q + job->condenser.n_coefficients;
    if (job->way != BATCH_SINGLE) return plan;
    plan.on_host = 1;
    plan.whole = 0;
    plan.n_scratch = 0;
    plan.sizes[W_OWN] = job->N + job->n + job->Q;
    plan.sizes[W_LOAD] = job->n;
    plan.sizes[W_U] = job->N;
    plan.sizes[W_Q] = job->Q;
    return plan;
}

facet_status inner_walk(const struct hdg *h, int block, struct inner_job *job) {
    facet_status status = FACET_OK;
    int64_t n_batches = h->matrices.n_batches[block], found[N_BATCH_WAYS] = {0};
    if (h->cells[block] == NULL) return FACET_OK;
    h->data.equation->condenser(h, block, &job->condenser);
    hdg_local_sizes(h, block, &job->N, &job->n);
    find_ones(h, block, job);
    for (int64_t i = 0; i < n_batches; i++) found[condenser_way(h, &job->condenser, block, i)]++;
    for (int way = 0; way < N_BATCH_WAYS; way++) {
        if (found[way] == 0 || !(job->ways >> way & 1)) continue;
        job->way = (enum batch_way)way;
        job->Q = job->recovers || job->run != solve_run ? h->cells[block]->n_flux : 0;
        struct general_plan plan = plan_of(h, block, job);
        if (job->prepare != NULL) TRY(job->prepare(h, job, block, &plan));
        TRY(general_for_pieces(h, block, 0, n_batches, &plan, run_piece, job, NULL));
    }
done:
    return status;
}

facet_status inner_load(const struct hdg *h, int block, struct hdg_solution *s, double *locals) {
    struct inner_job job = {.solution = s, .ways = INNER_ALL, .locals = locals, .run = solve_run};
    return inner_walk(h, block, &job);
}

facet_status inner_recover(const struct hdg *h, int block, struct hdg_solution *s) {
    struct inner_job job = {.recovers = 1, .solution = s, .ways = INNER_ALL, .run = solve_run};
    return inner_walk(h, block, &job);
}

/* ------------------------------------------------------------------------------------------ joined */

static facet_status join_run(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct hdg_solution *s = job->solution;
    const int64_t lanes = h->lanes, count = h->data.mesh->blocks[w->block].count, first = begin * lanes,
                  Nu = h->functions[w->block].Nu * h->trace.n_components;
    if (job->N > 0) TRY(copy_in(w, W_U, s->cells[w->block].u + first * job->N, n));
    TRY(inner_put_trace(w, job, begin, n));
    for (int64_t cell = first; cell < first + n * lanes && cell < count; cell++) {
        const double *u = w->host[W_U] + (job->N > 0 ? local_lane((int)lanes, cell - first, job->N) : 0);
        double *to = s->u[w->block] + cell * Nu;
        w->local.block = w->block;
        w->local.cell = (int32_t)cell;
        h->data.equation->join(&w->local, u, w->host[W_UHAT] + local_lane((int)lanes, cell - first, job->n),
                               to);
        add_constants_of(h, job, w->block, cell, 1, to);
    }
done:
    return status;
}

/* Every batch goes to the host. */
static facet_status join_prepare(const struct hdg *h, const struct inner_job *job, int block,
                                 struct general_plan *plan) {
    (void)h, (void)block;
    plan->on_host = 1;
    plan->whole = 0;
    plan->sizes[W_U] = job->N;
    return FACET_OK;
}

facet_status inner_join(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        struct inner_job job = {
            .recovers = 1, .solution = s, .ways = INNER_ALL, .run = join_run, .prepare = join_prepare};
        TRY(inner_walk(h, b, &job));
    }
done:
    return status;
}
