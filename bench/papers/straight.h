/* The operators and preconditioners of huismann2020 as the paper writes them: the yardstick of the fast ones,
 * and a second implementation that shares nothing with them but the 1D eigenproblem.
 *
 * Algorithm 2 (HDG-TP) works in a nodal basis: the unknowns of a face are the values of uhat at the tensor
 * nodes, direction by direction as in boxhdg/boxhdg.h, and residuals are tested with the Lagrange functions
 * of these nodes. Algorithm 3 (HDG-TPT) works in the modes. D^-1 is stored for every cell. In the basis
 * BOX_COLLOCATED the mass matrix is lumped at the Gauss-Lobatto nodes as in the paper's measurements, which
 * makes it another discretization, with modes of its own; with the other two bases the modes are those of
 * boxhdg/boxhdg.h.
 *
 * Vectors have n_trace numbers; Dirichlet faces are taken as zero, and left so.
 */
#ifndef FACET_BENCH_PAPERS_STRAIGHT_H
#define FACET_BENCH_PAPERS_STRAIGHT_H

#include "boxhdg/boxhdg.h"

enum box_basis { BOX_LOBATTO, BOX_COLLOCATED, BOX_GAUSS };
enum box_algorithm { BOX_TP, BOX_TPT };
/* BOX_DIAGONAL: the inverse diagonal of K in the basis of the algorithm. BOX_BLOCK: the inverses of the
 * blocks of the faces (Algorithm 4; for BOX_TPT, where these are diagonal, HDG-trans). */
enum box_condition { BOX_DIAGONAL, BOX_BLOCK };

struct box_straight;
/* Preparation: eigenproblems, D^-1, and where the faces of a cell are. h must live longer. */
facet_status box_straight_create(const struct boxhdg *h, enum box_basis basis,
                                 struct box_straight **straight);
void box_straight_destroy(struct box_straight **straight);

/* Operators on vectors of a device whose memory the host can read; `straight` must live longer. What
 * is made from one `straight` shares its work arrays: one thread at a time. */
facet_status box_straight_operator(const struct device *device, struct box_straight *straight,
                                   enum box_algorithm algorithm, struct linear_operator *K);
facet_status box_straight_preconditioner(const struct device *device, struct box_straight *straight,
                                         enum box_algorithm algorithm, enum box_condition condition,
                                         struct linear_operator *M);
/* Floating-point operations of one application to all cells (faces), counted loop by loop. */
double box_straight_flops(const struct box_straight *straight, enum box_algorithm algorithm);
double box_straight_preconditioner_flops(const struct box_straight *straight, enum box_algorithm algorithm,
                                         enum box_condition condition);

/* Algorithm 6: uhat_modes = (S'M x S'M) uhat_nodes, F_modes = (S' x S') F_nodes, and back; n_trace numbers.
 */
enum box_quantity { BOX_TRACE, BOX_RESIDUAL };
void box_straight_to_modes(const struct box_straight *straight, enum box_quantity quantity,
                           const double *nodes, double *modes);
void box_straight_to_nodes(const struct box_straight *straight, enum box_quantity quantity,
                           const double *modes, double *nodes);
/* The nodes of the basis: n numbers in [-1, 1]. */
const double *box_straight_nodes(const struct box_straight *straight);

#endif
