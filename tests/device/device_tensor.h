/* Runs of the kernels inside one cell of a box, for test_device.c, which includes this. */
#ifndef FACET_TESTS_DEVICE_TENSOR_H
#define FACET_TESTS_DEVICE_TENSOR_H

/* Inside a cell of a box: extents n, n - 1 and 3, whatever remainders of vectors that leaves. What lies
 * behind the arrays is finite. */
static double *get(struct arena *a, const double *from, int64_t n) {
    double *out = room(a, n);
    ok(device_download(a->device, out, from, (size_t)n * sizeof *out));
    return out;
}

static void run_tensor_contract(struct arena *a, int64_t n) {
    static const int inners[] = {1, 3, 8, 13, 20};
    for (int i = 0; i < 5; i++) {
        int64_t inner = inners[i], outer = 3;
        int n_in = (int)n, n_out = (int)n + 2;
        double *T = put_random(a, n_in * n_out, 1);
        double *in = put_random(a, outer * (n_in + 1) * inner + KERNEL_SLACK, 2);
        double *out = put_random(a, outer * n_out * inner + 1, 3);
        device_tensor_contract(a->device, outer, n_out, n_in, inner, T, in, (n_in + 1) * inner, out,
                               n_out * inner);
        get(a, out, outer * n_out * inner + 1);
    }
}

/* The extents of a cell of dim directions, and one array for each. */
static void put_lines(struct arena *a, int64_t n, int dim, int extent[3], const double *lines[3]) {
    for (int d = 0; d < 3; d++) {
        extent[d] = d < dim ? (int)n : 1;
        lines[d] = put_random(a, extent[d], 10 + (uint32_t)d);
    }
}

static void run_tensor_weigh(struct arena *a, int64_t n) {
    for (int dim = 1; dim <= 3; dim++) {
        const double *weights[3];
        int extent[3];
        put_lines(a, n, dim, extent, weights);
        double *u = put_random(a, n * n * n, 2);
        *room(a, 1) = device_tensor_weigh(a->device, extent, weights, u);
    }
}

static void run_tensor_add(struct arena *a, int64_t n) {
    for (int dim = 1; dim <= 3; dim++) {
        const double *weights[3];
        int extent[3];
        put_lines(a, n, dim, extent, weights);
        double *u = put_random(a, n * n * n, 2);
        device_tensor_add(a->device, extent, weights, 0.75, u);
        get(a, u, n * n * n);
    }
}

static void run_line_reduce(struct arena *a, int64_t n) {
    for (int dim = 1; dim <= 3; dim++) {
        const double *c[3];
        int extent[3];
        put_lines(a, n, dim, extent, c);
        double *u = put_random(a, n * n * n + KERNEL_SLACK, 2), *r = put_random(a, 6 * n * n, 3);
        device_line_reduce(a->device, extent, n * n, c, u, r);
        get(a, r, 6 * n * n);
    }
}

static void run_line_solve(struct arena *a, int64_t n) {
    for (int variant = 0; variant < 9; variant++) {
        static const double metric[3] = {1.0, 0.5, 2.0};
        const double *b[3], *eigenvalues[3];
        int dim = 1 + variant % 3, extent[3];
        int64_t count = dim == 1 ? n : dim == 2 ? n * n : n * n * n;
        put_lines(a, n, dim, extent, b);
        put_lines(a, n, dim, extent, eigenvalues);
        double *loads = put_random(a, n * n * n + KERNEL_SLACK, 2);
        double *v = put_random(a, 6 * n * n + KERNEL_SLACK, 3),
               *u = put_random(a, n * n * n + KERNEL_SLACK, 4);
        device_line_solve(a->device, extent, n * n, metric, b, eigenvalues, 9.0,
                          variant / 3 == 0 ? NULL : loads, variant / 3 == 1 ? NULL : v, u);
        get(a, u, count);
    }
}

#endif
