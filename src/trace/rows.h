/* Private to the room: the row modes of quads and hexes in a smoother.
 *
 * Where tau h is small, the highest Legendre polynomial on the faces along a row of cells is not seen by the
 * flux across the row (docs/pmg.md): what is left of K on these modes is a tridiagonal matrix T for every
 * row, from a face to the opposite one through the cell between. Blocks of faces or cells reach only so far
 * along a row; T is factored at the price of two passes over one number per face:
 *
 *     M = D + R' T^-1 R,      R: the last function of every face.
 */
#ifndef FACET_TRACE_ROWS_H
#define FACET_TRACE_ROWS_H

#include "trace/trace.h"

/* Over the parts of a mesh rows are cut at seams, on the host alone (rows.c). D, symmetric positive definite
 * and in double precision, is taken over (emptied), also on failure. For one component. */
facet_status operator_create_rows(const struct trace_space *space, const struct trace_matrices *matrices,
                                  struct linear_operator *D, struct linear_operator *M);

#endif
