/* Classical coarsening for single unknowns whose couplings are mostly negative: some of them stay (C), the
 * others (F) are interpolated from those that stay.
 *
 * All entries are taken times the mode of their row and column, so that constants are what the operator
 * hardly sees. Row i depends strongly on j where -a_ij >= threshold max_k -a_ik: positive couplings are never
 * strong. PMIS: an unknown stays when more depend on it than on any undecided one that it is strongly coupled
 * to, ties being broken by a hash of the number; those that depend on it are then F. Interpolation is
 * extended+i: from the C points among the strong neighbours, and among theirs where these are F; what couples
 * to a strong F neighbour is distributed to the points around that one, i itself included. At most
 * LARGEST_ROW of them are kept, their sum restored. It all depends on the matrix alone, not on the number of
 * threads.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "solve/amg_grid.h"

#define LARGEST_ROW 4
#define ROW_BUFFER  256 /* C points that a row of the interpolation considers, at most */

enum { UNDECIDED, COARSE, FINE, ALONE };

/* Threads for so many entries in n rows, and the rows that one takes at a time: coarse levels have few rows,
 * which are long. */
static int threads_for(int64_t n, int64_t entries) {
    int threads = base_threads_for(entries);
    return threads < n ? threads : (int)(n > 0 ? n : 1);
}
static int64_t rows_at_a_time(int64_t n, int n_threads) {
    int64_t rows = n / (16 * (int64_t)n_threads);
    return rows < 1 ? 1 : rows > 1024 ? 1024 : rows;
}

/* Strong couplings by rows, and the same by columns. */
struct strength {
    int64_t n, *offsets, *back_offsets;
    int32_t *columns, *back;
};

static void strength_destroy(struct strength *s) {
    base_free(&s->offsets);
    base_free(&s->back_offsets);
    base_free(&s->columns);
    base_free(&s->back);
}

static inline double scaled(const struct amg_grid *grid, int64_t i, int64_t e) {
    return grid->A.values[e] * grid->modes[i] * grid->modes[grid->A.columns[e]];
}

/* The strong couplings of a row into columns, or NULL: their number. */
static int64_t strong_row(const struct amg_grid *grid, double threshold, int64_t i, int32_t *columns) {
    const struct csr *A = &grid->A;
    double most = 0.0;
    int64_t n = 0;
    for (int64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++)
        if (A->columns[e] != i) most = fmax(most, -scaled(grid, i, e));
    for (int64_t e = A->offsets[i]; most > 0.0 && e < A->offsets[i + 1]; e++)
        if (A->columns[e] != i && -scaled(grid, i, e) >= threshold * most) {
            if (columns != NULL) columns[n] = A->columns[e];
            n++;
        }
    return n;
}

static facet_status strength_create(const struct amg_grid *grid, double threshold, struct strength *s) {
    facet_status status = FACET_OK;
    int64_t n = grid->A.n, *at = NULL;
    const int n_threads = threads_for(n, grid->A.offsets[n]);
    s->n = n;
    TRY(ALLOC(s->offsets, n + 1));
    TRY(CALLOC(s->back_offsets, n + 1));
    TRY(ALLOC(at, n));
    s->offsets[0] = 0;
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) s->offsets[i + 1] = strong_row(grid, threshold, i, NULL);
    base_sum_up(n, s->offsets);
    TRY(ALLOC(s->columns, s->offsets[n]));
    TRY(ALLOC(s->back, s->offsets[n]));
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        strong_row(grid, threshold, i, s->columns + s->offsets[i]);
        for (int64_t e = s->offsets[i]; e < s->offsets[i + 1]; e++)
#pragma omp atomic
            s->back_offsets[s->columns[e] + 1]++;
    }
    base_sum_up(n, s->back_offsets);
    memcpy(at, s->back_offsets, (size_t)n * sizeof *at);
#pragma omp parallel num_threads(n_threads)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++)
            for (int64_t e = s->offsets[i]; e < s->offsets[i + 1]; e++) {
                int64_t place;
#pragma omp atomic capture
                place = at[s->columns[e]]++;
                s->back[place] = (int32_t)i;
            }
#pragma omp for schedule(static) /* whoever came first */
        for (int64_t i = 0; i < n; i++)
            base_sort(s->back_offsets[i + 1] - s->back_offsets[i], s->back + s->back_offsets[i]);
    }
done:
    base_free(&at);
    return status;
}

/* ------------------------------------------------------------------------------ who stays */

