/* The reference cells, their vertices and their faces.
 *
 *   segment          triangle            quad                 All live in the unit box: coordinates 0..1.
 *   0-----1          2                   3-----2
 *                    |\                  |     |
 *                    | \                 |     |
 *                    0--1                0-----1
 *   faces 0 1        01 12 20            01 12 23 30
 *
 *   tet        z                                     hex       7---------6        z
 *              3                                              /|        /|        |  y
 *             /|\          0 = (0,0,0)                       4---------5 |        | /
 *            / | \         1 = (1,0,0)                       | |       | |        |/
 *           /  |  \        2 = (0,1,0)                       | 3-------|-2        +---- x
 *          /   0   \       3 = (0,0,1)                       |/        |/
 *         /  .   .  \                                        0---------1
 *        1 ----------- 2
 *      x               y                             0..3 the quad at z=0, 4..7 above them
 *
 *   face  vertices  lies in                          face  vertices  lies in
 *     0   0 2 1     z = 0                              0   0 3 2 1   z = 0
 *     1   0 1 3     y = 0                              1   0 1 5 4   y = 0
 *     2   0 3 2     x = 0                              2   1 2 6 5   x = 1
 *     3   1 2 3     x+y+z = 1                          3   2 3 7 6   y = 1
 *                                                      4   3 0 4 7   x = 0
 *                                                      5   4 5 6 7   z = 1
 *
 *   prism      5            0..2 the triangle at z=0, 3..5 above them
 *             /|\
 *            / | \         face  vertices  lies in
 *           3-----4          0   0 2 1     z = 0
 *           |  2  |          1   0 1 4 3   y = 0
 *           | / \ |          2   1 2 5 4   x+y = 1
 *           |/   \|          3   2 0 3 5   x = 0
 *           0-----1          4   3 4 5     z = 1
 *
 *   pyramid    4            0..3 the quad at z=0, 4 = (0,0,1) above vertex 0
 *             /|\
 *            / | \          face  vertices  lies in
 *           /  3--\---2      0   0 3 2 1   z = 0
 *          /  /    \ /       1   0 1 4     y = 0
 *         0-------1          2   1 2 4     x+z = 1
 *                            3   2 3 4     y+z = 1
 *                            4   3 0 4     x = 0
 *
 * The vertices of face f of a cell, in order, run so that a 2D cell lies to the left of its faces, and so
 * that the right-hand rule gives the normal that leaves a 3D cell. Faces 0 and 1 of a segment are its
 * vertices 0 and 1. The edges of a 2D cell are its faces; of a tet 01 12 20 03 13 23, of a hex 01 12 23 30 04
 * 15 26 37 45 56 67 74, of a prism 01 12 20 03 14 25 34 45 53, of a pyramid 01 12 23 30 04 14 24
 * 34.
 *
 * Face frames. Every mesh face has a frame of its own: its vertices in an order both neighbours agree on. The
 * orientation o of a cell's face says how the frame's vertices lie in the cell's face: frame vertex i is the
 * cell's face vertex shape_permutation(face shape, o)[i]. A point with frame coordinates s then has cell
 * coordinates shape_face_point(shape, face, o, s).
 */
#ifndef FACET_POLY_SHAPE_H
#define FACET_POLY_SHAPE_H

enum shape {
    SHAPE_POINT,
    SHAPE_SEGMENT,
    SHAPE_TRIANGLE,
    SHAPE_QUAD,
    SHAPE_TET,
    SHAPE_HEX,
    SHAPE_PRISM,
    SHAPE_PYRAMID,
    SHAPE_COUNT
};

#define SHAPE_MAX_VERTICES      8
#define SHAPE_MAX_FACES         6
#define SHAPE_MAX_FACE_VERTICES 4
#define SHAPE_MAX_EDGES         12

const char *shape_name(enum shape shape); /* point segment triangle quad tet hex prism pyramid */
int shape_dim(enum shape shape);
int shape_n_vertices(enum shape shape);
int shape_n_faces(enum shape shape);
int shape_is_simplex(enum shape shape); /* segments count as simplices */
double shape_measure(enum shape shape);
const double *shape_vertices(enum shape shape); /* n_vertices x dim */
enum shape shape_face_shape(enum shape shape, int face);
const int *shape_face_vertices(enum shape shape, int face);
int shape_faces_differ(enum shape shape); /* some are triangles and some are quads */
/* The extent of a cell across a face, times the area of the face, over the volume: 1 where cells are as wide
 * everywhere, dim on simplices. */
double shape_height(enum shape shape, int face);

/* The cell is where 0 <= x_a <= 1 - (the sum of later coordinates that shorten axis a). Which ones, as bits;
 * and what is left of that room: 1 - x_a - sum. */
int shape_shortened(enum shape shape, int axis);
double shape_room(enum shape shape, int axis, const double *xi);

/* Entities of dimension d: vertices (0), edges (1), faces (2) and the cell itself. */
int shape_n_entities(enum shape shape, int d);
enum shape shape_entity_shape(enum shape shape, int d); /* where all of a dimension are alike */
const int *shape_entity_vertices(enum shape shape, int d, int entity);
/* The vertex of a shape at the end of its axis: its coordinates are a unit vector. */
int shape_axis_vertex(enum shape shape, int axis);

/* 1 for a point, 2 for a segment, 6 for a triangle, 8 for a quad; 0 for what is no face. Orientation 0 is the
 * identity. */
int shape_n_orientations(enum shape face_shape);
const int *shape_permutation(enum shape face_shape, int orientation);
/* The orientation o with frame[i] == local[permutation(o)[i]] for all i, or -1. */
int shape_find_orientation(enum shape face_shape, const int *frame, const int *local);
/* Frame coordinates s (dim-1 numbers) to cell coordinates xi (dim numbers). */
void shape_face_point(enum shape shape, int face, int orientation, const double *s, double *xi);
/* The direction across a face of a quad or hex, and whether it is the upper one (1) or the lower (0). */
void shape_face_side(enum shape shape, int face, int *direction, int *upper);

/* Nodes of the equispaced lattice of order g >= 1: (g+dim) choose dim for simplices, (g+1)^dim for tensor
 * cells, the product of both for prisms, (g+1)(g+2)(2g+3)/6 for pyramids. Numbered with the first coordinate
 * fastest: node (i,j,k) is xi = (i,j,k)/g, as long as it lies in the cell. */
int shape_n_nodes(enum shape shape, int order);
void shape_nodes(enum shape shape, int order, double *xi); /* n_nodes x dim */
/* As many points, drawn towards faces, edges and vertices as Chebyshev's are towards the ends of a line, so
 * that a polynomial cannot be much larger elsewhere: on simplices those of isaac2020, sec. 3. */
void shape_samples(enum shape shape, int order, double *xi); /* n_nodes x dim */
/* Lattice number of node (i,j,k), and of vertex v. */
int shape_node(enum shape shape, int order, const int at[3]);
int shape_vertex_node(enum shape shape, int order, int vertex);

#endif
