/* Runs of the kernels on bricks, for numbers of type REAL: test_device.c includes this once for each
 * precision. The size is the number of a brick of brick_helpers.h. */

static REAL *NAME(put_zero)(struct arena *a, int64_t n) {
    REAL *host = NAME(numbers)(n, 1), *on_device;
    for (int64_t i = 0; i < n; i++) host[i] = 0;
    on_device = put(a, host, n, sizeof *host);
    test_free(host);
    return on_device;
}

static void NAME(run_brick_apply)(struct arena *a, int64_t number) {
    struct brick_setup s;
    brick_setup_create(a->device, (int)number, &s);
    REAL *x = NAME(put_random)(a, s.n, 1), *f = NAME(put_random)(a, s.n, 2), *y = NAME(put_nan)(a, s.n),
         *z = NAME(put_nan)(a, s.n), *nan = NAME(put_nan)(a, s.n),
         *scratch = NAME(put_nan)(a, brick_scratch(&s.brick.cells, base_threads()));
    device_brick_apply(a->device, PRECISION, &s.brick.cells, -0.5, x, 2.0, f, y, scratch);
    NAME(take)(a, y, s.n);
    device_brick_apply(a->device, PRECISION, &s.brick.cells, 1.0, x, 0.0, nan, z, scratch);
    NAME(take)(a, z, s.n);
    device_brick_apply(a->device, PRECISION, &s.brick.cells, 1.0, x, 1.0, NULL, z, scratch);
    NAME(take)(a, z, s.n);
    brick_setup_destroy(&s);
}

static void NAME(run_brick_diagonal)(struct arena *a, int64_t number) {
    struct brick_setup s;
    brick_setup_create(a->device, (int)number, &s);
    REAL *d = NAME(put_nan)(a, s.n);
    device_brick_diagonal(a->device, PRECISION, &s.brick.cells, d);
    NAME(take)(a, d, s.n);
    brick_setup_destroy(&s);
}

/* From half the cells, and from the linear functions of all. */
static void NAME(run_brick_prolong)(struct arena *a, int64_t number) {
    struct brick_setup s;
    brick_setup_create(a->device, (int)number, &s);
    for (int low = 0; low < 2; low++) {
        const struct brick_transfer *plan = low ? &s.vertices.plan : &s.transfer.plan;
        REAL *coarse = NAME(put_random)(a, low ? s.n_vertices : s.n_coarse, 1),
             *fine = NAME(put_random)(a, s.n, 2),
             *scratch = NAME(put_nan)(a, brick_transfer_scratch(plan, base_threads()));
        device_brick_prolong(a->device, PRECISION, plan, coarse, fine, scratch);
        NAME(take)(a, fine, s.n);
    }
    brick_setup_destroy(&s);
}

static void NAME(run_brick_restrict)(struct arena *a, int64_t number) {
    struct brick_setup s;
    brick_setup_create(a->device, (int)number, &s);
    for (int low = 0; low < 2; low++) {
        const struct brick_transfer *plan = low ? &s.vertices.plan : &s.transfer.plan;
        const int64_t n = low ? s.n_vertices : s.n_coarse;
        REAL *coarse = NAME(put_nan)(a, n), *fine = NAME(put_random)(a, s.n, 2),
             *scratch = NAME(put_nan)(a, brick_transfer_scratch(plan, base_threads()));
        device_brick_restrict(a->device, PRECISION, plan, fine, coarse, scratch);
        NAME(take)(a, coarse, n);
    }
    brick_setup_destroy(&s);
}

/* All variants, forward and backward, with inner steps where coefficients vary. */
static void NAME(run_patch_sweep)(struct arena *a, int64_t number) {
    const int varies = brick_cases[number].k_varies || brick_cases[number].lambda_varies;
    for (int run = 0; run < (varies ? 2 : 1) * (PATCH_ADDITIVE + 1); run++) {
        struct brick_setup s;
        brick_setup_create(a->device, (int)number, &s);
        s.patches.plan.variant = (enum patch_variant)(run % (PATCH_ADDITIVE + 1));
        s.patches.plan.inner = run > PATCH_ADDITIVE ? 3 : 0;
        s.patches.plan.damping = 0.75;
        REAL *x = NAME(put_random)(a, s.n, 1), *b = NAME(put_zero)(a, s.n),
             *scratch = NAME(put_nan)(a, device_patch_scratch(a->device, &s.patches.plan));
        REAL *f = NAME(put_random)(a, s.n, 2);
        device_brick_apply(a->device, PRECISION, &s.brick.cells, 1.0, f, 0.0, NULL, b,
                           NAME(put_nan)(a, brick_scratch(&s.brick.cells, base_threads())));
        for (int backward = 0; backward < 2; backward++) {
            device_patch_sweep(a->device, PRECISION, &s.patches.plan, backward, b, x, scratch);
            NAME(take)(a, x, s.n);
        }
        brick_setup_destroy(&s);
    }
}
