/* The factored sparse approximate inverse. See fsai.h.
 *
 * Row i of G over the pattern P solves A_PP y = e_i, g = y / sqrt(y_i). With the Cholesky factor of A_PP, i
 * being the last of P, that is the last row of its inverse. So the unknowns of a block share one pattern,
 *
 *     A_TT = L L',   T = (columns, the block's own unknowns),   rows of G = last rows of L^-1,
 *
 * row i of the block being cut off after i, which a triangular matrix does by itself.
 *
 * Growth. The Kaporin number of G A G', whose diagonal is 1, is the product of the psi_i = g_i A g_i' before
 * they are scaled. A new column j of the block reduces the logarithm of its part of this product by about
 *
 *     sum over the rows of the block of (A g_i)_j^2 / A_jj,
 *
 * which is the gradient of Janna and Ferronato's adaptive patterns for a whole block at once. As the sum is
 * that of all rows, candidates of all blocks compete with each other: those above one threshold come in, in
 * a few rounds, since a column that has come in changes the gradients of the others.
 */
#include "solve/fsai.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "solve/multigrid.h"

#define ROUNDS 3
/* Candidates whose part of the functional is less than this are not worth a number. */
#define NOTHING 1e-14
/* Of fsai_ratio, fitted. */
#define RATIO_DECAY 2.0

double fsai_ratio(const struct fsai_options *options) {
    return 2.4 + 1.6 * exp(-RATIO_DECAY * (options->fill - 1.0));
}

/* The columns of every block before its own unknowns, ascending. */
struct pattern {
    int64_t n_blocks;
    const int64_t *first; /* n_blocks + 1 */
    int64_t *offsets;     /* n_blocks + 1 */
    int32_t *columns;
};

/* What may come into the blocks begin .. end-1. */
struct candidates {
    int64_t begin, end, n, room;
    int64_t *offsets; /* end - begin + 1 */
    int32_t *columns;
    float *gains; /* for each number that the column costs */
};

/* Of one thread. */
struct work {
    int64_t capacity, room, n_found;
    int64_t *place; /* n: where an unknown stands in T, then in found; -1: nowhere */
    int32_t *T, *found;
    double *L;    /* capacity x capacity, by columns */
    double *rows; /* of G: capacity x m, the rows of a column next to each other */
    double *sums; /* A g of what was found: room, n_found x m of it in use */
};

static void pattern_destroy(struct pattern *p) {
    base_free(&p->offsets);
    base_free(&p->columns);
}

static void candidates_destroy(struct candidates *c) {
    base_free(&c->offsets);
    base_free(&c->columns);
    base_free(&c->gains);
}

static void work_destroy(struct work *w) {
    base_free(&w->place);
    base_free(&w->T);
    base_free(&w->found);
    base_free(&w->L);
    base_free(&w->rows);
    base_free(&w->sums);
}

static int64_t block_size(const struct pattern *p, int64_t b) {
    return p->first[b + 1] - p->first[b];
}

/* Columns of the block before its own unknowns. */
static int64_t pattern_size(const struct pattern *p, int64_t b) {
    return p->offsets[b + 1] - p->offsets[b];
}

/* Numbers of G. */
static int64_t pattern_entries(const struct pattern *p) {
    int64_t n = 0;
    for (int64_t b = 0; b < p->n_blocks; b++) {
        int64_t m = block_size(p, b);
        n += m * pattern_size(p, b) + m * (m + 1) / 2;
    }
    return n;
}

/* ------------------------------------------------------------------------------ the pattern of A */

/* The columns of the lower triangle of a block's rows; NULL to count only. */
static int64_t lower_columns(const struct csr *A, const struct pattern *p, int64_t b, int64_t *stamp,
                             int64_t mark, int32_t *columns) {
    int64_t n = 0;
    for (int64_t k = A->offsets[p->first[b]]; k < A->offsets[p->first[b + 1]]; k++) {
        int32_t j = A->columns[k];
        if (j >= p->first[b] || stamp[j] == mark) continue;
        stamp[j] = mark;
        if (columns != NULL) columns[n] = j;
        n++;
    }
    return n;
}

