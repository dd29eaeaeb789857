/* Before and after the condensed solve: loads of the cells, what they leave on the trace, and u from it. */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/condensed_local.h"

void condensed_tensor(int dim, const int n[3], const int m[3], const double *const A[3], int transposed,
                      const double *x, double *y, double *work) {
    int64_t inner = 1, outer = 1, largest = 1;
    const double *from = x;
    for (int d = 0; d < dim; d++) {
        largest *= n[d] > m[d] ? n[d] : m[d];
        outer *= n[d];
    }
    for (int d = 0; d < dim; d++) {
        double *to = d == dim - 1 ? y : work + (d % 2) * largest;
        int lead = transposed ? m[d] : n[d];
        outer /= n[d];
        if (inner == 1)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasNoTrans : CblasTrans, (int)outer, m[d],
                        n[d], 1.0, from, n[d], A[d], lead, 0.0, to, m[d]);
        else
            for (int64_t o = 0; o < outer; o++)
                cblas_dgemm(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, m[d],
                            (int)inner, n[d], 1.0, A[d], lead, from + o * n[d] * inner, (int)inner, 0.0,
                            to + o * m[d] * inner, (int)inner);
        inner *= m[d];
        from = to;
    }
    if (dim == 0) y[0] = x[0];
}

static int32_t place_of(const struct box_condensed *h, int mask, int side, int64_t t) {
    int32_t place = 0, stride = 1;
    for (int d = 0; d < h->grid.dim; d++, stride *= h->n) {
        int function = condensed_side(mask, side, d);
        if (mask >> d & 1) {
            function = 2 + (int)(t % h->n_inner);
            t /= h->n_inner;
        }
        place += function * stride;
    }
    return place;
}

void condensed_places(const struct box_condensed *h, int32_t *closure, int32_t *inside) {
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i];
        for (int side = 0; side < 1 << (h->grid.dim - condensed_bits(mask)); side++)
            for (int64_t t = 0; t < h->size[mask]; t++) *closure++ = place_of(h, mask, side, t);
    }
    for (int64_t t = 0; t < h->n_inside; t++) inside[t] = place_of(h, h->full, 0, t);
}

/* What the threads share, and what each has for itself. */
struct work {
    const struct box_condensed *h;
    const double *f;
    double shift;
    const struct box_condensed_sides *sides;
    struct condensed_tables tables;
    double *weighted; /* n x n: weights times the functions at the Gauss points */
    int32_t *closure, *inside;
    int n_threads;
    int64_t n_cell, room; /* n^dim */
    double *scratch;
};

static void work_destroy(struct work *w) {
    condensed_tables_destroy(&w->tables);
    base_free(&w->weighted);
    base_free(&w->closure);
    base_free(&w->inside);
    base_free(&w->scratch);
}

static facet_status work_create(const struct box_condensed *h, struct work *w) {
    facet_status status = FACET_OK;
    int n = h->n;
    *w = (struct work){.h = h, .n_cell = 1};
    for (int d = 0; d < h->grid.dim; d++) w->n_cell *= n;
    w->n_threads = base_threads_for(h->grid.n_cells * w->n_cell);
    w->room = (6 * w->n_cell + h->n_inside + h->n_local + 7) / 8 * 8;
    TRY(condensed_tables_create(h, BOX_MODES, &w->tables));
    TRY(ALLOC(w->weighted, n * n));
    for (int q = 0; q < n; q++)
        for (int f = 0; f < n; f++) w->weighted[q * n + f] = h->weights[q] * h->gauss_values[q * n + f];
    TRY(ALLOC(w->closure, h->n_local));
    TRY(ALLOC(w->inside, h->n_inside));
    condensed_places(h, w->closure, w->inside);
    TRY(ALLOC(w->scratch, w->n_threads * w->room));
done:
    if (status != FACET_OK) work_destroy(w);
    return status;
}

