/* HDG on a box of Cartesian cells (src/boxhdg/boxhdg.h): how the kernels box_step, box_residual, box_form,
 * box_recur, box_restrict and box_prolong see it.
 *
 * Axes. A cell has three axes: 0 is x, along which LANES neighbours (of the table: kernels.h) form a pack,
 * and 2 is the last direction, whose layers of cells follow each other in memory. In 2D axis 1 is absent, in
 * 1D axes 1 and 2: an absent axis has one cell, one mode, no faces and metric 0.
 *
 * Modes. Along axis d modes 0 .. even[d]-1 are even, the others odd. The unknowns v are those of plain modes
 * divided by b_j b_k of the two tangential axes (residuals are multiplied), so that with the sums (parity 0)
 * and differences (parity 1) v_d^0, v_d^1 of the two faces of a cell and
 *
 *     s(i,j,k) = a_0 v_0^par(i)(j,k) + a_1 v_1^par(j)(i,k) + a_2 v_2^par(k)(i,j),
 *     w(i,j,k) = B_i B_j B_k / (reaction + a_0 Lambda_i + a_1 Lambda_j + a_2 Lambda_k),  B = b^2
 *
 * the cell gives k a_d [gamma_par B B v_d^par - sum of w s over the modes of parity par along d], and its
 * upper and lower face the sum and the difference of the two.
 *
 * Order of the modes on a face: of its two axes p < q, blocks of parities (even, even), (even, odd), (odd,
 * even), (odd, odd) of (p, q), and in a block q fastest.
 *
 * Vectors. Face-packs of face[d] x LANES numbers. The upper face of a cell along axis d belongs to its pack
 * and lane; faces below the first cells exist only where extra[d] (free and not periodic): along x they are
 * lane LANES-1 of one more pack in front of each row, along axes 1 and 2 one more row, or plane, in front. A
 * vector is the extra plane of axis 2, then the layers: { faces of axis 0 by rows, of axis 1 by rows, of axis
 * 2 by rows }.
 *
 *     row of faces of axis 0:  [extra] [pack 0] [pack 1] ..     numbers in a pack: [mode][lane]
 *
 * Lanes without a cell have k = 0; they, the faces of fixed (Dirichlet) planes and the lanes of extra packs
 * that are no face hold zeros in all vectors, and products leave zeros there.
 */
#ifndef FACET_KERNELS_BOX_H
#define FACET_KERNELS_BOX_H

#include <stdint.h>

#include "kernels/everywhere.h"

/* Weights are stored in the order in which tiles of I x J modes of one parity each are read. */
#define KERNEL_BOX_I 4
#define KERNEL_BOX_J 2
/* Metric of a pack: a_0, a_1, a_2, reaction (lambda V / k), all for k = 1, then k. */
#define KERNEL_BOX_METRIC 5
/* Coefficients of a face in the coarse space: the parities of a block. */
#define KERNEL_BOX_MOMENTS 4
/* Lanes between the arrays of scratch, so that they do not begin at the same place of a cache. */
#define KERNEL_BOX_GAP 10

/* Numbers of a plan. Tables of axis 0 have one entry for each lane of a pack ([pack][mode][LANES]), those of
 * axes 1 and 2 one for each cell ([cell][mode]). */
#define KERNEL_BOX_NUMBERS(REAL)                                                                             \
    {                                                                                                        \
        const REAL *metric;      /* layer x row x pack x METRIC x LANES */                                   \
        const REAL *weights;     /* tables of w, modes[0] modes[1] modes[2] numbers each: for the eight   \
                                       parities (of axis 0 slowest), i in steps of I, j in steps of J, all   \
                                       k, then i and j of the tile, j fastest */  \
        const REAL *squares[3];  /* B */                                                                     \
        const REAL *inverses[3]; /* 1 / B */                                                                 \
        const REAL *eigenvalues[3]; /* Lambda */                                                             \
        const REAL *gamma[3];       /* of the two parities, instead of modes */                              \
        const REAL *hats[3];        /* the function 1 in even modes, xi in odd ones, over b */               \
        const REAL *diagonal; /* inverse diagonal of K (box_diagonal_begin); 0 where there is no       \
                                       unknown */     \
        const REAL *zeros;    /* the largest face-pack */                                                    \
        REAL *scratch;        /* threads x scratch_size numbers */                                           \
    }
