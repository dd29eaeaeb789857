/* Right-hand sides, and back from the trace to u and q. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/local.h"

/* Where the source points of a block begin in the caller's array. */
static int64_t source_start(const struct hdg *h, int block) {
    int64_t start = 0;
    for (int b = 0; b < block; b++)
        start += (int64_t)h->data.mesh->blocks[b].count * h->space.blocks[b].source.n;
    return start;
}

facet_status local_load(struct local *l, int block, int32_t cell, const double *source, double shift,
                        double *load) {
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int n = b->source.n;
    double *f = l->values;
    l->block = block;
    l->cell = cell;
    hdg_cell_geometry(&h->space, block, cell, &b->source, &l->geometry);
    if (source != NULL) {
        memcpy(f, source + source_start(h, block) + (int64_t)cell * n, (size_t)n * sizeof *f);
        for (int q = 0; q < n; q++)
            if (!isfinite(f[q]))
                return local_place(
                    base_fail(FACET_ERROR_INPUT, "the caller's source is %g at point %d", f[q], q), l);
    } else {
        facet_status status = local_source(l, local_region(&h->data, block, cell), n, l->geometry.x, f);
        if (status != FACET_OK) return local_place(status, l);
    }
    for (int q = 0; q < n; q++) f[q] = (f[q] - shift) * l->geometry.wJ[q];
    cblas_dgemv(CblasRowMajor, CblasTrans, n, b->N, 1.0, b->source.phi, b->N, f, 1, 0.0, load, 1);
    return FACET_OK;
}

struct load_job {
    const double *source;
    double shift;
    double *locals[MESH_MAX_BLOCKS]; /* count x n_trace */
    double
        *totals[MESH_MAX_BLOCKS]; /* count x 2: integral of f, and of |f| bounded from below by the moments */
};

static facet_status load_work(struct local *l, int block, int32_t cell, void *user) {
    struct load_job *job = user;
    const struct hdg_block_space *b = &l->hdg->space.blocks[block];
    double *load = l->vector;
    facet_status status = local_load(l, block, cell, job->source, job->shift, load);
    if (status != FACET_OK) return status;
    const double *U = l->hdg->U[block] + (int64_t)cell * b->N * b->n_trace;
    cblas_dgemv(CblasRowMajor, CblasTrans, b->N, b->n_trace, 1.0, U, b->n_trace, load, 1, 0.0,
                job->locals[block] + (int64_t)cell * b->n_trace, 1);
    double *total = job->totals[block] + 2 * (int64_t)cell;
    total[0] = total[1] = 0.0;
    for (int q = 0; q < b->source.n; q++) { /* cell_load left f times weight there */
        total[0] += l->values[q];
        total[1] += fabs(l->values[q]);
    }
    return FACET_OK;
}

/* The sum of the loads on a singular problem must vanish: *shift balances what quadrature leaves, and no
 * more. */
static facet_status balance(const struct hdg *h, const struct load_job *job, double *shift) {
    const struct facet_mesh *mesh = h->data.mesh;
    double total = 0.0, scale = 0.0;
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int64_t c = 0; c < mesh->blocks[b].count; c++) {
            total += job->totals[b][2 * c];
            scale += job->totals[b][2 * c + 1];
        }
    for (int64_t f = 0; f < h->trace.n_free_faces; f++) { /* the moment of the constant: psi_0 is constant */
        enum shape shape = (enum shape)mesh->face_shapes[h->trace.free_faces[f]];
        double flux = h->boundary[h->trace.free_offsets[f]] * sqrt(shape_measure(shape));
        total += flux;
        scale += fabs(flux);
    }
    *shift = total / h->volume;
    if (fabs(total) <= 1e-4 * scale) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT,
                     "with Neumann or periodic conditions everywhere and no reaction, the source and the "
                     "boundary fluxes must "
                     "balance, but they sum to %.6g (of %.6g in absolute terms); subtract it, or give a "
                     "Dirichlet or Robin part",
                     total, scale);
}

