/* The parent of a fine cell in a coarser mesh, and the cell's image in the parent's reference coordinates, in
 * four ways from the fastest and narrowest to the slowest and most general. What is found is a guess:
 * nesting.c checks it against the geometry. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/mesh_internal.h"
#include "poly/basis.h"

/* Reference coordinates this near to a multiple of 1/2 are meant to be one. */
#define NEAR_HALF 1e-9
/* The same in roundings of the coordinates in space, for cells that are small against their distance from the
 * origin; and the most that may come of it. */
#define ROUNDINGS  16
#define MOST_SHIFT 1e-3

/* The fine intervals of one direction of a box inside the coarse ones, in the coarse interval's unit. */
struct intervals {
    int32_t *parents;
    double *origins, *lengths;
};

struct mesh_finder {
    enum mesh_way way;
    const struct facet_mesh *fine, *coarse;
    double *middles[MESH_MAX_BLOCKS];  /* by order: Lagrange values of the parent at its lattice of order 2 */
    double *lattices[MESH_MAX_BLOCKS]; /* by search: the coarse cells' nodes */
    struct intervals intervals[3];     /* of boxes */
    struct mesh_locator *locator;
};

static double nearest_half(double x, double near) {
    double half = 0.5 * round(2 * x) + 0.0; /* no -0 */
    return fabs(x - half) <= near ? half : x;
}

static const double *vertex_point(const struct facet_mesh *mesh, int32_t cell, int vertex) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    return mesh_cell_nodes(mesh, cell) +
           (int64_t)shape_vertex_node(block->shape, mesh->order, vertex) * mesh->dim;
}

/* ------------------------------------------------------------------------------------------ by order */

static facet_status prepare_order(struct mesh_finder *finder, int *applies) {
    facet_status status = FACET_OK;
    const struct facet_mesh *fine = finder->fine, *coarse = finder->coarse;
    double lattice[3 * MESH_MAX_MIDDLES];
    *applies = fine->n_blocks == coarse->n_blocks && !mesh_is_box(fine);
    for (int b = 0; *applies && b < fine->n_blocks; b++)
        *applies = fine->blocks[b].shape == coarse->blocks[b].shape &&
                   fine->blocks[b].count == (int64_t)coarse->blocks[b].count << fine->dim;
    for (int b = 0; *applies && b < fine->n_blocks; b++) {
        enum shape shape = coarse->blocks[b].shape;
        int n = shape_n_nodes(shape, 2);
        TRY(ALLOC(finder->middles[b], n * coarse->blocks[b].n_nodes));
        shape_nodes(shape, 2, lattice);
        TRY(basis_lagrange(shape, coarse->order, n, lattice, finder->middles[b], NULL));
    }
done:
    return status;
}

/* Whether a fine cell is spanned by these nodes of the parent's lattice of order 2, up to `near`. */
static int is_spanned(const struct mesh_finder *finder, int b, int32_t cell, const double *nodes,
                      const int *spanning, double near) {
    const struct mesh_block *coarse = &finder->coarse->blocks[b];
    int dim = finder->fine->dim, n = coarse->n_nodes;
    for (int v = 0; v <= dim; v++) {
        const double *vertex = vertex_point(finder->fine, cell, mesh_spanning_vertex(coarse->shape, v));
        const double *values = finder->middles[b] + (int64_t)spanning[v] * n;
        double off[3] = {0};
        for (int i = 0; i < n; i++) {
            if (values[i] == 0) continue;
            for (int a = 0; a < dim; a++) off[a] += values[i] * (nodes[i * dim + a] - vertex[a]);
        }
        for (int a = 0; a < dim; a++)
            if (!(fabs(off[a]) <= near)) return 0;
    }
    return 1;
}

/* Child k of a cell, in one of the variants of the shape, and as it is or turned over by mesh_create, which
 * exchanges its first two axes. */
