/* Integrals of u and its range, by kernels over a solution that is on the device: see device_cells.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/general.h"

/* Of all cells of a block, on the device (batch x LANES): the integrals of u, and volumes. The loads of f
 * = 1 are those of the functions. */
static facet_status integrate_block(const struct hdg *h, const struct hdg_solution *s, int block,
                                    double *there[2]) {
    facet_status status = FACET_OK;
    const int lanes = h->lanes, N = h->cells[block]->N;
    const int64_t n = h->matrices.n_batches[block], size = n * N * lanes;
    double *tables[2] = {NULL, NULL}, *host = NULL, *moments = NULL;
    TRY(ALLOC(host, 2 * N));
    for (int i = 0; i < 2 * N; i++) host[i] = i < N; /* all of them, and what the first says of the volume */
    host[N] = 1.0 / h->functions[block].source.table->phi[0];
    TRY(device_alloc(h->device, &moments, (size_t)size, sizeof *moments));
    TRY(general_load(h, block, &(struct general_load){.ones = 1, .loads = moments}));
    for (int i = 1; i >= 0; i--) {
        TRY(device_copy(h->device, &tables[i], host + (int64_t)i * N, (size_t)N, sizeof *host));
        TRY(device_alloc(h->device, &there[i], (size_t)(n * lanes), sizeof(double)));
        if (i == 0) device_multiply(h->device, F64, size, s->cells[block].u, moments, moments);
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

facet_status cells_integrals(const struct hdg *h, const struct hdg_solution *s, double *values) {
    facet_status status = FACET_OK;
    double *there[2] = {NULL, NULL}, *host = NULL;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct mesh_block *block = &h->data.mesh->blocks[b];
        if (block->count == 0) continue;
        base_free(&host);
        TRY(ALLOC(host, block->count));
        TRY(integrate_block(h, s, b, there));
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

facet_status cells_total(const struct hdg *h, const struct hdg_solution *s, double values[2]) {
    facet_status status = FACET_OK;
    double *there[2] = {NULL, NULL}, *ones = NULL;
    values[0] = values[1] = 0.0;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const int64_t n = h->data.mesh->blocks[b].count;
        if (n == 0) continue;
        TRY(integrate_block(h, s, b, there));
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
static facet_status range_of_last(const struct hdg *h, const struct hdg_solution *s, int block, int n_points,
                                  const double *table, double range[2]) {
    facet_status status = FACET_OK;
    const int lanes = h->lanes, N = h->space.blocks[block].N;
    const int64_t count = h->data.mesh->blocks[block].count, batch = count / lanes;
    double *u = NULL;
    TRY(ALLOC(u, N * lanes));
    TRY(device_download(h->device, u, s->cells[block].u + batch * N * lanes,
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
static facet_status range_of_block(const struct hdg *h, const struct hdg_solution *s, int block, int order,
                                   double *pairs) {
    facet_status status = FACET_OK;
    const int lanes = h->lanes, N = h->space.blocks[block].N;
    const int64_t n_cells = h->data.mesh->blocks[block].count, n_full = n_cells / lanes;
    double *table = NULL, *there = NULL, *values = NULL, *extremes = NULL, last[2];
    int n_points;
    TRY(lattice_table(h, block, order, &n_points, &table));
    int64_t most = CELLS_NUMBERS / (n_points * lanes);
    most = most < 1 ? 1 : most < n_full ? most : n_full;
    TRY(device_copy(h->device, &there, table, (size_t)N * (size_t)n_points, sizeof *table));
    TRY(device_alloc(h->device, &values, (size_t)(most * n_points * lanes), sizeof *values));
    TRY(device_alloc(h->device, &extremes, (size_t)(2 * n_full), sizeof *extremes));
    for (int64_t first = 0; first < n_full; first += most) {
        const int64_t many = n_full - first < most ? n_full - first : most;
        device_table_apply(h->device, lanes, many, n_points, N, 1, there,
                           s->cells[block].u + first * N * lanes, values);
        device_tile_extremes(h->device, many, (int64_t)n_points * lanes, 1, 0, values, extremes + 2 * first);
    }
    TRY(device_download(h->device, pairs, extremes, (size_t)(2 * n_full) * sizeof *pairs));
    if (n_full * lanes < n_cells) TRY(range_of_last(h, s, block, n_points, table, last));
    for (int64_t c = n_cells - 1; c >= 0; c--) /* from the last on, whose pairs are not in the way */
        memmove(pairs + 2 * c, c / lanes < n_full ? pairs + 2 * (c / lanes) : last, sizeof last);
done:
    base_free(&table);
    device_free(h->device, &there);
    device_free(h->device, &values);
    device_free(h->device, &extremes);
    return status;
}

facet_status cells_range(const struct hdg *h, const struct hdg_solution *s, int order, double *values) {
    facet_status status = FACET_OK;
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->data.mesh->blocks[b].count > 0)
            TRY(range_of_block(h, s, b, order, values + 2 * (int64_t)h->data.mesh->blocks[b].first));
done:
    return status;
}
