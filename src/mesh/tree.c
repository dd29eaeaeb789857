/* A tree of boxes for "which boxes meet this one": the boxes are sorted along a Morton curve through their
 * centres, cut into leaves of a few boxes, and the bounds of pairs of leaves, pairs of pairs, ... are stacked
 * above them. Unlike a grid of bins it does not mind meshes graded over many orders of magnitude. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/internal.h"

#define LEAF 4

/* The bits of a dim-dimensional lattice point interleaved; every coordinate has 64/dim bits (at most 32). */
static uint64_t morton(int dim, const double *unit) {
    int bits = dim == 2 ? 32 : 21;
    uint64_t code = 0, whole[3];
    for (int a = 0; a < dim; a++) {
        double scaled = unit[a] * ldexp(1.0, bits);
        double top = ldexp(1.0, bits) - 1;
        whole[a] = scaled >= top ? (uint64_t)top : scaled > 0 ? (uint64_t)scaled : 0;
    }
    for (int b = bits - 1; b >= 0; b--)
        for (int a = 0; a < dim; a++) code = code << 1 | (whole[a] >> b & 1);
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

static int boxes_meet(int dim, const double *box, const double *lower, const double *upper) {
    int meet = 1;
    for (int a = 0; a < dim; a++) meet &= box[a] <= upper[a] && box[dim + a] >= lower[a];
    return meet;
}

void mesh_tree_query(const struct mesh_tree *tree, const double *lower, const double *upper,
                     mesh_tree_visit visit, void *user) {
    int dim = tree->dim, depth = 0;
    int32_t stack[64];
    if (tree->n == 0) return;
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
                if (visit(user, tree->order[i])) return;
    }
}