static void find_by_order(const struct mesh_finder *finder, int32_t cell, int32_t *parent,
                          struct mesh_kind *image) {
    int b = mesh_block_index(finder->fine, cell), dim = finder->fine->dim, n_variants;
    const struct mesh_block *coarse = &finder->coarse->blocks[b];
    int32_t in_block = cell - finder->fine->blocks[b].first;
    int32_t guess = coarse->first + (in_block >> dim);
    const struct mesh_children *children = mesh_children_of(coarse->shape, &n_variants);
    const double *nodes = mesh_cell_nodes(finder->coarse, guess);
    double lattice[3 * MESH_MAX_MIDDLES], extent, most;
    mesh_node_range(coarse->n_nodes, dim, nodes, &extent, &most);
    double near = 1e-12 * extent + 4 * ROUNDINGS * DBL_EPSILON * most;
    for (int k = 0; k < 2 * n_variants; k++) {
        const int *child = children[k / 2].vertices[in_block & ((1 << dim) - 1)];
        int spanning[4];
        for (int v = 0; v <= dim; v++) {
            int from = k % 2 && (v == 1 || v == 2) ? 3 - v : v;
            spanning[v] = child[mesh_spanning_vertex(coarse->shape, from)];
        }
        if (!is_spanned(finder, b, cell, nodes, spanning, near)) continue;
        shape_nodes(coarse->shape, 2, lattice);
        *parent = guess;
        for (int a = 0; a < dim; a++) {
            image->origin[a] = lattice[spanning[0] * dim + a];
            for (int d = 0; d < dim; d++)
                image->axes[d][a] = lattice[spanning[d + 1] * dim + a] - image->origin[a];
        }
        return;
    }
}

/* ------------------------------------------------------------------------------------------ boxes */

/* Every fine interval of a direction must lie in one coarse interval. */
static facet_status nest_intervals(const struct mesh_box *fine, const struct mesh_box *coarse, int a,
                                   struct intervals *intervals, int *applies) {
    facet_status status = FACET_OK;
    const double *x = fine->coordinates[a], *X = coarse->coordinates[a];
    int n = fine->cells[a], j = 0;
    double rounding = ROUNDINGS * DBL_EPSILON * fmax(fabs(X[0]), fabs(X[coarse->cells[a]]));
    TRY(ALLOC(intervals->parents, n));
    TRY(ALLOC(intervals->origins, n));
    TRY(ALLOC(intervals->lengths, n));
    for (int i = 0; i < n; i++) {
        double middle = 0.5 * (x[i] + x[i + 1]);
        while (j < coarse->cells[a] - 1 && X[j + 1] < middle) j++;
        double width = X[j + 1] - X[j], near = fmin(NEAR_HALF + rounding / width, MOST_SHIFT);
        double low = nearest_half((x[i] - X[j]) / width, near);
        double high = nearest_half((x[i + 1] - X[j]) / width, near);
        if (low < 0 || high > 1) {
            *applies = 0;
            break;
        }
        intervals->parents[i] = j;
        intervals->origins[i] = low;
        intervals->lengths[i] = high - low;
    }
done:
    return status;
}

static facet_status prepare_boxes(struct mesh_finder *finder, const struct mesh_box *fine,
                                  const struct mesh_box *coarse, int *applies) {
    facet_status status = FACET_OK;
    *applies = fine->cells[0] > 0 && coarse->cells[0] > 0;
    for (int a = 0; *applies && a < finder->fine->dim; a++)
        TRY(nest_intervals(fine, coarse, a, &finder->intervals[a], applies));
done:
    return status;
}

static int64_t brick_number(const struct mesh_box *box, int dim, const int *index) {
    int64_t brick = 0;
    for (int a = dim - 1; a >= 0; a--) brick = brick * box->cells[a] + index[a];
    return brick;
}

