/* Solves inside the cells, a tile of batches at a time: from loads to the trace, and from the trace back to u
 * and q. Nothing is kept of the cells: to make S again is cheaper than to write and to read S^-1 R. Loads, u
 * and q are those of a solution on the host, or (resident.h) stay on the device. */
#include <cblas.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "hdg/inner.h"

/* What the kernels work on, on the device. */
struct inner_arrays {
    const double *uhat; /* NULL: there is none */
    double *u, *q, *load;
};

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
    return job->out->trace[t->face_first[t->faces[block][cell * t->n_slots[block]]] + c * size] /
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

static void add_constants(const struct hdg *h, const struct inner_job *job, int block, int64_t cell) {
    const int n = h->trace.n_components, Nu = h->functions[block].Nu;
    const double one = sqrt(shape_measure(h->data.mesh->blocks[block].shape));
    for (int c = 0; c < n; c++)
        job->out->u[block][(cell * n + c) * Nu] += one * constant_of(h, job, block, cell, c);
}

facet_status inner_put_trace(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n) {
    const struct hdg *h = w->hdg;
    const int lanes = h->lanes;
    const int64_t count = h->data.mesh->blocks[w->block].count;
    if (job->stays != NULL) {
        const int n_faces = h->space.blocks[w->block].n_faces;
        device_cell_gather(h->device, lanes, n, n_faces, job->stays->face,
                           job->stays->maps + begin * lanes * n_faces, h->resident->trace, w->device[W_UHAT]);
        return FACET_OK;
    }
    if ((begin + n) * lanes > count)
        memset(w->host[W_UHAT], 0, (size_t)(n * w->size[W_UHAT]) * sizeof(double));
    for (int64_t cell = begin * lanes; cell < (begin + n) * lanes && cell < count; cell++) {
        double *uhat = w->host[W_UHAT] + local_lane(lanes, cell - begin * lanes, job->n);
        trace_gather(contact_seen(h), w->block, (int32_t)cell, job->in->trace, uhat, lanes);
        if (job->recovers) take_constants(h, job, w->block, cell, uhat);
    }
    return general_send(w, W_UHAT, n);
}

/* Loads, and traces where they are given, of a run of batches. */
static facet_status put_run(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n) {
    facet_status status = FACET_OK;
    if (job->N > 0)
        memcpy(w->host[W_U], job->in->loads[w->block] + begin * w->size[W_U],
               (size_t)(n * w->size[W_U]) * sizeof(double));
    TRY(general_send(w, W_U, n));
    if (job->recovers) TRY(inner_put_trace(w, job, begin, n));
done:
    return status;
}

static void take_cell(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t cell) {
    const struct hdg *h = w->hdg;
    int lanes = h->lanes;
    int64_t at = cell - begin * lanes;
    const double *u = w->host[W_U] + (job->N > 0 ? local_lane(lanes, at, job->N) : 0);
    double *u_to = job->out->u[w->block] + cell * h->functions[w->block].Nu * h->trace.n_components;
    w->local.block = w->block;
    w->local.cell = (int32_t)cell;
    if (h->data.equation->join != NULL)
        h->data.equation->join(&w->local, u, w->host[W_UHAT] + local_lane(lanes, at, job->n), u_to);
    else
        for (int i = 0; i < job->N; i++) u_to[i] = u[i * lanes];
    if (job->Q == 0) return;
    int N = h->functions[w->block].N, n_p = job->out->p[w->block] != NULL ? N : 0, n_q = job->Q - n_p;
    const double *q = w->host[W_Q] + local_lane(lanes, at, job->Q);
    double *q_to = job->out->q[w->block] + cell * n_q;
    for (int i = 0; i < n_q; i++) q_to[i] = q[i * lanes];
    for (int i = 0; i < n_p; i++) job->out->p[w->block][cell * N + i] = q[(n_q + i) * lanes];
}

static facet_status take_run(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n) {
    facet_status status = FACET_OK;
    int64_t end = (begin + n) * w->hdg->lanes, count = w->hdg->data.mesh->blocks[w->block].count;
    if (!job->recovers) {
        TRY(general_fetch(w, W_LOAD, n));
        memcpy(job->locals + begin * w->size[W_LOAD], w->host[W_LOAD],
               (size_t)(n * w->size[W_LOAD]) * sizeof(double));
        goto done;
    }
    TRY(general_fetch(w, W_U, n));
    if (job->Q > 0) TRY(general_fetch(w, W_Q, n));
    for (int64_t cell = begin * w->hdg->lanes; cell < end && cell < count; cell++) {
        take_cell(w, job, begin, cell);
        add_constants(w->hdg, job, w->block, cell);
    }
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

/* Cells that no kernel takes, and their fluxes. */
static facet_status single_run(struct general_work *w, const struct inner_job *job, int64_t begin,
                               int64_t n) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct equation *e = h->data.equation;
    int b = w->block;
    int64_t lanes = h->lanes, count = h->data.mesh->blocks[b].count, end = (begin + n) * lanes,
            n_u = (int64_t)h->functions[b].Nu * h->trace.n_components, N = h->functions[b].N;
    double *v = w->host[W_OWN];
    TRY(put_run(w, job, begin, n));
    if (!job->recovers && end > count)
        memset(w->host[W_LOAD], 0, (size_t)(n * w->size[W_LOAD]) * sizeof(double));
    for (int64_t cell = begin * lanes; cell < end && cell < count; cell++) {
        TRY(local_begin(&w->local, b, (int32_t)cell));
        TRY(solve_cell(w, job, cell - begin * lanes, v));
        if (!job->recovers) continue;
        take_cell(w, job, begin, cell);
        if (e->flux != NULL)
            TRY(e->flux(&w->local, job->out->u[b] + cell * n_u, v + job->N,
                        job->out->q[b] + cell * h->trace.n_components * h->data.mesh->dim * N,
                        job->out->p[b] != NULL ? job->out->p[b] + cell * N : NULL));
        add_constants(h, job, b, cell);
    }
    if (!job->recovers) TRY(take_run(w, job, begin, n));
done:
    return status;
}

