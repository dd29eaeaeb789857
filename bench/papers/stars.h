/* Vertex stars: a smoother for HDG on boxes that solves exactly on the 2^dim cells around every vertex.
 *
 * The star of a vertex is the set of faces that touch it. With zero traces outside, its system is the direct
 * solve of boxhdg/lattice.h on a box of two cells a direction, with a single plane in each: O(n^3) for O(n^2)
 * unknowns of the trace, as dear as a product with the cells' operator. Stars at Neumann sides have one cell
 * across, in periodic directions they wrap; where a direction has no free plane at all, the star is its one
 * cell.
 *
 * The sweep is multiplicative by colours: stars of one colour touch no common unknown. The residual goes
 * along: after a solve it is updated on the faces of the star's cells, so that a sweep costs one solve and
 * 2^dim one-sided cell products a vertex, and leaves the residual of its result. Forward, the colours go up;
 * backward, down: one is the adjoint of the other, also where cells differ in k and lambda and a star takes
 * their means, which makes its solve approximate.
 */
#ifndef FACET_BENCH_PAPERS_STARS_H
#define FACET_BENCH_PAPERS_STARS_H

#include "bench/papers/vertices.h"
#include "solve/multigrid.h"

struct box_stars;
/* h is borrowed. single: all numbers of a sweep are floats. */
facet_status box_stars_create(const struct boxhdg *h, int single, struct box_stars **stars);
void box_stars_destroy(struct box_stars **stars);
const struct boxhdg *box_stars_hdg(const struct box_stars *stars);
int box_stars_is_single(const struct box_stars *stars);

/* One sweep: x is corrected, r, the residual of x, goes along. Plain modes, n_trace; r is zero on Dirichlet
 * faces. The first for stars in double precision, the second in single. */
void box_stars_sweep(struct box_stars *stars, int backward, double *x, double *r);
void box_stars_sweep_single(struct box_stars *stars, int backward, float *x, float *r);
/* r -= K x, every cell of the box. */
void box_stars_subtract(struct box_stars *stars, const double *x, double *r);
void box_stars_subtract_single(struct box_stars *stars, const float *x, float *r);

/* As a smoother of a multigrid over plain modes on a host device: forward from zero, else (after a coarse
 * correction) backward. The operator of the level is not asked: the stars know K. stars is taken over. */
facet_status smoother_create_box_stars(struct box_stars **stars, struct smoother *smoother);

/* The product K x itself, in plain modes on a host device; h is borrowed. */
facet_status operator_create_box_plain(const struct device *device, const struct boxhdg *h,
                                       struct linear_operator *A);

/* The complete preconditioner: forward stars, the coarse space of vertices solved by Cholesky or algebraic
 * multigrid, backward stars. Symmetric, over plain modes in double precision on a host device; single: what
 * it does inside is in single precision. h is borrowed. */
facet_status box_two_level_create(const struct device *device, const struct boxhdg *h, int single,
                                  struct linear_operator *M);

#endif
