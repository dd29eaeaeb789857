/* From the problem to element matrices K_e, in memory tiles: runs of batches that kernels take, with more to
 * be done for cells on Robin parts or rollers, and runs of batches whose cells are condensed one by one. */
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "hdg/elastic.h"
#include "hdg/free_motions.h"
#include "hdg/general.h"

#define FAST_BATCHES    256       /* of one call of the affine kernel, at least; */
#define FAST_SHARE      64        /* of every thread: all wait for the last one; */
#define FAST_GPU_CELLS  (1 << 17) /* cells, where the device has memory of its own */
#define GENERAL_BATCHES 32        /* of one tile of cells that are condensed one by one, at most */
#define GENERAL_BYTES   (4 << 20) /* of such a tile, about */

static int64_t packed_size(int64_t n) {
    return n * (n + 1) / 2;
}

void hdg_destroy(struct hdg **hdg) {
    struct hdg *h = *hdg;
    if (h == NULL) return;
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        base_free(&h->ways[b]);
        cells_forget(h, b);
        local_functions_destroy(&h->functions[b]);
    }
    contact_destroy(h);
    free_motions_destroy(h);
    trace_matrices_destroy(&h->matrices);
    base_free(&h->eliminated);
    base_free(&h->lift);
    base_free(&h->boundary);
    base_free(&h->held);
    base_free(&h->moved);
    base_free(&h->unheld);
    hdg_weak_constants_destroy(&h->weak);
    trace_space_destroy(&h->trace);
    if (h->data.equation->destroy != NULL) h->data.equation->destroy(h);
    hdg_space_destroy(&h->space);
    base_free(hdg);
}

/* Weights contain x, a polynomial like the map: the rules of a map of a higher order. */
static facet_status revolved_rule(enum hdg_use use, enum shape shape, int degree, int order,
                                  struct rule *rule) {
    return hdg_default_rule(use, shape, degree, 2 * order - 1, rule);
}

static int is_eliminated(const struct hdg_condition *c, int dim) {
    if (c->kind != HDG_MECHANICAL) return c->kind == HDG_DIRICHLET;
    for (int a = 0; a < dim; a++)
        if (!c->fixed[a]) return 0;
    return 1;
}

facet_status hdg_create(const struct device *device, const struct hdg_data *data, int degree,
                        hdg_rule_maker maker, const struct base_monitor *monitor, struct hdg **hdg) {
    facet_status status = FACET_OK;
    const struct equation *equation = data->equation;
    uint8_t *eliminated = NULL;
    struct hdg *h;
    *hdg = NULL;
    TRY(CALLOC(*hdg, 1));
    h = *hdg;
    h->data = *data;
    h->monitor = monitor;
    int revolved = data->plane == HDG_AXISYMMETRIC;
    h->maker = maker != NULL ? maker : revolved ? revolved_rule : hdg_default_rule;
    h->device = device;
    h->lanes = device_lanes(device);
    int robin = 0;
#pragma omp parallel for num_threads(base_threads_for(data->mesh->n_faces)) schedule(static)                 \
    reduction(|                                                                                              \
              : robin)
    for (int32_t f = 0; f < data->mesh->n_faces; f++) {
        const int32_t c = data->face_condition[f];
        robin |= c >= 0 && data->conditions[c].kind == HDG_ROBIN;
    }
    h->has_robin = robin;
    TRY(hdg_space_create(data->mesh, degree, h->maker, &h->space));
    h->space.revolved = revolved; /* its length is that of the mesh */
    if (equation->create != NULL) TRY(equation->create(h));
    for (int b = 0; b < data->mesh->n_blocks; b++) {
        TRY(local_functions_create(h, b));
        if (equation->fits != NULL) TRY(batch_find_fast(h, b, equation->fits));
        h->n_eliminated[b] = equation_components(equation, data->mesh->dim) * h->functions[b].Nu;
    }
    TRY(CALLOC(eliminated, data->mesh->n_faces));
#pragma omp parallel for num_threads(base_threads_for(data->mesh->n_faces)) schedule(static)
    for (int32_t f = 0; f < data->mesh->n_faces; f++) {
        int32_t c = data->face_condition[f];
        eliminated[f] =
            hdg_is_on_axis(data, f) || (c >= 0 && is_eliminated(&data->conditions[c], data->mesh->dim));
    }
    TRY(equation->number(h, eliminated));
    for (int64_t f = 0; f < data->mesh->n_faces && revolved; f++)
        if (hdg_is_on_axis(data, f)) h->n_on_axis += h->trace.face_first[f + 1] - h->trace.face_first[f];
    TRY(contact_create(h, eliminated));
    TRY(equation->boundary(h));
    TRY(free_motions_create(h));
done:
    base_free(&eliminated);
    if (status != FACET_OK) hdg_destroy(hdg);
    return status;
}

