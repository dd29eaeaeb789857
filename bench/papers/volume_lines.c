/* The 1D part of the volume solves: eigenvectors of a line of cells, and their values at points. */
#include <cblas.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/volume.h"
#include "boxhdg/work.h"
#include "poly/rule.h"

void box_volume_axis_destroy(struct box_volume_axis *axis) {
    box_direction_destroy(&axis->gauss);
    box_direction_destroy(&axis->nodes);
}

/* From `modes`, whose values at the Gauss points (n a cell) are given, n_modes a point. */
static facet_status make_gauss(const struct box_grid *g, int d, int n, const double *w, const double *values,
                               const struct box_direction *modes, struct box_direction *gauss) {
    facet_status status = FACET_OK;
    int points = n * g->cells[d];
    struct box_fold fold = {0};
    double *weights = NULL;
    if (modes->fold.sizes[1] > 0)
        TRY(box_fold_create_mirrored(points, points, 0, &fold));
    else
        TRY(box_fold_create(points, NULL, NULL, &fold));
    TRY(box_direction_alloc(&fold, modes->sizes, gauss));
    TRY(ALLOC(weights, points));
    for (int i = 0; i < points; i++) weights[i] = 0.5 * g->widths[d][i / n] * w[i % n];
    for (int b = 0; b < 2; b++)
        box_direction_fill(gauss, b, values + (b ? modes->sizes[0] : 0), modes->n_modes, weights);
    for (int i = 0; i < modes->n_modes; i++) gauss->theta[i] = modes->theta[i];
    gauss->smallest = modes->smallest;
done:
    box_fold_destroy(&fold);
    base_free(&weights);
    return status;
}

facet_status box_volume_axis_create_hdg(const struct boxhdg *h, int d, struct box_volume_axis *axis) {
    facet_status status = FACET_OK;
    struct box_axis a = {0};
    struct box_samples samples = {0};
    double *values = NULL;
    int n = h->n;
    *axis = (struct box_volume_axis){0};
    TRY(box_direction_create(&h->grid, 3, NULL, 1, 0, d < h->grid.dim ? &axis->nodes : &axis->gauss));
    if (d >= h->grid.dim) goto done;
    TRY(box_axis_create_whole(h, d, &a));
    int m = a.modes.n_modes;
    TRY(CALLOC(values, (int64_t)m * m));
    TRY(boxhdg_samples_create(h, n, &samples));
    for (int mode = 0; mode < m; mode++) { /* of a cell */
        const double *at = samples.values + (int64_t)h->column_line[d][mode / n] * n * n + mode % n;
        for (int e = 0; e < m; e++) {
            double value = box_direction_value(&a.modes, mode, e);
            for (int q = 0; q < n; q++) values[(int64_t)(mode / n * n + q) * m + e] += at[q * n] * value;
        }
    }
    TRY(make_gauss(&h->grid, d, n, h->weights, values, &a.modes, &axis->gauss));
done:
    box_axis_destroy(&a);
    box_samples_destroy(&samples);
    base_free(&values);
    if (status != FACET_OK) box_volume_axis_destroy(axis);
    return status;
}

facet_status box_volume_axis_create_continuous(const struct box_grid *g, const struct box_element *e, int d,
                                               struct box_volume_axis *axis) {
    facet_status status = FACET_OK;
    int k = e->k, n = k + 1, there = d < g->dim,
        n_nodes = there ? k * g->cells[d] + (g->sides[d][0] != BOX_PERIODIC) : 1;
    double *x = NULL, *w, *table, *slopes, *values = NULL;
    *axis = (struct box_volume_axis){0};
    TRY(box_direction_create(g, d, e, n_nodes, 1, &axis->nodes));
    if (!there) {
        TRY(box_direction_create(g, d, e, 1, 1, &axis->gauss));
        goto done;
    }
    TRY(ALLOC(x, 2 * n * (n + 1)));
    w = x + n;
    table = w + n;
    slopes = table + n * n;
    TRY(rule_gauss_jacobi(n, 0.0, 0.0, x, w));
    for (int q = 0; q < n; q++) x[q] = 0.5 * (1.0 + x[q]);
    TRY(box_element_tables(e, n, x, table, slopes));
    int m = axis->nodes.n_modes;
    TRY(CALLOC(values, (int64_t)n * g->cells[d] * m));
    for (int c = 0; c < g->cells[d]; c++)
        for (int i = 0; i < n; i++)
            for (int mode = 0; mode < m; mode++) {
                double value = box_direction_value(&axis->nodes, (c * k + i) % n_nodes, mode);
                for (int q = 0; q < n; q++)
                    values[(int64_t)(c * n + q) * m + mode] += table[q * n + i] * value;
            }
    TRY(make_gauss(g, d, n, w, values, &axis->nodes, &axis->gauss));
done:
    base_free(&x);
    base_free(&values);
    if (status != FACET_OK) box_volume_axis_destroy(axis);
    return status;
}
