/* The surface of a whole mesh, of all its parts: the faces of the boundary and both sides of those that are
 * joined to others elsewhere, cut into flat pieces (segments, triangles) through the nodes of the geometry.
 * The pieces close around the cells, so that they tell what is inside.
 *
 * The geometry's own error. A mesh knows its domain by the nodes on its boundary alone. How far a face is
 * from the boundary that was meshed is estimated by the larger of two numbers, and is a tenth of the size of
 * the face at most:
 *
 * - of faces of order g > 1: the largest distance between the face and its interpolant of order g - 1;
 * - size tan(angle / 2) / 2, with the largest angle between the face and a neighbour across an edge (2D: a
 *   vertex), as long as that angle is below 50 degrees: a smooth boundary runs between the face and the
 *   planes of its neighbours. Larger angles are edges of the body, and say nothing.
 *
 * Flat boundaries with edges have no error. The mesh is the coarsest one that it was refined from, whose
 * geometry all finer ones have. */
#ifndef FACET_MESH_SURFACE_H
#define FACET_MESH_SURFACE_H

#include "mesh/mesh_internal.h"

struct surface_face {
    int64_t cell;                              /* in the whole mesh */
    int64_t vertices[SHAPE_MAX_FACE_VERTICES]; /* likewise, in their order round the face, padded with -1 */
    int64_t nodes;                             /* where its nodes begin in surface->nodes */
    int32_t local;                             /* its number in the cell */
    int32_t shape;
    double size;  /* the diagonal of its box */
    double error; /* the geometry's own; 0 until surface_find_errors */
    double dent;  /* how far its pieces may be from it */
};

struct surface_piece {
    int32_t face;
    int nodes[3]; /* its corners, in their order: numbers of nodes of the face */
};

struct mesh_surface {
    int dim, order;
    int32_t n_faces, n_pieces;
    struct surface_face *faces; /* in the order of cells */
    double *nodes;              /* x dim, in the order of each face's lattice, seen from outside */
    struct surface_piece *pieces;
    double *boxes; /* of the pieces */
    struct mesh_tree tree;
    double largest_error, largest_dent;
};

/* The coarsest of the meshes that a mesh was refined from. */
const struct facet_mesh *mesh_coarsest(const struct facet_mesh *mesh);

/* Collective for parts. Not for boxes of quads or hexes, or blocks of them. */
facet_status surface_create(const struct facet_mesh *mesh, struct mesh_surface *surface);
void surface_destroy(struct mesh_surface *surface); /* safe on a zeroed struct, and twice */
facet_status surface_find_errors(struct mesh_surface *surface);

/* The corners of a piece (dim x dim numbers), and its unit normal, which points out. Answers whether it has
 * one. */
void surface_corners(const struct mesh_surface *surface, int32_t piece, double *x);
int surface_normal(int dim, const double *corners, double *normal);
/* How many cells there are around a point that no piece goes through. direction: a unit vector along an axis,
 * 2 a + (0: down, 1: up), along which to look. */
int surface_count_around(const struct mesh_surface *surface, const double *x, int direction);
/* Whether every ray from the middle of the corners goes out of the mesh once: through one piece, and from its
 * inner side. The number of cells around a point is then the number of pieces beyond it on its ray: 1 or 0.
 */
int surface_is_star(const struct mesh_surface *surface);
/* The point y of the flat piece with these corners that is nearest to x; returns the distance. */
double surface_nearest_flat(int dim, const double *corners, const double *x, double *y);
/* The nearest point of the surface itself, and of which face; returns the distance. */
facet_status surface_nearest(const struct mesh_surface *surface, const double *x, double *y, int32_t *face,
                             double *distance);

#endif