/* psi_0 is 1 over the root of the measure of the reference face. */
int local_find_ones(const struct local *l, int n_components, int c, int *places, double *ones) {
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    int n = 0;
    for (int f = 0; f < b->n_faces; f++) {
        if (local_on_axis(l, f)) continue;
        places[n] = n_components * b->starts[f] + c * hdg_face_size(b, f);
        ones[n++] = sqrt(shape_measure(shape_face_shape(b->shape, f)));
    }
    return n;
}

/* Constants, to the last bit. With uhat = 1 the exact algebra gives K_e 1 = U' (lambda, phi), zero without
 * reaction; rounding leaves more, the same in every cell of a uniform mesh, which acts like a reaction of
 * size rounding / h^2 and would spoil the solution first. The symmetric correction d w' + w d' - (d'1) w w'
 * with w = 1/|1|^2 restores the identity, d being what is missing. */
double local_restore_sums(int n, int n_ones, const int *places, const double *ones, double *sums, double *K) {
    double total = 0.0, square = 0.0, missing = 0.0, largest = 0.0;
    for (int k = 0; k < n_ones; k++) {
        square += ones[k] * ones[k];
        for (int i = 0; i < n; i++) sums[i] -= ones[k] * K[i * n + places[k]];
    }
    for (int i = 0; i < n; i++) {
        missing = fmax(missing, fabs(sums[i]));
        largest = fmax(largest, fabs(K[i * n + i]));
    }
    for (int k = 0; k < n_ones; k++) total += ones[k] * sums[places[k]];
    for (int k = 0; k < n_ones; k++)
        for (int i = 0; i < n; i++) {
            K[i * n + places[k]] += ones[k] / square * sums[i];
            K[places[k] * n + i] += ones[k] / square * sums[i];
        }
    for (int k = 0; k < n_ones; k++)
        for (int j = 0; j < n_ones; j++)
            K[places[k] * n + places[j]] -= total * (ones[k] / square) * (ones[j] / square);
    return largest > 0.0 ? missing / (largest * sqrt(square / n_ones)) : 0.0;
}

facet_status local_factor(struct local *l, int N, int n) {
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', N, l->C, N + n) != 0) /* row-major upper is its lower */
        return local_place(
            base_fail(FACET_ERROR_INPUT, "the local problem is singular; is the cell degenerate?"), l);
    return FACET_OK;
}

void local_half_solve(const struct local *l, int N, int n, int transposed, double *v) {
    cblas_dtrsv(CblasRowMajor, CblasUpper, transposed ? CblasNoTrans : CblasTrans, CblasNonUnit, N, l->C,
                N + n, v, 1);
}

facet_status local_eliminate(struct local *l, int N, int n, double *matrix) {
    facet_status status = FACET_OK;
    int ld = N + n;
    double *R = l->C + N, *rest = l->C + (int64_t)N * ld + N;
    if (N > 0) {
        TRY(local_factor(l, N, n));
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, N, n, 1.0, l->C, ld, R,
                    ld);
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, n, N, -1.0, R, ld, 1.0, rest, ld);
    }
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) matrix[i * n + j] = matrix[j * n + i] = rest[(int64_t)i * ld + j];
done:
    return status;
}

