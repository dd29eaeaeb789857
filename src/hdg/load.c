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

/* The loads of all cells, in batches unless a cell has loads in ways of its own; not where maps at points
 * would have to come back from another memory, which takes several times as long on a GPU. */
static facet_status load_cells(const struct hdg *h, struct load_job *job) {
    facet_status status = FACET_OK;
    if (h->data.equation->split_load != NULL || h->data.expansion != NULL || h->free_pieces != NULL ||
        h->space.revolved || !device_is_host(h->device))
        return local_for_all_cells(h, load_work, job);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        struct general_load data = {.source = job->source,
                                    .shift = job->shift != NULL ? *job->shift : 0.0,
                                    .loads = job->solution->loads[b],
                                    .totals = job->works + 2 * (int64_t)h->data.mesh->blocks[b].first};
        TRY(general_load(h, b, &data));
    }
done:
    return status;
}

facet_status hdg_load_cells(const struct hdg *h, const double *source, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    struct load_job job = {.source = source, .solution = s};
    TRY(ALLOC(job.works, hdg_n_works(h) * (int64_t)h->data.mesh->n_cells));
    TRY(load_cells(h, &job));
done:
    base_free(&job.works);
    return status;
}

/* Of what is given, f and the boundary data. */
static double sum_of_moduli(const struct hdg *h, const double *works) {
    double sum = 0.0;
    for (int64_t c = 0; c < h->data.mesh->n_cells; c++) sum += works[2 * c + 1];
    for (int64_t i = 0; i < h->trace.n_free; i++) sum += fabs(h->boundary[i]);
    return sum;
}

facet_status hdg_load(const struct hdg *h, const double *source, struct hdg_solution *s, double *F) {
    const int lanes = h->lanes;
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct load_job job = {.source = source, .solution = s};
    struct hdg_system system;
    double *locals[MESH_MAX_BLOCKS] = {0}, *shift = NULL;
    int64_t n_locals[MESH_MAX_BLOCKS];
    const struct equation *equation = h->data.equation;
    int nothing = 0;
    hdg_describe(h, &system);
    s->imbalance[0] = s->imbalance[1] = 0.0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        n_locals[b] = h->matrices.n_batches[b] * h->matrices.n[b] * lanes;
        TRY(ALLOC(locals[b], n_locals[b]));
        if (equation->split_load != NULL || h->data.expansion != NULL)
            TRY(CALLOC(job.direct[b], n_locals[b]));
    }
    TRY(ALLOC(job.works, hdg_n_works(h) * (int64_t)mesh->n_cells));
    TRY(load_cells(h, &job));
    if (h->singular || h->free_pieces != NULL) { /* what quadrature leaves of their balance */
        TRY(ALLOC(shift, h->free_pieces != NULL ? h->data.n_free_pieces * FREE_MOTIONS : 1));
        TRY((h->singular ? hdg_balance_constant : hdg_balance_motions)(h, job.works, shift, s->imbalance));
        job.shift = shift;
        TRY(load_cells(h, &job));
    }
    TRY(hdg_weak_constants_supply(h, source, job.works, s));
    if (h->condensed != NULL) TRY(condensed_keep_loads(h, job.direct, s));
    if (s->offset_source != 0.0) {
        double before = sum_of_moduli(h, job.works);
        job.shift = &s->offset_source;
        TRY(load_cells(h, &job));
        if (sum_of_moduli(h, job.works) <= NOTHING * before) { /* u is that constant */
            for (int b = 0; b < mesh->n_blocks; b++)
                memset(s->loads[b], 0,
                       (size_t)(h->matrices.n_batches[b] * h->n_eliminated[b] * lanes) * sizeof *s->loads[b]);
            nothing = 1;
        }
    }
    for (int b = 0; b < mesh->n_blocks; b++) TRY(inner_load(h, b, s, locals[b]));
    contact_load(h, s, locals);
    for (int b = 0; b < mesh->n_blocks && job.direct[b] != NULL; b++)
        for (int64_t i = 0; i < n_locals[b]; i++) locals[b][i] += job.direct[b][i];
    trace_assemble_vector(&h->trace, lanes, locals, F);
#pragma omp parallel for num_threads(base_threads_for(system.n_free)) schedule(static)
    for (int64_t i = 0; i < system.n_free; i++) F[i] += h->lift[i] + h->boundary[i];
    for (int64_t i = 0; i < system.n_free && nothing; i++) F[i] = 0.0;
    if (equation->finish_load != NULL) equation->finish_load(h, s, F);
    TRY(seam_add_blocks(h->trace.seam, h->trace.free_offsets, F));
done:
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        base_free(&locals[b]);
        base_free(&job.direct[b]);
    }
    base_free(&job.works);
    base_free(&shift);
    return status;
}
