/* What a box of quads or hexes knows without lists, from its coordinates alone; and the door behind which its
 * lists are made. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/mesh_internal.h"

/* ------------------------------------------------------------------------------------------ create */

/* The faces across direction a: one between neighbours, and the two sides, which are one where they are
 * periodic. */
static void count_all(struct facet_mesh *mesh) {
    const struct mesh_box *box = &mesh->box;
    mesh->n_cells = mesh->n_vertices = 1;
    for (int a = 0; a < mesh->dim; a++) {
        mesh->n_cells *= box->cells[a];
        mesh->n_vertices *= box->cells[a] + 1;
    }
    for (int a = 0; a < mesh->dim; a++) {
        int32_t side = mesh->n_cells / box->cells[a];
        mesh->n_faces += side * (box->cells[a] + !box->periodic[a]);
        mesh->n_boundary_faces += box->periodic[a] ? 0 : 2 * side;
    }
}

static facet_status name_groups(struct facet_mesh *mesh) {
    facet_status status = FACET_OK;
    TRY(CALLOC(mesh->groups, 2 * mesh->dim));
    for (int s = 0; s < 2 * mesh->dim; s++) {
        char name[8];
        if (mesh->box.periodic[s / 2]) continue;
        struct mesh_group *group = &mesh->groups[mesh->n_groups++];
        snprintf(name, sizeof name, "%c%s", "xyz"[s / 2], s % 2 ? "max" : "min");
        group->dim = mesh->dim - 1;
        group->side = s;
        group->count = mesh->n_cells / mesh->box.cells[s / 2];
        TRY(base_strdup(name, &group->name));
    }
done:
    return status;
}

facet_status mesh_create_plain_box(const facet_box *box, enum shape shape, double *coordinates[3],
                                   struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct facet_mesh *made = NULL;
    TRY(mesh_alloc(&made));
    made->dim = box->dim;
    made->order = 1;
    for (int a = 0; a < made->dim; a++) {
        made->box.cells[a] = box->cells[a];
        made->box.periodic[a] = box->periodic[a] != 0;
    }
    count_all(made);
    made->n_blocks = 1;
    made->blocks[0] =
        (struct mesh_block){.shape = shape, .count = made->n_cells, .n_nodes = shape_n_nodes(shape, 1)};
    snprintf(made->shape_text, sizeof made->shape_text, "%s", shape_name(shape));
    TRY(name_groups(made));
    for (int a = 0; a < made->dim; a++) {
        made->box.coordinates[a] = coordinates[a];
        coordinates[a] = NULL;
    }
    *mesh = made;
    made = NULL;
done:
    mesh_destroy(&made);
    return status;
}

facet_status mesh_rescale_box(const struct facet_mesh *mesh, const struct mesh_box *box, int finer,
                              struct facet_mesh **scaled) {
    facet_status status = FACET_OK;
    double *coordinates[3] = {NULL};
    facet_box made = {.dim = mesh->dim, .shape = shape_name(mesh->blocks[0].shape), .split = mesh->split};
    *scaled = NULL;
    for (int a = 0; a < mesh->dim; a++) {
        const double *x = box->coordinates[a];
        int n = made.cells[a] = finer ? 2 * box->cells[a] : box->cells[a] / 2;
        TRY(ALLOC(coordinates[a], n + 1));
        for (int i = 0; i <= n; i++)
            coordinates[a][i] = !finer ? x[2 * i] : i % 2 == 0 ? x[i / 2] : 0.5 * (x[i / 2] + x[i / 2 + 1]);
        made.coordinates[a] = coordinates[a];
        made.periodic[a] = box->periodic[a];
    }
    TRY(mesh_create_box(&made, scaled));
done:
    for (int a = 0; a < 3; a++) base_free(&coordinates[a]);
    return status;
}

/* ------------------------------------------------------------------------------------------ lists */

static facet_status make_lists(struct facet_mesh *mesh) {
    struct facet_mesh *lists;
    facet_status status = mesh_list_box(mesh, &lists);
    if (status != FACET_OK) return status;
    struct mesh_block *block = &mesh->blocks[0], *from = &lists->blocks[0];
    block->vertices = from->vertices;
    block->faces = from->faces;
    block->orientations = from->orientations;
    block->nodes = from->nodes;
    block->affine = from->affine;
    mesh->face_cells = lists->face_cells;
    mesh->face_locals = lists->face_locals;
    mesh->face_shapes = lists->face_shapes;
    *from = (struct mesh_block){0};
    lists->face_cells = NULL;
    lists->face_locals = lists->face_shapes = NULL;
    for (int g = 0; g < mesh->n_groups; g++) {
        mesh->groups[g].ids = lists->groups[g].ids;
        lists->groups[g].ids = NULL;
    }
    mesh_destroy(&lists);
    return FACET_OK;
}

