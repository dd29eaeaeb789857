/* A tree of boxes for "which boxes meet this one": the boxes are sorted along a Morton curve through their
 * centres, cut into leaves of a few boxes, and the bounds of pairs of leaves, pairs of pairs, ... are stacked
 * above them. Unlike a grid of bins it does not mind meshes graded over many orders of magnitude. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/mesh_internal.h"

#define LEAF MESH_TREE_LEAF

/* The lowest 32 bits at every second place, and the lowest 21 at every third: halves move apart. */
static uint64_t spread_by_two(uint64_t x) {
    x = (x | x << 16) & 0x0000FFFF0000FFFFu;
    x = (x | x << 8) & 0x00FF00FF00FF00FFu;
    x = (x | x << 4) & 0x0F0F0F0F0F0F0F0Fu;
    x = (x | x << 2) & 0x3333333333333333u;
    return (x | x << 1) & 0x5555555555555555u;
}

static uint64_t spread_by_three(uint64_t x) {
    x = (x | x << 32) & 0x001F00000000FFFFu;
    x = (x | x << 16) & 0x001F0000FF0000FFu;
    x = (x | x << 8) & 0x100F00F00F00F00Fu;
    x = (x | x << 4) & 0x10C30C30C30C30C3u;
    return (x | x << 2) & 0x1249249249249249u;
}

/* The bits of a dim-dimensional lattice point interleaved; every coordinate has 64/dim bits (at most 32). */
static uint64_t morton(int dim, const double *unit) {
    const int bits = dim == 2 ? 32 : 21;
    const double whole = (double)(UINT64_C(1) << bits), top = whole - 1;
    uint64_t code = 0;
    for (int a = 0; a < dim; a++) {
        const double scaled = unit[a] * whole;
        const uint64_t place = scaled >= top ? (uint64_t)top : scaled > 0 ? (uint64_t)scaled : 0;
        code |= (dim == 2 ? spread_by_two(place) : spread_by_three(place)) << (dim - 1 - a);
    }
    return code;
}

/* Radix sort of the numbers by their codes, 11 bits at a time. */
static facet_status sort_by_code(int32_t n, uint64_t *codes, int32_t *order) {
    facet_status status = FACET_OK;
    uint64_t *other_codes = NULL;
    int32_t *other = NULL;
    TRY(ALLOC(other_codes, n));
    TRY(ALLOC(other, n));
    for (int shift = 0; shift < 64; shift += 11) {
        int32_t starts[2049] = {0};
        for (int32_t i = 0; i < n; i++) starts[(codes[i] >> shift & 2047) + 1]++;
        for (int k = 0; k < 2048; k++) starts[k + 1] += starts[k];
        for (int32_t i = 0; i < n; i++) {
            int32_t to = starts[codes[i] >> shift & 2047]++;
            other_codes[to] = codes[i];
            other[to] = order[i];
        }
        memcpy(codes, other_codes, (size_t)n * sizeof *codes);
        memcpy(order, other, (size_t)n * sizeof *order);
    }
done:
    base_free(&other_codes);
    base_free(&other);
    return status;
}

static void bounds_join(int dim, double *into, const double *box) {
    for (int a = 0; a < dim; a++) {
        if (box[a] < into[a]) into[a] = box[a];
        if (box[dim + a] > into[dim + a]) into[dim + a] = box[dim + a];
    }
}

static void stack_bounds(struct mesh_tree *tree) {
    int dim = tree->dim, width = 2 * dim;
    for (int64_t i = 0; i < 2 * (int64_t)tree->n_leaves; i++)
        for (int a = 0; a < dim; a++) {
            tree->bounds[i * width + a] = INFINITY;
            tree->bounds[i * width + dim + a] = -INFINITY;
        }
    for (int32_t i = 0; i < tree->n; i++)
        bounds_join(dim, tree->bounds + (int64_t)(tree->n_leaves + i / LEAF) * width,
                    tree->boxes + (int64_t)tree->order[i] * width);
    for (int64_t i = 2 * (int64_t)tree->n_leaves - 1; i > 1; i--)
        bounds_join(dim, tree->bounds + i / 2 * width, tree->bounds + i * width);
}

facet_status mesh_tree_create(int dim, int32_t n, const double *boxes, struct mesh_tree *tree) {
    facet_status status = FACET_OK;
    uint64_t *codes = NULL;
    *tree = (struct mesh_tree){.dim = dim, .n = n, .n_leaves = 1, .boxes = boxes};
    while ((int64_t)tree->n_leaves * LEAF < n) tree->n_leaves *= 2;
    TRY(ALLOC(tree->order, n));
    TRY(ALLOC(tree->bounds, 4 * (int64_t)tree->n_leaves * dim));
    TRY(ALLOC(codes, n));
    double all[6];
    for (int a = 0; a < dim; a++) {
        all[a] = INFINITY;
        all[dim + a] = -INFINITY;
    }
    for (int32_t i = 0; i < n; i++) bounds_join(dim, all, boxes + 2 * (int64_t)i * dim);
    for (int32_t i = 0; i < n; i++) {
        const double *box = boxes + 2 * (int64_t)i * dim;
        double unit[3];
        for (int a = 0; a < dim; a++) {
            double width = all[dim + a] - all[a];
            unit[a] = width > 0 ? (0.5 * (box[a] + box[dim + a]) - all[a]) / width : 0;
        }
        codes[i] = morton(dim, unit);
        tree->order[i] = i;
    }
    if (n > 0) TRY(sort_by_code(n, codes, tree->order));
    stack_bounds(tree);
done:
    base_free(&codes);
    return status;
}

