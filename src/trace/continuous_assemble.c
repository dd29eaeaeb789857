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

/* What a thread works with. */
struct scratch {
    int64_t *nodes;   /* first unknown and number of unknowns, packed */
    int32_t *columns; /* of a row */
};

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The first free unknown of an entity of a cell; -1: it has none. */
static int64_t local_first(const struct continuous_space *space, const struct meeting *m, int local) {
    int slot = space->slots[m->block][local];
    if (slot == space->slots[m->block][local + 1]) return -1;
    return space->free[space->unknowns[m->block][(int64_t)m->cell * space->n[m->block] + slot]];
}

/* The columns of the rows of a free node, ascending; itself: its own only. Returns their number. A node's
 * unknowns follow one another, so it is the nodes that are sorted. */
static int64_t row_columns(const struct continuous_space *space, int64_t k, int itself,
                           struct scratch *scratch) {
    int64_t n = 0, length = 0;
    int32_t node = space->block_nodes[k];
    for (int64_t p = space->place_starts[node]; p < space->place_starts[node + 1] && !itself; p++) {
        struct meeting m = meeting_at(space, p);
        const int *slots = space->slots[m.block];
        for (int local = 0; local < space->n_locals[m.block]; local++) {
            int64_t first = local_first(space, &m, local);
            if (first >= 0) scratch->nodes[n++] = first << 32 | (slots[local + 1] - slots[local]);
        }
    }
    if (itself) {
        int64_t first = space->block_offsets[k];
        scratch->nodes[n++] = first << 32 | (space->block_offsets[k + 1] - first);
    }
    qsort(scratch->nodes, (size_t)n, sizeof *scratch->nodes, ascending);
    for (int64_t i = 0; i < n; i++) {
        int64_t first = scratch->nodes[i] >> 32, size = scratch->nodes[i] & INT32_MAX;
        if (i > 0 && scratch->nodes[i] == scratch->nodes[i - 1]) continue;
        for (int64_t j = 0; j < size; j++) scratch->columns[length++] = (int32_t)(first + j);
    }
    return length;
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
                      int itself, struct scratch *scratch, struct csr *csr) {
    int64_t first = space->block_offsets[k], n_rows = space->block_offsets[k + 1] - first;
    int64_t length = row_columns(space, k, itself, scratch);
    int32_t node = space->block_nodes[k];
    double *values = csr->values + csr->offsets[first];
    memset(values, 0, (size_t)(n_rows * length) * sizeof *values);
    for (int64_t i = 0; i < n_rows; i++)
        memcpy(csr->columns + csr->offsets[first + i], scratch->columns,
               (size_t)length * sizeof *csr->columns);
    for (int64_t p = space->place_starts[node]; p < space->place_starts[node + 1]; p++) {
        struct meeting m = meeting_at(space, p);
        const int *slots = space->slots[m.block];
        const double *K = trace_view_cell(view, m.block, m.cell);
        for (int local = 0; local < space->n_locals[m.block]; local++) {
            int64_t column = local_first(space, &m, local);
            int64_t at = column >= 0 ? find(scratch->columns, length, column) : -1;
            for (int64_t i = 0; i < n_rows && at >= 0; i++)
                for (int j = slots[local]; j < slots[local + 1]; j++)
                    values[i * length + at + j - slots[local]] += trace_entry(K, m.slot + (int)i, j);
        }
    }
}

/* Room for any row: as if its cells shared nothing. */
static facet_status scratch_create(const struct continuous_space *space, struct scratch *scratch) {
    facet_status status = FACET_OK;
    int64_t most = 1;
    int locals = 1, unknowns = 1;
    *scratch = (struct scratch){0};
    for (int b = 0; b < space->mesh->n_blocks; b++) {
        locals = space->n_locals[b] > locals ? space->n_locals[b] : locals;
        unknowns = space->n[b] > unknowns ? space->n[b] : unknowns;
    }
    for (int32_t node = 0; node < space->n_nodes; node++) {
        int64_t n = space->place_starts[node + 1] - space->place_starts[node];
        most = n > most ? n : most;
    }
    TRY(ALLOC(scratch->nodes, most * locals));
    TRY(ALLOC(scratch->columns, most * unknowns));
done:
    return status;
}

static void scratch_destroy(struct scratch *scratch) {
    base_free(&scratch->nodes);
    base_free(&scratch->columns);
}

static facet_status assemble(const struct continuous_space *space, const struct trace_matrices *matrices,
                             int itself, struct csr *csr) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    struct base_collector failures;
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
            struct scratch scratch;
            facet_status mine = scratch_create(space, &scratch);
            base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
            for (int64_t k = 0; k < space->n_blocks; k++) {
                if (mine != FACET_OK) continue;
                if (pass == 1) {
                    fill_rows(space, &view, k, itself, &scratch, csr);
                    continue;
                }
                int64_t length = row_columns(space, k, itself, &scratch);
                for (int64_t i = space->block_offsets[k]; i < space->block_offsets[k + 1]; i++)
                    csr->offsets[i + 1] = length;
            }
            scratch_destroy(&scratch);
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
