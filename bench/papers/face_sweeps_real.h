/* Sweeps over patches for numbers of type REAL: face_sweeps.c includes this once for each precision, with
 * NAME(what) the name of a function, LANE eight numbers and LANES(what) a
 * function of lane.h for them. */

/* r = r - K x of row block b, which has m unknowns and stays in registers, in two sums so that one need not
 * wait for the other. m is a constant where this is inlined. */
INLINE void NAME(subtract_panels)(const struct face_patches *p, int m, int64_t b, const REAL *x, REAL *r) {
    const struct facet_plan *rows = &p->rows;
    LANE even[ROW_LANES], odd[ROW_LANES];
    for (int i = 0; i < m; i += L) {
        even[i / L] = LANES(load)(m - i, r + i);
        odd[i / L] = (LANE){0};
    }
    for (int64_t k = rows->panel_first[b]; k < rows->panel_first[b + 1]; k++) {
        const REAL *panel = (const REAL *)rows->values + rows->starts[k], *from = x + rows->columns[k];
        int size = rows->sizes[k], j = 0;
        for (; j + 2 <= size; j += 2, panel += 2 * m)
            for (int i = 0; i < m; i += L) {
                even[i / L] -= LANES(load)(m - i, panel + i) * from[j];
                odd[i / L] -= LANES(load)(m - i, panel + m + i) * from[j + 1];
            }
        for (int i = 0; i < m && j < size; i += L) even[i / L] -= LANES(load)(m - i, panel + i) * from[j];
    }
    for (int i = 0; i < m; i += L) LANES(store)(m - i, r + i, even[i / L] + odd[i / L]);
}

/* The same for rows too many for registers. */
static void NAME(subtract_long)(const struct face_patches *p, int64_t m, int64_t b, const REAL *x, REAL *r) {
    const struct facet_plan *rows = &p->rows;
    for (int64_t k = rows->panel_first[b]; k < rows->panel_first[b + 1]; k++) {
        const REAL *panel = (const REAL *)rows->values + rows->starts[k], *from = x + rows->columns[k];
        for (int j = 0; j < rows->sizes[k]; j++, panel += m)
            for (int64_t i = 0; i < m; i++) r[i] -= panel[i] * from[j];
    }
}

/* One short list of sizes for which the row block stays in registers. */
static void NAME(subtract_any)(const struct face_patches *p, int64_t m, int64_t b, const REAL *x, REAL *r) {
    switch (m) {
    case 1:
        NAME(subtract_panels)(p, 1, b, x, r);
        break;
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
    case 7:
        NAME(subtract_panels)(p, 7, b, x, r);
        break;
    case 8:
        NAME(subtract_panels)(p, 8, b, x, r);
        break;
    case 9:
        NAME(subtract_panels)(p, 9, b, x, r);
        break;
    case 10:
        NAME(subtract_panels)(p, 10, b, x, r);
        break;
    case 12:
        NAME(subtract_panels)(p, 12, b, x, r);
        break;
    case 15:
        NAME(subtract_panels)(p, 15, b, x, r);
        break;
    case 16:
        NAME(subtract_panels)(p, 16, b, x, r);
        break;
    default:
        NAME(subtract_long)(p, m, b, x, r);
        break;
    }
}

/* d = B r, B symmetric: its rows are its columns, four at a time. */
static void NAME(multiply_inverse)(int64_t n, const REAL *B, const REAL *restrict r, REAL *restrict d) {
    int64_t j = 0;
    memset(d, 0, (size_t)n * sizeof *d);
    for (; j + 4 <= n; j += 4, B += 4 * n)
        for (int64_t i = 0; i < n; i++)
            d[i] += B[i] * r[j] + B[n + i] * r[j + 1] + B[2 * n + i] * r[j + 2] + B[3 * n + i] * r[j + 3];
    for (; j < n; j++, B += n)
        for (int64_t i = 0; i < n; i++) d[i] += B[i] * r[j];
}

static void NAME(take_patch)(const struct face_patches *p, int64_t patch, const REAL *f, REAL *x, REAL *r) {
    const int64_t *first = p->rows.first;
    REAL *d = r + p->largest + GAP;
    int64_t n = 0;
    for (int64_t k = p->first[patch]; k < p->first[patch + 1]; k++) {
        int64_t b = p->blocks[k], m = first[b + 1] - first[b];
        memcpy(r + n, f + first[b], (size_t)m * sizeof *r);
        NAME(subtract_any)(p, m, b, x, r + n);
        n += m;
    }
    NAME(multiply_inverse)(n, (const REAL *)p->inverses + p->starts[patch], r, d);
    for (int64_t k = p->first[patch]; k < p->first[patch + 1]; k++)
        for (int64_t i = first[p->blocks[k]]; i < first[p->blocks[k] + 1]; i++) x[i] += *d++;
}

void NAME(face_sweep)(const struct face_patches *p, int backward, const REAL *f, REAL *x, REAL *scratch) {
#pragma omp parallel num_threads(base_threads()) if (p->n_patches > 64)
    for (int k = 0; k < p->n_colours; k++) { /* a barrier keeps colours apart */
        int colour = backward ? p->n_colours - 1 - k : k;
        REAL *mine = scratch + 2 * (p->largest + GAP) * omp_get_thread_num();
#pragma omp for schedule(static)
        for (int64_t patch = p->colour_starts[colour]; patch < p->colour_starts[colour + 1]; patch++)
            NAME(take_patch)(p, patch, f, x, mine);
    }
}
