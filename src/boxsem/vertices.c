/* The coarse space of continuous elements whose k jumps from cell to cell: the linear functions of the
 * vertices of the same cells. Their matrix carries every k, where cells of twice the width carry means; and
 * since a continuous function has one value at a vertex, polynomials of a fixed degree are held by their
 * values there and by the energies of single cells, whatever k is in the others. What is left is smooth in no
 * cell, and a polynomial in the diagonally scaled matrix, which does not see k, takes it. */
#include "base/memory.h"
#include "boxsem/halved_boxes.h"
#include "solve/coarse.h"

facet_status boxsem_levels_reach_vertices(struct boxsem_levels *all) {
    facet_status status = FACET_OK;
    struct boxsem_level *l = &all->levels[all->n_levels - 1];
    struct box_element linear = {0};
    TRY(box_element_create(1, &linear));
    if (l->seam != NULL) TRY(vector_create(all->device, l->n, &l->owned));
    TRY(boxsem_transfer_create(all->device, &l->grid, &l->grid, all->element, &linear, &l->transfer));
done:
    box_element_destroy(&linear);
    return status;
}

/* Of a block: a part of the sum of all, whose rows have numbers in the whole. */
static facet_status number_rows(const struct boxsem_level *l, int64_t n, struct coarse_matrix *last,
                                struct coarse_options *options) {
    facet_status status = FACET_OK;
    if (l->seam == NULL) return FACET_OK;
    TRY(ALLOC(last->numbers, n));
    boxsem_blocks_number(&l->blocks, 1, n, last->numbers, &last->first, &last->n_owned);
    last->team = l->blocks.team;
    options->external = l->grid.part->external;
done:
    return status;
}

facet_status boxsem_levels_end_vertices(const struct boxsem_levels *all, struct multigrid *mg) {
    facet_status status = FACET_OK;
    const struct boxsem_level *l = &all->levels[all->n_levels - 1];
    struct boxsem_level vertices = {.grid = l->grid};
    struct box_element linear = {0};
    struct coarse_matrix last = {.name = "vertices", .singular = l->grid.singular, .classical = 1};
    struct coarse_options options = {.unknowns = COARSE_FEW_UNKNOWNS, .cycle = MG_V};
    TRY(box_element_create(1, &linear));
    TRY(boxsem_brick_create(all->device, &l->grid, &linear, &vertices.brick));
    vertices.n = brick_n_nodes(&vertices.brick.cells);
    TRY(boxsem_levels_assemble(&vertices, &linear, &last.csr));
    TRY(number_rows(l, vertices.n, &last, &options));
    TRY(multigrid_end_coarse(mg, all->device, &last, &options));
done:
    box_element_destroy(&linear);
    boxsem_brick_destroy(&vertices.brick);
    coarse_matrix_destroy(&last);
    return status;
}
