/* The trace matrix as an operator in its four forms. */
#include <string.h>

#include "base/memory.h"
#include "trace/sides.h"

#define MAX_COLOURS 64
#define NO_COLOUR   255
#define MIN_RUNS                                                                                             \
    64 /* runs of batches a block has at least, if it has as many batches: work for all threads */

/* What an operator owns; pointers inside the plans are device addresses, except the colours. */
struct product {
    enum trace_form form;
    double bytes;
    int n_blocks;
    struct cell_plan cells[MESH_MAX_BLOCKS];
    struct facet_plan facets;
    int width;
    int32_t *columns;
    double *values;
    struct operator csr;
};

static void free_constant(const struct device *device, const void *pointer) {
    void *p = (void *)pointer;
    device_free(device, &p);
}

static void product_free(struct operator* A) {
    struct product *p = A->data;
    if (p == NULL) return;
    for (int b = 0; b < p->n_blocks; b++) {
        int64_t *starts = (int64_t *)p->cells[b].colour_starts;
        base_free(&starts);
        free_constant(A->device, p->cells[b].colour_batches);
        free_constant(A->device, p->cells[b].maps);
    }
    free_constant(A->device, p->facets.first);
    free_constant(A->device, p->facets.panel_first);
    free_constant(A->device, p->facets.columns);
    free_constant(A->device, p->facets.sizes);
    free_constant(A->device, p->facets.starts);
    free_constant(A->device, p->facets.values);
    device_free(A->device, &p->columns);
    device_free(A->device, &p->values);
    operator_destroy(&p->csr);
    base_free(&A->data);
}

static void product_apply(const struct operator* A, const struct vector *x, struct vector *y) {
    const struct product *p = A->data;
    switch (p->form) {
    case TRACE_CELLS:
        vector_fill(y, 0.0);
        for (int b = 0; b < p->n_blocks; b++) device_cell_apply(A->device, &p->cells[b], x->data, y->data);
        break;
    case TRACE_FACETS:
        device_facet_apply(A->device, &p->facets, x->data, y->data);
        break;
    case TRACE_CSR:
        operator_apply(&p->csr, x, y);
        break;
    case TRACE_ELL:
        device_ell_apply(A->device, A->n, p->width, p->columns, p->values, x->data, y->data);
        break;
    }
}

double trace_operator_bytes(const struct operator* A) {
    return ((const struct product *)A->data)->bytes;
}

/* ---------------------------------------------------------------------------------------------- cells */

/* maps: first unknown of every face of every cell, batch x n_faces x LANES, in the numbering `first` (-1:
 * none). */
static void fill_maps(const struct facet_mesh *mesh, int block, const int64_t *first, int64_t *maps) {
    const struct mesh_block *b = &mesh->blocks[block];
    int n_faces = shape_n_faces(b->shape);
    for (int64_t cell = 0; cell < trace_n_batches(mesh, block) * TRACE_LANES; cell++) {
        int64_t *map = maps + cell / TRACE_LANES * n_faces * TRACE_LANES + cell % TRACE_LANES;
        for (int f = 0; f < n_faces; f++)
            map[f * TRACE_LANES] = cell < b->count ? first[b->faces[cell * n_faces + f]] : -1;
    }
}

/* Faces of the batches begin .. end-1: where they stand in b->faces. */
static void batch_faces(const struct mesh_block *b, int64_t *begin, int64_t *end) {
    int n_faces = shape_n_faces(b->shape);
    *begin *= TRACE_LANES * n_faces;
    *end *= TRACE_LANES * n_faces;
    if (*end > (int64_t)b->count * n_faces) *end = (int64_t)b->count * n_faces;
}

/* Whether a batch has an eliminated face. */
static int on_boundary(const struct trace_space *space, int block, int64_t batch) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    int64_t begin = batch, end = batch + 1;
    batch_faces(b, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        if (space->face_free[b->faces[i]] < 0) return 1;
    return 0;
}

/* Batches of a run, whatever the number of threads: a product must not depend on it. */
static int64_t choose_run(const struct trace_matrices *matrices, int block) {
    int64_t n = matrices->n[block], n_batches = matrices->n_batches[block];
    int64_t run = device_cell_run(matrices->device, n * (n + 1) / 2 * TRACE_LANES * (int64_t)sizeof(double));
    if (run > n_batches / MIN_RUNS) run = n_batches / MIN_RUNS;
    return run > 1 ? run : 1;
}

