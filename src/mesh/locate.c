/* Where is a point? A tree of the cells' boxes gives a few candidates, each is asked for the point's
 * reference coordinates (Newton from the nearest node), and the cell with the best claim to the point wins.
 */
#include <math.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/sort.h"
#include "mesh/internal.h"
#include "mesh/part.h"

/* A point may lie outside its cell by this in reference coordinates. */
#define OUTSIDE 1e-8
/* A cell is at once the answer when the point is inside by more than this. */
#define INSIDE 1e-12
/* A cell may be so thin that roundings of the coordinates, which are this small, are more than OUTSIDE of it.
 */
#define MOST_ROUNDINGS (8 * 2.3e-16)

/* So many points are sought without a tree. */
#define FEW_POINTS 4

struct mesh_locator {
    const struct facet_mesh *mesh;
    struct mesh_tree tree;
    double *boxes;                     /* n_cells x 2 dim; NULL: there is no tree */
    double *lattices[MESH_MAX_BLOCKS]; /* n_nodes x dim */
};

/* Whether a point is far from the box of the nodes of a cell: by more than its own size. */
static int is_far(const struct facet_mesh *mesh, const struct mesh_block *block, int32_t c,
                  const double *target) {
    const int dim = mesh->dim;
    double box[6], size = 0;
    mesh_bounds(block->n_nodes, dim, block->nodes + (int64_t)c * block->n_nodes * dim, box, box + dim);
    for (int a = 0; a < dim; a++) size = fmax(size, box[dim + a] - box[a]);
    for (int a = 0; a < dim; a++)
        if (target[a] < box[a] - 2 * size || target[a] > box[dim + a] + 2 * size) return 1;
    return 0;
}

/* The box around a cell, 2 dim numbers. Curved cells may bulge out of the box of their nodes, a parabola by
 * an eighth of it. */
static void cell_box(const struct facet_mesh *mesh, const struct mesh_block *block, int32_t c, double *box) {
    const int dim = mesh->dim;
    const double *nodes = block->nodes + (int64_t)c * block->n_nodes * dim;
    double margin = mesh->order > 1 && !block->affine[c] ? 0.25 : 2 * OUTSIDE;
    mesh_bounds(block->n_nodes, dim, nodes, box, box + dim);
    margin *= mesh_extent(block->n_nodes, dim, nodes);
    for (int a = 0; a < dim; a++) {
        box[a] -= margin;
        box[dim + a] += margin;
    }
}

static facet_status make_tree(const struct facet_mesh *mesh, struct mesh_locator *made) {
    facet_status status = FACET_OK;
    const int dim = mesh->dim;
    TRY(ALLOC(made->boxes, 2 * (int64_t)mesh->n_cells * dim));
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
#pragma omp parallel for num_threads(base_threads_for(block->count)) schedule(static)
        for (int32_t c = 0; c < block->count; c++)
            cell_box(mesh, block, c, made->boxes + 2 * (int64_t)(block->first + c) * dim);
    }
    TRY(mesh_tree_create(dim, mesh->n_cells, made->boxes, &made->tree));
done:
    return status;
}

facet_status mesh_locator_create(const struct facet_mesh *mesh, struct mesh_locator **locator) {
    return mesh_locator_create_for(mesh, INT64_MAX, locator);
}

facet_status mesh_locator_create_for(const struct facet_mesh *mesh, int64_t n_points,
                                     struct mesh_locator **locator) {
    facet_status status = FACET_OK;
    struct mesh_locator *made = NULL;
    int dim = mesh->dim;
    *locator = NULL;
    TRY(CALLOC(made, 1));
    made->mesh = mesh;
    if (mesh_bricks(mesh) != NULL) { /* it knows where its cells are */
        *locator = made;
        return FACET_OK;
    }
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        TRY(ALLOC(made->lattices[b], block->n_nodes * dim));
        shape_nodes(block->shape, mesh->order, made->lattices[b]);
    }
    if (n_points > FEW_POINTS) TRY(make_tree(mesh, made));
    *locator = made;
    made = NULL;
done:
    mesh_locator_destroy(&made);
    return status;
}

void mesh_locator_destroy(struct mesh_locator **locator) {
    if (!*locator) return;
    base_free(&(*locator)->boxes);
    mesh_tree_free(&(*locator)->tree);
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&(*locator)->lattices[b]);
    base_free(locator);
}

