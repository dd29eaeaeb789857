/* The condensed operator on the whole box: every cell on its closure, then the sum over the cells. */
#include <cblas.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/condensed_local.h"

/* Cells of one product of BOX_CCG_MM: what they gather stays in the cache. */
#define BATCH 64
/* So few cells side by side are better taken one by one. */
#define FEW_LANES 2

/* Cells of one kind: order[first] ... of struct box_condensed. */
struct batch {
    int64_t first;
    int kind, count;
};

struct condensed_operator {
    const struct box_condensed *h;
    enum box_condensed_form form;
    struct condensed_tables tables;
    int n_threads;
    double *locals;   /* n_cells x n_local: what the cells give */
    double *scratch;  /* per thread */
    int64_t room;     /* of a thread */
    double *matrices; /* BOX_CCG_MM: n_kinds x n_local x n_local */
    double *diagonal; /* BOX_CCG_PARITY: n_kinds x n_local */
    int64_t n_batches;
    struct batch *batches; /* of both */
};

enum box_condensed_unknowns box_condensed_basis(enum box_condensed_form form,
                                                enum box_condensed_unknowns wanted) {
    if (form == BOX_CCG_MM) return wanted;
    return form == BOX_CCG_TP ? BOX_NODES : BOX_MODES;
}

static void destroy(struct condensed_operator *o) {
    condensed_tables_destroy(&o->tables);
    base_free(&o->locals);
    base_free(&o->scratch);
    base_free(&o->matrices);
    base_free(&o->diagonal);
    base_free(&o->batches);
    base_free(&o);
}
static void free_operator(struct linear_operator *A) {
    destroy(A->data);
}

/* The columns of the cell matrices, one product with a unit vector each: O(p^5) a kind. They are symmetric.
 */
static facet_status make_matrices(struct condensed_operator *o) {
    facet_status status = FACET_OK;
    const struct box_condensed *h = o->h;
    int64_t n = h->n_local;
    double *units = NULL, *works = NULL;
    TRY(ALLOC(o->matrices, h->n_kinds * n * n));
    TRY(CALLOC(units, o->n_threads * n));
    TRY(ALLOC(works, o->n_threads * condensed_work(h)));
#pragma omp parallel num_threads(o->n_threads)
    {
        double *unit = units + omp_get_thread_num() * n,
               *work = works + omp_get_thread_num() * condensed_work(h);
#pragma omp for schedule(static)
        for (int64_t c = 0; c < h->n_kinds * n; c++) {
            unit[c % n] = 1.0;
            condensed_cell_apply(h, &o->tables, (int)(c / n), unit, o->matrices + c * n, work);
            unit[c % n] = 0.0;
        }
    }
done:
    base_free(&units);
    base_free(&works);
    return status;
}

/* The cells in batches of at most `size` of one kind. */
static facet_status make_batches(struct condensed_operator *o, int size) {
    facet_status status = FACET_OK;
    const struct box_condensed *h = o->h;
    for (int kind = 0; kind < h->n_kinds; kind++) o->n_batches += (h->kinds[kind].count + size - 1) / size;
    TRY(ALLOC(o->batches, o->n_batches));
    struct batch *to = o->batches;
    for (int kind = 0; kind < h->n_kinds; kind++)
        for (int64_t begin = 0; begin < h->kinds[kind].count; begin += size) {
            int64_t left = h->kinds[kind].count - begin;
            *to++ = (struct batch){h->kinds[kind].first + begin, kind, (int)(left < size ? left : size)};
        }
done:
    return status;
}

/* Threads of a product: never more than there is scratch for. */
static int threads(const struct condensed_operator *o) {
    return base_threads() < o->n_threads ? base_threads() : o->n_threads;
}

/* One cell, by its tensor products. */
static void apply_cell(const struct condensed_operator *o, const double *x, int64_t cell, int fixed,
                       double *scratch) {
    const struct box_condensed *h = o->h;
    double k = box_conductivity(&h->grid, cell);
    condensed_gather(h, x, cell, fixed, scratch);
    if (k != 1.0)
        for (int64_t i = 0; i < h->n_local; i++) scratch[i] *= k;
    condensed_cell_apply(h, &o->tables, h->cell_kind[cell], scratch, o->locals + cell * h->n_local,
                         scratch + h->n_local);
}

static void apply_cells(const struct condensed_operator *o, const double *x, int fixed) {
#pragma omp parallel for num_threads(threads(o)) schedule(static)
    for (int64_t cell = 0; cell < o->h->grid.n_cells; cell++)
        apply_cell(o, x, cell, fixed, o->scratch + omp_get_thread_num() * o->room);
}

