/* Runs of the kernels that exist in both precisions, for numbers of type REAL: test_device.c includes this
 * once for each PRECISION, with NAME(what) the name of a function. */

static REAL *NAME(numbers)(int64_t n, uint32_t seed) {
    REAL *x = test_malloc(((size_t)n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (REAL)random_signed(&seed);
    return x;
}

static REAL *NAME(put_random)(struct arena *a, int64_t n, uint32_t seed) {
    REAL *host = NAME(numbers)(n, seed), *on_device = put(a, host, n, sizeof *host);
    test_free(host);
    return on_device;
}

static REAL *NAME(put_nan)(struct arena *a, int64_t n) {
    REAL *host = NAME(numbers)(n, 1), *on_device;
    for (int64_t i = 0; i < n; i++) host[i] = NAN;
    on_device = put(a, host, n, sizeof *host);
    test_free(host);
    return on_device;
}

static void NAME(take)(struct arena *a, const REAL *from, int64_t n) {
    REAL *host = test_malloc(((size_t)n + 1) * sizeof *host);
    double *out = room(a, n);
    ok(device_download(a->device, host, from, (size_t)n * sizeof *from));
    for (int64_t i = 0; i < n; i++) out[i] = host[i];
    test_free(host);
}

static REAL *NAME(put_lanes)(struct arena *a, int64_t n_cells, int64_t n, const REAL *by_cell) {
    const int lanes = device_lanes(a->device);
    int64_t n_all = n_batches_on(a->device, n_cells) * lanes;
    REAL *host = test_malloc((size_t)(n_all * n + 1) * sizeof *host), *on_device;
    for (int64_t cell = 0; cell < n_all; cell++)
        for (int64_t e = 0; e < n; e++)
            host[lane_of(a->device, n, cell) + e * lanes] =
                by_cell[(cell < n_cells ? cell : n_cells - 1) * n + e];
    on_device = put(a, host, n_all * n, sizeof *host);
    test_free(host);
    return on_device;
}

static REAL *NAME(put_random_lanes)(struct arena *a, int64_t n_cells, int64_t n, uint32_t seed) {
    REAL *host = NAME(numbers)(n_cells * n, seed), *on_device = NAME(put_lanes)(a, n_cells, n, host);
    test_free(host);
    return on_device;
}

static void NAME(run_fill)(struct arena *a, int64_t n) {
    struct vector x;
    ok(vector_create_in(a->device, PRECISION, n, &x));
    vector_fill(&x, -3.25);
    NAME(take)(a, x.numbers, n);
    vector_destroy(&x);
}

static void NAME(run_axpby)(struct arena *a, int64_t n) {
    struct vector
        x = {.device = a->device, .precision = PRECISION, .n = n, .numbers = NAME(put_random)(a, n, 1)},
        y = {.device = a->device, .precision = PRECISION, .n = n, .numbers = NAME(put_random)(a, n, 2)},
        z = {.device = a->device, .precision = PRECISION, .n = n, .numbers = NAME(put_nan)(a, n)};
    vector_axpby(0.75, &x, -1.5, &y);
    vector_axpby(2.0, &x, 0.0, &z); /* b = 0 ignores y, be it NaN */
    NAME(take)(a, y.numbers, n);
    NAME(take)(a, z.numbers, n);
}

/* Every third entry, or so, backwards. */
static void NAME(run_move_entries)(struct arena *a, int64_t n) {
    int64_t *places = test_malloc(((size_t)n + 1) * sizeof *places);
    for (int64_t i = 0; i < n; i++) places[i] = 3 * (n - 1 - i) + i % 2;
    int64_t *there = put(a, places, n, sizeof *places);
    REAL *x = NAME(put_random)(a, 3 * n, 1), *values = NAME(put_nan)(a, n);
    device_take_entries(a->device, PRECISION, n, there, x, values);
    NAME(take)(a, values, n);
    device_put_entries(a->device, PRECISION, n, there, NAME(put_random)(a, n, 2), 1.0, x);
    NAME(take)(a, x, 3 * n);
    device_put_entries(a->device, PRECISION, n, there, NAME(put_random)(a, n, 3), 0.0, x);
    NAME(take)(a, x, 3 * n);
    device_put_entries(a->device, PRECISION, n / 2, there, NULL, 0.0, x);
    NAME(take)(a, x, 3 * n);
    test_free(places);
}

static void NAME(run_multiply)(struct arena *a, int64_t n) {
    REAL *d = NAME(put_random)(a, n, 1), *x = NAME(put_random)(a, n, 2), *y = NAME(put_nan)(a, n);
    device_multiply(a->device, PRECISION, n, d, x, y);
    NAME(take)(a, y, n);
}

static void NAME(run_dot)(struct arena *a, int64_t n) {
    struct vector
        x = {.device = a->device, .precision = PRECISION, .n = n, .numbers = NAME(put_random)(a, n, 1)},
        y = {.device = a->device, .precision = PRECISION, .n = n, .numbers = NAME(put_random)(a, n, 2)};
    double *out = room(a, 2);
    out[0] = vector_dot(&x, &y) / sqrt((double)n + 1);
    out[1] = vector_norm(&x) / sqrt((double)n + 1);
}

static void NAME(run_narrow)(struct arena *a, int64_t n) {
    REAL *y = NAME(put_nan)(a, n);
    device_narrow(a->device, PRECISION, n, put_random(a, n, 1), y);
    NAME(take)(a, y, n);
}

static void NAME(run_widen)(struct arena *a, int64_t n) {
    double *y = put_nan(a, n);
    device_widen(a->device, PRECISION, n, NAME(put_random)(a, n, 1), 0.0, y);
    take(a, y, n);
    device_widen(a->device, PRECISION, n, NAME(put_random)(a, n, 2), 1.0, y);
    take(a, y, n);
}

static void NAME(run_parts)(struct arena *a, int64_t size) {
    const int m = 1 + (int)(size % 11), low = 1 + (int)(size % 4) < m ? 1 + (int)(size % 4) : m;
    REAL *fine = NAME(put_random)(a, size * m, 1), *coarse = NAME(put_nan)(a, size * low);
    device_part_copy(a->device, PRECISION, size, low, NAME(put_random)(a, size * low, 2), 1.0, m, fine);
    device_part_copy(a->device, PRECISION, size, m, fine, 0.0, low, coarse);
    NAME(take)(a, fine, size * m);
    NAME(take)(a, coarse, size * low);
}

/* Random faces between `size` vertices, some of them without one; vertices have any number of faces. */
static void NAME(run_corners)(struct arena *a, int64_t size) {
    const int dim = 2 + (int)(size % 2);
    const int64_t n_faces = 3 * size, n = n_faces * dim;
    uint32_t seed = 8;
    double hats[9];
    int32_t *corners = test_malloc(((size_t)n + 1) * sizeof *corners),
            *places = test_malloc(((size_t)n + 1) * sizeof *places);
    int64_t *starts = test_malloc(((size_t)size + 1) * sizeof *starts), count = 0;
    for (int i = 0; i < 9; i++) hats[i] = 0.3 * i - 1.0;
    for (int64_t i = 0; i < n; i++) corners[i] = i % 7 == 3 ? -1 : (int32_t)random_below(size, &seed);
    for (int64_t v = 0; v < size; v++) {
        starts[v] = count;
        for (int64_t i = 0; i < n && size < 1000; i++)
            if (corners[i] == v) places[count++] = (int32_t)i;
    }
    starts[size] = count;
    REAL *fine = NAME(put_random)(a, n, 1), *coarse = NAME(put_random)(a, size, 2);
    device_corner_prolong(a->device, PRECISION, n_faces, dim, put(a, corners, n, sizeof *corners), hats,
                          coarse, fine);
    NAME(take)(a, fine, n);
    device_corner_restrict(a->device, PRECISION, size, dim, put(a, starts, size + 1, sizeof *starts),
                           put(a, places, count, sizeof *places), hats, fine, coarse);
    NAME(take)(a, coarse, size);
    test_free(corners);
    test_free(places);
    test_free(starts);
}

/* Rows of 0 .. 12 entries. */
static void NAME(run_csr)(struct arena *a, int64_t n) {
    uint32_t seed = 5;
    int64_t *offsets = test_malloc(((size_t)n + 1) * sizeof *offsets);
    int32_t *columns = test_malloc((13 * (size_t)n + 1) * sizeof *columns);
    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        offsets[i + 1] = offsets[i] + random_below(13, &seed);
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) columns[k] = (int32_t)random_below(n, &seed);
    }
    REAL *values = NAME(put_random)(a, offsets[n], 6), *x = NAME(put_random)(a, n, 7),
         *y = NAME(put_nan)(a, n);
    device_csr_apply(a->device, PRECISION, n, put(a, offsets, n + 1, sizeof *offsets),
                     put(a, columns, offsets[n], sizeof *columns), values, x, y);
    NAME(take)(a, y, n);
    test_free(offsets);
    test_free(columns);
}