/* Solves J step = r by Cramer's rule; 0 when J is singular. */
static int solve_small(int dim, const double *J, const double *r, double *step) {
    double determinant = mesh_determinant(dim, J);
    if (determinant == 0 || !isfinite(determinant)) return 0;
    for (int b = 0; b < dim; b++) {
        double replaced[9];
        for (int a = 0; a < dim; a++)
            for (int d = 0; d < dim; d++) replaced[a * dim + d] = d == b ? r[a] : J[a * dim + d];
        step[b] = mesh_determinant(dim, replaced) / determinant;
    }
    return 1;
}

double mesh_outside_by(enum shape shape, const double *xi) {
    double worst = -INFINITY;
    for (int a = 0; a < shape_dim(shape); a++) worst = fmax(worst, fmax(-xi[a], -shape_room(shape, a, xi)));
    return worst;
}

/* Coordinates of a box are the same in all of its parts, and are compared as mesh_box_cell does. */
static double claim_in_box(const struct facet_mesh *mesh, int32_t cell, const double *x) {
    double nodes[3 * SHAPE_MAX_VERTICES], beside = 0;
    const double *lower = nodes, *upper = nodes + ((1 << mesh->dim) - 1) * mesh->dim;
    mesh_box_nodes(mesh, cell, nodes);
    for (int a = 0; a < mesh->dim; a++) beside += fmax(fmax(lower[a] - x[a], x[a] - upper[a]), 0);
    return beside;
}

double mesh_claim(const struct facet_mesh *mesh, int32_t cell, const double *x, const double *xi) {
    return mesh_bricks(mesh) != NULL ? claim_in_box(mesh, cell, x)
                                     : mesh_outside_by(mesh_block_of(mesh, cell)->shape, xi);
}

/* The number of a cell in the whole mesh. */
static int64_t number_of(const struct facet_mesh *mesh, int32_t cell) {
    return mesh->part != NULL ? mesh->part->cell_numbers[cell] : cell;
}

/* Into the cell: along the axes, then towards the origin of those that share their room. */
static void clamp(enum shape shape, const double *xi, double *inside) {
    int dim = shape_dim(shape);
    for (int a = 0; a < dim; a++) inside[a] = fmin(fmax(xi[a], 0), 1);
    for (int a = 0; a < dim; a++) {
        double sum = 1 - shape_room(shape, a, inside);
        for (int b = a; sum > 1 && b < dim; b++)
            if (b == a || shape_shortened(shape, a) >> b & 1) inside[b] /= sum;
    }
}

/* Newton for x(xi) = target; *found says whether it arrived. The steps are kept near the cell, where the map
 * is sane. The last step is taken after the residual is small, which brings xi to rounding. */
static facet_status invert(const struct facet_mesh *mesh, const struct mesh_block *block, const double *nodes,
                           const double *target, double *xi, int *found) {
    facet_status status = FACET_OK;
    int dim = mesh->dim;
    double x[3], J[9], r[3], step[3], small = 1e-12 * mesh_extent(block->n_nodes, dim, nodes);
    for (int a = 0; a < dim; a++) small = fmax(small, 4e-15 * fabs(target[a]));
    *found = 0;
    for (int iteration = 0; iteration < 40 && !*found; iteration++) {
        TRY(mesh_point_map(block->shape, mesh->order, dim, nodes, xi, x, J));
        double left = 0;
        for (int a = 0; a < dim; a++) {
            r[a] = target[a] - x[a];
            left = fmax(left, fabs(r[a]));
        }
        if (!solve_small(dim, J, r, step)) break;
        for (int a = 0; a < dim; a++) xi[a] = fmin(fmax(xi[a] + fmin(fmax(step[a], -0.5), 0.5), -0.5), 1.5);
        *found = left <= small;
    }
done:
    return status;
}

facet_status mesh_invert(const struct facet_mesh *mesh, int32_t cell, const double *lattice,
                         const double *target, double *xi, int *found) {
    facet_status status = FACET_OK;
    int dim = mesh->dim;
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const double *nodes = mesh_cell_nodes(mesh, cell), *vertices = shape_vertices(block->shape);
    if (block->affine[cell - block->first]) {
        double J[9], r[3];
        mesh_affine_jacobian(block->shape, mesh->order, nodes, J);
        for (int a = 0; a < dim; a++) r[a] = target[a] - nodes[a];
        *found = solve_small(dim, J, r, xi);
        return FACET_OK;
    }
    int n_vertices = shape_n_vertices(block->shape);
    for (int a = 0; a < dim; a++) {
        xi[a] = 0;
        for (int v = 0; v < n_vertices; v++) xi[a] += vertices[v * dim + a] / n_vertices;
    }
    TRY(invert(mesh, block, nodes, target, xi, found));
    if (*found && mesh_outside_by(block->shape, xi) <= OUTSIDE) goto done;
    int nearest = mesh_nearest_node(block->n_nodes, dim, nodes, target);
    for (int a = 0; a < dim; a++) xi[a] = lattice[nearest * dim + a];
    TRY(invert(mesh, block, nodes, target, xi, found));
done:
    return status;
}

