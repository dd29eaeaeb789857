/* Patches of faces around cells, vertices and edges; their colours; K by rows of faces, and its parts that
 * belong to patches. See face_patch_sets.h. */
#include "bench/papers/face_patch_sets.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "trace/sides.h"

#define MAX_SHARED_COLOURS 64

/* ------------------------------------------------------------------------------ patches */

/* Which entity (cell, vertex, edge) has which block: pairs in any order. */
struct incidence {
    int64_t n_entities, n, room;
    int32_t *entities;
    int64_t *blocks;
};

static facet_status add_pair(struct incidence *p, int32_t entity, int64_t block) {
    facet_status status = FACET_OK;
    if (p->n == p->room) {
        int64_t room = 2 * p->room + 1024;
        TRY(base_realloc(&p->entities, (size_t)room, sizeof *p->entities));
        TRY(base_realloc(&p->blocks, (size_t)room, sizeof *p->blocks));
        p->room = room;
    }
    p->entities[p->n] = entity;
    p->blocks[p->n++] = block;
done:
    return status;
}

static int contains(const int *list, int n, int value) {
    for (int i = 0; i < n; i++)
        if (list[i] == value) return 1;
    return 0;
}

/* The pairs of one block, by its first cell: both sides of a face see the same vertices and edges. */
static facet_status add_face(const struct facet_mesh *mesh, const struct mesh_skeleton *skeleton,
                             enum trace_patch kind, int32_t face, int64_t block, struct incidence *p) {
    facet_status status = FACET_OK;
    int32_t cell = mesh->face_cells[2 * (int64_t)face], other = mesh->face_cells[2 * (int64_t)face + 1];
    const struct mesh_block *b = mesh_block_of(mesh, cell);
    int local = mesh->face_locals[2 * (int64_t)face], corners = shape_n_vertices(mesh->face_shapes[face]);
    const int *vertices = shape_face_vertices(b->shape, local);
    int64_t at = cell - b->first;
    if (kind == TRACE_PATCH_CELL) {
        TRY(add_pair(p, cell, block));
        if (other >= 0) TRY(add_pair(p, other, block));
    } else if (kind == TRACE_PATCH_VERTEX) {
        const int32_t *numbers = b->vertices + at * shape_n_vertices(b->shape);
        for (int v = 0; v < corners; v++) TRY(add_pair(p, skeleton->vertices[numbers[vertices[v]]], block));
    } else {
        int n_edges = shape_n_entities(b->shape, 1);
        for (int e = 0; e < n_edges; e++) {
            const int *ends = shape_entity_vertices(b->shape, 1, e);
            if (contains(vertices, corners, ends[0]) && contains(vertices, corners, ends[1]))
                TRY(add_pair(p, skeleton->edges[b - mesh->blocks][at * n_edges + e], block));
        }
    }
done:
    return status;
}

static facet_status find_pairs(const struct trace_space *space, enum trace_patch kind, struct incidence *p) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    struct mesh_skeleton skeleton = {0};
    if (kind == TRACE_PATCH_EDGE && mesh->dim == 2)
        FAIL(FACET_ERROR_INPUT, "the edges of a plane mesh are its faces, and no patches");
    if (kind != TRACE_PATCH_CELL) TRY(mesh_skeleton_create(mesh, &skeleton));
    p->n_entities = kind == TRACE_PATCH_CELL     ? mesh->n_cells
                    : kind == TRACE_PATCH_VERTEX ? skeleton.n_vertices
                                                 : skeleton.n_edges;
    for (int64_t b = 0; b < space->n_free_faces; b++)
        TRY(add_face(mesh, &skeleton, kind, space->free_faces[b], b, p));
done:
    mesh_skeleton_destroy(&skeleton);
    return status;
}