void mesh_tree_free(struct mesh_tree *tree) {
    base_free(&tree->order);
    base_free(&tree->bounds);
}

static inline int boxes_meet(int dim, const double *box, const double *lower, const double *upper) {
    int meet = 1;
    for (int a = 0; a < dim; a++) meet &= box[a] <= upper[a] && box[dim + a] >= lower[a];
    return meet;
}

/* With the dimension of the tree as a constant. */
static inline int query(const struct mesh_tree *tree, const int dim, const double *lower, const double *upper,
                        mesh_tree_visit visit, void *user) {
    int depth = 0;
    int32_t stack[64];
    stack[depth++] = 1;
    while (depth > 0) {
        int32_t node = stack[--depth];
        if (!boxes_meet(dim, tree->bounds + 2 * (int64_t)node * dim, lower, upper)) continue;
        if (node < tree->n_leaves) {
            stack[depth++] = 2 * node + 1;
            stack[depth++] = 2 * node;
            continue;
        }
        int64_t begin = (int64_t)(node - tree->n_leaves) * LEAF;
        for (int64_t i = begin; i < begin + LEAF && i < tree->n; i++)
            if (boxes_meet(dim, tree->boxes + 2 * (int64_t)tree->order[i] * dim, lower, upper))
                if (visit(user, tree->order[i])) return 1;
    }
    return 0;
}

void mesh_tree_query(const struct mesh_tree *tree, const double *lower, const double *upper,
                     mesh_tree_visit visit, void *user) {
    if (tree->n == 0) return;
    tree->dim == 2 ? query(tree, 2, lower, upper, visit, user) : query(tree, 3, lower, upper, visit, user);
}

/* Whether they meet is as good as random: all of two leaves are compared before anybody asks. */
static inline int pair_boxes(const struct mesh_tree *tree, const int dim, int32_t a, int32_t b,
                             mesh_tree_visit_pair visit, void *user) {
    const int64_t first = (int64_t)(a - tree->n_leaves) * LEAF, other = (int64_t)(b - tree->n_leaves) * LEAF;
    const int n = tree->n - first < LEAF ? (int)(tree->n - first) : LEAF,
              m = tree->n - other < LEAF ? (int)(tree->n - other) : LEAF;
    double boxes[6][LEAF];
    unsigned meetings = 0;
    for (int k = 0; k < LEAF; k++) {
        const double *box = tree->boxes + 2 * (int64_t)tree->order[other + (k < m ? k : 0)] * dim;
        for (int i = 0; i < 2 * dim; i++) boxes[i][k] = box[i];
    }
    for (int i = 0; i < n; i++) {
        const double *box = tree->boxes + 2 * (int64_t)tree->order[first + i] * dim;
        int64_t meet[LEAF];
        for (int k = 0; k < LEAF; k++) meet[k] = 1;
        for (int d = 0; d < dim; d++)
            for (int k = 0; k < LEAF; k++)
                meet[k] &= (int64_t)(boxes[d][k] <= box[dim + d]) & (int64_t)(boxes[dim + d][k] >= box[d]);
        for (int k = 0; k < LEAF; k++) meetings |= (unsigned)meet[k] << (i * LEAF + k);
    }
    for (int i = 0; i < n; i++)
        for (int k = a == b ? i + 1 : 0; k < m; k++)
            if (meetings >> (i * LEAF + k) & 1 && visit(user, tree->order[first + i], tree->order[other + k]))
                return 1;
    return 0;
}

/* Pairs of boxes below a and b; b comes after a or is a, and may stand higher. */
static int pair_nodes(const struct mesh_tree *tree, int32_t a, int32_t b, mesh_tree_visit_pair visit,
                      void *user) {
    const int dim = tree->dim;
    const double *box = tree->bounds + 2 * (int64_t)a * dim;
    if (!boxes_meet(dim, tree->bounds + 2 * (int64_t)b * dim, box, box + dim)) return 0;
    if (b < a) return pair_nodes(tree, a, 2 * b, visit, user) || pair_nodes(tree, a, 2 * b + 1, visit, user);
    if (a >= tree->n_leaves)
        return dim == 2 ? pair_boxes(tree, 2, a, b, visit, user) : pair_boxes(tree, 3, a, b, visit, user);
    return pair_nodes(tree, 2 * a, 2 * b, visit, user) || pair_nodes(tree, 2 * a, 2 * b + 1, visit, user) ||
           (a != b && pair_nodes(tree, 2 * a + 1, 2 * b, visit, user)) ||
           pair_nodes(tree, 2 * a + 1, 2 * b + 1, visit, user);
}

void mesh_tree_pairs(const struct mesh_tree *tree, int32_t node, mesh_tree_visit_pair visit, void *user) {
    int ended = tree->n == 0 || pair_nodes(tree, node, node, visit, user);
    for (int32_t up = node; up > 1 && !ended; up /= 2)
        if (up % 2 == 0) ended = pair_nodes(tree, node, up + 1, visit, user);
}
