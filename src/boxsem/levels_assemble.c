/* The matrix of continuous elements on a box, assembled: for the last level where nothing else solves it. */
#include "base/memory.h"
#include "boxsem/levels.h"

/* lambda M M M + k (A M M + M A M + M M A) between functions i and j of a cell. */
static double entry(const struct box_grid *g, const struct box_element *e, const int at[3], int i, int j) {
    int n = e->k + 1, dim = g->dim;
    int64_t cell = box_cell(g, at);
    double mass[3], stiffness[3], product = 1.0, sum = 0.0;
    for (int d = 0; d < dim; d++, i /= n, j /= n) {
        double h = g->widths[d][at[d]];
        mass[d] = h * e->mass[i % n * n + j % n];
        stiffness[d] = e->stiffness[i % n * n + j % n] / h;
        product *= mass[d];
    }
    for (int d = 0; d < dim; d++) {
        double term = stiffness[d];
        for (int t = 0; t < dim; t++)
            if (t != d) term *= mass[t];
        sum += term;
    }
    return box_reaction(g, cell) * product + box_conductivity(g, cell) * sum;
}

static facet_status add_cells(const struct boxsem_level *l, const struct box_element *e, int size,
                              struct csr_elements *all) {
    facet_status status = FACET_OK;
    const struct brick_cells *c = &l->brick.cells;
    double *matrix = NULL;
    int64_t *nodes = NULL;
    TRY(ALLOC(nodes, size));
    TRY(ALLOC(matrix, (int64_t)size * (size + 1) / 2));
    for (int64_t cell = 0; cell < l->grid.n_cells; cell++) {
        int at[3];
        box_cell_at(&l->grid, cell, at);
        double *to = matrix;
        for (int i = 0; i < size; i++) {
            nodes[i] = brick_cell_node(c, at, i);
            if (brick_is_fixed(c, nodes[i])) nodes[i] = -1;
            for (int j = 0; j <= i; j++) *to++ = entry(&l->grid, e, at, i, j);
        }
        csr_elements_add(all, size, nodes, matrix);
    }
done:
    base_free(&matrix);
    base_free(&nodes);
    return status;
}

facet_status boxsem_levels_assemble(const struct boxsem_level *l, const struct box_element *e,
                                    struct csr *csr) {
    facet_status status = FACET_OK;
    struct csr_elements all;
    const double one = 1.0;
    int size = 1;
    for (int d = 0; d < l->grid.dim; d++) size *= e->k + 1;
    TRY(csr_elements_create(l->n, l->grid.n_cells, size, l->n, &all));
    TRY(add_cells(l, e, size, &all));
    for (int64_t node = 0; node < l->n; node++)
        if (brick_is_fixed(&l->brick.cells, node)) csr_elements_add(&all, 1, &node, &one);
    TRY(csr_from_elements(&all, csr));
done:
    csr_elements_destroy(&all);
    return status;
}
