/* The condensed method on boxes: numbering, kinds of cells, sums over closures, and the two bases. */
#include "bench/papers/condensed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/condensed_local.h"
#include "poly/rule.h"

/* Widths that differ by rounding only are the same. */
#define SAME_WIDTH 1e-13

/* ------------------------------------------------------------------------------------------ entities */

void condensed_entity_at(const struct box_condensed *h, int mask, int64_t entity, int at[3]) {
    const int *extent = h->extent[mask];
    at[0] = (int)(entity % extent[0]);
    at[1] = (int)(entity / extent[0] % extent[1]);
    at[2] = (int)(entity / extent[0] / extent[1]);
}

int64_t condensed_entity(const struct box_condensed *h, int mask, const int at[3], int side) {
    const int *extent = h->extent[mask];
    int place[3] = {0, 0, 0};
    for (int d = 0; d < h->grid.dim; d++)
        place[d] = mask >> d & 1 ? at[d] : (at[d] + condensed_side(mask, side, d)) % h->grid.planes[d];
    return ((int64_t)place[2] * extent[1] + place[1]) * extent[0] + place[0];
}

int condensed_is_fixed(const struct box_condensed *h, int mask, const int at[3]) {
    for (int d = 0; d < h->grid.dim; d++)
        if (!(mask >> d & 1) && box_plane_is_fixed(&h->grid, d, at[d])) return 1;
    return 0;
}

static void number_entities(struct box_condensed *h) {
    static const int by_size[BOX_MAX_MASKS] = {0, 1, 2, 4, 3, 5, 6, 7};
    const struct box_grid *g = &h->grid;
    h->full = (1 << g->dim) - 1;
    for (int i = 0; i < BOX_MAX_MASKS; i++) {
        int mask = by_size[i], free[3] = {1, 1, 1};
        if (mask > h->full) continue;
        h->size[mask] = h->n_entities[mask] = 1;
        for (int d = 0; d < 3; d++) {
            int inside = mask >> d & 1, n = d >= g->dim || inside ? g->cells[d] : g->planes[d];
            h->extent[mask][d] = free[d] = n;
            if (inside)
                h->size[mask] *= h->n_inner;
            else if (d < g->dim)
                free[d] -= box_plane_is_fixed(g, d, 0) + box_plane_is_fixed(g, d, g->cells[d]);
            h->n_entities[mask] *= n;
        }
        int64_t n_free = (int64_t)free[0] * free[1] * free[2] * h->size[mask];
        h->n_volume += n_free;
        if (mask == h->full) break;
        h->masks[h->n_masks++] = mask;
        h->first[mask] = h->n_trace;
        h->local_first[mask] = h->n_local;
        h->n_trace += h->n_entities[mask] * h->size[mask];
        h->n_local += h->size[mask] << (g->dim - condensed_bits(mask));
        h->n_free += n_free;
    }
    h->n_inside = h->size[h->full];
}

/* The entities around every cell, in the order of its closure. */
static facet_status list_around(struct box_condensed *h) {
    facet_status status = FACET_OK;
    for (int i = 0; i < h->n_masks; i++) h->n_around += 1 << (h->grid.dim - condensed_bits(h->masks[i]));
    TRY(ALLOC(h->around, h->grid.n_cells * h->n_around));
#pragma omp parallel for num_threads(base_threads_for(h->grid.n_cells * h->n_around)) schedule(static)
    for (int64_t cell = 0; cell < h->grid.n_cells; cell++) {
        int32_t *to = h->around + cell * h->n_around;
        int at[3], place[3];
        box_cell_at(&h->grid, cell, at);
        for (int i = 0; i < h->n_masks; i++) {
            int mask = h->masks[i];
            for (int side = 0; side < 1 << (h->grid.dim - condensed_bits(mask)); side++) {
                int64_t entity = condensed_entity(h, mask, at, side);
                condensed_entity_at(h, mask, entity, place);
                *to++ = (int32_t)(condensed_is_fixed(h, mask, place) ? ~entity : entity);
            }
        }
    }
done:
    return status;
}

/* --------------------------------------------------------------------------------------------- kinds */

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static int compare_keys(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return (x[1] > y[1]) - (x[1] < y[1]);
}

