/* Assembly of a continuous method's matrix node by node: the rows of a node are its own business, gathered
 * from the element matrices of all cells around it. No locks, no atomics. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/continuous.h"
#include "trace/sides.h"

/* Where a cell meets a node. */
struct meeting {
    int block;
    int32_t cell; /* in the block */
    int slot;
};

static struct meeting meeting_at(const struct continuous_space *space, int64_t place) {
    const struct mesh_block *block = mesh_block_of(space->mesh, space->places[place].cell);
    return (struct meeting){(int)(block - space->mesh->blocks), space->places[place].cell - block->first,
                            space->places[place].slot};
}

static int ascending(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The columns of the rows of a free node, ascending; itself: its own only. Returns their number. `columns`
 * has room for all unknowns of all its cells. */
static int64_t row_columns(const struct continuous_space *space, int64_t k, int itself, int32_t *columns) {
    int64_t n = 0, unique = 0;
    int32_t node = space->block_nodes[k];
    if (itself) {
        for (int64_t i = space->block_offsets[k]; i < space->block_offsets[k + 1]; i++)
            columns[n++] = (int32_t)i;
        return n;
    }
    for (int64_t p = space->place_starts[node]; p < space->place_starts[node + 1]; p++) {
        struct meeting m = meeting_at(space, p);
        const int32_t *unknowns = space->unknowns[m.block] + (int64_t)m.cell * space->n[m.block];
        for (int j = 0; j < space->n[m.block]; j++)
            if (space->free[unknowns[j]] >= 0) columns[n++] = (int32_t)space->free[unknowns[j]];
    }
    qsort(columns, (size_t)n, sizeof *columns, ascending);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || columns[i] != columns[i - 1]) columns[unique++] = columns[i];
    return unique;
}

/* Where a column stands in a sorted row; -1: nowhere. */
static int64_t find(const int32_t *columns, int64_t n, int64_t column) {
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && columns[low] == column ? low : -1;
}

static void fill_rows(const struct continuous_space *space, const struct trace_view *view, int64_t k,
                      int itself, int32_t *columns, struct csr *csr) {
    int64_t first = space->block_offsets[k], n_rows = space->block_offsets[k + 1] - first;
    int64_t length = row_columns(space, k, itself, columns);
    int32_t node = space->block_nodes[k];
    double *values = csr->values + csr->offsets[first];
    memset(values, 0, (size_t)(n_rows * length) * sizeof *values);
    for (int64_t i = 0; i < n_rows; i++)
        memcpy(csr->columns + csr->offsets[first + i], columns, (size_t)length * sizeof *columns);
    for (int64_t p = space->place_starts[node]; p < space->place_starts[node + 1]; p++) {
        struct meeting m = meeting_at(space, p);
        const int32_t *unknowns = space->unknowns[m.block] + (int64_t)m.cell * space->n[m.block];
        const double *K = trace_view_cell(view, m.block, m.cell);
        for (int j = 0; j < space->n[m.block]; j++) {
            int64_t at = space->free[unknowns[j]] >= 0 ? find(columns, length, space->free[unknowns[j]]) : -1;
            for (int64_t i = 0; i < n_rows && at >= 0; i++)
                values[i * length + at] += trace_entry(K, m.slot + (int)i, j);
        }
    }
}

/* Room for the columns of any row. */
static int64_t most_columns(const struct continuous_space *space) {
    int64_t most = 1;
    int largest = 0;
    for (int b = 0; b < space->mesh->n_blocks; b++) largest = space->n[b] > largest ? space->n[b] : largest;
    for (int32_t node = 0; node < space->n_nodes; node++) {
        int64_t n = (space->place_starts[node + 1] - space->place_starts[node]) * largest;
        most = n > most ? n : most;
    }
    return most;
}

static facet_status assemble(const struct continuous_space *space, const struct trace_matrices *matrices,
                             int itself, struct csr *csr) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    struct base_collector failures;
    int64_t most = most_columns(space);
    *csr = (struct csr){.n = space->n_free};
    base_collector_init(&failures);
    TRY(ALLOC(csr->offsets, csr->n + 1));
    TRY(trace_view_open(matrices, &view));
    for (int pass = 0; pass < 2; pass++) { /* lengths, then entries */
        if (pass == 1) {
            csr->offsets[0] = 0;
            for (int64_t i = 0; i < csr->n; i++) csr->offsets[i + 1] += csr->offsets[i];
            TRY(ALLOC(csr->columns, csr->offsets[csr->n]));
            TRY(ALLOC(csr->values, csr->offsets[csr->n]));
        }
#pragma omp parallel num_threads(base_threads())
        {
            int32_t *columns = NULL;
            facet_status mine = ALLOC(columns, most);
            base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
            for (int64_t k = 0; k < space->n_blocks; k++) {
                if (mine != FACET_OK) continue;
                if (pass == 1) {
                    fill_rows(space, &view, k, itself, columns, csr);
                    continue;
                }
                int64_t length = row_columns(space, k, itself, columns);
                for (int64_t i = space->block_offsets[k]; i < space->block_offsets[k + 1]; i++)
                    csr->offsets[i + 1] = length;
            }
            base_free(&columns);
        }
        TRY(base_collected(&failures));
    }
done:
    trace_view_close(&view);
    if (status != FACET_OK) csr_destroy(csr);
    return status;
}

facet_status continuous_assemble(const struct continuous_space *space, const struct trace_matrices *matrices,
                                 struct csr *csr) {
    return assemble(space, matrices, 0, csr);
}

facet_status continuous_block_diagonal(const struct continuous_space *space,
                                       const struct trace_matrices *matrices, struct csr *csr) {
    return assemble(space, matrices, 1, csr);
}
