/* The public face of the mesh room. */
#include "problem/problem.h"

facet_status facet_mesh_create_box(facet_context *context, const facet_box *box, facet_mesh **mesh) {
    REQUIRE(mesh);
    *mesh = NULL;
    REQUIRE(context);
    REQUIRE(box);
    return mesh_create_box(box, mesh);
}

facet_status facet_mesh_read(facet_context *context, const char *path, facet_mesh **mesh) {
    REQUIRE(mesh);
    *mesh = NULL;
    REQUIRE(context);
    REQUIRE(path);
    return mesh_read_gmsh(path, mesh);
}

facet_status facet_mesh_refine(facet_mesh *mesh, int times) {
    REQUIRE(mesh);
    return mesh_refine_keeping(mesh, times);
}

facet_status facet_mesh_get_info(const facet_mesh *mesh, facet_mesh_info *info) {
    struct mesh_quality quality;
    REQUIRE(mesh);
    REQUIRE(info);
    facet_status status = mesh_measure_quality(mesh, &quality);
    if (status != FACET_OK) return status;
    *info = (facet_mesh_info){.dim = mesh->dim,
                              .geometry_order = mesh->order,
                              .n_cells = mesh->n_cells,
                              .n_faces = mesh->n_faces,
                              .n_boundary_faces = mesh->n_boundary_faces,
                              .n_vertices = mesh->n_vertices,
                              .shape = mesh->shape_text,
                              .volume = quality.volume,
                              .smallest_cell = quality.smallest_diameter,
                              .largest_cell = quality.largest_diameter,
                              .smallest_jacobian = quality.smallest_jacobian};
    return FACET_OK;
}

void facet_mesh_destroy(facet_mesh **mesh) {
    if (mesh != NULL) mesh_destroy(mesh);
}
