/* Cholesky factorisation of a sparse matrix: CHOLMOD where the build has it, else a banded factor of LAPACK.
 *
 * Trace matrices are dense in blocks (the unknowns of one face), so the fill-reducing ordering is computed on
 * the much smaller graph of the blocks and expanded.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "solve/solve.h"

/* BLAS's own threads pay in a factorisation of many operations, if its fronts are large: operations for an
 * entry of the factor are the mean height of its columns. Below, they cost more in waiting for each other
 * than they gain (docs/pmg.md), and a factor does not wait for another's. In a solve with one right-hand side
 * they never pay. */
#define MANY_OPERATIONS 1e9
#define HIGH_COLUMNS    1e3

static int begin_wide(double operations, double entries) {
    return operations < fmax(MANY_OPERATIONS, HIGH_COLUMNS * entries) ? 1 : base_blas_begin_wide();
}

#ifdef FACET_HAVE_CHOLMOD

#    include <cholmod.h>
#    include <pthread.h>

/* Operations for an entry of the factor below which fronts are not worth their calls of the BLAS. */
#    define LOW_COLUMNS    100
#    define ANALYSIS_BYTES 48.0 /* of an entry: CHOLMOD's matrix, and what it permutes */

/* METIS draws from rand(), which belongs to the process, after setting it to its seed: two orderings at once
 * would not be those that each is alone. */
static pthread_mutex_t ordering = PTHREAD_MUTEX_INITIALIZER;

struct cholesky {
    cholmod_common common;
    cholmod_sparse *matrix; /* the upper triangle by columns: the lower one by rows */
    cholmod_factor *factor;
    int64_t n, pin;
    double operations;
};

/* OpenBLAS tells whether its threads are those of OpenMP; another BLAS may not have the call. */
extern int openblas_get_parallel(void) __attribute__((weak));
#    define OPENBLAS_OPENMP 2

static int blas_is_openmp(void) {
    return openblas_get_parallel != NULL && openblas_get_parallel() == OPENBLAS_OPENMP;
}

static facet_status cholmod_failure(struct cholesky *c, const char *what) {
    if (c->common.status == CHOLMOD_OUT_OF_MEMORY || c->common.status == CHOLMOD_TOO_LARGE)
        return base_fail(FACET_ERROR_MACHINE,
                         "out of memory in the %s of %lld unknowns; solver: {method: cg} needs less", what,
                         (long long)c->n);
    return base_fail(FACET_ERROR_MACHINE, "CHOLMOD failed in the %s (status %d)", what, c->common.status);
}

/* Keeps the entries with column <= row; the pinned row and column keep their diagonal only. */
static void fill_matrix(struct cholesky *c, const struct csr *csr, int values) {
    SuiteSparse_long *p = c->matrix->p, *rows = c->matrix->i, n = 0;
    double *x = c->matrix->x;
    for (int64_t i = 0; i < csr->n; i++) {
        p[i] = n;
        for (int64_t k = csr->offsets[i]; k < csr->offsets[i + 1]; k++) {
            int64_t j = csr->columns[k];
            if (j > i || (j != i && (i == c->pin || j == c->pin))) continue;
            rows[n] = j;
            if (values) x[n] = i == c->pin ? 1.0 : csr->values[k];
            n++;
        }
    }
    p[csr->n] = n;
}

/* The pattern of the blocks, as a matrix of one entry per pair of coupled blocks (upper triangle by columns).
 */
static facet_status block_pattern(struct cholesky *c, const struct csr *csr, int64_t n_blocks,
                                  const int64_t *offsets, cholmod_sparse **pattern) {
    facet_status status = FACET_OK;
    int32_t *block_of = NULL;
    int64_t n = 0, bound = 0;
    *pattern = NULL;
    TRY(ALLOC(block_of, csr->n));
    for (int64_t b = 0; b < n_blocks; b++) {
        for (int64_t i = offsets[b]; i < offsets[b + 1]; i++) block_of[i] = (int32_t)b;
        bound += csr->offsets[offsets[b] + 1] - csr->offsets[offsets[b]];
    }
    *pattern = cholmod_l_allocate_sparse((size_t)n_blocks, (size_t)n_blocks, (size_t)bound, 1, 1, 1,
                                         CHOLMOD_PATTERN, &c->common);
    if (*pattern == NULL) {
        status = cholmod_failure(c, "ordering");
        goto done;
    }
    SuiteSparse_long *p = (*pattern)->p, *rows = (*pattern)->i;
    for (int64_t b = 0; b < n_blocks;
         b++) { /* all rows of a block have the same pattern: look at the first */
        int64_t last = -1;
        p[b] = n;
        for (int64_t k = csr->offsets[offsets[b]]; k < csr->offsets[offsets[b] + 1]; k++) {
            int64_t other = block_of[csr->columns[k]];
            if (other == last || other > b) continue;
            rows[n++] = last = other;
        }
    }
    p[n_blocks] = n;
done:
    base_free(&block_of);
    return status;
}