/* Classes of equal numbers: class[i] of values[i], and how many there are. */
static facet_status classify(int64_t n, const double *values, double tolerance, int32_t *class,
                             int64_t *count) {
    facet_status status = FACET_OK;
    double *sorted = NULL;
    TRY(ALLOC(sorted, n));
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_numbers);
    *count = 0;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] > sorted[*count - 1] * (1.0 + tolerance)) sorted[(*count)++] = sorted[i];
    for (int64_t i = 0; i < n; i++) {
        int64_t low = 0, high = *count;
        while (high - low > 1) {
            int64_t middle = (low + high) / 2;
            if (sorted[middle] <= values[i])
                low = middle;
            else
                high = middle;
        }
        class[i] = (int32_t)low;
    }
done:
    base_free(&sorted);
    return status;
}

static void describe_kind(const struct box_condensed *h, int64_t cell, struct box_condensed_kind *kind) {
    const struct box_grid *g = &h->grid;
    double V = 1.0;
    int at[3];
    box_cell_at(g, cell, at);
    for (int d = 0; d < g->dim; d++) V *= 0.5 * g->widths[d][at[d]];
    for (int d = 0; d < 3; d++) {
        double inverse = 2.0 / g->widths[d][at[d]];
        kind->a[d] = d < g->dim ? V * inverse * inverse : 0.0;
    }
    kind->reaction = V * box_reaction(g, cell) / box_conductivity(g, cell);
}

/* One key for the widths and lambda / k of every cell. */
static facet_status make_keys(const struct box_condensed *h, int64_t *keys) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    int32_t *columns[3] = {NULL, NULL, NULL}, *ratios = NULL;
    double *ratio = NULL;
    int64_t counts[4] = {1, 1, 1, 1};
    for (int d = 0; d < 3; d++) {
        TRY(CALLOC(columns[d], g->cells[d]));
        if (!g->uniform[d]) TRY(classify(g->cells[d], g->widths[d], SAME_WIDTH, columns[d], &counts[d]));
    }
    TRY(CALLOC(ratios, g->n_cells));
    if (!g->separable) {
        TRY(ALLOC(ratio, g->n_cells));
        for (int64_t c = 0; c < g->n_cells; c++) ratio[c] = box_reaction(g, c) / box_conductivity(g, c);
        TRY(classify(g->n_cells, ratio, 0.0, ratios, &counts[3]));
    }
    for (int64_t c = 0; c < g->n_cells; c++) {
        int at[3];
        box_cell_at(g, c, at);
        keys[2 * c] = ((columns[2][at[2]] * counts[1] + columns[1][at[1]]) * counts[0] + columns[0][at[0]]) *
                          counts[3] +
                      ratios[c];
        keys[2 * c + 1] = c;
    }
done:
    for (int d = 0; d < 3; d++) base_free(&columns[d]);
    base_free(&ratios);
    base_free(&ratio);
    return status;
}

static facet_status find_kinds(struct box_condensed *h) {
    facet_status status = FACET_OK;
    int64_t n = h->grid.n_cells, *keys = NULL;
    TRY(ALLOC(keys, 2 * n));
    TRY(ALLOC(h->cell_kind, n));
    TRY(ALLOC(h->order, n));
    TRY(make_keys(h, keys));
    qsort(keys, (size_t)n, 2 * sizeof *keys, compare_keys);
    for (int64_t i = 0; i < n; i++) h->n_kinds += i == 0 || keys[2 * i] != keys[2 * i - 2];
    TRY(CALLOC(h->kinds, h->n_kinds));
    int kind = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t cell = keys[2 * i + 1];
        if (i == 0 || keys[2 * i] != keys[2 * i - 2]) {
            h->kinds[++kind].first = i;
            describe_kind(h, cell, &h->kinds[kind]);
        }
        h->kinds[kind].count++;
        h->order[i] = (int32_t)cell;
        h->cell_kind[cell] = kind;
    }
done:
    base_free(&keys);
    return status;
}

