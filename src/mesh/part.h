/* The part of a mesh that one process (rank) of a team holds.
 *
 *       rank 0        rank 1
 *      +---+---+     +---+---+
 *      | a | b |     | c | d |             faces of b: its own copy of the face between b and c
 *      +---+---+     +---+---+             faces of c: its own copy of the same face
 *
 * Each cell lives on one rank, and there are no ghost cells: an HDG method couples cells through faces only.
 * A rank holds its cells, with all their faces, as an ordinary mesh, so that everything that works cell by
 * cell (condensation, load, recovery, post-processing, errors) works unchanged. A face whose two cells lie on
 * two ranks is held by both: a seam face. In the mesh its second cell is MESH_SEAM (mesh.h), which is
 * negative as MESH_BOUNDARY is, but another number: the face is no part of the boundary, it counts in n_faces
 * but not in n_boundary_faces, and it carries no condition.
 *
 * The two copies of a seam face have the same frame (mesh.h), so that coefficient i of a trace basis means
 * the same function on both ranks. A vector over traces is consistent when both copies have the same numbers.
 * A product A x, or a load, computed on each rank with its own cells leaves partial sums at seam faces; the
 * sum of both copies is the value, and since a + b and b + a are the same bits, both ranks get the same
 * number. In a dot product a face counts on the rank that owns it (the lower of the two).
 *
 * Order. neighbours[i].items on rank r, and the list of rank r on that neighbour, name the same faces in the
 * same order. A message about seam faces is their data in this order.
 *
 * Numbers. Cells have the numbers they have in a serial run. Owned faces of a rank are numbered without gaps
 * in the order of their local numbers, the ranks one after the other: rows of a distributed matrix. Likewise
 * owned vertices. Any two vertices that two ranks share have local numbers in the same order on both ranks,
 * so that what is directed by vertex numbers (edges) is directed alike. Sides that are periodic have their
 * own vertices, as in the mesh.
 *
 * Levels. Refinement is local: part->coarse is the part of the mesh that this one was refined from (or of the
 * coarser box), with part->coarse->mesh == part->mesh->coarse, and all cells of a rank lie in coarse cells of
 * the same rank.
 *
 * Ranks without cells have no part and no mesh; part->team has those only that have one. */
#ifndef FACET_MESH_PART_H
#define FACET_MESH_PART_H

#include <stdint.h>
#include <string.h>

#include "base/neighbours.h"
#include "mesh/mesh.h"

/* The box that a mesh is a block of, and where the block begins. */
struct part_box {
    int cells[3], first[3], periodic[3]; /* cells[0] == 0: there is none */
};

/* mesh->part; owned by its mesh. */
struct mesh_part {
    struct base_team *team; /* of the ranks that have cells */
    struct facet_mesh *mesh;
    struct mesh_part *coarse; /* that of mesh->coarse; NULL: none */

    /* Ranks with common faces, in ascending order. */
    int n_neighbours;
    struct team_neighbour *neighbours;
    uint8_t *owns_face; /* mesh->n_faces: 0 for seam faces whose other copy lies on a lower rank */

    /* Ranks with common vertices, in ascending order; items in ascending order of vertex_numbers. */
    int n_vertex_neighbours;
    struct team_neighbour *vertex_neighbours;
    uint8_t *owns_vertex; /* mesh->n_vertices: 0 where a lower rank has the vertex too */

    struct part_box box;     /* of mesh->cut */
    int is_turned;           /* somewhere in the whole, sides are joined by a rotation */
    int64_t *cell_numbers;   /* mesh->n_cells */
    int64_t *face_numbers;   /* mesh->n_faces; owned ones: first_face, first_face + 1, ... */
    int64_t *vertex_numbers; /* mesh->n_vertices; owned ones: first_vertex, first_vertex + 1, ... */
    int64_t first_face, first_vertex;