static facet_status pattern_of_matrix(const struct csr *A, struct pattern *p) {
    facet_status status = FACET_OK;
    int n_threads = base_threads();
    int64_t *stamps = NULL;
    TRY(CALLOC(stamps, n_threads * A->n));
    TRY(ALLOC(p->offsets, p->n_blocks + 1));
    p->offsets[0] = 0;
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t b = 0; b < p->n_blocks; b++)
        p->offsets[b + 1] = lower_columns(A, p, b, stamps + omp_get_thread_num() * A->n, b + 1, NULL);
    for (int64_t b = 0; b < p->n_blocks; b++) p->offsets[b + 1] += p->offsets[b];
    TRY(ALLOC(p->columns, p->offsets[p->n_blocks]));
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t b = 0; b < p->n_blocks; b++) {
        int32_t *columns = p->columns + p->offsets[b];
        lower_columns(A, p, b, stamps + omp_get_thread_num() * A->n, -1 - b, columns);
        base_sort(pattern_size(p, b), columns);
    }
done:
    base_free(&stamps);
    return status;
}

/* ------------------------------------------------------------------------------ rows of one block */

static facet_status work_create(const struct csr *A, const struct pattern *p, struct work *w) {
    facet_status status = FACET_OK;
    int64_t largest = 0;
    for (int64_t b = 0; b < p->n_blocks; b++) {
        int64_t size = pattern_size(p, b) + block_size(p, b);
        if (size > w->capacity) w->capacity = size;
        if (block_size(p, b) > largest) largest = block_size(p, b);
    }
    TRY(ALLOC(w->place, A->n));
    for (int64_t i = 0; i < A->n; i++) w->place[i] = -1;
    TRY(ALLOC(w->T, w->capacity));
    TRY(ALLOC(w->L, w->capacity * w->capacity));
    TRY(ALLOC(w->rows, w->capacity * largest));
done:
    return status;
}

/* T and its places; their number. */
static int64_t enter(const struct pattern *p, int64_t b, struct work *w) {
    int64_t n = pattern_size(p, b), m = block_size(p, b);
    if (n > 0) memcpy(w->T, p->columns + p->offsets[b], (size_t)n * sizeof *w->T);
    for (int64_t i = 0; i < m; i++) w->T[n + i] = (int32_t)(p->first[b] + i);
    for (int64_t i = 0; i < n + m; i++) w->place[w->T[i]] = i;
    return n + m;
}

static void leave(int64_t size, struct work *w) {
    for (int64_t i = 0; i < size; i++) w->place[w->T[i]] = -1;
}

/* A row whose leading minor is not positive: the first diagonal entry of the factor that is not. */
static facet_status indefinite(const struct work *w, int64_t size, int info) {
    int64_t i = 0;
    while (i < size && w->L[i * size + i] > 0.0) i++;
    if (info > 0) i = info - 1;
    return base_fail(FACET_NOT_CONVERGED, "the matrix is not positive definite: row %lld",
                     (long long)w->T[i < size ? i : size - 1]);
}

/* w->rows = the rows of G that belong to block b, `size` being that of T, which was entered. */
static facet_status solve_rows(const struct csr *A, int64_t size, int64_t m, struct work *w) {
    int64_t n = size - m;
    double *L = w->L;
    if (m == 0) return FACET_OK;
    memset(L, 0, (size_t)(size * size) * sizeof *L);
    for (int64_t i = 0; i < size; i++)
        for (int64_t k = A->offsets[w->T[i]]; k < A->offsets[w->T[i] + 1]; k++) {
            int64_t j = w->place[A->columns[k]];
            if (j >= i) L[i * size + j] = A->values[k];
        }
    int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)size, L, (int)size);
    if (info != 0) return indefinite(w, size, info);
    /* X L = (0, I) from the last columns to the first; rows of X are kept as the columns of an m x size array
     */
    memset(w->rows, 0, (size_t)(size * m) * sizeof *w->rows);
    for (int64_t i = 0; i < m; i++) w->rows[(n + i) * m + i] = 1.0;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)size, 1.0, L,
                (int)size, w->rows, (int)m);
    double sum = 0.0;
    for (int64_t i = 0; i < size * m; i++) sum += w->rows[i];
    return isfinite(sum) ? FACET_OK : indefinite(w, size, 0);
}

/* ------------------------------------------------------------------------------ growth */

