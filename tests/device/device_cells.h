/* Runs of the kernels over batches of mapped cells, for test_device.c, which includes this. */
#ifndef FACET_TESTS_DEVICE_CELLS_H
#define FACET_TESTS_DEVICE_CELLS_H

/* Random tables and coefficients of some shape; a large reaction keeps S definite. */
struct cells {
    struct affine_tables t; /* on the device */
    int n;
    int64_t n_cells, n_batches;
    double *coefficients, *K;
    int64_t n_K; /* of a cell */
};

/* F_f'F_g, which is the transpose of F_g'F_f. */
static const double *put_face_products(struct arena *a, int n_faces, int m) {
    const int n = n_faces * m;
    double *FF = random_numbers((int64_t)n * n, 5);
    const double *there;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            FF[((j / m * n_faces + i / m) * m + j % m) * m + i % m] =
                FF[((i / m * n_faces + j / m) * m + i % m) * m + j % m];
    there = put(a, FF, (int64_t)n * n, sizeof *FF);
    test_free(FF);
    return there;
}

static void put_cells(struct arena *a, int64_t size, struct cells *c) {
    static const int shapes[][4] = {/* dim, faces, N, m */
                                    {2, 3, 3, 2}, {2, 4, 9, 3},  {2, 3, 10, 4}, {2, 4, 25, 5}, {3, 4, 10, 6},
                                    {3, 6, 8, 4}, {2, 3, 28, 7}, {2, 3, 1, 1},  {3, 6, 68, 7}};
    const int *shape = shapes[size % 9];
    int dim = shape[0], n_faces = shape[1], N = shape[2], m = shape[3];
    struct affine_layout at = affine_layout(dim, n_faces);
    int64_t n = n_faces * m, n_cells = 8 * (1 + size % 11) - size % 3;
    double *k = random_numbers(n_cells * at.count, 7);
    const int orientations = dim == 2 ? 2 : n_faces == 4 ? 6 : 8; /* of an edge, a triangle, a quad */
    for (int64_t i = 0; i < n_cells; i++) {
        double *cell = k + i * at.count;
        cell[at.reaction] = 8.0 * N;
        for (int f = 0; f < n_faces; f++)
            cell[at.orientation + f] = i < 8 && f == 1 ? 0 : (double)((i + f) % orientations);
    }
    *c = (struct cells){.n = (int)n,
                        .n_cells = n_cells,
                        .n_batches = n_batches_on(a->device, n_cells),
                        .coefficients = put_lanes(a, n_cells, at.count, k),
                        .n_K = n * (n + 1) / 2};
    test_free(k);
    c->t = (struct affine_tables){.lanes = device_lanes(a->device),
                                  .dim = dim,
                                  .n_faces = n_faces,
                                  .N = N,
                                  .m = m,
                                  .volume = 0.5,
                                  .face = 1};
    c->t.stiffness = put_random(a, dim * (dim + 1) / 2 * N * N, 1);
    c->t.face_mass = put_random(a, n_faces * N * N, 2);
    c->t.F = put_random(a, n_faces * N * m, 3);
    c->t.DF = put_random(a, n_faces * dim * N * m, 4);
    c->t.FF = put_face_products(a, n_faces, m);
    c->t.D = put_random(a, dim * N * N, 6);
    int32_t starts[8], modes[7];
    c->t.n_groups = make_groups(dim, m, starts, modes, &c->t.n_turn);
    c->t.group_starts = put(a, starts, c->t.n_groups + 1, sizeof *starts);
    c->t.modes = put(a, modes, m, sizeof *modes);
    double turns[8 * 49];
    make_turns(orientations, c->t.n_groups, starts, c->t.n_turn, turns);
    c->t.turns = put(a, turns, orientations * c->t.n_turn, sizeof *turns);
    c->K = put_nan_lanes(a, n_cells, c->n_K);
}

static void run_condense(struct arena *a, int64_t size) {
    struct cells c;
    put_cells(a, size, &c);
    double *scratch = put_nan(a, device_condense_scratch(a->device, &c.t));
    assert_int_equal(device_condense_affine(a->device, &c.t, c.n_batches, c.coefficients, c.K, scratch), -1);
    take_lanes(a, c.K, c.n_cells, c.n_K);
}

