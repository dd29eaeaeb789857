/* Operators over a matrix on the device: the product, and the (block) Jacobi preconditioners. */
#include <lapacke.h>
#include <string.h>

#include "base/memory.h"
#include "solve/internal.h"

void csr_destroy(struct csr *csr) {
    base_free(&csr->offsets);
    base_free(&csr->columns);
    base_free(&csr->values);
    csr->n = 0;
}

void operator_apply(const struct operator* A, const struct vector *x, struct vector *y) {
    A->apply(A, x, y);
}

void operator_destroy(struct operator* A) {
    if (A->free != NULL) A->free(A);
    *A = (struct operator){0};
}

static void free_matrix(struct operator* A) {
    struct device_matrix *matrix = A->data;
    if (matrix == NULL) return;
    device_free(A->device, &matrix->offsets);
    device_free(A->device, &matrix->starts);
    device_free(A->device, &matrix->columns);
    device_free(A->device, &matrix->values);
    base_free(&A->data);
}

facet_status solve_to_device(const struct device *device, void *pointer, const void *host, size_t count,
                             size_t size) {
    facet_status status = device_alloc(device, pointer, count, size);
    void *address;
    memcpy(&address, pointer, sizeof address);
    return status != FACET_OK ? status : device_upload(device, address, host, count * size);
}

static facet_status begin(const struct device *device, int64_t n,
                          void (*apply)(const struct operator*, const struct vector *, struct vector *),
                          struct operator* A, struct device_matrix **matrix) {
    *A = (struct operator){.n = n, .device = device, .apply = apply, .free = free_matrix};
    facet_status status = CALLOC(*matrix, 1);
    A->data = *matrix;
    return status;
}

static void csr_apply(const struct operator* A, const struct vector *x, struct vector *y) {
    const struct device_matrix *m = A->data;
    device_csr_apply(A->device, A->n, m->offsets, m->columns, m->values, x->data, y->data);
}

facet_status operator_create_csr(const struct device *device, const struct csr *csr, struct operator* A) {
    facet_status status = FACET_OK;
    struct device_matrix *m;
    size_t nnz = (size_t)csr->offsets[csr->n];
    TRY(begin(device, csr->n, csr_apply, A, &m));
    TRY(solve_to_device(device, &m->offsets, csr->offsets, (size_t)csr->n + 1, sizeof *m->offsets));
    TRY(solve_to_device(device, &m->columns, csr->columns, nnz, sizeof *m->columns));
    TRY(solve_to_device(device, &m->values, csr->values, nnz, sizeof *m->values));
done:
    if (status != FACET_OK) operator_destroy(A);
    return status;
}

static void jacobi_apply(const struct operator* M, const struct vector *x, struct vector *y) {
    const struct device_matrix *m = M->data;
    device_multiply(M->device, M->n, m->values, x->data, y->data);
}

facet_status operator_create_jacobi(const struct device *device, const struct csr *csr, struct operator* M) {
    facet_status status = FACET_OK;
    struct device_matrix *m;
    double *inverse = NULL;
    TRY(begin(device, csr->n, jacobi_apply, M, &m));
    TRY(CALLOC(inverse, csr->n));
    for (int64_t i = 0; i < csr->n; i++) {
        for (int64_t k = csr->offsets[i]; k < csr->offsets[i + 1]; k++)
            if (csr->columns[k] == i) inverse[i] = csr->values[k];
        if (!(inverse[i] > 0.0))
            FAIL(FACET_NOT_CONVERGED, "the matrix is not positive definite: diagonal entry %lld is %g",
                 (long long)i, inverse[i]);
        inverse[i] = 1.0 / inverse[i];
    }
    TRY(solve_to_device(device, &m->values, inverse, (size_t)csr->n, sizeof *inverse));
done:
    base_free(&inverse);
    if (status != FACET_OK) operator_destroy(M);
    return status;
}

static void block_jacobi_apply(const struct operator* M, const struct vector *x, struct vector *y) {
    const struct device_matrix *m = M->data;
    device_block_apply(M->device, m->n_blocks, m->offsets, m->starts, m->values, x->data, y->data);
}

/* B = inverse of the diagonal block of unknowns first .. last-1. */
static facet_status invert_block(const struct csr *csr, int64_t first, int64_t last, double *B) {
    int64_t n = last - first;
    if (n == 0) return FACET_OK;
    memset(B, 0, (size_t)(n * n) * sizeof *B);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = csr->offsets[first + i]; k < csr->offsets[first + i + 1]; k++)
            if (csr->columns[k] >= first && csr->columns[k] < last)
                B[i * n + csr->columns[k] - first] = csr->values[k];
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)n, B, (int)n) != 0 ||
        LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (int)n, B, (int)n) != 0)
        return base_fail(FACET_NOT_CONVERGED, "the matrix is not positive definite: block of unknown %lld",
                         (long long)first);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) B[i * n + j] = B[j * n + i];
    return FACET_OK;
}

facet_status operator_create_block_jacobi(const struct device *device, const struct csr *csr,
                                          int64_t n_blocks, const int64_t *block_offsets,
                                          struct operator* M) {
    facet_status status = FACET_OK;
    struct device_matrix *m;
    struct base_collector failures;
    int64_t *starts = NULL;
    double *blocks = NULL;
    base_collector_init(&failures);
    TRY(begin(device, csr->n, block_jacobi_apply, M, &m));
    TRY(CALLOC(starts, n_blocks + 1));
    for (int64_t b = 0; b < n_blocks; b++) {
        int64_t n = block_offsets[b + 1] - block_offsets[b];
        starts[b + 1] = starts[b] + n * n;
    }
    TRY(ALLOC(blocks, starts[n_blocks]));
    base_set_blas_threads(1);
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t b = 0; b < n_blocks; b++)
        base_collect(&failures, b,
                     invert_block(csr, block_offsets[b], block_offsets[b + 1], blocks + starts[b]));
    TRY(base_collected(&failures));
    m->n_blocks = n_blocks;
    TRY(solve_to_device(device, &m->offsets, block_offsets, (size_t)n_blocks + 1, sizeof *m->offsets));
    TRY(solve_to_device(device, &m->starts, starts, (size_t)n_blocks + 1, sizeof *m->starts));
    TRY(solve_to_device(device, &m->values, blocks, (size_t)starts[n_blocks], sizeof *m->values));
done:
    base_free(&starts);
    base_free(&blocks);
    if (status != FACET_OK) operator_destroy(M);
    return status;
}
