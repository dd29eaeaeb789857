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

#endif
