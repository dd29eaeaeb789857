/* What the host asks of a solution that stays on a device: see resident.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "hdg/elastic.h"
#include "hdg/resident_parts.h"

/* Where numbers of cells go: the first n_first of each to an array, one cell after the other, and the rest to
 * another. */
struct pair {
    double *first, *second;
    int64_t n_first;
};
static double *place_of(const struct pair *to, int64_t size, int64_t cell, int64_t i) {
    return i < to->n_first ? to->first + cell * to->n_first + i
                           : to->second + cell * (size - to->n_first) + i - to->n_first;
}
/* Those of the flux of a block, which p may follow. */
static struct pair pair_of(const struct hdg *h, int block, const struct hdg_solution *s) {
    const int64_t all = h->resident->blocks[block].n_flux, N = h->functions[block].N;
    return (struct pair){s->q[block], s->p[block], s->p[block] != NULL ? all - N : all};
}

/* `size` numbers of every cell, from lanes to one cell after the other. */
static facet_status fetch_cells(const struct hdg *h, int block, int64_t size, struct pair to,
                                const double *from) {
    facet_status status = FACET_OK;
    const int lanes = h->lanes;
    const int64_t n = h->matrices.n_batches[block], count = h->data.mesh->blocks[block].count;
    int64_t most = RESIDENT_NUMBERS / (size * lanes);
    double *host = NULL;
    most = most < 1 ? 1 : most < n ? most : n;
    TRY(ALLOC(host, most * size * lanes));
    for (int64_t first = 0; first < n; first += most) {
        const int64_t many = n - first < most ? n - first : most, begin = first * lanes,
                      end = begin + many * lanes < count ? begin + many * lanes : count;
        TRY(device_download(h->device, host, from + first * size * lanes,
                            (size_t)(many * size * lanes) * sizeof *host));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
        for (int64_t cell = begin; cell < end; cell++) {
            const double *lane = host + (cell - begin) / lanes * size * lanes + (cell - begin) % lanes;
            for (int64_t i = 0; i < size; i++) *place_of(&to, size, cell, i) = lane[i * lanes];
        }
    }
done:
    base_free(&host);
    return status;
}

static facet_status fetch_trace(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    double *free = NULL;
    if (h->resident->has_trace) return FACET_OK;
    TRY(ALLOC(free, h->trace.n_free));
    TRY(device_download(h->device, free, h->resident->trace, (size_t)h->trace.n_free * sizeof *free));
    trace_scatter(&h->trace, free, h->eliminated, s->trace);
    h->resident->has_trace = 1;
done:
    base_free(&free);
    return status;
}

/* u with the loads, or q, of all cells. */
static facet_status fetch_all(const struct hdg *h, int q, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct resident_block *r = &h->resident->blocks[b];
        const int64_t n = h->matrices.n_batches[b] * h->lanes * r->N;
        if (n == 0) continue;
        if (q) {
            TRY(fetch_cells(h, b, r->n_flux, pair_of(h, b, s), r->q));
            continue;
        }
        TRY(device_download(h->device, s->loads[b], r->loads, (size_t)n * sizeof(double)));
        TRY(fetch_cells(h, b, r->N, (struct pair){s->u[b], NULL, r->N}, r->u));
    }
done:
    return status;
}

