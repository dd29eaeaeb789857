/* Devices whose memory is the host's, and vectors on them. */
#include "device/device.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/kernels.h"

struct device {
    const char *name;
    const struct kernels *(*kernels)(void);
};

static const struct device devices[] = {
    {"cpu", kernels_simd},
    {"ref", kernels_ref},
};
#define N_DEVICES ((int)(sizeof devices / sizeof devices[0]))

facet_status device_find(const char *name, const struct device **device) {
    if (name == NULL) name = devices[0].name;
    for (int i = 0; i < N_DEVICES; i++) {
        if (strcmp(name, devices[i].name) != 0) continue;
        *device = &devices[i];
        return FACET_OK;
    }
    *device = NULL;
    if (strcmp(name, "cuda") == 0 || strcmp(name, "debug") == 0)
        return base_fail(FACET_ERROR_MACHINE, "the device '%s' is not in this build; available: %s", name,
                         device_list());
    return base_fail(FACET_ERROR_INPUT, "there is no device '%s'; available: %s", name, device_list());
}

const char *device_name(const struct device *device) {
    return device->name;
}

const char *device_list(void) {
    return "cpu, ref";
}

facet_status device_alloc(const struct device *device, void *pointer, size_t count, size_t size) {
    (void)device;
    return base_alloc(pointer, count, size);
}

void device_free(const struct device *device, void *pointer) {
    (void)device;
    base_free(pointer);
}

facet_status device_upload(const struct device *device, void *to, const void *from_host, size_t bytes) {
    (void)device;
    if (bytes > 0) memcpy(to, from_host, bytes);
    return FACET_OK;
}

facet_status device_download(const struct device *device, void *to_host, const void *from, size_t bytes) {
    (void)device;
    if (bytes > 0) memcpy(to_host, from, bytes);
    return FACET_OK;
}

facet_status vector_create(const struct device *device, int64_t n, struct vector *vector) {
    *vector = (struct vector){.device = device, .n = n};
    return device_alloc(device, &vector->data, (size_t)n, sizeof *vector->data);
}

void vector_destroy(struct vector *vector) {
    if (vector->device != NULL) device_free(vector->device, &vector->data);
    vector->n = 0;
}

facet_status vector_upload(struct vector *vector, const double *from_host) {
    return device_upload(vector->device, vector->data, from_host, (size_t)vector->n * sizeof *vector->data);
}

facet_status vector_download(const struct vector *vector, double *to_host) {
    return device_download(vector->device, to_host, vector->data, (size_t)vector->n * sizeof *vector->data);
}

void vector_fill(struct vector *x, double a) {
    x->device->kernels()->fill(x->n, a, x->data);
}

void vector_axpby(double a, const struct vector *x, double b, struct vector *y) {
    x->device->kernels()->axpby(x->n, a, x->data, b, y->data);
}

double vector_dot(const struct vector *x, const struct vector *y) {
    return x->device->kernels()->dot(x->n, x->data, y->data);
}

double vector_norm(const struct vector *x) {
    return sqrt(vector_dot(x, x));
}

void device_multiply(const struct device *device, int64_t n, const double *d, const double *x, double *y) {
    device->kernels()->multiply(n, d, x, y);
}

void device_csr_apply(const struct device *device, int64_t n_rows, const int64_t *offsets,
                      const int32_t *columns, const double *values, const double *x, double *y) {
    device->kernels()->csr_apply(n_rows, offsets, columns, values, x, y);
}

void device_block_apply(const struct device *device, int64_t n_blocks, const int64_t *first,
                        const int64_t *starts, const double *matrices, const double *x, double *y) {
    device->kernels()->block_apply(n_blocks, first, starts, matrices, x, y);
}

void device_block_smooth(const struct device *device, int64_t n_blocks, const int64_t *first,
                         const int64_t *starts, const double *matrices, double a, double b, double c,
                         const double *f, const double *t, double *r, double *d, double *x) {
    device->kernels()->block_smooth(n_blocks, first, starts, matrices, a, b, c, f, t, r, d, x);
}
