/* Solvers on boxes, between the files that make them: box_backend.c (HDG), boxsem_backend.c (continuous elements),
 * box_method.c (operators and preconditioners of HDG), box_points.c (where fields are wanted). */
#ifndef FACET_PROBLEM_BOX_BACKEND_H
#define FACET_PROBLEM_BOX_BACKEND_H

#include "boxhdg/resident.h"
#include "problem/box_data.h"

struct choice; /* choice.h */

/* HDG. */
struct box {
    struct box_data data;
    int has_guess, has_trace; /* there is a guess of the caller's; a solution before */
    struct boxhdg *hdg;
    struct boxhdg_solver *solver; /* conjugate gradients, or the direct solve: box_method.c */
    const struct device *device;  /* the context's, or the host where that one cannot do it */
    struct boxhdg_resident *resident;
    struct boxhdg_solution solution; /* of the cells that were fetched */
    int wants_q, wants_star;         /* of these */
    int apart;                       /* u is `constant` + what the solution holds: box_constant.c */
    double constant, reaction;
    double uncertainty;  /* of the constant: rounding in the loads, over the reaction */
    double dropped;      /* lambda length^2 / k of a reaction that the matrix does not have; 0: it has it */
    int delicate;        /* the reaction is so weak that preconditioners need double precision */
    int all_is_constant; /* nothing is left to solve for */
};
static inline struct box *box_of(const struct facet_solver *s) {
    return s->self;
}

/* box_backend.c: everything but the choice of the backend. Takes the data over, unless there is no memory. */
facet_status box_create(struct facet_solver *s, struct box_data *data);
/* s->system of the solver that box_create would make, how it would solve, and what it would refuse of the
 * device. */
facet_status box_foresee(struct facet_solver *s, const struct box_data *data, struct choice *choice);

/* boxsem_backend.c: the same for continuous elements. */
facet_status boxsem_start(struct facet_solver *s, struct box_data *data);
facet_status boxsem_foresee(struct facet_solver *s, const struct box_data *data, struct choice *choice);

/* box_constant.c: whether the reaction is so weak that the constant is kept apart, and the grid that the
 * discretization is then made from; the constant is taken off the loads (exact: where they come from, or
 * NULL; whole: the boundary data as well). */
facet_status box_constant_choose(struct box *b, struct box_grid_data *grid);
facet_status box_constant_take(struct box *b, const struct field *exact, int whole);

/* box_method.c: what solves K uhat = F, by the words of the options. The words that were used go to the
 * solver; what does not fit into the memory with the arrays of box_backend.c is refused before these are made. */
facet_status box_method_choose(struct facet_solver *s, const struct boxhdg *h, struct choice *choice);
facet_status box_method_check_memory(const struct facet_solver *s);
facet_status box_method_create(struct facet_solver *s);
facet_status box_method_solve(struct facet_solver *s, enum boxhdg_guess guess);
/* The product and the preconditioner, and F and uhat of the last solve (either NULL), in plain modes on the
 * host; fixed faces are taken as zero, and are zero in the result. */
facet_status box_method_apply(const struct facet_solver *s, const double *x, double *y);
facet_status box_method_precondition(const struct facet_solver *s, const double *x, double *y);
facet_status box_method_get(const struct facet_solver *s, double *F, double *uhat);

/* box_points.c: those of struct backend that need the box alone. */
facet_status box_points_prepare(const struct facet_solver *s, int block, int degree, int n, const double *xi,
                                struct backend_points *points);
facet_status box_points_rule(const struct facet_solver *s, int block, struct backend_points *points);
facet_status box_points_weights(const struct facet_solver *s, int32_t cell,
                                const struct backend_points *points, double *wJ);
/* Cells in ascending order, each once; *list belongs to the caller. */
facet_status box_points_list(int64_t n, const int32_t *cells, int64_t **list, int64_t *m);
/* From the integrals of all cells, if they were found, to these and the volumes, two a cell, in place. */
facet_status box_points_integrals(const struct facet_solver *s, facet_status found, double *values);
double box_points_volume(const struct facet_solver *s, int32_t cell);
void box_points_map(const struct facet_solver *s, int32_t cell, const struct backend_points *points,
                    double *x);
facet_status box_points_face_rule(const struct facet_solver *s, int32_t cell, int local, int *n, double **xi,
                                  double **wA);
/* The points of a source: the products of degree + 1 Gauss points in every cell. */
int64_t box_points_count(const struct facet_solver *s);
facet_status box_points_source(const struct facet_solver *s, double *x);
facet_status box_points_source_weights(const struct facet_solver *s, double *weights);
/* Errors as src/hdg has them; star: those of u* and q* are there; what has no trace leaves trace_L2 negative.
 */
struct hdg_errors box_points_errors(const struct box_errors *e, int star);
/* The points as src/box takes them. */
struct box_places box_points_places(const struct backend_points *points);
/* What src/box derives data from; values: a source at the Gauss points, or NULL. */
struct box_given box_given_data(const struct facet_solver *s, const struct box_data *data,
                                const double *values);

#endif