static void find_by_intervals(const struct mesh_finder *finder, int32_t cell, int32_t *parent,
                              struct mesh_kind *image) {
    int index[3], above[3], dim = finder->fine->dim;
    mesh_box_index(finder->fine, cell, index);
    for (int a = 0; a < dim; a++) {
        const struct intervals *intervals = &finder->intervals[a];
        above[a] = intervals->parents[index[a]];
        image->origin[a] = intervals->origins[index[a]];
        image->axes[a][a] = intervals->lengths[index[a]];
    }
    *parent = (int32_t)brick_number(&finder->coarse->box, dim, above);
}

/* ------------------------------------------------------------------------------------------ by inverse maps
 */

/* Where the spanning vertices of a cell lie in a coarse one. A vertex may be off by some roundings of its
 * coordinates; in reference coordinates that is a rounding divided by the smallest height of the cell. */
static facet_status invert_image(const struct mesh_finder *finder, int32_t cell, int32_t guess,
                                 int32_t *parent, struct mesh_kind *image) {
    facet_status status = FACET_OK;
    const struct facet_mesh *coarse = finder->coarse;
    const struct mesh_block *block = mesh_block_of(coarse, guess);
    const double *nodes = mesh_cell_nodes(coarse, guess),
                 *lattice = finder->lattices[mesh_block_index(coarse, guess)];
    int dim = coarse->dim, found = 1;
    double J[9], xi[4][3], extent, most;
    if (mesh_block_of(finder->fine, cell)->shape != block->shape) goto done;
    for (int v = 0; found && v <= dim; v++) {
        const double *x = vertex_point(finder->fine, cell, mesh_spanning_vertex(block->shape, v));
        TRY(mesh_invert(coarse, guess, lattice, x, xi[v], &found));
    }
    if (!found) goto done;
    mesh_affine_jacobian(block->shape, coarse->order, nodes, J);
    mesh_node_range(block->n_nodes, dim, nodes, &extent, &most);
    double height = mesh_determinant(dim, J) / (dim == 2 ? extent : extent * extent);
    double rounding = ROUNDINGS * DBL_EPSILON * most;
    double near = fmin(NEAR_HALF + rounding / fabs(height), MOST_SHIFT);
    for (int v = 0; v <= dim; v++)
        for (int a = 0; a < dim; a++) {
            xi[v][a] = nearest_half(xi[v][a], near);
            if (v == 0)
                image->origin[a] = xi[0][a];
            else
                image->axes[v - 1][a] = xi[v][a] - xi[0][a];
        }
    *parent = guess;
done:
    return status;
}

/* The point of a cell at the mean of its reference vertices. */
static facet_status middle_of(const struct facet_mesh *mesh, int32_t cell, double *x) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    double xi[3] = {0}, J[9];
    int n = shape_n_vertices(block->shape), dim = mesh->dim;
    if (block->affine[cell - block->first]) {
        for (int a = 0; a < dim; a++) x[a] = 0;
        for (int v = 0; v < n; v++)
            for (int a = 0; a < dim; a++) x[a] += vertex_point(mesh, cell, v)[a] / n;
        return FACET_OK;
    }
    for (int v = 0; v < n; v++)
        for (int a = 0; a < dim; a++) xi[a] += shape_vertices(block->shape)[v * dim + a] / n;
    return mesh_point_map(block->shape, mesh->order, dim, mesh_cell_nodes(mesh, cell), xi, x, J);
}

/* The simplex of the coarse brick in which the middle of the cell lies deepest. */
static facet_status find_by_bricks(const struct mesh_finder *finder, int32_t cell, int32_t *parent,
                                   struct mesh_kind *image) {
    facet_status status = FACET_OK;
    const struct facet_mesh *fine = finder->fine, *coarse = finder->coarse;
    int64_t n_bricks = 1;
    for (int a = 0; a < fine->dim; a++) n_bricks *= fine->cut.cells[a];
    int n_simplices = (int)(fine->n_cells / n_bricks), above[3], found;
    int64_t rest = cell / n_simplices;
    for (int a = 0; a < fine->dim; a++) {
        above[a] = finder->intervals[a].parents[rest % fine->cut.cells[a]];
        rest /= fine->cut.cells[a];
    }
    int32_t first = (int32_t)brick_number(&coarse->cut, fine->dim, above) * n_simplices, best = -1;
    double x[3], xi[3], least = INFINITY;
    TRY(middle_of(fine, cell, x));
    for (int32_t c = first; c < first + n_simplices; c++) {
        TRY(mesh_invert(coarse, c, NULL, x, xi, &found));
        double outside = found ? mesh_outside_by(coarse->blocks[0].shape, xi) : INFINITY;
        if (!(outside < least)) continue;
        least = outside;
        best = c;
    }
    if (best >= 0) TRY(invert_image(finder, cell, best, parent, image));
done:
    return status;
}

