/* Runs of the kernels that levels on the trace are made with, for test_device.c, which includes this. */
#ifndef FACET_TESTS_DEVICE_LEVEL_H
#define FACET_TESTS_DEVICE_LEVEL_H

/* Blocks with a strong diagonal; one of them is not positive definite every third time. */
static void run_lane_invert(struct arena *a, int64_t size) {
    static const int rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 21, 30, 45};
    int m = rows[size % 13];
    int64_t n_blocks = size * 3 - size / 2, n = m * (m + 1) / 2, bad = size % 3 == 2 ? n_blocks / 2 : -1;
    double *blocks = random_numbers(n_blocks * n, 11), *out;
    for (int64_t b = 0; b < n_blocks; b++)
        for (int i = 0; i < m; i++) blocks[b * n + i * (i + 1) / 2 + i] += b == bad ? -2.0 * m : 2.0 * m;
    if (n_blocks == 0) {
        assert_int_equal(device_lane_invert(a->device, device_lanes(a->device), 0, m, NULL), -1);
        test_free(blocks);
        return;
    }
    double *there = put_lanes(a, n_blocks, n, blocks);
    out = room(a, 1);
    out[0] = (double)device_lane_invert(a->device, device_lanes(a->device), n_blocks, m, there);
    assert_int_equal(out[0], bad);
    if (bad < 0) take_lanes(a, there, n_blocks, n);
    test_free(blocks);
}

/* Faces between random cells, some of them without one or both sides. */
static void run_faces(struct arena *a, int64_t size) {
    static const int shapes[][2] = {{3, 2}, {4, 3}, {4, 6}, {6, 4}, {3, 1}, {4, 10}, {6, 9}};
    const int lanes = device_lanes(a->device), n_faces = shapes[size % 7][0], m = shapes[size % 7][1];
    int64_t n_cells = 1 + 2 * size, n_blocks = 3 * size, n = (int64_t)n_faces * m, n_K = n * (n + 1) / 2;
    int64_t n_batches = n_batches_on(a->device, n_cells), n_maps = n_batches * n_faces * lanes;
    uint32_t seed = 3;
    int64_t *sides = test_malloc(((size_t)n_blocks * 2 + 1) * sizeof *sides),
            *maps = test_malloc(((size_t)n_maps + 1) * sizeof *maps);
    for (int64_t i = 0; i < 2 * n_blocks; i++)
        sides[i] = i % 5 == 3 ? -1 : random_below(n_cells * n_faces, &seed);
    for (int64_t i = 0; i < n_maps; i++) maps[i] = -1;
    for (int64_t cell = 0; cell < n_cells && n_blocks > 0; cell++)
        for (int f = 0; f < n_faces; f++)
            maps[lane_of(a->device, n_faces, cell) + f * lanes] =
                (cell + f) % 7 == 4 ? -1 : m * random_below(n_blocks, &seed);
    const int64_t *there = put(a, sides, 2 * n_blocks, sizeof *sides),
                  *maps_there = put(a, maps, n_maps, sizeof *maps);
    double *blocks = put_random_lanes(a, n_blocks > 0 ? n_blocks : 1, m * (m + 1) / 2, 4);
    double *y = put_random(a, n_blocks * m, 5), *locals = put_nan_lanes(a, n_cells, n);
    device_face_blocks(a->device, lanes, n_blocks, n_faces, m, there, put_random_lanes(a, n_cells, n_K, 6),
                       blocks);
    device_face_sums(a->device, lanes, n_blocks, n_faces, m, there, put_random_lanes(a, n_cells, n, 7), y);
    device_cell_gather(a->device, lanes, n_batches, n_faces, m, maps_there, y, locals);
    take_lanes(a, blocks, n_blocks, m * (m + 1) / 2);
    take(a, y, n_blocks * m);
    take_lanes(a, locals, n_cells, n);
    test_free(sides);
    test_free(maps);
}

/* Whole numbers that came out. */
static void take_columns(struct arena *a, const int32_t *from, int64_t n) {
    int32_t *host = test_malloc(((size_t)n + 1) * sizeof *host);
    double *out = room(a, n);
    ok(device_download(a->device, host, from, (size_t)n * sizeof *from));
    for (int64_t i = 0; i < n; i++) out[i] = host[i];
    test_free(host);
}

/* Rows of the same, compressed and of equal length, in two passes: the second takes in what sides the other
 * way round have. The faces of a cell differ. */
