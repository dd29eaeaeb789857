/* Where is a point? A tree of the cells' boxes gives a few candidates, each is asked for the point's
 * reference coordinates (Newton from the middle and from nodes), and the cell with the best claim to the
 * point wins.
 */
#include <math.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/sort.h"
#include "mesh/mesh_internal.h"
#include "mesh/part.h"

/* A point may lie outside its cell by this in reference coordinates. */
#define OUTSIDE 1e-8
/* A cell is at once the answer when the point is inside by more than this. */
#define INSIDE 1e-12
/* A cell may be so thin that roundings of the coordinates, which are this small, are more than OUTSIDE of it.
 */
#define MOST_ROUNDINGS (8 * 2.3e-16)

/* Newton's steps from which on it does not move any more. */
#define STANDS_STILL 1e-6

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

/* Curved cells may bulge out of the box of their nodes, a parabola by an eighth of it. */
#define BULGE 0.25

/* The box around a cell, 2 dim numbers. */
static void cell_box(const struct facet_mesh *mesh, const struct mesh_block *block, int32_t c, double *box) {
    const int dim = mesh->dim;
    const double *nodes = block->nodes + (int64_t)c * block->n_nodes * dim;
    double margin = mesh->order > 1 && !block->affine[c] ? BULGE : 2 * OUTSIDE;
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

int64_t mesh_cell_number(const struct facet_mesh *mesh, int32_t cell) {
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

/* A search for the point of a cell that is the target: Newton from one start after the other. */
enum arrival { NOWHERE, AT_BORDER, AT_ROOT };
struct inversion {
    const struct facet_mesh *mesh;
    const struct mesh_block *block;
    const double *nodes, *target;
    int nearest;          /* node */
    double away;          /* its distance */
    enum arrival arrival; /* of the last start */
    int found;            /* some start came to a root; the one that is the least outside: */
    double xi[3], outside;
};

static double distance_to(const struct inversion *v, const double *x) {
    double square = 0;
    for (int a = 0; a < v->mesh->dim; a++) square += (v->target[a] - x[a]) * (v->target[a] - x[a]);
    return sqrt(square);
}

/* Newton for x(xi) = target. The steps are kept near the cell, where the map is sane; where they stand still
 * at the border of that, nearer to the target than all nodes, they would go on beyond. The last step is taken
 * after the residual is small, which brings xi to rounding. */
static facet_status newton(const struct inversion *v, double *xi, enum arrival *arrival) {
    facet_status status = FACET_OK;
    int dim = v->mesh->dim;
    double x[3], J[9], r[3], step[3], small = 1e-12 * mesh_extent(v->block->n_nodes, dim, v->nodes);
    for (int a = 0; a < dim; a++) small = fmax(small, 4e-15 * fabs(v->target[a]));
    *arrival = NOWHERE;
    for (int iteration = 0; iteration < 40 && *arrival == NOWHERE; iteration++) {
        TRY(mesh_point_map(v->block->shape, v->mesh->order, dim, v->nodes, xi, x, J));
        double left = 0, change = 0;
        int at_border = 0;
        for (int a = 0; a < dim; a++) {
            r[a] = v->target[a] - x[a];
            left = fmax(left, fabs(r[a]));
        }
        if (!solve_small(dim, J, r, step)) break;
        for (int a = 0; a < dim; a++) {
            const double old = xi[a];
            xi[a] = fmin(fmax(old + fmin(fmax(step[a], -0.5), 0.5), -0.5), 1.5);
            at_border |= xi[a] == -0.5 || xi[a] == 1.5;
            change = fmax(change, fabs(xi[a] - old));
        }
        if (left <= small) {
            *arrival = AT_ROOT;
        } else if (at_border && change < STANDS_STILL) {
            if (distance_to(v, x) < v->away) *arrival = AT_BORDER;
            break;
        }
    }
done:
    return status;
}

static facet_status start_at(struct inversion *v, const double *start) {
    const int dim = v->mesh->dim;
    double xi[3];
    for (int a = 0; a < dim; a++) xi[a] = start[a];
    facet_status status = newton(v, xi, &v->arrival);
    if (status != FACET_OK) return status;
    double outside = mesh_outside_by(v->block->shape, xi);
    if (v->arrival != AT_ROOT || (v->found && outside >= v->outside)) return FACET_OK;
    v->found = 1;
    v->outside = outside;
    for (int a = 0; a < dim; a++) v->xi[a] = xi[a];
    return FACET_OK;
}

static int is_inside(const struct inversion *v) {
    return v->found && v->outside <= OUTSIDE;
}

/* From every node but the nearest to the target, in the order of their distances from it. */
static facet_status start_everywhere(struct inversion *v, const double *lattice) {
    facet_status status = FACET_OK;
    const int dim = v->mesh->dim, n = v->block->n_nodes;
    double last = v->away;
    for (int turn = 1, node = v->nearest; turn < n && !is_inside(v); turn++) {
        int next = -1;
        double least = INFINITY;
        for (int i = 0; i < n; i++) {
            double away = distance_to(v, v->nodes + i * dim);
            int comes_later = away > last || (away == last && i > node);
            if (!comes_later || away >= least) continue;
            least = away;
            next = i;
        }
        if (next < 0) break;
        last = least;
        node = next;
        TRY(start_at(v, lattice + (int64_t)node * dim));
    }
done:
    return status;
}

/* Whether the target is outside of the box around the nodes along the axes of J in the middle, by more than a
 * curved cell may bulge out of it. */
static facet_status is_beyond(const struct inversion *v, const double *middle, int *beyond) {
    facet_status status = FACET_OK;
    const int dim = v->mesh->dim;
    double x[3], J[9], away[3], at[3], lower[3], upper[3];
    *beyond = 0;
    TRY(mesh_point_map(v->block->shape, v->mesh->order, dim, v->nodes, middle, x, J));
    for (int i = 0; i <= v->block->n_nodes; i++) { /* the last is the target */
        const double *node = i < v->block->n_nodes ? v->nodes + i * dim : v->target;
        for (int a = 0; a < dim; a++) away[a] = node[a] - x[a];
        if (!solve_small(dim, J, away, at)) goto done;
        for (int a = 0; a < dim && i < v->block->n_nodes; a++) {
            lower[a] = i > 0 ? fmin(lower[a], at[a]) : at[a];
            upper[a] = i > 0 ? fmax(upper[a], at[a]) : at[a];
        }
    }
    for (int a = 0; a < dim; a++) {
        double margin = BULGE * (upper[a] - lower[a]);
        *beyond |= at[a] < lower[a] - margin || at[a] > upper[a] + margin;
    }
done:
    return status;
}

/* Outside of a strongly curved cell the map folds, and Newton may go astray from the middle and from the
 * nearest node. */
static facet_status find_inside(struct inversion *v, const double *lattice) {
    facet_status status = FACET_OK;
    const int dim = v->mesh->dim, n_vertices = shape_n_vertices(v->block->shape);
    const double *vertices = shape_vertices(v->block->shape);
    double middle[3] = {0};
    int beyond;
    for (int a = 0; a < dim; a++)
        for (int k = 0; k < n_vertices; k++) middle[a] += vertices[k * dim + a] / n_vertices;
    v->nearest = mesh_nearest_node(v->block->n_nodes, dim, v->nodes, v->target);
    v->away = distance_to(v, v->nodes + (int64_t)v->nearest * dim);
    TRY(start_at(v, middle));
    if (is_inside(v)) goto done;
    TRY(start_at(v, lattice + (int64_t)v->nearest * dim));
    if (v->found || v->arrival != NOWHERE) goto done;
    TRY(is_beyond(v, middle, &beyond));
    if (!beyond) TRY(start_everywhere(v, lattice));
done:
    return status;
}

facet_status mesh_invert(const struct facet_mesh *mesh, int32_t cell, const double *lattice,
                         const double *target, double *xi, int *found) {
    int dim = mesh->dim;
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const double *nodes = mesh_cell_nodes(mesh, cell);
    if (block->affine[cell - block->first]) {
        double J[9], r[3];
        mesh_affine_jacobian(block->shape, mesh->order, nodes, J);
        for (int a = 0; a < dim; a++) r[a] = target[a] - nodes[a];
        *found = solve_small(dim, J, r, xi);
        return FACET_OK;
    }
    struct inversion v = {.mesh = mesh, .block = block, .nodes = nodes, .target = target};
    facet_status status = find_inside(&v, lattice);
    *found = v.found;
    for (int a = 0; a < dim; a++) xi[a] = v.xi[a];
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
    int alone;                  /* of mesh_locate_all */
    struct mesh_places *places; /* likewise; NULL: the best cell alone is wanted */
    facet_status status;
};

/* Whether a cell has the point inside or touches it. */
static int touches(struct search *search, int32_t cell, struct mesh_place *place) {
    const struct facet_mesh *mesh = search->locator->mesh;
    double roundings;
    int found;
    *place = (struct mesh_place){.cell = cell};
    search->status = mesh_invert(mesh, cell, search->locator->lattices[mesh_block_index(mesh, cell)],
                                 search->target, place->xi, &found);
    if (search->status != FACET_OK || !found) return 0;
    place->claim = mesh_outside_by(mesh_block_of(mesh, cell)->shape, place->xi);
    if (place->claim <= OUTSIDE) return 1;
    search->status = roundings_away(mesh, cell, place->xi, search->target, &roundings);
    return search->status == FACET_OK && roundings < MOST_ROUNDINGS;
}

static facet_status add_place(struct mesh_places *places, const struct mesh_place *place) {
    if (places->n == places->room) {
        int room = 2 * places->room + 8;
        facet_status status = base_realloc(&places->items, (size_t)room, sizeof *places->items);
        if (status != FACET_OK) return status;
        places->room = room;
    }
    int i = places->n++;
    for (; i > 0 && places->items[i - 1].cell > place->cell; i--) places->items[i] = places->items[i - 1];
    places->items[i] = *place;
    return FACET_OK;
}

/* Of cells that share a point the one with the least claim wins, and of those the first in the order of the
 * whole mesh. */
static int visit_cell(void *user, int32_t cell) {
    struct search *search = user;
    const struct facet_mesh *mesh = search->locator->mesh;
    struct mesh_place place;
    if (!touches(search, cell, &place)) return search->status != FACET_OK;
    if (search->places != NULL) {
        const int deep = search->alone && place.claim < -MESH_DEEP;
        if (deep) search->places->n = 0;
        search->status = add_place(search->places, &place);
        return deep || search->status != FACET_OK;
    }
    if (search->cell >= 0 && (place.claim > search->claim ||
                              (place.claim == search->claim &&
                               mesh_cell_number(mesh, cell) > mesh_cell_number(mesh, search->cell))))
        return 0;
    search->cell = cell;
    search->claim = place.claim;
    for (int a = 0; a < 3; a++) search->xi[a] = place.xi[a];
    return place.claim < -INSIDE;
}

/* The reference coordinates in a cell of a box, and whether the point lies there or touches the cell. */
static int is_in_brick(const struct facet_mesh *mesh, int32_t cell, const double *target, double *xi) {
    double most = 0, away = 0, nodes[3 * SHAPE_MAX_VERTICES];
    const double *lower = nodes, *upper = nodes + ((1 << mesh->dim) - 1) * mesh->dim;
    mesh_box_nodes(mesh, cell, nodes);
    for (int a = 0; a < mesh->dim; a++) {
        xi[a] = (target[a] - lower[a]) / (upper[a] - lower[a]);
        most = fmax(most, fabs(target[a]));
        away = fmax(away, fmax(lower[a] - target[a], target[a] - upper[a]));
    }
    return mesh_outside_by(mesh->blocks[0].shape, xi) <= OUTSIDE || away < MOST_ROUNDINGS * most;
}

/* A point beside the box has the nearest cell, and is as far outside as from that. */
static int32_t locate_in_box(const struct facet_mesh *mesh, const double *target, double *xi) {
    int32_t cell = mesh_box_cell(mesh, target);
    return is_in_brick(mesh, cell, target, xi) ? cell : -1;
}

/* The nearest cell and those around it. */
static facet_status locate_around(const struct facet_mesh *mesh, const double *target,
                                  struct mesh_places *places) {
    facet_status status = FACET_OK;
    const struct mesh_box *bricks = mesh_bricks(mesh);
    int index[3];
    int32_t stride[3] = {1, bricks->cells[0], bricks->cells[0] * bricks->cells[1]},
            middle = mesh_box_cell(mesh, target);
    mesh_box_index(mesh, middle, index);
    for (int k = 0; k < (mesh->dim == 3 ? 27 : 9); k++) {
        struct mesh_place place = {.cell = middle};
        int there = 1;
        for (int a = 0, rest = k; a < mesh->dim; a++, rest /= 3) {
            int step = rest % 3 - 1;
            there &= index[a] + step >= 0 && index[a] + step < bricks->cells[a];
            place.cell += step * stride[a];
        }
        if (!there || !is_in_brick(mesh, place.cell, target, place.xi)) continue;
        place.claim = mesh_outside_by(mesh->blocks[0].shape, place.xi);
        TRY(add_place(places, &place));
    }
done:
    return status;
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

static facet_status check_point(int dim, const double *x) {
    for (int a = 0; a < dim; a++)
        if (!isfinite(x[a])) return base_fail(FACET_ERROR_INPUT, "coordinate %d of the point is %g", a, x[a]);
    return FACET_OK;
}

static facet_status run_search(struct search *search) {
    const struct mesh_locator *locator = search->locator;
    if (locator->boxes == NULL) {
        facet_status status = visit_all(locator, search);
        return status != FACET_OK ? status : search->status;
    }
    mesh_tree_query(&locator->tree, search->target, search->target, visit_cell, search);
    return search->status;
}

facet_status mesh_locate(const struct mesh_locator *locator, const double *x, int32_t *cell, double *xi) {
    struct search search = {.locator = locator, .target = x, .cell = -1};
    int dim = locator->mesh->dim;
    facet_status status = check_point(dim, x);
    if (status != FACET_OK) return status;
    if (mesh_bricks(locator->mesh) != NULL) {
        *cell = locate_in_box(locator->mesh, x, xi);
        return FACET_OK;
    }
    status = run_search(&search);
    *cell = search.cell;
    for (int a = 0; a < dim; a++) xi[a] = search.xi[a];
    return status;
}

facet_status mesh_locate_all(const struct mesh_locator *locator, const double *x, int alone,
                             struct mesh_places *places) {
    struct search search = {.locator = locator, .target = x, .cell = -1, .alone = alone, .places = places};
    facet_status status = check_point(locator->mesh->dim, x);
    places->n = 0;
    if (status != FACET_OK) return status;
    if (mesh_bricks(locator->mesh) != NULL) return locate_around(locator->mesh, x, places);
    return run_search(&search);
}

void mesh_places_free(struct mesh_places *places) {
    base_free(&places->items);
    *places = (struct mesh_places){0};
}
