/* The operator on the cells of a box, and the transfers between two boxes, as the kernels take them. */
#include "boxsem/brick.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/modes.h"

#define SAME_SPLIT 1e-12

/* ------------------------------------------------------------------------------ cells */

/* T = S'M has T'T = M and T'Lambda T = A. */
static facet_status make_element(const struct device *device, const struct box_element *e,
                                 struct brick_element *element) {
    facet_status status = FACET_OK;
    const struct brick_element_layout at = brick_element_layout(e->k);
    int n = e->k + 1, even = (n + 1) / 2;
    struct box_fold fold = {0};
    double *S = NULL, *table = NULL;
    TRY(CALLOC(S, n * n));
    TRY(CALLOC(table, at.count));
    memcpy(table + at.mass, e->mass, (size_t)(n * n) * sizeof *table);
    memcpy(table + at.stiffness, e->stiffness, (size_t)(n * n) * sizeof *table);
    TRY(box_fold_create_mirrored(n, n, 0, &fold));
    TRY(box_modes(&fold, e->mass, e->stiffness, n, S, table + at.eigenvalues));
    for (int a = 0; a < n; a++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) table[at.T + a * n + j] += S[i * n + a] * e->mass[i * n + j];
    box_put_blocks(table + at.F, n, even, table + at.T, 0);
    box_put_blocks(table + at.B, n, even, table + at.T, 1);
    element->k = e->k;
    TRY(device_copy(device, &element->table, table, (size_t)at.count, sizeof *table));
    TRY(device_copy_rounded(device, F32, &element->single, element->table, at.count));
    element->host = table;
    table = NULL;
done:
    box_fold_destroy(&fold);
    base_free(&S);
    base_free(&table);
    return status;
}

/* One number for all cells, or an array on the device. */
static facet_status put_cells(const struct device *device, const struct box_grid *g, const double *from,
                              double otherwise, double *constant, const double **array) {
    *constant = from != NULL ? from[0] : otherwise;
    int64_t c = 1;
    while (from != NULL && c < g->n_cells && from[c] == from[0]) c++;
    if (from == NULL || c == g->n_cells) return FACET_OK;
    return device_copy(device, array, from, (size_t)g->n_cells, sizeof *from);
}

void boxsem_brick_destroy(struct boxsem_brick *b) {
    for (int d = 0; d < 3 && b->device != NULL; d++) {
        device_free(b->device, (void *)&b->cells.element[d].table);
        device_free(b->device, (void *)&b->cells.element[d].single);
        base_free((void *)&b->cells.element[d].host);
        device_free(b->device, (void *)&b->cells.widths[d]);
    }
    if (b->device != NULL) {
        device_free(b->device, (void *)&b->cells.conductivity);
        device_free(b->device, (void *)&b->cells.reaction);
    }
    *b = (struct boxsem_brick){0};
}

facet_status boxsem_brick_create(const struct device *device, const struct box_grid *g,
                                 const struct box_element *e, struct boxsem_brick *brick) {
    facet_status status = FACET_OK;
    struct brick_cells *c = &brick->cells;
    struct box_element constant = {0};
    const double one = 1.0;
    *brick = (struct boxsem_brick){.device = device};
    TRY(box_element_create(0, &constant));
    for (int d = 0; d < 3; d++) {
        int real = d < g->dim;
        TRY(make_element(device, real ? e : &constant, &c->element[d]));
        TRY(device_copy(device, &c->widths[d], real ? g->widths[d] : &one, (size_t)g->cells[d], sizeof one));
        c->cells[d] = g->cells[d];
        c->periodic[d] = real && g->sides[d][0] == BOX_PERIODIC;
        c->n_nodes[d] = real ? e->k * g->cells[d] + !c->periodic[d] : 1;
        for (int s = 0; s < 2; s++) c->fixed[d][s] = real && g->sides[d][s] == BOX_DIRICHLET;
    }
    TRY(put_cells(device, g, g->conductivity, 1.0, &c->k, &c->conductivity));
    TRY(put_cells(device, g, g->reaction, 0.0, &c->lambda, &c->reaction));
done:
    box_element_destroy(&constant);
    if (status != FACET_OK) boxsem_brick_destroy(brick);
    return status;
}

/* ------------------------------------------------------------------------------ transfers */

