/* Nested meshes: which coarser meshes lie under a mesh, and where its cells lie in theirs.
 *
 * A mesh that was refined keeps the one it came from; a box is halved in every direction as long as its
 * numbers of cells are even and the halves are nested: quads and hexes always are, triangles and tets of all
 * splits when the box is not graded. (All cuts lie in a few families of equidistant planes, and every second
 * plane is a cut of the half; tets split in five have seven or twelve children then, all others 2^dim.) The
 * hierarchy owns the coarse meshes that it makes.
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
    int16_t *faces; /* n_kinds x SHAPE_MAX_FACES: the parent's face on which a face lies, -1: inside */
    int32_t *starts, *children; /* coarse cells + 1; the fine cells of each, ascending */
    int32_t *face_parents;      /* fine faces: the coarse face it lies on; -1: it lies inside a coarse cell */
};
/* Where fine lies in coarse; *nested = 0 (and nothing to destroy) when it does not: a cell sticks out of its
 * parent or has another map, children leave a gap, or the faces are joined otherwise. Any ratio of sizes. */
facet_status mesh_nest(const struct facet_mesh *fine, const struct facet_mesh *coarse,
                       struct mesh_nesting *nesting, int *nested);
void mesh_nesting_destroy(struct mesh_nesting *nesting); /* safe on a zeroed struct, and twice */

/* All meshes under a mesh: nestings[0] from it to the next coarser one, and so on. n = 0: there is none, and
 * `why` says why, for the user. least: no mesh of fewer cells is made (those that are kept may be smaller).
 */
struct mesh_hierarchy {
    int n;
    struct mesh_nesting nestings[NESTING_MAX_LEVELS];
    struct facet_mesh *owned[NESTING_MAX_LEVELS]; /* NULL: kept by the finer mesh */
    char why[200];
};
facet_status mesh_hierarchy_create(const struct facet_mesh *mesh, int32_t least,
                                   struct mesh_hierarchy *hierarchy);
void mesh_hierarchy_destroy(struct mesh_hierarchy *hierarchy); /* safe on a zeroed struct, and twice */
/* The cells of the coarsest mesh that a hierarchy would reach, without making it (whether simplices of graded
 * boxes are nested is not looked at). */
int64_t mesh_hierarchy_coarsest(const struct facet_mesh *mesh);
/* How often a box can be halved in every direction, with the same restriction. */
int mesh_box_halvings(const facet_box *box);

#endif
