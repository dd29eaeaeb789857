/* Sweeps over patches for numbers of type REAL: sweep.c includes
 * this once for each precision, with NAME(what) the name of a function. */

/* r = (f - K x) of row block b. */
static void NAME(block_residual)(const struct facet_patches *p, int64_t b, const REAL *f, const REAL *x,
                                 REAL *r) {
    const struct facet_plan *rows = &p->rows;
    int64_t first = rows->first[b], m = rows->first[b + 1] - first;
    for (int64_t i = 0; i < m; i++) r[i] = f[first + i];
    for (int64_t k = rows->panel_first[b]; k < rows->panel_first[b + 1]; k++)
        for (int64_t j = 0; j < rows->sizes[k]; j++)
            for (int64_t i = 0; i < m; i++)
                r[i] -= ((const REAL *)rows->values)[rows->starts[k] + j * m + i] * x[rows->columns[k] + j];
}

static void NAME(take_patch)(const struct facet_patches *p, int64_t patch, const REAL *f, REAL *x, REAL *r) {
    const REAL *B = (const REAL *)p->inverses + p->starts[patch];
    const int64_t *first = p->rows.first;
    int64_t n = 0, row = 0;
    for (int64_t k = p->first[patch]; k < p->first[patch + 1]; k++) {
        NAME(block_residual)(p, p->blocks[k], f, x, r + n);
        n += first[p->blocks[k] + 1] - first[p->blocks[k]];
    }
    for (int64_t k = p->first[patch]; k < p->first[patch + 1]; k++)
        for (int64_t i = first[p->blocks[k]]; i < first[p->blocks[k] + 1]; i++, row++)
            for (int64_t j = 0; j < n; j++) x[i] += B[row * n + j] * r[j];
}

void NAME(facet_sweep)(const struct facet_patches *p, int backward, const REAL *f, REAL *x, REAL *scratch) {
    for (int k = 0; k < p->n_colours; k++) {
        int colour = backward ? p->n_colours - 1 - k : k;
        for (int64_t patch = p->colour_starts[colour]; patch < p->colour_starts[colour + 1]; patch++)
            NAME(take_patch)(p, patch, f, x, scratch);
    }
}