/* The distance, relative to the coordinates, between the target and the cell's point nearest to xi.
 */
static facet_status roundings_away(const struct facet_mesh *mesh, int32_t cell, const double *xi,
                                   const double *target, double *roundings) {
    facet_status status = FACET_OK;
    int dim = mesh->dim;
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    double inside[3], x[3], J[9], most = 0, away = 0;
    clamp(block->shape, xi, inside);
    TRY(mesh_point_map(block->shape, mesh->order, dim, mesh_cell_nodes(mesh, cell), inside, x, J));
    for (int a = 0; a < dim; a++) {
        most = fmax(most, fabs(target[a]));
        away = fmax(away, fabs(target[a] - x[a]));
    }
    *roundings = away / most;
done:
    return status;
}

struct search {
    const struct mesh_locator *locator;
    const double *target;
    int32_t cell;
    double claim, xi[3];
    facet_status status;
};

static int visit_cell(void *user, int32_t cell) {
    struct search *search = user;
    const struct facet_mesh *mesh = search->locator->mesh;
    double xi[3] = {0}, roundings;
    int found;
    search->status = mesh_invert(mesh, cell, search->locator->lattices[mesh_block_index(mesh, cell)],
                                 search->target, xi, &found);
    if (search->status != FACET_OK) return 1;
    if (!found) return 0;
    double claim = mesh_outside_by(mesh_block_of(mesh, cell)->shape, xi);
    if (search->cell >= 0 &&
        (claim > search->claim ||
         (claim == search->claim && number_of(mesh, cell) > number_of(mesh, search->cell))))
        return 0;
    if (claim > OUTSIDE) {
        search->status = roundings_away(mesh, cell, xi, search->target, &roundings);
        if (search->status != FACET_OK) return 1;
        if (!(roundings < MOST_ROUNDINGS)) return 0;
    }
    search->cell = cell;
    search->claim = claim;
    for (int a = 0; a < 3; a++) search->xi[a] = xi[a];
    return claim < -INSIDE;
}

struct count {
    const struct mesh_locator *locator;
    const double *target;
    int32_t but, one;
    int n;
    facet_status status;
};

/* Neighbours by a vertex do not overlap, or their Jacobians or orientations would have told. */
static int share_vertex(const struct facet_mesh *mesh, int32_t a, int32_t b) {
    const struct mesh_block *p = mesh_block_of(mesh, a), *q = mesh_block_of(mesh, b);
    int n = shape_n_vertices(p->shape), m = shape_n_vertices(q->shape);
    const int32_t *u = p->vertices + (int64_t)(a - p->first) * n,
                  *v = q->vertices + (int64_t)(b - q->first) * m;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            if (u[i] == v[k]) return 1;
    return 0;
}

/* As mesh_invert, but for points most of which are not in the cell: Newton from its middle gives up as soon
 * as it leaves. */
static facet_status is_inside(const struct mesh_locator *locator, int32_t cell, const double *target,
                              int *inside) {
    enum { MOST_STEPS = 20, MOST_OUTSIDE = 2 };
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = locator->mesh;
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const double *nodes = mesh_cell_nodes(mesh, cell);
    int dim = mesh->dim, n = shape_n_vertices(block->shape), outside = 0, arrived = 0;
    double xi[3] = {0}, x[3], J[9], r[3], step[3];
    *inside = 0;
    if (block->affine[cell - block->first]) {
        TRY(mesh_invert(mesh, cell, NULL, target, xi, &arrived));
        *inside = arrived && mesh_outside_by(block->shape, xi) < -INSIDE;
        goto done;
    }
    double small = 1e-10 * mesh_extent(block->n_nodes, dim, nodes);
    for (int i = 0; i < n * dim; i++) xi[i % dim] += shape_vertices(block->shape)[i] / n;
    for (int k = 0; k < MOST_STEPS && !arrived && outside < MOST_OUTSIDE; k++) {
        TRY(mesh_point_map(block->shape, mesh->order, dim, nodes, xi, x, J));
        arrived = 1;
        for (int a = 0; a < dim; a++) {
            r[a] = target[a] - x[a];
            arrived = arrived && fabs(r[a]) <= small;
        }
        if (!solve_small(dim, J, r, step)) break;
        for (int a = 0; a < dim; a++) xi[a] += fmin(fmax(step[a], -0.5), 0.5);
        outside = mesh_outside_by(block->shape, xi) > 0.1 ? outside + 1 : 0;
    }
    *inside = arrived && mesh_outside_by(block->shape, xi) < -INSIDE;
done:
    return status;
}

