/* What the parts of a mesh know of the faces and vertices that they share. See part.h. */
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"

/* The largest of all copies of width numbers for each item. */
static facet_status merge(const struct mesh_part *part, int n_neighbours,
                          const struct part_neighbour *neighbours, int width, int64_t *values) {
    facet_status status = FACET_OK;
    struct team_message *messages = NULL;
    int64_t *out = NULL, *in = NULL, n = 0, at = 0;
    void *pending = NULL;
    for (int k = 0; k < n_neighbours; k++) n += neighbours[k].count;
    TRY(ALLOC(messages, n_neighbours));
    TRY(ALLOC(out, n * width));
    TRY(ALLOC(in, n * width));
    for (int k = 0; k < n_neighbours; k++) {
        const int64_t bytes = (int64_t)neighbours[k].count * width * (int64_t)sizeof *out;
        messages[k] = (struct team_message){.rank = neighbours[k].rank,
                                            .send = out + at,
                                            .send_bytes = bytes,
                                            .receive = in + at,
                                            .receive_bytes = bytes};
        for (int32_t i = 0; i < neighbours[k].count; i++, at += width)
            memcpy(out + at, values + (int64_t)neighbours[k].items[i] * width, (size_t)width * sizeof *out);
    }
    TRY(team_exchange_begin(part->team, n_neighbours, messages, &pending));
    TRY(team_exchange_end(part->team, &pending));
    at = 0;
    for (int k = 0; k < n_neighbours; k++)
        for (int32_t i = 0; i < neighbours[k].count; i++)
            for (int c = 0; c < width; c++, at++) {
                int64_t *to = &values[(int64_t)neighbours[k].items[i] * width + c];
                if (in[at] > *to) *to = in[at];
            }
done:
    base_free(&messages);
    base_free(&out);
    base_free(&in);
    return status;
}

facet_status mesh_merge_faces(const struct facet_mesh *mesh, int width, int64_t *values) {
    const struct mesh_part *part = mesh->part;
    return part != NULL ? merge(part, part->n_neighbours, part->neighbours, width, values) : FACET_OK;
}

facet_status mesh_merge_vertices(const struct facet_mesh *mesh, int width, int64_t *values) {
    const struct mesh_part *part = mesh->part;
    return part != NULL ? merge(part, part->n_vertex_neighbours, part->vertex_neighbours, width, values)
                        : FACET_OK;
}

facet_status mesh_spread_marks(const struct facet_mesh *mesh, const int32_t *piece, uint8_t *marks) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = mesh->part;
    int64_t *values = NULL, more = 1;
    if (part == NULL) return FACET_OK;
    TRY(CALLOC(values, mesh->n_faces));
    while (more) {
        more = 0;
        for (int k = 0; k < part->n_neighbours; k++)
            for (int32_t i = 0; i < part->neighbours[k].count; i++) {
                const int32_t face = part->neighbours[k].items[i];
                values[face] = marks[piece[mesh->face_cells[2 * (int64_t)face]]];
            }
        TRY(mesh_merge_faces(mesh, 1, values));
        for (int k = 0; k < part->n_neighbours; k++)
            for (int32_t i = 0; i < part->neighbours[k].count; i++) {
                const int32_t face = part->neighbours[k].items[i];
                uint8_t *mark = &marks[piece[mesh->face_cells[2 * (int64_t)face]]];
                if (values[face] <= *mark) continue;
                *mark = (uint8_t)values[face];
                more = 1;
            }
        TRY(team_reduce_counts(part->team, TEAM_MAX, 1, &more));
    }
done:
    base_free(&values);
    return status;
}

facet_status mesh_count_pieces(const struct facet_mesh *mesh, const int32_t *piece, int64_t *n_pieces) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = mesh->part;
    int64_t *labels = NULL, *values = NULL, more = 1;
    *n_pieces = 0;
    TRY(ALLOC(labels, mesh->n_cells));
    for (int32_t c = 0; c < mesh->n_cells; c++) labels[c] = part != NULL ? part->cell_numbers[c] : c;
    for (int32_t c = 0; c < mesh->n_cells; c++)
        if (labels[c] > labels[piece[c]]) labels[piece[c]] = labels[c];
    if (part != NULL) TRY(CALLOC(values, mesh->n_faces));
    while (part != NULL && more) { /* of every piece the largest cell number reaches all its parts */
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
    for (int32_t c = 0; c < mesh->n_cells; c++)
        *n_pieces += (part != NULL ? part->cell_numbers[c] : c) == labels[piece[c]];
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, n_pieces));
done:
    base_free(&labels);
    base_free(&values);
    return status;
}
