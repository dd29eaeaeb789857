/* The table of hot kernels that kernels.def lists, and the structs they are called with.
 *
 * A device starts from a table and overrides what it does better; all its entries must give what ref gives up
 * to rounding. Pointers are addresses in the device's memory; structs, sizes and scalars come from the host.
 * src/device is the only includer.
 *
 * Lanes. Arrays of many small things of one shape (element matrices, element vectors) are kept in batches of
 * LANES cells, the cell being the fastest index: entry e of cell c is at [(c / LANES) * n_entries + e][c %
 * LANES]. Lanes beyond the last cell exist and hold what the caller put there. Symmetric matrices keep one
 * triangle: entry (i, j), j <= i, is number i (i + 1) / 2 + j.
 *
 * LANES is a property of the table: `lanes` of cells and blocks, `box_lanes` of boxes. Who makes arrays for
 * it asks it (device_lanes, device_box_lanes), and says the number in the plan or the tables that a kernel is
 * called with, or as its argument. The kernels of ref take any number from 1 on; those that are compiled for
 * one (simd, cuda) are called with it and rely on it.
 */
#ifndef FACET_KERNELS_H
#define FACET_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/balance.h"
#include "kernels/box.h"
#include "kernels/brick.h"
#include "kernels/elastic.h"
#include "kernels/expression.h"
#include "kernels/general.h"
#include "kernels/half.h"
#include "kernels/physical.h"
#include "kernels/tile.h"

/* Element-wise product. Faces of a cell have m unknowns each, n = n_faces m; or as many as `starts` says, n
 * in all: face f has the unknowns starts[f] .. starts[f + 1] - 1 of the cell. The batches of a colour are
 * taken in runs of `run`, batches that follow each other in memory; two runs of one colour share no unknown,
 * so they may be worked on at the same time, the batches of a run one after another. */
struct cell_plan {
    int lanes;
    int n_faces, m;
    const int *starts; /* n_faces + 1, on the host; NULL: m each */
    int64_t n_batches;
    int n_colours;
    int64_t run;                  /* >= 1; the last run of a colour may be shorter */
    const int64_t *colour_starts; /* n_colours + 1, into colour_batches; on the host */
    const int64_t *colour_batches;
    const int64_t *maps;  /* batch x n_faces x LANES: first unknown of a face, -1: none (counts as zero,
                             receives nothing) */
    const void *matrices; /* batch x (n (n + 1) / 2; full: n n, by rows) x LANES numbers of the precision of
                             the vectors; of cell_apply_half see below */
    int full;             /* the matrices are not symmetric */
    int n_components; /* of the functions on faces; the constant of component c is number c m/n_components */
    const uint8_t *loose; /* batch x LANES, or NULL: bit c where K does not see a constant in component c. It
                             is taken off x first (the constant of the first face): K x has the rounding of a
                             deformation then, not that of the motion of a slender body. Bit n_components
                             where K does not see rotations either, and faces are straight or bilinear */
    const float *ones;    /* n_faces, on the host: what the first unknown of a face is in the function 1, all
                             others being zero; of cell_apply_half */
    int n_near;           /* of cell_apply_half, displacements: so many functions of each component of a face
                             have degree 1, the first ones; 0: one function */
    int apart;            /* of these: the net flux of cells stands beside the rest of them */
    /* In parts, where the device likes that (struct cell_tuning), faces have m unknowns each, no face has more than
     * two cells, and unknowns are those of one face after another: the cells of a face write m numbers each,
     * at 2 first and at 2 first + m, and a sum of these goes to y. */
    int64_t n_unknowns;    /* of x and y */
    const uint8_t *second; /* batch x LANES: bit f where the cell is the second one of its face f */
    void *parts;           /* NULL: not so. 2 n_unknowns numbers, zero where no cell writes */
    int fresh;             /* with parts: y = K x instead of y += K x */
    int threads;           /* for which there is room on the host: no more work at once */
    void *room;            /* on the host: cell_plan_room_bytes for each of them */
    const double *motions; /* of cell_halve, displacements: batch x n_faces x n_near x n_components x LANES,
                              the coordinates on the faces of a cell in these functions */
};
/* The batches of the colours one after the other, for those who do not mind colours: how many, and which. */
static inline int64_t cell_plan_count(const struct cell_plan *plan) {
    return plan->colour_batches == 0 ? plan->n_batches
                                     : plan->colour_starts[plan->n_colours] - plan->colour_starts[0];
}
static inline int64_t cell_plan_batch(const struct cell_plan *plan, int64_t i) {
    return plan->colour_batches == 0 ? i : plan->colour_batches[plan->colour_starts[0] + i];
}
#define KERNEL_CELL_FACES    8
#define KERNEL_CELL_UNKNOWNS 1736 /* n at most: a hex of degree 16, 6 x 17^2 */
#define KERNEL_LANE_ROWS     384  /* of a block of lane_smooth, at most: of these it keeps two on the stack */
/* Symmetric positive semidefinite element matrices in 16 bits: batch x half_size(n) x LANES numbers, of each
 * cell s (n powers of two, half_power), e (n) and A (n (n + 1) / 2, in the order of half_place) in half
 * precision. With u_i = s_i ones[f] where i is the first unknown of face f and 0 elsewhere, w = u / u'u, c =
 * (HALF_UNIT sum of u) e and S the diagonal matrix of s,
 *
 *     K = S (A + c w' + w c' - (c'u) w w') S.
 *
 * c is what A lacks on u = S 1, so that K 1 is exact up to the rounding of floats, and what is restored is no
 * larger than the rounding of A, whatever the scales are. 1/4 <= A_ii < 1. */
