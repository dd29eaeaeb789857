/* Continuous elements on a brick of Cartesian cells: what the kernels of boxsem/boxsem.h are told.
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

#include <math.h>
#include <stdint.h>

#include "kernels/everywhere.h"

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
EVERYWHERE struct brick_layout brick_layout(int m, int even) {
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
    const double *host;  /* the table in the host's memory, for those who pass it by value */
};

struct brick_axis {
    int n_nodes, periodic;
    int n_columns;
    int n_colours;
    const int32_t *first;  /* n_columns: ascending */
    const int32_t *lines;  /* n_columns: which of the plan's lines */
    const int32_t *colour; /* n_columns */
    const int32_t
        *cell; /* n_columns: the first cell of the column (that before cell 0 of a ring is the last) */
    const int32_t *cells; /* n_columns: its cells, 1 or 2 */
    const int32_t *order; /* n_columns: such that neighbours come in the order of their colours, and
                             everything near in  space is near in time */
};

/* ------------------------------------------------------------------------------ cells */

/* One element of degree k on [0, 1] with n = k + 1 nodes: mass M and stiffness A, and T with M = T'T,
 * A = T' Lambda T. The first (n + 1) / 2 modes are even, the others odd; F = T and B = T' keep the two
 * blocks, as those of a symmetric line. A direction beyond the dimension has degree 0: M = T = 1, A = Lambda
 * = 0, and one cell of width 1. */
struct brick_element_layout {
    int mass, stiffness, T, eigenvalues, F, B, count;
};
static inline struct brick_element_layout brick_element_layout(int k) {
    struct brick_element_layout at;
    int n = k + 1, even = (n + 1) / 2, odd = n - even, block = even * even + odd * odd;
    at.mass = 0;
    at.stiffness = n * n;
    at.T = 2 * n * n;
    at.eigenvalues = 3 * n * n;
    at.F = at.eigenvalues + n;
    at.B = at.F + block;
    at.count = at.B + block;
    return at;
}

struct brick_element {
    int k;
    const double *table; /* brick_element_layout.count numbers */
    const float *single;
    const double *host; /* the table in the host's memory */
};

/* The operator A = sum over cells of lambda M M M + k (A M M + M A M + M M A), with k and lambda constant on
 * every cell (not to be mixed up with the degree). Arrays are on the device; cells are numbered with
 * direction 0 fastest. */
struct brick_cells {
    struct brick_element element[3];
    int cells[3], n_nodes[3], periodic[3];
    int fixed[3][2];            /* which ends carry Dirichlet values */
    const double *widths[3];    /* cells[d] */
    const double *conductivity; /* one number a cell, or NULL: `k` everywhere */
    const double *reaction;     /* NULL: `lambda` everywhere */
    double k, lambda;
};

static inline int64_t brick_n_nodes(const struct brick_cells *c) {
    return (int64_t)c->n_nodes[0] * c->n_nodes[1] * c->n_nodes[2];
}
static inline int64_t brick_n_cells(const struct brick_cells *c) {
    return (int64_t)c->cells[0] * c->cells[1] * c->cells[2];
}
EVERYWHERE int64_t brick_cell(const struct brick_cells *c, const int cell[3]) {
    return ((int64_t)cell[2] * c->cells[1] + cell[1]) * c->cells[0] + cell[0];
}
static inline void brick_cell_at(const struct brick_cells *c, int64_t number, int cell[3]) {
    cell[0] = (int)(number % c->cells[0]);
    cell[1] = (int)(number / c->cells[0] % c->cells[1]);
    cell[2] = (int)(number / c->cells[0] / c->cells[1]);
}
EVERYWHERE void brick_node_at(const struct brick_cells *c, int64_t node, int at[3]) {
    at[0] = (int)(node % c->n_nodes[0]);
    at[1] = (int)(node / c->n_nodes[0] % c->n_nodes[1]);
    at[2] = (int)(node / c->n_nodes[0] / c->n_nodes[1]);
}
/* The node that is number i of a cell's (k + 1) x (k + 1) x (k + 1), direction 0 fastest. */
static inline int64_t brick_cell_node(const struct brick_cells *c, const int cell[3], int i) {
    const int n0 = c->element[0].k + 1, n1 = c->element[1].k + 1;
    const int local[3] = {i % n0, i / n0 % n1, i / n0 / n1};
    int64_t node = 0;
    for (int d = 2; d >= 0; d--)
        node = node * c->n_nodes[d] + (cell[d] * c->element[d].k + local[d]) % c->n_nodes[d];
    return node;
}
static inline int brick_is_fixed(const struct brick_cells *c, int64_t node) {
    int at[3];
    brick_node_at(c, node, at);
    for (int d = 0; d < 3; d++)
        if ((c->fixed[d][0] && at[d] == 0) || (c->fixed[d][1] && at[d] == c->n_nodes[d] - 1)) return 1;
    return 0;
}
/* Numbers of scratch of brick_apply: of every thread the nodes of eight cells, what is carried
 * to the right of every row, and a plane of nodes. */
