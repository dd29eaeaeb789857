/* Continuous elements Q_k on a box, degree 1 .. 15, solved by multigrid with exact vertex patches (cui2024):
 *
 *     lambda u - div(k grad u) = f,   lambda >= 0 and k > 0 constant on every cell
 *
 * Vectors hold a value for every node (Gauss-Lobatto points in each direction, lexicographic, direction 0
 * fastest), the nodes on Dirichlet sides included: operators leave zero there, so that no numbering of free
 * unknowns is needed. On a periodic direction the last node is the one before the first. kernels/brick.h has
 * the details.
 *
 * Arrays at Gauss points, what callers give and get, are those of boxhdg/boxhdg.h: n = k + 1 points in each
 * direction of every cell, cells in the order of box/box.h, direction 0 fastest in a cell.
 *
 * Levels. Every direction with an even number of cells is halved until none can be; where only some can,
 * only these are. k and lambda of a coarse cell are means over its cells. The last level is solved exactly:
 * by one patch, by fast diagonalization of the whole box (one k, one lambda), or by a Cholesky factor. Where
 * k jumps there is one level instead, with the vertices of its cells below (vertices.c).
 *
 * A box may be a block (box/box.h): shared_nodes.h says what its nodes, patches and levels are then.
 *
 *     boxsem_create(...);                once
 *     boxsem_load(c, &data);             as often as data change
 *     boxsem_solve(c, &control, &report);
 *     boxsem_measure_errors(...), boxsem_evaluate(...)
 */
#ifndef FACET_BOXSEM_BOXSEM_H
#define FACET_BOXSEM_BOXSEM_H

#include "box/cell_loop.h"
#include "boxsem/patches.h"
#include "solve/multigrid.h"

/* VERTEX: multiplicative patches by colours; ADDITIVE: all patches from one residual, weighted; CHEBYSHEV:
 * polynomials in the diagonally scaled matrix; OTHER: one that the caller has. */
enum boxsem_smoother { BOXSEM_VERTEX, BOXSEM_ADDITIVE, BOXSEM_CHEBYSHEV, BOXSEM_OTHER, BOXSEM_N_SMOOTHERS };
/* A step of OTHER on a level: x comes closer to the solution of A x = b; backward: in reverse. Vectors of the
 * device, in that precision. */
typedef void (*boxsem_step)(const struct device *device, enum precision precision,
                            const struct brick_cells *cells, int backward, const void *b, void *x);
/* AUTO: MULTIGRID for one k and lambda, CG for others. MULTIGRID: cycles by themselves (Algorithm 2.2 with
 * MG_FULL, whose start is the first iteration). DIRECT: fast diagonalization, one k and one lambda only. */
enum boxsem_solver { BOXSEM_AUTO, BOXSEM_MULTIGRID, BOXSEM_CG, BOXSEM_FGMRES, BOXSEM_DIRECT };

/* What CG and FGMRES precondition with: a cycle, nothing, or the diagonal. */
enum boxsem_preconditioner {
    BOXSEM_PRECONDITION_CYCLE,
    BOXSEM_PRECONDITION_NONE,
    BOXSEM_PRECONDITION_DIAGONAL
};