struct box_numbers KERNEL_BOX_NUMBERS(double);
struct box_numbers_single KERNEL_BOX_NUMBERS(float);

struct box_plan {
    int lanes;
    int modes[3], even[3], cells[3], packs;
    int present[3], extra[3], periodic[3], fixed[3][2];
    int64_t face[3];    /* modes of a face; 0: absent */
    int64_t section[3]; /* numbers of one axis in a layer */
    int64_t layer, front, size;
    int64_t faces[3], layer_faces, front_faces, n_faces; /* the same in face-packs */
    int threads;                                         /* at most so many work */
    int64_t scratch_size;
    const int32_t *tables; /* per pack: its table of weights; -1: its lanes differ, and w is computed */
    int own_weights;       /* some packs have none */
    int alike;             /* all cells have the same k, lambda and widths */
    struct {               /* then: the layout of the diagonal */
        int packs;
        int64_t section[3], layer, front;
    } few;
    struct box_numbers f64;
    struct box_numbers_single f32;
};

/* Layer by layer, all with NULL for what is not wanted:
 *     r = f - y (f NULL: r stays; subtract 0: r = f)
 *     x += x_old d;   d = a D r + P e + b d;   x += x_new d      (direction 0: none of this line)
 *     y = K d                                                    (product 0: not)
 * f may be r. b = 0 ignores d, assign ignores x. e: KERNEL_BOX_MOMENTS x LANES numbers for each face-pack.
 * Returns d . y of the new y. */
struct box_step {
    int subtract, direction, product, assign;
    double x_old, a, b, x_new;
};

/* The second sweep of conjugate gradients by three terms: with the residuals s and r of two steps, s the
 * older one, and the coefficients e_s and e_r that belong to them,
 *
 *     d = D s + P e_s + b[0] d;   x += a[0] d;
 *     d = D r + P e_r + b[1] d;   x += a[1] d        (where x is not NULL)
 *     s = r - alpha y + c (r - s)
 *
 * b = 0 ignores d; c = 0 and x = NULL ignore s. moments and sums are those of the new s, as box_residual has
 * them. */
struct box_recurrence {
    double a[2], b[2], alpha, c;
};

/* Cells at their Gauss points: what box_load and box_recover need beside the plan, whose double precision
 * they use. An array of cells has modes[0] modes[1] modes[2] numbers for each, axis 0 fastest, and so have
 * the cells. In the modes of a cell, b being the root of B and V the volume of half the widths,
 *
 *     u = (V forward f + b_i b_j b_k k (a_0 v_0 + a_1 v_1 + a_2 v_2)) / k Z,   Z the denominator of w,
 *
 * and the faces of axis d receive k a_d [sum of b_i b_j b_k u along d - gamma B B v_d of known traces], sum
 * and difference of the two parities. */
#define KERNEL_BOX_BALANCE   8 /* numbers of box_balance for a cell */
#define KERNEL_BOX_IMBALANCE 4 /* and of box_imbalance */
struct box_points {
    const int32_t *lines[3]; /* of the cells of an axis */
    const double *forward,
        *backward; /* n x n for each line: [mode][point], weights included; [point][mode] */
    /* For each line: modes at the upper end and their integrals, n each; sums over the modes i of end_i
     * (mode_j, mode_i'), n; the squares of the ends summed by parity, 2; rho, 1. For all: weights of the
     * points, n. */
    const double *ends, *moments, *slopes, *squares, *rho, *weights;
    const double *values;    /* as backward, also where that is NULL */
    const double *halves[3]; /* half the widths of the cells of an axis; 1 where it is absent */
    /* By sides of the box: traces (fixed ones, scaled as unknowns) or what is added to the right-hand side
     * (others); NULL: zero. Faces of axis d by the cells of the fast tangential axis, then the slow one,
     * which is fastest; modes in the order of a face. */
    const double *sides[3][2];
};

