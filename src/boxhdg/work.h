/* What the loops over the cells of a box share: the cell at hand with its lines and metric, and the work
 * arrays of the threads. */
#ifndef FACET_BOXHDG_WORK_H
#define FACET_BOXHDG_WORK_H

#include "boxhdg/hdg_cells.h"

/* A cell. Directions from dim on have one mode with b = Lambda = 0, so that loops need not know dim. */
struct boxhdg_at {
    const struct boxhdg *h;
    int64_t cell;
    int at[3], lines[3];      /* place; numbers of its lines */
    int extent[3];            /* n, or 1 from dim on */
    double V, reaction, a[3]; /* product of h/2; lambda V; k V (2/h)^2 */
    double k, inverse[3];     /* k; 2/h */
    const double *b[3], *eigenvalues[3];
    const double *ends[3], *slopes[3], *moments[3];
    const struct box_table *tables[3];
    int64_t faces[3][2]; /* where the modes of a face begin in vectors of the trace */
};
void boxhdg_at_set(const struct boxhdg *h, int64_t cell, struct boxhdg_at *at);
/* A cell of a solution: `cell` and `faces` are its place among what the solution holds. */
void boxhdg_at_find(const struct boxhdg *h, const struct boxhdg_solution *s, int64_t cell,
                    struct boxhdg_at *at);
/* (h/2) of the tangential directions multiplied. */
double boxhdg_at_area(const struct boxhdg_at *at, int d);

/* v[d][0] = upper + lower, v[d][1] = upper - lower; face_size each, one after the other; zeros from dim on.
 */
void boxhdg_at_gather(const struct boxhdg_at *at, const double *trace, double *v);
/* Adds factor[d] (r^0 + r^1) to the upper faces and factor[d] (r^0 - r^1) to the lower ones; r as v. */
void boxhdg_at_scatter(const struct boxhdg_at *at, const double *r, const double factor[3], double *trace);
/* r[d][parity](tangential) = sum over modes m of this parity of c[d][m] u(m, tangential). Here and below,
 * arrays of a cell and v have BOX_SLACK numbers to spare behind them, all finite. */
void boxhdg_at_reduce(const struct boxhdg_at *at, const double *const c[3], const double *u, double *r);
/* The integral over the reference face normal to d of what has these modes there. */
double boxhdg_at_integral(const struct boxhdg_at *at, int d, const double *modes);
/* Numbers of the arrays v and r above. */
static inline int64_t boxhdg_pairs_size(const struct boxhdg *h) {
    return 6 * h->face_size + BOX_SLACK;
}

/* The faces of a seam become the sums of what both blocks have. */
static inline facet_status boxhdg_add_seam(const struct boxhdg *h, double *trace) {
    return h->seam != NULL ? seam_add_blocks(h->seam, h->seam->offsets, trace) : FACET_OK;
}

facet_status boxhdg_add_seam_of_faces(const struct boxhdg *h, double *faces); /* one number each */

/* box_for_cells with the cell at hand. */
typedef facet_status (*boxhdg_work)(const struct boxhdg_at *at, double *scratch, void *user);
facet_status boxhdg_for_cells(const struct boxhdg *h, int layers, int64_t size, boxhdg_work work, void *user);

/* The same over the cells of a solution, set by boxhdg_at_find. */
facet_status boxhdg_for_solution(const struct boxhdg *h, const struct boxhdg_solution *s, int64_t size,
                                 boxhdg_work work, void *user);

/* The modes of a line as a box_tabulate, which leaves no slopes; and those of all lines at Gauss points. */
facet_status boxhdg_tabulate(const void *hdg, int line, int n_points, const double *x, double *values,
                             double *slopes);
/* The modes of all lines at points of [0, 1], lines x points x n; also on failure the caller frees them. */
facet_status boxhdg_tabulate_all(const struct boxhdg *h, int n_points, const double *x, double **values);
facet_status boxhdg_samples_create(const struct boxhdg *h, int n_points, struct box_samples *samples);
/* What post-processing is made with, P = n + 1. Q: P x P, column i the Legendre coefficients of y_i. For
 * every line, P x n each: mass (mode_m, y_i) and slope (mode_m, y_i'). Q owns all four. */
struct boxhdg_star {
    int P;
    double *Q, *theta, *mass, *slope;
};
/* What q of a line has at its ends, from u and the traces (boxhdg_fields_flux): c, the ends times D', by the
 * modes of u, n of them; and the squares of the ends summed by parity. */
void boxhdg_line_ends(const struct box_table *table, double *c, double squares[2]);
/* Whether a side of a cell lies on a side of the box that is not periodic. */
static inline int boxhdg_at_boundary(const struct boxhdg_at *at, int d, int side) {
    const struct box_grid *g = &at->h->grid;
    return g->sides[d][0] != BOX_PERIODIC && at->at[d] == (side ? g->cells[d] - 1 : 0);
}

#endif
