/* The extension of least energy from the faces of coarse cells to the fine faces inside them, and the
 * element matrices of the coarse cells: on the host, a batch of coarse cells at a time, one in every lane.
 *
 * With the fine cells of a coarse cell summed up, A = K_ii (faces inside), Y = K_ib J and S = J' K_bb J, the
 * kernel batch_extend makes A^-1 Y and S - Y'A^-1 Y of them, and the extension is -A^-1 Y. Cells with fewer
 * inner faces than their neighbours in the batch have rows of the identity in A. The lanes of these batches
 * are those of the host's device; results go to the lanes of the devices that they are for. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "trace/nested.h"
#include "trace/sides.h"
#include "trace/slots.h"

struct extension {
    const struct trace_space *fine, *coarse;
    const struct mesh_nesting *nesting;
    const struct nested_faces *faces;
    const struct trace_view *view;
    struct mg_transfer *P;
    const struct device *host; /* whose kernel works, and its lanes */
    int lanes;
    double *S; /* NULL, or the coarse matrices of the block, in lanes of their own, zero before */
    int S_lanes;
    int32_t *entities; /* NULL, or the inner faces of every cell of the block, n_faces of the mesh: none */
    double *inverses;  /* and K_ii^-1, likewise */
    int inverses_lanes;
    int block, fine_block; /* of the coarse cells and their children */
    int n_faces;
    int n_children;         /* of a coarse cell, at most */
    int m, M;               /* functions of a face; times components */
    int n_inside, n_around; /* rows of A at most; columns of Y */
};

struct work {
    struct nested_side *sides;            /* n_children x n_faces, of the cell at hand */
    int *slots;                           /* likewise: the place among the inner faces; -1: none */
    int32_t *inner;                       /* lanes x (n_children x n_faces): the inner faces of every lane */
    int *n_inner;                         /* lanes */
    double *W;                            /* M x M */
    double *A, *Y, *S, *inverse, *column; /* as batch_extend wants them; inverse: NULL if nobody wants it */
};

static inline int64_t row_start(int64_t i) {
    return i * (i + 1) / 2;
}

/* The inner faces of a lane. */
static inline int32_t *inner_of(const struct extension *e, const struct work *w, int l) {
    return w->inner + (int64_t)l * e->n_children * e->n_faces;
}

static facet_status work_create(const struct extension *e, struct work *w) {
    facet_status status = FACET_OK;
    int64_t n = e->n_inside, n_sides = (int64_t)e->n_children * e->n_faces;
    *w = (struct work){0};
    TRY(ALLOC(w->sides, n_sides));
    TRY(ALLOC(w->slots, n_sides));
    TRY(ALLOC(w->inner, n_sides * e->lanes));
    TRY(ALLOC(w->n_inner, e->lanes));
    TRY(ALLOC(w->W, e->M * e->M));
    TRY(ALLOC(w->A, n * (n + 1) / 2 * e->lanes));
    TRY(ALLOC(w->Y, n * e->n_around * e->lanes));
    TRY(ALLOC(w->column, n * e->lanes));
    if (e->S != NULL) TRY(ALLOC(w->S, row_start(e->n_around) * e->lanes));
    if (e->inverses != NULL) TRY(ALLOC(w->inverse, n * (n + 1) / 2 * e->lanes));
done:
    return status;
}

static void work_destroy(struct work *w) {
    base_free(&w->sides);
    base_free(&w->slots);
    base_free(&w->inner);
    base_free(&w->n_inner);
    base_free(&w->W);
    base_free(&w->A);
    base_free(&w->Y);
    base_free(&w->S);
    base_free(&w->inverse);
    base_free(&w->column);
}

/* ------------------------------------------------------------------------------ gathering */

