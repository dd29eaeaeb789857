/* Meshes: cells with Lagrange geometry, faces with frames, named groups.
 *
 * Cells of one shape are contiguous: a mesh is a few blocks, and cell c of the mesh is cell c - block->first
 * of its block. Everything per cell lies in the block, everything per face in the mesh. Dimension and shape
 * are run-time values.
 *
 * A face joins one cell (boundary) or two (interior, periodic). The second cell may be one of another rank,
 * where a mesh is a part of a larger one (part.h): such a face lies on a seam, and not on the boundary.
 * Its frame is the order of its vertices by ascending vertex number, starting with the smallest; the second
 * vertex of a quad face is the smaller neighbour of the first. For a periodic pair the frame is that of the
 * first cell's side, carried over by the pairing. See poly/shape.h for orientations.
 *
 * Groups are named sets of cells (regions) or of faces (parts of the boundary, or inner surfaces). A cell or
 * face may belong to several groups or to none.
 *
 * A mesh is immutable once made. mesh_create checks everything that can be wrong with it.
 *
 * A box of quads or hexes stays a box: coordinates, counts and names are there from the beginning, the lists
 * (arrays of the block, of the faces, of the groups) once mesh_need_lists was called. Whoever reads lists
 * calls it at the door. What a box answers without them: mesh_box_index, mesh_group_face, mesh_middle_text,
 * mesh_locate, mesh_measure_quality, mesh_refine.
 */
#ifndef FACET_MESH_MESH_H
#define FACET_MESH_MESH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"
#include "poly/shape.h"

#define MESH_MAX_ORDER  9
#define MESH_MAX_BLOCKS 4 /* shapes of one dimension */
/* What stands for the second cell of a face that has one cell here. */
enum { MESH_BOUNDARY = -1, MESH_SEAM = -2 };
/* So that 32-bit numbers count the sides of all cells. */
#define MESH_MAX_CELLS (INT32_MAX / SHAPE_MAX_FACES)

struct mesh_block {
    enum shape shape;
    int32_t first, count;  /* cells first .. first+count-1 of the mesh */
    int n_nodes;           /* shape_n_nodes(shape, mesh->order) */
    int32_t *vertices;     /* count x n_vertices(shape) */
    int32_t *faces;        /* count x n_faces(shape): mesh face numbers */
    uint8_t *orientations; /* count x n_faces(shape) */
    double *nodes;         /* count x n_nodes x dim: coordinates of the lattice nodes */
    uint8_t *affine;       /* count: nonzero when the map from the reference cell is affine (to rounding) */
};

struct mesh_group {
    char *name;
    int dim;  /* mesh->dim: cells; mesh->dim - 1: faces */
    int side; /* of a box: 2 direction + (0: lower, 1: upper) */
    int32_t count;
    int32_t *ids; /* ascending cell or face numbers */
};

/* The box that a mesh of quads or hexes is: its cells are the products of the intervals between the
 * coordinates, direction 0 fastest. */
struct mesh_box {
    int cells[3]; /* 0: the mesh is no such box */
    double *coordinates[3];
    int periodic[3];
};

/* What is made, or found out, when somebody asks for it, who has a mesh that he may not change. */
struct mesh_late {
    struct facet_mesh *mesh; /* whose it is */
    pthread_mutex_t making;
    atomic_int has_lists;
    atomic_int has_no_overlap; /* somebody has looked */
};
/* An empty mesh. */
facet_status mesh_alloc(struct facet_mesh **mesh);

struct mesh_part;
struct facet_mesh {
    int dim, order;
    struct mesh_box box;
    struct mesh_box cut;       /* likewise the box whose bricks were cut into simplices, in its own order */
    const char *split;         /* how they were cut (static text, as in facet_box), NULL without `cut` */
    struct facet_mesh *coarse; /* owned: the mesh that this one was refined from; NULL: none is kept */
    int32_t n_vertices, n_cells, n_faces, n_boundary_faces;
    int n_blocks;
    struct mesh_block blocks[MESH_MAX_BLOCKS];
    int32_t *face_cells; /* n_faces x 2: second is MESH_BOUNDARY or MESH_SEAM where there is none here; a cell
                            may be its own neighbour */
    uint8_t *face_locals; /* n_faces x 2: local face number in each cell */
    uint8_t *face_shapes; /* n_faces: enum shape */
    int n_groups;
    struct mesh_group *groups;
    char shape_text[40];    /* "triangle", "triangle+quad", "tet+hex+prism" */
    struct mesh_late *late; /* owned */
    int has_pairs;          /* sides were joined when it was made; not of boxes */
    int n_scalings;         /* so that solvers see it */
    struct mesh_part *part; /* owned: what is known of the other parts (part.h); NULL: this is the whole */
    struct facet_context *context; /* of the public calls that name none; NULL: made without */
};

