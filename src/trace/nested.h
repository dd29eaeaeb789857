/* Private to the room: the trace on a coarser mesh under a mesh, the transfer between the two, and the
 * coarse element matrices. gmg.h has the mathematics.
 *
 * P has the rows of a fine face on a coarse face from the restriction of the coarse polynomial (few different
 * matrices), and those of a fine face inside a coarse cell from the extension of least energy. Rows of
 * unknowns whose value is given are empty.
 */
#ifndef FACET_TRACE_NESTED_H
#define FACET_TRACE_NESTED_H

#include "mesh/nesting.h"
#include "solve/multigrid.h"
#include "trace/trace.h"

/* The space of the same degree on the coarse mesh. A coarse face is eliminated, or one of its components
 * fixed, when all its fine faces are. */
facet_status trace_nested_space(const struct trace_space *fine, const struct mesh_nesting *nesting,
                                struct trace_space *coarse);

/* Restrictions of coarse face polynomials to fine faces, by the kind of the fine cell, its local face, and
 * the orientations of the fine and of the coarse face. */
struct nested_faces {
    int m;           /* largest number of functions of a face */
    int32_t *matrix; /* of every kind, face, orientation and coarse orientation: its matrix, -1: none */
    int n_matrices, capacity;
    double *J; /* n_matrices x m x m, by rows: fine from coarse coefficients */
};
facet_status nested_faces_create(const struct trace_space *fine, const struct mesh_nesting *nesting,
                                 struct nested_faces *faces);
void nested_faces_destroy(struct nested_faces *faces);

/* A face of a fine cell as its parent sees it. */
struct nested_side {
    int32_t face;
    int local; /* of the parent; -1: inside */
    const double *J;
};
void nested_side(const struct nested_faces *faces, const struct mesh_nesting *nesting, int32_t cell,
                 int local, struct nested_side *side);

/* The transfer, and the matrices P'KP of the coarse cells on `device`. inner: K_ii^-1 on the fine faces
 * inside coarse cells, zero elsewhere, on the device of the matrices: what is orthogonal to P in the energy.
 * Both may be NULL. */
facet_status trace_nested_create(const struct trace_space *fine, const struct trace_matrices *matrices,
                                 const struct mesh_nesting *nesting, const struct trace_space *coarse,
                                 const struct device *device, struct mg_transfer *P,
                                 struct trace_matrices *coarse_matrices, struct linear_operator *inner);

#endif
