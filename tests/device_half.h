/* Element matrices in 16 bits: made on the device, and the product with them, on a ring of cells as in
 * device_real.h. The matrices are positive definite, of very different diagonals. */
static void run_cell_apply_half(struct arena *a, int64_t size) {
    static const float ones[] = {1.0f, 0.7f, 1.4f, 1.0f, 2.0f, 0.5f};
    int n_faces = 3 + (int)(size % 4), m = 1 + (int)(size % 9), starts[8] = {0};
    for (int f = 0; f < n_faces; f++) starts[f + 1] = starts[f] + (size % 2 && f > 1 && f % 2 ? m / 2 : m);
    int64_t n = starts[n_faces], n_entries = n * (n + 1) / 2;
    const int L = device_lanes(a->device);
    int64_t n_cells = 48 * (1 + size % 7), n_batches = n_cells / L, n_unknowns = n_cells * n_faces * m;
    const int64_t colour_starts[3] = {0, n_batches / 2, n_batches};
    int64_t *maps = test_malloc((size_t)(n_cells * n_faces) * sizeof *maps),
            *batches = test_malloc((size_t)n_batches * sizeof *batches);
    double *K = random_numbers(n_cells * n_entries, 1);
    uint16_t *none = test_calloc((size_t)(n_cells * half_size((int)n)), sizeof *none);
    for (int64_t b = 0; b < n_batches; b++)
        batches[b] = b < n_batches / 2 ? 2 * b : 2 * (b - n_batches / 2) + 1;
    for (int64_t c = 0; c < n_cells; c++)
        for (int f = 0; f < n_faces; f++) {
            int64_t face = f < 2 ? (c + f) % n_cells : n_cells + c * (n_faces - 2) + f - 2;
            maps[(c / L * n_faces + f) * L + c % L] = (c + 3 * f) % 11 == 0 ? -1 : face * m;
        }
    for (int64_t c = 0; c < n_cells; c++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) /* off the diagonal also numbers beneath the normal ones */
                K[c * n_entries + i * (i + 1) / 2 + j] =
                    (i == j ? 1.0 + 0.3 * sin((double)(c + i))
                            : K[c * n_entries + i * (i + 1) / 2 + j] * ((i + j) % 5 == 0 ? 1e-6 : 1.0) /
                                  (double)n) *
                    exp2((double)((c + i) % 13 + (c + j) % 13 - 12));
    struct cell_plan plan = {.lanes = L,
                             .n_faces = n_faces,
                             .m = m,
                             .starts = size % 2 ? starts : NULL,
                             .n_batches = n_batches,
                             .n_colours = 2,
                             .run = device_cell_run(a->device, 1 << 18),
                             .colour_starts = colour_starts,
                             .colour_batches = put(a, batches, n_batches, sizeof *batches),
                             .maps = put(a, maps, n_cells * n_faces, sizeof *maps),
                             .ones = ones};
    uint16_t *halves = put(a, none, n_cells * half_size((int)n), sizeof *none);
    float *x = put_random_single(a, n_unknowns, 2), *y = put_random_single(a, n_unknowns, 3);
    plan.matrices = halves;
    *room(a, 1) = (double)device_cell_halve(a->device, &plan, put_lanes(a, n_cells, n_entries, K), halves);
    device_cell_apply_half(a->device, &plan, x, y);
    take_scaled_single(a, y, n_unknowns);
    K[(n_cells - 2) * n_entries] = -1.0; /* not semidefinite */
    *room(a, 1) = (double)(device_cell_halve(a->device, &plan, put_lanes(a, n_cells, n_entries, K), halves) *
                           L / (n_cells - 2 * L));
    assert_true(device_cell_half_pays(a->device, n, n_cells) >= 0);
    test_free(maps);
    test_free(batches);
    test_free(K);
    test_free(none);
}
