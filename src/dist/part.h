/* The part of a mesh that one rank holds.
 *
 *       rank 0        rank 1               rank 0            rank 1
 *      +---+---+     +---+---+
 *      | a | b |     | c | d |             faces of b: its own copy of the face between b and c
 *      +---+---+     +---+---+             faces of c: its own copy of the same face
 *
 * Each cell lives on one rank, and there are no ghost cells: an HDG method couples cells through faces only.
 * A rank holds its cells, with all their faces, as an ordinary mesh, so that everything that works cell by
 * cell (condensation, load, recovery, post-processing, errors) works unchanged. A face whose two cells lie on
 * two ranks is held by both: a seam face. In the mesh its second cell is MESH_SEAM (mesh/mesh.h), which is
 * negative as MESH_BOUNDARY is, but another number: it is no part of the boundary, belongs to
 * n_faces but not to n_boundary_faces, and carries no condition.
 *
 * The two copies of a seam face have the same frame (mesh/mesh.h), so that coefficient i of a trace basis
 * means the same function on both ranks. A vector over traces is consistent when both copies have the same
 * numbers. A product A x, or a load, computed on each rank with its own cells leaves partial sums at seam
 * faces; the sum of both copies is the value, and since a + b and b + a are the same bits, both ranks get the
 * same number. In a dot product a face counts on the rank that owns it (the lower of the two).
 *
 * Order. neighbours[i].faces on rank r and the list of rank r on that neighbour name the same faces in the
 * same order. A message about seam faces is their data in this order.
 *
 * Numbers. Cells have the numbers they have in a serial run. Owned faces of a rank are numbered without gaps
 * in the order of their local numbers, the ranks one after the other: rows of a distributed matrix. Likewise
 * owned vertices. Any two vertices that two ranks share have local numbers in the same order on both ranks,
 * so that what is directed by vertex numbers (edges) is directed alike.
 *
 * Levels. Refinement is local: part->coarse is the part of the mesh that this one was refined from (or of the
 * coarser box), with part->coarse->mesh == part->mesh->coarse, and all cells of a rank lie in coarse cells of
 * the same rank.
 *
 * Ranks without cells have no part; part->comm is the team of those that have one. */
#ifndef FACET_DIST_PART_H
#define FACET_DIST_PART_H

#include <stdint.h>

#include "dist/comm.h"
#include "mesh/mesh.h"

/* Another rank of part->comm, and what both hold. */
struct part_neighbour {
    int rank;
    int32_t count;
    int32_t *items; /* count local numbers of faces, or of vertices */
};

struct facet_part {
    struct dist_comm *comm;   /* of the ranks that have cells; owned by the finest part */
    struct facet_mesh *mesh;  /* owned by the finest part; coarser ones by the mesh above them */
    struct facet_part *coarse; /* owned; NULL: none */

    /* Ranks with common faces, in ascending order. */
    int n_neighbours;
    struct part_neighbour *neighbours;
    uint8_t *owns_face; /* mesh->n_faces: 0 for seam faces whose other copy lies on a lower rank */

    /* Ranks with common vertices, in ascending order; items in ascending order of vertex_numbers. */
    int n_vertex_neighbours;
    struct part_neighbour *vertex_neighbours;
    uint8_t *owns_vertex; /* mesh->n_vertices: 0 where a lower rank has the vertex too */

    int64_t *cell_numbers;   /* mesh->n_cells */
    int64_t *face_numbers;   /* mesh->n_faces; owned ones: first_face, first_face + 1, ... */
    int64_t *vertex_numbers; /* mesh->n_vertices; owned ones: first_vertex, first_vertex + 1, ... */
    int64_t first_face, first_vertex;

    int32_t n_seam_faces, n_owned_faces, n_owned_vertices; /* here */
    /* Of the whole mesh; a seam face is one face. */
    int64_t n_cells, n_faces, n_boundary_faces, n_vertices, n_all_seam_faces;
};

/* A part of a box, made in place: no rank ever holds the whole. Blocks of bricks, cut where the coarsest box
 * of the hierarchy can be cut, so that coarser boxes are parted alike. Collective over comm, all ranks of
 * which may be more than there are bricks. *part = NULL on ranks without cells. comm stays the caller's. */
facet_status part_create_box(struct dist_comm *comm, const facet_box *box, int refine,
                             struct facet_part **part);
/* Of a Gmsh file that rank 0 reads, cut by METIS by the cost of cells, and sent out; then refined in place. */
facet_status part_read_gmsh(struct dist_comm *comm, const char *path, int join_periodic, int refine,
                            struct facet_part **part);
/* Of a mesh that only rank 0 has (NULL on the others); ranks[cell] (rank 0): where each cell goes. */
facet_status part_distribute(struct dist_comm *comm, const struct facet_mesh *whole, const int32_t *ranks,
                             struct facet_part **part);
/* Replaces *part by one of a finer mesh, `times` times, which keeps the coarser ones. */
facet_status part_refine(struct facet_part **part, int times);
void part_destroy(struct facet_part **part); /* collective: it frees a communicator */

/* Sums of both copies at seam faces: values has `width` numbers for each face of the mesh. begin packs and
 * sends, end receives and adds; between them whatever does not touch seam faces may be computed.
 * f32 != 0: values are floats. */
struct part_exchange;
facet_status part_exchange_create(const struct facet_part *part, int width, int f32,
                                  struct part_exchange **exchange);
void part_exchange_destroy(struct part_exchange **exchange);
facet_status part_exchange_begin(struct part_exchange *exchange, const void *values);
facet_status part_exchange_end(struct part_exchange *exchange, void *values);

#endif
