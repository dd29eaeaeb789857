/* Numbering of the unknowns of a continuous method, and what follows from it alone. */
#include "trace/continuous.h"

#include <string.h>

#include "base/memory.h"
#include "poly/modal.h"
#include "trace/slots.h"

/* ------------------------------------------------------------------------------------------ entities */

static int n_vertices(const struct continuous_space *space, int block) {
    return shape_n_vertices(space->mesh->blocks[block].shape);
}

static int n_edges(const struct continuous_space *space, int block) {
    return shape_n_entities(space->mesh->blocks[block].shape, 1);
}

/* The node of an entity of a cell. */
static int32_t cell_node(const struct continuous_space *space, int block, int64_t cell, int local) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    int edge = local - n_vertices(space, block), face = edge - n_edges(space, block);
    if (edge < 0) return space->skeleton.vertices[b->vertices[cell * n_vertices(space, block) + local]];
    if (face < 0)
        return space->n_vertices + space->skeleton.edges[block][cell * n_edges(space, block) + edge];
    return space->n_vertices + space->skeleton.n_edges + b->faces[cell * shape_n_faces(b->shape) + face];
}

/* Where the unknowns of the entities of a cell begin; the last entry is their number. */
static void lay_slots(struct continuous_space *space, int block) {
    enum shape shape = space->mesh->blocks[block].shape;
    int *slot = space->slots[block];
    *slot = 0;
    for (int d = 0; d < space->mesh->dim; d++)
        for (int e = 0; e < shape_n_entities(shape, d); e++, space->n_locals[block]++, slot++)
            slot[1] = slot[0] + modal_n_interior(shape_entity_shape(shape, d), space->degree);
    space->n[block] = *slot;
}

void continuous_orientations(const struct continuous_space *space, int block, int32_t cell,
                             unsigned char *orientations) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    int edges = n_edges(space, block), faces = space->mesh->dim == 3 ? shape_n_faces(b->shape) : 0;
    memcpy(orientations, space->skeleton.orientations[block] + (int64_t)cell * edges, (size_t)edges);
    memcpy(orientations + edges, b->orientations + (int64_t)cell * faces, (size_t)faces);
}

/* The edge of a cell between two of its vertices; *backwards: its common frame runs from `to` to `from`. */
static int find_edge(const struct continuous_space *space, int block, int64_t cell, int from, int to,
                     int *backwards) {
    int edge = 0;
    for (;; edge++) {
        const int *ends = shape_entity_vertices(space->mesh->blocks[block].shape, 1, edge);
        *backwards = ends[0] == to && ends[1] == from;
        if (*backwards || (ends[0] == from && ends[1] == to)) break;
    }
    *backwards ^= space->skeleton.orientations[block][cell * n_edges(space, block) + edge];
    return edge;
}

/* The entities of a cell that make up one of its faces, in the order of the face's own and in its frame;
 * backwards[i]: that of entity i runs the other way. Returns their number. */
static int face_locals(const struct continuous_space *space, int block, int64_t cell, int face, int *locals,
                       int *backwards) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    enum shape shape = shape_face_shape(b->shape, face);
    const int *ids = shape_face_vertices(b->shape, face),
              *order = shape_permutation(shape, b->orientations[cell * shape_n_faces(b->shape) + face]);
    int n = 0, vertices = n_vertices(space, block);
    for (; n < shape_n_vertices(shape); n++) {
        locals[n] = ids[order[n]];
        backwards[n] = 0;
    }
    for (int e = 0; shape_dim(shape) == 2 && e < shape_n_entities(shape, 1); e++, n++) {
        const int *ends = shape_entity_vertices(shape, 1, e);
        locals[n] =
            vertices + find_edge(space, block, cell, ids[order[ends[0]]], ids[order[ends[1]]], &backwards[n]);
    }
    locals[n] = vertices + (shape_dim(shape) == 2 ? n_edges(space, block) : 0) + face;
    backwards[n++] = 0;
    return n;
}

void continuous_face_modes(const struct continuous_space *space, int block, int32_t cell, int face,
                           int32_t *slots, double *signs) {
    int locals[CONTINUOUS_MAX_LOCALS], backwards[CONTINUOUS_MAX_LOCALS];
    int n = face_locals(space, block, cell, face, locals, backwards);
    for (int i = 0, mode = 0; i < n; i++) {
        const int *slot = &space->slots[block][locals[i]];
        for (int j = slot[0]; j < slot[1]; j++, mode++) {
            slots[mode] = j;
            signs[mode] = backwards[i] && (j - slot[0]) % 2 == 1 ? -1.0 : 1.0;
        }
    }
}

/* ------------------------------------------------------------------------------------------ unknowns */

