/* Private to the room: products with element matrices in 16 bits, which are enough for a smoother where their
 * rounding is small against the energy of every trace but the constant (docs/pmg.md). */
#ifndef FACET_TRACE_HALF_PRECISION_H
#define FACET_TRACE_HALF_PRECISION_H

#include "trace/trace.h"

/* Up to which error a level is in 16 bits. */
#define TRACE_HALF_ERROR 0.75

/* The motions of cells, for struct cell_plan: coordinates on the faces of the cells of a block, in the hat
 * functions of their vertices, from the middle of a cell and in units of its size; on the host.
 * *n_near: functions of a face. */
facet_status trace_half_motions(const struct trace_space *space, int block, int lanes, int *n_near,
                                double **motions);

/* Batches of displacements that 16 bits do not serve, having a cell of which K sees a motion (rollers) or
 * whose rotations are not those of its vertices (curved faces): flags of a block, free with base_free, and
 * how many. */
facet_status trace_half_held(const struct trace_space *space, const struct trace_matrices *matrices,
                             int block, uint8_t **held, int64_t *count);
/* The product with these batches in single precision; it owns all its data. */
facet_status trace_half_rest(const struct trace_space *space, const struct trace_matrices *matrices,
                             uint8_t *const *held, struct linear_operator *rest);

/* *S = A, an operator of trace_operator_create with these matrices, with its matrices in 16 bits and its
 * vectors in single precision; it owns all its data. Empty where they are not exact enough or bring nothing.
 */
facet_status trace_operator_halve(const struct trace_space *space, const struct trace_matrices *matrices,
                                  const struct linear_operator *A, struct linear_operator *S);
/* *error becomes at least the largest |(v, (H - K) v)| / (v, K v) of a sample of the cells of a block, H
 * being the matrices in 16 bits of the plan; cells without (all of whose numbers are zero) do not count. */
facet_status trace_half_error(const struct facet_mesh *mesh, const struct trace_matrices *matrices, int block,
                              const struct cell_plan *plan, double *error);

#endif