/* With a trace, the flux and no load, and without a trace the other way round. */
static void run_affine_solve(struct arena *a, int64_t size) {
    struct cells c;
    put_cells(a, size, &c);
    int64_t n_q = (int64_t)c.t.N * c.t.dim;
    double *scratch = put_nan(a, device_condense_scratch(a->device, &c.t));
    double *u = put_random_lanes(a, c.n_cells, c.t.N, 8), *uhat = put_random_lanes(a, c.n_cells, c.n, 9);
    double *q = put_nan_lanes(a, c.n_cells, n_q), *load = put_nan_lanes(a, c.n_cells, c.n);
    for (int with = 0; with < 2; with++)
        assert_int_equal(device_affine_solve(a->device, &c.t, c.n_batches, c.coefficients, with ? uhat : NULL,
                                             u, with ? q : NULL, with ? NULL : load, scratch),
                         -1);
    take_lanes(a, u, c.n_cells, c.t.N);
    take_lanes(a, q, c.n_cells, n_q);
    take_lanes(a, load, c.n_cells, c.n);
}

/* Terms with a strong diagonal in the last, so that every combination is positive definite. */
static void run_sum(struct arena *a, int64_t size, int solve) {
    int N = (int)(size % 7), n = 1 + (int)(size % 5), total = N + n, n_terms = size % 2 ? 4 : 3;
    int64_t n_cells = 8 * (1 + size % 11) - size % 3, n_terms_entries = (int64_t)n_terms * total * total;
    double *terms = random_numbers(n_terms_entries, 1), *c = random_numbers(n_cells * (n_terms + 2), 2);
    int32_t signs[8];
    for (int p = 0; p < n_terms; p++)
        for (int i = 0; i < total; i++)
            for (int j = 0; j < i; j++)
                terms[(p * total + i) * total + j] = terms[(p * total + j) * total + i];
    for (int i = 0; i < total; i++) terms[((n_terms - 1) * total + i) * total + i] = 16.0 * total;
    for (int64_t i = 0; i < n_cells; i++) {
        double *cell = c + i * (n_terms + 2);
        cell[n_terms - 1] = 1.0;
        for (int k = 0; k < 2; k++) cell[n_terms + k] = (i + k) % 2 ? 1 : -1;
    }
    for (int i = 0; i < n; i++) signs[i] = i % 3 - 1;
    struct sum_tables t = {.lanes = device_lanes(a->device),
                           .N = N,
                           .n = n,
                           .n_terms = n_terms,
                           .n_ones = n > 1 ? 2 : 1,
                           .n_signs = 2};
    t.terms = put(a, terms, n_terms_entries, sizeof *terms);
    t.moments = put_random(a, total, 3);
    t.signs = put(a, signs, n, sizeof *signs);
    int64_t n_K = n * (n + 1) / 2, n_batches = n_batches_on(a->device, n_cells);
    double *scratch = put_nan(a, device_condense_sum_scratch(a->device, &t));
    const double *coefficients = put_lanes(a, n_cells, n_terms + 2, c);
    if (solve) {
        double *u = put_random_lanes(a, n_cells, N, 8), *load = put_nan_lanes(a, n_cells, n);
        const double *uhat = size % 3 ? put_random_lanes(a, n_cells, n, 9) : NULL;
        assert_int_equal(device_sum_solve(a->device, &t, n_batches, coefficients, uhat, u, load, scratch),
                         -1);
        take_lanes(a, u, n_cells, N);
        take_lanes(a, load, n_cells, n);
    } else {
        double *K = put_nan_lanes(a, n_cells, n_K);
        assert_int_equal(device_condense_sum(a->device, &t, n_batches, coefficients, K, scratch), -1);
        take_lanes(a, K, n_cells, n_K);
    }
    test_free(terms);
    test_free(c);
}

static void run_condense_sum(struct arena *a, int64_t size) {
    run_sum(a, size, 0);
}

static void run_sum_solve(struct arena *a, int64_t size) {
    run_sum(a, size, 1);
}

/* Straight cells of elasticity of random functions, whose products agree; positive weights and moduli keep S
 * definite. Random functions know no rotations: those are left alone. */
struct elastic_cells {
    struct elastic_tables t; /* on the device */
    struct affine_tables turns;
    int N, n;
    int64_t n_cells, n_batches;
    double *coefficients;
};

/* C (rows x columns) = A'B for A: n x rows, B: n x columns; transposed: A B' for A: rows x n, B: columns x n.
 */
static void small_product(int transposed, int n, int rows, const double *A, int columns, const double *B,
                          double *C) {
    for (int i = 0; i < rows * columns; i++) {
        int r = i / columns, c = i % columns;
        C[i] = 0.0;
        for (int k = 0; k < n; k++)
            C[i] += transposed ? A[r * n + k] * B[c * n + k] : A[k * rows + r] * B[k * columns + c];
    }
}

