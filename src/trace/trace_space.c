/* Numbering of the trace unknowns. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/seam.h"
#include "mesh/part.h"
#include "poly/basis.h"
#include "trace/trace.h"

/* What stands before a face: unknowns, free ones, and faces that have some. */
struct tally {
    int64_t all, free, faces;
};

static void tally_face(const struct trace_space *space, const uint8_t *eliminated, int64_t f,
                       struct tally *t) {
    const int64_t size = space->records[f].size;
    t->all += size;
    t->free += eliminated[f] ? 0 : size;
    t->faces += !eliminated[f] && size > 0;
}

/* The faces are shared out in pieces: each is counted, then numbered from what stands before it. */
facet_status trace_space_number(struct trace_space *space, const uint8_t *eliminated) {
    enum { PIECES = 64 };
    facet_status status = FACET_OK;
    const int64_t n = space->n_faces;
    struct tally before[PIECES + 1] = {{0}};
    TRY(ALLOC(space->face_first, n + 1));
    TRY(ALLOC(space->face_free, n));
    TRY(ALLOC(space->free_offsets, n + 1));
    TRY(ALLOC(space->free_faces, n));
#pragma omp parallel for num_threads(base_threads_for(n)) schedule(static)
    for (int p = 0; p < PIECES; p++)
        for (int64_t f = n * p / PIECES; f < n * (p + 1) / PIECES; f++)
            tally_face(space, eliminated, f, &before[p + 1]);
    for (int p = 0; p < PIECES; p++) {
        before[p + 1].all += before[p].all;
        before[p + 1].free += before[p].free;
        before[p + 1].faces += before[p].faces;
    }
#pragma omp parallel for num_threads(base_threads_for(n)) schedule(static)
    for (int p = 0; p < PIECES; p++) {
        struct tally t = before[p];
        for (int64_t f = n * p / PIECES; f < n * (p + 1) / PIECES; f++) {
            space->face_first[f] = t.all;
            space->face_free[f] = eliminated[f] ? -1 : t.free;
            if (!eliminated[f] && space->records[f].size > 0) {
                space->free_offsets[t.faces] = t.free;
                space->free_faces[t.faces] = (int32_t)f;
            }
            tally_face(space, eliminated, f, &t);
        }
    }
    space->face_first[n] = before[PIECES].all;
    space->n_free = before[PIECES].free;
    space->n_free_faces = before[PIECES].faces;
    space->n_all = space->face_first[n];
    space->free_offsets[space->n_free_faces] = space->n_free;
    if (space->n_free > INT32_MAX)
        FAIL(FACET_ERROR_INPUT,
             "%lld trace unknowns are more than 2^31 - 1; use a coarser mesh or a lower degree",
             (long long)space->n_free);
done:
    return status;
}

/* Which of the sides of a face that are here sees its second trace; -1: none does. */
static int second_side(const struct facet_mesh *mesh, const uint8_t *two, int32_t f) {
    const int32_t other = mesh->face_cells[2 * (int64_t)f + 1];
    if (!two[f] || other == MESH_BOUNDARY) return -1;
    return other >= 0 ? 1 : two[f] == TRACE_SECOND_HERE ? 0 : -1;
}

/* The second traces: entries behind those of the mesh, and lists of slots that know them. all: eliminated
 * flags, with theirs. */
static facet_status add_second_traces(struct trace_space *space, const uint8_t *two, uint8_t *all) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    int64_t next = mesh->n_faces;
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t n = (int64_t)mesh->blocks[b].count * space->n_slots[b];
        TRY(ALLOC(space->own_faces[b], n));
        if (n > 0) memcpy(space->own_faces[b], mesh->blocks[b].faces, (size_t)n * sizeof(int32_t));
        space->faces[b] = space->own_faces[b];
    }
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        const int side = second_side(mesh, two, f);
        if (two[f] && (side >= 0 || mesh->face_cells[2 * (int64_t)f + 1] == MESH_SEAM))
            space->records[f].n_traces = 2;
        if (side < 0) continue;
        const int32_t cell = mesh->face_cells[2 * (int64_t)f + side];
        const struct mesh_block *block = mesh_block_of(mesh, cell);
        int b = (int)(block - mesh->blocks);
        space->records[next] = space->records[f];
        all[next] = all[f];
        space->own_faces[b][(int64_t)(cell - block->first) * space->n_slots[b] +
                            mesh->face_locals[2 * (int64_t)f + side]] = (int32_t)next;
        next++;
    }