static facet_status make_inverses(struct box_condensed *h) {
    facet_status status = FACET_OK;
    int n = h->n_inner, extent[3] = {1, 1, 1};
    const double *Lambda = h->ends.eigenvalues;
    for (int d = 0; d < h->grid.dim; d++) extent[d] = n;
    TRY(ALLOC(h->inverse, h->n_kinds * h->n_inside));
    double *to = h->inverse;
    for (int kind = 0; kind < h->n_kinds; kind++) {
        const double *a = h->kinds[kind].a;
        for (int k = 0; k < extent[2]; k++)
            for (int j = 0; j < extent[1]; j++)
                for (int i = 0; i < extent[0]; i++) {
                    double Z = h->kinds[kind].reaction + a[0] * Lambda[i];
                    if (extent[1] > 1 || h->grid.dim > 1) Z += a[1] * Lambda[j];
                    if (extent[2] > 1 || h->grid.dim > 2) Z += a[2] * Lambda[k];
                    *to++ = 1.0 / Z;
                }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------ life of a struct */

facet_status box_condensed_create(const struct box_grid_data *data, int degree, enum box_mass mass,
                                  struct box_condensed **condensed) {
    facet_status status = FACET_OK;
    struct box_condensed *h;
    TRY(CALLOC(*condensed, 1));
    h = *condensed;
    h->degree = degree;
    h->n = degree + 1;
    h->n_inner = degree - 1;
    TRY(box_ends_create(degree, mass, &h->ends));
    TRY(box_grid_create(data, &h->grid));
    if (h->grid.n_cells > INT32_MAX / 8)
        FAIL(FACET_ERROR_INPUT, "a box of %lld cells is too large", (long long)h->grid.n_cells);
    number_entities(h);
    TRY(list_around(h));
    TRY(find_kinds(h));
    TRY(make_inverses(h));
    TRY(ALLOC(h->gauss, h->n));
    TRY(ALLOC(h->weights, h->n));
    TRY(ALLOC(h->gauss_values, h->n * h->n));
    TRY(rule_gauss_jacobi(h->n, 0.0, 0.0, h->gauss, h->weights));
    TRY(box_ends_evaluate(&h->ends, h->n, h->gauss, h->gauss_values, NULL));
done:
    if (status != FACET_OK) box_condensed_destroy(condensed);
    return status;
}

void box_condensed_destroy(struct box_condensed **condensed) {
    struct box_condensed *h = *condensed;
    if (h == NULL) return;
    box_grid_destroy(&h->grid);
    box_ends_destroy(&h->ends);
    base_free(&h->around);
    base_free(&h->kinds);
    base_free(&h->cell_kind);
    base_free(&h->order);
    base_free(&h->inverse);
    base_free(&h->gauss);
    base_free(&h->weights);
    base_free(&h->gauss_values);
    base_free(condensed);
}

/* ------------------------------------------------------------------------------------------ closures */

void condensed_gather(const struct box_condensed *h, const double *x, int64_t cell, int fixed,
                      double *local) {
    const int32_t *entity = h->around + cell * h->n_around;
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i];
        int64_t size = h->size[mask];
        for (int side = 0; side < 1 << (h->grid.dim - condensed_bits(mask));
             side++, entity++, local += size) {
            if (!fixed && *entity < 0)
                memset(local, 0, (size_t)size * sizeof *local);
            else
                memcpy(local, x + h->first[mask] + (*entity < 0 ? ~*entity : *entity) * size,
                       (size_t)size * sizeof *local);
        }
    }
}

/* The place in direction d of the cells that have entities at `place` on this side; -1: there are none. */
static int beside(const struct box_grid *g, int d, int place, int side) {
    place -= side;
    if (g->sides[d][0] == BOX_PERIODIC && place < 0) place += g->cells[d];
    return place < g->cells[d] ? place : -1;
}

/* A row of entities in direction 0; at: the first of them. */
static void sum_row(const struct box_condensed *h, const double *locals, int fixed, int mask, int at[3],
                    double *y) {
    const struct box_grid *g = &h->grid;
    int64_t size = h->size[mask];
    int sides = 1 << (g->dim - condensed_bits(mask)), row_fixed = 0;
    for (int d = 1; d < g->dim; d++) row_fixed |= !(mask >> d & 1) && box_plane_is_fixed(g, d, at[d]);
    memset(y, 0, (size_t)(h->extent[mask][0] * size) * sizeof *y);
    if (row_fixed && !fixed) return;
    for (int side = 0; side < sides; side++) {
        const double *from = locals + h->local_first[mask] + side * size;
        int cell[3] = {0, at[1], at[2]};
        for (int d = 1; d < g->dim; d++)
            if (!(mask >> d & 1)) cell[d] = beside(g, d, at[d], condensed_side(mask, side, d));
        if (cell[1] < 0 || cell[2] < 0) continue;
        from += box_cell(g, cell) * h->n_local;
        for (int i = 0; i < h->extent[mask][0]; i++) {
            int column = mask & 1 ? i : beside(g, 0, i, condensed_side(mask, side, 0));
            if (column < 0 || (!(mask & 1) && !fixed && box_plane_is_fixed(g, 0, i))) continue;
            const double *add = from + column * h->n_local;
            double *to = y + i * size;
#pragma omp simd
            for (int64_t t = 0; t < size; t++) to[t] += add[t];
        }
    }
}