/* (f - shift, phi) for all functions of a cell. scratch: 4 n^dim. */
static void load_cell(const struct work *w, const int at[3], double *load, double *scratch) {
    const struct box_condensed *h = w->h;
    int64_t cell = box_cell(&h->grid, at);
    int extent[3] = {h->n, h->n, h->n};
    const double *const A[3] = {w->weighted, w->weighted, w->weighted};
    double V = 1.0;
    for (int d = 0; d < h->grid.dim; d++) V *= 0.5 * h->grid.widths[d][at[d]];
    for (int64_t i = 0; i < w->n_cell; i++)
        scratch[i] = V * ((w->f != NULL ? w->f[cell * w->n_cell + i] : 0.0) - w->shift);
    condensed_tensor(h->grid.dim, extent, extent, A, 1, scratch, load, scratch + w->n_cell);
}

/* What a cell gives to the right-hand side: f_b - L_bi Z^-1 f_i. */
static facet_status condense_cell(const struct work *w, int64_t cell, double *local, double *scratch) {
    facet_status status = FACET_OK;
    const struct box_condensed *h = w->h;
    int kind = h->cell_kind[cell], at[3];
    const double *a = h->kinds[kind].a, *inverse = h->inverse + kind * h->n_inside;
    double *load = scratch, *inside = scratch + w->n_cell, *rest = inside + h->n_inside;
    box_cell_at(&h->grid, cell, at);
    load_cell(w, at, load, rest);
    if (w->sides != NULL) TRY(condensed_add_neumann(h, w->sides, at, load, rest));
    for (int64_t i = 0; i < h->n_local; i++) local[i] = load[w->closure[i]];
    for (int64_t i = 0; i < h->n_inside; i++) inside[i] = load[w->inside[i]] * inverse[i];
    for (int d = 0; d < h->grid.dim && h->n_inner > 0; d++) { /* k cancels */
        int mask = h->full & ~(1 << d);
        for (int s = 0; s < 2; s++)
            condensed_down(h, mask, d, -a[d], w->tables.coupling[s], inside,
                           local + h->local_first[mask] + s * h->size[mask]);
    }
done:
    return status;
}

static facet_status condense_all(const struct work *w, double *locals, double *F) {
    struct base_collector collector;
    base_collector_init(&collector);
#pragma omp parallel for num_threads(w->n_threads) schedule(static)
    for (int64_t cell = 0; cell < w->h->grid.n_cells; cell++) {
        if (base_collector_failed(&collector)) continue;
        facet_status status = condense_cell(w, cell, locals + cell * w->h->n_local,
                                            w->scratch + omp_get_thread_num() * w->room);
        if (status != FACET_OK) base_collect(&collector, cell, status);
    }
    if (!base_collector_failed(&collector)) condensed_sum(w->h, locals, 0, F);
    return base_collected(&collector);
}

facet_status box_condensed_load(const struct box_condensed *h, const double *f,
                                const struct box_condensed_sides *sides, double *F, double *dirichlet,
                                double *shift) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    struct work w = {0};
    double *locals = NULL, *lift = NULL;
    *shift = 0.0;
    TRY(work_create(h, &w));
    w.f = f;
    w.sides = sides;
    TRY(ALLOC(locals, g->n_cells * h->n_local));
    TRY(condense_all(&w, locals, F));
    memset(dirichlet, 0, (size_t)h->n_trace * sizeof *dirichlet);
    if (g->singular) { /* the moment with 1 is the integral of f and g */
        double total = 0.0, volume = 1.0;
        box_condensed_constant(h, BOX_MODES, dirichlet);
        for (int64_t i = 0; i < h->n_trace; i++) total += dirichlet[i] * F[i];
        for (int d = 0; d < g->dim; d++) volume *= g->coordinates[d][g->cells[d]] - g->coordinates[d][0];
        w.shift = *shift = total / volume;
        TRY(condense_all(&w, locals, F));
        memset(dirichlet, 0, (size_t)h->n_trace * sizeof *dirichlet);
    } else if (sides != NULL) {
        base_free(&locals);
        TRY(condensed_dirichlet(h, sides, dirichlet));
        TRY(ALLOC(lift, h->n_trace));
        TRY(box_condensed_lift(h, dirichlet, lift));
        for (int64_t i = 0; i < h->n_trace; i++) F[i] -= lift[i];
    }
