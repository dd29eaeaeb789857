/* p-multigrid on the trace (fabien2019, section 3.3, and beyond it): levels of the same mesh with lower
 * degree, a continuous linear space below them, then algebraic multigrid or a Cholesky factor.
 *
 * The finest level is applied from the element matrices; K is never assembled. Every level smooths with a
 * Chebyshev polynomial over the inverted blocks of single faces. docs/pmg.md compares the coarse spaces and
 * smoothers by measurement; AUTO takes the best.
 */
#ifndef FACET_TRACE_PMG_H
#define FACET_TRACE_PMG_H

#include "solve/coarse.h"
#include "trace/trace.h"

/* What stands below the finest level. CONSTANT: k = 0 (as in the paper), with a level k = 1 between that is
 * visited twice and classical multigrid below for one component: it follows any K; CONTINUOUS: continuous
 * linear functions, with a level k = 1 between where it helps; PIECES: the same where those of vertices round
 * which K jumps are cut into those of its pieces (src/trace/pmg_parts.h), of one component; ROWS: with the row
 * modes of quads and hexes (there too); FLUXES: with the normal displacement of every face, and a level k = 1
 * between that is visited twice, NORMALS: with those of degree 1, without such a level; these two do not
 * lock; RIGID: the rigid motions of every face, which needs modes and follows moduli that jump. */
enum pmg_coarse {
    PMG_COARSE_AUTO,
    PMG_CONSTANT,
    PMG_CONTINUOUS,
    PMG_ROWS,
    PMG_PIECES,
    PMG_FLUXES,
    PMG_NORMALS,
    PMG_RIGID
};
/* Of the levels above the last space; AUTO: MIXED for large systems whose numbers are not too different for
 * it.
 */
enum pmg_precision { PMG_PRECISION_AUTO, PMG_DOUBLE, PMG_MIXED };

/* Fills the near-null vectors in the free numbering, one after the other. */
typedef facet_status pmg_modes(void *data, double *modes);

/* A smoother in place of the blocks of single faces: fills the D of a level (with kind, ratio and degree, if
 * these are to be others) or its smoother. make NULL: none. */
struct trace_level;
struct trace_smoother {
    facet_status (*make)(void *data, const struct trace_space *space, const struct trace_matrices *matrices,
                         struct trace_level *level);
    void *data;
};

struct solve_external;
struct pmg_options {
    enum pmg_coarse coarse;
    struct trace_smoother smoother;
    enum coarse_wish last; /* how the last of these spaces is solved */
    enum pmg_precision precision;
    int degree;  /* of the polynomial; 0: chosen */
    int between; /* a level k = 1 above CONTINUOUS or CONSTANT: 1 yes, 0 no, -1 chosen */
    int n_modes; /* near-null vectors of K (rigid motions); 0: the components' constants. Some spaces */
    pmg_modes *fill_modes; /* need no more than to know of them, others have them filled in during the call */
    void *modes_data;
    int incompressible;                    /* continuous linear functions would lock */
    int singular;                          /* constants are in the kernel of K */
    const struct device *coarse_device;    /* of the last space and what is below it; NULL: that of K */
    const struct solve_external *external; /* who solves it where the mesh is a part; NULL: nobody */
};
void pmg_options_default(struct pmg_options *options);

/* A: the product with K in double precision; it and the matrices must outlive the multigrid. */
facet_status trace_pmg_create(const struct trace_space *space, const struct trace_matrices *matrices,
                              const struct linear_operator *A, const struct pmg_options *options,
                              struct multigrid **mg);

/* The largest over the smallest mean diagonal entry of an element matrix: how much the coefficient varies. */
facet_status trace_contrast(const struct trace_space *space, const struct trace_matrices *matrices,
                            double *contrast);

/* How much longer cells are in one direction than in another (three quarters of them at most), as the
 * operator sees it: an anisotropic K counts as well. *skew: how many times more than single faces say, from 1
 * on: the strong direction lies across all of them. */
facet_status trace_stretch(const struct trace_space *space, const struct trace_matrices *matrices,
                           double *stretch, double *skew);

#endif
