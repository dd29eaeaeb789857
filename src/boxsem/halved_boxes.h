/* The levels of continuous elements on a box: grids, operators, transfers and smoothers over the kernels of
 * kernels/brick.h, put together to a multigrid. Private to this room. */
#ifndef FACET_BOXSEM_HALVED_BOXES_H
#define FACET_BOXSEM_HALVED_BOXES_H

#include "box/diagonalize.h"
#include "boxsem/boxsem.h"
#include "boxsem/brick.h"
#include "boxsem/shared_nodes.h"

struct boxsem_level {
    struct boxsem_levels *all;
    struct box_grid grid;
    struct boxsem_brick brick;
    struct boxsem_patches patches;   /* of smoothers over patches */
    struct boxsem_transfer transfer; /* from the next level to this one */
    int64_t n;
    /* Where the grid is a block (boxsem/shared_nodes.h): */
    struct boxsem_blocks blocks;
    struct seam *seam;
    struct boxsem_halo *halo;     /* of patches, in place of those above */
    struct boxsem_gather *gather; /* the next level is whole, in place of the transfer */
    struct vector owned;          /* of what is restricted, the nodes that belong to this block */
};

struct boxsem_levels {
    const struct device *device;
    const struct boxsem_options *options;
    const struct box_element *element;
    int n_levels;
    struct boxsem_level *levels;   /* finest first */
    struct linear_operator A;      /* of the finest level, in double precision */
    struct box_diagonal *diagonal; /* of the last level; NULL: solved otherwise */
    int on_vertices;               /* below the last level stand the vertices of its cells */
    int factored;                  /* the last level is solved by a Cholesky factor */
    double *scratch;               /* of all kernels, on the device */
    int64_t scratch_size;
};

/* grid and element are borrowed for good. M (zeroed): the multigrid; NULL: only the finest level is wanted,
 * for its operator. */
facet_status boxsem_levels_create(const struct device *device, const struct box_grid *grid,
                                  const struct box_element *element, const struct boxsem_options *options,
                                  struct linear_operator *M, struct boxsem_levels **levels);
void boxsem_levels_destroy(struct boxsem_levels **levels);
/* Room for as many threads as there are now; at the beginning of a solve. */
facet_status boxsem_levels_prepare(struct boxsem_levels *all);
/* Whether boxsem_levels_set_reaction will do, or all must be made anew. */
int boxsem_levels_can_change(const struct boxsem_levels *all);
void boxsem_levels_set_reaction(struct boxsem_levels *all, double reaction);

/* vertices.c: the functions of the vertices in those of the last level, and what is below it. */
facet_status boxsem_levels_reach_vertices(struct boxsem_levels *all);
facet_status boxsem_levels_end_vertices(const struct boxsem_levels *all, struct multigrid *mg);

/* The inverse of the diagonal, in double precision. */
facet_status boxsem_levels_diagonal(const struct boxsem_level *level, struct linear_operator *D);
/* The assembled matrix, an identity on nodes with Dirichlet values. */
facet_status boxsem_levels_assemble(const struct boxsem_level *level, const struct box_element *element,
                                    struct csr *csr);

#endif
