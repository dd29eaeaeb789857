/* The statically condensed continuous method on a box: Q_p elements, the unknowns inside the cells
 * eliminated.
 *
 * The functions of a cell are products of those of bench/papers/ends.h. Each direction of a product is an end
 * or a mode; the set T of the directions with a mode, as a bit mask, says where the function belongs: none: a
 * vertex; one: an edge along it; all: the inside; all but d: a face normal to d. On cell e of widths h_d,
 * with V = product of h_d / 2 and a_d = k V (2 / h_d)^2, the matrix is
 *
 *     lambda V M x M x M + a_0 (L in direction 0, M in the others) + ...
 *
 * M does not couple ends and modes, so a function of T meets only those of T and of T with one direction
 * more or less. The inside is therefore diagonal, Z = lambda V + sum_d a_d Lambda, and meets faces only: what
 * condensation costs has the form of HDG on p - 1 modes (boxhdg/boxhdg.h).
 *
 * Vectors. The entities of a mask T form a lattice with cells[d] of them in the directions of T and planes[d]
 * in the others (box/box.h), direction 0 fastest; each carries size[T] = (p - 1)^|T| coefficients, the
 * lowest direction of T fastest. A vector is the vertices, then the edges by direction, then the faces normal
 * to z, y, x (masks 3, 5, 6; in 2D the edges are the faces): first[T] is where T begins. Periodic entities
 * are there once; those on Dirichlet sides are there too: operators take them as zero and leave zero on them.
 * There are two bases: modes, and, with the collocated mass only, values at the Gauss-Lobatto nodes.
 *
 * A cell sees its closure in the same order: for every T the 2^(dim-|T|) entities around it, the lower side
 * of the lowest direction outside T first, begin at local_first[T].
 *
 * The order of calls: box_condensed_create, box_condensed_operator, box_condensed_preconditioner,
 * (box_condensed_load, solve_cg, box_condensed_recover)*. All runs on the host.
 */
#ifndef FACET_BENCH_PAPERS_CONDENSED_H
#define FACET_BENCH_PAPERS_CONDENSED_H

#include "bench/papers/ends.h"
#include "box/box.h"
#include "expr/field.h"
#include "solve/solve.h"

#define BOX_MAX_MASKS 8

/* Cells that have the same widths and the same lambda / k: their matrices are multiples of one another. */
struct box_condensed_kind {
    double a[3], reaction; /* a_d and lambda V for k = 1 */
    int64_t first, count;  /* its cells are order[first] ... */
};

struct box_condensed {
    struct box_grid grid;
    int degree, n, n_inner; /* n = degree + 1: functions and Gauss points of a direction; n_inner: modes */
    struct box_ends ends;
    int n_masks, masks[BOX_MAX_MASKS - 1]; /* of what is shared, in the order of vectors */
    int full;                              /* the mask of the inside */
    int64_t size[BOX_MAX_MASKS], first[BOX_MAX_MASKS], local_first[BOX_MAX_MASKS], n_entities[BOX_MAX_MASKS];
    int extent[BOX_MAX_MASKS][3]; /* of the lattices */
    int64_t n_local, n_inside;    /* numbers in the closure of a cell, and inside: (p - 1)^dim */
    int64_t n_trace, n_free;      /* length of vectors; without Dirichlet entities */
    int64_t n_volume;             /* unknowns before condensation, without Dirichlet ones */
    int n_kinds;
    struct box_condensed_kind *kinds;
    int n_around;       /* entities around a cell: 26 in 3D */
    int32_t *around;    /* n_cells x n_around: their numbers in their lattices, in the order of the closure;
                           ~number where Dirichlet values hold */
    int32_t *cell_kind; /* n_cells */
    int32_t *order;     /* n_cells: the cells by kind */
    double *inverse;    /* n_kinds x n_inside: 1 / Z for k = 1 */
    double *gauss, *weights, *gauss_values; /* n, n, n x n: the functions at the Gauss points of a line */
};

facet_status box_condensed_create(const struct box_grid_data *data, int degree, enum box_mass mass,
                                  struct box_condensed **condensed);
void box_condensed_destroy(struct box_condensed **condensed);

enum box_condensed_unknowns { BOX_MODES, BOX_NODES };
/* The function 1 in the basis, Dirichlet entities included. */
void box_condensed_constant(const struct box_condensed *h, enum box_condensed_unknowns basis, double *x);
/* The other basis: of unknowns, x_nodes = S x_modes, in place; of right-hand sides, F_modes = S' F_nodes. */
enum box_change { BOX_MODES_TO_NODES, BOX_NODES_TO_MODES, BOX_LOAD_TO_NODES, BOX_LOAD_TO_MODES };
facet_status box_condensed_change(const struct box_condensed *h, enum box_change change, double *x);