/* A g of the unknowns before `first` that are not in T. */
static facet_status find_candidates(const struct csr *A, int64_t first, int64_t size, int64_t m,
                                    struct work *w) {
    facet_status status = FACET_OK;
    w->n_found = 0;
    for (int64_t i = 0; i < size; i++)
        for (int64_t k = A->offsets[w->T[i]]; k < A->offsets[w->T[i] + 1]; k++) {
            int32_t j = A->columns[k];
            if (j >= first || A->values[k] == 0.0) continue;
            if (w->place[j] < 0) {
                if ((w->n_found + 1) * m > w->room) {
                    int64_t more = 2 * w->room + 64 * m;
                    TRY(base_realloc(&w->sums, (size_t)more, sizeof *w->sums));
                    w->room = more;
                }
                memset(w->sums + w->n_found * m, 0, (size_t)m * sizeof *w->sums);
                w->found[w->n_found] = j;
                w->place[j] = size + w->n_found++;
            }
            if (w->place[j] < size) continue;
            double *to = w->sums + (w->place[j] - size) * m;
            for (int64_t r = 0; r < m; r++) to[r] += A->values[k] * w->rows[i * m + r];
        }
done:
    for (int64_t i = 0; i < w->n_found; i++) w->place[w->found[i]] = -1;
    return status;
}

static facet_status keep_candidates(int64_t m, const double *diagonal, const struct work *w,
                                    struct candidates *c) {
    facet_status status = FACET_OK;
    if (c->n + w->n_found > c->room) {
        int64_t room = 2 * c->room + w->n_found;
        TRY(base_realloc(&c->columns, (size_t)room, sizeof *c->columns));
        TRY(base_realloc(&c->gains, (size_t)room, sizeof *c->gains));
        c->room = room;
    }
    for (int64_t k = 0; k < w->n_found; k++) {
        double sum = 0.0;
        for (int64_t r = 0; r < m; r++) sum += w->sums[k * m + r] * w->sums[k * m + r];
        double gain = sum / (diagonal[w->found[k]] * (double)m);
        if (!(gain > NOTHING)) continue;
        c->columns[c->n] = w->found[k];
        c->gains[c->n++] = (float)gain;
    }
done:
    return status;
}

/* The candidates of the blocks of one thread. */
static facet_status examine(const struct csr *A, const struct pattern *p, const double *diagonal,
                            struct candidates *c) {
    facet_status status = FACET_OK;
    struct work w = {0};
    int64_t b = c->begin;
    TRY(ALLOC(c->offsets, c->end - c->begin + 1));
    TRY(work_create(A, p, &w));
    TRY(ALLOC(w.found, A->n));
    for (; b < c->end; b++) {
        int64_t m = block_size(p, b), size = enter(p, b, &w);
        c->offsets[b - c->begin] = c->n;
        TRY(solve_rows(A, size, m, &w));
        TRY(find_candidates(A, p->first[b], size, m, &w));
        TRY(keep_candidates(m, diagonal, &w, c));
        leave(size, &w);
    }
    c->offsets[b - c->begin] = c->n;
done:
    work_destroy(&w);
    return status;
}

/* Numbers of G that all candidates of at least this gain would cost. */
static int64_t cost(const struct pattern *p, int n_parts, const struct candidates *parts, float least) {
    int64_t total = 0;
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(+ : total)
    for (int t = 0; t < n_parts; t++)
        for (int64_t b = parts[t].begin; b < parts[t].end; b++) {
            int64_t count = 0, at = b - parts[t].begin;
            for (int64_t k = parts[t].offsets[at]; k < parts[t].offsets[at + 1]; k++)
                count += parts[t].gains[k] >= least;
            total += count * block_size(p, b);
        }
    return total;
}

/* The smallest gain for which the candidates fit into the budget: positive floats are ordered as their bits
 * are. */
static float find_threshold(const struct pattern *p, int n_parts, const struct candidates *parts,
                            int64_t budget) {
    uint32_t low = 0, high = 0x7f800000u; /* 0 and infinity */
    float value = 0.0f;
    if (cost(p, n_parts, parts, value) <= budget) return value;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        memcpy(&value, &middle, sizeof value);
        if (cost(p, n_parts, parts, value) <= budget)
            high = middle;
        else
            low = middle;
    }
    memcpy(&value, &high, sizeof value);
    return value;
}