/* Of the whole mesh, where this is a part. */
struct mesh_counts {
    int64_t cells, faces, boundary_faces, vertices, seam_faces, shapes[SHAPE_COUNT];
    const char *shape_text; /* as long as the mesh */
};
struct mesh_counts mesh_count(const struct facet_mesh *mesh);

static inline int mesh_is_boundary(const struct facet_mesh *mesh, int64_t face) {
    return mesh->face_cells[2 * face + 1] == MESH_BOUNDARY;
}

/* Makes the lists of a box that has none yet; all other meshes have them. May be called from several threads:
 * one makes them, the others wait. After a failure the mesh is as before. */
facet_status mesh_need_lists(const struct facet_mesh *mesh);

/* What a reader or generator hands over. All arrays stay the caller's. Cells come in any order and mix of
 * shapes. */
struct mesh_input_group {
    const char *name;
    int dim;
    int64_t count;
    const int64_t *cells;    /* dim == mesh dim: input cell numbers */
    const int32_t *vertices; /* dim == mesh dim - 1: count x SHAPE_MAX_FACE_VERTICES, padded with -1 */
};
struct mesh_input {
    int dim, order;
    int64_t n_vertices, n_cells;
    const uint8_t *shapes;         /* n_cells */
    const int64_t *vertex_offsets; /* n_cells + 1, into vertices */
    const int32_t *vertices;
    const int64_t *node_offsets; /* n_cells + 1, into nodes, counted in nodes */
    const double *nodes;         /* x dim; lattice nodes of every cell in the order of shape_nodes */
    int n_groups;
    const struct mesh_input_group *groups;
    int64_t n_periodic;        /* pairs of boundary faces to be joined */
    const int32_t *periodic;   /* n_periodic x 2 x SHAPE_MAX_FACE_VERTICES: matching vertices in matching
                                  places, padded -1 */
    int64_t n_seam;            /* faces whose second cell is one of another part */
    const int32_t *seam;       /* n_seam x SHAPE_MAX_FACE_VERTICES: in the order of the frame, padded -1 */
    int32_t *seam_faces;       /* NULL, or receives the face numbers of these */
    const int64_t *cell_names; /* NULL, or how the source names each cell (Gmsh tag), for messages */
    int conforming;            /* neighbours fit together by the way they were made: nobody looks */
    int64_t *numbers;          /* NULL, or receives the number in the mesh of every cell */
    int straight_first;        /* of one shape, cells with an affine map come before the others: many in a row
                                  are worked on together */
};

/* Builds topology, checks the mesh, and reports all that is wrong in one message (at most 10 items and a
 * count): inverted or degenerate cells (smallest Jacobian at a lattice of sample points, including curved
 * ones: the exact polynomial determinant is sampled densely enough), faces shared by more than two cells,
 * cells given twice or folded over their neighbours, group faces that are faces of no cell, hanging
 * (non-conforming) vertices inside boundary faces of other cells, boundary faces that coincide without
 * sharing vertices, periodic partners that are not congruent. A cell whose Jacobian is negative everywhere
 * (clockwise) is not an error: it is turned over, which swaps its first two reference coordinates. Vertices
 * that no cell uses are left out of the numbering; groups of one name and dimension are joined. */
facet_status mesh_create(const struct mesh_input *input, struct facet_mesh **mesh);
void mesh_destroy(struct facet_mesh **mesh);

/* The generator behind facet_mesh_create_box. Group names xmin, xmax, ymin, ymax, zmin, zmax (not for
 * periodic directions). */
facet_status mesh_create_box(const facet_box *box, struct facet_mesh **mesh);
static inline int mesh_is_box(const struct facet_mesh *mesh) {
    return mesh->box.cells[0] > 0;
}
/* The box that a mesh of quads or hexes is, or the block of a box that it has as a part (part.h), whose cells
 * run in the same order; NULL: neither. */
