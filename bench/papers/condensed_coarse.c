/* The coarse space of the condensed method: continuous functions that are linear in every direction of a
 * cell, given by their values at the vertices. In one direction (1 -+ x) / 2 is an end function plus modes
 * with the coefficients `linear` of bench/papers/ends.h, so that on an entity of T they are products of these
 * over the directions of T. The coarse matrix is that of Galerkin, from the condensed matrices of the cells.
 */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/condensed_local.h"
#include "solve/coarse.h"

#define CORNERS 8
/* Bytes of a factor for every unknown of the trace up to which solving with it is cheap beside a product. */
#define FACTOR_BYTES 64.0

struct condensed_coarse {
    const struct box_condensed *h;
    double *linear[2];              /* n_inner: of (1 - x) / 2 and (1 + x) / 2 */
    int32_t *number;                /* of a vertex: its unknown, or -1 on Dirichlet sides */
    double *moments[BOX_MAX_MASKS]; /* n_entities x 2^|T|: of a residual with the corners of an entity */
    int64_t n;
    struct vector b, x;
    struct linear_operator solve;
};

void condensed_coarse_destroy(struct condensed_coarse **coarse) {
    struct condensed_coarse *c = *coarse;
    if (c == NULL) return;
    base_free(&c->linear[0]);
    base_free(&c->linear[1]);
    base_free(&c->number);
    for (int i = 0; i < BOX_MAX_MASKS; i++) base_free(&c->moments[i]);
    vector_destroy(&c->b);
    vector_destroy(&c->x);
    operator_destroy(&c->solve);
    base_free(coarse);
}

/* ------------------------------------------------------------------------------------------- matrix */

/* The function of one corner on the closure of a cell. */
static void corner_function(const struct condensed_coarse *c, int corner, double *x) {
    const struct box_condensed *h = c->h;
    int n = h->n_inner;
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i];
        int64_t size = h->size[mask];
        for (int side = 0; side < 1 << (h->grid.dim - condensed_bits(mask)); side++) {
            int meets = 1;
            for (int d = 0; d < h->grid.dim; d++)
                if (!(mask >> d & 1) && condensed_side(mask, side, d) != (corner >> d & 1)) meets = 0;
            for (int64_t t = 0; t < size; t++) {
                int64_t rest = t;
                double value = meets;
                for (int d = 0; d < h->grid.dim; d++)
                    if (mask >> d & 1) {
                        value *= c->linear[corner >> d & 1][rest % n];
                        rest /= n;
                    }
                x[h->local_first[mask] + side * size + t] = value;
            }
        }
    }
}

/* matrices: n_kinds x CORNERS x CORNERS, for k = 1. */
static facet_status make_matrices(const struct condensed_coarse *c, double *matrices) {
    facet_status status = FACET_OK;
    const struct box_condensed *h = c->h;
    int corners = 1 << h->grid.dim, n_threads = base_threads_for(h->n_kinds * h->n_inside);
    int64_t n = h->n_local, room = n + condensed_work(h);
    struct condensed_tables tables = {0};
    double *functions = NULL, *scratch = NULL;
    TRY(condensed_tables_create(h, BOX_MODES, &tables));
    TRY(ALLOC(functions, corners * n));
    TRY(ALLOC(scratch, n_threads * room));
    for (int i = 0; i < corners; i++) corner_function(c, i, functions + i * n);
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int kind = 0; kind < h->n_kinds; kind++) {
        double *y = scratch + omp_get_thread_num() * room;
        for (int i = 0; i < corners; i++) {
            condensed_cell_apply(h, &tables, kind, functions + i * n, y, y + n);
            for (int j = 0; j <= i; j++) {
                double sum = 0.0;
                for (int64_t t = 0; t < n; t++) sum += functions[j * n + t] * y[t];
                matrices[(kind * CORNERS + i) * CORNERS + j] = matrices[(kind * CORNERS + j) * CORNERS + i] =
                    sum;
            }
        }
    }
done:
    condensed_tables_destroy(&tables);
    base_free(&functions);
    base_free(&scratch);
    return status;
}

