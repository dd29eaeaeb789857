/* Geometric multigrid on the trace (fabien2017, and beyond it): levels of lower degree on the finest mesh,
 * then levels on coarser, nested meshes, and a Cholesky factor (or algebraic multigrid) on the last one.
 *
 * Every level has element matrices (trace/trace.h) and is applied from them; nothing is assembled but for a
 * smoother that wants it (FSAI) and the last level.
 *
 * Transfer between meshes. A fine face on a coarse face takes the coarse polynomial as it is. The fine faces
 * inside a coarse cell take the values of least energy: with the matrix of all fine cells of a coarse cell,
 * split into faces inside (i) and on its boundary (b), and J the restriction of coarse polynomials,
 *
 *     P = [ J ; -K_ii^-1 K_ib J ],        K_coarse = P' K P = J' (K_bb - K_bi K_ii^-1 K_ib) J,
 *
 * which is again an element matrix, now of the coarse cell: the inherited coarse operator costs no
 * quadrature, knows coefficients as fine as the finest mesh, and cannot raise the energy. Lower degrees on
 * one mesh are the leading entries of the element matrices (a hierarchical basis).
 */
#ifndef FACET_TRACE_GMG_H
#define FACET_TRACE_GMG_H

#include "mesh/nesting.h"
#include "trace/pmg.h"

/* The degrees between k and 1. AUTO: what was measured to be fastest (docs/gmg.md). */
enum gmg_degrees { GMG_DEGREES_AUTO, GMG_ARITHMETIC, GMG_EVEN, GMG_GEOMETRIC, GMG_STRAIGHT };
/* Chebyshev polynomials over blocks of single faces, these with the row modes of quads solved along their
 * rows on the finest level (trace/rows.h), or over a factored sparse approximate inverse. */
enum gmg_smoother { GMG_SMOOTHER_AUTO, GMG_FACES, GMG_ROWS, GMG_FSAI };

/* All zero: what the program would choose. */
struct gmg_options {
    enum gmg_degrees degrees;
    enum gmg_smoother smoother;
    struct trace_smoother other; /* in its place */
    enum pmg_precision precision;
    int steps;                             /* before and after the coarse correction; 0: chosen by level */
    double fill;                           /* of FSAI: nnz(G) / nnz(lower triangle of A); 0: 1 */
    int n_modes;                           /* more than components: rigid motions are smooth; 0: constants */
    int full;                              /* for the full cycle: its guesses know the source inside cells */
    int singular;                          /* constants are in the kernel of K */
    const struct device *coarse_device;    /* of the levels of at most `coarse_unknowns`; NULL: that of K */
    const struct solve_external *external; /* who solves the last level of a mesh in parts; NULL: nobody */
    int64_t coarse_unknowns;               /* 0: the last level only */
    int64_t last_unknowns;                 /* a level of so few ends the list; 0: chosen */
    /* NULL: inherited. Else the element matrices of a level on its own: space is that of a coarser mesh or
     * lower degree; matrices are created by the callee. */
    facet_status (*rediscretize)(void *user, const struct trace_space *space,
                                 struct trace_matrices *matrices);
    void *user;
};

/* A: the product with K in double precision; it and the matrices must outlive the multigrid, the meshes need
 * not. The hierarchy has at least one nesting, whose fine mesh is that of the space. */
facet_status trace_gmg_create(const struct trace_space *space, const struct trace_matrices *matrices,
                              const struct linear_operator *A, const struct mesh_hierarchy *hierarchy,
                              const struct gmg_options *options, struct multigrid **mg);

#endif