static inline const struct mesh_box *mesh_bricks(const struct facet_mesh *mesh) {
    if (mesh_is_box(mesh)) return &mesh->box;
    return mesh->part != NULL && mesh->cut.cells[0] > 0 && mesh->split == NULL ? &mesh->cut : NULL;
}
/* Bricks first .. first + count - 1 of a box, in every direction, as a mesh by itself; cells and vertices run
 * as in the whole. It is no box, also of quads or hexes; `cut` is the block. Its sides inside of the whole,
 * or at a side that is joined to another block's, are a seam: of each of its faces
 * the number, the index of the brick across, and a key that both blocks give it, and no other face of the
 * two.
 */
#define MESH_SEAM_KEY 6
struct mesh_box_seam {
    int32_t n;
    int32_t *faces;
    int *across;   /* x 3 */
    int64_t *keys; /* x MESH_SEAM_KEY */
};
facet_status mesh_create_box_block(const facet_box *box, const int first[3], const int count[3],
                                   struct mesh_box_seam *seam, struct facet_mesh **mesh);
void mesh_box_seam_free(struct mesh_box_seam *seam); /* safe on a zeroed struct, and twice */
/* Cells into which it cuts a brick; what is wrong with the box, whatever its size. */
facet_status mesh_check_box(const facet_box *box, int *cells_per_brick);
/* Number i in direction a, 0 to cells[a]. */
double mesh_box_coordinate(const facet_box *box, int a, int i);
/* Where a cell of a mesh that is a box, or a block of one, lies: its index in every direction. */
void mesh_box_index(const struct facet_mesh *mesh, int32_t cell, int index[3]);
/* Gmsh MSH 2.2 or 4.1, ASCII or binary. join: whether the sides that $Periodic pairs become one, or stay
 * parts of the boundary. */
facet_status mesh_read_gmsh_as(const char *path, int join, struct facet_mesh **mesh);
static inline facet_status mesh_read_gmsh(const char *path, struct facet_mesh **mesh) {
    return mesh_read_gmsh_as(path, 1, mesh);
}
/* Every cell into 2^dim of its shape, but a pyramid into 6 and 4 tets; curved geometry is evaluated, groups
 * and periodicity are kept. Children stand together, in the order of the cells; but a box becomes a box. The
 * fine mesh does not keep the coarse one, which stays the caller's. */
facet_status mesh_refine(const struct facet_mesh *mesh, struct facet_mesh **fine); /* collective for parts */
/* Whether the mesh can be refined so many times: FACET_ERROR_INPUT when 32-bit numbers cannot count the
 * cells, FACET_ERROR_MACHINE when the memory that is available now would not hold them. */
facet_status mesh_check_refinement(const struct facet_mesh *mesh, int times);
/* Refines a mesh in place and so many times; it keeps all the meshes it came from (nesting.h). */
facet_status mesh_refine_keeping(struct facet_mesh *mesh, int times);

/* Multiplies all coordinates, those of the meshes it came from included. */
facet_status mesh_scale(struct facet_mesh *mesh, double factor);

const struct mesh_block *mesh_block_of(const struct facet_mesh *mesh, int32_t cell);
/* The parts of a mesh that no face connects: piece[cell] is the smallest cell of its piece. */
void mesh_find_pieces(const struct facet_mesh *mesh, int32_t *piece);
/* The same where some faces (n_faces flags) connect nothing. */
void mesh_find_pieces_between(const struct facet_mesh *mesh, const uint8_t *cut, int32_t *piece);
/* The middle of a cell, or of its face `local` (-1: the cell itself), and d x_a / d xi_b there (dim x dim).
 */
void mesh_middle(const struct facet_mesh *mesh, int32_t cell, int local, double *x, double *J);
/* "(0.5, 1)": the same for messages. */
const char *mesh_middle_text(const struct facet_mesh *mesh, int32_t cell, int local, char *text,
                             int text_bytes);
/* Face i of a group of faces: its first cell, its number there, and whether it has a second cell. */
struct mesh_group_face {
    int32_t cell;
    int local, is_inner;
};
struct mesh_group_face mesh_group_face(const struct facet_mesh *mesh, const struct mesh_group *group,
                                       int32_t i);
/* NULL when there is none; dim as in struct mesh_group. */
const struct mesh_group *mesh_find_group(const struct facet_mesh *mesh, const char *name, int dim);
/* "xmin, xmax, ymin, ymax": the names of all groups of this dimension, for messages; "none". */
void mesh_group_names(const struct facet_mesh *mesh, int dim, char *text, int text_bytes);
/* The side of a box that a word means, left, right, bottom, top, front (ymin) or back (ymax); else NULL. */
const char *mesh_side_meant(int dim, const char *word);
/* "; did you mean 'inlet'?", for a name that is none of them; "" when none is near. dim: -1 for all groups;
 * also: one more known word, or NULL. Answers with text. */
