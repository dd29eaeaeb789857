/* Runs of the kernels that make data of cells on their device, for test_device.c, which includes this. */
#ifndef FACET_TESTS_DEVICE_GENERAL_H
#define FACET_TESTS_DEVICE_GENERAL_H

/* Regions of cells, those of lanes without a cell being that of the last one. */
static int32_t *put_regions(struct arena *a, int64_t n_cells, int n_regions) {
    const int64_t n = n_batches_on(a->device, n_cells) * device_lanes(a->device);
    int32_t *regions = test_malloc((size_t)n * sizeof *regions), *there;
    for (int64_t i = 0; i < n; i++) regions[i] = (int32_t)((i < n_cells ? i : n_cells - 1) % n_regions);
    there = put(a, regions, n, sizeof *regions);
    test_free(regions);
    return there;
}

/* A number and an expression in two regions, with weights and without, as one number of three, which stand
 * point by point or one after the other. */
static void run_lane_values(struct arena *a, int64_t size) {
    const int dim = 2 + (int)(size % 2), n = 1 + (int)(size % 7), step = dim + (int)(size % 3);
    const int64_t n_cells = 1 + 3 * size, n_batches = n_batches_on(a->device, n_cells);
    const char *text = dim == 3 ? "1 + x*sin(3*y) - z^2" : "x^2 - exp(y)";
    struct field *f;
    struct expr_program program;
    ok(field_create_texts(1, &text, 0, NULL, &f));
    ok(field_program_create(f, 0, a->device, dim, 0, 0, 1 + size, &program));
    double *values = put_random_lanes(a, n_cells, 3 * n, 51);
    struct lane_points p = {.lanes = device_lanes(a->device),
                            .dim = dim,
                            .n = n,
                            .step = step,
                            .points = put_random_lanes(a, n_cells, (int64_t)n * step, 52),
                            .regions = size % 5 == 4 ? NULL : put_regions(a, n_cells, 3),
                            .row = 1,
                            .n_rows = 3,
                            .by_rows = size % 4 > 1,
                            .constant = -2.5};
    device_lane_values(a->device, &p, n_batches, values);
    p.plan = program.plan;
    p.work = program.work;
    p.region = p.row = 2;
    p.weights = put_random_lanes(a, n_cells, n, 53);
    device_lane_values(a->device, &p, n_batches, values);
    take_lanes(a, values, n_cells, 3 * n);
    expr_program_destroy(&program);
    field_destroy(&f);
}

/* K at points: numbers, or matrices with a strong diagonal; `bad`: not one of them in the last cell. */
static double *put_conductivities(struct arena *a, int64_t n_cells, int n, int dim, int matrix, int bad) {
    const int size = matrix ? dim * dim : 1;
    double *K = random_numbers(n_cells * n * size, 54), *there;
    for (int64_t i = 0; i < n_cells * n * size; i++) {
        const int row = (int)(i % size) / dim, column = (int)(i % size) % dim;
        if (!matrix || row == column)
            K[i] = 3.0 + K[i];
        else if (row > column)
            K[i] = K[i - (row * dim + column) + column * dim + row];
    }
    if (bad) K[(n_cells * n - 1) * size] = -1.0;
    there = put_lanes(a, n_cells, (int64_t)n * size, K);
    test_free(K);
    return there;
}

