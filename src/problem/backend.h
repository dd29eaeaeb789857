/* What a solver asks of its discretization, and the only thing that those who look at solutions know of it.
 *
 * There are three: mapped cells (mapped_backend.c, over src/hdg), and boxes with HDG (box_backend.c, over src/boxhdg) and
 * with continuous elements (boxsem_backend.c, over src/boxsem). Cells and faces are those of the mesh, reference
 * coordinates those of poly/shape.h, and errors and fields are named as in src/hdg/hdg.h, whichever it is.
 */
#ifndef FACET_PROBLEM_BACKEND_H
#define FACET_PROBLEM_BACKEND_H

#include "hdg/hdg.h"

struct facet_solver;
struct multigrid;

/* What is taken of the cells by `reduce`: integrals of each or of all of them, extremes of each or of all. */
enum backend_take { BACKEND_INTEGRALS, BACKEND_TOTAL, BACKEND_EXTREMES, BACKEND_RANGE };

/* Which solution is looked at: that of the last solve, or on mapped cells one with an error added to it
 * (problem/correction.c): the first of draws, of which there are several, stands last. */
enum backend_version { BACKEND_SOLVED, BACKEND_BETTER, BACKEND_DRAWN };

/* One of the arrays of a solution. */
struct backend_array {
    double *values;
    int64_t n;
};
#define BACKEND_MAX_ARRAYS (1 + 2 * MESH_MAX_BLOCKS)

/* Points of the reference cell at which fields are wanted in many cells, prepared for that. On a box a set of
 * points that is a product of coordinates (lattices, rules, points of a face), in whatever order, is seen to
 * be one and evaluated direction by direction. */
struct backend_points {
    int n, dim;
    double *xi;                    /* n x dim */
    double *weights;               /* n, of a rule for the reference cell; NULL: no rule */
    const struct hdg_table *table; /* mapped: own, or one of the space */
    struct hdg_table own;
    int counts[3];          /* box: distinct coordinates in every direction, 0: no product */
    double *coordinates[3]; /* these */
    int32_t *places;        /* box: n, where a point of the product stands among the points */
};
/* Safe on a zeroed struct, and twice. */
void backend_points_destroy(struct backend_points *points);

struct backend {
    void (*destroy)(struct facet_solver *s);
    /* The points of a caller's source, and the weights with which they are integrated. */
    int64_t (*n_points)(const struct facet_solver *s);
    facet_status (*points)(const struct facet_solver *s, double *x);
    facet_status (*point_weights)(const struct facet_solver *s, double *weights);
    /* The linear system in arrays of the host: n_unknowns numbers each. system: F and x of the last solve,
     * either NULL. matrix NULL: it cannot be assembled. */
    int64_t (*n_unknowns)(const struct facet_solver *s);
    facet_status (*apply)(const struct facet_solver *s, const double *x, double *y);
    facet_status (*precondition)(const struct facet_solver *s, const double *x, double *y);
    facet_status (*get_system)(const struct facet_solver *s, double *F, double *x);
    facet_status (*matrix)(const struct facet_solver *s, struct csr *csr);

    /* Loads the source (values at the points; NULL: the problem's) and the boundary data; solves the system;
     * then u and q; u* if wanted (NULL: when a field asks for it); and u at the points. */
    facet_status (*load)(struct facet_solver *s, const double *source);
    facet_status (*solve)(struct facet_solver *s);
    facet_status (*recover)(struct facet_solver *s);
    facet_status (*postprocess)(struct facet_solver *s);
    facet_status (*copy_out)(const struct facet_solver *s, double *u);
    /* The same with arrays of the device. NULL: cannot be done. */
    facet_status (*load_there)(struct facet_solver *s, const double *source);
    facet_status (*copy_there)(const struct facet_solver *s, double *u);
    facet_status (*conservation)(const struct facet_solver *s, struct solve_balance *balance);
    /* Writes what the device leaves to the host, in words; "" means nothing. NULL means that it leaves
     * nothing. */
    void (*on_host)(const struct facet_solver *s, char *text, size_t bytes);
    /* Makes the loads of the boundary anew, and with FACET_TRACE in `what` the matrices of its cells. NULL
     * means that every load does, and that no matrix depends on the boundary. */
    facet_status (*renew)(struct facet_solver *s, int what);
    /* The next solve begins with the traces of this u; the reaction becomes this number. NULL: cannot be
     * done. */
    facet_status (*set_guess)(struct facet_solver *s, const double *u);
    facet_status (*set_reaction)(struct facet_solver *s, double reaction);
    /* NULL where there is none. */
    const struct multigrid *(*multigrid)(const struct facet_solver *s);
    facet_status (*measure_errors)(const struct facet_solver *s, struct hdg_errors *errors);