static void run_face_rows(struct arena *a, int64_t size) {
    static const int shapes[][2] = {{3, 2}, {4, 3}, {4, 6}, {6, 4}, {3, 1}, {4, 10}, {6, 9}};
    const int lanes = device_lanes(a->device), n_faces = shapes[size % 7][0], m = shapes[size % 7][1];
    const int width = 2 * n_faces;
    int64_t n_cells = 1 + 2 * size, n_blocks = 6 * size, n = (int64_t)n_faces * m, count = 0;
    int64_t n_maps = n_batches_on(a->device, n_cells) * n_faces * lanes, all = n_blocks * m * width * m;
    uint32_t seed = 3;
    int64_t *sides = test_malloc(((size_t)n_blocks * 4 + 1) * sizeof *sides),
            *maps = test_malloc(((size_t)n_maps + 1) * sizeof *maps),
            *starts = test_malloc(((size_t)n_blocks + 1) * sizeof *starts);
    int32_t *lengths = test_malloc(((size_t)n_blocks + 1) * sizeof *lengths);
    for (int64_t i = 0; i < 2 * n_blocks; i++) {
        sides[i] = i % 5 == 3 ? -1 : random_below(n_cells * n_faces, &seed);
        sides[2 * n_blocks + i] = i % 5 == 3 ? random_below(n_cells * n_faces, &seed) : -1;
    }
    for (int64_t i = 0; i < n_maps; i++) maps[i] = -1;
    for (int64_t cell = 0; cell < n_cells && n_blocks > 0; cell++)
        for (int f = 0; f < n_faces; f++)
            maps[lane_of(a->device, n_faces, cell) + f * lanes] =
                (cell + f) % 7 == 4 ? -1 : m * ((5 * cell + f) % n_blocks);
    const int64_t *there = put(a, sides, 4 * n_blocks, sizeof *sides),
                  *maps_there = put(a, maps, n_maps, sizeof *maps);
    const double *K = put_random_lanes(a, n_cells, n * (n + 1) / 2, 6);
    int32_t *counts = (int32_t *)put_nan(a, n_blocks), *columns;
    int64_t *coupled = (int64_t *)put_nan(a, n_blocks * width), *offsets, *starts_there;
    for (int pass = 0; pass < 2; pass++)
        device_face_couple(a->device, lanes, n_blocks, n_faces, there + pass * 2 * n_blocks, maps_there,
                           width, pass == 0, counts, coupled);
    ok(device_download(a->device, lengths, counts, (size_t)n_blocks * sizeof *lengths));
    for (int64_t b = 0; b < n_blocks; b++) {
        starts[b] = count;
        count += (int64_t)lengths[b] * m * m;
    }
    starts[n_blocks] = count;
    starts_there = put(a, starts, n_blocks + 1, sizeof *starts);
    offsets = (int64_t *)put_nan(a, n_blocks * m + 1);
    for (int form = 0; form < 2; form++) {
        const int64_t entries = form == 0 ? count : all;
        double *values = put_nan(a, entries);
        columns = (int32_t *)put_nan(a, entries);
        device_face_columns(a->device, n_blocks, m, width, coupled, form == 0 ? starts_there : NULL, offsets,
                            columns);
        for (int pass = 0; pass < 2; pass++)
            device_face_rows(a->device, lanes, n_blocks, n_faces, m, there + pass * 2 * n_blocks, K, width,
                             pass == 0, coupled, form == 0 ? starts_there : NULL, values);
        take(a, values, entries);
        take_columns(a, columns, entries);
    }
    if (n_blocks > 0) {
        int64_t *host = test_malloc((size_t)(n_blocks * m + 1) * sizeof *host);
        double *out = room(a, n_blocks * m + 1);
        ok(device_download(a->device, host, offsets, (size_t)(n_blocks * m + 1) * sizeof *host));
        for (int64_t i = 0; i <= n_blocks * m; i++) out[i] = (double)host[i];
        test_free(host);
    }
    test_free(sides);
    test_free(maps);
    test_free(starts);
    test_free(lengths);
}

/* Lower degrees, sums over the diagonal, and every other cell backwards. */
static void run_cell_lower(struct arena *a, int64_t size) {
    static const int shapes[][4] = {/* faces, components, functions of a face: all, fewer */
                                    {3, 1, 4, 2},
                                    {4, 1, 10, 3},
                                    {4, 3, 3, 1},
                                    {6, 1, 9, 4},
                                    {3, 2, 1, 1}};
    const int *shape = shapes[size % 5], lanes = device_lanes(a->device), parts = shape[0] * shape[1];
    int64_t n_cells = 1 + 3 * size, n = (int64_t)parts * shape[2], low = (int64_t)parts * shape[3];
    int64_t n_batches = n_batches_on(a->device, n_cells), n_K = n * (n + 1) / 2, n_low = low * (low + 1) / 2;
    int64_t count = (n_cells + 1) / 2, *cells = test_malloc((size_t)count * sizeof *cells);
    for (int64_t i = 0; i < count; i++) cells[i] = n_cells - 1 - 2 * i;
    double *K = put_random_lanes(a, n_cells, n_K, 1), *lower = put_nan_lanes(a, n_cells, n_low);
    double *summary = put_nan_lanes(a, n_cells, 3 + shape[0]), *picked = put_nan(a, count * n_K);
    device_cell_lower(a->device, lanes, n_batches, parts, shape[2], shape[3], K, lower);
    device_cell_summary(a->device, lanes, n_batches, shape[0], shape[1], (int)n, K, summary);
    device_cell_extract(a->device, lanes, count, put(a, cells, count, sizeof *cells), n_K, K, picked);
    take_lanes(a, lower, n_cells, n_low);
    take_lanes(a, summary, n_cells, 3 + shape[0]);
    take(a, picked, count * n_K);
    test_free(cells);
}