/* The pairs sorted by entity; blocks stay in ascending order. offsets: n_entities + 1. */
static facet_status sort_pairs(const struct incidence *p, int64_t **offsets, int64_t **sorted) {
    facet_status status = FACET_OK;
    TRY(base_group(p->n_entities, p->n, p->entities, offsets, sorted));
    for (int64_t k = 0; k < p->n; k++) (*sorted)[k] = p->blocks[(*sorted)[k]];
done:
    return status;
}

static int meets_itself(const int64_t *blocks, int64_t n) {
    for (int64_t i = 1; i < n; i++)
        if (blocks[i] == blocks[i - 1]) return 1;
    return 0;
}

/* Patches of all entities that have blocks and do not meet themselves; then blocks that are in none of them,
 * each by itself. */
static facet_status list_patches(const struct trace_space *space, enum trace_patch kind,
                                 struct patch_set *set) {
    facet_status status = FACET_OK;
    struct incidence pairs = {0};
    int64_t *offsets = NULL, *sorted = NULL, at = 0;
    uint8_t *covered = NULL;
    TRY(find_pairs(space, kind, &pairs));
    TRY(sort_pairs(&pairs, &offsets, &sorted));
    TRY(CALLOC(covered, space->n_free_faces));
    TRY(ALLOC(set->first, pairs.n_entities + space->n_free_faces + 1));
    TRY(ALLOC(set->blocks, pairs.n + space->n_free_faces));
    set->first[0] = 0;
    for (int64_t e = 0; e < pairs.n_entities; e++) {
        int64_t n = offsets[e + 1] - offsets[e];
        const int64_t *blocks = sorted + offsets[e];
        if (n == 0 || meets_itself(blocks, n)) continue;
        for (int64_t i = 0; i < n; i++) covered[set->blocks[at++] = blocks[i]] = 1;
        set->first[++set->n] = at;
    }
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        if (covered[b]) continue;
        set->blocks[at++] = b;
        set->first[++set->n] = at;
    }
done:
    base_free(&pairs.entities);
    base_free(&pairs.blocks);
    base_free(&offsets);
    base_free(&sorted);
    base_free(&covered);
    return status;
}

/* ------------------------------------------------------------------------------ colours */

/* The colours of all cells of a patch; or, with `mark`, that they have this colour now. */
static uint64_t cell_colours(const struct trace_space *space, const struct patch_set *set, int64_t patch,
                             uint64_t mark, uint64_t *taken) {
    uint64_t used = 0;
    for (int64_t k = set->first[patch]; k < set->first[patch + 1]; k++)
        for (int side = 0; side < 2; side++) {
            int32_t cell = space->mesh->face_cells[2 * (int64_t)space->free_faces[set->blocks[k]] + side];
            if (cell < 0) continue;
            taken[cell] |= mark;
            used |= taken[cell];
        }
    return used;
}

/* Greedy: the lowest colour that no patch with a common cell has; where very many meet, one of its own. */
static facet_status choose_colours(const struct trace_space *space, struct patch_set *set, int32_t *colour) {
    facet_status status = FACET_OK;
    uint64_t *taken = NULL;
    int n_own = 0, n_shared = 0;
    TRY(CALLOC(taken, space->mesh->n_cells));
    for (int64_t p = 0; p < set->n; p++) {
        uint64_t used = cell_colours(space, set, p, 0, taken);
        int32_t c = 0;
        while (c < MAX_SHARED_COLOURS && (used >> c & 1)) c++;
        if (c == MAX_SHARED_COLOURS) {
            colour[p] = c + n_own++;
            continue;
        }
        cell_colours(space, set, p, (uint64_t)1 << c, taken);
        colour[p] = c;
        if (c + 1 > n_shared) n_shared = c + 1;
    }
    set->n_colours = n_own > 0 ? MAX_SHARED_COLOURS + n_own : n_shared;
done:
    base_free(&taken);
    return status;
}