/* One matrix times a block of closures. */
static void multiply_batch(const struct condensed_operator *o, const struct batch *b, const double *x,
                           double *scratch) {
    const struct box_condensed *h = o->h;
    int n = (int)h->n_local;
    const double *K = o->matrices + (int64_t)b->kind * n * n;
    double *X = scratch, *Y = X + (int64_t)BATCH * n;
    for (int i = 0; i < b->count; i++) condensed_gather(h, x, h->order[b->first + i], 0, X + (int64_t)i * n);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, b->count, n, 1.0, K, n, X, n, 0.0, Y, n);
    for (int i = 0; i < b->count; i++) {
        int64_t cell = h->order[b->first + i];
        double k = box_conductivity(&h->grid, cell), *to = o->locals + cell * n;
        for (int j = 0; j < n; j++) to[j] = k * Y[(int64_t)i * n + j];
    }
}

/* Puts the closures of some cells side by side, times k; lanes without a cell are zero. */
static void gather_lanes(const struct box_condensed *h, const double *x, const int32_t *cells, int count,
                         double *X) {
    const double *from[CONDENSED_LANES];
    double scale[CONDENSED_LANES];
    int around = 0;
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i];
        int64_t size = h->size[mask];
        for (int side = 0; side < 1 << (h->grid.dim - condensed_bits(mask)); side++, around++) {
            for (int l = 0; l < CONDENSED_LANES; l++) {
                int64_t cell = cells[l < count ? l : 0];
                int32_t entity = h->around[cell * h->n_around + around];
                scale[l] = l < count && entity >= 0 ? box_conductivity(&h->grid, cell) : 0.0;
                from[l] = x + h->first[mask] + (entity < 0 ? ~entity : entity) * size;
            }
            for (int64_t t = 0; t < size; t++, X += CONDENSED_LANES)
                for (int l = 0; l < CONDENSED_LANES; l++) X[l] = scale[l] * from[l][t];
        }
    }
}
/* In blocks of rows, so that what one cell has read is still near when the next one reads beside it. */
static void scatter_lanes(const struct box_condensed *h, const double *Y, const int32_t *cells, int count,
                          double *locals) {
    int64_t n = h->n_local;
    for (int64_t first = 0; first < n; first += CONDENSED_LANES) {
        int rows = (int)(n - first < CONDENSED_LANES ? n - first : CONDENSED_LANES);
        const double *block = Y + first * CONDENSED_LANES;
        for (int l = 0; l < count; l++) {
            double *to = locals + cells[l] * n + first;
            if (rows == CONDENSED_LANES)
                for (int i = 0; i < CONDENSED_LANES; i++) to[i] = block[i * CONDENSED_LANES + l];
            else
                for (int i = 0; i < rows; i++) to[i] = block[i * CONDENSED_LANES + l];
        }
    }
}

static void apply_lanes(const struct condensed_operator *o, const struct batch *b, const double *x,
                        double *scratch) {
    const struct box_condensed *h = o->h;
    const int32_t *cells = h->order + b->first;
    int64_t n = h->n_local * CONDENSED_LANES;
    double *X = scratch, *Y = X + n, *work = Y + n;
    if (b->count <= FEW_LANES) {
        for (int i = 0; i < b->count; i++) apply_cell(o, x, cells[i], 0, scratch);
        return;
    }
    gather_lanes(h, x, cells, b->count, X);
    condensed_parity_apply(h, b->kind, o->diagonal + b->kind * h->n_local, X, Y, work);
    scatter_lanes(h, Y, cells, b->count, o->locals);
}

static void apply_batches(const struct condensed_operator *o, const double *x) {
#pragma omp parallel for num_threads(threads(o)) schedule(static)
    for (int64_t i = 0; i < o->n_batches; i++) {
        double *scratch = o->scratch + omp_get_thread_num() * o->room;
        if (o->form == BOX_CCG_MM)
            multiply_batch(o, &o->batches[i], x, scratch);
        else
            apply_lanes(o, &o->batches[i], x, scratch);
    }
}

static void apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    const struct condensed_operator *o = A->data;
    if (o->batches != NULL)
        apply_batches(o, x->data);
    else
        apply_cells(o, x->data, 0);
    condensed_sum(o->h, o->locals, 0, y->data);
}

