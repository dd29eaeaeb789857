/* What the files of this room share: the list of faults, sets of vertex tuples, sampled geometry, the tree of
 * boxes. Nothing outside src/mesh includes it. */
#ifndef FACET_MESH_MESH_INTERNAL_H
#define FACET_MESH_MESH_INTERNAL_H

#include <stdint.h>

#include "mesh/mesh.h"
#include "mesh/nesting.h"

/* Sizes of cells, so that volumes, and squares of diameters, are numbers. */
#define MESH_SMALLEST_SIZE 1e-100
#define MESH_LARGEST_SIZE  1e100

/* ------------------------------------------------------------------------------------------ faults */

#define MESH_MAX_ISSUES  10
#define MESH_ISSUE_BYTES 320

struct mesh_issues {
    int64_t count;
    int length;
    char text[MESH_MAX_ISSUES * (MESH_ISSUE_BYTES + 4)];
};
void mesh_issue(struct mesh_issues *issues, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "+hex" at the end of the shapes of a mesh. */
void mesh_add_shape(enum shape shape, char *text, size_t text_bytes);
/* "(0.5, 1)" */
const char *mesh_point_text(int dim, const double *x, char *text, int text_bytes);

/* ------------------------------------------------------------------------------------------ tuples of
 * vertices */

/* A set of sorted vertex tuples (faces, edges), numbered in the order in which they were added. */
struct tuple_set {
    int stride; /* entries of a key; shorter tuples are padded with -1 */
    int32_t count, capacity;
    int32_t *keys;         /* count x stride */
    uint32_t mask, region; /* slots of the table, and of a part of it that a key does not leave, minus one */
    int32_t *table;        /* number + 1, 0: empty */
};
facet_status tuple_set_init(struct tuple_set *set, int stride, int64_t capacity);
void tuple_set_free(struct tuple_set *set);
/* Sorts n vertices into a key of `stride` entries. */
void tuple_sort(int n, const int32_t *vertices, int stride, int32_t *key);
/* The number of a key, which is added when it is new. The capacity is the caller's promise. */
int32_t tuple_set_add(struct tuple_set *set, const int32_t *key);
int32_t tuple_set_find(const struct tuple_set *set, const int32_t *key); /* -1: none */
/* Adds n keys to an empty set, by all threads: numbers[i] is what tuple_set_add would give, one after the
 * other; firsts[number]: the first key with it. n: the capacity at most. */
facet_status tuple_set_fill(struct tuple_set *set, int64_t n, const int32_t *keys, int32_t *numbers,
                            int32_t *firsts);

/* ------------------------------------------------------------------------------------------ building */

/* A mesh on its way from the input. Raw faces are faces before periodic pairs are joined. */
struct mesh_builder {
    const struct mesh_input *input;
    struct facet_mesh *mesh;
    struct mesh_issues issues;
    int64_t *input_cell;  /* of each mesh cell */
    int32_t *mesh_cell;   /* of each input cell */
    int32_t *vertex_map;  /* input vertex to mesh vertex, -1 when no cell has it */
    uint8_t *is_bad;      /* of each mesh cell: reported already, what follows from it is not */
    int has_broken_nodes; /* some coordinate is not a number */
    struct tuple_set raw; /* the vertices of the raw faces */
    int32_t *raw_cells;   /* x 2, -1: none */
    uint8_t *raw_locals;  /* x 2 */
    int32_t *raw_pair;    /* number of the periodic pair, -1: none */
    int32_t *face_of_raw;
    int32_t *raw_of_face; /* of the first cell's side */
    int32_t *face_seam;   /* of each face its number in input->seam, -1: none; NULL: there is no seam */
};
/* "cell 17 (Gmsh element 243)" for a cell of the mesh. */
const char *mesh_cell_text(const struct mesh_builder *builder, int32_t cell, char *text, int text_bytes);

/* Turns clockwise cells over, sets the affine flags, and reports cells whose Jacobian is not positive. */
facet_status mesh_check_cells(struct mesh_builder *builder);
facet_status mesh_build_topology(struct mesh_builder *builder);
/* The vertices of a face, given in their order round it, as a frame. */
void mesh_make_frame(int n, const int32_t *local, int32_t *frame);
/* The raw face with these input vertices (padded with -1), or -1. */
int32_t mesh_find_raw(const struct mesh_builder *builder, const int32_t *vertices);
/* The mean of the vertices of a cell's face. */
void mesh_side_center(const struct facet_mesh *mesh, int32_t cell, int local, double *x);
facet_status mesh_build_groups(struct mesh_builder *builder);
/* The vertices of both sides of a face; 0 when these are the same: it is not periodic. */
int mesh_periodic_corners(const struct facet_mesh *mesh, int32_t face,
                          int32_t corners[2][SHAPE_MAX_FACE_VERTICES]);
/* Hanging vertices, boundary faces that coincide, cells that disagree about a common face. */
facet_status mesh_check_conformity(struct mesh_builder *builder);

/* ------------------------------------------------------------------------------------------ geometry */

/* Lagrange tables of the geometry at the nodes of a finer lattice of the reference cell. */
struct mesh_samples {
    int n, n_nodes, dim;
    double *xi;        /* n x dim */
    double *values;    /* n x n_nodes */
    double *gradients; /* n x n_nodes x dim */
};
facet_status mesh_samples_create(enum shape shape, int order, int lattice, struct mesh_samples *samples);
void mesh_samples_free(struct mesh_samples *samples);
/* The sampling lattice that sees every sign change of det J worth seeing. */
#define MESH_SAMPLE_LATTICE(order) (2 * (order))

/* x = sum of weights x nodes for weights (n) that sum to 1; nodes: n x dim. */
void mesh_interpolate(int n, int dim, const double *weights, const double *nodes, double *x);
/* x and J (dim x reference dim) at one point xi of a cell or face whose lattice nodes are given; allocates
 * nothing. */
facet_status mesh_point_map(enum shape shape, int order, int dim, const double *nodes, const double *xi,
                            double *x, double *J);
double mesh_determinant(int dim, const double *J);
/* det J of a cell with these nodes at sample s. */
double mesh_sample_determinant(const struct mesh_samples *samples, int s, const double *nodes);
/* J of the affine map through the vertices of the axes. */
void mesh_affine_jacobian(enum shape shape, int order, const double *nodes, double *J);
/* The diagonal of the bounding box. */
double mesh_extent(int n, int dim, const double *nodes);
void mesh_bounds(int n, int dim, const double *nodes, double *lower, double *upper);
/* The lattice number of the node at xi (n x dim lattice coordinates in `lattice`), rounded to the nearest. */
int mesh_nearest_node(int n_nodes, int dim, const double *lattice, const double *xi);

/* ------------------------------------------------------------------------------------------ size */

/* Bytes for every cell of a mesh while it is made. */
double mesh_bytes_per_cell(enum shape shape, int order);
/* FACET_ERROR_INPUT for more than 32-bit numbers can count. */
facet_status mesh_check_count(double cells, double points);
/* FACET_ERROR_MACHINE for lists of a box that the memory does not hold. */
facet_status mesh_check_lists(enum shape shape, double cells);

/* ------------------------------------------------------------------------------------------ boxes */

/* lattice_box.c: a mesh of the same cells with its lists. */
facet_status mesh_list_box(const struct facet_mesh *box, struct facet_mesh **lists);

/* plain_box.c: what a box of quads or hexes knows without lists. Takes the coordinates over on success. */
facet_status mesh_create_plain_box(const facet_box *box, enum shape shape, double *coordinates[3],
                                   struct facet_mesh **mesh);
/* The box of a mesh, or that which was cut into its simplices, with every cell halved in all directions, or
 * two made one. */
facet_status mesh_rescale_box(const struct facet_mesh *mesh, const struct mesh_box *box, int finer,
                              struct facet_mesh **scaled);
/* The nodes of a cell, 2^dim x dim. */
void mesh_box_nodes(const struct facet_mesh *mesh, int32_t cell, double *nodes);
/* The cell whose intervals contain a point, or are nearest to it. */
int32_t mesh_box_cell(const struct facet_mesh *mesh, const double *x);
void mesh_measure_box(const struct facet_mesh *mesh, struct mesh_quality *quality);

static inline int mesh_block_index(const struct facet_mesh *mesh, int32_t cell) {
    int block = 0;
    while (block + 1 < mesh->n_blocks && cell >= mesh->blocks[block + 1].first) block++;
    return block;
}

static inline const double *mesh_cell_nodes(const struct facet_mesh *mesh, int32_t cell) {
    const struct mesh_block *block = &mesh->blocks[mesh_block_index(mesh, cell)];
    return block->nodes + (int64_t)(cell - block->first) * block->n_nodes * mesh->dim;
}

/* ------------------------------------------------------------------------------------------ refinement */

#define MESH_MAX_CHILDREN 10
#define MESH_MAX_MIDDLES  27 /* nodes of the hex lattice of order 2 */

/* Children as numbers of nodes of the order-2 lattice; the first is (0,0,0), then the first coordinate runs
 * fastest. */
struct mesh_children {
    int n;
    int vertices[MESH_MAX_CHILDREN][SHAPE_MAX_VERTICES];
};
/* The variants of a shape's refinement; one but for tets. */
const struct mesh_children *mesh_children_of(enum shape shape, int *n_variants);
/* The shape of child k: that of the parent, but the last four children of a pyramid are tets. */
static inline enum shape mesh_child_shape(enum shape shape, int k) {
    return shape == SHAPE_PYRAMID && k >= 6 ? SHAPE_TET : shape;
}

/* ------------------------------------------------------------------------------------------ nesting */

/* Ways to find the parent of a cell: by the order in which a refinement puts the children; by the intervals
 * of boxes of quads or hexes; among the simplices of one brick of a box; by a search of the whole mesh. */
enum mesh_way { MESH_BY_ORDER, MESH_BY_INTERVALS, MESH_BY_BRICKS, MESH_BY_SEARCH, MESH_N_WAYS };
struct mesh_finder;
/* *finder = NULL when the meshes cannot be nested in this way. */
facet_status mesh_finder_create(enum mesh_way way, const struct facet_mesh *fine,
                                const struct facet_mesh *coarse, struct mesh_finder **finder);
void mesh_finder_destroy(struct mesh_finder **finder);
/* The coarse cell around a fine one and its image there, a guess still to be checked; *parent = -1: there is
 * none. May be called from several threads. */
facet_status mesh_find_parent(const struct mesh_finder *finder, int32_t cell, int32_t *parent,
                              struct mesh_kind *image);

/* Vertex v of the simplex that spans a cell: its first vertex, then the ends of the axes. */
static inline int mesh_spanning_vertex(enum shape shape, int v) {
    return v == 0 ? 0 : shape_axis_vertex(shape, v - 1);
}

/* The largest side of the bounding box of some nodes, and the largest coordinate. */
static inline void mesh_node_range(int n, int dim, const double *nodes, double *extent, double *most) {
    *extent = *most = 0;
    for (int a = 0; a < dim; a++) {
        double lower = nodes[a], upper = nodes[a];
        for (int i = 1; i < n; i++) {
            double x = nodes[i * dim + a];
            lower = x < lower ? x : lower;
            upper = x > upper ? x : upper;
        }
        if (upper - lower > *extent) *extent = upper - lower;
        if (upper > *most) *most = upper;
        if (-lower > *most) *most = -lower;
    }
}

/* ------------------------------------------------------------------------------------------ location */

/* The reference coordinates of a point in one cell; lattice: shape_nodes of the cell (not read when it is
 * affine). *found = 0 when Newton did not arrive. */
facet_status mesh_invert(const struct facet_mesh *mesh, int32_t cell, const double *lattice,
                         const double *target, double *xi, int *found);
/* The number of a cell in the whole mesh. */
int64_t mesh_cell_number(const struct facet_mesh *mesh, int32_t cell);

/* ------------------------------------------------------------------------------------------ tree of boxes */

#define MESH_TREE_LEAF 4 /* boxes in a leaf: those of leaf i begin at order[4 i] */

/* A static tree over boxes sorted along the Morton curve of their centres; robust for graded meshes. */
struct mesh_tree {
    int dim;
    int32_t n, n_leaves; /* n_leaves: a power of two */
    int32_t *order;      /* the boxes in the order of the curve */
    double *bounds;      /* 2 n_leaves x 2 dim: node i has children 2i and 2i + 1, the root is 1 */
    const double *boxes; /* the caller's: n x 2 dim, lower then upper */
};
/* A box found by a query; a nonzero return ends the query. */
typedef int (*mesh_tree_visit)(void *user, int32_t box);
facet_status mesh_tree_create(int dim, int32_t n, const double *boxes, struct mesh_tree *tree);
void mesh_tree_free(struct mesh_tree *tree);
/* Visits every box that meets [lower, upper]. */
void mesh_tree_query(const struct mesh_tree *tree, const double *lower, const double *upper,
                     mesh_tree_visit visit, void *user);
/* Visits every pair of boxes that meet, one below a node and the other below it or one that comes later,
 * once. A nonzero return ends it. */
typedef int (*mesh_tree_visit_pair)(void *user, int32_t box, int32_t other);
void mesh_tree_pairs(const struct mesh_tree *tree, int32_t node, mesh_tree_visit_pair visit, void *user);

#endif