/* Patches in the order of their colours. */
facet_status patch_set_colour(const struct trace_space *space, struct patch_set *set) {
    facet_status status = FACET_OK;
    int32_t *colour = NULL;
    int64_t *first = NULL, *blocks = NULL, *order = NULL, at = 0;
    TRY(ALLOC(colour, set->n));
    TRY(choose_colours(space, set, colour));
    TRY(base_group(set->n_colours, set->n, colour, &set->colour_starts, &order));
    TRY(ALLOC(first, set->n + 1));
    TRY(ALLOC(blocks, set->first[set->n]));
    first[0] = 0;
    for (int64_t p = 0; p < set->n; p++) {
        for (int64_t k = set->first[order[p]]; k < set->first[order[p] + 1]; k++)
            blocks[at++] = set->blocks[k];
        first[p + 1] = at;
    }
    base_free(&set->first);
    base_free(&set->blocks);
    set->first = first;
    set->blocks = blocks;
    first = blocks = NULL;
done:
    base_free(&colour);
    base_free(&order);
    base_free(&first);
    base_free(&blocks);
    return status;
}

facet_status patch_set_create(const struct trace_space *space, enum trace_patch kind, struct patch_set *set) {
    facet_status status = FACET_OK;
    *set = (struct patch_set){0};
    TRY(list_patches(space, kind, set));
    for (int64_t p = 0; p < set->n; p++)
        if (patch_size(space, set, p) > set->largest) set->largest = patch_size(space, set, p);
done:
    if (status != FACET_OK) patch_set_destroy(set);
    return status;
}

void patch_set_destroy(struct patch_set *set) {
    base_free(&set->first);
    base_free(&set->blocks);
    base_free(&set->colour_starts);
    *set = (struct patch_set){0};
}

/* ------------------------------------------------------------------------------ rows of K */

static int64_t block_size(const struct trace_space *space, int64_t b) {
    return space->free_offsets[b + 1] - space->free_offsets[b];
}

int64_t patch_size(const struct trace_space *space, const struct patch_set *set, int64_t patch) {
    int64_t n = 0;
    for (int64_t k = set->first[patch]; k < set->first[patch + 1]; k++)
        n += block_size(space, set->blocks[k]);
    return n;
}

/* The blocks that block b is coupled with; their number. */
static int neighbours(const struct trace_space *space, const int64_t *block_of_face, int64_t b,
                      int64_t list[2 * SHAPE_MAX_FACES]) {
    int n = 0;
    for (int which = 0; which < 2; which++) {
        struct trace_side side;
        if (!trace_side(space, space->free_faces[b], which, &side)) continue;
        for (int f = 0; f < side.n_faces; f++) {
            int64_t other = block_of_face[side.faces[f]];
            int k = 0;
            while (k < n && list[k] != other) k++;
            if (other >= 0 && k == n) list[n++] = other;
        }
    }
    return n;
}

static facet_status place_panels(const struct trace_space *space, const int64_t *block_of_face,
                                 struct block_rows *rows) {
    facet_status status = FACET_OK;
    int64_t list[2 * SHAPE_MAX_FACES];
    TRY(ALLOC(rows->panel_first, space->n_free_faces + 1));
    rows->panel_first[0] = 0;
    for (int64_t b = 0; b < space->n_free_faces; b++)
        rows->panel_first[b + 1] = rows->panel_first[b] + neighbours(space, block_of_face, b, list);
    rows->n_panels = rows->panel_first[space->n_free_faces];
    TRY(ALLOC(rows->blocks, rows->n_panels));
    TRY(ALLOC(rows->columns, rows->n_panels));
    TRY(ALLOC(rows->starts, rows->n_panels));
    TRY(ALLOC(rows->sizes, rows->n_panels));
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int n = neighbours(space, block_of_face, b, list);
        for (int k = 0; k < n; k++) {
            int64_t at = rows->panel_first[b] + k;
            rows->blocks[at] = list[k];
            rows->columns[at] = space->free_offsets[list[k]];
            rows->sizes[at] = (int32_t)block_size(space, list[k]);
            rows->starts[at] = rows->n_values;
            rows->n_values += block_size(space, b) * rows->sizes[at];
        }
    }
done:
    return status;
}

