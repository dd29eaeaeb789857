/* The meshes under a mesh: those it was refined from, then boxes with half as many cells in every direction.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mesh/mesh_internal.h"
#include "mesh/part.h"

/* "15 x 16" */
static const char *cells_text(const struct mesh_box *box, int dim, char *text, size_t bytes) {
    if (dim == 2)
        snprintf(text, bytes, "%d x %d", box->cells[0], box->cells[1]);
    else
        snprintf(text, bytes, "%d x %d x %d", box->cells[0], box->cells[1], box->cells[2]);
    return text;
}

/* Whether a box can be halved; if not, why. n_cells: of the whole mesh. */
static int can_halve(const struct facet_mesh *mesh, const struct mesh_box *box, int64_t n_cells,
                     int32_t least, char *why, size_t bytes) {
    char text[64];
    int odd = 0, one_left = 0, odd_left = 0, five = mesh->split && strcmp(mesh->split, "five") == 0;
    if (box->cells[0] == 0) {
        snprintf(why, bytes,
                 "the mesh is no box and was not refined: refine a coarse one with mesh.refine "
                 "(facet_mesh_refine)");
        return 0;
    }
    cells_text(box, mesh->dim, text, sizeof text);
    for (int a = 0; a < mesh->dim; a++) {
        odd |= box->cells[a] % 2;
        one_left |= box->periodic[a] && box->cells[a] < 4;
        odd_left |= five && box->periodic[a] && box->cells[a] % 4 != 0;
    }
    if (odd)
        snprintf(why, bytes,
                 "the box has %s cells, and odd numbers cannot be halved: use even ones, or refine a coarse "
                 "box with mesh.refine",
                 text);
    else if (one_left)
        snprintf(why, bytes, "the box has %s cells, and half of them would leave one in a periodic direction",
                 text);
    else if (odd_left)
        snprintf(why, bytes,
                 "the box has %s cells split in five tets, and half of them would leave an odd number in a "
                 "periodic direction",
                 text);
    else if (n_cells >> mesh->dim < least)
        snprintf(why, bytes,
                 "the box has %s cells, and half of them in every direction are too few for a coarse mesh",
                 text);
    else
        return 1;
    return 0;
}

/* A mesh is nested where all its parts are. */
static facet_status agree_on(const struct facet_mesh *mesh, struct mesh_nesting *nesting, int *nested) {
    int64_t all = *nested;
    facet_status status = team_reduce_counts(mesh_team(mesh), TEAM_MIN, 1, &all);
    if (*nested && (status != FACET_OK || !all)) mesh_nesting_destroy(nesting);
    *nested = status == FACET_OK && all;
    return status;
}

static const char graded_text[] =
    "the box is graded, and simplices of graded boxes are not nested: refine a coarse box with mesh.refine";

/* Why a mesh of several parts, which has none under it, is the coarsest. */
static facet_status find_why_not(const struct facet_mesh *mesh, int32_t least, char *why, size_t bytes) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = mesh->part;
    struct mesh_box whole = {{0}, {NULL}, {0}};
    int64_t graded = 0;
    for (int a = 0; a < mesh->dim; a++) {
        const double *x = mesh->cut.coordinates[a];
        whole.cells[a] = part->box.cells[a];
        whole.periodic[a] = part->box.periodic[a];
        for (int i = 1; mesh->split != NULL && x != NULL && i < mesh->cut.cells[a]; i++)
            graded |= fabs(x[i + 1] - 2.0 * x[i] + x[i - 1]) > 1e-9 * (x[i + 1] - x[i - 1]);
    }
    TRY(team_reduce_counts(part->team, TEAM_MAX, 1, &graded));
    if (!can_halve(mesh, &whole, part->n_cells, least, why, bytes)) goto done;
    if (graded)
        snprintf(why, bytes, "%s", graded_text);
    else
        snprintf(
            why, bytes,
            "on %d ranks blocks of even numbers of cells would differ by more than a tenth: take another "
            "number of ranks or cells, or refine a coarse mesh with mesh.refine",
            part->team->size);