/* Looks at the faces of all fine cells of a coarse one. */
static void find_sides(const struct extension *e, int32_t cell, struct work *w, int l) {
    const struct mesh_nesting *nesting = e->nesting;
    int32_t first = nesting->starts[cell], n = nesting->starts[cell + 1] - first, *inner = inner_of(e, w, l);
    w->n_inner[l] = 0;
    for (int c = 0; c < n; c++)
        for (int f = 0; f < e->n_faces; f++) {
            struct nested_side *side = &w->sides[c * e->n_faces + f];
            int *slot = &w->slots[c * e->n_faces + f];
            nested_side(e->faces, nesting, nesting->children[first + c], f, side);
            *slot = -1;
            if (side->local >= 0 || e->fine->face_free[side->face] < 0) continue;
            for (*slot = 0; *slot < w->n_inner[l] && inner[*slot] != side->face;) (*slot)++;
            inner[*slot] = side->face;
            if (*slot == w->n_inner[l]) w->n_inner[l]++;
        }
}

/* Whether a component of a face on the boundary of the coarse cell follows the coarse polynomial. It does not
 * where it is given, unless the whole coarse face is eliminated, whose entries then only describe the cell.
 */
static int follows(const struct extension *e, const struct nested_side *side, int component) {
    int64_t first = e->fine->face_free[side->face];
    if (first < 0) return e->coarse->face_free[e->nesting->face_parents[side->face]] < 0;
    return e->fine->fixed == NULL || !e->fine->fixed[first + component * e->m];
}

/* W = K_fg J_g, the block of two faces of a fine cell, g being on the boundary of the coarse one. */
static void restrict_columns(const struct extension *e, const double *K, int f, int g,
                             const struct nested_side *side, double *W) {
    int m = e->m, M = e->M;
    for (int a = 0; a < M; a++)
        for (int c = 0; c < M / m; c++) {
            double *to = W + a * M + c * m;
            memset(to, 0, (size_t)m * sizeof *to);
            if (!follows(e, side, c)) continue;
            for (int i = 0; i < m; i++) {
                double entry = trace_entry(K, e->view->matrices->lanes, f * M + a, g * M + c * m + i);
                for (int j = 0; j < m; j++) to[j] += entry * side->J[i * m + j];
            }
        }
}

/* S += J_f' W, lower triangle. */
static void add_around(const struct extension *e, const struct nested_side *f, const struct nested_side *g,
                       const double *W, double *S) {
    int m = e->m, M = e->M;
    for (int c = 0; c < M / m; c++) {
        if (!follows(e, f, c)) continue;
        for (int i = 0; i < m; i++) {
            int row = f->local * M + c * m + i, column = g->local * M;
            for (int b = 0; b < M && column + b <= row; b++) {
                double sum = 0.0;
                for (int j = 0; j < m; j++) sum += f->J[j * m + i] * W[(c * m + j) * M + b];
                S[(row_start(row) + column + b) * e->lanes] += sum;
            }
        }
    }
}

/* Adds a fine cell to the lane: A, Y and S (NULL: not wanted) point to the lane's entries. */
static void add_child(const struct extension *e, const double *K, const struct nested_side *sides,
                      const int *slots, double *W, double *A, double *Y, double *S) {
    int M = e->M;
    for (int f = 0; f < e->n_faces; f++)
        for (int g = 0; g < e->n_faces; g++) {
            if (sides[g].local >= 0 && (slots[f] >= 0 || (sides[f].local >= 0 && S != NULL)))
                restrict_columns(e, K, f, g, &sides[g], W);
            if (slots[f] >= 0 && sides[g].local >= 0)
                for (int a = 0; a < M; a++)
                    for (int b = 0; b < M; b++)
                        Y[((int64_t)(slots[f] * M + a) * e->n_around + sides[g].local * M + b) * e->lanes] +=
                            W[a * M + b];
            else if (slots[f] >= 0 && slots[g] >= 0 && slots[f] >= slots[g])
                for (int a = 0; a < M; a++)
                    for (int b = 0; b < (f == g ? a + 1 : M); b++)
                        A[(row_start(slots[f] * M + a) + slots[g] * M + b) * e->lanes] +=
                            trace_entry(K, e->view->matrices->lanes, f * M + a, g * M + b);
            else if (sides[f].local >= 0 && sides[g].local >= 0 && S != NULL)
                add_around(e, &sides[f], &sides[g], W, S);
        }
}

