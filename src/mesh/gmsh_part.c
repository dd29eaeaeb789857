/* Parts of meshes that Gmsh has partitioned and split into files: the entities that it makes of them, and the
 * faces at which a part may be joined to others.
 *
 * What lies between two parts is an entity of its own, with elements, which carries the physical numbers of
 * the entity that was cut: those of a surface, say, on a curve. They are numbers of another dimension, and
 * are left out: a seam must not become a part of the boundary that happens to have the same number. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/gmsh.h"
#include "mesh/mesh_internal.h"

/* ---------------------------------------------------------------------------------------- the entities */

/* tag, dimension and tag of the parent, partitions, and what other entities have. */
static facet_status parse_entity(struct gmsh_scanner *s, struct gmsh_file *file, struct gmsh_entity *entity) {
    facet_status status = FACET_OK;
    int64_t n;
    int parent_dim, parent;
    TRY(gmsh_int(s, "the tag of an entity", &entity->tag));
    TRY(gmsh_int(s, "the dimension of a parent", &parent_dim));
    TRY(gmsh_int(s, "the tag of a parent", &parent));
    TRY(gmsh_count(s, "the number of an entity's partitions", 2, 4, &n));
    if (n < 1)
        TRY(gmsh_fail(s, s->at, "entity %d of dimension %d has no partition", entity->tag, entity->dim));
    for (int64_t i = 0; i < n; i++) {
        TRY(gmsh_int(s, "the number of a partition", &entity->partition));
        if (entity->partition < 1 || entity->partition > file->n_parts)
            TRY(gmsh_fail(s, s->at, "expected the number of a partition, 1 to %d, found %d", file->n_parts,
                          entity->partition));
    }
    entity->is_seam = n > 1;
    TRY(gmsh_parse_entity(s, file, entity));
    if (parent_dim != entity->dim) entity->n_physicals = 0;
done:
    return status;
}

struct ghosts {
    int64_t n;
    int *tags;
};

static facet_status parse_head(struct gmsh_scanner *s, struct gmsh_file *file, struct ghosts *ghosts) {
    facet_status status = FACET_OK;
    int64_t n;
    int partition;
    TRY(gmsh_size(s, "the number of partitions", &n));
    if (n < 1 || n > INT32_MAX) TRY(gmsh_fail(s, s->at, "expected the number of partitions"));
    file->n_parts = (int)n;
    TRY(gmsh_count(s, "the number of ghost entities", 4, 8, &ghosts->n));
    TRY(ALLOC(ghosts->tags, ghosts->n));
    for (int64_t i = 0; i < ghosts->n; i++) {
        TRY(gmsh_int(s, "the tag of a ghost entity", &ghosts->tags[i]));
        TRY(gmsh_int(s, "the partition of a ghost entity", &partition));
    }
done:
    return status;
}

/* All parts may stand here; elements are those of one. Ghosts are of the largest dimension. */
facet_status gmsh_parse_partitioned(struct gmsh_scanner *s, struct gmsh_file *file) {
    facet_status status = FACET_OK;
    struct ghosts ghosts = {0};
    int64_t counts[4], total = 0;
    int top = 0;
    file->parents = file->entities;
    file->n_parents = file->n_entities;
    file->entities = NULL;
    file->n_entities = 0;
    TRY(parse_head(s, file, &ghosts));
    for (int dim = 0; dim < 4; dim++) {
        TRY(gmsh_count(s, "the number of entities", 2, 8, &counts[dim]));
        total += counts[dim];
        if (counts[dim] > 0) top = dim;
    }
    TRY(gmsh_check_count(s, "the number of entities", total, s->binary ? 56 : 18));
    TRY(ALLOC(file->entities, total + ghosts.n));
    for (int dim = 0; dim < 4; dim++)
        for (int64_t i = 0; i < counts[dim]; i++) {
            struct gmsh_entity *entity = &file->entities[file->n_entities++];
            *entity = (struct gmsh_entity){.dim = dim};
            TRY(parse_entity(s, file, entity));
        }
    for (int64_t i = 0; i < ghosts.n; i++)
        file->entities[file->n_entities++] =
            (struct gmsh_entity){.dim = top, .tag = ghosts.tags[i], .is_ghost = 1};
    qsort(file->entities, (size_t)file->n_entities, sizeof *file->entities, gmsh_compare_dim_tag);
    for (int64_t i = 1; i < file->n_entities; i++)
        if (gmsh_compare_dim_tag(&file->entities[i - 1], &file->entities[i]) == 0)
            TRY(gmsh_fail(s, s->at, "entity %d of dimension %d appears twice among the $PartitionedEntities",
                          file->entities[i].tag, file->entities[i].dim));
done:
    base_free(&ghosts.tags);
    return status;
}

/* ---------------------------------------------------------------------------------------- open faces */

struct sides {
    struct tuple_set set;
    uint8_t *count;  /* cells of a face, up to 2 */
    int32_t *number; /* of a face among the open ones, or -1 */
};

static void sides_free(struct sides *f) {
    tuple_set_free(&f->set);
    base_free(&f->count);
    base_free(&f->number);
}