static void put_elastic_products(struct arena *a, const double *D, const double *F, const double *FU,
                                 struct elastic_tables *t) {
    int dim = t->dim, faces = t->n_faces, N = t->N, Nu = t->Nu, low = t->n_low, m = t->m;
    double *DD = test_calloc((size_t)(dim * dim * low * low + 1), sizeof *DD),
           *DF = test_calloc((size_t)(faces * dim * low * m + 1), sizeof *DF);
    double *FF = test_calloc((size_t)(faces * faces * m * m), sizeof *FF),
           *mass = test_calloc((size_t)(faces * Nu * Nu), sizeof *mass);
    for (int e = 0; e < dim * dim; e++)
        small_product(0, N, low, D + e / dim * N * low, low, D + e % dim * N * low, DD + e * low * low);
    for (int f = 0; f < faces; f++) {
        for (int e = 0; e < dim; e++)
            small_product(0, N, low, D + e * N * low, m, F + f * N * m, DF + (f * dim + e) * low * m);
        for (int g = 0; g < faces; g++)
            small_product(0, N, m, F + f * N * m, m, F + g * N * m, FF + (f * faces + g) * m * m);
        small_product(1, m, Nu, FU + f * Nu * m, Nu, FU + f * Nu * m, mass + f * Nu * Nu);
    }
    t->DD = put(a, DD, dim * dim * low * low, sizeof *DD);
    t->DF = put(a, DF, faces * dim * low * m, sizeof *DF);
    t->FF = put(a, FF, faces * faces * m * m, sizeof *FF);
    t->mass = put(a, mass, faces * Nu * Nu, sizeof *mass);
    double *arrays[] = {DD, DF, FF, mass};
    for (int i = 0; i < 4; i++) test_free(arrays[i]);
}

#define LARGE_CELLS 100 /* sizes from here on */

static void put_elastic(struct arena *a, int64_t size, struct elastic_cells *c) {
    static const int shapes[][6] = {/* dim, faces, N, Nu, low, m */
                                    {2, 3, 3, 6, 1, 2}, {2, 4, 6, 10, 3, 3},  {3, 4, 4, 10, 1, 3},
                                    {2, 3, 6, 6, 3, 3}, {3, 4, 10, 20, 4, 6}, {3, 6, 4, 10, 1, 4},
                                    {2, 4, 4, 4, 4, 2}, {2, 3, 1, 1, 0, 1}};
    static const int large[][6] = {/* what a GPU takes in other ways than small cells */
                                   {3, 4, 12, 14, 10, 6},
                                   {3, 4, 26, 27, 24, 7},
                                   {3, 6, 32, 33, 30, 6},
                                   {3, 6, 40, 40, 36, 7}};
    const int *shape = size < LARGE_CELLS ? shapes[size % 8] : large[size % 4];
    int dim = shape[0], faces = shape[1], N = shape[2], Nu = shape[3], low = shape[4], m = shape[5];
    struct elastic_layout at = elastic_layout(dim, faces);
    int64_t n_cells = 8 * (1 + size % 5) - size % 3;
    double *k = random_numbers(n_cells * at.count, 7);
    const int orientations = dim == 2 ? 2 : faces == 4 ? 6 : 8; /* of an edge, a triangle, a quad */
    for (int64_t i = 0; i < n_cells; i++) {
        double *cell = k + i * at.count;
        for (int j = 0; j < 3; j++) cell[at.moduli + j] = 1.5 + cell[at.moduli + j];
        if (size >= LARGE_CELLS) cell[at.moduli + 1] *= 0.2; /* faces alone would not keep S definite */
        for (int f = 0; f < faces; f++) {
            cell[at.weight + f] = 1.5 + cell[at.weight + f];
            cell[at.orientation + f] = i < 8 && f == 1 ? 0 : (double)((i + f) % orientations);
        }
    }
    *c = (struct elastic_cells){.N = dim * Nu, .n = dim * faces * m, .n_cells = n_cells};
    c->n_batches = n_batches_on(a->device, n_cells);
    c->coefficients = put_lanes(a, n_cells, at.count, k);
    test_free(k);
    int32_t starts[8], modes[7], linear[] = {0, m - 1};
    c->turns = (struct affine_tables){.lanes = device_lanes(a->device), .n_faces = dim * faces, .m = m};
    c->turns.n_groups = make_groups(dim, m, starts, modes, &c->turns.n_turn);
    c->turns.group_starts = put(a, starts, c->turns.n_groups + 1, sizeof *starts);
    c->turns.modes = put(a, modes, m, sizeof *modes);
    double turns[8 * 49];
    make_turns(orientations, c->turns.n_groups, starts, c->turns.n_turn, turns);
    c->turns.turns = put(a, turns, orientations * c->turns.n_turn, sizeof *turns);
    c->t = (struct elastic_tables){.turns = &c->turns,
                                   .lanes = c->turns.lanes,
                                   .dim = dim,
                                   .n_faces = faces,
                                   .N = N,
                                   .Nu = Nu,
                                   .n_low = low,
                                   .m = m,
                                   .rotations = size % 3 == 0,
                                   .pressure = size % 2 == 0,
                                   .n_linear = m > 1 ? 2 : 1};
    double *D = random_numbers(dim * N * low, 1), *F = random_numbers(faces * N * m, 2),
           *FU = random_numbers(faces * Nu * m, 3);
    c->t.D = put(a, D, dim * N * low, sizeof *D);
    c->t.F = put(a, F, faces * N * m, sizeof *F);
    c->t.FU = put(a, FU, faces * Nu * m, sizeof *FU);
    c->t.linear = put(a, linear, c->t.n_linear, sizeof *linear);
    c->t.coordinates = put_random(a, dim * faces * c->t.n_linear, 4);
    put_elastic_products(a, D, F, FU, &c->t);
    test_free(D);
    test_free(F);
    test_free(FU);
}