/* All forms of K, with tau of all kinds, with and without reaction; and data that are not fit. */
static void run_general_weights(struct arena *a, int64_t size) {
    const int dim = 2 + (int)(size % 2), n = 1 + (int)(size % 5), n_faces = 3 + (int)(size % 4), n_face = 2;
    const int matrix = (int)(size / 2 % 2), varying = (int)(size / 4 % 2), full = matrix && varying;
    const int roots = matrix && !varying, det = !varying && size % 3 == 0;
    const int64_t n_cells = 1 + 3 * size, pairs = full ? dim * (dim + 1) / 2 : 1;
    struct general_data d = {.lanes = device_lanes(a->device),
                             .dim = dim,
                             .n = n,
                             .n_faces = n_faces,
                             .n_face = n_face,
                             .n_det = 3,
                             .varying = varying,
                             .n_components = matrix ? dim * dim : 1,
                             .reaction = size % 5 < 3 ? put_positive_lanes(a, n_cells, n, 55) : NULL,
                             .wJ = put_positive_lanes(a, n_cells, n, 56),
                             .normals = put_random_lanes(a, n_cells, (int64_t)n_faces * n_face * dim, 57),
                             .tau = size % 4 == 1 ? 3.0 : 0.0,
                             .tau_hat = size % 4 == 2 ? 2.0 : 0.0,
                             .length = 1.5,
                             .heights = {1, 2, 3, 1, 2, 3},
                             .unit = 0.5,
                             .most = 1e140,
                             .full = full};
    for (int bad = 0; bad < 2; bad++) {
        d.K = put_conductivities(a, n_cells, varying ? n : 1, dim, matrix, bad);
        d.mass = det ? NULL : put_nan_lanes(a, n_cells, pairs * n);
        d.det = det ? put_positive_lanes(a, n_cells, 3, 58) : NULL;
        d.roots = roots ? put_nan_lanes(a, n_cells, dim * dim) : NULL;
        d.weights = d.reaction != NULL ? put_nan_lanes(a, n_cells, n) : NULL;
        d.taus = put_nan_lanes(a, n_cells, (int64_t)n_faces * n_face);
        d.size = put_nan_lanes(a, n_cells, 1);
        d.largest = put_nan_lanes(a, n_cells, 1);
        const int64_t n_batches = n_batches_on(a->device, n_cells);
        assert_int_equal(device_general_weights(a->device, &d, n_batches), bad ? n_batches - 1 : -1);
        if (bad) break;
        if (d.mass != NULL) take_lanes(a, d.mass, n_cells, pairs * n);
        if (d.det != NULL) take_lanes(a, d.det, n_cells, 3);
        if (d.roots != NULL) take_lanes(a, d.roots, n_cells, dim * dim);
        if (d.weights != NULL) take_lanes(a, d.weights, n_cells, n);
        take_lanes(a, d.taus, n_cells, (int64_t)n_faces * n_face);
        take_lanes(a, d.size, n_cells, 1);
        take_lanes(a, d.largest, n_cells, 1);
    }
}

/* Moduli that are one or vary, both formulations and planes, with tau of all kinds; and moduli that are none.
 */
static void run_elastic_weights(struct arena *a, int64_t size) {
    const int dim = 2 + (int)(size % 2), n = 1 + (int)(size % 5), n_faces = 3 + (int)(size % 4), n_face = 2;
    const int varying = (int)(size / 2 % 2);
    const int64_t n_cells = 1 + 3 * size, n_batches = n_batches_on(a->device, n_cells),
                  n_mu = varying ? n : 1;
    double *lambda = random_numbers(n_cells * n_mu, 71);
    struct elastic_data d = {.lanes = device_lanes(a->device),
                             .dim = dim,
                             .n = n,
                             .n_faces = n_faces,
                             .n_face = n_face,
                             .varying = varying,
                             .gradient = (int)(size / 4 % 2),
                             .plane_stress = dim == 2 && size / 8 % 2 == 0,
                             .mu = put_positive_lanes(a, n_cells, n_mu, 72),
                             .wJ = put_positive_lanes(a, n_cells, n, 73),
                             .normals = put_random_lanes(a, n_cells, (int64_t)n_faces * n_face * dim, 74),
                             .tau = size % 3 == 0 ? 3.0 : 0.0,
                             .tau_mu = size % 3 == 0 ? 0.0 : 2.0,
                             .over_height = size % 5 < 3,
                             .heights = {1, 2, 3, 1, 2, 3},
                             .most = 1e140,
                             .dev = put_nan_lanes(a, n_cells, n),
                             .vol = varying ? put_nan_lanes(a, n_cells, n) : NULL,
                             .numbers = put_nan_lanes(a, n_cells, N_ELASTIC_NUMBERS),
                             .taus = put_nan_lanes(a, n_cells, (int64_t)n_faces * n_face),
                             .volumes = put_nan_lanes(a, n_cells, 1)};
    for (int64_t i = 0; i < n_cells * n_mu; i++) lambda[i] = 2.0 + lambda[i];
    d.lambda = put_lanes(a, n_cells, n_mu, lambda);
    assert_int_equal(device_elastic_weights(a->device, &d, n_batches), -1);
    take_lanes(a, d.dev, n_cells, n);
    if (varying) take_lanes(a, d.vol, n_cells, n);
    take_lanes(a, d.numbers, n_cells, N_ELASTIC_NUMBERS);
    take_lanes(a, d.taus, n_cells, (int64_t)n_faces * n_face);
    take_lanes(a, d.volumes, n_cells, 1);
    lambda[n_cells * n_mu - 1] = -1e3;
    d.lambda = put_lanes(a, n_cells, n_mu, lambda);
    assert_int_equal(device_elastic_weights(a->device, &d, n_batches), n_batches - 1);
    test_free(lambda);
}

