/* Runs of the kernels on tiles of cells of a box (kernels/tile.h). */

/* A part of a graded box with two kinds of lines. */
static struct tile_plan make_tile(struct arena *a, int dim) {
    struct tile_plan t = {.dim = dim, .cells = {1, 1, 1}};
    static const int cells[3] = {5, 3, 4};
    int64_t n_cells = 1;
    for (int d = 0; d < dim; d++) {
        double ends[8];
        int32_t kinds[8];
        t.cells[d] = cells[d];
        n_cells *= cells[d];
        for (int i = 0; i <= cells[d]; i++) {
            ends[i] = 0.3 * i + 0.02 * i * i;
            kinds[i] = (i + d) % 2;
        }
        t.ends[d] = put(a, ends, cells[d] + 1, sizeof *ends);
        if (d != 1) t.kinds[d] = put(a, kinds, cells[d], sizeof *kinds);
    }
    t.first = n_cells / 3;
    t.count = n_cells - t.first - 1;
    return t;
}

static void run_tile(struct arena *a, int64_t size) {
    const int dim = 1 + (int)(size % 3), n_in = 1 + (int)(size % 7), n_out = 1 + (int)(size % 11);
    struct tile_plan t = make_tile(a, dim);
    const int64_t all = t.cells[0] * t.cells[1] * t.cells[2], in = t.count * tile_power(n_in, dim),
                  out = t.count * tile_power(n_out, dim);
    const double *T[3];
    for (int d = 0; d < 3; d++) T[d] = put_random(a, 2 * n_in * n_out, 20 + (uint32_t)d);
    const struct tile_scale plain = {.factor = 1.5}, scale = {.factor = -0.5,
                                                              .powers = {1, -2, 1},
                                                              .of_cells = put_random(a, all, 31)};
    double *from = put_random(a, in, 5), *to = put_nan(a, out), *extremes = put_nan(a, 2 * t.count);
    double *scratch = put_nan(a, device_tile_scratch(a->device, &t, n_in, n_out));
    device_tile_contract(a->device, &t, n_in, n_out, T, &plain, TILE_PUT, from, to, scratch);
    take_scaled(a, to, out);
    device_tile_contract(a->device, &t, n_in, n_out, T, &scale, TILE_ADD, from, to, scratch);
    take_scaled(a, to, out);
    device_tile_extremes(a->device, t.count, tile_power(n_out, dim), 1, 0, to, extremes);
    take_scaled(a, extremes, 2 * t.count);
    device_tile_contract(a->device, &t, n_in, n_out, T, NULL, TILE_EXTREMES, from, extremes, scratch);
    take_scaled(a, extremes, 2 * t.count);
    const int components = 3;
    const int64_t n = out / components / 2; /* three components of two cells */
    if (n > 0) {
        device_tile_extremes(a->device, 2, n, components, 2 * n, to, extremes);
        take_scaled(a, extremes, 4);
    }
}

/* Nodes that cells share, with and without rings: to the cells and back. */
static void run_tile_nodes(struct arena *a, int64_t size) {
    const int dim = 1 + (int)(size % 3), k = 1 + (int)(size % 4);
    struct tile_plan t = make_tile(a, dim);
    int nodes[3] = {1, 1, 1};
    int64_t n = 1;
    for (int d = 0; d < dim; d++) {
        nodes[d] = k * t.cells[d] + !(size >> d & 1);
        n *= nodes[d];
    }
    if (size % 5 == 0) {
        t.first = 0;
        t.count = t.cells[0] * t.cells[1] * t.cells[2];
    }
    double *x = put_random(a, n, 9), *cells = put_nan(a, t.count * tile_power(k + 1, dim));
    device_tile_gather(a->device, &t, k, nodes, x, cells);
    take(a, cells, t.count * tile_power(k + 1, dim));
    device_tile_add(a->device, &t, k, nodes, cells, x);
    take(a, x, n);
}

