/* Operators by functions on arrays of the host, for vectors of any device. */
#include <math.h>

#include "base/memory.h"
#include "solve/solve.h"

struct host_operator {
    operator_on_host apply;
    void *data;
    void (*release)(void **data);
    double *x, *y; /* of a device that is not the host; else NULL */
};

static facet_status apply_on_host(const struct host_operator *o, const struct vector *x, struct vector *y) {
    facet_status status = FACET_OK;
    if (o->x == NULL) return o->apply(o->data, x->data, y->data);
    TRY(vector_download(x, o->x));
    TRY(o->apply(o->data, o->x, o->y));
    TRY(vector_upload(y, o->y));
done:
    return status;
}

static void host_apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    if (apply_on_host(A->data, x, y) != FACET_OK) vector_fill(y, NAN);
}

static void host_free(struct linear_operator *A) {
    struct host_operator *o = A->data;
    if (o == NULL) return;
    if (o->release != NULL) o->release(&o->data);
    base_free(&o->x);
    base_free(&o->y);
    base_free(&A->data);
}

facet_status operator_create_host(const struct device *device, int64_t n, const char *name,
                                  operator_on_host apply, void *data, void (*release)(void **data),
                                  struct linear_operator *A) {
    facet_status status = FACET_OK;
    struct host_operator *o = NULL;
    *A = (struct linear_operator){
        .n = n, .device = device, .apply = host_apply, .free = host_free, .name = name};
    status = CALLOC(o, 1);
    if (status != FACET_OK && release != NULL) release(&data);
    if (status != FACET_OK) return status;
    A->data = o;
    o->apply = apply;
    o->data = data;
    o->release = release;
    TRY(device_alloc_room(device, &o->x, (size_t)n, sizeof *o->x));
    TRY(device_alloc_room(device, &o->y, (size_t)n, sizeof *o->y));
done:
    if (status != FACET_OK) operator_destroy(A);
    return status;
}

void *operator_host_data(const struct linear_operator *A) {
    return ((struct host_operator *)A->data)->data;
}