/* What the numbers of a lattice, n_0 in a row and n_1 rows in a plane, are divided by: lambda + k (theta_0 +
 * theta_1 + theta_2), the entries of their three coordinates. */
struct axis_division {
    const double *theta[3];
    int n_0, n_1;
    double k, lambda;
};
EVERYWHERE double axis_divisor(const struct axis_division *by, int64_t number) {
    const int64_t row = number / by->n_0;
    return by->lambda + by->k * (by->theta[0][number - row * by->n_0] + by->theta[1][row % by->n_1] +
                                 by->theta[2][row / by->n_1]);
}

/* Numbers of scratch that a thread needs: sums and differences, products, weights of one pack, and what it
 * adds below its first layer; or, as doubles, a cell, its loads and five times its faces. */
EVERYWHERE int64_t box_scratch(const struct box_plan *p, int own, int lanes) {
    int64_t volume = (int64_t)p->modes[0] * p->modes[1] * p->modes[2], faces = 0, most = 1;
    for (int d = 0; d < 3; d++) {
        faces += volume / p->modes[d];
        most = p->face[d] > most ? p->face[d] : most;
    }
    const int64_t steps = (4 * faces + 12 * KERNEL_BOX_GAP + (own ? volume : 0) + p->face[0] + p->face[1] +
                           p->face[2] * p->cells[1] * p->packs) *
                          lanes,
                  cells = 2 * (2 * volume + 30 * most + 12 * KERNEL_BOX_GAP);
    return steps > cells ? steps : (cells + lanes - 1) / lanes * lanes;
}

/* Where a face-pack begins. Row -1 of axis 1, layer -1 of axis 2 and pack -1 of axis 0 are the extra ones. */
EVERYWHERE int64_t box_face_0(const struct box_plan *p, int layer, int row, int pack, int lanes) {
    return p->front + layer * p->layer +
           ((int64_t)row * (p->packs + p->extra[0]) + p->extra[0] + pack) * p->face[0] * lanes;
}
EVERYWHERE int64_t box_face_1(const struct box_plan *p, int layer, int row, int pack, int lanes) {
    return p->front + layer * p->layer + p->section[0] +
           ((int64_t)(row + p->extra[1]) * p->packs + pack) * p->face[1] * lanes;
}
EVERYWHERE int64_t box_face_2(const struct box_plan *p, int layer, int row, int pack, int lanes) {
    int64_t begin = layer < 0 ? 0 : p->front + layer * p->layer + p->section[0] + p->section[1];
    return begin + ((int64_t)row * p->packs + pack) * p->face[2] * lanes;
}
/* A face-pack by its number or place: its axis, first number, place (pack -1, row -1, layer -1: extra ones).
 */
