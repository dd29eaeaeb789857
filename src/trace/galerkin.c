/* Coarse matrices P'KP cell by cell: every cell contributes P_e'K_e P_e, P_e being the rows of P on its
 * faces. K itself is never assembled. */
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "trace/pmg_parts.h"
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

#define BUCKETS 8192 /* a power of two, more than there are local columns */

struct work {
    struct cell_rows rows;
    int64_t cell; /* how many were gathered */
    struct {
        int64_t cell; /* of another one: the bucket is empty */
        int column;
    } * buckets; /* where the coarse unknowns of a cell are found again */
    double *row; /* K_e P_e, one row */
};
_Static_assert(BUCKETS > MAX_LOCAL, "there must be an empty bucket");

static facet_status work_create(int n, struct work *w) {
    facet_status status = FACET_OK;
    *w = (struct work){0};
    TRY(ALLOC(w->rows.row, n));
    TRY(ALLOC(w->rows.start, n + 1));
    TRY(ALLOC(w->rows.column, MAX_LOCAL * 4));
    TRY(ALLOC(w->rows.value, MAX_LOCAL * 4));
    TRY(ALLOC(w->rows.unknown, MAX_LOCAL));
    TRY(CALLOC(w->buckets, BUCKETS));
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
    base_free(&w->buckets);
    base_free(&w->row);
}

static int local_column(struct work *w, int32_t unknown) {
    struct cell_rows *r = &w->rows;
    unsigned b = (unsigned)unknown % BUCKETS;
    for (; w->buckets[b].cell == w->cell; b = (b + 1) % BUCKETS)
        if (r->unknown[w->buckets[b].column] == unknown) return w->buckets[b].column;
    w->buckets[b].cell = w->cell;
    w->buckets[b].column = r->n_columns;
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
    w->cell++;
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

/* Cells first .. end - 1 of a block, and their matrices; K NULL: unknowns are counted into e->starts, else e
 * is filled. */
struct cell_range {
    int block;
    int32_t first, end;
    const double *K;
    int64_t size; /* of the triangle of a cell */
    int lanes;
};

static facet_status take_cells(const struct trace_space *space, const struct cell_range *range,
                               const struct mg_transfer *P, struct csr_elements *e) {
    const int32_t block_first = space->mesh->blocks[range->block].first;
    struct base_collector failures;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        struct work w;
        facet_status mine = work_create(largest_cell(space), &w);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(guided)
        for (int32_t i = range->first; i < range->end; i++) {
            const int64_t c = block_first + i, at = i - range->first;
            if (mine != FACET_OK) continue;
            if (!gather(space, P, range->block, i, &w)) {
                mine = base_fail(FACET_ERROR_INPUT, "cell %lld meets too many coarse unknowns", (long long)c);
                base_collect(&failures, c, mine);
                continue;
            }
            if (range->K == NULL) {
                e->starts[c + 1] = w.rows.n_columns;
                continue;
            }
            memcpy(e->unknowns + e->starts[c], w.rows.unknown,
                   (size_t)w.rows.n_columns * sizeof *e->unknowns);
            multiply(range->K + at / range->lanes * range->size * range->lanes + at % range->lanes,
                     range->lanes, &w, e->matrices + e->matrix_starts[c]);
        }
        work_destroy(&w);
    }
    return base_collected(&failures);
}

/* Matrices that the host has not looked at come in pieces, through a buffer that is used again: new pages cost more
 * than the copy (20 480 tets, rigid motions of faces: 0.09 s of a set-up). */
#define PIECE_BYTES ((int64_t)16 << 20)

