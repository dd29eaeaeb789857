/* What the parts of a mesh know of the faces and vertices that they share. See part.h. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"

facet_status mesh_merge_faces(const struct facet_mesh *mesh, int width, int64_t *values) {
    const struct mesh_part *part = mesh->part;
    return part != NULL ? team_merge(part->team, part->n_neighbours, part->neighbours, width, values)
                        : FACET_OK;
}

facet_status mesh_merge_vertices(const struct facet_mesh *mesh, int width, int64_t *values) {
    const struct mesh_part *part = mesh->part;
    return part != NULL
               ? team_merge(part->team, part->n_vertex_neighbours, part->vertex_neighbours, width, values)
               : FACET_OK;
}

/* Of the vertices that periodic faces of this part make one, each has the largest values of all. */
static void merge_sets(const struct facet_mesh *mesh, const struct mesh_skeleton *skeleton, int width,
                       int64_t *sets, int64_t *values) {
    for (int64_t i = 0; i < (int64_t)skeleton->n_vertices * width; i++) sets[i] = INT64_MIN;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < (int64_t)mesh->n_vertices * width; i++) {
            int64_t *set = &sets[(int64_t)skeleton->vertices[i / width] * width + i % width];
            if (pass == 1) values[i] = *set;
            if (values[i] > *set) *set = values[i];
        }
}

/* The same across the faces of seams, whose copies name their vertices in one order. faces: room for
 * SHAPE_MAX_FACE_VERTICES x width numbers a face. */
static facet_status merge_across(const struct facet_mesh *mesh, int width, int64_t *faces, int64_t *values) {
    facet_status status = FACET_OK;
    const int64_t size = SHAPE_MAX_FACE_VERTICES * width;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t f = 0; f < mesh->n_faces; f++) {
            int32_t vertices[SHAPE_MAX_FACE_VERTICES];
            if (mesh->face_cells[2 * (int64_t)f + 1] != MESH_SEAM) continue;
            const int n = mesh_side_vertices(mesh, f, 0, vertices, NULL);
            for (int i = 0; i < n * width; i++) {
                int64_t *value = &values[(int64_t)vertices[i / width] * width + i % width],
                        *at = &faces[f * size + i];
                if (pass == 0)
                    *at = *value;
                else if (*at > *value)
                    *value = *at;
            }
        }
        if (pass == 0) TRY(mesh_merge_faces(mesh, (int)size, faces));
    }
done:
    return status;
}

facet_status mesh_merge_joined_vertices(const struct facet_mesh *mesh, int width, int64_t *values) {
    facet_status status = FACET_OK;
    const int64_t n = (int64_t)mesh->n_vertices * width;
    struct mesh_skeleton skeleton = {0};
    int64_t *sets = NULL, *faces = NULL, *before = NULL, more = 1;
    if (mesh->part == NULL) return FACET_OK;
    TRY(mesh_skeleton_vertices(mesh, &skeleton));
    TRY(ALLOC(sets, (int64_t)skeleton.n_vertices * width));
    TRY(CALLOC(faces, (int64_t)mesh->n_faces * SHAPE_MAX_FACE_VERTICES * width));
    TRY(ALLOC(before, n));
    while (more) { /* sets may go round through several parts */
        memcpy(before, values, (size_t)n * sizeof *values);
        merge_sets(mesh, &skeleton, width, sets, values);
        TRY(mesh_merge_vertices(mesh, width, values));
        TRY(merge_across(mesh, width, faces, values));
        more = memcmp(before, values, (size_t)n * sizeof *values) != 0;
        TRY(team_reduce_counts(mesh->part->team, TEAM_MAX, 1, &more));
    }
done:
    mesh_skeleton_destroy(&skeleton);
    base_free(&sets);
    base_free(&faces);
    base_free(&before);
    return status;
}