/* Whether an undecided unknown outweighs all undecided ones that it is coupled to. */
static int is_largest(const struct strength *s, const uint8_t *kind, const double *weight, int64_t i) {
    for (int64_t e = s->offsets[i]; e < s->offsets[i + 1]; e++)
        if (kind[s->columns[e]] == UNDECIDED && weight[s->columns[e]] >= weight[i]) return 0;
    for (int64_t e = s->back_offsets[i]; e < s->back_offsets[i + 1]; e++)
        if (kind[s->back[e]] == UNDECIDED && weight[s->back[e]] >= weight[i]) return 0;
    return 1;
}

static int depends_on_coarse(const struct strength *s, const uint8_t *kind, int64_t i) {
    for (int64_t e = s->offsets[i]; e < s->offsets[i + 1]; e++)
        if (kind[s->columns[e]] == COARSE) return 1;
    return 0;
}

/* kind: COARSE, FINE, or ALONE: coupled to nobody, which a smoother solves. */
static facet_status choose(const struct strength *s, uint8_t *kind) {
    facet_status status = FACET_OK;
    int64_t n = s->n, n_left = 0, *left = NULL;
    double *weight = NULL;
    uint8_t *chosen = NULL;
    TRY(ALLOC(left, n));
    TRY(ALLOC(weight, n));
    TRY(ALLOC(chosen, n));
    solve_noise(n, weight); /* between -1 and 1 */
    for (int64_t i = 0; i < n; i++) {
        int64_t depending = s->back_offsets[i + 1] - s->back_offsets[i],
                on = s->offsets[i + 1] - s->offsets[i];
        weight[i] = (double)depending + 0.5 * weight[i];
        kind[i] = depending + on == 0 ? ALONE : depending == 0 ? FINE : UNDECIDED;
        if (kind[i] == UNDECIDED) left[n_left++] = i;
    }
    while (n_left > 0) {
        int64_t n_next = 0;
        int n_threads = base_threads_for(n_left);
#pragma omp parallel num_threads(n_threads)
        {
#pragma omp for schedule(static)
            for (int64_t k = 0; k < n_left; k++) chosen[k] = (uint8_t)is_largest(s, kind, weight, left[k]);
#pragma omp for schedule(static)
            for (int64_t k = 0; k < n_left; k++)
                if (chosen[k]) kind[left[k]] = COARSE;
#pragma omp for schedule(static)
            for (int64_t k = 0; k < n_left; k++)
                if (!chosen[k] && depends_on_coarse(s, kind, left[k])) chosen[k] = 2;
        }
        for (int64_t k = 0; k < n_left; k++) {
            if (chosen[k] == 2) kind[left[k]] = FINE;
            if (chosen[k] == 0) left[n_next++] = left[k];
        }
        n_left = n_next;
    }
done:
    base_free(&left);
    base_free(&weight);
    base_free(&chosen);
    return status;
}

/* ------------------------------------------------------------------------------ interpolation */

struct entry {
    int32_t column; /* a fine unknown that stays */
    double value;
};

/* What one thread needs: where an unknown stands in the row at hand (1 + its place among the C points; -1: a
 * strong F neighbour; 0: neither). */
struct row {
    int32_t *place;
    struct entry entries[ROW_BUFFER];
    int n;
};

static void meet(struct row *r, int32_t c) {
    if (r->place[c] != 0 || r->n == ROW_BUFFER) return;
    r->entries[r->n++] = (struct entry){c, 0.0};
    r->place[c] = r->n;
}

/* a_if of a strong F neighbour f goes to those around f; returns what comes back to i. */
static double distribute(const struct amg_grid *grid, int64_t i, double a, int64_t f, struct row *r) {
    const struct csr *A = &grid->A;
    double sum = 0.0, back = 0.0;
    for (int64_t e = A->offsets[f]; e < A->offsets[f + 1]; e++) {
        double value = scaled(grid, f, e);
        if (value < 0.0 && (A->columns[e] == i || r->place[A->columns[e]] > 0)) sum += value;
    }
    if (sum == 0.0) return a;
    for (int64_t e = A->offsets[f]; e < A->offsets[f + 1]; e++) {
        double value = scaled(grid, f, e);
        int32_t c = A->columns[e];
        if (value >= 0.0) continue;
        if (c == i)
            back += a / sum * value;
        else if (r->place[c] > 0)
            r->entries[r->place[c] - 1].value += a / sum * value;
    }
    return back;
}

static int descending(const struct entry *a, const struct entry *b) {
    double x = fabs(a->value), y = fabs(b->value);
    return x != y ? (x < y) - (x > y) : (a->column > b->column) - (a->column < b->column);
}