static facet_status take_pieces(const struct trace_space *space, const struct trace_matrices *matrices,
                                struct cell_range range, const struct mg_transfer *P,
                                struct csr_elements *e) {
    facet_status status = FACET_OK;
    const int32_t all = range.end;
    const int64_t batch = range.size * range.lanes;
    const int64_t batches = batch < PIECE_BYTES / 8 ? PIECE_BYTES / 8 / batch : 1;
    double *room = NULL;
    TRY(device_alloc_room(matrices->device, &room, (size_t)(batches * batch), sizeof *room));
    for (int64_t first = 0; first < all; first += batches * range.lanes) {
        range.first = (int32_t)first;
        range.end = first + batches * range.lanes < all ? (int32_t)(first + batches * range.lanes) : all;
        const int64_t there = (range.end - range.first + range.lanes - 1) / range.lanes;
        TRY(device_see(matrices->device, matrices->values[range.block] + first / range.lanes * batch,
                       (size_t)(there * batch) * sizeof *room, room, (const void **)&range.K));
        TRY(take_cells(space, &range, P, e));
    }
done:
    base_free(&room);
    return status;
}

facet_status trace_galerkin(const struct trace_space *space, const struct trace_matrices *matrices,
                            const struct mg_transfer *P, struct csr *csr) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    const int in_pieces = matrices->kept == NULL;
    int64_t n_cells = space->mesh->n_cells;
    struct csr_elements e = {.n = P->n_columns, .n_elements = n_cells};
    *csr = (struct csr){0};
    TRY(ALLOC(e.starts, n_cells + 1));
    TRY(ALLOC(e.matrix_starts, n_cells + 1));
    e.starts[0] = e.matrix_starts[0] = 0;
    if (!in_pieces) TRY(trace_view_open(matrices, &view));
    for (int filling = 0; filling < 2; filling++) {
        for (int b = 0; b < space->mesh->n_blocks; b++) {
            struct cell_range range = {.block = b,
                                       .end = space->mesh->blocks[b].count,
                                       .size = trace_matrix_size(matrices, b),
                                       .lanes = matrices->lanes};
            if (filling && !in_pieces) range.K = view.values[b];
            TRY(filling && in_pieces ? take_pieces(space, matrices, range, P, &e)
                                     : take_cells(space, &range, P, &e));
        }
        if (filling) continue;
        for (int64_t c = 0; c < n_cells; c++) {
            int64_t n = e.starts[c + 1];
            e.matrix_starts[c + 1] = e.matrix_starts[c] + n * (n + 1) / 2;
            e.starts[c + 1] += e.starts[c];
        }
        TRY(ALLOC(e.unknowns, e.starts[n_cells]));
        TRY(ALLOC(e.matrices, e.matrix_starts[n_cells]));
    }
    trace_view_close(&view);
    TRY(csr_from_elements(&e, csr));
done:
    trace_view_close(&view);
    csr_elements_destroy(&e);
    return status;
}

/* ---------------------------------------------------------------------------------- vertices of simplices */

#define CORNERS 4  /* of a cell, at most */
#define MOST    12 /* functions of degree 1 on all its faces */

/* The hats of a cell on a face, by faces and orientations: function x corner of the cell. */
struct hat_tables {
    int n_corners, n_faces, n_functions; /* functions of a face that have degree 1 */
    double values[CORNERS][8][3][CORNERS];
};

