/* Right-hand sides: the loads of the cells, condensed onto the trace. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/condensed.h"
#include "hdg/contact.h"
#include "hdg/free_motions.h"
#include "hdg/hdg_null_space.h"
#include "hdg/inner.h"

/* What is left of data, by this part, is rounding. */
#define NOTHING 1e-12

int64_t local_source_start(const struct hdg *h, int block) {
    int64_t start = 0;
    for (int b = 0; b < block; b++)
        start += (int64_t)h->data.mesh->blocks[b].count * h->space.blocks[b].source.n;
    return start;
}

facet_status local_check_source(int n, int components, const double *f) {
    for (int i = 0; i < n * components; i++)
        if (!isfinite(f[i]))
            return base_fail(FACET_ERROR_INPUT, "the caller's source is %g at point %d", f[i],
                             i / components);
    return FACET_OK;
}

facet_status local_load(struct local *l, int block, int32_t cell, const double *source, const double *shift,
                        double *load, double *works) {
    const struct hdg *h = l->hdg;
    const struct hdg_functions *v = &h->functions[block];
    const struct hdg_table *table = v->source.table;
    int nc = h->trace.n_components, n = table->n, row;
    double *f = l->values;
    l->block = block;
    l->cell = cell;
    hdg_cell_geometry(&h->space, block, cell, table, &l->geometry);
    if (source != NULL) {
        memcpy(f, source + (local_source_start(h, block) + (int64_t)cell * n) * nc,
               (size_t)(n * nc) * sizeof *f);
        facet_status status = local_check_source(n, nc, f);
        if (status != FACET_OK) return local_place(status, l);
    } else {
        facet_status status = local_source(l, local_region(&h->data, block, cell), n, l->geometry.x, f);
        if (status != FACET_OK) return local_place(status, l);
    }
    if (shift != NULL) hdg_take_shift(l, n, l->geometry.x, shift, f);
    for (int i = 0; i < n * nc; i++) f[i] *= l->geometry.wJ[i / nc];
    hdg_find_works(l, n, l->geometry.x, f, works);
    const double *chi = local_chi(l, table, v->source.chi, l->geometry.x, &row);
    for (int c = 0; c < nc; c++)
        cblas_dgemv(CblasRowMajor, CblasTrans, n, v->Nu, 1.0, chi, row, f + c, nc, 0.0, load + c * v->Nu, 1);
    return FACET_OK;
}

struct load_job {
    const double *source;
    const double *shift; /* hdg_null_space.h; NULL: none */
    struct hdg_solution *solution;
    int wants_totals, nothing; /* nothing: u is a constant that is taken off */
    double
        *direct[MESH_MAX_BLOCKS]; /* loads of the shared unknowns, where they have any: batch x n x LANES */
    double *works; /* n_cells: hdg_null_space.h; where no piece is free the integrals of f and of |f| */
};

/* With what data make of the flux (equation.initial): on the eliminated unknowns with load, and directly on
 * the shared ones. */
static facet_status load_initial(struct local *l, int block, int32_t cell, const double *load,
                                 double *interior, double *boundary) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    int lanes = h->lanes, N, n;
    hdg_local_sizes(h, block, &N, &n);
    double *initial = l->C, *spherical = initial + N + n;
    TRY(local_begin(l, block, cell));
    TRY(h->data.equation->initial(l, spherical, initial));
    trace_turn(&h->trace, block, cell, 1, 1, 0, 1, initial + N);
    for (int i = 0; i < N; i++) interior[i * lanes] = load[i] + initial[i];
    for (int i = 0; i < n; i++) boundary[i * lanes] = -initial[N + i];
done:
    return status;
}

static facet_status load_work(struct local *l, int block, int32_t cell, void *user) {
    const int lanes = l->hdg->lanes;
    struct load_job *job = user;
    int N, n;
    hdg_local_sizes(l->hdg, block, &N, &n);
    double *load = l->vector, *lane = job->solution->loads[block] + (N > 0 ? local_lane(lanes, cell, N) : 0);
    double *works =
        job->works + (l->hdg->data.mesh->blocks[block].first + (int64_t)cell) * hdg_n_works(l->hdg);
    facet_status status = local_load(l, block, cell, job->source, job->shift, load, works);
    if (status == FACET_OK && l->hdg->data.expansion != NULL)
        return load_initial(l, block, cell, load, lane, job->direct[block] + local_lane(lanes, cell, n));
    if (status != FACET_OK) return status;
    if (job->direct[block] != NULL)
        l->hdg->data.equation->split_load(l->hdg, block, cell, load, lane,
                                          job->direct[block] + local_lane(lanes, cell, n));
    else
        for (int i = 0; i < N; i++) lane[i * lanes] = load[i];
    return FACET_OK;
}

