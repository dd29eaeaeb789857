/* The rival of the local solvers on a GPU: cusolverDnDpotrfBatched, cublasDtrsmBatched and
 * cublasDgemmStridedBatched, one after the other over all cells, from matrices that are already there. What
 * assembles them, restores the sums of rows and turns faces is not counted, in the rival's favour. */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "bench/batched.h"

#define REPEATS 4

/* From cublas_api.h and cusolverDn.h. */
enum { SIDE_LEFT = 0, FILL_UPPER = 1, PLAIN = 0, TRANSPOSED = 1, NOT_UNIT = 0 };

struct libraries {
    void *cublas, *cusolver, *blas, *solver; /* the libraries, their handles */
    int (*blas_create)(void **), (*blas_destroy)(void *), (*solver_create)(void **),
        (*solver_destroy)(void *);
    int (*potrf)(void *, int, int, double **, int, int *, int);
    int (*trsm)(void *, int, int, int, int, int, int, const double *, const double *const *, int,
                double *const *, int, int);
    int (*gemm)(void *, int, int, int, int, int, const double *, const double *, int, long long int,
                const double *, int, long long int, const double *, double *, int, long long int, int);
};

struct batch {
    struct libraries l;
    const struct device *device;
    int N, n, count;
    double *S, *R, *K, *first_S, *first_R; /* first_..: as they were */
    double **at_S, **at_R;
    int *info;
};

