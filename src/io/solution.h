/* A solution as a VTU file: facet_solver_write with the choices of a case file. */
#ifndef FACET_IO_SOLUTION_H
#define FACET_IO_SOLUTION_H

#include "base/status.h"

/* fields: n names out of those of facet_solver_evaluate, trace (the mean of the trace over the faces of each
 * cell), error (u minus exact), cell (the cell's number); n = 0: all that exist. order: of the Lagrange
 * cells, 0: the larger of field and geometry, at most 10. A field of a higher degree than 10 is written on
 * cells of order 10 after splitting each cell into four. pieces: of a team (io/vtu.h). */
facet_status solution_write(const struct facet_solver *solver, const char *path, int n_fields,
                            const char *const *fields, int order, int pieces);

#endif
