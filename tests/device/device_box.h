/* Runs of the kernels on boxes for numbers of type REAL; test_device.c includes this once for each precision,
 * as device_real.h. The size of a run is the number of a case. */

/* Random numbers on all faces, zeros elsewhere. */
static void NAME(random_lanes)(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling, uint32_t seed,
                               struct vector *v) {
    double *plain = random_numbers(lanes->hdg->n_trace, seed);
    ok(vector_create_in(lanes->device, PRECISION, lanes->plan.size, v));
    ok(boxhdg_lanes_pack(lanes, scaling, plain, v));
    test_free(plain);
}

/* Numbers of face-packs, `width` of a face (0: its modes), by the places of the faces, in units of the
 * largest; whatever the lanes. What no face has must be zero. */
static void NAME(take_packs)(struct arena *a, const struct boxhdg_lanes *lanes, int width,
                             const struct vector *v) {
    const struct box_plan *p = &lanes->plan;
    const int L = p->lanes, *cells = p->cells;
    int64_t most = width, begin = 0;
    double *host = test_malloc(((size_t)v->n + 1) * sizeof *host), largest = 1e-300;
    for (int axis = 0; axis < 3 && width == 0; axis++)
        if (p->face[axis] > most) most = p->face[axis];
    int64_t n_out = 3 * most * (cells[0] + 1) * (cells[1] + 1) * (cells[2] + 1);
    double *out = room(a, n_out);
    memset(out, 0, (size_t)n_out * sizeof *out);
    ok(vector_download(v, host));
    for (int64_t i = 0; i < v->n; i++) largest = fmax(largest, fabs(host[i]));
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack f = box_face_pack(p, number, L);
        int64_t n = width > 0 ? width : p->face[f.axis];
        for (int64_t t = 0; t < n; t++)
            for (int lane = 0; lane < L; lane++) {
                int x = f.at[0] < 0 ? lane - L : f.at[0] * L + lane;
                double value = host[begin + t * L + lane] / largest;
                if (x < -1 || x >= cells[0])
                    assert_true(value == 0.0);
                else
                    out[((((int64_t)f.axis * (cells[2] + 1) + f.at[2] + 1) * (cells[1] + 1) + f.at[1] + 1) *
                             (cells[0] + 1) +
                         x + 1) *
                            most +
                        t] = value;
            }
        begin += n * L;
    }
    assert_int_equal(begin, v->n);
    test_free(host);
}

static void NAME(take_faces)(struct arena *a, const struct boxhdg_lanes *lanes, const struct vector *v) {
    NAME(take_packs)(a, lanes, 0, v);
}

/* A function that vanishes on all sides of the box, in the coarse space. */
static void NAME(random_lattice)(const struct boxhdg_lanes *lanes, struct vector *v) {
    const struct box_plan *p = &lanes->plan;
    int size[3], at[3];
    box_lattice(p, p->lanes, size);
    int64_t n = (int64_t)size[0] * size[1] * size[2], i = 0;
    int row = p->cells[0] + 1;
    double *host = test_malloc((size_t)n * sizeof *host),
           *values = random_numbers((int64_t)row * size[1] * size[2], 77);
    for (at[2] = 0; at[2] < size[2]; at[2]++)
        for (at[1] = 0; at[1] < size[1]; at[1]++)
            for (at[0] = 0; at[0] < size[0]; at[0]++, i++) {
                host[i] = at[0] < row ? values[(at[2] * size[1] + at[1]) * row + at[0]] : 0.0;
                for (int d = 0; d < 3; d++)
                    if (p->present[d] && (at[d] == 0 || at[d] >= p->cells[d])) host[i] = 0.0;
            }
    upload(lanes->device, n, host, v);
    test_free(host);
    test_free(values);
}

/* The vertices of a lattice; the numbers behind a row are zero. */
static void NAME(take_lattice)(struct arena *a, const struct boxhdg_lanes *lanes, const struct vector *v) {
    const struct box_plan *p = &lanes->plan;
    int size[3], row = p->cells[0] + 1;
    double *host = test_malloc((size_t)v->n * sizeof *host), largest = 1e-300;
    box_lattice(p, p->lanes, size);
    double *out = room(a, (int64_t)row * size[1] * size[2]);
    ok(vector_download(v, host));
    for (int64_t i = 0; i < v->n; i++) largest = fmax(largest, fabs(host[i]));
    for (int64_t i = 0; i < v->n; i++)
        if (i % size[0] < row)
            out[i / size[0] * row + i % size[0]] = host[i] / largest;
        else
            assert_true(host[i] == 0.0);
    test_free(host);
}