done:
    return status;
}

static facet_status copy_whole(struct trace_space *space, const struct trace_extras *extras) {
    facet_status status = FACET_OK;
    TRY(CALLOC(space->whole, space->n_turns));
    for (int64_t f = 0; f < space->mesh->n_faces; f++) {
        int32_t turn = space->records[f].turn;
        int64_t size = space->records[f].size;
        if (turn < 0 || extras->whole[turn] == NULL || space->whole[turn] != NULL) continue;
        TRY(ALLOC(space->whole[turn], size * size));
        memcpy(space->whole[turn], extras->whole[turn], (size_t)(size * size) * sizeof(double));
    }
done:
    return status;
}

facet_status trace_space_share(struct trace_space *space, struct base_team *team, int n_neighbours,
                               const struct team_neighbour *neighbours) {
    facet_status status = FACET_OK;
    struct team_neighbour *shared = NULL;
    int32_t *blocks = NULL;
    TRY(ALLOC(blocks, space->n_faces));
    for (int64_t f = 0; f < space->n_faces; f++) blocks[f] = -1;
    for (int64_t b = 0; b < space->n_free_faces; b++) blocks[space->free_faces[b]] = (int32_t)b;
    TRY(team_map_neighbours(n_neighbours, neighbours, blocks, &shared));
    TRY(seam_create(team, space->n_free_faces, space->free_offsets, n_neighbours, shared, &space->seam));
done:
    team_free_neighbours(n_neighbours, &shared);
    base_free(&blocks);
    return status;
}

/* A face is called after the larger of its cells and its place there. */
static facet_status name_blocks(const struct trace_space *space) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    int64_t *names = NULL;
    TRY(ALLOC(names, mesh->n_faces));
    for (int64_t i = 0; i < 2 * (int64_t)mesh->n_faces; i++) {
        const int32_t cell = mesh->face_cells[i];
        const int64_t name =
            cell < 0 ? -1 : SHAPE_MAX_FACES * mesh->part->cell_numbers[cell] + mesh->face_locals[i];
        if (i % 2 == 0 || name > names[i / 2]) names[i / 2] = name;
    }
    TRY(mesh_merge_faces(mesh, 1, names));
    for (int64_t b = 0; b < space->n_free_faces; b++) names[b] = names[space->free_faces[b]]; /* ascending */
    TRY(seam_set_names(space->seam, names));
done:
    base_free(&names);
    return status;
}

/* No condition stands at seams: faces there are free. */
static facet_status share_faces(struct trace_space *space) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = space->mesh->part;
    TRY(trace_space_share(space, part->team, part->n_neighbours, part->neighbours));
    TRY(name_blocks(space));
done:
    return status;
}

