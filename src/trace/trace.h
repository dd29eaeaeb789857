/* The trace system: numbering of the unknowns on the skeleton, and assembly from element matrices.
 *
 * Every face carries basis_size(face shape, degree) unknowns per component, contiguous. The *full* numbering
 * counts all faces in mesh order; the *free* numbering leaves out the eliminated (Dirichlet) faces. The
 * matrix couples free unknowns; what the eliminated ones contribute goes to the right-hand side.
 *
 * Element matrices: cell c of block b has a symmetric n x n matrix, n = sizes[b] = the sum of its faces'
 * unknowns in the order of its local faces, at matrices[b] + (c - first) * n * n.
 */
#ifndef FACET_TRACE_TRACE_H
#define FACET_TRACE_TRACE_H

#include "mesh/mesh.h"
#include "solve/solve.h"

struct trace_space {
    const struct facet_mesh *mesh;
    int degree, n_components;
    int64_t n_all, n_free;
    int64_t *face_first; /* n_faces + 1: first unknown in the full numbering */
    int64_t *face_free;  /* n_faces: first unknown in the free numbering, -1 when eliminated */
    int64_t n_free_faces;
    int64_t *free_offsets; /* n_free_faces + 1: the blocks of the free numbering */
    int32_t *free_faces;   /* n_free_faces: the face of each block */
};
/* eliminated: n_faces flags. */
facet_status trace_space_create(const struct facet_mesh *mesh, int degree, int n_components,
                                const uint8_t *eliminated, struct trace_space *space);
void trace_space_destroy(struct trace_space *space); /* safe on a zeroed struct, and twice */

/* Unknowns on the faces of one cell of a block. */
int trace_cell_size(const struct trace_space *space, int block);
/* local[n] = the full vector's entries on the faces of a cell, face after face. */
void trace_gather(const struct trace_space *space, int block, int32_t cell_in_block, const double *full,
                  double *local);

/* free[i] = sum over cells of their local vectors (locals[b]: count x n), for the free unknowns. Each face
 * gathers from its own two cells: no write conflicts. */
void trace_assemble_vector(const struct trace_space *space, double *const *locals, double *free);
/* full: the free values in their places, `eliminated` (full numbering) elsewhere. */
void trace_scatter(const struct trace_space *space, const double *free, const double *eliminated,
                   double *full);

/* K in compressed rows, and lift (n_free) = -K_{free, eliminated} values, assembled face by face without
 * atomics. */
facet_status trace_assemble(const struct trace_space *space, double *const *matrices,
                            const double *eliminated, struct csr *csr, double *lift);

#endif