struct box_face_pack {
    int axis, at[3];
    int64_t begin;
};
/* That of the face above (side 1) or below (side 0) a cell, and its lane; -1: fixed. */
EVERYWHERE int box_face_of(const struct box_plan *p, int axis, const int cell[3], int side, int lanes,
                           struct box_face_pack *f) {
    int at[3] = {cell[0], cell[1], cell[2]}, last = p->cells[axis] - 1;
    if (side == 0 && at[axis]-- == 0 && p->periodic[axis]) at[axis] = last;
    if (at[axis] < 0 ? !p->extra[axis] : at[axis] == last && p->fixed[axis][1]) return -1;
    f->axis = axis;
    f->at[0] = at[0] < 0 ? -1 : at[0] / lanes;
    f->at[1] = at[1];
    f->at[2] = at[2];
    f->begin = axis == 0   ? box_face_0(p, at[2], at[1], f->at[0], lanes)
               : axis == 1 ? box_face_1(p, at[2], at[1], f->at[0], lanes)
                           : box_face_2(p, at[2], at[1], f->at[0], lanes);
    return at[0] < 0 ? lanes - 1 : at[0] % lanes;
}
/* Where mode 0 of it lies, its lane included; -1: fixed. */
EVERYWHERE int64_t box_where(const struct box_plan *p, int axis, const int cell[3], int side, int lanes) {
    struct box_face_pack f;
    const int lane = box_face_of(p, axis, cell, side, lanes, &f);
    return lane < 0 ? -1 : f.begin + lane;
}
/* The number of a face-pack. */
EVERYWHERE int64_t box_pack_number(const struct box_plan *p, const struct box_face_pack *f) {
    if (f->at[2] < 0) return (int64_t)f->at[1] * p->packs + f->at[0];
    int64_t number = p->front_faces + f->at[2] * p->layer_faces;
    if (f->axis == 0) return number + (int64_t)f->at[1] * (p->packs + p->extra[0]) + p->extra[0] + f->at[0];
    number += p->faces[0];
    if (f->axis == 1) return number + (int64_t)(f->at[1] + p->extra[1]) * p->packs + f->at[0];
    return number + p->faces[1] + (int64_t)f->at[1] * p->packs + f->at[0];
}
/* Modes of one parity along an axis: the first, and how many. */
EVERYWHERE int box_first(const struct box_plan *p, int axis, int parity) {
    return parity ? p->even[axis] : 0;
}
EVERYWHERE int box_count(const struct box_plan *p, int axis, int parity) {
    return parity ? p->modes[axis] - p->even[axis] : p->even[axis];
}
/* By its number. */
EVERYWHERE struct box_face_pack box_face_pack(const struct box_plan *p, int64_t number, int lanes) {
    struct box_face_pack f = {.axis = 2, .at = {0, 0, -1}};
    int64_t wide = p->packs + p->extra[0];
    if (number >= p->front_faces) {
        number -= p->front_faces;
        f.at[2] = (int)(number / p->layer_faces);
        number %= p->layer_faces;
        for (f.axis = 0; number >= p->faces[f.axis]; f.axis++) number -= p->faces[f.axis];
    }
    if (f.axis != 0) wide = p->packs;
    f.at[0] = (int)(number % wide) - (f.axis == 0 ? p->extra[0] : 0);
    f.at[1] = (int)(number / wide) - (f.axis == 1 ? p->extra[1] : 0);
    f.begin = f.axis == 0   ? box_face_0(p, f.at[2], f.at[1], f.at[0], lanes)
              : f.axis == 1 ? box_face_1(p, f.at[2], f.at[1], f.at[0], lanes)
                            : box_face_2(p, f.at[2], f.at[1], f.at[0], lanes);
    return f;
}
/* Where the numbers of a face-pack stand in `diagonal`: a vector, or where cells are alike that of a box with
 * at most two packs, rows and layers, which serve all that lie like them, inside or at the end of their axis,
 * and stay in a cache. */
EVERYWHERE int64_t box_diagonal_begin(const struct box_plan *p, const struct box_face_pack *f, int lanes) {
    int at[3];
    if (!p->alike) return f->begin;
    for (int d = 0; d < 3; d++) {
        const int last = (d == 0 ? p->packs : p->cells[d]) - 1;
        at[d] = f->at[d] < 0 ? -1 : (d == 0 || d == f->axis) && last > 0 && f->at[d] == last;
    }
    const int64_t begin = at[2] < 0 ? 0 : p->few.front + at[2] * p->few.layer;
    if (f->axis == 0)
        return begin +
               ((int64_t)at[1] * (p->few.packs + p->extra[0]) + p->extra[0] + at[0]) * p->face[0] * lanes;
    if (f->axis == 1)
        return begin + p->few.section[0] +
               ((int64_t)(at[1] + p->extra[1]) * p->few.packs + at[0]) * p->face[1] * lanes;
    return begin + (at[2] < 0 ? 0 : p->few.section[0] + p->few.section[1]) +
           ((int64_t)at[1] * p->few.packs + at[0]) * p->face[2] * lanes;
}
/* The cells on both sides of the face in a lane of a face-pack: bit 0: there is one below, bit 1: there is
 * one above. 0: the lane holds no unknown. */
