/* Private to the room: the fast path. Cells that are affine, with constant data, differ by
 * a few numbers only; the kernels condense them from these and from reference matrices. A batch is fast when
 * all its cells are. */
#ifndef FACET_HDG_BATCH_H
#define FACET_HDG_BATCH_H

#include "hdg/local.h"

facet_status batch_tables_create(struct hdg *hdg, int block);
void batch_tables_destroy(struct hdg *hdg, int block);
/* turn.c: the part of the tables that tells orientations. */
facet_status batch_turns_create(struct hdg *hdg, int block);
void batch_turns_destroy(struct hdg *hdg, int block);
/* All O_o of a face, m x m each. */
facet_status batch_turn_matrices(const struct hdg_block_space *b, int degree, double *O);
/* Which batches are fast, where cells that are affine also fit; tau and a reaction are looked at here. Before
 * batch_way. */
typedef int (*batch_fits)(const struct hdg *hdg, int block, int32_t cell);
facet_status batch_find_fast(struct hdg *hdg, int block, batch_fits fits);
int batch_fits_diffusion(const struct hdg *hdg, int block, int32_t cell);
int batch_has_robin(const struct hdg *hdg, int block, int32_t cell);      /* the cell, on one of its faces */
enum batch_way { BATCH_SINGLE, BATCH_FAST, BATCH_GENERAL, N_BATCH_WAYS }; /* one by one; fast; general.h */
enum batch_way batch_way(const struct hdg *hdg, int block, int64_t batch);
/* The failure of a kernel at a batch of the block: "<what> of one of the cells ..". */
facet_status batch_refuse(const struct hdg *hdg, int block, int64_t batch, const char *what);
static inline int batch_is_fast(const struct hdg *hdg, int block, int64_t batch) {
    return batch_way(hdg, block, batch) == BATCH_FAST;
}

/* A cell that is affine becomes the cell at hand: its Jacobian, and one of its points, which will do for
 * constant data, in l->geometry; C (dim x dim) = det J J^-T. Returns det J. */
double batch_map(struct local *l, int block, int32_t cell, double *C);
/* One fast cell: C = det J J^-T, KC = K C / det J. */
struct batch_cell {
    double det, reaction, K[9], C[9], KC[9];
};
facet_status batch_cell(struct local *l, int block, int32_t cell, struct batch_cell *out);
/* C'KC/J by pairs into c[0], c[step], .. */
void batch_stiffness(int dim, const struct batch_cell *a, int step, double *c);

/* Fills the coefficients of one fast cell into its lane: c[k * LANES]. */
struct batch_facts {
    double det, reaction;
};
typedef facet_status (*batch_filler)(struct local *l, int block, int32_t cell, double *c,
                                     struct batch_facts *facts);
/* Of diffusion: what all cells of a block share; K, reaction, a tau that is given, and nodes are not. */
struct straight_cells batch_straight(const struct hdg *hdg, int block);
/* Coefficients (n_coefficients per cell) of the fast batches begin .. end-1 into host memory.
 * volumes: of the batches; *reaction: the largest coefficient. */
facet_status batch_coefficients(const struct hdg *hdg, int block, int64_t begin, int64_t end,
                                batch_filler fill, int64_t n_coefficients, double *coefficients,
                                double *volumes, double *reaction);

/* What an equation does with batches whose maps or data vary (general.h): what a thread works with, maps and
 * data of batches begin .. begin+n-1 in its arrays (check: also what is of no use but to be looked at), and
 * kernels over these, which answer with the first that failed, or -1. */
struct general_work;
struct general_plan;
struct general_maker {
    struct general_plan (*plan)(const struct hdg *hdg, int block);
    facet_status (*data)(struct general_work *w, int64_t begin, int64_t n, int check);
    int64_t (*condense)(const struct general_work *w, int64_t n, double *K);
    int64_t (*solve)(const struct general_work *w, int64_t n, const double *uhat, double *u, double *q,
                     double *load);
};

/* How the cells of a block are condensed. */
struct condenser {
    int N, n;               /* unknowns of a cell: eliminated, kept */
    int64_t n_coefficients; /* of a fast cell */
    int64_t n_scratch;      /* of the kernel `fast`, */
    int64_t n_inner;        /* and of `solve` */
    batch_filler fill;      /* of its coefficients; NULL: the device makes them of its corners */
    /* This and the next: NULL where there is no fast path. */
    int64_t (*fast)(const struct hdg *hdg, int block, int64_t n_batches, const double *coefficients,
                    double *K, double *scratch);
    int64_t (*solve)(const struct hdg *hdg, int block, int64_t n_batches, const double *coefficients,
                     const double *uhat, double *u, double *q, double *load, double *scratch);
    const struct general_maker *general;
    /* Where `fast` is not all there is to do of a cell (NULL: it is), and the rest: K_e (n x n), all of it,
     * of the cell at hand, of which no more is known than its number. */
    int (*is_unfinished)(const struct hdg *hdg, int block, int32_t cell);
    facet_status (*finish)(struct local *l, double *K, double *largest_robin);
    /* Of the cell at hand (after local_begin): C = [S R; . H] in l->C, ready for local_eliminate; */
    facet_status (*matrix)(struct local *l);
    /* K_e (n x n), all of it; */
    facet_status (*cell)(struct local *l, double *K, double *largest_robin);
    /* and a vector (n) of its unknowns as the cell sees them; back: the transpose. */
    void (*turn)(const struct local *l, int back, double *v);
    double sign; /* u = S^-1 (f + sign R uhat) */
};
static inline enum batch_way condenser_way(const struct hdg *hdg, const struct condenser *c, int block,
                                           int64_t batch) {
    return c->fast != NULL ? batch_way(hdg, block, batch) : BATCH_SINGLE;
}

#endif