struct boxsem_options {
    enum boxsem_solver solver;
    enum boxsem_preconditioner preconditioner;
    enum boxsem_smoother smoother;
    boxsem_step other;          /* of the smoother OTHER */
    enum patch_variant variant; /* of vertex patches: the structures of cui2024, Table 4 */
    enum mg_cycle cycle;        /* V, W, F or FULL; FULL is for MULTIGRID alone, others take V instead */
    int steps;      /* of the smoother, before and after the coarse correction; degree of CHEBYSHEV */
    int reversed;   /* order after the correction: 1 reversed (symmetric), 0 the same, -1 as the
                       solver wants it (reversed for CG) */
    int single;     /* the levels in single precision */
    int vertices;   /* below the finest level are the vertices of the same cells, instead of larger cells:
                       where k jumps, for CHEBYSHEV and a degree above 1 */
    int64_t direct; /* levels end where so many unknowns are left, solved directly (one k, one lambda,
                       patches); 0: where no direction can be halved; -1: as the device likes it */
    int inner;      /* steps inside the patches where k or lambda vary (kernels/brick.h); -1: 4 where
                       the device has them */
};
void boxsem_options_default(struct boxsem_options *options);
static inline int boxsem_is_krylov(const struct boxsem_options *o) {
    return o->solver == BOXSEM_CG || o->solver == BOXSEM_FGMRES;
}
/* Whether a multigrid is needed. */
static inline int boxsem_has_cycle(const struct boxsem_options *o) {
    return o->solver != BOXSEM_DIRECT &&
           (!boxsem_is_krylov(o) || o->preconditioner == BOXSEM_PRECONDITION_CYCLE);
}

/* Of u what the host has, on a device with another memory what was fetched from there. */
struct boxsem_held {
    int64_t n, *cells; /* ascending */
    double *values;    /* n x cell_size */
    double *nodes;     /* all of them; or NULL */
};

/* Fluxes through sides by the equations (nodal_fluxes.c). */
struct boxsem_fluxes {
    int known;               /* of the last solution */
    double *sides[3][2];     /* through the faces of a side; NULL where it has no condition */
    double *rows;            /* 2 x 3 x n: of the 1D functions at the ends of a line, the slopes, and what
                                the function of that end has in the stiffness and in the mass matrix */
    double *moments;         /* n: integrals of the 1D functions; owns the weights as well: */
    double *weights;         /* n^(dim - 1): of the functions of a face of size 1 */
    struct box_samples rule; /* of what is given on sides */
    double left;             /* sum of the moduli of what is left of the equations */
    struct solve_balance balance;
};

struct boxsem_levels;
struct box_diagonal;
struct box_tiles;
struct boxsem {
    const struct device *device;
    struct box_grid grid;
    struct boxsem_options options; /* with everything chosen */
    int degree, n;                 /* n = degree + 1 */
    int n_nodes[3];                /* 1 from dim on */
    int64_t n_all, n_free;         /* nodes; those without Dirichlet values */
    int64_t n_whole;               /* nodes of all blocks, each once; of a whole box n_all */
    int64_t cell_size, n_volume;   /* n^dim, cells x n^dim */
    int64_t *fixed;                /* n_all - n_free: nodes with Dirichlet values, ascending */
    const int64_t *fixed_places;   /* the same as the device reads them, once it was asked to */
    double *fixed_values;          /* what boxsem_load found for them */
    double *fixed_loads;           /* on the device: (f, phi) + <g, phi> there, the part of this block */
    int fixed_is_zero;             /* u is known to be zero there */
    struct boxsem_fluxes fluxes;
    struct box_element element;
    double *gauss;      /* n points of a line, on [0, 1], and their weights */
    double *moments[3]; /* n_nodes[d]: integrals of the 1D functions; 1 from dim on */
    double volume;
    struct boxsem_levels *levels;
    struct linear_operator M;    /* the multigrid, the diagonal (none: empty), or the direct solver, */
    struct box_diagonal *direct; /* which borrows this */
    struct vector b, u;          /* right-hand side, zero on fixed nodes; solution with its boundary values */
    struct null_space constants; /* of a singular or loose problem; else empty */
    struct box_tiles *tiles;
    struct boxsem_held held;
    int loose;   /* no Dirichlet side, and one reaction so weak that rounding decides about the constant */
    double mean; /* what the mean of a singular or loose solution is made: of the first that of the exact
                    one, or 0; of the other what its loads say */
    double imbalance[2]; /* of a singular one: what its loads sum to, and their moduli */
    double uncertainty;  /* of the mean of a loose one: rounding in the loads, over the reaction */
    double rounding; /* of the constant of others that a reaction alone holds, relative: an error at least */
};

