/* The papers' products with the trace matrix: panels of faces, rows of equal length, compressed rows. */
#include "bench/papers/products.h"

#include "base/memory.h"
#include "trace/sides.h"

/* What an operator owns; pointers inside the plan are device addresses. */
struct paper_product {
    enum product_form form;
    double bytes;
    struct facet_plan facets;
    int width;
    int32_t *columns;
    double *values;
    struct linear_operator csr;
};

static void product_free(struct linear_operator *A) {
    struct paper_product *p = A->data;
    if (p == NULL) return;
    void *plan[] = {&p->facets.first, &p->facets.panel_first, &p->facets.columns,
                    &p->facets.sizes, &p->facets.starts,      &p->facets.values};
    for (int i = 0; i < 6; i++) device_free(A->device, plan[i]);
    device_free(A->device, &p->columns);
    device_free(A->device, &p->values);
    operator_destroy(&p->csr);
    base_free(&A->data);
}

static void product_apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    const struct paper_product *p = A->data;
    if (p->form == PRODUCT_FACETS)
        facet_product(&p->facets, x->data, y->data);
    else if (p->form == PRODUCT_ELL)
        ell_product(A->n, p->width, p->columns, p->values, x->data, y->data);
    else
        operator_apply(&p->csr, x, y);
}

double product_bytes(const struct linear_operator *A) {
    if (A->apply != product_apply) return trace_operator_bytes(A);
    return ((const struct paper_product *)A->data)->bytes;
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
                    *panel++ = trace_entry(K, view->matrices->lanes, side.starts[side.local] + (int)i, j);
        }
    }
}

static facet_status make_facets(const struct trace_space *space, const struct trace_matrices *matrices,
                                struct paper_product *out) {
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

static facet_status make_csr(const struct device *device, const struct csr *csr, struct paper_product *p) {
    p->bytes = 12.0 * (double)csr->offsets[csr->n];
    return operator_create_csr(device, csr, &p->csr);
}

static facet_status make_ell(const struct device *device, const struct csr *csr, struct paper_product *p) {
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

facet_status product_create(const struct trace_space *space, const struct trace_matrices *matrices,
                            enum product_form form, struct linear_operator *A) {
    facet_status status = FACET_OK;
    struct paper_product *p = NULL;
    struct csr csr = {0};
    if (form == PRODUCT_CELLS) return trace_operator_create(space, matrices, A);
    *A = (struct linear_operator){.n = space->n_free,
                                  .device = matrices->device,
                                  .apply = product_apply,
                                  .free = product_free,
                                  .name = "a paper's trace product"};
    if (!device_is_host(matrices->device) && form != PRODUCT_CSR)
        FAIL(FACET_ERROR_INPUT, "the papers' products run on the host only");
    TRY(CALLOC(p, 1));
    A->data = p;
    p->form = form;
    if (form == PRODUCT_FACETS) {
        TRY(make_facets(space, matrices, p));
        goto done;
    }
    TRY(trace_assemble(space, matrices, &csr));
    TRY(form == PRODUCT_ELL ? make_ell(matrices->device, &csr, p) : make_csr(matrices->device, &csr, p));
done:
    csr_destroy(&csr);
    if (status != FACET_OK) operator_destroy(A);
    return status;
}
