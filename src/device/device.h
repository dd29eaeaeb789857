/* Where arrays live.
 *
 * A device owns memory and a table of kernels. Code above this room never dereferences a device address: it
 * uploads, downloads, and calls the functions below. `ref` (plain C) and `cpu` (threads and vector
 * instructions, the default) keep their arrays in the host's memory.
 */
#ifndef FACET_DEVICE_DEVICE_H
#define FACET_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/run.h"
#include "base/status.h"

struct device;

/* The device called name (NULL: "cpu"); it lives as long as the process. An unknown name lists the known
 * ones. */
facet_status device_find(const char *name, const struct device **device);
const char *device_name(const struct device *device);
/* "ref, cpu" */
const char *device_list(void);

/* *pointer receives a device address; NULL for 0 bytes. */
facet_status device_alloc(const struct device *device, void *pointer, size_t count, size_t size);
void device_free(const struct device *device, void *pointer);
facet_status device_upload(const struct device *device, void *to, const void *from_host, size_t bytes);
facet_status device_download(const struct device *device, void *to_host, const void *from, size_t bytes);

/* A vector of doubles on a device. */
struct vector {
    const struct device *device;
    int64_t n;
    double *data; /* device address */
};
facet_status vector_create(const struct device *device, int64_t n, struct vector *vector);
void vector_destroy(struct vector *vector); /* safe on a zeroed struct, and twice */
facet_status vector_upload(struct vector *vector, const double *from_host);
facet_status vector_download(const struct vector *vector, double *to_host);
void vector_fill(struct vector *x, double a);
void vector_axpby(double a, const struct vector *x, double b, struct vector *y); /* y = a x + b y */
double vector_dot(const struct vector *x, const struct vector *y);
double vector_norm(const struct vector *x);

/* Kernels on device addresses; see kernels/kernels.h. */
void device_multiply(const struct device *device, int64_t n, const double *d, const double *x, double *y);
void device_csr_apply(const struct device *device, int64_t n_rows, const int64_t *offsets,
                      const int32_t *columns, const double *values, const double *x, double *y);
void device_block_apply(const struct device *device, int64_t n_blocks, const int64_t *first,
                        const int64_t *starts, const double *matrices, const double *x, double *y);
void device_block_smooth(const struct device *device, int64_t n_blocks, const int64_t *first,
                         const int64_t *starts, const double *matrices, double a, double b, double c,
                         const double *f, const double *t, double *r, double *d, double *x);

/* What the program around the library chose: the public handle. */
struct facet_context {
    const struct device *device;
    struct base_monitor monitor;
};

#endif
