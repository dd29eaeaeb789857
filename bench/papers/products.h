/* The trace matrix in the forms that papers apply it in, beside which the library's is measured. */
#ifndef FACET_PAPERS_PRODUCTS_H
#define FACET_PAPERS_PRODUCTS_H

#include "trace/trace.h"

enum product_form {
    PRODUCT_CELLS,  /* the library's: trace_operator_create */
    PRODUCT_FACETS, /* face by face, gathering from the two cells of each (fabien2017, Algorithm 1) */
    PRODUCT_CSR,    /* assembled, compressed rows */
    PRODUCT_ELL     /* assembled, rows of equal length (king2014, Algorithms 1 and 2) */
};
/* PRODUCT_CELLS refers to the matrices, which must outlive it; the other forms copy what they need. */
facet_status product_create(const struct trace_space *space, const struct trace_matrices *matrices,
                            enum product_form form, struct linear_operator *A);
/* The trace matrix by faces. Row block r (a face) sums its panels; panel p couples it with the unknowns
 * columns[p] .. columns[p] + sizes[p] - 1 and is stored as sizes[p] rows of its row block's length: y_r +=
 * panel' x. */
struct facet_plan {
    int64_t n_rows;
    const int64_t *first;       /* n_rows + 1: first unknown of each row block */
    const int64_t *panel_first; /* n_rows + 1: first panel of each row block */
    const int64_t *columns;     /* per panel */
    const int32_t *sizes;       /* per panel */
    const int64_t *starts;      /* per panel: where it lies in values */
    const void *values;         /* numbers of the precision of the vectors */
};

/* The loops of FACETS (y = K x) and ELL: `width` entries in every row, entry k of row i at [k * n_rows + i],
 * column -1: none. On the host. */
void facet_product(const struct facet_plan *plan, const double *x, double *y);
void ell_product(int64_t n_rows, int width, const int32_t *columns, const double *values, const double *x,
                 double *y);
/* Bytes of matrix data one product must read. */
double product_bytes(const struct linear_operator *A);

#endif
