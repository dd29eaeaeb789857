/* The orders in which Gmsh and VTK number the nodes of high-order cells: vertices, the insides of edges, of
 * faces, and of the cell. Ours is that of poly/shape.h: the first coordinate is the fastest.
 *
 *   triangle, order 3      quad, order 3, by rows
 *   2                      3--9--8--2      The inside is a smaller cell numbered in the same way, corners
 *   |\                     |        |      first: a triangle of order g has one of order g-3 inside, a tet
 *   7  6                  11 14 15  7      one of order g-4, quads and hexes one of order g-2. Or it runs
 *   |    \                 |        |      row by row, the first coordinate fastest.
 *   8  9  5               10 12 13  5
 *   |      \               |        |
 *   0--3--4--1             0--4--5--1
 *
 * Inside a prism of order g the nodes of a triangle of order g-3 stand for columns of g-1 nodes, each
 * numbered as a line of order g-2; or, by rows, there are layers of such triangles.
 */
#ifndef FACET_POLY_LATTICE_H
#define FACET_POLY_LATTICE_H

#include "poly/shape.h"

/* How a cell is gone through: edges from their first vertex to their second, faces by their vertices. */
struct lattice_frame {
    int n_edges, n_faces;
    int n_triangles; /* so many faces, the first ones; the others are quads */
    int by_rows;     /* the inside, and that of faces: from the first vertex towards the second, then the last
                      */
    int edges[12][2], faces[6][4];
};
/* numbers[i]: our number of node i of that order. frames: by shape (segments need none of faces); order >= 1,
 * or 0 for a point. */
void lattice_order(const struct lattice_frame *frames, enum shape shape, int order, int *numbers);

#endif
