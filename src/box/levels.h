/* The levels of continuous elements on a box: grids, operators, transfers and smoothers over the kernels of
 * kernels/brick.h, put together to a multigrid. Private to box/continuous. */
#ifndef FACET_BOX_LEVELS_H
#define FACET_BOX_LEVELS_H

#include "box/brick.h"
#include "box/continuous.h"
#include "box/separable.h"

struct box_level {
    struct box_levels *all;
    struct box_grid grid;
    struct box_brick brick;
    struct box_patches patches;   /* of smoothers over patches */
    struct box_transfer transfer; /* from the next level to this one */
    int64_t n;
};

struct box_levels {
    const struct device *device;
    const struct box_continuous_options *options;
    const struct box_element *element;
    int n_levels, reversed;
    struct box_level *levels;        /* finest first */
    struct operator A;               /* of the finest level, in double precision */
    struct box_separable *separable; /* of the last level; NULL: solved otherwise */
    int factored;                    /* the last level is solved by a Cholesky factor */
    double *scratch;                 /* of all kernels, on the device */
    int64_t scratch_size;
};

/* grid and element are borrowed for good. M (zeroed): the multigrid; NULL: only the finest level is wanted,
 * for its operator. */
facet_status box_levels_create(const struct device *device, const struct box_grid *grid,
                               const struct box_element *element,
                               const struct box_continuous_options *options, struct operator* M,
                               struct box_levels **levels);
void box_levels_destroy(struct box_levels **levels);
/* Room for as many threads as there are now; at the beginning of a solve. */
facet_status box_levels_prepare(struct box_levels *all);
/* Whether box_levels_set_reaction will do, or all must be made anew. */
int box_levels_can_change(const struct box_levels *all);
void box_levels_set_reaction(struct box_levels *all, double reaction);

/* The inverse of the diagonal of the finest level, in double precision. */
facet_status box_levels_diagonal(const struct box_levels *levels, struct operator* D);
/* The assembled matrix, an identity on nodes with Dirichlet values. */
facet_status box_levels_assemble(const struct box_level *level, const struct box_element *element,
                                 struct csr *csr);

#endif
