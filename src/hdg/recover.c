/* Solutions: back from the trace to u and q. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/general.h"

facet_status hdg_solution_create(const struct hdg *h, struct hdg_solution *s) {
    const int lanes = h->lanes;
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct hdg_system system;
    *s = (struct hdg_solution){0};
    hdg_describe(h, &system);
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t count = mesh->blocks[b].count, flux = count * h->functions[b].N;
        int N, n, nc = h->trace.n_components;
        hdg_local_sizes(h, b, &N, &n);
        TRY(CALLOC(s->u[b], count * nc * h->functions[b].Nu));
        if (h->data.equation->flux != NULL) TRY(CALLOC(s->q[b], flux * nc * mesh->dim));
        if (equation_has_field(h->data.equation, HDG_P)) TRY(CALLOC(s->p[b], flux));
        TRY(CALLOC(s->loads[b], trace_n_batches(h->device, mesh, b) * N * lanes));
    }
    TRY(CALLOC(s->trace, system.n_all));
done:
    if (status != FACET_OK) hdg_solution_destroy(s);
    return status;
}

void hdg_solution_destroy(struct hdg_solution *s) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        base_free(&s->u[b]);
        base_free(&s->q[b]);
        base_free(&s->p[b]);
        base_free(&s->star[b]);
        base_free(&s->loads[b]);
    }
    base_free(&s->trace);
}

/* The lanes of one block while it is recovered: host copies, and the same on the device. */
struct recovery {
    const struct hdg *hdg;
    struct hdg_solution *solution;
    int block;
    double *u, *uhat, *q, *coefficients;                             /* host */
    double *device_u, *device_uhat, *device_q, *device_coefficients; /* device */
};

#define FLUX_BATCHES 1024 /* of one call of the flux kernel */

static void recovery_destroy(struct recovery *r) {
    base_free(&r->u);
    base_free(&r->uhat);
    base_free(&r->q);
    base_free(&r->coefficients);
    double **arrays[] = {&r->device_u, &r->device_uhat, &r->device_q, &r->device_coefficients};
    for (int i = 0; i < 4; i++) device_free(r->hdg->device, arrays[i]);
}

/* The eliminated unknowns S^-1 f + U uhat, for all cells of the block. */
static facet_status recover_eliminated(struct recovery *r) {
    const int lanes = r->hdg->lanes;
    facet_status status = FACET_OK;
    const struct hdg *h = r->hdg;
    int64_t n_batches = h->matrices.n_batches[r->block];
    int32_t count = h->data.mesh->blocks[r->block].count;
    int N, n;
    hdg_local_sizes(h, r->block, &N, &n);
    size_t n_u = (size_t)(n_batches * N * lanes), n_uhat = (size_t)(n_batches * n * lanes);
    TRY(ALLOC(r->u, n_u));
    TRY(CALLOC(r->uhat, n_uhat));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int32_t cell = 0; cell < count; cell++)
        trace_gather(&h->trace, r->block, cell, r->solution->trace, r->uhat + local_lane(lanes, cell, n),
                     lanes);
    TRY(device_copy(h->device, &r->device_u, r->solution->loads[r->block], n_u, sizeof(double)));
    TRY(device_copy(h->device, &r->device_uhat, r->uhat, n_uhat, sizeof(double)));
    device_batch_recover(h->device, lanes, n_batches, N, n, h->factors[r->block], h->U[r->block],
                         r->device_uhat, r->device_u);
    TRY(device_download(h->device, r->u, r->device_u, n_u * sizeof(double)));
done:
    return status;
}

static void copy_u(struct recovery *r) {
    const int lanes = r->hdg->lanes;
    const struct hdg *h = r->hdg;
    int32_t count = h->data.mesh->blocks[r->block].count;
    int N, n;
    double *u = r->solution->u[r->block];
    hdg_local_sizes(h, r->block, &N, &n);
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int32_t cell = 0; cell < count; cell++)
        for (int i = 0; i < N; i++) u[(int64_t)cell * N + i] = r->u[local_lane(lanes, cell, N) + i * lanes];
}

/* q of the fast batches begin .. end-1, by the kernel. */
static facet_status fast_flux(struct recovery *r, int64_t begin, int64_t end) {
    const int lanes = r->hdg->lanes;
    facet_status status = FACET_OK;
    const struct hdg *h = r->hdg;
    const struct hdg_block_space *b = &h->space.blocks[r->block];
    int dim = h->data.mesh->dim;
    int64_t stride = affine_layout(dim, b->n_faces).count * lanes, n_q = (int64_t)dim * b->N * lanes;
    int64_t count = h->data.mesh->blocks[r->block].count;
    if (r->q == NULL) {
        TRY(ALLOC(r->q, FLUX_BATCHES * n_q));
        TRY(ALLOC(r->coefficients, FLUX_BATCHES * stride));
        TRY(device_alloc(h->device, &r->device_q, (size_t)(FLUX_BATCHES * n_q), sizeof(double)));
        TRY(device_alloc(h->device, &r->device_coefficients, (size_t)(FLUX_BATCHES * stride),
                         sizeof(double)));
    }
    TRY(batch_coefficients(h, r->block, begin, end, batch_fill_hybrid, stride / lanes, r->coefficients, NULL,
                           NULL));
    TRY(device_upload(h->device, r->device_coefficients, r->coefficients,
                      (size_t)((end - begin) * stride) * sizeof(double)));
    device_affine_flux(h->device, &h->tables[r->block], end - begin, r->device_coefficients,
                       r->device_u + begin * b->N * lanes, r->device_uhat + begin * b->n_trace * lanes,
                       r->device_q);
    TRY(device_download(h->device, r->q, r->device_q, (size_t)((end - begin) * n_q) * sizeof(double)));
    double *q = r->solution->q[r->block];
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = begin; batch < end; batch++)
        for (int64_t cell = batch * lanes; cell < (batch + 1) * lanes && cell < count; cell++)
            for (int i = 0; i < dim * b->N; i++)
                q[cell * dim * b->N + i] = r->q[(batch - begin) * n_q + i * lanes + cell % lanes];
