/* Numbering of the unknowns of a continuous method. */
#include "trace/continuous.h"

#include <string.h>

#include "base/memory.h"
#include "poly/modal.h"

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
        return space->skeleton.n_vertices + space->skeleton.edges[block][cell * n_edges(space, block) + edge];
    return space->skeleton.n_vertices + space->skeleton.n_edges +
           b->faces[cell * shape_n_faces(b->shape) + face];
}

/* Where the unknowns of the entities of a cell begin. */
static void lay_slots(struct trace_space *trace, int block) {
    enum shape shape = trace->mesh->blocks[block].shape;
    int *slot = trace->slots[block];
    for (int d = 0; d < trace->mesh->dim; d++)
        for (int e = 0; e < shape_n_entities(shape, d); e++, trace->n_slots[block]++, slot++)
            slot[1] = slot[0] + modal_n_interior(shape_entity_shape(shape, d), trace->degree);
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

void continuous_face_modes(const struct continuous_space *space, const struct trace_space *trace, int block,
                           int32_t cell, int face, struct continuous_mode *modes) {
    int locals[TRACE_MAX_SLOTS], backwards[TRACE_MAX_SLOTS];
    int n = face_locals(space, block, cell, face, locals, backwards);
    for (int i = 0; i < n; i++) {
        const int *slot = &trace->slots[block][locals[i]];
        int32_t node = space->nodes[block][(int64_t)cell * trace->n_slots[block] + locals[i]];
        int64_t free = trace->face_free[node];
        for (int j = 0; j < slot[1] - slot[0]; j++)
            *modes++ = (struct continuous_mode){.sign = backwards[i] && j % 2 == 1 ? -1.0 : 1.0,
                                                .local = slot[0] + j,
                                                .full = trace->face_first[node] + j,
                                                .free = free < 0 ? -1 : free + j};
    }
}

/* ------------------------------------------------------------------------------------------ unknowns */

/* The nodes of eliminated faces. */
static void hold_nodes(const struct continuous_space *space, const uint8_t *eliminated, uint8_t *held) {
    const struct facet_mesh *mesh = space->mesh;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int locals[TRACE_MAX_SLOTS], backwards[TRACE_MAX_SLOTS];
        if (!eliminated[f]) continue;
        const struct mesh_block *b = mesh_block_of(mesh, mesh->face_cells[2 * (int64_t)f]);
        int block = (int)(b - mesh->blocks);
        int64_t cell = mesh->face_cells[2 * (int64_t)f] - b->first;
        int n = face_locals(space, block, cell, mesh->face_locals[2 * (int64_t)f], locals, backwards);
        for (int i = 0; i < n; i++) held[cell_node(space, block, cell, locals[i])] = 1;
    }
}

static struct trace_face node_record(const struct continuous_space *space, int degree, int64_t node) {
    int64_t edge = node - space->skeleton.n_vertices, face = edge - space->skeleton.n_edges;
    enum shape shape = edge < 0   ? SHAPE_POINT
                       : face < 0 ? SHAPE_SEGMENT
                                  : (enum shape)space->mesh->face_shapes[face];
    return (struct trace_face){.shape = (uint8_t)shape,
                               .n_traces = 1,
                               .size = modal_n_interior(shape, degree),
                               .turn = -1,
                               .face = face < 0 ? -1 : (int32_t)face};
}

static facet_status list_nodes(struct continuous_space *space, struct trace_space *trace) {
    facet_status status = FACET_OK;
    for (int b = 0; b < space->mesh->n_blocks; b++) {
        int64_t count = space->mesh->blocks[b].count, n = trace->n_slots[b];
        TRY(ALLOC(space->nodes[b], count * n));
        for (int64_t i = 0; i < count * n; i++) space->nodes[b][i] = cell_node(space, b, i / n, (int)(i % n));
        trace->faces[b] = space->nodes[b];
    }
done:
    return status;
}

facet_status continuous_space_create(const struct facet_mesh *mesh, int degree, const uint8_t *eliminated,
                                     struct continuous_space *space, struct trace_space *trace) {
    facet_status status = FACET_OK;
    uint8_t *held = NULL;
    *space = (struct continuous_space){.mesh = mesh};
    *trace = (struct trace_space){.mesh = mesh, .degree = degree, .n_components = 1};
    TRY(mesh_skeleton_create(mesh, &space->skeleton));
    trace->n_faces =
        (int64_t)space->skeleton.n_vertices + space->skeleton.n_edges + (mesh->dim == 3 ? mesh->n_faces : 0);
    if (trace->n_faces >= INT32_MAX)
        FAIL(FACET_ERROR_INPUT, "the mesh has %lld vertices, edges and faces, more than 2^31 - 2",
             (long long)trace->n_faces);
    for (int b = 0; b < mesh->n_blocks; b++) lay_slots(trace, b);
    TRY(list_nodes(space, trace));
    TRY(ALLOC(trace->records, trace->n_faces));
    for (int64_t node = 0; node < trace->n_faces; node++)
        trace->records[node] = node_record(space, degree, node);
    TRY(CALLOC(held, trace->n_faces));
    hold_nodes(space, eliminated, held);
    TRY(trace_space_number(trace, held));
done:
    base_free(&held);
    if (status != FACET_OK) continuous_space_destroy(space);
    if (status != FACET_OK) trace_space_destroy(trace);
    return status;
}

void continuous_space_destroy(struct continuous_space *space) {
    mesh_skeleton_destroy(&space->skeleton);
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&space->nodes[b]);
    *space = (struct continuous_space){0};
}
