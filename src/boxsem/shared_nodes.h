/* Continuous elements on a box that processes hold block by block (box/box.h): where the blocks of all lie on
 * a level, the nodes that they share, and messages between them. Private to this room.
 *
 * A vector of a block has all nodes of its cells, those of its sides included, as a box by itself has; nodes
 * of a seam stand in the vectors of all blocks that meet there, up to eight, with the same numbers
 * (device/seam.h). Nodes are told apart by where they are in the whole: along a direction of N cells numbers
 * 0 .. kN, or 0 .. kN - 1 on a ring. Every node belongs to the block of the cell above it: the first k times
 * count nodes of a direction, and the last one at the end of the whole.
 *
 * Patches and ghosts. The patch of a vertex is the work of the block that the vertex belongs to; it reaches
 * into the cells below the block. So smoothers work on a box with one more layer of cells below each seam:
 *
 *           seam          seam
 *       +-----|-----+-----+-----|            o: middles of patches of this block
 *       |ghost o     o     o    |            its ghosts are cells of others
 *       +-----|-----+-----+-----|
 *
 * The colours of patches are those of the whole, and after each the nodes that it has changed go to all who
 * hold them too: a step is that of one process, up to rounding. */
#ifndef FACET_BOXSEM_SHARED_NODES_H
#define FACET_BOXSEM_SHARED_NODES_H

#include "boxsem/brick.h"
#include "boxsem/patches.h"
#include "device/seam.h"

struct boxsem_block {
    int first[3], count[3]; /* cells */
};

struct boxsem_blocks {
    struct base_team *team;
    int dim, cells[3]; /* of the whole */
    enum box_side sides[3][2];
    double *coordinates[3];      /* of the whole: cells[d] + 1 */
    struct boxsem_block *blocks; /* of all ranks */
};
/* Of a grid that is a block. Collective. */
facet_status boxsem_blocks_create(const struct box_grid *grid, struct boxsem_blocks *blocks);
/* After directions were halved, in which all blocks begin and end with even cells. */
facet_status boxsem_blocks_halve(const struct boxsem_blocks *from, const int halved[3],
                                 struct boxsem_blocks *to);
void boxsem_blocks_destroy(struct boxsem_blocks *blocks); /* safe on a zeroed struct, and twice */
static inline const struct boxsem_block *boxsem_own_block(const struct boxsem_blocks *b) {
    return &b->blocks[b->team->rank];
}
/* Whether a block has all cells of a ring. */
static inline int boxsem_block_is_ring(const struct boxsem_blocks *b, const struct boxsem_block *block,
                                       int d) {
    return b->sides[d][0] == BOX_PERIODIC && block->count[d] == b->cells[d];
}
/* Nodes of the whole along a direction; 1 beyond the dimension. */
static inline int boxsem_whole_nodes(const struct boxsem_blocks *b, int k, int d) {
    return d < b->dim ? k * b->cells[d] + (b->sides[d][0] != BOX_PERIODIC) : 1;
}
/* Of the nodes of a block along a direction, how many belong to it: the first ones. */
int boxsem_owned_nodes(const struct boxsem_blocks *b, const struct boxsem_block *block, int k, int d);
/* The whole as a box: conductivity and reaction of the block's cells from all. Collective. */
facet_status boxsem_blocks_whole(const struct boxsem_blocks *b, const struct box_grid *block,
                                 struct box_grid *whole);
/* The nodes of degree k that blocks share. */
facet_status boxsem_blocks_seam(const struct boxsem_blocks *b, int k, struct seam **seam);
/* Numbers of the nodes of degree k in the whole, as rows of a matrix: those of rank 0, of rank 1, ... */
void boxsem_blocks_number(const struct boxsem_blocks *b, int k, int64_t n, int64_t *numbers, int64_t *first,
                          int64_t *n_owned);

/* ------------------------------------------------------------------------------ a part of a lattice */

/* Numbers that a lattice `from` and a lattice `to` have in common: `count` along each direction, from these
 * places of both on. Lattices are so long as ends_from and ends_to say, and begin again there. Copied or
 * added. Vectors of one precision. */
struct boxsem_window {
    int count[3];
    int from[3], ends_from[3];
    int to[3], ends_to[3];
};
void boxsem_window_copy(const struct boxsem_window *w, const struct vector *from, struct vector *to);
void boxsem_window_add(const struct boxsem_window *w, const struct vector *from, struct vector *to);

/* ------------------------------------------------------------------------------ patches over seams */

struct boxsem_halo;
/* grid: the block. variant, inner: of struct brick_patches; colours follow each other. Collective. */
facet_status boxsem_halo_create(const struct device *device, const struct boxsem_blocks *b,
                                const struct box_grid *grid, const struct box_element *element,
                                enum precision precision, enum patch_variant variant, int inner,
                                struct boxsem_halo **halo);
void boxsem_halo_destroy(struct boxsem_halo **halo);
const struct brick_patches *boxsem_halo_plan(const struct boxsem_halo *halo);
/* Steps of the smoother on A x = f; from_zero: x is zero. scratch: for the plan. */
void boxsem_halo_sweep(struct boxsem_halo *halo, int steps, int backward, int from_zero,
                       const struct vector *f, struct vector *x, double *scratch);

/* ------------------------------------------------------------------------------ the whole, on all */

/* From a level that is a block to one that every process has whole: coarse (boxsem_blocks_whole, or what was
 * halved of it). Both are borrowed for good. */
struct boxsem_gather;
facet_status boxsem_gather_create(const struct device *device, const struct boxsem_blocks *b,
                                  const struct box_grid *coarse, const struct box_element *element,
                                  struct boxsem_gather **gather);
void boxsem_gather_destroy(struct boxsem_gather **gather);
int64_t boxsem_gather_scratch(const struct boxsem_gather *gather);
void boxsem_gather_prolong(struct boxsem_gather *gather, const struct vector *coarse, struct vector *fine,
                           double *scratch);
void boxsem_gather_restrict(struct boxsem_gather *gather, const struct vector *fine, struct vector *coarse,
                            double *scratch);

#endif
