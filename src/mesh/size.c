/* Whether a mesh that is asked for can be held: by 32-bit numbers, and by the memory of this machine. Asked
 * before anything is allocated, since the system grants more than it has and ends the program later. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "mesh/mesh_internal.h"

/* What is alive at the worst moment of mesh_create: the input (nodes, vertices, offsets), the mesh, the table
 * of faces with three slots for a key at most, and behind a refinement the table of the coarse mesh's middles
 * and all coarser meshes, which the fine one keeps: 1/4 + 1/16 + ... of its cells, or 1/8 + 1/64 + ...
 * Counted from the structs; right to a few per cent. */
double mesh_bytes_per_cell(enum shape shape, int order) {
    int dim = shape_dim(shape), n_vertices = shape_n_vertices(shape), n_middles = shape_n_nodes(shape, 2);
    int n_faces = shape_n_faces(shape);
    double key = 4 * (dim == 2 ? 2 : SHAPE_MAX_FACE_VERTICES), slots = 12;
    double points = 8.0 * shape_n_nodes(shape, order) * dim + 4 * n_vertices;
    double kept = (points + 10.5 * n_faces + 1) / ((1 << dim) - 1);
    double faces = n_faces * (2 * key + slots + 45);
    double middles = (4 * n_middles + (n_middles - n_vertices) * (key + slots)) / (1 << dim);
    return 2 * points + kept + faces + middles + 40;
}

facet_status mesh_check_count(double cells, double points) {
    if (cells <= MESH_MAX_CELLS && points <= INT32_MAX) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "the box has %.4g cells: too many, at most %d fit 32-bit numbers",
                     cells, MESH_MAX_CELLS);
}

facet_status mesh_check_lists(enum shape shape, double cells) {
    double each = mesh_bytes_per_cell(shape, 1), available = base_available_bytes();
    char fits[64];
    snprintf(fits, sizeof fits, "about %.0f cells would fit", floor(available / each));
    return base_check_memory(cells * each, available, "", fits, "the box of %.0f cells", cells);
}

facet_status mesh_check_refinement(const struct facet_mesh *mesh, int times) {
    int fits = 0;
    if (times < 0) return base_fail(FACET_ERROR_INPUT, "a mesh cannot be refined %d times", times);
    while (ldexp(mesh->n_cells, mesh->dim * (fits + 1)) <= MESH_MAX_CELLS) fits++;
    if (times > fits) {
        char count[32] = "";
        if (times < 100) snprintf(count, sizeof count, " = %.4g", ldexp(mesh->n_cells, mesh->dim * times));
        return base_fail(
            FACET_ERROR_INPUT,
            "refining %d cells %d times makes %d x %d^%d%s: too many, at most %d fit 32-bit numbers; "
            "this mesh can be refined %d times",
            mesh->n_cells, times, mesh->n_cells, 1 << mesh->dim, times, count, MESH_MAX_CELLS, fits);
    }
    double bytes = 0, available = base_available_bytes();
    for (int b = 0; times > 0 && !mesh_is_box(mesh) && b < mesh->n_blocks; b++)
        bytes += ldexp(mesh->blocks[b].count, mesh->dim * times) *
                 mesh_bytes_per_cell(mesh->blocks[b].shape, mesh->order);
    char text[64];
    for (fits = times; fits > 0 && ldexp(bytes, mesh->dim * (fits - times)) > available;) fits--;
    snprintf(text, sizeof text, "refined %d times it would fit", fits);
    return base_check_memory(bytes, available, "", text, "the mesh of %d cells refined %d times",
                             mesh->n_cells, times);
}
