/* Where arrays live.
 *
 * A device owns memory and a table of kernels. Code above this room never dereferences a device address: it
 * uploads, downloads, and calls the functions below, which run a kernel each (kernels/kernels.h says what
 * they compute and how arrays are laid out). `ref` is plain C, `cpu` (the default) threads and vector
 * instructions; both keep their arrays in the host's memory. `debug` is ref behind a wall: its memory can be
 * touched only by kernels and copies, so that a missing transfer is caught (by a segmentation fault) without
 * a GPU.
 */
#ifndef FACET_DEVICE_DEVICE_H
#define FACET_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/run.h"
#include "base/status.h"
#include "kernels/kernels.h"

struct device;

/* The device called name (NULL: "cpu"); it lives as long as the process. An unknown name lists the known
 * ones. */
facet_status device_find(const char *name, const struct device **device);
const char *device_name(const struct device *device);
/* "cpu, ref, debug" */
const char *device_list(void);

/* The support matrix, one row for every entry of struct kernels in its order: the device's own code, that of
 * ref, or none. */
enum device_support { DEVICE_NONE, DEVICE_REF, DEVICE_OWN };
int device_n_kernels(void);
const char *device_kernel_name(int kernel);
enum device_support device_support(const struct device *device, int kernel);
const char *device_support_name(enum device_support support); /* "-", "ref", "own" */

/* What it is, "" for the host's own. */
const char *device_describe(const struct device *device);
/* Whether its memory is its own: not the host's, behind a wall or not. Bytes that are free in it. */
int device_has_memory(const struct device *device);
double device_free_bytes(const struct device *device);
/* Copies between the host and a device that is not the host, so far: bytes, calls, and the seconds they took;
 * sums of dot products are not counted. */
struct device_copies {
    double bytes, seconds;
    long calls;
};
struct device_copies device_copies(const struct device *device);
/* FACET_OK, or what went wrong on the device since the program began. Kernels return nothing: solvers ask at
 * their end. */
facet_status device_check(const struct device *device);
/* Refuses a device that lacks one of the kernels (a list that ends with NULL), by name. what: "the method
 * continuous". */
facet_status device_require(const struct device *device, const char *what, const char *const *kernels);

/* Whether the host can read and write the device's memory. */
int device_is_host(const struct device *device);

/* *pointer receives a device address; NULL for 0 bytes. */
facet_status device_alloc(const struct device *device, void *pointer, size_t count, size_t size);
void device_free(const struct device *device, void *pointer);
facet_status device_upload(const struct device *device, void *to, const void *from_host, size_t bytes);
facet_status device_download(const struct device *device, void *to_host, const void *from, size_t bytes);
/* Allocates and uploads. */
facet_status device_copy(const struct device *device, void *pointer, const void *from_host, size_t count,
                         size_t size);
/* Host access to count items of a device array: the array itself where the host can read it, else a copy.
 * Ends with device_unview, which frees the copy. */
facet_status device_view(const struct device *device, const void *array, size_t count, size_t size,
                         const void **view);
void device_unview(const struct device *device, const void *array, const void **view);

/* The same from an array of the same device, without a way through the host. */
facet_status device_duplicate(const struct device *device, void *pointer, const void *from, size_t count,
                              size_t size);

/* Between two arrays of one device. */
void device_move(const struct device *device, void *to, const void *from, size_t bytes);

/* A vector on a device, in double or in single precision: one of the two device addresses is NULL (both are,
 * if it is empty). The vectors of one call must be of one device and one precision, except for
 * vector_convert and vector_add; nothing checks it. */
struct vector {
    const struct device *device;
    int64_t n;
    double *data;
    float *single;
};
facet_status vector_create(const struct device *device, int64_t n, struct vector *vector);
facet_status vector_create_single(const struct device *device, int64_t n, struct vector *vector);
/* y = x, two vectors of the same length in any precision on any devices. On one device, or where the host can
 * read both, this is one kernel and cannot fail; else it goes through memory of the host, for which there may
 * be no room. */