static void run_condense_elastic(struct arena *a, int64_t size) {
    struct elastic_cells c;
    put_elastic(a, size, &c);
    int64_t n_K = c.n * (c.n + 1) / 2;
    double *scratch = put_nan(a, device_elastic_scratch(a->device, &c.t, 1)),
           *K = put_nan_lanes(a, c.n_cells, n_K);
    assert_int_equal(device_condense_elastic(a->device, &c.t, c.n_batches, c.coefficients, K, scratch), -1);
    take_lanes(a, K, c.n_cells, n_K);
}

static void run_elastic_solve(struct arena *a, int64_t size) {
    struct elastic_cells c;
    put_elastic(a, size, &c);
    int64_t n_q = (int64_t)(c.t.dim * c.t.dim + c.t.pressure) * c.t.N;
    double *scratch = put_nan(a, device_elastic_scratch(a->device, &c.t, 0));
    double *u = put_random_lanes(a, c.n_cells, c.N, 8), *uhat = put_random_lanes(a, c.n_cells, c.n, 9);
    double *q = put_nan_lanes(a, c.n_cells, n_q), *load = put_nan_lanes(a, c.n_cells, c.n);
    for (int with = 0; with < 2; with++)
        assert_int_equal(device_elastic_solve(a->device, &c.t, c.n_batches, c.coefficients,
                                              with ? uhat : NULL, u, with ? q : NULL, with ? NULL : load,
                                              scratch),
                         -1);
    take_lanes(a, u, c.n_cells, c.N);
    take_lanes(a, q, c.n_cells, n_q);
    take_lanes(a, load, c.n_cells, c.n);
}

/* Batch by batch, with and without S and the inverse. A strong diagonal keeps A definite. */
static void run_batch_extend(struct arena *a, int64_t size) {
    const int lanes = device_lanes(a->device), n = (int)(size % 14), width = 1 + (int)(size % 9);
    const int64_t n_cells = 8 + size, n_A = n * (n + 1) / 2, n_Y = (int64_t)n * width,
                  n_S = width * (width + 1) / 2;
    double *host = random_numbers(n_cells * n_A, 1);
    for (int64_t cell = 0; cell < n_cells; cell++)
        for (int i = 0; i < n; i++) host[cell * n_A + i * (i + 1) / 2 + i] += 2.0 * n;
    for (int with = 0; with < 2; with++) {
        double *A = put_lanes(a, n_cells, n_A, host), *Y = put_random_lanes(a, n_cells, n_Y, 2),
               *S = put_random_lanes(a, n_cells, n_S, 3), *inverse = put_nan_lanes(a, n_cells, n_A),
               *scratch = put_nan(a, (int64_t)n * lanes);
        for (int64_t b = 0; b < n_batches_on(a->device, n_cells); b++)
            assert_int_equal(device_batch_extend(a->device, lanes, n, width, A + b * n_A * lanes,
                                                 Y + b * n_Y * lanes, with ? S + b * n_S * lanes : NULL,
                                                 with ? inverse + b * n_A * lanes : NULL, scratch),
                             1);
        take_lanes(a, A, n_cells, n_A);
        take_lanes(a, Y, n_cells, n_Y);
        take_lanes(a, S, n_cells, n_S);
        if (with) take_lanes(a, inverse, n_cells, n_A);
    }
    if (n > 0) { /* not definite in one lane */
        host[n_A - 1] = -1.0;
        assert_int_equal(device_batch_extend(a->device, lanes, n, width, put_lanes(a, n_cells, n_A, host),
                                             put_random_lanes(a, n_cells, n_Y, 2), NULL, NULL,
                                             put_nan(a, (int64_t)n * lanes)),
                         0);
    }
    test_free(host);
}

