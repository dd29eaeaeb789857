/* facet.h: meshes. */
#include "mesh/part.h"
#include "problem/problem.h"

/* A mesh is made by all of a team, and worked on by those who have a part of it. */
static void begin(facet_context *context, struct base_call *call) {
    context->at_work = context->team;
    context_call_begin(context, 0, call);
}

static facet_status end(facet_context *context, struct base_call *call, facet_status status,
                        facet_mesh **mesh) {
    status = context_call_end(context, call, status);
    if (status != FACET_OK) mesh_destroy(mesh);
    if (*mesh != NULL) (*mesh)->context = context;
    if (context->team != NULL) context->at_work = *mesh != NULL ? (*mesh)->part->team : NULL;
    return status;
}

facet_status facet_mesh_create_box(facet_context *context, const facet_box *box, facet_mesh **mesh) {
    REQUIRE(mesh);
    *mesh = NULL;
    REQUIRE(context, box);
    struct base_call call;
    facet_box own = {0};
    facet_status status = base_struct_read("facet_box", box, &own, sizeof own);
    if (status != FACET_OK) return status;
    begin(context, &call);
    status = context->team != NULL ? context->meshes->create_box(context->team, &own, mesh)
                                   : mesh_create_box(&own, mesh);
    return end(context, &call, status, mesh);
}

static facet_status read_mesh(facet_context *context, const char *path, int join, facet_mesh **mesh) {
    REQUIRE(mesh);
    *mesh = NULL;
    REQUIRE(context, path);
    struct base_call call;
    begin(context, &call);
    facet_status status = context->team != NULL ? context->meshes->read(context->team, path, join, mesh)
                                                : mesh_read_gmsh_as(path, join, mesh);
    return end(context, &call, status, mesh);
}

facet_status facet_mesh_read(facet_context *context, const char *path, facet_mesh **mesh) {
    return read_mesh(context, path, 1, mesh);
}

facet_status facet_mesh_read_apart(facet_context *context, const char *path, facet_mesh **mesh) {
    return read_mesh(context, path, 0, mesh);
}

facet_status facet_mesh_refine(facet_mesh *mesh, int times) {
    REQUIRE(mesh);
    struct base_call call;
    struct facet_context *context = mesh->context;
    if (context == NULL) return mesh_refine_keeping(mesh, times);
    context_call_begin(context, 0, &call);
    facet_status status = context_call_end(context, &call, mesh_refine_keeping(mesh, times));
    mesh->context = context;
    return status;
}

facet_status facet_mesh_scale(facet_mesh *mesh, double factor) {
    REQUIRE(mesh);
    facet_status status;
    MESH_CALL(mesh, status, mesh_scale(mesh, factor));
    return status;
}

facet_status facet_mesh_get_info(const facet_mesh *mesh, facet_mesh_info *info) {
    struct mesh_quality quality;
    facet_status status;
    REQUIRE(mesh, info);
    MESH_CALL(mesh, status, mesh_measure_quality(mesh, &quality));
    if (status != FACET_OK) return status;
    const struct mesh_counts counts = mesh_count(mesh);
    facet_mesh_info full = {.dim = mesh->dim,
                            .geometry_order = mesh->order,
                            .n_cells = counts.cells,
                            .n_faces = counts.faces,
                            .n_boundary_faces = counts.boundary_faces,
                            .n_vertices = counts.vertices,
                            .shape = counts.shape_text,
                            .volume = quality.volume,
                            .smallest_cell = quality.smallest_diameter,
                            .largest_cell = quality.largest_diameter,
                            .smallest_jacobian = quality.smallest_jacobian};
    return base_struct_write("facet_mesh_info", &full, info, sizeof full);
}

int facet_mesh_n_groups(const facet_mesh *mesh) {
    return mesh != NULL ? mesh->n_groups : 0;
}

facet_status facet_mesh_group(const facet_mesh *mesh, int i, facet_group *group) {
    REQUIRE(mesh, group);
    if (i < 0 || i >= mesh->n_groups)
        return base_fail(FACET_ERROR_INPUT, "there is no group %d; the mesh has %d", i, mesh->n_groups);
    int64_t count;
    facet_status status;
    MESH_CALL(mesh, status, mesh_count_group(mesh, &mesh->groups[i], &count));
    if (status != FACET_OK) return status;
    facet_group full = {.name = mesh->groups[i].name, .dim = mesh->groups[i].dim, .count = count};
    return base_struct_write("facet_group", &full, group, sizeof full);
}

void facet_mesh_destroy(facet_mesh **mesh) {
    if (mesh != NULL) mesh_destroy(mesh);
}