facet_status vector_convert(const struct vector *x, struct vector *y);
void vector_destroy(struct vector *vector); /* safe on a zeroed struct, and twice */
/* Single vectors are rounded, and widened, on the host. */
facet_status vector_upload(struct vector *vector, const double *from_host);
facet_status vector_download(const struct vector *vector, double *to_host);
void vector_fill(struct vector *x, double a);
void vector_axpby(double a, const struct vector *x, double b, struct vector *y); /* y = a x + b y */
void vector_add(const struct vector *x, struct vector *y); /* y += x; a single x may be added to a double y */
double vector_dot(const struct vector *x, const struct vector *y); /* summed in double */
double vector_norm(const struct vector *x);

void device_fill(const struct device *device, int64_t n, double a, double *x);
void device_axpby(const struct device *device, int64_t n, double a, const double *x, double b, double *y);
double device_dot(const struct device *device, int64_t n, const double *x, const double *y);
void device_put_entries(const struct device *device, int64_t n, const int64_t *places, const double *values,
                        double *x);
void device_multiply(const struct device *device, int64_t n, const double *d, const double *x, double *y);
void device_csr_apply(const struct device *device, int64_t n_rows, const int64_t *offsets,
                      const int32_t *columns, const double *values, const double *x, double *y);
void device_ell_apply(const struct device *device, int64_t n_rows, int width, const int32_t *columns,
                      const double *values, const double *x, double *y);
void device_block_apply(const struct device *device, int64_t n_blocks, const int64_t *first,
                        const int64_t *starts, const double *matrices, const double *x, double *y);
void device_facet_apply(const struct device *device, const struct facet_plan *plan, const double *x,
                        double *y);
void device_facet_sweep(const struct device *device, const struct facet_patches *patches, int backward,
                        const double *f, double *x, double *scratch);
int64_t device_facet_sweep_scratch(const struct device *device, const struct facet_patches *patches);
int64_t device_cell_run(const struct device *device, int64_t batch_bytes);
void device_cell_apply(const struct device *device, const struct cell_plan *plan, const double *x, double *y);
int64_t device_condense_affine(const struct device *device, const struct affine_tables *tables,
                               int64_t n_batches, const double *coefficients, double *factor, double *U,
                               double *K, double *scratch);
int64_t device_condense_scratch(const struct device *device, const struct affine_tables *tables);
int64_t device_condense_sum(const struct device *device, const struct sum_tables *tables, int64_t n_batches,
                            const double *coefficients, double *factor, double *U, double *K,
                            double *scratch);
int64_t device_condense_sum_scratch(const struct device *device, const struct sum_tables *tables);
void device_batch_load(const struct device *device, int64_t n_batches, int N, int n, const double *U,
                       const double *f, double *out);
void device_batch_recover(const struct device *device, int64_t n_batches, int N, int n, const double *factor,
                          const double *U, const double *uhat, double *f);
void device_affine_flux(const struct device *device, const struct affine_tables *tables, int64_t n_batches,
                        const double *coefficients, const double *u, const double *uhat, double *q);
void device_block_smooth(const struct device *device, int64_t n_blocks, const int64_t *first,
                         const int64_t *starts, const double *matrices, double a, double b, double c,
                         const double *f, const double *t, double *r, double *d, double *x);

/* Continuous elements on bricks. */
/* Unknowns that are solved faster by modes_solve than by more levels of a multigrid; 0: none. */
int64_t device_direct_size(const struct device *device);
/* Steps inside a patch that pay where k varies from cell to cell. */
int device_inner_steps(const struct device *device);
void device_brick_apply(const struct device *device, const struct brick_cells *cells, double a,
                        const double *x, double b, const double *f, double *y, double *scratch);
void device_brick_apply_single(const struct device *device, const struct brick_cells *cells, double a,
                               const float *x, double b, const float *f, float *y, float *scratch);
void device_brick_diagonal(const struct device *device, const struct brick_cells *cells, double *d);
void device_brick_diagonal_single(const struct device *device, const struct brick_cells *cells, float *d);
void device_point_sweep(const struct device *device, const struct brick_cells *cells, int backward,
                        const double *b, double *x, double *scratch);
void device_point_sweep_single(const struct device *device, const struct brick_cells *cells, int backward,
                               const float *b, float *x, float *scratch);
void device_brick_prolong(const struct device *device, const struct brick_transfer *transfer,
                          const double *coarse, double *fine, double *scratch);
