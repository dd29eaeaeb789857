/* Vectors on a device in either precision, and the ways between precisions and devices. */
#include <math.h>

#include "base/memory.h"
#include "device/seam.h"

facet_status vector_create_in(const struct device *device, enum precision precision, int64_t n,
                              struct vector *vector) {
    *vector = (struct vector){.device = device, .precision = precision, .n = n};
    return device_alloc(device, &vector->numbers, (size_t)n, precision_size(precision));
}

facet_status vector_create(const struct device *device, int64_t n, struct vector *vector) {
    return vector_create_in(device, F64, n, vector);
}

facet_status vector_create_like(const struct vector *like, struct vector *vector) {
    facet_status status = vector_create_in(like->device, like->precision, like->n, vector);
    vector->seam = like->seam;
    return status;
}

void vector_destroy(struct vector *vector) {
    if (vector->device != NULL) device_free(vector->device, &vector->numbers);
    vector->n = 0;
}

void vector_fill(struct vector *x, double a) {
    device_fill(x->device, x->precision, x->n, a, x->numbers);
}

void vector_axpby(double a, const struct vector *x, double b, struct vector *y) {
    device_axpby(x->device, x->precision, x->n, a, x->numbers, b, y->numbers);
}

void vector_add(const struct vector *x, struct vector *y) {
    if (x->precision != y->precision)
        device_widen(x->device, x->precision, x->n, x->numbers, 1.0, y->data);
    else
        vector_axpby(1.0, x, 1.0, y);
}

double vector_dot(const struct vector *x, const struct vector *y) {
    const double here = device_dot(x->device, x->precision, x->n, x->numbers, y->numbers);
    return x->seam != NULL ? seam_dot(x->seam, x, y, here) : here;
}

double vector_norm(const struct vector *x) {
    return sqrt(vector_dot(x, x));
}

/* y = x by one kernel of a device that reaches both. */
static void convert_on(const struct device *device, const struct vector *x, struct vector *y) {
    if (x->precision == y->precision)
        device_axpby(device, x->precision, x->n, 1.0, x->numbers, 0.0, y->numbers);
    else if (x->precision == F64)
        device_narrow(device, y->precision, x->n, x->data, y->numbers);
    else
        device_widen(device, x->precision, x->n, x->numbers, 0.0, y->data);
}

/* The device whose memory is the host's. */
static facet_status host_device(const struct device **host) {
    return device_find(NULL, host);
}

/* y = x, y of a device that the host cannot reach and x where it can. */
static facet_status send(const struct vector *x, struct vector *y) {
    facet_status status = FACET_OK;
    struct vector staged = {0};
    const void *from = x->numbers;
    if (x->precision != y->precision) {
        TRY(vector_create_in(x->device, y->precision, x->n, &staged));
        convert_on(x->device, x, &staged);
        from = staged.numbers;
    }
    TRY(device_upload(y->device, y->numbers, from, (size_t)y->n * precision_size(y->precision)));
done:
    vector_destroy(&staged);
    return status;
}

/* y = x, x of a device that the host cannot reach; y lies on another. */
static facet_status fetch(const struct vector *x, struct vector *y) {
    facet_status status = FACET_OK;
    struct vector staged = {0};
    const struct device *host;
    int in_place = device_is_host(y->device) && x->precision == y->precision;
    TRY(host_device(&host));
    if (!in_place) TRY(vector_create_in(host, x->precision, x->n, &staged));
    TRY(device_download(x->device, in_place ? y->numbers : staged.numbers, x->numbers,
                        (size_t)x->n * precision_size(x->precision)));
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
    *vector = (struct vector){.n = n, .seen = data};
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