/* Numbers of cells, all of them positive. */
static double *put_positive_lanes(struct arena *a, int64_t n_cells, int64_t n, uint32_t seed) {
    double *host = random_numbers(n_cells * n, seed);
    for (int64_t i = 0; i < n_cells * n; i++) host[i] = 1.5 + host[i];
    double *lanes = put_lanes(a, n_cells, n, host);
    test_free(host);
    return lanes;
}

static void run_table_apply(struct arena *a, int64_t size) {
    static const int sizes[][3] = {{1, 1, 1}, {2, 3, 2}, {3, 5, 3}, {4, 4, 6}, {7, 10, 3}, {24, 13, 7}};
    int64_t n_cells = 8 * (1 + size % 5) - size % 3, n_batches = n_batches_on(a->device, n_cells);
    for (int i = 0; i < 6; i++) {
        int rows = sizes[i][0], columns = sizes[i][1], width = sizes[i][2];
        double *table = put_random(a, rows * columns, 1);
        double *in = put_random_lanes(a, n_cells, columns * width, 2),
               *out = put_nan_lanes(a, n_cells, rows * width);
        device_table_apply(a->device, device_lanes(a->device), n_batches, rows, columns, width, table, in,
                           out);
        take_lanes(a, out, n_cells, rows * width);
    }
}

/* Jacobians near the identity; then one that is not. */
static void run_cell_metric(struct arena *a, int64_t size) {
    int dim = 2 + (int)(size % 2), n = 1 + (int)size, row = (1 + dim) * dim, lanes = device_lanes(a->device);
    int64_t n_cells = 8 * (1 + size % 5) - size % 3, n_batches = n_batches_on(a->device, n_cells);
    double *host = random_numbers(n_cells * n * row, 3), *w = put_random(a, n, 4);
    for (int64_t i = 0; i < n_cells * n; i++)
        for (int e = dim; e < row; e++)
            host[i * row + e] = 0.2 * host[i * row + e] + ((e - dim) % (dim + 1) == 0);
    for (int bad = 0; bad < 2; bad++) {
        if (bad) host[((n_cells - 1) * n + n - 1) * row + dim] = -2.0;
        double *points = put_lanes(a, n_cells, n * row, host), *wJ = put_nan_lanes(a, n_cells, n),
               *cofactors = put_nan_lanes(a, n_cells, n * dim * dim);
        int64_t failed = device_cell_metric(a->device, lanes, n_batches, dim, n, w, points, wJ, cofactors);
        assert_int_equal(failed, bad ? n_batches - 1 : -1);
        take_lanes(a, wJ, n_cells, n);
        take_lanes(a, cofactors, n_cells, n * dim * dim);
    }
    test_free(host);
}

static void run_face_metric(struct arena *a, int64_t size) {
    int dim = 2 + (int)(size % 2), n_faces = 3 + (int)(size % 4), n = 1 + (int)size, row = (1 + dim) * dim;
    int64_t n_cells = 8 * (1 + size % 5) - size % 3;
    double *w = put_random(a, n, 4), *reference = put_random(a, 3 * n_faces, 5);
    double *points = put_random_lanes(a, n_cells, n_faces * n * row, 3),
           *normals = put_nan_lanes(a, n_cells, n_faces * n * dim);
    device_face_metric(a->device, device_lanes(a->device), n_batches_on(a->device, n_cells), dim, n_faces, n,
                       w, reference, points, normals);
    take_lanes(a, normals, n_cells, n_faces * n * dim);
}

/* Cells of random functions at random points: scalar, with roots, full; with and without reaction. */
struct varied {
    struct cells c;
    struct general_tables t;
    struct general_cells g;
};