/* Greedy colours: a run of batches takes the lowest colour that no run with a common face has. boundary: only
 * batches with eliminated faces get one. colour: of each batch; returns how many. */
static facet_status colour_runs(const struct trace_space *space, int block, int boundary, int64_t run,
                                uint8_t *colour, int *n_colours) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    const struct mesh_block *b = &mesh->blocks[block];
    int64_t n_batches = trace_n_batches(mesh, block);
    uint64_t *taken = NULL;
    *n_colours = 0;
    TRY(CALLOC(taken, mesh->n_faces));
    memset(colour, NO_COLOUR, (size_t)n_batches);
    for (int64_t first = 0; first < n_batches; first += run) {
        int64_t last = first + run < n_batches ? first + run : n_batches, begin = first, end = last;
        uint64_t used = 0;
        int c = 0;
        if (boundary && !on_boundary(space, block, first)) continue;
        batch_faces(b, &begin, &end);
        for (int64_t i = begin; i < end; i++) used |= taken[b->faces[i]];
        while (c < MAX_COLOURS && (used >> c & 1)) c++;
        if (c == MAX_COLOURS) FAIL(FACET_ERROR_MACHINE, "more than %d colours are needed", MAX_COLOURS);
        for (int64_t i = begin; i < end; i++) taken[b->faces[i]] |= (uint64_t)1 << c;
        memset(colour + first, c, (size_t)(last - first));
        if (c + 1 > *n_colours) *n_colours = c + 1;
    }
done:
    base_free(&taken);
    return status;
}

/* boundary: only for batches with eliminated faces. */
static facet_status make_cell_plan(const struct trace_space *space, const struct trace_matrices *matrices,
                                   int block, int boundary, const int64_t *first, struct cell_plan *plan) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    int64_t n_batches = matrices->n_batches[block], run = boundary ? 1 : choose_run(matrices, block);
    int64_t *maps = NULL, *starts = NULL, *order = NULL;
    int n_faces = shape_n_faces(mesh->blocks[block].shape), n_colours;
    uint8_t *colour = NULL;
    TRY(ALLOC(colour, n_batches));
    TRY(colour_runs(space, block, boundary, run, colour, &n_colours));
    TRY(CALLOC(starts, n_colours + 1));
    TRY(CALLOC(order, n_batches));
    TRY(ALLOC(maps, n_batches * n_faces * TRACE_LANES));
    for (int64_t b = 0; b < n_batches; b++)
        if (colour[b] != NO_COLOUR) starts[colour[b] + 1]++;
    for (int c = 0; c < n_colours; c++) starts[c + 1] += starts[c];
    for (int64_t b = 0; b < n_batches; b++)
        if (colour[b] != NO_COLOUR) order[starts[colour[b]]++] = b;
    for (int c = n_colours; c > 0; c--) starts[c] = starts[c - 1];
    starts[0] = 0;
    fill_maps(mesh, block, first, maps);
    *plan = (struct cell_plan){.n_faces = n_faces,
                               .m = matrices->n[block] / n_faces,
                               .n_batches = n_batches,
                               .n_colours = n_colours,
                               .run = run,
                               .colour_starts = starts,
                               .matrices = matrices->values[block]};
    starts = NULL;
    TRY(device_copy(matrices->device, &plan->colour_batches, order, (size_t)n_batches, sizeof *order));
    TRY(device_copy(matrices->device, &plan->maps, maps, (size_t)(n_batches * n_faces * TRACE_LANES),
                    sizeof *maps));
done:
    base_free(&colour);
    base_free(&starts);
    base_free(&order);
    base_free(&maps);
    return status;
}

static facet_status make_cells(const struct trace_space *space, const struct trace_matrices *matrices,
                               int boundary, const int64_t *first, struct product *p) {
    facet_status status = FACET_OK;
    for (int b = 0; b < matrices->n_blocks; b++) {
        int64_t n = matrices->n[b];
        p->n_blocks = b + 1;
        TRY(make_cell_plan(space, matrices, b, boundary, first, &p->cells[b]));
        p->bytes += 8.0 * (double)(space->mesh->blocks[b].count * (n * (n + 1) / 2));
    }
done:
    return status;
}