static int count_cell(void *user, int32_t cell) {
    struct count *count = user;
    const struct facet_mesh *mesh = count->locator->mesh;
    int inside;
    if (cell == count->but || share_vertex(mesh, cell, count->but)) return 0;
    count->status = is_inside(count->locator, cell, count->target, &inside);
    if (count->status != FACET_OK) return 1;
    if (inside) count->one = cell, count->n++;
    return 0;
}

facet_status mesh_count_around(const struct mesh_locator *locator, const double *x, int32_t but, int *n,
                               int32_t *one) {
    struct count count = {.locator = locator, .target = x, .but = but, .one = -1};
    mesh_tree_query(&locator->tree, x, x, count_cell, &count);
    *n = count.n;
    *one = count.one;
    return count.status;
}

/* A point beside the box has the nearest cell, and is as far outside as from that. */
static int32_t locate_in_box(const struct facet_mesh *mesh, const double *target, double *xi) {
    int32_t cell = mesh_box_cell(mesh, target);
    double most = 0, away = 0, nodes[3 * SHAPE_MAX_VERTICES];
    const double *lower = nodes, *upper = nodes + ((1 << mesh->dim) - 1) * mesh->dim;
    mesh_box_nodes(mesh, cell, nodes);
    for (int a = 0; a < mesh->dim; a++) {
        xi[a] = (target[a] - lower[a]) / (upper[a] - lower[a]);
        most = fmax(most, fabs(target[a]));
        away = fmax(away, fmax(lower[a] - target[a], target[a] - upper[a]));
    }
    return mesh_outside_by(mesh->blocks[0].shape, xi) <= OUTSIDE || away < MOST_ROUNDINGS * most ? cell : -1;
}

/* Without a tree: the cells whose boxes hold the point, in their order. */
static facet_status visit_all(const struct mesh_locator *locator, struct search *search) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = locator->mesh;
    const int dim = mesh->dim;
    int32_t *found = NULL;
    int64_t n = 0, room = 0;
    for (int b = 0; b < mesh->n_blocks; b++) room += mesh->blocks[b].count;
    TRY(ALLOC(found, room));
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
#pragma omp parallel for num_threads(base_threads_for(block->count)) schedule(static)
        for (int32_t c = 0; c < block->count; c++) {
            double box[6];
            int holds = 1;
            int64_t at;
            if (is_far(mesh, block, c, search->target)) continue;
            cell_box(mesh, block, c, box);
            for (int a = 0; a < dim; a++)
                holds &= search->target[a] >= box[a] && search->target[a] <= box[dim + a];
            if (!holds) continue;
#pragma omp atomic capture
            at = n++;
            found[at] = block->first + c;
        }
    }
    base_sort(n, found);
    for (int64_t i = 0; i < n && !visit_cell(search, found[i]); i++) continue;
done:
    base_free(&found);
    return status;
}

facet_status mesh_locate(const struct mesh_locator *locator, const double *x, int32_t *cell, double *xi) {
    struct search search = {.locator = locator, .target = x, .cell = -1};
    int dim = locator->mesh->dim;
    for (int a = 0; a < dim; a++)
        if (!isfinite(x[a])) return base_fail(FACET_ERROR_INPUT, "coordinate %d of the point is %g", a, x[a]);
    if (mesh_bricks(locator->mesh) != NULL) {
        *cell = locate_in_box(locator->mesh, x, xi);
        return FACET_OK;
    }
    if (locator->boxes != NULL)
        mesh_tree_query(&locator->tree, x, x, visit_cell, &search);
    else {
        facet_status status = visit_all(locator, &search);
        if (status != FACET_OK) return status;
    }
    *cell = search.cell;
    for (int a = 0; a < dim; a++) xi[a] = search.xi[a];
    return search.status;
}
