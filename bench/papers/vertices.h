/* The coarse space of the preconditioners on a box: continuous functions, linear in every direction on each
 * cell, given by their values at the vertices of the cells; a trace vector takes their restriction to the
 * faces.
 *
 * Vertices form a lattice of planes[d] points a direction (box/box.h), direction 0 fastest. Those on
 * Dirichlet sides are no unknowns; the others are numbered in the order of the lattice. On a face the
 * function is the product, over the tangential directions, of the end values times (1 - xi)/2 and (1 + xi)/2,
 * whose coefficients in the modes of a line are a table of n x 2.
 *
 * The Galerkin matrix A = P'KP falls apart in the basis {1, xi}^dim of a cell, since the modes of 1 are even
 * and those of xi odd. Multilinear functions are harmonic and lie in the space, so that without reaction the
 * condensed energy is their own,
 *
 *     e_0(pi) = sum over d with pi_d = 1 of 2 a_d product_(d' != d) |xi^pi_d'|^2,   |1|^2 = 2, |xi|^2 = 2/3,
 *
 * and a reaction adds lambda V sum_m E_m^2 Z_0 / (Z_0 + lambda V), E being the modes of the function. Nothing
 * cancels.
 */
#ifndef FACET_BENCH_PAPERS_VERTICES_H
#define FACET_BENCH_PAPERS_VERTICES_H

#include "boxhdg/boxhdg.h"

struct box_coarse {
    const struct boxhdg *h; /* borrowed */
    int vertices[3];        /* of the lattice; 1 from dim on */
    int64_t n_vertices, n;  /* of the lattice, of the unknowns */
    int32_t *numbers;       /* n_vertices: the unknown, or -1 */
    double **ends;          /* per line: n x 2, the modes of (1 - xi)/2 and (1 + xi)/2 */
    struct csr A;           /* P'KP, of 3^dim points; singular where the grid is */
    double (*sums)[4];      /* work of the restriction, faces x corners: one at a time */
};
facet_status box_coarse_create(const struct boxhdg *h, struct box_coarse *coarse);
void box_coarse_destroy(struct box_coarse *coarse); /* safe on a zeroed struct, and twice */

/* The vertex at the lower (0) or upper (1) end, in every direction, of a cell; in the lattice. */
int64_t box_coarse_vertex(const struct box_coarse *c, const int at[3], const int ends[3]);

/* trace += P x and x = P' trace in plain modes (n_trace), x having n unknowns. Faces with Dirichlet values
 * are neither written nor read. */
void box_coarse_prolong(const struct box_coarse *c, const double *x, double *trace);
void box_coarse_restrict(const struct box_coarse *c, const double *trace, double *x);
void box_coarse_prolong_single(const struct box_coarse *c, const double *x, float *trace);
void box_coarse_restrict_single(const struct box_coarse *c, const float *trace, double *x);

/* x approximates A^-1 b, n numbers each: a Cholesky factor where it is cheap, else a W-cycle of algebraic
 * multigrid; symmetric. The singular case: b should sum to zero, and some solution is taken. */
facet_status box_coarse_solver(const struct device *device, struct box_coarse *c, struct linear_operator *M);

#endif