/* Whether the host sees the loads that are there. */
static int sees(const struct hdg *h, const struct hdg_solution *s) {
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (s->cells[b].loads != NULL && device_seen(h->device, s->cells[b].loads) == NULL) return 0;
    return 1;
}

/* Whether every cell has loads in ways of its own; or the host would have to see maps at points that are in
 * another memory, which takes several times as long. */
static int one_by_one(const struct hdg *h, const struct load_job *job) {
    if (h->data.equation->split_load != NULL || h->data.expansion != NULL || h->free_pieces != NULL ||
        h->space.revolved)
        return 1;
    if (sees(h, job->solution)) return 0;
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->functions[b].physical && h->general[b] != NULL) return 1;
    return job->wants_totals || !general_knows_source(h, job->source);
}

static facet_status load_one_by_one(const struct hdg *h, struct load_job *job) {
    facet_status status = FACET_OK;
    struct hdg_solution *s = job->solution;
    TRY(cells_need_host(h, s));
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (s->loads[b] != NULL)
            memset(s->loads[b], 0,
                   (size_t)(h->matrices.n_batches[b] * h->lanes * h->n_eliminated[b]) * sizeof *s->loads[b]);
    TRY(local_for_all_cells(h, load_work, job));
    TRY(cells_send_loads(h, s));
done:
    return status;
}

/* The loads of all cells. */
static facet_status load_cells(const struct hdg *h, struct load_job *job) {
    facet_status status = FACET_OK;
    const struct hdg_stored *there = job->solution->cells;
    int finite = 1;
    if (one_by_one(h, job)) return load_one_by_one(h, job);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct general_load data = {
            .source = job->source,
            .shift = job->shift != NULL ? *job->shift : 0.0,
            .loads = there[b].loads,
            .totals = job->wants_totals ? job->works + 2 * (int64_t)h->data.mesh->blocks[b].first : NULL};
        const int64_t n = h->matrices.n_batches[b] * h->n_eliminated[b] * h->lanes;
        TRY(general_load(h, b, &data));
        finite &= isfinite(device_dot(h->device, F64, n, there[b].loads, there[b].loads)) != 0;
    }
    if (!finite) TRY(load_one_by_one(h, job)); /* which says where f is not */
    if (!h->stays) TRY(cells_fetch_loads(h, job->solution));
done:
    return status;
}

/* Of what is given, f and the boundary data. */
static double sum_of_moduli(const struct hdg *h, const double *works) {
    double sum = 0.0;
    for (int64_t c = 0; c < h->data.mesh->n_cells; c++) sum += works[2 * c + 1];
    for (int64_t i = 0; i < h->trace.n_free; i++) sum += fabs(h->boundary[i]);
    return sum;
}

/* Whether a face of the boundary has a value, or a load. */
static int has_boundary_data(const struct hdg *h) {
    const struct trace_space *t = &h->trace;
    int found = 0;
#pragma omp parallel for num_threads(base_threads_for(t->n_faces)) schedule(static) reduction(| : found)
    for (int64_t f = 0; f < t->n_faces; f++) {
        const int64_t size = t->face_first[f + 1] - t->face_first[f];
        const double *data =
            t->face_free[f] < 0 ? h->eliminated + t->face_first[f] : h->boundary + t->face_free[f];
        for (int64_t i = 0; h->data.face_condition[f] >= 0 && i < size; i++) found |= data[i] != 0.0;
    }
    return found;
}

/* sum += what boundary data contribute. */
static void add_boundary(const struct hdg *h, double *sum) {
    const int64_t n = h->trace.n_free;
#pragma omp parallel for num_threads(base_threads_for(n)) schedule(static)
    for (int64_t i = 0; i < n; i++) sum[i] += h->lift[i] + h->boundary[i];
}

/* F by the kernel, face by face. */
static facet_status sum_there(const struct hdg *h, struct load_job *job, struct vector *F) {
    facet_status status = FACET_OK;
    double *sum = NULL, *locals = NULL;
    if (h->stays && !has_boundary_data(h)) {
        vector_fill(F, 0.0);
    } else {
        TRY(CALLOC(sum, h->trace.n_free));
        add_boundary(h, sum);
        TRY(vector_upload(F, sum));
    }
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct hdg_cells *there = h->cells[b];
        if (there == NULL) continue;
        device_free(h->device, &locals);
        TRY(device_alloc(h->device, &locals, (size_t)(h->matrices.n_batches[b] * there->n * h->lanes),
                         sizeof *locals));
        TRY(inner_load(h, b, job->solution, locals));
        device_face_sums(h->device, h->lanes, h->trace.n_free_faces, h->space.blocks[b].n_faces, there->face,
                         there->sides, locals, F->data);
    }
