/* Bodies of revolution: a plane mesh at x >= 0 that turns about x = 0. Which faces lie on the axis, where
 * there is nothing to be given. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

/* Distances from the axis relative to the largest one: less is rounding. */
#define SAME 1e-10

double problem_axis_size(const struct facet_mesh *mesh) {
    double size = 0.0;
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int64_t i = 0; i < (int64_t)mesh->blocks[b].count * mesh->blocks[b].n_nodes; i++)
            size = fmax(size, fabs(mesh->blocks[b].nodes[i * mesh->dim]));
    return team_reduce(mesh_team(mesh), TEAM_MAX, 1, &size) == FACET_OK ? size : NAN; /* others say why */
}

int problem_is_on_axis(const struct facet_mesh *mesh, double size, int32_t cell, int local) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const double *nodes = block->nodes + (int64_t)(cell - block->first) * block->n_nodes * mesh->dim;
    int list[(MESH_MAX_ORDER + 1) * (MESH_MAX_ORDER + 1)];
    int n = mesh_face_nodes(block->shape, local, 0, mesh->order, list);
    for (int i = 0; i < n; i++)
        if (fabs(nodes[list[i] * mesh->dim]) > SAME * size) return 0;
    return 1;
}

/* Says where a node is left of the axis. */
static void check_side(const struct facet_mesh *mesh, double size, struct text *errors) {
    double least = -SAME * size;
    int32_t worst = -1;
    char place[80];
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int64_t i = 0; i < (int64_t)mesh->blocks[b].count * mesh->blocks[b].n_nodes; i++) {
            double x = mesh->blocks[b].nodes[i * mesh->dim];
            if (x >= least) continue;
            least = x;
            worst = mesh->blocks[b].first + (int32_t)(i / mesh->blocks[b].n_nodes);
        }
    if (worst >= 0)
        PROBLEM_ERROR(
            errors,
            "plane: axisymmetric turns the mesh about x = 0, on whose left it must have nothing, but a "
            "node of the cell at %s has x = %g; move the mesh",
            mesh_middle_text(mesh, worst, -1, place, sizeof place), least);
}

/* Sides may repeat along the axis, and not otherwise. */
static facet_status check_joints(const struct facet_mesh *mesh, double size, struct text *errors) {
    facet_status status = FACET_OK;
    struct mesh_joined *joined = NULL;
    int32_t n;
    int across = 0;
    TRY(mesh_find_joined(mesh, &joined, &n));
    for (int32_t i = 0; i < n; i++)
        across |= joined[i].joint != MESH_SHIFTED || fabs(joined[i].s[0]) > SAME * size;
    if (across)
        problem_add_error(errors,
                          "plane: axisymmetric and sides that are joined across the axis (periodic in x) "
                          "exclude each other; sides may repeat along y alone");
done:
    base_free(&joined);
    return status;
}

/* Of u along the axis alone, and only its component along it: any other turns from place to place. */
static void check_jump(const struct problem *p, struct text *errors) {
    double jump[9];
    int n = p->jump != NULL && field_is_constant(p->jump, jump) ? field_n_components(p->jump) : 0, given = 0;
    for (int i = 0; i < n - 1; i++) given |= jump[i] != 0.0;
    if (given)
        problem_add_error(errors,
                          "jump: about an axis u may jump along y alone, in elasticity its component y");
}

facet_status problem_resolve_axis(const struct problem *p, struct problem_resolved *r, struct text *errors) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    if (mesh->dim == 3) {
        problem_add_error(errors, "plane: belongs to 2D, but the mesh has 3 dimensions");
        return FACET_OK;
    }
    TRY(mesh_need_lists(mesh));
    double size = problem_axis_size(mesh);
    TRY(check_joints(mesh, size, errors));
    check_jump(p, errors);
    check_side(mesh, size, errors);
    TRY(CALLOC(r->on_axis, mesh->n_faces));
    for (int32_t f = 0; f < mesh->n_faces; f++)
        r->on_axis[f] =
            mesh_is_boundary(mesh, f) && problem_is_on_axis(mesh, size, mesh->face_cells[2 * (int64_t)f],
                                                            mesh->face_locals[2 * (int64_t)f]);
done:
    return status;
}
