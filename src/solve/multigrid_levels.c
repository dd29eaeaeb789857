/* The list of levels: appending, connecting, and the work vectors of the cycle. */
#include "solve/multigrid_levels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "device/seam.h"

void mg_transfer_destroy(struct mg_transfer *P) {
    base_free(&P->offsets);
    base_free(&P->columns);
    base_free(&P->values);
}

/* Whether every column has one entry, in the order of the rows. */
static int is_injection(const struct mg_transfer *P) {
    int good = P->offsets[P->n_rows] == P->n_columns;
    if (!good) return 0;
#pragma omp parallel for num_threads(base_threads_for(P->n_columns)) schedule(static) reduction(& : good)
    for (int64_t k = 0; k < P->n_columns; k++) good &= P->columns[k] == k;
    return good;
}

#define MOST_PIECES 8 /* each has a number for every column */

/* Of any P, by pieces of its rows: how many entries of each column a piece has says where it writes them. */
static facet_status transpose(const struct mg_transfer *P, struct mg_transfer *R) {
    facet_status status = FACET_OK;
    const int n_threads = base_threads_for(P->offsets[P->n_rows]),
              n_pieces = n_threads < MOST_PIECES ? n_threads : MOST_PIECES;
    int32_t *before = NULL; /* of a column in the pieces before */
    TRY(CALLOC(before, n_pieces * R->n_rows));
#pragma omp parallel for num_threads(n_pieces) schedule(static, 1)
    for (int t = 0; t < n_pieces; t++)
        for (int64_t k = P->offsets[P->n_rows * t / n_pieces]; k < P->offsets[P->n_rows * (t + 1) / n_pieces];
             k++)
            before[t * R->n_rows + P->columns[k]]++;
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t c = 0; c < R->n_rows; c++) {
        int32_t sum = 0;
        for (int t = 0; t < n_pieces; t++) {
            const int32_t count = before[t * R->n_rows + c];
            before[t * R->n_rows + c] = sum;
            sum += count;
        }
        R->offsets[c + 1] = sum;
    }
    base_sum_up(R->n_rows, R->offsets);
#pragma omp parallel for num_threads(n_pieces) schedule(static, 1)
    for (int t = 0; t < n_pieces; t++)
        for (int64_t i = P->n_rows * t / n_pieces; i < P->n_rows * (t + 1) / n_pieces; i++)
            for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++) {
                const int64_t at = R->offsets[P->columns[k]] + before[t * R->n_rows + P->columns[k]]++;
                R->columns[at] = (int32_t)i;
                R->values[at] = P->values[k];
            }
done:
    base_free(&before);
    return status;
}

facet_status mg_transpose(const struct mg_transfer *P, struct mg_transfer *R) {
    facet_status status = FACET_OK;
    int64_t nnz = P->offsets[P->n_rows];
    *R = (struct mg_transfer){.n_rows = P->n_columns, .n_columns = P->n_rows};
    TRY(CALLOC(R->offsets, R->n_rows + 1));
    TRY(ALLOC(R->columns, nnz));
    TRY(ALLOC(R->values, nnz));
    if (is_injection(P)) {
#pragma omp parallel for num_threads(base_threads_for(P->n_rows)) schedule(static)
        for (int64_t i = 0; i < P->n_rows; i++)
            for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++) {
                R->offsets[k + 1] = k + 1;
                R->columns[k] = (int32_t)i;
                R->values[k] = P->values[k];
            }
        goto done;
    }
    TRY(transpose(P, R));
done:
    if (status != FACET_OK) mg_transfer_destroy(R);
    return status;
}

void mg_link_destroy(struct mg_link *link) {
    if (link->free != NULL) link->free(link);
    vector_destroy(&link->moments);
    vector_destroy(&link->coefficients);
    *link = (struct mg_link){0};
}

facet_status operator_create_transfer(const struct device *device, const struct mg_transfer *P,
                                      struct linear_operator *A) {
    struct csr csr = {.n = P->n_rows, .offsets = P->offsets, .columns = P->columns, .values = P->values};
    return operator_create_csr(device, &csr, A);
}

