/* Right-hand sides: the loads of the cells, condensed onto the trace. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/condensed.h"
#include "hdg/contact.h"
#include "hdg/free_motions.h"
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

facet_status local_load(struct local *l, int block, int32_t cell, const double *source, double shift,
                        double *load, double total[2]) {
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
    total[0] = total[1] = 0.0;
    for (int i = 0; i < n * nc; i++) {
        f[i] = (f[i] - shift) * l->geometry.wJ[i / nc];
        total[0] += f[i];
        total[1] += fabs(f[i]);
    }
    const double *chi = local_chi(l, table, v->source.chi, l->geometry.x, &row);
    for (int c = 0; c < nc; c++)
        cblas_dgemv(CblasRowMajor, CblasTrans, n, v->Nu, 1.0, chi, row, f + c, nc, 0.0, load + c * v->Nu, 1);
    return FACET_OK;
}

struct load_job {
    const double *source;
    double shift;
    double *motions; /* free_motions.h; NULL: none */
    struct hdg_solution *solution;
    double
        *direct[MESH_MAX_BLOCKS]; /* loads of the shared unknowns, where they have any: batch x n x LANES */
    double *totals[MESH_MAX_BLOCKS]; /* count x 2: integral of f, and of |f| */
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
    facet_status status =
        local_load(l, block, cell, job->source, job->shift, load, job->totals[block] + 2 * (int64_t)cell);
    if (status == FACET_OK && job->motions != NULL) free_motions_shift_load(l, job->motions, load);
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
    if (h->data.equation->split_load != NULL || h->data.expansion != NULL || job->motions != NULL ||
        h->space.revolved || !device_is_host(h->device))
        return local_for_all_cells(h, load_work, job);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        struct general_load data = {.source = job->source,
                                    .shift = job->shift,
                                    .loads = job->solution->loads[b],
                                    .totals = job->totals[b]};
        TRY(general_load(h, b, &data));
    }
done:
    return status;
}

facet_status hdg_load_cells(const struct hdg *h, const double *source, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    struct load_job job = {.source = source, .solution = s};
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        TRY(ALLOC(job.totals[b], 2 * (int64_t)h->data.mesh->blocks[b].count));
    TRY(load_cells(h, &job));
done:
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&job.totals[b]);
    return status;
}

facet_status local_check_balance(const struct hdg *h, double *const totals[MESH_MAX_BLOCKS], double sums[2]) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct hdg_system system;
    double total = 0.0, scale = 0.0, *constant = NULL;
    hdg_describe(h, &system);
    TRY(ALLOC(constant, system.n_free));
    hdg_free_constant(h, constant);
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int64_t c = 0; c < mesh->blocks[b].count; c++) {
            total += totals[b][2 * c];
            scale += totals[b][2 * c + 1];
        }
    for (int64_t i = 0; i < system.n_free; i++) {
        total += constant[i] * h->boundary[i];
        scale += fabs(constant[i] * h->boundary[i]);
    }
    sums[0] = total;
    sums[1] = scale;
    TRY(team_reduce(mesh_team(mesh), TEAM_SUM, 2, sums));
    total = sums[0];
    scale = sums[1];
    if (!(fabs(total) <= 1e-4 * scale))
        FAIL(FACET_ERROR_INPUT,
             "with Neumann or periodic conditions everywhere and no reaction, the source and the boundary "
             "fluxes must balance, but they sum to %.6g (of %.6g in absolute terms); subtract it, or give a "
             "part of the boundary another condition",
             total, scale);
done:
    base_free(&constant);
    return status;
}

/* Of what is given, f and the boundary data. */
static double sum_of_moduli(const struct hdg *h, double *const totals[MESH_MAX_BLOCKS]) {
    double sum = 0.0;
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        for (int64_t c = 0; c < h->data.mesh->blocks[b].count; c++) sum += totals[b][2 * c + 1];
    for (int64_t i = 0; i < h->trace.n_free; i++) sum += fabs(h->boundary[i]);
    return sum;
}

facet_status hdg_load(const struct hdg *h, const double *source, struct hdg_solution *s, double *F) {
    const int lanes = h->lanes;
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct load_job job = {.source = source, .solution = s};
    struct hdg_system system;
    double *locals[MESH_MAX_BLOCKS] = {0};
    int64_t n_locals[MESH_MAX_BLOCKS];
    const struct equation *equation = h->data.equation;
    int nothing = 0;
    hdg_describe(h, &system);
    s->shift = s->imbalance[0] = s->imbalance[1] = 0.0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        n_locals[b] = h->matrices.n_batches[b] * h->matrices.n[b] * lanes;
        TRY(ALLOC(locals[b], n_locals[b]));
        if (equation->split_load != NULL || h->data.expansion != NULL)
            TRY(CALLOC(job.direct[b], n_locals[b]));
        TRY(ALLOC(job.totals[b], 2 * (int64_t)mesh->blocks[b].count));
    }
    if (h->free_pieces != NULL) {
        TRY(ALLOC(job.motions, h->data.n_free_pieces * FREE_MOTIONS));
        TRY(free_motions_balance(h, source, job.motions, s->imbalance));
    }
    TRY(load_cells(h, &job));
    if (h->singular) {
        TRY(local_check_balance(h, job.totals, s->imbalance));
        job.shift = s->shift = s->imbalance[0] / h->volume; /* balances what quadrature leaves */
        TRY(load_cells(h, &job));
    }
    TRY(hdg_weak_constants_supply(h, source, job.totals, s));
    if (h->condensed != NULL) TRY(condensed_keep_loads(h, job.direct, s));
    if (s->offset_source != 0.0) {
        double before = sum_of_moduli(h, job.totals);
        job.shift = s->offset_source;
        TRY(load_cells(h, &job));
        if (sum_of_moduli(h, job.totals) <= NOTHING * before) { /* u is that constant */
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
        base_free(&job.totals[b]);
    }
    base_free(&job.motions);
    return status;
}