static void put_varied(struct arena *a, int64_t size, int form, int reaction, struct varied *v) {
    int few = size % 2 == 1; /* points that determine the maps */
    put_cells(a, size, &v->c);
    const struct affine_tables *t = &v->c.t;
    int64_t cells = v->c.n_cells, dim = t->dim, n = t->N + 3, n_face = t->m + 2, pairs = dim * (dim + 1) / 2;
    v->t = (struct general_tables){.lanes = t->lanes,
                                   .dim = t->dim,
                                   .n_faces = t->n_faces,
                                   .N = t->N,
                                   .m = t->m,
                                   .n = (int)n,
                                   .n_face = (int)n_face,
                                   .phi = put_random(a, n * t->N, 11),
                                   .grad = put_random(a, dim * n * t->N, 12),
                                   .face_phi = put_random(a, t->n_faces * n_face * t->N, 13),
                                   .psi = put_random(a, n_face * t->m, 14),
                                   .n_metric = few ? 3 : (int)n,
                                   .affine = t};
    if (few) {
        double *M = random_numbers(2 * t->N * t->N, 15);
        for (int i = 0; i < 2 * t->N; i++) { /* symmetric */
            double *row = M + i * t->N, *first = M + i / t->N * t->N * t->N;
            for (int j = 0; j < i % t->N; j++) row[j] = first[j * t->N + i % t->N];
            row[i % t->N] = 3.0 * t->N;
        }
        v->t.D = put_random(a, 3 * dim * t->N * t->N, 16);
        v->t.M = put(a, M, 2 * t->N * t->N, sizeof *M);
        v->t.n_det = 2;
        test_free(M);
    }
    double *orientations = random_numbers(cells * t->n_faces, 1),
           *roots = random_numbers(cells * dim * dim, 2);
    double *mass = random_numbers(cells * pairs * n, 3);
    for (int64_t i = 0; i < cells * t->n_faces; i++) orientations[i] = (double)(i % (t->dim == 2 ? 2 : 6));
    for (int64_t i = 0; i < cells * dim * dim; i++) {
        int64_t row = i % (dim * dim) / dim, column = i % dim;
        roots[i] = row == column ? 1.5 + roots[i] : row > column ? roots[i] : 0.0;
    }
    for (int64_t i = 0; i < cells * pairs * n; i++) { /* the diagonal of K^-1 dominates */
        int64_t pair = i / n % pairs;
        mass[i] = form < 2 || pair == 0 || pair == 2 || pair == 5 ? 3.0 + mass[i] : 0.5 * mass[i];
    }
    v->g = (struct general_cells){.full = form == 2,
                                  .mass = put_lanes(a, cells, form == 2 ? pairs * n : n, mass),
                                  .det = few && form < 2 ? put_positive_lanes(a, cells, 2, 17) : NULL,
                                  .roots = form == 1 ? put_lanes(a, cells, dim * dim, roots) : NULL,
                                  .reaction = reaction ? put_positive_lanes(a, cells, n, 4) : NULL,
                                  .cofactors = put_random_lanes(a, cells, v->t.n_metric * dim * dim, 5),
                                  .normals = put_random_lanes(a, cells, t->n_faces * n_face * dim, 6),
                                  .tau = put_positive_lanes(a, cells, t->n_faces * n_face, 7),
                                  .orientations = put_lanes(a, cells, t->n_faces, orientations)};
    test_free(orientations);
    test_free(roots);
    test_free(mass);
}

static void run_condense_general(struct arena *a, int64_t size) {
    struct varied v;
    put_varied(a, size, (int)(size % 3), (int)(size / 3 % 2), &v);
    double *scratch = put_nan(a, device_condense_general_scratch(a->device, &v.t, v.g.full));
    assert_int_equal(device_condense_general(a->device, &v.t, &v.g, v.c.n_batches, v.c.K, scratch), -1);
    take_lanes(a, v.c.K, v.c.n_cells, v.c.n_K);
}

static void run_general_solve(struct arena *a, int64_t size) {
    struct varied v;
    put_varied(a, size, (int)(size % 3), (int)(size / 3 % 2), &v);
    int64_t cells = v.c.n_cells, n_q = (int64_t)v.t.dim * v.t.N;
    double *u = put_random_lanes(a, cells, v.t.N, 8), *uhat = put_random_lanes(a, cells, v.c.n, 9),
           *q = put_nan_lanes(a, cells, n_q), *load = put_nan_lanes(a, cells, v.c.n);
    double *scratch = put_nan(a, device_condense_general_scratch(a->device, &v.t, v.g.full));
    for (int with = 0; with < 2; with++)
        assert_int_equal(device_general_solve(a->device, &v.t, &v.g, v.c.n_batches, with ? uhat : NULL, u,
                                              with ? q : NULL, with ? NULL : load, scratch),
                         -1);
    take_lanes(a, u, cells, v.t.N);
    take_lanes(a, q, cells, n_q);
    take_lanes(a, load, cells, v.c.n);
}