static void level_free(struct mg_level *l) {
    operator_destroy(&l->own);
    operator_destroy(&l->exact);
    smoother_destroy(&l->smoother);
    mg_link_destroy(&l->link);
    operator_destroy(&l->complement);
    operator_destroy(&l->P);
    operator_destroy(&l->R);
    struct vector *vectors[] = {&l->r, &l->t, &l->rhs,      &l->x,      &l->full, &l->f64,
                                &l->c, &l->v, &l->near_rhs, &l->near_x, &l->x64,  &l->r64};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) vector_destroy(vectors[i]);
}

facet_status multigrid_create(struct multigrid **mg) {
    facet_status status = CALLOC(*mg, 1);
    if (status == FACET_OK) (*mg)->unit = 1.0;
    return status;
}

void multigrid_destroy(struct multigrid **mg) {
    struct multigrid *m = *mg;
    if (m == NULL) return;
    for (int i = 0; i < m->n_levels; i++) level_free(&m->levels[i]);
    operator_destroy(&m->last);
    vector_destroy(&m->in);
    vector_destroy(&m->out);
    vector_destroy(&m->divided);
    base_free(mg);
}

/* A new level of n unknowns, as the one above it expects. */
static facet_status begin_level(struct multigrid *mg, const char *name, const struct linear_operator *A) {
    if (mg->ended) return base_fail(FACET_ERROR_INPUT, "the multigrid already has its coarsest level");
    if (mg->n_levels == MG_MAX_LEVELS)
        return base_fail(FACET_ERROR_INPUT, "a multigrid has at most %d levels", MG_MAX_LEVELS);
    if (mg->n_levels > 0 && mg->levels[mg->n_levels - 1].n_coarse != A->n)
        return base_fail(FACET_ERROR_INPUT,
                         "level '%s' has %lld unknowns, and the prolongation from it %lld columns", name,
                         (long long)A->n, (long long)mg->levels[mg->n_levels - 1].n_coarse);
    struct mg_level *l = &mg->levels[mg->n_levels++];
    *l = (struct mg_level){.device = A->device,
                           .precision = A->precision,
                           .n = A->n,
                           .seam = A->seam,
                           .factor = 1.0,
                           .residual = -1.0};
    snprintf(l->name, sizeof l->name, "%s", name);
    return FACET_OK;
}

facet_status multigrid_append(struct multigrid *mg, const char *name, const struct linear_operator *borrowed,
                              struct linear_operator *owned, struct smoother *smoother) {
    facet_status status = FACET_OK;
    TRY(begin_level(mg, name, borrowed != NULL ? borrowed : owned));
    struct mg_level *l = &mg->levels[mg->n_levels - 1];
    l->A = borrowed;
    if (borrowed == NULL) {
        l->own = *owned;
        l->A = &l->own;
        *owned = (struct linear_operator){0};
    }
    l->smoother = *smoother;
    *smoother = (struct smoother){0};
done:
    if (owned != NULL) operator_destroy(owned);
    smoother_destroy(smoother);
    return status;
}

/* Columns that others own become zero. */
static facet_status clear_foreign(struct seam *seam, struct mg_transfer *R) {
    facet_status status = FACET_OK;
    double *owned = NULL;
    if (seam == NULL) return FACET_OK;
    TRY(ALLOC(owned, R->n_columns));
    for (int64_t i = 0; i < R->n_columns; i++) owned[i] = 1.0;
    seam_clear_foreign(seam, owned);
    for (int64_t k = 0; k < R->offsets[R->n_rows]; k++) R->values[k] *= owned[R->columns[k]];
done:
    base_free(&owned);
    return status;
}

facet_status multigrid_connect(struct multigrid *mg, const struct mg_transfer *P) {
    facet_status status = FACET_OK;
    struct mg_level *l = &mg->levels[mg->n_levels - 1];
    struct mg_transfer R = {0};
    if (P->n_rows != l->n)
        FAIL(FACET_ERROR_INPUT, "the prolongation to level '%s' has %lld rows for %lld unknowns", l->name,
             (long long)P->n_rows, (long long)l->n);
    TRY(mg_transpose(P, &R));
    if (P->sums) TRY(clear_foreign(l->seam, &R));
    TRY(operator_create_transfer(l->device, P, &l->P));
    TRY(operator_create_transfer(l->device, &R, &l->R));
    if (l->precision == F32) TRY(operator_round(&l->P));
    if (l->precision == F32) TRY(operator_round(&l->R));
    l->n_coarse = P->n_columns;
    l->sums = P->sums;
done:
    mg_transfer_destroy(&R);
    return status;
}