    /* Fields. need: makes what a field is evaluated from, and leaves what is there as it is, since others may
     * be reading it (NULL: it is there); solver_need calls it, one thread at a time. prepare: for cells of a
     * block and fields of a degree (sample_table_degree) or less. rule: the points at which integrals over a
     * cell are taken. weights: weights x det J of a cell, n. map: x, n x dim. fetch: makes n cells (NULL:
     * all) ready to be looked at; evaluate, integrate, face_fluxes and mean_trace are for these alone until
     * it is called again, which one thread does (NULL: all are ready always). */
    facet_status (*fetch)(const struct facet_solver *s, int64_t n, const int32_t *cells);
    facet_status (*need)(const struct facet_solver *s, enum hdg_field field);
    facet_status (*prepare)(const struct facet_solver *s, int block, int degree, int n, const double *xi,
                            struct backend_points *points);
    facet_status (*rule)(const struct facet_solver *s, int block, struct backend_points *points);
    facet_status (*weights)(const struct facet_solver *s, int32_t cell, const struct backend_points *points,
                            double *wJ);
    void (*map)(const struct facet_solver *s, int32_t cell, const struct backend_points *points, double *x);
    facet_status (*evaluate)(const struct facet_solver *s, int version, enum hdg_field field, int n_cells,
                             const int32_t *cells, const struct backend_points *points, double *values);
    /* The integrals of a field over a cell, by components, and the cell's volume. NULL: they are taken by the
     * rule. */
    facet_status (*integrate)(const struct facet_solver *s, enum hdg_field field, int32_t cell,
                              double *integrals, double *volume);
    /* NULL, or where *n_pairs is not 0: of all cells at once, fetched or not, two numbers each: the integral
     * of a field with one component and the volume; or its least and greatest values at the products of n
     * points x of [0, 1] (mapped cells: at shape_samples of order n - 1). BACKEND_TOTAL: any number of pairs,
     * up to that of the cells, whose sums are those of the mesh. BACKEND_RANGE: mapped cells may have
     * extremes of several cells together. */
    facet_status (*reduce)(const struct facet_solver *s, enum hdg_field field, enum backend_take take, int n,
                           const double *x, double *values, int64_t *n_pairs);
    /* The points at which integrals over a face of a cell are taken: *n of them, xi (n x dim) and weights x
     * area element, which the caller frees. */
    facet_status (*face_rule)(const struct facet_solver *s, int32_t cell, int local, int *n, double **xi,
                              double **wA);
    /* Continuous elements: readies face_fluxes, after what fetch did. left: what the residual of the solve
     * may change in a sum of fluxes. NULL: fluxes are those of HDG. Collective; one thread at a time
     * (solver_find_fluxes). */
    facet_status (*find_fluxes)(const struct facet_solver *s, int version, double *left);
    /* Integrals of the numerical flux out of (diffusion) or traction upon (elasticity) cells through n faces,
     * three numbers each. */
    facet_status (*face_fluxes)(const struct facet_solver *s, int version, int n,
                                const struct mesh_group_face *faces, double *fluxes);
    /* Electrodes; NULL where fluxes are not those of HDG. arrays: those that the solution is made of, on the
     * host, the trace first: *n of them, BACKEND_MAX_ARRAYS at most. Whoever writes to them has another
     * solution, with the same source, until the next solve. totals: hdg_totals, psi being traces as of
     * `arrays`. */
    facet_status (*arrays)(struct facet_solver *s, struct backend_array *arrays, int *n);
    facet_status (*totals)(const struct facet_solver *s, int version, int whole, int n, double *const *psi,
                           double *totals, double *roundings, double *squares);
    /* The mean over the faces of a cell of the trace's mean on them, by components (straight faces). NULL:
     * there is no trace. */
    facet_status (*mean_trace)(const struct facet_solver *s, int32_t cell, double *values);
};
extern const struct backend mapped_backend, box_backend, boxsem_backend;

#endif
