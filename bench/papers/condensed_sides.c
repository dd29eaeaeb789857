/* Data on the sides of a box for the condensed method.
 *
 * The modes are orthonormal in the mass matrix and orthogonal to the end functions: so the projection of g
 * onto the modes of an edge or face needs neither its ends nor a system: it is a sum over points. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/condensed_local.h"

/* The points of an entity, n in every direction of T: x is n^|T| x dim. */
static void entity_points(const struct box_condensed *h, int mask, const int at[3], const double *points,
                          double *x) {
    const struct box_grid *g = &h->grid;
    int64_t count = 1;
    for (int d = 0; d < g->dim; d++)
        if (mask >> d & 1) count *= h->n;
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        for (int d = 0; d < g->dim; d++) {
            if (!(mask >> d & 1)) {
                x[i * g->dim + d] = g->coordinates[d][at[d]];
                continue;
            }
            x[i * g->dim + d] =
                g->coordinates[d][at[d]] + 0.5 * g->widths[d][at[d]] * (1.0 + points[rest % h->n]);
            rest /= h->n;
        }
    }
}

/* The sides of the box on which an entity lies and which carry Dirichlet values. */
static int list_sides(const struct box_condensed *h, int mask, const int at[3], int sides[3][2]) {
    const struct box_grid *g = &h->grid;
    int count = 0;
    for (int d = 0; d < g->dim; d++) {
        if (mask >> d & 1 || !box_plane_is_fixed(g, d, at[d])) continue;
        sides[count][0] = d;
        sides[count++][1] = at[d] > 0;
    }
    return count;
}

struct projection {
    const double *points;
    double *table; /* n x n_inner: weights times the modes at the points */
    double *x, *values, *work;
};

static facet_status project_entity(const struct box_condensed *h, const struct box_condensed_sides *given,
                                   struct projection *p, int mask, const int at[3], double *to) {
    facet_status status = FACET_OK;
    int sides[3][2], n_sides = list_sides(h, mask, at, sides), bits = condensed_bits(mask);
    int n[3] = {h->n, h->n, h->n}, m[3] = {h->n_inner, h->n_inner, h->n_inner}, count = 1;
    const double *const A[3] = {p->table, p->table, p->table};
    for (int b = 0; b < bits; b++) count *= h->n;
    entity_points(h, mask, at, p->points, p->x);
    for (int i = 0; i < n_sides; i++) {
        const struct field *g = given->g[sides[i][0]][sides[i][1]];
        if (g == NULL) continue;
        TRY(field_eval(g, count, h->grid.dim, p->x, p->values));
        double *projected = p->values + count;
        condensed_tensor(bits, n, m, A, 1, p->values, projected, p->work);
        for (int64_t t = 0; t < h->size[mask]; t++) to[t] += projected[t] / n_sides;
    }
done:
    return status;
}

facet_status condensed_dirichlet(const struct box_condensed *h, const struct box_condensed_sides *given,
                                 double *x) {
    facet_status status = FACET_OK;
    int collocated = h->ends.kind == BOX_MASS_COLLOCATED, n = h->n;
    const double *weights = collocated ? h->ends.weights : h->weights;
    struct projection p = {.points = collocated ? h->ends.nodes : h->gauss};
    double *functions = NULL;
    TRY(ALLOC(functions, n * n));
    TRY(ALLOC(p.table, n * h->n_inner));
    TRY(ALLOC(p.x, n * n * h->grid.dim));
    TRY(ALLOC(p.values, 2 * n * n));
    TRY(ALLOC(p.work, 2 * n * n));
    TRY(box_ends_evaluate(&h->ends, n, p.points, functions, NULL));
    for (int q = 0; q < n; q++)
        for (int m = 0; m < h->n_inner; m++)
            p.table[q * h->n_inner + m] = weights[q] * functions[q * n + 2 + m];
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i], at[3];
        if (h->size[mask] == 0) continue;
        for (int64_t entity = 0; entity < h->n_entities[mask]; entity++) {
            condensed_entity_at(h, mask, entity, at);
            if (condensed_is_fixed(h, mask, at))
                TRY(project_entity(h, given, &p, mask, at, x + h->first[mask] + entity * h->size[mask]));
        }
    }
done:
    base_free(&functions);
    base_free(&p.table);
    base_free(&p.x);
    base_free(&p.values);
    base_free(&p.work);
    return status;
}

/* Adds <g, phi> on one side of a cell: only the end function of this side is not zero there. */
static facet_status add_side(const struct box_condensed *h, const struct field *g, int d, int side,
                             const int at[3], double *load, double *work) {
    facet_status status = FACET_OK;
    int dim = h->grid.dim, n = h->n, mask = h->full & ~(1 << d), extent[3] = {n, n, n};
    int place[3] = {at[0], at[1], at[2]};
    int64_t count = 1, below = 1;
    double area = 1.0, *values = work, *moments, *rest;
    const double *const A[3] = {h->gauss_values, h->gauss_values, h->gauss_values};
    place[d] += side;
    for (int e = 0; e < dim; e++) {
        if (e == d) continue;
        count *= n;
        below *= e < d ? n : 1;
        area *= 0.5 * h->grid.widths[e][at[e]];
    }
    moments = values + count;
    rest = moments + count;
    double *x = NULL;
    TRY(ALLOC(x, count * dim));
    entity_points(h, mask, place, h->gauss, x);
    TRY(field_eval(g, (int)count, dim, x, values));
    for (int64_t i = 0; i < count; i++) {
        values[i] *= area;
        for (int64_t b = 0, r = i; b < dim - 1; b++, r /= n) values[i] *= h->weights[r % n];
    }
    condensed_tensor(dim - 1, extent, extent, A, 1, values, moments, rest);
    for (int64_t i = 0; i < count; i++) load[(i / below * n + side) * below + i % below] += moments[i];
done:
    base_free(&x);
    return status;
}

facet_status condensed_add_neumann(const struct box_condensed *h, const struct box_condensed_sides *sides,
                                   const int at[3], double *load, double *work) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    for (int d = 0; d < g->dim; d++)
        for (int s = 0; s < 2; s++)
            if (g->sides[d][s] == BOX_NEUMANN && sides->g[d][s] != NULL &&
                at[d] == (s == 0 ? 0 : g->cells[d] - 1))
                TRY(add_side(h, sides->g[d][s], d, s, at, load, work));
done:
    return status;
}
