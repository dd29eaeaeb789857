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

/* Forces with and without pressure, and fluxes with and without reaction; points of faces, or one that is
 * a face; functions of all cells, or of each its own; rows longer than what is used of them. */
static void run_cell_balance(struct arena *a, int64_t size) {
    const int dim = 2 + (int)(size % 2), forces = (int)(size / 2 % 2), pressure = forces && size / 4 % 2,
              own = size % 5 == 0, nc = forces ? dim : 1, faces = 3 + (int)(size % 4),
              n = 1 + (int)(size % 3), N = 1 + (int)(size % 6), Nu = N + (int)(size % 4),
              m = 1 + (int)(size % 5), inside = !forces && size % 3 == 0;
    const int64_t n_cells = 1 + 3 * size, orientations_row = faces + size % 2,
                  n_phi = (int64_t)faces * n * Nu, tau_row = (int64_t)faces * n + 1,
                  normals_row = (int64_t)faces * n * dim + 2, n_out = cell_balance_size(faces, nc);
    double *orientations = test_malloc((size_t)(n_cells * orientations_row) * sizeof *orientations);
    for (int64_t i = 0; i < n_cells * orientations_row; i++) orientations[i] = (double)(i * 5 % 8);
    struct cell_balance b = {.lanes = device_lanes(a->device),
                             .dim = dim,
                             .components = nc,
                             .n_faces = faces,
                             .n = n,
                             .N = N,
                             .Nu = Nu,
                             .m = m,
                             .n_psi = size % 7 == 0 ? 1 : m,
                             .pressure = pressure,
                             .own = own,
                             .phi_row = Nu,
                             .chi_row = Nu,
                             .phi = own ? put_random_lanes(a, n_cells, n_phi, 61) : put_random(a, n_phi, 61),
                             .chi = own ? put_random_lanes(a, n_cells, n_phi, 62) : put_random(a, n_phi, 62),
                             .psi = put_random(a, (int64_t)8 * n * m, 63),
                             .orientations = put_lanes(a, n_cells, orientations_row, orientations),
                             .normals = put_random_lanes(a, n_cells, normals_row, 64),
                             .tau = put_random_lanes(a, n_cells, tau_row, 65),
                             .orientations_row = orientations_row,
                             .normals_row = normals_row,
                             .tau_row = tau_row,
                             .mu = -1.0,
                             .moduli_row = 2,
                             .constant = 1.2,
                             .u = put_random_lanes(a, n_cells, (int64_t)nc * Nu, 67),
                             .loads = put_random_lanes(a, n_cells, (int64_t)nc * Nu, 68),
                             .q = put_random_lanes(a, n_cells, (int64_t)(nc * dim + pressure) * N, 69),
                             .uhat = put_random_lanes(a, n_cells, (int64_t)faces * nc * m, 70),
                             .n_inside = inside ? 3 : 0,
                             .N_inside = N,
                             .inside = put_random(a, (int64_t)3 * N, 71),
                             .reaction = put_random_lanes(a, n_cells, 4, 72),
                             .reaction_row = 4};
    double *balance = put_nan_lanes(a, n_cells, n_out), *moduli = put_positive_lanes(a, n_cells, 2, 66);
    if (pressure) {
        b.moduli[0] = moduli;
        b.moduli[1] = moduli + b.lanes;
    }
    device_cell_balance(a->device, &b, n_batches_on(a->device, n_cells), balance);
    take_lanes(a, balance, n_cells, n_out);
    test_free(orientations);
}

#endif
