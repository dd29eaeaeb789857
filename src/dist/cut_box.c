/* See cut_box.h. */
#include "dist/cut_box.h"

#include <math.h>
#include <string.h>

/* Cells along direction 0 that fill the lanes of kernels: eight cells, or eight patches of one of two
 * colours.
 */
#define ROW 16
/* A cut may leave the busiest rank so many times the work that another one would. */
#define UNEVEN 1.05

/* A block with the ranks that share it. */
struct node {
    struct block block;
    int first_rank, n_ranks;
};

static struct node root_of(const struct blocks *blocks) {
    struct node root = {.n_ranks = blocks->n_ranks};
    for (int a = 0; a < 3; a++) root.block.count[a] = blocks->cells[a];
    return root;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Twice as long as a direction counts; one that cannot be cut is nothing. */
static int64_t length(const struct node *node, int whole, int d) {
    const int64_t n = node->block.count[d];
    return n < 2 ? 0 : whole && d == 0 ? n : 2 * n;
}

/* Across direction a: half of the ranks, and as many layers of bricks as are their share; but no side has
 * fewer bricks than ranks. Where layers are thick, that takes other halves. */
static void split_across(const struct node *node, int a, struct node sides[2]) {
    const int64_t layers = node->block.count[a], ranks = node->n_ranks;
    int64_t layer = 1, lower = ranks / 2;
    for (int d = 0; d < 3; d++) layer *= d == a ? 1 : node->block.count[d];
    int64_t at = (2 * layers * lower + ranks) / (2 * ranks);
    at = least(most(at, 1), layers - 1);
    at = most(least(at, layers - (ranks - lower + layer - 1) / layer), 1);
    lower = most(least(lower, at * layer), ranks - (layers - at) * layer);
    sides[0] = sides[1] = *node;
    sides[0].n_ranks = (int)lower;
    sides[0].block.count[a] = (int)at;
    sides[1].first_rank += (int)lower;
    sides[1].n_ranks -= (int)lower;
    sides[1].block.first[a] += (int)at;
    sides[1].block.count[a] -= (int)at;
}

/* Bricks of a rank on the side that has more for each, as if rows along direction 0 were multiples of so
 * many.
 */
static double load(const struct node sides[2], int row) {
    double largest = 0.0;
    for (int i = 0; i < 2; i++) {
        const int *n = sides[i].block.count;
        largest = fmax(largest, (double)((n[0] + row - 1) / row * row) * n[1] * n[2] / sides[i].n_ranks);
    }
    return largest;
}

/* Across the longest direction, unless another one shares out better and leaves no more lanes empty. */
static void split(const struct node *node, int whole, struct node sides[2]) {
    struct node other[2];
    int a = 0;
    for (int d = 1; d < 3; d++) {
        const int64_t longer = length(node, whole, d) - length(node, whole, a);
        if (longer > 0 || (longer == 0 && whole && a == 0 && node->block.count[d] > 1)) a = d;
    }
    split_across(node, a, sides);
    for (int d = 0; d < 3; d++) {
        if (d == a || node->block.count[d] < 2) continue;
        split_across(node, d, other);
        if (UNEVEN * load(other, 1) >= load(sides, 1) || (whole && load(other, ROW) > load(sides, ROW)))
            continue;
        memcpy(sides, other, sizeof other);
    }
}

struct block blocks_of_rank(const struct blocks *blocks, int rank) {
    struct node node = root_of(blocks), sides[2];
    while (node.n_ranks > 1) {
        split(&node, blocks->whole, sides);
        node = sides[rank >= sides[1].first_rank];
    }
    return node.block;
}

int blocks_rank_of(const struct blocks *blocks, const int index[3]) {
    struct node node = root_of(blocks), sides[2];
    while (node.n_ranks > 1) {
        split(&node, blocks->whole, sides);
        int upper = 0;
        for (int a = 0; a < 3; a++) upper |= index[a] >= sides[0].block.first[a] + sides[0].block.count[a];
        node = sides[upper];
    }
    return node.first_rank;
}

int64_t blocks_largest(const struct blocks *blocks) {
    int64_t largest = 0;
    for (int rank = 0; rank < blocks->n_ranks; rank++) {
        const struct block block = blocks_of_rank(blocks, rank);
        largest = most(largest, (int64_t)block.count[0] * block.count[1] * block.count[2]);
    }
    return largest;
}

int blocks_shortest(const struct blocks *blocks) {
    int64_t shortest = blocks->cells[0];
    for (int rank = 0; rank < blocks->n_ranks; rank++)
        shortest = least(shortest, blocks_of_rank(blocks, rank).count[0]);
    return (int)shortest;
}