static void NAME(run_box)(struct arena *a, int64_t size) {
    struct boxhdg *h = make_box(&device_boxes[size]);
    struct boxhdg_lanes *lanes = NULL;
    struct vector f, r, d, x, y, e, lattice;
    double sums[2];
    ok(boxhdg_lanes_create(a->device, h, sizeof(REAL) == sizeof(float), &lanes));
    int64_t n_moments = lanes->plan.n_faces * KERNEL_BOX_MOMENTS * lanes->plan.lanes;
    NAME(random_lanes)(lanes, BOXHDG_RESIDUAL, 1, &f);
    NAME(random_lanes)(lanes, BOXHDG_RESIDUAL, 2, &r);
    NAME(random_lanes)(lanes, BOXHDG_UNKNOWN, 3, &d);
    NAME(random_lanes)(lanes, BOXHDG_UNKNOWN, 4, &x);
    NAME(random_lanes)(lanes, BOXHDG_RESIDUAL, 5, &y);
    NAME(random_lattice)(lanes, &lattice);
    ok(vector_create_in(a->device, PRECISION, n_moments, &e));
    device_box_prolong(a->device, PRECISION, &lanes->plan, lattice.data, e.numbers);
    struct box_step steps[] = {
        {.product = 1},
        {.direction = 1, .product = 1, .a = 1.0, .b = 0.3, .x_old = -0.7},
        {.subtract = 1, .direction = 1, .product = 1, .a = 0.5, .b = 0.2, .x_new = 1.0},
        {.direction = 1, .product = 1, .assign = 1, .a = 0.5, .x_new = 1.0},
        {.subtract = 1, .direction = 1, .a = 0.5, .b = 0.2, .x_new = 1.0},
    };
    for (int s = 0; s < 5; s++) {
        const REAL *from = s == 2 || s == 3 ? f.numbers : s == 4 ? r.numbers : NULL;
        double dot = device_box_step(a->device, PRECISION, &lanes->plan, &steps[s], from, r.numbers,
                                     s == 1 || s == 2 ? e.numbers : NULL, d.numbers, x.numbers, y.numbers);
        double norm = vector_norm(&d) * vector_norm(&y);
        *room(a, 1) = dot / norm;
        NAME(take_faces)(a, lanes, &r);
        NAME(take_faces)(a, lanes, &d);
        NAME(take_faces)(a, lanes, &x);
        NAME(take_faces)(a, lanes, &y);
    }
    device_box_residual(a->device, PRECISION, &lanes->plan, 0.4, y.numbers, r.numbers, e.numbers, sums);
    *room(a, 1) = log(sums[0]);
    *room(a, 1) = log(sums[1]);
    NAME(take_packs)(a, lanes, KERNEL_BOX_MOMENTS, &e);
    NAME(take_faces)(a, lanes, &r);
    struct vector *all[] = {&f, &r, &d, &x, &y, &e, &lattice};
    for (int i = 0; i < 7; i++) vector_destroy(all[i]);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
}

