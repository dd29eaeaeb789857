/* The global matrix as an operator in its four forms. */
#include <string.h>

#include "base/memory.h"
#include "trace/sides.h"
#include "trace/slots.h"

#define MAX_SHARED_COLOURS 64
#define MIN_RUNS           64 /* runs of batches a block has at least, if it has so many: work for all threads */

/* What an operator owns, except for the matrices of cells in double precision; pointers inside the plans are
 * device addresses, except the colours. */
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
    struct trace_matrices owned;
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
        free_constant(A->device, p->cells[b].single);
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
    trace_matrices_destroy(&p->owned);
    base_free(&A->data);
}

void trace_slots_add(const struct operator* A, const struct vector *x, struct vector *y) {
    const struct product *p = A->data;
    for (int b = 0; b < p->n_blocks; b++)
        if (A->single)
            device_cell_apply_single(A->device, &p->cells[b], x->single, y->single);
        else
            device_cell_apply(A->device, &p->cells[b], x->data, y->data);
}

static void product_apply(const struct operator* A, const struct vector *x, struct vector *y) {
    const struct product *p = A->data;
    switch (p->form) {
    case TRACE_CELLS:
        vector_fill(y, 0.0);
        trace_slots_add(A, x, y);
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

void trace_operator_own(struct operator* A, struct trace_matrices *matrices) {
    ((struct product *)A->data)->owned = *matrices;
    *matrices = (struct trace_matrices){0};
}

double trace_operator_bytes(const struct operator* A) {
    return ((const struct product *)A->data)->bytes;
}

/* ---------------------------------------------------------------------------------------------- cells */

static int64_t n_batches_of(const struct trace_slots *slots, int block) {
    return (slots->count[block] + TRACE_LANES - 1) / TRACE_LANES;
}

/* maps: first unknown of every slot of every cell, batch x n_slots x LANES (-1: none). */
static void fill_maps(const struct trace_slots *slots, int block, int64_t *maps) {
    int n_slots = slots->n_slots[block];
    for (int64_t cell = 0; cell < n_batches_of(slots, block) * TRACE_LANES; cell++) {
        int64_t *map = maps + cell / TRACE_LANES * n_slots * TRACE_LANES + cell % TRACE_LANES;
        const int32_t *entities = slots->entities[block] + cell * n_slots;
        for (int s = 0; s < n_slots; s++)
            map[s * TRACE_LANES] = cell < slots->count[block] ? slots->first[entities[s]] : -1;
    }
}

/* Batches of a run, whatever the number of threads: a product must not depend on it. */
static int64_t choose_run(const struct trace_matrices *matrices, int block) {
    int64_t n = matrices->n[block], n_batches = matrices->n_batches[block];
    int64_t run = device_cell_run(matrices->device, n * (n + 1) / 2 * TRACE_LANES * (int64_t)sizeof(double));
    if (run > n_batches / MIN_RUNS) run = n_batches / MIN_RUNS;
    return run > 1 ? run : 1;
}

/* Entities of the batches begin .. end-1: where they stand among the slots. */
static void slot_range(const struct trace_slots *slots, int block, int64_t *begin, int64_t *end) {
    int64_t n_slots = slots->n_slots[block], all = slots->count[block] * n_slots;
    *begin *= TRACE_LANES * n_slots;
    *end *= TRACE_LANES * n_slots;
    if (*end > all) *end = all;
}

/* Whether x is not zero on a batch whose slots have m unknowns each. */
static int touches(const struct trace_slots *slots, int block, int64_t batch, int m, const double *x) {
    int64_t begin = batch, end = batch + 1;
    slot_range(slots, block, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t first = slots->first[slots->entities[block][i]];
        for (int k = 0; k < m && first >= 0; k++)
            if (x[first + k] != 0.0) return 1;
    }
    return 0;
}

/* The batches of a plan and their colours. */
struct colouring {
    int64_t run;
    int n_colours;
    int32_t *colour; /* of each batch; -1: not in the plan */
};

/* Unknowns of one slot. */
static int slot_size(const struct trace_slots *slots, const struct trace_matrices *matrices, int block) {
    return slots->n_slots[block] > 0 ? matrices->n[block] / slots->n_slots[block] : 0;
}

/* Greedy colours: a run of batches takes the lowest colour that no run with a common entity has. Where very
 * many meet (the hub of a fan), a run gets a colour of its own. x: NULL, or a vector; batches where it is
 * zero are left out, and runs are single batches. */
static facet_status colour_runs(const struct trace_slots *slots, const struct trace_matrices *matrices,
                                int block, const double *x, struct colouring *c) {
    facet_status status = FACET_OK;
    const int32_t *entities = slots->entities[block];
    int64_t n_batches = n_batches_of(slots, block);
    int m = slot_size(slots, matrices, block), n_shared = 0, n_own = 0;
    uint64_t *taken = NULL;
    c->run = x == NULL ? choose_run(matrices, block) : 1;
    TRY(CALLOC(taken, slots->n_entities));
    for (int64_t first = 0; first < n_batches; first += c->run) {
        int64_t last = first + c->run < n_batches ? first + c->run : n_batches, begin = first, end = last;
        uint64_t used = 0;
        int32_t colour = 0;
        if (x != NULL && !touches(slots, block, first, m, x)) {
            c->colour[first] = -1;
            continue;
        }
        slot_range(slots, block, &begin, &end);
        for (int64_t i = begin; i < end; i++) used |= taken[entities[i]];
        while (colour < MAX_SHARED_COLOURS && (used >> colour & 1)) colour++;
        if (colour == MAX_SHARED_COLOURS)
            colour += n_own++;
        else {
            for (int64_t i = begin; i < end; i++) taken[entities[i]] |= (uint64_t)1 << colour;
            if (colour + 1 > n_shared) n_shared = colour + 1;
        }
        for (int64_t batch = first; batch < last; batch++) c->colour[batch] = colour;
    }
    c->n_colours = n_own > 0 ? MAX_SHARED_COLOURS + n_own : n_shared;
done:
    base_free(&taken);
    return status;
}

/* x: as for colour_runs. */
static facet_status make_cell_plan(const struct trace_slots *slots, const struct trace_matrices *matrices,
                                   int block, const double *x, struct cell_plan *plan) {
    facet_status status = FACET_OK;
    int64_t n_batches = matrices->n_batches[block], *maps = NULL, *starts = NULL, *order = NULL;
    int n_slots = slots->n_slots[block];
    struct colouring c = {0};
    TRY(ALLOC(c.colour, n_batches));
    TRY(colour_runs(slots, matrices, block, x, &c));
    TRY(CALLOC(starts, c.n_colours + 1));
    TRY(CALLOC(order, n_batches));
    TRY(ALLOC(maps, n_batches * n_slots * TRACE_LANES));
    for (int64_t b = 0; b < n_batches; b++)
        if (c.colour[b] >= 0) starts[c.colour[b] + 1]++;
    for (int k = 0; k < c.n_colours; k++) starts[k + 1] += starts[k];
    for (int64_t b = 0; b < n_batches; b++)
        if (c.colour[b] >= 0) order[starts[c.colour[b]]++] = b;
    for (int k = c.n_colours; k > 0; k--) starts[k] = starts[k - 1];
    starts[0] = 0;
    fill_maps(slots, block, maps);
    *plan = (struct cell_plan){.n_faces = n_slots,
                               .m = slot_size(slots, matrices, block),
                               .n_batches = n_batches,
                               .n_colours = c.n_colours,
                               .run = c.run,
                               .colour_starts = starts,
                               .matrices = matrices->values[block]};
    starts = NULL;
    TRY(device_copy(matrices->device, &plan->colour_batches, order, (size_t)n_batches, sizeof *order));
    TRY(device_copy(matrices->device, &plan->maps, maps, (size_t)(n_batches * n_slots * TRACE_LANES),
                    sizeof *maps));
done:
    base_free(&c.colour);
    base_free(&starts);
    base_free(&order);
    base_free(&maps);
    return status;
}

static facet_status make_cells(const struct trace_slots *slots, const struct trace_matrices *matrices,
                               const double *x, struct product *p) {
    facet_status status = FACET_OK;
    for (int b = 0; b < matrices->n_blocks; b++) {
        int64_t n = matrices->n[b];
        p->n_blocks = b + 1;
        TRY(make_cell_plan(slots, matrices, b, x, &p->cells[b]));
        int64_t n_entries = slots->count[b] * (n * (n + 1) / 2);
        p->bytes += 8.0 * (double)n_entries;
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

static facet_status make_csr(const struct device *device, const struct csr *csr, struct product *p) {
    p->bytes = 12.0 * (double)csr->offsets[csr->n];
    return operator_create_csr(device, csr, &p->csr);
}

static facet_status make_ell(const struct device *device, const struct csr *csr, struct product *p) {
    facet_status status = FACET_OK;
    int32_t *columns = NULL;
    double *values = NULL;
    for (int64_t i = 0; i < csr->n; i++) {
        int width = (int)(csr->offsets[i + 1] - csr->offsets[i]);
        p->width = width > p->width ? width : p->width;
    }
    size_t count = (size_t)(csr->n * p->width);
    TRY(ALLOC(columns, count));
    TRY(CALLOC(values, count));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < csr->n; i++)
        for (int64_t k = 0; k < p->width; k++) {
            int64_t at = csr->offsets[i] + k, inside = at < csr->offsets[i + 1];
            columns[k * csr->n + i] = inside ? csr->columns[at] : -1;
            if (inside) values[k * csr->n + i] = csr->values[at];
        }
    TRY(device_copy(device, &p->columns, columns, count, sizeof *columns));
    TRY(device_copy(device, &p->values, values, count, sizeof *values));
    p->bytes = 12.0 * (double)count;
done:
    base_free(&columns);
    base_free(&values);
    return status;
}

/* ---------------------------------------------------------------------------------------------- operators */

static facet_status product_to_single(const struct operator* A, struct operator* S);

/* An operator without its plan yet. */
static facet_status begin_operator(int64_t n, const struct device *device, enum trace_form form,
                                   struct operator* A, struct product **p) {
    static const char *const names[] = {"the element-wise trace product", "the facet-wise trace product",
                                        "the trace matrix in compressed rows",
                                        "the trace matrix in rows of equal length"};
    *A = (struct operator){
        .n = n, .device = device, .apply = product_apply, .free = product_free, .name = names[form]};
    if (form == TRACE_CELLS || form == TRACE_CSR) A->to_single = product_to_single;
    facet_status status = CALLOC(*p, 1);
    A->data = *p;
    if (status == FACET_OK) (*p)->form = form;
    return status;
}

/* Rounds the matrices and copies the structure, on the device. */
static facet_status cells_to_single(const struct device *device, const struct cell_plan *from,
                                    struct cell_plan *to) {
    facet_status status = FACET_OK;
    int64_t n = (int64_t)from->n_faces * from->m,
            n_values = from->n_batches * (n * (n + 1) / 2) * TRACE_LANES;
    int64_t *starts = NULL;
    float *single = NULL;
    *to = *from;
    to->colour_starts = to->colour_batches = to->maps = NULL;
    to->matrices = NULL;
    TRY(ALLOC(starts, from->n_colours + 1));
    memcpy(starts, from->colour_starts, ((size_t)from->n_colours + 1) * sizeof *starts);
    to->colour_starts = starts;
    TRY(device_duplicate(device, &to->colour_batches, from->colour_batches, (size_t)from->n_batches,
                         sizeof *to->colour_batches));
    TRY(device_duplicate(device, &to->maps, from->maps,
                         (size_t)(from->n_batches * from->n_faces * TRACE_LANES), sizeof *to->maps));
    TRY(device_copy_single(device, &single, from->matrices, n_values));
    to->single = single;
done:
    return status;
}

static facet_status product_to_single(const struct operator* A, struct operator* S) {
    facet_status status = FACET_OK;
    const struct product *from = A->data;
    struct product *to;
    TRY(begin_operator(A->n, A->device, from->form, S, &to));
    S->single = 1;
    to->bytes = from->form == TRACE_CSR ? from->bytes * 8.0 / 12.0 : from->bytes / 2.0;
    for (int b = 0; b < from->n_blocks; b++) {
        to->n_blocks = b + 1;
        TRY(cells_to_single(A->device, &from->cells[b], &to->cells[b]));
    }
    if (from->form == TRACE_CSR) TRY(operator_create_single(&from->csr, &to->csr));
done:
    return status;
}

facet_status trace_slots_operator(const struct trace_slots *slots, const struct trace_matrices *matrices,
                                  int64_t n, struct operator* A) {
    facet_status status = FACET_OK;
    struct product *p;
    TRY(begin_operator(n, matrices->device, TRACE_CELLS, A, &p));
    TRY(make_cells(slots, matrices, NULL, p));
done:
    if (status != FACET_OK) operator_destroy(A);
    return status;
}

facet_status trace_csr_operator(const struct device *device, struct csr *csr, enum trace_form form,
                                struct operator* A) {
    facet_status status = FACET_OK;
    struct product *p;
    TRY(begin_operator(csr->n, device, form, A, &p));
    TRY(form == TRACE_ELL ? make_ell(device, csr, p) : make_csr(device, csr, p));
done:
    csr_destroy(csr);
    if (status != FACET_OK) operator_destroy(A);
    return status;
}

facet_status trace_slots_product(const struct trace_slots *slots, const struct trace_matrices *matrices,
                                 int64_t n, const double *x, double *y) {
    facet_status status = FACET_OK;
    struct operator A = {0};
    struct vector in = {0}, out = {0};
    struct product *p;
    TRY(begin_operator(n, matrices->device, TRACE_CELLS, &A, &p));
    TRY(make_cells(slots, matrices, x, p));
    TRY(vector_create(matrices->device, n, &in));
    TRY(vector_create(matrices->device, n, &out));
    TRY(vector_upload(&in, x));
    operator_apply(&A, &in, &out);
    TRY(vector_download(&out, y));
done:
    operator_destroy(&A);
    vector_destroy(&in);
    vector_destroy(&out);
    return status;
}

/* Every face is a slot. first: of the faces, in the numbering that is wanted. */
static void face_slots(const struct trace_space *space, const int64_t *first, struct trace_slots *slots) {
    const struct facet_mesh *mesh = space->mesh;
    *slots = (struct trace_slots){.n_entities = mesh->n_faces, .first = first};
    for (int b = 0; b < mesh->n_blocks; b++) {
        slots->count[b] = mesh->blocks[b].count;
        slots->n_slots[b] = shape_n_faces(mesh->blocks[b].shape);
        slots->entities[b] = mesh->blocks[b].faces;
    }
}

static facet_status facets_operator(const struct trace_space *space, const struct trace_matrices *matrices,
                                    struct operator* A) {
    facet_status status = FACET_OK;
    struct product *p;
    TRY(begin_operator(space->n_free, matrices->device, TRACE_FACETS, A, &p));
    TRY(make_facets(space, matrices, p));
done:
    if (status != FACET_OK) operator_destroy(A);
    return status;
}

facet_status trace_operator_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                   enum trace_form form, struct operator* A) {
    struct trace_slots slots;
    struct csr csr = {0};
    *A = (struct operator){0};
    face_slots(space, space->face_free, &slots);
    if (form == TRACE_CELLS) return trace_slots_operator(&slots, matrices, space->n_free, A);
    if (form == TRACE_FACETS) return facets_operator(space, matrices, A);
    facet_status status = trace_assemble(space, matrices, &csr);
    return status == FACET_OK ? trace_csr_operator(matrices->device, &csr, form, A) : status;
}

facet_status trace_lift(const struct trace_space *space, const struct trace_matrices *matrices,
                        const double *eliminated, double *lift) {
    facet_status status = FACET_OK;
    struct trace_slots slots;
    double *full = NULL;
    face_slots(space, space->face_first, &slots); /* one product in the full numbering */
    TRY(ALLOC(full, space->n_all));
    TRY(trace_slots_product(&slots, matrices, space->n_all, eliminated, full));
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        const double *from = full + space->face_first[space->free_faces[b]];
        for (int64_t i = space->free_offsets[b]; i < space->free_offsets[b + 1]; i++)
            lift[i] = -from[i - space->free_offsets[b]];
    }
done:
    base_free(&full);
    return status;
}