/* Its number in the set, -1: none. Vertices that no cell here has are -1. */
static int32_t find_face(const struct sides *f, int n, const int32_t *vertices) {
    int32_t key[SHAPE_MAX_FACE_VERTICES];
    for (int i = 0; i < n; i++)
        if (vertices[i] < 0) return -1;
    tuple_sort(n, vertices, SHAPE_MAX_FACE_VERTICES, key);
    return tuple_set_find(&f->set, key);
}

static int corners_of(enum shape shape, int face, const int32_t *cell, int32_t *corners) {
    const int n = shape_n_vertices(shape_face_shape(shape, face)), *local = shape_face_vertices(shape, face);
    for (int i = 0; i < n; i++) corners[i] = cell[local[i]];
    return n;
}

static facet_status collect_sides(const struct gmsh_cells *cells, struct sides *f) {
    facet_status status = FACET_OK;
    int64_t n = 0;
    for (int64_t c = 0; c < cells->n_cells; c++) n += shape_n_faces((enum shape)cells->shapes[c]);
    TRY(tuple_set_init(&f->set, SHAPE_MAX_FACE_VERTICES, n));
    TRY(CALLOC(f->count, n));
    TRY(ALLOC(f->number, n));
    for (int64_t c = 0; c < cells->n_cells; c++) {
        const enum shape shape = (enum shape)cells->shapes[c];
        for (int k = 0; k < shape_n_faces(shape); k++) {
            int32_t corners[SHAPE_MAX_FACE_VERTICES], key[SHAPE_MAX_FACE_VERTICES];
            const int m = corners_of(shape, k, cells->vertices + cells->vertex_offsets[c], corners);
            tuple_sort(m, corners, SHAPE_MAX_FACE_VERTICES, key);
            const int32_t face = tuple_set_add(&f->set, key);
            if (f->count[face] < 2) f->count[face]++;
        }
    }
done:
    return status;
}

static facet_status list_open(const struct gmsh_cells *cells, struct sides *f, struct gmsh_part *part) {
    facet_status status = FACET_OK;
    int64_t n = 0;
    for (int32_t i = 0; i < f->set.count; i++) n += f->count[i] == 1;
    TRY(ALLOC(part->open, n * SHAPE_MAX_FACE_VERTICES));
    TRY(CALLOC(part->is_seam, n));
    for (int32_t i = 0; i < f->set.count; i++) f->number[i] = -1;
    for (int64_t c = 0; c < cells->n_cells; c++) {
        const enum shape shape = (enum shape)cells->shapes[c];
        for (int k = 0; k < shape_n_faces(shape); k++) {
            int32_t corners[SHAPE_MAX_FACE_VERTICES];
            int32_t *frame = part->open + part->n_open * SHAPE_MAX_FACE_VERTICES;
            const int m = corners_of(shape, k, cells->vertices + cells->vertex_offsets[c], corners);
            const int32_t face = find_face(f, m, corners);
            if (f->count[face] != 1) continue;
            mesh_make_frame(m, corners, frame);
            for (int i = m; i < SHAPE_MAX_FACE_VERTICES; i++) frame[i] = -1;
            f->number[face] = (int32_t)part->n_open++;
        }
    }
done:
    return status;
}

/* Elements between parts must be open faces; those of cells that others have are, where they are here. */
static facet_status mark_seams(const struct gmsh_file *file, const struct gmsh_cells *cells,
                               const int32_t *vertex_of, const struct sides *f, struct gmsh_part *part) {
    for (int64_t r = 0; r < file->n_runs.count; r++) {
        const struct gmsh_run *run = &file->runs[r];
        const struct gmsh_type *type = gmsh_find_type(run->type);
        const enum shape shape = (enum shape)type->family;
        const int n = shape_n_vertices(shape), is_face = shape_dim(shape) == cells->dim - 1;
        if (!(run->is_seam && is_face) && !run->is_ghost) continue;
        for (int64_t e = 0; e < run->count; e++) {
            const int32_t *nodes = file->nodes + run->first_node + e * type->n_nodes;
            int32_t vertices[SHAPE_MAX_VERTICES], corners[SHAPE_MAX_FACE_VERTICES];
            for (int i = 0; i < n; i++) vertices[i] = vertex_of[nodes[i]];
            for (int k = 0; k < (run->is_ghost ? shape_n_faces(shape) : 1); k++) {
                const int m = run->is_ghost ? corners_of(shape, k, vertices, corners) : n;
                const int32_t face = find_face(f, m, run->is_ghost ? corners : vertices);
                const int32_t open = face < 0 ? -1 : f->number[face];
                if (open >= 0)
                    part->is_seam[open] = 1;
                else if (!run->is_ghost)
                    return base_fail(FACET_ERROR_INPUT,
                                     "element %lld lies between parts, but is not the face of one cell here",
                                     (long long)file->tags[run->first + e]);
            }
        }
    }
    return FACET_OK;
}

facet_status gmsh_part_open(const struct gmsh_file *file, const struct gmsh_cells *cells,
                            const int32_t *vertex_of, struct gmsh_part *part) {
    facet_status status = FACET_OK;
    struct sides f = {.number = NULL};
    TRY(collect_sides(cells, &f));
    TRY(list_open(cells, &f, part));
    TRY(mark_seams(file, cells, vertex_of, &f, part));
done:
    sides_free(&f);
    return status;
}
