/* Sweeps over patches for numbers of type REAL: test_device.c
 * includes this once for each precision. */

/* Row blocks in a ring, coupled with themselves and their neighbours. */
static void NAME(put_ring)(struct arena *a, int64_t n_rows, const int64_t *first, struct facet_patches *p) {
    int64_t n = 0, n_values = 0;
    int64_t *panels = test_malloc((size_t)(n_rows + 1) * sizeof *panels);
    int64_t *columns = test_malloc((size_t)(3 * n_rows) * sizeof *columns);
    int64_t *starts = test_malloc((size_t)(3 * n_rows) * sizeof *starts);
    int32_t *sizes = test_malloc((size_t)(3 * n_rows) * sizeof *sizes);
    panels[0] = 0;
    for (int64_t r = 0; r < n_rows; r++) {
        for (int64_t k = n_rows - 1; k <= n_rows + 1; k++, n++) {
            int64_t other = (r + k) % n_rows;
            columns[n] = first[other];
            sizes[n] = (int32_t)(first[other + 1] - first[other]);
            starts[n] = n_values;
            n_values += sizes[n] * (first[r + 1] - first[r]);
        }
        panels[r + 1] = n;
    }
    p->rows = (struct facet_plan){.n_rows = n_rows,
                                  .first = put(a, first, n_rows + 1, sizeof *first),
                                  .panel_first = put(a, panels, n_rows + 1, sizeof *panels),
                                  .columns = put(a, columns, n, sizeof *columns),
                                  .sizes = put(a, sizes, n, sizeof *sizes),
                                  .starts = put(a, starts, n, sizeof *starts)};
    p->rows.values = NAME(put_random)(a, n_values, 3);
    test_free(panels);
    test_free(columns);
    test_free(starts);
    test_free(sizes);
}

/* Patches of two blocks that follow each other, four colours of them. The inverses are small, so that nothing
 * grows. */
static void NAME(put_pairs)(struct arena *a, int64_t n_rows, const int64_t *first, struct facet_patches *p) {
    int64_t n_inverses = 0;
    uint32_t seed = 6;
    int64_t *blocks = test_malloc((size_t)(2 * n_rows) * sizeof *blocks);
    int64_t *patches = test_malloc((size_t)(n_rows + 1) * sizeof *patches);
    int64_t *starts = test_malloc((size_t)(n_rows + 1) * sizeof *starts);
    patches[0] = starts[0] = 0;
    for (int64_t k = 0; k < n_rows; k++) {
        int64_t r = k % (n_rows / 4) * 4 + k / (n_rows / 4), next = (r + 1) % n_rows;
        int64_t m = first[r + 1] - first[r] + first[next + 1] - first[next];
        blocks[2 * k] = r;
        blocks[2 * k + 1] = next;
        patches[k + 1] = 2 * k + 2;
        starts[k + 1] = n_inverses += m * m;
        if (m > p->largest) p->largest = m;
    }
    REAL *inverses = test_malloc((size_t)n_inverses * sizeof *inverses);
    for (int64_t k = 0; k < n_rows; k++) {
        int64_t m = (int64_t)round(sqrt((double)(starts[k + 1] - starts[k])));
        REAL *B = inverses + starts[k];
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j <= i; j++)
                B[i * m + j] = B[j * m + i] = (REAL)(0.02 * random_signed(&seed));
    }
    p->first = put(a, patches, n_rows + 1, sizeof *patches);
    p->blocks = put(a, blocks, 2 * n_rows, sizeof *blocks);
    p->starts = put(a, starts, n_rows, sizeof *starts);
    p->inverses = put(a, inverses, n_inverses, sizeof *inverses);
    test_free(patches);
    test_free(blocks);
    test_free(starts);
    test_free(inverses);
}

static void NAME(run_facet_sweep)(struct arena *a, int64_t size) {
    int64_t n_rows = 8 * (1 + size), *first = test_malloc((size_t)(n_rows + 1) * sizeof *first);
    const int64_t colours[5] = {0, n_rows / 4, n_rows / 2, 3 * n_rows / 4, n_rows};
    struct facet_patches p = {.n_patches = n_rows, .n_colours = 4, .colour_starts = colours};
    first[0] = 0;
    for (int64_t r = 0; r < n_rows; r++) first[r + 1] = first[r] + 1 + (r + size) % 13;
    NAME(put_ring)(a, n_rows, first, &p);
    NAME(put_pairs)(a, n_rows, first, &p);
    REAL *f = NAME(put_random)(a, first[n_rows], 4), *x = NAME(put_random)(a, first[n_rows], 5);
    REAL *scratch = NAME(put_nan)(a, device_facet_sweep_scratch(a->device, &p));
    for (int backward = 0; backward < 2; backward++)
        device_facet_sweep(a->device, PRECISION, &p, backward, f, x, scratch);
    NAME(take)(a, x, first[n_rows]);
    test_free(first);
}