/* The trace on the faces of n cells of a block. */
static facet_status fetch_faces(const struct hdg *h, int block, int64_t n, const int64_t *cells,
                                struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct trace_space *t = &h->trace;
    const int lanes = h->lanes, n_faces = t->n_slots[block], m = h->resident->blocks[block].face;
    const int64_t n_batches = (n + lanes - 1) / lanes, size = n_batches * n_faces * lanes;
    int64_t *maps = NULL, *there = NULL;
    double *picked = NULL, *host = NULL;
    TRY(ALLOC(maps, size));
    TRY(ALLOC(host, size * m));
    for (int64_t i = 0; i < n_batches * lanes; i++)
        for (int f = 0; f < n_faces; f++)
            maps[(i / lanes * n_faces + f) * lanes + i % lanes] =
                i < n ? t->face_free[t->faces[block][cells[i] * n_faces + f]] : -1;
    TRY(device_copy(h->device, &there, maps, (size_t)size, sizeof *maps));
    TRY(device_alloc(h->device, &picked, (size_t)(size * m), sizeof *picked));
    device_cell_gather(h->device, lanes, n_batches, n_faces, m, there, h->resident->trace, picked);
    TRY(device_download(h->device, host, picked, (size_t)(size * m) * sizeof *host));
    for (int64_t i = 0; i < n; i++)
        for (int64_t f = 0; f < n_faces; f++) {
            const int32_t face = t->faces[block][cells[i] * n_faces + f];
            const int64_t first = t->face_first[face];
            const double *from = host + ((i / lanes * n_faces + f) * m) * lanes + i % lanes;
            for (int k = 0; k < m; k++)
                s->trace[first + k] =
                    t->face_free[face] >= 0 ? from[(int64_t)k * lanes] : h->eliminated[first + k];
        }
done:
    device_free(h->device, &there);
    device_free(h->device, &picked);
    base_free(&maps);
    base_free(&host);
    return status;
}

/* `size` numbers of n cells of a block to their places. */
static facet_status fetch_few(const struct hdg *h, int64_t n, const int64_t *cells, const int64_t *there,
                              int64_t size, const double *from, struct pair to) {
    facet_status status = FACET_OK;
    double *host = NULL, *picked = NULL;
    TRY(ALLOC(host, n * size));
    TRY(device_alloc(h->device, &picked, (size_t)(n * size), sizeof *picked));
    device_cell_extract(h->device, h->lanes, n, there, size, from, picked);
    TRY(device_download(h->device, host, picked, (size_t)(n * size) * sizeof *host));
#pragma omp parallel for num_threads(base_threads_for(n *size)) schedule(static)
    for (int64_t i = 0; i < n * size; i++) *place_of(&to, size, cells[i / size], i % size) = host[i];
done:
    device_free(h->device, &picked);
    base_free(&host);
    return status;
}

facet_status hdg_resident_fetch_some(const struct hdg *h, int64_t n, const int32_t *cells,
                                     struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct hdg_resident *r = h->resident;
    int64_t *mine = NULL, *there = NULL;
    int32_t *sorted = NULL;
    TRY(hdg_solution_need(h, s));
    if (hdg_resident_is_here(h)) goto done;
    TRY(ALLOC(mine, n));
    TRY(ALLOC(sorted, n));
    memcpy(sorted, cells, (size_t)n * sizeof *sorted);
    base_sort(n, sorted);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct mesh_block *block = &h->data.mesh->blocks[b];
        const struct resident_block *of = &r->blocks[b];
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) /* each once */
            if (sorted[i] >= block->first && sorted[i] < block->first + block->count &&
                (i == 0 || sorted[i] != sorted[i - 1]))
                mine[count++] = sorted[i] - block->first;
        if (count == 0) continue;
        device_free(h->device, &there);
        TRY(device_copy(h->device, &there, mine, (size_t)count, sizeof *mine));
        if (!r->has_trace) TRY(fetch_faces(h, b, count, mine, s));
        if (!r->has_u)
            TRY(fetch_few(h, count, mine, there, of->N, of->u, (struct pair){s->u[b], NULL, of->N}));
        if (!r->has_q) TRY(fetch_few(h, count, mine, there, of->n_flux, of->q, pair_of(h, b, s)));
    }
done:
    device_free(h->device, &there);
    base_free(&mine);
    base_free(&sorted);
    return status;
}

int hdg_resident_is_here(const struct hdg *h) {
    const struct hdg_resident *r = h->resident;
    return r->has_trace && r->has_u && r->has_q;
}

void hdg_resident_want_flux(const struct hdg *h) {
    h->resident->wants_q = 1;
}

facet_status hdg_resident_fetch(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    struct hdg_resident *r = h->resident;
    TRY(hdg_solution_need(h, s));
    TRY(fetch_trace(h, s));
    if (!r->has_u) TRY(fetch_all(h, 0, s));
    r->has_u = 1;
    if (!r->wants_q || r->has_q) goto done;
    TRY(fetch_all(h, 1, s));
    r->has_q = 1;
done:
    return status;
}