/* The edges of a face at a seam, between its corners i and i + 1 of the frame that both copies have. */
struct seam_edges {
    int32_t face;
    int n, forward[SHAPE_MAX_FACE_VERTICES];
    int32_t edges[SHAPE_MAX_FACE_VERTICES];
};

static facet_status list_seam_edges(const struct facet_mesh *mesh, const struct mesh_skeleton *skeleton,
                                    struct seam_edges **list) {
    facet_status status = FACET_OK;
    int32_t vertices[SHAPE_MAX_FACE_VERTICES], n = 0;
    int locals[SHAPE_MAX_FACE_VERTICES];
    TRY(ALLOC(*list, mesh->part->n_seam_faces));
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        if (mesh->face_cells[2 * (int64_t)f + 1] != MESH_SEAM) continue;
        struct seam_edges *s = &(*list)[n++];
        s->face = f;
        s->n = mesh_side_vertices(mesh, f, 0, vertices, locals);
        for (int i = 0; i < s->n; i++)
            s->edges[i] = mesh_find_edge(mesh, skeleton, mesh->face_cells[2 * (int64_t)f], locals[i],
                                         locals[(i + 1) % s->n], &s->forward[i]);
    }
done:
    return status;
}

/* Writes the numbers of edges to those of faces; or takes what is larger there, and says whether any was. */
static int pass_edges(const struct mesh_part *part, const struct seam_edges *list, int width, int directed,
                      int take, int64_t *faces, int64_t *values) {
    int more = 0;
    for (int32_t k = 0; k < part->n_seam_faces; k++)
        for (int i = 0; i < list[k].n * width; i++) {
            int64_t *value = &values[(int64_t)list[k].edges[i / width] * width + i % width],
                    *at = &faces[(int64_t)list[k].face * SHAPE_MAX_FACE_VERTICES * width + i];
            const int64_t turned = directed && !list[k].forward[i / width];
            if (!take)
                *at = *value ^ turned;
            else if (directed ? (*at >> 1) > (*value >> 1) : *at > *value) {
                *value = *at ^ turned;
                more = 1;
            }
        }
    return more;
}

facet_status mesh_merge_edges(const struct facet_mesh *mesh, const struct mesh_skeleton *skeleton, int width,
                              int directed, int64_t *values) {
    facet_status status = FACET_OK;
    struct seam_edges *list = NULL;
    int64_t *faces = NULL, more = 1;
    if (mesh->part == NULL) return FACET_OK;
    TRY(list_seam_edges(mesh, skeleton, &list));
    TRY(CALLOC(faces, (int64_t)mesh->n_faces * SHAPE_MAX_FACE_VERTICES * width));
    while (more) { /* an edge may be reached through several parts */
        pass_edges(mesh->part, list, width, directed, 0, faces, values);
        TRY(mesh_merge_faces(mesh, SHAPE_MAX_FACE_VERTICES * width, faces));
        more = pass_edges(mesh->part, list, width, directed, 1, faces, values);
        TRY(team_reduce_counts(mesh->part->team, TEAM_MAX, 1, &more));
    }
done:
    base_free(&list);
    base_free(&faces);
    return status;
}

static int64_t number_of(const struct facet_mesh *mesh, int32_t cell) {
    return mesh->part != NULL ? mesh->part->cell_numbers[cell] : cell;
}

/* labels (n_cells), at the first cell of a piece: minus the smallest cell number that it has in all parts. */
static facet_status label_pieces(const struct facet_mesh *mesh, const int32_t *piece, int64_t *labels) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = mesh->part;
    int64_t *values = NULL, more = 1;
    for (int32_t c = 0; c < mesh->n_cells; c++) labels[c] = -number_of(mesh, c);
    for (int32_t c = 0; c < mesh->n_cells; c++)
        if (labels[c] > labels[piece[c]]) labels[piece[c]] = labels[c];
    if (part != NULL) TRY(CALLOC(values, mesh->n_faces));
    while (part != NULL && more) { /* of every piece the smallest cell number reaches all its parts */
        more = 0;
        for (int32_t f = 0; f < mesh->n_faces; f++)
            values[f] = labels[piece[mesh->face_cells[2 * (int64_t)f]]];
        TRY(mesh_merge_faces(mesh, 1, values));
        for (int k = 0; k < part->n_neighbours; k++)
            for (int32_t i = 0; i < part->neighbours[k].count; i++) {
                const int32_t face = part->neighbours[k].items[i];
                int64_t *label = &labels[piece[mesh->face_cells[2 * (int64_t)face]]];
                if (values[face] <= *label) continue;
                *label = values[face];
                more = 1;
            }
        TRY(team_reduce_counts(part->team, TEAM_MAX, 1, &more));
    }