/* The forms of the product; operations of the paper's Table 2 a cell (3D), leading terms.
 *
 * BOX_CCG_MM: the dense matrix of a cell, one product of matrices for all cells of a kind; 72 (p-1)^4.
 * BOX_CCG_TP: on nodes, 97 (p-1)^3. BOX_CCG_TPT: on modes, 25 (p-1)^3. BOX_CCG_PARITY: on modes, with sums
 * and differences of opposite entities, each of which meets half of the modes, eight cells at a time and in
 * one sweep over the inside; 13 (p-1)^3. */
enum box_condensed_form { BOX_CCG_MM, BOX_CCG_TP, BOX_CCG_TPT, BOX_CCG_PARITY };
/* The basis matters for BOX_CCG_MM only: TP is on nodes, the others on modes. h must outlive the operator;
 * the device's memory must be the host's. */
facet_status box_condensed_operator(const struct box_condensed *h, const struct device *device,
                                    enum box_condensed_form form, enum box_condensed_unknowns basis,
                                    struct linear_operator *A);
enum box_condensed_unknowns box_condensed_basis(enum box_condensed_form form,
                                                enum box_condensed_unknowns wanted);
/* Floating-point operations of one application. */
double box_condensed_operations(const struct box_condensed *h, enum box_condensed_form form);
/* y = K x with the values of x on Dirichlet entities (modes); zero on them in y. */
facet_status box_condensed_lift(const struct box_condensed *h, const double *x, double *y);

/* BOX_CCG_DIAGONAL (nodes): the diagonal of the inverse blocks, as the paper has it. BOX_CCG_BLOCK (nodes):
 * the inverse of the block of every face, edge and vertex through the modes, where it is diagonal (Algorithm
 * 4). BOX_CCG_TRANSFORMED (modes): the same blocks, a diagonal. BOX_CCG_TWO_LEVEL (modes): that plus a solve
 * with the bi- or trilinear functions of the vertices, for iterations that do not grow with the box. */
enum box_condensed_preconditioner { BOX_CCG_DIAGONAL, BOX_CCG_BLOCK, BOX_CCG_TRANSFORMED, BOX_CCG_TWO_LEVEL };
facet_status box_condensed_preconditioner(const struct box_condensed *h, const struct device *device,
                                          enum box_condensed_preconditioner which, struct linear_operator *M);
/* The diagonal of K on modes, 0 on Dirichlet entities. */
facet_status box_condensed_diagonal(const struct box_condensed *h, double *diagonal);

/* What is given on the six sides: u = g on Dirichlet ones, k grad u . n = g on Neumann ones; NULL: zero. */
struct box_condensed_sides {
    const struct field *g[3][2];
};
/* The right-hand side of K uhat = F on modes, f being the values at the n^dim Gauss points of every cell
 * (direction 0 fastest, cells in the order of the grid; NULL: zero). dirichlet: receives the values on
 * Dirichlet entities and zero elsewhere, n_trace; to be added to the solution. Vertices take the value of g,
 * edges and faces the projection that leaves these as they are; where sides meet, the mean. A singular
 * problem is balanced by a constant, shift, which is taken off f. sides: NULL for all zero. */
facet_status box_condensed_load(const struct box_condensed *h, const double *f,
                                const struct box_condensed_sides *sides, double *F, double *dirichlet,
                                double *shift);
/* The coefficients of u in every cell: n^dim products of the functions of bench/papers/ends.h, direction 0
 * fastest. uhat: on modes, Dirichlet values included. A singular problem's u is shifted to mean zero. */
facet_status box_condensed_recover(const struct box_condensed *h, const double *f, double shift,
                                   const double *uhat, double *u);
/* Values at the Gauss points of all cells from coefficients, both n_cells x n^dim. */
facet_status box_condensed_values(const struct box_condensed *h, const double *u, double *values);

/* Tables for tensor lattices of points in a cell: m[d] points of [-1, 1] in direction d. */
struct box_condensed_lattice {
    int m[3];
    double *values[3], *slopes[3]; /* m[d] x n */
};
facet_status box_condensed_lattice_create(const struct box_condensed *h, const int m[3],
                                          const double *const x[3], struct box_condensed_lattice *lattice);
void box_condensed_lattice_destroy(struct box_condensed_lattice *lattice);
/* u (or NULL) at the points of the lattice in a cell, direction 0 fastest; q = -k grad u (or NULL), one
 * component after the other. */
facet_status box_condensed_evaluate(const struct box_condensed *h, const double *u, const int at[3],
                                    const struct box_condensed_lattice *lattice, double *values, double *q);
/* The same at any points of the box, x: n_points x dim; q: n_points x dim. A point outside is refused. */
facet_status box_condensed_at_points(const struct box_condensed *h, const double *u, int64_t n_points,
                                     const double *x, double *values, double *q);
/* L2 norms of the errors, with two Gauss points more than the degree asks for. q: the flux, dim components
 * (NULL: from the gradient of exact, which must then be differentiable; -1 where neither is to be had). */
facet_status box_condensed_errors(const struct box_condensed *h, const double *u, const struct field *exact,
                                  const struct field *q, double *u_L2, double *q_L2);

#endif