static inline int cell_plan_start(const struct cell_plan *plan, int face) {
    return plan->starts != NULL ? plan->starts[face] : face * plan->m;
}
/* Two numbers for every unknown of the cells of a batch, and a register more of each. */
static inline int64_t cell_plan_room_bytes(const struct cell_plan *plan) {
    return 2 * (int64_t)sizeof(double) * (cell_plan_start(plan, plan->n_faces) + plan->lanes) * plan->lanes;
}
/* Those of displacements (n_near > 0; n_components 2 or 3, faces of m unknowns) have no e but X, the numbers
 * of `motions`, and G, the lower triangle of a symmetric matrix of cell_plan_motions(plan) rows, floats of
 * which each takes the place of two numbers: s, X, G, A. With U = S R, R being the translations and (3D:
 * about the axes x, y, z) rotations as traces, and the projection Pi = I - U G U' off those that K does not
 * see, whose G is the inverse of U'U (zero in the rows of the others),
 *
 *     K = S Pi A Pi S.
 *
 * Apart (plan->apart): with h, as many floats as X and of its shape, after G,
 *
 *     K = S Pi A Pi S + h h',    h = K x / sqrt(x'K x),
 *
 * x being the coordinates X as a trace: the cell that grows. Its stress is a pressure, so that h is the net
 * flux through the faces and zero beyond the functions of degree 1, and h h' is the most of it that K holds
 * (K - h h' is semidefinite and does not see x). What is left knows no lambda, and neither does its rounding.
 */
static inline int cell_plan_motions(const struct cell_plan *plan) {
    return plan->n_components * (plan->n_components + 1) / 2;
}
static inline int cell_plan_near(const struct cell_plan *plan) { /* X, and h */
    return plan->n_faces * plan->n_near * plan->n_components;
}
static inline int64_t cell_plan_floats(const struct cell_plan *plan) { /* X, G and h */
    int n = cell_plan_motions(plan);
    return (plan->apart ? 2 : 1) * (int64_t)cell_plan_near(plan) + n * (n + 1) / 2;
}
/* The unknown of a cell that number k of X and h belongs to. */
static inline int cell_plan_near_row(const struct cell_plan *plan, int k) {
    const int dim = plan->n_components, i = k / dim % plan->n_near;
    return k / dim / plan->n_near * plan->m + k % dim * (plan->m / dim) + i;
}
static inline int64_t cell_plan_half_size(const struct cell_plan *plan) {
    int n = cell_plan_start(plan, plan->n_faces);
    return plan->n_near == 0 ? half_size(n) : n + 2 * cell_plan_floats(plan) + (int64_t)n * (n + 1) / 2;
}
/* So many rotations, and the two axes of one of them: it moves what lies along the first towards the second.
 */
static inline int motion_turns(int n_components) {
    return n_components == 2 ? 1 : 3;
}
static inline int motion_from(int n_components, int turn) {
    return n_components == 2 ? 0 : (turn + 1) % 3;
}
static inline int motion_to(int n_components, int turn) {
    return n_components == 2 ? 1 : (turn + 2) % 3;
}

/* Rows of unknowns, solved in groups of LANES: step s of a group lies at (starts[g] + s) LANES + lane, and a
 * group has as many steps as its longest row. T = (1 + below) diag(1 / inverse) (1 + below)' of each row. */
struct row_plan {
    int lanes;
    int64_t n_groups, n_steps; /* of all groups together */
    const int64_t *starts;     /* n_groups + 1 */
    const int64_t *unknowns;   /* step x LANES; -1: the row has ended */
    const double *below,
        *inverse; /* step x LANES; of the step before, 0 at the beginning; both 0 at the end */
    double *z;    /* scratch: step x LANES */
};

/* Reference matrices of affine cells: one shape and degree, faces in orientation 0. Symmetric pairs (b, c), b
 * <= c, in the order 00 01 11 (02 12 22: by c, then b).
 *
 * Turns. Another orientation of a face is another frame for the same trace functions: F_f becomes F_f O with
 * O orthogonal. O mixes few functions with one another: those of a group, into which the m functions fall,
 * the first (the constant) being one by itself. Group g has s = group_starts[g + 1] - group_starts[g]
 * functions, modes[group_starts[g]] and the following, and an s x s block of O (rows: orientation 0); blocks
 * follow each other. */