facet_status multigrid_link(struct multigrid *mg, struct mg_link *link) {
    facet_status status = FACET_OK;
    struct mg_level *l = &mg->levels[mg->n_levels - 1];
    if (link->n_fine != l->n)
        FAIL(FACET_ERROR_INPUT, "the prolongation to level '%s' is for %lld unknowns, not %lld", l->name,
             (long long)link->n_fine, (long long)l->n);
    l->link = *link;
    l->n_coarse = link->n_coarse;
    *link = (struct mg_link){0};
done:
    mg_link_destroy(link);
    return status;
}

void multigrid_refine(struct multigrid *mg, struct linear_operator *A) {
    mg->levels[mg->n_levels - 1].exact = *A;
    *A = (struct linear_operator){0};
}

void multigrid_complete(struct multigrid *mg, struct linear_operator *B) {
    struct mg_level *l = &mg->levels[mg->n_levels - 1];
    operator_destroy(&l->complement);
    l->complement = *B;
    *B = (struct linear_operator){0};
}

facet_status multigrid_end(struct multigrid *mg, const char *name, struct linear_operator *solve) {
    facet_status status = FACET_OK;
    TRY(begin_level(mg, name, solve));
    mg->last = *solve;
    *solve = (struct linear_operator){0};
    mg->ended = 1;
done:
    operator_destroy(solve);
    return status;
}

void multigrid_visit(struct multigrid *mg, enum mg_cycle visit, double factor) {
    mg->levels[mg->n_levels - 1].visit = visit;
    mg->levels[mg->n_levels - 1].factor = factor;
}

void multigrid_describe(struct multigrid *mg, int64_t entries, double bytes) {
    mg->levels[mg->n_levels - 1].entries = entries;
    mg->levels[mg->n_levels - 1].bytes = bytes;
}

facet_status mg_vector(const struct mg_level *like, int64_t n, struct vector *v) {
    if (v->n > 0) return FACET_OK;
    facet_status status = vector_create_in(like->device, like->precision, n, v);
    v->seam = n == like->n ? like->seam : NULL; /* else it is one of the next level */
    return status;
}

static facet_status finish_level(struct multigrid *mg, int level) {
    facet_status status = FACET_OK;
    struct mg_level *l = &mg->levels[level], *next = l + 1;
    int last = level == mg->n_levels - 1;
    if (level > 0) {
        TRY(mg_vector(l, l->n, &l->rhs));
        TRY(mg_vector(l, l->n, &l->x));
    }
    if (last) goto done;
    if (l->link.gather == NULL) TRY(mg_vector(l, l->n, &l->r)); /* else when it is asked for */
    enum mg_cycle visit = level > 0 ? mg->levels[level - 1].visit : MG_V;
    int flexible = visit == MG_K || visit == MG_TWICE;
    if (l->link.prolong == NULL || flexible) TRY(mg_vector(l, l->n, &l->t));
    if (flexible) {
        TRY(mg_vector(l, l->n, &l->c));
        TRY(mg_vector(l, l->n, &l->v));
    }
    if (!l->link.far && (next->device != l->device || next->precision != l->precision)) {
        TRY(mg_vector(l, next->n, &l->near_rhs));
        TRY(mg_vector(l, next->n, &l->near_x));
        l->near_rhs.seam = l->near_x.seam = next->seam;
    }
done:
    return status;
}

void multigrid_keep_precision(struct multigrid *mg) {
    mg->keeps_precision = 1;
}

