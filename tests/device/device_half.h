/* Element matrices in 16 bits: made on the device, and the product with them, on a ring of cells. The
 * matrices are positive definite, of very different diagonals: up to powers of two of twice the spread. */
static double *half_matrices(int64_t n, int64_t n_cells, int64_t spread) {
    const int64_t n_entries = n * (n + 1) / 2;
    double *K = random_numbers(n_cells * n_entries, 1);
    for (int64_t c = 0; c < n_cells; c++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) /* off the diagonal also numbers beneath the normal ones */
                K[c * n_entries + i * (i + 1) / 2 + j] =
                    (i == j ? 1.0 + 0.3 * sin((double)(c + i))
                            : K[c * n_entries + i * (i + 1) / 2 + j] * ((i + j) % 5 == 0 ? 1e-6 : 1.0) /
                                  (double)n) *
                    exp2((double)((c + i) % spread + (c + j) % spread - spread + 1));
    return K;
}

/* The plan has all but the matrices. */
static void take_halves(struct arena *a, struct cell_ring *r) {
    static const float ones[] = {1.0f, 0.7f, 1.4f, 1.0f, 2.0f, 0.5f};
    const int L = r->plan.lanes;
    const int64_t n = r->n, n_entries = n * (n + 1) / 2, n_cells = r->n_cells, n_unknowns = r->n_unknowns,
                  n_halves = n_cells * cell_plan_half_size(&r->plan);
    /* Motions mix all of them: with more of a spread their rounding in single precision is not below 1e-6. */
    double *K = half_matrices(n, n_cells, r->plan.n_near > 0 ? 7 : 13);
    uint16_t *none = test_calloc((size_t)n_halves, sizeof *none);
    uint16_t *halves = put(a, none, n_halves, sizeof *none);
    float *x = put_random_single(a, n_unknowns, 2), *y = put_random_single(a, n_unknowns, 3);
    r->plan.matrices = halves;
    r->plan.ones = ones;
    *room(a, 1) = (double)device_cell_halve(a->device, &r->plan, put_lanes(a, n_cells, n_entries, K), halves);
    (r->plan.apart ? device_cell_apply_apart : device_cell_apply_half)(a->device, &r->plan, x, y);
    take_scaled_single(a, y, n_unknowns);
    K[(n_cells - 2) * n_entries] = -1.0; /* not semidefinite */
    *room(a, 1) =
        (double)(device_cell_halve(a->device, &r->plan, put_lanes(a, n_cells, n_entries, K), halves) * L /
                 (n_cells - 2 * L));
    test_free(K);
    test_free(none);
}

/* Displacements on edges, triangles and quads; motions are seen, in part and not. */
static void take_motions(struct arena *a, int64_t size, int apart) {
    static const struct { int dim, near, n_faces; } kinds[] = {{2, 2, 3}, {3, 3, 4}, {3, 4, 6}, {2, 2, 4}};
    const int dim = kinds[size % 4].dim, near = kinds[size % 4].near, n_faces = kinds[size % 4].n_faces;
    const int64_t n_X = n_faces * near * dim;
    struct cell_ring r;
    put_cell_ring_of(a, 0, n_faces, dim * (near + (int)(size % 3)), 0, &r);
    uint8_t *loose = test_malloc((size_t)r.n_cells);
    for (int64_t c = 0; c < r.n_cells; c++)
        loose[c] = (uint8_t)(c % 5 < 3 ? (2 << dim) - 1 : c % 5 == 3 ? (1 << dim) - 1 : 2);
    double *X = random_numbers(r.n_cells * n_X, 4);
    r.plan.n_components = dim;
    r.plan.n_near = near;
    r.plan.apart = apart;
    r.plan.loose = put(a, loose, r.n_cells, 1);
    r.plan.motions = put_lanes(a, r.n_cells, n_X, X);
    take_halves(a, &r);
    test_free(X);
    test_free(loose);
}

/* y = K x in parts where the device takes them, else onto zero, in all precisions; then y += K x. */
static void take_cell_parts(struct arena *a, int64_t size) {
    struct cell_ring r;
    put_cell_ring_of(a, size, 3 + (int)(size % 4), 1 + (int)(size % 9), 0, &r);
    const int64_t n = r.n_unknowns, n_faces = r.plan.n_faces;
    uint8_t *second = test_calloc((size_t)r.n_cells, 1);
    for (int64_t c = 1; c < r.n_cells; c++) second[c] = 1; /* of face 0, which is face 1 of the cell before */
    second[r.n_cells - 1] |= 2;
    r.plan.matrices = put_random_lanes(a, r.n_cells, r.n * (r.n + 1) / 2, 1);
    r.plan.n_unknowns = n;
    double *x = put_random(a, n, 2), *y = put_nan(a, n), *zero = test_calloc((size_t)(2 * n), sizeof *zero);
    assert_true(n_faces <= 8);
    if (!device_cell_tuning(a->device)->colours) {
        r.plan.second = put(a, second, r.n_cells, 1);
        r.plan.parts = put(a, zero, 2 * n, sizeof *zero);
        r.plan.fresh = 1;
    } else {
        y = put(a, zero, n, sizeof *zero);
    }
    device_cell_apply(a->device, F64, &r.plan, x, y);
    take(a, y, n);
    r.plan.fresh = 0;
    device_cell_apply(a->device, F64, &r.plan, x, y);
    take(a, y, n);
    test_free(second);
    test_free(zero);
}

static void run_cell_products(struct arena *a, int64_t size) {
    run_cell_apply(a, size);
    take_cell_parts(a, size);
}

static void run_cell_apply_half(struct arena *a, int64_t size) {
    struct cell_ring r;
    put_cell_ring(a, size, &r);
    take_halves(a, &r);
    if (size > 0) take_motions(a, size, 0);
}

static void run_cell_apply_apart(struct arena *a, int64_t size) {
    take_motions(a, size, 1);
}
