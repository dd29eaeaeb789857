/* See shared_vertices.h. */
#include "boxhdg/shared_vertices.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"

#define SMALL_ANGLE 1e-11 /* an eigenvalue below this part of the largest is the kernel's */

void boxhdg_invert_products(const struct box_diagonal *diagonal, const double mean[8], int singular,
                            double *inverses) {
    const struct box_direction *axes[3];
    double largest = 0.0;
    int64_t total = 1;
    for (int axis = 0; axis < 3; axis++) {
        axes[axis] = box_diagonal_axis(diagonal, axis);
        total *= axes[axis]->n_modes;
    }
    const int64_t n[2] = {axes[0]->n_modes, axes[1]->n_modes};
#pragma omp parallel for num_threads(base_threads_for(total)) reduction(max : largest)
    for (int64_t i = 0; i < total; i++) {
        int64_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        double sum = 0.0, leading = 0.0;
        for (int term = 0; term < 8; term++) {
            double value = mean[term];
            for (int axis = 0; axis < 3; axis++)
                if (term & (4 >> axis)) value *= axes[axis]->theta[at[axis]];
            sum += value;
            if (term == 0 || term == 1 || term == 2 || term == 4) leading += fmax(value, 0.0);
        }
        inverses[i] = fmax(sum, 0.05 * leading); /* averages need not keep the sum positive */
        largest = fmax(largest, inverses[i]);
    }
#pragma omp parallel for num_threads(base_threads_for(total))
    for (int64_t i = 0; i < total; i++)
        inverses[i] = singular && inverses[i] <= SMALL_ANGLE * largest ? 0.0 : 1.0 / inverses[i];
}

static const struct part_box *whole_of(const struct boxhdg_lanes *lanes) {
    return &lanes->hdg->grid.part->mesh->part->box;
}

/* Axes in the order in which points become modes: those of which a block has the least part last, since there
 * all the others are modes already. */
static void choose_order(const int points[3], const int modes[3], int order[3]) {
    for (int i = 0; i < 3; i++) {
        int at = i;
        for (; at > 0; at--) {
            const int before = order[at - 1];
            if ((int64_t)points[before] * modes[i] >= (int64_t)points[i] * modes[before]) break;
            order[at] = before;
        }
        order[at] = i;
    }
}

/* Up to so many vertices of the whole box there is nothing to think about, and so many operations for each
 * vertex of a block take as long as a cycle of algebraic multigrid. Every process holds all modes: there are
 * not more of them than MOST. */
#define FEW        30000
#define MOST       1000000
#define OPERATIONS 4000.0

