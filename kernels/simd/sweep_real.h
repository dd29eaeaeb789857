/* Sweeps over patches for numbers of type REAL, which the plan keeps in PANELS and INVERSES: sweep.c includes
 * this once for each precision, with NAME(what) the name of a function. */

/* r -= panel' x: n columns of m numbers. m is a constant where this is inlined, so that r stays in registers.
 */
INLINE void NAME(subtract_panel)(int m, int n, const REAL *panel, const REAL *x, REAL *r) {
    for (int j = 0; j < n; j++, panel += m)
        for (int i = 0; i < m; i++) r[i] -= panel[i] * x[j];
}

INLINE void NAME(subtract_panels)(const struct facet_patches *p, int m, int64_t b, const REAL *x, REAL *r) {
    const struct facet_plan *rows = &p->rows;
    for (int64_t k = rows->panel_first[b]; k < rows->panel_first[b + 1]; k++)
        NAME(subtract_panel)(m, rows->sizes[k], p->PANELS + rows->starts[k], x + rows->columns[k], r);
}

/* The same with m constant: one short list. */
static void NAME(subtract_any)(const struct facet_patches *p, int m, int64_t b, const REAL *x, REAL *to) {
    REAL r[8];
    memcpy(r, to, (size_t)(m <= 8 ? m : 0) * sizeof *r);
    switch (m) {
    case 2:
        NAME(subtract_panels)(p, 2, b, x, r);
        break;
    case 3:
        NAME(subtract_panels)(p, 3, b, x, r);
        break;
    case 4:
        NAME(subtract_panels)(p, 4, b, x, r);
        break;
    case 5:
        NAME(subtract_panels)(p, 5, b, x, r);
        break;
    case 6:
        NAME(subtract_panels)(p, 6, b, x, r);
        break;
    case 8:
        NAME(subtract_panels)(p, 8, b, x, r);
        break;
    default:
        NAME(subtract_panels)(p, m, b, x, to);
        return;
    }
    memcpy(to, r, (size_t)m * sizeof *r);
}

static void NAME(take_patch)(const struct facet_patches *p, int64_t patch, const REAL *f, REAL *x, REAL *r) {
    const REAL *B = p->INVERSES + p->starts[patch];
    const int64_t *first = p->rows.first;
    REAL *d = r + p->largest + GAP / 2;
    int64_t n = 0;
    for (int64_t k = p->first[patch]; k < p->first[patch + 1]; k++) {
        int64_t b = p->blocks[k], m = first[b + 1] - first[b];
        memcpy(r + n, f + first[b], (size_t)m * sizeof *r);
        NAME(subtract_any)(p, (int)m, b, x, r + n);
        n += m;
    }
    memset(d, 0, (size_t)n * sizeof *d);
    for (int64_t j = 0; j < n; j++, B += n) /* symmetric: rows are columns */
        for (int64_t i = 0; i < n; i++) d[i] += B[i] * r[j];
    for (int64_t k = p->first[patch]; k < p->first[patch + 1]; k++)
        for (int64_t i = first[p->blocks[k]]; i < first[p->blocks[k] + 1]; i++) x[i] += *d++;
}

void NAME(facet_sweep)(const struct facet_patches *p, int backward, const REAL *f, REAL *x, REAL *scratch) {
#pragma omp parallel num_threads(base_threads()) if (p->n_patches > 64)
    for (int k = 0; k < p->n_colours; k++) { /* a barrier keeps colours apart */
        int colour = backward ? p->n_colours - 1 - k : k;
        REAL *mine = scratch + 2 * (p->largest + GAP) * omp_get_thread_num();
#pragma omp for schedule(static)
        for (int64_t patch = p->colour_starts[colour]; patch < p->colour_starts[colour + 1]; patch++)
            NAME(take_patch)(p, patch, f, x, mine);
    }
}