facet_status multigrid_finish(struct multigrid *mg) {
    facet_status status = FACET_OK;
    if (!mg->ended) FAIL(FACET_ERROR_INPUT, "the multigrid has no coarsest level");
    for (int i = 0; i < mg->n_levels; i++) TRY(finish_level(mg, i));
    for (int i = mg->n_levels - 2; i > 0; i--)
        if (mg->levels[i - 1].visit == MG_TWICE) TRY(mg_measure_level(mg, i));
    if (mg->levels[0].precision == F32 && !mg->keeps_precision) {
        TRY(mg_vector(&mg->levels[0], mg->levels[0].n, &mg->in));
        TRY(mg_vector(&mg->levels[0], mg->levels[0].n, &mg->out));
        mg->outer = mg->levels[0].device;
    }
done:
    return status;
}

static facet_status double_vector(const struct mg_level *l, struct vector *v) {
    facet_status status = vector_create(l->device, l->n, v);
    v->seam = l->seam;
    return status;
}

/* The vectors of the full cycle on a level. */
static facet_status prepare_full(struct multigrid *mg, int level) {
    facet_status status = FACET_OK;
    struct mg_level *l = &mg->levels[level];
    struct vector *vectors[3] = {&l->f64, &l->x64, &l->r64};
    if (!mg->refined) return mg_vector(l, l->n, &l->full);
    for (int i = 0; i < (level == mg->n_levels - 1 ? 2 : 3); i++)
        if (vectors[i]->n == 0) TRY(double_vector(l, vectors[i]));
done:
    return status;
}

facet_status multigrid_set_cycle(struct multigrid *mg, enum mg_cycle cycle) {
    facet_status status = FACET_OK;
    mg->cycle = cycle;
    mg->refined = mg->n_levels > 1;
    for (int i = 0; i < mg->n_levels; i++) mg->levels[i].visit = MG_V;
    for (int i = 0; i < mg->n_levels - 1; i++)
        if (mg->levels[i].exact.apply == NULL || mg->levels[i].link.prolong == NULL ||
            mg->levels[i].device != mg->levels[i + 1].device)
            mg->refined = 0;
    if (cycle != MG_V && cycle != MG_ADDITIVE && mg->n_levels > 1)
        TRY(mg_vector(&mg->levels[0], mg->levels[0].n, &mg->levels[0].r));
    for (int i = 1; i < mg->n_levels && cycle == MG_FULL; i++) TRY(prepare_full(mg, i));
done:
    return status;
}

int multigrid_is_flexible(const struct multigrid *mg) {
    if (mg->cycle == MG_FULL || mg->cycle == MG_F) return 1;
    for (int i = 0; i < mg->n_levels; i++) {
        if (mg->levels[i].visit == MG_K) return 1;
        if (mg->levels[i].precision == F32) return 1; /* rounding makes it a little nonlinear */
    }
    return 0;
}

facet_status multigrid_failure(const struct multigrid *mg) {
    return mg->failure;
}

facet_status multigrid_watch(struct multigrid *mg, int on) {
    facet_status status = FACET_OK;
    for (int i = 0; on && i < mg->n_levels - 1; i++)
        TRY(mg_vector(&mg->levels[i], mg->levels[i].n, &mg->levels[i].r));
    mg->watching = on;
done:
    return status;
}

struct mg_link *multigrid_additive(struct multigrid *mg) {
    struct mg_link *link = &mg->levels[0].link;
    return mg->cycle == MG_ADDITIVE && link->gather != NULL ? link : NULL;
}

int multigrid_n_levels(const struct multigrid *mg) {
    return mg->n_levels;
}

void multigrid_summarize(const struct multigrid *mg, int level, struct mg_summary *summary) {
    const struct mg_level *l = &mg->levels[level];
    *summary = (struct mg_summary){.name = l->name,
                                   .device = device_name(l->device),
                                   .precision = l->precision,
                                   .n = l->n,
                                   .entries = l->entries,
                                   .bytes = l->bytes,
                                   .visits = l->visits,
                                   .traffic = l->traffic,
                                   .residual = l->residual,
                                   .top = l->smoother.top,
                                   .rate = l->watched > 0 ? exp(l->log_sum / (double)l->watched) : -1.0};
    memcpy(summary->seconds, l->seconds, sizeof summary->seconds);
}
