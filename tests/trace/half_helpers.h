/* What the tests of element matrices in 16 bits share; after the helpers of what they solve. */
#ifndef FACET_TESTS_HALF_HELPERS_H
#define FACET_TESTS_HALF_HELPERS_H

#include "hdg_helpers.h"

#include "trace/half_precision.h"

static const char *const shapes[4] = {"triangle", "quad", "tet", "hex"};

static inline void apply(const struct linear_operator *A, const double *x, double *y) {
    struct vector in, out;
    ok(vector_create_in(A->device, A->precision, A->n, &in));
    ok(vector_create_in(A->device, A->precision, A->n, &out));
    ok(vector_upload(&in, x));
    operator_apply(A, &in, &out);
    ok(vector_download(&out, y));
    vector_destroy(&in);
    vector_destroy(&out);
}

/* Not on processors that cannot convert 16 bits: there they do not pay, and nothing is in them. */
static inline int half_pays(void) {
    const struct device *device;
    ok(device_find("cpu", &device));
    return device_half_pays(device, 40, 1 << 20);
}

#endif
