/* What tests of multigrid share: devices by name, noise, and whether an operator is symmetric. */
#ifndef FACET_TESTS_MULTIGRID_HELPERS_H
#define FACET_TESTS_MULTIGRID_HELPERS_H

#include "solid_helpers.h"
#include "solve/internal.h"

static const struct device *find(const char *name) {
    const struct device *device;
    ok(device_find(name, &device));
    return device;
}

static void noise(uint32_t *seed, int64_t n, double *x) {
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(seed);
}

/* y = M x on the host's numbers. */
static void apply(const struct operator* M, const double *x, double *y) {
    struct vector in = {0}, out = {0};
    ok(vector_create(M->device, M->n, &in));
    ok(vector_create(M->device, M->n, &out));
    ok(vector_upload(&in, x));
    operator_apply(M, &in, &out);
    ok(vector_download(&out, y));
    vector_destroy(&in);
    vector_destroy(&out);
}

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* (x, M y) = (M x, y) and (x, M x) > 0, up to `tolerance`. */
static void check_symmetric(const struct operator* M, double tolerance) {
    uint32_t seed = 5;
    double *x = malloc((size_t)M->n * 4 * sizeof *x), *y = x + M->n, *Mx = y + M->n, *My = Mx + M->n;
    for (int k = 0; k < 3; k++) {
        noise(&seed, M->n, x);
        noise(&seed, M->n, y);
        apply(M, x, Mx);
        apply(M, y, My);
        double size = sqrt(dot(M->n, x, Mx) * dot(M->n, y, My));
        near(dot(M->n, x, My), dot(M->n, y, Mx), tolerance * size);
        assert_true(dot(M->n, x, Mx) > 0.0);
    }
    free(x);
}

#endif