facet_status trace_space_create_with(const struct facet_mesh *mesh, int degree, int n_components,
                                     const uint8_t *eliminated, const struct trace_extras *extras,
                                     struct trace_space *space) {
    facet_status status = FACET_OK;
    const uint8_t *two = extras->two;
    uint8_t *all = NULL;
    *space = (struct trace_space){
        .mesh = mesh, .degree = degree, .n_components = n_components, .n_faces = mesh->n_faces};
    TRY(mesh_need_lists(mesh));
    for (int32_t f = 0; f < mesh->n_faces && two != NULL; f++)
        space->n_faces += second_side(mesh, two, f) >= 0;
    TRY(ALLOC(space->records, space->n_faces));
#pragma omp parallel for num_threads(base_threads_for(mesh->n_faces)) schedule(static)
    for (int32_t f = 0; f < mesh->n_faces; f++)
        space->records[f] =
            (struct trace_face){.shape = mesh->face_shapes[f],
                                .n_traces = 1,
                                .size = n_components * basis_size((enum shape)mesh->face_shapes[f], degree),
                                .turn = extras->turn != NULL ? extras->turn[f] : -1,
                                .face = f};
    for (int b = 0; b < mesh->n_blocks; b++) {
        enum shape shape = mesh->blocks[b].shape;
        int *slots = space->slots[b], n = space->n_slots[b] = shape_n_faces(shape);
        for (int f = 0; f < n; f++)
            slots[f + 1] = slots[f] + n_components * basis_size(shape_face_shape(shape, f), degree);
        space->faces[b] = mesh->blocks[b].faces;
    }
    if (extras->n_turns > 0) {
        int64_t n = (int64_t)extras->n_turns * n_components * n_components;
        TRY(ALLOC(space->turns, n));
        memcpy(space->turns, extras->turns, (size_t)n * sizeof *space->turns);
        space->n_turns = extras->n_turns;
    }
    if (extras->n_turns > 0 && extras->whole != NULL) TRY(copy_whole(space, extras));
    if (two != NULL) {
        TRY(ALLOC(all, space->n_faces));
        memcpy(all, eliminated, (size_t)mesh->n_faces);
        TRY(add_second_traces(space, two, all));
    }
    TRY(trace_space_number(space, two != NULL ? all : eliminated));
    if (mesh->part != NULL && two == NULL) TRY(share_faces(space)); /* second traces are of cells alone */
done:
    base_free(&all);
    if (status != FACET_OK) trace_space_destroy(space);
    return status;
}

int trace_is_shared(const struct trace_space *space) {
    return space->seam != NULL && space->seam->team->size > 1;
}

facet_status trace_space_create(const struct facet_mesh *mesh, int degree, int n_components,
                                const uint8_t *eliminated, struct trace_space *space) {
    return trace_space_create_with(mesh, degree, n_components, eliminated, &(struct trace_extras){0}, space);
}

void trace_space_destroy(struct trace_space *space) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&space->own_faces[b]);
    base_free(&space->records);
    for (int i = 0; space->whole != NULL && i < space->n_turns; i++) base_free(&space->whole[i]);
    base_free(&space->whole);
    base_free(&space->turns);
    base_free(&space->face_first);
    base_free(&space->face_free);
    base_free(&space->free_offsets);
    base_free(&space->free_faces);
    base_free(&space->fixed);
    seam_release(&space->seam);
    *space = (struct trace_space){0};
}

int trace_cell_size(const struct trace_space *space, int block) {
    return space->slots[block][space->n_slots[block]];
}