/* The nodes of eliminated faces. */
static void hold_nodes(const struct continuous_space *space, const uint8_t *eliminated, uint8_t *held) {
    const struct facet_mesh *mesh = space->mesh;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int locals[CONTINUOUS_MAX_LOCALS], backwards[CONTINUOUS_MAX_LOCALS];
        if (!eliminated[f]) continue;
        const struct mesh_block *b = mesh_block_of(mesh, mesh->face_cells[2 * (int64_t)f]);
        int block = (int)(b - mesh->blocks);
        int64_t cell = mesh->face_cells[2 * (int64_t)f] - b->first;
        int n = face_locals(space, block, cell, mesh->face_locals[2 * (int64_t)f], locals, backwards);
        for (int i = 0; i < n; i++) held[cell_node(space, block, cell, locals[i])] = 1;
    }
}

static int node_size(const struct continuous_space *space, int32_t node) {
    int32_t edge = node - space->n_vertices, face = edge - space->skeleton.n_edges;
    enum shape shape = edge < 0   ? SHAPE_POINT
                       : face < 0 ? SHAPE_SEGMENT
                                  : (enum shape)space->mesh->face_shapes[face];
    return modal_n_interior(shape, space->degree);
}

static facet_status number_unknowns(struct continuous_space *space, const uint8_t *eliminated) {
    facet_status status = FACET_OK;
    uint8_t *held = NULL;
    TRY(CALLOC(held, space->n_nodes));
    hold_nodes(space, eliminated, held);
    for (int32_t node = 0; node < space->n_nodes; node++)
        space->first[node + 1] = space->first[node] + node_size(space, node);
    space->n_all = space->first[space->n_nodes];
    if (space->n_all > INT32_MAX)
        FAIL(FACET_ERROR_INPUT, "%lld unknowns are more than 2^31 - 1; use a coarser mesh or a lower degree",
             (long long)space->n_all);
    TRY(ALLOC(space->free, space->n_all));
    for (int32_t node = 0; node < space->n_nodes; node++) {
        if (!held[node] && space->first[node] < space->first[node + 1]) {
            space->block_offsets[space->n_blocks] = space->n_free;
            space->block_nodes[space->n_blocks++] = node;
        }
        for (int64_t i = space->first[node]; i < space->first[node + 1]; i++)
            space->free[i] = held[node] ? -1 : space->n_free++;
    }
    space->block_offsets[space->n_blocks] = space->n_free;
done:
    base_free(&held);
    return status;
}

static facet_status list_unknowns(struct continuous_space *space) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    for (int b = 0; b < mesh->n_blocks; b++) {
        TRY(ALLOC(space->unknowns[b], (int64_t)mesh->blocks[b].count * space->n[b]));
        int32_t *to = space->unknowns[b];
        for (int64_t cell = 0; cell < mesh->blocks[b].count; cell++)
            for (int local = 0; local < space->n_locals[b]; local++) {
                int32_t node = cell_node(space, b, cell, local);
                for (int64_t i = space->first[node]; i < space->first[node + 1]; i++) *to++ = (int32_t)i;
            }
    }
done:
    return status;
}

static facet_status list_places(struct continuous_space *space) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    int64_t n = 0;
    for (int b = 0; b < mesh->n_blocks; b++) n += (int64_t)mesh->blocks[b].count * space->n_locals[b];
    TRY(ALLOC(space->places, n));
    int64_t *next = space->place_starts + 1; /* becomes the starts when every node has been filled */
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int64_t cell = 0; cell < mesh->blocks[b].count; cell++)
            for (int local = 0; local < space->n_locals[b]; local++)
                next[cell_node(space, b, cell, local) + 1]++;
    for (int32_t node = 0; node < space->n_nodes; node++) next[node + 1] += next[node];
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int64_t cell = 0; cell < mesh->blocks[b].count; cell++)
            for (int local = 0; local < space->n_locals[b]; local++)
                space->places[next[cell_node(space, b, cell, local)]++] =
                    (struct continuous_place){mesh->blocks[b].first + (int32_t)cell, space->slots[b][local]};
done:
    return status;
}

