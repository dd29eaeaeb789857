/* Operators over a matrix on the device: the product, and the (block) Jacobi preconditioners. */
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "device/seam.h"
#include "solve/solve_internal.h"

void csr_destroy(struct csr *csr) {
    base_free(&csr->offsets);
    base_free(&csr->columns);
    base_free(&csr->values);
    csr->n = 0;
}

facet_status solve_need_symmetric(int asymmetric, const char *who) {
    if (!asymmetric) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "%s needs a symmetric matrix, and this one is not; use fgmres", who);
}

void operator_apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    base_waits_look();
    A->apply(A, x, y);
}

void operator_residual(const struct linear_operator *A, const struct vector *f, const struct vector *x,
                       struct vector *r) {
    if (A->residual != NULL) {
        A->residual(A, f, x, r);
        return;
    }
    operator_apply(A, x, r);
    vector_axpby(1.0, f, -1.0, r);
}

double operator_product(const struct linear_operator *A, const struct vector *p, struct vector *q) {
    struct vector same = *p; /* which stays */
    if (A->steps != NULL) return A->steps->advance(A, 0.0, 0.0, NULL, NULL, &same, NULL, q);
    operator_apply(A, p, q);
    return vector_dot(p, q);
}

void operator_destroy(struct linear_operator *A) {
    if (A->free != NULL) A->free(A);
    seam_release(&A->seam);
    *A = (struct linear_operator){0};
}

facet_status operator_create_single(const struct linear_operator *A, struct linear_operator *S) {
    facet_status status = FACET_OK;
    const char *name = A->name != NULL ? A->name : "the operator";
    *S = (struct linear_operator){0};
    if (A->precision == F32) FAIL(FACET_ERROR_INPUT, "%s is in single precision already", name);
    if (A->to_single == NULL) FAIL(FACET_ERROR_INPUT, "%s has no single precision", name);
    TRY(A->to_single(A, S));
    S->seam = seam_hold(A->seam);
done:
    if (status != FACET_OK) operator_destroy(S);
    return status;
}

facet_status operator_round(struct linear_operator *A) {
    struct linear_operator single = {0};
    facet_status status = operator_create_single(A, &single);
    if (status != FACET_OK) return status;
    operator_destroy(A);
    *A = single;
    return FACET_OK;
}

/* ------------------------------------------------------------------------------ sums */

struct sum {
    int n;
    struct linear_operator *parts;
    struct vector t; /* where a part after the first cannot add */
};

static void sum_apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    const struct sum *sum = A->data;
    struct vector t = sum->t;
    if (sum->n == 0) vector_fill(y, 0.0);
    for (int i = 0; i < sum->n; i++) {
        const struct linear_operator *part = &sum->parts[i];
        if (i > 0 && part->add != NULL) {
            part->add(part, x, y);
            continue;
        }
        operator_apply(part, x, i > 0 ? &t : y);
        if (i > 0) vector_axpby(1.0, &t, 1.0, y);
    }
}

static void sum_free(struct linear_operator *A) {
    struct sum *sum = A->data;
    if (sum == NULL) return;
    for (int i = 0; i < sum->n; i++) operator_destroy(&sum->parts[i]);
    base_free(&sum->parts);
    vector_destroy(&sum->t);
    base_free(&A->data);
}

static facet_status sum_to_single(const struct linear_operator *A, struct linear_operator *S) {
    facet_status status = FACET_OK;
    const struct sum *sum = A->data;
    struct linear_operator *parts = NULL;
    TRY(CALLOC(parts, sum->n));
    for (int i = 0; i < sum->n; i++) TRY(operator_create_single(&sum->parts[i], &parts[i]));
    TRY(operator_create_sum(A->device, A->n, sum->n, parts, A->name, S));
    S->precision = F32;
done:
    for (int i = 0; i < sum->n && parts != NULL; i++) operator_destroy(&parts[i]);
    base_free(&parts);
    return status;
}

facet_status operator_create_sum(const struct device *device, int64_t n, int n_parts,
                                 struct linear_operator *parts, const char *name, struct linear_operator *A) {
    facet_status status = FACET_OK;
    struct sum *sum;
    *A = (struct linear_operator){.n = n,
                                  .device = device,
                                  .apply = sum_apply,
                                  .free = sum_free,
                                  .name = name,
                                  .to_single = sum_to_single};
    TRY(CALLOC(sum, 1));
    A->data = sum;
    TRY(ALLOC(sum->parts, n_parts));
    for (; sum->n < n_parts; sum->n++) {
        sum->parts[sum->n] = parts[sum->n];
        A->asymmetric |= parts[sum->n].asymmetric;
        parts[sum->n] = (struct linear_operator){0};
    }
    for (int i = 1; i < n_parts; i++)
        if (sum->parts[i].add == NULL && sum->t.n == 0) TRY(solve_vector_like(&sum->parts[i], &sum->t));
done:
    for (int i = 0; i < n_parts; i++) operator_destroy(&parts[i]);
    if (status != FACET_OK) operator_destroy(A);
    return status;
}