/* n symmetric blocks of 0 .. 9 unknowns, or all of one size. */
struct NAME(blocks) {
    int64_t n, *first, *starts; /* on the device */
    REAL *matrices;
};

static void NAME(put_blocks)(struct arena *a, int64_t n_blocks, int size, struct NAME(blocks) * b) {
    uint32_t seed = 7;
    int64_t *first = test_malloc(((size_t)n_blocks + 1) * sizeof *first);
    int64_t *starts = test_malloc(((size_t)n_blocks + 1) * sizeof *starts);
    first[0] = starts[0] = 0;
    for (int64_t k = 0; k < n_blocks; k++) {
        int64_t n = size > 0 ? size : random_below(10, &seed);
        first[k + 1] = first[k] + n;
        starts[k + 1] = starts[k] + n * n;
    }
    b->n = first[n_blocks];
    REAL *values = test_malloc(((size_t)starts[n_blocks] + 1) * sizeof *values);
    for (int64_t k = 0; k < n_blocks; k++)
        for (int64_t n = first[k + 1] - first[k], i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++)
                values[starts[k] + i * n + j] = values[starts[k] + j * n + i] = (REAL)random_signed(&seed);
    b->matrices = put(a, values, starts[n_blocks], sizeof *values);
    test_free(values);
    b->first = put(a, first, n_blocks + 1, sizeof *first);
    b->starts = put(a, starts, n_blocks + 1, sizeof *starts);
    test_free(first);
    test_free(starts);
}

