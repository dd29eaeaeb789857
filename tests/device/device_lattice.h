/* The scale of patches at the nodes of a brick. */

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