static facet_status assemble(const struct condensed_coarse *c, struct csr *csr) {
    facet_status status = FACET_OK;
    const struct box_condensed *h = c->h;
    struct csr_elements e = {0};
    int corners = 1 << h->grid.dim;
    double *kinds = NULL;
    TRY(ALLOC(kinds, (int64_t)h->n_kinds * CORNERS * CORNERS));
    TRY(make_matrices(c, kinds));
    TRY(csr_elements_create(c->n, h->grid.n_cells, CORNERS, 0, &e));
    for (int64_t cell = 0; cell < h->grid.n_cells; cell++) {
        const double *from = kinds + (int64_t)h->cell_kind[cell] * CORNERS * CORNERS;
        double matrix[CORNERS * (CORNERS + 1) / 2], *to = matrix, k = box_conductivity(&h->grid, cell);
        int64_t numbers[CORNERS];
        int at[3];
        box_cell_at(&h->grid, cell, at);
        for (int i = 0; i < corners; i++) {
            numbers[i] = c->number[condensed_entity(h, 0, at, i)];
            for (int j = 0; j <= i; j++) *to++ = k * from[i * CORNERS + j];
        }
        csr_elements_add(&e, corners, numbers, matrix);
    }
    TRY(csr_from_elements(&e, csr));
done:
    base_free(&kinds);
    csr_elements_destroy(&e);
    return status;
}

/* ----------------------------------------------------------------------------------------- set-up */

/* Factored where the factor is small beside the problem, else a cycle of algebraic multigrid. */
static facet_status make_solver(struct condensed_coarse *c, const struct device *device) {
    facet_status status = FACET_OK;
    struct coarse_matrix matrix = {.name = "vertices", .singular = c->h->grid.singular};
    struct coarse_options options = {.fine_bytes = FACTOR_BYTES * (double)c->h->n_trace};
    TRY(assemble(c, &matrix.csr));
    TRY(operator_create_coarse(device, &matrix, &options, &c->solve));
done:
    coarse_matrix_destroy(&matrix);
    return status;
}

facet_status condensed_coarse_create(const struct box_condensed *h, const struct device *device,
                                     struct condensed_coarse **coarse) {
    facet_status status = FACET_OK;
    struct condensed_coarse *c;
    TRY(CALLOC(*coarse, 1));
    c = *coarse;
    c->h = h;
    for (int s = 0; s < 2; s++) {
        TRY(ALLOC(c->linear[s], h->n_inner));
        for (int m = 0; m < h->n_inner; m++)
            c->linear[s][m] = s == 0 && box_ends_odd(&h->ends, m) ? -h->ends.linear[m] : h->ends.linear[m];
    }
    TRY(ALLOC(c->number, h->n_entities[0]));
    for (int64_t v = 0; v < h->n_entities[0]; v++) {
        int at[3];
        condensed_entity_at(h, 0, v, at);
        c->number[v] = condensed_is_fixed(h, 0, at) ? -1 : (int32_t)c->n++;
    }
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i];
        TRY(ALLOC(c->moments[mask], h->n_entities[mask] << condensed_bits(mask)));
    }
    TRY(vector_create(device, c->n, &c->b));
    TRY(vector_create(device, c->n, &c->x));
    if (c->n > 0) TRY(make_solver(c, device));
done:
    if (status != FACET_OK) condensed_coarse_destroy(coarse);
    return status;
}

/* ------------------------------------------------------------------------------------------- transfer */

/* The moments of an entity's numbers with the functions of its corners, the lowest direction fastest. */
static void restrict_entity(const struct condensed_coarse *c, int bits, const double *r, double *moments) {
    int n = c->h->n_inner, rows = bits == 2 ? n : 1;
    const double *low = c->linear[0], *high = c->linear[1];
    for (int i = 0; i < 1 << bits; i++) moments[i] = 0.0;
    if (bits == 0) moments[0] = r[0];
    for (int j = 0; j < rows && bits > 0; j++) {
        double sums[2] = {0.0, 0.0};
        for (int i = 0; i < n; i++) {
            sums[0] += low[i] * r[j * n + i];
            sums[1] += high[i] * r[j * n + i];
        }
        for (int s = 0; s < 2; s++) {
            if (bits == 1)
                moments[s] = sums[s];
            else {
                moments[s] += low[j] * sums[s];
                moments[2 + s] += high[j] * sums[s];
            }
        }
    }
}

