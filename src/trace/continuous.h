/* The condensed system of a continuous method: unknowns on the vertices, edges and (3D) faces of the mesh.
 *
 * A node is a vertex, an edge or a face of a 3D mesh, with the modes that poly/modal.h gives it, in its own
 * frame; vertices come first, then edges, then faces. Periodic faces identify their vertices and edges. The
 * *full* numbering counts all nodes, the *free* numbering leaves out the eliminated (Dirichlet) ones. The
 * unknowns of a cell are those of its vertices, edges and faces in local order, as the boundary modes of
 * poly/modal.h; a cell may meet a node more than once.
 *
 * Element matrices and forms of the operator are those of trace/trace.h.
 */
#ifndef FACET_TRACE_CONTINUOUS_H
#define FACET_TRACE_CONTINUOUS_H

#include "trace/trace.h"

/* Vertices, edges and faces of a cell. */
#define CONTINUOUS_MAX_LOCALS (SHAPE_MAX_VERTICES + SHAPE_MAX_EDGES + SHAPE_MAX_FACES)

/* One place where a cell meets a node. */
struct continuous_place {
    int32_t cell; /* of the mesh */
    int32_t slot; /* the node's first unknown among those of the cell */
};

struct continuous_space {
    const struct facet_mesh *mesh;
    int degree;
    int64_t n_all, n_free;
    struct mesh_skeleton skeleton;
    int32_t n_vertices, n_nodes;                           /* vertices after identification */
    int64_t *first;                                        /* n_nodes + 1: full numbering */
    int64_t *free;                                         /* n_all: free number, -1 when eliminated */
    int64_t n_blocks;                                      /* free nodes with unknowns */
    int64_t *block_offsets;                                /* n_blocks + 1, in the free numbering */
    int32_t *block_nodes;                                  /* n_blocks */
    int n[MESH_MAX_BLOCKS], n_locals[MESH_MAX_BLOCKS];     /* of a cell: unknowns, nodes */
    int slots[MESH_MAX_BLOCKS][CONTINUOUS_MAX_LOCALS + 1]; /* where the unknowns of its nodes begin */
    int32_t *unknowns[MESH_MAX_BLOCKS];                    /* count x n: full numbering */
    int64_t *place_starts;                                 /* n_nodes + 1 */
    struct continuous_place *places;                       /* by cell and slot within each node */
};

/* eliminated: n_faces flags; the vertices and edges of such a face are eliminated too. */
facet_status continuous_space_create(const struct facet_mesh *mesh, int degree, const uint8_t *eliminated,
                                     struct continuous_space *space);
void continuous_space_destroy(struct continuous_space *space); /* safe on a zeroed struct, and twice */
/* Of the edges, then (3D) the faces of a cell, for modal_eval; at most CONTINUOUS_MAX_LOCALS. */
void continuous_orientations(const struct continuous_space *space, int block, int32_t cell_in_block,
                             unsigned char *orientations);
/* Mode i of the shape of a face (basis_size of them, orientations 0, in the frame of the face) is signs[i]
 * times the cell's unknown slots[i]. */
void continuous_face_modes(const struct continuous_space *space, int block, int32_t cell_in_block, int face,
                           int32_t *slots, double *signs);

/* As their namesakes in trace.h. */
void continuous_gather(const struct continuous_space *space, int block, int32_t cell_in_block,
                       const double *full, double *local, int stride);
void continuous_scatter(const struct continuous_space *space, const double *free, const double *eliminated,
                        double *full);
void continuous_assemble_vector(const struct continuous_space *space, double *const *locals, double *free);
/* The function 1 in the full numbering: 1 on vertices, 0 elsewhere. */
void continuous_constant(const struct continuous_space *space, double *full);

/* Refers to the matrices, which must outlive it. */
facet_status continuous_operator_create(const struct continuous_space *space,
                                        const struct trace_matrices *matrices, struct operator* A);
facet_status continuous_lift(const struct continuous_space *space, const struct trace_matrices *matrices,
                             const double *eliminated, double *lift);
/* Row by row from the cells of each node: no write conflicts. */
facet_status continuous_assemble(const struct continuous_space *space, const struct trace_matrices *matrices,
                                 struct csr *csr);
facet_status continuous_block_diagonal(const struct continuous_space *space,
                                       const struct trace_matrices *matrices, struct csr *csr);

#endif
