/* The coarse space of continuous elements whose k jumps from cell to cell: the linear functions of the
 * vertices of the same cells. Their matrix carries every k, where cells of twice the width carry means; and
 * since a continuous function has one value at a vertex, polynomials of a fixed degree are held by their
 * values there and by the energies of single cells, whatever k is in the others. What is left is smooth in no
 * cell, and a polynomial in the diagonally scaled matrix, which does not see k, takes it. */
#include "base/memory.h"
#include "boxsem/levels.h"
#include "solve/coarse.h"

facet_status boxsem_levels_reach_vertices(struct boxsem_levels *all) {
    facet_status status = FACET_OK;
    struct boxsem_level *l = &all->levels[0];
    struct box_element linear = {0};
    TRY(box_element_create(1, &linear));
    TRY(boxsem_transfer_create(all->device, &l->grid, &l->grid, all->element, &linear, &l->transfer));
done:
    box_element_destroy(&linear);
    return status;
}

facet_status boxsem_levels_end_vertices(const struct boxsem_levels *all, struct multigrid *mg) {
    facet_status status = FACET_OK;
    const struct boxsem_level *l = &all->levels[0];
    struct boxsem_level vertices = {.grid = l->grid};
    struct box_element linear = {0};
    struct coarse_matrix last = {.name = "vertices", .singular = l->grid.singular, .classical = 1};
    const struct coarse_options options = {.unknowns = COARSE_FEW_UNKNOWNS, .cycle = MG_V};
    TRY(box_element_create(1, &linear));
    TRY(boxsem_brick_create(all->device, &l->grid, &linear, &vertices.brick));
    vertices.n = brick_n_nodes(&vertices.brick.cells);
    TRY(boxsem_levels_assemble(&vertices, &linear, &last.csr));
    TRY(multigrid_end_coarse(mg, all->device, &last, &options));
done:
    box_element_destroy(&linear);
    boxsem_brick_destroy(&vertices.brick);
    coarse_matrix_destroy(&last);
    return status;
}
