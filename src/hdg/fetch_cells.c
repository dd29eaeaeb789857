/* What the host has of a solution on a device, and back: see device_cells.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "hdg/contact.h"
#include "hdg/inner.h"

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
static struct pair pair_of(const struct hdg *h, int block, int q, const struct hdg_solution *s) {
    const int64_t all = h->cells[block]->n_flux, N = h->functions[block].N;
    if (!q) return (struct pair){s->u[block], NULL, h->cells[block]->N};
    return (struct pair){s->q[block], s->p[block], s->p[block] != NULL ? all - N : all};
}

/* `size` numbers of every cell, from lanes to one cell after the other; back: the other way. */
static facet_status exchange(const struct hdg *h, int block, int64_t size, struct pair of, double *there,
                             int back) {
    facet_status status = FACET_OK;
    const int lanes = h->lanes;
    const int64_t n = h->matrices.n_batches[block], count = h->data.mesh->blocks[block].count;
    const int sees = device_seen(h->device, there) != NULL;
    int64_t most = sees ? n : CELLS_NUMBERS / (size * lanes);
    double *room = NULL;
    most = most < 1 ? 1 : most < n ? most : n;
    if (!sees) TRY(CALLOC(room, most * size * lanes));
    for (int64_t first = 0; first < n; first += most) {
        const int64_t many = n - first < most ? n - first : most, begin = first * lanes,
                      end = begin + many * lanes < count ? begin + many * lanes : count;
        const size_t bytes = (size_t)(many * size * lanes) * sizeof(double);
        double *from = there + first * size * lanes, *seen = sees ? from : room;
        if (!sees && !back) TRY(device_download(h->device, room, from, bytes));
#pragma omp parallel for num_threads(base_threads_for(many *size *lanes)) schedule(static)
        for (int64_t cell = begin; cell < end; cell++) {
            double *lane = seen + (cell - begin) / lanes * size * lanes + (cell - begin) % lanes;
            for (int64_t i = 0; i < size; i++) {
                double *place = place_of(&of, size, cell, i);
                if (back)
                    lane[i * lanes] = *place;
                else
                    *place = lane[i * lanes];
            }
        }
        if (!sees && back) TRY(device_upload(h->device, from, room, bytes));
    }
done:
    base_free(&room);
    return status;
}

static facet_status fetch_u(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    if (h->data.equation->join != NULL) return inner_join(h, s);
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->cells[b] != NULL) TRY(exchange(h, b, h->cells[b]->N, pair_of(h, b, 0, s), s->cells[b].u, 0));
done:
    return status;
}

static facet_status exchange_q(const struct hdg *h, struct hdg_solution *s, int back) {
    facet_status status = FACET_OK;
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->cells[b] != NULL && h->cells[b]->n_flux > 0)
            TRY(exchange(h, b, h->cells[b]->n_flux, pair_of(h, b, 1, s), s->cells[b].q, back));
done:
    return status;
}

facet_status cells_send_fields(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    for (int b = 0; b < h->data.mesh->n_blocks && h->data.equation->join == NULL; b++)
        if (h->cells[b] != NULL) TRY(exchange(h, b, h->cells[b]->N, pair_of(h, b, 0, s), s->cells[b].u, 1));
    TRY(exchange_q(h, s, 1));
done:
    return status;
}

/* Loads, where the host does not see them. */
static facet_status copy_loads(const struct hdg *h, struct hdg_solution *s, int back) {
    facet_status status = FACET_OK;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        if (h->cells[b] == NULL || s->loads[b] == s->cells[b].loads) continue;
        const size_t bytes = (size_t)(h->matrices.n_batches[b] * h->lanes * h->cells[b]->N) * sizeof(double);
        TRY(back ? device_upload(h->device, s->cells[b].loads, s->loads[b], bytes)
                 : device_download(h->device, s->loads[b], s->cells[b].loads, bytes));
    }
done:
    return status;
}

facet_status cells_send_loads(const struct hdg *h, struct hdg_solution *s) {
    return copy_loads(h, s, 1);
}

