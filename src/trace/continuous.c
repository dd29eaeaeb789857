/* Numbering of the unknowns of a continuous method, and what follows from it alone. */
#include "trace/continuous.h"

#include "base/memory.h"
#include "trace/slots.h"

/* ------------------------------------------------------------------------------------------ vertices */

static int32_t root_of(int32_t *parents, int32_t vertex) {
    while (parents[vertex] != vertex) {
        parents[vertex] = parents[parents[vertex]];
        vertex = parents[vertex];
    }
    return vertex;
}

/* The mesh vertices of a face in the order of its frame, as one of its sides (0 or 1) sees them. */
static void side_ends(const struct facet_mesh *mesh, int32_t face, int side, int32_t *ends) {
    int32_t cell = mesh->face_cells[2 * (int64_t)face + side];
    int local = mesh->face_locals[2 * (int64_t)face + side];
    const struct mesh_block *b = mesh_block_of(mesh, cell);
    int64_t in_block = cell - b->first;
    const int *corners = shape_face_vertices(b->shape, local);
    const int *order =
        shape_permutation(SHAPE_SEGMENT, b->orientations[in_block * shape_n_faces(b->shape) + local]);
    for (int i = 0; i < 2; i++)
        ends[i] = b->vertices[in_block * shape_n_vertices(b->shape) + corners[order[i]]];
}

/* Vertices of one node: joined by the faces they are ends of. The lowest of them leads, and leaders are
 * numbered in order. */
static facet_status number_vertices(struct continuous_space *space) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    int32_t *parents = space->vertex_node;
    for (int32_t v = 0; v < mesh->n_vertices; v++) parents[v] = v;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t ends[2][2];
        if (mesh->face_cells[2 * (int64_t)f + 1] < 0) continue;
        for (int side = 0; side < 2; side++) side_ends(mesh, f, side, ends[side]);
        for (int i = 0; i < 2; i++) {
            int32_t a = root_of(parents, ends[0][i]), b = root_of(parents, ends[1][i]);
            if (a < b) parents[b] = a;
            if (b < a) parents[a] = b;
        }
    }
    for (int32_t v = 0; v < mesh->n_vertices; v++) parents[v] = root_of(parents, v);
    for (int32_t v = 0; v < mesh->n_vertices; v++) /* a leader comes before those it leads */
        parents[v] = parents[v] == v ? space->n_vertices++ : parents[parents[v]];
    return status;
}

void continuous_face_ends(const struct continuous_space *space, int32_t face, int32_t *ends) {
    side_ends(space->mesh, face, 0, ends);
    for (int i = 0; i < 2; i++) ends[i] = space->vertex_node[ends[i]];
}

/* ------------------------------------------------------------------------------------------ unknowns */

static facet_status number_unknowns(struct continuous_space *space, const uint8_t *eliminated) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    uint8_t *held = NULL;
    TRY(CALLOC(held, space->n_nodes));
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t ends[2];
        if (!eliminated[f]) continue;
        continuous_face_ends(space, f, ends);
        held[ends[0]] = held[ends[1]] = held[space->n_vertices + f] = 1;
    }
    for (int32_t node = 0; node < space->n_nodes; node++)
        space->first[node + 1] = space->first[node] + (node < space->n_vertices ? 1 : space->degree - 1);
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

/* The node of a local vertex or face of a cell, and where its unknowns begin among the cell's. */
static int32_t cell_node(const struct continuous_space *space, int block, int64_t cell, int local,
                         int32_t *slot) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    int n_vertices = shape_n_vertices(b->shape), face = local - n_vertices;
    *slot = face < 0 ? local : n_vertices + face * (space->degree - 1);
    return face < 0 ? space->vertex_node[b->vertices[cell * n_vertices + local]]
                    : space->n_vertices + b->faces[cell * shape_n_faces(b->shape) + face];
}

static int n_cell_nodes(const struct continuous_space *space, int block) {
    enum shape shape = space->mesh->blocks[block].shape;
    return shape_n_vertices(shape) + shape_n_faces(shape);
}

