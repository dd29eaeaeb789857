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

/* The different free nodes of a cell into `unknowns`; where[i]: the place of function i among them, -1:
 * fixed. On a ring of one cell both ends are one node. */
static int list_unknowns(const struct brick_cells *c, const int at[3], int size, int32_t *unknowns,
                         int *where) {
    int count = 0;
    for (int i = 0; i < size; i++) {
        int64_t node = brick_cell_node(c, at, i);
        where[i] = -1;
        if (brick_is_fixed(c, node)) continue;
        int place = 0;
        while (place < count && unknowns[place] != (int32_t)node) place++;
        if (place == count) unknowns[count++] = (int32_t)node;
        where[i] = place;
    }
    return count;
}

static void fill_matrix(const struct boxsem_level *l, const struct box_element *e, const int at[3], int size,
                        const int *where, double *matrix) {
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            int row = where[i], column = where[j];
            if (row < 0 || column < 0 || column > row) continue;
            matrix[row * (row + 1) / 2 + column] += entry(&l->grid, e, at, i, j);
        }
}

facet_status boxsem_levels_assemble(const struct boxsem_level *l, const struct box_element *e,
                                    struct csr *csr) {
    facet_status status = FACET_OK;
    const struct brick_cells *c = &l->brick.cells;
    int64_t n_cells = l->grid.n_cells, n_unknowns = 0, n_entries = 0, element = 0;
    struct csr_elements all = {.n = l->n, .n_elements = n_cells + l->n};
    int size = 1, *where = NULL;
    for (int d = 0; d < l->grid.dim; d++) size *= e->k + 1;
    TRY(ALLOC(where, size));
    TRY(CALLOC(all.starts, all.n_elements + 1));
    TRY(CALLOC(all.matrix_starts, all.n_elements + 1));
    TRY(ALLOC(all.unknowns, n_cells * size + l->n));
    TRY(CALLOC(all.matrices, n_cells * size * (size + 1) / 2 + l->n));
    for (int64_t cell = 0; cell < n_cells; cell++) {
        int at[3];
        box_cell_at(&l->grid, cell, at);
        int count = list_unknowns(c, at, size, all.unknowns + n_unknowns, where);
        fill_matrix(l, e, at, size, where, all.matrices + n_entries);
        n_unknowns += count;
        n_entries += (int64_t)count * (count + 1) / 2;
        all.starts[++element] = n_unknowns;
        all.matrix_starts[element] = n_entries;
    }
    for (int64_t node = 0; node < l->n; node++) {
        if (!brick_is_fixed(c, node)) continue;
        all.unknowns[n_unknowns++] = (int32_t)node;
        all.matrices[n_entries++] = 1.0;
        all.starts[++element] = n_unknowns;
        all.matrix_starts[element] = n_entries;
    }
    all.n_elements = element;
    TRY(csr_from_elements(&all, csr));
done:
    csr_elements_destroy(&all);
    base_free(&where);
    return status;
}
