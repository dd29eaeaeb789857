/* Joined sides at the seams between the parts of a mesh. See part.h. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"

#define CORNERS (3 * SHAPE_MAX_FACE_VERTICES) /* numbers of a side */

facet_status mesh_find_second_sides(const struct facet_mesh *mesh, uint8_t *second) {
    facet_status status = FACET_OK;
    int64_t *cells = NULL;
    memset(second, 0, (size_t)mesh->n_faces);
    if (mesh->part == NULL) return FACET_OK;
    TRY(ALLOC(cells, mesh->n_faces));
    for (int32_t f = 0; f < mesh->n_faces; f++)
        cells[f] = mesh->part->cell_numbers[mesh->face_cells[2 * (int64_t)f]];
    TRY(mesh_merge_faces(mesh, 1, cells));
    for (int32_t f = 0; f < mesh->n_faces; f++)
        second[f] = mesh->face_cells[2 * (int64_t)f + 1] == MESH_SEAM &&
                    cells[f] == mesh->part->cell_numbers[mesh->face_cells[2 * (int64_t)f]];
done:
    base_free(&cells);
    return status;
}

static int ascending(const void *one, const void *two) {
    const struct mesh_seam_joint *a = one, *b = two;
    return (a->face > b->face) - (a->face < b->face);
}

facet_status mesh_find_seam_joints(const struct facet_mesh *mesh, struct mesh_seam_joint **joints,
                                   int32_t *n) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = mesh->part;
    uint8_t *second = NULL;
    double *out = NULL, *in = NULL;
    int64_t at = 0, total = 0;
    *joints = NULL;
    *n = 0;
    if (part == NULL) return FACET_OK;
    for (int k = 0; k < part->n_neighbours; k++) total += part->neighbours[k].count;
    TRY(ALLOC(second, mesh->n_faces));
    TRY(CALLOC(out, total * CORNERS));
    TRY(ALLOC(in, total * CORNERS));
    TRY(mesh_find_second_sides(mesh, second));
    for (int k = 0; k < part->n_neighbours; k++)
        for (int32_t i = 0; i < part->neighbours[k].count; i++, at += CORNERS) {
            const double *x[SHAPE_MAX_FACE_VERTICES];
            const int corners = mesh_side_corners(mesh, part->neighbours[k].items[i], 0, x);
            for (int c = 0; c < corners; c++) memcpy(out + at + 3 * c, x[c], (size_t)mesh->dim * sizeof *out);
        }
    TRY(team_swap(part->team, part->n_neighbours, part->neighbours, CORNERS * sizeof *out, out, in));
    at = 0;
    for (int k = 0; k < part->n_neighbours; k++)
        for (int32_t i = 0; i < part->neighbours[k].count; i++, at += CORNERS) {
            const int32_t face = part->neighbours[k].items[i];
            const double *own[SHAPE_MAX_FACE_VERTICES], *other[SHAPE_MAX_FACE_VERTICES];
            struct mesh_seam_joint joint = {.face = face, .second = second[face]};
            const int corners = mesh_side_corners(mesh, face, 0, own);
            for (int c = 0; c < corners; c++) other[c] = in + at + 3 * c;
            joint.joint = mesh_joint_between(mesh->dim, corners, second[face] ? other : own,
                                             second[face] ? own : other, joint.R, joint.s);
            if (joint.joint == MESH_ONE_PLACE) continue;
            TRY(base_realloc(joints, (size_t)*n + 1, sizeof **joints));
            (*joints)[(*n)++] = joint;
        }
    if (*n > 0) qsort(*joints, (size_t)*n, sizeof **joints, ascending);
done:
    base_free(&second);
    base_free(&out);
    base_free(&in);
    if (status != FACET_OK) {
        base_free(joints);
        *n = 0;
    }
    return status;
}