/* Values at the nodes of the two parts of an element that is split at s. */
static void fill_embedding(const struct box_element *e, double s, double *E) {
    int n = e->k + 1;
    for (int i = 0; i <= e->k; i++) {
        box_element_values(e, s * e->nodes[i], E + i * n);
        box_element_values(e, s + (1.0 - s) * e->nodes[i], E + (e->k + i) * n);
    }
}

/* One table for every different split; one in all where cells are the same. */
static facet_status fill_tables(const struct device *device, const struct box_grid *fine, int d,
                                const struct box_element *e, const struct box_element *low,
                                struct brick_transfer_axis *ax) {
    facet_status status = FACET_OK;
    int size = (ax->r + 1) * (ax->k + 1), n_tables = 0;
    double *tables = NULL, *splits = NULL;
    int32_t *which = NULL;
    TRY(ALLOC(which, ax->n_cells));
    TRY(ALLOC(splits, ax->n_cells));
    for (int c = 0; c < ax->n_cells; c++) {
        double s = 0.0;
        int t = 0;
        if (ax->n_cells != fine->cells[d])
            s = fine->widths[d][2 * c] / (fine->widths[d][2 * c] + fine->widths[d][2 * c + 1]);
        while (t < n_tables && fabs(splits[t] - s) > SAME_SPLIT) t++;
        which[c] = t;
        if (t == n_tables) splits[n_tables++] = s;
    }
    TRY(ALLOC(tables, n_tables * size));
    for (int t = 0; t < n_tables && e == low; t++) fill_embedding(e, splits[t], tables + t * size);
    for (int i = 0; i <= e->k && e != low; i++)
        box_element_values(low, e->nodes[i], tables + i * (low->k + 1));
    TRY(device_copy(device, &ax->which, which, (size_t)ax->n_cells, sizeof *which));
    TRY(device_copy(device, &ax->tables, tables, (size_t)(n_tables * size), sizeof *tables));
    TRY(device_copy_rounded(device, F32, &ax->single, ax->tables, n_tables * size));
    ax->n_tables = n_tables;
    ax->host = tables;
    tables = NULL;
done:
    base_free(&tables);
    base_free(&splits);
    base_free(&which);
    return status;
}

void boxsem_transfer_destroy(struct boxsem_transfer *t) {
    for (int d = 0; d < 3 && t->device != NULL; d++) {
        device_free(t->device, (void *)&t->plan.axis[d].which);
        device_free(t->device, (void *)&t->plan.axis[d].tables);
        device_free(t->device, (void *)&t->plan.axis[d].single);
        base_free((void *)&t->plan.axis[d].host);
    }
    *t = (struct boxsem_transfer){0};
}

facet_status boxsem_transfer_create(const struct device *device, const struct box_grid *fine,
                                    const struct box_grid *coarse, const struct box_element *e,
                                    const struct box_element *low, struct boxsem_transfer *t) {
    facet_status status = FACET_OK;
    *t = (struct boxsem_transfer){.device = device};
    for (int d = 0; d < 3; d++) {
        struct brick_transfer_axis *ax = &t->plan.axis[d];
        ax->n_coarse = ax->n_fine = ax->n_cells = 1;
        if (d >= fine->dim) continue;
        int halved = coarse->cells[d] != fine->cells[d];
        ax->k = low->k;
        ax->r = halved ? 2 * e->k : e->k;
        ax->n_cells = coarse->cells[d];
        ax->refined = halved || e != low;
        ax->periodic = fine->sides[d][0] == BOX_PERIODIC;
        ax->n_coarse = low->k * coarse->cells[d] + !ax->periodic;
        ax->n_fine = e->k * fine->cells[d] + !ax->periodic;
        for (int s = 0; s < 2; s++) ax->fixed[s] = fine->sides[d][s] == BOX_DIRICHLET;
        if (halved && (e != low || fine->cells[d] != 2 * coarse->cells[d]))
            FAIL(FACET_ERROR_INPUT, "a box of %d cells cannot be coarsened to %d in direction %c",
                 fine->cells[d], coarse->cells[d], "xyz"[d]);
        if (ax->refined) TRY(fill_tables(device, fine, d, e, low, ax));
    }
done:
    if (status != FACET_OK) boxsem_transfer_destroy(t);
    return status;
}
