/* Private to the room: what p-multigrid on the trace is made of. All in the free numbering, for any number of
 * components. */
#ifndef FACET_TRACE_PMG_PARTS_H
#define FACET_TRACE_PMG_PARTS_H

#include "solve/multigrid.h"
#include "trace/trace.h"

/* The diagonal blocks of K, one per free face, n x n each by rows. */
facet_status trace_face_blocks(const struct trace_space *space, const struct trace_matrices *matrices,
                               double **blocks);
/* The same with m rows each in lanes on the device, for operator_create_lane_blocks; *blocks is NULL where a
 * cell is its own neighbour, which this does not see. */
facet_status trace_lane_blocks(const struct trace_space *space, const struct trace_matrices *matrices, int m,
                               double **blocks);
/* The element matrices of a space of lower degree on the same mesh and faces: in a hierarchical basis the
 * entries of the leading functions. */
facet_status trace_matrices_lower(const struct trace_space *space, const struct trace_space *low,
                                  const struct trace_matrices *matrices, struct trace_matrices *lower);

/* Prolongations. From a lower degree. */
facet_status trace_inject(const struct trace_space *space, const struct trace_space *low,
                          struct mg_transfer *P);

/* The same as functions, where all parts (faces, components) are alike; else link->prolong stays NULL. */
facet_status trace_inject_parts(const struct trace_space *space, const struct trace_space *low,
                                struct mg_link *link);

/* From functions that are linear (multilinear) on every face and continuous, one node per vertex that is not
 * on an eliminated face (of vector functions: without the components that are fixed on a face). With `rows`,
 * faces of quads and hexes get the row modes as well: where tau h is small, the highest Legendre polynomial
 * L_k across a row (layer) of cells is not seen by the flux in its own direction, and a condensed Laplacian
 * of one dimension less is left along the row, too slow for any smoother. So there is a node for every face
 * in 2D (L_k), and in 3D for every edge (L_k along it, linear across) and, from k = 2 on, for every face (L_k
 * L_k).
 *
 * With FLUXES, of displacements, every face has its constant normal displacement as well. They hold the flux
 * through every face, so that nothing locks where lambda is large: a displacement v is the sum of vertex
 * functions, of normals that correct their flux through every face to that of v, and of a rest without flux,
 * whose energy does not know lambda (C. Bernardi, G. Raugel, Analysis of some finite elements for the Stokes
 * problem, Math. Comp. 44, 1985: P1 with the normal bubbles of faces is stable). On tets there are 2.5
 * unknowns a cell, where the rigid motions of faces are 12. With NORMALS the normal displacements of degree
 * 1, dim of a face, which leave half as much to a smoother: 6.5 unknowns a cell. */
enum trace_beside { TRACE_VERTICES, TRACE_ROWS, TRACE_FLUXES, TRACE_NORMALS };
struct trace_nodes {
    int64_t n;                /* nodes */
    int64_t n_vertices;       /* the first of them belong to vertices */
    enum trace_beside beside; /* what else there may be */
    int64_t *offsets;    /* n + 1: the columns of a node, one for each component that is not given there */
    uint8_t *components; /* of each column */
    int32_t *vertices;   /* n: a vertex of the mesh; -1 for row modes and normals */
    int32_t *places;  /* n: of a vertex its piece, or the vertex of the skeleton; of row modes and normals the
                         face of the mesh, or -1 - edge of the skeleton */
    int32_t *columns; /* of every vertex of the mesh its first column, all components following it, or -1;
                         NULL where there is more to a node */
    struct mg_transfer P;
    struct mesh_skeleton skeleton;
    /* Of the edges of a mesh whose parts share it: twice the largest number that a part with a node there has
     * given it, + 1 where the edge runs against that one; those of this part begin here. */
    int64_t *edge_labels, first_label;
};
void trace_nodes_destroy(struct trace_nodes *nodes);
/* Where K jumps round a vertex, its function may be cut into those of its pieces (solve/jumps.h): a face
 * takes part in that of the stiffer of its cells. They sum up to the function of the vertex. */
struct trace_pieces {
    double *values;      /* of every cell: what stands for K */
    int32_t n, *corners; /* of every corner of a cell its piece, -1: held by a wall; NULL: not cut */
    int chains;          /* tets, and most vertices that are not held have several pieces: chains of cells */
    int64_t first[MESH_MAX_BLOCKS]; /* among the corners: of a block, cell after cell */
    /* Of a mesh whose parts share it: the first piece of every vertex, and how many one has at most; of faces
     * of the seam whether the other's cell is the stiffer, and the pieces that it belongs to. */
    int32_t *firsts, most, *beyond; /* n_vertices; -; n_faces x SHAPE_MAX_FACE_VERTICES */
    uint8_t *is_beyond;             /* n_faces */
};
void trace_pieces_destroy(struct trace_pieces *pieces); /* safe on a zeroed struct, and twice */
/* matrix_jumps.c. *jump: the largest solve_star_jump of K, or 1 where K varies by no more than SOLVE_LARGE_JUMP at
 * all; corners are found where it is above that. */
facet_status trace_pieces_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                 double *jump, struct trace_pieces *pieces);

/* pieces: NULL, or without corners: vertices are not cut. Of one component where they are. */
facet_status trace_continuous_nodes(const struct trace_space *space, enum trace_beside beside,
                                    const struct trace_pieces *pieces, struct trace_nodes *nodes);

/* corners.c: whole vertices of simplices below a level of degree 1, for devices that are not the host.
 * Whether they are what is wanted; the nodes without P, and the columns of the vertices of every component of
 * every free face (n x components x dim, -1: none); the transfer that these are. */
int trace_has_corners(const struct trace_space *space, const struct trace_matrices *matrices,
                      enum trace_beside beside, const struct trace_pieces *pieces);
facet_status trace_corner_nodes(const struct trace_space *space, struct trace_nodes *nodes,
                                int32_t **corners);
facet_status trace_corner_link(const struct device *device, const struct trace_space *space,
                               int64_t n_columns, const int32_t *corners, struct mg_link *link);

/* The hat functions of the vertices of a face in the basis of degree 1: functions x vertices, by rows. */
facet_status trace_hats(enum shape shape, double **hats);

/* P'KP from the element matrices, without K. */
facet_status trace_galerkin(const struct trace_space *space, const struct trace_matrices *matrices,
                            const struct mg_transfer *P, struct csr *csr);
/* The same where P is known by the columns of vertices alone (trace_nodes), on simplices; of several
 * components where the device is not the host, and has the kernel cell_corners. */
facet_status trace_galerkin_vertices(const struct trace_space *space, const struct trace_matrices *matrices,
                                     int64_t n_columns, const int32_t *columns, struct csr *csr);

/* The largest C with (z, D_e z) <= C (v, K_e v) on a sample of cells, z being what P leaves of a trace and
 * D_e the blocks of single faces: see estimate.c. */
facet_status trace_smoothing_constant(const struct trace_space *space, const struct trace_matrices *matrices,
                                      const struct mg_transfer *P, double *constant);

/* The largest over the smallest diagonal entry of all element matrices; infinite when one of them, or its
 * inverse, is beyond single precision. */
facet_status trace_spread(const struct trace_space *space, const struct trace_matrices *matrices,
                          double *spread);

#endif
