/* Runs of the kernels on boxes for numbers of type REAL; test_device.c includes this once for each precision,
 * as device_real.h. The size of a run is the number of a case. */

/* What came out, in units of its largest number. */
static void NAME(take_scaled)(struct arena *a, const REAL *from, int64_t n) {
    REAL *host = test_malloc(((size_t)n + 1) * sizeof *host);
    double *out = room(a, n), largest = 1e-300;
    ok(device_download(a->device, host, from, (size_t)n * sizeof *from));
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)host[i]));
    for (int64_t i = 0; i < n; i++) out[i] = (double)host[i] / largest;
    test_free(host);
}

/* Random numbers on all faces, zeros elsewhere. */
static void NAME(random_lanes)(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling, uint32_t seed,
                               struct vector *v) {
    double *plain = random_numbers(lanes->hdg->n_trace, seed);
    ok(vector_create_in(lanes->device, PRECISION, lanes->plan.size, v));
    ok(boxhdg_lanes_pack(lanes, scaling, plain, v));
    test_free(plain);
}

/* A function that vanishes on all sides of the box, in the coarse space. */
static void NAME(random_lattice)(const struct boxhdg_lanes *lanes, struct vector *v) {
    const struct box_plan *p = &lanes->plan;
    int size[3], at[3];
    box_lattice(p, L, size);
    int64_t n = (int64_t)size[0] * size[1] * size[2], i = 0;
    double *host = random_numbers(n, 77);
    for (at[2] = 0; at[2] < size[2]; at[2]++)
        for (at[1] = 0; at[1] < size[1]; at[1]++)
            for (at[0] = 0; at[0] < size[0]; at[0]++, i++)
                for (int d = 0; d < 3; d++)
                    if (p->present[d] && (at[d] == 0 || at[d] >= p->cells[d])) host[i] = 0.0;
    upload(lanes->device, n, host, v);
    test_free(host);
}

static void NAME(run_box)(struct arena *a, int64_t size) {
    struct boxhdg *h = make_box(&device_boxes[size]);
    struct boxhdg_lanes *lanes = NULL;
    struct vector f, r, d, x, y, e, lattice;
    double sums[2];
    ok(boxhdg_lanes_create(a->device, h, sizeof(REAL) == sizeof(float), &lanes));
    int64_t n = lanes->plan.size, n_moments = lanes->plan.n_faces * KERNEL_BOX_MOMENTS * L;
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
        NAME(take_scaled)(a, r.numbers, n);
        NAME(take_scaled)(a, d.numbers, n);
        NAME(take_scaled)(a, x.numbers, n);
        NAME(take_scaled)(a, y.numbers, n);
    }
    device_box_residual(a->device, PRECISION, &lanes->plan, 0.4, y.numbers, r.numbers, e.numbers, sums);
    *room(a, 1) = log(sums[0]);
    *room(a, 1) = log(sums[1]);
    NAME(take_scaled)(a, e.numbers, n_moments);
    NAME(take_scaled)(a, r.numbers, n);
    struct vector *all[] = {&f, &r, &d, &x, &y, &e, &lattice};
    for (int i = 0; i < 7; i++) vector_destroy(all[i]);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
}

static void NAME(run_box_coarse)(struct arena *a, int64_t size) {
    struct boxhdg *h = make_box(&device_boxes[size]);
    struct boxhdg_lanes *lanes = NULL;
    struct vector lattice, e;
    ok(boxhdg_lanes_create(a->device, h, sizeof(REAL) == sizeof(float), &lanes));
    int64_t n_moments = lanes->plan.n_faces * KERNEL_BOX_MOMENTS * L;
    NAME(random_lattice)(lanes, &lattice);
    ok(vector_create_in(a->device, PRECISION, n_moments, &e));
    device_box_prolong(a->device, PRECISION, &lanes->plan, lattice.data, e.numbers);
    NAME(take_scaled)(a, e.numbers, n_moments);
    device_box_restrict(a->device, PRECISION, &lanes->plan, e.numbers, lattice.data);
    take_scaled(a, lattice.data, lattice.n);
    vector_destroy(&lattice);
    vector_destroy(&e);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
}