/* ---------------------------------------------------------------------------------------------- facets */

/* Panels of all free faces: counted, then filled. */
struct panels {
    int64_t n_panels, n_values;
    int64_t *panel_first, *columns, *starts;
    int32_t *sizes;
    double *values;
};

static void count_panels(const struct trace_space *space, struct panels *p) {
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t m = space->free_offsets[b + 1] - space->free_offsets[b];
        p->panel_first[b] = p->n_panels;
        for (int which = 0; which < 2; which++) {
            struct trace_side side;
            if (!trace_side(space, space->free_faces[b], which, &side)) continue;
            for (int f = 0; f < side.n_faces; f++) {
                if (space->face_free[side.faces[f]] < 0) continue;
                p->n_panels++;
                p->n_values += m * (side.starts[f + 1] - side.starts[f]);
            }
        }
    }
    p->panel_first[space->n_free_faces] = p->n_panels;
}

/* Describes the panels of a face; `value` is where its first one begins. Returns where the next face begins.
 */
static int64_t place_panels(const struct trace_space *space, int64_t b, struct panels *p, int64_t value) {
    int64_t at = p->panel_first[b], m = space->free_offsets[b + 1] - space->free_offsets[b];
    for (int which = 0; which < 2; which++) {
        struct trace_side side;
        if (!trace_side(space, space->free_faces[b], which, &side)) continue;
        for (int f = 0; f < side.n_faces; f++) {
            if (space->face_free[side.faces[f]] < 0) continue;
            p->columns[at] = space->face_free[side.faces[f]];
            p->sizes[at] = side.starts[f + 1] - side.starts[f];
            p->starts[at] = value;
            value += m * p->sizes[at++];
        }
    }
    return value;
}

static void fill_panels(const struct trace_space *space, const struct trace_view *view, int64_t b,
                        struct panels *p) {
    int64_t at = p->panel_first[b], m = space->free_offsets[b + 1] - space->free_offsets[b];
    for (int which = 0; which < 2; which++) {
        struct trace_side side;
        if (!trace_side(space, space->free_faces[b], which, &side)) continue;
        const double *K = trace_view_cell(view, side.block, side.cell);
        for (int f = 0; f < side.n_faces; f++) {
            if (space->face_free[side.faces[f]] < 0) continue;
            double *panel = p->values + p->starts[at++];
            for (int j = side.starts[f]; j < side.starts[f + 1]; j++)
                for (int64_t i = 0; i < m; i++)
                    *panel++ = trace_entry(K, side.starts[side.local] + (int)i, j);
        }
    }
}

static facet_status make_facets(const struct trace_space *space, const struct trace_matrices *matrices,
                                struct product *out) {
    facet_status status = FACET_OK;
    const struct device *device = matrices->device;
    struct trace_view view = {.matrices = matrices};
    struct panels p = {0};
    struct facet_plan *plan = &out->facets;
    size_t n = (size_t)space->n_free_faces;
    TRY(ALLOC(p.panel_first, n + 1));
    count_panels(space, &p);
    TRY(ALLOC(p.columns, p.n_panels));
    TRY(ALLOC(p.starts, p.n_panels));
    TRY(ALLOC(p.sizes, p.n_panels));
    TRY(ALLOC(p.values, p.n_values));
    int64_t value = 0;
    for (int64_t b = 0; b < space->n_free_faces; b++) value = place_panels(space, b, &p, value);
    TRY(trace_view_open(matrices, &view));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t b = 0; b < space->n_free_faces; b++) fill_panels(space, &view, b, &p);
    plan->n_rows = space->n_free_faces;
    TRY(device_copy(device, &plan->first, space->free_offsets, n + 1, sizeof(int64_t)));
    TRY(device_copy(device, &plan->panel_first, p.panel_first, n + 1, sizeof(int64_t)));
    TRY(device_copy(device, &plan->columns, p.columns, (size_t)p.n_panels, sizeof(int64_t)));
    TRY(device_copy(device, &plan->sizes, p.sizes, (size_t)p.n_panels, sizeof(int32_t)));
    TRY(device_copy(device, &plan->starts, p.starts, (size_t)p.n_panels, sizeof(int64_t)));
    TRY(device_copy(device, &plan->values, p.values, (size_t)p.n_values, sizeof(double)));
    out->bytes = 8.0 * (double)p.n_values;