    int32_t n_seam_faces, n_owned_faces, n_owned_vertices; /* here */
    /* Of the whole mesh; a seam face is one face. */
    int64_t n_cells, n_faces, n_boundary_faces, n_vertices, n_all_seam_faces, n_shapes[SHAPE_COUNT];
    char shape_text[sizeof((struct facet_mesh *)NULL)->shape_text];
};
void mesh_part_destroy(struct mesh_part **part);

/* What is known where a part is made. All arrays stay the caller's. */
struct part_input {
    struct base_team *team;
    const int64_t *cell_numbers;
    const struct part_box *box; /* or NULL */
    int is_turned;
    int n_neighbours; /* by faces, in ascending order of their ranks */
    const int *ranks;
    const int32_t *counts, *faces; /* faces of each, in an order that both agree upon; faces: one after the
                                      other */
    int32_t n_shared;              /* vertices that other ranks may have too, which all of these name */
    const int32_t *shared;
    const struct team_key *keys; /* n_shared: what the vertex is, on all ranks alike, and no other */
};
/* Makes mesh->part; mesh->coarse is there. Collective. */
facet_status mesh_part_create(struct facet_mesh *mesh, const struct part_input *input);

/* The cells or faces of a group, in all parts; of a whole mesh simply its count. Collective. */
facet_status mesh_count_group(const struct facet_mesh *mesh, const struct mesh_group *group, int64_t *n);

/* NULL: the mesh is whole. */
static inline struct base_team *mesh_team(const struct facet_mesh *mesh) {
    return mesh->part != NULL ? mesh->part->team : NULL;
}

/* merge.c: `width` numbers of each face or vertex of the mesh become, where several parts have it, the
 * largest of all copies. Of a whole mesh nothing happens. Collective, as all that follows. */
facet_status mesh_merge_faces(const struct facet_mesh *mesh, int width, int64_t *values);
facet_status mesh_merge_vertices(const struct facet_mesh *mesh, int width, int64_t *values);
/* Numbers as integers in their order, so that the larger of two is merged; INT64_MIN is none. And back. */
static inline int64_t mesh_ordered(double number) {
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}
static inline double mesh_number_of(int64_t order) {
    double number;
    if (order < 0) order ^= INT64_MAX;
    memcpy(&number, &order, sizeof number);
    return number;
}
/* The same where vertices that periodic faces join are one. */
facet_status mesh_merge_joined_vertices(const struct facet_mesh *mesh, int width, int64_t *values);
/* The same for the edges of a skeleton, of cells that hang together through faces. directed: the lowest bit
 * of a number (none is negative) says whether the edge runs against the one that has named it; the rest is
 * compared. */
facet_status mesh_merge_edges(const struct facet_mesh *mesh, const struct mesh_skeleton *skeleton, int width,
                              int directed, int64_t *values);
/* seam_joints.c: of every face whether it lies at a seam and this part has its second side, that of the larger
 * cell. Of a whole mesh there is none. */
facet_status mesh_find_second_sides(const struct facet_mesh *mesh, uint8_t *second);
/* Faces at seams that are joined sides, ascending, in both parts: where the second side lies, seen from the
 * first, as of mesh_face_joint. */
struct mesh_seam_joint {
    int32_t face;
    int second; /* that side is here */
    enum mesh_joint joint;
    double R[9], s[3];
};
facet_status mesh_find_seam_joints(const struct facet_mesh *mesh, struct mesh_seam_joint **joints,
                                   int32_t *n);
/* piece: of mesh_find_pieces, becomes the number of each cell's among all pieces of all parts, which are in
 * ascending order of their smallest cells. And where the smallest cell of a piece lies, for messages, the
 * same on all parts. */
#define MESH_PLACE_BYTES 96
facet_status mesh_number_pieces(const struct facet_mesh *mesh, int32_t *piece, int32_t *n_pieces);
facet_status mesh_piece_text(const struct facet_mesh *mesh, const int32_t *numbers, int32_t number,
                             char text[MESH_PLACE_BYTES]);

#endif
