/* A sparse matrix as the sum of small dense ones. */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "solve/solve.h"

void csr_elements_destroy(struct csr_elements *e) {
    base_free(&e->starts);
    base_free(&e->unknowns);
    base_free(&e->matrix_starts);
    base_free(&e->matrices);
    base_free(&e->places);
}

facet_status csr_elements_create(int64_t n, int64_t n_elements, int64_t size, int64_t n_single,
                                 struct csr_elements *e) {
    facet_status status = FACET_OK;
    *e = (struct csr_elements){.n = n};
    TRY(CALLOC(e->starts, n_elements + n_single + 1));
    TRY(CALLOC(e->matrix_starts, n_elements + n_single + 1));
    TRY(ALLOC(e->unknowns, n_elements * size + n_single));
    TRY(ALLOC(e->matrices, n_elements * (size * (size + 1) / 2) + n_single));
    TRY(ALLOC(e->places, size));
done:
    return status;
}

void csr_elements_add(struct csr_elements *e, int size, const int64_t *numbers, const double *matrix) {
    int64_t element = e->n_elements++, count = 0, *place = e->places;
    int32_t *unknowns = e->unknowns + e->starts[element];
    double *to = e->matrices + e->matrix_starts[element];
    for (int i = 0; i < size; i++) {
        place[i] = numbers[i] < 0 ? -1 : 0;
        if (numbers[i] < 0) continue;
        while (place[i] < count && unknowns[place[i]] != numbers[i]) place[i]++;
        if (place[i] == count) unknowns[count++] = (int32_t)numbers[i];
    }
    memset(to, 0, (size_t)(count * (count + 1) / 2) * sizeof *to);
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j <= i; j++, matrix++) {
            int64_t row = place[i] > place[j] ? place[i] : place[j];
            int64_t column = place[i] > place[j] ? place[j] : place[i];
            if (column < 0) continue;
            to[row * (row + 1) / 2 + column] += j < i && row == column ? 2.0 * *matrix : *matrix;
        }
    e->starts[element + 1] = e->starts[element] + count;
    e->matrix_starts[element + 1] = e->matrix_starts[element] + count * (count + 1) / 2;
}

/* For every unknown the places where it stands: numbers into e->unknowns. */
struct places {
    int64_t *starts;
    int64_t *list;
    int32_t *element; /* of each place */
};

static facet_status find_places(const struct csr_elements *e, struct places *p) {
    facet_status status = FACET_OK;
    TRY(base_group(e->n, e->starts[e->n_elements], e->unknowns, &p->starts, &p->list));
    TRY(ALLOC(p->element, e->starts[e->n_elements]));
#pragma omp parallel for num_threads(base_threads_for(e->n_elements)) schedule(static)
    for (int64_t i = 0; i < e->n_elements; i++)
        for (int64_t k = e->starts[i]; k < e->starts[i + 1]; k++) p->element[k] = (int32_t)i;
done:
    return status;
}

/* The columns of a row; their number. columns: NULL to count only. stamp[j] == row + 1: seen. */
static int64_t row_columns(const struct csr_elements *e, const struct places *p, int64_t row, int64_t *stamp,
                           int64_t mark, int32_t *columns) {
    int64_t n = 0;
    for (int64_t a = p->starts[row]; a < p->starts[row + 1]; a++) {
        int32_t element = p->element[p->list[a]];
        for (int64_t k = e->starts[element]; k < e->starts[element + 1]; k++) {
            int32_t j = e->unknowns[k];
            if (stamp[j] == mark) continue;
            stamp[j] = mark;
            if (columns != NULL) columns[n] = j;
            n++;
        }
    }
    return n;
}

static void row_values(const struct csr_elements *e, const struct places *p, int64_t row,
                       const int64_t *position, double *values) {
    for (int64_t a = p->starts[row]; a < p->starts[row + 1]; a++) {
        int64_t place = p->list[a], element = p->element[place], first = e->starts[element];
        int64_t i = place - first, n = e->starts[element + 1] - first;
        const double *M = e->matrices + e->matrix_starts[element];
        for (int64_t j = 0; j < n; j++)
            values[position[e->unknowns[first + j]]] += M[i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i];
    }
}

facet_status csr_from_elements(const struct csr_elements *e, struct csr *csr) {
    facet_status status = FACET_OK;
    struct places p = {0};
    int n_threads = base_threads();
    int64_t n = e->n, *work = NULL;
    *csr = (struct csr){.n = n};
    TRY(find_places(e, &p));
    TRY(CALLOC(work, n_threads * n));
    TRY(ALLOC(csr->offsets, n + 1));
    csr->offsets[0] = 0;
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        csr->offsets[i + 1] = row_columns(e, &p, i, work + omp_get_thread_num() * n, i + 1, NULL);
    base_sum_up(n, csr->offsets);
    TRY(ALLOC(csr->columns, csr->offsets[n]));
    TRY(CALLOC(csr->values, csr->offsets[n]));
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        int64_t *position = work + omp_get_thread_num() * n, begin = csr->offsets[i];
        int64_t length = row_columns(e, &p, i, position, -1 - i, csr->columns + begin);
        base_sort(length, csr->columns + begin);
        for (int64_t k = 0; k < length; k++) position[csr->columns[begin + k]] = k;
        row_values(e, &p, i, position, csr->values + begin);
    }
done:
    base_free(&p.starts);
    base_free(&p.list);
    base_free(&p.element);
    base_free(&work);
    if (status != FACET_OK) csr_destroy(csr);
    return status;
}