/* The matrices of all fine cells of a coarse one. */
static void add_cell(const struct extension *e, int32_t cell, struct work *w, int l) {
    const struct mesh_nesting *nesting = e->nesting;
    const struct mesh_block *b = &e->fine->mesh->blocks[e->fine_block];
    int32_t first = nesting->starts[cell], n = nesting->starts[cell + 1] - first;
    find_sides(e, cell, w, l);
    for (int c = 0; c < n; c++)
        add_child(e, trace_view_cell(e->view, e->fine_block, nesting->children[first + c] - b->first),
                  w->sides + c * e->n_faces, w->slots + c * e->n_faces, w->W, w->A + l, w->Y + l,
                  w->S != NULL ? w->S + l : NULL);
}

/* ------------------------------------------------------------------------------ batches */

/* Unknowns whose value is given have nothing but a diagonal, as large as that of the others. */
static void complete_fixed(const struct extension *e, int32_t cell, double *S) {
    const struct mesh_block *b = &e->coarse->mesh->blocks[e->block];
    const int32_t *faces = b->faces + (int64_t)(cell - b->first) * e->n_faces;
    double largest = 0.0;
    for (int i = 0; i < e->n_around; i++) largest = fmax(largest, S[(row_start(i) + i) * e->lanes]);
    for (int i = 0; i < e->n_around && e->coarse->fixed != NULL; i++) {
        int64_t first = e->coarse->face_free[faces[i / e->M]];
        if (first >= 0 && e->coarse->fixed[first + i % e->M])
            S[(row_start(i) + i) * e->lanes] = largest > 0.0 ? largest : 1.0;
    }
}

/* The rows of P on the inner faces of a coarse cell. */
static void write_rows(const struct extension *e, int32_t cell, const struct work *w, int l) {
    const struct mesh_block *b = &e->coarse->mesh->blocks[e->block];
    const int32_t *faces = b->faces + (int64_t)(cell - b->first) * e->n_faces;
    int M = e->M;
    for (int row = 0; row < w->n_inner[l] * M; row++) {
        int64_t to = e->fine->face_free[inner_of(e, w, l)[row / M]] + row % M, at = e->P->offsets[to];
        const double *from = w->Y + (int64_t)row * e->n_around * e->lanes + l;
        if (at == e->P->offsets[to + 1]) continue; /* given */
        for (int f = 0; f < e->n_faces; f++)
            for (int i = 0; i < M && e->coarse->face_free[faces[f]] >= 0; i++, at++) {
                e->P->columns[at] = (int32_t)(e->coarse->face_free[faces[f]] + i);
                e->P->values[at] = -from[(f * M + i) * e->lanes];
            }
    }
}

/* The first n numbers of one lane of a batch to the lanes of an array with `size` numbers a cell. */
static void move_lane(const struct extension *e, const double *from, int l, int64_t n, int64_t cell,
                      int64_t size, int lanes, double *to) {
    to += cell / lanes * size * lanes + cell % lanes;
    for (int64_t i = 0; i < n; i++) to[i * lanes] = from[i * e->lanes + l];
}

/* What the batch has made of one cell (counted in its block) goes where it belongs; n: rows of A. */
static void store_cell(const struct extension *e, struct work *w, int l, int64_t cell, int n) {
    int32_t number = e->coarse->mesh->blocks[e->block].first + (int32_t)cell;
    int n_inner = e->n_inside / e->M;
    write_rows(e, number, w, l);
    if (e->S != NULL) {
        complete_fixed(e, number, w->S + l);
        move_lane(e, w->S, l, row_start(e->n_around), cell, row_start(e->n_around), e->S_lanes, e->S);
    }
    if (e->inverses == NULL) return;
    move_lane(e, w->inverse, l, row_start(n), cell, row_start(e->n_inside), e->inverses_lanes, e->inverses);
    for (int i = 0; i < n_inner; i++)
        e->entities[cell * n_inner + i] = i < w->n_inner[l] ? inner_of(e, w, l)[i] : e->fine->mesh->n_faces;
}