/* The triangle of one lane as a whole matrix, and back. */
static void unpack(int n, int lanes, const double *from, double *matrix) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++, from += lanes) matrix[i * n + j] = matrix[j * n + i] = *from;
}

static void pack(int n, int lanes, const double *matrix, double *to) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++, to += lanes) *to = matrix[i * n + j];
}

/* What a cell adds. */
struct totals {
    double volume, reaction, robin;
};

/* K: the lane of the cell. */
static facet_status condense_cell(struct local *l, const struct condenser *c, int block, int32_t cell,
                                  double *matrix, double *K, struct totals *totals) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    TRY(local_begin(l, block, cell));
    totals->volume = l->volume;
    if (h->data.reaction != NULL) {
        TRY(local_place(local_reaction(&h->data, local_region(&h->data, block, cell), b->cell.n,
                                       l->geometry.x, l->values),
                        l));
        for (int q = 0; q < b->cell.n; q++) totals->reaction = fmax(totals->reaction, l->values[q]);
    }
    TRY(c->cell(l, matrix, &totals->robin));
    pack(c->n, h->lanes, matrix, K);
done:
    return status;
}

/* What a thread works with, for all tiles of a block: fresh memory costs more than small cells. */
struct worker {
    struct local local;
    double *matrix; /* NULL: not made yet */
};

/* Device and host memory of one tile of a block. */
struct tile {
    int64_t n_K;       /* numbers of one batch */
    int64_t n_general; /* batches of a tile of cells that are condensed one by one */
    double *K;         /* host: n_general batches */
    int n_workers;
    struct worker *workers;
    int64_t n_fast;       /* batches of a call of the affine kernel */
    double *scratch;      /* device */
    double *volumes;      /* host: of the batches, added in their order, whoever made them; */
    double *cell_volumes; /* and of the cells of n_general */
};

static void tile_destroy(const struct hdg *h, struct tile *t) {
    base_free(&t->volumes);
    base_free(&t->cell_volumes);
    base_free(&t->K);
    for (int i = 0; i < t->n_workers; i++) {
        if (t->workers[i].matrix != NULL) local_destroy(&t->workers[i].local);
        base_free(&t->workers[i].matrix);
    }
    base_free(&t->workers);
    device_free(h->device, &t->scratch);
}

static facet_status worker_create(const struct hdg *h, int64_t n, struct worker *w) {
    facet_status status = FACET_OK;
    if (w->matrix != NULL) return FACET_OK;
    TRY(ALLOC(w->matrix, n * n));
    TRY(local_create(h, &w->local));
done:
    if (status != FACET_OK) base_free(&w->matrix);
    return status;
}

static facet_status tile_need_workers(struct tile *t, int lanes) {
    facet_status status = FACET_OK;
    if (t->K != NULL) return FACET_OK;
    TRY(CALLOC(t->workers, base_threads()));
    t->n_workers = base_threads();
    TRY(ALLOC(t->cell_volumes, t->n_general * lanes));
    TRY(ALLOC(t->K, t->n_general * t->n_K));
done:
    return status;
}

static void add_volumes(struct hdg *h, int64_t n, const struct tile *t) {
    for (int64_t i = 0; i < n; i++) h->volume += t->volumes[i];
}

/* Batches begin .. end-1, whose cells are condensed one by one: a device may have more lanes than there are
 * cells for all threads, so that these share batches where batches are few. */