static facet_status hat_tables_create(enum shape shape, struct hat_tables *t) {
    facet_status status = FACET_OK;
    enum shape face = shape_face_shape(shape, 0);
    int n = shape_n_vertices(face);
    double *hats = NULL;
    TRY(trace_hats(face, &hats));
    *t = (struct hat_tables){
        .n_corners = shape_n_vertices(shape), .n_faces = shape_n_faces(shape), .n_functions = n};
    for (int f = 0; f < t->n_faces; f++)
        for (int o = 0; o < shape_n_orientations(face); o++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    t->values[f][o][i][shape_face_vertices(shape, f)[shape_permutation(face, o)[j]]] =
                        hats[i * n + j];
done:
    base_free(&hats);
    return status;
}

/* The lower triangle of P_e'K_e P_e, all corners; m: unknowns of a face. */
static void multiply_hats(const struct hat_tables *t, const double *K, int lanes, int m,
                          const uint8_t *orientations, double *packed) {
    const int n = t->n_faces * t->n_functions, corners = t->n_corners;
    const double(*P[MOST])[CORNERS];
    double KP[MOST][CORNERS];
    int row[MOST];
    for (int i = 0; i < n; i++) {
        int f = i / t->n_functions;
        P[i] = &t->values[f][orientations[f]][i % t->n_functions];
        row[i] = f * m + i % t->n_functions;
    }
    for (int i = 0; i < n; i++) {
        for (int v = 0; v < CORNERS; v++) KP[i][v] = 0.0;
        for (int j = 0; j < n; j++) {
            double entry = trace_entry(K, lanes, row[i], row[j]);
            for (int v = 0; v < CORNERS; v++) KP[i][v] += entry * (*P[j])[v];
        }
    }
    for (int a = 0; a < corners; a++)
        for (int b = 0; b <= a; b++, packed++) {
            *packed = 0.0;
            for (int i = 0; i < n; i++) *packed += (*P[i])[a] * KP[i][b];
        }
}

/* The matrix of one cell, nc unknowns a corner, entries `step` apart, without the corners that have no
 * column. */
static void put_vertices(const struct mesh_block *block, const struct hat_tables *t, int64_t cell,
                         const int32_t *columns, int nc, int step, const double *packed,
                         struct csr_elements *e) {
    const int32_t *vertices = block->vertices + cell * t->n_corners;
    int32_t *unknowns = e->unknowns + e->starts[block->first + cell];
    double *to = e->matrices + e->matrix_starts[block->first + cell];
    for (int a = 0; a < t->n_corners * nc; a++) {
        const int32_t column = columns[vertices[a / nc]];
        if (column < 0) {
            packed += (a + 1) * step;
            continue;
        }
        *unknowns++ = column + a % nc;
        for (int b = 0; b <= a; b++, packed += step)
            if (columns[vertices[b / nc]] >= 0) *to++ = *packed;
    }
}

static facet_status vertex_elements(const struct trace_space *space, const struct trace_view *view, int block,
                                    const int32_t *columns, struct csr_elements *e) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    struct hat_tables t;
    facet_status status = hat_tables_create(b->shape, &t);
    if (status != FACET_OK) return status;
    const int m = view->matrices->n[block] / t.n_faces;
#pragma omp parallel for num_threads(base_threads_for(b->count)) schedule(static)
    for (int32_t c = 0; c < b->count; c++) {
        double packed[CORNERS * (CORNERS + 1) / 2];
        base_tell_at(c);
        multiply_hats(&t, trace_view_cell(view, block, c), view->matrices->lanes, m,
                      b->orientations + (int64_t)c * t.n_faces, packed);
        put_vertices(b, &t, c, columns, 1, 1, packed, e);
    }
    return FACET_OK;
}

/* The hats of the cells of a block as the kernel cell_corners wants them: faces x 8 x dim x corners. */
static facet_status put_hats(const struct device *device, int dim, const struct hat_tables *t,
                             double **there) {
    double host[CORNERS * 8 * 3 * CORNERS] = {0};
    const int n = t->n_corners;
    for (int f = 0; f < t->n_faces; f++)
        for (int o = 0; o < 8; o++)
            for (int i = 0; i < dim; i++)
                for (int v = 0; v < n; v++) host[((f * 8 + o) * dim + i) * n + v] = t->values[f][o][i][v];
    return device_copy(device, there, host, (size_t)(t->n_faces * 8 * dim * n), sizeof *host);
}

static facet_status put_orientations(const struct trace_matrices *matrices, const struct mesh_block *b,
                                     int64_t n_batches, uint8_t **there) {
    facet_status status = FACET_OK;
    const int lanes = matrices->lanes, n_faces = shape_n_faces(b->shape);
    uint8_t *host = NULL;
    TRY(CALLOC(host, n_batches * n_faces * lanes));
#pragma omp parallel for num_threads(base_threads_for(b->count)) schedule(static)
    for (int64_t c = 0; c < b->count; c++)
        for (int f = 0; f < n_faces; f++)
            host[(c / lanes * n_faces + f) * lanes + c % lanes] = b->orientations[c * n_faces + f];
    TRY(device_copy(matrices->device, there, host, (size_t)(n_batches * n_faces * lanes), 1));
done:
    base_free(&host);
    return status;
}