static facet_status extend_batch(const struct extension *e, int64_t batch, struct work *w) {
    const struct mesh_block *b = &e->coarse->mesh->blocks[e->block];
    const int L = e->lanes, width = e->n_around;
    int n = 0, lanes = b->count - batch * L < L ? (int)(b->count - batch * L) : L;
    memset(w->A, 0, (size_t)(row_start(e->n_inside) * L) * sizeof *w->A);
    memset(w->Y, 0, (size_t)((int64_t)e->n_inside * width * L) * sizeof *w->Y);
    if (w->S != NULL) memset(w->S, 0, (size_t)(row_start(width) * L) * sizeof *w->S);
    for (int l = 0; l < lanes; l++) {
        add_cell(e, b->first + (int32_t)batch * L + l, w, l);
        if (w->n_inner[l] * e->M > n) n = w->n_inner[l] * e->M;
    }
    for (int l = 0; l < L; l++)
        for (int i = l < lanes ? w->n_inner[l] * e->M : 0; i < n; i++) w->A[(row_start(i) + i) * L + l] = 1.0;
    if (!device_batch_extend(e->host, L, n, width, w->A, w->Y, w->S, w->inverse, w->column))
        return base_fail(FACET_NOT_CONVERGED,
                         "the matrix is not positive definite: faces inside the coarse cells from %d on",
                         (int)(b->first + batch * L));
    for (int l = 0; l < lanes; l++) store_cell(e, w, l, batch * L + l, n);
    return FACET_OK;
}

static facet_status extend_block(const struct extension *e) {
    struct base_collector failures;
    int64_t n_batches = trace_n_batches(e->host, e->coarse->mesh, e->block);
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads_for(n_batches *row_start(e->n_around) * e->lanes))
    {
        struct work w;
        facet_status mine = work_create(e, &w);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int64_t batch = 0; batch < n_batches; batch++) {
            if (mine != FACET_OK) continue;
            mine = extend_batch(e, batch, &w);
            base_collect(&failures, (int)batch, mine);
        }
        work_destroy(&w);
    }
    return base_collected(&failures);
}

/* The most children and inner faces a cell of the block has. */
static void measure_block(struct extension *e) {
    const struct mesh_block *b = &e->coarse->mesh->blocks[e->block];
    const struct mesh_nesting *nesting = e->nesting;
    e->n_faces = shape_n_faces(b->shape);
    for (int k = 0; k < e->fine->mesh->n_blocks; k++)
        if (e->fine->mesh->blocks[k].shape == b->shape) e->fine_block = k;
    e->M = trace_cell_size(e->coarse, e->block) / e->n_faces;
    e->m = e->M / e->coarse->n_components;
    e->n_around = e->n_faces * e->M;
    e->n_children = e->n_inside = 0;
    for (int32_t c = b->first; c < b->first + b->count; c++) {
        int n = nesting->starts[c + 1] - nesting->starts[c], n_sides = 0;
        for (int i = 0; i < n; i++)
            for (int f = 0; f < e->n_faces; f++) {
                int kind = nesting->kinds[nesting->children[nesting->starts[c] + i]];
                n_sides += nesting->faces[kind * SHAPE_MAX_FACES + f] < 0;
            }
        if (n > e->n_children) e->n_children = n;
        if (n_sides / 2 * e->M > e->n_inside) e->n_inside = n_sides / 2 * e->M;
    }
}

/* ------------------------------------------------------------------------------ rows of P */