/* Jacobians near the identity. */
static void run_physical_functions(struct arena *a, int64_t size) {
    const int dim = 2 + (int)(size % 2), n = 1 + (int)(size % 7), row = (1 + dim) * dim,
              degree = 1 + (int)(size % 5);
    const int64_t n_cells = 1 + 3 * size, Nu = physical_count(dim, degree),
                  N = physical_count(dim, degree - 1);
    double *host = random_numbers(n_cells * row, 81);
    for (int64_t i = 0; i < n_cells * row; i++)
        if (i % row >= dim) host[i] = 0.2 * host[i] + ((i % row - dim) % (dim + 1) == 0);
    struct physical_points p = {.lanes = device_lanes(a->device),
                                .dim = dim,
                                .n = n,
                                .degree = degree,
                                .points = put_random_lanes(a, n_cells, (int64_t)n * row, 82),
                                .middle = put_lanes(a, n_cells, row, host),
                                .wJ = put_positive_lanes(a, n_cells, n, 83),
                                .values = put_nan_lanes(a, n_cells, n * Nu),
                                .slopes = size % 3 == 0 ? NULL : put_nan_lanes(a, n_cells, dim * n * N)};
    device_physical_functions(a->device, &p, n_batches_on(a->device, n_cells));
    take_lanes(a, p.values, n_cells, n * Nu);
    if (p.slopes != NULL) take_lanes(a, p.slopes, n_cells, dim * n * N);
    test_free(host);
}

static void run_general_balance(struct arena *a, int64_t size) {
    struct varied v;
    put_varied(a, size, 0, (int)(size % 2), &v);
    const int lanes = device_lanes(a->device), faces = v.t.n_faces;
    const int64_t n_cells = v.c.n_cells, n_maps = v.c.n_batches * faces * lanes;
    int64_t *maps = test_malloc((size_t)n_maps * sizeof *maps);
    for (int64_t i = 0; i < n_maps; i++) maps[i] = -1;
    for (int64_t i = 0; i < n_cells; i++)
        for (int f = 0; f < faces; f++)
            maps[lane_of(a->device, faces, i) + f * lanes] = (i + f) % 6 == 5 ? -1 : (i * 7 + f) % 50;
    struct balance_general b = {.constant = 1.2,
                                .psi = put_random(a, 8 * v.t.n_face * v.t.m, 61),
                                .u = put_random_lanes(a, n_cells, v.t.N, 62),
                                .q = put_random_lanes(a, n_cells, (int64_t)v.t.dim * v.t.N, 63),
                                .loads = put_random_lanes(a, n_cells, v.t.N, 64),
                                .trace = put_random(a, 50 + v.t.m, 65),
                                .maps = put(a, maps, n_maps, sizeof *maps)};
    double *balance = put_nan_lanes(a, n_cells, 2 + faces);
    device_general_balance(a->device, &v.t, &v.g, &b, v.c.n_batches, balance);
    take_lanes(a, balance, n_cells, 2 + faces);
    test_free(maps);
}

#endif