/* The pattern with the candidates of at least this gain. */
static facet_status extend(struct pattern *p, int n_parts, const struct candidates *parts, float least) {
    facet_status status = FACET_OK;
    int64_t *offsets = NULL, n = 0;
    int32_t *columns = NULL;
    for (int t = 0; t < n_parts; t++)
        for (int64_t k = 0; k < parts[t].n; k++) n += parts[t].gains[k] >= least;
    TRY(ALLOC(offsets, p->n_blocks + 1));
    TRY(ALLOC(columns, p->offsets[p->n_blocks] + n));
    offsets[0] = 0;
    for (int t = 0; t < n_parts; t++)
        for (int64_t b = parts[t].begin; b < parts[t].end; b++) {
            int64_t at = offsets[b], old = pattern_size(p, b), from = b - parts[t].begin;
            if (old > 0) memcpy(columns + at, p->columns + p->offsets[b], (size_t)old * sizeof *columns);
            at += old;
            for (int64_t k = parts[t].offsets[from]; k < parts[t].offsets[from + 1]; k++)
                if (parts[t].gains[k] >= least) columns[at++] = parts[t].columns[k];
            base_sort(at - offsets[b], columns + offsets[b]);
            offsets[b + 1] = at;
        }
    pattern_destroy(p);
    p->offsets = offsets;
    p->columns = columns;
    offsets = NULL;
    columns = NULL;
done:
    base_free(&offsets);
    base_free(&columns);
    return status;
}

/* One round: at most `budget` more numbers. */
static facet_status grow(const struct csr *A, const double *diagonal, int64_t budget, struct pattern *p) {
    facet_status status = FACET_OK;
    struct base_collector failures;
    struct candidates *parts = NULL;
    int n_parts = base_threads();
    base_collector_init(&failures);
    TRY(CALLOC(parts, n_parts));
#pragma omp parallel for num_threads(n_parts) schedule(static, 1)
    for (int t = 0; t < n_parts; t++) {
        parts[t].begin = p->n_blocks * t / n_parts;
        parts[t].end = p->n_blocks * (t + 1) / n_parts;
        base_collect(&failures, t, examine(A, p, diagonal, &parts[t]));
    }
    TRY(base_collected(&failures));
    TRY(extend(p, n_parts, parts, find_threshold(p, n_parts, parts, budget)));
done:
    for (int t = 0; t < n_parts && parts != NULL; t++) candidates_destroy(&parts[t]);
    base_free(&parts);
    return status;
}

static facet_status grow_to(const struct csr *A, double wanted, struct pattern *p) {
    facet_status status = FACET_OK;
    double *diagonal = NULL;
    TRY(CALLOC(diagonal, A->n));
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++)
            if (A->columns[k] == i) diagonal[i] = A->values[k];
    for (int round = 0; round < ROUNDS; round++) {
        double missing = wanted - (double)pattern_entries(p);
        if (missing < 1.0) break;
        TRY(grow(A, diagonal, (int64_t)(missing / (ROUNDS - round)), p));
    }
done:
    base_free(&diagonal);
    return status;
}

/* ------------------------------------------------------------------------------ G and its operator */

/* Row i of G: the columns of its block, then those of the block up to i. */
static void store_rows(const struct pattern *p, int64_t b, const struct work *w, struct mg_transfer *G) {
    int64_t n = pattern_size(p, b), m = block_size(p, b);
    for (int64_t i = 0; i < m; i++) {
        int64_t at = G->offsets[p->first[b] + i];
        for (int64_t j = 0; j <= n + i; j++) {
            G->columns[at + j] = w->T[j];
            G->values[at + j] = w->rows[j * m + i];
        }
    }
}

static facet_status fill_part(const struct csr *A, const struct pattern *p, int64_t begin, int64_t end,
                              struct mg_transfer *G) {
    facet_status status = FACET_OK;
    struct work w = {0};
    TRY(work_create(A, p, &w));
    for (int64_t b = begin; b < end; b++) {
        int64_t size = enter(p, b, &w);
        TRY(solve_rows(A, size, block_size(p, b), &w));
        store_rows(p, b, &w, G);
        leave(size, &w);
    }
done:
    work_destroy(&w);
    return status;
}

static facet_status make_factor(const struct csr *A, const struct pattern *p, struct mg_transfer *G) {
    facet_status status = FACET_OK;
    struct base_collector failures;
    int n_parts = base_threads();
    int64_t nnz = pattern_entries(p);
    base_collector_init(&failures);
    *G = (struct mg_transfer){.n_rows = A->n, .n_columns = A->n};
    TRY(ALLOC(G->offsets, A->n + 1));
    TRY(ALLOC(G->columns, nnz));
    TRY(ALLOC(G->values, nnz));
    G->offsets[0] = 0;
    for (int64_t b = 0; b < p->n_blocks; b++)
        for (int64_t i = p->first[b]; i < p->first[b + 1]; i++)
            G->offsets[i + 1] = G->offsets[i] + pattern_size(p, b) + i - p->first[b] + 1;
#pragma omp parallel for num_threads(n_parts) schedule(static, 1)
    for (int t = 0; t < n_parts; t++)
        base_collect(&failures, t,
                     fill_part(A, p, p->n_blocks * t / n_parts, p->n_blocks * (t + 1) / n_parts, G));
    TRY(base_collected(&failures));
done:
    return status;
}

