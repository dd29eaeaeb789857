/* The unknowns of a continuous method, condensed: on the vertices, edges and (3D) faces of the mesh.
 *
 * A node is a vertex, an edge or a face of a 3D mesh, with the modes that poly/modal.h gives it, in its own
 * frame; vertices come first, then edges, then faces. Periodic faces identify their vertices and edges. The
 * nodes are the faces of a struct trace_space (trace/trace.h), which numbers, multiplies and assembles them
 * as it does traces; the slots of a cell are its vertices, edges and faces in local order, as the boundary
 * modes of poly/modal.h.
 *
 * In parts of a mesh (mesh/part.h) a node is the same where all its vertices are; sides that are joined are
 * refused there.
 */
#ifndef FACET_TRACE_CONTINUOUS_H
#define FACET_TRACE_CONTINUOUS_H

#include "trace/trace.h"

struct continuous_space {
    const struct facet_mesh *mesh;
    struct mesh_skeleton skeleton;   /* n_vertices of it are the first nodes, after identification */
    int32_t *nodes[MESH_MAX_BLOCKS]; /* count x slots of a cell */
    struct seam *seam; /* of all nodes, where the mesh is a part; else NULL. Several parts may share one. */
};
/* Unknowns of the trace space that count here: of nodes that are shared, where they are owned. */
int64_t continuous_n_owned(const struct continuous_space *space, const struct trace_space *trace);

/* And the trace space of its nodes, which refers to it. eliminated: n_faces flags of the mesh; the vertices
 * and edges of such a face are eliminated too. */
facet_status continuous_space_create(const struct facet_mesh *mesh, int degree, const uint8_t *eliminated,
                                     struct continuous_space *space, struct trace_space *trace);
void continuous_space_destroy(struct continuous_space *space); /* safe on a zeroed struct, and twice */
/* Of the edges, then (3D) the faces of a cell, for modal_eval; at most TRACE_MAX_SLOTS. */
void continuous_orientations(const struct continuous_space *space, int block, int32_t cell_in_block,
                             unsigned char *orientations);
/* Mode i of the shape of a face (basis_size of them, orientations 0, in the frame of the face) is a sign
 * times an unknown: its numbers in the cell, the full and the free numbering (-1: eliminated). */
struct continuous_mode {
    double sign;
    int64_t local, full, free;
};
void continuous_face_modes(const struct continuous_space *space, const struct trace_space *trace, int block,
                           int32_t cell_in_block, int face, struct continuous_mode *modes);

#endif