void condensed_sum(const struct box_condensed *h, const double *locals, int fixed, double *y) {
#pragma omp parallel num_threads(base_threads_for(h->grid.n_cells * h->n_local))
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i];
        const int *extent = h->extent[mask];
        if (h->size[mask] == 0) continue;
#pragma omp for schedule(static) nowait
        for (int64_t row = 0; row < (int64_t)extent[1] * extent[2]; row++) {
            int at[3] = {0, (int)(row % extent[1]), (int)(row / extent[1])};
            sum_row(h, locals, fixed, mask, at, y + h->first[mask] + row * extent[0] * h->size[mask]);
        }
    }
}

/* -------------------------------------------------------------------------------------------- bases */

void box_condensed_constant(const struct box_condensed *h, enum box_condensed_unknowns basis, double *x) {
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i], n = h->n_inner;
        int64_t size = h->size[mask];
        for (int64_t t = 0; t < size; t++) {
            int64_t rest = t;
            double value = 1.0;
            for (int bits = condensed_bits(mask); bits > 0 && basis == BOX_MODES; bits--, rest /= n)
                value *= box_ends_odd(&h->ends, (int)(rest % n)) ? 0.0 : 2.0 * h->ends.linear[rest % n];
            for (int64_t entity = 0; entity < h->n_entities[mask]; entity++)
                x[h->first[mask] + entity * size + t] = value;
        }
    }
}

/* y = A x, A_ij at A[i*n + j], or at A[j*n + i] if transposed. */
static void multiply(int n, const double *restrict A, int transposed, const double *restrict x,
                     double *restrict y) {
    if (transposed) {
        for (int i = 0; i < n; i++) y[i] = 0.0;
        for (int j = 0; j < n; j++) {
#pragma omp simd
            for (int i = 0; i < n; i++) y[i] += A[j * n + i] * x[j];
        }
        return;
    }
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < n; j++) sum += A[i * n + j] * x[j];
        y[i] = sum;
    }
}

/* The same in the middle of three directions: y[o][i][r] = sum over j of A_ij x[o][j][r]. */
static void along(int64_t outer, int n, int64_t inner, const double *A, int transposed, const double *x,
                  double *y) {
    int row = transposed ? 1 : n, column = transposed ? n : 1;
    for (int64_t o = 0; o < outer; o++, x += n * inner, y += n * inner) {
        if (inner == 1) {
            multiply(n, A, transposed, x, y);
            continue;
        }
        memset(y, 0, (size_t)(n * inner) * sizeof *y);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double a = A[i * row + j * column], *to = y + i * inner;
                const double *from = x + j * inner;
#pragma omp simd
                for (int64_t r = 0; r < inner; r++) to[r] += a * from[r];
            }
    }
}

void condensed_transform(const struct box_condensed *h, int mask, const double *A, int transposed, double *x,
                         double *work) {
    int64_t size = h->size[mask], inner = 1;
    int bits = condensed_bits(mask);
    double *from = x, *to = work;
    if (size == 0) return;
    for (int b = 0; b < bits; b++) {
        along(size / h->n_inner / inner, h->n_inner, inner, A, transposed, from, to);
        inner *= h->n_inner;
        double *swap = from;
        from = to;
        to = swap;
    }
    if (from != x) memcpy(x, from, (size_t)size * sizeof *x);
}

facet_status box_condensed_change(const struct box_condensed *h, enum box_change change, double *x) {
    facet_status status = FACET_OK;
    int n = h->n_inner, back = change == BOX_NODES_TO_MODES || change == BOX_LOAD_TO_MODES,
        weighted = change == BOX_NODES_TO_MODES || change == BOX_LOAD_TO_NODES;
    double *A = NULL, *work = NULL;
    if (h->ends.kind != BOX_MASS_COLLOCATED)
        FAIL(FACET_ERROR_INPUT, "values at nodes need the collocated mass matrix");
    TRY(ALLOC(A, n * n));
    TRY(ALLOC(work, n * n));
    /* S^-1 = S'W: unknowns by S and S'W, right-hand sides by W S and S'. */
    for (int q = 0; q < n; q++)
        for (int m = 0; m < n; m++)
            A[q * n + m] = h->ends.S[q * n + m] * (weighted ? h->ends.weights[q + 1] : 1.0);
    for (int i = 0; i < h->n_masks; i++)
        for (int64_t entity = 0; entity < h->n_entities[h->masks[i]]; entity++)
            condensed_transform(h, h->masks[i], A, back,
                                x + h->first[h->masks[i]] + entity * h->size[h->masks[i]], work);
done:
    base_free(&A);
    base_free(&work);
    return status;
}
