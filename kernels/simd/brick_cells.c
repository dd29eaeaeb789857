/* Continuous elements on bricks: the operator, its diagonal and point Gauss-Seidel, in both precisions; the
 * bodies stand in brick_cells_real.h and brick_point_real.h. */
#include "kernels/brick.h"

#ifdef _OPENMP
#    include <omp.h>
#endif
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

static int64_t whole_lanes(int64_t n) {
    return (n + L - 1) / L * L;
}

/* Numbers of scratch of one thread: the nodes of eight cells, what is carried to the right of every row, and
 * one plane of nodes. */
static int64_t volume_numbers(const struct brick_view *v) {
    return v->n[0] * v->n[1] * v->n[2] * L;
}
static int64_t thread_numbers(const struct brick_view *v) {
    return volume_numbers(v) + whole_lanes(v->n[1] * v->n[2]) + whole_lanes(v->nodes[0] * v->nodes[1]);
}

/* Of point_sweep: three rows of nodes, and two numbers for each of a row of cells. */
static int64_t point_numbers(const struct brick_view *v) {
    return 3 * whole_lanes(v->nodes[0]) + 2 * whole_lanes(v->cells[0]);
}

int64_t OF(brick_scratch)(const struct brick_cells *c) {
    const struct brick_view v = brick_view(c);
    const int64_t apply = thread_numbers(&v), point = point_numbers(&v);
    return base_threads() * (apply > point ? apply : point);
}

#define ROW_SIZES(F) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16)
#define TABLE        PICK(table, single)
#define TEMPLATE     "kernels/simd/brick_point_real.h"
#include "kernels/twice.h"
