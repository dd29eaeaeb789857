/* Continuous elements on bricks: the embedding of coarse functions and its transpose, in both precisions; the
 * bodies stand in brick_transfer_real.h. */
#include "kernels/brick.h"

#include <omp.h>
#include <stddef.h>

#include "kernels/simd/lane.h"

/* The axes with the last one of more than one node in place 2, as threads share blocks along it. A direction
 * of one node may change places without moving a number. */
struct transfer_view {
    struct brick_transfer_axis axis[3];
};

static struct transfer_view transfer_view(const struct brick_transfer *t) {
    const int swap = t->axis[2].n_fine == 1;
    return (struct transfer_view){{t->axis[0], t->axis[swap ? 2 : 1], t->axis[swap ? 1 : 2]}};
}

/* Blocks of a direction: coarse cells where it is refined, nodes where it is not. A block has n_in coarse
 * nodes from coarse_first on and n_out fine nodes from fine_first on; the last node of a cell counts to the
 * next block, where there is one. */
struct transfer_block {
    int n_coarse, n_fine, coarse_first, fine_first, table;
};

static int n_blocks(const struct brick_transfer_axis *ax) {
    return ax->refined ? ax->n_cells : ax->n_coarse;
}

static struct transfer_block transfer_block(const struct brick_transfer_axis *ax, int b) {
    if (!ax->refined) return (struct transfer_block){1, 1, b, b, 0};
    const int last = b == ax->n_cells - 1 && !ax->periodic;
    return (struct transfer_block){ax->k + 1, ax->r + last, b * ax->k, b * ax->r, ax->which[b]};
}

/* Numbers of scratch: lines are coarse rows, and whole lanes may be read and written behind their end. */
static int64_t line_numbers(const struct transfer_view *v) {
    return (v->axis[0].n_coarse + 2 * L - 1) / L * L;
}
static int64_t most_fine(const struct brick_transfer_axis *ax) {
    return ax->refined ? ax->r + 1 : 1;
}
static int64_t most_coarse(const struct brick_transfer_axis *ax) {
    return ax->refined ? ax->k + 1 : 1;
}
static int64_t rows_numbers(const struct transfer_view *v) {
    const int64_t f1 = most_fine(&v->axis[1]), f2 = most_fine(&v->axis[2]), c1 = most_coarse(&v->axis[1]),
                  c2 = most_coarse(&v->axis[2]);
    return line_numbers(v) * (f1 + f2 * c1 + c2 * c1);
}
static int64_t transfer_numbers(const struct transfer_view *v) {
    return rows_numbers(v) + line_numbers(v) * v->axis[1].n_coarse;
}

#define TABLES   PICK(tables, single)
#define TEMPLATE "kernels/simd/brick_transfer_real.h"
#include "kernels/twice.h"
