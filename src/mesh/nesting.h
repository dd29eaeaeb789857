/* Nested meshes: which coarser meshes lie under a mesh, and where its cells lie in theirs.
 *
 * A mesh that was refined keeps the one it came from; a box is halved in every direction as long as its
 * numbers of cells are even and the halves are nested (split simplices need not be). The hierarchy owns the
 * coarse meshes that it makes.
 *
 * A fine cell lies in its parent as the affine image of the reference cell, in the parent's reference
 * coordinates: xi = origin + sum_b eta_b axes[b]. There are few such images; each is a kind. Curved cells are
 * nested in the same way, their maps being those of the parents.
 */
#ifndef FACET_MESH_NESTING_H
#define FACET_MESH_NESTING_H

#include "mesh/mesh.h"

#define NESTING_MAX_LEVELS 24
/* A mesh with more is not nested: that takes a box graded without any rule. */
#define NESTING_MAX_KINDS 65536

struct mesh_kind {
    enum shape shape; /* of the cell and its parent */
    double origin[3];
    double axes[3][3]; /* axes[b][a]: coordinate a of the image of unit vector b, less the origin */
};

struct mesh_nesting {
    const struct facet_mesh *fine, *coarse;
    int32_t *parents; /* fine cells: the coarse cell around each */
    uint16_t *kinds;  /* fine cells: index of its kind */
    int n_kinds;
    struct mesh_kind *kind;
    int32_t *starts, *children; /* coarse cells + 1; the fine cells of each, ascending */
    int32_t *face_parents;      /* fine faces: the coarse face it lies on; -1: it lies inside a coarse cell */
};
/* Where fine lies in coarse; *nested = 0 (and nothing to destroy) when it does not. */
facet_status mesh_nest(const struct facet_mesh *fine, const struct facet_mesh *coarse,
                       struct mesh_nesting *nesting, int *nested);
void mesh_nesting_destroy(struct mesh_nesting *nesting); /* safe on a zeroed struct, and twice */

/* All meshes under a mesh: nestings[0] from it to the next coarser one, and so on. n = 0: there is none, and
 * `why` says why, for the user. least: no mesh of fewer cells is made. */
struct mesh_hierarchy {
    int n;
    struct mesh_nesting nestings[NESTING_MAX_LEVELS];
    struct facet_mesh *owned[NESTING_MAX_LEVELS]; /* NULL: kept by the finer mesh */
    char why[200];
};
facet_status mesh_hierarchy_create(const struct facet_mesh *mesh, int32_t least,
                                   struct mesh_hierarchy *hierarchy);
void mesh_hierarchy_destroy(struct mesh_hierarchy *hierarchy); /* safe on a zeroed struct, and twice */

#endif