#define MESH_HINT_BYTES 96
const char *mesh_group_hint(const struct facet_mesh *mesh, int dim, const char *name, const char *also,
                            char text[MESH_HINT_BYTES]);

/* Where the second side of a face lies, seen from the first: x there = R x + s, R (dim x dim) a rotation. Of
 * a face at a seam the other side is not here: MESH_ONE_PLACE (mesh_find_seam_joints knows more). */
#define MESH_SAME_PLACE 1e-9 /* of coordinates: sides that are nearer lie in one place */
enum mesh_joint { MESH_ONE_PLACE, MESH_SHIFTED, MESH_TURNED };
enum mesh_joint mesh_face_joint(const struct facet_mesh *mesh, int32_t face, double R[9], double s[3]);
/* Of all faces whose sides lie in two places, ascending; the list becomes the caller's, NULL where there are
 * none. */
struct mesh_joined {
    int32_t face;
    enum mesh_joint joint;
    double R[9], s[3];
};
facet_status mesh_find_joined(const struct facet_mesh *mesh, struct mesh_joined **joined, int32_t *n);
/* The same between the n corners of two sides; and the corners of one, in the order of the face's frame:
 * their number. */
enum mesh_joint mesh_joint_between(int dim, int n, const double *const *x, const double *const *y,
                                   double R[9], double s[3]);
int mesh_side_corners(const struct facet_mesh *mesh, int32_t face, int side,
                      const double *x[SHAPE_MAX_FACE_VERTICES]);

/* Geometry at the points xi (n x dim) of one cell, given Lagrange tables of basis_lagrange(shape,
 * mesh->order, ...): x: n x dim (or NULL); jacobians (or NULL): n x dim x dim, d x_a / d xi_b. */
void mesh_cell_map(const struct mesh_block *block, int dim, int32_t cell_in_block, int n,
                   const double *lagrange, const double *lagrange_gradients, double *x, double *jacobians);

/* Nodes of cells that neighbours share, numbered once; vertices first, with their own numbers. */
struct mesh_numbers {
    int32_t n_points;
    int32_t *nodes[MESH_MAX_BLOCKS]; /* count x n_nodes, in the order of the lattice */
};
facet_status mesh_numbers_create(const struct facet_mesh *mesh, struct mesh_numbers *numbers);
void mesh_numbers_destroy(struct mesh_numbers *numbers); /* safe on a zeroed struct, and twice */

/* Rules of a degree for all cells, or for all their faces, of a mesh with or without lists. face: its number
 * in the cell; -1: the cell. x, weights, normals (of length 1, outward; faces only): as
 * facet_mesh_quadrature. A rule is for one thread. */
struct mesh_rules;
facet_status mesh_rules_create(const struct facet_mesh *mesh, int degree, int faces,
                               struct mesh_rules **rules);
void mesh_rules_destroy(struct mesh_rules **rules);
int mesh_rules_n(const struct mesh_rules *rules, int32_t cell, int face);
void mesh_rules_points(const struct mesh_rules *rules, int32_t cell, int face, double *x, double *weights,
                       double *normals);

/* Vertices and edges as a continuous function sees them: those that periodic faces join are one. The edges of
 * a 2D mesh are its faces. */
struct mesh_skeleton {
    int32_t n_vertices, n_edges;
    int32_t *vertices;               /* mesh->n_vertices */
    int32_t *edges[MESH_MAX_BLOCKS]; /* count x n_edges of the shape */
    uint8_t
        *orientations[MESH_MAX_BLOCKS]; /* likewise: 0 or 1, of the frame that all cells of an edge share */
};
facet_status mesh_skeleton_create(const struct facet_mesh *mesh, struct mesh_skeleton *skeleton);
/* Its vertices alone. */
facet_status mesh_skeleton_vertices(const struct facet_mesh *mesh, struct mesh_skeleton *skeleton);
void mesh_skeleton_destroy(struct mesh_skeleton *skeleton); /* safe on a zeroed struct, and twice */
/* The edge between two vertices of a cell, and whether it runs from the first to the second. */
int32_t mesh_find_edge(const struct facet_mesh *mesh, const struct mesh_skeleton *skeleton, int32_t cell,
                       int from, int to, int *forward);

/* Finds the cell that contains each point and its reference coordinates (Newton on curved cells); cell -1 if
 * none. A locator is a tree of the cells' bounding boxes. Points on the boundary of the mesh are accepted
 * within 1e-8 of the cell size, in reference coordinates. mesh_locate may be called from several threads. */