/* Keeps the largest, by number; their sum becomes that of all. */
static void truncate_row(struct row *r) {
    double all = 0.0, kept = 0.0;
    int n = r->n < LARGEST_ROW ? r->n : LARGEST_ROW;
    for (int k = 0; k < r->n; k++) all += r->entries[k].value;
    for (int k = 0; k < n; k++) {
        for (int j = k + 1; j < r->n; j++)
            if (descending(&r->entries[j], &r->entries[k]) < 0) {
                struct entry swap = r->entries[k];
                r->entries[k] = r->entries[j];
                r->entries[j] = swap;
            }
        kept += r->entries[k].value;
    }
    for (int k = 0; k < n && kept != 0.0; k++) r->entries[k].value *= all / kept;
    r->n = n;
}

/* The row of an F unknown. */
static void interpolate(const struct amg_grid *grid, const struct strength *s, const uint8_t *kind, int64_t i,
                        struct row *r) {
    const struct csr *A = &grid->A;
    double diagonal = 0.0, own = 0.0;
    r->n = 0;
    for (int64_t e = s->offsets[i]; e < s->offsets[i + 1]; e++) {
        int32_t j = s->columns[e];
        if (kind[j] == COARSE) {
            meet(r, j);
            continue;
        }
        for (int64_t b = s->offsets[j]; b < s->offsets[j + 1]; b++)
            if (kind[s->columns[b]] == COARSE) meet(r, s->columns[b]);
    }
    for (int64_t e = s->offsets[i]; e < s->offsets[i + 1]; e++)
        if (kind[s->columns[e]] != COARSE) r->place[s->columns[e]] = -1;
    for (int64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++) {
        int32_t j = A->columns[e], place = r->place[j];
        double a = scaled(grid, i, e);
        if (j == i)
            own = a;
        else if (place > 0)
            r->entries[place - 1].value += a;
        else
            diagonal += place < 0 ? distribute(grid, i, a, j, r) : a;
    }
    for (int64_t e = s->offsets[i]; e < s->offsets[i + 1]; e++) r->place[s->columns[e]] = 0;
    for (int k = 0; k < r->n; k++) r->place[r->entries[k].column] = 0;
    diagonal = own + diagonal > 0.0 ? own + diagonal : own;
    truncate_row(r);
    for (int k = 0; k < r->n; k++) r->entries[k].value /= -diagonal;
}

/* P with room for LARGEST_ROW entries in every row, then packed. */
static facet_status make_rows(const struct amg_grid *grid, const struct strength *s, const uint8_t *kind,
                              const int32_t *number, struct mg_transfer *P) {
    facet_status status = FACET_OK;
    int64_t n = grid->A.n;
    const int n_threads = threads_for(n, grid->A.offsets[n]);
    const int64_t rows = rows_at_a_time(n, n_threads);
    int32_t *places = NULL, *columns = NULL;
    double *values = NULL;
    TRY(CALLOC(places, n_threads * n));
    TRY(ALLOC(columns, n * LARGEST_ROW));
    TRY(ALLOC(values, n * LARGEST_ROW));
    TRY(CALLOC(P->offsets, n + 1));
#pragma omp parallel num_threads(n_threads)
    {
        struct row r = {.place = places + omp_get_thread_num() * n};
#pragma omp for schedule(dynamic, rows)
        for (int64_t i = 0; i < n; i++) {
            r.n = 0;
            if (kind[i] == COARSE) r.entries[r.n++] = (struct entry){(int32_t)i, 1.0};
            if (kind[i] == FINE) interpolate(grid, s, kind, i, &r);
            for (int k = 0; k < r.n; k++) {
                int32_t c = r.entries[k].column;
                columns[i * LARGEST_ROW + k] = number[c];
                values[i * LARGEST_ROW + k] = r.entries[k].value * grid->modes[i] / grid->modes[c];
            }
            P->offsets[i + 1] = r.n;
        }
    }
    base_sum_up(n, P->offsets);
    TRY(ALLOC(P->columns, P->offsets[n]));
    TRY(ALLOC(P->values, P->offsets[n]));
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        size_t length = (size_t)(P->offsets[i + 1] - P->offsets[i]);
        memcpy(P->columns + P->offsets[i], columns + i * LARGEST_ROW, length * sizeof *columns);
        memcpy(P->values + P->offsets[i], values + i * LARGEST_ROW, length * sizeof *values);
    }
done:
    base_free(&places);
    base_free(&columns);
    base_free(&values);
    return status;
}

/* ------------------------------------------------------------------------------ coarse matrix */

/* One factor of a product of sparse matrices, by rows. */
struct factor {
    const int64_t *offsets;
    const int32_t *columns;
    const double *values;
};