static void run_gradient_solve(struct arena *a, int64_t size) {
    int dim = 2 + (int)(size % 2), M = 1 + (int)size, n = M + 4, pairs = dim * (dim + 1) / 2;
    int64_t cells = 8 * (1 + size % 5) - size % 3;
    double *W = random_numbers(cells * n * pairs, 3);
    for (int64_t i = 0; i < cells * n * pairs; i++) {
        int64_t pair = i % pairs;
        W[i] = pair == 0 || pair == 2 || pair == 5 ? 3.0 + W[i] : 0.5 * W[i];
    }
    double *grad = put_random(a, dim * n * M, 4), *x = put_random_lanes(a, cells, M, 5);
    double *scratch = put_nan(a, device_gradient_solve_scratch(a->device, device_lanes(a->device), n, M));
    assert_int_equal(device_gradient_solve(a->device, device_lanes(a->device), n_batches_on(a->device, cells),
                                           dim, n, M, grad, put_lanes(a, cells, n * pairs, W), x, scratch),
                     -1);
    take_lanes(a, x, cells, M);
    test_free(W);
}

/* Cells of elasticity of random functions and weights, as they would be of curved cells: with one mass and
 * with two, stabilized by projections or not, with rotations, which random functions do not know, and
 * without; with functions of their own. */
struct varied_bodies {
    struct elastic_cells c;
    struct elastic_general_tables t;
    struct elastic_general_cells g;
};

static void put_varied_bodies(struct arena *a, int64_t size, struct varied_bodies *v) {
    put_elastic(a, size, &v->c);
    const struct elastic_tables *e = &v->c.t;
    const int64_t cells = v->c.n_cells, dim = e->dim, Nu = e->Nu, n = Nu + 3, n_face = e->m + 2,
                  points = e->n_faces * n_face;
    v->t = (struct elastic_general_tables){.sizes = *e,
                                           .n = (int)n,
                                           .n_face = (int)n_face,
                                           .projects = size % 3 != 1,
                                           .chi = put_random(a, n * Nu, 21),
                                           .grad = put_random(a, dim * n * Nu, 22),
                                           .face_chi = put_random(a, points * Nu, 23),
                                           .psi = put_random(a, n_face * e->m, 24)};
    double *numbers = random_numbers(cells * N_ELASTIC_NUMBERS, 25),
           *orientations = random_numbers(cells * e->n_faces, 26);
    for (int64_t i = 0; i < cells * N_ELASTIC_NUMBERS; i++)
        if (i % N_ELASTIC_NUMBERS == E_DELTA) /* below gamma, so that S is positive definite */
            numbers[i] *= 0.4;
        else if (i % N_ELASTIC_NUMBERS < E_FLUX)
            numbers[i] = 1.5 + numbers[i];
    for (int64_t i = 0; i < cells * e->n_faces; i++)
        orientations[i] = (double)(i % (dim == 2 ? 2 : e->n_faces == 4 ? 6 : 8));
    v->g = (struct elastic_general_cells){
        .dev = put_positive_lanes(a, cells, n, 27),
        .vol = size % 2 == 0 ? put_positive_lanes(a, cells, n, 28) : NULL,
        .numbers = put_lanes(a, cells, N_ELASTIC_NUMBERS, numbers),
        .cofactors = put_random_lanes(a, cells, n * dim * dim, 29),
        .normals = put_random_lanes(a, cells, points * dim, 30),
        .tau = put_positive_lanes(a, cells, points, 31),
        .coordinates = put_random_lanes(a, cells, (int64_t)e->n_faces * e->m * dim, 32),
        .orientations = put_lanes(a, cells, e->n_faces, orientations)};
    if (v->t.projects && size % 4 > 1) {
        v->g.chi = put_random_lanes(a, cells, n * Nu, 33);
        v->g.slopes = put_random_lanes(a, cells, dim * n * e->N, 34);
        v->g.face_chi = put_random_lanes(a, cells, points * Nu, 35);
    }
    test_free(numbers);
    test_free(orientations);
}

static void run_condense_elastic_general(struct arena *a, int64_t size) {
    struct varied_bodies v;
    put_varied_bodies(a, size, &v);
    const int64_t n_K = v.c.n * (v.c.n + 1) / 2;
    double *scratch = put_nan(a, device_elastic_general_scratch(a->device, &v.t)),
           *K = put_nan_lanes(a, v.c.n_cells, n_K);
    assert_int_equal(device_condense_elastic_general(a->device, &v.t, &v.g, v.c.n_batches, K, scratch), -1);
    take_lanes(a, K, v.c.n_cells, n_K);
}

