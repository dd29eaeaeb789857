/* Coarse matrices P'KP cell by cell: every cell contributes P_e'K_e P_e, P_e being the rows of P on its
 * faces. K itself is never assembled. */
#include <string.h>

#include "base/memory.h"
#include "trace/coarse.h"
#include "trace/sides.h"

/* Coarse unknowns that a cell can meet. */
#define MAX_LOCAL 4096

/* The rows of P on the faces of a cell, in compressed form, with local column numbers. */
struct cell_rows {
    int n_rows, n_entries, n_columns;
    int *row, *start; /* place in the element matrix; first entry, n_rows + 1 */
    int *column;
    double *value;
    int32_t *unknown; /* of each local column */
};

struct work {
    struct cell_rows rows;
    int32_t *stamp; /* of all coarse unknowns: the local number, valid when it points back */
    double *row;    /* K_e P_e, one row */
};

static facet_status work_create(int n, int64_t n_coarse, struct work *w) {
    facet_status status = FACET_OK;
    *w = (struct work){0};
    TRY(ALLOC(w->rows.row, n));
    TRY(ALLOC(w->rows.start, n + 1));
    TRY(ALLOC(w->rows.column, MAX_LOCAL * 4));
    TRY(ALLOC(w->rows.value, MAX_LOCAL * 4));
    TRY(ALLOC(w->rows.unknown, MAX_LOCAL));
    TRY(CALLOC(w->stamp, n_coarse));
    TRY(ALLOC(w->row, MAX_LOCAL));
done:
    return status;
}

static void work_destroy(struct work *w) {
    base_free(&w->rows.row);
    base_free(&w->rows.start);
    base_free(&w->rows.column);
    base_free(&w->rows.value);
    base_free(&w->rows.unknown);
    base_free(&w->stamp);
    base_free(&w->row);
}

static int local_column(struct work *w, int32_t unknown) {
    struct cell_rows *r = &w->rows;
    int at = w->stamp[unknown];
    if (at < r->n_columns && r->unknown[at] == unknown) return at;
    w->stamp[unknown] = r->n_columns;
    r->unknown[r->n_columns] = unknown;
    return r->n_columns++;
}

/* Gathers; 0 when the cell meets more than the scratch has room for. */
static int gather(const struct trace_space *space, const struct mg_transfer *P, int block, int32_t cell,
                  struct work *w) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    struct cell_rows *r = &w->rows;
    int n_faces = shape_n_faces(b->shape), place = 0;
    r->n_rows = r->n_entries = r->n_columns = 0;
    for (int f = 0; f < n_faces; f++) {
        int32_t face = b->faces[(int64_t)cell * n_faces + f];
        int size = (int)(space->face_first[face + 1] - space->face_first[face]);
        for (int i = 0; i < size && space->face_free[face] >= 0; i++) {
            int64_t row = space->face_free[face] + i;
            if (P->offsets[row] == P->offsets[row + 1]) continue;
            r->row[r->n_rows] = place + i;
            r->start[r->n_rows++] = r->n_entries;
            for (int64_t k = P->offsets[row]; k < P->offsets[row + 1]; k++) {
                if (r->n_columns == MAX_LOCAL || r->n_entries == 4 * MAX_LOCAL) return 0;
                r->column[r->n_entries] = local_column(w, P->columns[k]);
                r->value[r->n_entries++] = P->values[k];
            }
        }
        place += size;
    }
    r->start[r->n_rows] = r->n_entries;
    return 1;
}

/* The lower triangle of P_e'K_e P_e. */
static void multiply(const double *K, int lanes, struct work *w, double *packed) {
    const struct cell_rows *r = &w->rows;
    int n = r->n_columns;
    memset(packed, 0, (size_t)(n * (n + 1) / 2) * sizeof *packed);
    for (int i = 0; i < r->n_rows; i++) {
        memset(w->row, 0, (size_t)n * sizeof *w->row);
        for (int j = 0; j < r->n_rows; j++) {
            double entry = trace_entry(K, lanes, r->row[i], r->row[j]);
            for (int k = r->start[j]; k < r->start[j + 1]; k++) w->row[r->column[k]] += entry * r->value[k];
        }
        for (int k = r->start[i]; k < r->start[i + 1]; k++) {
            int a = r->column[k];
            double factor = r->value[k], *to = packed + (int64_t)a * (a + 1) / 2;
            for (int c = 0; c <= a; c++) to[c] += factor * w->row[c];
        }
    }
}

static int largest_cell(const struct trace_space *space) {
    int n = 0;
    for (int b = 0; b < space->mesh->n_blocks; b++)
        if (trace_cell_size(space, b) > n) n = trace_cell_size(space, b);
    return n;
}

/* Pass 0 counts unknowns into e->starts, pass 1 fills. */
static facet_status for_all_cells(const struct trace_space *space, const struct trace_view *view,
                                  const struct mg_transfer *P, int pass, struct csr_elements *e) {
    struct base_collector failures;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        struct work w;
        facet_status mine = work_create(largest_cell(space), P->n_columns, &w);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int32_t c = 0; c < space->mesh->n_cells; c++) {
            const struct mesh_block *block = mesh_block_of(space->mesh, c);
            int b = (int)(block - space->mesh->blocks);
            if (mine != FACET_OK) continue;
            if (!gather(space, P, b, c - block->first, &w)) {
                mine = base_fail(FACET_ERROR_INPUT, "cell %d meets too many coarse unknowns", (int)c);
                base_collect(&failures, c, mine);
                continue;
            }
            if (pass == 0) {
                e->starts[c + 1] = w.rows.n_columns;
                continue;
            }
            memcpy(e->unknowns + e->starts[c], w.rows.unknown,
                   (size_t)w.rows.n_columns * sizeof *e->unknowns);
            multiply(trace_view_cell(view, b, c - block->first), view->matrices->lanes, &w,
                     e->matrices + e->matrix_starts[c]);
        }
        work_destroy(&w);
    }
    return base_collected(&failures);
}

facet_status trace_galerkin(const struct trace_space *space, const struct trace_matrices *matrices,
                            const struct mg_transfer *P, struct csr *csr) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    int64_t n_cells = space->mesh->n_cells;
    struct csr_elements e = {.n = P->n_columns, .n_elements = n_cells};
    *csr = (struct csr){0};
    TRY(ALLOC(e.starts, n_cells + 1));
    TRY(ALLOC(e.matrix_starts, n_cells + 1));
    e.starts[0] = e.matrix_starts[0] = 0;
    TRY(for_all_cells(space, NULL, P, 0, &e));
    for (int64_t c = 0; c < n_cells; c++) {
        int64_t n = e.starts[c + 1];
        e.matrix_starts[c + 1] = e.matrix_starts[c] + n * (n + 1) / 2;
        e.starts[c + 1] += e.starts[c];
    }
    TRY(ALLOC(e.unknowns, e.starts[n_cells]));
    TRY(ALLOC(e.matrices, e.matrix_starts[n_cells]));
    TRY(trace_view_open(matrices, &view));
    TRY(for_all_cells(space, &view, P, 1, &e));
    trace_view_close(&view);
    TRY(csr_from_elements(&e, csr));
done:
    trace_view_close(&view);
    csr_elements_destroy(&e);
    return status;
}