/* permutation: the unknowns in the order of a good ordering of the blocks. */
static facet_status order_blocks(struct cholesky *c, const struct csr *csr, int64_t n_blocks,
                                 const int64_t *offsets, SuiteSparse_long *permutation) {
    facet_status status = FACET_OK;
    cholmod_sparse *pattern = NULL;
    cholmod_factor *factor = NULL;
    int64_t n = 0;
    TRY(block_pattern(c, csr, n_blocks, offsets, &pattern));
    pthread_mutex_lock(&ordering);
    factor = cholmod_l_analyze(pattern, &c->common);
    pthread_mutex_unlock(&ordering);
    if (factor == NULL) {
        status = cholmod_failure(c, "ordering");
        goto done;
    }
    const SuiteSparse_long *order = factor->Perm;
    for (int64_t b = 0; b < n_blocks; b++)
        for (int64_t i = offsets[order[b]]; i < offsets[order[b] + 1]; i++) permutation[n++] = i;
done:
    cholmod_l_free_factor(&factor, &c->common);
    cholmod_l_free_sparse(&pattern, &c->common);
    return status;
}

facet_status cholesky_analyze(const struct csr *csr, int64_t n_blocks, const int64_t *block_offsets,
                              int64_t pin, struct cholesky **cholesky, double *factor_bytes) {
    facet_status status = FACET_OK;
    SuiteSparse_long *permutation = NULL;
    struct cholesky *c;
    *cholesky = NULL;
    TRY(solve_need_symmetric(csr->asymmetric, "the factor of Cholesky"));
    TRY(CALLOC(*cholesky, 1));
    c = *cholesky;
    c->n = csr->n;
    c->pin = pin;
    cholmod_l_start(&c->common);
    c->common.print = 0;
    c->common.supernodal = CHOLMOD_AUTO;
    c->common.supernodal_switch = LOW_COLUMNS;
    c->common.final_ll = 1; /* the LDL' of small matrices would accept negative pivots */
    int64_t nnz = (csr->offsets[csr->n] + csr->n) / 2 + 1;
    TRY(base_check_memory(ANALYSIS_BYTES * (double)nnz, base_available_bytes(), "", "use {method: cg}",
                          "the analysis of the direct solve"));
    c->matrix = cholmod_l_allocate_sparse((size_t)csr->n, (size_t)csr->n, (size_t)nnz, 1, 1, 1, CHOLMOD_REAL,
                                          &c->common);
    if (c->matrix == NULL) {
        status = cholmod_failure(c, "analysis");
        goto done;
    }
    fill_matrix(c, csr, 0);
    TRY(ALLOC(permutation, csr->n));
    TRY(order_blocks(c, csr, n_blocks, block_offsets, permutation));
    c->common.nmethods = 1;
    c->common.method[0].ordering = CHOLMOD_GIVEN;
    c->common.postorder = 1;
    c->factor = cholmod_l_analyze_p(c->matrix, permutation, NULL, 0, &c->common);
    if (c->factor == NULL) {
        status = cholmod_failure(c, "analysis");
        goto done;
    }
    *factor_bytes = 8.0 * c->common.lnz;
    c->operations = c->common.fl;
done:
    base_free(&permutation);
    if (status != FACET_OK) cholesky_destroy(cholesky);
    return status;
}

double cholesky_operations(const struct cholesky *c) {
    return c->operations;
}

/* Factors what fill_matrix has copied. */
static facet_status factor_matrix(struct cholesky *c) {
    int levels = omp_get_max_active_levels(), threads = begin_wide(c->operations, c->common.lnz);
    /* CHOLMOD has loops of its own between its calls of the BLAS, of four threads whatever is said, unless
     * none may be; and threads that wait for the next loop hold the processors that those of the BLAS want.
     */
    if (threads == 1 || !blas_is_openmp()) omp_set_max_active_levels(0);
    int done = cholmod_l_factorize(c->matrix, c->factor, &c->common);
    omp_set_max_active_levels(levels);
    base_blas_end_wide(threads);
    if (!done) return cholmod_failure(c, "factorisation");
    if (c->common.status == CHOLMOD_NOT_POSDEF)
        return base_fail(FACET_NOT_CONVERGED,
                         "the matrix is not positive definite (Cholesky, column %lld of %lld)",
                         (long long)c->factor->minor, (long long)c->n);
    return FACET_OK;
}