/* Entries of row i (component and function) of a free fine face. */
static int64_t count_entries(const struct extension *e, int32_t face, int M, int i) {
    const struct facet_mesh *mesh = e->fine->mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    int64_t first = e->fine->face_free[face], n = 0;
    int m = M / e->fine->n_components;
    struct nested_side side;
    if (e->fine->fixed != NULL && e->fine->fixed[first + i]) return 0;
    nested_side(e->faces, e->nesting, cell, mesh->face_locals[2 * (int64_t)face], &side);
    if (side.local >= 0) {
        for (int j = 0; j < m; j++) n += side.J[i % m * m + j] != 0.0;
        return n;
    }
    int32_t parent = e->nesting->parents[cell];
    const struct mesh_block *b = mesh_block_of(e->coarse->mesh, parent);
    for (int f = 0; f < shape_n_faces(b->shape); f++)
        if (e->coarse->face_free[b->faces[(int64_t)(parent - b->first) * shape_n_faces(b->shape) + f]] >= 0)
            n += M;
    return n;
}

/* The rows of the fine faces on coarse faces. */
static void write_restrictions(const struct extension *e) {
    const struct facet_mesh *mesh = e->fine->mesh;
    int nc = e->fine->n_components;
#pragma omp parallel for num_threads(base_threads_for(e->fine->n_free)) schedule(static)
    for (int64_t b = 0; b < e->fine->n_free_faces; b++) {
        int32_t face = e->fine->free_faces[b];
        int64_t first = e->fine->free_offsets[b], m = (e->fine->free_offsets[b + 1] - first) / nc;
        struct nested_side side;
        if (e->nesting->face_parents[face] < 0) continue;
        nested_side(e->faces, e->nesting, mesh->face_cells[2 * (int64_t)face],
                    mesh->face_locals[2 * (int64_t)face], &side);
        int64_t to = e->coarse->face_free[e->nesting->face_parents[face]];
        for (int64_t i = 0; i < m * nc; i++) {
            int64_t at = e->P->offsets[first + i];
            if (at == e->P->offsets[first + i + 1]) continue;
            for (int64_t j = 0; j < m; j++) {
                if (side.J[i % m * m + j] == 0.0) continue;
                e->P->columns[at] = (int32_t)(to + i / m * m + j);
                e->P->values[at++] = side.J[i % m * m + j];
            }
        }
    }
}

static facet_status make_rows(const struct extension *e) {
    facet_status status = FACET_OK;
    struct mg_transfer *P = e->P;
    TRY(ALLOC(P->offsets, P->n_rows + 1));
    P->offsets[0] = 0;
#pragma omp parallel for num_threads(base_threads_for(P->n_rows)) schedule(static)
    for (int64_t b = 0; b < e->fine->n_free_faces; b++) {
        int64_t first = e->fine->free_offsets[b], M = e->fine->free_offsets[b + 1] - first;
        for (int64_t i = 0; i < M; i++)
            P->offsets[first + i + 1] = count_entries(e, e->fine->free_faces[b], (int)M, (int)i);
    }
    base_sum_up(P->n_rows, P->offsets);
    TRY(ALLOC(P->columns, P->offsets[P->n_rows]));
    TRY(ALLOC(P->values, P->offsets[P->n_rows]));
    write_restrictions(e);
done:
    return status;
}

/* ------------------------------------------------------------------------------ inner faces */

/* What becomes the operator of the inner faces. */
struct inner {
    int sizes[MESH_MAX_BLOCKS];
    int32_t *entities[MESH_MAX_BLOCKS];
    double *inverses[MESH_MAX_BLOCKS];
};

static void inner_destroy(struct inner *inner) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        base_free(&inner->entities[b]);
        base_free(&inner->inverses[b]);
    }
}

/* Room for the block at hand, in the lanes of the device. */
static facet_status inner_alloc(struct extension *e, const struct device *device, struct inner *inner) {
    facet_status status = FACET_OK;
    int64_t count = e->coarse->mesh->blocks[e->block].count;
    inner->sizes[e->block] = e->n_inside;
    TRY(ALLOC(inner->entities[e->block], count * (e->n_inside / e->M)));
    e->inverses_lanes = device_lanes(device);
    TRY(CALLOC(inner->inverses[e->block], trace_n_batches(device, e->coarse->mesh, e->block) *
                                              row_start(e->n_inside) * e->inverses_lanes));
    e->entities = inner->entities[e->block];
    e->inverses = inner->inverses[e->block];
done:
    return status;
}

