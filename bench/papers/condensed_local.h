/* Private to the condensed method on boxes: the closure of a cell, and sums over it. */
#ifndef FACET_BENCH_PAPERS_CONDENSED_LOCAL_H
#define FACET_BENCH_PAPERS_CONDENSED_LOCAL_H

#include "bench/papers/condensed.h"

static inline int condensed_bits(int mask) {
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1);
}
/* The side (0 or 1) in direction d of entity `side` of mask T. */
static inline int condensed_side(int mask, int side, int d) {
    return side >> condensed_bits(~mask & ((1 << d) - 1)) & 1;
}
/* An entity of T | d around which lies, on side s of direction d, this entity of T: its number is that of the
 * entity of T | d with s put in. */
static inline int condensed_insert(int mask, int side, int d, int s) {
    int low = condensed_bits(~mask & ((1 << d) - 1)), below = side & ((1 << low) - 1);
    return (side >> low) << (low + 1) | s << low | below;
}
/* The entity of mask T on a side of a cell. */
int64_t condensed_entity(const struct box_condensed *h, int mask, const int at[3], int side);
/* Where an entity lies in its lattice, and whether Dirichlet values hold on it. */
void condensed_entity_at(const struct box_condensed *h, int mask, int64_t entity, int at[3]);
int condensed_is_fixed(const struct box_condensed *h, int mask, const int at[3]);

/* The closure of a cell; fixed: whether Dirichlet entities keep their values or count as zero. */
void condensed_gather(const struct box_condensed *h, const double *x, int64_t cell, int fixed, double *local);
/* y = sum over the cells of their closures (n_cells x n_local): zero on Dirichlet entities, or, with `fixed`,
 * there too. */
void condensed_sum(const struct box_condensed *h, const double *locals, int fixed, double *y);

/* The matrices of a direction in one of the bases. With M = [mass; w] and L the stiffness: */
struct condensed_tables {
    int n;
    const double *w;      /* mass of the inner functions; NULL: 1 */
    double mass[2];       /* of the ends */
    double ends[2];       /* M^-1 L among the ends: an end with itself, with the other */
    double *inner_end[2]; /* n each: M^-1 L from an end to the inner functions */
    double *end_inner[2]; /* and back */
    double *inner;        /* n x n: M^-1 L among the inner ones; NULL: diagonal, */
    const double *eigenvalues;
    double *coupling[2]; /* n each: L of an end with the modes, whatever the basis */
};
facet_status condensed_tables_create(const struct box_condensed *h, enum box_condensed_unknowns basis,
                                     struct condensed_tables *tables);
void condensed_tables_destroy(struct condensed_tables *tables);

/* y = K_e x for k = 1 on the closure of a cell of a kind, in the basis of the tables. work: condensed_work()
 * numbers. */
void condensed_cell_apply(const struct box_condensed *h, const struct condensed_tables *tables, int kind,
                          const double *x, double *y, double *work);
int64_t condensed_work(const struct box_condensed *h);
/* U += scale C_s x for an entity x of T and one, U, of T | d; and the transpose, x += scale C_s' U. C is n
 * numbers along d. */
void condensed_up(const struct box_condensed *h, int mask, int d, double scale, const double *C,
                  const double *x, double *U);
void condensed_down(const struct box_condensed *h, int mask, int d, double scale, const double *C,
                    const double *U, double *x);
/* Replaces a tensor of size[mask] by A applied along all its directions; A: n_inner x n_inner, or its
 * transpose. work: as long. */
void condensed_transform(const struct box_condensed *h, int mask, const double *A, int transposed, double *x,
                         double *work);

/* condensed_parity.c: the same for CONDENSED_LANES cells of a kind at once, number i of cell l at
 * [i*CONDENSED_LANES + l]; x is overwritten. diagonal: n_local numbers by condensed_parity_diagonal. work:
 * condensed_parity_work() numbers. */
#define CONDENSED_LANES 8
void condensed_parity_diagonal(const struct box_condensed *h, int kind, double *diagonal);
void condensed_parity_apply(const struct box_condensed *h, int kind, const double *diagonal, double *x,
                            double *y, double *work);
int64_t condensed_parity_work(const struct box_condensed *h);

/* condensed_coarse.c: z += P A_c^-1 P' r with the bi- or trilinear functions of the vertices. */
struct condensed_coarse;
facet_status condensed_coarse_create(const struct box_condensed *h, const struct device *device,
                                     struct condensed_coarse **coarse);
void condensed_coarse_destroy(struct condensed_coarse **coarse);
void condensed_coarse_add(struct condensed_coarse *coarse, const double *r, double *z);

/* A tensor of extents n[0] n[1] n[2] becomes one of m[0] m[1] m[2] by the matrices A[d], m[d] x n[d], or, if
 * transposed, by those of A[d], n[d] x m[d]. Directions from dim on do not exist. work: twice the largest
 * tensor on the way. */
void condensed_tensor(int dim, const int n[3], const int m[3], const double *const A[3], int transposed,
                      const double *x, double *y, double *work);
/* Where the numbers of a cell's closure (n_local) and inside (n_inside) stand among its n^dim coefficients.
 */
void condensed_places(const struct box_condensed *h, int32_t *closure, int32_t *inside);

/* condensed_sides.c: the values on Dirichlet entities, zero elsewhere. */
facet_status condensed_dirichlet(const struct box_condensed *h, const struct box_condensed_sides *given,
                                 double *x);
/* Adds <g, phi> of the Neumann sides of a cell to its n^dim loads. work: 4 n^dim. */
facet_status condensed_add_neumann(const struct box_condensed *h, const struct box_condensed_sides *sides,
                                   const int at[3], double *load, double *work);

#endif