/* ------------------------------------------------------------------------------ matrices */

static void free_matrix(struct linear_operator *A) {
    struct device_matrix *matrix = A->data;
    if (matrix == NULL) return;
    device_free(A->device, &matrix->offsets);
    device_free(A->device, &matrix->starts);
    device_free(A->device, &matrix->columns);
    device_free(A->device, &matrix->values);
    base_free(&A->data);
}

static facet_status matrix_to_single(const struct linear_operator *A, struct linear_operator *S);

static facet_status begin(const struct device *device, int64_t n, const char *name,
                          void (*apply)(const struct linear_operator *, const struct vector *,
                                        struct vector *),
                          struct linear_operator *A, struct device_matrix **matrix) {
    *A = (struct linear_operator){.n = n,
                                  .device = device,
                                  .apply = apply,
                                  .free = free_matrix,
                                  .name = name,
                                  .to_single = matrix_to_single};
    facet_status status = CALLOC(*matrix, 1);
    A->data = *matrix;
    return status;
}

/* Rounds the numbers and copies the structure on the device. */
static facet_status matrix_to_single(const struct linear_operator *A, struct linear_operator *S) {
    facet_status status = FACET_OK;
    const struct device_matrix *from = A->data;
    const struct device *device = A->device;
    struct device_matrix *to;
    size_t n_offsets = (size_t)(from->starts != NULL ? from->n_blocks : A->n) + 1;
    TRY(begin(device, A->n, A->name, A->apply, S, &to));
    S->precision = F32;
    to->m = from->m;
    to->n_blocks = from->n_blocks;
    to->n_values = from->n_values;
    TRY(device_copy_rounded(device, F32, &to->values, from->values, from->n_values));
    if (from->offsets != NULL)
        TRY(device_duplicate(device, &to->offsets, from->offsets, n_offsets, sizeof *to->offsets));
    if (from->starts != NULL)
        TRY(device_duplicate(device, &to->starts, from->starts, n_offsets, sizeof *to->starts));
    if (from->columns != NULL)
        TRY(device_duplicate(device, &to->columns, from->columns, (size_t)from->n_values,
                             sizeof *to->columns));
done:
    return status;
}

static void csr_apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    const struct device_matrix *m = A->data;
    device_csr_apply(A->device, A->precision, A->n, m->offsets, m->columns, m->values, x->numbers,
                     y->numbers);
}

facet_status operator_create_csr(const struct device *device, const struct csr *csr,
                                 struct linear_operator *A) {
    facet_status status = FACET_OK;
    struct device_matrix *m;
    size_t nnz = (size_t)csr->offsets[csr->n];
    TRY(begin(device, csr->n, "the matrix in compressed rows", csr_apply, A, &m));
    A->asymmetric = csr->asymmetric;
    m->n_values = (int64_t)nnz;
    TRY(device_copy(device, &m->offsets, csr->offsets, (size_t)csr->n + 1, sizeof *m->offsets));
    TRY(device_copy(device, &m->columns, csr->columns, nnz, sizeof *m->columns));
    TRY(device_copy(device, &m->values, csr->values, nnz, sizeof *csr->values));
done:
    if (status != FACET_OK) operator_destroy(A);
    return status;
}

static void jacobi_apply(const struct linear_operator *M, const struct vector *x, struct vector *y) {
    const struct device_matrix *m = M->data;
    device_multiply(M->device, M->precision, M->n, m->values, x->numbers, y->numbers);
}

facet_status operator_create_diagonal(const struct device *device, int64_t n, const double *d,
                                      struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct device_matrix *m;
    TRY(begin(device, n, "the Jacobi preconditioner", jacobi_apply, M, &m));
    m->n_values = n;
    TRY(device_copy(device, &m->values, d, (size_t)n, sizeof *d));
done:
    if (status != FACET_OK) operator_destroy(M);
    return status;
}