facet_status hdg_load(const struct hdg *h, const double *source, double *F, double *shift) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct load_job job = {.source = source};
    *shift = 0.0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        TRY(ALLOC(job.locals[b], (int64_t)mesh->blocks[b].count * h->space.blocks[b].n_trace));
        TRY(ALLOC(job.totals[b], 2 * (int64_t)mesh->blocks[b].count));
    }
    TRY(local_for_all_cells(h, load_work, &job));
    if (h->singular) {
        TRY(balance(h, &job, shift));
        job.shift = *shift;
        TRY(local_for_all_cells(h, load_work, &job));
    }
    trace_assemble_vector(&h->trace, job.locals, F);
    for (int64_t i = 0; i < h->trace.n_free; i++) F[i] += h->lift[i] + h->boundary[i];
done:
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        base_free(&job.locals[b]);
        base_free(&job.totals[b]);
    }
    return status;
}

facet_status hdg_solution_create(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    *s = (struct hdg_solution){0};
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t size = (int64_t)mesh->blocks[b].count * h->space.blocks[b].N;
        TRY(CALLOC(s->u[b], size));
        TRY(CALLOC(s->q[b], size * mesh->dim));
    }
    TRY(CALLOC(s->trace, h->trace.n_all));
done:
    if (status != FACET_OK) hdg_solution_destroy(s);
    return status;
}

void hdg_solution_destroy(struct hdg_solution *s) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        base_free(&s->u[b]);
        base_free(&s->q[b]);
        base_free(&s->star[b]);
    }
    base_free(&s->trace);
}

struct recover_job {
    const double *source;
    double shift;
    struct hdg_solution *solution;
};

/* u = S^-1 f + U uhat, q = A^-1 (D u - G uhat). */
static facet_status recover_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct recover_job *job = user;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int dim = h->data.mesh->dim, N = b->N, n = b->n_trace;
    double *u = job->solution->u[block] + (int64_t)cell * N;
    double *q = job->solution->q[block] + (int64_t)cell * N * dim;
    double *both = l->vector; /* u, then -uhat */
    const double *factor = h->factors[block] + (int64_t)cell * ((int64_t)N * (N + 1) / 2);
    const double *U = h->U[block] + (int64_t)cell * N * n;
    TRY(local_load(l, block, cell, job->source, job->shift, u));
    cblas_dtpsv(CblasRowMajor, CblasUpper, CblasTrans, CblasNonUnit, N, factor, u, 1);
    cblas_dtpsv(CblasRowMajor, CblasUpper, CblasNoTrans, CblasNonUnit, N, factor, u, 1);
    trace_gather(&h->trace, block, cell, job->solution->trace, both + N);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, N, n, 1.0, U, n, both + N, 1, 1.0, u, 1);
    memcpy(both, u, (size_t)N * sizeof *u);
    for (int i = 0; i < n; i++) both[N + i] = -both[N + i];
    TRY(local_begin(l, block, cell));
    TRY(local_matrices(l));
    TRY(local_factor_flux(l));
    cblas_dgemv(CblasRowMajor, CblasNoTrans, dim * N, N + n, 1.0, l->X, N + n, both, 1, 0.0, q, 1);
    local_apply_flux_inverse(l, q);
done:
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
    double sum = 0.0;
    for (int b = 0; b < mesh->n_blocks; b++) TRY(ALLOC(job.sums[b], mesh->blocks[b].count));
    TRY(local_for_all_cells(h, mean_work, &job));
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int32_t c = 0; c < mesh->blocks[b].count; c++) sum += job.sums[b][c];
    double constant = sum / h->volume;
    for (int b = 0; b < mesh->n_blocks; b++) /* phi_0 = 1 / sqrt(measure) */
        for (int64_t c = 0; c < mesh->blocks[b].count; c++)
            s->u[b][c * h->space.blocks[b].N] += constant * sqrt(shape_measure(mesh->blocks[b].shape));
    for (int32_t f = 0; f < mesh->n_faces; f++)
        s->trace[h->trace.face_first[f]] += constant * sqrt(shape_measure((enum shape)mesh->face_shapes[f]));
done:
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&job.sums[b]);
    return status;
}

facet_status hdg_recover(const struct hdg *h, const double *source, double shift, struct hdg_solution *s) {
    struct recover_job job = {source, shift, s};
    facet_status status = local_for_all_cells(h, recover_work, &job);
    s->shift = shift;
    return status == FACET_OK && h->singular ? fix_mean(h, s) : status;
}
