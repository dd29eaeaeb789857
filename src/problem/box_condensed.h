/* Between the two files of the condensed continuous method on boxes: box_condensed.c (set-up and solve) and
 * box_condensed_fields.c (fields and errors). */
#ifndef FACET_PROBLEM_BOX_CONDENSED_H
#define FACET_PROBLEM_BOX_CONDENSED_H

#include "box/condensed.h"
#include "problem/box.h"

/* Gauss points in a direction beyond those of u, for data and norms. */
#define EXTRA_POINTS 3

/* Where the exact flux through a side comes from: k grad u . n, k being that of the cell. */
struct side_flux {
    const struct box_data *data;
    const struct field *exact;
    int d;
    double sign;
};

struct condensed_backend {
    struct box_condensed *space;
    struct box_condensed_sides sides;
    struct side_flux fluxes[3][2];
    struct field *flux_fields[3][2];
    double *f, *u;             /* n_cells x n^dim: the source at the Gauss points; coefficients of u */
    double *trace, *dirichlet; /* n_trace */
    double shift;
    double boundary; /* of a singular problem: the integral of |g| over the Neumann sides, about */
    int has_trace;   /* `trace` is a solution, with `dirichlet` in it */
    struct operator A, M;
    enum box_condensed_unknowns basis;
    struct vector b, x, kernel;
};

/* box_condensed_fields.c: those of struct backend. */
facet_status condensed_evaluate(const struct facet_solver *s, enum hdg_field field, int32_t cell,
                                const struct backend_points *points, double *values);
facet_status condensed_mean_trace(const struct facet_solver *s, int32_t cell, double *mean);
facet_status condensed_measure_errors(const struct facet_solver *s, struct hdg_errors *errors);

#endif
