/* Assembly on the device that has the matrices (king2014, Algorithms 1 and 2): the host says which cells a
 * face has, which faces a cell, and where the rows of a face begin; what is coupled, columns and entries are
 * the business of kernels. */
#include "base/memory.h"
#include "trace/sides.h"

void trace_entries_destroy(struct trace_entries *e) {
    if (e->device == NULL) return;
    device_free(e->device, &e->offsets);
    device_free(e->device, &e->columns);
    device_free(e->device, &e->values);
}

/* Unknowns of every free face, 0: they differ. */
static int face_size(const struct trace_space *space) {
    const int64_t m = space->n_free_faces > 0 ? space->n_free / space->n_free_faces : 0;
    for (int64_t b = 0; b < space->n_free_faces; b++)
        if (space->free_offsets[b + 1] - space->free_offsets[b] != m) return 0;
    for (int b = 0; b < space->mesh->n_blocks; b++)
        if (trace_slots_differ(space, b) || trace_cell_size(space, b) != m * space->n_slots[b]) return 0;
    return (int)m;
}

static int is_plain(const struct trace_space *space, const struct trace_matrices *matrices) {
    static const char *const kernels[] = {"face_couple", "face_columns", "face_rows"};
    for (int i = 0; i < 3; i++)
        if (!device_has(matrices->device, kernels[i])) return 0;
    for (int b = 0; b < space->mesh->n_blocks; b++) /* vertices and edges too, or faces of two traces */
        if (space->own_faces[b] != NULL || space->n_slots[b] != shape_n_faces(space->mesh->blocks[b].shape))
            return 0;
    return !matrices->full && !trace_is_shared(space) && face_size(space) > 0;
}

/* What the kernels know of a block of cells. */
struct block_places {
    int64_t *sides, *maps;
};

static facet_status put_places(const struct trace_space *space, const struct trace_matrices *matrices,
                               int block, struct block_places *p, int *simple) {
    facet_status status = FACET_OK;
    const int64_t n = matrices->n_batches[block] * matrices->lanes * space->n_slots[block];
    int64_t *host = NULL;
    TRY(ALLOC(host, n));
    trace_fill_maps(matrices->lanes, space->mesh->blocks[block].count, space->n_slots[block],
                    space->faces[block], space->face_free, host);
    TRY(device_copy(matrices->device, &p->maps, host, (size_t)n, sizeof *host));
    TRY(trace_sides_create(space, matrices, block, &p->sides, simple));
done:
    base_free(&host);
    return status;
}

/* Where the rows of every face begin; on the device. */
static facet_status put_starts(const struct device *device, int64_t n, int m, const int32_t *counts,
                               int64_t **starts, int64_t *count) {
    facet_status status = FACET_OK;
    int32_t *coupled = NULL;
    int64_t *host = NULL;
    TRY(ALLOC(coupled, n));
    TRY(ALLOC(host, n + 1));
    TRY(device_download(device, coupled, counts, (size_t)n * sizeof *coupled));
    host[0] = 0;
    for (int64_t b = 0; b < n; b++) host[b + 1] = host[b] + (int64_t)coupled[b] * m * m;
    *count = host[n];
    TRY(device_copy(device, starts, host, (size_t)(n + 1), sizeof *host));
done:
    base_free(&coupled);
    base_free(&host);
    return status;
}

facet_status trace_entries_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                  int equal, struct trace_entries *e) {
    facet_status status = FACET_OK;
    const struct device *device = matrices->device;
    const int lanes = matrices->lanes, m = face_size(space), n_blocks = matrices->n_blocks;
    const int64_t n = space->n_free_faces;
    struct block_places places[MESH_MAX_BLOCKS] = {{0}};
    int32_t *counts = NULL;
    int64_t *coupled = NULL, *starts = NULL;
    int width = 1, simple = 1;
    *e = (struct trace_entries){.device = device, .n = space->n_free};
    if (!is_plain(space, matrices)) return FACET_OK;
    for (int b = 0; b < n_blocks; b++)
        if (2 * space->n_slots[b] - 1 > width) width = 2 * space->n_slots[b] - 1;
    TRY(device_alloc(device, &counts, (size_t)n, sizeof *counts));
    TRY(device_alloc(device, &coupled, (size_t)(n * width), sizeof *coupled));
    for (int b = 0; b < n_blocks; b++) {
        TRY(put_places(space, matrices, b, &places[b], &simple));
        if (!simple) goto done;
        device_face_couple(device, lanes, n, space->n_slots[b], places[b].sides, places[b].maps, width,
                           b == 0, counts, coupled);
    }
    if (equal) {
        e->width = (int64_t)width * m;
        e->count = e->width * e->n;
    } else {
        TRY(put_starts(device, n, m, counts, &starts, &e->count));
        TRY(device_alloc(device, &e->offsets, (size_t)(e->n + 1), sizeof *e->offsets));
    }
    TRY(device_alloc(device, &e->columns, (size_t)e->count, sizeof *e->columns));
    TRY(device_alloc(device, &e->values, (size_t)e->count, sizeof *e->values));
    device_face_columns(device, n, m, width, coupled, starts, e->offsets, e->columns);
    for (int b = 0; b < n_blocks; b++)
        device_face_rows(device, lanes, n, space->n_slots[b], m, places[b].sides, matrices->values[b], width,
                         b == 0, coupled, starts, e->values);
    TRY(device_check(device));
done:
    for (int b = 0; b < n_blocks; b++) {
        device_free(device, &places[b].sides);
        device_free(device, &places[b].maps);
    }
    device_free(device, &counts);
    device_free(device, &coupled);
    device_free(device, &starts);
    if (status != FACET_OK) trace_entries_destroy(e);
    return status;
}
