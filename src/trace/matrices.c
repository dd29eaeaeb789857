/* Storage of the element matrices, and what is read off them entry by entry on the host. */
#include <math.h>

#include "base/memory.h"
#include "trace/levels.h"
#include "trace/sides.h"

int64_t trace_n_batches(const struct device *device, const struct facet_mesh *mesh, int block) {
    const int lanes = device_lanes(device);
    return ((int64_t)mesh->blocks[block].count + lanes - 1) / lanes;
}

static int64_t n_values(const struct trace_matrices *matrices, int block) {
    const int lanes = matrices->lanes;
    return matrices->n_batches[block] * trace_matrix_size(matrices, block) * lanes;
}

static facet_status create(const struct device *device, const struct facet_mesh *mesh, const int *sizes,
                           int full, struct trace_matrices *matrices) {
    facet_status status = FACET_OK;
    *matrices = (struct trace_matrices){
        .device = device, .lanes = device_lanes(device), .full = full, .n_blocks = mesh->n_blocks};
    for (int b = 0; b < matrices->n_blocks; b++) {
        matrices->n[b] = sizes[b];
        matrices->n_batches[b] = trace_n_batches(device, mesh, b);
        TRY(device_alloc(device, &matrices->values[b], (size_t)n_values(matrices, b), sizeof(double)));
    }
done:
    if (status != FACET_OK) trace_matrices_destroy(matrices);
    return status;
}

facet_status trace_matrices_create_sized(const struct device *device, const struct facet_mesh *mesh,
                                         const int *sizes, struct trace_matrices *matrices) {
    return create(device, mesh, sizes, 0, matrices);
}

facet_status trace_matrices_create(const struct device *device, const struct trace_space *space, int full,
                                   struct trace_matrices *matrices) {
    int sizes[MESH_MAX_BLOCKS];
    for (int b = 0; b < space->mesh->n_blocks; b++) sizes[b] = trace_cell_size(space, b);
    return create(device, space->mesh, sizes, full, matrices);
}

facet_status trace_need_plain(const struct trace_space *space, const struct trace_matrices *matrices,
                              const char *who) {
    if (space->turns != NULL || space->n_faces != space->mesh->n_faces)
        return base_fail(FACET_ERROR_INPUT, "%s knows no faces with two traces or with turns", who);
    return solve_need_symmetric(matrices->full, who);
}

facet_status trace_matrices_keep(struct trace_matrices *matrices) {
    return matrices->kept != NULL ? FACET_OK : CALLOC(matrices->kept, 1);
}

void trace_matrices_release(struct trace_matrices *matrices) {
    if (matrices->kept == NULL) return;
    for (int b = 0; b < matrices->n_blocks; b++) {
        device_unview(matrices->device, matrices->values[b], (const void **)&matrices->kept->values[b]);
        base_free(&matrices->kept->summaries[b]);
    }
    base_free(&matrices->kept);
}

void trace_matrices_destroy(struct trace_matrices *matrices) {
    trace_matrices_release(matrices);
    for (int b = 0; b < matrices->n_blocks; b++) {
        device_free(matrices->device, &matrices->values[b]);
        base_free(&matrices->loose[b]);
    }
    *matrices = (struct trace_matrices){0};
}

facet_status trace_view_open(const struct trace_matrices *matrices, struct trace_view *view) {
    facet_status status = FACET_OK;
    *view = (struct trace_view){.matrices = matrices};
    for (int b = 0; b < matrices->n_blocks; b++) {
        const double **values = matrices->kept != NULL ? &matrices->kept->values[b] : &view->values[b];
        if (*values == NULL)
            TRY(device_view(matrices->device, matrices->values[b], (size_t)n_values(matrices, b),
                            sizeof **values, (const void **)values));
        view->values[b] = *values;
    }
done:
    if (status != FACET_OK) trace_view_close(view);
    return status;
}

facet_status trace_view_lanes(const struct trace_view *view, int block, int lanes, double **values) {
    facet_status status = FACET_OK;
    const struct trace_matrices *from = view->matrices;
    int64_t size = trace_matrix_size(from, block), n = from->n_batches[block] * from->lanes;
    *values = NULL;
    if (lanes == from->lanes) return FACET_OK;
    TRY(CALLOC(*values, (n + lanes - 1) / lanes * size * lanes));
    for (int64_t cell = 0; cell < n; cell++) {
        const double *K = view->values[block] + trace_matrix_start(from, block, cell);
        double *to = *values + cell / lanes * size * lanes + cell % lanes;
        for (int64_t e = 0; e < size; e++) to[e * lanes] = K[e * from->lanes];
    }
done:
    return status;
}

