/* What tests of multigrid share: devices by name, noise, and whether an operator is symmetric. */
#ifndef FACET_TESTS_MULTIGRID_HELPERS_H
#define FACET_TESTS_MULTIGRID_HELPERS_H

#include "solid_helpers.h"
#include "solve/solve_internal.h"

static inline const struct device *find(const char *name) {
    const struct device *device;
    ok(device_find(name, &device));
    return device;
}

static inline void noise(uint32_t *seed, int64_t n, double *x) {
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(seed);
}

/* y = M x on the host's numbers. */
static inline void apply(const struct linear_operator *M, const double *x, double *y) {
    struct vector in = {0}, out = {0};
    ok(vector_create(M->device, M->n, &in));
    ok(vector_create(M->device, M->n, &out));
    ok(vector_upload(&in, x));
    operator_apply(M, &in, &out);
    ok(vector_download(&out, y));
    vector_destroy(&in);
    vector_destroy(&out);
}

static inline double dot(int64_t n, const double *x, const double *y) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* (x, M y) = (M x, y) and (x, M x) > 0, up to `tolerance`. */
static inline void check_symmetric(const struct linear_operator *M, double tolerance) {
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

static const char *const multigrid_shapes[4] = {"triangle", "quad", "tet", "hex"};

/* Cells of many forms, none of them affine but simplices. */
static inline void map_bent(const double *x, double *y) {
    y[0] = x[0] + 0.06 * sin(3.1 * x[0] + 4.3 * x[1] + 1.7 * x[2]);
    y[1] = x[1] + 0.06 * sin(2.3 * x[0] - 3.9 * x[1] + 2.9 * x[2]);
    y[2] = x[2] + 0.06 * sin(4.1 * x[0] + 1.3 * x[1] - 3.3 * x[2]);
}

#endif