/* Adds what the cells of block b give to its panels. */
static void fill_row(const struct trace_space *space, const struct trace_view *view,
                     const int64_t *block_of_face, int64_t b, struct block_rows *rows) {
    int64_t m = block_size(space, b);
    for (int which = 0; which < 2; which++) {
        struct trace_side side;
        if (!trace_side(space, space->free_faces[b], which, &side)) continue;
        const double *K = trace_view_cell(view, side.block, side.cell);
        for (int f = 0; f < side.n_faces; f++) {
            int64_t other = block_of_face[side.faces[f]], k = rows->panel_first[b];
            if (other < 0) continue;
            while (rows->blocks[k] != other) k++;
            double *panel = rows->values + rows->starts[k];
            for (int j = side.starts[f]; j < side.starts[f + 1]; j++)
                for (int64_t i = 0; i < m; i++)
                    *panel++ += trace_entry(K, view->matrices->lanes, side.starts[side.local] + (int)i, j);
        }
    }
}

facet_status block_rows_create(const struct trace_space *space, const struct trace_matrices *matrices,
                               struct block_rows *rows) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    int64_t *block_of_face = NULL;
    *rows = (struct block_rows){0};
    TRY(ALLOC(block_of_face, space->mesh->n_faces));
    for (int32_t f = 0; f < space->mesh->n_faces; f++) block_of_face[f] = -1;
    for (int64_t b = 0; b < space->n_free_faces; b++) block_of_face[space->free_faces[b]] = b;
    TRY(place_panels(space, block_of_face, rows));
    TRY(CALLOC(rows->values, rows->n_values));
    TRY(trace_view_open(matrices, &view));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t b = 0; b < space->n_free_faces; b++) fill_row(space, &view, block_of_face, b, rows);
done:
    trace_view_close(&view);
    base_free(&block_of_face);
    if (status != FACET_OK) block_rows_destroy(rows);
    return status;
}

void block_rows_destroy(struct block_rows *rows) {
    base_free(&rows->panel_first);
    base_free(&rows->blocks);
    base_free(&rows->columns);
    base_free(&rows->starts);
    base_free(&rows->sizes);
    base_free(&rows->values);
    *rows = (struct block_rows){0};
}

/* B = the part of K that belongs to a patch of n unknowns. */
static void patch_matrix(const struct trace_space *space, const struct block_rows *rows,
                         const struct patch_set *set, int64_t patch, int64_t n, int32_t *place, double *B) {
    const int64_t *blocks = set->blocks + set->first[patch];
    int64_t n_blocks = set->first[patch + 1] - set->first[patch], row = 0, at = 0;
    for (int64_t k = 0; k < n_blocks; k++) {
        place[blocks[k]] = (int32_t)at;
        at += block_size(space, blocks[k]);
    }
    memset(B, 0, (size_t)(n * n) * sizeof *B);
    for (int64_t k = 0; k < n_blocks; k++) {
        int64_t m = block_size(space, blocks[k]);
        for (int64_t p = rows->panel_first[blocks[k]]; p < rows->panel_first[blocks[k] + 1]; p++) {
            int64_t column = place[rows->blocks[p]];
            for (int64_t j = 0; j < rows->sizes[p] && column >= 0; j++)
                memcpy(B + (column + j) * n + row, rows->values + rows->starts[p] + j * m,
                       (size_t)m * sizeof *B);
        }
        row += m;
    }
    for (int64_t k = 0; k < n_blocks; k++) place[blocks[k]] = -1;
}

facet_status patch_invert(const struct trace_space *space, const struct block_rows *rows,
                          const struct patch_set *set, int64_t patch, int32_t *place, double *B) {
    int64_t n = patch_size(space, set, patch);
    patch_matrix(space, rows, set, patch, n, place, B);
    if (solve_invert(n, B)) return FACET_OK;
    return base_fail(FACET_NOT_CONVERGED, "the matrix is not positive definite: patch of face %d",
                     (int)space->free_faces[set->blocks[set->first[patch]]]);
}