void trace_view_close(struct trace_view *view) {
    const struct trace_matrices *matrices = view->matrices;
    for (int b = 0; b < matrices->n_blocks; b++) {
        if (matrices->kept != NULL && view->values[b] == matrices->kept->values[b]) view->values[b] = NULL;
        device_unview(matrices->device, matrices->values[b], (const void **)&view->values[b]);
    }
}

/* ---------------------------------------------------------------------------------------- less than all */

facet_status trace_matrices_pick(const struct trace_matrices *matrices, int block, int n, const int *places,
                                 double **picked) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    const int lanes = matrices->lanes;
    const int64_t size = (int64_t)n * (n + 1) / 2, all = trace_matrix_size(matrices, block);
    *picked = NULL;
    TRY(ALLOC(*picked, matrices->n_batches[block] * size * lanes));
    TRY(trace_view_open(matrices, &view));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < matrices->n_batches[block]; batch++) {
        const double *K = view.values[block] + batch * all * lanes;
        double *to = *picked + batch * size * lanes;
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++, to += lanes)
                for (int lane = 0; lane < lanes; lane++)
                    to[lane] = trace_entry(K + lane, lanes, places[i], places[j]);
    }
done:
    trace_view_close(&view);
    if (status != FACET_OK) base_free(picked);
    return status;
}

/* Faces of different sizes have constants all the same: their energies are those of matrices of degree 0. */
static facet_status pick_constants(const struct trace_matrices *matrices, const struct trace_space *space,
                                   int block, double **there) {
    facet_status status = FACET_OK;
    const int nc = space->n_components, n = space->n_slots[block] * nc;
    int places[3 * SHAPE_MAX_FACES];
    double *picked = NULL;
    for (int i = 0; i < n; i++) {
        const int *slots = space->slots[block] + i / nc;
        places[i] = slots[0] + i % nc * ((slots[1] - slots[0]) / nc);
    }
    TRY(trace_matrices_pick(matrices, block, n, places, &picked));
    TRY(device_copy(matrices->device, there, picked,
                    (size_t)(matrices->n_batches[block] * (n * (n + 1) / 2) * matrices->lanes),
                    sizeof *picked));
done:
    base_free(&picked);
    return status;
}

/* The diagonal of all of a matrix, in the place of what the kernel said of its part. */
static facet_status summarize_diagonal(const struct trace_matrices *matrices, int block, int n_faces,
                                       double *summary) {
    struct trace_view view = {.matrices = matrices};
    const int n = matrices->n[block], lanes = matrices->lanes;
    facet_status status = trace_view_open(matrices, &view);
    for (int64_t cell = 0; cell < matrices->n_batches[block] * lanes && status == FACET_OK; cell++) {
        const double *K = view.values[block] + trace_matrix_start(matrices, block, cell);
        double *s = summary + cell / lanes * (3 + n_faces) * lanes + cell % lanes, least = INFINITY,
               most = 0.0, mean = 0.0;
        for (int i = 0; i < n; i++) {
            double entry = trace_entry(K, lanes, i, i);
            least = fmin(least, entry);
            most = fmax(most, entry);
            mean += entry / n;
        }
        s[TRACE_LEAST * lanes] = least;
        s[TRACE_MOST * lanes] = most;
        s[TRACE_MEAN * lanes] = mean;
    }
    trace_view_close(&view);
    return status;
}

static facet_status summarize(const struct trace_matrices *matrices, const struct trace_space *space,
                              int block, int n_faces, double **to) {
    facet_status status = FACET_OK;
    const struct device *device = matrices->device;
    const int differ = trace_slots_differ(space, block), nc = space->n_components;
    double *there = NULL, *constants = NULL;
    size_t count = (size_t)(matrices->n_batches[block] * (3 + n_faces) * matrices->lanes);
    TRY(ALLOC(*to, count));
    TRY(device_alloc(device, &there, count, sizeof(double)));
    if (differ) TRY(pick_constants(matrices, space, block, &constants));
    device_cell_summary(device, matrices->lanes, matrices->n_batches[block], n_faces, nc,
                        differ ? n_faces * nc : matrices->n[block],
                        differ ? constants : matrices->values[block], there);
    TRY(device_download(device, *to, there, count * sizeof(double)));
    if (differ) TRY(summarize_diagonal(matrices, block, n_faces, *to));
done:
    device_free(device, &there);
    device_free(device, &constants);
    if (status != FACET_OK) base_free(to);
    return status;
}