void device_brick_prolong_single(const struct device *device, const struct brick_transfer *transfer,
                                 const float *coarse, float *fine, float *scratch);
void device_brick_restrict(const struct device *device, const struct brick_transfer *transfer,
                           const double *fine, double *coarse, double *scratch);
void device_brick_restrict_single(const struct device *device, const struct brick_transfer *transfer,
                                  const float *fine, float *coarse, float *scratch);
void device_patch_sweep(const struct device *device, const struct brick_patches *patches, int backward,
                        const double *b, double *x, double *scratch);
void device_patch_sweep_single(const struct device *device, const struct brick_patches *patches, int backward,
                               const float *b, float *x, float *scratch);
int64_t device_brick_scratch(const struct device *device, const struct brick_cells *cells);
int64_t device_transfer_scratch(const struct device *device, const struct brick_transfer *transfer);
int64_t device_patch_scratch(const struct device *device, const struct brick_patches *patches);
void device_modes_solve(const struct device *device, const struct brick_modes *modes, const double *b,
                        double *u, double *scratch);
int64_t device_modes_scratch(const struct device *device, const struct brick_modes *modes);

void device_fill_single(const struct device *device, int64_t n, double a, float *x);
void device_axpby_single(const struct device *device, int64_t n, double a, const float *x, double b,
                         float *y);
double device_dot_single(const struct device *device, int64_t n, const float *x, const float *y);
void device_multiply_single(const struct device *device, int64_t n, const float *d, const float *x, float *y);
void device_csr_apply_single(const struct device *device, int64_t n_rows, const int64_t *offsets,
                             const int32_t *columns, const float *values, const float *x, float *y);
void device_block_apply_single(const struct device *device, int64_t n_blocks, const int64_t *first,
                               const int64_t *starts, const float *matrices, const float *x, float *y);
void device_block_smooth_single(const struct device *device, int64_t n_blocks, const int64_t *first,
                                const int64_t *starts, const float *matrices, double a, double b, double c,
                                const float *f, const float *t, float *r, float *d, float *x);
void device_cell_apply_single(const struct device *device, const struct cell_plan *plan, const float *x,
                              float *y);
void device_facet_sweep_single(const struct device *device, const struct facet_patches *patches, int backward,
                               const float *f, float *x, float *scratch);
void device_convert_to_single(const struct device *device, int64_t n, const double *x, float *y);
void device_convert_to_double(const struct device *device, int64_t n, const float *x, double *y);
void device_add_single(const struct device *device, int64_t n, const float *x, double *y);
double device_box_step(const struct device *device, const struct box_plan *plan, const struct box_step *step,
                       const double *f, double *r, const double *e, double *d, double *x, double *y);
void device_box_residual(const struct device *device, const struct box_plan *plan, double alpha,
                         const double *y, double *r, double *moments, double *sums);
void device_box_prolong(const struct device *device, const struct box_plan *plan, const double *vertices,
                        double *coefficients);
void device_box_restrict(const struct device *device, const struct box_plan *plan, const double *moments,
                         double *vertices);
void device_box_load(const struct device *device, const struct box_plan *plan,
                     const struct box_points *points, const double *f, double *F);
void device_box_recover(const struct device *device, const struct box_plan *plan,
                        const struct box_points *points, const double *trace, const double *f, double *u);
void device_axis_apply(const struct device *device, int64_t outer, int n_out, int n_in, int64_t inner,
                       const double *T, const double *x, double *y);
double device_box_step_single(const struct device *device, const struct box_plan *plan,
                              const struct box_step *step, const float *f, float *r, const float *e, float *d,
                              float *x, float *y);
void device_box_residual_single(const struct device *device, const struct box_plan *plan, double alpha,
                                const float *y, float *r, float *moments, double *sums);
void device_box_prolong_single(const struct device *device, const struct box_plan *plan,
                               const double *vertices, float *coefficients);
void device_box_restrict_single(const struct device *device, const struct box_plan *plan,
                                const float *moments, double *vertices);
/* Allocates n numbers and fills them with x, rounded. */
facet_status device_copy_single(const struct device *device, float **pointer, const double *x, int64_t n);

/* What the program around the library chose: the public handle. */
struct facet_context {
    const struct device *device;
    struct base_monitor monitor;
};

#endif
