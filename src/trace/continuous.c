/* Numbering of the unknowns of a continuous method. */
#include "trace/continuous.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/seam.h"
#include "mesh/part.h"
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

/* ------------------------------------------------------------------------------------------ parts */

/* The vertices of an entity of a cell; their number. */
static int entity_vertices(enum shape shape, int dim, int entity, const int **vertices) {
    static const int numbers[SHAPE_MAX_VERTICES] = {0, 1, 2, 3, 4, 5, 6, 7};
    *vertices = dim == 0   ? numbers + entity
                : dim == 1 ? shape_entity_vertices(shape, 1, entity)
                           : shape_face_vertices(shape, entity);
    return dim == 0 ? 1 : dim == 1 ? 2 : shape_n_vertices(shape_face_shape(shape, entity));
}

/* The nodes whose vertices other parts have too, each with the numbers of these in the whole mesh. keys, nodes:
 * room for n_nodes. */
static facet_status list_keys(const struct continuous_space *space, int64_t n_nodes, int64_t *n,
                              int32_t *nodes, struct team_key *keys) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    const struct mesh_part *part = mesh->part;
    uint8_t *marks = NULL, *seen = NULL;
    TRY(CALLOC(marks, mesh->n_vertices));
    TRY(CALLOC(seen, n_nodes));
    for (int k = 0; k < part->n_vertex_neighbours; k++)
        for (int64_t i = 0; i < part->vertex_neighbours[k].count; i++)
            marks[part->vertex_neighbours[k].items[i]] = 1;
    *n = 0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        const int n_corners = shape_n_vertices(block->shape);
        for (int64_t cell = 0; cell < block->count; cell++)
            for (int dim = 0, slot = 0; dim < mesh->dim; dim++)
                for (int e = 0; e < shape_n_entities(block->shape, dim); e++, slot++) {
                    const int *corners, count = entity_vertices(block->shape, dim, e, &corners);
                    const int32_t node = cell_node(space, b, cell, slot);
                    int64_t numbers[TEAM_KEY];
                    int all = !seen[node];
                    for (int i = 0; i < count && all; i++) {
                        const int32_t vertex = block->vertices[cell * n_corners + corners[i]];
                        all = marks[vertex];
                        numbers[i] = part->vertex_numbers[vertex];
                    }
                    if (!all) continue;
                    seen[node] = 1;
                    nodes[*n] = node;
                    keys[(*n)++] = team_key_of(count, numbers);
                }
    }
done:
    base_free(&marks);
    base_free(&seen);
    return status;
}

/* Every face of a seam must be one of the nodes, with its other side. */
static facet_status check_faces(const struct continuous_space *space, int64_t n_nodes,
                                const struct team_neighbour *neighbours, int n) {
    const int64_t first = n_nodes - space->mesh->n_faces;
    int64_t found = 0;
    for (int k = 0; k < n; k++)
        for (int64_t i = 0; i < neighbours[k].count; i++) found += neighbours[k].items[i] >= first;
    if (found == space->mesh->part->n_seam_faces) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT,
                     "of %lld faces between processes %lld have no other side of the same vertices",
                     (long long)space->mesh->part->n_seam_faces, (long long)found);
}

static facet_status refuse_joints(const struct continuous_space *space) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    int64_t joined = mesh->part->is_turned || space->skeleton.n_vertices != mesh->n_vertices;
    struct mesh_seam_joint *joints = NULL;
    int32_t n;
    TRY(mesh_find_seam_joints(mesh, &joints, &n));
    joined = joined || n > 0;
    TRY(team_reduce_counts(mesh->part->team, TEAM_MAX, 1, &joined));
    if (joined)
        FAIL(FACET_ERROR_INPUT,
             "joined sides of the discretization condensed are not distributed yet; use the program facet");
done:
    base_free(&joints);
    return status;
}

/* The seam of all nodes. */
static facet_status share_nodes(struct continuous_space *space, int64_t n_nodes) {
    facet_status status = FACET_OK;
    struct base_team *team = space->mesh->part->team;
    struct team_neighbour *neighbours = NULL;
    struct team_key *keys = NULL;
    int32_t *nodes = NULL;
    int64_t *unit = NULL, n_keys = 0;
    int n = 0;
    TRY(refuse_joints(space));
    TRY(ALLOC(nodes, n_nodes));
    TRY(ALLOC(keys, n_nodes));
    TRY(list_keys(space, n_nodes, &n_keys, nodes, keys));
    TRY(team_find_neighbours(team, n_keys, nodes, keys, &n, &neighbours));
    TRY(check_faces(space, n_nodes, neighbours, n));
    TRY(ALLOC(unit, n_nodes + 1));
    for (int64_t i = 0; i <= n_nodes; i++) unit[i] = i;
    TRY(seam_create(team, n_nodes, unit, n, neighbours, &space->seam));
done:
    team_free_neighbours(n, &neighbours);
    base_free(&nodes);
    base_free(&keys);
    base_free(&unit);
    return status;
}

/* What is held in one part is held in all. */
static facet_status join_held(const struct continuous_space *space, int64_t n_nodes, uint8_t *held) {
    facet_status status = FACET_OK;
    double *sums = NULL;
    if (space->seam == NULL) return FACET_OK;
    TRY(ALLOC(sums, n_nodes));
    for (int64_t i = 0; i < n_nodes; i++) sums[i] = held[i];
    TRY(seam_add_blocks(space->seam, space->seam->offsets, sums));
    for (int64_t i = 0; i < n_nodes; i++) held[i] = sums[i] > 0.0;
done:
    base_free(&sums);
    return status;
}

int64_t continuous_n_owned(const struct continuous_space *space, const struct trace_space *trace) {
    int64_t n = trace->n_all;
    for (int64_t k = 0; space->seam != NULL && k < space->seam->n_foreign; k++)
        n -= trace->face_first[space->seam->foreign[2 * k + 1]] -
             trace->face_first[space->seam->foreign[2 * k]];
    return n;
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
    if (mesh->part != NULL) TRY(share_nodes(space, trace->n_faces));
    TRY(join_held(space, trace->n_faces, held));
    TRY(trace_space_number(trace, held));
    if (space->seam != NULL) /* that of the free ones, for vectors */
        TRY(trace_space_share(trace, space->seam->team, space->seam->n_neighbours, space->seam->neighbours));
done:
    base_free(&held);
    if (status != FACET_OK) continuous_space_destroy(space);
    if (status != FACET_OK) trace_space_destroy(trace);
    return status;
}

void continuous_space_destroy(struct continuous_space *space) {
    seam_release(&space->seam);
    mesh_skeleton_destroy(&space->skeleton);
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&space->nodes[b]);
    *space = (struct continuous_space){0};
}
