/* Points outside the mesh: how far, and whether that is within the error of the geometry. A box has none. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "mesh/surface.h"

struct mesh_outside {
    const struct facet_mesh *mesh;
    int is_box;
    double lower[3], upper[3]; /* of a box, or of all blocks of it */
    struct mesh_surface surface;
};

facet_status mesh_outside_create(const struct facet_mesh *mesh, struct mesh_outside **outside) {
    facet_status status = FACET_OK;
    const struct mesh_box *bricks = mesh_bricks(mesh);
    struct mesh_outside *made = NULL;
    *outside = NULL;
    TRY(CALLOC(made, 1));
    made->mesh = mesh;
    made->is_box = bricks != NULL;
    for (int a = 0; bricks != NULL && a < mesh->dim; a++) {
        made->lower[a] = bricks->coordinates[a][0];
        made->upper[a] = bricks->coordinates[a][bricks->cells[a]];
    }
    if (bricks != NULL) {
        TRY(team_reduce(mesh_team(mesh), TEAM_MIN, 3, made->lower));
        TRY(team_reduce(mesh_team(mesh), TEAM_MAX, 3, made->upper));
    } else {
        TRY(surface_create(mesh_coarsest(mesh), &made->surface));
        TRY(surface_find_errors(&made->surface));
    }
    *outside = made;
    made = NULL;
done:
    mesh_outside_destroy(&made);
    return status;
}

void mesh_outside_destroy(struct mesh_outside **outside) {
    if (*outside == NULL) return;
    surface_destroy(&(*outside)->surface);
    base_free(outside);
}

facet_status mesh_outside_ask(const struct mesh_outside *outside, const double *x, struct mesh_near *found) {
    double square = 0;
    int32_t face;
    *found = (struct mesh_near){.distance = INFINITY};
    if (!outside->is_box) {
        facet_status status = surface_nearest(&outside->surface, x, found->y, &face, &found->distance);
        if (status == FACET_OK && face >= 0) found->allowed = outside->surface.faces[face].error;
        return status;
    }
    for (int a = 0; a < outside->mesh->dim; a++) {
        found->y[a] = fmin(fmax(x[a], outside->lower[a]), outside->upper[a]);
        square += (x[a] - found->y[a]) * (x[a] - found->y[a]);
    }
    found->distance = sqrt(square);
    return FACET_OK;
}

facet_status mesh_fail_outside(const struct facet_mesh *mesh, const double *x,
                               const struct mesh_near *found) {
    char z[32] = "", by[48] = "", error[96] = "";
    if (mesh->dim == 3) snprintf(z, sizeof z, ", %.10g", x[2]);
    if (found != NULL && isfinite(found->distance)) snprintf(by, sizeof by, " by %.3g", found->distance);
    if (found != NULL && found->allowed > 0)
        snprintf(error, sizeof error, ", more than the error of its geometry there, about %.2g",
                 found->allowed);
    return base_fail(FACET_ERROR_INPUT, "the point (%.10g, %.10g%s) lies outside the mesh%s%s", x[0], x[1], z,
                     by, error);
}