static facet_status single_run(struct hdg *h, const struct condenser *c, int block, int64_t begin,
                               int64_t end, struct tile *t) {
    facet_status status = FACET_OK;
    struct base_collector failures;
    double reaction = 0.0, robin = 0.0;
    const int lanes = h->lanes;
    const int64_t count = h->data.mesh->blocks[block].count, first = begin * lanes,
                  last = end * lanes < count ? end * lanes : count;
    TRY(tile_need_workers(t, lanes));
    const int64_t share = (last - first) / (4 * t->n_workers);
    const int chunk = share < 1 ? 1 : share < lanes ? (int)share : lanes;
    base_collector_init(&failures);
    if (last < end * lanes) /* else every lane is written */
        memset(t->K + (end - 1 - begin) * t->n_K, 0, (size_t)t->n_K * sizeof *t->K);
#pragma omp parallel num_threads(t->n_workers) reduction(max : reaction, robin)
    {
        struct worker *w = &t->workers[omp_get_thread_num()];
        facet_status mine = worker_create(h, c->n, w);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, chunk)
        for (int64_t cell = first; cell < last; cell++) {
            struct totals totals = {0};
            if (mine != FACET_OK) continue;
            mine = condense_cell(&w->local, c, block, (int32_t)cell, w->matrix,
                                 t->K + (cell / lanes - begin) * t->n_K + cell % lanes, &totals);
            base_collect(&failures, cell, mine);
            t->cell_volumes[cell - first] = totals.volume;
            reaction = fmax(reaction, totals.reaction);
            robin = fmax(robin, totals.robin);
        }
    }
    h->largest_reaction = fmax(h->largest_reaction, reaction);
    h->largest_robin = fmax(h->largest_robin, robin);
    TRY(base_collected(&failures));
    for (int64_t i = 0; i < end - begin; i++) t->volumes[i] = 0.0;
    for (int64_t cell = first; cell < last; cell++)
        t->volumes[cell / lanes - begin] += t->cell_volumes[cell - first];
    add_volumes(h, end - begin, t);
    TRY(device_upload(h->device, h->matrices.values[block] + begin * t->n_K, t->K,
                      (size_t)((end - begin) * t->n_K) * sizeof(double)));
done:
    return status;
}

/* Batches begin .. end-1, all of them affine with constant coefficients. */
static facet_status fast_run(struct hdg *h, const struct condenser *c, int block, int64_t begin, int64_t end,
                             struct tile *t) {
    const int lanes = h->lanes;
    facet_status status = FACET_OK;
    int64_t n_coefficients = c->n_coefficients * lanes, failed;
    if (t->scratch == NULL) TRY(device_alloc(h->device, &t->scratch, (size_t)c->n_scratch, sizeof(double)));
    failed = c->fast(h, block, end - begin, h->cells[block]->coefficients + begin * n_coefficients,
                     h->matrices.values[block] + begin * t->n_K, t->scratch);
    if (failed >= 0) TRY(batch_refuse(h, block, begin + failed, "the local problem"));
done:
    return status;
}

/* Batches begin .. end-1, all of them general (general.h). */
static facet_status lanes_run(struct hdg *h, int block, int64_t begin, int64_t end, struct tile *t) {
    facet_status status = general_condense(h, block, begin, end, t->volumes, &h->largest_reaction);
    if (status == FACET_OK) add_volumes(h, end - begin, t);
    return status;
}

static int batch_is_unfinished(const struct hdg *h, const struct condenser *c, int block, int64_t batch) {
    int64_t count = h->data.mesh->blocks[block].count;
    for (int64_t cell = batch * h->lanes; cell < (batch + 1) * h->lanes && cell < count; cell++)
        if (c->is_unfinished(h, block, (int32_t)cell)) return 1;
    return 0;
}

/* The cells of a batch of which kernels did not do all; K: of the batch. */
static facet_status finish_batch(struct worker *w, const struct condenser *c, int block, int64_t batch,
                                 double *K, double *robin) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->local.hdg;
    int64_t count = h->data.mesh->blocks[block].count;
    for (int64_t cell = batch * h->lanes; cell < (batch + 1) * h->lanes && cell < count; cell++) {
        if (!c->is_unfinished(h, block, (int32_t)cell)) continue;
        w->local.block = block;
        w->local.cell = (int32_t)cell;
        unpack(c->n, h->lanes, K + cell % h->lanes, w->matrix);
        TRY(local_place(c->finish(&w->local, w->matrix, robin), &w->local));
        pack(c->n, h->lanes, w->matrix, K + cell % h->lanes);
    }