facet_status continuous_space_create(const struct facet_mesh *mesh, int degree, const uint8_t *eliminated,
                                     struct continuous_space *space) {
    facet_status status = FACET_OK;
    *space = (struct continuous_space){.mesh = mesh, .degree = degree};
    TRY(mesh_skeleton_create(mesh, &space->skeleton));
    space->n_vertices = space->skeleton.n_vertices;
    int64_t n_nodes =
        (int64_t)space->n_vertices + space->skeleton.n_edges + (mesh->dim == 3 ? mesh->n_faces : 0);
    if (n_nodes >= INT32_MAX)
        FAIL(FACET_ERROR_INPUT, "the mesh has %lld vertices, edges and faces, more than 2^31 - 2",
             (long long)n_nodes);
    space->n_nodes = (int32_t)n_nodes;
    for (int b = 0; b < mesh->n_blocks; b++) lay_slots(space, b);
    TRY(CALLOC(space->first, n_nodes + 1));
    TRY(ALLOC(space->block_offsets, n_nodes + 1));
    TRY(ALLOC(space->block_nodes, n_nodes));
    TRY(CALLOC(space->place_starts, n_nodes + 2));
    TRY(number_unknowns(space, eliminated));
    TRY(list_unknowns(space));
    TRY(list_places(space));
done:
    if (status != FACET_OK) continuous_space_destroy(space);
    return status;
}

void continuous_space_destroy(struct continuous_space *space) {
    mesh_skeleton_destroy(&space->skeleton);
    base_free(&space->first);
    base_free(&space->free);
    base_free(&space->block_offsets);
    base_free(&space->block_nodes);
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&space->unknowns[b]);
    base_free(&space->place_starts);
    base_free(&space->places);
    *space = (struct continuous_space){0};
}

/* ------------------------------------------------------------------------------------------ vectors */

void continuous_gather(const struct continuous_space *space, int block, int32_t cell, const double *full,
                       double *local, int stride) {
    int n = space->n[block];
    const int32_t *unknowns = space->unknowns[block] + (int64_t)cell * n;
    for (int i = 0; i < n; i++) local[(int64_t)i * stride] = full[unknowns[i]];
}

void continuous_scatter(const struct continuous_space *space, const double *free, const double *eliminated,
                        double *full) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < space->n_all; i++)
        full[i] = space->free[i] >= 0 ? free[space->free[i]] : eliminated[i];
}

void continuous_assemble_vector(const struct continuous_space *space, double *const *locals, double *free) {
    const struct facet_mesh *mesh = space->mesh;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t k = 0; k < space->n_blocks; k++) {
        int32_t node = space->block_nodes[k];
        int64_t begin = space->block_offsets[k], n = space->block_offsets[k + 1] - begin;
        for (int64_t i = 0; i < n; i++) free[begin + i] = 0.0;
        for (int64_t p = space->place_starts[node]; p < space->place_starts[node + 1]; p++) {
            const struct mesh_block *block = mesh_block_of(mesh, space->places[p].cell);
            int64_t b = block - mesh->blocks, cell = space->places[p].cell - block->first;
            const double *from = locals[b] + cell / TRACE_LANES * space->n[b] * TRACE_LANES +
                                 cell % TRACE_LANES + space->places[p].slot * TRACE_LANES;
            for (int64_t i = 0; i < n; i++) free[begin + i] += from[i * TRACE_LANES];
        }
    }
}

void continuous_constant(const struct continuous_space *space, double *full) {
    for (int64_t i = 0; i < space->n_all; i++) full[i] = i < space->n_vertices ? 1.0 : 0.0;
}

/* ------------------------------------------------------------------------------------------ products */

/* Every unknown is an entity. */
static void unknown_slots(const struct continuous_space *space, const int64_t *first,
                          struct trace_slots *slots) {
    *slots = (struct trace_slots){.n_entities = space->n_all, .first = first};
    for (int b = 0; b < space->mesh->n_blocks; b++) {
        slots->count[b] = space->mesh->blocks[b].count;
        slots->n_slots[b] = space->n[b];
        slots->entities[b] = space->unknowns[b];
    }
}

facet_status continuous_operator_create(const struct continuous_space *space,
                                        const struct trace_matrices *matrices, struct operator* A) {
    struct trace_slots slots;
    unknown_slots(space, space->free, &slots);
    return trace_slots_operator(&slots, matrices, space->n_free, A);
}

facet_status continuous_lift(const struct continuous_space *space, const struct trace_matrices *matrices,
                             const double *eliminated, double *lift) {
    facet_status status = FACET_OK;
    struct trace_slots slots;
    int64_t *identity = NULL;
    double *full = NULL;
    TRY(ALLOC(identity, space->n_all));
    TRY(ALLOC(full, space->n_all));
    for (int64_t i = 0; i < space->n_all; i++) identity[i] = i;
    unknown_slots(space, identity, &slots); /* one product in the full numbering */
    TRY(trace_slots_product(&slots, matrices, space->n_all, eliminated, full));
    for (int64_t i = 0; i < space->n_all; i++)
        if (space->free[i] >= 0) lift[space->free[i]] = -full[i];
done:
    base_free(&identity);
    base_free(&full);
    return status;
}
