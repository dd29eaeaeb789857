/* See whole.h. */
#include "boxhdg/whole.h"

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

int64_t boxhdg_whole_vertices(const struct boxhdg_lanes *lanes) {
    int64_t n = 1;
    for (int d = 0; d < lanes->hdg->grid.dim; d++) n *= whole_of(lanes)->cells[d] + 1;
    return n;
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

struct whole {
    struct base_team *team;
    int64_t n, *places; /* of the unknowns of the block in the lattice of the whole */
    struct box_grid grid;
    struct box_diagonal *diagonal;
    struct operator solve;
    struct vector b, u; /* lattices */
};

static void whole_free(void **data) {
    struct whole *w = *data;
    if (w == NULL) return;
    base_free(&w->places);
    operator_destroy(&w->solve);
    box_diagonal_destroy(&w->diagonal);
    box_grid_destroy(&w->grid);
    vector_destroy(&w->b);
    vector_destroy(&w->u);
    base_free(data);
}

static facet_status whole_apply(void *data, const double *b, double *x) {
    facet_status status = FACET_OK;
    struct whole *w = data;
    vector_fill(&w->b, 0.0);
    for (int64_t i = 0; i < w->n; i++) w->b.data[w->places[i]] += b[i];
    TRY(team_reduce(w->team, TEAM_SUM, (int)w->b.n, w->b.data));
    operator_apply(&w->solve, &w->b, &w->u);
    for (int64_t i = 0; i < w->n; i++) x[i] = w->u.data[w->places[i]];
done:
    return status;
}

static facet_status find_places(const struct boxhdg_lanes *lanes, const int size[3], const int64_t *numbers,
                                const int sizes[3], struct whole *w) {
    const struct part_box *whole = whole_of(lanes);
    facet_status status = ALLOC(w->places, w->n);
    for (int64_t i = 0; status == FACET_OK && i < (int64_t)size[0] * size[1] * size[2]; i++) {
        int at[3] = {(int)(i % size[0]), (int)(i / size[0] % size[1]), (int)(i / size[0] / size[1])};
        if (numbers[i] < 0) continue;
        for (int axis = 0; axis < 3; axis++)
            if (lanes->direction[axis] >= 0) at[axis] += whole->first[lanes->direction[axis]];
        w->places[numbers[i]] = ((int64_t)at[2] * sizes[1] + at[1]) * sizes[0] + at[0];
    }
    return status;
}

/* The mean over the cells of all blocks, and the inverses. */
static facet_status set_inverses(const struct boxhdg_lanes *lanes, const double mean[8], struct whole *w) {
    facet_status status = FACET_OK;
    const struct box_grid *own = &lanes->hdg->grid;
    double all[8], *inverses = NULL;
    int64_t total = 1;
    for (int i = 0; i < 8; i++) all[i] = mean[i] * (double)own->n_cells / (double)w->grid.n_cells;
    for (int axis = 0; axis < 3; axis++) total *= box_diagonal_axis(w->diagonal, axis)->n_modes;
    TRY(team_reduce(w->team, TEAM_SUM, 8, all));
    TRY(ALLOC(inverses, total));
    boxhdg_invert_products(w->diagonal, all, own->singular, inverses);
    TRY(box_diagonal_set_inverses(w->diagonal, inverses));
done:
    base_free(&inverses);
    return status;
}

facet_status operator_create_whole(const struct boxhdg_lanes *lanes, const double mean[8], const int size[3],
                                   const int64_t *numbers, int64_t n, struct operator* M) {
    facet_status status = FACET_OK;
    struct box_element linear = {0};
    struct whole *w = NULL;
    int sizes[3];
    TRY(CALLOC(w, 1));
    w->team = lanes->hdg->grid.part->team;
    w->n = n;
    TRY(gather_grid(lanes, &w->grid));
    for (int axis = 0; axis < 3; axis++) {
        const int d = lanes->direction[axis];
        sizes[axis] = d >= 0 ? w->grid.cells[d] + 1 : 1;
    }
    TRY(box_element_create(1, &linear));
    TRY(box_diagonal_create(device_host(), &w->grid, &linear, lanes->direction, sizes, 1, &w->diagonal));
    TRY(set_inverses(lanes, mean, w));
    operator_create_diagonal_solve(w->diagonal, &w->solve);
    TRY(find_places(lanes, size, numbers, sizes, w));
    TRY(vector_create(device_host(), (int64_t)sizes[0] * sizes[1] * sizes[2], &w->b));
    TRY(vector_create(device_host(), w->b.n, &w->u));
    status = operator_create_host(device_host(), n, "the vertices of the whole box", whole_apply, w,
                                  whole_free, M);
    w = NULL;
done:
    box_element_destroy(&linear);
    whole_free((void **)&w);
    return status;
}