/* The arrays of a run of batches, with loads where u will be, and the trace. */
static facet_status bring_run(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n,
                              struct inner_arrays *to) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct resident_block *r = job->stays;
    const int64_t first = begin * h->lanes;
    *to = (struct inner_arrays){.uhat = job->recovers ? w->device[W_UHAT] : NULL,
                                .u = w->device[W_U],
                                .q = job->Q > 0 && job->recovers ? w->device[W_Q] : NULL,
                                .load = job->recovers ? NULL : w->device[W_LOAD]};
    if (r == NULL) {
        TRY(put_run(w, job, begin, n));
        goto done;
    }
    to->u = r->u + first * job->N;
    if (job->recovers)
        to->q = r->q + first * job->Q;
    else
        to->load = job->locals + first * job->n;
    device_move(h->device, to->u, r->loads + first * job->N,
                (size_t)(n * h->lanes * job->N) * sizeof(double));
    if (job->recovers) TRY(inner_put_trace(w, job, begin, n));
done:
    return status;
}

facet_status inner_find_coefficients(struct general_work *w, const struct inner_job *job, int64_t begin,
                                     int64_t n, const double **coefficients) {
    facet_status status = FACET_OK;
    const struct condenser *c = &job->condenser;
    const int64_t lanes = w->hdg->lanes;
    struct batch_facts facts;
    *coefficients = w->device[W_OWN];
    if (job->stays != NULL) {
        *coefficients = job->stays->coefficients + begin * c->n_coefficients * lanes;
        return FACET_OK;
    }
    for (int64_t i = 0; i < n * lanes; i++)
        TRY(c->fill(&w->local, w->block, general_cell(w, begin + i / lanes, (int)(i % lanes)),
                    w->host[W_OWN] + local_lane((int)lanes, (int32_t)i, (int)c->n_coefficients), &facts));
    TRY(general_send(w, W_OWN, n));
done:
    return status;
}

static facet_status solve_run(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct condenser *c = &job->condenser;
    const double *coefficients;
    struct inner_arrays at;
    int64_t failed = -1;
    if (job->way == BATCH_SINGLE) return single_run(w, job, begin, n);
    TRY(bring_run(w, job, begin, n, &at));
    if (job->way == BATCH_GENERAL) {
        TRY(general_solve(w, c->general, begin, n, at.uhat, at.u, at.q, at.load, &failed));
    } else {
        TRY(inner_find_coefficients(w, job, begin, n, &coefficients));
        failed = c->solve(h, w->block, n, coefficients, at.uhat, at.u, at.q, at.load, w->scratch);
    }
    if (failed >= 0) TRY(batch_refuse(h, w->block, begin + failed, "the local problem"));
    if (job->stays == NULL) TRY(take_run(w, job, begin, n));
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
    struct general_plan plan = {.n_arrays = W_OWN + 1, .n_scratch = job->condenser.n_inner};
    if (job->way == BATCH_GENERAL) plan = job->condenser.general->plan(h, block);
    if (job->stays != NULL) { /* all else is there */
        plan.whole = 1;
        plan.sizes[W_UHAT] = job->n;
        return plan;
    }
    plan.kept = NULL;
    if (job->way == BATCH_FAST) plan.sizes[W_OWN] = job->condenser.n_coefficients;
    if (job->way == BATCH_SINGLE) {
        plan.on_host = 1;
        plan.n_scratch = 0;
        plan.sizes[W_OWN] = job->N + job->n;
    }
    plan.sizes[W_UHAT] = plan.sizes[W_LOAD] = job->n;
    plan.sizes[W_U] = job->N;
    plan.sizes[W_Q] = job->Q;
    return plan;
}

facet_status inner_walk(const struct hdg *h, int block, struct inner_job *job) {
    facet_status status = FACET_OK;
    int64_t n_batches = h->matrices.n_batches[block], found[N_BATCH_WAYS] = {0};
    h->data.equation->condenser(h, block, &job->condenser);
    hdg_local_sizes(h, block, &job->N, &job->n);
    find_ones(h, block, job);
    if (h->resident != NULL && job->in == NULL) job->stays = &h->resident->blocks[block];
    for (int64_t i = 0; i < n_batches; i++) found[condenser_way(h, &job->condenser, block, i)]++;
    for (int way = 0; way < N_BATCH_WAYS; way++) {
        if (found[way] == 0 || !(job->ways >> way & 1)) continue;
        job->way = (enum batch_way)way;
        job->Q = way != BATCH_SINGLE ? job->condenser.n_flux : 0;
        struct general_plan plan = plan_of(h, block, job);
        if (job->prepare != NULL) TRY(job->prepare(h, job, block, &plan));
        TRY(general_for_pieces(h, block, 0, n_batches, &plan, run_piece, job, NULL));
    }
done:
    return status;
}

facet_status inner_load(const struct hdg *h, int block, const struct hdg_solution *s, double *locals) {
    struct inner_job job = {.in = s, .ways = INNER_ALL, .locals = locals, .run = solve_run};
    return inner_walk(h, block, &job);
}

facet_status inner_recover(const struct hdg *h, int block, struct hdg_solution *s) {
    struct inner_job job = {.recovers = 1, .in = s, .out = s, .ways = INNER_ALL, .run = solve_run};
    return inner_walk(h, block, &job);
}
