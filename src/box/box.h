/* What all boxes share. This file: a box of Cartesian cells and the data that are constant on each of them.
 * The room besides: 1D problems (line.h: a cell of HDG; element.h: a continuous element; modes.h:
 * eigenvectors by parity), tensor contractions (contract.h), fast diagonalization (diagonalize.h), loops over
 * cells with data, values and errors (cell_loop.h), and the memory that would fit (needed_memory.h).
 *
 *     lambda u - div(k grad u) = f,   lambda >= 0 and k > 0 constant on every cell
 *
 * Cells, faces and their numbers. Cell (i0, i1, i2) is number (i2 cells[1] + i1) cells[0] + i0; directions
 * from `dim` on have one cell of width 2, so that loops need not know the dimension. The faces normal to
 * direction d form planes: plane s lies below the cells i_d = s, and there are cells[d] + 1 of them, or
 * cells[d] where d is periodic (plane cells[d] is then plane 0). Their number within the direction is that of
 * a lattice with planes[d] instead of cells[d] points in direction d, direction 0 fastest.
 *
 * A box may be a block of a larger one, whose other blocks other processes have (struct box_part). Sides that
 * it shares with them are seams: their faces are free, stand in both blocks, and carry no condition; what a
 * block alone makes of them is a part of a sum (device/seam.h).
 */
#ifndef FACET_BOX_BOX_H
#define FACET_BOX_BOX_H

#include <math.h>
#include <stdint.h>

#include "base/team.h"

#define BOX_MAX_DEGREE 32

enum box_side { BOX_DIRICHLET, BOX_NEUMANN, BOX_PERIODIC, BOX_SEAM };

/* What a block knows of the others. */
struct box_part {
    const struct facet_mesh *mesh; /* the block, with its part (mesh/part.h) */
    const struct solve_external *external;
    struct base_team *team;
};

/* Of all blocks; closed: 1 where there is a Dirichlet side. */
struct box_range {
    double closed, stiffest, reaction, upper[3]; /* the largest, */
    double softest, least_reaction, lower[3];    /* the least */
};

struct box_grid {
    int dim; /* 1, 2 or 3 */
    int cells[3];
    double *coordinates[3]; /* cells[d] + 1, increasing */
    double *widths[3];      /* cells[d] */
    enum box_side sides[3][2];
    int planes[3]; /* of faces; 0 from `dim` on */
    int64_t n_cells, n_faces,
        first_face[4];               /* faces of direction d: first_face[d] .. first_face[d + 1] - 1 */
    double *conductivity, *reaction; /* n_cells each; NULL: 1 and 0 everywhere */
    int uniform[3];                  /* all widths of the direction are equal (to rounding) */
    const struct box_part *part;     /* borrowed; NULL: the box is whole. Of the whole: */
    struct box_range range;
    int separable; /* conductivity and reaction are the same in all cells: products of 1D problems */
    int closed;    /* there is a Dirichlet side */
    int singular;  /* there is none, and no reaction: constants are a kernel */
};

/* What a caller gives; all is copied. */
struct box_grid_data {
    int dim;
    int cells[3];
    const double *coordinates[3];
    enum box_side sides[3][2];
    const double *conductivity, *reaction; /* NULL: 1, 0 */
    const struct box_part *part;           /* NULL: whole */
};
/* Refuses what is wrong, and says where: fewer than one cell, cells of no width, one periodic side, k <= 0,
 * lambda < 0, numbers that are not finite. */
facet_status box_grid_create(const struct box_grid_data *data, struct box_grid *grid);
void box_grid_destroy(struct box_grid *grid); /* safe on a zeroed struct, and twice */
facet_status box_find_range(const struct box_grid_data *data, struct box_range *range);
/* Sets `range`, `separable`, `closed` and `singular` to what conductivity, reaction and sides say now. */
facet_status box_grid_judge(struct box_grid *grid);
/* Of all blocks; NaN where another process has failed, who says why. */
static inline double box_all(const struct box_grid *g, enum team_reduction reduction, double value) {
    if (g->part == NULL) return value;
    return team_reduce(g->part->team, reduction, 1, &value) == FACET_OK ? value : NAN;
}

static inline int64_t box_cell(const struct box_grid *g, const int at[3]) {
    return ((int64_t)at[2] * g->cells[1] + at[1]) * g->cells[0] + at[0];
}
static inline void box_cell_at(const struct box_grid *g, int64_t cell, int at[3]) {
    at[0] = (int)(cell % g->cells[0]);
    at[1] = (int)(cell / g->cells[0] % g->cells[1]);
    at[2] = (int)(cell / g->cells[0] / g->cells[1]);
}
static inline double box_cell_volume(const struct box_grid *g, const int at[3]) {
    double volume = 1.0;
    for (int d = 0; d < g->dim; d++) volume *= g->widths[d][at[d]];
    return volume;
}
/* The face below (side 0) or above (side 1) a cell in direction d, in the numbering of all faces. */
int64_t box_face(const struct box_grid *g, const int at[3], int d, int side);
/* Whether two directions have the same cells and conditions. */
int box_same_direction(const struct box_grid *g, int d, int e);
/* Whether a plane of faces carries Dirichlet values. */
int box_plane_is_fixed(const struct box_grid *g, int d, int plane);

static inline double box_conductivity(const struct box_grid *g, int64_t cell) {
    return g->conductivity != NULL ? g->conductivity[cell] : 1.0;
}
static inline double box_reaction(const struct box_grid *g, int64_t cell) {
    return g->reaction != NULL ? g->reaction[cell] : 0.0;
}
/* cell_jumps.c: the largest solve_star_jump of k (solve/jumps.h), of all blocks. */
facet_status box_jump(const struct box_grid *grid, double *jump);
/* contrast.c: whether k jumps so much that cycles do not see all errors; and the root mean square of those
 * that a residual, n_cells numbers tested with the function 1 on every cell, makes of the means of cells,
 * together with the rounding of loads. size: of u, of that degree. floating: constants are a kernel, or found
 * otherwise, and do not count. 0: a factor of the cells would be too large, or the box is a block. */
int box_is_contrasting(const struct box_grid *grid);
facet_status box_contrast_error(const struct box_grid *grid, int degree, int floating, double size,
                                const double *residual, double *error);

#endif