static inline int64_t brick_whole_lanes(int64_t n) {
    return (n + 7) / 8 * 8;
}
static inline int64_t brick_thread_scratch(const struct brick_cells *c) {
    const struct brick_element *e = c->element;
    const int64_t n = (int64_t)(e[1].k + 1) * (e[2].k + 1), rows = e[2].k == 0 ? 1 : c->n_nodes[1];
    return 8 * (e[0].k + 1) * n + brick_whole_lanes(n) + brick_whole_lanes(c->n_nodes[0] * rows);
}
static inline int64_t brick_scratch(const struct brick_cells *c, int threads) {
    return threads * brick_thread_scratch(c);
}
EVERYWHERE double brick_conductivity(const struct brick_cells *c, const int cell[3]) {
    return c->conductivity ? c->conductivity[brick_cell(c, cell)] : c->k;
}
static inline double brick_reaction(const struct brick_cells *c, const int cell[3]) {
    return c->reaction ? c->reaction[brick_cell(c, cell)] : c->lambda;
}

/* The scale of approximate patches (kernel brick_scale). Vertices of a direction: one where it is not there.
 */
EVERYWHERE int brick_n_vertices(const struct brick_cells *c, int d) {
    return c->element[d].k > 0 ? c->cells[d] + 1 : 1;
}
EVERYWHERE double brick_vertex_scale(const struct brick_cells *c, const int vertex[3]) {
    double largest = 0.0;
    for (int s = 0; s < 8; s++) {
        int at[3], exists = 1;
        for (int d = 0; d < 3; d++) {
            at[d] = vertex[d] - (s >> d & 1);
            if (c->element[d].k == 0) exists = exists && at[d] == 0;
            if (c->periodic[d]) at[d] = (at[d] + c->cells[d]) % c->cells[d];
            exists = exists && at[d] >= 0 && at[d] < c->cells[d];
        }
        if (!exists) continue;
        double k = brick_conductivity(c, at);
        if (k > largest) largest = k;
    }
    return 1.0 / sqrt(largest);
}
EVERYWHERE double brick_node_scale(const struct brick_cells *c, const double *nodes, const double *vertices,
                                   const int at[3]) {
    const int row = brick_n_vertices(c, 0), plane = brick_n_vertices(c, 1);
    int cell[3];
    double x[3], corner[8], mean = 0.0, inner = 1.0;
    for (int d = 0; d < 3; d++) {
        const int k = c->element[d].k;
        cell[d] = k > 0 ? at[d] / k : 0;
        if (cell[d] == c->cells[d]) cell[d]--; /* the last node */
        x[d] = k > 0 ? nodes[at[d] - cell[d] * k] : 0.0;
        if (k > 0) inner *= 4.0 * x[d] * (1.0 - x[d]);
    }
    for (int v = 0; v < 8; v++) {
        int w[3];
        for (int d = 0; d < 3; d++) w[d] = cell[d] + (c->element[d].k > 0 ? v >> d & 1 : 0);
        corner[v] = vertices[((int64_t)w[2] * plane + w[1]) * row + w[0]];
        mean += 0.125 * corner[v];
    }
    for (int d = 0, n = 4; d < 3; d++, n /= 2)
        for (int v = 0; v < n; v++) corner[v] = (1.0 - x[d]) * corner[2 * v] + x[d] * corner[2 * v + 1];
    return corner[0] + inner * (1.0 / sqrt(brick_conductivity(c, cell)) - mean);
}