static facet_status list_unknowns(struct continuous_space *space) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    for (int b = 0; b < mesh->n_blocks; b++) {
        enum shape shape = mesh->blocks[b].shape;
        int n = space->n[b] = shape_n_vertices(shape) + shape_n_faces(shape) * (space->degree - 1);
        TRY(ALLOC(space->unknowns[b], (int64_t)mesh->blocks[b].count * n));
        for (int64_t cell = 0; cell < mesh->blocks[b].count; cell++)
            for (int local = 0; local < n_cell_nodes(space, b); local++) {
                int32_t slot, node = cell_node(space, b, cell, local, &slot);
                for (int64_t i = space->first[node]; i < space->first[node + 1]; i++)
                    space->unknowns[b][cell * n + slot++] = (int32_t)i;
            }
    }
done:
    return status;
}

static facet_status list_places(struct continuous_space *space) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    int64_t n = 0;
    int32_t slot;
    for (int b = 0; b < mesh->n_blocks; b++) n += (int64_t)mesh->blocks[b].count * n_cell_nodes(space, b);
    TRY(ALLOC(space->places, n));
    int64_t *next = space->place_starts + 1; /* becomes the starts when every node has been filled */
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int64_t cell = 0; cell < mesh->blocks[b].count; cell++)
            for (int local = 0; local < n_cell_nodes(space, b); local++)
                next[cell_node(space, b, cell, local, &slot) + 1]++;
    for (int32_t node = 0; node < space->n_nodes; node++) next[node + 1] += next[node];
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int64_t cell = 0; cell < mesh->blocks[b].count; cell++)
            for (int local = 0; local < n_cell_nodes(space, b); local++) {
                int32_t node = cell_node(space, b, cell, local, &slot);
                space->places[next[node]++] =
                    (struct continuous_place){mesh->blocks[b].first + (int32_t)cell, slot};
            }
done:
    return status;
}

facet_status continuous_space_create(const struct facet_mesh *mesh, int degree, const uint8_t *eliminated,
                                     struct continuous_space *space) {
    facet_status status = FACET_OK;
    *space = (struct continuous_space){.mesh = mesh, .degree = degree};
    if (mesh->dim != 2) FAIL(FACET_ERROR_INPUT, "the condensed method needs a mesh of two dimensions");
    TRY(ALLOC(space->vertex_node, mesh->n_vertices));
    TRY(number_vertices(space));
    space->n_nodes = space->n_vertices + mesh->n_faces;
    TRY(CALLOC(space->first, space->n_nodes + 1));
    TRY(ALLOC(space->block_offsets, space->n_nodes + 1));
    TRY(ALLOC(space->block_nodes, space->n_nodes));
    TRY(CALLOC(space->place_starts, space->n_nodes + 2));
    TRY(number_unknowns(space, eliminated));
    TRY(list_unknowns(space));
    TRY(list_places(space));
done:
    if (status != FACET_OK) continuous_space_destroy(space);
    return status;
}

void continuous_space_destroy(struct continuous_space *space) {
    base_free(&space->vertex_node);
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
    *slots = (struct trace_slots){.mesh = space->mesh, .n_entities = space->n_all, .first = first};
    for (int b = 0; b < space->mesh->n_blocks; b++) {
        slots->n_slots[b] = space->n[b];
        slots->entities[b] = space->unknowns[b];
    }
}

facet_status continuous_operator_create(const struct continuous_space *space,
                                        const struct trace_matrices *matrices, enum trace_form form,
                                        struct operator* A) {
    facet_status status = FACET_OK;
    struct trace_slots slots;
    struct csr csr = {0};
    *A = (struct operator){0};
    unknown_slots(space, space->free, &slots);
    if (form == TRACE_CELLS) return trace_slots_operator(&slots, matrices, space->n_free, A);
    if (form == TRACE_FACETS)
        return base_fail(FACET_ERROR_INPUT, "a continuous method has no product face by face");
    TRY(continuous_assemble(space, matrices, &csr));
    TRY(trace_csr_operator(matrices->device, &csr, form, A));
done:
    csr_destroy(&csr);
    return status;
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