/* P'K P of cells with random hats. */
static void run_cell_corners(struct arena *a, int64_t size) {
    const int lanes = device_lanes(a->device), dim = 2 + (int)(size % 2), m = dim + (int)(size % 5),
              c = dim + 1, nc = size % 3 == 1 ? dim : 1;
    const int64_t n_cells = 1 + 3 * size, n_K = (int64_t)c * nc * m * (c * nc * m + 1) / 2,
                  n_P = c * nc * (c * nc + 1) / 2;
    const int64_t n_batches = n_batches_on(a->device, n_cells), n = n_batches * lanes;
    uint8_t *orientations = test_malloc((size_t)(n * c));
    for (int64_t i = 0; i < n; i++)
        for (int f = 0; f < c; f++)
            orientations[lane_of(a->device, c, i) + f * lanes] = (uint8_t)((i + 3 * f) % 8);
    double *corners = put_nan_lanes(a, n_cells, n_P);
    device_cell_corners(a->device, lanes, n_batches, dim, nc, m, put(a, orientations, n * c, 1),
                        put_random(a, c * 8 * dim * c, 41), put_random_lanes(a, n_cells, n_K, 42), corners);
    take_lanes(a, corners, n_cells, n_P);
    test_free(orientations);
}

/* Random cells near the reference one, in 2 and 3 dimensions, with three regions or one, and all kinds of
 * tau. */
struct straight {
    int dim, n_faces;
    int64_t n_cells, n_batches;
    double *nodes, *normals;
    struct affine_layout at;
};

static struct straight put_straight(struct arena *a, int64_t size) {
    const int dim = 2 + (int)(size % 2), n_faces = size % 3 == 0 ? 2 * dim : dim + 1, n = (1 + dim) * dim;
    struct straight s = {.dim = dim, .n_faces = n_faces, .n_cells = 1 + 3 * size};
    double *nodes = random_numbers(s.n_cells * n, 31);
    s.n_batches = n_batches_on(a->device, s.n_cells);
    s.at = affine_layout(dim, n_faces);
    for (int64_t i = 0; i < s.n_cells; i++)
        for (int v = 0; v <= dim; v++)
            for (int d = 0; d < dim; d++)
                nodes[i * n + v * dim + d] = 0.1 * nodes[i * n + v * dim + d] + (v == d + 1 ? 1.0 : 0.0);
    s.nodes = put_lanes(a, s.n_cells, n, nodes);
    s.normals = put_random(a, 3 * n_faces, 32);
    test_free(nodes);
    return s;
}

static void run_affine_coefficients(struct arena *a, int64_t size) {
    const int lanes = device_lanes(a->device);
    struct straight s = put_straight(a, size);
    const int64_t n = s.n_batches * lanes;
    double *orientations = test_malloc((size_t)(s.n_cells * s.n_faces) * sizeof *orientations);
    int32_t *regions = test_malloc((size_t)n * sizeof *regions);
    for (int64_t i = 0; i < n; i++) regions[i] = (int32_t)((i < s.n_cells ? i : s.n_cells - 1) % 3);
    for (int64_t i = 0; i < s.n_cells * s.n_faces; i++)
        orientations[i] = (double)((i / s.n_faces + i % s.n_faces) % 6);
    struct straight_cells cells = {.lanes = lanes,
                                   .dim = s.dim,
                                   .n_faces = s.n_faces,
                                   .simplex = s.n_faces == s.dim + 1,
                                   .n_nodes = 1 + s.dim,
                                   .corners = {0, 1, 2, 3},
                                   .nodes = s.nodes,
                                   .orientations = put_lanes(a, s.n_cells, s.n_faces, orientations),
                                   .regions = size % 5 == 4 ? NULL : put(a, regions, n, sizeof *regions),
                                   .K = put_random(a, 3 * s.dim * s.dim, 33),
                                   .reaction = put_random(a, 3, 34),
                                   .normals = s.normals,
                                   .volume = 0.5,
                                   .face = 2.0,
                                   .tau = size % 4 == 1 ? 3.0 : 0.0,
                                   .tau_hat = size % 4 == 2 ? 2.0 : 0.0,
                                   .length = 1.5};
    double *coefficients = put_nan_lanes(a, s.n_cells, s.at.count), *det = put_nan_lanes(a, s.n_cells, 1);
    device_affine_coefficients(a->device, &cells, s.n_batches, coefficients, det);
    take_lanes(a, coefficients, s.n_cells, s.at.count);
    take_lanes(a, det, s.n_cells, 1);
    test_free(orientations);
    test_free(regions);
}

#endif