done:
    trace_view_close(&view);
    base_free(&p.panel_first);
    base_free(&p.columns);
    base_free(&p.starts);
    base_free(&p.sizes);
    base_free(&p.values);
    return status;
}

/* ---------------------------------------------------------------------------------------------- assembled */

static facet_status make_csr(const struct trace_space *space, const struct trace_matrices *matrices,
                             struct product *p) {
    facet_status status = FACET_OK;
    struct csr csr = {0};
    TRY(trace_assemble(space, matrices, &csr));
    TRY(operator_create_csr(matrices->device, &csr, &p->csr));
    p->bytes = 12.0 * (double)csr.offsets[csr.n];
done:
    csr_destroy(&csr);
    return status;
}

static facet_status make_ell(const struct trace_space *space, const struct trace_matrices *matrices,
                             struct product *p) {
    facet_status status = FACET_OK;
    struct csr csr = {0};
    int32_t *columns = NULL;
    double *values = NULL;
    TRY(trace_assemble(space, matrices, &csr));
    for (int64_t i = 0; i < csr.n; i++) {
        int width = (int)(csr.offsets[i + 1] - csr.offsets[i]);
        p->width = width > p->width ? width : p->width;
    }
    size_t count = (size_t)(csr.n * p->width);
    TRY(ALLOC(columns, count));
    TRY(CALLOC(values, count));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < csr.n; i++)
        for (int64_t k = 0; k < p->width; k++) {
            int64_t at = csr.offsets[i] + k, inside = at < csr.offsets[i + 1];
            columns[k * csr.n + i] = inside ? csr.columns[at] : -1;
            if (inside) values[k * csr.n + i] = csr.values[at];
        }
    TRY(device_copy(matrices->device, &p->columns, columns, count, sizeof *columns));
    TRY(device_copy(matrices->device, &p->values, values, count, sizeof *values));
    p->bytes = 12.0 * (double)count;
done:
    csr_destroy(&csr);
    base_free(&columns);
    base_free(&values);
    return status;
}

facet_status trace_operator_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                   enum trace_form form, struct operator* A) {
    facet_status status = FACET_OK;
    struct product *p = NULL;
    *A = (struct operator){
        .n = space->n_free, .device = matrices->device, .apply = product_apply, .free = product_free};
    TRY(CALLOC(p, 1));
    A->data = p;
    p->form = form;
    switch (form) {
    case TRACE_CELLS:
        TRY(make_cells(space, matrices, 0, space->face_free, p));
        break;
    case TRACE_FACETS:
        TRY(make_facets(space, matrices, p));
        break;
    case TRACE_CSR:
        TRY(make_csr(space, matrices, p));
        break;
    case TRACE_ELL:
        TRY(make_ell(space, matrices, p));
        break;
    }
done:
    if (status != FACET_OK) operator_destroy(A);
    return status;
}

facet_status trace_lift(const struct trace_space *space, const struct trace_matrices *matrices,
                        const double *eliminated, double *lift) {
    facet_status status = FACET_OK;
    const struct device *device = matrices->device;
    struct operator A = {.n = space->n_all, .device = device, .apply = product_apply, .free = product_free};
    struct vector x = {0}, y = {0};
    struct product *p = NULL;
    double *full = NULL;
    TRY(CALLOC(p, 1));
    A.data = p;
    p->form = TRACE_CELLS;
    TRY(make_cells(space, matrices, 1, space->face_first, p)); /* one product in the full numbering */
    TRY(ALLOC(full, space->n_all));
    TRY(vector_create(device, space->n_all, &x));
    TRY(vector_create(device, space->n_all, &y));
    TRY(vector_upload(&x, eliminated));
    operator_apply(&A, &x, &y);
    TRY(vector_download(&y, full));
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        const double *from = full + space->face_first[space->free_faces[b]];
        for (int64_t i = space->free_offsets[b]; i < space->free_offsets[b + 1]; i++)
            lift[i] = -from[i - space->free_offsets[b]];
    }
done:
    operator_destroy(&A);
    vector_destroy(&x);
    vector_destroy(&y);
    base_free(&full);
    return status;
}