done:
    return status;
}

/* The flux of one cell of a batch that no kernel takes. */
static facet_status flux_work(struct local *l, int block, int32_t cell, void *user) {
    const int lanes = l->hdg->lanes;
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    struct hdg_solution *s = user;
    int nc = h->trace.n_components, Nu = h->functions[block].Nu, N = h->functions[block].N;
    double *q = s->q[block] + (int64_t)cell * nc * h->data.mesh->dim * N, *uhat = l->C;
    const double *u = s->u[block] + (int64_t)cell * nc * Nu;
    if (batch_way(h, block, cell / lanes) != BATCH_SINGLE) return FACET_OK;
    TRY(local_begin(l, block, cell));
    trace_gather(&h->trace, block, cell, s->trace, uhat, 1);
    trace_turn(&h->trace, block, cell, 0, 1, 0, 1, uhat);
    TRY(h->data.equation->flux(l, u, uhat, q, s->p[block] != NULL ? s->p[block] + (int64_t)cell * N : NULL));
done:
    return status;
}

static facet_status recover_block(const struct hdg *h, int block, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    struct recovery r = {.hdg = h, .solution = s, .block = block};
    int64_t n_batches = h->matrices.n_batches[block];
    TRY(recover_eliminated(&r));
    if (h->data.equation->join != NULL)
        TRY(h->data.equation->join(h, block, r.u, r.uhat, s->u[block]));
    else
        copy_u(&r);
    for (int64_t begin = 0, end; begin < n_batches && h->data.equation->flux != NULL; begin = end) {
        enum batch_way way = batch_way(h, block, begin);
        end = begin + 1;
        while (end < n_batches && end - begin < FLUX_BATCHES && batch_way(h, block, end) == way) end++;
        if (way == BATCH_FAST) TRY(fast_flux(&r, begin, end));
        if (way == BATCH_GENERAL)
            TRY(general_flux(h, block, begin, end, r.device_u, r.device_uhat, s->q[block]));
    }
done:
    recovery_destroy(&r);
    return status;
}

struct mean_job {
    const struct hdg_solution *solution;
    double *sums[MESH_MAX_BLOCKS]; /* count: integral of the exact solution (or 0) minus that of u */
};

static facet_status mean_work(struct local *l, int block, int32_t cell, void *user) {
    const struct mean_job *job = user;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    facet_status status = FACET_OK;
    int n = b->norm.n;
    double sum = 0.0;
    hdg_cell_geometry(&h->space, block, cell, &b->norm, &l->geometry);
    memset(l->values, 0, (size_t)n * sizeof *l->values);
    if (h->data.exact != NULL)
        TRY(base_wrap(field_eval(h->data.exact, n, h->data.mesh->dim, l->geometry.x, l->values), "exact"));
    cblas_dgemv(CblasRowMajor, CblasNoTrans, n, b->N, -1.0, b->norm.phi, b->N,
                job->solution->u[block] + (int64_t)cell * b->N, 1, 1.0, l->values, 1);
    for (int q = 0; q < n; q++) sum += l->geometry.wJ[q] * l->values[q];
    job->sums[block][cell] = sum;
done:
    return status;
}

/* A singular problem's solution is fixed up to a constant: give it the exact mean, or mean zero. */
static facet_status fix_mean(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct mean_job job = {.solution = s};
    struct hdg_system system;
    double sum = 0.0, *one = NULL;
    hdg_describe(h, &system);
    TRY(ALLOC(one, system.n_all));
    hdg_constant(h, one);
    for (int b = 0; b < mesh->n_blocks; b++) TRY(ALLOC(job.sums[b], mesh->blocks[b].count));
    TRY(local_for_all_cells(h, mean_work, &job));
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int32_t c = 0; c < mesh->blocks[b].count; c++) sum += job.sums[b][c];
    double constant = sum / h->volume;
    for (int b = 0; b < mesh->n_blocks; b++) /* phi_0 = 1 / sqrt(measure) */
        for (int64_t c = 0; c < mesh->blocks[b].count; c++)
            s->u[b][c * h->space.blocks[b].N] += constant * sqrt(shape_measure(mesh->blocks[b].shape));
    for (int64_t i = 0; i < system.n_all; i++) s->trace[i] += constant * one[i];
done:
    base_free(&one);
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&job.sums[b]);
    return status;
}

facet_status hdg_recover(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) TRY(recover_block(h, b, s));
    if (h->data.equation->flux != NULL) TRY(local_for_all_cells(h, flux_work, s));
    if (h->singular) TRY(fix_mean(h, s));
done:
    return status;
}
