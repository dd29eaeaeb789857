/* What the host asks of a solution that stays on a device: see resident.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/resident_parts.h"

/* `size` numbers of every cell, from lanes to one cell after the other. */
static facet_status fetch_cells(const struct hdg *h, int block, int64_t size, const double *from,
                                double *to) {
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
            for (int64_t i = 0; i < size; i++) to[cell * size + i] = lane[i * lanes];
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
        const int64_t N = h->space.blocks[b].N, n = h->matrices.n_batches[b] * h->lanes * N;
        if (n == 0) continue;
        if (q) {
            TRY(fetch_cells(h, b, h->data.mesh->dim * N, r->q, s->q[b]));
            continue;
        }
        TRY(device_download(h->device, s->loads[b], r->loads, (size_t)n * sizeof(double)));
        TRY(fetch_cells(h, b, N, r->u, s->u[b]));
    }
done:
    return status;
}

/* `size` numbers of n cells of a block to their places. */
static facet_status fetch_few(const struct hdg *h, int64_t n, const int64_t *cells, const int64_t *there,
                              int64_t size, const double *from, double *to) {
    facet_status status = FACET_OK;
    double *host = NULL, *picked = NULL;
    TRY(ALLOC(host, n * size));
    TRY(device_alloc(h->device, &picked, (size_t)(n * size), sizeof *picked));
    device_cell_extract(h->device, h->lanes, n, there, size, from, picked);
    TRY(device_download(h->device, host, picked, (size_t)(n * size) * sizeof *host));
    for (int64_t i = 0; i < n; i++) memcpy(to + cells[i] * size, host + i * size, (size_t)size * sizeof *to);
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
    TRY(hdg_solution_need(h, s));
    TRY(fetch_trace(h, s));
    if (r->has_u && r->has_q) goto done;
    TRY(ALLOC(mine, n));
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct mesh_block *block = &h->data.mesh->blocks[b];
        const int64_t N = h->space.blocks[b].N;
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++)
            if (cells[i] >= block->first && cells[i] < block->first + block->count)
                mine[count++] = cells[i] - block->first;
        if (count == 0) continue;
        device_free(h->device, &there);
        TRY(device_copy(h->device, &there, mine, (size_t)count, sizeof *mine));
        TRY(fetch_few(h, count, mine, there, N, r->blocks[b].u, s->u[b]));
        TRY(fetch_few(h, count, mine, there, h->data.mesh->dim * N, r->blocks[b].q, s->q[b]));
    }
done:
    device_free(h->device, &there);
    base_free(&mine);
    return status;
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

/* balance: of the cells of a block, on the host. */
static facet_status balance_block(const struct hdg *h, int block, double *balance) {
    facet_status status = FACET_OK;
    const struct resident_block *r = &h->resident->blocks[block];
    const struct hdg_block_space *space = &h->space.blocks[block];
    const size_t count = (size_t)(h->matrices.n_batches[block] * (2 + space->n_faces) * h->lanes);
    struct balance_cells cells = {.one = sqrt(shape_measure(shape_face_shape(space->shape, 0))),
                                  .constant = space->source.phi[0],
                                  .moments = r->moments,
                                  .normals = r->normals,
                                  .coefficients = r->coefficients,
                                  .corners = r->corners,
                                  .u = r->u,
                                  .q = r->q,
                                  .loads = r->loads,
                                  .trace = h->resident->trace,
                                  .maps = r->maps};
    double *there = NULL;
    TRY(device_alloc(h->device, &there, count, sizeof *there));
    device_affine_balance(h->device, &h->tables[block], &cells, h->matrices.n_batches[block], there);
    TRY(device_download(h->device, balance, there, count * sizeof *there));
done:
    device_free(h->device, &there);
    return status;
}

/* The flux through a face out of a cell of the mesh. */
static double flux_of(const struct hdg *h, double *const *balance, int32_t cell, int local) {
    const struct mesh_block *block = mesh_block_of(h->data.mesh, cell);
    const int b = (int)(block - h->data.mesh->blocks), lanes = h->lanes;
    const int64_t i = cell - block->first, size = 2 + h->space.blocks[b].n_faces;
    return balance[b][(i / lanes * size + 2 + local) * lanes + i % lanes];
}

facet_status hdg_resident_balance(const struct hdg *h, double *imbalance) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    double *balance[MESH_MAX_BLOCKS] = {NULL}, worst = 0.0, scale = 0.0;
    const int lanes = h->lanes;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const int64_t size = 2 + h->space.blocks[b].n_faces;
        if (mesh->blocks[b].count == 0) continue;
        TRY(ALLOC(balance[b], h->matrices.n_batches[b] * size * lanes));
        TRY(balance_block(h, b, balance[b]));
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(max : worst, scale)
        for (int64_t i = 0; i < mesh->blocks[b].count; i++) {
            const double *of = balance[b] + i / lanes * size * lanes + i % lanes;
            worst = fmax(worst, of[0]);
            scale = fmax(scale, of[lanes]);
        }
    }
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(max : worst)
    for (int64_t f = 0; f < mesh->n_faces; f++) {
        const int32_t *cells = mesh->face_cells + 2 * f;
        if (cells[1] < 0) continue;
        worst = fmax(worst, fabs(flux_of(h, balance, cells[0], mesh->face_locals[2 * f]) +
                                 flux_of(h, balance, cells[1], mesh->face_locals[2 * f + 1])));
    }
    *imbalance = scale > 0.0 ? worst / scale : 0.0;
done:
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&balance[b]);
    return status;
}

/* phi_0 is 1 over the root of the measure, and all others have no integral. */
facet_status hdg_resident_integrals(const struct hdg *h, double *values) {
    facet_status status = FACET_OK;
    const struct device *device = h->device;
    const int lanes = h->lanes;
    double *table = NULL, *there = NULL, *host = NULL, *first = NULL;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct mesh_block *block = &h->data.mesh->blocks[b];
        const int64_t n = h->matrices.n_batches[b];
        const int N = h->space.blocks[b].N;
        const double volume = shape_measure(block->shape);
        if (n == 0) continue;
        device_free(device, &table);
        device_free(device, &there);
        base_free(&host);
        base_free(&first);
        TRY(CALLOC(first, N));
        first[0] = 1.0;
        TRY(ALLOC(host, n * lanes));
        TRY(device_copy(device, &table, first, (size_t)N, sizeof *first));
        TRY(device_alloc(device, &there, (size_t)(n * lanes), sizeof *there));
        device_table_apply(device, lanes, n, 1, N, 1, table, h->resident->blocks[b].u, there);
        TRY(device_download(device, host, there, (size_t)(n * lanes) * sizeof *host));
        for (int64_t i = 0; i < block->count; i++) {
            const double det = h->resident->blocks[b].det[i];
            values[2 * (block->first + i)] = det * sqrt(volume) * host[i];
            values[2 * (block->first + i) + 1] = det * volume;
        }
    }
done:
    device_free(device, &table);
    device_free(device, &there);
    base_free(&host);
    base_free(&first);
    return status;
}