facet_status hdg_resident_star(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    if (h->resident->has_star) return FACET_OK;
    hdg_resident_want_flux(h);
    TRY(hdg_resident_fetch(h, s));
    TRY(hdg_postprocess(h, s));
    h->resident->has_star = 1;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ measures */

/* Of all cells of a block, on the device (batch x LANES): the integrals of u, and volumes. The loads of f
 * = 1 are those of the functions. */
static facet_status integrate_block(const struct hdg *h, int block, double *there[2]) {
    facet_status status = FACET_OK;
    const struct resident_block *r = &h->resident->blocks[block];
    const int lanes = h->lanes, N = r->N;
    const int64_t n = h->matrices.n_batches[block], size = n * N * lanes;
    double *tables[2] = {NULL, NULL}, *host = NULL, *moments = NULL;
    TRY(ALLOC(host, 2 * N));
    for (int i = 0; i < 2 * N; i++) host[i] = i < N; /* all of them, and what the first says of the volume */
    host[N] = 1.0 / h->functions[block].source.table->phi[0];
    TRY(device_alloc(h->device, &moments, (size_t)size, sizeof *moments));
    TRY(general_load(h, block, &(struct general_load){.ones = 1, .there = 1, .loads = moments}));
    for (int i = 1; i >= 0; i--) {
        TRY(device_copy(h->device, &tables[i], host + (int64_t)i * N, (size_t)N, sizeof *host));
        TRY(device_alloc(h->device, &there[i], (size_t)(n * lanes), sizeof(double)));
        if (i == 0) device_multiply(h->device, F64, size, r->u, moments, moments);
        device_table_apply(h->device, lanes, n, 1, N, 1, tables[i], moments, there[i]);
    }
    TRY(device_check(h->device)); /* before the moments go */
done:
    device_free(h->device, &tables[0]);
    device_free(h->device, &tables[1]);
    device_free(h->device, &moments);
    base_free(&host);
    return status;
}

facet_status hdg_resident_integrals(const struct hdg *h, double *values) {
    facet_status status = FACET_OK;
    double *there[2] = {NULL, NULL}, *host = NULL;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct mesh_block *block = &h->data.mesh->blocks[b];
        if (block->count == 0) continue;
        base_free(&host);
        TRY(ALLOC(host, block->count));
        TRY(integrate_block(h, b, there));
        for (int i = 0; i < 2; i++) {
            TRY(device_download(h->device, host, there[i], (size_t)block->count * sizeof *host));
            for (int64_t c = 0; c < block->count; c++) values[2 * (block->first + c) + i] = host[c];
            device_free(h->device, &there[i]);
        }
    }
done:
    device_free(h->device, &there[0]);
    device_free(h->device, &there[1]);
    base_free(&host);
    return status;
}

facet_status hdg_resident_total(const struct hdg *h, double values[2]) {
    facet_status status = FACET_OK;
    double *there[2] = {NULL, NULL}, *ones = NULL;
    values[0] = values[1] = 0.0;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const int64_t n = h->data.mesh->blocks[b].count;
        if (n == 0) continue;
        TRY(integrate_block(h, b, there));
        TRY(device_alloc(h->device, &ones, (size_t)n, sizeof *ones));
        device_fill(h->device, F64, n, 1.0, ones);
        for (int i = 0; i < 2; i++) {
            values[i] += device_dot(h->device, F64, n, ones, there[i]);
            device_free(h->device, &there[i]);
        }
        device_free(h->device, &ones);
    }
    TRY(device_check(h->device));
done:
    device_free(h->device, &there[0]);
    device_free(h->device, &there[1]);
    device_free(h->device, &ones);
    return status;
}

/* ------------------------------------------------------------------------------------------ extremes */