done:
    return status;
}

/* Batches begin .. end-1, no more than a tile, all of them with such cells. */
static facet_status finish_tile(struct hdg *h, const struct condenser *c, int block, int64_t begin,
                                int64_t end, struct tile *t) {
    facet_status status = FACET_OK;
    struct base_collector failures;
    double robin = 0.0, *K = h->matrices.values[block] + begin * t->n_K;
    size_t bytes = (size_t)((end - begin) * t->n_K) * sizeof(double);
    TRY(tile_need_workers(t, h->lanes));
    TRY(device_download(h->device, t->K, K, bytes));
    base_collector_init(&failures);
#pragma omp parallel num_threads(t->n_workers) reduction(max : robin)
    {
        struct worker *w = &t->workers[omp_get_thread_num()];
        facet_status mine = worker_create(h, c->n, w);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 1)
        for (int64_t batch = begin; batch < end; batch++) {
            if (mine != FACET_OK) continue;
            mine = finish_batch(w, c, block, batch, t->K + (batch - begin) * t->n_K, &robin);
            base_collect(&failures, batch, mine);
        }
    }
    h->largest_robin = fmax(h->largest_robin, robin);
    TRY(base_collected(&failures));
    TRY(device_upload(h->device, K, t->K, bytes));
done:
    return status;
}

/* After kernels have condensed batches begin .. end-1. */
static facet_status finish_run(struct hdg *h, const struct condenser *c, int block, int64_t begin,
                               int64_t end, struct tile *t) {
    facet_status status = FACET_OK;
    for (int64_t first = begin, last; first < end && c->is_unfinished != NULL; first = last) {
        last = first + 1;
        if (!batch_is_unfinished(h, c, block, first)) continue;
        while (last < end && last < first + t->n_general && batch_is_unfinished(h, c, block, last)) last++;
        TRY(finish_tile(h, c, block, first, last, t));
    }
done:
    return status;
}

/* Few enough to stay in the caches and not to wait for fresh pages, enough for all threads. */
static int64_t general_batches(int64_t n_batches, int64_t numbers) {
    int64_t least = 4 * base_threads(), n = GENERAL_BYTES / (numbers * (int64_t)sizeof(double));
    n = n < least ? least : n;
    n = n < GENERAL_BATCHES ? n : GENERAL_BATCHES;
    return n < n_batches ? n : n_batches;
}

/* Whether the matrix of a cell of the batch, or what was moved out of it, depends on boundary data: on
 * Robin's a, on displacements beside tractions, or on the conductance of a contact. */
static int depends_on_boundary(const struct hdg *h, int block, int64_t batch) {
    const int lanes = h->lanes;
    const struct mesh_block *cells = &h->data.mesh->blocks[block];
    int n_faces = shape_n_faces(cells->shape), dim = h->data.mesh->dim;
    int64_t begin = batch * lanes * n_faces, end = begin + (int64_t)lanes * n_faces;
    if (end > (int64_t)cells->count * n_faces) end = (int64_t)cells->count * n_faces;
    for (int64_t i = begin; i < end; i++) {
        int32_t condition = h->data.face_condition[cells->faces[i]];
        if (contact_has_cell(h, block, (int32_t)(i / n_faces))) return 1;
        if (condition < 0) continue;
        const struct hdg_condition *c = &h->data.conditions[condition];
        if (c->kind == HDG_ROBIN || (c->kind == HDG_MECHANICAL && !is_eliminated(c, dim))) return 1;
    }
    return 0;
}