facet_status cells_fetch_loads(const struct hdg *h, struct hdg_solution *s) {
    return copy_loads(h, s, 0);
}

facet_status cells_send_trace(const struct hdg *h, struct hdg_solution *s) {
    if (s->trace == s->device_trace) return FACET_OK;
    return device_upload(h->device, s->device_trace, s->trace,
                         (size_t)contact_seen(h)->n_all * sizeof *s->trace);
}

static facet_status fetch_trace(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const void *free = NULL;
    if (s->has_trace) return FACET_OK;
    TRY(device_view(h->device, s->device_trace, (size_t)h->trace.n_free, sizeof(double), &free));
    trace_scatter(&h->trace, free, h->eliminated, s->trace);
    s->has_trace = 1;
done:
    device_unview(h->device, s->device_trace, &free);
    return status;
}

/* The trace on the faces of n cells of a block. */
static facet_status fetch_faces(const struct hdg *h, int block, int64_t n, const int64_t *cells,
                                struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct trace_space *t = &h->trace;
    const int lanes = h->lanes, n_faces = t->n_slots[block], m = h->cells[block]->face;
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
    device_cell_gather(h->device, lanes, n_batches, n_faces, m, there, s->device_trace, picked);
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

int cells_are_here(const struct hdg *h, const struct hdg_solution *s) {
    return !h->stays || (s->has_trace && s->has_u && s->has_q);
}

facet_status cells_fetch_some(const struct hdg *h, int64_t n, const int32_t *cells, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    int64_t *mine = NULL, *there = NULL;
    int32_t *sorted = NULL;
    TRY(cells_need_host(h, s));
    TRY(ALLOC(mine, n));
    TRY(ALLOC(sorted, n));
    memcpy(sorted, cells, (size_t)n * sizeof *sorted);
    base_sort(n, sorted);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct mesh_block *block = &h->data.mesh->blocks[b];
        const struct hdg_cells *of = h->cells[b];
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) /* each once */
            if (sorted[i] >= block->first && sorted[i] < block->first + block->count &&
                (i == 0 || sorted[i] != sorted[i - 1]))
                mine[count++] = sorted[i] - block->first;
        if (count == 0) continue;
        device_free(h->device, &there);
        TRY(device_copy(h->device, &there, mine, (size_t)count, sizeof *mine));
        if (!s->has_trace) TRY(fetch_faces(h, b, count, mine, s));
        if (!s->has_u) TRY(fetch_few(h, count, mine, there, of->N, s->cells[b].u, pair_of(h, b, 0, s)));
        if (!s->has_q) TRY(fetch_few(h, count, mine, there, of->n_flux, s->cells[b].q, pair_of(h, b, 1, s)));
    }
done:
    device_free(h->device, &there);
    base_free(&mine);
    base_free(&sorted);
    return status;
}

facet_status cells_fetch(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    TRY(cells_need_host(h, s));
    TRY(fetch_trace(h, s));
    if (!s->has_u) {
        TRY(cells_fetch_loads(h, s));
        TRY(fetch_u(h, s));
        s->has_u = 1;
    }
    if (!s->wants_q || s->has_q) goto done;
    TRY(exchange_q(h, s, 0));
    s->has_q = 1;
done:
    return status;
}

facet_status cells_fetch_star(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    if (s->has_star) return FACET_OK;
    s->wants_q = 1;
    TRY(cells_fetch(h, s));
    TRY(hdg_postprocess(h, s));
    s->has_star = 1;
done:
    return status;
}

void cells_forget_fetched(struct hdg_solution *s) {
    s->has_trace = s->has_u = s->has_q = s->has_star = 0;
}

double cells_size(const struct hdg *h, const struct hdg_solution *s) {
    double sum = device_dot(h->device, F64, h->trace.n_all, s->device_trace, s->device_trace);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        if (h->cells[b] == NULL) continue;
        const int64_t n = h->matrices.n_batches[b] * h->lanes * h->cells[b]->N;
        sum += device_dot(h->device, F64, n, s->cells[b].u, s->cells[b].u);
    }
    return sum > 1e-200 && sum < 1e200 ? sqrt(sum) : INFINITY;
}