/* The functions of a block at a lattice: as rows of points (a table of the kernel table_apply). */
static facet_status lattice_table(const struct hdg *h, int block, int order, int *n_points, double **table) {
    facet_status status = FACET_OK;
    const enum shape shape = h->data.mesh->blocks[block].shape;
    const int dim = h->data.mesh->dim, N = h->space.blocks[block].N, n = shape_n_nodes(shape, order);
    struct hdg_table at = {0};
    double *xi = NULL;
    *n_points = n;
    TRY(ALLOC(xi, n * dim));
    TRY(ALLOC(*table, (int64_t)N * n));
    shape_samples(shape, order, xi);
    TRY(hdg_table_create(shape, h->space.degree, h->data.mesh->order, n, xi, &at));
    for (int64_t i = 0; i < (int64_t)N * n; i++) (*table)[i] = at.phi[i % n * at.N + i / n];
done:
    hdg_table_destroy(&at);
    base_free(&xi);
    return status;
}

/* Of the cells of a batch that is not full, on the host. */
static facet_status range_of_last(const struct hdg *h, int block, int n_points, const double *table,
                                  double range[2]) {
    facet_status status = FACET_OK;
    const int lanes = h->lanes, N = h->space.blocks[block].N;
    const int64_t count = h->data.mesh->blocks[block].count, batch = count / lanes;
    double *u = NULL;
    TRY(ALLOC(u, N * lanes));
    TRY(device_download(h->device, u, h->resident->blocks[block].u + batch * N * lanes,
                        (size_t)(N * lanes) * sizeof *u));
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (int64_t lane = 0; lane < count - batch * lanes; lane++)
        for (int p = 0; p < n_points; p++) {
            double value = 0.0;
            for (int64_t i = 0; i < N; i++) value += table[i * n_points + p] * u[i * lanes + lane];
            range[0] = fmin(range[0], value);
            range[1] = fmax(range[1], value);
        }
done:
    base_free(&u);
    return status;
}

/* A pair for each cell: that of its batch. */
static facet_status range_of_block(const struct hdg *h, int block, int order, double *pairs) {
    facet_status status = FACET_OK;
    const int lanes = h->lanes, N = h->space.blocks[block].N;
    const int64_t n_cells = h->data.mesh->blocks[block].count, n_full = n_cells / lanes;
    double *table = NULL, *there = NULL, *values = NULL, *extremes = NULL, last[2];
    int n_points;
    TRY(lattice_table(h, block, order, &n_points, &table));
    int64_t most = RESIDENT_NUMBERS / (n_points * lanes);
    most = most < 1 ? 1 : most < n_full ? most : n_full;
    TRY(device_copy(h->device, &there, table, (size_t)N * (size_t)n_points, sizeof *table));
    TRY(device_alloc(h->device, &values, (size_t)(most * n_points * lanes), sizeof *values));
    TRY(device_alloc(h->device, &extremes, (size_t)(2 * n_full), sizeof *extremes));
    for (int64_t first = 0; first < n_full; first += most) {
        const int64_t many = n_full - first < most ? n_full - first : most;
        device_table_apply(h->device, lanes, many, n_points, N, 1, there,
                           h->resident->blocks[block].u + first * N * lanes, values);
        device_tile_extremes(h->device, many, (int64_t)n_points * lanes, 1, 0, values, extremes + 2 * first);
    }
    TRY(device_download(h->device, pairs, extremes, (size_t)(2 * n_full) * sizeof *pairs));
    if (n_full * lanes < n_cells) TRY(range_of_last(h, block, n_points, table, last));
    for (int64_t c = n_cells - 1; c >= 0; c--) /* from the last on, whose pairs are not in the way */
        memmove(pairs + 2 * c, c / lanes < n_full ? pairs + 2 * (c / lanes) : last, sizeof last);
done:
    base_free(&table);
    device_free(h->device, &there);
    device_free(h->device, &values);
    device_free(h->device, &extremes);
    return status;
}

facet_status hdg_resident_range(const struct hdg *h, int order, double *values) {
    facet_status status = FACET_OK;
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->data.mesh->blocks[b].count > 0)
            TRY(range_of_block(h, b, order, values + 2 * (int64_t)h->data.mesh->blocks[b].first));
done:
    return status;
}