static facet_status create(const struct box_condensed *h, enum box_condensed_form form,
                           enum box_condensed_unknowns basis, struct condensed_operator **result) {
    facet_status status = FACET_OK;
    struct condensed_operator *o;
    TRY(CALLOC(*result, 1));
    o = *result;
    o->h = h;
    o->form = form;
    o->n_threads = base_threads_for(h->grid.n_cells * h->n_local);
    o->room = h->n_local + condensed_work(h);
    int64_t wide = form == BOX_CCG_MM       ? 2 * (int64_t)BATCH * h->n_local
                   : form == BOX_CCG_PARITY ? 2 * CONDENSED_LANES * h->n_local + condensed_parity_work(h)
                                            : 0;
    if (wide > o->room) o->room = wide;
    o->room = (o->room + 15) / 8 * 8;
    basis = box_condensed_basis(form, basis);
    TRY(condensed_tables_create(h, basis, &o->tables));
    TRY(ALLOC(o->locals, h->grid.n_cells * h->n_local));
    TRY(ALLOC(o->scratch, o->n_threads * o->room));
    if (form == BOX_CCG_MM) {
        TRY(make_batches(o, BATCH));
        TRY(make_matrices(o));
    }
    if (form == BOX_CCG_PARITY) {
        TRY(make_batches(o, CONDENSED_LANES));
        TRY(ALLOC(o->diagonal, h->n_kinds * h->n_local));
        for (int kind = 0; kind < h->n_kinds; kind++)
            condensed_parity_diagonal(h, kind, o->diagonal + kind * h->n_local);
    }
done:
    if (status != FACET_OK && *result != NULL) {
        destroy(*result);
        *result = NULL;
    }
    return status;
}

facet_status box_condensed_operator(const struct box_condensed *h, const struct device *device,
                                    enum box_condensed_form form, enum box_condensed_unknowns basis,
                                    struct linear_operator *A) {
    static const char *const names[] = {"CCG-MM", "CCG-TP", "CCG-TPT", "CCG by parity"};
    facet_status status = FACET_OK;
    struct condensed_operator *o = NULL;
    *A = (struct linear_operator){0};
    if (!device_is_host(device))
        FAIL(FACET_ERROR_INPUT, "the condensed operator of a box runs on the host, not on '%s'",
             device_name(device));
    TRY(create(h, form, basis, &o));
    *A = (struct linear_operator){.n = h->n_trace,
                                  .device = device,
                                  .apply = apply,
                                  .free = free_operator,
                                  .data = o,
                                  .name = names[form]};
done:
    return status;
}

facet_status box_condensed_lift(const struct box_condensed *h, const double *x, double *y) {
    facet_status status = FACET_OK;
    struct condensed_operator *o = NULL;
    TRY(create(h, BOX_CCG_TPT, BOX_MODES, &o));
    apply_cells(o, x, 1);
    condensed_sum(h, o->locals, 0, y);
done:
    if (o != NULL) destroy(o);
    return status;
}

/* --------------------------------------------------------------------------------------- operations */

/* What apply_primary does in a cell. */
static double primary_operations(const struct box_condensed *h, int dense) {
    double count = 0.0;
    int dim = h->grid.dim, n = h->n_inner;
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i], bits = condensed_bits(mask);
        double numbers = (double)h->size[mask] * (1 << (dim - bits));
        count += numbers * (2.0 + 2.0 * (dim - bits) + bits * (dense ? 2.0 * n : 2.0)); /* add_own */
        count += numbers * (3.0 * (dim - bits) + (dense ? bits : 0.0));                 /* mass */
        for (int d = 0; d < dim; d++)
            if (!(mask >> d & 1) && (mask | 1 << d) != h->full) count += 4.0 * numbers * n;
    }
    return count;
}

/* What condensed_parity_apply does in a cell beside the inside: sums and differences, the diagonal, and the
 * terms between neighbours, each mode meeting one of the two parities. */
static double parity_operations(const struct box_condensed *h) {
    double count = 0.0;
    int dim = h->grid.dim;
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i], normals = dim - condensed_bits(mask);
        double numbers = (double)h->size[mask] * (1 << normals);
        count += numbers * (2.0 * normals + 1.0);
        for (int d = 0; d < dim; d++)
            if (!(mask >> d & 1) && (mask | 1 << d) != h->full) count += 2.0 * numbers * h->n_inner;
    }
    return count;
}

double box_condensed_operations(const struct box_condensed *h, enum box_condensed_form form) {
    int dim = h->grid.dim, n = h->n_inner;
    double inside = (double)h->n_inside, faces = 2.0 * dim * (double)h->size[h->full >> 1], local = 0.0;
    switch (form) {
    case BOX_CCG_MM:
        local = 2.0 * (double)h->n_local * (double)h->n_local;
        break;
    case BOX_CCG_TP: /* both ways: the faces into modes, and the couplings with the inside */
        local =
            primary_operations(h, 1) + 2.0 * faces * (dim - 1) * (2.0 * n + 1.0) + 4.0 * faces * n + inside;
        break;
    case BOX_CCG_TPT:
        local = primary_operations(h, 0) + 4.0 * faces * n + inside;
        break;
    case BOX_CCG_PARITY:
        local = parity_operations(h) + 2.0 * faces * n + inside + 2.0 * faces;
        break;
    }
    return (double)h->grid.n_cells * (local + (double)h->n_local); /* and the sum over cells */
}
