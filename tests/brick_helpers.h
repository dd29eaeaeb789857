/* Bricks for tests: every dimension, degree and kind of side, equal and graded widths, constant and varying
 * coefficients, numbers of cells around the number of lanes. */
#ifndef FACET_TESTS_BRICK_HELPERS_H
#define FACET_TESTS_BRICK_HELPERS_H

#include <string.h>

#include "boxsem/brick.h"
#include "boxsem/patches.h"
#include "hdg_helpers.h"

#define D BOX_DIRICHLET
#define N BOX_NEUMANN
#define P BOX_PERIODIC
struct brick_case {
    int dim, k, cells[3];
    enum box_side sides[3][2];
    double grading; /* 0: equal widths */
    int k_varies, lambda_varies;
    double lambda;
};
static const struct brick_case brick_cases[] = {
    {3, 3, {18, 4, 3}, {{D, D}, {D, D}, {D, D}}, 0, 0, 0, 0},
    {3, 2, {9, 3, 4}, {{N, D}, {D, N}, {N, N}}, 0, 0, 0, 1.5},
    {3, 1, {20, 6, 5}, {{D, D}, {P, P}, {P, P}}, 0, 0, 0, 0.5},
    {3, 4, {4, 2, 2}, {{P, P}, {D, N}, {P, P}}, 0.2, 0, 0, 0},
    {3, 3, {10, 3, 5}, {{D, N}, {P, P}, {D, D}}, 0.1, 1, 1, 2},
    {3, 1, {17, 2, 3}, {{N, D}, {D, D}, {D, D}}, 0.3, 1, 0, 0},
    {3, 2, {1, 1, 1}, {{P, P}, {N, N}, {D, D}}, 0, 0, 0, 1},
    {3, 5, {3, 1, 2}, {{P, P}, {P, P}, {D, N}}, 0, 1, 1, 1},
    {3, 7, {2, 3, 2}, {{D, D}, {D, D}, {N, D}}, 0, 0, 0, 0},
    {3, 2, {4, 1, 1}, {{P, P}, {N, D}, {D, D}}, 0, 1, 0, 1},
    {2, 1, {33, 6}, {{D, D}, {N, N}}, 0, 0, 0, 0},
    {2, 6, {8, 5}, {{D, N}, {P, P}}, 0.2, 1, 0, 1},
    {2, 15, {3, 2}, {{D, D}, {D, D}}, 0, 0, 0, 0},
    {2, 8, {2, 9}, {{P, P}, {D, D}}, 0, 0, 1, 3},
    {1, 9, {16}, {{D, N}}, 0.1, 1, 1, 1},
    {1, 12, {3}, {{P, P}}, 0, 0, 0, 1},
    {1, 1, {1}, {{N, N}}, 0, 0, 0, 1},
    {1, 1, {1}, {{D, D}}, 0, 0, 0, 1},
    {3, 5, {4, 8, 4}, {{D, D}, {N, D}, {P, P}}, 0, 0, 0, 1},
    {3, 6, {8, 4, 2}, {{P, P}, {D, D}, {D, N}}, 0, 0, 0, 0},
    {3, 8, {4, 4, 2}, {{N, N}, {P, P}, {D, D}}, 0, 0, 0, 2},
    {3, 3, {18, 8, 4}, {{D, N}, {D, D}, {P, P}}, 0, 0, 0, 0},
    {3, 2, {26, 16, 4}, {{D, D}, {P, P}, {N, D}}, 0, 0, 0, 0},
    {3, 7, {8, 4, 2}, {{D, D}, {D, D}, {D, D}}, 0, 0, 0, 1},
    {3, 4, {14, 4, 2}, {{P, P}, {N, N}, {D, D}}, 0, 0, 0, 0},
};
#undef D
#undef N
#undef P
enum { N_BRICKS = sizeof brick_cases / sizeof *brick_cases };

struct brick_setup {
    const struct device *device;
    struct box_grid grid, coarse;
    struct box_element element;
    struct boxsem_brick brick;
    struct boxsem_patches patches;
    struct box_element linear;
    struct boxsem_transfer transfer, vertices; /* from half the cells; from the linear functions of all */
    int64_t n, n_coarse, n_vertices;           /* nodes */
};

/* A grid with `step` cells of the case joined into one where their number allows it. */
static inline void make_brick_grid(const struct brick_case *c, int step, struct box_grid *grid) {
    struct box_grid_data data = {.dim = c->dim};
    double *coordinates[3], *k = NULL, *lambda = NULL;
    int64_t n_cells = 1;
    uint32_t seed = 11;
    for (int d = 0; d < c->dim; d++) {
        int stride = c->cells[d] % step == 0 ? step : 1, n = data.cells[d] = c->cells[d] / stride;
        data.coordinates[d] = coordinates[d] = test_malloc(((size_t)n + 1) * sizeof(double));
        for (int i = 0; i <= n; i++) {
            double s = (double)(i * stride) / c->cells[d];
            coordinates[d][i] = (1 + 0.5 * d) * (s + c->grading * s * s);
        }
        data.sides[d][0] = c->sides[d][0];
        data.sides[d][1] = c->sides[d][1];
        n_cells *= n;
    }
    k = test_malloc((size_t)n_cells * sizeof *k);
    lambda = test_malloc((size_t)n_cells * sizeof *lambda);
    for (int64_t i = 0; i < n_cells; i++) {
        k[i] = c->k_varies ? exp(2 * random_signed(&seed)) : 1.25;
        lambda[i] = c->lambda_varies ? c->lambda * (1.5 + random_signed(&seed)) : c->lambda;
    }
    data.conductivity = k;
    data.reaction = lambda;
    ok(box_grid_create(&data, grid));
    for (int d = 0; d < c->dim; d++) test_free(coordinates[d]);
    test_free(k);
    test_free(lambda);
}

static inline void brick_setup_create(const struct device *device, int number, struct brick_setup *s) {
    const struct brick_case *c = &brick_cases[number];
    *s = (struct brick_setup){.device = device};
    make_brick_grid(c, 1, &s->grid);
    make_brick_grid(c, 2, &s->coarse);
    ok(box_element_create(c->k, &s->element));
    ok(boxsem_brick_create(device, &s->grid, &s->element, &s->brick));
    ok(boxsem_patches_create(device, &s->grid, &s->element, &s->brick.cells, &s->patches));
    ok(boxsem_transfer_create(device, &s->grid, &s->coarse, &s->element, &s->element, &s->transfer));
    ok(box_element_create(1, &s->linear));
    ok(boxsem_transfer_create(device, &s->grid, &s->grid, &s->element, &s->linear, &s->vertices));
    s->n = s->n_coarse = s->n_vertices = 1;
    for (int d = 0; d < 3; d++) {
        s->n *= s->transfer.plan.axis[d].n_fine;
        s->n_coarse *= s->transfer.plan.axis[d].n_coarse;
        s->n_vertices *= s->vertices.plan.axis[d].n_coarse;
    }
    assert_true(s->n == brick_n_nodes(&s->brick.cells));
}

static inline void brick_setup_destroy(struct brick_setup *s) {
    boxsem_transfer_destroy(&s->transfer);
    boxsem_transfer_destroy(&s->vertices);
    box_element_destroy(&s->linear);
    boxsem_patches_destroy(&s->patches);
    boxsem_brick_destroy(&s->brick);
    box_element_destroy(&s->element);
    box_grid_destroy(&s->grid);
    box_grid_destroy(&s->coarse);
}

#endif