/* Embedding of the functions on a coarse brick: along a refined direction, E gives the values at the r + 1
 * fine nodes of a coarse cell from its k + 1 coarse ones (rows: fine nodes). Cell c of the coarse brick is
 * cells 2c and 2c + 1 of the fine one, r = 2k, or the same cell with functions of degree r, k being 1. P is
 * the tensor product of the directions; directions that are not refined have the same nodes. */
struct brick_transfer_axis {
    int k, r, refined, periodic;
    int n_cells;          /* coarse ones */
    int n_coarse, n_fine; /* nodes */
    int fixed[2];         /* which ends carry Dirichlet values */
    const int32_t *which; /* n_cells: the table of each; on the device, as the tables are */
    const double *tables; /* (r + 1) x (k + 1) each; NULL where not refined */
    const float *single;
    int n_tables;
    const double *host; /* the tables in the host's memory */
};
struct brick_transfer {
    struct brick_transfer_axis axis[3];
};
/* Numbers of scratch, at most: of every thread a plane of coarse nodes, and the rows around one of fine ones.
 */
static inline int64_t brick_transfer_scratch(const struct brick_transfer *t, int threads) {
    const struct brick_transfer_axis *ax = t->axis;
    int64_t r = 1, k = 1, rows = ax[1].n_coarse > ax[2].n_coarse ? ax[1].n_coarse : ax[2].n_coarse;
    for (int d = 1; d < 3; d++) {
        if (ax[d].refined && ax[d].r + 1 > r) r = ax[d].r + 1;
        if (ax[d].refined && ax[d].k + 1 > k) k = ax[d].k + 1;
    }
    return threads * brick_whole_lanes(ax[0].n_coarse + 8) * (r + r * k + k * k + rows);
}

/* ------------------------------------------------------------------------------ direct solution */

/* One k and one lambda: with the modes S'M S = 1, S'A S = Theta of the free nodes of whole directions,
 *
 *     u = S S S [lambda + k (theta_0 + theta_1 + theta_2)]^-1 S'S'S' b.
 *
 * With even > 0 a direction is symmetric, its first `even` modes are even, the others odd, and each parity
 * has a matrix of its own for the sums or differences of opposite nodes (the middle node counts once, as a
 * sum). Such a block (one or two) is padded with zeros to `size` rows and columns, theta with ones. */
struct brick_modes {
    int n_nodes[3], first[3], n[3]; /* all nodes; the first free one, how many */
    int even[3];
    int size[3];               /* a multiple of 16; 1 where the direction is none */
    const double *forward[3];  /* blocks x size x size: modes from loads, S' */
    const double *backward[3]; /* nodes from modes, S */
    const double *theta[3];    /* blocks x size */
    double conductivity, reaction;
    int singular; /* without reaction the constant, mode 0 of all directions, has eigenvalue zero: it is left
                     out */
};
static inline int brick_modes_blocks(const struct brick_modes *m, int d) {
    return m->even[d] > 0 && m->even[d] < m->n[d] ? 2 : 1;
}
/* Numbers of a work array: blocks in place of free nodes. */
static inline int64_t brick_modes_count(const struct brick_modes *m) {
    int64_t n = 1;
    for (int d = 0; d < 3; d++) n *= (int64_t)brick_modes_blocks(m, d) * m->size[d];
    return n;
}

