/* Vectors on a device in either precision, and the ways between precisions and devices. */
#include <math.h>

#include "base/memory.h"
#include "device/device.h"

facet_status vector_create(const struct device *device, int64_t n, struct vector *vector) {
    *vector = (struct vector){.device = device, .n = n};
    return device_alloc(device, &vector->data, (size_t)n, sizeof *vector->data);
}

facet_status vector_create_single(const struct device *device, int64_t n, struct vector *vector) {
    *vector = (struct vector){.device = device, .n = n};
    return device_alloc(device, &vector->single, (size_t)n, sizeof *vector->single);
}

void vector_destroy(struct vector *vector) {
    if (vector->device != NULL) {
        device_free(vector->device, &vector->data);
        device_free(vector->device, &vector->single);
    }
    vector->n = 0;
}

void vector_fill(struct vector *x, double a) {
    if (x->single != NULL)
        device_fill_single(x->device, x->n, a, x->single);
    else
        device_fill(x->device, x->n, a, x->data);
}

void vector_axpby(double a, const struct vector *x, double b, struct vector *y) {
    if (x->single != NULL)
        device_axpby_single(x->device, x->n, a, x->single, b, y->single);
    else
        device_axpby(x->device, x->n, a, x->data, b, y->data);
}

void vector_add(const struct vector *x, struct vector *y) {
    if (x->single != NULL && y->single == NULL)
        device_add_single(x->device, x->n, x->single, y->data);
    else
        vector_axpby(1.0, x, 1.0, y);
}

double vector_dot(const struct vector *x, const struct vector *y) {
    return x->single != NULL ? device_dot_single(x->device, x->n, x->single, y->single)
                             : device_dot(x->device, x->n, x->data, y->data);
}

double vector_norm(const struct vector *x) {
    return sqrt(vector_dot(x, x));
}

/* y = x by one kernel of a device that reaches both. */
static void convert_on(const struct device *device, const struct vector *x, struct vector *y) {
    if (x->single != NULL && y->single != NULL)
        device_axpby_single(device, x->n, 1.0, x->single, 0.0, y->single);
    else if (x->single != NULL)
        device_convert_to_double(device, x->n, x->single, y->data);
    else if (y->single != NULL)
        device_convert_to_single(device, x->n, x->data, y->single);
    else
        device_axpby(device, x->n, 1.0, x->data, 0.0, y->data);
}

/* The device whose memory is the host's. */
static facet_status host_device(const struct device **host) {
    return device_find(NULL, host);
}

/* y = x, y of a device that the host cannot reach and x where it can. */
static facet_status send(const struct vector *x, struct vector *y) {
    facet_status status = FACET_OK;
    struct vector staged = {0};
    const void *from = x->single != NULL ? (const void *)x->single : (const void *)x->data;
    size_t size = y->single != NULL ? sizeof *y->single : sizeof *y->data;
    if ((x->single != NULL) != (y->single != NULL)) {
        TRY(y->single != NULL ? vector_create_single(x->device, x->n, &staged)
                              : vector_create(x->device, x->n, &staged));
        convert_on(x->device, x, &staged);
        from = staged.single != NULL ? (const void *)staged.single : (const void *)staged.data;
    }
    TRY(device_upload(y->device, y->single != NULL ? (void *)y->single : (void *)y->data, from,
                      (size_t)y->n * size));
done:
    vector_destroy(&staged);
    return status;
}

/* y = x, x of a device that the host cannot reach; y lies on another. */
static facet_status fetch(const struct vector *x, struct vector *y) {
    facet_status status = FACET_OK;
    struct vector staged = {0};
    const struct device *host;
    int single = x->single != NULL, in_place = device_is_host(y->device) && single == (y->single != NULL);
    size_t bytes = (size_t)x->n * (single ? sizeof *x->single : sizeof *x->data);
    TRY(host_device(&host));
    if (!in_place)
        TRY(single ? vector_create_single(host, x->n, &staged) : vector_create(host, x->n, &staged));
    const struct vector *to = in_place ? y : &staged;
    TRY(device_download(x->device, single ? (void *)to->single : (void *)to->data,
                        single ? (const void *)x->single : (const void *)x->data, bytes));
    if (!in_place) TRY(vector_convert(&staged, y));
done:
    vector_destroy(&staged);
    return status;
}

facet_status vector_convert(const struct vector *x, struct vector *y) {
    if (x->n == 0) return FACET_OK;
    if (x->device == y->device || (device_is_host(x->device) && device_is_host(y->device))) {
        convert_on(y->device, x, y);
        return FACET_OK;
    }
    return device_is_host(x->device) ? send(x, y) : fetch(x, y);
}

/* An array of the host as a vector; what is only read may come from a constant. */
static facet_status host_vector(int64_t n, const double *data, struct vector *vector) {
    *vector = (struct vector){.n = n, .data = (double *)data};
    return host_device(&vector->device);
}

facet_status vector_upload(struct vector *vector, const double *from_host) {
    struct vector host;
    facet_status status = host_vector(vector->n, from_host, &host);
    return status != FACET_OK ? status : vector_convert(&host, vector);
}

facet_status vector_download(const struct vector *vector, double *to_host) {
    struct vector host;
    facet_status status = host_vector(vector->n, to_host, &host);
    return status != FACET_OK ? status : vector_convert(vector, &host);
}