done:
    work_destroy(&w);
    base_free(&locals);
    base_free(&lift);
    return status;
}

/* u inside: Z^-1 (f_i - L_ib u_b). */
static void recover_cell(const struct work *w, const double *uhat, int64_t cell, double *u, double *scratch) {
    const struct box_condensed *h = w->h;
    int kind = h->cell_kind[cell], at[3];
    const double *a = h->kinds[kind].a, *inverse = h->inverse + kind * h->n_inside;
    double *load = scratch, *inside = load + w->n_cell, *local = inside + h->n_inside,
           *rest = local + h->n_local, k = box_conductivity(&h->grid, cell);
    box_cell_at(&h->grid, cell, at);
    load_cell(w, at, load, rest);
    condensed_gather(h, uhat, cell, 1, local);
    for (int64_t i = 0; i < h->n_inside; i++) inside[i] = load[w->inside[i]] / k;
    for (int d = 0; d < h->grid.dim && h->n_inner > 0; d++) {
        int mask = h->full & ~(1 << d);
        for (int s = 0; s < 2; s++)
            condensed_up(h, mask, d, -a[d], w->tables.coupling[s],
                         local + h->local_first[mask] + s * h->size[mask], inside);
    }
    for (int64_t i = 0; i < h->n_local; i++) u[w->closure[i]] = local[i];
    for (int64_t i = 0; i < h->n_inside; i++) u[w->inside[i]] = inside[i] * inverse[i];
}

/* A product of the same n numbers in every direction, for all coefficients of a cell. */
static void product(const struct work *w, const double *factors, double *to) {
    for (int64_t i = 0; i < w->n_cell; i++) {
        int64_t rest = i;
        to[i] = 1.0;
        for (int d = 0; d < w->h->grid.dim; d++, rest /= w->h->n) to[i] *= factors[rest % w->h->n];
    }
}

/* Takes the mean off all cells. */
static void remove_mean(const struct work *w, double *u) {
    const struct box_condensed *h = w->h;
    const struct box_grid *g = &h->grid;
    double factors[BOX_MAX_DEGREE + 1] = {0.0}, *moments = w->scratch, *one = moments + w->n_cell,
                                    integral = 0.0, volume = 0.0;
    for (int f = 0; f < h->n; f++) factors[f] = sqrt(2.0) * h->ends.coefficients[f]; /* integrals */
    product(w, factors, moments);
    for (int f = 0; f < h->n; f++)
        factors[f] = f < 2 ? 1.0 : box_ends_odd(&h->ends, f - 2) ? 0.0 : 2.0 * h->ends.linear[f - 2];
    product(w, factors, one);
#pragma omp parallel for num_threads(w->n_threads) schedule(static) reduction(+ : integral, volume)
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        double V = 1.0;
        int at[3];
        box_cell_at(g, cell, at);
        for (int d = 0; d < g->dim; d++) V *= 0.5 * g->widths[d][at[d]];
        volume += V * (1 << g->dim);
        integral += V * cblas_ddot((int)w->n_cell, moments, 1, u + cell * w->n_cell, 1);
    }
#pragma omp parallel for num_threads(w->n_threads) schedule(static)
    for (int64_t cell = 0; cell < g->n_cells; cell++)
        cblas_daxpy((int)w->n_cell, -integral / volume, one, 1, u + cell * w->n_cell, 1);
}

facet_status box_condensed_recover(const struct box_condensed *h, const double *f, double shift,
                                   const double *uhat, double *u) {
    facet_status status = FACET_OK;
    struct work w = {0};
    TRY(work_create(h, &w));
    w.f = f;
    w.shift = shift;
#pragma omp parallel for num_threads(w.n_threads) schedule(static)
    for (int64_t cell = 0; cell < h->grid.n_cells; cell++)
        recover_cell(&w, uhat, cell, u + cell * w.n_cell, w.scratch + omp_get_thread_num() * w.room);
    if (h->grid.singular) remove_mean(&w, u);
done:
    work_destroy(&w);
    return status;
}