/* C = L R, `width` columns wide, rows ascending. */
static facet_status multiply(int64_t n_rows, int64_t width, struct factor L, struct factor R, struct csr *C) {
    facet_status status = FACET_OK;
    const int n_threads = threads_for(n_rows, L.offsets[n_rows]);
    const int64_t rows = rows_at_a_time(n_rows, n_threads);
    int64_t *stamps = NULL;
    int32_t *lists = NULL;
    double *sums = NULL;
    C->n = n_rows;
    TRY(ALLOC(stamps, n_threads * width));
    TRY(ALLOC(lists, n_threads * width));
    TRY(ALLOC(sums, n_threads * width));
    TRY(ALLOC(C->offsets, n_rows + 1));
    C->offsets[0] = 0;
    for (int fill = 0; fill < 2; fill++) {
#pragma omp parallel num_threads(n_threads)
        {
            int64_t thread = omp_get_thread_num() * width, *stamp = stamps + thread;
            int32_t *list = lists + thread;
            double *sum = sums + thread;
            if (!fill) memset(stamp, 0xff, (size_t)width * sizeof *stamp);
#pragma omp for schedule(dynamic, rows)
            for (int64_t i = 0; i < n_rows; i++) {
                int64_t n = 0, mark = 2 * i + fill;
                for (int64_t e = L.offsets[i]; e < L.offsets[i + 1]; e++)
                    for (int64_t k = R.offsets[L.columns[e]]; k < R.offsets[L.columns[e] + 1]; k++) {
                        int32_t c = R.columns[k];
                        if (stamp[c] != mark) {
                            stamp[c] = mark;
                            list[n++] = c;
                            sum[c] = 0.0;
                        }
                        if (fill) sum[c] += L.values[e] * R.values[k];
                    }
                if (!fill) {
                    C->offsets[i + 1] = n;
                    continue;
                }
                base_sort(n, list);
                for (int64_t k = 0; k < n; k++) {
                    C->columns[C->offsets[i] + k] = list[k];
                    C->values[C->offsets[i] + k] = sum[list[k]];
                }
            }
        }
        if (fill) break;
        base_sum_up(n_rows, C->offsets);
        TRY(ALLOC(C->columns, C->offsets[n_rows]));
        TRY(ALLOC(C->values, C->offsets[n_rows]));
    }
done:
    base_free(&stamps);
    base_free(&lists);
    base_free(&sums);
    return status;
}

static facet_status galerkin(const struct csr *A, const struct mg_transfer *P, struct csr *coarse) {
    facet_status status = FACET_OK;
    struct mg_transfer R = {0};
    struct csr AP = {0};
    TRY(multiply(A->n, P->n_columns, (struct factor){A->offsets, A->columns, A->values},
                 (struct factor){P->offsets, P->columns, P->values}, &AP));
    TRY(mg_transpose(P, &R));
    TRY(multiply(P->n_columns, P->n_columns, (struct factor){R.offsets, R.columns, R.values},
                 (struct factor){AP.offsets, AP.columns, AP.values}, coarse));
done:
    mg_transfer_destroy(&R);
    csr_destroy(&AP);
    return status;
}

facet_status amg_coarsen_classical(const struct amg_grid *fine, const struct amg_options *options,
                                   struct mg_transfer *P, struct amg_grid *coarse) {
    facet_status status = FACET_OK;
    int64_t n = fine->A.n, kept = 0;
    struct strength s = {0};
    uint8_t *kind = NULL;
    int32_t *number = NULL;
    TRY(ALLOC(kind, n));
    TRY(ALLOC(number, n));
    TRY(strength_create(fine, options->threshold, &s));
    TRY(choose(&s, kind));
    for (int64_t i = 0; i < n; i++) number[i] = kind[i] == COARSE ? (int32_t)kept++ : -1;
    *P = (struct mg_transfer){.n_rows = n, .n_columns = kept};
    coarse->n_nodes = kept;
    coarse->n_modes = 1;
    if (kept == 0) goto done;
    TRY(make_rows(fine, &s, kind, number, P));
    strength_destroy(&s);
    TRY(galerkin(&fine->A, P, &coarse->A));
    TRY(ALLOC(coarse->nodes, kept + 1));
    TRY(CALLOC(coarse->kind, kept));
    TRY(ALLOC(coarse->modes, kept));
    for (int64_t i = 0; i <= kept; i++) coarse->nodes[i] = i;
    for (int64_t i = 0; i < n; i++)
        if (kind[i] == COARSE) coarse->modes[number[i]] = fine->modes[i];
done:
    strength_destroy(&s);
    base_free(&kind);
    base_free(&number);
    if (status != FACET_OK) {
        mg_transfer_destroy(P);
        amg_grid_destroy(coarse);
    }
    return status;
}