/* All batches, or only those that depend on boundary data. */
static facet_status condense_block(struct hdg *h, int block, int only) {
    const int lanes = h->lanes;
    facet_status status = FACET_OK;
    struct condenser c;
    const struct mesh_block *cells = &h->data.mesh->blocks[block];
    int64_t n = h->matrices.n_batches[block];
    h->data.equation->condenser(h, block, &c);
    struct tile t = {.n_K = packed_size(c.n) * lanes};
    t.n_general = general_batches(n, t.n_K);
    t.n_fast = FAST_SHARE * base_threads() > FAST_BATCHES ? FAST_SHARE * base_threads() : FAST_BATCHES;
    if (device_has_memory(h->device)) t.n_fast = FAST_GPU_CELLS / lanes;
    if (t.n_fast > n) t.n_fast = n;
    TRY(ALLOC(t.volumes, t.n_general > t.n_fast ? t.n_general : t.n_fast));
    for (int64_t begin = 0, end; begin < n; begin = end) {
        enum batch_way way = condenser_way(h, &c, block, begin);
        int64_t limit = begin + (way != BATCH_SINGLE ? t.n_fast : t.n_general);
        end = begin + 1;
        if (only && !depends_on_boundary(h, block, begin)) continue;
        while (end < n && end < limit && condenser_way(h, &c, block, end) == way &&
               (!only || depends_on_boundary(h, block, end)))
            end++;
        TRY(way == BATCH_FAST      ? fast_run(h, &c, block, begin, end, &t)
            : way == BATCH_GENERAL ? lanes_run(h, block, begin, end, &t)
                                   : single_run(h, &c, block, begin, end, &t));
        if (way != BATCH_SINGLE) TRY(finish_run(h, &c, block, begin, end, &t));
        TRY(base_check_interrupt());
        int64_t done_here = end * lanes < cells->count ? end * lanes : cells->count;
        base_report_progress(h->monitor, FACET_PHASE_CONDENSE, (double)(cells->first + done_here),
                             (double)h->data.mesh->n_cells);
    }
done:
    tile_destroy(h, &t);
    return status;
}

/* The components (bits) that K_e of a cell sees in differences only: nothing there reacts with them or holds
 * them. */
static uint8_t loose_components(const struct hdg *h, int block, int64_t cell) {
    const struct mesh_block *cells = &h->data.mesh->blocks[block];
    int n_faces = shape_n_faces(cells->shape);
    uint8_t bits = (uint8_t)((1 << h->trace.n_components) - 1);
    if (contact_is_weak(h, block, (int32_t)cell, 0)) return 0; /* what is taken off is not of its own size */
    if (h->space.revolved && h->data.equation->rigid)
        bits &= (uint8_t)~1; /* it is stretched away from an axis */
    for (int f = 0; f < n_faces; f++) {
        int32_t face = cells->faces[cell * n_faces + f], condition = h->data.face_condition[face];
        int64_t first = h->trace.face_free[face];
        const struct hdg_condition *c = condition >= 0 ? &h->data.conditions[condition] : NULL;
        int m = hdg_face_size(&h->space.blocks[block], f);
        if (c != NULL && (c->kind == HDG_ROBIN || c->spring != NULL)) return 0;
        for (int i = 0; first >= 0 && h->trace.fixed != NULL && i < h->trace.n_components * m; i++)
            if (h->trace.fixed[first + i]) bits &= (uint8_t) ~(1 << i / m);
    }
    return bits;
}

/* The next bit, where it does not see rotations either, and its faces are those of its vertices. */
static uint8_t loose_rotations(const struct hdg *h, int block, int64_t cell, uint8_t components) {
    const struct mesh_block *cells = &h->data.mesh->blocks[block];
    int nc = h->trace.n_components;
    if (!h->data.equation->turns || components != (1 << nc) - 1) return 0;
    return h->data.mesh->order == 1 || cells->affine[cell] ? (uint8_t)(1 << nc) : 0;
}

/* By what data there are, not by their values, which may change under the operators (of contacts they may
 * not). Products take one number off all faces, which is a constant where these are alike. */