static void *open_one(const char *const *names) {
    void *library = NULL;
    for (int i = 0; names[i] != NULL && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* A pointer to a function out of one to an object, as POSIX has it. */
static int find(void *library, const char *name, void *function) {
    void *there = dlsym(library, name);
    memcpy(function, &there, sizeof there);
    return there != NULL;
}

static int libraries_open(struct libraries *l) {
    static const char *const blas[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so", NULL};
    static const char *const solver[] = {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so", NULL};
    *l = (struct libraries){.cublas = open_one(blas), .cusolver = open_one(solver)};
    if (l->cublas == NULL || l->cusolver == NULL) return 0;
    return find(l->cublas, "cublasCreate_v2", &l->blas_create) &&
           find(l->cublas, "cublasDestroy_v2", &l->blas_destroy) &&
           find(l->cublas, "cublasDtrsmBatched", &l->trsm) &&
           find(l->cublas, "cublasDgemmStridedBatched", &l->gemm) &&
           find(l->cusolver, "cusolverDnCreate", &l->solver_create) &&
           find(l->cusolver, "cusolverDnDestroy", &l->solver_destroy) &&
           find(l->cusolver, "cusolverDnDpotrfBatched", &l->potrf) && l->blas_create(&l->blas) == 0 &&
           l->solver_create(&l->solver) == 0;
}

static void libraries_close(struct libraries *l) {
    if (l->blas != NULL) l->blas_destroy(l->blas);
    if (l->solver != NULL) l->solver_destroy(l->solver);
    if (l->cublas != NULL) dlclose(l->cublas);
    if (l->cusolver != NULL) dlclose(l->cusolver);
}

static void batch_destroy(struct batch *b) {
    double **arrays[] = {&b->S, &b->R, &b->K, &b->first_S, &b->first_R};
    for (int i = 0; i < 5; i++) device_free(b->device, arrays[i]);
    device_free(b->device, &b->at_S);
    device_free(b->device, &b->at_R);
    device_free(b->device, &b->info);
    libraries_close(&b->l);
}

/* `count` copies of a matrix in memory of the device: of the first, of the first two, .. */
static facet_status repeat(const struct device *device, const double *matrix, size_t size, int count,
                           double **to) {
    facet_status status = FACET_OK;
    double *one = NULL;
    const size_t all = size * (size_t)count;
    TRY(device_copy(device, &one, matrix, size, sizeof *one));
    TRY(device_alloc(device, to, all, sizeof **to));
    device_move(device, *to, one, size * sizeof *one);
    for (size_t there = size; there < all; there *= 2)
        device_move(device, *to + there, *to, (all - there < there ? all - there : there) * sizeof *one);
done:
    device_free(device, &one);
    return status;
}

static facet_status pointers(const struct batch *b, double *first, size_t size, double ***to) {
    facet_status status = FACET_OK;
    double **host = NULL;
    TRY(ALLOC(host, b->count));
    for (int i = 0; i < b->count; i++) host[i] = first + size * (size_t)i;
    TRY(device_copy(b->device, to, host, (size_t)b->count, sizeof *host));
done:
    base_free(&host);
    return status;
}

static facet_status batch_create(struct batch *b) {
    facet_status status = FACET_OK;
    const size_t N = (size_t)b->N, n = (size_t)b->n, count = (size_t)b->count;
    double *S = NULL, *R = NULL;
    TRY(ALLOC(S, N * N));
    TRY(ALLOC(R, N * n));
    for (size_t i = 0; i < N * N; i++) S[i] = i % (N + 1) == 0 ? 2.0 * (double)N : 1.0;
    for (size_t i = 0; i < N * n; i++) R[i] = sin((double)i);
    TRY(repeat(b->device, S, N * N, b->count, &b->first_S));
    TRY(repeat(b->device, R, N * n, b->count, &b->first_R));
    TRY(device_alloc(b->device, &b->S, N * N * count, sizeof *b->S));
    TRY(device_alloc(b->device, &b->R, N * n * count, sizeof *b->R));
    TRY(device_alloc(b->device, &b->K, n * n * count, sizeof *b->K));
    TRY(device_alloc(b->device, &b->info, count, sizeof *b->info));
    TRY(pointers(b, b->S, N * N, &b->at_S));
    TRY(pointers(b, b->R, N * n, &b->at_R));
    device_fill(b->device, F64, (int64_t)(n * n * count), 1.0, b->K);
done:
    base_free(&S);
    base_free(&R);
    return status;
}

/* Columns follow each other: S = U'U, R = U^-T R, K = K - R'R. */
static int run(const struct batch *b) {
    const struct libraries *l = &b->l;
    const double one = 1.0, minus = -1.0;
    const int N = b->N, n = b->n;
    return l->potrf(l->solver, FILL_UPPER, N, b->at_S, N, b->info, b->count) == 0 &&
           l->trsm(l->blas, SIDE_LEFT, FILL_UPPER, TRANSPOSED, NOT_UNIT, N, n, &one,
                   (const double *const *)b->at_S, N, (double *const *)b->at_R, N, b->count) == 0 &&
           l->gemm(l->blas, TRANSPOSED, PLAIN, n, n, N, &minus, b->R, N, (long long)N * n, b->R, N,
                   (long long)N * n, &one, b->K, n, (long long)n * n, b->count) == 0;
}

facet_status batched_seconds(const struct device *device, int N, int n, int count, double *seconds) {
    facet_status status = FACET_OK;
    struct batch b = {.device = device, .N = N, .n = n, .count = count};
    *seconds = 0.0;
    if (strcmp(device_name(device), "cuda") != 0 || !libraries_open(&b.l)) goto done;
    TRY(batch_create(&b));
    for (int i = 0; i <= REPEATS; i++) {
        device_move(device, b.S, b.first_S, (size_t)count * (size_t)N * (size_t)N * sizeof *b.S);
        device_move(device, b.R, b.first_R, (size_t)count * (size_t)N * (size_t)n * sizeof *b.R);
        TRY(device_check(device)); /* waits */
        const double begin = base_seconds();
        if (!run(&b)) FAIL(FACET_ERROR_MACHINE, "cuBLAS or cuSOLVER refused a batch of %d cells", count);
        TRY(device_check(device));
        const double now = base_seconds() - begin;
        if (i > 0) *seconds = i == 1 ? now : fmin(*seconds, now);
    }
done:
    batch_destroy(&b);
    return status;
}
