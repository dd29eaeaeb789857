/* Numbering of the trace unknowns. */
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "trace/trace.h"

facet_status trace_space_create(const struct facet_mesh *mesh, int degree, int n_components,
                                const uint8_t *eliminated, struct trace_space *space) {
    facet_status status = FACET_OK;
    *space = (struct trace_space){.mesh = mesh, .degree = degree, .n_components = n_components};
    TRY(mesh_need_lists(mesh));
    TRY(ALLOC(space->face_first, mesh->n_faces + 1));
    TRY(ALLOC(space->face_free, mesh->n_faces));
    TRY(ALLOC(space->free_offsets, mesh->n_faces + 1));
    TRY(ALLOC(space->free_faces, mesh->n_faces));
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int size = n_components * basis_size((enum shape)mesh->face_shapes[f], degree);
        space->face_first[f] = space->n_all;
        space->n_all += size;
        space->face_free[f] = -1;
        if (eliminated[f]) continue;
        space->face_free[f] = space->n_free;
        space->free_offsets[space->n_free_faces] = space->n_free;
        space->free_faces[space->n_free_faces++] = f;
        space->n_free += size;
    }
    space->face_first[mesh->n_faces] = space->n_all;
    space->free_offsets[space->n_free_faces] = space->n_free;
    if (space->n_free > INT32_MAX)
        FAIL(FACET_ERROR_INPUT,
             "%lld trace unknowns are more than 2^31 - 1; use a coarser mesh or a lower degree",
             (long long)space->n_free);
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

static int face_size(const struct trace_space *space, int32_t face) {
    return (int)(space->face_first[face + 1] - space->face_first[face]);
}

int trace_cell_size(const struct trace_space *space, int block) {
    enum shape shape = space->mesh->blocks[block].shape;
    int n = 0;
    for (int f = 0; f < shape_n_faces(shape); f++) n += basis_size(shape_face_shape(shape, f), space->degree);
    return n * space->n_components;
}

void trace_gather(const struct trace_space *space, int block, int32_t cell_in_block, const double *full,
                  double *local, int stride) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    int n_faces = shape_n_faces(b->shape);
    for (int f = 0; f < n_faces; f++) {
        int32_t face = b->faces[(int64_t)cell_in_block * n_faces + f];
        const double *from = full + space->face_first[face];
        int size = face_size(space, face);
        for (int i = 0; i < size; i++) local[(int64_t)i * stride] = from[i];
        local += (int64_t)size * stride;
    }
}

void trace_scatter(const struct trace_space *space, const double *free, const double *eliminated,
                   double *full) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int32_t f = 0; f < space->mesh->n_faces; f++) {
        const double *from =
            space->face_free[f] >= 0 ? free + space->face_free[f] : eliminated + space->face_first[f];
        memcpy(full + space->face_first[f], from, (size_t)face_size(space, f) * sizeof *full);
    }
}
