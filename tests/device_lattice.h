/* Runs of the kernels on lattices: products along an axis, unknowns of boxes on lattices, and the scale of
 * patches at the nodes of a brick. */

static void run_axis_apply(struct arena *a, int64_t size) {
    int64_t outer = 1 + size % 7, inner = size % 3 == 0 ? 1 : size;
    int n_in = 1 + (int)(size % 67), n_out = 1 + (int)(size % 71);
    if (size % 5 == 4) { /* what tensor cores like */
        n_in = 16 * (n_in / 16 + 1);
        n_out += n_out % 2;
        inner += inner > 1 ? inner % 2 : 0;
    }
    double *T = put_random(a, n_out * n_in, 1), *x = put_random(a, outer * n_in * inner, 2);
    double *y = put_nan(a, outer * n_out * inner), *z = put_random(a, outer * n_out * inner, 3);
    device_axis_apply(a->device, outer, n_out, n_in, inner, T, x, 0.0, y);
    device_axis_apply(a->device, outer, n_out, n_in, inner, T, x, -0.5, z);
    take(a, y, outer * n_out * inner);
    take(a, z, outer * n_out * inner);
}

/* x over lattices whose sizes are not those of a tile. */
static void run_axis_divide(struct arena *a, int64_t size) {
    int n[3] = {1 + (int)size, 1 + (int)(size % 5), 1 + (int)(size % 3)};
    int64_t all = (int64_t)n[0] * n[1] * n[2];
    double *theta[3], *x = put_random(a, all, 5);
    for (int d = 0; d < 3; d++) {
        double *positive = random_numbers(n[d], 6 + d);
        for (int i = 0; i < n[d]; i++) positive[i] = 1.0 + fabs(positive[i]);
        theta[d] = put(a, positive, n[d], sizeof *positive);
        test_free(positive);
    }
    device_axis_divide(a->device, n[0], n[1], n[2], theta[0], theta[1], theta[2], 0.7, 0.3, x);
    take(a, x, all);
}

/* Lattices of all axes, longer than they need be, and back: every unknown returns. */
static void run_box_lattice(struct arena *a, int64_t size) {
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
        double *lattice = put_nan(a, all);
        device_box_to_lattice(a->device, p, axis, n[0], n[1], n[2], trace.data, lattice);
        take(a, lattice, all);
        device_box_from_lattice(a->device, p, axis, n[0], n[1], n[2], lattice, back.data);
    }
    vector_axpby(-1.0, &trace, 1.0, &back);
    assert_true(vector_norm(&back) == 0.0 && vector_norm(&trace) > 0.0);
    vector_destroy(&trace);
    vector_destroy(&back);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
}

static void run_brick_scale(struct arena *a, int64_t number) {
    struct brick_setup s;
    brick_setup_create(a->device, (int)number, &s);
    const struct brick_cells *c = &s.brick.cells;
    int64_t n_vertices = 1;
    for (int d = 0; d < 3; d++) n_vertices *= brick_n_vertices(c, d);
    double nodes[BRICK_MAX_DEGREE + 1], *scale = put_nan(a, s.n);
    for (int i = 0; i <= c->element[0].k; i++) nodes[i] = (double)i / c->element[0].k;
    device_brick_scale(a->device, c, put(a, nodes, c->element[0].k + 1, sizeof *nodes),
                       put_nan(a, n_vertices), scale);
    take(a, scale, s.n);
    brick_setup_destroy(&s);
}