/* The lists are no part of what a mesh is, only of what it has written down. */
facet_status mesh_need_lists(const struct facet_mesh *mesh) {
    facet_status status = FACET_OK;
    struct mesh_late *late = mesh->late;
    if (atomic_load_explicit(&late->has_lists, memory_order_acquire)) return FACET_OK;
    pthread_mutex_lock(&late->making);
    if (!atomic_load_explicit(&late->has_lists, memory_order_relaxed)) {
        status = make_lists(late->mesh);
        if (status == FACET_OK) atomic_store_explicit(&late->has_lists, 1, memory_order_release);
    }
    pthread_mutex_unlock(&late->making);
    return status;
}

/* ------------------------------------------------------------------------------------------ questions */

void mesh_box_index(const struct facet_mesh *mesh, int32_t cell, int index[3]) {
    const struct mesh_box *bricks = mesh_bricks(mesh);
    for (int a = 0; a < 3; a++) {
        int n = a < mesh->dim ? bricks->cells[a] : 1;
        index[a] = cell % n;
        cell /= n;
    }
}

static int32_t cell_at(const struct facet_mesh *mesh, const int index[3]) {
    int32_t cell = 0;
    for (int a = mesh->dim - 1; a >= 0; a--) cell = cell * mesh_bricks(mesh)->cells[a] + index[a];
    return cell;
}

int32_t mesh_box_cell(const struct facet_mesh *mesh, const double *x) {
    const struct mesh_box *bricks = mesh_bricks(mesh);
    int index[3] = {0};
    for (int a = 0; a < mesh->dim; a++) {
        int low = 0, high = bricks->cells[a];
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (bricks->coordinates[a][middle] <= x[a])
                low = middle;
            else
                high = middle;
        }
        index[a] = low;
    }
    return cell_at(mesh, index);
}

void mesh_box_nodes(const struct facet_mesh *mesh, int32_t cell, double *nodes) {
    int index[3], dim = mesh->dim;
    const struct mesh_box *bricks = mesh_bricks(mesh);
    mesh_box_index(mesh, cell, index);
    for (int i = 0; i < 1 << dim; i++)
        for (int a = 0; a < dim; a++) nodes[i * dim + a] = bricks->coordinates[a][index[a] + (i >> a & 1)];
}

/* The cells of a side run like those of the box, with the direction across it left out. */
struct mesh_group_face mesh_group_face(const struct facet_mesh *mesh, const struct mesh_group *group,
                                       int32_t i) {
    struct mesh_group_face face = {0};
    if (!mesh_is_box(mesh)) {
        int64_t id = group->ids[i];
        return (struct mesh_group_face){mesh->face_cells[2 * id], mesh->face_locals[2 * id],
                                        mesh->face_cells[2 * id + 1] != MESH_BOUNDARY};
    }
    int index[3] = {0}, across = group->side / 2, d, upper;
    for (int a = 0; a < mesh->dim; a++) {
        if (a == across) continue;
        index[a] = i % mesh->box.cells[a];
        i /= mesh->box.cells[a];
    }
    if (group->side % 2) index[across] = mesh->box.cells[across] - 1;
    face.cell = cell_at(mesh, index);
    for (;; face.local++) {
        shape_face_side(mesh->blocks[0].shape, face.local, &d, &upper);
        if (2 * d + upper == group->side) return face;
    }
}

void mesh_measure_box(const struct facet_mesh *mesh, struct mesh_quality *quality) {
    double least = 0, most = 0;
    *quality = (struct mesh_quality){.volume = 1, .smallest_jacobian = 1};
    for (int a = 0; a < mesh->dim; a++) {
        const double *x = mesh->box.coordinates[a];
        int n = mesh->box.cells[a];
        double narrow = INFINITY, wide = 0;
        for (int i = 0; i < n; i++) {
            narrow = fmin(narrow, x[i + 1] - x[i]);
            wide = fmax(wide, x[i + 1] - x[i]);
        }
        least += narrow * narrow;
        most += wide * wide;
        quality->volume *= x[n] - x[0];
        quality->lower[a] = x[0];
        quality->upper[a] = x[n];
    }
    quality->smallest_diameter = sqrt(least);
    quality->largest_diameter = sqrt(most);
}