done:
    base_free(&values);
    return status;
}

static int compare_down(const void *one, const void *two) {
    const int64_t a = *(const int64_t *)one, b = *(const int64_t *)two;
    return (a < b) - (a > b);
}

/* The labels of all pieces; *all is to be freed. */
static facet_status gather_labels(const struct facet_mesh *mesh, const int32_t *piece, const int64_t *labels,
                                  int64_t **all, int64_t *n) {
    facet_status status = FACET_OK;
    struct base_team *team = mesh_team(mesh);
    int64_t *counts = NULL, here = 0, first = 0;
    for (int32_t c = 0; c < mesh->n_cells; c++) here += -number_of(mesh, c) == labels[piece[c]];
    TRY(ALLOC(counts, team_size(team)));
    counts[0] = here;
    if (team != NULL) TRY(team_gather(team, 1, &here, counts));
    *n = 0;
    for (int r = 0; r < team_size(team); r++) {
        if (r == team_rank(team)) first = *n;
        *n += counts[r];
    }
    TRY(CALLOC(*all, *n));
    for (int32_t c = 0; c < mesh->n_cells; c++)
        if (-number_of(mesh, c) == labels[piece[c]]) (*all)[first++] = labels[piece[c]];
    TRY(team_reduce_counts(team, TEAM_SUM, (int)*n, *all));
    qsort(*all, (size_t)*n, sizeof **all, compare_down);
done:
    base_free(&counts);
    return status;
}

facet_status mesh_number_pieces(const struct facet_mesh *mesh, int32_t *piece, int32_t *n_pieces) {
    facet_status status = FACET_OK;
    int64_t *labels = NULL, *all = NULL, n = 0;
    TRY(ALLOC(labels, mesh->n_cells));
    TRY(label_pieces(mesh, piece, labels));
    TRY(gather_labels(mesh, piece, labels, &all, &n));
    for (int32_t c = 0; c < mesh->n_cells; c++) { /* first cells come first */
        const int32_t first = piece[c];
        if (first != c) continue;
        const int64_t *found = bsearch(&labels[c], all, (size_t)n, sizeof *all, compare_down);
        labels[c] = found - all;
    }
    for (int32_t c = 0; c < mesh->n_cells; c++) piece[c] = (int32_t)labels[piece[c]];
    *n_pieces = (int32_t)n;
done:
    base_free(&labels);
    base_free(&all);
    return status;
}

facet_status mesh_piece_text(const struct facet_mesh *mesh, const int32_t *numbers, int32_t number,
                             char text[MESH_PLACE_BYTES]) {
    facet_status status = FACET_OK;
    struct base_team *team = mesh_team(mesh);
    int64_t smallest = INT64_MAX, own = INT64_MAX, owner = team_rank(team);
    int32_t cell = 0;
    for (int32_t c = 0; c < mesh->n_cells; c++)
        if (numbers[c] == number && number_of(mesh, c) < own) own = number_of(mesh, cell = c);
    smallest = own;
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &smallest));
    if (smallest != own) owner = team_size(team);
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &owner));
    mesh_middle_text(mesh, cell, -1, text, MESH_PLACE_BYTES);
    TRY(team_broadcast(team, (int)owner, text, MESH_PLACE_BYTES));
done:
    return status;
}