static facet_status prepare_search(struct mesh_finder *finder) {
    facet_status status = FACET_OK;
    const struct facet_mesh *coarse = finder->coarse;
    for (int b = 0; b < coarse->n_blocks; b++) {
        TRY(ALLOC(finder->lattices[b], coarse->blocks[b].n_nodes * coarse->dim));
        shape_nodes(coarse->blocks[b].shape, coarse->order, finder->lattices[b]);
    }
    TRY(mesh_locator_create(coarse, &finder->locator));
done:
    return status;
}

static facet_status find_by_search(const struct mesh_finder *finder, int32_t cell, int32_t *parent,
                                   struct mesh_kind *image) {
    facet_status status = FACET_OK;
    double x[3], xi[3];
    int32_t guess;
    TRY(middle_of(finder->fine, cell, x));
    TRY(mesh_locate(finder->locator, x, &guess, xi));
    if (guess >= 0) TRY(invert_image(finder, cell, guess, parent, image));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ all ways */

facet_status mesh_finder_create(enum mesh_way way, const struct facet_mesh *fine,
                                const struct facet_mesh *coarse, struct mesh_finder **finder) {
    facet_status status = FACET_OK;
    struct mesh_finder *made = NULL;
    int applies = 1;
    *finder = NULL;
    TRY(CALLOC(made, 1));
    made->way = way;
    made->fine = fine;
    made->coarse = coarse;
    if (way == MESH_BY_ORDER)
        TRY(prepare_order(made, &applies));
    else if (way == MESH_BY_INTERVALS)
        TRY(prepare_boxes(made, &fine->box, &coarse->box, &applies));
    else if (way == MESH_BY_BRICKS) {
        applies = fine->split == NULL && coarse->split == NULL; /* whole bricks, of parts of boxes */
        if (fine->split && coarse->split) applies = strcmp(fine->split, coarse->split) == 0;
        if (applies) TRY(prepare_boxes(made, &fine->cut, &coarse->cut, &applies));
    } else
        TRY(prepare_search(made));
    if (!applies) goto done;
    *finder = made;
    made = NULL;
done:
    mesh_finder_destroy(&made);
    return status;
}

void mesh_finder_destroy(struct mesh_finder **finder) {
    if (!*finder) return;
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        base_free(&(*finder)->middles[b]);
        base_free(&(*finder)->lattices[b]);
    }
    for (int a = 0; a < 3; a++) {
        base_free(&(*finder)->intervals[a].parents);
        base_free(&(*finder)->intervals[a].origins);
        base_free(&(*finder)->intervals[a].lengths);
    }
    mesh_locator_destroy(&(*finder)->locator);
    base_free(finder);
}

facet_status mesh_find_parent(const struct mesh_finder *finder, int32_t cell, int32_t *parent,
                              struct mesh_kind *image) {
    *parent = -1;
    *image = (struct mesh_kind){.shape = mesh_block_of(finder->fine, cell)->shape};
    switch (finder->way) {
    case MESH_BY_ORDER:
        find_by_order(finder, cell, parent, image);
        return FACET_OK;
    case MESH_BY_INTERVALS:
        find_by_intervals(finder, cell, parent, image);
        return FACET_OK;
    case MESH_BY_BRICKS:
        return find_by_bricks(finder, cell, parent, image);
    default:
        return find_by_search(finder, cell, parent, image);
    }
}
