/* Fast diagonalization: a problem that is a product of 1D problems is solved without iteration.
 *
 * With the 1D modes S'M S = 1, S'A S = Theta of every direction, the solution of (lambda M M M + k sum of A M
 * M) u = b is
 *
 *     u = S S S [lambda + k (theta_0 + theta_1 + theta_2)]^-1 S'S'S' b,
 *
 * and any other function of the three eigenvalues may stand in the brackets. All of it is products of dense
 * matrices: 4 n operations per unknown and direction, n being the points of the direction, half of it where
 * the direction is its own mirror image.
 *
 * Planes of points are transformed in directions 0 and 1, columns through them in direction 2, there divided,
 * and all the way back. Who has a structure of his own in between (boxhdg/direct.h) uses the parts.
 */
#ifndef FACET_BOX_DIAGONALIZE_H
#define FACET_BOX_DIAGONALIZE_H

#include "box/box.h"
#include "box/element.h"
#include "box/modes.h"
#include "solve/solve.h"

/* ------------------------------------------------------------------------------------- one direction */

/* From loads at points to modes and from modes to values at points, between folded points and modes of the
 * same parity. There may be more points than modes: those with Dirichlet values take and give zero, and two
 * that are one unknown are added up. */
struct box_direction {
    int n_modes, sizes[2]; /* all, even ones (which come first), odd ones */
    int first;             /* the first point that is not fixed */
    struct box_fold fold;  /* of the points */
    double *forward[2];    /* sizes[b] x fold.sizes[b] */
    double *backward[2];   /* fold.sizes[b] x sizes[b] */
    double *theta;         /* n_modes */
    int smallest;          /* the index of the smallest theta */
};
/* Elements one after the other along direction d of a grid (-1: none), point c k + i being node i of cell c:
 * n_points of them are stored, on a ring with its last point or without, and what comes behind the last one
 * belongs to nothing. split: by parity where the direction is its own mirror image. A direction that is not
 * there has one mode with theta = 0, and its first point. */
facet_status box_direction_create(const struct box_grid *grid, int d, const struct box_element *element,
                                  int n_points, int split, struct box_direction *direction);
/* Only allocates: fold and sizes are given, the fold is taken over. */
facet_status box_direction_alloc(struct box_fold *fold, const int sizes[2], struct box_direction *direction);
/* The tables of one parity from the modes' values at all points (by rows, so many numbers from one to the
 * next); loads are weighted with `weights` (NULL: 1). */
void box_direction_fill(struct box_direction *direction, int parity, const double *values, int step,
                        const double *weights);
void box_direction_find_smallest(struct box_direction *direction);
void box_direction_destroy(struct box_direction *direction); /* safe on a zeroed struct, and twice */
/* What mode m has at a point. */
double box_direction_value(const struct box_direction *direction, int point, int mode);

/* ------------------------------------------------------------------------------------- two of them */

/* n planes of points of y x x. Points lie together in pieces, piece[0] fastest; step: from one piece to the
 * next in x, in y, and from plane to plane. */
struct box_planes {
    const struct box_direction *x, *y;
    int n, piece[3];
    int64_t step[3];
    int group;    /* so many at a time */
    int64_t room; /* of each of two work arrays */
};
void box_planes_prepare(struct box_planes *planes); /* sets group and room */
/* Points `in` to modes, planes of modes of y x modes of x, or (NULL) modes to points `out`. For all threads of a team to call, each with
 * work arrays of its own; nobody waits at the end. */
void box_planes_transform(const struct box_planes *planes, const double *in, double *out, double *modes,
                          double *work);

/* ------------------------------------------------------------------------------------- three of them */

/* One set of points, in cells of piece[0] x piece[1] x piece[2] one after the other (a lattice is one cell).
 * Work arrays belong to the object: one transform at a time. */
struct box_transform {
    const struct box_direction *axes[3];
    struct box_planes layers; /* of directions 0 and 1 */
    int n_work;               /* threads */
    int64_t room;             /* of each of the two work arrays of a thread */
    double *planes;           /* points of direction 2 x modes of 1 and 0 */
    double *scratch;
};
facet_status box_transform_create(const struct box_direction *const axes[3], const int piece[3],
                                  struct box_transform *transform);
void box_transform_destroy(struct box_transform *transform); /* safe on a zeroed struct, and twice */
/* Directions 0 and 1: points to planes, or back. */
void box_transform_planes(const struct box_transform *t, int back, const double *in, double *out);
/* Direction 2, for `count` columns from `begin` on of the modes of directions 1 and 0: middle(user, begin,
 * count, E) works on E, n_modes x count, which comes from the planes of `in` (NULL: is empty) and goes to
 * those of `out` (NULL: nowhere). count <= BOX_COLUMNS. */
#define BOX_COLUMNS 256
typedef void (*box_columns_work)(void *user, int64_t begin, int count, double *E);
void box_transform_columns(const struct box_transform *in, const struct box_transform *out,
                           box_columns_work middle, void *user);
/* E / (lambda + k (theta_0 + theta_1 + theta_2)); singular: what belongs to the smallest of all becomes 0. */
void box_transform_divide(const struct box_transform *t, double k, double lambda, int singular, int64_t begin,
                          int count, double *E);

/* ------------------------------------------------------------------------------------- the solver */

struct box_diagonal;
/* On lattices of sizes[i] points, axis 0 fastest; axis i is directions[i] of the grid, -1: none. One solve at
 * a time. The denominators are those of k and lambda of the first cell: without Dirichlet sides and with
 * lambda = 0 the constant part of b is taken out, and u has none (in the sense of M). Or, with `general`,
 * those that box_diagonal_set_inverses gives. */
facet_status box_diagonal_create(const struct device *device, const struct box_grid *grid,
                                 const struct box_element *element, const int directions[3],
                                 const int sizes[3], int general, struct box_diagonal **diagonal);
void box_diagonal_destroy(struct box_diagonal **diagonal);
const struct box_direction *box_diagonal_axis(const struct box_diagonal *diagonal, int d);
void box_diagonal_set_reaction(struct box_diagonal *diagonal, double reaction);
/* One for every product of modes, axis 0 fastest. */
facet_status box_diagonal_set_inverses(struct box_diagonal *diagonal, const double *inverses);
/* u from b, which may be one unless denominators are general. `diagonal` is the caller's, and must outlive M.
 */
void operator_create_diagonal_solve(struct box_diagonal *diagonal, struct linear_operator *M);
/* Both for continuous elements, on vectors of all nodes. */
facet_status operator_create_diagonalization(const struct device *device, const struct box_grid *grid,
                                             const struct box_element *element,
                                             struct box_diagonal **diagonal, struct linear_operator *M);

#endif
