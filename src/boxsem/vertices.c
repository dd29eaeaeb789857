/* The coarse space of continuous elements whose k jumps from cell to cell: the linear functions of the
 * vertices of the same cells. Their matrix carries every k, where cells of twice the width carry means; and
 * since a continuous function has one value at a vertex, polynomials of a fixed degree are held by their
 * values there and by the energies of single cells, whatever k is in the others. What is left is smooth in no
 * cell, and a polynomial in the diagonally scaled matrix, which does not see k, takes it. */
#include "base/memory.h"
#include "boxsem/levels.h"
#include "solve/coarse.h"

/* The values of the two linear functions of a direction at a node, and the cell they belong to. */
static int line_values(const struct brick_cells *c, const struct box_element *e, int d, int at,
                       double values[2]) {
    const int k = c->element[d].k;
    values[0] = 1.0;
    values[1] = 0.0;
    if (k == 0) return 0;
    int cell = at / k < c->cells[d] ? at / k : c->cells[d] - 1;
    values[1] = e->nodes[at - k * cell];
    values[0] = 1.0 - values[1];
    return cell;
}

/* The functions of the vertices at the nodes. */
static facet_status embed(const struct brick_cells *fine, const struct brick_cells *vertices,
                          const struct box_element *e, struct mg_transfer *P) {
    facet_status status = FACET_OK;
    const int64_t n = brick_n_nodes(fine);
    *P = (struct mg_transfer){.n_rows = n, .n_columns = brick_n_nodes(vertices)};
    TRY(ALLOC(P->offsets, n + 1));
    TRY(ALLOC(P->columns, 8 * n));
    TRY(ALLOC(P->values, 8 * n));
    P->offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int at[3], cell[3];
        double values[3][2];
        int64_t end = P->offsets[i];
        brick_node_at(fine, i, at);
        for (int d = 0; d < 3; d++) cell[d] = line_values(fine, e, d, at[d], values[d]);
        for (int c = 0; c < 8 && !brick_is_fixed(fine, i); c++) {
            double value = values[0][c & 1] * values[1][c >> 1 & 1] * values[2][c >> 2];
            int64_t vertex = 0;
            for (int d = 2; d >= 0; d--)
                vertex = vertex * vertices->n_nodes[d] + (cell[d] + (c >> d & 1)) % vertices->n_nodes[d];
            if (value == 0.0 || brick_is_fixed(vertices, vertex)) continue;
            P->columns[end] = (int32_t)vertex;
            P->values[end++] = value;
        }
        P->offsets[i + 1] = end;
    }
done:
    return status;
}

facet_status boxsem_levels_end_vertices(const struct boxsem_levels *all, struct multigrid *mg) {
    facet_status status = FACET_OK;
    const struct boxsem_level *l = &all->levels[0];
    struct boxsem_level vertices = {.grid = l->grid};
    struct box_element linear = {0};
    struct mg_transfer P = {0};
    struct coarse_matrix last = {.name = "vertices", .singular = l->grid.singular, .classical = 1};
    const struct coarse_options options = {.unknowns = COARSE_FEW_UNKNOWNS, .cycle = MG_V};
    TRY(box_element_create(1, &linear));
    TRY(boxsem_brick_create(all->device, &l->grid, &linear, &vertices.brick));
    vertices.n = brick_n_nodes(&vertices.brick.cells);
    TRY(embed(&l->brick.cells, &vertices.brick.cells, all->element, &P));
    TRY(multigrid_connect(mg, &P));
    TRY(boxsem_levels_assemble(&vertices, &linear, &last.csr));
    TRY(multigrid_end_coarse(mg, all->device, &last, &options));
done:
    box_element_destroy(&linear);
    boxsem_brick_destroy(&vertices.brick);
    mg_transfer_destroy(&P);
    coarse_matrix_destroy(&last);
    return status;
}