done:
    base_free(&sum);
    device_free(h->device, &locals);
    return status;
}

/* By the host, with what else the shared unknowns have. */
static facet_status sum_by_host(const struct hdg *h, struct load_job *job, struct vector *F) {
    facet_status status = FACET_OK;
    double *locals[MESH_MAX_BLOCKS] = {0}, *there = NULL, *sum = NULL;
    TRY(ALLOC(sum, h->trace.n_free));
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const int64_t n = h->matrices.n_batches[b] * h->matrices.n[b] * h->lanes;
        if (n == 0) continue;
        TRY(ALLOC(locals[b], n));
        TRY(device_alloc(h->device, &there, (size_t)n, sizeof *there));
        TRY(inner_load(h, b, job->solution, there));
        TRY(device_download(h->device, locals[b], there, (size_t)n * sizeof *there));
        device_free(h->device, &there);
    }
    contact_load(h, job->solution, locals);
    for (int b = 0; b < h->data.mesh->n_blocks && job->direct[b] != NULL; b++)
        for (int64_t i = 0; i < h->matrices.n_batches[b] * h->matrices.n[b] * h->lanes; i++)
            locals[b][i] += job->direct[b][i];
    trace_assemble_vector(&h->trace, h->lanes, locals, sum);
    add_boundary(h, sum);
    if (job->nothing) memset(sum, 0, (size_t)h->trace.n_free * sizeof *sum);
    if (h->data.equation->finish_load != NULL) h->data.equation->finish_load(h, job->solution, sum);
    TRY(vector_upload(F, sum));
done:
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&locals[b]);
    device_free(h->device, &there);
    base_free(&sum);
    return status;
}

static facet_status job_create(const struct hdg *h, struct load_job *job) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    job->wants_totals = h->singular || h->weak.n > 0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        if (h->data.equation->split_load != NULL || h->data.expansion != NULL)
            TRY(CALLOC(job->direct[b], h->matrices.n_batches[b] * h->matrices.n[b] * h->lanes));
    }
    TRY(ALLOC(job->works, hdg_n_works(h) * (int64_t)mesh->n_cells));
done:
    return status;
}

static void job_destroy(struct load_job *job) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&job->direct[b]);
    base_free(&job->works);
}

/* Without a constant that is taken off u. */
static facet_status take_offset(const struct hdg *h, struct load_job *job) {
    facet_status status = FACET_OK;
    struct hdg_solution *s = job->solution;
    const double before = sum_of_moduli(h, job->works);
    job->shift = &s->offset_source;
    TRY(load_cells(h, job));
    job->nothing = sum_of_moduli(h, job->works) <= NOTHING * before; /* u is that constant */
    for (int b = 0; b < h->data.mesh->n_blocks && job->nothing; b++)
        device_fill(h->device, F64, h->matrices.n_batches[b] * h->n_eliminated[b] * h->lanes, 0.0,
                    s->cells[b].loads);
    if (job->nothing) TRY(cells_fetch_loads(h, s));
done:
    return status;
}

facet_status hdg_load(const struct hdg *h, const double *source, struct hdg_solution *s, struct vector *F) {
    facet_status status = FACET_OK;
    struct load_job job = {.source = source, .solution = s};
    double *shift = NULL;
    TRY(cells_need(h, s));
    if (!h->stays) TRY(cells_need_host(h, s));
    cells_forget_fetched(s);
    s->imbalance[0] = s->imbalance[1] = s->offset = s->offset_source = s->uncertainty = 0.0;
    TRY(job_create(h, &job));
    TRY(load_cells(h, &job));
    if (h->singular || h->free_pieces != NULL) { /* what quadrature leaves of their balance */
        TRY(ALLOC(shift, h->free_pieces != NULL ? h->data.n_free_pieces * FREE_MOTIONS : 1));
        TRY((h->singular ? hdg_balance_constant : hdg_balance_motions)(h, job.works, shift, s->imbalance));
        job.shift = shift;
        TRY(load_cells(h, &job));
    }
    TRY(hdg_weak_constants_supply(h, source, job.works, s));
    if (h->condensed != NULL) TRY(condensed_keep_loads(h, job.direct, s));
    if (s->offset_source != 0.0) TRY(take_offset(h, &job));
    TRY(cells_add_up(h) && !job.nothing ? sum_there(h, &job, F) : sum_by_host(h, &job, F));
    seam_add(h->trace.seam, F);
    TRY(device_check(h->device));
done:
    job_destroy(&job);
    base_free(&shift);
    return status;
}
