/* HDG on a box (huismann2020): the cell matrices factored into 1D ones, so that everything costs O(p^3) a
 * cell.
 *
 * On cell e of widths h_d, with V = product of h_d / 2 and a_d = k V (2 / h_d)^2, in the modes of the lines
 * of its three columns (box/line.h) the unknown u of the cell and the traces uhat_d- and uhat_d+ of its faces
 * satisfy
 *
 *     Z u = f + sum_d a_d R_d uhat_d,   Z = diag(lambda V + sum_d a_d Lambda_d)   (eq. 38b: diagonal)
 *     F_d = a_d [g c; c g] uhat_d - a_d R_d' u                                    (eq. 40)
 *
 * where R_d acts along d with b and is the identity along the other directions: that is Algorithm 3. The
 * stabilization of the faces normal to d is tau = 2 k rho_d / h_d, rho depending on the column of the cell in
 * direction d only; so all cells that share a face use the same modes on it, whatever their k. This covers
 * tau = 2 tau_hat / h and constant tau with constant k, and tau proportional to k always.
 *
 * Vectors on the trace ("plain modes"): face_size = n^(dim-1) coefficients for every face, faces in the order
 * of box/box.h, modes of the lower tangential direction fastest. Faces with Dirichlet values are there too:
 * operators take them as zero and leave zero on them, so that no numbering of free unknowns is needed. The
 * modes are orthonormal on the reference face [-1,1]^(dim-1).
 *
 * Where the box is a block of a larger one, both blocks have the faces of the seam between them: loads,
 * products and traces from u are summed over it here, what cells alone make of it is a part of the sum.
 *
 * Vectors in cells: n^dim numbers a cell, direction 0 fastest, cells in the order of box/box.h: values at
 * the tensor Gauss points (f, u: what callers give and get) or coefficients of modes.
 *
 * Everything here runs on the host; the operators that the devices run are in boxhdg/lanes.h.
 */
#ifndef FACET_BOXHDG_BOXHDG_H
#define FACET_BOXHDG_BOXHDG_H

#include "box/box.h"
#include "box/contract.h"
#include "box/line.h"
#include "device/seam.h"
#include "solve/solve.h"

struct boxhdg {
    struct box_grid grid;
    int degree, n; /* n = degree + 1 */
    int n_lines;
    struct box_line *lines; /* one for every rho that occurs (to rounding) */
    int *column_line[3];    /* cells[d]: the line of a column */
    int64_t face_size, cell_size, n_trace,
        n_volume;             /* n^(dim-1), n^dim, faces x face_size, cells x cell_size */
    int64_t n_free;           /* n_trace without Dirichlet faces */
    int64_t n_all_free;       /* of all blocks, each face once */
    struct seam *seam;        /* of the trace, face by face, where the box is a block; else NULL */
    double *gauss, *weights;  /* n: the points of a line */
    struct box_table *tables; /* per line: what cells are multiplied with */
};

/* rho[d]: cells[d] numbers, tau h_d / (2 k) of a column. The grid's data are copied. */
facet_status boxhdg_create(const struct box_grid_data *data, int degree, const double *const rho[3],
                           struct boxhdg **hdg);
void boxhdg_destroy(struct boxhdg **hdg);

static inline const struct box_line *boxhdg_line(const struct boxhdg *h, int d, int column) {
    return &h->lines[h->column_line[d][column]];
}
static inline const struct box_table *boxhdg_table(const struct boxhdg *h, int d, int column) {
    return &h->tables[h->column_line[d][column]];
}
/* V and a_d of a cell; 0 from dim on. Returns lambda V. */
double boxhdg_metric(const struct boxhdg *h, const int at[3], double a[3]);

#endif