facet_status trace_summary_open(const struct trace_matrices *matrices, const struct trace_space *space,
                                struct trace_summary *summary) {
    facet_status status = FACET_OK;
    *summary = (struct trace_summary){.matrices = matrices};
    for (int b = 0; b < matrices->n_blocks; b++) {
        double **to = matrices->kept != NULL ? &matrices->kept->summaries[b] : &summary->own[b];
        summary->n_faces[b] = shape_n_faces(space->mesh->blocks[b].shape);
        if (*to == NULL) TRY(summarize(matrices, space, b, summary->n_faces[b], to));
        summary->values[b] = *to;
    }
done:
    if (status != FACET_OK) trace_summary_close(summary);
    return status;
}

void trace_summary_close(struct trace_summary *summary) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&summary->own[b]);
}

/* Copies of the picks of one block from the device to own[block]. places: of the cells in the block. */
static facet_status extract(const struct trace_matrices *matrices, int block, int64_t count,
                            const int64_t *places, struct trace_picks *picks) {
    facet_status status = FACET_OK;
    const struct device *device = matrices->device;
    const int64_t size = trace_matrix_size(matrices, block);
    int64_t *where = NULL;
    double *there = NULL;
    TRY(device_copy(device, &where, places, (size_t)count, sizeof *places));
    TRY(device_alloc(device, &there, (size_t)(count * size), sizeof *there));
    device_cell_extract(device, matrices->lanes, count, where, size, matrices->values[block], there);
    TRY(device_download(device, picks->own[block], there, (size_t)(count * size) * sizeof *there));
done:
    device_free(device, &where);
    device_free(device, &there);
    return status;
}

/* The picks of one block: where they stand, or where the host has room for copies. places: room. */
static facet_status pick(const struct trace_matrices *matrices, const struct facet_mesh *mesh, int block,
                         int n, const int32_t *cells, int64_t *places, struct trace_picks *picks) {
    facet_status status = FACET_OK;
    const int64_t size = trace_matrix_size(matrices, block), first = mesh->blocks[block].first,
                  end = first + mesh->blocks[block].count;
    int64_t count = 0, next = 0;
    for (int i = 0; i < n; i++)
        if (cells[i] >= first && cells[i] < end) places[count++] = cells[i] - first;
    if (count == 0) return FACET_OK;
    TRY(device_alloc_room(matrices->device, &picks->own[block], (size_t)(count * size),
                          sizeof *picks->own[block]));
    const double *own = picks->own[block];
    if (own != NULL) TRY(extract(matrices, block, count, places, picks));
    picks->step = own != NULL ? 1 : matrices->lanes;
    for (int i = 0; i < n; i++) {
        if (cells[i] < first || cells[i] >= end) continue;
        picks->K[i] = own != NULL
                          ? own + next++ * size
                          : matrices->values[block] + trace_matrix_start(matrices, block, cells[i] - first);
    }
done:
    return status;
}

facet_status trace_picks_create(const struct trace_matrices *matrices, const struct facet_mesh *mesh, int n,
                                const int32_t *cells, struct trace_picks *picks) {
    facet_status status = FACET_OK;
    int64_t *places = NULL;
    *picks = (struct trace_picks){.step = 1};
    TRY(ALLOC(picks->K, n));
    TRY(ALLOC(places, n));
    for (int b = 0; b < matrices->n_blocks; b++) TRY(pick(matrices, mesh, b, n, cells, places, picks));
done:
    base_free(&places);
    if (status != FACET_OK) trace_picks_destroy(picks);
    return status;
}

void trace_picks_destroy(struct trace_picks *picks) {
    base_free(&picks->K);
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&picks->own[b]);
}

/* ---------------------------------------------------------------------------------------- sides */

int trace_side(const struct trace_space *space, int32_t entry, int which, struct trace_side *side) {
    const struct facet_mesh *mesh = space->mesh;
    int32_t face = space->records[entry].face, cell = mesh->face_cells[2 * (int64_t)face + which];
    if (cell < 0 || (space->records[entry].n_traces == 2 && which != (entry != face))) return 0;
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    side->block = (int)(block - mesh->blocks);
    side->cell = cell - block->first;
    side->n_faces = shape_n_faces(block->shape);
    side->faces = space->faces[side->block] + (int64_t)side->cell * side->n_faces;
    side->local = mesh->face_locals[2 * (int64_t)face + which];
    side->starts = space->slots[side->block];
    return 1;
}