/* variant, by bits: with t, b not 0, c not 0, r on top of f; 16, 18: no t, r and x. */
static void NAME(smooth)(struct arena *a, int64_t n_blocks, int variant) {
    struct NAME(blocks) s;
    NAME(put_blocks)(a, n_blocks, (int)(n_blocks % 3 * 9), &s);
    REAL *f = NAME(put_random)(a, s.n, 1), *t = variant & 1 ? NAME(put_random)(a, s.n, 2) : NULL;
    double b = variant & 2 ? 0.25 : 0, c = variant & 4 ? 0.5 : 0;
    REAL *d = b == 0 ? NAME(put_nan)(a, s.n) : NAME(put_random)(a, s.n, 3);
    REAL *x = c == 0 ? NAME(put_nan)(a, s.n) : NAME(put_random)(a, s.n, 4);
    REAL *r = variant & 8 ? f : NAME(put_nan)(a, s.n);
    const int all = variant < 16;
    device_block_smooth(a->device, PRECISION, n_blocks, s.first, s.starts, s.matrices, 0.75, b, c, f, t,
                        all ? r : NULL, d, all ? x : NULL);
    if (all) NAME(take)(a, r, s.n);
    NAME(take)(a, d, s.n);
    if (all) NAME(take)(a, x, s.n);
}

static void NAME(run_block_smooth)(struct arena *a, int64_t n_blocks) {
    for (int variant = 0; variant < 20; variant += variant < 16 ? 1 : 2) {
        struct arena one = {.device = a->device};
        NAME(smooth)(&one, n_blocks, variant);
        if (one.n_out > 0) memcpy(room(a, one.n_out), one.out, (size_t)one.n_out * sizeof *one.out);
        arena_destroy(&one);
    }
}