static facet_status inner_operator(const struct extension *e, const struct device *device,
                                   const struct inner *inner, struct linear_operator *A) {
    facet_status status = FACET_OK;
    struct trace_matrices matrices = {0};
    struct trace_slots slots = {.n_entities = (int64_t)e->fine->mesh->n_faces + 1};
    int64_t *first = NULL;
    TRY(ALLOC(first, slots.n_entities));
    memcpy(first, e->fine->face_free, (size_t)e->fine->mesh->n_faces * sizeof *first);
    first[e->fine->mesh->n_faces] = -1;
    slots.first = first;
    TRY(trace_matrices_create_sized(device, e->coarse->mesh, inner->sizes, &matrices));
    for (int b = 0; b < matrices.n_blocks; b++) {
        int M = trace_cell_size(e->coarse, b) / shape_n_faces(e->coarse->mesh->blocks[b].shape);
        int64_t count = matrices.n_batches[b] * row_start(inner->sizes[b]) * matrices.lanes;
        slots.count[b] = e->coarse->mesh->blocks[b].count;
        slots.n_slots[b] = inner->sizes[b] / M;
        slots.entities[b] = inner->entities[b];
        TRY(device_upload(device, matrices.values[b], inner->inverses[b],
                          (size_t)count * sizeof *inner->inverses[b]));
    }
    TRY(trace_slots_operator(&slots, &matrices, e->fine->n_free, A));
    trace_operator_own(A, &matrices);
done:
    base_free(&first);
    trace_matrices_destroy(&matrices);
    return status;
}

facet_status trace_nested_create(const struct trace_space *fine, const struct trace_matrices *matrices,
                                 const struct mesh_nesting *nesting, const struct trace_space *coarse,
                                 const struct device *device, struct mg_transfer *P,
                                 struct trace_matrices *coarse_matrices, struct linear_operator *inner) {
    facet_status status = FACET_OK;
    struct nested_faces faces = {0};
    struct trace_view view = {.matrices = matrices};
    struct extension e = {
        .fine = fine, .coarse = coarse, .nesting = nesting, .faces = &faces, .view = &view, .P = P};
    struct inner inside = {0};
    *P = (struct mg_transfer){.n_rows = fine->n_free, .n_columns = coarse->n_free};
    if (coarse_matrices != NULL) *coarse_matrices = (struct trace_matrices){0};
    e.host = device_of_host(matrices->device);
    e.lanes = device_lanes(e.host);
    e.S_lanes = device_lanes(device);
    TRY(nested_faces_create(fine, nesting, &faces));
    TRY(make_rows(&e));
    TRY(trace_view_open(matrices, &view));
    if (coarse_matrices != NULL) TRY(trace_matrices_create(device, coarse, 0, coarse_matrices));
    for (e.block = 0; e.block < coarse->mesh->n_blocks; e.block++) {
        measure_block(&e);
        int64_t count = trace_n_batches(device, coarse->mesh, e.block) * row_start(e.n_around) * e.S_lanes;
        if (coarse_matrices != NULL) TRY(CALLOC(e.S, count));
        if (inner != NULL) TRY(inner_alloc(&e, matrices->device, &inside));
        TRY(extend_block(&e));
        if (coarse_matrices != NULL)
            TRY(device_upload(device, coarse_matrices->values[e.block], e.S, (size_t)count * sizeof *e.S));
        base_free(&e.S);
    }
    if (inner != NULL) TRY(inner_operator(&e, matrices->device, &inside, inner));
done:
    trace_view_close(&view);
    inner_destroy(&inside);
    nested_faces_destroy(&faces);
    base_free(&e.S);
    if (status != FACET_OK) {
        mg_transfer_destroy(P);
        if (coarse_matrices != NULL) trace_matrices_destroy(coarse_matrices);
    }
    return status;
}
