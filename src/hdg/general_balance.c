/* Numerical fluxes through the faces of batches whose maps or data vary, for their balance: u, q and the
 * trace at the points of all faces are products of tables with coefficients in lanes. */
#include <math.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "hdg/general.h"

enum { B_U = N_GENERAL_ARRAYS, B_Q, B_TRACE, B_INSIDE, N_ARRAYS };

struct balance_job {
    const struct hdg_solution *solution;
    struct general_fluxes *cells; /* of the block */
    double *turns;                /* orientations x m x m */
    double *phi, *psi, *inside;   /* device: N x faces n, m x n, N x points of the cell */
};

static facet_status job_create(const struct hdg *h, int block, struct balance_job *job) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct general_tables *t = &h->general[block]->tables;
    int n = t->n_faces * t->n_face;
    double *phi = NULL;
    TRY(ALLOC(phi, (int64_t)n * t->N));
    TRY(device_download(h->device, phi, t->face_phi, (size_t)n * (size_t)t->N * sizeof *phi));
    TRY(general_put_turned(h, n, t->N, t->N, phi, &job->phi));
    TRY(general_put_turned(h, t->n_face, t->m, t->m, b->face.psi, &job->psi));
    if (h->data.reaction != NULL) TRY(general_put_turned(h, t->n, t->N, t->N, b->cell.phi, &job->inside));
    TRY(ALLOC(job->turns, 8 * (int64_t)t->m * t->m));
    TRY(batch_turn_matrices(b, h->space.degree, job->turns));
done:
    base_free(&phi);
    return status;
}

static void job_destroy(const struct hdg *h, struct balance_job *job) {
    base_free(&job->turns);
    device_free(h->device, &job->phi);
    device_free(h->device, &job->psi);
    device_free(h->device, &job->inside);
}

/* u, q and the trace, as in orientation 0, of one lane. */
static void put_cell(const struct general_work *w, const struct balance_job *job, int64_t begin,
                     int64_t batch, int lane) {
    const struct hdg *h = w->hdg;
    const struct general_tables *t = &h->general[w->block]->tables;
    const struct mesh_block *mesh = &h->data.mesh->blocks[w->block];
    int dim = t->dim, N = t->N, m = t->m, F = t->n_faces, lanes = h->lanes;
    int64_t cell = general_cell(w, begin + batch, lane);
    const double *u = job->solution->u[w->block] + cell * N, *q = job->solution->q[w->block] + cell * dim * N;
    double *to = w->host[W_U] + batch * w->size[W_U] + lane;
    for (int i = 0; i < N; i++) to[i * lanes] = u[i];
    to = w->host[W_Q] + batch * w->size[W_Q] + lane;
    for (int i = 0; i < N; i++)
        for (int a = 0; a < dim; a++) to[(i * dim + a) * lanes] = q[a * N + i];
    to = w->host[W_UHAT] + batch * w->size[W_UHAT] + lane;
    for (int f = 0; f < F; f++) {
        const double *from = job->solution->trace + contact_start(h, w->block, (int32_t)cell, f);
        const double *O = job->turns + (int64_t)mesh->orientations[cell * F + f] * m * m;
        for (int i = 0; i < m; i++) {
            double sum = 0.0;
            for (int j = 0; j < m; j++) sum += O[i * m + j] * from[j];
            to[(i * F + f) * lanes] = sum;
        }
    }
}