facet_status operator_create_jacobi(const struct device *device, const struct csr *csr,
                                    struct linear_operator *M) {
    facet_status status = FACET_OK;
    double *inverse = NULL;
    *M = (struct linear_operator){0};
    TRY(CALLOC(inverse, csr->n));
    for (int64_t i = 0; i < csr->n; i++) {
        for (int64_t k = csr->offsets[i]; k < csr->offsets[i + 1]; k++)
            if (csr->columns[k] == i) inverse[i] = csr->values[k];
        if (!(inverse[i] > 0.0))
            FAIL(FACET_NOT_CONVERGED, "the matrix is not positive definite: diagonal entry %lld is %g",
                 (long long)i, inverse[i]);
        inverse[i] = 1.0 / inverse[i];
    }
    TRY(operator_create_diagonal(device, csr->n, inverse, M));
done:
    base_free(&inverse);
    return status;
}

static void block_jacobi_apply(const struct linear_operator *M, const struct vector *x, struct vector *y) {
    const struct device_matrix *m = M->data;
    if (m->m > 0)
        device_lane_smooth(M->device, M->precision, device_lanes(M->device), m->n_blocks, m->m, m->values,
                           1.0, 0.0, 0.0, x->numbers, NULL, NULL, y->numbers, NULL);
    else
        device_block_smooth(M->device, M->precision, m->n_blocks, m->offsets, m->starts, m->values, 1.0, 0.0,
                            0.0, x->numbers, NULL, NULL, y->numbers, NULL);
}

int operator_block_smooth(const struct linear_operator *D, double a, double b, double c,
                          const struct vector *f, const struct vector *t, struct vector *r, struct vector *d,
                          struct vector *x) {
    const struct device_matrix *m = D->data;
    const void *tn = t != NULL ? t->numbers : NULL;
    if (D->apply != block_jacobi_apply) return 0;
    if (m->m > 0)
        device_lane_smooth(D->device, D->precision, device_lanes(D->device), m->n_blocks, m->m, m->values, a,
                           b, c, f->numbers, tn, r->numbers, d->numbers, x->numbers);
    else
        device_block_smooth(D->device, D->precision, m->n_blocks, m->offsets, m->starts, m->values, a, b, c,
                            f->numbers, tn, r->numbers, d->numbers, x->numbers);
    return 1;
}

/* On a GPU few blocks, of which one may be a whole level, are work for many threads each. */
#define FEW_BLOCKS 512

int operator_equal_blocks(const struct device *device, int64_t n_blocks, const int64_t *block_offsets) {
    const int64_t m = n_blocks > 0 ? block_offsets[1] : 0;
    if (device_has_memory(device) && n_blocks < FEW_BLOCKS) return 0;
    if (m < device_least_rows(device) || m > KERNEL_LANE_ROWS || !device_has(device, "lane_smooth")) return 0;
    int equal = 1;
#pragma omp parallel for num_threads(base_threads_for(n_blocks)) schedule(static) reduction(& : equal)
    for (int64_t b = 0; b < n_blocks; b++) equal &= block_offsets[b + 1] - block_offsets[b] == m;
    return equal ? (int)m : 0;
}

/* The triangles of n_blocks matrices of m rows in lanes. */
static facet_status pack_blocks(const struct device *device, int64_t n_blocks, int m, const double *blocks,
                                struct device_matrix *matrix) {
    facet_status status = FACET_OK;
    const int lanes = device_lanes(device);
    const int64_t n_batches = (n_blocks + lanes - 1) / lanes, size = (int64_t)m * (m + 1) / 2;
    double *host = NULL;
    matrix->m = m;
    matrix->n_values = n_batches * size * lanes;
    TRY(ALLOC(host, matrix->n_values));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < n_batches; batch++)
        for (int lane = 0; lane < lanes; lane++) {
            const int64_t b = batch * lanes + lane;
            base_tell_at(b);
            double *to = host + batch * size * lanes + lane;
            for (int i = 0; i < m; i++)
                for (int j = 0; j <= i; j++, to += lanes)
                    *to = b < n_blocks ? blocks[(b * m + i) * m + j] : 0.0;
        }
    TRY(device_adopt(device, &matrix->values, &host, (size_t)matrix->n_values, sizeof *host));
done:
    base_free(&host);
    return status;
}

/* B (n x n) becomes its inverse. first: its first unknown. */
static facet_status invert_block(int64_t n, int64_t first, double *B) {
    if (n == 1 && B[0] > 0.0) {
        B[0] = 1.0 / B[0];
        return FACET_OK;
    }
    if (solve_invert(n, B)) return FACET_OK;
    return base_fail(FACET_NOT_CONVERGED, "the matrix is not positive definite: block of unknown %lld",
                     (long long)first);
}