static facet_status mark_loose(struct hdg *h) {
    facet_status status = FACET_OK;
    const int lanes = h->lanes;
    if (!h->data.equation->by_faces || h->data.reaction != NULL || h->trace.turns != NULL) goto done;
    h->matrices.n_components = h->trace.n_components;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        if (shape_faces_differ(h->data.mesh->blocks[b].shape)) continue;
        if (h->matrices.loose[b] == NULL) TRY(CALLOC(h->matrices.loose[b], h->matrices.n_batches[b] * lanes));
#pragma omp parallel for num_threads(base_threads())
        for (int32_t cell = 0; cell < h->data.mesh->blocks[b].count; cell++) {
            uint8_t components = loose_components(h, b, cell);
            h->matrices.loose[b][cell] = components | loose_rotations(h, b, cell, components);
        }
    }
done:
    return status;
}

/* What given values contribute. */
static facet_status make_lift(struct hdg *h) {
    facet_status status = trace_lift(&h->trace, &h->matrices, h->eliminated, h->lift);
    return status == FACET_OK ? contact_lift(h, h->lift) : status;
}

/* What is known of all cells, over all parts of the mesh. held: eliminated unknowns. */
static facet_status join_parts(struct hdg *h, int only, double *held) {
    facet_status status = FACET_OK;
    struct base_team *team = mesh_team(h->data.mesh);
    double sums[2] = {h->volume, (double)(h->trace.n_all - h->trace.n_free - h->n_on_axis)};
    double most[2] = {h->largest_robin, h->largest_reaction};
    TRY(team_reduce(team, TEAM_SUM, 2, sums));
    TRY(team_reduce(team, TEAM_MAX, 2, most));
    if (!only) h->volume = sums[0];
    *held = sums[1];
    h->largest_robin = most[0];
    h->largest_reaction = most[1];
done:
    return status;
}

/* By Robin's a or springs. */
static int is_held(const struct hdg *h) {
    return h->has_robin || (h->elastic != NULL && h->elastic->has_springs);
}

static facet_status condense(struct hdg *h, int only) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct rounding_samples samples = {0};
    double volume = h->volume, held;
    h->volume = h->largest_robin = 0.0;
    if (!only) h->largest_reaction = 0.0;
    if (h->matrices.device == NULL) {
        TRY(cells_check_memory(h));
        TRY(trace_matrices_create(h->device, &h->trace, 0, &h->matrices));
    }
    if (h->unheld == NULL && is_held(h)) TRY(CALLOC(h->unheld, mesh->n_cells));
    if (!only) TRY(hdg_measure_rounding(h, &samples)); /* which moves things as well */
    if (!only) TRY(cells_put_coefficients(h));
    if (h->moved != NULL) memset(h->moved, 0, (size_t)h->trace.n_free * sizeof *h->moved);
    for (int b = 0; b < mesh->n_blocks; b++) TRY(condense_block(h, b, only));
    TRY(hdg_compare_samples(h, &samples));
    TRY(join_parts(h, only, &held));
    if (only) h->volume = volume;
    h->singular =
        h->data.equation->floats && held == 0.0 && h->largest_reaction == 0.0 && h->largest_robin == 0.0;
    TRY(contact_check(h));
    TRY(hdg_weak_constants_find(h, &h->weak));
    if (!only) cells_decide(h);
    TRY(mark_loose(h));
    TRY(make_lift(h));
    if (h->data.equation->finish_condense != NULL) TRY(h->data.equation->finish_condense(h));
done:
    rounding_samples_destroy(&samples);
    return status;
}

facet_status hdg_condense(struct hdg *h) {
    return condense(h, 0);
}

facet_status hdg_renew_boundary(struct hdg *h, int matrices) {
    facet_status status = FACET_OK;
    int64_t again = matrices || h->moved != NULL; /* in some part */
    TRY(h->data.equation->boundary(h));
    TRY(team_reduce_counts(mesh_team(h->data.mesh), TEAM_MAX, 1, &again));
    if (again) {
        TRY(condense(h, 1));
        goto done;
    }
    TRY(make_lift(h));
    if (h->data.equation->finish_condense != NULL) TRY(h->data.equation->finish_condense(h));
done:
    return status;
}