/* The fluxes of one lane. */
static void take_fluxes(const struct general_work *w, int64_t batch, int lane, struct general_fluxes *to) {
    const struct general_tables *t = &w->hdg->general[w->block]->tables;
    int dim = t->dim, n = t->n_face, F = t->n_faces, lanes = w->hdg->lanes;
    const double *at[N_ARRAYS];
    for (int i = 0; i < N_ARRAYS; i++) at[i] = w->host[i] + batch * w->size[i] + lane;
    *to = (struct general_fluxes){0};
    for (int f = 0; f < F; f++)
        for (int p = 0; p < n; p++) {
            int64_t point = (int64_t)f * n + p;
            double tau = at[A_TAU][point * lanes], inner = at[B_U][point * lanes];
            double outer = at[B_TRACE][((int64_t)p * F + f) * lanes], through = 0.0;
            for (int a = 0; a < dim; a++)
                through += at[A_NORMALS][(point * dim + a) * lanes] * at[B_Q][(point * dim + a) * lanes];
            to->flux[f] += through + tau * (inner - outer);
            to->moduli += fabs(through) + tau * (fabs(inner) + fabs(outer));
        }
    for (int q = 0; q < t->n && w->hdg->data.reaction != NULL; q++)
        to->reaction += at[A_REACTION][q * lanes] * at[B_INSIDE][q * lanes];
}

static facet_status balance_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct balance_job *job = user;
    const struct hdg *h = w->hdg;
    const struct general_tables *t = &h->general[w->block]->tables;
    int lanes = h->lanes, points = t->n_faces * t->n_face;
    int64_t count = h->data.mesh->blocks[w->block].count;
    TRY(general_diffusion.data(w, begin, n, 0));
    for (int64_t i = 0; i < n * lanes; i++) put_cell(w, job, begin, i / lanes, (int)(i % lanes));
    for (int i = W_UHAT; i <= W_Q; i++) TRY(general_send(w, i, n));
    device_table_apply(h->device, lanes, n, points, t->N, 1, job->phi, w->device[W_U], w->device[B_U]);
    device_table_apply(h->device, lanes, n, points, t->N, t->dim, job->phi, w->device[W_Q], w->device[B_Q]);
    device_table_apply(h->device, lanes, n, t->n_face, t->m, t->n_faces, job->psi, w->device[W_UHAT],
                       w->device[B_TRACE]);
    if (job->inside != NULL)
        device_table_apply(h->device, lanes, n, t->n, t->N, 1, job->inside, w->device[W_U],
                           w->device[B_INSIDE]);
    for (int i = A_POINTS; i < N_ARRAYS; i++) TRY(general_fetch(w, i, n));
    for (int64_t i = 0; i < n * lanes && begin * lanes + i < count; i++)
        take_fluxes(w, i / lanes, (int)(i % lanes), &job->cells[begin * lanes + i]);
done:
    return status;
}

facet_status general_fluxes(const struct hdg *h, int block, const struct hdg_solution *solution,
                            struct general_fluxes *cells) {
    facet_status status = FACET_OK;
    struct balance_job job = {.solution = solution, .cells = cells};
    int64_t n = h->matrices.n_batches[block];
    if (h->general[block] == NULL) return FACET_OK;
    const struct general_tables *t = &h->general[block]->tables;
    struct general_plan plan = general_diffusion.plan(h, block);
    plan.kept = NULL;
    plan.n_seen = 0;
    int64_t points = (int64_t)t->n_faces * t->n_face;
    plan.n_arrays = N_ARRAYS;
    plan.sizes[W_U] = t->N;
    plan.sizes[W_Q] = (int64_t)t->N * t->dim;
    plan.sizes[W_UHAT] = (int64_t)t->m * t->n_faces;
    plan.sizes[B_U] = plan.sizes[B_TRACE] = points;
    plan.sizes[B_Q] = points * t->dim;
    plan.sizes[B_INSIDE] = h->data.reaction != NULL ? t->n : 0;
    TRY(job_create(h, block, &job));
    for (int64_t begin = 0, end; begin < n; begin = end) {
        enum batch_way way = batch_way(h, block, begin);
        for (end = begin + 1; end < n && batch_way(h, block, end) == way;) end++;
        if (way == BATCH_GENERAL)
            TRY(general_for_pieces(h, block, begin, end, &plan, balance_piece, &job, NULL));
    }
done:
    job_destroy(h, &job);
    return status;
}
