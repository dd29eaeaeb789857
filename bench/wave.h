/* The manufactured solution of huismann2020, eq. 48, on a box of cells,
 *
 *     u = cos(k(x - 3y + 2z)) sin(k(1 + x)) sin(k(1 - y)) sin(k(2x + y)) sin(k(3x - 2y + 2z)),
 *
 * and what every bench on boxes starts from: cells, penalty, conductivity, the source at Gauss points. */
#ifndef FACET_BENCH_WAVE_H
#define FACET_BENCH_WAVE_H

#include "box/box.h"
#include "expr/field.h"

struct wave_case {
    int cells, degree; /* cells of each direction */
    double k;          /* stiffness of the solution */
    double tau;        /* physical, for conductivity 1; it grows with the conductivity */
    double aspect;     /* the box is (0, 2 pi aspect) x (0, 2 pi)^2 */
    double contrast;   /* conductivity of a cell: contrast to a random power of 0 .. 1; 1: constant */
};

/* The case on a grid: Dirichlet sides everywhere. All arrays belong to it. */
struct wave {
    struct wave_case given;
    struct box_grid_data data;
    double *coordinates[3], *rho[3], *conductivity;
    struct field *exact;
    double *source;           /* -div(k grad u) with k = 1 at the (degree + 1)^3 Gauss points of every cell */
    int n_points;             /* of a direction, for norms: degree + 3 */
    double *points, *weights; /* Gauss points of [-1, 1] */
    double *values;           /* u at n_points^3 points of every cell; NULL: not wanted */
};
facet_status wave_create(const struct wave_case *given, int with_values, struct wave *wave);
/* The same without source and points. */
facet_status wave_create_grid(const struct wave_case *given, struct wave *wave);
void wave_destroy(struct wave *wave); /* safe on a zeroed struct, and twice */

/* The L2 norm of `values` - u; values: n_points^3 of a cell, direction 0 fastest, given cell by cell. */
typedef facet_status (*wave_evaluate)(void *user, int64_t cell, double *values);
facet_status wave_error(const struct wave *wave, wave_evaluate evaluate, void *user, double *error);

/* u at the products of n_points points of [-1, 1] of every cell. */
facet_status wave_values(const struct wave *wave, int n_points, const double *points, double *values);

/* (p + 1)^3 times the cells: what huismann2020 divides by. */
double wave_unknowns(const struct wave_case *given);

#endif