facet_status cholesky_factor(struct cholesky *c, const struct csr *csr) {
    fill_matrix(c, csr, 1);
    return factor_matrix(c);
}

facet_status cholesky_factor_last(struct cholesky *c, struct csr *csr) {
    fill_matrix(c, csr, 1);
    csr_destroy(csr);
    facet_status status = factor_matrix(c);
    cholmod_l_free_sparse(&c->matrix, &c->common);
    return status;
}

facet_status cholesky_solve(struct cholesky *c, const double *b, double *x) {
    cholmod_dense rhs = {.nrow = (size_t)c->n,
                         .ncol = 1,
                         .nzmax = (size_t)c->n,
                         .d = (size_t)c->n,
                         .xtype = CHOLMOD_REAL,
                         .dtype = CHOLMOD_DOUBLE};
    memcpy(x, b, (size_t)c->n * sizeof *x);
    if (c->pin >= 0) x[c->pin] = 0.0;
    rhs.x = x;
    cholmod_dense *solution = cholmod_l_solve(CHOLMOD_A, c->factor, &rhs, &c->common);
    if (solution == NULL) return cholmod_failure(c, "solve");
    memcpy(x, solution->x, (size_t)c->n * sizeof *x);
    cholmod_l_free_dense(&solution, &c->common);
    return FACET_OK;
}

void cholesky_destroy(struct cholesky **cholesky) {
    struct cholesky *c = *cholesky;
    if (c == NULL) return;
    cholmod_l_free_factor(&c->factor, &c->common);
    cholmod_l_free_sparse(&c->matrix, &c->common);
    cholmod_l_finish(&c->common);
    base_free(cholesky);
}

int64_t cholesky_reasonable_size(void) {
    return INT32_MAX;
}

#    define TEXT_(x) #    x
#    define TEXT(x)  TEXT_(x)
const char *cholesky_library(void) {
    return "CHOLMOD " TEXT(CHOLMOD_MAIN_VERSION) "." TEXT(CHOLMOD_SUB_VERSION) "." TEXT(
        CHOLMOD_SUBSUB_VERSION);
}

#else

#    include <lapacke.h>

/* In the reverse order of Cuthill and McKee the matrix has a narrow band, which is all that is kept. */
struct cholesky {
    int64_t n, pin, band; /* entries below the diagonal */
    int64_t *place;       /* of an unknown in the band */
    double *L;            /* (band + 1) x n by columns, the diagonal first */
    double *work;         /* n */
};

static int64_t degree_of(const struct csr *csr, int64_t i) {
    return csr->offsets[i + 1] - csr->offsets[i];
}

/* Breadth first from `start`, neighbours by their degrees; the unknowns reached go to `order`, their number
 * is returned. seen: marks those reached with `mark`. */
static int64_t walk(const struct csr *csr, int64_t pin, int64_t start, int mark, int *seen, int64_t *order) {
    int64_t n = 1;
    order[0] = start;
    seen[start] = mark;
    for (int64_t at = 0; at < n; at++) {
        int64_t first = n, i = order[at];
        for (int64_t k = csr->offsets[i]; k < csr->offsets[i + 1]; k++) {
            int64_t j = csr->columns[k];
            if (seen[j] == mark || i == pin || j == pin) continue;
            seen[j] = mark;
            int64_t to = n++;
            for (; to > first && degree_of(csr, order[to - 1]) > degree_of(csr, j); to--)
                order[to] = order[to - 1];
            order[to] = j;
        }
    }
    return n;
}

/* Every piece is walked from an end of a longest way through it, which two walks find well enough. */
static facet_status find_band(struct cholesky *c, const struct csr *csr) {
    facet_status status = FACET_OK;
    int *seen = NULL;
    int64_t *order = NULL, n = 0;
    TRY(CALLOC(seen, c->n));
    TRY(ALLOC(order, c->n));
    for (int64_t i = 0; i < c->n; i++) {
        if (seen[i] != 0) continue;
        int64_t length = walk(csr, c->pin, i, 1, seen, order + n);
        walk(csr, c->pin, order[n + length - 1], 2, seen, order + n);
        n += walk(csr, c->pin, order[n + length - 1], 3, seen, order + n);
    }
    for (int64_t i = 0; i < c->n; i++) c->place[order[i]] = c->n - 1 - i;
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t k = csr->offsets[i]; k < csr->offsets[i + 1]; k++) {
            int64_t j = csr->columns[k], width = c->place[i] - c->place[j];
            if (i != c->pin && j != c->pin && width > c->band) c->band = width;
        }