struct mesh_locator;
facet_status mesh_locator_create(const struct facet_mesh *mesh, struct mesh_locator **locator);
/* The same for n_points points: few of them are sought among all cells, one after the other, which is sooner
 * done than a tree. */
facet_status mesh_locator_create_for(const struct facet_mesh *mesh, int64_t n_points,
                                     struct mesh_locator **locator);
void mesh_locator_destroy(struct mesh_locator **locator);
facet_status mesh_locate(const struct mesh_locator *locator, const double *x, int32_t *cell, double *xi);
/* How far xi lies outside the reference cell; negative inside. */
double mesh_outside_by(enum shape shape, const double *xi);
/* All cells that have a point inside or touch it, within the same 1e-8, in ascending order: one rule for
 * points on faces, edges and vertices, which knows no units and, over the parts of a mesh, gives each cell
 * once. alone: cells do not overlap, so that one that has the point well inside (MESH_DEEP) is the only one.
 * claim: as of mesh_outside_by. */
#define MESH_DEEP 1e-3
struct mesh_place {
    int32_t cell;
    double claim, xi[3];
};
struct mesh_places {
    int n, room;
    struct mesh_place *items;
};
facet_status mesh_locate_all(const struct mesh_locator *locator, const double *x, int alone,
                             struct mesh_places *places); /* zeroed, or of a call before */
void mesh_places_free(struct mesh_places *places);

/* Points outside the mesh: the nearest point of its surface, how far that is, and how far the surface may be
 * from the boundary that was meshed (surface.h). Made by all parts together; asked by each. */
struct mesh_outside;
struct mesh_near {
    double y[3], distance, allowed;
};
facet_status mesh_outside_create(const struct facet_mesh *mesh, struct mesh_outside **outside);
void mesh_outside_destroy(struct mesh_outside **outside);
facet_status mesh_outside_ask(const struct mesh_outside *outside, const double *x, struct mesh_near *found);
/* "the point (1, 2) lies outside the mesh by 0.1": FACET_ERROR_INPUT. found: NULL where nobody knows how far.
 */
facet_status mesh_fail_outside(const struct facet_mesh *mesh, const double *x, const struct mesh_near *found);

/* Cells, sizes, Jacobians: what `facet check` prints; of a part those of the whole, by all of them together.
 */
struct mesh_quality {
    double volume;
    double smallest_diameter, largest_diameter; /* largest distance between two lattice nodes of a cell */
    double smallest_jacobian;                   /* min over cells of (min det J / max det J) */
    int64_t smallest_jacobian_cell;
    int64_t n_curved; /* cells that are not affine simplices nor multilinear */
    double lower[3], upper[3];
};
facet_status mesh_measure_quality(const struct facet_mesh *mesh, struct mesh_quality *quality);
/* Its volume, lower and upper alone. */
facet_status mesh_measure_size(const struct facet_mesh *mesh, struct mesh_quality *quality);

/* Space that several cells occupy, as two bodies that were not cut at each other do, looked for on the
 * coarsest of the meshes that this one was refined from. Bodies that reach into each other by no more than
 * the error of their geometry (surface.h), as curved ones do that were meshed apart and touch, do not
 * overlap. volume: what is there once more than it should, approximately, so that the volume of the union is
 * that of all cells less this. Collective for parts. */
struct mesh_overlap {
    int found;
    double volume;    /* where it was to be measured */
    int64_t cells[2]; /* two of them, in the whole mesh; the second may be -1: not known */
    double x[3];      /* and where */
};
facet_status mesh_find_overlap(const struct facet_mesh *mesh, int and_measure, struct mesh_overlap *overlap);
/* FACET_ERROR_INPUT, with a sentence, where there is an overlap. A mesh that has none is not looked at again.
 */
facet_status mesh_refuse_overlap(const struct facet_mesh *mesh);

/* The vertices of a face in the order of its frame, as one of its sides (0 or 1) sees them: in the mesh, and
 * (or NULL) in the cell. Returns their number. */
int mesh_side_vertices(const struct facet_mesh *mesh, int32_t face, int side, int32_t *vertices, int *locals);

/* nodes[i]: lattice number in the cell of node i of the face's lattice, in frame coordinates. Returns their
 * number, which is at most (order + 1)^2. */
int mesh_face_nodes(enum shape shape, int face, int orientation, int order, int *nodes);

#endif
