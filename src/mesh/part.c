/* What a part knows of the others: which of its faces and vertices they have too, who owns them, and the
 * numbers all agree upon. Faces are known from the seam; vertices, which ranks without a common face may
 * share too, from their keys (base/neighbours.h). */
#include "mesh/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/mesh_internal.h"

void mesh_part_destroy(struct mesh_part **part) {
    struct mesh_part *p = *part;
    if (p == NULL) return;
    team_free_neighbours(p->n_neighbours, &p->neighbours);
    team_free_neighbours(p->n_vertex_neighbours, &p->vertex_neighbours);
    base_free(&p->owns_face);
    base_free(&p->owns_vertex);
    base_free(&p->cell_numbers);
    base_free(&p->face_numbers);
    base_free(&p->vertex_numbers);
    base_free(part);
}

/* ------------------------------------------------------------------------------------------ faces */

static facet_status list_faces(struct mesh_part *part, const struct part_input *input) {
    facet_status status = FACET_OK;
    const int32_t *faces = input->faces;
    TRY(CALLOC(part->neighbours, input->n_neighbours));
    part->n_neighbours = input->n_neighbours;
    for (int i = 0; i < input->n_neighbours; i++) {
        struct team_neighbour *to = &part->neighbours[i];
        to->rank = input->ranks[i];
        TRY(ALLOC(to->items, input->counts[i]));
        while (to->count < input->counts[i]) to->items[to->count++] = *faces++;
        part->n_seam_faces += (int32_t)to->count;
    }
done:
    return status;
}

static facet_status number_faces(struct mesh_part *part) {
    facet_status status = FACET_OK;
    const int32_t n = part->mesh->n_faces;
    struct team_range range;
    TRY(ALLOC(part->owns_face, n));
    TRY(ALLOC(part->face_numbers, n));
    team_find_owned(part->team, part->n_neighbours, part->neighbours, n, part->owns_face);
    TRY(team_number_items(part->team, part->n_neighbours, part->neighbours, n, NULL, part->face_numbers,
                          &range));
    part->first_face = range.first;
    part->n_owned_faces = (int32_t)range.count;
    part->n_faces = range.all;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ vertices */

static int compare_numbers(const void *one, const void *two) {
    const int64_t a = *(const int64_t *)one, b = *(const int64_t *)two;
    return (a > b) - (a < b);
}

/* By number instead of key. */
static facet_status order_vertices(struct mesh_part *part) {
    facet_status status = FACET_OK;
    int64_t *pairs = NULL; /* number, vertex */
    for (int i = 0; i < part->n_vertex_neighbours; i++) {
        struct team_neighbour *to = &part->vertex_neighbours[i];
        base_free(&pairs);
        TRY(ALLOC(pairs, 2 * to->count));
        for (int64_t k = 0; k < to->count; k++) {
            pairs[2 * k] = part->vertex_numbers[to->items[k]];
            pairs[2 * k + 1] = to->items[k];
        }
        qsort(pairs, (size_t)to->count, 2 * sizeof *pairs, compare_numbers);
        for (int64_t k = 0; k < to->count; k++) to->items[k] = (int32_t)pairs[2 * k + 1];
    }
done:
    base_free(&pairs);
    return status;
}

static facet_status number_vertices(struct mesh_part *part, const struct part_input *input) {
    facet_status status = FACET_OK;
    const int32_t n = part->mesh->n_vertices;
    struct team_range range;
    TRY(ALLOC(part->owns_vertex, n));
    TRY(ALLOC(part->vertex_numbers, n));
    TRY(team_find_neighbours(part->team, input->n_shared, input->shared, input->keys,
                             &part->n_vertex_neighbours, &part->vertex_neighbours));
    team_find_owned(part->team, part->n_vertex_neighbours, part->vertex_neighbours, n, part->owns_vertex);
    TRY(team_number_items(part->team, part->n_vertex_neighbours, part->vertex_neighbours, n, NULL,
                          part->vertex_numbers, &range));
    part->first_vertex = range.first;
    part->n_owned_vertices = (int32_t)range.count;
    part->n_vertices = range.all;
    TRY(order_vertices(part));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ all */

static facet_status count_all(struct mesh_part *part) {
    const struct facet_mesh *mesh = part->mesh;
    int64_t counts[3 + SHAPE_COUNT] = {mesh->n_cells, mesh->n_boundary_faces, part->n_seam_faces};
    for (int b = 0; b < mesh->n_blocks; b++) counts[3 + mesh->blocks[b].shape] = mesh->blocks[b].count;
    facet_status status = team_reduce_counts(part->team, TEAM_SUM, 3 + SHAPE_COUNT, counts);
    part->n_cells = counts[0];
    part->n_boundary_faces = counts[1];
    part->n_all_seam_faces = counts[2] / 2;
    for (int s = 0; s < SHAPE_COUNT; s++) {
        part->n_shapes[s] = counts[3 + s];
        if (counts[3 + s] > 0) mesh_add_shape((enum shape)s, part->shape_text, sizeof part->shape_text);
    }
    return status;
}

struct mesh_counts mesh_count(const struct facet_mesh *mesh) {
    const struct mesh_part *part = mesh->part;
    struct mesh_counts counts = {.cells = mesh->n_cells,
                                 .faces = mesh->n_faces,
                                 .boundary_faces = mesh->n_boundary_faces,
                                 .vertices = mesh->n_vertices,
                                 .shape_text = mesh->shape_text};
    for (int b = 0; b < mesh->n_blocks; b++) counts.shapes[mesh->blocks[b].shape] = mesh->blocks[b].count;
    if (part == NULL) return counts;
    counts = (struct mesh_counts){.cells = part->n_cells,
                                  .faces = part->n_faces,
                                  .boundary_faces = part->n_boundary_faces,
                                  .vertices = part->n_vertices,
                                  .seam_faces = part->n_all_seam_faces,
                                  .shape_text = part->shape_text};
    memcpy(counts.shapes, part->n_shapes, sizeof counts.shapes);
    return counts;
}

facet_status mesh_part_create(struct facet_mesh *mesh, const struct part_input *input) {
    facet_status status = FACET_OK;
    struct mesh_part *part = NULL;
    TRY(CALLOC(part, 1));
    part->team = input->team;
    part->mesh = mesh;
    part->is_turned = input->is_turned;
    if (input->box != NULL) part->box = *input->box;
    if (mesh->coarse != NULL) part->coarse = mesh->coarse->part;
    TRY(list_faces(part, input));
    TRY(ALLOC(part->cell_numbers, mesh->n_cells));
    memcpy(part->cell_numbers, input->cell_numbers, (size_t)mesh->n_cells * sizeof *part->cell_numbers);
    TRY(number_faces(part));
    TRY(number_vertices(part, input));
    TRY(count_all(part));
    mesh->part = part;
    part = NULL;
done:
    mesh_part_destroy(&part);
    return status;
}

facet_status mesh_count_group(const struct facet_mesh *mesh, const struct mesh_group *group, int64_t *n) {
    *n = group->count;
    for (int32_t i = 0; mesh->part != NULL && group->dim < mesh->dim && i < group->count; i++)
        *n -= !mesh->part->owns_face[group->ids[i]];
    return team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, n);
}
