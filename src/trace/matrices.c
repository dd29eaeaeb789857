/* Storage of the element matrices, and what is read off them entry by entry on the host. */
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
    facet_status status = FACET_OK;
    if (device_is_host(matrices->device)) return FACET_OK;
    for (int b = 0; b < matrices->n_blocks; b++) {
        size_t count = (size_t)n_values(matrices, b);
        if (matrices->mirror[b] != NULL || count == 0) continue;
        TRY(ALLOC(matrices->mirror[b], count));
        TRY(device_download(matrices->device, matrices->mirror[b], matrices->values[b],
                            count * sizeof(double)));
    }
done:
    if (status != FACET_OK) trace_matrices_release(matrices);
    return status;
}

void trace_matrices_release(struct trace_matrices *matrices) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&matrices->mirror[b]);
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
        view->values[b] = matrices->mirror[b];
        if (view->values[b] == NULL)
            TRY(device_view(matrices->device, matrices->values[b], (size_t)n_values(matrices, b),
                            sizeof(double), (const void **)&view->values[b]));
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
    for (int b = 0; b < view->matrices->n_blocks; b++) {
        if (view->values[b] == view->matrices->mirror[b]) view->values[b] = NULL;
        device_unview(view->matrices->device, view->matrices->values[b], (const void **)&view->values[b]);
    }
}

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
