/* Products along one axis of a lattice, and between parts of lattices and vectors in lanes (kernels/box.h). */
#include <string.h>

#include "kernels/simd/lane.h"

/* A tile of results: so many rows of VECTORS registers each, which leave a few registers for what they are made of. */
#ifdef __AVX512F__
#    define ROWS 8
#else
#    define ROWS 4
#endif
#define VECTORS   3
#define DEPTH     256 /* terms of a sum at once: a panel stays in the first cache */
#define GROUP     256 /* rows of a lattice of which a panel is made once */
#define PER_POINT 32  /* multiply-adds that take a nanosecond */

typedef double loose __attribute__((vector_size(PART * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef float loose_single
    __attribute__((vector_size(PART_SINGLE * sizeof(float)), aligned(sizeof(float)), may_alias));

/* A row of a lattice of an axis in the vector: where cell 0 and mode 0 of axis 0 lie (of an axis 0 lattice the face
 * above cell 0), and how much further the n modes of axis 0 are. */
struct row {
    int64_t begin, modes[KERNEL_LINE];
    int n;
};

/* False: the vector has nothing there. */
static int find_row(const struct box_plan *p, int axis, int at1, int at2, struct row *row) {
    const int at[3] = {0, at1, at2}, other = axis == 1 ? 2 : 1, mode = at[other] % p->modes[other];
    row->n = 1;
    row->modes[0] = 0;
    if (axis > 0) {
        const int64_t first = box_face_mode(p, 0, other, 0, mode);
        row->n = p->modes[0];
        row->begin = box_lattice_where(p, axis, at, L);
        for (int m = 1; m < row->n; m++) row->modes[m] = (box_face_mode(p, 0, other, m, mode) - first) * L;
        return row->begin >= 0;
    }
    const int cell[2] = {at1 / p->modes[1], at2 / p->modes[2]};
    if (cell[0] >= p->cells[1] || cell[1] >= p->cells[2]) return 0;
    row->begin = box_face_0(p, cell[1], cell[0], 0, L) +
                 box_face_mode(p, 1, 2, at1 - cell[0] * p->modes[1], at2 - cell[1] * p->modes[2]) * L;
    return 1;
}

/* Where mode 0 of a cell of the row lies, or plane number `cell` of an axis 0 lattice, from its beginning; NOWHERE: the
 * vector has neither it nor those behind it. */
#define NOWHERE INT64_MIN
INLINE int64_t find_place(const struct box_plan *p, int axis, int cell) {
    if (axis == 0) {
        if (p->periodic[0] && cell >= p->cells[0]) return NOWHERE;
        cell = p->periodic[0] && cell == 0 ? p->cells[0] - 1 : cell - 1 + p->fixed[0][0];
        if (cell == p->cells[0] - 1 && p->fixed[0][1]) return NOWHERE;
    }
    if (cell >= p->cells[0]) return NOWHERE;
    return cell < 0 ? L - 1 - p->face[0] * L : cell / L * p->face[axis] * L + cell % L;
}

#define TEMPLATE "kernels/simd/axis_real.h"
#include "kernels/twice.h"
