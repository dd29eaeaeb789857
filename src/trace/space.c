/* Numbering of the trace unknowns. */
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "trace/trace.h"

facet_status trace_space_number(struct trace_space *space, const uint8_t *eliminated) {
    facet_status status = FACET_OK;
    int64_t n = space->n_faces;
    TRY(ALLOC(space->face_free, n));
    TRY(ALLOC(space->free_offsets, n + 1));
    TRY(ALLOC(space->free_faces, n));
    space->face_first[0] = 0;
    for (int64_t f = 0; f < n; f++) {
        int64_t size = space->face_first[f + 1];
        space->face_first[f + 1] += space->face_first[f];
        space->face_free[f] = eliminated[f] ? -1 : space->n_free;
        if (eliminated[f] || size == 0) continue;
        space->free_offsets[space->n_free_faces] = space->n_free;
        space->free_faces[space->n_free_faces++] = (int32_t)f;
        space->n_free += size;
    }
    space->n_all = space->face_first[n];
    space->free_offsets[space->n_free_faces] = space->n_free;
    if (space->n_free > INT32_MAX)
        FAIL(FACET_ERROR_INPUT,
             "%lld trace unknowns are more than 2^31 - 1; use a coarser mesh or a lower degree",
             (long long)space->n_free);
done:
    return status;
}

facet_status trace_space_create(const struct facet_mesh *mesh, int degree, int n_components,
                                const uint8_t *eliminated, struct trace_space *space) {
    facet_status status = FACET_OK;
    *space = (struct trace_space){
        .mesh = mesh, .degree = degree, .n_components = n_components, .n_faces = mesh->n_faces};
    TRY(mesh_need_lists(mesh));
    TRY(ALLOC(space->face_first, mesh->n_faces + 1));
    for (int32_t f = 0; f < mesh->n_faces; f++)
        space->face_first[f + 1] = n_components * basis_size((enum shape)mesh->face_shapes[f], degree);
    for (int b = 0; b < mesh->n_blocks; b++) {
        enum shape shape = mesh->blocks[b].shape;
        int *slots = space->slots[b], n = space->n_slots[b] = shape_n_faces(shape);
        for (int f = 0; f < n; f++)
            slots[f + 1] = slots[f] + n_components * basis_size(shape_face_shape(shape, f), degree);
        space->faces[b] = mesh->blocks[b].faces;
    }
    TRY(trace_space_number(space, eliminated));
done:
    if (status != FACET_OK) trace_space_destroy(space);
    return status;
}

void trace_space_destroy(struct trace_space *space) {
    base_free(&space->face_first);
    base_free(&space->face_free);
    base_free(&space->free_offsets);
    base_free(&space->free_faces);
    base_free(&space->fixed);
    *space = (struct trace_space){0};
}

int trace_cell_size(const struct trace_space *space, int block) {
    return space->slots[block][space->n_slots[block]];
}

void trace_gather(const struct trace_space *space, int block, int32_t cell_in_block, const double *full,
                  double *local, int stride) {
    const int32_t *faces = space->faces[block] + (int64_t)cell_in_block * space->n_slots[block];
    for (int s = 0; s < space->n_slots[block]; s++) {
        const double *from = full + space->face_first[faces[s]];
        int size = space->slots[block][s + 1] - space->slots[block][s];
        for (int i = 0; i < size; i++, local += stride) *local = from[i];
    }
}

void trace_scatter(const struct trace_space *space, const double *free, const double *eliminated,
                   double *full) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t f = 0; f < space->n_faces; f++) {
        int64_t first = space->face_first[f], size = space->face_first[f + 1] - first;
        const double *from = space->face_free[f] >= 0 ? free + space->face_free[f] : eliminated + first;
        if (size > 0) memcpy(full + first, from, (size_t)size * sizeof *full);
    }
}

void trace_assemble_vector(const struct trace_space *space, double *const *locals, double *free) {
    if (space->n_free == 0) return;
    memset(free, 0, (size_t)space->n_free * sizeof *free);
    for (int b = 0; b < space->mesh->n_blocks; b++) {
        int64_t n = trace_cell_size(space, b), n_slots = space->n_slots[b];
        for (int64_t cell = 0; cell < space->mesh->blocks[b].count; cell++) {
            const double *local = locals[b] + cell / TRACE_LANES * n * TRACE_LANES + cell % TRACE_LANES;
            for (int64_t s = 0; s < n_slots; s++) {
                int64_t to = space->face_free[space->faces[b][cell * n_slots + s]];
                for (int i = space->slots[b][s]; i < space->slots[b][s + 1] && to >= 0; i++)
                    free[to++] += local[(int64_t)i * TRACE_LANES];
            }
        }
    }
}