struct affine_tables {
    int lanes;
    int dim, n_faces, N, m;
    double volume;           /* of the reference cell */
    double face;             /* of a reference face */
    const double *stiffness; /* pairs x N x N: D_b'D_c, plus its transpose for b < c */
    const double *face_mass; /* n_faces x N x N: F_f F_f' */
    const double *F;         /* n_faces x N x m: phi_i psi_j over the reference face */
    const double *DF;        /* n_faces x dim x N x m: D_b'F_f */
    const double *FF;        /* n_faces x n_faces x m x m: F_f'F_g */
    const double *D;         /* dim x N x N: d_b phi_i phi_j over the reference cell */
    int n_groups, n_turn;    /* n_turn: sum of s^2; n_groups = m: every O is diagonal, modes in order */
    const int32_t *group_starts, *modes; /* n_groups + 1, m */
    const double *turns;                 /* orientations x n_turn: the blocks of O */
};
/* Where the coefficients of an affine cell with constant data stand. C: cofactors of its Jacobian, J: its
 * determinant, n_f: its outward normals times areas. */
struct affine_layout {
    int reaction, stiffness, weight, orientation, gradient, flux_normal, normals, flux, count;
};

static inline struct affine_layout affine_layout(int dim, int n_faces) {
    struct affine_layout at;
    at.reaction = 0;                                /* J lambda */
    at.stiffness = 1;                               /* C'KC/J: pairs */
    at.weight = at.stiffness + dim * (dim + 1) / 2; /* tau |F| of each face */
    at.orientation = at.weight + n_faces;           /* of each face: 0, 1, .. */
    at.gradient = at.orientation + n_faces;         /* C'K n_f/J: face x dim */
    at.flux_normal = at.gradient + n_faces * dim;   /* K n_f/J: face x dim */
    at.normals = at.flux_normal + n_faces * dim;    /* n_f'K n_g/J: face x face */
    at.flux = at.normals + n_faces * n_faces;       /* KC/J: dim x dim */
    at.count = at.flux + dim * dim;
    return at;
}

#include "kernels/straight.h"

/* Cells whose matrices are combinations of reference matrices: sum_p c_p T_p. N unknowns are eliminated, then
 * n kept. The constant function is 1 on the first n_ones kept unknowns and 0 elsewhere; only the last term
 * does not vanish on it, and gives `moments`. A kept unknown may carry a sign of the cell. */
struct sum_tables {
    int lanes;
    int N, n, n_terms, n_ones, n_signs;
    const double *terms;   /* n_terms x (N + n) x (N + n), symmetric */
    const double *moments; /* N + n */
    const int32_t *signs;  /* n: the number of the sign, -1: none */
};

/* Of the kernels inside one cell of a box. */
#define KERNEL_SLACK 8
#define KERNEL_LINE  64
#define KERNEL_MODES 33

/* Precision is an index: of the entries of a kernel, of a vector, of an operator. */
enum precision { F64, F32, N_PRECISIONS };
static inline size_t precision_size(enum precision precision) {
    return precision == F32 ? sizeof(float) : sizeof(double);
}

/* The words of kernels.def. */
/* How cell_apply and cell_apply_half work best, by measurement. */
struct cell_tuning {
    int64_t run_bytes; /* of the matrices of a run of batches; 0: a run is one batch */
    int colours;       /* 1: threads share out the batches of a colour; 0: faces want parts */
    /* 16 bits are faster than single precision from half_rows rows of a matrix on (0: another table says
     * it), and from few_rows on where all matrices have more bytes in single precision than caches hold;
     * never beyond most_rows (0: no bound). */
    int half_rows, few_rows, most_rows;
    int64_t cached_bytes;
};

#define KERNEL_NONE  void
#define KERNEL_COUNT int64_t
#define KERNEL_SUM   double
#define KERNEL_SUMS  void
#define KERNEL_ONE   1
#define KERNEL_BOTH  N_PRECISIONS

/* The table: of a kernel in ONE precision entry 0; NULL: not there. */
#define REAL void
struct kernels {
    int lanes;            /* 0: any number */
    int box_lanes;        /* of boxes; 0: as lanes */
    int box_modes;        /* of an axis of a cell of a box, at most, where cells have points; 0: any number */
    int lattice_multiple; /* lengths of lattices that axis_apply likes: multiples of this; 0: any */
    int box_terms; /* of the recurrence of conjugate gradients on boxes that moves the fewest vectors; 0: two */
    int64_t tile; /* numbers of an array of a tile (kernels/tile.h); 0: what stays in the cache of a thread,
                      of all  threads */
    struct cell_tuning cells;
#define KERNEL(result, precisions, name, parameters, arguments)                                              \
    KERNEL_##result(*name[KERNEL_##precisions]) parameters;
#define SCRATCH(name, parameters, arguments) int64_t(*name) parameters;
#include "kernels/kernels.def"
#undef KERNEL
};
#undef REAL

const struct kernels *kernels_ref(void);  /* all of them */
const struct kernels *kernels_simd(void); /* what OpenMP and vector instructions do better */

/* The instruction set that is in use: "x86-64-v3", "native" in a library that was compiled for one processor,
 * "none" where the library has no vector kernels that this processor can run. *refused becomes what the
 * variable FACET_INSTRUCTIONS names in vain, or NULL. */
const char *kernels_instructions(const char **refused);
const char *kernels_instruction_sets(void); /* that this library has */

#endif