EVERYWHERE int box_neighbours(const struct box_plan *p, const struct box_face_pack *f, int lane, int lanes,
                              int below[3], int above[3]) {
    const int x = f->at[0] < 0 ? lane - lanes : f->at[0] * lanes + lane, last = p->cells[f->axis] - 1;
    for (int d = 0; d < 3; d++) below[d] = above[d] = d == 0 ? x : f->at[d];
    if (x < -1 || x >= p->cells[0] || (below[f->axis] == last && p->fixed[f->axis][1])) return 0;
    if (++above[f->axis] > last) above[f->axis] = 0;
    return (below[f->axis] >= 0 ? 1 : 0) | (below[f->axis] < last || p->periodic[f->axis] ? 2 : 0);
}
/* The columns whose tables a face-pack uses along its tangential axes; that of an extra row or plane is 0. */
EVERYWHERE int box_column(const struct box_face_pack *f, int axis) {
    return f->at[axis] < 0 ? 0 : f->at[axis];
}
/* Vertices in a row, rows and layers of the lattice. */
EVERYWHERE void box_lattice(const struct box_plan *p, int lanes, int size[3]) {
    size[0] = p->packs * lanes + 1;
    size[1] = p->present[1] ? p->cells[1] + 1 : 1;
    size[2] = p->present[2] ? p->cells[2] + 1 : 1;
}
/* Where the block of parities (alpha, beta) begins on a face of axes a < b. */
EVERYWHERE int64_t box_block(const struct box_plan *p, int a, int b, int alpha, int beta) {
    return (int64_t)box_first(p, a, alpha) * p->modes[b] +
           (int64_t)box_count(p, a, alpha) * box_first(p, b, beta);
}
/* The mode of a face of axes a < b that modes i along a and j along b fall on. */
EVERYWHERE int64_t box_face_mode(const struct box_plan *p, int a, int b, int i, int j) {
    int alpha = i >= p->even[a], beta = j >= p->even[b];
    return box_block(p, a, b, alpha, beta) + (int64_t)(i - box_first(p, a, alpha)) * box_count(p, b, beta) +
           j - box_first(p, b, beta);
}
/* Where the unknown at a place of the lattice of an axis (box_to_lattice) lies; -1: there is none. */
EVERYWHERE int64_t box_lattice_where(const struct box_plan *p, int axis, const int at[3], int lanes) {
    const int slow = axis == 0 ? 1 : 0, fast = axis == 2 ? 1 : 2;
    int cell[3], mode[3];
    for (int d = 0; d < 3; d++) {
        cell[d] = d == axis ? at[d] - 1 + p->fixed[d][0] : at[d] / p->modes[d];
        mode[d] = at[d] - cell[d] * p->modes[d];
        if (d == axis && p->periodic[d]) cell[d] = at[d] == 0 ? p->cells[d] - 1 : cell[d];
        if (cell[d] >= p->cells[d] || (d == axis && p->periodic[d] && at[d] >= p->cells[d])) return -1;
    }
    if (cell[axis] == p->cells[axis] - 1 && p->fixed[axis][1]) return -1;
    const int64_t face = box_face_mode(p, slow, fast, mode[slow], mode[fast]) * lanes;
    const int pack = cell[0] < 0 ? -1 : cell[0] / lanes, lane = cell[0] < 0 ? lanes - 1 : cell[0] % lanes;
    return face + lane +
           (axis == 0   ? box_face_0(p, cell[2], cell[1], pack, lanes)
            : axis == 1 ? box_face_1(p, cell[2], cell[1], pack, lanes)
                        : box_face_2(p, cell[2], cell[1], pack, lanes));
}

#endif
