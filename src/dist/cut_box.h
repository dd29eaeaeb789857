/* Blocks of bricks for ranks: a box is cut in two again and again, across its longest direction, in the
 * proportion of the ranks on both sides, unless that leaves one of them more work than a cut across another
 * direction would; where bricks are cells, direction 0, along which kernels take several of them at once,
 * counts half. Nobody needs a list of the blocks: the way to the block of a rank, or
 * of a brick, has log2(ranks) steps. */
#ifndef FACET_DIST_CUT_BOX_H
#define FACET_DIST_CUT_BOX_H

#include <stdint.h>

/* cells[a] == 1 beyond the dimension. n_ranks: not more than there are bricks. */
struct blocks {
    int cells[3];
    int n_ranks;
    int whole; /* bricks are cells */
};
struct block {
    int first[3], count[3];
};
struct block blocks_of_rank(const struct blocks *blocks, int rank);
int blocks_rank_of(const struct blocks *blocks, const int index[3]);
/* Bricks of the largest block. */
int64_t blocks_largest(const struct blocks *blocks);
/* Bricks of the block that has fewest in direction 0, there. */
int blocks_shortest(const struct blocks *blocks);

#endif