/* The sweeps of conjugate gradients by three terms: with and without coefficients, directions, older ones. */
static void NAME(run_box_terms)(struct arena *a, int64_t size) {
    struct boxhdg *h = make_box(&device_boxes[size]);
    struct boxhdg_lanes *lanes = NULL;
    struct vector r, s, d, x, y, e, e_s, moments, lattice;
    ok(boxhdg_lanes_create(a->device, h, sizeof(REAL) == sizeof(float), &lanes));
    const struct box_plan *p = &lanes->plan;
    int64_t n_moments = p->n_faces * KERNEL_BOX_MOMENTS * p->lanes;
    NAME(random_lanes)(lanes, BOXHDG_RESIDUAL, 1, &r);
    NAME(random_lanes)(lanes, BOXHDG_RESIDUAL, 2, &s);
    NAME(random_lanes)(lanes, BOXHDG_UNKNOWN, 3, &d);
    NAME(random_lanes)(lanes, BOXHDG_UNKNOWN, 4, &x);
    ok(vector_create_in(a->device, PRECISION, p->size, &y));
    NAME(random_lattice)(lanes, &lattice);
    struct vector *all[] = {&e, &e_s, &moments};
    for (int i = 0; i < 3; i++) {
        ok(vector_create_in(a->device, PRECISION, n_moments, all[i]));
        device_box_prolong(a->device, PRECISION, p, lattice.data, all[i]->numbers);
        vector_axpby(1.0, &lattice, -0.5, &lattice);
    }
    static const struct box_recurrence steps[] = {
        {.a = {0.2, 0.3}, .b = {0.1, 0.4}, .alpha = 0.7, .c = 0.3}, /* all of it */
        {.a = {0.2, 0.3}, .b = {0.0, 0.4}, .alpha = 0.7, .c = 0.3}, /* a first direction */
        {.alpha = 0.4},                                             /* no direction, nothing older */
        {.a = {0.2, 0.3}, .b = {0.1, 0.4}, .alpha = 0.7, .c = 0.3}, /* no coefficients */
    };
    for (int i = 0; i < 4; i++) {
        double sums[2];
        REAL *e_r = i < 3 ? e.numbers : NULL;
        double dot = device_box_form(a->device, PRECISION, p, r.numbers, e_r, y.numbers);
        *room(a, 1) = dot / (vector_norm(&r) * vector_norm(&y));
        NAME(take_faces)(a, lanes, &y);
        device_box_recur(a->device, PRECISION, p, &steps[i], y.numbers, r.numbers, e_r, s.numbers,
                         i < 3 ? e_s.numbers : NULL, d.numbers, i != 2 ? x.numbers : NULL, moments.numbers,
                         sums);
        *room(a, 1) = log(sums[0]);
        *room(a, 1) = log(sums[1]);
        NAME(take_packs)(a, lanes, KERNEL_BOX_MOMENTS, &moments);
        NAME(take_faces)(a, lanes, &s);
        NAME(take_faces)(a, lanes, &d);
        NAME(take_faces)(a, lanes, &x);
    }
    struct vector *made[] = {&r, &s, &d, &x, &y, &e, &e_s, &moments, &lattice};
    for (int i = 0; i < 9; i++) vector_destroy(made[i]);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
}

static void NAME(run_box_scale)(struct arena *a, int64_t size) {
    struct boxhdg *h = make_box(&device_boxes[size]);
    struct boxhdg_lanes *lanes = NULL;
    struct vector x;
    ok(boxhdg_lanes_create(a->device, h, PRECISION, &lanes));
    NAME(random_lanes)(lanes, BOXHDG_UNKNOWN, 3, &x);
    const void *const *B = sizeof(REAL) == sizeof(float) ? (const void *const *)lanes->plan.f32.squares
                                                         : (const void *const *)lanes->plan.f64.squares;
    device_box_scale(a->device, PRECISION, &lanes->plan, B[0], B[1], B[2], x.numbers);
    NAME(take_faces)(a, lanes, &x);
    vector_destroy(&x);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
}

static void NAME(run_box_coarse)(struct arena *a, int64_t size) {
    struct boxhdg *h = make_box(&device_boxes[size]);
    struct boxhdg_lanes *lanes = NULL;
    struct vector lattice, e;
    ok(boxhdg_lanes_create(a->device, h, sizeof(REAL) == sizeof(float), &lanes));
    int64_t n_moments = lanes->plan.n_faces * KERNEL_BOX_MOMENTS * lanes->plan.lanes;
    NAME(random_lattice)(lanes, &lattice);
    ok(vector_create_in(a->device, PRECISION, n_moments, &e));
    device_box_prolong(a->device, PRECISION, &lanes->plan, lattice.data, e.numbers);
    NAME(take_packs)(a, lanes, KERNEL_BOX_MOMENTS, &e);
    device_box_restrict(a->device, PRECISION, &lanes->plan, e.numbers, lattice.data);
    NAME(take_lattice)(a, lanes, &lattice);
    vector_destroy(&lattice);
    vector_destroy(&e);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
}