/* ------------------------------------------------------------------------------ smoothing */

/* How a step over the patches is arranged. All but PATCH_ADDITIVE have the same result up to rounding.
 * PATCH_BOUNDARY and the others differ in where the residual comes from: from the shell alone; from A x of
 * the closed patch, solved at once (fused) or after those of all patches of the colour (separate); from A x
 * of the whole brick, once for every colour (global). PATCH_ADDITIVE solves all patches with one residual and
 * adds damping/c of the correction at a node that is free in c patches. */
enum patch_variant { PATCH_BOUNDARY, PATCH_FUSED, PATCH_SEPARATE, PATCH_GLOBAL, PATCH_ADDITIVE };

/* Code of a device that has several for one variant, all with the same result up to rounding; a kernel that
 * does not fit the variant, the degree or the patch gives way to PATCH_KERNEL_BEST, the fastest that was
 * measured. For the fused and the separate variant those of cui2024, section 4.1: threads as the nodes of the
 * closed patch lie, of which those on the shell idle (basic); numbered by the nodes inside (linear); and with
 * arrays and loops such that no two threads meet in a bank of shared memory (conflict-free); the first two are in
 * bench/papers. For the boundary
 * variant (and the corrections of the global one) lines of nodes in registers (lines), and products of
 * 8 x 8 blocks on tensor cores (tensor). */
enum patch_kernel {
    PATCH_KERNEL_BEST,
    PATCH_KERNEL_BASIC,
    PATCH_KERNEL_LINEAR,
    PATCH_KERNEL_CONFLICT_FREE,
    PATCH_KERNEL_LINES,
    PATCH_KERNEL_TENSOR
};

/* A smoothing step. All arrays of the plan itself are on the host, tables and those of `cells` on the device.
 * Where k or lambda vary from cell to cell PATCH_BOUNDARY means PATCH_FUSED: the residual is always that of
 * the true operator. Such patches are solved in one of two ways.
 *
 * inner = 0: with the matrix A_1 of k = 1 and the ratio of the means of lambda and k over the patch (by
 * volume),
 *
 *     x += omega s A_1^-1 s (b - A x),   s about k^-1/2 at the nodes.
 *
 * inner = n > 0: by n steps of Chebyshev's iteration on A e = r, A being the true matrix of the patch (zero
 * outside) and B the separable one with the largest k and the largest lambda of the patch's cells:
 *
 *     d = alpha B^-1 r + beta d,   e += d,   r -= A d.
 *
 * Energies are sums over cells, and in every cell that of A is at most that of B and at least q times it, q
 * being the least ratio of a cell's k or lambda to the largest. So B^-1 A has its eigenvalues in [q, 1],
 * however k jumps. On the interval [low, 1], theta and delta being its middle and half its length, the error
 * is multiplied by p(B^-1 A), p(t) = T_n((theta - t) / delta) / T_n(theta / delta). Since 0 < p < 1 below
 * `low` and |p| < 1 within the interval, (1 - p(B^-1 A)) A^-1 is symmetric positive definite and the energy
 * of the error falls, whatever `low` is. low = min(4 q, (1 + q) / 2), with 0.01 for a smaller q, leaves to
 * other patches what is slowest in this one. Where q = 1 the first step is exact. */
struct brick_patches {
    struct brick_axis axis[3];
    int n_lines;
    const struct brick_line *lines;
    const struct brick_cells *cells;
    enum patch_variant variant;
    enum patch_kernel kernel;
    int inner;                 /* steps inside a patch where k or lambda vary */
    double damping;            /* omega, and that of PATCH_ADDITIVE; others have none */
    const double *scale;       /* s on the device; needed where k or lambda vary and inner is 0 */
    const float *scale_single; /* the same, rounded */
};

EVERYWHERE double brick_chebyshev_low(double q) {
    if (q < 0.01) q = 0.01;
    return 4 * q < 0.5 * (1 + q) ? 4 * q : 0.5 * (1 + q);
}

#endif