int trace_slots_differ(const struct trace_space *space, int block) {
    for (int s = 1; s < space->n_slots[block]; s++)
        if (space->slots[block][s + 1] != (s + 1) * space->slots[block][1]) return 1;
    return 0;
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

/* The turn that one face of a cell is seen through, -1: none. */
static int32_t find_turn(const struct trace_space *space, int block, int32_t cell, int slot) {
    const struct facet_mesh *mesh = space->mesh;
    if (space->turns == NULL) return -1;
    const struct trace_face *record =
        &space->records[space->faces[block][(int64_t)cell * space->n_slots[block] + slot]];
    if (record->turn < 0) return -1;
    int64_t last = 2 * (int64_t)record->face + (mesh->face_cells[2 * (int64_t)record->face + 1] >= 0);
    if (mesh->face_cells[last] != mesh->blocks[block].first + cell || mesh->face_locals[last] != slot)
        return -1;
    return record->turn;
}

const double *trace_whole_turn_of(const struct trace_space *space, int block, int32_t cell, int slot) {
    int32_t turn = space->whole != NULL ? find_turn(space, block, cell, slot) : -1;
    return turn >= 0 ? space->whole[turn] : NULL;
}

const double *trace_turn_of(const struct trace_space *space, int block, int32_t cell, int slot) {
    int32_t turn = find_turn(space, block, cell, slot);
    if (turn < 0 || (space->whole != NULL && space->whole[turn] != NULL)) return NULL;
    return space->turns + (int64_t)turn * space->n_components * space->n_components;
}

static void turn_whole(int64_t size, const double *W, int back, int64_t count, int64_t step, int64_t stride,
                       double *vectors) {
    double old[TRACE_MOST_WHOLE];
    for (int64_t k = 0; k < count; k++) {
        double *v = vectors + k * step;
        for (int64_t i = 0; i < size; i++) old[i] = v[i * stride];
        for (int64_t i = 0; i < size; i++) {
            double sum = 0.0;
            for (int64_t j = 0; j < size; j++) sum += W[back ? j * size + i : i * size + j] * old[j];
            v[i * stride] = sum;
        }
    }
}

void trace_turn_slot(const struct trace_space *space, int block, int32_t cell, int slot, int back,
                     int64_t count, int64_t step, int64_t stride, double *vectors) {
    const double *Q = trace_turn_of(space, block, cell, slot),
                 *W = trace_whole_turn_of(space, block, cell, slot);
    int nc = space->n_components;
    int64_t size = space->slots[block][slot + 1] - space->slots[block][slot], m = size / nc;
    if (W != NULL) turn_whole(size, W, back, count, step, stride, vectors);
    for (int64_t i = 0; Q != NULL && i < count * m; i++) {
        double *v = vectors + i / m * step + i % m * stride, old[3];
        for (int c = 0; c < nc; c++) old[c] = v[c * m * stride];
        for (int c = 0; c < nc; c++) {
            double sum = 0.0;
            for (int d = 0; d < nc; d++) sum += Q[back ? d * nc + c : c * nc + d] * old[d];
            v[c * m * stride] = sum;
        }
    }
}

void trace_turn(const struct trace_space *space, int block, int32_t cell, int back, int64_t count,
                int64_t step, int64_t stride, double *vectors) {
    for (int s = 0; s < space->n_slots[block] && space->turns != NULL; s++)
        trace_turn_slot(space, block, cell, s, back, count, step, stride,
                        vectors + space->slots[block][s] * stride);
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

void trace_assemble_vector(const struct trace_space *space, int lanes, double *const *locals, double *free) {
    const int n_threads = base_threads_for(space->n_free);
#pragma omp parallel for num_threads(n_threads) schedule(static, 1)
    for (int t = 0; t < n_threads; t++) { /* each has faces of its own, and goes through all cells */
        const int64_t begin = space->n_faces * t / n_threads, end = space->n_faces * (t + 1) / n_threads;
        for (int64_t f = begin; f < end; f++)
            if (space->face_free[f] >= 0)
                memset(free + space->face_free[f], 0,
                       (size_t)(space->face_first[f + 1] - space->face_first[f]) * sizeof *free);
        for (int b = 0; b < space->mesh->n_blocks; b++) {
            const int64_t n = trace_cell_size(space, b), n_slots = space->n_slots[b];
            for (int64_t i = 0; i < space->mesh->blocks[b].count * n_slots; i++) {
                const int64_t face = space->faces[b][i];
                if (face < begin || face >= end) continue;
                const int64_t cell = i / n_slots, s = i % n_slots;
                const double *local = locals[b] + cell / lanes * n * lanes + cell % lanes;
                int64_t to = space->face_free[face];
                for (int k = space->slots[b][s]; k < space->slots[b][s + 1] && to >= 0; k++)
                    free[to++] += local[(int64_t)k * lanes];
            }
        }
    }
}