/* The same on a device, which sends the few numbers that are left of every cell. */
static facet_status vertex_elements_there(const struct trace_space *space,
                                          const struct trace_matrices *matrices, int block,
                                          const int32_t *columns, struct csr_elements *e) {
    facet_status status = FACET_OK;
    const struct device *device = matrices->device;
    const struct mesh_block *b = &space->mesh->blocks[block];
    const int lanes = matrices->lanes, dim = space->mesh->dim, nc = space->n_components, n = (dim + 1) * nc,
              size = n * (n + 1) / 2;
    const int64_t n_batches = matrices->n_batches[block], count = n_batches * size * lanes;
    struct hat_tables t;
    double *hats = NULL, *there = NULL, *host = NULL;
    uint8_t *orientations = NULL;
    if (b->count == 0) return FACET_OK;
    TRY(hat_tables_create(b->shape, &t));
    TRY(put_hats(device, dim, &t, &hats));
    TRY(put_orientations(matrices, b, n_batches, &orientations));
    TRY(device_alloc(device, &there, (size_t)count, sizeof *there));
    TRY(ALLOC(host, count));
    device_cell_corners(device, lanes, n_batches, dim, nc, matrices->n[block] / t.n_faces / nc, orientations,
                        hats, matrices->values[block], there);
    TRY(device_download(device, host, there, (size_t)count * sizeof *host));
#pragma omp parallel for num_threads(base_threads_for(b->count)) schedule(static)
    for (int64_t c = 0; c < b->count; c++)
        put_vertices(b, &t, c, columns, nc, lanes, host + c / lanes * size * lanes + c % lanes, e);
done:
    device_free(device, &hats);
    device_free(device, &orientations);
    device_free(device, &there);
    base_free(&host);
    return status;
}

/* Where the unknowns and the matrix of every cell begin: e->starts, e->matrix_starts. */
static void count_vertices(const struct facet_mesh *mesh, const int32_t *columns, int nc,
                           struct csr_elements *e) {
    for (int k = 0; k < mesh->n_blocks; k++) {
        const struct mesh_block *b = &mesh->blocks[k];
        const int n_vertices = shape_n_vertices(b->shape);
#pragma omp parallel for num_threads(base_threads_for(b->count)) schedule(static)
        for (int64_t c = 0; c < b->count; c++) {
            int n = 0;
            for (int v = 0; v < n_vertices; v++) n += columns[b->vertices[c * n_vertices + v]] >= 0 ? nc : 0;
            e->starts[b->first + c + 1] = n;
        }
    }
    for (int64_t c = 0; c < mesh->n_cells; c++) {
        const int64_t n = e->starts[c + 1];
        e->starts[c + 1] += e->starts[c];
        e->matrix_starts[c + 1] = e->matrix_starts[c] + n * (n + 1) / 2;
    }
}

facet_status trace_galerkin_vertices(const struct trace_space *space, const struct trace_matrices *matrices,
                                     int64_t n_columns, const int32_t *columns, struct csr *csr) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    struct trace_view view = {.matrices = matrices};
    struct csr_elements e = {.n = n_columns, .n_elements = mesh->n_cells};
    static const char *const kernels[] = {"cell_corners", NULL};
    const int there = device_takes_over(matrices->device, kernels);
    *csr = (struct csr){0};
    TRY(ALLOC(e.starts, (int64_t)mesh->n_cells + 1));
    TRY(ALLOC(e.matrix_starts, (int64_t)mesh->n_cells + 1));
    e.starts[0] = e.matrix_starts[0] = 0;
    count_vertices(mesh, columns, space->n_components, &e);
    TRY(ALLOC(e.unknowns, e.starts[mesh->n_cells]));
    TRY(ALLOC(e.matrices, e.matrix_starts[mesh->n_cells]));
    if (!there) TRY(trace_view_open(matrices, &view));
    for (int b = 0; b < mesh->n_blocks; b++)
        TRY(there ? vertex_elements_there(space, matrices, b, columns, &e)
                  : vertex_elements(space, &view, b, columns, &e));
    trace_view_close(&view);
    TRY(csr_from_elements(&e, csr));
done:
    trace_view_close(&view);
    csr_elements_destroy(&e);
    return status;
}
