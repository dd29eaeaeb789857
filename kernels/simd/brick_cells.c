/* Continuous elements on bricks: the operator and its diagonal, in both precisions; the bodies stand in
 * brick_cells_real.h and brick_diagonal_real.h. */
#include "kernels/brick.h"

#include <omp.h>
#include <stddef.h>

#include "kernels/simd/lane.h"

/* The brick as the kernels go through it: with the last direction of more than one node always in place 2 (a
 * direction of one node may change places with another without moving a number), layers of cells along it
 * shared by the threads. */
struct brick_view {
    int64_t n[3];     /* nodes of a cell */
    int64_t nodes[3]; /* of the brick */
    int cells[3], periodic[3], fixed[3][2];
    const struct brick_element *element[3];
    const double *widths[3];
    const double *conductivity, *reaction;
    double k, lambda;
};

static struct brick_view brick_view(const struct brick_cells *c) {
    const int swap = c->element[2].k == 0, from[3] = {0, swap ? 2 : 1, swap ? 1 : 2};
    struct brick_view v = {
        .conductivity = c->conductivity, .reaction = c->reaction, .k = c->k, .lambda = c->lambda};
    for (int d = 0; d < 3; d++) {
        const int s = from[d];
        v.element[d] = &c->element[s];
        v.n[d] = c->element[s].k + 1;
        v.nodes[d] = c->n_nodes[s];
        v.cells[d] = c->cells[s];
        v.periodic[d] = c->periodic[s];
        v.fixed[d][0] = c->fixed[s][0];
        v.fixed[d][1] = c->fixed[s][1];
        v.widths[d] = c->widths[s];
    }
    return v;
}

static int64_t volume_numbers(const struct brick_view *v) {
    return v->n[0] * v->n[1] * v->n[2] * L;
}

/* The scale along a row of nodes: in every cell linear between two numbers of its ends, and a bubble. */
static void scale_row(const struct brick_cells *c, const double *nodes, const double *vertices, int y, int z,
                      double *scale) {
    const int at[2] = {y, z}, row = brick_n_vertices(c, 0), plane = brick_n_vertices(c, 1);
    const int k = c->element[0].k;
    int cell[3] = {0, 0, 0}, up[2];
    double x[2], inner = 1.0;
    for (int t = 0; t < 2; t++) {
        const int degree = c->element[t + 1].k;
        cell[t + 1] = degree > 0 ? at[t] / degree : 0;
        if (cell[t + 1] == c->cells[t + 1]) cell[t + 1]--;
        x[t] = degree > 0 ? nodes[at[t] - cell[t + 1] * degree] : 0.0;
        if (degree > 0) inner *= 4.0 * x[t] * (1.0 - x[t]);
        up[t] = degree > 0;
    }
    const double *low = vertices + ((int64_t)cell[2] * plane + cell[1]) * row;
    const double *corner[4] = {low, low + up[0] * row, low + (int64_t)up[1] * plane * row,
                               low + ((int64_t)up[1] * plane + up[0]) * row};
    const double weight[4] = {(1.0 - x[0]) * (1.0 - x[1]), x[0] * (1.0 - x[1]), (1.0 - x[0]) * x[1],
                              x[0] * x[1]};
    for (; cell[0] < c->cells[0]; cell[0]++) {
        double end[2] = {0.0, 0.0}, mean = 0.0;
        for (int s = 0; s < 2; s++)
            for (int v = 0; v < 4; v++) {
                end[s] += weight[v] * corner[v][cell[0] + s];
                mean += 0.125 * corner[v][cell[0] + s];
            }
        const double bubble = inner * (1.0 / sqrt(brick_conductivity(c, cell)) - mean);
        const int last = k * cell[0] + k < c->n_nodes[0]; /* not the first of a ring */
        for (int i = 0; i < k + last; i++)
            scale[k * cell[0] + i] = end[0] + nodes[i] * (end[1] - end[0] + bubble * 4.0 * (1.0 - nodes[i]));
    }
}

void OF(brick_scale)(const struct brick_cells *c, const double *nodes, double *vertices, double *scale) {
    const int n[3] = {brick_n_vertices(c, 0), brick_n_vertices(c, 1), brick_n_vertices(c, 2)};
    const int64_t rows = (int64_t)c->n_nodes[1] * c->n_nodes[2];
#pragma omp parallel num_threads(base_threads())
    {
#pragma omp for
        for (int64_t row = 0; row < (int64_t)n[1] * n[2]; row++)
            for (int i = 0; i < n[0]; i++)
                vertices[row * n[0] + i] =
                    brick_vertex_scale(c, (const int[3]){i, (int)(row % n[1]), (int)(row / n[1])});
#pragma omp for
        for (int64_t row = 0; row < rows; row++)
            scale_row(c, nodes, vertices, (int)(row % c->n_nodes[1]), (int)(row / c->n_nodes[1]),
                      scale + row * c->n_nodes[0]);
    }
}

#ifdef FACET_FEW_SIZES /* as in brick.c */
#    define ROW_SIZES(F) F(2) F(4)
#else
#    define ROW_SIZES(F) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16)
#endif
#define TABLE    PICK(table, single)
#define TEMPLATE "kernels/simd/brick_diagonal_real.h"
#include "kernels/twice.h"