facet_status boxhdg_shared_vertices_pay(const struct boxhdg_lanes *lanes, int *pays) {
    facet_status status = FACET_OK;
    const struct box_grid *own = &lanes->hdg->grid;
    int points[3] = {1, 1, 1}, all[3] = {1, 1, 1}, order[3];
    double n = 1.0, operations = 0.0, part = 1.0;
    for (int d = 0; d < own->dim; d++) {
        points[d] = own->cells[d] + 1;
        all[d] = whole_of(lanes)->cells[d] + 1;
        n *= all[d];
    }
    choose_order(points, all, order);
    for (int i = 0; i < 3; i++) { /* to modes and back, a product and a sum each */
        operations += 4.0 * part * all[order[i]];
        part *= (double)all[order[i]] / points[order[i]];
    }
    TRY(team_reduce(own->part->team, TEAM_MAX, 1, &operations));
    *pays = n <= FEW || (n <= MOST && operations <= OPERATIONS);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ the whole box */

/* Coordinates and sides from all blocks. */
static facet_status gather_grid(const struct boxhdg_lanes *lanes, struct box_grid *grid) {
    facet_status status = FACET_OK;
    const struct box_grid *own = &lanes->hdg->grid;
    const struct part_box *whole = whole_of(lanes);
    struct box_grid_data data = {.dim = own->dim, .cells = {1, 1, 1}};
    double *coordinates[3] = {NULL}, sides[6] = {0.0};
    for (int d = 0; d < own->dim; d++) {
        const int n = data.cells[d] = whole->cells[d], first = whole->first[d];
        TRY(ALLOC(coordinates[d], n + 1));
        for (int i = 0; i <= n; i++) coordinates[d][i] = -INFINITY;
        memcpy(coordinates[d] + first, own->coordinates[d], ((size_t)own->cells[d] + 1) * sizeof(double));
        TRY(team_reduce(own->part->team, TEAM_MAX, n + 1, coordinates[d]));
        data.coordinates[d] = coordinates[d];
        if (first == 0) sides[2 * d] = own->sides[d][0];
        if (first + own->cells[d] == n) sides[2 * d + 1] = own->sides[d][1];
    }
    TRY(team_reduce(own->part->team, TEAM_MAX, 6, sides));
    for (int i = 0; i < 2 * own->dim; i++)
        data.sides[i / 2][i % 2] = whole->periodic[i / 2] ? BOX_PERIODIC : (enum box_side)(int)sides[i];
    TRY(box_grid_create(&data, grid));
done:
    for (int d = 0; d < 3; d++) base_free(&coordinates[d]);
    return status;
}

/* ------------------------------------------------------------------------------------------ the solve */

struct shared_vertices {
    struct base_team *team;
    int64_t n, *places; /* of the unknowns of the block in its lattice */
    int points[3];      /* of the lattice, axis 0 fastest */
    int modes[3];       /* of the whole box */
    int order[3];       /* of the axes on the way to the modes */
    double *values[3];  /* modes x points: what modes have at points */
    double *inverses;
    double *work[2]; /* room for lattices of points and modes */
};

static void shared_vertices_free(void **data) {
    struct shared_vertices *w = *data;
    if (w == NULL) return;
    base_free(&w->places);
    for (int axis = 0; axis < 3; axis++) base_free(&w->values[axis]);
    base_free(&w->inverses);
    for (int i = 0; i < 2; i++) base_free(&w->work[i]);
    base_free(data);
}

static int64_t size_of(const int n[3]) {
    return (int64_t)n[0] * n[1] * n[2];
}

/* Points of an axis to modes, or back; n: of the lattice in work[0], which the result takes the place of. */
static void turn(struct shared_vertices *w, int axis, int back, int n[3]) {
    const int from = n[axis], to = back ? w->points[axis] : w->modes[axis], step = w->points[axis];
    const double *S = w->values[axis], *in = w->work[0];
    double *out = w->work[1];
    int64_t inner = 1;
    for (int a = 0; a < axis; a++) inner *= n[a];
    const int64_t outer = size_of(n) / inner / from;
    /* rows of the first axis, columns of the others, so many at a time */
    const int64_t lines = axis == 0 ? outer : inner, chunks = (lines + BOX_COLUMNS - 1) / BOX_COLUMNS,
                  parts = axis == 0 ? 1 : outer;
#pragma omp parallel for num_threads(base_threads_for(outer *inner *to)) schedule(static)
    for (int64_t i = 0; i < parts * chunks; i++) {
        const int64_t part = i / chunks, first = i % chunks * BOX_COLUMNS;
        const int count = (int)(lines - first < BOX_COLUMNS ? lines - first : BOX_COLUMNS);
        if (axis == 0)
            box_multiply(0, !back, count, to, from, 1.0, in + first * from, from, S, step, 0.0,
                         out + first * to, to);
        else
            box_multiply(back, 0, to, count, from, 1.0, S, step, in + part * from * inner + first, inner, 0.0,
                         out + part * to * inner + first, inner);
    }
    n[axis] = to;
    w->work[1] = w->work[0];
    w->work[0] = out;
}

static facet_status shared_vertices_apply(void *data, const double *b, double *x) {
    facet_status status = FACET_OK;
    struct shared_vertices *w = data;
    const int64_t n_modes = size_of(w->modes);
    int n[3] = {w->points[0], w->points[1], w->points[2]};
    memset(w->work[0], 0, (size_t)size_of(n) * sizeof *w->work[0]);
    for (int64_t i = 0; i < w->n; i++) w->work[0][w->places[i]] += b[i];
    for (int i = 0; i < 3; i++) turn(w, w->order[i], 0, n);
    TRY(team_reduce(w->team, TEAM_SUM, (int)n_modes, w->work[0]));
    for (int64_t i = 0; i < n_modes; i++) w->work[0][i] *= w->inverses[i];
    for (int i = 2; i >= 0; i--) turn(w, w->order[i], 1, n);
    for (int64_t i = 0; i < w->n; i++) x[i] = w->work[0][w->places[i]];
done:
    return status;
}

/* size: of the lattice that numbers belong to, which may be longer than that of the block. */
static facet_status find_places(const int size[3], const int64_t *numbers, struct shared_vertices *w) {
    facet_status status = ALLOC(w->places, w->n);
    for (int64_t i = 0; status == FACET_OK && i < size_of(size); i++) {
        const int64_t at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
        if (numbers[i] >= 0) w->places[numbers[i]] = (at[2] * w->points[1] + at[1]) * w->points[0] + at[0];
    }
    return status;
}

/* The modes of the whole box at the points of the block. */
static facet_status set_modes(const struct boxhdg_lanes *lanes, const struct box_diagonal *diagonal,
                              struct shared_vertices *w) {
    facet_status status = FACET_OK;
    for (int axis = 0; axis < 3; axis++) {
        const struct box_direction *x = box_diagonal_axis(diagonal, axis);
        const int d = lanes->direction[axis], first = d >= 0 ? whole_of(lanes)->first[d] : 0,
                  n = w->points[axis] = d >= 0 ? lanes->hdg->grid.cells[d] + 1 : 1;
        w->modes[axis] = x->n_modes;
        TRY(ALLOC(w->values[axis], (int64_t)x->n_modes * n));
        for (int mode = 0; mode < x->n_modes; mode++)
            for (int i = 0; i < n; i++)
                w->values[axis][mode * n + i] = box_direction_value(x, first + i, mode);
    }
    choose_order(w->points, w->modes, w->order);
    int n[3] = {w->points[0], w->points[1], w->points[2]};
    int64_t room = size_of(n);
    for (int i = 0; i < 3; i++) {
        n[w->order[i]] = w->modes[w->order[i]];
        if (size_of(n) > room) room = size_of(n);
    }
    for (int i = 0; i < 2; i++) TRY(ALLOC(w->work[i], room));
done:
    return status;
}

/* By the mean over the cells of all blocks. */
static facet_status set_inverses(const struct boxhdg_lanes *lanes, const double mean[8], double n_cells,
                                 const struct box_diagonal *diagonal, struct shared_vertices *w) {
    facet_status status = FACET_OK;
    const struct box_grid *own = &lanes->hdg->grid;
    double all[8];
    for (int i = 0; i < 8; i++) all[i] = mean[i] * (double)own->n_cells / n_cells;
    TRY(team_reduce(w->team, TEAM_SUM, 8, all));
    TRY(ALLOC(w->inverses, size_of(w->modes)));
    boxhdg_invert_products(diagonal, all, own->singular, w->inverses);
done:
    return status;
}

facet_status operator_create_shared_vertices(const struct boxhdg_lanes *lanes, const double mean[8],
                                             const int size[3], const int64_t *numbers, int64_t n,
                                             struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct box_element linear = {0};
    struct box_grid grid = {0};
    struct box_diagonal *diagonal = NULL;
    struct shared_vertices *w = NULL;
    int sizes[3];
    TRY(CALLOC(w, 1));
    w->team = lanes->hdg->grid.part->team;
    w->n = n;
    TRY(gather_grid(lanes, &grid));
    for (int axis = 0; axis < 3; axis++) {
        const int d = lanes->direction[axis];
        sizes[axis] = d >= 0 ? grid.cells[d] + 1 : 1;
    }
    TRY(box_element_create(1, &linear));
    TRY(box_diagonal_create(device_host(), &grid, &linear, lanes->direction, sizes, 1, &diagonal));
    TRY(set_modes(lanes, diagonal, w));
    TRY(set_inverses(lanes, mean, (double)grid.n_cells, diagonal, w));
    TRY(find_places(size, numbers, w));
    status = operator_create_host(device_host(), n, "the vertices of the whole box", shared_vertices_apply, w,
                                  shared_vertices_free, M);
    w = NULL;
done:
    box_diagonal_destroy(&diagonal);
    box_grid_destroy(&grid);
    box_element_destroy(&linear);
    shared_vertices_free((void **)&w);
    return status;
}