/* B = the diagonal block of unknowns first .. first+n-1. */
static void extract_block(const struct csr *csr, int64_t first, int64_t n, double *B) {
    memset(B, 0, (size_t)(n * n) * sizeof *B);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = csr->offsets[first + i]; k < csr->offsets[first + i + 1]; k++)
            if (csr->columns[k] >= first && csr->columns[k] < first + n)
                B[i * n + csr->columns[k] - first] = csr->values[k];
}

facet_status operator_block_starts(int64_t n_blocks, const int64_t *block_offsets, int64_t **starts) {
    facet_status status = ALLOC(*starts, n_blocks + 1);
    if (status != FACET_OK) return status;
    (*starts)[0] = 0;
    for (int64_t b = 0; b < n_blocks; b++) {
        int64_t n = block_offsets[b + 1] - block_offsets[b];
        (*starts)[b + 1] = (*starts)[b] + n * n;
    }
    return FACET_OK;
}

facet_status operator_create_blocks(const struct device *device, int64_t n_blocks,
                                    const int64_t *block_offsets, double **all, struct linear_operator *M) {
    facet_status status = FACET_OK;
    double *blocks = *all;
    struct device_matrix *m;
    struct base_collector failures;
    int64_t *starts = NULL;
    base_collector_init(&failures);
    TRY(begin(device, block_offsets[n_blocks], "the block Jacobi preconditioner", block_jacobi_apply, M, &m));
    TRY(operator_block_starts(n_blocks, block_offsets, &starts));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t b = 0; b < n_blocks; b++)
        base_collect(
            &failures, b,
            invert_block(block_offsets[b + 1] - block_offsets[b], block_offsets[b], blocks + starts[b]));
    TRY(base_collected(&failures));
    m->n_blocks = n_blocks;
    m->n_values = starts[n_blocks];
    int size = operator_equal_blocks(device, n_blocks, block_offsets);
    if (size > 0) {
        TRY(pack_blocks(device, n_blocks, size, blocks, m));
        goto done;
    }
    TRY(device_copy(device, &m->offsets, block_offsets, (size_t)n_blocks + 1, sizeof *m->offsets));
    TRY(device_copy(device, &m->starts, starts, (size_t)n_blocks + 1, sizeof *m->starts));
    TRY(device_adopt(device, &m->values, all, (size_t)starts[n_blocks], sizeof *blocks));
done:
    base_free(&starts);
    if (status != FACET_OK) operator_destroy(M);
    return status;
}

facet_status operator_create_lane_blocks(const struct device *device, int64_t n_blocks, int m,
                                         double **blocks, struct linear_operator *M) {
    facet_status status = FACET_OK;
    const int lanes = device_lanes(device);
    struct device_matrix *matrix;
    TRY(begin(device, n_blocks * m, "the block Jacobi preconditioner", block_jacobi_apply, M, &matrix));
    int64_t failed = device_lane_invert(device, lanes, n_blocks, m, *blocks);
    if (failed >= 0)
        FAIL(FACET_NOT_CONVERGED, "the matrix is not positive definite: block of unknown %lld",
             (long long)(failed * m));
    matrix->m = m;
    matrix->n_blocks = n_blocks;
    matrix->n_values = (n_blocks + lanes - 1) / lanes * (m * (m + 1) / 2) * lanes;
    matrix->values = *blocks;
    *blocks = NULL;
done:
    if (status != FACET_OK) operator_destroy(M);
    return status;
}

facet_status operator_create_block_jacobi(const struct device *device, const struct csr *csr,
                                          int64_t n_blocks, const int64_t *block_offsets,
                                          struct linear_operator *M) {
    facet_status status = FACET_OK;
    double *blocks = NULL;
    int64_t *starts = NULL;
    *M = (struct linear_operator){0};
    TRY(solve_need_symmetric(csr->asymmetric, "the block Jacobi preconditioner"));
    TRY(operator_block_starts(n_blocks, block_offsets, &starts));
    TRY(ALLOC(blocks, starts[n_blocks]));
#pragma omp parallel for num_threads(base_threads_for(csr->offsets[csr->n])) schedule(static)
    for (int64_t b = 0; b < n_blocks; b++)
        extract_block(csr, block_offsets[b], block_offsets[b + 1] - block_offsets[b], blocks + starts[b]);
    TRY(operator_create_blocks(device, n_blocks, block_offsets, &blocks, M));
done:
    base_free(&starts);
    base_free(&blocks);
    return status;
}

facet_status solve_vector_like(const struct linear_operator *A, struct vector *v) {
    facet_status status = vector_create_in(A->device, A->precision, A->n, v);
    v->seam = A->seam;
    return status;
}
