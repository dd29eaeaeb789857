/* Named sets of cells and faces: from the numbers of the input to the numbers of the mesh, and the look-up by
 * name. */
#include <stdio.h>
#include <string.h>

#include "base/guess.h"
#include "base/memory.h"
#include "base/sort.h"
#include "mesh/mesh_internal.h"

/* "(0, 0), (1, 0)": where the vertices of a group's face lie, as far as cells have them. */
static void vertices_text(const struct mesh_builder *builder, const int32_t *vertices, char *text,
                          int text_bytes) {
    const struct facet_mesh *mesh = builder->mesh;
    int used = 0;
    text[0] = '\0';
    for (int i = 0; i < SHAPE_MAX_FACE_VERTICES && vertices[i] >= 0 && used < text_bytes; i++) {
        char place[80];
        snprintf(place, sizeof place, "vertex %d of no cell", vertices[i]);
        int32_t v = vertices[i] < builder->input->n_vertices ? builder->vertex_map[vertices[i]] : -1;
        for (int b = 0; v >= 0 && b < mesh->n_blocks; b++) {
            const struct mesh_block *block = &mesh->blocks[b];
            int n = shape_n_vertices(block->shape);
            for (int64_t k = 0; k < (int64_t)block->count * n; k++) {
                if (block->vertices[k] != v) continue;
                int node = shape_vertex_node(block->shape, mesh->order, (int)(k % n));
                mesh_point_text(mesh->dim, block->nodes + (k / n * block->n_nodes + node) * mesh->dim, place,
                                sizeof place);
                v = -1;
                break;
            }
        }
        used += snprintf(text + used, (size_t)(text_bytes - used), "%s%s", i ? ", " : "", place);
    }
}

/* Ascending, each once. */
static void tidy(struct mesh_group *group) {
    int32_t kept = 0;
    int sorted = 1;
    for (int32_t i = 1; i < group->count; i++) sorted &= group->ids[i - 1] <= group->ids[i];
    if (!sorted) base_sort(group->count, group->ids);
    for (int32_t i = 0; i < group->count; i++)
        if (kept == 0 || group->ids[i] != group->ids[kept - 1]) group->ids[kept++] = group->ids[i];
    group->count = kept;
}

/* The mesh number of item i of an input group, or -1 with a report. */
static int32_t item_number(struct mesh_builder *builder, const struct mesh_input_group *group, int64_t i) {
    if (group->dim == builder->mesh->dim) {
        if (group->cells[i] >= 0 && group->cells[i] < builder->input->n_cells)
            return builder->mesh_cell[group->cells[i]];
        mesh_issue(&builder->issues, "group '%s' names cell %lld; cells run from 0 to %lld", group->name,
                   (long long)group->cells[i], (long long)builder->input->n_cells - 1);
        return -1;
    }
    const int32_t *vertices = group->vertices + i * SHAPE_MAX_FACE_VERTICES;
    int32_t raw = mesh_find_raw(builder, vertices);
    if (raw >= 0) return builder->face_of_raw[raw];
    char text[200] = "";
    if (builder->issues.count < MESH_MAX_ISSUES) vertices_text(builder, vertices, text, sizeof text);
    mesh_issue(&builder->issues,
               "group '%s' has a dangling face, which is a face of no cell: %s; take the curve or surface "
               "out of the "
               "group, or mesh what it bounds",
               group->name, text);
    return -1;
}

/* Its number; n_groups: there is none of this name and dimension. */
static int find_group(const struct facet_mesh *mesh, const char *name, int dim) {
    int g = 0;
    while (g < mesh->n_groups && (mesh->groups[g].dim != dim || strcmp(mesh->groups[g].name, name) != 0)) g++;
    return g;
}

facet_status mesh_build_groups(struct mesh_builder *builder) {
    facet_status status = FACET_OK;
    const struct mesh_input *input = builder->input;
    struct facet_mesh *mesh = builder->mesh;
    TRY(CALLOC(mesh->groups, input->n_groups));
    for (int g = 0; g < input->n_groups; g++) {
        const struct mesh_input_group *from = &input->groups[g];
        const int number = find_group(mesh, from->name, from->dim);
        struct mesh_group *group = &mesh->groups[number];
        if (number == mesh->n_groups) {
            mesh->n_groups++;
            group->dim = from->dim;
            TRY(base_strdup(from->name, &group->name));
        }
        TRY(base_realloc(&group->ids, (size_t)(group->count + from->count), sizeof *group->ids));
        for (int64_t i = 0; i < from->count; i++) {
            int32_t item = item_number(builder, from, i);
            if (item >= 0) group->ids[group->count++] = item;
        }
        tidy(group);
    }
done:
    return status;
}

const struct mesh_group *mesh_find_group(const struct facet_mesh *mesh, const char *name, int dim) {
    const int g = find_group(mesh, name, dim);
    return g < mesh->n_groups ? &mesh->groups[g] : NULL;
}

const char *mesh_side_meant(int dim, const char *word) {
    static const char *const words[6] = {"left", "right", "front", "back", "bottom", "top"};
    static const char *const sides[6] = {"xmin", "xmax", "ymin", "ymax", "zmin", "zmax"};
    for (int i = 0; i < 6; i++)
        if (strcmp(words[i], word) == 0) return dim == 3 || i < 2 ? sides[i] : i < 4 ? NULL : sides[i - 2];
    return NULL;
}

const char *mesh_group_hint(const struct facet_mesh *mesh, int dim, const char *name, const char *also,
                            char text[MESH_HINT_BYTES]) {
    struct guess guess = guess_begin(name);
    for (int g = 0; g < mesh->n_groups; g++)
        if ((dim < 0 || mesh->groups[g].dim == dim) && mesh->groups[g].dim >= mesh->dim - 1)
            guess_consider(&guess, mesh->groups[g].name);
    if (also != NULL) guess_consider(&guess, also);
    const char *side = mesh_side_meant(mesh->dim, name);
    if (side != NULL && mesh_find_group(mesh, side, mesh->dim - 1) != NULL) guess.nearest = side;
    text[0] = '\0';
    if (guess.nearest != NULL) snprintf(text, MESH_HINT_BYTES, "; did you mean '%s'?", guess.nearest);
    return text;
}

void mesh_group_names(const struct facet_mesh *mesh, int dim, char *text, int text_bytes) {
    int used = 0;
    snprintf(text, (size_t)text_bytes, "none");
    for (int g = 0; g < mesh->n_groups && used < text_bytes; g++)
        if (mesh->groups[g].dim == dim)
            used += snprintf(text + used, (size_t)(text_bytes - used), "%s%s", used ? ", " : "",
                             mesh->groups[g].name);
}
