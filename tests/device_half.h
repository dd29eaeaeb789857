/* Element matrices in 16 bits: made on the device, and the product with them, on a ring of cells. The
 * matrices are positive definite, of very different diagonals. */
static void run_cell_apply_half(struct arena *a, int64_t size) {
    static const float ones[] = {1.0f, 0.7f, 1.4f, 1.0f, 2.0f, 0.5f};
    struct cell_ring r;
    put_cell_ring(a, size, &r);
    const int L = r.plan.lanes;
    const int64_t n = r.n, n_entries = n * (n + 1) / 2, n_cells = r.n_cells, n_unknowns = r.n_unknowns;
    double *K = random_numbers(n_cells * n_entries, 1);
    uint16_t *none = test_calloc((size_t)(n_cells * half_size((int)n)), sizeof *none);
    for (int64_t c = 0; c < n_cells; c++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) /* off the diagonal also numbers beneath the normal ones */
                K[c * n_entries + i * (i + 1) / 2 + j] =
                    (i == j ? 1.0 + 0.3 * sin((double)(c + i))
                            : K[c * n_entries + i * (i + 1) / 2 + j] * ((i + j) % 5 == 0 ? 1e-6 : 1.0) /
                                  (double)n) *
                    exp2((double)((c + i) % 13 + (c + j) % 13 - 12));
    uint16_t *halves = put(a, none, n_cells * half_size((int)n), sizeof *none);
    float *x = put_random_single(a, n_unknowns, 2), *y = put_random_single(a, n_unknowns, 3);
    r.plan.matrices = halves;
    r.plan.ones = ones;
    *room(a, 1) = (double)device_cell_halve(a->device, &r.plan, put_lanes(a, n_cells, n_entries, K), halves);
    device_cell_apply_half(a->device, &r.plan, x, y);
    take_scaled_single(a, y, n_unknowns);
    K[(n_cells - 2) * n_entries] = -1.0; /* not semidefinite */
    *room(a, 1) =
        (double)(device_cell_halve(a->device, &r.plan, put_lanes(a, n_cells, n_entries, K), halves) * L /
                 (n_cells - 2 * L));
    assert_true(device_cell_half_pays(a->device, n, n_cells) >= 0);
    test_free(K);
    test_free(none);
}