done:
    return status;
}

/* The next nesting under `mesh`; *nested = 0 when there is none. */
static facet_status add_level(struct mesh_hierarchy *h, const struct facet_mesh *mesh, int32_t least,
                              char *why, size_t bytes, int *nested) {
    facet_status status = FACET_OK;
    struct facet_mesh *half = NULL;
    const struct facet_mesh *coarse = mesh->coarse;
    *nested = 0;
    if (!coarse && mesh->part != NULL) { /* a part of a box was made with those that are nested */
        TRY(find_why_not(mesh, least, why, bytes));
        goto done;
    }
    if (!coarse) {
        const struct mesh_box *box = mesh->split ? &mesh->cut : &mesh->box;
        if (!can_halve(mesh, box, mesh->n_cells, least, why, bytes)) goto done;
        TRY(mesh_rescale_box(mesh, box, 0, &half));
        coarse = half;
    }
    TRY(mesh_nest(mesh, coarse, &h->nestings[h->n], nested));
    TRY(agree_on(mesh, &h->nestings[h->n], nested));
    if (*nested) {
        h->owned[h->n++] = half;
        half = NULL;
    } else
        snprintf(why, bytes, "%s",
                 mesh->split ? graded_text : "the cells do not lie in those of the coarser mesh");
done:
    mesh_destroy(&half);
    return status;
}

facet_status mesh_hierarchy_create(const struct facet_mesh *mesh, int32_t least,
                                   struct mesh_hierarchy *hierarchy) {
    facet_status status = FACET_OK;
    char why[sizeof hierarchy->why] = "";
    int nested = 1;
    *hierarchy = (struct mesh_hierarchy){0};
    while (nested && hierarchy->n < NESTING_MAX_LEVELS) {
        const struct facet_mesh *last = hierarchy->n ? hierarchy->nestings[hierarchy->n - 1].coarse : mesh;
        TRY(add_level(hierarchy, last, least, why, sizeof why, &nested));
    }
    if (hierarchy->n == 0) memcpy(hierarchy->why, why, sizeof why);
done:
    if (status != FACET_OK) mesh_hierarchy_destroy(hierarchy);
    return status;
}

void mesh_hierarchy_destroy(struct mesh_hierarchy *hierarchy) {
    for (int i = 0; i < hierarchy->n; i++) {
        mesh_nesting_destroy(&hierarchy->nestings[i]);
        mesh_destroy(&hierarchy->owned[i]);
    }
    hierarchy->n = 0;
}

int64_t mesh_hierarchy_coarsest(const struct facet_mesh *mesh) {
    char why[sizeof((struct mesh_hierarchy *)NULL)->why];
    while (mesh->coarse != NULL) mesh = mesh->coarse;
    struct mesh_box box = mesh->split != NULL ? mesh->cut : mesh->box;
    int64_t cells = mesh->n_cells;
    while (mesh->part == NULL && can_halve(mesh, &box, cells, 0, why, sizeof why)) {
        for (int a = 0; a < mesh->dim; a++) box.cells[a] /= 2;
        cells >>= mesh->dim;
    }
    return cells;
}

int mesh_box_halvings(const facet_box *box) {
    char why[sizeof((struct mesh_hierarchy *)NULL)->why];
    const struct facet_mesh like = {.dim = box->dim, .split = box->split};
    struct mesh_box half = {{0}, {NULL}, {0}};
    int n = 0;
    for (int a = 0; a < box->dim; a++) {
        half.cells[a] = box->cells[a];
        half.periodic[a] = box->periodic[a];
    }
    for (; can_halve(&like, &half, INT32_MAX, 0, why, sizeof why); n++)
        for (int a = 0; a < box->dim; a++) half.cells[a] /= 2;
    return n;
}