done:
    base_free(&seen);
    base_free(&order);
    return status;
}

facet_status cholesky_analyze(const struct csr *csr, int64_t n_blocks, const int64_t *block_offsets,
                              int64_t pin, struct cholesky **cholesky, double *factor_bytes) {
    facet_status status = FACET_OK;
    (void)n_blocks;
    (void)block_offsets;
    *cholesky = NULL;
    TRY(solve_need_symmetric(csr->asymmetric, "the factor of Cholesky"));
    TRY(CALLOC(*cholesky, 1));
    (*cholesky)->n = csr->n;
    (*cholesky)->pin = pin;
    TRY(ALLOC((*cholesky)->place, csr->n));
    TRY(ALLOC((*cholesky)->work, csr->n));
    TRY(find_band(*cholesky, csr));
    *factor_bytes = 8.0 * (double)csr->n * (double)((*cholesky)->band + 1);
done:
    if (status != FACET_OK) cholesky_destroy(cholesky);
    return status;
}

double cholesky_operations(const struct cholesky *c) {
    return (double)c->n * (double)c->band * (double)c->band;
}

facet_status cholesky_factor(struct cholesky *c, const struct csr *csr) {
    int64_t n = c->n, rows = c->band + 1;
    base_free(&c->L);
    facet_status status = CALLOC(c->L, n * rows);
    if (status != FACET_OK) return status;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = csr->offsets[i]; k < csr->offsets[i + 1]; k++) {
            int64_t row = c->place[i], column = c->place[csr->columns[k]];
            if (column <= row && i != c->pin && csr->columns[k] != c->pin)
                c->L[row - column + column * rows] = csr->values[k];
        }
    if (c->pin >= 0) c->L[c->place[c->pin] * rows] = 1.0;
    int threads = begin_wide(cholesky_operations(c), (double)(n * rows));
    int info = LAPACKE_dpbtrf_work(LAPACK_COL_MAJOR, 'L', (int)n, (int)c->band, c->L, (int)rows);
    base_blas_end_wide(threads);
    if (info == 0) return FACET_OK;
    return base_fail(FACET_NOT_CONVERGED, "the matrix is not positive definite (Cholesky, column %d of %lld)",
                     info, (long long)n);
}

facet_status cholesky_factor_last(struct cholesky *c, struct csr *csr) {
    facet_status status = cholesky_factor(c, csr);
    csr_destroy(csr);
    return status;
}

facet_status cholesky_solve(struct cholesky *c, const double *b, double *x) {
    int rows = (int)c->band + 1, info;
    for (int64_t i = 0; i < c->n; i++) c->work[c->place[i]] = i == c->pin ? 0.0 : b[i];
    info = LAPACKE_dpbtrs_work(LAPACK_COL_MAJOR, 'L', (int)c->n, rows - 1, 1, c->L, rows, c->work, (int)c->n);
    for (int64_t i = 0; i < c->n; i++) x[i] = c->work[c->place[i]];
    if (info != 0)
        return base_fail(FACET_ERROR_MACHINE, "LAPACK failed in the solve of %lld unknowns", (long long)c->n);
    return FACET_OK;
}

void cholesky_destroy(struct cholesky **cholesky) {
    if (*cholesky == NULL) return;
    base_free(&(*cholesky)->place);
    base_free(&(*cholesky)->work);
    base_free(&(*cholesky)->L);
    base_free(cholesky);
}

int64_t cholesky_reasonable_size(void) {
    return 10000;
}

const char *cholesky_library(void) {
    return "LAPACK (banded)";
}

#endif

/* ------------------------------------------------------------------------------ as an operator */

static facet_status solve_on_host(void *cholesky, const double *b, double *x) {
    return cholesky_solve(cholesky, b, x);
}

static void release(void **cholesky) {
    struct cholesky *c = *cholesky;
    cholesky_destroy(&c);
}

facet_status operator_create_cholesky(const struct device *device, int64_t n, struct cholesky **cholesky,
                                      struct linear_operator *M) {
    struct cholesky *c = *cholesky;
    *cholesky = NULL;
    return operator_create_host(device, n, "the Cholesky factor", solve_on_host, c, release, M);
}