static void prolong_entity(const struct condensed_coarse *c, int bits, const double *corners, double *z) {
    int n = c->h->n_inner, rows = bits == 2 ? n : 1;
    const double *low = c->linear[0], *high = c->linear[1];
    if (bits == 0) z[0] += corners[0];
    for (int j = 0; j < rows && bits > 0; j++) {
        double v[2] = {corners[0], corners[1]};
        if (bits == 2)
            for (int s = 0; s < 2; s++) v[s] = low[j] * corners[s] + high[j] * corners[2 + s];
        for (int i = 0; i < n; i++) z[j * n + i] += v[0] * low[i] + v[1] * high[i];
    }
}

/* The number in the lattice of T of the entity that has the vertex at `at` as this corner; -1: there is none.
 */
static int64_t entity_at_corner(const struct box_condensed *h, int mask, const int at[3], int corner) {
    const struct box_grid *g = &h->grid;
    int place[3] = {at[0], at[1], at[2]};
    for (int d = 0; d < g->dim; d++) {
        if (!(mask >> d & 1)) continue;
        place[d] -= corner & 1;
        corner >>= 1;
        if (g->sides[d][0] == BOX_PERIODIC) place[d] = (place[d] + g->cells[d]) % g->cells[d];
        if (place[d] < 0 || place[d] >= g->cells[d]) return -1;
    }
    return ((int64_t)place[2] * h->extent[mask][1] + place[1]) * h->extent[mask][0] + place[0];
}

static void restrict_all(struct condensed_coarse *c, const double *r) {
    const struct box_condensed *h = c->h;
#pragma omp parallel num_threads(base_threads_for(h->n_trace))
    {
        for (int i = 0; i < h->n_masks; i++) {
            int mask = h->masks[i], bits = condensed_bits(mask);
#pragma omp for schedule(static)
            for (int64_t e = 0; e < h->n_entities[mask]; e++)
                restrict_entity(c, bits, r + h->first[mask] + e * h->size[mask],
                                c->moments[mask] + (e << bits));
        }
#pragma omp for schedule(static)
        for (int64_t v = 0; v < h->n_entities[0]; v++) {
            int at[3];
            double sum = 0.0;
            if (c->number[v] < 0) continue;
            condensed_entity_at(h, 0, v, at);
            for (int i = 0; i < h->n_masks; i++) {
                int mask = h->masks[i], bits = condensed_bits(mask);
                for (int corner = 0; corner < 1 << bits; corner++) {
                    int64_t e = entity_at_corner(h, mask, at, corner);
                    if (e >= 0) sum += c->moments[mask][(e << bits) + corner];
                }
            }
            c->b.data[c->number[v]] = sum;
        }
    }
}

static void prolong_all(const struct condensed_coarse *c, double *z) {
    const struct box_condensed *h = c->h;
#pragma omp parallel num_threads(base_threads_for(h->n_trace))
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i], bits = condensed_bits(mask);
#pragma omp for schedule(static) nowait
        for (int64_t e = 0; e < h->n_entities[mask]; e++) {
            double corners[4];
            int at[3], any = 0;
            condensed_entity_at(h, mask, e, at);
            for (int corner = 0; corner < 1 << bits; corner++) {
                int place[3] = {at[0], at[1], at[2]}, rest = corner;
                for (int d = 0; d < h->grid.dim; d++)
                    if (mask >> d & 1) {
                        place[d] = (at[d] + (rest & 1)) % h->grid.planes[d];
                        rest >>= 1;
                    }
                int32_t number =
                    c->number[((int64_t)place[2] * h->extent[0][1] + place[1]) * h->extent[0][0] + place[0]];
                corners[corner] = number >= 0 ? c->x.data[number] : 0.0;
                any |= number >= 0;
            }
            if (any) prolong_entity(c, bits, corners, z + h->first[mask] + e * h->size[mask]);
        }
    }
}

void condensed_coarse_add(struct condensed_coarse *c, const double *r, double *z) {
    if (c->n == 0) return;
    restrict_all(c, r);
    operator_apply(&c->solve, &c->b, &c->x);
    prolong_all(c, z);
}