/* Blocks of one size in lanes. variant, by bits: with t, b not 0, c not 0, r on top of f, neither r nor x. */
static void NAME(smooth_lanes)(struct arena *a, int64_t n_blocks, int m, int variant) {
    const int L = device_lanes(a->device);
    const int64_t n = n_blocks * m, size = m * (m + 1) / 2, n_batches = n_batches_on(a->device, n_blocks);
    REAL *all = NAME(numbers)(n_blocks * size, 8),
         *values = test_calloc((size_t)(n_batches * size * L) + 1, sizeof *values);
    for (int64_t k = 0; k < n_blocks; k++)
        for (int64_t e = 0; e < size; e++) values[(k / L * size + e) * L + k % L] = all[k * size + e];
    REAL *matrices = put(a, values, n_batches * size * L, sizeof *values);
    REAL *f = NAME(put_random)(a, n, 1), *t = variant & 1 ? NAME(put_random)(a, n, 2) : NULL;
    double b = variant & 2 ? 0.25 : 0, c = variant & 4 ? 0.5 : 0;
    REAL *d = b == 0 ? NAME(put_nan)(a, n) : NAME(put_random)(a, n, 3);
    REAL *x = c == 0 ? NAME(put_nan)(a, n) : NAME(put_random)(a, n, 4);
    REAL *r = variant & 8 ? f : NAME(put_nan)(a, n);
    int alone = variant & 16;
    device_lane_smooth(a->device, PRECISION, L, n_blocks, m, matrices, 0.75, b, c, f, t, alone ? NULL : r, d,
                       alone ? NULL : x);
    NAME(take)(a, d, n);
    if (!alone) {
        NAME(take)(a, r, n);
        NAME(take)(a, x, n);
    }
    test_free(all);
    test_free(values);
}

static void NAME(run_lane_smooth)(struct arena *a, int64_t n_blocks) {
    for (int variant = 0; variant < 32; variant++) {
        struct arena one = {.device = a->device};
        NAME(smooth_lanes)(&one, n_blocks, 1 + (int)((n_blocks + 5 * variant) % 21), variant);
        if (one.n_out > 0) memcpy(room(a, one.n_out), one.out, (size_t)one.n_out * sizeof *one.out);
        arena_destroy(&one);
    }
}

static void NAME(cells)(struct arena *a, int64_t size, int full) {
    struct cell_ring r;
    put_cell_ring(a, size, &r);
    r.plan.matrices = NAME(put_random_lanes)(a, r.n_cells, full ? r.n * r.n : r.n * (r.n + 1) / 2, 1);
    REAL *x = NAME(put_random)(a, r.n_unknowns, 2), *y = NAME(put_random)(a, r.n_unknowns, 3);
    r.plan.full = full;
    device_cell_apply(a->device, PRECISION, &r.plan, x, y);
    NAME(take)(a, y, r.n_unknowns);
}

static void NAME(run_cell_apply)(struct arena *a, int64_t size) {
    NAME(cells)(a, size, 0);
    NAME(cells)(a, size, 1);
}

/* n rows of 1 to 13 steps, the longest first. */
static void NAME(run_row_solve)(struct arena *a, int64_t n) {
    const int L = device_lanes(a->device);
    int64_t n_groups = n_batches_on(a->device, n),
            *starts = test_calloc((size_t)n_groups + 1, sizeof *starts);
    for (int64_t g = 0; g < n_groups; g++) starts[g + 1] = starts[g] + 13 - 12 * (g * L) / n;
    int64_t n_numbers = starts[n_groups] * L,
            *unknowns = test_malloc((size_t)(n_numbers + 1) * sizeof *unknowns);
    double *below = test_calloc((size_t)n_numbers + 1, sizeof *below),
           *inverse = test_calloc((size_t)n_numbers + 1, sizeof *inverse);
    for (int64_t i = 0; i < n_numbers; i++) unknowns[i] = -1;
    for (int64_t row = 0; row < n; row++)
        for (int64_t s = 0; s < 13 - 12 * row / n; s++) {
            int64_t at = (starts[row / L] + s) * L + row % L;
            uint32_t seed = (uint32_t)(13 * row + s + 1);
            unknowns[at] = (12 - s) * n + row;
            below[at] = s > 0 ? 0.4 * random_signed(&seed) : 0.0;
            inverse[at] = 2.0 + random_signed(&seed);
        }
    struct row_plan plan = {.lanes = L,
                            .n_groups = n_groups,
                            .n_steps = starts[n_groups],
                            .starts = put(a, starts, n_groups + 1, sizeof *starts),
                            .unknowns = put(a, unknowns, n_numbers, sizeof *unknowns),
                            .below = put(a, below, n_numbers, sizeof *below),
                            .inverse = put(a, inverse, n_numbers, sizeof *inverse),
                            .z = put(a, inverse, n_numbers, sizeof *inverse)};
    REAL *x = NAME(put_random)(a, 13 * n, 1), *y = NAME(put_random)(a, 13 * n, 2);
    device_row_solve(a->device, PRECISION, &plan, x, y);
    NAME(take)(a, y, 13 * n);
    test_free(starts);
    test_free(unknowns);
    test_free(below);
    test_free(inverse);
}
