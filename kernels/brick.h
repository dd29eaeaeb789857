/* Continuous elements on a brick of Cartesian cells: what the kernels of box/continuous.h are told.
 *
 * Nodes. Direction d has n_nodes[d] nodes, its ends included also where they carry Dirichlet values (then
 * nothing writes them); on a periodic direction the last node is the one before the first. Vectors are
 * lexicographic, direction 0 fastest. Directions beyond the dimension have one node.
 *
 * Patches. In one direction a patch is a column: m free nodes from `first` on (modulo n_nodes on a periodic
 * direction), with a shell node on either side whose value is given, or none where the domain ends. A line is
 * what columns of one kind share: the mass M and the stiffness A (m rows, m + 2 columns: shell, free nodes,
 * shell; zeros for no shell), and the modes S with S'M S = 1, S'A S = Lambda on the free nodes. A patch is a
 * triple of columns, its matrix
 *
 *     lambda M M M + k (A M M + M A M + M M A).
 *
 * Columns of one colour share no free node, nor does one have a shell node among the free nodes of another.
 * Colours follow each other; the colours of direction 2 change slowest, those of direction 0 fastest.
 */
#ifndef FACET_KERNELS_BRICK_H
#define FACET_KERNELS_BRICK_H

#include <stdint.h>

#define BRICK_MAX_DEGREE  15
#define BRICK_MAX_FREE    (2 * BRICK_MAX_DEGREE - 1)
#define BRICK_MAX_COLOURS 3

/* Where the tables of a line stand. With `even` > 0 the line is symmetric: the first even = (m + 1) / 2 modes
 * are even, the others odd, and F, B, T keep the two blocks only, for the sums and differences of opposite
 * nodes (the middle node counts once, as a sum). */
struct brick_layout {
    int S;           /* m x m by nodes: S[i*m + a] */
    int eigenvalues; /* m */
    int mass;        /* m x (m + 2) */
    int stiffness;   /* m x (m + 2) */
    int mu, alpha;   /* 2 x m: S' times the columns of the left and the right shell node, of M and of A */
    int F;           /* modes from loads, S' */
    int B;           /* nodes from modes, S */
    int T;           /* modes from nodes, S' M */
    int count;
};
static inline struct brick_layout brick_layout(int m, int even) {
    struct brick_layout at;
    int odd = m - even, block = even > 0 ? even * even + odd * odd : m * m;
    at.S = 0;
    at.eigenvalues = m * m;
    at.mass = at.eigenvalues + m;
    at.stiffness = at.mass + m * (m + 2);
    at.mu = at.stiffness + m * (m + 2);
    at.alpha = at.mu + 2 * m;
    at.F = at.alpha + 2 * m;
    at.B = at.F + block;
    at.T = at.B + block;
    at.count = at.T + block;
    return at;
}

struct brick_line {
    int m, even;
    const double *table; /* brick_layout.count numbers */
    const float *single; /* the same, rounded */
};

struct brick_axis {
    int n_nodes, periodic;
    int n_columns;
    int n_colours;
    const int32_t *first;  /* n_columns: ascending */
    const int32_t *lines;  /* n_columns: which of the plan's lines */
    const int32_t *colour; /* n_columns */
    const int32_t *order;  /* n_columns: such that neighbours come in the order of their colours, and
                              everything near in  space is near in time */
};

/* A smoothing step. All arrays of the plan itself are on the host, tables on the device. */
struct brick_patches {
    struct brick_axis axis[3];
    int n_lines;
    const struct brick_line *lines;
    double conductivity, reaction;
};

#endif