struct fsai {
    struct linear_operator G, transposed;
    struct vector t;
};

static void fsai_apply(const struct linear_operator *M, const struct vector *x, struct vector *y) {
    const struct fsai *f = M->data;
    struct vector t = f->t;
    operator_apply(&f->G, x, &t);
    operator_apply(&f->transposed, &t, y);
}

static void fsai_free(struct linear_operator *M) {
    struct fsai *f = M->data;
    if (f == NULL) return;
    operator_destroy(&f->G);
    operator_destroy(&f->transposed);
    vector_destroy(&f->t);
    base_free(&M->data);
}

static facet_status fsai_to_single(const struct linear_operator *M, struct linear_operator *S);

static facet_status begin_operator(const struct device *device, int64_t n, struct linear_operator *M,
                                   struct fsai **f) {
    *M = (struct linear_operator){.n = n,
                                  .device = device,
                                  .apply = fsai_apply,
                                  .free = fsai_free,
                                  .name = "the factored approximate inverse",
                                  .to_single = fsai_to_single};
    facet_status status = CALLOC(*f, 1);
    M->data = *f;
    return status;
}

static facet_status fsai_to_single(const struct linear_operator *M, struct linear_operator *S) {
    facet_status status = FACET_OK;
    const struct fsai *from = M->data;
    struct fsai *to;
    TRY(begin_operator(M->device, M->n, S, &to));
    S->precision = F32;
    TRY(operator_create_single(&from->G, &to->G));
    TRY(operator_create_single(&from->transposed, &to->transposed));
    TRY(vector_create_in(M->device, F32, M->n, &to->t));
done:
    return status;
}

/* The blocks of unknowns one by one. */
static facet_status single_blocks(int64_t n, int64_t **offsets) {
    facet_status status = ALLOC(*offsets, n + 1);
    for (int64_t i = 0; i <= n && status == FACET_OK; i++) (*offsets)[i] = i;
    return status;
}

static int64_t lower_entries(const struct csr *A) {
    int64_t n = 0;
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++) n += A->columns[k] <= i;
    return n;
}

facet_status fsai_factor(const struct csr *csr, const struct fsai_options *options, struct mg_transfer *G) {
    facet_status status = FACET_OK;
    struct pattern p = {.n_blocks = options->n_blocks, .first = options->block_offsets};
    int64_t *own = NULL;
    *G = (struct mg_transfer){0};
    TRY(solve_need_symmetric(csr->asymmetric, "the smoother fsai"));
    if (p.n_blocks == 0) {
        TRY(single_blocks(csr->n, &own));
        p.n_blocks = csr->n;
        p.first = own;
    }
    TRY(pattern_of_matrix(csr, &p));
    if (options->fill > 1.0) TRY(grow_to(csr, options->fill * (double)lower_entries(csr), &p));
    TRY(make_factor(csr, &p, G));
done:
    base_free(&own);
    pattern_destroy(&p);
    if (status != FACET_OK) mg_transfer_destroy(G);
    return status;
}

facet_status operator_create_fsai(const struct device *device, const struct csr *csr,
                                  const struct fsai_options *options, struct linear_operator *M,
                                  struct fsai_report *report) {
    facet_status status = FACET_OK;
    struct mg_transfer G = {0}, transposed = {0};
    struct fsai *f;
    *M = (struct linear_operator){0};
    TRY(fsai_factor(csr, options, &G));
    TRY(mg_transpose(&G, &transposed));
    TRY(begin_operator(device, csr->n, M, &f));
    TRY(operator_create_transfer(device, &G, &f->G));
    TRY(operator_create_transfer(device, &transposed, &f->transposed));
    TRY(vector_create(device, csr->n, &f->t));
    if (report != NULL) {
        double nnz = (double)G.offsets[csr->n], lower = (double)lower_entries(csr);
        *report = (struct fsai_report){.fill = lower > 0.0 ? nnz / lower : 1.0,
                                       .bytes = 2.0 * (12.0 * nnz + 8.0 * (double)(csr->n + 1))};
    }
done:
    mg_transfer_destroy(&G);
    mg_transfer_destroy(&transposed);
    if (status != FACET_OK) operator_destroy(M);
    return status;
}
