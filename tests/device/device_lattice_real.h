/* Runs of the kernels on lattices: products along an axis, and unknowns of boxes on lattices. */

/* Divided, along each axis of a lattice. */
static void NAME(run_axis_divided)(struct arena *a, int64_t size) {
    int n[3] = {2 + (int)size, 1 + (int)(size % 5), 1 + (int)(size % 3)}, n_in = 16;
    int64_t all = (int64_t)n[0] * n[1] * n[2];
    struct axis_division by = {.n_0 = n[0], .n_1 = n[1], .k = 0.7, .lambda = 0.3};
    for (int d = 0; d < 3; d++) {
        double *positive = random_numbers(n[d], 6 + d);
        for (int i = 0; i < n[d]; i++) positive[i] = 1.0 + fabs(positive[i]);
        by.theta[d] = put(a, positive, n[d], sizeof *positive);
        test_free(positive);
    }
    for (int d = 0; d < 3; d++) {
        int64_t inner = d == 0 ? 1 : d == 1 ? n[0] : (int64_t)n[0] * n[1], outer = all / inner / n[d];
        REAL *T = NAME(put_random)(a, n[d] * n_in, 1), *x = NAME(put_random)(a, outer * n_in * inner, 2);
        REAL *y = NAME(put_random)(a, all, 5);
        device_axis_apply(a->device, PRECISION, outer, n[d], n_in, inner, T, x, 0.5, &by, y);
        NAME(take)(a, y, all);
    }
}

static void NAME(run_axis_apply)(struct arena *a, int64_t size) {
    int64_t outer = 1 + size % 7, inner = size % 3 == 0 ? 1 : size;
    int n_in = 1 + (int)(size % 67), n_out = 1 + (int)(size % 71);
    if (size % 5 == 4) { /* what tensor cores like */
        n_in = 16 * (n_in / 16 + 1);
        n_out = (n_out + 3) / 4 * 4;
        inner = inner > 1 ? (inner + 3) / 4 * 4 : 1;
    }
    REAL *T = NAME(put_random)(a, n_out * n_in, 1), *x = NAME(put_random)(a, outer * n_in * inner, 2);
    REAL *y = NAME(put_nan)(a, outer * n_out * inner), *z = NAME(put_random)(a, outer * n_out * inner, 3);
    device_axis_apply(a->device, PRECISION, outer, n_out, n_in, inner, T, x, 0.0, NULL, y);
    device_axis_apply(a->device, PRECISION, outer, n_out, n_in, inner, T, x, -0.5, NULL, z);
    NAME(take)(a, y, outer * n_out * inner);
    NAME(take)(a, z, outer * n_out * inner);
    NAME(run_axis_divided)(a, size);
}

/* Lattices of all axes, longer than they need be, and back: every unknown returns. */
static void NAME(run_box_lattice)(struct arena *a, int64_t size) {
    struct boxhdg *h = make_box(&device_boxes[size]);
    struct boxhdg_lanes *lanes = NULL;
    struct vector trace, back;
    ok(boxhdg_lanes_create(a->device, h, F64, &lanes));
    const struct box_plan *p = &lanes->plan;
    random_lanes(lanes, BOXHDG_UNKNOWN, 3, &trace);
    ok(boxhdg_lanes_vector(lanes, p->size, &back));
    vector_fill(&back, 0.0);
    for (int axis = 0; axis < 3; axis++) {
        int n[3];
        if (!p->present[axis]) continue;
        for (int d = 0; d < 3; d++) n[d] = (d == axis ? p->cells[d] + 1 : p->cells[d] * p->modes[d]) + d + 1;
        int64_t all = (int64_t)n[0] * n[1] * n[2];
        REAL *lattice = NAME(put_nan)(a, all);
        device_box_to_lattice(a->device, PRECISION, p, axis, n[0], n[1], n[2], 2.0, trace.data, lattice);
        NAME(take)(a, lattice, all);
        device_box_from_lattice(a->device, PRECISION, p, axis, n[0], n[1], n[2], 0.5, lattice, back.data);
    }
    vector_axpby(-1.0, &trace, 1.0, &back);
    assert_true(vector_norm(&back) <= (PRECISION == F64 ? 0.0 : 1e-7) * vector_norm(&trace));
    assert_true(vector_norm(&trace) > 0.0);
    vector_destroy(&trace);
    vector_destroy(&back);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
}