/* The grid's data are copied. Degree 1 .. 15. */
facet_status boxsem_create(const struct device *device, const struct box_grid_data *data, int degree,
                           const struct boxsem_options *options, struct boxsem **continuous);
void boxsem_destroy(struct boxsem **continuous);
/* FACET_ERROR_MACHINE, with a number of cells that would fit, when the memory of a solve is not free;
 * boxsem_create asks before anything large is allocated. */
facet_status boxsem_check_memory(const struct boxsem *c);
/* NULL where there is none. */
struct multigrid *boxsem_multigrid(const struct boxsem *c);

/* The reaction becomes this number in all cells; not between a load and its solve. Cheap, unless it makes the
 * problem singular or regular, or the reaction was not one number before. A failure leaves all as it was. */
facet_status boxsem_set_reaction(struct boxsem *c, double reaction);

/* ------------------------------------------------------------------------------------- data */

/* Loads are integrated with the Gauss points (values) or three more in each direction (fields). Dirichlet
 * values are interpolated at the nodes; where two sides meet, the one of the higher direction counts. A
 * singular problem whose loads do not balance is refused. */
facet_status boxsem_load(struct boxsem *c, const struct box_given *given);
/* The same with f at the Gauss points on the device. */
facet_status boxsem_load_there(struct boxsem *c, const struct box_given *given, const double *values);
/* The next solve begins with this u, given at the Gauss points; NULL: with zero. Without a call it begins
 * with the last solution. */
facet_status boxsem_set_guess(struct boxsem *c, const double *values);
/* control->null_space and ->flexible are set here. */
facet_status boxsem_solve(struct boxsem *c, const struct solve_control *control, struct solve_report *report);

/* y = A x, or what is made of x by the preconditioner (of the direct solver the inverse), n_all numbers of
 * the host; fixed nodes are taken as zero, and are zero in y. The right-hand side and u of the last solve
 * likewise, either NULL. */
enum boxsem_which { BOXSEM_PRODUCT, BOXSEM_PRECONDITIONER };
facet_status boxsem_apply(struct boxsem *c, enum boxsem_which which, const double *x, double *y);
facet_status boxsem_get_system(struct boxsem *c, double *b, double *u);

/* ------------------------------------------------------------------------------------- results */

/* u at the Gauss points, n_volume, on the host or on the device. */
facet_status boxsem_get(const struct boxsem *c, int on_host, double *values);

/* Makes cells (ascending; NULL: all) ready for boxsem_evaluate, which is for these alone until the next solve
 * or call, where u is on a device that is not the host; elsewhere all are ready always. */
facet_status boxsem_fetch(struct boxsem *c, int64_t n, const int64_t *cells);
/* The integrals of u over all cells; its least and greatest values (2 a cell) at the products of n points of
 * [0, 1]. */
facet_status boxsem_integrals(const struct boxsem *c, double *integrals);
facet_status boxsem_extremes(const struct boxsem *c, int n, const double *x, double *extremes);

/* u has one component, q = -k grad u dim. */
enum boxsem_field { BOXSEM_U, BOXSEM_Q };
/* Values (points x components) at points of a cell. */
facet_status boxsem_evaluate(const struct boxsem *c, enum boxsem_field field, int64_t cell,
                             const struct box_places *places, double *values);
facet_status boxsem_measure_errors(const struct boxsem *c, const struct field *exact,
                                   struct box_errors *errors);
/* Finds what the equations say of fluxes through sides, if it is not known, and has all cells fetched. given:
 * the boundary data of the solve. Collective. */
facet_status boxsem_find_fluxes(struct boxsem *c, const struct box_given *given);
/* After that: the integral of q.n over a face of a cell; on Neumann sides what was given. */
facet_status boxsem_face_flux(const struct boxsem *c, int64_t cell, int d, int side, double *flux);
void boxsem_fluxes_destroy(struct boxsem *c);
/* The mean of u over the box. */
facet_status boxsem_mean(const struct boxsem *c, double *mean);

#endif