static void run_elastic_general_solve(struct arena *a, int64_t size) {
    struct varied_bodies v;
    put_varied_bodies(a, size, &v);
    const int64_t cells = v.c.n_cells,
                  n_q = (int64_t)(v.c.t.dim * v.c.t.dim + (v.c.t.pressure != 0)) * v.c.t.N;
    double *scratch = put_nan(a, device_elastic_general_scratch(a->device, &v.t));
    double *u = put_random_lanes(a, cells, v.c.N, 8), *uhat = put_random_lanes(a, cells, v.c.n, 9);
    double *q = put_nan_lanes(a, cells, n_q), *load = put_nan_lanes(a, cells, v.c.n);
    for (int with = 0; with < 2; with++)
        assert_int_equal(device_elastic_general_solve(a->device, &v.t, &v.g, v.c.n_batches,
                                                      with ? uhat : NULL, u, with ? q : NULL,
                                                      with ? NULL : load, scratch),
                         -1);
    take_lanes(a, u, cells, v.c.N);
    take_lanes(a, q, cells, n_q);
    take_lanes(a, load, cells, v.c.n);
}

/* Numbers of `size` points of every cell, dim each, point after point: n x LANES x dim. */
static double *put_places(struct arena *a, int64_t cells, int n, int dim, unsigned seed) {
    int64_t lanes = device_lanes(a->device), count = n_batches_on(a->device, cells) * n * lanes * dim;
    double *values = random_numbers(cells * n * dim, seed), *host = test_calloc((size_t)count, sizeof *host);
    for (int64_t i = 0; i < cells * n * dim; i++) {
        int64_t cell = i / (n * dim), q = i / dim % n;
        host[((cell / lanes * n + q) * lanes + cell % lanes) * dim + i % dim] = values[i];
    }
    double *made = put(a, host, count, sizeof *host);
    test_free(values);
    test_free(host);
    return made;
}

/* Numbers in lanes that are 1 or more. */
static double *put_large_lanes(struct arena *a, int64_t cells, int64_t size, unsigned seed) {
    double *values = random_numbers(cells * size, seed);
    for (int64_t i = 0; i < cells * size; i++) values[i] = 2.0 + values[i];
    double *made = put_lanes(a, cells, size, values);
    test_free(values);
    return made;
}

static void run_error_squares(struct arena *a, int64_t size) {
    int dim = 2 + (int)(size % 2), n = 1 + (int)size, straight = (int)(size / 2 % 2),
        varying = (int)(size / 4 % 2);
    int64_t cells = 8 * (1 + size % 5) - size % 3, at = straight ? 1 : n;
    struct error_points p = {.lanes = device_lanes(a->device),
                             .dim = dim,
                             .n = n,
                             .straight = straight,
                             .varying = varying,
                             .wJ = put_large_lanes(a, cells, n, 3),
                             .C = put_random_lanes(a, cells, at * dim * dim, 4),
                             .det = put_large_lanes(a, cells, at, 5),
                             .K = put_random_lanes(a, cells, (varying ? n : 1) * dim * dim, 6),
                             .u = put_random_lanes(a, cells, n, 7),
                             .grad = put_places(a, cells, n, dim, 8),
                             .q = put_random_lanes(a, cells, n * dim, 10),
                             .slopes = put_random_lanes(a, cells, n * dim, 12)};
    const double *u_h = put_random_lanes(a, cells, n, 9), *star = put_random_lanes(a, cells, n, 11);
    for (int what = 1; what < 4; what++) {
        double *errors = put_nan_lanes(a, cells, N_ERRORS);
        p.u_h = what & 1 ? u_h : NULL;
        p.star = what & 2 ? star : NULL;
        device_error_squares(a->device, &p, n_batches_on(a->device, cells), errors);
        take_lanes(a, errors, cells, N_ERRORS);
    }
}

static void run_star_weights(struct arena *a, int64_t size) {
    int dim = 2 + (int)(size % 2), n = 1 + (int)size, varying = (int)(size / 2 % 2),
        pairs = dim * (dim + 1) / 2;
    int64_t cells = 8 * (1 + size % 5) - size % 3;
    double *flow = put_nan_lanes(a, cells, n * dim), *W = put_nan_lanes(a, cells, n * pairs);
    device_star_weights(a->device, device_lanes(a->device), n_batches_on(a->device, cells), dim, n, varying,
                        put_large_lanes(a, cells, n, 3), put_random_lanes(a, cells, n * dim * dim, 4),
                        put_random_lanes(a, cells, (varying ? n : 1) * dim * dim, 5),
                        put_random_lanes(a, cells, n * dim, 6), flow, W);
    take_lanes(a, flow, cells, n * dim);
    take_lanes(a, W, cells, n * pairs);
}

#endif
