/* HDG on a box as the devices see it: the plan of kernels/box.h for a discretization, and the way between
 * plain modes (boxhdg/boxhdg.h) and vectors in lanes.
 *
 * Unknowns in lanes are those of plain modes divided by b b of the two tangential directions, residuals
 * multiplied by it. A mode whose b is tiny is spurious: it hardly feels the ends of the cell. Its b is raised
 * to what is rounding next to the largest one in the precision of the lanes, so lanes of single precision
 * scale such modes (and no others) differently. */
#ifndef FACET_BOXHDG_LANES_H
#define FACET_BOXHDG_LANES_H

#include "boxhdg/boxhdg.h"

struct boxhdg_lanes {
    const struct device *device;
    const struct boxhdg *hdg; /* borrowed */
    struct box_plan plan;
    int direction[3];         /* of an axis; -1: absent */
    enum precision precision; /* of numbers and vectors */
    double *line_squares;     /* lines x n: b^2 */
    double *b[3];             /* tables of b, as `squares` of the plan, on the host */
    int32_t *order[3];        /* per axis: the plain mode of a mode in lanes */
    void *owned[64];          /* arrays of the device */
    int n_owned;
    void *staged[32]; /* while lanes of single precision are made: the doubles of these arrays */
    int n_staged;
    struct seam *seam; /* of vectors, where the box is a block; else NULL */
    /* Of all entries at the seam that others own, in its order: (b b)^2, and the inverse diagonal; so many
     * faces. */
    double *foreign_scales, *foreign_diagonal, *foreign_values; /* the last: room for those of a vector */
    int64_t n_foreign;
};
/* The place of a cell by directions, from that by axes. */
static inline void boxhdg_lanes_place(const struct boxhdg_lanes *lanes, const int at[3], int cell[3]) {
    for (int d = 0; d < 3; d++) cell[d] = 0;
    for (int axis = 0; axis < 3; axis++)
        if (lanes->direction[axis] >= 0) cell[lanes->direction[axis]] = at[axis];
}
facet_status boxhdg_lanes_create(const struct device *device, const struct boxhdg *hdg,
                                 enum precision precision, struct boxhdg_lanes **result);
void boxhdg_lanes_destroy(struct boxhdg_lanes **result); /* safe on NULL, and twice */
/* Parts of it: an array for the device that the lanes own, in their precision (until the lanes are made *f64
 * is there in both precisions); metric, weights and diagonal of all cells. */
facet_status boxhdg_lanes_give(struct boxhdg_lanes *lanes, const double *host, int64_t n, const double **f64,
                               const float **f32);
facet_status boxhdg_lanes_make_cells(struct boxhdg_lanes *lanes);
facet_status boxhdg_lanes_make_seam(struct boxhdg_lanes *lanes);
/* Of a block: the inverse diagonal, of double precision, becomes that of the sums at the seam. */
facet_status boxhdg_lanes_join_diagonal(struct boxhdg_lanes *lanes, double *diagonal);
/* What follows from lanes, modes, cells and sides of a plan. */
void boxhdg_lanes_lay_out(struct box_plan *plan);
/* Whether the diagonal is that of a few packs: all cells and columns are the same. */
int boxhdg_is_alike(const struct boxhdg *h);
/* What the matrix of a cell is made of: equal kinds (to rounding) have equal ones, but for k. */
struct boxhdg_kind {
    int line[3];      /* by axes; -1: absent */
    double metric[4]; /* a_0, a_1, a_2, reaction, for k = 1 */
};
double boxhdg_lanes_kind(const struct boxhdg_lanes *lanes, const int at[3], struct boxhdg_kind *kind); /* k */
int boxhdg_same_kind(const struct boxhdg_kind *a, const struct boxhdg_kind *b);

/* Where a face of box/box.h lies: the cell by axes, and its side. And the face of a lane of a face-pack; -1:
 * none, or a fixed one. */
struct boxhdg_place {
    int axis, cell[3], side;
};
void boxhdg_lanes_find_face(const struct boxhdg_lanes *lanes, int64_t face, struct boxhdg_place *place);
int64_t boxhdg_lanes_face(const struct boxhdg_lanes *lanes, const struct box_face_pack *pack, int lane);

enum boxhdg_scaling { BOXHDG_UNKNOWN, BOXHDG_RESIDUAL };
/* A vector of n numbers in the precision of the lanes. */
facet_status boxhdg_lanes_vector(const struct boxhdg_lanes *lanes, int64_t n, struct vector *v);

/* The constant 1 as an unknown or as a residual. Where there are Dirichlet sides it goes linearly to zero in
 * the cells at them. */
facet_status boxhdg_lanes_constant(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling,
                                   struct vector *v);

/* From plain modes (n_trace numbers, on the host) to a vector of the device and back. Fixed faces are taken
 * as zero, and left alone. */
facet_status boxhdg_lanes_pack(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling,
                               const double *plain, struct vector *to);
facet_status boxhdg_lanes_unpack(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling,
                                 const struct vector *from, double *plain);

/* K itself (its single precision has lanes of its own), and its inverse diagonal (face-block Jacobi: K is
 * diagonal on each face). The lanes must outlive them. */
void operator_create_box(const struct boxhdg_lanes *lanes, struct linear_operator *A);
void operator_create_box_diagonal(const struct boxhdg_lanes *lanes, struct linear_operator *D);

/* One step of kernels/box.h on vectors of either precision; NULL for those not wanted. Of a block: y is the
 * sum at the seam; what is returned is its part of d . y. */
double boxhdg_lanes_step(const struct boxhdg_lanes *lanes, const struct box_step *step,
                         const struct vector *f, struct vector *r, const struct vector *e, struct vector *d,
                         struct vector *x, struct vector *y);
/* x . D x and |x|^2 in plain modes of a block become those of all, each face counted once. */
void boxhdg_lanes_join_sums(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling,
                            const struct vector *x, double sums[2]);
/* r -= alpha y; sums: r . D r, and |r|^2 in plain modes, of what this block has. */
void boxhdg_lanes_residual(const struct boxhdg_lanes *lanes, double alpha, const struct vector *y,
                           struct vector *r, struct vector *moments, double sums[2]);

#endif