/* sin(x y) + x^2 z^2 in cells, with what derivatives make of it. */
static void run_tile_expression(struct arena *a, int64_t size) {
    const struct expression_node nodes[] = {
        {.op = OP_COORDINATE, .constant = 0, .first = 1, .slot = 0},
        {.op = OP_COORDINATE, .constant = 1, .first = 2, .slot = 1},
        {.op = OP_MULTIPLY, .argument = {0, 1}, .first = 3, .second = 1 << expression_pair(0, 1), .slot = 2},
        {.op = OP_SIN, .argument = {2}, .first = 3, .second = 1 | 2 | 8, .slot = 3},
        {.op = OP_MULTIPLY, .argument = {0, 0}, .first = 1, .second = 1, .slot = 1},
        {.op = OP_ADD, .argument = {3, 4}, .first = 3, .second = 1 | 2 | 8, .slot = 0},
    };
    const int dim = 2 + (int)(size % 2), n = 1 + (int)(size % 6);
    struct tile_plan t = make_tile(a, dim);
    struct tile_points points = {.n = {1, 1, 1}};
    const struct tile_lines none = {0};
    int64_t total = t.count;
    for (int d = 0; d < dim; d++) {
        points.n[d] = size % 5 == d ? 1 : n + d % 2;
        points.x[d] = put_random(a, points.n[d], 3 + (uint32_t)d);
        total *= points.n[d];
    }
    struct expression_plan plan = {.dim = dim,
                                   .block = 1 + (int)(size % 41) * 7,
                                   .n_nodes = 6,
                                   .nodes = put(a, nodes, 6, sizeof *nodes)};
    for (enum tile_jet jet = TILE_VALUES; jet <= TILE_LAPLACIANS; jet++) {
        plan.order = (int)jet;
        double *out = put_nan(a, total * tile_jets(jet, dim));
        double *work =
            put_nan(a, (EXPRESSION_SCRATCH + 4 * expression_jet(plan.order) + dim) * (int64_t)plan.block);
        device_tile_expression(a->device, &t, &points, &plan, &none, jet, out, work);
        take(a, out, total * tile_jets(jet, dim));
    }
    struct expression_node given[6];
    memcpy(given, nodes, sizeof nodes);
    /* Instead of x^2: any numbers of y. */
    given[4] =
        (struct expression_node){.op = OP_GIVEN, .first = 2, .second = 1 << expression_pair(1, 1), .slot = 4};
    given[5].second |= given[4].second;
    plan.nodes = put(a, given, 6, sizeof *given);
    const struct tile_lines line = {
        .n = 1, .node = {4}, .set = {2}, .values = {put_random(a, (int64_t)3 * t.cells[1] * points.n[1], 8)}};
    for (enum tile_jet jet = TILE_VALUES; jet <= TILE_LAPLACIANS; jet++) {
        plan.order = (int)jet;
        double *out = put_nan(a, total * tile_jets(jet, dim));
        double *work =
            put_nan(a, (EXPRESSION_SCRATCH + 5 * expression_jet(plan.order) + dim) * (int64_t)plan.block);
        device_tile_expression(a->device, &t, &points, &plan, &line, jet, out, work);
        take(a, out, total * tile_jets(jet, dim));
    }
}

/* Fluxes, post-processing and errors of packed cells. */
static void run_tile_errors(struct arena *a, int64_t size) {
    const int dim = 1 + (int)(size % 3), n = 1 + (int)(size % 7), points = n + 2;
    struct tile_plan t = make_tile(a, dim);
    const int64_t all = t.cells[0] * t.cells[1] * t.cells[2], cell = tile_power(n, dim);
    const int64_t width = cell + 2 * dim * tile_power(n, dim - 1), there = t.count * tile_power(points, dim);
    const struct tile_scale scale = {
        .factor = -0.5, .powers = {1, -2, 1}, .of_cells = put_random(a, all, 31)};
    double *cells = put_random(a, t.count * width, 5), *q = put_nan(a, t.count * cell);
    double *theta = random_numbers(n, 7), *k = random_numbers(all, 8);
    const double *T[3];
    for (int i = 0; i < n; i++) theta[i] = 1.0 + fabs(theta[i]);
    for (int64_t i = 0; i < all; i++) k[i] = 1.0 + fabs(k[i]);
    for (int d = 0; d < 3; d++) T[d] = put_random(a, 2 * n * points, 20 + (uint32_t)d);
    for (int d = 0; d < dim; d++) {
        device_tile_flux(a->device, &t, n, (n + 1) / 2, d, put_random(a, 2 * n * n, 9),
                         put_random(a, 2 * n, 10), &scale, width, cells, q);
        take_scaled(a, q, t.count * cell);
    }
    device_tile_divide(a->device, &t, n, put(a, theta, n, sizeof *theta), put(a, k, all, sizeof *k),
                       put_random(a, t.count, 11), q);
    take_scaled(a, q, t.count * cell);
    double *exact = put_random(a, there, 12), *weights = put_random(a, points, 13);
    double *out = put_nan(a, 2 * t.count);
    device_tile_difference(a->device, &t, points, weights, &scale, put_random(a, there, 14), exact, out);
    take_scaled(a, out, 2 * t.count);
    for (int s = 0; s < 2 * dim; s++)
        device_tile_faces(a->device, &t, n, points, T, weights, s / 2, s % 2, width, cells, exact, s > 0,
                          out);
    take_scaled(a, out, t.count);
    test_free(theta);
    test_free(k);
}
